/*
 * The safeguard on findings of idle devices: what causes claim beyond the idle time is dropped.
 */
#include "analyze/profile/idle.h"

#include "support.h"

TEST(what_causes_claim_beyond_the_idle_time_is_taken_from_the_costliest)
{
    struct idle idle = {0};
    idle.causes[CAUSE_HOST].cost_ps = 100;
    idle.causes[CAUSE_LAUNCH].cost_ps = 300;
    idle.causes[CAUSE_QUEUED].cost_ps = 20;
    assert_int_equal(idle_limit(&idle, 420), 0);
    assert_int_equal(idle.causes[CAUSE_LAUNCH].cost_ps, 300);
    assert_int_equal(idle_limit(&idle, 130), 290);
    assert_int_equal(idle.causes[CAUSE_LAUNCH].cost_ps, 10);
    assert_int_equal(idle_limit(&idle, 25), 105);
    assert_int_equal(idle.causes[CAUSE_HOST].cost_ps, 0);
    assert_int_equal(idle.causes[CAUSE_LAUNCH].cost_ps, 10);
    assert_int_equal(idle.causes[CAUSE_QUEUED].cost_ps, 15);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_causes_claim_beyond_the_idle_time_is_taken_from_the_costliest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
