/*
 * DMA of the simulated core: elements of both ends meet in row-major order whatever their shapes,
 * casts, accumulation, gathers and scatters, offsets from registers, and errors.
 */
#include "neuroncore_model.h"

#include <math.h>

TEST(a_tile_goes_to_sbuf_and_back)
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
    model_dma(model, ENGINE_SYNC, from, dma_rows(MEMORY_SBUF, DTYPE_FP32, 128, 300), 1);
    wait_for(model_dma(model, ENGINE_SYNC, dma_rows(MEMORY_SBUF, DTYPE_FP32, 128, 300), to, 2), 1,
             1);
    model_run(model, true, &outcome);
    assert_int_equal(outcome.result.status, 0);
    assert_memory_equal(model->memory[in], model->memory[out], 128 * 300 * 4);
    outcome_free(&outcome);
    model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tile_goes_to_sbuf_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
