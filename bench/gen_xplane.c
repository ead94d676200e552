/*
 * Makes XPlane files of any size, shaped like a JAX training run on GPUs: a Python thread with step
 * annotations, allocations and kernel launches, and streams of kernels with the stats CUPTI leaves.
 *
 *     gen_xplane --steps 1000 --devices 1 out.xplane.pb      (1.27 million events, 115 MB)
 */
#include "wire/wire.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    KERNELS_PER_STEP = 768,
    LAUNCHES_PER_STEP = 64, /* the others are nodes of CUDA graphs */
    PYTHON_CALLS_PER_STEP = 287,
    ALLOCATIONS_PER_STEP = 150,
    KERNEL_NAMES = 120,
    PYTHON_NAMES = 600,
    STEP_PS = 60000000 /* 60 us of virtual time for each kernel slot */
};

/* Stat names, by metadata id from 1. */
static const char *const stat_names[] = {
    "correlation_id", "scope_range_id", "context_id", "cuda_graph_id", "cuda_graph_node_id",
    "theoretical_occupancy_pct", "occupancy_min_grid_size", "occupancy_suggested_block_size",
    "kernel_details", "tf_op", "hlo_op", "hlo_module", "program_id", "_r", "step_num",
    "allocator_name", "bytes_reserved", "bytes_allocated", "bytes_available", "peak_bytes_in_use",
    "requested_bytes", "allocation_bytes", "addr", "id", "data_type", "_src", "device_id",
    "process_id", "profile_start_time", "profile_stop_time", "run_id",
    /* texts that others refer to */
    "regs:128 static_shared:0 dynamic_shared:98304 grid:2048,1,1 block:128,1,1 occ_pct:25",
    "XlaModule:", "command_buffer_1", "jit_train_step", "xla_gpu_host_bfc",
    "external/xla+/xla/tsl/framework/bfc_allocator.cc"};
enum { STAT_COUNT = sizeof stat_names / sizeof *stat_names };

static uint64_t stat_id(const char *name)
{
    for (uint64_t i = 0; i < STAT_COUNT; i++)
        if (strcmp(stat_names[i], name) == 0)
            return i + 1;
    abort();
}

enum {
    XSTAT_ID = 1,
    XSTAT_DOUBLE = 2,
    XSTAT_UINT = 3,
    XSTAT_INT = 4,
    XSTAT_STR = 5,
    XSTAT_REF = 7
};

static void put_stat(struct output *out, uint32_t field, const char *name, uint32_t kind,
                     uint64_t value)
{
    size_t mark = pb_begin(out, field);
    pb_put_varint(out, XSTAT_ID, stat_id(name));
    pb_put_varint(out, kind, value);
    pb_end(out, mark);
}

static void put_stat_ref(struct output *out, uint32_t field, const char *name, const char *text)
{
    put_stat(out, field, name, XSTAT_REF, stat_id(text));
}

enum { XEVENT_ID = 1, XEVENT_OFFSET = 2, XEVENT_DURATION = 3, XEVENT_STATS = 4 };

static size_t begin_event(struct output *out, uint64_t id, uint64_t offset, uint64_t duration)
{
    size_t mark = pb_begin(out, 4);
    pb_put_varint(out, XEVENT_ID, id);
    pb_put_varint(out, XEVENT_OFFSET, offset);
    pb_put_varint(out, XEVENT_DURATION, duration);
    return mark;
}

static void put_kernel(struct output *out, uint64_t step, uint64_t kernel, uint64_t correlation,
                       uint64_t offset)
{
    size_t mark = begin_event(out, 1 + kernel % KERNEL_NAMES, offset, 20000000 + kernel * 1000);
    put_stat(out, XEVENT_STATS, "correlation_id", XSTAT_UINT, correlation);
    put_stat(out, XEVENT_STATS, "scope_range_id", XSTAT_INT, 281474976710658u + step);
    size_t context = pb_begin(out, XEVENT_STATS);
    pb_put_varint(out, XSTAT_ID, stat_id("context_id"));
    pb_put_text(out, XSTAT_STR, TEXT("$$1"));
    pb_end(out, context);
    put_stat(out, XEVENT_STATS, "cuda_graph_id", XSTAT_UINT, 66);
    put_stat(out, XEVENT_STATS, "cuda_graph_node_id", XSTAT_UINT, 283467841536u + kernel);
    size_t occupancy = pb_begin(out, XEVENT_STATS);
    pb_put_varint(out, XSTAT_ID, stat_id("theoretical_occupancy_pct"));
    pb_put_double(out, XSTAT_DOUBLE, 25.0);
    pb_end(out, occupancy);
    put_stat(out, XEVENT_STATS, "occupancy_min_grid_size", XSTAT_INT, 264);
    put_stat(out, XEVENT_STATS, "occupancy_suggested_block_size", XSTAT_INT, 1024);
    put_stat_ref(out, XEVENT_STATS, "kernel_details", stat_names[31]);
    put_stat_ref(out, XEVENT_STATS, "tf_op", "XlaModule:");
    put_stat_ref(out, XEVENT_STATS, "hlo_op", "command_buffer_1");
    put_stat_ref(out, XEVENT_STATS, "hlo_module", "jit_train_step");
    put_stat(out, XEVENT_STATS, "program_id", XSTAT_INT, 15913);
    pb_end(out, mark);
}

static void put_allocation(struct output *out, uint64_t number, uint64_t offset)
{
    static const char *const numbers[] = {"bytes_reserved",
                                          "bytes_allocated",
                                          "bytes_available",
                                          "peak_bytes_in_use",
                                          "requested_bytes",
                                          "allocation_bytes",
                                          "addr",
                                          "id",
                                          "data_type"};
    size_t mark = begin_event(out, 2, offset, 0);
    put_stat_ref(out, XEVENT_STATS, "allocator_name", "xla_gpu_host_bfc");
    for (uint64_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        put_stat(out, XEVENT_STATS, numbers[i], XSTAT_INT, i < 7 ? number * 4096 << i : 0);
    put_stat_ref(out, XEVENT_STATS, "_src", stat_names[36]);
    pb_end(out, mark);
}

static void put_map_entry(struct output *out, uint32_t field, uint64_t key, const char *name)
{
    size_t entry = pb_begin(out, field);
    pb_put_varint(out, 1, key);
    size_t value = pb_begin(out, 2);
    pb_put_varint(out, 1, key);
    pb_put_text(out, 2, text_of(name));
    pb_end(out, value);
    pb_end(out, entry);
}

static void put_stat_names(struct output *out)
{
    for (uint64_t i = 0; i < STAT_COUNT; i++)
        put_map_entry(out, 5, i + 1, stat_names[i]);
}

static size_t begin_line(struct output *out, uint64_t id, const char *name)
{
    size_t mark = pb_begin(out, 3);
    pb_put_varint(out, 1, id);
    pb_put_text(out, 2, text_of(name));
    pb_put_varint(out, 3, 20669249);
    return mark;
}

static void write_plane(struct output *file, struct output *plane)
{
    size_t size = plane->size;
    char head[16];
    size_t at = 0;
    head[at++] = 0x0A;
    for (; size >= 0x80; size >>= 7)
        head[at++] = (char)(size | 0x80);
    head[at++] = (char)size;
    output_write(file, head, at);
    output_write(file, plane->data, plane->size);
    plane->size = 0;
}

static uint64_t step_start(uint64_t step)
{
    return step * KERNELS_PER_STEP * (uint64_t)STEP_PS;
}

static void make_device(struct output *plane, uint64_t device, uint64_t devices, uint64_t steps)
{
    char name[64];
    snprintf(name, sizeof name, "/device:GPU:%llu", (unsigned long long)device);
    pb_put_text(plane, 2, text_of(name));
    size_t line = begin_line(plane, 14, "Stream #14(Compute,Memset)");
    for (uint64_t step = 0; step < steps; step++)
        for (uint64_t kernel = 0; kernel < KERNELS_PER_STEP; kernel++) {
            uint64_t launch = kernel * LAUNCHES_PER_STEP / KERNELS_PER_STEP;
            uint64_t correlation = 1 + (step * devices + device) * LAUNCHES_PER_STEP + launch;
            put_kernel(plane, step, kernel, correlation,
                       step_start(step) + (kernel + 20) * (uint64_t)STEP_PS);
        }
    pb_end(plane, line);
    for (uint64_t i = 0; i < KERNEL_NAMES; i++) {
        snprintf(name, sizeof name, "loop_multiply_fusion_%llu", (unsigned long long)i);
        put_map_entry(plane, 4, i + 1, name);
    }
    put_stat_names(plane);
    put_stat(plane, 6, "process_id", XSTAT_INT, 1210);
}

static void make_host(struct output *plane, uint64_t devices, uint64_t steps)
{
    pb_put_text(plane, 2, TEXT("/host:CPU"));
    size_t line = begin_line(plane, 1210, "python3");
    for (uint64_t step = 0; step < steps; step++) {
        uint64_t start = step_start(step), slot = STEP_PS;
        size_t root = begin_event(plane, 1, start, (KERNELS_PER_STEP - 1) * slot);
        put_stat(plane, XEVENT_STATS, "_r", XSTAT_INT, 1);
        put_stat(plane, XEVENT_STATS, "step_num", XSTAT_INT, step);
        pb_end(plane, root);
        uint64_t at = start + 1000;
        for (uint64_t i = 0; i < PYTHON_CALLS_PER_STEP; i++, at += 4000000)
            pb_end(plane, begin_event(plane, 10 + (step + i) % PYTHON_NAMES, at, 3000000));
        for (uint64_t i = 0; i < ALLOCATIONS_PER_STEP; i++, at += 2000000)
            put_allocation(plane, i, at);
        for (uint64_t i = 0; i < LAUNCHES_PER_STEP * devices; i++, at += 5000000) {
            size_t launch = begin_event(plane, 3, at, 4000000);
            put_stat(plane, XEVENT_STATS, "device_id", XSTAT_INT, i / LAUNCHES_PER_STEP);
            put_stat(plane, XEVENT_STATS, "correlation_id", XSTAT_UINT,
                     1 + step * devices * LAUNCHES_PER_STEP + i);
            pb_end(plane, launch);
        }
    }
    pb_end(plane, line);
    put_map_entry(plane, 4, 1, "train");
    put_map_entry(plane, 4, 2, "MemoryAllocation");
    put_map_entry(plane, 4, 3, "cuGraphLaunch");
    for (uint64_t i = 0; i < PYTHON_NAMES; i++) {
        char name[64];
        snprintf(name, sizeof name, "$model.py:%llu call_%llu", (unsigned long long)(i * 7),
                 (unsigned long long)i);
        put_map_entry(plane, 4, 10 + i, name);
    }
    put_stat_names(plane);
    put_stat(plane, 6, "process_id", XSTAT_INT, 1210);
}

static void make_environment(struct output *plane)
{
    pb_put_text(plane, 2, TEXT("Task Environment"));
    put_stat_names(plane);
    put_stat(plane, 6, "profile_start_time", XSTAT_UINT, 1794700943630539712u);
    put_stat(plane, 6, "profile_stop_time", XSTAT_UINT, 1794700983630539712u);
}

int main(int count, char **arguments)
{
    uint64_t steps = 1000, devices = 1;
    const char *path = NULL;
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "--steps") == 0 && i + 1 < count)
            steps = strtoull(arguments[++i], NULL, 10);
        else if (strcmp(arguments[i], "--devices") == 0 && i + 1 < count)
            devices = strtoull(arguments[++i], NULL, 10);
        else
            path = arguments[i];
    }
    if (!path) {
        fprintf(stderr, "usage: gen_xplane [--steps N] [--devices N] FILE\n");
        return 2;
    }
    struct error err;
    struct output file, plane;
    char line[ERROR_LINE_SIZE];
    if (!output_open(&file, path, &err))
        return fprintf(stderr, "%s\n", error_line(&err, line)), 1;
    output_memory(&plane);
    for (uint64_t device = 0; device < devices; device++) {
        make_device(&plane, device, devices, steps);
        write_plane(&file, &plane);
    }
    make_host(&plane, devices, steps);
    write_plane(&file, &plane);
    make_environment(&plane);
    write_plane(&file, &plane);
    pb_put_text(&plane, 4, TEXT("bench"));
    output_write(&file, plane.data, plane.size);
    output_discard(&plane);
    if (!output_commit(&file, &err))
        return fprintf(stderr, "%s\n", error_line(&err, line)), 1;
    return 0;
}
