/*
 * A planned case: the collectives of its NEFFs, their buffers and how often each NEFF runs.
 */
#ifndef KYMO_NEURON_RUN_NCCOM_PLAN_H
#define KYMO_NEURON_RUN_NCCOM_PLAN_H

#include "neuron/run/nccom/nccom.h"

enum { NCCOM_OPS_PER_NEFF = 4096 };

/* One collective of an operation: all of it, or a coalesced part. Its input and output are tensors
 * of their own. */
struct plan_part {
    uint32_t stream;
    enum nccom_op op;
    enum collective_kind kind;
    enum dtype dtype;
    uint64_t elements; /* of the larger of input and output */
    uint64_t input_bytes, output_bytes;
    struct nccom_groups groups;    /* what the collective gets: of permutations pairs */
    struct collective_move *moves; /* of operations of variable size */
    uint32_t move_count;
};

/* A NEFF: iterations in one execution, and executions. */
struct plan_neff {
    uint64_t iters, warmup_iters; /* of one execution: warm-up comes first */
    uint64_t executions, warmup_executions;
};

struct plan {
    const struct nccom_case *nccom;
    struct plan_part *parts; /* of all streams */
    size_t part_count;
    struct plan_neff neffs[3];
    size_t neff_count;
    struct arena arena;
};

bool plan_make(struct plan *plan, const struct nccom_case *nccom, struct error *err);
void plan_free(struct plan *plan);

/* moves.c: of operations of variable size, from their metadata; without it, all pieces are equal.
 */
bool plan_moves(struct plan *plan, const struct nccom_stream *stream, struct plan_part *part,
                struct error *err);

/* Buffers: all operations of a part share one, or each has its own. */
uint64_t plan_buffers(const struct plan *plan, const struct plan_neff *neff, size_t part);
enum { PLAN_NAME = 48 };
/* "input", "output"; with a number where there are several. */
void plan_buffer_name(const struct plan *plan, bool is_output, size_t part, uint64_t buffer,
                      char name[static PLAN_NAME]);

/* The NEFF's bytes: free with mem_free. core: what it is compiled for. */
struct plan_core {
    const struct core_hardware *hardware;
    uint32_t logical_size; /* physical cores of a logical one */
};
bool plan_encode(const struct plan *plan, const struct plan_neff *neff,
                 const struct plan_core *core, uint8_t **bytes, size_t *size, struct error *err);

/* Where a collective of a NEFF belongs. */
struct plan_place {
    uint64_t iteration, repeat; /* of its stream */
    size_t part;
};
/* False: there is no such collective. */
bool plan_place(const struct plan *plan, const struct plan_neff *neff, uint64_t collective,
                struct plan_place *place);
/* Collectives of an iteration and of a NEFF. */
uint64_t plan_iteration_size(const struct plan *plan);
uint64_t plan_neff_size(const struct plan *plan, const struct plan_neff *neff);

#endif
