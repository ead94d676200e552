/*
 * NTFF files, to the byte (schema/ntff.md): a header of 512 bytes, then frames: a head of 40 bytes
 * and a payload. Numbers are little-endian.
 */
#ifndef KYMO_NEURON_PROFILE_FILE_FORMAT_H
#define KYMO_NEURON_PROFILE_FILE_FORMAT_H

#include "neuron/profile_file/ntff.h"

#include <assert.h>

#define NTFF_MAGIC   "KYMONTFF"
#define NTFF_TRAILER "KYMONEND"
enum {
    NTFF_VERSION = 2, /* 1 has no NEFF frames */
    NTFF_OLDEST = 1,
    NTFF_MAGIC_SIZE = 8,
    NTFF_HEADER_SIZE = 512,
    NTFF_BLOCK_MAX = 4096, /* notifications of a block */
    NTFF_PHASES = 3,
};

enum frame_kind { FRAME_NOTIFICATIONS = 1, FRAME_EXECUTION = 2, FRAME_INDEX = 3, FRAME_NEFF = 4 };

struct ntff_frame {
    uint32_t crc; /* CRC-32 of the rest of this head and of the payload */
    uint32_t payload_bytes;
    uint8_t kind; /* enum frame_kind */
    uint8_t type, unit, zero;
    uint32_t count; /* notifications; of the index: entries */
    uint32_t execution;
    uint32_t neff;                  /* of the execution: 0 is the header's, n the n-th NEFF frame */
    uint64_t first_time, last_time; /* the smallest and the largest */
};
static_assert(sizeof(struct ntff_frame) == 40, "the head of a frame has 40 bytes");

struct frame_execution {
    uint32_t index, status;
    uint64_t start_ns, end_ns, start_ticks, end_ticks;
};
static_assert(sizeof(struct frame_execution) == 40, "an execution has 40 bytes");

struct frame_neff {
    uint8_t uuid[16];
    char name[256];
};
static_assert(sizeof(struct frame_neff) == 272, "a NEFF has 272 bytes");

/* One for each frame before the index. */
struct index_entry {
    uint64_t offset;
    struct ntff_frame frame;
};
static_assert(sizeof(struct index_entry) == 48, "an entry of the index has 48 bytes");

struct ntff_trailer {
    uint64_t index_offset; /* of its frame */
    char magic[NTFF_MAGIC_SIZE];
};
static_assert(sizeof(struct ntff_trailer) == 16, "the trailer has 16 bytes");

struct file_header {
    char magic[NTFF_MAGIC_SIZE];
    uint32_t version, header_bytes;
    uint8_t neff_uuid[16];
    uint32_t core_version, device_index, core_index, logical_core, core_in_logical, rank,
        rank_count, ticks_per_us, process_id;
    uint32_t flags; /* 1 is_simulation, 2 computed, 4 dge_notifications */
    char instance_type[64], instance_id[64];
    char neff_name[256];
    uint8_t zeros[52];
    uint32_t crc; /* of the bytes before it */
};
static_assert(sizeof(struct file_header) == NTFF_HEADER_SIZE, "the header has 512 bytes");

uint32_t frame_crc(const struct ntff_frame *frame, const void *payload);

/* The payload of a block. The encoded size is at most COLUMNS_MAX_BYTES. */
enum { COLUMNS_MAX_BYTES = 192 << 10 };
size_t columns_encode(const struct notification *items, uint32_t count, uint8_t *out);
/* False when the bytes are not count notifications. Fills all but type and unit. */
bool columns_decode(const uint8_t *bytes, size_t size, struct notification *items, uint32_t count);

#endif
