/*
 * Collectives. A CC-core does one at a time: a trigger, then steps, each with a start and an end.
 */
#include "analyze/device/execution.h"

struct collective_reader {
    const struct core_program *program;
    struct unit *unit;
    bool is_open;  /* a step */
    bool is_known; /* which collective runs: the last that began */
    struct device_cc_step open;
};

static void begin_collective(struct collective_reader *reader, uint32_t collective, int64_t ps)
{
    struct unit *unit = reader->unit;
    reader->is_known = true;
    *array_push(&unit->collectives) = (struct device_collective){.trigger_ps = ps,
                                                                 .start_ps = ps,
                                                                 .end_ps = ps,
                                                                 .collective = collective,
                                                                 .trigger_engine = NO_INDEX,
                                                                 .trigger = NO_INDEX,
                                                                 .cc_core = unit->number};
    *array_push(&unit->cc_steps) =
        (struct device_cc_step){.start_ps = ps,
                                .end_ps = ps,
                                .collective = (uint32_t)unit->collectives.count - 1,
                                .cc_core = unit->number,
                                .step = STEP_TPB_TRIGGER};
}

/* The start or the end of a step of the newest collective; false when it does not belong there. */
static bool take_step(struct collective_reader *reader, const struct notification *item, int64_t ps)
{
    struct unit *unit = reader->unit;
    uint32_t newest = (uint32_t)unit->collectives.count - 1;
    struct device_collective *current = &unit->collectives.items[newest];
    if (current->collective != item->id || ps < current->start_ps)
        return false;
    if (item->phase == PHASE_START) {
        unit->unpaired += reader->is_open;
        reader->is_open = true;
        reader->open = (struct device_cc_step){.start_ps = ps,
                                               .collective = newest,
                                               .cc_core = unit->number,
                                               .step = (uint8_t)item->value};
        return true;
    }
    if (!reader->is_open || reader->open.step != item->value || ps < reader->open.start_ps)
        return false;
    reader->is_open = false;
    reader->open.end_ps = ps;
    *array_push(&unit->cc_steps) = reader->open;
    current->end_ps = ps > current->end_ps ? ps : current->end_ps;
    return true;
}

static void take(void *context, const struct notification *item, int64_t ps)
{
    struct collective_reader *reader = context;
    struct unit *unit = reader->unit;
    bool is_known = item->id < reader->program->collective_count && item->value <= STEP_DMA_ADVANCE;
    bool is_trigger = item->value == STEP_TPB_TRIGGER;
    if (unit->is_after_gap) { /* steps from here on may be of a later run */
        unit->unpaired += reader->is_open;
        unit->is_after_gap = reader->is_open = reader->is_known = false;
    }
    if (!is_known || is_trigger != (item->phase == PHASE_POINT)) {
        unit->unpaired++;
        return;
    }
    if (is_trigger) {
        unit->unpaired += reader->is_open;
        reader->is_open = false;
        begin_collective(reader, item->id, ps);
        return;
    }
    bool is_taken = reader->is_known && take_step(reader, item, ps);
    unit->unpaired += !is_taken;
}

static bool starts_before(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct device_cc_step *)a)->start_ps <
           ((const struct device_cc_step *)b)->start_ps;
}

static bool collective_before(const void *a, const void *b, const void *context)
{
    const struct device_collective *items = context;
    return items[*(const uint32_t *)a].start_ps < items[*(const uint32_t *)b].start_ps;
}

/* Files from outside may have them in any order. */
static void sort_collectives(struct unit *unit)
{
    size_t count = unit->collectives.count;
    uint32_t *order = mem_alloc(count * sizeof *order);
    uint32_t *position = mem_alloc(count * sizeof *position);
    struct device_collective *sorted = mem_alloc(count * sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    sort_items(order, count, sizeof *order, collective_before, unit->collectives.items);
    for (size_t i = 0; i < count; i++) {
        sorted[i] = unit->collectives.items[order[i]];
        position[order[i]] = (uint32_t)i;
    }
    for (size_t i = 0; i < unit->cc_steps.count; i++)
        unit->cc_steps.items[i].collective = position[unit->cc_steps.items[i].collective];
    if (count > 0)
        memcpy(unit->collectives.items, sorted, count * sizeof *sorted);
    mem_free(sorted);
    mem_free(position);
    mem_free(order);
}

void unit_read_collectives(const struct reader *reader, struct unit *unit)
{
    struct collective_reader work = {.program = reader->profile->program, .unit = unit};
    unit_read(reader, unit, take, &work);
    unit->unpaired += work.is_open;
    sort_collectives(unit);
    sort_items(unit->cc_steps.items, unit->cc_steps.count, sizeof *unit->cc_steps.items,
               starts_before, NULL);
}

/* An instruction that triggers a collective. */
struct trigger {
    int64_t start_ps;
    uint32_t collective, engine, index;
};

static bool trigger_before(const void *a, const void *b, const void *context)
{
    const struct trigger *x = a, *y = b;
    (void)context;
    return x->collective != y->collective ? x->collective < y->collective
                                          : x->start_ps < y->start_ps;
}

/* Runs of one collective are in the order of their triggers. */
void join_collectives(const struct device_profile *profile, struct device_execution *execution)
{
    const struct core_program *program = profile->program;
    ARRAY(struct trigger) triggers = {0};
    for (unsigned e = 0; e < ENGINE_COUNT && execution->collectives.count > 0; e++)
        for (size_t i = 0; i < execution->instructions[e].count; i++) {
            const struct device_instruction *at = &execution->instructions[e].items[i];
            const struct instruction *code = &program->code[e][at->pc];
            if (code->opcode == OP_TRIGGER_COLLECTIVE)
                *array_push(&triggers) =
                    (struct trigger){at->start_ps, code->index, e, (uint32_t)i};
        }
    sort_items(triggers.items, triggers.count, sizeof(struct trigger), trigger_before, NULL);
    size_t *next = mem_zeroed(program->collective_count, sizeof *next);
    for (size_t i = triggers.count; i-- > 0;)
        next[triggers.items[i].collective] = i;
    for (size_t i = 0; i < execution->collectives.count; i++) {
        struct device_collective *run = &execution->collectives.items[i];
        size_t at = next[run->collective];
        if (at >= triggers.count || triggers.items[at].collective != run->collective ||
            triggers.items[at].start_ps > run->start_ps)
            continue;
        run->trigger_ps = triggers.items[at].start_ps;
        run->trigger_engine = triggers.items[at].engine;
        run->trigger = triggers.items[at].index;
        next[run->collective]++;
    }
    mem_free(next);
    array_free(&triggers);
}
