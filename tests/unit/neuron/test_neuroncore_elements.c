/*
 * The core's elementwise arithmetic: every operation, with every data type, compared with the
 * reference; and no byte beside the destination changes.
 */
#include "neuroncore_machine.h"

/* --- Copies and conversions --- */

static struct value copied(const struct machine *machine, uint32_t row, uint32_t index)
{
    return value_at(machine, &machine->instruction->src[0], row, index);
}

TEST(every_type_is_converted_to_every_other)
{
    struct machine *machine = machine_new(MEMORY_SBUF);
    for (unsigned from = 1; from < DTYPE_COUNT; from++)
        for (unsigned to = 1; to < DTYPE_COUNT; to++) {
            struct shape shape = any_shape(machine);
            begin(machine, OP_TENSOR_COPY);
            machine->instruction->dst = any_operand(machine, 0, (enum dtype)to, &shape, false);
            machine->instruction->src[0] = any_operand(machine, 1, (enum dtype)from, &shape, true);
            set_values(machine, &machine->instruction->src[0], 0);
            expect(machine, copied, 0);
        }
    machine_free(machine);
}

TEST(small_floats_round_as_the_nearest_of_all_their_values)
{
    struct rng rng = {.state = 5};
    static const enum dtype small[] = {DTYPE_FP8_E3, DTYPE_FP8_E4, DTYPE_FP8_E5, DTYPE_FP16,
                                       DTYPE_BF16};
    for (unsigned d = 0; d < COUNT_OF(small); d++)
        for (unsigned i = 0; i < 65536; i++) {
            uint16_t bits = (uint16_t)i, back = 0;
            float value, between;
            load_floats(small[d], (const uint8_t *)&bits, 0, 1, &value);
            assert_true(is_same((double)value, reference_float(small[d], (const uint8_t *)&bits)));
            store_floats(small[d], &value, 1, (uint8_t *)&back, 0);
            if (value == value) /* all codes but those of NaN come back */
                assert_int_equal(back, dtype_bytes(small[d]) == 1 ? bits & 255 : bits);
            between = value * (1 + (float)rng_below(&rng, 1 << 20) * 0x1p-20f * 0.2f);
            store_floats(small[d], &between, 1, (uint8_t *)&back, 0);
            assert_true(is_same(reference_float(small[d], (const uint8_t *)&back),
                                reference_rounded(small[d], (double)between)));
        }
}

/* --- Operations on two operands --- */

static bool has_uint64(const struct instruction *instruction)
{
    return instruction->src[0].dtype == DTYPE_UINT64 || instruction->src[1].dtype == DTYPE_UINT64;
}

static struct value tensor_tensor(const struct machine *machine, uint32_t row, uint32_t index)
{
    const struct instruction *instruction = machine->instruction;
    bool is_unsigned = has_uint64(instruction);
    struct value a = value_at(machine, &instruction->src[0], row, index);
    struct value b = value_at(machine, &instruction->src[1], row, index);
    bool integer = !a.is_float && !b.is_float;
    if (integer) {
        a = in_register(a, is_unsigned);
        b = in_register(b, is_unsigned);
    }
    return in_register(combined(instruction->alu, instruction->src[0].dtype, a, b),
                       integer && is_unsigned);
}

static bool is_power(enum alu alu)
{
    return alu == ALU_POWER || alu == ALU_REVERSE_POWER;
}

static unsigned alu_ulps(enum alu alu)
{
    return is_power(alu) || alu == ALU_ATAN2 ? 1 : 0;
}

static void try_tensor_tensor(struct machine *machine, enum alu alu, enum dtype dst, enum dtype a,
                              enum dtype b)
{
    struct shape shape = any_shape(machine);
    struct instruction *instruction = machine->instruction;
    begin(machine, OP_TENSOR_TENSOR);
    instruction->alu = (uint8_t)alu;
    instruction->dst = any_operand(machine, 0, dst, &shape, false);
    instruction->src[0] = any_operand(machine, 1, a, &shape, true);
    instruction->src[1] = any_operand(machine, 2, b, &shape, true);
    int64_t limit = is_power(alu)                                                ? 9
                    : alu >= ALU_SHIFT_LEFT && alu <= ALU_SHIFT_RIGHT_ARITHMETIC ? 70
                                                                                 : 0;
    set_values(machine, &instruction->src[0], is_power(alu) ? limit : 0);
    set_values(machine, &instruction->src[1], limit);
    bool is_float = dtype_is_float(a) || dtype_is_float(b);
    expect(machine, tensor_tensor, is_float ? alu_ulps(alu) + is_min_max(alu) : 0);
}

TEST(every_operation_on_floats)
{
    struct machine *machine = machine_new(MEMORY_SBUF);
    for (unsigned alu = ALU_ADD; alu < ALU_COUNT; alu++)
        for (unsigned i = 0; i < COUNT_OF(floats) && !is_of_bits((enum alu)alu); i++) {
            bool is_exact = alu_ulps((enum alu)alu) == 0;
            enum dtype other = rng_below(&machine->rng, 3) ? floats[i] : any_dtype(&machine->rng);
            try_tensor_tensor(machine, (enum alu)alu,
                              is_exact ? any_dtype(&machine->rng) : DTYPE_FP32, floats[i], other);
        }
    machine_free(machine);
}

TEST(every_operation_on_integers)
{
    struct machine *machine = machine_new(MEMORY_PSUM);
    for (unsigned alu = ALU_ADD; alu < ALU_ATAN2; alu++)
        for (unsigned i = 0; i < COUNT_OF(integers); i++) {
            try_tensor_tensor(machine, (enum alu)alu, integers[i], integers[i], integers[i]);
            try_tensor_tensor(machine, (enum alu)alu, any_dtype(&machine->rng), integers[i],
                              integers[rng_below(&machine->rng, 6)]);
        }
    machine_free(machine);
}

static struct value tensor_scalar(const struct machine *machine, uint32_t row, uint32_t index)
{
    const struct instruction *instruction = machine->instruction;
    struct value a = value_at(machine, &instruction->src[0], row, index), b, c;
    bool is_integer = !a.is_float;
    if (instruction->flags & FLAG_SCALAR_OPERAND) {
        b = value_at(machine, &instruction->src[1], row, 0);
        is_integer &= !b.is_float;
    } else {
        b = is_integer ? (struct value){.integer = instruction->immediate_int[0]}
                       : (struct value){.is_float = true,
                                        .number = (double)(float)instruction->immediate[0]};
    }
    c = is_integer
            ? (struct value){.integer = instruction->immediate_int[1]}
            : (struct value){.is_float = true, .number = (double)(float)instruction->immediate[1]};
    struct value result = combined(instruction->alu, instruction->src[0].dtype, a, b);
    if (instruction->alu2 != ALU_NONE)
        result =
            combined(instruction->alu2, instruction->src[0].dtype, in_register(result, false), c);
    return in_register(result, false);
}

TEST(scalars_are_immediates_or_elements_of_each_partition)
{
    struct machine *machine = machine_new(MEMORY_SBUF);
    static const enum dtype types[] = {DTYPE_FP32, DTYPE_BF16,  DTYPE_FP16,  DTYPE_FP8_E4,
                                       DTYPE_INT8, DTYPE_UINT8, DTYPE_INT32, DTYPE_UINT32};
    static const enum alu alus[] = {ALU_ADD,      ALU_SUBTRACT, ALU_REVERSE_SUBTRACT,
                                    ALU_MULTIPLY, ALU_LESS,     ALU_DIVIDE};
    for (unsigned i = 0; i < 120; i++) {
        struct rng *rng = &machine->rng;
        struct shape shape = any_shape(machine),
                     one = {.partitions = shape.partitions, .size = {1, 1, 1, 1}};
        struct instruction *instruction = machine->instruction;
        begin(machine, OP_TENSOR_SCALAR);
        enum dtype source = types[i % COUNT_OF(types)],
                   scalar = types[rng_below(rng, COUNT_OF(types))];
        bool has_operand = rng_below(rng, 2);
        instruction->alu = (uint8_t)alus[rng_below(rng, COUNT_OF(alus))];
        instruction->alu2 =
            (uint8_t)(rng_below(rng, 2) ? ALU_NONE : alus[rng_below(rng, COUNT_OF(alus))]);
        instruction->dst = any_operand(machine, 0, any_dtype(rng), &shape, false);
        instruction->src[0] = any_operand(machine, 1, source, &shape, true);
        set_values(machine, &instruction->src[0], 0);
        if (has_operand) {
            instruction->flags = FLAG_SCALAR_OPERAND;
            instruction->src[1] = any_operand(machine, 2, scalar, &one, false);
            set_values(machine, &instruction->src[1], 0);
        }
        if (dtype_is_float(source) || (has_operand && dtype_is_float(scalar))) {
            instruction->immediate[0] = -1.75;
            instruction->immediate[1] = 3.1;
        } else {
            instruction->immediate_int[0] = -7;
            instruction->immediate_int[1] = 3;
        }
        expect(machine, tensor_scalar, 0);
    }
    machine_free(machine);
}

static struct value selected(const struct machine *machine, uint32_t row, uint32_t index)
{
    const struct instruction *instruction = machine->instruction;
    struct value condition = value_at(machine, &instruction->src[0], row, index);
    bool is_set = condition.is_float ? condition.number != 0 : condition.integer != 0;
    struct value value = value_at(machine, &instruction->src[is_set ? 1 : 2], row, index);
    struct value other = value_at(machine, &instruction->src[is_set ? 2 : 1], row, index);
    value.is_float |= other.is_float; /* then both are FP32 */
    return value;
}

TEST(select_takes_one_or_the_other)
{
    struct machine *machine = machine_new(MEMORY_SBUF);
    for (unsigned i = 0; i < 100; i++) {
        struct rng *rng = &machine->rng;
        struct shape shape = any_shape(machine);
        struct instruction *instruction = machine->instruction;
        begin(machine, OP_SELECT);
        enum dtype type = any_dtype(rng);
        instruction->dst = any_operand(machine, 0, any_dtype(rng), &shape, false);
        instruction->src[0] = any_operand(machine, 1, any_dtype(rng), &shape, true);
        instruction->src[1] = any_operand(machine, 2, type, &shape, true);
        instruction->src[2] =
            any_operand(machine, 3, rng_below(rng, 2) ? type : DTYPE_FP32, &shape, true);
        set_values(machine, &instruction->src[0], 1);
        set_values(machine, &instruction->src[1], 0);
        set_values(machine, &instruction->src[2], 0);
        expect(machine, selected, 0);
    }
    machine_free(machine);
}

/* --- Constants --- */

static struct value constant(const struct machine *machine, uint32_t row, uint32_t index)
{
    const struct instruction *instruction = machine->instruction;
    double value = instruction->immediate[0];
    if (instruction->opcode == OP_IOTA)
        value += instruction->immediate[1] * row + index;
    if (!dtype_is_float(instruction->dst.dtype))
        return (struct value){.integer = (__int128)value, .number = value};
    return (struct value){.is_float = true, .number = (double)(float)value};
}

TEST(constants_and_indices_fill_a_destination)
{
    struct machine *machine = machine_new(MEMORY_SBUF);
    for (unsigned i = 0; i < 4 * DTYPE_COUNT; i++) {
        if (i % DTYPE_COUNT == DTYPE_NONE)
            continue;
        struct shape shape = any_shape(machine);
        begin(machine, i % 2 ? OP_IOTA : OP_MEMSET);
        machine->instruction->immediate[0] = i < 2 * DTYPE_COUNT ? 3 : -2147483648.0;
        machine->instruction->immediate[1] = 1000;
        machine->instruction->dst =
            any_operand(machine, 0, (enum dtype)(i % DTYPE_COUNT), &shape, false);
        expect(machine, constant, 0);
    }
    machine_free(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_converted_to_every_other),
        cmocka_unit_test(small_floats_round_as_the_nearest_of_all_their_values),
        cmocka_unit_test(every_operation_on_floats),
        cmocka_unit_test(every_operation_on_integers),
        cmocka_unit_test(scalars_are_immediates_or_elements_of_each_partition),
        cmocka_unit_test(select_takes_one_or_the_other),
        cmocka_unit_test(constants_and_indices_fill_a_destination),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
