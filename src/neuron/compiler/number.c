/*
 * Encoding of numbers.
 */
#include "neuron/compiler/number.h"

#include <limits.h>
#include <math.h>
#include <string.h>

struct float_format {
    int exponent_bits, mantissa_bits;
    bool has_infinity;
};

/* A float of up to 16 bits: rounded once, from the double. */
static uint16_t encode_small(struct float_format format, double number)
{
    int bias = (1 << (format.exponent_bits - 1)) - 1, m = format.mantissa_bits;
    uint16_t sign = (uint16_t)((signbit(number) ? 1 : 0) << (format.exponent_bits + m));
    uint16_t special = (uint16_t)(((1 << format.exponent_bits) - 1) << m);
    uint16_t nan =
        (uint16_t)(format.has_infinity ? special | 1 << (m - 1) : special | ((1 << m) - 1));
    if (isnan(number))
        return (uint16_t)(sign | nan);
    number = fabs(number);
    int exponent = INT_MIN / 2; /* of zero */
    if (number > 0 && !isinf(number))
        frexp(number, &exponent);
    exponent = exponent - 1 < 1 - bias ? 1 - bias : exponent - 1;
    double scaled = isinf(number) ? number : nearbyint(ldexp(number, m - exponent));
    double limit = format.has_infinity ? special : special | ((1 << m) - 1);
    /* The biased exponent and the mantissa are one number; rounding up may carry into the former.
     */
    double bits = scaled + ldexp(exponent + bias - 1, m);
    if (!(bits < limit))
        return (uint16_t)(sign | (format.has_infinity ? special : nan));
    return (uint16_t)(sign | (uint16_t)bits);
}

void number_encode(enum dtype dtype, double number, int64_t integer, uint8_t *bytes)
{
    static const struct float_format formats[DTYPE_COUNT] = {
        [DTYPE_BF16] = {8, 7, true},   [DTYPE_FP16] = {5, 10, true},
        [DTYPE_FP8_E3] = {3, 4, true}, [DTYPE_FP8_E4] = {4, 3, false},
        [DTYPE_FP8_E5] = {5, 2, true},
    };
    if (formats[dtype].exponent_bits > 0) {
        uint16_t bits = encode_small(formats[dtype], number);
        memcpy(bytes, &bits, dtype_bytes(dtype)); /* little-endian */
    } else if (dtype_is_float(dtype)) {
        float value = (float)number;
        memcpy(bytes, &value, sizeof value);
    } else {
        memcpy(bytes, &integer, dtype_bytes(dtype));
    }
}
