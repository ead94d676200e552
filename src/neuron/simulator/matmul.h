/*
 * The product of up to 128 x 128 weights and up to 128 x 512 moving values in FP32: each element is
 * the sum of its products in the order of the rows, each product and each sum rounded.
 */
#ifndef KYMO_NEURON_SIMULATOR_MATMUL_H
#define KYMO_NEURON_SIMULATOR_MATMUL_H

#include <stddef.h>

enum { PANEL = 16 }; /* columns computed together */

/* Both operands are panels of 16 columns, in each row after row: element (row, column) is at
 * [column / 16][row][column % 16], with `rows` rows. Columns beyond the last are zeros.
 * out[column of weights * stride + column of moving], also for columns that fill up the last
 * panels. */
typedef void matmul_kernel(const float *weights, const float *moving, size_t rows,
                           size_t weight_panels, size_t moving_panels, float *out, size_t stride);
/* The ones that run on this processor, the fastest last; then NULL. All give the same results. */
matmul_kernel *matmul_kernel_at(unsigned index);
matmul_kernel *matmul_fastest(void);

#endif
