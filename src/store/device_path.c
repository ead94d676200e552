/*
 * CriticalPath: what the time of each execution consists of. Ids of what dependencies speak of.
 */
#include "store/device_tables.h"

struct device_item_ids device_item_ids_make(const struct device_at *at)
{
    struct device_item_ids ids = {.blocks = device_block_ids(at),
                                  .collectives = device_collective_ids(at)};
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        ids.instructions[e] = device_instruction_ids(at, (enum engine)e);
    return ids;
}

void device_item_ids_free(struct device_item_ids *ids)
{
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        mem_free(ids->instructions[e]);
    mem_free(ids->blocks);
    mem_free(ids->collectives);
}

bool device_item_id(const struct device_at *at, const struct device_item_ids *ids,
                    struct device_item item, int64_t *id, uint32_t *table)
{
    const struct device_names *names = at->names;
    switch ((enum device_item_kind)item.kind) {
    case ITEM_INSTRUCTION:
        *id = ids->instructions[item.engine][item.index];
        *table = names->instruction_table;
        return true;
    case ITEM_TRANSFER:
        *id = ids->blocks[at->execution->transfers.items[item.index].run];
        *table = names->transfer_table;
        return true;
    case ITEM_BLOCK:
        *id = ids->blocks[item.index];
        *table = names->transfer_table;
        return true;
    case ITEM_COLLECTIVE:
        *id = ids->collectives[item.index];
        *table = names->collective_table;
        return true;
    case ITEM_NONE:
        break;
    }
    return false;
}

/* The unit that works or waits; "" where nothing was recorded. */
static const char *unit_of(struct device_item item)
{
    switch ((enum device_item_kind)item.kind) {
    case ITEM_INSTRUCTION:
        return hardware_engine_name((enum engine)item.engine);
    case ITEM_TRANSFER:
    case ITEM_BLOCK:
        return "DMA";
    case ITEM_COLLECTIVE:
        return "Collectives";
    case ITEM_NONE:
        break;
    }
    return "";
}

static void put_segment(struct filler *filler, const struct device_at *at,
                        const struct device_item_ids *ids, const struct device_segment *segment)
{
    struct record *record = fill_record(filler);
    int64_t id;
    uint32_t table;
    record_put_ends(record, PATH_START_TS, segment->start_ps, segment->end_ps);
    record_put(record, PATH_UNIT, rows_own_name(&filler->rows, text_of(unit_of(segment->item))));
    if (segment->wait != WAIT_NOT)
        record_put(record, PATH_WAIT,
                   rows_own_name(&filler->rows,
                                 text_of(device_wait_name((enum device_wait)segment->wait))));
    if (device_item_id(at, ids, segment->item, &id, &table)) {
        record_put(record, PATH_EVENT_ID, id);
        record_put(record, PATH_EVENT_TABLE, table);
    }
    record_put(record, PATH_EXECUTION_INDEX, at->execution->info.index);
    record_put(record, PATH_RANK, at->rank);
    (void)fill_continue(filler);
}

static void put_path(struct filler *filler, const struct device_at *at)
{
    struct device_dependencies dependencies;
    struct device_path path = {0};
    struct device_item_ids ids = device_item_ids_make(at);
    device_dependencies_find(&dependencies, at->core->profile, at->execution);
    device_critical_path(&dependencies, &path);
    for (size_t i = 0; i < path.segments.count && !filler->failed; i++)
        put_segment(filler, at, &ids, &path.segments.items[i]);
    device_path_free(&path);
    device_dependencies_free(&dependencies);
    device_item_ids_free(&ids);
}

bool make_critical_path(struct profile_maker *maker, struct error *err)
{
    return fill_executions(maker, TABLE_CRITICAL_PATH, put_path, err);
}
