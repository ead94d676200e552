/*
 * What the timeline shows of time, against brute force over every picosecond of short traces: the
 * covered share of pixels, the busy time of groups, selected events, holes of counters, and where
 * things happen.
 */
#include "timeline_model.h"

enum { SPAN = 6000, LANES = 4, TRACKS = 3 + LANES };

/* A process (0) with two sources (1, 2) of two lanes each; lane 6 is not work. */
static const uint32_t parents[TRACKS] = {TIMELINE_NONE, 0, 0, 1, 1, 2, 2};

struct group_index {
    struct timeline *timeline;
    struct trace traces[TRACKS];
    uint8_t covered[TRACKS][SPAN]; /* by any event below, of the lanes that are work */
};

static void cover(struct group_index *index, uint32_t track, const struct trace *trace)
{
    for (size_t i = 0; i < trace->count; i++)
        for (int64_t at = trace->start_ps[i]; at < trace->start_ps[i] + trace->duration_ps[i]; at++)
            for (uint32_t to = track; to != TIMELINE_NONE; to = parents[to])
                index->covered[to][at] = 1;
}

static struct trace random_trace(struct rng *rng)
{
    struct trace trace = {0};
    size_t count = 1 + rng_below(rng, 300);
    int64_t longest = 1 + up_to(rng, rng_below(rng, 2) ? 30 : 400);
    for (size_t i = 0; i < count; i++) {
        int64_t start = up_to(rng, SPAN - 1), left = SPAN - start;
        int64_t duration = up_to(rng, longest);
        trace_push(&trace, start, duration < left ? duration : left,
                   (uint32_t)rng_below(rng, NAMES));
    }
    trace_sort(&trace);
    trace.has_order = true;
    return trace;
}

static void group_index_make(struct group_index *index, const char *path, struct rng *rng)
{
    struct timeline_writer *writer;
    struct error err;
    *index = (struct group_index){0};
    assert_true(timeline_create(&writer, path, 0, &err));
    struct naming naming = add_names(writer);
    for (uint32_t i = 0; i < TRACKS; i++)
        timeline_add_track(writer, &(struct timeline_track){.parent = parents[i],
                                                            .name = naming.names[i],
                                                            .table = naming.table,
                                                            .is_work = i >= 3 && i != 6,
                                                            .first_id = 1000 * i});
    for (uint32_t i = 3; i < TRACKS; i++) {
        struct trace *trace = &index->traces[i];
        *trace = random_trace(rng);
        struct timeline_events events = {.count = trace->count,
                                         .order = trace->order,
                                         .start_ps = trace->start_ps,
                                         .duration_ps = trace->duration_ps,
                                         .name = trace->name,
                                         .names = naming.names};
        assert_true(timeline_add(writer, i, &events, &err));
        if (i != 6)
            cover(index, i, trace);
    }
    assert_true(timeline_commit(writer, &err));
    assert_true(timeline_open(&index->timeline, path, &err));
}

static void group_index_free(struct group_index *index)
{
    timeline_close(index->timeline);
    for (uint32_t i = 0; i < TRACKS; i++)
        trace_free(&index->traces[i]);
}

static void groups_have_the_union_of_their_lanes(void **state)
{
    struct scratch_name path = scratch_name(state, "timeline");
    struct group_index index;
    struct timeline_result answer = {0};
    struct error err;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct rng rng = {seed};
        group_index_make(&index, path.path, &rng);
        for (uint32_t track = 0; track < 3; track++) {
            uint8_t found[SPAN] = {0};
            struct timeline_query query = {&track, 1, 0, SPAN, SPAN, NULL};
            assert_int_equal(timeline_track_at(index.timeline, track)->events, 0);
            assert_true(timeline_query(index.timeline, &query, &answer, &err));
            for (size_t i = 0; i < answer.items.count; i++) {
                const struct timeline_item *item = &answer.items.items[i];
                assert_int_equal(item->busy_ps, item->end_ps - item->start_ps);
                memset(found + item->start_ps, 1, (size_t)item->busy_ps);
            }
            assert_memory_equal(found, index.covered[track], SPAN);
        }
        group_index_free(&index);
    }
    timeline_result_free(&answer);
}

/* The part of [from, to) that items cover when each is spread evenly over its length, as drawn. */
static double drawn_between(const struct timeline_result *answer, double from, double to)
{
    double drawn = 0;
    for (size_t i = 0; i < answer->items.count; i++) {
        const struct timeline_item *item = &answer->items.items[i];
        double length = (double)(item->end_ps - item->start_ps);
        double begin = fmax(from, (double)item->start_ps), end = fmin(to, (double)item->end_ps);
        if (end > begin)
            drawn += (end - begin) * (double)item->busy_ps / length;
    }
    return drawn;
}

/* At any width, windows of whole pixels have the covered share of the truth, except for what items
 * at their two ends move within a pixel. */
static void coverage_is_true_at_any_width(void **state)
{
    struct scratch_name path = scratch_name(state, "timeline");
    struct group_index index;
    struct timeline_result answer = {0};
    struct error err;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct rng rng = {seed};
        group_index_make(&index, path.path, &rng);
        for (size_t trial_number = 0; trial_number < 60; trial_number++) {
            uint32_t track = (uint32_t)rng_below(&rng, 3),
                     width = 1 + (uint32_t)rng_below(&rng, 700);
            int64_t from = up_to(&rng, SPAN - 2), to = from + 1 + up_to(&rng, SPAN - 1 - from);
            struct timeline_query query = {&track, 1, from, to, width, NULL};
            assert_true(timeline_query(index.timeline, &query, &answer, &err));
            double truth = 0, pixel = (double)(to - from) / width;
            for (int64_t at = from; at < to; at++)
                truth += index.covered[track][at];
            double drawn = drawn_between(&answer, (double)from, (double)to);
            assert_true(fabs(drawn - truth) <= 2 * pixel + 1e-6);
        }
        group_index_free(&index);
    }
    timeline_result_free(&answer);
}

static void a_selection_has_the_selected_events_alone(void **state)
{
    struct scratch_name path = scratch_name(state, "timeline");
    struct group_index index;
    struct timeline_result answer = {0};
    struct error err;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct rng rng = {seed};
        group_index_make(&index, path.path, &rng);
        for (uint32_t track = 3; track < TRACKS; track++) {
            const struct trace *trace = &index.traces[track];
            uint64_t bits[8000 / 64] = {0};
            size_t one_in = rng_below(&rng, 5), selected = 0;
            int64_t busy = 0, found_busy = 0;
            for (size_t i = 0; i < trace->count; i++) {
                if (one_in && (one_in == 1 || rng_below(&rng, one_in) == 0)) {
                    uint64_t id = 1000 * track + i;
                    bits[id / 64] |= (uint64_t)1 << id % 64;
                    busy += trace->duration_ps[i];
                    selected++;
                }
            }
            struct timeline_ids only = {bits, 8000};
            struct timeline_query query = {&track, 1, 0, SPAN, 1 + (uint32_t)rng_below(&rng, 900),
                                           &only};
            assert_true(timeline_query(index.timeline, &query, &answer, &err));
            uint64_t found = 0;
            for (size_t i = 0; i < answer.items.count; i++) {
                const struct timeline_item *item = &answer.items.items[i];
                assert_true(bits[item->id / 64] >> item->id % 64 & 1);
                found += item->count;
                found_busy += item->busy_ps;
            }
            assert_int_equal(found, selected);
            assert_int_equal(found_busy, busy);
        }
        group_index_free(&index);
    }
    timeline_result_free(&answer);
}

/* The items of a counter with these sample times, at a picosecond a pixel. */
static struct timeline_result counter_items(const char *path, const int64_t *times, size_t count,
                                            int64_t to_ps)
{
    struct timeline_writer *writer;
    struct timeline *timeline;
    struct timeline_result answer = {0};
    struct error err;
    uint32_t zero = 0;
    double *values = calloc(count, sizeof *values);
    int64_t *durations = calloc(count, sizeof *durations);
    uint32_t *names = calloc(count, sizeof *names);
    assert_true(timeline_create(&writer, path, 0, &err));
    timeline_name(writer, TEXT("counter"));
    timeline_add_track(writer,
                       &(struct timeline_track){.parent = TIMELINE_NONE, .is_counter = true});
    struct timeline_events events = {.count = count,
                                     .start_ps = times,
                                     .duration_ps = durations,
                                     .name = names,
                                     .value = values};
    assert_true(timeline_add(writer, 0, &events, &err));
    assert_true(timeline_commit(writer, &err));
    assert_true(timeline_open(&timeline, path, &err));
    struct timeline_query query = {&zero, 1, 0, to_ps, (uint32_t)to_ps, NULL};
    assert_true(timeline_query(timeline, &query, &answer, &err));
    timeline_close(timeline);
    free(values);
    free(durations);
    free(names);
    assert_int_equal(answer.items.count, count);
    return answer;
}

static void a_periodic_counter_has_holes_where_samples_are_missing(void **state)
{
    struct scratch_name path = scratch_name(state, "timeline");
    int64_t times[40];
    for (size_t i = 0; i < COUNT_OF(times); i++)
        times[i] = (int64_t)(i < 20 ? 10 * i : 1000 + 10 * i); /* 1000 ps without samples */
    struct timeline_result answer = counter_items(path.path, times, COUNT_OF(times), 2000);
    for (size_t i = 0; i + 1 < COUNT_OF(times); i++)
        assert_int_equal(answer.items.items[i].end_ps, times[i] + 10);
    timeline_result_free(&answer);
}

static void a_counter_written_on_change_keeps_its_value(void **state)
{
    struct scratch_name path = scratch_name(state, "timeline");
    int64_t times[40];
    for (size_t i = 0; i < COUNT_OF(times); i++) /* distances from 1 to 1000 */
        times[i] = i == 0 ? 0 : times[i - 1] + 1 + (int64_t)(i * i * i * 37 % 1000);
    struct timeline_result answer = counter_items(path.path, times, COUNT_OF(times), 40000);
    for (size_t i = 0; i + 1 < COUNT_OF(times); i++)
        assert_int_equal(answer.items.items[i].end_ps, times[i + 1]);
    timeline_result_free(&answer);
}

/* Events every 10 ps from `from` on, and others far from them; work, if not NULL: its ends. */
static void check_focus_in(const int64_t *work, const char *path, const int64_t *others,
                           size_t count, int64_t from, size_t regular, int64_t wanted_from,
                           int64_t wanted_to)
{
    struct timeline_writer *writer;
    struct timeline *timeline;
    struct error err;
    struct trace trace = {0};
    for (size_t i = 0; i < count; i++)
        trace_push(&trace, others[i], 5, 0);
    for (size_t i = 0; i < regular; i++)
        trace_push(&trace, from + 10 * (int64_t)i, 8, 0);
    trace_sort(&trace);
    assert_true(timeline_create(&writer, path, 0, &err));
    if (work)
        timeline_set_work(writer, work[0], work[1]);
    timeline_name(writer, TEXT("lane"));
    timeline_add_track(writer, &(struct timeline_track){.parent = TIMELINE_NONE});
    struct timeline_events events = {.count = trace.count,
                                     .order = trace.order,
                                     .start_ps = trace.start_ps,
                                     .duration_ps = trace.duration_ps,
                                     .name = trace.name};
    assert_true(timeline_add(writer, 0, &events, &err));
    assert_true(timeline_commit(writer, &err));
    assert_true(timeline_open(&timeline, path, &err));
    int64_t found_from, found_to;
    timeline_focus(timeline, &found_from, &found_to);
    assert_int_equal(found_from, wanted_from);
    assert_int_equal(found_to, wanted_to);
    timeline_close(timeline);
    trace_free(&trace);
}

static void check_focus(const char *path, const int64_t *others, size_t count, int64_t from,
                        size_t regular, int64_t wanted_from, int64_t wanted_to)
{
    check_focus_in(NULL, path, others, count, from, regular, wanted_from, wanted_to);
}

static void the_focus_is_part_of_the_work(void **state)
{
    struct scratch_name path = scratch_name(state, "timeline");
    static const int64_t half[] = {1000, 2000}, most[] = {510, 2990}, none[] = {9000, 9500};
    check_focus_in(half, path.path, NULL, 0, 500, 250, 1000, 2000);
    check_focus_in(most, path.path, NULL, 0, 500, 250, 500, 2998); /* not worth narrowing */
    check_focus_in(none, path.path, NULL, 0, 500, 250, 500, 2998);
}

static void the_focus_leaves_out_what_is_far_from_everything_else(void **state)
{
    struct scratch_name path = scratch_name(state, "timeline");
    static const int64_t early[] = {0}, both[] = {0, 900000}, near[] = {99800};
    check_focus(path.path, early, 1, 100000, 250, 100000, 102498);
    check_focus(path.path, both, 2, 400000, 250, 400000, 402498);
    check_focus(path.path, near, 1, 100000, 250, 99800, 102498); /* not worth narrowing */
    check_focus(path.path, NULL, 0, 500, 250, 500, 2998);
    check_focus(path.path, early, 1, 100000, 3, 0, 100028); /* one of four is no exception */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(groups_have_the_union_of_their_lanes),
        SCRATCH_TEST(coverage_is_true_at_any_width),
        SCRATCH_TEST(a_selection_has_the_selected_events_alone),
        SCRATCH_TEST(a_periodic_counter_has_holes_where_samples_are_missing),
        SCRATCH_TEST(a_counter_written_on_change_keeps_its_value),
        SCRATCH_TEST(the_focus_is_part_of_the_work),
        SCRATCH_TEST(the_focus_leaves_out_what_is_far_from_everything_else),
    };
    return cmocka_run_group_tests_name("timeline coverage", tests, NULL, NULL);
}
