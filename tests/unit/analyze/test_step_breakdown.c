/*
 * What devices do in steps, compared with looking at every picosecond: random work of all kinds,
 * which overlaps, and steps that overlap, touch or are empty.
 */
#include "analyze/profile/step_breakdown.h"

#include "support.h"

#include <stdlib.h>

enum { TIME = 120, MAX_WORK = 40, MAX_STEPS = 9, ROUNDS = 4000 };

struct work {
    enum work_kind kind;
    int64_t start_ps, end_ps;
};

static int work_order(const void *a, const void *b)
{
    const struct work *m = a, *n = b;
    return m->start_ps < n->start_ps ? -1 : m->start_ps > n->start_ps;
}

static int step_order(const void *a, const void *b)
{
    const struct step_breakdown *m = a, *n = b;
    return m->start_ps < n->start_ps ? -1 : m->start_ps > n->start_ps;
}

/* The most important kind of work at a time, WORK_KINDS for none. */
static enum work_kind kind_at(const struct work *work, size_t count, int64_t time)
{
    enum work_kind best = WORK_KINDS;
    for (size_t i = 0; i < count; i++)
        if (work[i].start_ps <= time && time < work[i].end_ps && work[i].kind < best)
            best = work[i].kind;
    return best;
}

static void expect(const struct step_breakdown *step, const struct work *work, size_t count)
{
    static const int parts[] = {
        PART_COMPUTE_16, PART_COMPUTE_32,  PART_COMPUTE_OTHER, PART_TO_HOST,   PART_TO_HOST,
        PART_BETWEEN,    PART_COLLECTIVES, PART_TO_DEVICE,     PART_TO_DEVICE, PART_OTHER};
    int64_t expected[STEP_PARTS] = {0}, idle = 0, infeed = 0, outfeed = 0, sum = 0;
    for (int64_t time = step->start_ps; time < step->end_ps; time++) {
        enum work_kind kind = kind_at(work, count, time);
        expected[kind == WORK_KINDS ? PART_OTHER : parts[kind]]++;
        idle += kind == WORK_KINDS;
        infeed += kind == WORK_INFEED;
        outfeed += kind == WORK_OUTFEED;
    }
    for (size_t i = 0; i < STEP_PARTS; i++) {
        assert_int_equal(step->parts_ps[i], expected[i]);
        sum += step->parts_ps[i];
    }
    assert_int_equal(sum, step->end_ps - step->start_ps);
    assert_int_equal(step->idle_ps, idle);
    assert_int_equal(step->infeed_ps, infeed);
    assert_int_equal(step->outfeed_ps, outfeed);
}

static void parts_are_those_of_every_picosecond(void **state)
{
    (void)state;
    srand(7);
    for (int round = 0; round < ROUNDS; round++) {
        struct work work[MAX_WORK];
        struct step_breakdown steps[MAX_STEPS];
        size_t works = (size_t)(rand() % (MAX_WORK + 1));
        size_t count = 1 + (size_t)(rand() % MAX_STEPS);
        int64_t longest = 1 + rand() % 30;
        for (size_t i = 0; i < works; i++) {
            int64_t start = rand() % TIME;
            work[i] = (struct work){(enum work_kind)(rand() % WORK_KINDS), start,
                                    start + rand() % longest};
        }
        for (size_t i = 0; i < count; i++) {
            int64_t start = rand() % TIME;
            steps[i] = (struct step_breakdown){.start_ps = start, .end_ps = start + rand() % TIME};
        }
        qsort(work, works, sizeof *work, work_order);
        qsort(steps, count, sizeof *steps, step_order);
        struct breakdown_sweep *sweep = breakdown_begin(steps, count);
        for (size_t i = 0; i < works; i++)
            breakdown_work(sweep, work[i].kind, work[i].start_ps, work[i].end_ps);
        breakdown_end(sweep);
        breakdown_finish(steps, count);
        for (size_t i = 0; i < count; i++)
            expect(&steps[i], work, works);
    }
}

static void peaks_of_gpus_are_those_of_their_model(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double bf16, memory;
    } known[] = {{"NVIDIA H100 80GB HBM3", 989.4e12, 3350e9},
                 {"NVIDIA H100 PCIe", 756e12, 2000e9},
                 {"NVIDIA H200", 989.4e12, 4800e9},
                 {"NVIDIA H20", 148e12, 4000e9},
                 {"NVIDIA A100-SXM4-80GB", 312e12, 2039e9},
                 {"NVIDIA A10G", 70e12, 600e9},
                 {"NVIDIA L40S", 362e12, 864e9},
                 {"NVIDIA L4", 121e12, 300e9},
                 {"NVIDIA GeForce RTX 4090", 165.2e12, 1008e9},
                 {"NVIDIA B200", 2250e12, 8000e9},
                 {"AMD Instinct MI300X", 1307.4e12, 5300e9}};
    struct gpu_peaks peaks;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_true(hardware_gpu_named(known[i].name, strlen(known[i].name), &peaks));
        assert_true(peaks.flops[PEAK_BF16] == known[i].bf16);
        assert_true(peaks.memory_bytes_per_s == known[i].memory);
    }
    static const char *const unknown[] = {"NVIDIA A1000", "NVIDIA GeForce RTX 4090 Laptop GPU", "",
                                          "AMD Radeon Graphics", "NVIDIA H2000"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        assert_false(hardware_gpu_named(unknown[i], strlen(unknown[i]), &peaks));
}

/* Data sheets are made of the same figures: cores, clocks and rates per cycle. */
static void peaks_of_gpus_without_a_name_are_worked_out(void **state)
{
    (void)state;
    static const struct {
        struct gpu_facts facts;
        enum peak_type type;
        double tera; /* of the data sheet */
    } known[] = {{{GPU_NVIDIA, 7, 0, 80, 1.53e9}, PEAK_F16, 125},
                 {{GPU_NVIDIA, 8, 0, 108, 1.41e9}, PEAK_BF16, 312},
                 {{GPU_NVIDIA, 9, 0, 132, 1.83e9}, PEAK_BF16, 989.4},
                 {{GPU_NVIDIA, 8, 9, 142, 2.52e9}, PEAK_F8, 733},
                 {{GPU_AMD, 9, 4, 304, 2.1e9}, PEAK_F8, 2614.9}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct gpu_peaks peaks;
        assert_true(hardware_gpu_computed(&known[i].facts, &peaks));
        double ratio = peaks.flops[known[i].type] / (known[i].tera * 1e12);
        assert_true(ratio > 0.99 && ratio < 1.01);
    }
    struct gpu_peaks peaks;
    assert_false(hardware_gpu_computed(&(struct gpu_facts){GPU_AMD, 1, 0, 8, 1e9}, &peaks));
    assert_false(hardware_gpu_computed(&(struct gpu_facts){GPU_NVIDIA, 9, 0, 0, 0}, &peaks));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_those_of_every_picosecond),
        cmocka_unit_test(peaks_of_gpus_are_those_of_their_model),
        cmocka_unit_test(peaks_of_gpus_without_a_name_are_worked_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
