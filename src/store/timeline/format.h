/*
 * The on-disk format of the index. All numbers are little-endian, times in picoseconds.
 *
 *     magic                8 bytes
 *     blocks, nodes, block tables of the rows, in no particular order, 8-byte aligned
 *     directory            tracks, rows, name ends, names
 *     page checksums       one for each 64 KiB from the start of the file to here
 *     struct trailer
 *
 * A row's events are stored in blocks of 128, in time order. A block is a struct block_head and
 * bit-packed numbers: gaps (from the end of the previous event to the start of this one),
 * durations, names and event numbers, or values for counters; then the exceptions: gaps and
 * durations too large for the common bit width.
 *
 * Each row has a tree over time. A node covers an interval of 4^level ps, aligned to its length
 * relative to origin_ps: the smallest that contains the starts of all its events. A node with more
 * than 64 events has two to four consecutive children, each with the events of a quarter.
 *
 * A track that contains tracks has one row, whose events are not counted in `events`: the time that
 * at least one event below it covers, as events named after the track.
 */
#ifndef KYMO_STORE_TIMELINE_FORMAT_H
#define KYMO_STORE_TIMELINE_FORMAT_H

#include <assert.h>
#include <stdint.h>

#define TIMELINE_MAGIC   "KYMOTL\0\2"
#define TIMELINE_TRAILER "KYMOTLEN"

enum {
    MAGIC_SIZE = 8,
    PAGE_SIZE = 64 << 10,
    BLOCK_EVENTS = 128,
    LEAF_EVENTS = 64,
    TOP_LEVEL = 32,   /* covers all of 64 bits */
    COARSE_PS = 1000, /* unit of blocks whose times are whole nanoseconds */
};

struct block_head {
    int64_t start_ps;    /* the first gap starts here */
    int64_t number_base; /* number of event i: number_base + i + packed number */
    int64_t value_base;  /* integers: value_base + packed; otherwise the packed bits are doubles */
    uint32_t name_base;
    uint8_t is_coarse; /* gaps and durations in units of COARSE_PS */
    uint8_t has_whole_values;
    uint8_t gap_bits, duration_bits, name_bits, number_bits, value_bits;
    uint8_t gap_exceptions, duration_exceptions;
    uint8_t unused[3];
};
static_assert(sizeof(struct block_head) == 40, "as on disk");

struct block_exception {
    uint8_t event;
    uint8_t value[8];
};
static_assert(sizeof(struct block_exception) == 9, "as on disk");

struct node {
    int64_t start_ps; /* of the first event */
    int64_t end_ps;   /* of the last one */
    union {
        struct {
            int64_t busy_ps;
            int64_t longest_ps;
            uint64_t longest_number;
            uint32_t longest_name;
            uint32_t unused;
        };
        struct {
            double sum, min, max, last;
        };
    };
    uint32_t first; /* index of its first event in the row */
    uint32_t count;
    uint32_t first_child;
    uint8_t children, level;
    uint8_t unused_too[2];
};
static_assert(sizeof(struct node) == 64, "as on disk");

struct track_entry {
    uint32_t parent, level, role, name, table, is_counter;
    uint64_t first_id;
    int64_t sort_key;
    uint64_t events;
    uint32_t first_row, row_count;
};
static_assert(sizeof(struct track_entry) == 56, "as on disk");

struct row_entry {
    uint64_t events;
    uint64_t blocks; /* offset of the table of block offsets */
    uint64_t nodes;
    uint32_t node_count;
    uint32_t track;
};
static_assert(sizeof(struct row_entry) == 32, "as on disk");

struct trailer {
    uint64_t directory, checksums; /* offsets */
    int64_t origin_ps, first_ps, last_ps;
    int64_t focus_from_ps, focus_to_ps; /* see focus.h */
    uint32_t track_count, row_count, name_count, unused;
    uint64_t checksum_of_checksums; /* includes the trailer up to here */
    char magic[MAGIC_SIZE];
};
static_assert(sizeof(struct trailer) == 88, "as on disk");

#define CHECKSUM_SEED 0x6B796D6F746C0001u

#endif
