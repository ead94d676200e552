/*
 * Checks that a program stays within its lists, memories and variables, and that the sizes of an
 * operation's operands match: whoever runs it need not check again.
 */
#include "neuron/program/check.h"

static bool check_queues(struct check *check)
{
    const struct core_program *program = check->program;
    check->what = "DMA queue";
    for (uint32_t i = 0; i < program->queue_count; i++) {
        const struct dma_queue *queue = &program->queues[i];
        check->number = i;
        if (queue->kind > QUEUE_DYNAMIC)
            return check_failed(check, "its kind is unknown: %u", queue->kind);
        if (queue->engine >= ENGINE_COUNT)
            return check_failed(check, "its engine is unknown: %u", queue->engine);
        if (queue->rings == 0 || queue->rings > DMA_ENGINES || queue->first_ring >= DMA_ENGINES)
            return check_failed(check, "it has %u rings from ring %u on; %d exist", queue->rings,
                                queue->first_ring, DMA_ENGINES);
    }
    return true;
}

static bool check_origins(struct check *check)
{
    const struct core_program *program = check->program;
    check->what = "origin";
    for (uint32_t i = 0; i < program->origin_count; i++) {
        check->number = i;
        if (program->origins[i].stack_frame > program->frame_count)
            return check_failed(check, "stack frame %u does not exist",
                                program->origins[i].stack_frame);
    }
    check->what = "stack frame";
    for (uint32_t i = 0; i < program->frame_count; i++) {
        check->number = i;
        if (program->frames[i].parent > i) /* 1 + index */
            return check_failed(check, "its parent is not before it");
    }
    return true;
}

bool program_check(const struct core_program *program, struct error *err)
{
    struct check check = {.program = program, .err = err};
    check.hardware = hardware_core(program->core_version);
    if (!check.hardware)
        return error_set(err, "unknown NeuronCore generation %u", program->core_version);
    if (program->scratchpad_bytes > check.hardware->hbm_bytes)
        return error_set(err, "the scratchpad is larger than the memory of %s",
                         check.hardware->name);
    if (!check_variables(&check) || !check_queues(&check) || !check_origins(&check) ||
        !check_collectives(&check) || !check_transfers(&check))
        return false;
    for (unsigned i = 0; i < ENGINE_COUNT; i++)
        if (!check_code(&check, (enum engine)i))
            return false;
    return true;
}
