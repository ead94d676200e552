/*
 * Programs that XLA has written into the hlo/ directory of a session (kymo inspect --hlo).
 */
#ifndef KYMO_IMPORT_RECORDING_HLO_DUMP_H
#define KYMO_IMPORT_RECORDING_HLO_DUMP_H

#include "model/model.h"

/* Adds the programs of a session's directory to the catalog; there may be none. */
void hlo_dump_read(struct catalog *catalog, uint32_t host, struct text session);

#endif
