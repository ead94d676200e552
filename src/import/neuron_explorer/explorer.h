/*
 * Imports profiles of Neuron Explorer and of Kymo itself, as JSON and as Parquet tables.
 */
#ifndef KYMO_IMPORT_NEURON_EXPLORER_EXPLORER_H
#define KYMO_IMPORT_NEURON_EXPLORER_EXPLORER_H

#include "import/import.h"

bool import_explorer(const struct capture *capture, struct pool *pool, struct source **source,
                     struct error *err);
/* A directory of Parquet tables of the published schema. */
bool import_tables(const struct capture *capture, struct pool *pool, struct source **source,
                   struct error *err);

#endif
