/*
 * The summary of device profiles: metrics as two columns of text and as JSON, findings as Markdown,
 * and the meaning of metrics.
 */
#include "export/describe.h"
#include "export/lines.h"

#include <math.h>
#include <stdio.h>

/* A value of the summary, in the order in which they are printed. */
struct field {
    const char *name;
    enum { FIELD_TEXT, FIELD_INTEGER, FIELD_REAL } kind;
    const char *text; /* NULL: unknown */
    int64_t integer;
    double real; /* NaN: no value */
};
typedef void field_visit(void *context, const struct field *field);

struct fields {
    field_visit *visit;
    void *context;
};

static void put_text(const struct fields *fields, const char *name, const char *text)
{
    fields->visit(fields->context, &(struct field){.name = name, .kind = FIELD_TEXT, .text = text});
}

static void put_integer(const struct fields *fields, const char *name, int64_t integer)
{
    fields->visit(fields->context,
                  &(struct field){.name = name, .kind = FIELD_INTEGER, .integer = integer});
}

static void put_real(const struct fields *fields, const char *name, double real)
{
    fields->visit(fields->context, &(struct field){.name = name, .kind = FIELD_REAL, .real = real});
}

static void visit_throttling(const struct device_analysis *analysis, uint32_t core,
                             const struct fields *fields)
{
    const struct device_sums *sums = &analysis->sums;
    double total = (double)sums->total_ps;
    char name[80];
    snprintf(name, sizeof name, "throttle_avg_util_limit_nc%u_percent", core);
    put_real(fields, name, total > 0 ? sums->limit_ps / total : NAN);
    for (unsigned i = 0; i < 2; i++) {
        double time = (double)sums->throttled_ps[i];
        snprintf(name, sizeof name, "throttle_activity_%u_avg_util_limit_nc%u_percent", i, core);
        put_real(fields, name, time > 0 ? sums->throttle_limit_ps[i] / time : 1);
        snprintf(name, sizeof name, "throttle_activity_%u_active_time_nc%u_percent", i, core);
        put_real(fields, name, total > 0 ? time / total : NAN);
    }
    snprintf(name, sizeof name, "throttle_active_nc%u_time_ns", core);
    put_integer(fields, name, (sums->throttled_ps[0] + sums->throttled_ps[1]) / 1000);
}

static void visit_path(const struct device_path *path, const struct fields *fields)
{
    static const char *const waits[DEVICE_WAITS] = {
        NULL, "begin", "dma_start", "dma_completion", "semaphore", "engine", "collective", "end"};
    char name[80];
    for (unsigned i = 0; i < ENGINE_COUNT; i++) {
        snprintf(name, sizeof name, "critical_path_%s_engine_time",
                 device_unit_name((enum device_unit)i));
        put_real(fields, name, (double)path->engine_ps[i] / 1e12);
    }
    put_real(fields, "critical_path_dma_time", (double)path->dma_ps / 1e12);
    put_real(fields, "critical_path_cc_op_time", (double)path->collective_ps / 1e12);
    for (unsigned i = WAIT_BEGIN; i < DEVICE_WAITS; i++) {
        snprintf(name, sizeof name, "critical_path_wait_%s_time", waits[i]);
        put_real(fields, name, (double)path->wait_ps[i] / 1e12);
    }
}

static void visit_bounds(const struct device_bounds *bounds, const struct fields *fields)
{
    put_real(fields, "bound_memory_time", bounds->memory);
    put_real(fields, "bound_memory_ideal_time", bounds->memory_ideal);
    put_real(fields, "bound_memory_ideal_no_reload_time", bounds->memory_ideal_once);
    put_real(fields, "bound_compute_time", bounds->compute);
    put_real(fields, "bound_compute_ideal_time", bounds->compute_ideal);
    put_real(fields, "bound_compute_ideal_useful_time", bounds->compute_ideal_useful);
    put_real(fields, "bound_pipeline_time", bounds->pipeline);
    put_real(fields, "bound_memory_speedup", bounds->memory_speedup);
    put_real(fields, "bound_compute_speedup", bounds->compute_speedup);
    put_real(fields, "bound_pipeline_speedup", bounds->pipeline_speedup);
}

/* The order is that of the printed summary; text and JSON visit the same fields, so that they
 * cannot differ. */
static void visit_fields(const struct device_analysis *analysis, const char *version,
                         const struct fields *fields)
{
    const struct device_profile *profile = analysis->profile;
    const struct ntff_header *header = ntff_header(profile->ntff);
    put_integer(fields, "nc_idx", header->core_index);
    put_integer(fields, "nd_idx", header->device_index);
    put_integer(fields, "rank", header->rank);
    put_text(fields, "instance_type", header->instance_type);
    put_text(fields, "neff_name", device_neff(profile)->name);
    put_text(fields, "compiler_version", neff_info(profile->neff)->header.build_version);
    put_text(fields, "runtime_version", NULL); /* not in NTFF files */
    put_text(fields, "profiler_version", version);
    put_integer(fields, "execution_count", analysis->sums.executions);
    put_integer(fields, "failed_execution_count", analysis->gathered.failed.count);
    put_integer(fields, "error_count", (int64_t)analysis->sums.errors);
    for (size_t i = 0; device_metric_at(i); i++) {
        const struct device_metric *metric = device_metric_at(i);
        if (metric->is_integer)
            put_integer(fields, metric->name, device_metric_integer(&analysis->metrics, metric));
        else
            put_real(fields, metric->name, device_metric_real(&analysis->metrics, metric));
    }
    visit_throttling(analysis, header->core_index, fields);
    visit_bounds(&analysis->bounds, fields);
    visit_path(&analysis->path, fields);
}

/* --- Text --- */

static void put_line(void *context, const struct field *field)
{
    struct output *out = context;
    output_format(out, "%-48s ", field->name);
    if (field->kind == FIELD_INTEGER)
        output_format(out, "%lld", (long long)field->integer);
    else if (field->kind == FIELD_REAL && !isnan(field->real))
        output_format(out, "%.9g", field->real);
    else if (field->kind == FIELD_TEXT && field->text && field->text[0])
        put_printable(out, text_of(field->text));
    else
        output_char(out, '-');
    output_char(out, '\n');
}

void export_device_text(const struct device_analysis *const *analyses, size_t count,
                        const char *version, struct output *out)
{
    const struct fields fields = {put_line, out};
    for (size_t i = 0; i < count; i++) {
        if (count > 1) {
            char id[DEVICE_ID_SIZE];
            output_format(out, "%s%s\n", i ? "\n" : "", export_device_id(analyses[i]->profile, id));
        }
        visit_fields(analyses[i], version, &fields);
    }
}

/* --- Ranks --- */

static const char *operation_of(const struct device_ranks *ranks,
                                const struct device_meeting *meeting)
{
    return device_collective_name(
        (enum collective_kind)ranks->program->collectives[meeting->collective].kind);
}

static void put_apart(const struct device_ranks *ranks, struct output *out)
{
    if (ranks->apart > 0)
        output_format(out,
                      "  %llu collectives are not compared: by the clocks of their hosts, the "
                      "executions of the ranks did not overlap.\n",
                      (unsigned long long)ranks->apart);
}

static void put_meetings(const struct device_ranks *ranks, const struct text_style *style,
                         struct output *out)
{
    static const struct column columns[] = {
        {"collective", true, false}, {"number", false, false}, {"execution", false, false},
        {"skew", false, false},      {"waited", false, false}, {"last rank", false, false},
        {"ranks", false, false}};
    struct table table = table_begin(columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < ranks->meetings.count && i < style->top; i++) {
        const struct device_meeting *meeting = &ranks->meetings.items[i];
        table_text(&table, text_of(operation_of(ranks, meeting)));
        table_count(&table, meeting->collective);
        table_count(&table, meeting->execution);
        table_ps(&table, (double)meeting->skew_ps);
        table_ps(&table, (double)meeting->waited_ps);
        table_count(&table, ranks->ranks.items[meeting->last].rank);
        table_count(&table, meeting->ranks);
    }
    table_end(&table, style, out);
}

/* Waiting is shown from both sides: a rank that waits little and is waited for much is the slow
 * one. */
void export_device_ranks_text(const struct device_ranks *ranks, const struct text_style *style,
                              struct output *out)
{
    static const struct column columns[] = {
        {"rank", false, false},       {"core", true, false},           {"total", false, false},
        {"waited", false, false},     {"others waited", false, false}, {"came last", false, false},
        {"collectives", false, false}};
    put_heading(out, style, "Ranks: how long each waited in collectives, and others for it");
    struct table table = table_begin(columns, sizeof columns / sizeof *columns);
    const struct device_rank *rank;
    array_each (rank, &ranks->ranks) {
        table_count(&table, rank->rank);
        table_format(&table, "ND%u NC%u", rank->device, rank->core);
        table_ps(&table, (double)rank->total_ps);
        table_ps(&table, (double)rank->waited_ps);
        table_ps(&table, (double)rank->held_up_ps);
        table_count(&table, rank->came_last);
        table_count(&table, rank->collectives);
    }
    table_end(&table, style, out);
    put_apart(ranks, out);
    if (ranks->slowest == NO_INDEX) {
        if (ranks->apart == 0 || ranks->meetings.count > 0)
            output_text(out, "  No rank waited for another.\n");
        return;
    }
    char time[QUANTITY_SIZE];
    const struct device_rank *slowest = &ranks->ranks.items[ranks->slowest];
    output_format(out, "  The slowest is rank %u: the others waited %s for it.\n", slowest->rank,
                  format_ps((double)slowest->held_up_ps, time));
    put_heading(out, style, "Collectives, by the time between the first rank and the last");
    put_meetings(ranks, style, out);
}

/* --- JSON --- */

const char *export_device_id(const struct device_profile *profile, char id[static DEVICE_ID_SIZE])
{
    const struct ntff_header *header = ntff_header(profile->ntff);
    uint32_t numbers[] = {header->process_id, header->device_index,
                          header->core_index, header->core_in_logical,
                          header->rank,       profile->span_count ? profile->spans[0].index : 0};
    uint8_t digest[SHA256_SIZE];
    struct sha256 sha;
    sha256_begin(&sha);
    sha256_add(&sha, device_neff(profile)->uuid, sizeof device_neff(profile)->uuid);
    sha256_add(&sha, header->instance_id, strlen(header->instance_id));
    sha256_add(&sha, numbers, sizeof numbers);
    sha256_end(&sha, digest);
    memcpy(id, "n_", 3);
    for (unsigned i = 0; i < (DEVICE_ID_SIZE - 3) / 2; i++)
        snprintf(id + 2 + (size_t)2 * i, 3, "%02x", digest[i]);
    return id;
}

static void put_member(void *context, const struct field *field)
{
    struct json *json = context;
    json_key(json, field->name);
    if (field->kind == FIELD_INTEGER)
        json_int(json, field->integer);
    else if (field->kind == FIELD_REAL && !isnan(field->real))
        json_double(json, field->real);
    else if (field->kind == FIELD_TEXT && field->text && field->text[0])
        json_text(json, text_of(field->text));
    else
        json_null(json);
}

void put_device_summary(struct json *json, const struct device_analysis *analysis,
                        const char *version)
{
    const struct fields fields = {put_member, json};
    json_open(json, '{');
    visit_fields(analysis, version, &fields);
    json_close(json, '}');
}

/* The same figures as the text, with all collectives instead of the ones with the greatest skew. */
static void put_ranks(struct json *json, const struct device_ranks *ranks)
{
    json_key(json, "ranks");
    json_open(json, '{');
    json_key(json, "slowest_rank");
    if (ranks->slowest == NO_INDEX)
        json_null(json);
    else
        json_uint(json, ranks->ranks.items[ranks->slowest].rank);
    json_key(json, "ranks");
    json_open(json, '[');
    const struct device_rank *rank;
    array_each (rank, &ranks->ranks) {
        json_open_row(json, '{');
        json_put_uint(json, "rank", rank->rank);
        json_put_uint(json, "nd_idx", rank->device);
        json_put_uint(json, "nc_idx", rank->core);
        json_put_double(json, "total_time_ns", (double)rank->total_ps / 1e3);
        json_put_double(json, "waited_ns", (double)rank->waited_ps / 1e3);
        json_put_double(json, "held_up_others_ns", (double)rank->held_up_ps / 1e3);
        json_put_uint(json, "collective_count", rank->collectives);
        json_put_uint(json, "came_last_count", rank->came_last);
        json_close_row(json, '}');
    }
    json_close(json, ']');
    json_put_uint(json, "collectives_apart", ranks->apart);
    json_key(json, "collectives");
    json_open(json, '[');
    const struct device_meeting *meeting;
    array_each (meeting, &ranks->meetings) {
        json_open_row(json, '{');
        json_put_uint(json, "execution", meeting->execution);
        json_put_uint(json, "op_id", meeting->collective);
        json_put_uint(json, "occurrence", meeting->occurrence);
        json_put_text(json, "operation", text_of(operation_of(ranks, meeting)));
        json_put_uint(json, "replica_group_id", meeting->group);
        json_put_uint(json, "rank_count", meeting->ranks);
        json_put_uint(json, "last_rank", ranks->ranks.items[meeting->last].rank);
        json_put_double(json, "skew_ns", (double)meeting->skew_ps / 1e3);
        json_put_double(json, "waited_ns", (double)meeting->waited_ps / 1e3);
        json_close_row(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
}

void export_device_summary_json(const struct device_analysis *const *analyses, size_t count,
                                const struct device_ranks *ranks, const struct analysis *system,
                                const char *version, bool pretty, struct output *out)
{
    struct json json;
    json_begin(&json, out, pretty);
    json_open(&json, '{');
    if (system) {
        json_key(&json, "system_profile");
        put_summary(&json, system);
    }
    for (size_t i = 0; i < count; i++) {
        char id[DEVICE_ID_SIZE];
        json_key(&json, export_device_id(analyses[i]->profile, id));
        put_device_summary(&json, analyses[i], version);
    }
    if (ranks)
        put_ranks(&json, ranks);
    json_close(&json, '}');
    output_char(out, '\n');
}

/* --- The meaning of metrics --- */

void export_terminology(struct output *out)
{
    for (size_t i = 0; device_metric_at(i); i++) {
        const struct device_metric *metric = device_metric_at(i);
        output_format(out, "%s%s%s%s\n    %s.\n    = %s\n", metric->name,
                      metric->unit[0] ? " (" : "", metric->unit, metric->unit[0] ? ")" : "",
                      metric->meaning, metric->formula);
    }
}

/* --- Findings --- */

static void put_share(struct output *out, const char *name, int64_t time_ps, int64_t total_ps)
{
    char time[QUANTITY_SIZE];
    if (time_ps > 0)
        output_format(out, "| %s | %s | %.1f %% |\n", name, format_ps((double)time_ps, time),
                      100 * (double)time_ps / (double)total_ps);
}

static void put_path(const struct device_analysis *analysis, struct output *out)
{
    const struct device_path *path = &analysis->path;
    int64_t total_ps = analysis->sums.total_ps;
    output_text(out, "## The critical path\n\n| | time | share |\n|---|---:|---:|\n");
    for (unsigned i = 0; i < ENGINE_COUNT; i++)
        put_share(out, hardware_engine_name((enum engine)i), path->engine_ps[i], total_ps);
    put_share(out, "DMA", path->dma_ps, total_ps);
    put_share(out, "collectives", path->collective_ps, total_ps);
    for (unsigned i = WAIT_BEGIN; i < DEVICE_WAITS; i++) {
        char name[80];
        snprintf(name, sizeof name, "waiting: %s", device_wait_name((enum device_wait)i));
        put_share(out, name, path->wait_ps[i], total_ps);
    }
    output_char(out, '\n');
}

static void put_evidence(const struct device_analysis *analysis, const struct evidence *evidence,
                         struct output *out)
{
    char from[QUANTITY_SIZE], to[QUANTITY_SIZE], item[256];
    output_format(out, "- %s: %s to %s", evidence->label,
                  format_ps((double)evidence->from_ps, from),
                  format_ps((double)evidence->to_ps, to));
    if (analysis->sums.executions > 1)
        output_format(out, " of execution %u", evidence->item.execution);
    if (evidence->item.kind != ITEM_NONE) {
        size_t size = device_item_text(analysis->profile->program, device_item_of(evidence),
                                       evidence->item.part, item, sizeof item);
        output_text(out, ", ");
        put_printable(out, (struct text){item, size});
    }
    output_char(out, '\n');
}

/* Markdown, to be pasted into an issue: each finding with its evidence and a query that reproduces
 * it. Names from the file are cleaned of control characters. */
void export_device_findings(const struct device_analysis *analysis, struct output *out)
{
    const struct ntff_header *header = ntff_header(analysis->profile->ntff);
    char total[QUANTITY_SIZE], gain[QUANTITY_SIZE];
    output_text(out, "# ");
    put_printable(out, text_of(device_neff(analysis->profile)->name));
    output_format(out, " on ND%u NC%u: %s", header->device_index, header->core_index,
                  format_ps((double)analysis->sums.total_ps, total));
    if (analysis->sums.executions > 1)
        output_format(out, " in %u executions", analysis->sums.executions);
    output_text(out, "\n\n");
    if (analysis->sums.total_ps > 0)
        put_path(analysis, out);
    if (analysis->findings.count == 0)
        output_text(out, "No findings.\n");
    for (size_t i = 0; i < analysis->findings.count; i++) {
        const struct finding *finding = &analysis->findings.items[i];
        output_format(out, "## %zu. %s\n\n", i + 1, finding->title);
        if (finding->cost_ps > 0)
            output_format(out, "Up to **%s** can be gained, %.1f %% of the time. ",
                          format_ps((double)finding->cost_ps, gain), 100 * finding->share);
        else if (!finding->is_failure)
            output_text(out, "No gain by itself: not on the critical path. ");
        put_printable(out, text_of(finding->text));
        output_format(out, "\n\n**To try:** %s\n\n", finding->advice);
        for (size_t k = 0; k < finding->evidence_count; k++)
            put_evidence(analysis, &finding->evidence[k], out);
        output_format(out, "%s```sql\n%s\n```\n%s", finding->evidence_count ? "\n" : "",
                      finding->sql, i + 1 < analysis->findings.count ? "\n" : "");
    }
}
