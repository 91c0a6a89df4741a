/* SPDX-License-Identifier: Apache-2.0
 * Vector ALU: moves, lanes and integers. */
#include "tools/gfxemu/valu.h"

#include <stdlib.h>

static void
nop(W, I)
{
    (void)w;
    (void)i;
}

static uint32_t
med3u(uint32_t a, uint32_t b, uint32_t c)
{
    return a > b ? (b > c ? b : a > c ? c : a) : (a > c ? a : b > c ? c : b);
}

static int32_t
med3i(int32_t a, int32_t b, int32_t c)
{
    return a > b ? (b > c ? b : a > c ? c : a) : (a > c ? a : b > c ? c : b);
}

/* ---- moves and integers ---- */

/* What clamp makes of results that do not fit. */
static uint32_t
fit_u32(I, uint64_t v)
{
    return i->clamp && v > ~0u ? ~0u : (uint32_t)v;
}

static uint32_t
fit_i32(I, int64_t v)
{
    return (uint32_t)(!i->clamp ? v : v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v);
}

U1(mov, a)
U1(not, ~a)
U2(and, a & b)
U2(or, a | b)
U2(xor, a ^ b)
U2(xnor, ~(a ^ b))
static void
add_u32(W, I)
{
    uint32_t x[LANES], y[LANES], d[LANES];
    gfx_src32(w, i, 1, 0, T_B32, x);
    gfx_src32(w, i, 2, 1, T_B32, y);
    FOR {
        d[l] = x[l] + y[l];
        if (i->clamp && d[l] < x[l])
            d[l] = ~0u;
    }
    gfx_put32(w, i, d);
}

static void
sub_u32(W, I)
{
    uint32_t x[LANES], y[LANES], d[LANES];
    gfx_src32(w, i, i->arg ? 2 : 1, i->arg, T_B32, x);
    gfx_src32(w, i, i->arg ? 1 : 2, !i->arg, T_B32, y);
    FOR d[l] = i->clamp && y[l] > x[l] ? 0 : x[l] - y[l];
    gfx_put32(w, i, d);
}

static void
add_i32(W, I)       /* arg 1: subtract; with clamp they saturate */
{
    uint32_t x[LANES], y[LANES], d[LANES];
    gfx_src32(w, i, 1, 0, T_B32, x);
    gfx_src32(w, i, 2, 1, T_B32, y);
    FOR {
        int64_t r = i->arg ? (int64_t)SI(x[l]) - SI(y[l]) : (int64_t)SI(x[l]) + SI(y[l]);
        d[l] = i->clamp && r > INT32_MAX ? 0x7fffffffu : i->clamp && r < INT32_MIN ? 0x80000000u : (uint32_t)r;
    }
    gfx_put32(w, i, d);
}

/* d, carry out, a, b [, carry in]; arg bit 0: subtract, 1: reversed, 2: with carry in. */
static void
carry(W, I)
{
    uint32_t x[LANES], y[LANES], d[LANES];
    bool sub = i->arg & 1, rev = i->arg & 2;
    gfx_src32(w, i, rev ? 3 : 2, rev, T_B32, x);
    gfx_src32(w, i, rev ? 2 : 3, !rev, T_B32, y);
    uint64_t in = i->arg & 4 ? (i->noperands > 4 ? smask(w, &i->op[4]) : vcc_mask(w)) : 0, out = 0, exec = gfx_exec_mask(w);
    FOR {
        uint64_t c = in >> l & 1, r = sub ? (uint64_t)x[l] - y[l] - c : (uint64_t)x[l] + y[l] + c;
        d[l] = (uint32_t)r;
        bool carried = r >> 32 != 0;
        if (carried && (exec >> l & 1))
            out |= 1ull << l;
        if (i->clamp && carried)
            d[l] = sub ? 0 : ~0u;
    }
    gfx_put32(w, i, d);
    set_smask(w, &i->op[1], out);
}

U2(lshlrev, b << (a & 31))
U2(lshrrev, b >> (a & 31))
U2(ashrrev, SI(b) >> (a & 31))
Q2(lshlrev64, b << (a & 63))
Q2(lshrrev64, b >> (a & 63))
Q2(ashrrev64, (int64_t)b >> (a & 63))
U2(min_u32, a < b ? a : b)
U2(max_u32, a > b ? a : b)
U2(min_i32, SI(a) < SI(b) ? a : b)
U2(max_i32, SI(a) > SI(b) ? a : b)
U2(mul_lo, a * b)
U2(mul_hi_u, (uint64_t)a * b >> 32)
U2(mul_hi_i, (uint64_t)((int64_t)SI(a) * SI(b)) >> 32)
U2(mul_u24, (a & 0xffffff) * (b & 0xffffff))
U2(mul_i24, (uint32_t)((int64_t)S24(a) * S24(b)))
U2(mul_hi_u24, (uint64_t)(a & 0xffffff) * (b & 0xffffff) >> 32)
U2(mul_hi_i24, (uint64_t)((int64_t)S24(a) * S24(b)) >> 32)
U3(mad_u24, fit_u32(i, (uint64_t)(a & 0xffffff) * (b & 0xffffff) + c))
U3(mad_i24, fit_i32(i, (int64_t)S24(a) * S24(b) + SI(c)))
U3(add3, a + b + c)
U3(lshl_add, (a << (b & 31)) + c)
U3(add_lshl, (a + b) << (c & 31))
U3(lshl_or, (a << (b & 31)) | c)
U3(and_or, (a & b) | c)
U3(or3, a | b | c)
U3(xor3, a ^ b ^ c)
U3(xad, (a ^ b) + c)
U3(bfi, (a & b) | (~a & c))
U3(bfe_u, (c & 31) ? a >> (b & 31) & ((1u << (c & 31)) - 1) : 0)
U3(bfe_i, (c & 31) ? SI((uint32_t)(SI(a) >> (b & 31)) << (32 - (c & 31))) >> (32 - (c & 31)) : 0)   /* beyond bit 31 are signs */
U2(bfm, ((1u << (a & 31)) - 1) << (b & 31))
U3(alignbit, (uint64_t)((uint64_t)a << 32 | b) >> (c & 31))
U3(alignbyte, (uint64_t)((uint64_t)a << 32 | b) >> 8 * (c & 3))
U3(min3_u, a < b ? (a < c ? a : c) : b < c ? b : c)
U3(max3_u, a > b ? (a > c ? a : c) : b > c ? b : c)
U3(min3_i, SI(a) < SI(b) ? (SI(a) < SI(c) ? a : c) : SI(b) < SI(c) ? b : c)
U3(max3_i, SI(a) > SI(b) ? (SI(a) > SI(c) ? a : c) : SI(b) > SI(c) ? b : c)
U3(med3_u, med3u(a, b, c))
U3(med3_i, med3i(SI(a), SI(b), SI(c)))
U3(maxmin_u, (a > b ? a : b) < c ? (a > b ? a : b) : c)
U3(minmax_u, (a < b ? a : b) > c ? (a < b ? a : b) : c)
U3(maxmin_i, (SI(a) > SI(b) ? SI(a) : SI(b)) < SI(c) ? (SI(a) > SI(b) ? a : b) : c)
U3(minmax_i, (SI(a) < SI(b) ? SI(a) : SI(b)) > SI(c) ? (SI(a) < SI(b) ? a : b) : c)
U3(sad_u32, fit_u32(i, (uint64_t)(a > b ? a - b : b - a) + c))
U2(bcnt, (uint32_t)__builtin_popcount(a) + b)
U1(ffbh_u, a ? (uint32_t)__builtin_clz(a) : ~0u)
U1(ffbl, a ? (uint32_t)__builtin_ctz(a) : ~0u)
U1(ffbh_i, a == 0 || a == ~0u ? ~0u : (uint32_t)__builtin_clz(SI(a) < 0 ? ~a : a))

static uint32_t
reversed(uint32_t v)
{
    v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
    v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
    v = (v >> 4 & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(v);
}
U1(bfrev, reversed(a))

static uint32_t
permuted(uint32_t a, uint32_t b, uint32_t c)
{
    uint64_t s = (uint64_t)a << 32 | b;
    uint32_t r = 0;
    for (unsigned k = 0; k < 4; k++) {
        unsigned x = c >> 8 * k & 0xff;
        uint32_t v = x >= 13 ? 0xff : x == 12 ? 0 : x >= 8 ? ((s >> (16 * (x - 8) + 15) & 1) ? 0xff : 0) : s >> 8 * x & 0xff;
        r |= v << 8 * k;
    }
    return r;
}
U3(perm, permuted(a, b, c))

static uint32_t
table_of(uint8_t t, uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t r = 0;
    for (unsigned k = 0; k < 8; k++)
        if (t >> k & 1)
            r |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
    return r;
}
U3(bitop3, table_of(i->bitop3, a, b, c))
U1(prng, a << 1 ^ (a >> 31 ? 197 : 0))

U3(sad_u16, fit_u32(i, (uint64_t)c + (uint32_t)abs((int)(a & 0xffff) - (int)(b & 0xffff)) + (uint32_t)abs((int)(a >> 16) - (int)(b >> 16))))

static void
mbcnt(W, I)         /* arg 1: the upper half of the mask */
{
    uint32_t x[LANES], y[LANES], d[LANES];
    gfx_src32(w, i, 1, 0, T_B32, x);
    gfx_src32(w, i, 2, 1, T_B32, y);
    FOR {
        uint64_t below = (1ull << l) - 1;
        d[l] = (uint32_t)__builtin_popcount(x[l] & (uint32_t)(i->arg ? below >> 32 : below)) + y[l];
    }
    gfx_put32(w, i, d);
}

static void
cndmask(W, I)
{
    uint32_t x[LANES], y[LANES], d[LANES];
    gfx_src32(w, i, 1, 0, T_F32, x);
    gfx_src32(w, i, 2, 1, T_F32, y);
    for (unsigned n = 1; n <= 2; n++)
        if (i->op[n].neg || i->op[n].abs)
            FOR {
                uint32_t *v = n == 1 ? &x[l] : &y[l];
                *v = (i->op[n].abs ? *v & 0x7fffffffu : *v) ^ (i->op[n].neg ? 0x80000000u : 0);
            }
    uint64_t m = i->noperands > 3 ? smask(w, &i->op[3]) : vcc_mask(w);
    FOR d[l] = m >> l & 1 ? y[l] : x[l];
    gfx_put32(w, i, d);
}

static void
cndmask16(W, I)
{
    uint32_t x[LANES], y[LANES], d[LANES];
    gfx_src32(w, i, 1, 0, T_F16, x);
    gfx_src32(w, i, 2, 1, T_F16, y);
    FOR {
        x[l] = (x[l] & (i->op[1].abs ? 0x7fffu : 0xffffu)) ^ (i->op[1].neg ? 0x8000u : 0);
        y[l] = (y[l] & (i->op[2].abs ? 0x7fffu : 0xffffu)) ^ (i->op[2].neg ? 0x8000u : 0);
    }
    uint64_t m = i->noperands > 3 ? smask(w, &i->op[3]) : vcc_mask(w);
    FOR d[l] = m >> l & 1 ? y[l] : x[l];
    gfx_put16(w, i, d);
}

/* d (64 bits), bit 64 of the sum, a, b, c (64 bits); arg 1: signed. */
static void
mad64(W, I)
{
    uint32_t x[LANES], y[LANES];
    uint64_t z[LANES], d[LANES], out = 0, exec = gfx_exec_mask(w);
    gfx_src32(w, i, 2, 0, T_B32, x);
    gfx_src32(w, i, 3, 1, T_B32, y);
    gfx_src64(w, i, 4, T_B64, z);
    FOR {
        uint64_t p = i->arg ? (uint64_t)((int64_t)SI(x[l]) * SI(y[l])) : (uint64_t)x[l] * y[l];
        d[l] = p + z[l];
        bool carried = i->arg ? (__int128)(int64_t)p + (int64_t)z[l] < 0 : d[l] < p;
        if (carried && (exec >> l & 1))
            out |= 1ull << l;
        int64_t sum;
        if (i->clamp && i->arg && __builtin_add_overflow((int64_t)p, (int64_t)z[l], &sum))
            d[l] = (int64_t)p < 0 ? 1ull << 63 : ~(1ull << 63);
        else if (i->clamp && !i->arg && carried)
            d[l] = ~0ull;
    }
    gfx_put64(w, i, d);
    set_smask(w, &i->op[1], out);
}

static void
lshl_add64(W, I)
{
    uint64_t x[LANES], z[LANES], d[LANES];
    uint32_t y[LANES];
    gfx_src64(w, i, 1, T_B64, x);
    gfx_src32(w, i, 2, 1, T_B32, y);
    gfx_src64(w, i, 3, T_B64, z);
    FOR d[l] = (x[l] << (y[l] & 7)) + z[l];
    gfx_put64(w, i, d);
}

static void
mov64(W, I)
{
    uint64_t x[LANES];
    gfx_src64(w, i, 1, T_B64, x);
    gfx_put64(w, i, x);
}

static void
readfirstlane(W, I)
{
    uint64_t m = gfx_exec_mask(w) & all_lanes(w);
    unsigned l = m ? (unsigned)__builtin_ctzll(m) : 0;
    set_s32(w, &i->op[0], i->op[1].kind == GFX_VGPR ? w->v[i->op[1].reg][l] : s32(w, &i->op[1]));
}

static void
readlane(W, I)
{
    unsigned l = s32(w, &i->op[2]) & (w->lanes - 1);
    set_s32(w, &i->op[0], i->op[1].kind == GFX_VGPR ? w->v[i->op[1].reg][l] : s32(w, &i->op[1]));
}

static void
writelane(W, I)
{
    if (i->op[0].kind == GFX_VGPR) {
        unsigned l = s32(w, &i->op[2]) & (w->lanes - 1);
        w->v[i->op[0].reg][l] = s32(w, &i->op[1]);
        w->written[i->op[0].reg] |= 1ull << l;
    }
}

/* Any lane of the row (arg 1: of the other row of the pair); the selectors are 16 nibbles. op_sel bit 0: read idle lanes too. */
static void
permlane16(W, I)
{
    uint32_t x[LANES], d[LANES];
    uint64_t exec = gfx_exec_mask(w), sel = s32(w, &i->op[2]) | (uint64_t)s32(w, &i->op[3]) << 32;
    gfx_src32(w, i, 1, 9, T_B32, x);
    FOR {
        unsigned from = (l & ~15u) ^ (i->arg ? 16 : 0);
        from += sel >> 4 * (l & 15) & 15;
        bool valid = (exec >> from & 1) || (i->op_sel & 1);
        d[l] = valid ? x[from] : i->op_sel & 2 ? 0 : w->v[i->op[0].reg][l];
    }
    put_reg(w, i->op[0].reg, d);
}

/* As permlane16, with each lane's selector in a register. */
static void
permlane_var(W, I)
{
    uint32_t x[LANES], sel[LANES], d[LANES];
    uint64_t exec = gfx_exec_mask(w);
    gfx_src32(w, i, 1, 9, T_B32, x);
    gfx_src32(w, i, 2, 9, T_B32, sel);
    FOR {
        unsigned from = ((l & ~15u) ^ (i->arg ? 16 : 0)) + (sel[l] & 15);
        bool valid = (exec >> from & 1) || (i->op_sel & 1);
        d[l] = valid ? x[from] : i->op_sel & 2 ? 0 : w->v[i->op[0].reg][l];
    }
    put_reg(w, i->op[0].reg, d);
}

static void
permlane64(W, I)
{
    uint32_t x[LANES], d[LANES];
    if (w->lanes != 64)         /* no operation */
        return;
    gfx_src32(w, i, 1, 9, T_B32, x);
    FOR d[l] = x[l ^ 32];
    put_reg(w, i->op[0].reg, d);
}

static void
swap(W, I)
{
    uint32_t a[LANES], b[LANES];
    if (i->op[0].kind != GFX_VGPR || i->op[1].kind != GFX_VGPR)
        return;
    memcpy(a, w->v[i->op[0].reg], sizeof a);
    memcpy(b, w->v[i->op[1].reg], sizeof b);
    put_reg(w, i->op[0].reg, b);
    put_reg(w, i->op[1].reg, a);
}

/* Halves of registers: the lower where an operand does not name the upper. */
static void
swap16(W, I)
{
    unsigned r = i->op[0].reg, q = i->op[1].reg, low = i->op[0].high ? 16 : 0, from = i->op[1].high ? 16 : 0;
    if (i->op[0].kind != GFX_VGPR || i->op[1].kind != GFX_VGPR)
        return;
    FOR_ACTIVE {
        uint32_t x = w->v[r][l] >> low & 0xffff, y = w->v[q][l] >> from & 0xffff;
        w->v[r][l] = (w->v[r][l] & ~(0xffffu << low)) | y << low;
        w->v[q][l] = (w->v[q][l] & ~(0xffffu << from)) | x << from;
    }
}

/* arg lanes: every second group of so many lanes of the one register with the group before it of the other. What lanes
 * that are off do in it (fi, bound_ctrl) is not interpreted. */
static void
permlane_swap(W, I)
{
    if (i->op[0].kind != GFX_VGPR || i->op[1].kind != GFX_VGPR || (gfx_exec_mask(w) & all_lanes(w)) != all_lanes(w)) {
        gfx_fault(w, FAULT_INSTRUCTION, "%s: with lanes that are off it is not known to the emulator", i->text);
        return;
    }
    uint32_t *x = w->v[i->op[0].reg], *y = w->v[i->op[1].reg];
    FOR {
        if (!(l & i->arg))
            continue;
        uint32_t old = x[l];
        x[l] = y[l - i->arg];
        y[l - i->arg] = old;
    }
    w->written[i->op[0].reg] |= all_lanes(w);
    w->written[i->op[1].reg] |= all_lanes(w);
}

/* ---- 16-bit integers ---- */

/* Two values shifted by the same amount, each limited to a byte. */
static uint32_t
limited(int32_t a, int32_t least, int32_t most)
{
    return (uint32_t)(a < least ? least : a > most ? most : a) & 0xff;
}
S3W(ashr_pk_i8, limited(SI(a) >> (c & 31), -128, 127) | limited(SI(b) >> (c & 31), -128, 127) << 8)
S3W(ashr_pk_u8, limited(SI(a) >> (c & 31), 0, 255) | limited(SI(b) >> (c & 31), 0, 255) << 8)

S3(bitop3_16, table_of(i->bitop3, a, b, c) & 0xffff)
S2(add_u16, i->clamp && a + b > 0xffff ? 0xffff : a + b)
S2(sub_u16, i->clamp && a < b ? 0 : a - b)
S2(subrev_u16, b - a)
S2(mul_lo_u16, a * b)
S2(min_u16, a < b ? a : b)
S2(max_u16, a > b ? a : b)
S2(min_i16, SH(a) < SH(b) ? a : b)
S2(max_i16, SH(a) > SH(b) ? a : b)
S2(lshlrev16, b << (a & 15))
S2(lshrrev16, b >> (a & 15))
S2(ashrrev16, SH(b) >> (a & 15))
S2(and16, a & b)
S2(or16, a | b)
S2(xor16, a ^ b)
S1(not16, ~a)
S1(mov16, a)
S3(mad_u16, i->clamp && a * b + c > 0xffff ? 0xffff : a * b + c)
S3(mad_i16, i->clamp ? sat16(SH(a) * SH(b) + SH(c)) : SH(a) * SH(b) + SH(c))
S2(add_i16, i->clamp ? sat16(SH(a) + SH(b)) : SH(a) + SH(b))
S2(sub_i16, i->clamp ? sat16(SH(a) - SH(b)) : SH(a) - SH(b))
S3(min3_u16, med3u(a, b, c) < a ? (b < c ? b : c) : (a < b ? (a < c ? a : c) : (b < c ? b : c)))
S3(max3_u16, a > b ? (a > c ? a : c) : b > c ? b : c)
S3(med3_u16, med3u(a, b, c))
S3(min3_i16, SH(a) < SH(b) ? (SH(a) < SH(c) ? a : c) : SH(b) < SH(c) ? b : c)
S3(max3_i16, SH(a) > SH(b) ? (SH(a) > SH(c) ? a : c) : SH(b) > SH(c) ? b : c)
S3(med3_i16, med3i(SH(a), SH(b), SH(c)))

/* v_mad_u32_u16, v_mad_i32_i16: 16-bit factors, 32-bit addend. */
static void
mad32_16(W, I)
{
    uint32_t x[LANES], y[LANES], z[LANES], d[LANES];
    gfx_src32(w, i, 1, 0, T_B16, x);
    gfx_src32(w, i, 2, 1, T_B16, y);
    gfx_src32(w, i, 3, 9, T_B32, z);
    FOR d[l] = i->arg ? fit_i32(i, (int64_t)SH(x[l]) * SH(y[l]) + SI(z[l])) : fit_u32(i, (uint64_t)x[l] * y[l] + z[l]);
    gfx_put32(w, i, d);
}

/* v_pack_b32_f16 and its kind: two halves to one register. */
static void
pack_f16(W, I)
{
    float x[LANES], y[LANES];
    uint32_t d[LANES], a[LANES], b[LANES];
    gfx_srch(w, i, 1, 0, x);
    gfx_srch(w, i, 2, 1, y);
    gfx_src32(w, i, 1, 0, T_F16, a);
    gfx_src32(w, i, 2, 1, T_F16, b);
    FOR {
        uint32_t lo = i->op[1].neg || i->op[1].abs ? f16_bits(x[l]) : a[l], hi = i->op[2].neg || i->op[2].abs ? f16_bits(y[l]) : b[l];
        d[l] = lo | hi << 16;
    }
    gfx_put32(w, i, d);
}

const struct gfx_row gfx_valu_int[] = {
    V("nop", nop), V("mov_b32", mov), V("mov_b64", mov64), V("not_b32", not), V("and_b32", and), V("or_b32", or), V("xor_b32", xor),
    V("xnor_b32", xnor), V("add_u32", add_u32), V("add_nc_u32", add_u32), V("sub_u32", sub_u32), V("sub_nc_u32", sub_u32),
    VA("subrev_u32", sub_u32, 1), VA("subrev_nc_u32", sub_u32, 1), V("add_i32", add_i32), V("add_nc_i32", add_i32),
    VA("sub_i32", add_i32, 1), VA("sub_nc_i32", add_i32, 1), VA("add_co_u32", carry, 0), VA("sub_co_u32", carry, 1),
    VA("subrev_co_u32", carry, 3), VA("addc_co_u32", carry, 4), VA("subb_co_u32", carry, 5), VA("subbrev_co_u32", carry, 7),
    VA("add_co_ci_u32", carry, 4), VA("sub_co_ci_u32", carry, 5), VA("subrev_co_ci_u32", carry, 7), V("lshlrev_b32", lshlrev),
    V("lshrrev_b32", lshrrev), V("ashrrev_i32", ashrrev), V("lshlrev_b64", lshlrev64), V("lshrrev_b64", lshrrev64),
    V("ashrrev_i64", ashrrev64),
    V("min_u32", min_u32), V("max_u32", max_u32), V("min_i32", min_i32), V("max_i32", max_i32), V("mul_lo_u32", mul_lo),
    V("mul_hi_u32", mul_hi_u), V("mul_hi_i32", mul_hi_i), V("mul_u32_u24", mul_u24), V("mul_i32_i24", mul_i24),
    V("mul_hi_u32_u24", mul_hi_u24), V("mul_hi_i32_i24", mul_hi_i24), V("mad_u32_u24", mad_u24), V("mad_i32_i24", mad_i24),
    V("add3_u32", add3), V("lshl_add_u32", lshl_add), V("add_lshl_u32", add_lshl), V("lshl_or_b32", lshl_or), V("and_or_b32", and_or),
    V("or3_b32", or3), V("xor3_b32", xor3), V("xad_u32", xad), V("bfi_b32", bfi), V("bfe_u32", bfe_u), V("bfe_i32", bfe_i),
    V("bfm_b32", bfm), V("alignbit_b32", alignbit), V("alignbyte_b32", alignbyte), V("perm_b32", perm), V("min3_u32", min3_u),
    V("max3_u32", max3_u), V("min3_i32", min3_i), V("max3_i32", max3_i), V("med3_u32", med3_u), V("med3_i32", med3_i),
    V("maxmin_u32", maxmin_u), V("minmax_u32", minmax_u), V("maxmin_i32", maxmin_i), V("minmax_i32", minmax_i), V("sad_u32", sad_u32),
    V("sad_u16", sad_u16), V("bcnt_u32_b32", bcnt), V("ffbh_u32", ffbh_u), V("clz_i32_u32", ffbh_u),
    V("ffbl_b32", ffbl), V("ctz_i32_b32", ffbl), V("ffbh_i32", ffbh_i), V("cls_i32", ffbh_i), V("bfrev_b32", bfrev),
    VA("mbcnt_lo_u32_b32", mbcnt, 0), VA("mbcnt_hi_u32_b32", mbcnt, 1), V("cndmask_b32", cndmask), V("cndmask_b16", cndmask16),
    VA("mad_u64_u32", mad64, 0), VA("mad_i64_i32", mad64, 1), VA("mad_co_u64_u32", mad64, 0), VA("mad_co_i64_i32", mad64, 1),
    V("lshl_add_u64", lshl_add64), V("readfirstlane_b32", readfirstlane), V("readlane_b32", readlane), V("writelane_b32", writelane),
    VA("permlane16_b32", permlane16, 0), VA("permlanex16_b32", permlane16, 1), V("permlane64_b32", permlane64), V("swap_b32", swap), V("swap_b16", swap16),
    VA("permlane16_swap_b32", permlane_swap, 16), VA("permlane32_swap_b32", permlane_swap, 32), V("bitop3_b32", bitop3),
    VA("permlane16_var_b32", permlane_var, 0), VA("permlanex16_var_b32", permlane_var, 1), V("mul_lo_i32", mul_lo),
    V("mad_legacy_i16", mad_i16), V("pipeflush", nop), V("clrexcp", nop), V("ashr_pk_i8_i32", ashr_pk_i8), V("ashr_pk_u8_i32", ashr_pk_u8),
    V("bitop3_b16", bitop3_16), V("prng_b32", prng),
    V("accvgpr_read_b32", mov), V("accvgpr_write_b32", mov), V("accvgpr_mov_b32", mov), V("add_u16", add_u16), V("add_nc_u16", add_u16),
    V("sub_u16", sub_u16), V("sub_nc_u16", sub_u16), V("subrev_u16", subrev_u16), V("add_i16", add_i16), V("add_nc_i16", add_i16),
    V("sub_i16", sub_i16), V("sub_nc_i16", sub_i16), V("mul_lo_u16", mul_lo_u16), V("min_u16", min_u16), V("max_u16", max_u16),
    V("min_i16", min_i16), V("max_i16", max_i16), V("lshlrev_b16", lshlrev16), V("lshrrev_b16", lshrrev16), V("ashrrev_i16", ashrrev16),
    V("and_b16", and16), V("or_b16", or16), V("xor_b16", xor16), V("not_b16", not16), V("mov_b16", mov16), V("mad_u16", mad_u16),
    V("mad_i16", mad_i16), V("min3_u16", min3_u16), V("max3_u16", max3_u16), V("med3_u16", med3_u16), V("min3_i16", min3_i16),
    V("max3_i16", max3_i16), V("med3_i16", med3_i16), VA("mad_u32_u16", mad32_16, 0), VA("mad_i32_i16", mad32_16, 1),
    V("pack_b32_f16", pack_f16), V("mad_legacy_u16", mad_u16),
    { NULL, NULL, 0, 0 },
};
