/*
 * One worker: a model on the core of this process, its tensors, its executions and their outputs.
 */
#ifndef KYMO_NEURON_RUN_RUNNER_WORKER_H
#define KYMO_NEURON_RUN_RUNNER_WORKER_H

#include "neuron/run/runner/library.h"
#include "neuron/run/runner/runner.h"

enum { WORKER_CORE = 0 }; /* the one that its process sees */

struct runner_worker {
    const struct runner_options *options;
    const struct library *library;
    const struct file *neff;
    uint32_t index;              /* of the workers of this node */
    uint32_t rank, worker_count; /* of all */
    struct error error;          /* the first thing that failed */
    bool gave_up;                /* because another worker failed */

    nrt_model_t *model;
    nrt_tensor_info_array_t *info;
    nrt_tensor_t **tensors, *shared;
    uint8_t **inputs; /* content to write, NULL: zeros */
    nrt_tensor_set_t *input_set, *output_set;
    uint32_t *checksums; /* of the first execution's outputs */
};

/* Each returns false with worker->error set. */
bool worker_open(struct runner_worker *worker);
/* Writes all inputs, or those that are outputs as well. */
bool worker_write_inputs(struct runner_worker *worker, enum runner_rewrite which);
void worker_close(struct runner_worker *worker);
/* profile.ntff, profile_rank_1.ntff, profile_rank_1_exec_2.ntff; 0: not of one execution. */
char *session_path(const struct runner_worker *worker, uint64_t execution);

#endif
