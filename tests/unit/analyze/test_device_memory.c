/*
 * What is in SBUF and PSUM, against a model that keeps each partition's ranges in a plain list. One
 * tracker sees executions that are alike, that have another order, and that did other things.
 */
#include "analyze/device/device.h"

#include "support.h"

#include <stdlib.h>

enum { PROGRAM = 12, MOST_ITEMS = 20, BYTES = 32, LISTS = ENGINE_COUNT + 1, FOUND = 4096 };

struct found {
    int64_t start_ps, end_ps;
    uint32_t begin, end, index;
    uint8_t memory, partition, list;
};
struct found_list {
    struct found items[FOUND];
    size_t count;
};

static struct device_access random_access(struct rng *rng, bool is_write)
{
    static const uint8_t sets[] = {15, 15, 15, 1, 3, 12, 8, 5};
    uint32_t begin = (uint32_t)rng_below(rng, BYTES - 1);
    return (struct device_access){.begin = begin,
                                  .end = begin + 1 + (uint32_t)rng_below(rng, BYTES - begin),
                                  .partitions = sets[rng_below(rng, 8)],
                                  .is_psum = rng_below(rng, 4) == 0,
                                  .is_write = is_write};
}

static struct device_profile *random_program(struct rng *rng)
{
    struct device_profile *profile = calloc(1, sizeof *profile);
    for (unsigned list = 0; list < LISTS; list++) {
        profile->accesses[list] = calloc(PROGRAM, sizeof **profile->accesses);
        for (unsigned i = 0; i < PROGRAM; i++) {
            struct device_accesses *at = &profile->accesses[list][i];
            at->count = (uint8_t)rng_below(rng, 4);
            for (unsigned k = 0; k < at->count; k++)
                at->items[k] = random_access(rng, k + 1 == at->count && rng_below(rng, 4) > 0);
        }
    }
    return profile;
}

static void free_program(struct device_profile *profile)
{
    for (unsigned list = 0; list < LISTS; list++)
        free(profile->accesses[list]);
    free(profile);
}

static void add_item(struct device_execution *execution, unsigned list, uint32_t what,
                     int64_t start_ps, int64_t end_ps)
{
    if (list == ENGINE_COUNT)
        *array_push(&execution->transfers) =
            (struct device_transfer){.start_ps = start_ps, .end_ps = end_ps, .descriptor = what};
    else
        *array_push(&execution->instructions[list]) =
            (struct device_instruction){.start_ps = start_ps, .end_ps = end_ps, .pc = what};
}

/* Starts are close together: many are equal. */
static struct device_execution random_execution(struct rng *rng)
{
    struct device_execution execution = {0};
    for (unsigned list = 0; list < LISTS; list++) {
        int64_t now = 0;
        for (size_t i = rng_below(rng, MOST_ITEMS); i > 0; i--) {
            now += (int64_t)rng_below(rng, 4);
            add_item(&execution, list, (uint32_t)rng_below(rng, PROGRAM), now,
                     now + (int64_t)rng_below(rng, 30));
        }
    }
    return execution;
}

/* Times are shifted, stretched, or changed at random; what was done is the same. */
static void change_times(struct rng *rng, struct device_execution *execution)
{
    int64_t shift = (int64_t)rng_below(rng, 1000), factor = 1 + (int64_t)rng_below(rng, 3);
    int64_t jitter = rng_below(rng, 2) ? 0 : 3;
    for (unsigned list = 0; list < ENGINE_COUNT; list++) {
        struct device_instruction *at;
        array_each (at, &execution->instructions[list]) {
            at->start_ps =
                at->start_ps * factor + shift + (int64_t)rng_below(rng, 1 + (size_t)jitter);
            at->end_ps = at->start_ps + (int64_t)rng_below(rng, 30);
        }
    }
    struct device_transfer *at;
    array_each (at, &execution->transfers) {
        at->start_ps = at->start_ps * factor + shift;
        at->end_ps = at->start_ps + (int64_t)rng_below(rng, 30);
    }
}

static void take(struct found_list *list, const struct device_allocation *at)
{
    assert_int_equal(at->is_transfer, at->engine == ENGINE_COUNT);
    for (unsigned i = 0; i < SAMPLED_PARTITIONS; i++)
        if (at->partitions >> i & 1) {
            assert_true(list->count < FOUND);
            list->items[list->count++] =
                (struct found){at->start_ps, at->end_ps, at->begin,  at->end,
                               at->index,    at->memory, (uint8_t)i, at->engine};
        }
}

/* --- The model --- */

struct work {
    int64_t start_ps, end_ps;
    uint32_t index, what;
    uint8_t list;
};

static size_t list_work(const struct device_execution *execution, struct work *work)
{
    size_t count = 0;
    for (unsigned list = 0; list < ENGINE_COUNT; list++)
        for (uint32_t i = 0; i < execution->instructions[list].count; i++) {
            const struct device_instruction *at = &execution->instructions[list].items[i];
            work[count++] = (struct work){at->start_ps, at->end_ps, i, at->pc, (uint8_t)list};
        }
    for (uint32_t i = 0; i < execution->transfers.count; i++) {
        const struct device_transfer *at = &execution->transfers.items[i];
        work[count++] = (struct work){at->start_ps, at->end_ps, i, at->descriptor, ENGINE_COUNT};
    }
    for (size_t i = 1; i < count; i++) /* those that begin together stay in order */
        for (size_t k = i; k > 0 && work[k].start_ps < work[k - 1].start_ps; k--) {
            struct work other = work[k];
            work[k] = work[k - 1];
            work[k - 1] = other;
        }
    return count;
}

static void model_write(struct found_list *live, struct found_list *out, const struct work *work,
                        const struct device_access *access, uint8_t memory, uint8_t partition)
{
    struct found_list kept = {.count = 0};
    for (size_t i = 0; i < live->count; i++) {
        struct found at = live->items[i], part = at;
        if (at.memory != memory || at.partition != partition || at.end <= access->begin ||
            at.begin >= access->end) {
            kept.items[kept.count++] = at;
            continue;
        }
        part.begin = at.begin > access->begin ? at.begin : access->begin;
        part.end = at.end < access->end ? at.end : access->end;
        out->items[out->count++] = part;
        part = at;
        part.end = access->begin;
        if (at.begin < access->begin)
            kept.items[kept.count++] = part;
        part = at;
        part.begin = access->end;
        if (at.end > access->end)
            kept.items[kept.count++] = part;
    }
    kept.items[kept.count++] =
        (struct found){work->start_ps, work->end_ps, access->begin, access->end,
                       work->index,    memory,       partition,     work->list};
    *live = kept;
}

static void model_run(const struct device_profile *profile,
                      const struct device_execution *execution, struct found_list *out)
{
    struct work work[LISTS * MOST_ITEMS];
    size_t count = list_work(execution, work);
    struct found_list *live = calloc(1, sizeof *live);
    for (size_t i = 0; i < count; i++) {
        const struct device_accesses *accesses = &profile->accesses[work[i].list][work[i].what];
        for (unsigned k = 0; k < accesses->count; k++)
            for (uint8_t partition = 0; partition < SAMPLED_PARTITIONS; partition++) {
                const struct device_access *access = &accesses->items[k];
                uint8_t memory = access->is_psum ? MEMORY_PSUM : MEMORY_SBUF;
                if (!(access->partitions >> partition & 1))
                    continue;
                if (access->is_write)
                    model_write(live, out, &work[i], access, memory, partition);
                for (size_t n = 0; n < live->count && !access->is_write; n++) {
                    struct found *at = &live->items[n];
                    if (at->memory == memory && at->partition == partition &&
                        at->begin < access->end && at->end > access->begin &&
                        work[i].end_ps > at->end_ps)
                        at->end_ps = work[i].end_ps;
                }
            }
    }
    for (size_t i = 0; i < live->count; i++)
        out->items[out->count++] = live->items[i];
    free(live);
}

/* Ranges of a partition that something wrote are told in any order. */
static int by_place(const void *a, const void *b)
{
    const struct found *m = a, *n = b;
    const int64_t keys[][2] = {{m->memory, n->memory},     {m->partition, n->partition},
                               {m->list, n->list},         {m->index, n->index},
                               {m->begin, n->begin},       {m->end, n->end},
                               {m->start_ps, n->start_ps}, {m->end_ps, n->end_ps}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

static bool check(struct device_tracker *tracker, const struct device_profile *profile,
                  const struct device_execution *execution)
{
    struct found_list *found = calloc(1, sizeof *found), *expected = calloc(1, sizeof *expected);
    const struct device_allocations made = device_allocations(tracker, profile, execution);
    for (size_t i = 0; i < made.count; i++)
        take(found, &made.items[i]);
    model_run(profile, execution, expected);
    assert_int_equal(found->count, expected->count);
    qsort(found->items, found->count, sizeof *found->items, by_place);
    qsort(expected->items, expected->count, sizeof *expected->items, by_place);
    for (size_t i = 0; i < found->count; i++)
        assert_int_equal(by_place(&found->items[i], &expected->items[i]), 0);
    free(found);
    free(expected);
    return made.is_same;
}

TEST(memory_holds_what_was_written_until_it_is_read_last)
{
    struct rng rng = {11};
    unsigned used_again = 0, made_anew = 0;
    (void)state;
    for (unsigned round = 0; round < 60; round++) {
        struct device_profile *profile = random_program(&rng);
        struct device_tracker *tracker = device_tracker_create();
        for (unsigned n = 0; n < 3; n++) {
            struct device_execution execution = random_execution(&rng);
            check(tracker, profile, &execution);
            for (unsigned k = 0; k < 4; k++) {
                change_times(&rng, &execution);
                if (check(tracker, profile, &execution))
                    used_again++;
                else
                    made_anew++;
                assert_true(check(tracker, profile, &execution));
            }
            device_execution_free(&execution);
        }
        device_tracker_free(tracker);
        free_program(profile);
    }
    assert_true(used_again > 100 && made_anew > 100);
}

TEST(executions_are_alike_when_they_did_the_same_at_other_times)
{
    struct rng rng = {12};
    (void)state;
    for (unsigned round = 0; round < 50; round++) {
        struct rng again = rng;
        struct device_execution a = random_execution(&rng), b = random_execution(&again);
        add_item(&a, ENGINE_VECTOR, 1, 500, 600);
        add_item(&b, ENGINE_VECTOR, 1, 700, 800);
        add_item(&a, ENGINE_COUNT, 2, 500, 600);
        add_item(&b, ENGINE_COUNT, 2, 700, 800);
        change_times(&rng, &b);
        assert_true(device_executions_alike(&a, &b));
        struct device_transfer *transfer = &b.transfers.items[b.transfers.count - 1];
        transfer->run++;
        assert_false(device_executions_alike(&a, &b));
        transfer->run--;
        b.instructions[ENGINE_VECTOR].items[0].pc++;
        assert_false(device_executions_alike(&a, &b));
        b.instructions[ENGINE_VECTOR].items[0].pc--;
        *array_push(&b.blocks) = (struct device_block){.block = 1};
        assert_false(device_executions_alike(&a, &b));
        device_execution_free(&a);
        device_execution_free(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_holds_what_was_written_until_it_is_read_last),
        cmocka_unit_test(executions_are_alike_when_they_did_the_same_at_other_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
