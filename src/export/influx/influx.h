/*
 * Inside export: the InfluxDB exporter. server.c talks to the server, send.c keeps several writes
 * in flight, collisions.c finds points that would overwrite each other, influx.c formats events as
 * lines.
 */
#ifndef KYMO_EXPORT_INFLUX_INFLUX_H
#define KYMO_EXPORT_INFLUX_INFLUX_H

#include "base/http/http.h"
#include "export/describe.h"

#include <stdatomic.h>

/* A server that accepts our writes. */
struct influx {
    struct influx_options options;
    bool is_v1; /* it has /write, and databases for buckets */
    char *write_url;
    char *authorization;    /* a header, NULL without a token */
    struct http *http;      /* of the thread that owns the struct */
    atomic_bool is_aborted; /* stops all retries */
};

/* Writes compressed lines to the bucket; retries transient failures. */
bool influx_write(struct influx *influx, struct http *http, const char *packed, size_t size,
                  struct error *err);
/* Deletes all points of a profile. */
bool influx_remove(struct influx *influx, const char *profile, struct error *err);

/* Writes in flight: sender threads take chunks from a bounded queue. */
struct influx_queue;
struct influx_queue *influx_queue_start(struct influx *influx, struct error *err);
/* Takes ownership of the bytes of a memory output, which is empty afterward; blocks while the
 * queue is full. After a failure, returns false with an empty err: influx_queue_end reports the
 * error. */
bool influx_queue_push(struct influx_queue *queue, struct output *packed, uint64_t points,
                       struct error *err);
/* Waits until everything is written, or drops the rest if is_canceled; frees the queue. err is the
 * first failure; *written counts the points the server accepted. */
bool influx_queue_end(struct influx_queue *queue, bool is_canceled, uint64_t *written,
                      struct error *err);

/*
 * InfluxDB identifies a point by series and time. Events of a track that start in the same
 * nanosecond differ in a tag `collision`: the second has 1, the third 2. Tags must have few values,
 * so the count ends at 1,023; the next 1,024 events move to the next nanosecond, and so on. That
 * many are rare; the field `timestamp` keeps the true time.
 */
enum { COLLISION_BITS = 10, MAX_COLLISIONS = 1 << COLLISION_BITS };

/* Assigns times and collision tags to points that arrive in time order. */
struct collision_run {
    int64_t time_ns;
    uint32_t collision;
    bool has_any;
};
void collision_run_add(struct collision_run *run, int64_t time_ns);

/* For all events of a trace: nanoseconds to add, with the collision number in the low bits. Free
 * with mem_free. */
bool find_collisions(const struct analysis *analysis, struct pool *pool, uint32_t **collisions,
                     struct error *err);
/* The time of an event, clamped to the range of points. */
int64_t point_time(const struct catalog *catalog, int64_t start_ps);

#endif
