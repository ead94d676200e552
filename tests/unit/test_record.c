/*
 * The recorder in a program that stops its captures: everything recorded is in the files, and
 * everything lost is counted.
 */
#include "ntrace_model.h"

#include "kymo/kymo.h"
#include "record/record.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

static void start(void **state, uint64_t max_events)
{
    struct kymo_options options = KYMO_OPTIONS;
    options.output_dir = ((struct scratch *)*state)->path;
    options.instance = "i-test";
    options.max_events = max_events;
    assert_int_equal(kymo_start(&options), 0);
}

static struct ntrace stop(void)
{
    struct ntrace trace;
    char directory[4096];
    assert_int_equal(kymo_stop(), 0);
    assert_true(kymo_session_dir(directory, sizeof directory) > 0);
    assert_false(record_is_left_over(directory));
    model_read(&trace, directory);
    assert_false(trace.recovered);
    assert_int_equal(trace.pid, getpid());
    return trace;
}

static void assert_event(const struct ntrace *trace, size_t i, const char *name, unsigned phase)
{
    assert_true(i < trace->events.count);
    const struct model_event *event = &trace->events.items[i];
    assert_true(model_is(event->name, name));
    assert_int_equal(event->phase, phase);
    assert_true(i == 0 || event->time_ns >= trace->events.items[i - 1].time_ns);
}

static const struct model_arg *arg_of(const struct ntrace *trace, size_t event, size_t arg,
                                      const char *key, unsigned type)
{
    assert_true(arg < trace->events.items[event].args);
    const struct model_arg *found = &trace->args.items[trace->events.items[event].first_arg + arg];
    assert_true(model_is(found->key, key));
    assert_int_equal(found->type, type);
    return found;
}

static void annotated(int step)
{
    KYMO_STEP_SCOPE("train", step, kymo_text("mode", "fast"));
    KYMO_SCOPE("load", kymo_int("rows", -5), kymo_double("share", 0.25), kymo_text("from", "disk"),
               kymo_uint("bytes", UINT64_MAX), kymo_text("none", ""));
    KYMO_INSTANT("retry");
    KYMO_COUNTER("queue", 3);
    KYMO_COUNTER_DOUBLE("speed", 1.5);
    KYMO_FLOW_BEGIN("request", 77);
    KYMO_FLOW_END("request", 77, kymo_int("status", 200));
}

TEST(every_kind_of_event_arrives_with_all_it_carries)
{
    start(state, 1000);
    kymo_thread_name("tester");
    annotated(41);
    struct ntrace trace = stop();
    assert_int_equal(trace.events.count, 9);
    assert_int_equal(trace.lanes.count, 1);
    assert_true(model_is(trace.lanes.items[0].name, "tester"));
    assert_event(&trace, 0, "train", RING_STEP);
    assert_int_equal(arg_of(&trace, 0, 0, "step_num", RING_INT)->value, 41);
    assert_true(model_is(arg_of(&trace, 0, 1, "mode", RING_TEXT)->text, "fast"));
    assert_event(&trace, 1, "load", RING_BEGIN);
    assert_int_equal(trace.events.items[1].args, 5);
    assert_int_equal((int64_t)arg_of(&trace, 1, 0, "rows", RING_INT)->value, -5);
    double share;
    memcpy(&share, &arg_of(&trace, 1, 1, "share", RING_DOUBLE)->value, sizeof share);
    assert_true(share == 0.25);
    assert_true(model_is(arg_of(&trace, 1, 2, "from", RING_TEXT)->text, "disk"));
    assert_true(arg_of(&trace, 1, 3, "bytes", RING_UINT)->value == UINT64_MAX);
    assert_true(model_is(arg_of(&trace, 1, 4, "none", RING_TEXT)->text, ""));
    assert_event(&trace, 2, "retry", RING_INSTANT);
    assert_event(&trace, 3, "queue", RING_COUNTER);
    assert_int_equal(arg_of(&trace, 3, 0, "", RING_INT)->value, 3);
    assert_event(&trace, 4, "speed", RING_COUNTER);
    assert_event(&trace, 5, "request", RING_FLOW_BEGIN);
    assert_int_equal(trace.events.items[5].id, 77);
    assert_event(&trace, 6, "request", RING_FLOW_END);
    assert_int_equal(trace.events.items[6].id, 77);
    assert_int_equal(arg_of(&trace, 6, 0, "status", RING_INT)->value, 200);
    assert_event(&trace, 7, "load", RING_END);
    assert_event(&trace, 8, "train", RING_END);
    model_free(&trace);
}

static int64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

TEST(a_runtime_records_into_lanes_of_cores_with_times_and_ids_of_its_own)
{
    start(state, 1000);
    struct kymo_lane *lane = kymo_lane_open("nc 3", 3);
    assert_non_null(lane);
    uint32_t type = kymo_type_id("nc_exec_running", KYMO_HARDWARE, 1);
    assert_int_equal(kymo_type_id("nc_exec_running", KYMO_HARDWARE, 1), type);
    int64_t now_ns = monotonic_ns();
    struct kymo_arg args[] = {kymo_int("exec_id", 9), kymo_text("model_name", "gpt")};
    for (int i = 0; i < 2; i++)
        kymo_lane_record(
            lane,
            &(struct kymo_lane_event){.type = type,
                                      .core = i ? 7 : KYMO_NO_CORE,
                                      .kind = i ? KYMO_KIND_END : KYMO_KIND_BEGIN,
                                      .id = 123,
                                      .ticks = kymo_ticks_at(now_ns - 1000000 + i * 5000)},
            args, i ? 0 : 2);
    kymo_lane_close(lane);
    struct ntrace trace = stop();
    assert_int_equal(trace.events.count, 2);
    assert_true(model_is(trace.lanes.items[0].name, "nc 3"));
    assert_int_equal(trace.lanes.items[0].kind, RING_CORE);
    assert_event(&trace, 0, "nc_exec_running", RING_BEGIN);
    assert_int_equal(trace.events.items[0].core, 0);
    assert_int_equal(trace.events.items[0].id, 123);
    assert_int_equal(arg_of(&trace, 0, 0, "exec_id", RING_INT)->value, 9);
    assert_true(model_is(arg_of(&trace, 0, 1, "model_name", RING_TEXT)->text, "gpt"));
    assert_event(&trace, 1, "nc_exec_running", RING_END);
    assert_int_equal(trace.events.items[1].core, 8);
    int64_t apart = trace.events.items[1].time_ns - trace.events.items[0].time_ns;
    assert_in_range(apart, 2000, 8000);
    model_free(&trace);
}

TEST(ranges_are_recorded_whole_on_lanes_of_any_thread)
{
    start(state, 1000);
    struct kymo_lane *shared = kymo_lane_open_thread("unnamed", 77, 1);
    struct kymo_lane *apart = kymo_lane_open_thread("samples", 0, 0);
    assert_true(shared && apart);
    kymo_lane_name(shared, "worker");
    uint32_t type = kymo_type_id_at("f", 2, "a.py", 3);
    assert_true(type != 0);
    assert_int_equal(kymo_type_id_at("f", 2, "a.py", 3), type);
    assert_int_not_equal(kymo_type_id_at("f", 2, "a.py", 4), type);
    assert_int_not_equal(kymo_type_id_at("f", 2, "b.py", 3), type);
    uint64_t begin = kymo_ticks();
    int64_t now_ns = monotonic_ns();
    kymo_range(shared, type, begin,
               begin + kymo_ticks_at(now_ns) - kymo_ticks_at(now_ns - 1000000));
    kymo_range(shared, type, begin, begin);
    kymo_range(apart, type, begin, 0);
    struct kymo_arg args[] = {kymo_int("rows", 4), kymo_text("from", "disk"), kymo_int("last", 5)};
    kymo_named_range("load", begin, 0, args, 3);
    struct ntrace trace = stop();
    kymo_range(shared, type, begin, 0); /* of a capture that is over */
    kymo_lane_close(shared);
    kymo_lane_close(apart);
    assert_int_equal(trace.lanes.count, 3);
    assert_int_equal(trace.events.count, 4);
    const struct model_lane *lanes = trace.lanes.items;
    assert_true(model_is(lanes[0].name, "worker") && lanes[0].thread == 77 && lanes[0].place == 1);
    assert_true(model_is(lanes[1].name, "samples") && lanes[1].thread == 0 && lanes[1].place == 2);
    assert_true(lanes[2].place == 0 && lanes[2].kind == RING_THREAD);
    for (size_t i = 0; i < 4; i++)
        assert_event(&trace, i, i < 3 ? "f" : "load", RING_RANGE);
    assert_in_range(trace.events.items[0].duration_ns, 500000, 2000000);
    assert_int_equal(trace.events.items[1].duration_ns, 0);
    assert_true(trace.events.items[2].duration_ns > 0);
    assert_int_equal(trace.events.items[3].args, 3);
    assert_int_equal(arg_of(&trace, 3, 0, "rows", RING_INT)->value, 4);
    assert_true(model_is(arg_of(&trace, 3, 1, "from", RING_TEXT)->text, "disk"));
    assert_int_equal(arg_of(&trace, 3, 2, "last", RING_INT)->value, 5);
    model_free(&trace);
}

TEST(a_full_ring_keeps_the_newest_events_and_counts_the_others)
{
    start(state, 1000);
    for (int i = 0; i < 2500; i++)
        KYMO_INSTANT("i", kymo_int("i", i));
    struct ntrace trace = stop();
    assert_int_equal(trace.events.count, 1000);
    assert_int_equal(trace.lost, 1500);
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(trace.args.items[i].value, 1500 + i);
    model_free(&trace);
}

TEST(events_of_several_records_are_kept_whole_or_lost_whole)
{
    struct rng rng = {5};
    for (uint64_t size = 1; size < 200; size += 1 + rng_below(&rng, 40)) {
        start(state, size);
        size_t total = rng_below(&rng, 1000);
        for (size_t i = 0; i < total; i++) {
            struct kymo_arg args[KYMO_MOST_ARGS];
            size_t count = i % (KYMO_MOST_ARGS + 1);
            for (size_t n = 0; n < count; n++)
                args[n] = kymo_uint("n", i * 100 + n);
            kymo_named_event("event", KYMO_KIND_INSTANT, i % 3, args, count);
        }
        struct ntrace trace = stop();
        assert_int_equal(trace.recorded, total);
        for (size_t e = 0; e < trace.events.count; e++) {
            const struct model_event *event = &trace.events.items[e];
            size_t i = total - trace.events.count + e;
            assert_int_equal(event->args, i % (KYMO_MOST_ARGS + 1));
            assert_int_equal(event->id, i % 3);
            for (size_t n = 0; n < event->args; n++)
                assert_int_equal(trace.args.items[event->first_arg + n].value, i * 100 + n);
        }
        model_free(&trace);
    }
}

TEST(what_is_above_the_level_is_not_recorded_nor_evaluated)
{
    int evaluated = 0;
    KYMO_INSTANT("off", kymo_int("i", ++evaluated));
    assert_int_equal(evaluated, 0);
    start(state, 1000);
    KYMO_INSTANT_AT(2, "two");
    KYMO_INSTANT_AT(3, "three", kymo_int("i", ++evaluated));
    assert_int_equal(evaluated, 0);
    struct ntrace trace = stop();
    KYMO_INSTANT("after", kymo_int("i", ++evaluated));
    assert_int_equal(evaluated, 0);
    assert_int_equal(trace.events.count, 1);
    assert_event(&trace, 0, "two", RING_INSTANT);
    model_free(&trace);
}

TEST(starting_and_stopping_twice_is_refused)
{
    assert_int_equal(kymo_stop(), -EALREADY);
    start(state, 10);
    assert_int_equal(kymo_start(NULL), -EALREADY);
    struct ntrace trace = stop();
    model_free(&trace);
    struct kymo_options options = KYMO_OPTIONS;
    options.level = 4;
    assert_int_equal(kymo_start(&options), -EINVAL);
}

TEST(captures_of_one_process_lie_side_by_side_and_share_the_numbers_of_names)
{
    char first[4096], second[4096];
    for (int i = 0; i < 2; i++) {
        start(state, 100);
        annotated(i);
        kymo_named_event(i ? "only in the second" : "only in the first", KYMO_KIND_INSTANT, 0, NULL,
                         0);
        kymo_session_dir(i ? second : first, sizeof first);
        struct ntrace trace = stop();
        assert_int_equal(trace.events.count, 10);
        assert_event(&trace, 0, "train", RING_STEP);
        assert_event(&trace, 9, i ? "only in the second" : "only in the first", RING_INSTANT);
        model_free(&trace);
    }
    assert_memory_equal(first, second, strlen(first));
    assert_string_not_equal(first, second);
}

/* ---- Threads ------------------------------------------------------------------------------- */

enum { THREADS = 8, EACH = 20000 };

static void *record_numbers(void *id)
{
    for (int i = 0; i < EACH; i++) {
        if (i % 7 == 0)
            KYMO_INSTANT("n", kymo_int("i", i), kymo_int("thread", (int64_t)(intptr_t)id),
                         kymo_text("odd", i % 2 ? "yes" : "no"));
        else
            KYMO_INSTANT("n", kymo_int("i", i));
    }
    return NULL;
}

/* In each lane the events kept are the last ones, without gaps. */
static void assert_numbers_end_at(const struct ntrace *trace, uint64_t last)
{
    for (size_t i = 0; i < trace->events.count; i++) {
        const struct model_event *event = &trace->events.items[i];
        bool ends = i + 1 == trace->events.count || event[1].lane != event->lane;
        uint64_t number = trace->args.items[event->first_arg].value;
        if (ends)
            assert_int_equal(number, last);
        else
            assert_int_equal(trace->args.items[event[1].first_arg].value, number + 1);
    }
}

TEST(threads_record_at_once_and_every_event_is_kept_or_counted)
{
    for (uint64_t size = 1000; size <= 100000; size *= 100) {
        pthread_t threads[THREADS];
        start(state, size);
        for (intptr_t i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, record_numbers, (void *)i), 0);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        struct ntrace trace = stop();
        assert_int_equal(trace.lanes.count, THREADS);
        assert_int_equal(trace.recorded, (uint64_t)THREADS * EACH);
        assert_true(size < EACH ? trace.lost > 0 : trace.lost == 0);
        assert_numbers_end_at(&trace, EACH - 1);
        model_free(&trace);
    }
}

static atomic_bool quit;

static void *record_until_told(void *counted)
{
    uint64_t count = 0;
    while (!atomic_load(&quit)) {
        KYMO_INSTANT("count", kymo_int("i", (int64_t)count));
        KYMO_INSTANT("count", kymo_int("i", (int64_t)count), kymo_int("again", 1),
                     kymo_int("x", 2));
        count++;
    }
    *(uint64_t *)counted = count;
    return NULL;
}

/* Captures start and stop while threads record, start and end; each capture is complete. */
TEST(captures_begin_and_end_under_threads_that_never_pause)
{
    struct rng rng = {1};
    pthread_t threads[8];
    uint64_t counted[8];
    const char *seconds = getenv("KYMO_SOAK_SECONDS"); /* longer in `make soak` */
    time_t end = time(NULL) + (seconds ? atoi(seconds) : 0);
    atomic_store(&quit, false);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, record_until_told, &counted[i]), 0);
    for (int round = 0; round < 12 || time(NULL) < end; round++) {
        pthread_t short_lived;
        start(state, 1 + rng_below(&rng, 5000));
        assert_int_equal(pthread_create(&short_lived, NULL, record_numbers, NULL), 0);
        usleep((useconds_t)rng_below(&rng, 20000));
        if (round % 2)
            pthread_join(short_lived, NULL);
        struct ntrace trace = stop(); /* checks recorded = kept + lost, in total and by lane */
        for (size_t i = 0; i + 1 < trace.events.count; i++) {
            const struct model_event *event = &trace.events.items[i];
            if (event->lane != event[1].lane)
                continue;
            uint64_t step = trace.args.items[event[1].first_arg].value -
                            trace.args.items[event->first_arg].value;
            assert_in_range(step, 0, 1);
            assert_true(event->time_ns <= event[1].time_ns);
        }
        if (round % 2 == 0)
            pthread_join(short_lived, NULL);
        model_free(&trace);
    }
    atomic_store(&quit, true);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        pthread_join(threads[i], NULL);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(every_kind_of_event_arrives_with_all_it_carries),
        WITH_FOLDER(a_runtime_records_into_lanes_of_cores_with_times_and_ids_of_its_own),
        WITH_FOLDER(ranges_are_recorded_whole_on_lanes_of_any_thread),
        WITH_FOLDER(a_full_ring_keeps_the_newest_events_and_counts_the_others),
        WITH_FOLDER(events_of_several_records_are_kept_whole_or_lost_whole),
        WITH_FOLDER(what_is_above_the_level_is_not_recorded_nor_evaluated),
        WITH_FOLDER(starting_and_stopping_twice_is_refused),
        WITH_FOLDER(captures_of_one_process_lie_side_by_side_and_share_the_numbers_of_names),
        WITH_FOLDER(threads_record_at_once_and_every_event_is_kept_or_counted),
        WITH_FOLDER(captures_begin_and_end_under_threads_that_never_pause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
