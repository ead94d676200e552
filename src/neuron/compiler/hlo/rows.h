/*
 * Gathers and scatters as accesses to rows of a table: the indexed dimensions come first, merged
 * into one, and an index selects a row of it.
 */
#ifndef KYMO_NEURON_COMPILER_HLO_ROWS_H
#define KYMO_NEURON_COMPILER_HLO_ROWS_H

#include "neuron/compiler/hlo/expand.h"

struct expand_rows {
    /* From the instruction. */
    struct ir_type table;
    uint32_t indices, vector_axis;
    uint32_t map_count, batching_count, offset_count;
    uint8_t map[IR_RANK];                                     /* table dimension of each index */
    uint8_t table_batching[IR_RANK], index_batching[IR_RANK]; /* dimensions that go together */
    uint8_t offset[IR_RANK];  /* dimensions of the result or updates that belong to the window */
    uint32_t window[IR_RANK]; /* sizes, of the table's dimensions */
    bool is_dropped[IR_RANK]; /* table dimension that the result or the updates do not have */

    /* Derived. Indices are [batch..], rows' numbers [batch.., windows..]. */
    struct ir_type batch;
    uint32_t index[IR_RANK]; /* node of each table dimension's index, or IR_NONE: clamped */
    uint32_t inside; /* node: whether the whole window is in the table; IR_NONE: not wanted */
    uint8_t order[IR_RANK]; /* table dimensions: those of rows, then the others */
    uint32_t row_rank;
    uint32_t row_count, row_size;
    struct ir_type numbers; /* [batch.., windows..] */
    uint8_t axis[IR_RANK]; /* of each table dimension in [batch.., windows.., others..]; IR_RANK: no
                              axis, its size is 1 */
};

/* Reads the dimension numbers of a gather or a scatter, which have the same fields; other_rank is
 * that of the result or of the updates. */
bool rows_read(struct pb_reader numbers, struct expand_rows *rows, uint32_t other_rank);
/* Fails when the numbers do not fit together. */
bool rows_prepare(struct expand *expand, const struct typed_instruction *at,
                  struct expand_rows *rows, bool wants_inside);
/* [rows, elements] */
uint32_t rows_table(struct ir *ir, const struct expand_rows *rows, uint32_t table);
uint32_t rows_back(struct ir *ir, const struct expand_rows *rows, uint32_t table);
/* Of one dimension. */
uint32_t rows_which(struct ir *ir, const struct expand_rows *rows);
/* Axes of [batch.., windows.., others..] in the order of the result or the updates. */
uint32_t rows_axes(const struct expand_rows *rows, uint32_t rank, uint8_t *axes);

#endif
