/*
 * Nodes of CUDA graphs and the operations they were made for.
 */
#ifndef KYMO_CAPTURE_CUDA_GRAPHS_H
#define KYMO_CAPTURE_CUDA_GRAPHS_H

#include "capture/cuda/cupti.h"

/* Subscribes, which only one tool of a process can do, and with `nodes` asks CUPTI to report nodes
 * as they are made. False when it cannot: `problem` says why. */
bool graphs_start(const struct cupti *cupti, bool nodes, char problem[static 256]);
void graphs_stop(const struct cupti *cupti);
/* Adds the nodes made so far to the file; the caller holds its lock. */
void graphs_drain(void);

/* Around fork. */
void graphs_lock(void);
void graphs_unlock(void);

#endif
