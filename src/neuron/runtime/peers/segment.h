/*
 * Shared memory: a segment that this process writes, and those of other processes, which it reads.
 * A segment is an unnamed file, which ends with the processes that have it open.
 */
#ifndef KYMO_NEURON_RUNTIME_PEERS_SEGMENT_H
#define KYMO_NEURON_RUNTIME_PEERS_SEGMENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SEGMENT_NONCE = 16 };
#define SEGMENT_NOWHERE UINT64_MAX

struct segment_block { /* of the segment, in the order of places */
    uint64_t place, size;
    uint32_t readers; /* that have not freed it; 0: free */
};

struct segment {
    pthread_mutex_t lock;
    int file; /* -1: there is none */
    uint8_t *memory;
    uint64_t size; /* of the file */
    struct segment_block *blocks;
    size_t block_count, block_capacity;
    uint8_t nonce[SEGMENT_NONCE]; /* the segment begins with it */
};

/* Without shared memory, file is -1. */
void segment_open(struct segment *segment);
void segment_close(struct segment *segment);
/* Room for a copy of the bytes, for this many readers; SEGMENT_NOWHERE: no room. */
uint64_t segment_put(struct segment *segment, const uint8_t *bytes, uint64_t size,
                     uint32_t readers);
/* By a reader. False: nothing is there to free. */
bool segment_free(struct segment *segment, uint64_t place);

/* The segment of another process. */
struct segment_mapping {
    int file; /* -1: not mapped */
    const uint8_t *memory;
    uint64_t known_size;
};
/* Maps the file that is a descriptor of a process, if it is the segment with this nonce. */
bool mapping_open(struct segment_mapping *mapping, uint32_t process, uint32_t file,
                  const uint8_t nonce[static SEGMENT_NONCE]);
void mapping_close(struct segment_mapping *mapping);
/* NULL when the bytes are not in the segment. */
const uint8_t *mapping_at(struct segment_mapping *mapping, uint64_t place, uint64_t size);

#endif
