/*
 * The stage RunFinding: what costs the run time, in words, with cost, evidence and the query behind
 * it. Costs are per step of all ranks: what a replay of steps saves where there is one.
 */
#include "fleet/findings.h"
#include "fleet/embedded_queries.h"
#include "wire/wire.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *run_finding_time(double ns, char text[static QUANTITY_SIZE])
{
    return format_ps(ns * 1000, text);
}

struct finding *run_finding_add(struct findings *findings, const char *rule)
{
    struct finding *finding = array_push(&findings->items);
    *finding = (struct finding){.rule = rule, .rank = -1, .device = -1};
    return finding;
}

char *run_finding_evidence(const struct sql_result *result, size_t row)
{
    struct output out;
    struct json json;
    output_memory(&out);
    json_begin(&json, &out, false);
    json_open(&json, '{');
    row_put_members(result, row, &json);
    json_close(&json, '}');
    char *text = mem_copy_text(out.data, out.size);
    output_discard(&out);
    return text;
}

/* Collectives. */

static bool add_communicator(void *context, const struct sql_result *result, size_t row)
{
    struct finding *finding = run_finding_add(context, "slow-communicator");
    char transfer[QUANTITY_SIZE], usual[QUANTITY_SIZE], bytes[QUANTITY_SIZE], pair[64] = "";
    struct text operation = sql_value(result, row, 1);
    finding->communicator = row_text(result, row, 0);
    if (row_integer(result, row, 2) >= 0)
        snprintf(pair, sizeof pair, " from rank %" PRId64 " to %" PRId64,
                 row_integer(result, row, 2), row_integer(result, row, 3));
    finding->title = path_format("%.*s in %s%s is slow", (int)operation.size, operation.data,
                                 finding->communicator, pair);
    double per_step = (row_number(result, row, 7) - row_number(result, row, 8)) *
                      row_number(result, row, 11) / row_number(result, row, 12);
    finding->statement = path_format(
        "Once all ranks have arrived, %.*s of %s takes %s; in the %" PRId64
        " communicators with as many ranks and machines the median is %s. It has %.1f GB/s of bus "
        "bandwidth.",
        (int)operation.size, operation.data,
        format_bytes((uint64_t)row_integer(result, row, 4), bytes),
        run_finding_time(row_number(result, row, 7), transfer), row_integer(result, row, 9),
        run_finding_time(row_number(result, row, 8), usual), row_number(result, row, 10));
    finding->advice = "Look at the links of its machines: errors and speed of network adapters and "
                      "cables, a switch that is shared, the topology the library has found.";
    finding->query = fleet_sql_finding_slow_communicator;
    finding->evidence = run_finding_evidence(result, row);
    finding->cost_ns = row_has(result, row, 13) ? fmax(0, row_number(result, row, 13)) : per_step;
    return true;
}

static bool add_operation(void *context, const struct sql_result *result, size_t row)
{
    struct finding *finding = run_finding_add(context, "slow-operation");
    char *operation = row_text(result, row, 0), *best = row_text(result, row, 4);
    finding->title = path_format("%s is slow everywhere", operation);
    finding->statement = path_format(
        "%s has %.1f GB/s of bus bandwidth, where %s has %.1f GB/s over the same communicators.",
        operation, row_number(result, row, 2), best, row_number(result, row, 3));
    finding->advice = "Look at the algorithm and protocol the library chooses for it, at its sizes "
                      "(many small ones cost latency), and at whether buffers are registered.";
    finding->query = fleet_sql_finding_slow_operation;
    finding->evidence = run_finding_evidence(result, row);
    finding->cost_ns =
        row_has(result, row, 6) ? fmax(0, row_number(result, row, 6)) : row_number(result, row, 5);
    mem_free(operation);
    mem_free(best);
    return true;
}

/* Steps. */

static bool add_outliers(void *context, const struct sql_result *result, size_t row)
{
    struct findings *findings = context;
    int64_t count = row_integer(result, row, 0);
    if (count == 0)
        return true;
    struct finding *finding = run_finding_add(findings, "outlier-steps");
    char excess[QUANTITY_SIZE];
    struct text steps = sql_value(result, row, 7);
    finding->title = path_format("%" PRId64 " %s far longer than others", count,
                                 count == 1 ? "step is" : "steps are");
    finding->statement = path_format(
        "Steps %.*s took %s more than usual together; the worst is step %" PRId64
        ", %.2f times as long. %s",
        (int)steps.size, steps.data, run_finding_time(row_number(result, row, 1), excess),
        row_integer(result, row, 3), row_number(result, row, 2),
        row_integer(result, row, 5) == 0 ? "All ranks were slower in it alike."
                                         : "Some ranks were later than others in it.");
    finding->advice = "Look for what happens in these steps only: checkpoints, evaluation, garbage "
                      "collection, compilation, a retry of the network.";
    finding->query = fleet_sql_finding_outlier_steps;
    finding->evidence = run_finding_evidence(result, row);
    finding->cost_ns = row_number(result, row, 1) / (double)findings->steps;
    return true;
}

static bool add_drift(void *context, const struct sql_result *result, size_t row)
{
    struct finding *finding = run_finding_add(context, "drift");
    char change[QUANTITY_SIZE], initial[QUANTITY_SIZE];
    double change_ns = row_number(result, row, 0), initial_ns = row_number(result, row, 1);
    finding->title =
        path_format("Steps become %s over the run", change_ns > 0 ? "longer" : "shorter");
    finding->statement =
        path_format("From step %" PRId64 " to %" PRId64
                    " the typical rank's own time changes by %s (%+.1f %%), "
                    "from %s.",
                    row_integer(result, row, 4), row_integer(result, row, 5),
                    run_finding_time(fabs(change_ns), change), 100 * change_ns / initial_ns,
                    run_finding_time(initial_ns, initial));
    finding->advice = "All ranks change alike: look at temperature and power of the devices, at "
                      "sequence lengths that grow, at fragmented memory, at logs that grow.";
    finding->query = fleet_sql_finding_drift;
    finding->evidence = run_finding_evidence(result, row);
    finding->cost_ns = fmax(0, change_ns / 2);
    return true;
}

static bool add_imbalance(void *context, const struct sql_result *result, size_t row)
{
    struct finding *finding = run_finding_add(context, "imbalance");
    char longest[QUANTITY_SIZE], shortest[QUANTITY_SIZE];
    finding->title = path_format("Work is unevenly divided between %" PRId64 " programs",
                                 row_integer(result, row, 7));
    finding->statement = path_format(
        "Ranks run different programs, as stages of a pipeline do: the longest, of %" PRId64
        " ranks between %" PRId64 " and %" PRId64
        ", takes %s of own time in a step, the shortest %s.",
        row_integer(result, row, 6), row_integer(result, row, 4), row_integer(result, row, 5),
        run_finding_time(row_number(result, row, 0), longest),
        run_finding_time(row_number(result, row, 1), shortest));
    finding->advice = "Move layers from the longest stage to others.";
    finding->query = fleet_sql_finding_imbalance;
    finding->evidence = run_finding_evidence(result, row);
    finding->cost_ns = row_number(result, row, 0) - row_number(result, row, 2);
    return true;
}

/* What is missing. */

static bool add_lost(void *context, const struct sql_result *result, size_t row)
{
    struct finding *finding = run_finding_add(context, "lost-ranks");
    int64_t lost = row_integer(result, row, 0) - row_integer(result, row, 1);
    struct text missing = sql_value(result, row, 2);
    finding->title = path_format("%" PRId64 " of %" PRId64 " ranks are not in the dataset", lost,
                                 row_integer(result, row, 0));
    finding->statement = path_format(
        "Missing: %.*s%s. If the others wait for one of these, that is seen as a slow transfer.",
        (int)missing.size, missing.data, lost > 20 ? " and more" : "");
    finding->advice = "Add their captures with kymo fleet add.";
    finding->query = fleet_sql_finding_lost_ranks;
    finding->evidence = run_finding_evidence(result, row);
    return true;
}

static bool add_damaged(void *context, const struct sql_result *result, size_t row)
{
    struct finding *finding = run_finding_add(context, "damaged-ranks");
    int64_t count = row_integer(result, row, 0);
    struct text files = sql_value(result, row, 3);
    if (count == 1)
        finding->title = path_format("Rank %" PRId64 " is left out: a file of it cannot be read",
                                     row_integer(result, row, 2));
    else
        finding->title =
            path_format("%" PRId64 " ranks are left out: files of them cannot be read", count);
    finding->statement = path_format("Damaged: %.*s%s.", (int)files.size, files.data,
                                     count > 5 ? "; and more, listed in DamagedRank" : "");
    finding->advice = "Add them again with kymo fleet add --force, or remove them with kymo fleet "
                      "remove. If the others wait for one of these, that is seen as a slow "
                      "transfer.";
    finding->query = fleet_sql_finding_damaged_ranks;
    finding->evidence = run_finding_evidence(result, row);
    return true;
}

static bool add_partial(void *context, const struct sql_result *result, size_t row)
{
    struct finding *finding = run_finding_add(context, "partial-captures");
    int64_t count = row_integer(result, row, 0);
    struct text ranks = sql_value(result, row, 5);
    finding->title = path_format("%" PRId64 " %s not have all steps", count,
                                 count == 1 ? "capture does" : "captures do");
    finding->statement = path_format(
        "The run has steps %" PRId64 " to %" PRId64
        "; captures of ranks %.*s%s have fewer. Rank %" PRId64 " has %" PRId64 " to %" PRId64 ".",
        row_integer(result, row, 6), row_integer(result, row, 7), (int)ranks.size, ranks.data,
        count > 20 ? " and more" : "", row_integer(result, row, 4), row_integer(result, row, 2),
        row_integer(result, row, 3));
    finding->advice = "Their missing steps are left out. Larger buffers or a shorter capture keep "
                      "all of them.";
    finding->query = fleet_sql_finding_partial_captures;
    finding->evidence = run_finding_evidence(result, row);
    return true;
}

static bool add_clocks(void *context, const struct sql_result *result, size_t row)
{
    struct finding *finding = run_finding_add(context, "clocks-apart");
    finding->title = mem_copy_text("Clocks of some machines cannot be compared",
                                   strlen("Clocks of some machines cannot be compared"));
    finding->statement = path_format(
        "No collective connects the %" PRId64 " groups among %" PRId64
        " machines; times of machines in different "
        "groups are by their own clocks. Skews, waits and own times do not depend on clocks.",
        row_integer(result, row, 0), row_integer(result, row, 1));
    finding->advice = "Captures that have a collective of all ranks connect them.";
    finding->query = fleet_sql_finding_clocks_apart;
    finding->evidence = run_finding_evidence(result, row);
    return true;
}

static bool add_guessed(void *context, const struct sql_result *result, size_t row)
{
    struct finding *finding = run_finding_add(context, "guessed-steps");
    finding->title =
        path_format("Steps of %" PRId64 " ranks are guessed", row_integer(result, row, 0));
    finding->statement =
        path_format("Steps of %" PRId64 " of %" PRId64
                    " ranks have no numbers of the program: those of different ranks may "
                    "not be the same steps where captures did not begin together.",
                    row_integer(result, row, 0), row_integer(result, row, 1));
    finding->advice = "Mark steps in the program, as torch.profiler's step() or "
                      "jax.profiler.StepTraceAnnotation do.";
    finding->query = fleet_sql_finding_guessed_steps;
    finding->evidence = run_finding_evidence(result, row);
    return true;
}

static bool read_totals(void *context, const struct sql_result *result, size_t row)
{
    struct findings *findings = context;
    findings->steps = row_integer(result, row, 0);
    findings->step_ns = row_number(result, row, 1);
    findings->lanes = row_integer(result, row, 2);
    return true;
}

static int compare_findings(const void *a, const void *b)
{
    const struct finding *left = a, *right = b;
    if (left->cost_ns != right->cost_ns)
        return left->cost_ns > right->cost_ns ? -1 : 1;
    return strcmp(left->title, right->title);
}

static const char *const columns[][2] = {
    {"id", "BIGINT"},         {"rule", "VARCHAR"},         {"title", "VARCHAR"},
    {"statement", "VARCHAR"}, {"advice", "VARCHAR"},       {"cost_ns", "DOUBLE"},
    {"cost_share", "DOUBLE"}, {"rank_hours", "DOUBLE"},    {"rank", "BIGINT"},
    {"device_idx", "BIGINT"}, {"communicator", "VARCHAR"}, {"evidence", "VARCHAR"},
    {"sql", "VARCHAR"}};

#define NS_PER_HOUR 3.6e12

static bool write_findings(struct findings *findings, struct error *err)
{
    struct values values;
    values_begin(&values, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < findings->items.count; i++) {
        const struct finding *finding = &findings->items.items[i];
        values_put_integer(&values, (int64_t)i);
        values_put_text(&values, finding->rule);
        values_put_text(&values, finding->title);
        values_put_text(&values, finding->statement);
        values_put_text(&values, finding->advice);
        values_put_number(&values, finding->cost_ns);
        values_put_number(&values,
                          findings->step_ns > 0 ? finding->cost_ns / findings->step_ns : 0);
        values_put_number(&values, finding->cost_ns * (double)findings->steps *
                                       (double)findings->lanes / NS_PER_HOUR);
        if (finding->rank >= 0) {
            values_put_integer(&values, finding->rank);
            values_put_integer(&values, finding->device);
        } else {
            values_put_null(&values);
            values_put_null(&values);
        }
        if (finding->communicator)
            values_put_text(&values, finding->communicator);
        else
            values_put_null(&values);
        values_put_text(&values, finding->evidence);
        values_put_query(&values, finding->query);
    }
    return values_end(&values, findings->analysis, "RunFinding", err);
}

bool stage_findings(struct fleet_analysis *analysis, struct error *err)
{
    struct findings findings = {.analysis = analysis};
    static const struct {
        const char *query;
        row_visitor *add;
    } rules[] = {
        {"SELECT count(*), median(median_ns), (SELECT count(*) FROM Lane) FROM Step", read_totals},
        {fleet_sql_finding_slow_rank, add_straggler},
        {fleet_sql_finding_slow_communicator, add_communicator},
        {fleet_sql_finding_slow_operation, add_operation},
        {fleet_sql_finding_outlier_steps, add_outliers},
        {fleet_sql_finding_drift, add_drift},
        {fleet_sql_finding_imbalance, add_imbalance},
        {fleet_sql_finding_damaged_ranks, add_damaged},
        {fleet_sql_finding_lost_ranks, add_lost},
        {fleet_sql_finding_partial_captures, add_partial},
        {fleet_sql_finding_clocks_apart, add_clocks},
        {fleet_sql_finding_guessed_steps, add_guessed}};
    bool ok = true;
    for (size_t i = 0; i < sizeof rules / sizeof *rules && ok; i++)
        ok = each_row(analysis, rules[i].query, rules[i].add, &findings, err);
    note_incomplete_ranks(&findings);
    if (findings.items.count > 0)
        qsort(findings.items.items, findings.items.count, sizeof *findings.items.items,
              compare_findings);
    ok = ok && write_findings(&findings, err);
    struct finding *finding;
    array_each (finding, &findings.items) {
        mem_free(finding->title);
        mem_free(finding->statement);
        mem_free(finding->evidence);
        mem_free(finding->communicator);
        mem_free(finding->machine);
    }
    array_free(&findings.items);
    return ok;
}
