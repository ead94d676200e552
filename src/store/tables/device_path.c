/*
 * CriticalPath: what the time of each execution consists of.
 */
#include "store/tables/device_tables.h"

/* The unit that works or waits; "" where nothing was recorded. */
static uint32_t unit_of(const struct device_names *names, struct device_item item)
{
    switch ((enum device_item_kind)item.kind) {
    case ITEM_INSTRUCTION:
        return names->engines[item.engine];
    case ITEM_TRANSFER:
    case ITEM_BLOCK:
        return names->dma;
    case ITEM_COLLECTIVE:
        return names->collectives;
    case ITEM_ERROR:
    case ITEM_NONE:
        break;
    }
    return 0;
}

static void put_segment(struct filler *filler, const struct device_at *at,
                        const struct device_segment *segment)
{
    struct record *record = fill_record(filler);
    int64_t id;
    uint32_t table;
    record_put_ends(record, PATH_START_TS, segment->start_ps, segment->end_ps);
    record_put(record, PATH_UNIT, unit_of(at->names, segment->item));
    if (segment->wait != WAIT_NOT)
        record_put(record, PATH_WAIT, at->names->waits[segment->wait]);
    if (device_item_id(at, segment->item, &id, &table)) {
        record_put(record, PATH_EVENT_ID, id);
        record_put(record, PATH_EVENT_TABLE, table);
    }
    record_put(record, PATH_EXECUTION_INDEX, at->execution->info.index);
    record_put(record, PATH_RANK, at->rank);
    (void)fill_continue(filler);
}

void put_critical_path(struct filler *filler, const struct device_at *at)
{
    const struct device_segment *segment;
    array_each (segment, &at->path->segments)
        put_segment(filler, at, segment);
}
