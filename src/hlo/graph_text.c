/*
 * Graphs as JSON and for Graphviz.
 */
#include "hlo/graph.h"
#include "hlo/text.h"

enum { LONGEST_SHAPE = 64, MOST_OPERANDS = 32 };

static struct text scratch_text(const struct output *scratch)
{
    return (struct text){scratch->data, scratch->size};
}

/* "id" is the instruction's index in the module, not the node's: it stays the same in every graph
 * of the module. The scratch output is reused by all nodes. */
static void put_node(struct json *json, struct output *scratch, const struct hlo_module *module,
                     const struct hlo_graph_node *node)
{
    const struct hlo_instruction *at = &module->instructions.items[node->instruction];
    json_open_row(json, '{');
    json_put_uint(json, "id", node->instruction);
    json_put_text(json, "name", at->name);
    json_put_text(json, "opcode", at->opcode_name);
    json_put_text(json, "category", hlo_category(at));
    scratch->size = 0;
    hlo_put_shape(scratch, &at->shape, true);
    json_put_text(json, "shape", scratch_text(scratch));
    if (at->op_name.size > 0)
        json_put_text(json, "op_name", at->op_name);
    if (at->callee_count > 0) {
        json_key(json, "called");
        json_open(json, '[');
        for (uint32_t i = 0; i < at->callee_count; i++)
            if (hlo_callee(module, at, i))
                json_text(json, hlo_callee(module, at, i)->name);
        json_close(json, ']');
    }
    json_put_uint(json, "distance", node->distance);
    json_put_uint(json, "hidden_operands", node->hidden_operands);
    json_put_uint(json, "hidden_users", node->hidden_users);
    json_put_double(json, "x", node->x);
    json_put_double(json, "y", node->y);
    json_put_double(json, "width", node->width);
    json_put_double(json, "height", node->height);
    json_close_row(json, '}');
}

/* From the bottom of the operand to the top of the user. */
static void put_edge(struct json *json, const struct hlo_graph *graph,
                     const struct hlo_graph_edge *edge)
{
    const struct hlo_graph_node *from = &graph->nodes.items[edge->from];
    const struct hlo_graph_node *to = &graph->nodes.items[edge->to];
    json_open_row(json, '{');
    json_put_uint(json, "from", from->instruction);
    json_put_uint(json, "to", to->instruction);
    json_put_uint(json, "operand", edge->operand);
    json_key(json, "points");
    json_open(json, '[');
    json_double(json, from->x);
    json_double(json, from->y + from->height / 2);
    json_double(json, to->x);
    json_double(json, to->y - to->height / 2);
    json_close(json, ']');
    json_close_row(json, '}');
}

/* Everything is written without indentation: this goes to a browser, not to a reader. */
void hlo_graph_json(struct output *out, const struct hlo_module *module,
                    const struct hlo_graph *graph)
{
    struct json json;
    struct output scratch;
    const struct hlo_graph_node *node;
    const struct hlo_graph_edge *edge;
    output_memory(&scratch);
    json_begin(&json, out, false);
    json_open(&json, '{');
    json_put_text(&json, "computation", module->computations.items[graph->computation].name);
    json_key(&json, "center");
    if (graph->center == HLO_NONE)
        json_null(&json);
    else
        json_uint(&json, graph->nodes.items[graph->center].instruction);
    uint32_t root = module->computations.items[graph->computation].root;
    json_key(&json, "root");
    if (root == HLO_NONE)
        json_null(&json);
    else
        json_uint(&json, root);
    json_put_uint(&json, "total", graph->total);
    json_put_uint(&json, "first", graph->first);
    json_key(&json, "is_cut");
    json_bool(&json, graph->is_cut);
    json_put_double(&json, "width", graph->width);
    json_put_double(&json, "height", graph->height);
    json_key(&json, "nodes");
    json_open(&json, '[');
    array_each (node, &graph->nodes)
        put_node(&json, &scratch, module, node);
    json_close(&json, ']');
    json_key(&json, "edges");
    json_open(&json, '[');
    array_each (edge, &graph->edges)
        put_edge(&json, graph, edge);
    json_close(&json, ']');
    json_close(&json, '}');
    output_discard(&scratch);
}

/* --- Graphviz --- */

/* One color per kind of work, so that communication, matrix products and data movement stand out
 * before names are read. */
static const char *fill_of(const struct hlo_instruction *at)
{
    if (hlo_kind_of(at->opcode) == HLO_COLLECTIVE)
        return "#d7ccc8";
    switch (at->opcode) {
    case HLO_OP_INFEED:
    case HLO_OP_OUTFEED:
    case HLO_OP_SEND:
    case HLO_OP_SEND_DONE:
    case HLO_OP_RECV:
    case HLO_OP_RECV_DONE:
        return "#d7ccc8";
    case HLO_OP_DOT:
    case HLO_OP_CONVOLUTION:
    case HLO_OP_FFT:
        return "#90caf9";
    case HLO_OP_CALL:
    case HLO_OP_WHILE:
    case HLO_OP_CONDITIONAL:
    case HLO_OP_CUSTOM_CALL:
        return "#a5d6a7";
    case HLO_OP_FUSION:
        return "#e0e0e0";
    case HLO_OP_COPY:
    case HLO_OP_TRANSPOSE:
    case HLO_OP_RESHAPE:
    case HLO_OP_SLICE:
    case HLO_OP_DYNAMIC_SLICE:
    case HLO_OP_DYNAMIC_UPDATE_SLICE:
        return "#dcedc8";
    case HLO_OP_REDUCE:
    case HLO_OP_REDUCE_WINDOW:
    case HLO_OP_GATHER:
    case HLO_OP_SCATTER:
        return "#e1bee7";
    case HLO_OP_BROADCAST:
        return "#fff9c4";
    case HLO_OP_PARAMETER:
        return "#ffe0b2";
    case HLO_OP_ASYNC_START:
    case HLO_OP_ASYNC_UPDATE:
    case HLO_OP_ASYNC_DONE:
        return "#b3e5fc";
    default:
        return "#ffffff";
    }
}

static void put_quoted(struct output *out, struct text text)
{
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (c == '"' || c == '\\')
            output_char(out, '\\');
        output_char(out, c == '\n' || c == '\r' ? ' ' : c);
    }
}

static void put_shape(struct output *out, struct output *scratch, const struct hlo_shape *shape)
{
    scratch->size = 0;
    hlo_put_shape(scratch, shape, true);
    struct text text = scratch_text(scratch);
    bool is_cut = text.size > LONGEST_SHAPE;
    put_quoted(out, is_cut ? (struct text){text.data, LONGEST_SHAPE} : text);
    if (is_cut)
        output_text(out, "...");
}

static void put_dot_node(struct output *out, struct output *scratch,
                         const struct hlo_instruction *at, uint32_t number, bool is_center,
                         bool with_metadata)
{
    output_format(out, "  n%u [label=\"", number);
    put_quoted(out, at->opcode_name);
    output_text(out, "\\n");
    put_quoted(out, at->name);
    output_text(out, "\\n");
    put_shape(out, scratch, &at->shape);
    if (with_metadata && at->op_name.size > 0) {
        output_text(out, "\\n");
        put_quoted(out, at->op_name);
    }
    output_format(out, "\", fillcolor=\"%s\"%s];\n", fill_of(at), is_center ? ", penwidth=3" : "");
}

/* The body of a fusion, as a cluster with an edge from its result to the fusion. */
static void put_body(struct output *out, struct output *scratch, const struct hlo_module *module,
                     const struct hlo_graph_node *node, bool with_metadata)
{
    const struct hlo_instruction *fusion = &module->instructions.items[node->instruction];
    const struct hlo_computation *body = hlo_callee(module, fusion, 0);
    if (fusion->opcode != HLO_OP_FUSION || !body || body->count > HLO_GRAPH_NODES)
        return;
    output_format(out,
                  "  subgraph cluster_%u {\n  style=\"rounded,filled\"; fillcolor=\"#f5f5f5\"; "
                  "label=\"",
                  node->instruction);
    put_quoted(out, body->name);
    output_text(out, "\";\n");
    for (uint32_t i = 0; i < body->count; i++)
        put_dot_node(out, scratch, &module->instructions.items[body->first + i], body->first + i,
                     false, with_metadata);
    output_text(out, "  }\n");
    for (uint32_t i = 0; i < body->count; i++) {
        const struct hlo_instruction *at = &module->instructions.items[body->first + i];
        for (uint32_t k = 0; k < at->operand_count && k < MOST_OPERANDS; k++)
            if (at->operands[k] != HLO_NONE)
                output_format(out, "  n%u -> n%u;\n", at->operands[k], body->first + i);
    }
    if (body->root != HLO_NONE)
        output_format(out, "  n%u -> n%u [style=dashed];\n", body->root, node->instruction);
}

/* Nodes are named by their instruction's index, which is unique across computations, so that bodies
 * of fusions can be linked to them. Operands from MOST_OPERANDS on get no edge. */
void hlo_graph_dot(struct output *out, const struct hlo_module *module,
                   const struct hlo_graph *graph, const struct hlo_graph_options *options)
{
    struct output scratch;
    const struct hlo_graph_node *node;
    const struct hlo_graph_edge *edge;
    output_memory(&scratch);
    output_text(out, "digraph \"");
    put_quoted(out, module->computations.items[graph->computation].name);
    output_text(out, "\" {\n  rankdir=TB;\n  node [shape=box, style=\"rounded,filled\", "
                     "fontname=\"sans-serif\", fontsize=10];\n");
    if (graph->is_cut)
        output_format(out, "  label=\"%zu of %u instructions, from number %u on\";\n",
                      graph->nodes.count, graph->total, graph->first);
    array_each (node, &graph->nodes)
        put_dot_node(out, &scratch, &module->instructions.items[node->instruction],
                     node->instruction,
                     graph->center != HLO_NONE && node == &graph->nodes.items[graph->center],
                     options->with_metadata);
    array_each (edge, &graph->edges)
        if (edge->operand < MOST_OPERANDS)
            output_format(out, "  n%u -> n%u;\n", graph->nodes.items[edge->from].instruction,
                          graph->nodes.items[edge->to].instruction);
    for (size_t i = 0; options->with_bodies && i < graph->nodes.count; i++)
        put_body(out, &scratch, module, &graph->nodes.items[i], options->with_metadata);
    output_text(out, "}\n");
    output_discard(&scratch);
}
