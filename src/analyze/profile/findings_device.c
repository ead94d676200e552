/*
 * Findings on the work of devices: communication and copies that nothing hides, ranks with more
 * work than others, and devices that are busy enough.
 */
#include "analyze/profile/findings.h"

/* The literals of all types of a class on devices, as a list of SQL; at most a few. */
static const char *names_of_class(struct rules *rules, enum device_class class)
{
    enum { MAX_NAMES = 20 };
    struct analysis *analysis = rules->analysis;
    const struct catalog *catalog = analysis->catalog;
    const char *names = "";
    size_t count = 0;
    const struct ranked *entry;
    const ranked_list *lists[] = {&analysis->summary.kernels, &analysis->summary.copies,
                                  &analysis->summary.operations};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        array_each (entry, lists[i]) {
            uint32_t string = intern_find(&catalog->strings, entry->name);
            if (entry->device_class != class || string == INTERN_NONE || count == MAX_NAMES)
                continue;
            names = finding_text(analysis, "%s%s%s", names, count++ ? ", " : "",
                                 finding_literal(analysis, string));
        }
    return names;
}

static const char *class_sql(struct rules *rules, enum device_class class)
{
    const char *names = names_of_class(rules, class);
    if (!names[0])
        return "";
    return finding_text(rules->analysis,
                        "SELECT e.id, e.name, e.start_ts, e.duration_ns, e.track_id FROM "
                        "SystemProfileEvents e JOIN EventType t ON t.id = e.event_type_id WHERE "
                        "coalesce(t.display_name, e.name) IN (%s) ORDER BY e.duration_ns DESC "
                        "LIMIT 100",
                        names);
}

/* By type: is of a class and of a name, where there is any of that name. The name of an operation
 * that was derived from kernels is none of theirs. */
static bool *types_of(const struct analysis *analysis, enum device_class class, struct text name)
{
    size_t types = analysis->catalog->types.count;
    bool *is_wanted = mem_zeroed(types, sizeof *is_wanted);
    bool is_named = false;
    for (uint32_t i = 0; i < types; i++) {
        is_wanted[i] = analysis->device_class[i] == class;
        is_named |= is_wanted[i] && name.size > 0 &&
                    text_equal(catalog_type_label(analysis->catalog, i), name);
    }
    for (uint32_t i = 0; is_named && i < types; i++)
        is_wanted[i] &= text_equal(catalog_type_label(analysis->catalog, i), name);
    return is_wanted;
}

/* Lengths are not kept by type, so all work is looked at. */
void put_longest_work(struct rules *rules, struct finding *finding, enum device_class class,
                      uint32_t device, struct text name)
{
    struct analysis *analysis = rules->analysis;
    struct event_ref longest = {.track = TRACK_NONE};
    int64_t most = 0;
    bool *is_wanted = types_of(analysis, class, name);
    for (uint32_t lane = 0; lane < analysis->catalog->tracks.count; lane++) {
        const struct track *track = &analysis->catalog->tracks.items[lane];
        const struct lane_events *events = &analysis->trace.lanes[lane];
        if (track->source != SOURCE_DEVICE || track->level != TRACK_LANE ||
            (track->lane != LANE_STREAM && track->lane != LANE_OPS) ||
            (device != TRACK_NONE && track->parent != device))
            continue;
        for (uint64_t i = 0; i < events->count; i++) {
            touch_event(i);
            if (is_wanted[events->type[i]] && events->duration_ps[i] > most) {
                most = events->duration_ps[i];
                longest = (struct event_ref){lane, i};
            }
        }
    }
    mem_free(is_wanted);
    char time[QUANTITY_SIZE];
    if (longest.track != TRACK_NONE)
        finding_event(analysis, finding,
                      finding_text(analysis, "longest, %s", format_ps((double)most, time)),
                      longest);
}

/* The cost is the time in which the device does nothing else: what overlaps computation would
 * not be saved. */
static void find_alone(struct rules *rules, enum device_class class, enum finding_rule rule,
                       const char *what, const char *advice)
{
    struct analysis *analysis = rules->analysis;
    int64_t alone = 0;
    for (size_t i = 0; i < rules->devices.count; i++)
        alone = add_saturated(alone, rules->devices.items[i]->alone_ps[class]);
    if (share_of_window(rules, alone) < MIN_SHARE)
        return;
    char time[QUANTITY_SIZE], sum[QUANTITY_SIZE];
    int64_t all = 0;
    const struct ranked *entry;
    const ranked_list *lists[] = {&analysis->summary.kernels, &analysis->summary.copies,
                                  &analysis->summary.operations};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        array_each (entry, lists[i])
            all = entry->device_class == class ? add_saturated(all, entry->totals.self_ps) : all;
    all = all > alone ? all : alone; /* the two may be of different clocks */
    struct finding *finding = finding_add(analysis, rule, per_device(rules, alone),
                                          share_of_window(rules, alone), rules->share_of);
    finding->text =
        finding_text(analysis, "%s take %s on %s; for %s of these it does nothing else.", what,
                     format_ps((double)per_device(rules, all), sum),
                     rules->devices.count == 1 ? "the device" : "each device",
                     format_ps((double)per_device(rules, alone), time));
    finding->advice = finding_advice(rules, advice);
    finding->sql = class_sql(rules, class);
    put_longest_work(rules, finding, class, TRACK_NONE, TEXT(""));
}

static int64_t family_ps(const struct analysis *analysis, enum kernel_family family)
{
    const struct family_summary *sum;
    array_each (sum, &analysis->summary.families)
        if (sum->family == family)
            return sum->total_ps;
    return 0;
}

/* Attention without kernels of its own has those of a softmax. */
static bool lacks_flash_attention(const struct analysis *analysis)
{
    return family_ps(analysis, FAMILY_SOFTMAX) > 0 && family_ps(analysis, FAMILY_ATTENTION) == 0;
}

/* Busy devices: what is left to gain is in the kernels. */
void find_busy(struct rules *rules)
{
    struct analysis *analysis = rules->analysis;
    const ranked_list *kernels = analysis->summary.operations.count > 0
                                     ? &analysis->summary.operations
                                     : &analysis->summary.kernels;
    int64_t compute = rules->work_ps;
    for (size_t i = 0; i < rules->devices.count; i++)
        compute -= rules->devices.items[i]->alone_ps[DEVICE_COMMUNICATION] +
                   rules->devices.items[i]->alone_ps[DEVICE_COPY];
    double share = share_of_window(rules, compute);
    if (share < BUSY_SHARE || kernels->count == 0)
        return;
    char time[QUANTITY_SIZE], most[QUANTITY_SIZE];
    const struct ranked *first = kernels->items, *end = kernels->items + kernels->count;
    while (first + 1 < end && first->device_class != DEVICE_COMPUTE)
        first++;
    struct finding *finding = finding_add(analysis, RULE_DEVICE_BOUND, per_device(rules, compute),
                                          share, rules->share_of);
    finding->text =
        finding_text(analysis, "%s computes for %s; of %zu %s, %s takes most: %s.",
                     rules->devices.count == 1 ? "The device" : "On average, a device",
                     format_ps((double)per_device(rules, compute), time), kernels->count,
                     analysis->summary.operations.count > 0 ? "operations" : "kernels",
                     finding_name(analysis, first->name),
                     format_ps((double)per_device(rules, first->totals.self_ps), most));
    finding->advice = finding_text(
        analysis,
        "The host keeps up: time is gained in the kernels, the largest first. Lower precision, "
        "better shapes for the matrix units, fused variants%s, less recomputation.",
        lacks_flash_attention(analysis) ? " such as flash attention" : "");
    finding->sql =
        "SELECT e.name, count(*) AS count, sum(duration_ns) / 1e6 AS ms, avg(duration_ns) / 1e3 AS "
        "mean_us FROM SystemProfileEvents e JOIN Track t ON t.id = e.track_id WHERE t.role "
        "IN ('stream', 'ops') GROUP BY e.name ORDER BY ms DESC LIMIT 100";
    put_longest_work(rules, finding, DEVICE_COMPUTE, TRACK_NONE, first->name);
}

void find_communication(struct rules *rules)
{
    find_alone(
        rules, DEVICE_COMMUNICATION, RULE_COMMUNICATION, "Collective operations",
        "Overlap it with computation[jax: (XLA's latency hiding scheduler)][torch: (gradient "
        "buckets during the backward pass: DDP bucket_cap_mb, FSDP prefetching)], or communicate "
        "less: lower precision, larger batches, gradient accumulation. A wait for a slower rank "
        "counts here, too.");
}

void find_copies(struct rules *rules)
{
    find_alone(rules, DEVICE_COPY, RULE_COPIES, "Copies from and to the host",
               "Copy ahead on a stream of its own from pinned memory[jax: (device_put of the next "
               "batch)][torch: (pin_memory=True, non_blocking=True)][tf: (tf.data "
               "prefetch_to_device)], keep data on the device (offload less), or copy less.");
}

/* Work without what waits for other ranks. */
static int64_t own_work(const struct device_activity *device)
{
    return device->work_ps - device->alone_ps[DEVICE_COMMUNICATION];
}

static bool by_own_work(const void *a, const void *b, const void *context)
{
    (void)context;
    return own_work(*(const struct device_activity *const *)a) <
           own_work(*(const struct device_activity *const *)b);
}

/* Without time spent in communication alone nobody waits, and uneven work costs nothing. Sorts a
 * copy of the devices: other rules show the first of them. */
void find_stragglers(struct rules *rules)
{
    struct analysis *analysis = rules->analysis;
    size_t count = rules->devices.count;
    if (count < 2)
        return;
    const struct device_activity **sorted = mem_alloc(count * sizeof *sorted);
    memcpy(sorted, rules->devices.items, count * sizeof *sorted);
    sort_items(sorted, count, sizeof *sorted, by_own_work, NULL);
    const struct device_activity *slowest = sorted[count - 1], *median = sorted[(count - 1) / 2];
    mem_free(sorted);
    int64_t waits = 0;
    for (size_t i = 0; i < count; i++)
        waits = add_saturated(waits, rules->devices.items[i]->alone_ps[DEVICE_COMMUNICATION]);
    int64_t more = own_work(slowest) - own_work(median);
    double share = (double)more / ((double)slowest->to_ps - (double)slowest->from_ps);
    if (waits == 0 || share < MIN_SHARE ||
        (double)own_work(slowest) < STRAGGLER_FACTOR * (double)own_work(median))
        return;
    char own[QUANTITY_SIZE], other[QUANTITY_SIZE];
    const struct catalog *catalog = analysis->catalog;
    struct text host =
        catalog_track_label(catalog, catalog_ancestor(catalog, slowest->device, TRACK_INSTANCE));
    struct text device = catalog_track_label(catalog, slowest->device);
    struct finding *finding = finding_add(analysis, RULE_STRAGGLER, more, share, rules->share_of);
    finding->text = finding_text(analysis,
                                 "%.*s of %.*s works %s besides communication, the median device "
                                 "%s: the others wait for it.",
                                 (int)(device.size < 100 ? device.size : 100), device.data,
                                 (int)(host.size < 100 ? host.size : 100), host.data,
                                 format_ps((double)own_work(slowest), own),
                                 format_ps((double)own_work(median), other));
    finding->advice =
        "Balance what ranks get: batches by length, tables and experts by load, pipeline "
        "stages by cost. If the work is equal, look for a slower or throttled device.";
    const char *waiting = names_of_class(rules, DEVICE_COMMUNICATION);
    finding->sql = finding_text(
        analysis,
        "SELECT t.instance_id, p.name AS device, sum(e.duration_ns) / 1e6 AS ms FROM "
        "SystemProfileEvents e JOIN EventType y ON y.id = e.event_type_id JOIN Track t ON t.id = "
        "e.track_id JOIN Track p ON p.id = t.parent_id WHERE t.role IN ('stream', 'ops') AND "
        "coalesce(y.display_name, e.name) NOT IN (%s) GROUP BY ALL ORDER BY ms DESC",
        waiting[0] ? waiting : "''");
    put_longest_work(rules, finding, DEVICE_COMPUTE, slowest->device, TEXT(""));
}
