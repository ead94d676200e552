/*
 * Tables that compare ranks: what devices did in steps, and their kernels; and, in datasets, the
 * rank itself.
 */
#include "store/tables/rank_tables.h"

#include "store/tables/profile.h"

#include <stdio.h>

int64_t *rank_device_numbers(const struct analysis *analysis)
{
    int64_t *numbers = mem_zeroed(analysis->devices.count, sizeof *numbers);
    int64_t next = 0;
    for (size_t i = 0; i < analysis->devices.count; i++)
        if (analysis->devices.items[i].work.has_times)
            numbers[i] = next++;
    return numbers;
}

/* Parts in whole nanoseconds that add up to the duration: each ends where the sum so far, rounded,
 * does. */
static void put_parts(struct filler *filler, const struct step_breakdown *step)
{
    const struct rank_figures *rank = &step->rank;
    struct rows *rows = &filler->rows;
    const struct {
        size_t column;
        int64_t ps;
    } parts[] = {{RANK_STEP_COMPUTE, rank->compute_ps},
                 {RANK_STEP_COPY, rank->copy_ps},
                 {RANK_STEP_EXPOSED, rank->exposed_ps},
                 {RANK_STEP_IDLE_HOST, rank->idle_host_ps},
                 {RANK_STEP_IDLE_KERNEL, rank->idle_kernel_ps}};
    int64_t total_ps = sub_saturated(step->end_ps, step->start_ps), duration = whole_ns(total_ps);
    int64_t sum_ps = 0, sum_ns = 0, busy_ns = 0, exposed_ns = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        sum_ps = add_saturated(sum_ps, parts[i].ps);
        int64_t ns = whole_ns(sum_ps) - sum_ns;
        sum_ns += ns;
        rows_int(rows, parts[i].column, ns);
        if (parts[i].column == RANK_STEP_EXPOSED) {
            exposed_ns = ns;
            busy_ns = sum_ns;
        }
    }
    rows_int(rows, RANK_STEP_IDLE_OTHER, duration - sum_ns);
    rows_int(rows, RANK_STEP_BUSY, busy_ns);
    rows_int(rows, RANK_STEP_IDLE, duration - busy_ns);
    rows_int(rows, RANK_STEP_OVERLAP, whole_ns(rank->overlap_ps));
    rows_int(rows, RANK_STEP_COMMUNICATION, exposed_ns + whole_ns(rank->overlap_ps));
    rows_int(rows, RANK_STEP_START, whole_ns(step->start_ps));
    rows_int(rows, RANK_STEP_END, add_saturated(whole_ns(step->start_ps), duration));
    rows_int(rows, RANK_STEP_DURATION, duration);
}

bool make_rank_steps(struct profile_maker *maker, struct error *err)
{
    const struct analysis *analysis = maker->analysis;
    struct filler filler = fill_begin(maker, TABLE_RANK_STEPS, err);
    struct rows *rows = &filler.rows;
    int64_t *numbers = rank_device_numbers(analysis);
    for (size_t i = 0; i < analysis->breakdowns.count && fill_continue(&filler); i++) {
        const struct step_breakdown *step = &analysis->breakdowns.items[i];
        bool has_device = step->device != NO_INDEX;
        fill_index(&filler, RANK_STEP_DEVICE, has_device, step->device);
        rows_int(rows, RANK_STEP_DEVICE_INDEX, has_device ? numbers[step->device] : 0);
        rows_int(rows, RANK_STEP_NUMBER, analysis->steps.items[step->step].number);
        put_parts(&filler, step);
        rows_int(rows, RANK_STEP_INPUT_WAIT, whole_ns(step->parts_ps[PART_INPUT_WAIT]));
        rows_int(rows, RANK_STEP_HOST_COMPUTE, whole_ns(step->parts_ps[PART_HOST_COMPUTE]));
        rows_int(rows, RANK_STEP_LAUNCH, whole_ns(step->parts_ps[PART_LAUNCH]));
        rows_int(rows, RANK_STEP_COMPILE, whole_ns(step->parts_ps[PART_COMPILE]));
        rows_int(rows, RANK_STEP_KERNELS, step->rank.kernels);
        rows_int(rows, RANK_STEP_COLLECTIVES, step->rank.collectives);
        rows_int(rows, RANK_STEP_TOP_KERNELS, step->rank.hash);
    }
    mem_free(numbers);
    return fill_end(&filler);
}

bool make_rank_kernels(struct profile_maker *maker, struct error *err)
{
    static const char *const classes[] = {
        [RANK_COMPUTE] = "compute", [RANK_COMMUNICATION] = "communication", [RANK_COPY] = "copy"};
    const struct analysis *analysis = maker->analysis;
    struct filler filler = fill_begin(maker, TABLE_RANK_KERNELS, err);
    struct rows *rows = &filler.rows;
    int64_t *numbers = rank_device_numbers(analysis);
    for (size_t i = 0; i < analysis->rank_kernels.count && fill_continue(&filler); i++) {
        const struct rank_kernel *kernel = &analysis->rank_kernels.items[i];
        rows_int(rows, RANK_KERNEL_DEVICE, kernel->device);
        rows_int(rows, RANK_KERNEL_DEVICE_INDEX, numbers[kernel->device]);
        rows_int(rows, RANK_KERNEL_STEP, analysis->steps.items[kernel->step].number);
        fill_string(&filler, RANK_KERNEL_NAME, kernel->name);
        fill_word(&filler, RANK_KERNEL_CLASS, text_of(classes[kernel->class]));
        rows_int(rows, RANK_KERNEL_COUNT, (int64_t)kernel->count);
        rows_int(rows, RANK_KERNEL_TOTAL, whole_ns(kernel->total_ps));
    }
    mem_free(numbers);
    return fill_end(&filler);
}

/* --- the rank --- */

static void put_devices(struct filler *filler)
{
    const struct analysis *analysis = filler->maker->analysis;
    const char *name = "";
    int64_t count = 0;
    const struct device_figures *device;
    array_each (device, &analysis->devices) {
        if (!device->work.has_times)
            continue;
        if (count++ == 0)
            name = device->name;
    }
    rows_int(&filler->rows, RANK_INFO_DEVICES, count);
    if (name[0])
        fill_word(filler, RANK_INFO_DEVICE_NAME, text_of(name));
    else
        rows_nulls(&filler->rows, RANK_INFO_DEVICE_NAME, 1);
}

static bool find_process(const struct catalog *catalog, int64_t *process)
{
    const struct track *track;
    array_each (track, &catalog->tracks)
        if (track->level == TRACK_PROCESS && track->id > 0) {
            *process = track->id;
            return true;
        }
    return false;
}

/* One row that tells a comparison of ranks what this profile is of; without a rank there is no
 * such table. */
bool make_rank_info(struct profile_maker *maker, struct error *err)
{
    const struct rank_info *rank = maker->options->rank;
    const struct analysis *analysis = maker->analysis;
    if (!rank)
        return true;
    struct filler filler = fill_begin(maker, TABLE_RANK_INFO, err);
    struct rows *rows = &filler.rows;
    int64_t epoch = filler.catalog->start_epoch_ns, process = 0;
    bool has_process = find_process(filler.catalog, &process);
    char writer[64];
    snprintf(writer, sizeof writer, "kymo %s", maker->version);
    fill_word(&filler, RANK_INFO_CAPTURE, text_of(rank->capture));
    if (rank->host)
        fill_word(&filler, RANK_INFO_HOST, text_of(rank->host));
    else
        rows_nulls(rows, RANK_INFO_HOST, 1);
    fill_index(&filler, RANK_INFO_PROCESS, has_process, (uint64_t)process);
    fill_index(&filler, RANK_INFO_WORLD_SIZE, rank->world_size > 0, (uint64_t)rank->world_size);
    rows_int(rows, RANK_INFO_EPOCH, epoch == TIME_UNSET ? 0 : epoch);
    rows_int(rows, RANK_INFO_FIRST, whole_ns(analysis->summary.first_ps));
    rows_int(rows, RANK_INFO_LAST, whole_ns(analysis->summary.last_ps));
    put_devices(&filler);
    rows_int(rows, RANK_INFO_STEPS, (int64_t)analysis->steps.count);
    if (analysis->steps.count > 0)
        fill_word(&filler, RANK_INFO_STEP_ORIGIN, step_origin_name(analysis->step_origin));
    else
        rows_nulls(rows, RANK_INFO_STEP_ORIGIN, 1);
    fill_word(&filler, RANK_INFO_WRITER, text_of(writer));
    return fill_end(&filler);
}
