/*
 * Roll-ups without a hierarchy: opcodes, tensors, what HBM holds, bounds.
 */
#include "analyze/device/device.h"

#include <math.h>

void device_opcodes_add(struct device_opcodes *opcodes, const struct device_profile *profile,
                        const struct device_execution *execution)
{
    for (unsigned e = 0; e < ENGINE_COUNT; e++) {
        int64_t covered_ps[OP_COUNT];
        for (unsigned i = 0; i < OP_COUNT; i++)
            covered_ps[i] = INT64_MIN;
        const struct device_instruction *item;
        array_each (item, &execution->instructions[e]) {
            unsigned opcode = profile->program->code[e][item->pc].opcode;
            struct device_opcode *sum = &opcodes->items[e][opcode];
            int64_t from_ps =
                item->start_ps > covered_ps[opcode] ? item->start_ps : covered_ps[opcode];
            sum->count++;
            if (item->end_ps > item->start_ps)
                sum->time_ps += item->end_ps - item->start_ps;
            if (item->end_ps > from_ps) {
                sum->active_ps += item->end_ps - from_ps;
                covered_ps[opcode] = item->end_ps;
            }
        }
    }
}

struct device_tensor *device_tensors_new(const struct device_profile *profile)
{
    struct device_tensor *tensors =
        mem_zeroed(profile->program->variable_count, sizeof(struct device_tensor));
    for (uint32_t i = 0; i < profile->program->variable_count; i++)
        tensors[i] = (struct device_tensor){.first_ps = INT64_MAX,
                                            .last_ps = INT64_MIN,
                                            .first_load = NO_INDEX,
                                            .last_load = NO_INDEX};
    return tensors;
}

static void touch(struct device_tensor *tensor, int64_t start_ps, int64_t end_ps)
{
    tensor->accesses++;
    tensor->first_ps = start_ps < tensor->first_ps ? start_ps : tensor->first_ps;
    tensor->last_ps = end_ps > tensor->last_ps ? end_ps : tensor->last_ps;
}

/* Bytes of an end, elements that are repeated by a step of 0 counted once. */
static uint64_t distinct_bytes(const struct dma_end *end)
{
    uint64_t bytes = dtype_bytes((enum dtype)end->dtype);
    for (unsigned i = 0; i < DMA_DIMENSIONS; i++)
        if (end->step[i] != 0 && __builtin_mul_overflow(bytes, end->size[i], &bytes))
            return UINT64_MAX;
    return bytes;
}

static bool is_same_source(const struct dma_end *a, const struct dma_end *b)
{
    if (a->variable != b->variable || a->offset != b->offset)
        return false;
    for (unsigned i = 0; i < DMA_DIMENSIONS; i++) {
        bool is_repeated = a->step[i] == 0 && b->step[i] == 0;
        if (!is_repeated && (a->step[i] != b->step[i] || a->size[i] != b->size[i]))
            return false;
    }
    return true;
}

/* What a packet loads that the one before it in its block does not: a tensor that goes to several
 * partitions is cut into descriptors of the same source. */
static uint64_t loaded_bytes(const struct core_program *program, uint32_t block, uint32_t index)
{
    const struct dma_descriptor *descriptor = &program->descriptors[index];
    bool is_first = index <= program->blocks[block].first;
    if (!is_first && is_same_source(&descriptor[-1].from, &descriptor->from))
        return 0;
    return distinct_bytes(&descriptor->from);
}

static void add_load(struct device_tensor *tensor, const struct device_execution *execution,
                     uint32_t index, uint64_t bytes, uint64_t distinct)
{
    const struct device_transfer *items = execution->transfers.items, *item = &items[index];
    tensor->loads++;
    tensor->load_bytes += bytes;
    tensor->distinct_bytes += distinct;
    tensor->load_ps += item->end_ps > item->start_ps ? item->end_ps - item->start_ps : 0;
    if (tensor->first_load == NO_INDEX || item->start_ps < items[tensor->first_load].start_ps) {
        tensor->first_load = index;
        tensor->first_span = (struct device_interval){item->start_ps, item->end_ps};
        tensor->first_run = item->run;
        tensor->first_block = execution->blocks.items[item->run].block;
    }
    if (tensor->last_load == NO_INDEX || item->start_ps >= items[tensor->last_load].start_ps) {
        tensor->last_load = index;
        tensor->last_span = (struct device_interval){item->start_ps, item->end_ps};
        tensor->last_run = item->run;
        tensor->last_block = execution->blocks.items[item->run].block;
    }
}

/* First and last load are of the latest execution (their indexes are into its transfers), so
 * they are reset; all else adds up. Barriers touch no tensor. */
void device_tensors_add(struct device_tensor *tensors, const struct device_profile *profile,
                        const struct device_execution *execution)
{
    const struct core_program *program = profile->program;
    for (uint32_t i = 0; i < program->variable_count; i++)
        tensors[i].first_load = tensors[i].last_load = NO_INDEX;
    for (uint32_t i = 0; i < execution->transfers.count; i++) {
        const struct device_transfer *item = &execution->transfers.items[i];
        const struct dma_descriptor *descriptor = &program->descriptors[item->descriptor];
        bool from_hbm = descriptor->from.memory == MEMORY_HBM;
        bool to_hbm = descriptor->to.memory == MEMORY_HBM;
        if (from_hbm)
            touch(&tensors[descriptor->from.variable], item->start_ps, item->end_ps);
        if (to_hbm)
            touch(&tensors[descriptor->to.variable], item->start_ps, item->end_ps);
        if (from_hbm && !to_hbm)
            add_load(
                &tensors[descriptor->from.variable], execution, i,
                profile->descriptors[item->descriptor].read,
                loaded_bytes(program, execution->blocks.items[item->run].block, item->descriptor));
    }
    const struct device_collective *item;
    array_each (item, &execution->collectives) {
        const struct collective *collective = &program->collectives[item->collective];
        if (collective->kind == COLLECTIVE_BARRIER)
            continue;
        touch(&tensors[collective->input], item->start_ps, item->end_ps);
        touch(&tensors[collective->output], item->start_ps, item->end_ps);
    }
}

double device_repeat_factor(const struct device_tensor *tensor, const struct variable *variable,
                            uint32_t executions)
{
    double size = (double)variable->size * executions;
    return size > 0 ? (double)tensor->distinct_bytes / size : NAN;
}

void device_hbm_usage(const struct core_program *program,
                      struct device_hbm_use uses[static DEVICE_HBM_TYPES])
{
    static const struct device_hbm_use empty[DEVICE_HBM_TYPES] = {
        [VARIABLE_INPUT] = {"inputs", 0},
        [VARIABLE_OUTPUT] = {"outputs", 0},
        [VARIABLE_WEIGHT] = {"weights", 0},
        [VARIABLE_VIRTUAL] = {"scratchpad", 0}};
    memcpy(uses, empty, sizeof empty);
    for (uint32_t i = 0; i < program->variable_count; i++)
        uses[program->variables[i].kind].bytes += program->variables[i].size;
    uses[VARIABLE_VIRTUAL].bytes = program->scratchpad_bytes; /* its tensors share the space */
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double speedup(double total, double bound)
{
    return bound > 0 ? total / bound : NAN;
}

/* A speedup assumes that only the named resource gets ideal: the busiest of the others still
 * bounds the time. */
void device_bounds_make(struct device_bounds *bounds, const struct device_profile *profile,
                        const struct device_sums *sums)
{
    double peak = device_peak_flops(profile->hardware);
    double dma_rate = device_dma_rate(profile->hardware);
    struct device_metrics metrics;
    device_metrics_make(&metrics, profile, sums);
    double total = metrics.total_time, besides_dma = 0, besides_tensor = 0;
    *bounds = (struct device_bounds){
        .memory = metrics.dma_active_time,
        .memory_ideal = (double)sums->transfer_bytes / dma_rate,
        .memory_ideal_once =
            (double)metrics.inputs_outputs_weights_size_bytes * sums->executions / dma_rate,
        .compute = metrics.tensor_engine_active_time,
        .compute_ideal = (double)sums->flops / peak,
        .compute_ideal_useful = (double)(sums->flops - sums->transpose_flops) / peak};
    for (unsigned unit = 0; unit < DEVICE_UNIT_CC_CORES; unit++) {
        double active = (double)sums->unit_active_ps[unit] / 1e12;
        if (active > bounds->pipeline) {
            bounds->pipeline = active;
            bounds->busiest = (uint8_t)unit;
        }
        besides_dma = unit == DEVICE_UNIT_DMA ? besides_dma : larger(besides_dma, active);
        besides_tensor = unit == ENGINE_TENSOR ? besides_tensor : larger(besides_tensor, active);
    }
    bounds->memory_speedup = speedup(total, larger(bounds->memory_ideal, besides_dma));
    bounds->compute_speedup = speedup(total, larger(bounds->compute_ideal, besides_tensor));
    bounds->pipeline_speedup = speedup(total, bounds->pipeline);
}
