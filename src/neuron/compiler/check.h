/*
 * The checker's run: every engine's list, DMA block and collective once, in any order the
 * semaphores allow. Clocks hold what each of them knows to be complete, whatever the timing.
 */
#ifndef KYMO_NEURON_COMPILER_CHECK_H
#define KYMO_NEURON_COMPILER_CHECK_H

#include "neuron/compiler/compile.h"
#include "neuron/compiler/shadow.h"

/* Timelines: the engines, then for each semaphore what its DMA blocks and collectives complete. */
enum { PROOF_TIMELINES = ENGINE_COUNT + SEMAPHORES };

struct update {
    uint64_t value; /* of the semaphore after it */
    uint32_t timeline, step;
    size_t clock; /* index of clocks: what was known when it was made */
};

struct proof {
    const struct core_program *program;
    const struct output_part *parts; /* of each variable; NULL: outputs are whole */
    const struct core_hardware *hardware;
    struct error *err;
    uint32_t timelines; /* that are used */
    uint32_t clock[ENGINE_COUNT][PROOF_TIMELINES];
    size_t snapshot[ENGINE_COUNT]; /* of that clock; SIZE_MAX: changed since */
    uint32_t at[ENGINE_COUNT];     /* next instruction */
    uint32_t started[SEMAPHORES];  /* blocks and collectives that update it */
    ARRAY(struct update) updates[SEMAPHORES];
    uint32_t last_wait[ENGINE_COUNT][SEMAPHORES]; /* step of each engine */
    ARRAY(uint32_t) clocks;                       /* `timelines` each */
    struct shadow *sbuf, *psum, *hbm;
    uint64_t *addresses;              /* in hbm, of each variable; UINT64_MAX: not tracked */
    uint8_t class_of[PARTITIONS + 1]; /* partitions that are always used together */
    bool has_stopped;
    uint32_t stop_clock[PROOF_TIMELINES];
    enum engine engine; /* the one being run */
    uint64_t run_count; /* of bytes, looked at so far */
};

/* Fails with a sentence about the instruction being run; returns false. */
bool proof_failed(struct proof *proof, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* check_access.c */
void proof_memories(struct proof *proof);
void proof_memories_free(struct proof *proof);
bool proof_operands(struct proof *proof, const struct instruction *instruction);
bool proof_block(struct proof *proof, const struct dma_block *block, uint32_t step);
bool proof_collective(struct proof *proof, const struct collective *collective, uint32_t step);
bool proof_outputs(struct proof *proof);

#endif
