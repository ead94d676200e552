/*
 * Peaks of GPUs, from vendors' data sheets: what a model can do in a second, without sparsity.
 * Models that are not listed are worked out from their architecture, cores and clock.
 */
#ifndef KYMO_ANALYZE_PEAKS_GPUS_H
#define KYMO_ANALYZE_PEAKS_GPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Types of numbers that devices have peaks for. */
enum peak_type {
    PEAK_F64,
    PEAK_F32,
    PEAK_TF32, /* 32-bit numbers rounded to 19 bits in matrix units */
    PEAK_F16,
    PEAK_BF16,
    PEAK_F8,
    PEAK_S8,
    PEAK_TYPES,
};

enum gpu_vendor { GPU_NVIDIA, GPU_AMD };

/* What a capture says of a GPU; 0 where it says nothing. */
struct gpu_facts {
    enum gpu_vendor vendor;
    int major, minor; /* compute capability; of AMD, the first two numbers of gfx942 */
    double cores;     /* multiprocessors or compute units */
    double clock_hz;
};

/* Of one device; 0 where it is not known or the device has none. */
struct gpu_peaks {
    double flops[PEAK_TYPES]; /* per second; of S8 integer operations */
    double memory_bytes_per_s;
};

/* The peaks of a model by the name that drivers have for it; false if it is not listed. */
bool hardware_gpu_named(const char *name, size_t size, struct gpu_peaks *peaks);
/* The same from architecture, cores and clock. */
bool hardware_gpu_computed(const struct gpu_facts *facts, struct gpu_peaks *peaks);
/* XProf's figures, for comparison: the largest of its rates for 16 and 32 bits, and the bandwidth
 * of shared memory. */
double hardware_gpu_xprof_flops(const struct gpu_facts *facts);
double hardware_gpu_shared_bytes_per_s(const struct gpu_facts *facts);

#endif
