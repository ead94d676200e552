/*
 * The workers of a node: threads of one process, which share a runtime.
 */
#ifndef KYMO_NEURON_RUN_NCCOM_THREADS_H
#define KYMO_NEURON_RUN_NCCOM_THREADS_H

#include "neuron/run/launch/launch.h"
#include "neuron/run/nccom/worker.h"

/* Opens the runtime, runs the workers and closes it. err: of the first that failed. */
enum launch_result threads_run(struct nccom_worker *workers, uint32_t count, struct error *err);

#endif
