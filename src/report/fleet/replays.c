/*
 * The stage Replay: reads the chosen steps, finds their critical paths, and works out what they
 * would take with changes.
 */
#include "report/fleet/embedded_queries.h"
#include "report/fleet/replay.h"
#include "report/fleet/work.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct lane {
    int64_t rank, device;
    int64_t program;
    double own_ns, expected_ns, compute_ns, copy_ns, host_ns, kernel_ns, other_ns;
    double usual_compute_ns; /* the median of its program */
    uint32_t machine;        /* number of its name */
};

/* A collective, by what its speed may be changed. That of one lane alone, which others took part in
 * but did not end together, is not a transfer and keeps its time. */
struct transfer_kind {
    char *communicator, *operation;
    bool is_alone;
};

struct replayed_step {
    int64_t step;
    bool is_typical, is_sample;
    ARRAY(struct lane) lanes;
    ARRAY(struct replay_lane) times;
    ARRAY(struct replay_event) events;
    ARRAY(struct transfer_kind) matches;
    struct replay *replay;
};

struct late_step {
    int64_t rank, device, step;
};

struct replay_stage {
    struct fleet_analysis *analysis;
    ARRAY(struct replayed_step) steps;
    ARRAY(struct late_step) late;
    struct intern machines;
    struct values what_ifs;
};

static const char *const path_columns[][2] = {
    {"step", "BIGINT"},       {"position", "BIGINT"},       {"rank", "BIGINT"},
    {"device_idx", "BIGINT"}, {"kind", "VARCHAR"},          {"communicator", "VARCHAR"},
    {"operation", "VARCHAR"}, {"start_ns", "DOUBLE"},       {"end_ns", "DOUBLE"},
    {"compute_ns", "DOUBLE"}, {"copy_ns", "DOUBLE"},        {"host_ns", "DOUBLE"},
    {"other_ns", "DOUBLE"},   {"replay_error_ns", "DOUBLE"}};

static const char *const what_if_columns[][2] = {
    {"change", "VARCHAR"},    {"kind", "VARCHAR"},     {"rank", "BIGINT"},
    {"device_idx", "BIGINT"}, {"instance", "VARCHAR"}, {"communicator", "VARCHAR"},
    {"operation", "VARCHAR"}, {"steps", "BIGINT"},     {"before_ns", "DOUBLE"},
    {"after_ns", "DOUBLE"},   {"saved_ns", "DOUBLE"},  {"replay_error_ns", "DOUBLE"}};

static struct replayed_step *find_step(struct replay_stage *stage, int64_t number)
{
    struct replayed_step *step;
    array_each (step, &stage->steps)
        if (step->step == number)
            return step;
    return NULL;
}

static bool add_step(void *context, const struct sql_result *result, size_t row)
{
    struct replay_stage *stage = context;
    int64_t number = row_integer(result, row, 0);
    struct text role = sql_value(result, row, 1);
    struct replayed_step *step = find_step(stage, number);
    if (!step) {
        step = array_push(&stage->steps);
        *step = (struct replayed_step){.step = number};
    }
    step->is_typical |= text_equal(role, TEXT("typical"));
    step->is_sample |= !text_equal(role, TEXT("late"));
    if (text_equal(role, TEXT("late")))
        *array_push(&stage->late) =
            (struct late_step){row_integer(result, row, 2), row_integer(result, row, 3), number};
    return true;
}

static bool add_lane(void *context, const struct sql_result *result, size_t row)
{
    struct replay_stage *stage = context;
    struct replayed_step *step = find_step(stage, row_integer(result, row, 13));
    *array_push(&step->times) =
        (struct replay_lane){row_number(result, row, 3), row_number(result, row, 4)};
    *array_push(&step->lanes) =
        (struct lane){.rank = row_integer(result, row, 0),
                      .device = row_integer(result, row, 1),
                      .program = row_integer(result, row, 2),
                      .own_ns = row_number(result, row, 5),
                      .expected_ns = row_number(result, row, 6),
                      .compute_ns = row_number(result, row, 7),
                      .copy_ns = row_number(result, row, 8),
                      .host_ns = row_number(result, row, 9),
                      .kernel_ns = row_number(result, row, 10),
                      .other_ns = row_number(result, row, 11),
                      .usual_compute_ns = row_number(result, row, 12),
                      .machine = intern_add(&stage->machines, sql_value(result, row, 14))};
    return true;
}

static int compare_lanes(const void *a, const void *b)
{
    const struct lane *left = a, *right = b;
    if (left->rank != right->rank)
        return left->rank < right->rank ? -1 : 1;
    return (left->device > right->device) - (left->device < right->device);
}

static struct lane *find_lane(const struct replayed_step *step, int64_t rank, int64_t device)
{
    const struct lane wanted = {.rank = rank, .device = device};
    if (step->lanes.count == 0)
        return NULL;
    return bsearch(&wanted, step->lanes.items, step->lanes.count, sizeof wanted, compare_lanes);
}

/* Rows are sorted by match; a match is new where its number is. */
static bool add_event(void *context, const struct sql_result *result, size_t row)
{
    struct replayed_step *step = find_step(context, row_integer(result, row, 7));
    const struct lane *lane =
        find_lane(step, row_integer(result, row, 1), row_integer(result, row, 2));
    uint32_t match = (uint32_t)row_integer(result, row, 0) - 1;
    while (step->matches.count <= match)
        *array_push(&step->matches) = (struct transfer_kind){
            row_text(result, row, 5), row_text(result, row, 6), !row_true(result, row, 8)};
    if (lane)
        *array_push(&step->events) =
            (struct replay_event){.lane = (uint32_t)(lane - step->lanes.items),
                                  .match = match,
                                  .start_ns = row_number(result, row, 3),
                                  .end_ns = row_number(result, row, 4)};
    return true;
}

static bool read_steps(struct replay_stage *stage, struct error *err)
{
    bool ok = each_row(stage->analysis, fleet_sql_replay_lanes, add_lane, stage, err) &&
              each_row(stage->analysis, fleet_sql_replay_events, add_event, stage, err);
    struct replayed_step *step;
    array_each (step, &stage->steps)
        if (ok)
            step->replay = replay_create(step->times.items, step->times.count, step->events.items,
                                         step->events.count, step->matches.count);
    return ok;
}

/* How much the replay without a change is off. */
static double replay_error(const struct replayed_step *step)
{
    return replay_unchanged_ns(step->replay) - replay_measured_ns(step->replay);
}

/* Where the model does not fit, nothing is drawn from it. */
#define TRUSTED_SHARE 0.05
static bool is_trusted(const struct replayed_step *step)
{
    return step->replay &&
           fabs(replay_error(step)) <= TRUSTED_SHARE * replay_measured_ns(step->replay);
}

static void put_part(struct values *values, const struct replayed_step *step, size_t position,
                     const struct replay_part *part)
{
    const struct lane *lane = &step->lanes.items[part->lane];
    bool is_work = part->match == REPLAY_OWN_WORK;
    double length = part->end_ns - part->start_ns;
    double share = is_work && lane->own_ns > 0 ? length / lane->own_ns : 0;
    values_put_integer(values, step->step);
    values_put_integer(values, (int64_t)position);
    values_put_integer(values, lane->rank);
    values_put_integer(values, lane->device);
    values_put_text(values, is_work                                     ? "own work"
                            : step->matches.items[part->match].is_alone ? "unmatched collective"
                                                                        : "transfer");
    values_put_text(values, is_work ? "" : step->matches.items[part->match].communicator);
    values_put_text(values, is_work ? "" : step->matches.items[part->match].operation);
    values_put_number(values, part->start_ns);
    values_put_number(values, part->end_ns);
    values_put_number(values, lane->compute_ns * share);
    values_put_number(values, lane->copy_ns * share);
    values_put_number(values, lane->host_ns * share);
    values_put_number(values, (lane->kernel_ns + lane->other_ns) * share);
    values_put_number(values, replay_error(step));
}

static bool write_paths(struct replay_stage *stage, struct error *err)
{
    struct values values;
    values_begin(&values, path_columns, sizeof path_columns / sizeof *path_columns);
    const struct replayed_step *step;
    array_each (step, &stage->steps) {
        replay_parts parts = {0};
        if (!is_trusted(step) || !step->is_sample)
            continue;
        replay_critical_path(step->replay, &parts);
        for (size_t i = 0; i < parts.count; i++)
            put_part(&values, step, i, &parts.items[i]);
        array_free(&parts);
    }
    return values_end(&values, stage->analysis, "CriticalPath", err);
}

/* A change: factors of a step's lanes and matches. */
struct change {
    const char *text, *kind;
    int64_t rank, device; /* -1: none */
    uint32_t machine;     /* 0: none */
    const char *communicator, *operation;
    double factor; /* of its transfers */
};

static double slowest_first(double factor)
{
    return isfinite(factor) ? fmin(1, fmax(0, factor)) : 1;
}

static double lane_factor(const struct change *change, const struct lane *lane)
{
    bool is_machine = strcmp(change->kind, "machine") == 0;
    bool is_chosen = is_machine ? lane->machine == change->machine
                                : lane->rank == change->rank && lane->device == change->device;
    if (lane->own_ns <= 0)
        return 1;
    if (is_machine || strcmp(change->kind, "rank") == 0)
        return is_chosen ? slowest_first(lane->expected_ns / lane->own_ns) : 1;
    if (strcmp(change->kind, "all ranks") == 0)
        return slowest_first(lane->expected_ns / lane->own_ns);
    if (strcmp(change->kind, "compute") == 0)
        return slowest_first(1 - fmax(0, lane->compute_ns - lane->usual_compute_ns) / lane->own_ns);
    if (strcmp(change->kind, "host") == 0)
        return slowest_first(1 - lane->host_ns / lane->own_ns);
    return 1;
}

static double match_factor(const struct change *change, const struct transfer_kind *match)
{
    bool is_communicator =
        !change->communicator || strcmp(change->communicator, match->communicator) == 0;
    bool is_operation = !change->operation || strcmp(change->operation, match->operation) == 0;
    return is_communicator && is_operation && !match->is_alone ? change->factor : 1;
}

static double changed_ns(const struct replayed_step *step, const struct change *change)
{
    double *lanes = mem_alloc((step->lanes.count + 1) * sizeof *lanes);
    double *matches = mem_alloc((step->matches.count + 1) * sizeof *matches);
    for (size_t i = 0; i < step->lanes.count; i++)
        lanes[i] = lane_factor(change, &step->lanes.items[i]);
    for (size_t i = 0; i < step->matches.count; i++)
        matches[i] = match_factor(change, &step->matches.items[i]);
    double changed = replay_changed_ns(step->replay, lanes, matches);
    mem_free(lanes);
    mem_free(matches);
    return changed;
}

static bool is_of(const struct replayed_step *step, const struct late_step *late,
                  const struct change *change)
{
    const struct lane *lane = find_lane(step, late->rank, late->device);
    if (change->machine > 0)
        return lane && lane->machine == change->machine;
    return late->rank == change->rank && late->device == change->device;
}

/* The steps a change is tried on: late ones of a rank or machine, the sample for all others. */
static bool is_tried(const struct replay_stage *stage, const struct replayed_step *step,
                     const struct change *change)
{
    if (!is_trusted(step))
        return false;
    if (change->rank < 0 && change->machine == 0)
        return step->is_sample;
    const struct late_step *late;
    array_each (late, &stage->late)
        if (late->step == step->step && is_of(step, late, change))
            return true;
    return false;
}

static void put_name_or_null(struct values *values, const char *name)
{
    if (name)
        values_put_text(values, name);
    else
        values_put_null(values);
}

/* Writes one row of WhatIf: means over the steps that the change applies to, and the worst error of
 * replaying them unchanged, by which users can judge it. No row if no step applies. */
static void try_change(struct replay_stage *stage, const struct change *change)
{
    double before = 0, after = 0, error = 0;
    size_t count = 0;
    const struct replayed_step *step;
    array_each (step, &stage->steps)
        if (is_tried(stage, step, change)) {
            count++;
            before += replay_unchanged_ns(step->replay);
            after += changed_ns(step, change);
            error = fmax(error, fabs(replay_error(step)));
        }
    if (count == 0)
        return;
    struct values *values = &stage->what_ifs;
    double steps = (double)count;
    values_put_text(values, change->text);
    values_put_text(values, change->kind);
    if (change->rank >= 0) {
        values_put_integer(values, change->rank);
        values_put_integer(values, change->device);
    } else {
        values_put_null(values);
        values_put_null(values);
    }
    put_name_or_null(
        values, change->machine > 0 ? intern_text(&stage->machines, change->machine).data : NULL);
    put_name_or_null(values, change->communicator);
    put_name_or_null(values, change->operation);
    values_put_integer(values, (int64_t)count);
    values_put_number(values, before / steps);
    values_put_number(values, after / steps);
    values_put_number(values, (before - after) / steps);
    values_put_number(values, error);
}

static bool try_rank(void *context, const struct sql_result *result, size_t row)
{
    int64_t rank = row_integer(result, row, 0), device = row_integer(result, row, 1);
    char *text = path_format("rank %lld as fast as the median", (long long)rank);
    try_change(context,
               &(struct change){
                   .text = text, .kind = "rank", .rank = rank, .device = device, .factor = 1});
    mem_free(text);
    return true;
}

static bool try_machine(void *context, const struct sql_result *result, size_t row)
{
    struct replay_stage *stage = context;
    char *name = row_text(result, row, 0);
    char *text = path_format("all ranks of %s as fast as the median", name);
    try_change(stage, &(struct change){.text = text,
                                       .kind = "machine",
                                       .rank = -1,
                                       .machine = intern_add(&stage->machines, text_of(name)),
                                       .factor = 1});
    mem_free(text);
    mem_free(name);
    return true;
}

static bool try_communicator(void *context, const struct sql_result *result, size_t row)
{
    char *communicator = row_text(result, row, 0), *operation = row_text(result, row, 1);
    char *text = path_format("%s of %s as fast as elsewhere", operation, communicator);
    try_change(context, &(struct change){.text = text,
                                         .kind = "communicator",
                                         .rank = -1,
                                         .communicator = communicator,
                                         .operation = operation,
                                         .factor = slowest_first(row_number(result, row, 2))});
    mem_free(text);
    mem_free(communicator);
    mem_free(operation);
    return true;
}

static bool try_operation(void *context, const struct sql_result *result, size_t row)
{
    char *operation = row_text(result, row, 0), *best = row_text(result, row, 2);
    char *text = path_format("%s at the bus bandwidth of %s", operation, best);
    try_change(context, &(struct change){.text = text,
                                         .kind = "operation",
                                         .rank = -1,
                                         .operation = operation,
                                         .factor = slowest_first(row_number(result, row, 1))});
    mem_free(text);
    mem_free(operation);
    mem_free(best);
    return true;
}

static bool write_what_ifs(struct replay_stage *stage, struct error *err)
{
    static const struct change general[] = {
        {.text = "no rank slower than the median", .kind = "all ranks", .rank = -1, .factor = 1},
        {.text = "no rank computes longer than the median",
         .kind = "compute",
         .rank = -1,
         .factor = 1},
        {.text = "no device waits for its host", .kind = "host", .rank = -1, .factor = 1},
        {.text = "transfers take no time", .kind = "transfers", .rank = -1, .factor = 0},
    };
    values_begin(&stage->what_ifs, what_if_columns,
                 sizeof what_if_columns / sizeof *what_if_columns);
    for (size_t i = 0; i < sizeof general / sizeof *general; i++)
        try_change(stage, &general[i]);
    bool ok =
        each_row(stage->analysis, fleet_sql_replay_late_ranks, try_rank, stage, err) &&
        each_row(stage->analysis, fleet_sql_replay_slow_machines, try_machine, stage, err) &&
        each_row(stage->analysis, fleet_sql_replay_slow_communicators, try_communicator, stage,
                 err) &&
        each_row(stage->analysis, fleet_sql_replay_slow_operations, try_operation, stage, err);
    return values_end(&stage->what_ifs, stage->analysis, "WhatIf", err) && ok;
}

static void free_step(struct replayed_step *step)
{
    struct transfer_kind *match;
    array_each (match, &step->matches) {
        mem_free(match->communicator);
        mem_free(match->operation);
    }
    array_free(&step->matches);
    array_free(&step->lanes);
    array_free(&step->times);
    array_free(&step->events);
    replay_free(step->replay);
}

bool stage_replays(struct fleet_analysis *analysis, struct error *err)
{
    struct replay_stage stage = {.analysis = analysis};
    intern_init(&stage.machines);
    bool ok = each_row(analysis, fleet_sql_replay_steps, add_step, &stage, err);
    struct replayed_step *step;
    ok = ok && read_steps(&stage, err) && write_paths(&stage, err) && write_what_ifs(&stage, err);
    array_each (step, &stage.steps)
        free_step(step);
    array_free(&stage.steps);
    array_free(&stage.late);
    intern_free(&stage.machines);
    return ok;
}
