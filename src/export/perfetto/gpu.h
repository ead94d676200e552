/*
 * Inside export: GPU work in a Perfetto trace as render stages and counters, the packets that
 * Perfetto's GPU views read. Ids of queues, contexts and counters are numbers of tracks plus one: 0
 * means none.
 */
#ifndef KYMO_EXPORT_PERFETTO_GPU_H
#define KYMO_EXPORT_PERFETTO_GPU_H

#include "model/model.h"

/* Fields of a packet. */
enum { PACKET_GPU_COUNTERS = 52, PACKET_GPU_STAGE = 53 };

/* Whether the lane's work is written this way: streams and counters of GPUs. */
bool gpu_has_lane(const struct catalog *catalog, const struct location *locations, uint32_t lane);

/* Members of interned data: the streams as queues, kinds of work as stages, processes as contexts.
 */
void gpu_put_specifications(struct output *out, const struct catalog *catalog,
                            const struct location *locations);
/* The members of an event that names all counters; false if there are none. */
bool gpu_put_counters(struct output *out, const struct catalog *catalog,
                      const struct location *locations);

/* Members of events. */
struct gpu_stage {
    uint32_t lane;
    uint64_t id, correlation; /* 0: none */
    uint64_t duration_ns;
    uint32_t name; /* a string */
    struct arg_list args;
    int64_t step; /* -1: none */
};
void gpu_put_stage(struct output *out, const struct catalog *catalog,
                   const struct location *locations, const struct gpu_stage *stage);
void gpu_put_sample(struct output *out, const struct location *locations, uint32_t lane,
                    double value);

#endif
