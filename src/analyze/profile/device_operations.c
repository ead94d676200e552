/*
 * Analysis pass: time and costs of operations on devices. Work of GPUs is summed stream by stream,
 * kernel by kernel, while the streams are processed; that of devices which record operations as
 * such, and of hosts that compute, afterward. Costs of one execution come from the program, or
 * from what a TPU says of the operation.
 */
#include "analyze/profile/analysis_passes.h"

#include <math.h>

/* The execution that is going on, of which further kernels may follow. */
struct open_execution {
    uint32_t sum; /* index plus one, 0 for none */
    int64_t scope, kernels_ps;
    struct execution run;
    uint32_t call;
};

struct stream_sums {
    struct analysis *analysis;
    uint32_t track;
    ARRAY(struct device_operation) list;
    struct idmap by_work;      /* label and type -> index of its sum */
    struct idmap by_operation; /* what tells sums apart -> index */
    struct open_execution open;
    uint64_t last_work; /* label and type of the last event, and its sum */
    uint32_t last_operator, last_sum;
};

static const struct device_operation new_sum = {
    .program = NO_INDEX,
    .operation = NO_INDEX,
    .flops = NAN,
    .matrix_flops = NAN,
    .xprof_flops = NAN,
    .xprof_device_flops = NAN,
    .bytes = -1,
    .hbm_bytes = -1,
    .cmem_read = -1,
    .cmem_write = -1,
    .vmem_read = -1,
    .vmem_write = -1,
    .stall_ps = -1,
};

/* "name:Type" of a framework: XLA leaves the type empty. */
struct operator_name {
    struct text name, type;
};

static struct text without_brackets(struct text text)
{
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] == '[')
            return (struct text){text.data, i};
    return text;
}

/* The last part of a path, without a number at its end: "add" of "jit(f)/jit(main)/add_1". */
static struct text last_part(struct text path)
{
    size_t first = 0, depth = 0;
    for (size_t i = 0; i < path.size; i++) {
        depth += path.data[i] == '(' || path.data[i] == '[';
        depth -= depth > 0 && (path.data[i] == ')' || path.data[i] == ']');
        if (path.data[i] == '/' && depth == 0)
            first = i + 1;
    }
    struct text part = without_brackets((struct text){path.data + first, path.size - first});
    size_t digits = 0;
    while (digits < part.size && part.data[part.size - digits - 1] >= '0' &&
           part.data[part.size - digits - 1] <= '9')
        digits++;
    bool has_number =
        digits > 0 && digits + 1 < part.size &&
        (part.data[part.size - digits - 1] == '_' || part.data[part.size - digits - 1] == '.');
    return has_number ? (struct text){part.data, part.size - digits - 1} : part;
}

static struct operator_name read_operator(struct text label)
{
    size_t colon = label.size;
    for (size_t i = label.size; i > 0 && colon == label.size; i--)
        if (label.data[i - 1] == ':' && (i < 2 || label.data[i - 2] != ':'))
            colon = i - 1;
        else if (label.data[i - 1] == ':' || label.data[i - 1] == '/' || label.data[i - 1] == ')')
            break; /* "aten::mm" has no type */
    struct operator_name found = {.name = {label.data, colon}};
    if (colon + 1 < label.size)
        found.type =
            without_brackets((struct text){label.data + colon + 1, label.size - colon - 1});
    else
        found.type = last_part(found.name);
    return found;
}

static const struct operation *operation_at(const struct analysis *analysis, uint32_t program,
                                            uint32_t operation)
{
    return program == NO_INDEX || operation == NO_INDEX
               ? NULL
               : &analysis->catalog->programs.items[program].operations.items[operation];
}

/* Sets what does not depend on how often it runs; strings that the catalog does not have yet are
 * added when all threads are done. */
static void describe(struct analysis *analysis, struct device_operation *sum,
                     const struct hlo_label *label, uint32_t type, uint32_t operator_type)
{
    const struct catalog *catalog = analysis->catalog;
    uint32_t kernel = catalog->types.items[type].name;
    sum->name = kernel;
    if (label) {
        sum->program = label->program;
        sum->has_program_id = label->has_program_id;
        sum->program_id = (uint64_t)label->program_id;
        sum->operation = kernel_operation(analysis, label, type);
        sum->attribution = kernel_attribution(analysis, label, type);
        sum->framework_op = label->framework_op;
    }
    const struct operation *operation = operation_at(analysis, sum->program, sum->operation);
    if (operation) {
        sum->name = operation->name;
        sum->category = operation->category ? operation->category : operation->opcode;
        sum->expression = operation->expression;
        sum->framework_op = operation->op_name;
        sum->file = operation->file;
        sum->line = operation->line;
        sum->compute_type = operation->compute_type;
        return;
    }
    if (label && label->operation && label->program == NO_INDEX) {
        sum->name = label->operation; /* its program was not recorded */
        sum->attribution = ATTRIBUTED_RECORDED;
    } else if (sum->framework_op || operator_type) {
        sum->attribution = ATTRIBUTED_OPERATOR;
    }
    if (operator_type)
        sum->framework_op = catalog->types.items[operator_type].name;
}

/* The sum of a kind of work, created if missing. */
static uint32_t sum_of(struct stream_sums *sums, uint32_t label, uint32_t type,
                       uint32_t operator_type)
{
    uint64_t work[2] = {(uint64_t)label << 32 | type, operator_type};
    uint64_t hash = hash_bytes(work, sizeof work);
    uint32_t index = idmap_get(&sums->by_work, hash);
    if (index != IDMAP_NONE)
        return index;
    struct device_operation sum = new_sum;
    describe(sums->analysis, &sum, label ? &sums->analysis->labels.items[label - 1] : NULL, type,
             operator_type);
    bool has_operation = sum.operation != NO_INDEX;
    uint64_t identity[6] = {sum.program,
                            sum.operation,
                            has_operation ? 0 : sum.name,
                            has_operation ? 0 : sum.framework_op,
                            has_operation ? 0 : sum.program_id,
                            has_operation ? 0 : sum.attribution};
    uint64_t key = hash_bytes(identity, sizeof identity);
    index = idmap_get(&sums->by_operation, key);
    if (index == IDMAP_NONE) {
        index = (uint32_t)sums->list.count;
        sum.type = type;
        *array_push(&sums->list) = sum;
        idmap_put(&sums->by_operation, key, index);
    }
    idmap_put(&sums->by_work, hash, index);
    return index;
}

struct stream_sums *stream_sums_begin(struct analysis *analysis, uint32_t track)
{
    struct stream_sums *sums = mem_zeroed(1, sizeof *sums);
    sums->analysis = analysis;
    sums->track = track;
    sums->last_work = UINT64_MAX;
    return sums;
}

static void close_execution(struct stream_sums *sums)
{
    if (!sums->open.sum)
        return;
    struct device_operation *sum = &sums->list.items[sums->open.sum - 1];
    totals_add(&sum->totals, 1, sums->open.kernels_ps, sums->open.kernels_ps);
    sums->open.sum = 0;
}

/* Events come in time order. Consecutive kernels of one operation in one run are one execution.
 * The last sum is remembered, as runs of equal kernels are common. */
void stream_sums_add(struct stream_sums *sums, const struct stream_work *work)
{
    struct analysis *analysis = sums->analysis;
    const struct lane_events *events = &analysis->trace.lanes[sums->track];
    uint32_t type = events->type[work->event];
    if (analysis->device_class[type] == DEVICE_WAIT)
        return;
    uint32_t operator_type =
        work->call ? analysis->trace.type[analysis->calls.items[work->call - 1].index] : 0;
    uint64_t kind = (uint64_t)work->label << 32 | type;
    if (kind != sums->last_work || operator_type != sums->last_operator) {
        sums->last_sum = sum_of(sums, work->label, type, operator_type);
        sums->last_work = kind;
        sums->last_operator = operator_type;
    }
    struct device_operation *sum = &sums->list.items[sums->last_sum];
    int64_t duration = events->duration_ps[work->event] > 0 ? events->duration_ps[work->event] : 0;
    struct open_execution *open = &sums->open;
    if (sum->kernels++ == 0)
        sum->first = (struct event_ref){sums->track, work->event};
    if (kernel_tensor_cores(analysis, type, operation_at(analysis, sum->program, sum->operation)) ==
        TENSOR_CORES_YES)
        sum->matrix_unit_ps = add_saturated(sum->matrix_unit_ps, duration);
    if (!work->label && !work->call) { /* of no program: interrupts nothing */
        totals_add(&sum->totals, 1, duration, duration);
        return;
    }
    bool goes_on = open->sum == sums->last_sum + 1 && open->scope == work->scope &&
                   open->call == work->call && is_same_execution(&open->run, &work->run) &&
                   (work->call || sum->operation != NO_INDEX);
    if (!goes_on) {
        close_execution(sums);
        *open = (struct open_execution){
            .sum = sums->last_sum + 1, .scope = work->scope, .run = work->run, .call = work->call};
    }
    open->kernels_ps = add_saturated(open->kernels_ps, duration);
}

static uint32_t device_of(const struct analysis *analysis, uint32_t source)
{
    return idmap_get(&analysis->device_by_track, source); /* IDMAP_NONE is NO_INDEX */
}

void stream_sums_end(struct stream_sums *sums)
{
    struct analysis *analysis = sums->analysis;
    uint32_t source = analysis->catalog->tracks.items[sums->track].parent;
    uint32_t device = device_of(analysis, source);
    close_execution(sums);
    struct device_operation *sum;
    array_each (sum, &sums->list) {
        sum->device = device;
        if (device != NO_INDEX)
            *array_push(&analysis->device_operations) = *sum;
    }
    array_free(&sums->list);
    idmap_free(&sums->by_work);
    idmap_free(&sums->by_operation);
    mem_free(sums);
}

/* --- operations that are recorded as such --- */

static uint32_t arg_string_of(struct catalog *catalog, const struct arg_list *args, struct text key)
{
    const struct arg *arg = catalog_arg(catalog, args, key);
    if (!arg || (arg->type != ARG_STRING && arg->type != ARG_TEXT))
        return STRING_NONE;
    return catalog_string(catalog, arg_text(catalog, arg));
}

/* Fields of MemoryAccessBreakdown: what one execution reads and writes of each memory. */
enum {
    ACCESSES = PB_TAG(1, PB_BYTES),
    ACCESS_OPERATION = PB_TAG(1, PB_VARINT),
    ACCESS_MEMORY = PB_TAG(2, PB_VARINT),
    ACCESS_BYTES = PB_TAG(3, PB_VARINT),
};
enum { ACCESS_READ = 1, ACCESS_WRITE = 2 };
enum { MEMORY_HBM = 1, MEMORY_CMEM = 2, MEMORY_VMEM = 3 };

static int64_t times(int64_t value, uint64_t count)
{
    int64_t product;
    return __builtin_mul_overflow(value, count, &product) ? INT64_MAX : product;
}

static void add_access(struct device_operation *sum, struct pb_reader in, uint64_t count)
{
    struct pb_field field;
    uint64_t operation = 0, memory = 0, bytes = 0;
    while (pb_next(&in, &field)) {
        if (field.tag == ACCESS_OPERATION)
            operation = field.value;
        else if (field.tag == ACCESS_MEMORY)
            memory = field.value;
        else if (field.tag == ACCESS_BYTES)
            bytes = field.value < INT64_MAX ? field.value : INT64_MAX;
    }
    int64_t *const reads[] = {[MEMORY_HBM] = &sum->hbm_bytes,
                              [MEMORY_CMEM] = &sum->cmem_read,
                              [MEMORY_VMEM] = &sum->vmem_read};
    int64_t *const writes[] = {[MEMORY_HBM] = &sum->hbm_bytes,
                               [MEMORY_CMEM] = &sum->cmem_write,
                               [MEMORY_VMEM] = &sum->vmem_write};
    if (memory < MEMORY_HBM || memory > MEMORY_VMEM ||
        (operation != ACCESS_READ && operation != ACCESS_WRITE))
        return;
    int64_t *into = operation == ACCESS_READ ? reads[memory] : writes[memory];
    *into = add_saturated(*into, times((int64_t)bytes, count));
}

static void add_accesses(struct device_operation *sum, const struct arg *breakdown, uint64_t count)
{
    sum->hbm_bytes = sum->cmem_read = sum->cmem_write = sum->vmem_read = sum->vmem_write = 0;
    struct pb_reader in = pb_read(breakdown->data, breakdown->size);
    struct pb_field field;
    while (pb_next(&in, &field))
        if (field.tag == ACCESSES)
            add_access(sum, pb_enter(&field), count);
}

/* Costs that the source has for one execution. */
static void add_recorded_costs(const struct catalog *catalog, struct device_operation *sum,
                               const struct arg_list *args)
{
    const struct arg *flops = catalog_arg(catalog, args, TEXT("flops"));
    const struct arg *model = catalog_arg(catalog, args, TEXT("model_flops"));
    const struct arg *bytes = catalog_arg(catalog, args, TEXT("bytes_accessed"));
    const struct arg *breakdown = catalog_arg(catalog, args, TEXT("memory_access_breakdown"));
    double count = (double)sum->totals.count;
    if (flops) {
        sum->xprof_device_flops = arg_number(flops) * count;
        sum->flops = sum->xprof_flops = sum->xprof_device_flops;
    }
    if (model && arg_number(model) > 0)
        sum->flops = sum->xprof_flops = arg_number(model) * count;
    if (bytes)
        sum->bytes = sum->hbm_bytes = times(arg_integer(bytes), sum->totals.count);
    if (breakdown && breakdown->type == ARG_BYTES && breakdown->size > 0)
        add_accesses(sum, breakdown, sum->totals.count);
}

/* The name in an expression: "fusion.1" of "%fusion.1 = f32[] fusion(...)". */
static struct text name_in(struct text expression)
{
    size_t end = 0;
    while (end < expression.size && expression.data[end] != ' ')
        end++;
    bool is_expression = expression.size > 0 && expression.data[0] == '%' &&
                         end + 2 < expression.size && expression.data[end + 1] == '=';
    return is_expression ? (struct text){expression.data + 1, end - 1} : (struct text){0};
}

/* "file.py:31" */
static void set_source(struct catalog *catalog, struct device_operation *sum, struct text source)
{
    size_t digits = 0;
    while (digits < source.size && digits < 9 && source.data[source.size - digits - 1] >= '0' &&
           source.data[source.size - digits - 1] <= '9')
        digits++;
    if (digits == 0 || digits + 1 >= source.size || source.data[source.size - digits - 1] != ':')
        return;
    sum->file = catalog_string(catalog, (struct text){source.data, source.size - digits - 1});
    for (size_t i = source.size - digits; i < source.size; i++)
        sum->line = sum->line * 10 + (uint32_t)(source.data[i] - '0');
}

static void find_program(const struct analysis *analysis, struct device_operation *sum)
{
    const struct catalog *catalog = analysis->catalog;
    for (uint32_t i = 0; i < catalog->programs.count; i++) {
        const struct program *program = &catalog->programs.items[i];
        if (program->id != sum->program_id)
            continue;
        sum->program = i;
        sum->operation = idmap_get(&program->by_name, sum->name); /* IDMAP_NONE is NO_INDEX */
        return;
    }
}

/* What an event type says of its operation. */
static void describe_type(struct analysis *analysis, struct catalog *catalog,
                          struct device_operation *sum, uint32_t type)
{
    struct arg_list args = catalog->types.items[type].args;
    const struct arg *program = catalog_arg(catalog, &args, TEXT("program_id"));
    struct text text = catalog_text(catalog, catalog->types.items[type].name);
    struct text name = name_in(text);
    sum->category = arg_string_of(catalog, &args, TEXT("hlo_category"));
    sum->framework_op = arg_string_of(catalog, &args, TEXT("tf_op"));
    sum->deduplicated = arg_string_of(catalog, &args, TEXT("deduplicated_name"));
    sum->expression = name.size ? catalog->types.items[type].name : STRING_NONE;
    sum->name = name.size ? catalog_string(catalog, name)
                          : catalog_string(catalog, catalog_type_label(catalog, type));
    struct text category = catalog_text(catalog, sum->category);
    bool is_product = is_product_category(category);
    sum->compute_type = catalog_string(catalog, type_in_expression(text, is_product));
    uint32_t source = arg_string_of(catalog, &args, TEXT("source"));
    if (source)
        set_source(catalog, sum, catalog_text(catalog, source));
    sum->attribution = ATTRIBUTED_RECORDED;
    if (program) {
        sum->has_program_id = true;
        sum->program_id = (uint64_t)arg_integer(program);
        find_program(analysis, sum);
    }
    add_recorded_costs(catalog, sum, &args);
    if (is_product)
        sum->matrix_flops = sum->flops;
}

/* Operations around the current one, by their sums. */
struct outer {
    int64_t end_ps;
    size_t sum;
};

/* Sums over a lane of operations, type by type. */
static void sum_lane(struct analysis *analysis, struct catalog *catalog, uint32_t track,
                     uint32_t device)
{
    const struct lane_events *events = &analysis->trace.lanes[track];
    struct totals *totals = mem_zeroed(catalog->types.count, sizeof *totals);
    size_t *sums = mem_zeroed(catalog->types.count, sizeof *sums); /* by type: index plus one */
    ARRAY(struct outer) outer = {0};
    measure_types(analysis, track, totals);
    for (uint64_t i = 0; i < events->count; i++) {
        uint64_t event = event_at(&analysis->lanes[track], i);
        uint32_t type = events->type[event];
        touch_event(i);
        while (outer.count > 0 && outer.items[outer.count - 1].end_ps <= events->start_ps[event])
            outer.count--;
        if (totals[type].count > 0) {
            struct device_operation *sum = array_push(&analysis->device_operations);
            sums[type] = analysis->device_operations.count;
            *sum = new_sum;
            sum->device = device;
            sum->type = type;
            sum->core = catalog->tracks.items[track].core;
            sum->totals = totals[type];
            sum->kernels = totals[type].count;
            sum->first = (struct event_ref){track, event};
            describe_type(analysis, catalog, sum, type);
            if (outer.count > 0)
                sum->parent =
                    analysis->device_operations.items[outer.items[outer.count - 1].sum].name;
            totals[type].count = 0; /* done */
        }
        if (sums[type] && event_is_timed(events, event) && events->duration_ps[event] > 0)
            *array_push(&outer) = (struct outer){event_end(events, event), sums[type] - 1};
    }
    array_free(&outer);
    mem_free(sums);
    mem_free(totals);
}

/* --- operations on hosts: XLA's for the CPU --- */

/* Keyed by device and label: marks come from all threads of a host, and each operation gets one
 * sum per device. */
static void sum_host_operations(struct analysis *analysis)
{
    struct idmap sums = {0};
    const struct mark *mark;
    array_each (mark, &analysis->marks) {
        touch_event((uint64_t)(mark - analysis->marks.items));
        if (mark->kind != MARK_OPERATION)
            continue;
        uint32_t track = mark->ref.track;
        const struct lane_events *events = &analysis->trace.lanes[track];
        const struct lane_analysis *lane = &analysis->lanes[track];
        uint32_t device = device_of(analysis, analysis->catalog->tracks.items[track].parent);
        uint64_t key = (uint64_t)device << 32 | (uint64_t)mark->id;
        uint32_t index = idmap_get(&sums, key);
        if (device == NO_INDEX || !event_is_timed(events, mark->ref.event))
            continue;
        if (index == IDMAP_NONE) {
            index = (uint32_t)analysis->device_operations.count;
            idmap_put(&sums, key, index);
            struct device_operation *sum = array_push(&analysis->device_operations);
            const struct hlo_label *label = &analysis->labels.items[mark->id];
            *sum = new_sum;
            sum->first = mark->ref;
            describe(analysis, sum, label, events->type[mark->ref.event], 0);
            sum->device = device;
            if (sum->operation == NO_INDEX && label->operation)
                sum->name = label->operation;
        }
        struct device_operation *sum = &analysis->device_operations.items[index];
        int64_t duration = events->duration_ps[mark->ref.event];
        duration = duration > 0 ? duration : 0;
        totals_add(&sum->totals, 1, duration,
                   lane->self_ps ? lane->self_ps[mark->ref.event] : duration);
        sum->kernels++;
    }
    idmap_free(&sums);
}

/* --- all together --- */

static uint64_t identity_of(const struct device_operation *sum)
{
    bool has_operation = sum->operation != NO_INDEX;
    uint64_t identity[8] = {(uint64_t)sum->device << 8 | sum->core,
                            sum->program,
                            sum->operation,
                            has_operation ? 0 : sum->name,
                            has_operation ? 0 : sum->framework_op,
                            has_operation ? 0 : sum->program_id,
                            has_operation ? 0 : sum->attribution,
                            has_operation ? 0 : sum->expression};
    return hash_bytes(identity, sizeof identity);
}

/* Streams of a device have sums of their own. */
static void merge_streams(struct analysis *analysis)
{
    struct idmap index = {0};
    size_t kept = 0;
    for (size_t i = 0; i < analysis->device_operations.count; i++) {
        const struct device_operation *sum = &analysis->device_operations.items[i];
        uint64_t identity = identity_of(sum);
        uint32_t at = idmap_get(&index, identity);
        if (at == IDMAP_NONE) {
            idmap_put(&index, identity, (uint32_t)kept);
            analysis->device_operations.items[kept++] = *sum;
            continue;
        }
        struct device_operation *into = &analysis->device_operations.items[at];
        totals_merge(&into->totals, &sum->totals);
        into->kernels += sum->kernels;
        into->matrix_unit_ps = add_saturated(into->matrix_unit_ps, sum->matrix_unit_ps);
        if (analysis->trace.lanes[sum->first.track].start_ps[sum->first.event] <
            analysis->trace.lanes[into->first.track].start_ps[into->first.event])
            into->first = sum->first;
    }
    analysis->device_operations.count = kept;
    idmap_free(&index);
}

static bool is_narrow(struct text type, unsigned bits)
{
    char digit = bits == 8 ? '8' : '4';
    return (type.size == 2 && (type.data[0] == 's' || type.data[0] == 'u') &&
            type.data[1] == digit) ||
           (type.size > 1 && type.data[0] == 'f' && type.data[1] == digit);
}

/* Costs of all executions, from those of one in the program. */
static void add_program_costs(const struct analysis *analysis, struct device_operation *sum)
{
    const struct operation *operation = operation_at(analysis, sum->program, sum->operation);
    if (!operation || !isnan(sum->xprof_device_flops) || sum->bytes >= 0)
        return; /* the source has its own */
    double count = (double)sum->totals.count;
    struct text type = catalog_text(analysis->catalog, operation->compute_type);
    sum->flops = operation->flops * count;
    sum->matrix_flops = operation->matrix_flops * count;
    sum->xprof_flops = operation->xprof_flops * count;
    sum->xprof_device_flops = sum->xprof_flops / (is_narrow(type, 8)   ? 2
                                                  : is_narrow(type, 4) ? 4
                                                                       : 1);
    if (operation->bytes_accessed >= 0)
        sum->bytes = sum->hbm_bytes = times(operation->bytes_accessed, sum->totals.count);
}

/* Work without an HLO operation: "operator/kernel", and copies by what they are. */
static void name_work(struct analysis *analysis, struct catalog *catalog,
                      struct device_operation *sum)
{
    struct text kernel = catalog_text(catalog, catalog->types.items[sum->type].name);
    uint8_t role = analysis->type_roles[sum->type];
    bool is_copy = role == TYPE_COPY || text_starts(kernel, TEXT("Memcpy"));
    bool is_set = role == TYPE_SET || text_starts(kernel, TEXT("Memset"));
    if (!sum->category && (is_copy || is_set))
        sum->category = catalog_string(catalog, is_copy ? TEXT("memcpy") : TEXT("memset"));
    if (sum->attribution != ATTRIBUTED_OPERATOR)
        return;
    struct text name = catalog_text(catalog, sum->framework_op);
    char *joined = mem_alloc(name.size + 1 + kernel.size);
    memcpy(joined, name.data, name.size);
    joined[name.size] = '/';
    memcpy(joined + name.size + 1, kernel.data, kernel.size);
    sum->name = catalog_string(catalog, (struct text){joined, name.size + 1 + kernel.size});
    mem_free(joined);
    if (!sum->category)
        sum->category = sum->framework_type;
}

static void name_operator(struct catalog *catalog, struct device_operation *sum)
{
    if (!sum->framework_op)
        return;
    struct operator_name found = read_operator(catalog_text(catalog, sum->framework_op));
    sum->framework_op = catalog_string(catalog, found.name);
    sum->framework_type = catalog_string(catalog, found.type);
}

static bool by_first_event(const void *a, const void *b, const void *context)
{
    (void)context;
    const struct device_operation *m = a, *n = b;
    if (m->first.track != n->first.track)
        return m->first.track < n->first.track;
    return m->first.event < n->first.event;
}

static bool by_self_time(const void *a, const void *b, const void *context)
{
    const struct device_operation *m = a, *n = b;
    if (m->device != n->device)
        return m->device < n->device;
    if (m->totals.self_ps != n->totals.self_ps)
        return m->totals.self_ps > n->totals.self_ps;
    return by_first_event(a, b, context);
}

/* Runs on one thread after the streams are summed. It interns names, so the catalog must not be
 * shared yet. */
void sum_operations(struct analysis *analysis, struct catalog *catalog)
{
    size_t streams = analysis->device_operations.count;
    /* Streams came in the order in which threads were done with them. */
    sort_items(analysis->device_operations.items, streams,
               sizeof *analysis->device_operations.items, by_first_event, NULL);
    for (size_t i = 0; i < streams; i++) {
        struct device_operation *sum = &analysis->device_operations.items[i];
        name_operator(catalog, sum);
        if (sum->operation == NO_INDEX)
            name_work(analysis, catalog, sum);
    }
    for (uint32_t i = 0; i < catalog->tracks.count; i++) {
        const struct track *track = &catalog->tracks.items[i];
        uint32_t device =
            track->level == TRACK_LANE ? device_of(analysis, track->parent) : NO_INDEX;
        if (device != NO_INDEX && track->lane == LANE_OPS && track->events > 0 &&
            analysis->devices.items[device].kind != KIND_GPU)
            sum_lane(analysis, catalog, i, device);
    }
    sum_host_operations(analysis);
    for (size_t i = streams; i < analysis->device_operations.count; i++)
        name_operator(catalog, &analysis->device_operations.items[i]);
    merge_streams(analysis);
    struct device_operation *sum;
    array_each (sum, &analysis->device_operations)
        add_program_costs(analysis, sum);
    sort_items(analysis->device_operations.items, analysis->device_operations.count,
               sizeof *analysis->device_operations.items, by_self_time, NULL);
}
