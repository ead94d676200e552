/*
 * Streams, calls and waits of a GPU recording, in the form of an XPlane of the same run.
 */
#include "import/recording/gpu.h"

#include "import/neuron_systrace/neuron.h"
#include "import/recording/gpu_memory.h"
#include "import/recording/gpu_pass.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { DETAILS_SIZE = 256 };

/* The kinds of work of a stream; XLA's tracer names streams by them. */
enum work { WORK_COMPUTE = 1, WORK_SET = 2, WORK_COPY = 4, WORK_COPIES = GPU_COPY_KINDS };

struct gpu_lane {
    uint32_t track; /* TRACK_NONE until it has an event */
    uint32_t work;  /* a bit for each enum work, from WORK_COPY on for each kind of copies */
};

/* A counter of a device, and where its samples go. */
struct gpu_counter {
    uint32_t track, type;
    double divisor;
};

struct gpu {
    struct gpu_file file;
    struct gpu_names names;
    struct gpu_lane *streams;
    uint32_t waits, overheads, windows; /* tracks */
    uint64_t window_count, window_ns;
    uint64_t activities;
    struct gpu_memory memory;
    ARRAY(struct gpu_counter) counters;
    struct idmap counter_by_id; /* device and text */
    struct idmap threads;       /* tracks of threads with calls */
};

static bool collect(void *context, enum gpu_table table, const uint64_t *v)
{
    struct gpu *gpu = context;
    gpu->activities += gpu_is_activity(table);
    if (table == GPU_WINDOWS) {
        gpu->window_count++;
        gpu->window_ns += v[1];
    }
    gpu_memory_collect(&gpu->memory, table, v);
    return true;
}

struct gpu *gpu_open(struct recording *recording, uint32_t number)
{
    struct gpu *gpu = mem_zeroed(1, sizeof *gpu);
    struct process *process = &recording->processes.items[number];
    gpu->file.data = process->gpu_file.data;
    gpu->file.size = process->gpu_file.size;
    gpu_file_read(&gpu->file);
    gpu_names_read(&gpu->names, &gpu->file, recording, process);
    gpu->streams = mem_zeroed(gpu->file.streams.count, sizeof *gpu->streams);
    for (size_t i = 0; i < gpu->file.streams.count; i++)
        gpu->streams[i].track = TRACK_NONE;
    gpu->waits = gpu->overheads = gpu->windows = gpu->memory.lane = TRACK_NONE;
    gpu_file_walk(&gpu->file, collect, gpu);
    gpu_memory_sort(&gpu->memory);
    return gpu;
}

void gpu_close(struct gpu *gpu)
{
    if (!gpu)
        return;
    gpu_file_free(&gpu->file);
    gpu_names_free(&gpu->names);
    idmap_free(&gpu->threads);
    gpu_memory_free(&gpu->memory);
    array_free(&gpu->counters);
    idmap_free(&gpu->counter_by_id);
    mem_free(gpu->streams);
    mem_free(gpu);
}

bool gpu_is_sampled(const struct gpu *gpu)
{
    return gpu->window_count > 0;
}

struct drops gpu_drops(const struct gpu *gpu)
{
    return gpu ? (struct drops){.dropped = gpu->file.lost, .stored = gpu->activities}
               : (struct drops){0};
}

void gpu_messages(const struct gpu *gpu, struct catalog *catalog, uint32_t host)
{
    const struct gpu_file *file = &gpu->file;
    if (file->damage)
        import_message(catalog, host, true,
                       "gpu_trace.pb: byte %zu: %s; the %zu bytes that follow are left out",
                       file->size, file->damage, file->left_out);
    if (gpu->window_count > 0)
        import_message(catalog, host, false,
                       "GPUs were recorded in %" PRIu64 " windows, %.3g s in all; activity "
                       "between them is unknown",
                       gpu->window_count, (double)gpu->window_ns / 1e9);
    if (file->lost_samples > 0)
        import_message(catalog, host, false,
                       "%" PRIu64
                       " samples of hardware counters were lost during capture: a longer "
                       "interval or a larger buffer keeps them",
                       file->lost_samples);
}

/* ---- Events -------------------------------------------------------------------------------- */

static bool put(const struct gpu_pass *pass, uint32_t track, uint32_t type, const uint64_t *v)
{
    return gpu_put(pass, track, type, v[0], v[1]);
}

/* The lane of a stream, created with its first event. */
static uint32_t stream_track(const struct gpu_pass *pass, uint64_t id, uint32_t work)
{
    struct gpu *gpu = pass->gpu;
    struct gpu_lane *known = &gpu->streams[id < gpu->file.streams.count ? id : 0];
    known->work |= work;
    if (known->track != TRACK_NONE || pass->target->pusher)
        return known->track;
    struct catalog *catalog = &pass->target->recording->base.source.catalog;
    const struct gpu_stream *stream = &gpu->file.streams.items[known - gpu->streams];
    struct track *lane =
        catalog_add_track(catalog, gpu_device_source(pass, stream->device), TRACK_LANE);
    lane->id = stream->stream;
    lane->sort_key = stream->stream;
    lane->lane = LANE_STREAM;
    known->track = (uint32_t)(lane - catalog->tracks.items);
    return known->track;
}

/* "Stream #14(Compute,MemcpyH2D)" */
static void name_streams(const struct gpu *gpu, struct catalog *catalog)
{
    for (size_t i = 0; i < gpu->file.streams.count; i++) {
        const struct gpu_lane *lane = &gpu->streams[i];
        char name[DETAILS_SIZE];
        int size = snprintf(name, sizeof name, "Stream #%u(%s%s", gpu->file.streams.items[i].stream,
                            lane->work & WORK_COMPUTE ? "Compute," : "",
                            lane->work & WORK_SET ? "Memset," : "");
        for (uint32_t kind = 0; kind < GPU_COPY_KINDS; kind++)
            if (lane->work & (uint32_t)WORK_COPY << kind) {
                uint32_t type = catalog->types.items[gpu->names.copies[kind]].name;
                struct text copy = catalog_text(catalog, type);
                size += snprintf(name + size, sizeof name - (size_t)size, "%.*s,", (int)copy.size,
                                 copy.data);
            }
        name[size - 1] = ')';
        if (lane->track != TRACK_NONE)
            catalog->tracks.items[lane->track].name = catalog_string(catalog, text_of(name));
    }
}

/* Args of all work of a stream: where it was launched and for what. */
static void add_launch(const struct gpu_pass *pass, uint64_t stream, uint64_t correlation,
                       uint64_t node, uint64_t graph)
{
    const struct gpu *gpu = pass->gpu;
    const struct gpu_operation *operation =
        gpu_operation_of(&gpu->names, &gpu->file, node, correlation);
    gpu_add_number(pass, KEY_CORRELATION, correlation);
    gpu_add_string(pass, KEY_CONTEXT,
                   gpu->names.contexts[stream < gpu->file.streams.count ? stream : 0]);
    if (graph)
        gpu_add_number(pass, KEY_GRAPH, graph);
    if (node)
        gpu_add_number(pass, KEY_NODE, node);
    if (!operation)
        return;
    gpu_add_string(pass, KEY_OPERATION, operation->operation);
    gpu_add_string(pass, KEY_NAME, operation->name);
    gpu_add_string(pass, KEY_MODULE, operation->module);
    if (operation->program)
        gpu_add_number(pass, KEY_PROGRAM, operation->program);
    if (operation->source.file) {
        gpu_add_string(pass, KEY_FILE, operation->source.file);
        gpu_add_number(pass, KEY_LINE, (uint64_t)operation->source.line);
    }
}

static bool take_kernel(const struct gpu_pass *pass, const uint64_t *v)
{
    const struct gpu *gpu = pass->gpu;
    uint64_t shape = v[3] < gpu->file.shapes.count ? v[3] : 0;
    if (pass->target->pusher) {
        uint64_t occupancy;
        memcpy(&occupancy, &gpu->names.occupancies[shape], sizeof occupancy);
        gpu_add_string(pass, KEY_KERNEL, gpu->names.kernel_details[shape]);
        arg_put(array_push(&pass->target->pusher->args), gpu->names.keys[KEY_OCCUPANCY], ARG_DOUBLE,
                0, occupancy);
        add_launch(pass, v[2], v[4], v[5], v[6]);
    }
    return put(pass, stream_track(pass, v[2], WORK_COMPUTE), gpu->names.kernels[shape], v);
}

static bool take_copy(const struct gpu_pass *pass, const uint64_t *v)
{
    uint64_t kind = v[3] < GPU_COPY_KINDS ? v[3] : 0;
    if (pass->target->pusher) {
        char text[DETAILS_SIZE];
        snprintf(text, sizeof text,
                 "kind_src:%s kind_dst:%s size:%" PRIu64 " dest:%" PRIu64 " async:%u",
                 gpu_memory_kind(v[4]), gpu_memory_kind(v[5]), v[7], v[12] ? v[12] - 1 : 0,
                 (unsigned)(v[6] & 1));
        gpu_add_text(pass, KEY_COPY, text);
        add_launch(pass, v[2], v[8], v[9], v[10]);
    }
    return put(pass, stream_track(pass, v[2], (uint32_t)WORK_COPY << kind),
               pass->gpu->names.copies[kind], v);
}

static bool take_fill(const struct gpu_pass *pass, const uint64_t *v)
{
    if (pass->target->pusher) {
        char text[DETAILS_SIZE];
        snprintf(text, sizeof text, "kind:%s num_bytes:%" PRIu64 " async:1", gpu_memory_kind(v[4]),
                 v[5]);
        gpu_add_text(pass, KEY_SET, text);
        add_launch(pass, v[2], v[6], v[7], v[8]);
    }
    return put(pass, stream_track(pass, v[2], WORK_SET),
               gpu_set_type(&pass->gpu->names, pass->target->recording, v[3]), v);
}

static bool take_graph(const struct gpu_pass *pass, const uint64_t *v)
{
    if (pass->target->pusher)
        add_launch(pass, v[2], v[4], 0, v[3]);
    return put(pass, stream_track(pass, v[2], WORK_COMPUTE), pass->gpu->names.graph, v);
}

static bool take_wait(const struct gpu_pass *pass, const uint64_t *v)
{
    struct gpu *gpu = pass->gpu;
    if (pass->target->pusher) {
        gpu_add_number(pass, KEY_CORRELATION, v[6]);
        if (v[4] != UINT32_MAX)
            gpu_add_number(pass, KEY_STREAM, v[4]);
        if (v[5] != UINT32_MAX)
            gpu_add_number(pass, KEY_EVENT, v[5]);
    }
    return put(pass, gpu_host_track(pass, &gpu->waits, TEXT("CUDA synchronization")),
               gpu->names.waits[v[2] < GPU_WAIT_KINDS ? v[2] : 0], v);
}

static bool take_overhead(const struct gpu_pass *pass, const uint64_t *v)
{
    struct gpu *gpu = pass->gpu;
    return put(pass, gpu_host_track(pass, &gpu->overheads, TEXT("CUPTI overhead")),
               gpu_overhead_type(&gpu->names, v[2]), v);
}

static bool take_window(const struct gpu_pass *pass, const uint64_t *v)
{
    struct gpu *gpu = pass->gpu;
    return put(pass, gpu_host_track(pass, &gpu->windows, TEXT("GPU windows")), gpu->names.window,
               v);
}

/* NULL when it is new and the passes that may add one are over. */
static const struct gpu_counter *counter_of(const struct gpu_pass *pass, uint32_t device,
                                            uint32_t text)
{
    struct recording *recording = pass->target->recording;
    struct catalog *catalog = &recording->base.source.catalog;
    struct gpu *gpu = pass->gpu;
    uint64_t id = (uint64_t)device << 32 | text;
    uint32_t index = idmap_get(&gpu->counter_by_id, id);
    if (index != IDMAP_NONE)
        return &gpu->counters.items[index];
    if (pass->target->pusher)
        return NULL;
    idmap_put(&gpu->counter_by_id, id, (uint32_t)gpu->counters.count);
    struct gpu_counter *counter = array_push(&gpu->counters);
    struct text name = gpu_counter_name(gpu_text(&gpu->file, text), &counter->divisor);
    counter->track = gpu_counter_track(pass, device, name);
    counter->type = named_type(catalog, &recording->base.types, catalog_string(catalog, name));
    return counter;
}

/* Time, device, text and value. */
static bool take_counter(const struct gpu_pass *pass, const uint64_t *v, double value)
{
    const struct gpu_counter *counter = counter_of(pass, (uint32_t)v[1], (uint32_t)v[2]);
    return counter ? gpu_put_counter(pass, counter->track, counter->type, v[0],
                                     value / counter->divisor)
                   : gpu_put_counter(pass, TRACK_NONE, 0, v[0], 0);
}

static double float_of(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof value);
    return isfinite(value) ? (double)value : 0;
}

static uint32_t thread_track(const struct gpu_pass *pass, uint64_t thread)
{
    struct gpu *gpu = pass->gpu;
    uint32_t track = idmap_get(&gpu->threads, thread);
    if (track != IDMAP_NONE || pass->target->pusher)
        return track != IDMAP_NONE ? track : TRACK_NONE;
    uint32_t text = idmap_get(&gpu->file.thread_names, thread);
    track = recording_thread_lane(pass->target->recording, pass->target->number, thread,
                                  gpu_text(&gpu->file, text));
    idmap_put(&gpu->threads, thread, track);
    return track;
}

static bool take_call(const struct gpu_pass *pass, const uint64_t *v)
{
    struct gpu *gpu = pass->gpu;
    if (pass->target->pusher) {
        gpu_add_number(pass, KEY_CORRELATION, v[4]);
        if (v[5])
            gpu_add_number(pass, KEY_RESULT, v[5]);
    }
    uint32_t type = gpu_call_type(&gpu->names, &gpu->file, pass->target->recording, v[2]);
    return put(pass, thread_track(pass, v[3]), type, v);
}

/* Tables without a case, such as memory, are handled elsewhere; those of later versions are
 * ignored. */
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
    case GPU_WAITS:
        return take_wait(pass, values);
    case GPU_OVERHEADS:
        return take_overhead(pass, values);
    case GPU_WINDOWS:
        return take_window(pass, values);
    case GPU_COUNTERS:
        return take_counter(pass, values, (double)values[3]);
    case GPU_SAMPLES:
        return take_counter(pass, values, float_of(values[3]));
    default:
        return true;
    }
}

bool gpu_take(struct gpu *gpu, const struct gpu_target *target)
{
    struct gpu_pass pass = {.gpu = gpu,
                            .names = &gpu->names,
                            .file = &gpu->file,
                            .target = target,
                            .process = &target->recording->processes.items[target->number]};
    bool ok = gpu_file_walk(&gpu->file, take, &pass) && gpu_memory_take(&gpu->memory, &pass);
    if (ok && !target->pusher)
        name_streams(gpu, &target->recording->base.source.catalog);
    return ok;
}
