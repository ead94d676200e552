/*
 * Reads one execution: all units in parallel, the largest first, then what joins them.
 */
#include "analyze/device/execution.h"

static void take_explicit(void *context, const struct notification *item, int64_t ps)
{
    struct unit *unit = context;
    if (item->id == 0 && (unit->explicit_start == NO_TIME || ps < unit->explicit_start))
        unit->explicit_start = ps;
    else if (item->id == 1 && ps > unit->explicit_stop)
        unit->explicit_stop = ps;
    else if (item->id > 1)
        unit->unpaired++;
}

static void take_error(void *context, const struct notification *item, int64_t ps)
{
    struct unit *unit = context;
    *array_push(&unit->errors) = (struct device_error){.time_ps = ps,
                                                       .kind = (uint8_t)item->id,
                                                       .unit = item->unit,
                                                       .at = item->value,
                                                       .detail = item->detail};
}

static void take_throttle(void *context, const struct notification *item, int64_t ps)
{
    struct unit *unit = context;
    if (item->id > THROTTLE_ACTIVITY_1 || item->value > FULL_RATE)
        unit->unpaired++;
    else
        *array_push(&unit->throttles) = (struct device_throttle){
            .start_ps = ps, .kind = (uint8_t)item->id, .rate = item->value};
}

static void skip_one(void *context, const struct notification *item, int64_t ps)
{
    struct unit *unit = context;
    (void)item, (void)ps;
    unit->unpaired++;
}

/* Unknown types and unit numbers are read too, so their notifications are counted instead of
 * vanishing. */
static void read_unit(const struct reader *reader, struct unit *unit)
{
    switch ((enum notification_type)unit->type) {
    case NOTIFICATION_TRACE:
        if (unit->number < ENGINE_COUNT) {
            unit_read_instructions(reader, unit);
            return;
        }
        break;
    case NOTIFICATION_TRACE_DMA:
        if (unit->number < DMA_ENGINES) {
            unit_read_transfers(reader, unit);
            return;
        }
        break;
    case NOTIFICATION_COLLECTIVE:
        unit_read_collectives(reader, unit);
        return;
    case NOTIFICATION_NOTIFY:
        unit_read(reader, unit, take_explicit, unit);
        return;
    case NOTIFICATION_ERROR:
        unit_read(reader, unit, take_error, unit);
        return;
    case NOTIFICATION_THROTTLE:
        unit_read(reader, unit, take_throttle, unit);
        return;
    case NOTIFICATION_EVENT:
        if (unit->number < ENGINE_COUNT) {
            unit_read_updates(reader, unit);
            return;
        }
        break;
    case NOTIFICATION_TYPES:
        break;
    }
    unit_read(reader, unit, skip_one, unit);
}

/* Blocks are sorted by type and unit, so a unit's blocks are adjacent and one pass suffices.
 * The reader owns the list. */
static void list_units(struct reader *reader)
{
    const struct device_profile *profile = reader->profile;
    size_t block_count;
    const struct ntff_block *blocks = ntff_blocks(profile->ntff, &block_count);
    ARRAY(struct unit) units = {0};
    for (uint32_t i = 0; i < reader->span->block_count; i++) {
        uint32_t place = reader->span->first_block + i;
        const struct ntff_block *block = &blocks[profile->blocks[place]];
        struct unit *last = units.count ? &units.items[units.count - 1] : NULL;
        if (!last || last->type != block->type || last->number != block->unit) {
            last = array_push(&units);
            *last = (struct unit){.type = block->type,
                                  .number = block->unit,
                                  .first = place,
                                  .gap = block->gap,
                                  .first_ps = NO_TIME,
                                  .last_ps = NO_TIME,
                                  .explicit_start = NO_TIME,
                                  .explicit_stop = NO_TIME};
        }
        last->count++;
        last->notifications += block->count;
    }
    reader->units = units.items;
    reader->unit_count = units.count;
}

/* The units to read in a phase, the largest first. */
struct phase {
    const struct reader *reader;
    struct unit **units;
    size_t count;
};

static bool larger_first(const void *a, const void *b, const void *context)
{
    (void)context;
    return (*(struct unit *const *)a)->notifications > (*(struct unit *const *)b)->notifications;
}

static bool read_in_phase(void *context, size_t index, unsigned worker)
{
    const struct phase *phase = context;
    (void)worker;
    read_unit(phase->reader, phase->units[index]);
    return true;
}

static void run_phase(const struct reader *reader, bool updates, struct pool *pool)
{
    struct phase phase = {.reader = reader,
                          .units = mem_alloc(reader->unit_count * sizeof *phase.units)};
    for (size_t i = 0; i < reader->unit_count; i++)
        if ((reader->units[i].type == NOTIFICATION_EVENT) == updates)
            phase.units[phase.count++] = &reader->units[i];
    sort_items(phase.units, phase.count, sizeof(struct unit *), larger_first, NULL);
    if (pool)
        pool_run(pool, phase.count, read_in_phase, &phase);
    else
        for (size_t i = 0; i < phase.count; i++)
            read_in_phase(&phase, i, 0);
    mem_free(phase.units);
}

#define append(to, from)                                                                           \
    do {                                                                                           \
        if ((from)->count > 0) {                                                                   \
            array_reserve(to, (to)->count + (from)->count);                                        \
            memcpy((to)->items + (to)->count, (from)->items, (from)->count * sizeof *(to)->items); \
            (to)->count += (from)->count;                                                          \
        }                                                                                          \
        array_free(from);                                                                          \
    } while (0)

/* What a unit found becomes part of the execution. Units are in order of type and number. */
static void take_results(struct reader *reader)
{
    struct device_execution *execution = reader->execution;
    for (size_t i = 0; i < reader->unit_count; i++) {
        struct unit *unit = &reader->units[i];
        if (unit->instructions.count > 0)
            memcpy(&execution->instructions[unit->number], &unit->instructions,
                   sizeof unit->instructions);
        else
            array_free(&unit->instructions);
        memset(&unit->instructions, 0, sizeof unit->instructions);
        uint32_t before = (uint32_t)execution->collectives.count;
        for (size_t k = 0; k < unit->cc_steps.count; k++)
            unit->cc_steps.items[k].collective += before;
        append(&execution->transfers, &unit->transfers);
        append(&execution->collectives, &unit->collectives);
        append(&execution->cc_steps, &unit->cc_steps);
        append(&execution->errors, &unit->errors);
        append(&execution->throttles, &unit->throttles);
    }
}

static bool update_before(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct device_update *)a)->time_ps < ((const struct device_update *)b)->time_ps;
}

static bool error_before(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct device_error *)a)->time_ps < ((const struct device_error *)b)->time_ps;
}

static bool throttle_before(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct device_throttle *)a)->start_ps <
           ((const struct device_throttle *)b)->start_ps;
}

/* By its explicit notifications, else by the first and the last of all. */
static void find_bounds(struct reader *reader)
{
    struct device_execution *execution = reader->execution;
    int64_t first = NO_TIME, last = NO_TIME, start = NO_TIME, stop = NO_TIME;
    for (size_t i = 0; i < reader->unit_count; i++) {
        const struct unit *unit = &reader->units[i];
        execution->notifications += unit->notifications;
        execution->unpaired += unit->unpaired;
        ntff_loss_add(&execution->loss, &unit->loss);
        if (unit->first_ps != NO_TIME && (first == NO_TIME || unit->first_ps < first))
            first = unit->first_ps;
        last = unit->last_ps > last ? unit->last_ps : last;
        if (unit->explicit_start != NO_TIME && (start == NO_TIME || unit->explicit_start < start))
            start = unit->explicit_start;
        stop = unit->explicit_stop > stop ? unit->explicit_stop : stop;
    }
    execution->start_ps = start != NO_TIME   ? start
                          : first != NO_TIME ? first
                                             : reader->span->start_ps;
    execution->end_ps = stop != NO_TIME ? stop : last != NO_TIME ? last : execution->start_ps;
    if (execution->end_ps < execution->start_ps)
        execution->end_ps = execution->start_ps;
}

/* A throttling lasts until the next notification, the last one until the execution's end. */
static void find_throttles(struct device_execution *execution)
{
    struct device_throttle *items = execution->throttles.items;
    size_t kept = 0, count = execution->throttles.count;
    sort_items(items, count, sizeof *items, throttle_before, NULL);
    for (size_t i = 0; i < count; i++) {
        int64_t end = i + 1 < count ? items[i + 1].start_ps : execution->end_ps;
        if (items[i].rate == FULL_RATE)
            continue;
        items[kept] = items[i];
        items[kept++].end_ps = end > items[i].start_ps ? end : items[i].start_ps;
    }
    execution->throttles.count = kept;
}

static void merge_updates(struct reader *reader)
{
    struct device_execution *execution = reader->execution;
    size_t count = 0;
    for (size_t i = 0; i < reader->unit_count; i++)
        count += reader->units[i].updates.count;
    array_reserve(&execution->updates, count);
    for (size_t i = 0; i < reader->unit_count; i++)
        append(&execution->updates, &reader->units[i].updates);
    sort_items(execution->updates.items, execution->updates.count, sizeof *execution->updates.items,
               update_before, NULL);
}

static void free_units(struct reader *reader)
{
    for (size_t i = 0; i < reader->unit_count; i++) {
        struct unit *unit = &reader->units[i];
        array_free(&unit->instructions);
        array_free(&unit->transfers);
        array_free(&unit->collectives);
        array_free(&unit->cc_steps);
        array_free(&unit->updates);
        array_free(&unit->errors);
        array_free(&unit->throttles);
    }
    mem_free(reader->units);
}

void device_read_execution(const struct device_profile *profile, uint32_t number, struct pool *pool,
                           struct device_execution *execution)
{
    const struct device_span *span = &profile->spans[number];
    *execution = (struct device_execution){.info = span->info, .has_info = span->has_info};
    struct reader reader = {.profile = profile, .span = span, .execution = execution};
    list_units(&reader);
    run_phase(&reader, false, pool);
    take_results(&reader);
    join_blocks(profile, execution);
    join_collectives(profile, execution);
    run_phase(&reader, true, pool);
    merge_updates(&reader);
    join_updates(profile, execution);
    find_bounds(&reader);
    find_throttles(execution);
    sort_items(execution->errors.items, execution->errors.count, sizeof *execution->errors.items,
               error_before, NULL);
    free_units(&reader);
}

void device_execution_free(struct device_execution *execution)
{
    if (execution->is_packed)
        return;
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        array_free(&execution->instructions[e]);
    array_free(&execution->transfers);
    array_free(&execution->blocks);
    array_free(&execution->collectives);
    array_free(&execution->cc_steps);
    array_free(&execution->updates);
    array_free(&execution->errors);
    array_free(&execution->throttles);
}
