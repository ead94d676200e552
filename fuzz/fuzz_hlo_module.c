/*
 * Fuzz target: any input as an HLO module: its texts, costs, memory and graphs. What must hold of
 * any module is checked: operands come before their uses, costs are no less than nothing, what is
 * drawn is drawn below its operands.
 */
#include "hlo/hlo.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void check_instructions(const struct hlo_module *module, struct output *out)
{
    struct hlo_cost *costs = hlo_costs(module);
    for (uint32_t i = 0; i < module->instructions.count; i++) {
        const struct hlo_instruction *at = &module->instructions.items[i];
        for (uint32_t k = 0; k < at->operand_count; k++)
            check(at->operands[k] == HLO_NONE ||
                  (at->operands[k] < i &&
                   module->instructions.items[at->operands[k]].computation == at->computation));
        check(isnan(costs[i].flops) || costs[i].flops >= 0 || at->opcode == HLO_OP_REDUCE ||
              at->callee_count > 0 || at->opcode == HLO_OP_REDUCE_WINDOW);
        check(costs[i].bytes_accessed >= -1);
        out->size = 0;
        hlo_put_expression(out, module, at);
        check(out->size > 0 && hlo_category(at).size + 1 > 0);
    }
    mem_free(costs);
}

static void check_memory(const struct hlo_module *module, struct output *out, int64_t space)
{
    struct hlo_memory memory;
    struct error err;
    out->size = 0;
    if (hlo_memory_read(&memory, module, space, &err)) {
        hlo_memory_json(out, module, &memory);
        for (size_t i = 0; i < memory.heap_bytes.count; i++)
            check(memory.heap_bytes.items[i] <= memory.peak_bytes || memory.peak_bytes == 0);
    }
    hlo_memory_free(&memory);
}

static void check_graph(const struct hlo_module *module, struct output *out, struct text name,
                        uint32_t radius)
{
    struct hlo_graph graph;
    struct error err;
    struct hlo_graph_options options = {
        .name = name, .radius = radius, .most_nodes = 50, .with_bodies = true};
    out->size = 0;
    if (hlo_graph_make(&graph, module, &options, &err)) {
        const struct hlo_graph_edge *edge;
        array_each (edge, &graph.edges)
            check(graph.nodes.items[edge->from].layer < graph.nodes.items[edge->to].layer);
        hlo_graph_json(out, module, &graph);
        hlo_graph_dot(out, module, &graph, &options);
    }
    hlo_graph_free(&graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hlo_module module;
    struct error err;
    struct output out;
    output_memory(&out);
    if (hlo_module_read(&module, data, size, &err)) {
        check_instructions(&module, &out);
        out.size = 0;
        hlo_put_module(&out, &module, size % 2);
        check_memory(&module, &out, 0);
        check_memory(&module, &out, 1);
        check_graph(&module, &out, (struct text){0}, 0);
        if (module.instructions.count > 0) {
            struct text name = module.instructions.items[module.instructions.count / 2].name;
            check_graph(&module, &out, name, 2);
            hlo_neighbors_json(&out, &module, name, &err);
        }
    }
    hlo_module_free(&module);
    output_discard(&out);
    return 0;
}
