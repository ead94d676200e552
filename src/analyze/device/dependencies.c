/*
 * Dependencies between instructions, transfers and collectives of an execution.
 */
#include "analyze/device/device.h"

#include <stdio.h>

/* Updates by semaphore, then time. */
struct updates {
    uint32_t *order; /* indexes of execution.updates */
    uint32_t first[SEMAPHORES + 1];
    bool is_rising[SEMAPHORES]; /* its value never falls */
};

static void sort_updates(struct updates *updates, const struct device_execution *execution)
{
    uint32_t count[SEMAPHORES] = {0}, last[SEMAPHORES] = {0};
    const struct device_update *items = execution->updates.items;
    memset(updates->is_rising, true, sizeof updates->is_rising);
    for (size_t i = 0; i < execution->updates.count; i++) {
        uint32_t semaphore = items[i].semaphore % SEMAPHORES;
        count[semaphore]++;
        updates->is_rising[semaphore] &= items[i].value >= last[semaphore];
        last[semaphore] = items[i].value;
    }
    updates->first[0] = 0;
    for (unsigned i = 0; i < SEMAPHORES; i++)
        updates->first[i + 1] = updates->first[i] + count[i];
    updates->order = mem_zeroed(execution->updates.count, sizeof *updates->order);
    for (uint32_t i = (uint32_t)execution->updates.count; i-- > 0;) {
        uint32_t semaphore = items[i].semaphore % SEMAPHORES;
        updates->order[updates->first[semaphore] + --count[semaphore]] = i;
    }
}

/* The update from which on the semaphore has at least the value, until this time; or NO_INDEX. */
static uint32_t update_that_met(const struct updates *updates, const struct device_update *items,
                                uint32_t semaphore, uint32_t value, int64_t time_ps)
{
    uint32_t low = updates->first[semaphore], high = updates->first[semaphore + 1];
    uint32_t begin = low;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (items[updates->order[middle]].time_ps <= time_ps)
            low = middle + 1;
        else
            high = middle;
    }
    uint32_t end = low; /* of those in time */
    if (end == begin || items[updates->order[end - 1]].value < value)
        return NO_INDEX;
    uint32_t at = end - 1;
    if (updates->is_rising[semaphore]) {
        for (low = begin, high = at; low < high;) {
            uint32_t middle = low + (high - low) / 2;
            if (items[updates->order[middle]].value >= value)
                high = middle;
            else
                low = middle + 1;
        }
        at = low;
    } else {
        while (at > begin && items[updates->order[at - 1]].value >= value)
            at--;
    }
    return updates->order[at];
}

static void find_waits(struct device_dependencies *dependencies)
{
    const struct device_execution *execution = dependencies->execution;
    struct updates *updates = mem_alloc(sizeof *updates);
    sort_updates(updates, execution);
    for (unsigned e = 0; e < ENGINE_COUNT; e++) {
        size_t count = execution->instructions[e].count;
        dependencies->met_by[e] = mem_zeroed(count, sizeof *dependencies->met_by[e]);
        for (size_t i = 0; i < count; i++) {
            const struct device_instruction *item = &execution->instructions[e].items[i];
            const struct instruction *code = &dependencies->profile->program->code[e][item->pc];
            dependencies->met_by[e][i] =
                code->wait_semaphore >= SEMAPHORES || code->wait_value == 0
                    ? NO_INDEX
                    : update_that_met(updates, execution->updates.items, code->wait_semaphore,
                                      code->wait_value, item->start_ps);
        }
    }
    mem_free(updates->order);
    mem_free(updates);
}

static void find_ends(struct device_dependencies *dependencies)
{
    const struct device_execution *execution = dependencies->execution;
    const struct device_transfer *transfers = execution->transfers.items;
    uint32_t *last = mem_zeroed(execution->blocks.count, sizeof *last);
    memset(last, 0xff, execution->blocks.count * sizeof *last);
    for (uint32_t i = 0; i < execution->transfers.count; i++) {
        uint32_t run = transfers[i].run;
        if (run < execution->blocks.count &&
            (last[run] == NO_INDEX || transfers[i].end_ps > transfers[last[run]].end_ps))
            last[run] = i;
    }
    dependencies->last_transfer = last;
    int64_t *ready = mem_zeroed(execution->collectives.count, sizeof *ready);
    for (size_t i = 0; i < execution->collectives.count; i++)
        ready[i] = execution->collectives.items[i].start_ps;
    const struct device_cc_step *step;
    array_each (step, &execution->cc_steps)
        if (step->step == STEP_SEMAPHORE_WAIT && step->collective < execution->collectives.count)
            ready[step->collective] = step->end_ps;
    dependencies->ready_ps = ready;
}

/* --- Data through HBM: who wrote last what a block reads. --- */

struct access {
    int64_t start_ps, end_ps;
    struct device_item item;
    uint32_t variable;
    bool is_write;
};
typedef ARRAY(struct access) access_list;

static bool by_start(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct access *)a)->start_ps < ((const struct access *)b)->start_ps;
}

/* A run of a few transfers may be one of a large block: what is looked at depends on the transfers.
 */
static void add_block(access_list *accesses, const struct device_profile *profile,
                      const struct device_block *run, uint32_t index)
{
    const struct block_facts *facts = &profile->block_facts[run->block];
    uint64_t most = 2 * ((uint64_t)run->transfers + 1);
    for (uint32_t i = 0; i < facts->access_count && i < most; i++) {
        const struct hbm_access *access = &profile->hbm_accesses.items[facts->first_access + i];
        *array_push(accesses) = (struct access){run->start_ps,
                                                run->end_ps,
                                                {.kind = ITEM_BLOCK, .index = index},
                                                access->variable,
                                                access->is_write};
    }
}

static void add_collective(access_list *accesses, const struct core_program *program,
                           const struct device_collective *run, uint32_t index)
{
    const struct collective *collective = &program->collectives[run->collective];
    struct access access = {.start_ps = run->start_ps,
                            .end_ps = run->end_ps,
                            .item = {.kind = ITEM_COLLECTIVE, .index = index},
                            .variable = collective->output,
                            .is_write = true};
    if (collective->kind != COLLECTIVE_BARRIER)
        *array_push(accesses) = access;
}

/* The run that wrote the variable last before the block began; ranges within it are not looked at.
 */
static void find_writers(struct device_dependencies *dependencies)
{
    const struct device_execution *execution = dependencies->execution;
    const struct core_program *program = dependencies->profile->program;
    access_list accesses = {0};
    for (uint32_t i = 0; i < execution->blocks.count; i++)
        add_block(&accesses, dependencies->profile, &execution->blocks.items[i], i);
    for (uint32_t i = 0; i < execution->collectives.count; i++)
        add_collective(&accesses, program, &execution->collectives.items[i], i);
    sort_items(accesses.items, accesses.count, sizeof *accesses.items, by_start, NULL);
    dependencies->wrote = mem_zeroed(execution->blocks.count, sizeof *dependencies->wrote);
    struct access *writers = mem_zeroed(program->variable_count, sizeof *writers);
    const struct access *access;
    array_each (access, &accesses) {
        struct access *writer = &writers[access->variable];
        if (access->is_write)
            *writer = *access;
        else if (access->item.kind == ITEM_BLOCK && writer->item.kind != ITEM_NONE &&
                 writer->end_ps <= access->start_ps)
            dependencies->wrote[access->item.index] = writer->item;
    }
    mem_free(writers);
    array_free(&accesses);
}

void device_dependencies_find(struct device_dependencies *dependencies,
                              const struct device_profile *profile,
                              const struct device_execution *execution)
{
    *dependencies = (struct device_dependencies){.profile = profile, .execution = execution};
    find_waits(dependencies);
    find_ends(dependencies);
    find_writers(dependencies);
}

void device_dependencies_free(struct device_dependencies *dependencies)
{
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        mem_free(dependencies->met_by[e]);
    mem_free(dependencies->last_transfer);
    mem_free(dependencies->ready_ps);
    mem_free(dependencies->wrote);
}

/* --- Edges --- */

struct device_interval device_item_span(const struct device_execution *execution,
                                        struct device_item item)
{
#define SPAN(list)                                                                                 \
    ((struct device_interval){(list)[item.index].start_ps, (list)[item.index].end_ps})
    switch (item.kind) {
    case ITEM_INSTRUCTION:
        return SPAN(execution->instructions[item.engine].items);
    case ITEM_TRANSFER:
        return SPAN(execution->transfers.items);
    case ITEM_BLOCK:
        return SPAN(execution->blocks.items);
    case ITEM_COLLECTIVE:
        return SPAN(execution->collectives.items);
    default:
        return (struct device_interval){0, 0};
    }
#undef SPAN
}

uint32_t device_item_part(const struct device_execution *execution, struct device_item item)
{
    switch (item.kind) {
    case ITEM_INSTRUCTION:
        return execution->instructions[item.engine].items[item.index].pc;
    case ITEM_TRANSFER:
        return execution->transfers.items[item.index].descriptor;
    case ITEM_BLOCK:
        return execution->blocks.items[item.index].block;
    case ITEM_COLLECTIVE:
        return execution->collectives.items[item.index].collective;
    case ITEM_ERROR:
        return execution->errors.items[item.index].kind;
    default:
        return NO_INDEX;
    }
}

static const char *variable_of(const struct core_program *program,
                               const struct dma_descriptor *descriptor)
{
    const struct dma_end *end =
        descriptor->from.memory == MEMORY_HBM ? &descriptor->from : &descriptor->to;
    return end->memory == MEMORY_HBM ? program->variables[end->variable].name : "SBUF";
}

/* `part` is the place in the program (pc, descriptor, block or collective): item.index is of an
 * execution, which is not needed here. The text is cut to fit. */
size_t device_item_text(const struct core_program *program, struct device_item item, uint32_t part,
                        char *text, size_t size)
{
    int length = 0;
    if (item.kind == ITEM_INSTRUCTION) {
        const struct instruction *code = &program->code[item.engine][part];
        const char *layer =
            code->origin < program->origin_count ? program->origins[code->origin].layer : "";
        length = snprintf(
            text, size, "%s %s at %u%s%s", hardware_engine_name((enum engine)item.engine),
            opcode_name((enum opcode)code->opcode), part, layer[0] ? ", layer " : "", layer);
    } else if (item.kind == ITEM_TRANSFER) {
        length =
            snprintf(text, size, "DMA of %s", variable_of(program, &program->descriptors[part]));
    } else if (item.kind == ITEM_BLOCK) {
        const struct dma_block *block = &program->blocks[part];
        length =
            snprintf(text, size, "DMA of %s on %s",
                     block->count > 0 ? variable_of(program, &program->descriptors[block->first])
                                      : "nothing",
                     program->queues[block->queue].name);
    } else if (item.kind == ITEM_COLLECTIVE) {
        length =
            snprintf(text, size, "%s",
                     device_collective_name((enum collective_kind)program->collectives[part].kind));
    } else if (item.kind == ITEM_ERROR) {
        length = snprintf(text, size, "%s", device_error_name((enum error_kind)part));
    } else if (size > 0) {
        text[0] = '\0';
    }
    return length < 0 ? 0 : (size_t)length < size ? (size_t)length : size - 1;
}

const char *device_edge_name(enum device_edge_kind kind)
{
    static const char *const names[EDGE_KINDS] = {"semaphore", "order", "trigger", "ring", "data"};
    return names[kind];
}

/* Who made an update. */
static struct device_item update_source(const struct device_update *update)
{
    if (update->instruction != NO_INDEX)
        return (struct device_item){ITEM_INSTRUCTION, update->engine, update->instruction};
    if (update->block != NO_INDEX)
        return (struct device_item){.kind = ITEM_BLOCK, .index = update->block};
    if (update->collective != NO_INDEX)
        return (struct device_item){.kind = ITEM_COLLECTIVE, .index = update->collective};
    return (struct device_item){0};
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static size_t instruction_edges(const struct device_dependencies *dependencies,
                                struct device_item item, struct device_edge *edges)
{
    const struct device_execution *execution = dependencies->execution;
    int64_t start_ps = device_item_span(execution, item).start_ps;
    uint32_t met = dependencies->met_by[item.engine][item.index];
    size_t count = 0;
    if (met != NO_INDEX) {
        const struct device_update *update = &execution->updates.items[met];
        struct device_item source = update_source(update);
        if (source.kind != ITEM_NONE)
            edges[count++] = (struct device_edge){source, item, EDGE_SEMAPHORE, update->time_ps};
    }
    if (item.index > 0) {
        struct device_item before = {ITEM_INSTRUCTION, item.engine, item.index - 1};
        int64_t end_ps = device_item_span(execution, before).end_ps;
        edges[count++] = (struct device_edge){before, item, EDGE_ORDER, earlier(end_ps, start_ps)};
    }
    return count;
}

static size_t trigger_edge(const struct device_execution *execution, struct device_item item,
                           uint32_t engine, uint32_t trigger, struct device_edge *edge)
{
    if (trigger == NO_INDEX)
        return 0;
    struct device_item from = {ITEM_INSTRUCTION, (uint8_t)engine, trigger};
    *edge = (struct device_edge){from, item, EDGE_TRIGGER,
                                 earlier(device_item_span(execution, from).end_ps,
                                         device_item_span(execution, item).start_ps)};
    return 1;
}

/* Edges are found on demand rather than stored: a critical path visits few items. Transfers are
 * sorted by engine, collectives by CC-core, so the ring's previous item is the neighbor. */
size_t device_predecessors(const struct device_dependencies *dependencies, struct device_item item,
                           struct device_edge edges[static DEVICE_MAX_EDGES])
{
    const struct device_execution *execution = dependencies->execution;
    struct device_item before = {.kind = item.kind, .index = item.index - 1};
    size_t count = 0;
    switch (item.kind) {
    case ITEM_INSTRUCTION:
        return instruction_edges(dependencies, item, edges);
    case ITEM_TRANSFER: {
        const struct device_transfer *transfer = &execution->transfers.items[item.index];
        const struct device_block *run = &execution->blocks.items[transfer->run];
        count = trigger_edge(execution, item, run->trigger_engine, run->trigger, edges);
        if (item.index > 0 && transfer[-1].engine == transfer->engine)
            edges[count++] = (struct device_edge){before, item, EDGE_RING, transfer[-1].end_ps};
        return count;
    }
    case ITEM_BLOCK: {
        const struct device_block *run = &execution->blocks.items[item.index];
        count = trigger_edge(execution, item, run->trigger_engine, run->trigger, edges);
        struct device_item writer = dependencies->wrote[item.index];
        if (writer.kind != ITEM_NONE)
            edges[count++] = (struct device_edge){writer, item, EDGE_DATA,
                                                  device_item_span(execution, writer).end_ps};
        return count;
    }
    case ITEM_COLLECTIVE: {
        const struct device_collective *run = &execution->collectives.items[item.index];
        count = trigger_edge(execution, item, run->trigger_engine, run->trigger, edges);
        if (item.index > 0 && run[-1].cc_core == run->cc_core)
            edges[count++] = (struct device_edge){before, item, EDGE_RING, run[-1].end_ps};
        return count;
    }
    default:
        return 0;
    }
}
