/*
 * The memory tracker: use of the scratchpad over time.
 */
#include "analyze/device/execution.h"

static bool by_start(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct device_scratchpad_use *)a)->start_ps <
           ((const struct device_scratchpad_use *)b)->start_ps;
}

struct touching {
    const struct device_profile *profile;
    const struct device_execution *execution;
    struct device_scratchpad_use *uses; /* by variable */
};

static uint32_t origin_of(const struct touching *touching, uint32_t engine, uint32_t trigger)
{
    if (trigger == NO_INDEX)
        return NO_INDEX;
    uint32_t pc = touching->execution->instructions[engine].items[trigger].pc;
    return touching->profile->program->code[engine][pc].origin;
}

/* Of a variable that is not in the scratchpad, nothing is kept. */
static void touch(const struct touching *touching, uint32_t variable, int64_t start_ps,
                  int64_t end_ps, uint32_t origin)
{
    struct device_scratchpad_use *use = &touching->uses[variable];
    if (touching->profile->program->variables[variable].kind != VARIABLE_VIRTUAL)
        return;
    if (use->accesses == 0 || start_ps < use->start_ps) {
        use->start_ps = start_ps;
        use->origin = origin;
    }
    if (use->accesses == 0 || end_ps > use->end_ps)
        use->end_ps = end_ps;
    use->accesses++;
}

static void touch_by_transfer(const struct touching *touching, const struct device_transfer *item)
{
    const struct device_profile *profile = touching->profile;
    const struct dma_descriptor *descriptor = &profile->program->descriptors[item->descriptor];
    const struct descriptor_facts *facts = &profile->descriptors[item->descriptor];
    const struct device_block *run = &touching->execution->blocks.items[item->run];
    uint32_t origin = origin_of(touching, run->trigger_engine, run->trigger);
    if (descriptor->from.memory == MEMORY_HBM) {
        touch(touching, descriptor->from.variable, item->start_ps, item->end_ps, origin);
        touching->uses[descriptor->from.variable].read += facts->read;
    }
    if (descriptor->to.memory == MEMORY_HBM) {
        touch(touching, descriptor->to.variable, item->start_ps, item->end_ps, origin);
        touching->uses[descriptor->to.variable].written += facts->written;
    }
}

static void touch_by_collective(const struct touching *touching,
                                const struct device_collective *item)
{
    const struct collective *collective =
        &touching->profile->program->collectives[item->collective];
    uint32_t origin = origin_of(touching, item->trigger_engine, item->trigger);
    if (collective->kind == COLLECTIVE_BARRIER)
        return;
    touch(touching, collective->input, item->start_ps, item->end_ps, origin);
    touch(touching, collective->output, item->start_ps, item->end_ps, origin);
}

/* Reuses the caller's list. Variables that were never accessed in this execution are left out. */
void device_scratchpad(const struct device_profile *profile,
                       const struct device_execution *execution, device_scratchpad_uses *uses)
{
    const struct core_program *program = profile->program;
    struct device_scratchpad_use *all = mem_zeroed(program->variable_count, sizeof *all);
    struct touching touching = {profile, execution, all};
    const struct device_transfer *transfer;
    array_each (transfer, &execution->transfers) {
        mem_touched(sizeof *transfer);
        touch_by_transfer(&touching, transfer);
    }
    const struct device_collective *collective;
    array_each (collective, &execution->collectives)
        touch_by_collective(&touching, collective);
    uses->count = 0;
    for (uint32_t i = 0; i < program->variable_count; i++) {
        if (all[i].accesses == 0)
            continue;
        all[i].variable = i;
        all[i].offset = program->variables[i].backing_offset;
        all[i].bytes = program->variables[i].size;
        *array_push(uses) = all[i];
    }
    mem_free(all);
    sort_items(uses->items, uses->count, sizeof *uses->items, by_start, NULL);
}

const char *device_scratchpad_warning(const struct device_profile *profile)
{
    const struct core_program *program = profile->program;
    if (program->scratchpad_bytes == 0)
        return "the memory tracker is empty: the program uses no scratchpad";
    if (ntff_header(profile->ntff)->dge_notifications)
        return NULL;
    for (uint32_t i = 0; i < program->descriptor_count; i++) {
        const struct dma_descriptor *item = &program->descriptors[i];
        if (dma_is_dynamic(item) && (device_is_scratchpad(program, &item->from) ||
                                     device_is_scratchpad(program, &item->to)))
            return "the memory tracker lacks transfers of dynamic DMA: capture with "
                   "--enable-dge-notifs";
    }
    return NULL;
}

static bool by_end(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct device_scratchpad_use *)a)->end_ps <
           ((const struct device_scratchpad_use *)b)->end_ps;
}

/* Tensors share space, but not at the same time: what is in use is the sum of their sizes. */
void device_scratchpad_over_time(const device_scratchpad_uses *uses, device_scratchpad_steps *steps)
{
    device_scratchpad_uses ends = {0};
    const struct device_scratchpad_use *use;
    array_each (use, uses)
        *array_push(&ends) = *use;
    sort_items(ends.items, ends.count, sizeof *ends.items, by_end, NULL);
    struct device_scratchpad_step now = {0};
    steps->count = 0;
    for (size_t begun = 0, ended = 0; ended < ends.count;) {
        bool begins =
            begun < uses->count && uses->items[begun].start_ps <= ends.items[ended].end_ps;
        now.time_ps = begins ? uses->items[begun].start_ps : ends.items[ended].end_ps;
        if (begins) {
            now.bytes += uses->items[begun++].bytes;
            now.tensors++;
        } else {
            now.bytes -= ends.items[ended++].bytes;
            now.tensors--;
        }
        if (steps->count > 0 && steps->items[steps->count - 1].time_ps == now.time_ps)
            steps->items[steps->count - 1] = now;
        else
            *array_push(steps) = now;
    }
    array_free(&ends);
}
