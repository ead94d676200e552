/*
 * Row assignment of the timeline, compared with the definition applied to all pairs of events; and
 * its speed with many rows.
 */
#include "store/timeline/rows.h"
#include "timeline_model.h"

#include <time.h>

struct placement {
    struct trace trace;
    struct placed *events; /* in order, with the row found */
    size_t count, rows;
};

static struct placement place(struct trace trace)
{
    struct placement placement = {.trace = trace, .count = trace.ordered};
    struct row_finder finder = {0};
    placement.events = placed_in_order(&trace, NULL);
    for (size_t i = 0; i < placement.count; i++) {
        struct placed *event = &placement.events[i];
        event->row = row_finder_assign(&finder, event->start_ps, event->end_ps);
        check(event->row <= placement.rows, "rows without gaps");
        placement.rows += event->row == placement.rows;
    }
    assert_int_equal(finder.ends.count, placement.rows);
    row_finder_free(&finder);
    return placement;
}

static void placement_free(struct placement *placement)
{
    trace_free(&placement->trace);
    free(placement->events);
}

static void check_pairs(const struct placement *placement)
{
    for (size_t i = 0; i < placement->count; i++)
        for (size_t k = 0; k < i; k++) {
            const struct placed *before = &placement->events[k], *event = &placement->events[i];
            if (before->row == event->row)
                check(before->end_ps <= event->start_ps, "no two events of a row overlap");
            if (contains(before, event))
                check(before->row < event->row, "an event is below all that contain it");
        }
}

static void check_against_rule(const struct placement *placement)
{
    struct placed *expected = placed_in_order(&placement->trace, NULL);
    place_by_rule(expected, placement->count);
    for (size_t i = 0; i < placement->count; i++)
        check(expected[i].row == placement->events[i].row, "the first row that the rule allows");
    place_by_ends(expected, placement->count);
    for (size_t i = 0; i < placement->count; i++)
        check(expected[i].row == placement->events[i].row, "the same by the ends of rows");
    free(expected);
}

TEST(events_of_every_shape_are_put_where_the_rule_says)
{
    size_t max_rows[SHAPES] = {0};
    for (uint64_t seed = 1; seed <= 120; seed++)
        for (enum shape shape = 0; shape < SHAPES; shape++) {
            struct rng rng = {seed * 100 + shape};
            trial.shape = shape_names[shape];
            trial.seed = seed;
            size_t count = 1 + rng_below(&rng, seed % 20 == 0 ? 600 : 60);
            struct placement placement = place(trace_make(&rng, shape, count));
            check_pairs(&placement);
            check_against_rule(&placement);
            if (placement.rows > max_rows[shape])
                max_rows[shape] = placement.rows;
            placement_free(&placement);
        }
    assert_int_equal(max_rows[DENSE], 1);
    assert_true(max_rows[MANY_ROWS] > 150); /* the trees over rows were grown more than once */
    assert_true(max_rows[NESTED] > 40);
}

/* For nested events, and only for those, the row is the number of enclosing events. */
TEST(the_row_of_nested_events_is_their_depth)
{
    static const enum shape shapes[] = {NESTED, SEQUENTIAL, INSTANTS, EQUAL_INTERVALS, DENSE};
    size_t nested = 0, deepest = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct rng rng = {seed};
        enum shape shape = shapes[seed % COUNT_OF(shapes)];
        trial.shape = shape_names[shape];
        trial.seed = seed;
        struct placement placement = place(trace_make(&rng, shape, 1 + rng_below(&rng, 200)));
        bool nests = true;
        for (size_t i = 0; i < placement.count; i++)
            for (size_t k = 0; k < i; k++)
                nests &= placement.events[k].end_ps <= placement.events[i].start_ps ||
                         contains(&placement.events[k], &placement.events[i]);
        for (size_t i = 0; nests && i < placement.count; i++) {
            size_t depth = 0;
            for (size_t k = 0; k < i; k++)
                depth += contains(&placement.events[k], &placement.events[i]);
            check(placement.events[i].row == depth, "the row is the depth");
            deepest = depth > deepest ? depth : deepest;
        }
        nested += nests;
        placement_free(&placement);
    }
    assert_true(nested > 200);
    assert_true(deepest > 40);
}

TEST(an_instant_at_the_end_of_an_event_is_not_inside_it)
{
    struct row_finder finder = {0};
    assert_int_equal(row_finder_assign(&finder, 0, 10), 0);
    assert_int_equal(row_finder_assign(&finder, 0, 0), 1);
    assert_int_equal(row_finder_assign(&finder, 5, 5), 1);
    assert_int_equal(row_finder_assign(&finder, 5, 5), 1);
    assert_int_equal(row_finder_assign(&finder, 10, 20), 0);
    assert_int_equal(row_finder_assign(&finder, 10, 10), 1);
    assert_int_equal(row_finder_assign(&finder, 20, 20), 0);
    row_finder_free(&finder);
}

/* The same with enough rows for trees, at INT64_MAX. */
TEST(the_end_of_time_is_no_different)
{
    struct row_finder finder = {0};
    for (uint32_t i = 0; i < 40; i++)
        assert_int_equal(row_finder_assign(&finder, i, INT64_MAX), i);
    assert_int_equal(row_finder_assign(&finder, INT64_MAX, INT64_MAX), 0);
    row_finder_free(&finder);
}

TEST(the_beginning_of_time_is_no_different)
{
    struct row_finder finder = {0};
    for (uint32_t i = 0; i < 40; i++)
        assert_int_equal(row_finder_assign(&finder, INT64_MIN, INT64_MIN + 100 - i), i);
    assert_int_equal(row_finder_assign(&finder, INT64_MIN, INT64_MIN), 40);
    assert_int_equal(row_finder_assign(&finder, INT64_MIN, INT64_MIN), 40);
    assert_int_equal(row_finder_assign(&finder, INT64_MIN + 61, INT64_MIN + 62), 39);
    row_finder_free(&finder);
}

/* Hundreds of thousands that all overlap: scanning all rows for each would take minutes. */
TEST(as_many_rows_as_events_are_found_quickly)
{
    enum { EVENTS = 300000 };
    clock_t started = clock();
    struct row_finder inwards = {0}, onwards = {0};
    for (uint32_t i = 0; i < EVENTS; i++) { /* each inside the previous one */
        if (row_finder_assign(&inwards, i, 3 * EVENTS - i) != i)
            fail_msg("event %u is not below all before", i);
        if (row_finder_assign(&onwards, i, EVENTS + i) != i) /* each longer than the previous one */
            fail_msg("event %u is not in a row of its own", i);
    }
    for (uint32_t i = 0; i < EVENTS; i++) /* the rows become free one by one */
        if (row_finder_assign(&onwards, EVENTS + i, 2 * EVENTS + i) != i)
            fail_msg("row %u is not found to be free", i);
    row_finder_free(&inwards);
    row_finder_free(&onwards);
    assert_true((double)(clock() - started) / CLOCKS_PER_SEC < 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_of_every_shape_are_put_where_the_rule_says),
        cmocka_unit_test(the_row_of_nested_events_is_their_depth),
        cmocka_unit_test(an_instant_at_the_end_of_an_event_is_not_inside_it),
        cmocka_unit_test(the_end_of_time_is_no_different),
        cmocka_unit_test(the_beginning_of_time_is_no_different),
        cmocka_unit_test(as_many_rows_as_events_are_found_quickly),
    };
    return cmocka_run_group_tests_name("rows of the timeline", tests, NULL, NULL);
}
