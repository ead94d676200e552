/*
 * Event types of device profiles: instructions by opcode and origin, transfers by variable,
 * collectives by operation.
 */
#include "import/ntff/device_source.h"

#include <stdio.h>

static uint32_t add_type(struct catalog *catalog, const char *name, const struct arg *args,
                         size_t count)
{
    *array_push(&catalog->types) =
        (struct event_type){.name = catalog_string(catalog, text_of(name)),
                            .args = catalog_keep_args(catalog, args, count)};
    return (uint32_t)catalog->types.count - 1;
}

static void put_text(struct catalog *catalog, struct arg *args, size_t *count, const char *key,
                     const char *value)
{
    if (!value || !value[0])
        return;
    args[(*count)++] = (struct arg){.key = catalog_string(catalog, text_of(key)),
                                    .type = ARG_STRING,
                                    .string = catalog_string(catalog, text_of(value))};
}

static uint32_t instruction_type(struct catalog *catalog, const struct core_program *program,
                                 const struct instruction *code)
{
    struct arg args[5];
    size_t count = 0;
    if (code->origin != NO_INDEX) {
        const struct origin *origin = &program->origins[code->origin];
        char place[512] = "";
        if (origin->file[0])
            snprintf(place, sizeof place, "%.480s:%u", origin->file, origin->line);
        put_text(catalog, args, &count, "layer", origin->layer);
        put_text(catalog, args, &count, "hlo_name", origin->operation);
        put_text(catalog, args, &count, "hlo_opcode", origin->opcode);
        put_text(catalog, args, &count, "framework_op", origin->framework);
        put_text(catalog, args, &count, "source", place);
    }
    return add_type(catalog, opcode_name((enum opcode)code->opcode), args, count);
}

/* One type for each opcode and origin that occur together. */
static void make_instruction_types(struct device_source *source, uint32_t number)
{
    struct catalog *catalog = &source->source.catalog;
    const struct core_program *program = source->cores.items[number].profile->program;
    struct idmap known = {0};
    for (unsigned e = 0; e < ENGINE_COUNT; e++) {
        uint32_t *types = mem_alloc((size_t)program->code_count[e] * sizeof *types);
        for (uint32_t i = 0; i < program->code_count[e]; i++) {
            const struct instruction *code = &program->code[e][i];
            uint64_t key = (uint64_t)code->opcode << 32 | code->origin;
            types[i] = idmap_get(&known, key);
            if (types[i] == IDMAP_NONE) {
                types[i] = instruction_type(catalog, program, code);
                idmap_put(&known, key, types[i]);
            }
        }
        source->types[number].instructions[e] = types;
    }
    idmap_free(&known);
}

static void make_variable_types(struct device_source *source, uint32_t number)
{
    static const char *const kinds[] = {"input", "output", "weight", "scratchpad"};
    struct catalog *catalog = &source->source.catalog;
    const struct core_program *program = source->cores.items[number].profile->program;
    uint32_t count = program->variable_count;
    uint32_t *types = mem_alloc(((size_t)count + 1) * sizeof *types);
    for (uint32_t i = 0; i < count; i++) {
        struct arg args[2];
        size_t arg_count = 0;
        put_text(catalog, args, &arg_count, "kind", kinds[program->variables[i].kind]);
        put_text(catalog, args, &arg_count, "layer", program->variables[i].layer);
        types[i] = add_type(catalog, program->variables[i].name, args, arg_count);
    }
    types[count] = add_type(catalog, "on-chip copy", NULL, 0);
    source->types[number].variables = types;
}

static void make_collective_types(struct device_source *source, uint32_t number)
{
    struct catalog *catalog = &source->source.catalog;
    const struct core_program *program = source->cores.items[number].profile->program;
    uint32_t *types = mem_alloc((size_t)program->collective_count * sizeof *types);
    for (uint32_t i = 0; i < program->collective_count; i++) {
        const struct collective *item = &program->collectives[i];
        struct arg args[3] = {
            catalog_int_arg(catalog, TEXT("input_bytes"), (int64_t)item->input_bytes),
            catalog_int_arg(catalog, TEXT("output_bytes"), (int64_t)item->output_bytes)};
        size_t count = 2;
        put_text(catalog, args, &count, "dtype", dtype_name((enum dtype)item->dtype));
        types[i] = add_type(catalog, device_collective_name((enum collective_kind)item->kind), args,
                            count);
    }
    source->types[number].collectives = types;
}

static void make_other_types(struct device_source *source, uint32_t number)
{
    struct catalog *catalog = &source->source.catalog;
    struct core_types *types = &source->types[number];
    const struct device_core *core = &source->cores.items[number];
    for (unsigned i = 0; i <= STEP_DMA_ADVANCE; i++)
        types->steps[i] = add_type(catalog, device_step_name((enum collective_step)i), NULL, 0);
    for (unsigned i = 0; i < sizeof types->errors / sizeof *types->errors; i++)
        types->errors[i] = add_type(catalog, device_error_name((enum error_kind)i), NULL, 0);
    for (unsigned i = 0; i <= THROTTLE_ACTIVITY_1; i++)
        types->throttles[i] =
            add_type(catalog, device_throttle_name((enum throttle_kind)i), NULL, 0);
    types->lanes = mem_zeroed(core->lanes.count, sizeof *types->lanes);
    for (uint32_t i = 0; i < core->lanes.count; i++) {
        char name[256];
        uint8_t kind = core->lanes.items[i].kind;
        if (kind != DEVICE_LANE_SERIES && kind != DEVICE_LANE_SEMAPHORE)
            continue;
        device_lane_name(core, i, name, sizeof name);
        types->lanes[i] = add_type(catalog, name, NULL, 0);
    }
}

void make_types(struct device_source *source, uint32_t core)
{
    make_instruction_types(source, core);
    make_variable_types(source, core);
    make_collective_types(source, core);
    make_other_types(source, core);
}

void free_types(struct core_types *types)
{
    for (unsigned e = 0; e < ENGINE_COUNT; e++)
        mem_free(types->instructions[e]);
    mem_free(types->variables);
    mem_free(types->collectives);
    mem_free(types->lanes);
}
