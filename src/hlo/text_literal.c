/*
 * Values of constants as in HLO's text.
 */
#include "hlo/text.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SHOWN_RANK = 8 };

/* The fewest digits that usually suffice for the type or, if these do not parse back to the number,
 * as many as always do. */
static void put_real(struct output *out, double value, int digits, int most)
{
    char text[40];
    if (isnan(value)) {
        output_text(out, signbit(value) ? "-nan" : "nan");
        return;
    }
    snprintf(text, sizeof text, "%.*g", digits, value);
    double back = most == FLT_DECIMAL_DIG ? (double)strtof(text, NULL) : strtod(text, NULL);
    if (back != value)
        snprintf(text, sizeof text, "%.*g", most, value);
    output_text(out, text);
}

/* A number of sign, exponent and mantissa, from its bits. special: whether the largest exponent is
 * infinity and NaN, or only the largest value is NaN. */
static double small_float(uint32_t bits, uint32_t exponent_bits, uint32_t mantissa_bits,
                          bool has_infinity)
{
    uint32_t mantissa = bits & ((1U << mantissa_bits) - 1);
    uint32_t top = (1U << exponent_bits) - 1, exponent = bits >> mantissa_bits & top;
    int bias = (1 << (exponent_bits - 1)) - 1;
    double sign = bits >> (exponent_bits + mantissa_bits) & 1 ? -1 : 1;
    if (exponent == top && has_infinity)
        return mantissa ? copysign(NAN, sign) : sign * INFINITY;
    if (exponent == top && mantissa == (1U << mantissa_bits) - 1)
        return copysign(NAN, sign);
    double fraction = mantissa / (double)(1U << mantissa_bits);
    return exponent ? sign * ldexp(1 + fraction, (int)exponent - bias)
                    : sign * ldexp(fraction, 1 - bias);
}

/* The number of digits for each type is XLA's. The types without a name here are 8-bit floats, by
 * their numbers in xla_data.proto. */
static void put_float_bits(struct output *out, uint32_t type, const uint8_t *at)
{
    float single;
    double value;
    uint16_t half;
    memcpy(&half, at, hlo_type_bits(type) == 8 ? 1 : 2);
    switch (type) {
    case HLO_F32:
        memcpy(&single, at, sizeof single);
        put_real(out, single, FLT_DIG, FLT_DECIMAL_DIG);
        return;
    case HLO_F64:
        memcpy(&value, at, sizeof value);
        put_real(out, value, DBL_DIG, DBL_DECIMAL_DIG);
        return;
    case HLO_F16:
        put_real(out, small_float(half, 5, 10, true), 5, 5);
        return;
    case HLO_BF16:
        put_real(out, small_float(half, 8, 7, true), 4, 4);
        return;
    case 19:
        put_real(out, small_float(half & 255, 5, 2, true), 2, 2);
        return;
    case 20:
        put_real(out, small_float(half & 255, 4, 3, false), 3, 3);
        return;
    case 28:
        put_real(out, small_float(half & 255, 4, 3, true), 3, 3);
        return;
    default:
        put_real(out, small_float(half & 255, 3, 4, true), 3, 3);
        return;
    }
}

static void put_integer_bits(struct output *out, uint32_t type, const uint8_t *at)
{
    uint64_t value = 0;
    uint32_t bits = hlo_type_bits(type);
    memcpy(&value, at, bits / 8);
    bool is_signed = type >= 2 && type <= 5;
    if (is_signed)
        output_format(out, "%" PRId64, (int64_t)(value << (64 - bits)) >> (64 - bits));
    else
        output_format(out, "%" PRIu64, value);
}

static void put_element(struct output *out, uint32_t type, const uint8_t *at, bool is_scalar)
{
    if (type == HLO_C64 || type == HLO_C128) {
        uint32_t part = type == HLO_C64 ? HLO_F32 : HLO_F64;
        output_char(out, '(');
        put_float_bits(out, part, at);
        output_text(out, ", ");
        put_float_bits(out, part, at + hlo_type_bits(part) / 8);
        output_char(out, ')');
    } else if (hlo_type_is_float(type)) {
        put_float_bits(out, type, at);
    } else if (type == HLO_PRED && is_scalar) {
        output_text(out, *at ? "true" : "false");
    } else {
        put_integer_bits(out, type, at);
    }
}

/* Braces around each dimension, with spaces when there are several: around the elements of the last
 * one only when these are several as well. */
static void put_elements(struct output *out, const struct hlo_shape *shape, const uint8_t *data,
                         int64_t count)
{
    uint32_t width = hlo_type_bits(shape->type) / 8;
    int64_t at[SHOWN_RANK] = {0};
    uint32_t rank = shape->rank;
    bool is_wide = rank > 1 && shape->dimensions[rank - 1] > 1;
    for (uint32_t d = 0; d < rank; d++)
        output_text(out, d + 1 < rank || is_wide ? "{ " : "{");
    for (int64_t i = 0; i < count; i++) {
        put_element(out, shape->type, data + i * width, false);
        uint32_t d = rank, closed = 0;
        while (d-- > 0) {
            if (++at[d] < shape->dimensions[d])
                break;
            at[d] = 0;
            closed++;
        }
        for (uint32_t c = 0; c < closed; c++)
            output_text(out, c > 0 || is_wide ? " }" : "}");
        if (i + 1 == count)
            return;
        output_text(out, ", ");
        for (uint32_t c = closed; c-- > 0;)
            output_text(out, c > 0 || is_wide ? "{ " : "{");
    }
}

void put_literal(struct output *out, const struct hlo_instruction *at, int64_t most_elements)
{
    struct pb_reader in = hlo_message(at->bytes, HLO_LITERAL);
    int64_t count = hlo_elements(&at->shape);
    struct arena memory = {0};
    struct error err;
    uint8_t *data = NULL;
    if (count > 0 && count <= most_elements && at->shape.rank <= SHOWN_RANK)
        data = hlo_literal_read(&memory, in, &at->shape, &err);
    if (!data)
        output_text(out, "{...}");
    else if (at->shape.rank == 0)
        put_element(out, at->shape.type, data, true);
    else
        put_elements(out, &at->shape, data, count);
    arena_free(&memory);
}
