/*
 * Imports XPlane files (*.xplane.pb): profiles of JAX and TensorFlow.
 */
#ifndef KYMO_IMPORT_XPLANE_XPLANE_H
#define KYMO_IMPORT_XPLANE_XPLANE_H

#include "import/import.h"

/* Whether the first bytes of a file, if any, begin an XSpace. */
bool xplane_recognize(const uint8_t *data, size_t size);
bool import_xplane(const struct capture *capture, struct pool *pool, struct source **source,
                   struct error *err);

#endif
