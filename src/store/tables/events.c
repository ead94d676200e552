/*
 * Writes the tables with one row per event. Workers convert batches to rows concurrently; args with
 * a column of their own are left out of extra_attributes_json, so every arg is stored once.
 */
#include "store/tables/events.h"

enum {
    PARTS_TOGETHER = 32,     /* parts of the source per row group: 65,536 events of XPlane */
    ANALYSIS_BYTES = 32,     /* memory of the analysis read per event */
    LARGEST_VALUE = 1 << 30, /* fits a page, whose size is a signed 32-bit number */
};

static void describe_lanes(struct event_sink *sink)
{
    struct catalog *catalog = &sink->maker->source->catalog;
    sink->locations = locations_of(catalog);
    for (enum layer layer = LAYER_OTHER; layer <= LAYER_DEVICE; layer++)
        sink->layers[layer] = catalog_string(catalog, layer_name(layer));
    sink->roles = roles_of_keys(catalog);
}

static size_t put_digits(char *to, uint64_t number)
{
    char digits[20];
    size_t count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    for (size_t i = 0; i < count; i++)
        to[i] = digits[count - 1 - i];
    return count;
}

static size_t put_signed(char *to, int64_t number)
{
    if (number >= 0)
        return put_digits(to, (uint64_t)number);
    *to = '-';
    return 1 + put_digits(to + 1, -(uint64_t)number);
}

/* Flow ids: process and correlation id, or type and id of a context. */
static size_t launch_flow(char *to, uint32_t process, uint64_t correlation)
{
    size_t size = put_digits(to, process);
    to[size++] = '.';
    return size + put_digits(to + size, correlation);
}

static size_t context_flow(char *to, uint32_t process, int64_t type, int64_t id)
{
    size_t size = put_digits(to, process);
    to[size++] = '.';
    size += put_signed(to + size, type);
    to[size++] = '.';
    return size + put_signed(to + size, id);
}

/* Finds the launch of a device event and the id of their flow. */
static void find_flow(const struct event_sink *sink, struct worker *worker, uint32_t process,
                      uint64_t correlation)
{
    if (correlation == worker->correlation && worker->flow_size > 0)
        return;
    worker->correlation = correlation;
    worker->launch = find_launch(sink->maker->analysis, process, correlation);
    worker->flow_size = launch_flow(worker->flow, process, correlation);
}

/* Args without a column, as JSON; false if there are none. */
static bool put_attributes(const struct event_sink *sink, struct worker *worker,
                           const struct event *event)
{
    struct rows *rows = &worker->rows[TABLE_EVENTS];
    worker->rest.count = 0;
    for (uint32_t i = 0; i < event->args.count; i++) {
        const struct arg *arg = &event->args.items[i];
        uint8_t role = sink->roles[arg->key];
        if (!(event->taken >> role & 1) || event->by_role[role] != arg)
            *array_push(&worker->rest) = *arg;
    }
    if (worker->rest.count == 0)
        return false;
    struct json json;
    struct arg_list rest = {worker->rest.items, (uint32_t)worker->rest.count};
    worker->text.size = 0;
    json_begin(&json, &worker->text, false);
    args_to_json(&json, sink->maker->analysis->catalog, &rest);
    if (worker->text.size > LARGEST_VALUE) {
        worker->is_too_large = true;
        worker->text.size = 1;
    }
    rows_item(rows, EVENT_ATTRIBUTES,
              (struct text){worker->text.data, worker->text.size - 1}); /* without newline */
    return true;
}

/* Returns how many. */
static uint32_t put_flows(const struct event_sink *sink, struct worker *worker,
                          const struct event *event, size_t *mark)
{
    char text[FLOW_TEXT];
    const struct analysis *analysis = sink->maker->analysis;
    struct rows *rows = &worker->rows[TABLE_EVENTS];
    uint32_t track = event->batch->track, process = sink->locations[track].process_track, items = 0;
    const uint64_t *correlations = analysis->lanes[track].correlation;
    if (correlations && correlations[event->number]) {
        rows_item(rows, EVENT_FLOWS, (struct text){worker->flow, worker->flow_size});
        items++;
    }
    const struct mark *marks = analysis->marks.items;
    while (*mark < analysis->marks.count && marks[*mark].ref.track == track &&
           marks[*mark].ref.event < event->number)
        ++*mark;
    for (; *mark < analysis->marks.count && marks[*mark].ref.track == track &&
           marks[*mark].ref.event == event->number;
         ++*mark) {
        const struct mark *at = &marks[*mark];
        size_t size = 0;
        if (at->kind == MARK_LAUNCH)
            size = launch_flow(text, process, (uint64_t)at->id);
        else if (at->kind == MARK_PRODUCER || at->kind == MARK_CONSUMER)
            size = context_flow(text, process, at->type, at->id);
        if (size == 0)
            continue;
        rows_item(rows, EVENT_FLOWS, (struct text){text, size});
        items++;
    }
    return items;
}

/* Flows, details and attributes are all made of args; only work of GPUs is known by its type. */
static bool has_details(const struct event_sink *sink, const struct batch *batch)
{
    return (batch->count > 0 && batch->arg_end[batch->count - 1] > 0) ||
           sink->locations[batch->track].layer == LAYER_GPU;
}

/* Columns computed event by event. */
static void put_each(const struct event_sink *sink, struct worker *worker,
                     const struct batch *batch)
{
    const struct analysis *analysis = sink->maker->analysis;
    if (!has_details(sink, batch)) {
        rows_nulls(&worker->rows[TABLE_EVENTS], EVENT_FLOWS, batch->count);
        rows_nulls(&worker->rows[TABLE_EVENTS], EVENT_ATTRIBUTES, batch->count);
        return;
    }
    const uint64_t *correlations = analysis->lanes[batch->track].correlation;
    uint32_t process = sink->locations[batch->track].process_track;
    size_t mark = first_mark(analysis, batch->track, batch->first);
    worker->flow_size = 0;
    for (uint32_t i = 0; i < batch->count; i++) {
        struct event event;
        event.batch = batch;
        event.index = i;
        event.number = batch->first + i;
        event.id = sink->maker->first_event[batch->track] + event.number;
        event.args = batch_args(batch, i);
        if (correlations && correlations[event.number])
            find_flow(sink, worker, process, correlations[event.number]);
        else
            worker->launch = NULL, worker->flow_size = 0;
        worker->items[i] = put_flows(sink, worker, &event, &mark);
        add_to_kind(sink, worker, &event);
        worker->present[i] = put_attributes(sink, worker, &event);
    }
    rows_end_lists(&worker->rows[TABLE_EVENTS], EVENT_FLOWS, worker->items, batch->count);
    rows_end_texts(&worker->rows[TABLE_EVENTS], EVENT_ATTRIBUTES, worker->present, batch->count);
    flush_kinds(worker);
}

static void put_times(struct rows *rows, const struct batch *batch)
{
    int64_t *starts = rows_numbers(rows, EVENT_START, batch->count);
    int64_t *ends = rows_numbers(rows, EVENT_END, batch->count);
    int64_t *durations = rows_numbers(rows, EVENT_DURATION, batch->count);
    int64_t *start_rest = rows_numbers(rows, EVENT_START_FRACTION, batch->count);
    int64_t *duration_rest = rows_numbers(rows, EVENT_DURATION_FRACTION, batch->count);
    for (uint32_t i = 0; i < batch->count; i++) {
        starts[i] = whole_ns(batch->start_ps[i]);
        durations[i] = whole_ns(batch->duration_ps[i]);
        ends[i] = add_saturated(starts[i], durations[i]);
        start_rest[i] = rest_ps(batch->start_ps[i]);
        duration_rest[i] = rest_ps(batch->duration_ps[i]);
    }
}

static void put_self_times(const struct event_sink *sink, struct rows *rows,
                           const struct batch *batch)
{
    const int64_t *self_ps = sink->maker->analysis->lanes[batch->track].self_ps;
    const int64_t *times = self_ps ? self_ps + batch->first : batch->duration_ps;
    int64_t *self = rows_numbers(rows, EVENT_SELF, batch->count);
    for (uint32_t i = 0; i < batch->count; i++)
        self[i] = times[i] > 0 ? whole_ns(times[i]) : 0;
}

static void put_occurrences(struct worker *worker, const struct batch *batch)
{
    struct rows *rows = &worker->rows[TABLE_EVENTS];
    if (!batch->has_occurrences) {
        rows_nulls(rows, EVENT_OCCURRENCES, batch->count);
        return;
    }
    for (uint32_t i = 0; i < batch->count; i++)
        worker->present[i] = batch->occurrences[i] != OCCURRENCES_TIMED;
    rows_maybe(rows, EVENT_OCCURRENCES, batch->occurrences, worker->present, batch->count);
}

static void put_steps(const struct event_sink *sink, struct worker *worker,
                      const struct batch *batch)
{
    struct rows *rows = &worker->rows[TABLE_EVENTS];
    const uint32_t *group = sink->maker->analysis->lanes[batch->track].group;
    if (!group) {
        rows_nulls(rows, EVENT_STEP, batch->count);
        return;
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        worker->present[i] = group[batch->first + i] != 0;
        worker->values[i] = (int64_t)group[batch->first + i] - 1;
    }
    rows_maybe(rows, EVENT_STEP, worker->values, worker->present, batch->count);
}

static uint32_t lane_label(const struct catalog *catalog, uint32_t track)
{
    const struct track *lane = &catalog->tracks.items[track];
    return lane->display_name ? lane->display_name : lane->name;
}

static void put_location(const struct event_sink *sink, uint32_t track, struct rows *rows,
                         size_t count)
{
    const struct catalog *catalog = sink->maker->analysis->catalog;
    const struct location *location = &sink->locations[track];
    rows_fill_name(rows, EVENT_SOURCE, sink->layers[location->layer], count);
    rows_fill_name(rows, EVENT_INSTANCE, location->instance, count);
    rows_fill(rows, EVENT_PROCESS, location->process, count);
    rows_fill(rows, EVENT_THREAD, location->thread, count);
    if (location->has_core) {
        rows_fill(rows, EVENT_CORE, location->core, count);
        rows_fill(rows, EVENT_WORKER, location->worker, count);
    } else {
        rows_nulls(rows, EVENT_CORE, count);
        rows_nulls(rows, EVENT_WORKER, count);
    }
    rows_nulls(rows, EVENT_PHYSICAL_CORE, count);
    if (catalog->tracks.items[track].lane == LANE_STREAM)
        rows_fill_name(rows, EVENT_STREAM, lane_label(catalog, track), count);
    else
        rows_nulls(rows, EVENT_STREAM, count);
}

static void put_events(const struct event_sink *sink, struct worker *worker,
                       const struct batch *batch)
{
    const struct catalog *catalog = sink->maker->analysis->catalog;
    struct rows *rows = &worker->rows[TABLE_EVENTS];
    int64_t *ids = rows_numbers(rows, EVENT_ID, batch->count);
    int64_t *types = rows_numbers(rows, EVENT_TYPE, batch->count);
    uint32_t *names = rows_names(rows, EVENT_NAME, batch->count);
    int64_t first = (int64_t)(sink->maker->first_event[batch->track] + batch->first);
    for (uint32_t i = 0; i < batch->count; i++) {
        ids[i] = first + i;
        types[i] = batch->type[i];
        names[i] = catalog->types.items[batch->type[i]].name;
    }
    put_times(rows, batch);
    put_self_times(sink, rows, batch);
    put_location(sink, batch->track, rows, batch->count);
    rows_fill(rows, EVENT_TRACK, batch->track, batch->count);
    put_steps(sink, worker, batch);
    put_occurrences(worker, batch);
    put_each(sink, worker, batch);
}

static void put_samples(const struct event_sink *sink, struct worker *worker,
                        const struct batch *batch)
{
    struct rows *rows = &worker->rows[TABLE_COUNTERS];
    int64_t *ids = rows_numbers(rows, COUNTER_ID, batch->count);
    int64_t *times = rows_numbers(rows, COUNTER_TIME, batch->count);
    int64_t first = (int64_t)(sink->maker->first_event[batch->track] + batch->first);
    for (uint32_t i = 0; i < batch->count; i++) {
        ids[i] = first + i;
        times[i] = whole_ns(batch->start_ps[i]);
    }
    memcpy(rows_numbers(rows, COUNTER_VALUE, batch->count), batch->value,
           batch->count * sizeof *batch->value);
    rows_fill(rows, COUNTER_TRACK, batch->track, batch->count);
    rows_fill_name(rows, COUNTER_NAME, lane_label(sink->maker->analysis->catalog, batch->track),
                   batch->count);
}

static bool end_group(struct event_sink *sink, struct worker *worker, uint64_t sequence,
                      struct error *err)
{
    uint64_t number = sequence << 24 | worker->groups++;
    bool ok = true;
    for (int i = FIRST_TABLE; ok && i < MADE_TABLES; i++)
        ok = maker_add(sink->maker, (enum table_number)i, worker->encoder, &worker->rows[i], number,
                       err);
    return ok;
}

static bool take(struct sink *base, const struct batch *batch, unsigned number, struct error *err)
{
    struct event_sink *sink = (struct event_sink *)base;
    struct worker *worker = &sink->workers[number];
    mem_touched(batch->count * (size_t)ANALYSIS_BYTES);
    if (batch->count > 0) /* a filter passes a last batch even when nothing in it is kept */
        put_events(sink, worker, batch);
    if (worker->is_too_large)
        return error_set(err, "an event has more than 1 GiB of args; a table cannot store them");
    if (batch->has_values && batch->count > 0)
        put_samples(sink, worker, batch);
    bool is_large = rows_text_bytes(&worker->rows[TABLE_EVENTS]) > GROUP_TEXT;
    if ((batch->last || is_large) && !end_group(sink, worker, batch->sequence, err))
        return false;
    if (batch->last)
        worker->groups = 0;
    return true;
}

static void workers_make(struct event_sink *sink)
{
    sink->worker_count = pool_workers(sink->maker->pool);
    sink->workers = mem_zeroed(sink->worker_count, sizeof *sink->workers);
    for (unsigned i = 0; i < sink->worker_count; i++) {
        struct worker *worker = &sink->workers[i];
        worker->encoder = parquet_encoder_create(&sink->maker->analysis->catalog->strings);
        for (size_t k = 0; k < KNOWN_DETAILS; k++)
            worker->details[k].string = INTERN_NONE;
        output_memory(&worker->text);
        intern_init(&worker->collective_texts);
        for (size_t table = FIRST_TABLE; table < MADE_TABLES; table++)
            rows_init(&worker->rows[table], &table_schemas[table]);
    }
}

static void workers_free(struct event_sink *sink)
{
    for (unsigned i = 0; i < sink->worker_count; i++) {
        struct worker *worker = &sink->workers[i];
        parquet_encoder_free(worker->encoder);
        output_discard(&worker->text);
        array_free(&worker->rest);
        array_free(&worker->collectives);
        intern_free(&worker->collective_texts);
        for (size_t table = FIRST_TABLE; table < MADE_TABLES; table++) {
            rows_free(&worker->rows[table]);
            array_free(&worker->records[table]);
        }
    }
    mem_free(sink->workers);
}

bool make_event_tables(struct profile_maker *maker, struct error *err)
{
    struct event_sink sink = {.sink = {.batch = take, .together = PARTS_TOGETHER}, .maker = maker};
    describe_lanes(&sink);
    workers_make(&sink);
    bool ok = source_read(maker->source, &sink.sink, maker->pool, err);
    gather_collective_facts(&sink);
    workers_free(&sink);
    mem_free(sink.locations);
    mem_free(sink.roles);
    return ok;
}
