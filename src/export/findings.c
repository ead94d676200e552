/*
 * Findings as text and as JSON.
 */
#include "analyze/findings/thresholds.h"
#include "export/describe.h"
#include "export/lines.h"

#include <stdlib.h>

/* Writes words into lines of a width, each after `indent` blanks. */
static void put_wrapped(struct output *out, size_t width, size_t indent, struct text text)
{
    size_t room = width > indent + 20 ? width - indent : 20, used = 0;
    while (text.size > 0) {
        const char *blank = memchr(text.data, ' ', text.size);
        size_t word = blank ? (size_t)(blank - text.data) : text.size;
        if (used > 0 && used + 1 + word > room) {
            output_char(out, '\n');
            used = 0;
        }
        if (used == 0)
            output_format(out, "%*s", (int)indent, "");
        else
            output_char(out, ' ');
        put_printable(out, (struct text){text.data, word});
        used += (used > 0) + word;
        word += blank != NULL;
        text = (struct text){text.data + word, text.size - word};
    }
    output_char(out, '\n');
}

/* The address of a view of the profile that shows the evidence. */
static void put_link(struct output *out, const struct findings_options *options,
                     const struct evidence *evidence)
{
    /* With a little of its surroundings. */
    int64_t room = (evidence->to_ps - evidence->from_ps) / 2;
    output_format(out, "%s/profile/", options->address);
    for (const char *at = options->profile; *at; at++)
        if (strchr("-_.~", *at) || (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'z') ||
            (*at >= 'A' && *at <= 'Z'))
            output_char(out, *at);
        else
            output_format(out, "%%%02X", (unsigned char)*at);
    output_format(out, "?span=%lld-%lld",
                  (long long)(evidence->from_ps > room ? evidence->from_ps - room : 0),
                  (long long)add_saturated(evidence->to_ps, room));
    if (evidence->has_event)
        output_format(out, "&event=s%llu", (unsigned long long)evidence->event_id);
}

static void put_evidence_text(const struct finding *finding, const struct findings_options *options,
                              struct output *out)
{
    char from[QUANTITY_SIZE], to[QUANTITY_SIZE];
    for (size_t i = 0; i < finding->evidence_count; i++) {
        const struct evidence *evidence = &finding->evidence[i];
        output_format(out, "     %s: ", evidence->label);
        if (options->profile)
            put_link(out, options, evidence);
        else
            output_format(out, "%s to %s", format_ps((double)evidence->from_ps, from),
                          format_ps((double)evidence->to_ps, to));
        output_char(out, '\n');
    }
    if (finding->sql[0] && options->profile)
        output_format(out, "     kymo sql %s \"%s\"\n", options->profile, finding->sql);
}

static void put_finding(const struct finding *finding, size_t number,
                        const struct text_style *style, struct output *out)
{
    char cost[QUANTITY_SIZE];
    output_format(out, "  %zu. %s%s%s", number, style->colored ? "\033[1m" : "", finding->title,
                  style->colored ? "\033[0m" : "");
    if (finding->cost_ps > 0)
        output_format(out, ": %s", format_ps((double)finding->cost_ps, cost));
    if (finding->share > 0)
        output_format(out, "%s%.0f %% of %s", finding->cost_ps > 0 ? ", " : ": ",
                      100 * finding->share, finding->share_of);
    output_char(out, '\n');
    put_wrapped(out, style->width, 5, text_of(finding->text));
    put_wrapped(out, style->width, 5, text_of(finding->advice));
}

static void put_none(struct output *out, const char *indent)
{
    output_format(out, "%snone that costs %.0f %% or more\n", indent, 100 * MIN_SHARE);
}

void put_findings_text(const struct analysis *analysis, const struct text_style *style,
                       struct output *out)
{
    put_heading(out, style, "Findings");
    for (size_t i = 0; i < analysis->findings.count; i++)
        put_finding(&analysis->findings.items[i], i + 1, style, out);
    if (analysis->findings.count == 0)
        put_none(out, "  ");
}

void export_findings_text(const struct findings *findings, const struct findings_options *options,
                          const struct text_style *style, struct output *out)
{
    for (size_t i = 0; i < findings->count; i++) {
        output_text(out, i ? "\n" : "");
        put_finding(&findings->items[i], i + 1, style, out);
        put_evidence_text(&findings->items[i], options, out);
    }
    if (findings->count == 0)
        put_none(out, "");
}

static void put_evidence_json(struct json *json, const struct evidence *evidence)
{
    json_open(json, '{');
    json_put_text(json, "label", text_of(evidence->label));
    json_key(json, "event_id");
    if (evidence->has_event)
        json_uint(json, evidence->event_id);
    else
        json_null(json);
    json_put_int(json, "from_ps", evidence->from_ps);
    json_put_int(json, "to_ps", evidence->to_ps);
    json_close(json, '}');
}

static void put_list(struct json *json, const struct findings *findings)
{
    json_open(json, '[');
    const struct finding *finding;
    array_each (finding, findings) {
        json_open_row(json, '{');
        json_put_text(json, "rule", text_of(finding->rule));
        json_put_text(json, "title", text_of(finding->title));
        json_put_text(json, "statement", text_of(finding->text));
        json_put_text(json, "advice", text_of(finding->advice));
        json_put_double(json, "cost_ns", (double)finding->cost_ps / 1e3);
        json_put_double(json, "share", finding->share);
        json_put_text(json, "share_of", text_of(finding->share_of));
        json_put_text(json, "query", text_of(finding->sql));
        json_key(json, "evidence");
        json_open(json, '[');
        for (size_t i = 0; i < finding->evidence_count; i++)
            put_evidence_json(json, &finding->evidence[i]);
        json_close(json, ']');
        json_close_row(json, '}');
    }
    json_close(json, ']');
}

void put_findings_json(struct json *json, const struct analysis *analysis)
{
    json_key(json, "findings");
    put_list(json, &analysis->findings);
}

void export_findings_json(const struct findings *findings, struct output *out)
{
    struct json json;
    json_begin(&json, out, true);
    put_list(&json, findings);
}

static const char *kept(struct findings *findings, struct text text)
{
    return arena_copy_text(&findings->texts, text.size ? text.data : "", text.size);
}

/* Of nanoseconds; values are not terminated, so they are copied first. */
static int64_t ps_of(struct findings *findings, struct text text)
{
    int64_t ns = strtoll(kept(findings, text), NULL, 10);
    return ns > INT64_MAX / 1000 ? INT64_MAX : ns < INT64_MIN / 1000 ? INT64_MIN : ns * 1000;
}

static void take_finding(struct findings *findings, const struct sql_result *result, size_t row)
{
    *array_push(findings) =
        (struct finding){.rule = kept(findings, sql_value(result, row, 0)),
                         .title = kept(findings, sql_value(result, row, 1)),
                         .text = kept(findings, sql_value(result, row, 2)),
                         .advice = kept(findings, sql_value(result, row, 3)),
                         .cost_ps = ps_of(findings, sql_value(result, row, 4)),
                         .share = strtod(kept(findings, sql_value(result, row, 5)), NULL),
                         .share_of = kept(findings, sql_value(result, row, 6)),
                         .sql = kept(findings, sql_value(result, row, 7))};
}

static void take_evidence(struct findings *findings, const struct sql_result *result, size_t row)
{
    size_t number = (size_t)strtoull(kept(findings, sql_value(result, row, 0)), NULL, 10);
    if (number >= findings->count)
        return;
    struct text event = sql_value(result, row, 2);
    struct evidence evidence = {.label = kept(findings, sql_value(result, row, 1)),
                                .has_event = event.data != NULL,
                                .event_id =
                                    event.data ? strtoull(kept(findings, event), NULL, 10) : 0,
                                .from_ps = ps_of(findings, sql_value(result, row, 3)),
                                .to_ps = ps_of(findings, sql_value(result, row, 4))};
    finding_show(&findings->items[number], &evidence);
}

static bool read_rows(struct sql_connection *connection, const char *query,
                      struct findings *findings,
                      void (*take)(struct findings *, const struct sql_result *, size_t),
                      struct error *err)
{
    struct sql_result *result = NULL;
    bool ok = sql_ask(&result, connection, query, err);
    for (size_t rows = 1; ok && rows > 0;) {
        ok = sql_next(result, &rows, err);
        for (size_t i = 0; ok && i < rows; i++)
            take(findings, result, i);
    }
    sql_free(result);
    return ok;
}

bool findings_read(struct sql_connection *connection, struct findings *findings, struct error *err)
{
    return read_rows(connection,
                     "SELECT rule, title, statement, advice, cost_ns, share, share_of, query FROM "
                     "Finding ORDER BY id",
                     findings, take_finding, err) &&
           read_rows(connection,
                     "SELECT finding_id, label, event_id, start_ts, end_ts FROM FindingEvidence",
                     findings, take_evidence, err);
}
