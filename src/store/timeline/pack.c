/*
 * Packs events into blocks.
 */
#include "store/timeline/pack.h"
#include "store/timeline/format.h"

#include <math.h>

/* The bit width that minimizes the size of the values, exceptions included. */
static unsigned best_width(const uint64_t *values, size_t count)
{
    unsigned with[65] = {0};
    for (size_t i = 0; i < count; i++)
        with[bits_needed(values[i])]++;
    unsigned best = 64, larger = 0;
    size_t min = SIZE_MAX;
    for (unsigned width = 64;; width--) {
        size_t bits = width * count + larger * 8 * sizeof(struct block_exception);
        if (bits < min) {
            min = bits;
            best = width;
        }
        larger += with[width];
        if (width == 0)
            return best;
    }
}

static void put_values(struct output *out, const uint64_t *values, size_t count, unsigned width)
{
    size_t size = bits_bytes(count, width);
    if (size + BITS_SLACK > out->capacity - out->size)
        output_reserve(out, size + BITS_SLACK);
    bits_pack((uint8_t *)out->data + out->size, values, count, width);
    out->size += size;
}

struct exceptions {
    struct block_exception items[BLOCK_EVENTS];
    uint8_t count;
};

/* Packs values at the best width; values that do not fit become exceptions, with a zero in their
 * slot. */
static uint8_t put_packed(struct output *out, uint64_t *values, size_t count,
                          struct exceptions *exceptions)
{
    unsigned width = best_width(values, count);
    exceptions->count = 0;
    for (size_t i = 0; i < count; i++) {
        if (bits_needed(values[i]) <= width)
            continue;
        struct block_exception *exception = &exceptions->items[exceptions->count++];
        exception->event = (uint8_t)i;
        memcpy(exception->value, &values[i], sizeof exception->value);
        values[i] = 0;
    }
    put_values(out, values, count, width);
    return (uint8_t)width;
}

/* Packs values as offsets from a base, at the width of the largest. */
static uint8_t put_relative(struct output *out, uint64_t *values, size_t count, uint64_t base)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < count; i++) {
        values[i] -= base;
        bits |= values[i];
    }
    put_values(out, values, count, bits_needed(bits));
    return (uint8_t)bits_needed(bits);
}

static void put_names(struct output *out, const struct events *events, size_t first, size_t count,
                      struct block_head *head)
{
    uint64_t values[BLOCK_EVENTS] = {0};
    head->name_base = UINT32_MAX;
    for (size_t i = 0; i < count; i++) {
        values[i] = events->name[first + i];
        if (values[i] < head->name_base)
            head->name_base = (uint32_t)values[i];
    }
    head->name_bits = put_relative(out, values, count, head->name_base);
}

static void put_numbers(struct output *out, const struct events *events, size_t first, size_t count,
                        struct block_head *head)
{
    uint64_t values[BLOCK_EVENTS] = {0};
    head->number_base = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        int64_t number = (int64_t)events->number[first + i] - (int64_t)i;
        values[i] = (uint64_t)number;
        if (number < head->number_base)
            head->number_base = number;
    }
    head->number_bits = put_relative(out, values, count, (uint64_t)head->number_base);
}

static bool is_whole(double value)
{
    return fabs(value) < 0x1p53 && value == (double)(int64_t)value &&
           !(value == 0 && signbit(value));
}

static void put_counts(struct output *out, const struct events *events, size_t first, size_t count,
                       struct block_head *head)
{
    uint64_t values[BLOCK_EVENTS] = {0};
    const double *value = events->value + first;
    head->has_whole_values = true;
    for (size_t i = 0; i < count; i++)
        head->has_whole_values &= is_whole(value[i]);
    head->value_base = head->has_whole_values ? INT64_MAX : 0;
    for (size_t i = 0; i < count; i++) {
        if (!head->has_whole_values) {
            memcpy(&values[i], &value[i], sizeof values[i]);
            continue;
        }
        values[i] = (uint64_t)(int64_t)value[i];
        if ((int64_t)value[i] < head->value_base)
            head->value_base = (int64_t)value[i];
    }
    head->value_bits = put_relative(out, values, count, (uint64_t)head->value_base);
}

/* before_ps: end of the event before the first. */
void block_put(struct output *out, const struct events *events, size_t first, size_t count,
               int64_t before_ps)
{
    uint64_t gaps[BLOCK_EVENTS], durations[BLOCK_EVENTS];
    struct block_head head = {.start_ps = before_ps, .is_coarse = true};
    for (size_t i = 0; i < count; i++) {
        int64_t start = events->start_ps[first + i], end = events->end_ps[first + i];
        gaps[i] = (uint64_t)start - (uint64_t)before_ps;
        durations[i] = (uint64_t)end - (uint64_t)start;
        head.is_coarse &= gaps[i] % COARSE_PS == 0 && durations[i] % COARSE_PS == 0;
        before_ps = end;
    }
    for (size_t i = 0; i < count && head.is_coarse; i++) {
        gaps[i] /= COARSE_PS;
        durations[i] /= COARSE_PS;
    }
    struct exceptions long_gaps, long_durations;
    size_t start = out->size;
    output_write(out, (const char *)&head, sizeof head);
    head.gap_bits = put_packed(out, gaps, count, &long_gaps);
    head.duration_bits = put_packed(out, durations, count, &long_durations);
    head.gap_exceptions = long_gaps.count;
    head.duration_exceptions = long_durations.count;
    put_names(out, events, first, count, &head);
    put_numbers(out, events, first, count, &head);
    if (events->value)
        put_counts(out, events, first, count, &head);
    output_write(out, (const char *)long_gaps.items, long_gaps.count * sizeof *long_gaps.items);
    output_write(out, (const char *)long_durations.items,
                 long_durations.count * sizeof *long_durations.items);
    memcpy(out->data + start, &head, sizeof head);
}
