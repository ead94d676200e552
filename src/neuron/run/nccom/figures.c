/*
 * Figures computed from times.
 */
#include "base/percentile.h"
#include "neuron/run/nccom/nccom.h"

double nccom_average(const double *times, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += times[i];
    return count ? sum / (double)count : 0;
}

double nccom_percentile(const double *times, size_t count, double percent)
{
    if (count == 0)
        return 0;
    return percentile_sorted(times, count, percent / 100);
}

double nccom_gb_per_s(uint64_t bytes, double us)
{
    return us > 0 ? (double)bytes / us / 1e3 : 0;
}

double nccom_bus_factor(enum nccom_op op, uint32_t group_size)
{
    double ranks = group_size;
    switch (op) {
    case NCCOM_ALL_REDUCE:
        return 2 * (ranks - 1) / ranks;
    case NCCOM_SENDRECV:
    case NCCOM_PERMUTE:
        return 1;
    default:
        return (ranks - 1) / ranks;
    }
}
