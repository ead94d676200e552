/*
 * The functions of enum function, element by element.
 */
#include "neuron/simulator/functions.h"

#include "neuron/simulator/real.h"

float function_power(float base, float exponent)
{
    if (exponent == 0 || base == 1)
        return 1;
    if (base != base || exponent != exponent)
        return base + exponent;
    float size = fabsf(base), reach = fabsf(exponent);
    if (reach == INFINITY)
        return size == 1 ? 1 : (size > 1) == (exponent > 0) ? INFINITY : 0;
    bool is_whole = reach >= 0x1p23f || reach == (float)(int32_t)reach;
    bool is_odd = is_whole && reach < 0x1p24f && (int32_t)reach & 1;
    if (base < 0 && size < INFINITY && !is_whole)
        return NAN;
    float result = (float)real_exp(exponent * real_log(size));
    return signbit(base) && is_odd ? -result : result;
}

float function_atan2(float y, float x)
{
    if (x != x || y != y)
        return x + y;
    double rise = fabs((double)y), run = fabs((double)x);
    double low = rise < run ? rise : run, high = rise < run ? run : rise;
    double ratio = high == 0 ? 0 : low == high ? 1 : low / high;
    double angle = real_atan_part(ratio);
    if (rise > run)
        angle = real_half_pi - angle;
    if (signbit(x))
        angle = real_pi - angle;
    return (float)copysign(angle, (double)y);
}

/* x times a weight that is 0 in FP32 long before x is minus infinity. */
static inline double weighted(double x, double weight)
{
    return x < -1000 ? -0.0 : x * weight;
}

static inline float gelu_tanh(float value)
{
    double x = value;
    /* (1 + tanh z) / 2 is the sigmoid of 2 z. */
    return (float)weighted(x, real_sigmoid(0x1.9884533d43651p+0 * (x + 0.044715 * x * x * x)));
}

static inline double gelu(double x)
{
    return weighted(0.5 * x, real_erfc(-x * 0x1.6a09e667f3bcdp-1));
}

static inline double softplus(double x)
{
    return (x > 0 ? x : 0) + real_log1p(real_exp(-fabs(x)));
}

static inline float sign_of(float x)
{
    return x > 0 ? 1 : x < 0 ? -1 : x;
}

static inline float relu(float x)
{
    return x < 0 ? 0 : x;
}

static inline int64_t integer_function(enum function function, unsigned bits, int64_t value)
{
    uint64_t mask = bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX,
             raw = (uint64_t)value & mask;
    switch (function) {
    case FUNCTION_NOT:
        return (int64_t)~(uint64_t)value;
    case FUNCTION_POPULATION_COUNT:
        return __builtin_popcountll(raw);
    case FUNCTION_LEADING_ZEROS:
        return raw ? __builtin_clzll(raw) - (int)(64 - bits) : (int)bits;
    case FUNCTION_ABS:
        return value < 0 ? (int64_t)(0 - (uint64_t)value) : value;
    case FUNCTION_SIGN:
        return (value > 0) - (value < 0);
    case FUNCTION_RELU:
        return value < 0 ? 0 : value;
    case FUNCTION_SQUARE:
        return (int64_t)((uint64_t)value * (uint64_t)value);
    default:
        return value;
    }
}

bool function_keeps_integers(enum function function)
{
    switch (function) {
    case FUNCTION_NOT:
    case FUNCTION_POPULATION_COUNT:
    case FUNCTION_LEADING_ZEROS:
    case FUNCTION_IDENTITY:
    case FUNCTION_ABS:
    case FUNCTION_SIGN:
    case FUNCTION_RELU:
    case FUNCTION_SQUARE:
        return true;
    default:
        return false;
    }
}

void function_integers(enum function function, unsigned bits, const int64_t *in, int64_t *out,
                       size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = integer_function(function, bits, in[i]);
}

#define FLOAT_FUNCTION(name, expression)                                                           \
    static void name(const float *in, float *out, size_t count)                                    \
    {                                                                                              \
        for (size_t i = 0; i < count; i++) {                                                       \
            float x = in[i];                                                                       \
            out[i] = (float)(expression);                                                          \
        }                                                                                          \
    }

FLOAT_FUNCTION(each_identity, (x))
FLOAT_FUNCTION(each_exp, (real_exp(x)))
FLOAT_FUNCTION(each_expm1, (real_expm1(x)))
FLOAT_FUNCTION(each_log, (real_log(x)))
FLOAT_FUNCTION(each_log1p, (real_log1p(x)))
FLOAT_FUNCTION(each_sqrt, (sqrtf(x)))
FLOAT_FUNCTION(each_rsqrt, (1 / sqrt((double)x)))
FLOAT_FUNCTION(each_cbrt, (real_cbrt(x)))
FLOAT_FUNCTION(each_reciprocal, (1 / x))
FLOAT_FUNCTION(each_tanh, (real_tanh(x)))
FLOAT_FUNCTION(each_sigmoid, (real_sigmoid(x)))
FLOAT_FUNCTION(each_relu, (relu(x)))
FLOAT_FUNCTION(each_gelu, (gelu(x)))
FLOAT_FUNCTION(each_gelu_tanh, (gelu_tanh(x)))
FLOAT_FUNCTION(each_silu, (weighted(x, real_sigmoid(x))))
FLOAT_FUNCTION(each_erf, (real_erf(x)))
FLOAT_FUNCTION(each_sin, (real_sin_turned(x, 0)))
FLOAT_FUNCTION(each_cos, (real_sin_turned(x, 1)))
FLOAT_FUNCTION(each_tan, (real_sin_turned(x, 0) / real_sin_turned(x, 1)))
FLOAT_FUNCTION(each_abs, (fabsf(x)))
FLOAT_FUNCTION(each_sign, (sign_of(x)))
FLOAT_FUNCTION(each_floor, (floorf(x)))
FLOAT_FUNCTION(each_ceil, (ceilf(x)))
FLOAT_FUNCTION(each_round_even, (rintf(x)))
FLOAT_FUNCTION(each_round_away, (roundf(x)))
FLOAT_FUNCTION(each_square, (x * x))
FLOAT_FUNCTION(each_softplus, (softplus(x)))
FLOAT_FUNCTION(each_is_finite, (fabsf(x) < INFINITY))

typedef void float_function(const float *in, float *out, size_t count);
static float_function *const float_functions[FUNCTION_COUNT] = {
    [FUNCTION_IDENTITY] = each_identity,
    [FUNCTION_EXP] = each_exp,
    [FUNCTION_EXPM1] = each_expm1,
    [FUNCTION_LOG] = each_log,
    [FUNCTION_LOG1P] = each_log1p,
    [FUNCTION_SQRT] = each_sqrt,
    [FUNCTION_RSQRT] = each_rsqrt,
    [FUNCTION_CBRT] = each_cbrt,
    [FUNCTION_RECIPROCAL] = each_reciprocal,
    [FUNCTION_TANH] = each_tanh,
    [FUNCTION_SIGMOID] = each_sigmoid,
    [FUNCTION_RELU] = each_relu,
    [FUNCTION_GELU] = each_gelu,
    [FUNCTION_GELU_TANH] = each_gelu_tanh,
    [FUNCTION_SILU] = each_silu,
    [FUNCTION_ERF] = each_erf,
    [FUNCTION_SIN] = each_sin,
    [FUNCTION_COS] = each_cos,
    [FUNCTION_TAN] = each_tan,
    [FUNCTION_ABS] = each_abs,
    [FUNCTION_SIGN] = each_sign,
    [FUNCTION_FLOOR] = each_floor,
    [FUNCTION_CEIL] = each_ceil,
    [FUNCTION_ROUND_EVEN] = each_round_even,
    [FUNCTION_ROUND_AWAY] = each_round_away,
    [FUNCTION_SQUARE] = each_square,
    [FUNCTION_SOFTPLUS] = each_softplus,
    [FUNCTION_IS_FINITE] = each_is_finite,
};

/* Bitwise functions are for integers; a float counts as its whole part. */
void function_floats(enum function function, const float *in, float *out, size_t count)
{
    if (float_functions[function]) {
        float_functions[function](in, out, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        int64_t whole = in[i] >= -0x1p63f && in[i] < 0x1p63f ? (int64_t)in[i] : 0;
        out[i] = (float)integer_function(function, 64, whole);
    }
}
