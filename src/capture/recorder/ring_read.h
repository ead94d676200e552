/*
 * Reading ring files. They are untrusted, and the program may still be writing: records come in
 * order, nothing is mapped (a file may shrink) and nothing is changed.
 */
#ifndef KYMO_CAPTURE_RECORDER_RING_READ_H
#define KYMO_CAPTURE_RECORDER_RING_READ_H

#include "base/base.h"
#include "capture/recorder/columns.h"
#include "capture/recorder/ring.h"

#include <sys/types.h>

#define RING_DIRECTORY "rings"

/* rings/ of a session's directory: a directory itself, not a link to one, and of the same owner. */
struct ring_directory {
    int fd;
    uid_t owner;
    const char *session; /* path of the session's directory, for messages */
};
bool ring_directory_open(struct ring_directory *rings, int session, const char *path,
                         struct error *err);
void ring_directory_close(struct ring_directory *rings);

/* A plain file of rings/ that belongs to the owner of the directory and has `least` bytes; -1 when
 * it is anything else. */
int ring_file_open(const struct ring_directory *rings, const char *name, uint64_t least,
                   uint64_t *size, struct error *err);
/* Exactly this many bytes. */
bool ring_file_read(int fd, void *to, size_t size, uint64_t offset);

/* A lane, in the program that writes it, in a file or in a pack. */
struct ring_lane {
    struct ring_header header;         /* as it was when the lane was opened */
    const struct ring_record *records; /* NULL: in the file */
    int fd;
    bool is_packed;
    uint64_t at, first; /* where the header and the first slot are in the file */
};
void ring_lane_mapped(struct ring_lane *lane, const struct ring_header *header);
/* `slots`: those of a file that the program was killed while making. It is empty, and its magic
 * number is 0. */
bool ring_lane_open(struct ring_lane *lane, const struct ring_directory *rings, uint32_t number,
                    uint64_t slots, struct error *err);
void ring_lane_close(struct ring_lane *lane);

/* A pack, which must outlive its lanes. */
struct ring_pack_file {
    int fd;
    uint64_t end; /* of what is whole */
};
bool ring_pack_open(struct ring_pack_file *pack, const struct ring_directory *rings,
                    uint32_t number, struct error *err);
void ring_pack_close(struct ring_pack_file *pack);
/* The lane that begins at this offset; where the next one begins. 0: it is damaged. */
uint64_t ring_lane_packed(struct ring_lane *lane, const struct ring_pack_file *pack, uint64_t at);
/* Events that a ring with this head has recorded in all. */
uint64_t ring_events(const struct ring_header *header, uint64_t head);
/* Events of a capture that no ring has. */
uint64_t ring_lost_events(const struct ring_session *session);
/* Events recorded in all. */
uint64_t ring_lane_events(const struct ring_lane *lane);
/* Adds the records that are kept. False when not all of them can be read. */
bool ring_lane_read(const struct ring_lane *lane, struct columns *columns);

/* Whether a file name in rings/ is one of the recorder's. */
bool ring_is_known(const char *name);
/* The number of a lane's or a pack's file; false when this is the name of another. */
bool ring_lane_number(const char *name, uint32_t *number);
bool ring_pack_number(const char *name, uint32_t *number);

#endif
