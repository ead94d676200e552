/*
 * The published figures of Neuron devices: engines, clocks, memories, DMA, links, and the instance
 * types they come in. One table; the compiler, the simulated cores and the analysis read it.
 */
#ifndef KYMO_NEURON_HARDWARE_HARDWARE_H
#define KYMO_NEURON_HARDWARE_HARDWARE_H

#include <stdbool.h>
#include <stdint.h>

enum engine {
    ENGINE_TENSOR, /* PE */
    ENGINE_VECTOR, /* DVE */
    ENGINE_SCALAR, /* ACT */
    ENGINE_GPSIMD, /* POOL */
    ENGINE_SYNC,   /* SP */
    ENGINE_COUNT
};

enum {
    PARTITIONS = 128,
    PSUM_BANKS = 8,
    PSUM_BANK_BYTES = 2048, /* of one partition: 512 FP32 */
    PSUM_BYTES = PSUM_BANKS * PSUM_BANK_BYTES,
    MOVING_MAX = 512,     /* free size of a matmul's moving operand */
    STATIONARY_MAX = 128, /* free size of its stationary operand */
    DMA_ENGINES = 16,     /* of one core */
    SEMAPHORES = 256,
    REGISTERS = 32, /* of one engine */
};

/* A generation of NeuronCores. Rates are per core. */
struct core_hardware {
    const char *name; /* "NC_V2" */
    uint32_t version; /* 2, 3, 4 */
    uint32_t clock_mhz[ENGINE_COUNT];
    uint32_t sbuf_bytes;        /* of one partition */
    uint32_t vector_lanes;      /* elements a cycle: BF16 and FP16 in SBUF, contiguous */
    uint32_t vector_lanes_wide; /* elements a cycle: everything else */
    uint32_t scalar_lanes;      /* BF16, FP16, FP8 */
    uint32_t scalar_lanes_wide;
    uint32_t dma_bytes_per_us; /* of one DMA engine: 17,000 for 17 bytes/ns */
    uint64_t hbm_bytes_per_us; /* of one stack */
    uint64_t hbm_bytes;        /* of one stack */
    uint32_t stacks_per_chip, cores_per_chip, cc_cores_per_chip;
    uint64_t link_bytes_per_us; /* NeuronLink, of one chip */
    bool throttles;             /* the Tensor engine is capped after idling */
    bool shared_ports; /* Vector and GpSimd take turns in SBUF, Vector and Scalar in PSUM */
};

struct instance_hardware {
    const char *name; /* "trn1.32xlarge" */
    const struct core_hardware *core;
    uint32_t chips;
    uint32_t logical_cores; /* default physical cores of a logical one: 1 or 2 */
    uint32_t family, size;  /* of nrt_get_instance_info */
};

/* NULL for an unknown instance type or generation. */
const struct instance_hardware *hardware_instance(const char *name);
const struct core_hardware *hardware_core(uint32_t version);
/* Iterates over the instance types; NULL after the last. */
const struct instance_hardware *hardware_instance_at(uint32_t index);
/* The device's clock ticks twice in a cycle of the Tensor engine, so that a cycle of every engine
 * is a whole number of ticks. */
uint32_t hardware_ticks_per_us(const struct core_hardware *core);
uint32_t hardware_cycle_ticks(const struct core_hardware *core, enum engine engine);
/* "Tensor", "Vector", "Scalar", "GpSimd", "Sync". */
const char *hardware_engine_name(enum engine engine);

#endif
