/*
 * Values that are still in SBUF when they are needed again. Values that a group stores are
 * remembered, and the oldest given up when room is needed; a load that finds its elements there
 * transfers nothing.
 */
#include "neuron/compiler/lower.h"

enum { RESIDENT_SHARE = 3 }; /* fraction of SBUF */

/* The partitions of a walk merged into one dimension, and whether the rest is one run of
 * elements. */
static bool summarize(const struct transfer_walk *walk, uint32_t *rows, int64_t *row_step,
                      uint32_t *columns)
{
    struct access parts = {0}, rest = {0};
    if (walk->rank > IR_RANK)
        return false;
    for (uint32_t i = 0; i < walk->rank; i++) {
        struct access *to = i < walk->parts ? &parts : &rest;
        to->size[to->rank] = walk->size[i];
        to->step[to->rank++] = walk->step[i];
    }
    access_collapse(&parts);
    access_collapse(&rest);
    *rows = parts.rank ? parts.size[0] : 1;
    *row_step = parts.rank ? parts.step[0] : 0;
    *columns = rest.rank ? rest.size[0] : 1;
    return parts.rank <= 1 && (rest.rank == 0 || (rest.rank == 1 && rest.step[0] == 1));
}

static void give_up(struct lower *lower, size_t index)
{
    struct resident *item = &lower->residents.items[index];
    lower->resident_bytes -= item->buffer->bytes;
    buffer_release(&lower->emit, item->buffer);
    memmove(item, item + 1, (--lower->residents.count - index) * sizeof *item);
}

bool resident_make_room(void *context)
{
    struct lower *lower = context;
    if (lower->residents.count == 0)
        return false;
    give_up(lower, 0);
    return true;
}

void resident_keep(struct lower *lower, uint32_t base, const struct transfer *transfer)
{
    struct resident item = {.base = base, .offset = transfer->offset, .buffer = transfer->buffer};
    uint32_t last = lower->last_group[base];
    if (last == IR_NONE || last <= lower->group || transfer->buffer->memory != MEMORY_SBUF ||
        !summarize(&transfer->walk, &item.rows, &item.row_step, &item.columns))
        return;
    uint32_t limit = lower->emit.hardware->sbuf_bytes / RESIDENT_SHARE;
    if (item.buffer->bytes > limit)
        return;
    while (lower->resident_bytes + item.buffer->bytes > limit)
        give_up(lower, 0);
    buffer_hold(item.buffer);
    lower->resident_bytes += item.buffer->bytes;
    *array_push(&lower->residents) = item;
}

struct buffer *resident_find(struct lower *lower, uint32_t base, int64_t offset,
                             const struct transfer_walk *walk, uint32_t *first)
{
    uint32_t rows, columns;
    int64_t row_step;
    if (base == IR_NONE || !summarize(walk, &rows, &row_step, &columns))
        return NULL;
    for (size_t i = 0; i < lower->residents.count; i++) {
        const struct resident *item = &lower->residents.items[i];
        if (item->base != base || item->rows != rows || (rows > 1 && item->row_step != row_step) ||
            offset < item->offset || offset + columns > item->offset + item->columns)
            continue;
        *first = (uint32_t)(offset - item->offset);
        buffer_hold(item->buffer);
        return item->buffer;
    }
    return NULL;
}

void resident_forget(struct lower *lower, uint32_t base)
{
    for (size_t i = lower->residents.count; i-- > 0;)
        if (lower->residents.items[i].base == base)
            give_up(lower, i);
}
