/* SPDX-License-Identifier: Apache-2.0
 * What compiled code calls for matrix instructions (jit/abi/host.h): products, and fragments to and from memory. */
#include "impl/host/exec_private.h"
#include "impl/host/matrix.h"
#include "jit/builtins/core/matrix_number.h"

#include <string.h>

void
cwh_rt_mma(struct cwh_gang *gang, const struct cwh_matrix *x, const void *a, const void *b, const void *c, void *d)
{
    (void)cwh_enter(gang);
    cwh_matrix_mma(cwh_matrix_model(), x, a, b, c, d);
}

void
cwh_rt_mma_lane(struct cwh_gang *gang, const struct cwh_matrix *x, const uint64_t operands[32], uint32_t lane, void *d)
{
    (void)cwh_enter(gang);
    cwh_matrix_mma_lane(cwh_matrix_model(), x, operands, lane, d);
}

/* Register r of a lane. */
static uint8_t *
reg(const struct cwh_matrix *x, void *registers, unsigned r, unsigned lane)
{
    unsigned size = x->d == PTX_F64 ? 8 : 4;
    return (uint8_t *)registers + ((size_t)r * x->width + (x->width == 1 ? 0 : lane)) * size;
}

static void
copy(struct cwh_gang *gang, bool load, uint8_t *at, uint64_t address, size_t size)
{
    cwh_must_own(gang, address, (uint32_t)size);
    void *memory = (void *)(uintptr_t)address;
    if (load)
        memcpy(at, memory, size);
    else
        memcpy(memory, at, size);
}

/* One lane's part of a wmma fragment. */
static void
move_fragment(struct cwh_gang *gang, const struct cwh_matrix *x, bool load, unsigned lane, uint64_t base, uint32_t stride, void *registers)
{
    unsigned bits = number_bits(x->d), per = bits >= 32 ? 1 : 32 / bits, g = lane >> 2, t = lane & 3;
    bool ab = x->fragment < 2, b = x->fragment == 1;
    for (unsigned r = 0; r < x->nd; r++) {
        uint8_t *at = reg(x, registers, r, lane);
        unsigned row, col, quarter;
        if (!ab) {
            for (unsigned e = 0; e < per; e++) {
                cwh_matrix_place_c(x, lane, r * per + e, &row, &col);
                uint64_t i = x->a_col ? (uint64_t)col * stride + row : (uint64_t)row * stride + col;
                copy(gang, load, at + e * bits / 8, base + i * (bits / 8), bits / 8);
            }
            continue;
        }
        cwh_matrix_place(x, b, r % cwh_matrix_distinct(x, b), &row, &quarter);
        row += g;                           /* of A; column of B */
        unsigned first = (4 * quarter + t) * per;   /* column of A; row of B */
        if (b == (bool)x->a_col) {          /* the word's elements follow each other in memory */
            copy(gang, load, at, base + ((uint64_t)row * stride + first) * bits / 8, per * bits / 8);
            continue;
        }
        for (unsigned e = 0; e < per; e++)
            copy(gang, load, at + e * bits / 8, base + ((uint64_t)(first + e) * stride + row) * (bits / 8), bits / 8);
    }
}

/* One lane's part of 1, 2 or 4 matrices of 8 x 8 elements of 16 bits. Row i of matrix j is at the address of lane 8j + i. */
static void
move_rows(struct cwh_gang *gang, const struct cwh_matrix *x, bool load, unsigned lane, const uint64_t *address, void *registers)
{
    unsigned g = lane >> 2, t = lane & 3;
    for (unsigned r = 0; r < x->nd; r++) {
        uint8_t *at = reg(x, registers, r, lane);
        if (!x->trans) {
            copy(gang, load, at, address[8 * r + g] + 4 * t, 4);
            continue;
        }
        copy(gang, load, at, address[8 * r + 2 * t] + 2 * g, 2);
        copy(gang, load, at + 2, address[8 * r + 2 * t + 1] + 2 * g, 2);
    }
}

void
cwh_rt_matrix_move(struct cwh_gang *gang, const struct cwh_matrix *x, uint64_t mask, const uint64_t *address, uint32_t stride,
                   void *registers)
{
    (void)cwh_enter(gang);
    bool load = x->op == PTX_OP_WMMA_LOAD || x->op == PTX_OP_LDMATRIX, wmma = x->op == PTX_OP_WMMA_LOAD || x->op == PTX_OP_WMMA_STORE;
    for (uint32_t m = (uint32_t)mask; m; m &= m - 1) {
        unsigned lane = (unsigned)__builtin_ctz(m);
        if (wmma)
            move_fragment(gang, x, load, lane, address[0], stride, registers);
        else
            move_rows(gang, x, load, lane, address, registers);
    }
}
