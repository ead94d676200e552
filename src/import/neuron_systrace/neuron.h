/*
 * Neuron, internal to the importers: the tracks of its runtime and cores, the same for all file
 * formats.
 */
#ifndef KYMO_IMPORT_NEURON_SYSTRACE_NEURON_H
#define KYMO_IMPORT_NEURON_SYSTRACE_NEURON_H

#include "import/records/records.h"

/* Whether events of this name happen on a core; all others belong to the runtime. */
bool neuron_is_hardware(struct text name);
/* Whether it is the name of a call of Neuron's runtime. */
bool neuron_is_call(struct text name);

/* The source track of a core, or of none, for the runtime's or the hardware's events. */
uint32_t neuron_source(struct catalog *catalog, uint32_t process, bool is_hardware, bool has_core,
                       int64_t core);
/* A source track of a role under a name. */
uint32_t named_source(struct catalog *catalog, uint32_t process, enum source_role role,
                      struct text name);

/* The event type of a name, created if missing; `types` maps strings to types. */
uint32_t named_type(struct catalog *catalog, struct idmap *types, uint32_t name);

#endif
