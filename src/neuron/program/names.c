/*
 * Names and sizes of a program's data types, opcodes, operations and functions.
 */
#include "neuron/program/program.h"

#include <string.h>

static const struct {
    uint8_t bytes;
    const char *name, *numpy, *hlo;
} dtypes[DTYPE_COUNT] = {
    [DTYPE_NONE] = {0, "none", "none", "none"},
    [DTYPE_UINT64] = {8, "uint64", "uint64", "u64"},
    [DTYPE_INT8] = {1, "int8", "int8", "s8"},
    [DTYPE_UINT8] = {1, "uint8", "uint8", "u8"},
    [DTYPE_INT16] = {2, "int16", "int16", "s16"},
    [DTYPE_UINT16] = {2, "uint16", "uint16", "u16"},
    [DTYPE_BF16] = {2, "bf16", "bfloat16", "bf16"},
    [DTYPE_FP16] = {2, "fp16", "float16", "f16"},
    [DTYPE_INT32] = {4, "int32", "int32", "s32"},
    [DTYPE_UINT32] = {4, "uint32", "uint32", "u32"},
    [DTYPE_FP32] = {4, "fp32", "float32", "f32"},
    [DTYPE_FP32R] = {4, "fp32r", "fp32r", "fp32r"},
    [DTYPE_INT64] = {8, "int64", "int64", "s64"},
    [DTYPE_FP8_E3] = {1, "fp8e3", "float8_e3m4", "f8e3m4"},
    [DTYPE_FP8_E4] = {1, "fp8e4", "float8_e4m3fn", "f8e4m3fn"},
    [DTYPE_FP8_E5] = {1, "fp8e5", "float8_e5m2", "f8e5m2"},
};

static const char *const opcodes[OP_COUNT] = {
    [OP_NOP] = "NOP",
    [OP_LDWEIGHTS] = "LDWEIGHTS",
    [OP_MATMUL] = "MATMUL",
    [OP_TRANSPOSE] = "TRANSPOSE",
    [OP_TENSOR_COPY] = "TENSOR_COPY",
    [OP_TENSOR_TENSOR] = "TENSOR_TENSOR",
    [OP_TENSOR_SCALAR] = "TENSOR_SCALAR",
    [OP_SELECT] = "SELECT",
    [OP_REDUCE] = "REDUCE",
    [OP_ACTIVATE] = "ACTIVATE",
    [OP_MEMSET] = "MEMSET",
    [OP_IOTA] = "IOTA",
    [OP_DMA_TRIGGER] = "PSEUDO_DMA_TRIGGER",
    [OP_TRIGGER_COLLECTIVE] = "PSEUDO_TRIGGER_COLLECTIVE",
    [OP_EVENT_SEMAPHORE] = "EVENT_SEMAPHORE",
    [OP_SEMAPHORE_RANGE_CLEAR] = "EVENT_SEMAPHORE_RANGE_CLEAR",
    [OP_TENSOR_LOAD] = "TENSOR_LOAD",
    [OP_REGISTER_ALU] = "REGISTER_ALU",
    [OP_COMPARE_BRANCH] = "COMPARE_BRANCH",
    [OP_NOTIFY] = "NOTIFY",
    [OP_DRAIN] = "DRAIN",
};

static const char *const alus[ALU_COUNT] = {
    [ALU_NONE] = "none",
    [ALU_ADD] = "add",
    [ALU_SUBTRACT] = "subtract",
    [ALU_REVERSE_SUBTRACT] = "reverse_subtract",
    [ALU_MULTIPLY] = "multiply",
    [ALU_DIVIDE] = "divide",
    [ALU_REVERSE_DIVIDE] = "reverse_divide",
    [ALU_REMAINDER] = "remainder",
    [ALU_POWER] = "power",
    [ALU_REVERSE_POWER] = "reverse_power",
    [ALU_MAX] = "max",
    [ALU_MIN] = "min",
    [ALU_EQUAL] = "equal",
    [ALU_NOT_EQUAL] = "not_equal",
    [ALU_LESS] = "less",
    [ALU_LESS_EQUAL] = "less_equal",
    [ALU_GREATER] = "greater",
    [ALU_GREATER_EQUAL] = "greater_equal",
    [ALU_AND] = "and",
    [ALU_OR] = "or",
    [ALU_XOR] = "xor",
    [ALU_SHIFT_LEFT] = "shift_left",
    [ALU_SHIFT_RIGHT_LOGICAL] = "shift_right_logical",
    [ALU_SHIFT_RIGHT_ARITHMETIC] = "shift_right_arithmetic",
    [ALU_ATAN2] = "atan2",
};

static const char *const functions[FUNCTION_COUNT] = {
    [FUNCTION_IDENTITY] = "identity",
    [FUNCTION_EXP] = "exp",
    [FUNCTION_EXPM1] = "expm1",
    [FUNCTION_LOG] = "log",
    [FUNCTION_LOG1P] = "log1p",
    [FUNCTION_SQRT] = "sqrt",
    [FUNCTION_RSQRT] = "rsqrt",
    [FUNCTION_CBRT] = "cbrt",
    [FUNCTION_RECIPROCAL] = "reciprocal",
    [FUNCTION_TANH] = "tanh",
    [FUNCTION_SIGMOID] = "sigmoid",
    [FUNCTION_RELU] = "relu",
    [FUNCTION_GELU] = "gelu",
    [FUNCTION_GELU_TANH] = "gelu_tanh",
    [FUNCTION_SILU] = "silu",
    [FUNCTION_ERF] = "erf",
    [FUNCTION_SIN] = "sin",
    [FUNCTION_COS] = "cos",
    [FUNCTION_TAN] = "tan",
    [FUNCTION_ABS] = "abs",
    [FUNCTION_SIGN] = "sign",
    [FUNCTION_FLOOR] = "floor",
    [FUNCTION_CEIL] = "ceil",
    [FUNCTION_ROUND_EVEN] = "round_even",
    [FUNCTION_ROUND_AWAY] = "round_away",
    [FUNCTION_SQUARE] = "square",
    [FUNCTION_SOFTPLUS] = "softplus",
    [FUNCTION_IS_FINITE] = "is_finite",
    [FUNCTION_NOT] = "not",
    [FUNCTION_POPULATION_COUNT] = "population_count",
    [FUNCTION_LEADING_ZEROS] = "leading_zeros",
};

uint32_t dtype_bytes(enum dtype dtype)
{
    return dtypes[dtype].bytes;
}

const char *dtype_name(enum dtype dtype)
{
    return dtypes[dtype].name;
}

enum dtype dtype_named(const char *name)
{
    if (strcmp(name, "bool") == 0 || strcmp(name, "pred") == 0)
        return DTYPE_UINT8;
    for (int i = DTYPE_NONE + 1; i < DTYPE_COUNT; i++)
        if (strcmp(name, dtypes[i].name) == 0 || strcmp(name, dtypes[i].numpy) == 0 ||
            strcmp(name, dtypes[i].hlo) == 0)
            return (enum dtype)i;
    return DTYPE_NONE;
}

bool dtype_is_float(enum dtype dtype)
{
    return dtype == DTYPE_BF16 || dtype == DTYPE_FP16 || dtype == DTYPE_FP32 ||
           dtype == DTYPE_FP32R || dtype >= DTYPE_FP8_E3;
}

bool dtype_is_signed(enum dtype dtype)
{
    return dtype == DTYPE_INT8 || dtype == DTYPE_INT16 || dtype == DTYPE_INT32 ||
           dtype == DTYPE_INT64;
}

const char *opcode_name(enum opcode opcode)
{
    return opcodes[opcode];
}

const char *alu_name(enum alu alu)
{
    return alus[alu];
}

const char *function_name(enum function function)
{
    return functions[function];
}
