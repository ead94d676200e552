/*
 * Variables in HBM: inputs and weights when they are first used, outputs, and the scratchpad, whose
 * space is reused once the last reader of a value is done.
 */
#include "neuron/compiler/lower.h"
#include "neuron/compiler/number.h"

#include <stdio.h>

enum { SCRATCH_ALIGNMENT = 64 };

static struct storage *add_variable(struct lower *lower, const struct variable *variable)
{
    struct storage *storage = mem_zeroed(1, sizeof *storage);
    storage->variable = (uint32_t)lower->emit.variables.count;
    storage->bytes = variable->size;
    *array_push(&lower->emit.variables) = *variable;
    return storage;
}

static struct variable describe(const char *name, enum variable_kind kind,
                                const struct ir_type *type)
{
    struct variable variable = {
        .name = name,
        .kind = (uint8_t)kind,
        .dtype = type->dtype,
        .rank = type->rank,
        .size = ir_bytes(type),
        .layer = "",
    };
    memcpy(variable.shape, type->size, type->rank * sizeof *type->size);
    return variable;
}

/* The first free range that is large enough, or the end of the scratchpad. */
static uint64_t take_scratch(struct lower *lower, uint64_t bytes, struct clock *before)
{
    for (size_t i = 0; i < lower->scratch.count; i++) {
        struct scratch_range *range = &lower->scratch.items[i];
        if (range->end - range->first < bytes)
            continue;
        uint64_t first = range->first;
        *before = range->clock;
        range->first += bytes;
        if (range->first == range->end)
            *range = lower->scratch.items[--lower->scratch.count];
        return first;
    }
    uint64_t first = lower->scratch_bytes;
    lower->scratch_bytes += bytes;
    return first;
}

static void give_scratch(struct lower *lower, uint64_t first, uint64_t end,
                         const struct clock *clock)
{
    struct scratch_range freed = {first, end, *clock};
    for (size_t i = 0; i < lower->scratch.count;) {
        struct scratch_range *range = &lower->scratch.items[i];
        if (range->end != freed.first && range->first != freed.end) {
            i++;
            continue;
        }
        freed.first = range->first < freed.first ? range->first : freed.first;
        freed.end = range->end > freed.end ? range->end : freed.end;
        clock_merge(&freed.clock, &range->clock);
        *range = lower->scratch.items[--lower->scratch.count];
    }
    *array_push(&lower->scratch) = freed;
}

static uint64_t scratch_size(uint64_t bytes)
{
    return (bytes + SCRATCH_ALIGNMENT - 1) / SCRATCH_ALIGNMENT * SCRATCH_ALIGNMENT;
}

struct storage *storage_new(struct lower *lower, const char *name, const struct ir_type *type)
{
    enum variable_kind kind = name ? VARIABLE_OUTPUT : VARIABLE_VIRTUAL;
    char made[32];
    snprintf(made, sizeof made, "value%zu", lower->emit.variables.count);
    struct variable variable =
        describe(name ? name : arena_copy_text(&lower->ir->memory, made, strlen(made)), kind, type);
    struct clock before = {0};
    if (kind == VARIABLE_VIRTUAL)
        variable.backing_offset = take_scratch(lower, scratch_size(variable.size), &before);
    struct storage *storage = add_variable(lower, &variable);
    storage->before = before;
    return storage;
}

void storage_release(struct lower *lower, struct storage *storage)
{
    const struct variable *variable = &lower->emit.variables.items[storage->variable];
    if (variable->kind == VARIABLE_VIRTUAL) {
        clock_merge(&storage->all, &storage->before);
        give_scratch(lower, variable->backing_offset,
                     variable->backing_offset + scratch_size(variable->size), &storage->all);
    }
    array_free(&storage->writes);
    mem_free(storage);
}

static struct storage *constant_storage(struct lower *lower, const struct ir_node *node)
{
    struct ir_type type = node->type;
    char made[32];
    snprintf(made, sizeof made, "constant%zu", lower->emit.variables.count);
    const char *name =
        node->name ? node->name : arena_copy_text(&lower->ir->memory, made, strlen(made));
    const uint8_t *data = node->data;
    if (node->is_splat) {
        uint8_t *bytes = arena_alloc(&lower->ir->memory, sizeof(uint64_t));
        number_encode(type.dtype, node->number, node->integer, bytes);
        data = bytes;
        type = ir_make_type(type.dtype, 0, NULL);
    }
    struct variable variable = describe(name, VARIABLE_WEIGHT, &type);
    variable.data = data;
    variable.layer = node->layer;
    return add_variable(lower, &variable);
}

struct storage *storage_of(struct lower *lower, uint32_t index)
{
    const struct ir_node *node = &lower->ir->nodes.items[index];
    if (lower->storages[index])
        return lower->storages[index];
    struct storage *storage;
    if (node->kind == IR_PARAMETER) {
        struct variable variable = describe(node->name, VARIABLE_INPUT, &node->type);
        storage = add_variable(lower, &variable);
    } else if (node->kind == IR_CONSTANT) {
        storage = constant_storage(lower, node);
    } else {
        lower->has_missed |= lower->is_kept && lower->is_kept[index];
        storage = storage_new(lower, NULL, &node->type);
    }
    lower->storages[index] = storage;
    return storage;
}

void storages_free(struct lower *lower)
{
    for (size_t i = 0; i < lower->ir->nodes.count; i++)
        if (lower->storages[i]) {
            array_free(&lower->storages[i]->writes);
            mem_free(lower->storages[i]);
        }
    mem_free(lower->storages);
    array_free(&lower->scratch);
}
