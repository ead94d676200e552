/*
 * The stage RunFinding: what costs the run time, in words, with cost, evidence and the query behind
 * it. Costs are per step of all ranks: what a replay of steps saves where there is one.
 */
#include "report/fleet/findings.h"
#include "base/wire/wire.h"
#include "report/fleet/embedded_queries.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A query with its thresholds filled in; lives as long as the findings. */
static const char *fill_thresholds(struct run_findings *findings, const char *query)
{
    static const struct sql_blank thresholds[] = {
        {"EXPLAINED_SHARE", .text = THRESHOLD_TEXT(EXPLAINED_SHARE)},
        {"DRIFT_FIT_SHARE", .text = THRESHOLD_TEXT(DRIFT_FIT_SHARE)},
        {"MIN_DRIFT_BLOCKS", .text = THRESHOLD_TEXT(MIN_DRIFT_BLOCKS)},
        {"MIN_DRIFT_SHARE", .text = THRESHOLD_TEXT(MIN_DRIFT_SHARE)},
        {"IMBALANCE_FACTOR", .text = THRESHOLD_TEXT(IMBALANCE_FACTOR)},
    };
    struct output out;
    output_memory(&out);
    sql_fill(&out, query, thresholds, sizeof thresholds / sizeof *thresholds);
    const char *text = arena_copy_text(&findings->findings.texts, out.data, out.size);
    output_discard(&out);
    return text;
}

/* Collectives. */

/* Columns are those of finding_slow_communicator.sql. The cost is the replay's (column 13) where
 * there is one, which accounts for overlap; otherwise the excess of the transfers, an upper bound.
 */
static bool add_communicator(void *context, const struct sql_result *result, size_t row)
{
    struct run_findings *findings = context;
    struct finding *finding = run_finding_add(findings, RULE_SLOW_COMMUNICATOR, result, row);
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

static bool add_operation(void *context, const struct sql_result *result, size_t row)
{
    struct run_findings *findings = context;
    struct finding *finding = run_finding_add(findings, RULE_SLOW_OPERATION, result, row);
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

static bool add_outliers(void *context, const struct sql_result *result, size_t row)
{
    struct run_findings *findings = context;
    int64_t count = row_integer(result, row, 0);
    if (count == 0)
        return true;
    struct finding *finding = run_finding_add(findings, RULE_RUN_OUTLIER_STEPS, result, row);
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

static bool add_drift(void *context, const struct sql_result *result, size_t row)
{
    struct run_findings *findings = context;
    struct finding *finding = run_finding_add(findings, RULE_DRIFT, result, row);
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

static bool add_imbalance(void *context, const struct sql_result *result, size_t row)
{
    struct run_findings *findings = context;
    struct finding *finding = run_finding_add(findings, RULE_IMBALANCE, result, row);
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

static bool add_lost(void *context, const struct sql_result *result, size_t row)
{
    struct run_findings *findings = context;
    struct finding *finding = run_finding_add(findings, RULE_LOST_RANKS, result, row);
    int64_t lost = row_integer(result, row, 0) - row_integer(result, row, 1);
    struct text missing = sql_value(result, row, 2);
    finding->title =
        finding_text(findings, "%" PRId64 " of %" PRId64 " ranks are not in the dataset", lost,
                     row_integer(result, row, 0));
    finding->text = finding_text(
        findings,
        "Missing: %.*s%s. Waits of other ranks for one of these look like slow transfers.",
        (int)missing.size, missing.data, lost > 20 ? " and more" : "");
    finding->advice = "Add their captures with kymo fleet add.";
    return true;
}

static bool add_damaged(void *context, const struct sql_result *result, size_t row)
{
    struct run_findings *findings = context;
    struct finding *finding = run_finding_add(findings, RULE_DAMAGED_RANKS, result, row);
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
                      "remove. Waits of other ranks for one of these look like slow "
                      "transfers.";
    return true;
}

static bool add_partial(void *context, const struct sql_result *result, size_t row)
{
    struct run_findings *findings = context;
    struct finding *finding = run_finding_add(findings, RULE_PARTIAL_CAPTURES, result, row);
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

static bool add_clocks(void *context, const struct sql_result *result, size_t row)
{
    struct run_findings *findings = context;
    struct finding *finding = run_finding_add(findings, RULE_CLOCKS_APART, result, row);
    finding->text = finding_text(
        findings,
        "No collective connects the %" PRId64 " groups among %" PRId64
        " machines; times of machines in different "
        "groups are those of their own clocks. Skews, waits and own times do not depend on clocks.",
        row_integer(result, row, 0), row_integer(result, row, 1));
    finding->advice = "Captures that have a collective of all ranks connect them.";
    return true;
}

/* Columns are those of finding_collectives_apart.sql. */
static bool add_apart(void *context, const struct sql_result *result, size_t row)
{
    struct run_findings *findings = context;
    struct finding *finding = run_finding_add(findings, RULE_COLLECTIVES_APART, result, row);
    char spread[QUANTITY_SIZE], error[QUANTITY_SIZE];
    struct text operation = sql_value(result, row, 4), communicator = sql_value(result, row, 5);
    finding->title =
        finding_text(findings, "Ranks do not end %" PRId64 " of %" PRId64 " collectives together",
                     row_integer(result, row, 0), row_integer(result, row, 1));
    finding->text = finding_text(
        findings,
        "The ends of %.*s in %.*s are %s apart in step %" PRId64
        ", more than its transfer takes and the clocks' error of %s explains. All ranks leave a "
        "collective together, so these are different ones or the clocks are wrong: skews, waits "
        "and bandwidths leave them out.",
        (int)operation.size, operation.data, (int)communicator.size, communicator.data,
        run_finding_time(row_number(result, row, 2), spread), row_integer(result, row, 6),
        run_finding_time(row_number(result, row, 3), error));
    finding->advice = "Capture the same steps on all ranks, with the program's own step numbers; "
                      "compare the clocks of the machines.";
    return true;
}

static bool add_guessed(void *context, const struct sql_result *result, size_t row)
{
    struct run_findings *findings = context;
    struct finding *finding = run_finding_add(findings, RULE_GUESSED_STEPS, result, row);
    finding->title = finding_text(findings, "Steps of %" PRId64 " ranks are guessed",
                                  row_integer(result, row, 0));
    finding->text =
        finding_text(findings,
                     "Steps of %" PRId64 " of %" PRId64
                     " ranks lack the program's numbers: if captures did not begin together, steps "
                     "of different ranks may not be the same steps.",
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

/* The cost in ns, as a share of the step time, and in hours, if every lane waits for it in every
 * step. What costs nothing that is known has none. */
static void put_costs(struct values *values, const struct run_findings *findings, double cost_ns)
{
    if (cost_ns > 0 && findings->step_ns > 0) {
        values_put_number(values, cost_ns);
        values_put_number(values, cost_ns / findings->step_ns);
        values_put_number(values, cost_ns * (double)findings->steps * (double)findings->lanes /
                                      NS_PER_HOUR);
        return;
    }
    for (int i = 0; i < 3; i++)
        values_put_null(values);
}

/* Sorted before: the row number is the rank of the finding. */
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
        put_costs(&values, findings, finding->run.cost_ns);
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
        values_put_query(&values, finding->sql);
    }
    return values_end(&values, findings->analysis, "RunFinding", err);
}

bool stage_findings(struct fleet_analysis *analysis, struct error *err)
{
    static const struct {
        const char *query;
        row_visitor *add;
    } rules[] = {
#define RUN_RULE(name, id, title, query, add) {fleet_sql_##query, add},
#include "analyze/findings/rules.def"
    };
    struct run_findings findings = {.analysis = analysis};
    bool ok = each_row(analysis, totals_query, read_totals, &findings, err);
    for (size_t i = 0; i < sizeof rules / sizeof *rules && ok; i++) {
        if (i > 0 && rules[i].add == rules[i - 1].add) /* one query for several rules */
            continue;
        findings.query = fill_thresholds(&findings, rules[i].query);
        ok = each_row(analysis, findings.query, rules[i].add, &findings, err);
    }
    note_incomplete_ranks(&findings);
    findings_sort(&findings.findings, 0, finding_costs_run_more);
    ok = ok && write_findings(&findings, err);
    findings_free(&findings.findings);
    return ok;
}
