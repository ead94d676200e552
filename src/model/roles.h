/*
 * Roles of event types: what the events of a type are, where the analysis treats them specially.
 * Recognized by category and name, so that they are the same however a capture was stored.
 */
#ifndef KYMO_MODEL_ROLES_H
#define KYMO_MODEL_ROLES_H

#include "model/catalog.h"

enum type_role {
    TYPE_OTHER,
    TYPE_OPERATOR,   /* a framework's operator, on the host */
    TYPE_ANNOTATION, /* a span the program named, on the host */
    TYPE_MODULE,     /* a call of an nn.Module, on the host */
    TYPE_STEP,       /* torch.profiler's span of a step: a frame around work, not work */
    TYPE_KERNEL,     /* on a device, as the next two */
    TYPE_COPY,
    TYPE_SET,
    TYPE_PROFILER, /* the profiler's own activity: not part of what was profiled */
    TYPE_CAPTURE, /* the capture's extent, as a span around it or marks at its ends: not an activity
                   */
};

/* "operator", "other". */
struct text type_role_name(enum type_role role);

/* By event type; free with mem_free. */
uint8_t *roles_of_types(const struct catalog *catalog);

/* The number in "ProfilerStep#12", the name of a TYPE_STEP. */
bool step_number(struct text name, int64_t *number);

#endif
