/*
 * Collectives. A CC-core takes one at a time. Data is exchanged at the trigger's simulated time;
 * the core's other work until the collective's end goes on in parallel.
 */
#include "neuron/simulator/collectives.h"

#include "neuron/simulator/convert.h"
#include "neuron/simulator/notify.h"
#include "neuron/simulator/semaphores.h"
#include "neuron/simulator/timing.h"

#include <string.h>

enum {
    START_NS = 10000,        /* of any collective: a CC-core reads and sets up its program */
    RING_STEP_NS = 2000,     /* one DMA transfer and its semaphore */
    MESH_STEP_NS = 3000,     /* transfers to all others at once */
    MESH_BYTES = 256 * 1024, /* up to this size, between chips */
};

/* Steps that each move `bytes` of this rank over its links. */
struct schedule {
    uint32_t steps;
    uint64_t bytes;
    bool is_mesh;
};

static uint32_t group_size(const struct collective *collective, uint32_t rank_count)
{
    if (collective->kind == COLLECTIVE_PERMUTE)
        return 2;
    return collective->group_count > 0 ? collective->group_size : rank_count;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The most bytes of the moves that leave one rank; moves are sorted by source. */
static uint64_t leaving_bytes(const struct collective *collective)
{
    uint64_t most = 0, bytes = 0;
    for (uint32_t i = 0; i < collective->move_count; i++) {
        const struct collective_move *move = &collective->moves[i];
        if (i > 0 && move->source != move[-1].source)
            bytes = 0;
        if (move->target != move->source)
            bytes += move->bytes;
        most = larger(most, bytes);
    }
    return most;
}

/* Within a chip, bytes are read from HBM and written to HBM; between chips they go over its links,
 * which its cores share. */
static uint64_t bytes_per_us(const struct core *core, uint32_t ranks)
{
    const struct core_hardware *hardware = core->hardware;
    if (ranks > hardware->cores_per_chip)
        return hardware->link_bytes_per_us / hardware->cores_per_chip;
    uint64_t dma = (uint64_t)DMA_ENGINES * hardware->dma_bytes_per_us;
    return (dma < core->dma.hbm_bytes_per_us ? dma : core->dma.hbm_bytes_per_us) / 2;
}

/* Within a chip, and for small sizes between chips, every rank sends to all others at once (mesh);
 * larger data goes around a ring, one part per step. */
static struct schedule schedule(const struct core_hardware *hardware,
                                const struct collective *collective, uint32_t rank_count)
{
    uint32_t ranks = group_size(collective, rank_count);
    uint64_t size = larger(collective->input_bytes, collective->output_bytes);
    if (ranks <= 1 || collective->kind == COLLECTIVE_BARRIER)
        return (struct schedule){.steps = 1};
    uint32_t rounds = 1;
    uint64_t part = (size + ranks - 1) / ranks;
    switch (collective->kind) {
    case COLLECTIVE_ALL_REDUCE: /* a reduce-scatter and an all-gather */
        rounds = 2;
        break;
    case COLLECTIVE_PERMUTE:
    case COLLECTIVE_BROADCAST:
        part = size;
        break;
    case COLLECTIVE_ALL_TO_ALL_V:
        part = (leaving_bytes(collective) + ranks - 2) / (ranks - 1);
        break;
    default:
        break;
    }
    bool is_mesh = ranks <= hardware->cores_per_chip || size <= MESH_BYTES || part == size;
    uint32_t hops = part == size ? 1 : ranks - 1; /* parts that leave this rank in a round */
    return (struct schedule){.steps = is_mesh ? rounds : rounds * hops,
                             .bytes = is_mesh ? part * hops : part,
                             .is_mesh = is_mesh};
}

static struct schedule own_schedule(const struct core *core, const struct collective *collective)
{
    return schedule(core->hardware, collective,
                    core->run->exchange ? core->run->exchange->rank_count : 1);
}

static uint64_t step_ticks(const struct core *core, const struct collective *collective,
                           const struct schedule *steps)
{
    uint32_t ranks = core->run->exchange ? core->run->exchange->rank_count : 1;
    uint64_t rate = bytes_per_us(core, group_size(collective, ranks));
    uint64_t moving = (steps->bytes * core->ticks_per_us + rate - 1) / rate;
    return moving + core_ns(core, steps->is_mesh ? MESH_STEP_NS : RING_STEP_NS);
}

const char *core_algorithm(const struct core_hardware *hardware,
                           const struct collective *collective, uint32_t rank_count)
{
    return schedule(hardware, collective, rank_count).is_mesh ? "mesh" : "ring";
}

/* A single rank: its own part is the whole. */
static void copy_locally(const struct collective *collective, const uint8_t *in, uint8_t *out)
{
    uint64_t bytes = collective->input_bytes < collective->output_bytes ? collective->input_bytes
                                                                        : collective->output_bytes;
    if (collective->kind == COLLECTIVE_ALL_TO_ALL_V) {
        for (uint32_t i = 0; i < collective->move_count; i++)
            memmove(out + collective->moves[i].to, in + collective->moves[i].from,
                    collective->moves[i].bytes);
        return;
    }
    bool arrives = collective->kind != COLLECTIVE_PERMUTE;
    for (uint32_t i = 0; i < collective->group_count && !arrives; i++)
        arrives =
            collective->members[(size_t)2 * i] == 0 && collective->members[(size_t)2 * i + 1] == 0;
    if (arrives)
        memmove(out, in, bytes);
    else
        memset(out, 0, collective->output_bytes);
}

static bool is_local(const struct core *core, const struct collective *collective)
{
    const struct core_exchange *exchange = core->run->exchange;
    if (exchange)
        return exchange->rank_count == 1;
    for (uint32_t i = 0; i < collective->group_count * collective->group_size; i++)
        if (collective->members[i] != 0)
            return false;
    return true;
}

static bool exchange_data(struct core *core, const struct collective *collective, uint32_t index,
                          uint64_t ready, uint64_t *all_ready)
{
    const struct core_run *run = core->run;
    const uint8_t *in = NULL;
    uint8_t *out = NULL;
    if (core->options.compute && collective->kind != COLLECTIVE_BARRIER) {
        in = run->variables[collective->input] + collective->input_offset;
        out = run->variables[collective->output] + collective->output_offset;
    }
    *all_ready = ready;
    if (!is_local(core, collective))
        return run->exchange && run->exchange->run(run->exchange->context, collective, index, in,
                                                   out, ready, all_ready);
    if (out)
        copy_locally(collective, in, out);
    return true;
}

static unsigned cc_core(const struct core *core, const struct collective *collective)
{
    unsigned count = core->hardware->cc_cores_per_chip / core->hardware->cores_per_chip;
    return collective->channel % (count < CC_CORES_MAX ? count : CC_CORES_MAX);
}

static void check_numbers(struct core *core, const struct collective *collective, unsigned engine,
                          uint32_t index)
{
    const struct variable *variable = &core->program->variables[collective->output];
    if (!core->options.check_numbers || !core->options.compute ||
        variable->kind != VARIABLE_OUTPUT || collective->kind == COLLECTIVE_BARRIER)
        return;
    uint32_t bytes = dtype_bytes(collective->dtype);
    const uint8_t *out = core->run->variables[collective->output] + collective->output_offset;
    unsigned found =
        bytes ? find_bad_numbers(collective->dtype, out, bytes, collective->output_bytes / bytes)
              : 0;
    if (found)
        core_error(core, RUN_NUMERIC_ERROR, found & FOUND_NAN ? ERROR_NAN : ERROR_INFINITY, engine,
                   index, collective->output, "Collective %u writes %s to output %s", index,
                   found & FOUND_NAN ? "NaN" : "infinity", variable->name);
}

void collective_trigger(struct core *core, enum engine engine, uint32_t pc, uint32_t index)
{
    const struct collective *collective = &core->program->collectives[index];
    unsigned cc = cc_core(core, collective);
    uint64_t ready = larger(core->now, core->cc_free[cc]), all_ready;
    if (!exchange_data(core, collective, index, ready, &all_ready)) {
        core_error(core, RUN_COLLECTIVE_ERROR, ERROR_COLLECTIVE, engine, pc, index,
                   core->run->exchange
                       ? "Collective %u at %s instruction %u failed: a rank of its group is gone"
                       : "Collective %u at %s instruction %u needs other ranks, but the program "
                         "runs alone",
                   index, hardware_engine_name(engine), pc);
        return;
    }
    all_ready = larger(all_ready, ready);
    check_numbers(core, collective, engine, index);
    struct schedule steps = own_schedule(core, collective);
    core->collective_ready[index] = ready;
    core->collective_all_ready[index] = all_ready;
    core->cc_free[cc] =
        all_ready + core_ns(core, START_NS) + steps.steps * step_ticks(core, collective, &steps);
    events_push(&core->events, core->cc_free[cc], EVENT_COLLECTIVE_DONE, engine, index, 0);
}

static uint32_t clamped(uint64_t value)
{
    return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static void notify_steps(struct core *core, const struct collective *collective, uint32_t index)
{
    unsigned unit = cc_core(core, collective);
    struct schedule steps = own_schedule(core, collective);
    uint64_t step = step_ticks(core, collective, &steps);
    uint64_t time = core->collective_ready[index];
    notify_at(core, time, NOTIFICATION_COLLECTIVE, PHASE_POINT, unit, index, STEP_TPB_TRIGGER,
              clamped(collective->input_bytes));
    notify_at(core, time, NOTIFICATION_COLLECTIVE, PHASE_START, unit, index, STEP_SEMAPHORE_WAIT,
              collective->semaphore);
    time = core->collective_all_ready[index] + core_ns(core, START_NS);
    notify_at(core, time, NOTIFICATION_COLLECTIVE, PHASE_END, unit, index, STEP_SEMAPHORE_WAIT,
              collective->semaphore);
    for (uint32_t i = 0; i < steps.steps; i++, time += step) {
        notify_at(core, time, NOTIFICATION_COLLECTIVE, PHASE_START, unit, index, STEP_DMA_ADVANCE,
                  clamped(steps.bytes));
        notify_at(core, time + step, NOTIFICATION_COLLECTIVE, PHASE_END, unit, index,
                  STEP_DMA_ADVANCE, clamped(steps.bytes));
    }
}

void collective_done(struct core *core, enum engine engine, uint32_t index)
{
    const struct collective *collective = &core->program->collectives[index];
    if (core_is_profiled(core))
        notify_steps(core, collective, index);
    if (collective->semaphore != NO_SEMAPHORE)
        semaphore_set(core, collective->semaphore,
                      semaphore_updated(core->semaphores[collective->semaphore], UPDATE_ADD,
                                        collective->increment),
                      engine, NO_INDEX);
}
