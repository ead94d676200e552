/*
 * The DMA engines: blocks of transfers, spread over the rings of a queue, each DMA engine serving
 * its transfers one after the other.
 */
#ifndef KYMO_NEURON_SIMULATOR_DMA_H
#define KYMO_NEURON_SIMULATOR_DMA_H

#include "neuron/simulator/state.h"

void dma_prepare(struct core *core); /* for a run */
void dma_free(struct core *core);
void dma_trigger(struct core *core, enum engine engine, uint32_t block);
/* A DMA engine looks at its queue. */
void dma_begin(struct core *core, unsigned unit);
/* A DMA engine's transfer has ended. */
void dma_end(struct core *core, unsigned unit);
void dma_block_done(struct core *core, uint32_t block_run);

#endif
