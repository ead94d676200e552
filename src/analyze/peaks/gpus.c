/*
 * Peaks of GPUs. The models are those of the vendors' data sheets, dense, with 32-bit accumulation;
 * rates per core and cycle are those of the architectures' white papers.
 */
#include "analyze/peaks/gpus.h"

#include <string.h>

#define TERA 1e12
#define GIGA 1e9

/* Peaks in tera operations, in the order of enum peak_type, then memory in GB/s. A model is the
 * first of which all words are in the name. */
static const struct {
    const char *words[2];
    double tera[PEAK_TYPES];
    double memory_gb;
} models[] = {
    {{"GB200"}, {40, 80, 1250, 2500, 2500, 5000, 5000}, 8000},
    {{"B200"}, {37, 75, 1125, 2250, 2250, 4500, 4500}, 8000},
    {{"GH200"}, {67, 67, 494.7, 989.4, 989.4, 1978.9, 1978.9}, 4000},
    {{"H200", "NVL"}, {60, 60, 417.5, 835.5, 835.5, 1670.5, 1670.5}, 4800},
    {{"H200"}, {67, 67, 494.7, 989.4, 989.4, 1978.9, 1978.9}, 4800},
    {{"H100", "NVL"}, {60, 60, 417.5, 835.5, 835.5, 1670.5, 1670.5}, 3900},
    {{"H100", "PCIe"}, {51, 51, 378, 756, 756, 1513, 1513}, 2000},
    {{"H100"}, {67, 67, 494.7, 989.4, 989.4, 1978.9, 1978.9}, 3350},
    {{"H800"}, {1, 67, 494.7, 989.4, 989.4, 1978.9, 1978.9}, 3350},
    {{"H20"}, {1, 44, 74, 148, 148, 296, 296}, 4000},
    {{"A100", "80GB PCIe"}, {19.5, 19.5, 156, 312, 312, 0, 624}, 1935},
    {{"A100", "80GB"}, {19.5, 19.5, 156, 312, 312, 0, 624}, 2039},
    {{"A100"}, {19.5, 19.5, 156, 312, 312, 0, 624}, 1555},
    {{"A800"}, {9.7, 19.5, 156, 312, 312, 0, 624}, 2039},
    {{"A30"}, {10.3, 10.3, 82, 165, 165, 0, 330}, 933},
    {{"A40"}, {0.585, 37.4, 74.8, 149.7, 149.7, 0, 299.3}, 696},
    {{"A10G"}, {0.49, 31.5, 35, 70, 70, 0, 140}, 600},
    {{"A10"}, {0.49, 31.2, 62.5, 125, 125, 0, 250}, 600},
    {{"A2"}, {0.07, 4.5, 9, 18, 18, 0, 36}, 200},
    {{"L40S"}, {1.4, 91.6, 183, 362, 362, 733, 733}, 864},
    {{"L40"}, {1.4, 90.5, 90.5, 181, 181, 362, 362}, 864},
    {{"L20"}, {0.9, 59.8, 59.8, 119.5, 119.5, 239, 239}, 864},
    {{"L4"}, {0.5, 30.3, 60, 121, 121, 242.5, 242.5}, 300},
    {{"V100S"}, {8.2, 16.4, 0, 130, 0, 0, 0}, 1134},
    {{"V100", "PCIE"}, {7, 14, 0, 112, 0, 0, 0}, 900},
    {{"V100"}, {7.8, 15.7, 0, 125, 0, 0, 0}, 900},
    {{"P100", "PCIE"}, {4.7, 9.3, 0, 18.7, 0, 0, 0}, 732},
    {{"P100"}, {5.3, 10.6, 0, 21.2, 0, 0, 0}, 732},
    {{"T4"}, {0.25, 8.1, 0, 65, 0, 0, 130}, 320},
    {{"RTX PRO 6000"}, {1.9, 125, 251.9, 503.8, 503.8, 1007.6, 1007.6}, 1792},
    {{"RTX 6000 Ada"}, {1.4, 91.1, 182.1, 364.2, 364.2, 728.5, 728.5}, 960},
    {{"RTX A6000"}, {0.6, 38.7, 77.4, 154.8, 154.8, 0, 309.7}, 768},
    {{"RTX 5090"}, {1.6, 104.8, 104.8, 209.5, 209.5, 419, 838}, 1792},
    {{"RTX 5080"}, {0.9, 56.3, 56.3, 112.6, 112.6, 225.1, 450.2}, 960},
    {{"RTX 4090"}, {1.3, 82.6, 82.6, 165.2, 165.2, 330.3, 660.6}, 1008},
    {{"RTX 4080"}, {0.8, 48.7, 48.7, 97.5, 97.5, 194.9, 389.9}, 717},
    {{"RTX 3090 Ti"}, {0.6, 40, 40, 80, 80, 0, 320}, 1008},
    {{"RTX 3090"}, {0.6, 35.6, 35.6, 71, 71, 0, 284}, 936},
    {{"RTX 3080"}, {0.5, 29.8, 29.8, 59.5, 59.5, 0, 238}, 760},
    {{"MI355X"}, {78.6, 157.3, 0, 2516.6, 2516.6, 5033.2, 5033.2}, 8000},
    {{"MI350X"}, {72.1, 144.2, 0, 2306.9, 2306.9, 4613.7, 4613.7}, 8000},
    {{"MI325X"}, {163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 2614.9}, 6000},
    {{"MI300X"}, {163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 2614.9}, 5300},
    {{"MI300A"}, {122.6, 122.6, 490.3, 980.6, 980.6, 1961.2, 1961.2}, 5300},
    /* Half of a card: each of its two dies is a device. */
    {{"MI250X"}, {47.9, 47.9, 0, 191.5, 191.5, 0, 191.5}, 1638},
    {{"MI250"}, {45.3, 45.3, 0, 181, 181, 0, 181}, 1638},
    {{"MI210"}, {45.3, 45.3, 0, 181, 181, 0, 181}, 1638},
    {{"MI100"}, {11.5, 46.1, 0, 184.6, 92.3, 0, 184.6}, 1229},
};

/* Operations per core and cycle: of matrix units, or of vector units where those have more. Then
 * XProf's largest rate for 16 and 32 bits, and bytes of shared memory. */
struct rate {
    enum gpu_vendor vendor;
    int major, minor;
    double cycle[PEAK_TYPES];
    double xprof, shared_bytes;
};

/* The highest that is not above a device's capability counts; 12.x, of consumers' cards, has a row
 * of its own. */
static const struct rate rates[] = {
    {GPU_NVIDIA, 12, 0, {4, 256, 512, 1024, 1024, 2048, 2048}, 8192, 256},
    {GPU_NVIDIA, 10, 0, {128, 256, 4096, 8192, 8192, 16384, 16384}, 8192, 256},
    {GPU_NVIDIA, 9, 0, {256, 256, 2048, 4096, 4096, 8192, 8192}, 4096, 256},
    {GPU_NVIDIA, 8, 9, {4, 256, 512, 1024, 1024, 2048, 2048}, 1024, 256},
    {GPU_NVIDIA, 8, 6, {4, 256, 256, 512, 512, 0, 1024}, 1024, 256},
    {GPU_NVIDIA, 8, 0, {128, 128, 1024, 2048, 2048, 0, 4096}, 2048, 256},
    {GPU_NVIDIA, 7, 5, {4, 128, 0, 1024, 0, 0, 2048}, 1024, 256},
    {GPU_NVIDIA, 7, 0, {64, 128, 0, 1024, 0, 0, 512}, 1024, 256},
    {GPU_NVIDIA, 6, 1, {8, 256, 0, 4, 0, 0, 1024}, 256, 256},
    {GPU_NVIDIA, 6, 0, {64, 128, 0, 256, 0, 0, 512}, 256, 256},
    {GPU_NVIDIA, 5, 0, {8, 256, 0, 0, 0, 0, 0}, 256, 256},
    {GPU_NVIDIA, 3, 0, {16, 384, 0, 0, 0, 0, 0}, 384, 256},
    {GPU_AMD, 9, 5, {128, 256, 0, 4096, 4096, 8192, 8192}, 4096, 256},
    {GPU_AMD, 9, 4, {256, 256, 1024, 2048, 2048, 4096, 4096}, 2048, 128},
};

/* Whether a word is in a name, in any case, and ends there: "A100" is not in "A1000". */
static bool has_word(const char *name, size_t size, const char *word)
{
    size_t length = strlen(word);
    for (size_t at = 0; at + length <= size; at++) {
        size_t same = 0;
        while (same < length && (name[at + same] | 0x20) == (word[same] | 0x20))
            same++;
        char before = at > 0 ? name[at - 1] : ' ';
        char after = at + length < size ? name[at + length] : ' ';
        bool is_inside = (after >= '0' && after <= '9') || (after >= 'A' && after <= 'Z') ||
                         (before >= '0' && before <= '9') || (before >= 'A' && before <= 'Z');
        if (same == length && !is_inside)
            return true;
    }
    return false;
}

bool hardware_gpu_named(const char *name, size_t size, struct gpu_peaks *peaks)
{
    if (has_word(name, size, "Laptop")) /* which share the names of larger ones */
        return false;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        if (!has_word(name, size, models[i].words[0]) ||
            (models[i].words[1] && !has_word(name, size, models[i].words[1])))
            continue;
        for (size_t type = 0; type < PEAK_TYPES; type++)
            peaks->flops[type] = models[i].tera[type] * TERA;
        peaks->memory_bytes_per_s = models[i].memory_gb * GIGA;
        return true;
    }
    return false;
}

static const struct rate *rate_of(const struct gpu_facts *facts)
{
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        bool is_below = facts->major > rates[i].major ||
                        (facts->major == rates[i].major && facts->minor >= rates[i].minor);
        bool is_same = facts->major == rates[i].major && facts->minor == rates[i].minor;
        if (rates[i].vendor == facts->vendor && (facts->vendor == GPU_AMD ? is_same : is_below))
            return &rates[i];
    }
    return NULL;
}

bool hardware_gpu_computed(const struct gpu_facts *facts, struct gpu_peaks *peaks)
{
    const struct rate *rate = rate_of(facts);
    double cycles = facts->cores * facts->clock_hz;
    *peaks = (struct gpu_peaks){0};
    if (!rate || cycles <= 0)
        return false;
    for (size_t type = 0; type < PEAK_TYPES; type++)
        peaks->flops[type] = rate->cycle[type] * cycles;
    return true;
}

double hardware_gpu_xprof_flops(const struct gpu_facts *facts)
{
    const struct rate *rate = rate_of(facts);
    return rate ? rate->xprof * facts->cores * facts->clock_hz : 0;
}

double hardware_gpu_shared_bytes_per_s(const struct gpu_facts *facts)
{
    const struct rate *rate = rate_of(facts);
    return rate ? rate->shared_bytes * facts->cores * facts->clock_hz : 0;
}
