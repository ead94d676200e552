/*
 * DMA of the simulated core: elements of both ends meet in row-major order whatever their shapes,
 * casts, accumulation, gathers and scatters, offsets from registers, checksums, and errors.
 */
#include "neuroncore_model.h"

#include <math.h>

static void run_checked_on(struct core *core, struct model *model, struct outcome *outcome)
{
    struct error err;
    if (!program_check(&model->program, &err))
        fail_msg("%s", err.text);
    model_run_on(core, model, outcome, 0);
}

static void run_checked(struct model *model, struct outcome *outcome)
{
    struct core *core = model_core(model, true);
    run_checked_on(core, model, outcome);
    core_free(core);
}

/* Bit by bit. */
static uint32_t slow_crc(const uint8_t *data, size_t size)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0xEDB88320 : crc >> 1;
    }
    return ~crc;
}

TEST(a_tile_goes_to_sbuf_and_back_with_its_checksum)
{
    struct model *model = model_new(2);
    struct outcome outcome;
    uint32_t in = model_variable(model, VARIABLE_INPUT, DTYPE_FP32, 128 * 300);
    uint32_t out = model_variable(model, VARIABLE_OUTPUT, DTYPE_FP32, 128 * 300);
    float *values = (float *)model->memory[in];
    for (int i = 0; i < 128 * 300; i++)
        values[i] = (float)i;
    struct dma_end from = dma_rows(MEMORY_HBM, DTYPE_FP32, 128, 300), to = from;
    from.variable = in;
    to.variable = out;
    struct dma_end chip = dma_rows(MEMORY_SBUF, DTYPE_FP32, 128, 300);
    model_dma(model, ENGINE_SYNC, from, chip, 1);
    wait_for(model_dma(model, ENGINE_SYNC, chip, to, 2), 1, 1);
    run_checked(model, &outcome);
    assert_int_equal(outcome.result.status, 0);
    assert_memory_equal(model->memory[in], model->memory[out], 128 * 300 * 4);
    uint32_t crc = slow_crc(model->memory[in], 128 * 300 * 4);
    for (uint32_t i = 0; i < 2; i++) {
        const struct notification *end =
            outcome_find(&outcome, NOTIFICATION_TRACE_DMA, PHASE_END, i, i);
        assert_non_null(end);
        assert_int_equal(end->value, crc);
    }
    outcome_free(&outcome);
    model_free(model);
}

/* --- Any shape to any other --- */

enum { ELEMENTS = 720, SPACE = 40000 };

/* Sizes whose product is ELEMENTS, the first at most 128, with gaps and in any order of steps. */
static struct dma_end any_end(struct rng *rng, enum memory memory, enum dtype dtype)
{
    static const uint32_t splits[][DMA_DIMENSIONS] = {{1, 1, 1, 1, 720}, {120, 1, 1, 1, 6},
                                                      {5, 4, 3, 2, 6},   {90, 2, 1, 4, 1},
                                                      {1, 6, 1, 10, 12}, {48, 1, 15, 1, 1}};
    struct dma_end end = {
        .memory = (uint8_t)memory, .dtype = (uint8_t)dtype, .offset_register = NO_REGISTER};
    const uint32_t *sizes = splits[rng_below(rng, COUNT_OF(splits))];
    unsigned order[DMA_DIMENSIONS] = {4, 3, 2, 1, 0};
    for (unsigned i = DMA_DIMENSIONS - 1; i > 0; i--) { /* a transposition is a DMA as well */
        unsigned k = (unsigned)rng_below(rng, i + 1), swapped = order[i];
        order[i] = order[k];
        order[k] = swapped;
    }
    int64_t step = 1 + (int64_t)rng_below(rng, 2), first = 0;
    for (unsigned i = 0; i < DMA_DIMENSIONS; i++) {
        unsigned at = order[i];
        end.size[at] = sizes[at];
        if (at == 0 && memory != MEMORY_HBM)
            continue;
        end.step[at] = rng_below(rng, 3) ? step : -step;
        first += end.step[at] < 0 ? step * (sizes[at] - 1) : 0;
        step = step * sizes[at] + (int64_t)rng_below(rng, 3);
    }
    end.offset = (uint64_t)first * dtype_bytes(dtype);
    if (memory != MEMORY_HBM) {
        bool is_turned = rng_below(rng, 2);
        end.step[0] = is_turned ? -1 : 1;
        end.partition = (uint8_t)(is_turned ? sizes[0] - 1 : rng_below(rng, 129 - sizes[0]));
    }
    return end;
}

/* Byte offset of an element of an end in HBM. */
static size_t end_at(const struct dma_end *end, uint32_t index)
{
    int64_t offset = 0;
    for (int i = DMA_DIMENSIONS - 1; i >= 0; i--) {
        offset += (int64_t)(index % end->size[i]) * end->step[i];
        index /= end->size[i];
    }
    return (size_t)((int64_t)end->offset + offset * dtype_bytes(end->dtype));
}

TEST(elements_meet_in_order_whatever_the_shapes)
{
    struct rng rng = {.state = 2};
    struct core *core = core_new(
        &(struct core_options){.hardware = hardware_core(2), .compute = true, .cores_on_stack = 1});
    for (unsigned round = 0; round < 200; round++) {
        static const enum dtype types[] = {DTYPE_UINT8, DTYPE_UINT16, DTYPE_INT32, DTYPE_INT64};
        enum dtype dtype = types[round % 4];
        struct model *model = model_new(2);
        struct outcome outcome;
        uint32_t in = model_variable(model, VARIABLE_INPUT, dtype, SPACE);
        uint32_t out = model_variable(model, VARIABLE_OUTPUT, dtype, SPACE);
        rng_fill(&rng, model->memory[in], SPACE * dtype_bytes(dtype));
        struct dma_end from = any_end(&rng, MEMORY_HBM, dtype),
                       to = any_end(&rng, MEMORY_HBM, dtype);
        enum memory memory = round % 3 || dtype_bytes(dtype) > 2 ? MEMORY_SBUF : MEMORY_PSUM;
        struct dma_end chip_in = any_end(&rng, memory, dtype), chip_out = chip_in;
        from.variable = in;
        to.variable = out;
        model_dma(model, ENGINE_SYNC, from, chip_in, 1);
        wait_for(model_dma(model, ENGINE_SYNC, chip_out, to, 2), 1, 1);
        run_checked_on(core, model, &outcome);
        assert_int_equal(outcome.result.status, 0);
        uint8_t *expected = calloc(SPACE, dtype_bytes(dtype));
        for (uint32_t i = 0; i < ELEMENTS; i++)
            memcpy(expected + end_at(&to, i), model->memory[in] + end_at(&from, i),
                   dtype_bytes(dtype));
        assert_memory_equal(model->memory[out], expected, SPACE * dtype_bytes(dtype));
        free(expected);
        outcome_free(&outcome);
        model_free(model);
    }
    core_free(core);
}

/* --- Casts and accumulation --- */

TEST(transfers_cast_and_accumulate)
{
    enum { COUNT = 3000 };
    static const enum dma_operation operations[] = {DMA_COPY, DMA_ADD, DMA_MIN, DMA_MAX};
    for (unsigned i = 0; i < 4; i++) {
        struct model *model = model_new(3);
        struct outcome outcome;
        uint32_t in = model_variable(model, VARIABLE_INPUT, DTYPE_INT16, COUNT);
        uint32_t floats = model_variable(model, VARIABLE_OUTPUT, DTYPE_FP32, COUNT);
        uint32_t wholes = model_variable(model, VARIABLE_OUTPUT, DTYPE_INT32, COUNT);
        for (int k = 0; k < COUNT; k++) {
            ((int16_t *)model->memory[in])[k] = (int16_t)(k * 7 - 9000);
            ((float *)model->memory[floats])[k] = 0.5f;
            ((int32_t *)model->memory[wholes])[k] = 1000000;
        }
        struct dma_end from = dma_rows(MEMORY_HBM, DTYPE_INT16, 1, COUNT);
        struct dma_end to = dma_rows(MEMORY_HBM, DTYPE_FP32, 3, COUNT / 3);
        from.variable = in;
        to.variable = floats;
        model_dma(model, ENGINE_SYNC, from, to, 1);
        to.dtype = DTYPE_INT32;
        to.variable = wholes;
        model_dma(model, ENGINE_SYNC, from, to, 1);
        model->descriptors[0].operation = model->descriptors[1].operation = (uint8_t)operations[i];
        run_checked(model, &outcome);
        for (int k = 0; k < COUNT; k++) {
            int32_t x = k * 7 - 9000, whole = 1000000;
            float number = 0.5f;
            switch (operations[i]) {
            case DMA_COPY:
                whole = x;
                number = (float)x;
                break;
            case DMA_ADD:
                whole += x;
                number += (float)x;
                break;
            case DMA_MIN:
                whole = x;
                number = x > 0 ? 0.5f : (float)x;
                break;
            case DMA_MAX:
                number = x > 0 ? (float)x : 0.5f;
                break;
            }
            assert_int_equal(((int32_t *)model->memory[wholes])[k], whole);
            assert_true(((float *)model->memory[floats])[k] == number);
        }
        outcome_free(&outcome);
        model_free(model);
    }
}

/* --- Gathers and scatters --- */

enum { VOCABULARY = 50, WIDTH = 20, TOKENS = 9 };

/* Loads indices, gathers their rows of a table, and adds them to the same rows of another. */
static struct model *embedding_model(const int32_t *indices)
{
    struct model *model = model_new(3);
    uint32_t list = model_variable(model, VARIABLE_INPUT, DTYPE_INT32, TOKENS);
    uint32_t table = model_variable(model, VARIABLE_INPUT, DTYPE_FP32, VOCABULARY * WIDTH);
    uint32_t sums = model_variable(model, VARIABLE_OUTPUT, DTYPE_FP32, VOCABULARY * WIDTH);
    memcpy(model->memory[list], indices, TOKENS * sizeof *indices);
    for (int i = 0; i < VOCABULARY * WIDTH; i++)
        ((float *)model->memory[table])[i] = (float)i;
    struct dma_end from = dma_rows(MEMORY_HBM, DTYPE_INT32, TOKENS, 1);
    from.variable = list;
    struct dma_end index = dma_rows(MEMORY_SBUF, DTYPE_INT32, TOKENS, 1);
    index.offset = 4096;
    model_dma(model, ENGINE_GPSIMD, from, index, 1);
    struct dma_end rows = dma_rows(MEMORY_HBM, DTYPE_FP32, TOKENS, WIDTH);
    rows.step[0] = 0;
    rows.register_step = WIDTH * sizeof(float);
    rows.variable = table;
    struct dma_end chip = dma_rows(MEMORY_SBUF, DTYPE_FP32, TOKENS, WIDTH);
    wait_for(model_dma(model, ENGINE_GPSIMD, rows, chip, 2), 1, 1);
    rows.variable = sums;
    wait_for(model_dma(model, ENGINE_GPSIMD, chip, rows, 3), 2, 1);
    for (unsigned i = 1; i <= 2; i++) {
        model->descriptors[i].indirect = (uint8_t)(i == 1 ? DMA_GATHER : DMA_SCATTER);
        model->descriptors[i].indices = on_chip(MEMORY_SBUF, DTYPE_INT32, 0, TOKENS, 4096, 1);
        model->descriptors[i].index_limit = VOCABULARY;
    }
    model->descriptors[2].operation = DMA_ADD;
    return model;
}

TEST(rows_are_gathered_and_scattered_by_index)
{
    static const int32_t indices[TOKENS] = {3, 49, 0, 3, 17, 3, 1, 48, 0};
    struct model *model = embedding_model(indices);
    struct outcome outcome;
    run_checked(model, &outcome);
    assert_int_equal(outcome.result.status, 0);
    float expected[VOCABULARY * WIDTH] = {0};
    for (unsigned i = 0; i < TOKENS; i++)
        for (int k = 0; k < WIDTH; k++)
            expected[indices[i] * WIDTH + k] += (float)(indices[i] * WIDTH + k);
    assert_memory_equal(model->memory[2], expected, sizeof expected);
    outcome_free(&outcome);
    model_free(model);
}

TEST(an_index_out_of_bounds_is_left_out_and_reported)
{
    static const int32_t bad[] = {50, -1, INT32_MAX, INT32_MIN};
    for (unsigned b = 0; b < COUNT_OF(bad); b++) {
        int32_t indices[TOKENS] = {3, 4, 5, 6, 7, 8, 9, 10, 11};
        indices[4] = bad[b];
        struct model *model = embedding_model(indices);
        struct outcome outcome;
        run_checked(model, &outcome);
        assert_int_equal(outcome.result.status, 1006);
        char message[256];
        snprintf(message, sizeof message,
                 "DMA descriptor 1: index %d is out of the bounds of variable v1", bad[b]);
        assert_string_equal(outcome.result.message, message);
        const struct notification *error =
            outcome_find(&outcome, NOTIFICATION_ERROR, PHASE_POINT, 0, ERROR_EMBD_OOB);
        assert_non_null(error);
        assert_int_equal(error->value, 1);
        assert_int_equal(error->detail, 1);
        float expected[VOCABULARY * WIDTH] = {0};
        for (int i = 3; i <= 11; i++)
            for (int k = 0; k < WIDTH && i != 7; k++)
                expected[i * WIDTH + k] = (float)(i * WIDTH + k);
        assert_memory_equal(model->memory[2], expected, sizeof expected);
        outcome_free(&outcome);
        model_free(model);
    }
}

/* --- Offsets from registers --- */

/* Copies row by row, in a loop over the rows; the number of the last one is loaded from memory. */
static struct model *loop_model(int32_t last)
{
    struct model *model = model_new(3);
    uint32_t in = model_variable(model, VARIABLE_INPUT, DTYPE_BF16, 10 * 64);
    uint32_t out = model_variable(model, VARIABLE_OUTPUT, DTYPE_BF16, 10 * 64);
    uint32_t limit = model_variable(model, VARIABLE_INPUT, DTYPE_INT32, 1);
    for (unsigned i = 0; i < 640; i++)
        ((uint16_t *)model->memory[in])[i] = (uint16_t)(i + 1);
    *(int32_t *)model->memory[limit] = last;
    struct dma_end from = dma_rows(MEMORY_HBM, DTYPE_INT32, 1, 1),
                   row = dma_rows(MEMORY_HBM, DTYPE_BF16, 1, 64);
    from.variable = limit;
    struct dma_end chip = dma_rows(MEMORY_SBUF, DTYPE_INT32, 1, 1);
    chip.offset = 1024;
    model_dma(model, ENGINE_SYNC, from, chip, 1);
    struct instruction *load = model_add(model, ENGINE_SYNC, OP_TENSOR_LOAD);
    load->index = 5;
    load->src[0] = on_chip(MEMORY_SBUF, DTYPE_INT32, 0, 1, 1024, 1);
    wait_for(load, 1, 1);
    row.offset_register = 5;
    row.register_step = 128;
    row.variable = in;
    struct dma_end place = dma_rows(MEMORY_SBUF, DTYPE_BF16, 1, 64);
    model_dma(model, ENGINE_SYNC, row, place, 2);
    row.variable = out;
    wait_for(model_dma(model, ENGINE_SYNC, place, row, 3), 2, 1);
    struct instruction *clear = model_add(model, ENGINE_SYNC, OP_SEMAPHORE_RANGE_CLEAR);
    clear->index = 2;
    clear->count = 2;
    wait_for(clear, 3, 1);
    struct instruction *next = model_add(model, ENGINE_SYNC, OP_REGISTER_ALU);
    next->index = 5;
    next->alu = ALU_SUBTRACT;
    next->immediate_int[0] = 1;
    struct instruction *again = model_add(model, ENGINE_SYNC, OP_COMPARE_BRANCH);
    again->index = 5;
    again->alu = ALU_GREATER_EQUAL;
    again->target = 2;
    return model;
}

TEST(offsets_come_from_registers)
{
    struct model *model = loop_model(9);
    struct outcome outcome;
    run_checked(model, &outcome);
    assert_int_equal(outcome.result.status, 0);
    assert_memory_equal(model->memory[0], model->memory[1], 1280);
    outcome_free(&outcome);
    model_free(model);
}

TEST(a_register_out_of_bounds_is_left_out_and_reported)
{
    struct model *model = loop_model(10);
    struct outcome outcome;
    run_checked(model, &outcome);
    assert_int_equal(outcome.result.status, 1006);
    assert_string_equal(outcome.result.message,
                        "DMA descriptor 1: offset register 10 is out of the bounds of variable v0");
    assert_non_null(outcome_find(&outcome, NOTIFICATION_ERROR, PHASE_POINT, 0, ERROR_DMAI_OOB));
    assert_memory_equal(model->memory[0], model->memory[1], 1280);
    outcome_free(&outcome);
    model_free(model);
}

TEST(dynamic_transfers_are_notified_on_request_and_cost_their_generation)
{
    struct model *model = loop_model(0);
    struct core *core = model_core(model, true);
    struct outcome with, without = {0};
    model_run_on(core, model, &with, 0);
    core_execute(core,
                 &(struct core_run){.program = &model->program,
                                    .variables = model->memory,
                                    .notify = outcome_take,
                                    .notify_context = &without},
                 &without.result);
    assert_int_equal(with.result.ticks, without.result.ticks);
    const struct notification *start =
        outcome_find(&with, NOTIFICATION_TRACE_DMA, PHASE_START, 1, 1);
    assert_non_null(start);
    assert_null(outcome_find(&without, NOTIFICATION_TRACE_DMA, PHASE_START, 1, 1));
    assert_non_null(outcome_find(&without, NOTIFICATION_TRACE_DMA, PHASE_START, 0, 0));
    /* 600 ns for the generation, 1300 ns as others, at 4.8 ticks. */
    assert_int_equal(start->time - started(&with, ENGINE_SYNC, 2), 2880 + 6240);
    outcome_free(&with);
    outcome_free(&without);
    core_free(core);
    model_free(model);
}

/* --- Numbers --- */

TEST(bad_numbers_in_outputs_are_reported_and_the_run_completes)
{
    static const struct {
        float value;
        enum error_kind kind;
        const char *message;
    } cases[] = {{NAN, ERROR_NAN, "DMA descriptor 1 writes NaN to output v1"},
                 {-INFINITY, ERROR_INFINITY, "DMA descriptor 1 writes infinity to output v1"},
                 {3e38f, ERROR_NAN, ""}};
    for (unsigned i = 0; i < COUNT_OF(cases); i++) {
        struct model *model = model_new(2);
        struct outcome outcome;
        uint32_t in = model_variable(model, VARIABLE_INPUT, DTYPE_FP32, 1000);
        uint32_t out = model_variable(model, VARIABLE_OUTPUT, DTYPE_FP32, 1000);
        ((float *)model->memory[in])[777] = cases[i].value;
        struct dma_end from = dma_rows(MEMORY_HBM, DTYPE_FP32, 10, 100), to = from;
        from.variable = in;
        to.variable = out;
        struct dma_end chip = dma_rows(MEMORY_SBUF, DTYPE_FP32, 10, 100);
        model_dma(model, ENGINE_SYNC, from, chip, 1);
        wait_for(model_dma(model, ENGINE_SYNC, chip, to, 2), 1, 1);
        run_checked(model, &outcome);
        bool is_bad = cases[i].message[0] != '\0';
        assert_int_equal(outcome.result.status, is_bad ? 1003 : 0);
        assert_string_equal(outcome.result.message, cases[i].message);
        const struct notification *error =
            outcome_find(&outcome, NOTIFICATION_ERROR, PHASE_POINT, 0, cases[i].kind);
        assert_true(is_bad == (error != NULL));
        assert_memory_equal(model->memory[in], model->memory[out], 4000);
        outcome_free(&outcome);
        model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tile_goes_to_sbuf_and_back_with_its_checksum),
        cmocka_unit_test(elements_meet_in_order_whatever_the_shapes),
        cmocka_unit_test(transfers_cast_and_accumulate),
        cmocka_unit_test(rows_are_gathered_and_scattered_by_index),
        cmocka_unit_test(an_index_out_of_bounds_is_left_out_and_reported),
        cmocka_unit_test(offsets_come_from_registers),
        cmocka_unit_test(a_register_out_of_bounds_is_left_out_and_reported),
        cmocka_unit_test(dynamic_transfers_are_notified_on_request_and_cost_their_generation),
        cmocka_unit_test(bad_numbers_in_outputs_are_reported_and_the_run_completes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
