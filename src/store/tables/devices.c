/*
 * Tables of devices: what they are and can do, the operations they executed, and what they did in
 * each step.
 */
#include "store/tables/fill.h"

#include <math.h>
#include <stdio.h>

static void put_number(struct filler *filler, size_t column, double number)
{
    if (number > 0)
        rows_double(&filler->rows, column, number);
    else
        rows_nulls(&filler->rows, column, 1);
}

static void put_text(struct filler *filler, size_t column, const char *text)
{
    if (text && text[0])
        fill_word(filler, column, text_of(text));
    else
        rows_nulls(&filler->rows, column, 1);
}

static const char *peak_type_name(int type)
{
    static const char *const names[] = {
        [PEAK_F64] = "f64",   [PEAK_F32] = "f32", [PEAK_TF32] = "tf32", [PEAK_F16] = "f16",
        [PEAK_BF16] = "bf16", [PEAK_F8] = "f8",   [PEAK_S8] = "s8"};
    return type < 0 ? NULL : names[type];
}

static void put_peaks(struct filler *filler, const struct device_figures *device)
{
    put_number(filler, DEVICE_PEAK, device->peak_flops);
    put_text(filler, DEVICE_PEAK_TYPE, peak_type_name(device->peak_type));
    for (size_t i = 0; i < PEAK_TYPES; i++)
        put_number(filler, DEVICE_F64 + i, device->peaks.flops[i]);
    put_number(filler, DEVICE_XPROF_PEAK, device->xprof_peak_flops);
    put_number(filler, DEVICE_HBM, device->peaks.memory_bytes_per_s);
    put_number(filler, DEVICE_SRAM_READ, device->sram_read);
    put_number(filler, DEVICE_SRAM_WRITE, device->sram_write);
    put_number(filler, DEVICE_CMEM_READ, device->cmem_read);
    put_number(filler, DEVICE_CMEM_WRITE, device->cmem_write);
    put_number(filler, DEVICE_VMEM_READ, device->vmem_read);
    put_number(filler, DEVICE_VMEM_WRITE, device->vmem_write);
    put_text(filler, DEVICE_PEAKS_FROM, device->peaks_from);
}

/* Unknown facts are null rather than zero. Idle time is never negative, although busy time may
 * be of another clock. */
static void put_device(struct filler *filler, size_t index)
{
    static const char *const kinds[] = {[KIND_GPU] = "GPU",
                                        [KIND_TPU] = "TPU",
                                        [KIND_NEURON] = "Neuron",
                                        [KIND_OTHER] = "other",
                                        [KIND_CPU] = "CPU"};
    struct rows *rows = &filler->rows;
    const struct catalog *catalog = filler->catalog;
    const struct device_figures *device = &filler->maker->analysis->devices.items[index];
    uint32_t host = catalog_ancestor(catalog, device->track, TRACK_INSTANCE);
    char capability[32] = "";
    if (device->facts.major > 0)
        snprintf(capability, sizeof capability, "%d.%d", device->facts.major, device->facts.minor);
    int64_t span = device->work.has_times
                       ? whole_ns(sub_saturated(device->work.last_ps, device->work.first_ps))
                       : 0;
    int64_t busy = whole_ns(device->busy_ps);
    rows_int(rows, DEVICE_ID, (int64_t)index);
    rows_int(rows, DEVICE_TRACK, device->track);
    fill_word(filler, DEVICE_INSTANCE, catalog_track_label(catalog, host));
    fill_index(filler, DEVICE_NUMBER, device->has_number, (uint64_t)device->number);
    fill_word(filler, DEVICE_KIND, text_of(kinds[device->kind]));
    put_text(filler, DEVICE_NAME, device->name);
    put_text(filler, DEVICE_TYPE, device->type);
    put_text(filler, DEVICE_CAPABILITY, capability);
    fill_index(filler, DEVICE_CORES, device->facts.cores > 0, (uint64_t)device->facts.cores);
    put_number(filler, DEVICE_CLOCK, device->facts.clock_hz / 1e9);
    fill_index(filler, DEVICE_MEMORY, device->memory_bytes > 0, (uint64_t)device->memory_bytes);
    put_peaks(filler, device);
    rows_int(rows, DEVICE_SPAN, span);
    rows_int(rows, DEVICE_BUSY, busy);
    rows_int(rows, DEVICE_OPS, whole_ns(device->op_ps));
    rows_int(rows, DEVICE_IDLE, span > busy ? span - busy : 0);
    fill_double(filler, DEVICE_DUTY, span > 0 ? (double)busy / (double)span : NAN);
}

bool make_devices(struct profile_maker *maker, struct error *err)
{
    struct filler filler = fill_begin(maker, TABLE_DEVICES, err);
    for (size_t i = 0; i < maker->analysis->devices.count && fill_continue(&filler); i++)
        put_device(&filler, i);
    return fill_end(&filler);
}

static void put_costs(struct filler *filler, const struct device_operation *sum)
{
    fill_double(filler, DEVICE_OP_FLOPS, sum->flops);
    fill_double(filler, DEVICE_OP_MATRIX_FLOPS, sum->matrix_flops);
    fill_string(filler, DEVICE_OP_COMPUTE_TYPE, sum->compute_type);
    fill_double(filler, DEVICE_OP_XPROF_FLOPS, sum->xprof_flops);
    fill_double(filler, DEVICE_OP_XPROF_DEVICE_FLOPS, sum->xprof_device_flops);
    const int64_t bytes[] = {sum->bytes,      sum->hbm_bytes, sum->cmem_read,
                             sum->cmem_write, sum->vmem_read, sum->vmem_write};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        fill_index(filler, DEVICE_OP_BYTES + i, bytes[i] >= 0, (uint64_t)bytes[i]);
    fill_index(filler, DEVICE_OP_STALL, sum->stall_ps >= 0, (uint64_t)whole_ns(sum->stall_ps));
}

static void put_times(struct filler *filler, const struct device_operation *sum, bool has_kernels)
{
    struct rows *rows = &filler->rows;
    rows_int(rows, DEVICE_OP_OCCURRENCES, (int64_t)sum->totals.count);
    rows_int(rows, DEVICE_OP_KERNELS, (int64_t)sum->kernels);
    rows_int(rows, DEVICE_OP_TOTAL, whole_ns(sum->totals.total_ps));
    rows_int(rows, DEVICE_OP_SELF, whole_ns(sum->totals.self_ps));
    rows_int(rows, DEVICE_OP_MIN, whole_ns(sum->totals.min_ps));
    rows_int(rows, DEVICE_OP_MAX, whole_ns(sum->totals.max_ps));
    fill_index(filler, DEVICE_OP_MATRIX_TIME, has_kernels, (uint64_t)whole_ns(sum->matrix_unit_ps));
}

/* Ids are offsets into the tables of programs and events: first_operation and first_event map
 * numbers within a program or track to rows. */
static void put_device_operation(struct filler *filler, size_t index)
{
    struct rows *rows = &filler->rows;
    const struct profile_maker *maker = filler->maker;
    const struct device_operation *sum = &maker->analysis->device_operations.items[index];
    enum device_kind kind = maker->analysis->devices.items[sum->device].kind;
    bool has_operation = sum->program != NO_INDEX && sum->operation != NO_INDEX;
    rows_int(rows, DEVICE_OP_ID, (int64_t)index);
    rows_int(rows, DEVICE_OP_DEVICE, sum->device);
    fill_index(filler, DEVICE_OP_MODULE, sum->program != NO_INDEX, sum->program);
    fill_index(filler, DEVICE_OP_PROGRAM, sum->has_program_id, sum->program_id);
    fill_index(filler, DEVICE_OP_OPERATION, has_operation,
               has_operation ? maker->first_operation[sum->program] + sum->operation : 0);
    rows_name(rows, DEVICE_OP_NAME, sum->name);
    fill_string(filler, DEVICE_OP_CATEGORY, sum->category);
    fill_string(filler, DEVICE_OP_EXPRESSION, sum->expression);
    fill_string(filler, DEVICE_OP_FRAMEWORK_OP, sum->framework_op);
    fill_string(filler, DEVICE_OP_FRAMEWORK_TYPE, sum->framework_type);
    fill_string(filler, DEVICE_OP_FILE, sum->file);
    fill_index(filler, DEVICE_OP_LINE, sum->line > 0, sum->line);
    if (kind == KIND_TPU)
        fill_word(filler, DEVICE_OP_CORE, sum->core ? TEXT("SparseCore") : TEXT("TensorCore"));
    else
        rows_nulls(rows, DEVICE_OP_CORE, 1);
    fill_string(filler, DEVICE_OP_PARENT, sum->parent);
    fill_string(filler, DEVICE_OP_DEDUPLICATED, sum->deduplicated);
    fill_word(filler, DEVICE_OP_ATTRIBUTION, attribution_name(sum->attribution));
    put_times(filler, sum, kind == KIND_GPU);
    put_costs(filler, sum);
    rows_int(rows, DEVICE_OP_FIRST,
             (int64_t)(maker->first_event[sum->first.track] + sum->first.event));
}

bool make_device_operations(struct profile_maker *maker, struct error *err)
{
    struct filler filler = fill_begin(maker, TABLE_DEVICE_OPERATIONS, err);
    for (size_t i = 0; i < maker->analysis->device_operations.count && fill_continue(&filler); i++)
        put_device_operation(&filler, i);
    return fill_end(&filler);
}

/* Parts in whole nanoseconds that still add up: each ends where the sum so far, rounded, does. */
static void put_parts(struct filler *filler, const struct step_breakdown *breakdown)
{
    static const size_t columns[] = {
        [PART_COMPUTE_16] = BREAKDOWN_COMPUTE_16,
        [PART_COMPUTE_32] = BREAKDOWN_COMPUTE_32,
        [PART_COMPUTE_OTHER] = BREAKDOWN_COMPUTE_OTHER,
        [PART_TO_HOST] = BREAKDOWN_TO_HOST,
        [PART_BETWEEN] = BREAKDOWN_BETWEEN,
        [PART_COLLECTIVES] = BREAKDOWN_COLLECTIVES,
        [PART_TO_DEVICE] = BREAKDOWN_TO_DEVICE,
        [PART_COMPILE] = BREAKDOWN_COMPILE,
        [PART_INPUT_WAIT] = BREAKDOWN_INPUT_WAIT,
        [PART_LAUNCH] = BREAKDOWN_LAUNCH,
        [PART_HOST_COMPUTE] = BREAKDOWN_HOST_COMPUTE,
        [PART_OTHER] = BREAKDOWN_OTHER,
    };
    int64_t sum_ps = 0, sum_ns = 0;
    for (size_t i = 0; i < STEP_PARTS; i++) {
        sum_ps = add_saturated(sum_ps, breakdown->parts_ps[i]);
        rows_int(&filler->rows, columns[i], whole_ns(sum_ps) - sum_ns);
        sum_ns = whole_ns(sum_ps);
    }
    rows_int(&filler->rows, BREAKDOWN_DURATION, sum_ns);
}

bool make_step_breakdowns(struct profile_maker *maker, struct error *err)
{
    const struct analysis *analysis = maker->analysis;
    struct filler filler = fill_begin(maker, TABLE_STEP_BREAKDOWNS, err);
    for (size_t i = 0; i < analysis->breakdowns.count && fill_continue(&filler); i++) {
        const struct step_breakdown *breakdown = &analysis->breakdowns.items[i];
        bool has_device = breakdown->device != NO_INDEX;
        bool is_tpu = has_device && analysis->devices.items[breakdown->device].kind == KIND_TPU;
        fill_index(&filler, BREAKDOWN_DEVICE, has_device, breakdown->device);
        rows_int(&filler.rows, BREAKDOWN_STEP, breakdown->step);
        rows_int(&filler.rows, BREAKDOWN_NUMBER, analysis->steps.items[breakdown->step].number);
        rows_int(&filler.rows, BREAKDOWN_START, whole_ns(breakdown->start_ps));
        put_parts(&filler, breakdown);
        fill_index(&filler, BREAKDOWN_INFEED, is_tpu, (uint64_t)whole_ns(breakdown->infeed_ps));
        fill_index(&filler, BREAKDOWN_OUTFEED, is_tpu, (uint64_t)whole_ns(breakdown->outfeed_ps));
        fill_index(&filler, BREAKDOWN_IDLE, has_device, (uint64_t)whole_ns(breakdown->idle_ps));
    }
    return fill_end(&filler);
}
