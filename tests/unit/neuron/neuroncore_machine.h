/*
 * A core whose memory is loaded from an image, changed by one instruction, stored and compared:
 * random operands of awkward shapes, steps and partitions, and values of every data type.
 */
#ifndef KYMO_UNIT_NEURONCORE_MACHINE_H
#define KYMO_UNIT_NEURONCORE_MACHINE_H

#include "neuron/simulator/convert.h"

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
    uint32_t rows; /* partitions in use */
    uint8_t before[IMAGE];
};

static inline struct machine *machine_new(enum memory memory)
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

static inline void machine_free(struct machine *machine)
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
    for (unsigned i = 0; i < 2; i++)
        machine->model->descriptors[i].from.size[0] = machine->model->descriptors[i].to.size[0] =
            machine->rows;
    memcpy(machine->model->memory[0], machine->before, (size_t)machine->rows * WINDOW);
    if (!program_check(&machine->model->program, &err))
        fail_msg("%s", err.text);
    core_execute(machine->core,
                 &(struct core_run){.program = &machine->model->program,
                                    .variables = machine->model->memory},
                 &result);
    assert_int_equal(result.status, 0);
    return machine->model->memory[1];
}

static inline void begin(struct machine *machine, enum opcode opcode)
{
    *machine->instruction = (struct instruction){.opcode = (uint8_t)opcode, .origin = NO_INDEX};
}

/* --- Operands --- */

static const uint32_t awkward_rows[] = {1, 2, 33, 127, 128};
static const uint32_t awkward_sizes[] = {1, 2, 3, 5, 7, 17, 64, 127};

struct shape {
    uint32_t partitions, size[4], elements;
};

/* All partitions are in use in one case of eight, which is cheaper. */
static inline struct shape any_shape(struct machine *machine)
{
    struct rng *rng = &machine->rng;
    bool uses_all = rng_below(rng, 8) == 0;
    machine->rows = uses_all ? PARTITIONS : 40;
    struct shape shape = {.partitions =
                              awkward_rows[rng_below(rng, uses_all ? COUNT_OF(awkward_rows) : 3)]};
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
static inline struct operand any_operand(struct machine *machine, unsigned region, enum dtype dtype,
                                         const struct shape *shape, bool may_repeat)
{
    struct rng *rng = &machine->rng;
    int32_t bytes = (int32_t)dtype_bytes(dtype);
    struct operand operand = {.memory = (uint8_t)machine->memory,
                              .dtype = (uint8_t)dtype,
                              .partition =
                                  (uint8_t)rng_below(rng, machine->rows + 1 - shape->partitions),
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

static inline size_t element_at(const struct operand *operand, uint32_t row, uint32_t index)
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

static inline float any_float(struct rng *rng)
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
static inline void set_values(struct machine *machine, const struct operand *operand, int64_t limit)
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

static inline struct value value_at(const struct machine *machine, const struct operand *operand,
                                    uint32_t row, uint32_t index)
{
    const uint8_t *at = machine->before + element_at(operand, row, index);
    if (dtype_is_float(operand->dtype))
        return (struct value){.is_float = true, .number = reference_float(operand->dtype, at)};
    __int128 integer = reference_integer(operand->dtype, at);
    return (struct value){.integer = integer, .number = (double)(float)integer};
}

static inline bool is_same(double a, double b)
{
    return (a != a && b != b) || (a == b && (a != 0 || signbit(a) == signbit(b)));
}

/* Whether the value was stored; `ulps`: of FP32. */
static inline bool was_stored(enum dtype dtype, const uint8_t *at, struct value value,
                              unsigned ulps)
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

static inline void expect(struct machine *machine, expected_function *expected, unsigned ulps)
{
    const uint8_t *after = machine_run(machine);
    const struct operand *dst = &machine->instruction->dst;
    uint32_t elements = dst->size[0] * dst->size[1] * dst->size[2] * dst->size[3];
    uint32_t bytes = dtype_bytes(dst->dtype);
    size_t size = (size_t)machine->rows * WINDOW;
    uint8_t *image = exact_copy(machine->before, size);
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
    assert_memory_equal(image, after, size);
    free(image);
}

static inline enum dtype any_dtype(struct rng *rng)
{
    return (enum dtype)(1 + rng_below(rng, DTYPE_COUNT - 1));
}

static const enum dtype integers[] = {DTYPE_INT8,  DTYPE_UINT8,  DTYPE_INT16, DTYPE_UINT16,
                                      DTYPE_INT32, DTYPE_UINT32, DTYPE_INT64, DTYPE_UINT64};
static const enum dtype floats[] = {DTYPE_FP32,   DTYPE_FP32R,  DTYPE_BF16,  DTYPE_FP16,
                                    DTYPE_FP8_E3, DTYPE_FP8_E4, DTYPE_FP8_E5};

static inline struct value combined(enum alu alu, enum dtype dtype, struct value a, struct value b)
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
static inline struct value in_register(struct value value, bool is_unsigned)
{
    if (!value.is_float)
        value.integer = reference_wrapped(is_unsigned ? DTYPE_UINT64 : DTYPE_INT64, value.integer);
    return value;
}

static inline bool is_of_bits(enum alu alu)
{
    return alu >= ALU_AND && alu <= ALU_SHIFT_RIGHT_ARITHMETIC;
}

/* MAX and MIN of zeros may give either. */
static inline bool is_min_max(enum alu alu)
{
    return alu == ALU_MAX || alu == ALU_MIN;
}

#endif
