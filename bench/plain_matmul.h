/*
 * out[m][n] = sum over k of weights[k][m] * moving[k][n].
 */
#ifndef KYMO_BENCH_PLAIN_MATMUL_H
#define KYMO_BENCH_PLAIN_MATMUL_H

void plain_matmul(const float *restrict weights, const float *restrict moving, float *restrict out,
                  int rows, int columns, int width);

#endif
