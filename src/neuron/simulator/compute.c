/*
 * The effect of instructions on data, row by row, in chunks that fit the processor's first-level
 * cache. An instruction's destination is one of its sources, element by element, or separate from
 * them.
 */
#include "neuron/simulator/compute.h"

#include "neuron/simulator/alu.h"
#include "neuron/simulator/arithmetic.h"
#include "neuron/simulator/convert.h"
#include "neuron/simulator/functions.h"

#include <string.h>

static size_t chunk_of(uint64_t left)
{
    return left < CHUNK_ELEMENTS ? (size_t)left : CHUNK_ELEMENTS;
}

static void fill_floats(float *out, float value, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = value;
}

static void fill_integers(int64_t *out, int64_t value, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = value;
}

static int64_t whole(double value)
{
    if (value != value)
        return 0;
    if (value >= 0x1p63)
        return INT64_MAX;
    return value <= -0x1p63 ? INT64_MIN : (int64_t)value;
}

/* --- Elementwise instructions, in FP32 --- */

static bool has_scalar_operand(const struct instruction *instruction)
{
    return instruction->flags & FLAG_SCALAR_OPERAND;
}

/* The value of a row: TENSOR_SCALAR's scalar, ACTIVATE's bias. */
static float float_scalar(const struct instruction *instruction, struct walk *scalar, uint32_t row)
{
    if (!has_scalar_operand(instruction))
        return (float)instruction->immediate[instruction->opcode == OP_ACTIVATE];
    float value;
    walk_row(scalar, row);
    read_floats(scalar, 1, &value);
    return value;
}

static void scale(float *values, size_t count, float by, float bias)
{
    if (by != 1)
        for (size_t i = 0; i < count; i++)
            values[i] *= by;
    if (bias != 0)
        for (size_t i = 0; i < count; i++)
            values[i] += bias;
}

/* The result is left in the first buffer; sources are read in full before anything is stored, so
 * the destination may be one of them. */
static void float_chunk(struct arithmetic *arithmetic, const struct instruction *instruction,
                        struct walk *sources, float scalar, size_t count)
{
    float *a = arithmetic->floats[0], *b = arithmetic->floats[1], *c = arithmetic->floats[2];
    read_floats(&sources[0], count, a);
    switch (instruction->opcode) {
    case OP_TENSOR_TENSOR:
        read_floats(&sources[1], count, b);
        alu_floats(instruction->alu, a, b, a, count);
        break;
    case OP_TENSOR_SCALAR:
        fill_floats(b, scalar, count);
        alu_floats(instruction->alu, a, b, a, count);
        if (instruction->alu2 != ALU_NONE) {
            fill_floats(b, (float)instruction->immediate[1], count);
            alu_floats(instruction->alu2, a, b, a, count);
        }
        break;
    case OP_SELECT:
        read_floats(&sources[1], count, b);
        read_floats(&sources[2], count, c);
        for (size_t i = 0; i < count; i++)
            a[i] = a[i] != 0 ? b[i] : c[i];
        break;
    case OP_ACTIVATE:
        scale(a, count, (float)instruction->immediate[0], scalar);
        function_floats(instruction->alu, a, a, count);
        break;
    default:
        break;
    }
}

/* Of the sources that the instruction has. */
static void go_to_row(struct walk *sources, uint32_t row)
{
    for (unsigned i = 0; i < 3; i++)
        if (sources[i].base)
            walk_row(&sources[i], row);
}

static void compute_floats(struct core *core, const struct instruction *instruction,
                           struct walk *dst, struct walk *sources)
{
    struct arithmetic *arithmetic = core->arithmetic;
    uint64_t elements = walk_elements(dst);
    for (uint32_t row = 0; row < instruction->dst.partitions; row++) {
        float scalar = float_scalar(instruction, &sources[1], row);
        walk_row(dst, row);
        go_to_row(sources, row);
        for (uint64_t done = 0; done < elements; done += CHUNK_ELEMENTS) {
            size_t count = chunk_of(elements - done);
            float_chunk(arithmetic, instruction, sources, scalar, count);
            write_floats(dst, count, arithmetic->floats[0]);
        }
    }
}

/* --- Elementwise instructions, in integers --- */

static struct integer_kind integer_kind(const struct instruction *instruction, unsigned first)
{
    struct integer_kind kind = {.bits = 8 * dtype_bytes(instruction->src[first].dtype)};
    for (unsigned i = first; i < 3; i++)
        kind.is_unsigned |=
            instruction->src[i].memory != MEMORY_NONE && instruction->src[i].dtype == DTYPE_UINT64;
    return kind;
}

static int64_t integer_scalar(const struct instruction *instruction, struct walk *scalar,
                              uint32_t row)
{
    if (!has_scalar_operand(instruction))
        return instruction->immediate_int[0];
    int64_t value;
    walk_row(scalar, row);
    read_integers(scalar, 1, &value);
    return value;
}

/* The same for integers. A condition is read as floats, since it may be of any type and only being
 * 0 matters. */
static void integer_chunk(struct arithmetic *arithmetic, const struct instruction *instruction,
                          struct walk *sources, int64_t scalar, size_t count)
{
    int64_t *a = arithmetic->integers[0], *b = arithmetic->integers[1],
            *c = arithmetic->integers[2];
    struct integer_kind kind = integer_kind(instruction, 0);
    if (instruction->opcode == OP_SELECT) {
        float *condition = arithmetic->floats[0];
        read_floats(&sources[0], count, condition);
        read_integers(&sources[1], count, b);
        read_integers(&sources[2], count, c);
        for (size_t i = 0; i < count; i++)
            a[i] = condition[i] != 0 ? b[i] : c[i];
        return;
    }
    read_integers(&sources[0], count, a);
    switch (instruction->opcode) {
    case OP_TENSOR_TENSOR:
        read_integers(&sources[1], count, b);
        alu_integers(instruction->alu, kind, a, b, a, count);
        break;
    case OP_TENSOR_SCALAR:
        fill_integers(b, scalar, count);
        alu_integers(instruction->alu, kind, a, b, a, count);
        if (instruction->alu2 != ALU_NONE) {
            fill_integers(b, instruction->immediate_int[1], count);
            alu_integers(instruction->alu2, kind, a, b, a, count);
        }
        break;
    case OP_ACTIVATE:
        function_integers(instruction->alu, kind.bits, a, a, count);
        break;
    default:
        break;
    }
}

static void compute_integers(struct core *core, const struct instruction *instruction,
                             struct walk *dst, struct walk *sources)
{
    struct arithmetic *arithmetic = core->arithmetic;
    uint64_t elements = walk_elements(dst);
    bool is_unsigned =
        integer_kind(instruction, instruction->opcode == OP_SELECT ? 1 : 0).is_unsigned;
    for (uint32_t row = 0; row < instruction->dst.partitions; row++) {
        int64_t scalar = integer_scalar(instruction, &sources[1], row);
        walk_row(dst, row);
        go_to_row(sources, row);
        for (uint64_t done = 0; done < elements; done += CHUNK_ELEMENTS) {
            size_t count = chunk_of(elements - done);
            integer_chunk(arithmetic, instruction, sources, scalar, count);
            write_integers(dst, count, arithmetic->integers[0], is_unsigned);
        }
    }
}

/* Whether arithmetic is in integers: if all operands combined in it are. */
static bool is_integer_arithmetic(const struct instruction *instruction)
{
    if (instruction->opcode == OP_ACTIVATE && !function_keeps_integers(instruction->alu))
        return false;
    for (unsigned i = instruction->opcode == OP_SELECT ? 1 : 0; i < 3; i++) {
        bool is_bias = instruction->opcode == OP_ACTIVATE && i == 1;
        if (instruction->src[i].memory != MEMORY_NONE && !is_bias &&
            dtype_is_float(instruction->src[i].dtype))
            return false;
    }
    return true;
}

static void walk_sources(const struct core *core, const struct instruction *instruction,
                         struct walk sources[3])
{
    for (unsigned i = 0; i < 3; i++) {
        sources[i] = (struct walk){.dimensions = 1, .size = {1}};
        if (instruction->src[i].memory != MEMORY_NONE)
            walk_operand(&sources[i], core, &instruction->src[i]);
    }
}

static void copy_rows(const struct instruction *instruction, struct walk *dst, struct walk *src)
{
    uint64_t elements = walk_elements(dst);
    for (uint32_t row = 0; row < instruction->dst.partitions; row++) {
        walk_row(dst, row);
        walk_row(src, row);
        for (uint64_t done = 0, some; done < elements; done += some) {
            some = walk_left(dst) < walk_left(src) ? walk_left(dst) : walk_left(src);
            const uint8_t *from = walk_next(src, some);
            copy_elements(dst->bytes, from, walk_step(src), walk_next(dst, some), walk_step(dst),
                          some);
        }
    }
}

static void compute_elements(struct core *core, const struct instruction *instruction)
{
    struct walk dst, sources[3];
    walk_operand(&dst, core, &instruction->dst);
    walk_sources(core, instruction, sources);
    if (instruction->opcode == OP_TENSOR_COPY &&
        instruction->dst.dtype == instruction->src[0].dtype)
        copy_rows(instruction, &dst, &sources[0]);
    else if (is_integer_arithmetic(instruction))
        compute_integers(core, instruction, &dst, sources);
    else
        compute_floats(core, instruction, &dst, sources);
}

/* --- Instructions without sources --- */

static void compute_memset(struct core *core, const struct instruction *instruction)
{
    struct arithmetic *arithmetic = core->arithmetic;
    struct walk dst;
    walk_operand(&dst, core, &instruction->dst);
    bool is_float = dtype_is_float(instruction->dst.dtype);
    fill_floats(arithmetic->floats[0], (float)instruction->immediate[0], CHUNK_ELEMENTS);
    fill_integers(arithmetic->integers[0], whole(instruction->immediate[0]), CHUNK_ELEMENTS);
    uint64_t elements = walk_elements(&dst);
    for (uint32_t row = 0; row < instruction->dst.partitions; row++) {
        walk_row(&dst, row);
        for (uint64_t done = 0; done < elements; done += CHUNK_ELEMENTS) {
            size_t count = chunk_of(elements - done);
            if (is_float)
                write_floats(&dst, count, arithmetic->floats[0]);
            else
                write_integers(&dst, count, arithmetic->integers[0], false);
        }
    }
}

static void compute_iota(struct core *core, const struct instruction *instruction)
{
    struct arithmetic *arithmetic = core->arithmetic;
    struct walk dst;
    walk_operand(&dst, core, &instruction->dst);
    bool is_float = dtype_is_float(instruction->dst.dtype);
    uint64_t elements = walk_elements(&dst);
    for (uint32_t row = 0; row < instruction->dst.partitions; row++) {
        double first = instruction->immediate[0] + instruction->immediate[1] * row;
        walk_row(&dst, row);
        for (uint64_t done = 0; done < elements; done += CHUNK_ELEMENTS) {
            size_t count = chunk_of(elements - done);
            for (size_t i = 0; i < count; i++) {
                double value = first + (double)(done + i);
                arithmetic->floats[0][i] = (float)value;
                arithmetic->integers[0][i] = whole(value);
            }
            if (is_float)
                write_floats(&dst, count, arithmetic->floats[0]);
            else
                write_integers(&dst, count, arithmetic->integers[0], false);
        }
    }
}

/* --- REDUCE --- */

static uint64_t reduced_elements(const struct instruction *instruction)
{
    uint64_t count = 1;
    for (unsigned i = 0; i < instruction->count && i < 4; i++)
        count *= instruction->src[0].size[3 - i];
    return count;
}

static float reduce_floats(struct arithmetic *arithmetic, enum alu alu, struct walk *src,
                           uint64_t inner)
{
    struct float_reduction reduction;
    reduction_begin(&reduction, alu);
    for (uint64_t done = 0; done < inner; done += CHUNK_ELEMENTS) {
        size_t count = chunk_of(inner - done);
        read_floats(src, count, arithmetic->floats[0]);
        reduction_add(&reduction, alu, arithmetic->floats[0], count);
    }
    return reduction_end(&reduction, alu);
}

static int64_t reduce_integers(struct arithmetic *arithmetic, enum alu alu,
                               struct integer_kind kind, struct walk *src, uint64_t inner)
{
    int64_t result = reduce_identity(alu, kind);
    for (uint64_t done = 0; done < inner; done += CHUNK_ELEMENTS) {
        size_t count = chunk_of(inner - done);
        read_integers(src, count, arithmetic->integers[0]);
        for (size_t i = 0; i < count; i++)
            alu_integers(alu, kind, &result, &arithmetic->integers[0][i], &result, 1);
    }
    return result;
}

static void compute_reduce(struct core *core, const struct instruction *instruction)
{
    struct walk dst, src;
    walk_operand(&dst, core, &instruction->dst);
    walk_operand(&src, core, &instruction->src[0]);
    uint64_t inner = reduced_elements(instruction), outer = walk_elements(&dst);
    bool is_float = dtype_is_float(src.dtype);
    struct integer_kind kind = integer_kind(instruction, 0);
    for (uint32_t row = 0; row < instruction->dst.partitions; row++) {
        walk_row(&dst, row);
        walk_row(&src, row);
        for (uint64_t i = 0; i < outer; i++) {
            if (is_float) {
                float result = reduce_floats(core->arithmetic, instruction->alu, &src, inner);
                write_floats(&dst, 1, &result);
            } else {
                int64_t result =
                    reduce_integers(core->arithmetic, instruction->alu, kind, &src, inner);
                write_integers(&dst, 1, &result, kind.is_unsigned);
            }
        }
    }
}

/* --- Tensor engine --- */

/* Rows of an operand as panels of FP32. */
static size_t load_panels(struct core *core, const struct operand *operand, float *panels)
{
    struct walk walk;
    walk_operand(&walk, core, operand);
    size_t rows = operand->partitions, columns = (size_t)walk_elements(&walk);
    size_t count = (columns + PANEL - 1) / PANEL;
    float *values = core->arithmetic->floats[0];
    for (size_t row = 0; row < rows; row++) {
        walk_row(&walk, (uint32_t)row);
        read_floats(&walk, columns, values);
        fill_floats(values + columns, 0, count * PANEL - columns);
        for (size_t i = 0; i < count; i++)
            memcpy(panels + (i * rows + row) * PANEL, values + i * PANEL, PANEL * sizeof *values);
    }
    return count;
}

static void compute_weights(struct core *core, const struct instruction *instruction)
{
    core->tensor.weights_columns =
        (uint32_t)load_panels(core, &instruction->src[0], core->arithmetic->weights);
    core->tensor.weights_rows = instruction->src[0].partitions;
}

static void compute_matmul(struct core *core, const struct instruction *instruction)
{
    struct arithmetic *arithmetic = core->arithmetic;
    size_t moving = load_panels(core, &instruction->src[0], arithmetic->moving);
    arithmetic->kernel(arithmetic->weights, arithmetic->moving, core->tensor.weights_rows,
                       core->tensor.weights_columns, moving, arithmetic->product, MOVING_MAX);
    struct walk dst;
    walk_operand(&dst, core, &instruction->dst);
    size_t columns = (size_t)walk_elements(&dst);
    for (uint32_t row = 0; row < instruction->dst.partitions; row++) {
        float *sums = arithmetic->product + (size_t)row * MOVING_MAX;
        if (instruction->flags & FLAG_ACCUMULATE) {
            float *before = arithmetic->floats[0];
            walk_row(&dst, row);
            read_floats(&dst, columns, before);
            for (size_t i = 0; i < columns; i++)
                sums[i] += before[i];
        }
        walk_row(&dst, row);
        write_floats(&dst, columns, sums);
    }
}

static void compute_transpose(struct core *core, const struct instruction *instruction)
{
    struct walk dst, src;
    walk_operand(&dst, core, &instruction->dst);
    walk_operand(&src, core, &instruction->src[0]);
    size_t rows = instruction->src[0].partitions, columns = (size_t)walk_elements(&src);
    uint8_t *copy = (uint8_t *)core->arithmetic->product;
    for (size_t row = 0; row < rows; row++) {
        walk_row(&src, (uint32_t)row);
        read_elements(&src, columns, copy + row * columns * src.bytes, src.bytes);
    }
    for (size_t column = 0; column < columns; column++) {
        walk_row(&dst, (uint32_t)column);
        write_elements(&dst, rows, copy + column * src.bytes, (int64_t)(columns * src.bytes));
    }
}

/* Instructions without a case of their own go through the elementwise path, which chooses between
 * FP32 and integers. */
void compute_instruction(struct core *core, const struct instruction *instruction)
{
    switch (instruction->opcode) {
    case OP_LDWEIGHTS:
        compute_weights(core, instruction);
        break;
    case OP_MATMUL:
        compute_matmul(core, instruction);
        break;
    case OP_TRANSPOSE:
        compute_transpose(core, instruction);
        break;
    case OP_REDUCE:
        compute_reduce(core, instruction);
        break;
    case OP_MEMSET:
        compute_memset(core, instruction);
        break;
    case OP_IOTA:
        compute_iota(core, instruction);
        break;
    case OP_NOP:
        break;
    default:
        compute_elements(core, instruction);
        break;
    }
}

int64_t compute_element(const struct core *core, const struct operand *operand)
{
    struct walk walk;
    walk_operand(&walk, core, operand);
    int64_t value;
    read_integers(&walk, 1, &value);
    return value;
}
