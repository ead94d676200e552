/*
 * Args as JSON: one object, a member for each key. A repeated key becomes a list of its values;
 * bytes become {"base64": "..."}.
 */
#ifndef KYMO_MODEL_ARGS_H
#define KYMO_MODEL_ARGS_H

#include "base/wire/wire.h"
#include "model/catalog.h"

/* One value. */
void arg_to_json(struct json *json, const struct catalog *catalog, const struct arg *arg);
void args_to_json(struct json *json, const struct catalog *catalog, const struct arg_list *args);

/* All args of one key, for callers that write them one by one. */
struct arg_group {
    const struct arg_list *args;
    const struct arg_chain *chain;
    uint32_t first;
    bool is_list; /* more than one value */
};
/* Calls visit once for each key, in order. */
void args_each_key(const struct arg_list *args,
                   void (*visit)(void *context, const struct arg_group *group), void *context);
/* The value, or the list of values. */
void arg_group_to_json(struct json *json, const struct catalog *catalog,
                       const struct arg_group *group);

#endif
