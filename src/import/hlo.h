/*
 * Imports HLO programs into the catalog: modules, operations and their stack frames.
 */
#ifndef KYMO_IMPORT_HLO_H
#define KYMO_IMPORT_HLO_H

#include "model/model.h"

/* Adds the module of a serialized HloProto to the catalog; false when it is malformed. The bytes
 * must live as long as the source. */
bool hlo_import(struct catalog *catalog, uint32_t host, uint32_t label, uint64_t id,
                const uint8_t *data, size_t size);
/* Builds the lookup tables of a program, whichever format it came from. */
void hlo_index(struct catalog *catalog, struct program *program);

#endif
