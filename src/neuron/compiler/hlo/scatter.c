/*
 * Scatters: rows of a table get rows added, or are replaced. Updates outside the table are skipped,
 * as HLO requires.
 */
#include "neuron/compiler/hlo/rows.h"

enum {
    MAX_COMPARED = 2048, /* rows of a replacement that may coincide */
};

enum scatter_kind { SCATTER_OTHER, SCATTER_ADD, SCATTER_SET };

static enum scatter_kind kind_of(const struct expand *expand, uint32_t callee)
{
    const struct typed_computation *computation = &expand->module->computations.items[callee];
    if (expand_monoid(expand, callee) == ALU_ADD)
        return SCATTER_ADD;
    return computation->parameter_count == 2 && computation->root == computation->parameters[1]
               ? SCATTER_SET
               : SCATTER_OTHER;
}

/* Updates as [n, elements]. */
static uint32_t order_updates(struct ir *ir, const struct expand_rows *rows, uint32_t updates)
{
    struct ir_type type = *ir_type_of(ir, updates);
    uint8_t axes[IR_RANK], order[IR_RANK];
    uint32_t size[IR_RANK], used = rows_axes(rows, type.rank, axes), kept = 0;
    /* Dimensions of size 1 that the rows do not have go first. */
    for (uint32_t i = 0, window = 0; i < type.rank; i++) {
        bool is_window = window < rows->offset_count && rows->offset[window] == i;
        uint32_t axis = 0;
        for (uint32_t k = 0, seen = 0; is_window && k < rows->table.rank; k++)
            if (!rows->is_dropped[k] && seen++ == window)
                axis = rows->axis[k];
        window += is_window;
        if (!is_window || axis < IR_RANK)
            size[kept++] = type.size[i];
    }
    if (kept != used)
        return ir_fail(ir, "the updates do not fit the table");
    for (uint32_t i = 0; i < used; i++)
        order[axes[i]] = (uint8_t)i;
    updates = fold_transpose(ir, fold_reshape(ir, updates, used, size), order);
    const uint32_t flat[] = {(uint32_t)ir_elements(&rows->numbers), rows->row_size};
    return fold_reshape(ir, updates, 2, flat);
}

/* One of [batch..] for each row's number. */
static uint32_t spread_mask(struct ir *ir, const struct expand_rows *rows, uint32_t mask)
{
    uint8_t axes[IR_RANK];
    for (uint32_t i = 0; i < IR_RANK; i++)
        axes[i] = (uint8_t)i;
    const uint32_t count = (uint32_t)ir_elements(&rows->numbers);
    return fold_reshape(ir, fold_broadcast(ir, mask, rows->numbers, axes), 1, &count);
}

static uint32_t masked(struct ir *ir, uint32_t mask, uint32_t values)
{
    if (ir->failed)
        return IR_NONE;
    struct ir_type type = *ir_type_of(ir, values);
    const uint8_t first[] = {0};
    return fold_select(ir, fold_broadcast(ir, mask, type, first), values, ir_number(ir, type, 0));
}

/* Of rows with equal numbers, the last one counts. */
static uint32_t last_ones(struct ir *ir, uint32_t numbers, uint32_t mask)
{
    if (ir->failed)
        return IR_NONE;
    struct ir_type line = *ir_type_of(ir, numbers);
    const uint32_t size[] = {line.size[0], line.size[0]};
    struct ir_type square = ir_make_type(line.dtype, 2, size);
    const uint8_t rows[] = {0}, columns[] = {1};
    uint32_t valid = fold_select(ir, mask, numbers, ir_integer(ir, line, -1));
    uint32_t same = fold_binary(ir, ALU_EQUAL, fold_broadcast(ir, valid, square, rows),
                                fold_broadcast(ir, valid, square, columns));
    uint32_t later = ir_binary(ir, ALU_LESS, ir_iota(ir, square, 0), ir_iota(ir, square, 1));
    uint32_t replaced = ir_reduce(ir, ALU_OR, fold_binary(ir, ALU_AND, same, later), 2);
    return fold_binary(ir, ALU_AND, mask, ir_unary(ir, FUNCTION_NOT, replaced));
}

/* For a row with one update, the sum of its updates is that update. */
static uint32_t replace_rows(struct ir *ir, uint32_t table, uint32_t numbers, uint32_t mask,
                             uint32_t updates)
{
    if (ir->failed)
        return IR_NONE;
    struct ir_type type = *ir_type_of(ir, table);
    enum dtype dtype = type.is_bool ? DTYPE_INT32 : type.dtype;
    struct ir_type sums = ir_with_dtype(type, dtype, false);
    uint32_t added = ir_scatter_add(ir, ir_number(ir, sums, 0), numbers,
                                    masked(ir, mask, ir_convert(ir, updates, dtype, false)));
    struct ir_type column = ir_make_type(DTYPE_FP32, 2, type.size);
    column.size[1] = 1;
    const uint32_t ones[] = {ir_type_of(ir, numbers)->size[0], 1};
    uint32_t marks = fold_reshape(ir, ir_convert(ir, mask, DTYPE_FP32, false), 2, ones);
    uint32_t hits = ir_scatter_add(ir, ir_number(ir, column, 0), numbers, marks);
    uint32_t is_hit = ir_with_number(ir, ALU_GREATER, hits, 0);
    const uint8_t axes[] = {0, 1};
    return ir_select(ir, fold_broadcast(ir, is_hit, type, axes),
                     ir_convert(ir, added, type.dtype, type.is_bool), table);
}

/* Updates outside the table are masked. A replacement with indices that may repeat compares all of
 * them with each other, which is quadratic: hence MAX_COMPARED. */
uint32_t expand_scatter(struct expand *expand, const struct typed_instruction *at,
                        const uint32_t *args)
{
    struct ir *ir = expand->ir;
    struct expand_rows rows = {.table = *ir_type_of(ir, args[0]), .indices = args[1]};
    struct ir_type updates = *ir_type_of(ir, args[2]);
    enum scatter_kind kind =
        at->callee_count == 1 ? kind_of(expand, at->callees[0]) : SCATTER_OTHER;
    if (kind == SCATTER_OTHER)
        return expand_fail(expand, at, "a scatter that neither adds nor replaces");
    if (!rows_read(hlo_message(at->bytes, HLO_SCATTER), &rows, updates.rank))
        return expand_fail(expand, at, "its dimensions are malformed");
    for (uint32_t i = 0, window = 0; i < rows.table.rank; i++)
        rows.window[i] = rows.is_dropped[i] || window == rows.offset_count
                             ? 1
                             : updates.size[rows.offset[window++]];
    if (!rows_prepare(expand, at, &rows, true))
        return IR_NONE;
    if (rows.batch.rank + rows.offset_count != updates.rank)
        return expand_fail(expand, at, "its updates do not fit its operand");
    uint32_t table = rows_table(ir, &rows, args[0]), numbers = rows_which(ir, &rows);
    uint32_t values = order_updates(ir, &rows, args[2]);
    uint32_t inside = rows.inside;
    if (inside == IR_NONE && !ir->failed)
        inside = ir_integer(ir, ir_with_dtype(rows.batch, DTYPE_UINT8, true), 1);
    uint32_t mask = spread_mask(ir, &rows, inside);
    if (ir->failed)
        return IR_NONE;
    if (kind == SCATTER_ADD)
        return rows_back(ir, &rows, ir_scatter_add(ir, table, numbers, masked(ir, mask, values)));
    uint32_t count = ir_type_of(ir, numbers)->size[0];
    if (count > 1 && hlo_number(at->bytes, HLO_UNIQUE_INDICES) == 0) {
        if (count > MAX_COMPARED)
            return expand_fail(expand, at,
                               "it replaces %u rows that may coincide; at most %d are "

                               "supported",
                               count, MAX_COMPARED);
        mask = last_ones(ir, numbers, mask);
    }
    return rows_back(ir, &rows, replace_rows(ir, table, numbers, mask, values));
}
