/*
 * Inside serve: the server, a request on its way through it, and the reply.
 */
#ifndef KYMO_SERVE_SERVER_H
#define KYMO_SERVE_SERVER_H

#include "base/base.h"
#include "serve/limits.h"
#include "serve/serve.h"
#include "wire/wire.h"

#include <microhttpd.h>
#include <stdatomic.h>

struct access;
struct open_profiles;
struct jobs;
struct queries;

struct server {
    const struct serve_options *options;
    char *data_path;                     /* the workspace's directory */
    struct access *access;               /* who may ask */
    struct open_profiles *open_profiles; /* profiles that are open, queries that run */
    struct jobs *jobs;                   /* what is being processed */
    struct queries *queries;
    struct pool *pool;
    pthread_mutex_t pool_lock;
    atomic_bool is_stopping;
};

enum { MAX_PARAMETERS = 3, MAX_HEADERS = 8 };

struct argument {
    const char *name, *value;
};

struct route;
struct upload;

struct request {
    struct server *server;
    struct MHD_Connection *connection;
    const char *method;
    char *uri, *decoded;                /* as it came; and what the pointers below point into */
    const char *problem;                /* what is wrong with the URI, or NULL */
    const char *segments[MAX_SEGMENTS]; /* of the path, decoded */
    size_t segment_count;
    struct argument arguments[MAX_ARGUMENTS]; /* what follows the ?, decoded */
    size_t argument_count;
    const struct route *route;
    const char *parameters[MAX_PARAMETERS]; /* segments that a * of the route stands for */
    const char *const *rest;                /* segments that its ** stands for */
    size_t rest_count;
    char *cookie; /* to be set, or NULL */
    bool is_begun, is_over_limit;
    struct output body;
    struct upload *upload; /* takes the body in place of `body` */
};

struct reply {
    unsigned status;
    const char *type;
    struct output body;
    struct MHD_Response *response; /* in place of the body */
    struct {
        const char *name;
        char *value;
    } headers[MAX_HEADERS];
    size_t header_count;
};

typedef void handler(struct request *request, struct reply *reply);

struct route {
    const char *method;
    const char *pattern; /* segments behind /api/v1/; * is any one, ** all that follow */
    handler *handle;
    size_t body_limit; /* 0 for requests without a body */
    /* For bodies that go elsewhere: called before the first byte; sets request->intake, or replies.
     */
    handler *begin;
};

extern const struct route routes[];
extern const size_t route_count;

/* The value behind ?name=, or NULL. */
const char *request_argument(const struct request *request, const char *name);
bool request_number(const struct request *request, struct reply *reply, const char *name,
                    uint64_t max, uint64_t *number);
const char *request_header(const struct request *request, const char *name);
/* The socket, to see whether somebody is still there. */
int request_socket(const struct request *request);

void reply_error(struct reply *reply, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void reply_failure(struct reply *reply, unsigned status, const struct error *err);
void reply_header(struct reply *reply, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A JSON document into the reply's body. */
struct json reply_json(struct reply *reply);
void reply_no_content(struct reply *reply);

/* Fields of the request's body, a JSON object. A field that is not there leaves the value as it is;
 * one of another type is replied to, and false returned. */
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

/* The whole of a small file, terminated, or NULL. */
char *file_content(const char *path, size_t max, size_t *size);
/* A file that is there as a whole or not at all. */
bool file_replace(const char *path, struct text content, struct error *err);
void folder_remove(const char *path);
bool folder_make(const char *path, struct error *err);
/* Bytes of the files in it, and in so many levels of folders below. */
uint64_t folder_size(const char *path, unsigned depth);

int64_t now_ms(void);

/* Whether there are control characters in a name. */
bool has_controls(const char *text);
/* Text that SQL takes for a value: between quotes. */
void put_sql_text(struct output *sql, struct text text);

#endif
