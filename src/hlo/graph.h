/*
 * Graphs of a module: an instruction with those near it, or a computation. Instructions are nodes,
 * operands edges; a computation that an instruction calls is named in its node and is a graph of
 * its own. Only nodes that are shown are laid out.
 */
#ifndef KYMO_HLO_GRAPH_H
#define KYMO_HLO_GRAPH_H

#include "hlo/module.h"

struct hlo_graph_options {
    struct text name;    /* of an instruction or a computation; empty: the entry computation */
    uint32_t radius;     /* steps from an instruction to those shown */
    uint32_t most_nodes; /* 0: HLO_GRAPH_NODES */
    uint32_t first;      /* of a computation that has more: the first shown, as it executes */
    bool is_near_root;   /* of a computation that has more: those near its root instead */
    bool with_bodies;    /* DOT: fusions with their bodies */
    bool with_metadata;  /* DOT: where nodes come from */
};
enum { HLO_GRAPH_NODES = 1000 };

struct hlo_graph_node {
    uint32_t instruction;
    uint32_t distance; /* from the instruction in the middle */
    uint32_t hidden_operands, hidden_users;
    uint32_t layer, place;      /* row, and position in it */
    double x, y, width, height; /* the middle, and the size */
};

struct hlo_graph_edge {
    uint32_t from, to; /* nodes */
    uint32_t operand;  /* which one of the user */
};

struct hlo_graph {
    uint32_t computation;
    uint32_t center; /* node, HLO_NONE for a computation */
    ARRAY(struct hlo_graph_node) nodes;
    ARRAY(struct hlo_graph_edge) edges;
    double width, height;
    uint32_t total; /* instructions of the computation */
    uint32_t first; /* of them, the first shown */
    bool is_cut;    /* not all are shown */
};

/* False when nothing has that name. */
bool hlo_graph_make(struct hlo_graph *graph, const struct hlo_module *module,
                    const struct hlo_graph_options *options, struct error *err);
void hlo_graph_free(struct hlo_graph *graph);
/* Inside hlo: sets where the nodes are. */
void hlo_graph_layout(struct hlo_graph *graph, const struct hlo_module *module);
/* {"computation", "center", "root", "total", "first", "is_cut", "width", "height", "nodes": [{"id",
 * "name", "opcode", "shape", "category", "called", "x", "y", "width", "height", ...}], "edges":
 * [{"from", "to", "operand", "points"}]} */
void hlo_graph_json(struct output *out, const struct hlo_module *module,
                    const struct hlo_graph *graph);
/* For Graphviz. */
void hlo_graph_dot(struct output *out, const struct hlo_module *module,
                   const struct hlo_graph *graph, const struct hlo_graph_options *options);
/* {"operand_names": [], "consumer_names": []}: an instruction's neighbors as in XProf's adj_nodes;
 * elements of tuples are skipped in favor of the instructions behind them. False when nothing has
 * that name. */
bool hlo_neighbors_json(struct output *out, const struct hlo_module *module, struct text name,
                        struct error *err);

#endif
