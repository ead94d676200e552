/*
 * nccom: measures collectives. A case is one or several streams of collective operations of one
 * size, which NEFFs made for it run on all workers at once, each a thread with a core of its own,
 * through a runtime library with the published interface. Times are those of the device's clock.
 */
#ifndef KYMO_NEURON_RUN_NCCOM_NCCOM_H
#define KYMO_NEURON_RUN_NCCOM_NCCOM_H

#include "base/base.h"
#include "neuron/program/neff.h"

enum nccom_op {
    NCCOM_ALL_REDUCE,
    NCCOM_ALL_GATHER,
    NCCOM_ALL_GATHERV,
    NCCOM_REDUCE_SCATTER,
    NCCOM_SENDRECV,
    NCCOM_ALL_TO_ALL,
    NCCOM_ALL_TO_ALLV,
    NCCOM_PERMUTE,
    NCCOM_OPS
};

enum nccom_check { NCCOM_UNCHECKED, NCCOM_RANDOM, NCCOM_ALL_ONES };
enum { NCCOM_PARTS = 64, NCCOM_STREAMS = 64 }; /* at most: coalesced operations, streams */

/* ---- What is asked for --------------------------------------------------------------------- */

/* Lists of ranks of equal length; of source and target pairs, lists of two. */
struct nccom_groups {
    uint32_t size, count; /* count 0: none were given */
    uint32_t *ranks;
};

/* What one rank sends to and receives from each rank of its group, in elements. */
struct nccom_counts {
    uint64_t *send_counts, *send_displs, *recv_counts, *recv_displs;
};
struct nccom_metadata {
    uint32_t group_size, entry_count; /* entries: none, one for all ranks, or one for each */
    struct nccom_counts *entries;
};

struct nccom_stream {
    enum nccom_op op;
    enum dtype dtype;
    uint64_t bytes;        /* as given; see nccom_shape */
    uint32_t ops_per_iter; /* in one iteration */
    struct nccom_groups groups, pairs;
    struct nccom_metadata metadata;
    uint32_t ratio[NCCOM_PARTS], ratio_count; /* sizes of coalesced operations; 0: one operation */
};

struct nccom_case {
    struct nccom_stream *streams;
    size_t stream_count;
    uint32_t workers, nodes;
    /* Iterations in all or, if neff_iters is not 0, in a NEFF that is executed so often. */
    uint64_t iters, warmup_iters, neff_iters, neff_warmup_iters;
    enum nccom_check check;
    uint64_t seed;
    bool unique_buffers, pins_threads;
    const char *library; /* NULL: Kymo's own */
    const char *log;     /* gets what workers print, and why they failed */
    bool debug;          /* what workers print goes to standard error instead */
};

/* ---- What comes of it ---------------------------------------------------------------------- */

/* The shape of an operation of a given size: sizes that do not divide are rounded down, but not to
 * 0. */
struct nccom_shape {
    uint64_t bytes, elements; /* the size as used: the larger of input and output */
    uint64_t input_bytes, output_bytes;
    uint32_t group_size; /* ranks that take part */
};

struct nccom_result {
    struct nccom_shape shape;
    char algorithm[16];
    double *times_us; /* of all measured operations of all workers, ascending */
    size_t time_count;
};

/* Runs a case. results: one for each stream. */
bool nccom_run(const struct nccom_case *nccom, struct nccom_result *results, struct error *err);
void nccom_result_free(struct nccom_result *result);
void nccom_stream_free(struct nccom_stream *stream);

/* Whether the streams can be run by this many workers. */
bool nccom_check_streams(const struct nccom_case *nccom, struct error *err);
bool nccom_shape(const struct nccom_stream *stream, uint32_t workers, struct nccom_shape *shape,
                 struct error *err);

/* ---- Figures ------------------------------------------------------------------------------- */

double nccom_average(const double *times, size_t count);
/* Of ascending times, by linear interpolation. */
double nccom_percentile(const double *times, size_t count, double percent);
double nccom_gb_per_s(uint64_t bytes, double us); /* GB: 10^9 bytes */
double nccom_bus_factor(enum nccom_op op, uint32_t group_size);

/* ---- Words, sizes and files ---------------------------------------------------------------- */

const char *nccom_op_name(enum nccom_op op); /* the long one: "all_reduce" */
bool nccom_op_named(const char *name, enum nccom_op *op);
/* "bf16"; the data types that can be measured. */
bool nccom_dtype_named(const char *name, enum dtype *dtype);
/* "512kb", "32M", "8": units are powers of 1024. */
bool nccom_size(const char *text, uint64_t *bytes);
/* The sizes from min to max; steps are added or, if factor is not 0, multiplied. */
struct nccom_sizes {
    uint64_t min, max, step, factor;
};
/* The size after one of them; false: it was the last. */
bool nccom_next_size(const struct nccom_sizes *sizes, uint64_t *size);

/* JSON files, each with one entry for each operation or one for all: `index` is the operation's. */
bool nccom_read_groups(const char *path, uint32_t index, struct nccom_groups *groups,
                       struct error *err);
bool nccom_read_pairs(const char *path, uint32_t index, struct nccom_groups *pairs,
                      struct error *err);
bool nccom_read_metadata(const char *path, struct nccom_metadata *metadata, struct error *err);
/* Up to NCCOM_STREAMS of them, with defaults for what they leave out. */
bool nccom_read_streams(const char *path, uint32_t workers, const struct nccom_stream *defaults,
                        struct nccom_stream *list, size_t *count, struct error *err);
/* Groups of this many ranks, as far apart as possible. */
bool nccom_spread_groups(uint32_t workers, uint32_t size, struct nccom_groups *groups,
                         struct error *err);

#endif
