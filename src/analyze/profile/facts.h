/*
 * Inside analyze: what the args of device work and of allocations say, summed while they are read,
 * as args are not kept.
 */
#ifndef KYMO_ANALYZE_PROFILE_FACTS_H
#define KYMO_ANALYZE_PROFILE_FACTS_H

#include "analyze/profile/analyze.h"

/* An event and its length; 0: none. */
struct long_event {
    struct event_ref ref;
    int64_t ps;
};

/* Sums over the device events of one type. */
struct work_facts {
    int64_t kernel_ps;        /* of kernels whose size is known */
    int64_t few_ps;           /* lost as there are fewer blocks than multiprocessors */
    int64_t tail_ps;          /* lost as the last wave of blocks is not full */
    int64_t low_ps;           /* at a low occupancy, though there are enough blocks */
    double blocks;            /* per multiprocessor, of the last one */
    uint64_t pageable, small; /* copies from or to pageable memory; copies of few bytes */
    int64_t pageable_ps, pageable_bytes, small_ps;
    struct long_event few, tail, low, paged, tiny; /* the longest of each kind */
};

struct facts {
    struct work_facts *work; /* by event type */
    size_t types;
    int64_t reserved_bytes, used_bytes; /* of an allocator: the most at any time */
};

void facts_init(struct facts *facts, size_t types);
void facts_free(struct facts *facts);
void facts_merge(struct facts *into, const struct facts *other);

/* Details of kernels that were parsed: most kernels of a type have the same string. */
enum { KNOWN_KERNELS = 512 };
struct known_kernel {
    uint32_t string;  /* 0: none */
    double blocks;    /* in all */
    double waves_at;  /* blocks that fit a multiprocessor at once; 0 if unknown */
    double occupancy; /* 0 to 1; 0 if unknown */
};
struct facts_reader {
    struct facts facts;
    struct known_kernel known[KNOWN_KERNELS];
};

void facts_kernel(struct facts_reader *reader, const struct analysis *analysis,
                  struct event_ref ref, uint32_t type, int64_t duration_ps,
                  const struct arg *details, const struct arg *blocks_per_multiprocessor);
void facts_copy(struct facts_reader *reader, const struct analysis *analysis, struct event_ref ref,
                uint32_t type, int64_t duration_ps, const struct arg *details,
                const struct arg *bytes);
void facts_memory(struct facts_reader *reader, const struct arg *reserved, const struct arg *used);

#endif
