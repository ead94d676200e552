/*
 * All results of a search as sets of event ids, for drawing them, internal to serve. The sets of
 * the last searches on a profile are kept while it is open.
 */
#ifndef KYMO_SERVE_HITS_H
#define KYMO_SERVE_HITS_H

#include "serve/open_profiles.h"

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

/* The results of a search; NULL with the reply set if it fails. */
struct hits *hits_find(struct request *request, struct reply *reply, struct opened *opened,
                       const char *query);
void hits_release(struct opened *opened, struct hits *hits);

#endif
