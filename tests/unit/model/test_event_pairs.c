/*
 * Pairing of starts and stops, compared with a brute-force search.
 */
#include "model/model.h"
#include "support.h"

enum { MOST_MARKS = 60, NO_MARK = -1 };

struct model_mark {
    uint64_t key;
    int64_t time;
    bool is_stop, is_done;
    int partner;
};

/* Which of two marks comes first. */
static bool is_before(const struct model_mark *marks, int a, int b)
{
    return marks[a].time != marks[b].time ? marks[a].time < marks[b].time : a < b;
}

/* The earliest stop not processed yet, then the latest open start of its key before it. */
static void pair_by_force(struct model_mark *marks, int count)
{
    for (int i = 0; i < count; i++)
        marks[i].partner = NO_MARK;
    for (;;) {
        int stop = NO_MARK, start = NO_MARK;
        for (int i = 0; i < count; i++)
            if (marks[i].is_stop && !marks[i].is_done &&
                (stop == NO_MARK || is_before(marks, i, stop)))
                stop = i;
        if (stop == NO_MARK)
            return;
        marks[stop].is_done = true;
        for (int i = 0; i < count; i++)
            if (!marks[i].is_stop && marks[i].partner == NO_MARK &&
                marks[i].key == marks[stop].key && is_before(marks, i, stop) &&
                (start == NO_MARK || is_before(marks, start, i)))
                start = i;
        if (start == NO_MARK)
            continue;
        marks[start].partner = stop;
        marks[stop].partner = start;
    }
}

static void check_pairs(const struct event_pairs *pairs, const struct model_mark *marks, int count)
{
    uint64_t unmatched_starts = 0, unmatched_stops = 0, place;
    for (int i = 0; i < count; i++) {
        bool has_partner = marks[i].partner != NO_MARK;
        if (marks[i].is_stop) {
            unmatched_stops += !has_partner;
            assert_int_equal(event_pairs_is_unmatched_stop(pairs, (uint64_t)i * 7), !has_partner);
            continue;
        }
        unmatched_starts += !has_partner;
        assert_int_equal(event_pairs_stop(pairs, (uint64_t)i * 7, &place), has_partner);
        if (has_partner)
            assert_int_equal(place, marks[i].partner * 7);
    }
    assert_int_equal(pairs->unmatched_starts, unmatched_starts);
    assert_int_equal(pairs->unmatched_stops.count, unmatched_stops);
}

TEST(pairs_are_those_of_a_search_by_force)
{
    struct rng rng = {11};
    for (int round = 0; round < 2000; round++) {
        struct model_mark marks[MOST_MARKS];
        struct event_pairs pairs = {0};
        int count = (int)rng_below(&rng, MOST_MARKS);
        size_t keys = 1 + rng_below(&rng, 8), times = 1 + rng_below(&rng, 40);
        for (int i = 0; i < count; i++) {
            marks[i] = (struct model_mark){.key = rng_below(&rng, keys),
                                           .time = (int64_t)rng_below(&rng, times) - 5,
                                           .is_stop = rng_below(&rng, 2) == 1};
            event_pairs_add(&pairs, marks[i].key, marks[i].time, (uint64_t)i * 7, marks[i].is_stop);
        }
        event_pairs_make(&pairs);
        pair_by_force(marks, count);
        check_pairs(&pairs, marks, count);
        event_pairs_free(&pairs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_those_of_a_search_by_force),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
