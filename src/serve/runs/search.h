/*
 * Compiles search queries to SQL, internal to serve. A query is a list of conditions separated by
 * spaces, all of which must match: field:value (with wildcards * and ?), field~substring,
 * field<value (also > <= >=, with units), and bare words or "strings" that the name must contain.
 */
#ifndef KYMO_SERVE_RUNS_SEARCH_H
#define KYMO_SERVE_RUNS_SEARCH_H

#include "base/wire/wire.h"

/* Whether a table exists and has the column; for NULL, whether it exists. */
typedef bool column_test(const void *context, const char *table, const char *column);

/*
 * Appends a SELECT over all matching events with the columns tbl, id, name, track, start_ps,
 * duration_ps, self_ps; nothing if no event can match. Without has_self, profiles of earlier
 * versions, self_ps of events is NULL. False on a syntax error or unknown field.
 */
bool search_compile(const char *query, bool has_self, column_test *has, const void *context,
                    struct output *sql, struct error *err);
/* Self time of an event e in ps. The table has whole nanoseconds; an event without others inside
 * has its whole duration. */
#define SEARCH_SELF                                                                                \
    "(e.self_ns::HUGEINT * 1000 + if(e.self_ns = e.duration_ns, e.duration_fraction_ps, 0))"
/* Prefix of the message about an unknown field; the list of known fields. */
#define SEARCH_UNKNOWN_FIELD "unknown field"
void search_put_fields(struct json *json);

#endif
