/*
 * trace: the data model of a profile, independent of the file format. A source describes itself
 * once in a catalog (tracks, event types, programs, names) and then pushes its events as batches
 * into a sink.
 */
#ifndef KYMO_MODEL_MODEL_H
#define KYMO_MODEL_MODEL_H

#include "model/args.h"
#include "model/batch.h"
#include "model/catalog.h"
#include "model/clock_fit.h"
#include "model/details.h"
#include "model/device.h"
#include "model/drops.h"
#include "model/event_pairs.h"
#include "model/filter.h"
#include "model/kernel_family.h"
#include "model/limits.h"
#include "model/location.h"
#include "model/mangled.h"
#include "model/memory.h"
#include "model/parts.h"
#include "model/roles.h"

#endif
