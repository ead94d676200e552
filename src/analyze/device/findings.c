/*
 * The rules. Gains are upper bounds: a part of what the critical path spends on the
 * unit that the finding is about, as time beside the path saves nothing.
 */
#include "analyze/device/findings.h"

#include "base/percentile.h"

#include <inttypes.h>
#include <stdio.h>

#define SMALL_DMA_TEXT THRESHOLD_TEXT(SMALL_DMA_BYTES)

/* A part of a time, by a share that is 0 to 1. */
static int64_t part_of(int64_t time_ps, double part, double whole)
{
    double share = whole > 0 ? part / whole : 0;
    return (int64_t)((double)time_ps * (share < 1 ? share : 1));
}

static struct finding *add(struct device_analysis *analysis, enum finding_rule rule,
                           int64_t gain_ps)
{
    int64_t total_ps = analysis->sums.total_ps;
    gain_ps = gain_ps < total_ps ? gain_ps : total_ps;
    gain_ps = gain_ps > 0 ? gain_ps : 0;
    return finding_add(analysis, rule, gain_ps,
                       total_ps > 0 ? (double)gain_ps / (double)total_ps : 0, "the total time");
}

static void show(struct finding *finding, const struct evidence *evidence, const char *label)
{
    if (evidence->to_ps <= evidence->from_ps)
        return;
    struct evidence labeled = *evidence;
    labeled.label = label;
    finding_show(finding, &labeled);
}

/* Costs nothing: the program did not do its work, and what its times say is in doubt. */
static void find_failures(struct device_analysis *analysis)
{
    char status[64] = "an error", what[DEVICE_ERROR_SIZE] = "";
    const struct ntff_execution *info = &analysis->gathered.failed.info;
    uint32_t count = analysis->gathered.failed.count;
    if (count == 0)
        return;
    if (analysis->gathered.failed.has_info && info->status != 0)
        snprintf(status, sizeof status, "%s (status %" PRIu32 ")", ntff_status_name(info->status),
                 info->status);
    const struct device_error *error = &analysis->gathered.failed.error;
    bool has_error = analysis->gathered.failed.has_error;
    struct finding *finding = add(analysis, RULE_FAILED_EXECUTION, 0);
    finding->is_failure = true;
    finding->text = finding_text(
        analysis,
        "%" PRIu32 " of %" PRIu32 " executions failed; execution %" PRIu32
        " ended with %s%s%s%s%s. Its results are wrong or missing, and its timings may not be "
        "representative.",
        count, analysis->sums.executions,
        analysis->gathered.failed.has_info ? info->index
                                           : analysis->gathered.failed.evidence.item.execution + 1,
        status, has_error ? ": " : "",
        has_error ? device_error_name((enum error_kind)error->kind) : "", has_error ? ", " : "",
        has_error ? device_error_text(analysis->profile->program, error, what) : "");
    finding->advice =
        "Fix the program first: the timeline marks the error in the row Custom Notification, "
        "above what ran at that time.";
    finding->sql = "SELECT timestamp, description, metadata, rank FROM Error ORDER BY timestamp";
    show(finding, &analysis->gathered.failed.evidence,
         has_error ? "the first error" : "the execution");
}

/* DMA on the critical path, and the latencies around it. */
static int64_t dma_on_path(const struct device_path *path)
{
    return path->dma_ps + path->wait_ps[WAIT_DMA_START] + path->wait_ps[WAIT_DMA_END];
}

/* The cost is the excess over one load, scaled to the DMA time on the critical path: hidden
 * loads cost nothing. The evidence is of the last execution, as the tensors keep only its
 * loads. */
static void find_reloads(struct device_analysis *analysis)
{
    const struct device_profile *profile = analysis->profile;
    const struct core_program *program = profile->program;
    const struct device_sums *sums = &analysis->sums;
    uint32_t worst = NO_INDEX, count = 0;
    double excess_ps = 0, worst_excess = 0;
    for (uint32_t i = 0; i < program->variable_count; i++) {
        double factor =
            device_repeat_factor(&analysis->tensors[i], &program->variables[i], sums->executions);
        if (!(factor > MAX_REPEAT_FACTOR))
            continue;
        double excess = (double)analysis->tensors[i].load_ps * (1 - 1 / factor);
        count++;
        excess_ps += excess;
        if (worst == NO_INDEX || excess > worst_excess) {
            worst = i;
            worst_excess = excess;
        }
    }
    if (worst == NO_INDEX)
        return;
    const struct device_tensor *tensor = &analysis->tensors[worst];
    const struct variable *variable = &program->variables[worst];
    char bytes[QUANTITY_SIZE], size[QUANTITY_SIZE];
    struct finding *finding =
        add(analysis, RULE_TENSOR_RELOADED,
            part_of(analysis->path.dma_ps, excess_ps, (double)sums->packet_ps));
    finding->text = finding_text(
        analysis,
        "%u tensor%s loaded more than twice in an execution; most of all %s (%s): %.1f times, %s "
        "in %llu DMA packets.",
        count, count == 1 ? " is" : "s are", variable->name, format_bytes(variable->size, size),
        device_repeat_factor(tensor, variable, sums->executions),
        format_bytes(tensor->load_bytes, bytes), (unsigned long long)tensor->loads);
    finding->advice = "Keep the tensor in SBUF between its uses, or order loops so that all uses "
                      "of a tile follow its load.";
    finding->sql = "SELECT variable_name, size, load_to_sbuf_total_size_bytes, "
                   "load_to_sbuf_dma_count, load_to_sbuf_repeat_factor FROM TensorInfo WHERE "
                   "load_to_sbuf_repeat_factor > 2 ORDER BY load_to_sbuf_total_size_bytes DESC";
    struct evidence load = {.from_ps = tensor->first_span.start_ps,
                            .to_ps = tensor->first_span.end_ps,
                            .item = {.kind = ITEM_BLOCK,
                                     .index = tensor->first_run,
                                     .part = tensor->first_block,
                                     .execution = sums->executions - 1}};
    show(finding, &load, "its first load");
    load.from_ps = tensor->last_span.start_ps;
    load.to_ps = tensor->last_span.end_ps;
    load.item.index = tensor->last_run;
    load.item.part = tensor->last_block;
    show(finding, &load, "its last load");
}

static void find_throttling(struct device_analysis *analysis)
{
    const struct device_sums *sums = &analysis->sums;
    const struct device_gathered *gathered = &analysis->gathered;
    int64_t throttled_ps = sums->throttled_ps[0] + sums->throttled_ps[1];
    if (throttled_ps <= 0)
        return;
    char time[QUANTITY_SIZE], lost[QUANTITY_SIZE];
    struct finding *finding =
        add(analysis, RULE_THROTTLED,
            part_of(analysis->path.engine_ps[ENGINE_TENSOR], (double)gathered->throttle_lost_ps,
                    (double)sums->unit_active_ps[ENGINE_TENSOR]));
    finding->text = finding_text(
        analysis,
        "The Tensor engine's rate was capped for %s, %.0f %% of the time; matmuls took "
        "about %s longer because of it. On average %.0f %% of the rate was allowed.",
        format_ps((double)throttled_ps, time), 100 * (double)throttled_ps / (double)sums->total_ps,
        format_ps((double)gathered->throttle_lost_ps, lost),
        100 * sums->limit_ps / (double)sums->total_ps);
    finding->advice = "The cap follows idle phases and use below half in a window of 3 us: feed "
                      "the engine without gaps, by loading ahead and by larger matmuls.";
    finding->sql = "SELECT type, timestamp, duration, k, n FROM Throttle ORDER BY duration DESC";
    show(finding, &gathered->throttle, "longest throttling");
}

/* The cost is the time beyond what the bytes take at full rate, scaled to the DMA time on the
 * critical path. */
static void find_small_dma(struct device_analysis *analysis)
{
    const struct device_sums *sums = &analysis->sums;
    const struct device_gathered *gathered = &analysis->gathered;
    if (gathered->small_ps <= 0 ||
        (double)gathered->small_ps < MIN_SMALL_DMA_SHARE * (double)sums->packet_ps)
        return;
    uint64_t packets = 0;
    for (unsigned i = 0; i < DMA_CLASSES; i++)
        packets += sums->packets[i];
    char time[QUANTITY_SIZE], size[QUANTITY_SIZE];
    struct finding *finding = add(
        analysis, RULE_SMALL_DMA,
        part_of(analysis->path.dma_ps, (double)gathered->small_excess_ps, (double)sums->packet_ps));
    finding->text =
        finding_text(analysis,
                     "%llu of %llu DMA packets move less than 2 KiB, %s on average. They take %s, "
                     "%.0f %% of the time of all packets; a fixed cost for each is most of it.",
                     (unsigned long long)gathered->small_packets, (unsigned long long)packets,
                     format_bytes(gathered->small_bytes / gathered->small_packets, size),
                     format_ps((double)gathered->small_ps, time),
                     100 * (double)gathered->small_ps / (double)sums->packet_ps);
    finding->advice = "Move at least 2 KiB, better 4 KiB, of each partition at a time: tile along "
                      "the free dimension, join neighboring tensors, avoid strided layouts.";
    finding->sql =
        "SELECT queue_name, variable, count(*) AS packets, sum(transfer_bytes) AS bytes, "
        "sum(duration_ns) AS time_ns FROM DmaPacket WHERE transfer_bytes < " SMALL_DMA_TEXT
        " GROUP BY ALL ORDER BY time_ns DESC";
    show(finding, &gathered->small, "longest small packet");
}

static void find_unused_compute(struct device_analysis *analysis)
{
    const struct device_metrics *metrics = &analysis->metrics;
    double could =
        device_peak_flops(analysis->profile->hardware) * metrics->tensor_engine_active_time;
    double share = could > 0 ? (double)metrics->model_flops / could : 1;
    if (metrics->model_flops == 0 || share >= MIN_MODEL_SHARE)
        return;
    char time[QUANTITY_SIZE];
    struct finding *finding = add(analysis, RULE_LOW_MODEL_FLOPS,
                                  part_of(analysis->path.engine_ps[ENGINE_TENSOR], 1 - share, 1));
    finding->text = finding_text(
        analysis,
        "In the %s in which the Tensor engine is active it could do %.3g operations; the model "
        "needs %.3g, %.0f %% of that. It did %.3g, transposes included.",
        format_ps(metrics->tensor_engine_active_time * 1e12, time), could,
        (double)metrics->model_flops, 100 * share, (double)metrics->hardware_flops);
    finding->advice = "Use all 128 rows and columns of the array and moving tiles of 512 columns; "
                      "BF16 instead of FP32, which takes four times as long; batch small products.";
    finding->sql = "SELECT layer, opcode, count(*) AS instructions, sum(duration_ns) AS time_ns, "
                   "sum(raw_flops) AS flops FROM Instruction WHERE engine = 'Tensor' GROUP BY ALL "
                   "ORDER BY time_ns DESC";
    show(finding, &analysis->gathered.matmul, "longest of it on the critical path");
}

/* Instructions that ran and come from NKI kernels. */
static uint64_t count_nki(const struct device_analysis *analysis, enum engine engine)
{
    const struct core_program *program = analysis->profile->program;
    uint64_t runs = 0;
    for (uint32_t i = 0; i < program->code_count[engine]; i++) {
        uint32_t origin = program->code[engine][i].origin;
        if (origin < program->origin_count && analysis->is_nki[origin])
            runs += analysis->runs[engine][i];
    }
    return runs;
}

/* Reports the engine with the most critical-path time outside NKI, assuming that instructions
 * take equally long. */
static void find_nki_coverage(struct device_analysis *analysis)
{
    static const enum engine engines[] = {ENGINE_TENSOR, ENGINE_VECTOR, ENGINE_SCALAR};
    const struct device_sums *sums = &analysis->sums;
    uint64_t nki[ENGINE_COUNT] = {0};
    if (!analysis->is_nki)
        return;
    enum engine worst = ENGINE_COUNT;
    int64_t gain_ps = 0;
    for (unsigned i = 0; i < sizeof engines / sizeof *engines; i++) {
        enum engine engine = engines[i];
        uint64_t all = sums->instructions[engine];
        nki[engine] = count_nki(analysis, engine);
        if (all == 0 || (double)nki[engine] >= MIN_NKI_SHARE * (double)all)
            continue;
        int64_t outside_ps =
            part_of(analysis->path.engine_ps[engine], (double)(all - nki[engine]), (double)all);
        if (worst == ENGINE_COUNT || outside_ps > gain_ps) {
            worst = engine;
            gain_ps = outside_ps;
        }
    }
    if (worst == ENGINE_COUNT)
        return;
    struct finding *finding = add(analysis, RULE_NKI_COVERAGE, gain_ps);
    finding->text = finding_text(
        analysis,
        "Of the %s engine's %llu instructions, %llu come from sources in %s. The gain is "
        "an upper bound: the time that the others take on the critical path.",
        hardware_engine_name(worst), (unsigned long long)sums->instructions[worst],
        (unsigned long long)nki[worst], analysis->nki_source_root);
    finding->advice = "Write the layers that take most time as NKI kernels, where the compiler's "
                      "code leaves the engine idle.";
    finding->sql =
        finding_text(analysis,
                     "SELECT layer, count(*) AS instructions, sum(duration_ns) AS time_ns "
                     "FROM Instruction WHERE engine = '%s' GROUP BY ALL ORDER BY time_ns DESC",
                     hardware_engine_name(worst));
}

static void find_transposes(struct device_analysis *analysis)
{
    const struct device_sums *sums = &analysis->sums;
    const struct device_gathered *gathered = &analysis->gathered;
    if (sums->flops == 0 ||
        (double)sums->transpose_flops <= MAX_TRANSPOSE_SHARE * (double)sums->flops)
        return;
    char time[QUANTITY_SIZE];
    struct finding *finding =
        add(analysis, RULE_TRANSPOSES,
            part_of(analysis->path.engine_ps[ENGINE_TENSOR], (double)gathered->transpose_ps,
                    (double)sums->instruction_ps[ENGINE_TENSOR]));
    finding->text = finding_text(
        analysis, "%.0f %% of the Tensor engine's operations are transposes, which take %s.",
        100 * (double)sums->transpose_flops / (double)sums->flops,
        format_ps((double)gathered->transpose_ps, time));
    finding->advice = "Choose layouts in which the contracted dimension is on partitions already; "
                      "store weights transposed; transpose by DMA where the engine is the limit.";
    finding->sql = "SELECT layer, count(*) AS transposes, sum(duration_ns) AS time_ns FROM "
                   "Instruction WHERE opcode = 'TRANSPOSE' GROUP BY layer ORDER BY time_ns DESC";
    show(finding, &gathered->transpose, "longest transpose");
}

static void find_spills(struct device_analysis *analysis)
{
    const struct device_sums *sums = &analysis->sums;
    const struct device_gathered *gathered = &analysis->gathered;
    if (sums->hbm_read == 0 ||
        (double)sums->spill_reload <= MAX_RELOAD_SHARE * (double)sums->hbm_read)
        return;
    char saved[QUANTITY_SIZE], reloaded[QUANTITY_SIZE];
    struct finding *finding = add(
        analysis, RULE_SPILLS,
        part_of(dma_on_path(&analysis->path), (double)gathered->spill_ps, (double)sums->packet_ps));
    finding->text = finding_text(
        analysis,
        "%s are saved to the scratchpad in HBM and %s loaded again: %.0f %% of "
        "all reads of HBM.",
        format_bytes(sums->spill_save, saved), format_bytes(sums->spill_reload, reloaded),
        100 * (double)sums->spill_reload / (double)sums->hbm_read);
    finding->advice = "Smaller tiles or fused operations keep intermediate results in SBUF.";
    finding->sql = "SELECT variable, op, count(*) AS transfers, sum(transfer_bytes) AS bytes, "
                   "sum(duration_ns) AS time_ns FROM DmaPacketAggregated WHERE variable IN (SELECT "
                   "variable_name FROM TensorInfo WHERE type = 'VIRTUAL') GROUP BY ALL ORDER BY "
                   "bytes DESC";
    show(finding, &gathered->spill, "longest of these packets");
}

static bool by_group(const void *a, const void *b, const void *context)
{
    (void)context;
    const struct device_collective_run *m = a, *n = b;
    return m->group != n->group ? m->group < n->group : m->duration_ps < n->duration_ps;
}

/* Sorts the durations in place. Groups are operation and size (packed in the key); small groups
 * have no reliable median and are skipped. */
static void find_collective_outliers(struct device_analysis *analysis)
{
    struct device_collective_run *runs = analysis->durations.items;
    size_t count = analysis->durations.count, outliers = 0;
    int64_t excess_ps = 0, worst_ps = 0, worst_median_ps = 0;
    const struct device_collective_run *worst = NULL;
    sort_items(runs, count, sizeof *runs, by_group, NULL);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first; end < count && runs[end].group == runs[first].group;)
            end++;
        const double middle[] = {(double)runs[first + (end - first - 1) / 2].duration_ps,
                                 (double)runs[first + (end - first) / 2].duration_ps};
        int64_t median_ps = (int64_t)percentile_sorted(middle, 2, 0.5);
        for (size_t i = first; end - first >= MIN_COLLECTIVES && i < end; i++) {
            int64_t over_ps = runs[i].duration_ps - median_ps;
            if ((double)runs[i].duration_ps <= COLLECTIVE_OUTLIER_FACTOR * (double)median_ps)
                continue;
            outliers++;
            excess_ps += over_ps;
            if (over_ps > worst_ps) {
                worst_ps = over_ps;
                worst_median_ps = median_ps;
                worst = &runs[i];
            }
        }
    }
    if (!worst)
        return;
    uint64_t key = analysis->groups.items[worst->group];
    char took[QUANTITY_SIZE], median[QUANTITY_SIZE], bytes[QUANTITY_SIZE];
    int64_t path_ps = analysis->path.collective_ps + analysis->path.wait_ps[WAIT_COLLECTIVE];
    struct finding *finding =
        add(analysis, RULE_COLLECTIVE_OUTLIERS, excess_ps < path_ps ? excess_ps : path_ps);
    finding->text = finding_text(
        analysis,
        "%zu of %zu collectives take more than %.1f times the median of their operation "
        "and size; the slowest, %s of %s, %s instead of %s.",
        outliers, count, COLLECTIVE_OUTLIER_FACTOR,
        device_collective_name((enum collective_kind)(key & 15)), format_bytes(key >> 4, bytes),
        format_ps((double)worst->duration_ps, took), format_ps((double)worst_median_ps, median));
    finding->advice = "Look for the rank that came late: kymo view -d DIR compares the ranks of a "
                      "capture.";
    finding->sql = "SELECT operation, input_size, start_ts, duration_ns FROM CcOp ORDER BY "
                   "duration_ns DESC";
    show(finding, &worst->evidence, "the slowest");
}

/* What the published bounds say: if all units worked at the same time, the busiest would decide. */
static void find_pipeline(struct device_analysis *analysis)
{
    const struct device_bounds *bounds = &analysis->bounds;
    double total = analysis->metrics.total_time;
    if (!(bounds->pipeline > 0) || total - bounds->pipeline < MIN_SHARE * total)
        return;
    static const char *const units[] = {"the Tensor engine", "the Vector engine",
                                        "the Scalar engine", "the GpSimd engine",
                                        "the Sync engine",   "DMA",
                                        "collectives"};
    char total_text[QUANTITY_SIZE], busiest[QUANTITY_SIZE], ideal[QUANTITY_SIZE];
    bool has_dma = bounds->memory_ideal > 0;
    struct finding *finding =
        add(analysis, RULE_PIPELINE, (int64_t)((total - bounds->pipeline) * 1e12));
    finding->text = finding_text(
        analysis,
        "Of %s, the busiest unit, %s, is active %s. With all units at work at the same time the "
        "program would be %.1f times as fast.%s%s%s",
        format_ps(total * 1e12, total_text), units[bounds->busiest],
        format_ps(bounds->pipeline * 1e12, busiest), bounds->pipeline_speedup,
        has_dma ? " At the hardware's rates DMA needs " : "",
        has_dma ? format_ps(bounds->memory_ideal * 1e12, ideal) : "", has_dma ? "." : "");
    finding->advice = "Load the next tile while the engines work on this one (double buffering), "
                      "and split work so that engines overlap. The critical path shows the order.";
    finding->sql = "SELECT engine, sum(duration_ns) AS active_ns FROM ActiveTime GROUP BY engine "
                   "ORDER BY active_ns DESC";
    show(finding, &analysis->gathered.waits[WAIT_DMA_END], "longest wait for a transfer");
    show(finding, &analysis->gathered.waits[WAIT_SEMAPHORE], "longest wait for a semaphore");
}

static void find_latency(struct device_analysis *analysis)
{
    const struct device_path *path = &analysis->path;
    int64_t latency_ps = path->wait_ps[WAIT_DMA_START] + path->wait_ps[WAIT_DMA_END];
    int64_t total_ps = analysis->sums.total_ps;
    if ((double)latency_ps < MIN_SHARE * (double)total_ps || total_ps <= 0)
        return;
    char start[QUANTITY_SIZE], end[QUANTITY_SIZE];
    struct finding *finding = add(analysis, RULE_DMA_LATENCY, latency_ps);
    finding->text = finding_text(
        analysis,
        "On the critical path %s pass between a trigger and its first byte, and %s between the "
        "last byte and the semaphore: no bytes move in that time.",
        format_ps((double)path->wait_ps[WAIT_DMA_START], start),
        format_ps((double)path->wait_ps[WAIT_DMA_END], end));
    finding->advice = "Trigger loads earlier, before what they depend on last is used; fewer and "
                      "larger transfers; keep small intermediate results in SBUF.";
    finding->sql =
        "SELECT engine, layer, opcode, start_ts, dma_wait_time_ns FROM Instruction WHERE "
        "dma_wait_time_ns > 0 ORDER BY dma_wait_time_ns DESC";
    show(finding, &analysis->gathered.waits[WAIT_DMA_START], "longest start");
    show(finding, &analysis->gathered.waits[WAIT_DMA_END], "longest completion");
}

/* One core does not tell set-up from late ranks: the profiles of all ranks do. */
static void find_collective_wait(struct device_analysis *analysis)
{
    int64_t wait_ps = analysis->path.wait_ps[WAIT_COLLECTIVE];
    int64_t total_ps = analysis->sums.total_ps;
    if (total_ps <= 0 || (double)wait_ps < MIN_SHARE * (double)total_ps)
        return;
    char time[QUANTITY_SIZE];
    struct finding *finding = add(analysis, RULE_COLLECTIVE_WAIT, wait_ps);
    finding->text = finding_text(
        analysis,
        "On the critical path %s pass while collectives are set up or wait for other ranks: no "
        "bytes move in that time. Of %zu collectives, the profile of one core does not say which "
        "rank came last.",
        format_ps((double)wait_ps, time), analysis->durations.count);
    finding->advice =
        "Profile all ranks: kymo view -d DIR names the one that comes last. Give ranks equal work, "
        "start collectives before their result is needed, and join small ones.";
    finding->sql = "SELECT start_ts, duration_ns, event_id, execution_index FROM CriticalPath "
                   "WHERE wait = 'collective set-up and ranks' ORDER BY duration_ns DESC";
    show(finding, &analysis->gathered.waits[WAIT_COLLECTIVE], "longest wait");
}

void findings_make(struct device_analysis *analysis)
{
    static void (*const functions[])(struct device_analysis *) = {
#define CORE_RULE(name, id, title, find) find,
#include "analyze/findings/rules.def"
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        functions[i](analysis);
    findings_sort(&analysis->findings, 0, finding_costs_more);
}

/* The rank for which others waited longest. */
static void find_slowest_rank(const struct device_cores *cores, struct findings *findings)
{
    struct device_ranks ranks = {0};
    device_ranks_of(&ranks, cores);
    if (ranks.slowest != NO_INDEX) {
        const struct device_rank *slowest = &ranks.ranks.items[ranks.slowest];
        int64_t each_ps = slowest->held_up_ps / (int64_t)(ranks.ranks.count - 1);
        char time[QUANTITY_SIZE], each[QUANTITY_SIZE];
        struct finding *finding =
            findings_add(findings, RULE_SLOWEST_RANK, each_ps,
                         slowest->total_ps > 0 ? (double)each_ps / (double)slowest->total_ps : 0,
                         "the total time");
        finding->text = findings_text(
            findings,
            "Rank %" PRIu32 " (ND%" PRIu32 " NC%" PRIu32 ") came last to %" PRIu64 " of %" PRIu64
            " collectives. The others waited %s for it, %s each on average.",
            slowest->rank, slowest->device, slowest->core, slowest->came_last, slowest->collectives,
            format_ps((double)slowest->held_up_ps, time), format_ps((double)each_ps, each));
        finding->advice = "Balance the work of the ranks, or look at what the slowest one does "
                          "before it comes to the collective.";
        finding->sql =
            "SELECT operation, start_ts, duration_ns FROM CcOp ORDER BY duration_ns DESC";
    }
    device_ranks_free(&ranks);
}

void device_cores_find(const struct device_cores *cores, struct findings *findings)
{
#define CORES_RULE(name, id, title, find) find(cores, findings);
#include "analyze/findings/rules.def"
}
