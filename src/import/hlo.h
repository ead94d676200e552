/*
 * HLO programs: modules, operations and the stack frames behind them, in the catalog.
 */
#ifndef KYMO_IMPORT_HLO_H
#define KYMO_IMPORT_HLO_H

#include "trace/trace.h"

/* Adds the module in a serialised HloProto to the catalog; false when it is damaged. */
bool hlo_import(struct catalog *catalog, uint32_t host, uint32_t label, uint64_t id,
                const uint8_t *data, size_t size);
/* Makes the operations and frames of a program ready for lookups, wherever they were read from. */
void hlo_index(struct catalog *catalog, struct program *program);

#endif
