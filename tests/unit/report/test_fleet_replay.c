/*
 * Replays of steps: as measured without a change; with one, what a simulation of the changed step
 * says.
 */
#include "report/fleet/replay.h"

#include "support.h"

#include <math.h>

enum { LANES = 12, ROUNDS = 9, MAX_EVENTS = LANES * ROUNDS };

/* A step in which lanes meet in groups that differ from round to round. */
struct model {
    double work[LANES][ROUNDS + 1];
    double transfer[ROUNDS][LANES]; /* by group */
    uint32_t group[ROUNDS][LANES];
};

static struct rng rng;

static double uniform(void)
{
    return (double)(rng_u64(&rng) >> 11) * 0x1p-53;
}

static void choose(struct model *model, uint64_t seed)
{
    rng.state = seed;
    for (int lane = 0; lane < LANES; lane++)
        for (int round = 0; round <= ROUNDS; round++)
            model->work[lane][round] = 1e6 * (1 + uniform());
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t groups = 1 + (uint32_t)(uniform() * 4);
        for (uint32_t lane = 0; lane < LANES; lane++) {
            model->transfer[round][lane] = 1e5 * (1 + uniform());
            model->group[round][lane] = (uint32_t)(uniform() * groups);
        }
    }
}

struct measured {
    struct replay_lane lanes[LANES];
    struct replay_event events[MAX_EVENTS];
    double length;
};

/* Runs the model round by round: the brute force that replays are held against. */
static void simulate(const struct model *model, struct measured *measured)
{
    double now[LANES];
    size_t count = 0;
    for (uint32_t lane = 0; lane < LANES; lane++)
        measured->lanes[lane].start_ns = now[lane] = 5e9;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        double last[LANES] = {0};
        for (uint32_t lane = 0; lane < LANES; lane++) {
            now[lane] += model->work[lane][round];
            uint32_t group = model->group[round][lane];
            last[group] = fmax(last[group], now[lane]);
        }
        for (uint32_t lane = 0; lane < LANES; lane++) {
            uint32_t group = model->group[round][lane];
            double end = last[group] + model->transfer[round][group];
            measured->events[count++] =
                (struct replay_event){lane, round * LANES + group, now[lane], end};
            now[lane] = end;
        }
    }
    measured->length = 0;
    for (uint32_t lane = 0; lane < LANES; lane++) {
        now[lane] += model->work[lane][ROUNDS];
        measured->lanes[lane].end_ns = now[lane];
        measured->length = fmax(measured->length, now[lane] - 5e9);
    }
}

static struct replay *replay_of(const struct measured *measured)
{
    struct replay *replay =
        replay_create(measured->lanes, LANES, measured->events, MAX_EVENTS, (size_t)ROUNDS * LANES);
    assert_non_null(replay);
    return replay;
}

TEST(a_replay_without_a_change_is_the_measured_step)
{
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct model model;
        struct measured measured;
        choose(&model, seed);
        simulate(&model, &measured);
        struct replay *replay = replay_of(&measured);
        assert_true(fabs(replay_measured_ns(replay) - measured.length) < 1);
        assert_true(fabs(replay_unchanged_ns(replay) - measured.length) < 1);
        replay_free(replay);
    }
}

TEST(a_replay_with_changes_is_the_step_simulated_with_them)
{
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct model model;
        struct measured measured, changed;
        choose(&model, seed);
        simulate(&model, &measured);
        struct replay *replay = replay_of(&measured);
        double lanes[LANES], matches[ROUNDS * LANES];
        for (uint32_t lane = 0; lane < LANES; lane++) {
            lanes[lane] = uniform();
            for (uint32_t round = 0; round <= ROUNDS; round++)
                model.work[lane][round] *= lanes[lane];
        }
        for (uint32_t match = 0; match < ROUNDS * LANES; match++) {
            matches[match] = 2 * uniform();
            model.transfer[match / LANES][match % LANES] *= matches[match];
        }
        simulate(&model, &changed);
        assert_true(fabs(replay_changed_ns(replay, lanes, matches) - changed.length) < 1);
        assert_true(fabs(replay_changed_ns(replay, NULL, NULL) - measured.length) < 1);
        replay_free(replay);
    }
}

TEST(the_critical_path_is_gapless_and_as_long_as_the_step)
{
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct model model;
        struct measured measured;
        choose(&model, seed);
        simulate(&model, &measured);
        struct replay *replay = replay_of(&measured);
        replay_parts parts = {0};
        replay_critical_path(replay, &parts);
        assert_true(parts.count > 0);
        for (size_t i = 1; i < parts.count; i++)
            assert_true(fabs(parts.items[i].start_ns - parts.items[i - 1].end_ns) < 1);
        assert_true(fabs(parts.items[0].start_ns - 5e9) < 1);
        assert_true(fabs(parts.items[parts.count - 1].end_ns - 5e9 - measured.length) < 1);
        array_free(&parts);
        replay_free(replay);
    }
}

/* One lane starts a transfer, works on beside it, and needs it at the end. */
TEST(collectives_beside_work_do_not_stop_it)
{
    const struct replay_lane lanes[] = {{0, 100}, {0, 100}};
    const struct replay_event events[] = {
        {0, 0, 10, 60}, {1, 0, 10, 60}, {0, 1, 30, 90}, {1, 1, 30, 90}};
    struct replay *replay = replay_create(lanes, 2, events, 4, 2);
    const double faster[] = {0.1, 1};
    assert_true(fabs(replay_unchanged_ns(replay) - 100) < 1e-9);
    assert_true(fabs(replay_changed_ns(replay, NULL, faster) - 100) < 1e-9);
    replay_free(replay);
}

/* Each of two lanes has the other's first collective as its second. */
TEST(a_step_that_contradicts_itself_is_refused)
{
    const struct replay_lane lanes[] = {{0, 100}, {0, 100}};
    const struct replay_event events[] = {
        {0, 0, 10, 20}, {0, 1, 30, 40}, {1, 1, 10, 20}, {1, 0, 30, 40}};
    assert_null(replay_create(lanes, 2, events, 4, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_replay_without_a_change_is_the_measured_step),
        cmocka_unit_test(a_replay_with_changes_is_the_step_simulated_with_them),
        cmocka_unit_test(the_critical_path_is_gapless_and_as_long_as_the_step),
        cmocka_unit_test(collectives_beside_work_do_not_stop_it),
        cmocka_unit_test(a_step_that_contradicts_itself_is_refused),
    };
    return cmocka_run_group_tests_name("fleet_replay", tests, NULL, NULL);
}
