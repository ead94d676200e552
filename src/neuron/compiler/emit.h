/*
 * Emission of instructions and DMA blocks, with the semaphores they need. Code is emitted in an
 * order in which it could run sequentially; the engines' lists and the waits decide what runs
 * concurrently.
 *
 * A timeline is a sequence of steps that complete in order: an engine, or a slot for DMA blocks or
 * collectives in flight. Each has the semaphore of its number. A clock is a step of each timeline.
 * Each piece of memory records which steps wrote and read it, and each engine which steps it knows
 * to be complete, directly or through others: it waits only for the rest.
 */
#ifndef KYMO_NEURON_COMPILER_EMIT_H
#define KYMO_NEURON_COMPILER_EMIT_H

#include "neuron/compiler/ir.h"

enum {
    SLOTS_SYNC = 24,
    SLOTS_GPSIMD = 16,
    SLOTS_SCALAR = 8,
    SLOTS_COLLECTIVE = 4,
    TIMELINES = ENGINE_COUNT + SLOTS_SYNC + SLOTS_GPSIMD + SLOTS_SCALAR + SLOTS_COLLECTIVE,
    GRANULE = 256, /* bytes of a partition: SBUF's unit of allocation */
    MAX_GRANULES = 4096,
};

struct clock {
    uint32_t at[TIMELINES];
};
void clock_merge(struct clock *clock, const struct clock *other);

/* A piece of SBUF, or a bank of PSUM, in all partitions. */
struct buffer {
    uint8_t memory;
    uint32_t offset, bytes;
    uint32_t first, count; /* granules */
    uint32_t holders;
    struct clock before, write, read;
    struct buffer *next; /* in the list of free buffers */
};

/* Bytes of a variable that one step wrote. */
struct hbm_write {
    uint64_t first, end;
    uint32_t timeline, step;
};

/* A variable in HBM. */
struct storage {
    uint32_t variable;
    uint64_t base, bytes; /* where it begins in its variable, and its size */
    struct clock before;  /* what used its memory earlier */
    struct clock all;     /* of its own uses */
    bool is_read;
    ARRAY(struct hbm_write) writes;
};

/* The clock of what last used a run of granules. */
struct epoch {
    struct clock clock;
    uint32_t holders, next;
};

/* Space whose parts are allocated and released; reused as late as possible. */
struct space {
    uint32_t granules, cursor;
    uint32_t epoch[MAX_GRANULES]; /* of each granule: index of epochs; 0: never used */
    bool taken[MAX_GRANULES];
};

struct knowledge {
    uint32_t snapshot; /* of emit.snapshots */
    uint32_t engine, step;
};

struct emit {
    const struct core_hardware *hardware;
    ARRAY(struct instruction) code[ENGINE_COUNT];
    ARRAY(struct dma_descriptor) descriptors;
    ARRAY(struct dma_block) blocks;
    ARRAY(struct dma_queue) queues;
    ARRAY(struct variable) variables;
    ARRAY(struct collective) collectives;
    ARRAY(struct clock) snapshots;
    ARRAY(struct knowledge) points[TIMELINES]; /* what each step knew, from step 1 on */
    struct clock known[ENGINE_COUNT];
    uint32_t known_snapshot[ENGINE_COUNT]; /* IR_NONE: changed since the last */
    uint32_t next_slot[ENGINE_COUNT + 1];
    ARRAY(struct epoch) epochs;
    uint32_t free_epoch;
    struct space sbuf, psum;
    struct buffer *free_buffers;
    struct arena memory;
    uint64_t work[ENGINE_COUNT]; /* elements so far: to balance work that several engines can do */
    uint32_t origin;             /* of instructions to come */
    uint64_t limit, count;       /* instructions and descriptors */
    bool (*make_room)(void *context); /* gives up something in SBUF; false: nothing to give up */
    void *room_context;
    bool failed;
    struct error error;
};

void emit_init(struct emit *emit, const struct core_hardware *hardware, uint64_t limit);
void emit_free(struct emit *emit);
void emit_fail(struct emit *emit, const char *text);
void emit_fail_large(struct emit *emit); /* beyond the limit */

struct buffer *buffer_new(struct emit *emit, enum memory memory, uint32_t bytes);
void buffer_hold(struct buffer *buffer);
/* The last holder's release frees the space. */
void buffer_release(struct emit *emit, struct buffer *buffer);

/* Buffers an instruction or a DMA block uses; both lists may contain NULL. */
struct uses {
    struct buffer *read[4];
    struct buffer *write[2];
    bool is_part; /* writes bytes of the buffer that nothing else writes */
};
void emit_compute(struct emit *emit, enum engine engine, const struct instruction *instruction,
                  const struct uses *uses);

/* The HBM end of a transfer: the bytes touched lie in [first, end). */
struct hbm_use {
    struct storage *storage; /* NULL: none */
    uint64_t first, end;
    bool is_ordered; /* a write: after earlier writes of the same bytes */
};
/* Starts the descriptors from `first` on as one block. */
void emit_dma(struct emit *emit, enum engine engine, const char *kind, uint32_t first,
              const struct uses *uses, const struct hbm_use *from, const struct hbm_use *to);
void emit_collective(struct emit *emit, const struct collective *collective, struct storage *from,
                     struct storage *to);

/* The end: Sync waits for everything and restores the semaphores. */
void emit_finish(struct emit *emit);

#endif
