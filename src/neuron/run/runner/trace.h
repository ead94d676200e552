/*
 * The runtime's system trace.
 */
#ifndef KYMO_NEURON_RUN_RUNNER_TRACE_H
#define KYMO_NEURON_RUN_RUNNER_TRACE_H

#include "neuron/run/runner/worker.h"

bool trace_types(const struct library *library, const char ***types, size_t *count,
                 struct error *err);
/* As the options filter. */
bool trace_begin(const struct library *library, const struct runner_options *options,
                 struct error *err);
/* Writes the session file. */
bool trace_end(const struct runner_worker *worker, struct error *err);

#endif
