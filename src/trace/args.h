/*
 * Args as JSON: one object, a member for each key. A key that comes more than once gets a list of
 * its values; bytes become {"base64": "..."}.
 */
#ifndef KYMO_TRACE_ARGS_H
#define KYMO_TRACE_ARGS_H

#include "trace/catalog.h"
#include "wire/wire.h"

/* One value. */
void arg_to_json(struct json *json, const struct catalog *catalog, const struct arg *arg);
void args_to_json(struct json *json, const struct catalog *catalog, const struct arg_list *args);

#endif
