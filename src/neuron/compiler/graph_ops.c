/*
 * Operations of the graph that are operations of the internal form.
 */
#include "neuron/compiler/graph.h"

static const struct ir_type *type_of(struct graph *graph, uint32_t arg)
{
    return ir_type_of(graph->ir, graph->args[arg]);
}

static const struct {
    const char *name, *also;
} spellings[] = {
    {"subtract", "sub"},
    {"multiply", "mul"},
    {"divide", "div"},
    {"power", "pow"},
    {"max", "maximum"},
    {"min", "minimum"},
    {"exp", "exponential"},
    {"sigmoid", "logistic"},
    {"silu", "swish"},
    {"round_even", "round"},
    {"less", "lt"},
    {"greater", "gt"},
    {"less_equal", "le"},
    {"greater_equal", "ge"},
    {"equal", "eq"},
    {"not_equal", "ne"},
    {"reduce_add", "sum"},
    {"concatenate", "concat"},
    {"reduce_add", "reduce_sum"},
    {"convert", "cast"},
    {"negate", "neg"},
};

static const char *usual_name(const char *op)
{
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        if (strcmp(op, spellings[i].also) == 0)
            return spellings[i].name;
    return op;
}

static enum alu alu_named(const char *name)
{
    for (int i = ALU_NONE + 1; i < ALU_COUNT; i++)
        if (strcmp(name, alu_name((enum alu)i)) == 0)
            return (enum alu)i;
    return ALU_NONE;
}

static bool elementwise(struct graph *graph, const char *op, uint32_t *value)
{
    struct ir *ir = graph->ir;
    enum alu alu = alu_named(op);
    if (alu != ALU_NONE && strncmp(op, "reverse_", 8) != 0) {
        if (!takes(graph, 2, 2))
            return true;
        broadcast_pair(graph, &graph->args[0], &graph->args[1]);
        *value = ir_binary(ir, alu, graph->args[0], graph->args[1]);
        return true;
    }
    for (int i = 0; i < FUNCTION_COUNT; i++)
        if (strcmp(op, function_name((enum function)i)) == 0) {
            if (takes(graph, 1, 1))
                *value = ir_unary(ir, (enum function)i, graph->args[0]);
            return true;
        }
    return false;
}

static uint32_t select_values(struct graph *graph)
{
    if (!takes(graph, 3, 3))
        return IR_NONE;
    uint32_t *args = graph->args;
    broadcast_pair(graph, &args[1], &args[2]);
    broadcast_pair(graph, &args[0], &args[1]);
    broadcast_pair(graph, &args[1], &args[2]);
    return ir_select(graph->ir, args[0], args[1], args[2]);
}

static uint32_t clamp(struct graph *graph)
{
    if (!takes(graph, 1, 1))
        return IR_NONE;
    uint32_t value = graph->args[0];
    if (attribute(graph, "min"))
        value = ir_with_number(graph->ir, ALU_MAX, value, attribute_number(graph, "min", 0));
    if (attribute(graph, "max"))
        value = ir_with_number(graph->ir, ALU_MIN, value, attribute_number(graph, "max", 0));
    return value;
}

static uint32_t convert(struct graph *graph)
{
    bool is_bool;
    if (!takes(graph, 1, 1))
        return IR_NONE;
    enum dtype dtype = graph_dtype(graph, need_attribute(graph, "dtype"), &is_bool);
    return ir_convert(graph->ir, graph->args[0], dtype, is_bool);
}

/* iota and constant. */
static uint32_t made_up(struct graph *graph, bool is_iota)
{
    uint32_t size[IR_RANK];
    bool is_bool = false;
    if (!takes(graph, 0, 0))
        return IR_NONE;
    uint32_t rank = graph_shape(graph, need_attribute(graph, "shape"), size);
    const struct json_value *given = attribute(graph, "dtype");
    enum dtype dtype = given ? graph_dtype(graph, given, &is_bool) : DTYPE_FP32;
    struct ir_type type = ir_with_dtype(ir_make_type(dtype, rank, size), dtype, is_bool);
    if (!is_iota)
        return ir_number(graph->ir, type,
                         graph_number(graph, need_attribute(graph, "value"), "value"));
    return ir_iota(graph->ir, type, attribute_axis(graph, "axis", rank, 0));
}

static uint32_t broadcast(struct graph *graph, bool has_axes)
{
    uint32_t size[IR_RANK];
    uint8_t axes[IR_RANK];
    if (!takes(graph, 1, 1))
        return IR_NONE;
    uint32_t rank = graph_shape(graph, need_attribute(graph, "shape"), size);
    struct ir_type type = ir_make_type(type_of(graph, 0)->dtype, rank, size);
    if (!has_axes)
        return ir_broadcast_to(graph->ir, graph->args[0], type);
    if (attribute_axes(graph, "axes", rank, axes) != type_of(graph, 0)->rank)
        return ir_fail(graph->ir, "\"axes\" does not name an axis for each dimension");
    return ir_broadcast(graph->ir, graph->args[0], type, axes);
}

static uint32_t reshape(struct graph *graph)
{
    int64_t items[IR_RANK];
    uint32_t size[IR_RANK], open = IR_NONE;
    if (!takes(graph, 1, 1))
        return IR_NONE;
    uint32_t rank = graph_integers(graph, need_attribute(graph, "shape"), -1, UINT32_MAX, items,
                                   IR_RANK, "shape");
    uint64_t known = 1, elements = ir_elements(type_of(graph, 0));
    for (uint32_t i = 0; i < rank; i++) {
        if (items[i] == -1 && open == IR_NONE)
            open = i;
        else if (items[i] < 1 || __builtin_mul_overflow(known, (uint64_t)items[i], &known))
            return ir_fail(graph->ir, "\"shape\" has sizes that do not fit");
        size[i] = (uint32_t)items[i];
    }
    if (open != IR_NONE)
        size[open] = elements / known > UINT32_MAX ? 0 : (uint32_t)(elements / known);
    return ir_reshape(graph->ir, graph->args[0], rank, size);
}

static uint32_t transpose(struct graph *graph)
{
    uint8_t axes[IR_RANK];
    if (!takes(graph, 1, 1))
        return IR_NONE;
    uint32_t rank = type_of(graph, 0)->rank;
    for (uint32_t i = 0; i < rank; i++)
        axes[i] = (uint8_t)(rank - 1 - i);
    if (attribute(graph, "permutation") && attribute_axes(graph, "permutation", rank, axes) != rank)
        return ir_fail(graph->ir, "\"permutation\" does not name each dimension");
    return ir_transpose(graph->ir, graph->args[0], axes);
}

/* A list with a number for each dimension. */
static bool per_dimension(struct graph *graph, const char *key, uint32_t rank, int64_t low,
                          int64_t otherwise, int64_t items[static IR_RANK])
{
    for (uint32_t i = 0; i < IR_RANK; i++)
        items[i] = otherwise;
    const struct json_value *value = attribute(graph, key);
    if (value && graph_integers(graph, value, low, INT32_MAX, items, IR_RANK, key) != rank)
        ir_fail(graph->ir, "\"%s\" does not have a number for each of %u dimensions", key, rank);
    return !graph->ir->failed;
}

static uint32_t slice(struct graph *graph)
{
    int64_t start[IR_RANK], limit[IR_RANK], step[IR_RANK];
    uint32_t size[IR_RANK];
    if (!takes(graph, 1, 1))
        return IR_NONE;
    struct ir_type type = *type_of(graph, 0);
    if (!per_dimension(graph, "start", type.rank, 0, 0, start) ||
        !per_dimension(graph, "limit", type.rank, 0, -1, limit) ||
        !per_dimension(graph, "step", type.rank, 1, 1, step))
        return IR_NONE;
    for (uint32_t i = 0; i < type.rank; i++) {
        int64_t end = limit[i] < 0 ? type.size[i] : limit[i];
        if (end <= start[i] || end > type.size[i])
            return ir_fail(graph->ir, "dimension %u has no elements in this slice, or not enough",
                           i);
        size[i] = (uint32_t)((end - start[i] + step[i] - 1) / step[i]);
    }
    return ir_slice(graph->ir, graph->args[0], start, step, size);
}

static uint32_t reverse(struct graph *graph)
{
    uint8_t axes[IR_RANK];
    int64_t start[IR_RANK] = {0}, step[IR_RANK];
    if (!takes(graph, 1, 1))
        return IR_NONE;
    struct ir_type type = *type_of(graph, 0);
    uint32_t count = attribute_axes(graph, "axes", type.rank, axes);
    for (uint32_t i = 0; i < type.rank; i++)
        step[i] = 1;
    for (uint32_t i = 0; i < count; i++) {
        step[axes[i]] = -1;
        start[axes[i]] = (int64_t)type.size[axes[i]] - 1;
    }
    if (count == 0)
        return ir_fail(graph->ir, "\"axes\" names no dimension");
    uint32_t value = graph->args[0];
    /* A whole slice by -1 is not the tensor itself. */
    return ir_slice(graph->ir, value, start, step, type.size);
}

static uint32_t pad(struct graph *graph)
{
    int64_t low[IR_RANK], high[IR_RANK], interior[IR_RANK];
    if (!takes(graph, 1, 1))
        return IR_NONE;
    uint32_t rank = type_of(graph, 0)->rank;
    if (!per_dimension(graph, "low", rank, INT32_MIN, 0, low) ||
        !per_dimension(graph, "high", rank, INT32_MIN, 0, high) ||
        !per_dimension(graph, "interior", rank, 0, 0, interior))
        return IR_NONE;
    return ir_pad(graph->ir, graph->args[0], low, high, interior,
                  attribute_number(graph, "value", 0));
}

static uint32_t reduce(struct graph *graph, const char *by)
{
    uint8_t axes[IR_RANK];
    uint32_t mask = 0;
    enum alu alu = alu_named(by);
    if (alu != ALU_ADD && alu != ALU_MULTIPLY && alu != ALU_MAX && alu != ALU_MIN &&
        alu != ALU_AND && alu != ALU_OR)
        return ir_fail(graph->ir, "this operation is not supported");
    if (!takes(graph, 1, 1))
        return IR_NONE;
    uint32_t rank = type_of(graph, 0)->rank;
    uint32_t count = attribute_axes(graph, "axes", rank, axes);
    for (uint32_t i = 0; i < count; i++)
        mask |= 1U << axes[i];
    if (!attribute(graph, "axes"))
        mask = (1U << rank) - 1;
    return attribute_bool(graph, "keepdims") ? ir_reduce_kept(graph->ir, alu, graph->args[0], mask)
                                             : ir_reduce(graph->ir, alu, graph->args[0], mask);
}

static uint32_t dot_general(struct graph *graph)
{
    struct ir_dot_axes axes = {0};
    bool is_bool;
    if (!takes(graph, 2, 2))
        return IR_NONE;
    uint32_t left = type_of(graph, 0)->rank, right = type_of(graph, 1)->rank;
    axes.batch_count = attribute_axes(graph, "lhs_batch", left, axes.lhs_batch);
    axes.contract_count = attribute_axes(graph, "lhs_contract", left, axes.lhs_contract);
    if (attribute_axes(graph, "rhs_batch", right, axes.rhs_batch) != axes.batch_count ||
        attribute_axes(graph, "rhs_contract", right, axes.rhs_contract) != axes.contract_count)
        return ir_fail(graph->ir, "the sides have different numbers of batch or contracted axes");
    const struct json_value *given = attribute(graph, "dtype");
    enum dtype dtype = given ? graph_dtype(graph, given, &is_bool) : type_of(graph, 0)->dtype;
    return ir_dot(graph->ir, graph->args[0], graph->args[1], &axes, dtype);
}

static uint32_t dynamic_slice(struct graph *graph)
{
    uint32_t size[IR_RANK];
    if (!takes(graph, 1, GRAPH_ARGS))
        return IR_NONE;
    uint32_t rank = type_of(graph, 0)->rank;
    if (graph_shape(graph, need_attribute(graph, "size"), size) != rank ||
        !takes(graph, rank + 1, rank + 1))
        return ir_fail(graph->ir, "\"size\" does not have a number for each dimension");
    return ir_dynamic_slice(graph->ir, graph->args[0], graph->args + 1, size);
}

static uint32_t dynamic_update(struct graph *graph)
{
    if (!takes(graph, 2, GRAPH_ARGS))
        return IR_NONE;
    uint32_t rank = type_of(graph, 0)->rank;
    if (!takes(graph, rank + 2, rank + 2))
        return IR_NONE;
    return ir_dynamic_update_slice(graph->ir, graph->args[0], graph->args[1], graph->args + 2);
}

static uint32_t flat_indices(struct graph *graph, uint32_t arg)
{
    uint64_t count = ir_elements(type_of(graph, arg));
    uint32_t size[1] = {(uint32_t)(count > UINT32_MAX ? 0 : count)};
    return ir_reshape(graph->ir, graph->args[arg], 1, size);
}

/* [rows, ..] by indices of any shape. */
static uint32_t gather(struct graph *graph)
{
    if (!takes(graph, 2, 2))
        return IR_NONE;
    struct ir_type table = *type_of(graph, 0), which = *type_of(graph, 1), type = which;
    if (table.rank < 1 || which.rank + table.rank - 1U > IR_RANK)
        return ir_fail(graph->ir, "a table of rank %u by indices of rank %u", table.rank,
                       which.rank);
    for (uint32_t i = 1; i < table.rank; i++)
        type.size[type.rank++] = table.size[i];
    uint32_t value = ir_gather(graph->ir, graph->args[0], flat_indices(graph, 1));
    return ir_reshape(graph->ir, value, type.rank, type.size);
}

static uint32_t scatter_add(struct graph *graph)
{
    if (!takes(graph, 3, 3))
        return IR_NONE;
    struct ir_type rows = *type_of(graph, 0);
    uint64_t count = ir_elements(type_of(graph, 1));
    if (rows.rank < 1 || count > UINT32_MAX)
        return ir_fail(graph->ir, "a table of rank 0, or too many indices");
    rows.size[0] = (uint32_t)count;
    uint32_t updates = ir_reshape(graph->ir, graph->args[2], rows.rank, rows.size);
    return ir_scatter_add(graph->ir, graph->args[0], flat_indices(graph, 1), updates);
}

/* Lists of ranks of equal length. */
static struct ir_groups read_groups(struct graph *graph, const char *key)
{
    struct ir_groups groups = {0};
    const struct json_value *value = attribute(graph, key);
    ARRAY(uint32_t) members = {0};
    if (value && value->kind != JSON_LIST)
        ir_fail(graph->ir, "\"%s\" is not a list", key);
    struct json_reader in = json_read(value ? value->text : TEXT("[]"));
    for (bool more = !graph->ir->failed && json_enter(&in, '['); more && !graph->ir->failed;
         more = json_more(&in, ']')) {
        enum { MOST = 4096 };
        struct json_value item;
        int64_t *ranks = mem_alloc(MOST * sizeof *ranks);
        json_read_value(&in, &item);
        uint32_t count =
            graph_integers(graph, &item, 0, (int64_t)graph->ir->ranks - 1, ranks, MOST, key);
        if (count == 0 || (groups.group_count > 0 && count != groups.group_size))
            ir_fail(graph->ir, "\"%s\" has lists that are empty or of different lengths", key);
        for (uint32_t i = 0; i < count; i++)
            *array_push(&members) = (uint32_t)ranks[i];
        groups.group_size = count;
        groups.group_count++;
        mem_free(ranks);
    }
    if (members.count > 0) {
        uint32_t *copy = arena_alloc(&graph->ir->memory, members.count * sizeof *copy);
        memcpy(copy, members.items, members.count * sizeof *copy);
        groups.members = copy;
    }
    array_free(&members);
    return groups;
}

static enum alu read_reduction(struct graph *graph)
{
    const struct json_value *value = attribute(graph, "reduce");
    enum alu alu = value ? alu_named(usual_name(graph_text(graph, value, "reduce"))) : ALU_ADD;
    if (alu != ALU_ADD && alu != ALU_MULTIPLY && alu != ALU_MAX && alu != ALU_MIN)
        ir_fail(graph->ir, "ranks cannot be reduced by this operation");
    return alu;
}

/* Returns whether the operation is a collective, not whether it succeeded: failures are kept in ir,
 * as everywhere in the front end. */
static bool collective(struct graph *graph, const char *op, uint32_t *value)
{
    struct ir *ir = graph->ir;
    static const char *const names[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all",
                                        "permute"};
    size_t which = 0;
    while (which < sizeof names / sizeof *names && strcmp(op, names[which]) != 0)
        which++;
    if (which == sizeof names / sizeof *names)
        return false;
    if (!takes(graph, 1, 1))
        return true;
    uint32_t rank = type_of(graph, 0)->rank, arg = graph->args[0];
    struct ir_groups groups = read_groups(graph, which == 4 ? "pairs" : "groups");
    if (which == 0)
        *value = ir_all_reduce(ir, arg, read_reduction(graph), &groups);
    else if (which == 1)
        *value = ir_all_gather(ir, arg, attribute_axis(graph, "axis", rank, 0), &groups);
    else if (which == 2)
        *value = ir_reduce_scatter(ir, arg, read_reduction(graph),
                                   attribute_axis(graph, "axis", rank, 0), &groups);
    else if (which == 3)
        *value = ir_all_to_all(ir, arg, attribute_axis(graph, "split_axis", rank, 0),
                               attribute_axis(graph, "concat_axis", rank, 0), &groups);
    else if (groups.group_size != 2)
        ir_fail(ir, "\"pairs\" is not a list of pairs");
    else
        *value = ir_permute(ir, arg, groups.members, groups.group_count);
    return true;
}

static uint32_t concatenate(struct graph *graph)
{
    if (!takes(graph, 1, GRAPH_ARGS))
        return IR_NONE;
    uint32_t axis = attribute_axis(graph, "axis", type_of(graph, 0)->rank, 0);
    return ir_concatenate(graph->ir, graph->args, graph->arg_count, axis);
}

/* A table, since each of these takes only the graph. Returns whether the operation is one of them;
 * failures are kept in ir. */
static bool moving(struct graph *graph, const char *op, uint32_t *value)
{
    static const struct {
        const char *name;
        uint32_t (*make)(struct graph *);
    } table[] = {
        {"select", select_values},
        {"clamp", clamp},
        {"convert", convert},
        {"reshape", reshape},
        {"transpose", transpose},
        {"slice", slice},
        {"reverse", reverse},
        {"pad", pad},
        {"dot_general", dot_general},
        {"dynamic_slice", dynamic_slice},
        {"gather", gather},
        {"embedding", gather},
        {"scatter_add", scatter_add},
        {"concatenate", concatenate},
        {"dynamic_update_slice", dynamic_update},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(op, table[i].name) == 0) {
            *value = table[i].make(graph);
            return true;
        }
    return false;
}

uint32_t graph_op(struct graph *graph, const char *given)
{
    const char *op = usual_name(given);
    uint32_t value = IR_NONE;
    if (elementwise(graph, op, &value) || moving(graph, op, &value) ||
        collective(graph, op, &value) || graph_layer_op(graph, op, &value))
        return value;
    if (strcmp(op, "negate") == 0)
        return takes(graph, 1, 1) ? ir_negate(graph->ir, graph->args[0]) : IR_NONE;
    if (strcmp(op, "iota") == 0 || strcmp(op, "constant") == 0)
        return made_up(graph, op[0] == 'i');
    if (strcmp(op, "broadcast_to") == 0 || strcmp(op, "broadcast_in_dim") == 0)
        return broadcast(graph, strcmp(op, "broadcast_in_dim") == 0);
    if (strncmp(op, "reduce_", 7) == 0)
        return reduce(graph, op + 7);
    return ir_fail(graph->ir, "this operation is not supported");
}
