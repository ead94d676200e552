/*
 * Inside export: the InfluxDB exporter. server.c talks to the server,
 * send.c keeps several writes in flight, collisions.c finds points that would replace each
 * other, influx.c makes lines of events.
 */
#ifndef KYMO_EXPORT_INFLUX_INFLUX_H
#define KYMO_EXPORT_INFLUX_INFLUX_H

#include "export/describe.h"
#include "net/net.h"

#include <stdatomic.h>

/* A server that was found and is willing. */
struct influx {
    struct influx_options options;
    bool is_v1; /* it has /write, and databases for buckets */
    char *write_url;
    char *authorization;     /* a header, NULL without a token */
    struct http *http;       /* for whoever owns the struct */
    atomic_bool is_given_up; /* nobody goes on trying */
};

/* Packed lines into the bucket; goes on trying while the server may yet take them. */
bool influx_write(struct influx *influx, struct http *http, const char *packed, size_t size,
                  struct error *err);
/* Removes all points of a profile. */
bool influx_remove(struct influx *influx, const char *profile, struct error *err);

/* Writes that are under way: senders take pieces from a short queue. */
struct influx_queue;
struct influx_queue *influx_queue_start(struct influx *influx, struct error *err);
/* Takes the bytes of a memory output, which is empty afterwards; waits while the queue is full.
 * After a failure it returns false, with an empty err: influx_queue_end says what it was. */
bool influx_queue_push(struct influx_queue *queue, struct output *packed, uint64_t points,
                       struct error *err);
/* Waits until all is written, or drops what is not when is_cancelled; frees the queue. The first
 * failure is in err; *written counts the points the server took. */
bool influx_queue_end(struct influx_queue *queue, bool is_cancelled, uint64_t *written,
                      struct error *err);

/*
 * Two points of one series and one time are one to InfluxDB. Events of a track that begin in the
 * same nanosecond are told apart by a tag `collision`: the second has 1, the third 2. A tag must
 * not have many values, so that it ends at 1,023; the 1,024 events after that get the next
 * nanosecond, and so on. Piles of that size are rare, and the field `timestamp` has the true time
 * then.
 */
enum { COLLISION_BITS = 10, MOST_COLLISIONS = 1 << COLLISION_BITS };

/* The times and tags of points that come in order of time. */
struct collision_run {
    int64_t time_ns;
    uint32_t collision;
    bool has_any;
};
void collision_run_add(struct collision_run *run, int64_t time_ns);

/* For all events of a trace: nanoseconds to add, collision in the lower bits. Free it with
 * mem_free. */
bool find_collisions(const struct analysis *analysis, struct pool *pool, uint32_t **collisions,
                     struct error *err);
/* When it happened, in the range that points can have. */
int64_t point_time(const struct catalog *catalog, int64_t start_ps);

#endif
