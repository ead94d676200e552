/*
 * The pool and the sequencer: every index once, with any number of threads; results in order. The
 * plain, unlocked writes in the tasks are intentional: the thread sanitizer checks that pool and
 * sequencer order them.
 */
#include "base/pool.h"

#include "support.h"

#include <sched.h>
#include <stdatomic.h>

enum { MAX_INDEXES = 20000, MAX_WORKERS = 64 };
static const unsigned thread_counts[] = {1, 2, 3, 8, MAX_WORKERS};

struct visits {
    unsigned char seen[MAX_INDEXES];  /* by index; each is written by one task only */
    atomic_bool working[MAX_WORKERS]; /* by worker */
    size_t latest[MAX_WORKERS];       /* one more than the last index, by worker */
    unsigned workers;
    size_t stop_at; /* the task of this index returns false */
    atomic_size_t started, mistakes;
};

static bool visit(void *context, size_t index, unsigned worker)
{
    struct visits *visits = context;
    atomic_fetch_add(&visits->started, 1);
    if (worker >= visits->workers || atomic_exchange(&visits->working[worker], true)) {
        atomic_fetch_add(&visits->mistakes, 1);
        return false;
    }
    visits->seen[index]++;
    if (index < visits->latest[worker])
        atomic_fetch_add(&visits->mistakes, 1);
    visits->latest[worker] = index + 1;
    atomic_store(&visits->working[worker], false);
    return index != visits->stop_at;
}

static struct visits *visits_make(const struct pool *pool, size_t stop_at)
{
    struct visits *visits = calloc(1, sizeof *visits);
    visits->workers = pool_workers(pool);
    visits->stop_at = stop_at;
    return visits;
}

TEST(every_index_is_visited_once)
{
    static const size_t counts[] = {0, 1, 2, 3, 63, 64, 65, 1000, MAX_INDEXES};
    for (size_t t = 0; t < COUNT_OF(thread_counts); t++) {
        struct pool *pool = pool_create(thread_counts[t]);
        assert_int_equal(pool_workers(pool), thread_counts[t]);
        for (size_t c = 0; c < COUNT_OF(counts); c++) {
            struct visits *visits = visits_make(pool, SIZE_MAX);
            assert_true(pool_run(pool, counts[c], visit, visits));
            assert_int_equal(visits->started, counts[c]);
            assert_int_equal(visits->mistakes, 0);
            for (size_t i = 0; i < MAX_INDEXES; i++)
                if (visits->seen[i] != (i < counts[c]))
                    fail_msg("index %zu of %zu was seen %d times", i, counts[c], visits->seen[i]);
            free(visits);
        }
        pool_destroy(pool);
    }
}

TEST(a_task_that_returns_false_stops_the_run)
{
    for (size_t t = 0; t < COUNT_OF(thread_counts); t++) {
        struct pool *pool = pool_create(thread_counts[t]);
        for (size_t stop_at = 0; stop_at < MAX_INDEXES; stop_at = stop_at * 3 + 1) {
            struct visits *visits = visits_make(pool, stop_at);
            assert_false(pool_run(pool, MAX_INDEXES, visit, visits));
            assert_int_equal(visits->mistakes, 0);
            for (size_t i = 0; i <= stop_at; i++)
                assert_int_equal(visits->seen[i], 1);
            if (thread_counts[t] == 1)
                assert_int_equal(visits->started, stop_at + 1);
            free(visits);
        }
        pool_destroy(pool);
    }
}

static bool refuse(void *context, size_t index, unsigned worker)
{
    (void)index, (void)worker;
    atomic_fetch_add((atomic_size_t *)context, 1);
    return false;
}

TEST(no_worker_starts_a_task_after_its_own_failed)
{
    for (size_t t = 0; t < COUNT_OF(thread_counts); t++) {
        struct pool *pool = pool_create(thread_counts[t]);
        atomic_size_t calls = 0;
        assert_false(pool_run(pool, SIZE_MAX / 2, refuse, &calls));
        assert_in_range(calls, 1, thread_counts[t]);
        pool_destroy(pool);
    }
}

TEST(a_false_from_the_last_task_is_not_missed)
{
    struct pool *pool = pool_create(3);
    for (size_t count = 1; count < 200; count++) {
        struct visits *visits = visits_make(pool, count - 1);
        assert_false(pool_run(pool, count, visit, visits));
        assert_int_equal(visits->started, count);
        free(visits);
    }
    pool_destroy(pool);
}

TEST(a_pool_runs_again_after_runs_of_every_kind)
{
    struct pool *pool = pool_create(4);
    struct rng rng = {13};
    for (unsigned round = 0; round < 2000; round++) {
        size_t count = rng_below(&rng, 6);
        size_t stop_at = rng_below(&rng, 12);
        struct visits *visits = visits_make(pool, stop_at);
        assert_int_equal(pool_run(pool, count, visit, visits), stop_at >= count);
        assert_int_equal(visits->mistakes, 0);
        if (stop_at >= count)
            assert_int_equal(visits->started, count);
        free(visits);
    }
    pool_destroy(pool);
}

struct identity {
    pthread_t caller;
    atomic_size_t mismatches; /* calls whose worker number and thread do not match */
};

static bool identify(void *context, size_t index, unsigned worker)
{
    (void)index;
    struct identity *identity = context;
    bool is_caller = pthread_equal(pthread_self(), identity->caller);
    if (is_caller != (worker == 0))
        atomic_fetch_add(&identity->mismatches, 1);
    return true;
}

TEST(worker_zero_is_the_caller_and_nobody_else)
{
    for (size_t t = 0; t < COUNT_OF(thread_counts); t++) {
        struct pool *pool = pool_create(thread_counts[t]);
        struct identity identity = {.caller = pthread_self()};
        assert_true(pool_run(pool, 1, identify, &identity));
        assert_true(pool_run(pool, 1000, identify, &identity));
        assert_int_equal(identity.mismatches, 0);
        pool_destroy(pool);
    }
}

static bool meet(void *context, size_t index, unsigned worker)
{
    (void)index, (void)worker;
    pthread_barrier_wait(context);
    return true;
}

/* Each task waits for all others, so the run ends only if every worker has one. */
TEST(all_workers_work_at_the_same_time)
{
    for (size_t t = 0; t < COUNT_OF(thread_counts); t++) {
        struct pool *pool = pool_create(thread_counts[t]);
        pthread_barrier_t barrier;
        pthread_barrier_init(&barrier, NULL, thread_counts[t]);
        alarm(60);
        for (unsigned round = 0; round < 20; round++)
            assert_true(pool_run(pool, thread_counts[t], meet, &barrier));
        alarm(0);
        pthread_barrier_destroy(&barrier);
        pool_destroy(pool);
    }
}

TEST(zero_threads_mean_one_for_each_usable_core)
{
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    struct pool *pool = pool_create(0);
    assert_int_equal(pool_workers(pool), CPU_COUNT(&all));
    pool_destroy(pool);

    CPU_ZERO(&one);
    for (size_t core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; core++)
        if (CPU_ISSET(core, &all))
            CPU_SET(core, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    pool = pool_create(0);
    unsigned workers = pool_workers(pool);
    pool_destroy(pool);
    sched_setaffinity(0, sizeof all, &all);
    assert_int_equal(workers, 1);
}

TEST(pools_that_never_ran_are_destroyed_at_once)
{
    pool_destroy(NULL);
    for (unsigned i = 0; i < 50; i++)
        pool_destroy(pool_create(8));
}

struct line {
    struct sequencer gate;
    size_t order[MAX_INDEXES]; /* written in order, guarded only by the sequencer */
    size_t count;
    size_t cancel_at;
    atomic_size_t turned_away;
};

static bool stand_in_line(void *context, size_t index, unsigned worker)
{
    (void)worker;
    struct line *line = context;
    if (index % 7 == 0)
        sched_yield();
    if (!sequencer_wait(&line->gate, index)) {
        atomic_fetch_add(&line->turned_away, 1);
        return false;
    }
    if (index == line->cancel_at) {
        sequencer_cancel(&line->gate);
        return false;
    }
    line->order[line->count++] = index;
    sequencer_pass(&line->gate);
    return true;
}

TEST(the_sequencer_puts_parallel_results_in_order)
{
    for (size_t t = 0; t < COUNT_OF(thread_counts); t++) {
        struct pool *pool = pool_create(thread_counts[t]);
        struct line *line = calloc(1, sizeof *line);
        size_t count = thread_counts[t] > 8 ? 2000 : MAX_INDEXES;
        line->cancel_at = SIZE_MAX;
        sequencer_init(&line->gate);
        assert_true(pool_run(pool, count, stand_in_line, line));
        assert_int_equal(line->count, count);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(line->order[i], i);
        sequencer_destroy(&line->gate);
        free(line);
        pool_destroy(pool);
    }
}

TEST(a_canceled_sequencer_turns_all_later_ones_away)
{
    for (size_t t = 0; t < COUNT_OF(thread_counts); t++) {
        struct pool *pool = pool_create(thread_counts[t]);
        for (size_t cancel_at = 0; cancel_at < 300; cancel_at += 29) {
            struct line *line = calloc(1, sizeof *line);
            line->cancel_at = cancel_at;
            sequencer_init(&line->gate);
            assert_false(pool_run(pool, 1000, stand_in_line, line));
            assert_int_equal(line->count, cancel_at);
            assert_true(line->turned_away < thread_counts[t]);
            assert_false(sequencer_wait(&line->gate, 0));
            assert_false(sequencer_wait(&line->gate, UINT64_MAX));
            sequencer_destroy(&line->gate);
            free(line);
        }
        pool_destroy(pool);
    }
}

TEST(whoever_comes_after_its_turn_need_not_wait)
{
    struct sequencer gate;
    sequencer_init(&gate);
    assert_true(sequencer_wait(&gate, 0));
    sequencer_pass(&gate);
    sequencer_pass(&gate);
    assert_true(sequencer_wait(&gate, 0));
    assert_true(sequencer_wait(&gate, 2));
    sequencer_destroy(&gate);
}

struct waiter {
    struct sequencer *gate;
    bool passed;
};

static void *wait_for_three(void *context)
{
    struct waiter *waiter = context;
    waiter->passed = sequencer_wait(waiter->gate, 3);
    return NULL;
}

static bool pass_then_cancel(unsigned passes)
{
    struct sequencer gate;
    sequencer_init(&gate);
    struct waiter waiter = {&gate, false};
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_three, &waiter);
    for (unsigned i = 0; i < passes; i++)
        sequencer_pass(&gate);
    if (passes < 3)
        sequencer_cancel(&gate);
    pthread_join(thread, NULL);
    sequencer_destroy(&gate);
    return waiter.passed;
}

TEST(a_waiter_passes_when_all_before_it_have_and_not_when_canceled)
{
    for (unsigned round = 0; round < 50; round++) {
        assert_true(pass_then_cancel(3));
        assert_false(pass_then_cancel(2));
        assert_false(pass_then_cancel(0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_index_is_visited_once),
        cmocka_unit_test(a_task_that_returns_false_stops_the_run),
        cmocka_unit_test(no_worker_starts_a_task_after_its_own_failed),
        cmocka_unit_test(a_false_from_the_last_task_is_not_missed),
        cmocka_unit_test(a_pool_runs_again_after_runs_of_every_kind),
        cmocka_unit_test(worker_zero_is_the_caller_and_nobody_else),
        cmocka_unit_test(all_workers_work_at_the_same_time),
        cmocka_unit_test(zero_threads_mean_one_for_each_usable_core),
        cmocka_unit_test(pools_that_never_ran_are_destroyed_at_once),
        cmocka_unit_test(the_sequencer_puts_parallel_results_in_order),
        cmocka_unit_test(a_canceled_sequencer_turns_all_later_ones_away),
        cmocka_unit_test(whoever_comes_after_its_turn_need_not_wait),
        cmocka_unit_test(a_waiter_passes_when_all_before_it_have_and_not_when_canceled),
    };
    return cmocka_run_group_tests_name("pool and sequencer", tests, NULL, NULL);
}
