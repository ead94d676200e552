/*
 * Operands of an operation of a graph: how many there are, and that two have the same shape.
 */
#include "neuron/compiler/graph.h"

bool takes(struct graph *graph, uint32_t low, uint32_t high)
{
    if (graph->ir->failed)
        return false;
    if (graph->arg_count >= low && graph->arg_count <= high)
        return true;
    if (low == high)
        ir_fail(graph->ir, "it has %u operand%s, not %u", graph->arg_count,
                graph->arg_count == 1 ? "" : "s", low);
    else
        ir_fail(graph->ir, "it has %u operand%s, not %u to %u", graph->arg_count,
                graph->arg_count == 1 ? "" : "s", low, high);
    return false;
}

void broadcast_pair(struct graph *graph, uint32_t *a, uint32_t *b)
{
    struct ir *ir = graph->ir;
    if (ir->failed)
        return;
    struct ir_type left = *ir_type_of(ir, *a), right = *ir_type_of(ir, *b);
    struct ir_type shape = left.rank >= right.rank ? left : right;
    const struct ir_type *shorter = left.rank >= right.rank ? &right : &left;
    for (uint32_t i = 0; i < shorter->rank; i++) {
        uint32_t at = shape.rank - shorter->rank + i;
        if (shape.size[at] == 1)
            shape.size[at] = shorter->size[i];
    }
    *a = ir_broadcast_to(ir, *a, shape);
    *b = ir_broadcast_to(ir, *b, shape);
}
