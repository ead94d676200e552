/*
 * The model of a device, from its source's description.
 */
#ifndef KYMO_MODEL_DEVICE_H
#define KYMO_MODEL_DEVICE_H

#include "model/catalog.h"

enum { MAX_MODEL_NAME = 64 };

/* The name of a device's model: the source's own, otherwise composed of its vendor and compute
 * capability, in `made`; empty if the source says nothing. */
struct text device_model(const struct catalog *catalog, uint32_t source,
                         char made[static MAX_MODEL_NAME]);
bool device_is_of_amd(const struct catalog *catalog, uint32_t source);
/* The type of the device as XProf calls it: "Nvidia GPU (Hopper)". */
struct text device_type(const struct catalog *catalog, uint32_t source,
                        char made[static MAX_MODEL_NAME]);

#endif
