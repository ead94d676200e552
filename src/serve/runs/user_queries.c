/*
 * User SQL: waits for a slot, runs the query in a child process, cancels it when the client
 * disconnects.
 */
#include "serve/runs/user_queries.h"

#include "export/export.h"

#include <time.h>

struct queries {
    pthread_mutex_t lock;
    pthread_cond_t freed;
    unsigned running, waiting;
    struct sql_child_limits limits;
    struct sql_child *spare; /* preloaded child for the next query, or NULL */
    int64_t spare_ms;        /* its start time */
};

struct queries *queries_create(unsigned cores)
{
    struct queries *queries = mem_zeroed(1, sizeof *queries);
    queries->limits = (struct sql_child_limits){
        .engine = {.memory_bytes = QUERY_MEMORY,
                   .threads = cores < QUERY_THREADS ? cores : QUERY_THREADS,
                   .spill_bytes = QUERY_SPILL,
                   .value_bytes = QUERY_MAX_VALUE},
        .address_bytes = QUERY_ADDRESS_SPACE,
        .seconds = QUERY_S};
    pthread_mutex_init(&queries->lock, NULL);
    pthread_cond_init(&queries->freed, NULL);
    return queries;
}

void queries_destroy(struct queries *queries)
{
    if (!queries)
        return;
    sql_child_end(queries->spare);
    pthread_cond_destroy(&queries->freed);
    pthread_mutex_destroy(&queries->lock);
    mem_free(queries);
}

/* Takes the spare child if it is alive, otherwise NULL. */
static struct sql_child *take_spare(struct queries *queries)
{
    pthread_mutex_lock(&queries->lock);
    struct sql_child *spare = queries->spare;
    queries->spare = NULL;
    pthread_mutex_unlock(&queries->lock);
    if (!spare || sql_child_is_alive(spare))
        return spare;
    sql_child_end(spare);
    return NULL;
}

/* Queries come in series: the next one finds DuckDB loaded, which saves 50 of 80 ms. */
static void make_spare(struct queries *queries)
{
    struct error ignored;
    pthread_mutex_lock(&queries->lock);
    if (!queries->spare) {
        queries->spare = sql_child_start(&queries->limits, &ignored);
        queries->spare_ms = clock_monotonic_ms();
    }
    pthread_mutex_unlock(&queries->lock);
}

void queries_tick(struct queries *queries)
{
    struct sql_child *spare = NULL;
    pthread_mutex_lock(&queries->lock);
    if (queries->spare && clock_monotonic_ms() - queries->spare_ms > QUERY_SPARE_MS) {
        spare = queries->spare;
        queries->spare = NULL;
    }
    pthread_mutex_unlock(&queries->lock);
    sql_child_end(spare);
}

static bool is_canceled(void *context)
{
    return request_is_abandoned(context);
}

/* Call with the lock held; it is released while waiting. */
static void wait_for_slot(struct queries *queries)
{
    struct timespec until = clock_after_ms(QUERY_POLL_MS);
    pthread_cond_clockwait(&queries->freed, &queries->lock, CLOCK_MONOTONIC, &until);
}

static bool acquire_slot(struct request *request, struct reply *reply)
{
    struct queries *queries = request->server->queries;
    int64_t deadline = clock_monotonic_ms() + QUERY_WAIT_MS;
    pthread_mutex_lock(&queries->lock);
    if (queries->running >= MAX_QUERIES && queries->waiting < MAX_WAITING_QUERIES) {
        queries->waiting++;
        while (queries->running >= MAX_QUERIES && clock_monotonic_ms() < deadline &&
               !is_canceled(request))
            wait_for_slot(queries);
        queries->waiting--;
    }
    bool ok = queries->running < MAX_QUERIES;
    queries->running += ok;
    pthread_mutex_unlock(&queries->lock);
    if (ok)
        return true;
    reply_error(reply, MHD_HTTP_SERVICE_UNAVAILABLE,
                "%d queries are running and others are waiting; try again", MAX_QUERIES);
    return false;
}

static void release_slot(struct queries *queries)
{
    pthread_mutex_lock(&queries->lock);
    queries->running--;
    pthread_cond_signal(&queries->freed);
    pthread_mutex_unlock(&queries->lock);
}

static void reply_outcome(struct reply *reply, const struct opened *opened,
                          enum sql_outcome outcome, const struct error *err)
{
    switch (outcome) {
    case SQL_DONE:
        break;
    case SQL_FAILED: /* perhaps because the profile went away while the query ran */
        if (!reply_if_gone(opened, reply))
            reply_failure(reply, MHD_HTTP_BAD_REQUEST, err);
        break;
    case SQL_UNREADABLE:
        reply_unreadable(opened, reply, err);
        break;
    case SQL_TIMED_OUT:
        reply_failure(reply, MHD_HTTP_GATEWAY_TIMEOUT, err);
        break;
    case SQL_STOPPED:
        reply_error(reply, MHD_HTTP_SERVICE_UNAVAILABLE, "the query was canceled");
        break;
    }
}

void query_reply(struct request *request, struct reply *reply, const struct opened *opened,
                 const char *query, const struct rows_format *format)
{
    struct error err;
    struct queries *queries = request->server->queries;
    struct sql_task task = {.directory = opened_directory(opened),
                            .query = query,
                            .format = {(const char *)format, sizeof *format},
                            .limits = queries->limits,
                            .answer_bytes = 2 * (uint64_t)QUERY_MAX_ANSWER};
    if (!acquire_slot(request, reply))
        return;
    enum sql_outcome outcome =
        sql_task_run(&task, take_spare(queries), &reply->body, is_canceled, request, &err);
    release_slot(queries);
    if (!atomic_load(&request->server->is_stopping))
        make_spare(queries);
    reply->type = format->kind == ROWS_API_CSV ? "text/csv; charset=utf-8" : "application/json";
    reply_outcome(reply, opened, outcome, &err);
}
