/*
 * The Tensor engine's arithmetic: matmuls to the last bit, transposes.
 */
#include "neuron/simulator/matmul.h"

#include "neuroncore_machine.h"

/* --- Tensor engine --- */

TEST(all_kernels_give_the_same_bits)
{
    enum { ROWS = 37, W = 3, M = 5 };
    static float weights[W * ROWS * PANEL], moving[M * ROWS * PANEL];
    static float plain[W * PANEL * 512], fast[W * PANEL * 512];
    struct rng rng = {.state = 11};
    for (unsigned i = 0; i < COUNT_OF(weights); i++)
        weights[i] = any_float(&rng);
    for (unsigned i = 0; i < COUNT_OF(moving); i++)
        moving[i] = any_float(&rng);
    matmul_kernel_at(0)(weights, moving, ROWS, W, M, plain, 512);
    for (unsigned k = 1; matmul_kernel_at(k); k++) {
        memset(fast, 0, sizeof fast);
        matmul_kernel_at(k)(weights, moving, ROWS, W, M, fast, 512);
        for (unsigned i = 0; i < COUNT_OF(plain); i++)
            assert_true(is_same((double)plain[i], (double)fast[i]));
    }
}

struct matmul_case {
    uint32_t rows, columns, moving;
    enum dtype stationary_type, moving_type;
    bool accumulates;
};

/* Products and sums in the order of the rows, each rounded; then what was there before. */
static void try_matmul(const struct matmul_case *c)
{
    struct model *model = model_new(3);
    struct outcome outcome;
    struct rng rng = {.state = c->rows * 1000 + c->columns};
    uint32_t w =
        model_variable(model, VARIABLE_INPUT, c->stationary_type, (uint64_t)c->rows * c->columns);
    uint32_t x =
        model_variable(model, VARIABLE_INPUT, c->moving_type, (uint64_t)c->rows * c->moving);
    uint32_t y =
        model_variable(model, VARIABLE_OUTPUT, DTYPE_FP32, (uint64_t)c->columns * c->moving);
    float *weights = malloc((size_t)c->rows * c->columns * 4),
          *values = malloc((size_t)c->rows * c->moving * 4);
    for (uint32_t i = 0; i < c->rows * c->columns; i++)
        weights[i] = (float)(int64_t)(rng_u64(&rng) >> 44) * 0x1p-20f - 0.5f;
    for (uint32_t i = 0; i < c->rows * c->moving; i++)
        values[i] = (float)(int64_t)(rng_u64(&rng) >> 44) * 0x1p-20f - 0.5f;
    store_floats(c->stationary_type, weights, (size_t)c->rows * c->columns, model->memory[w],
                 dtype_bytes(c->stationary_type));
    store_floats(c->moving_type, values, (size_t)c->rows * c->moving, model->memory[x],
                 dtype_bytes(c->moving_type));
    for (uint32_t i = 0; i < c->rows * c->columns; i++)
        weights[i] = (float)reference_rounded(c->stationary_type, (double)weights[i]);
    for (uint32_t i = 0; i < c->rows * c->moving; i++)
        values[i] = (float)reference_rounded(c->moving_type, (double)values[i]);
    struct dma_end from = dma_rows(MEMORY_HBM, c->stationary_type, c->rows, c->columns);
    from.variable = w;
    model_dma(model, ENGINE_SYNC, from,
              dma_rows(MEMORY_SBUF, c->stationary_type, c->rows, c->columns), 1);
    from = dma_rows(MEMORY_HBM, c->moving_type, c->rows, c->moving);
    from.variable = x;
    struct dma_end to = dma_rows(MEMORY_SBUF, c->moving_type, c->rows, c->moving);
    to.offset = 4096;
    model_dma(model, ENGINE_SYNC, from, to, 1);
    struct instruction *load = model_add(model, ENGINE_TENSOR, OP_LDWEIGHTS);
    load->src[0] = on_chip(MEMORY_SBUF, c->stationary_type, 0, c->rows, 0, c->columns);
    wait_for(load, 1, 2);
    for (unsigned i = 0; i < (c->accumulates ? 2u : 1u); i++) {
        struct instruction *multiply = model_add(model, ENGINE_TENSOR, OP_MATMUL);
        multiply->src[0] = on_chip(MEMORY_SBUF, c->moving_type, 0, c->rows, 4096, c->moving);
        multiply->dst = on_chip(MEMORY_PSUM, DTYPE_FP32, 0, c->columns, 2048, c->moving);
        multiply->flags = i ? FLAG_ACCUMULATE : 0;
        then_add(multiply, 2, 1);
    }
    struct dma_end out = dma_rows(MEMORY_PSUM, DTYPE_FP32, c->columns, c->moving);
    out.offset = 2048;
    to = dma_rows(MEMORY_HBM, DTYPE_FP32, c->columns, c->moving);
    to.variable = y;
    wait_for(model_dma(model, ENGINE_SYNC, out, to, 3), 2, c->accumulates ? 2 : 1);
    struct error err;
    if (!program_check(&model->program, &err))
        fail_msg("%s", err.text);
    model_run(model, true, &outcome);
    assert_int_equal(outcome.result.status, 0);
    for (uint32_t m = 0; m < c->columns; m++)
        for (uint32_t n = 0; n < c->moving; n++) {
            volatile float sum = 0;
            for (uint32_t k = 0; k < c->rows; k++) {
                volatile float product = weights[k * c->columns + m] * values[k * c->moving + n];
                sum = sum + product;
            }
            if (c->accumulates)
                sum = sum + sum;
            assert_true(
                is_same((double)((float *)model->memory[y])[m * c->moving + n], (double)sum));
        }
    free(weights);
    free(values);
    outcome_free(&outcome);
    model_free(model);
}

TEST(matmuls_multiply_and_accumulate)
{
    static const struct matmul_case cases[] = {
        {128, 128, 512, DTYPE_BF16, DTYPE_BF16, false},
        {1, 1, 1, DTYPE_FP32, DTYPE_FP32, true},
        {127, 128, 127, DTYPE_FP32, DTYPE_FP32, true},
        {128, 127, 511, DTYPE_FP16, DTYPE_BF16, false},
        {33, 17, 65, DTYPE_FP8_E4, DTYPE_FP8_E5, true},
        {5, 16, 16, DTYPE_FP8_E3, DTYPE_FP32R, false},
        {64, 1, 512, DTYPE_BF16, DTYPE_FP32, false},
        {1, 128, 3, DTYPE_FP16, DTYPE_FP16, true},
    };
    for (unsigned i = 0; i < COUNT_OF(cases); i++)
        try_matmul(&cases[i]);
}

/* Bytes as they are, NaN included, of every width. */
TEST(transposes_are_exact)
{
    static const enum dtype types[] = {DTYPE_UINT8, DTYPE_BF16, DTYPE_FP32, DTYPE_INT64};
    static const uint32_t sizes[][2] = {{128, 128}, {1, 128}, {127, 1}, {33, 65}};
    for (unsigned c = 0; c < COUNT_OF(types) * COUNT_OF(sizes); c++) {
        enum dtype dtype = types[c / 4];
        uint32_t rows = sizes[c % 4][0], columns = sizes[c % 4][1], bytes = dtype_bytes(dtype);
        struct model *model = model_new(2);
        struct outcome outcome;
        struct rng rng = {.state = c};
        uint32_t in = model_variable(model, VARIABLE_INPUT, dtype, (uint64_t)rows * columns);
        uint32_t out = model_variable(model, VARIABLE_OUTPUT, dtype, (uint64_t)rows * columns);
        rng_fill(&rng, model->memory[in], (size_t)rows * columns * bytes);
        struct dma_end from = dma_rows(MEMORY_HBM, dtype, rows, columns);
        struct dma_end to = dma_rows(MEMORY_HBM, dtype, columns, rows);
        from.variable = in;
        to.variable = out;
        model_dma(model, ENGINE_SYNC, from, dma_rows(MEMORY_SBUF, dtype, rows, columns), 1);
        struct instruction *transpose = model_add(model, ENGINE_TENSOR, OP_TRANSPOSE);
        transpose->src[0] = on_chip(MEMORY_SBUF, dtype, 0, rows, 0, columns);
        transpose->dst = on_chip(MEMORY_PSUM, dtype, 0, columns, 0, rows);
        wait_for(transpose, 1, 1);
        then_add(transpose, 2, 1);
        wait_for(model_dma(model, ENGINE_SYNC, dma_rows(MEMORY_PSUM, dtype, columns, rows), to, 3),
                 2, 1);
        struct error err;
        if (!program_check(&model->program, &err))
            fail_msg("%s", err.text);
        model_run(model, true, &outcome);
        for (uint32_t row = 0; row < rows; row++)
            for (uint32_t column = 0; column < columns; column++)
                assert_memory_equal(model->memory[in] + (row * columns + column) * bytes,
                                    model->memory[out] + (column * rows + row) * bytes, bytes);
        outcome_free(&outcome);
        model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kernels_give_the_same_bits),
        cmocka_unit_test(matmuls_multiply_and_accumulate),
        cmocka_unit_test(transposes_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
