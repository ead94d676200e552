/*
 * GPU work as GpuRenderStageEvent and GpuCounterEvent.
 */
#include "export/perfetto/gpu.h"

#include "base/wire/wire.h"

#include <stdio.h>

/* Field numbers, by message. */
enum {
    INTERNED_CONTEXTS = 23,
    INTERNED_SPECIFICATIONS = 24,
    CONTEXT_ID = 1,
    CONTEXT_PROCESS = 2,
    CONTEXT_API = 3,
    SPECIFICATION_ID = 1,
    SPECIFICATION_NAME = 2,
    SPECIFICATION_CATEGORY = 4,

    STAGE_EVENT = 1,
    STAGE_DURATION = 2,
    STAGE_CONTEXT = 5,
    STAGE_EXTRA = 6,
    STAGE_SUBMISSION = 10,
    STAGE_GPU = 11,
    STAGE_QUEUE = 13,
    STAGE_KIND = 14,
    STAGE_NAME = 17,
    STAGE_LAUNCH = 21,
    EXTRA_NAME = 1,
    EXTRA_VALUE = 2,
    LAUNCH_GRID = 1,
    LAUNCH_BLOCK = 2,

    COUNTERS_DESCRIPTOR = 1,
    COUNTERS_COUNTER = 2,
    COUNTERS_GPU = 3,
    DESCRIPTOR_SPECIFICATION = 1,
    COUNTER_SPECIFICATION_ID = 1,
    COUNTER_SPECIFICATION_NAME = 2,
    COUNTER_NUMBER = 1,
    COUNTER_VALUE = 3,
};

enum { API_CUDA = 4, API_HIP = 5, CATEGORY_COMPUTE = 2 };

enum stage_kind { STAGE_KERNEL, STAGE_COPY, STAGE_SET, STAGE_KINDS };
static const char *const stage_names[STAGE_KINDS] = {"Kernel", "Memcpy", "Memset"};

bool gpu_has_lane(const struct catalog *catalog, const struct location *locations, uint32_t lane)
{
    const struct track *track = &catalog->tracks.items[lane];
    return track->level == TRACK_LANE && locations[lane].layer == LAYER_GPU &&
           (track->lane == LANE_STREAM || track->lane == LANE_COUNTER);
}

/* Stages are numbered after the queues. */
static uint64_t stage_id(const struct catalog *catalog, enum stage_kind kind)
{
    return catalog->tracks.count + kind + 1;
}

static uint64_t context_id(const struct location *location)
{
    return location->process_track + (uint64_t)1;
}

static void put_specification(struct output *out, uint64_t id, struct text name, uint64_t category)
{
    size_t specification = pb_begin(out, INTERNED_SPECIFICATIONS);
    pb_put_varint(out, SPECIFICATION_ID, id);
    pb_put_text(out, SPECIFICATION_NAME, name);
    pb_put_varint(out, SPECIFICATION_CATEGORY, category);
    pb_end(out, specification);
}

static bool is_amd(const struct catalog *catalog, uint32_t lane)
{
    const struct track *device = &catalog->tracks.items[catalog->tracks.items[lane].parent];
    const struct arg *vendor = catalog_arg(catalog, &device->args, TEXT("device_vendor"));
    return vendor && text_equal(arg_text(catalog, vendor), TEXT("AMD"));
}

static void put_context(struct output *out, const struct catalog *catalog,
                        const struct location *locations, uint32_t lane)
{
    size_t context = pb_begin(out, INTERNED_CONTEXTS);
    pb_put_varint(out, CONTEXT_ID, context_id(&locations[lane]));
    pb_put_varint(out, CONTEXT_PROCESS, (uint64_t)(int32_t)locations[lane].process);
    pb_put_varint(out, CONTEXT_API, is_amd(catalog, lane) ? API_HIP : API_CUDA);
    pb_end(out, context);
}

void gpu_put_specifications(struct output *out, const struct catalog *catalog,
                            const struct location *locations)
{
    bool *has_context = mem_zeroed(catalog->tracks.count, sizeof *has_context);
    for (unsigned kind = 0; kind < STAGE_KINDS; kind++)
        put_specification(out, stage_id(catalog, (enum stage_kind)kind), text_of(stage_names[kind]),
                          kind == STAGE_KERNEL ? CATEGORY_COMPUTE : 0);
    for (uint32_t lane = 0; lane < catalog->tracks.count; lane++) {
        if (!gpu_has_lane(catalog, locations, lane) ||
            catalog->tracks.items[lane].lane != LANE_STREAM)
            continue;
        put_specification(out, lane + (uint64_t)1, catalog_track_label(catalog, lane),
                          CATEGORY_COMPUTE);
        if (!has_context[locations[lane].process_track])
            put_context(out, catalog, locations, lane);
        has_context[locations[lane].process_track] = true;
    }
    mem_free(has_context);
}

bool gpu_put_counters(struct output *out, const struct catalog *catalog,
                      const struct location *locations)
{
    bool has_any = false;
    size_t descriptor = pb_begin(out, COUNTERS_DESCRIPTOR);
    for (uint32_t lane = 0; lane < catalog->tracks.count; lane++) {
        if (!gpu_has_lane(catalog, locations, lane) ||
            catalog->tracks.items[lane].lane != LANE_COUNTER)
            continue;
        size_t specification = pb_begin(out, DESCRIPTOR_SPECIFICATION);
        pb_put_varint(out, COUNTER_SPECIFICATION_ID, lane + (uint64_t)1);
        pb_put_text(out, COUNTER_SPECIFICATION_NAME, catalog_track_label(catalog, lane));
        pb_end(out, specification);
        has_any = true;
    }
    pb_end(out, descriptor);
    return has_any;
}

static enum stage_kind kind_of(struct text name)
{
    return text_starts(name, TEXT("Memcpy"))   ? STAGE_COPY
           : text_starts(name, TEXT("Memset")) ? STAGE_SET
                                               : STAGE_KERNEL;
}

static void put_size(struct output *out, uint32_t field, const int64_t size[3])
{
    size_t whole = pb_begin(out, field);
    for (uint32_t i = 0; i < 3; i++)
        pb_put_varint(out, i + 1, (uint64_t)size[i]);
    pb_end(out, whole);
}

/* Grid and block as XLA and torch.profiler write them. */
static void put_launch(struct output *out, const struct catalog *catalog, struct arg_list args)
{
    struct kernel_details details = {0};
    bool has_grid = false, has_block = false;
    for (uint32_t i = 0; i < args.count; i++) {
        struct text key = catalog_text(catalog, args.items[i].key);
        struct text value = arg_text(catalog, &args.items[i]);
        if (text_equal(key, TEXT("kernel_details")))
            has_grid = has_block = read_kernel_details(value, &details);
        else if (text_equal(key, TEXT("grid")))
            has_grid = read_triple(value, details.grid);
        else if (text_equal(key, TEXT("block")))
            has_block = read_triple(value, details.block);
    }
    if (!has_grid || !has_block)
        return;
    size_t launch = pb_begin(out, STAGE_LAUNCH);
    put_size(out, LAUNCH_GRID, details.grid);
    put_size(out, LAUNCH_BLOCK, details.block);
    pb_end(out, launch);
}

static void put_extra(struct output *out, struct text key, struct text value)
{
    size_t extra = pb_begin(out, STAGE_EXTRA);
    pb_put_text(out, EXTRA_NAME, key);
    pb_put_text(out, EXTRA_VALUE, value);
    pb_end(out, extra);
}

/* Values are texts in this message. */
static void put_arg(struct output *out, const struct catalog *catalog, const struct arg *arg)
{
    struct text key = catalog_text(catalog, arg->key);
    if (arg->type == ARG_STRING || arg->type == ARG_TEXT) {
        put_extra(out, key, arg_text(catalog, arg));
        return;
    }
    struct output value;
    struct json json;
    output_memory(&value);
    json_begin(&json, &value, false);
    if (arg->type != ARG_NONE)
        arg_to_json(&json, catalog, arg);
    put_extra(out, key, (struct text){value.data, value.size});
    output_discard(&value);
}

/* Ids are tracks plus one, as 0 means none in these messages. The step is an extra field with a
 * text, since the message has no number for it. */
void gpu_put_stage(struct output *out, const struct catalog *catalog,
                   const struct location *locations, const struct gpu_stage *stage)
{
    const struct location *location = &locations[stage->lane];
    struct text name = catalog_text(catalog, stage->name);
    enum stage_kind kind = kind_of(name);
    pb_put_varint(out, STAGE_EVENT, stage->id);
    pb_put_varint(out, STAGE_DURATION, stage->duration_ns);
    pb_put_varint(out, STAGE_CONTEXT, context_id(location));
    if (location->has_core)
        pb_put_varint(out, STAGE_GPU, (uint64_t)(int32_t)location->core);
    pb_put_varint(out, STAGE_QUEUE, stage->lane + (uint64_t)1);
    pb_put_varint(out, STAGE_KIND, stage_id(catalog, kind));
    pb_put_text(out, STAGE_NAME, name);
    if (stage->correlation)
        pb_put_varint(out, STAGE_SUBMISSION, (uint32_t)stage->correlation);
    if (kind == STAGE_KERNEL)
        put_launch(out, catalog, stage->args);
    for (uint32_t i = 0; i < stage->args.count; i++)
        put_arg(out, catalog, &stage->args.items[i]);
    if (stage->step >= 0) {
        char number[24];
        snprintf(number, sizeof number, "%lld", (long long)stage->step);
        put_extra(out, TEXT("step"), text_of(number));
    }
}

void gpu_put_sample(struct output *out, const struct location *locations, uint32_t lane,
                    double value)
{
    size_t counter = pb_begin(out, COUNTERS_COUNTER);
    pb_put_varint(out, COUNTER_NUMBER, lane + (uint64_t)1);
    pb_put_double(out, COUNTER_VALUE, value);
    pb_end(out, counter);
    if (locations[lane].has_core)
        pb_put_varint(out, COUNTERS_GPU, (uint64_t)(int32_t)locations[lane].core);
}
