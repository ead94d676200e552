/*
 * Error messages of failed queries. Most are errors in the query, which DuckDB explains well. Its
 * messages about damaged files often do not name the file; then the query's tables are checked.
 */
#include "sql/engine.h"

#include <ctype.h>
#include <stdio.h>
#include <strings.h>

#define INTERRUPTED "interrupted"

void clean_message(char *text)
{
    size_t size = strlen(text), length;
    for (size_t at = 0; at < size; at += length) {
        length = text_utf8_length(text + at, size - at);
        bool is_control = length == 1 && iscntrl((unsigned char)text[at]) && text[at] != '\n';
        bool is_wide_control = length == 2 && text[at] == '\xC2' && text[at + 1] < '\xA0';
        if (length == 0 || is_control || is_wide_control)
            memset(text + at, ' ', length = length ? length : 1);
    }
}

/* Cuts a long message in the middle: its end may show the position of the error. */
static void shorten(struct error *err, const char *message)
{
    size_t room = sizeof err->text - sizeof "\n  ...";
    const char *end = strstr(message, "\n\nLINE ");
    end = end && strlen(end) < room / 2 ? end : "";
    size_t start = room - strlen(end);
    while (start > room / 4 && message[start] != '\n')
        start--;
    error_set(err, "%.*s\n  ...%s", (int)start, message, end);
}

static bool set_message(struct error *err, const char *message)
{
    if (strlen(message) < sizeof err->text)
        error_set(err, "%s", message);
    else
        shorten(err, message);
    clean_message(err->text);
    return false;
}

static bool is_interruption(const char *message)
{
    return strncmp(message, "INTERRUPT", strlen("INTERRUPT")) == 0;
}

/* File by file, so that the damaged one can be named. Reads everything, which takes long, and so
 * runs only after a failure that damage may explain. */
bool examine_table(const struct duckdb *duckdb, struct duckdb_connection *connection,
                   const struct sql_table *table, struct error *err)
{
    bool ok = true;
    for (size_t i = 0; i < table->file_count && ok; i++) {
        struct output sql;
        char *message;
        output_memory(&sql);
        /* A hash reads every value; count(*) would use only the file's metadata. */
        output_text(&sql, "SELECT bit_xor(hash(COLUMNS(*))) FROM ");
        put_files(&sql, &table->files[i], 1);
        ok = engine_run(duckdb, connection, output_sql(&sql), &message);
        output_discard(&sql);
        if (ok)
            continue;
        message[strcspn(message, "\n")] = '\0';
        if (is_interruption(message))
            error_set(err, INTERRUPTED);
        else
            error_in_file(err, table->files[i].path, "the table is damaged: %s", message);
        clean_message(err->text);
        mem_free(message);
    }
    return ok;
}

/* Whether a damaged file can be the cause; avoids reading all files for a misspelled name. */
static bool may_be_damage(const char *message)
{
    static const char *const starts[] = {"IO Error",       "Invalid Error",
                                         "INTERNAL Error", "Invalid Input Error",
                                         "FATAL Error",    "Out of Memory Error"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(message, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

static void set_examining(struct sql_connection *connection, struct duckdb_connection *handle)
{
    pthread_mutex_lock(&connection->lock);
    connection->examining = handle;
    pthread_mutex_unlock(&connection->lock);
}

/* Checks the tables that the query mentions. In a new engine: the query's may be unusable after a
 * fatal error. */
static bool find_damage(struct sql_connection *connection, const char *query, struct error *err)
{
    const struct sql_tables *tables = &connection->database->tables;
    struct sql_engine engine = {.limits = connection->database->engine.limits};
    struct duckdb_connection *handle = NULL;
    struct error ignored;
    bool found = false;
    if (engine_open(&engine, &ignored) && engine_connect(&engine, &handle, &ignored)) {
        set_examining(connection, handle);
        const struct sql_table *table;
        array_each (table, &tables->tables)
            if (!found && !table->problem && strcasestr(query, table->name))
                found = !examine_table(engine.duckdb, handle, table, err);
        set_examining(connection, NULL);
        engine.duckdb->disconnect(&handle);
    }
    engine_close(&engine);
    return found;
}

static const struct sql_table *unusable_table(const struct sql_tables *tables, const char *message)
{
    const struct sql_table *table;
    array_each (table, &tables->tables) {
        char start[ERROR_TEXT_SIZE];
        snprintf(start, sizeof start, "Catalog Error: Table with name %s does not exist",
                 table->name);
        if (table->problem && strncasecmp(message, start, strlen(start)) == 0)
            return table;
    }
    return NULL;
}

bool report(struct sql_connection *connection, const char *query, const char *message,
            struct error *err)
{
    const struct sql_table *table = unusable_table(&connection->database->tables, message);
    if (table) {
        *err = *table->problem;
        return false;
    }
    if (may_be_damage(message) && find_damage(connection, query, err))
        return false;
    return set_message(err, is_interruption(message) ? INTERRUPTED : message);
}
