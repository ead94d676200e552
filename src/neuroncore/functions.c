/*
 * The functions of enum function, element by element.
 */
#include "neuroncore/functions.h"

#include "neuroncore/real.h"

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

static float of_whole_part(enum function function, float x)
{
    int64_t whole = x >= -0x1p63f && x < 0x1p63f ? (int64_t)x : 0;
    return (float)integer_function(function, 64, whole);
}

#define EACH(expression)                                                                           \
    do {                                                                                           \
        for (size_t i = 0; i < count; i++) {                                                       \
            float x = in[i];                                                                       \
            out[i] = (float)(expression);                                                          \
        }                                                                                          \
    } while (0)

/* Those that are single instructions, or nearly. */
static void simple_floats(enum function function, const float *in, float *out, size_t count)
{
    switch (function) {
    case FUNCTION_SQRT:
        EACH(sqrtf(x));
        break;
    case FUNCTION_RSQRT:
        EACH(1 / sqrt((double)x));
        break;
    case FUNCTION_RECIPROCAL:
        EACH(1 / x);
        break;
    case FUNCTION_RELU:
        EACH(relu(x));
        break;
    case FUNCTION_ABS:
        EACH(fabsf(x));
        break;
    case FUNCTION_SIGN:
        EACH(sign_of(x));
        break;
    case FUNCTION_FLOOR:
        EACH(floorf(x));
        break;
    case FUNCTION_CEIL:
        EACH(ceilf(x));
        break;
    case FUNCTION_ROUND_EVEN:
        EACH(rintf(x));
        break;
    case FUNCTION_ROUND_AWAY:
        EACH(roundf(x));
        break;
    case FUNCTION_SQUARE:
        EACH((x * x));
        break;
    case FUNCTION_IS_FINITE:
        EACH(fabsf(x) < INFINITY);
        break;
    case FUNCTION_NOT:
    case FUNCTION_POPULATION_COUNT:
    case FUNCTION_LEADING_ZEROS:
        EACH(of_whole_part(function, x));
        break;
    default:
        EACH(x);
        break;
    }
}

void function_floats(enum function function, const float *in, float *out, size_t count)
{
    switch (function) {
    case FUNCTION_EXP:
        EACH(real_exp(x));
        break;
    case FUNCTION_EXPM1:
        EACH(real_expm1(x));
        break;
    case FUNCTION_LOG:
        EACH(real_log(x));
        break;
    case FUNCTION_LOG1P:
        EACH(real_log1p(x));
        break;
    case FUNCTION_CBRT:
        EACH(real_cbrt(x));
        break;
    case FUNCTION_TANH:
        EACH(real_tanh(x));
        break;
    case FUNCTION_SIGMOID:
        EACH(real_sigmoid(x));
        break;
    case FUNCTION_GELU:
        EACH(gelu(x));
        break;
    case FUNCTION_GELU_TANH:
        EACH(gelu_tanh(x));
        break;
    case FUNCTION_SILU:
        EACH(weighted(x, real_sigmoid(x)));
        break;
    case FUNCTION_ERF:
        EACH(real_erf(x));
        break;
    case FUNCTION_SIN:
        EACH(real_sin_turned(x, 0));
        break;
    case FUNCTION_COS:
        EACH(real_sin_turned(x, 1));
        break;
    case FUNCTION_TAN:
        EACH(real_sin_turned(x, 0) / real_sin_turned(x, 1));
        break;
    case FUNCTION_SOFTPLUS:
        EACH(softplus(x));
        break;
    default:
        simple_floats(function, in, out, count);
        break;
    }
}
