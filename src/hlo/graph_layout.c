/*
 * Where the nodes of a graph go: in rows, each below its operands, in an order in which few edges
 * cross. The time is linear in nodes and edges, for a fixed number of passes.
 */
#include "hlo/graph.h"

enum {
    PASSES = 6,    /* over all rows, down and up */
    CHARACTER = 7, /* pixels */
    LINE = 16,
    GAP = 24,
    ROW_GAP = 48,
    NARROWEST = 80,
    WIDEST = 360,
};

struct layout {
    struct hlo_graph *graph;
    uint32_t count, layers;
    uint32_t *order;        /* nodes by row and place */
    uint32_t *layer_starts; /* in order */
    uint32_t *starts[2];    /* by node: its edges as a user, as an operand */
    uint32_t *ends[2];      /* the nodes at their other ends */
    double *wanted;         /* by node: where its neighbors are */
};

static void collect_edges(struct layout *layout, int side)
{
    const struct hlo_graph *graph = layout->graph;
    uint32_t *starts = mem_zeroed(layout->count + 2, sizeof *starts), *next = starts + 1;
    layout->starts[side] = starts;
    layout->ends[side] = mem_alloc((graph->edges.count + 1) * sizeof **layout->ends);
    for (size_t i = 0; i < graph->edges.count; i++)
        next[(side ? graph->edges.items[i].from : graph->edges.items[i].to) + 1]++;
    for (uint32_t i = 0; i < layout->count; i++)
        next[i] += starts[i];
    for (size_t i = 0; i < graph->edges.count; i++) {
        const struct hlo_graph_edge *edge = &graph->edges.items[i];
        layout->ends[side][next[side ? edge->from : edge->to]++] = side ? edge->to : edge->from;
    }
}

static bool instruction_before(const void *a, const void *b, const void *context)
{
    const struct hlo_graph *graph = context;
    return graph->nodes.items[*(const uint32_t *)a].instruction <
           graph->nodes.items[*(const uint32_t *)b].instruction;
}

/* Operands come before their users in a module: the row of a node is the one after the last of its
 * operands; a node without operands moves down to its users. */
static void find_layers(struct layout *layout)
{
    struct hlo_graph_node *nodes = layout->graph->nodes.items;
    uint32_t *sorted = mem_alloc((layout->count + 1) * sizeof *sorted);
    for (uint32_t i = 0; i < layout->count; i++)
        sorted[i] = i;
    sort_items(sorted, layout->count, sizeof *sorted, instruction_before, layout->graph);
    for (uint32_t i = 0; i < layout->count; i++) {
        uint32_t node = sorted[i];
        for (uint32_t k = layout->starts[0][node]; k < layout->starts[0][node + 1]; k++) {
            uint32_t above = nodes[layout->ends[0][k]].layer + 1;
            nodes[node].layer = above > nodes[node].layer ? above : nodes[node].layer;
        }
    }
    for (uint32_t i = layout->count; i-- > 0;) {
        uint32_t node = sorted[i], lowest = UINT32_MAX;
        if (layout->starts[0][node] != layout->starts[0][node + 1])
            continue;
        for (uint32_t k = layout->starts[1][node]; k < layout->starts[1][node + 1]; k++) {
            uint32_t below = nodes[layout->ends[1][k]].layer;
            lowest = below < lowest ? below : lowest;
        }
        nodes[node].layer = lowest != UINT32_MAX && lowest > 0 ? lowest - 1 : 0;
    }
    for (uint32_t i = 0; i < layout->count; i++)
        if (nodes[i].layer >= layout->layers)
            layout->layers = nodes[i].layer + 1;
    /* By row, each in the order of the module. */
    layout->layer_starts = mem_zeroed(layout->layers + 2, sizeof *layout->layer_starts);
    uint32_t *next = layout->layer_starts + 1;
    for (uint32_t i = 0; i < layout->count; i++)
        next[nodes[i].layer + 1]++;
    for (uint32_t i = 0; i < layout->layers; i++)
        next[i] += layout->layer_starts[i];
    for (uint32_t i = 0; i < layout->count; i++)
        layout->order[next[nodes[sorted[i]].layer]++] = sorted[i];
    mem_free(sorted);
}

static void set_places(struct layout *layout, uint32_t layer)
{
    for (uint32_t i = layout->layer_starts[layer]; i < layout->layer_starts[layer + 1]; i++)
        layout->graph->nodes.items[layout->order[i]].place = i - layout->layer_starts[layer];
}

static bool wanted_before(const void *a, const void *b, const void *context)
{
    const double *wanted = context;
    return wanted[*(const uint32_t *)a] < wanted[*(const uint32_t *)b];
}

static void sort_layer(struct layout *layout, uint32_t layer, int side)
{
    const struct hlo_graph_node *nodes = layout->graph->nodes.items;
    uint32_t first = layout->layer_starts[layer], end = layout->layer_starts[layer + 1];
    for (uint32_t i = first; i < end; i++) {
        uint32_t node = layout->order[i], start = layout->starts[side][node];
        uint32_t stop = layout->starts[side][node + 1];
        double sum = 0;
        for (uint32_t k = start; k < stop; k++) {
            const struct hlo_graph_node *other = &nodes[layout->ends[side][k]];
            uint32_t size =
                layout->layer_starts[other->layer + 1] - layout->layer_starts[other->layer];
            sum += (other->place + 0.5) / size;
        }
        layout->wanted[node] =
            stop > start ? sum / (stop - start) : (nodes[node].place + 0.5) / (end - first);
    }
    sort_items(layout->order + first, end - first, sizeof *layout->order, wanted_before,
               layout->wanted);
    set_places(layout, layer);
}

static void find_order(struct layout *layout)
{
    for (uint32_t i = 0; i < layout->layers; i++)
        set_places(layout, i);
    for (uint32_t pass = 0; pass < PASSES; pass++)
        for (uint32_t i = 0; i < layout->layers; i++)
            sort_layer(layout, pass % 2 ? layout->layers - 1 - i : i, (int)(pass % 2));
}

/* Each node where its neighbors are, as far as those before it in the row leave room. */
static void shift_layer(struct layout *layout, uint32_t layer, int side)
{
    struct hlo_graph_node *nodes = layout->graph->nodes.items;
    uint32_t first = layout->layer_starts[layer], end = layout->layer_starts[layer + 1];
    double left = -1e300, moved = 0;
    for (uint32_t i = first; i < end; i++) {
        uint32_t at = layout->order[i], start = layout->starts[side][at];
        uint32_t stop = layout->starts[side][at + 1];
        double sum = 0, wanted = nodes[at].x, half = nodes[at].width / 2;
        for (uint32_t k = start; k < stop; k++)
            sum += nodes[layout->ends[side][k]].x;
        if (stop > start)
            wanted = sum / (stop - start);
        double x = wanted - half > left ? wanted : left + half;
        moved += wanted - x;
        nodes[at].x = x;
        left = x + half + GAP;
    }
    /* The resulting shift is spread over the whole row. */
    for (uint32_t i = first; i < end; i++)
        nodes[layout->order[i]].x += moved / (end - first);
}

/* Starts with rows packed from the left, then shifts each toward its neighbors, alternately from
 * the top and from the bottom. Finally x counts from the leftmost edge. */
static void find_positions(struct layout *layout)
{
    struct hlo_graph *graph = layout->graph;
    struct hlo_graph_node *node;
    for (uint32_t layer = 0; layer < layout->layers; layer++) {
        double x = 0;
        for (uint32_t i = layout->layer_starts[layer]; i < layout->layer_starts[layer + 1]; i++) {
            node = &graph->nodes.items[layout->order[i]];
            node->x = x + node->width / 2;
            node->y = layer * (double)(2 * LINE + ROW_GAP) + LINE;
            x += node->width + GAP;
        }
    }
    for (uint32_t pass = 0; pass < PASSES; pass++)
        for (uint32_t i = 0; i < layout->layers; i++)
            shift_layer(layout, pass % 2 ? layout->layers - 1 - i : i, (int)(pass % 2));
    double left = 1e300, right = -1e300;
    array_each (node, &graph->nodes) {
        left = node->x - node->width / 2 < left ? node->x - node->width / 2 : left;
        right = node->x + node->width / 2 > right ? node->x + node->width / 2 : right;
    }
    array_each (node, &graph->nodes)
        node->x -= left;
    graph->width = layout->count ? right - left : 0;
    graph->height = layout->layers ? layout->layers * (double)(2 * LINE + ROW_GAP) - ROW_GAP : 0;
}

/* Widths are estimated from the length of names, as fonts are not known here. */
void hlo_graph_layout(struct hlo_graph *graph, const struct hlo_module *module)
{
    struct layout layout = {.graph = graph, .count = (uint32_t)graph->nodes.count};
    struct hlo_graph_node *node;
    array_each (node, &graph->nodes) {
        double width =
            (double)module->instructions.items[node->instruction].name.size * CHARACTER + 2 * LINE;
        node->width = width < NARROWEST ? NARROWEST : width > WIDEST ? WIDEST : width;
        node->height = 2 * LINE;
    }
    layout.order = mem_alloc((layout.count + 1) * sizeof *layout.order);
    layout.wanted = mem_zeroed(layout.count + 1, sizeof *layout.wanted);
    collect_edges(&layout, 0);
    collect_edges(&layout, 1);
    find_layers(&layout);
    find_order(&layout);
    find_positions(&layout);
    for (int side = 0; side < 2; side++) {
        mem_free(layout.starts[side]);
        mem_free(layout.ends[side]);
    }
    mem_free(layout.layer_starts);
    mem_free(layout.order);
    mem_free(layout.wanted);
}
