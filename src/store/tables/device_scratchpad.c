/*
 * The memory tracker: ScratchpadUsage, ScratchpadAllocation. Only of cores whose memory is tracked.
 */
#include "store/tables/device_tables.h"

static void put_allocation(struct filler *filler, const struct device_at *at, int64_t id,
                           const struct device_scratchpad_use *use)
{
    struct record *record = fill_record(filler);
    record_put_ends(record, SCRATCHPAD_START_TS, use->start_ps, use->end_ps);
    record_put(record, SCRATCHPAD_ID, id);
    record_put(record, SCRATCHPAD_START_ADDRESS, (int64_t)use->offset);
    record_put(record, SCRATCHPAD_END_ADDRESS, (int64_t)(use->offset + use->bytes));
    record_put(record, SCRATCHPAD_SIZE_BYTES, (int64_t)use->bytes);
    record_put(record, SCRATCHPAD_TENSOR_NAME, at->names->variables[use->variable]);
    record_put_name(record, SCRATCHPAD_LAYER,
                    use->origin == NO_INDEX ? 0 : at->names->layers[use->origin]);
    record_put(record, SCRATCHPAD_READ_BYTES, (int64_t)use->read);
    record_put(record, SCRATCHPAD_WRITE_BYTES, (int64_t)use->written);
    record_put(record, SCRATCHPAD_ACCESS_COUNT, (int64_t)use->accesses);
    record_put(record, SCRATCHPAD_PCORE_IDX, at->physical_core);
    record_put(record, SCRATCHPAD_EXECUTION_INDEX, at->core->profile->spans[at->number].index);
    record_put(record, SCRATCHPAD_RANK, at->rank);
    (void)fill_continue(filler);
}

void put_scratchpad_allocations(struct filler *filler, const struct device_at *at)
{
    if (!at->core->scratchpad)
        return;
    const device_scratchpad_uses *uses = &at->core->scratchpad[at->number];
    int64_t id = uses->count == 0
                     ? 0
                     : device_first_id(at, device_lane_of(at->core, DEVICE_LANE_SCRATCHPAD, 0, 0));
    for (size_t i = 0; i < uses->count && !filler->failed; i++)
        put_allocation(filler, at, id + (int64_t)i, &uses->items[i]);
}

void put_scratchpad_usage(struct filler *filler, const struct device_at *at)
{
    device_scratchpad_steps steps = {0};
    if (at->core->scratchpad)
        device_scratchpad_over_time(&at->core->scratchpad[at->number], &steps);
    double all = (double)at->program->scratchpad_bytes;
    for (size_t i = 0; i < steps.count && fill_continue(filler); i++) {
        const struct device_scratchpad_step *step = &steps.items[i];
        struct record *record = fill_record(filler);
        record_put(record, SCRATCHPAD_USAGE_TIMESTAMP, whole_ns(step->time_ps));
        record_put(record, SCRATCHPAD_USAGE_USED_BYTES, (int64_t)step->bytes);
        record_put(record, SCRATCHPAD_USAGE_TENSOR_COUNT, step->tensors);
        record_put_real(record, SCRATCHPAD_USAGE_UTIL_PERCENT,
                        all > 0 ? 100 * (double)step->bytes / all : 0);
        record_put(record, SCRATCHPAD_USAGE_PCORE_IDX, at->physical_core);
        record_put(record, SCRATCHPAD_USAGE_RANK, at->rank);
    }
    array_free(&steps);
}
