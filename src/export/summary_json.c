/*
 * The summary of a profile as JSON. Times are in nanoseconds, shares are fractions of one: those of
 * busy time of span_ns, those in rankings of the self time of all entries.
 */
#include "export/describe.h"

static double ns(int64_t ps)
{
    return (double)ps / 1e3;
}

static void put_distribution(struct json *json, const char *key, const struct distribution *d)
{
    json_key(json, key);
    if (d->count == 0) {
        json_null(json);
        return;
    }
    json_open_row(json, '{');
    json_put_uint(json, "count", d->count);
    json_put_double(json, "mean", d->mean);
    json_put_double(json, "p50", d->p50);
    json_put_double(json, "p99", d->p99);
    json_put_double(json, "min", d->min);
    json_put_double(json, "max", d->max);
    json_close_row(json, '}');
}

static void put_steps(struct json *json, const struct analysis *analysis)
{
    const struct summary *summary = &analysis->summary;
    json_key(json, "steps");
    json_open(json, '{');
    json_put_uint(json, "count", analysis->steps.count);
    if (analysis->steps.count > 0)
        json_put_text(json, "origin", step_origin_name(analysis->step_origin));
    put_distribution(json, "step_ns", &summary->step_ns);
    put_distribution(json, "host_ns", &summary->step_host_ns);
    put_distribution(json, "device_ns", &summary->step_device_ns);
    put_distribution(json, "period_ns", &summary->step_period_ns);
    json_close(json, '}');
}

static void put_devices(struct json *json, const struct analysis *analysis)
{
    const struct catalog *catalog = analysis->catalog;
    json_key(json, "devices");
    json_open(json, '[');
    const struct device_summary *device;
    array_each (device, &analysis->summary.devices) {
        char model[MAX_MODEL_NAME];
        json_open_row(json, '{');
        json_put_text(json, "name", catalog_track_label(catalog, device->track));
        json_put_text(json, "host", host_of(catalog, device->track));
        json_put_text(json, "model", device_model(catalog, device->track, model));
        json_put_uint(json, "event_count", device->events);
        json_put_double(json, "busy_ns", ns(device->busy_ps));
        json_put_double(json, "busy_share", device->busy_share);
        json_put_double(json, "sum_ns", ns(device->sum_ps));
        put_distribution(json, "launch_delay_ns", &device->launch_delay_ns);
        json_close_row(json, '}');
    }
    json_close(json, ']');
}

static void put_totals(struct json *json, const struct ranked *entry)
{
    json_put_text(json, "name", entry->name);
    json_put_uint(json, "count", entry->totals.count);
    json_put_double(json, "total_ns", ns(entry->totals.total_ps));
    json_put_double(json, "self_ns", ns(entry->totals.self_ps));
    json_put_double(json, "min_ns", ns(entry->totals.min_ps));
    json_put_double(json, "max_ns", ns(entry->totals.max_ps));
    json_put_double(json, "share", entry->share);
}

static void put_ranking(struct json *json, const char *key, const ranked_list *list)
{
    json_key(json, key);
    json_open(json, '[');
    const struct ranked *entry;
    array_each (entry, list) {
        json_open_row(json, '{');
        put_totals(json, entry);
        json_close_row(json, '}');
    }
    json_close(json, ']');
}

static void put_families(struct json *json, const struct summary *summary)
{
    json_key(json, "kernel_families");
    json_open(json, '[');
    const struct family_summary *entry;
    array_each (entry, &summary->families) {
        json_open_row(json, '{');
        json_put_text(json, "family", kernel_family_name(entry->family));
        json_put_uint(json, "count", entry->count);
        json_put_double(json, "total_ns", ns(entry->total_ps));
        json_put_double(json, "share", entry->share);
        json_close_row(json, '}');
    }
    json_close(json, ']');
}

static void put_operations(struct json *json, const ranked_list *list)
{
    json_key(json, "operations");
    json_open(json, '[');
    const struct ranked *entry;
    array_each (entry, list) {
        json_open_row(json, '{');
        put_totals(json, entry);
        json_put_text(json, "program", entry->module);
        json_key(json, "module_id");
        if (entry->program == NO_INDEX)
            json_null(json);
        else
            json_uint(json, entry->program);
        json_put_text(json, "kind", entry->category);
        json_put_text(json, "op_name", entry->op_name);
        json_put_text(json, "source_file", entry->file);
        json_put_uint(json, "source_line", entry->line);
        json_put_uint(json, "kernel_count", entry->kernels);
        json_close_row(json, '}');
    }
    json_close(json, ']');
}

static void put_operators(struct json *json, const char *key, const operator_list *list)
{
    json_key(json, key);
    json_open(json, '[');
    const struct operator_summary *entry;
    array_each (entry, list) {
        json_open_row(json, '{');
        json_put_text(json, "name", entry->name);
        if (entry->role != TYPE_MODULE)
            json_put_text(json, "kind",
                          entry->role == TYPE_OPERATOR ? TEXT("operator") : TEXT("annotation"));
        json_put_uint(json, "count", entry->host.count);
        json_put_double(json, "host_ns", ns(entry->host.total_ps));
        json_put_double(json, "host_self_ns", ns(entry->host.self_ps));
        json_put_uint(json, "device_event_count", entry->device_events);
        json_put_double(json, "device_self_ns", ns(entry->self_ps));
        json_put_double(json, "device_ns", ns(entry->device_ps));
        json_put_double(json, "device_with_backward_ns", ns(entry->with_backward_ps));
        json_put_double(json, "share", entry->share);
        json_close_row(json, '}');
    }
    json_close(json, ']');
}

static void put_threads(struct json *json, const struct analysis *analysis)
{
    json_key(json, "threads");
    json_open(json, '[');
    const struct thread_summary *thread;
    array_each (thread, &analysis->summary.threads) {
        json_open_row(json, '{');
        json_put_text(json, "name", catalog_track_label(analysis->catalog, thread->track));
        json_put_text(json, "host", host_of(analysis->catalog, thread->track));
        json_put_uint(json, "track_id", thread->track);
        json_put_uint(json, "event_count", thread->events);
        json_put_double(json, "busy_ns", ns(thread->busy_ps));
        json_put_double(json, "busy_share", thread->busy_share);
        json_close_row(json, '}');
    }
    json_close(json, ']');
}

static void put_counters(struct json *json, const struct analysis *analysis)
{
    json_key(json, "counters");
    json_open(json, '[');
    const struct counter_summary *counter;
    array_each (counter, &analysis->summary.counters) {
        json_open_row(json, '{');
        json_put_text(json, "name", catalog_track_label(analysis->catalog, counter->track));
        json_put_text(json, "host", host_of(analysis->catalog, counter->track));
        json_put_uint(json, "track_id", counter->track);
        json_put_text(json, "label", text_of(counter->label));
        json_put_text(json, "unit", text_of(counter_unit_name(counter->unit)));
        json_put_uint(json, "samples", counter->samples);
        json_put_double(json, "min", counter->min);
        json_put_double(json, "mean", counter->mean);
        json_put_double(json, "max", counter->max);
        json_put_double(json, "last", counter->last);
        json_close_row(json, '}');
    }
    json_close(json, ']');
}

/* The order of keys is part of the format. All rows of the rankings are written, not only those
 * that the text shows. */
void put_summary(struct json *json, const struct analysis *analysis)
{
    const struct summary *summary = &analysis->summary;
    json_open(json, '{');
    put_profile_fields(json, analysis);
    json_put_double(json, "span_ns", summary->span_ps / 1e3);
    json_put_double(json, "profiler_ns", ns(summary->profiler_ps));
    put_hosts(json, analysis->catalog);
    put_findings_json(json, analysis);
    put_steps(json, analysis);
    put_devices(json, analysis);
    put_operations(json, &summary->operations);
    put_operators(json, "operators", &summary->operators);
    put_operators(json, "modules", &summary->modules);
    put_families(json, summary);
    put_ranking(json, "kernels", &summary->kernels);
    put_ranking(json, "copies", &summary->copies);
    put_ranking(json, "host_events", &summary->host_events);
    put_threads(json, analysis);
    put_counters(json, analysis);
    json_key(json, "flows");
    json_open_row(json, '{');
    json_put_uint(json, "launch", summary->launch_flows);
    json_put_uint(json, "context", summary->context_flows);
    json_close_row(json, '}');
    json_put_uint(json, "program_count", analysis->catalog->programs.count);
    put_messages(json, analysis->catalog);
    json_close(json, '}');
}

void export_summary_json(const struct analysis *analysis, bool pretty, struct output *out)
{
    struct json json;
    json_begin(&json, out, pretty);
    put_summary(&json, analysis);
}
