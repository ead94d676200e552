/*
 * The operations of enum alu. Integers overflow as two's complement does.
 */
#include "neuron/simulator/alu.h"

#include "neuron/simulator/functions.h"

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

#define FLOAT_OPERATION(name, expression)                                                          \
    static void name(const float *a, const float *b, float *out, size_t count)                     \
    {                                                                                              \
        for (size_t i = 0; i < count; i++) {                                                       \
            float x = a[i], y = b[i];                                                              \
            out[i] = (float)(expression);                                                          \
        }                                                                                          \
    }

FLOAT_OPERATION(float_add, (x + y))
FLOAT_OPERATION(float_subtract, (x - y))
FLOAT_OPERATION(float_reverse_subtract, (y - x))
FLOAT_OPERATION(float_multiply, (x * y))
FLOAT_OPERATION(float_divide, (x / y))
FLOAT_OPERATION(float_reverse_divide, (y / x))
FLOAT_OPERATION(float_remainder, (fmodf(x, y)))
FLOAT_OPERATION(float_power, (function_power(x, y)))
FLOAT_OPERATION(float_reverse_power, (function_power(y, x)))
FLOAT_OPERATION(float_max, (max_of(x, y)))
FLOAT_OPERATION(float_min, (min_of(x, y)))
FLOAT_OPERATION(float_equal, (x == y))
FLOAT_OPERATION(float_not_equal, (x != y))
FLOAT_OPERATION(float_less, (x < y))
FLOAT_OPERATION(float_less_equal, (x <= y))
FLOAT_OPERATION(float_greater, (x > y))
FLOAT_OPERATION(float_greater_equal, (x >= y))
FLOAT_OPERATION(float_atan2, (function_atan2(x, y)))

typedef void float_operation(const float *a, const float *b, float *out, size_t count);
static float_operation *const float_operations[ALU_COUNT] = {
    [ALU_ADD] = float_add,
    [ALU_SUBTRACT] = float_subtract,
    [ALU_REVERSE_SUBTRACT] = float_reverse_subtract,
    [ALU_MULTIPLY] = float_multiply,
    [ALU_DIVIDE] = float_divide,
    [ALU_REVERSE_DIVIDE] = float_reverse_divide,
    [ALU_REMAINDER] = float_remainder,
    [ALU_POWER] = float_power,
    [ALU_REVERSE_POWER] = float_reverse_power,
    [ALU_MAX] = float_max,
    [ALU_MIN] = float_min,
    [ALU_EQUAL] = float_equal,
    [ALU_NOT_EQUAL] = float_not_equal,
    [ALU_LESS] = float_less,
    [ALU_LESS_EQUAL] = float_less_equal,
    [ALU_GREATER] = float_greater,
    [ALU_GREATER_EQUAL] = float_greater_equal,
    [ALU_ATAN2] = float_atan2,
};

/* Bitwise operations are for integers; a float counts as its whole part. */
void alu_floats(enum alu alu, const float *a, const float *b, float *out, size_t count)
{
    if (float_operations[alu]) {
        float_operations[alu](a, b, out, count);
        return;
    }
    for (size_t i = 0; i < count; i++)
        out[i] = (float)alu_integer(alu, whole(a[i]), whole(b[i]));
}

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

/* By the type's sign bit, also for unsigned types. */
static inline int64_t shift_right_arithmetic(int64_t a, int64_t by, unsigned bits)
{
    int64_t value = (int64_t)((uint64_t)a << (64 - bits)) >> (64 - bits);
    return value >> ((uint64_t)by < bits ? by : bits - 1);
}

#define INTEGER_OPERATION(name, expression)                                                        \
    static void name(struct integer_kind kind, const int64_t *a, const int64_t *b, int64_t *out,   \
                     size_t count)                                                                 \
    {                                                                                              \
        (void)kind;                                                                                \
        for (size_t i = 0; i < count; i++) {                                                       \
            int64_t x = a[i], y = b[i];                                                            \
            out[i] = (int64_t)(expression);                                                        \
        }                                                                                          \
    }

INTEGER_OPERATION(integer_add, ((uint64_t)x + (uint64_t)y))
INTEGER_OPERATION(integer_subtract, ((uint64_t)x - (uint64_t)y))
INTEGER_OPERATION(integer_reverse_subtract, ((uint64_t)y - (uint64_t)x))
INTEGER_OPERATION(integer_multiply, ((uint64_t)x * (uint64_t)y))
INTEGER_OPERATION(integer_divide, (divide(x, y, kind.is_unsigned)))
INTEGER_OPERATION(integer_reverse_divide, (divide(y, x, kind.is_unsigned)))
INTEGER_OPERATION(integer_remainder, (remainder_of(x, y, kind.is_unsigned)))
INTEGER_OPERATION(integer_power, (power(x, y, kind.is_unsigned)))
INTEGER_OPERATION(integer_reverse_power, (power(y, x, kind.is_unsigned)))
INTEGER_OPERATION(integer_max, (is_less(x, y, kind.is_unsigned) ? y : x))
INTEGER_OPERATION(integer_min, (is_less(y, x, kind.is_unsigned) ? y : x))
INTEGER_OPERATION(integer_equal, (x == y))
INTEGER_OPERATION(integer_not_equal, (x != y))
INTEGER_OPERATION(integer_less, (is_less(x, y, kind.is_unsigned)))
INTEGER_OPERATION(integer_less_equal, (!is_less(y, x, kind.is_unsigned)))
INTEGER_OPERATION(integer_greater, (is_less(y, x, kind.is_unsigned)))
INTEGER_OPERATION(integer_greater_equal, (!is_less(x, y, kind.is_unsigned)))
INTEGER_OPERATION(integer_and, (x & y))
INTEGER_OPERATION(integer_or, (x | y))
INTEGER_OPERATION(integer_xor, (x ^ y))
INTEGER_OPERATION(integer_shift_left, (shift_left(x, y, kind.bits)))
INTEGER_OPERATION(integer_shift_right_logical, (shift_right_logical(x, y, kind.bits)))
INTEGER_OPERATION(integer_shift_right_arithmetic, (shift_right_arithmetic(x, y, kind.bits)))
INTEGER_OPERATION(integer_atan2, (function_atan2((float)x, (float)y)))

typedef void integer_operation(struct integer_kind kind, const int64_t *a, const int64_t *b,
                               int64_t *out, size_t count);
static integer_operation *const integer_operations[ALU_COUNT] = {
    [ALU_ADD] = integer_add,
    [ALU_SUBTRACT] = integer_subtract,
    [ALU_REVERSE_SUBTRACT] = integer_reverse_subtract,
    [ALU_MULTIPLY] = integer_multiply,
    [ALU_DIVIDE] = integer_divide,
    [ALU_REVERSE_DIVIDE] = integer_reverse_divide,
    [ALU_REMAINDER] = integer_remainder,
    [ALU_POWER] = integer_power,
    [ALU_REVERSE_POWER] = integer_reverse_power,
    [ALU_MAX] = integer_max,
    [ALU_MIN] = integer_min,
    [ALU_EQUAL] = integer_equal,
    [ALU_NOT_EQUAL] = integer_not_equal,
    [ALU_LESS] = integer_less,
    [ALU_LESS_EQUAL] = integer_less_equal,
    [ALU_GREATER] = integer_greater,
    [ALU_GREATER_EQUAL] = integer_greater_equal,
    [ALU_AND] = integer_and,
    [ALU_OR] = integer_or,
    [ALU_XOR] = integer_xor,
    [ALU_SHIFT_LEFT] = integer_shift_left,
    [ALU_SHIFT_RIGHT_LOGICAL] = integer_shift_right_logical,
    [ALU_SHIFT_RIGHT_ARITHMETIC] = integer_shift_right_arithmetic,
    [ALU_ATAN2] = integer_atan2,
};

void alu_integers(enum alu alu, struct integer_kind kind, const int64_t *a, const int64_t *b,
                  int64_t *out, size_t count)
{
    integer_operations[alu](kind, a, b, out, count);
}

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
        case ALU_ADD: /* the most common one */
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
