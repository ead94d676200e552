/*
 * Elements are whole numbers: the value of integers, and for floats a count of steps coarse enough
 * that every number is exact in the data type, so that sums can be computed without rounding.
 */
#include "neuron/run/nccom/data.h"

#include <math.h>

enum { CHUNK = 1024 };

/* ---- Numbers ------------------------------------------------------------------------------- */

struct format {
    unsigned bytes, exponent_bits, mantissa_bits; /* exponent_bits 0: an integer */
    bool is_signed;
    unsigned fraction_bits; /* the step of floats is 2^-fraction_bits; they are from -1 to 1 */
};

static struct format format_of(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_FP32:
        return (struct format){4, 8, 23, true, 22};
    case DTYPE_FP16:
        return (struct format){2, 5, 10, true, 7};
    case DTYPE_BF16:
        return (struct format){2, 8, 7, true, 7};
    case DTYPE_FP8_E4:
        return (struct format){1, 4, 3, true, 3};
    default:
        return (struct format){.bytes = dtype_bytes(dtype),
                               .is_signed = dtype == DTYPE_INT8 || dtype == DTYPE_INT16 ||
                                            dtype == DTYPE_INT32};
    }
}

static bool is_float(const struct format *format)
{
    return format->exponent_bits > 0;
}

/* Bits of the nearest float of the format; too large ones become the largest pattern. */
static uint64_t encode_float(const struct format *format, double value)
{
    int bias = (1 << (format->exponent_bits - 1)) - 1, exponent;
    unsigned mantissa_bits = format->mantissa_bits;
    uint64_t sign = signbit(value) ? UINT64_C(1) << (format->exponent_bits + mantissa_bits) : 0;
    double magnitude = fabs(value);
    if (magnitude == 0)
        return sign;
    frexp(magnitude, &exponent); /* magnitude is from 2^(exponent - 1) to 2^exponent */
    int scale = exponent - 1 < 1 - bias ? 1 - bias : exponent - 1;
    /* Rounding up to the next power of two carries into the exponent, as it must. */
    double steps = nearbyint(ldexp(magnitude, (int)mantissa_bits - scale));
    uint64_t implied = UINT64_C(1) << mantissa_bits;
    uint64_t bits = (uint64_t)steps;
    bits = bits < implied ? bits : bits + ((uint64_t)(scale + bias - 1) << mantissa_bits);
    uint64_t largest = (UINT64_C(1) << (format->exponent_bits + mantissa_bits)) - 1;
    return sign | (bits < largest ? bits : largest);
}

static double decode_float(const struct format *format, uint64_t bits)
{
    int bias = (1 << (format->exponent_bits - 1)) - 1;
    uint64_t implied = UINT64_C(1) << format->mantissa_bits, mantissa = bits & (implied - 1);
    int exponent = (int)(bits >> format->mantissa_bits & ((1u << format->exponent_bits) - 1));
    bool is_negative = bits >> (format->mantissa_bits + format->exponent_bits) & 1;
    int top = (1 << format->exponent_bits) - 1;
    bool has_infinity = format->bytes > 1; /* FP8_E4: only all ones is not a number */
    double value;
    if (exponent == top && (has_infinity || mantissa == implied - 1))
        value = has_infinity && mantissa == 0 ? INFINITY : NAN;
    else if (exponent == 0)
        value = ldexp((double)mantissa, 1 - bias - (int)format->mantissa_bits);
    else
        value = ldexp((double)(mantissa | implied), exponent - bias - (int)format->mantissa_bits);
    return is_negative ? -value : value;
}

/* splitmix64's output function. */
static uint64_t mixed(uint64_t word)
{
    word = (word ^ word >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    word = (word ^ word >> 27) * UINT64_C(0x94D049BB133111EB);
    return word ^ word >> 31;
}

/* The numbers of a rank's input, from element `first` on, are added to sums. */
static void add_numbers(const struct data_buffer *buffer, uint32_t rank, uint64_t first,
                        size_t count, int64_t *sums)
{
    struct format format = format_of(buffer->part->dtype);
    if (buffer->check == NCCOM_ALL_ONES) {
        for (size_t i = 0; i < count; i++)
            sums[i] += (int64_t)1 << format.fraction_bits;
        return;
    }
    uint64_t key = mixed(buffer->seed + mixed(buffer->number + 1)) + mixed(~(uint64_t)rank);
    unsigned bits = is_float(&format) ? format.fraction_bits + 1 : 8 * format.bytes;
    int64_t below = is_float(&format) ? (int64_t)1 << format.fraction_bits : 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t word = mixed(key + (first + i) * UINT64_C(0x9E3779B97F4A7C15));
        sums[i] += (int64_t)(word >> (64 - bits)) - below;
    }
}

/* ---- Expectations -------------------------------------------------------------------------- */

/* The ranks that exchange with a rank, and its position among them. */
struct group {
    const uint32_t *ranks; /* NULL: all */
    uint32_t size, position;
    bool is_in_one;
};

static uint32_t member(const struct group *group, uint32_t position)
{
    return group->ranks ? group->ranks[position] : position;
}

static struct group group_of(const struct data_buffer *buffer, uint32_t rank)
{
    const struct nccom_groups *groups = &buffer->part->groups;
    if (groups->count == 0)
        return (struct group){NULL, buffer->workers, rank, true};
    for (uint32_t i = 0; i < groups->size * groups->count; i++)
        if (groups->ranks[i] == rank)
            return (struct group){groups->ranks + (size_t)(i / groups->size) * groups->size,
                                  groups->size, i % groups->size, true};
    return (struct group){0};
}

static int64_t source_of(const struct nccom_groups *pairs, uint32_t rank)
{
    for (uint32_t i = 0; i < pairs->count; i++)
        if (pairs->ranks[(size_t)2 * i + 1] == rank)
            return pairs->ranks[(size_t)2 * i];
    return -1;
}

/* Elements that come from one place: numbers of equal pieces, one from each rank of the group. */
static void add_pieces(const struct data_buffer *buffer, const struct group *group, uint64_t piece,
                       uint64_t offset, uint64_t first, size_t count, int64_t *sums)
{
    while (count > 0) {
        uint64_t within = first % piece;
        size_t here = piece - within < count ? (size_t)(piece - within) : count;
        add_numbers(buffer, member(group, (uint32_t)(first / piece)), offset + within, here, sums);
        first += here;
        sums += here;
        count -= here;
    }
}

/* What a move brings to elements first to first + count. */
static void add_moved(const struct data_buffer *buffer, const struct collective_move *move,
                      uint64_t first, size_t count, int64_t *sums)
{
    uint64_t item = dtype_bytes(buffer->part->dtype);
    uint64_t to = move->to / item, end = to + move->bytes / item;
    uint64_t begin = to > first ? to : first;
    end = end < first + count ? end : first + count;
    if (begin < end)
        add_numbers(buffer, move->source, move->from / item + (begin - to), (size_t)(end - begin),
                    sums + (begin - first));
}

/* The numbers of elements first to first + count of a rank's output. */
static void expect(const struct data_buffer *buffer, uint32_t rank, uint64_t first, size_t count,
                   int64_t *sums)
{
    const struct plan_part *part = buffer->part;
    struct group group = group_of(buffer, rank);
    uint64_t item = dtype_bytes(part->dtype), piece;
    memset(sums, 0, count * sizeof *sums);
    if (part->kind == COLLECTIVE_PERMUTE) {
        int64_t source = source_of(&part->groups, rank);
        if (source >= 0)
            add_numbers(buffer, (uint32_t)source, first, count, sums);
        return;
    }
    if (part->kind == COLLECTIVE_ALL_TO_ALL_V) {
        for (uint32_t i = 0; i < part->move_count; i++)
            if (part->moves[i].target == rank)
                add_moved(buffer, &part->moves[i], first, count, sums);
        return;
    }
    if (!group.is_in_one)
        return;
    switch (part->kind) {
    case COLLECTIVE_ALL_GATHER:
        add_pieces(buffer, &group, part->input_bytes / item, 0, first, count, sums);
        break;
    case COLLECTIVE_ALL_TO_ALL:
        piece = part->elements / group.size;
        add_pieces(buffer, &group, piece, group.position * piece, first, count, sums);
        break;
    case COLLECTIVE_REDUCE_SCATTER:
        first += group.position * (part->output_bytes / item);
        /* fall through */
    default:
        for (uint32_t i = 0; i < group.size; i++)
            add_numbers(buffer, member(&group, i), first, count, sums);
    }
}

/* ---- Comparing ----------------------------------------------------------------------------- */

static void store(const struct format *format, int64_t number, uint8_t *to)
{
    uint64_t bits = is_float(format)
                        ? encode_float(format, ldexp((double)number, -(int)format->fraction_bits))
                        : (uint64_t)number;
    memcpy(to, &bits, format->bytes); /* little-endian: the low bytes */
}

static uint64_t load(const struct format *format, const uint8_t *from)
{
    uint64_t bits = 0;
    memcpy(&bits, from, format->bytes);
    return bits;
}

static double value_of(const struct format *format, uint64_t bits)
{
    if (is_float(format))
        return decode_float(format, bits);
    unsigned unused = 64 - 8 * format->bytes;
    return format->is_signed ? (double)((int64_t)(bits << unused) >> unused) : (double)bits;
}

/* Sums of floats are rounded to the data type once, and to FP32 with each summand. */
static bool is_near(const struct format *format, double got, double expected, uint32_t summands)
{
    double unit = ldexp(fabs(expected), -(int)format->mantissa_bits);
    double smallest = ldexp(1, 2 - (1 << (format->exponent_bits - 1)) - (int)format->mantissa_bits);
    double fp32 = ldexp((double)summands * summands, -24);
    return fabs(got - expected) <= unit + smallest + fp32;
}

static bool is_right(const struct format *format, const uint8_t *output, int64_t number,
                     uint32_t summands)
{
    uint8_t exact[8];
    store(format, number, exact);
    if (memcmp(output, exact, format->bytes) == 0)
        return true;
    return is_float(format) && summands > 1 &&
           is_near(format, decode_float(format, load(format, output)),
                   ldexp((double)number, -(int)format->fraction_bits), summands);
}

static uint32_t summands_of(const struct data_buffer *buffer, uint32_t rank)
{
    enum collective_kind kind = buffer->part->kind;
    struct group group = group_of(buffer, rank);
    return kind == COLLECTIVE_ALL_REDUCE || kind == COLLECTIVE_REDUCE_SCATTER ? group.size : 1;
}

static void note(struct data_difference *difference, const struct format *format, uint64_t element,
                 const uint8_t *output, int64_t number)
{
    uint8_t exact[8] = {0};
    store(format, number, exact);
    if (difference->count++ > 0)
        return;
    difference->element = element;
    difference->got = value_of(format, load(format, output));
    difference->expected = value_of(format, load(format, exact));
}

bool data_check(const struct data_buffer *buffer, uint32_t rank, const uint8_t *output,
                struct data_difference *difference)
{
    struct format format = format_of(buffer->part->dtype);
    uint64_t count = buffer->part->output_bytes / format.bytes;
    uint32_t summands = summands_of(buffer, rank);
    int64_t numbers[CHUNK];
    *difference = (struct data_difference){0};
    for (uint64_t first = 0; first < count; first += CHUNK) {
        size_t here = count - first < CHUNK ? (size_t)(count - first) : CHUNK;
        expect(buffer, rank, first, here, numbers);
        for (size_t i = 0; i < here; i++) {
            const uint8_t *element = output + (first + i) * format.bytes;
            if (!is_right(&format, element, numbers[i], summands))
                note(difference, &format, first + i, element, numbers[i]);
        }
    }
    return difference->count == 0;
}

/* ---- Filling ------------------------------------------------------------------------------- */

void data_fill(const struct data_buffer *buffer, uint32_t rank, uint8_t *input)
{
    struct format format = format_of(buffer->part->dtype);
    uint64_t count = buffer->part->input_bytes / format.bytes;
    int64_t numbers[CHUNK];
    for (uint64_t first = 0; first < count; first += CHUNK) {
        size_t here = count - first < CHUNK ? (size_t)(count - first) : CHUNK;
        memset(numbers, 0, sizeof numbers);
        add_numbers(buffer, rank, first, here, numbers);
        for (size_t i = 0; i < here; i++)
            store(&format, numbers[i], input + (first + i) * format.bytes);
    }
}

void data_golden(const struct data_buffer *buffer, uint32_t rank, uint8_t *golden)
{
    struct format format = format_of(buffer->part->dtype);
    uint64_t count = buffer->part->output_bytes / format.bytes;
    int64_t numbers[CHUNK];
    for (uint64_t first = 0; first < count; first += CHUNK) {
        size_t here = count - first < CHUNK ? (size_t)(count - first) : CHUNK;
        expect(buffer, rank, first, here, numbers);
        for (size_t i = 0; i < here; i++)
            store(&format, numbers[i], golden + (first + i) * format.bytes);
    }
}
