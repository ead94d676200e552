/*
 * Filters: a source that passes only some events of another: those on the given instances, on the
 * given cores (events without a core pass) and of the given types.
 */
#ifndef KYMO_MODEL_FILTER_H
#define KYMO_MODEL_FILTER_H

#include "model/batch.h"

/* Comma-separated lists; NULL passes everything. */
struct filter {
    const char *cores;     /* numbers and ranges: "0,1,4-7" */
    const char *types;     /* event names, or "hardware" and "software" */
    const char *instances; /* names of instances */
};

bool filter_is_empty(const struct filter *filter);
/* Whether the lists are well-formed. */
bool filter_check(const struct filter *filter, struct error *err);

/*
 * Wraps the source, which then belongs to the result. A value that matches nothing becomes a
 * message in the catalog with the available values. Reads the source once when event types are
 * filtered.
 */
bool filter_source(struct source **source, const struct filter *filter, struct pool *pool,
                   struct error *err);

#endif
