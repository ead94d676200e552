/*
 * Puts queries together with the relations they are over, as common table expressions.
 */
#include "report/relations/relations.h"

#include "report/relations/embedded_queries.h"
#include "report/relations/missing.h"

#include <ctype.h>
#include <stdio.h>

#define RELATION(name_) {.name = #name_, .sql = relations_sql_##name_}
/* One that is used several times and costs much. */
#define MATERIALIZED(name_) {.name = #name_, .sql = relations_sql_##name_, .is_materialized = true}

/* Each is over tables and those before it. */
static const struct relation {
    const char *name, *sql;
    bool is_materialized;
    const char *base_sql; /* with base names, if that is another */
} relations[] = {
    {.name = "shown_kernel",
     .sql = relations_sql_shown_kernel,
     .base_sql = relations_sql_shown_kernel_base},
    RELATION(kernel),
    RELATION(copy),
    RELATION(work),
    MATERIALIZED(event_kind),
    RELATION(api_call),
    RELATION(launched),
    RELATION(copied),
    RELATION(edge),
    RELATION(gap_before),
    RELATION(busy),
    RELATION(extent),
    RELATION(gap),
    RELATION(beside),
    RELATION(span),
    RELATION(slice),
    RELATION(enclosed),
    RELATION(host),
    RELATION(kernel_group),
    MATERIALIZED(memory),
    RELATION(exchange),
    RELATION(device_lane),
    RELATION(counter),
    RELATION(accelerator),
    RELATION(machine),
    RELATION(priced),
    RELATION(op),
    RELATION(step_part),
    RELATION(host_type),
    RELATION(host_event),
    RELATION(host_op),
    RELATION(host_time),
    RELATION(training),
    RELATION(step_window),
    RELATION(device_type),
    RELATION(device_op),
};
enum { RELATION_COUNT = sizeof relations / sizeof *relations };

static void put_option(struct output *sql, const char *name, const char *value)
{
    if (value)
        sql_put_quoted(sql, '\'', value);
    else
        output_text(sql, "NULL::VARCHAR");
    output_format(sql, " AS %s, ", name);
}

static void put_options(struct output *sql, const struct relation_options *options)
{
    output_text(sql, "option AS (SELECT ");
    put_option(sql, "host", options->host);
    put_option(sql, "group_by", options->group_by);
    put_option(sql, "module", options->module);
    output_format(sql, "%s AS is_xprof), ", options->is_xprof ? "true" : "false");
}

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Whether a text contains a name as a word. */
static bool names(const struct output *text, const char *name)
{
    size_t size = strlen(name);
    const char *end = text->data + text->size;
    for (const char *at = text->data;; at++) {
        at = memmem(at, (size_t)(end - at), name, size);
        if (!at)
            return false;
        if (!(at > text->data && is_letter(at[-1])) && !(at + size < end && is_letter(at[size])))
            return true;
    }
}

static const char *sql_of(const struct relation *relation, const struct relation_options *options)
{
    return options->has_base_names && relation->base_sql ? relation->base_sql : relation->sql;
}

void definitions_put(struct output *sql, const struct output *definitions, const char *query)
{
    static const char with[] = "WITH";
    bool has_with = strncmp(query, with, strlen(with)) == 0 && !is_letter(query[strlen(with)]);
    if (definitions->size > 0) {
        output_format(sql, "%s ", with);
        output_write(sql, definitions->data, definitions->size - (has_with ? 0 : strlen(", ")));
        output_char(sql, ' ');
        query += has_with ? strlen(with) : 0;
    }
    output_text(sql, query);
}

static void put_missing(struct output *definitions, const struct output *used,
                        const struct present_tables *present)
{
    for (enum table_number i = 0; i < TABLE_COUNT; i++)
        if (names(used, table_schemas[i].name))
            missing_put(definitions, present, i);
}

void tables_put(struct output *sql, const struct present_tables *present, const char *query)
{
    struct output used, definitions;
    output_memory(&used);
    output_memory(&definitions);
    output_text(&used, query);
    put_missing(&definitions, &used, present);
    definitions_put(sql, &definitions, query);
    output_discard(&definitions);
    output_discard(&used);
}

bool present_lacks(const struct present_tables *present, const char *query,
                   char column[static COLUMN_NAME_SIZE])
{
    const struct output used = {.data = (char *)(uintptr_t)query, .size = strlen(query)};
    for (enum table_number i = 0; i < TABLE_COUNT; i++) {
        const struct table_schema *table = &table_schemas[i];
        for (size_t k = 0; names(&used, table->name) && k < table->field_count; k++)
            if (missing_column(present, i, k) && names(&used, table->fields[k].name)) {
                snprintf(column, COLUMN_NAME_SIZE, "%s.%s", table->name, table->fields[k].name);
                return true;
            }
    }
    return false;
}

/* Only the relations that the query is over, and what these are over, are put: planning all of them
 * would take longer than most queries. They are found from the last to the first, as each is over
 * those before it. */
void relations_put(struct output *sql, const struct present_tables *present,
                   const struct relation_options *options, const char *query)
{
    bool is_needed[RELATION_COUNT];
    struct output used, definitions;
    output_memory(&used);
    output_memory(&definitions);
    output_text(&used, query);
    for (size_t i = RELATION_COUNT; i-- > 0;) {
        is_needed[i] = names(&used, relations[i].name);
        if (is_needed[i])
            output_format(&used, " %s", sql_of(&relations[i], options));
    }
    put_missing(&definitions, &used, present);
    put_options(&definitions, options);
    for (size_t i = 0; i < RELATION_COUNT; i++)
        if (is_needed[i])
            output_format(&definitions, "%s AS %s(%s), ", relations[i].name,
                          relations[i].is_materialized ? "MATERIALIZED " : "",
                          sql_of(&relations[i], options));
    definitions_put(sql, &definitions, query);
    output_discard(&definitions);
    output_discard(&used);
}
