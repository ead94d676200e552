/*
 * Unpacks blocks of events.
 */
#include "store/timeline/block.h"

const struct row_entry *timeline_row_at(struct timeline *timeline, uint32_t track, uint32_t row,
                                        struct error *err)
{
    const struct row_entry *entry = &timeline->rows[timeline->tracks[track].first_row + row];
    uint64_t blocks = (entry->events + BLOCK_EVENTS - 1) / BLOCK_EVENTS;
    if (entry->track == track && entry->node_count > 0 && entry->nodes % 8 == 0 &&
        entry->blocks % 8 == 0 && blocks <= timeline->file.size)
        return entry;
    timeline_damaged(timeline, timeline->trailer.directory, err);
    return NULL;
}

static uint64_t exception_value(const struct block_exception *exception)
{
    uint64_t value;
    memcpy(&value, exception->value, sizeof value);
    return value;
}

static void unpack_times(struct block *block, const uint8_t *packed_gaps,
                         const uint8_t *packed_durations, const void *exceptions)
{
    const struct block_head *head = &block->head;
    size_t count = block->count;
    uint64_t gaps[BLOCK_EVENTS], durations[BLOCK_EVENTS];
    for (size_t i = 0; i < count; i++) {
        gaps[i] = bits_at(packed_gaps, i, head->gap_bits);
        durations[i] = bits_at(packed_durations, i, head->duration_bits);
    }
    const struct block_exception *exception = exceptions;
    for (unsigned i = 0; i < head->gap_exceptions; i++, exception++)
        gaps[exception->event % BLOCK_EVENTS] = exception_value(exception);
    for (unsigned i = 0; i < head->duration_exceptions; i++, exception++)
        durations[exception->event % BLOCK_EVENTS] = exception_value(exception);
    uint64_t unit = head->is_coarse ? COARSE_PS : 1, time = (uint64_t)head->start_ps;
    for (size_t i = 0; i < count; i++) {
        time += gaps[i] * unit;
        block->start_ps[i] = (int64_t)time;
        time += durations[i] * unit;
        block->end_ps[i] = (int64_t)time;
    }
}

/* The head of a block in the file, and its offset. */
static const uint8_t *find_block(struct timeline *timeline, const struct row_entry *row,
                                 size_t number, uint64_t *offset, struct error *err)
{
    const uint64_t *table =
        timeline_range(timeline, row->blocks + number * sizeof *table, sizeof *table, err);
    if (!table)
        return NULL;
    *offset = *table;
    return timeline_range(timeline, *offset, sizeof(struct block_head), err);
}

/* The start of a block: none of its events starts earlier, none before it ends later. */
static bool block_start(struct timeline *timeline, const struct row_entry *row, size_t number,
                        int64_t *start_ps, struct error *err)
{
    struct block_head head;
    uint64_t offset;
    const uint8_t *at = find_block(timeline, row, number, &offset, err);
    if (!at)
        return false;
    memcpy(&head, at, sizeof head);
    *start_ps = head.start_ps;
    return true;
}

bool block_before(struct timeline *timeline, const struct row_entry *row, int64_t time_ps,
                  uint64_t *number, struct error *err)
{
    uint64_t low = 0, high = (row->events + BLOCK_EVENTS - 1) / BLOCK_EVENTS;
    while (low + 1 < high) {
        uint64_t middle = low + (high - low) / 2;
        int64_t start;
        if (!block_start(timeline, row, (size_t)middle, &start, err))
            return false;
        if (start < time_ps)
            low = middle;
        else
            high = middle;
    }
    *number = low;
    return true;
}

/* Widths and counts come from a file whose pages are checked, but a defect of the writer must not
 * read out of bounds: everything is checked again. Only times are unpacked; the rest is read when
 * an item is made. */
bool block_load(struct block *block, struct timeline *timeline, const struct row_entry *row,
                size_t number, struct error *err)
{
    if (block->number == number)
        return true;
    block->number = SIZE_MAX;
    uint64_t left = row->events - (uint64_t)number * BLOCK_EVENTS, offset;
    size_t count = left < BLOCK_EVENTS ? (size_t)left : BLOCK_EVENTS;
    struct block_head *head = &block->head;
    const uint8_t *at = find_block(timeline, row, number, &offset, err);
    if (!at)
        return false;
    memcpy(head, at, sizeof *head);
    unsigned widths[] = {head->gap_bits, head->duration_bits, head->name_bits, head->number_bits,
                         head->value_bits};
    size_t size = sizeof *head, streams[5];
    for (size_t i = 0; i < 5; i++) {
        if (widths[i] > 64)
            return timeline_damaged(timeline, offset, err);
        streams[i] = size;
        size += bits_bytes(count, widths[i]);
    }
    size_t exceptions = (size_t)head->gap_exceptions + head->duration_exceptions, packed = size;
    size += exceptions * sizeof(struct block_exception);
    /* Bits are read in words, slightly past the end; the directory follows the last block. */
    if (!timeline_range(timeline, offset, size + BITS_SLACK, err))
        return false;
    block->names = at + streams[2];
    block->numbers = at + streams[3];
    block->values = at + streams[4];
    block->count = count;
    unpack_times(block, at + streams[0], at + streams[1], at + packed);
    block->number = number;
    return true;
}
