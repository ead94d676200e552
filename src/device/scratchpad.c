/*
 * The memory tracker: use of the scratchpad over time.
 */
#include "device/device.h"

static bool by_start(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct device_scratchpad_use *)a)->start_ps <
           ((const struct device_scratchpad_use *)b)->start_ps;
}

void device_scratchpad(const struct device_profile *profile,
                       const struct device_execution *execution, device_scratchpad_uses *uses)
{
    const struct core_program *program = profile->program;
    struct device_tensor *tensors = device_tensors_new(profile);
    device_tensors_add(tensors, profile, execution);
    uses->count = 0;
    for (uint32_t i = 0; i < program->variable_count; i++) {
        const struct variable *variable = &program->variables[i];
        if (variable->kind == VARIABLE_VIRTUAL && tensors[i].accesses > 0)
            *array_push(uses) = (struct device_scratchpad_use){.variable = i,
                                                               .offset = variable->backing_offset,
                                                               .bytes = variable->size,
                                                               .start_ps = tensors[i].first_ps,
                                                               .end_ps = tensors[i].last_ps};
    }
    mem_free(tensors);
    sort_items(uses->items, uses->count, sizeof *uses->items, by_start, NULL);
}

static bool by_end(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct device_scratchpad_use *)a)->end_ps <
           ((const struct device_scratchpad_use *)b)->end_ps;
}

/* Tensors share space, but not at the same time: what is in use is the sum of their sizes. */
void device_scratchpad_samples(const device_scratchpad_uses *uses, device_samples *samples)
{
    device_scratchpad_uses ends = {0};
    const struct device_scratchpad_use *use;
    array_each (use, uses)
        *array_push(&ends) = *use;
    sort_items(ends.items, ends.count, sizeof *ends.items, by_end, NULL);
    samples->count = 0;
    uint64_t bytes = 0;
    for (size_t begun = 0, ended = 0; ended < ends.count;) {
        bool begins =
            begun < uses->count && uses->items[begun].start_ps <= ends.items[ended].end_ps;
        int64_t time_ps = begins ? uses->items[begun].start_ps : ends.items[ended].end_ps;
        if (begins)
            bytes += uses->items[begun++].bytes;
        else
            bytes -= ends.items[ended++].bytes;
        if (samples->count > 0 && samples->items[samples->count - 1].time_ps == time_ps)
            samples->items[samples->count - 1].value = bytes;
        else
            *array_push(samples) = (struct device_sample){time_ps, bytes};
    }
    array_free(&ends);
}
