/*
 * The scale of a measure. Medians are exact and need no copy of the values, of which there may be a
 * hundred million: numbers are counted by the upper half of their bits, then those of one such half
 * by the lower.
 */
#include "report/fleet/heatmap.h"

#include <math.h>

enum { HALVES = 1 << 16 };
#define ROBUST_DEVIATIONS 14.826 /* ten, of a normal distribution */

struct values {
    const float *data;
    size_t count;
    float center; /* what is looked at is the distance from here, unless it is NaN */
};

/* Bits that are in the order of the numbers; false if there is none. */
static bool key_at(const struct values *values, size_t at, uint32_t *key)
{
    float value = values->data[at];
    if (isnan(value))
        return false;
    if (!isnan(values->center))
        value = fabsf(value - values->center);
    memcpy(key, &value, sizeof *key);
    *key = *key & 0x80000000 ? ~*key : *key | 0x80000000;
    return true;
}

static float number_of(uint32_t key)
{
    float value;
    key = key & 0x80000000 ? key & 0x7fffffff : ~key;
    memcpy(&value, &key, sizeof value);
    return value;
}

/* The half that the rank-th number has among those counted; the rank becomes that within it. */
static uint32_t find_half(const uint64_t *counts, uint64_t *rank)
{
    uint32_t half = 0;
    for (; *rank >= counts[half]; half++)
        *rank -= counts[half];
    return half;
}

/* The number that `rank` others precede; there are more than that. */
static float number_at(const struct values *values, uint64_t rank, uint64_t *counts)
{
    uint32_t key;
    memset(counts, 0, HALVES * sizeof *counts);
    for (size_t i = 0; i < values->count; i++)
        if (key_at(values, i, &key))
            counts[key >> 16]++;
    uint32_t upper = find_half(counts, &rank);
    memset(counts, 0, HALVES * sizeof *counts);
    for (size_t i = 0; i < values->count; i++)
        if (key_at(values, i, &key) && key >> 16 == upper)
            counts[key & 0xffff]++;
    return number_of(upper << 16 | find_half(counts, &rank));
}

/* Between the two in the middle where their number is even. */
static double median(const struct values *values, uint64_t known, uint64_t *counts)
{
    double high = (double)number_at(values, known / 2, counts);
    return known % 2 ? high : (high + (double)number_at(values, known / 2 - 1, counts)) / 2;
}

/* The scratch for counting is its own, so that threads may call it for different measures. */
struct heatmap_scale heatmap_scale(const float *data, size_t count, bool is_signed)
{
    struct values values = {data, count, NAN};
    uint64_t known = 0;
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < count; i++)
        if (!isnan(data[i])) {
            known++;
            least = fmin(least, (double)data[i]);
            most = fmax(most, (double)data[i]);
        }
    if (known == 0)
        return (struct heatmap_scale){0};
    uint64_t *counts = mem_alloc(HALVES * sizeof *counts);
    double center = median(&values, known, counts);
    values.center = (float)center;
    double reach = ROBUST_DEVIATIONS * median(&values, known, counts);
    mem_free(counts);
    if (reach > 0) {
        least = fmax(least, center - reach);
        most = fmin(most, center + reach);
    }
    double end = fmax(fabs(least), fabs(most));
    return is_signed ? (struct heatmap_scale){(float)-end, (float)end}
                     : (struct heatmap_scale){(float)least, (float)most};
}
