/*
 * What the simulated core's matmul is compared with: a plain blocked kernel, which the compiler may
 * fit to this machine (-O3 -march=native), fused operations included.
 */
#include "plain_matmul.h"

enum { BLOCK = 64 };

void plain_matmul(const float *restrict weights, const float *restrict moving, float *restrict out,
                  int rows, int columns, int width)
{
    for (int i = 0; i < columns * width; i++)
        out[i] = 0;
    for (int first = 0; first < rows; first += BLOCK)
        for (int m = 0; m < columns; m++)
            for (int k = first; k < rows && k < first + BLOCK; k++) {
                float weight = weights[k * columns + m];
                for (int n = 0; n < width; n++)
                    out[m * width + n] += weight * moving[k * width + n];
            }
}
