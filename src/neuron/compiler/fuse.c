/*
 * Groups of operations that are lowered together. An operation joins the last group it depends on
 * if it takes each element from where the group has it at that moment: the same position in the
 * domain or, after a reduction, the row it belongs to.
 */
#include "neuron/compiler/lower.h"

enum {
    MAX_NODES = 96,
    ROW_SHARE = 4, /* rows of a group may take this fraction of SBUF */
};

/* Dimension sizes without those of 1; returns how many. */
static uint32_t squeezed(const struct ir_type *type, uint32_t size[static IR_RANK])
{
    uint32_t rank = 0;
    for (uint32_t i = 0; i < type->rank; i++)
        if (type->size[i] > 1)
            size[rank++] = type->size[i];
    return rank;
}

/* The same of a mask of dimensions. */
static uint32_t squeezed_mask(const struct ir_type *type, uint32_t mask)
{
    uint32_t result = 0, rank = 0;
    for (uint32_t i = 0; i < type->rank; i++)
        if (type->size[i] > 1)
            result |= (mask >> i & 1) << rank++;
    return result;
}

static bool is_tiled(const struct ir_node *node)
{
    return (node->kind >= IR_UNARY && node->kind <= IR_IOTA) || node->kind == IR_REDUCE ||
           node->kind == IR_DOT || node->kind == IR_GATHER;
}

static bool is_view(const struct ir_node *node)
{
    return node->kind <= IR_CONSTANT || (node->kind >= IR_BROADCAST && node->kind <= IR_SLICE);
}

/* The steps with which a row-major value is walked over the domain: all of it, or its rows. */
static void domain_steps(const struct fused_group *group, bool is_row, int64_t step[static IR_RANK])
{
    int64_t next = 1;
    for (uint32_t i = group->rank; i-- > 0;) {
        bool is_left = is_row && (group->mask >> i & 1);
        step[i] = is_left ? 0 : next;
        next *= is_left ? 1 : group->size[i];
    }
}

/* Whether an access over the whole domain, or over its rows, walks a value of the group as the
 * group has it. */
static bool is_in_place(const struct fused_group *group, const struct access *access,
                        bool over_rows, bool value_is_row)
{
    struct access walk = access_squeezed(access);
    int64_t expected[IR_RANK];
    if (over_rows && !value_is_row)
        return false;
    domain_steps(group, value_is_row, expected);
    if (walk.offset != 0)
        return false;
    for (uint32_t i = 0, at = 0; i < group->rank; i++) {
        if (over_rows && (group->mask >> i & 1))
            continue;
        if (walk.step[at++] != expected[i])
            return false;
    }
    return true;
}

static bool has_shape(const struct fused_group *group, const struct ir_type *type, bool rows)
{
    uint32_t size[IR_RANK], rank = squeezed(type, size), at = 0;
    for (uint32_t i = 0; i < group->rank; i++) {
        if (rows && (group->mask >> i & 1))
            continue;
        if (at == rank || size[at++] != group->size[i])
            return false;
    }
    return at == rank;
}

static uint32_t row_elements(const struct fused_group *group, uint32_t mask)
{
    uint64_t count = 1;
    for (uint32_t i = 0; i < group->rank; i++)
        if (mask >> i & 1)
            count *= group->size[i];
    return count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;
}

/* The most bytes of a partition that the rows of a node and its loads take. */
static uint64_t rows_of(const struct lower *lower, const struct fused_group *group,
                        const struct ir_node *node, uint32_t mask)
{
    uint64_t bytes = 0, elements = row_elements(group, mask);
    for (uint32_t i = 0; i <= node->arg_count; i++) {
        const struct ir_type *type =
            i == node->arg_count ? &node->type : ir_type_of(lower->ir, node->args[i]);
        bytes += elements * dtype_bytes(type->dtype);
    }
    return bytes;
}

static uint64_t row_limit(const struct lower *lower)
{
    return lower->emit.hardware->sbuf_bytes / ROW_SHARE;
}

static uint64_t group_rows(const struct lower *lower, const struct fused_group *group,
                           uint32_t mask)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < group->nodes.count; i++)
        bytes += rows_of(lower, group, &lower->ir->nodes.items[group->nodes.items[i]], mask);
    return bytes;
}

/* Dimensions of the domain of a dot that come from its right side. */
static uint32_t dot_columns(const struct lower *lower, uint32_t head)
{
    const struct ir_node *node = &lower->ir->nodes.items[head];
    const struct ir_type *rhs = ir_type_of(lower->ir, node->args[1]);
    uint32_t columns = rhs->rank - node->batch_rank - (uint32_t)node->contract_rank;
    uint32_t mask = ((1U << columns) - 1) << (node->type.rank - columns);
    return squeezed_mask(&node->type, mask);
}

static bool joins_as(const struct lower *lower, uint32_t index, uint32_t node, bool as_row)
{
    const struct fused_group *group = &lower->groups.items[index];
    const struct ir_node *n = &lower->ir->nodes.items[node];
    for (uint32_t i = 0; i < n->arg_count; i++) {
        const struct access *access = &lower->accesses[n->args[i]];
        if (lower->group_of[access->base] != index)
            continue;
        bool value_is_row = lower->is_row[access->base];
        if (!is_in_place(group, access, as_row, value_is_row))
            return false;
        if (group->has_large_rows && value_is_row && !as_row)
            return false;
    }
    return true;
}

static bool try_elementwise(struct lower *lower, uint32_t index, uint32_t node)
{
    struct fused_group *group = &lower->groups.items[index];
    const struct ir_node *n = &lower->ir->nodes.items[node];
    bool as_row = group->mask && has_shape(group, &n->type, true);
    if (!as_row && !has_shape(group, &n->type, false))
        return false;
    if (!joins_as(lower, index, node, as_row))
        return false;
    if (group->mask && !as_row && !group->has_large_rows &&
        group_rows(lower, group, group->mask) + rows_of(lower, group, n, group->mask) >
            row_limit(lower))
        return false;
    lower->is_row[node] = as_row;
    return true;
}

static bool try_reduce(struct lower *lower, uint32_t index, uint32_t node)
{
    struct fused_group *group = &lower->groups.items[index];
    const struct ir_node *n = &lower->ir->nodes.items[node];
    const struct ir_type *from = ir_type_of(lower->ir, n->args[0]);
    uint32_t mask = squeezed_mask(from, n->mask);
    const struct access *access = &lower->accesses[n->args[0]];
    if (lower->group_of[access->base] != index || lower->is_row[access->base] ||
        !has_shape(group, from, false) || !is_in_place(group, access, false, false))
        return false;
    if (group->mask && group->mask != mask)
        return false;
    uint64_t bytes = group_rows(lower, group, mask) + rows_of(lower, group, n, mask);
    bool is_large = bytes > row_limit(lower);
    if (group->head != IR_NONE && (is_large || lower->ir->nodes.items[group->head].kind != IR_DOT ||
                                   mask != dot_columns(lower, group->head)))
        return false;
    if (is_large && group->mask && !group->has_large_rows)
        return false;
    group->has_large_rows |= is_large;
    group->mask = mask;
    lower->is_row[node] = true;
    return true;
}

static void begin_group(struct lower *lower, uint32_t node)
{
    const struct ir_node *n = &lower->ir->nodes.items[node];
    struct fused_group *group = array_push(&lower->groups);
    memset(group, 0, sizeof *group);
    group->head = n->kind == IR_DOT || n->kind == IR_GATHER ? node : IR_NONE;
    group->is_move = !is_tiled(n);
    const struct ir_type *shape =
        n->kind == IR_REDUCE ? ir_type_of(lower->ir, n->args[0]) : &n->type;
    group->rank = squeezed(shape, group->size);
    lower->is_row[node] = n->kind == IR_REDUCE;
    if (n->kind == IR_REDUCE) {
        group->mask = squeezed_mask(shape, n->mask);
        group->has_large_rows = rows_of(lower, group, n, group->mask) > row_limit(lower);
    }
}

/* The last group that computes an operand of the node. */
static uint32_t last_operand_group(const struct lower *lower, const struct ir_node *node)
{
    uint32_t last = IR_NONE;
    for (uint32_t i = 0; i < node->arg_count; i++) {
        uint32_t group = lower->group_of[lower->accesses[node->args[i]].base];
        if (group != IR_NONE && (last == IR_NONE || group > last))
            last = group;
    }
    return last;
}

static bool try_join(struct lower *lower, uint32_t index, uint32_t node)
{
    const struct ir_node *n = &lower->ir->nodes.items[node];
    const struct fused_group *group = &lower->groups.items[index];
    if (group->is_move || group->nodes.count >= MAX_NODES)
        return false;
    if (n->kind == IR_REDUCE)
        return try_reduce(lower, index, node);
    if (n->kind >= IR_UNARY && n->kind <= IR_CONVERT)
        return try_elementwise(lower, index, node);
    return false;
}

/* Which group reads each value last, and which values are needed after their group. */
static void find_last_uses(struct lower *lower)
{
    struct ir *ir = lower->ir;
    for (uint32_t i = 0; i < ir->nodes.count; i++) {
        uint32_t group = lower->group_of[i];
        for (uint32_t k = 0; group != IR_NONE && k < ir->nodes.items[i].arg_count; k++) {
            uint32_t base = lower->accesses[ir->nodes.items[i].args[k]].base;
            if (lower->group_of[base] != group || lower->groups.items[group].is_move)
                if (lower->last_group[base] == IR_NONE || lower->last_group[base] < group)
                    lower->last_group[base] = group;
        }
    }
    for (size_t i = 0; i < ir->outputs.count; i++) /* copied at the end, or outputs themselves */
        if (ir->outputs.items[i].value != IR_NONE)
            lower->last_group[lower->accesses[ir->outputs.items[i].value].base] =
                (uint32_t)lower->groups.count;
}

/* Nodes that outputs depend on. */
static bool *find_live(const struct ir *ir)
{
    bool *live = mem_zeroed(ir->nodes.count + 1, sizeof *live);
    for (size_t i = 0; i < ir->outputs.count; i++)
        if (ir->outputs.items[i].value != IR_NONE)
            live[ir->outputs.items[i].value] = true;
    for (size_t i = ir->nodes.count; i-- > 0;)
        for (uint32_t k = 0; live[i] && k < ir->nodes.items[i].arg_count; k++)
            live[ir->nodes.items[i].args[k]] = true;
    return live;
}

void fuse(struct lower *lower)
{
    bool *live = find_live(lower->ir);
    for (uint32_t i = 0; i < lower->ir->nodes.count; i++) {
        const struct ir_node *node = &lower->ir->nodes.items[i];
        lower->group_of[i] = lower->last_group[i] = IR_NONE;
        if (is_view(node) || !live[i])
            continue;
        uint32_t last = last_operand_group(lower, node);
        if (last == IR_NONE || !try_join(lower, last, i)) {
            begin_group(lower, i);
            last = (uint32_t)lower->groups.count - 1;
        }
        lower->group_of[i] = last;
        *array_push(&lower->groups.items[last].nodes) = i;
    }
    mem_free(live);
    find_last_uses(lower);
}
