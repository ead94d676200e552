/*
 * Findings of device profiles and collectives of several ranks: each rule on a trace in which it
 * must speak, with a gain worked out by hand, and on one in which it must not.
 */
#include "device_trace.h"

#include <math.h>

static const struct finding *found(const struct device_analysis *analysis, const char *rule)
{
    const struct finding *finding;
    array_each (finding, &analysis->findings)
        if (strcmp(finding->rule, rule) == 0)
            return finding;
    return NULL;
}

static void analyze_trace(struct device_analysis *analysis, const struct trace *trace,
                          const char *nki_source_root)
{
    struct device_prepared prepared;
    device_analysis_begin(analysis, &trace->profile);
    device_prepare(&prepared, &trace->profile, &trace->execution);
    device_analysis_add(analysis, &trace->execution, &prepared);
    device_prepared_free(&prepared);
    device_analysis_end(analysis);
    device_analysis_find(analysis, nki_source_root);
}

/* The rule speaks, and what it could gain; 0: it is silent. Frees the trace. */
static void expect_gain(struct trace *trace, const char *rule, int64_t gain_ns)
{
    struct device_analysis analysis;
    analyze_trace(&analysis, trace, "kernels");
    const struct finding *finding = found(&analysis, rule);
    if (gain_ns == 0) {
        assert_null(finding);
    } else {
        assert_non_null(finding);
        assert_int_equal((finding->cost_ps + 500) / 1000, gain_ns);
        assert_true(fabs(finding->share -
                         (double)finding->cost_ps / (double)trace->execution.end_ps) < 1e-9);
        assert_true(finding->text[0] && finding->advice[0] && finding->title[0]);
        assert_memory_equal(finding->sql, "SELECT ", 7);
    }
    for (size_t i = 1; i < analysis.findings.count; i++)
        assert_true(analysis.findings.items[i - 1].cost_ps >= analysis.findings.items[i].cost_ps);
    device_analysis_free(&analysis);
    trace_free(trace);
}

/* Transfers one after the other on one DMA engine, 1 us each: the critical path. */
static struct trace *transfers(enum variable_kind kind, uint64_t size, unsigned count,
                               uint64_t bytes)
{
    struct trace *trace = trace_new(2, 1000 * count);
    uint32_t variable = model_variable(trace->model, kind, DTYPE_UINT8, size);
    for (unsigned i = 0; i < count; i++) {
        trace_descriptor(trace, variable, true, bytes, DMA_TYPE_DATA);
        trace_block(trace, i, 1, bytes, 1000 * i, 1000 * i + 1000);
        trace_transfer(trace, i, i, 0, 1000 * i, 1000 * i + 1000);
    }
    return trace;
}

TEST(a_tensor_that_is_loaded_three_times_is_named)
{
    struct trace *trace = transfers(VARIABLE_WEIGHT, 4096, 3, 4096);
    struct device_analysis analysis;
    analyze_trace(&analysis, trace, NULL);
    const struct finding *finding = found(&analysis, "tensor-reloaded");
    assert_non_null(finding);
    assert_non_null(strstr(finding->text, "v0"));
    assert_int_equal(finding->evidence_count, 2);
    assert_int_equal(finding->evidence[0].to_ps, 1000000);
    assert_int_equal(finding->evidence[1].from_ps, 2000000);
    assert_int_equal(finding->evidence[1].item.kind, ITEM_BLOCK);
    assert_int_equal(finding->evidence[1].item.index, 2);
    device_analysis_free(&analysis);
    trace_free(trace);
    expect_gain(transfers(VARIABLE_WEIGHT, 4096, 3, 4096), "tensor-reloaded", 2000);
    expect_gain(transfers(VARIABLE_WEIGHT, 4096, 2, 4096), "tensor-reloaded", 0);
}

TEST(bytes_that_go_to_several_partitions_are_loaded_once)
{
    struct trace *trace = transfers(VARIABLE_WEIGHT, 64, 1, 8192);
    struct dma_end *from = &trace->model->descriptors[0].from;
    from->size[0] = 128;
    from->step[0] = 0;
    from->size[4] = 64;
    expect_gain(trace, "tensor-reloaded", 0);
    /* The same, cut into four descriptors of one block. */
    trace = transfers(VARIABLE_WEIGHT, 64, 4, 64);
    trace->model->blocks[0].count = 4;
    for (unsigned i = 0; i < 4; i++)
        trace->execution.transfers.items[i].run = 0;
    trace->execution.blocks.count = 1;
    expect_gain(trace, "tensor-reloaded", 0);
}

/* 1000 bytes at 17 bytes/ns are 59 ns of 1000. */
TEST(small_transfers_lose_what_they_take_beyond_the_rate)
{
    expect_gain(transfers(VARIABLE_INPUT, 100000, 4, 1000), "small-dma", 4 * 1000 - 4 * 59 + 1);
    expect_gain(transfers(VARIABLE_INPUT, 100000, 4, 2048), "small-dma", 0);
    expect_gain(transfers(VARIABLE_INPUT, 100000, 4, 5), "small-dma", 3999);
    expect_gain(transfers(VARIABLE_INPUT, 100000, 4, 4), "small-dma", 0); /* signals */
}

TEST(spills_count_above_a_quarter_of_the_reads)
{
    expect_gain(transfers(VARIABLE_VIRTUAL, 100000, 4, 4096), "spills", 4000);
    struct trace *trace = transfers(VARIABLE_VIRTUAL, 100000, 4, 4096);
    for (unsigned i = 1; i < 4; i++)
        trace->descriptors[i].is_spill_reload = false; /* a quarter is left */
    expect_gain(trace, "spills", 0);
}

/* Matmuls of 1 us, one after the other. */
static struct trace *matmuls(unsigned count, uint64_t model_flops, uint64_t flops)
{
    struct trace *trace = trace_new(2, 1000 * count);
    trace_origin(trace, "", "dot", model_flops);
    for (unsigned i = 0; i < count; i++) {
        struct instruction_facts *facts =
            trace_run(trace, ENGINE_TENSOR, OP_MATMUL, 1000 * i, 1000 * i + 1000);
        facts->flops = facts->adjusted_flops = flops;
    }
    return trace;
}

/* In 4 us the engine could do 4e-6 * 9.17504e13 = 367,001,600. */
TEST(model_flops_below_half_of_what_was_possible_are_told)
{
    expect_gain(matmuls(4, 91750400, 1), "low-model-flops", 3000); /* a quarter is used */
    expect_gain(matmuls(4, 190000000, 1), "low-model-flops", 0);
    expect_gain(matmuls(4, 0, 1), "low-model-flops", 0); /* not known */
}

TEST(transposes_above_a_tenth_are_told)
{
    struct trace *trace = matmuls(4, 0, 1000);
    trace->model->code[ENGINE_TENSOR][2].opcode = OP_TRANSPOSE;
    trace->facts[ENGINE_TENSOR][2].is_transpose = true;
    expect_gain(trace, "transposes", 1000);
    trace = matmuls(4, 0, 1000);
    trace->model->code[ENGINE_TENSOR][2].opcode = OP_TRANSPOSE;
    trace->facts[ENGINE_TENSOR][2].is_transpose = true;
    trace->facts[ENGINE_TENSOR][2].flops = 330; /* of 3,330 */
    expect_gain(trace, "transposes", 0);
}

TEST(throttling_costs_what_matmuls_took_longer)
{
    struct trace *trace = matmuls(4, 0, 1000);
    *array_push(&trace->execution.throttles) =
        (struct device_throttle){.start_ps = 500000, .end_ps = 2500000, .rate = 512};
    expect_gain(trace, "throttled", 1000); /* half of 2 us */
    expect_gain(matmuls(4, 0, 1000), "throttled", 0);
}

/* Frees the trace. */
static device_warnings warnings_of(struct trace *trace)
{
    device_warnings found = {0};
    device_warnings_find(&trace->profile, &trace->execution, &found);
    for (size_t i = 0; i < found.count; i++) {
        char text[512];
        size_t size =
            device_warning_text(&trace->model->program, &found.items[i], text, sizeof text);
        assert_true(size == strlen(text) && size > 40);
        assert_true(device_warning_title((enum device_warning_kind)found.items[i].kind)[0]);
        if (found.items[i].kind == WARNING_RELOADED)
            assert_memory_equal(text, "v0 is loaded to SBUF 3.0 times", 30);
    }
    trace_free(trace);
    return found;
}

static void expect_warning(const struct device_warning *warning, enum device_warning_kind kind,
                           int64_t from_ns, int64_t to_ns, uint64_t count)
{
    assert_int_equal(warning->kind, kind);
    assert_int_equal(warning->from_ps, from_ns * 1000);
    assert_int_equal(warning->to_ps, to_ns * 1000);
    assert_int_equal(warning->count, count);
}

TEST(warnings_span_the_loads_of_a_tensor)
{
    device_warnings found = warnings_of(transfers(VARIABLE_WEIGHT, 4096, 3, 4096));
    assert_int_equal(found.count, 1);
    expect_warning(&found.items[0], WARNING_RELOADED, 0, 3000, 3);
    assert_int_equal(found.items[0].bytes, 3 * 4096);
    array_free(&found);
    assert_int_equal(warnings_of(transfers(VARIABLE_WEIGHT, 4096, 2, 4096)).count, 0);
}

/* 100 us: a gap of 1 us is within an area, one of more than that is not. */
TEST(warnings_span_small_packets_that_are_close)
{
    struct trace *trace = transfers(VARIABLE_INPUT, 1000000, 17, 1000);
    trace->execution.end_ps = 100000000;
    struct device_transfer *items = trace->execution.transfers.items;
    for (unsigned i = 4; i < 17; i++) {
        int64_t later_ps = i < 8 ? 1000000 : 2000001;
        items[i].start_ps += later_ps;
        items[i].end_ps += later_ps;
    }
    device_warnings found = warnings_of(trace);
    assert_int_equal(found.count, 2);
    expect_warning(&found.items[0], WARNING_SMALL_DMA, 0, 9000, 8);
    assert_int_equal(found.items[1].from_ps, 10000001);
    assert_int_equal(found.items[1].count, 9);
    assert_int_equal(found.items[1].bytes, 9000);
    array_free(&found);
    assert_int_equal(warnings_of(transfers(VARIABLE_INPUT, 1000000, 7, 1000)).count, 0);
    assert_int_equal(warnings_of(transfers(VARIABLE_INPUT, 1000000, 9, 2048)).count, 0);
}

TEST(warnings_span_throttling_of_half_of_the_time)
{
    static const int64_t spans[][3] = {/* ns, rate */
                                       {1000, 2000, 512},
                                       {3000, 5000, 256},
                                       {9000, 9500, 512}};
    struct trace *trace = matmuls(10, 0, 1000);
    for (unsigned i = 0; i < 3; i++)
        *array_push(&trace->execution.throttles) =
            (struct device_throttle){.start_ps = spans[i][0] * 1000,
                                     .end_ps = spans[i][1] * 1000,
                                     .rate = (uint32_t)spans[i][2]};
    device_warnings found = warnings_of(trace);
    assert_int_equal(found.count, 2);
    expect_warning(&found.items[0], WARNING_THROTTLED, 1000, 5000, 2);
    assert_true(fabs(found.items[0].amount - 1.0 / 3) < 1e-9);
    expect_warning(&found.items[1], WARNING_THROTTLED, 9000, 9500, 1);
    array_free(&found);
}

TEST(instructions_from_the_kernels_directory_are_nki)
{
    struct trace *trace = matmuls(4, 0, 1000);
    trace->origins[0].file = "kernels/attention.py";
    trace->model->code[ENGINE_TENSOR][0].origin = 0;
    expect_gain(trace, "nki-coverage", 3000);
    trace = matmuls(4, 0, 1000);
    trace->origins[0].file = "kernels/attention.py";
    trace->model->code[ENGINE_TENSOR][0].origin = trace->model->code[ENGINE_TENSOR][1].origin = 0;
    expect_gain(trace, "nki-coverage", 0); /* a half */
    trace = matmuls(4, 0, 1000);
    trace->origins[0].file = "kernels_of_others/attention.py";
    trace->model->code[ENGINE_TENSOR][0].origin = 0;
    expect_gain(trace, "nki-coverage", 4000);
}

/* One CC-core, one after the other. */
static struct trace *collectives(const int64_t *durations_ns, unsigned count)
{
    int64_t now = 0;
    struct trace *trace = trace_new(2, 0);
    trace->model->program.collective_count = 1;
    trace->model->collectives[0] = (struct collective){
        .kind = COLLECTIVE_ALL_REDUCE, .input_bytes = 4096, .output_bytes = 4096};
    model_variable(trace->model, VARIABLE_VIRTUAL, DTYPE_UINT8, 4096);
    for (unsigned i = 0; i < count; i++) {
        *array_push(&trace->execution.collectives) = (struct device_collective){
            .start_ps = now * 1000, .end_ps = (now + durations_ns[i]) * 1000, .trigger = NO_INDEX};
        now += durations_ns[i];
    }
    trace->execution.end_ps = now * 1000;
    return trace;
}

TEST(a_collective_far_above_the_median_is_an_outlier)
{
    static const int64_t outlier[] = {1000, 1000, 5000, 1000}, even[] = {1000, 1400, 900, 1000};
    expect_gain(collectives(outlier, 4), "collective-outliers", 4000);
    expect_gain(collectives(outlier, 3), "collective-outliers", 0); /* too few */
    expect_gain(collectives(even, 4), "collective-outliers", 0);
}

/* Of 4 us, a collective waits for 3 us in set-up and for other ranks. */
TEST(waits_in_collectives_on_the_critical_path_are_told)
{
    static const int64_t duration[] = {4000};
    for (unsigned waits = 0; waits < 2; waits++) {
        struct trace *trace = collectives(duration, 1);
        *array_push(&trace->execution.cc_steps) = (struct device_cc_step){
            .end_ps = waits ? 3000000 : 100000, .step = STEP_SEMAPHORE_WAIT};
        expect_gain(trace, "collective-wait", waits ? 3000 : 0);
    }
}

/* Tensor 4 us, then Vector 2 us: at the same time they would take 4 us. */
TEST(units_that_take_turns_could_overlap)
{
    struct trace *trace = matmuls(4, 0, 1000);
    trace->execution.end_ps = 6000000;
    trace_run(trace, ENGINE_VECTOR, OP_TENSOR_COPY, 4000, 6000);
    expect_gain(trace, "pipeline", 2000);
    expect_gain(matmuls(4, 0, 1000), "pipeline", 0);
}

TEST(dma_latency_on_the_critical_path_is_told)
{
    for (unsigned is_late = 0; is_late < 2; is_late++) {
        struct trace *trace = transfers(VARIABLE_INPUT, 100000, 1, 4096);
        struct device_execution *execution = &trace->execution;
        trace_run(trace, ENGINE_SYNC, OP_DMA_TRIGGER, 0, 20);
        int64_t start = is_late ? 1320 : 20;
        execution->blocks.items[0].start_ps = execution->transfers.items[0].start_ps = start * 1000;
        execution->blocks.items[0].end_ps = execution->transfers.items[0].end_ps =
            (start + 1000) * 1000;
        execution->blocks.items[0].trigger_engine = ENGINE_SYNC;
        execution->blocks.items[0].trigger = 0;
        execution->end_ps = (start + 1000) * 1000;
        expect_gain(trace, "dma-latency", is_late ? 1300 : 0);
    }
}

TEST(an_empty_execution_has_no_findings)
{
    struct trace *trace = trace_new(3, 0);
    struct device_analysis analysis;
    analyze_trace(&analysis, trace, NULL);
    assert_int_equal(analysis.findings.count, 0);
    device_analysis_free(&analysis);
    trace_free(trace);
}

/* --- Ranks --- */

/* Two collectives with set-up of 10 us; how long each rank waited besides. */
static void add_rank(struct device_ranks *ranks, uint32_t rank, int64_t first_us, int64_t second_us)
{
    struct trace *trace = trace_new(3, 100000);
    int64_t waits[] = {first_us + 10, second_us + 10};
    trace->model->program.collective_count = 1;
    for (uint32_t i = 0; i < 2; i++) {
        int64_t start_ps = (int64_t)(1 + 50 * i) * 1000000;
        *array_push(&trace->execution.collectives) = (struct device_collective){
            .start_ps = start_ps, .end_ps = start_ps + 40000000, .trigger = NO_INDEX};
        *array_push(&trace->execution.cc_steps) =
            (struct device_cc_step){.start_ps = start_ps,
                                    .end_ps = start_ps + waits[i] * 1000000,
                                    .collective = i,
                                    .step = STEP_SEMAPHORE_WAIT};
    }
    device_ranks_begin(ranks, &trace->profile, &(struct device_rank){.rank = rank});
    device_ranks_add_execution(ranks, 0, &trace->execution);
    trace_free(trace); /* nothing of it is looked at again */
}

TEST(the_rank_that_waits_least_came_last)
{
    struct device_ranks ranks = {0};
    add_rank(&ranks, 4, 3, 0);
    add_rank(&ranks, 5, 0, 20);
    add_rank(&ranks, 6, 7, 12);
    device_ranks_end(&ranks);
    assert_int_equal(ranks.meetings.count, 2);
    const struct device_meeting *second = &ranks.meetings.items[0], *first = second + 1;
    assert_int_equal(second->skew_ps, 20000000);
    assert_int_equal(second->occurrence, 1);
    assert_int_equal(ranks.ranks.items[second->last].rank, 4);
    assert_int_equal(second->waited_ps, 32000000);
    assert_int_equal(first->skew_ps, 7000000);
    assert_int_equal(ranks.ranks.items[first->last].rank, 5);
    assert_int_equal(first->ranks, 3);
    assert_int_equal(ranks.slowest, 0);
    assert_int_equal(ranks.ranks.items[0].held_up_ps, 32000000);
    assert_int_equal(ranks.ranks.items[0].waited_ps, 3000000);
    assert_int_equal(ranks.ranks.items[1].waited_ps, 20000000);
    assert_int_equal(ranks.ranks.items[2].waited_ps, 19000000);
    device_ranks_free(&ranks);
}

TEST(ranks_of_different_groups_do_not_meet)
{
    static const uint32_t members[] = {0, 1, 2, 3};
    struct device_ranks ranks = {0};
    static const int64_t waits[] = {10, 14, 30, 11};
    struct trace *traces[4];
    for (uint32_t rank = 0; rank < 4; rank++) {
        struct trace *trace = traces[rank] = trace_new(3, 100);
        trace->model->program.collective_count = 1;
        trace->model->collectives[0] =
            (struct collective){.group_size = 2, .group_count = 2, .members = members};
        *array_push(&trace->execution.collectives) =
            (struct device_collective){.end_ps = 40, .trigger = NO_INDEX};
        *array_push(&trace->execution.cc_steps) =
            (struct device_cc_step){.end_ps = waits[rank], .step = STEP_SEMAPHORE_WAIT};
        device_ranks_begin(&ranks, &trace->profile, &(struct device_rank){.rank = rank});
        device_ranks_add_execution(&ranks, 0, &trace->execution);
    }
    device_ranks_end(&ranks);
    assert_int_equal(ranks.meetings.count, 2);
    assert_int_equal(ranks.meetings.items[0].skew_ps, 19);
    assert_int_equal(ranks.meetings.items[0].last, 3);
    assert_int_equal(ranks.meetings.items[1].skew_ps, 4);
    assert_int_equal(ranks.meetings.items[1].last, 0);
    assert_int_equal(ranks.slowest, 3);
    device_ranks_free(&ranks);
    for (uint32_t rank = 0; rank < 4; rank++)
        trace_free(traces[rank]);
}

/* Hosts' clocks agree within 100 ms. */
TEST(ranks_whose_executions_do_not_overlap_do_not_meet)
{
    static const uint64_t starts_ns[] = {1000000000, 1101000000, 1201000002, 0};
    struct device_ranks ranks = {0};
    struct trace *traces[4];
    for (uint32_t i = 0; i < 4; i++) {
        struct trace *trace = traces[i] = trace_new(3, 100);
        trace->model->program.collective_count = 1;
        trace->execution.has_info = starts_ns[i] > 0;
        trace->execution.info =
            (struct ntff_execution){.start_ns = starts_ns[i], .end_ns = starts_ns[i] + 1000000};
        *array_push(&trace->execution.collectives) =
            (struct device_collective){.end_ps = 40, .trigger = NO_INDEX};
        *array_push(&trace->execution.cc_steps) =
            (struct device_cc_step){.end_ps = 10 + i, .step = STEP_SEMAPHORE_WAIT};
    }
    /* Just close enough; too far apart; not known. */
    static const uint32_t pairs[][3] = {{0, 1, 1}, {0, 2, 0}, {2, 3, 1}};
    for (unsigned i = 0; i < 3; i++) {
        ranks = (struct device_ranks){0};
        for (uint32_t rank = 0; rank < 2; rank++) {
            const struct trace *trace = traces[pairs[i][rank]];
            device_ranks_begin(&ranks, &trace->profile, &(struct device_rank){.rank = rank});
            device_ranks_add_execution(&ranks, 0, &trace->execution);
        }
        device_ranks_end(&ranks);
        assert_int_equal(ranks.meetings.count, pairs[i][2]);
        assert_int_equal(ranks.apart, 1 - pairs[i][2]);
        assert_int_equal(ranks.slowest, pairs[i][2] ? 0 : NO_INDEX);
        device_ranks_free(&ranks);
    }
    for (uint32_t i = 0; i < 4; i++)
        trace_free(traces[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_whose_executions_do_not_overlap_do_not_meet),
        cmocka_unit_test(waits_in_collectives_on_the_critical_path_are_told),
        cmocka_unit_test(a_tensor_that_is_loaded_three_times_is_named),
        cmocka_unit_test(bytes_that_go_to_several_partitions_are_loaded_once),
        cmocka_unit_test(small_transfers_lose_what_they_take_beyond_the_rate),
        cmocka_unit_test(spills_count_above_a_quarter_of_the_reads),
        cmocka_unit_test(model_flops_below_half_of_what_was_possible_are_told),
        cmocka_unit_test(transposes_above_a_tenth_are_told),
        cmocka_unit_test(throttling_costs_what_matmuls_took_longer),
        cmocka_unit_test(warnings_span_the_loads_of_a_tensor),
        cmocka_unit_test(warnings_span_small_packets_that_are_close),
        cmocka_unit_test(warnings_span_throttling_of_half_of_the_time),
        cmocka_unit_test(instructions_from_the_kernels_directory_are_nki),
        cmocka_unit_test(a_collective_far_above_the_median_is_an_outlier),
        cmocka_unit_test(units_that_take_turns_could_overlap),
        cmocka_unit_test(dma_latency_on_the_critical_path_is_told),
        cmocka_unit_test(an_empty_execution_has_no_findings),
        cmocka_unit_test(the_rank_that_waits_least_came_last),
        cmocka_unit_test(ranks_of_different_groups_do_not_meet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
