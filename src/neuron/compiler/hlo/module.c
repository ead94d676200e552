/*
 * From an HLO module as in the file to one in the compiler's types: modules with anything missing
 * or out of order are refused.
 */
#include "neuron/compiler/hlo/module.h"

static bool fail_at(struct error *err, struct text name, const char *problem)
{
    return error_set(err, "instruction %.*s%s", (int)name.size, name.data, problem);
}

static bool type_operands(struct typed_module *module, const struct hlo_instruction *from,
                          struct typed_instruction *to, struct error *err)
{
    uint32_t first = module->hlo.computations.items[from->computation].first;
    to->operand_count = from->operand_count;
    if (to->operand_count > 0)
        to->operands = arena_alloc(&module->memory, to->operand_count * sizeof *to->operands);
    for (uint32_t i = 0; i < to->operand_count; i++) {
        if (from->operands[i] == HLO_NONE)
            return error_set(err,
                             "instruction %.*s: operand %u is not an earlier instruction of its "
                             "computation",
                             (int)to->name.size, to->name.data, i);
        to->operands[i] = from->operands[i] - first;
    }
    return true;
}

/* Names and lists still point into the file's module, which lives inside the typed one. References
 * that lead nowhere are refused here, so that later code need not check. */
static bool type_instruction(struct typed_module *module, const struct hlo_instruction *from,
                             struct typed_instruction *to, struct error *err)
{
    *to = (struct typed_instruction){
        .name = from->name,
        .opcode = from->opcode_name,
        .op_name = from->op_name,
        .file = from->file,
        .line = from->line,
        .frame = from->frame,
        .index = (uint32_t)(from - module->hlo.instructions.items),
        .callee_count = from->callee_count,
        .callees = from->callees,
        .dimension_count = from->dimension_count,
        .dimensions = from->dimensions,
        .parameter = from->parameter,
        .tuple_index = from->tuple_index,
        .bytes = from->bytes,
        .operation = IR_NONE,
    };
    if (!typed_shape_of(&module->memory, &from->shape, &to->shape))
        return fail_at(err, to->name, ": its shape is invalid");
    for (uint32_t i = 0; i < to->callee_count; i++)
        if (to->callees[i] == HLO_NONE)
            return fail_at(err, to->name, " calls a computation that does not exist");
    return type_operands(module, from, to, err);
}

static bool collect_parameters(struct typed_module *module, struct typed_computation *computation,
                               struct error *err)
{
    const struct typed_instruction *at;
    uint32_t count = 0;
    array_each (at, &computation->instructions)
        count += typed_is(at, "parameter");
    computation->parameter_count = count;
    computation->parameters =
        arena_alloc(&module->memory, (count + 1) * sizeof *computation->parameters);
    for (uint32_t i = 0; i < count; i++)
        computation->parameters[i] = IR_NONE;
    array_each (at, &computation->instructions) {
        if (!typed_is(at, "parameter"))
            continue;
        if (at->parameter < 0 || at->parameter >= count ||
            computation->parameters[at->parameter] != IR_NONE)
            return error_set(err, "computation %.*s: its parameters are not numbered from 0 on",
                             (int)computation->name.size, computation->name.data);
        computation->parameters[at->parameter] = (uint32_t)(at - computation->instructions.items);
    }
    return true;
}

static void mark_needed(struct typed_computation *computation)
{
    struct typed_instruction *items = computation->instructions.items;
    items[computation->root].is_needed = true;
    for (size_t i = computation->root + 1; i-- > 0;)
        for (uint32_t k = 0; items[i].is_needed && k < items[i].operand_count; k++)
            items[items[i].operands[k]].is_needed = true;
}

static bool type_computation(struct typed_module *module, const struct hlo_computation *from,
                             struct error *err)
{
    struct typed_computation *to = array_push(&module->computations);
    *to = (struct typed_computation){.name = from->name};
    for (uint32_t i = 0; i < from->count; i++)
        if (!type_instruction(module, &module->hlo.instructions.items[from->first + i],
                              array_push(&to->instructions), err))
            return false;
    if (from->root == HLO_NONE)
        return error_set(err, "computation %.*s has no result", (int)to->name.size, to->name.data);
    if (!collect_parameters(module, to, err))
        return false;
    to->root = from->root - from->first;
    mark_needed(to);
    return true;
}

static void keep_frames(const struct hlo_module *module, struct ir *ir)
{
    for (size_t i = 0; i < module->frames.count; i++) {
        const struct hlo_frame *frame = &module->frames.items[i];
        /* A parent comes before its children, so that there are no cycles. */
        *array_push(&ir->frames) = (struct source_frame){
            .file = arena_copy_text(&ir->memory, frame->file.data, frame->file.size),
            .function = arena_copy_text(&ir->memory, frame->function.data, frame->function.size),
            .line = frame->line,
            .column = frame->column,
            .parent = frame->parent <= i ? frame->parent : 0,
        };
    }
}

bool typed_module_read(struct typed_module *module, const uint8_t *bytes, size_t size,
                       struct ir *ir, struct error *err)
{
    memset(module, 0, sizeof *module);
    if (!hlo_module_read(&module->hlo, bytes, size, err))
        return false;
    module->name = module->hlo.name;
    module->entry = module->hlo.entry;
    module->instruction_count = (uint32_t)module->hlo.instructions.count;
    keep_frames(&module->hlo, ir);
    const struct hlo_computation *computation;
    array_each (computation, &module->hlo.computations)
        if (!type_computation(module, computation, err))
            return false;
    return module->entry != HLO_NONE || error_set(err, "the module has no entry computation");
}

void typed_module_free(struct typed_module *module)
{
    struct typed_computation *computation;
    array_each (computation, &module->computations)
        array_free(&computation->instructions);
    array_free(&module->computations);
    arena_free(&module->memory);
    hlo_module_free(&module->hlo);
}
