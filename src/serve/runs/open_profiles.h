/*
 * Cache of open profiles and internal queries on them, internal to serve. A profile stays open for
 * a while after use; one that was replaced or deleted is closed when its last user releases it.
 */
#ifndef KYMO_SERVE_RUNS_OPEN_PROFILES_H
#define KYMO_SERVE_RUNS_OPEN_PROFILES_H

#include "serve/http/server.h"
#include "sql/sql.h"
#include "store/timeline/timeline.h"

#include <sys/stat.h>

struct open_profiles *open_profiles_create(struct server *server);
/* Call after the last request. */
void open_profiles_destroy(struct open_profiles *open_profiles);
/* Interrupts queries past their deadline or whose client is gone, closes unused profiles; call
 * often. */
void open_profiles_tick(struct open_profiles *open_profiles);
/* Interrupts all queries and rejects new ones. */
void open_profiles_stop(struct open_profiles *open_profiles);

/* A reference to an open profile. */
struct opened;
/* A reference to the cache entry of a profile's directory, made if there is none. Takes over the
 * path, and that of a rank's mark: the file that changes when the rank does; NULL for others. Which
 * directory a name stands for is decided in subjects.c. */
struct opened *opened_share(struct open_profiles *open_profiles, const char *name, char *directory,
                            char *mark, const struct stat *status);
/* A reference to a rank that is open and is still the same, or NULL. */
struct opened *opened_find_rank(struct open_profiles *open_profiles, const char *name);
/* The same for the results of a run, which are tables without a timeline. The name, which no
 * profile has, is that of the cache entry. NULL with the reply set if they are gone. */
struct opened *open_results(struct request *request, const char *name, const char *directory,
                            struct reply *reply);
/* One more reference, for what outlives the handler. */
struct opened *opened_hold(struct opened *opened);
/* Gives back a reference; NULL is ignored. */
void close_profile(struct opened *opened);
const char *opened_directory(const struct opened *opened);
/* Whether it is a rank of a dataset: the files in its directory are links. */
bool opened_is_rank(const struct opened *opened);
/* Of the directory; of a rank, of the file that says that the rank is there. */
const struct stat *opened_status(const struct opened *opened);
struct hit_cache *opened_hits(struct opened *opened);
/* NULL if it cannot be read; reply, if not NULL, is then set. */
struct timeline *opened_timeline(struct opened *opened, struct reply *reply);

bool is_same_file(const struct stat *a, const struct stat *b);
void reply_no_profile(struct reply *reply, const char *name);
/* Replies 404 or 409 if the profile was removed or replaced since it was opened. */
bool reply_if_gone(const struct opened *opened, struct reply *reply);
/* Replies for a profile that could not be read: it may have been deleted or replaced since it was
 * opened. */
void reply_unreadable(const struct opened *opened, struct reply *reply, const struct error *err);

/* An internal query: a connection that is interrupted when its client disconnects or its time is
 * up. */
struct profile_query {
    enum query_kind kind;
    struct opened *opened;
    struct sql_connection *connection;
    int socket;
    int64_t deadline_ms;
    atomic_bool is_timed_out;
    unsigned limit_s;
    struct profile_query *next;
};
bool profile_query_begin(struct profile_query *query, struct opened *opened,
                         struct request *request, enum query_kind kind, struct reply *reply);
void profile_query_end(struct profile_query *query);
/* Sets the reply for a failed query. */
void profile_query_failed(struct profile_query *query, struct reply *reply,
                          const struct error *err);
/* Runs the SQL and clears the buffer; NULL on failure, with the reply set. */
struct sql_result *profile_query_run(struct profile_query *query, struct output *sql,
                                     struct reply *reply);
/* Fetches the next rows; 0 at the end. On failure also sets *ok to false and the reply. */
size_t profile_query_next(struct profile_query *query, struct sql_result *result,
                          struct reply *reply, bool *ok);

bool has_table(const struct opened *opened, const char *table);
/* Profiles of earlier versions do not have all columns. Only during a query. */
bool has_column(const struct opened *opened, const char *table, const char *column);

int64_t sql_integer(const struct sql_result *result, size_t row, size_t column);

#endif
