/*
 * Rows of the tables for certain kinds of events: kernels, copies, collectives, allocations. An arg
 * goes to its column if its type matches.
 */
#include "store/tables/events.h"

/* Arg names of XLA's tracers and of torch.profiler. */
static const struct {
    const char *key;
    enum role role;
} role_keys[] = {
    {"correlation_id", ROLE_CORRELATION},
    {"correlation", ROLE_CORRELATION},
    {"context_id", ROLE_CONTEXT},
    {"scope_range_id", ROLE_SCOPE_RANGE},
    {"cuda_graph_id", ROLE_GRAPH},
    {"cuda_graph_node_id", ROLE_GRAPH_NODE},
    {"tf_op", ROLE_FRAMEWORK_OP},
    {"hlo_op", ROLE_LABEL},
    {"hlo_module", ROLE_MODULE},
    {"program_id", ROLE_PROGRAM},
    {"theoretical_occupancy_pct", ROLE_OCCUPANCY},
    {"occupancy_min_grid_size", ROLE_MINIMUM_GRID},
    {"occupancy_suggested_block_size", ROLE_SUGGESTED_BLOCK},
    {"grid", ROLE_GRID},
    {"block", ROLE_BLOCK},
    {"registers per thread", ROLE_REGISTERS},
    {"shared memory", ROLE_SHARED},
    {"est. achieved occupancy %", ROLE_ACHIEVED},
    {"bytes", ROLE_BYTES},
    {"kernel_details", ROLE_KERNEL_DETAILS},
    {"memcpy_details", ROLE_COPY_DETAILS},
    {"Memset_details", ROLE_SET_DETAILS},
    {"allocator_name", ROLE_ALLOCATOR},
    {"requested_bytes", ROLE_REQUESTED},
    {"allocation_bytes", ROLE_ALLOCATION},
    {"Bytes", ROLE_ALLOCATION},
    {"addr", ROLE_ADDRESS},
    {"Addr", ROLE_ADDRESS},
    {"bytes_allocated", ROLE_IN_USE},
    {"Total Allocated", ROLE_IN_USE},
    {"bytes_reserved", ROLE_RESERVED},
    {"Total Reserved", ROLE_RESERVED},
    {"bytes_available", ROLE_AVAILABLE},
    {"peak_bytes_in_use", ROLE_PEAK},
    {"fragmentation", ROLE_FRAGMENTATION},
    {"id", ROLE_REGION},
    {"data_type", ROLE_DATA_TYPE},
    {"_src", ROLE_SOURCE_FILE},
    {"index_on_host", ROLE_MEMORY_DEVICE},
    {"Device Id", ROLE_MEMORY_DEVICE},
    {"Collective name", ROLE_COLLECTIVE},
    {"dtype", ROLE_ELEMENT_TYPE},
    {"In msg nelems", ROLE_IN_ELEMENTS},
    {"Out msg nelems", ROLE_OUT_ELEMENTS},
    {"In split size", ROLE_IN_SPLIT},
    {"Out split size", ROLE_OUT_SPLIT},
    {"Process Group Name", ROLE_GROUP},
    {"Process Group Description", ROLE_GROUP_DESCRIPTION},
    {"Group size", ROLE_GROUP_SIZE},
    {"Process Group Ranks", ROLE_GROUP_RANKS},
    {"Seq", ROLE_SEQUENCE},
    {"Comms Id", ROLE_COMMUNICATOR},
    {"Src Rank", ROLE_FROM_RANK},
    {"Dst Rank", ROLE_TO_RANK},
    {"source_file", ROLE_LAUNCH_FILE},
    {"source_line", ROLE_LAUNCH_LINE},
};

/* The columns of args, for device work and allocations. */
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
    {ROLE_REGISTERS, KERNEL_REGISTERS},
    {ROLE_SHARED, KERNEL_SHARED},
    {ROLE_LAUNCH_FILE, KERNEL_FILE},
    {ROLE_LAUNCH_LINE, KERNEL_LINE},
    {ROLE_NONE, 0},
};

static const struct arg_column copy_columns[] = {
    {ROLE_CORRELATION, COPY_CORRELATION},
    {ROLE_BYTES, COPY_BYTES},
    {ROLE_CONTEXT, COPY_CONTEXT},
    {ROLE_SCOPE_RANGE, COPY_SCOPE_RANGE},
    {ROLE_GRAPH, COPY_GRAPH},
    {ROLE_GRAPH_NODE, COPY_GRAPH_NODE},
    {ROLE_FRAMEWORK_OP, COPY_FRAMEWORK_OP},
    {ROLE_LABEL, COPY_LABEL},
    {ROLE_MODULE, COPY_MODULE},
    {ROLE_PROGRAM, COPY_PROGRAM},
    {ROLE_LAUNCH_FILE, COPY_FILE},
    {ROLE_LAUNCH_LINE, COPY_LINE},
    {ROLE_NONE, 0},
};

static const struct arg_column collective_columns[] = {
    {ROLE_COLLECTIVE, COLLECTIVE_OPERATION},
    {ROLE_ELEMENT_TYPE, COLLECTIVE_DATA_TYPE},
    {ROLE_IN_ELEMENTS, COLLECTIVE_IN_ELEMENTS},
    {ROLE_OUT_ELEMENTS, COLLECTIVE_OUT_ELEMENTS},
    {ROLE_IN_SPLIT, COLLECTIVE_IN_SPLIT},
    {ROLE_OUT_SPLIT, COLLECTIVE_OUT_SPLIT},
    {ROLE_GROUP, COLLECTIVE_GROUP},
    {ROLE_GROUP_DESCRIPTION, COLLECTIVE_GROUP_DESCRIPTION},
    {ROLE_GROUP_SIZE, COLLECTIVE_GROUP_SIZE},
    {ROLE_GROUP_RANKS, COLLECTIVE_GROUP_RANKS},
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
    {ROLE_MEMORY_DEVICE, ALLOCATION_DEVICE},
    {ROLE_NONE, 0},
};

static_assert((int)KERNEL_COLUMNS <= (int)RECORD_COLUMNS &&
                  (int)COPY_COLUMNS <= (int)RECORD_COLUMNS &&
                  (int)COLLECTIVE_COLUMNS <= (int)RECORD_COLUMNS &&
                  (int)ALLOCATION_COLUMNS <= (int)RECORD_COLUMNS,
              "their rows are records");

uint8_t *roles_of_keys(const struct catalog *catalog)
{
    uint8_t *roles = mem_zeroed(catalog->strings.by_id.count, sizeof *roles);
    for (size_t i = 0; i < sizeof role_keys / sizeof *role_keys; i++) {
        uint32_t key = intern_find(&catalog->strings, text_of(role_keys[i].key));
        if (key != INTERN_NONE)
            roles[key] = (uint8_t)role_keys[i].role;
    }
    return roles;
}

static bool has(const struct event *event, enum role role)
{
    return event->present >> role & 1;
}

static void take(struct event *event, enum role role)
{
    event->taken |= (uint64_t)1 << role;
}

static void put_fraction(struct record *record, size_t column, double number)
{
    int64_t bits;
    memcpy(&bits, &number, sizeof bits);
    record_put(record, column, bits);
}

/* Stores an arg if its type matches the column; false otherwise. */
static bool take_arg(const struct arg *arg, const struct field *field, struct rows *rows,
                     struct record *record, size_t column)
{
    enum arg_type type = (enum arg_type)arg->type;
    if (field->type == FIELD_INT64 && (type == ARG_INT || (type == ARG_UINT && arg->integer >= 0)))
        record_put(record, column, arg->integer);
    else if (field->type == FIELD_FLOAT64 && type == ARG_DOUBLE)
        put_fraction(record, column, arg->number);
    else if (field->type == FIELD_NAME && type == ARG_STRING)
        record_put(record, column, arg->string);
    else if (field->type == FIELD_NAME && type == ARG_TEXT)
        record_put(record, column,
                   rows_own_name(rows, (struct text){(const char *)arg->data, arg->size}));
    else
        return false;
    return true;
}

/* What a tracer works out itself; those without occupancy write zeros. */
static bool is_unknown_occupancy(const struct event *event, enum role role)
{
    return (role == ROLE_OCCUPANCY || role == ROLE_MINIMUM_GRID || role == ROLE_SUGGESTED_BLOCK) &&
           event->by_role[role]->uinteger == 0;
}

static void take_args(struct event *event, const struct arg_column *columns, struct rows *rows,
                      struct record *record)
{
    for (; columns->role != ROLE_NONE; columns++)
        if (has(event, columns->role) && !is_unknown_occupancy(event, columns->role) &&
            take_arg(event->by_role[columns->role], &rows->schema->fields[columns->column], rows,
                     record, columns->column))
            take(event, columns->role);
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

/* Columns that kernels and copies share have equal indexes. */
static_assert((int)KERNEL_STEP == (int)COPY_STEP && (int)KERNEL_LAUNCH == (int)COPY_LAUNCH &&
                  (int)KERNEL_STREAM == (int)COPY_STREAM && (int)KERNEL_ID == (int)COPY_ID,
              "as put_device_work has them");

/* The operator that launched it, unless the source has a label of its own. */
static void put_operator(const struct event_sink *sink, const struct event *event,
                         struct record *record, size_t column)
{
    const struct analysis *analysis = sink->maker->analysis;
    const struct call *call = operator_call(analysis, event->batch->track, event->number);
    if (!call || record->present >> column & 1)
        return;
    uint32_t type = analysis->trace.type[call->index];
    record_put(record, column, analysis->catalog->types.items[type].name);
    record_put(record, column + 1, (int64_t)call->index); /* ids count events in that order, too */
}

static_assert((int)KERNEL_FRAMEWORK_EVENT == (int)KERNEL_FRAMEWORK_OP + 1 &&
                  (int)COPY_FRAMEWORK_EVENT == (int)COPY_FRAMEWORK_OP + 1 &&
                  (int)COLLECTIVE_FRAMEWORK_EVENT == (int)COLLECTIVE_FRAMEWORK_OP + 1,
              "as put_operator has them");

/* Fills the columns that kernels, copies and collectives have in common: they come first, in
 * one order, as the assertions above check. */
static void put_device_work(const struct event_sink *sink, const struct worker *worker,
                            const struct event *event, struct record *record)
{
    const struct profile_maker *maker = sink->maker;
    const struct batch *batch = event->batch;
    const struct location *location = &sink->locations[batch->track];
    const uint32_t *group = maker->analysis->lanes[batch->track].group;
    uint32_t type = batch->type[event->index];
    int64_t start = whole_ns(batch->start_ps[event->index]);
    int64_t duration = whole_ns(batch->duration_ps[event->index]);
    record_put(record, KERNEL_ID, (int64_t)event->id);
    record_put(record, KERNEL_NAME, maker->analysis->catalog->types.items[type].name);
    record_put(record, KERNEL_START, start);
    record_put(record, KERNEL_END, add_saturated(start, duration));
    record_put(record, KERNEL_DURATION, duration);
    if (location->has_core)
        record_put(record, KERNEL_DEVICE, location->core);
    record_put(record, KERNEL_STREAM, location->thread);
    if (worker->launch && worker->flow_size > 0)
        record_put(record, KERNEL_LAUNCH,
                   (int64_t)(maker->first_event[worker->launch->event.track] +
                             worker->launch->event.event));
    if (group && group[event->number])
        record_put(record, KERNEL_STEP, group[event->number] - 1);
}

static bool has_text(const struct event *event, enum role role)
{
    return has(event, role) &&
           (event->by_role[role]->type == ARG_STRING || event->by_role[role]->type == ARG_TEXT);
}

/* Cached: equal details are nearly always the same interned string. */
static const struct known_details *kernel_details_of(const struct event_sink *sink,
                                                     struct worker *worker, const struct arg *arg)
{
    uint32_t string = arg->type == ARG_STRING ? arg->string : INTERN_NONE;
    struct known_details *known = &worker->details[string % KNOWN_DETAILS];
    if (string == INTERN_NONE || known->string != string) {
        known->is_readable =
            read_kernel_details(arg_text(sink->maker->analysis->catalog, arg), &known->details);
        known->string = string;
    }
    return known->is_readable ? known : NULL;
}

/* The HLO operation of a kernel and how it is known, and what kind of kernel it is. */
static void put_operation(const struct event_sink *sink, const struct event *event,
                          struct record *record)
{
    const struct analysis *analysis = sink->maker->analysis;
    const uint32_t *labels = analysis->lanes[event->batch->track].label;
    uint32_t type = event->batch->type[event->index];
    const struct hlo_label *label =
        labels && labels[event->number] ? &analysis->labels.items[labels[event->number] - 1] : NULL;
    uint32_t operation = label ? kernel_operation(analysis, label, type) : NO_INDEX;
    const struct program *program =
        operation == NO_INDEX ? NULL : &analysis->catalog->programs.items[label->program];
    enum attributed attribution =
        label ? kernel_attribution(analysis, label, type) : ATTRIBUTED_NOT;
    if (attribution == ATTRIBUTED_NOT && record->present >> KERNEL_FRAMEWORK_OP & 1)
        attribution = ATTRIBUTED_OPERATOR;
    record_put(record, KERNEL_ATTRIBUTION, sink->maker->words.attributions[attribution]);
    enum tensor_cores tensor_cores =
        kernel_tensor_cores(analysis, type, program ? &program->operations.items[operation] : NULL);
    if (tensor_cores != TENSOR_CORES_UNKNOWN)
        record_put(record, KERNEL_MATRIX_UNITS, tensor_cores == TENSOR_CORES_YES);
    record_put(record, KERNEL_FAMILY,
               sink->maker->words.families[analysis->kernel_kinds[type].family]);
    if (!program)
        return;
    uint32_t file = program->operations.items[operation].file;
    record_put(record, KERNEL_OPERATION,
               (int64_t)(sink->maker->first_operation[label->program] + operation));
    if (file == STRING_NONE)
        return;
    record_put(record, KERNEL_FILE, file);
    record_put(record, KERNEL_LINE, program->operations.items[operation].line);
}

static struct record *new_kernel(const struct event_sink *sink, struct worker *worker,
                                 struct event *event)
{
    struct record *record = new_record(worker, TABLE_KERNELS);
    put_device_work(sink, worker, event, record);
    take_args(event, kernel_columns, &worker->rows[TABLE_KERNELS], record);
    put_operator(sink, event, record, KERNEL_FRAMEWORK_OP);
    put_operation(sink, event, record);
    return record;
}

static void put_three(struct record *record, size_t column, const int64_t numbers[3])
{
    for (size_t i = 0; i < 3; i++)
        record_put(record, column + i, numbers[i]);
}

static void add_detailed_kernel(const struct event_sink *sink, struct worker *worker,
                                struct event *event, const struct kernel_details *details)
{
    struct record *record = new_kernel(sink, worker, event);
    if (details->is_whole)
        take(event, ROLE_KERNEL_DETAILS);
    put_three(record, KERNEL_GRID_X, details->grid);
    put_three(record, KERNEL_BLOCK_X, details->block);
    if (details->has_registers)
        record_put(record, KERNEL_REGISTERS, details->registers);
    if (details->has_shared)
        record_put(record, KERNEL_SHARED, details->shared);
    if (details->has_shared_parts) {
        record_put(record, KERNEL_STATIC_SHARED, details->static_shared);
        record_put(record, KERNEL_DYNAMIC_SHARED, details->dynamic_shared);
    }
    if (details->has_occupancy)
        put_fraction(record, KERNEL_OCCUPANCY, details->occupancy);
}

static void take_three(struct event *event, enum role role, struct record *record, size_t column)
{
    int64_t numbers[3];
    const struct arg *arg = has(event, role) ? event->by_role[role] : NULL;
    if (!arg || arg->type != ARG_JSON ||
        !read_triple((struct text){(const char *)arg->data, arg->size}, numbers))
        return;
    put_three(record, column, numbers);
    take(event, role);
}

/* A kernel described by separate args. */
static void add_kernel(const struct event_sink *sink, struct worker *worker, struct event *event)
{
    struct record *record = new_kernel(sink, worker, event);
    take_three(event, ROLE_GRID, record, KERNEL_GRID_X);
    take_three(event, ROLE_BLOCK, record, KERNEL_BLOCK_X);
    const struct arg *occupancy = has(event, ROLE_ACHIEVED) ? event->by_role[ROLE_ACHIEVED] : NULL;
    if (occupancy && (occupancy->type == ARG_INT || occupancy->type == ARG_DOUBLE)) {
        put_fraction(record, KERNEL_OCCUPANCY,
                     occupancy->type == ARG_INT ? (double)occupancy->integer : occupancy->number);
        take(event, ROLE_ACHIEVED);
    }
}

static struct record *new_copy(const struct event_sink *sink, struct worker *worker,
                               struct event *event, uint32_t operation)
{
    struct record *record = new_record(worker, TABLE_COPIES);
    put_device_work(sink, worker, event, record);
    take_args(event, copy_columns, &worker->rows[TABLE_COPIES], record);
    put_operator(sink, event, record, COPY_FRAMEWORK_OP);
    record_put(record, COPY_OPERATION, operation);
    return record;
}

static struct text name_of(const struct event_sink *sink, const struct event *event)
{
    const struct catalog *catalog = sink->maker->analysis->catalog;
    return catalog_text(catalog, catalog->types.items[event->batch->type[event->index]].name);
}

static void put_kinds_of_memory(struct worker *worker, struct record *record, struct text source,
                                struct text destination)
{
    struct rows *rows = &worker->rows[TABLE_COPIES];
    if (source.size > 0)
        record_put(record, COPY_SOURCE_KIND, rows_own_name(rows, source));
    if (destination.size > 0)
        record_put(record, COPY_DESTINATION_KIND, rows_own_name(rows, destination));
}

static void add_detailed_copy(const struct event_sink *sink, struct worker *worker,
                              struct event *event, enum role role,
                              const struct copy_details *details)
{
    const struct words *words = &sink->maker->words;
    struct record *record =
        new_copy(sink, worker, event, role == ROLE_SET_DETAILS ? words->memset : words->memcpy);
    take(event, role);
    record_put(record, COPY_BYTES, details->bytes);
    struct text source = details->source_kind, destination = details->destination_kind;
    if (role == ROLE_COPY_DETAILS && source.size + destination.size == 0)
        read_copy_kinds(name_of(sink, event), &source, &destination);
    put_kinds_of_memory(worker, record, source, destination);
    if (details->has_peer)
        record_put(record, COPY_PEER, details->peer);
    record_put(record, COPY_ASYNC, details->is_async);
}

/* A copy whose name has source and destination. */
static void add_copy(const struct event_sink *sink, struct worker *worker, struct event *event)
{
    struct text source, destination;
    struct record *record = new_copy(sink, worker, event, sink->maker->words.memcpy);
    if (read_copy_kinds(name_of(sink, event), &source, &destination))
        put_kinds_of_memory(worker, record, source, destination);
}

/* What the event does not say of itself is null; the operation is never, as its name tells it. */
static void add_collective(const struct event_sink *sink, struct worker *worker,
                           struct event *event)
{
    const struct batch *batch = event->batch;
    const struct catalog *catalog = sink->maker->analysis->catalog;
    struct record *record = new_record(worker, TABLE_COLLECTIVES);
    int64_t start = whole_ns(batch->start_ps[event->index]);
    int64_t duration = whole_ns(batch->duration_ps[event->index]);
    record_put(record, COLLECTIVE_ID, (int64_t)event->id);
    record_put(record, COLLECTIVE_NAME, catalog->types.items[batch->type[event->index]].name);
    record_put(record, COLLECTIVE_START, start);
    record_put(record, COLLECTIVE_END, add_saturated(start, duration));
    record_put(record, COLLECTIVE_DURATION, duration);
    record_put(record, COLLECTIVE_TRACK, batch->track);
    take_args(event, collective_columns, &worker->rows[TABLE_COLLECTIVES], record);
    if (!has_text(event, ROLE_COLLECTIVE)) {
        char buffer[OPERATION_SIZE];
        record_put(record, COLLECTIVE_OPERATION,
                   rows_own_name(&worker->rows[TABLE_COLLECTIVES],
                                 collective_operation(name_of(sink, event), buffer)));
    }
    put_operator(sink, event, record, COLLECTIVE_FRAMEWORK_OP);
}

static void add_allocation(const struct event_sink *sink, struct worker *worker,
                           struct event *event)
{
    const struct batch *batch = event->batch;
    const struct catalog *catalog = sink->maker->analysis->catalog;
    struct record *record = new_record(worker, TABLE_ALLOCATIONS);
    record_put(record, ALLOCATION_ID, (int64_t)event->id);
    record_put(record, ALLOCATION_NAME, catalog->types.items[batch->type[event->index]].name);
    record_put(record, ALLOCATION_TIME, whole_ns(batch->start_ps[event->index]));
    record_put(record, ALLOCATION_TRACK, batch->track);
    take_args(event, allocation_columns, &worker->rows[TABLE_ALLOCATIONS], record);
}

/* Finds the args by role; further args of a role are not assigned. */
static void sort_args(const struct event_sink *sink, struct event *event)
{
    event->present = event->taken = 0;
    for (uint32_t i = 0; i < event->args.count; i++) {
        const struct arg *arg = &event->args.items[i];
        uint8_t role = sink->roles[arg->key];
        if (role == ROLE_NONE || has(event, role))
            continue;
        event->present |= (uint64_t)1 << role;
        event->by_role[role] = arg;
    }
}

/* Device work, recognized by its details string or its category; true if it is a kernel. */
static bool add_to_work(const struct event_sink *sink, struct worker *worker, struct event *event)
{
    const struct catalog *catalog = sink->maker->analysis->catalog;
    uint32_t type = event->batch->type[event->index];
    enum type_role kind = (enum type_role)sink->maker->analysis->type_roles[type];
    const struct known_details *kernel =
        has_text(event, ROLE_KERNEL_DETAILS)
            ? kernel_details_of(sink, worker, event->by_role[ROLE_KERNEL_DETAILS])
            : NULL;
    struct copy_details details;
    bool is_kernel = kernel != NULL;
    if (kernel)
        add_detailed_kernel(sink, worker, event, &kernel->details);
    else if (has_text(event, ROLE_COPY_DETAILS) &&
             read_copy_details(arg_text(catalog, event->by_role[ROLE_COPY_DETAILS]), &details))
        add_detailed_copy(sink, worker, event, ROLE_COPY_DETAILS, &details);
    else if (has_text(event, ROLE_SET_DETAILS) &&
             read_set_details(arg_text(catalog, event->by_role[ROLE_SET_DETAILS]), &details))
        add_detailed_copy(sink, worker, event, ROLE_SET_DETAILS, &details);
    else if ((is_kernel = kind == TYPE_KERNEL))
        add_kernel(sink, worker, event);
    else if (kind == TYPE_COPY)
        add_copy(sink, worker, event);
    else if (kind == TYPE_SET)
        new_copy(sink, worker, event, sink->maker->words.memset);
    return is_kernel;
}

/* Collectives say so, or are kernels of that family. */
void add_to_kind(const struct event_sink *sink, struct worker *worker, struct event *event)
{
    const struct kernel_kind *kinds = sink->maker->analysis->kernel_kinds;
    sort_args(sink, event);
    bool is_kernel =
        sink->locations[event->batch->track].layer == LAYER_GPU && add_to_work(sink, worker, event);
    bool is_told = has_text(event, ROLE_COLLECTIVE);
    if (is_told ||
        (is_kernel && kinds[event->batch->type[event->index]].family == FAMILY_COMMUNICATION))
        add_collective(sink, worker, event);
    if (is_told)
        add_collective_fact(sink, worker, event);
    if (has(event, ROLE_IN_USE) && has(event, ROLE_RESERVED))
        add_allocation(sink, worker, event);
}

void flush_kinds(struct worker *worker)
{
    for (size_t i = FIRST_TABLE + 1; i < MADE_TABLES; i++)
        flush_records(worker, i);
}
