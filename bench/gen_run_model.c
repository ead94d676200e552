/*
 * The synthetic run as a model: programs of ranks, their work, and the simulation of who waits for
 * whom.
 */
#include "gen_run.h"

#include <assert.h>
#include <stdio.h>

const char *const work_kinds[WORK_KINDS] = {"compute", "kernel", "host", "copy"};
const char *const operation_names[OPERATIONS] = {"allreduce",      "send",      "recv",
                                                 "reduce_scatter", "allgather", "barrier"};

/* Sizes and speeds, about those of eight-GPU machines with a fast network. */
enum {
    STEP_COMPUTE_NS = 40000000,
    STEP_HOST_NS = 1200000,
    STEP_COPY_NS = 800000,
    STEP_GAPS_NS = 300000,
    LATENCY_NS = 15000,
    LEAVE_NS = 2000,
    TENSOR_BYTES = 32 << 20,
    PIPELINE_BYTES = 16 << 20,
    GRADIENT_BYTES = 256 << 20,
};
#define INSIDE_BYTES_PER_NS 300.0 /* bus bandwidth within a machine */
#define ACROSS_BYTES_PER_NS 45.0

static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static uint64_t random_bits(const struct run *run, uint64_t a, uint64_t b, uint64_t c)
{
    return mix(mix(mix(run->seed * 31 + a) + b) + c);
}

double random_unit(const struct run *run, uint64_t a, uint64_t b, uint64_t c)
{
    return (double)(random_bits(run, a, b, c) >> 11) * 0x1p-53;
}

/* The sum of four uniform numbers. */
double random_normal(const struct run *run, uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t bits = random_bits(run, a, b, c);
    double sum = 0;
    for (int i = 0; i < 4; i++)
        sum += (double)(bits >> 16 * i & 0xffff) / 65536;
    return (sum - 2) * 1.7320508;
}

uint64_t machines_of(const struct run *run)
{
    return (run->ranks + run->machine_ranks - 1) / run->machine_ranks;
}

/* Matches of a step are numbered: those of tensor groups, of pipelines, of data groups, of all. */
static uint64_t tensor_matches(const struct run *run)
{
    return run->tensor > 1 ? run->pipeline * run->data * 2 * run->layers * run->microbatches : 0;
}

static uint64_t pipeline_matches(const struct run *run)
{
    return (run->pipeline - 1) * run->data * run->tensor * 2 * run->microbatches;
}

static uint64_t data_matches(const struct run *run)
{
    return run->data > 1 ? run->pipeline * run->tensor * 2 : 0;
}

uint64_t matches_of(const struct run *run)
{
    return tensor_matches(run) + pipeline_matches(run) + data_matches(run) + run->has_barrier;
}

struct place {
    uint64_t stage, replica, part;
};

static struct place place_of(const struct run *run, uint64_t rank)
{
    return (struct place){rank / (run->data * run->tensor), rank / run->tensor % run->data,
                          rank % run->tensor};
}

static uint64_t rank_at(const struct run *run, struct place place)
{
    return (place.stage * run->data + place.replica) * run->tensor + place.part;
}

static void add_meeting(struct program *program, struct meeting meeting)
{
    assert(program->count < MAX_MEETINGS);
    for (size_t i = 0; i < program->count; i++) {
        const struct meeting *before = &program->meetings[i];
        meeting.occurrence += before->operation == meeting.operation &&
                              before->group_size == meeting.group_size &&
                              before->bytes == meeting.bytes && before->peer == meeting.peer;
    }
    program->meetings[program->count++] = meeting;
}

static void add_layers(const struct run *run, struct program *program, struct place at,
                       uint64_t pass)
{
    uint64_t group = at.stage * run->data + at.replica;
    for (uint64_t layer = 0; layer < run->layers && run->tensor > 1; layer++)
        add_meeting(
            program,
            (struct meeting){.operation = OP_ALLREDUCE,
                             .match = (group * 2 * run->microbatches + pass) * run->layers + layer,
                             .members = run->tensor,
                             .communicator = group,
                             .group_size = run->tensor,
                             .bytes = TENSOR_BYTES});
}

/* A transfer between this stage and another, forwards or backwards. */
static void add_transfer(const struct run *run, struct program *program, struct place at,
                         bool is_send, bool is_back, uint64_t batch)
{
    bool to_next = is_send != is_back;
    if (to_next ? at.stage + 1 == run->pipeline : at.stage == 0)
        return;
    struct place other = {to_next ? at.stage + 1 : at.stage - 1, at.replica, at.part};
    struct place low = to_next ? at : other;
    uint64_t pair = rank_at(run, low) * 2 + is_back;
    add_meeting(program,
                (struct meeting){.operation = is_send ? OP_SEND : OP_RECV,
                                 .match = tensor_matches(run) + pair * run->microbatches + batch,
                                 .members = 2,
                                 .communicator = at.replica * run->tensor + at.part,
                                 .group_size = run->pipeline,
                                 .peer = rank_at(run, other),
                                 .bytes = PIPELINE_BYTES});
}

static void add_gradients(const struct run *run, struct program *program, struct place at)
{
    uint64_t group = at.stage * run->tensor + at.part;
    for (uint64_t i = 0; i < 2 && run->data > 1; i++)
        add_meeting(program, (struct meeting){.operation = i ? OP_ALLGATHER : OP_REDUCE_SCATTER,
                                              .match = tensor_matches(run) + pipeline_matches(run) +
                                                       group * 2 + i,
                                              .members = run->data,
                                              .communicator = group,
                                              .group_size = run->data,
                                              .bytes = GRADIENT_BYTES});
}

void program_make(const struct run *run, uint64_t rank, struct program *program)
{
    struct place at = place_of(run, rank);
    program->count = 0;
    for (uint64_t pass = 0; pass < 2 * run->microbatches; pass++) {
        bool is_back = pass >= run->microbatches;
        add_transfer(run, program, at, false, is_back, pass % run->microbatches);
        add_layers(run, program, at, pass);
        add_transfer(run, program, at, true, is_back, pass % run->microbatches);
    }
    add_gradients(run, program, at);
    if (run->has_barrier)
        add_meeting(program, (struct meeting){.operation = OP_BARRIER,
                                              .match = matches_of(run) - 1,
                                              .members = run->ranks,
                                              .group_size = run->ranks,
                                              .bytes = 8});
}

void communicator_name(const struct meeting *meeting, char name[static 32])
{
    static const char *const kinds[OPERATIONS] = {"tp", "pp", "pp", "dp", "dp", "world"};
    if (meeting->operation == OP_BARRIER)
        snprintf(name, 32, "world");
    else
        snprintf(name, 32, "%s_%llu", kinds[meeting->operation],
                 (unsigned long long)meeting->communicator);
}

/* The factor of this kind of work that a planted straggler has in this step. */
static double excess_of(const struct run *run, uint64_t rank, uint64_t step, enum work_kind kind)
{
    double excess = 0;
    const struct straggler *straggler;
    array_each (straggler, &run->faults.stragglers)
        if (straggler->rank == rank && straggler->kind == kind && step >= straggler->first_step &&
            (step - straggler->first_step) % straggler->every == 0)
            excess += straggler->factor - 1;
    return excess;
}

static double stage_factor(const struct run *run, uint64_t rank)
{
    uint64_t stage = place_of(run, rank).stage;
    return run->pipeline > 1 && stage + 1 == run->pipeline ? 1 + run->imbalance : 1;
}

struct segment segment_make(const struct run *run, uint64_t rank, uint64_t step, size_t number,
                            size_t count)
{
    double share = 1 / (double)count;
    double chip = 1 + 0.002 * random_normal(run, 1, rank, 0);
    double jitter = 1 + run->noise * random_normal(run, 2 + rank, step, number);
    double age = run->steps > 1 ? (double)step / (double)(run->steps - 1) : 0;
    double drifted = 1 + (run->faults.drift - 1) * age;
    double compute = STEP_COMPUTE_NS * share * stage_factor(run, rank) * chip * jitter * drifted;
    double host = STEP_HOST_NS * share * (0.8 + 0.4 * random_unit(run, 3 + rank, step, number));
    double copy = STEP_COPY_NS * share, gaps = STEP_GAPS_NS * share;
    double own = compute + host + copy + gaps;
    const struct step_fault *outlier;
    array_each (outlier, &run->faults.outliers)
        host += outlier->step == step ? (outlier->factor - 1) * own : 0;
    double slow = excess_of(run, rank, step, WORK_KERNEL) * own;
    return (struct segment){
        .compute_ns = (int64_t)(compute + slow + excess_of(run, rank, step, WORK_COMPUTE) * own),
        .slow_kernel_ns = (int64_t)slow,
        .host_ns = (int64_t)(host + excess_of(run, rank, step, WORK_HOST) * own),
        .copy_ns = (int64_t)(copy + excess_of(run, rank, step, WORK_COPY) * own),
        .kernel_ns = (int64_t)gaps};
}

int64_t leave_ns(const struct run *run, uint64_t rank, uint64_t step, size_t number)
{
    return (int64_t)(LEAVE_NS * random_unit(run, 4 + rank, step, number));
}

/* Times the data that crosses the slowest link, as nccl-tests have it. */
static double bus_factor(const struct meeting *meeting)
{
    double n = (double)meeting->group_size;
    switch (meeting->operation) {
    case OP_ALLREDUCE:
        return 2 * (n - 1) / n;
    case OP_REDUCE_SCATTER:
    case OP_ALLGATHER:
        return (n - 1) / n;
    default:
        return 1;
    }
}

static int64_t transfer_ns(const struct run *run, const struct meeting *meeting, uint64_t step)
{
    bool is_inside = meeting->operation == OP_ALLREDUCE;
    double speed = is_inside ? INSIDE_BYTES_PER_NS : ACROSS_BYTES_PER_NS;
    double time = (double)meeting->bytes * bus_factor(meeting) / speed + LATENCY_NS;
    time *= 1 + 0.02 * random_normal(run, 5, step, meeting->match);
    enum operation operation = meeting->operation == OP_RECV ? OP_SEND : meeting->operation;
    time *= run->faults.slow_operation[operation];
    char name[32];
    communicator_name(meeting, name);
    const struct slow_link *link;
    array_each (link, &run->faults.slow_links)
        time *= strcmp(link->communicator, name) == 0 ? link->factor : 1;
    return (int64_t)time;
}

/* A match that waits for members: who came is linked through `next`. */
struct waiting {
    uint64_t arrived;
    int64_t last_ns;
    uint64_t first; /* rank + 1 */
};
struct simulation {
    const struct run *run;
    struct program *programs; /* by rank */
    int64_t *now;             /* by rank */
    int64_t *awaited;         /* by rank: end of the meeting that runs beside its work, or 0 */
    size_t *at;               /* by rank: meetings it has passed in this step */
    uint64_t *next;           /* by rank: another rank + 1 in the same match */
    struct waiting *waiting;  /* by match */
    uint64_t *ready;          /* ranks that can go on */
    size_t ready_count;
};

static int64_t own_ns(const struct simulation *simulation, uint64_t rank, uint64_t step)
{
    struct segment segment = segment_make(simulation->run, rank, step, simulation->at[rank],
                                          simulation->programs[rank].count + 1);
    return segment_ns(&segment);
}

static void arrive(struct simulation *simulation, uint64_t rank, uint64_t step, int64_t *ends)
{
    const struct run *run = simulation->run;
    simulation->now[rank] += own_ns(simulation, rank, step);
    if (simulation->now[rank] < simulation->awaited[rank])
        simulation->now[rank] = simulation->awaited[rank];
    simulation->awaited[rank] = 0;
    if (simulation->at[rank] == simulation->programs[rank].count)
        return;
    const struct meeting *meeting = &simulation->programs[rank].meetings[simulation->at[rank]];
    struct waiting *waiting = &simulation->waiting[meeting->match];
    if (waiting->arrived == 0 || simulation->now[rank] > waiting->last_ns)
        waiting->last_ns = simulation->now[rank];
    simulation->next[rank] = waiting->first;
    waiting->first = rank + 1;
    if (++waiting->arrived < meeting->members)
        return;
    int64_t end = waiting->last_ns + transfer_ns(run, meeting, step);
    ends[meeting->match] = end;
    for (uint64_t member = waiting->first; member; member = simulation->next[member - 1]) {
        int64_t left = end + leave_ns(run, member - 1, step, simulation->at[member - 1]);
        if (is_overlapped(run, meeting))
            simulation->awaited[member - 1] = left;
        else
            simulation->now[member - 1] = left;
        simulation->at[member - 1]++;
        simulation->ready[simulation->ready_count++] = member - 1;
    }
}

bool run_simulate(const struct run *run, int64_t *ends, struct error *err)
{
    uint64_t matches = matches_of(run);
    struct simulation simulation = {
        .run = run,
        .programs = mem_alloc(run->ranks * sizeof *simulation.programs),
        .now = mem_zeroed(run->ranks, sizeof *simulation.now),
        .awaited = mem_zeroed(run->ranks, sizeof *simulation.awaited),
        .at = mem_zeroed(run->ranks, sizeof *simulation.at),
        .next = mem_zeroed(run->ranks, sizeof *simulation.next),
        .waiting = mem_zeroed(matches + 1, sizeof *simulation.waiting),
        .ready = mem_zeroed(run->ranks, sizeof *simulation.ready),
    };
    for (uint64_t rank = 0; rank < run->ranks; rank++)
        program_make(run, rank, &simulation.programs[rank]);
    bool ok = true;
    for (uint64_t step = 0; step < run->steps && ok; step++) {
        memset(simulation.waiting, 0, matches * sizeof *simulation.waiting);
        memset(simulation.at, 0, run->ranks * sizeof *simulation.at);
        for (uint64_t rank = 0; rank < run->ranks; rank++)
            simulation.ready[simulation.ready_count++] = rank;
        while (simulation.ready_count > 0)
            arrive(&simulation, simulation.ready[--simulation.ready_count], step,
                   ends + step * matches);
        for (uint64_t rank = 0; rank < run->ranks && ok; rank++)
            if (simulation.at[rank] != simulation.programs[rank].count)
                ok = error_set(err, "rank %llu waits for ever", (unsigned long long)rank);
    }
    mem_free(simulation.programs);
    mem_free(simulation.now);
    mem_free(simulation.awaited);
    mem_free(simulation.at);
    mem_free(simulation.next);
    mem_free(simulation.waiting);
    mem_free(simulation.ready);
    return ok;
}
