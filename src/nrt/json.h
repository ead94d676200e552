/*
 * JSON into memory that grows: what nrt_sys_trace_fetch_events gives out. It ends no program when
 * memory does, as it works inside of others; for everything else there is src/wire.
 */
#ifndef KYMO_NRT_JSON_H
#define KYMO_NRT_JSON_H

#include "nrt/rings.h"

struct json {
    char *text; /* always ends with a NUL, once there is any */
    size_t size, capacity;
    bool failed; /* there was no memory; nothing further is added */
};

void json_raw(struct json *json, const char *text);
void json_unsigned(struct json *json, uint64_t value);
/* One event of a ring, as an object. */
void json_event(struct json *json, const struct rings_event *event, uint32_t ring);

#endif
