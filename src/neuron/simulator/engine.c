/*
 * The engines. An instruction's effect on data happens when it starts; semaphores change when it
 * has read its operands or is complete. Instructions complete in order, except for weight loads,
 * which run in parallel with matmuls.
 */
#include "neuron/simulator/engine.h"

#include "neuron/simulator/alu.h"
#include "neuron/simulator/collectives.h"
#include "neuron/simulator/completions.h"
#include "neuron/simulator/compute.h"
#include "neuron/simulator/dma.h"
#include "neuron/simulator/notify.h"
#include "neuron/simulator/semaphores.h"
#include "neuron/simulator/throttle.h"
#include "neuron/simulator/timing.h"

static bool is_array_opcode(enum opcode opcode)
{
    return opcode == OP_MATMUL || opcode == OP_TRANSPOSE;
}

static bool has_operands(enum opcode opcode)
{
    return opcode >= OP_TENSOR_COPY && opcode <= OP_IOTA;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static bool uses_memory(const struct instruction *instruction, enum memory memory)
{
    return instruction->dst.memory == memory || instruction->src[0].memory == memory ||
           instruction->src[1].memory == memory || instruction->src[2].memory == memory;
}

/* Which shared port an engine's instruction takes; NULL: none. Only where ports are shared. */
static bool takes_sbuf_port(enum engine engine, const struct instruction *instruction)
{
    return (engine == ENGINE_VECTOR || engine == ENGINE_GPSIMD) &&
           uses_memory(instruction, MEMORY_SBUF);
}

static bool takes_psum_port(enum engine engine, const struct instruction *instruction)
{
    return (engine == ENGINE_VECTOR || engine == ENGINE_SCALAR) &&
           uses_memory(instruction, MEMORY_PSUM);
}

static bool reads_result(const struct engine_state *engine, const struct instruction *instruction)
{
    for (unsigned i = 0; i < 3; i++) {
        const struct operand *source = &instruction->src[i];
        if (source->memory != engine->written.memory)
            continue;
        struct core_extent extent = operand_extent(source);
        if (extents_meet(&extent, &engine->written))
            return true;
    }
    return false;
}

/* When the instruction can start, as far as the engine and its shared ports decide. */
static uint64_t earliest_start(struct core *core, enum engine e,
                               const struct instruction *instruction)
{
    const struct engine_state *engine = &core->engines[e];
    const struct tensor_state *tensor = &core->tensor;
    uint64_t start = core->now;
    if (is_array_opcode(instruction->opcode)) {
        start = later(start, tensor->array_free);
        if (instruction->opcode == OP_MATMUL)
            start = later(start, tensor->weights_ready);
    } else if (instruction->opcode == OP_LDWEIGHTS) {
        start = later(start, tensor->weights_ready);
    } else if (instruction->opcode == OP_DRAIN) {
        start = later(start, engine->all_complete);
    } else if (has_operands(instruction->opcode) || instruction->opcode == OP_TENSOR_LOAD) {
        if (engine->written.memory != MEMORY_NONE && engine->last_complete > start &&
            reads_result(engine, instruction))
            start = engine->last_complete;
        if (core->hardware->shared_ports && takes_sbuf_port(e, instruction))
            start = later(start, core->sbuf_port_free);
        if (core->hardware->shared_ports && takes_psum_port(e, instruction))
            start = later(start, core->psum_port_free);
    }
    return start;
}

static void clear_semaphores(struct core *core, enum engine e,
                             const struct instruction *instruction, uint32_t pc)
{
    for (uint32_t i = 0; i < instruction->count; i++)
        if (core->semaphores[instruction->index + i])
            semaphore_set(core, instruction->index + i, 0, e, pc);
}

static void branch(struct engine_state *engine, const struct instruction *instruction, uint32_t pc)
{
    int64_t result = alu_integer(instruction->alu, engine->registers[instruction->index],
                                 instruction->immediate_int[0]);
    if (!result)
        return;
    engine->pc = instruction->target;
    engine->iteration += instruction->target <= pc;
}

/* The effect of the instruction, apart from taking time. */
static void apply(struct core *core, enum engine e, const struct instruction *instruction,
                  uint32_t pc)
{
    struct engine_state *engine = &core->engines[e];
    switch (instruction->opcode) {
    case OP_DMA_TRIGGER:
        dma_trigger(core, e, instruction->index);
        break;
    case OP_TRIGGER_COLLECTIVE:
        collective_trigger(core, e, pc, instruction->index);
        break;
    case OP_SEMAPHORE_RANGE_CLEAR:
        clear_semaphores(core, e, instruction, pc);
        break;
    case OP_REGISTER_ALU:
        engine->registers[instruction->index] = alu_integer(
            instruction->alu, engine->registers[instruction->index], instruction->immediate_int[0]);
        break;
    case OP_COMPARE_BRANCH:
        branch(engine, instruction, pc);
        break;
    case OP_NOTIFY:
        if (core_is_profiled(core))
            notify_at(core, core->now, NOTIFICATION_NOTIFY, PHASE_POINT, e, instruction->index,
                      core->run->execution, 0);
        break;
    case OP_TENSOR_LOAD:
        engine->registers[instruction->index] =
            core->options.compute ? compute_element(core, &instruction->src[0]) : 0;
        break;
    case OP_LDWEIGHTS:
        core->tensor.weights_dtype = instruction->src[0].dtype;
        break;
    default:
        break;
    }
    if (core->options.compute && instruction->opcode <= OP_IOTA)
        compute_instruction(core, instruction);
}

/* Reserves what the instruction occupies; returns when the sequencer continues. */
static uint64_t occupy(struct core *core, enum engine e, const struct instruction *instruction,
                       uint64_t interval, uint64_t *complete)
{
    struct engine_state *engine = &core->engines[e];
    uint64_t now = core->now, next = now + interval;
    uint32_t slot = SEQUENCER_CYCLES * core->cycle_ticks[e];
    if (instruction->opcode == OP_LDWEIGHTS) {
        core->tensor.weights_ready = *complete;
        engine->all_complete = later(engine->all_complete, *complete);
        return now + slot;
    }
    if (is_array_opcode(instruction->opcode)) {
        core->tensor.array_free = next;
        throttle_add(core, interval);
        next = now + slot;
    } else if (has_operands(instruction->opcode) && core->hardware->shared_ports) {
        if (takes_sbuf_port(e, instruction))
            core->sbuf_port_free = next;
        if (takes_psum_port(e, instruction))
            core->psum_port_free = next;
    }
    *complete = engine->last_complete = later(engine->last_complete, *complete);
    engine->all_complete = later(engine->all_complete, *complete);
    if (has_operands(instruction->opcode))
        engine->written = operand_extent(&instruction->dst);
    return next;
}

/* Data changes at once, while semaphores change at their simulated times: a program that is
 * correctly synchronized cannot see the difference. Ends that only profiles need stay out of the
 * event queue, if there is room. */
static void start(struct core *core, enum engine e, const struct instruction *instruction)
{
    struct engine_state *engine = &core->engines[e];
    uint32_t pc = engine->pc++, iteration = engine->iteration;
    bool profiled = core_is_profiled(core);
    if (profiled) {
        completions_notify(core, e, core->now);
        notify_at(core, core->now, NOTIFICATION_TRACE, PHASE_START, e, pc,
                  engine->waited > UINT32_MAX ? UINT32_MAX : (uint32_t)engine->waited, iteration);
    }
    core->result->instructions++;
    if (is_array_opcode(instruction->opcode))
        throttle_begin(core);
    struct cost cost = instruction_cost(core, e, instruction);
    uint64_t cycle = core->cycle_ticks[e];
    uint64_t complete = core->now + cost.latency * cycle;
    uint64_t next = occupy(core, e, instruction, cost.interval * cycle, &complete);
    apply(core, e, instruction, pc);
    bool updates = instruction->update_semaphore != NO_SEMAPHORE;
    if (updates && instruction->update_time == UPDATE_AT_READ)
        events_push(&core->events, core->now + cost.interval * cycle, EVENT_READ, e, pc, 0);
    bool is_event = updates && instruction->update_time == UPDATE_AT_COMPLETE;
    unsigned order = instruction->opcode == OP_LDWEIGHTS ? 0 : 1;
    if (is_event || (profiled && !completion_push(core, e, order, complete, pc, iteration)))
        events_push(&core->events, complete, EVENT_COMPLETE, e, pc, iteration);
    core->end = later(core->end, complete);
    engine->ready = next;
    engine->waited = 0;
    engine->is_met = false;
    if (engine->pc < engine->count)
        events_push(&core->events, next, EVENT_ISSUE, e, 0, 0);
}

void engine_issue(struct core *core, enum engine e)
{
    struct engine_state *engine = &core->engines[e];
    const struct instruction *instruction = &engine->code[engine->pc];
    if (instruction->wait_semaphore != NO_SEMAPHORE && !engine->is_met) {
        if (core->semaphores[instruction->wait_semaphore] < instruction->wait_value) {
            engine->is_waiting = true;
            core->waiting[instruction->wait_semaphore] |= (uint8_t)(1u << e);
            return;
        }
        engine->is_met = true;
    }
    uint64_t earliest = earliest_start(core, e, instruction);
    if (earliest > core->now)
        events_push(&core->events, earliest, EVENT_ISSUE, e, 0, 0);
    else
        start(core, e, instruction);
}

static void update(struct core *core, enum engine e, const struct instruction *instruction,
                   uint32_t pc)
{
    uint32_t semaphore = instruction->update_semaphore;
    semaphore_set(core, semaphore,
                  semaphore_updated(core->semaphores[semaphore], instruction->update_kind,
                                    instruction->update_value),
                  e, pc);
}

void engine_read(struct core *core, enum engine e, uint32_t pc)
{
    update(core, e, &core->engines[e].code[pc], pc);
}

void engine_complete(struct core *core, enum engine e, uint32_t pc, uint32_t iteration)
{
    const struct instruction *instruction = &core->engines[e].code[pc];
    if (core_is_profiled(core)) {
        completions_notify(core, e, core->now);
        notify_at(core, core->now, NOTIFICATION_TRACE, PHASE_END, e, pc, 0, iteration);
    }
    if (instruction->update_semaphore != NO_SEMAPHORE &&
        instruction->update_time == UPDATE_AT_COMPLETE)
        update(core, e, instruction, pc);
}
