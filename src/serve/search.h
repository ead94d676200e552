/*
 * Inside serve: what a search asks for, as SQL. A query is a list of conditions parted by blanks,
 * all of which must hold: field:value (a * or ? in it stands for anything), field~part,
 * field<value and so on with units behind numbers, and words or "texts" that names must contain.
 */
#ifndef KYMO_SERVE_SEARCH_H
#define KYMO_SERVE_SEARCH_H

#include "wire/wire.h"

/* Whether a table is there. */
typedef bool table_test(const void *context, const char *table);

/*
 * A SELECT over all events that match, with the columns tbl, id, name, track, start_ps,
 * duration_ps. Left empty when nothing can match. False for what is no query, with the reason.
 */
bool search_compile(const char *query, table_test *has, const void *context, struct output *sql,
                    struct error *err);
/* How the reason begins when a field is not known; and the list of those that are. */
#define SEARCH_NO_FIELD "there is no field"
void search_put_fields(struct json *json);

#endif
