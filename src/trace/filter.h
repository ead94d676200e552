/*
 * Filters: a source that passes only some of another's events. Kept are events on the named
 * machines, on the named cores (events of no core stay) and of the named kinds.
 */
#ifndef KYMO_TRACE_FILTER_H
#define KYMO_TRACE_FILTER_H

#include "trace/batch.h"

/* Comma-separated lists; NULL passes everything. */
struct filter {
    const char *cores;     /* numbers and ranges: "0,1,4-7" */
    const char *types;     /* names of events, or "hardware" and "software" */
    const char *instances; /* names of machines */
};

bool filter_is_empty(const struct filter *filter);
/* Whether the lists can be read. */
bool filter_check(const struct filter *filter, struct error *err);

/*
 * Puts the filter before the source, which then belongs to the result. A value that matches nothing
 * becomes a message in the catalog that says what there is. Reads the source once when kinds of
 * events are named.
 */
bool filter_source(struct source **source, const struct filter *filter, struct pool *pool,
                   struct error *err);

#endif
