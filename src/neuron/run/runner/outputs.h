/*
 * Saves and compares the outputs of an execution.
 */
#ifndef KYMO_NEURON_RUN_RUNNER_OUTPUTS_H
#define KYMO_NEURON_RUN_RUNNER_OUTPUTS_H

#include "neuron/run/runner/worker.h"

/* Saves them and compares them with the first execution's, as the options ask. Executions count
 * from 1. */
bool outputs_take(struct runner_worker *worker, uint64_t execution);

#endif
