/*
 * trace: the data model of a profile, independent of the file format. A source describes itself
 * once in a catalog (tracks, event types, programs, names) and then pushes its events as batches
 * into a sink.
 */
#ifndef KYMO_TRACE_H
#define KYMO_TRACE_H

#include "trace/args.h"
#include "trace/batch.h"
#include "trace/catalog.h"
#include "trace/clock_fit.h"
#include "trace/details.h"
#include "trace/device.h"
#include "trace/drops.h"
#include "trace/event_pairs.h"
#include "trace/filter.h"
#include "trace/limits.h"
#include "trace/location.h"
#include "trace/memory.h"
#include "trace/parts.h"
#include "trace/roles.h"

#endif
