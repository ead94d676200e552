/*
 * Every metric of Summary, roll-ups and bounds, on a trace made by hand. The expected values are
 * worked out from the figures in the comments, not by the code under test.
 */
#include "device_trace.h"

#include <math.h>

/*
 * 10 us on NC_V2: base clock 1.4 GHz, F = 2 * 128 * 128 * 2.8e9 = 9.17504e13, BW = 4.1e11.
 */
static void add_engines(struct trace *trace)
{
    /* Tensor: 100 + 200 + 300 + 100 = 700 ns; union 1000-1500 and 2000-2100: 600 ns. */
    trace_run(trace, ENGINE_TENSOR, OP_LDWEIGHTS, 1000, 1100)->sbuf_read = 100;
    struct instruction_facts *facts = trace_run(trace, ENGINE_TENSOR, OP_MATMUL, 1100, 1300);
    facts->flops = facts->adjusted_flops = 1000;
    facts->elements = 8;
    facts->sbuf_read = 200;
    facts->psum_write = 300;
    facts = trace_run(trace, ENGINE_TENSOR, OP_MATMUL, 1200, 1500);
    facts->flops = 2000;
    facts->elements = 16;
    facts->adjusted_flops = 8000;
    facts->psum_write = 300;
    facts = trace_run(trace, ENGINE_TENSOR, OP_TRANSPOSE, 2000, 2100);
    facts->flops = facts->adjusted_flops = 500;
    facts->elements = 4;
    facts->psum_write = 50;
    /* Vector: 100 + 300, apart. */
    trace_run(trace, ENGINE_VECTOR, OP_NOP, 100, 200);
    facts = trace_run(trace, ENGINE_VECTOR, OP_TENSOR_COPY, 1600, 1900);
    facts->psum_read = 300;
    facts->sbuf_write = 150;
    trace_last(trace, ENGINE_VECTOR)->wait_ps = 100000; /* not a part of its time */
    /* Scalar: 600 + 500 = 1100; union 2000-3000. */
    facts = trace_run(trace, ENGINE_SCALAR, OP_ACTIVATE, 2000, 2600);
    facts->sbuf_read = facts->sbuf_write = 10;
    facts = trace_run(trace, ENGINE_SCALAR, OP_ACTIVATE, 2500, 3000);
    facts->sbuf_read = facts->sbuf_write = 10;
    trace_run(trace, ENGINE_GPSIMD, OP_IOTA, 5000, 5100);
    trace_run(trace, ENGINE_SYNC, OP_DMA_TRIGGER, 300, 320);
    trace_run(trace, ENGINE_SYNC, OP_NOTIFY, 9900, 9950);
}

static void add_dma(struct trace *trace)
{
    uint32_t in = model_variable(trace->model, VARIABLE_INPUT, DTYPE_UINT8, 4096);
    uint32_t weight = model_variable(trace->model, VARIABLE_WEIGHT, DTYPE_UINT8, 8192);
    uint32_t out = model_variable(trace->model, VARIABLE_OUTPUT, DTYPE_UINT8, 2048);
    uint32_t spilled = model_variable(trace->model, VARIABLE_VIRTUAL, DTYPE_UINT8, 1024);
    trace->model->program.scratchpad_bytes = 1024;
    trace->model->program.queue_count = 4;
    trace_descriptor(trace, in, true, 4096, DMA_TYPE_INPUT);
    trace_descriptor(trace, weight, true, 8192, DMA_TYPE_DATA);
    trace_descriptor(trace, out, false, 2048, DMA_TYPE_OUTPUT);
    trace_descriptor(trace, spilled, false, 1024, DMA_TYPE_DATA);
    trace_descriptor(trace, spilled, true, 1024, DMA_TYPE_SOFTWARE_DYNAMIC);
    trace_descriptor(trace, weight, true, 512, DMA_TYPE_HARDWARE_DYNAMIC);
    /* Blocks: 900 + 600 + 200 + 400 + 200 = 2300 ns; 16,896 bytes. */
    uint32_t loads = trace_block(trace, 0, 2, 12288, 500, 1400);
    uint32_t store = trace_block(trace, 2, 1, 2048, 8000, 8600);
    uint32_t save = trace_block(trace, 3, 1, 1024, 3000, 3200);
    uint32_t reload = trace_block(trace, 4, 1, 1024, 3100, 3500);
    uint32_t again = trace_block(trace, 5, 1, 512, 3400, 3600);
    trace->execution.blocks.items[0].trigger_engine = ENGINE_SYNC;
    trace->execution.blocks.items[0].trigger = 0;
    /* Packets: 400 + 600 + 800 + 200 + 400 + 200 = 2600 ns; union 500-1400, 3000-3600, 8000-8600.
     */
    trace_transfer(trace, loads, 0, 0, 500, 900);
    trace_transfer(trace, store, 2, 0, 8000, 8600);
    trace_transfer(trace, loads, 1, 1, 600, 1400);
    trace_transfer(trace, save, 3, 2, 3000, 3200);
    trace_transfer(trace, reload, 4, 2, 3100, 3500);
    trace_transfer(trace, again, 5, 3, 3400, 3600);
}

static void add_others(struct trace *trace)
{
    struct device_execution *execution = &trace->execution;
    *array_push(&execution->collectives) =
        (struct device_collective){.start_ps = 6000000, .end_ps = 7500000, .trigger = NO_INDEX};
    *array_push(&execution->collectives) = (struct device_collective){
        .start_ps = 7000000, .end_ps = 7800000, .trigger = NO_INDEX, .cc_core = 1};
    trace->model->program.collective_count = 1;
    trace->model->collectives[0] = (struct collective){.kind = COLLECTIVE_BARRIER};
    *array_push(&execution->cc_steps) = (struct device_cc_step){
        .start_ps = 6000000, .end_ps = 6500000, .step = STEP_SEMAPHORE_WAIT};
    *array_push(&execution->cc_steps) =
        (struct device_cc_step){.start_ps = 6500000, .end_ps = 7500000, .step = STEP_DMA_ADVANCE};
    *array_push(&execution->cc_steps) = (struct device_cc_step){.start_ps = 7000000,
                                                                .end_ps = 7800000,
                                                                .collective = 1,
                                                                .cc_core = 1,
                                                                .step = STEP_DMA_ADVANCE};
    for (unsigned i = 0; i < 3; i++)
        trace_update(trace, 1, i + 1, 1000 + i);
    *array_push(&execution->errors) = (struct device_error){.time_ps = 1};
    *array_push(&execution->throttles) =
        (struct device_throttle){.start_ps = 1000000, .end_ps = 2000000, .rate = 512};
    *array_push(&execution->throttles) = (struct device_throttle){
        .start_ps = 2500000, .end_ps = 3000000, .kind = THROTTLE_ACTIVITY_1, .rate = 512};
}

static struct trace *example(void)
{
    struct trace *trace = trace_new(2, 10000);
    uint32_t query = trace_origin(trace, "/gpt/block0/q", "q", 1500);
    uint32_t norm = trace_origin(trace, "/gpt/norm", "norm", 600);
    add_engines(trace);
    add_dma(trace);
    add_others(trace);
    for (unsigned i = 0; i < 4; i++)
        trace->model->code[ENGINE_TENSOR][i].origin = query;
    trace->model->code[ENGINE_VECTOR][1].origin = norm;
    trace->model->code[ENGINE_SYNC][0].origin = norm;
    return trace;
}

struct expected {
    const char *name;
    double value;
};

#define PEAK_10US    917504000.0 /* F * 10 us */
#define BALANCE      (917504.0 / 4100)
#define BANDWIDTH_10 4100000.0 /* BW * 10 us */

static const struct expected expected[] = {
    {"total_time", 10e-6},
    {"neuroncore_cycle_count", 14000},
    {"model_flops", 2100},
    {"hardware_flops", 3500},
    {"transpose_flops", 500},
    {"adjusted_hardware_flops", 9500},
    {"adjusted_transpose_flops", 500},
    {"mm_arithmetic_intensity", 3000.0 / 16896},
    {"peak_flops_bandwidth_ratio", BALANCE},
    {"trace_count", 11 + 6 + 3},
    {"event_count", 3},
    {"total_row_count", 20 + 3 + 5 + 2 + 1 + 2},
    {"dma_active_cycles", 2940},
    {"dma_active_time", 2.1e-6},
    {"dma_active_time_percent", 0.21},
    {"static_dma_active_time", 1.7e-6},
    {"dynamic_dma_active_time_percent", 0.05}, /* 3100-3600 */
    {"static_dma_active_time_percent", 0.17},
    {"dma_transfer_average_bytes", 3379.2},
    {"dma_packet_time", 2.6e-6},
    {"dma_transfer_time", 2.3e-6},
    {"dma_transfer_count", 5},
    {"dma_transfer_total_bytes", 16896},
    {"dma_queue_count", 4},
    {"inputs_and_weights_size_bytes", 12288},
    {"inputs_outputs_weights_size_bytes", 14336},
    {"weight_size_bytes", 8192},
    {"static_dma_packet_count", 4},
    {"static_dma_size", 15360},
    {"dynamic_dma_packet_percent", 2.0 / 6},
    {"static_dma_packet_percent", 4.0 / 6},
    {"dynamic_dma_size_percent", 1536.0 / 16896},
    {"static_dma_size_percent", 15360.0 / 16896},
    {"mbu_estimated_percent", 16896 / BANDWIDTH_10},
    {"mbu_min_read_util_percent", 12288 / BANDWIDTH_10},
    {"hbm_write_bytes", 2048 + 1024},
    {"hbm_read_bytes", 4096 + 8192 + 1024 + 512},
    {"sbuf_write_bytes", 150 + 20 + 13824},
    {"sbuf_read_bytes", 100 + 200 + 20 + 2048 + 1024},
    {"spill_save_bytes", 1024},
    {"spill_reload_bytes", 1024},
    {"psum_write_bytes", 650},
    {"psum_read_bytes", 300},
    {"psum_read_sbuf_write_count", 1},
    {"psum_read_sbuf_write_bytes", 150},
    {"input_queue_bytes", 4096},
    {"output_queue_bytes", 2048},
    {"weight_queue_bytes", 8192 + 512},
    {"software_dynamic_dma_active_time", 0.4e-6},
    {"software_dynamic_dma_active_time_percent", 0.04},
    {"software_dynamic_dma_packet_count", 1},
    {"software_dynamic_dma_size", 1024},
    {"software_dynamic_dma_packet_percent", 1.0 / 6},
    {"software_dynamic_dma_size_percent", 1024.0 / 16896},
    {"hardware_dynamic_dma_active_time", 0.2e-6},
    {"hardware_dynamic_dma_active_time_percent", 0.02},
    {"hardware_dynamic_dma_packet_count", 1},
    {"hardware_dynamic_dma_size", 512},
    {"hardware_dynamic_dma_packet_percent", 1.0 / 6},
    {"hardware_dynamic_dma_size_percent", 512.0 / 16896},
    {"tensor_engine_instruction_time", 0.7e-6},
    {"tensor_engine_active_time", 0.6e-6},
    {"tensor_engine_active_time_percent", 0.06},
    {"tensor_engine_instruction_count", 4},
    {"matmul_instruction_count", 3},
    {"mfu_estimated_percent", 2100 / PEAK_10US},
    {"mfu_max_achievable_estimated_percent", 2100.0 / 16896 / BALANCE},
    {"mfu_hlo_estimated_percent", 2100 / PEAK_10US},
    {"mfu_hlo_max_achievable_estimated_percent", 2100.0 / 16896 / BALANCE},
    {"mfu_inst_estimated_percent", 3000 / PEAK_10US},
    {"mfu_inst_max_achievable_estimated_percent", 3000.0 / 16896 / BALANCE},
    {"hfu_estimated_percent", 3500 / PEAK_10US},
    {"vector_engine_instruction_time", 0.4e-6},
    {"vector_engine_active_time", 0.4e-6},
    {"vector_engine_active_time_percent", 0.04},
    {"vector_engine_instruction_count", 2},
    {"scalar_engine_instruction_time", 1.1e-6},
    {"scalar_engine_active_time", 1.0e-6},
    {"scalar_engine_active_time_percent", 0.1},
    {"scalar_engine_instruction_count", 2},
    {"activate_instruction_time", 1.1e-6},
    {"activate_instruction_count", 2},
    {"sync_engine_instruction_time", 0.07e-6},
    {"sync_engine_active_time", 0.07e-6},
    {"sync_engine_active_time_percent", 0.007},
    {"sync_engine_instruction_count", 2},
    {"gpsimd_engine_instruction_time", 0.1e-6},
    {"gpsimd_engine_active_time", 0.1e-6},
    {"gpsimd_engine_active_time_percent", 0.01},
    {"gpsimd_engine_instruction_count", 1},
    {"cc_op_time", 2.3e-6},
    {"cc_op_active_time", 1.8e-6},
    {"cc_op_active_time_percent", 0.18},
    {"cc_op_count", 2},
    {"cc_cores_instruction_time", 2.3e-6},
    {"cc_cores_instruction_active_time", 1.8e-6},
    {"cc_cores_instruction_active_time_percent", 0.18},
    {"cc_cores_instruction_count", 3},
    {"total_exec_time", 8.1e-6}, /* from the first packet, 500, to the last, 8600 */
    /* 100-200, 300-320, 500-1500, 1600-1900, 2000-3600, 5000-5100, 6000-7800, 8000-8600, 9900-9950
     */
    {"total_active_time", 5.57e-6},
    {"total_active_time_percent", 0.557},
};

static double value_of(const struct device_metrics *metrics, const struct device_metric *metric)
{
    return metric->is_integer ? (double)device_metric_integer(metrics, metric)
                              : device_metric_real(metrics, metric);
}

static void assert_near(const char *name, double value, double wanted)
{
    if (!(fabs(value - wanted) <= 1e-9 * fabs(wanted)))
        fail_msg("%s is %.17g, not %.17g", name, value, wanted);
}

TEST(every_metric_has_the_value_that_is_worked_out_by_hand)
{
    struct trace *trace = example();
    struct device_sums sums = {0};
    struct device_metrics metrics;
    device_sums_add(&sums, &trace->profile, &trace->execution);
    device_metrics_make(&metrics, &trace->profile, &sums);
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        const struct device_metric *metric = device_metric_at(i);
        assert_non_null(metric);
        assert_string_equal(metric->name, expected[i].name);
        assert_near(metric->name, value_of(&metrics, metric), expected[i].value);
        assert_true(metric->meaning[0] && metric->formula[0]);
    }
    assert_null(device_metric_at(COUNT_OF(expected)));
    trace_free(trace);
}

TEST(bytes_of_inputs_and_outputs_are_those_of_their_queues)
{
    struct trace *trace = trace_new(2, 1000);
    uint32_t in = model_variable(trace->model, VARIABLE_INPUT, DTYPE_UINT8, 4096);
    uint32_t out = model_variable(trace->model, VARIABLE_OUTPUT, DTYPE_UINT8, 4096);
    uint32_t weight = model_variable(trace->model, VARIABLE_WEIGHT, DTYPE_UINT8, 4096);
    trace_descriptor(trace, in, true, 100, DMA_TYPE_DATA);
    trace_descriptor(trace, in, true, 200, DMA_TYPE_INPUT);
    trace_descriptor(trace, out, false, 300, DMA_TYPE_DATA);
    trace_descriptor(trace, out, false, 400, DMA_TYPE_OUTPUT);
    trace_descriptor(trace, weight, true, 500, DMA_TYPE_INPUT);
    uint32_t run = trace_block(trace, 0, 5, 1500, 0, 500);
    for (uint32_t i = 0; i < 5; i++)
        trace_transfer(trace, run, i, i, 0, 500);
    struct device_sums sums = {0};
    struct device_metrics metrics;
    device_sums_add(&sums, &trace->profile, &trace->execution);
    device_metrics_make(&metrics, &trace->profile, &sums);
    assert_int_equal(metrics.input_queue_bytes, 200 + 500);
    assert_int_equal(metrics.output_queue_bytes, 400);
    assert_int_equal(metrics.weight_queue_bytes, 500);
    trace_free(trace);
}

TEST(two_executions_double_sums_and_keep_shares)
{
    struct trace *trace = example();
    struct device_sums sums = {0};
    struct device_metrics once, twice;
    device_sums_add(&sums, &trace->profile, &trace->execution);
    device_metrics_make(&once, &trace->profile, &sums);
    device_sums_add(&sums, &trace->profile, &trace->execution);
    device_metrics_make(&twice, &trace->profile, &sums);
    for (size_t i = 0; device_metric_at(i); i++) {
        const struct device_metric *metric = device_metric_at(i);
        bool is_of_model =
            strstr(metric->name, "size_bytes") || strstr(metric->name, "queue_count");
        bool is_mean = strcmp(metric->unit, "fraction") == 0 ||
                       strcmp(metric->unit, "flop/B") == 0 || strstr(metric->name, "average");
        double factor = is_of_model || is_mean ? 1 : 2;
        assert_near(metric->name, value_of(&twice, metric), factor * value_of(&once, metric));
    }
    trace_free(trace);
}

TEST(throttling_weighs_the_time_with_the_rate_that_is_left)
{
    struct trace *trace = example();
    struct device_sums sums = {0};
    device_sums_add(&sums, &trace->profile, &trace->execution);
    assert_int_equal(sums.throttled_ps[THROTTLE_ACTIVITY_0], 1000000);
    assert_int_equal(sums.throttled_ps[THROTTLE_ACTIVITY_1], 500000);
    assert_near("limit", sums.limit_ps / (double)sums.total_ps, 0.925); /* 1 - 0.15 / 2 */
    trace_free(trace);
}

TEST(an_execution_without_anything_has_no_shares)
{
    struct trace *trace = trace_new(3, 0);
    struct device_sums sums = {0};
    struct device_metrics metrics;
    device_sums_add(&sums, &trace->profile, &trace->execution);
    device_metrics_make(&metrics, &trace->profile, &sums);
    assert_int_equal(metrics.total_row_count, 0);
    assert_true(isnan(metrics.mfu_estimated_percent));
    assert_true(isnan(metrics.dma_transfer_average_bytes));
    assert_true(metrics.total_exec_time == 0);
    trace_free(trace);
}

TEST(opcodes_are_summed_and_united_for_each_engine)
{
    struct trace *trace = example();
    struct device_opcodes *opcodes = calloc(1, sizeof *opcodes);
    device_opcodes_add(opcodes, &trace->profile, &trace->execution);
    const struct device_opcode *matmul = &opcodes->items[ENGINE_TENSOR][OP_MATMUL];
    assert_int_equal(matmul->count, 2);
    assert_int_equal(matmul->time_ps, 500000);
    assert_int_equal(matmul->active_ps, 400000); /* 1100-1500 */
    assert_int_equal(opcodes->items[ENGINE_SCALAR][OP_ACTIVATE].active_ps, 1000000);
    assert_int_equal(opcodes->items[ENGINE_SCALAR][OP_MATMUL].count, 0);
    free(opcodes);
    trace_free(trace);
}

TEST(tensors_count_their_loads_to_sbuf)
{
    struct trace *trace = example();
    struct device_tensor *tensors = device_tensors_new(&trace->profile);
    device_tensors_add(tensors, &trace->profile, &trace->execution);
    assert_int_equal(tensors[1].loads, 2);
    assert_int_equal(tensors[1].load_bytes, 8704);
    assert_int_equal(tensors[1].load_ps, 1000000);
    assert_near("repeat", device_repeat_factor(&tensors[1], &trace->model->variables[1], 1),
                8704.0 / 8192);
    assert_int_equal(tensors[1].first_load, 2);
    assert_int_equal(tensors[1].last_load, 5);
    assert_int_equal(tensors[2].loads, 0);
    assert_int_equal(tensors[3].first_ps, 3000000);
    assert_int_equal(tensors[3].last_ps, 3500000);
    mem_free(tensors);
    trace_free(trace);
}

TEST(bytes_in_hbm_are_told_by_type)
{
    struct trace *trace = example();
    struct device_hbm_use uses[DEVICE_HBM_TYPES];
    device_hbm_usage(&trace->model->program, uses);
    uint64_t sum = 0;
    for (unsigned i = 0; i < DEVICE_HBM_TYPES; i++)
        sum += uses[i].bytes;
    assert_int_equal(sum, 4096 + 8192 + 2048 + 1024);
    assert_string_equal(uses[VARIABLE_WEIGHT].type, "weights");
    assert_int_equal(uses[VARIABLE_WEIGHT].bytes, 8192);
    trace_free(trace);
}

static void add_works(struct device_rollup *rollup, const struct trace *trace)
{
    device_works works = {0};
    device_works_find(&works, &trace->profile, &trace->execution);
    device_rollup_add(rollup, &trace->profile, &works);
    array_free(&works);
}

static const struct device_rollup_node *node_named(const struct device_rollup *rollup,
                                                   const char *path)
{
    const struct device_rollup_node *node;
    array_each (node, &rollup->nodes)
        if (text_equal(node->path, text_of(path)))
            return node;
    fail_msg("no node %s", path);
    return NULL;
}

TEST(layers_roll_up_to_their_parents)
{
    struct trace *trace = example();
    struct device_rollup rollup;
    device_rollup_begin(&rollup, &trace->model->program, ROLLUP_LAYERS);
    add_works(&rollup, trace);
    assert_int_equal(rollup.nodes.count, 5); /* the root, gpt, block0, q, norm */
    const struct device_rollup_node *query = node_named(&rollup, "/gpt/block0/q");
    assert_true(text_equal(query->name, TEXT("q")));
    assert_int_equal(query->flops, 3500);
    assert_int_equal(query->transpose_flops, 500);
    assert_int_equal(query->model_flops, 1500);
    assert_int_equal(query->instructions[ENGINE_TENSOR], 4);
    assert_int_equal(query->time_ps[ENGINE_TENSOR], 700000);
    assert_int_equal(device_rollup_active_ps(query), 600000);
    assert_int_equal(query->intervals.count, 2);
    assert_int_equal(query->intervals.items[0].elements, 24);
    assert_int_equal(query->intervals.items[1].transpose_elements, 4);
    assert_int_equal(query->intervals.items[0].flops, 3000);
    assert_int_equal(query->intervals.items[0].transpose_flops, 0);
    assert_int_equal(query->intervals.items[1].flops, 500);
    assert_int_equal(query->intervals.items[1].transpose_flops, 500);
    const struct device_rollup_node *norm = node_named(&rollup, "/gpt/norm");
    /* Its trigger, 20 ns; the loads of that, 900 ns; the copy, 300 ns. */
    assert_int_equal(device_rollup_active_ps(norm), 1220000);
    assert_int_equal(norm->hbm_read, 12288);
    assert_int_equal(norm->load_weight_bytes, 8192);
    const struct device_rollup_node *gpt = node_named(&rollup, "/gpt");
    assert_int_equal(gpt->model_flops, 2100);
    assert_int_equal(gpt->instructions[ENGINE_VECTOR], 1);
    /* 300-320, 500-1500, 1600-1900, 2000-2100 */
    assert_int_equal(device_rollup_active_ps(gpt), 1420000);
    const struct device_rollup_node *root = &rollup.nodes.items[0];
    assert_int_equal(root->flops, 3500);
    assert_int_equal(root->hbm_read + root->hbm_write, 16896);
    assert_int_equal(root->instructions[ENGINE_VECTOR], 2);
    device_rollup_free(&rollup);
    trace_free(trace);
}

TEST(operations_roll_up_without_a_tree)
{
    struct trace *trace = example();
    struct device_rollup rollup;
    device_rollup_begin(&rollup, &trace->model->program, ROLLUP_OPERATIONS);
    add_works(&rollup, trace);
    assert_int_equal(rollup.nodes.count, 3);
    assert_int_equal(node_named(&rollup, "q")->flops, 3500);
    assert_int_equal(node_named(&rollup, "norm")->parent, 0);
    device_rollup_free(&rollup);
    trace_free(trace);
}

TEST(bounds_are_the_times_the_hardware_allows)
{
    struct trace *trace = example();
    struct device_sums sums = {0};
    struct device_bounds bounds;
    device_sums_add(&sums, &trace->profile, &trace->execution);
    device_bounds_make(&bounds, &trace->profile, &sums);
    double dma_rate = 16 * 17e9;
    assert_near("memory", bounds.memory, 2.1e-6);
    assert_near("memory_ideal", bounds.memory_ideal, 16896 / dma_rate);
    assert_near("once", bounds.memory_ideal_once, 14336 / dma_rate);
    assert_near("compute", bounds.compute, 0.6e-6);
    assert_near("compute_ideal", bounds.compute_ideal, 3500 / 9.17504e13);
    assert_near("useful", bounds.compute_ideal_useful, 3000 / 9.17504e13);
    assert_int_equal(bounds.busiest, DEVICE_UNIT_DMA);
    assert_near("pipeline", bounds.pipeline_speedup, 10 / 2.1);
    assert_near("memory", bounds.memory_speedup, 10 / 1.8);   /* collectives are next */
    assert_near("compute", bounds.compute_speedup, 10 / 2.1); /* DMA */
    trace_free(trace);
}

TEST(the_scratchpad_holds_what_is_between_first_and_last_access)
{
    struct trace *trace = trace_new(3, 10000);
    uint32_t a = model_variable(trace->model, VARIABLE_VIRTUAL, DTYPE_UINT8, 100);
    uint32_t b = model_variable(trace->model, VARIABLE_VIRTUAL, DTYPE_UINT8, 50);
    uint32_t c = model_variable(trace->model, VARIABLE_VIRTUAL, DTYPE_UINT8, 100);
    uint32_t variables[] = {a, a, b, c};
    int64_t spans[][2] = {{1000, 1100}, {3000, 3100}, {2000, 2500}, {3100, 3200}};
    for (unsigned i = 0; i < 4; i++) {
        trace_descriptor(trace, variables[i], i != 0, 10, DMA_TYPE_DATA);
        trace_block(trace, i, 1, 10, spans[i][0], spans[i][1]);
        trace_transfer(trace, i, i, i, spans[i][0], spans[i][1]);
    }
    device_scratchpad_uses uses = {0};
    device_scratchpad_steps steps = {0};
    device_scratchpad(&trace->profile, &trace->execution, &uses);
    device_scratchpad_over_time(&uses, &steps);
    assert_int_equal(uses.count, 3);
    assert_int_equal(uses.items[0].variable, a);
    assert_int_equal(uses.items[0].end_ps, 3100000);
    assert_int_equal(uses.items[0].written, 10);
    assert_int_equal(uses.items[0].read, 10);
    assert_int_equal(uses.items[0].accesses, 2);
    assert_int_equal(uses.items[0].origin, NO_INDEX);
    static const int64_t wanted[][3] = {{1000, 100, 1},
                                        {2000, 150, 2},
                                        {2500, 100, 1},
                                        {3100, 100, 1}, /* a goes as c comes */
                                        {3200, 0, 0}};
    assert_int_equal(steps.count, COUNT_OF(wanted));
    for (unsigned i = 0; i < COUNT_OF(wanted); i++) {
        assert_int_equal(steps.items[i].time_ps, wanted[i][0] * 1000);
        assert_int_equal(steps.items[i].bytes, wanted[i][1]);
        assert_int_equal(steps.items[i].tensors, wanted[i][2]);
    }
    array_free(&uses);
    array_free(&steps);
    trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_metric_has_the_value_that_is_worked_out_by_hand),
        cmocka_unit_test(bytes_of_inputs_and_outputs_are_those_of_their_queues),
        cmocka_unit_test(two_executions_double_sums_and_keep_shares),
        cmocka_unit_test(throttling_weighs_the_time_with_the_rate_that_is_left),
        cmocka_unit_test(an_execution_without_anything_has_no_shares),
        cmocka_unit_test(opcodes_are_summed_and_united_for_each_engine),
        cmocka_unit_test(tensors_count_their_loads_to_sbuf),
        cmocka_unit_test(bytes_in_hbm_are_told_by_type),
        cmocka_unit_test(layers_roll_up_to_their_parents),
        cmocka_unit_test(operations_roll_up_without_a_tree),
        cmocka_unit_test(bounds_are_the_times_the_hardware_allows),
        cmocka_unit_test(the_scratchpad_holds_what_is_between_first_and_last_access),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
