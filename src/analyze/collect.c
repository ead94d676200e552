/*
 * Analysis, pass 1: reads the source once. Times and types go to the in-memory trace; of the args
 * only those that link events to each other or to programs are kept.
 */
#include "analyze/passes.h"

#include <stdlib.h>

/* What a key means to the analysis. */
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
    ROLE_COUNT,
};

static const struct {
    const char *key;
    enum role role;
} role_keys[] = {
    {"correlation_id", ROLE_CORRELATION}, {"_pt", ROLE_PRODUCER_TYPE}, {"_p", ROLE_PRODUCER_ID},
    {"_ct", ROLE_CONSUMER_TYPE},          {"_c", ROLE_CONSUMER_ID},    {"_r", ROLE_ROOT},
    {"step_num", ROLE_STEP_NUMBER},       {"run_id", ROLE_RUN},        {"hlo_op", ROLE_OPERATION},
    {"hlo_module", ROLE_MODULE},          {"program_id", ROLE_PROGRAM}};

enum { KNOWN_LABELS = 256 };

struct known_label {
    struct hlo_label label;
    uint32_t number; /* its index plus one, 0 when the place is free */
};

struct worker_state {
    ARRAY(struct mark) marks;
    struct known_label known[KNOWN_LABELS]; /* by hash; a new label takes the place of an old one */
};

struct collector {
    struct sink sink;
    struct analysis *analysis;
    uint8_t *roles; /* by key */
    struct worker_state *workers;
    unsigned worker_count;
    pthread_mutex_t lock; /* guards analysis.labels and the two below */
    struct idmap labels;  /* hash of a label -> its index */
    struct intern new_texts;
};

static bool begin(struct sink *sink, const struct catalog *catalog, unsigned workers,
                  struct error *err)
{
    struct collector *collector = (struct collector *)sink;
    struct analysis *analysis = collector->analysis;
    collector->workers = mem_zeroed(workers, sizeof *collector->workers);
    collector->worker_count = workers;
    collector->roles = mem_zeroed(catalog->strings.by_id.count, sizeof *collector->roles);
    for (size_t i = 0; i < sizeof role_keys / sizeof *role_keys; i++) {
        uint32_t string = intern_find(&catalog->strings, text_of(role_keys[i].key));
        if (string != INTERN_NONE)
            collector->roles[string] = (uint8_t)role_keys[i].role;
    }
    analysis->lanes = mem_zeroed(catalog->tracks.count, sizeof *analysis->lanes);
    for (size_t i = 0; i < catalog->tracks.count; i++) {
        const struct track *track = &catalog->tracks.items[i];
        struct lane_analysis *lane = &analysis->lanes[i];
        if (track->source != SOURCE_DEVICE || track->events == 0)
            continue;
        lane->correlation = mem_zeroed(track->events, sizeof *lane->correlation);
        lane->label = mem_zeroed(track->events, sizeof *lane->label);
    }
    return analysis->trace.sink.begin(&analysis->trace.sink, catalog, workers, err);
}

/* Texts that the catalog does not know have numbers of their own while the source is read, and join
 * it afterwards: until then it must not change. */
#define IS_NEW_TEXT 0x80000000u

static uint32_t arg_string(struct collector *collector, const struct arg *arg)
{
    const struct catalog *catalog = collector->analysis->catalog;
    if (arg->type == ARG_STRING)
        return arg->string;
    uint32_t string = intern_find(&catalog->strings, arg_text(catalog, arg));
    if (string != INTERN_NONE)
        return string;
    pthread_mutex_lock(&collector->lock);
    string = intern_add(&collector->new_texts, arg_text(catalog, arg)) | IS_NEW_TEXT;
    pthread_mutex_unlock(&collector->lock);
    return string;
}

static void adopt_new_texts(struct collector *collector, struct catalog *catalog)
{
    struct hlo_label *label;
    array_each (label, &collector->analysis->labels) {
        uint32_t *strings[] = {&label->operation, &label->module};
        for (size_t i = 0; i < 2; i++)
            if (*strings[i] & IS_NEW_TEXT)
                *strings[i] = catalog_string(
                    catalog, intern_text(&collector->new_texts, *strings[i] & ~IS_NEW_TEXT));
    }
}

static bool label_equal(const struct hlo_label *a, const struct hlo_label *b)
{
    return a->operation == b->operation && a->module == b->module &&
           a->program_id == b->program_id && a->has_program_id == b->has_program_id;
}

/* The index of a label in the analysis; two labels of one hash only cost a double entry. */
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

/* Its index plus one. A worker remembers the labels it met, so the lock is rarely taken. */
static uint32_t label_number(struct collector *collector, struct worker_state *worker,
                             const struct hlo_label *label)
{
    uint64_t identity[4] = {label->operation, label->module, (uint64_t)label->program_id,
                            label->has_program_id};
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

static void keep_device_links(struct collector *collector, struct worker_state *worker,
                              const struct batch *batch, uint32_t event,
                              const struct event_roles *roles)
{
    struct lane_analysis *lane = &collector->analysis->lanes[batch->track];
    if (has(roles, ROLE_CORRELATION))
        lane->correlation[batch->first + event] =
            (uint64_t)arg_integer(roles->args[ROLE_CORRELATION]);
    if (!has(roles, ROLE_MODULE))
        return;
    struct hlo_label label = {.module = arg_string(collector, roles->args[ROLE_MODULE]),
                              .program_id = role_integer(roles, ROLE_PROGRAM),
                              .has_program_id = has(roles, ROLE_PROGRAM),
                              .program = NO_INDEX};
    if (has(roles, ROLE_OPERATION))
        label.operation = arg_string(collector, roles->args[ROLE_OPERATION]);
    lane->label[batch->first + event] = label_number(collector, worker, &label);
}

static void keep_links(struct collector *collector, struct worker_state *worker,
                       const struct batch *batch, uint32_t event, const struct event_roles *roles)
{
    bool on_device =
        collector->analysis->catalog->tracks.items[batch->track].source == SOURCE_DEVICE;
    if (on_device)
        keep_device_links(collector, worker, batch, event, roles);
    else if (has(roles, ROLE_CORRELATION))
        add_mark(worker, batch, event, MARK_LAUNCH, 0, role_integer(roles, ROLE_CORRELATION));
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
}

static bool take(struct sink *sink, const struct batch *batch, unsigned worker_number,
                 struct error *err)
{
    struct collector *collector = (struct collector *)sink;
    struct worker_state *worker = &collector->workers[worker_number];
    struct sink *memory = &collector->analysis->trace.sink;
    if (!memory->batch(memory, batch, worker_number, err))
        return false;
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
        if (roles.present)
            keep_links(collector, worker, batch, event, &roles);
    }
    return true;
}

static int by_place(const void *a, const void *b)
{
    const struct mark *m = a, *n = b;
    if (m->ref.track != n->ref.track)
        return m->ref.track < n->ref.track ? -1 : 1;
    if (m->ref.event != n->ref.event)
        return m->ref.event < n->ref.event ? -1 : 1;
    return (int)m->kind - (int)n->kind;
}

static void merge_marks(struct collector *collector)
{
    struct analysis *analysis = collector->analysis;
    for (unsigned i = 0; i < collector->worker_count; i++) {
        const struct mark *mark;
        array_each (mark, &collector->workers[i].marks)
            *array_push(&analysis->marks) = *mark;
    }
    if (analysis->marks.count > 0)
        qsort(analysis->marks.items, analysis->marks.count, sizeof *analysis->marks.items,
              by_place);
}

size_t first_mark(const struct analysis *analysis, uint32_t track, uint64_t event)
{
    size_t low = 0, high = analysis->marks.count;
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

bool collect(struct analysis *analysis, struct source *source, struct pool *pool, struct error *err)
{
    struct collector collector = {.sink = {.begin = begin, .batch = take}, .analysis = analysis};
    pthread_mutex_init(&collector.lock, NULL);
    intern_init(&collector.new_texts);
    bool ok = source_read(source, &collector.sink, pool, err);
    if (ok) {
        merge_marks(&collector);
        adopt_new_texts(&collector, &source->catalog);
    }
    intern_free(&collector.new_texts);
    for (unsigned i = 0; i < collector.worker_count; i++)
        array_free(&collector.workers[i].marks);
    idmap_free(&collector.labels);
    mem_free(collector.workers);
    mem_free(collector.roles);
    pthread_mutex_destroy(&collector.lock);
    return ok;
}
