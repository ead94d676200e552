/*
 * Tests of two samples.
 */
#include "report/compare/significance.h"

#include <math.h>

enum sample_test test_for(size_t a_count, size_t b_count)
{
    size_t fewest = a_count < b_count ? a_count : b_count;
    return fewest >= RANKS_MIN_VALUES   ? TEST_RANKS
           : fewest >= WELCH_MIN_VALUES ? TEST_WELCH
                                        : TEST_NONE;
}

static bool is_less(const void *a, const void *b, const void *context)
{
    (void)context;
    return *(const double *)a < *(const double *)b;
}

static size_t equal_from(const double *values, size_t count, size_t from, double value)
{
    size_t i = from;
    while (i < count && values[i] == value)
        i++;
    return i - from;
}

double ranks_p(double *a, size_t a_count, double *b, size_t b_count)
{
    double n = (double)a_count, m = (double)b_count, all = n + m;
    double rank_sum = 0, ties = 0; /* of A; sum of t^3 - t */
    sort_items(a, a_count, sizeof *a, is_less, NULL);
    sort_items(b, b_count, sizeof *b, is_less, NULL);
    for (size_t i = 0, k = 0; i < a_count || k < b_count;) {
        double value = k == b_count || (i < a_count && a[i] <= b[k]) ? a[i] : b[k];
        size_t of_a = equal_from(a, a_count, i, value), of_b = equal_from(b, b_count, k, value);
        double tied = (double)(of_a + of_b);
        rank_sum += (double)of_a * ((double)(i + k) + (tied + 1) / 2);
        ties += tied * tied * tied - tied;
        i += of_a;
        k += of_b;
    }
    double u = rank_sum - n * (n + 1) / 2;
    double variance = n * m / 12 * (all + 1 - ties / (all * (all - 1)));
    if (variance <= 0)
        return 1; /* all values are the same */
    double z = (fabs(u - n * m / 2) - 0.5) / sqrt(variance);
    return z <= 0 ? 1 : erfc(z / sqrt(2));
}

/* The continued fraction of the incomplete beta function, by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
    enum { MAX_TERMS = 300 };
    const double tiny = 1e-300, precision = 1e-15;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double value = d;
    for (int m = 1; m <= MAX_TERMS; m++) {
        const double terms[] = {
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        };
        double before = value;
        for (int i = 0; i < 2; i++) {
            d = 1 + terms[i] * d;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = 1 + terms[i] / c;
            c = fabs(c) < tiny ? tiny : c;
            value *= c * d;
        }
        if (fabs(value - before) < precision * fabs(value))
            break;
    }
    return value;
}

/* The regularized incomplete beta function. */
static double incomplete_beta(double a, double b, double x)
{
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* Mean, and variance of the mean. */
static double mean_of(const double *values, size_t count, double *variance)
{
    double sum = 0, squares = 0, n = (double)count;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - sum / n) * (values[i] - sum / n);
    *variance = squares / (n - 1) / n;
    return sum / n;
}

double welch_p(const double *a, size_t a_count, const double *b, size_t b_count)
{
    double v, w;
    double difference = mean_of(a, a_count, &v) - mean_of(b, b_count, &w);
    if (v + w <= 0)
        return difference == 0 ? 1 : 0; /* values that never vary */
    double freedom =
        (v + w) * (v + w) / (v * v / (double)(a_count - 1) + w * w / (double)(b_count - 1));
    double t2 = difference * difference / (v + w);
    return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t2));
}

static bool by_p(const void *a, const void *b, const void *context)
{
    (void)context;
    return **(double *const *)a < **(double *const *)b;
}

void adjust_p(double *const *values, size_t count)
{
    double **sorted = mem_zeroed(count, sizeof *sorted);
    size_t tests = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(*values[i]))
            sorted[tests++] = values[i];
    sort_items(sorted, tests, sizeof *sorted, by_p, NULL);
    double least = 1;
    for (size_t i = tests; i-- > 0;) {
        least = fmin(least, *sorted[i] * (double)tests / (double)(i + 1));
        *sorted[i] = least;
    }
    mem_free(sorted);
}
