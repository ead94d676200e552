/*
 * Which instructions a graph shows.
 */
#include "hlo/graph.h"

enum {
    MANY_USERS = 16, /* an instruction with more is not followed to them */
    UNSEEN = UINT32_MAX,
};

static bool has_name(struct text name, struct text wanted)
{
    if (wanted.size > 0 && wanted.data[0] == '%')
        wanted = (struct text){wanted.data + 1, wanted.size - 1};
    return text_equal(name, wanted);
}

/* The instruction of that name, with or without '%'; HLO_NONE when there is none. */
static uint32_t hlo_find_instruction(const struct hlo_module *module, struct text name)
{
    for (uint32_t i = 0; i < module->instructions.count; i++)
        if (has_name(module->instructions.items[i].name, name))
            return i;
    return HLO_NONE;
}

static uint32_t hlo_find_computation(const struct hlo_module *module, struct text name)
{
    for (uint32_t i = 0; i < module->computations.count; i++)
        if (has_name(module->computations.items[i].name, name))
            return i;
    return HLO_NONE;
}

static const struct hlo_instruction *instructions_of(const struct hlo_module *module,
                                                     const struct hlo_computation *computation)
{
    return computation->count > 0 ? &module->instructions.items[computation->first] : NULL;
}

/* The users of each instruction of a computation: those of the i-th from starts[i] on. */
struct users {
    uint32_t *starts, *items;
};

static struct users find_users(const struct hlo_module *module,
                               const struct hlo_computation *computation)
{
    const struct hlo_instruction *first = instructions_of(module, computation);
    struct users users = {.starts = mem_zeroed(computation->count + 2, sizeof *users.starts)};
    uint32_t *next = users.starts + 1, total = 0;
    for (uint32_t i = 0; i < computation->count; i++)
        for (uint32_t k = 0; k < first[i].operand_count; k++)
            if (first[i].operands[k] != HLO_NONE) {
                next[first[i].operands[k] - computation->first + 1]++;
                total++;
            }
    for (uint32_t i = 0; i < computation->count; i++)
        next[i] += users.starts[i];
    users.items = mem_alloc((total + 1) * sizeof *users.items);
    for (uint32_t i = 0; i < computation->count; i++)
        for (uint32_t k = 0; k < first[i].operand_count; k++)
            if (first[i].operands[k] != HLO_NONE)
                users.items[next[first[i].operands[k] - computation->first]++] = i;
    return users;
}

static void users_free(struct users *users)
{
    mem_free(users->starts);
    mem_free(users->items);
}

/* The state of a breadth-first walk. */
struct walk {
    const struct hlo_module *module;
    const struct hlo_computation *computation;
    const struct hlo_instruction *first;
    struct users users;
    uint32_t *nodes; /* by instruction of the computation: its node, or UNSEEN */
    struct hlo_graph *graph;
    uint32_t most, radius;
};

static void visit(struct walk *walk, uint32_t index, uint32_t distance)
{
    if (walk->nodes[index] != UNSEEN || distance > walk->radius)
        return;
    if (walk->graph->nodes.count >= walk->most) {
        walk->graph->is_cut = true;
        return;
    }
    walk->nodes[index] = (uint32_t)walk->graph->nodes.count;
    *array_push(&walk->graph->nodes) = (struct hlo_graph_node){
        .instruction = walk->computation->first + index, .distance = distance};
}

/* A bitcast does not count as a step. */
static uint32_t step_to(const struct walk *walk, uint32_t index, uint32_t distance)
{
    return walk->first[index].opcode == HLO_OP_BITCAST ? distance : distance + 1;
}

static void visit_near(struct walk *walk, uint32_t index, uint32_t distance)
{
    const struct hlo_instruction *at = &walk->first[index];
    bool is_root = walk->computation->root == walk->computation->first + index;
    uint32_t operands = at->opcode == HLO_OP_TUPLE && !is_root ? 0 : at->operand_count;
    for (uint32_t i = 0; i < operands; i++)
        if (at->operands[i] != HLO_NONE) {
            uint32_t operand = at->operands[i] - walk->computation->first;
            visit(walk, operand, step_to(walk, operand, distance));
        }
    uint32_t start = walk->users.starts[index], end = walk->users.starts[index + 1];
    if (at->opcode == HLO_OP_CONSTANT || end - start > MANY_USERS)
        return;
    for (uint32_t i = start; i < end; i++)
        visit(walk, walk->users.items[i], step_to(walk, walk->users.items[i], distance));
}

static void walk_around(struct walk *walk, uint32_t center)
{
    visit(walk, center, 0);
    walk->graph->center = 0;
    for (uint32_t i = 0; i < walk->graph->nodes.count; i++) {
        struct hlo_graph_node node = walk->graph->nodes.items[i];
        visit_near(walk, node.instruction - walk->computation->first, node.distance);
    }
}

/* A part of the computation's execution. */
static void walk_schedule(struct walk *walk, uint32_t first)
{
    walk->graph->first = first;
    for (uint32_t i = 0; i < walk->computation->count; i++) {
        uint32_t at = walk->first[i].schedule_index;
        if (at >= first && at - first < walk->most)
            visit(walk, i, 0);
        else
            walk->graph->is_cut = true;
    }
}

static void add_edges(struct walk *walk)
{
    for (uint32_t n = 0; n < walk->graph->nodes.count; n++) {
        struct hlo_graph_node *node = &walk->graph->nodes.items[n];
        uint32_t index = node->instruction - walk->computation->first;
        const struct hlo_instruction *at = &walk->first[index];
        for (uint32_t i = 0; i < at->operand_count; i++) {
            uint32_t from = at->operands[i] == HLO_NONE
                                ? UNSEEN
                                : walk->nodes[at->operands[i] - walk->computation->first];
            if (from == UNSEEN)
                node->hidden_operands++;
            else
                *array_push(&walk->graph->edges) = (struct hlo_graph_edge){from, n, i};
        }
        for (uint32_t i = walk->users.starts[index]; i < walk->users.starts[index + 1]; i++)
            node->hidden_users += walk->nodes[walk->users.items[i]] == UNSEEN;
    }
}

/* An instruction takes precedence over a computation of the same name. A computation too large to
 * show is cut by its schedule, or on request to what surrounds its root. */
bool hlo_graph_make(struct hlo_graph *graph, const struct hlo_module *module,
                    const struct hlo_graph_options *options, struct error *err)
{
    *graph = (struct hlo_graph){.center = HLO_NONE, .computation = HLO_NONE};
    uint32_t center = HLO_NONE, computation = module->entry;
    if (options->name.size > 0) {
        center = hlo_find_instruction(module, options->name);
        computation = center != HLO_NONE ? module->instructions.items[center].computation
                                         : hlo_find_computation(module, options->name);
    }
    if (computation == HLO_NONE)
        return error_set(err, "the module has no instruction or computation named %.*s",
                         (int)options->name.size, options->name.data);
    struct walk walk = {
        .module = module,
        .computation = &module->computations.items[computation],
        .graph = graph,
        .most = options->most_nodes ? options->most_nodes : HLO_GRAPH_NODES,
        .radius = options->radius,
    };
    if (center == HLO_NONE && options->is_near_root && walk.computation->count > walk.most)
        center = walk.computation->root;
    walk.first = instructions_of(module, walk.computation);
    walk.users = find_users(module, walk.computation);
    walk.nodes = mem_alloc((walk.computation->count + 1) * sizeof *walk.nodes);
    memset(walk.nodes, 0xFF, (walk.computation->count + 1) * sizeof *walk.nodes);
    graph->computation = computation;
    graph->total = walk.computation->count;
    if (center != HLO_NONE)
        walk_around(&walk, center - walk.computation->first);
    else
        walk_schedule(&walk, options->first);
    add_edges(&walk);
    mem_free(walk.nodes);
    users_free(&walk.users);
    hlo_graph_layout(graph, module);
    return true;
}

void hlo_graph_free(struct hlo_graph *graph)
{
    array_free(&graph->nodes);
    array_free(&graph->edges);
}

static void put_behind(struct json *json, const struct hlo_module *module,
                       const struct hlo_instruction *at)
{
    while (at && at->opcode == HLO_OP_GET_TUPLE_ELEMENT)
        at = hlo_operand(module, at, 0);
    if (at)
        json_text(json, at->name);
}

/* Users of elements of a tuple are users of the tuple; elements of elements as well. */
static void put_users(struct json *json, const struct walk *walk, uint32_t index)
{
    ARRAY(uint32_t) open = {0};
    *array_push(&open) = index;
    while (open.count > 0) {
        uint32_t at = open.items[--open.count];
        for (uint32_t i = walk->users.starts[at]; i < walk->users.starts[at + 1]; i++) {
            uint32_t user = walk->users.items[i];
            bool is_again = i > walk->users.starts[at] && walk->users.items[i - 1] == user;
            if (is_again)
                continue;
            if (walk->first[user].opcode == HLO_OP_GET_TUPLE_ELEMENT)
                *array_push(&open) = user;
            else
                json_text(json, walk->first[user].name);
        }
    }
    array_free(&open);
}

/* Needs neither a graph nor a layout, only the users within one computation. */
bool hlo_neighbors_json(struct output *out, const struct hlo_module *module, struct text name,
                        struct error *err)
{
    uint32_t index = hlo_find_instruction(module, name);
    if (index == HLO_NONE)
        return error_set(err, "the module has no instruction named %.*s", (int)name.size,
                         name.data);
    const struct hlo_instruction *at = &module->instructions.items[index];
    struct walk walk = {.module = module,
                        .computation = &module->computations.items[at->computation]};
    walk.first = instructions_of(module, walk.computation);
    walk.users = find_users(module, walk.computation);
    struct json json;
    json_begin(&json, out, false);
    json_open(&json, '{');
    json_key(&json, "operand_names");
    json_open(&json, '[');
    for (uint32_t i = 0; i < at->operand_count; i++)
        put_behind(&json, module, hlo_operand(module, at, i));
    json_close(&json, ']');
    json_key(&json, "consumer_names");
    json_open(&json, '[');
    put_users(&json, &walk, index - walk.computation->first);
    json_close(&json, ']');
    json_close(&json, '}');
    users_free(&walk.users);
    return true;
}
