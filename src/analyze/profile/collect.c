/*
 * Analysis pass: reads the source once. Times and types go to the in-memory trace; of the args,
 * only those that link events to each other or to programs are kept.
 */
#include "analyze/profile/analysis_passes.h"
#include "analyze/profile/facts.h"

/* The meaning of an arg key. */
enum role {
    ROLE_NONE,
    ROLE_CORRELATION,
    ROLE_PRODUCER_TYPE,
    ROLE_PRODUCER_ID,
    ROLE_CONSUMER_TYPE,
    ROLE_CONSUMER_ID,
    ROLE_ROOT,
    ROLE_STEP_NUMBER,
    ROLE_RUN,
    ROLE_OPERATION,
    ROLE_MODULE,
    ROLE_PROGRAM,
    ROLE_SCOPE,
    ROLE_GROUP,
    ROLE_DEVICE_START,
    ROLE_DEVICE_DURATION,
    ROLE_EXTERNAL,
    ROLE_SEQUENCE,
    ROLE_FORWARD_THREAD,
    ROLE_MODULE_PATH,
    ROLE_FRAMEWORK_OP,
    ROLE_INPUT_STAGE,
    /* Summed, not kept: */
    ROLE_KERNEL,
    ROLE_BLOCKS,
    ROLE_COPY,
    ROLE_BYTES,
    ROLE_RESERVED,
    ROLE_USED,
    ROLE_COUNT,
};

static const struct {
    const char *key;
    enum role role;
} role_keys[] = {
    {"correlation_id", ROLE_CORRELATION},
    {"_pt", ROLE_PRODUCER_TYPE},
    {"_p", ROLE_PRODUCER_ID},
    {"_ct", ROLE_CONSUMER_TYPE},
    {"_c", ROLE_CONSUMER_ID},
    {"_r", ROLE_ROOT},
    {"step_num", ROLE_STEP_NUMBER},
    {"run_id", ROLE_RUN},
    {"hlo_op", ROLE_OPERATION},
    {"hlo_module", ROLE_MODULE},
    {"program_id", ROLE_PROGRAM},
    {"correlation", ROLE_CORRELATION}, /* Kineto's name */
    {"scope_range_id", ROLE_SCOPE},
    {"group_id", ROLE_GROUP}, /* only where there are lines of steps */
    {"device_offset_ps", ROLE_DEVICE_START},
    {"device_duration_ps", ROLE_DEVICE_DURATION},
    {"External id", ROLE_EXTERNAL},
    {"Sequence number", ROLE_SEQUENCE},
    {"Fwd thread id", ROLE_FORWARD_THREAD},
    {"Module Hierarchy", ROLE_MODULE_PATH},
    {"tf_op", ROLE_FRAMEWORK_OP},
    {"_ipl_stage_name", ROLE_INPUT_STAGE},
    {"_ipl_stage_id", ROLE_INPUT_STAGE},
    {"kernel_details", ROLE_KERNEL},
    {"memcpy_details", ROLE_COPY},
    {"bytes_reserved", ROLE_RESERVED},
    {"bytes_allocated", ROLE_USED},
    {"blocks per SM", ROLE_BLOCKS},
    {"bytes", ROLE_BYTES},
    {"Total Reserved", ROLE_RESERVED},
    {"Total Allocated", ROLE_USED},
};

/* Roles that link an event; the others are summed. */
#define LINK_ROLES ((1u << ROLE_KERNEL) - 1)

enum { KNOWN_LABELS = 256 };

struct known_label {
    struct hlo_label label;
    uint32_t number; /* its index plus one, 0: empty slot */
};

/* Links of a batch of device events, before they are copied to the lane. */
struct device_links {
    uint64_t correlation[BATCH_EVENTS];
    uint64_t external[BATCH_EVENTS];
    uint32_t label[BATCH_EVENTS];
    int64_t start_ps[BATCH_EVENTS], duration_ps[BATCH_EVENTS]; /* on the device's clock */
};

struct worker_state {
    ARRAY(struct mark) marks; /* sorted by track and event if batches arrive in order */
    ARRAY(struct external) externals;
    struct device_links links;
    struct known_label known[KNOWN_LABELS]; /* cache by hash; new labels replace old ones */
    struct facts_reader facts;
};

struct collector {
    struct sink sink;
    struct analysis *analysis;
    uint8_t *roles; /* by key */
    struct worker_state *workers;
    unsigned worker_count;
    pthread_mutex_t lock; /* guards analysis.labels and the two below */
    struct idmap labels;  /* hash of a label -> its index */
    struct intern new_strings;
};

/* Columns for times on the device's own clock, which TPUs' operations have besides those that were
 * converted to the host's clock and stretched by that. */
static void make_clock_columns(struct analysis *analysis, const struct catalog *catalog)
{
    uint64_t events = 0;
    const struct track *track;
    if (intern_find(&catalog->strings, TEXT("device_duration_ps")) == INTERN_NONE)
        return;
    array_each (track, &catalog->tracks)
        events += track->source == SOURCE_DEVICE && track->lane == LANE_OPS ? track->events : 0;
    int64_t *start_ps = mem_zeroed(events, sizeof *start_ps);
    int64_t *duration_ps = mem_zeroed(events, sizeof *duration_ps);
    analysis->columns.device_start_ps = start_ps;
    analysis->columns.device_duration_ps = duration_ps;
    for (size_t i = 0; i < catalog->tracks.count; i++) {
        track = &catalog->tracks.items[i];
        if (track->source != SOURCE_DEVICE || track->lane != LANE_OPS || track->events == 0)
            continue;
        analysis->lanes[i].device_start_ps = start_ps;
        analysis->lanes[i].device_duration_ps = duration_ps;
        start_ps += track->events;
        duration_ps += track->events;
    }
}

/* One allocation per column for all device lanes, of which each gets a slice. The column of
 * external ids exists only if the capture has any. */
static void make_device_columns(struct analysis *analysis, const struct catalog *catalog)
{
    uint64_t events = 0;
    const struct track *track;
    array_each (track, &catalog->tracks)
        events += track->source == SOURCE_DEVICE ? track->events : 0;
    bool has_external = intern_find(&catalog->strings, TEXT("External id")) != INTERN_NONE;
    uint64_t *correlation = mem_zeroed(events, sizeof *correlation);
    uint64_t *external = has_external ? mem_zeroed(events, sizeof *external) : NULL;
    uint32_t *label = mem_zeroed(events, sizeof *label);
    analysis->columns.correlation = correlation;
    analysis->columns.external = external;
    analysis->columns.label = label;
    for (size_t i = 0; i < catalog->tracks.count; i++) {
        track = &catalog->tracks.items[i];
        if (track->source != SOURCE_DEVICE || track->events == 0)
            continue;
        analysis->lanes[i].correlation = correlation;
        analysis->lanes[i].label = label;
        analysis->lanes[i].external = external;
        if (has_external)
            external += track->events;
        correlation += track->events;
        label += track->events;
    }
}

static bool has_steps_lane(const struct catalog *catalog)
{
    const struct track *track;
    array_each (track, &catalog->tracks)
        if (track->source == SOURCE_DEVICE && track->lane == LANE_STEPS && track->events > 0)
            return true;
    return false;
}

static bool begin(struct sink *sink, const struct catalog *catalog, unsigned workers,
                  struct error *err)
{
    struct collector *collector = (struct collector *)sink;
    struct analysis *analysis = collector->analysis;
    collector->workers = mem_zeroed(workers, sizeof *collector->workers);
    collector->worker_count = workers;
    for (unsigned i = 0; i < workers; i++)
        facts_init(&collector->workers[i].facts.facts, catalog->types.count);
    collector->roles = mem_zeroed(catalog->strings.by_id.count, sizeof *collector->roles);
    for (size_t i = 0; i < sizeof role_keys / sizeof *role_keys; i++) {
        uint32_t string = intern_find(&catalog->strings, text_of(role_keys[i].key));
        if (string != INTERN_NONE && (role_keys[i].role != ROLE_GROUP || has_steps_lane(catalog)))
            collector->roles[string] = (uint8_t)role_keys[i].role;
    }
    sink->wanted = collector->roles;
    analysis->lanes = mem_zeroed(catalog->tracks.count, sizeof *analysis->lanes);
    make_device_columns(analysis, catalog);
    make_clock_columns(analysis, catalog);
    return analysis->trace.sink.begin(&analysis->trace.sink, catalog, workers, err);
}

/* Strings missing in the catalog, which must not change while the source is read, get ids with this
 * bit and are added afterward. */
#define IS_NEW_STRING 0x80000000u

static uint32_t arg_string(struct collector *collector, const struct arg *arg)
{
    const struct catalog *catalog = collector->analysis->catalog;
    if (arg->type == ARG_STRING)
        return arg->string;
    uint32_t string = intern_find(&catalog->strings, arg_text(catalog, arg));
    if (string != INTERN_NONE)
        return string;
    pthread_mutex_lock(&collector->lock);
    string = intern_add(&collector->new_strings, arg_text(catalog, arg)) | IS_NEW_STRING;
    pthread_mutex_unlock(&collector->lock);
    return string;
}

static void intern_new_strings(struct collector *collector, struct catalog *catalog)
{
    struct hlo_label *label;
    array_each (label, &collector->analysis->labels) {
        uint32_t *strings[] = {&label->operation, &label->module, &label->framework_op};
        for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
            if (*strings[i] & IS_NEW_STRING)
                *strings[i] = catalog_string(
                    catalog, intern_text(&collector->new_strings, *strings[i] & ~IS_NEW_STRING));
    }
    struct mark *mark;
    array_each (mark, &collector->analysis->marks) {
        touch_event((uint64_t)(mark - collector->analysis->marks.items));
        if (mark->kind == MARK_MODULE_PATH && mark->id & IS_NEW_STRING)
            mark->id = catalog_string(
                catalog, intern_text(&collector->new_strings, (uint32_t)mark->id & ~IS_NEW_STRING));
    }
}

static bool label_equal(const struct hlo_label *a, const struct hlo_label *b)
{
    return a->operation == b->operation && a->module == b->module &&
           a->framework_op == b->framework_op && a->program_id == b->program_id &&
           a->has_program_id == b->has_program_id;
}

/* The index of a label in the analysis; a hash collision only costs a duplicate entry. */
static uint32_t shared_label(struct collector *collector, uint64_t hash,
                             const struct hlo_label *label)
{
    struct analysis *analysis = collector->analysis;
    pthread_mutex_lock(&collector->lock);
    uint32_t number = idmap_get(&collector->labels, hash);
    if (number == IDMAP_NONE || !label_equal(&analysis->labels.items[number], label)) {
        number = (uint32_t)analysis->labels.count;
        *array_push(&analysis->labels) = *label;
        idmap_put(&collector->labels, hash, number);
    }
    pthread_mutex_unlock(&collector->lock);
    return number;
}

/* Its index plus one. Workers cache labels, so the lock is rarely taken. */
static uint32_t label_number(struct collector *collector, struct worker_state *worker,
                             const struct hlo_label *label)
{
    uint64_t identity[4] = {(uint64_t)label->operation << 32 | label->framework_op, label->module,
                            (uint64_t)label->program_id, label->has_program_id};
    uint64_t hash = hash_bytes(identity, sizeof identity);
    struct known_label *known = &worker->known[hash % KNOWN_LABELS];
    if (known->number == 0 || !label_equal(&known->label, label)) {
        known->number = shared_label(collector, hash, label) + 1;
        known->label = *label;
    }
    return known->number;
}

struct event_roles {
    uint32_t present; /* bit per role */
    const struct arg *args[ROLE_COUNT];
};

static bool has(const struct event_roles *roles, enum role role)
{
    return roles->present >> role & 1;
}

static void add_mark(struct worker_state *worker, const struct batch *batch, uint32_t event,
                     enum mark_kind kind, int64_t type, int64_t id)
{
    *array_push(&worker->marks) = (struct mark){
        .ref = {batch->track, batch->first + event}, .kind = kind, .type = type, .id = id};
}

static int64_t role_integer(const struct event_roles *roles, enum role role)
{
    return has(roles, role) ? arg_integer(roles->args[role]) : 0;
}

/* Times on the device's clock, if they are possible ones. */
static void set_device_times(struct device_links *links, uint32_t event,
                             const struct event_roles *roles)
{
    int64_t start = role_integer(roles, ROLE_DEVICE_START), end;
    int64_t duration = role_integer(roles, ROLE_DEVICE_DURATION);
    if (start < 0 || duration < 0 || __builtin_add_overflow(start, duration, &end))
        return;
    links->start_ps[event] = start;
    links->duration_ps[event] = duration;
}

/* Its index plus one. */
static uint32_t read_label(struct collector *collector, struct worker_state *worker,
                           const struct event_roles *roles)
{
    struct hlo_label label = {.program = NO_INDEX, .found = NO_INDEX};
    if (has(roles, ROLE_FRAMEWORK_OP))
        label.framework_op = arg_string(collector, roles->args[ROLE_FRAMEWORK_OP]);
    if (has(roles, ROLE_MODULE)) {
        label.module = arg_string(collector, roles->args[ROLE_MODULE]);
        label.program_id = role_integer(roles, ROLE_PROGRAM);
        label.has_program_id = has(roles, ROLE_PROGRAM);
        if (has(roles, ROLE_OPERATION))
            label.operation = arg_string(collector, roles->args[ROLE_OPERATION]);
    }
    return label_number(collector, worker, &label);
}

static void set_device_links(struct collector *collector, struct worker_state *worker,
                             uint32_t event, const struct event_roles *roles)
{
    if (has(roles, ROLE_DEVICE_START) && has(roles, ROLE_DEVICE_DURATION))
        set_device_times(&worker->links, event, roles);
    if (has(roles, ROLE_CORRELATION))
        worker->links.correlation[event] = (uint64_t)arg_integer(roles->args[ROLE_CORRELATION]);
    if (has(roles, ROLE_EXTERNAL))
        worker->links.external[event] = (uint64_t)arg_integer(roles->args[ROLE_EXTERNAL]);
    if (has(roles, ROLE_MODULE) || has(roles, ROLE_FRAMEWORK_OP))
        worker->links.label[event] = read_label(collector, worker, roles);
}

/* Of operators: the ids that device work and the backward pass refer to, and their module. */
static void add_operator(struct collector *collector, struct worker_state *worker,
                         const struct batch *batch, uint32_t event, const struct event_roles *roles)
{
    const struct arg *path = has(roles, ROLE_MODULE_PATH) ? roles->args[ROLE_MODULE_PATH] : NULL;
    uint64_t number = batch->first + event;
    int64_t sequence = has(roles, ROLE_SEQUENCE) ? role_integer(roles, ROLE_SEQUENCE) : -1;
    if (has(roles, ROLE_EXTERNAL) && number <= UINT32_MAX)
        *array_push(&worker->externals) =
            (struct external){.id = (uint64_t)role_integer(roles, ROLE_EXTERNAL),
                              .track = batch->track,
                              .event = (uint32_t)number};
    if (sequence >= 0)
        add_mark(worker, batch, event, MARK_SEQUENCE,
                 has(roles, ROLE_FORWARD_THREAD) ? role_integer(roles, ROLE_FORWARD_THREAD)
                                                 : NO_FORWARD_THREAD,
                 sequence);
    if (path && arg_text(collector->analysis->catalog, path).size > 0)
        add_mark(worker, batch, event, MARK_MODULE_PATH, 0, arg_string(collector, path));
}

/* Adds the marks of an event, ordered by kind as they are stored. */
static void add_links(struct collector *collector, struct worker_state *worker,
                      const struct batch *batch, uint32_t event, const struct event_roles *roles)
{
    bool on_device = collector->analysis->lanes[batch->track].label != NULL;
    if (on_device)
        set_device_links(collector, worker, event, roles);
    if (has(roles, ROLE_PRODUCER_ID))
        add_mark(worker, batch, event, MARK_PRODUCER, role_integer(roles, ROLE_PRODUCER_TYPE),
                 role_integer(roles, ROLE_PRODUCER_ID));
    if (has(roles, ROLE_CONSUMER_ID))
        add_mark(worker, batch, event, MARK_CONSUMER, role_integer(roles, ROLE_CONSUMER_TYPE),
                 role_integer(roles, ROLE_CONSUMER_ID));
    if (!on_device && (has(roles, ROLE_ROOT) || has(roles, ROLE_STEP_NUMBER)))
        add_mark(worker, batch, event, MARK_ROOT, 0, role_integer(roles, ROLE_STEP_NUMBER));
    if (!on_device && has(roles, ROLE_RUN))
        add_mark(worker, batch, event, MARK_RUN, 0, role_integer(roles, ROLE_RUN));
    if (!on_device && has(roles, ROLE_CORRELATION))
        add_mark(worker, batch, event, MARK_LAUNCH, role_integer(roles, ROLE_SCOPE),
                 role_integer(roles, ROLE_CORRELATION));
    if (!on_device && has(roles, ROLE_INPUT_STAGE)) /* which a program marks for XProf */
        __atomic_store_n(&collector->analysis->host_class[batch->type[event]], HOST_INPUT,
                         __ATOMIC_RELAXED);
    if (!on_device && has(roles, ROLE_OPERATION) && has(roles, ROLE_MODULE))
        add_mark(worker, batch, event, MARK_OPERATION, 0, read_label(collector, worker, roles) - 1);
    if (!on_device && collector->analysis->type_roles[batch->type[event]] == TYPE_OPERATOR)
        add_operator(collector, worker, batch, event, roles);
    if (has(roles, ROLE_GROUP))
        add_mark(worker, batch, event, MARK_GROUP, 0, role_integer(roles, ROLE_GROUP));
}

static void add_step(const struct analysis *analysis, struct worker_state *worker,
                     const struct batch *batch, uint32_t event)
{
    uint32_t name = analysis->catalog->types.items[batch->type[event]].name;
    int64_t number = 0;
    step_number(catalog_text(analysis->catalog, name), &number);
    add_mark(worker, batch, event, MARK_ROOT, 0, number);
}

static void add_facts(const struct collector *collector, struct worker_state *worker,
                      const struct batch *batch, uint32_t event, const struct event_roles *roles)
{
    const struct analysis *analysis = collector->analysis;
    uint32_t type = batch->type[event];
    struct event_ref ref = {batch->track, batch->first + event};
    const struct arg *kernel = has(roles, ROLE_KERNEL) ? roles->args[ROLE_KERNEL] : NULL;
    const struct arg *blocks = has(roles, ROLE_BLOCKS) ? roles->args[ROLE_BLOCKS] : NULL;
    if (analysis->lanes[batch->track].label == NULL) {
        if (has(roles, ROLE_RESERVED))
            facts_memory(&worker->facts, roles->args[ROLE_RESERVED],
                         has(roles, ROLE_USED) ? roles->args[ROLE_USED] : NULL);
    } else if (analysis->device_class[type] == DEVICE_COPY) {
        facts_copy(&worker->facts, analysis, ref, type, batch->duration_ps[event],
                   has(roles, ROLE_COPY) ? roles->args[ROLE_COPY] : NULL,
                   has(roles, ROLE_BYTES) ? roles->args[ROLE_BYTES] : NULL);
    } else if (analysis->device_class[type] == DEVICE_COMPUTE && (kernel || blocks)) {
        facts_kernel(&worker->facts, analysis, ref, type, batch->duration_ps[event], kernel,
                     blocks);
    }
}

static void clear_device_links(struct device_links *links, const struct batch *batch)
{
    memset(links->correlation, 0, batch->count * sizeof *links->correlation);
    memset(links->external, 0, batch->count * sizeof *links->external);
    memset(links->label, 0, batch->count * sizeof *links->label);
    memcpy(links->start_ps, batch->start_ps, batch->count * sizeof *links->start_ps);
    memcpy(links->duration_ps, batch->duration_ps, batch->count * sizeof *links->duration_ps);
}

static void store_device_links(const struct analysis *analysis, const struct batch *batch,
                               const struct device_links *links)
{
    const struct lane_analysis *lane = &analysis->lanes[batch->track];
    mem_write(analysis->columns.correlation, lane->correlation + batch->first, links->correlation,
              batch->count * sizeof *links->correlation);
    if (lane->external)
        mem_write(analysis->columns.external, lane->external + batch->first, links->external,
                  batch->count * sizeof *links->external);
    mem_write(analysis->columns.label, lane->label + batch->first, links->label,
              batch->count * sizeof *links->label);
    if (!lane->device_start_ps)
        return;
    mem_write(analysis->columns.device_start_ps, lane->device_start_ps + batch->first,
              links->start_ps, batch->count * sizeof *links->start_ps);
    mem_write(analysis->columns.device_duration_ps, lane->device_duration_ps + batch->first,
              links->duration_ps, batch->count * sizeof *links->duration_ps);
}

/* Any worker may call it: it writes its own state and its batch's part of the columns; what is
 * shared is locked or atomic. */
static bool take_batch(struct sink *sink, const struct batch *batch, unsigned worker_number,
                       struct error *err)
{
    struct collector *collector = (struct collector *)sink;
    struct analysis *analysis = collector->analysis;
    struct worker_state *worker = &collector->workers[worker_number];
    struct sink *memory = &analysis->trace.sink;
    if (!memory->batch(memory, batch, worker_number, err))
        return false;
    bool on_device = analysis->lanes[batch->track].label != NULL;
    bool has_args = batch->count > 0 && batch->arg_end[batch->count - 1] > 0;
    if (on_device && !has_args && !analysis->lanes[batch->track].device_start_ps)
        return true; /* the columns of its links are zeros already */
    if (on_device)
        clear_device_links(&worker->links, batch);
    uint32_t at = 0;
    for (uint32_t event = 0; event < batch->count; event++) {
        struct event_roles roles;
        roles.present = 0;
        for (; at < batch->arg_end[event]; at++) {
            uint8_t role = collector->roles[batch->args.items[at].key];
            if (role == ROLE_NONE)
                continue;
            roles.present |= 1u << role;
            roles.args[role] = &batch->args.items[at];
        }
        if (roles.present & LINK_ROLES)
            add_links(collector, worker, batch, event, &roles);
        if (roles.present & ~LINK_ROLES)
            add_facts(collector, worker, batch, event, &roles);
        if (analysis->type_roles[batch->type[event]] == TYPE_STEP && !on_device)
            add_step(analysis, worker, batch, event);
    }
    if (on_device)
        store_device_links(analysis, batch, &worker->links);
    return true;
}

static bool by_event(const void *a, const void *b, const void *context)
{
    (void)context;
    const struct mark *m = a, *n = b;
    if (m->ref.track != n->ref.track)
        return m->ref.track < n->ref.track;
    if (m->ref.event != n->ref.event)
        return m->ref.event < n->ref.event;
    return m->kind < n->kind;
}

static void merge_externals(struct collector *collector)
{
    struct analysis *analysis = collector->analysis;
    size_t count = 0;
    for (unsigned i = 0; i < collector->worker_count; i++)
        count += collector->workers[i].externals.count;
    array_reserve(&analysis->externals, count);
    for (unsigned i = 0; i < collector->worker_count; i++) {
        for (size_t at = 0; at < collector->workers[i].externals.count; at++) {
            *array_push(&analysis->externals) = collector->workers[i].externals.items[at];
            touch_event(at);
        }
        array_free(&collector->workers[i].externals);
    }
}

/* Concatenates the workers' lists and sorts: mostly a merge, as each list is sorted. */
static void merge_marks(struct collector *collector)
{
    struct analysis *analysis = collector->analysis;
    size_t count = 0;
    for (unsigned i = 0; i < collector->worker_count; i++)
        count += collector->workers[i].marks.count;
    array_reserve(&analysis->marks, count);
    for (unsigned i = 0; i < collector->worker_count; i++) {
        for (size_t at = 0; at < collector->workers[i].marks.count; at++) {
            *array_push(&analysis->marks) = collector->workers[i].marks.items[at];
            touch_event(at);
        }
        array_free(&collector->workers[i].marks);
    }
    merge_externals(collector);
    sort_items(analysis->marks.items, count, sizeof *analysis->marks.items, by_event, NULL);
}

size_t first_mark(const struct analysis *analysis, uint32_t track, uint64_t event)
{
    size_t low = 0, high = analysis->marks.count;
    mem_touched((size_t)4 * MEM_JUMP); /* the upper levels of the search stay in memory */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct event_ref *ref = &analysis->marks.items[middle].ref;
        if (ref->track < track || (ref->track == track && ref->event < event))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Strings that workers found are interned only at the end: the catalog is read without a lock
 * until then. The collector's memory is freed on failure too. */
bool collect(struct analysis *analysis, struct source *source, struct pool *pool,
             struct facts *facts, struct error *err)
{
    struct collector collector = {.sink = {.begin = begin, .batch = take_batch},
                                  .analysis = analysis};
    pthread_mutex_init(&collector.lock, NULL);
    intern_init(&collector.new_strings);
    bool ok = source_read(source, &collector.sink, pool, err);
    if (ok) {
        merge_marks(&collector);
        intern_new_strings(&collector, &source->catalog);
    }
    intern_free(&collector.new_strings);
    for (unsigned i = 0; i < collector.worker_count; i++) {
        array_free(&collector.workers[i].marks);
        array_free(&collector.workers[i].externals);
        facts_merge(facts, &collector.workers[i].facts.facts);
        facts_free(&collector.workers[i].facts.facts);
    }
    idmap_free(&collector.labels);
    mem_free(collector.workers);
    mem_free(collector.roles);
    pthread_mutex_destroy(&collector.lock);
    return ok;
}
