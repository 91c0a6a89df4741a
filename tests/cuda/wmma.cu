/* SPDX-License-Identifier: Apache-2.0
 * Matrix products on matrix instructions, as clang's builtins give them: a block of four warps makes a tile of 32 x 32 and
 * stages rows of A and B in shared memory. n is a multiple of 32. From sm_80 on. */
#include "device.h"

#define SIDE 32
#define PAD  8

KERNEL(gemm_half)(const short *a, const short *b, float *c, u32 n)
{
    __shared__ short ta[SIDE][16 + PAD], tb[16][SIDE + PAD];
    u32 warp = tidx / 32, row = bidy * SIDE, col = bidx * SIDE, wr = warp / 2 * 16, wc = warp % 2 * 16;
    float acc[8] = { 0 };
    for (u32 k = 0; k < n; k += 16) {
        for (u32 i = tidx; i < SIDE * 16; i += 128) {
            ta[i / 16][i % 16] = a[(row + i / 16) * n + k + i % 16];
            tb[i / SIDE][i % SIDE] = b[(k + i / SIDE) * n + col + i % SIDE];
        }
        barrier();
        int fa[8], fb[8];
        __hmma_m16n16k16_ld_a(fa, (const int *)&ta[wr][0], 16 + PAD, 0);
        __hmma_m16n16k16_ld_b(fb, (const int *)&tb[0][wc], SIDE + PAD, 0);
        __hmma_m16n16k16_mma_f32f32(acc, fa, fb, acc, 0, 0);
        barrier();
    }
    __hmma_m16n16k16_st_c_f32(c + (row + wr) * n + col + wc, acc, n, 0);
}

/* B is given by columns here. */
KERNEL(gemm_bytes)(const signed char *a, const signed char *b, i32 *c, u32 n)
{
    u32 warp = tidx / 32, row = bidy * SIDE + warp / 2 * 16, col = bidx * SIDE + warp % 2 * 16;
    int acc[8];
    __imma_m16n16k16_ld_c(acc, c + row * n + col, n, 0);
    for (u32 k = 0; k < n; k += 16) {
        int fa[2], fb[2];
        __imma_m16n16k16_ld_a_s8(fa, (const int *)(a + row * n + k), n, 0);
        __imma_m16n16k16_ld_b_s8(fb, (const int *)(b + col * n + k), n, 1);
        __imma_m16n16k16_mma_s8(acc, fa, fb, acc, 1, 0);
    }
    __imma_m16n16k16_st_c_i32(c + row * n + col, acc, n, 0);
}

/* A warp a tile of 8 x 8; the result is written by columns. */
KERNEL(gemm_double)(const double *a, const double *b, double *c, u32 n)
{
    u32 row = bidy * 8, col = bidx * 8;
    double acc[2] = { 0, 0 };
    for (u32 k = 0; k < n; k += 4) {
        double fa[1], fb[1];
        __dmma_m8n8k4_ld_a(fa, a + row * n + k, n, 0);
        __dmma_m8n8k4_ld_b(fb, b + k * n + col, n, 0);
        __dmma_m8n8k4_mma_f64(acc, fa, fb, acc, 0, 0);
    }
    __dmma_m8n8k4_st_c_f64(c + col * n + row, acc, n, 1);
}
