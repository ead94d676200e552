/*
 * Dots and convolutions. A convolution is a dot of the kernel with the input's windows, which are
 * slices of the padded input, placed side by side.
 */
#include "neuron/compiler/hlo/expand.h"

enum {
    DOT_LHS_CONTRACTING = 1,
    DOT_RHS_CONTRACTING = 2,
    DOT_LHS_BATCH = 3,
    DOT_RHS_BATCH = 4,
};

static bool axes_of(struct pb_reader in, uint32_t number, uint8_t *axes, uint32_t *count)
{
    int64_t list[IR_RANK];
    if (!hlo_list(in, number, IR_RANK, list, count))
        return false;
    for (uint32_t i = 0; i < *count; i++) {
        if (list[i] < 0 || list[i] >= IR_RANK)
            return false;
        axes[i] = (uint8_t)list[i];
    }
    return true;
}

uint32_t expand_dot(struct expand *expand, const struct typed_instruction *at, const uint32_t *args)
{
    struct pb_reader numbers = hlo_message(at->bytes, HLO_DOT);
    struct ir_dot_axes axes;
    uint32_t batch, contract;
    if (!axes_of(numbers, DOT_LHS_CONTRACTING, axes.lhs_contract, &axes.contract_count) ||
        !axes_of(numbers, DOT_RHS_CONTRACTING, axes.rhs_contract, &contract) ||
        !axes_of(numbers, DOT_LHS_BATCH, axes.lhs_batch, &axes.batch_count) ||
        !axes_of(numbers, DOT_RHS_BATCH, axes.rhs_batch, &batch) || batch != axes.batch_count ||
        contract != axes.contract_count)
        return expand_fail(expand, at, "its dimensions are malformed");
    return ir_dot(expand->ir, args[0], args[1], &axes, at->shape.type.dtype);
}

/* Dimensions of input [batch, spatial.., feature], kernel [spatial.., input, output] and output
 * [batch, spatial.., feature], as permutations to these orders. */
struct convolution {
    struct window window;
    uint32_t spatial;
    uint8_t input[IR_RANK], kernel[IR_RANK], output[IR_RANK];
    uint32_t feature_groups, batch_groups;
    uint32_t out[IR_RANK]; /* spatial sizes of the output */
    uint32_t places, positions;
};

static bool ordered(struct pb_reader in, uint32_t rank, uint32_t spatial_field, uint32_t first,
                    uint32_t last, uint32_t last_count, uint8_t *order)
{
    uint32_t count, used = 0, seen = 0;
    uint8_t spatial[IR_RANK];
    if (!axes_of(in, spatial_field, spatial, &count) || count + 2 != rank)
        return false;
    if (last_count == 1)
        order[used++] = (uint8_t)hlo_number(in, first);
    for (uint32_t i = 0; i < count; i++)
        order[used++] = spatial[i];
    if (last_count == 2)
        order[used++] = (uint8_t)hlo_number(in, first);
    order[used++] = (uint8_t)hlo_number(in, last);
    for (uint32_t i = 0; i < used; i++) {
        if (order[i] >= rank || (seen >> order[i] & 1))
            return false;
        seen |= 1U << order[i];
    }
    return true;
}

static bool read_convolution(const struct typed_instruction *at, uint32_t rank,
                             struct convolution *to)
{
    struct pb_reader numbers = hlo_message(at->bytes, HLO_CONVOLUTION);
    int64_t features = hlo_number(at->bytes, HLO_FEATURE_GROUPS);
    int64_t batches = hlo_number(at->bytes, HLO_BATCH_GROUPS);
    if (rank < 2 || !expand_window(at, &to->window) || to->window.rank != rank - 2 ||
        features < 0 || features > INT32_MAX || batches < 0 || batches > INT32_MAX)
        return false;
    to->spatial = rank - 2;
    to->feature_groups = features ? (uint32_t)features : 1;
    to->batch_groups = batches ? (uint32_t)batches : 1;
    return ordered(numbers, rank, 11, 7, 8, 1, to->input) &&
           ordered(numbers, rank, 6, 3, 4, 2, to->kernel) &&
           ordered(numbers, rank, 12, 9, 10, 1, to->output);
}

/* The input with its edges and the zeros between its elements. */
static uint32_t padded_input(struct ir *ir, uint32_t input, const struct convolution *with)
{
    int64_t low[IR_RANK] = {0}, high[IR_RANK] = {0}, interior[IR_RANK] = {0};
    for (uint32_t i = 0; i < with->spatial; i++) {
        low[i + 1] = with->window.low[i];
        high[i + 1] = with->window.high[i];
        interior[i + 1] = with->window.base_dilation[i] - 1;
    }
    return ir_pad(ir, fold_transpose(ir, input, with->input), low, high, interior, 0);
}

static bool measure(struct ir *ir, uint32_t input, uint32_t kernel, struct convolution *with)
{
    uint64_t places = 1, positions = 1;
    for (uint32_t i = 0; i < with->spatial; i++) {
        const struct window *window = &with->window;
        int64_t length = ir_type_of(ir, input)->size[i + 1];
        int64_t span = (window->size[i] - 1) * window->dilation[i] + 1;
        if (span > length || ir_type_of(ir, kernel)->size[i] != window->size[i])
            return false;
        with->out[i] = (uint32_t)((length - span) / window->stride[i] + 1);
        places *= (uint64_t)window->size[i];
        positions *= with->out[i];
        if (places > INT32_MAX || positions > INT32_MAX)
            return false;
    }
    with->places = (uint32_t)places;
    with->positions = (uint32_t)positions;
    return true;
}

/* Windows [batch, positions, places, feature]. They are made of one slice per place in the window,
 * over all positions, or of one slice per position, over the whole window, whichever are fewer. */
static uint32_t windows_of(struct ir *ir, uint32_t input, const struct convolution *with)
{
    const struct window *window = &with->window;
    struct ir_type type = *ir_type_of(ir, input);
    bool by_place = with->places <= with->positions;
    uint32_t count = by_place ? with->places : with->positions;
    uint32_t *slices = mem_zeroed(count, sizeof *slices);
    int64_t at[IR_RANK] = {0}, start[IR_RANK] = {0}, step[IR_RANK];
    uint32_t size[IR_RANK];
    for (uint32_t i = 0; i < type.rank; i++) {
        step[i] = 1;
        size[i] = type.size[i];
    }
    uint32_t shape[] = {type.size[0], by_place ? with->positions : 1, by_place ? 1 : with->places,
                        type.size[type.rank - 1]};
    for (uint32_t k = 0; k < count && !ir->failed; k++) {
        for (uint32_t i = 0; i < with->spatial; i++) {
            int64_t other = by_place ? window->dilation[i] : window->stride[i];
            start[i + 1] = at[i] * other;
            step[i + 1] = by_place ? window->stride[i] : window->dilation[i];
            size[i + 1] = by_place ? with->out[i] : (uint32_t)window->size[i];
        }
        slices[k] = ir_reshape(ir, ir_slice(ir, input, start, step, size), 4, shape);
        for (uint32_t i = with->spatial; i-- > 0;) {
            if (++at[i] < (by_place ? window->size[i] : with->out[i]))
                break;
            at[i] = 0;
        }
    }
    uint32_t windows = ir_concatenate(ir, slices, count, by_place ? 2 : 1);
    mem_free(slices);
    return windows;
}

/* Kernel [places, input, groups, output of a group]. */
static uint32_t kernel_of(struct ir *ir, uint32_t kernel, const struct convolution *with)
{
    struct ir_type type = *ir_type_of(ir, kernel);
    uint32_t groups = with->feature_groups * with->batch_groups, last = type.rank - 1U;
    int64_t start[IR_RANK] = {0}, step[IR_RANK];
    for (uint32_t i = 0; i < type.rank; i++) {
        bool is_reversed = i < with->spatial && with->window.is_reversed[i] && type.size[i] > 1;
        step[i] = is_reversed ? -1 : 1;
        start[i] = is_reversed ? (int64_t)type.size[i] - 1 : 0;
    }
    const uint32_t size[] = {with->places, type.size[last - 1], groups, type.size[last] / groups};
    return ir_reshape(ir, ir_slice(ir, kernel, start, step, type.size), 4, size);
}

/* The window and group numbers come from the file and are checked before they size anything. At
 * most one kind of groups may exceed 1, as in HLO; it becomes the batch dimension of the dot. */
uint32_t expand_convolution(struct expand *expand, const struct typed_instruction *at,
                            const uint32_t *args)
{
    struct ir *ir = expand->ir;
    struct convolution with;
    uint32_t rank = ir_type_of(ir, args[0])->rank;
    if (rank != ir_type_of(ir, args[1])->rank || rank != at->shape.type.rank ||
        !read_convolution(at, rank, &with))
        return expand_fail(expand, at, "its dimensions are malformed");
    uint32_t input = padded_input(ir, args[0], &with);
    uint32_t kernel = fold_transpose(ir, args[1], with.kernel);
    if (ir->failed)
        return IR_NONE;
    if (!measure(ir, input, kernel, &with))
        return expand_fail(expand, at, "its window does not match its operands");
    if (with.places > EXPAND_WINDOW && with.positions > EXPAND_WINDOW)
        return expand_fail(expand, at,
                           "windows of more than %d elements at more than as many positions",
                           EXPAND_WINDOW);
    struct ir_type in = *ir_type_of(ir, input), of = *ir_type_of(ir, kernel);
    uint32_t features = with.feature_groups, batches = with.batch_groups;
    uint32_t groups = features * batches, outputs = of.size[rank - 1];
    if ((features > 1 && batches > 1) || in.size[rank - 1] % features || in.size[0] % batches ||
        outputs % groups || in.size[rank - 1] / features != of.size[rank - 2])
        return expand_fail(expand, at, "its groups do not match its operands");
    /* [batch groups, batch, positions, places, feature groups, feature] */
    uint32_t batch = in.size[0] / batches, depth = of.size[rank - 2];
    const uint32_t split[] = {batches, batch, with.positions, with.places, features, depth};
    uint32_t lhs = ir_reshape(ir, windows_of(ir, input, &with), 6, split);
    struct ir_dot_axes axes = {
        .batch_count = 1,
        .contract_count = 2,
        .lhs_contract = {3, 5},
        .rhs_contract = {0, 1},
        .lhs_batch = {batches > 1 ? 0 : 4},
        .rhs_batch = {2},
    };
    uint32_t dot = ir_dot(ir, lhs, kernel_of(ir, kernel, &with), &axes, at->shape.type.dtype);
    /* [groups, 1 or batch, .., positions, .., output of a group]: one of the lhs's groups is 1. */
    const uint32_t flat[] = {groups, batch, with.positions, outputs / groups};
    const uint8_t behind[] = {1, 2, 0, 3};
    uint32_t result = ir_transpose(ir, ir_reshape(ir, dot, 4, flat), behind);
    uint32_t size[IR_RANK] = {batch};
    uint8_t back[IR_RANK];
    memcpy(size + 1, with.out, with.spatial * sizeof *size);
    size[rank - 1] = outputs;
    for (uint32_t i = 0; i < rank; i++)
        back[with.output[i]] = (uint8_t)i;
    return ir_transpose(ir, ir_reshape(ir, result, rank, size), back);
}
