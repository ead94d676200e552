/*
 * The operations of enum alu. Integers overflow as two's complement does.
 */
#include "neuroncore/alu.h"

#include "neuroncore/functions.h"

#include <math.h>

static inline float max_of(float a, float b)
{
    return a != a || a > b ? a : b;
}

static inline float min_of(float a, float b)
{
    return a != a || a < b ? a : b;
}

static inline int64_t whole(float value)
{
    return value >= -0x1p63f && value < 0x1p63f ? (int64_t)value : 0;
}

#define EACH(expression)                                                                           \
    do {                                                                                           \
        for (size_t i = 0; i < count; i++) {                                                       \
            float x = a[i], y = b[i];                                                              \
            (void)y;                                                                               \
            out[i] = (float)(expression);                                                          \
        }                                                                                          \
    } while (0)

/* Operations on bits are for integers; a float stands for its whole part. */
static void alu_float_bits(enum alu alu, const float *a, const float *b, float *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t x = whole(a[i]), y = whole(b[i]), result;
        alu_integers(alu, (struct integer_kind){.bits = 64}, &x, &y, &result, 1);
        out[i] = (float)result;
    }
}

static void alu_float_comparison(enum alu alu, const float *a, const float *b, float *out,
                                 size_t count)
{
    switch (alu) {
    case ALU_EQUAL:
        EACH(x == y);
        break;
    case ALU_NOT_EQUAL:
        EACH(x != y);
        break;
    case ALU_LESS:
        EACH(x < y);
        break;
    case ALU_LESS_EQUAL:
        EACH(x <= y);
        break;
    case ALU_GREATER:
        EACH(x > y);
        break;
    default:
        EACH(x >= y);
        break;
    }
}

void alu_floats(enum alu alu, const float *a, const float *b, float *out, size_t count)
{
    switch (alu) {
    case ALU_NONE:
    case ALU_COUNT:
        EACH(x);
        break;
    case ALU_ADD:
        EACH(x + y);
        break;
    case ALU_SUBTRACT:
        EACH(x - y);
        break;
    case ALU_REVERSE_SUBTRACT:
        EACH(y - x);
        break;
    case ALU_MULTIPLY:
        EACH((x * y));
        break;
    case ALU_DIVIDE:
        EACH(x / y);
        break;
    case ALU_REVERSE_DIVIDE:
        EACH(y / x);
        break;
    case ALU_REMAINDER:
        EACH(fmodf(x, y));
        break;
    case ALU_POWER:
        EACH(function_power(x, y));
        break;
    case ALU_REVERSE_POWER:
        EACH(function_power(y, x));
        break;
    case ALU_MAX:
        EACH(max_of(x, y));
        break;
    case ALU_MIN:
        EACH(min_of(x, y));
        break;
    case ALU_ATAN2:
        EACH(function_atan2(x, y));
        break;
    case ALU_EQUAL:
    case ALU_NOT_EQUAL:
    case ALU_LESS:
    case ALU_LESS_EQUAL:
    case ALU_GREATER:
    case ALU_GREATER_EQUAL:
        alu_float_comparison(alu, a, b, out, count);
        break;
    case ALU_AND:
    case ALU_OR:
    case ALU_XOR:
    case ALU_SHIFT_LEFT:
    case ALU_SHIFT_RIGHT_LOGICAL:
    case ALU_SHIFT_RIGHT_ARITHMETIC:
        alu_float_bits(alu, a, b, out, count);
        break;
    }
}
#undef EACH

static inline int64_t divide(int64_t a, int64_t b, bool is_unsigned)
{
    if (b == 0)
        return -1;
    if (is_unsigned)
        return (int64_t)((uint64_t)a / (uint64_t)b);
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static inline int64_t remainder_of(int64_t a, int64_t b, bool is_unsigned)
{
    if (b == 0)
        return a;
    if (is_unsigned)
        return (int64_t)((uint64_t)a % (uint64_t)b);
    return b == -1 ? 0 : a % b;
}

static int64_t power(int64_t base, int64_t exponent, bool is_unsigned)
{
    if (exponent < 0 && !is_unsigned)
        return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
    uint64_t result = 1, square = (uint64_t)base;
    for (uint64_t left = (uint64_t)exponent; left; left >>= 1, square *= square)
        if (left & 1)
            result *= square;
    return (int64_t)result;
}

static inline bool is_less(int64_t a, int64_t b, bool is_unsigned)
{
    return is_unsigned ? (uint64_t)a < (uint64_t)b : a < b;
}

static inline int64_t shift_left(int64_t a, int64_t by, unsigned bits)
{
    return (uint64_t)by < bits ? (int64_t)((uint64_t)a << by) : 0;
}

static inline int64_t shift_right_logical(int64_t a, int64_t by, unsigned bits)
{
    uint64_t value = bits < 64 ? (uint64_t)a & ((UINT64_C(1) << bits) - 1) : (uint64_t)a;
    return (uint64_t)by < bits ? (int64_t)(value >> by) : 0;
}

/* Of the type's sign bit, also of unsigned ones. */
static inline int64_t shift_right_arithmetic(int64_t a, int64_t by, unsigned bits)
{
    int64_t value = (int64_t)((uint64_t)a << (64 - bits)) >> (64 - bits);
    return value >> ((uint64_t)by < bits ? by : bits - 1);
}

#define EACH(expression)                                                                           \
    do {                                                                                           \
        for (size_t i = 0; i < count; i++) {                                                       \
            int64_t x = a[i], y = b[i];                                                            \
            (void)y;                                                                               \
            out[i] = (int64_t)(expression);                                                        \
        }                                                                                          \
    } while (0)

static void alu_integer_bits(enum alu alu, struct integer_kind kind, const int64_t *a,
                             const int64_t *b, int64_t *out, size_t count)
{
    switch (alu) {
    case ALU_AND:
        EACH((x & y));
        break;
    case ALU_OR:
        EACH(x | y);
        break;
    case ALU_XOR:
        EACH(x ^ y);
        break;
    case ALU_SHIFT_LEFT:
        EACH(shift_left(x, y, kind.bits));
        break;
    case ALU_SHIFT_RIGHT_LOGICAL:
        EACH(shift_right_logical(x, y, kind.bits));
        break;
    default:
        EACH(shift_right_arithmetic(x, y, kind.bits));
        break;
    }
}

static void alu_integer_comparison(enum alu alu, bool is_unsigned, const int64_t *a,
                                   const int64_t *b, int64_t *out, size_t count)
{
    switch (alu) {
    case ALU_EQUAL:
        EACH(x == y);
        break;
    case ALU_NOT_EQUAL:
        EACH(x != y);
        break;
    case ALU_LESS:
        EACH(is_less(x, y, is_unsigned));
        break;
    case ALU_LESS_EQUAL:
        EACH(!is_less(y, x, is_unsigned));
        break;
    case ALU_GREATER:
        EACH(is_less(y, x, is_unsigned));
        break;
    default:
        EACH(!is_less(x, y, is_unsigned));
        break;
    }
}

void alu_integers(enum alu alu, struct integer_kind kind, const int64_t *a, const int64_t *b,
                  int64_t *out, size_t count)
{
    bool is_unsigned = kind.is_unsigned;
    switch (alu) {
    case ALU_NONE:
    case ALU_COUNT:
        EACH(x);
        break;
    case ALU_ADD:
        EACH((uint64_t)x + (uint64_t)y);
        break;
    case ALU_SUBTRACT:
        EACH((uint64_t)x - (uint64_t)y);
        break;
    case ALU_REVERSE_SUBTRACT:
        EACH((uint64_t)y - (uint64_t)x);
        break;
    case ALU_MULTIPLY:
        EACH((uint64_t)x * (uint64_t)y);
        break;
    case ALU_DIVIDE:
        EACH(divide(x, y, is_unsigned));
        break;
    case ALU_REVERSE_DIVIDE:
        EACH(divide(y, x, is_unsigned));
        break;
    case ALU_REMAINDER:
        EACH(remainder_of(x, y, is_unsigned));
        break;
    case ALU_POWER:
        EACH(power(x, y, is_unsigned));
        break;
    case ALU_REVERSE_POWER:
        EACH(power(y, x, is_unsigned));
        break;
    case ALU_MAX:
        EACH(is_less(x, y, is_unsigned) ? y : x);
        break;
    case ALU_MIN:
        EACH(is_less(y, x, is_unsigned) ? y : x);
        break;
    case ALU_ATAN2:
        EACH(function_atan2((float)x, (float)y));
        break;
    case ALU_EQUAL:
    case ALU_NOT_EQUAL:
    case ALU_LESS:
    case ALU_LESS_EQUAL:
    case ALU_GREATER:
    case ALU_GREATER_EQUAL:
        alu_integer_comparison(alu, is_unsigned, a, b, out, count);
        break;
    case ALU_AND:
    case ALU_OR:
    case ALU_XOR:
    case ALU_SHIFT_LEFT:
    case ALU_SHIFT_RIGHT_LOGICAL:
    case ALU_SHIFT_RIGHT_ARITHMETIC:
        alu_integer_bits(alu, kind, a, b, out, count);
        break;
    }
}
#undef EACH

int64_t alu_integer(enum alu alu, int64_t a, int64_t b)
{
    int64_t result;
    alu_integers(alu, (struct integer_kind){.bits = 64}, &a, &b, &result, 1);
    return result;
}

static float float_identity(enum alu alu)
{
    switch (alu) {
    case ALU_MULTIPLY:
        return 1;
    case ALU_MAX:
        return -INFINITY;
    case ALU_MIN:
        return INFINITY;
    default:
        return 0;
    }
}

static inline float combine(enum alu alu, float a, float b)
{
    switch (alu) {
    case ALU_MULTIPLY:
        return a * b;
    case ALU_MAX:
        return max_of(a, b);
    case ALU_MIN:
        return min_of(a, b);
    default:
        return a + b;
    }
}

void reduction_begin(struct float_reduction *reduction, enum alu alu)
{
    for (unsigned i = 0; i < 16; i++)
        reduction->lanes[i] = float_identity(alu);
    reduction->count = 0;
}

void reduction_add(struct float_reduction *reduction, enum alu alu, const float *in, size_t count)
{
    size_t i = 0;
    for (; i < count && reduction->count % 16 != 0; i++, reduction->count++) {
        float *lane = &reduction->lanes[reduction->count % 16];
        *lane = combine(alu, *lane, in[i]);
    }
    for (; i + 16 <= count; i += 16, reduction->count += 16)
        switch (alu) {
        case ALU_ADD: /* the one that is used most */
            for (unsigned k = 0; k < 16; k++)
                reduction->lanes[k] += in[i + k];
            break;
        default:
            for (unsigned k = 0; k < 16; k++)
                reduction->lanes[k] = combine(alu, reduction->lanes[k], in[i + k]);
            break;
        }
    for (; i < count; i++, reduction->count++) {
        float *lane = &reduction->lanes[reduction->count % 16];
        *lane = combine(alu, *lane, in[i]);
    }
}

float reduction_end(const struct float_reduction *reduction, enum alu alu)
{
    float lanes[16];
    for (unsigned i = 0; i < 16; i++)
        lanes[i] = reduction->lanes[i];
    for (unsigned half = 8; half > 0; half /= 2)
        for (unsigned i = 0; i < half; i++)
            lanes[i] = combine(alu, lanes[i], lanes[i + half]);
    return lanes[0];
}

int64_t reduce_identity(enum alu alu, struct integer_kind kind)
{
    switch (alu) {
    case ALU_MULTIPLY:
        return 1;
    case ALU_MAX:
        return kind.is_unsigned ? 0 : INT64_MIN;
    case ALU_MIN:
        return kind.is_unsigned ? -1 : INT64_MAX;
    case ALU_AND:
        return -1;
    default:
        return 0;
    }
}
