/*
 * Runs user queries. Each is wrapped in an outer query that converts every column to VARCHAR, so
 * that results have one vector type.
 */
#include "sql/result.h"

#include <ctype.h>
#include <strings.h>

static enum sql_kind kind_of(const struct duckdb *duckdb, struct duckdb_type *type)
{
    int id = duckdb->get_type_id(type);
    if ((id >= DUCKDB_TINYINT && id <= DUCKDB_DOUBLE) || id == DUCKDB_HUGEINT ||
        id == DUCKDB_UHUGEINT || id == DUCKDB_DECIMAL || id == DUCKDB_BIGNUM)
        return SQL_NUMBER;
    if (id == DUCKDB_LIST || id == DUCKDB_ARRAY || id == DUCKDB_STRUCT || id == DUCKDB_MAP ||
        id == DUCKDB_UNION)
        return SQL_JSON;
    char *alias = duckdb->logical_type_get_alias(type);
    bool is_json = alias && strcasecmp(alias, "JSON") == 0;
    duckdb->free(alias);
    return id == DUCKDB_BOOLEAN ? SQL_BOOLEAN : is_json ? SQL_JSON : SQL_TEXT;
}

/* Sets the columns and builds the outer query. Column names may repeat, so it uses c0, c1, ... */
static void wrap(struct sql_result *result, struct duckdb_statement *statement, struct output *sql)
{
    const struct duckdb *duckdb = result->duckdb;
    size_t count = (size_t)duckdb->prepared_statement_column_count(statement);
    output_text(sql, "SELECT ");
    for (size_t i = 0; i < count; i++) {
        struct duckdb_type *type = duckdb->prepared_statement_column_logical_type(statement, i);
        char *name = duckdb->prepared_statement_column_name(statement, i);
        enum sql_kind kind = kind_of(duckdb, type);
        bool is_text = duckdb->get_type_id(type) == DUCKDB_VARCHAR;
        const char *function = kind != SQL_JSON ? "" : is_text ? "json" : "to_json";
        result_add_column(result, name, kind);
        output_format(sql, "%s%s(c%zu)::VARCHAR", i ? ", " : "", function, i);
        duckdb->free(name);
        duckdb->destroy_logical_type(&type);
    }
    output_text(sql, " FROM query(");
    put_quoted(sql, '\'', result->query);
    output_text(sql, ") AS answer(");
    for (size_t i = 0; i < count; i++)
        output_format(sql, "%sc%zu", i ? ", " : "", i);
    output_char(sql, ')');
}

static bool start_select(struct sql_result *result, struct error *err)
{
    const char *query = result->query;
    const struct duckdb *duckdb = result->duckdb;
    struct duckdb_statement *statement = NULL;
    struct output sql;
    output_memory(&sql);
    bool ok = false;
    if (duckdb->prepare(result->connection->handle, query, &statement) != DUCKDB_DONE)
        report(result->connection, query, duckdb->prepare_error(statement), err);
    else if (duckdb->prepared_statement_type(statement) != DUCKDB_STATEMENT_SELECT)
        error_set(err, "only SELECT is allowed: a profile is read-only");
    else if (duckdb->nparams(statement) > 0)
        error_set(err, "the query has parameters; write the values instead");
    else
        ok = true;
    if (ok)
        wrap(result, statement, &sql);
    duckdb->destroy_prepare(&statement);
    ok = ok && result_start(result, output_sql(&sql), err);
    output_discard(&sql);
    return ok;
}

static bool start_plan(struct sql_result *result, bool analyze, struct error *err)
{
    struct output sql;
    output_memory(&sql);
    output_text(&sql, analyze ? "EXPLAIN ANALYZE " : "EXPLAIN ");
    output_text(&sql, result->query);
    result_add_column(result, "explain_key", SQL_TEXT);
    result_add_column(result, "explain_value", SQL_PLAN);
    bool ok = result_start(result, output_sql(&sql), err);
    output_discard(&sql);
    return ok;
}

static const char *skip_blanks(const char *text)
{
    for (;;) {
        const char *before = text;
        text += strspn(text, " \t\r\n\f\v");
        if (strncmp(text, "--", 2) == 0)
            text += strcspn(text, "\n");
        const char *end = strncmp(text, "/*", 2) == 0 ? strstr(text, "*/") : NULL;
        text = end ? end + 2 : text;
        if (text == before)
            return text;
    }
}

/* The text after the word, or NULL if it does not start with it. */
static const char *skip_word(const char *text, const char *word)
{
    text = skip_blanks(text);
    size_t size = strlen(word);
    if (strncasecmp(text, word, size) != 0 || isalnum((unsigned char)text[size]) ||
        text[size] == '_')
        return NULL;
    return text + size;
}

/* Hands a result out, or frees what has not started. */
static bool give(struct sql_result **result, struct sql_result *started, bool ok)
{
    if (!ok) {
        sql_free(started);
        started = NULL;
    }
    *result = started;
    return ok;
}

bool sql_ask(struct sql_result **result, struct sql_connection *connection, const char *query,
             struct error *err)
{
    struct sql_result *started = result_new(connection, query);
    return give(result, started, start_select(started, err));
}

/* Runs a query with all its columns of one type. */
static bool start_as(struct sql_result *started, const char *type, struct error *err)
{
    struct output sql;
    output_memory(&sql);
    output_format(&sql, "SELECT COLUMNS(*)::%s FROM (%s)", type, started->query);
    bool ok = result_start(started, output_sql(&sql), err);
    output_discard(&sql);
    return ok;
}

bool sql_ask_texts(struct sql_result **result, struct sql_connection *connection, const char *query,
                   struct error *err)
{
    struct sql_result *started = result_new(connection, query);
    return give(result, started, start_as(started, "VARCHAR", err));
}

bool sql_ask_numbers(struct sql_result **result, struct sql_connection *connection,
                     const char *query, struct error *err)
{
    struct sql_result *started = result_new(connection, query);
    started->has_numbers = true;
    return give(result, started, start_as(started, "DOUBLE", err));
}

/*
 * EXPLAIN ANALYZE runs its statement, SELECT or not, and DuckDB reports only EXPLAIN as the type.
 * So the keyword is stripped, the rest is checked alone, and the keyword added again.
 */
bool sql_query(struct sql_result **result, struct sql_connection *connection, const char *query,
               struct error *err)
{
    const char *explained = skip_word(query, "EXPLAIN");
    const char *analyzed = explained ? skip_word(explained, "ANALYZE") : NULL;
    const char *select = analyzed ? analyzed : explained ? explained : query;
    *result = NULL;
    if (text_utf8_prefix(query, strlen(query)) != strlen(query))
        return error_set(err, "the query is not UTF-8");
    if (!check_select(connection, select, err))
        return false;
    if (!explained)
        return sql_ask(result, connection, select, err);
    struct sql_result *started = result_new(connection, select);
    return give(result, started, start_plan(started, analyzed != NULL, err));
}
