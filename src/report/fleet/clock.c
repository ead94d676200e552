/*
 * Least squares over a graph: the unknowns are offset and drift of each machine's clock; each match
 * wants its samples to become equal. The normal equations are never written down: conjugate
 * gradients need only their product with a vector, one pass over the samples. Samples that do not
 * fit (a rank that left early) get less weight in further rounds.
 */
#include "report/fleet/clock.h"

#include <math.h>
#include <stdlib.h>

enum { ROUNDS = 5, MAX_ITERATIONS = 400 };
#define HUBER          2.0 /* robust deviations within which a sample has full weight */
#define CONVERGED      1e-12
#define MAD_TO_SPREAD  1.4826
#define SMALLEST_ERROR 1.0 /* ns: times are whole nanoseconds */
#define USUAL_DRIFT                                                                                \
    1e-4 /* of quartz clocks, at most: what noise over a short time would exceed                   \
          */

struct fit {
    const struct clock_sample *samples;
    size_t count, machines;
    double reference_ns, half_span_ns;
    double *weights;     /* by sample */
    double *residuals;   /* by sample */
    double *phases;      /* by sample: when in the time span its match was, -1 to 1 */
    double drift_weight; /* how much drifts are held at 0, in samples */
};

static size_t match_end(const struct fit *fit, size_t first)
{
    size_t end = first;
    while (end < fit->count && fit->samples[end].match == fit->samples[first].match)
        end++;
    return end;
}

/* Drifts are solved as what they make of half the time span, so that both kinds of unknowns are of
 * the same size. A match has one phase for all its samples: with the machines' own times in its
 * place, clocks that all stand still would fit best. It is as exact as the offsets are known. */
static void find_phases(struct fit *fit, const double *x)
{
    for (size_t first = 0, end; first < fit->count; first = end) {
        end = match_end(fit, first);
        double sum = 0;
        for (size_t i = first; i < end; i++)
            sum += fit->samples[i].time_ns - fit->reference_ns + x[2 * fit->samples[i].machine];
        double phase = sum / (double)(end - first) / fit->half_span_ns;
        for (size_t i = first; i < end; i++)
            fit->phases[i] = fit->half_span_ns > 0 ? phase : 0;
    }
}

/* What is left of a match's samples after correction: their distances from the weighted mean. The
 * times themselves are left out for the product of the matrix with x. */
static void match_residuals(struct fit *fit, const double *x, bool with_times, size_t first,
                            size_t end)
{
    double sum = 0, weight = 0;
    for (size_t i = first; i < end; i++) {
        const struct clock_sample *sample = &fit->samples[i];
        double time = with_times ? sample->time_ns - fit->samples[first].time_ns : 0;
        fit->residuals[i] =
            time + x[2 * sample->machine] + x[2 * sample->machine + 1] * fit->phases[i];
        sum += fit->weights[i] * fit->residuals[i];
        weight += fit->weights[i];
    }
    for (size_t i = first; i < end; i++)
        fit->residuals[i] -= sum / weight;
}

/* The gradient of half the sum of squares at x; without times, the matrix times x. */
static void gradient(struct fit *fit, const double *x, bool with_times, double *result)
{
    memset(result, 0, 2 * fit->machines * sizeof *result);
    for (size_t first = 0, end; first < fit->count; first = end) {
        end = match_end(fit, first);
        match_residuals(fit, x, with_times, first, end);
        for (size_t i = first; i < end; i++) {
            double pull = fit->weights[i] * fit->residuals[i];
            result[2 * fit->samples[i].machine] += pull;
            result[2 * fit->samples[i].machine + 1] += pull * fit->phases[i];
        }
    }
    for (size_t i = 0; i < fit->machines; i++)
        result[2 * i + 1] += fit->drift_weight * x[2 * i + 1];
}

/* The matrix' diagonal, about: what conjugate gradients divide by to converge in fewer steps. */
static void diagonal(const struct fit *fit, double *result)
{
    for (size_t i = 0; i < fit->machines; i++) {
        result[2 * i] = 1e-9;
        result[2 * i + 1] = 1e-9 + fit->drift_weight;
    }
    for (size_t i = 0; i < fit->count; i++) {
        double phase = fit->phases[i];
        result[2 * fit->samples[i].machine] += fit->weights[i];
        result[2 * fit->samples[i].machine + 1] += fit->weights[i] * phase * phase;
    }
}

static double dot(const double *a, const double *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Improves x by conjugate gradients. */
static void solve(struct fit *fit, double *x)
{
    size_t size = 2 * fit->machines;
    double *memory = mem_zeroed(size * 5, sizeof *memory);
    double *left = memory, *scale = left + size, *scaled = scale + size;
    double *direction = scaled + size, *product = direction + size;
    gradient(fit, x, true, left);
    diagonal(fit, scale);
    for (size_t i = 0; i < size; i++) {
        left[i] = -left[i];
        direction[i] = scaled[i] = left[i] / scale[i];
    }
    double norm = dot(left, scaled, size), wanted = norm * CONVERGED;
    for (int i = 0; i < MAX_ITERATIONS && norm > wanted && norm > 0; i++) {
        gradient(fit, direction, false, product);
        double curvature = dot(direction, product, size);
        if (curvature <= 0)
            break;
        double length = norm / curvature;
        for (size_t k = 0; k < size; k++) {
            x[k] += length * direction[k];
            left[k] -= length * product[k];
            scaled[k] = left[k] / scale[k];
        }
        double next = dot(left, scaled, size);
        for (size_t k = 0; k < size; k++)
            direction[k] = scaled[k] + next / norm * direction[k];
        norm = next;
    }
    mem_free(memory);
}

static int compare_numbers(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Robust standard deviation of numbers around 0; sorts them. */
static double spread_of(double *sizes, size_t count)
{
    if (count == 0)
        return 0;
    for (size_t i = 0; i < count; i++)
        sizes[i] = fabs(sizes[i]);
    qsort(sizes, count, sizeof *sizes, compare_numbers);
    return MAD_TO_SPREAD * sizes[count / 2];
}

static void all_residuals(struct fit *fit, const double *x)
{
    for (size_t first = 0, end; first < fit->count; first = end) {
        end = match_end(fit, first);
        match_residuals(fit, x, true, first, end);
    }
}

static void weigh(struct fit *fit, const double *x)
{
    double *sizes = mem_alloc((fit->count + 1) * sizeof *sizes);
    all_residuals(fit, x);
    memcpy(sizes, fit->residuals, fit->count * sizeof *sizes);
    double spread = spread_of(sizes, fit->count) + SMALLEST_ERROR;
    double limit = HUBER * spread, drift = USUAL_DRIFT * fit->half_span_ns;
    fit->drift_weight = drift > 0 ? spread * spread / (drift * drift) : 0;
    for (size_t i = 0; i < fit->count; i++) {
        double size = fabs(fit->residuals[i]);
        fit->weights[i] = size > limit ? limit / size : 1;
    }
    mem_free(sizes);
}

static uint32_t root_of(uint32_t *parents, uint32_t machine)
{
    while (parents[machine] != machine)
        machine = parents[machine] = parents[parents[machine]];
    return machine;
}

/* Machines that are connected by matches get the same number, from 0. */
static void find_components(const struct fit *fit, struct machine_clock *clocks)
{
    uint32_t *parents = mem_alloc((fit->machines + 1) * sizeof *parents);
    for (uint32_t i = 0; i < fit->machines; i++)
        parents[i] = i;
    for (size_t i = 1; i < fit->count; i++)
        if (fit->samples[i].match == fit->samples[i - 1].match) {
            uint32_t a = root_of(parents, fit->samples[i].machine);
            uint32_t b = root_of(parents, fit->samples[i - 1].machine);
            parents[a > b ? a : b] = a > b ? b : a;
        }
    uint32_t components = 0;
    for (uint32_t i = 0; i < fit->machines; i++) {
        uint32_t root = root_of(parents, i); /* not above i, so it has its number */
        clocks[i].component = root == i ? components++ : clocks[root].component;
    }
    mem_free(parents);
}

/* Only differences are known: the mean of a component is 0. */
static void center(double *x, const struct machine_clock *clocks, size_t machines)
{
    double *sums = mem_zeroed(machines * 3 + 1, sizeof *sums);
    for (size_t i = 0; i < machines; i++) {
        double *sum = sums + 3 * clocks[i].component;
        sum[0] += x[2 * i];
        sum[1] += x[2 * i + 1];
        sum[2]++;
    }
    for (size_t i = 0; i < machines; i++) {
        const double *sum = sums + 3 * clocks[i].component;
        x[2 * i] -= sum[0] / sum[2];
        x[2 * i + 1] -= sum[1] / sum[2];
    }
    mem_free(sums);
}

static void put_errors(const struct fit *fit, struct machine_clock *clocks)
{
    double *sorted = mem_alloc((fit->count + 1) * sizeof *sorted);
    size_t *starts = mem_zeroed(fit->machines + 1, sizeof *starts);
    for (size_t i = 0; i < fit->count; i++)
        clocks[fit->samples[i].machine].samples++;
    for (size_t i = 0; i < fit->machines; i++)
        starts[i + 1] = starts[i] + clocks[i].samples;
    for (size_t i = 0; i < fit->count; i++)
        sorted[starts[fit->samples[i].machine]++] = fit->residuals[i];
    for (size_t i = 0; i < fit->machines; i++) {
        double *own = sorted + starts[i] - clocks[i].samples;
        clocks[i].error_ns = spread_of(own, clocks[i].samples) + SMALLEST_ERROR;
    }
    mem_free(starts);
    mem_free(sorted);
}

static void find_span(struct fit *fit)
{
    double first = INFINITY, last = -INFINITY;
    for (size_t i = 0; i < fit->count; i++) {
        first = fmin(first, fit->samples[i].time_ns);
        last = fmax(last, fit->samples[i].time_ns);
    }
    fit->reference_ns = fit->count ? floor((first + last) / 2) : 0;
    fit->half_span_ns = fit->count ? (last - first) / 2 : 0;
}

/* Rounds of iteratively reweighted least squares: later ones discount samples that do not fit. The
 * one extra element avoids empty allocations. */
void clocks_fit(const struct clock_sample *samples, size_t count, struct machine_clock *clocks,
                size_t machines, double *reference_ns)
{
    struct fit fit = {.samples = samples,
                      .count = count,
                      .machines = machines,
                      .weights = mem_alloc((count + 1) * sizeof *fit.weights),
                      .residuals = mem_zeroed(count + 1, sizeof *fit.residuals),
                      .phases = mem_zeroed(count + 1, sizeof *fit.phases)};
    double *x = mem_zeroed(2 * machines + 1, sizeof *x);
    memset(clocks, 0, machines * sizeof *clocks);
    for (size_t i = 0; i < count; i++)
        fit.weights[i] = 1;
    find_span(&fit);
    find_components(&fit, clocks);
    for (int round = 0; round < ROUNDS; round++) {
        if (round > 0) /* offsets first, so that the noise is known */
            find_phases(&fit, x);
        solve(&fit, x);
        weigh(&fit, x);
    }
    all_residuals(&fit, x);
    center(x, clocks, machines);
    put_errors(&fit, clocks);
    for (size_t i = 0; i < machines; i++) {
        /* The drift was solved for times of the run; the machine's own differ from them. */
        double drift = fit.half_span_ns > 0 ? x[2 * i + 1] / fit.half_span_ns : 0;
        clocks[i].drift_ppm = drift / (1 - drift) * 1e6;
        clocks[i].offset_ns = x[2 * i] / (1 - drift);
    }
    *reference_ns = fit.reference_ns;
    mem_free(x);
    mem_free(fit.weights);
    mem_free(fit.residuals);
    mem_free(fit.phases);
}
