/*
 * Results of searches as sets of event ids, internal to serve. The sets of the last searches on a
 * profile are kept while it is open.
 */
#ifndef KYMO_SERVE_RUNS_HIT_CACHE_H
#define KYMO_SERVE_RUNS_HIT_CACHE_H

#include "base/base.h"

/* Event ids of a table, as bits. */
struct id_set {
    uint64_t *bits;
    uint64_t count; /* of bits */
};

enum hit_table { HITS_EVENTS, HITS_RUNS, HIT_TABLES };

struct hits {
    char *query;
    struct id_set tables[HIT_TABLES];
    unsigned users;
    struct hits *next;
};

/* The searches of one profile. */
struct hit_cache {
    pthread_mutex_t lock;   /* guards the list */
    pthread_mutex_t search; /* held while a search runs: requests for the same one wait for it */
    struct hits *first;     /* most recently used first */
};

void hit_cache_init(struct hit_cache *cache);
void hit_cache_free(struct hit_cache *cache);

/* Takes the results of a query; NULL if they are not kept. */
struct hits *hit_cache_take(struct hit_cache *cache, const char *query);
/* Keeps new results, which the caller goes on using. */
void hit_cache_keep(struct hit_cache *cache, struct hits *hits);
void hit_cache_release(struct hit_cache *cache, struct hits *hits);

struct hits *hits_create(const char *query);
void hits_add(struct hits *hits, enum hit_table table, int64_t id);
void hits_free(struct hits *hits);

#endif
