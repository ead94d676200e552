/*
 * How long instructions and transfers take.
 */
#include "neuron/simulator/timing.h"

static bool is_fp8(enum dtype dtype)
{
    return dtype == DTYPE_FP8_E3 || dtype == DTYPE_FP8_E4 || dtype == DTYPE_FP8_E5;
}

static bool is_contiguous(const struct operand *operand)
{
    int64_t expected = 1;
    for (int i = 3; i >= 0; i--) {
        if (operand->size[i] != 1 && operand->step[i] != expected)
            return false;
        expected *= operand->size[i];
    }
    return true;
}

/* Columns that move through the array: FP32 takes four passes, FP8 moves two columns a cycle where
 * both operands are FP8. */
static uint64_t array_cycles(const struct core *core, uint64_t columns, enum dtype moving,
                             enum dtype stationary)
{
    uint64_t cycles = columns > MINIMUM_CYCLES ? columns : MINIMUM_CYCLES;
    if (moving == DTYPE_FP32 || stationary == DTYPE_FP32)
        return 4 * cycles;
    if (core->hardware->version >= 3 && is_fp8(moving) && is_fp8(stationary))
        return (cycles + 1) / 2;
    return cycles;
}

static struct cost tensor_cost(const struct core *core, const struct instruction *instruction)
{
    const struct operand *source = &instruction->src[0];
    enum dtype stationary =
        instruction->opcode == OP_MATMUL ? core->tensor.weights_dtype : source->dtype;
    uint64_t cycles = array_cycles(core, operand_elements(source), source->dtype, stationary);
    if (instruction->opcode == OP_LDWEIGHTS)
        return (struct cost){cycles, cycles};
    if (core->tensor.is_capped)
        cycles *= 2;
    return (struct cost){cycles, cycles + ARRAY_CYCLES};
}

static unsigned tensor_inputs(const struct instruction *instruction)
{
    switch (instruction->opcode) {
    case OP_TENSOR_TENSOR:
        return 2;
    case OP_SELECT:
        return 3;
    default:
        return 1;
    }
}

/* Elements a cycle and partition of an instruction with one input. */
static uint32_t lane_rate(const struct core *core, enum engine engine,
                          const struct instruction *instruction)
{
    const struct operand *operands[] = {&instruction->dst, &instruction->src[0],
                                        &instruction->src[1], &instruction->src[2]};
    bool is_narrow = true, is_fast = true;
    for (unsigned i = 0; i < 4; i++) {
        const struct operand *operand = operands[i];
        if (operand->memory == MEMORY_NONE || (i == 2 && instruction->flags & FLAG_SCALAR_OPERAND))
            continue;
        is_narrow &=
            operand->dtype == DTYPE_BF16 || operand->dtype == DTYPE_FP16 || is_fp8(operand->dtype);
        is_fast &= (operand->dtype == DTYPE_BF16 || operand->dtype == DTYPE_FP16) &&
                   operand->memory == MEMORY_SBUF && is_contiguous(operand);
    }
    const struct core_hardware *hardware = core->hardware;
    if (engine == ENGINE_VECTOR)
        return (is_fast ? hardware->vector_lanes : hardware->vector_lanes_wide) / PARTITIONS;
    return (is_narrow ? hardware->scalar_lanes : hardware->scalar_lanes_wide) / PARTITIONS;
}

static struct cost lanes_cost(const struct core *core, enum engine engine,
                              const struct instruction *instruction)
{
    const struct operand *counted =
        instruction->opcode == OP_REDUCE ? &instruction->src[0] : &instruction->dst;
    uint64_t work = operand_elements(counted) * tensor_inputs(instruction);
    if (engine == ENGINE_GPSIMD) {
        work *= 2;
    } else {
        uint32_t rate = lane_rate(core, engine, instruction);
        work = (work + rate - 1) / rate;
    }
    return (struct cost){work > MINIMUM_CYCLES ? work : MINIMUM_CYCLES, work + STATIC_CYCLES};
}

/* One place for all rules, by kind of instruction; the constants are those of
 * docs/neuroncore.md. */
struct cost instruction_cost(const struct core *core, enum engine engine,
                             const struct instruction *instruction)
{
    switch (instruction->opcode) {
    case OP_LDWEIGHTS:
    case OP_MATMUL:
    case OP_TRANSPOSE:
        return tensor_cost(core, instruction);
    case OP_TENSOR_COPY:
    case OP_TENSOR_TENSOR:
    case OP_TENSOR_SCALAR:
    case OP_SELECT:
    case OP_REDUCE:
    case OP_ACTIVATE:
    case OP_MEMSET:
    case OP_IOTA:
        return lanes_cost(core, engine, instruction);
    case OP_DMA_TRIGGER:
    case OP_TRIGGER_COLLECTIVE:
        return (struct cost){TRIGGER_CYCLES, TRIGGER_CYCLES};
    case OP_TENSOR_LOAD:
        return (struct cost){LOAD_CYCLES, LOAD_CYCLES};
    default:
        return (struct cost){SEQUENCER_CYCLES, SEQUENCER_CYCLES};
    }
}

struct core_extent operand_extent(const struct operand *operand)
{
    int64_t low = 0, high = 0;
    for (unsigned i = 0; i < 4; i++) {
        int64_t reach = (int64_t)operand->step[i] * ((int64_t)operand->size[i] - 1);
        low += reach < 0 ? reach : 0;
        high += reach > 0 ? reach : 0;
    }
    int64_t bytes = dtype_bytes(operand->dtype);
    return (struct core_extent){.memory = operand->memory,
                                .partition = operand->partition,
                                .partitions = operand->partitions,
                                .begin = (uint32_t)(operand->offset + low * bytes),
                                .end = (uint32_t)(operand->offset + (high + 1) * bytes)};
}

/* Contiguous pieces an end is made of. Partitions are never contiguous with each other. */
static uint64_t end_runs(const struct dma_end *end)
{
    int first = end->memory == MEMORY_HBM ? 0 : 1;
    int64_t expected = 1;
    int at = DMA_DIMENSIONS - 1;
    for (; at >= first; at--) {
        if (end->size[at] != 1 && end->step[at] != expected)
            break;
        expected *= end->size[at];
    }
    uint64_t runs = 1;
    for (; at >= 0; at--)
        runs *= end->size[at];
    return runs;
}

static uint64_t end_bytes(const struct dma_end *end)
{
    uint64_t bytes = dtype_bytes(end->dtype);
    for (unsigned i = 0; i < DMA_DIMENSIONS; i++)
        bytes *= end->size[i];
    return bytes;
}

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

struct transfer_cost descriptor_cost(const struct core *core,
                                     const struct dma_descriptor *descriptor)
{
    const struct dma_end *from = &descriptor->from, *to = &descriptor->to;
    uint64_t read = end_bytes(from), written = end_bytes(to);
    uint64_t from_runs = end_runs(from), to_runs = end_runs(to);
    uint64_t runs = from_runs > to_runs ? from_runs : to_runs;
    uint64_t moved = (read > written ? read : written) + runs * DMA_RUN_BYTES;
    uint64_t hbm =
        (from->memory == MEMORY_HBM ? read : 0) + (to->memory == MEMORY_HBM ? written : 0);
    if (descriptor->operation != DMA_COPY && to->memory == MEMORY_HBM)
        hbm += written; /* read, combined, written */
    return (struct transfer_cost){
        .ticks = divide_up(moved * core->ticks_per_us, core->hardware->dma_bytes_per_us),
        .hbm_ticks = divide_up(hbm * core->ticks_per_us, core->dma.hbm_bytes_per_us),
        .bytes = written};
}
