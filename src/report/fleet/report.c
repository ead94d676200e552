/*
 * The report of a run: what it was, the findings, and tables of what they are drawn from, as text,
 * Markdown or JSON. Units of columns are known by their names.
 */
#include "base/wire/wire.h"
#include "export/export.h"
#include "report/fleet/embedded_queries.h"
#include "report/fleet/work.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Tables after the findings, in the order a reader needs them. */
static const struct section {
    const char *key, *title, *note, *query;
} sections[] = {
    {"slow_ranks", "Slow ranks",
     "Own time is a step's time without communication, in which a rank may wait for others. The "
     "late share is of its steps, the excess share of the expected own time.",
     fleet_sql_report_slow_ranks},
    {"what_if", "What if",
     "Steps replayed with a change. The saved share is of the time before; the replay error is how "
     "far a replay without a change is off.",
     fleet_sql_report_what_if},
    {"critical_path", "Critical path",
     "The longest chain of work and transfers of some steps: what it is made of, by rank.",
     fleet_sql_report_critical_path},
    {"skews", "Collectives that ranks wait in most",
     "Skew is from the first arrival to the last; waited, by all ranks together in a step.",
     fleet_sql_report_skews},
    {"bandwidths", "Bandwidths",
     "Median transfers once all ranks are there; bus bandwidth as nccl-tests have it.",
     fleet_sql_report_bandwidths},
    {"clocks", "Clocks", "Against the mean of the machines; only the most different are listed.",
     fleet_sql_report_clocks},
    {"longest_steps", "Longest steps",
     "The share above the usual is of the median of 25 steps around it.",
     fleet_sql_report_longest_steps},
};
enum { SECTIONS = sizeof sections / sizeof *sections };

const char *fleet_report_query(const char *part)
{
    for (size_t i = 0; i < SECTIONS; i++)
        if (strcmp(part, sections[i].key) == 0)
            return sections[i].query;
    return strcmp(part, "findings") == 0 ? fleet_sql_report_findings : fleet_sql_report_summary;
}

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
    F_SQL,
    F_ID
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

/* The rows of a section. */
struct section_rows {
    struct table table;
    struct column *columns; /* with titles of their own; NULL until there is a row */
};

static void begin_rows(struct section_rows *rows, const struct sql_column *columns, size_t count)
{
    char title[CELL_SIZE];
    rows->columns = mem_zeroed(count, sizeof *rows->columns);
    for (size_t i = 0; i < count; i++) {
        format_heading(columns[i].name, title);
        rows->columns[i] = (struct column){.title = mem_copy_text(title, strlen(title)),
                                           .is_text = columns[i].kind != SQL_NUMBER};
    }
    rows->table = table_begin(rows->columns, count);
}

static bool add_table_row(void *context, const struct sql_result *result, size_t row)
{
    struct section_rows *rows = context;
    size_t count;
    const struct sql_column *columns = sql_columns(result, &count);
    char cell[CELL_SIZE];
    if (!rows->columns)
        begin_rows(rows, columns, count);
    for (size_t i = 0; i < count; i++) {
        format_cell(result, row, i, columns[i].name, cell);
        table_text(&rows->table, text_of(cell));
    }
    return true;
}

static void put_table(struct output *out, struct section_rows *rows, bool is_markdown)
{
    if (is_markdown)
        table_end_markdown(&rows->table, &(struct markdown_style){.has_blank_rule = true}, out);
    else
        table_end(&rows->table, &(struct text_style){.width = SIZE_MAX}, out);
    for (size_t i = 0; i < rows->table.column_count; i++)
        mem_free((char *)(uintptr_t)rows->columns[i].title);
    mem_free(rows->columns);
}

static void put_title(struct reporting *reporting, const char *title)
{
    bool is_markdown = reporting->style->format == FLEET_MARKDOWN;
    bool has_color = reporting->style->has_color && !is_markdown;
    output_format(reporting->out, "\n%s%s%s%s\n", is_markdown ? "## " : "",
                  has_color ? "\033[1m" : "", title, has_color ? "\033[0m" : "");
    output_text(reporting->out, is_markdown ? "\n" : "");
}

static bool put_section(struct reporting *reporting, const struct section *section,
                        struct error *err)
{
    struct section_rows rows = {0};
    bool is_markdown = reporting->style->format == FLEET_MARKDOWN;
    bool ok = each_row(reporting->analysis, section->query, add_table_row, &rows, err);
    if (rows.columns) {
        put_title(reporting, section->title);
        if (*section->note)
            output_format(reporting->out, "%s%s\n%s", is_markdown ? "" : "  ", section->note,
                          is_markdown ? "\n" : "");
        put_table(reporting->out, &rows, is_markdown);
    }
    return ok;
}

static bool put_json_row(void *context, const struct sql_result *result, size_t row)
{
    struct reporting *reporting = context;
    json_open_row(&reporting->json, '{');
    row_put_members(result, row, &reporting->json);
    json_close_row(&reporting->json, '}');
    return true;
}

static bool put_json_summary(void *context, const struct sql_result *result, size_t row)
{
    struct reporting *reporting = context;
    row_put_members(result, row, &reporting->json);
    return true;
}

static void put_number_or_null(struct json *json, const char *key, const struct sql_result *result,
                               size_t row, size_t column)
{
    json_key(json, key);
    if (row_has(result, row, column))
        json_double(json, row_number(result, row, column));
    else
        json_null(json);
}

/* Costs that are unknown are null; what a finding is not about is left out. */
static bool put_json_finding(void *context, const struct sql_result *result, size_t row)
{
    struct reporting *reporting = context;
    struct json *json = &reporting->json;
    static const char *const texts[] = {"rule", "title", "statement", "advice"};
    json_open(json, '{');
    for (size_t i = 0; i < 4; i++)
        json_put_text(json, texts[i], sql_value(result, row, i));
    json_put_int(json, "id", row_integer(result, row, F_ID));
    put_number_or_null(json, "cost_ns", result, row, F_COST);
    put_number_or_null(json, "cost_share", result, row, F_SHARE);
    put_number_or_null(json, "rank_hours", result, row, F_HOURS);
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
    bool ok =
        each_row(reporting->analysis, fleet_sql_report_summary, put_json_summary, reporting, err);
    json_key(json, "findings");
    json_open(json, '[');
    ok = ok &&
         each_row(reporting->analysis, fleet_sql_report_findings, put_json_finding, reporting, err);
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
    R_CLOCK_ERROR,
    R_STRAGGLERS,
    R_REPLAY_ERROR,
    R_LANES,
    R_APART
};

static void put_time(struct output *out, const char *before, const struct sql_result *result,
                     size_t row, size_t column, const char *after)
{
    char text[QUANTITY_SIZE];
    output_format(out, "%s%s%s", before,
                  format_ps(fabs(row_number(result, row, column)) * 1000, text), after);
}

static void put_count(struct output *out, const struct sql_result *result, size_t row,
                      size_t column, const char *noun)
{
    int64_t count = row_integer(result, row, column);
    output_format(out, "%" PRId64 " %s%s", count, noun, count == 1 ? "" : "s");
}

/* "2 of 128 ranks on 1 machine, NVIDIA H200; 30 steps (0 to 29), 1.85 s" */
static void put_extent(struct output *out, const struct sql_result *result, size_t row)
{
    struct text device = sql_value(result, row, R_DEVICE);
    bool is_partial = row_integer(result, row, R_WORLD) > row_integer(result, row, R_RANKS);
    if (is_partial)
        output_format(out, "%" PRId64 " of ", row_integer(result, row, R_RANKS));
    put_count(out, result, row, is_partial ? R_WORLD : R_RANKS, "rank");
    output_text(out, " on ");
    put_count(out, result, row, R_MACHINES, "machine");
    if (device.size > 0)
        output_format(out, ", %.*s", (int)device.size, device.data);
    output_text(out, "; ");
    put_count(out, result, row, R_STEPS, "step");
    if (row_has(result, row, R_FIRST)) {
        output_format(out, " (%" PRId64 " to %" PRId64 ")", row_integer(result, row, R_FIRST),
                      row_integer(result, row, R_LAST));
        put_time(out, ", ", result, row, R_DURATION, "");
    }
    output_char(out, '\n');
}

static void put_step_times(struct output *out, const char *line, const struct sql_result *result,
                           size_t row)
{
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
}

static void put_matches(struct output *out, const char *line, const struct sql_result *result,
                        size_t row)
{
    output_text(out, line);
    put_count(out, result, row, R_COLLECTIVES, "collective");
    output_text(out, " of ");
    put_count(out, result, row, R_MATCHED, "step");
    output_text(out, " matched over ranks");
    if (row_has(result, row, R_WAITED))
        put_time(out, "; in them a rank waits for others ", result, row, R_WAITED, " per step");
    output_char(out, '\n');
    if (row_integer(result, row, R_APART) > 0)
        output_format(out,
                      "%s%" PRId64 " more are left out: ranks do not end them together, so they "
                      "may be different ones\n",
                      line, row_integer(result, row, R_APART));
    if (row_has(result, row, R_CLOCK_ERROR)) {
        output_text(out, line);
        put_time(out, "Clocks are aligned to ", result, row, R_CLOCK_ERROR, " (largest error)\n");
    }
}

/* One row of report_summary.sql as sentences. What is unknown is left out rather than shown as 0.
 */
static bool put_summary(void *context, const struct sql_result *result, size_t row)
{
    struct reporting *reporting = context;
    struct output *out = reporting->out;
    bool is_markdown = reporting->style->format == FLEET_MARKDOWN;
    const char *line = is_markdown ? "- " : "  ";
    output_format(out, "%sRun %s%s%s", is_markdown ? "# " : "", reporting->analysis->run,
                  is_markdown ? "\n\n" : "\n", line);
    put_extent(out, result, row);
    if (row_has(result, row, R_STEP))
        put_step_times(out, line, result, row);
    put_matches(out, line, result, row);
    return true;
}

/* Text in lines of at most 100 characters, indented. */
static void put_wrapped(struct output *out, struct text text, const char *indent)
{
    enum { WIDTH = 100 };
    size_t column = 0;
    while (text.size > 0) {
        const char *blank = memchr(text.data, ' ', text.size);
        size_t size = blank ? (size_t)(blank - text.data) : text.size;
        if (column > 0 && column + 1 + size > WIDTH) {
            output_char(out, '\n');
            column = 0;
        }
        output_text(out, column == 0 ? indent : " ");
        column += column == 0 ? strlen(indent) + size : 1 + size;
        output_write(out, text.data, size);
        size += blank ? 1 : 0;
        text = (struct text){text.data + size, text.size - size};
    }
    output_char(out, '\n');
}

static void put_cost(struct output *out, const struct sql_result *result, size_t row)
{
    put_time(out, "", result, row, F_COST, " per step");
    output_format(out, " (%.1f %% of the step time), %.3g rank-hours in all",
                  100 * row_number(result, row, F_SHARE), row_number(result, row, F_HOURS));
}

static bool put_text_finding(void *context, const struct sql_result *result, size_t row)
{
    struct reporting *reporting = context;
    struct output *out = reporting->out;
    struct text title = sql_value(result, row, F_TITLE);
    reporting->findings++;
    output_format(out, "%s%3zu. %.*s\n", reporting->findings > 1 ? "\n" : "", reporting->findings,
                  (int)title.size, title.data);
    if (row_has(result, row, F_COST)) {
        output_text(out, "     costs ");
        put_cost(out, result, row);
        output_char(out, '\n');
    }
    put_wrapped(out, sql_value(result, row, F_STATEMENT), "     ");
    put_wrapped(out, sql_value(result, row, F_ADVICE), "     ");
    if (reporting->style->with_sql)
        put_wrapped(out, sql_value(result, row, F_SQL), "       ");
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
    if (row_has(result, row, F_COST)) {
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
    bool ok = each_row(reporting->analysis, fleet_sql_report_summary, put_summary, reporting, err);
    put_title(reporting, "Findings");
    ok = ok && each_row(reporting->analysis, fleet_sql_report_findings,
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
