/*
 * Sums over an execution, of which metrics are made.
 */
#include "analyze/device/intervals.h"

static void extend(struct device_interval *span, int64_t start_ps, int64_t end_ps)
{
    span->start_ps = start_ps < span->start_ps ? start_ps : span->start_ps;
    span->end_ps = end_ps > span->end_ps ? end_ps : span->end_ps;
}

static void add_facts(struct device_sums *sums, const struct instruction_facts *facts)
{
    sums->flops += facts->flops;
    sums->adjusted_flops += facts->adjusted_flops;
    if (facts->is_transpose) {
        sums->transpose_flops += facts->flops;
        sums->adjusted_transpose_flops += facts->adjusted_flops;
    }
    sums->matmuls += facts->is_matmul;
    sums->sbuf_read += facts->sbuf_read;
    sums->sbuf_write += facts->sbuf_write;
    sums->psum_read += facts->psum_read;
    sums->psum_write += facts->psum_write;
    if (facts->psum_read > 0 && facts->sbuf_write > 0) {
        sums->evacuations++;
        sums->evacuated_bytes += facts->sbuf_write;
    }
}

static void add_instructions(struct device_sums *sums, const struct device_profile *profile,
                             const struct device_execution *execution, struct device_interval *work)
{
    for (unsigned e = 0; e < ENGINE_COUNT; e++) {
        const struct device_instruction *item;
        array_each (item, &execution->instructions[e]) {
            const struct instruction_facts *facts = &profile->facts[e][item->pc];
            int64_t time_ps = interval_length(item->start_ps, item->end_ps);
            sums->instruction_ps[e] = add_saturated(sums->instruction_ps[e], time_ps);
            add_facts(sums, facts);
            if (profile->program->code[e][item->pc].opcode == OP_ACTIVATE) {
                sums->activates++;
                sums->activate_ps = add_saturated(sums->activate_ps, time_ps);
            }
            if (!facts->is_overhead)
                extend(work, item->start_ps, item->end_ps);
        }
        sums->instructions[e] += execution->instructions[e].count;
    }
}

static enum device_dma_class device_dma_class(enum dma_queue_type type)
{
    return type == DMA_TYPE_SOFTWARE_DYNAMIC   ? DMA_CLASS_SOFTWARE
           : type == DMA_TYPE_HARDWARE_DYNAMIC ? DMA_CLASS_HARDWARE
                                               : DMA_CLASS_STATIC;
}

/* Inputs and outputs have queues of their own; weights are told by their variables. */
static void add_queue_bytes(struct device_sums *sums, const struct core_program *program,
                            const struct dma_descriptor *descriptor,
                            const struct descriptor_facts *facts)
{
    sums->input_bytes += facts->queue_type == DMA_TYPE_INPUT ? facts->bytes : 0;
    sums->output_bytes += facts->queue_type == DMA_TYPE_OUTPUT ? facts->bytes : 0;
    if (descriptor->from.memory == MEMORY_HBM &&
        program->variables[descriptor->from.variable].kind == VARIABLE_WEIGHT)
        sums->weight_bytes += facts->hbm_read;
}

/* Packets count by DMA class, blocks as whole transfers: both are needed, as a block's packets
 * run in parallel on several engines. */
static void add_packets(struct device_sums *sums, const struct device_profile *profile,
                        const struct device_execution *execution, struct device_interval *work)
{
    const struct device_transfer *item;
    array_each (item, &execution->transfers) {
        const struct descriptor_facts *facts = &profile->descriptors[item->descriptor];
        enum device_dma_class class = device_dma_class(facts->queue_type);
        sums->packets[class]++;
        sums->packet_bytes[class] += facts->bytes;
        sums->packet_ps =
            add_saturated(sums->packet_ps, interval_length(item->start_ps, item->end_ps));
        sums->hbm_read += facts->hbm_read;
        sums->hbm_write += facts->hbm_write;
        sums->sbuf_read += facts->sbuf_read;
        sums->sbuf_write += facts->sbuf_write;
        sums->spill_save += facts->is_spill_save ? facts->bytes : 0;
        sums->spill_reload += facts->is_spill_reload ? facts->bytes : 0;
        add_queue_bytes(sums, profile->program, &profile->program->descriptors[item->descriptor],
                        facts);
        extend(work, item->start_ps, item->end_ps);
    }
    const struct device_block *block;
    array_each (block, &execution->blocks) {
        sums->transfers++;
        sums->transfer_bytes += block->bytes;
        sums->transfer_ps =
            add_saturated(sums->transfer_ps, interval_length(block->start_ps, block->end_ps));
    }
}

/* Active time of the packets of some classes. */
static int64_t class_active_ps(const struct device_profile *profile,
                               const struct device_execution *execution, unsigned classes)
{
    device_intervals active = {0};
    const struct device_transfer *item;
    array_each (item, &execution->transfers)
        if (classes >> device_dma_class(profile->descriptors[item->descriptor].queue_type) & 1)
            interval_add(&active, item->start_ps, item->end_ps);
    intervals_merge(&active);
    int64_t sum = device_active_ps(&active);
    array_free(&active);
    return sum;
}

static void add_active(struct device_sums *sums, const struct device_profile *profile,
                       const struct device_execution *execution)
{
    enum { DYNAMIC = 1 << DMA_CLASS_SOFTWARE | 1 << DMA_CLASS_HARDWARE };
    device_intervals active = {0}, all = {0};
    for (unsigned unit = 0; unit < DEVICE_UNITS; unit++) {
        device_active(execution, (enum device_unit)unit, &active);
        sums->unit_active_ps[unit] =
            add_saturated(sums->unit_active_ps[unit], device_active_ps(&active));
        for (size_t i = 0; i < active.count; i++)
            *array_push(&all) = active.items[i];
    }
    intervals_merge(&all);
    sums->active_ps = add_saturated(sums->active_ps, device_active_ps(&all));
    for (unsigned class = 0; class < DMA_CLASSES; class ++)
        sums->class_active_ps[class] = add_saturated(
            sums->class_active_ps[class], class_active_ps(profile, execution, 1u << class));
    sums->dynamic_active_ps =
        add_saturated(sums->dynamic_active_ps, class_active_ps(profile, execution, DYNAMIC));
    array_free(&active);
    array_free(&all);
}

static void add_collectives(struct device_sums *sums, const struct device_execution *execution)
{
    const struct device_collective *collective;
    array_each (collective, &execution->collectives)
        sums->cc_op_ps = add_saturated(sums->cc_op_ps,
                                       interval_length(collective->start_ps, collective->end_ps));
    const struct device_cc_step *step;
    array_each (step, &execution->cc_steps)
        sums->cc_step_ps =
            add_saturated(sums->cc_step_ps, interval_length(step->start_ps, step->end_ps));
    sums->cc_ops += execution->collectives.count;
    sums->cc_steps += execution->cc_steps.count;
}

static void add_throttling(struct device_sums *sums, const struct device_execution *execution)
{
    double lost = 0;
    const struct device_throttle *item;
    array_each (item, &execution->throttles) {
        sums->throttles++;
        int64_t time_ps = interval_length(item->start_ps, item->end_ps);
        double limit = (double)item->rate / FULL_RATE;
        sums->throttled_ps[item->kind] = add_saturated(sums->throttled_ps[item->kind], time_ps);
        sums->throttle_limit_ps[item->kind] += limit * (double)time_ps;
        lost += (1 - limit) * (double)time_ps;
    }
    sums->limit_ps += (double)interval_length(execution->start_ps, execution->end_ps) - lost;
}

void device_sums_add(struct device_sums *sums, const struct device_profile *profile,
                     const struct device_execution *execution)
{
    struct device_interval work = {INT64_MAX, INT64_MIN};
    sums->executions++;
    sums->total_ps =
        add_saturated(sums->total_ps, interval_length(execution->start_ps, execution->end_ps));
    add_instructions(sums, profile, execution, &work);
    add_packets(sums, profile, execution, &work);
    sums->work_ps = add_saturated(sums->work_ps, interval_length(work.start_ps, work.end_ps));
    add_active(sums, profile, execution);
    add_collectives(sums, execution);
    add_throttling(sums, execution);
    sums->updates += execution->updates.count;
    sums->errors += execution->errors.count;
}
