/*
 * device: device profiles. Joins the notifications of an NTFF with the program of its NEFF into
 * what a core did: instructions, transfers, collectives, semaphores, errors, throttling. From that
 * come the metrics of the published schema, dependencies, the critical path and findings.
 *
 * Times are picoseconds since the start of the first execution, on the device's clock. Lists are in
 * order of start, those of one unit (engine, queue, CC-core) contiguous.
 */
#ifndef KYMO_ANALYZE_DEVICE_DEVICE_H
#define KYMO_ANALYZE_DEVICE_DEVICE_H

#include "analyze/device/analysis.h"
#include "analyze/device/cores.h"
#include "analyze/device/usage.h"
#include "neuron/profile_file/ntff.h"
#include "neuron/program/neff.h"

/* What an instruction does each time it runs, from the program alone. Bytes are those its operands
 * cover, on all partitions. */
struct instruction_facts {
    uint64_t flops;          /* 2 a multiply-add; of active rows and columns */
    uint64_t adjusted_flops; /* what they take, in operations of BF16 */
    uint64_t elements;       /* moving elements of the Tensor engine, else of the destination */
    uint64_t sbuf_read, sbuf_write, psum_read, psum_write;
    bool is_matmul;    /* goes through the Tensor engine's array: MATMUL, TRANSPOSE */
    bool is_transpose; /* TRANSPOSE: its flops are those of a product with the identity */
    bool is_overhead;  /* not counted as execution: NOP, EVENT_SEMAPHORE, NOTIFY, WRITE, ... */
};

/* A piece of HBM traffic of a descriptor, by what its variable is. */
struct descriptor_facts {
    uint64_t bytes;                 /* moved: the larger side */
    uint64_t read, written;         /* of either side */
    uint64_t hbm_read, hbm_write;   /* from and to HBM */
    uint64_t sbuf_read, sbuf_write; /* from and to SBUF or PSUM */
    uint32_t variable;              /* of HBM: the source's, else the target's; NO_INDEX: none */
    uint8_t queue_type;             /* enum dma_queue_type */
    bool is_spill_save, is_spill_reload; /* to and from the scratchpad */
};

/* A block's descriptors together: each sum is over all of them. */
struct block_facts {
    uint64_t bytes, read, written, hbm_read, hbm_write, sbuf_read, sbuf_write;
    uint64_t spill_save, spill_reload;
    uint64_t weight_read;                /* read from weights */
    uint32_t first_access, access_count; /* of device_profile.hbm_accesses */
};
struct hbm_access {
    uint32_t variable;
    bool is_write;
};

/* Bytes of the sampled partitions (see usage.h) that an operand or an end of a transfer covers. */
struct device_access {
    uint32_t begin, end;
    uint8_t partitions; /* bits */
    bool is_psum, is_write;
};
struct device_accesses {
    struct device_access items[4]; /* in order: what is read, then what is written */
    uint8_t count;
};

/* DmaQueueType of the schema. */
enum dma_queue_type {
    DMA_TYPE_INSTRUCTION,
    DMA_TYPE_INPUT,
    DMA_TYPE_OUTPUT,
    DMA_TYPE_DATA,
    DMA_TYPE_SOFTWARE_DYNAMIC,
    DMA_TYPE_HARDWARE_DYNAMIC,
    DMA_TYPE_UNKNOWN,
    DMA_TYPES
};

/* An execution as the file lists it: its notifications are blocks of `device_profile.blocks`. */
struct device_span {
    uint32_t index; /* as the capture counts them */
    uint32_t first_block, block_count;
    int64_t start_ps;
    struct ntff_execution info;
    bool has_info;
};

/* An open profile of one core: its files, and what is known without looking at notifications. */
struct device_profile {
    struct neff *neff;
    struct ntff *ntff;
    const struct core_program *program;
    const struct core_hardware *hardware;
    struct instruction_facts *facts[ENGINE_COUNT]; /* by instruction */
    struct descriptor_facts *descriptors;
    struct block_facts *block_facts;
    ARRAY(struct hbm_access) hbm_accesses;              /* of blocks, each kind once in a row */
    struct device_accesses *accesses[ENGINE_COUNT + 1]; /* by instruction; last: by descriptor */
    struct device_span *spans;                          /* executions, by index */
    uint32_t span_count;
    uint32_t *blocks; /* of the NTFF: by execution, type, unit, in their order */
    size_t block_count;
    uint64_t notifications;    /* of all executions */
    struct ntff_loss loss;     /* damage of the file that opening found */
    uint32_t neff_number;      /* which of the NTFF's: blocks and spans are those of it */
    uint32_t other_executions; /* of other NEFFs */
};

struct device_instruction {
    int64_t start_ps, end_ps; /* START is when its wait was over */
    int64_t wait_ps;          /* for its semaphore, before start_ps */
    uint32_t pc;              /* index in program.code of its engine */
    uint32_t iteration;       /* of its list's loops */
};

struct device_transfer { /* DmaPacket */
    int64_t start_ps, end_ps;
    uint32_t descriptor;
    uint32_t run;   /* index in blocks */
    uint32_t crc;   /* of the data */
    uint8_t engine; /* DMA engine */
};

/* DmaPacketAggregated: one run of a block, from the start of its first transfer to the end of its
 * last. A run of which no transfer was notified is not in the list. */
struct device_block {
    int64_t start_ps, end_ps;
    uint32_t block;
    uint32_t transfers;               /* that were notified */
    uint32_t trigger_engine, trigger; /* index in its engine's instructions; NO_INDEX: unknown */
    uint64_t bytes;                   /* of these transfers */
};

/* CcOp: from when a CC-core took it to the end of its last step. */
struct device_collective {
    int64_t trigger_ps, start_ps, end_ps;
    uint32_t collective;
    uint32_t trigger_engine, trigger; /* as of blocks */
    uint8_t cc_core;
};

struct device_cc_step { /* CcInstruction */
    int64_t start_ps, end_ps;
    uint32_t collective;   /* index in collectives of the execution */
    uint8_t cc_core, step; /* enum collective_step */
};

/* SemaphoreUpdate. One of the last three says what made it, the others are NO_INDEX; all three are
 * when it is not known. */
struct device_update {
    int64_t time_ps;
    uint32_t semaphore, value;
    uint8_t engine;
    uint32_t instruction; /* index in its engine's instructions */
    uint32_t block;       /* index in blocks: all its transfers are complete */
    uint32_t collective;  /* index in collectives */
};

enum { FULL_RATE = 1024 };
struct device_throttle {
    int64_t start_ps, end_ps;
    uint8_t kind;  /* enum throttle_kind */
    uint32_t rate; /* of FULL_RATE, what is left: less */
};

/* One execution. */
struct device_execution {
    struct ntff_execution info;
    bool has_info;            /* false: the capture ended before it did */
    int64_t start_ps, end_ps; /* by its explicit notifications, else the span of all */
    ARRAY(struct device_instruction) instructions[ENGINE_COUNT];
    ARRAY(struct device_transfer) transfers;     /* by DMA engine, then start */
    ARRAY(struct device_block) blocks;           /* by queue, then start */
    ARRAY(struct device_collective) collectives; /* by CC-core, then start */
    ARRAY(struct device_cc_step) cc_steps;       /* by CC-core, then start */
    ARRAY(struct device_update) updates;         /* by time */
    ARRAY(struct device_error) errors;
    ARRAY(struct device_throttle) throttles;
    uint64_t notifications;
    uint64_t
        unpaired; /* notifications without their counterpart, or that make no sense: left out */
    struct ntff_loss loss; /* damaged blocks of it */
    bool is_packed;        /* the lists are parts of a core's slabs */
};

/* Refuses files that do not belong together, naming both. Free with device_close. */
struct device_profile *device_open(const char *neff_path, const char *ntff_path, struct error *err);
/* From files that are open already, which the profile then owns; also on failure. */
struct device_profile *device_join(struct neff *neff, struct ntff *ntff, struct error *err);
void device_close(struct device_profile *profile);
/* The NEFF, as the NTFF names it. */
const struct ntff_neff *device_neff(const struct device_profile *profile);

/* How many executions there are, those that were cut off included. */
uint32_t device_execution_count(const struct device_profile *profile);
/* pool NULL: on this thread alone. Damaged blocks of the file are left out and counted. */
void device_read_execution(const struct device_profile *profile, uint32_t number, struct pool *pool,
                           struct device_execution *execution);
void device_execution_free(struct device_execution *execution);
/* Whether both have the same instructions, blocks and transfers in the same places of their lists:
 * they differ in times, checksums and what else happened. */
bool device_executions_alike(const struct device_execution *a, const struct device_execution *b);

enum dma_queue_type device_queue_type(const struct core_program *program, uint32_t queue);
/* Fills block_facts and hbm_accesses from the descriptors' facts; again after they have changed. */
void device_find_block_facts(struct device_profile *profile);

const char *device_step_name(enum collective_step step); /* "DMA_ADVANCE" */
const char *device_error_name(enum error_kind kind);     /* "EMBD OOB" */
/* "DMA descriptor 1: an index is out of the bounds of variable t" */
enum { DEVICE_ERROR_SIZE = 256 };
char *device_error_text(const struct core_program *program, const struct device_error *error,
                        char text[static DEVICE_ERROR_SIZE]);
const char *device_throttle_name(enum throttle_kind kind);     /* "activity_0" */
const char *device_queue_type_name(enum dma_queue_type type);  /* "software_dynamic" */
const char *device_collective_name(enum collective_kind kind); /* "AllReduce" */

/* "S[5]>=2 S[7]++@complete src=bf16@SBUF[0..127]+0x200[1][512] ...": operands for people. Returns
 * the length; what does not fit is cut. */
size_t device_operands(const struct core_program *program, enum engine engine, uint32_t pc,
                       char *text, size_t size);

#endif
