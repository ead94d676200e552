/*
 * Dependencies of device profiles as flows: from what set the semaphore, triggered the transfer or
 * wrote the data to what waited for it. The order within a lane needs no arrow.
 */
#include "export/perfetto/device.h"

/* Numbers of an execution's items among the events of their lanes. */
struct places {
    const struct device_core *core;
    const struct device_execution *execution;
    uint32_t number; /* of the execution */
    uint64_t *instructions[ENGINE_COUNT], *blocks, *collectives;
    uint64_t *next; /* by lane */
};

static uint32_t lane_of(const struct places *places, struct device_item item)
{
    const struct device_execution *execution = places->execution;
    const struct core_program *program = places->core->profile->program;
    if (item.kind == ITEM_INSTRUCTION)
        return device_instruction_lane(places->core, (enum engine)item.engine,
                                       execution->instructions[item.engine].items[item.index].pc);
    if (item.kind == ITEM_BLOCK)
        return device_lane_of(places->core, DEVICE_LANE_QUEUE,
                              program->blocks[execution->blocks.items[item.index].block].queue, 0);
    return device_lane_of(places->core, DEVICE_LANE_COLLECTIVES,
                          execution->collectives.items[item.index].cc_core, 0);
}

static uint64_t *number_items(struct places *places, enum device_item_kind kind, unsigned engine,
                              size_t count)
{
    uint64_t *numbers = mem_alloc(count * sizeof *numbers);
    for (uint32_t i = 0; i < count; i++)
        numbers[i] =
            places
                ->next[lane_of(places, (struct device_item){(uint8_t)kind, (uint8_t)engine, i})]++;
    return numbers;
}

static void places_make(struct places *places)
{
    const struct device_execution *execution = places->execution;
    places->next = mem_alloc(places->core->lanes.count * sizeof *places->next);
    for (uint32_t i = 0; i < places->core->lanes.count; i++)
        places->next[i] = device_lane_first(places->core, places->number, i);
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        places->instructions[e] =
            number_items(places, ITEM_INSTRUCTION, e, execution->instructions[e].count);
    places->blocks = number_items(places, ITEM_BLOCK, 0, execution->blocks.count);
    places->collectives = number_items(places, ITEM_COLLECTIVE, 0, execution->collectives.count);
}

static void places_free(struct places *places)
{
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        mem_free(places->instructions[e]);
    mem_free(places->blocks);
    mem_free(places->collectives);
    mem_free(places->next);
}

static void add_end(const struct places *places, device_flow_list *flows, struct device_item item,
                    uint64_t id)
{
    if (item.kind == ITEM_TRANSFER) /* its block is what is shown */
        item =
            (struct device_item){ITEM_BLOCK, 0, places->execution->transfers.items[item.index].run};
    const uint64_t *numbers = item.kind == ITEM_INSTRUCTION ? places->instructions[item.engine]
                              : item.kind == ITEM_BLOCK     ? places->blocks
                                                            : places->collectives;
    *array_push(flows) =
        (struct device_flow){.track = places->core->first_track + lane_of(places, item),
                             .event = numbers[item.index],
                             .id = id};
}

static void add_item(const struct places *places, const struct device_dependencies *dependencies,
                     device_flow_list *flows, struct device_item item)
{
    struct device_edge edges[DEVICE_MAX_EDGES];
    size_t count = device_predecessors(dependencies, item, edges);
    for (size_t i = 0; i < count; i++) {
        if (edges[i].kind == EDGE_ORDER || edges[i].kind == EDGE_RING ||
            edges[i].from.kind == ITEM_NONE)
            continue;
        uint64_t id = flows->count / 2;
        add_end(places, flows, edges[i].from, id);
        add_end(places, flows, item, id);
    }
}

static void add_execution(device_flow_list *flows, const struct device_core *core, uint32_t number)
{
    struct places places = {.core = core, .execution = &core->executions[number], .number = number};
    struct device_dependencies dependencies;
    const struct device_execution *execution = places.execution;
    places_make(&places);
    device_dependencies_find(&dependencies, core->profile, execution);
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        for (uint32_t i = 0; i < execution->instructions[e].count; i++)
            add_item(&places, &dependencies, flows,
                     (struct device_item){ITEM_INSTRUCTION, (uint8_t)e, i});
    for (uint32_t i = 0; i < execution->blocks.count; i++)
        add_item(&places, &dependencies, flows, (struct device_item){ITEM_BLOCK, 0, i});
    for (uint32_t i = 0; i < execution->collectives.count; i++)
        add_item(&places, &dependencies, flows, (struct device_item){ITEM_COLLECTIVE, 0, i});
    device_dependencies_free(&dependencies);
    places_free(&places);
}

static bool is_before(const void *a, const void *b, const void *context)
{
    const struct device_flow *left = a, *right = b;
    (void)context;
    return left->track < right->track ||
           (left->track == right->track && left->event < right->event);
}

void device_flows_find(device_flow_list *flows, const struct device_cores *cores)
{
    for (size_t i = 0; i < cores->count; i++)
        for (uint32_t k = 0; k < cores->items[i].execution_count; k++)
            add_execution(flows, &cores->items[i], k);
    sort_items(flows->items, flows->count, sizeof *flows->items, is_before, NULL);
}

size_t device_flows_first(const device_flow_list *flows, uint32_t track, uint64_t event)
{
    const struct device_flow wanted = {.track = track, .event = event};
    size_t low = 0, high = flows->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (is_before(&flows->items[middle], &wanted, NULL))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
