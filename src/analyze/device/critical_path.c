/*
 * The critical path of an execution.
 */
#include "analyze/device/device.h"

/* A DMA engine that goes on within this time was busy before. */
#define RING_GAP_PS INT64_C(20000)
/* How far back in the Tensor engine's list what holds up a matmul is: products and weight loads run
 * beside each other. */
enum { TENSOR_REACH = 4 };

const char *device_wait_name(enum device_wait wait)
{
    static const char *const names[DEVICE_WAITS] = {"working",
                                                    "before the first item",
                                                    "DMA start",
                                                    "DMA completion",
                                                    "semaphore",
                                                    "engine: result or shared port",
                                                    "collective set-up and ranks",
                                                    "after the last item"};
    return names[wait];
}

struct walk {
    const struct device_dependencies *dependencies;
    const struct device_execution *execution;
    struct device_path *path;
    int64_t begin_ps; /* of the execution */
    int64_t time_ps;  /* until which the path is known, from the end */
};

static void put(struct walk *walk, int64_t from_ps, struct device_item item, enum device_wait wait)
{
    from_ps = from_ps > walk->begin_ps ? from_ps : walk->begin_ps;
    if (from_ps >= walk->time_ps)
        return;
    *array_push(&walk->path->segments) = (struct device_segment){
        .start_ps = from_ps, .end_ps = walk->time_ps, .item = item, .wait = (uint8_t)wait};
    walk->time_ps = from_ps;
}

struct step {
    struct device_item from;
    int64_t release_ps;
    enum device_wait wait; /* between the release and the start */
};

static int64_t start_of(const struct walk *walk, struct device_item item)
{
    return device_item_span(walk->execution, item).start_ps;
}

/* So that each step leads back: earlier, or before it in the same list. */
static bool leads_back(const struct walk *walk, struct device_item item, const struct step *step)
{
    if (step->from.kind == ITEM_NONE)
        return false;
    int64_t start_ps = start_of(walk, item), from_ps = start_of(walk, step->from);
    bool same_list = step->from.kind == item.kind && step->from.engine == item.engine;
    return step->release_ps >= from_ps && step->release_ps <= start_ps &&
           (from_ps < start_ps ||
            (from_ps == start_ps && same_list && step->from.index < item.index));
}

/* The instruction before it on its engine that held it up. Of several that end at or after its
 * start, the one that ends right then, else the nearest. */
static struct step order_step(const struct walk *walk, struct device_item item)
{
    const struct device_instruction *items = walk->execution->instructions[item.engine].items;
    int64_t start_ps = items[item.index].start_ps;
    uint32_t reach = item.engine == ENGINE_TENSOR ? TENSOR_REACH : 1;
    struct step best = {.wait = WAIT_ENGINE};
    for (uint32_t back = 1; back <= reach && back <= item.index; back++) {
        uint32_t index = item.index - back;
        int64_t end_ps = items[index].end_ps;
        struct step step = {{ITEM_INSTRUCTION, item.engine, index},
                            end_ps < start_ps ? end_ps : start_ps,
                            WAIT_ENGINE};
        if (!leads_back(walk, item, &step))
            continue;
        if (end_ps == start_ps)
            return step;
        if (best.from.kind == ITEM_NONE || step.release_ps > best.release_ps)
            best = step;
    }
    return best;
}

/* What ended its wait: of a block, its last transfer. */
static struct step semaphore_step(const struct walk *walk, const struct device_edge *edge)
{
    struct step step = {edge->from, edge->release_ps, WAIT_SEMAPHORE};
    if (edge->from.kind == ITEM_BLOCK) {
        uint32_t last = walk->dependencies->last_transfer[edge->from.index];
        if (last == NO_INDEX)
            return (struct step){0};
        step.from = (struct device_item){.kind = ITEM_TRANSFER, .index = last};
        step.wait = WAIT_DMA_END;
    }
    int64_t end_ps = device_item_span(walk->execution, step.from).end_ps;
    step.release_ps = end_ps < step.release_ps ? end_ps : step.release_ps;
    return step;
}

static struct step instruction_step(const struct walk *walk, struct device_item item)
{
    struct device_edge edges[DEVICE_MAX_EDGES];
    size_t count = device_predecessors(walk->dependencies, item, edges);
    const struct device_instruction *instruction =
        &walk->execution->instructions[item.engine].items[item.index];
    struct step order = order_step(walk, item);
    bool has_waited = instruction->wait_ps > 0;
    if (has_waited)
        order.wait = WAIT_SEMAPHORE;
    if (count == 0 || edges[0].kind != EDGE_SEMAPHORE)
        return order;
    struct step semaphore = semaphore_step(walk, &edges[0]);
    if (!leads_back(walk, item, &semaphore))
        return order;
    if (order.from.kind == ITEM_NONE)
        return semaphore;
    int64_t before_ps = device_item_span(walk->execution, order.from).end_ps;
    bool engine_was_later = before_ps > edges[0].release_ps && before_ps <= instruction->start_ps;
    if (has_waited && !engine_was_later)
        return semaphore;
    order.wait = WAIT_ENGINE;
    return order;
}

/* A transfer or a collective: by the one before it if that was busy until now, else its trigger. */
static struct step started_step(const struct walk *walk, struct device_item item)
{
    struct device_edge edges[DEVICE_MAX_EDGES];
    size_t count = device_predecessors(walk->dependencies, item, edges);
    int64_t start_ps = start_of(walk, item);
    struct step found = {0};
    for (size_t i = 0; i < count; i++) {
        bool is_ring = edges[i].kind == EDGE_RING;
        struct step step = {edges[i].from, edges[i].release_ps,
                            item.kind == ITEM_TRANSFER ? WAIT_DMA_START : WAIT_COLLECTIVE};
        if (!leads_back(walk, item, &step))
            continue;
        if (found.from.kind == ITEM_NONE || (is_ring && start_ps - step.release_ps <= RING_GAP_PS))
            found = step;
    }
    return found;
}

/* The item that ends last; of those that go beyond the end, the one that began last. */
static void consider(const struct walk *walk, struct device_item item, struct device_item *last)
{
    struct device_interval span = device_item_span(walk->execution, item);
    if (span.start_ps > walk->time_ps)
        return;
    if (last->kind != ITEM_NONE) {
        struct device_interval other = device_item_span(walk->execution, *last);
        int64_t end_ps = span.end_ps < walk->time_ps ? span.end_ps : walk->time_ps;
        int64_t other_ps = other.end_ps < walk->time_ps ? other.end_ps : walk->time_ps;
        if (end_ps < other_ps || (end_ps == other_ps && span.start_ps <= other.start_ps))
            return;
    }
    *last = item;
}

static struct device_item last_item(const struct walk *walk)
{
    const struct device_execution *execution = walk->execution;
    struct device_item last = {0};
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        for (uint32_t i = 0; i < execution->instructions[e].count; i++)
            consider(walk, (struct device_item){ITEM_INSTRUCTION, (uint8_t)e, i}, &last);
    for (uint32_t i = 0; i < execution->transfers.count; i++)
        consider(walk, (struct device_item){.kind = ITEM_TRANSFER, .index = i}, &last);
    for (uint32_t i = 0; i < execution->collectives.count; i++)
        consider(walk, (struct device_item){.kind = ITEM_COLLECTIVE, .index = i}, &last);
    return last;
}

static void put_item(struct walk *walk, struct device_item item)
{
    if (item.kind == ITEM_COLLECTIVE) {
        put(walk, walk->dependencies->ready_ps[item.index], item, WAIT_NOT);
        put(walk, start_of(walk, item), item, WAIT_COLLECTIVE);
    } else {
        put(walk, start_of(walk, item), item, WAIT_NOT);
    }
}

static void sum_up(struct device_path *path)
{
    for (size_t i = 0, k = path->segments.count; i + 1 < k; i++, k--) {
        struct device_segment swapped = path->segments.items[i];
        path->segments.items[i] = path->segments.items[k - 1];
        path->segments.items[k - 1] = swapped;
    }
    const struct device_segment *segment;
    array_each (segment, &path->segments) {
        int64_t *sum = segment->wait != WAIT_NOT ? &path->wait_ps[segment->wait]
                       : segment->item.kind == ITEM_INSTRUCTION
                           ? &path->engine_ps[segment->item.engine]
                       : segment->item.kind == ITEM_TRANSFER ? &path->dma_ps
                                                             : &path->collective_ps;
        *sum += segment->end_ps - segment->start_ps;
    }
}

void device_critical_path(const struct device_dependencies *dependencies, struct device_path *path)
{
    *path = (struct device_path){0};
    struct walk walk = {.dependencies = dependencies,
                        .execution = dependencies->execution,
                        .path = path,
                        .begin_ps = dependencies->execution->start_ps,
                        .time_ps = dependencies->execution->end_ps};
    struct device_item item = last_item(&walk);
    if (item.kind != ITEM_NONE)
        put(&walk, device_item_span(walk.execution, item).end_ps, item, WAIT_END);
    while (item.kind != ITEM_NONE && walk.time_ps > walk.begin_ps) {
        put_item(&walk, item);
        struct step step = item.kind == ITEM_INSTRUCTION ? instruction_step(&walk, item)
                                                         : started_step(&walk, item);
        if (step.from.kind != ITEM_NONE)
            put(&walk, step.release_ps, item, step.wait);
        else
            put(&walk, walk.begin_ps, item, WAIT_BEGIN);
        item = step.from;
    }
    put(&walk, walk.begin_ps, item, WAIT_BEGIN);
    sum_up(path);
}

void device_path_free(struct device_path *path)
{
    array_free(&path->segments);
}
