/*
 * Backward from the outputs: which part of each value is needed. Then forward: the operations on
 * these parts.
 */
#include "neuron/compiler/split.h"

enum need { NOT_NEEDED, NEEDED_IN_PART, NEEDED };

/* A run of one dimension. */
struct part {
    enum need need;
    uint32_t dimension, first, count;
};

struct split {
    const struct ir *from;
    struct ir *to;
    struct part *parts; /* of each node */
    uint32_t *values;   /* in `to`: the part, or all of it */
    bool counts_flops;  /* of work that every core repeats */
};

static const struct part whole = {.need = NEEDED};

static struct part part_of(uint32_t dimension, uint32_t first, uint32_t count)
{
    return (struct part){NEEDED_IN_PART, dimension, first, count};
}

static bool is_same(const struct part *a, const struct part *b)
{
    return a->need == b->need && a->dimension == b->dimension && a->first == b->first &&
           a->count == b->count;
}

static uint64_t elements_after(const struct ir_type *type, uint32_t dimension)
{
    uint64_t count = 1;
    for (uint32_t i = dimension + 1; i < type->rank; i++)
        count *= type->size[i];
    return count;
}

/* The run of the operand's dimension that begins where the result's does, if it has whole steps. */
static bool reshape_part(const struct ir_type *from, const struct ir_type *to,
                         const struct part *part, struct part *arg)
{
    uint64_t inner = elements_after(to, part->dimension);
    uint64_t block = inner * to->size[part->dimension];
    for (uint32_t i = 0; i < from->rank; i++) {
        uint64_t step = elements_after(from, i);
        if (step * from->size[i] != block || from->size[i] == 1)
            continue;
        if (part->first * inner % step || part->count * inner % step)
            return false;
        *arg = part_of(i, (uint32_t)(part->first * inner / step),
                       (uint32_t)(part->count * inner / step));
        return true;
    }
    return false;
}

static struct part broadcast_part(const struct ir_node *node, const struct ir_type *from,
                                  const struct part *part)
{
    for (uint32_t i = 0; i < from->rank; i++)
        if (node->axes[i] == part->dimension && from->size[i] == node->type.size[part->dimension])
            return part_of(i, part->first, part->count);
    return whole;
}

/* The operand's dimension that becomes this one of the result. */
static uint32_t reduced_dimension(const struct ir_node *node, uint32_t dimension)
{
    uint32_t at = 0;
    for (uint32_t left = dimension;; at++) {
        if (node->mask >> at & 1)
            continue;
        if (left-- == 0)
            return at;
    }
}

static void dot_parts(const struct ir *ir, const struct ir_node *node, const struct part *part,
                      struct part *args)
{
    const struct ir_type *lhs = ir_type_of(ir, node->args[0]);
    uint32_t batch = node->batch_rank, contract = node->contract_rank, at = part->dimension;
    uint32_t rows_end = lhs->rank - contract; /* [batch.., m..] of the result */
    args[0] = at < rows_end ? part_of(at, part->first, part->count) : whole;
    args[1] = at < batch      ? part_of(at, part->first, part->count)
              : at < rows_end ? whole
                              : part_of(batch + contract + at - rows_end, part->first, part->count);
}

static bool is_padded(const struct ir_node *node, const struct ir_type *from, uint32_t dimension)
{
    return node->start[dimension] != 0 || node->step[dimension] != 1 ||
           node->type.size[dimension] != from->size[dimension];
}

/* Operands of operations on elements have the result's shape. */
static bool same_parts(const struct ir *ir, const struct ir_node *node, const struct part *part,
                       struct part *args)
{
    for (uint32_t i = 0; i < node->arg_count; i++) {
        args[i] = *part;
        if (!ir_same_shape(ir_type_of(ir, node->args[i]), &node->type))
            return false;
    }
    return true;
}

/* The part of each operand that a part of the result needs; false when the operation must be
 * computed as a whole. */
static bool divide(const struct ir *ir, const struct ir_node *node, const struct part *part,
                   struct part *args)
{
    uint32_t at = part->dimension;
    if (node->arg_count == 0)
        return false;
    const struct ir_type *first = ir_type_of(ir, node->args[0]);
    switch (node->kind) {
    case IR_UNARY:
    case IR_BINARY:
    case IR_SELECT:
    case IR_CONVERT:
    case IR_COPY:
        return same_parts(ir, node, part, args);
    case IR_BROADCAST:
        args[0] = broadcast_part(node, first, part);
        return true;
    case IR_RESHAPE:
        return reshape_part(first, &node->type, part, &args[0]);
    case IR_TRANSPOSE:
        args[0] = part_of(node->axes[at], part->first, part->count);
        return true;
    case IR_SLICE:
        args[0] = node->step[at] == 1
                      ? part_of(at, (uint32_t)node->start[at] + part->first, part->count)
                      : whole;
        return true;
    case IR_REDUCE:
        args[0] = part_of(reduced_dimension(node, at), part->first, part->count);
        return true;
    case IR_DOT:
        dot_parts(ir, node, part, args);
        return true;
    case IR_CONCATENATE:
        for (uint32_t i = 0; i < node->arg_count; i++)
            args[i] = *part;
        return at != node->axis;
    case IR_PAD:
        args[0] = *part;
        return !is_padded(node, first, at);
    case IR_GATHER:
        args[0] = whole;
        args[1] = *part;
        return at == 0;
    default:
        return false;
    }
}

/* A value needed in two different parts is needed whole. */
static void need(struct part *all, uint32_t node, const struct part *part)
{
    if (all[node].need == NOT_NEEDED)
        all[node] = *part;
    else if (!is_same(&all[node], part))
        all[node] = whole;
}

/* The part of an output; false when this core has none of it. *wholes counts outputs that are not
 * divided: they take turns. */
static bool output_part(const struct ir_type *type, uint32_t core, uint32_t cores, uint32_t *wholes,
                        struct part *part)
{
    uint32_t at = 0;
    while (at < type->rank && type->size[at] == 1)
        at++;
    if (at == type->rank || type->size[at] < cores) {
        *part = whole;
        return (*wholes)++ % cores == core;
    }
    /* Whole tiles, if there are enough. */
    uint32_t size = type->size[at], tile = size >= cores * PARTITIONS ? PARTITIONS : 1;
    uint32_t first = (uint32_t)((uint64_t)size * core / cores / tile * tile);
    uint32_t end =
        core + 1 == cores ? size : (uint32_t)((uint64_t)size * (core + 1) / cores / tile * tile);
    *part = part_of(at, first, end - first);
    return true;
}

static void find_parts(const struct ir *ir, struct part *parts, struct part *args)
{
    for (size_t i = ir->nodes.count; i-- > 0;) {
        const struct ir_node *node = &ir->nodes.items[i];
        struct part *part = &parts[i];
        if (part->need == NEEDED_IN_PART && !divide(ir, node, part, args))
            *part = whole;
        for (uint32_t k = 0; part->need != NOT_NEEDED && k < node->arg_count; k++)
            need(parts, node->args[k], part->need == NEEDED ? &whole : &args[k]);
    }
}

/* The value of a node in `to`, or the part of it asked for. */
static uint32_t use(const struct split *split, uint32_t node, const struct part *part)
{
    if (part->need == NEEDED || split->parts[node].need == NEEDED_IN_PART)
        return split->values[node];
    const struct ir_type *type = ir_type_of(split->from, node);
    int64_t start[IR_RANK] = {0}, step[IR_RANK];
    uint32_t size[IR_RANK];
    for (uint32_t i = 0; i < type->rank; i++) {
        step[i] = 1;
        size[i] = type->size[i];
    }
    start[part->dimension] = part->first;
    size[part->dimension] = part->count;
    return ir_slice(split->to, split->values[node], start, step, size);
}

static void count_flops(const struct split *split, const struct ir_node *node)
{
    const struct ir_type *rhs = ir_type_of(split->to, node->args[1]);
    uint64_t flops = 2 * ir_elements(&node->type);
    for (uint32_t i = 0; i < node->contract_rank; i++)
        flops *= rhs->size[node->batch_rank + i];
    split->to->origins.items[node->origin].model_flops += flops;
}

/* Copies the node with its type narrowed to the part. A slice of an operand that is itself a part
 * starts at 0, as the part was cut to where the slice begins. */
static uint32_t build(const struct split *split, uint32_t index, struct part *args,
                      uint32_t *values)
{
    const struct ir_node *node = &split->from->nodes.items[index];
    const struct part *part = &split->parts[index];
    struct ir *to = split->to;
    bool is_part = part->need == NEEDED_IN_PART;
    if (is_part)
        divide(split->from, node, part, args);
    for (uint32_t k = 0; k < node->arg_count; k++)
        values[k] = use(split, node->args[k], is_part ? &args[k] : &whole);
    struct ir_type type = node->type;
    if (is_part)
        type.size[part->dimension] = part->count;
    struct ir_node *made = ir_add(to, (enum ir_kind)node->kind, type, node->arg_count, values);
    if (to->failed)
        return IR_NONE;
    uint32_t *own = made->args;
    *made = *node;
    made->args = own;
    made->type = type;
    if (is_part && node->kind == IR_SLICE)
        made->start[part->dimension] =
            args[0].need == NEEDED_IN_PART
                ? 0
                : node->start[part->dimension] + part->first * node->step[part->dimension];
    if (node->kind == IR_DOT && (is_part || split->counts_flops))
        count_flops(split, made);
    return IR_LAST(to);
}

static void copy_tables(const struct ir *from, struct ir *to)
{
    const struct origin *origin;
    const struct source_frame *frame;
    to->origins.count = 0;
    array_each (origin, &from->origins) {
        struct origin *copy = array_push(&to->origins);
        *copy = *origin;
        copy->model_flops = 0;
    }
    array_each (frame, &from->frames)
        *array_push(&to->frames) = *frame;
    to->name = from->name;
    to->ranks = from->ranks;
}

static uint32_t most_args(const struct ir *ir)
{
    uint32_t most = 0;
    for (size_t i = 0; i < ir->nodes.count; i++)
        if (ir->nodes.items[i].arg_count > most)
            most = ir->nodes.items[i].arg_count;
    return most;
}

static void add_outputs(const struct split *split, const struct part *wanted)
{
    for (size_t i = 0; i < split->from->outputs.count; i++) {
        const struct ir_output *output = &split->from->outputs.items[i];
        const struct ir_type *type = ir_type_of(split->from, output->value);
        const struct part *part = &wanted[i];
        struct ir_output made = {.name = output->name, .value = IR_NONE, .whole = *type};
        if (part->need != NOT_NEEDED) {
            made.value = use(split, output->value, part);
            made.count = ir_elements(type);
        }
        if (part->need == NEEDED_IN_PART) {
            uint64_t inner = elements_after(type, part->dimension);
            made.first = part->first * inner;
            made.count = part->count * inner;
        }
        *array_push(&split->to->outputs) = made;
    }
}

/* Two passes over the same list, so operands need no recursion: backward for what is needed,
 * forward to build it. Parameters are kept even if unused, since all cores have the same inputs. */
bool split_for_core(const struct ir *from, uint32_t core, uint32_t cores, struct ir *to,
                    struct error *err)
{
    size_t count = from->nodes.count, outputs = from->outputs.count;
    uint32_t args = most_args(from) + 1, wholes = 0;
    struct split split = {.from = from, .to = to, .counts_flops = core == 0};
    split.parts = mem_zeroed(count + 1, sizeof *split.parts);
    split.values = mem_alloc((count + 1) * sizeof *split.values);
    struct part *wanted = mem_zeroed(outputs + 1, sizeof *wanted);
    struct part *arg_parts = mem_zeroed(args, sizeof *arg_parts);
    uint32_t *arg_values = mem_alloc(args * sizeof *arg_values);
    copy_tables(from, to);
    for (size_t i = 0; i < outputs; i++) {
        struct part part;
        uint32_t value = from->outputs.items[i].value;
        if (output_part(ir_type_of(from, value), core, cores, &wholes, &part)) {
            wanted[i] = part;
            need(split.parts, value, &part);
        }
    }
    find_parts(from, split.parts, arg_parts);
    for (uint32_t i = 0; i < count && !to->failed; i++) {
        split.values[i] = IR_NONE;
        if (from->nodes.items[i].kind == IR_PARAMETER) /* also those that this core does not read */
            split.parts[i] = whole;
        if (split.parts[i].need != NOT_NEEDED)
            split.values[i] = build(&split, i, arg_parts, arg_values);
    }
    if (!to->failed)
        add_outputs(&split, wanted);
    if (to->failed)
        *err = to->error;
    mem_free(split.parts);
    mem_free(split.values);
    mem_free(wanted);
    mem_free(arg_parts);
    mem_free(arg_values);
    return !to->failed;
}
