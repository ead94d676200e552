/*
 * Internal to serve: the server, requests and replies.
 */
#ifndef KYMO_SERVE_HTTP_SERVER_H
#define KYMO_SERVE_HTTP_SERVER_H

#include "base/base.h"
#include "base/clock.h"
#include "base/directory.h"
#include "base/wire/wire.h"
#include "serve/limits.h"
#include "serve/serve.h"

#include <microhttpd.h>
#include <stdatomic.h>

struct access;
struct open_profiles;
struct jobs;
struct queries;
struct fleet_runs;
struct rank_links;
struct router;

struct server {
    const struct serve_options *options;
    const struct router *router;
    char *data_path; /* workspace directory */
    struct access *access;
    struct open_profiles *open_profiles;
    struct jobs *jobs;
    struct queries *queries;
    struct fleet_runs *fleet_runs;
    struct rank_links *rank_links;
    struct pool *pool;
    pthread_mutex_t pool_lock;
    atomic_bool is_stopping;
};

struct argument {
    const char *name, *value;
};

struct route;
struct subject;

/* Receives a body that is not kept in memory. */
struct body_sink {
    /* False aborts the connection. */
    bool (*write)(struct body_sink *sink, const char *data, size_t size);
    /* Called when the request has ended in any way. */
    void (*close)(struct body_sink *sink);
};

struct request {
    struct server *server;
    struct MHD_Connection *connection;
    const char *method;
    char *uri, *decoded;                /* raw; and the buffer that the pointers below refer to */
    const char *problem;                /* error in the URI, or NULL */
    const char *segments[MAX_SEGMENTS]; /* of the path, percent-decoded */
    size_t segment_count;
    struct argument arguments[MAX_ARGUMENTS]; /* of the query string, percent-decoded */
    size_t argument_count;
    const struct route *route;
    const char *parameters[MAX_PARAMETERS]; /* segments matched by * in the route */
    const char *const *rest;                /* segments matched by ** */
    size_t rest_count;
    struct subject *subject;     /* what the names stand for; held while the handler runs */
    char *cookie, *frame_cookie; /* Set-Cookie, or NULL */
    bool is_begun, is_over_limit;
    struct output body;
    struct body_sink *sink; /* receives the body instead of `body`, or NULL */
};

struct reply {
    unsigned status;
    const char *type;
    struct output body;
    struct MHD_Response *response; /* instead of body, or NULL */
    struct {
        const char *name;
        char *value;
    } headers[MAX_HEADERS];
    size_t header_count;
};

typedef void handler(struct request *request, struct reply *reply);

/* What the names in a request stand for; serve/subjects.h. */
enum subject_kind {
    NO_SUBJECT,
    SUBJECT_PROFILE,     /* a profile or a rank, opened: the first parameter */
    SUBJECT_OWN_PROFILE, /* the same to be changed: ranks are refused */
    SUBJECT_NAME,        /* a name, whether processed or not; a rank is opened */
    SUBJECT_OWN_NAME,    /* the same to be changed: ranks are refused */
    SUBJECT_RUN,         /* a run of a dataset: the first two parameters */
    SUBJECT_PAIR,        /* two profiles or two runs: the arguments a and b */
    SUBJECT_LOG_RUN,     /* a run of the log directory: the argument run or session_path */
    SUBJECT_LOG_SESSION, /* the same by session_path alone */
};

struct route {
    const char *method;
    const char *pattern; /* segments after /api/v1/; * matches one, ** the rest */
    enum subject_kind subject;
    handler *handle;
    size_t body_limit; /* 0 for requests without a body */
    /* For streamed bodies: called before the first byte; sets request->sink, or the reply. */
    handler *begin;
};

struct router {
    const struct route *routes;
    size_t count;
    const struct route *xprof_routes; /* those of XProf's server, after /data/plugin/profile/ */
    size_t xprof_count;
    /* Called before and after each handler: sets request->subject, or replies and returns false. */
    bool (*resolve)(struct request *request, struct reply *reply);
    void (*release)(struct request *request);
};

/* Value of a query string argument, or NULL. */
const char *request_argument(const struct request *request, const char *name);
bool request_number(const struct request *request, struct reply *reply, const char *name,
                    uint64_t max, uint64_t *number);
const char *request_header(const struct request *request, const char *name);
int request_socket(const struct request *request);
bool peer_has_closed(int socket);
/* Its client has disconnected, or the server is stopping. */
bool request_is_abandoned(const struct request *request);

void reply_error(struct reply *reply, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void reply_failure(struct reply *reply, unsigned status, const struct error *err);
void reply_header(struct reply *reply, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Starts a JSON document in the body. */
struct json reply_json(struct reply *reply);
void reply_no_content(struct reply *reply);

/* Fields of the JSON body. A missing field leaves the value unchanged; for a wrong type the reply
 * is set and false returned. */
bool body_check(const struct request *request, struct reply *reply);
bool body_text(const struct request *request, struct reply *reply, const char *key, char **value);
bool body_flag(const struct request *request, struct reply *reply, const char *key, bool *value,
               bool *is_there);
bool body_number(const struct request *request, struct reply *reply, const char *key, uint64_t max,
                 uint64_t *value);
/* A time in picoseconds, as a string of digits or as a number. */
bool body_time(const struct request *request, struct reply *reply, const char *key, int64_t *value,
               bool *is_there);
typedef ARRAY(uint32_t) number_list;
bool body_numbers(const struct request *request, struct reply *reply, const char *key,
                  number_list *list);

/* Reads a file of at most max bytes; NUL-terminated. NULL on failure. */
char *file_content(const char *path, size_t max, size_t *size);
/* Writes a file atomically. */
bool file_replace(const char *path, struct text content, struct error *err);
void folder_remove(const char *path);
/* Total size of the files in it, down to depth levels of subfolders. */
uint64_t folder_size(const char *path, unsigned depth);

bool has_controls(const char *text);
/* Appends a quoted SQL string literal. */
void put_sql_text(struct output *sql, struct text text);

#endif
