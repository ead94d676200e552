/*
 * CcOp, CcInstruction, CcStream, CoreBarriers.
 */
#include "store/tables/device_tables.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* The rank's group: its number, its ranks; all ranks where there are no groups. */
static uint32_t group_of(const struct collective *item, uint32_t rank, uint32_t rank_count,
                         struct output *members)
{
    output_char(members, '[');
    for (uint32_t i = 0; item->group_count == 0 && i < rank_count; i++)
        output_format(members, "%s%" PRIu32, i ? ", " : "", i);
    for (uint32_t group = 0; group < item->group_count; group++) {
        const uint32_t *ranks = item->members + (size_t)group * item->group_size;
        bool is_in = false;
        for (uint32_t i = 0; i < item->group_size; i++)
            is_in |= ranks[i] == rank;
        for (uint32_t i = 0; is_in && i < item->group_size; i++)
            output_format(members, "%s%" PRIu32, i ? ", " : "", ranks[i]);
        if (is_in) {
            output_char(members, ']');
            return group;
        }
    }
    output_char(members, ']');
    return item->group_count ? NO_INDEX : 0;
}

/* Of the data, what crosses a rank's links. */
static double bus_factor(const struct collective *item, uint32_t ranks)
{
    double n = ranks;
    switch ((enum collective_kind)item->kind) {
    case COLLECTIVE_ALL_REDUCE:
        return 2 * (n - 1) / n;
    case COLLECTIVE_ALL_GATHER:
    case COLLECTIVE_REDUCE_SCATTER:
    case COLLECTIVE_ALL_TO_ALL:
    case COLLECTIVE_ALL_TO_ALL_V:
        return (n - 1) / n;
    default:
        return 1;
    }
}

static void put_sizes(struct filler *filler, const struct collective *item,
                      const struct device_collective *run, uint32_t ranks)
{
    uint64_t larger =
        item->input_bytes > item->output_bytes ? item->input_bytes : item->output_bytes;
    uint32_t bytes = dtype_bytes((enum dtype)item->dtype);
    double rate = run->end_ps > run->start_ps
                      ? (double)larger * 1e12 / (double)(run->end_ps - run->start_ps)
                      : NAN;
    fill_int(filler, CC_OP_NUM_ELEMENTS, (int64_t)(bytes ? larger / bytes : 0));
    fill_word(filler, CC_OP_DTYPE, text_of(dtype_name((enum dtype)item->dtype)));
    fill_int(filler, CC_OP_INPUT_SIZE, (int64_t)item->input_bytes);
    fill_int(filler, CC_OP_OUTPUT_SIZE, (int64_t)item->output_bytes);
    fill_real(filler, CC_OP_ALGORITHM_BANDWIDTH, rate);
    fill_real(filler, CC_OP_BUS_BANDWIDTH, rate * bus_factor(item, ranks ? ranks : 1));
}

/* How many times data advanced tells the algorithm: a mesh takes a step a round. */
static const char *algorithm_of(const struct collective *item, uint32_t advances)
{
    if (item->kind == COLLECTIVE_BARRIER)
        return "barrier";
    return advances <= (item->kind == COLLECTIVE_ALL_REDUCE ? 2u : 1u) ? "mesh" : "ring";
}

static uint32_t *count_advances(const struct device_execution *execution)
{
    uint32_t *advances = mem_zeroed(execution->collectives.count, sizeof *advances);
    for (size_t i = 0; i < execution->cc_steps.count; i++)
        if (execution->cc_steps.items[i].step == STEP_DMA_ADVANCE)
            advances[execution->cc_steps.items[i].collective]++;
    return advances;
}

static void put_group(struct filler *filler, const struct device_at *at,
                      const struct collective *item)
{
    struct output members;
    output_memory(&members);
    uint32_t ranks = ntff_header(at->core->profile->ntff)->rank_count;
    uint32_t group = group_of(item, (uint32_t)at->rank, ranks, &members);
    fill_index(filler, CC_OP_REPLICA_GROUP_ID, group != NO_INDEX, group);
    fill_word(filler, CC_OP_REPLICA_GROUP, (struct text){members.data, members.size});
    output_discard(&members);
}

static void put_trigger_engine(struct filler *filler, const struct device_at *at, size_t column,
                               uint32_t engine)
{
    if (engine == NO_INDEX)
        fill_word(filler, column, TEXT("unknown"));
    else
        fill_name(filler, column, at->names->engines[engine]);
}

static bool has_stream(const struct device_at *at, uint32_t cc_core)
{
    return device_lane_of(at->core, DEVICE_LANE_COLLECTIVES, cc_core, 0) != NO_INDEX;
}

/* Number of a CC-core's stream: each that ran something has one. */
static int64_t stream_of(const struct device_at *at, uint32_t cc_core)
{
    int64_t index = 0;
    for (uint32_t unit = 0; unit < cc_core; unit++)
        index += has_stream(at, unit);
    return index;
}

/* Without groups a collective spans all ranks; a permute is between two. Triggers may be lost
 * from the trace, and their columns are then null. */
void put_collectives(struct filler *filler, const struct device_at *at)
{
    const struct device_execution *execution = at->execution;
    uint32_t *advances = count_advances(execution);
    for (size_t i = 0; i < execution->collectives.count && fill_continue(filler); i++) {
        const struct device_collective *run = &execution->collectives.items[i];
        const struct collective *item = &at->program->collectives[run->collective];
        bool has_trigger = run->trigger != NO_INDEX;
        uint32_t ranks = item->kind == COLLECTIVE_PERMUTE ? 2
                         : item->group_count > 0          ? item->group_size
                                                 : ntff_header(at->core->profile->ntff)->rank_count;
        fill_ends(filler, CC_OP_START_TS, run->start_ps, run->end_ps);
        fill_word(filler, CC_OP_OPERATION,
                  text_of(device_collective_name((enum collective_kind)item->kind)));
        fill_word(filler, CC_OP_ALGORITHM, text_of(algorithm_of(item, advances[i])));
        put_sizes(filler, item, run, ranks);
        fill_int(filler, CC_OP_OP_ID, run->collective);
        fill_int(filler, CC_OP_STREAM_ID, run->cc_core);
        fill_int(filler, CC_OP_STREAM_INDEX, stream_of(at, run->cc_core));
        put_trigger_engine(filler, at, CC_OP_TRIGGER_ENGINE, run->trigger_engine);
        fill_index(filler, CC_OP_TRIGGER_START_TS, has_trigger,
                   (uint64_t)whole_ns(run->trigger_ps));
        fill_index(filler, CC_OP_CC_TRIGGER_START_DELAY, has_trigger,
                   (uint64_t)whole_ns(run->start_ps - run->trigger_ps));
        put_group(filler, at, item);
        fill_int(filler, CC_OP_ID, at->ids.collectives[i]);
        fill_int(filler, CC_OP_EXECUTION_INDEX, at->core->profile->spans[at->number].index);
        fill_int(filler, CC_OP_RANK, at->rank);
    }
    mem_free(advances);
}

/* A stream for each CC-core that ran something. */
static void put_streams(struct filler *filler, const struct device_at *at)
{
    for (uint32_t unit = 0; unit < 256 && fill_continue(filler); unit++) {
        if (!has_stream(at, unit))
            continue;
        fill_int(filler, CC_STREAM_STREAM_ID, unit);
        fill_int(filler, CC_STREAM_STREAM_INDEX, stream_of(at, unit));
        fill_format(filler, CC_STREAM_CC_CORE_IDS, "[%" PRIu32 "]", unit);
        fill_int(filler, CC_STREAM_RANK, at->rank);
    }
}

bool make_streams(struct profile_maker *maker, struct error *err)
{
    return fill_cores(maker, TABLE_CC_STREAM, put_streams, err);
}

void put_cc_steps(struct filler *filler, const struct device_at *at)
{
    for (size_t i = 0; i < at->execution->cc_steps.count && fill_continue(filler); i++) {
        const struct device_cc_step *step = &at->execution->cc_steps.items[i];
        const struct device_collective *run = &at->execution->collectives.items[step->collective];
        fill_ends(filler, CC_INSTRUCTION_START_TS, step->start_ps, step->end_ps);
        fill_int(filler, CC_INSTRUCTION_CORE_IDX, step->cc_core);
        fill_word(filler, CC_INSTRUCTION_DESCRIPTION,
                  text_of(device_step_name((enum collective_step)step->step)));
        fill_maybe_name(filler, CC_INSTRUCTION_TRIGGER_ENGINE,
                        run->trigger == NO_INDEX ? 0 : at->names->engines[run->trigger_engine]);
        fill_index(filler, CC_INSTRUCTION_TRIGGER_START_TS, run->trigger != NO_INDEX,
                   (uint64_t)whole_ns(run->trigger_ps));
        fill_int(filler, CC_INSTRUCTION_RANK, at->rank);
    }
}

/* Collectives that only wait for all ranks. */
void put_barriers(struct filler *filler, const struct device_at *at)
{
    for (size_t i = 0; i < at->execution->collectives.count && fill_continue(filler); i++) {
        const struct device_collective *run = &at->execution->collectives.items[i];
        const struct collective *item = &at->program->collectives[run->collective];
        if (item->kind != COLLECTIVE_BARRIER || run->trigger == NO_INDEX)
            continue;
        enum engine engine = (enum engine)run->trigger_engine;
        uint32_t pc = at->execution->instructions[engine].items[run->trigger].pc;
        char text[1024];
        size_t size = device_operands(at->program, engine, pc, text, sizeof text);
        fill_ends(filler, BARRIER_START_TS, run->start_ps, run->end_ps);
        fill_name(filler, BARRIER_ENGINE_NAME, at->names->engines[engine]);
        fill_int(filler, BARRIER_ID, run->collective);
        fill_int(filler, BARRIER_SEMAPHORE, item->semaphore == NO_SEMAPHORE ? -1 : item->semaphore);
        fill_int(filler, BARRIER_COMPILER_PC, pc);
        fill_name(filler, BARRIER_COMPILER_OPCODE, at->names->opcodes[OP_TRIGGER_COLLECTIVE]);
        fill_word(filler, BARRIER_COMPILER_OPERANDS, (struct text){text, size});
        fill_int(filler, BARRIER_PCORE_IDX, at->physical_core);
        fill_int(filler, BARRIER_RANK, at->rank);
    }
}
