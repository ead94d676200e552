/*
 * Samples over time: PendingDma, DmaUsage, HbmUsage, SbufUsage, PsumUsage, SbufAllocation,
 * ActiveTime.
 */
#include "store/tables/device_tables.h"

static void put_pending(struct filler *filler, const struct device_at *at)
{
    const device_points *points = &at->core->usage.series[SERIES_PENDING_DMA];
    for (size_t i = 0; i < points->count && fill_continue(filler); i++) {
        mem_touched(sizeof *points->items);
        fill_int(filler, PENDING_TIMESTAMP, whole_ns(points->items[i].time_ps));
        fill_int(filler, PENDING_VALUE, (int64_t)points->items[i].value);
        fill_int(filler, PENDING_PCORE_IDX, at->physical_core);
        fill_int(filler, PENDING_RANK, at->rank);
    }
}

/* Rates, with the bytes until the end of each sample. Tables of DMA and HBM have equal columns. */
static void put_rates(struct filler *filler, const struct device_at *at,
                      enum device_series_kind kind)
{
    const device_points *points = &at->core->usage.series[kind];
    double bytes = 0;
    for (size_t i = 0; i < points->count && fill_continue(filler); i++) {
        const struct device_point *point = &points->items[i];
        if (i + 1 < points->count)
            bytes += point->value * (double)(points->items[i + 1].time_ps - point->time_ps) / 1e12;
        fill_int(filler, DMA_USAGE_TIMESTAMP, whole_ns(point->time_ps));
        rows_double(&filler->rows, DMA_USAGE_CURRENT_THROUGHPUT, point->value);
        fill_int(filler, DMA_USAGE_TOTAL_TRANSFER_BYTES, (int64_t)(bytes + 0.5));
        fill_int(filler, DMA_USAGE_PCORE_IDX, at->physical_core);
        fill_int(filler, DMA_USAGE_RANK, at->rank);
    }
}
static_assert((int)DMA_USAGE_COLUMNS == (int)HBM_USAGE_COLUMNS &&
                  (int)DMA_USAGE_RANK == (int)HBM_USAGE_RANK,
              "both are filled alike");

static void put_dma_rates(struct filler *filler, const struct device_at *at)
{
    put_rates(filler, at, SERIES_DMA_RATE);
}

static void put_hbm_rates(struct filler *filler, const struct device_at *at)
{
    put_rates(filler, at, SERIES_HBM_RATE);
}

bool make_samples(struct profile_maker *maker, struct error *err)
{
    return fill_cores(maker, TABLE_PENDING, put_pending, err) &&
           fill_cores(maker, TABLE_DMA_USAGE, put_dma_rates, err) &&
           fill_cores(maker, TABLE_HBM_USAGE, put_hbm_rates, err);
}

/* A whole, then its parts. */
static void put_shares(struct filler *filler, const struct device_at *at,
                       enum device_series_kind whole, size_t parts)
{
    const device_points *series = &at->core->usage.series[whole];
    for (size_t i = 0; i < series->count && fill_continue(filler); i++) {
        fill_int(filler, SBUF_USAGE_TIMESTAMP, whole_ns(series->items[i].time_ps));
        for (size_t k = 0; k <= parts; k++)
            rows_double(&filler->rows, SBUF_USAGE_AVG_UTIL_PERCENT + k,
                        (series + k)->items[i].value);
        fill_int(filler, SBUF_USAGE_AVG_UTIL_PERCENT + parts + 1, at->physical_core);
        fill_int(filler, SBUF_USAGE_AVG_UTIL_PERCENT + parts + 2, at->rank);
    }
}

static void put_sbuf_shares(struct filler *filler, const struct device_at *at)
{
    put_shares(filler, at, SERIES_SBUF, SAMPLED_PARTITIONS);
}

static void put_psum_shares(struct filler *filler, const struct device_at *at)
{
    put_shares(filler, at, SERIES_PSUM, PSUM_BANKS);
}

bool make_memory_samples(struct profile_maker *maker, struct error *err)
{
    return fill_cores(maker, TABLE_SBUF_USAGE, put_sbuf_shares, err) &&
           fill_cores(maker, TABLE_PSUM_USAGE, put_psum_shares, err);
}

static void put_transfer_origin(struct record *record, const struct device_at *at, uint32_t index)
{
    const struct device_transfer *item = &at->execution->transfers.items[index];
    uint32_t block = at->execution->blocks.items[item->run].block;
    uint32_t variable = at->core->profile->descriptors[item->descriptor].variable;
    record_put(record, SBUF_ALLOCATION_OP_SOURCE_TYPE, at->names->by_dma);
    record_put(record, SBUF_ALLOCATION_QUEUE_NAME,
               at->names->queues[at->program->blocks[block].queue]);
    record_put(record, SBUF_ALLOCATION_BLOCK_ID, block);
    record_put_name(record, SBUF_ALLOCATION_TENSOR_NAME,
                    variable == NO_INDEX ? 0 : at->names->variables[variable]);
}

static void put_instruction_origin(struct record *record, const struct device_at *at,
                                   enum engine engine, uint32_t index)
{
    uint32_t pc = at->execution->instructions[engine].items[index].pc;
    const struct instruction *code = &at->program->code[engine][pc];
    record_put(record, SBUF_ALLOCATION_OP_SOURCE_TYPE, at->names->by_instruction);
    record_put(record, SBUF_ALLOCATION_OPCODE, at->names->opcodes[code->opcode]);
    record_put(record, SBUF_ALLOCATION_OPERANDS, at->names->operands[engine][pc]);
    record_put_name(record, SBUF_ALLOCATION_HLO_NAME,
                    code->origin == NO_INDEX ? 0 : at->names->operations[code->origin]);
}

static void put_range(struct filler *filler, const struct device_at *at,
                      const struct device_allocation *item, unsigned partition)
{
    struct record *record = fill_record(filler);
    record_put(record, SBUF_ALLOCATION_START_TS, whole_ns(item->start_ps));
    record_put(record, SBUF_ALLOCATION_END_TS, whole_ns(item->end_ps));
    record_put(record, SBUF_ALLOCATION_START_ADDRESS, item->begin);
    record_put(record, SBUF_ALLOCATION_END_ADDRESS, item->end);
    record_put(record, SBUF_ALLOCATION_PARTITION, partition);
    if (item->is_transfer)
        put_transfer_origin(record, at, item->index);
    else
        put_instruction_origin(record, at, (enum engine)item->engine, item->index);
    record_put(record, SBUF_ALLOCATION_PCORE_IDX, at->physical_core);
    record_put(record, SBUF_ALLOCATION_RANK, at->rank);
}

/* A row for each of an allocation's partitions. */
static size_t row_count(const struct device_allocations *found)
{
    size_t rows = 0;
    for (size_t i = 0; i < found->count; i++)
        if (found->items[i].memory == MEMORY_SBUF)
            rows += (size_t)__builtin_popcount(found->items[i].partitions);
    return rows;
}

/* What differs from the execution before. */
static void put_allocation_times(struct filler *filler, const struct device_allocations *found,
                                 size_t row_count)
{
    int64_t *start = rows_numbers(&filler->rows, SBUF_ALLOCATION_START_TS, row_count);
    int64_t *end = rows_numbers(&filler->rows, SBUF_ALLOCATION_END_TS, row_count);
    for (size_t i = 0; i < found->count; i++) {
        const struct device_allocation *item = &found->items[i];
        if (item->memory != MEMORY_SBUF)
            continue;
        int64_t from = whole_ns(item->start_ps), to = whole_ns(item->end_ps);
        for (int k = __builtin_popcount(item->partitions); k > 0; k--) {
            *start++ = from;
            *end++ = to;
        }
    }
}

static void put_whole_allocations(struct filler *filler, const struct device_at *at,
                                  const struct device_allocations *found)
{
    fill_mark_begin(filler);
    for (size_t i = 0; i < found->count; i++)
        for (unsigned k = 0; k < SAMPLED_PARTITIONS; k++)
            if (found->items[i].memory == MEMORY_SBUF && found->items[i].partitions >> k & 1 &&
                fill_continue(filler))
                put_range(filler, at, &found->items[i], k * SAMPLED_STEP);
    fill_mark_end(filler);
}

void put_allocations(struct filler *filler, const struct device_at *at)
{
    const struct device_allocations found =
        device_allocations(at->tracker, at->core->profile, at->execution);
    size_t rows = row_count(&found);
    mem_touched(found.count * sizeof *found.items);
    if (found.is_same && at->is_alike && rows > 0 && fill_repeatable(filler) == rows) {
        put_allocation_times(filler, &found, rows);
        for (size_t i = SBUF_ALLOCATION_START_ADDRESS; i < SBUF_ALLOCATION_COLUMNS; i++)
            fill_repeat(filler, i);
    } else {
        put_whole_allocations(filler, at, &found);
    }
}

void put_active_times(struct filler *filler, const struct device_at *at)
{
    for (unsigned unit = 0; unit < DEVICE_UNITS; unit++) {
        device_intervals active = {0};
        device_active(at->execution, (enum device_unit)unit, &active);
        for (size_t i = 0; i < active.count && fill_continue(filler); i++) {
            int64_t start = whole_ns(active.items[i].start_ps);
            int64_t end = whole_ns(active.items[i].end_ps);
            struct record *record = fill_record(filler);
            record_put(record, ACTIVE_START_TS, start);
            record_put(record, ACTIVE_END_TS, end);
            record_put(record, ACTIVE_ENGINE, at->names->units[unit]);
            record_put(record, ACTIVE_PCORE_IDX, at->physical_core);
            record_put(record, ACTIVE_DURATION_NS, end - start);
            record_put(record, ACTIVE_RANK, at->rank);
        }
        array_free(&active);
    }
}
