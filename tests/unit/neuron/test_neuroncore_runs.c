/*
 * Runs of the simulated core: loops, collectives, runs that do not end, and that all of them are
 * the same each time.
 */
#include "neuroncore_programs.h"

static struct instruction *on_register(struct model *model, enum engine engine, enum opcode opcode,
                                       enum alu alu, int64_t by)
{
    struct instruction *instruction = model_add(model, engine, opcode);
    instruction->alu = (uint8_t)alu;
    instruction->index = 3;
    instruction->immediate_int[0] = by;
    return instruction;
}

TEST(loops_run_until_their_condition_fails_and_count_iterations)
{
    struct model *model = model_new(2);
    struct outcome outcome;
    /* Vector hands Scalar ten pieces, one at a time, by semaphores that Scalar clears. */
    struct instruction *give = model_add(model, ENGINE_VECTOR, OP_EVENT_SEMAPHORE);
    then_add(give, 1, 1);
    wait_for(model_add(model, ENGINE_VECTOR, OP_EVENT_SEMAPHORE), 2, 1);
    struct instruction *clear = model_add(model, ENGINE_VECTOR, OP_SEMAPHORE_RANGE_CLEAR);
    clear->index = 1;
    clear->count = 2;
    then_add(clear, 3, 1);
    on_register(model, ENGINE_VECTOR, OP_REGISTER_ALU, ALU_ADD, 1);
    on_register(model, ENGINE_VECTOR, OP_COMPARE_BRANCH, ALU_LESS, 10)->target = 0;
    struct instruction *take = model_add(model, ENGINE_SCALAR, OP_EVENT_SEMAPHORE);
    wait_for(take, 1, 1);
    then_add(take, 2, 1);
    struct instruction *next = model_add(model, ENGINE_SCALAR, OP_EVENT_SEMAPHORE);
    wait_for(next, 3, 1);
    struct instruction *reset = model_add(model, ENGINE_SCALAR, OP_EVENT_SEMAPHORE);
    then_add(reset, 3, 0);
    reset->update_kind = UPDATE_SET;
    reset->update_time = UPDATE_AT_READ;
    on_register(model, ENGINE_SCALAR, OP_REGISTER_ALU, ALU_ADD, 2);
    on_register(model, ENGINE_SCALAR, OP_COMPARE_BRANCH, ALU_NOT_EQUAL, 20)->target = 0;
    run_checked(model, &outcome);
    assert_int_equal(outcome.result.status, 0);
    assert_int_equal(outcome.result.instructions, 100);
    uint32_t seen = 0;
    for (size_t i = 0; i < outcome.count; i++) {
        const struct notification *n = &outcome.items[i];
        if (n->type == NOTIFICATION_TRACE && n->phase == PHASE_END && n->unit == ENGINE_SCALAR &&
            n->id == 0)
            assert_int_equal(n->detail, seen++);
    }
    assert_int_equal(seen, 10);
    outcome_free(&outcome);
    model_free(model);
}

TEST(explicit_notifications_mark_start_and_stop)
{
    struct model *model = model_new(3);
    struct outcome outcome;
    model_add(model, ENGINE_SYNC, OP_NOTIFY)->index = 0;
    then_add(copy(model, ENGINE_VECTOR, DTYPE_FP32, 1000, 0, 8000), 1, 1);
    struct instruction *stop = model_add(model, ENGINE_SYNC, OP_NOTIFY);
    stop->index = 1;
    wait_for(stop, 1, 1);
    run_checked(model, &outcome);
    const struct notification *first =
        outcome_find(&outcome, NOTIFICATION_NOTIFY, PHASE_POINT, ENGINE_SYNC, 0);
    const struct notification *last =
        outcome_find(&outcome, NOTIFICATION_NOTIFY, PHASE_POINT, ENGINE_SYNC, 1);
    assert_true(first && last);
    assert_int_equal(first->time, 0);
    assert_int_equal(last->time, completed(&outcome, ENGINE_VECTOR, 0));
    assert_int_equal(first->value, 0); /* the run has no number */
    outcome_free(&outcome);
    model_free(model);
}

/* --- Runs that do not end --- */

TEST(a_deadlock_names_the_engines_that_wait)
{
    struct model *model = model_new(2);
    struct outcome outcome;
    wait_for(model_add(model, ENGINE_VECTOR, OP_EVENT_SEMAPHORE), 9, 4);
    model_add(model, ENGINE_SYNC, OP_NOP);
    struct instruction *stuck = model_add(model, ENGINE_SYNC, OP_EVENT_SEMAPHORE);
    wait_for(stuck, 10, 1);
    then_add(stuck, 9, 1);
    run_checked(model, &outcome);
    assert_int_equal(outcome.result.status, 5);
    assert_string_equal(
        outcome.result.message,
        "The program is deadlocked: Vector waits at instruction 0 (EVENT_SEMAPHORE) "
        "for semaphore 9 >= 4, which is 0; Sync waits at instruction 1 "
        "(EVENT_SEMAPHORE) for semaphore 10 >= 1, which is 0");
    const struct notification *error =
        outcome_find(&outcome, NOTIFICATION_ERROR, PHASE_POINT, ENGINE_VECTOR, ERROR_TIMEOUT);
    assert_non_null(error);
    assert_int_equal(error->detail, 9);
    outcome_free(&outcome);
    model_free(model);
}

TEST(a_run_ends_at_its_time_limit_or_when_it_is_canceled)
{
    struct model *model = model_new(2);
    struct outcome outcome;
    on_register(model, ENGINE_GPSIMD, OP_COMPARE_BRANCH, ALU_EQUAL, 0)->target = 0;
    struct core *core = model_core(model, false);
    model_run_on(core, model, &outcome, 1000000);
    assert_int_equal(outcome.result.status, 5);
    assert_int_equal(outcome.result.ticks, 1000000);
    assert_string_equal(outcome.result.message, "The execution timed out");
    outcome_free(&outcome);
    bool canceled = true;
    struct core_result result;
    core_execute(core, &(struct core_run){.program = &model->program, .canceled = &canceled},
                 &result);
    assert_int_equal(result.status, 1);
    core_free(core);
    model_free(model);
}

/* --- Collectives --- */

struct exchange_log {
    uint32_t calls;
    uint64_t ready;
    bool fails;
};

static bool exchange_run(void *context, const struct collective *collective, uint32_t index,
                         const uint8_t *in, uint8_t *out, uint64_t ready, uint64_t *all_ready)
{
    struct exchange_log *log = context;
    assert_int_equal(index, 0);
    log->calls++;
    log->ready = ready;
    *all_ready = ready + 50000;
    if (out)
        for (uint64_t i = 0; i < collective->output_bytes; i++)
            out[i] = (uint8_t)(2 * in[i]);
    return !log->fails;
}

static struct model *collective_model(uint64_t bytes)
{
    struct model *model = model_new(2);
    uint32_t in = model_variable(model, VARIABLE_INPUT, DTYPE_UINT8, bytes);
    uint32_t out = model_variable(model, VARIABLE_OUTPUT, DTYPE_UINT8, bytes);
    memset(model->memory[in], 5, bytes);
    model->program.collective_count = 1;
    model->collectives[0] = (struct collective){.kind = COLLECTIVE_ALL_REDUCE,
                                                .dtype = DTYPE_UINT8,
                                                .alu = ALU_ADD,
                                                .semaphore = 4,
                                                .increment = 2,
                                                .input = in,
                                                .output = out,
                                                .input_bytes = bytes,
                                                .output_bytes = bytes};
    model_add(model, ENGINE_GPSIMD, OP_TRIGGER_COLLECTIVE);
    copy(model, ENGINE_VECTOR, DTYPE_FP32, 1000, 0, 8000);
    wait_for(model_add(model, ENGINE_SYNC, OP_EVENT_SEMAPHORE), 4, 2);
    return model;
}

static void run_with_exchange(struct model *model, struct exchange_log *log, uint32_t ranks,
                              struct outcome *outcome)
{
    struct core *core = model_core(model, true);
    struct core_exchange exchange = {.context = log, .rank_count = ranks, .run = exchange_run};
    *outcome = (struct outcome){0};
    core_execute(core,
                 &(struct core_run){.program = &model->program,
                                    .variables = model->memory,
                                    .exchange = log ? &exchange : NULL,
                                    .notify = outcome_take,
                                    .notify_context = outcome},
                 &outcome->result);
    core_free(core);
}

TEST(a_collective_waits_for_the_other_ranks_while_the_core_goes_on)
{
    struct model *model = collective_model(1 << 20);
    struct outcome outcome;
    struct exchange_log log = {0};
    run_with_exchange(model, &log, 8, &outcome);
    assert_int_equal(outcome.result.status, 0);
    assert_int_equal(log.calls, 1);
    assert_int_equal(model->memory[1][77], 10);
    assert_int_equal(started(&outcome, ENGINE_VECTOR, 0), 0);
    const struct notification *wait =
        outcome_find(&outcome, NOTIFICATION_COLLECTIVE, PHASE_END, 0, 0);
    assert_non_null(wait);
    assert_int_equal(wait->value, STEP_SEMAPHORE_WAIT);
    assert_int_equal(wait->time, log.ready + 50000 + 56000); /* and 10 us to begin */
    /* A ring over links that two cores share: 14 steps of an eighth. */
    uint64_t step = dma_ticks((1 << 20) / 8, 5600, 192000) + 11200;
    assert_int_equal(started(&outcome, ENGINE_SYNC, 0), wait->time + 14 * step);
    uint32_t advances = 0;
    for (size_t i = 0; i < outcome.count; i++)
        advances += outcome.items[i].type == NOTIFICATION_COLLECTIVE &&
                    outcome.items[i].phase == PHASE_START &&
                    outcome.items[i].value == STEP_DMA_ADVANCE;
    assert_int_equal(advances, 14);
    outcome_free(&outcome);
    model_free(model);
}

TEST(a_rank_alone_copies_and_a_rank_that_is_gone_is_an_error)
{
    struct model *model = collective_model(1000);
    struct outcome outcome;
    run_with_exchange(model, NULL, 1, &outcome);
    assert_int_equal(outcome.result.status, 0);
    assert_int_equal(model->memory[1][999], 5);
    outcome_free(&outcome);
    struct exchange_log log = {.fails = true};
    run_with_exchange(model, &log, 2, &outcome);
    assert_int_equal(outcome.result.status, 1200);
    assert_non_null(
        outcome_find(&outcome, NOTIFICATION_ERROR, PHASE_POINT, ENGINE_GPSIMD, ERROR_COLLECTIVE));
    outcome_free(&outcome);
    static const uint32_t pair[] = {0, 1};
    model->collectives[0].group_count = 1;
    model->collectives[0].group_size = 2;
    model->collectives[0].members = pair;
    run_with_exchange(model, NULL, 1, &outcome);
    assert_int_equal(outcome.result.status, 1200);
    assert_string_equal(outcome.result.message, "Collective 0 at GpSimd instruction 0 needs other "
                                                "ranks, but the program runs alone");
    outcome_free(&outcome);
    model_free(model);
}

/* --- Order --- */

TEST(runs_are_the_same_each_time_and_notifications_of_a_unit_are_in_order)
{
    struct model *model = dma_model(3, 64, 2048, 7);
    load_weights(model, DTYPE_BF16)->wait_semaphore = NO_SEMAPHORE;
    for (unsigned i = 0; i < 10; i++) {
        then_add(matmul(model, i % 3 ? DTYPE_BF16 : DTYPE_FP32, 100 + 40 * i), 5, 1);
        wait_for(copy(model, ENGINE_VECTOR, DTYPE_BF16, 100, 0, 8000), 5, i + 1);
        wait_for(copy(model, ENGINE_SCALAR, DTYPE_BF16, 300, 0, 16000), 1, 1);
    }
    struct core *core = model_core(model, false);
    struct outcome first, second;
    model_run_on(core, model, &first, 0);
    model_run_on(core, model, &second, 0);
    assert_int_equal(first.result.status, 0);
    assert_int_equal(first.count, second.count);
    assert_memory_equal(first.items, second.items, first.count * sizeof *first.items);
    uint64_t last[NOTIFICATION_TYPES][16] = {0};
    for (size_t i = 0; i < first.count; i++) {
        uint64_t *before = &last[first.items[i].type][first.items[i].unit];
        assert_true(first.items[i].time >= *before);
        *before = first.items[i].time;
    }
    struct core_result quiet;
    core_execute(core, &(struct core_run){.program = &model->program}, &quiet);
    assert_int_equal(quiet.ticks, first.result.ticks); /* profiling takes no simulated time */
    outcome_free(&first);
    outcome_free(&second);
    core_free(core);
    model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_run_until_their_condition_fails_and_count_iterations),
        cmocka_unit_test(explicit_notifications_mark_start_and_stop),
        cmocka_unit_test(a_deadlock_names_the_engines_that_wait),
        cmocka_unit_test(a_run_ends_at_its_time_limit_or_when_it_is_canceled),
        cmocka_unit_test(a_collective_waits_for_the_other_ranks_while_the_core_goes_on),
        cmocka_unit_test(a_rank_alone_copies_and_a_rank_that_is_gone_is_an_error),
        cmocka_unit_test(runs_are_the_same_each_time_and_notifications_of_a_unit_are_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
