/*
 * Fusions: how much of each instruction in the body is needed, and what that costs. From the result
 * backward, the share of an instruction's elements that is used is the sum of the shares of its
 * uses. Elementwise uses at the same place share one computation of the element: they are
 * identified by their "roots", the first instructions whose elements are at other places.
 */
#include "hlo/costs.h"

#include <math.h>

enum { MOST_ROOTS = 64 }; /* of one instruction; with more, it is its own root */

/* What the result needs of an instruction. */
struct need {
    double share;    /* of its elements, more than 1 when some are computed again */
    double as_root;  /* the part due to uses at other places */
    uint32_t *roots; /* sorted */
    uint32_t root_count;
    bool is_collapsed; /* it had too many roots */
};

struct body {
    const struct hlo_module *module;
    const struct hlo_computation *computation;
    const struct hlo_instruction *first, *root;
    struct need *needs;
};

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static bool is_written_slice(const struct body *body, const struct hlo_instruction *at)
{
    if (at->opcode != HLO_OP_DYNAMIC_UPDATE_SLICE)
        return false;
    if (at == body->root)
        return true;
    for (uint32_t i = 0; body->root->opcode == HLO_OP_TUPLE && i < body->root->operand_count; i++)
        if (hlo_operand(body->module, body->root, i) == at)
            return true;
    return false;
}

/* The share of an operand's elements that an instruction needs for all of its own. */
static double operand_share(const struct body *body, const struct hlo_instruction *at,
                            uint32_t index)
{
    const struct hlo_shape *operand = operand_shape(body->module, at, index);
    double elements = shape_elements(&at->shape);
    switch (at->opcode) {
    case HLO_OP_SLICE:
    case HLO_OP_DYNAMIC_SLICE:
    case HLO_OP_GATHER:
        return index == 0 ? ratio(elements, shape_elements(operand)) : 1;
    case HLO_OP_DYNAMIC_UPDATE_SLICE:
        if (index != 0)
            return 1;
        return is_written_slice(body, at)
                   ? 0
                   : ratio(elements - shape_elements(operand_shape(body->module, at, 1)), elements);
    default:
        return 1;
    }
}

static void add_roots(struct arena *memory, struct need *to, const struct need *from)
{
    uint32_t *merged = arena_alloc(memory, (to->root_count + from->root_count) * sizeof *merged);
    uint32_t i = 0, k = 0, count = 0;
    while (i < to->root_count || k < from->root_count) {
        uint32_t a = i < to->root_count ? to->roots[i] : UINT32_MAX;
        uint32_t b = k < from->root_count ? from->roots[k] : UINT32_MAX;
        merged[count++] = a < b ? a : b;
        i += a <= b;
        k += b <= a;
    }
    to->roots = merged;
    to->root_count = count;
}

static void be_root(struct arena *memory, struct need *need, uint32_t number)
{
    add_roots(memory, need, &(struct need){.roots = &number, .root_count = 1});
}

/* Uses at the same place. */
static void use_alike(struct arena *memory, struct need *needs, uint32_t operand,
                      const struct need *user)
{
    struct need *need = &needs[operand];
    if (!need->is_collapsed && need->root_count + user->root_count <= MOST_ROOTS) {
        if (need->root_count != user->root_count ||
            (need->root_count > 0 &&
             memcmp(need->roots, user->roots, need->root_count * sizeof *need->roots) != 0))
            add_roots(memory, need, user);
        return;
    }
    if (!need->is_collapsed) {
        double before = 0;
        for (uint32_t i = 0; i < need->root_count; i++)
            before += needs[need->roots[i]].as_root;
        need->as_root = before;
        need->root_count = 0;
        be_root(memory, need, operand);
        need->is_collapsed = true;
    }
    need->as_root += user->share;
}

static void use_operands(struct costing *costing, const struct body *body,
                         const struct hlo_instruction *at)
{
    const struct need *need = &body->needs[at - body->first];
    bool is_alike = hlo_is_elementwise(at) || at->opcode == HLO_OP_TUPLE ||
                    at->opcode == HLO_OP_GET_TUPLE_ELEMENT;
    for (uint32_t i = 0; i < at->operand_count; i++) {
        if (at->operands[i] == HLO_NONE)
            continue;
        uint32_t operand = at->operands[i] - body->computation->first;
        if (is_alike) {
            use_alike(&costing->memory, body->needs, operand, need);
            continue;
        }
        double elements = shape_elements(operand_shape(costing->module, at, i));
        double share = need->share * operand_share(body, at, i);
        be_root(&costing->memory, &body->needs[operand], operand);
        /* Whole elements. */
        body->needs[operand].as_root += elements > 0 ? ceil(share * elements) / elements : 0;
    }
}

static void find_needs(struct costing *costing, const struct body *body)
{
    uint32_t root = (uint32_t)(body->root - body->first);
    body->needs[root].as_root = 1;
    be_root(&costing->memory, &body->needs[root], root);
    for (uint32_t i = body->computation->count; i-- > 0;) {
        struct need *need = &body->needs[i];
        for (uint32_t k = 0; k < need->root_count; k++)
            need->share += body->needs[need->roots[k]].as_root;
        use_operands(costing, body, &body->first[i]);
    }
}

static int64_t part_of(int64_t bytes, double share)
{
    return share >= 1 ? bytes : (int64_t)((double)bytes * share);
}

static int64_t bytes_read(const struct body *body)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < body->computation->count; i++) {
        const struct hlo_instruction *at = &body->first[i];
        const struct hlo_instruction *operand = hlo_operand(body->module, at, 0);
        bool is_read = (at->opcode == HLO_OP_PARAMETER && at->shape.type != HLO_TUPLE_TYPE) ||
                       (at->opcode == HLO_OP_CONSTANT && hlo_elements(&at->shape) > 1) ||
                       (at->opcode == HLO_OP_GET_TUPLE_ELEMENT && operand &&
                        operand->opcode == HLO_OP_PARAMETER);
        if (is_read)
            sum = add_saturated(sum, part_of(hlo_bytes(&at->shape, 8), body->needs[i].share));
    }
    return sum;
}

static int64_t bytes_written(const struct body *body)
{
    const struct hlo_instruction *root = body->root;
    if (root->opcode != HLO_OP_TUPLE)
        return root->opcode == HLO_OP_DYNAMIC_UPDATE_SLICE
                   ? hlo_bytes(operand_shape(body->module, root, 1), 8)
                   : hlo_bytes(&root->shape, 0);
    int64_t sum = 0;
    for (uint32_t i = 0; i < root->operand_count; i++) {
        const struct hlo_instruction *at = hlo_operand(body->module, root, i);
        if (at)
            sum = add_saturated(sum, at->opcode == HLO_OP_DYNAMIC_UPDATE_SLICE
                                         ? hlo_bytes(operand_shape(body->module, at, 1), 8)
                                         : hlo_bytes(&at->shape, 0));
    }
    return sum;
}

/* Needed elements are counted once, even if a kernel recomputes them. */
static void add_flops(const struct costing *costing, const struct body *body, struct hlo_cost *cost)
{
    double largest = 0;
    cost->flops = cost->matrix_flops = cost->xla_flops = 0;
    for (uint32_t i = 0; i < body->computation->count; i++) {
        const struct hlo_cost *from = &costing->costs[body->computation->first + i];
        double share = body->needs[i].share, once = share < 1 ? share : 1;
        if (share == 0)
            continue;
        cost->xla_flops += share * from->xla_flops;
        cost->flops += once * from->flops;
        cost->matrix_flops += once * from->matrix_flops;
        if (once * from->matrix_flops > largest) {
            largest = once * from->matrix_flops;
            cost->compute_type = from->compute_type;
        }
    }
}

/* In a custom fusion around a gather or scatter, XLA counts only that instruction. */
static const struct hlo_cost *custom_core(const struct costing *costing, const struct body *body,
                                          const struct hlo_instruction *fusion)
{
    if (!text_equal(hlo_text(fusion->bytes, HLO_FUSION_KIND), TEXT("kCustom")))
        return NULL;
    for (uint32_t i = 0; i < body->computation->count; i++)
        if (body->first[i].opcode == HLO_OP_GATHER || body->first[i].opcode == HLO_OP_SCATTER)
            return &costing->costs[body->computation->first + i];
    return NULL;
}

void cost_fusion(struct costing *costing, const struct hlo_instruction *at, struct hlo_cost *cost)
{
    const struct hlo_computation *computation = hlo_callee(costing->module, at, 0);
    const struct hlo_instruction *root = hlo_root(costing->module, computation);
    if (!root || !cost_of_callee(costing, at, 0))
        return;
    struct body body = {
        .module = costing->module,
        .computation = computation,
        .first = &costing->module->instructions.items[computation->first],
        .root = root,
        .needs = mem_zeroed(computation->count, sizeof *body.needs),
    };
    find_needs(costing, &body);
    add_flops(costing, &body, cost);
    cost->bytes_read = bytes_read(&body);
    cost->bytes_written = bytes_written(&body);
    const struct hlo_cost *core = custom_core(costing, &body, at);
    if (core)
        cost->xla_flops = core->xla_flops;
    mem_free(body.needs);
    arena_free(&costing->memory);
}
