/*
 * The queries of src/report/fleet/queries, as part of the program.
 */
#ifndef KYMO_REPORT_FLEET_QUERIES_H
#define KYMO_REPORT_FLEET_QUERIES_H

#include "base/base.h"

struct query {
    const char *name, *purpose, *sql;
};
extern const struct query queries[]; /* by name */
extern const size_t query_count;

/* NULL if there is none. */
const struct query *query_find(const char *name);

#endif
