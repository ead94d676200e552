/*
 * The table of generations and instance types, from the published architecture guides. Where they
 * disagree, docs/neuroncore.md says what was chosen.
 */
#include "neuron/hardware/hardware.h"

#include <stddef.h>
#include <string.h>

#define GIB (UINT64_C(1) << 30)

static const struct core_hardware generations[] = {
    {
        .name = "NC_V2",
        .version = 2,
        .clock_mhz = {2800, 1120, 1400, 1400, 1400},
        .sbuf_bytes = 192 * 1024,
        .vector_lanes = 128,
        .vector_lanes_wide = 128,
        .scalar_lanes = 128,
        .scalar_lanes_wide = 128,
        .dma_bytes_per_us = 17000,
        .hbm_bytes_per_us = 410000,
        .hbm_bytes = 16 * GIB,
        .stacks_per_chip = 2,
        .cores_per_chip = 2,
        .cc_cores_per_chip = 6,
        .link_bytes_per_us = 384000,
        .throttles = false,
        .shared_ports = true,
    },
    {
        .name = "NC_V3",
        .version = 3,
        .clock_mhz = {2400, 960, 1200, 1200, 1200},
        .sbuf_bytes = 224 * 1024,
        .vector_lanes = 512,
        .vector_lanes_wide = 256,
        .scalar_lanes = 128,
        .scalar_lanes_wide = 128,
        .dma_bytes_per_us = 23000,
        .hbm_bytes_per_us = 725000,
        .hbm_bytes = 24 * GIB,
        .stacks_per_chip = 4,
        .cores_per_chip = 8,
        .cc_cores_per_chip = 16,
        .link_bytes_per_us = 1280000,
        .throttles = true,
        .shared_ports = false,
    },
    {
        .name = "NC_V4",
        .version = 4,
        .clock_mhz = {2400, 1200, 1200, 1200, 1200},
        .sbuf_bytes = 256 * 1024,
        .vector_lanes = 512,
        .vector_lanes_wide = 256,
        .scalar_lanes = 256,
        .scalar_lanes_wide = 128,
        .dma_bytes_per_us = 33000,
        .hbm_bytes_per_us = 1175000,
        .hbm_bytes = 36 * GIB,
        .stacks_per_chip = 4,
        .cores_per_chip = 8,
        .cc_cores_per_chip = 16,
        .link_bytes_per_us = 2560000,
        .throttles = true,
        .shared_ports = false,
    },
};
#define V2 (&generations[0])
#define V3 (&generations[1])
#define V4 (&generations[2])

/* Families and sizes as nrt_instance_info numbers them. */
static const struct instance_hardware instances[] = {
    {"trn1.2xlarge", V2, 1, 1, 2, 1},    {"trn1.32xlarge", V2, 16, 1, 2, 6},
    {"trn1n.32xlarge", V2, 16, 1, 3, 6}, {"inf2.xlarge", V2, 1, 1, 4, 0},
    {"inf2.8xlarge", V2, 1, 1, 4, 4},    {"inf2.24xlarge", V2, 6, 1, 4, 5},
    {"inf2.48xlarge", V2, 12, 1, 4, 7},  {"trn2.3xlarge", V3, 1, 2, 5, 8},
    {"trn2.48xlarge", V3, 16, 2, 5, 7},  {"trn2u.48xlarge", V3, 16, 2, 9, 7},
    {"trn3.48xlarge", V4, 16, 2, 14, 7},
};

const struct instance_hardware *hardware_instance_at(uint32_t index)
{
    return index < sizeof instances / sizeof *instances ? &instances[index] : NULL;
}

const struct instance_hardware *hardware_instance(const char *name)
{
    for (uint32_t i = 0; i < sizeof instances / sizeof *instances; i++)
        if (strcmp(instances[i].name, name) == 0)
            return &instances[i];
    return NULL;
}

const struct core_hardware *hardware_core(uint32_t version)
{
    for (size_t i = 0; i < sizeof generations / sizeof *generations; i++)
        if (generations[i].version == version)
            return &generations[i];
    return NULL;
}

uint32_t hardware_ticks_per_us(const struct core_hardware *core)
{
    return 2 * core->clock_mhz[ENGINE_TENSOR];
}

uint32_t hardware_cycle_ticks(const struct core_hardware *core, enum engine engine)
{
    return hardware_ticks_per_us(core) / core->clock_mhz[engine];
}

const char *hardware_engine_name(enum engine engine)
{
    static const char *const names[ENGINE_COUNT] = {"Tensor", "Vector", "Scalar", "GpSimd", "Sync"};
    return names[engine];
}
