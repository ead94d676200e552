/*
 * A metric is taken if all that are taken can still be sampled in one pass: CUPTI is asked after
 * each.
 */
#include "capture/cuda/pm_metrics.h"

#include "capture/cuda/options/gpu_options.h"
#include "capture/cuda/say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CUPTI_ERROR_INVALID_PARAMETER = 1, CUPTI_ERROR_OUT_OF_MEMORY = 8 };

/* In order of importance: later ones may not fit. Of those with the same number, one is enough. */
#define OF_PEAK ".avg.pct_of_peak_sustained_elapsed"
static const struct {
    uint32_t number;
    const char *name;
} usual[] = {
    {0, "sm__cycles_active" OF_PEAK},
    {1, "sm__pipe_tensor_cycles_active" OF_PEAK},
    {1, "sm__inst_executed_pipe_tensor" OF_PEAK},
    {2, "sm__warps_active" OF_PEAK},
    {2, "tpc__warps_active_shader_cs_realtime" OF_PEAK},
    {3, "dram__bytes_read.sum.per_second"},
    {4, "dram__bytes_write.sum.per_second"},
    {5, "pcie__read_bytes.sum.per_second"},
    {6, "pcie__write_bytes.sum.per_second"},
    {7, "nvlrx__bytes.sum.per_second"},
    {8, "nvltx__bytes.sum.per_second"},
    {9, "sm__inst_executed" OF_PEAK},
};
enum { USUAL = sizeof usual / sizeof *usual };

const char *pm_result(const struct cupti *cupti, uint32_t result)
{
    static const struct {
        uint32_t result;
        const char *text;
    } known[] = {
        {26, "another profiler has them"},
        {27, "the GPU or its driver cannot do this"},
        {33, "the GPU is virtual"},
        {35, "the driver lets only administrators read them (ERR_NVGPUCTRPERM): run as root, or "
             "load it with NVreg_RestrictProfilingToAdminUsers=0"},
        {40, "the host of this virtual GPU does not allow it"},
        {41, "the GPU computes confidentially"},
        {43, "the GPU is divided (MIG)"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].result == result)
            return known[i].text;
    return cupti_result(cupti, result);
}

void pm_metrics_free(const struct cupti *cupti, struct pm_metrics *metrics)
{
    if (metrics->host)
        cupti->ProfilerHostDeinitialize(
            &(struct cupti_object){sizeof(struct cupti_object), NULL, metrics->host});
    free(metrics->image);
    *metrics = (struct pm_metrics){0};
}

/* ---- One set ------------------------------------------------------------------------------- */

static uint32_t make_host(const struct cupti *cupti, const struct pm_chip *chip,
                          struct pm_metrics *metrics)
{
    struct cupti_host host = {.size = sizeof host,
                              .type = CUPTI_PROFILER_PM_SAMPLING,
                              .chip = chip->name,
                              .availability = chip->availability};
    uint32_t result = cupti->ProfilerHostInitialize(&host);
    metrics->host = host.object;
    return result;
}

static uint32_t add_names(const struct cupti *cupti, struct pm_metrics *metrics)
{
    return cupti->ProfilerHostConfigAddMetrics(&(struct cupti_metrics){
        sizeof(struct cupti_metrics), NULL, metrics->host, metrics->names, metrics->count});
}

static uint32_t make_image(const struct cupti *cupti, struct pm_metrics *metrics, size_t *passes)
{
    struct cupti_image_size size = {.size = sizeof size, .object = metrics->host};
    uint32_t result = cupti->ProfilerHostGetConfigImageSize(&size);
    if (result != CUPTI_SUCCESS)
        return result;
    metrics->image_size = size.image_size;
    metrics->image = calloc(1, size.image_size);
    if (!metrics->image)
        return CUPTI_ERROR_OUT_OF_MEMORY;
    struct cupti_image image = {sizeof image, NULL, metrics->host, size.image_size, metrics->image};
    result = cupti->ProfilerHostGetConfigImage(&image);
    struct cupti_passes count = {
        .size = sizeof count, .image_size = size.image_size, .image = metrics->image};
    if (result == CUPTI_SUCCESS)
        result = cupti->ProfilerHostGetNumOfPasses(&count);
    *passes = count.passes;
    return result;
}

/* ---- The choice ---------------------------------------------------------------------------- */

struct chooser {
    const struct cupti *cupti;
    const struct pm_chip *chip;
    struct pm_metrics *metrics;
    bool is_quiet;
    uint32_t failure; /* of what has nothing to do with a metric */
};

static void say_left_out(const struct chooser *chooser, const char *name, const char *why)
{
    if (!chooser->is_quiet)
        say("the hardware counter %s of GPU %u is left out: %s", name, chooser->chip->device, why);
}

/* The set that is taken, and this metric, become the set if they can be sampled. */
static bool add_metric(struct chooser *chooser, const char *name)
{
    struct pm_metrics set = {.count = chooser->metrics->count};
    size_t passes = 0;
    if (set.count == PM_MOST_METRICS) {
        say_left_out(chooser, name, "too many counters");
        return false;
    }
    memcpy(set.names, chooser->metrics->names, set.count * sizeof *set.names);
    set.names[set.count++] = name;
    chooser->failure = make_host(chooser->cupti, chooser->chip, &set);
    bool is_known =
        chooser->failure == CUPTI_SUCCESS && add_names(chooser->cupti, &set) == CUPTI_SUCCESS;
    if (is_known)
        chooser->failure = make_image(chooser->cupti, &set, &passes);
    if (is_known && passes == 1 && chooser->failure == CUPTI_SUCCESS) {
        pm_metrics_free(chooser->cupti, chooser->metrics);
        *chooser->metrics = set;
        return true;
    }
    pm_metrics_free(chooser->cupti, &set);
    if (chooser->failure == CUPTI_SUCCESS)
        say_left_out(chooser, name,
                     !is_known ? "the device has no metric of this name, with a rollup such as "
                                 ".avg.pct_of_peak_sustained_elapsed or .sum.per_second at its end"
                     : chooser->metrics->count > 0
                         ? "the hardware cannot count it together with those before it"
                         : "the hardware cannot count it in one pass");
    return false;
}

static void add_usual(struct chooser *chooser)
{
    uint32_t taken = 0; /* a bit for each number */
    chooser->is_quiet = true;
    for (size_t i = 0; i < USUAL && chooser->failure == CUPTI_SUCCESS; i++)
        if (!(taken >> usual[i].number & 1) && add_metric(chooser, usual[i].name))
            taken |= 1u << usual[i].number;
    chooser->is_quiet = false;
}

bool pm_metrics_choose(const struct cupti *cupti, const struct pm_chip *chip, char *wanted,
                       struct pm_metrics *metrics, char problem[static 256])
{
    struct chooser chooser = {.cupti = cupti, .chip = chip, .metrics = metrics};
    char *rest = NULL;
    *metrics = (struct pm_metrics){0};
    for (char *name = strtok_r(wanted, ",", &rest); name && chooser.failure == CUPTI_SUCCESS;
         name = strtok_r(NULL, ",", &rest))
        if (strcmp(name, GPU_USUAL_METRICS) == 0)
            add_usual(&chooser);
        else
            add_metric(&chooser, name);
    if (chooser.failure != CUPTI_SUCCESS)
        snprintf(problem, 256, "%s", pm_result(cupti, chooser.failure));
    else if (metrics->count == 0)
        snprintf(problem, 256, "no counter can be sampled");
    if (chooser.failure == CUPTI_SUCCESS && metrics->count > 0)
        return true;
    pm_metrics_free(cupti, metrics);
    return false;
}
