/*
 * HLO: the compiled programs that XLA stores in a profile, with their texts and costs.
 */
#include "import/hlo.h"

#include "hlo/hlo.h"

static uint32_t static_string(struct catalog *catalog, const char *text)
{
    return text ? catalog_string(catalog, text_of(text)) : STRING_NONE;
}

static uint32_t told_shape(struct catalog *catalog, struct output *scratch,
                           const struct hlo_instruction *at)
{
    scratch->size = 0;
    hlo_put_shape(scratch, &at->shape, true);
    return catalog_string(catalog, (struct text){scratch->data, scratch->size});
}

static uint32_t told_expression(struct catalog *catalog, struct output *scratch,
                                const struct hlo_module *module, const struct hlo_instruction *at)
{
    scratch->size = 0;
    hlo_put_expression(scratch, module, at);
    return catalog_string(catalog, (struct text){scratch->data, scratch->size});
}

static void add_relations(struct catalog *catalog, struct program *program,
                          const struct hlo_module *module, const struct hlo_instruction *at,
                          struct operation *op)
{
    op->first_operand = (uint32_t)program->operands.count;
    op->first_callee = (uint32_t)program->callees.count;
    for (uint32_t i = 0; i < at->operand_count; i++)
        if (at->operands[i] != HLO_NONE)
            *array_push(&program->operands) = at->operands[i];
    for (uint32_t i = 0; i < at->callee_count; i++) {
        const struct hlo_computation *callee = hlo_callee(module, at, i);
        if (callee)
            *array_push(&program->callees) = catalog_string(catalog, callee->name);
    }
    op->operand_count = (uint32_t)program->operands.count - op->first_operand;
    op->callee_count = (uint32_t)program->callees.count - op->first_callee;
}

/* Texts go to the catalog, which owns them: the module is freed after the import. */
static void add_operation(struct catalog *catalog, struct program *program,
                          const struct hlo_module *module, const struct hlo_instruction *at,
                          const struct hlo_cost *cost, struct output *scratch)
{
    const struct hlo_computation *computation = &module->computations.items[at->computation];
    struct operation *op = array_push(&program->operations);
    *op = (struct operation){
        .name = catalog_string(catalog, at->name),
        .opcode = catalog_string(catalog, at->opcode_name),
        .op_name = catalog_string(catalog, at->op_name),
        .computation = catalog_string(catalog, computation->name),
        .file = catalog_string(catalog, at->file),
        .line = at->line,
        .frame = at->frame,
        .category = catalog_string(catalog, hlo_category(at)),
        .shape = told_shape(catalog, scratch, at),
        .expression = told_expression(catalog, scratch, module, at),
        .compute_type = static_string(catalog, cost->compute_type),
        .flops = cost->flops,
        .matrix_flops = cost->matrix_flops,
        .xprof_flops = cost->xla_flops,
        .bytes_accessed = cost->bytes_accessed,
        .bytes_read = cost->bytes_read,
        .bytes_written = cost->bytes_written,
        .schedule_index = at->schedule_index,
        .is_fused = computation->is_fused,
    };
    add_relations(catalog, program, module, at, op);
}

static void add_frames(struct catalog *catalog, struct program *program,
                       const struct hlo_module *module)
{
    const struct hlo_frame *frame;
    array_each (frame, &module->frames)
        *array_push(&program->frames) = (struct stack_frame){
            .file = catalog_string(catalog, frame->file),
            .function = catalog_string(catalog, frame->function),
            .line = frame->line,
            .column = frame->column,
            .parent = frame->parent,
        };
}

/* XLA names a kernel after its operation, with '_' for characters not allowed in a symbol. */
static uint32_t kernel_name(struct catalog *catalog, uint32_t name)
{
    struct text text = catalog_text(catalog, name);
    char *copy = mem_copy_text(text.data, text.size);
    for (size_t i = 0; i < text.size; i++)
        if (copy[i] == '.' || copy[i] == '-')
            copy[i] = '_';
    uint32_t string = catalog_string(catalog, (struct text){copy, text.size});
    mem_free(copy);
    return string;
}

void hlo_index(struct catalog *catalog, struct program *program)
{
    catalog->operation_count += program->operations.count;
    for (uint32_t i = 0; i < program->operations.count; i++) {
        struct operation *op = &program->operations.items[i];
        if (op->frame > program->frames.count)
            op->frame = 0;
        if (op->file == STRING_NONE && op->frame > 0) {
            op->file = program->frames.items[op->frame - 1].file;
            op->line = program->frames.items[op->frame - 1].line;
        }
        idmap_put(&program->by_name, op->name, i);
        uint32_t kernel = kernel_name(catalog, op->name);
        if (idmap_get(&program->by_kernel_name, kernel) == IDMAP_NONE)
            idmap_put(&program->by_kernel_name, kernel, i);
    }
}

/* A malformed module adds nothing and is not an error of the capture: the caller reports it as a
 * message. The module is freed in either case. */
bool hlo_import(struct catalog *catalog, uint32_t host, uint32_t label, uint64_t id,
                const uint8_t *data, size_t size)
{
    struct program program = {
        .host = host, .label = label, .id = id, .proto = {(const char *)data, size}};
    struct hlo_module module;
    struct error ignored;
    bool ok = hlo_module_read(&module, data, size, &ignored);
    if (ok) {
        struct hlo_cost *costs = hlo_costs(&module);
        struct output scratch;
        output_memory(&scratch);
        program.name = catalog_string(catalog, module.name);
        for (size_t i = 0; i < module.instructions.count; i++)
            add_operation(catalog, &program, &module, &module.instructions.items[i], &costs[i],
                          &scratch);
        add_frames(catalog, &program, &module);
        hlo_index(catalog, &program);
        *array_push(&catalog->programs) = program;
        output_discard(&scratch);
        mem_free(costs);
    }
    hlo_module_free(&module);
    return ok;
}
