/*
 * The program of a NEFF: the Sync engine triggers collectives, each when the one before it on the
 * same channel is complete. Parts of an operation have channels of their own and run at once.
 */
#include "neuron/run/nccom/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct maker {
    const struct plan *plan;
    const struct plan_neff *neff;
    struct core_program program;
    uint32_t *first_variable; /* of each part; input and output of each buffer follow each other */
    struct arena arena;
};

/* ---- Variables ----------------------------------------------------------------------------- */

static void add_variable(struct maker *maker, size_t part, uint64_t buffer, bool is_output)
{
    const struct plan_part *item = &maker->plan->parts[part];
    uint64_t size = is_output ? item->output_bytes : item->input_bytes;
    char *name = arena_alloc(&maker->arena, PLAN_NAME);
    plan_buffer_name(maker->plan, is_output, part, buffer, name);
    maker->program.variables[maker->program.variable_count++] =
        (struct variable){.name = name,
                          .kind = is_output ? VARIABLE_OUTPUT : VARIABLE_INPUT,
                          .dtype = (uint8_t)item->dtype,
                          .rank = 1,
                          .shape = {(uint32_t)(size / dtype_bytes(item->dtype))},
                          .size = size,
                          .layer = ""};
}

static void make_variables(struct maker *maker)
{
    const struct plan *plan = maker->plan;
    size_t count = 0;
    for (size_t i = 0; i < plan->part_count; i++)
        count += 2 * plan_buffers(plan, maker->neff, i);
    maker->program.variables = arena_alloc(&maker->arena, count * sizeof *maker->program.variables);
    maker->first_variable =
        arena_alloc(&maker->arena, plan->part_count * sizeof *maker->first_variable);
    for (size_t i = 0; i < plan->part_count; i++) {
        maker->first_variable[i] = maker->program.variable_count;
        for (uint64_t k = 0; k < plan_buffers(plan, maker->neff, i); k++) {
            add_variable(maker, i, k, false);
            add_variable(maker, i, k, true);
        }
    }
}

/* ---- Collectives --------------------------------------------------------------------------- */

static uint64_t buffer_of(const struct maker *maker, const struct plan_place *place)
{
    const struct plan *plan = maker->plan;
    const struct nccom_stream *stream = &plan->nccom->streams[plan->parts[place->part].stream];
    return plan->nccom->unique_buffers ? place->iteration * stream->ops_per_iter + place->repeat
                                       : 0;
}

static void add_collective(struct maker *maker, const struct plan_place *place)
{
    const struct plan_part *part = &maker->plan->parts[place->part];
    uint32_t input = maker->first_variable[place->part] + 2 * (uint32_t)buffer_of(maker, place);
    maker->program.collectives[maker->program.collective_count++] =
        (struct collective){.kind = (uint8_t)part->kind,
                            .dtype = (uint8_t)part->dtype,
                            .alu = ALU_ADD,
                            .semaphore = (uint16_t)place->part,
                            .increment = 1,
                            .input = input,
                            .output = input + 1,
                            .input_bytes = part->input_bytes,
                            .output_bytes = part->output_bytes,
                            .group_size = part->groups.count > 0 ? part->groups.size : 0,
                            .group_count = part->groups.count,
                            .members = part->groups.ranks,
                            .channel = (uint32_t)place->part,
                            .move_count = part->move_count,
                            .moves = part->moves};
}

static uint32_t add_origin(struct maker *maker, const struct plan_place *place, uint64_t number)
{
    const char *op = nccom_op_name(maker->plan->parts[place->part].op);
    enum { SIZE = 64 };
    char *layer = arena_alloc(&maker->arena, SIZE), *name = arena_alloc(&maker->arena, SIZE);
    snprintf(layer, SIZE, "/%s/iteration%" PRIu64, op, place->iteration);
    snprintf(name, SIZE, "%s.%" PRIu64, op, number);
    maker->program.origins[maker->program.origin_count] = (struct origin){
        .layer = layer, .operation = name, .opcode = op, .framework = "", .file = ""};
    return maker->program.origin_count++;
}

/* ---- Code ---------------------------------------------------------------------------------- */

static struct instruction *add_instruction(struct core_program *program, enum opcode opcode,
                                           uint32_t index, uint32_t origin)
{
    struct instruction *item = &program->code[ENGINE_SYNC][program->code_count[ENGINE_SYNC]++];
    *item = (struct instruction){.opcode = (uint8_t)opcode,
                                 .index = index,
                                 .origin = origin,
                                 .wait_semaphore = NO_SEMAPHORE,
                                 .update_semaphore = NO_SEMAPHORE};
    return item;
}

static void wait_for(struct instruction *item, size_t part, uint32_t value)
{
    item->wait_semaphore = (uint16_t)part;
    item->wait_value = value;
}

static void make_code(struct maker *maker)
{
    const struct plan *plan = maker->plan;
    uint64_t count = plan_neff_size(plan, maker->neff);
    uint32_t *started = arena_alloc(&maker->arena, plan->part_count * sizeof *started);
    memset(started, 0, plan->part_count * sizeof *started);
    add_instruction(&maker->program, OP_NOTIFY, 0, NO_INDEX);
    for (uint64_t i = 0; i < count; i++) {
        struct plan_place place;
        plan_place(plan, maker->neff, i, &place);
        add_collective(maker, &place);
        struct instruction *item = add_instruction(&maker->program, OP_TRIGGER_COLLECTIVE,
                                                   (uint32_t)i, add_origin(maker, &place, i));
        if (started[place.part] > 0)
            wait_for(item, place.part, started[place.part]);
        started[place.part]++;
    }
    for (size_t i = 0; i < plan->part_count; i++)
        wait_for(add_instruction(&maker->program, OP_EVENT_SEMAPHORE, 0, NO_INDEX), i, started[i]);
    add_instruction(&maker->program, OP_NOTIFY, 1, NO_INDEX);
}

static void make_lists(struct maker *maker)
{
    struct core_program *program = &maker->program;
    uint64_t count = plan_neff_size(maker->plan, maker->neff);
    program->collectives = arena_alloc(&maker->arena, count * sizeof *program->collectives);
    program->origins = arena_alloc(&maker->arena, count * sizeof *program->origins);
    program->code[ENGINE_SYNC] = arena_alloc(&maker->arena, (count + maker->plan->part_count + 2) *
                                                                sizeof *program->code[ENGINE_SYNC]);
}

/* The second core of a logical one has nothing to do: CC-cores do it all. */
static void make_idle(struct core_program *program, struct arena *arena, uint32_t version)
{
    *program = (struct core_program){.core_version = version};
    program->code[ENGINE_SYNC] = arena_alloc(arena, 2 * sizeof *program->code[ENGINE_SYNC]);
    add_instruction(program, OP_NOTIFY, 0, NO_INDEX);
    add_instruction(program, OP_NOTIFY, 1, NO_INDEX);
}

static bool encode(struct maker *maker, const struct plan_core *core, uint8_t **bytes, size_t *size,
                   struct error *err)
{
    const struct plan_part *part = &maker->plan->parts[0];
    enum { CORES = 2 };
    struct core_program programs[CORES] = {maker->program};
    char name[96];
    for (uint32_t i = 1; i < core->logical_size && i < CORES; i++)
        make_idle(&programs[i], &maker->arena, core->hardware->version);
    snprintf(name, sizeof name, "nccom_%s_%" PRIu64 "_%s", nccom_op_name(part->op),
             part->elements * dtype_bytes(part->dtype), dtype_name(part->dtype));
    const struct neff_source source = {.name = name,
                                       .programs = programs,
                                       .program_count = core->logical_size,
                                       .worker_count = maker->plan->nccom->workers};
    return neff_encode(&source, bytes, size, err);
}

bool plan_encode(const struct plan *plan, const struct plan_neff *neff,
                 const struct plan_core *core, uint8_t **bytes, size_t *size, struct error *err)
{
    struct maker maker = {.plan = plan, .neff = neff};
    if (plan->part_count > SEMAPHORES)
        return error_set(err, "%zu collectives at once are more than %d", plan->part_count,
                         SEMAPHORES);
    maker.program.core_version = core->hardware->version;
    make_variables(&maker);
    make_lists(&maker);
    make_code(&maker);
    bool ok = encode(&maker, core, bytes, size, err);
    arena_free(&maker.arena);
    return ok;
}
