/*
 * Costs of instructions: bytes, and how calls, loops and conditions combine the costs of the
 * computations they call. Callees are visited before their callers, so that no computation is
 * visited twice.
 */
#include "hlo/costs.h"

#include <math.h>

int64_t hlo_trip_count(struct pb_reader instruction)
{
    struct text config = hlo_text(instruction, HLO_BACKEND_CONFIG);
    static const char key[] = "\"known_trip_count\":{\"n\":\"";
    const char *found = config.size ? memmem(config.data, config.size, key, sizeof key - 1) : NULL;
    if (!found)
        return -1;
    int64_t count = 0;
    const char *end = config.data + config.size;
    found += sizeof key - 1;
    if (found == end || *found < '0' || *found > '9')
        return -1;
    for (; found < end && *found >= '0' && *found <= '9' && count < INT64_MAX / 16; found++)
        count = count * 10 + (*found - '0');
    return count;
}

/* --- bytes --- */

static int64_t operands_bytes(const struct hlo_module *module, const struct hlo_instruction *at)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < at->operand_count; i++)
        sum = add_saturated(sum, hlo_bytes(operand_shape(module, at, i), 0));
    return sum;
}

static int64_t from_operand(const struct hlo_module *module, const struct hlo_instruction *at,
                            uint32_t first)
{
    int64_t sum = 0;
    for (uint32_t i = first; i < at->operand_count; i++)
        sum = add_saturated(sum, hlo_bytes(operand_shape(module, at, i), 0));
    return sum;
}

/* Asynchronous starts return their operands as well as their results; library calls also return
 * their workspace. */
static int64_t result_bytes(const struct hlo_instruction *at)
{
    const struct hlo_shape *shape = &at->shape;
    bool is_start =
        at->opcode == HLO_OP_ALL_GATHER_START || at->opcode == HLO_OP_COLLECTIVE_PERMUTE_START;
    if (is_start && shape->type == HLO_TUPLE_TYPE && shape->rank >= 2)
        return hlo_bytes(&shape->elements[1], 0);
    struct text target = at->opcode == HLO_OP_CUSTOM_CALL
                             ? hlo_text(at->bytes, HLO_CUSTOM_CALL_TARGET)
                             : (struct text){0};
    if (text_starts(target, TEXT("__cublas$")) || text_starts(target, TEXT("__cudnn$conv")))
        return hlo_bytes(first_shape(shape), 0);
    return hlo_bytes(shape, 0);
}

static bool is_end(enum hlo_opcode opcode)
{
    return opcode == HLO_OP_ALL_GATHER_DONE || opcode == HLO_OP_ALL_REDUCE_DONE ||
           opcode == HLO_OP_COLLECTIVE_PERMUTE_DONE || opcode == HLO_OP_COPY_DONE ||
           opcode == HLO_OP_ASYNC_DONE || opcode == HLO_OP_ASYNC_UPDATE ||
           opcode == HLO_OP_SEND_DONE || opcode == HLO_OP_RECV_DONE;
}

/* Counts only the elements that are touched: a slice reads its result's size and an update writes
 * in place, so neither costs the whole array as other operations do. */
static void cost_bytes(const struct hlo_module *module, const struct hlo_instruction *at,
                       struct hlo_cost *cost)
{
    int64_t update;
    if (hlo_kind_of(at->opcode) == HLO_FREE || is_end(at->opcode)) {
        cost->bytes_read = cost->bytes_written = 0;
        return;
    }
    switch (at->opcode) {
    case HLO_OP_SLICE:
    case HLO_OP_DYNAMIC_SLICE:
    case HLO_OP_GATHER:
        cost->bytes_written = hlo_bytes(&at->shape, 0);
        cost->bytes_read = add_saturated(cost->bytes_written, from_operand(module, at, 1));
        return;
    case HLO_OP_DYNAMIC_UPDATE_SLICE:
        cost->bytes_written = hlo_bytes(operand_shape(module, at, 1), 0);
        cost->bytes_read = from_operand(module, at, 1);
        return;
    case HLO_OP_SCATTER: /* the elements combined with the updates are read and written */
        update = from_operand(module, at, at->operand_count - at->operand_count / 2);
        cost->bytes_written = update;
        cost->bytes_read =
            add_saturated(add_saturated(update, update),
                          hlo_bytes(operand_shape(module, at, at->operand_count / 2), 0));
        return;
    case HLO_OP_COPY_START:
        cost->bytes_read = cost->bytes_written = operands_bytes(module, at);
        return;
    default:
        cost->bytes_read = operands_bytes(module, at);
        cost->bytes_written = result_bytes(at);
        return;
    }
}

/* --- instructions that call computations --- */

static struct hlo_cost from_sum(const struct cost_sum *sum)
{
    return (struct hlo_cost){
        .flops = sum->flops,
        .matrix_flops = sum->matrix_flops,
        .xla_flops = sum->xla_flops,
        .bytes_read = sum->bytes_read,
        .bytes_written = sum->bytes_written,
        .compute_type = sum->matrix_type,
    };
}

static int64_t times(int64_t bytes, int64_t count)
{
    int64_t product;
    if (bytes < 0 || count < 0)
        return -1;
    return __builtin_mul_overflow(bytes, count, &product) ? INT64_MAX : product;
}

/* XLA counts one iteration. */
static void cost_while(const struct costing *costing, const struct hlo_instruction *at,
                       struct hlo_cost *cost)
{
    const struct cost_sum *body = cost_of_callee(costing, at, 0);
    const struct cost_sum *condition = cost_of_callee(costing, at, 1);
    int64_t trips = hlo_trip_count(at->bytes);
    if (!body || !condition)
        return;
    *cost = from_sum(body);
    cost->xla_flops += condition->xla_flops;
    double count = trips < 0 ? NAN : (double)trips;
    cost->flops = (cost->flops + condition->flops) * count;
    cost->matrix_flops = (cost->matrix_flops + condition->matrix_flops) * count;
    bool is_known = body->bytes_read >= 0 && condition->bytes_read >= 0;
    cost->bytes_read =
        is_known ? times(add_saturated(body->bytes_read, condition->bytes_read), trips) : -1;
    cost->bytes_written =
        is_known ? times(add_saturated(body->bytes_written, condition->bytes_written), trips) : -1;
}

/* The cost of the most expensive branch. */
static void cost_conditional(const struct costing *costing, const struct hlo_instruction *at,
                             struct hlo_cost *cost)
{
    for (uint32_t i = 0; i < at->callee_count; i++) {
        const struct cost_sum *sum = cost_of_callee(costing, at, i);
        if (!sum) {
            cost->flops = cost->matrix_flops = NAN;
            cost->bytes_read = cost->bytes_written = -1;
            return;
        }
        if (i == 0) {
            *cost = from_sum(sum);
            continue;
        }
        bool is_unknown = isnan(cost->flops) || isnan(sum->flops);
        if (sum->matrix_flops > cost->matrix_flops)
            cost->compute_type = sum->matrix_type;
        cost->flops = is_unknown ? NAN : fmax(cost->flops, sum->flops);
        cost->matrix_flops = is_unknown ? NAN : fmax(cost->matrix_flops, sum->matrix_flops);
        cost->xla_flops = fmax(cost->xla_flops, sum->xla_flops);
        is_unknown = cost->bytes_read < 0 || sum->bytes_read < 0;
        cost->bytes_read = is_unknown                           ? -1
                           : cost->bytes_read > sum->bytes_read ? cost->bytes_read
                                                                : sum->bytes_read;
        cost->bytes_written = is_unknown                                 ? -1
                              : cost->bytes_written > sum->bytes_written ? cost->bytes_written
                                                                         : sum->bytes_written;
    }
}

static void cost_plain(const struct costing *costing, const struct hlo_instruction *at,
                       struct hlo_cost *cost)
{
    const char *type = NULL;
    double matrix = matrix_flops_of(costing->module, at, &type);
    cost->xla_flops = xla_flops_of(costing, at);
    cost->flops = isnan(matrix) ? flops_of(costing, at) : matrix;
    cost->matrix_flops = isnan(matrix) ? (isnan(cost->flops) ? NAN : 0) : matrix;
    cost->compute_type = type;
    cost_bytes(costing->module, at, cost);
}

/* What remains NAN or -1 stays unknown: callers show nothing rather than a guess. The costs of
 * callees must have been summed before. */
static void cost_instruction(struct costing *costing, const struct hlo_instruction *at,
                             struct hlo_cost *cost)
{
    const struct cost_sum *callee;
    switch (at->opcode) {
    case HLO_OP_FUSION:
        cost_fusion(costing, at, cost);
        break;
    case HLO_OP_WHILE:
        cost_while(costing, at, cost);
        break;
    case HLO_OP_CONDITIONAL:
        cost_conditional(costing, at, cost);
        break;
    case HLO_OP_CALL:
    case HLO_OP_ASYNC_START:
        callee = cost_of_callee(costing, at, 0);
        if (callee)
            *cost = from_sum(callee);
        break;
    default:
        cost_plain(costing, at, cost);
        break;
    }
    if (cost->bytes_read >= 0 && cost->bytes_written >= 0)
        cost->bytes_accessed = add_saturated(cost->bytes_read, cost->bytes_written);
    if (!cost->compute_type && hlo_type_bits(first_shape(&at->shape)->type) > 0)
        cost->compute_type = hlo_type_name(first_shape(&at->shape)->type);
}

static void add_to_sum(struct cost_sum *sum, const struct hlo_cost *cost)
{
    bool is_known = sum->bytes_read >= 0 && cost->bytes_accessed >= 0;
    sum->flops += cost->flops;
    sum->matrix_flops += cost->matrix_flops;
    sum->xla_flops += cost->xla_flops;
    sum->bytes_read = is_known ? add_saturated(sum->bytes_read, cost->bytes_read) : -1;
    sum->bytes_written = is_known ? add_saturated(sum->bytes_written, cost->bytes_written) : -1;
    if (cost->matrix_flops > sum->matrix_largest) {
        sum->matrix_largest = cost->matrix_flops;
        sum->matrix_type = cost->compute_type;
    }
}

/* Computations are visited after those they call, so one pass is enough. Those in a circle of calls
 * have no place in that order; their costs stay unknown, as do calls of them. */
struct hlo_cost *hlo_costs(const struct hlo_module *module)
{
    size_t count = module->computations.count;
    struct costing costing = {
        .module = module,
        .costs = mem_alloc((module->instructions.count + 1) * sizeof *costing.costs),
        .sums = mem_zeroed(count + 1, sizeof *costing.sums),
        .is_known = mem_zeroed(count + 1, sizeof *costing.is_known),
    };
    for (size_t i = 0; i < module->instructions.count; i++)
        costing.costs[i] = (struct hlo_cost){
            .flops = NAN,
            .matrix_flops = NAN,
            .bytes_read = -1,
            .bytes_written = -1,
            .bytes_accessed = -1,
        };
    for (uint32_t i = 0; i < module->ordered_count; i++) {
        uint32_t number = module->callees_first[i];
        const struct hlo_computation *computation = &module->computations.items[number];
        for (uint32_t k = 0; k < computation->count; k++) {
            uint32_t at = computation->first + k;
            cost_instruction(&costing, &module->instructions.items[at], &costing.costs[at]);
            add_to_sum(&costing.sums[number], &costing.costs[at]);
        }
        costing.is_known[number] = true;
    }
    mem_free(costing.sums);
    mem_free(costing.is_known);
    return costing.costs;
}
