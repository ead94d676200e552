/*
 * Buffers, allocations, and the simulation of the heap.
 */
#include "hlo/memory.h"

enum {
    ASSIGNMENT_BUFFERS = PB_TAG(1, PB_BYTES),
    ASSIGNMENT_ALLOCATIONS = PB_TAG(3, PB_BYTES),
    ASSIGNMENT_TRACES = PB_TAG(4, PB_BYTES),

    ALLOCATION_ASSIGNED = PB_TAG(9, PB_BYTES),
    TRACE_EVENTS = PB_TAG(1, PB_BYTES),

    EVENT_ALLOCATE = 0,
    EVENT_FREE = 1,
    EVENT_SHARE = 2,

    POINTER_BYTES = 8,
    PATH_LIMIT = HLO_SHAPE_DEPTH,
};

const char *hlo_memory_group_name(enum hlo_memory_group group)
{
    static const char *const names[] = {"Parameter", "Output", "Thread-local", "Constant",
                                        "Temporary"};
    return names[group];
}

bool hlo_is_permanent(const struct hlo_memory *memory, const struct hlo_allocation *allocation)
{
    return allocation->is_permanent && !allocation->is_thread_local &&
           allocation->space == memory->space;
}

static struct hlo_allocation read_allocation(struct pb_reader in)
{
    struct hlo_allocation allocation = {
        .index = hlo_number(in, 1),
        .size = hlo_number(in, 2),
        .is_thread_local = hlo_number(in, 3) != 0,
        .is_parameter = hlo_number(in, 5) != 0,
        .is_output = hlo_number(in, 7) != 0,
        .space = hlo_number(in, 8),
        .is_tuple = hlo_number(in, 11) != 0,
        .is_constant = hlo_number(in, 12) != 0,
        .bytes = in,
    };
    allocation.is_permanent = allocation.is_thread_local || allocation.is_parameter ||
                              allocation.is_output || allocation.is_constant;
    allocation.group = allocation.is_parameter      ? HLO_GROUP_PARAMETER
                       : allocation.is_output       ? HLO_GROUP_OUTPUT
                       : allocation.is_thread_local ? HLO_GROUP_THREAD_LOCAL
                       : allocation.is_constant     ? HLO_GROUP_CONSTANT
                                                    : HLO_GROUP_TEMPORARY;
    return allocation;
}

/* A buffer whose instruction exists; its allocation is found afterward. */
static bool read_buffer(struct hlo_memory *memory, const struct hlo_module *module,
                        struct pb_reader in)
{
    struct pb_reader location = hlo_message(in, 3);
    int64_t path[PATH_LIMIT];
    struct hlo_buffer buffer = {
        .id = hlo_number(in, 1),
        .size = hlo_number(in, 2),
        .space = hlo_number(in, 4),
        .instruction = idmap_get(&module->by_id, (uint64_t)hlo_number(location, 4)),
        .allocation = HLO_NONE,
        .shares_with = HLO_NONE,
        .shown_as = HLO_NONE,
        .start = -1,
    };
    if (buffer.instruction == HLO_NONE || buffer.size < 0 ||
        !hlo_list(location, 3, PATH_LIMIT, path, &buffer.path_size))
        return false;
    const struct hlo_shape *whole = &module->instructions.items[buffer.instruction].shape;
    buffer.shape = hlo_shape_at(whole, path, buffer.path_size);
    if (!buffer.shape)
        return false;
    buffer.path = arena_alloc(&memory->memory, (buffer.path_size + 1) * sizeof *buffer.path);
    memcpy(buffer.path, path, buffer.path_size * sizeof *path);
    buffer.unpadded_size = hlo_bytes(buffer.shape, POINTER_BYTES);
    idmap_put(&memory->by_id, (uint64_t)buffer.id, (uint32_t)memory->buffers.count);
    *array_push(&memory->buffers) = buffer;
    return true;
}

static bool allocation_before(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct hlo_allocation *)a)->index < ((const struct hlo_allocation *)b)->index;
}

static struct hlo_buffer *buffer_of(const struct hlo_memory *memory, int64_t id)
{
    uint32_t index = idmap_get(&memory->by_id, (uint64_t)id);
    if (index == IDMAP_NONE || memory->buffers.items[index].allocation == HLO_NONE)
        return NULL;
    return &memory->buffers.items[index];
}

static void assign_buffers(struct hlo_memory *memory, uint32_t number)
{
    struct pb_reader in = memory->allocations.items[number].bytes;
    struct pb_field field;
    while (pb_next(&in, &field)) {
        if (field.tag != ALLOCATION_ASSIGNED)
            continue;
        struct pb_reader assigned = pb_enter(&field);
        uint32_t index = idmap_get(&memory->by_id, (uint64_t)hlo_number(assigned, 1));
        if (index == IDMAP_NONE)
            continue;
        memory->buffers.items[index].allocation = number;
        memory->buffers.items[index].offset = hlo_number(assigned, 2);
    }
}

static void read_assignment(struct hlo_memory *memory, const struct hlo_module *module)
{
    struct pb_reader in = module->buffers;
    struct pb_field field;
    while (pb_next(&in, &field)) {
        if (field.tag == ASSIGNMENT_BUFFERS)
            read_buffer(memory, module, pb_enter(&field));
        else if (field.tag == ASSIGNMENT_ALLOCATIONS)
            *array_push(&memory->allocations) = read_allocation(pb_enter(&field));
    }
    sort_items(memory->allocations.items, memory->allocations.count,
               sizeof *memory->allocations.items, allocation_before, NULL);
    for (uint32_t i = 0; i < memory->allocations.count; i++)
        assign_buffers(memory, i);
}

/* --- which trace --- */

static struct hlo_buffer *event_buffer(const struct hlo_memory *memory, struct pb_reader event)
{
    return buffer_of(memory, hlo_number(event, 2));
}

/* Whether the trace belongs to a temporary allocation in the memory space, judged by its first
 * event. */
static bool is_of_temporary(const struct hlo_memory *memory, struct pb_reader trace)
{
    struct pb_field field;
    while (pb_next(&trace, &field)) {
        if (field.tag != TRACE_EVENTS)
            continue;
        const struct hlo_buffer *buffer = event_buffer(memory, pb_enter(&field));
        const struct hlo_allocation *allocation =
            buffer ? &memory->allocations.items[buffer->allocation] : NULL;
        return allocation && !allocation->is_permanent && allocation->space == memory->space;
    }
    return false;
}

static uint64_t events_of_space(const struct hlo_memory *memory, struct pb_reader trace)
{
    struct pb_field field;
    uint64_t count = 0;
    while (pb_next(&trace, &field)) {
        if (field.tag != TRACE_EVENTS)
            continue;
        const struct hlo_buffer *buffer = event_buffer(memory, pb_enter(&field));
        count += buffer && buffer->space == memory->space;
    }
    return count;
}

static struct pb_reader find_trace(const struct hlo_memory *memory, struct pb_reader in)
{
    struct pb_reader best = {0}, at = in;
    struct pb_field field;
    uint64_t most = 0;
    while (pb_next(&at, &field))
        if (field.tag == ASSIGNMENT_TRACES && is_of_temporary(memory, pb_enter(&field)))
            return pb_enter(&field);
    while (pb_next(&in, &field)) {
        uint64_t count =
            field.tag == ASSIGNMENT_TRACES ? events_of_space(memory, pb_enter(&field)) : 0;
        if (count > most) {
            most = count;
            best = pb_enter(&field);
        }
    }
    return best;
}

/* --- the simulation --- */

struct heap {
    struct hlo_memory *memory;
    int64_t bytes, unpadded_bytes;
    int64_t position, last; /* of events */
    uint32_t allocation;    /* the only one in the trace */
    bool is_second;         /* the run that finds the buffers live at the peak */
};

/* The buffer whose memory this one has; shortens the path for the next lookup. */
static uint32_t owner_of(struct hlo_memory *memory, uint32_t index)
{
    struct hlo_buffer *buffers = memory->buffers.items;
    while (buffers[index].shares_with != HLO_NONE) {
        uint32_t next = buffers[index].shares_with;
        if (buffers[next].shares_with != HLO_NONE)
            buffers[index].shares_with = buffers[next].shares_with;
        index = next;
    }
    return index;
}

static void grow(struct heap *heap, struct hlo_buffer *buffer)
{
    struct hlo_memory *memory = heap->memory;
    buffer->alive_since = heap->position + 1;
    heap->bytes = add_saturated(heap->bytes, buffer->size);
    heap->unpadded_bytes = add_saturated(heap->unpadded_bytes, buffer->unpadded_size);
    if (!heap->is_second && heap->bytes > memory->peak_bytes) {
        memory->peak_bytes = heap->bytes;
        memory->peak_unpadded_bytes = heap->unpadded_bytes;
        memory->peak_position = heap->position;
    }
}

static bool release(struct heap *heap, struct hlo_buffer *buffer, struct error *err)
{
    struct hlo_memory *memory = heap->memory;
    uint32_t index = (uint32_t)(buffer - memory->buffers.items);
    struct hlo_buffer *owner = &memory->buffers.items[owner_of(memory, index)];
    if (--owner->references < 0)
        return error_set(err, "buffer %lld of the module's memory is freed twice",
                         (long long)buffer->id);
    if (owner->references == 0) {
        owner->alive_since = 0;
        heap->bytes = sub_saturated(heap->bytes, owner->size);
        heap->unpadded_bytes = sub_saturated(heap->unpadded_bytes, owner->unpadded_size);
        /* Memory that is reused belongs to the sharer from then on. */
        if (owner->start >= 0 && owner->shown_as == HLO_NONE)
            owner->limit = heap->position;
    }
    if (buffer != owner && buffer->start >= 0)
        buffer->limit = heap->position;
    return true;
}

static bool share(struct heap *heap, struct hlo_buffer *buffer, struct pb_reader event,
                  struct error *err)
{
    struct hlo_memory *memory = heap->memory;
    uint32_t index = (uint32_t)(buffer - memory->buffers.items);
    struct hlo_buffer *with = buffer_of(memory, hlo_number(event, 5));
    if (!with)
        return true;
    uint32_t owner = owner_of(memory, (uint32_t)(with - memory->buffers.items));
    if (owner == index)
        return error_set(err, "buffer %lld of the module's memory shares with itself",
                         (long long)buffer->id);
    buffer->shares_with = (uint32_t)(with - memory->buffers.items);
    /* Memory that was free is reused, and belongs to the sharer from now on. */
    if (++memory->buffers.items[owner].references == 1) {
        memory->buffers.items[owner].shown_as = index;
        buffer->start = heap->position;
        buffer->limit = heap->last;
        grow(heap, &memory->buffers.items[owner]);
    }
    return true;
}

/* The first run records sizes before each event; the second stops at the peak and records nothing.
 * Events of buffers that are not in the module are counted as positions only. */
static bool run_event(struct heap *heap, struct pb_reader event, struct error *err)
{
    struct hlo_memory *memory = heap->memory;
    struct hlo_buffer *buffer = event_buffer(memory, event);
    if (!heap->is_second) {
        *array_push(&memory->heap_bytes) = heap->bytes;
        *array_push(&memory->unpadded_bytes) = heap->unpadded_bytes;
        *array_push(&memory->instructions) = hlo_text(event, 4);
    }
    if (!buffer)
        return true;
    if (heap->allocation == HLO_NONE)
        heap->allocation = buffer->allocation;
    if (heap->allocation != buffer->allocation)
        return error_set(err, "a trace of the module's memory covers several allocations");
    switch (hlo_number(event, 1)) {
    case EVENT_ALLOCATE:
        buffer->references++;
        buffer->start = heap->position;
        buffer->limit = heap->last;
        grow(heap, buffer);
        return true;
    case EVENT_FREE:
        return release(heap, buffer, err);
    case EVENT_SHARE:
        return share(heap, buffer, event, err);
    default:
        return error_set(err, "the module's memory has an event of an unknown kind");
    }
}

static void forget_run(struct hlo_memory *memory)
{
    struct hlo_buffer *buffer;
    array_each (buffer, &memory->buffers) {
        buffer->references = buffer->alive_since = 0;
        buffer->shares_with = buffer->shown_as = HLO_NONE;
    }
}

static bool run_trace(struct heap *heap, struct pb_reader trace, int64_t end, struct error *err)
{
    struct pb_field field;
    while (heap->position < end && pb_next(&trace, &field)) {
        if (field.tag != TRACE_EVENTS)
            continue;
        if (!run_event(heap, pb_enter(&field), err))
            return false;
        heap->position++;
    }
    return true;
}

static bool lived_before(const void *a, const void *b, const void *context)
{
    const struct hlo_memory *memory = context;
    return memory->buffers.items[*(const uint32_t *)a].alive_since <
           memory->buffers.items[*(const uint32_t *)b].alive_since;
}

/* Those live after the event of the peak, in the order in which they became live; a buffer that
 * others share is shown as the one that uses it. */
static void add_peak(struct hlo_memory *memory)
{
    size_t first = memory->peak.count;
    for (uint32_t i = 0; i < memory->buffers.count; i++)
        if (memory->buffers.items[i].alive_since > 0)
            *array_push(&memory->peak) = i;
    if (memory->peak.count == first)
        return;
    sort_items(memory->peak.items + first, memory->peak.count - first, sizeof *memory->peak.items,
               lived_before, memory);
    for (size_t i = first; i < memory->peak.count; i++) {
        uint32_t shown = memory->buffers.items[memory->peak.items[i]].shown_as;
        if (shown != HLO_NONE)
            memory->peak.items[i] = shown;
    }
}

/* Runs twice, as the peak is known only at the end of the first run and keeping the live set of
 * every event would take quadratic memory. */
static bool simulate(struct hlo_memory *memory, struct pb_reader trace, struct error *err)
{
    struct heap heap = {.memory = memory, .allocation = HLO_NONE};
    struct pb_reader counting = trace;
    struct pb_field field;
    while (pb_next(&counting, &field))
        heap.last += field.tag == TRACE_EVENTS;
    if (heap.last == 0)
        return true;
    heap.last--;
    if (!run_trace(&heap, trace, INT64_MAX, err))
        return false;
    *array_push(&memory->heap_bytes) = heap.bytes;
    *array_push(&memory->unpadded_bytes) = heap.unpadded_bytes;
    *array_push(&memory->instructions) = (struct text){0};
    /* Find what was live at the peak: the same again, up to there. Lifetimes are kept. */
    struct hlo_buffer *before = mem_alloc(memory->buffers.count * sizeof *before);
    memcpy(before, memory->buffers.items, memory->buffers.count * sizeof *before);
    forget_run(memory);
    struct heap again = {
        .memory = memory, .allocation = heap.allocation, .last = heap.last, .is_second = true};
    bool ok = run_trace(&again, trace, memory->peak_position + 1, err);
    add_peak(memory);
    memcpy(memory->buffers.items, before, memory->buffers.count * sizeof *before);
    mem_free(before);
    return ok;
}

/* An allocation is represented by its largest buffer. */
static void add_permanent(struct hlo_memory *memory)
{
    uint32_t *largest = mem_alloc((memory->allocations.count + 1) * sizeof *largest);
    memset(largest, 0xFF, (memory->allocations.count + 1) * sizeof *largest);
    for (uint32_t i = 0; i < memory->allocations.count; i++) {
        struct pb_reader in = memory->allocations.items[i].bytes;
        struct pb_field field;
        int64_t most = 0;
        while (pb_next(&in, &field)) {
            const struct hlo_buffer *buffer =
                field.tag == ALLOCATION_ASSIGNED
                    ? buffer_of(memory, hlo_number(pb_enter(&field), 1))
                    : NULL;
            if (buffer && buffer->size > most) {
                most = buffer->size;
                largest[i] = (uint32_t)(buffer - memory->buffers.items);
            }
        }
    }
    for (uint32_t i = 0; i < memory->allocations.count; i++) {
        const struct hlo_allocation *allocation = &memory->allocations.items[i];
        if (!hlo_is_permanent(memory, allocation) || largest[i] == HLO_NONE)
            continue;
        memory->permanent_bytes = add_saturated(memory->permanent_bytes, allocation->size);
        if (memory->space == 0)
            *array_push(&memory->peak) = largest[i];
    }
    mem_free(largest);
}

static void add_sums(struct hlo_memory *memory)
{
    const struct hlo_allocation *allocation;
    array_each (allocation, &memory->allocations) {
        if (allocation->space != memory->space)
            continue;
        if (!allocation->is_thread_local)
            memory->total_bytes = add_saturated(memory->total_bytes, allocation->size);
        if (allocation->is_parameter)
            memory->parameter_bytes = add_saturated(memory->parameter_bytes, allocation->size);
        if (allocation->is_output)
            memory->output_bytes = add_saturated(memory->output_bytes, allocation->size);
        if (allocation->is_thread_local || allocation->is_tuple)
            memory->fixed_bytes = add_saturated(memory->fixed_bytes, allocation->size);
    }
}

bool hlo_memory_read(struct hlo_memory *memory, const struct hlo_module *module, int64_t space,
                     struct error *err)
{
    *memory = (struct hlo_memory){.space = space};
    read_assignment(memory, module);
    add_sums(memory);
    add_permanent(memory);
    return simulate(memory, find_trace(memory, module->buffers), err);
}

void hlo_memory_free(struct hlo_memory *memory)
{
    array_free(&memory->allocations);
    array_free(&memory->buffers);
    idmap_free(&memory->by_id);
    array_free(&memory->heap_bytes);
    array_free(&memory->unpadded_bytes);
    array_free(&memory->instructions);
    array_free(&memory->peak);
    arena_free(&memory->memory);
}
