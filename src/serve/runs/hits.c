/*
 * Finds the results of a search: runs it once and keeps the ids.
 */
#include "serve/runs/hits.h"

#include "serve/runs/search.h"
#include "store/tables/store.h"

static bool opened_has(const void *context, const char *table, const char *column)
{
    return column ? has_column(context, table, column) : has_table(context, table);
}

static bool search(struct profile_query *query, struct reply *reply, const struct output *set,
                   struct hits *hits)
{
    struct output sql;
    if (set->size == 0)
        return true;
    output_memory(&sql);
    output_format(&sql, "SELECT tbl = '%s', id FROM (", table_schemas[TABLE_RUNS].name);
    output_write(&sql, set->data, set->size);
    output_text(&sql, ")");
    struct sql_result *result = profile_query_run(query, &sql, reply);
    bool ok = result != NULL;
    for (size_t rows; ok && (rows = profile_query_next(query, result, reply, &ok)) > 0;)
        for (size_t row = 0; row < rows; row++) {
            bool is_run = text_equal(sql_value(result, row, 0), TEXT("true"));
            hits_add(hits, is_run ? HITS_RUNS : HITS_EVENTS, sql_integer(result, row, 1));
        }
    sql_free(result);
    output_discard(&sql);
    return ok;
}

static struct hits *search_anew(struct request *request, struct reply *reply, struct opened *opened,
                                const char *text)
{
    struct error err;
    struct output set;
    struct profile_query query;
    if (!profile_query_begin(&query, opened, request, QUERY_SEARCH, reply))
        return NULL;
    struct hits *hits = hits_create(text);
    output_memory(&set);
    bool ok = search_compile(text, false, opened_has, opened, &set, &err);
    if (!ok)
        reply_failure(reply, MHD_HTTP_BAD_REQUEST, &err);
    ok = ok && search(&query, reply, &set, hits);
    output_discard(&set);
    profile_query_end(&query);
    if (ok)
        return hits;
    hits_free(hits);
    return NULL;
}

struct hits *hits_find(struct request *request, struct reply *reply, struct opened *opened,
                       const char *query)
{
    struct hit_cache *cache = opened_hits(opened);
    struct hits *hits = hit_cache_take(cache, query);
    if (hits)
        return hits;
    pthread_mutex_lock(&cache->search);
    hits = hit_cache_take(cache, query);
    if (!hits) {
        hits = search_anew(request, reply, opened, query);
        if (hits)
            hit_cache_keep(cache, hits);
    }
    pthread_mutex_unlock(&cache->search);
    return hits;
}

void hits_release(struct opened *opened, struct hits *hits)
{
    hit_cache_release(opened_hits(opened), hits);
}
