/*
 * A worker: one rank, on a core of its own, in a thread of its own.
 */
#ifndef KYMO_NEURON_RUN_NCCOM_WORKER_H
#define KYMO_NEURON_RUN_NCCOM_WORKER_H

#include "neuron/run/nccom/plan.h"
#include "neuron/run/runner/runner.h"

enum { NEFFS = 3 };

/* Shared by all workers, made before they start. */
struct team {
    const struct plan *plan;
    struct plan_core core;
    uint8_t *neffs[NEFFS]; /* of plan->neffs */
    size_t neff_sizes[NEFFS];
    uint64_t times_of_stream[NCCOM_STREAMS]; /* measured operations of one worker */
    uint64_t time_count;                     /* of all streams */
};

/* A worker's results, in memory shared with the process that started it. */
struct nccom_report {
    char algorithm[NCCOM_STREAMS][16];
};

struct nccom_worker {
    const struct team *team;
    const struct library *library;
    uint32_t core, rank; /* core: its index in this process */
    struct nccom_report *report;
    double *times_us; /* time_count of them: the first stream's, then the next one's */
    struct error error;
    bool gave_up; /* because another one failed */

    const struct plan_neff *neff; /* the one that runs */
    uint64_t execution;           /* of that NEFF */
    uint64_t measured_before;     /* iterations of NEFFs and executions before */
    nrt_model_t *model;
    nrt_tensor_set_t *input_set, *output_set;
    nrt_tensor_t **tensors; /* input and output of each buffer of each part */
    size_t tensor_count;
};

/* All NEFFs, on the worker's core of a runtime that is open and traces collectives. */
bool worker_run(struct nccom_worker *worker);

#endif
