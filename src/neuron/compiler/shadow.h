/*
 * Shadow memory of the checker: for every byte who wrote it last and who read it since, as steps of
 * timelines. Bytes with the same history are one segment.
 */
#ifndef KYMO_NEURON_COMPILER_SHADOW_H
#define KYMO_NEURON_COMPILER_SHADOW_H

#include "base/base.h"

struct shadow_event {
    uint32_t timeline, step;
    uint32_t part;         /* of a block: its transfers are not ordered among each other */
    uint32_t owner;        /* identifies what the bytes are written or read as */
    const uint32_t *clock; /* steps known to be complete when it begins */
};

enum shadow_problem {
    SHADOW_FINE,
    SHADOW_UNWRITTEN,   /* reads bytes never written */
    SHADOW_DEAD,        /* reads bytes written for another owner */
    SHADOW_READ_EARLY,  /* reads while a write may not be complete */
    SHADOW_WRITE_EARLY, /* writes while a write may not be complete */
    SHADOW_WRITE_READ,  /* writes while a read may not be complete */
    SHADOW_FULL,        /* more segments than are kept */
};

enum { SHADOW_SEGMENTS = 1 << 24 }; /* at most: 0.5 GiB, and lists of reads */

struct shadow_conflict {
    enum shadow_problem problem;
    uint64_t address;
    uint32_t timeline, step; /* of the other access */
    uint32_t owner;
};

struct shadow;
struct shadow *shadow_new(uint64_t bytes);
void shadow_free(struct shadow *shadow);
/* Bytes first .. end - 1. False on a conflict, which is described. */
bool shadow_read(struct shadow *shadow, uint64_t first, uint64_t end,
                 const struct shadow_event *event, struct shadow_conflict *conflict);
bool shadow_write(struct shadow *shadow, uint64_t first, uint64_t end,
                  const struct shadow_event *event, struct shadow_conflict *conflict);

#endif
