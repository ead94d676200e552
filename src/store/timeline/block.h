/*
 * Inside timeline: a row's events, unpacked a block at a time.
 */
#ifndef KYMO_STORE_TIMELINE_BLOCK_H
#define KYMO_STORE_TIMELINE_BLOCK_H

#include "store/timeline/read.h"

/* An unpacked block of events. */
struct block {
    size_t number; /* SIZE_MAX: none */
    struct block_head head;
    const uint8_t *names, *numbers, *values;
    size_t count;
    int64_t start_ps[BLOCK_EVENTS], end_ps[BLOCK_EVENTS];
};

/* A row of a track; NULL, with err set, if its entry is damaged. */
const struct row_entry *timeline_row_at(struct timeline *timeline, uint32_t track, uint32_t row,
                                        struct error *err);
/* Loads a block of the row, unless it is loaded already. */
bool block_load(struct block *block, struct timeline *timeline, const struct row_entry *row,
                size_t number, struct error *err);
/* The last block that starts before a time, or the first one. */
bool block_before(struct timeline *timeline, const struct row_entry *row, int64_t time_ps,
                  uint64_t *number, struct error *err);

/* Number of an event within its track. */
static inline uint64_t block_event_number(const struct block *block, size_t event)
{
    return (uint64_t)block->head.number_base + event +
           bits_at(block->numbers, event, block->head.number_bits);
}

static inline uint32_t block_event_name(const struct block *block, size_t event)
{
    return block->head.name_base + (uint32_t)bits_at(block->names, event, block->head.name_bits);
}

#endif
