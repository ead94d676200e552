/*
 * Reads a module as a whole: parameters, the entry computation, results.
 */
#include "neuron/compiler/hlo/expand.h"
#include "neuron/compiler/hlo/read.h"

#include <stdio.h>

/* Parameters that are shards of arrays have the shard's type, as a core's program has shards only.
 * Errors of the builder get the instruction's name here. */
static void make_parameters(struct expand *expand, struct value *args, struct arena *memory)
{
    const struct typed_computation *entry =
        &expand->module->computations.items[expand->module->entry];
    uint32_t number = 0;
    for (uint32_t i = 0; i < entry->parameter_count; i++) {
        const struct typed_instruction *at = &entry->instructions.items[entry->parameters[i]];
        if (at->shape.kind == SHAPE_UNSUPPORTED) {
            expand_fail(expand, at, "values of type %s are not supported",
                        at->shape.primitive ? typed_shape_primitive(&at->shape)
                                            : "array with more than 8 dimensions");
            return;
        }
        args[i] = expand_make_value(memory, at->shape.leaf_count);
        for (uint32_t k = 0; k < at->shape.leaf_count; k++) {
            char name[32];
            int size = snprintf(name, sizeof name, "input%u", number++);
            bool is_shard = expand->has_parameter_type[i];
            expand->ir->origin = expand_origin(expand, at);
            args[i].leaves[k] =
                ir_parameter(expand->ir, arena_copy_text(&expand->ir->memory, name, (size_t)size),
                             is_shard ? expand->parameter_type[i] : at->shape.leaves[k]);
            if (expand->ir->failed) {
                char text[ERROR_TEXT_SIZE];
                memcpy(text, expand->ir->error.text, sizeof text);
                expand_fail(expand, at, "%s", text);
                return;
            }
        }
    }
}

static void make_outputs(struct ir *ir, const struct value *result)
{
    for (uint32_t i = 0; i < result->count; i++) {
        char name[32];
        int size = snprintf(name, sizeof name, "output%u", i);
        *array_push(&ir->outputs) = (struct ir_output){
            .name = arena_copy_text(&ir->memory, name, (size_t)size), .value = result->leaves[i]};
    }
    if (result->count == 0)
        ir_fail(ir, "the module has no result");
}

/* Shards and ranks come before parameters, whose shapes depend on them. Fails through `ir`;
 * everything but the IR is freed here. */
static void expand_module(struct expand *expand)
{
    struct ir *ir = expand->ir;
    const struct typed_computation *entry =
        &expand->module->computations.items[expand->module->entry];
    struct arena memory = {0};
    struct expand_frame frame = {.computation = entry};
    struct value *args = mem_zeroed(entry->parameter_count + 1, sizeof *args), result = {0};
    *array_push(&expand->scopes) = (struct scope){"", "", 0, 0};
    expand->parameter_type = mem_zeroed(entry->parameter_count + 1, sizeof *expand->parameter_type);
    expand->has_parameter_type = mem_zeroed(entry->parameter_count + 1, sizeof(bool));
    ir->name = arena_copy_text(&ir->memory, expand->module->name.data, expand->module->name.size);
    expand->frame = &frame;
    expand_find_shards(expand);
    if (expand_count_ranks(expand))
        make_parameters(expand, args, &memory);
    expand->frame = NULL;
    if (!ir->failed && expand_computation(expand, &frame, args, &result, &memory))
        make_outputs(ir, &result);
    mem_free(args);
    mem_free(expand->parameter_type);
    mem_free(expand->has_parameter_type);
    arena_free(&memory);
    array_free(&expand->scopes);
    idmap_free(&expand->scope_ids);
    idmap_free(&expand->origin_ids);
    idmap_free(&expand->constants);
}

bool hlo_read(const uint8_t *bytes, size_t size, const char *path, struct ir *ir, struct error *err)
{
    struct typed_module module;
    struct error problem;
    bool ok = typed_module_read(&module, bytes, size, ir, &problem);
    if (ok) {
        struct expand expand = {.ir = ir,
                                .module = &module,
                                .operations = expand_operations,
                                .operation_count = expand_operation_count};
        expand_module(&expand);
        ok = !ir->failed;
        problem = ir->error;
    } else {
        ir_fail(ir, "%s", problem.text);
    }
    typed_module_free(&module);
    return ok || error_in_file(err, path, "%s", problem.text);
}
