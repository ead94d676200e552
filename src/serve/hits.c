/*
 * Sets of search results: runs the search once and keeps the ids it finds.
 */
#include "serve/hits.h"

#include "serve/search.h"
#include "store/store.h"

#include <stdlib.h>

enum { MAX_KEPT = 3 };

void hit_cache_init(struct hit_cache *cache)
{
    *cache = (struct hit_cache){0};
    pthread_mutex_init(&cache->lock, NULL);
    pthread_mutex_init(&cache->search, NULL);
}

static void hits_free(struct hits *hits)
{
    for (size_t i = 0; i < HIT_TABLES; i++)
        mem_free(hits->tables[i].bits);
    mem_free(hits->query);
    mem_free(hits);
}

void hit_cache_free(struct hit_cache *cache)
{
    for (struct hits *hits = cache->first, *next; hits; hits = next) {
        next = hits->next;
        hits_free(hits);
    }
    pthread_mutex_destroy(&cache->lock);
    pthread_mutex_destroy(&cache->search);
}

/* Takes a kept set and moves it to the front. */
static struct hits *take_kept(struct hit_cache *cache, const char *query)
{
    pthread_mutex_lock(&cache->lock);
    struct hits *found = NULL;
    for (struct hits **at = &cache->first; *at && !found; at = found ? at : &(*at)->next)
        if (strcmp((*at)->query, query) == 0) {
            found = *at;
            *at = found->next;
        }
    if (found) {
        found->next = cache->first;
        cache->first = found;
        found->users++;
    }
    pthread_mutex_unlock(&cache->lock);
    return found;
}

/* Keeps a new set, and drops the least recently used one that nobody uses. */
static void keep(struct hit_cache *cache, struct hits *hits)
{
    pthread_mutex_lock(&cache->lock);
    hits->next = cache->first;
    cache->first = hits;
    size_t kept = 0;
    struct hits **unused = NULL;
    for (struct hits **at = &cache->first; *at; at = &(*at)->next, kept++)
        if ((*at)->users == 0)
            unused = at;
    if (kept > MAX_KEPT && unused) {
        struct hits *dropped = *unused;
        *unused = dropped->next;
        hits_free(dropped);
    }
    pthread_mutex_unlock(&cache->lock);
}

static void add_id(struct id_set *set, int64_t id)
{
    if (id < 0)
        return;
    uint64_t wanted = (uint64_t)id + 1;
    if (wanted > set->count) {
        uint64_t count = (wanted + wanted / 2 + 63) / 64 * 64;
        set->bits = mem_resize(set->bits, count / 64, sizeof *set->bits);
        memset(set->bits + set->count / 64, 0, (count - set->count) / 8);
        set->count = count;
    }
    set->bits[id / 64] |= (uint64_t)1 << id % 64;
}

static bool opened_has(const void *context, const char *table)
{
    return has_table(context, table);
}

static bool search(struct request *request, struct reply *reply, struct opened *opened,
                   const struct output *set, struct hits *hits)
{
    struct profile_query query;
    if (set->size == 0)
        return true;
    if (!profile_query_begin(&query, opened, request, QUERY_SEARCH, reply))
        return false;
    struct output sql;
    output_memory(&sql);
    output_format(&sql, "SELECT tbl = '%s', id FROM (", table_schemas[TABLE_RUNS].name);
    output_write(&sql, set->data, set->size);
    output_text(&sql, ")");
    struct sql_result *result = profile_query_run(&query, &sql, reply);
    bool ok = result != NULL;
    for (size_t rows; ok && (rows = profile_query_next(&query, result, reply, &ok)) > 0;)
        for (size_t row = 0; row < rows; row++) {
            bool is_run = text_equal(sql_value(result, row, 0), TEXT("true"));
            add_id(&hits->tables[is_run ? HITS_RUNS : HITS_EVENTS], sql_integer(result, row, 1));
        }
    sql_free(result);
    output_discard(&sql);
    profile_query_end(&query);
    return ok;
}

static struct hits *search_anew(struct request *request, struct reply *reply, struct opened *opened,
                                const char *query)
{
    struct error err;
    struct output set;
    struct hits *hits = mem_zeroed(1, sizeof *hits);
    hits->query = mem_copy_text(query, strlen(query));
    hits->users = 1;
    output_memory(&set);
    bool ok = search_compile(query, false, opened_has, opened, &set, &err);
    if (!ok)
        reply_failure(reply, MHD_HTTP_BAD_REQUEST, &err);
    ok = ok && search(request, reply, opened, &set, hits);
    output_discard(&set);
    if (ok)
        return hits;
    hits_free(hits);
    return NULL;
}

struct hits *hits_find(struct request *request, struct reply *reply, struct opened *opened,
                       const char *query)
{
    struct hit_cache *cache = opened_hits(opened);
    struct hits *hits = take_kept(cache, query);
    if (hits)
        return hits;
    pthread_mutex_lock(&cache->search);
    hits = take_kept(cache, query);
    if (!hits) {
        hits = search_anew(request, reply, opened, query);
        if (hits)
            keep(cache, hits);
    }
    pthread_mutex_unlock(&cache->search);
    return hits;
}

void hits_release(struct opened *opened, struct hits *hits)
{
    struct hit_cache *cache = opened_hits(opened);
    pthread_mutex_lock(&cache->lock);
    hits->users--;
    pthread_mutex_unlock(&cache->lock);
}
