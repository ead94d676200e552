/*
 * Operations of the graph that consist of several: matrix products with NumPy's rules, softmax,
 * normalization, attention. Sums and exponentials of narrow floats are computed in FP32.
 */
#include "neuron/compiler/graph.h"

#include <math.h>

static enum dtype narrow_to_wide(struct graph *graph, uint32_t *value)
{
    if (graph->ir->failed)
        return DTYPE_NONE;
    enum dtype dtype = ir_type_of(graph->ir, *value)->dtype;
    if (!dtype_is_float(dtype))
        ir_fail(graph->ir, "it takes floats, not %s", dtype_name(dtype));
    *value = ir_convert(graph->ir, *value, DTYPE_FP32, false);
    return dtype;
}

/* a alu b, with b's sizes of 1 repeated. */
static uint32_t with(struct graph *graph, enum alu alu, uint32_t a, uint32_t b)
{
    broadcast_pair(graph, &a, &b);
    return ir_binary(graph->ir, alu, a, b);
}

static uint32_t swap_last(struct graph *graph, uint32_t value)
{
    if (graph->ir->failed)
        return IR_NONE;
    uint32_t rank = ir_type_of(graph->ir, value)->rank;
    uint8_t axes[IR_RANK];
    if (rank < 2)
        return ir_fail(graph->ir, "a matrix has at least two dimensions");
    for (uint32_t i = 0; i < rank; i++)
        axes[i] = (uint8_t)(i < rank - 2 ? i : 2 * rank - 3 - i);
    return ir_transpose(graph->ir, value, axes);
}

/* The leading dimensions of both, broadcast against each other. */
static void broadcast_batch(struct graph *graph, uint32_t *a, uint32_t *b)
{
    struct ir *ir = graph->ir;
    struct ir_type left = *ir_type_of(ir, *a), right = *ir_type_of(ir, *b);
    uint32_t rank = left.rank > right.rank ? left.rank : right.rank;
    struct ir_type wide_left = left, wide_right = right;
    wide_left.rank = wide_right.rank = (uint8_t)rank;
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t from_left = i + left.rank, from_right = i + right.rank;
        uint32_t x = from_left >= rank ? left.size[from_left - rank] : 1;
        uint32_t y = from_right >= rank ? right.size[from_right - rank] : 1;
        wide_left.size[i] = i + 2 < rank && x == 1 ? y : x;
        wide_right.size[i] = i + 2 < rank && y == 1 ? x : y;
    }
    *a = ir_broadcast_to(ir, *a, wide_left);
    *b = ir_broadcast_to(ir, *b, wide_right);
}

static uint32_t graph_matmul(struct graph *graph, uint32_t a, uint32_t b, enum dtype dtype)
{
    struct ir *ir = graph->ir;
    if (ir->failed)
        return IR_NONE;
    struct ir_type left = *ir_type_of(ir, a), right = *ir_type_of(ir, b);
    if (left.rank < 1 || right.rank < 1)
        return ir_fail(ir, "a matrix product with a scalar");
    struct ir_dot_axes axes = {.contract_count = 1};
    axes.lhs_contract[0] = (uint8_t)(left.rank - 1);
    axes.rhs_contract[0] = (uint8_t)(right.rank > 1 ? right.rank - 2 : 0);
    if (right.rank > 2 && left.rank > 1) {
        broadcast_batch(graph, &a, &b);
        if (ir->failed)
            return IR_NONE;
        uint32_t rank = ir_type_of(ir, a)->rank;
        axes.batch_count = rank - 2;
        for (uint32_t i = 0; i + 2 < rank; i++)
            axes.lhs_batch[i] = axes.rhs_batch[i] = (uint8_t)i;
        axes.lhs_contract[0] = (uint8_t)(rank - 1);
        axes.rhs_contract[0] = (uint8_t)(rank - 2);
    }
    return ir_dot(ir, a, b, &axes, dtype);
}

static enum dtype result_dtype(struct graph *graph)
{
    bool is_bool;
    const struct json_value *given = attribute(graph, "dtype");
    if (given)
        return graph_dtype(graph, given, &is_bool);
    return ir_type_of(graph->ir, graph->args[0])->dtype;
}

static uint32_t matmul(struct graph *graph)
{
    if (!takes(graph, 2, 2))
        return IR_NONE;
    uint32_t a = graph->args[0], b = graph->args[1];
    if (attribute_bool(graph, "transpose_a"))
        a = swap_last(graph, a);
    if (attribute_bool(graph, "transpose_b"))
        b = swap_last(graph, b);
    return graph_matmul(graph, a, b, result_dtype(graph));
}

static uint32_t linear(struct graph *graph)
{
    if (!takes(graph, 2, 3))
        return IR_NONE;
    uint32_t value = graph_matmul(graph, graph->args[0], graph->args[1], result_dtype(graph));
    return graph->arg_count == 3 ? with(graph, ALU_ADD, value, graph->args[2]) : value;
}

static uint32_t softmax_of(struct graph *graph, uint32_t value, uint32_t axis, bool is_log)
{
    struct ir *ir = graph->ir;
    enum dtype dtype = narrow_to_wide(graph, &value);
    uint32_t mask = 1U << axis;
    value = with(graph, ALU_SUBTRACT, value, ir_reduce_kept(ir, ALU_MAX, value, mask));
    uint32_t power = ir_unary(ir, FUNCTION_EXP, value);
    uint32_t sum = ir_reduce_kept(ir, ALU_ADD, power, mask);
    value = is_log ? with(graph, ALU_SUBTRACT, value, ir_unary(ir, FUNCTION_LOG, sum))
                   : with(graph, ALU_MULTIPLY, power, ir_unary(ir, FUNCTION_RECIPROCAL, sum));
    return ir_convert(ir, value, dtype, false);
}

static uint32_t softmax_op(struct graph *graph, bool is_log)
{
    if (!takes(graph, 1, 1))
        return IR_NONE;
    uint32_t rank = ir_type_of(graph->ir, graph->args[0])->rank;
    uint32_t axis = attribute_axis(graph, "axis", rank, -1);
    return graph->ir->failed ? IR_NONE : softmax_of(graph, graph->args[0], axis, is_log);
}

static uint32_t softmax(struct graph *graph)
{
    return softmax_op(graph, false);
}

static uint32_t log_softmax(struct graph *graph)
{
    return softmax_op(graph, true);
}

static uint32_t mean_of(struct graph *graph, uint32_t value, uint32_t mask)
{
    if (graph->ir->failed)
        return IR_NONE;
    const struct ir_type *type = ir_type_of(graph->ir, value);
    double count = 1;
    for (uint32_t i = 0; i < type->rank; i++)
        count *= mask >> i & 1 ? type->size[i] : 1;
    uint32_t sum = ir_reduce_kept(graph->ir, ALU_ADD, value, mask);
    return ir_with_number(graph->ir, ALU_MULTIPLY, sum, 1 / count);
}

static uint32_t mean(struct graph *graph)
{
    uint8_t axes[IR_RANK];
    if (!takes(graph, 1, 1))
        return IR_NONE;
    uint32_t value = graph->args[0];
    struct ir_type type = *ir_type_of(graph->ir, value);
    uint32_t count = attribute_axes(graph, "axes", type.rank, axes), mask = 0;
    for (uint32_t i = 0; i < count; i++)
        mask |= 1U << axes[i];
    if (!attribute(graph, "axes"))
        mask = (1U << type.rank) - 1;
    enum dtype dtype = narrow_to_wide(graph, &value);
    value = ir_convert(graph->ir, mean_of(graph, value, mask), dtype, false);
    if (attribute_bool(graph, "keepdims"))
        return value;
    uint32_t size[IR_RANK], rank = 0;
    for (uint32_t i = 0; i < type.rank; i++)
        if (!(mask >> i & 1))
            size[rank++] = type.size[i];
    return ir_reshape(graph->ir, value, rank, size);
}

/* Layer normalization or, without the mean, root-mean-square normalization. */
static uint32_t normalize(struct graph *graph, bool has_mean)
{
    struct ir *ir = graph->ir;
    if (!takes(graph, 1, has_mean ? 3 : 2))
        return IR_NONE;
    uint32_t value = graph->args[0], rank = ir_type_of(ir, value)->rank;
    uint32_t axis = attribute_axis(graph, "axis", rank, -1);
    double eps = attribute_number(graph, "eps", 1e-5);
    enum dtype dtype = narrow_to_wide(graph, &value);
    if (ir->failed)
        return IR_NONE;
    uint32_t mask = 1U << axis;
    if (has_mean)
        value = with(graph, ALU_SUBTRACT, value, mean_of(graph, value, mask));
    uint32_t squares = ir_unary(ir, FUNCTION_SQUARE, value);
    uint32_t variance = ir_with_number(ir, ALU_ADD, mean_of(graph, squares, mask), eps);
    value = with(graph, ALU_MULTIPLY, value, ir_unary(ir, FUNCTION_RSQRT, variance));
    for (uint32_t i = 1; i < graph->arg_count; i++) {
        uint32_t other = ir_convert(ir, graph->args[i], DTYPE_FP32, false);
        value = with(graph, i == 1 ? ALU_MULTIPLY : ALU_ADD, value, other);
    }
    return ir_convert(ir, value, dtype, false);
}

static uint32_t layernorm(struct graph *graph)
{
    return normalize(graph, true);
}

static uint32_t rmsnorm(struct graph *graph)
{
    return normalize(graph, false);
}

/* Scores of positions after the query become very small. */
static uint32_t causal(struct graph *graph, uint32_t scores)
{
    struct ir *ir = graph->ir;
    if (ir->failed)
        return IR_NONE;
    struct ir_type type = *ir_type_of(ir, scores);
    uint32_t size[2] = {type.size[type.rank - 2], type.size[type.rank - 1]};
    struct ir_type square = ir_make_type(DTYPE_INT32, 2, size);
    double ahead = (double)size[1] - size[0];
    uint32_t query = ir_with_number(ir, ALU_ADD, ir_iota(ir, square, 0), ahead);
    uint32_t mask = ir_binary(ir, ALU_GREATER_EQUAL, query, ir_iota(ir, square, 1));
    return ir_select(ir, ir_broadcast_to(ir, mask, type), scores, ir_number(ir, type, -1e30));
}

/* q, k, v: [.., sequence, features]. */
static uint32_t attention(struct graph *graph)
{
    struct ir *ir = graph->ir;
    if (!takes(graph, 3, 3))
        return IR_NONE;
    struct ir_type query = *ir_type_of(ir, graph->args[0]);
    if (query.rank < 2)
        return ir_fail(ir, "the query has rank %u", query.rank);
    double width = query.size[query.rank - 1];
    double scale = attribute_number(graph, "scale", 1 / sqrt(width));
    uint32_t keys = swap_last(graph, graph->args[1]);
    uint32_t scores = graph_matmul(graph, graph->args[0], keys, DTYPE_FP32);
    scores = ir_with_number(ir, ALU_MULTIPLY, scores, scale);
    if (attribute_bool(graph, "causal"))
        scores = causal(graph, scores);
    if (ir->failed)
        return IR_NONE;
    uint32_t weights = softmax_of(graph, scores, ir_type_of(ir, scores)->rank - 1U, false);
    weights = ir_convert(ir, weights, query.dtype, false);
    return graph_matmul(graph, weights, graph->args[2], query.dtype);
}

bool graph_layer_op(struct graph *graph, const char *op, uint32_t *value)
{
    static const struct {
        const char *name;
        uint32_t (*make)(struct graph *);
    } table[] = {
        {"matmul", matmul},   {"linear", linear},       {"softmax", softmax},
        {"mean", mean},       {"layernorm", layernorm}, {"log_softmax", log_softmax},
        {"rmsnorm", rmsnorm}, {"attention", attention},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(op, table[i].name) == 0) {
            *value = table[i].make(graph);
            return true;
        }
    return false;
}
