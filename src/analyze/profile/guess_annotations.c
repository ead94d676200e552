/*
 * Guesses the steps of a PyTorch capture that marks none. Training: the optimizer's step() ends a
 * step. Otherwise the outermost annotation that takes most time and repeats begins one, or what
 * repeats as often and comes before it: of "load", "forward" and "loss" that is "load".
 */
#include "analyze/profile/analysis_passes.h"

enum { MIN_REPEATS = 3 };
/* Of all launches, the share that steps must have: what repeats beside the program does not mark
 * steps. */
#define MIN_LAUNCHES 0.8

/* One type of event on one thread. */
struct repeated {
    uint32_t process, lane, type;
    uint64_t count;
    int64_t total_ps, first_ps;
};

typedef ARRAY(struct repeated) repeated_list;

static bool is_optimizer(struct text name)
{
    return text_starts(name, TEXT("Optimizer.step#"));
}

/* By type: may mark steps. */
static bool *marking_types(const struct analysis *analysis, bool optimizers)
{
    const struct catalog *catalog = analysis->catalog;
    bool *is_marking = mem_zeroed(catalog->types.count, sizeof *is_marking);
    for (size_t i = 0; i < catalog->types.count; i++) {
        uint8_t role = analysis->type_roles[i];
        bool is_optimizers = is_optimizer(catalog_text(catalog, catalog->types.items[i].name));
        is_marking[i] = optimizers ? is_optimizers && role <= TYPE_ANNOTATION
                                   : role == TYPE_ANNOTATION && !is_optimizers;
    }
    return is_marking;
}

typedef void visit_outermost(void *context, uint32_t lane, uint64_t event);

/* Visits the events of some types on a thread that are not inside others of these, in order. */
static void visit(const struct analysis *analysis, uint32_t lane, const bool *is_wanted,
                  visit_outermost *outermost, void *context)
{
    const struct lane_events *events = &analysis->trace.lanes[lane];
    int64_t outer_to = INT64_MIN;
    for (uint64_t i = 0; i < events->count; i++) {
        uint64_t event = event_at(&analysis->lanes[lane], i);
        touch_event(i);
        if (!is_wanted[events->type[event]] || !event_is_timed(events, event) ||
            events->start_ps[event] < outer_to)
            continue;
        outer_to = event_end(events, event);
        outermost(context, lane, event);
    }
}

struct search {
    const struct analysis *analysis;
    repeated_list found;
    struct idmap by_type; /* of the lane being visited: index in found */
};

static void count_event(void *context, uint32_t lane, uint64_t event)
{
    struct search *search = context;
    const struct analysis *analysis = search->analysis;
    const struct lane_events *events = &analysis->trace.lanes[lane];
    uint32_t type = events->type[event], at = idmap_get(&search->by_type, type);
    if (at == IDMAP_NONE) {
        at = (uint32_t)search->found.count;
        idmap_put(&search->by_type, type, at);
        *array_push(&search->found) =
            (struct repeated){.process = catalog_ancestor(analysis->catalog, lane, TRACK_PROCESS),
                              .lane = lane,
                              .type = type,
                              .first_ps = events->start_ps[event]};
    }
    struct repeated *one = &search->found.items[at];
    one->count++;
    one->total_ps = add_saturated(one->total_ps,
                                  sub_saturated(event_end(events, event), events->start_ps[event]));
}

static void search_lanes(struct search *search, const bool *is_marking)
{
    const struct catalog *catalog = search->analysis->catalog;
    for (uint32_t i = 0; i < catalog->tracks.count; i++) {
        const struct track *track = &catalog->tracks.items[i];
        if (track->level != TRACK_LANE || track->source != SOURCE_HOST ||
            track->lane == LANE_COUNTER || track->events == 0)
            continue;
        visit(search->analysis, i, is_marking, count_event, search);
        idmap_free(&search->by_type);
    }
}

/* What several threads do is a request of a server, say: those overlap. */
static bool is_of_one_thread(const repeated_list *found, const struct repeated *one)
{
    const struct repeated *other;
    array_each (other, found)
        if (other->process == one->process && other->type == one->type && other->lane != one->lane)
            return false;
    return true;
}

/* What marks the steps of a process; NULL if nothing does. */
static const struct repeated *choose(const repeated_list *found, uint32_t process, bool optimizers)
{
    const struct repeated *best = NULL, *one;
    array_each (one, found)
        if (one->process == process && one->count >= MIN_REPEATS &&
            (!best || one->total_ps > best->total_ps) &&
            (optimizers || is_of_one_thread(found, one)))
            best = one;
    if (!best || optimizers)
        return best;
    const struct repeated *first = best;
    array_each (one, found)
        if (one->lane == best->lane && one->count == best->count && one->first_ps < first->first_ps)
            first = one;
    return first;
}

struct making {
    struct analysis *analysis;
    uint32_t type;
    bool optimizers;
    int64_t next_ps; /* end of the last step, of optimizers */
    int64_t number, longest_ps;
};

/* An optimizer ends its step, another annotation begins it. The length of the last step is not
 * known: it gets the longest of the others. */
static void make_step(void *context, uint32_t lane, uint64_t event)
{
    struct making *making = context;
    struct analysis *analysis = making->analysis;
    const struct lane_events *events = &analysis->trace.lanes[lane];
    if (events->type[event] != making->type)
        return;
    int64_t start = events->start_ps[event], end = event_end(events, event);
    if (making->optimizers) {
        start = making->next_ps < start ? making->next_ps : start;
        making->next_ps = end;
    } else if (making->number > 0) {
        struct step *last = &analysis->steps.items[analysis->steps.count - 1];
        last->host_ps = sub_saturated(start, last->start_ps);
        making->longest_ps =
            last->host_ps > making->longest_ps ? last->host_ps : making->longest_ps;
    }
    int64_t own = sub_saturated(end, start);
    *array_push(&analysis->steps) =
        (struct step){.root = {lane, event},
                      .number = making->number++,
                      .start_ps = start,
                      .host_ps = own > making->longest_ps ? own : making->longest_ps,
                      .device_start_ps = TIME_UNSET,
                      .device_end_ps = TIME_UNSET};
}

static bool has_most_launches(const struct analysis *analysis)
{
    int64_t from = INT64_MAX, to = INT64_MIN;
    uint64_t inside = 0;
    const struct step *step;
    array_each (step, &analysis->steps) {
        int64_t end = add_saturated(step->start_ps, step->host_ps);
        from = step->start_ps < from ? step->start_ps : from;
        to = end > to ? end : to;
    }
    for (size_t i = 0; i < analysis->launches.count; i++) {
        const struct event_ref *ref = &analysis->launches.items[i].event;
        touch_event(i);
        int64_t start = analysis->trace.lanes[ref->track].start_ps[ref->event];
        inside += start >= from && start < to;
    }
    return (double)inside >= MIN_LAUNCHES * (double)analysis->launches.count;
}

static bool guess_from(struct analysis *analysis, bool optimizers)
{
    struct search search = {.analysis = analysis};
    bool *is_marking = marking_types(analysis, optimizers);
    search_lanes(&search, is_marking);
    for (uint32_t i = 0; i < analysis->catalog->tracks.count; i++) {
        const struct repeated *marks = analysis->catalog->tracks.items[i].level == TRACK_PROCESS
                                           ? choose(&search.found, i, optimizers)
                                           : NULL;
        if (!marks)
            continue;
        struct making making = {.analysis = analysis,
                                .type = marks->type,
                                .optimizers = optimizers,
                                .next_ps = analysis->lanes[marks->lane].work.first_ps};
        visit(analysis, marks->lane, is_marking, make_step, &making);
    }
    array_free(&search.found);
    mem_free(is_marking);
    if (analysis->steps.count > 0 && !has_most_launches(analysis))
        analysis->steps.count = 0;
    return analysis->steps.count > 0;
}

bool guess_from_optimizers(struct analysis *analysis)
{
    return guess_from(analysis, true);
}

bool guess_from_annotations(struct analysis *analysis)
{
    return guess_from(analysis, false);
}
