/*
 * Runs reports and writes their rows.
 */
#include "report/nsight/stats.h"

#include "report/relations/relations.h"

static const struct {
    const char *title, *divisor;
    unsigned digits; /* behind the point, for people */
} units[] = {
    [UNIT_NS] = {"(ns)", "1", 1},
    [UNIT_US] = {"(us)", "1e3", 3},
    [UNIT_MS] = {"(ms)", "1e6", 3},
    [UNIT_S] = {"(s)", "1e9", 6},
};

static const struct text base_suffix = TEXT(":base");

bool report_find(struct report_choice *choice, const char *word)
{
    struct text name = text_of(word);
    *choice = (struct report_choice){.has_base_names = text_ends(name, base_suffix)};
    if (choice->has_base_names)
        name.size -= base_suffix.size;
    for (size_t i = 0; i < report_count; i++)
        if (text_equal(name, text_of(reports[i].name)) ||
            (reports[i].alias && text_equal(name, text_of(reports[i].alias))))
            choice->report = &reports[i];
    return choice->report != NULL;
}

/* Columns that are not whole numbers, by what their titles contain. */
static bool is_fraction(const char *title)
{
    static const char *const words[] = {"Avg", "Med", "StdDev", "(%)", "(MB"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(title, words[i]))
            return true;
    return false;
}

/* Times in the unit that was asked for; for people, with a fixed number of decimals. */
static void put_column(struct output *sql, const struct sql_column *column,
                       const struct stats_options *options)
{
    static const struct text ns = TEXT("(ns)");
    struct text name = text_of(column->name);
    bool is_time = text_ends(name, ns), is_scaled = is_time && options->unit != UNIT_NS;
    bool has_digits = options->format == ROWS_TEXT && (is_scaled || is_fraction(column->name));
    output_format(sql, "%s\"%s\"", is_scaled && has_digits ? "(" : "", column->name);
    if (is_scaled)
        output_format(sql, " / %s", units[options->unit].divisor);
    if (has_digits)
        output_format(sql, "%s::DECIMAL(38, %u)", is_scaled ? ")" : "",
                      is_time                       ? units[options->unit].digits
                      : strstr(column->name, "(MB") ? 3
                                                    : 1);
    if (is_scaled)
        output_format(sql, " AS \"%.*s%s\"", (int)(name.size - ns.size), name.data,
                      units[options->unit].title);
    else
        output_format(sql, " AS \"%s\"", column->name);
}

struct run {
    struct sql_connection *connection;
    const struct stats_options *options;
    struct present_tables *present;
    struct output *out;
    bool is_all;       /* that have rows */
    bool has_headings; /* between reports */
    size_t written;    /* reports */
};

/* A query of the report with the relations that it is over. */
static void put_query(struct output *sql, const struct run *run, const struct report_choice *choice,
                      const char *select)
{
    const struct relation_options options = {.has_base_names = choice->has_base_names};
    struct output query;
    output_memory(&query);
    output_format(&query, "WITH report AS (%s) %s", choice->report->sql, select);
    output_char(&query, '\0');
    relations_put(sql, run->present, &options, query.data);
    output_char(sql, '\0');
    output_discard(&query);
}

/* A query of the columns as they are shown. Which there are is known from a query without rows. */
static bool put_shown(struct output *sql, const struct run *run, const struct report_choice *choice,
                      struct error *err)
{
    struct output plain, select;
    struct sql_result *result = NULL;
    output_memory(&plain);
    output_memory(&select);
    put_query(&plain, run, choice, "SELECT * FROM report LIMIT 0");
    bool ok = sql_ask(&result, run->connection, plain.data, err);
    if (ok) {
        size_t count;
        const struct sql_column *columns = sql_columns(result, &count);
        for (size_t i = 0; i < count; i++) {
            output_text(&select, i ? ", " : "SELECT ");
            put_column(&select, &columns[i], run->options);
        }
        output_text(&select, " FROM report");
        output_char(&select, '\0');
        put_query(sql, run, choice, select.data);
    }
    sql_free(result);
    output_discard(&plain);
    output_discard(&select);
    return ok;
}

static void put_title(const struct run *run, const struct report *report, bool is_first)
{
    bool is_bold = run->options->style.colored;
    if (!is_first)
        output_char(run->out, '\n');
    if (run->options->format == ROWS_TEXT)
        output_format(run->out, "%s%s%s (%s)\n", is_bold ? "\033[1m" : "", report->title,
                      is_bold ? "\033[0m" : "", report->name);
    else
        output_format(run->out, "%s\n", report->name);
}

/* Before one of several reports: titles in text and CSV, members of an object in JSON. */
static void put_heading(const struct run *run, const struct report *report, bool is_first)
{
    if (run->options->format == ROWS_JSON)
        output_format(run->out, "%s\"%s\": ", is_first ? "{\n" : ",\n", report->name);
    else
        put_title(run, report, is_first);
}

/* Writes a report, unless it has no rows and only those that have are wanted. */
static bool write_report(struct run *run, const struct report_choice *choice, struct error *err)
{
    const struct stats_options *options = run->options;
    struct output sql;
    struct sql_result *result = NULL;
    struct rows_format format = {
        .kind = options->format, .limit = options->limit, .style = options->style};
    bool is_empty = false;
    output_memory(&sql);
    bool ok = put_shown(&sql, run, choice, err) &&
              sql_ask(&result, run->connection, sql.data, err) &&
              sql_is_empty(result, &is_empty, err);
    if (ok && is_empty && !run->is_all)
        options->notice(choice->report);
    if (ok && !(is_empty && run->is_all)) {
        if (run->has_headings)
            put_heading(run, choice->report, run->written == 0);
        run->written++;
        ok = export_rows(result, &format, run->out, err);
    }
    sql_free(result);
    output_discard(&sql);
    return ok;
}

static bool write_reports(struct run *run, const struct report_choice *choices, size_t count,
                          struct error *err)
{
    for (size_t i = 0; i < count; i++)
        if (!write_report(run, &choices[i], err))
            return false;
    for (size_t i = 0; run->is_all && i < report_count; i++) {
        struct report_choice choice = {.report = &reports[i]};
        if (reports[i].kind == REPORT_SUMMARY && !write_report(run, &choice, err))
            return false;
    }
    if (run->has_headings && run->options->format == ROWS_JSON)
        output_text(run->out, run->written ? "}\n" : "{}\n");
    return true;
}

bool stats_write(struct sql_connection *connection, const struct report_choice *choices,
                 size_t count, const struct stats_options *options, struct output *out,
                 size_t *written, struct error *err)
{
    struct run run = {.connection = connection,
                      .options = options,
                      .out = out,
                      .is_all = count == 0,
                      .has_headings = count != 1 || options->format == ROWS_TEXT};
    bool ok =
        present_find(&run.present, connection, err) && write_reports(&run, choices, count, err);
    *written = run.written;
    present_free(run.present);
    return ok;
}
