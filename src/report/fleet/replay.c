/*
 * Builds the graph of a step and runs it: what becomes ready is put on a stack, so that all is
 * visited once, after what it follows.
 */
#include "report/fleet/replay.h"

#include <math.h>
#include <stdlib.h>

#define NONE UINT32_MAX

enum anchor_kind { AFTER_STEP_START, AFTER_START, AFTER_END };

/* A collective of a lane, or the end of a lane's step: then it has no match. */
struct node {
    uint32_t lane, match;
    double start_ns, end_ns; /* as measured */
    enum anchor_kind anchor_kind;
    uint32_t anchor;                             /* node */
    double work_ns;                              /* from the anchor to its start */
    uint32_t first_after_start, first_after_end; /* nodes anchored here */
    uint32_t next;                               /* with the same anchor */
    uint32_t next_member;                        /* of the match */
    double time_ns;                              /* when it starts in this run */
};

struct match {
    uint32_t first_member, members;
    double transfer_ns;
    /* In this run: */
    uint32_t arrived, last;
    double end_ns;
};

struct replay {
    struct node *nodes; /* by lane and start; each lane's end is its last */
    size_t node_count;
    struct match *matches;
    size_t match_count;
    struct replay_lane *lanes;
    size_t lane_count;
    uint32_t *ready;
    uint32_t last; /* the lane's end that came last */
    double unchanged_ns;
};

static int compare_nodes(const void *a, const void *b)
{
    const struct node *left = a, *right = b;
    if (left->lane != right->lane)
        return left->lane < right->lane ? -1 : 1;
    bool left_ends = left->match == NONE, right_ends = right->match == NONE;
    if (left_ends != right_ends)
        return left_ends ? 1 : -1;
    return (left->start_ns > right->start_ns) - (left->start_ns < right->start_ns);
}

/* How far back an anchor is looked for: no more collectives of a lane overlap one another. */
enum { LOOK_BACK = 64 };

static void find_anchor(struct replay *replay, size_t number)
{
    struct node *node = &replay->nodes[number];
    double at = replay->lanes[node->lane].start_ns;
    node->anchor_kind = AFTER_STEP_START;
    node->anchor = NONE;
    for (size_t i = number; i-- > 0 && number - i <= LOOK_BACK;) {
        const struct node *before = &replay->nodes[i];
        if (before->lane != node->lane)
            break;
        bool has_ended = before->end_ns <= node->start_ns;
        double time = has_ended ? before->end_ns : before->start_ns;
        if (time >= at && time <= node->start_ns) {
            at = time;
            node->anchor_kind = has_ended ? AFTER_END : AFTER_START;
            node->anchor = (uint32_t)i;
        }
    }
    node->work_ns = fmax(0, node->start_ns - at);
}

static void link_anchor(struct replay *replay, uint32_t number)
{
    struct node *node = &replay->nodes[number];
    if (node->anchor == NONE)
        return;
    struct node *anchor = &replay->nodes[node->anchor];
    uint32_t *first =
        node->anchor_kind == AFTER_END ? &anchor->first_after_end : &anchor->first_after_start;
    node->next = *first;
    *first = number;
}

static void link_match(struct replay *replay, uint32_t number)
{
    struct node *node = &replay->nodes[number];
    if (node->match == NONE)
        return;
    struct match *match = &replay->matches[node->match];
    double duration = node->end_ns - node->start_ns;
    if (match->members == 0 || duration < match->transfer_ns)
        match->transfer_ns = fmax(0, duration);
    node->next_member = match->first_member;
    match->first_member = number;
    match->members++;
}

static void start_node(struct replay *replay, uint32_t number, double time_ns, size_t *ready)
{
    replay->nodes[number].time_ns = time_ns;
    replay->ready[(*ready)++] = number;
}

static double work_of(const struct replay *replay, uint32_t number, const double *lane_factors)
{
    const struct node *node = &replay->nodes[number];
    return node->work_ns * (lane_factors ? lane_factors[node->lane] : 1);
}

static void end_match(struct replay *replay, struct match *match, double factor,
                      const double *lane_factors, size_t *ready)
{
    match->end_ns = replay->nodes[match->last].time_ns + match->transfer_ns * factor;
    for (uint32_t member = match->first_member; member != NONE;
         member = replay->nodes[member].next_member)
        for (uint32_t next = replay->nodes[member].first_after_end; next != NONE;
             next = replay->nodes[next].next)
            start_node(replay, next, match->end_ns + work_of(replay, next, lane_factors), ready);
}

static void arrive(struct replay *replay, uint32_t number, const double *lane_factors,
                   const double *match_factors, size_t *ready)
{
    const struct node *node = &replay->nodes[number];
    for (uint32_t next = node->first_after_start; next != NONE; next = replay->nodes[next].next)
        start_node(replay, next, node->time_ns + work_of(replay, next, lane_factors), ready);
    if (node->match == NONE) {
        if (replay->last == NONE || node->time_ns > replay->nodes[replay->last].time_ns)
            replay->last = number;
        return;
    }
    struct match *match = &replay->matches[node->match];
    if (match->arrived == 0 || node->time_ns > replay->nodes[match->last].time_ns)
        match->last = number;
    if (++match->arrived == match->members)
        end_match(replay, match, match_factors ? match_factors[node->match] : 1, lane_factors,
                  ready);
}

/* Returns how many nodes were reached. */
static size_t run(struct replay *replay, const double *lane_factors, const double *match_factors)
{
    size_t ready = 0, reached = 0;
    replay->last = NONE;
    for (size_t i = 0; i < replay->match_count; i++)
        replay->matches[i].arrived = 0;
    for (uint32_t i = 0; i < replay->node_count; i++)
        if (replay->nodes[i].anchor == NONE)
            start_node(replay, i,
                       replay->lanes[replay->nodes[i].lane].start_ns +
                           work_of(replay, i, lane_factors),
                       &ready);
    while (ready > 0) {
        reached++;
        arrive(replay, replay->ready[--ready], lane_factors, match_factors, &ready);
    }
    return reached;
}

static double first_start(const struct replay *replay)
{
    double first = INFINITY;
    for (size_t i = 0; i < replay->lane_count; i++)
        first = fmin(first, replay->lanes[i].start_ns);
    return first;
}

static double last_end(const struct replay *replay)
{
    return replay->last == NONE ? 0 : replay->nodes[replay->last].time_ns - first_start(replay);
}

static void add_nodes(struct replay *replay, const struct replay_event *events, size_t event_count)
{
    const struct node blank = {
        .first_after_start = NONE, .first_after_end = NONE, .next = NONE, .next_member = NONE};
    for (size_t i = 0; i < event_count; i++) {
        struct node *node = &replay->nodes[replay->node_count++];
        *node = blank;
        node->lane = events[i].lane;
        node->match = events[i].match;
        node->start_ns = events[i].start_ns;
        node->end_ns = events[i].end_ns;
    }
    for (uint32_t i = 0; i < replay->lane_count; i++) {
        struct node *node = &replay->nodes[replay->node_count++];
        *node = blank;
        node->lane = i;
        node->match = NONE;
        node->start_ns = node->end_ns = replay->lanes[i].end_ns;
    }
}

/* Copies what it keeps. NULL if events wait for each other in a circle: the replay without changes
 * then does not reach all nodes. */
struct replay *replay_create(const struct replay_lane *lanes, size_t lane_count,
                             const struct replay_event *events, size_t event_count,
                             size_t match_count)
{
    struct replay *replay = mem_zeroed(1, sizeof *replay);
    size_t nodes = event_count + lane_count;
    *replay = (struct replay){.nodes = mem_zeroed(nodes + 1, sizeof *replay->nodes),
                              .matches = mem_zeroed(match_count + 1, sizeof *replay->matches),
                              .match_count = match_count,
                              .lanes = mem_zeroed(lane_count + 1, sizeof *replay->lanes),
                              .lane_count = lane_count,
                              .ready = mem_zeroed(nodes + 1, sizeof *replay->ready),
                              .last = NONE};
    if (lane_count > 0)
        memcpy(replay->lanes, lanes, lane_count * sizeof *lanes);
    for (size_t i = 0; i < match_count; i++)
        replay->matches[i].first_member = NONE;
    add_nodes(replay, events, event_count);
    qsort(replay->nodes, replay->node_count, sizeof *replay->nodes, compare_nodes);
    for (size_t i = 0; i < replay->node_count; i++)
        find_anchor(replay, i);
    for (uint32_t i = 0; i < replay->node_count; i++) {
        link_anchor(replay, i);
        link_match(replay, i);
    }
    if (run(replay, NULL, NULL) < replay->node_count) {
        replay_free(replay);
        return NULL;
    }
    replay->unchanged_ns = last_end(replay);
    return replay;
}

void replay_free(struct replay *replay)
{
    if (!replay)
        return;
    mem_free(replay->nodes);
    mem_free(replay->matches);
    mem_free(replay->lanes);
    mem_free(replay->ready);
    mem_free(replay);
}

double replay_measured_ns(const struct replay *replay)
{
    double last = -INFINITY;
    for (size_t i = 0; i < replay->lane_count; i++)
        last = fmax(last, replay->lanes[i].end_ns);
    return replay->lane_count > 0 ? last - first_start(replay) : 0;
}

double replay_unchanged_ns(const struct replay *replay)
{
    return replay->unchanged_ns;
}

double replay_changed_ns(struct replay *replay, const double *lane_factors,
                         const double *match_factors)
{
    run(replay, lane_factors, match_factors);
    return last_end(replay);
}

static void add_part(replay_parts *parts, uint32_t lane, uint32_t match, double start_ns,
                     double end_ns)
{
    if (end_ns > start_ns)
        *array_push(parts) = (struct replay_part){lane, match, start_ns, end_ns};
}

void replay_critical_path(struct replay *replay, replay_parts *parts)
{
    run(replay, NULL, NULL);
    parts->count = 0;
    for (uint32_t at = replay->last; at != NONE;) {
        const struct node *node = &replay->nodes[at];
        add_part(parts, node->lane, REPLAY_OWN_WORK, node->time_ns - node->work_ns, node->time_ns);
        if (node->anchor_kind != AFTER_END) {
            at = node->anchor;
            continue;
        }
        uint32_t match_number = replay->nodes[node->anchor].match;
        const struct match *match = &replay->matches[match_number];
        at = match->last;
        add_part(parts, replay->nodes[at].lane, match_number, replay->nodes[at].time_ns,
                 match->end_ns);
    }
    for (size_t i = 0; i < parts->count / 2; i++) {
        struct replay_part part = parts->items[i];
        parts->items[i] = parts->items[parts->count - 1 - i];
        parts->items[parts->count - 1 - i] = part;
    }
}
