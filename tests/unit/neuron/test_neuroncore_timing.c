/*
 * Time on the simulated core: published rules on programs whose times can be worked out by hand.
 */
#include "neuroncore_programs.h"

/* Ticks between the starts of two matmuls after each other. */
static uint64_t matmul_interval(uint32_t version, enum dtype dtype, uint32_t columns)
{
    struct model *model = model_new(version);
    struct outcome outcome;
    load_weights(model, dtype);
    for (unsigned i = 0; i < 40; i++) /* beyond the throttled beginning */
        matmul(model, dtype, columns);
    run_checked(model, &outcome);
    assert_int_equal(outcome.result.status, 0);
    uint64_t interval = started(&outcome, ENGINE_TENSOR, 40) - started(&outcome, ENGINE_TENSOR, 39);
    outcome_free(&outcome);
    model_free(model);
    return interval;
}

TEST(a_matmul_takes_a_cycle_a_column_and_64_at_least)
{
    /* A cycle of the Tensor engine is two ticks. */
    assert_int_equal(matmul_interval(2, DTYPE_BF16, 512), 2 * 512);
    assert_int_equal(matmul_interval(2, DTYPE_BF16, 100), 2 * 100);
    assert_int_equal(matmul_interval(2, DTYPE_BF16, 1), 2 * 64);
    assert_int_equal(matmul_interval(2, DTYPE_FP32, 512), 2 * 4 * 512);
    assert_int_equal(matmul_interval(2, DTYPE_FP8_E4, 512), 2 * 512);
    assert_int_equal(matmul_interval(3, DTYPE_FP8_E4, 512), 512);
    assert_int_equal(matmul_interval(3, DTYPE_BF16, 512), 2 * 512);
    assert_int_equal(matmul_interval(4, DTYPE_FP32R, 512), 2 * 512);
}

TEST(weights_load_behind_the_matmul_before)
{
    struct model *model = model_new(2);
    struct outcome outcome;
    for (unsigned i = 0; i < 3; i++) {
        load_weights(model, DTYPE_BF16);
        matmul(model, DTYPE_BF16, i == 1 ? 64 : 512);
    }
    run_checked(model, &outcome);
    uint64_t first = started(&outcome, ENGINE_TENSOR, 1);
    assert_int_equal(first, 2 * 128); /* nothing to hide behind */
    assert_true(started(&outcome, ENGINE_TENSOR, 2) < first + 2 * 64);
    assert_int_equal(started(&outcome, ENGINE_TENSOR, 3), first + 2 * 512);
    /* 64 cycles of matmul do not hide 128 of loading, 16 of which the sequencer took. */
    assert_int_equal(started(&outcome, ENGINE_TENSOR, 5),
                     started(&outcome, ENGINE_TENSOR, 3) + 2 * (16 + 128));
    outcome_free(&outcome);
    model_free(model);
}

/* Ticks between the starts of two independent instructions. */
static uint64_t lanes_interval(uint32_t version, enum engine engine, struct instruction *example)
{
    struct model *model = model_new(version);
    struct outcome outcome;
    for (unsigned i = 0; i < 2; i++) {
        struct instruction *instruction = model_add(model, engine, OP_NOP);
        uint32_t origin = instruction->origin;
        *instruction = *example;
        instruction->origin = origin;
        instruction->wait_semaphore = instruction->update_semaphore = NO_SEMAPHORE;
    }
    run_checked(model, &outcome);
    uint64_t interval = started(&outcome, engine, 1) - started(&outcome, engine, 0);
    outcome_free(&outcome);
    model_free(model);
    return interval;
}

TEST(lanes_take_elements_at_the_rate_of_their_mode)
{
    struct instruction one = {.opcode = OP_TENSOR_COPY,
                              .src = {on_chip(MEMORY_SBUF, DTYPE_BF16, 0, 128, 0, 1000)},
                              .dst = on_chip(MEMORY_SBUF, DTYPE_BF16, 0, 128, 9000, 1000)};
    struct instruction two = one, wide = one, strided = one, psum = one;
    two.opcode = OP_TENSOR_TENSOR;
    two.alu = ALU_ADD;
    two.src[1] = two.src[0];
    wide.src[0].dtype = DTYPE_FP32;
    strided.src[0].step[3] = 2;
    psum.src[0].memory = MEMORY_PSUM;
    uint32_t cycle2 = 5, cycle3 = 5, scalar = 4; /* ticks: 5600 / 1120, 4800 / 960, 4800 / 1200 */
    assert_int_equal(lanes_interval(2, ENGINE_VECTOR, &one), 1000 * cycle2);
    assert_int_equal(lanes_interval(2, ENGINE_VECTOR, &two), 2000 * cycle2);
    assert_int_equal(lanes_interval(3, ENGINE_VECTOR, &one), 250 * cycle3);
    assert_int_equal(lanes_interval(3, ENGINE_VECTOR, &two), 500 * cycle3);
    assert_int_equal(lanes_interval(3, ENGINE_VECTOR, &wide), 500 * cycle3);
    assert_int_equal(lanes_interval(3, ENGINE_VECTOR, &strided), 500 * cycle3);
    assert_int_equal(lanes_interval(3, ENGINE_VECTOR, &psum), 500 * cycle3);
    assert_int_equal(lanes_interval(3, ENGINE_SCALAR, &one), 1000 * scalar);
    assert_int_equal(lanes_interval(4, ENGINE_SCALAR, &one), 500 * scalar);
    assert_int_equal(lanes_interval(4, ENGINE_SCALAR, &wide), 1000 * scalar);
    assert_int_equal(lanes_interval(3, ENGINE_GPSIMD, &one), 2000 * scalar);
}

TEST(tiny_and_dependent_instructions_pay_the_static_overhead)
{
    struct model *model = model_new(3);
    struct outcome outcome;
    copy(model, ENGINE_VECTOR, DTYPE_FP32, 2, 0, 1000);
    copy(model, ENGINE_VECTOR, DTYPE_FP32, 2, 2000, 3000); /* independent */
    copy(model, ENGINE_VECTOR, DTYPE_FP32, 2, 3000, 4000); /* of the one before */
    run_checked(model, &outcome);
    uint32_t cycle = 5;
    assert_int_equal(completed(&outcome, ENGINE_VECTOR, 0), 101 * cycle);
    assert_int_equal(started(&outcome, ENGINE_VECTOR, 1), 64 * cycle);
    assert_int_equal(started(&outcome, ENGINE_VECTOR, 2), (64 + 101) * cycle);
    outcome_free(&outcome);
    model_free(model);
}

TEST(ports_are_shared_in_the_second_generation_only)
{
    for (uint32_t version = 2; version <= 3; version++) {
        struct model *model = model_new(version);
        struct outcome outcome;
        copy(model, ENGINE_VECTOR, DTYPE_FP32, 1000, 0, 8000);
        copy(model, ENGINE_GPSIMD, DTYPE_FP32, 1000, 16000, 24000);
        copy(model, ENGINE_SCALAR, DTYPE_FP32, 1000, 32000, 40000);
        run_checked(model, &outcome);
        assert_int_equal(started(&outcome, ENGINE_VECTOR, 0), 0);
        assert_int_equal(started(&outcome, ENGINE_GPSIMD, 0), version == 2 ? 1000 * 5 : 0);
        assert_int_equal(started(&outcome, ENGINE_SCALAR, 0), 0);
        outcome_free(&outcome);
        model_free(model);
    }
}

TEST(a_semaphore_orders_engines_and_is_notified)
{
    struct model *model = model_new(2);
    struct outcome outcome;
    then_add(copy(model, ENGINE_VECTOR, DTYPE_FP32, 500, 0, 8000), 7, 3);
    wait_for(copy(model, ENGINE_SCALAR, DTYPE_FP32, 500, 8000, 16000), 7, 3);
    struct instruction *early = copy(model, ENGINE_GPSIMD, DTYPE_FP32, 500, 24000, 32000);
    then_add(early, 8, 1);
    early->update_time = UPDATE_AT_READ;
    wait_for(model_add(model, ENGINE_SYNC, OP_EVENT_SEMAPHORE), 8, 1);
    run_checked(model, &outcome);
    uint64_t complete = completed(&outcome, ENGINE_VECTOR, 0);
    assert_int_equal(complete, 600 * 5);
    const struct notification *event =
        outcome_find(&outcome, NOTIFICATION_EVENT, PHASE_POINT, ENGINE_VECTOR, 7);
    assert_non_null(event);
    assert_int_equal(event->time, complete);
    assert_int_equal(event->value, 3);
    assert_int_equal(event->detail, 0);
    assert_int_equal(started(&outcome, ENGINE_SCALAR, 0), complete);
    const struct notification *start =
        outcome_find(&outcome, NOTIFICATION_TRACE, PHASE_START, ENGINE_SCALAR, 0);
    assert_int_equal(start->value, complete); /* waited */
    assert_int_equal(started(&outcome, ENGINE_SYNC, 0),
                     completed(&outcome, ENGINE_GPSIMD, 0) - 100 * 4); /* read, not complete */
    outcome_free(&outcome);
    model_free(model);
}

TEST(drain_waits_for_what_was_issued)
{
    struct model *model = model_new(2);
    struct outcome outcome;
    load_weights(model, DTYPE_BF16);
    matmul(model, DTYPE_BF16, 512);
    model_add(model, ENGINE_TENSOR, OP_DRAIN);
    run_checked(model, &outcome);
    assert_int_equal(completed(&outcome, ENGINE_TENSOR, 1), 2 * (128 + 512 + 128));
    assert_int_equal(started(&outcome, ENGINE_TENSOR, 2), completed(&outcome, ENGINE_TENSOR, 1));
    outcome_free(&outcome);
    model_free(model);
}

/* --- DMA --- */

TEST(a_transfer_starts_after_the_latency_and_moves_at_its_engines_rate)
{
    struct model *model = dma_model(2, 16, 4096, 1);
    struct outcome outcome;
    run_checked(model, &outcome);
    const struct notification *start =
        outcome_find(&outcome, NOTIFICATION_TRACE_DMA, PHASE_START, 0, 0);
    const struct notification *end =
        outcome_find(&outcome, NOTIFICATION_TRACE_DMA, PHASE_END, 0, 0);
    const struct notification *event =
        outcome_find(&outcome, NOTIFICATION_EVENT, PHASE_POINT, ENGINE_SYNC, 1);
    assert_true(start && end && event);
    assert_int_equal(start->time, 7280); /* 1300 ns of 5.6 ticks */
    assert_int_equal(end->time - start->time, dma_ticks(16 * (4096 + 256), 5600, 17000));
    assert_int_equal(event->time - end->time, 3920); /* 700 ns */
    assert_int_equal(event->detail, NO_INDEX);
    assert_int_equal(outcome.result.dma_bytes, 65536);
    assert_int_equal(outcome.result.ticks, event->time);
    outcome_free(&outcome);
    model_free(model);
}

TEST(descriptors_are_spread_over_the_rings_and_wait_for_each_other)
{
    struct model *model = dma_model(2, 16, 4096, 20);
    struct outcome outcome;
    model->queues[0].rings = 4;
    model->queues[0].first_ring = 14;
    run_checked(model, &outcome);
    static const uint32_t units[] = {14, 15, 0, 1};
    uint64_t one = dma_ticks(16 * (4096 + 256), 5600, 17000);
    for (uint32_t i = 0; i < 20; i++) {
        const struct notification *start =
            outcome_find(&outcome, NOTIFICATION_TRACE_DMA, PHASE_START, units[i % 4], i);
        assert_non_null(start);
        assert_int_equal(start->time, 7280 + i / 4 * one);
    }
    outcome_free(&outcome);
    model_free(model);
}

static uint64_t block_ticks(uint32_t cores_on_stack)
{
    struct model *model = dma_model(3, 128, 16384, 16);
    struct core *core = core_new(
        &(struct core_options){.hardware = hardware_core(3), .cores_on_stack = cores_on_stack});
    struct outcome outcome;
    model_run_on(core, model, &outcome, 0);
    uint64_t ticks = outcome.result.ticks;
    outcome_free(&outcome);
    core_free(core);
    model_free(model);
    return ticks;
}

TEST(cores_share_the_bandwidth_of_their_stack)
{
    uint64_t bytes = UINT64_C(16) * 128 * 16384, fixed = 9600; /* 2 us */
    uint64_t alone = dma_ticks(bytes / 16 * (16384 + 256) / 16384, 4800, 23000);
    assert_int_equal(block_ticks(1), alone + fixed);
    uint64_t shared = dma_ticks(bytes, 4800, 725000 / 4);
    assert_in_range(block_ticks(4), shared + fixed, shared + fixed + 16);
}

/* --- Throttling --- */

TEST(the_tensor_engine_is_capped_after_idling_where_it_is_throttled)
{
    struct model *model = model_new(3);
    struct outcome outcome;
    load_weights(model, DTYPE_BF16);
    for (unsigned i = 0; i < 20; i++)
        matmul(model, DTYPE_BF16, 512);
    run_checked(model, &outcome);
    uint64_t window = 14400; /* 3 us of 4.8 ticks */
    uint64_t first = started(&outcome, ENGINE_TENSOR, 1);
    for (unsigned i = 1; i < 20; i++) {
        uint64_t start = started(&outcome, ENGINE_TENSOR, i);
        uint64_t interval = started(&outcome, ENGINE_TENSOR, i + 1) - start;
        assert_int_equal(interval, start < first + window ? 2 * 1024 : 1024);
    }
    const struct notification *cap = NULL, *lift = NULL;
    for (size_t i = 0; i < outcome.count; i++)
        if (outcome.items[i].type == NOTIFICATION_THROTTLE)
            *(cap ? &lift : &cap) = &outcome.items[i];
    assert_true(cap && lift);
    assert_int_equal(cap->time, first);
    assert_int_equal(cap->value, 512);
    assert_int_equal(lift->time, first + window);
    assert_int_equal(lift->value, 1024);
    outcome_free(&outcome);
    model_free(model);
}

TEST(low_use_caps_the_tensor_engine_again)
{
    struct model *model = model_new(4);
    struct outcome outcome;
    load_weights(model, DTYPE_BF16);
    for (unsigned i = 0; i < 20; i++)
        matmul(model, DTYPE_BF16, 512);
    /* Pauses of 2 us, in which Vector works, and one of 10 us. */
    for (uint32_t i = 1; i <= 5; i++) {
        uint32_t last = model->program.code_count[ENGINE_TENSOR] - 1;
        then_add(&model->code[ENGINE_TENSOR][last], 1, 1);
        struct instruction *pause =
            copy(model, ENGINE_VECTOR, DTYPE_FP32, i == 5 ? 24000 : 4800, 0, 100000);
        wait_for(pause, 1, i);
        then_add(pause, 2, 1);
        wait_for(matmul(model, DTYPE_BF16, 512), 2, i);
    }
    run_checked(model, &outcome);
    assert_int_equal(outcome.result.status, 0);
    uint32_t limits[8], kinds[8], count = 0;
    for (size_t i = 0; i < outcome.count && count < 8; i++)
        if (outcome.items[i].type == NOTIFICATION_THROTTLE) {
            limits[count] = outcome.items[i].value;
            kinds[count++] = outcome.items[i].id;
        }
    assert_true(count >= 4);
    assert_int_equal(limits[0], 512);
    assert_int_equal(limits[1], 1024);
    assert_int_equal(limits[2], 512);
    assert_int_equal(kinds[2], THROTTLE_ACTIVITY_1); /* measured */
    assert_int_equal(limits[3], 512);
    assert_int_equal(kinds[3], THROTTLE_ACTIVITY_0); /* after idling */
    outcome_free(&outcome);
    model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_matmul_takes_a_cycle_a_column_and_64_at_least),
        cmocka_unit_test(weights_load_behind_the_matmul_before),
        cmocka_unit_test(lanes_take_elements_at_the_rate_of_their_mode),
        cmocka_unit_test(tiny_and_dependent_instructions_pay_the_static_overhead),
        cmocka_unit_test(ports_are_shared_in_the_second_generation_only),
        cmocka_unit_test(a_semaphore_orders_engines_and_is_notified),
        cmocka_unit_test(drain_waits_for_what_was_issued),
        cmocka_unit_test(a_transfer_starts_after_the_latency_and_moves_at_its_engines_rate),
        cmocka_unit_test(descriptors_are_spread_over_the_rings_and_wait_for_each_other),
        cmocka_unit_test(cores_share_the_bandwidth_of_their_stack),
        cmocka_unit_test(the_tensor_engine_is_capped_after_idling_where_it_is_throttled),
        cmocka_unit_test(low_use_caps_the_tensor_engine_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
