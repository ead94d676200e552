/*
 * Analysis, pass 3: the launches of device work, and the host's events grouped into steps. A step
 * begins with an annotated event; to it belong the events nested inside, the events that consume
 * what those produced, and so on.
 */
#include "analyze/passes.h"

#include <stdatomic.h>
#include <stdlib.h>

static uint32_t process_of(const struct analysis *analysis, uint32_t track)
{
    return catalog_ancestor(analysis->catalog, track, TRACK_PROCESS);
}

/* A program execution on the host that is not over yet. */
struct open_run {
    int64_t end_ps;
    int64_t id;
};

typedef ARRAY(struct open_run) run_stack;

static void add_launch(struct analysis *analysis, const struct mark *mark, const run_stack *runs)
{
    struct idmap *map = &analysis->launch_by_correlation[process_of(analysis, mark->ref.track)];
    if (idmap_get(map, (uint64_t)mark->id) != IDMAP_NONE)
        return; /* the outermost of nested calls is the launch */
    idmap_put(map, (uint64_t)mark->id, (uint32_t)analysis->launches.count);
    struct launch *launch = array_push(&analysis->launches);
    launch->event = mark->ref;
    launch->correlation = (uint64_t)mark->id;
    launch->has_run = runs->count > 0;
    launch->run = runs->count > 0 ? runs->items[runs->count - 1].id : 0;
    launch->device = TRACK_NONE;
    atomic_init(&launch->first_device_ps, INT64_MAX);
}

static int by_time(const void *a, const void *b, void *context)
{
    const struct mark *m = *(const struct mark *const *)a, *n = *(const struct mark *const *)b;
    const struct lane_analysis *lane = context;
    uint64_t m_rank = lane->rank ? lane->rank[m->ref.event] : m->ref.event;
    uint64_t n_rank = lane->rank ? lane->rank[n->ref.event] : n->ref.event;
    if (m_rank != n_rank)
        return m_rank < n_rank ? -1 : 1;
    return (int)m->kind - (int)n->kind; /* a run before the launch on the same event */
}

/* The launches and runs of one lane, whose marks are [first, end). */
static void find_launches_of_lane(struct analysis *analysis, size_t first, size_t end)
{
    uint32_t track = analysis->marks.items[first].ref.track;
    const struct lane_events *events = &analysis->trace.lanes[track];
    ARRAY(const struct mark *) marks = {0};
    for (size_t i = first; i < end; i++) {
        const struct mark *mark = &analysis->marks.items[i];
        if (mark->kind == MARK_RUN || mark->kind == MARK_LAUNCH)
            *array_push(&marks) = mark;
    }
    if (marks.count > 0 && analysis->lanes[track].rank)
        qsort_r(marks.items, marks.count, sizeof *marks.items, by_time, &analysis->lanes[track]);
    run_stack runs = {0};
    for (size_t i = 0; i < marks.count; i++) {
        const struct mark *mark = marks.items[i];
        int64_t start = events->start_ps[mark->ref.event];
        while (runs.count > 0 && runs.items[runs.count - 1].end_ps < start)
            runs.count--;
        if (mark->kind == MARK_RUN)
            *array_push(&runs) =
                (struct open_run){.end_ps = event_end(events, mark->ref.event), .id = mark->id};
        else
            add_launch(analysis, mark, &runs);
    }
    array_free(&runs);
    array_free(&marks);
}

void find_launches(struct analysis *analysis)
{
    analysis->launch_by_correlation =
        mem_zeroed(analysis->catalog->tracks.count, sizeof *analysis->launch_by_correlation);
    for (size_t first = 0, end; first < analysis->marks.count; first = end) {
        uint32_t track = analysis->marks.items[first].ref.track;
        for (end = first; end < analysis->marks.count; end++)
            if (analysis->marks.items[end].ref.track != track)
                break;
        find_launches_of_lane(analysis, first, end);
    }
}

struct launch *find_launch(const struct analysis *analysis, uint32_t process, uint64_t correlation)
{
    uint32_t index = idmap_get(&analysis->launch_by_correlation[process], correlation);
    return index == IDMAP_NONE ? NULL : &analysis->launches.items[index];
}

/*
 * Consumers by context. Several may wait for one producer, and several producers may share a
 * context; where both are many, which belongs to which cannot be told, and linking all to all would
 * take memory without end: then the first producer stands for all.
 */
struct context_index {
    struct idmap first;  /* hash of a context -> its first consumer's mark */
    uint32_t *next;      /* by mark: the next consumer with the same hash, or IDMAP_NONE */
    bool *queued;        /* by mark: the consumer was reached once, which is enough for grouping */
    uint32_t *producers; /* by first consumer's mark */
    uint32_t *consumers;
};

enum { MOST_LINKS = 4096 };

static uint64_t context_hash(const struct analysis *analysis, const struct mark *mark)
{
    uint64_t identity[3] = {process_of(analysis, mark->ref.track), (uint64_t)mark->type,
                            (uint64_t)mark->id};
    return hash_bytes(identity, sizeof identity);
}

static bool same_context(const struct mark *a, const struct mark *b)
{
    return a->type == b->type && a->id == b->id;
}

static void context_index_make(struct context_index *index, const struct analysis *analysis)
{
    size_t count = analysis->marks.count;
    index->first = (struct idmap){0};
    index->next = mem_zeroed(count, sizeof *index->next);
    index->queued = mem_zeroed(count, sizeof *index->queued);
    index->producers = mem_zeroed(count, sizeof *index->producers);
    index->consumers = mem_zeroed(count, sizeof *index->consumers);
    for (size_t i = count; i > 0; i--) {
        const struct mark *mark = &analysis->marks.items[i - 1];
        if (mark->kind != MARK_CONSUMER)
            continue;
        uint64_t hash = context_hash(analysis, mark);
        uint32_t next = idmap_get(&index->first, hash);
        index->next[i - 1] = next;
        index->consumers[i - 1] = next == IDMAP_NONE ? 1 : index->consumers[next] + 1;
        idmap_put(&index->first, hash, (uint32_t)(i - 1));
    }
}

static void context_index_free(struct context_index *index)
{
    idmap_free(&index->first);
    mem_free(index->next);
    mem_free(index->queued);
    mem_free(index->producers);
    mem_free(index->consumers);
}

static uint32_t skip_others(const struct context_index *index, const struct analysis *analysis,
                            const struct mark *producer, uint32_t at)
{
    while (at != IDMAP_NONE && !same_context(&analysis->marks.items[at], producer))
        at = index->next[at];
    return at;
}

static uint32_t first_consumer(const struct context_index *index, const struct analysis *analysis,
                               const struct mark *producer)
{
    uint32_t first = idmap_get(&index->first, context_hash(analysis, producer));
    return skip_others(index, analysis, producer, first);
}

static uint32_t next_consumer(const struct context_index *index, const struct analysis *analysis,
                              const struct mark *producer, uint32_t current)
{
    return skip_others(index, analysis, producer, index->next[current]);
}

struct pending_event {
    struct event_ref ref;
    uint32_t group;
};

typedef ARRAY(struct pending_event) event_queue;

uint32_t *groups_of(struct analysis *analysis, uint32_t track)
{
    struct lane_analysis *lane = &analysis->lanes[track];
    if (!lane->group)
        lane->group = mem_zeroed(analysis->trace.lanes[track].count, sizeof *lane->group);
    return lane->group;
}

struct grouping {
    struct analysis *analysis;
    struct context_index index;
    event_queue queue;
    uint64_t *patience; /* by track: how many events may still be passed over */
};

/* Queues what consumes the event's products; `mark` is at or before its first mark and moves on. */
static void queue_consumers(struct grouping *grouping, const struct event_ref *ref, uint32_t group,
                            size_t *mark)
{
    const struct analysis *analysis = grouping->analysis;
    struct context_index *index = &grouping->index;
    const struct mark *marks = analysis->marks.items;
    while (*mark < analysis->marks.count && marks[*mark].ref.track == ref->track &&
           marks[*mark].ref.event < ref->event)
        ++*mark;
    for (; *mark < analysis->marks.count && marks[*mark].ref.track == ref->track &&
           marks[*mark].ref.event == ref->event;
         ++*mark) {
        const struct mark *producer = &marks[*mark];
        if (producer->kind != MARK_PRODUCER)
            continue;
        for (uint32_t at = first_consumer(index, analysis, producer);
             at != IDMAP_NONE && !index->queued[at];
             at = next_consumer(index, analysis, producer, at)) {
            index->queued[at] = true;
            *array_push(&grouping->queue) = (struct pending_event){marks[at].ref, group};
        }
    }
}

/* The first position behind `from` whose event starts at `time` or later. */
static uint64_t position_at(const struct lane_analysis *lane, const struct lane_events *events,
                            uint64_t from, int64_t time)
{
    uint64_t low = from + 1, high = events->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (events->start_ps[event_at(lane, middle)] < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/*
 * Gives the event at the top and all that is nested in it their step. What has one already, or
 * reaches beyond the top, is passed over one by one; a lane that is made of little else is no tree
 * of calls, and once its patience is used up such parts are passed over whole.
 */
static void stamp_subtree(struct grouping *grouping, const struct pending_event *top)
{
    struct analysis *analysis = grouping->analysis;
    uint32_t track = top->ref.track;
    const struct lane_analysis *lane = &analysis->lanes[track];
    const struct lane_events *events = &analysis->trace.lanes[track];
    uint32_t *groups = groups_of(analysis, track);
    if (groups[top->ref.event])
        return;
    int64_t end = event_end(events, top->ref.event);
    size_t mark = first_mark(analysis, track, top->ref.event);
    uint64_t position = lane->rank ? lane->rank[top->ref.event] : top->ref.event;
    while (position < events->count) {
        struct event_ref ref = {track, event_at(lane, position)};
        bool is_top = ref.event == top->ref.event;
        if (!is_top && events->start_ps[ref.event] >= end)
            break;
        int64_t event_end_ps = event_end(events, ref.event);
        if (!is_top &&
            (groups[ref.event] || event_end_ps > end || !event_is_timed(events, ref.event))) {
            bool patient = grouping->patience[track] > 0;
            grouping->patience[track] -= patient;
            position = patient ? position + 1 : position_at(lane, events, position, event_end_ps);
            continue;
        }
        groups[ref.event] = top->group;
        if (lane->order) /* marks lie in the order of the source, events here in that of time */
            mark = first_mark(analysis, track, ref.event);
        queue_consumers(grouping, &ref, top->group, &mark);
        position++;
    }
}

static int by_start(const void *a, const void *b)
{
    const struct step *m = a, *n = b;
    if (m->start_ps != n->start_ps)
        return m->start_ps < n->start_ps ? -1 : 1;
    if (m->host_ps != n->host_ps)
        return m->host_ps > n->host_ps ? -1 : 1; /* the outer one first */
    if (m->root.track != n->root.track)
        return m->root.track < n->root.track ? -1 : 1;
    return m->root.event < n->root.event ? -1 : m->root.event > n->root.event;
}

static void find_roots(struct analysis *analysis)
{
    const struct mark *mark;
    array_each (mark, &analysis->marks) {
        const struct lane_events *events = &analysis->trace.lanes[mark->ref.track];
        if (mark->kind != MARK_ROOT || !event_is_timed(events, mark->ref.event))
            continue;
        int64_t start = events->start_ps[mark->ref.event];
        *array_push(&analysis->steps) =
            (struct step){.root = mark->ref,
                          .number = mark->id,
                          .start_ps = start,
                          .host_ps = event_end(events, mark->ref.event) - start,
                          .device_start_ps = TIME_UNSET,
                          .device_end_ps = TIME_UNSET};
    }
    if (analysis->steps.count > 0)
        qsort(analysis->steps.items, analysis->steps.count, sizeof *analysis->steps.items,
              by_start);
}

void group_steps(struct analysis *analysis)
{
    find_roots(analysis);
    if (analysis->steps.count == 0)
        return;
    size_t tracks = analysis->catalog->tracks.count;
    struct grouping grouping = {.analysis = analysis};
    context_index_make(&grouping.index, analysis);
    grouping.patience = mem_alloc(tracks * sizeof *grouping.patience);
    for (size_t i = 0; i < tracks; i++)
        grouping.patience[i] = 1024 + 4 * analysis->trace.lanes[i].count;
    size_t kept = 0; /* a root inside another step is not a step of its own */
    for (size_t i = 0; i < analysis->steps.count; i++) {
        struct step step = analysis->steps.items[i];
        if (groups_of(analysis, step.root.track)[step.root.event])
            continue;
        analysis->steps.items[kept++] = step;
        *array_push(&grouping.queue) = (struct pending_event){step.root, (uint32_t)kept};
        while (grouping.queue.count > 0) {
            struct pending_event next = grouping.queue.items[--grouping.queue.count];
            stamp_subtree(&grouping, &next);
        }
    }
    analysis->steps.count = kept;
    array_free(&grouping.queue);
    context_index_free(&grouping.index);
    mem_free(grouping.patience);
}

static bool visit_contexts(const struct analysis *analysis,
                           bool (*visit)(void *context, const struct flow *flow), void *context)
{
    struct context_index index;
    context_index_make(&index, analysis);
    const struct mark *marks = analysis->marks.items;
    for (size_t i = 0; i < analysis->marks.count; i++) {
        uint32_t first = marks[i].kind == MARK_PRODUCER
                             ? first_consumer(&index, analysis, &marks[i])
                             : IDMAP_NONE;
        if (first != IDMAP_NONE)
            index.producers[first]++;
    }
    bool go_on = true;
    for (size_t i = 0; i < analysis->marks.count && go_on; i++) {
        if (marks[i].kind != MARK_PRODUCER)
            continue;
        uint32_t first = first_consumer(&index, analysis, &marks[i]);
        if (first == IDMAP_NONE || index.queued[first])
            continue;
        index.queued[first] =
            (uint64_t)index.producers[first] * index.consumers[first] > MOST_LINKS;
        for (uint32_t at = first; at != IDMAP_NONE && go_on;
             at = next_consumer(&index, analysis, &marks[i], at)) {
            struct flow flow = {.kind = FLOW_CONTEXT,
                                .from = marks[i].ref,
                                .to = marks[at].ref,
                                .id = (uint64_t)marks[i].id};
            go_on = visit(context, &flow);
        }
    }
    context_index_free(&index);
    return go_on;
}

static bool visit_launches(const struct analysis *analysis, uint32_t track,
                           bool (*visit)(void *context, const struct flow *flow), void *context)
{
    const struct lane_analysis *lane = &analysis->lanes[track];
    uint32_t process = process_of(analysis, track);
    uint64_t count = lane->correlation ? analysis->trace.lanes[track].count : 0;
    for (uint64_t event = 0; event < count; event++) {
        uint64_t correlation = lane->correlation[event];
        const struct launch *launch =
            correlation ? find_launch(analysis, process, correlation) : NULL;
        if (!launch)
            continue;
        struct flow flow = {
            .kind = FLOW_LAUNCH, .from = launch->event, .to = {track, event}, .id = correlation};
        if (!visit(context, &flow))
            return false;
    }
    return true;
}

bool analysis_flows(const struct analysis *analysis,
                    bool (*visit)(void *context, const struct flow *flow), void *context)
{
    for (uint32_t track = 0; track < analysis->catalog->tracks.count; track++)
        if (!visit_launches(analysis, track, visit, context))
            return false;
    return visit_contexts(analysis, visit, context);
}
