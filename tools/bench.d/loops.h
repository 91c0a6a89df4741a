/* SPDX-License-Identifier: Apache-2.0
 * The C side of the kernels that are measured. */
#ifndef CW_BENCH_LOOPS_H
#define CW_BENCH_LOOPS_H

void c_matmul(const float *restrict a, const float *restrict b, float *restrict c, unsigned n);
void c_matmul_tiled(const float *restrict a, const float *restrict b, float *restrict c, unsigned n);
void c_nbody(const float *restrict in, float *restrict out, unsigned n, float softening);
void c_mandelbrot(unsigned *out, unsigned width, unsigned height, float x0, float y0, float step, unsigned limit);

#endif
