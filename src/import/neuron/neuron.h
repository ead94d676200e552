/*
 * Neuron, inside the importers: what its runtime and its cores are called as tracks, whatever file
 * tells of them.
 */
#ifndef KYMO_IMPORT_NEURON_NEURON_H
#define KYMO_IMPORT_NEURON_NEURON_H

#include "import/records/records.h"

/* Whether an event of this name happened on a core; all others are the runtime's. */
bool neuron_is_hardware(struct text name);

/* The source track of a core, or of none, as the runtime or the hardware sees it. */
uint32_t neuron_source(struct catalog *catalog, uint32_t process, bool is_hardware, bool has_core,
                       int64_t core);
/* A source track of a role under a name. */
uint32_t named_source(struct catalog *catalog, uint32_t process, enum source_role role,
                      struct text name);

/* The type of events of a name, made if it is not there yet; `types` maps strings to types. */
uint32_t named_type(struct catalog *catalog, struct idmap *types, uint32_t name);

#endif
