/*
 * The catalog: groups of figures.def, with the columns of tools' tables, and the tables of a
 * profile.
 */
#include "report/figures/figures.h"

#include "report/figures/embedded_queries.h"
#include "report/fleet/fleet.h"
#include "report/nsight/stats.h"
#include "report/relations/relations.h"
#include "report/xprof/tools.h"
#include "store/tables/store.h"

#include <stdio.h>
#include <stdlib.h>

enum entry_kind { ENTRY_GROUP, ENTRY_FIGURE, ENTRY_SHARED };

/* A line of figures.def: a group, a figure of the group before it, or one that tools share. */
static const struct entry {
    enum entry_kind kind;
    struct figure_group group;
    struct figure figure;
} entries[] = {
#define GROUP(id_, keys_, query_, title_)                                                          \
    {ENTRY_GROUP, {.id = id_, .keys = keys_, .title = title_, .sql = figures_sql_##query_}, {0}},
#define PAGE_GROUP(id_, keys_, title_)                                                             \
    {ENTRY_GROUP, {.id = id_, .keys = keys_, .title = title_}, {0}},
#define RUN_GROUP(id_, keys_, query_, title_)                                                      \
    {ENTRY_GROUP,                                                                                  \
     {.id = id_, .keys = keys_, .title = title_, .sql = figures_sql_##query_, .is_of_run = true},  \
     {0}},
#define REPORT_GROUP(id_, keys_, part_, title_)                                                    \
    {ENTRY_GROUP,                                                                                  \
     {.id = id_, .keys = keys_, .title = title_, .is_of_run = true, .part = #part_},               \
     {0}},
#define STATS_GROUP(report_, keys_)                                                                \
    {ENTRY_GROUP, {.id = "stats." report_, .keys = keys_, .report = report_}, {0}},
#define DIFF_GROUP(id_, keys_, title_)                                                             \
    {ENTRY_GROUP, {.id = id_, .keys = keys_, .title = title_, .is_of_two = true}, {0}},
#define TOOL_GROUP(tool_, table_, keys_, title_)                                                   \
    {ENTRY_GROUP,                                                                                  \
     {.id = tool_ "." table_, .keys = keys_, .title = title_, .tool = tool_, .table = table_},     \
     {0}},
#define FIGURE(...) {ENTRY_FIGURE, {0}, {__VA_ARGS__}},
#define SHARED(...) {ENTRY_SHARED, {0}, {__VA_ARGS__}},
#include "report/figures/figures.def"
};
enum { ENTRY_COUNT = sizeof entries / sizeof *entries };

typedef ARRAY(struct figure) figure_list;

static const struct figure *shared_figure(const char *column)
{
    for (size_t i = 0; i < ENTRY_COUNT; i++)
        if (entries[i].kind == ENTRY_SHARED && strcmp(entries[i].figure.column, column) == 0)
            return &entries[i].figure;
    return NULL;
}

static bool has_column(const figure_list *figures, const char *column)
{
    const struct figure *figure;
    array_each (figure, figures)
        if (strcmp(figure->column, column) == 0)
            return true;
    return false;
}

/* A tool's columns without a figure of their own in the group. A column that nothing defines gets
 * an empty text, which a test does not accept. */
static void add_tool_columns(const struct figure_group *group, figure_list *figures)
{
    const struct xprof_tool *tool = tool_find(group->tool);
    const char *label;
    for (size_t i = 0;; i++) {
        const char *column = tool ? tool_figure(tool, group->table, i, &label) : NULL;
        if (!column)
            return;
        if (has_column(figures, column))
            continue;
        const struct figure *shared = shared_figure(column);
        *array_push(figures) = shared ? *shared : (struct figure){column, label, "", "", ""};
    }
}

static void visit_entries(figure_visitor *visit, void *context)
{
    for (size_t i = 0; i < ENTRY_COUNT; i++) {
        if (entries[i].kind != ENTRY_GROUP)
            continue;
        figure_list figures = {0};
        for (size_t at = i + 1; at < ENTRY_COUNT && entries[at].kind == ENTRY_FIGURE; at++)
            *array_push(&figures) = entries[at].figure;
        struct figure_group group = entries[i].group;
        struct report_choice choice;
        char title[256];
        if (group.tool)
            add_tool_columns(&group, &figures);
        if (group.report && report_find(&choice, group.report)) {
            snprintf(title, sizeof title, "%s: %s.", choice.report->title, choice.report->about);
            group.title = title;
        }
        visit(context, &group, figures.items, figures.count);
        array_free(&figures);
    }
}

#define TABLE_PREFIX "table."

static const char *metric_formula(const char *table, const char *column)
{
    static const struct {
        const char *name, *formula;
    } metrics[] = {
#define METRIC(name_, type, unit, meaning, formula_) {#name_, formula_},
#include "analyze/device/metrics.def"
#undef METRIC
    };
    for (size_t i = 0; strcmp(table, "Summary") == 0 && i < sizeof metrics / sizeof *metrics; i++)
        if (strcmp(metrics[i].name, column) == 0)
            return metrics[i].formula;
    return "a column of the table";
}

static const char *table_keys(const char *table)
{
    static const struct {
        const char *table, *keys;
    } others[] = {
#define TABLE_KEYS(table_, keys_) {table_, keys_},
#include "report/figures/table_keys.def"
#undef TABLE_KEYS
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i].table, table) == 0)
            return others[i].keys;
    return "id";
}

static bool is_number(const struct field *field)
{
    return field->type == FIELD_INT64 || field->type == FIELD_INT32 ||
           field->type == FIELD_FLOAT32 || field->type == FIELD_FLOAT64;
}

static void visit_table(const struct table_schema *table, figure_visitor *visit, void *context)
{
    char id[128], sql[128];
    figure_list figures = {0};
    snprintf(id, sizeof id, TABLE_PREFIX "%s", table->name);
    snprintf(sql, sizeof sql, "SELECT * FROM %s", table->name);
    for (size_t i = 0; i < table->field_count; i++)
        if (is_number(&table->fields[i]))
            *array_push(&figures) = (struct figure){
                table->fields[i].name, table->fields[i].name, table->fields[i].unit,
                table->fields[i].meaning, metric_formula(table->name, table->fields[i].name)};
    struct figure_group group = {
        .id = id, .title = table->meaning, .sql = sql, .keys = table_keys(table->name)};
    visit(context, &group, figures.items, figures.count);
    array_free(&figures);
}

void figures_visit(figure_visitor *visit, void *context)
{
    visit_entries(visit, context);
    for (size_t i = 0; i < TABLE_COUNT; i++)
        visit_table(&table_schemas[i], visit, context);
}

/* ---- Queries ------------------------------------------------------------------------------- */

struct query_search {
    struct text id;
    struct output *sql; /* of the group */
    enum figure_query found;
    bool is_over_relations; /* not over tables alone */
};

static void find_query(void *context, const struct figure_group *group,
                       const struct figure *figures, size_t count)
{
    (void)figures, (void)count;
    struct query_search *search = context;
    if (!text_equal(search->id, text_of(group->id)))
        return;
    const struct xprof_tool *tool = group->tool ? tool_find(group->tool) : NULL;
    struct report_choice choice;
    bool is_report = group->report && report_find(&choice, group->report);
    const char *sql = tool          ? tool_table_query(tool, group->table)
                      : is_report   ? choice.report->sql
                      : group->part ? fleet_report_query(group->part)
                                    : group->sql;
    search->found = group->is_of_two   ? FIGURE_OF_TWO
                    : !sql             ? FIGURE_NO_QUERY
                    : group->is_of_run ? FIGURE_RUN_QUERY
                                       : FIGURE_QUERY;
    search->is_over_relations = tool || is_report;
    if (sql)
        output_text(search->sql, sql);
}

/* The query over relations is put into `sql`, with a 0 behind it. */
static enum figure_query search_query(struct text group, struct output *sql,
                                      bool *is_over_relations)
{
    struct query_search search = {.id = group, .sql = sql};
    output_memory(sql);
    figures_visit(find_query, &search);
    output_char(sql, '\0');
    *is_over_relations = search.is_over_relations;
    return search.found;
}

enum figure_query figures_find_query(struct text group)
{
    struct output query;
    bool is_over_relations;
    enum figure_query found = search_query(group, &query, &is_over_relations);
    output_discard(&query);
    return found;
}

static bool is_decimal(const char *value)
{
    size_t size = strspn(value, "-.0123456789");
    char *end;
    strtod(value, &end);
    return size > 0 && value[size] == '\0' && end == value + size;
}

static void put_literal(struct output *sql, const char *value)
{
    if (!value || is_decimal(value))
        output_text(sql, value ? value : "NULL");
    else
        sql_put_quoted(sql, '\'', value);
}

/* Puts the query with values for `$name`; a `$` alone, as in regular expressions, stays. */
static void fill_parameters(struct output *sql, const char *query, figure_parameter *parameter,
                            const void *context)
{
    for (const char *mark; (mark = strchr(query, '$'));) {
        char name[64];
        size_t size = strspn(mark + 1, "abcdefghijklmnopqrstuvwxyz_");
        snprintf(name, sizeof name, "%.*s", (int)size, mark + 1);
        output_write(sql, query, (size_t)(mark - query));
        if (size > 0)
            put_literal(sql, parameter(context, name));
        else
            output_char(sql, '$');
        query = mark + 1 + size;
    }
    output_text(sql, query);
}

bool figures_put_query(struct output *sql, struct text group, figure_parameter *parameter,
                       const void *context, struct sql_connection *connection, struct error *err)
{
    struct output query, filled;
    struct present_tables *present = NULL;
    bool is_over_relations;
    search_query(group, &query, &is_over_relations);
    output_memory(&filled);
    if (!is_over_relations)
        fill_parameters(&filled, query.data, parameter, context);
    output_char(&filled, '\0');
    bool ok = present_find(&present, connection, err);
    if (ok && is_over_relations)
        relations_put(sql, present,
                      &(struct relation_options){.group_by = parameter(context, "group_by")},
                      query.data);
    else if (ok)
        tables_put(sql, present, filled.data);
    present_free(present);
    output_discard(&query);
    output_discard(&filled);
    return ok;
}

void figures_put_run_query(struct output *sql, struct text group, figure_parameter *parameter,
                           const void *context)
{
    struct output query;
    bool is_over_relations;
    search_query(group, &query, &is_over_relations);
    fill_parameters(sql, query.data, parameter, context);
    output_discard(&query);
}

char *figures_why_unknown(struct text group, struct sql_connection *connection)
{
    struct output query;
    struct present_tables *present = NULL;
    struct error ignored;
    char column[COLUMN_NAME_SIZE], *why = NULL;
    bool is_over_relations;
    search_query(group, &query, &is_over_relations);
    if (!is_over_relations && present_find(&present, connection, &ignored) &&
        present_lacks(present, query.data, column)) {
        struct output sentence;
        output_memory(&sentence);
        output_format(&sentence,
                      "An earlier version of kymo made this profile, without %s: what needs it is "
                      "blank. Import its capture again (kymo view CAPTURE --force) to see it.",
                      column);
        why = mem_copy_text(sentence.data, sentence.size);
        output_discard(&sentence);
    }
    present_free(present);
    output_discard(&query);
    return why;
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void put_keys(struct json *json, const char *keys)
{
    json_key(json, "keys");
    json_open_row(json, '[');
    for (const char *at = keys; *at;) {
        size_t size = strcspn(at, ",");
        json_text(json, (struct text){at, size});
        at += size + (at[size] == ',');
    }
    json_close_row(json, ']');
}

static void put_group_json(void *context, const struct figure_group *group,
                           const struct figure *figures, size_t count)
{
    struct json *json = context;
    json_open(json, '{');
    json_put_text(json, "id", text_of(group->id));
    json_put_text(json, "of", group->is_of_run ? TEXT("run") : TEXT("profile"));
    json_put_text(json, "title", text_of(group->title));
    put_keys(json, group->keys);
    json_key(json, "figures");
    json_open(json, '[');
    for (size_t i = 0; i < count; i++) {
        json_open_row(json, '{');
        json_put_text(json, "column", text_of(figures[i].column));
        json_put_text(json, "label", text_of(figures[i].label));
        json_put_text(json, "unit", text_of(figures[i].unit));
        json_put_text(json, "text", text_of(figures[i].text));
        json_put_text(json, "formula", text_of(figures[i].formula));
        json_close_row(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
}

void figures_put_json(struct json *json)
{
    json_open(json, '{');
    json_key(json, "groups");
    json_open(json, '[');
    figures_visit(put_group_json, json);
    json_close(json, ']');
    json_close(json, '}');
}

/* ---- The page ----------------------------------------------------------------------------------
 */

static const char page_head[] =
    "# Figures\n"
    "\n"
    "Made from `src/report/figures/figures.def` by `kymo --generate figures docs/figures.md`.\n"
    "\n"
    "Every figure that a page, a summary or a tool shows has an id, one definition and a query "
    "over the tables of\n"
    "the profile. In the web UI, hover over a figure for its definition; `?` shows the query and "
    "opens it in the SQL tab.\n"
    "`kymo figures ID` prints the same, `kymo figures ID PROFILE` the query for that profile, "
    "which "
    "any DuckDB runs over its\n"
    "Parquet files. Figures of two profiles compared, `diff`, have a query over both, with the "
    "tables of A in the schema `a`\n"
    "and those of B in `b` (`CREATE SCHEMA a; CREATE VIEW a.Step AS FROM 'before/Step.parquet'`, "
    "…):\n"
    "`kymo figures diff.kernels A B` prints it. Figures of runs of many ranks, `run.…`, are those "
    "of\n"
    "[their report](fleet-report.md) and pages: `kymo figures ID DATASET/RUN` prints a query over "
    "the results of the analysis.\n"
    "Values that were not recorded are blank (null in JSON), never 0. Columns of tables, "
    "`table.TABLE.COLUMN`,\n"
    "are listed by `kymo --show-profile-schema`.\n";

bool figures_of_table(const struct figure_group *group)
{
    return text_starts(text_of(group->id), TEXT(TABLE_PREFIX));
}

static void put_group_page(void *context, const struct figure_group *group,
                           const struct figure *figures, size_t count)
{
    struct output *out = context;
    if (figures_of_table(group))
        return;
    output_format(out, "\n## `%s`\n\n%s", group->id, group->title);
    output_text(out, *group->keys ? " One row for each " : " One row.\n");
    if (*group->keys)
        output_format(out, "`%s`.\n", group->keys);
    output_text(out, "\n| figure | unit | definition | formula |\n|---|---|---|---|\n");
    for (size_t i = 0; i < count; i++)
        output_format(out, "| `%s` %s | %s | %s | %s |\n", figures[i].column, figures[i].label,
                      figures[i].unit, figures[i].text, figures[i].formula);
}

void figures_put_page(struct output *out)
{
    output_text(out, page_head);
    figures_visit(put_group_page, out);
}
