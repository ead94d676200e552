/*
 * From rings to session files: the same code ends a capture in its own program and recovers one
 * whose program was killed.
 */
#ifndef KYMO_RECORD_SESSION_H
#define KYMO_RECORD_SESSION_H

#include "base/base.h"
#include "record/ring.h"

struct session_lane {
    uint32_t number;
    const struct ring_header *header; /* NULL: to be mapped from rings/lane_<number> */
    uint64_t recorded, kept;          /* events; filled in */
};

struct session_input {
    const char *directory; /* where session files go; rings/ is in it */
    const struct ring_session *session;
    const struct ring_names *names;
    size_t names_size; /* bytes that may be looked at */
    struct session_lane *lanes;
    size_t lane_count;
    bool recovered;
};

/* Writes ntrace.pb, puts the samplers' files into place and writes trace_info.pb. */
bool session_write(struct session_input *input, struct error *err);
/* Removes rings/ and what is in it. */
void session_remove_rings(const char *directory);

#endif
