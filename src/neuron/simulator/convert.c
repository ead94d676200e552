/*
 * Conversion of elements. Each loop is written once, and compiled twice: with the distance of
 * contiguous elements as a constant, which compilers turn into vector instructions, and with any
 * distance.
 */
#include "neuron/simulator/convert.h"

#include <math.h>
#include <string.h>

#define LOADER(name, type, target, out_value)                                                      \
    static void name(const uint8_t *from, int64_t step, size_t count, target out[])                \
    {                                                                                              \
        if (step == (int64_t)sizeof(type)) {                                                       \
            for (size_t i = 0; i < count; i++) {                                                   \
                type value;                                                                        \
                memcpy(&value, from + i * sizeof value, sizeof value);                             \
                out[i] = (target)(out_value);                                                      \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        for (size_t i = 0; i < count; i++) {                                                       \
            type value;                                                                            \
            memcpy(&value, from + (int64_t)i * step, sizeof value);                                \
            out[i] = (target)(out_value);                                                          \
        }                                                                                          \
    }

#define STORER(name, type, source, in_value)                                                       \
    static void name(const source in[], size_t count, uint8_t *to, int64_t step)                   \
    {                                                                                              \
        if (step == (int64_t)sizeof(type)) {                                                       \
            for (size_t i = 0; i < count; i++) {                                                   \
                type value = (type)(in_value);                                                     \
                memcpy(to + i * sizeof value, &value, sizeof value);                               \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        for (size_t i = 0; i < count; i++) {                                                       \
            type value = (type)(in_value);                                                         \
            memcpy(to + (int64_t)i * step, &value, sizeof value);                                  \
        }                                                                                          \
    }

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

/* An 8-bit float: `mantissa` bits, a sign, and the rest for the exponent. */
struct fp8_format {
    int mantissa, bias;
    uint8_t infinity; /* code, without a sign; 0: no infinity */
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

LOADER(load_fp32, float, float, value)
LOADER(load_bf16, uint16_t, float, from_bf16(value))
LOADER(load_fp16, uint16_t, float, from_fp16(value))
LOADER(load_fp8_e3, uint8_t, float, from_fp8(value, &e3m4))
LOADER(load_fp8_e4, uint8_t, float, from_fp8(value, &e4m3))
LOADER(load_fp8_e5, uint8_t, float, from_fp8(value, &e5m2))
LOADER(load_int8, int8_t, float, value)
LOADER(load_uint8, uint8_t, float, value)
LOADER(load_int16, int16_t, float, value)
LOADER(load_uint16, uint16_t, float, value)
LOADER(load_int32, int32_t, float, value)
LOADER(load_uint32, uint32_t, float, value)
LOADER(load_int64, int64_t, float, value)
LOADER(load_uint64, uint64_t, float, value)

typedef void float_loader(const uint8_t *from, int64_t step, size_t count, float *out);
static float_loader *const float_loaders[DTYPE_COUNT] = {
    [DTYPE_FP32] = load_fp32,     [DTYPE_FP32R] = load_fp32,    [DTYPE_BF16] = load_bf16,
    [DTYPE_FP16] = load_fp16,     [DTYPE_FP8_E3] = load_fp8_e3, [DTYPE_FP8_E4] = load_fp8_e4,
    [DTYPE_FP8_E5] = load_fp8_e5, [DTYPE_INT8] = load_int8,     [DTYPE_UINT8] = load_uint8,
    [DTYPE_INT16] = load_int16,   [DTYPE_UINT16] = load_uint16, [DTYPE_INT32] = load_int32,
    [DTYPE_UINT32] = load_uint32, [DTYPE_INT64] = load_int64,   [DTYPE_UINT64] = load_uint64,
};

void load_floats(enum dtype dtype, const uint8_t *from, int64_t step, size_t count, float *out)
{
    float_loaders[dtype](from, step, count, out);
}

STORER(store_fp32, float, float, in[i])
STORER(store_bf16, uint16_t, float, to_bf16(in[i]))
STORER(store_fp16, uint16_t, float, to_fp16(in[i]))
STORER(store_fp8_e3, uint8_t, float, to_fp8(in[i], &e3m4))
STORER(store_fp8_e4, uint8_t, float, to_fp8(in[i], &e4m3))
STORER(store_fp8_e5, uint8_t, float, to_fp8(in[i], &e5m2))
STORER(store_int8, int8_t, float, to_integer(in[i], INT8_MIN, INT8_MAX, 0x1p7f))
STORER(store_uint8, uint8_t, float, to_integer(in[i], 0, UINT8_MAX, 0x1p8f))
STORER(store_int16, int16_t, float, to_integer(in[i], INT16_MIN, INT16_MAX, 0x1p15f))
STORER(store_uint16, uint16_t, float, to_integer(in[i], 0, UINT16_MAX, 0x1p16f))
STORER(store_int32, int32_t, float, to_integer(in[i], INT32_MIN, INT32_MAX, 0x1p31f))
STORER(store_uint32, uint32_t, float, to_integer(in[i], 0, UINT32_MAX, 0x1p32f))
STORER(store_int64, int64_t, float, to_integer(in[i], INT64_MIN, INT64_MAX, 0x1p63f))
STORER(store_uint64, uint64_t, float, to_unsigned(in[i]))

typedef void float_storer(const float *in, size_t count, uint8_t *to, int64_t step);
static float_storer *const float_storers[DTYPE_COUNT] = {
    [DTYPE_FP32] = store_fp32,     [DTYPE_FP32R] = store_fp32,    [DTYPE_BF16] = store_bf16,
    [DTYPE_FP16] = store_fp16,     [DTYPE_FP8_E3] = store_fp8_e3, [DTYPE_FP8_E4] = store_fp8_e4,
    [DTYPE_FP8_E5] = store_fp8_e5, [DTYPE_INT8] = store_int8,     [DTYPE_UINT8] = store_uint8,
    [DTYPE_INT16] = store_int16,   [DTYPE_UINT16] = store_uint16, [DTYPE_INT32] = store_int32,
    [DTYPE_UINT32] = store_uint32, [DTYPE_INT64] = store_int64,   [DTYPE_UINT64] = store_uint64,
};

void store_floats(enum dtype dtype, const float *in, size_t count, uint8_t *to, int64_t step)
{
    float_storers[dtype](in, count, to, step);
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

LOADER(widen_int8, int8_t, int64_t, value)
LOADER(widen_uint8, uint8_t, int64_t, value)
LOADER(widen_int16, int16_t, int64_t, value)
LOADER(widen_uint16, uint16_t, int64_t, value)
LOADER(widen_int32, int32_t, int64_t, value)
LOADER(widen_uint32, uint32_t, int64_t, value)
LOADER(widen_int64, int64_t, int64_t, value)

typedef void integer_loader(const uint8_t *from, int64_t step, size_t count, int64_t *out);
static integer_loader *const integer_loaders[DTYPE_COUNT] = {
    [DTYPE_INT8] = widen_int8,     [DTYPE_UINT8] = widen_uint8,  [DTYPE_INT16] = widen_int16,
    [DTYPE_UINT16] = widen_uint16, [DTYPE_INT32] = widen_int32,  [DTYPE_UINT32] = widen_uint32,
    [DTYPE_INT64] = widen_int64,   [DTYPE_UINT64] = widen_int64,
};

void load_integers(enum dtype dtype, const uint8_t *from, int64_t step, size_t count, int64_t *out)
{
    if (integer_loaders[dtype])
        integer_loaders[dtype](from, step, count, out);
    else
        load_floats_as_integers(dtype, from, step, count, out);
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

STORER(narrow_8, uint8_t, int64_t, in[i])
STORER(narrow_16, uint16_t, int64_t, in[i])
STORER(narrow_32, uint32_t, int64_t, in[i])
STORER(narrow_64, int64_t, int64_t, in[i])

typedef void integer_storer(const int64_t *in, size_t count, uint8_t *to, int64_t step);
static integer_storer *const integer_storers[DTYPE_COUNT] = {
    [DTYPE_INT8] = narrow_8,    [DTYPE_UINT8] = narrow_8,   [DTYPE_INT16] = narrow_16,
    [DTYPE_UINT16] = narrow_16, [DTYPE_INT32] = narrow_32,  [DTYPE_UINT32] = narrow_32,
    [DTYPE_INT64] = narrow_64,  [DTYPE_UINT64] = narrow_64,
};

void store_integers(enum dtype dtype, const int64_t *in, size_t count, uint8_t *to, int64_t step,
                    bool is_unsigned)
{
    if (integer_storers[dtype])
        integer_storers[dtype](in, count, to, step);
    else
        store_integers_as_floats(dtype, in, count, to, step, is_unsigned);
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
