/*
 * Moving the data of DMA transfers.
 */
#ifndef KYMO_NEURON_SIMULATOR_TRANSFER_H
#define KYMO_NEURON_SIMULATOR_TRANSFER_H

#include "neuron/simulator/state.h"

/* Moves a descriptor's data; accesses out of bounds are reported and skipped. crc, if any, becomes
 * the CRC-32 of the data as it was written. */
void transfer_run(struct core *core, const struct queued_transfer *transfer, uint32_t *crc);

#endif
