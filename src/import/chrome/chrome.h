/*
 * Imports Chrome trace JSON: torch.profiler (Kineto), JAX, and others.
 */
#ifndef KYMO_IMPORT_CHROME_CHROME_H
#define KYMO_IMPORT_CHROME_CHROME_H

#include "import/import.h"

bool import_chrome(const struct capture *capture, struct pool *pool, struct source **source,
                   struct error *err);

#endif
