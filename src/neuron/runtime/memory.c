/*
 * HBM: each stack is a range of reserved addresses, in which allocations get pages. Free addresses
 * are not accessible and take no memory of the host.
 */
#include "base/base.h"
#include "neuron/runtime/runtime.h"

#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

struct extent { /* free addresses, in order */
    struct extent *next;
    size_t offset, size;
};

struct stack {
    pthread_mutex_t lock;
    uint8_t *base; /* NULL until first use */
    size_t size;
    uint32_t index; /* of its chip */
    struct extent *free;
};

static struct stack *stacks;
static uint32_t stack_count, stacks_per_chip;

void stacks_open(const struct runtime_settings *from)
{
    const struct core_hardware *core = from->instance->core;
    stacks_per_chip = core->stacks_per_chip;
    stack_count = from->instance->chips * stacks_per_chip;
    stacks = mem_zeroed(stack_count, sizeof *stacks);
    for (uint32_t i = 0; i < stack_count; i++) {
        pthread_mutex_init(&stacks[i].lock, NULL);
        stacks[i].size = core->hbm_bytes;
        stacks[i].index = i % stacks_per_chip;
    }
}

void stacks_close(void)
{
    for (uint32_t i = 0; i < stack_count; i++) {
        for (struct extent *extent = stacks[i].free, *next; extent; extent = next) {
            next = extent->next;
            mem_free(extent);
        }
        if (stacks[i].base)
            munmap(stacks[i].base, stacks[i].size);
        pthread_mutex_destroy(&stacks[i].lock);
    }
    mem_free(stacks);
    stacks = NULL;
    stack_count = 0;
}

struct stack *stack_of(uint32_t chip, uint32_t index)
{
    return index < stacks_per_chip && chip < stack_count / stacks_per_chip
               ? &stacks[chip * stacks_per_chip + index]
               : NULL;
}

size_t stack_size(const struct stack *stack)
{
    return stack->size;
}

uint32_t stack_index(const struct stack *stack)
{
    return stack->index;
}

/* With the lock held. */
static bool reserve(struct stack *stack)
{
    if (stack->base)
        return true;
    void *base =
        mmap(NULL, stack->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return false;
    stack->base = base;
    stack->free = mem_alloc(sizeof *stack->free);
    *stack->free = (struct extent){.size = stack->size};
    return true;
}

uint8_t *stack_base(struct stack *stack)
{
    pthread_mutex_lock(&stack->lock);
    uint8_t *base = reserve(stack) ? stack->base : NULL;
    pthread_mutex_unlock(&stack->lock);
    return base;
}

static size_t whole_pages(size_t size)
{
    return (size + PAGE - 1) / PAGE * PAGE;
}

/* With the lock held: the first extent that is large enough; false: none. */
static bool take(struct stack *stack, size_t size, size_t *offset)
{
    for (struct extent **link = &stack->free; *link; link = &(*link)->next) {
        struct extent *extent = *link;
        if (extent->size < size)
            continue;
        *offset = extent->offset;
        extent->offset += size;
        extent->size -= size;
        if (extent->size == 0) {
            *link = extent->next;
            mem_free(extent);
        }
        return true;
    }
    return false;
}

/* With the lock held: gives addresses back, joined with their neighbors. */
static void give(struct stack *stack, size_t offset, size_t size)
{
    struct extent **link = &stack->free, *before = NULL;
    while (*link && (*link)->offset < offset) {
        before = *link;
        link = &before->next;
    }
    struct extent *after = *link;
    if (before && before->offset + before->size == offset) {
        before->size += size;
    } else {
        struct extent *extent = mem_alloc(sizeof *extent);
        *extent = (struct extent){.next = after, .offset = offset, .size = size};
        *link = extent;
        before = extent;
    }
    if (after && before->offset + before->size == after->offset) {
        before->size += after->size;
        before->next = after->next;
        mem_free(after);
    }
}

uint8_t *stack_allocate(struct stack *stack, size_t size)
{
    uint8_t *memory = NULL;
    size_t offset;
    if (size > stack->size)
        return NULL;
    size = whole_pages(size);
    pthread_mutex_lock(&stack->lock);
    if (reserve(stack) && take(stack, size, &offset)) {
        memory = stack->base + offset;
        if (mprotect(memory, size, PROT_READ | PROT_WRITE) != 0) {
            give(stack, offset, size);
            memory = NULL;
        }
    }
    pthread_mutex_unlock(&stack->lock);
    return memory;
}

void stack_free(struct stack *stack, uint8_t *memory, size_t size)
{
    size = whole_pages(size);
    pthread_mutex_lock(&stack->lock);
    /* A new mapping in its place: the pages are gone, and zero when they come back. */
    if (mmap(memory, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
             0) == MAP_FAILED)
        memset(memory, 0, size);
    give(stack, (size_t)(memory - stack->base), size);
    pthread_mutex_unlock(&stack->lock);
}

/* With the lock held: whether no free extent overlaps. */
static bool is_allocated(const struct stack *stack, size_t offset, size_t size)
{
    for (const struct extent *extent = stack->free; extent; extent = extent->next)
        if (extent->offset < offset + size && offset < extent->offset + extent->size)
            return false;
    return true;
}

bool stacks_contain(uintptr_t address, size_t size)
{
    bool found = false;
    for (uint32_t i = 0; i < stack_count && !found; i++) {
        struct stack *stack = &stacks[i];
        pthread_mutex_lock(&stack->lock);
        uintptr_t base = (uintptr_t)stack->base;
        found = base && size > 0 && size <= stack->size && address >= base &&
                address - base <= stack->size - size && is_allocated(stack, address - base, size);
        pthread_mutex_unlock(&stack->lock);
    }
    return found;
}
