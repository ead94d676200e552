/*
 * Dependencies and the critical path: on a trace made by hand, and on random ones, where the path
 * must tile the execution.
 */
#include "device_model.h"
#include "device_trace.h"

/* The trigger's block: one transfer. */
static void add_load(struct trace *trace, unsigned index, int64_t start_ns, int64_t end_ns)
{
    trace_descriptor(trace, 0, true, 64, DMA_TYPE_INPUT);
    uint32_t run = trace_block(trace, index, 1, 64, start_ns, end_ns);
    trace->execution.blocks.items[run].trigger_engine = ENGINE_SYNC;
    trace->execution.blocks.items[run].trigger = index;
    trace_transfer(trace, run, index, 0, start_ns, end_ns);
}

static void after(struct trace *trace, enum engine engine, uint16_t semaphore, uint32_t value,
                  int64_t wait_ns)
{
    wait_for(trace_code(trace, engine), semaphore, value);
    trace_last(trace, engine)->wait_ps = wait_ns * 1000;
}

static void by_instruction(struct device_update *update, enum engine engine, uint32_t index)
{
    update->engine = (uint8_t)engine;
    update->instruction = index;
}

/* Two loads, one after the other on a DMA engine; a copy; two activations, the second of which
 * begins before the first is complete; the end. */
static struct trace *chain(void)
{
    struct trace *trace = trace_new(3, 5000);
    model_variable(trace->model, VARIABLE_INPUT, DTYPE_UINT8, 128);
    trace_run(trace, ENGINE_SYNC, OP_DMA_TRIGGER, 0, 20);
    trace_run(trace, ENGINE_SYNC, OP_DMA_TRIGGER, 20, 40);
    add_load(trace, 0, 1300, 2000);
    add_load(trace, 1, 2000, 3000);
    trace_update(trace, 1, 1, 2700)->block = 0;
    trace_update(trace, 1, 2, 3700)->block = 1;
    trace_run(trace, ENGINE_VECTOR, OP_NOP, 0, 16);
    trace_run(trace, ENGINE_VECTOR, OP_TENSOR_COPY, 3700, 4000);
    after(trace, ENGINE_VECTOR, 1, 2, 3684);
    by_instruction(trace_update(trace, 2, 1, 4000), ENGINE_VECTOR, 1);
    trace_run(trace, ENGINE_SCALAR, OP_ACTIVATE, 4000, 4500);
    after(trace, ENGINE_SCALAR, 2, 1, 4000);
    trace_run(trace, ENGINE_SCALAR, OP_ACTIVATE, 4400, 4900);
    after(trace, ENGINE_SCALAR, 2, 1, 0); /* met already */
    by_instruction(trace_update(trace, 3, 1, 4900), ENGINE_SCALAR, 1);
    trace_run(trace, ENGINE_SYNC, OP_NOTIFY, 5000, 5010);
    after(trace, ENGINE_SYNC, 3, 1, 4860);
    return trace;
}

static void expect_segment(const struct device_segment *segment, int64_t start_ns, int64_t end_ns,
                           enum device_item_kind kind, unsigned engine, uint32_t index,
                           enum device_wait wait)
{
    assert_int_equal(segment->start_ps, start_ns * 1000);
    assert_int_equal(segment->end_ps, end_ns * 1000);
    assert_int_equal(segment->item.kind, kind);
    assert_int_equal(segment->item.engine, engine);
    assert_int_equal(segment->item.index, index);
    assert_int_equal(segment->wait, wait);
}

TEST(the_critical_path_of_a_chain_is_the_chain)
{
    struct trace *trace = chain();
    struct device_dependencies dependencies;
    struct device_path path;
    device_dependencies_find(&dependencies, &trace->profile, &trace->execution);
    device_critical_path(&dependencies, &path);
    assert_int_equal(path.segments.count, 9);
    const struct device_segment *at = path.segments.items;
    expect_segment(at++, 0, 20, ITEM_INSTRUCTION, ENGINE_SYNC, 0, WAIT_NOT);
    expect_segment(at++, 20, 1300, ITEM_TRANSFER, 0, 0, WAIT_DMA_START);
    expect_segment(at++, 1300, 2000, ITEM_TRANSFER, 0, 0, WAIT_NOT);
    expect_segment(at++, 2000, 3000, ITEM_TRANSFER, 0, 1, WAIT_NOT);
    expect_segment(at++, 3000, 3700, ITEM_INSTRUCTION, ENGINE_VECTOR, 1, WAIT_DMA_END);
    expect_segment(at++, 3700, 4000, ITEM_INSTRUCTION, ENGINE_VECTOR, 1, WAIT_NOT);
    expect_segment(at++, 4000, 4400, ITEM_INSTRUCTION, ENGINE_SCALAR, 0, WAIT_NOT);
    expect_segment(at++, 4400, 4900, ITEM_INSTRUCTION, ENGINE_SCALAR, 1, WAIT_NOT);
    expect_segment(at++, 4900, 5000, ITEM_INSTRUCTION, ENGINE_SYNC, 2, WAIT_SEMAPHORE);
    assert_int_equal(path.engine_ps[ENGINE_SCALAR], 900000);
    assert_int_equal(path.engine_ps[ENGINE_VECTOR], 300000);
    assert_int_equal(path.engine_ps[ENGINE_SYNC], 20000);
    assert_int_equal(path.dma_ps, 1700000);
    assert_int_equal(path.wait_ps[WAIT_DMA_START], 1280000);
    assert_int_equal(path.wait_ps[WAIT_DMA_END], 700000);
    assert_int_equal(path.wait_ps[WAIT_SEMAPHORE], 100000);
    device_path_free(&path);
    device_dependencies_free(&dependencies);
    trace_free(trace);
}

static bool has_edge(const struct device_dependencies *dependencies, struct device_item item,
                     struct device_item from, enum device_edge_kind kind, int64_t release_ns)
{
    struct device_edge edges[DEVICE_MAX_EDGES];
    size_t count = device_predecessors(dependencies, item, edges);
    for (size_t i = 0; i < count; i++)
        if (edges[i].from.kind == from.kind && edges[i].from.engine == from.engine &&
            edges[i].from.index == from.index && edges[i].kind == kind)
            return edges[i].release_ps == release_ns * 1000;
    return false;
}

TEST(predecessors_are_who_set_the_semaphore_and_who_was_before)
{
    struct trace *trace = chain();
    struct device_dependencies dependencies;
    device_dependencies_find(&dependencies, &trace->profile, &trace->execution);
    struct device_item copy = {ITEM_INSTRUCTION, ENGINE_VECTOR, 1};
    struct device_item second = {.kind = ITEM_BLOCK, .index = 1};
    assert_true(has_edge(&dependencies, copy, second, EDGE_SEMAPHORE, 3700));
    assert_true(has_edge(&dependencies, copy, (struct device_item){ITEM_INSTRUCTION, 1, 0},
                         EDGE_ORDER, 16));
    assert_true(has_edge(&dependencies, second,
                         (struct device_item){ITEM_INSTRUCTION, ENGINE_SYNC, 1}, EDGE_TRIGGER, 40));
    assert_true(has_edge(&dependencies, (struct device_item){ITEM_TRANSFER, 0, 1},
                         (struct device_item){ITEM_TRANSFER, 0, 0}, EDGE_RING, 2000));
    device_dependencies_free(&dependencies);
    trace_free(trace);
}

TEST(data_through_hbm_is_an_edge)
{
    struct trace *trace = trace_new(3, 5000);
    uint32_t spilled = model_variable(trace->model, VARIABLE_VIRTUAL, DTYPE_UINT8, 64);
    trace_descriptor(trace, spilled, false, 64, DMA_TYPE_DATA);
    trace_descriptor(trace, spilled, true, 64, DMA_TYPE_DATA);
    for (uint32_t i = 0; i < 2; i++)
        trace_transfer(trace, trace_block(trace, i, 1, 64, 1000 + 1000 * i, 1500 + 1000 * i), i, i,
                       1000 + 1000 * i, 1500 + 1000 * i);
    struct device_dependencies dependencies;
    device_dependencies_find(&dependencies, &trace->profile, &trace->execution);
    struct device_item save = {.kind = ITEM_BLOCK}, reload = {.kind = ITEM_BLOCK, .index = 1};
    assert_true(has_edge(&dependencies, reload, save, EDGE_DATA, 1500));
    assert_false(has_edge(&dependencies, save, reload, EDGE_DATA, 2500));
    device_dependencies_free(&dependencies);
    trace_free(trace);
}

TEST(a_semaphore_that_falls_again_is_met_by_its_last_rise)
{
    struct trace *trace = trace_new(3, 5000);
    static const uint32_t values[] = {1, 2, 0, 1, 3, 4};
    for (unsigned i = 0; i < COUNT_OF(values); i++) {
        trace_run(trace, ENGINE_VECTOR, OP_NOP, 100 * i, 100 * i + 50);
        by_instruction(trace_update(trace, 7, values[i], 100 * i + 50), ENGINE_VECTOR, i);
    }
    trace_run(trace, ENGINE_SCALAR, OP_NOP, 160, 170);
    after(trace, ENGINE_SCALAR, 7, 2, 10);
    trace_run(trace, ENGINE_SCALAR, OP_NOP, 4000, 4100);
    after(trace, ENGINE_SCALAR, 7, 2, 10);
    trace_run(trace, ENGINE_SCALAR, OP_NOP, 4100, 4200);
    after(trace, ENGINE_SCALAR, 7, 9, 0); /* never */
    struct device_dependencies dependencies;
    device_dependencies_find(&dependencies, &trace->profile, &trace->execution);
    assert_int_equal(dependencies.met_by[ENGINE_SCALAR][0], 1);
    assert_int_equal(dependencies.met_by[ENGINE_SCALAR][1], 4);
    assert_int_equal(dependencies.met_by[ENGINE_SCALAR][2], NO_INDEX);
    device_dependencies_free(&dependencies);
    trace_free(trace);
}

static void add_random_engine(struct trace *trace, struct rng *rng, enum engine engine)
{
    int64_t time = (int64_t)rng_below(rng, 50);
    for (size_t i = 0, count = rng_below(rng, 20); i < count; i++) {
        int64_t length = (int64_t)rng_below(rng, 60);
        trace_run(trace, engine, OP_NOP, time, time + length);
        if (rng_below(rng, 2))
            after(trace, engine, (uint16_t)rng_below(rng, 4), (uint32_t)rng_below(rng, 4),
                  (int64_t)rng_below(rng, 2) * 5);
        time += (int64_t)rng_below(rng, 60); /* may overlap, may be at once */
    }
}

/* Whatever the trace says, also what no core can do: the path ends, and tiles the execution. */
TEST(paths_of_random_traces_tile_the_execution)
{
    struct rng rng = {7};
    for (unsigned round = 0; round < 3000; round++) {
        struct trace *trace = trace_new(3, (int64_t)rng_below(&rng, 1500));
        struct device_execution *execution = &trace->execution;
        execution->start_ps = (int64_t)rng_below(&rng, 100) * 1000;
        if (execution->end_ps < execution->start_ps)
            execution->end_ps = execution->start_ps;
        model_variable(trace->model, VARIABLE_INPUT, DTYPE_UINT8, 128);
        for (unsigned e = 0; e < ENGINE_COUNT; e++)
            add_random_engine(trace, &rng, (enum engine)e);
        int64_t time = 0;
        for (uint32_t i = 0, count = (uint32_t)rng_below(&rng, 10); i < count; i++) {
            int64_t start = time, end = start + (int64_t)rng_below(&rng, 100);
            trace_descriptor(trace, 0, true, 64, DMA_TYPE_INPUT);
            trace_transfer(trace, trace_block(trace, i, 1, 64, start, end), i, i / 4, start, end);
            if (execution->instructions[ENGINE_SYNC].count > 0 && rng_below(&rng, 3)) {
                execution->blocks.items[i].trigger_engine = ENGINE_SYNC;
                execution->blocks.items[i].trigger =
                    (uint32_t)rng_below(&rng, execution->instructions[ENGINE_SYNC].count);
            }
            time = i % 4 == 3 ? 0 : end + (int64_t)rng_below(&rng, 2) * 30;
        }
        int64_t now = 0;
        for (unsigned i = 0, count = (unsigned)rng_below(&rng, 30); i < count; i++) {
            now += (int64_t)rng_below(&rng, 50);
            struct device_update *update = trace_update(trace, (uint32_t)rng_below(&rng, 4),
                                                        (uint32_t)rng_below(&rng, 5), now);
            unsigned engine = (unsigned)rng_below(&rng, ENGINE_COUNT);
            if (rng_below(&rng, 2) && execution->instructions[engine].count > 0)
                by_instruction(update, (enum engine)engine,
                               (uint32_t)rng_below(&rng, execution->instructions[engine].count));
            else if (execution->blocks.count > 0)
                update->block = (uint32_t)rng_below(&rng, execution->blocks.count);
        }
        struct device_dependencies dependencies;
        struct device_path path;
        device_dependencies_find(&dependencies, &trace->profile, execution);
        device_critical_path(&dependencies, &path);
        int64_t at = execution->start_ps, sum = path.dma_ps + path.collective_ps;
        for (size_t i = 0; i < path.segments.count; i++) {
            const struct device_segment *segment = &path.segments.items[i];
            assert_int_equal(segment->start_ps, at);
            assert_true(segment->end_ps > segment->start_ps);
            struct device_interval span = device_item_span(execution, segment->item);
            if (segment->wait == WAIT_NOT)
                assert_true(span.start_ps <= segment->start_ps && segment->end_ps <= span.end_ps);
            at = segment->end_ps;
        }
        assert_int_equal(at, execution->end_ps);
        for (unsigned i = 0; i < ENGINE_COUNT; i++)
            sum += path.engine_ps[i];
        for (unsigned i = 0; i < DEVICE_WAITS; i++)
            sum += path.wait_ps[i];
        assert_int_equal(sum, execution->end_ps - execution->start_ps);
        device_path_free(&path);
        device_dependencies_free(&dependencies);
        trace_free(trace);
    }
}

/* On the simulated core: load, copy, store; each waits for the one before. */
TEST(the_path_of_a_program_goes_through_its_dma_and_engine)
{
    struct model *model = model_new(3);
    uint32_t in = model_variable(model, VARIABLE_INPUT, DTYPE_BF16, (uint64_t)128 * 512);
    uint32_t out = model_variable(model, VARIABLE_OUTPUT, DTYPE_BF16, (uint64_t)128 * 512);
    struct dma_end from = dma_rows(MEMORY_HBM, DTYPE_BF16, 128, 512), to = from;
    struct dma_end chip = dma_rows(MEMORY_SBUF, DTYPE_BF16, 128, 512);
    from.variable = in;
    to.variable = out;
    model_add(model, ENGINE_SYNC, OP_NOTIFY);
    model_dma(model, ENGINE_SYNC, from, chip, 1);
    struct instruction *copy = model_add(model, ENGINE_VECTOR, OP_TENSOR_COPY);
    copy->src[0] = copy->dst = on_chip(MEMORY_SBUF, DTYPE_BF16, 0, 128, 0, 512);
    wait_for(copy, 1, 1);
    then_add(copy, 2, 1);
    wait_for(model_dma(model, ENGINE_SYNC, chip, to, 3), 2, 1);
    struct instruction *stop = model_add(model, ENGINE_SYNC, OP_NOTIFY);
    stop->index = 1;
    wait_for(stop, 3, 1);
    struct outcome outcome;
    struct device_model device;
    struct device_dependencies dependencies;
    struct device_path path;
    model_run(model, false, &outcome);
    device_model_make(&device, *state, &model->program, outcome.items, outcome.count);
    device_dependencies_find(&dependencies, device.profile, &device.execution);
    device_critical_path(&dependencies, &path);
    static const struct {
        enum device_item_kind kind;
        enum device_wait wait;
    } wanted[] = {{ITEM_INSTRUCTION, WAIT_NOT},     {ITEM_INSTRUCTION, WAIT_NOT},
                  {ITEM_TRANSFER, WAIT_DMA_START},  {ITEM_TRANSFER, WAIT_NOT},
                  {ITEM_INSTRUCTION, WAIT_DMA_END}, {ITEM_INSTRUCTION, WAIT_NOT},
                  {ITEM_INSTRUCTION, WAIT_NOT},     {ITEM_TRANSFER, WAIT_DMA_START},
                  {ITEM_TRANSFER, WAIT_NOT},        {ITEM_INSTRUCTION, WAIT_DMA_END}};
    int64_t at = device.execution.start_ps;
    assert_int_equal(path.segments.count, COUNT_OF(wanted));
    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        assert_int_equal(path.segments.items[i].item.kind, wanted[i].kind);
        assert_int_equal(path.segments.items[i].wait, wanted[i].wait);
        assert_int_equal(path.segments.items[i].start_ps, at);
        at = path.segments.items[i].end_ps;
    }
    assert_int_equal(at, device.execution.end_ps);
    assert_true(llabs(path.wait_ps[WAIT_DMA_END] - 2 * 700000) <= 2);
    device_path_free(&path);
    device_dependencies_free(&dependencies);
    device_model_free(&device);
    outcome_free(&outcome);
    model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_critical_path_of_a_chain_is_the_chain),
        cmocka_unit_test(predecessors_are_who_set_the_semaphore_and_who_was_before),
        cmocka_unit_test(data_through_hbm_is_an_edge),
        cmocka_unit_test(a_semaphore_that_falls_again_is_met_by_its_last_rise),
        cmocka_unit_test(paths_of_random_traces_tile_the_execution),
        cmocka_unit_test_setup_teardown(the_path_of_a_program_goes_through_its_dma_and_engine,
                                        scratch_make, scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
