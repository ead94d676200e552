/*
 * Analysis pass: what devices are, what they can do at most, and how busy they were. Peaks come
 * from the capture where it has them, otherwise from the table of models, otherwise from
 * architecture, cores and clock.
 */
#include "analyze/profile/analysis_passes.h"

#include <stdio.h>

static double number_of(const struct catalog *catalog, const struct track *track, const char *key)
{
    const struct arg *arg = catalog_arg(catalog, &track->args, text_of(key));
    double number = arg ? arg_number(arg) : 0;
    return number > 0 && number < 1e30 ? number : 0;
}

static void set_text(char target[static 64], struct text text)
{
    snprintf(target, 64, "%.*s", (int)(text.size < 63 ? text.size : 63), text.data);
}

static enum device_kind kind_of(struct text name)
{
    if (text_starts(name, TEXT("/device:GPU")))
        return KIND_GPU;
    if (text_starts(name, TEXT("/device:TPU")))
        return KIND_TPU;
    return text_starts(name, TEXT("/device:NEURON")) ? KIND_NEURON : KIND_OTHER;
}

static void set_gpu_peaks(struct device_figures *device, const struct catalog *catalog,
                          const struct track *track)
{
    if (hardware_gpu_named(device->name, strlen(device->name), &device->peaks))
        device->peaks_from = "device table";
    else if (hardware_gpu_computed(&device->facts, &device->peaks))
        device->peaks_from = "compute capability";
    double memory = number_of(catalog, track, "memory_bandwidth");
    if (memory > 0)
        device->peaks.memory_bytes_per_s = memory;
    device->xprof_peak_flops = hardware_gpu_xprof_flops(&device->facts);
    device->sram_read = device->sram_write = hardware_gpu_shared_bytes_per_s(&device->facts);
}

/* Peaks that the source has itself, as TPUs do. */
static void set_recorded_peaks(struct device_figures *device, const struct catalog *catalog,
                               const struct track *track)
{
    const struct {
        const char *key;
        double *into;
    } bandwidths[] = {
        {"peak_hbm_bw_gigabytes_per_second", &device->peaks.memory_bytes_per_s},
        {"peak_sram_rd_bw_gigabytes_per_second", &device->sram_read},
        {"peak_sram_wr_bw_gigabytes_per_second", &device->sram_write},
        {"peak_cmem_rd_bw_gigabytes_per_second", &device->cmem_read},
        {"peak_cmem_wr_bw_gigabytes_per_second", &device->cmem_write},
        {"peak_vmem_rd_bw_gigabytes_per_second", &device->vmem_read},
        {"peak_vmem_wr_bw_gigabytes_per_second", &device->vmem_write},
    };
    for (size_t i = 0; i < sizeof bandwidths / sizeof *bandwidths; i++) {
        double found = number_of(catalog, track, bandwidths[i].key);
        if (found > 0)
            *bandwidths[i].into = found * 1e9;
    }
    double flops = number_of(catalog, track, "peak_teraflops_per_second") * 1e12;
    if (flops <= 0)
        return;
    device->peaks_from = "capture";
    device->xprof_peak_flops = flops;
    if (device->kind == KIND_TPU)
        device->peaks.flops[PEAK_BF16] = flops; /* which its figure is for */
}

/* Numbers of a source; those that cannot be are 0. */
static int64_t whole_of(const struct catalog *catalog, const struct track *track, const char *key,
                        double maximum)
{
    double number = number_of(catalog, track, key);
    return number >= 0 && number < maximum ? (int64_t)number : 0;
}

/* Recorded peaks come last, as they take precedence over those derived from the model. */
static struct device_figures describe(const struct analysis *analysis, uint32_t number,
                                      const struct location *location)
{
    const struct catalog *catalog = analysis->catalog;
    const struct track *track = &catalog->tracks.items[number];
    char made[MAX_MODEL_NAME];
    struct device_figures device = {.track = number,
                                    .kind = kind_of(catalog_text(catalog, track->name)),
                                    .has_number = location->has_core,
                                    .number = location->core,
                                    .peak_type = -1};
    device.memory_bytes = whole_of(catalog, track, "memory_size", 0x1p63);
    device.facts =
        (struct gpu_facts){.vendor = device_is_of_amd(catalog, number) ? GPU_AMD : GPU_NVIDIA,
                           .major = (int)whole_of(catalog, track, "compute_cap_major", 100),
                           .minor = (int)whole_of(catalog, track, "compute_cap_minor", 100),
                           .cores = number_of(catalog, track, "core_count"),
                           .clock_hz = number_of(catalog, track, "clock_rate") * 1e3};
    set_text(device.name, device_model(catalog, number, made));
    set_text(device.type, device_type(catalog, number, made));
    if (device.kind == KIND_GPU)
        set_gpu_peaks(&device, catalog, track);
    set_recorded_peaks(&device, catalog, track);
    return device;
}

static bool has_device_work(const struct catalog *catalog)
{
    const struct track *track;
    array_each (track, &catalog->tracks)
        if (track->level == TRACK_LANE && track->source == SOURCE_DEVICE && track->events > 0 &&
            track->lane != LANE_COUNTER)
            return true;
    return false;
}

/* Hosts that execute HLO operations are devices, where there are no others: these have calls with
 * the names of operations, too, which launch them. */
static void describe_hosts(struct analysis *analysis)
{
    const struct catalog *catalog = analysis->catalog;
    if (has_device_work(catalog))
        return;
    bool *is_listed = mem_zeroed(catalog->tracks.count, sizeof *is_listed);
    const struct mark *mark;
    array_each (mark, &analysis->marks) {
        touch_event((uint64_t)(mark - analysis->marks.items));
        uint32_t source = catalog->tracks.items[mark->ref.track].parent;
        if (mark->kind != MARK_OPERATION || is_listed[source])
            continue;
        is_listed[source] = true;
        struct device_figures *device = array_push(&analysis->devices);
        *device = (struct device_figures){.track = source, .kind = KIND_CPU, .peak_type = -1};
        set_text(device->name, TEXT("CPU"));
        set_text(device->type, TEXT("CPU"));
    }
    mem_free(is_listed);
}

void describe_devices(struct analysis *analysis)
{
    const struct catalog *catalog = analysis->catalog;
    for (uint32_t i = 0; i < catalog->tracks.count; i++) {
        const struct track *track = &catalog->tracks.items[i];
        struct location location = {0};
        if (track->level != TRACK_SOURCE || track->source != SOURCE_DEVICE)
            continue;
        location.has_core = number_at_end(catalog_text(catalog, track->name), &location.core);
        *array_push(&analysis->devices) = describe(analysis, i, &location);
    }
    describe_hosts(analysis);
    for (uint32_t i = 0; i < analysis->devices.count; i++)
        idmap_put(&analysis->device_by_track, analysis->devices.items[i].track, i);
}

/* --- what they did --- */

static enum peak_type peak_of(const struct device_figures *device, struct text type)
{
    static const struct {
        const char *name;
        enum peak_type peak;
    } types[] = {{"bf16", PEAK_BF16}, {"f16", PEAK_F16}, {"f64", PEAK_F64},
                 {"f8", PEAK_F8},     {"s8", PEAK_S8},   {"u8", PEAK_S8}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (text_starts(type, text_of(types[i].name)))
            return types[i].peak;
    return device->peaks.flops[PEAK_TF32] > 0 ? PEAK_TF32 : PEAK_F32;
}

/* Takes the peak for the numbers that most products of matrices are of. */
static void choose_peak(struct device_figures *device, const double flops[static PEAK_TYPES])
{
    const double *peaks = device->peaks.flops;
    int best = peaks[PEAK_BF16] >= peaks[PEAK_F16] ? PEAK_BF16 : PEAK_F16;
    best = peaks[best] > 0 ? best : PEAK_F32;
    for (int i = 0; i < PEAK_TYPES; i++)
        if (peaks[i] > 0 && flops[i] > flops[best])
            best = i;
    if (peaks[best] <= 0)
        return;
    device->peak_type = best;
    device->peak_flops = peaks[best];
}

/* Sums of a device's operations, which stand together; returns where those of the next begin. */
static size_t add_operations(const struct analysis *analysis, uint32_t index, size_t first)
{
    struct device_figures *device = &analysis->devices.items[index];
    double flops[PEAK_TYPES] = {0};
    size_t at = first;
    for (; at < analysis->device_operations.count; at++) {
        const struct device_operation *sum = &analysis->device_operations.items[at];
        if (sum->device != index)
            break;
        device->op_ps = add_saturated(device->op_ps, sum->totals.self_ps);
        if (sum->matrix_flops > 0)
            flops[peak_of(device, catalog_text(analysis->catalog, sum->compute_type))] +=
                sum->matrix_flops;
    }
    choose_peak(device, flops);
    return at;
}

struct span {
    uint32_t device;
    int64_t start_ps, end_ps;
};
typedef ARRAY(struct span) span_list;

static bool by_start(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct span *)a)->start_ps < ((const struct span *)b)->start_ps;
}

/* Of hosts, the time in which any of their threads executes an operation. */
static void measure_hosts(struct analysis *analysis)
{
    span_list spans = {0};
    const struct mark *mark;
    array_each (mark, &analysis->marks) {
        touch_event((uint64_t)(mark - analysis->marks.items));
        const struct lane_events *events = &analysis->trace.lanes[mark->ref.track];
        uint32_t device = idmap_get(&analysis->device_by_track,
                                    analysis->catalog->tracks.items[mark->ref.track].parent);
        if (mark->kind == MARK_OPERATION && device != IDMAP_NONE &&
            event_is_timed(events, mark->ref.event))
            *array_push(&spans) = (struct span){device, events->start_ps[mark->ref.event],
                                                event_end(events, mark->ref.event)};
    }
    sort_items(spans.items, spans.count, sizeof *spans.items, by_start, NULL);
    const struct span *span;
    array_each (span, &spans) {
        struct device_figures *device = &analysis->devices.items[span->device];
        struct extent *work = &device->work;
        if (!work->has_times)
            *work = (struct extent){true, span->start_ps, span->start_ps};
        int64_t from = span->start_ps > work->last_ps ? span->start_ps : work->last_ps;
        if (span->end_ps <= from)
            continue;
        device->busy_ps = add_saturated(device->busy_ps, span->end_ps - from);
        work->last_ps = span->end_ps;
    }
    array_free(&spans);
}

/* From the first to the last event on the lanes with a device's work. */
static void measure_lane(struct analysis *analysis, const activity_list *activities, uint32_t lane)
{
    const struct track *track = &analysis->catalog->tracks.items[lane];
    const struct lane_analysis *at = &analysis->lanes[lane];
    uint32_t index = idmap_get(&analysis->device_by_track, track->parent);
    if (index >= activities->count || track->lane != activities->items[index].role ||
        track->events == 0 || at->first_ps > at->last_ps)
        return;
    struct extent *work = &analysis->devices.items[index].work;
    if (!work->has_times || at->first_ps < work->first_ps)
        work->first_ps = at->first_ps;
    if (!work->has_times || at->last_ps > work->last_ps)
        work->last_ps = at->last_ps;
    work->has_times = true;
}

/* Activities are those of the devices that are not hosts, in their order. */
void measure_figures(struct analysis *analysis, const activity_list *activities)
{
    const struct catalog *catalog = analysis->catalog;
    size_t operations = 0;
    for (uint32_t i = 0; i < catalog->tracks.count; i++)
        if (catalog->tracks.items[i].level == TRACK_LANE)
            measure_lane(analysis, activities, i);
    if (analysis->devices.count > activities->count)
        measure_hosts(analysis);
    for (uint32_t i = 0; i < analysis->devices.count; i++) {
        if (i < activities->count)
            analysis->devices.items[i].busy_ps = activities->items[i].busy_ps;
        operations = add_operations(analysis, i, operations);
    }
}
