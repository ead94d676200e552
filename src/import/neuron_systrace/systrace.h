/*
 * Imports system traces of the Neuron runtime: the JSON of nrt_sys_trace_fetch_events.
 */
#ifndef KYMO_IMPORT_NEURON_SYSTRACE_SYSTRACE_H
#define KYMO_IMPORT_NEURON_SYSTRACE_SYSTRACE_H

#include "import/import.h"

bool import_system_trace(const struct capture *capture, struct pool *pool, struct source **source,
                         struct error *err);

#endif
