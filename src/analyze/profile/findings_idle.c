/*
 * Findings on idle devices: one for each cause that costs enough.
 */
#include "analyze/profile/idle.h"

#include <stdio.h>

struct idle_rule {
    enum cause cause;
    enum finding_rule rule;
    const char *reason, *advice;
    const char *names; /* what the events are, before their list */
};

/* What the host did in these causes is longer under a profiler. */
static bool has_profilers_part(enum cause cause)
{
    return cause == CAUSE_HOST || cause == CAUSE_LAUNCH;
}

static const struct idle_rule idle_rules[] = {
    {CAUSE_HOST, RULE_HOST_BOUND, "because the host was late with the next work",
     "Take the work named here off the thread that launches: precompute it, do it in another "
     "thread or process, or compile it away[jax: (jax.jit)][torch: (torch.compile)][tf: "
     "(tf.function)]. A host that runs ahead hides it.",
     "The host spent that time in"},
    {CAUSE_LAUNCH, RULE_LAUNCH_BOUND, "in short gaps, until the host has launched the next kernel",
     "Launch less often: CUDA graphs[torch: (torch.compile with mode=\"reduce-overhead\", "
     "torch.cuda.graph)], fused kernels[jax: (jax.jit over the whole step)][torch: "
     "(torch.compile)][tf: (tf.function with jit_compile=True)], fused optimizers, larger batches.",
     "The host spent that time in"},
    {CAUSE_SYNC, RULE_BLOCKING_SYNCHRONIZATION,
     "because the host had waited for it and had nothing queued",
     "Do not read results in every step: [jax:print, float(loss), np.asarray and "
     "block_until_ready wait][torch:.item(), .cpu(), print and float(loss) wait][tf:print, "
     "float(loss) and .numpy() wait][any:printing a value or copying it to the host waits] for all "
     "that was launched. Read them some steps later, or every 100 steps; use non-blocking copies.",
     "It waited in"},
    {CAUSE_COPY, RULE_SYNCHRONOUS_COPIES,
     "because the host waited in a synchronous copy and had nothing queued",
     "Copy asynchronously (cudaMemcpyAsync on a stream of its own) from or to pinned memory "
     "(cudaHostAlloc[torch:, pin_memory=True with non_blocking=True]), and wait only where the "
     "data "
     "is used; copy several small ones at once.",
     "It waited in"},
    {CAUSE_SET, RULE_SYNCHRONOUS_MEMSETS,
     "because the host waited in a synchronous memset and had nothing queued",
     "Set memory asynchronously (cudaMemsetAsync) on the stream that uses it, or in the kernel "
     "that writes it first.",
     "It waited in"},
    {CAUSE_ALLOCATION, RULE_ALLOCATOR, "while the host allocated or freed memory of the driver",
     "Keep shapes constant so that cached blocks fit, or free the memory pressure that makes the "
     "allocator return blocks[torch:, or try PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True]; "
     "pin "
     "host buffers once.",
     "The calls are"},
    {CAUSE_INPUT, RULE_INPUT_BOUND, "while the host waited for data",
     "Load ahead: more workers and prefetching[jax: (worker_count of Grain, tf.data "
     "prefetch)][torch: (DataLoader num_workers, prefetch_factor, pin_memory)][tf: (tf.data "
     "num_parallel_calls, prefetch)], a cheaper or precomputed input pipeline, faster storage.",
     "It waited in"},
    {CAUSE_COMPILE, RULE_RECOMPILATION, "while the host compiled or loaded programs",
     "Warm up before measuring. If it happens in every run: keep shapes and static arguments "
     "constant (pad or bucket batches)[jax:, use a compilation cache (jax_compilation_cache_dir); "
     "jax_explain_cache_misses names the reason][torch:, use a compilation cache "
     "(TORCHINDUCTOR_FX_GRAPH_CACHE); TORCH_LOGS=recompiles names the reason][tf:, give "
     "tf.function an input_signature][any:, use a compilation cache].",
     "The calls are"},
    {CAUSE_PROFILER, RULE_PROFILER_OVERHEAD, "while the profiler did its own work",
     "These figures are worse than an unprofiled run. Record fewer steps and less per event: "
     "no stacks, shapes or memory, no Python tracer.",
     "The calls are"},
    {CAUSE_QUEUED, RULE_SHORT_KERNELS, "between kernels that were queued already",
     "Fewer, larger kernels: fuse operations[jax: (jax.jit over the whole step)][torch: "
     "(torch.compile)][tf: (tf.function with jit_compile=True)], enlarge the batch. The device "
     "needs "
     "1 to 2 us between dependent kernels whatever launches them.",
     NULL},
    {CAUSE_BLOCKED, RULE_DEVICE_WAITS, "although the work that follows had been launched",
     "Look for what it depends on: an event of another stream or device, a callback of the host, a "
     "copy, or work that the capture does not contain, as of another process or from before the "
     "profiler started.",
     NULL},
    {CAUSE_UNKNOWN, RULE_IDLE, "and the capture does not say what launched the work that follows",
     "Look at what the host does in these gaps, and annotate steps, so that this time can be "
     "attributed.",
     NULL},
};

/* What to do about host work with a known remedy. */
static const struct {
    const char *name, *advice;
} remedies[] = {
    {"command_buffer::update",
     "XLA updates its CUDA graphs in each step as buffers move: donate the arguments that a step "
     "replaces (donate_argnums) and keep their order, or compare with "
     "XLA_FLAGS=--xla_gpu_enable_command_buffer= (no graphs)."},
    {"aten::to", "Convert and move tensors once, not in each step."},
    {"Optimizer.step", "Use the fused or foreach form of the optimizer."},
};

static const char *remedy_for(const struct analysis *analysis, uint32_t type)
{
    struct text name = catalog_type_label(analysis->catalog, type);
    for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++)
        if (text_starts(name, text_of(remedies[i].name)))
            return remedies[i].advice;
    return NULL;
}

enum { NAMED_TYPES = 3 };

/* The types that cost most, and how many there are of these. */
static size_t top_types(const struct analysis *analysis, const int64_t *by_type,
                        uint32_t top[NAMED_TYPES])
{
    size_t count = 0;
    for (uint32_t type = 0; type < analysis->catalog->types.count; type++) {
        if (by_type[type] <= 0)
            continue;
        size_t at = count < NAMED_TYPES ? count++ : NAMED_TYPES;
        if (at == NAMED_TYPES && by_type[type] <= by_type[top[NAMED_TYPES - 1]])
            continue;
        at = at == NAMED_TYPES ? NAMED_TYPES - 1 : at;
        for (; at > 0 && by_type[top[at - 1]] < by_type[type]; at--)
            top[at] = top[at - 1];
        top[at] = type;
    }
    return count;
}

static const char *list_types(struct rules *rules, const struct cause_totals *totals,
                              const uint32_t *top, size_t count)
{
    struct analysis *analysis = rules->analysis;
    const char *list = "";
    char time[QUANTITY_SIZE];
    for (size_t i = 0; i < count; i++)
        list = finding_text(analysis, "%s%s%s (%s)", list,
                            i == 0          ? ""
                            : i + 1 < count ? ", "
                                            : " and ",
                            finding_type(analysis, top[i]),
                            format_ps((double)per_device(rules, totals->by_type[top[i]]), time));
    if (totals->unrecorded_ps > totals->cost_ps / 2)
        list = finding_text(analysis, "%s%s (%s)",
                            count ? finding_text(analysis, "%s, and ", list) : "",
                            "code that is not recorded",
                            format_ps((double)per_device(rules, totals->unrecorded_ps), time));
    return list;
}

/* Gaps of the first device that are long enough for the rule. */
static const char *gaps_sql(struct rules *rules, const struct cause_totals *totals)
{
    struct analysis *analysis = rules->analysis;
    const struct device_activity *device = rules->devices.items[0];
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < MAX_GAPS_KEPT; i++)
        if (totals->longest[i].cost_ps > 0)
            least = sub_saturated(totals->longest[i].to_ps, totals->longest[i].from_ps);
    least = least == INT64_MAX ? 0 : least / 10;
    return finding_text(
        analysis,
        "SELECT id, name, start_ts, gap_ns FROM (SELECT id, name, start_ts, start_ts - "
        "max(end_ts) OVER (ORDER BY start_ts, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) "
        "AS gap_ns FROM SystemProfileEvents WHERE track_id IN (SELECT id FROM Track WHERE "
        "parent_id = %u AND role = '%s')) WHERE gap_ns >= %lld AND start_ts BETWEEN %lld AND %lld "
        "ORDER BY gap_ns DESC LIMIT 100",
        device->device, work_role_name(device), (long long)(least / 1000),
        (long long)(device->from_ps / 1000), (long long)(device->to_ps / 1000));
}

static const char *events_sql(struct rules *rules, const uint32_t *top, size_t count)
{
    struct analysis *analysis = rules->analysis;
    const char *names = "";
    for (size_t i = 0; i < count; i++)
        names =
            finding_text(analysis, "%s%s%s", names, i ? ", " : "",
                         finding_literal(analysis, analysis->catalog->types.items[top[i]].name));
    return finding_text(analysis,
                        "SELECT id, name, start_ts, duration_ns FROM SystemProfileEvents WHERE "
                        "name IN (%s) ORDER BY duration_ns DESC LIMIT 100",
                        names);
}

static void put_evidence(struct rules *rules, struct finding *finding,
                         const struct cause_totals *totals)
{
    char time[QUANTITY_SIZE];
    for (size_t i = 0; i < MAX_GAPS_KEPT && totals->longest[i].cost_ps > 0; i++) {
        const struct cause_gap *gap = &totals->longest[i];
        finding_span(rules->analysis, finding,
                     finding_text(rules->analysis, "%s of %s", i == 0 ? "longest gap," : "a gap",
                                  format_ps((double)sub_saturated(gap->to_ps, gap->from_ps), time)),
                     gap->from_ps, gap->to_ps, gap->next);
    }
}

static const char *sentence(struct rules *rules, const struct idle_rule *rule,
                            const struct cause_totals *totals)
{
    struct analysis *analysis = rules->analysis;
    char time[QUANTITY_SIZE], count[QUANTITY_SIZE], kernel[QUANTITY_SIZE], launch[QUANTITY_SIZE];
    const char *who = rules->devices.count == 1 ? "The device idles" : "On average, a device idles";
    const char *text =
        finding_text(analysis, "%s %s %s", who,
                     format_ps((double)per_device(rules, totals->cost_ps), time), rule->reason);
    double kernels = (double)rules->kernels;
    if (rules->kernels > 0 && (rule->cause == CAUSE_LAUNCH || rule->cause == CAUSE_QUEUED))
        return finding_text(analysis, "%s: %s kernels take %s on average, one starts every %s.",
                            text, format_count(rules->kernels / rules->devices.count, count),
                            format_ps((double)rules->kernel_ps / kernels, kernel),
                            format_ps((double)rules->window_ps / kernels, launch));
    return totals->gaps < 2
               ? finding_text(analysis, "%s.", text)
               : finding_text(analysis, "%s, in %s gaps.", text,
                              format_count(totals->gaps / rules->devices.count, count));
}

/* Captures have the profiler's own events at most, not what it adds to each call it records. */
static const char *profilers_part(struct rules *rules, const struct idle *idle)
{
    char time[QUANTITY_SIZE];
    int64_t recorded_ps = per_device(rules, idle->causes[CAUSE_PROFILER].cost_ps);
    if (recorded_ps <= 0)
        return "This includes what the profiler adds to each call, which the capture does not "
               "record.";
    return finding_text(rules->analysis,
                        "This includes what the profiler adds to each call; its own events, for "
                        "which the device idles another %s, are not in it.",
                        format_ps((double)recorded_ps, time));
}

static void apply(struct rules *rules, const struct idle_rule *rule, const struct idle *idle)
{
    const struct cause_totals *totals = &idle->causes[rule->cause];
    struct analysis *analysis = rules->analysis;
    uint32_t top[NAMED_TYPES];
    size_t count = top_types(analysis, totals->by_type, top);
    struct finding *finding = finding_add(analysis, rule->rule, per_device(rules, totals->cost_ps),
                                          share_of_window(rules, totals->cost_ps), rules->share_of);
    finding->text = sentence(rules, rule, totals);
    const char *list = list_types(rules, totals, top, count);
    if (rule->names && list[0])
        finding->text = finding_text(analysis, "%s %s %s.", finding->text, rule->names, list);
    if (has_profilers_part(rule->cause))
        finding->text = finding_text(analysis, "%s %s", finding->text, profilers_part(rules, idle));
    const char *remedy = count > 0 ? remedy_for(analysis, top[0]) : NULL;
    finding->advice = finding_advice(rules, remedy ? remedy : rule->advice);
    bool is_of_events = count > 0 && rule->cause != CAUSE_HOST && rule->cause != CAUSE_LAUNCH;
    finding->sql = is_of_events ? events_sql(rules, top, count) : gaps_sql(rules, totals);
    put_evidence(rules, finding, totals);
}

/* All causes are measured in one pass and then cut so that together they never exceed the idle
 * time. */
void find_idle(struct rules *rules)
{
    struct idle idle;
    if (rules->devices.count == 0)
        return;
    idle_measure(&idle, rules);
    int64_t excess_ps = idle_limit(&idle, sub_saturated(rules->window_ps, rules->work_ps));
    /* In a window too long to count, parts and whole both saturate: an excess is not a defect. */
    rules->analysis->idle_excess_ps = rules->window_ps == INT64_MAX ? 0 : excess_ps;
    /* Long kernels do not wait for launches: such gaps have another reason. */
    if ((double)rules->kernel_ps >= (double)rules->kernels * (double)SHORT_KERNEL_PS) {
        struct cause_totals *host = &idle.causes[CAUSE_HOST], *launch = &idle.causes[CAUSE_LAUNCH];
        host->cost_ps = add_saturated(host->cost_ps, launch->cost_ps);
        host->unrecorded_ps = add_saturated(host->unrecorded_ps, launch->unrecorded_ps);
        host->gaps += launch->gaps;
        for (size_t i = 0; i < rules->analysis->catalog->types.count; i++)
            host->by_type[i] = add_saturated(host->by_type[i], launch->by_type[i]);
        launch->cost_ps = 0;
    }
    for (size_t i = 0; i < sizeof idle_rules / sizeof *idle_rules; i++)
        if (share_of_window(rules, idle.causes[idle_rules[i].cause].cost_ps) >= MIN_SHARE)
            apply(rules, &idle_rules[i], &idle);
    idle_free(&idle);
}
