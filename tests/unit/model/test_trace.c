/*
 * The trace model: groups are found again, batches report their contents, and the in-memory trace
 * stores batches that arrive in any order.
 */
#include "support.h"

#include "model/model.h"

TEST(a_group_is_made_once_and_found_again)
{
    struct catalog catalog;
    catalog_init(&catalog);
    uint32_t name = catalog_string(&catalog, TEXT("host"));
    uint32_t first = catalog_group(&catalog, TRACK_NONE, TRACK_INSTANCE, 0, name);
    uint32_t process = catalog_group(&catalog, first, TRACK_PROCESS, 7, STRING_NONE);
    assert_int_equal(catalog_group(&catalog, TRACK_NONE, TRACK_INSTANCE, 0, name), first);
    assert_int_equal(catalog_group(&catalog, first, TRACK_PROCESS, 7, STRING_NONE), process);
    assert_int_not_equal(catalog_group(&catalog, first, TRACK_PROCESS, 8, STRING_NONE), process);
    assert_int_not_equal(catalog_group(&catalog, process, TRACK_PROCESS, 7, STRING_NONE), process);
    assert_int_equal(catalog.tracks.count, 4);
    catalog_free(&catalog);
}

TEST(a_lane_finds_its_process_and_inherits_the_role_of_its_source)
{
    struct catalog catalog;
    catalog_init(&catalog);
    uint32_t instance = catalog_group(&catalog, TRACK_NONE, TRACK_INSTANCE, 0, STRING_NONE);
    uint32_t process = catalog_group(&catalog, instance, TRACK_PROCESS, 7, STRING_NONE);
    struct track *source = catalog_add_track(&catalog, process, TRACK_SOURCE);
    source->source = SOURCE_DEVICE;
    uint32_t source_number = (uint32_t)(source - catalog.tracks.items);
    struct track *lane = catalog_add_track(&catalog, source_number, TRACK_LANE);
    uint32_t lane_number = (uint32_t)(lane - catalog.tracks.items);
    assert_int_equal(lane->source, SOURCE_DEVICE);
    assert_int_equal(catalog_ancestor(&catalog, lane_number, TRACK_PROCESS), process);
    assert_int_equal(catalog_ancestor(&catalog, lane_number, TRACK_LANE), lane_number);
    assert_int_equal(catalog_ancestor(&catalog, instance, TRACK_LANE), TRACK_NONE);
    catalog_free(&catalog);
}

TEST(keys_that_are_written_alike_are_one)
{
    struct catalog catalog;
    catalog_init(&catalog);
    uint32_t replaced = catalog_key(&catalog, TEXT("k\xff"));
    assert_int_equal(catalog_key(&catalog, TEXT("k\xfe")), replaced);
    assert_int_equal(catalog_key(&catalog, TEXT("k\xEF\xBF\xBD")), replaced);
    assert_int_not_equal(catalog_key(&catalog, TEXT("k")), replaced);
    catalog_free(&catalog);
}

TEST(numbers_are_read_from_args_of_any_type)
{
    struct arg integer = {.type = ARG_INT, .integer = -5};
    struct arg number = {.type = ARG_DOUBLE, .number = 2.5};
    struct arg huge = {.type = ARG_DOUBLE, .number = 1e300};
    struct arg unsigned_integer = {.type = ARG_UINT, .uinteger = UINT64_MAX};
    struct arg text = {.type = ARG_TEXT};
    assert_int_equal(arg_integer(&integer), -5);
    assert_int_equal(arg_integer(&number), 2);
    assert_int_equal(arg_integer(&huge), 0);
    assert_int_equal(arg_integer(&text), 0);
    assert_true(arg_number(&integer) == -5.0);
    assert_true(arg_number(&unsigned_integer) == 0x1p64);
}

static struct catalog *catalog_with_lane(struct catalog *catalog, uint64_t events)
{
    catalog_init(catalog);
    catalog_add_track(catalog, TRACK_NONE, TRACK_LANE)->events = events;
    return catalog;
}

static void fill(struct batch *batch, uint64_t first, uint32_t count)
{
    batch->first = first;
    batch->count = count;
    for (uint32_t i = 0; i < count; i++) {
        batch->start_ps[i] = (int64_t)(first + i) * 10;
        batch->duration_ps[i] = (int64_t)i;
        batch->type[i] = i % 3;
        batch->arg_end[i] = 0;
    }
}

TEST(batches_that_come_in_any_order_end_up_in_order)
{
    enum { EVENTS = 3 * BATCH_EVENTS };
    struct catalog catalog;
    struct memory_trace trace;
    struct batch batch;
    struct error err;
    catalog_with_lane(&catalog, EVENTS);
    memory_trace_init(&trace);
    batch_init(&batch);
    assert_true(trace.sink.begin(&trace.sink, &catalog, 1, &err));
    static const uint64_t order[] = {2 * BATCH_EVENTS, 0, BATCH_EVENTS};
    for (size_t i = 0; i < 3; i++) {
        fill(&batch, order[i], BATCH_EVENTS);
        assert_true(trace.sink.batch(&trace.sink, &batch, 0, &err));
    }
    size_t wrong = 0;
    for (int64_t i = 0; i < EVENTS; i++)
        wrong += trace.lanes[0].start_ps[i] != i * 10;
    assert_int_equal(wrong, 0);
    assert_null(trace.lanes[0].occurrences);
    assert_true(event_is_timed(&trace.lanes[0], 5));
    batch_free(&batch);
    memory_trace_free(&trace);
    catalog_free(&catalog);
}

TEST(lanes_lie_side_by_side_and_do_not_disturb_each_other)
{
    static const uint64_t counts[] = {5, 0, 3, 7};
    enum { COUNTERS = 2 }; /* this lane, the one after has no values */
    struct catalog catalog;
    struct memory_trace trace;
    struct batch batch;
    struct error err;
    catalog_init(&catalog);
    for (size_t lane = 0; lane < COUNT_OF(counts); lane++) {
        struct track *track = catalog_add_track(&catalog, TRACK_NONE, TRACK_LANE);
        track->events = counts[lane];
        track->lane = lane == COUNTERS ? LANE_COUNTER : LANE_PLAIN;
    }
    memory_trace_init(&trace);
    batch_init(&batch);
    assert_true(trace.sink.begin(&trace.sink, &catalog, 1, &err));
    for (uint32_t lane = COUNT_OF(counts); lane-- > 0;) {
        batch.track = lane;
        batch.has_values = lane == COUNTERS;
        fill(&batch, 0, (uint32_t)counts[lane]);
        for (uint32_t i = 0; i < batch.count; i++) {
            batch.type[i] = lane;
            batch.value[i] = lane + i / 8.0;
        }
        assert_true(trace.sink.batch(&trace.sink, &batch, 0, &err));
    }
    for (uint32_t lane = 0; lane < COUNT_OF(counts); lane++) {
        const struct lane_events *events = &trace.lanes[lane];
        assert_int_equal(events->count, counts[lane]);
        assert_int_equal(events->value != NULL, lane == COUNTERS);
        for (uint32_t i = 0; i < events->count; i++) {
            assert_int_equal(events->start_ps[i], i * 10);
            assert_int_equal(events->type[i], lane);
            assert_true(!events->value || events->value[i] == lane + i / 8.0);
        }
    }
    assert_int_equal(trace.events, 15);
    assert_int_equal(lane_first(&trace, 0), 0);
    assert_int_equal(lane_first(&trace, 3), 8);
    batch_free(&batch);
    memory_trace_free(&trace);
    catalog_free(&catalog);
}

TEST(events_that_sum_up_others_are_told_from_those_with_a_time)
{
    struct catalog catalog;
    struct memory_trace trace;
    struct batch batch;
    struct error err;
    catalog_with_lane(&catalog, 8);
    memory_trace_init(&trace);
    batch_init(&batch);
    assert_true(trace.sink.begin(&trace.sink, &catalog, 1, &err));
    fill(&batch, 0, 4);
    assert_true(trace.sink.batch(&trace.sink, &batch, 0, &err));
    fill(&batch, 4, 4);
    batch_set_occurrences(&batch, 2, 100);
    assert_true(trace.sink.batch(&trace.sink, &batch, 0, &err));
    for (uint64_t i = 0; i < 8; i++)
        assert_int_equal(event_is_timed(&trace.lanes[0], i), i != 6);
    assert_int_equal(trace.lanes[0].occurrences[6], 100);
    batch_free(&batch);
    memory_trace_free(&trace);
    catalog_free(&catalog);
}

TEST(an_event_with_a_negative_duration_ends_where_it_starts)
{
    int64_t start = 50, duration = -7;
    struct lane_events lane = {.count = 1, .start_ps = &start, .duration_ps = &duration};
    assert_int_equal(event_end(&lane, 0), 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_is_made_once_and_found_again),
        cmocka_unit_test(a_lane_finds_its_process_and_inherits_the_role_of_its_source),
        cmocka_unit_test(keys_that_are_written_alike_are_one),
        cmocka_unit_test(numbers_are_read_from_args_of_any_type),
        cmocka_unit_test(batches_that_come_in_any_order_end_up_in_order),
        cmocka_unit_test(lanes_lie_side_by_side_and_do_not_disturb_each_other),
        cmocka_unit_test(events_that_sum_up_others_are_told_from_those_with_a_time),
        cmocka_unit_test(an_event_with_a_negative_duration_ends_where_it_starts),
    };
    return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
