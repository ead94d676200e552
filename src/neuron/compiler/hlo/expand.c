/*
 * Evaluates computations instruction by instruction. Operations, which may call computations, are
 * known by their table alone.
 */
#include "neuron/compiler/hlo/expand.h"

#include <stdarg.h>
#include <stdio.h>

uint32_t expand_fail(struct expand *expand, const struct typed_instruction *at, const char *format,
                     ...)
{
    if (expand->ir->failed && expand->is_explained)
        return IR_NONE;
    char text[ERROR_TEXT_SIZE], where[160] = "";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    uint32_t index = expand_origin(expand, at);
    const struct origin *origin = &expand->ir->origins.items[index];
    if (*origin->file)
        snprintf(where, sizeof where, ", from %.100s:%u", origin->file, origin->line);
    expand->ir->failed = false;
    expand->is_explained = true;
    return ir_fail(expand->ir, "instruction %.80s (%.40s%s): %s", origin->operation, origin->opcode,
                   where, text);
}

const struct expand_operation *expand_operation(const struct expand *expand,
                                                const struct typed_instruction *at)
{
    if (at->operation < expand->operation_count)
        return &expand->operations[at->operation];
    for (uint32_t i = 0; i < expand->operation_count; i++)
        if (typed_is(at, expand->operations[i].opcode))
            return &expand->operations[i];
    return NULL;
}

struct value expand_operand(const struct expand *expand, const struct typed_instruction *at,
                            uint32_t index)
{
    return expand->frame->values[at->operands[index]];
}

struct value expand_make_value(struct arena *memory, uint32_t count)
{
    struct value value = {.count = count};
    value.leaves = arena_alloc(memory, (count + 1) * sizeof *value.leaves);
    for (uint32_t i = 0; i <= count; i++)
        value.leaves[i] = IR_NONE;
    return value;
}

/* A builder's result must have the type that the file states. */
static void check_type(struct expand *expand, const struct typed_instruction *at, uint32_t node)
{
    if (expand->ir->failed || node == IR_NONE)
        return;
    const struct ir_type *type = ir_type_of(expand->ir, node);
    const struct ir_type *lift = expand->frame->lift;
    const struct ir_type *shape = lift && at->shape.type.rank == 0 ? lift : &at->shape.type;
    char left[IR_TYPE_TEXT], right[IR_TYPE_TEXT];
    if (!ir_same_shape(type, shape) || type->dtype != at->shape.type.dtype ||
        type->is_bool != at->shape.type.is_bool)
        expand_fail(expand, at, "it gives %s, the file says %s", ir_type_text(type, left),
                    ir_type_text(&at->shape.type, right));
}

/* Handles all operations from arrays to one array. The result's type is compared with the file's,
 * so that a wrong builder cannot go unnoticed. */
static void run_array(struct expand *expand, const struct typed_instruction *at,
                      const struct expand_operation *operation, struct value *result)
{
    ARRAY(uint32_t) args = {0};
    bool ok = at->shape.kind == SHAPE_ARRAY;
    if (!ok)
        expand_fail(expand, at, "its shape is not an array");
    for (uint32_t i = 0; ok && i < at->operand_count; i++) {
        const struct typed_instruction *from =
            &expand->frame->computation->instructions.items[at->operands[i]];
        struct value value = expand_operand(expand, at, i);
        ok = from->shape.kind == SHAPE_ARRAY && value.count == 1;
        if (ok)
            *array_push(&args) = value.leaves[0];
        else
            expand_fail(expand, at, "operand %u is not an array", i);
    }
    if (ok) {
        expand->ir->origin = expand_origin(expand, at);
        *result = expand_make_value(&expand->frame->memory, 1);
        result->leaves[0] = operation->array(expand, at, args.items);
        check_type(expand, at, result->leaves[0]);
    }
    array_free(&args);
}

static bool may_run(struct expand *expand, struct typed_instruction *at,
                    const struct expand_operation *operation)
{
    if (++expand->steps > EXPAND_STEPS || expand->ir->nodes.count > EXPAND_NODES)
        expand_fail(expand, at,
                    "the module is too large: with its calls and loops expanded it has more than "
                    "%d instructions or %d operations",
                    EXPAND_STEPS, EXPAND_NODES);
    else if (at->shape.kind == SHAPE_UNSUPPORTED && at->shape.primitive == 0)
        expand_fail(expand, at, "it has an array of more than %d dimensions", IR_RANK);
    else if (at->shape.kind == SHAPE_UNSUPPORTED)
        expand_fail(expand, at, "values of type %s are not supported",
                    typed_shape_primitive(&at->shape));
    else if (!operation)
        expand_fail(expand, at, "this operation is not supported");
    else if (expand->frame->lift && !operation->is_of_elements)
        expand_fail(expand, at, "not supported in a computation that is applied to elements");
    else if (at->operand_count < operation->least || at->operand_count > operation->most)
        expand_fail(expand, at, "it has %u operands", at->operand_count);
    return !expand->ir->failed;
}

static void run_instruction(struct expand *expand, struct typed_instruction *at,
                            struct value *result)
{
    const struct expand_operation *operation = expand_operation(expand, at);
    if (operation)
        at->operation = (uint32_t)(operation - expand->operations);
    if (!may_run(expand, at, operation))
        return;
    if (operation->array) {
        run_array(expand, at, operation, result);
    } else {
        expand->ir->origin = expand_origin(expand, at);
        operation->value(expand, at, result);
    }
    if (!expand->ir->failed && result->count != at->shape.leaf_count)
        expand_fail(expand, at, "it gives %u arrays, the file says %u", result->count,
                    at->shape.leaf_count);
    /* A builder's message says what is wrong, not where. */
    if (expand->ir->failed && !expand->is_explained) {
        char text[ERROR_TEXT_SIZE];
        memcpy(text, expand->ir->error.text, sizeof text);
        expand_fail(expand, at, "%s", text);
    }
}

/* The values of a frame die with it; only the result is copied to the caller's memory. Instructions
 * the result does not depend on are skipped. */
bool expand_computation(struct expand *expand, struct expand_frame *frame, const struct value *args,
                        struct value *result, struct arena *memory)
{
    const struct typed_computation *computation = frame->computation;
    struct expand_frame *caller = expand->frame;
    expand->frame = frame;
    frame->values = mem_zeroed(computation->instructions.count, sizeof *frame->values);
    for (size_t i = 0; i <= computation->root && !expand->ir->failed; i++) {
        struct typed_instruction *at = &computation->instructions.items[i];
        if (!at->is_needed)
            continue;
        if (typed_is(at, "parameter"))
            frame->values[i] = args[at->parameter];
        else
            run_instruction(expand, at, &frame->values[i]);
    }
    if (!expand->ir->failed) {
        const struct value *root = &frame->values[computation->root];
        *result = expand_make_value(memory, root->count);
        if (root->count > 0)
            memcpy(result->leaves, root->leaves, root->count * sizeof *root->leaves);
    }
    mem_free(frame->values);
    arena_free(&frame->memory);
    expand->frame = caller;
    return !expand->ir->failed;
}

/* Recursion is bounded by EXPAND_DEPTH, since a file may contain computations that call themselves.
 * Arguments are checked by their number of arrays; types are checked where they are used. */
static bool call(struct expand *expand, const struct typed_instruction *at, uint32_t callee,
                 const struct value *args, uint32_t count, const struct ir_type *lift,
                 struct value *result)
{
    const struct typed_computation *computation = &expand->module->computations.items[callee];
    if (expand->ir->failed)
        return false;
    if (expand->depth >= EXPAND_DEPTH)
        expand_fail(expand, at, "calls are nested more than %d deep", EXPAND_DEPTH);
    else if (computation->parameter_count != count)
        expand_fail(expand, at, "it calls a computation of %u parameters with %u",
                    computation->parameter_count, count);
    for (uint32_t i = 0; !expand->ir->failed && i < count; i++) {
        uint32_t leaves =
            computation->instructions.items[computation->parameters[i]].shape.leaf_count;
        if (args[i].count != leaves)
            expand_fail(expand, at,
                        "operand %u does not match the parameter of the computation it calls", i);
    }
    if (expand->ir->failed)
        return false;
    struct expand_frame frame = {
        .computation = computation, .lift = lift, .scope = expand_scope(expand, at)};
    expand->depth++;
    bool ok = expand_computation(expand, &frame, args, result, &expand->frame->memory);
    expand->depth--;
    expand->ir->origin = ok ? expand_origin(expand, at) : 0;
    return ok;
}

bool expand_call(struct expand *expand, const struct typed_instruction *at, uint32_t callee,
                 const struct value *args, uint32_t count, struct value *result)
{
    return call(expand, at, callee, args, count, expand->frame->lift, result);
}

bool expand_apply(struct expand *expand, const struct typed_instruction *at, uint32_t callee,
                  const uint32_t *args, uint32_t count, struct value *result)
{
    if (!ir_usable(expand->ir, count, args) || count == 0)
        return false;
    struct ir_type shape = *ir_type_of(expand->ir, args[0]);
    struct value values[2 * IR_RANK];
    uint32_t leaves[2 * IR_RANK];
    if (count > 2 * IR_RANK) {
        expand_fail(expand, at, "it reduces more than %d arrays", IR_RANK);
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        leaves[i] = args[i];
        values[i] = (struct value){1, &leaves[i]};
    }
    return call(expand, at, callee, values, count, &shape, result);
}
