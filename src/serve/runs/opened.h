/*
 * Inside open_profiles.c and profile_queries.c: an open profile, and all of them.
 */
#ifndef KYMO_SERVE_RUNS_OPENED_H
#define KYMO_SERVE_RUNS_OPENED_H

#include "serve/http/server.h"
#include "serve/runs/hit_cache.h"
#include "sql/sql.h"
#include "store/timeline/timeline.h"

#include <sys/stat.h>

struct opened {
    struct open_profiles *open_profiles;
    char *name, *directory;
    char *mark; /* file of the rank that the directory has links for, NULL for other profiles */
    struct stat status; /* of the mark, or of the directory */
    unsigned users;
    bool is_stale; /* replaced or deleted: not for new users */
    int64_t used_ms;
    pthread_mutex_t lock; /* guards timeline and database */
    struct timeline *timeline;
    struct sql_database *database;
    struct intern columns; /* "table.column"; read with the database */
    struct hit_cache hits;
    struct opened *next;
};

struct open_profiles {
    struct server *server;
    pthread_mutex_t lock;
    pthread_cond_t freed; /* signaled when a query slot is released */
    struct opened *opened;
    struct profile_query *queries;
    unsigned running[QUERY_KINDS], max_running[QUERY_KINDS], waiting;
    bool is_stopping;
};

#endif
