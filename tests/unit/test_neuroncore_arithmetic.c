/*
 * The core's arithmetic: every operation, with every data type, on random operands of awkward
 * shapes, steps and partitions, compared with the reference; and no byte beside the destination
 * changes.
 */
#include "neuroncore/convert.h"
#include "neuroncore/functions.h"
#include "neuroncore/matmul.h"

#include "neuroncore_model.h"
#include "neuroncore_reference.h"

enum {
    OPERANDS = 4,
    REGION = 1040, /* bytes of a partition for each operand */
    WINDOW = OPERANDS * REGION,
    IMAGE = PARTITIONS * WINDOW,
};

/* A core whose SBUF or PSUM is loaded from an image, changed by an instruction and stored. */
struct machine {
    struct model *model;
    struct core *core;
    struct instruction *instruction; /* the one to test */
    struct rng rng;
    enum memory memory;
    uint8_t before[IMAGE];
};

static struct machine *machine_new(enum memory memory)
{
    struct machine *machine = calloc(1, sizeof *machine);
    struct model *model = machine->model = model_new(3);
    machine->memory = memory;
    machine->rng.state = 1;
    uint32_t in = model_variable(model, VARIABLE_INPUT, DTYPE_UINT8, IMAGE);
    uint32_t out = model_variable(model, VARIABLE_OUTPUT, DTYPE_UINT8, IMAGE);
    struct dma_end from = dma_rows(MEMORY_HBM, DTYPE_UINT8, PARTITIONS, WINDOW), to = from;
    from.variable = in;
    to.variable = out;
    struct dma_end chip = dma_rows(memory, DTYPE_UINT8, PARTITIONS, WINDOW);
    model_dma(model, ENGINE_SYNC, from, chip, 1);
    machine->instruction = model_add(model, ENGINE_VECTOR, OP_NOP);
    wait_for(model_dma(model, ENGINE_SYNC, chip, to, 3), 2, 1);
    machine->core = model_core(model, true);
    return machine;
}

static void machine_free(struct machine *machine)
{
    core_free(machine->core);
    model_free(machine->model);
    free(machine);
}

static const uint8_t *machine_run(struct machine *machine)
{
    struct core_result result;
    struct error err;
    wait_for(machine->instruction, 1, 1);
    then_add(machine->instruction, 2, 1);
    memcpy(machine->model->memory[0], machine->before, IMAGE);
    if (!program_check(&machine->model->program, &err))
        fail_msg("%s", err.text);
    core_execute(machine->core,
                 &(struct core_run){.program = &machine->model->program,
                                    .variables = machine->model->memory},
                 &result);
    assert_int_equal(result.status, 0);
    return machine->model->memory[1];
}

static void begin(struct machine *machine, enum opcode opcode)
{
    *machine->instruction = (struct instruction){.opcode = (uint8_t)opcode, .origin = NO_INDEX};
}

/* --- Operands --- */

static const uint32_t awkward_rows[] = {1, 2, 33, 127, 128};
static const uint32_t awkward_sizes[] = {1, 2, 3, 5, 7, 17, 64, 127};

struct shape {
    uint32_t partitions, size[4], elements;
};

static struct shape any_shape(struct rng *rng)
{
    struct shape shape = {.partitions = awkward_rows[rng_below(rng, COUNT_OF(awkward_rows))]};
    do {
        shape.elements = 1;
        for (unsigned i = 0; i < 4; i++) {
            shape.size[i] =
                i < rng_below(rng, 4) ? 1 : awkward_sizes[rng_below(rng, COUNT_OF(awkward_sizes))];
            shape.elements *= shape.size[i];
        }
    } while (shape.elements > 128);
    return shape;
}

/* An operand in a region, with gaps, turned around or repeated where it fits. */
static struct operand any_operand(struct machine *machine, unsigned region, enum dtype dtype,
                                  const struct shape *shape, bool may_repeat)
{
    struct rng *rng = &machine->rng;
    int32_t bytes = (int32_t)dtype_bytes(dtype);
    struct operand operand = {.memory = (uint8_t)machine->memory,
                              .dtype = (uint8_t)dtype,
                              .partition =
                                  (uint8_t)rng_below(rng, PARTITIONS + 1 - shape->partitions),
                              .partitions = (uint8_t)shape->partitions};
    for (bool is_plain = rng_below(rng, 3) == 0;; is_plain = true) {
        int32_t step = is_plain ? 1 : 1 + (int32_t)rng_below(rng, 3), first = 0, last = 0;
        for (int i = 3; i >= 0; i--) {
            operand.size[i] = shape->size[i];
            operand.step[i] = step;
            if (!is_plain && may_repeat && rng_below(rng, 6) == 0)
                operand.step[i] = 0;
            else
                step = step * (int32_t)shape->size[i] + (is_plain ? 0 : (int32_t)rng_below(rng, 2));
            if (!is_plain && rng_below(rng, 3) == 0)
                operand.step[i] = -operand.step[i];
            *(operand.step[i] < 0 ? &first : &last) +=
                operand.step[i] * ((int32_t)shape->size[i] - 1);
        }
        if ((last - first + 1) * bytes <= REGION) {
            operand.offset = region * REGION + (uint32_t)(-first * bytes);
            return operand;
        }
    }
}

static size_t element_at(const struct operand *operand, uint32_t row, uint32_t index)
{
    int64_t offset = 0;
    for (int i = 3; i >= 0; i--) {
        offset += (int64_t)(index % operand->size[i]) * operand->step[i];
        index /= operand->size[i];
    }
    return (size_t)(operand->partition + row) * WINDOW +
           (size_t)(operand->offset + offset * dtype_bytes(operand->dtype));
}

/* --- Values --- */

static float any_float(struct rng *rng)
{
    static const float special[] = {0,        -0.0f,     1,     -1,    0.5f,   2.5f,  448,
                                    465,      65504,     65520, 1e30f, -1e30f, 1e-8f, 1e-40f,
                                    INFINITY, -INFINITY, NAN,   255,   256,    -129};
    if (rng_below(rng, 8) == 0)
        return special[rng_below(rng, COUNT_OF(special))];
    return ((float)(int64_t)(rng_u64(rng) >> 40) - 0x1p23f) *
           (rng_below(rng, 4) ? 0x1p-20f : 0x1p-12f);
}

/* limit: largest size of integers; 0: all of the type's. */
static void set_values(struct machine *machine, const struct operand *operand, int64_t limit)
{
    uint32_t elements = operand->size[0] * operand->size[1] * operand->size[2] * operand->size[3];
    for (uint32_t row = 0; row < operand->partitions; row++)
        for (uint32_t i = 0; i < elements; i++) {
            uint8_t *at = machine->before + element_at(operand, row, i);
            if (dtype_is_float(operand->dtype)) {
                float value = any_float(&machine->rng);
                store_floats(operand->dtype, &value, 1, at, 0);
            } else {
                uint64_t value = rng_any_width(&machine->rng);
                if (limit)
                    value = (uint64_t)((int64_t)(value % (uint64_t)(2 * limit + 1)) -
                                       (is_signed_integer(operand->dtype) ? limit : 0));
                memcpy(at, &value, dtype_bytes(operand->dtype));
            }
        }
}

struct value {
    bool is_float;
    double number;
    __int128 integer;
};

static struct value value_at(const struct machine *machine, const struct operand *operand,
                             uint32_t row, uint32_t index)
{
    const uint8_t *at = machine->before + element_at(operand, row, index);
    if (dtype_is_float(operand->dtype))
        return (struct value){.is_float = true, .number = reference_float(operand->dtype, at)};
    __int128 integer = reference_integer(operand->dtype, at);
    return (struct value){.integer = integer, .number = (double)(float)integer};
}

static bool is_same(double a, double b)
{
    return (a != a && b != b) || (a == b && (a != 0 || signbit(a) == signbit(b)));
}

/* Whether the value was stored; `ulps`: of FP32. */
static bool was_stored(enum dtype dtype, const uint8_t *at, struct value value, unsigned ulps)
{
    if (!dtype_is_float(dtype))
        return reference_integer(dtype, at) == (value.is_float
                                                    ? reference_clamped(dtype, value.number)
                                                    : reference_wrapped(dtype, value.integer));
    double stored = reference_float(dtype, at);
    float low = (float)value.number, high = low;
    for (unsigned i = 0; i < ulps && isfinite(low) && isfinite(high); i++) {
        low = nextafterf(low, -INFINITY);
        high = nextafterf(high, INFINITY);
    }
    double expected = value.is_float ? value.number : (double)(float)value.integer;
    return is_same(stored, reference_rounded(dtype, expected)) ||
           (ulps > 0 &&
            (stored == value.number || (stored >= (double)low && stored <= (double)high)));
}

/* Compares the destination, and that nothing else has changed. */
typedef struct value expected_function(const struct machine *machine, uint32_t row, uint32_t index);

static void expect(struct machine *machine, expected_function *expected, unsigned ulps)
{
    const uint8_t *after = machine_run(machine);
    const struct operand *dst = &machine->instruction->dst;
    uint32_t elements = dst->size[0] * dst->size[1] * dst->size[2] * dst->size[3];
    uint32_t bytes = dtype_bytes(dst->dtype);
    uint8_t *image = malloc(IMAGE);
    memcpy(image, machine->before, IMAGE);
    for (uint32_t row = 0; row < dst->partitions; row++)
        for (uint32_t i = 0; i < elements; i++) {
            size_t at = element_at(dst, row, i);
            struct value value = expected(machine, row, i);
            if (!was_stored(dst->dtype, after + at, value, ulps))
                fail_msg("%s %u to %s, row %u, element %u: %.9g, not %.9g (%lld)",
                         opcode_name(machine->instruction->opcode), machine->instruction->alu,
                         dtype_name(dst->dtype), row, i,
                         dtype_is_float(dst->dtype)
                             ? reference_float(dst->dtype, after + at)
                             : (double)reference_integer(dst->dtype, after + at),
                         value.number, (long long)value.integer);
            memcpy(image + at, after + at, bytes);
        }
    assert_memory_equal(image, after, IMAGE);
    free(image);
}

static enum dtype any_dtype(struct rng *rng)
{
    return (enum dtype)(1 + rng_below(rng, DTYPE_COUNT - 1));
}

static const enum dtype integers[] = {DTYPE_INT8,  DTYPE_UINT8,  DTYPE_INT16, DTYPE_UINT16,
                                      DTYPE_INT32, DTYPE_UINT32, DTYPE_INT64, DTYPE_UINT64};
static const enum dtype floats[] = {DTYPE_FP32,   DTYPE_FP32R,  DTYPE_BF16,  DTYPE_FP16,
                                    DTYPE_FP8_E3, DTYPE_FP8_E4, DTYPE_FP8_E5};

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
            struct shape shape = any_shape(&machine->rng);
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

static struct value combined(enum alu alu, enum dtype dtype, struct value a, struct value b)
{
    if (!a.is_float && !b.is_float) {
        __int128 result = reference_alu_integer(alu, dtype, a.integer, b.integer);
        return (struct value){.integer = result, .number = (double)result};
    }
    return (struct value){.is_float = true,
                          .number =
                              (double)reference_alu_float(alu, (float)a.number, (float)b.number)};
}

/* What the core's registers hold: 64 bits, of which UINT64 uses all. */
static struct value in_register(struct value value, bool is_unsigned)
{
    if (!value.is_float)
        value.integer = reference_wrapped(is_unsigned ? DTYPE_UINT64 : DTYPE_INT64, value.integer);
    return value;
}

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

static bool is_of_bits(enum alu alu)
{
    return alu >= ALU_AND && alu <= ALU_SHIFT_RIGHT_ARITHMETIC;
}

static bool is_power(enum alu alu)
{
    return alu == ALU_POWER || alu == ALU_REVERSE_POWER;
}

static unsigned alu_ulps(enum alu alu)
{
    return is_power(alu) || alu == ALU_ATAN2 ? 1 : 0;
}

/* MAX and MIN of zeros may give either. */
static bool is_min_max(enum alu alu)
{
    return alu == ALU_MAX || alu == ALU_MIN;
}

static void try_tensor_tensor(struct machine *machine, enum alu alu, enum dtype dst, enum dtype a,
                              enum dtype b)
{
    struct shape shape = any_shape(&machine->rng);
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
        struct shape shape = any_shape(rng),
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
        struct shape shape = any_shape(rng);
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
            struct rng *rng = &machine->rng;
            struct shape shape = any_shape(rng),
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
            struct shape shape = any_shape(&machine->rng);
            begin(machine, OP_ACTIVATE);
            machine->instruction->alu = (uint8_t)functions[f];
            machine->instruction->dst = any_operand(machine, 0, integers[i], &shape, false);
            machine->instruction->src[0] = any_operand(machine, 1, integers[i], &shape, true);
            set_values(machine, &machine->instruction->src[0], 0);
            expect(machine, of_integer, 0);
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
        struct shape shape = any_shape(&machine->rng);
        begin(machine, i % 2 ? OP_IOTA : OP_MEMSET);
        machine->instruction->immediate[0] = i < 2 * DTYPE_COUNT ? 3 : -2147483648.0;
        machine->instruction->immediate[1] = 1000;
        machine->instruction->dst =
            any_operand(machine, 0, (enum dtype)(i % DTYPE_COUNT), &shape, false);
        expect(machine, constant, 0);
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
        struct shape shape = any_shape(rng), left = shape;
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
    matmul_plain()(weights, moving, ROWS, W, M, plain, 512);
    matmul_choose()(weights, moving, ROWS, W, M, fast, 512);
    for (unsigned i = 0; i < COUNT_OF(plain); i++)
        assert_true(is_same((double)plain[i], (double)fast[i]));
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
                volatile float product =
                    (float)reference_rounded(c->stationary_type,
                                             (double)weights[k * c->columns + m]) *
                    (float)reference_rounded(c->moving_type, (double)values[k * c->moving + n]);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_converted_to_every_other),
        cmocka_unit_test(small_floats_round_as_the_nearest_of_all_their_values),
        cmocka_unit_test(every_operation_on_floats),
        cmocka_unit_test(every_operation_on_integers),
        cmocka_unit_test(scalars_are_immediates_or_elements_of_each_partition),
        cmocka_unit_test(select_takes_one_or_the_other),
        cmocka_unit_test(every_function_is_exact_to_a_unit_in_the_last_place),
        cmocka_unit_test(functions_are_exact_over_the_whole_range_of_floats),
        cmocka_unit_test(functions_of_bits_know_the_width),
        cmocka_unit_test(constants_and_indices_fill_a_destination),
        cmocka_unit_test(reductions_over_the_inner_dimensions),
        cmocka_unit_test(long_sums_are_close_to_exact),
        cmocka_unit_test(all_kernels_give_the_same_bits),
        cmocka_unit_test(matmuls_multiply_and_accumulate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
