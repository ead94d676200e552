/*
 * Events of a kind that has a table: kernels, copies, allocations. What an arg says goes to the
 * column made for it, when it is of the column's type.
 */
#include "store/events.h"

static const char *const role_keys[ROLE_COUNT] = {
    [ROLE_CORRELATION] = "correlation_id",
    [ROLE_CONTEXT] = "context_id",
    [ROLE_SCOPE_RANGE] = "scope_range_id",
    [ROLE_GRAPH] = "cuda_graph_id",
    [ROLE_GRAPH_NODE] = "cuda_graph_node_id",
    [ROLE_FRAMEWORK_OP] = "tf_op",
    [ROLE_LABEL] = "hlo_op",
    [ROLE_MODULE] = "hlo_module",
    [ROLE_PROGRAM] = "program_id",
    [ROLE_OCCUPANCY] = "theoretical_occupancy_pct",
    [ROLE_MINIMUM_GRID] = "occupancy_min_grid_size",
    [ROLE_SUGGESTED_BLOCK] = "occupancy_suggested_block_size",
    [ROLE_KERNEL_DETAILS] = "kernel_details",
    [ROLE_COPY_DETAILS] = "memcpy_details",
    [ROLE_SET_DETAILS] = "Memset_details",
    [ROLE_ALLOCATOR] = "allocator_name",
    [ROLE_REQUESTED] = "requested_bytes",
    [ROLE_ALLOCATION] = "allocation_bytes",
    [ROLE_ADDRESS] = "addr",
    [ROLE_IN_USE] = "bytes_allocated",
    [ROLE_RESERVED] = "bytes_reserved",
    [ROLE_AVAILABLE] = "bytes_available",
    [ROLE_PEAK] = "peak_bytes_in_use",
    [ROLE_FRAGMENTATION] = "fragmentation",
    [ROLE_REGION] = "id",
    [ROLE_DATA_TYPE] = "data_type",
    [ROLE_SOURCE_FILE] = "_src",
};

/* Which arg goes to which column of the tables of device work and allocations. */
struct arg_column {
    enum role role;
    size_t column;
};

static const struct arg_column kernel_columns[] = {
    {ROLE_CORRELATION, KERNEL_CORRELATION},
    {ROLE_CONTEXT, KERNEL_CONTEXT},
    {ROLE_SCOPE_RANGE, KERNEL_SCOPE_RANGE},
    {ROLE_GRAPH, KERNEL_GRAPH},
    {ROLE_GRAPH_NODE, KERNEL_GRAPH_NODE},
    {ROLE_FRAMEWORK_OP, KERNEL_FRAMEWORK_OP},
    {ROLE_LABEL, KERNEL_LABEL},
    {ROLE_MODULE, KERNEL_MODULE},
    {ROLE_PROGRAM, KERNEL_PROGRAM},
    {ROLE_OCCUPANCY, KERNEL_THEORETICAL_OCCUPANCY},
    {ROLE_MINIMUM_GRID, KERNEL_MINIMUM_GRID},
    {ROLE_SUGGESTED_BLOCK, KERNEL_SUGGESTED_BLOCK},
    {ROLE_NONE, 0},
};

static const struct arg_column copy_columns[] = {
    {ROLE_CORRELATION, COPY_CORRELATION},
    {ROLE_CONTEXT, COPY_CONTEXT},
    {ROLE_SCOPE_RANGE, COPY_SCOPE_RANGE},
    {ROLE_GRAPH, COPY_GRAPH},
    {ROLE_GRAPH_NODE, COPY_GRAPH_NODE},
    {ROLE_FRAMEWORK_OP, COPY_FRAMEWORK_OP},
    {ROLE_LABEL, COPY_LABEL},
    {ROLE_MODULE, COPY_MODULE},
    {ROLE_PROGRAM, COPY_PROGRAM},
    {ROLE_NONE, 0},
};

static const struct arg_column allocation_columns[] = {
    {ROLE_ALLOCATOR, ALLOCATION_ALLOCATOR},
    {ROLE_REQUESTED, ALLOCATION_REQUESTED},
    {ROLE_ALLOCATION, ALLOCATION_BYTES},
    {ROLE_ADDRESS, ALLOCATION_ADDRESS},
    {ROLE_IN_USE, ALLOCATION_IN_USE},
    {ROLE_RESERVED, ALLOCATION_RESERVED},
    {ROLE_AVAILABLE, ALLOCATION_AVAILABLE},
    {ROLE_PEAK, ALLOCATION_PEAK},
    {ROLE_FRAGMENTATION, ALLOCATION_FRAGMENTATION},
    {ROLE_REGION, ALLOCATION_REGION},
    {ROLE_DATA_TYPE, ALLOCATION_DATA_TYPE},
    {ROLE_SOURCE_FILE, ALLOCATION_SOURCE},
    {ROLE_NONE, 0},
};

static_assert((int)KERNEL_COLUMNS <= (int)RECORD_COLUMNS &&
                  (int)COPY_COLUMNS <= (int)RECORD_COLUMNS &&
                  (int)ALLOCATION_COLUMNS <= (int)RECORD_COLUMNS,
              "their rows are records");

uint8_t *roles_of_keys(const struct catalog *catalog)
{
    uint8_t *roles = mem_zeroed(catalog->strings.by_id.count, sizeof *roles);
    for (enum role role = ROLE_NONE + 1; role < ROLE_COUNT; role++) {
        uint32_t key = intern_find(&catalog->strings, text_of(role_keys[role]));
        if (key != INTERN_NONE)
            roles[key] = (uint8_t)role;
    }
    return roles;
}

static bool has(const struct event *event, enum role role)
{
    return event->present >> role & 1;
}

static void put_number(struct record *record, size_t column, int64_t number)
{
    record->values[column] = number;
    record->present |= 1u << column;
}

static void put_fraction(struct record *record, size_t column, double number)
{
    int64_t bits;
    memcpy(&bits, &number, sizeof bits);
    put_number(record, column, bits);
}

/* Whether an arg is of the column's type; then it is put there. */
static bool take_arg(const struct arg *arg, const struct field *field, struct rows *rows,
                     struct record *record, size_t column)
{
    enum arg_type type = (enum arg_type)arg->type;
    if (field->type == FIELD_INT64 && (type == ARG_INT || (type == ARG_UINT && arg->integer >= 0)))
        put_number(record, column, arg->integer);
    else if (field->type == FIELD_FLOAT64 && type == ARG_DOUBLE)
        put_fraction(record, column, arg->number);
    else if (field->type == FIELD_NAME && type == ARG_STRING)
        put_number(record, column, arg->string);
    else if (field->type == FIELD_NAME && type == ARG_TEXT)
        put_number(record, column,
                   rows_own_name(rows, (struct text){(const char *)arg->data, arg->size}));
    else
        return false;
    return true;
}

static void take_args(struct event *event, const struct arg_column *columns, struct rows *rows,
                      struct record *record)
{
    for (; columns->role != ROLE_NONE; columns++)
        if (has(event, columns->role) &&
            take_arg(event->by_role[columns->role], &rows->schema->fields[columns->column], rows,
                     record, columns->column))
            event->taken |= 1u << columns->role;
}

static void flush_records(struct worker *worker, size_t table)
{
    record_list *records = &worker->records[table];
    if (records->count > 0)
        rows_records(&worker->rows[table], records->items, records->count);
    records->count = 0;
}

static struct record *new_record(struct worker *worker, size_t table)
{
    record_list *records = &worker->records[table];
    if (records->count == RECORDS_TOGETHER)
        flush_records(worker, table);
    struct record *record = array_push(records);
    record->present = 0;
    return record;
}

/* Columns that kernels and copies share stand in the same places. */
static_assert((int)KERNEL_STEP == (int)COPY_STEP && (int)KERNEL_LAUNCH == (int)COPY_LAUNCH &&
                  (int)KERNEL_STREAM == (int)COPY_STREAM && (int)KERNEL_ID == (int)COPY_ID,
              "as put_device_work has them");

static void put_device_work(const struct event_sink *sink, const struct worker *worker,
                            const struct event *event, struct record *record)
{
    const struct profile_maker *maker = sink->maker;
    const struct batch *batch = event->batch;
    const struct place *place = &sink->places[batch->track];
    const uint32_t *group = maker->analysis->lanes[batch->track].group;
    uint32_t type = batch->type[event->index];
    int64_t start = whole_ns(batch->start_ps[event->index]);
    int64_t duration = whole_ns(batch->duration_ps[event->index]);
    put_number(record, KERNEL_ID, (int64_t)event->id);
    put_number(record, KERNEL_NAME, maker->analysis->catalog->types.items[type].name);
    put_number(record, KERNEL_START, start);
    put_number(record, KERNEL_END, add_saturated(start, duration));
    put_number(record, KERNEL_DURATION, duration);
    if (place->has_core)
        put_number(record, KERNEL_DEVICE, place->core);
    put_number(record, KERNEL_STREAM, place->thread);
    if (worker->launch && worker->flow_size > 0)
        put_number(record, KERNEL_LAUNCH,
                   (int64_t)(maker->first_event[worker->launch->event.track] +
                             worker->launch->event.event));
    if (group && group[event->number])
        put_number(record, KERNEL_STEP, group[event->number] - 1);
}

static bool has_text(const struct event *event, enum role role)
{
    return has(event, role) &&
           (event->by_role[role]->type == ARG_STRING || event->by_role[role]->type == ARG_TEXT);
}

/* Equal texts are often one string, and then read once. */
static bool kernel_details_of(const struct event_sink *sink, struct worker *worker,
                              const struct arg *arg)
{
    bool is_string = arg->type == ARG_STRING;
    if (!is_string || arg->string != worker->details_string) {
        worker->has_details =
            read_kernel_details(arg_text(sink->maker->analysis->catalog, arg), &worker->details);
        worker->details_string = is_string ? arg->string : INTERN_NONE;
    }
    return worker->has_details;
}

static void add_kernel(const struct event_sink *sink, struct worker *worker, struct event *event)
{
    const struct analysis *analysis = sink->maker->analysis;
    const struct kernel_details *details = &worker->details;
    struct record *record = new_record(worker, TABLE_KERNELS);
    put_device_work(sink, worker, event, record);
    take_args(event, kernel_columns, &worker->rows[TABLE_KERNELS], record);
    event->taken |= 1u << ROLE_KERNEL_DETAILS;
    for (size_t i = 0; i < 3; i++) {
        put_number(record, KERNEL_GRID_X + i, details->grid[i]);
        put_number(record, KERNEL_BLOCK_X + i, details->block[i]);
    }
    put_number(record, KERNEL_REGISTERS, details->registers);
    put_number(record, KERNEL_STATIC_SHARED, details->static_shared);
    put_number(record, KERNEL_DYNAMIC_SHARED, details->dynamic_shared);
    put_fraction(record, KERNEL_OCCUPANCY, details->occupancy);
    const uint32_t *labels = analysis->lanes[event->batch->track].label;
    if (!labels || !labels[event->number])
        return;
    const struct hlo_label *label = &analysis->labels.items[labels[event->number] - 1];
    uint32_t operation = kernel_operation(analysis, label, event->batch->type[event->index]);
    if (operation != NO_INDEX)
        put_number(record, KERNEL_OPERATION,
                   (int64_t)(sink->maker->first_operation[label->program] + operation));
}

static void add_copy(const struct event_sink *sink, struct worker *worker, struct event *event,
                     enum role role, const struct copy_details *details)
{
    struct rows *rows = &worker->rows[TABLE_COPIES];
    struct record *record = new_record(worker, TABLE_COPIES);
    put_device_work(sink, worker, event, record);
    take_args(event, copy_columns, rows, record);
    event->taken |= 1u << role;
    put_number(record, COPY_OPERATION,
               role == ROLE_SET_DETAILS ? sink->maker->words.memset : sink->maker->words.memcpy);
    put_number(record, COPY_BYTES, details->bytes);
    if (details->source_kind.size > 0)
        put_number(record, COPY_SOURCE_KIND, rows_own_name(rows, details->source_kind));
    if (details->destination_kind.size > 0)
        put_number(record, COPY_DESTINATION_KIND, rows_own_name(rows, details->destination_kind));
    if (details->has_peer)
        put_number(record, COPY_PEER, details->peer);
    put_number(record, COPY_ASYNC, details->is_async);
}

static void add_allocation(const struct event_sink *sink, struct worker *worker,
                           struct event *event)
{
    const struct batch *batch = event->batch;
    const struct catalog *catalog = sink->maker->analysis->catalog;
    struct record *record = new_record(worker, TABLE_ALLOCATIONS);
    put_number(record, ALLOCATION_ID, (int64_t)event->id);
    put_number(record, ALLOCATION_NAME, catalog->types.items[batch->type[event->index]].name);
    put_number(record, ALLOCATION_TIME, whole_ns(batch->start_ps[event->index]));
    put_number(record, ALLOCATION_TRACK, batch->track);
    take_args(event, allocation_columns, &worker->rows[TABLE_ALLOCATIONS], record);
}

/* Its args by their roles; a second one of a role has none. */
static void sort_args(const struct event_sink *sink, struct event *event)
{
    event->present = event->taken = 0;
    for (uint32_t i = 0; i < event->args.count; i++) {
        const struct arg *arg = &event->args.items[i];
        uint8_t role = sink->roles[arg->key];
        if (role == ROLE_NONE || has(event, role))
            continue;
        event->present |= 1u << role;
        event->by_role[role] = arg;
    }
}

void add_to_kind(const struct event_sink *sink, struct worker *worker, struct event *event)
{
    const struct catalog *catalog = sink->maker->analysis->catalog;
    bool on_gpu = sink->places[event->batch->track].layer == LAYER_GPU;
    struct copy_details details;
    sort_args(sink, event);
    if (on_gpu && has_text(event, ROLE_KERNEL_DETAILS) &&
        kernel_details_of(sink, worker, event->by_role[ROLE_KERNEL_DETAILS]))
        add_kernel(sink, worker, event);
    else if (on_gpu && has_text(event, ROLE_COPY_DETAILS) &&
             read_copy_details(arg_text(catalog, event->by_role[ROLE_COPY_DETAILS]), &details))
        add_copy(sink, worker, event, ROLE_COPY_DETAILS, &details);
    else if (on_gpu && has_text(event, ROLE_SET_DETAILS) &&
             read_set_details(arg_text(catalog, event->by_role[ROLE_SET_DETAILS]), &details))
        add_copy(sink, worker, event, ROLE_SET_DETAILS, &details);
    else if (has(event, ROLE_IN_USE) && has(event, ROLE_RESERVED))
        add_allocation(sink, worker, event);
}

void flush_kinds(struct worker *worker)
{
    for (size_t i = FIRST_TABLE + 1; i < MADE_TABLES; i++)
        flush_records(worker, i);
}
