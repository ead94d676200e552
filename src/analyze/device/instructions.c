/*
 * Instructions: starts and ends of an engine become pairs. Instructions complete in order, but for
 * weight loads; an end belongs to the oldest open start of its instruction and iteration.
 */
#include "analyze/device/execution.h"

struct pairing {
    struct unit *unit;
    uint32_t code_count;
    /* Open starts of each instruction, oldest first: numbers from 1 on, 0 ends the list. */
    uint32_t *first, *last;
    ARRAY(uint32_t) next; /* beside the unit's instructions */
};

#define OPEN INT64_MIN

static void open_start(struct pairing *pairing, const struct notification *item, int64_t ps,
                       int64_t wait_ps)
{
    struct unit *unit = pairing->unit;
    *array_push(&unit->instructions) = (struct device_instruction){.start_ps = ps,
                                                                   .end_ps = OPEN,
                                                                   .wait_ps = wait_ps,
                                                                   .pc = item->id,
                                                                   .iteration = item->detail};
    *array_push(&pairing->next) = 0;
    uint32_t number = (uint32_t)unit->instructions.count;
    if (pairing->first[item->id] == 0)
        pairing->first[item->id] = number;
    else
        pairing->next.items[pairing->last[item->id] - 1] = number;
    pairing->last[item->id] = number;
}

static void close_start(struct pairing *pairing, const struct notification *item, int64_t ps)
{
    struct unit *unit = pairing->unit;
    uint32_t number;
    while ((number = pairing->first[item->id]) != 0) {
        struct device_instruction *open = &unit->instructions.items[number - 1];
        if (open->iteration > item->detail)
            break;
        pairing->first[item->id] = pairing->next.items[number - 1];
        if (open->iteration == item->detail && ps >= open->start_ps) {
            open->end_ps = ps;
            return;
        }
        if (open->iteration == item->detail)
            break;
    }
    unit->unpaired++;
}

struct instruction_reader {
    struct pairing pairing;
    uint32_t ticks_per_us;
};

static void take(void *context, const struct notification *item, int64_t ps)
{
    struct instruction_reader *reader = context;
    struct pairing *pairing = &reader->pairing;
    int64_t wait = 0;
    if (item->id >= pairing->code_count || item->phase == PHASE_POINT ||
        (item->phase == PHASE_START &&
         !device_ticks_to_ps(item->value, reader->ticks_per_us, &wait)))
        pairing->unit->unpaired++;
    else if (item->phase == PHASE_START)
        open_start(pairing, item, ps, wait);
    else
        close_start(pairing, item, ps);
}

static bool starts_before(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct device_instruction *)a)->start_ps <
           ((const struct device_instruction *)b)->start_ps;
}

static void drop_open(struct unit *unit)
{
    struct device_instruction *items = unit->instructions.items;
    size_t kept = 0;
    for (size_t i = 0; i < unit->instructions.count; i++) {
        if (items[i].end_ps != OPEN)
            items[kept++] = items[i];
        else
            unit->unpaired++;
    }
    unit->instructions.count = kept;
    sort_items(items, kept, sizeof *items, starts_before, NULL);
}

void unit_read_instructions(const struct reader *reader, struct unit *unit)
{
    const struct device_profile *profile = reader->profile;
    uint32_t code_count = profile->program->code_count[unit->number];
    struct instruction_reader work = {.pairing = {.unit = unit,
                                                  .code_count = code_count,
                                                  .first = mem_zeroed(code_count, sizeof(uint32_t)),
                                                  .last = mem_zeroed(code_count, sizeof(uint32_t))},
                                      .ticks_per_us = ntff_header(profile->ntff)->ticks_per_us};
    array_reserve(&unit->instructions, unit->notifications / 2 + 1);
    array_reserve(&work.pairing.next, unit->notifications / 2 + 1);
    unit_read(reader, unit, take, &work);
    drop_open(unit);
    mem_free(work.pairing.first);
    mem_free(work.pairing.last);
    array_free(&work.pairing.next);
}
