/*
 * The files a capture consists of while it runs, and what is left of it when its program is killed.
 *
 * They lie in <out>/<instance>_pid_<pid>/rings/ and are mapped by the program that records. All
 * numbers are little-endian. A clean stop turns them into session files (schema/) and removes them;
 * record_recover does the same for a program that is dead.
 *
 *   session       struct ring_session: who records (owner.h tells whether it is alive), the clock
 *                 and its samples, counts.
 *   names         struct ring_names, then struct ring_name, one behind the other, each at a
 *                 multiple of 8 bytes. A name's id is its offset divided by 8; id 0 means no name.
 *                 Entries never change once `used` is behind them.
 *   lane_<n>      struct ring_header in the first RING_HEADER_SIZE bytes, then `slots` records. One
 *                 for each thread or core.
 *   pack_<n>      struct ring_pack, then lanes that have ended, one behind the other: struct
 *                 ring_header and the first min(head, slots) of its slots. Up to `used` they are
 *                 whole and never change.
 *   cpu_util.pb, host_mem.pb, gpu_trace.pb    files as they will be (schema/), appended to.
 *
 * A lane has one writer. Its n-th record, from 0, is in slot n % slots; `head` is the number of
 * records written. It grows by whole events, after the event's records are in their slots, so that
 * what is before it is whole. The slots behind it may be half written: the last RING_GUARD slots
 * before the oldest record are therefore never counted as kept, and an event never has more records
 * than that. The last min(head, slots - RING_GUARD) records are kept; events whose first record is
 * gone are lost. Pages are reserved before they are written, piece by piece, so that a full disk is
 * an error and not a signal; it makes the ring smaller: `slots` may shrink during the first lap.
 *
 * A lane that ends and is small is copied to the current pack; one store to `used` adds it there,
 * and only then its file goes. A lane that is in a pack counts there alone: its file may still be
 * there when the program is killed in between. Other lanes keep their files.
 *
 * An event is one record, and records of kind RING_ARGS behind it with two args each. An event
 * without an id of its own has its first arg in its own record (RING_ARG_INSIDE). A text for which
 * the names file has no room is in the ring itself: in records of kind RING_CHARS behind the args,
 * first that of the event's name, then those of the args, in their order.
 *
 * The files may be deleted while the program runs: it goes on in memory, and events that only a
 * file had are lost. They must not be truncated: the program's next write behind the new end raises
 * SIGBUS, as with any mapped file, and the only alternative on Linux is memory that does not
 * survive a kill.
 */
#ifndef KYMO_CAPTURE_RECORDER_RING_H
#define KYMO_CAPTURE_RECORDER_RING_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* "KYMOSES1", "KYMONAM1", "KYMOLAN1" and "KYMOPAK1" as bytes in a file. */
#define RING_SESSION_MAGIC 0x315345534F4D594BU
#define RING_NAMES_MAGIC   0x314D414E4F4D594BU
#define RING_LANE_MAGIC    0x314E414C4F4D594BU
#define RING_PACK_MAGIC    0x314B41504F4D594BU

enum {
    RING_VERSION = 4,
    RING_HEADER_SIZE = 4096,
    RING_GUARD = 64,     /* records that may be half written; the most records of an event */
    RING_MOST_ARGS = 16, /* of one event */
    RING_CLOCK_SAMPLES = 1000,
    RING_LANE_NAME = 64,
    RING_PACK_SIZE = 4 << 20,                                    /* of a pack at most */
    RING_NAMES_SIZE = 64 << 20,                                  /* of the file of names at most */
    RING_CHARS_SIZE = 30,                                        /* of text in one record */
    RING_MOST_CHARS = RING_GUARD - 1 - (RING_MOST_ARGS + 1) / 2, /* records of an event's texts */
};

/* What an event is. The numbers are those of `Phase` in schema/ntrace.proto. */
enum ring_kind {
    RING_EMPTY = 0,
    RING_BEGIN = 1,
    RING_END = 2,
    RING_INSTANT = 3,
    RING_COUNTER = 4, /* its first arg is the value and has no key */
    RING_FLOW_BEGIN = 5,
    RING_FLOW_STEP = 6,
    RING_FLOW_END = 7,
    RING_STEP = 8, /* begins a range that is a step; its first arg is the step's number */
    RING_RANGE =
        9, /* a whole one, from `ticks` to `value`; its args are all in records behind it */
    RING_CHARS = 14,
    RING_ARGS = 15,
};
enum { RING_ARG_INSIDE = 0x80 }; /* in `kind`: `id` is the first arg's key, `value` the arg */

/* The numbers of `ArgType` in schema/ntrace.proto. */
enum ring_type {
    RING_NONE = 0,
    RING_INT = 1,
    RING_UINT = 2,
    RING_DOUBLE = 3,
    RING_TEXT = 4, /* the id of a name */
    /* Not in the schema. */
    RING_TEXT_INSIDE = 5, /* in the records behind the args */
};
#define RING_NAME_INSIDE UINT32_MAX /* as the id of an event's name: the same */

#define RING_NO_CORE UINT16_MAX

struct ring_record {
    uint64_t ticks; /* of the session's clock */
    uint32_t name;
    uint8_t kind, type;
    uint16_t core; /* nc_idx; RING_NO_CORE for what the lane has */
    uint64_t id;   /* tracking or flow id, 0 for none */
    uint64_t value;
};

/* One or two args of the event before. */
struct ring_args {
    uint64_t first_value;
    uint32_t first_key;
    uint8_t kind, first_type; /* at the places they have in ring_record */
    uint8_t second_type, unused;
    uint32_t second_key, unused_too;
    uint64_t second_value;
};

/* A piece of a text. */
enum { RING_CHARS_MORE = 0x80 }; /* in `size`: the text goes on in the next record */
struct ring_chars {
    char first[12];
    uint8_t kind, size;
    char rest[18];
};

enum ring_lane_kind { RING_THREAD = 1, RING_CORE = 2 };
/* Where the events of a thread's lane are shown: its writer is the thread, or another one that
 * records events of that thread, to be shown with those it records itself or apart. */
enum ring_place { RING_OWN = 0, RING_SHARED = 1, RING_APART = 2 };

struct ring_header {
    uint64_t magic;
    uint32_t version, record_size;
    uint32_t kind; /* enum ring_lane_kind */
    uint32_t number;
    uint64_t thread;                 /* the system's id of the thread */
    uint32_t core;                   /* nc_idx, UINT32_MAX for none */
    uint32_t place;                  /* enum ring_place */
    uint64_t start_ticks, end_ticks; /* end: 0 as long as the thread lives */
    char name[RING_LANE_NAME];       /* terminated */
    uint64_t slots;
    /* What the writer changes, in a cache line of its own. Follow-up records are counted before
     * head moves; `args_head` is the head they belong to, `args_before` their number without them,
     * so that the count of events is exact wherever the program was killed. */
    _Alignas(64) uint64_t head;
    uint64_t args, args_before, args_head;
};

struct ring_pack {
    uint64_t magic; /* 0, as in a lane: the program was killed while it made the file */
    uint32_t version, number;
    uint64_t used; /* bytes, this header included */
    uint64_t unused[5];
};

struct ring_names {
    uint64_t magic;
    uint32_t version, unused;
    uint64_t used; /* bytes, this header included */
    uint64_t lost; /* texts that had no room, or were cut */
};

enum ring_group { RING_SOFTWARE = 0, RING_HARDWARE = 1 };

/* A text: the name of an event type, a key, a value. */
struct ring_name {
    uint32_t size; /* of the text that follows */
    uint8_t level; /* of an event type; 0 for other texts */
    uint8_t group; /* enum ring_group */
    uint16_t unused;
    uint32_t file, line; /* where an event type stands in the program's source; a name, or 0 */
};

/* Events of ended lanes whose files were removed because there were too many. */
struct ring_dropped {
    uint64_t events;
    /* The last file, of a lane or a pack: its number plus 1, and 0 for the other. It may still be
     * there, and does not count. */
    uint32_t lane, pack;
};

enum ring_clock { RING_CLOCK_MONOTONIC = 1, RING_CLOCK_TSC = 2, RING_CLOCK_CNTVCT = 3 };

/* The same moment on three clocks; ticks was read `window` ticks apart around the other two. */
struct ring_sample {
    uint64_t ticks, window;
    int64_t monotonic_ns, realtime_ns;
};

/* What identifies a process, also after its pid was given to another one. 0 or "" where it could
 * not be found out. */
struct ring_owner {
    uint64_t start_time; /* field 22 of /proc/self/stat: clock ticks since boot */
    uint64_t pid_namespace, time_namespace; /* inodes of /proc/self/ns/ */
    int64_t heartbeat_ns; /* CLOCK_REALTIME, about every second; 0 when nobody updates it */
    char boot_id[40];     /* /proc/sys/kernel/random/boot_id, terminated */
};

struct ring_session {
    uint64_t magic;
    uint32_t version;
    uint32_t pid;
    struct ring_owner owner;
    uint32_t clock; /* enum ring_clock */
    uint32_t level;
    uint64_t lane_records; /* the most a ring keeps */
    uint64_t lanes;        /* opened so far */
    uint64_t lost_events;  /* that had no ring */
    /* Of the two, dropped[drops % 2] is valid: a drop is counted by the one store to `drops`,
     * before the file goes, so that the count is exact wherever the program was killed. */
    uint64_t drops;
    struct ring_dropped dropped[2];
    char instance[128], host[128], program[256], process_name[128];
    uint32_t cpus;
    uint32_t rank; /* of its job, plus one; 0: unknown, as the next */
    uint32_t world_size, unused;
    uint64_t memory_bytes;
    uint64_t samples; /* entries of `sample` that are whole */
    struct ring_sample sample[RING_CLOCK_SAMPLES];
};

static_assert(sizeof(struct ring_record) == 32, "two records a cache line");
static_assert(sizeof(struct ring_args) == sizeof(struct ring_record), "args are records");
static_assert(sizeof(struct ring_chars) == sizeof(struct ring_record), "chars are records");
static_assert(offsetof(struct ring_record, kind) == offsetof(struct ring_args, kind) &&
                  offsetof(struct ring_record, kind) == offsetof(struct ring_chars, kind),
              "a record tells its kind before anything else");
static_assert(sizeof(struct ring_header) <= RING_HEADER_SIZE, "the header has a page");
static_assert(offsetof(struct ring_header, head) % 64 == 0, "head has its own cache line");
static_assert(sizeof(struct ring_pack) % sizeof(struct ring_record) == 0 &&
                  sizeof(struct ring_header) % sizeof(struct ring_record) == 0,
              "what is in a pack is aligned");
static_assert(sizeof(struct ring_name) == 16, "names are packed");
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are mapped as they are");

#endif
