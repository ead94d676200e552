/*
 * Percentiles, interpolated between the two nearest ranks.
 */
#include "base/percentile.h"

static double select_nth(double *values, size_t count, size_t nth)
{
    size_t low = 0, high = count - 1;
    while (low < high) {
        double pivot = values[low + (high - low) / 2];
        size_t i = low, j = high;
        for (;;) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i >= j)
                break;
            double swapped = values[i];
            values[i++] = values[j];
            values[j--] = swapped;
        }
        if (nth <= j)
            high = j;
        else
            low = j + 1;
    }
    return values[nth];
}

struct place {
    size_t below;    /* rank, from 0 */
    double fraction; /* of the way to the next */
};

static struct place place_of(size_t count, double share)
{
    double at = share * (double)(count - 1);
    size_t below = (size_t)at;
    return (struct place){below, at - (double)below};
}

/* Written so that equal values give exactly that value, and infinities no NaN where nothing is
 * between them. */
static double between(double below, double above, double fraction)
{
    return fraction > 0 && below != above ? below + (above - below) * fraction : below;
}

double percentile_sorted(const double *values, size_t count, double share)
{
    struct place place = place_of(count, share);
    double below = values[place.below];
    return place.fraction > 0 ? between(below, values[place.below + 1], place.fraction) : below;
}

double percentile_of(double *values, size_t count, double share)
{
    struct place place = place_of(count, share);
    double below = select_nth(values, count, place.below);
    if (place.fraction <= 0)
        return below;
    double above = values[place.below + 1]; /* the least of the others */
    for (size_t i = place.below + 2; i < count; i++)
        above = values[i] < above ? values[i] : above;
    return between(below, above, place.fraction);
}
