/*
 * What the rules of runs share: a finding made of a row, with that as its evidence.
 */
#include "base/wire/wire.h"
#include "report/fleet/findings.h"

const char *run_finding_time(double ns, char text[static QUANTITY_SIZE])
{
    return format_ps(ns * 1000, text);
}

/* The columns of a row as a JSON object. */
static const char *row_json(struct run_findings *findings, const struct sql_result *result,
                            size_t row)
{
    struct output out;
    struct json json;
    output_memory(&out);
    json_begin(&json, &out, false);
    json_open(&json, '{');
    row_put_members(result, row, &json);
    json_close(&json, '}');
    const char *text = arena_copy_text(&findings->findings.texts, out.data, out.size);
    output_discard(&out);
    return text;
}

struct finding *run_finding_add(struct run_findings *findings, enum finding_rule rule,
                                const struct sql_result *result, size_t row)
{
    struct finding *finding = finding_add(findings, rule, 0, 0, "the steps");
    finding->sql = findings->query;
    finding->run.row = row_json(findings, result, row);
    return finding;
}
