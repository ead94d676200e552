/*
 * The core's functions and reductions, compared with the mathematical library's in double
 * precision.
 */
#include "neuron/simulator/functions.h"

#include "neuroncore_machine.h"

/* --- Functions --- */

static struct value activated(const struct machine *machine, uint32_t row, uint32_t index)
{
    const struct instruction *instruction = machine->instruction;
    struct value x = value_at(machine, &instruction->src[0], row, index);
    volatile float scaled = (float)x.number * (float)instruction->immediate[0];
    float bias = instruction->flags & FLAG_SCALAR_OPERAND
                     ? (float)value_at(machine, &instruction->src[1], row, 0).number
                     : (float)instruction->immediate[1];
    if (bias != 0)
        scaled = scaled + bias;
    return (struct value){.is_float = true,
                          .number =
                              (double)(float)reference_function(instruction->alu, (double)scaled)};
}

TEST(every_function_is_exact_to_a_unit_in_the_last_place)
{
    struct machine *machine = machine_new(MEMORY_PSUM);
    for (unsigned function = 0; function < FUNCTION_NOT; function++)
        for (unsigned i = 0; i < 8; i++) {
            struct shape shape = any_shape(machine),
                         one = {.partitions = shape.partitions, .size = {1, 1, 1, 1}};
            struct instruction *instruction = machine->instruction;
            begin(machine, OP_ACTIVATE);
            instruction->alu = (uint8_t)function;
            instruction->immediate[0] = i % 2 ? 1 : 0.37;
            instruction->immediate[1] = i % 4 == 3 ? -0.5 : 0;
            instruction->dst = any_operand(machine, 0, DTYPE_FP32, &shape, false);
            instruction->src[0] = any_operand(machine, 1, floats[i % 4], &shape, true);
            set_values(machine, &instruction->src[0], 0);
            if (i >= 6) {
                instruction->flags = FLAG_SCALAR_OPERAND;
                instruction->src[1] = any_operand(machine, 2, DTYPE_FP32, &one, false);
                set_values(machine, &instruction->src[1], 0);
            }
            expect(machine, activated, 1);
        }
    machine_free(machine);
}

TEST(functions_are_exact_over_the_whole_range_of_floats)
{
    enum { COUNT = 4096 };
    float in[COUNT], out[COUNT];
    struct rng rng = {.state = 3};
    for (unsigned function = 0; function < FUNCTION_NOT; function++) {
        for (unsigned i = 0; i < COUNT; i++) {
            uint32_t bits = (uint32_t)rng_u64(&rng);
            memcpy(&in[i], &bits, sizeof bits);
        }
        function_floats((enum function)function, in, out, COUNT);
        for (unsigned i = 0; i < COUNT; i++) {
            double exact = reference_function((enum function)function, (double)in[i]);
            struct value value = {.is_float = true, .number = (double)(float)exact};
            if (!was_stored(DTYPE_FP32, (const uint8_t *)&out[i], value, 1))
                fail_msg("%s(%.9g) = %.9g, not %.9g", function_name((enum function)function),
                         (double)in[i], (double)out[i], exact);
        }
    }
}

static struct value of_integer(const struct machine *machine, uint32_t row, uint32_t index)
{
    const struct instruction *instruction = machine->instruction;
    enum dtype dtype = instruction->src[0].dtype;
    __int128 x = value_at(machine, &instruction->src[0], row, index).integer, result = 0;
    unsigned bits = 8 * dtype_bytes(dtype), ones = 0, zeros = 0;
    __int128 raw = x < 0 ? x + ((__int128)1 << bits) : x;
    for (unsigned i = 0; i < bits; i++) {
        bool bit = raw >> i & 1;
        ones += bit;
        zeros = bit ? 0 : zeros + 1;
    }
    switch (instruction->alu) {
    case FUNCTION_NOT:
        result = ~x;
        break;
    case FUNCTION_POPULATION_COUNT:
        result = ones;
        break;
    case FUNCTION_LEADING_ZEROS:
        result = zeros;
        break;
    case FUNCTION_ABS:
        result = x < 0 ? -x : x;
        break;
    case FUNCTION_SIGN:
        result = (x > 0) - (x < 0);
        break;
    default:
        result = (__int128)((unsigned __int128)x * (unsigned __int128)x);
        break;
    }
    return (struct value){.integer = result, .number = (double)result};
}

TEST(functions_of_bits_know_the_width)
{
    struct machine *machine = machine_new(MEMORY_SBUF);
    static const enum function functions[] = {FUNCTION_NOT,           FUNCTION_POPULATION_COUNT,
                                              FUNCTION_LEADING_ZEROS, FUNCTION_ABS,
                                              FUNCTION_SIGN,          FUNCTION_SQUARE};
    for (unsigned f = 0; f < COUNT_OF(functions); f++)
        for (unsigned i = 0; i < 7; i++) {
            struct shape shape = any_shape(machine);
            begin(machine, OP_ACTIVATE);
            machine->instruction->alu = (uint8_t)functions[f];
            machine->instruction->dst = any_operand(machine, 0, integers[i], &shape, false);
            machine->instruction->src[0] = any_operand(machine, 1, integers[i], &shape, true);
            set_values(machine, &machine->instruction->src[0], 0);
            expect(machine, of_integer, 0);
        }
    machine_free(machine);
}

/* --- Reductions --- */

static struct value reduced(const struct machine *machine, uint32_t row, uint32_t index)
{
    const struct instruction *instruction = machine->instruction;
    const struct operand *source = &instruction->src[0];
    uint32_t inner = 1;
    for (unsigned i = 0; i < instruction->count; i++)
        inner *= source->size[3 - i];
    struct value result = in_register(value_at(machine, source, row, index * inner), false);
    for (uint32_t i = 1; i < inner; i++) {
        struct value next = value_at(machine, source, row, index * inner + i);
        result = in_register(combined(instruction->alu, source->dtype, result, next),
                             source->dtype == DTYPE_UINT64);
    }
    return result;
}

TEST(reductions_over_the_inner_dimensions)
{
    struct machine *machine = machine_new(MEMORY_SBUF);
    static const enum alu alus[] = {ALU_ADD, ALU_MULTIPLY, ALU_MAX, ALU_MIN, ALU_AND, ALU_OR};
    for (unsigned i = 0; i < 150; i++) {
        struct rng *rng = &machine->rng;
        struct shape shape = any_shape(machine), left = shape;
        struct instruction *instruction = machine->instruction;
        begin(machine, OP_REDUCE);
        enum alu alu = alus[i % COUNT_OF(alus)];
        /* Sums of floats that are exact in any order: small integers. */
        bool is_float = !is_of_bits(alu) && rng_below(rng, 2) && alu != ALU_MULTIPLY;
        instruction->alu = (uint8_t)alu;
        instruction->count = (uint16_t)(1 + rng_below(rng, 4));
        for (unsigned k = 0; k < instruction->count; k++)
            left.size[3 - k] = 1;
        instruction->src[0] = any_operand(
            machine, 1, is_float ? DTYPE_FP32 : integers[rng_below(rng, 7)], &shape, true);
        instruction->dst =
            any_operand(machine, 0, is_float ? DTYPE_FP32 : any_dtype(rng), &left, false);
        set_values(machine, &instruction->src[0], 0);
        for (uint32_t row = 0; is_float && alu == ALU_ADD && row < shape.partitions; row++)
            for (uint32_t e = 0; e < shape.elements; e++) {
                float value = (float)rng_below(rng, 2001) - 1000;
                memcpy(machine->before + element_at(&instruction->src[0], row, e), &value, 4);
            }
        expect(machine, reduced, is_min_max(alu));
    }
    machine_free(machine);
}

TEST(long_sums_are_close_to_exact)
{
    struct model *model = model_new(2);
    struct outcome outcome;
    enum { COUNT = 5000 };
    uint32_t in = model_variable(model, VARIABLE_INPUT, DTYPE_FP32, COUNT);
    uint32_t out = model_variable(model, VARIABLE_OUTPUT, DTYPE_FP32, 1);
    struct rng rng = {.state = 9};
    double exact = 0, sizes = 0;
    for (unsigned i = 0; i < COUNT; i++) {
        float value = ((float)(int64_t)(rng_u64(&rng) >> 40) - 0x1p23f) * 0x1p-20f;
        memcpy(model->memory[in] + 4 * i, &value, 4);
        exact += (double)value;
        sizes += fabs((double)value);
    }
    struct dma_end from = dma_rows(MEMORY_HBM, DTYPE_FP32, 1, COUNT),
                   to = dma_rows(MEMORY_HBM, DTYPE_FP32, 1, 1);
    from.variable = in;
    to.variable = out;
    model_dma(model, ENGINE_SYNC, from, dma_rows(MEMORY_SBUF, DTYPE_FP32, 1, COUNT), 1);
    struct instruction *sum = model_add(model, ENGINE_VECTOR, OP_REDUCE);
    sum->alu = ALU_ADD;
    sum->count = 1;
    sum->src[0] = on_chip(MEMORY_SBUF, DTYPE_FP32, 0, 1, 0, COUNT);
    sum->dst = on_chip(MEMORY_SBUF, DTYPE_FP32, 0, 1, 100000, 1);
    wait_for(sum, 1, 1);
    then_add(sum, 2, 1);
    struct dma_end result = dma_rows(MEMORY_SBUF, DTYPE_FP32, 1, 1);
    result.offset = 100000;
    wait_for(model_dma(model, ENGINE_SYNC, result, to, 3), 2, 1);
    model_run(model, true, &outcome);
    double got = (double)*(float *)model->memory[out];
    assert_true(fabs(got - exact) < sizes * 0x1p-24 * (COUNT / 16.0 + 4));
    outcome_free(&outcome);
    model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_is_exact_to_a_unit_in_the_last_place),
        cmocka_unit_test(functions_are_exact_over_the_whole_range_of_floats),
        cmocka_unit_test(functions_of_bits_know_the_width),
        cmocka_unit_test(reductions_over_the_inner_dimensions),
        cmocka_unit_test(long_sums_are_close_to_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
