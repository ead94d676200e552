/*
 * Transfers. A DMA engine does one after the other. Which run of its block a transfer belongs to is
 * known where a block runs once. Else it follows from the triggers: descriptors go to the rings of
 * their queue in turn, so that it is known which DMA engine each run's transfer went to; there,
 * those of one descriptor are in the order of their triggers.
 */
#include "analyze/device/execution.h"

struct transfer_reader {
    const struct core_program *program;
    struct unit *unit;
    bool is_open;
    struct device_transfer open;
};

static bool is_of_block(const struct core_program *program, uint32_t descriptor, uint32_t block)
{
    return block < program->block_count && descriptor >= program->blocks[block].first &&
           descriptor - program->blocks[block].first < program->blocks[block].count;
}

/* An engine runs one transfer at a time, so one open start is enough; whatever does not pair up
 * is counted, never guessed. */
static void take(void *context, const struct notification *item, int64_t ps)
{
    struct transfer_reader *reader = context;
    struct unit *unit = reader->unit;
    if (unit->is_after_gap) { /* its end is lost: that of a later run is not its own */
        unit->unpaired += reader->is_open;
        unit->is_after_gap = reader->is_open = false;
    }
    if (item->phase == PHASE_START && is_of_block(reader->program, item->id, item->value)) {
        unit->unpaired += reader->is_open;
        reader->is_open = true;
        reader->open = (struct device_transfer){
            .start_ps = ps, .descriptor = item->id, .run = item->value, .engine = unit->number};
        return;
    }
    bool is_end = item->phase == PHASE_END && reader->is_open &&
                  item->id == reader->open.descriptor && ps >= reader->open.start_ps;
    if (!is_end) {
        unit->unpaired++;
        return;
    }
    reader->is_open = false;
    reader->open.end_ps = ps;
    reader->open.crc = item->value;
    *array_push(&unit->transfers) = reader->open;
}

static bool starts_before(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct device_transfer *)a)->start_ps <
           ((const struct device_transfer *)b)->start_ps;
}

void unit_read_transfers(const struct reader *reader, struct unit *unit)
{
    struct transfer_reader work = {.program = reader->profile->program, .unit = unit};
    array_reserve(&unit->transfers, unit->notifications / 2 + 1);
    unit_read(reader, unit, take, &work);
    unit->unpaired += work.is_open;
    sort_items(unit->transfers.items, unit->transfers.count, sizeof *unit->transfers.items,
               starts_before, NULL);
}

/* A run of a block, as a trigger or transfers without one tell. */
struct run {
    struct device_block found;
    uint32_t next; /* later run of the block, from 1 on; 0: none */
    uint8_t ring;  /* of its queue, that takes its first transfer */
};

struct joining {
    const struct device_profile *profile;
    struct device_execution *execution;
    ARRAY(struct run) runs;
    uint32_t *first_run;       /* of each block, from 1 on; 0: none */
    uint8_t *taken;            /* of each descriptor: a transfer of it has its run */
    ARRAY(uint32_t) uncertain; /* transfers whose run is not known by the block alone */
};

static bool trigger_before(const void *a, const void *b, const void *context)
{
    const struct device_execution *execution = context;
    const struct device_block *x = &((const struct run *)a)->found,
                              *y = &((const struct run *)b)->found;
    return execution->instructions[x->trigger_engine].items[x->trigger].start_ps <
           execution->instructions[y->trigger_engine].items[y->trigger].start_ps;
}

static struct device_block no_block(uint32_t block)
{
    return (struct device_block){.start_ps = INT64_MAX,
                                 .end_ps = INT64_MIN,
                                 .block = block,
                                 .trigger_engine = NO_INDEX,
                                 .trigger = NO_INDEX};
}

static void find_triggers(struct joining *joining)
{
    const struct core_program *program = joining->profile->program;
    struct device_execution *execution = joining->execution;
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        for (size_t i = 0; i < execution->instructions[e].count; i++) {
            const struct instruction *code =
                &program->code[e][execution->instructions[e].items[i].pc];
            if (code->opcode != OP_DMA_TRIGGER)
                continue;
            struct run *run = array_push(&joining->runs);
            *run = (struct run){.found = no_block(code->index)};
            run->found.trigger_engine = e;
            run->found.trigger = (uint32_t)i;
        }
    sort_items(joining->runs.items, joining->runs.count, sizeof(struct run), trigger_before,
               execution);
}

/* Goes through the triggers as the queues do. */
static void place_runs(struct joining *joining)
{
    const struct core_program *program = joining->profile->program;
    uint32_t *next_ring = mem_zeroed(program->queue_count, sizeof *next_ring);
    uint32_t *last_run = mem_zeroed(program->block_count, sizeof *last_run);
    for (size_t i = 0; i < joining->runs.count; i++) {
        struct run *run = &joining->runs.items[i];
        const struct dma_block *block = &program->blocks[run->found.block];
        uint32_t *ring = &next_ring[block->queue];
        run->ring = (uint8_t)*ring;
        *ring = (uint32_t)(((uint64_t)*ring + block->count) % program->queues[block->queue].rings);
        uint32_t *last = &last_run[run->found.block];
        if (*last == 0)
            joining->first_run[run->found.block] = (uint32_t)i + 1;
        else
            joining->runs.items[*last - 1].next = (uint32_t)i + 1;
        *last = (uint32_t)i + 1;
    }
    mem_free(next_ring);
    mem_free(last_run);
}

static void put(struct joining *joining, struct device_transfer *transfer, uint32_t number)
{
    struct device_block *found = &joining->runs.items[number].found;
    if (transfer->start_ps < found->start_ps)
        found->start_ps = transfer->start_ps;
    if (transfer->end_ps > found->end_ps)
        found->end_ps = transfer->end_ps;
    found->bytes += joining->profile->descriptors[transfer->descriptor].bytes;
    found->transfers++;
    transfer->run = number;
}

/* Transfers of blocks that run once have their run; `run` of the others is still the block. */
static void put_certain(struct joining *joining)
{
    for (size_t i = 0; i < joining->execution->transfers.count; i++) {
        struct device_transfer *transfer = &joining->execution->transfers.items[i];
        uint32_t number = joining->first_run[transfer->run];
        uint8_t *taken = &joining->taken[transfer->descriptor];
        if (number != 0 && joining->runs.items[number - 1].next == 0 && !*taken) {
            *taken = 1;
            put(joining, transfer, number - 1);
        } else {
            *array_push(&joining->uncertain) = (uint32_t)i;
        }
    }
}

static bool uncertain_before(const void *a, const void *b, const void *context)
{
    const struct device_transfer *items = context;
    const struct device_transfer *x = &items[*(const uint32_t *)a],
                                 *y = &items[*(const uint32_t *)b];
    return x->run != y->run ? x->run < y->run : x->descriptor < y->descriptor;
}

static unsigned expected_engine(const struct core_program *program, const struct run *run,
                                uint32_t descriptor)
{
    const struct dma_block *block = &program->blocks[run->found.block];
    const struct dma_queue *queue = &program->queues[block->queue];
    uint64_t ring = ((uint64_t)run->ring + (descriptor - block->first)) % queue->rings;
    return (unsigned)((queue->first_ring + ring) % DMA_ENGINES);
}

/* Transfers of one block and descriptor, in order of DMA engine and start. */
struct group {
    const uint32_t *members;
    size_t count;
    uint32_t block, descriptor;
};

enum { RUNS_AHEAD = 64 }; /* runs without this transfer that are looked at */

/* Goes through the block's runs in order and gives each the next transfer of the DMA engine it went
 * to. `left` gets those that have none. */
static size_t match_group(struct joining *joining, const struct group *group, uint32_t *left)
{
    struct device_transfer *transfers = joining->execution->transfers.items;
    size_t next[DMA_ENGINES], end[DMA_ENGINES], left_count = 0;
    memset(next, 0, sizeof next);
    memset(end, 0, sizeof end);
    for (size_t i = 0; i < group->count; i++) {
        unsigned engine = transfers[group->members[i]].engine;
        if (end[engine] == 0)
            next[engine] = i;
        end[engine] = i + 1;
    }
    uint32_t number = joining->first_run[group->block];
    bool is_single = number != 0 && joining->runs.items[number - 1].next == 0;
    for (size_t looked = 0; !is_single && number != 0 && looked < group->count + RUNS_AHEAD;
         looked++) {
        const struct run *run = &joining->runs.items[number - 1];
        unsigned engine = expected_engine(joining->profile->program, run, group->descriptor);
        uint32_t after = run->next;
        if (next[engine] < end[engine])
            put(joining, &transfers[group->members[next[engine]++]], number - 1);
        number = after;
    }
    for (unsigned engine = 0; engine < DMA_ENGINES; engine++)
        for (; next[engine] < end[engine]; next[engine]++)
            left[left_count++] = group->members[next[engine]];
    return left_count;
}

/* Transfers without a trigger: the first ones of a block's descriptors are a run, the second ones
 * the next. `added` are the numbers of these runs. */
struct added_runs {
    ARRAY(uint32_t) numbers;
    uint32_t block;
};

static void put_left(struct joining *joining, struct added_runs *added, const struct group *group,
                     const uint32_t *left, size_t count)
{
    if (added->block != group->block) {
        added->numbers.count = 0;
        added->block = group->block;
    }
    for (size_t i = 0; i < count; i++) {
        if (i == added->numbers.count) {
            *array_push(&added->numbers) = (uint32_t)joining->runs.count;
            *array_push(&joining->runs) = (struct run){.found = no_block(group->block)};
        }
        put(joining, &joining->execution->transfers.items[left[i]], added->numbers.items[i]);
    }
}

static void put_uncertain(struct joining *joining)
{
    struct device_transfer *transfers = joining->execution->transfers.items;
    uint32_t *members = joining->uncertain.items;
    size_t count = joining->uncertain.count;
    struct added_runs added = {.block = NO_INDEX};
    uint32_t *left = mem_alloc(count * sizeof *left);
    sort_items(members, count, sizeof *members, uncertain_before, transfers);
    for (size_t i = 0, end; i < count; i = end) {
        struct group group = {.members = members + i,
                              .block = transfers[members[i]].run,
                              .descriptor = transfers[members[i]].descriptor};
        for (end = i + 1; end < count && transfers[members[end]].run == group.block &&
                          transfers[members[end]].descriptor == group.descriptor;)
            end++;
        group.count = end - i;
        put_left(joining, &added, &group, left, match_group(joining, &group, left));
    }
    mem_free(left);
    array_free(&added.numbers);
}

static bool run_before(const void *a, const void *b, const void *context)
{
    const struct joining *joining = context;
    const struct dma_block *blocks = joining->profile->program->blocks;
    const struct device_block *x = &joining->runs.items[*(const uint32_t *)a].found,
                              *y = &joining->runs.items[*(const uint32_t *)b].found;
    uint32_t x_queue = blocks[x->block].queue, y_queue = blocks[y->block].queue;
    return x_queue != y_queue ? x_queue < y_queue : x->start_ps < y->start_ps;
}

/* A trigger must not come after what it triggered. */
static void drop_wrong_trigger(const struct device_execution *execution, struct device_block *found)
{
    if (found->trigger != NO_INDEX &&
        execution->instructions[found->trigger_engine].items[found->trigger].start_ps >
            found->start_ps)
        found->trigger = found->trigger_engine = NO_INDEX;
}

/* Runs with transfers become the execution's blocks, by queue and start. */
static void list_blocks(struct joining *joining)
{
    struct device_execution *execution = joining->execution;
    uint32_t *order = mem_alloc(joining->runs.count * sizeof *order);
    uint32_t *position = mem_alloc(joining->runs.count * sizeof *position);
    size_t count = 0;
    for (size_t i = 0; i < joining->runs.count; i++)
        if (joining->runs.items[i].found.transfers > 0)
            order[count++] = (uint32_t)i;
    sort_items(order, count, sizeof *order, run_before, joining);
    array_reserve(&execution->blocks, count);
    for (size_t i = 0; i < count; i++) {
        struct device_block *block = array_push(&execution->blocks);
        *block = joining->runs.items[order[i]].found;
        drop_wrong_trigger(execution, block);
        position[order[i]] = (uint32_t)i;
    }
    for (size_t i = 0; i < execution->transfers.count; i++)
        execution->transfers.items[i].run = position[execution->transfers.items[i].run];
    mem_free(order);
    mem_free(position);
}

void join_blocks(const struct device_profile *profile, struct device_execution *execution)
{
    const struct core_program *program = profile->program;
    struct joining joining = {
        .profile = profile,
        .execution = execution,
        .first_run = mem_zeroed(program->block_count, sizeof *joining.first_run),
        .taken = mem_zeroed(program->descriptor_count, sizeof *joining.taken)};
    find_triggers(&joining);
    place_runs(&joining);
    put_certain(&joining);
    put_uncertain(&joining);
    list_blocks(&joining);
    array_free(&joining.runs);
    array_free(&joining.uncertain);
    mem_free(joining.first_run);
    mem_free(joining.taken);
}
