/*
 * What costs are computed from: shapes of operands and results, and costs of what is called.
 */
#include "hlo/costs.h"

const struct hlo_shape *operand_shape(const struct hlo_module *module,
                                      const struct hlo_instruction *at, uint32_t index)
{
    static const struct hlo_shape none;
    const struct hlo_instruction *operand = hlo_operand(module, at, index);
    return operand ? &operand->shape : &none;
}

const struct hlo_shape *first_shape(const struct hlo_shape *shape)
{
    while (shape->type == HLO_TUPLE_TYPE && shape->rank > 0)
        shape = &shape->elements[0];
    return shape;
}

const struct cost_sum *cost_of_callee(const struct costing *costing,
                                      const struct hlo_instruction *at, uint32_t index)
{
    if (index >= at->callee_count || at->callees[index] == HLO_NONE ||
        !costing->is_known[at->callees[index]])
        return NULL;
    return &costing->sums[at->callees[index]];
}
