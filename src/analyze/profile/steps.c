/*
 * Analysis pass: finds launches of device work and assigns host events to steps. A step starts
 * with an annotated event and contains the events nested in it, the events that consume what those
 * produced, and so on; of torch.profiler also what other threads of the process do meanwhile.
 */
#include "analyze/profile/analysis_passes.h"

#include <stdatomic.h>

static uint32_t process_of(const struct analysis *analysis, uint32_t track)
{
    return catalog_ancestor(analysis->catalog, track, TRACK_PROCESS);
}

/* A program execution on the host that has not ended yet. */
struct open_run {
    int64_t end_ps;
    int64_t id;
};

typedef ARRAY(struct open_run) run_stack;

static void add_launch(struct analysis *analysis, const struct scope_tree *scopes,
                       const struct mark *mark, const run_stack *runs)
{
    uint32_t process = process_of(analysis, mark->ref.track);
    struct idmap *map = &analysis->launch_by_correlation[process];
    mem_touched(MEM_JUMP);
    if (map->entries == 0) /* ids start wherever the process was when the capture began */
        map->base = (uint64_t)mark->id & ~(uint64_t)4095;
    if (idmap_get(map, (uint64_t)mark->id) != IDMAP_NONE)
        return; /* the outermost of nested calls is the launch */
    idmap_put(map, (uint64_t)mark->id, (uint32_t)analysis->launches.count);
    struct launch *launch = array_push(&analysis->launches);
    launch->event = mark->ref;
    launch->correlation = (uint64_t)mark->id;
    launch->has_run = runs->count > 0;
    launch->run = runs->count > 0 ? runs->items[runs->count - 1].id : 0;
    launch->execution = 0;
    launch->scope = mark->type;
    launch->outer_scope = outermost_scope(scopes, process, mark->type);
    launch->device = TRACK_NONE;
    launch->call = NO_INDEX;
    atomic_init(&launch->first_device_ps, INT64_MAX);
}

/* Of one event, the run comes before the launch: marks are stored that way. */
static bool by_time(const void *a, const void *b, const void *context)
{
    const struct mark *m = *(const struct mark *const *)a, *n = *(const struct mark *const *)b;
    const struct lane_analysis *lane = context;
    return lane->rank[m->ref.event] < lane->rank[n->ref.event];
}

/* The launches and runs of one lane, whose marks are [first, end). */
static void find_launches_of_lane(struct analysis *analysis, const struct scope_tree *scopes,
                                  size_t first, size_t end)
{
    uint32_t track = analysis->marks.items[first].ref.track;
    const struct lane_events *events = &analysis->trace.lanes[track];
    ARRAY(const struct mark *) marks = {0};
    for (size_t i = first; i < end; i++) {
        const struct mark *mark = &analysis->marks.items[i];
        touch_event(i);
        if (mark->kind == MARK_RUN || mark->kind == MARK_LAUNCH)
            *array_push(&marks) = mark;
    }
    if (analysis->lanes[track].rank)
        sort_items(marks.items, marks.count, sizeof *marks.items, by_time, &analysis->lanes[track]);
    run_stack runs = {0};
    for (size_t i = 0; i < marks.count; i++) {
        const struct mark *mark = marks.items[i];
        touch_event(i);
        int64_t start = events->start_ps[mark->ref.event];
        while (runs.count > 0 && runs.items[runs.count - 1].end_ps < start)
            runs.count--;
        if (mark->kind == MARK_RUN)
            *array_push(&runs) =
                (struct open_run){.end_ps = event_end(events, mark->ref.event), .id = mark->id};
        else
            add_launch(analysis, scopes, mark, &runs);
    }
    array_free(&runs);
    array_free(&marks);
}

void find_launches(struct analysis *analysis)
{
    analysis->launch_by_correlation =
        mem_zeroed(analysis->catalog->tracks.count, sizeof *analysis->launch_by_correlation);
    struct scope_tree scopes;
    scope_tree_make(&scopes, analysis->catalog);
    for (size_t first = 0, end; first < analysis->marks.count; first = end) {
        uint32_t track = analysis->marks.items[first].ref.track;
        for (end = first; end < analysis->marks.count; end++)
            if (analysis->marks.items[end].ref.track != track)
                break;
        find_launches_of_lane(analysis, &scopes, first, end);
    }
    scope_tree_free(&scopes);
}

struct launch *find_launch(const struct analysis *analysis, uint32_t process, uint64_t correlation)
{
    mem_touched(MEM_JUMP);
    uint32_t index = idmap_get(&analysis->launch_by_correlation[process], correlation);
    return index == IDMAP_NONE ? NULL : &analysis->launches.items[index];
}

const struct launch *launch_of_work(const struct analysis *analysis, struct event_ref work)
{
    const uint64_t *correlation = analysis->lanes[work.track].correlation;
    if (!correlation || correlation[work.event] == 0)
        return NULL;
    uint32_t process = catalog_ancestor(analysis->catalog, work.track, TRACK_PROCESS);
    return find_launch(analysis, process, correlation[work.event]);
}

/*
 * Links consumers to producers. Several consumers may wait for one producer, and several producers
 * may share a context; if both are many, the links are ambiguous and all pairs would take unbounded
 * memory: then the first producer stands for all.
 */
struct context_index {
    uint32_t *next;      /* by mark: a producer's first consumer, or a consumer's next one */
    bool *queued;        /* by mark: the consumer was reached; once is enough for grouping */
    uint32_t *producers; /* of a context, by the mark of its first consumer */
    uint32_t *consumers;
};

enum { MAX_LINKS = 4096 };

/* A producer or consumer, for sorting by context. */
struct context_end {
    int64_t type, id;
    uint32_t process, mark;
    bool consumes;
};

typedef ARRAY(struct context_end) end_list;

static bool by_context(const void *a, const void *b, const void *context)
{
    (void)context;
    const struct context_end *m = a, *n = b;
    if (m->id != n->id)
        return m->id < n->id;
    return m->type != n->type ? m->type < n->type : m->process < n->process;
}

/* Sorted rather than hashed: ids mostly increase with time, and file-backed memory is then read
 * sequentially. */
static void list_ends(const struct analysis *analysis, end_list *ends)
{
    for (uint32_t i = 0; i < analysis->marks.count; i++) {
        const struct mark *mark = &analysis->marks.items[i];
        touch_event(i);
        if (mark->kind == MARK_PRODUCER || mark->kind == MARK_CONSUMER)
            *array_push(ends) =
                (struct context_end){.type = mark->type,
                                     .id = mark->id,
                                     .process = process_of(analysis, mark->ref.track),
                                     .mark = i,
                                     .consumes = mark->kind == MARK_CONSUMER};
    }
    sort_items(ends->items, ends->count, sizeof *ends->items, by_context, NULL);
}

/* Links the ends [first, end), all of one context, in the order of their marks. */
static void link_context(struct context_index *index, const struct context_end *ends, size_t first,
                         size_t end)
{
    uint32_t next = NO_INDEX, consumers = 0;
    for (size_t i = end; i > first; i--) {
        mem_touched(MEM_JUMP);
        if (!ends[i - 1].consumes)
            continue;
        index->next[ends[i - 1].mark] = next;
        next = ends[i - 1].mark;
        consumers++;
    }
    for (size_t i = first; i < end; i++)
        if (!ends[i].consumes)
            index->next[ends[i].mark] = next;
    if (next == NO_INDEX)
        return;
    index->consumers[next] = consumers;
    index->producers[next] = (uint32_t)(end - first) - consumers;
}

static void context_index_make(struct context_index *index, const struct analysis *analysis)
{
    size_t count = analysis->marks.count;
    index->next = mem_zeroed(count, sizeof *index->next);
    index->queued = mem_zeroed(count, sizeof *index->queued);
    index->producers = mem_zeroed(count, sizeof *index->producers);
    index->consumers = mem_zeroed(count, sizeof *index->consumers);
    end_list ends = {0};
    list_ends(analysis, &ends);
    for (size_t first = 0, end; first < ends.count; first = end) {
        for (end = first + 1; end < ends.count; end++)
            if (by_context(&ends.items[first], &ends.items[end], NULL))
                break;
        link_context(index, ends.items, first, end);
    }
    array_free(&ends);
}

static void context_index_free(struct context_index *index)
{
    mem_free(index->next);
    mem_free(index->queued);
    mem_free(index->producers);
    mem_free(index->consumers);
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
        lane->group = analysis->columns.group + lane_first(&analysis->trace, track);
    return lane->group;
}

struct grouping {
    struct analysis *analysis;
    struct context_index index;
    event_queue queue;
    uint64_t *skip_budget; /* by track: how many events may still be skipped one by one */
};

/* Queues the consumers of the event's products; *mark is at or before its first mark and
 * advances. */
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
        if (marks[*mark].kind != MARK_PRODUCER)
            continue;
        for (uint32_t at = index->next[*mark]; at != NO_INDEX && !index->queued[at];
             at = index->next[at]) {
            mem_touched(MEM_JUMP);
            index->queued[at] = true;
            *array_push(&grouping->queue) = (struct pending_event){marks[at].ref, group};
        }
    }
}

/* The first position after `from` whose event starts at `time` or later. */
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
 * Assigns the step to the event at the top and everything nested in it. Events that already have a
 * step or end after the top are skipped one by one; a lane with many of those is not a call tree:
 * once its skip budget is used up, their subtrees are skipped whole.
 */
static void assign_subtree(struct grouping *grouping, const struct pending_event *top)
{
    struct analysis *analysis = grouping->analysis;
    uint32_t track = top->ref.track;
    const struct lane_analysis *lane = &analysis->lanes[track];
    const struct lane_events *events = &analysis->trace.lanes[track];
    uint32_t *groups = groups_of(analysis, track);
    mem_touched((size_t)4 * MEM_JUMP);
    if (groups[top->ref.event])
        return;
    int64_t end = event_end(events, top->ref.event);
    size_t mark = first_mark(analysis, track, top->ref.event);
    uint64_t position = lane->rank ? lane->rank[top->ref.event] : top->ref.event;
    while (position < events->count) {
        struct event_ref ref = {track, event_at(lane, position)};
        touch_event(position);
        bool is_top = ref.event == top->ref.event;
        if (!is_top && events->start_ps[ref.event] >= end)
            break;
        int64_t event_end_ps = event_end(events, ref.event);
        if (!is_top &&
            (groups[ref.event] || event_end_ps > end || !event_is_timed(events, ref.event))) {
            bool can_skip = grouping->skip_budget[track] > 0;
            grouping->skip_budget[track] -= can_skip;
            position = can_skip ? position + 1 : position_at(lane, events, position, event_end_ps);
            continue;
        }
        groups[ref.event] = top->group;
        if (lane->order) /* marks are in source order, events here in time order */
            mark = first_mark(analysis, track, ref.event);
        queue_consumers(grouping, &ref, top->group, &mark);
        position++;
    }
}

static bool by_start(const void *a, const void *b, const void *context)
{
    (void)context;
    const struct step *m = a, *n = b;
    if (m->start_ps != n->start_ps)
        return m->start_ps < n->start_ps;
    return m->host_ps > n->host_ps; /* outer first, then by track and event */
}

static void find_roots(struct analysis *analysis)
{
    for (size_t i = 0; i < analysis->marks.count; i++) {
        const struct mark *mark = &analysis->marks.items[i];
        const struct lane_events *events = &analysis->trace.lanes[mark->ref.track];
        touch_event(i);
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
    sort_items(analysis->steps.items, analysis->steps.count, sizeof *analysis->steps.items,
               by_start, NULL);
}

/* A step of torch.profiler and the process it is a step of. */
struct process_step {
    uint32_t process, step;
};

static bool by_process(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct process_step *)a)->process < ((const struct process_step *)b)->process;
}

/* How many of the steps have begun at a time, when that many have for certain. */
static size_t steps_begun(const struct analysis *analysis, const struct process_step *steps,
                          size_t certain, size_t count, int64_t time)
{
    while (certain < count) {
        size_t middle = certain + (count - certain) / 2;
        if (analysis->steps.items[steps[middle].step].start_ps <= time)
            certain = middle + 1;
        else
            count = middle;
    }
    return certain;
}

/* Events of the lane without a step join the step of their process that they start in. */
static void assign_by_time(struct analysis *analysis, uint32_t track,
                           const struct process_step *steps, size_t count)
{
    const struct lane_analysis *lane = &analysis->lanes[track];
    const struct lane_events *events = &analysis->trace.lanes[track];
    uint32_t *groups = groups_of(analysis, track);
    size_t begun = 0; /* how many steps have, in order of time */
    for (uint64_t position = 0; position < events->count; position++) {
        uint64_t event = event_at(lane, position);
        int64_t start = events->start_ps[event];
        touch_event(position);
        if (begun < count && analysis->steps.items[steps[begun].step].start_ps <= start)
            begun = steps_begun(analysis, steps, begun, count, start);
        if (begun == 0 || groups[event] || !event_is_timed(events, event))
            continue;
        const struct step *step = &analysis->steps.items[steps[begun - 1].step];
        if (sub_saturated(start, step->start_ps) < step->host_ps)
            groups[event] = steps[begun - 1].step + 1;
    }
}

/*
 * torch.profiler annotates steps on one thread only: autograd runs the backward pass on threads of
 * its own, and no context links their work to the step.
 */
static void assign_other_threads(struct analysis *analysis)
{
    ARRAY(struct process_step) steps = {0};
    for (uint32_t i = 0; i < analysis->steps.count; i++) {
        const struct event_ref *root = &analysis->steps.items[i].root;
        uint32_t type = analysis->trace.lanes[root->track].type[root->event];
        if (analysis->type_roles[type] == TYPE_STEP)
            *array_push(&steps) = (struct process_step){process_of(analysis, root->track), i};
    }
    sort_items(steps.items, steps.count, sizeof *steps.items, by_process, NULL);
    struct idmap first = {0}, end = {0}; /* by process */
    for (uint32_t i = 0; i < steps.count; i++) {
        if (i == 0 || steps.items[i].process != steps.items[i - 1].process)
            idmap_put(&first, steps.items[i].process, i);
        idmap_put(&end, steps.items[i].process, i + 1);
    }
    for (uint32_t track = 0; track < analysis->catalog->tracks.count && steps.count; track++) {
        const struct track *lane = &analysis->catalog->tracks.items[track];
        uint32_t process = process_of(analysis, track), at = idmap_get(&first, process);
        if (lane->level != TRACK_LANE || lane->source != SOURCE_HOST || lane->events == 0 ||
            lane->lane == LANE_COUNTER || at == IDMAP_NONE)
            continue;
        assign_by_time(analysis, track, &steps.items[at], idmap_get(&end, process) - at);
    }
    idmap_free(&first);
    idmap_free(&end);
    array_free(&steps);
}

/* Which step an annotation is of: JAX's and Kymo's annotations of one are in planes of their own.
 */
struct step_name {
    int64_t number;
    uint32_t process, name;
};

static struct step_name name_of_step(const struct analysis *analysis, const struct step *step)
{
    uint32_t type = analysis->trace.lanes[step->root.track].type[step->root.event];
    return (struct step_name){step->number, process_of(analysis, step->root.track),
                              analysis->catalog->types.items[type].name};
}

/* The group of a step that the process has annotated in another plane and that encloses this one;
 * 0 if there is none. `known` has the last group by name, 0 once it has its second annotation. */
static uint32_t enclosing_step(const struct analysis *analysis, const struct idmap *known,
                               const struct step *step)
{
    struct step_name name = name_of_step(analysis, step);
    uint32_t group = idmap_get(known, hash_bytes(&name, sizeof name));
    if (group == IDMAP_NONE || group == 0)
        return 0;
    const struct step *other = &analysis->steps.items[group - 1];
    struct step_name others = name_of_step(analysis, other);
    const struct track *tracks = analysis->catalog->tracks.items;
    bool is_same = memcmp(&name, &others, sizeof name) == 0 &&
                   tracks[step->root.track].parent != tracks[other->root.track].parent &&
                   add_saturated(step->start_ps, step->host_ps) <=
                       add_saturated(other->start_ps, other->host_ps);
    return is_same ? group : 0;
}

/* Assigns the events of steps; drops roots inside another step. */
static void assign_steps(struct grouping *grouping)
{
    struct analysis *analysis = grouping->analysis;
    struct idmap known = {0};
    uint32_t kept = 0;
    for (size_t i = 0; i < analysis->steps.count; i++) {
        struct step step = analysis->steps.items[i];
        if (groups_of(analysis, step.root.track)[step.root.event])
            continue;
        struct step_name name = name_of_step(analysis, &step);
        uint32_t group = enclosing_step(analysis, &known, &step);
        idmap_put(&known, hash_bytes(&name, sizeof name), group ? 0 : kept + 1);
        if (group == 0) {
            analysis->steps.items[kept] = step;
            group = ++kept;
        }
        *array_push(&grouping->queue) = (struct pending_event){step.root, group};
        while (grouping->queue.count > 0) {
            struct pending_event next = grouping->queue.items[--grouping->queue.count];
            assign_subtree(grouping, &next);
        }
    }
    analysis->steps.count = kept;
    idmap_free(&known);
}

void group_steps(struct analysis *analysis)
{
    find_roots(analysis);
    if (analysis->steps.count == 0)
        return;
    size_t tracks = analysis->catalog->tracks.count;
    analysis->columns.group = mem_zeroed(analysis->trace.events, sizeof *analysis->columns.group);
    struct grouping grouping = {.analysis = analysis};
    context_index_make(&grouping.index, analysis);
    grouping.skip_budget = mem_alloc(tracks * sizeof *grouping.skip_budget);
    for (size_t i = 0; i < tracks; i++)
        grouping.skip_budget[i] = 1024 + 4 * analysis->trace.lanes[i].count;
    assign_steps(&grouping);
    assign_other_threads(analysis);
    array_free(&grouping.queue);
    context_index_free(&grouping.index);
    mem_free(grouping.skip_budget);
}

/* A context with many producers and consumers would make their product of links: beyond
 * MAX_LINKS only its first producer gets them. `queued` marks such contexts as done. */
static bool visit_contexts(const struct analysis *analysis,
                           bool (*visit)(void *context, const struct flow *flow), void *context)
{
    struct context_index index;
    context_index_make(&index, analysis);
    const struct mark *marks = analysis->marks.items;
    bool go_on = true;
    for (size_t i = 0; i < analysis->marks.count && go_on; i++) {
        touch_event(i);
        uint32_t first = marks[i].kind == MARK_PRODUCER ? index.next[i] : NO_INDEX;
        if (first == NO_INDEX || index.queued[first])
            continue;
        index.queued[first] = (uint64_t)index.producers[first] * index.consumers[first] > MAX_LINKS;
        for (uint32_t at = first; at != NO_INDEX && go_on; at = index.next[at]) {
            mem_touched(MEM_JUMP);
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
    const struct launch *launch = NULL;
    uint64_t known = 0; /* the correlation id of `launch` */
    for (uint64_t event = 0; event < count; event++) {
        uint64_t correlation = lane->correlation[event];
        touch_event(event);
        if (correlation != known)
            launch = correlation ? find_launch(analysis, process, correlation) : NULL;
        known = correlation;
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
