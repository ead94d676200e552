/*
 * A synthetic training run: ranks in tensor, data and pipeline groups that compute, meet in
 * collectives and leave them together. Local work is a function of seed, rank, step and segment,
 * and so is made again wherever it is needed; only the ends of collectives are kept.
 */
#ifndef KYMO_BENCH_GEN_RUN_H
#define KYMO_BENCH_GEN_RUN_H

#include "base/base.h"

enum work_kind { WORK_COMPUTE, WORK_KERNEL, WORK_HOST, WORK_COPY, WORK_KINDS };
extern const char *const work_kinds[WORK_KINDS];

struct straggler {
    enum work_kind kind; /* WORK_KERNEL: one kernel computes longer */
    uint64_t rank;
    double factor; /* of the rank's own time */
    uint64_t first_step, every;
};
struct slow_link {
    char communicator[32];
    double factor;
};
enum operation {
    OP_ALLREDUCE,
    OP_SEND,
    OP_RECV,
    OP_REDUCE_SCATTER,
    OP_ALLGATHER,
    OP_BARRIER,
    OPERATIONS
};
extern const char *const operation_names[OPERATIONS];
struct clock_fault {
    double offset_ns, drift_ppm;
};
struct step_fault {
    uint64_t step;
    double factor;
};
struct lost_start {
    uint64_t rank, step;
};

struct faults {
    ARRAY(struct straggler) stragglers;
    ARRAY(struct slow_link) slow_links;
    double slow_operation[OPERATIONS]; /* factor, 1 for none */
    ARRAY(uint64_t) lost_ranks;
    ARRAY(struct lost_start) lost_starts;
    ARRAY(struct step_fault) outliers;
    double drift; /* the last step's compute time over the first's */
};

struct run {
    const char *dataset, *name;
    uint64_t ranks, steps, machine_ranks, seed, layers, microbatches, jobs;
    uint64_t tensor, data, pipeline;
    bool has_barrier, has_kernels;
    bool has_overlap;        /* reduce-scatters run beside the work after them */
    double noise, imbalance; /* of segments; of stages */
    struct faults faults;
    struct clock_fault *clocks; /* by machine */
    double clock_offset_ns, clock_drift_ppm;
};

/* What a rank does in a step: a segment of its own work before each of these, and one at the end.
 */
struct meeting {
    enum operation operation;
    uint64_t match; /* number in its step */
    uint64_t members;
    uint64_t communicator; /* number among those of its kind */
    uint64_t group_size, peer, bytes;
    uint64_t occurrence;
};
enum { MAX_MEETINGS = 96 };
struct program {
    size_t count;
    struct meeting meetings[MAX_MEETINGS];
};

/* Own work before a meeting. */
struct segment {
    int64_t compute_ns, copy_ns, host_ns, kernel_ns, slow_kernel_ns; /* the last: within compute */
};
static inline int64_t segment_ns(const struct segment *segment)
{
    return segment->compute_ns + segment->copy_ns + segment->host_ns + segment->kernel_ns;
}

void program_make(const struct run *run, uint64_t rank, struct program *program);
void communicator_name(const struct meeting *meeting, char name[static 32]);
struct segment segment_make(const struct run *run, uint64_t rank, uint64_t step, size_t number,
                            size_t count);
/* How much later than the end of a meeting this rank leaves it. */
int64_t leave_ns(const struct run *run, uint64_t rank, uint64_t step, size_t number);
/* Whether ranks go on with their work before the meeting ends, and wait for it after that. */
static inline bool is_overlapped(const struct run *run, const struct meeting *meeting)
{
    return run->has_overlap && meeting->operation == OP_REDUCE_SCATTER;
}
uint64_t matches_of(const struct run *run);
/* Ends of all meetings, by step and match. */
bool run_simulate(const struct run *run, int64_t *ends, struct error *err);

uint64_t machines_of(const struct run *run);
/* A random number that the arguments alone determine; 0 to 1, or normal. */
double random_unit(const struct run *run, uint64_t a, uint64_t b, uint64_t c);
double random_normal(const struct run *run, uint64_t a, uint64_t b, uint64_t c);

/* run=<run>/instance=node<machine>/rank=<rank>; free with mem_free. */
char *rank_directory(const char *run, uint64_t machine, uint64_t rank);
bool run_write(const struct run *run, const int64_t *ends, struct error *err);
bool faults_write(const struct run *run, const char *path, struct error *err);

#endif
