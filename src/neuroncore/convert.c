/*
 * Conversion of elements. Each loop is written once, and compiled twice: with the distance of
 * contiguous elements as a constant, which compilers turn into vector instructions, and with any
 * distance.
 */
#include "neuroncore/convert.h"

#include <math.h>
#include <string.h>

#define LOAD_EACH(type, out_value)                                                                 \
    do {                                                                                           \
        if (step == (int64_t)sizeof(type)) {                                                       \
            for (size_t i = 0; i < count; i++) {                                                   \
                type value;                                                                        \
                memcpy(&value, from + i * sizeof value, sizeof value);                             \
                out[i] = (out_value);                                                              \
            }                                                                                      \
        } else {                                                                                   \
            for (size_t i = 0; i < count; i++) {                                                   \
                type value;                                                                        \
                memcpy(&value, from + (int64_t)i * step, sizeof value);                            \
                out[i] = (out_value);                                                              \
            }                                                                                      \
        }                                                                                          \
    } while (0)

#define STORE_EACH(type, in_value)                                                                 \
    do {                                                                                           \
        if (step == (int64_t)sizeof(type)) {                                                       \
            for (size_t i = 0; i < count; i++) {                                                   \
                type value = (in_value);                                                           \
                memcpy(to + i * sizeof value, &value, sizeof value);                               \
            }                                                                                      \
        } else {                                                                                   \
            for (size_t i = 0; i < count; i++) {                                                   \
                type value = (in_value);                                                           \
                memcpy(to + (int64_t)i * step, &value, sizeof value);                              \
            }                                                                                      \
        }                                                                                          \
    } while (0)

static inline float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float from_bf16(uint16_t bits)
{
    return float_of((uint32_t)bits << 16);
}

static inline uint16_t to_bf16(float value)
{
    uint32_t bits = bits_of(value);
    uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
    return (uint16_t)(value != value ? bits >> 16 | 0x40 : rounded);
}

static inline float from_fp16(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = half & 0x7FFF;
    float normal = float_of((rest << 13) + (112u << 23));
    float special = float_of(rest << 13 | 0x7F800000);
    float small = (float)rest * 0x1p-24f;
    float value = rest >= 0x7C00 ? special : rest < 0x400 ? small : normal;
    return float_of(bits_of(value) | sign);
}

static inline uint16_t to_fp16(float value)
{
    uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000, rest = bits & 0x7FFFFFFF;
    uint32_t normal = (rest + 0xFFF + (rest >> 13 & 1) - (112u << 23)) >> 13;
    /* Adding 0.5 leaves the value's bits of 2^-24 and up in the lowest ones, rounded. */
    uint32_t small = bits_of(float_of(rest) + 0.5f) - bits_of(0.5f);
    uint32_t special = rest > 0x7F800000 ? 0x7E00 | (rest >> 13 & 0x3FF) : 0x7C00;
    uint32_t half = rest >= 0x477FF000 ? special : rest < 0x38800000 ? small : normal;
    return (uint16_t)(sign | half);
}

/* An 8-bit float: `mantissa` bits, an exponent of the rest but one. */
struct fp8_format {
    int mantissa, bias;
    uint8_t infinity; /* code, without a sign; 0: there is none */
    uint8_t nan;
    uint8_t largest; /* of the finite codes */
};
static const struct fp8_format e3m4 = {4, 3, 0x70, 0x78, 0x6F};
static const struct fp8_format e4m3 = {3, 7, 0, 0x7F, 0x7E};
static const struct fp8_format e5m2 = {2, 15, 0x7C, 0x7E, 0x7B};

static inline float from_fp8(uint8_t code, const struct fp8_format *format)
{
    uint32_t sign = (uint32_t)(code & 0x80) << 24, rest = code & 0x7F;
    if (rest > format->largest)
        return float_of(sign | (rest == format->infinity ? 0x7F800000 : 0x7FC00000));
    if (rest >> format->mantissa == 0)
        return float_of(sign | bits_of(ldexpf((float)rest, 1 - format->bias - format->mantissa)));
    return float_of(sign |
                    ((rest << (23 - format->mantissa)) + ((uint32_t)(127 - format->bias) << 23)));
}

static inline uint8_t to_fp8(float value, const struct fp8_format *format)
{
    uint8_t sign = (uint8_t)(bits_of(value) >> 24 & 0x80);
    float size = fabsf(value);
    uint8_t overflow = format->infinity ? format->infinity : format->nan;
    if (value != value)
        return sign | format->nan;
    if (size >= 65536.0f) /* beyond all of them; also infinity */
        return sign | overflow;
    int smallest = 1 - format->bias;
    int exponent = (int)(bits_of(size) >> 23) - 127;
    if (exponent < smallest)
        exponent = smallest;
    /* In units of the last place; adding and subtracting 2^23 rounds to even. */
    float units = ldexpf(size, format->mantissa - exponent);
    volatile float rounded = units + 0x1p23f;
    uint32_t code =
        ((uint32_t)(exponent - smallest) << format->mantissa) + (uint32_t)(rounded - 0x1p23f);
    return sign | (code > format->largest ? overflow : (uint8_t)code);
}

static inline int64_t to_integer(float value, int64_t low, int64_t high, float limit)
{
    if (value != value)
        return 0;
    if (value >= limit)
        return high;
    return value <= (float)low ? low : (int64_t)value;
}

static inline uint64_t to_unsigned(float value)
{
    if (!(value > 0))
        return 0;
    return value >= 0x1p64f ? UINT64_MAX : (uint64_t)value;
}

void load_floats(enum dtype dtype, const uint8_t *from, int64_t step, size_t count, float *out)
{
    switch (dtype) {
    case DTYPE_FP32:
    case DTYPE_FP32R:
        LOAD_EACH(float, value);
        break;
    case DTYPE_BF16:
        LOAD_EACH(uint16_t, from_bf16(value));
        break;
    case DTYPE_FP16:
        LOAD_EACH(uint16_t, from_fp16(value));
        break;
    case DTYPE_FP8_E3:
        LOAD_EACH(uint8_t, from_fp8(value, &e3m4));
        break;
    case DTYPE_FP8_E4:
        LOAD_EACH(uint8_t, from_fp8(value, &e4m3));
        break;
    case DTYPE_FP8_E5:
        LOAD_EACH(uint8_t, from_fp8(value, &e5m2));
        break;
    case DTYPE_INT8:
        LOAD_EACH(int8_t, (float)value);
        break;
    case DTYPE_UINT8:
        LOAD_EACH(uint8_t, (float)value);
        break;
    case DTYPE_INT16:
        LOAD_EACH(int16_t, (float)value);
        break;
    case DTYPE_UINT16:
        LOAD_EACH(uint16_t, (float)value);
        break;
    case DTYPE_INT32:
        LOAD_EACH(int32_t, (float)value);
        break;
    case DTYPE_UINT32:
        LOAD_EACH(uint32_t, (float)value);
        break;
    case DTYPE_INT64:
        LOAD_EACH(int64_t, (float)value);
        break;
    case DTYPE_UINT64:
        LOAD_EACH(uint64_t, (float)value);
        break;
    case DTYPE_NONE:
    case DTYPE_COUNT:
        break;
    }
}

void store_floats(enum dtype dtype, const float *in, size_t count, uint8_t *to, int64_t step)
{
    switch (dtype) {
    case DTYPE_FP32:
    case DTYPE_FP32R:
        STORE_EACH(float, in[i]);
        break;
    case DTYPE_BF16:
        STORE_EACH(uint16_t, to_bf16(in[i]));
        break;
    case DTYPE_FP16:
        STORE_EACH(uint16_t, to_fp16(in[i]));
        break;
    case DTYPE_FP8_E3:
        STORE_EACH(uint8_t, to_fp8(in[i], &e3m4));
        break;
    case DTYPE_FP8_E4:
        STORE_EACH(uint8_t, to_fp8(in[i], &e4m3));
        break;
    case DTYPE_FP8_E5:
        STORE_EACH(uint8_t, to_fp8(in[i], &e5m2));
        break;
    case DTYPE_INT8:
        STORE_EACH(int8_t, (int8_t)to_integer(in[i], INT8_MIN, INT8_MAX, 0x1p7f));
        break;
    case DTYPE_UINT8:
        STORE_EACH(uint8_t, (uint8_t)to_integer(in[i], 0, UINT8_MAX, 0x1p8f));
        break;
    case DTYPE_INT16:
        STORE_EACH(int16_t, (int16_t)to_integer(in[i], INT16_MIN, INT16_MAX, 0x1p15f));
        break;
    case DTYPE_UINT16:
        STORE_EACH(uint16_t, (uint16_t)to_integer(in[i], 0, UINT16_MAX, 0x1p16f));
        break;
    case DTYPE_INT32:
        STORE_EACH(int32_t, (int32_t)to_integer(in[i], INT32_MIN, INT32_MAX, 0x1p31f));
        break;
    case DTYPE_UINT32:
        STORE_EACH(uint32_t, (uint32_t)to_integer(in[i], 0, UINT32_MAX, 0x1p32f));
        break;
    case DTYPE_INT64:
        STORE_EACH(int64_t, to_integer(in[i], INT64_MIN, INT64_MAX, 0x1p63f));
        break;
    case DTYPE_UINT64:
        STORE_EACH(uint64_t, to_unsigned(in[i]));
        break;
    case DTYPE_NONE:
    case DTYPE_COUNT:
        break;
    }
}

enum { CHUNK = 256 };

static void load_floats_as_integers(enum dtype dtype, const uint8_t *from, int64_t step,
                                    size_t count, int64_t *out)
{
    float floats[CHUNK];
    for (size_t done = 0; done < count; done += CHUNK) {
        size_t some = count - done < CHUNK ? count - done : CHUNK;
        load_floats(dtype, from + (int64_t)done * step, step, some, floats);
        for (size_t i = 0; i < some; i++)
            out[done + i] = to_integer(floats[i], INT64_MIN, INT64_MAX, 0x1p63f);
    }
}

void load_integers(enum dtype dtype, const uint8_t *from, int64_t step, size_t count, int64_t *out)
{
    switch (dtype) {
    case DTYPE_INT8:
        LOAD_EACH(int8_t, value);
        break;
    case DTYPE_UINT8:
        LOAD_EACH(uint8_t, value);
        break;
    case DTYPE_INT16:
        LOAD_EACH(int16_t, value);
        break;
    case DTYPE_UINT16:
        LOAD_EACH(uint16_t, value);
        break;
    case DTYPE_INT32:
        LOAD_EACH(int32_t, value);
        break;
    case DTYPE_UINT32:
        LOAD_EACH(uint32_t, value);
        break;
    case DTYPE_INT64:
    case DTYPE_UINT64:
        LOAD_EACH(int64_t, value);
        break;
    default:
        load_floats_as_integers(dtype, from, step, count, out);
        break;
    }
}

static void store_integers_as_floats(enum dtype dtype, const int64_t *in, size_t count, uint8_t *to,
                                     int64_t step, bool is_unsigned)
{
    float floats[CHUNK];
    for (size_t done = 0; done < count; done += CHUNK) {
        size_t some = count - done < CHUNK ? count - done : CHUNK;
        for (size_t i = 0; i < some; i++)
            floats[i] = is_unsigned ? (float)(uint64_t)in[done + i] : (float)in[done + i];
        store_floats(dtype, floats, some, to + (int64_t)done * step, step);
    }
}

void store_integers(enum dtype dtype, const int64_t *in, size_t count, uint8_t *to, int64_t step,
                    bool is_unsigned)
{
    switch (dtype) {
    case DTYPE_INT8:
    case DTYPE_UINT8:
        STORE_EACH(uint8_t, (uint8_t)in[i]);
        break;
    case DTYPE_INT16:
    case DTYPE_UINT16:
        STORE_EACH(uint16_t, (uint16_t)in[i]);
        break;
    case DTYPE_INT32:
    case DTYPE_UINT32:
        STORE_EACH(uint32_t, (uint32_t)in[i]);
        break;
    case DTYPE_INT64:
    case DTYPE_UINT64:
        STORE_EACH(int64_t, in[i]);
        break;
    default:
        store_integers_as_floats(dtype, in, count, to, step, is_unsigned);
        break;
    }
}

void copy_elements(uint32_t bytes, const uint8_t *from, int64_t from_step, uint8_t *to,
                   int64_t to_step, size_t count)
{
    if (from_step == (int64_t)bytes && to_step == (int64_t)bytes) {
        memmove(to, from, count * bytes);
        return;
    }
    for (size_t i = 0; i < count; i++, from += from_step, to += to_step) {
        switch (bytes) { /* of constant sizes: loads and stores */
        case 1:
            *to = *from;
            break;
        case 2:
            memcpy(to, from, 2);
            break;
        case 4:
            memcpy(to, from, 4);
            break;
        default:
            memcpy(to, from, 8);
            break;
        }
    }
}

unsigned find_bad_numbers(enum dtype dtype, const uint8_t *from, int64_t step, size_t count)
{
    if (!dtype_is_float(dtype))
        return 0;
    float floats[CHUNK];
    unsigned has_nan = 0, has_infinity = 0;
    for (size_t done = 0; done < count; done += CHUNK) {
        size_t some = count - done < CHUNK ? count - done : CHUNK;
        load_floats(dtype, from + (int64_t)done * step, step, some, floats);
        for (size_t i = 0; i < some; i++) {
            has_nan |= floats[i] != floats[i];
            has_infinity |= (bits_of(floats[i]) & 0x7FFFFFFF) == 0x7F800000;
        }
    }
    return (has_nan ? FOUND_NAN : 0) | (has_infinity ? FOUND_INFINITY : 0);
}
