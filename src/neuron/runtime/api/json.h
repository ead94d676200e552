/*
 * JSON writer into growing memory, for nrt_sys_trace_fetch_events. Unlike src/base/wire it reports
 * allocation failures instead of ending the program, as it runs inside other programs.
 */
#ifndef KYMO_NEURON_RUNTIME_API_JSON_H
#define KYMO_NEURON_RUNTIME_API_JSON_H

#include "capture/neuron/rings.h"

struct json {
    char *text; /* NUL-terminated once allocated */
    size_t size, capacity;
    bool failed; /* out of memory; later writes are ignored */
};

void trace_json_raw(struct json *json, const char *text);
void trace_json_unsigned(struct json *json, uint64_t value);
/* One event of a ring, as an object. */
void trace_json_event(struct json *json, const struct rings_event *event, uint32_t ring);

#endif
