/*
 * XPlane: what JAX and TensorFlow profiles are stored as.
 */
#ifndef KYMO_IMPORT_XPLANE_XPLANE_H
#define KYMO_IMPORT_XPLANE_XPLANE_H

#include "import/import.h"

/* Whether the first bytes of a file, as far as there are any, begin an XSpace. */
bool xplane_recognise(const uint8_t *data, size_t size);
bool import_xplane(const struct capture *capture, struct pool *pool, struct source **source,
                   struct error *err);

#endif
