/*
 * Whether two executions did the same work, whenever that was: most executions of a program did.
 */
#include "analyze/device/device.h"

static bool same_instructions(const struct device_execution *a, const struct device_execution *b,
                              unsigned engine)
{
    size_t count = a->instructions[engine].count;
    if (count != b->instructions[engine].count)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct device_instruction *m = &a->instructions[engine].items[i];
        const struct device_instruction *n = &b->instructions[engine].items[i];
        mem_touched(2 * sizeof *m);
        if (m->pc != n->pc || m->iteration != n->iteration)
            return false;
    }
    return true;
}

static bool same_transfers(const struct device_execution *a, const struct device_execution *b)
{
    if (a->transfers.count != b->transfers.count)
        return false;
    for (size_t i = 0; i < a->transfers.count; i++) {
        const struct device_transfer *m = &a->transfers.items[i], *n = &b->transfers.items[i];
        mem_touched(2 * sizeof *m);
        if (m->descriptor != n->descriptor || m->run != n->run || m->engine != n->engine)
            return false;
    }
    return true;
}

static bool same_blocks(const struct device_execution *a, const struct device_execution *b)
{
    if (a->blocks.count != b->blocks.count)
        return false;
    for (size_t i = 0; i < a->blocks.count; i++) {
        const struct device_block *m = &a->blocks.items[i], *n = &b->blocks.items[i];
        mem_touched(2 * sizeof *m);
        if (m->block != n->block || m->transfers != n->transfers || m->bytes != n->bytes ||
            m->trigger_engine != n->trigger_engine || m->trigger != n->trigger)
            return false;
    }
    return true;
}

bool device_executions_alike(const struct device_execution *a, const struct device_execution *b)
{
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        if (!same_instructions(a, b, e))
            return false;
    return same_blocks(a, b) && same_transfers(a, b);
}
