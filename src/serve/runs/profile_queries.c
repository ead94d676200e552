/*
 * The internal queries on open profiles.
 */
#include "serve/runs/open_profiles.h"
#include "serve/runs/opened.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static bool read_columns(struct opened *opened, struct error *err)
{
    struct sql_connection *connection;
    struct sql_result *result = NULL;
    size_t rows = 1;
    if (!sql_connect(&connection, opened->database, err))
        return false;
    bool ok = sql_query(&result, connection,
                        "SELECT table_name || '.' || column_name FROM duckdb_columns()", err);
    while (ok && rows > 0 && (ok = sql_next(result, &rows, err)))
        for (size_t row = 0; row < rows; row++)
            intern_add(&opened->columns, sql_value(result, row, 0));
    sql_free(result);
    sql_disconnect(connection);
    return ok;
}

static struct sql_database *opened_database(struct opened *opened, struct error *err)
{
    struct sql_limits limits = {.memory_bytes = ENGINE_MEMORY};
    pthread_mutex_lock(&opened->lock);
    if (!opened->database) {
        if (!sql_open_within(&opened->database, opened->directory, &limits, err)) {
            opened->database = NULL;
        } else if (!read_columns(opened, err)) {
            sql_close(opened->database);
            opened->database = NULL;
        }
    }
    struct sql_database *database = opened->database;
    pthread_mutex_unlock(&opened->lock);
    return database;
}

/* Call with the lock held; it is released while waiting. */
static void wait_for_slot(struct open_profiles *open_profiles)
{
    struct timespec until = clock_after_ms(SEARCH_POLL_MS);
    pthread_cond_clockwait(&open_profiles->freed, &open_profiles->lock, CLOCK_MONOTONIC, &until);
}

/* Bounds concurrent queries: more would only slow each other down. */
static bool acquire_slot(struct open_profiles *open_profiles, const struct profile_query *query,
                         struct reply *reply)
{
    const unsigned *running = &open_profiles->running[query->kind],
                   limit = open_profiles->max_running[query->kind];
    int64_t deadline = clock_monotonic_ms() + SEARCH_WAIT_MS;
    pthread_mutex_lock(&open_profiles->lock);
    if (*running >= limit && open_profiles->waiting < MAX_WAITING_SEARCHES) {
        open_profiles->waiting++;
        while (*running >= limit && !open_profiles->is_stopping &&
               clock_monotonic_ms() < deadline && !peer_has_closed(query->socket))
            wait_for_slot(open_profiles);
        open_profiles->waiting--;
    }
    bool ok = *running < limit && !open_profiles->is_stopping;
    open_profiles->running[query->kind] += ok;
    pthread_mutex_unlock(&open_profiles->lock);
    if (!ok)
        reply_error(reply, MHD_HTTP_SERVICE_UNAVAILABLE, "too many %s are running; try again",
                    query->kind == QUERY_EXPORT ? "exports" : "searches");
    return ok;
}

static void release_slot(struct open_profiles *open_profiles, enum query_kind kind)
{
    pthread_mutex_lock(&open_profiles->lock);
    open_profiles->running[kind]--;
    pthread_cond_broadcast(&open_profiles->freed);
    pthread_mutex_unlock(&open_profiles->lock);
}

/* Waits for a slot, then puts the query on the list whose deadlines and clients are polled. False
 * with the reply set, and then profile_query_end must not be called. */
bool profile_query_begin(struct profile_query *query, struct opened *opened,
                         struct request *request, enum query_kind kind, struct reply *reply)
{
    struct open_profiles *open_profiles = opened->open_profiles;
    struct error err;
    unsigned limit_s = kind == QUERY_EXPORT ? EXPORT_S : SEARCH_S;
    *query = (struct profile_query){.kind = kind,
                                    .opened = opened,
                                    .socket = request_socket(request),
                                    .limit_s = limit_s,
                                    .deadline_ms = clock_monotonic_ms() + (int64_t)limit_s * 1000};
    if (!acquire_slot(open_profiles, query, reply))
        return false;
    struct sql_database *database = opened_database(opened, &err);
    if (!database || !sql_connect(&query->connection, database, &err)) {
        release_slot(open_profiles, kind);
        reply_unreadable(opened, reply, &err);
        return false;
    }
    pthread_mutex_lock(&open_profiles->lock);
    query->next = open_profiles->queries;
    open_profiles->queries = query;
    pthread_mutex_unlock(&open_profiles->lock);
    return true;
}

void profile_query_end(struct profile_query *query)
{
    struct open_profiles *open_profiles = query->opened->open_profiles;
    pthread_mutex_lock(&open_profiles->lock);
    struct profile_query **at = &open_profiles->queries;
    while (*at != query)
        at = &(*at)->next;
    *at = query->next;
    pthread_mutex_unlock(&open_profiles->lock);
    sql_disconnect(query->connection);
    release_slot(open_profiles, query->kind);
}

void profile_query_failed(struct profile_query *query, struct reply *reply, const struct error *err)
{
    bool is_interrupted = strcmp(err->text, "interrupted") == 0;
    if (is_interrupted && atomic_load(&query->is_timed_out))
        reply_error(reply, MHD_HTTP_GATEWAY_TIMEOUT,
                    "the query took more than %u s and was canceled", query->limit_s);
    else if (is_interrupted)
        reply_error(reply, MHD_HTTP_SERVICE_UNAVAILABLE, "the query was canceled");
    else
        reply_unreadable(query->opened, reply, err);
}

struct sql_result *profile_query_run(struct profile_query *query, struct output *sql,
                                     struct reply *reply)
{
    struct sql_result *result;
    struct error err;
    output_char(sql, '\0');
    if (!sql_query(&result, query->connection, sql->data, &err)) {
        profile_query_failed(query, reply, &err);
        result = NULL;
    }
    sql->size = 0;
    return result;
}

size_t profile_query_next(struct profile_query *query, struct sql_result *result,
                          struct reply *reply, bool *ok)
{
    size_t rows;
    struct error err;
    if (sql_next(result, &rows, &err))
        return rows;
    profile_query_failed(query, reply, &err);
    *ok = false;
    return 0;
}

bool has_table(const struct opened *opened, const char *table)
{
    char *path = path_format("%s/%s.parquet", opened->directory, table);
    bool is_there = access(path, R_OK) == 0;
    mem_free(path);
    return is_there;
}

bool has_column(const struct opened *opened, const char *table, const char *column)
{
    char *name = path_format("%s.%s", table, column);
    bool is_there = intern_find(&opened->columns, text_of(name)) != INTERN_NONE;
    mem_free(name);
    return is_there;
}

int64_t sql_integer(const struct sql_result *result, size_t row, size_t column)
{
    struct text value = sql_value(result, row, column);
    char digits[32] = "";
    if (value.size < sizeof digits)
        memcpy(digits, value.data ? value.data : "", value.size);
    return strtoll(digits, NULL, 10);
}
