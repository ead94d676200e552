/*
 * What instructions must compute, element by element, in other words than the core's: floats are
 * taken apart and rounded by ldexp and nearbyint, integers have 128 bits.
 */
#ifndef KYMO_UNIT_NEURONCORE_REFERENCE_H
#define KYMO_UNIT_NEURONCORE_REFERENCE_H

#include "neuron/program/neff.h"

#include "support.h"

#include <math.h>

struct float_format {
    int mantissa, exponent; /* bits */
    bool has_infinity;
};

static inline struct float_format float_format(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_BF16:
        return (struct float_format){7, 8, true};
    case DTYPE_FP16:
        return (struct float_format){10, 5, true};
    case DTYPE_FP8_E3:
        return (struct float_format){4, 3, true};
    case DTYPE_FP8_E4:
        return (struct float_format){3, 4, false};
    case DTYPE_FP8_E5:
        return (struct float_format){2, 5, true};
    default:
        return (struct float_format){23, 8, true};
    }
}

static inline uint64_t reference_bits(enum dtype dtype, const uint8_t *at)
{
    uint64_t bits = 0;
    memcpy(&bits, at, dtype_bytes(dtype)); /* little-endian, as the project's formats */
    return bits;
}

static inline double reference_float(enum dtype dtype, const uint8_t *at)
{
    struct float_format format = float_format(dtype);
    uint64_t bits = reference_bits(dtype, at);
    int bias = (1 << (format.exponent - 1)) - 1, top = (1 << format.exponent) - 1;
    uint64_t mantissa = bits & ((UINT64_C(1) << format.mantissa) - 1);
    int exponent = (int)(bits >> format.mantissa) & top;
    double sign = bits >> (format.mantissa + format.exponent) & 1 ? -1 : 1;
    if (exponent == top && format.has_infinity)
        return mantissa ? (double)NAN : sign * (double)INFINITY;
    if (exponent == top && mantissa == (UINT64_C(1) << format.mantissa) - 1)
        return (double)NAN;
    if (exponent == 0)
        return sign * ldexp((double)mantissa, 1 - bias - format.mantissa);
    return sign * ldexp((double)(mantissa + (UINT64_C(1) << format.mantissa)),
                        exponent - bias - format.mantissa);
}

/* The value a float has in the format: to the nearest, ties to even. */
static inline double reference_rounded(enum dtype dtype, double value)
{
    struct float_format format = float_format(dtype);
    if (value != value || value == 0)
        return value;
    int bias = (1 << (format.exponent - 1)) - 1;
    int largest = (1 << format.exponent) - 1 - bias - (format.has_infinity ? 1 : 0);
    double limit = ldexp(2 - ldexp(1, -format.mantissa) -
                             (format.has_infinity ? 0 : ldexp(1, -format.mantissa)),
                         largest);
    double overflow = format.has_infinity ? copysign((double)INFINITY, value) : (double)NAN;
    if (isinf(value))
        return overflow;
    int exponent = ilogb(value) < 1 - bias ? 1 - bias : ilogb(value);
    double rounded =
        ldexp(nearbyint(ldexp(value, format.mantissa - exponent)), exponent - format.mantissa);
    return fabs(rounded) > limit ? overflow : rounded;
}

static inline bool is_signed_integer(enum dtype dtype)
{
    return dtype == DTYPE_INT8 || dtype == DTYPE_INT16 || dtype == DTYPE_INT32 ||
           dtype == DTYPE_INT64;
}

static inline __int128 reference_wrapped(enum dtype dtype, __int128 value)
{
    unsigned bits = 8 * dtype_bytes(dtype);
    __int128 whole = (__int128)1 << bits, rest = value % whole;
    if (rest < 0)
        rest += whole;
    return is_signed_integer(dtype) && rest >= whole / 2 ? rest - whole : rest;
}

static inline __int128 reference_integer(enum dtype dtype, const uint8_t *at)
{
    return reference_wrapped(dtype, reference_bits(dtype, at));
}

static inline __int128 reference_clamped(enum dtype dtype, double value)
{
    unsigned bits = 8 * dtype_bytes(dtype) - (is_signed_integer(dtype) ? 1 : 0);
    __int128 high = ((__int128)1 << bits) - 1, low = is_signed_integer(dtype) ? -high - 1 : 0;
    if (value != value)
        return 0;
    if (value >= ldexp(1, (int)bits))
        return high;
    return value <= (double)low ? low : (__int128)value;
}

static inline float reference_alu_float(enum alu alu, float a, float b)
{
    volatile float x = a, y = b;
    switch (alu) {
    case ALU_ADD:
        return x + y;
    case ALU_SUBTRACT:
        return x - y;
    case ALU_REVERSE_SUBTRACT:
        return y - x;
    case ALU_MULTIPLY:
        return x * y;
    case ALU_DIVIDE:
        return x / y;
    case ALU_REVERSE_DIVIDE:
        return y / x;
    case ALU_REMAINDER:
        return (float)fmod((double)x, (double)y);
    case ALU_POWER:
        return (float)pow((double)x, (double)y);
    case ALU_REVERSE_POWER:
        return (float)pow((double)y, (double)x);
    case ALU_MAX:
        return isnan(x) || isnan(y) ? NAN : x > y ? x : y;
    case ALU_MIN:
        return isnan(x) || isnan(y) ? NAN : x < y ? x : y;
    case ALU_EQUAL:
        return x == y;
    case ALU_NOT_EQUAL:
        return x != y;
    case ALU_LESS:
        return x < y;
    case ALU_LESS_EQUAL:
        return x <= y;
    case ALU_GREATER:
        return x > y;
    case ALU_GREATER_EQUAL:
        return x >= y;
    case ALU_ATAN2:
        return (float)atan2((double)x, (double)y);
    default:
        fail();
        return 0;
    }
}

static inline __int128 reference_power(__int128 base, __int128 exponent)
{
    if (exponent < 0)
        return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
    unsigned __int128 result = 1, factor = (unsigned __int128)base;
    for (; exponent > 0; exponent /= 2, factor *= factor)
        if (exponent % 2)
            result *= factor;
    return (__int128)result;
}

/* Of values of the type `dtype`, the first operand's. */
static inline __int128 reference_alu_integer(enum alu alu, enum dtype dtype, __int128 a, __int128 b)
{
    unsigned bits = 8 * dtype_bytes(dtype);
    __int128 whole = (__int128)1 << bits, raw = a < 0 ? a + whole : a;
    bool is_far = b < 0 || b >= bits;
    switch (alu) {
    case ALU_ADD:
        return a + b;
    case ALU_SUBTRACT:
        return a - b;
    case ALU_REVERSE_SUBTRACT:
        return b - a;
    case ALU_MULTIPLY:
        return (__int128)((unsigned __int128)a * (unsigned __int128)b);
    case ALU_DIVIDE:
        return b == 0 ? -1 : a / b;
    case ALU_REVERSE_DIVIDE:
        return a == 0 ? -1 : b / a;
    case ALU_REMAINDER:
        return b == 0 ? a : a % b;
    case ALU_POWER:
        return reference_power(a, b);
    case ALU_REVERSE_POWER:
        return reference_power(b, a);
    case ALU_MAX:
        return a > b ? a : b;
    case ALU_MIN:
        return a < b ? a : b;
    case ALU_EQUAL:
        return a == b;
    case ALU_NOT_EQUAL:
        return a != b;
    case ALU_LESS:
        return a < b;
    case ALU_LESS_EQUAL:
        return a <= b;
    case ALU_GREATER:
        return a > b;
    case ALU_GREATER_EQUAL:
        return a >= b;
    case ALU_AND:
        return a & b;
    case ALU_OR:
        return a | b;
    case ALU_XOR:
        return a ^ b;
    case ALU_SHIFT_LEFT:
        return is_far ? 0 : (__int128)((unsigned __int128)a << b);
    case ALU_SHIFT_RIGHT_LOGICAL:
        return is_far ? 0 : raw >> b;
    case ALU_SHIFT_RIGHT_ARITHMETIC:
        raw = raw >= whole / 2 ? raw - whole : raw;
        return is_far ? (raw < 0 ? -1 : 0) : raw >> b;
    default:
        fail();
        return 0;
    }
}

static inline double reference_function(enum function function, double x)
{
    bool is_weighted =
        function == FUNCTION_GELU || function == FUNCTION_GELU_TANH || function == FUNCTION_SILU;
    if (is_weighted && x == -(double)INFINITY)
        return 0;
    switch (function) {
    case FUNCTION_IDENTITY:
        return x;
    case FUNCTION_EXP:
        return exp(x);
    case FUNCTION_EXPM1:
        return expm1(x);
    case FUNCTION_LOG:
        return log(x);
    case FUNCTION_LOG1P:
        return log1p(x);
    case FUNCTION_SQRT:
        return sqrt(x);
    case FUNCTION_RSQRT:
        return 1 / sqrt(x);
    case FUNCTION_CBRT:
        return cbrt(x);
    case FUNCTION_RECIPROCAL:
        return 1 / x;
    case FUNCTION_TANH:
        return tanh(x);
    case FUNCTION_SIGMOID:
        return 1 / (1 + exp(-x));
    case FUNCTION_RELU:
        return x > 0 || x != x ? x : 0;
    case FUNCTION_GELU:
        return 0.5 * x * erfc(-x / sqrt(2));
    case FUNCTION_GELU_TANH:
        return x / (1 + exp(-2 * sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
    case FUNCTION_SILU:
        return x / (1 + exp(-x));
    case FUNCTION_ERF:
        return erf(x);
    case FUNCTION_SIN:
        return sin(x);
    case FUNCTION_COS:
        return cos(x);
    case FUNCTION_TAN:
        return tan(x);
    case FUNCTION_ABS:
        return fabs(x);
    case FUNCTION_SIGN:
        return x > 0 ? 1 : x < 0 ? -1 : x;
    case FUNCTION_FLOOR:
        return floor(x);
    case FUNCTION_CEIL:
        return ceil(x);
    case FUNCTION_ROUND_EVEN:
        return nearbyint(x);
    case FUNCTION_ROUND_AWAY:
        return round(x);
    case FUNCTION_SQUARE:
        return x * x;
    case FUNCTION_SOFTPLUS:
        return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
    case FUNCTION_IS_FINITE:
        return isfinite(x);
    default:
        fail();
        return 0;
    }
}

#endif
