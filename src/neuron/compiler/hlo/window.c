/*
 * Windows that move over a tensor: pooling, cumulative sums, and the gradient of pooling. A
 * reduction over a window is done dimension by dimension. The part of a window outside the tensor
 * is left out: it is padded with the operation's identity or, where that is unknown, a mask tells
 * the elements from the padding. The initial value is combined with each window once, at the end.
 */
#include "neuron/compiler/hlo/expand.h"

enum {
    WINDOW_DIMENSIONS = PB_TAG(1, PB_BYTES),
};

static int64_t at_least_one(int64_t value)
{
    return value == 0 ? 1 : value;
}

/* Limits every number to 31 bits, so that callers can multiply two of them without overflow. */
bool expand_window(const struct typed_instruction *at, struct window *window)
{
    const int64_t limit = INT32_MAX;
    struct pb_reader in = hlo_message(at->bytes, HLO_WINDOW);
    struct pb_field field;
    *window = (struct window){0};
    while (pb_next(&in, &field)) {
        if (field.tag != WINDOW_DIMENSIONS)
            continue;
        struct pb_reader dimension = pb_enter(&field);
        uint32_t i = window->rank++;
        if (i == IR_RANK)
            return false;
        window->size[i] = hlo_number(dimension, 1);
        window->stride[i] = at_least_one(hlo_number(dimension, 2));
        window->low[i] = hlo_number(dimension, 3);
        window->high[i] = hlo_number(dimension, 4);
        window->dilation[i] = at_least_one(hlo_number(dimension, 5));
        window->base_dilation[i] = at_least_one(hlo_number(dimension, 6));
        window->is_reversed[i] = hlo_number(dimension, 7) != 0;
        if (window->size[i] < 1 || window->size[i] > limit || window->stride[i] < 1 ||
            window->stride[i] > limit || window->dilation[i] < 1 || window->dilation[i] > limit ||
            window->base_dilation[i] < 1 || window->base_dilation[i] > limit ||
            window->low[i] > limit || window->low[i] < -limit || window->high[i] > limit ||
            window->high[i] < -limit)
            return false;
    }
    return in.problem == NULL;
}

struct pooling {
    struct expand *expand;
    const struct typed_instruction *at;
    uint32_t count, mask_count;   /* arrays; 1 with a mask, behind the arrays */
    uint32_t values[IR_RANK + 1]; /* arrays and mask */
};

/* `size` elements of each array along a dimension. */
static bool cut(const struct pooling *pooling, const uint32_t *values, uint32_t axis, int64_t start,
                int64_t step, int64_t size, uint32_t *parts)
{
    struct ir *ir = pooling->expand->ir;
    for (uint32_t i = 0; i < pooling->count + pooling->mask_count && !ir->failed; i++) {
        struct ir_type type = *ir_type_of(ir, values[i]);
        int64_t starts[IR_RANK] = {0}, steps[IR_RANK];
        for (uint32_t d = 0; d < type.rank; d++)
            steps[d] = 1;
        starts[axis] = start;
        steps[axis] = step;
        type.size[axis] = (uint32_t)size;
        parts[i] = ir_slice(ir, values[i], starts, steps, type.size);
    }
    return !ir->failed;
}

static bool combine(const struct pooling *pooling, const uint32_t *a, const uint32_t *b,
                    uint32_t *result)
{
    struct ir *ir = pooling->expand->ir;
    uint32_t both[IR_RANK], count = pooling->count, in_a = a[count], in_b = b[count];
    if (!expand_combine(pooling->expand, pooling->at, pooling->at->callees[0], a, b, count, both))
        return false;
    for (uint32_t i = 0; i < count; i++)
        result[i] = pooling->mask_count
                        ? ir_select(ir, in_a, ir_select(ir, in_b, both[i], a[i]), b[i])
                        : both[i];
    if (pooling->mask_count)
        result[count] = ir_binary(ir, ALU_OR, in_a, in_b);
    return !ir->failed;
}

/* Few elements, far apart: one slice for each place in the window. */
static bool pool_by_slices(struct pooling *pooling, const struct window *window, uint32_t axis,
                           int64_t positions)
{
    uint32_t sum[IR_RANK + 1] = {0}, part[IR_RANK + 1] = {0};
    for (int64_t k = 0; k < window->size[axis]; k++) {
        if (!cut(pooling, pooling->values, axis, k * window->dilation[axis], window->stride[axis],
                 positions, k ? part : sum) ||
            (k > 0 && !combine(pooling, sum, part, sum)))
            return false;
    }
    memcpy(pooling->values, sum, sizeof sum);
    return true;
}

/* A long window is composed of windows whose sizes are powers of two. */
static bool pool_by_doubling(struct pooling *pooling, const struct window *window, uint32_t axis,
                             int64_t positions)
{
    struct ir *ir = pooling->expand->ir;
    uint32_t power[IR_RANK + 1], sum[IR_RANK + 1] = {0}, a[IR_RANK + 1] = {0}, b[IR_RANK + 1] = {0};
    int64_t dilation = window->dilation[axis], done = 0, wide = 1;
    int64_t reach = (positions - 1) * window->stride[axis] + 1; /* positions where windows begin */
    memcpy(power, pooling->values, sizeof power);
    for (;;) {
        if (window->size[axis] & wide) {
            if (!cut(pooling, power, axis, done * dilation, 1, reach, done ? b : sum) ||
                (done && !combine(pooling, sum, b, sum)))
                return false;
            done += wide;
        }
        if (done == window->size[axis])
            break;
        int64_t left = (int64_t)ir_type_of(ir, power[0])->size[axis] - wide * dilation;
        if (!cut(pooling, power, axis, 0, 1, left, a) ||
            !cut(pooling, power, axis, wide * dilation, 1, left, b) ||
            !combine(pooling, a, b, power))
            return false;
        wide *= 2;
    }
    return cut(pooling, sum, axis, 0, window->stride[axis], positions, pooling->values);
}

static bool pool_dimension(struct pooling *pooling, const struct window *window, uint32_t axis)
{
    int64_t length = ir_type_of(pooling->expand->ir, pooling->values[0])->size[axis];
    int64_t span = (window->size[axis] - 1) * window->dilation[axis] + 1;
    if (span > length) {
        expand_fail(pooling->expand, pooling->at, "its window is larger than the tensor");
        return false;
    }
    int64_t positions = (length - span) / window->stride[axis] + 1;
    bool is_short = window->size[axis] <= 4 ||
                    (window->stride[axis] > 1 && window->size[axis] <= 4 * window->stride[axis]);
    if (is_short && window->size[axis] <= EXPAND_WINDOW)
        return pool_by_slices(pooling, window, axis, positions);
    return pool_by_doubling(pooling, window, axis, positions);
}

static bool is_padded(const struct window *window)
{
    for (uint32_t i = 0; i < window->rank; i++)
        if (window->low[i] > 0 || window->high[i] > 0 || window->base_dilation[i] > 1)
            return true;
    return false;
}

/* The arrays, padded, and the mask. */
static bool begin_pooling(struct pooling *pooling, const struct window *window,
                          const uint32_t *arrays)
{
    struct ir *ir = pooling->expand->ir;
    enum alu alu =
        pooling->count == 1 ? expand_monoid(pooling->expand, pooling->at->callees[0]) : ALU_NONE;
    int64_t interior[IR_RANK];
    for (uint32_t i = 0; i < window->rank; i++)
        interior[i] = window->base_dilation[i] - 1;
    for (uint32_t i = 0; i < pooling->count && !ir->failed; i++) {
        uint32_t padding = expand_monoid_identity(ir, alu, ir_type_of(ir, arrays[i]));
        pooling->values[i] =
            expand_padded(ir, arrays[i], padding, window->low, window->high, interior);
    }
    pooling->mask_count = alu == ALU_NONE && is_padded(window);
    if (pooling->mask_count && !ir->failed) {
        struct ir_type mask = ir_with_dtype(*ir_type_of(ir, arrays[0]), DTYPE_UINT8, true);
        pooling->values[pooling->count] =
            ir_pad(ir, ir_integer(ir, mask, 1), window->low, window->high, interior, 0);
    }
    return !ir->failed;
}

/* Windows that are all padding have the initial values alone. */
static bool add_initial(struct pooling *pooling, const uint32_t *inits)
{
    struct ir *ir = pooling->expand->ir;
    uint32_t starts[IR_RANK + 1] = {0}, mask = pooling->values[pooling->count];
    for (uint32_t i = 0; i < pooling->count; i++)
        starts[i] = fold_fill(ir, inits[i], *ir_type_of(ir, pooling->values[i]));
    if (pooling->mask_count)
        starts[pooling->count] = ir_integer(ir, *ir_type_of(ir, mask), 1);
    return !ir->failed && combine(pooling, starts, pooling->values, pooling->values);
}

void expand_reduce_window(struct expand *expand, const struct typed_instruction *at,
                          struct value *result)
{
    struct window window;
    struct pooling pooling = {expand, at, at->operand_count / 2, 0, {0}};
    uint32_t arrays[IR_RANK] = {0}, inits[IR_RANK] = {0};
    if (at->callee_count != 1 || !expand_window(at, &window) ||
        !expand_reduced_operands(expand, at, arrays, inits) ||
        ir_type_of(expand->ir, arrays[0])->rank != window.rank) {
        expand_fail(expand, at, "its window does not match its operands");
        return;
    }
    if (!begin_pooling(&pooling, &window, arrays))
        return;
    /* Starting from the last one, elements are combined in order, which matters to some
     * operations. */
    for (uint32_t i = window.rank; i-- > 0;)
        if ((window.size[i] > 1 || window.stride[i] > 1) && !pool_dimension(&pooling, &window, i))
            return;
    if (!add_initial(&pooling, inits))
        return;
    *result = expand_make_value(&expand->frame->memory, pooling.count);
    memcpy(result->leaves, pooling.values, pooling.count * sizeof *pooling.values);
}

/* The window of one place, in the positions of the source. */
static uint32_t window_part(struct ir *ir, uint32_t operand, const struct window *window,
                            const struct ir_type *source, const int64_t *place)
{
    return ir_slice(ir, operand, place, window->stride, source->size);
}

/* Back from the positions of the source to the operand's. */
static uint32_t spread(struct ir *ir, uint32_t value, const struct window *window,
                       const struct ir_type *whole, const int64_t *place)
{
    struct ir_type type = *ir_type_of(ir, value);
    int64_t high[IR_RANK], interior[IR_RANK];
    for (uint32_t i = 0; i < type.rank; i++) {
        interior[i] = window->stride[i] - 1;
        high[i] = (int64_t)whole->size[i] - place[i] -
                  (((int64_t)type.size[i] - 1) * window->stride[i] + 1);
    }
    return ir_pad(ir, value, place, high, interior, 0);
}

static void next_place(const struct window *window, int64_t *place)
{
    for (uint32_t d = window->rank; d-- > 0;) {
        if (++place[d] < window->size[d])
            break;
        place[d] = 0;
    }
}

/* Which place of each window is selected, as its number. */
static uint32_t selected(struct expand *expand, const struct typed_instruction *at,
                         uint32_t operand, const struct window *window,
                         const struct ir_type *source, int64_t places)
{
    struct ir *ir = expand->ir;
    struct ir_type index = ir_with_dtype(*source, DTYPE_INT32, false);
    int64_t place[IR_RANK] = {0};
    uint32_t best = IR_NONE, which = ir_integer(ir, index, 0);
    for (int64_t k = 0; k < places && !ir->failed; k++, next_place(window, place)) {
        uint32_t part = window_part(ir, operand, window, source, place);
        if (k == 0) {
            best = part;
            continue;
        }
        const uint32_t both[] = {best, part};
        struct value keep;
        if (!expand_apply(expand, at, at->callees[0], both, 2, &keep))
            return IR_NONE;
        best = ir_select(ir, keep.leaves[0], best, part);
        which = ir_select(ir, keep.leaves[0], which, ir_integer(ir, index, k));
    }
    return which;
}

/* First finds which place of each window was selected, then adds the source for one place at a
 * time: there is no instruction that scatters by such a choice. */
uint32_t expand_select_and_scatter(struct expand *expand, const struct typed_instruction *at,
                                   const uint32_t *args)
{
    struct ir *ir = expand->ir;
    struct window window;
    struct ir_type whole = *ir_type_of(ir, args[0]), source = *ir_type_of(ir, args[1]);
    int64_t places = 1, place[IR_RANK] = {0};
    bool is_sound = at->callee_count == 2 && expand_window(at, &window) &&
                    window.rank == whole.rank && source.rank == whole.rank;
    for (uint32_t i = 0; is_sound && i < window.rank; i++) {
        places = places > EXPAND_WINDOW ? places : places * window.size[i];
        is_sound = window.low[i] == 0 && window.high[i] == 0 && window.dilation[i] == 1 &&
                   window.base_dilation[i] == 1;
    }
    if (!is_sound || places > EXPAND_WINDOW)
        return expand_fail(expand, at, "its window is padded, dilated, or has more than %d places",
                           EXPAND_WINDOW);
    if (expand_monoid(expand, at->callees[1]) != ALU_ADD)
        return expand_fail(expand, at,
                           "it combines scattered values by something other than addition");
    uint32_t which = selected(expand, at, args[0], &window, &source, places);
    uint32_t sum = fold_fill(ir, args[2], whole);
    if (ir->failed)
        return IR_NONE;
    struct ir_type index = *ir_type_of(ir, which);
    for (int64_t k = 0; k < places && !ir->failed; k++, next_place(&window, place)) {
        uint32_t here = ir_binary(ir, ALU_EQUAL, which, ir_integer(ir, index, k));
        uint32_t part = ir_select(ir, here, args[1], ir_number(ir, source, 0));
        if (!ir->failed)
            sum = ir_binary(ir, ALU_ADD, sum, spread(ir, part, &window, &whole, place));
    }
    return sum;
}
