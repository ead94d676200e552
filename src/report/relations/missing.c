/*
 * Tables and columns that a profile does not have, so that queries need not ask.
 */
#include "report/relations/missing.h"

static void put_null(struct output *sql, const struct field *field)
{
    output_format(sql, "NULL::%s AS \"%s\"", field_sql_type(field->type), field->name);
}

static void put_empty(struct output *sql, const struct table_schema *table)
{
    output_format(sql, "%s AS (SELECT ", table->name);
    for (size_t i = 0; i < table->field_count; i++) {
        output_text(sql, i ? ", " : "");
        put_null(sql, &table->fields[i]);
    }
    output_text(sql, " WHERE false), ");
}

enum { MAX_FIELDS = 128 };

struct present {
    bool is_there, has[MAX_FIELDS];
};

struct present_tables {
    const char *schema; /* NULL: main, whose tables need no definition */
    struct present tables[TABLE_COUNT];
};

static void mark(struct present *present, const struct table_schema *table, struct text column)
{
    present->is_there = true;
    for (size_t i = 0; i < table->field_count && i < MAX_FIELDS; i++)
        present->has[i] |= text_equal(column, text_of(table->fields[i].name));
}

bool present_find(struct present_tables **present, struct sql_connection *connection,
                  struct error *err)
{
    struct sql_result *result = NULL;
    size_t rows = 1;
    *present = mem_zeroed(1, sizeof **present);
    bool ok = sql_ask_texts(
        &result, connection,
        "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal", err);
    while (ok && rows > 0 && (ok = sql_next(result, &rows, err)))
        for (size_t row = 0; row < rows; row++)
            for (size_t i = 0; i < TABLE_COUNT; i++)
                if (text_equal(sql_value(result, row, 0), text_of(table_schemas[i].name)))
                    mark(&(*present)->tables[i], &table_schemas[i], sql_value(result, row, 1));
    sql_free(result);
    return ok;
}

void present_in_schema(struct present_tables *present, const char *schema)
{
    present->schema = schema;
}

void present_free(struct present_tables *present)
{
    mem_free(present);
}

/* A table of another schema, or of an earlier version: with the columns that it does not have as
 * NULL. */
static void put_completed(struct output *sql, const struct table_schema *table,
                          const struct present *present, const char *schema)
{
    bool is_needed = schema != NULL;
    for (size_t i = 0; i < table->field_count && i < MAX_FIELDS; i++)
        is_needed |= !present->has[i];
    if (!is_needed)
        return;
    output_format(sql, "%s AS (SELECT *", table->name);
    for (size_t i = 0; i < table->field_count && i < MAX_FIELDS; i++) {
        if (present->has[i])
            continue;
        output_text(sql, ", ");
        put_null(sql, &table->fields[i]);
    }
    output_format(sql, " FROM %s.%s), ", schema ? schema : "main", table->name);
}

void missing_put(struct output *sql, const struct present_tables *present, enum table_number table)
{
    if (present->tables[table].is_there)
        put_completed(sql, &table_schemas[table], &present->tables[table], present->schema);
    else
        put_empty(sql, &table_schemas[table]);
}

bool missing_column(const struct present_tables *present, enum table_number table, size_t field)
{
    const struct present *own = &present->tables[table];
    return own->is_there && field < MAX_FIELDS && !own->has[field];
}
