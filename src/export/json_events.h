/*
 * Inside export: the lists of events of a profile as JSON.
 */
#ifndef KYMO_EXPORT_JSON_EVENTS_H
#define KYMO_EXPORT_JSON_EVENTS_H

#include "export/describe.h"

/* "trace_events", and "counter_samples" for counters, which are not events in
 * system_profile.json. Both read the source. */
bool put_events(struct json *json, const struct analysis *analysis, struct source *source,
                struct pool *pool, struct error *err);

/* The step of an event, by its group. */
void put_step(struct json *json, uint32_t group);
void put_number_text(struct json *json, const char *key, int64_t number);

#endif
