/*
 * Nodes of CUDA graphs and the operations they were made for.
 */
#ifndef KYMO_CUDA_GRAPHS_H
#define KYMO_CUDA_GRAPHS_H

#include "cuda/cupti.h"

/* Asks CUPTI to tell of nodes as they are made; false when another tool of the process listens
 * already. */
bool graphs_start(const struct cupti *cupti, char problem[static 256]);
void graphs_stop(const struct cupti *cupti);

#endif
