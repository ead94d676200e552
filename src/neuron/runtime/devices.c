/*
 * Devices and their memory, as nrt.h and nrt_experimental.h show them.
 */
#include "neuron/runtime/runtime.h"

#include <nrt/nrt_experimental.h>
#include <stdio.h>
#include <string.h>

static NRT_STATUS memory_stats(uint32_t vnc_index, nrt_vnc_memory_stats_t *stats, size_t size,
                               size_t *written)
{
    const struct vnc *vnc = vnc_at(vnc_index);
    if (!vnc || !stats || size == 0)
        return NRT_INVALID;
    const nrt_vnc_memory_stats_t all = {.bytes_used = vnc->used,
                                        .bytes_limit = stack_size(vnc->stack)};
    size = size < sizeof all ? size : sizeof all;
    memcpy(stats, &all, size);
    if (written)
        *written = size;
    return NRT_SUCCESS;
}

NRT_STATUS nrt_get_vnc_memory_stats(uint32_t vnc, nrt_vnc_memory_stats_t *stats,
                                    size_t stats_size_in, size_t *stats_size_out)
{
    IN_RUNTIME(memory_stats(vnc, stats, stats_size_in, stats_size_out));
}

static NRT_STATUS hbm_address(int device, int index, void **address, size_t *size)
{
    struct stack *stack =
        device >= 0 && index >= 0 ? stack_of((uint32_t)device, (uint32_t)index) : NULL;
    if (!stack || !address || !size)
        return NRT_INVALID;
    *address = stack_base(stack);
    *size = stack_size(stack);
    return *address ? NRT_SUCCESS : NRT_RESOURCE;
}

NRT_STATUS nrt_get_hbm_mmap_va(int device_id, int hbm_idx, void **addr, size_t *size)
{
    IN_RUNTIME(hbm_address(device_id, hbm_idx, addr, size));
}

static NRT_STATUS dmabuf(uint64_t address, uint64_t size, const int *fd)
{
    if (!fd || !stacks_contain((uintptr_t)address, size))
        return NRT_INVALID;
    rt_error(RT_TDRV, "memory of software devices is not exported by a driver");
    return NRT_FAILURE;
}

NRT_STATUS nrt_get_dmabuf_fd(uint64_t va, uint64_t size, int *fd)
{
    IN_RUNTIME(dmabuf(va, size, fd));
}

static NRT_STATUS efa(const void *address, const char *bdf, const size_t *length)
{
    if (!address || !bdf || !length || !stacks_contain((uintptr_t)address, 1))
        return NRT_INVALID;
    rt_error(RT_TDRV, "software devices have no EFA");
    return NRT_FAILURE;
}

NRT_STATUS nrt_get_attached_efa_bdf(const void *va, char *efa_bdf, size_t *len)
{
    IN_RUNTIME(efa(va, efa_bdf, len));
}

static NRT_STATUS host_device(int device, uint32_t *id)
{
    if (!id || device < 0 || (uint32_t)device >= settings.instance->chips)
        return NRT_INVALID;
    *id = (uint32_t)device;
    return NRT_SUCCESS;
}

NRT_STATUS nrt_host_device_id_get(int neuron_dev, uint32_t *host_device_id)
{
    IN_RUNTIME(host_device(neuron_dev, host_device_id));
}

/* *count is the room of the map, then the number of devices; without a map only that. */
static NRT_STATUS routing_ids(uint32_t *count, uint32_t *map)
{
    if (!count)
        return NRT_INVALID;
    uint32_t room = *count;
    *count = settings.instance->chips;
    if (map && room < *count)
        return NRT_RESOURCE;
    for (uint32_t i = 0; map && i < *count; i++)
        map[i] = i;
    return NRT_SUCCESS;
}

NRT_STATUS nrt_host_device_id_rid_map_get(uint32_t *count, uint32_t *host_did_to_rid_map)
{
    IN_RUNTIME(routing_ids(count, host_did_to_rid_map));
}

static NRT_STATUS copy_to_device(void *to, const void *from, size_t size)
{
    if (!to || !from || size == 0 || !stacks_contain((uintptr_t)to, size))
        return NRT_INVALID;
    memmove(to, from, size);
    return NRT_SUCCESS;
}

NRT_STATUS nrt_memcpy_to_device(void *dest, const void *src, size_t size)
{
    IN_RUNTIME(copy_to_device(dest, src, size));
}

static NRT_STATUS set_microcode(const nrt_ucode_info *info)
{
    if (!info || !info->iram.bin || !info->dram.bin)
        return NRT_INVALID;
    rt_error(RT_TDRV, "the GpSimd engine of software cores takes no microcode");
    return NRT_FAILURE;
}

NRT_STATUS nrt_set_pool_eng_ucode(const nrt_ucode_info *ucode_info)
{
    IN_RUNTIME(set_microcode(ucode_info));
}

void *nrt_get_libnccl_net(int *err, char *err_msg, size_t err_msg_size)
{
    if (err)
        *err = NRT_FAILURE;
    if (err_msg && err_msg_size > 0)
        snprintf(err_msg, err_msg_size, "software devices have no network plugin");
    return NULL;
}
