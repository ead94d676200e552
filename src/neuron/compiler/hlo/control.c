/*
 * Calls, loops, conditions, tuples, and calls of functions outside the module.
 */
#include "neuron/compiler/hlo/expand.h"

#include <stdlib.h>

/* Operands as the arguments of a call; free with mem_free. */
static struct value *arguments(const struct expand *expand, const struct typed_instruction *at)
{
    struct value *args = mem_zeroed(at->operand_count + 1U, sizeof *args);
    for (uint32_t i = 0; i < at->operand_count; i++)
        args[i] = expand_operand(expand, at, i);
    return args;
}

void expand_called(struct expand *expand, const struct typed_instruction *at, struct value *result)
{
    if (at->callee_count != 1) {
        expand_fail(expand, at, "it calls %u computations", at->callee_count);
        return;
    }
    struct value *args = arguments(expand, at);
    expand_call(expand, at, at->callees[0], args, at->operand_count, result);
    mem_free(args);
}

/* Whether the condition holds: 1 or 0; -1 if unknown. */
static int condition_of(struct expand *expand, const struct typed_instruction *at,
                        const struct value *state)
{
    struct value test;
    int64_t known;
    if (!expand_call(expand, at, at->callees[1], state, 1, &test))
        return 0;
    if (test.count != 1 || !ir_type_of(expand->ir, test.leaves[0])->is_bool) {
        expand_fail(expand, at, "its condition is not a boolean");
        return 0;
    }
    return fold_integer(expand->ir, test.leaves[0], &known) ? known != 0 : -1;
}

/* The device program has no loops: the body is repeated as often as the file states or, if it does
 * not, while the condition folds to true. EXPAND_STEPS bounds this. */
void expand_while(struct expand *expand, const struct typed_instruction *at, struct value *result)
{
    if (at->callee_count != 2 || expand->frame->lift) {
        expand_fail(expand, at, "a loop without its condition and body");
        return;
    }
    int64_t trips = hlo_trip_count(at->bytes);
    struct value state = expand_operand(expand, at, 0), next;
    for (int64_t i = 0; !expand->ir->failed; i++) {
        if (trips < 0) {
            int test = condition_of(expand, at, &state);
            if (test < 0)
                expand_fail(expand, at,
                            "how often this loop runs is not known before the program runs; its "

                            "condition must compare a counter with constant start, step and end");
            if (test <= 0)
                break;
        } else if (i == trips) {
            break;
        }
        if (!expand_call(expand, at, at->callees[0], &state, 1, &next))
            return;
        if (next.count != state.count) {
            expand_fail(expand, at, "its body changes the number of its values");
            return;
        }
        state = next;
    }
    *result = state;
}

/* All branches are evaluated, and one of their results is selected. */
static void select_branch(struct expand *expand, const struct typed_instruction *at,
                          const struct value *branches, struct value *result)
{
    struct ir *ir = expand->ir;
    uint32_t index = expand_operand(expand, at, 0).leaves[0], last = at->callee_count - 1;
    *result = branches[last];
    for (uint32_t i = last; i-- > 0 && !ir->failed;) {
        uint32_t test = index;
        if (!ir_type_of(ir, index)->is_bool)
            test = ir_with_number(ir, ALU_EQUAL, index, i);
        struct value chosen = expand_make_value(&expand->frame->memory, result->count);
        for (uint32_t k = 0; k < result->count && !ir->failed; k++) {
            if (branches[i].count != result->count) {
                expand_fail(expand, at, "its branches give different types");
                return;
            }
            struct ir_type type = *ir_type_of(ir, result->leaves[k]);
            chosen.leaves[k] =
                ir_select(ir, fold_fill(ir, test, type), branches[i].leaves[k], result->leaves[k]);
        }
        *result = chosen;
    }
}

/* If the index is known, only that branch is expanded; HLO counts an index out of range as the last
 * branch. Otherwise all branches are computed and one result is selected. */
void expand_conditional(struct expand *expand, const struct typed_instruction *at,
                        struct value *result)
{
    uint32_t count = at->callee_count;
    struct value index = expand_operand(expand, at, 0);
    int64_t known;
    if (count < 1 || at->operand_count != count + 1 || index.count != 1 ||
        ir_type_of(expand->ir, index.leaves[0])->rank != 0) {
        expand_fail(expand, at, "its branches do not match its operands");
        return;
    }
    bool is_bool = ir_type_of(expand->ir, index.leaves[0])->is_bool;
    if (is_bool && count != 2) {
        expand_fail(expand, at, "a condition with %u branches", count);
        return;
    }
    if (fold_integer(expand->ir, index.leaves[0], &known)) {
        if (is_bool)
            known = !known;
        uint32_t which = known < 0 || known >= count ? count - 1 : (uint32_t)known;
        struct value arg = expand_operand(expand, at, which + 1);
        expand_call(expand, at, at->callees[which], &arg, 1, result);
        return;
    }
    struct value *branches = mem_zeroed(count, sizeof *branches);
    bool ok = true;
    for (uint32_t i = 0; ok && i < count; i++) {
        struct value arg = expand_operand(expand, at, i + 1);
        ok = expand_call(expand, at, at->callees[i], &arg, 1, &branches[i]);
    }
    if (ok)
        select_branch(expand, at, branches, result);
    mem_free(branches);
}

void expand_tuple(struct expand *expand, const struct typed_instruction *at, struct value *result)
{
    uint32_t count = 0, used = 0;
    for (uint32_t i = 0; i < at->operand_count; i++)
        count += expand_operand(expand, at, i).count;
    *result = expand_make_value(&expand->frame->memory, count);
    for (uint32_t i = 0; i < at->operand_count; i++) {
        struct value operand = expand_operand(expand, at, i);
        for (uint32_t k = 0; k < operand.count; k++)
            result->leaves[used++] = operand.leaves[k];
    }
}

void expand_tuple_element(struct expand *expand, const struct typed_instruction *at,
                          struct value *result)
{
    const struct typed_shape *shape =
        &expand->frame->computation->instructions.items[at->operands[0]].shape;
    struct value operand = expand_operand(expand, at, 0);
    if (shape->kind != SHAPE_TUPLE || at->tuple_index < 0 ||
        at->tuple_index >= shape->element_count) {
        expand_fail(expand, at, "its operand has no such element");
        return;
    }
    uint32_t first = 0, index = (uint32_t)at->tuple_index;
    for (uint32_t i = 0; i < index; i++)
        first += shape->element_leaves[i];
    *result = (struct value){shape->element_leaves[index], operand.leaves + first};
}

void expand_identity(struct expand *expand, const struct typed_instruction *at,
                     struct value *result)
{
    *result = expand_operand(expand, at, 0);
}

void expand_token(struct expand *expand, const struct typed_instruction *at, struct value *result)
{
    (void)at;
    *result = expand_make_value(&expand->frame->memory, 0);
}

/* Calls that say where values are, not what they are. The last four have the shape of a shard on
 * one side and of the whole on the other; the program of one core has shards only. */
static const char *const annotations[] = {
    "Sharding",
    "xla.sdy.FuncResultSharding",
    "xla.sdy.Sharding",
    "annotate_device_placement",
    "MoveToDevice",
    "LayoutConstraint",
    "SPMDFullToShardShape",
    "xla.sdy.GlobalToLocalShape",
    "SPMDShardToFullShape",
    "xla.sdy.LocalToGlobalShape",
};

void expand_custom_call(struct expand *expand, const struct typed_instruction *at,
                        struct value *result)
{
    struct text target = hlo_text(at->bytes, HLO_CUSTOM_CALL_TARGET);
    for (size_t i = 0; i < sizeof annotations / sizeof *annotations; i++)
        if (text_equal(target, text_of(annotations[i]))) {
            expand_tuple(expand, at, result);
            return;
        }
    expand_fail(expand, at, "a call of \"%.*s\" is not supported", (int)(target.size % 200),
                target.data);
}

void expand_find_shards(struct expand *expand)
{
    const struct typed_computation *entry =
        &expand->module->computations.items[expand->module->entry];
    const struct typed_instruction *at;
    array_each (at, &entry->instructions) {
        struct text target = hlo_text(at->bytes, HLO_CUSTOM_CALL_TARGET);
        if (!text_equal(target, TEXT("SPMDFullToShardShape")) &&
            !text_equal(target, TEXT("xla.sdy.GlobalToLocalShape")))
            continue;
        for (uint32_t i = 0; i < at->operand_count && i < at->shape.leaf_count; i++) {
            const struct typed_instruction *from = &entry->instructions.items[at->operands[i]];
            if (typed_is(from, "custom-call") && from->operand_count == 1)
                from = &entry->instructions.items[from->operands[0]];
            if (!typed_is(from, "parameter") || from->shape.kind != SHAPE_ARRAY)
                continue;
            expand->parameter_type[from->parameter] = at->shape.leaves[i];
            expand->has_parameter_type[from->parameter] = true;
        }
    }
}
