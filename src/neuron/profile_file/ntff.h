/*
 * ntff: device profiles. Raw notifications of one core, in the order they came, with what is needed
 * to interpret them: node, core, clock, the NEFF's uuid, the executions. schema/ntff.md describes
 * the file. It is written as a stream of blocks; a file whose writer was killed is readable up to
 * its last block, a damaged one except for the damaged parts.
 */
#ifndef KYMO_NEURON_PROFILE_FILE_NTFF_H
#define KYMO_NEURON_PROFILE_FILE_NTFF_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Types 0 to 5 are the published numbers of notification queues. */
enum notification_type {
    NOTIFICATION_TRACE = 0,  /* an instruction */
    NOTIFICATION_NOTIFY = 1, /* explicit: an execution's start or stop */
    NOTIFICATION_EVENT = 2,  /* a semaphore's new value */
    NOTIFICATION_ERROR = 3,
    NOTIFICATION_TRACE_DMA = 4, /* a DMA transfer */
    NOTIFICATION_THROTTLE = 5,
    NOTIFICATION_COLLECTIVE = 6, /* an instruction of a CC-core */
    NOTIFICATION_TYPES
};

enum notification_phase { PHASE_POINT, PHASE_START, PHASE_END };

/*
 * `unit` is the engine of TRACE, EVENT and NOTIFY, the DMA engine of TRACE_DMA, the CC-core of
 * COLLECTIVE. The other fields:
 *
 *     type        id               value                      detail
 *     TRACE       instruction      START: ticks it waited     iteration of its list's loops
 *     NOTIFY      0 start, 1 stop  execution                  0
 *     EVENT       semaphore        new value                  instruction that set it, or NO_ID
 *     ERROR       error_kind       instruction, descriptor    variable or memory
 *     TRACE_DMA   descriptor       START: block, END: CRC-32  queue
 *     THROTTLE    throttle_kind    1024ths of the rate        0
 *     COLLECTIVE  collective       collective_step            bytes, or semaphore
 *
 * A TRACE waits for its semaphore; the CRC-32 is that of the data a transfer moved.
 */
#define NO_ID UINT32_MAX
struct notification {
    uint64_t time; /* ticks of the device's clock since the execution's start */
    uint32_t id;
    uint32_t value;
    uint32_t detail;
    uint8_t type;
    uint8_t phase;
    uint8_t unit;
};

enum error_kind {
    ERROR_EMBD_OOB, /* an index beyond the rows of an embedding */
    ERROR_DMAI_OOB, /* a dynamic offset beyond its variable */
    ERROR_NAN,
    ERROR_INFINITY,
    ERROR_TIMEOUT,
    ERROR_COLLECTIVE, /* a rank is gone */
};
enum throttle_kind { THROTTLE_ACTIVITY_0, THROTTLE_ACTIVITY_1 };
enum collective_step { STEP_TPB_TRIGGER, STEP_SEMAPHORE_WAIT, STEP_DMA_ADVANCE };

struct ntff_execution {
    uint32_t index;                  /* from 1 */
    uint32_t neff;                   /* which of ntff_neffs */
    uint64_t start_ns, end_ns;       /* wall clock of the host */
    uint64_t start_ticks, end_ticks; /* device clock; notifications are relative to start_ticks */
    uint32_t status;                 /* NRT_STATUS */
};

/* "NRT_EXEC_OOB"; "NRT_UNKNOWN" for a number that is none. */
const char *ntff_status_name(uint32_t status);

struct ntff_neff {
    uint8_t uuid[16];
    char name[257];
};

struct ntff_header {
    uint32_t version;
    uint8_t neff_uuid[16];
    char neff_name[257];
    char instance_type[64], instance_id[64];
    uint32_t core_version;             /* generation: 2, 3, 4 */
    uint32_t device_index, core_index; /* nd_idx, nc_idx (physical, of the device) */
    uint32_t logical_core, core_in_logical;
    uint32_t rank, rank_count;
    uint32_t ticks_per_us; /* of the device's clock */
    uint32_t process_id;
    bool is_simulation;
    bool computed; /* values were computed, not only timed */
    bool dge_notifications;
};

/* --- Writing: one thread. Memory is bounded; blocks go out as they fill. --- */
struct ntff_writer;
struct ntff_writer *ntff_create(const char *path, const struct ntff_header *header,
                                struct error *err);
/* Sets the NEFF of the executions that follow; at first the header's. */
void ntff_use_neff(struct ntff_writer *writer, const struct ntff_neff *neff);
/* Notifications of one execution in any order; between begin and end. The NEFF of ntff_end's
 * execution is the one in use. */
void ntff_begin(struct ntff_writer *writer, uint32_t execution);
void ntff_push(struct ntff_writer *writer, const struct notification *items, size_t count);
void ntff_end(struct ntff_writer *writer, const struct ntff_execution *execution);
/* Writes the index and closes; false when any write failed. Frees. */
bool ntff_finish(struct ntff_writer *writer, struct error *err);

/* --- Reading: blocks by several threads at once. --- */
struct ntff_block {
    uint32_t execution;
    uint32_t count;
    uint8_t type, unit;             /* of all its notifications */
    uint64_t first_time, last_time; /* the smallest and the largest */
    uint32_t neff;                  /* which of ntff_neffs */
    uint32_t gap; /* the number of damaged places before it, of those found when opening */
    uint64_t offset, bytes; /* in the file */
};

/* Damage: bytes of a file that differ from what was written. */
struct ntff_loss {
    uint32_t places;
    uint64_t offset, bytes; /* of the first; of all */
    uint64_t notifications; /* as far as known: in blocks whose count is in the index */
    uint32_t first_execution, last_execution; /* of these notifications */
};
enum { NTFF_LOSS_SIZE = 200 };
void ntff_loss_add(struct ntff_loss *sum, const struct ntff_loss *loss);
/* "the file is damaged at byte 4096: 1020 bytes with 312 notifications of execution 2 are left out"
 */
const char *ntff_loss_text(const struct ntff_loss *loss, char text[static NTFF_LOSS_SIZE]);

struct ntff;
struct ntff *ntff_open(const char *path, struct error *err);
const struct ntff_header *ntff_header(const struct ntff *ntff);
/* The header's is the first; a session has the NEFFs of all its executions. */
const struct ntff_neff *ntff_neffs(const struct ntff *ntff, size_t *count);
const struct ntff_execution *ntff_executions(const struct ntff *ntff, size_t *count);
const struct ntff_block *ntff_blocks(const struct ntff *ntff, size_t *count);
/* items has room for the block's count. Notifications are in the order they were pushed. False:
 * the block is damaged. */
bool ntff_read_block(const struct ntff *ntff, size_t block, struct notification *items,
                     struct error *err);
/* What is lost if the block cannot be read. */
struct ntff_loss ntff_block_loss(const struct ntff_block *block);
/* Whether the writer did not finish: the file has what was written until then. */
bool ntff_is_partial(const struct ntff *ntff);
/* Damage found when opening. Blocks are checked when they are read. */
const struct ntff_loss *ntff_loss(const struct ntff *ntff);
void ntff_close(struct ntff *ntff);
bool ntff_recognize(const void *bytes, size_t size);

#endif
