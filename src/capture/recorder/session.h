/*
 * Converts rings to session files, both at the end of a capture and for one whose program was
 * killed.
 */
#ifndef KYMO_CAPTURE_RECORDER_SESSION_H
#define KYMO_CAPTURE_RECORDER_SESSION_H

#include "capture/recorder/encode.h"
#include "capture/recorder/ring_read.h"

enum { SESSION_MOST_LANES = 1 << 21 };

/* Where a lane is, and what is in it. */
struct session_lane {
    const struct ring_header *header; /* in this program; NULL: in a file */
    uint32_t number;
    uint32_t pack;           /* its number plus 1; 0: in lane_<number> */
    uint64_t at;             /* in the pack */
    uint64_t recorded, kept; /* events; filled in */
};

struct session_input {
    int directory; /* the session's: profiles of devices may be in it */
    struct ring_directory rings;
    const struct ring_session *session;
    const struct ring_names *names;
    size_t names_size; /* bytes that may be looked at */
    bool recovered;
    /* Lanes and packs, by session_add_*. */
    struct session_lane *lanes;
    uint32_t *packs;
    size_t lane_count, lane_capacity, pack_count, pack_capacity;
    bool is_out_of_memory;
    /* Where the lanes of packs end that were looked at, and the pack that is open. */
    uint32_t last_pack, open_pack; /* open_pack: its number plus 1 */
    uint64_t last_at;
    struct ring_pack_file pack;
    bool is_listed; /* the lanes are complete and sorted */
    /* Filled in: events of all lanes and those no ring has, those that are kept, damaged files and
     * what is wrong with the first of them. */
    uint64_t recorded, kept;
    size_t skipped;
    struct error first_skipped;
};

/* In any order. */
void session_add_lane(struct session_input *input, uint32_t number,
                      const struct ring_header *header);
void session_add_pack(struct session_input *input, uint32_t number);
/* Adds the lanes of all packs, sorts them by their numbers, and leaves out those that count as lost
 * already. False when out of memory. */
bool session_list_lanes(struct session_input *input);
bool session_open_lane(struct session_input *input, struct session_lane *known,
                       struct ring_lane *lane, struct error *err);
void session_note_skipped(struct session_input *input, const struct error *problem);
/* Frees what was added. */
void session_free_lanes(struct session_input *input);

/* Where session files go: to a directory, or each to a file that is open already. */
struct session_output {
    const struct encode_directory *directory; /* NULL: to files */
    const int *files; /* by enum record_file; a file that stays empty is not part of the session */
};

/* Writes ntrace.pb, cpu_util.pb and host_mem.pb where there are any, and trace_info.pb last. In a
 * directory, nothing where neither events nor samples were asked for. */
bool session_write(struct session_input *input, const struct session_output *output,
                   struct error *err);
/* In the program itself: writes them to the session's directory. */
bool session_finish(const char *directory, struct session_input *input, struct error *err);
/* Removes rings/ and the recorder's files in it; other files stay. */
void session_remove_rings(const char *directory);
void session_remove_rings_at(int directory, const struct ring_directory *rings);

#endif
