/*
 * Occupancy of a kernel: the number of its blocks that a multiprocessor holds, limited by warps,
 * registers, shared memory and slots, as NVIDIA's programming guide defines it for compute
 * capability 7.0 and later.
 */
#include "import/recording/gpu_occupancy.h"

enum {
    REGISTER_UNIT = 256, /* registers of a warp are allocated in these */
    WARP_UNIT = 4,       /* warps that registers are left for: as many for each scheduler */
    SHARED_UNIT = 128,
    RESERVED_SHARED = 1024, /* of each block, from compute capability 8.0 on */
};

static uint32_t round_up(uint32_t value, uint32_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t blocks_by_registers(const struct gpu_device *device, uint32_t registers,
                                    uint32_t warps)
{
    uint32_t of_warp = round_up(registers * device->warp_threads, REGISTER_UNIT);
    if (of_warp == 0)
        return device->blocks;
    uint32_t most_warps = device->registers / of_warp / WARP_UNIT * WARP_UNIT;
    return most_warps / warps;
}

static uint32_t blocks_by_shared(const struct gpu_device *device, const struct gpu_shape *shape)
{
    uint64_t bytes = (uint64_t)shape->static_shared + shape->dynamic_shared +
                     (device->compute_major >= 8 ? RESERVED_SHARED : 0);
    bytes = (bytes + SHARED_UNIT - 1) / SHARED_UNIT * SHARED_UNIT;
    return bytes ? (uint32_t)(device->shared / bytes) : device->blocks;
}

double gpu_occupancy(const struct gpu_device *device, const struct gpu_shape *shape)
{
    uint64_t threads = (uint64_t)shape->block[0] * shape->block[1] * shape->block[2];
    if (device->warp_threads == 0 || device->warps == 0 || threads == 0 || threads > 1024)
        return 0;
    uint32_t warps = (uint32_t)((threads + device->warp_threads - 1) / device->warp_threads);
    uint32_t blocks = least(device->blocks, device->warps / warps);
    blocks = least(blocks, blocks_by_registers(device, shape->registers, warps));
    blocks = least(blocks, blocks_by_shared(device, shape));
    return 100.0 * (double)(blocks * warps) / (double)device->warps;
}
