/*
 * Streams and calls of a GPU recording. Kernels name the operation they were launched for where a
 * graph's node tells it; for launches outside of graphs, the ranges of the launching thread do.
 */
#include "import/recording/gpu.h"

#include "import/neuron/neuron.h"
#include "import/recording/xla_ranges.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { DETAILS_SIZE = 256 };
enum key {
    KEY_CORRELATION,
    KEY_KERNEL,
    KEY_COPY,
    KEY_SET,
    KEY_CONTEXT,
    KEY_OPERATION,
    KEY_MODULE,
    KEY_PROGRAM,
    KEY_NAME,
    KEY_GRAPH,
    KEY_NODE,
    KEY_RESULT,
    KEYS
};
static const char *const key_names[KEYS] = {
    "correlation_id", "kernel_details", "memcpy_details", "memset_details",
    "context_id",     "hlo_op",         "hlo_module",     "program_id",
    "tf_op",          "cuda_graph_id",  "cuda_graph_node_id", "result"};

/* Names of copies as XLA's tracer writes them, by CUPTI's kind. */
static const char *const copy_names[] = {"MemcpyOther", "MemcpyH2D", "MemcpyD2H", "MemcpyH2A",
                                         "MemcpyA2H",   "MemcpyA2A", "MemcpyA2D", "MemcpyD2A",
                                         "MemcpyD2D",   "MemcpyH2H", "MemcpyP2P"};
static const char *const memory_kinds[] = {"unknown", "pageable", "pinned",         "device",
                                           "array",   "managed",  "device_static", "managed_static"};
static const char *const wait_names[] = {"Synchronize", "Event synchronize", "Stream wait event",
                                         "Stream synchronize", "Context synchronize"};

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* What an NVTX range of XLA says: "Thunk:#name=...,hlo_op=...#", "XlaModule:#hlo_module=...#". */
struct operation_names {
    uint32_t operation, name, module; /* strings, 0 for none */
    uint64_t program;
};

struct gpu {
    struct gpu_file file;
    uint32_t keys[KEYS];
    uint32_t *stream_tracks;                    /* by stream; TRACK_NONE until it has an event */
    uint32_t *shape_types, *shape_details;      /* by shape */
    uint32_t copy_types[COUNT(copy_names)], set_type, wait_types[COUNT(wait_names)], graph_type;
    uint32_t *text_types;                       /* of calls, by text; 0 until known */
    struct operation_names *node_operations;    /* of graphs' nodes, by index */
    struct idmap call_by_correlation;
    ARRAY(struct operation_names) call_operations;
};

/* ---- Names --------------------------------------------------------------------------------- */

/* The C++ name of a symbol; demangling needs the C++ library, which may be missing. */
static char *demangled(const char *name)
{
    static char *(*demangle)(const char *, char *, size_t *, int *);
    static bool was_sought;
    int status;
    if (!was_sought) {
        void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
        demangle = library ? (char *(*)(const char *, char *, size_t *, int *))dlsym(
                                 library, "__cxa_demangle")
                           : NULL;
        was_sought = true;
    }
    return demangle && strncmp(name, "_Z", 2) == 0 ? demangle(name, NULL, NULL, &status) : NULL;
}

static uint32_t kernel_type(struct recording *recording, struct text symbol)
{
    struct catalog *catalog = &recording->base.source.catalog;
    char *name = mem_copy_text(symbol.data, symbol.size);
    char *plain = demangled(name);
    uint32_t string = catalog_string(catalog, plain ? text_of(plain) : symbol);
    free(plain); /* from the C++ library */
    mem_free(name);
    return named_type(catalog, &recording->base.types, string);
}

static uint32_t plain_type(struct recording *recording, const char *name)
{
    struct catalog *catalog = &recording->base.source.catalog;
    return named_type(catalog, &recording->base.types, catalog_string(catalog, text_of(name)));
}

static const struct gpu_device *device_of(const struct gpu_file *file, uint32_t id)
{
    const struct gpu_device *device;
    array_each (device, &file->devices)
        if (device->id == id)
            return device;
    return NULL;
}

static uint32_t shape_details(struct recording *recording, const struct gpu_file *file,
                              const struct gpu_shape *shape)
{
    char text[DETAILS_SIZE];
    const struct gpu_device *device = device_of(file, 0);
    snprintf(text, sizeof text,
             "regs:%u static_shared:%u dynamic_shared:%u grid:%u,%u,%u block:%u,%u,%u occ_pct:%g",
             shape->registers, shape->static_shared, shape->dynamic_shared, shape->grid[0],
             shape->grid[1], shape->grid[2], shape->block[0], shape->block[1], shape->block[2],
             device ? gpu_occupancy(device, shape) : 0);
    return catalog_string(&recording->base.source.catalog, text_of(text));
}

static uint64_t number_of(struct text text)
{
    uint64_t number = 0;
    for (size_t i = 0; i < text.size && text.data[i] >= '0' && text.data[i] <= '9'; i++)
        number = number * 10 + (uint64_t)(text.data[i] - '0');
    return number;
}

/* An operation's range has its names, the module's range that of the program. */
static struct operation_names operation_names(struct catalog *catalog, struct text operation,
                                              struct text module)
{
    struct text hlo_op = xla_range_value(operation, "hlo_op=");
    struct text name = xla_range_value(operation, "name=");
    struct text hlo_module = xla_range_value(module, "hlo_module=");
    return (struct operation_names){
        .operation = hlo_op.size > 0 ? catalog_string(catalog, hlo_op) : STRING_NONE,
        .name = name.size > 0 ? catalog_string(catalog, name) : STRING_NONE,
        .module = hlo_module.size > 0 ? catalog_string(catalog, hlo_module) : STRING_NONE,
        .program = number_of(xla_range_value(module, "program_id=")),
    };
}

/* ---- Opening ------------------------------------------------------------------------------- */

static void name_types(struct gpu *gpu, struct recording *recording)
{
    struct catalog *catalog = &recording->base.source.catalog;
    struct gpu_file *file = &gpu->file;
    for (size_t i = 0; i < KEYS; i++)
        gpu->keys[i] = catalog_key(catalog, text_of(key_names[i]));
    gpu->stream_tracks = mem_alloc(file->streams.count * sizeof *gpu->stream_tracks);
    for (size_t i = 0; i < file->streams.count; i++)
        gpu->stream_tracks[i] = TRACK_NONE;
    gpu->shape_types = mem_zeroed(file->shapes.count, sizeof *gpu->shape_types);
    gpu->shape_details = mem_zeroed(file->shapes.count, sizeof *gpu->shape_details);
    for (size_t i = 1; i < file->shapes.count; i++) {
        const struct gpu_shape *shape = &file->shapes.items[i];
        gpu->shape_types[i] = kernel_type(recording, gpu_text(file, shape->name));
        gpu->shape_details[i] = shape_details(recording, file, shape);
    }
    gpu->text_types = mem_zeroed(file->texts.count, sizeof *gpu->text_types);
    for (size_t i = 0; i < COUNT(copy_names); i++)
        gpu->copy_types[i] = plain_type(recording, copy_names[i]);
    for (size_t i = 0; i < COUNT(wait_names); i++)
        gpu->wait_types[i] = plain_type(recording, wait_names[i]);
    gpu->set_type = plain_type(recording, "Memset");
    gpu->graph_type = plain_type(recording, "CUDA graph");
}

static void name_nodes(struct gpu *gpu, struct catalog *catalog)
{
    gpu->node_operations = mem_zeroed(gpu->file.nodes.count, sizeof *gpu->node_operations);
    for (size_t i = 0; i < gpu->file.nodes.count; i++) {
        struct text operation, module;
        gpu_node_ranges(&gpu->file, (uint32_t)i, &operation, &module);
        gpu->node_operations[i] = operation_names(catalog, operation, module);
    }
}

/* The operations that were under way when calls launched work. */
struct call_pass {
    struct gpu *gpu;
    struct recording *recording;
    const struct process *process;
    uint64_t known_operation, known_module; /* strings of the last one */
};

static uint32_t lane_of_thread(const struct process *process, uint64_t thread)
{
    for (uint32_t i = 0; i < process->events.lanes.count; i++)
        if (process->events.lanes.items[i].thread == thread)
            return i;
    return UINT32_MAX;
}

static bool name_call(void *context, enum gpu_table table, const uint64_t *v)
{
    struct call_pass *pass = context;
    struct gpu *gpu = pass->gpu;
    struct catalog *catalog = &pass->recording->base.source.catalog;
    if (table != GPU_CALLS)
        return true;
    int64_t time_ns = clock_fit_host_ns(&pass->process->monotonic, (int64_t)v[0]);
    struct xla_moment moment =
        xla_ranges_at(&pass->process->ranges, lane_of_thread(pass->process, v[3]), time_ns);
    if (!moment.operation && !moment.module)
        return true;
    if (moment.operation != pass->known_operation || moment.module != pass->known_module) {
        *array_push(&gpu->call_operations) =
            operation_names(catalog, catalog_text(catalog, moment.operation),
                            catalog_text(catalog, moment.module));
        pass->known_operation = moment.operation;
        pass->known_module = moment.module;
    }
    idmap_put(&gpu->call_by_correlation, v[4], (uint32_t)gpu->call_operations.count - 1);
    return true;
}

struct gpu *gpu_open(struct recording *recording, uint32_t number, struct error *err)
{
    struct gpu *gpu = mem_zeroed(1, sizeof *gpu);
    struct process *process = &recording->processes.items[number];
    struct pb_reader failed;
    gpu->file.data = process->gpu_file.data;
    gpu->file.size = process->gpu_file.size;
    bool ok = gpu_file_read(&gpu->file, &failed);
    if (ok) {
        struct call_pass pass = {.gpu = gpu, .recording = recording, .process = process};
        name_types(gpu, recording);
        name_nodes(gpu, &recording->base.source.catalog);
        ok = gpu_file_walk(&gpu->file, name_call, &pass, &failed);
    }
    if (ok)
        return gpu;
    error_set(err, "the recording is damaged: gpu_trace.pb: byte %llu: %s",
              (unsigned long long)(failed.at - gpu->file.data), failed.problem);
    gpu_close(gpu);
    return NULL;
}

void gpu_close(struct gpu *gpu)
{
    if (!gpu)
        return;
    gpu_file_free(&gpu->file);
    idmap_free(&gpu->call_by_correlation);
    array_free(&gpu->call_operations);
    mem_free(gpu->stream_tracks);
    mem_free(gpu->shape_types);
    mem_free(gpu->shape_details);
    mem_free(gpu->text_types);
    mem_free(gpu->node_operations);
    mem_free(gpu);
}

/* ---- Events -------------------------------------------------------------------------------- */

struct gpu_pass {
    struct gpu *gpu;
    const struct gpu_target *target;
    const struct process *process;
};

static void add_number(const struct gpu_pass *pass, enum key key, uint64_t value)
{
    arg_put(array_push(&pass->target->pusher->args), pass->gpu->keys[key], ARG_UINT, 0, value);
}

static void add_string(const struct gpu_pass *pass, enum key key, uint32_t string)
{
    if (string != STRING_NONE)
        arg_put(array_push(&pass->target->pusher->args), pass->gpu->keys[key], ARG_STRING, 0,
                string);
}

static void add_text(const struct gpu_pass *pass, enum key key, const char *text)
{
    struct pusher *pusher = pass->target->pusher;
    size_t size = strlen(text);
    char *kept = arena_alloc(&pusher->texts, size);
    memcpy(kept, text, size);
    arg_put(array_push(&pusher->args), pass->gpu->keys[key], ARG_TEXT, (uint32_t)size,
            (uint64_t)(uintptr_t)kept);
}

static bool put(const struct gpu_pass *pass, uint32_t track, uint32_t type, const uint64_t *v)
{
    const struct gpu_target *target = pass->target;
    int64_t start = clock_fit_host_ns(&pass->process->monotonic, (int64_t)v[0]);
    int64_t end = add_saturated(start, v[1] < INT64_MAX ? (int64_t)v[1] : INT64_MAX);
    return recording_put(target->recording, target->number, target->pusher, track, type, start, end,
                         target->err);
}

/* The lane of a stream, made with its first event. */
static uint32_t stream_track(const struct gpu_pass *pass, uint64_t id)
{
    struct gpu *gpu = pass->gpu;
    if (id >= gpu->file.streams.count)
        id = 0;
    if (gpu->stream_tracks[id] != TRACK_NONE || pass->target->pusher)
        return gpu->stream_tracks[id];
    struct catalog *catalog = &pass->target->recording->base.source.catalog;
    const struct gpu_stream *stream = &gpu->file.streams.items[id];
    char name[64];
    snprintf(name, sizeof name, "/device:GPU:%u", stream->device);
    uint32_t source = named_source(catalog, pass->process->track, SOURCE_DEVICE, text_of(name));
    snprintf(name, sizeof name, "Stream #%u", stream->stream);
    struct track *lane = catalog_add_track(catalog, source, TRACK_LANE);
    lane->name = catalog_string(catalog, text_of(name));
    lane->id = stream->stream;
    lane->sort_key = stream->stream;
    lane->lane = LANE_STREAM;
    gpu->stream_tracks[id] = (uint32_t)(lane - catalog->tracks.items);
    return gpu->stream_tracks[id];
}

static void add_operation(const struct gpu_pass *pass, uint64_t node, uint64_t correlation)
{
    const struct gpu *gpu = pass->gpu;
    const struct operation_names *names = NULL;
    uint32_t index = node ? idmap_get(&gpu->file.node_by_id, node) : IDMAP_NONE;
    if (index != IDMAP_NONE)
        names = &gpu->node_operations[index];
    else if ((index = idmap_get(&gpu->call_by_correlation, correlation)) != IDMAP_NONE)
        names = &gpu->call_operations.items[index];
    if (!names)
        return;
    add_string(pass, KEY_OPERATION, names->operation);
    add_string(pass, KEY_NAME, names->name);
    add_string(pass, KEY_MODULE, names->module);
    if (names->program)
        add_number(pass, KEY_PROGRAM, names->program);
}

/* What all work of a stream has: where it was launched and for what. */
static void add_launch(const struct gpu_pass *pass, uint64_t stream, uint64_t correlation,
                       uint64_t node, uint64_t graph)
{
    const struct gpu_file *file = &pass->gpu->file;
    add_number(pass, KEY_CORRELATION, correlation);
    if (stream < file->streams.count)
        add_number(pass, KEY_CONTEXT, file->streams.items[stream].context);
    if (graph)
        add_number(pass, KEY_GRAPH, graph);
    if (node)
        add_number(pass, KEY_NODE, node);
    add_operation(pass, node, correlation);
}

static bool take_kernel(const struct gpu_pass *pass, const uint64_t *v)
{
    const struct gpu *gpu = pass->gpu;
    uint64_t shape = v[3] < gpu->file.shapes.count ? v[3] : 0;
    if (pass->target->pusher) {
        add_string(pass, KEY_KERNEL, gpu->shape_details[shape]);
        add_launch(pass, v[2], v[4], v[5], v[6]);
    }
    return put(pass, stream_track(pass, v[2]), gpu->shape_types[shape], v);
}

static const char *memory_kind(uint64_t kind)
{
    return memory_kinds[kind < COUNT(memory_kinds) ? kind : 0];
}

static bool take_copy(const struct gpu_pass *pass, const uint64_t *v)
{
    if (pass->target->pusher) {
        char text[DETAILS_SIZE];
        snprintf(text, sizeof text, "kind_src:%s kind_dst:%s size:%llu dest:%llu async:%u",
                 memory_kind(v[4]), memory_kind(v[5]), (unsigned long long)v[7],
                 (unsigned long long)(v[12] ? v[12] - 1 : 0), (unsigned)(v[6] & 1));
        add_text(pass, KEY_COPY, text);
        add_launch(pass, v[2], v[8], v[9], v[10]);
    }
    return put(pass, stream_track(pass, v[2]),
               pass->gpu->copy_types[v[3] < COUNT(copy_names) ? v[3] : 0], v);
}

static bool take_fill(const struct gpu_pass *pass, const uint64_t *v)
{
    if (pass->target->pusher) {
        char text[DETAILS_SIZE];
        snprintf(text, sizeof text, "kind:%s num_bytes:%llu async:1", memory_kind(v[4]),
                 (unsigned long long)v[5]);
        add_text(pass, KEY_SET, text);
        add_launch(pass, v[2], v[6], v[7], v[8]);
    }
    return put(pass, stream_track(pass, v[2]), pass->gpu->set_type, v);
}

static bool take_graph(const struct gpu_pass *pass, const uint64_t *v)
{
    if (pass->target->pusher)
        add_launch(pass, v[2], v[4], 0, v[3]);
    return put(pass, stream_track(pass, v[2]), pass->gpu->graph_type, v);
}

static bool take_call(const struct gpu_pass *pass, const uint64_t *v)
{
    const struct gpu_target *target = pass->target;
    struct gpu *gpu = pass->gpu;
    uint64_t name = v[2] < gpu->file.texts.count ? v[2] : 0;
    if (target->pusher) {
        add_number(pass, KEY_CORRELATION, v[4]);
        if (v[5])
            add_number(pass, KEY_RESULT, v[5]);
    } else if (gpu->text_types[name] == 0) {
        struct catalog *catalog = &target->recording->base.source.catalog;
        gpu->text_types[name] =
            named_type(catalog, &target->recording->base.types,
                       catalog_string(catalog, gpu_text(&gpu->file, name)));
    }
    uint32_t track =
        recording_thread_lane(target->recording, target->number, v[3], !target->pusher);
    return put(pass, track, gpu->text_types[name], v);
}

static bool take(void *context, enum gpu_table table, const uint64_t *values)
{
    const struct gpu_pass *pass = context;
    switch (table) {
    case GPU_KERNELS:
        return take_kernel(pass, values);
    case GPU_COPIES:
        return take_copy(pass, values);
    case GPU_FILLS:
        return take_fill(pass, values);
    case GPU_GRAPHS:
        return take_graph(pass, values);
    case GPU_CALLS:
        return take_call(pass, values);
    default:
        return true;
    }
}

bool gpu_take(struct gpu *gpu, const struct gpu_target *target)
{
    struct gpu_pass pass = {.gpu = gpu,
                            .target = target,
                            .process = &target->recording->processes.items[target->number]};
    struct pb_reader failed = pb_read(NULL, 0);
    if (gpu_file_walk(&gpu->file, take, &pass, &failed))
        return true;
    return failed.problem ? error_set(target->err, "%s", RECORD_CHANGED) : false;
}
