/*
 * The executions of a worker.
 */
#ifndef KYMO_NEURON_RUN_RUNNER_STEPS_H
#define KYMO_NEURON_RUN_RUNNER_STEPS_H

#include "neuron/run/runner/worker.h"

/* All of them; false with worker->error set. */
bool steps_run(struct runner_worker *worker);

#endif
