/*
 * Samples of rates and shares. What lasts is added to windows of equal length: whole windows by
 * differences, so that the cost does not depend on how long something lasts.
 */
#include "analyze/device/device.h"

/* Of one execution; of many, each has fewer, of very many only one. */
enum { MOST_WINDOWS = 1024, LEAST_WINDOWS = 64, ALL_WINDOWS = 8192, WINDOWS_LIMIT = 1 << 20 };
static const int64_t MIN_WINDOW_PS = 1000000;

struct windows {
    int64_t start_ps, end_ps, length_ps;
    size_t count;
};

/* An amount that is spread over time, as what each window has of it. */
struct amounts {
    double *part;  /* of windows that are covered in part */
    double *whole; /* change, at the first window that is covered whole, and behind the last */
};

static struct windows windows_of(const struct device_execution *execution, uint32_t executions)
{
    int64_t share = ALL_WINDOWS / (int64_t)(executions ? executions : 1);
    int64_t most = share > MOST_WINDOWS    ? MOST_WINDOWS
                   : share < LEAST_WINDOWS ? LEAST_WINDOWS
                                           : share;
    if (executions > WINDOWS_LIMIT / LEAST_WINDOWS)
        most = executions < WINDOWS_LIMIT ? WINDOWS_LIMIT / executions : 1;
    struct windows windows = {.start_ps = execution->start_ps, .end_ps = execution->end_ps};
    int64_t length = windows.end_ps - windows.start_ps;
    windows.length_ps = length / most > MIN_WINDOW_PS ? length / most + 1 : MIN_WINDOW_PS;
    windows.count = (size_t)(length / windows.length_ps) + (length % windows.length_ps > 0);
    return windows;
}

static struct amounts amounts_new(const struct windows *windows)
{
    return (struct amounts){mem_zeroed(windows->count + 2, sizeof(double)),
                            mem_zeroed(windows->count + 2, sizeof(double))};
}

static void amounts_free(struct amounts *amounts)
{
    mem_free(amounts->part);
    mem_free(amounts->whole);
}

/* `rate` is per picosecond. */
static void add(const struct windows *windows, struct amounts *amounts, int64_t start_ps,
                int64_t end_ps, double rate)
{
    start_ps = start_ps > windows->start_ps ? start_ps : windows->start_ps;
    end_ps = end_ps < windows->end_ps ? end_ps : windows->end_ps;
    if (start_ps >= end_ps)
        return;
    size_t first = (size_t)((start_ps - windows->start_ps) / windows->length_ps);
    size_t last = (size_t)((end_ps - windows->start_ps) / windows->length_ps);
    int64_t first_end = windows->start_ps + (int64_t)(first + 1) * windows->length_ps;
    if (first == last) {
        amounts->part[first] += rate * (double)(end_ps - start_ps);
        return;
    }
    amounts->part[first] += rate * (double)(first_end - start_ps);
    amounts->whole[first + 1] += rate * (double)windows->length_ps;
    amounts->whole[last] -= rate * (double)windows->length_ps;
    amounts->part[last] +=
        rate * (double)(end_ps - windows->start_ps - (int64_t)last * windows->length_ps);
}

/* An amount that comes at a steady rate; at once where it takes no time. */
static void add_amount(const struct windows *windows, struct amounts *amounts, int64_t start_ps,
                       int64_t end_ps, double amount)
{
    if (end_ps > start_ps)
        add(windows, amounts, start_ps, end_ps, amount / (double)(end_ps - start_ps));
    else if (start_ps >= windows->start_ps && start_ps < windows->end_ps)
        amounts->part[(start_ps - windows->start_ps) / windows->length_ps] += amount;
}

/* Each window's amount, times a factor and divided by its length. */
static void put_points(const struct windows *windows, struct amounts *amounts, double factor,
                       device_points *points)
{
    double whole = 0;
    for (size_t i = 0; i < windows->count; i++) {
        int64_t start = windows->start_ps + (int64_t)i * windows->length_ps;
        int64_t left = windows->end_ps - start;
        int64_t length = left < windows->length_ps ? left : windows->length_ps;
        whole += amounts->whole[i];
        double amount = whole + amounts->part[i];
        *array_push(points) = (struct device_point){
            start, amount > 0 && length > 0 ? amount * factor / (double)length : 0};
    }
    *array_push(points) = (struct device_point){windows->end_ps, 0};
    amounts_free(amounts);
}

static void add_transfers(struct device_usage *usage, const struct windows *windows,
                          const struct device_profile *profile,
                          const struct device_execution *execution)
{
    struct amounts moved = amounts_new(windows), hbm = amounts_new(windows);
    for (size_t i = 0; i < execution->transfers.count; i++) {
        const struct device_transfer *at = &execution->transfers.items[i];
        const struct descriptor_facts *facts = &profile->descriptors[at->descriptor];
        mem_touched(sizeof *at);
        add_amount(windows, &moved, at->start_ps, at->end_ps, (double)facts->bytes);
        add_amount(windows, &hbm, at->start_ps, at->end_ps,
                   (double)facts->hbm_read + (double)facts->hbm_write);
    }
    put_points(windows, &moved, 1e12, &usage->series[SERIES_DMA_RATE]);
    put_points(windows, &hbm, 1e12, &usage->series[SERIES_HBM_RATE]);
}

/* The array works from one matmul's start to the next one's, or for as long as it takes. */
static void add_matmuls(struct device_usage *usage, const struct windows *windows,
                        const struct device_profile *profile,
                        const struct device_execution *execution)
{
    struct amounts busy = amounts_new(windows), useful = amounts_new(windows),
                   all = amounts_new(windows);
    const struct core_hardware *hardware = profile->hardware;
    double peak = 2.0 * PARTITIONS * PARTITIONS * hardware->clock_mhz[ENGINE_TENSOR] * 1e6;
    int64_t covered = INT64_MIN;
    for (size_t i = 0; i < execution->instructions[ENGINE_TENSOR].count; i++) {
        const struct device_instruction *at = &execution->instructions[ENGINE_TENSOR].items[i];
        const struct instruction_facts *facts = &profile->facts[ENGINE_TENSOR][at->pc];
        mem_touched(sizeof *at);
        if (!facts->is_matmul)
            continue;
        add(windows, &busy, at->start_ps > covered ? at->start_ps : covered, at->end_ps, 1);
        covered = at->end_ps > covered ? at->end_ps : covered;
        add_amount(windows, &all, at->start_ps, at->end_ps, (double)facts->flops);
        if (!facts->is_transpose)
            add_amount(windows, &useful, at->start_ps, at->end_ps, (double)facts->flops);
    }
    put_points(windows, &busy, 100, &usage->series[SERIES_MATRIX]);
    put_points(windows, &useful, 100 * 1e12 / peak, &usage->series[SERIES_MFU]);
    put_points(windows, &all, 100 * 1e12 / peak, &usage->series[SERIES_HFU]);
}

enum { PARTITION_SETS = 1 << SAMPLED_PARTITIONS };

struct filling {
    const struct windows *windows;
    struct amounts sbuf[PARTITION_SETS]; /* by what is alike: mostly all of them */
    struct amounts psum[PSUM_BANKS];
};

static void add_allocation(struct filling *filling, const struct device_allocation *at)
{
    const struct windows *windows = filling->windows;
    double bytes = (double)(at->end - at->begin);
    if (at->memory == MEMORY_SBUF) {
        add(windows, &filling->sbuf[at->partitions], at->start_ps, at->end_ps, bytes);
        return;
    }
    int partitions = __builtin_popcount(at->partitions);
    for (uint32_t bank = at->begin / PSUM_BANK_BYTES;
         bank < PSUM_BANKS && bank * PSUM_BANK_BYTES < at->end; bank++) {
        uint32_t low = bank * PSUM_BANK_BYTES, high = low + PSUM_BANK_BYTES;
        uint32_t from = at->begin > low ? at->begin : low, to = at->end < high ? at->end : high;
        add(windows, &filling->psum[bank], at->start_ps, at->end_ps,
            (double)(to - from) * partitions);
    }
}

/* Of whole bytes and picoseconds, exactly the sum. */
static void add_all(const struct windows *windows, struct amounts *sum, const struct amounts *part)
{
    for (size_t i = 0; i < windows->count + 2; i++) {
        sum->part[i] += part->part[i];
        sum->whole[i] += part->whole[i];
    }
}

/* Of each partition, and of all. */
static void put_sbuf(struct device_usage *usage, const struct windows *windows,
                     struct amounts *sets, double factor)
{
    struct amounts all = amounts_new(windows);
    for (unsigned i = 0; i < SAMPLED_PARTITIONS; i++) {
        struct amounts own = amounts_new(windows);
        for (unsigned set = 0; set < PARTITION_SETS; set++)
            if (set >> i & 1)
                add_all(windows, &own, &sets[set]);
        add_all(windows, &all, &own);
        put_points(windows, &own, factor, &usage->series[SERIES_SBUF_0 + i]);
    }
    put_points(windows, &all, factor / SAMPLED_PARTITIONS, &usage->series[SERIES_SBUF]);
    for (unsigned set = 0; set < PARTITION_SETS; set++)
        amounts_free(&sets[set]);
}

static void put_psum(struct device_usage *usage, const struct windows *windows,
                     struct amounts *banks, double factor)
{
    struct amounts all = amounts_new(windows);
    for (unsigned i = 0; i < PSUM_BANKS; i++) {
        add_all(windows, &all, &banks[i]);
        put_points(windows, &banks[i], factor * PSUM_BANKS / SAMPLED_PARTITIONS,
                   &usage->series[SERIES_PSUM_BANK_0 + i]);
    }
    put_points(windows, &all, factor / SAMPLED_PARTITIONS, &usage->series[SERIES_PSUM]);
}

static void add_memory(struct device_usage *usage, struct device_tracker *tracker,
                       const struct windows *windows, const struct device_profile *profile,
                       const struct device_execution *execution)
{
    struct filling filling = {.windows = windows};
    for (unsigned i = 0; i < PARTITION_SETS; i++)
        filling.sbuf[i] = amounts_new(windows);
    for (unsigned i = 0; i < PSUM_BANKS; i++)
        filling.psum[i] = amounts_new(windows);
    const struct device_allocations found = device_allocations(tracker, profile, execution);
    for (size_t i = 0; i < found.count; i++)
        add_allocation(&filling, &found.items[i]);
    put_sbuf(usage, windows, filling.sbuf, 100.0 / profile->hardware->sbuf_bytes);
    put_psum(usage, windows, filling.psum, 100.0 / PSUM_BYTES);
}

struct change {
    int64_t time_ps;
    int64_t by;
};

static bool change_before(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct change *)a)->time_ps < ((const struct change *)b)->time_ps;
}

/* A transfer is pending from its trigger's start (or the block's, if unknown) to its own end.
 * Only the last value at each time becomes a point. */
static void add_pending(struct device_usage *usage, const struct device_execution *execution)
{
    ARRAY(struct change) changes = {0};
    array_reserve(&changes, execution->blocks.count + execution->transfers.count);
    for (size_t i = 0; i < execution->blocks.count; i++) {
        const struct device_block *block = &execution->blocks.items[i];
        int64_t since =
            block->trigger == NO_INDEX
                ? block->start_ps
                : execution->instructions[block->trigger_engine].items[block->trigger].start_ps;
        *array_push(&changes) = (struct change){since, block->transfers};
    }
    for (size_t i = 0; i < execution->transfers.count; i++)
        *array_push(&changes) = (struct change){execution->transfers.items[i].end_ps, -1};
    sort_items(changes.items, changes.count, sizeof(struct change), change_before, NULL);
    device_points *points = &usage->series[SERIES_PENDING_DMA];
    int64_t pending = 0;
    for (size_t i = 0; i < changes.count; i++) {
        mem_touched(2 * sizeof(struct change));
        pending += changes.items[i].by;
        if (i + 1 == changes.count || changes.items[i + 1].time_ps != changes.items[i].time_ps)
            *array_push(points) = (struct device_point){changes.items[i].time_ps, (double)pending};
    }
    array_free(&changes);
}

void device_usage_add(struct device_usage *usage, struct device_tracker *tracker,
                      const struct device_profile *profile,
                      const struct device_execution *execution)
{
    struct windows windows = windows_of(execution, profile->span_count);
    usage->window_ps = windows.length_ps;
    add_pending(usage, execution);
    add_transfers(usage, &windows, profile, execution);
    add_memory(usage, tracker, &windows, profile, execution);
    add_matmuls(usage, &windows, profile, execution);
}

void device_usage_free(struct device_usage *usage)
{
    for (unsigned i = 0; i < DEVICE_SERIES; i++)
        array_free(&usage->series[i]);
}

/* Names of partitions and banks are written out, so callers get constant text without an owner. */
const char *device_series_name(enum device_series_kind kind)
{
    static const char *const names[DEVICE_SERIES] = {
        [SERIES_PENDING_DMA] = "Pending DMA",
        [SERIES_DMA_RATE] = "DMA throughput (B/s)",
        [SERIES_HBM_RATE] = "HBM throughput (B/s)",
        [SERIES_SBUF] = "SBUF use (%)",
        [SERIES_SBUF_0] = "SBUF partition 0 (%)",
        [SERIES_SBUF_0 + 1] = "SBUF partition 32 (%)",
        [SERIES_SBUF_0 + 2] = "SBUF partition 64 (%)",
        [SERIES_SBUF_96] = "SBUF partition 96 (%)",
        [SERIES_PSUM] = "PSUM use (%)",
        [SERIES_PSUM_BANK_0] = "PSUM bank 0 (%)",
        [SERIES_PSUM_BANK_0 + 1] = "PSUM bank 1 (%)",
        [SERIES_PSUM_BANK_0 + 2] = "PSUM bank 2 (%)",
        [SERIES_PSUM_BANK_0 + 3] = "PSUM bank 3 (%)",
        [SERIES_PSUM_BANK_0 + 4] = "PSUM bank 4 (%)",
        [SERIES_PSUM_BANK_0 + 5] = "PSUM bank 5 (%)",
        [SERIES_PSUM_BANK_0 + 6] = "PSUM bank 6 (%)",
        [SERIES_PSUM_BANK_7] = "PSUM bank 7 (%)",
        [SERIES_SCRATCHPAD] = "Scratchpad use (B)",
        [SERIES_MATRIX] = "TensorMatrix utilization (%)",
        [SERIES_MFU] = "MFU (%)",
        [SERIES_HFU] = "HFU (%)",
    };
    return names[kind];
}
