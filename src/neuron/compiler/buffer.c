/*
 * Space in SBUF and PSUM. The space released longest ago is used first, so that its next user
 * seldom waits for the previous one: loads run ahead of the computation by as much as fits.
 */
#include "neuron/compiler/emit.h"

static void epoch_release(struct emit *emit, uint32_t index)
{
    struct epoch *epoch = &emit->epochs.items[index];
    if (index == 0 || --epoch->holders > 0)
        return;
    epoch->next = emit->free_epoch;
    emit->free_epoch = index;
}

static uint32_t epoch_new(struct emit *emit, const struct clock *clock, uint32_t holders)
{
    uint32_t index = emit->free_epoch;
    if (index)
        emit->free_epoch = emit->epochs.items[index].next;
    else {
        index = (uint32_t)emit->epochs.count;
        array_push(&emit->epochs);
    }
    emit->epochs.items[index] = (struct epoch){*clock, holders, 0};
    return index;
}

/* The first run of `count` free granules from `from` on; the number of granules if there is
 * none. */
static uint32_t find_run(const struct space *space, uint32_t from, uint32_t count)
{
    uint32_t length = 0;
    for (uint32_t i = from; i < space->granules; i++) {
        length = space->taken[i] ? 0 : length + 1;
        if (length == count)
            return i + 1 - count;
    }
    return space->granules;
}

/* Searches from where the last search ended, so that space is reused as late as possible. Always
 * returns a buffer, with one holder: after a failure it is empty, so that lowering can go on to its
 * next check. The buffer inherits the clocks of whatever used its space before. */
struct buffer *buffer_new(struct emit *emit, enum memory memory, uint32_t bytes)
{
    struct space *space = memory == MEMORY_SBUF ? &emit->sbuf : &emit->psum;
    uint32_t granule = memory == MEMORY_SBUF ? GRANULE : PSUM_BANK_BYTES;
    uint32_t count = (bytes + granule - 1) / granule;
    uint32_t first = find_run(space, space->cursor, count);
    if (first == space->granules)
        first = find_run(space, 0, count);
    while (first == space->granules && memory == MEMORY_SBUF && emit->make_room &&
           emit->make_room(emit->room_context))
        first = find_run(space, 0, count);
    struct buffer *buffer = emit->free_buffers;
    if (buffer)
        emit->free_buffers = buffer->next;
    else
        buffer = arena_alloc(&emit->memory, sizeof *buffer);
    memset(buffer, 0, sizeof *buffer);
    if (first == space->granules) {
        emit_fail(emit, memory == MEMORY_SBUF ? "SBUF is full" : "PSUM is full");
        first = count = 0;
    }
    for (uint32_t i = first; i < first + count; i++) {
        if (i == first || space->epoch[i] != space->epoch[i - 1])
            clock_merge(&buffer->before, &emit->epochs.items[space->epoch[i]].clock);
        space->taken[i] = true;
    }
    space->cursor = first + count;
    buffer->memory = (uint8_t)memory;
    buffer->offset = first * granule;
    buffer->bytes = bytes;
    buffer->first = first;
    buffer->count = count;
    buffer->holders = 1;
    return buffer;
}

void buffer_hold(struct buffer *buffer)
{
    buffer->holders++;
}

void buffer_release(struct emit *emit, struct buffer *buffer)
{
    if (--buffer->holders > 0)
        return;
    struct space *space = buffer->memory == MEMORY_SBUF ? &emit->sbuf : &emit->psum;
    struct clock clock = buffer->write;
    clock_merge(&clock, &buffer->read);
    clock_merge(&clock, &buffer->before); /* it may not have been used */
    uint32_t epoch = buffer->count ? epoch_new(emit, &clock, buffer->count) : 0;
    for (uint32_t i = buffer->first; i < buffer->first + buffer->count; i++) {
        epoch_release(emit, space->epoch[i]);
        space->epoch[i] = epoch;
        space->taken[i] = false;
    }
    buffer->next = emit->free_buffers;
    emit->free_buffers = buffer;
}

struct operand plain_operand(const struct buffer *buffer, enum dtype dtype, uint32_t partitions,
                             uint32_t elements)
{
    return (struct operand){
        .memory = buffer->memory,
        .dtype = (uint8_t)dtype,
        .partitions = (uint8_t)partitions,
        .offset = buffer->offset,
        .step = {0, 0, 0, 1},
        .size = {1, 1, 1, elements},
    };
}
