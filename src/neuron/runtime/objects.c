/*
 * The registry of handles. A handle is a slot's number with the slot's generation, which changes
 * when the slot is used again, so that a freed handle stays invalid.
 */
#include "base/base.h"
#include "neuron/runtime/runtime.h"

#define HANDLE_TAG (UINT64_C(0x5A) << 56) /* no address of a program has these upper bits */
enum { KIND_SHIFT = 28, GENERATION_SHIFT = 32 };
#define INDEX_MASK      ((UINT64_C(1) << KIND_SHIFT) - 1)
#define GENERATION_MASK ((UINT64_C(1) << 24) - 1)

struct slot {
    struct object *object; /* NULL: free */
    uint32_t generation;
    uint32_t next_free;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ARRAY(struct slot) slots;
static uint32_t first_free = UINT32_MAX;

void *object_new(enum object_kind kind, size_t size, void (*destroy)(struct object *))
{
    struct object *object = mem_zeroed(1, size);
    atomic_init(&object->references, 1);
    object->kind = kind;
    object->destroy = destroy;
    return object;
}

static void *encode(uint32_t index)
{
    const struct slot *slot = &slots.items[index];
    uint64_t handle = HANDLE_TAG | (slot->generation & GENERATION_MASK) << GENERATION_SHIFT |
                      (uint64_t)slot->object->kind << KIND_SHIFT | index;
    return (void *)(uintptr_t)handle; /* NOLINT(performance-no-int-to-ptr): never dereferenced */
}

void *object_publish(struct object *object)
{
    pthread_mutex_lock(&lock);
    uint32_t index = first_free;
    if (index == UINT32_MAX) {
        index = (uint32_t)slots.count;
        *array_push(&slots) = (struct slot){.generation = 1};
    } else {
        first_free = slots.items[index].next_free;
    }
    slots.items[index].object = object;
    void *handle = encode(index);
    pthread_mutex_unlock(&lock);
    return handle;
}

/* With the lock held; NULL when the handle is not valid. */
static struct slot *find(const void *handle, enum object_kind kind)
{
    uint64_t index = (uintptr_t)handle & INDEX_MASK;
    if (index >= slots.count || !slots.items[index].object ||
        slots.items[index].object->kind != kind || encode((uint32_t)index) != handle)
        return NULL;
    return &slots.items[index];
}

void *object_get(const void *handle, enum object_kind kind)
{
    pthread_mutex_lock(&lock);
    const struct slot *slot = find(handle, kind);
    struct object *object = slot ? slot->object : NULL;
    if (object)
        object_reference(object);
    pthread_mutex_unlock(&lock);
    return object;
}

void object_reference(struct object *object)
{
    atomic_fetch_add(&object->references, 1);
}

void object_put(struct object *object)
{
    if (object && atomic_fetch_sub(&object->references, 1) == 1) {
        object->destroy(object);
        mem_free(object);
    }
}

/* With the lock held. */
static struct object *release_slot(struct slot *slot)
{
    struct object *object = slot->object;
    slot->object = NULL;
    slot->generation++;
    slot->next_free = first_free;
    first_free = (uint32_t)(slot - slots.items);
    return object;
}

void *object_retire(const void *handle, enum object_kind kind)
{
    pthread_mutex_lock(&lock);
    struct slot *slot = find(handle, kind);
    struct object *object = slot ? release_slot(slot) : NULL;
    pthread_mutex_unlock(&lock);
    return object;
}

void objects_retire_all(void)
{
    for (size_t i = 0;; i++) {
        pthread_mutex_lock(&lock);
        bool is_end = i >= slots.count;
        struct object *object =
            !is_end && slots.items[i].object ? release_slot(&slots.items[i]) : NULL;
        pthread_mutex_unlock(&lock);
        if (is_end)
            return;
        object_put(object);
    }
}
