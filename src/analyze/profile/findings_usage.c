/*
 * Findings on when devices are used little. Where there are steps, those that take longer say when;
 * and where most of the time is like that, the causes of idle time say it all. It costs nothing of
 * its own: the gaps are counted under their causes.
 */
#include "analyze/profile/findings.h"

#include <stdio.h>

/* Neighboring parts of a device's time in which it is used little. */
struct low_span {
    int64_t from_ps, to_ps, idle_ps;
};

struct low_usage {
    int64_t length_ps, idle_ps; /* over all devices */
    struct low_span most;       /* of the first device, by idle time */
};

static int64_t part_start(const struct device_activity *device, unsigned part)
{
    double length = (double)device->to_ps - (double)device->from_ps;
    return add_saturated(device->from_ps, (int64_t)(length * part / USAGE_PARTS));
}

int64_t idle_in(const struct device_activity *device, size_t *gap, int64_t from, int64_t to)
{
    int64_t idle = 0;
    while (*gap < device->gaps.count && device->gaps.items[*gap].to_ps <= from)
        ++*gap;
    for (size_t i = *gap; i < device->gaps.count && device->gaps.items[i].from_ps < to; i++) {
        int64_t start = device->gaps.items[i].from_ps, end = device->gaps.items[i].to_ps;
        idle += (end < to ? end : to) - (start > from ? start : from);
    }
    return idle;
}

static void measure(const struct device_activity *device, bool is_first, struct low_usage *usage)
{
    struct low_span span = {0};
    size_t gap = 0;
    for (unsigned part = 0; part < USAGE_PARTS; part++) {
        int64_t from = part_start(device, part), to = part_start(device, part + 1);
        int64_t idle = idle_in(device, &gap, from, to);
        if ((double)idle <= (1 - LOW_USAGE_SHARE) * (double)(to - from)) {
            span = (struct low_span){0};
            continue;
        }
        usage->length_ps = add_saturated(usage->length_ps, to - from);
        usage->idle_ps = add_saturated(usage->idle_ps, idle);
        span.from_ps = span.idle_ps > 0 ? span.from_ps : from;
        span.to_ps = to;
        span.idle_ps += idle;
        if (is_first && span.idle_ps > usage->most.idle_ps)
            usage->most = span;
    }
}

static const char *usage_sql(struct rules *rules, const struct low_span *span)
{
    const struct device_activity *device = rules->devices.items[0];
    return finding_text(rules->analysis,
                        "SELECT id, name, start_ts, duration_ns FROM SystemProfileEvents WHERE "
                        "track_id IN (SELECT id FROM Track WHERE parent_id = %u AND role = '%s') "
                        "AND start_ts < %lld AND end_ts > %lld ORDER BY start_ts LIMIT 100",
                        device->device, work_role_name(device), (long long)(span->to_ps / 1000),
                        (long long)(span->from_ps / 1000));
}

/* Silent with steps, which tell more, and if usage is low most of the time: the causes of idle
 * time say that. */
void find_low_usage(struct rules *rules)
{
    struct analysis *analysis = rules->analysis;
    struct low_usage usage = {0};
    for (size_t i = 0; i < rules->devices.count; i++) {
        if (rules->devices.items[i]->has_steps)
            return;
        measure(rules->devices.items[i], i == 0, &usage);
    }
    if (usage.most.idle_ps == 0 || usage.length_ps > rules->window_ps / 2 ||
        share_of_window(rules, usage.idle_ps) < MIN_SHARE)
        return;
    char length[QUANTITY_SIZE], idle[QUANTITY_SIZE], from[QUANTITY_SIZE], to[QUANTITY_SIZE];
    struct finding *finding = finding_add(analysis, RULE_LOW_UTILIZATION, 0,
                                          share_of_window(rules, usage.length_ps), rules->share_of);
    finding->text = finding_text(
        analysis,
        "%s idles for %s of %s in which it works less than half of the time, most of it from %s to "
        "%s of the profile. The gaps are counted under their causes.",
        rules->devices.count == 1 ? "The device" : "On average, a device",
        format_ps((double)per_device(rules, usage.idle_ps), idle),
        format_ps((double)per_device(rules, usage.length_ps), length),
        format_ps((double)usage.most.from_ps, from), format_ps((double)usage.most.to_ps, to));
    finding->advice = "Look at what the program does then: start and end, evaluation, checkpoints, "
                      "loading. Annotate it, and overlap it with computation or do it less often.";
    finding->sql = usage_sql(rules, &usage.most);
    finding_span(analysis, finding, "the longest such time", usage.most.from_ps, usage.most.to_ps,
                 (struct event_ref){.track = TRACK_NONE});
}
