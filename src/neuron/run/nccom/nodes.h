/*
 * Several nodes on this machine: processes that each have workers, cores and a name of their own;
 * workers of different nodes exchange data through TCP.
 */
#ifndef KYMO_NEURON_RUN_NCCOM_NODES_H
#define KYMO_NEURON_RUN_NCCOM_NODES_H

#include "base/base.h"

/* Calls run in a process for each node. err: of the first that failed. */
bool nodes_run(uint32_t count, bool (*run)(void *context, uint32_t node, struct error *err),
               void *context, struct error *err);

/* Zeroed; seen by this process and those that it starts. */
void *shared_memory(size_t size, struct error *err);

#endif
