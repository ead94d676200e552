/*
 * The executions of a worker.
 */
#ifndef KYMO_RUNNER_STEPS_H
#define KYMO_RUNNER_STEPS_H

#include "runner/worker.h"

/* Writes all inputs, or those that are outputs as well. */
bool steps_write_inputs(struct worker *worker, enum runner_rewrite which);

#endif
