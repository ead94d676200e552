/*
 * Converts rings to session files, both at the end of a capture and for one whose program was
 * killed.
 */
#ifndef KYMO_RECORD_SESSION_H
#define KYMO_RECORD_SESSION_H

#include "record/encode.h"
#include "record/ring_read.h"

struct session_lane {
    uint32_t number;
    const struct ring_header *header; /* NULL: to be read from rings/lane_<number> */
    uint64_t recorded, kept;          /* events; filled in */
};

struct session_input {
    int directory; /* the session's: profiles of devices may be in it */
    struct ring_directory rings;
    const struct ring_session *session;
    const struct ring_names *names;
    size_t names_size; /* bytes that may be looked at */
    struct session_lane *lanes;
    size_t lane_count;
    bool recovered;
    /* Filled in: events of all lanes and those no ring has, those that are kept, files that are not
     * what they should be and what is wrong with the first of them. */
    uint64_t recorded, kept;
    size_t skipped;
    struct error first_skipped;
};

/* Where session files go: to a directory, or each to a file that is open already. */
struct session_output {
    const struct encode_directory *directory; /* NULL: to files */
    const int *files;                         /* by enum record_file; what stays empty is none */
};

/* Writes ntrace.pb, cpu_util.pb and host_mem.pb where there are any, and trace_info.pb last. */
bool session_write(struct session_input *input, const struct session_output *output,
                   struct error *err);
/* In the program itself: writes them to the session's directory. */
bool session_finish(const char *directory, struct session_input *input, struct error *err);
/* Removes rings/ and the recorder's files in it; what else is there stays. */
void session_remove_rings(const char *directory);
void session_remove_rings_at(int directory, const struct ring_directory *rings);

#endif
