/*
 * Matmul. A tile of a few weight columns by 16 moving columns stays in registers while it goes
 * through the rows. Vectors are over moving columns, so that the width of a processor's vectors
 * changes no result; nothing is fused (-ffp-contract=off).
 */
#include "neuron/simulator/matmul.h"

#include <string.h>

typedef float lanes __attribute__((vector_size(PANEL * sizeof(float))));

#define ALWAYS_INLINE inline __attribute__((always_inline))

static ALWAYS_INLINE void tile(const float *weights, const float *moving, size_t rows, float *out,
                               size_t stride, const int columns)
{
    lanes sums[PANEL] = {0};
    for (size_t row = 0; row < rows; row++) {
        lanes values;
        memcpy(&values, moving + row * PANEL, sizeof values);
        for (int i = 0; i < columns; i++)
            sums[i] += values * weights[row * PANEL + (size_t)i];
    }
    for (int i = 0; i < columns; i++)
        memcpy(out + (size_t)i * stride, &sums[i], sizeof sums[i]);
}

static ALWAYS_INLINE void product(const float *weights, const float *moving, size_t rows,
                                  size_t weight_panels, size_t moving_panels, float *out,
                                  size_t stride, const int columns)
{
    for (size_t w = 0; w < weight_panels; w++)
        for (size_t m = 0; m < moving_panels; m++)
            for (int i = 0; i < PANEL; i += columns)
                tile(weights + w * rows * PANEL + i, moving + m * rows * PANEL, rows,
                     out + (w * PANEL + (size_t)i) * stride + m * PANEL, stride, columns);
}

static void product_plain(const float *weights, const float *moving, size_t rows,
                          size_t weight_panels, size_t moving_panels, float *out, size_t stride)
{
    product(weights, moving, rows, weight_panels, moving_panels, out, stride, 2);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static void product_avx2(const float *weights, const float *moving,
                                                         size_t rows, size_t weight_panels,
                                                         size_t moving_panels, float *out,
                                                         size_t stride)
{
    product(weights, moving, rows, weight_panels, moving_panels, out, stride, 4);
}

__attribute__((target("avx512f"))) static void
product_avx512(const float *weights, const float *moving, size_t rows, size_t weight_panels,
               size_t moving_panels, float *out, size_t stride)
{
    product(weights, moving, rows, weight_panels, moving_panels, out, stride, PANEL);
}

matmul_kernel *matmul_kernel_at(unsigned index)
{
    __builtin_cpu_init();
    if (index == 0)
        return product_plain;
    if (index == 1 && __builtin_cpu_supports("avx2"))
        return product_avx2;
    return index == 2 && __builtin_cpu_supports("avx512f") ? product_avx512 : NULL;
}
#else
matmul_kernel *matmul_kernel_at(unsigned index)
{
    return index == 0 ? product_plain : NULL;
}
#endif

matmul_kernel *matmul_fastest(void)
{
    unsigned index = 0;
    while (matmul_kernel_at(index + 1))
        index++;
    return matmul_kernel_at(index);
}
