/*
 * The state of a running core. The functions of each part are declared in the header of that name;
 * all take the core.
 */
#ifndef KYMO_NEURON_SIMULATOR_STATE_H
#define KYMO_NEURON_SIMULATOR_STATE_H

#include "neuron/simulator/events.h"
#include "neuron/simulator/neuroncore.h"

enum {
    NOTIFICATION_BATCH = 1024,
    CC_CORES_MAX = 4, /* of one core */
    DGE_COUNT = 3,    /* descriptor generators: hardware for Sync, hardware for others, software */
};

/* Codes of NRT_STATUS. */
enum run_status {
    RUN_SUCCESS = 0,
    RUN_FAILURE = 1,
    RUN_TIMEOUT = 5,
    RUN_NUMERIC_ERROR = 1003,
    RUN_OUT_OF_BOUNDS = 1006,
    RUN_COLLECTIVE_ERROR = 1200,
};

/* The bytes an instruction wrote, as far as a later one of its engine can depend on them. */
struct core_extent {
    uint8_t memory, partition, partitions;
    uint32_t begin, end; /* bytes of a partition */
};

/* Ends of instructions to be notified, in order of time. */
enum { COMPLETIONS = 64 };
struct completion {
    uint64_t time;
    uint32_t pc, iteration;
};
struct completion_queue {
    uint32_t head, count;
    struct completion items[COMPLETIONS];
};

struct engine_state {
    const struct instruction *code;
    uint32_t count, pc;
    uint32_t iteration;         /* branches taken backward */
    uint64_t ready;             /* when it reached its instruction */
    uint64_t waited;            /* ticks that its instruction waited for a semaphore */
    bool is_waiting;            /* for a semaphore */
    bool is_met;                /* the wait of its instruction is over */
    uint64_t last_complete;     /* of the instructions issued, except weight loads */
    uint64_t all_complete;      /* of all of them */
    struct core_extent written; /* by the last instruction, until last_complete */
    int64_t registers[REGISTERS];
    struct completion_queue completions[2]; /* of weight loads, of all others */
};

struct tensor_state {
    uint64_t array_free;    /* when the next matmul can start */
    uint64_t weights_ready; /* when the last weight load is complete */
    uint8_t weights_dtype;
    uint32_t weights_rows, weights_columns;
    bool is_capped;  /* half of the rate */
    bool has_window; /* its use is being measured */
    uint64_t window_end;
    uint64_t busy, busy_next; /* ticks of this window, and of the next one */
};

/* A descriptor in the queue of a DMA engine. */
struct queued_transfer {
    uint32_t descriptor, block_run;
    uint64_t ready;
    int64_t from_register, to_register;
};

struct dma_engine {
    struct queued_transfer *items; /* a ring; its capacity is a power of two */
    size_t capacity, head, count;
    bool is_busy, is_scheduled; /* busy with a transfer; has a check of the queue scheduled */
    struct queued_transfer current;
    uint32_t crc;
};

/* One run of a block. */
struct block_run {
    uint32_t block, remaining;
    uint8_t engine;
    uint32_t next; /* in the list of free ones: index + 1 */
};

struct dma_state {
    struct dma_engine engines[DMA_ENGINES];
    struct {
        struct block_run *items;
        size_t count, capacity;
    } runs;
    uint32_t free_run; /* index + 1 */
    uint64_t hbm_free; /* when the stack's share has moved all bytes given to it */
    uint64_t hbm_bytes_per_us;
    uint64_t dge_free[DGE_COUNT];
    uint8_t *next_ring;          /* of each queue */
    struct transfer_cost *costs; /* of each descriptor, once it was used */
};

struct arithmetic; /* buffers for arithmetic */

struct core {
    struct core_options options;
    const struct core_hardware *hardware;
    uint32_t ticks_per_us;
    uint32_t cycle_ticks[ENGINE_COUNT];
    uint8_t *sbuf, *psum; /* partition after partition */
    struct arithmetic *arithmetic;

    /* Of the current run. */
    const struct core_run *run;
    const struct core_program *program;
    struct core_result *result;
    struct event_queue events;
    uint64_t now;
    uint64_t end; /* of everything issued */
    bool is_stopped;
    struct engine_state engines[ENGINE_COUNT];
    uint32_t semaphores[SEMAPHORES];
    uint8_t waiting[SEMAPHORES]; /* bits of engines */
    uint64_t sbuf_port_free, psum_port_free;
    struct tensor_state tensor;
    struct dma_state dma;
    uint64_t cc_free[CC_CORES_MAX];
    uint64_t *collective_ready, *collective_all_ready; /* of each collective's last run */
    struct notification notifications[NOTIFICATION_BATCH];
    size_t notification_count;
};

static inline bool core_is_profiled(const struct core *core)
{
    return core->run->notify != NULL;
}

static inline uint64_t core_ns(const struct core *core, uint64_t ns)
{
    return (ns * core->ticks_per_us + 999) / 1000;
}

/* Bytes of one partition. */
static inline uint32_t memory_stride(const struct core *core, enum memory memory)
{
    return memory == MEMORY_PSUM ? PSUM_BYTES : core->hardware->sbuf_bytes;
}

static inline uint8_t *memory_base(const struct core *core, enum memory memory)
{
    return memory == MEMORY_PSUM ? core->psum : core->sbuf;
}

#endif
