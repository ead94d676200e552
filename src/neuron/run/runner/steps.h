/*
 * The executions of a worker.
 */
#ifndef KYMO_RUNNER_STEPS_H
#define KYMO_RUNNER_STEPS_H

#include "runner/worker.h"

/* All of them; false with worker->error set. */
bool steps_run(struct worker *worker);

#endif
