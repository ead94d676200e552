/*
 * Names of a GPU recording: graphs' nodes name the operation they were made for; for launches
 * outside of graphs, the ranges of the launching thread do.
 */
#include "import/recording/gpu_names.h"

#include "import/neuron_systrace/neuron.h"
#include "import/recording/gpu_occupancy.h"

#include <stdio.h>
#include <stdlib.h>

enum { DETAILS_SIZE = 256, KIND_UNIT = 16 /* bits */ };

static const char *const key_names[GPU_KEYS] = {
    [KEY_CORRELATION] = "correlation_id",
    [KEY_KERNEL] = "kernel_details",
    [KEY_OCCUPANCY] = "theoretical_occupancy_pct",
    [KEY_COPY] = "memcpy_details",
    [KEY_SET] = "Memset_details",
    [KEY_CONTEXT] = "context_id",
    [KEY_STREAM] = "stream_id",
    [KEY_EVENT] = "cuda_event_id",
    [KEY_OPERATION] = "hlo_op",
    [KEY_MODULE] = "hlo_module",
    [KEY_PROGRAM] = "program_id",
    [KEY_NAME] = "tf_op",
    [KEY_GRAPH] = "cuda_graph_id",
    [KEY_NODE] = "cuda_graph_node_id",
    [KEY_RESULT] = "result",
    [KEY_FILE] = "source_file",
    [KEY_LINE] = "source_line",
    [KEY_ALLOCATOR] = "allocator_name",
    [KEY_BYTES] = "allocation_bytes",
    [KEY_ADDRESS] = "addr",
    [KEY_USED] = "bytes_allocated",
    [KEY_RESERVED] = "bytes_reserved",
    [KEY_DEVICE] = "index_on_host",
    [KEY_MEMORY_KIND] = "memory_kind",
    [KEY_THRESHOLD] = "release_threshold_bytes",
};

/* As XLA's tracer writes them; by CUPTI's numbers, like the others below. */
static const char *const copy_names[GPU_COPY_KINDS] = {
    "MemcpyOther", "MemcpyH2D", "MemcpyD2H", "MemcpyH2A", "MemcpyA2H", "MemcpyA2A",
    "MemcpyA2D",   "MemcpyD2A", "MemcpyD2D", "MemcpyH2H", "MemcpyP2P"};
static const char *const wait_names[GPU_WAIT_KINDS] = {"Synchronize", "Event synchronize",
                                                       "Stream wait event", "Stream synchronize",
                                                       "Context synchronize"};
static const char *const overhead_names[GPU_OVERHEAD_KINDS] = {
    "Other overhead",    "Buffer flush",          "Instrumentation",     "Resource management",
    "Module loading",    "Lazy function loading", "Command buffer full", "Activity buffer request",
    "UVM initialization"};

static const char *const pool_names[GPU_POOL_OPERATIONS] = {
    "Memory pool", "Memory pool created", "Memory pool destroyed", "Memory pool trimmed"};

/* By their ids in gpu_trace.pb: NVML's counters, and CUPTI's metrics that are sampled by default.
 * Others keep their names. */
#define OF_PEAK ".avg.pct_of_peak_sustained_elapsed"
static const struct {
    const char *id, *name;
    double divisor;
} counters[] = {
    {"power_mw", "Power (W)", 1000},
    {"sm_clock_mhz", "SM clock (MHz)", 1},
    {"memory_clock_mhz", "Memory clock (MHz)", 1},
    {"temperature_c", "Temperature (°C)", 1},
    {"memory_used_bytes", "Memory used by all processes (bytes)", 1},
    {"gpu_utilization_percent", "GPU utilization (%)", 1},
    {"memory_utilization_percent", "Memory utilization (%)", 1},
    {"pcie_tx_kb_per_s", "PCIe TX (MB/s)", 1000},
    {"pcie_rx_kb_per_s", "PCIe RX (MB/s)", 1000},
    {"nvlink_tx_bytes_per_s", "NVLink TX (MB/s)", 1e6},
    {"nvlink_rx_bytes_per_s", "NVLink RX (MB/s)", 1e6},
    {"sm__cycles_active" OF_PEAK, "SM active (%)", 1},
    {"sm__pipe_tensor_cycles_active" OF_PEAK, "Tensor cores active (%)", 1},
    {"sm__inst_executed_pipe_tensor" OF_PEAK, "Tensor cores active (%)", 1},
    {"sm__warps_active" OF_PEAK, "Warps in flight (% of most)", 1},
    {"tpc__warps_active_shader_cs_realtime" OF_PEAK, "Warps in flight (% of most)", 1},
    {"sm__inst_executed" OF_PEAK, "SM instructions (% of most)", 1},
    {"dram__bytes_read.sum.per_second", "DRAM read (GB/s)", 1e9},
    {"dram__bytes_write.sum.per_second", "DRAM write (GB/s)", 1e9},
    {"pcie__read_bytes.sum.per_second", "PCIe read (GB/s)", 1e9},
    {"pcie__write_bytes.sum.per_second", "PCIe write (GB/s)", 1e9},
    {"nvlrx__bytes.sum.per_second", "NVLink received (GB/s)", 1e9},
    {"nvltx__bytes.sum.per_second", "NVLink sent (GB/s)", 1e9},
};

struct text gpu_counter_name(struct text id, double *divisor)
{
    *divisor = 1;
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        if (text_equal(id, text_of(counters[i].id))) {
            *divisor = counters[i].divisor;
            return text_of(counters[i].name);
        }
    return id;
}

/* ---- Types --------------------------------------------------------------------------------- */

static uint32_t type_of(struct recording *recording, struct text name)
{
    struct catalog *catalog = &recording->base.source.catalog;
    return named_type(catalog, &recording->base.types, catalog_string(catalog, name));
}

static void name_kernels(struct gpu_names *names, const struct gpu_file *file,
                         struct recording *recording)
{
    size_t count = file->shapes.count;
    names->kernels = mem_zeroed(count, sizeof *names->kernels);
    names->kernel_details = mem_zeroed(count, sizeof *names->kernel_details);
    names->occupancies = mem_zeroed(count, sizeof *names->occupancies);
    for (size_t i = 1; i < count; i++) {
        const struct gpu_shape *shape = &file->shapes.items[i];
        char text[DETAILS_SIZE];
        if (file->devices.count > 0)
            names->occupancies[i] = gpu_occupancy(&file->devices.items[0], shape);
        snprintf(text, sizeof text,
                 "regs:%u static_shared:%u dynamic_shared:%u grid:%u,%u,%u block:%u,%u,%u "
                 "occ_pct:%g",
                 shape->registers, shape->static_shared, shape->dynamic_shared, shape->grid[0],
                 shape->grid[1], shape->grid[2], shape->block[0], shape->block[1], shape->block[2],
                 names->occupancies[i]);
        names->kernels[i] = type_of(recording, gpu_text(file, shape->name));
        names->kernel_details[i] = catalog_string(&recording->base.source.catalog, text_of(text));
    }
}

static void name_contexts(struct gpu_names *names, const struct gpu_file *file,
                          struct catalog *catalog)
{
    names->contexts = mem_zeroed(file->streams.count, sizeof *names->contexts);
    for (size_t i = 0; i < file->streams.count; i++) {
        char text[DETAILS_SIZE];
        snprintf(text, sizeof text, "$$%u", file->streams.items[i].context);
        names->contexts[i] = catalog_string(catalog, text_of(text));
    }
}

static void name_types(struct gpu_names *names, const struct gpu_file *file,
                       struct recording *recording)
{
    for (size_t i = 0; i < GPU_KEYS; i++)
        names->keys[i] = catalog_key(&recording->base.source.catalog, text_of(key_names[i]));
    for (size_t i = 0; i < GPU_COPY_KINDS; i++)
        names->copies[i] = type_of(recording, text_of(copy_names[i]));
    for (size_t i = 0; i < GPU_WAIT_KINDS; i++)
        names->waits[i] = type_of(recording, text_of(wait_names[i]));
    for (size_t i = 0; i < GPU_OVERHEAD_KINDS; i++)
        names->overheads[i] = type_of(recording, text_of(overhead_names[i]));
    names->graph = type_of(recording, TEXT("CUDA graph"));
    names->window = type_of(recording, TEXT("GPUs are recorded"));
    names->memory = type_of(recording, TEXT("GPU memory"));
    names->allocation = type_of(recording, TEXT("MemoryAllocation"));
    names->release = type_of(recording, TEXT("MemoryDeallocation"));
    for (size_t i = 0; i < GPU_POOL_OPERATIONS; i++)
        names->pools[i] = type_of(recording, text_of(pool_names[i]));
    names->calls = mem_zeroed(file->texts.count, sizeof *names->calls);
    names->sets = mem_zeroed(GPU_SET_VALUES + 1, sizeof *names->sets);
}

/* Version suffixes of the runtime's functions are dropped: cudaLaunchKernel_v7000. */
uint32_t gpu_call_type(struct gpu_names *names, const struct gpu_file *file,
                       struct recording *recording, uint64_t text)
{
    uint64_t id = text < file->texts.count ? text : 0;
    if (names->calls[id] == 0) {
        struct text name = gpu_text(file, id);
        const char *version = name.size > 4 && memcmp(name.data, "cuda", 4) == 0
                                  ? memmem(name.data, name.size, "_v", 2)
                                  : NULL;
        if (version)
            name.size = (size_t)(version - name.data);
        names->calls[id] = type_of(recording, name);
    }
    return names->calls[id];
}

uint32_t gpu_set_type(struct gpu_names *names, struct recording *recording, uint64_t value)
{
    uint64_t id = value < GPU_SET_VALUES ? value : GPU_SET_VALUES;
    if (names->sets[id] == 0) {
        char text[DETAILS_SIZE] = "Memset";
        if (id < GPU_SET_VALUES)
            snprintf(text, sizeof text, "Memset %u", (unsigned)id);
        names->sets[id] = type_of(recording, text_of(text));
    }
    return names->sets[id];
}

/* The driver's compiler: 1; CUPTI: multiples of 65,536. */
uint32_t gpu_overhead_type(const struct gpu_names *names, uint64_t kind)
{
    uint64_t id = kind >> KIND_UNIT;
    return names->overheads[id < GPU_OVERHEAD_KINDS ? id : 0];
}

/* ---- Operations ---------------------------------------------------------------------------- */

static uint64_t number_of(struct text text)
{
    uint64_t number = 0;
    for (size_t i = 0; i < text.size && text.data[i] >= '0' && text.data[i] <= '9'; i++)
        number = number * 10 + (uint64_t)(text.data[i] - '0');
    return number;
}

static uint32_t string_of(struct catalog *catalog, struct text range, const char *key)
{
    struct text value = xla_range_value(range, key);
    return value.size > 0 ? catalog_string(catalog, value) : STRING_NONE;
}

static struct gpu_operation operation_of(struct catalog *catalog, struct text operation,
                                         struct text module)
{
    return (struct gpu_operation){
        .operation = string_of(catalog, operation, "hlo_op="),
        .name = string_of(catalog, operation, "name="),
        .module = string_of(catalog, module, "hlo_module="),
        .program = number_of(xla_range_value(module, "program_id=")),
    };
}

/* A node was made within an operation's range, its copy within that of the module. */
static void name_nodes(struct gpu_names *names, const struct gpu_file *file,
                       struct catalog *catalog)
{
    names->nodes = mem_zeroed(file->nodes.count, sizeof *names->nodes);
    for (size_t i = 0; i < file->nodes.count; i++) {
        struct text operation, module;
        gpu_node_ranges(file, (uint32_t)i, &operation, &module);
        names->nodes[i] = operation_of(catalog, operation, module);
    }
}

struct launch_pass {
    struct gpu_names *names;
    struct catalog *catalog;
    const struct process *process;
    struct idmap lane_by_thread;
    struct xla_moment last;
};

static bool is_same(const struct xla_moment *a, const struct xla_moment *b)
{
    return a->operation == b->operation && a->module == b->module &&
           a->source.file == b->source.file && a->source.line == b->source.line;
}

static bool name_launch(void *context, enum gpu_table table, const uint64_t *v)
{
    struct launch_pass *pass = context;
    struct gpu_names *names = pass->names;
    uint32_t lane;
    if (table != GPU_CALLS || (lane = idmap_get(&pass->lane_by_thread, v[3])) == IDMAP_NONE)
        return true;
    int64_t time_ns = clock_fit_host_ns(&pass->process->monotonic, (int64_t)v[0]);
    struct xla_moment moment = xla_ranges_at(&pass->process->ranges, lane, time_ns);
    if (!moment.operation && !moment.module && !moment.source.file)
        return true;
    if (!is_same(&moment, &pass->last)) {
        struct gpu_operation *launch = array_push(&names->launches);
        *launch = operation_of(pass->catalog, catalog_text(pass->catalog, moment.operation),
                               catalog_text(pass->catalog, moment.module));
        launch->source = moment.source;
    }
    pass->last = moment;
    idmap_put(&names->call_by_correlation, v[4], (uint32_t)names->launches.count - 1);
    return true;
}

static void name_launches(struct gpu_names *names, const struct gpu_file *file,
                          struct catalog *catalog, const struct process *process)
{
    struct launch_pass pass = {.names = names, .catalog = catalog, .process = process};
    for (uint32_t i = 0; i < process->events.lanes.count; i++)
        if (!process->events.lanes.items[i].is_core)
            idmap_put(&pass.lane_by_thread, process->events.lanes.items[i].thread, i);
    gpu_file_walk(file, name_launch, &pass);
    idmap_free(&pass.lane_by_thread);
}

const struct gpu_operation *gpu_operation_of(const struct gpu_names *names,
                                             const struct gpu_file *file, uint64_t node,
                                             uint64_t correlation)
{
    uint32_t index = node ? idmap_get(&file->node_by_id, node) : IDMAP_NONE;
    if (index != IDMAP_NONE)
        return &names->nodes[index];
    index = idmap_get(&names->call_by_correlation, correlation);
    return index != IDMAP_NONE ? &names->launches.items[index] : NULL;
}

void gpu_names_read(struct gpu_names *names, const struct gpu_file *file,
                    struct recording *recording, const struct process *process)
{
    struct catalog *catalog = &recording->base.source.catalog;
    name_types(names, file, recording);
    name_kernels(names, file, recording);
    name_contexts(names, file, catalog);
    name_nodes(names, file, catalog);
    name_launches(names, file, catalog, process);
}

void gpu_names_free(struct gpu_names *names)
{
    mem_free(names->kernels);
    mem_free(names->kernel_details);
    mem_free(names->occupancies);
    mem_free(names->contexts);
    mem_free(names->calls);
    mem_free(names->sets);
    mem_free(names->nodes);
    idmap_free(&names->call_by_correlation);
    array_free(&names->launches);
}
