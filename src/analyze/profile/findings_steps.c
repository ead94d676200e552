/*
 * Findings on steps: those that take much longer than the others, and what they did more of.
 */
#include "analyze/profile/findings.h"
#include "base/percentile.h"

/* A step as one process sees it: from the end of the one before, so that what happens between steps
 * counts; on the devices where it has work there. */
struct timed_step {
    const struct step *step;
    int64_t from_ps, to_ps;
    bool is_outlier;
};
typedef ARRAY(struct timed_step) timed_steps;

static int64_t duration_of(const struct timed_step *step)
{
    return sub_saturated(step->to_ps, step->from_ps);
}

static void list_steps(const struct analysis *analysis, uint32_t process, timed_steps *steps)
{
    const struct step *step;
    if (!has_certain_steps(analysis))
        return;
    array_each (step, &analysis->steps) {
        if (catalog_ancestor(analysis->catalog, step->root.track, TRACK_PROCESS) != process)
            continue;
        int64_t from = steps->count ? steps->items[steps->count - 1].to_ps : step->start_ps;
        int64_t to = step->device_events > 0 ? step->device_end_ps
                                             : add_saturated(step->start_ps, step->host_ps);
        if (to > from)
            *array_push(steps) = (struct timed_step){step, from, to, false};
    }
}

static int64_t median_of(const timed_steps *steps)
{
    double *durations = mem_alloc(steps->count * sizeof *durations);
    for (size_t i = 0; i < steps->count; i++)
        durations[i] = (double)duration_of(&steps->items[i]);
    int64_t median = (int64_t)percentile_median(durations, steps->count);
    mem_free(durations);
    return median;
}

/* Self time by type on the lane of the steps: in the longest, and in those that are not outliers.
 */
struct comparison {
    const timed_steps *steps;
    size_t longest;
    int64_t *in_longest, *in_others;
};

static void compare(void *context, const struct host_range *range, const struct host_part *part)
{
    struct comparison *comparison = context;
    int64_t *sums = range->owner == comparison->longest                 ? comparison->in_longest
                    : comparison->steps->items[range->owner].is_outlier ? NULL
                                                                        : comparison->in_others;
    if (sums)
        sums[part->type] =
            add_saturated(sums[part->type], sub_saturated(part->to_ps, part->from_ps));
}

/* "; the host spent 2 ms more in a and 1 ms more in b", compared with steps around it. */
static const char *what_differs(struct analysis *analysis, const timed_steps *steps, size_t longest)
{
    size_t types = analysis->catalog->types.count, others = 0;
    uint32_t lane_of_steps = steps->items[longest].step->root.track;
    if (analysis->catalog->tracks.items[lane_of_steps].source != SOURCE_HOST)
        return ""; /* recorded by a device, or guessed from its programs */
    struct comparison comparison = {.steps = steps, .longest = longest};
    comparison.in_longest = mem_zeroed(types, sizeof(int64_t));
    comparison.in_others = mem_zeroed(types, sizeof(int64_t));
    range_list ranges = {0};
    size_t first = longest > NEIGHBOR_STEPS ? longest - NEIGHBOR_STEPS : 0;
    for (size_t i = first; i < steps->count && i <= longest + NEIGHBOR_STEPS; i++) {
        *array_push(&ranges) =
            (struct host_range){steps->items[i].from_ps, steps->items[i].to_ps, i};
        others += !steps->items[i].is_outlier;
    }
    const struct event_ref *root = &steps->items[first].step->root;
    const struct lane_analysis *lane = &analysis->lanes[root->track];
    visit_host(analysis, root->track, lane->rank ? lane->rank[root->event] : root->event, &ranges,
               compare, &comparison);
    array_free(&ranges);
    uint32_t most = 0, second = 0;
    double more = 0, second_more = 0;
    for (uint32_t i = 0; i < types; i++) {
        double difference = (double)comparison.in_longest[i] -
                            (double)comparison.in_others[i] / (double)(others ? others : 1);
        if (difference > more) {
            second = most;
            second_more = more;
            most = i;
            more = difference;
        } else if (difference > second_more) {
            second = i;
            second_more = difference;
        }
    }
    mem_free(comparison.in_longest);
    mem_free(comparison.in_others);
    char time[QUANTITY_SIZE], second_time[QUANTITY_SIZE];
    double extra = (double)duration_of(&steps->items[longest]);
    if (more < extra / 20)
        return "";
    const char *text = finding_text(analysis, "; the host spent %s more in %s",
                                    format_ps(more, time), finding_type(analysis, most));
    if (second_more >= extra / 20)
        text = finding_text(analysis, "%s and %s more in %s", text,
                            format_ps(second_more, second_time), finding_type(analysis, second));
    return text;
}

/* How much longer than in the median step a device idles in the outliers: findings on idle time
 * have that as their cost. The mean over devices. */
static int64_t idle_excess(const struct rules *rules, const timed_steps *steps, int64_t median)
{
    double *idle = mem_zeroed(2 * steps->count, sizeof *idle), *sorted = idle + steps->count;
    for (size_t k = 0; k < rules->devices.count; k++)
        for (size_t i = 0, gap = 0; i < steps->count; i++)
            idle[i] += (double)idle_in(rules->devices.items[k], &gap, steps->items[i].from_ps,
                                       steps->items[i].to_ps) /
                       (double)rules->devices.count;
    memcpy(sorted, idle, steps->count * sizeof *sorted);
    double usual = percentile_median(sorted, steps->count), sum = 0;
    for (size_t i = 0; i < steps->count; i++) {
        double longer = (double)(duration_of(&steps->items[i]) - median), more = idle[i] - usual;
        if (steps->items[i].is_outlier && more > 0)
            sum += more < longer ? more : longer;
    }
    mem_free(idle);
    return (int64_t)sum;
}

/* Outliers are relative to the process's own median, as ranks may do different work. Marks them
 * in `steps` for what_differs. The cost is what the devices do not idle of it: gaps have causes,
 * whose findings have them as their cost. */
static void find_in_process(struct rules *rules, const timed_steps *steps)
{
    struct analysis *analysis = rules->analysis;
    int64_t median = median_of(steps), all = 0, cost = 0;
    size_t outliers = 0, longest = 0;
    for (size_t i = 0; i < steps->count; i++) {
        struct timed_step *step = &steps->items[i];
        all = add_saturated(all, duration_of(step));
        step->is_outlier = (double)duration_of(step) >= STEP_OUTLIER_FACTOR * (double)median;
        outliers += step->is_outlier;
        if (step->is_outlier)
            cost = add_saturated(cost, duration_of(step) - median);
        longest = duration_of(step) > duration_of(&steps->items[longest]) ? i : longest;
    }
    if (outliers == 0 || (double)cost < MIN_SHARE * (double)all)
        return;
    char time[QUANTITY_SIZE], usual[QUANTITY_SIZE], number[QUANTITY_SIZE], more[QUANTITY_SIZE];
    const struct timed_step *worst = &steps->items[longest];
    int64_t idle = idle_excess(rules, steps, median);
    struct finding *finding =
        finding_add(analysis, RULE_OUTLIER_STEPS, cost - idle, (double)(cost - idle) / (double)all,
                    name_of_steps(analysis));
    const char *guessed = analysis->step_origin == STEPS_GUESSED ? "guessed " : "";
    if (outliers == 1)
        finding->text = finding_text(analysis, "One %sstep takes", guessed);
    else
        finding->text = finding_text(analysis, "%s of %zu %ssteps take",
                                     format_count(outliers, number), steps->count, guessed);
    finding->text =
        finding_text(analysis,
                     "%s more than %.1f times the median of %s, counted from the end of the step "
                     "before; step %lld, the longest, takes %s%s.",
                     finding->text, STEP_OUTLIER_FACTOR, format_ps((double)median, usual),
                     (long long)worst->step->number, format_ps((double)duration_of(worst), time),
                     what_differs(analysis, steps, longest));
    if (idle > 0)
        finding->text = finding_text(
            analysis, "%s Of the extra %s, devices idle %s, which is counted under its causes.",
            finding->text, format_ps((double)cost, time), format_ps((double)idle, more));
    finding->advice =
        longest == 0
            ? "The first step warms up: compilation, autotuning, allocation. Leave it out of the "
              "capture, or out of what is compared."
            : "Compare it with its neighbors: garbage collection, checkpoints, logging, "
              "evaluation, "
              "recompilation and other processes on the machine come in some steps only.";
    finding->sql = "SELECT id, number, event_id, start_ts, duration_ns, device_ns, start_ts - "
                   "lag(end_ts) OVER (ORDER BY start_ts) AS "
                   "pause_ns FROM Step ORDER BY duration_ns DESC LIMIT 100";
    finding_event(analysis, finding,
                  finding_text(analysis, "step %lld", (long long)worst->step->number),
                  worst->step->root);
}

struct class_sums {
    int64_t ps[HOST_CLASSES];
    int64_t longest_ps[HOST_CLASSES];
    int64_t from_ps[HOST_CLASSES], to_ps[HOST_CLASSES]; /* the range with that */
    int64_t part_from_ps[HOST_CLASSES], part_to_ps[HOST_CLASSES];
};

static void add_class(void *context, const struct host_range *range, const struct host_part *part)
{
    struct class_sums *sums = context;
    int64_t ps = sub_saturated(part->to_ps, part->from_ps);
    sums->ps[part->class] = add_saturated(sums->ps[part->class], ps);
    if (ps > sums->longest_ps[part->class]) {
        sums->longest_ps[part->class] = ps;
        sums->from_ps[part->class] = range->from_ps;
        sums->to_ps[part->class] = range->to_ps;
        sums->part_from_ps[part->class] = part->from_ps;
        sums->part_to_ps[part->class] = part->to_ps;
    }
}

/* What is before, between and behind the steps, in order; all of the capture if it has none. */
static void list_outside(const struct analysis *analysis, range_list *ranges)
{
    int64_t from = analysis->summary.first_ps, last = analysis->summary.last_ps;
    const struct step *step;
    array_each (step, &analysis->steps) {
        int64_t end = add_saturated(step->start_ps, step->host_ps);
        if (step->start_ps > from)
            *array_push(ranges) = (struct host_range){from, step->start_ps, ranges->count};
        from = end > from ? end : from;
    }
    if (last > from)
        *array_push(ranges) = (struct host_range){from, last, ranges->count};
}

/* Compilation outside the steps, which hides how long the rest takes. */
void find_compilation(struct rules *rules)
{
    struct analysis *analysis = rules->analysis;
    const struct summary *summary = &analysis->summary;
    bool has_types = false;
    for (size_t i = 0; i < analysis->catalog->types.count; i++)
        has_types |= analysis->host_class[i] == HOST_COMPILE;
    if (findings_have(&analysis->findings, RULE_RECOMPILATION) || !has_types ||
        summary->threads.count == 0)
        return;
    struct class_sums sums = {0};
    range_list ranges = {0};
    list_outside(analysis, &ranges);
    visit_host(analysis, summary->threads.items[0].track, 0, &ranges, add_class, &sums);
    array_free(&ranges);
    double share = summary->span_ps > 0 ? (double)sums.ps[HOST_COMPILE] / summary->span_ps : 0;
    if (share < MIN_SHARE)
        return;
    char time[QUANTITY_SIZE];
    struct finding *finding =
        finding_add(analysis, RULE_COMPILATION, sums.ps[HOST_COMPILE], share, "the capture");
    finding->text =
        finding_text(analysis, "The busiest thread compiles or loads programs for %s%s.",
                     format_ps((double)sums.ps[HOST_COMPILE], time),
                     analysis->steps.count > 0 ? ", outside the steps" : "");
    finding->advice = finding_advice(
        rules, "Call each program once before the profiler starts. A compilation cache[jax: "
               "(jax_compilation_cache_dir)] shortens the start of every run.");
    finding->sql =
        "SELECT e.id, e.name, e.start_ts, e.duration_ns FROM SystemProfileEvents e WHERE "
        "regexp_matches(e.name, 'compil', 'i') ORDER BY e.duration_ns DESC LIMIT 100";
    finding_span(analysis, finding, "the longest part", sums.part_from_ps[HOST_COMPILE],
                 sums.part_to_ps[HOST_COMPILE], (struct event_ref){.track = TRACK_NONE});
}

/* Without devices: what keeps the thread of the steps from its work. */
void find_host_steps(struct rules *rules)
{
    static const struct {
        enum host_class class;
        enum finding_rule rule;
        const char *what, *advice;
    } host_rules[] = {
        {HOST_INPUT, RULE_STEPS_INPUT_BOUND, "waits for data",
         "Load ahead: more workers and prefetching, a cheaper or precomputed input pipeline."},
        {HOST_COMPILE, RULE_STEPS_RECOMPILATION, "compiles",
         "Warm up before measuring; keep shapes and static arguments constant."},
        {HOST_PROFILER, RULE_STEPS_PROFILER_OVERHEAD, "does the profiler's work",
         "Record fewer steps and less per event: no stacks, no shapes."},
    };
    struct analysis *analysis = rules->analysis;
    if (rules->devices.count > 0 || analysis->steps.count == 0)
        return;
    uint32_t lane = analysis->steps.items[0].root.track;
    range_list ranges = {0};
    int64_t all = 0;
    const struct step *step;
    array_each (step, &analysis->steps) {
        int64_t from = ranges.count ? ranges.items[ranges.count - 1].to_ps : INT64_MIN;
        if (step->root.track != lane || step->start_ps < from || step->host_ps <= 0)
            continue;
        *array_push(&ranges) =
            (struct host_range){step->start_ps, step->start_ps + step->host_ps, ranges.count};
        all = add_saturated(all, step->host_ps);
    }
    struct class_sums sums = {0};
    visit_host(analysis, lane, 0, &ranges, add_class, &sums);
    array_free(&ranges);
    for (size_t i = 0; i < sizeof host_rules / sizeof *host_rules; i++) {
        enum host_class class = host_rules[i].class;
        double share = all > 0 ? (double)sums.ps[class] / (double)all : 0;
        if (share < MIN_SHARE)
            continue;
        char time[QUANTITY_SIZE];
        struct finding *finding = finding_add(analysis, host_rules[i].rule, sums.ps[class], share,
                                              name_of_steps(analysis));
        finding->text = finding_text(analysis, "For %s the thread of the steps %s.",
                                     format_ps((double)sums.ps[class], time), host_rules[i].what);
        finding->advice = host_rules[i].advice;
        finding_span(analysis, finding, "the step with most of it", sums.from_ps[class],
                     sums.to_ps[class], (struct event_ref){.track = TRACK_NONE});
        finding->sql = "SELECT id, number, event_id, start_ts, duration_ns FROM Step ORDER BY "
                       "duration_ns DESC LIMIT 100";
    }
}

/* Ranks that work together wait for each other: one process stands for all. */
void find_step_outliers(struct rules *rules)
{
    const struct analysis *analysis = rules->analysis;
    if (analysis->steps.count < MIN_STEPS)
        return;
    timed_steps steps = {0};
    list_steps(
        analysis,
        catalog_ancestor(analysis->catalog, analysis->steps.items[0].root.track, TRACK_PROCESS),
        &steps);
    if (steps.count >= MIN_STEPS)
        find_in_process(rules, &steps);
    array_free(&steps);
}
