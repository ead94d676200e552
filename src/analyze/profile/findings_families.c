/*
 * Findings on kinds of kernels: operators of a framework that each run as a kernel of their own,
 * though a compiler would fuse them.
 */
#include "analyze/profile/findings.h"

#include <math.h>

/* Advice by who made the kernels; NULL: they are as they should be. */
static const char *const advice_of[] = {
    [MADE_BY_LIBRARY] = NULL,
    [MADE_BY_COMPILER] = NULL,
    [MADE_BY_PYTORCH] =
        "Compile the model (torch.compile): operators that follow each other become one kernel, "
        "which reads and writes memory once. Without compiling: fused variants of norms, "
        "activations and optimizers (fused=True), fewer conversions and copies (to, contiguous).",
    [MADE_BY_TENSORFLOW] =
        "Compile the step with XLA (tf.function with jit_compile=True): operators that follow each "
        "other become one kernel, which reads and writes memory once.",
    [MADE_BY_XLA_ALONE] =
        "Put the operations into one function under jax.jit: called one by one, each is a program "
        "of its own and none is fused; in one program XLA makes one kernel of many.",
};
enum { MAKERS = sizeof advice_of / sizeof *advice_of };

/* What a compiler would fuse: these read and write memory and compute little. */
static bool is_fusible(enum kernel_family family)
{
    return family == FAMILY_ELEMENTWISE || family == FAMILY_NORM || family == FAMILY_SOFTMAX ||
           family == FAMILY_REDUCTION || family == FAMILY_COPY;
}

struct unfused {
    int64_t by_maker[MAKERS], by_family[KERNEL_FAMILIES], all_ps; /* all: of all kernels */
    int64_t unfused_ps;
    const struct ranked *most;
};

static struct unfused sum_up(const struct analysis *analysis)
{
    struct unfused sums = {0};
    const struct ranked *kernel;
    array_each (kernel, &analysis->summary.kernels) {
        int64_t time = kernel->totals.total_ps;
        sums.all_ps = add_saturated(sums.all_ps, time);
        if (!is_fusible(kernel->kind.family))
            continue;
        int64_t *of_maker = &sums.by_maker[kernel->kind.maker];
        *of_maker = add_saturated(*of_maker, time);
        if (!advice_of[kernel->kind.maker])
            continue;
        int64_t *of_family = &sums.by_family[kernel->kind.family];
        *of_family = add_saturated(*of_family, time);
        sums.unfused_ps = add_saturated(sums.unfused_ps, time);
        sums.most = sums.most ? sums.most : kernel; /* the list is sorted */
    }
    return sums;
}

/* "elementwise (15.2 ms), copy (5.20 ms)": the most first, as means of a device. */
static const char *list_families(struct rules *rules, const struct unfused *sums)
{
    const char *list = "";
    bool is_listed[KERNEL_FAMILIES] = {0};
    for (;;) {
        unsigned top = 0;
        for (unsigned i = 1; i < KERNEL_FAMILIES; i++)
            if (!is_listed[i] && (is_listed[top] || sums->by_family[i] > sums->by_family[top]))
                top = i;
        if (is_listed[top] || sums->by_family[top] <= 0)
            return list;
        is_listed[top] = true;
        char time[QUANTITY_SIZE];
        list = finding_text(rules->analysis, "%s%s%s (%s)", list, list[0] ? ", " : "",
                            kernel_family_name((enum kernel_family)top).data,
                            format_ps((double)per_device(rules, sums->by_family[top]), time));
    }
}

static enum kernel_maker main_maker(const struct unfused *sums)
{
    enum kernel_maker main = MADE_BY_PYTORCH;
    for (unsigned i = 0; i < MAKERS; i++)
        if (advice_of[i] && sums->by_maker[i] > sums->by_maker[main])
            main = (enum kernel_maker)i;
    return main;
}

/* Silent where more of this work is fused than not: then the program is compiled, and what is left
 * is what the compiler left. */
void find_unfused(struct rules *rules)
{
    struct analysis *analysis = rules->analysis;
    struct unfused sums = sum_up(analysis);
    double part = sums.all_ps > 0 ? (double)sums.unfused_ps / (double)sums.all_ps : 0;
    /* Kernels that run at the same time take less than their sum. */
    int64_t cost = sums.all_ps > rules->work_ps
                       ? (int64_t)fmin(part * (double)rules->work_ps, 0x1p62)
                       : sums.unfused_ps;
    if (part < UNFUSED_SHARE || share_of_window(rules, cost) < MIN_SHARE ||
        sums.by_maker[MADE_BY_COMPILER] > sums.unfused_ps)
        return;
    char time[QUANTITY_SIZE], all[QUANTITY_SIZE], most[QUANTITY_SIZE];
    struct finding *finding = finding_add(analysis, RULE_UNFUSED_KERNELS, per_device(rules, cost),
                                          share_of_window(rules, cost), rules->share_of);
    finding->text = finding_text(
        analysis,
        "Kernels that mostly read and write memory take %s of the %s of all kernels on %s: %s; "
        "most in %s, %s.",
        format_ps((double)per_device(rules, sums.unfused_ps), time),
        format_ps((double)per_device(rules, sums.all_ps), all),
        rules->devices.count == 1 ? "the device" : "each device", list_families(rules, &sums),
        finding_name(analysis, sums.most->name),
        format_ps((double)per_device(rules, sums.most->totals.total_ps), most));
    finding->advice = advice_of[main_maker(&sums)];
    finding->sql =
        "SELECT family, name, count(*) AS count, sum(duration_ns) / 1e6 AS ms FROM GpuKernel WHERE "
        "family IN ('elementwise', 'norm', 'softmax', 'reduction', 'copy') GROUP BY family, name "
        "ORDER BY ms DESC LIMIT 100";
    put_longest_work(rules, finding, DEVICE_COMPUTE, TRACK_NONE, sums.most->name);
}
