/*
 * device: device profiles. Joins the notifications of an NTFF with the program of its NEFF into
 * what a core did: instructions, transfers, collectives, semaphores, errors, throttling. From that
 * come the metrics of the published schema, dependencies, the critical path and findings.
 *
 * Times are picoseconds since the start of the first execution, on the device's clock. Lists are in
 * order of start, those of one unit (engine, queue, CC-core) contiguous.
 */
#ifndef KYMO_DEVICE_DEVICE_H
#define KYMO_DEVICE_DEVICE_H

#include "neff/neff.h"
#include "ntff/ntff.h"

/* What an instruction does each time it runs, from the program alone. Bytes are those its operands
 * cover, on all partitions. */
struct instruction_facts {
    uint64_t flops;          /* 2 a multiply-add; of active rows and columns */
    uint64_t adjusted_flops; /* what they take, in operations of BF16 */
    uint64_t elements;       /* moving elements of the Tensor engine, else of the destination */
    uint64_t sbuf_read, sbuf_write, psum_read, psum_write;
    bool is_matmul, is_transpose; /* of the Tensor engine */
    bool is_overhead; /* not counted as execution: NOP, EVENT_SEMAPHORE, NOTIFY, WRITE, ... */
};

/* A piece of HBM traffic of a descriptor, by what its variable is. */
struct descriptor_facts {
    uint64_t bytes;                 /* moved: the larger side */
    uint64_t hbm_read, hbm_write;   /* of those, from and to HBM */
    uint64_t sbuf_read, sbuf_write; /* from and to SBUF or PSUM */
    uint32_t variable;              /* of HBM: the source's, else the target's; NO_INDEX: none */
    uint8_t queue_type;             /* enum dma_queue_type */
    bool is_spill_save, is_spill_reload; /* to and from the scratchpad */
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

/* An open profile of one core: its files, and what is known without looking at notifications. */
struct device_profile {
    struct neff *neff;
    struct ntff *ntff;
    const struct core_program *program;
    const struct core_hardware *hardware;
    struct instruction_facts *facts[ENGINE_COUNT]; /* by instruction */
    struct descriptor_facts *descriptors;
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
    uint32_t run;   /* index of its block run */
    uint32_t crc;   /* of the data */
    uint8_t engine; /* DMA engine */
};

struct device_block { /* DmaPacketAggregated: one run of a block */
    int64_t start_ps, end_ps;
    uint32_t block;
    uint32_t trigger_engine, trigger; /* index in its engine's instructions; NO_INDEX: unknown */
    uint64_t bytes;
};

struct device_collective { /* CcOp */
    int64_t trigger_ps, start_ps, end_ps;
    uint32_t collective;
    uint32_t trigger_engine, trigger;
};

struct device_cc_step { /* CcInstruction */
    int64_t start_ps, end_ps;
    uint32_t collective;   /* index in collectives of the execution */
    uint8_t cc_core, step; /* enum collective_step */
};

struct device_update { /* SemaphoreUpdate */
    int64_t time_ps;
    uint32_t semaphore, value;
    uint8_t engine;
    uint32_t
        instruction; /* index in its engine's instructions; NO_INDEX: a transfer or collective */
};

struct device_error {
    int64_t time_ps;
    uint8_t kind; /* enum error_kind */
    uint8_t unit;
    uint32_t at, detail; /* see ntff.h */
};

struct device_throttle {
    int64_t start_ps, end_ps;
    uint8_t kind;         /* enum throttle_kind */
    uint32_t thousandths; /* of 1024: rate that is left */
};

/* One execution. */
struct device_execution {
    struct ntff_execution info;
    bool has_info;            /* false: the capture ended before it did */
    int64_t start_ps, end_ps; /* by its explicit notifications, else the span of all */
    ARRAY(struct device_instruction) instructions[ENGINE_COUNT];
    ARRAY(struct device_transfer) transfers; /* by DMA engine, then start */
    ARRAY(struct device_block) blocks;       /* by queue, then start */
    ARRAY(struct device_collective) collectives;
    ARRAY(struct device_cc_step) cc_steps; /* by CC-core, then start */
    ARRAY(struct device_update) updates;   /* by time */
    ARRAY(struct device_error) errors;
    ARRAY(struct device_throttle) throttles;
    uint64_t notifications;
    uint64_t unpaired; /* notifications without their counterpart, left out */
};

/* Refuses files that do not belong together, naming both. Free with device_close. */
struct device_profile *device_open(const char *neff_path, const char *ntff_path, struct error *err);
/* From files that are open already, which the profile then owns; also on failure. */
struct device_profile *device_join(struct neff *neff, struct ntff *ntff, struct error *err);
void device_close(struct device_profile *profile);

/* How many executions there are, those that were cut off included. */
uint32_t device_execution_count(const struct device_profile *profile);
bool device_read_execution(const struct device_profile *profile, uint32_t number, struct pool *pool,
                           struct device_execution *execution, struct error *err);
void device_execution_free(struct device_execution *execution);

/* By its queue's kind, and whether its offsets are dynamic. */
enum dma_queue_type device_queue_type(const struct core_program *program, uint32_t queue);

/* "S[5]>=2 S[7]++@complete src=bf16@SBUF[0..127]+0x200[1][512] ...": operands for people. */
size_t device_operands(const struct core_program *program, enum engine engine, uint32_t pc,
                       char *text, size_t size);

#endif
