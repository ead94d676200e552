/*
 * Keeps the results of the last searches, counted by their users.
 */
#include "serve/runs/hit_cache.h"

#include "serve/limits.h"

void hit_cache_init(struct hit_cache *cache)
{
    *cache = (struct hit_cache){0};
    pthread_mutex_init(&cache->lock, NULL);
    pthread_mutex_init(&cache->search, NULL);
}

void hits_free(struct hits *hits)
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

/* Moves it to the front. */
struct hits *hit_cache_take(struct hit_cache *cache, const char *query)
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

/* Drops the least recently used results that nobody uses. */
void hit_cache_keep(struct hit_cache *cache, struct hits *hits)
{
    pthread_mutex_lock(&cache->lock);
    hits->next = cache->first;
    cache->first = hits;
    size_t kept = 0;
    struct hits **unused = NULL;
    for (struct hits **at = &cache->first; *at; at = &(*at)->next, kept++)
        if ((*at)->users == 0)
            unused = at;
    if (kept > MAX_KEPT_SEARCHES && unused) {
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

void hits_add(struct hits *hits, enum hit_table table, int64_t id)
{
    add_id(&hits->tables[table], id);
}

struct hits *hits_create(const char *query)
{
    struct hits *hits = mem_zeroed(1, sizeof *hits);
    hits->query = mem_copy_text(query, strlen(query));
    hits->users = 1;
    return hits;
}

void hit_cache_release(struct hit_cache *cache, struct hits *hits)
{
    pthread_mutex_lock(&cache->lock);
    hits->users--;
    pthread_mutex_unlock(&cache->lock);
}
