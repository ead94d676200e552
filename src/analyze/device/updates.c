/*
 * Semaphores. An update names the instruction that made it; which run of it follows from the time.
 * Those of transfers and collectives name none: a block's comes after its last transfer.
 */
#include "analyze/device/execution.h"

struct update_reader {
    const struct device_profile *profile;
    struct unit *unit;
    const struct device_instruction *instructions;
    /* Runs of each instruction that have not made their update yet, in order: numbers from 1 on, 0
     * ends the list. */
    uint32_t *first, *next;
};

/* The run of an instruction that made an update at this time. */
static uint32_t find_run(struct update_reader *reader, uint32_t pc, int64_t ps)
{
    const struct instruction *code = &reader->profile->program->code[reader->unit->number][pc];
    uint32_t number;
    while ((number = reader->first[pc]) != 0 && reader->instructions[number - 1].end_ps < ps)
        reader->first[pc] = reader->next[number - 1];
    if (number == 0 || reader->instructions[number - 1].start_ps > ps)
        return NO_INDEX;
    if (code->opcode != OP_SEMAPHORE_RANGE_CLEAR) /* which makes many */
        reader->first[pc] = reader->next[number - 1];
    return number - 1;
}

static void take(void *context, const struct notification *item, int64_t ps)
{
    struct update_reader *reader = context;
    struct unit *unit = reader->unit;
    bool is_known = item->id < SEMAPHORES &&
                    (item->detail == NO_ID ||
                     item->detail < reader->profile->program->code_count[unit->number]);
    if (!is_known) {
        unit->unpaired++;
        return;
    }
    *array_push(&unit->updates) = (struct device_update){
        .time_ps = ps,
        .semaphore = item->id,
        .value = item->value,
        .engine = unit->number,
        .instruction = item->detail == NO_ID ? NO_INDEX : find_run(reader, item->detail, ps),
        .block = NO_INDEX,
        .collective = NO_INDEX};
}

void unit_read_updates(const struct reader *reader, struct unit *unit)
{
    const struct device_profile *profile = reader->profile;
    size_t count = reader->execution->instructions[unit->number].count;
    struct update_reader work = {
        .profile = profile,
        .unit = unit,
        .instructions = reader->execution->instructions[unit->number].items,
        .first = mem_zeroed(profile->program->code_count[unit->number], sizeof(uint32_t)),
        .next = mem_alloc(count * sizeof(uint32_t))};
    for (size_t i = count; i-- > 0;) {
        uint32_t pc = work.instructions[i].pc;
        work.next[i] = work.first[pc];
        work.first[pc] = (uint32_t)i + 1;
    }
    array_reserve(&unit->updates, unit->notifications);
    unit_read(reader, unit, take, &work);
    mem_free(work.first);
    mem_free(work.next);
}

/* What will change a semaphore when it has ended. */
struct ending {
    int64_t end_ps;
    uint32_t block, collective; /* one of them NO_INDEX */
    uint16_t semaphore;
    uint8_t engine; /* that triggered it */
};

static bool ending_before(const void *a, const void *b, const void *context)
{
    const struct ending *x = a, *y = b;
    (void)context;
    if (x->engine != y->engine)
        return x->engine < y->engine;
    return x->semaphore != y->semaphore ? x->semaphore < y->semaphore : x->end_ps < y->end_ps;
}

struct endings {
    ARRAY(struct ending) items;
    size_t next[ENGINE_COUNT][SEMAPHORES], end[ENGINE_COUNT][SEMAPHORES];
};

/* Sorted by engine and semaphore, so next and end delimit each pair's endings. Blocks with
 * missing transfers never signaled and are left out. */
static void list_endings(struct endings *endings, const struct core_program *program,
                         const struct device_execution *execution)
{
    for (size_t i = 0; i < execution->blocks.count; i++) {
        const struct device_block *run = &execution->blocks.items[i];
        const struct dma_block *block = &program->blocks[run->block];
        if (block->semaphore != NO_SEMAPHORE && run->trigger != NO_INDEX &&
            run->transfers == block->count)
            *array_push(&endings->items) = (struct ending){
                run->end_ps, (uint32_t)i, NO_INDEX, block->semaphore, (uint8_t)run->trigger_engine};
    }
    for (size_t i = 0; i < execution->collectives.count; i++) {
        const struct device_collective *run = &execution->collectives.items[i];
        uint16_t semaphore = program->collectives[run->collective].semaphore;
        if (semaphore != NO_SEMAPHORE && run->trigger != NO_INDEX)
            *array_push(&endings->items) = (struct ending){run->end_ps, NO_INDEX, (uint32_t)i,
                                                           semaphore, (uint8_t)run->trigger_engine};
    }
    sort_items(endings->items.items, endings->items.count, sizeof(struct ending), ending_before,
               NULL);
    for (size_t i = 0; i < endings->items.count; i++) {
        const struct ending *ending = &endings->items.items[i];
        if (endings->end[ending->engine][ending->semaphore] == 0)
            endings->next[ending->engine][ending->semaphore] = i;
        endings->end[ending->engine][ending->semaphore] = i + 1;
    }
}

void join_updates(const struct device_profile *profile, struct device_execution *execution)
{
    struct endings *endings = mem_zeroed(1, sizeof *endings);
    list_endings(endings, profile->program, execution);
    for (size_t i = 0; i < execution->updates.count; i++) {
        struct device_update *update = &execution->updates.items[i];
        if (update->instruction != NO_INDEX)
            continue;
        size_t *next = &endings->next[update->engine][update->semaphore];
        if (*next >= endings->end[update->engine][update->semaphore])
            continue;
        const struct ending *ending = &endings->items.items[*next];
        if (ending->end_ps > update->time_ps)
            continue;
        update->block = ending->block;
        update->collective = ending->collective;
        ++*next;
    }
    array_free(&endings->items);
    mem_free(endings);
}
