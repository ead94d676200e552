/*
 * The timeline index compared with brute force: random traces of many shapes, queried as a whole
 * and in many windows and widths; every item of every result is compared with its events.
 */
#include "timeline_model.h"

#include <pthread.h>

static const uint32_t widths[] = {1, 2, 7, 100, 2000};

static void check_whole(const struct indexed *indexed, struct timeline_result *answer,
                        uint32_t widest)
{
    struct timeline_query query = {.tracks = indexed->tracks,
                                   .track_count = indexed->track_count,
                                   .from_ps = indexed->first_ps,
                                   .to_ps = indexed->last_ps + 1};
    for (size_t i = 0; i <= COUNT_OF(widths); i++) {
        query.width = i < COUNT_OF(widths) ? widths[i] : widest;
        ask(indexed->timeline, indexed->models, &query, answer);
        uint64_t count = 0, expected = 0;
        for (size_t k = 0; k < answer->items.count; k++)
            count += answer->items.items[k].count;
        for (uint32_t k = 0; k < indexed->track_count; k++)
            expected += indexed->models[k].count;
        check(count == expected, "all events of all tracks");
    }
}

static int64_t some_time(const struct indexed *indexed, struct rng *rng)
{
    const struct model *model = &indexed->models[rng_below(rng, indexed->track_count)];
    int64_t span = indexed->last_ps - indexed->first_ps;
    if (model->count == 0 || rng_below(rng, 4) == 0)
        return indexed->first_ps - 20 + up_to(rng, span + 40);
    const struct placed *event = &model->events[rng_below(rng, model->count)];
    return (rng_below(rng, 2) ? event->start_ps : event->end_ps) + up_to(rng, 4) - 2;
}

static void check_windows(const struct indexed *indexed, struct timeline_result *answer,
                          struct rng *rng, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t some[4]; /* the same track may be queried twice */
        for (size_t k = 0; k < COUNT_OF(some); k++)
            some[k] = (uint32_t)rng_below(rng, indexed->track_count);
        struct timeline_query query = {.tracks = indexed->tracks,
                                       .track_count = indexed->track_count};
        if (rng_below(rng, 3) == 0) {
            query.tracks = some;
            query.track_count = rng_below(rng, COUNT_OF(some) + 1);
        }
        int64_t a = some_time(indexed, rng), b = some_time(indexed, rng);
        if (rng_below(rng, 4) == 0)
            b = a + 1 + up_to(rng, rng_below(rng, 2) ? 0 : 300);
        query.from_ps = a < b ? a : b;
        query.to_ps = a < b ? b : a + 1;
        query.width = 1 + (uint32_t)rng_below(rng, (size_t)1 << rng_below(rng, 12));
        ask(indexed->timeline, indexed->models, &query, answer);
    }
    struct timeline_query outside[] = {
        {.from_ps = indexed->first_ps - 100, .to_ps = indexed->first_ps, .width = 5},
        {.from_ps = indexed->first_ps - 100, .to_ps = indexed->first_ps + 1, .width = 5},
        {.from_ps = indexed->last_ps, .to_ps = indexed->last_ps + 1, .width = 5},
        {.from_ps = indexed->last_ps + 1, .to_ps = indexed->last_ps + 100, .width = 5},
    };
    for (size_t i = 0; i < COUNT_OF(outside); i++) {
        outside[i].tracks = indexed->tracks;
        outside[i].track_count = indexed->track_count;
        ask(indexed->timeline, indexed->models, &outside[i], answer);
        if (i % 3 == 0)
            check(answer->rows.count == 0 && answer->items.count == 0, "nothing is outside");
    }
}

/* A window as long as an event has it as an item. The row can only contain instants at its start
 * besides. */
static void check_one(const struct indexed *indexed, struct timeline_result *answer, uint32_t track,
                      const struct placed *event, uint32_t width)
{
    const struct model *model = &indexed->models[track];
    struct timeline_query query = {.tracks = &track,
                                   .track_count = 1,
                                   .from_ps = event->start_ps,
                                   .to_ps = event->end_ps,
                                   .width = width};
    if (query.to_ps == query.from_ps)
        query.to_ps++;
    ask(indexed->timeline, indexed->models, &query, answer);
    const struct timeline_row *row = answer->rows.items;
    while (row < answer->rows.items + answer->rows.count && row->row != event->row)
        row++;
    check(row < answer->rows.items + answer->rows.count, "the event's row is there");
    const struct timeline_item *item = &answer->items.items[row->first_item];
    if (event->end_ps > event->start_ps)
        item += row->item_count - 1;
    check(item->start_ps == event->start_ps && item->end_ps == event->end_ps, "its exact times");
    check(event->end_ps == event->start_ps || item->count == 1, "no other is added to it");
    check(model->track.is_counter || row->item_count == 1, "it is alone");
    if (item->count > 1)
        return;
    if (model->track.is_counter)
        check(same_number(item->sum, event->value) && same_number(item->last, event->value),
              "its exact value");
    else
        check(item->id == model->track.first_id + event->number && item->name == event->name,
              "its id and name");
}

static void check_each(const struct indexed *indexed, struct timeline_result *answer,
                       struct rng *rng, size_t most)
{
    for (uint32_t track = 0; track < indexed->track_count; track++) {
        const struct model *model = &indexed->models[track];
        for (size_t i = 0; i < model->count && i < most; i++) {
            size_t event = model->count <= most ? i : rng_below(rng, model->count);
            check_one(indexed, answer, track, &model->events[event],
                      1 + (uint32_t)rng_below(rng, 4));
        }
    }
}

static int64_t origin_for(struct rng *rng, int64_t first_ps)
{
    static const int64_t before[] = {0, 0, 1, 999, (int64_t)1 << 40, (int64_t)1 << 61};
    return first_ps - before[rng_below(rng, COUNT_OF(before))];
}

/* Several tracks of one shape, or of any if it is SHAPES; some are counters, one is empty. */
static struct indexed index_at_random(const char *path, struct rng *rng, enum shape shape,
                                      size_t most)
{
    struct trace traces[8] = {0};
    size_t count = 1 + rng_below(rng, 7);
    for (size_t i = 0; i < count; i++) {
        enum shape own = shape < SHAPES ? shape : (enum shape)rng_below(rng, SHAPES);
        traces[i] = trace_make(rng, own, 1 + rng_below(rng, most));
        if (i == 2 || rng_below(rng, 4) == 0)
            trace_add_values(&traces[i], rng, (enum values)rng_below(rng, VALUES));
    }
    int64_t origin = origin_for(rng, first_of(traces, count));
    count += rng_below(rng, 2);
    return index_make(path, traces, (uint32_t)count, origin, add_one_by_one);
}

static void check_index(const struct indexed *indexed, struct rng *rng, size_t windows,
                        size_t events)
{
    struct timeline_result answer = {0};
    check_directory(indexed);
    check_whole(indexed, &answer, rng_below(rng, 40) ? 20000 : 1000000);
    check_windows(indexed, &answer, rng, windows);
    check_each(indexed, &answer, rng, events);
    timeline_result_free(&answer);
}

static void say_how_much(const char *what)
{
    print_message("             %s: %zu answers, %zu items, %zu events in them\n", what,
                  trial.answers, trial.items, trial.events);
    trial.answers = trial.items = trial.events = 0;
}

static void small_traces_of_every_shape(void **state)
{
    struct scratch_name path = scratch_name(state, "timeline");
    for (uint64_t seed = 1; seed <= 40; seed++)
        for (enum shape shape = 0; shape <= SHAPES; shape++) {
            struct rng rng = {seed * 1000 + shape};
            trial.shape = shape < SHAPES ? shape_names[shape] : "mixed";
            trial.seed = seed;
            struct indexed indexed = index_at_random(path.path, &rng, shape, 50);
            check_index(&indexed, &rng, 20, 12);
            index_free(&indexed);
        }
    say_how_much("small");
}

/* More events than a block or a leaf of the tree holds. */
static void traces_of_every_shape_with_trees_over_them(void **state)
{
    struct scratch_name path = scratch_name(state, "timeline");
    for (uint64_t seed = 1; seed <= 8; seed++)
        for (enum shape shape = 0; shape <= SHAPES; shape++) {
            struct rng rng = {seed * 1000 + 500 + shape};
            trial.shape = shape < SHAPES ? shape_names[shape] : "mixed";
            trial.seed = seed;
            struct indexed indexed = index_at_random(path.path, &rng, shape, 1500);
            check_index(&indexed, &rng, 40, 40);
            index_free(&indexed);
        }
    say_how_much("medium");
}

static void large_traces(void **state)
{
    static const struct {
        enum shape shape;
        size_t count;
    } cases[] = {{SEQUENTIAL, 120000}, {NESTED, 60000},   {MANY_ROWS, 8000},
                 {BURSTS, 60000},      {WHOLE_NS, 60000}, {POWERS, 4000}};
    struct scratch_name path = scratch_name(state, "timeline");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct rng rng = {i + 7};
        trial.shape = shape_names[cases[i].shape];
        trial.seed = i;
        struct trace trace = trace_make(&rng, cases[i].shape, cases[i].count);
        int64_t origin = origin_for(&rng, first_of(&trace, 1));
        struct indexed indexed = index_make(path.path, &trace, 1, origin, add_one_by_one);
        check_index(&indexed, &rng, 30, 150);
        index_free(&indexed);
    }
    say_how_much("large");
}

static void large_counters(void **state)
{
    struct scratch_name path = scratch_name(state, "timeline");
    trial.shape = "counters";
    for (enum values values = 0; values < VALUES; values++) {
        struct rng rng = {values + 1};
        struct trace trace = trace_make(&rng, values % 2 ? BURSTS : SEQUENTIAL, 30000);
        trace_add_values(&trace, &rng, values);
        struct indexed indexed = index_make(path.path, &trace, 1, 0, add_one_by_one);
        trial.seed = values;
        check_index(&indexed, &rng, 30, 150);
        index_free(&indexed);
    }
    say_how_much("counters");
}

/* Each has its own row. */
static void tens_of_thousands_that_all_overlap(void **state)
{
    enum { EVENTS = 30000 };
    struct scratch_name path = scratch_name(state, "timeline");
    struct trace trace = {0};
    trial.shape = "all overlap";
    for (int64_t i = 0; i < EVENTS; i++)
        trace_push(&trace, i, i % 2 ? 3 * EVENTS - 2 * i : EVENTS + i, (uint32_t)i % NAMES);
    trace_sort(&trace);
    struct timeline_writer *writer;
    struct error err;
    assert_true(timeline_create(&writer, path.path, 0, &err));
    struct naming naming = add_names(writer);
    struct timeline_track track = {.parent = TIMELINE_NONE};
    assert_int_equal(timeline_add_track(writer, &track), 0);
    struct model model = {.trace = trace};
    assert_true(model_add(&model, writer, 0, naming.names, &err));
    assert_true(timeline_commit(writer, &err));
    struct timeline *timeline;
    assert_true(timeline_open(&timeline, path.path, &err));
    assert_int_equal(timeline_track_at(timeline, 0)->row_count, EVENTS);
    uint32_t zero = 0;
    struct timeline_result answer = {0};
    struct timeline_query query = {.tracks = &zero, .track_count = 1, .to_ps = 9 * EVENTS};
    for (size_t i = 0; i < COUNT_OF(widths); i++) {
        query.width = widths[i];
        assert_true(timeline_query(timeline, &query, &answer, &err));
        assert_int_equal(answer.rows.count, EVENTS);
        assert_int_equal(answer.items.count, EVENTS);
    }
    uint8_t *seen = calloc(EVENTS, 1);
    for (size_t i = 0; i < EVENTS; i++) {
        const struct timeline_item *item = &answer.items.items[i];
        assert_true(item->id < EVENTS && item->count == 1 && !seen[item->id]);
        assert_int_equal(item->start_ps, trace.start_ps[item->id]);
        assert_int_equal(item->busy_ps, trace.duration_ps[item->id]);
        assert_int_equal(item->name, naming.names[trace.name[item->id]]);
        seen[item->id] = 1;
    }
    free(seen);
    timeline_result_free(&answer);
    timeline_close(timeline);
    trace_free(&trace);
}

/* ---- Several threads. ---- */

enum { THREADS = 6, THREAD_TRACKS = 30 };

struct thread_work {
    struct timeline_writer *writer;
    const struct indexed *indexed;
    const struct naming *naming;
    uint32_t first;
    bool ok;
    struct error err;
};

static void *add_some(void *context)
{
    struct thread_work *work = context;
    work->ok = true;
    for (uint32_t i = work->first; i < work->indexed->track_count; i += THREADS)
        work->ok &=
            model_add(&work->indexed->models[i], work->writer, i, work->naming->names, &work->err);
    return NULL;
}

static void run_threads(struct thread_work works[static THREADS], struct timeline_writer *writer,
                        const struct indexed *indexed, const struct naming *naming)
{
    pthread_t threads[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        works[i] = (struct thread_work){
            .writer = writer, .indexed = indexed, .naming = naming, .first = i};
        assert_int_equal(pthread_create(&threads[i], NULL, add_some, &works[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void add_from_threads(struct timeline_writer *writer, const struct indexed *indexed,
                             const struct naming *naming)
{
    struct thread_work works[THREADS];
    run_threads(works, writer, indexed, naming);
    for (size_t i = 0; i < THREADS; i++)
        assert_true(works[i].ok);
}

static void tracks_added_from_several_threads(void **state)
{
    struct scratch_name path = scratch_name(state, "timeline");
    trial.shape = "threads";
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct rng rng = {seed};
        struct trace traces[THREAD_TRACKS];
        trial.seed = seed;
        for (size_t i = 0; i < THREAD_TRACKS; i++) {
            size_t most = i == 7 ? 40000 : seed == 4 ? 4 : 2000;
            enum shape shape = i == 7 ? SEQUENTIAL : (enum shape)rng_below(&rng, SHAPES);
            traces[i] = trace_make(&rng, shape, 1 + rng_below(&rng, most));
            if (i % 5 == 0)
                trace_add_values(&traces[i], &rng, (enum values)rng_below(&rng, VALUES));
        }
        int64_t origin = first_of(traces, THREAD_TRACKS);
        struct indexed indexed =
            index_make(path.path, traces, THREAD_TRACKS, origin, add_from_threads);
        check_index(&indexed, &rng, 10, 10);
        index_free(&indexed);
    }
    say_how_much("threads");
}

struct asking_thread {
    struct timeline *timeline;
    const struct timeline_query *query;
    struct timeline_result answer;
    bool ok;
};

static void *ask_again_and_again(void *context)
{
    struct asking_thread *thread = context;
    struct error err;
    thread->ok = true;
    for (int i = 0; i < 20; i++)
        thread->ok &= timeline_query(thread->timeline, thread->query, &thread->answer, &err);
    return NULL;
}

static void assert_same_items(const struct timeline_result *a, const struct timeline_result *b)
{
    assert_int_equal(a->items.count, b->items.count);
    for (size_t i = 0; i < a->items.count; i++) {
        const struct timeline_item *x = &a->items.items[i], *y = &b->items.items[i];
        assert_true(x->start_ps == y->start_ps && x->end_ps == y->end_ps && x->count == y->count);
    }
}

/* The index is reopened, so that no page has been verified yet. */
static void several_threads_ask_at_once(void **state)
{
    struct scratch_name path = scratch_name(state, "timeline");
    struct rng rng = {5};
    struct trace traces[4];
    for (size_t i = 0; i < COUNT_OF(traces); i++)
        traces[i] = trace_make(&rng, SEQUENTIAL, 20000);
    struct indexed indexed = index_make(path.path, traces, COUNT_OF(traces),
                                        first_of(traces, COUNT_OF(traces)), add_one_by_one);
    struct timeline_query query = {.tracks = indexed.tracks,
                                   .track_count = indexed.track_count,
                                   .from_ps = indexed.first_ps,
                                   .to_ps = indexed.last_ps,
                                   .width = 700};
    struct timeline_result expected = {0};
    ask(indexed.timeline, indexed.models, &query, &expected);
    struct timeline *timeline;
    struct error err;
    assert_true(timeline_open(&timeline, path.path, &err));
    struct asking_thread asking[THREADS];
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        asking[i] = (struct asking_thread){.timeline = timeline, .query = &query};
        assert_int_equal(pthread_create(&threads[i], NULL, ask_again_and_again, &asking[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(asking[i].ok);
        assert_same_items(&asking[i].answer, &expected);
        timeline_result_free(&asking[i].answer);
    }
    timeline_result_free(&expected);
    timeline_close(timeline);
    index_free(&indexed);
}

/* ---- Single rules. ---- */

static struct indexed index_of(const char *path, const int64_t (*events)[2], size_t count,
                               int64_t origin_ps, bool is_counter)
{
    struct trace trace = {0};
    for (size_t i = 0; i < count; i++)
        trace_push(&trace, events[i][0], events[i][1], (uint32_t)i % NAMES);
    trace_sort(&trace);
    if (is_counter) {
        struct rng rng = {1};
        trace_add_values(&trace, &rng, WHOLE);
    }
    return index_make(path, &trace, 1, origin_ps, add_one_by_one);
}

/* Also for counters: a sample that lasts for a pixel is not too small to draw. */
static void a_sample_as_long_as_a_pixel_is_an_item_of_its_own(void **state)
{
    enum { SAMPLES = 80, PIXEL_PS = 1 << 16 };
    struct scratch_name path = scratch_name(state, "timeline");
    int64_t times[SAMPLES][2] = {{0, 0}, {1, 0}}; /* the second lasts for a pixel and 5 ps more */
    for (int64_t i = 2; i < SAMPLES; i++)
        times[i][0] = PIXEL_PS + 2 + i * i; /* without a period */
    struct indexed indexed = index_of(path.path, (const int64_t (*)[2])times, SAMPLES, 0, true);
    struct timeline_query query = {
        .tracks = indexed.tracks, .track_count = 1, .to_ps = 4 * PIXEL_PS, .width = 4};
    struct timeline_result answer = {0};
    ask(indexed.timeline, indexed.models, &query, &answer);
    assert_int_equal(answer.items.items[0].count, 1);
    assert_int_equal(answer.items.items[1].count, 1);
    assert_int_equal(answer.items.items[1].end_ps, PIXEL_PS + 6);
    timeline_result_free(&answer);
    index_free(&indexed);
}

/* The last quarter of the tree ends after INT64_MAX. */
static void windows_end_right_at_the_end_of_time(void **state)
{
    struct scratch_name path = scratch_name(state, "timeline");
    static const int64_t events[][2] = {{INT64_MAX - 1, 0}, {INT64_MAX, 0}};
    struct indexed indexed = index_of(path.path, events, COUNT_OF(events), -2, false);
    struct timeline_query query = {
        .tracks = indexed.tracks, .track_count = 1, .to_ps = INT64_MAX, .width = 1};
    struct timeline_result answer = {0};
    ask(indexed.timeline, indexed.models, &query, &answer);
    timeline_result_free(&answer);
    index_free(&indexed);
}

/* Times and durations over all of 64 bits; ends are clamped. */
static void times_from_one_end_of_time_to_the_other(void **state)
{
    struct scratch_name path = scratch_name(state, "timeline");
    trial.shape = "wild";
    for (uint64_t seed = 1; seed <= 150; seed++) {
        struct rng rng = {seed};
        struct trace trace = {0};
        trial.seed = seed;
        size_t count = 1 + rng_below(&rng, 150);
        for (size_t i = 0; i < count; i++) {
            int64_t sign = rng_below(&rng, 2) ? 1 : -1;
            int64_t start = sign * (int64_t)(rng_any_width(&rng) >> 1);
            int64_t duration = (int64_t)(rng_any_width(&rng) >> 1);
            trace_push(&trace, start, duration, (uint32_t)rng_below(&rng, NAMES));
        }
        trace_sort(&trace);
        trace.has_order = true;
        if (seed % 4 == 0)
            trace_add_values(&trace, &rng, WHOLE);
        struct indexed indexed = index_make(path.path, &trace, 1, INT64_MIN, add_one_by_one);
        struct timeline_result answer = {0};
        struct timeline_query query = {
            .tracks = indexed.tracks, .track_count = 1, .from_ps = INT64_MIN, .to_ps = INT64_MAX};
        check_directory(&indexed);
        for (size_t i = 0; i < COUNT_OF(widths); i++) {
            query.width = widths[i];
            ask(indexed.timeline, indexed.models, &query, &answer);
        }
        for (size_t i = 0; i < 30; i++) {
            int64_t a = trace.start_ps[rng_below(&rng, count)], b = (int64_t)rng_u64(&rng);
            query.from_ps = a < b ? a : b;
            query.to_ps = a < b ? b : a;
            query.width = widths[rng_below(&rng, COUNT_OF(widths))];
            if (query.from_ps < query.to_ps)
                ask(indexed.timeline, indexed.models, &query, &answer);
        }
        timeline_result_free(&answer);
        index_free(&indexed);
    }
    say_how_much("wild");
}

static void windows_that_cannot_be_are_refused(void **state)
{
    struct scratch_name path = scratch_name(state, "timeline");
    static const int64_t events[][2] = {{0, 10}, {20, 5}};
    struct indexed indexed = index_of(path.path, events, COUNT_OF(events), 0, false);
    uint32_t beyond[] = {0, 1};
    const struct timeline_query queries[] = {
        {.tracks = indexed.tracks, .track_count = 1, .from_ps = 0, .to_ps = 10, .width = 0},
        {.tracks = indexed.tracks, .track_count = 1, .from_ps = 5, .to_ps = 5, .width = 10},
        {.tracks = indexed.tracks, .track_count = 1, .from_ps = 6, .to_ps = 5, .width = 10},
        {.tracks = beyond, .track_count = 2, .from_ps = 0, .to_ps = 10, .width = 10},
        {.tracks = &(uint32_t){TIMELINE_NONE}, .track_count = 1, .to_ps = 10, .width = 10},
    };
    struct timeline_result answer = {0};
    for (size_t i = 0; i < COUNT_OF(queries); i++) {
        struct error err = {0};
        assert_false(timeline_query(indexed.timeline, &queries[i], &answer, &err));
        assert_true(strlen(err.text) > 10);
    }
    struct timeline_query none = {.to_ps = 10, .width = 10};
    ask(indexed.timeline, indexed.models, &none, &answer);
    struct timeline_query all = {
        .tracks = indexed.tracks, .track_count = 1, .to_ps = 30, .width = 10};
    ask(indexed.timeline, indexed.models, &all, &answer); /* results can be reused */
    assert_int_equal(answer.items.count, 2);
    timeline_result_free(&answer);
    index_free(&indexed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(small_traces_of_every_shape),
        SCRATCH_TEST(traces_of_every_shape_with_trees_over_them),
        SCRATCH_TEST(large_traces),
        SCRATCH_TEST(large_counters),
        SCRATCH_TEST(tens_of_thousands_that_all_overlap),
        SCRATCH_TEST(tracks_added_from_several_threads),
        SCRATCH_TEST(several_threads_ask_at_once),
        SCRATCH_TEST(a_sample_as_long_as_a_pixel_is_an_item_of_its_own),
        SCRATCH_TEST(windows_end_right_at_the_end_of_time),
        SCRATCH_TEST(times_from_one_end_of_time_to_the_other),
        SCRATCH_TEST(windows_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests_name("timeline", tests, NULL, NULL);
}
