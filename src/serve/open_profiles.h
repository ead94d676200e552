/*
 * Inside serve: profiles that are open, and queries that run on them. A profile stays open for a
 * while after it was used; one that was replaced or deleted is closed when its last user is done.
 */
#ifndef KYMO_SERVE_OPEN_PROFILES_H
#define KYMO_SERVE_OPEN_PROFILES_H

#include "serve/server.h"
#include "sql/sql.h"
#include "timeline/timeline.h"

struct open_profiles *open_profiles_create(struct server *server);
/* After the last request. */
void open_profiles_destroy(struct open_profiles *open_profiles);
/* Ends what runs too long or for nobody, closes what is not used; to be called often. */
void open_profiles_tick(struct open_profiles *open_profiles);
/* Ends all queries, and those that come. */
void open_profiles_stop(struct open_profiles *open_profiles);

/* A profile in use. */
struct opened;
/* The profile that the request's first parameter names; replies when there is none. */
struct opened *open_profile(struct request *request, struct reply *reply);
void close_profile(struct opened *opened);
const char *opened_directory(const struct opened *opened);
/* Its timeline; NULL when it has none that can be read, which is replied to where there is a reply.
 */
struct timeline *opened_timeline(struct opened *opened, struct reply *reply);

/* Replies for a profile that could not be read: it may have been deleted or made again since it was
 * found. */
void reply_unreadable(const struct opened *opened, struct reply *reply, const struct error *err);
/* Whether a connection's peer has closed it. */
bool peer_has_closed(int socket);

/* Kinds have their own limits, so that slow exports do not hold up searches. */
enum query_kind { QUERY_SEARCH, QUERY_EXPORT, QUERY_KINDS };

/* A query of the server's own on its way: a connection that ends with its peer or its time. */
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
/* Replies to a failed query. */
void profile_query_failed(struct profile_query *query, struct reply *reply,
                          const struct error *err);
/* The query, whose text is ended here; NULL when it failed, and was replied to. */
struct sql_result *profile_query_run(struct profile_query *query, struct output *sql,
                                     struct reply *reply);
/* The next few rows; 0 at the end and on failure, which *ok tells and is replied to. */
size_t profile_query_next(struct profile_query *query, struct sql_result *result,
                          struct reply *reply, bool *ok);

/* Whether a profile has a table. */
bool has_table(const struct opened *opened, const char *table);

int64_t sql_integer(const struct sql_result *result, size_t row, size_t column);

#endif
