/*
 * Shared by the timeline tests: random traces in many shapes, the expected position of their events
 * computed by brute force, and comparison of results with it, event by event.
 */
#ifndef KYMO_UNIT_TIMELINE_MODEL_H
#define KYMO_UNIT_TIMELINE_MODEL_H

#include "store/timeline/timeline.h"

#include "support.h"

#include <math.h>

/* The current trial, for failure messages, and how much was checked. */
struct trial {
    const char *shape;
    uint64_t seed;
    struct timeline_query query;
    uint32_t track, row;
    size_t answers, items, events;
};

static struct trial trial;

static inline void check(bool holds, const char *what)
{
    if (holds)
        return;
    print_error("%s: shape %s, seed %llu, track %u, row %u, window [%lld, %lld), width %u\n", what,
                trial.shape ? trial.shape : "-", (unsigned long long)trial.seed, trial.track,
                trial.row, (long long)trial.query.from_ps, (long long)trial.query.to_ps,
                trial.query.width);
    fail();
}

/* ---- Traces: a track's events as the caller passes them. ---- */

enum { NAMES = 40 };

struct trace {
    size_t count, capacity;
    int64_t *start_ps, *duration_ps;
    uint32_t *name; /* a type; the table below has its name */
    double *value;  /* counters only */
    uint64_t *order;
    size_t ordered; /* of order */
    bool has_order;
};

static inline void trace_push(struct trace *trace, int64_t start_ps, int64_t duration_ps,
                              uint32_t name)
{
    if (trace->count == trace->capacity) {
        trace->capacity = trace->capacity * 2 + 16;
        trace->start_ps = realloc(trace->start_ps, trace->capacity * sizeof *trace->start_ps);
        trace->duration_ps =
            realloc(trace->duration_ps, trace->capacity * sizeof *trace->duration_ps);
        trace->name = realloc(trace->name, trace->capacity * sizeof *trace->name);
    }
    trace->start_ps[trace->count] = start_ps;
    trace->duration_ps[trace->count] = duration_ps;
    trace->name[trace->count++] = name;
}

static inline void trace_free(struct trace *trace)
{
    free(trace->start_ps);
    free(trace->duration_ps);
    free(trace->name);
    free(trace->value);
    free(trace->order);
    *trace = (struct trace){0};
}

enum shape {
    SEQUENTIAL,
    NESTED,
    OVERLAPPING,
    INSTANTS,
    EQUAL_STARTS,
    EQUAL_INTERVALS,
    HUGE_GAPS,
    WHOLE_NS,
    ODD_PS,
    NEGATIVE_TIMES,
    VERY_LONG,
    BURSTS,
    ONE,
    MANY_ROWS,
    NEGATIVE_DURATIONS,
    POWERS,
    DENSE,
    SHAPES
};

static const char *const shape_names[SHAPES] = {
    "sequential",      "nested",    "overlapping", "instants",  "equal starts",
    "equal intervals", "huge gaps", "whole ns",    "odd ps",    "negative",
    "very long",       "bursts",    "one",         "many rows", "negative durations",
    "powers of four",  "dense"};

static inline int64_t up_to(struct rng *rng, int64_t most)
{
    return (int64_t)rng_below(rng, (size_t)most + 1);
}

/* Consecutive calls with nested ones; deep ones nearly fill their parents. */
static inline void trace_nest(struct trace *trace, struct rng *rng, size_t count, int64_t start,
                              int64_t end, int depth, bool deep)
{
    int64_t at = start;
    while (at < end && trace->count < count) {
        int64_t left = end - at, duration = up_to(rng, rng_below(rng, 3) ? left : left / 8);
        if (deep && rng_below(rng, 20))
            duration = left - up_to(rng, left < 3 ? left : 3);
        trace_push(trace, at, duration, (uint32_t)rng_below(rng, NAMES));
        if (depth < 60 && (deep || rng_below(rng, 4)))
            trace_nest(trace, rng, count, at, at + duration, depth + 1, deep);
        at += duration + (rng_below(rng, 2) ? up_to(rng, left / 16) : 0);
        at += duration == 0 && rng_below(rng, 3) != 0;
    }
}

/* One event of a shape; `at` is the end of the previous one. */
static inline void trace_step(struct trace *trace, struct rng *rng, enum shape shape, size_t count,
                              int64_t *at)
{
    int64_t n = (int64_t)count, i = (int64_t)trace->count, start = *at, duration = 0;
    switch (shape) {
    case OVERLAPPING:
    case NEGATIVE_TIMES:
        start = up_to(rng, 100 * n) - (shape == NEGATIVE_TIMES ? (int64_t)1 << 40 : 0);
        duration = up_to(rng, rng_below(rng, 8) ? 300 : 20 * n);
        break;
    case INSTANTS:
        start = up_to(rng, n);
        duration = rng_below(rng, 20) ? 0 : up_to(rng, 10);
        break;
    case EQUAL_STARTS:
        start = 1000 * up_to(rng, 3 + n / 20);
        duration = up_to(rng, 3000);
        break;
    case EQUAL_INTERVALS:
        start = 100 * up_to(rng, 3 + n / 30);
        duration = 50 * up_to(rng, 3);
        break;
    case HUGE_GAPS:
        start += rng_below(rng, 3) ? up_to(rng, 50) : (int64_t)1 << rng_below(rng, 50);
        duration = up_to(rng, rng_below(rng, 8) ? 40 : (int64_t)1 << 40);
        break;
    case WHOLE_NS:
        start += 1000 * up_to(rng, 20);
        duration = 1000 * up_to(rng, 30);
        break;
    case ODD_PS:
        start += 1000 * up_to(rng, 20) + (rng_below(rng, 200) == 0);
        duration = 1000 * up_to(rng, 30) + (rng_below(rng, 200) == 0);
        break;
    case VERY_LONG:
        start += up_to(rng, 100);
        duration = rng_below(rng, 40) ? up_to(rng, 30) : (int64_t)1 << (30 + rng_below(rng, 28));
        *at = start + (duration < 100 ? duration : 0);
        trace_push(trace, start, duration, (uint32_t)rng_below(rng, NAMES));
        return;
    case BURSTS:
        start += rng_below(rng, 50) ? up_to(rng, 1) : up_to(rng, 1000000);
        duration = up_to(rng, 3);
        break;
    case MANY_ROWS:
        start = 10 * i + up_to(rng, 10);
        duration = rng_below(rng, 5) ? up_to(rng, 3000) : up_to(rng, 10);
        break;
    case NEGATIVE_DURATIONS:
        start += up_to(rng, 30);
        duration = up_to(rng, 40) - 20;
        break;
    case POWERS:
        start = ((int64_t)rng_below(rng, 64) << 2 * rng_below(rng, 12)) + up_to(rng, 2) - 1;
        duration = rng_below(rng, 2) ? 0 : (int64_t)1 << 2 * rng_below(rng, 8);
        break;
    case DENSE:
        duration = 1 + up_to(rng, 1);
        break;
    default: /* SEQUENTIAL, ONE */
        start += rng_below(rng, 3) ? up_to(rng, 100) : 0;
        duration = rng_below(rng, 6) ? up_to(rng, 2000) : 0;
    }
    trace_push(trace, start, duration, (uint32_t)rng_below(rng, NAMES));
    *at = start + (duration > 0 ? duration : 0);
}

static struct trace *sorted_trace; /* for qsort */

static inline int64_t length_of(const struct trace *trace, uint64_t event)
{
    return trace->duration_ps[event] > 0 ? trace->duration_ps[event] : 0;
}

static inline int compare_events(const void *a, const void *b)
{
    const struct trace *trace = sorted_trace;
    uint64_t m = *(const uint64_t *)a, n = *(const uint64_t *)b;
    if (trace->start_ps[m] != trace->start_ps[n])
        return trace->start_ps[m] < trace->start_ps[n] ? -1 : 1;
    if (length_of(trace, m) != length_of(trace, n))
        return length_of(trace, m) > length_of(trace, n) ? -1 : 1;
    return m < n ? -1 : m > n;
}

static inline void trace_sort(struct trace *trace)
{
    trace->order = realloc(trace->order, (trace->count + 1) * sizeof *trace->order);
    for (uint64_t i = 0; i < trace->count; i++)
        trace->order[i] = i;
    trace->ordered = trace->count;
    sorted_trace = trace;
    qsort(trace->order, trace->count, sizeof *trace->order, compare_events);
}

/* Stores the events in time order, so that they need no `order`. */
static inline void trace_store_in_order(struct trace *trace)
{
    struct trace old = *trace;
    *trace = (struct trace){0};
    for (size_t i = 0; i < old.count; i++) {
        uint64_t event = old.order[i];
        trace_push(trace, old.start_ps[event], old.duration_ps[event], old.name[event]);
    }
    trace_free(&old);
    trace_sort(trace);
}

static inline void trace_shuffle(struct trace *trace, struct rng *rng)
{
    for (size_t i = trace->count; i > 1; i--) {
        size_t other = rng_below(rng, i);
        int64_t start = trace->start_ps[other], duration = trace->duration_ps[other];
        trace->start_ps[other] = trace->start_ps[i - 1];
        trace->duration_ps[other] = trace->duration_ps[i - 1];
        trace->start_ps[i - 1] = start;
        trace->duration_ps[i - 1] = duration;
    }
}

static inline void trace_leave_out(struct trace *trace, struct rng *rng)
{
    size_t kept = 0;
    for (size_t i = 0; i < trace->ordered; i++)
        if (kept == 0 || rng_below(rng, 4))
            trace->order[kept++] = trace->order[i];
    trace->ordered = kept;
}

/* Stored in order, or not and with an order, which may omit events. */
static inline struct trace trace_make(struct rng *rng, enum shape shape, size_t count)
{
    struct trace trace = {0};
    int64_t at = 0;
    if (shape == NESTED)
        trace_nest(&trace, rng, count, 0, 5000 * (int64_t)count, 0, rng_below(rng, 2));
    if (shape == ONE)
        count = 1;
    while (trace.count < count)
        trace_step(&trace, rng, shape == NESTED ? SEQUENTIAL : shape, count, &at);
    size_t manner = rng_below(rng, 4);
    if (manner >= 2)
        trace_shuffle(&trace, rng);
    trace_sort(&trace);
    if (manner == 0)
        trace_store_in_order(&trace);
    if (manner == 3)
        trace_leave_out(&trace, rng);
    trace.has_order = manner != 0;
    return trace;
}

enum values { WHOLE, LARGE, FRACTIONS, ODD, VALUES };

static inline double any_value(struct rng *rng, enum values values)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0, 1e308, -1e308, 0x1p-1074};
    switch (values) {
    case WHOLE:
        return (double)up_to(rng, 1000) - 500;
    case LARGE:
        return (double)(int64_t)(rng_u64(rng) >> 9) * (rng_below(rng, 2) ? 1 : -1);
    case FRACTIONS:
        return (double)rng_u64(rng) / 0x1p60;
    default:
        return rng_below(rng, 3) ? odd[rng_below(rng, COUNT_OF(odd))] : (double)up_to(rng, 9);
    }
}

static inline void trace_add_values(struct trace *trace, struct rng *rng, enum values values)
{
    trace->value = malloc((trace->count + 1) * sizeof *trace->value);
    for (size_t i = 0; i < trace->count; i++)
        trace->value[i] = any_value(rng, values);
}

/* ---- Models: the expected rows of events. ---- */

struct placed {
    int64_t start_ps, end_ps;
    uint64_t number;
    uint32_t name, row;
    double value;
};

struct model {
    struct timeline_track track;
    size_t count;
    struct placed *events; /* by row, then time */
    size_t rows;
    size_t *row_first; /* then the end of the last row */
    struct trace trace;
};

static inline int64_t end_of(int64_t start_ps, int64_t duration_ps)
{
    if (duration_ps <= 0)
        return start_ps;
    return start_ps > INT64_MAX - duration_ps ? INT64_MAX : start_ps + duration_ps;
}

/* Both of one track, the outer one not after the other in order. */
static inline bool contains(const struct placed *outer, const struct placed *inner)
{
    return outer->end_ps > inner->start_ps && outer->end_ps >= inner->end_ps;
}

/* The row of each event by definition: below all that contain it, then the first without overlap.
 * Compares all pairs of events. */
static inline void place_by_rule(struct placed *events, size_t count)
{
    uint8_t *taken = malloc(count + 2);
    for (size_t i = 0; i < count; i++) {
        size_t row = 0;
        memset(taken, 0, count + 2);
        for (size_t k = 0; k < i; k++) {
            if (contains(&events[k], &events[i]) && events[k].row >= row)
                row = events[k].row + 1;
            if (events[k].end_ps > events[i].start_ps)
                taken[events[k].row] = 1;
        }
        while (taken[row])
            row++;
        events[i].row = (uint32_t)row;
    }
    free(taken);
}

/* The same for larger traces: the end of the last event of each row is enough. */
static inline void place_by_ends(struct placed *events, size_t count)
{
    int64_t *ends = malloc((count + 1) * sizeof *ends);
    size_t rows = 0;
    for (size_t i = 0; i < count; i++) {
        size_t row = 0;
        for (size_t k = 0; k < rows; k++)
            if (ends[k] > events[i].start_ps && ends[k] >= events[i].end_ps)
                row = k + 1;
        while (row < rows && ends[row] > events[i].start_ps)
            row++;
        rows += row == rows;
        ends[row] = events[i].end_ps;
        events[i].row = (uint32_t)row;
    }
    free(ends);
}

static inline int compare_gaps(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* Samples last until the next, except before a gap of more than four periods: there for one. The
 * period is the median of at most 1024 gaps, if seven in ten differ from it by no more than half.
 */
static inline void end_samples(struct placed *events, size_t count)
{
    int64_t *gaps = malloc((count + 1) * sizeof *gaps), period = 0;
    size_t taken = 0, near = 0, step = count / 1024 + (count % 1024 != 0);
    for (size_t i = 0; i + 1 < count && taken < 1024; i += step) {
        __int128 gap = (__int128)events[i + 1].start_ps - events[i].start_ps;
        gaps[taken++] = gap < INT64_MAX ? (int64_t)gap : INT64_MAX;
    }
    qsort(gaps, taken, sizeof *gaps, compare_gaps);
    if (taken >= 8) {
        period = gaps[taken / 2];
        for (size_t i = 0; i < taken; i++)
            near += llabs(gaps[i] - period) <= period / 2;
        period = 10 * near >= 7 * taken ? period : 0;
    }
    for (size_t i = 0; i < count; i++) {
        int64_t next = events[i + 1 < count ? i + 1 : i].start_ps;
        __int128 gap = (__int128)next - events[i].start_ps;
        bool is_hole = period > 0 && gap > (__int128)4 * period;
        events[i].end_ps = is_hole ? events[i].start_ps + period : next;
    }
    free(gaps);
}

static inline struct placed *placed_in_order(const struct trace *trace, const uint32_t *names)
{
    struct placed *events = calloc(trace->ordered + 1, sizeof *events);
    for (size_t i = 0; i < trace->ordered; i++) {
        uint64_t number = trace->order[i];
        events[i] = (struct placed){
            .start_ps = trace->start_ps[number],
            .end_ps = end_of(trace->start_ps[number], trace->duration_ps[number]),
            .number = number,
            .name = names ? names[trace->name[number]] : trace->name[number],
        };
        if (trace->value)
            events[i].value = trace->value[number];
    }
    if (trace->value)
        end_samples(events, trace->ordered);
    return events;
}

static inline void model_sort_by_row(struct model *model)
{
    struct placed *from = model->events, *to = calloc(model->count + 1, sizeof *to);
    for (size_t i = 0; i < model->count; i++)
        if (from[i].row >= model->rows)
            model->rows = from[i].row + 1;
    model->row_first = calloc(model->rows + 2, sizeof *model->row_first);
    for (size_t i = 0; i < model->count; i++)
        model->row_first[from[i].row + 1]++;
    for (size_t row = 0; row < model->rows; row++)
        model->row_first[row + 1] += model->row_first[row];
    size_t *next = calloc(model->rows + 1, sizeof *next);
    for (size_t i = 0; i < model->count; i++)
        to[model->row_first[from[i].row] + next[from[i].row]++] = from[i];
    free(next);
    free(from);
    model->events = to;
}

/* Takes ownership of the trace. */
static inline struct model model_make(struct trace trace, const struct timeline_track *track,
                                      const uint32_t *names)
{
    struct model model = {.track = *track, .count = trace.ordered, .trace = trace};
    model.track.is_counter = trace.value != NULL;
    model.events = placed_in_order(&trace, names);
    if (!trace.value && model.count <= 800)
        place_by_rule(model.events, model.count);
    else if (!trace.value)
        place_by_ends(model.events, model.count);
    model_sort_by_row(&model);
    return model;
}

static inline void model_free(struct model *model)
{
    trace_free(&model->trace);
    free(model->events);
    free(model->row_first);
    *model = (struct model){0};
}

static inline bool model_add(const struct model *model, struct timeline_writer *writer,
                             uint32_t track, const uint32_t *names, struct error *err)
{
    const struct trace *trace = &model->trace;
    struct timeline_events events = {.count = trace->ordered,
                                     .order = trace->has_order ? trace->order : NULL,
                                     .start_ps = trace->start_ps,
                                     .duration_ps = trace->duration_ps,
                                     .name = trace->name,
                                     .names = names,
                                     .value = trace->value};
    return timeline_add(writer, track, &events, err);
}

/* ---- Results compared with the model. ---- */

static inline uint64_t span_of(const struct timeline_query *query)
{
    return (uint64_t)query->to_ps - (uint64_t)query->from_ps;
}

static inline uint64_t pixel_length(const struct timeline_query *query)
{
    return span_of(query) / query->width + (span_of(query) % query->width != 0);
}

/* The last pixel i with (t - from) * width >= i * (to - from); earlier starts are in the first. */
static inline uint64_t pixel_at(const struct timeline_query *query, int64_t time_ps)
{
    if (time_ps <= query->from_ps)
        return 0;
    unsigned __int128 distance = (uint64_t)time_ps - (uint64_t)query->from_ps;
    uint64_t pixel = (uint64_t)(distance * query->width / span_of(query));
    return pixel < query->width ? pixel : query->width - 1;
}

static inline bool reaches_into(const struct placed *event, const struct timeline_query *query)
{
    return event->start_ps < query->to_ps &&
           (event->end_ps > query->from_ps || event->start_ps >= query->from_ps);
}

static inline uint64_t seen_of(const struct placed *event, const struct timeline_query *query)
{
    int64_t from = event->start_ps > query->from_ps ? event->start_ps : query->from_ps;
    int64_t to = event->end_ps < query->to_ps ? event->end_ps : query->to_ps;
    return to > from ? (uint64_t)to - (uint64_t)from : 0;
}

static inline bool same_number(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static inline void check_counter_item(const struct timeline_item *item, const struct placed *events)
{
    double sum = 0, size = 0, least = NAN, most = NAN;
    for (size_t i = 0; i < item->count; i++) {
        sum += events[i].value;
        size += fabs(events[i].value);
        least = fmin(least, events[i].value);
        most = fmax(most, events[i].value);
    }
    check(same_number(item->min, least), "the least of the values");
    check(same_number(item->max, most), "the most of the values");
    check(memcmp(&item->last, &events[item->count - 1].value, sizeof item->last) == 0,
          "the last of the values, bit by bit");
    /* Whether the sum of magnitudes overflows depends on the order of addition. */
    if (isfinite(size))
        check(fabs(item->sum - sum) <= size * 1e-12, "the sum of the values");
    else if (isnan(sum) && isinf(size))
        check(!isfinite(item->sum), "the sum of infinite values");
}

static inline void check_event_item(const struct model *model, const struct timeline_item *item,
                                    const struct placed *events)
{
    unsigned __int128 busy = 0;
    int64_t longest = -1;
    bool is_there = false;
    for (size_t i = 0; i < item->count; i++) {
        int64_t duration = events[i].end_ps - events[i].start_ps;
        busy += (uint64_t)duration;
        longest = duration > longest ? duration : longest;
        is_there |= model->track.first_id + events[i].number == item->id &&
                    events[i].name == item->name && duration == item->longest_ps;
    }
    check(busy > INT64_MAX ? item->busy_ps == INT64_MAX : item->busy_ps == (int64_t)busy,
          "the sum of the durations");
    check(item->longest_ps == longest, "the longest duration");
    check(is_there, "id and name of one of the longest");
}

/* Merged events must be too small to draw on their own, and adjacent. */
static inline void check_togetherness(const struct timeline_item *item, const struct placed *events)
{
    const struct timeline_query *query = &trial.query;
    unsigned __int128 pixel = pixel_length(query);
    for (size_t i = 0; i < item->count; i++)
        check(seen_of(&events[i], query) < pixel, "what is as long as a pixel is by itself");
    int64_t last = events[item->count - 1].start_ps;
    check(pixel_at(query, last) <= pixel_at(query, item->start_ps) + 1,
          "starts of one item in two pixels at most");
    int64_t first = item->start_ps > query->from_ps ? item->start_ps : query->from_ps;
    check(last <= first || (uint64_t)last - (uint64_t)first < 2 * pixel,
          "starts of one item less than two pixels apart");
}

/* Compares the items of a row with its events that intersect the window, in order. */
static inline void check_row(const struct model *model, const struct timeline_item *items,
                             size_t item_count, const struct placed *events, size_t count)
{
    size_t at = 0, in_pixel = 0;
    uint64_t pixel = UINT64_MAX;
    for (size_t i = 0; i < item_count; i++) {
        const struct timeline_item *item = &items[i];
        check(item->count > 0 && item->count <= count - at, "as many events as there are");
        const struct placed *part = events + at;
        check(item->start_ps == part[0].start_ps, "from the start of the first");
        check(item->end_ps == part[item->count - 1].end_ps, "to the end of the last");
        check(i == 0 || items[i - 1].end_ps <= item->start_ps, "items side by side");
        if (model->track.is_counter)
            check_counter_item(item, part);
        else
            check_event_item(model, item, part);
        if (item->count > 1)
            check_togetherness(item, part);
        uint64_t begins = pixel_at(&trial.query, item->start_ps);
        in_pixel = begins == pixel ? in_pixel + 1 : 1;
        pixel = begins;
        check(in_pixel <= 2, "no more than two items begin in a pixel");
        at += item->count;
    }
    check(at == count, "every event is in an item");
    trial.items += item_count;
    trial.events += count;
}

/* Rows are sorted, so the events that intersect a window are consecutive. */
static inline void check_answer(const struct model *models, const struct timeline_query *query,
                                const struct timeline_result *answer)
{
    size_t at = 0, items = 0;
    trial.query = *query;
    trial.answers++;
    for (size_t i = 0; i < query->track_count; i++) {
        const struct model *model = &models[query->tracks[i]];
        trial.track = query->tracks[i];
        for (size_t row = 0; row < model->rows; row++) {
            trial.row = (uint32_t)row;
            size_t first = model->row_first[row], end = model->row_first[row + 1];
            while (first < end && !reaches_into(&model->events[first], query))
                first++;
            while (end > first && !reaches_into(&model->events[end - 1], query))
                end--;
            if (first == end)
                continue;
            for (size_t k = first; k < end; k++)
                assert_true(reaches_into(&model->events[k], query));
            check(at < answer->rows.count, "a row for every row that has events");
            const struct timeline_row *found = &answer->rows.items[at++];
            check(found->track == query->tracks[i] && found->row == row, "the rows in order");
            check(found->first_item == items && found->item_count > 0 &&
                      found->item_count <= answer->items.count - items,
                  "the items of the rows side by side");
            check_row(model, answer->items.items + items, found->item_count, model->events + first,
                      end - first);
            items += found->item_count;
        }
    }
    check(at == answer->rows.count, "no row without events");
    check(items == answer->items.count, "no item without a row");
}

static inline void ask(struct timeline *timeline, const struct model *models,
                       const struct timeline_query *query, struct timeline_result *answer)
{
    struct error err;
    char line[ERROR_LINE_SIZE];
    trial.query = *query;
    if (!timeline_query(timeline, query, answer, &err)) {
        print_error("%s\n", error_line(&err, line));
        check(false, "a sound index answers");
    }
    check_answer(models, query, answer);
}

/* ---- Indexes: written from models and reopened. ---- */

struct indexed {
    struct timeline *timeline;
    struct model *models;
    uint32_t *tracks; /* all of them */
    uint32_t track_count;
    int64_t first_ps, last_ps; /* over all events; 0 without any */
};

struct naming {
    uint32_t names[NAMES]; /* by type */
    uint32_t table;
};

static inline struct naming add_names(struct timeline_writer *writer)
{
    struct naming naming;
    for (uint32_t i = 0; i < NAMES; i++) {
        char name[32];
        int size = snprintf(name, sizeof name, "event %u", i * 7 % NAMES);
        naming.names[i] = timeline_name(writer, (struct text){name, (size_t)size});
    }
    naming.table = timeline_name(writer, TEXT("Events"));
    return naming;
}

static inline int64_t first_of(const struct trace *traces, size_t count)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < traces[i].count; k++)
            first = traces[i].start_ps[k] < first ? traces[i].start_ps[k] : first;
    return first < INT64_MAX ? first : 0;
}

static inline void find_span(struct indexed *indexed)
{
    bool any = false;
    for (uint32_t i = 0; i < indexed->track_count; i++)
        for (size_t k = 0; k < indexed->models[i].count; k++) {
            const struct placed *event = &indexed->models[i].events[k];
            if (!any || event->start_ps < indexed->first_ps)
                indexed->first_ps = event->start_ps;
            if (!any || event->end_ps > indexed->last_ps)
                indexed->last_ps = event->end_ps;
            any = true;
        }
}

/* Adds the events of the models, from one thread or several. */
typedef void add_all(struct timeline_writer *writer, const struct indexed *indexed,
                     const struct naming *naming);

static inline void add_one_by_one(struct timeline_writer *writer, const struct indexed *indexed,
                                  const struct naming *naming)
{
    struct error err;
    for (uint32_t i = indexed->track_count; i > 0; i--)
        assert_true(model_add(&indexed->models[i - 1], writer, i - 1, naming->names, &err));
}

/* Takes ownership of the traces. */
static inline struct indexed index_make(const char *path, struct trace *traces, uint32_t count,
                                        int64_t origin_ps, add_all *add)
{
    struct indexed indexed = {.track_count = count};
    struct timeline_writer *writer;
    struct error err;
    assert_true(timeline_create(&writer, path, origin_ps, &err));
    struct naming naming = add_names(writer);
    indexed.models = calloc(count + 1, sizeof *indexed.models);
    indexed.tracks = calloc(count + 1, sizeof *indexed.tracks);
    for (uint32_t i = 0; i < count; i++) {
        struct timeline_track track = {.parent = i % 3 ? i - 1 : TIMELINE_NONE,
                                       .level = i % 3,
                                       .role = i * 5,
                                       .name = naming.names[i % NAMES],
                                       .table = naming.table,
                                       .is_counter = traces[i].value != NULL,
                                       .first_id = i * 1000000007ull,
                                       .sort_key = -(int64_t)i};
        indexed.models[i] = model_make(traces[i], &track, naming.names);
        indexed.tracks[i] = timeline_add_track(writer, &track);
        assert_int_equal(indexed.tracks[i], i);
    }
    add(writer, &indexed, &naming);
    assert_true(timeline_commit(writer, &err));
    assert_true(timeline_open(&indexed.timeline, path, &err));
    find_span(&indexed);
    return indexed;
}

static inline void index_free(struct indexed *indexed)
{
    timeline_close(indexed->timeline);
    for (uint32_t i = 0; i < indexed->track_count; i++)
        model_free(&indexed->models[i]);
    free(indexed->models);
    free(indexed->tracks);
}

static inline void check_directory(const struct indexed *indexed)
{
    int64_t first, last;
    timeline_span(indexed->timeline, &first, &last);
    check(first == indexed->first_ps && last == indexed->last_ps, "the span of all events");
    check(timeline_track_count(indexed->timeline) == indexed->track_count, "all tracks");
    for (uint32_t i = 0; i < indexed->track_count; i++) {
        const struct model *model = &indexed->models[i];
        const struct timeline_track *track = timeline_track_at(indexed->timeline, i);
        trial.track = i;
        check(track->parent == model->track.parent && track->level == model->track.level &&
                  track->role == model->track.role && track->name == model->track.name &&
                  track->table == model->track.table &&
                  track->is_counter == model->track.is_counter &&
                  track->first_id == model->track.first_id &&
                  track->sort_key == model->track.sort_key,
              "a track as it was described");
        check(track->events == model->count, "how many events a track has");
        check(track->row_count == model->rows, "how many rows a track has");
        check(text_equal(timeline_name_at(indexed->timeline, track->table), TEXT("Events")),
              "the name of a track's table");
    }
}

#endif
