/*
 * Indices of gathers and scatters as numbers of rows, and gathers.
 */
#include "neuron/compiler/hlo/rows.h"

enum {
    GATHER_OFFSET = 1,
    GATHER_COLLAPSED = 2,
    GATHER_MAP = 3,
    GATHER_VECTOR_AXIS = 4,
    GATHER_TABLE_BATCHING = 5,
    GATHER_INDEX_BATCHING = 6,
};

/* Indices as [batch.., components]. */
static bool order_indices(struct ir *ir, struct expand_rows *rows)
{
    struct ir_type type = *ir_type_of(ir, rows->indices);
    uint8_t order[IR_RANK];
    if (rows->vector_axis > type.rank || ir_is_float(&type) || type.is_bool)
        return false;
    if (rows->vector_axis == type.rank) {
        if (type.rank == IR_RANK)
            return false;
        type.size[type.rank++] = 1;
        rows->indices = fold_reshape(ir, rows->indices, type.rank, type.size);
    }
    for (uint32_t i = 0, used = 0; i < type.rank; i++)
        if (i != rows->vector_axis)
            order[used++] = (uint8_t)i;
    order[type.rank - 1] = (uint8_t)rows->vector_axis;
    rows->indices = fold_transpose(ir, rows->indices, order);
    if (ir->failed || ir_type_of(ir, rows->indices)->size[type.rank - 1] != rows->map_count)
        return false;
    rows->batch = ir_with_dtype(*ir_type_of(ir, rows->indices), DTYPE_INT32, false);
    rows->batch.rank--;
    for (uint32_t i = 0; i < rows->batching_count; i++) {
        uint32_t axis = rows->index_batching[i];
        if (axis == rows->vector_axis || axis >= type.rank)
            return false;
        rows->index_batching[i] = (uint8_t)(axis - (axis > rows->vector_axis));
    }
    return true;
}

static uint32_t component(struct ir *ir, const struct expand_rows *rows, uint32_t which)
{
    struct ir_type type = *ir_type_of(ir, rows->indices);
    int64_t start[IR_RANK] = {0}, step[IR_RANK];
    for (uint32_t i = 0; i < type.rank; i++)
        step[i] = 1;
    start[type.rank - 1] = which;
    type.size[type.rank - 1] = 1;
    uint32_t part = fold_slice(ir, rows->indices, start, step, type.size);
    part = fold_reshape(ir, part, rows->batch.rank, rows->batch.size);
    /* So that no bound exceeds the type. */
    if (!ir->failed && ir_type_of(ir, part)->dtype != DTYPE_INT32)
        part = fold_convert(ir, part, ir_with_dtype(rows->batch, DTYPE_INT64, false));
    return part;
}

static uint32_t with_integer(struct ir *ir, enum alu alu, uint32_t value, int64_t number)
{
    return ir->failed ? IR_NONE
                      : fold_binary(ir, alu, value, ir_integer(ir, *ir_type_of(ir, value), number));
}

/* Each index, clamped so that its window lies inside, and whether it was inside before. */
static void clamp_indices(struct ir *ir, struct expand_rows *rows, bool wants_inside)
{
    rows->inside = IR_NONE;
    for (uint32_t i = 0; i < rows->map_count && !ir->failed; i++) {
        uint32_t axis = rows->map[i], value = component(ir, rows, i);
        int64_t last = (int64_t)rows->table.size[axis] - rows->window[axis];
        if (wants_inside) {
            uint32_t above = with_integer(ir, ALU_GREATER_EQUAL, value, 0);
            uint32_t below = with_integer(ir, ALU_LESS_EQUAL, value, last);
            uint32_t both = fold_binary(ir, ALU_AND, above, below);
            rows->inside =
                rows->inside == IR_NONE ? both : fold_binary(ir, ALU_AND, rows->inside, both);
        }
        value = with_integer(ir, ALU_MAX, value, 0);
        value = with_integer(ir, ALU_MIN, value, last);
        rows->index[axis] = fold_convert(ir, value, rows->batch);
    }
}

static bool sizes_fit(struct expand_rows *rows)
{
    const struct ir_type *table = &rows->table;
    uint32_t named = 0, windows = 0;
    for (uint32_t i = 0; i < table->rank; i++) {
        windows += !rows->is_dropped[i];
        if (rows->window[i] < 1 || rows->window[i] > table->size[i] ||
            (rows->is_dropped[i] && rows->window[i] != 1))
            return false;
    }
    for (uint32_t i = 0; i < rows->map_count + rows->batching_count; i++) {
        uint32_t axis =
            i < rows->map_count ? rows->map[i] : rows->table_batching[i - rows->map_count];
        if (axis >= table->rank || (named >> axis & 1))
            return false;
        named |= 1U << axis;
    }
    for (uint32_t i = 0; i < rows->batching_count; i++)
        if (rows->index_batching[i] >= rows->batch.rank ||
            rows->batch.size[rows->index_batching[i]] != table->size[rows->table_batching[i]])
            return false;
    return windows == rows->offset_count && rows->batch.rank + windows <= IR_RANK;
}

/* Which dimensions make a row's number, and where each is found. */
static bool split_dimensions(struct expand_rows *rows)
{
    uint64_t count = 1, size = 1;
    uint32_t used = 0;
    bool is_row[IR_RANK];
    for (uint32_t i = 0; i < rows->table.rank; i++)
        is_row[i] = rows->window[i] < rows->table.size[i];
    for (uint32_t i = 0; i < rows->batching_count; i++)
        is_row[rows->table_batching[i]] = true;
    rows->numbers = rows->batch;
    for (uint32_t i = 0; i < rows->table.rank; i++) {
        rows->axis[i] = IR_RANK;
        if (!is_row[i])
            continue;
        rows->order[used++] = (uint8_t)i;
        count *= rows->table.size[i];
        if (rows->window[i] > 1) {
            rows->axis[i] = rows->numbers.rank;
            rows->numbers.size[rows->numbers.rank++] = rows->window[i];
        }
    }
    rows->row_rank = used;
    uint32_t others = rows->numbers.rank;
    for (uint32_t i = 0; i < rows->table.rank; i++) {
        if (is_row[i])
            continue;
        rows->order[used++] = (uint8_t)i;
        rows->axis[i] = (uint8_t)(rows->is_dropped[i] ? IR_RANK : others++);
        size *= rows->table.size[i];
    }
    rows->row_count = (uint32_t)count;
    rows->row_size = (uint32_t)size;
    return count <= INT32_MAX && size <= UINT32_MAX;
}

bool rows_prepare(struct expand *expand, const struct typed_instruction *at,
                  struct expand_rows *rows, bool wants_inside)
{
    for (uint32_t i = 0; i < IR_RANK; i++)
        rows->index[i] = IR_NONE;
    if (!order_indices(expand->ir, rows) || !sizes_fit(rows) || !split_dimensions(rows)) {
        expand_fail(expand, at, "its dimensions do not fit together");
        return false;
    }
    clamp_indices(expand->ir, rows, wants_inside);
    return !expand->ir->failed;
}

uint32_t rows_table(struct ir *ir, const struct expand_rows *rows, uint32_t table)
{
    const uint32_t size[] = {rows->row_count, rows->row_size};
    return fold_reshape(ir, fold_transpose(ir, table, rows->order), 2, size);
}

uint32_t rows_back(struct ir *ir, const struct expand_rows *rows, uint32_t table)
{
    uint32_t size[IR_RANK];
    uint8_t back[IR_RANK];
    for (uint32_t i = 0; i < rows->table.rank; i++) {
        size[i] = rows->table.size[rows->order[i]];
        back[rows->order[i]] = (uint8_t)i;
    }
    return ir_transpose(ir, ir_reshape(ir, table, rows->table.rank, size), back);
}

/* The row's number is the mixed-radix number of its indices, innermost last. Known parts are
 * folded, so that a gather by constants stays constant. */
uint32_t rows_which(struct ir *ir, const struct expand_rows *rows)
{
    uint32_t sum = ir_integer(ir, rows->numbers, 0);
    uint8_t batch_axes[IR_RANK];
    int64_t stride = 1;
    for (uint32_t i = 0; i < IR_RANK; i++)
        batch_axes[i] = (uint8_t)i;
    for (uint32_t i = rows->row_rank; i-- > 0 && !ir->failed;) {
        uint32_t axis = rows->order[i], value = ir_integer(ir, rows->numbers, 0);
        if (rows->index[axis] != IR_NONE)
            value = fold_broadcast(ir, rows->index[axis], rows->numbers, batch_axes);
        for (uint32_t k = 0; k < rows->batching_count; k++)
            if (rows->table_batching[k] == axis)
                value = ir_iota(ir, rows->numbers, rows->index_batching[k]);
        if (rows->window[axis] > 1)
            value = fold_binary(ir, ALU_ADD, value, ir_iota(ir, rows->numbers, rows->axis[axis]));
        if (stride > 1)
            value = with_integer(ir, ALU_MULTIPLY, value, stride);
        int64_t known;
        sum = fold_integer(ir, sum, &known) && known == 0 ? value
                                                          : fold_binary(ir, ALU_ADD, sum, value);
        stride *= rows->table.size[axis];
    }
    const uint32_t count = (uint32_t)ir_elements(&rows->numbers);
    return ir->failed ? IR_NONE : fold_reshape(ir, sum, 1, &count);
}

uint32_t rows_axes(const struct expand_rows *rows, uint32_t rank, uint8_t *axes)
{
    uint32_t used = 0, batch = 0, window = 0;
    for (uint32_t i = 0; i < rank; i++) {
        bool is_window = false;
        for (uint32_t k = 0; k < rows->offset_count; k++)
            is_window |= rows->offset[k] == i;
        if (!is_window) {
            axes[used++] = (uint8_t)batch++;
            continue;
        }
        while (window < rows->table.rank && rows->is_dropped[window])
            window++;
        uint8_t axis = window < rows->table.rank ? rows->axis[window++] : IR_RANK;
        if (axis < IR_RANK)
            axes[used++] = axis;
    }
    return used;
}

static bool list_of(struct pb_reader in, uint32_t number, uint32_t limit, uint8_t *list,
                    uint32_t *count)
{
    int64_t values[IR_RANK];
    bool ok = hlo_list(in, number, IR_RANK, values, count);
    for (uint32_t i = 0; ok && i < *count; i++) {
        ok = values[i] >= 0 && values[i] < limit;
        list[i] = (uint8_t)(ok ? values[i] : 0);
    }
    return ok;
}

/* Only checks that each list is well-formed; rows_prepare checks that the lists fit together and
 * match the shapes. */
bool rows_read(struct pb_reader numbers, struct expand_rows *rows, uint32_t other_rank)
{
    uint8_t dropped[IR_RANK];
    uint32_t count, pairs, rank = rows->table.rank;
    int64_t axis = hlo_number(numbers, GATHER_VECTOR_AXIS);
    bool ok = axis >= 0 && axis <= IR_RANK &&
              list_of(numbers, GATHER_OFFSET, other_rank, rows->offset, &rows->offset_count) &&
              list_of(numbers, GATHER_COLLAPSED, rank, dropped, &count) &&
              list_of(numbers, GATHER_MAP, rank, rows->map, &rows->map_count) &&
              list_of(numbers, GATHER_TABLE_BATCHING, rank, rows->table_batching,
                      &rows->batching_count) &&
              list_of(numbers, GATHER_INDEX_BATCHING, IR_RANK, rows->index_batching, &pairs) &&
              pairs == rows->batching_count;
    if (!ok)
        return false;
    rows->vector_axis = (uint32_t)axis;
    for (uint32_t i = 0; i < count; i++)
        rows->is_dropped[dropped[i]] = true;
    for (uint32_t i = 0; i < pairs; i++)
        rows->is_dropped[rows->table_batching[i]] = true;
    /* Window dimensions are listed in increasing order, each once. */
    for (uint32_t i = 1; i < rows->offset_count; i++)
        ok &= rows->offset[i] > rows->offset[i - 1];
    return ok;
}

/* The table becomes [rows, elements], the rows are fetched by number, and dimensions are put back
 * in the order of the result. Sizes of 1 are dropped on the way and restored by the last
 * reshape. */
uint32_t expand_gather(struct expand *expand, const struct typed_instruction *at,
                       const uint32_t *args)
{
    struct ir *ir = expand->ir;
    struct expand_rows rows = {.table = *ir_type_of(ir, args[0]), .indices = args[1]};
    int64_t sizes[IR_RANK];
    uint32_t count, rank = at->shape.type.rank;
    if (!rows_read(hlo_message(at->bytes, HLO_GATHER), &rows, rank) ||
        !hlo_list(at->bytes, HLO_GATHER_SIZES, IR_RANK, sizes, &count) || count != rows.table.rank)
        return expand_fail(expand, at, "its dimensions are malformed");
    for (uint32_t i = 0; i < count; i++) {
        if (sizes[i] < 1 || sizes[i] > rows.table.size[i])
            return expand_fail(expand, at, "its slices do not fit its operand");
        rows.window[i] = (uint32_t)sizes[i];
    }
    if (!rows_prepare(expand, at, &rows, false))
        return IR_NONE;
    if (rows.batch.rank + rows.offset_count != rank)
        return expand_fail(expand, at, "its dimensions do not fit together");
    uint32_t found = rows_table(ir, &rows, args[0]);
    if (rows.row_rank > 0) {
        found = ir_gather(ir, found, rows_which(ir, &rows));
    } else {
        /* The only row, for every index. */
        const uint32_t flat[] = {(uint32_t)ir_elements(&rows.numbers), rows.row_size};
        const uint8_t both[] = {0, 1};
        found = fold_broadcast(ir, found, ir_make_type(rows.table.dtype, 2, flat), both);
    }
    uint32_t size[IR_RANK], used = rows.numbers.rank;
    uint8_t axes[IR_RANK];
    memcpy(size, rows.numbers.size, sizeof size);
    for (uint32_t i = rows.row_rank; i < rows.table.rank; i++)
        if (rows.axis[rows.order[i]] < IR_RANK)
            size[used++] = rows.table.size[rows.order[i]];
    if (rows_axes(&rows, rank, axes) != used)
        return expand_fail(expand, at, "its dimensions do not fit together");
    found = ir_transpose(ir, ir_reshape(ir, found, used, size), axes);
    return ir_reshape(ir, found, rank, at->shape.type.size);
}
