/*
 * Tensor sets: names and handles of tensors, which they do not own.
 */
#include "base/base.h"
#include "neuron/runtime/tensor.h"

#include <string.h>

struct entry {
    char *name;
    nrt_tensor_t *tensor; /* a handle, which may be invalid by now */
};

struct tensor_set {
    struct object object;
    pthread_mutex_t lock;
    ARRAY(struct entry) entries;
};

static void set_destroy(struct object *object)
{
    struct tensor_set *set = (struct tensor_set *)object;
    for (size_t i = 0; i < set->entries.count; i++)
        mem_free(set->entries.items[i].name);
    array_free(&set->entries);
    pthread_mutex_destroy(&set->lock);
}

struct tensor_set *set_get(const nrt_tensor_set_t *handle)
{
    return object_get(handle, OBJECT_SET);
}

void set_put(struct tensor_set *set)
{
    object_put(set ? &set->object : NULL);
}

static NRT_STATUS allocate(nrt_tensor_set_t **result)
{
    if (!result)
        return NRT_INVALID;
    struct tensor_set *set = object_new(OBJECT_SET, sizeof *set, set_destroy);
    pthread_mutex_init(&set->lock, NULL);
    *result = object_publish(&set->object);
    return NRT_SUCCESS;
}

NRT_STATUS nrt_allocate_tensor_set(nrt_tensor_set_t **result)
{
    IN_RUNTIME(allocate(result));
}

void nrt_destroy_tensor_set(nrt_tensor_set_t **tensor_set)
{
    if (!tensor_set)
        return;
    if (runtime_enter() == NRT_SUCCESS) {
        object_put(object_retire(*tensor_set, OBJECT_SET));
        runtime_leave();
    }
    *tensor_set = NULL;
}

/* With the lock held. */
static struct entry *find(struct tensor_set *set, const char *name)
{
    for (size_t i = 0; i < set->entries.count; i++)
        if (strcmp(set->entries.items[i].name, name) == 0)
            return &set->entries.items[i];
    return NULL;
}

static NRT_STATUS add(nrt_tensor_set_t *handle, const char *name, nrt_tensor_t *tensor)
{
    if (!name || !*name)
        return NRT_INVALID;
    struct tensor_set *set = set_get(handle);
    struct tensor *object = tensor_get(tensor);
    NRT_STATUS status = set && object ? NRT_SUCCESS : NRT_INVALID_HANDLE;
    if (status == NRT_SUCCESS) {
        pthread_mutex_lock(&set->lock);
        struct entry *entry = find(set, name);
        if (!entry) {
            entry = array_push(&set->entries);
            entry->name = mem_copy_text(name, strlen(name));
        }
        entry->tensor = tensor;
        pthread_mutex_unlock(&set->lock);
    }
    set_put(set);
    object_put(object ? &object->object : NULL);
    return status;
}

NRT_STATUS nrt_add_tensor_to_tensor_set(nrt_tensor_set_t *tensor_set, const char *tensor_name,
                                        nrt_tensor_t *tensor)
{
    IN_RUNTIME(add(tensor_set, tensor_name, tensor));
}

static NRT_STATUS get(nrt_tensor_set_t *handle, const char *name, nrt_tensor_t **tensor)
{
    if (!name || !tensor)
        return NRT_INVALID;
    struct tensor_set *set = set_get(handle);
    if (!set)
        return NRT_INVALID_HANDLE;
    pthread_mutex_lock(&set->lock);
    const struct entry *entry = find(set, name);
    if (entry)
        *tensor = entry->tensor;
    pthread_mutex_unlock(&set->lock);
    object_put(&set->object);
    return entry ? NRT_SUCCESS : NRT_FAILURE;
}

NRT_STATUS nrt_get_tensor_from_tensor_set(nrt_tensor_set_t *tensor_set, const char *tensor_name,
                                          nrt_tensor_t **tensor)
{
    IN_RUNTIME(get(tensor_set, tensor_name, tensor));
}

struct tensor *set_find(struct tensor_set *set, const char *name)
{
    pthread_mutex_lock(&set->lock);
    const struct entry *entry = find(set, name);
    struct tensor *tensor = entry ? tensor_get(entry->tensor) : NULL;
    pthread_mutex_unlock(&set->lock);
    return tensor;
}
