/*
 * The stage RunFinding: what costs the run time, in words, with cost, evidence and the query behind
 * it. Costs are per step of all ranks: what a replay of steps saves where there is one.
 */
#include "report/fleet/findings.h"
#include "base/wire/wire.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Thresholds in queries. */
#define EXPLAINED_TEXT    THRESHOLD_TEXT(EXPLAINED_SHARE)
#define DRIFT_FIT_TEXT    THRESHOLD_TEXT(DRIFT_FIT_SHARE)
#define DRIFT_BLOCKS_TEXT THRESHOLD_TEXT(MIN_DRIFT_BLOCKS)
#define DRIFT_CHANGE_TEXT THRESHOLD_TEXT(MIN_DRIFT_SHARE)
#define IMBALANCE_TEXT    THRESHOLD_TEXT(IMBALANCE_FACTOR)

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
    size_t count;
    const struct sql_column *columns = sql_columns(result, &count);
    output_memory(&out);
    json_begin(&json, &out, false);
    json_open(&json, '{');
    for (size_t i = 0; i < count; i++) {
        struct text value = sql_value(result, row, i);
        bool is_raw = columns[i].kind == SQL_BOOLEAN || columns[i].kind == SQL_NUMBER ||
                      columns[i].kind == SQL_JSON;
        json_key(&json, columns[i].name);
        if (!value.data)
            json_null(&json);
        else if (is_raw && isfinite(row_number(result, row, i)))
            json_raw(&json, value);
        else
            json_text(&json, value);
    }
    json_close(&json, '}');
    const char *text = arena_copy_text(&findings->findings.texts, out.data, out.size);
    output_discard(&out);
    return text;
}

struct finding *run_finding_add(struct run_findings *findings, enum finding_rule rule,
                                const char *query, const struct sql_result *result, size_t row)
{
    struct finding *finding = finding_add(findings, rule, 0, 0, "the steps");
    finding->sql = query;
    finding->run.row = row_json(findings, result, row);
    return finding;
}

/* Collectives. */

static const char communicator_query[] =
    "SELECT c.communicator, c.operation, c.sender, c.receiver, c.bytes, c.group_size, c.machines, "
    "c.transfer_ns, c.usual_ns, c.peers, c.bus_bandwidth, c.matches, c.steps, w.saved_ns FROM "
    "Communicator AS c LEFT JOIN WhatIf AS w ON w.kind = 'communicator' AND w.communicator = "
    "c.communicator AND w.operation = c.operation WHERE c.is_slow ORDER BY (c.transfer_ns - "
    "c.usual_ns) * c.matches / c.steps DESC, c.communicator, c.operation, c.sender LIMIT 32";

static bool add_communicator(void *context, const struct sql_result *result, size_t row)
{
    struct run_findings *findings = context;
    struct finding *finding =
        run_finding_add(findings, RULE_SLOW_COMMUNICATOR, communicator_query, result, row);
    char transfer[QUANTITY_SIZE], usual[QUANTITY_SIZE], bytes[QUANTITY_SIZE], pair[64] = "";
    struct text communicator = sql_value(result, row, 0), operation = sql_value(result, row, 1);
    finding->run.communicator =
        finding_text(findings, "%.*s", (int)communicator.size, communicator.data);
    if (row_integer(result, row, 2) >= 0)
        snprintf(pair, sizeof pair, " from rank %" PRId64 " to %" PRId64,
                 row_integer(result, row, 2), row_integer(result, row, 3));
    finding->title = finding_text(findings, "%.*s in %s%s is slow", (int)operation.size,
                                  operation.data, finding->run.communicator, pair);
    double per_step = (row_number(result, row, 7) - row_number(result, row, 8)) *
                      row_number(result, row, 11) / row_number(result, row, 12);
    finding->text = finding_text(
        findings,
        "Once all ranks have arrived, %.*s of %s takes %s; in the %" PRId64
        " communicators with as many ranks and machines the median is %s. It has %.1f GB/s of bus "
        "bandwidth.",
        (int)operation.size, operation.data,
        format_bytes((uint64_t)row_integer(result, row, 4), bytes),
        run_finding_time(row_number(result, row, 7), transfer), row_integer(result, row, 9),
        run_finding_time(row_number(result, row, 8), usual), row_number(result, row, 10));
    finding->advice = "Look at the links of its machines: errors and speed of network adapters and "
                      "cables, a switch that is shared, the topology the library has found.";
    finding->run.cost_ns =
        row_has(result, row, 13) ? fmax(0, row_number(result, row, 13)) : per_step;
    return true;
}

static const char operation_query[] =
    "SELECT o.operation, o.communicators, o.bus_bandwidth, o.best_bandwidth, o.best_operation, "
    "o.excess_ns, w.saved_ns FROM Operation AS o LEFT JOIN WhatIf AS w ON w.kind = 'operation' AND "
    "w.operation = o.operation WHERE o.is_slow ORDER BY o.excess_ns DESC, o.operation";

static bool add_operation(void *context, const struct sql_result *result, size_t row)
{
    struct run_findings *findings = context;
    struct finding *finding =
        run_finding_add(findings, RULE_SLOW_OPERATION, operation_query, result, row);
    char *operation = row_text(result, row, 0), *best = row_text(result, row, 4);
    finding->title = finding_text(findings, "%s is slow everywhere", operation);
    finding->text = finding_text(
        findings,
        "%s has %.1f GB/s of bus bandwidth, where %s has %.1f GB/s over the same communicators.",
        operation, row_number(result, row, 2), best, row_number(result, row, 3));
    finding->advice = "Look at the algorithm and protocol the library chooses for it, at its sizes "
                      "(many small ones cost latency), and at whether buffers are registered.";
    finding->run.cost_ns =
        row_has(result, row, 6) ? fmax(0, row_number(result, row, 6)) : row_number(result, row, 5);
    mem_free(operation);
    mem_free(best);
    return true;
}

/* Steps. */

/* Those that a straggler does not explain, by being later in them than it is in the steps around.
 */
static const char outlier_query[] =
    "WITH blocks AS (SELECT x.rank, x.device_idx, s.block, median(x.excess_ns) AS usual_excess_ns "
    "FROM LaneStep AS x JOIN Straggler AS t ON t.rank = x.rank AND t.device_idx = x.device_idx "
    "JOIN "
    "Step AS s ON s.step = x.step GROUP BY x.rank, x.device_idx, s.block), explained AS (SELECT "
    "s.step FROM Step AS s JOIN LaneStep AS x ON x.step = s.step JOIN blocks AS b ON b.rank = "
    "x.rank "
    "AND b.device_idx = x.device_idx AND b.block = s.block WHERE s.is_outlier AND x.excess_ns - "
    "b.usual_excess_ns > " EXPLAINED_TEXT
    " * (s.median_ns - s.usual_ns)), unexplained AS (SELECT * FROM Step "
    "WHERE "
    "is_outlier AND step NOT IN (SELECT step FROM explained)) SELECT count(*) AS outliers, "
    "sum(median_ns - usual_ns) AS excess_ns, max(median_ns / usual_ns) AS worst, max_by(step, "
    "median_ns - usual_ns) AS worst_step, max_by(slowest_rank, median_ns - usual_ns) AS "
    "slowest_rank, max_by(late_lanes, median_ns - usual_ns) AS late_lanes, max_by(own_ns, "
    "median_ns "
    "- usual_ns) AS own_ns, list(step ORDER BY step)[1:20] AS steps FROM unexplained";

static bool add_outliers(void *context, const struct sql_result *result, size_t row)
{
    struct run_findings *findings = context;
    int64_t count = row_integer(result, row, 0);
    if (count == 0)
        return true;
    struct finding *finding =
        run_finding_add(findings, RULE_RUN_OUTLIER_STEPS, outlier_query, result, row);
    char excess[QUANTITY_SIZE];
    struct text steps = sql_value(result, row, 7);
    finding->title = finding_text(findings, "%" PRId64 " %s far longer than others", count,
                                  count == 1 ? "step is" : "steps are");
    finding->text = finding_text(
        findings,
        "Steps %.*s took %s more than usual together; the worst is step %" PRId64
        ", %.2f times as long. %s",
        (int)steps.size, steps.data, run_finding_time(row_number(result, row, 1), excess),
        row_integer(result, row, 3), row_number(result, row, 2),
        row_integer(result, row, 5) == 0 ? "All ranks were slower in it alike."
                                         : "Some ranks were later than others in it.");
    finding->advice = "Look for what happens in these steps only: checkpoints, evaluation, garbage "
                      "collection, compilation, a retry of the network.";
    finding->run.cost_ns = row_number(result, row, 1) / (double)findings->steps;
    return true;
}

static const char drift_query[] =
    "SELECT change_ns, initial_ns, fit, blocks, min(first_step) AS first_step, max(last_step) AS "
    "last_step FROM Drift WHERE blocks >= " DRIFT_BLOCKS_TEXT " AND fit >= " DRIFT_FIT_TEXT
    " AND abs(change_ns) >= " DRIFT_CHANGE_TEXT " * initial_ns "
    "GROUP BY change_ns, initial_ns, fit, blocks";

static bool add_drift(void *context, const struct sql_result *result, size_t row)
{
    struct run_findings *findings = context;
    struct finding *finding = run_finding_add(findings, RULE_DRIFT, drift_query, result, row);
    char change[QUANTITY_SIZE], initial[QUANTITY_SIZE];
    double change_ns = row_number(result, row, 0), initial_ns = row_number(result, row, 1);
    finding->title = finding_text(findings, "Steps become %s over the run",
                                  change_ns > 0 ? "longer" : "shorter");
    finding->text =
        finding_text(findings,
                     "From step %" PRId64 " to %" PRId64
                     " the typical rank's own time changes by %s (%+.1f %%), "
                     "from %s.",
                     row_integer(result, row, 4), row_integer(result, row, 5),
                     run_finding_time(fabs(change_ns), change), 100 * change_ns / initial_ns,
                     run_finding_time(initial_ns, initial));
    finding->advice = "All ranks change alike: look at temperature and power of the devices, at "
                      "sequence lengths that grow, at fragmented memory, at logs that grow.";
    finding->run.cost_ns = fmax(0, change_ns / 2);
    return true;
}

static const char imbalance_query[] =
    "WITH programs AS (SELECT program, count(*) AS lanes, min(rank) AS first_rank, max(rank) AS "
    "last_rank, median(median_own_ns) AS own_ns FROM RankSummary WHERE program > 0 GROUP BY "
    "program) SELECT max(own_ns) AS longest_ns, min(own_ns) AS shortest_ns, sum(own_ns * lanes) / "
    "sum(lanes) AS mean_ns, max_by(program, own_ns) AS program, max_by(first_rank, own_ns) AS "
    "first_rank, max_by(last_rank, own_ns) AS last_rank, max_by(lanes, own_ns) AS lanes, count(*) "
    "AS programs FROM programs HAVING count(*) > 1 AND max(own_ns) > " IMBALANCE_TEXT
    " * min(own_ns)";

static bool add_imbalance(void *context, const struct sql_result *result, size_t row)
{
    struct run_findings *findings = context;
    struct finding *finding =
        run_finding_add(findings, RULE_IMBALANCE, imbalance_query, result, row);
    char longest[QUANTITY_SIZE], shortest[QUANTITY_SIZE];
    finding->title = finding_text(findings, "Work is unevenly divided between %" PRId64 " programs",
                                  row_integer(result, row, 7));
    finding->text = finding_text(
        findings,
        "Ranks run different programs, as stages of a pipeline do: the longest, of %" PRId64
        " ranks between %" PRId64 " and %" PRId64
        ", takes %s of own time in a step, the shortest %s.",
        row_integer(result, row, 6), row_integer(result, row, 4), row_integer(result, row, 5),
        run_finding_time(row_number(result, row, 0), longest),
        run_finding_time(row_number(result, row, 1), shortest));
    finding->advice = "Move layers from the longest stage to others.";
    finding->run.cost_ns = row_number(result, row, 0) - row_number(result, row, 2);
    return true;
}

/* What is missing. */

static const char lost_query[] =
    "WITH added AS (SELECT ranks + (SELECT count(*) FROM DamagedRank) AS ranks, world_size FROM "
    "Run) SELECT world_size, ranks, (SELECT list(number ORDER BY number)[1:20] FROM (SELECT "
    "unnest(range(world_size)) AS number FROM Run) WHERE number NOT IN (SELECT rank FROM Lane) AND "
    "number NOT IN (SELECT rank FROM DamagedRank)) AS missing FROM added WHERE world_size > ranks";

static bool add_lost(void *context, const struct sql_result *result, size_t row)
{
    struct run_findings *findings = context;
    struct finding *finding = run_finding_add(findings, RULE_LOST_RANKS, lost_query, result, row);
    int64_t lost = row_integer(result, row, 0) - row_integer(result, row, 1);
    struct text missing = sql_value(result, row, 2);
    finding->title =
        finding_text(findings, "%" PRId64 " of %" PRId64 " ranks are not in the dataset", lost,
                     row_integer(result, row, 0));
    finding->text = finding_text(
        findings,
        "Missing: %.*s%s. If the others wait for one of these, that is seen as a slow transfer.",
        (int)missing.size, missing.data, lost > 20 ? " and more" : "");
    finding->advice = "Add their captures with kymo fleet add.";
    return true;
}

static const char damaged_query[] =
    "SELECT count(*) AS ranks, list(rank ORDER BY rank)[1:20] AS numbers, min(rank) AS first_rank, "
    "string_agg(concat('rank ', rank, ', ', file, ': ', reason), '; ' ORDER BY rank) FILTER "
    "(position <= 5) AS files FROM (SELECT *, row_number() OVER (ORDER BY rank) AS position FROM "
    "DamagedRank) HAVING count(*) > 0";

static bool add_damaged(void *context, const struct sql_result *result, size_t row)
{
    struct run_findings *findings = context;
    struct finding *finding =
        run_finding_add(findings, RULE_DAMAGED_RANKS, damaged_query, result, row);
    int64_t count = row_integer(result, row, 0);
    struct text files = sql_value(result, row, 3);
    if (count == 1)
        finding->title =
            finding_text(findings, "Rank %" PRId64 " is left out: a file of it cannot be read",
                         row_integer(result, row, 2));
    else
        finding->title = finding_text(
            findings, "%" PRId64 " ranks are left out: files of them cannot be read", count);
    finding->text = finding_text(findings, "Damaged: %.*s%s.", (int)files.size, files.data,
                                 count > 5 ? "; and more, listed in DamagedRank" : "");
    finding->advice = "Add them again with kymo fleet add --force, or remove them with kymo fleet "
                      "remove. If the others wait for one of these, that is seen as a slow "
                      "transfer.";
    return true;
}

static const char partial_query[] =
    "WITH whole AS (SELECT min(first_step) AS first_step, max(last_step) AS last_step FROM Lane) "
    "SELECT count(*) AS lanes, min(l.rank) AS rank, max_by(l.first_step, l.first_step - "
    "w.first_step + w.last_step - l.last_step) AS first_step, max_by(l.last_step, l.first_step - "
    "w.first_step + w.last_step - l.last_step) AS last_step, max_by(l.rank, l.first_step - "
    "w.first_step + w.last_step - l.last_step) AS worst_rank, list(l.rank ORDER BY l.rank)[1:20] "
    "AS ranks, min(w.first_step) AS run_first_step, max(w.last_step) AS run_last_step FROM Lane AS "
    "l "
    "CROSS JOIN whole AS w WHERE l.first_step > w.first_step OR l.last_step < w.last_step HAVING "
    "count(*) > 0";

static bool add_partial(void *context, const struct sql_result *result, size_t row)
{
    struct run_findings *findings = context;
    struct finding *finding =
        run_finding_add(findings, RULE_PARTIAL_CAPTURES, partial_query, result, row);
    int64_t count = row_integer(result, row, 0);
    struct text ranks = sql_value(result, row, 5);
    finding->title = finding_text(findings, "%" PRId64 " %s not have all steps", count,
                                  count == 1 ? "capture does" : "captures do");
    finding->text = finding_text(
        findings,
        "The run has steps %" PRId64 " to %" PRId64
        "; captures of ranks %.*s%s have fewer. Rank %" PRId64 " has %" PRId64 " to %" PRId64 ".",
        row_integer(result, row, 6), row_integer(result, row, 7), (int)ranks.size, ranks.data,
        count > 20 ? " and more" : "", row_integer(result, row, 4), row_integer(result, row, 2),
        row_integer(result, row, 3));
    finding->advice = "Their missing steps are left out. Larger buffers or a shorter capture keep "
                      "all of them.";
    return true;
}

static const char clock_query[] =
    "SELECT count(DISTINCT component) AS components, count(*) AS machines FROM Clock HAVING "
    "count(DISTINCT component) > 1";

static bool add_clocks(void *context, const struct sql_result *result, size_t row)
{
    struct run_findings *findings = context;
    struct finding *finding =
        run_finding_add(findings, RULE_CLOCKS_APART, clock_query, result, row);
    finding->text = finding_text(
        findings,
        "No collective connects the %" PRId64 " groups among %" PRId64
        " machines; times of machines in different "
        "groups are by their own clocks. Skews, waits and own times do not depend on clocks.",
        row_integer(result, row, 0), row_integer(result, row, 1));
    finding->advice = "Captures that have a collective of all ranks connect them.";
    return true;
}

static const char guessed_query[] = "SELECT guessed_ranks, ranks FROM Run WHERE guessed_ranks > 0";

static bool add_guessed(void *context, const struct sql_result *result, size_t row)
{
    struct run_findings *findings = context;
    struct finding *finding =
        run_finding_add(findings, RULE_GUESSED_STEPS, guessed_query, result, row);
    finding->title = finding_text(findings, "Steps of %" PRId64 " ranks are guessed",
                                  row_integer(result, row, 0));
    finding->text =
        finding_text(findings,
                     "Steps of %" PRId64 " of %" PRId64
                     " ranks have no numbers of the program: those of different ranks may "
                     "not be the same steps where captures did not begin together.",
                     row_integer(result, row, 0), row_integer(result, row, 1));
    finding->advice = "Mark steps in the program, as torch.profiler's step() or "
                      "jax.profiler.StepTraceAnnotation do.";
    return true;
}

static const char totals_query[] =
    "SELECT count(*), median(median_ns), (SELECT count(*) FROM Lane) FROM Step";

static bool read_totals(void *context, const struct sql_result *result, size_t row)
{
    struct run_findings *findings = context;
    findings->steps = row_integer(result, row, 0);
    findings->step_ns = row_number(result, row, 1);
    findings->lanes = row_integer(result, row, 2);
    return true;
}

static const char *const columns[][2] = {
    {"id", "BIGINT"},         {"rule", "VARCHAR"},         {"title", "VARCHAR"},
    {"statement", "VARCHAR"}, {"advice", "VARCHAR"},       {"cost_ns", "DOUBLE"},
    {"cost_share", "DOUBLE"}, {"rank_hours", "DOUBLE"},    {"rank", "BIGINT"},
    {"device_idx", "BIGINT"}, {"communicator", "VARCHAR"}, {"evidence", "VARCHAR"},
    {"sql", "VARCHAR"}};

#define NS_PER_HOUR 3.6e12

static bool write_findings(struct run_findings *findings, struct error *err)
{
    struct values values;
    values_begin(&values, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < findings->findings.count; i++) {
        const struct finding *finding = &findings->findings.items[i];
        values_put_integer(&values, (int64_t)i);
        values_put_text(&values, finding->rule);
        values_put_text(&values, finding->title);
        values_put_text(&values, finding->text);
        values_put_text(&values, finding->advice);
        values_put_number(&values, finding->run.cost_ns);
        values_put_number(&values,
                          findings->step_ns > 0 ? finding->run.cost_ns / findings->step_ns : 0);
        values_put_number(&values, finding->run.cost_ns * (double)findings->steps *
                                       (double)findings->lanes / NS_PER_HOUR);
        if (finding->run.rank >= 0) {
            values_put_integer(&values, finding->run.rank);
            values_put_integer(&values, finding->run.device);
        } else {
            values_put_null(&values);
            values_put_null(&values);
        }
        if (finding->run.communicator)
            values_put_text(&values, finding->run.communicator);
        else
            values_put_null(&values);
        values_put_text(&values, finding->run.row);
        values_put_text(&values, finding->sql);
    }
    return values_end(&values, findings->analysis, "RunFinding", err);
}

bool stage_findings(struct fleet_analysis *analysis, struct error *err)
{
    static const struct {
        const char *query;
        row_visitor *add;
    } rules[] = {
#define RUN_RULE(name, id, title, query, add) {query, add},
#include "analyze/findings/rules.def"
    };
    struct run_findings findings = {.analysis = analysis};
    bool ok = each_row(analysis, totals_query, read_totals, &findings, err);
    for (size_t i = 0; i < sizeof rules / sizeof *rules && ok; i++)
        if (i == 0 || rules[i].add != rules[i - 1].add) /* once where it is that of several */
            ok = each_row(analysis, rules[i].query, rules[i].add, &findings, err);
    note_incomplete_ranks(&findings);
    findings_sort(&findings.findings, 0, finding_costs_run_more);
    ok = ok && write_findings(&findings, err);
    findings_free(&findings.findings);
    return ok;
}
