/*
 * The summary of a profile as text.
 */
#include "export/describe.h"
#include "export/lines.h"

#include <stdio.h>

enum { MAX_HOSTS_SHOWN = 8 };

/* Distinct host names: a host may have written several files. */
static void put_host_names(const struct catalog *catalog, struct output *out)
{
    struct idmap seen = {0};
    ARRAY(uint32_t) names = {0};
    const struct host *host;
    array_each (host, &catalog->hosts) {
        if (idmap_get(&seen, host->name) == IDMAP_NONE)
            *array_push(&names) = host->name;
        idmap_put(&seen, host->name, 1);
    }
    output_format(out, ", %zu host%s", names.count, names.count == 1 ? "" : "s");
    for (size_t i = 0; i < names.count && i < MAX_HOSTS_SHOWN; i++) {
        output_text(out, i ? ", " : " (");
        put_printable(out, catalog_text(catalog, names.items[i]));
    }
    output_text(out, names.count > MAX_HOSTS_SHOWN ? ", ...)" : ")");
    idmap_free(&seen);
    array_free(&names);
}

static void put_overview(const struct analysis *analysis, const struct text_style *style,
                         struct output *out)
{
    const struct catalog *catalog = analysis->catalog;
    const struct summary *summary = &analysis->summary;
    char events[QUANTITY_SIZE], span[QUANTITY_SIZE], when[QUANTITY_SIZE];
    output_format(out, "%s%s events over %s%s", style->colored ? "\033[1m" : "",
                  format_count(summary->events, events), format_ps(summary->span_ps, span),
                  style->colored ? "\033[0m" : "");
    uint64_t dropped = catalog_drops(catalog).dropped;
    if (dropped > 0)
        output_format(out, ", %s more dropped", format_count(dropped, events));
    put_host_names(catalog, out);
    if (catalog->start_epoch_ns != TIME_UNSET)
        output_format(out, ", from %s", format_epoch(catalog->start_epoch_ns, when));
    output_char(out, '\n');
    if (summary->profiler_ps > 0)
        output_format(out, "Without the profiler's own %s.\n",
                      format_ps((double)summary->profiler_ps, events));
}

static void add_step_row(struct table *table, const char *name, const struct distribution *d)
{
    if (d->count == 0)
        return;
    table_text(table, text_of(name));
    table_count(table, d->count);
    table_ps(table, d->mean * 1e3);
    table_ps(table, d->p50 * 1e3);
    table_ps(table, d->p99 * 1e3);
    table_ps(table, d->min * 1e3);
    table_ps(table, d->max * 1e3);
}

/* Says where steps come from, since figures of guessed ones are worth less. Without steps it says
 * how to get them. */
static void put_steps(const struct analysis *analysis, const struct text_style *style,
                      struct output *out)
{
    const struct summary *summary = &analysis->summary;
    static const struct column columns[] = {{"time", true, false},  {"steps", false, false},
                                            {"mean", false, false}, {"p50", false, false},
                                            {"p99", false, false},  {"min", false, false},
                                            {"max", false, false}};
    char guessed[128];
    snprintf(guessed, sizeof guessed, "Steps, guessed from %s: nothing marks them",
             analysis->step_marks ? analysis->step_marks : "");
    put_heading(out, style,
                analysis->step_origin == STEPS_ANNOTATED  ? "Steps"
                : analysis->step_origin == STEPS_RECORDED ? "Steps, as the devices recorded them"
                                                          : guessed);
    if (analysis->steps.count == 0) {
        output_text(out, "  none; annotate them with jax.profiler.StepTraceAnnotation or step() of "
                         "torch.profiler\n");
        return;
    }
    struct table table = table_begin(columns, 7);
    add_step_row(&table, "step time", &summary->step_ns);
    add_step_row(&table, "host time", &summary->step_host_ns);
    add_step_row(&table, "device time", &summary->step_device_ns);
    add_step_row(&table, "period", &summary->step_period_ns);
    table_end(&table, style, out);
}

/* Busy time and the sum over streams differ where streams run at the same time. Delays are from
 * launch to start, if launches are linked. */
static void put_devices(const struct analysis *analysis, const struct text_style *style,
                        struct output *out)
{
    static const struct column columns[] = {
        {"device", true, true},    {"model", true, true},       {"host", true, true},
        {"events", false, false},  {"busy", false, false},      {"share", false, false},
        {"streams", false, false}, {"delay p50", false, false}, {"p99", false, false}};
    const struct summary *summary = &analysis->summary;
    put_heading(out, style,
                "Devices: busy time, its share of the capture, and the sum over streams");
    if (summary->devices.count == 0) {
        output_text(out, "  none\n");
        return;
    }
    struct table table = table_begin(columns, 9);
    const struct device_summary *device;
    array_each (device, &summary->devices) {
        char model[MAX_MODEL_NAME];
        table_text(&table, catalog_track_label(analysis->catalog, device->track));
        table_text(&table, device_model(analysis->catalog, device->track, model));
        table_text(&table, host_of(analysis->catalog, device->track));
        table_count(&table, device->events);
        table_ps(&table, (double)device->busy_ps);
        table_share(&table, device->busy_share);
        table_ps(&table, (double)device->sum_ps);
        if (device->launch_delay_ns.count > 0) {
            table_ps(&table, device->launch_delay_ns.p50 * 1e3);
            table_ps(&table, device->launch_delay_ns.p99 * 1e3);
        } else {
            table_text(&table, TEXT("")); /* not recorded */
            table_text(&table, TEXT(""));
        }
    }
    table_end(&table, style, out);
}

/* "layers.py:33"; without a file, the framework's op name. */
static void put_source(struct table *table, const struct ranked *entry)
{
    struct text file = entry->file;
    for (size_t i = file.size; i > 0; i--)
        if (file.data[i - 1] == '/') {
            file = (struct text){file.data + i, file.size - i};
            break;
        }
    if (file.size > 0)
        table_format(table, "%.*s:%u", (int)(file.size < 200 ? file.size : 200), file.data,
                     entry->line);
    else
        table_text(table, entry->op_name);
}

/* Profiles without operations, such as PyTorch's, get no table instead of an empty one. */
static void put_operations(const struct analysis *analysis, const struct text_style *style,
                           struct output *out)
{
    static const struct column columns[] = {{"operation", true, true}, {"kind", true, true},
                                            {"self", false, false},    {"share", false, false},
                                            {"count", false, false},   {"mean", false, false},
                                            {"program", true, true},   {"source", true, true}};
    const ranked_list *list = &analysis->summary.operations;
    size_t shown = rows_shown(list->count, style);
    if (shown == 0)
        return;
    put_heading(out, style, "Operations, by self time on the device");
    struct table table = table_begin(columns, 8);
    for (size_t i = 0; i < shown; i++) {
        const struct ranked *entry = &list->items[i];
        table_text(&table, entry->name);
        table_text(&table, entry->category.size ? entry->category : TEXT("unresolved"));
        table_ps(&table, (double)entry->totals.self_ps);
        table_share(&table, entry->share);
        table_count(&table, entry->totals.count);
        table_ps(&table, entry->mean_ps);
        table_text(&table, entry->module);
        put_source(&table, entry);
    }
    table_end(&table, style, out);
    put_omitted(shown, list->count, out);
}

/* Only operators with device work, which includes the backward pass of what they called. */
static void put_operators(const char *heading, const char *kind, const operator_list *list,
                          const struct text_style *style, struct output *out)
{
    const struct column columns[] = {{kind, true, true},           {"self", false, false},
                                     {"share", false, false},      {"with calls", false, false},
                                     {"+ backward", false, false}, {"count", false, false},
                                     {"device work", false, false}};
    size_t count = 0;
    while (count < list->count && list->items[count].with_backward_ps > 0)
        count++;
    size_t shown = rows_shown(count, style);
    if (shown == 0)
        return;
    put_heading(out, style, heading);
    struct table table = table_begin(columns, 7);
    for (size_t i = 0; i < shown; i++) {
        const struct operator_summary *entry = &list->items[i];
        table_text(&table, entry->name);
        table_ps(&table, (double)entry->self_ps);
        table_share(&table, entry->share);
        table_ps(&table, (double)entry->device_ps);
        table_ps(&table, (double)entry->with_backward_ps);
        table_count(&table, entry->host.count);
        table_count(&table, entry->device_events);
    }
    table_end(&table, style, out);
    put_omitted(shown, count, out);
}

static void put_families(const struct summary *summary, const struct text_style *style,
                         struct output *out)
{
    static const struct column columns[] = {{"family", true, true},
                                            {"total", false, false},
                                            {"share", false, false},
                                            {"kernels", false, false}};
    if (summary->families.count == 0 || rows_shown(summary->families.count, style) == 0)
        return;
    put_heading(out, style, "Kernel families, by time on the device");
    struct table table = table_begin(columns, 4);
    const struct family_summary *entry;
    array_each (entry, &summary->families) {
        table_text(&table, kernel_family_name(entry->family));
        table_ps(&table, (double)entry->total_ps);
        table_share(&table, entry->share);
        table_count(&table, entry->count);
    }
    table_end(&table, style, out);
}

/* Kernels, or copies: shares are of what the heading names. */
static void put_work(const char *heading, const char *kind, const ranked_list *list,
                     const struct text_style *style, struct output *out)
{
    const struct column columns[] = {{kind, true, true},      {"total", false, false},
                                     {"share", false, false}, {"count", false, false},
                                     {"mean", false, false},  {"max", false, false}};
    size_t shown = rows_shown(list->count, style);
    if (shown == 0)
        return;
    put_heading(out, style, heading);
    struct table table = table_begin(columns, 6);
    for (size_t i = 0; i < shown; i++) {
        const struct ranked *entry = &list->items[i];
        table_text(&table, entry->name);
        table_ps(&table, (double)entry->totals.total_ps);
        table_share(&table, entry->share);
        table_count(&table, entry->totals.count);
        table_ps(&table, entry->mean_ps);
        table_ps(&table, (double)entry->totals.max_ps);
    }
    table_end(&table, style, out);
    put_omitted(shown, list->count, out);
}

/* Self time excludes nested events; total, mean and max include them. */
static void put_host_events(const struct summary *summary, const struct text_style *style,
                            struct output *out)
{
    static const struct column columns[] = {{"event", true, true},   {"self", false, false},
                                            {"share", false, false}, {"total", false, false},
                                            {"count", false, false}, {"mean", false, false},
                                            {"max", false, false}};
    size_t shown = rows_shown(summary->host_events.count, style);
    if (shown == 0)
        return;
    put_heading(out, style, "Host events, by self time");
    struct table table = table_begin(columns, 7);
    for (size_t i = 0; i < shown; i++) {
        const struct ranked *entry = &summary->host_events.items[i];
        table_text(&table, entry->name);
        table_ps(&table, (double)entry->totals.self_ps);
        table_share(&table, entry->share);
        table_ps(&table, (double)entry->totals.total_ps);
        table_count(&table, entry->totals.count);
        table_ps(&table, entry->mean_ps);
        table_ps(&table, (double)entry->totals.max_ps);
    }
    table_end(&table, style, out);
    put_omitted(shown, summary->host_events.count, out);
}

/* By busy time, since hundreds of idle threads are usual in frameworks. */
static void put_threads(const struct analysis *analysis, const struct text_style *style,
                        struct output *out)
{
    static const struct column columns[] = {{"thread", true, true},
                                            {"host", true, true},
                                            {"events", false, false},
                                            {"busy", false, false},
                                            {"share", false, false}};
    const struct summary *summary = &analysis->summary;
    size_t shown = rows_shown(summary->threads.count, style);
    if (shown == 0)
        return;
    put_heading(out, style, "Host threads, busiest first: time with events");
    struct table table = table_begin(columns, 5);
    for (size_t i = 0; i < shown; i++) {
        const struct thread_summary *thread = &summary->threads.items[i];
        table_text(&table, catalog_track_label(analysis->catalog, thread->track));
        table_text(&table, host_of(analysis->catalog, thread->track));
        table_count(&table, thread->events);
        table_ps(&table, (double)thread->busy_ps);
        table_share(&table, thread->busy_share);
    }
    table_end(&table, style, out);
    put_omitted(shown, summary->threads.count, out);
}

static void put_value(struct table *table, const struct counter_summary *counter, double value)
{
    char text[QUANTITY_SIZE];
    if (counter->unit == UNIT_BYTES && value >= 0 && value < 0x1p63)
        table_text(table, text_of(format_bytes((uint64_t)value, text)));
    else if (counter->unit == UNIT_NONE)
        table_format(table, "%g", value);
    else
        table_format(table, "%.1f %s", value, counter_unit_name(counter->unit));
}

static void put_counters(const struct analysis *analysis, const struct text_style *style,
                         struct output *out)
{
    static const struct column columns[] = {{"counter", true, true},   {"host", true, true},
                                            {"samples", false, false}, {"min", false, false},
                                            {"mean", false, false},    {"max", false, false},
                                            {"last", false, false}};
    const struct summary *summary = &analysis->summary;
    if (summary->counters.count == 0)
        return;
    put_heading(out, style, "Counters");
    struct table table = table_begin(columns, 7);
    const struct counter_summary *counter;
    array_each (counter, &summary->counters) {
        table_text(&table, text_of(counter->label));
        table_text(&table, host_of(analysis->catalog, counter->track));
        table_count(&table, counter->samples);
        put_value(&table, counter, counter->min);
        put_value(&table, counter, counter->mean);
        put_value(&table, counter, counter->max);
        put_value(&table, counter, counter->last);
    }
    table_end(&table, style, out);
}

void export_summary_text(const struct analysis *analysis, const struct text_style *style,
                         struct output *out)
{
    const struct summary *summary = &analysis->summary;
    put_overview(analysis, style, out);
    put_findings_text(analysis, style, out);
    put_steps(analysis, style, out);
    put_devices(analysis, style, out);
    put_operations(analysis, style, out);
    put_operators("Operators, by self time on the device", "operator", &summary->operators, style,
                  out);
    put_operators("Modules, by self time on the device", "module", &summary->modules, style, out);
    put_families(summary, style, out);
    put_work("Kernels, by time on the device", "kernel", &summary->kernels, style, out);
    put_work("Copies and memsets, by time on the device", "copy", &summary->copies, style, out);
    put_host_events(summary, style, out);
    put_threads(analysis, style, out);
    put_counters(analysis, style, out);
    put_messages_text(analysis->catalog, style, out);
}
