/*
 * Device profiles of executions: which are taken, and where they go.
 */
#ifndef KYMO_NEURON_RUNTIME_PROFILE_H
#define KYMO_NEURON_RUNTIME_PROFILE_H

#include "neuron/profile_file/ntff.h"
#include "neuron/runtime/model.h"

/* The profile of one execution on one physical core. */
struct sink;
/* NULL: this execution is not profiled. On the core's thread, the first physical core's before the
 * others'. *execution is its number, from 1, among the model's; in a session among the core's. */
struct sink *sink_open(struct model *model, uint32_t core, uint32_t *execution);
/* core_run.notify; the context is the sink. */
void sink_notify(void *sink, const struct notification *items, size_t count);
void sink_close(struct sink *sink, const struct ntff_execution *execution);

/* After the core's thread has ended. */
void profiles_close(void);
extern pthread_mutex_t profiles_lock; /* for fork */

#endif
