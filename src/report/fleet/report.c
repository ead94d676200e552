/*
 * The report of a run: what it was, the findings, and tables of what they are drawn from, as text,
 * Markdown or JSON. Units of columns are known by their names.
 */
#include "base/wire/wire.h"
#include "export/export.h"
#include "report/fleet/work.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Tables after the findings, in the order a reader needs them. */
static const struct section {
    const char *key, *title, *note, *query;
} sections[] = {
    {"slow_ranks", "Slow ranks",
     "Own time is a step's time without communication, in which a rank may wait for others.",
     "SELECT rank, device_idx AS device, instance AS machine, kind, first_step AS since_step, "
     "late_share, excess_ns, excess_ns / expected_ns AS excess_share, cause, kernel FROM Straggler "
     "ORDER BY mean_excess_ns DESC, rank, device_idx LIMIT 32"},
    {"what_if", "What if",
     "Steps replayed with a change; replay_error_ns is how far a replay without one is off.",
     "SELECT change, steps, before_ns, after_ns, saved_ns, saved_ns / before_ns AS saved_share, "
     "replay_error_ns FROM WhatIf ORDER BY saved_ns DESC, change"},
    {"critical_path", "Critical path",
     "The longest chain of work and transfers of some steps: what it is made of, by rank.",
     "WITH parts AS (SELECT step, rank, kind, communicator, operation, end_ns - start_ns AS "
     "length_ns, "
     "compute_ns, copy_ns, host_ns, other_ns FROM CriticalPath) SELECT kind, CASE WHEN kind = "
     "'transfer' THEN operation ELSE concat('rank ', rank) END AS of, sum(length_ns) / (SELECT "
     "count(DISTINCT step) FROM parts) AS per_step_ns, sum(length_ns) / (SELECT sum(length_ns) "
     "FROM "
     "parts) AS path_share, sum(compute_ns) / (SELECT count(DISTINCT step) FROM parts) AS "
     "compute_ns, sum(host_ns) / (SELECT count(DISTINCT step) FROM parts) AS host_ns, sum(copy_ns) "
     "/ (SELECT count(DISTINCT step) FROM parts) AS copy_ns FROM parts GROUP BY 1, 2 ORDER BY "
     "per_step_ns DESC LIMIT 10"},
    {"skews", "Collectives that ranks wait in most",
     "Skew is from the first arrival to the last; waited, by all ranks together in a step.",
     "SELECT communicator, operation, group_size AS ranks, bytes, skew_ns AS median_skew_ns, "
     "max_skew_ns, CAST(waited_ns AS DOUBLE) / steps AS waited_per_step_ns FROM Communicator WHERE "
     "matches > 0 ORDER BY waited_per_step_ns DESC, communicator, operation LIMIT 8"},
    {"bandwidths", "Bandwidths",
     "Median transfers once all ranks are there; bus bandwidth as nccl-tests have it.",
     "SELECT operation, group_size AS ranks, machines, bytes, count(*) AS communicators, "
     "median(transfer_ns) AS transfer_ns, max(transfer_ns) AS worst_ns, "
     "median(algorithm_bandwidth) AS algorithm_bandwidth, median(bus_bandwidth) AS bus_bandwidth, "
     "min(bus_bandwidth) AS worst_bandwidth FROM Communicator WHERE complete > 0 GROUP BY "
     "operation, group_size, machines, bytes ORDER BY operation, bytes DESC, ranks LIMIT 16"},
    {"clocks", "Clocks", "Against the mean of the machines; only the most different are listed.",
     "SELECT instance AS machine, offset_ns, drift_ppm, error_ns, samples, component FROM Clock "
     "ORDER BY abs(offset_ns) DESC, instance LIMIT 8"},
    {"longest_steps", "Longest steps", "",
     "SELECT step, median_ns, median_ns / usual_ns - 1 AS above_usual_share, "
     "slowest_rank, slowest_excess_ns, late_lanes, is_outlier FROM Step ORDER BY median_ns DESC, "
     "step LIMIT 5"},
};
enum { SECTIONS = sizeof sections / sizeof *sections };

static const char summary_query[] =
    "SELECT r.ranks, r.world_size, r.machines, r.device_name, (SELECT count(*) FROM Step) AS "
    "steps, "
    "(SELECT min(step) FROM Step) AS first_step, (SELECT max(step) FROM Step) AS last_step, "
    "(SELECT "
    "max(end_ns) - min(start_ns) FROM Step) AS duration_ns, (SELECT median(median_ns) FROM Step) "
    "AS "
    "step_ns, (SELECT min(median_ns) FROM Step) AS shortest_ns, (SELECT max(median_ns) FROM Step) "
    "AS longest_ns, s.compute_ns, s.copy_ns, s.exposed_ns, s.overlap_ns, s.idle_host_ns, "
    "s.idle_rest_ns, s.communication_ns, (SELECT count(*) FROM MatchedStep) AS matched_steps, "
    "(SELECT count(*) FROM CollectiveMatch) AS matched_collectives, (SELECT sum(waited_ns) FROM "
    "CollectiveMatch) / greatest((SELECT count(*) FROM MatchedStep), 1) / (SELECT count(*) FROM "
    "Lane) AS waited_ns, (SELECT max(error_ns) FROM Clock) AS clock_error_ns, (SELECT count(*) "
    "FROM "
    "Straggler) AS straggler_count, (SELECT max(abs(replay_error_ns)) FROM CriticalPath) AS "
    "replay_error_ns, (SELECT count(*) FROM Lane) AS lanes FROM Run AS r CROSS JOIN (SELECT "
    "median(compute_ns) AS compute_ns, median(copy_ns) AS copy_ns, "
    "median(exposed_communication_ns) "
    "AS exposed_ns, median(overlap_ns) AS overlap_ns, median(idle_host_ns) AS idle_host_ns, "
    "median(idle_kernel_ns + idle_other_ns) AS idle_rest_ns, median(communication_ns) AS "
    "communication_ns FROM RankSummary) AS s";

static const char finding_query[] =
    "SELECT rule, title, statement, advice, cost_ns, cost_share, rank_hours, rank, device_idx, "
    "communicator, evidence, sql FROM RunFinding ORDER BY id";
enum {
    F_RULE,
    F_TITLE,
    F_STATEMENT,
    F_ADVICE,
    F_COST,
    F_SHARE,
    F_HOURS,
    F_RANK,
    F_DEVICE,
    F_COMMUNICATOR,
    F_EVIDENCE,
    F_SQL
};

struct reporting {
    struct fleet_analysis *analysis;
    const struct fleet_report_style *style;
    struct output *out;
    struct json json;
    size_t findings;
};

static bool ends_with(const char *name, const char *end)
{
    return text_ends(text_of(name), text_of(end));
}

enum { CELL_SIZE = 96 };

/* A value as a reader wants it, by the name of its column. */
static void format_cell(const struct sql_result *result, size_t row, size_t column,
                        const char *name, char cell[static CELL_SIZE])
{
    struct text value = sql_value(result, row, column);
    char number[QUANTITY_SIZE];
    double figure = row_number(result, row, column);
    if (!value.data)
        snprintf(cell, CELL_SIZE, "-");
    else if (ends_with(name, "_ns"))
        snprintf(cell, CELL_SIZE, "%s%s", figure < 0 ? "-" : "",
                 format_ps(fabs(figure) * 1000, number));
    else if (ends_with(name, "_share"))
        snprintf(cell, CELL_SIZE, "%.1f %%", 100 * figure);
    else if (ends_with(name, "bandwidth"))
        snprintf(cell, CELL_SIZE, "%.1f GB/s", figure);
    else if (ends_with(name, "_ppm"))
        snprintf(cell, CELL_SIZE, "%+.3f", figure);
    else if (strcmp(name, "bytes") == 0)
        format_bytes((uint64_t)figure, cell);
    else
        snprintf(cell, CELL_SIZE, "%.*s", (int)(value.size < 60 ? value.size : 60), value.data);
}

/* "median_skew_ns" is "median skew". */
static void format_heading(const char *name, char heading[static CELL_SIZE])
{
    size_t size = strlen(name);
    static const char *const units[] = {"_ns", "_ppm"};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (ends_with(name, units[i]) && i == 0)
            size -= strlen(units[i]);
    snprintf(heading, CELL_SIZE, "%.*s", (int)size, name);
    for (char *at = heading; *at; at++)
        *at = *at == '_' ? ' ' : *at;
}

/* Cells of a table, row by row, the headings first. */
struct report_table {
    struct output cells; /* each NUL-terminated */
    size_t columns, rows;
    size_t widths[32];
    bool is_number[32];
};

static size_t characters(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

static void add_cell(struct report_table *table, size_t column, const char *cell)
{
    size_t width = characters(cell);
    if (width > table->widths[column])
        table->widths[column] = width;
    output_write(&table->cells, cell, strlen(cell) + 1);
}

static bool add_table_row(void *context, const struct sql_result *result, size_t row)
{
    struct report_table *table = context;
    size_t count;
    const struct sql_column *columns = sql_columns(result, &count);
    char cell[CELL_SIZE];
    assert(count <= sizeof table->widths / sizeof *table->widths);
    if (table->rows++ == 0) {
        table->columns = count;
        for (size_t i = 0; i < count; i++) {
            format_heading(columns[i].name, cell);
            add_cell(table, i, cell);
            table->is_number[i] = columns[i].kind == SQL_NUMBER;
        }
    }
    for (size_t i = 0; i < count; i++) {
        format_cell(result, row, i, columns[i].name, cell);
        add_cell(table, i, cell);
    }
    return true;
}

static void put_padded(struct output *out, const char *cell, size_t width, bool is_right)
{
    size_t size = characters(cell), blanks = width > size ? width - size : 0;
    for (size_t i = 0; i < blanks && is_right; i++)
        output_char(out, ' ');
    output_text(out, cell);
    for (size_t i = 0; i < blanks && !is_right; i++)
        output_char(out, ' ');
}

static void put_text_row(struct output *out, const struct report_table *table, const char **cell)
{
    output_text(out, " ");
    for (size_t i = 0; i < table->columns; i++, *cell += strlen(*cell) + 1) {
        output_text(out, " ");
        bool is_last = i + 1 == table->columns;
        put_padded(out, *cell, is_last && !table->is_number[i] ? 0 : table->widths[i],
                   table->is_number[i]);
        output_text(out, is_last ? "" : " ");
    }
    output_char(out, '\n');
}

static void put_markdown_row(struct output *out, const struct report_table *table,
                             const char **cell)
{
    output_char(out, '|');
    for (size_t i = 0; i < table->columns; i++, *cell += strlen(*cell) + 1) {
        output_char(out, ' ');
        for (const char *at = *cell; *at; at++) {
            output_text(out, *at == '|' ? "\\" : "");
            output_char(out, *at);
        }
        output_text(out, " |");
    }
    output_char(out, '\n');
}

static void put_table(struct output *out, const struct report_table *table, bool is_markdown)
{
    const char *cell = table->cells.data;
    for (size_t row = 0; row <= table->rows; row++) {
        if (!is_markdown) {
            put_text_row(out, table, &cell);
            continue;
        }
        put_markdown_row(out, table, &cell);
        for (size_t i = 0; i < table->columns && row == 0; i++)
            output_text(out, table->is_number[i] ? "| ---: " : "| --- ");
        output_text(out, row == 0 ? "|\n" : "");
    }
}

static void put_title(struct reporting *reporting, const char *title)
{
    bool is_markdown = reporting->style->format == FLEET_MARKDOWN;
    bool has_colour = reporting->style->has_colour && !is_markdown;
    output_format(reporting->out, "\n%s%s%s%s\n", is_markdown ? "## " : "",
                  has_colour ? "\033[1m" : "", title, has_colour ? "\033[0m" : "");
    output_text(reporting->out, is_markdown ? "\n" : "");
}

static bool put_section(struct reporting *reporting, const struct section *section,
                        struct error *err)
{
    struct report_table table = {0};
    bool is_markdown = reporting->style->format == FLEET_MARKDOWN;
    output_memory(&table.cells);
    bool ok = each_row(reporting->analysis, section->query, add_table_row, &table, err);
    if (ok && table.rows > 0) {
        put_title(reporting, section->title);
        if (*section->note)
            output_format(reporting->out, "%s%s\n%s", is_markdown ? "" : "  ", section->note,
                          is_markdown ? "\n" : "");
        put_table(reporting->out, &table, is_markdown);
    }
    output_discard(&table.cells);
    return ok;
}

/* A row as members of the open JSON object. */
static void put_json_members(struct json *json, const struct sql_result *result, size_t row)
{
    size_t count;
    const struct sql_column *columns = sql_columns(result, &count);
    for (size_t i = 0; i < count; i++) {
        struct text value = sql_value(result, row, i);
        json_key(json, columns[i].name);
        bool is_raw = columns[i].kind == SQL_BOOLEAN || columns[i].kind == SQL_JSON ||
                      (columns[i].kind == SQL_NUMBER && isfinite(row_number(result, row, i)));
        if (!value.data)
            json_null(json);
        else if (is_raw)
            json_raw(json, value);
        else
            json_text(json, value);
    }
}

static bool put_json_row(void *context, const struct sql_result *result, size_t row)
{
    struct reporting *reporting = context;
    json_open_row(&reporting->json, '{');
    put_json_members(&reporting->json, result, row);
    json_close_row(&reporting->json, '}');
    return true;
}

static bool put_json_summary(void *context, const struct sql_result *result, size_t row)
{
    struct reporting *reporting = context;
    put_json_members(&reporting->json, result, row);
    return true;
}

static bool put_json_finding(void *context, const struct sql_result *result, size_t row)
{
    struct reporting *reporting = context;
    struct json *json = &reporting->json;
    static const char *const texts[] = {"rule", "title", "statement", "advice"};
    json_open(json, '{');
    for (size_t i = 0; i < 4; i++)
        json_put_text(json, texts[i], sql_value(result, row, i));
    json_put_double(json, "cost_ns", row_number(result, row, F_COST));
    json_put_double(json, "cost_share", row_number(result, row, F_SHARE));
    json_put_double(json, "rank_hours", row_number(result, row, F_HOURS));
    if (row_has(result, row, F_RANK)) {
        json_put_int(json, "rank", row_integer(result, row, F_RANK));
        json_put_int(json, "device", row_integer(result, row, F_DEVICE));
    }
    if (row_has(result, row, F_COMMUNICATOR))
        json_put_text(json, "communicator", sql_value(result, row, F_COMMUNICATOR));
    json_key(json, "evidence");
    json_raw(json, sql_value(result, row, F_EVIDENCE));
    if (reporting->style->with_sql)
        json_put_text(json, "sql", sql_value(result, row, F_SQL));
    json_close(json, '}');
    return true;
}

static bool report_json(struct reporting *reporting, struct error *err)
{
    struct json *json = &reporting->json;
    json_begin(json, reporting->out, true);
    json_open(json, '{');
    json_put_text(json, "run", text_of(reporting->analysis->run));
    bool ok = each_row(reporting->analysis, summary_query, put_json_summary, reporting, err);
    json_key(json, "findings");
    json_open(json, '[');
    ok = ok && each_row(reporting->analysis, finding_query, put_json_finding, reporting, err);
    json_close(json, ']');
    for (size_t i = 0; i < SECTIONS && ok; i++) {
        json_key(json, sections[i].key);
        json_open(json, '[');
        ok = each_row(reporting->analysis, sections[i].query, put_json_row, reporting, err);
        json_close(json, ']');
    }
    json_close(json, '}');
    return ok;
}

enum {
    R_RANKS,
    R_WORLD,
    R_MACHINES,
    R_DEVICE,
    R_STEPS,
    R_FIRST,
    R_LAST,
    R_DURATION,
    R_STEP,
    R_SHORTEST,
    R_LONGEST,
    R_COMPUTE,
    R_COPY,
    R_EXPOSED,
    R_OVERLAP,
    R_HOST,
    R_REST,
    R_COMMUNICATION,
    R_MATCHED,
    R_COLLECTIVES,
    R_WAITED,
    R_CLOCK_ERROR
};

static void put_time(struct output *out, const char *before, const struct sql_result *result,
                     size_t row, size_t column, const char *after)
{
    char text[QUANTITY_SIZE];
    output_format(out, "%s%s%s", before,
                  format_ps(fabs(row_number(result, row, column)) * 1000, text), after);
}

static bool put_summary(void *context, const struct sql_result *result, size_t row)
{
    struct reporting *reporting = context;
    struct output *out = reporting->out;
    bool is_markdown = reporting->style->format == FLEET_MARKDOWN;
    const char *line = is_markdown ? "- " : "  ";
    struct text device = sql_value(result, row, R_DEVICE);
    int64_t world = row_integer(result, row, R_WORLD);
    output_format(out, "%sRun %s%s", is_markdown ? "# " : "", reporting->analysis->run,
                  is_markdown ? "\n\n" : "\n");
    output_format(out, "%s%" PRId64, line, row_integer(result, row, R_RANKS));
    if (world > row_integer(result, row, R_RANKS))
        output_format(out, " of %" PRId64, world);
    output_format(out, " ranks on %" PRId64 " machines", row_integer(result, row, R_MACHINES));
    if (device.size > 0)
        output_format(out, ", %.*s", (int)device.size, device.data);
    output_format(out, "; %" PRId64 " steps (%" PRId64 " to %" PRId64 ")",
                  row_integer(result, row, R_STEPS), row_integer(result, row, R_FIRST),
                  row_integer(result, row, R_LAST));
    put_time(out, ", ", result, row, R_DURATION, "\n");
    output_text(out, line);
    put_time(out, "Step time ", result, row, R_STEP, " (median; ");
    put_time(out, "", result, row, R_SHORTEST, " to ");
    put_time(out, "", result, row, R_LONGEST, ")\n");
    output_text(out, line);
    put_time(out, "Of the median rank: computes ", result, row, R_COMPUTE, ", ");
    put_time(out, "communicates without computing ", result, row, R_EXPOSED, ", ");
    if (row_number(result, row, R_OVERLAP) > 0)
        put_time(out, "while computing ", result, row, R_OVERLAP, ", ");
    put_time(out, "copies ", result, row, R_COPY, ", ");
    put_time(out, "waits for its host ", result, row, R_HOST, ", ");
    put_time(out, "idle otherwise ", result, row, R_REST, "\n");
    output_format(out, "%s%" PRId64 " collectives of %" PRId64 " steps matched over ranks", line,
                  row_integer(result, row, R_COLLECTIVES), row_integer(result, row, R_MATCHED));
    put_time(out, "; in them a rank waits for others ", result, row, R_WAITED, " per step\n");
    if (row_has(result, row, R_CLOCK_ERROR)) {
        output_text(out, line);
        put_time(out, "Clocks are aligned to ", result, row, R_CLOCK_ERROR, " (largest error)\n");
    }
    return true;
}

static void put_cost(struct output *out, const struct sql_result *result, size_t row)
{
    double cost = row_number(result, row, F_COST);
    if (cost <= 0)
        return;
    put_time(out, "", result, row, F_COST, " per step");
    output_format(out, " (%.1f %%), %.3g rank-hours in all", 100 * row_number(result, row, F_SHARE),
                  row_number(result, row, F_HOURS));
}

enum { WIDTH = 100 }; /* of lines */

static bool put_text_finding(void *context, const struct sql_result *result, size_t row)
{
    struct reporting *reporting = context;
    struct output *out = reporting->out;
    struct text title = sql_value(result, row, F_TITLE);
    reporting->findings++;
    output_format(out, "%s%3zu. %.*s\n", reporting->findings > 1 ? "\n" : "", reporting->findings,
                  (int)title.size, title.data);
    if (row_number(result, row, F_COST) > 0) {
        output_text(out, "     costs ");
        put_cost(out, result, row);
        output_char(out, '\n');
    }
    export_wrapped(out, WIDTH, 5, sql_value(result, row, F_STATEMENT));
    export_wrapped(out, WIDTH, 5, sql_value(result, row, F_ADVICE));
    if (reporting->style->with_sql)
        export_wrapped(out, WIDTH, 7, sql_value(result, row, F_SQL));
    return true;
}

static bool put_markdown_finding(void *context, const struct sql_result *result, size_t row)
{
    struct reporting *reporting = context;
    struct output *out = reporting->out;
    struct text title = sql_value(result, row, F_TITLE);
    struct text statement = sql_value(result, row, F_STATEMENT);
    struct text advice = sql_value(result, row, F_ADVICE), sql = sql_value(result, row, F_SQL);
    reporting->findings++;
    output_format(out, "%zu. **%.*s**", reporting->findings, (int)title.size, title.data);
    if (row_number(result, row, F_COST) > 0) {
        output_text(out, " costs ");
        put_cost(out, result, row);
    }
    output_format(out, ". %.*s %.*s\n", (int)statement.size, statement.data, (int)advice.size,
                  advice.data);
    if (reporting->style->with_sql)
        output_format(out, "\n   ```sql\n   %.*s\n   ```\n", (int)sql.size, sql.data);
    return true;
}

static bool report_words(struct reporting *reporting, struct error *err)
{
    bool is_markdown = reporting->style->format == FLEET_MARKDOWN;
    bool ok = each_row(reporting->analysis, summary_query, put_summary, reporting, err);
    put_title(reporting, "Findings");
    ok = ok && each_row(reporting->analysis, finding_query,
                        is_markdown ? put_markdown_finding : put_text_finding, reporting, err);
    if (ok && reporting->findings == 0)
        output_text(reporting->out, is_markdown ? "None.\n" : "  None.\n");
    for (size_t i = 0; i < SECTIONS && ok; i++)
        ok = put_section(reporting, &sections[i], err);
    return ok;
}

bool fleet_report(struct fleet_analysis *analysis, const struct fleet_report_style *style,
                  struct output *out, struct error *err)
{
    struct reporting reporting = {.analysis = analysis, .style = style, .out = out};
    return style->format == FLEET_JSON ? report_json(&reporting, err)
                                       : report_words(&reporting, err);
}
