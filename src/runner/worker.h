/*
 * One worker: a model on a core, its tensors, its executions and what becomes of their outputs.
 */
#ifndef KYMO_RUNNER_WORKER_H
#define KYMO_RUNNER_WORKER_H

#include "runner/library.h"
#include "runner/runner.h"

#include <stdatomic.h>

struct worker {
    const struct runner_options *options;
    const struct library *library;
    const struct file *neff;
    uint32_t index;              /* of the workers of this process; its core */
    uint32_t rank, worker_count; /* of all */
    bool has_failed, is_first_failure;
    atomic_uint *failures; /* of all workers */
    struct error error;    /* the first thing that failed */

    nrt_model_t *model;
    nrt_tensor_info_array_t *info;
    nrt_tensor_t **tensors, *shared;
    uint8_t **inputs; /* content to write, NULL: zeros */
    nrt_tensor_set_t *input_set, *output_set;
    uint32_t *checksums; /* of the first execution's outputs */
};

/* Each returns false with worker->error set. */
bool worker_open(struct worker *worker);
/* Writes all inputs, or those that are outputs as well. */
bool worker_write_inputs(struct worker *worker, enum runner_rewrite which);
void worker_close(struct worker *worker);

#endif
