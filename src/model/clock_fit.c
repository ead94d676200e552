/*
 * Clock correlation: converts device time to host time.
 */
#include "model/clock_fit.h"

/* A slope further from 1 is not credible; then only offsets are used. */
static const double MIN_SLOPE = 0.5, MAX_SLOPE = 2;

void clock_fit_add(struct clock_fit *fit, struct clock_point point)
{
    *array_push(&fit->points) = point;
}

static bool point_before(const void *a, const void *b, const void *context)
{
    (void)context;
    const struct clock_point *left = a, *right = b;
    if (left->device_ns != right->device_ns)
        return left->device_ns < right->device_ns;
    return left->host_ns < right->host_ns;
}

static double distance(int64_t from, int64_t to)
{
    return (double)sub_saturated(to, from);
}

static bool is_clock(double slope)
{
    return slope >= MIN_SLOPE && slope <= MAX_SLOPE;
}

/* Least squares, with times relative to their mean to preserve precision. */
static double best_slope(const struct clock_fit *fit)
{
    const struct clock_point *points = fit->points.items, *middle = &points[fit->points.count / 2];
    double count = (double)fit->points.count, mean_x = 0, mean_y = 0, xx = 0, xy = 0;
    for (size_t i = 0; i < fit->points.count; i++) {
        mean_x += distance(middle->device_ns, points[i].device_ns) / count;
        mean_y += distance(middle->host_ns, points[i].host_ns) / count;
    }
    for (size_t i = 0; i < fit->points.count; i++) {
        double x = distance(middle->device_ns, points[i].device_ns) - mean_x;
        double y = distance(middle->host_ns, points[i].host_ns) - mean_y;
        xx += x * x;
        xy += x * y;
    }
    double slope = xx > 0 ? xy / xx : 1;
    return is_clock(slope) ? slope : 1;
}

void clock_fit_finish(struct clock_fit *fit)
{
    if (fit->points.count == 0)
        return;
    sort_items(fit->points.items, fit->points.count, sizeof *fit->points.items, point_before, NULL);
    fit->slope = best_slope(fit);
    for (uint32_t i = 0; i < fit->points.count; i++)
        if (fit->points.items[i].has_run)
            idmap_put(&fit->by_run, fit->points.items[i].run, i);
}

void clock_fit_free(struct clock_fit *fit)
{
    array_free(&fit->points);
    idmap_free(&fit->by_run);
}

/* The host time on the line through a point. */
static int64_t on_line(const struct clock_point *point, double slope, int64_t device_ns)
{
    int64_t distance_ns = sub_saturated(device_ns, point->device_ns);
    double drift = (double)distance_ns * (slope - 1); /* small, so no precision is lost */
    int64_t rounded = drift >= 0x1p62    ? INT64_MAX / 2
                      : drift <= -0x1p62 ? -INT64_MAX / 2
                                         : (int64_t)(drift + (drift < 0 ? -0.5 : 0.5));
    return add_saturated(point->host_ns, add_saturated(distance_ns, rounded));
}

int64_t clock_fit_host_ns(const struct clock_fit *fit, int64_t device_ns)
{
    const struct clock_point *points = fit->points.items;
    size_t low = 0, high = fit->points.count; /* finds the first point after the time */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (points[middle].device_ns <= device_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || low == fit->points.count)
        return on_line(&points[low ? low - 1 : 0], fit->slope, device_ns);
    const struct clock_point *left = &points[low - 1], *right = &points[low];
    double slope =
        distance(left->host_ns, right->host_ns) / distance(left->device_ns, right->device_ns);
    return on_line(left, is_clock(slope) ? slope : fit->slope, device_ns);
}

int64_t clock_fit_host_ns_of_run(const struct clock_fit *fit, int64_t device_ns, uint64_t run)
{
    uint32_t point = idmap_get(&fit->by_run, run);
    if (point == IDMAP_NONE)
        return clock_fit_host_ns(fit, device_ns);
    return on_line(&fit->points.items[point], fit->slope, device_ns);
}
