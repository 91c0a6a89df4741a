/* SPDX-License-Identifier: Apache-2.0
 * Integer instructions against C. References are written from the PTX ISA's text, with wide arithmetic and loops over
 * bits where the emitter uses tricks. */
#include "harness.h"

#define REF(name) static void name(const union val *a, union val *d)
typedef __int128 i128;
typedef unsigned __int128 u128;

#define BIN(name, m, expr) REF(name) { (void)a; d[0].m = expr; }
BIN(add_u16, u16, a[0].u16 + a[1].u16)
BIN(add_u32, u32, a[0].u32 + a[1].u32)
BIN(add_u64, u64, a[0].u64 + a[1].u64)
BIN(sub_u32, u32, a[0].u32 - a[1].u32)
static int32_t sat32(int64_t v) { return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v; }
BIN(add_sat, s32, sat32((int64_t)a[0].s32 + a[1].s32))
BIN(sub_sat, s32, sat32((int64_t)a[0].s32 - a[1].s32))
BIN(mul_lo_s32, u32, a[0].u32 * a[1].u32)
BIN(mul_lo_u64, u64, a[0].u64 * a[1].u64)
BIN(mul_lo_u16, u16, (uint32_t)a[0].u16 * a[1].u16)
BIN(mul_hi_s16, s16, a[0].s16 * a[1].s16 >> 16)
BIN(mul_hi_u32, u32, (uint64_t)a[0].u32 * a[1].u32 >> 32)
BIN(mul_hi_s32, s32, (int64_t)a[0].s32 * a[1].s32 >> 32)
BIN(mul_hi_u64, u64, (u128)a[0].u64 * a[1].u64 >> 64)
BIN(mul_hi_s64, s64, (i128)a[0].s64 * a[1].s64 >> 64)
BIN(mul_wide_u16, u32, (uint32_t)a[0].u16 * a[1].u16)
BIN(mul_wide_s16, s32, a[0].s16 * a[1].s16)
BIN(mul_wide_u32, u64, (uint64_t)a[0].u32 * a[1].u32)
BIN(mul_wide_s32, s64, (int64_t)a[0].s32 * a[1].s32)
BIN(mad_lo_s32, u32, a[0].u32 * a[1].u32 + a[2].u32)
BIN(mad_hi_sat, s32, sat32(((int64_t)a[0].s32 * a[1].s32 >> 32) + a[2].s32))
BIN(mad_hi_u64, u64, ((u128)a[0].u64 * a[1].u64 >> 64) + a[2].u64)
BIN(mad_wide_s32, u64, (uint64_t)((int64_t)a[0].s32 * a[1].s32) + a[2].u64)
static int64_t s24(uint32_t v) { return (int32_t)(v << 8) >> 8; }
static uint64_t u24(uint32_t v) { return v & 0xffffff; }
BIN(mul24_lo_s, u32, (uint32_t)(s24(a[0].u32) * s24(a[1].u32)))
BIN(mul24_lo_u, u32, (uint32_t)(u24(a[0].u32) * u24(a[1].u32)))
BIN(mul24_hi_s, u32, (uint32_t)(s24(a[0].u32) * s24(a[1].u32) >> 16))
BIN(mul24_hi_u, u32, (uint32_t)(u24(a[0].u32) * u24(a[1].u32) >> 16))
BIN(mad24_hi_sat, s32, sat32((int64_t)(int32_t)(s24(a[0].u32) * s24(a[1].u32) >> 16) + a[2].s32))
BIN(mad24_lo_u, u32, (uint32_t)(u24(a[0].u32) * u24(a[1].u32)) + a[2].u32)
BIN(sad_s32, u32, (uint32_t)((int64_t)a[0].s32 > a[1].s32 ? (int64_t)a[0].s32 - a[1].s32 : (int64_t)a[1].s32 - a[0].s32) + a[2].u32)
BIN(sad_u16, u16, (a[0].u16 > a[1].u16 ? a[0].u16 - a[1].u16 : a[1].u16 - a[0].u16) + a[2].u16)
#define DIVIDE(name, m, bits, op, min) \
    BIN(div_##name, m, a[1].m == 0 ? (op)-1 : min && a[1].m == (op)-1 ? (op)(0 - (uint64_t)a[0].m) : a[0].m / a[1].m) \
    BIN(rem_##name, m, a[1].m == 0 ? (op)-1 : min && a[1].m == (op)-1 ? 0 : a[0].m % a[1].m)
DIVIDE(s16, s16, 16, int16_t, 1)
DIVIDE(u16, u16, 16, uint16_t, 0)
DIVIDE(s32, s32, 32, int32_t, 1)
DIVIDE(u32, u32, 32, uint32_t, 0)
DIVIDE(s64, s64, 64, int64_t, 1)
DIVIDE(u64, u64, 64, uint64_t, 0)
BIN(div_u32_7, u32, a[0].u32 / 7)
BIN(rem_s32_m1, s32, 0)
BIN(abs_s32, u32, a[0].s32 < 0 ? 0 - a[0].u32 : a[0].u32)
BIN(abs_s64, u64, a[0].s64 < 0 ? 0 - a[0].u64 : a[0].u64)
BIN(neg_s16, u16, 0 - a[0].u16)
BIN(min_s32, s32, a[0].s32 < a[1].s32 ? a[0].s32 : a[1].s32)
BIN(max_u64, u64, a[0].u64 > a[1].u64 ? a[0].u64 : a[1].u64)
BIN(min_u16, u16, a[0].u16 < a[1].u16 ? a[0].u16 : a[1].u16)
BIN(max_relu, s32, a[0].s32 > a[1].s32 ? a[0].s32 > 0 ? a[0].s32 : 0 : a[1].s32 > 0 ? a[1].s32 : 0)
static int16_t h(uint32_t v, int i) { return (int16_t)(v >> 16 * i); }
static uint32_t pk(int lo, int hi) { return (uint16_t)lo | (uint32_t)(uint16_t)hi << 16; }
static int mins(int a, int b) { return a < b ? a : b; }
static int maxs(int a, int b) { return a > b ? a : b; }
BIN(min_s16x2, u32, pk(mins(h(a[0].u32, 0), h(a[1].u32, 0)), mins(h(a[0].u32, 1), h(a[1].u32, 1))))
BIN(min_relu_s16x2, u32, pk(maxs(0, mins(h(a[0].u32, 0), h(a[1].u32, 0))), maxs(0, mins(h(a[0].u32, 1), h(a[1].u32, 1)))))
BIN(max_u16x2, u32, pk(maxs((uint16_t)h(a[0].u32, 0), (uint16_t)h(a[1].u32, 0)), maxs((uint16_t)h(a[0].u32, 1), (uint16_t)h(a[1].u32, 1))))
BIN(add_u16x2, u32, pk(h(a[0].u32, 0) + h(a[1].u32, 0), h(a[0].u32, 1) + h(a[1].u32, 1)))
static int ones(uint64_t v) { int n = 0; for (; v; v >>= 1) n += v & 1; return n; }
static int lead(uint64_t v, int bits) { int n = 0; while (n < bits && !(v >> (bits - 1 - n) & 1)) n++; return n; }
BIN(popc_b32, u32, ones(a[0].u32))
BIN(popc_b64, u32, ones(a[0].u64))
BIN(clz_b32, u32, lead(a[0].u32, 32))
BIN(clz_b64, u32, lead(a[0].u64, 64))
static uint32_t find(uint64_t v, int bits, int s, int amt)
{
    uint64_t m = bits == 64 ? ~0ull : 0xffffffffull;
    if (s && v >> (bits - 1) & 1)
        v = ~v & m;
    for (int i = bits - 1; i >= 0; i--)
        if (v >> i & 1)
            return amt ? bits - 1 - i : i;
    return 0xffffffff;
}
BIN(bfind_u32, u32, find(a[0].u32, 32, 0, 0))
BIN(bfind_s32, u32, find(a[0].u32, 32, 1, 0))
BIN(bfind_u64, u32, find(a[0].u64, 64, 0, 0))
BIN(bfind_s64, u32, find(a[0].u64, 64, 1, 0))
BIN(bfind_amt, u32, find(a[0].u32, 32, 1, 1))
BIN(bfind_amt64, u32, find(a[0].u64, 64, 0, 1))
REF(fns)
{
    uint32_t mask = a[0].u32, base = a[1].u32;
    int32_t off = a[2].s32;
    d[0].u32 = 0xffffffff;
    if (off == 0) {
        if (base < 32 && mask >> base & 1)
            d[0].u32 = base;
        return;
    }
    if (off == INT32_MIN && base < 32) {        /* as an H200 has it */
        d[0].u32 = 0;
        return;
    }
    int64_t pos = base, count = (off < 0 ? -(int64_t)off : off) - 1, inc = off > 0 ? 1 : -1;
    while (pos >= 0 && pos < 32) {
        if (mask >> pos & 1) {
            if (!count) { d[0].u32 = (uint32_t)pos; return; }
            count--;
        }
        pos += inc;
    }
}
REF(fns_small)
{
    union val b[3] = { a[0], { .u64 = a[1].u32 & 31 }, { .s64 = (a[2].s32 & 15) - 8 } };
    fns(b, d);
}
REF(brev_b32) { for (int i = 0; i < 32; i++) d[0].u32 |= (a[0].u32 >> i & 1) << (31 - i); }
REF(brev_b64) { for (int i = 0; i < 64; i++) d[0].u64 |= (a[0].u64 >> i & 1) << (63 - i); }
/* The 64-bit forms read all bits of position and length: recorded on an H200 (tests/ptx/isa/int/bfe.ptx). */
static uint64_t bfe(uint64_t v, uint64_t pos, uint64_t len, int bits, int s)
{
    uint64_t r = 0;
    if (bits == 32)
        pos &= 255, len &= 255;
    uint64_t top = pos + len - 1;
    int sbit = !s || len == 0 ? 0 : v >> (top < (unsigned)bits - 1 ? top : (unsigned)bits - 1) & 1;
    for (unsigned i = 0; i < (unsigned)bits; i++) {
        uint64_t bit = i < len && pos + i < (unsigned)bits ? v >> (pos + i) & 1 : (uint64_t)sbit;
        r |= bit << i;
    }
    return r;
}
BIN(bfe_u32, u32, bfe(a[0].u32, a[1].u32, a[2].u32, 32, 0))
BIN(bfe_s32, u32, bfe(a[0].u32, a[1].u32, a[2].u32, 32, 1))
BIN(bfe_u64, u64, bfe(a[0].u64, a[1].u32, a[2].u32, 64, 0))
BIN(bfe_s64, u64, bfe(a[0].u64, a[1].u32, a[2].u32, 64, 1))
BIN(bfe_s32_small, u32, bfe(a[0].u32, a[1].u32 & 31, a[2].u32 & 31, 32, 1))
static uint64_t bfi(uint64_t v, uint64_t r, uint64_t pos, uint64_t len, unsigned bits)
{
    if (bits == 32)
        pos &= 255, len &= 255;
    for (unsigned i = 0; i < len && pos + i < bits; i++)
        r = (r & ~(1ull << (pos + i))) | (v >> i & 1) << (pos + i);
    return r;
}
BIN(bfi_b32, u32, bfi(a[0].u32, a[1].u32, a[2].u32, a[3].u32, 32))
BIN(bfi_b64, u64, bfi(a[0].u64, a[1].u64, a[2].u32, a[3].u32, 64))
BIN(bfi_const, u32, bfi(a[0].u32, a[1].u32, 4, 9, 32))
static uint32_t szext(uint32_t v, unsigned n, int s)
{
    if (n == 0) return 0;
    if (n >= 32) return v;
    uint32_t r = v & ((1u << n) - 1);
    return s && v >> (n - 1) & 1 ? r | ~((1u << n) - 1) : r;
}
BIN(szext_c_s, u32, szext(a[0].u32, a[1].u32 > 32 ? 32 : a[1].u32, 1))
BIN(szext_w_u, u32, szext(a[0].u32, a[1].u32 & 31, 0))
BIN(szext_w_s, u32, szext(a[0].u32, a[1].u32 & 31, 1))
static uint32_t bmsk(uint64_t from, uint64_t n) { uint32_t r = 0; for (uint64_t i = 0; i < 32; i++) if (i >= from && i < from + n) r |= 1u << i; return r; }
BIN(bmsk_c, u32, bmsk(a[0].u32, a[1].u32))
BIN(bmsk_w, u32, bmsk(a[0].u32 & 31, a[1].u32 & 31))
static int64_t byte(uint32_t v, int i, int s) { return s ? (int64_t)(int8_t)(v >> 8 * i) : (int64_t)(uint8_t)(v >> 8 * i); }
static int64_t half(uint32_t v, int i, int s) { return s ? (int64_t)(int16_t)(v >> 16 * i) : (int64_t)(uint16_t)(v >> 16 * i); }
static uint32_t dp4(const union val *a, int s, int t) { int64_t r = a[2].u32; for (int i = 0; i < 4; i++) r += byte(a[0].u32, i, s) * byte(a[1].u32, i, t); return (uint32_t)r; }
static uint32_t dp2(const union val *a, int s, int t, int hi) { int64_t r = a[2].u32; for (int i = 0; i < 2; i++) r += half(a[0].u32, i, s) * byte(a[1].u32, i + 2 * hi, t); return (uint32_t)r; }
BIN(dp4a_ss, u32, dp4(a, 1, 1)) BIN(dp4a_us, u32, dp4(a, 0, 1)) BIN(dp4a_uu, u32, dp4(a, 0, 0))
BIN(dp2a_lo_su, u32, dp2(a, 1, 0, 0)) BIN(dp2a_hi_us, u32, dp2(a, 0, 1, 1))

REF(add_chain)
{
    u128 x = ((u128)a[1].u64 << 64 | a[0].u64) + ((u128)a[3].u64 << 64 | a[2].u64);
    d[0].u64 = (uint64_t)x, d[1].u64 = (uint64_t)(x >> 64);
}
REF(sub_chain)
{
    u128 x = ((u128)a[1].u64 << 64 | a[0].u64) - ((u128)a[3].u64 << 64 | a[2].u64);
    d[0].u64 = (uint64_t)x, d[1].u64 = (uint64_t)(x >> 64);
}
REF(add3_chain)     /* 96 bits: the middle word takes and gives a carry */
{
    u128 m = ((u128)1 << 96) - 1;
    u128 x = ((u128)a[2].u32 << 64 | (u128)a[1].u32 << 32 | a[0].u32), y = ((u128)a[1].u32 << 64 | (u128)a[0].u32 << 32 | a[2].u32);
    x = (x + y) & m;
    d[0].u32 = (uint32_t)x, d[1].u32 = (uint32_t)(x >> 32), d[2].u32 = (uint32_t)(x >> 64);
}
REF(sub3_chain)
{
    u128 x = ((u128)a[2].u32 << 64 | (u128)a[1].u32 << 32 | a[0].u32), y = ((u128)a[1].u32 << 64 | (u128)a[0].u32 << 32 | a[2].u32);
    x -= y;
    d[0].u32 = (uint32_t)x, d[1].u32 = (uint32_t)(x >> 32), d[2].u32 = (uint32_t)(x >> 64);
}
REF(mad_chain)
{
    u128 x = (u128)a[0].u64 * a[1].u64 + ((u128)a[3].u64 << 64 | a[2].u64);
    d[0].u64 = (uint64_t)x, d[1].u64 = (uint64_t)(x >> 64);
}

BIN(and_b32, u32, a[0].u32 & a[1].u32)
BIN(or_b64, u64, a[0].u64 | a[1].u64)
BIN(xor_b16, u16, a[0].u16 ^ a[1].u16)
BIN(not_b32, u32, ~a[0].u32)
BIN(cnot_b32, u32, a[0].u32 == 0)
BIN(xor_pred, u8, a[0].u8 ^ a[1].u8)
BIN(not_pred, u8, !a[0].u8)
BIN(andn_pred, u8, a[0].u8 & !a[1].u8)
static uint32_t lut3(const union val *a, unsigned lut) { uint32_t r = 0; for (int i = 0; i < 32; i++) r |= (lut >> ((a[0].u32 >> i & 1) * 4 + (a[1].u32 >> i & 1) * 2 + (a[2].u32 >> i & 1)) & 1) << i; return r; }
#define LUT(n) BIN(lop3_##n, u32, lut3(a, 0x##n))
LUT(00) LUT(ff) LUT(80) LUT(fe) LUT(96) LUT(e8) LUT(ca) LUT(1b) LUT(3c) LUT(f0) LUT(55) LUT(d4) LUT(78) LUT(2a)
LUT(01) LUT(42) LUT(b7) LUT(69) LUT(8f) LUT(71)
REF(lop3_or) { d[0].u32 = lut3(a, 0x80); d[1].u8 = d[0].u32 != 0 || a[3].u8; }
BIN(shl_b16, u16, a[1].u32 > 15 ? 0 : a[0].u16 << a[1].u32)
BIN(shl_b32, u32, a[1].u32 > 31 ? 0 : a[0].u32 << a[1].u32)
BIN(shl_b64, u64, a[1].u32 > 63 ? 0 : a[0].u64 << a[1].u32)
BIN(shr_u16, u16, a[1].u32 > 15 ? 0 : a[0].u16 >> a[1].u32)
BIN(shr_u32, u32, a[1].u32 > 31 ? 0 : a[0].u32 >> a[1].u32)
BIN(shr_u64, u64, a[1].u32 > 63 ? 0 : a[0].u64 >> a[1].u32)
BIN(shr_s16, s16, a[0].s16 >> (a[1].u32 > 15 ? 15 : a[1].u32))
BIN(shr_s32, s32, a[0].s32 >> (a[1].u32 > 31 ? 31 : a[1].u32))
BIN(shr_s64, s64, a[0].s64 >> (a[1].u32 > 63 ? 63 : a[1].u32))
BIN(shl_33, u32, 0) BIN(shl_5, u32, a[0].u32 << 5) BIN(shr_40, s32, a[0].s32 >> 31)
static uint64_t both(const union val *a) { return (uint64_t)a[1].u32 << 32 | a[0].u32; }
static unsigned c32(uint32_t v) { return v > 32 ? 32 : v; }
static uint32_t shf_l(const union val *a, unsigned n) { return (uint32_t)((u128)both(a) << n >> 32); }
BIN(shf_l_c, u32, shf_l(a, c32(a[2].u32))) BIN(shf_l_w, u32, shf_l(a, a[2].u32 & 31))
BIN(shf_r_c, u32, (uint32_t)(both(a) >> c32(a[2].u32))) BIN(shf_r_w, u32, (uint32_t)(both(a) >> (a[2].u32 & 31)))
static uint32_t permute(const union val *a, uint32_t sel)
{
    uint32_t r = 0;
    for (int i = 0; i < 4; i++) {
        unsigned n = sel >> 4 * i & 15;
        uint8_t b = (uint8_t)(both(a) >> 8 * (n & 7));
        if (n & 8)
            b = b & 0x80 ? 0xff : 0;
        r |= (uint32_t)b << 8 * i;
    }
    return r;
}
static uint32_t bytes(const union val *a, int b3, int b2, int b1, int b0)
{
    return permute(a, (uint32_t)(b3 << 12 | b2 << 8 | b1 << 4 | b0));
}
BIN(prmt_g, u32, permute(a, a[2].u32))
BIN(prmt_k1, u32, permute(a, 0x7531)) BIN(prmt_k2, u32, permute(a, 0x9bf4)) BIN(prmt_k3, u32, permute(a, 0x3340)) BIN(prmt_k4, u32, permute(a, 0x8c21))
#define N ((int)(a[2].u32 & 3))
BIN(prmt_f4e, u32, bytes(a, N + 3, N + 2, N + 1, N))
BIN(prmt_b4e, u32, bytes(a, (N + 5) & 7, (N + 6) & 7, (N + 7) & 7, N))
BIN(prmt_rc8, u32, bytes(a, N, N, N, N))
BIN(prmt_ecl, u32, bytes(a, 3, N > 2 ? N : 2, N > 1 ? N : 1, N))
BIN(prmt_ecr, u32, bytes(a, N, N < 2 ? N : 2, N < 1 ? N : 1, 0))
BIN(prmt_rc16, u32, N & 1 ? bytes(a, 3, 2, 3, 2) : bytes(a, 1, 0, 1, 0))

#define CMP(name, m, op) BIN(name, u8, a[0].m op a[1].m)
CMP(lt_s32, s32, <) CMP(ge_u32, u32, >=) CMP(eq_b64, u64, ==) CMP(ne_s16, s16, !=) CMP(hi_u64, u64, >) CMP(le_s64, s64, <=) CMP(ls_u16, u16, <=) CMP(gt_u32, u32, >)
REF(setp_pair) { int t = a[0].s32 < a[1].s32; d[0].u8 = t; d[1].u8 = !t; }
REF(setp_and) { int t = a[0].s32 < a[1].s32; d[0].u8 = t && a[2].u8; d[1].u8 = !t && a[2].u8; }
REF(setp_or_not) { int t = a[0].u32 == a[1].u32; d[0].u8 = t || !a[2].u8; d[1].u8 = !t || !a[2].u8; }
REF(setp_xor) { int t = a[0].u32 > a[1].u32; d[0].u8 = t ^ a[2].u8; d[1].u8 = !t ^ a[2].u8; }
BIN(set_u32, u32, a[0].s32 >= a[1].s32 ? 0xffffffff : 0)
BIN(set_f32, f32, a[0].u32 < a[1].u32 ? 1.0f : 0.0f)
BIN(set_xor, u32, (a[0].s32 == a[1].s32) ^ a[2].u8 ? 0xffffffff : 0)
BIN(selp_b64, u64, a[2].u8 ? a[0].u64 : a[1].u64)
BIN(selp_f32, u32, a[2].u8 ? a[0].u32 : a[1].u32)
BIN(slct_s32, u32, a[2].s32 >= 0 ? a[0].u32 : a[1].u32)
BIN(slct_f32, u64, a[2].f32 >= 0 ? a[0].u64 : a[1].u64)
BIN(slct_ftz, u32, a[2].f32 >= 0 || (a[2].u32 & 0x7fffffff) < 0x800000 ? a[0].u32 : a[1].u32)

static int64_t vs(uint32_t v, int sel, int s) { return sel < 0 ? s ? (int64_t)(int32_t)v : (int64_t)v : sel < 4 ? byte(v, sel, s) : half(v, sel - 4, s); }
static int64_t cl(int64_t v, int64_t lo, int64_t hi) { return v < lo ? lo : v > hi ? hi : v; }
BIN(vadd_1, s32, (int32_t)cl(vs(a[0].u32, 1, 0) + vs(a[1].u32, 5, 1), INT32_MIN, INT32_MAX))
/* Operands of different signedness: too large for u32 is not saturated (recorded on an H200, tests/ptx/isa/video/forms_vadd.ptx). */
BIN(vadd_sat_u, u32, (uint32_t)cl(vs(a[0].u32, -1, 0) + vs(a[1].u32, -1, 1), 0, INT64_MAX))
BIN(vsub_add, s32, (int32_t)((uint32_t)(vs(a[0].u32, 0, 1) - vs(a[1].u32, 3, 1)) + a[2].u32))
BIN(vabsdiff_acc, u32, (uint32_t)(vs(a[0].u32, 2, 0) > vs(a[1].u32, 2, 0) ? vs(a[0].u32, 2, 0) - vs(a[1].u32, 2, 0) : vs(a[1].u32, 2, 0) - vs(a[0].u32, 2, 0)) + a[2].u32)
BIN(vmin_max, s32, maxs((int32_t)(vs(a[0].u32, 4, 1) < vs(a[1].u32, 4, 1) ? vs(a[0].u32, 4, 1) : vs(a[1].u32, 4, 1)), a[2].s32))
BIN(vadd_merge, u32, (a[2].u32 & 0xffff00ff) | (uint32_t)cl(vs(a[0].u32, 0, 0) + vs(a[1].u32, 1, 0), 0, 255) << 8)
BIN(vshl_w, u32, a[0].u32 << (a[1].u32 & 31))
BIN(vshr_c, s32, (int32_t)((int64_t)a[0].s32 >> c32(a[1].u32)))
BIN(vmad_1, s32, (int32_t)((uint32_t)(vs(a[0].u32, 0, 1) * vs(a[1].u32, 0, 0)) + a[2].u32))
/* Whole registers are signed there whatever their type (recorded on an H200, tests/ptx/isa/video/forms_vmad.ptx). */
BIN(vmad_shr7, u32, (uint32_t)(((i128)a[0].s32 * a[1].s32 + a[2].s32) >> 7))
BIN(vset_lt, u32, vs(a[0].u32, 0, 1) < vs(a[1].u32, 0, 0))

#define C(body, types, fn) { body, types, fn, 0, 0 }
static const struct arith_case cases[] = {
    C("add.u16 %d0, %a0, %a1;", "u16 u16 > u16", add_u16),
    C("add.s32 %d0, %a0, %a1;", "s32 s32 > s32", add_u32),
    C("add.u64 %d0, %a0, %a1;", "u64 u64 > u64", add_u64),
    C("sub.u32 %d0, %a0, %a1;", "u32 u32 > u32", sub_u32),
    C("add.sat.s32 %d0, %a0, %a1;", "s32 s32 > s32", add_sat),
    C("sub.sat.s32 %d0, %a0, %a1;", "s32 s32 > s32", sub_sat),
    C("mul.lo.s32 %d0, %a0, %a1;", "s32 s32 > s32", mul_lo_s32),
    C("mul.lo.u64 %d0, %a0, %a1;", "u64 u64 > u64", mul_lo_u64),
    C("mul.lo.u16 %d0, %a0, %a1;", "u16 u16 > u16", mul_lo_u16),
    C("mul.hi.s16 %d0, %a0, %a1;", "s16 s16 > s16", mul_hi_s16),
    C("mul.hi.u32 %d0, %a0, %a1;", "u32 u32 > u32", mul_hi_u32),
    C("mul.hi.s32 %d0, %a0, %a1;", "s32 s32 > s32", mul_hi_s32),
    C("mul.hi.u64 %d0, %a0, %a1;", "u64 u64 > u64", mul_hi_u64),
    C("mul.hi.s64 %d0, %a0, %a1;", "s64 s64 > s64", mul_hi_s64),
    C("mul.wide.u16 %d0, %a0, %a1;", "u16 u16 > u32", mul_wide_u16),
    C("mul.wide.s16 %d0, %a0, %a1;", "s16 s16 > s32", mul_wide_s16),
    C("mul.wide.u32 %d0, %a0, %a1;", "u32 u32 > u64", mul_wide_u32),
    C("mul.wide.s32 %d0, %a0, %a1;", "s32 s32 > s64", mul_wide_s32),
    C("mad.lo.s32 %d0, %a0, %a1, %a2;", "s32 s32 s32 > s32", mad_lo_s32),
    C("mad.hi.sat.s32 %d0, %a0, %a1, %a2;", "s32 s32 s32 > s32", mad_hi_sat),
    C("mad.hi.u64 %d0, %a0, %a1, %a2;", "u64 u64 u64 > u64", mad_hi_u64),
    C("mad.wide.s32 %d0, %a0, %a1, %a2;", "s32 s32 s64 > s64", mad_wide_s32),
    C("mul24.lo.s32 %d0, %a0, %a1;", "s32 s32 > s32", mul24_lo_s),
    C("mul24.lo.u32 %d0, %a0, %a1;", "u32 u32 > u32", mul24_lo_u),
    C("mul24.hi.s32 %d0, %a0, %a1;", "s32 s32 > s32", mul24_hi_s),
    C("mul24.hi.u32 %d0, %a0, %a1;", "u32 u32 > u32", mul24_hi_u),
    C("mad24.hi.sat.s32 %d0, %a0, %a1, %a2;", "s32 s32 s32 > s32", mad24_hi_sat),
    C("mad24.lo.u32 %d0, %a0, %a1, %a2;", "u32 u32 u32 > u32", mad24_lo_u),
    C("sad.s32 %d0, %a0, %a1, %a2;", "s32 s32 s32 > s32", sad_s32),
    C("sad.u16 %d0, %a0, %a1, %a2;", "u16 u16 u16 > u16", sad_u16),
#define D(t) C("div." #t " %d0, %a0, %a1;", #t " " #t " > " #t, div_##t), C("rem." #t " %d0, %a0, %a1;", #t " " #t " > " #t, rem_##t)
    D(s16), D(u16), D(s32), D(u32), D(s64), D(u64),
    C("div.u32 %d0, %a0, 7;", "u32 > u32", div_u32_7),
    C("rem.s32 %d0, %a0, -1;", "s32 > s32", rem_s32_m1),
    C("abs.s32 %d0, %a0;", "s32 > s32", abs_s32),
    C("abs.s64 %d0, %a0;", "s64 > s64", abs_s64),
    C("neg.s16 %d0, %a0;", "s16 > s16", neg_s16),
    C("min.s32 %d0, %a0, %a1;", "s32 s32 > s32", min_s32),
    C("max.u64 %d0, %a0, %a1;", "u64 u64 > u64", max_u64),
    C("min.u16 %d0, %a0, %a1;", "u16 u16 > u16", min_u16),
    C("max.relu.s32 %d0, %a0, %a1;", "s32 s32 > s32", max_relu),
    C("min.s16x2 %d0, %a0, %a1;", "b32 b32 > b32", min_s16x2),
    C("min.relu.s16x2 %d0, %a0, %a1;", "b32 b32 > b32", min_relu_s16x2),
    C("max.u16x2 %d0, %a0, %a1;", "b32 b32 > b32", max_u16x2),
    C("add.u16x2 %d0, %a0, %a1;", "b32 b32 > b32", add_u16x2),
    C("popc.b32 %d0, %a0;", "b32 > u32", popc_b32), C("popc.b64 %d0, %a0;", "b64 > u32", popc_b64),
    C("clz.b32 %d0, %a0;", "b32 > u32", clz_b32), C("clz.b64 %d0, %a0;", "b64 > u32", clz_b64),
    C("bfind.u32 %d0, %a0;", "u32 > u32", bfind_u32), C("bfind.s32 %d0, %a0;", "s32 > u32", bfind_s32),
    C("bfind.u64 %d0, %a0;", "u64 > u32", bfind_u64), C("bfind.s64 %d0, %a0;", "s64 > u32", bfind_s64),
    C("bfind.shiftamt.s32 %d0, %a0;", "s32 > u32", bfind_amt), C("bfind.shiftamt.u64 %d0, %a0;", "u64 > u32", bfind_amt64),
    C("fns.b32 %d0, %a0, %a1, %a2;", "b32 b32 s32 > b32", fns),
    C("and.b32 %a1, %a1, 31; and.b32 %a2, %a2, 15; sub.s32 %a2, %a2, 8; fns.b32 %d0, %a0, %a1, %a2;", "b32 b32 s32 > b32", fns_small),
    C("brev.b32 %d0, %a0;", "b32 > b32", brev_b32), C("brev.b64 %d0, %a0;", "b64 > b64", brev_b64),
    C("bfe.u32 %d0, %a0, %a1, %a2;", "u32 u32 u32 > u32", bfe_u32), C("bfe.s32 %d0, %a0, %a1, %a2;", "s32 u32 u32 > s32", bfe_s32),
    C("bfe.u64 %d0, %a0, %a1, %a2;", "u64 u32 u32 > u64", bfe_u64), C("bfe.s64 %d0, %a0, %a1, %a2;", "s64 u32 u32 > s64", bfe_s64),
    C("and.b32 %a1, %a1, 31; and.b32 %a2, %a2, 31; bfe.s32 %d0, %a0, %a1, %a2;", "s32 u32 u32 > s32", bfe_s32_small),
    C("bfi.b32 %d0, %a0, %a1, %a2, %a3;", "b32 b32 u32 u32 > b32", bfi_b32),
    C("bfi.b64 %d0, %a0, %a1, %a2, %a3;", "b64 b64 u32 u32 > b64", bfi_b64),
    C("bfi.b32 %d0, %a0, %a1, 4, 9;", "b32 b32 > b32", bfi_const),
    C("szext.clamp.s32 %d0, %a0, %a1;", "s32 u32 > s32", szext_c_s), C("szext.wrap.u32 %d0, %a0, %a1;", "u32 u32 > u32", szext_w_u),
    C("szext.wrap.s32 %d0, %a0, %a1;", "s32 u32 > s32", szext_w_s),
    C("bmsk.clamp.b32 %d0, %a0, %a1;", "u32 u32 > b32", bmsk_c), C("bmsk.wrap.b32 %d0, %a0, %a1;", "u32 u32 > b32", bmsk_w),
    C("dp4a.s32.s32 %d0, %a0, %a1, %a2;", "b32 b32 s32 > s32", dp4a_ss), C("dp4a.u32.s32 %d0, %a0, %a1, %a2;", "b32 b32 s32 > s32", dp4a_us),
    C("dp4a.u32.u32 %d0, %a0, %a1, %a2;", "b32 b32 u32 > u32", dp4a_uu),
    C("dp2a.lo.s32.u32 %d0, %a0, %a1, %a2;", "b32 b32 s32 > s32", dp2a_lo_su), C("dp2a.hi.u32.s32 %d0, %a0, %a1, %a2;", "b32 b32 s32 > s32", dp2a_hi_us),
    C("add.cc.u64 %d0, %a0, %a2; addc.u64 %d1, %a1, %a3;", "u64 u64 u64 u64 > u64 u64", add_chain),
    C("sub.cc.u64 %d0, %a0, %a2; subc.u64 %d1, %a1, %a3;", "u64 u64 u64 u64 > u64 u64", sub_chain),
    C("add.cc.u32 %d0, %a0, %a2; addc.cc.u32 %d1, %a1, %a0; addc.u32 %d2, %a2, %a1;", "u32 u32 u32 > u32 u32 u32", add3_chain),
    C("sub.cc.u32 %d0, %a0, %a2; subc.cc.u32 %d1, %a1, %a0; subc.u32 %d2, %a2, %a1;", "u32 u32 u32 > u32 u32 u32", sub3_chain),
    C("mad.lo.cc.u64 %d0, %a0, %a1, %a2; madc.hi.u64 %d1, %a0, %a1, %a3;", "u64 u64 u64 u64 > u64 u64", mad_chain),
    C("and.b32 %d0, %a0, %a1;", "b32 b32 > b32", and_b32), C("or.b64 %d0, %a0, %a1;", "b64 b64 > b64", or_b64),
    C("xor.b16 %d0, %a0, %a1;", "b16 b16 > b16", xor_b16), C("not.b32 %d0, %a0;", "b32 > b32", not_b32),
    C("cnot.b32 %d0, %a0;", "b32 > b32", cnot_b32), C("xor.pred %d0, %a0, %a1;", "pred pred > pred", xor_pred),
    C("not.pred %d0, %a0;", "pred > pred", not_pred),
    C("not.pred %a1, %a1; and.pred %d0, %a0, %a1;", "pred pred > pred", andn_pred),
#define L(n) C("lop3.b32 %d0, %a0, %a1, %a2, 0x" #n ";", "b32 b32 b32 > b32", lop3_##n)
    L(00), L(ff), L(80), L(fe), L(96), L(e8), L(ca), L(1b), L(3c), L(f0), L(55), L(d4), L(78), L(2a), L(01), L(42), L(b7), L(69), L(8f), L(71),
    C("lop3.or.b32 %d0|%d1, %a0, %a1, %a2, 0x80, %a3;", "b32 b32 b32 pred > b32 pred", lop3_or),
    C("shl.b16 %d0, %a0, %a1;", "b16 u32 > b16", shl_b16), C("shl.b32 %d0, %a0, %a1;", "b32 u32 > b32", shl_b32), C("shl.b64 %d0, %a0, %a1;", "b64 u32 > b64", shl_b64),
    C("shr.u16 %d0, %a0, %a1;", "u16 u32 > u16", shr_u16), C("shr.u32 %d0, %a0, %a1;", "u32 u32 > u32", shr_u32), C("shr.b64 %d0, %a0, %a1;", "b64 u32 > b64", shr_u64),
    C("shr.s16 %d0, %a0, %a1;", "s16 u32 > s16", shr_s16), C("shr.s32 %d0, %a0, %a1;", "s32 u32 > s32", shr_s32), C("shr.s64 %d0, %a0, %a1;", "s64 u32 > s64", shr_s64),
    C("shl.b32 %d0, %a0, 33;", "b32 > b32", shl_33), C("shl.b32 %d0, %a0, 5;", "b32 > b32", shl_5), C("shr.s32 %d0, %a0, 40;", "s32 > s32", shr_40),
    C("shf.l.clamp.b32 %d0, %a0, %a1, %a2;", "b32 b32 u32 > b32", shf_l_c), C("shf.l.wrap.b32 %d0, %a0, %a1, %a2;", "b32 b32 u32 > b32", shf_l_w),
    C("shf.r.clamp.b32 %d0, %a0, %a1, %a2;", "b32 b32 u32 > b32", shf_r_c), C("shf.r.wrap.b32 %d0, %a0, %a1, %a2;", "b32 b32 u32 > b32", shf_r_w),
    C("prmt.b32 %d0, %a0, %a1, %a2;", "b32 b32 b32 > b32", prmt_g),
    C("prmt.b32 %d0, %a0, %a1, 0x7531;", "b32 b32 > b32", prmt_k1), C("prmt.b32 %d0, %a0, %a1, 0x9bf4;", "b32 b32 > b32", prmt_k2),
    C("prmt.b32 %d0, %a0, %a1, 0x3340;", "b32 b32 > b32", prmt_k3), C("prmt.b32 %d0, %a0, %a1, 0x8c21;", "b32 b32 > b32", prmt_k4),
#define P(m) C("prmt.b32." #m " %d0, %a0, %a1, %a2;", "b32 b32 b32 > b32", prmt_##m)
    P(f4e), P(b4e), P(rc8), P(ecl), P(ecr), P(rc16),
    C("setp.lt.s32 %d0, %a0, %a1;", "s32 s32 > pred", lt_s32), C("setp.ge.u32 %d0, %a0, %a1;", "u32 u32 > pred", ge_u32),
    C("setp.eq.b64 %d0, %a0, %a1;", "b64 b64 > pred", eq_b64), C("setp.ne.s16 %d0, %a0, %a1;", "s16 s16 > pred", ne_s16),
    C("setp.hi.u64 %d0, %a0, %a1;", "u64 u64 > pred", hi_u64), C("setp.le.s64 %d0, %a0, %a1;", "s64 s64 > pred", le_s64),
    C("setp.ls.u16 %d0, %a0, %a1;", "u16 u16 > pred", ls_u16), C("setp.gt.u32 %d0, %a0, %a1;", "u32 u32 > pred", gt_u32),
    C("setp.lt.s32 %d0|%d1, %a0, %a1;", "s32 s32 > pred pred", setp_pair),
    C("setp.lt.and.s32 %d0|%d1, %a0, %a1, %a2;", "s32 s32 pred > pred pred", setp_and),
    C("setp.eq.or.u32 %d0|%d1, %a0, %a1, !%a2;", "u32 u32 pred > pred pred", setp_or_not),
    C("setp.gt.xor.u32 %d0|%d1, %a0, %a1, %a2;", "u32 u32 pred > pred pred", setp_xor),
    C("set.ge.u32.s32 %d0, %a0, %a1;", "s32 s32 > u32", set_u32), C("set.lt.f32.u32 %d0, %a0, %a1;", "u32 u32 > f32", set_f32),
    C("set.eq.xor.s32.s32 %d0, %a0, %a1, %a2;", "s32 s32 pred > s32", set_xor),
    C("selp.b64 %d0, %a0, %a1, %a2;", "b64 b64 pred > b64", selp_b64), C("selp.f32 %d0, %a0, %a1, %a2;", "f32 f32 pred > f32", selp_f32),
    C("slct.u32.s32 %d0, %a0, %a1, %a2;", "u32 u32 s32 > u32", slct_s32), C("slct.b64.f32 %d0, %a0, %a1, %a2;", "b64 b64 f32 > b64", slct_f32),
    C("slct.ftz.s32.f32 %d0, %a0, %a1, %a2;", "s32 s32 f32 > s32", slct_ftz),
    C("vadd.s32.u32.s32.sat %d0, %a0.b1, %a1.h1;", "u32 s32 > s32", vadd_1),
    C("vadd.u32.u32.s32.sat %d0, %a0, %a1;", "u32 s32 > u32", vadd_sat_u),
    C("vsub.s32.s32.s32.add %d0, %a0.b0, %a1.b3, %a2;", "s32 s32 s32 > s32", vsub_add),
    C("vabsdiff.u32.u32.u32.add %d0, %a0.b2, %a1.b2, %a2;", "u32 u32 u32 > u32", vabsdiff_acc),
    C("vmin.s32.s32.s32.max %d0, %a0.h0, %a1.h0, %a2;", "s32 s32 s32 > s32", vmin_max),
    C("vadd.u32.u32.u32.sat %d0.b1, %a0.b0, %a1.b1, %a2;", "u32 u32 u32 > u32", vadd_merge),
    C("vshl.u32.u32.u32.wrap %d0, %a0, %a1;", "u32 u32 > u32", vshl_w), C("vshr.s32.s32.u32.clamp %d0, %a0, %a1;", "s32 u32 > s32", vshr_c),
    C("vmad.s32.s32.u32 %d0, %a0.b0, %a1.b0, %a2;", "s32 u32 s32 > s32", vmad_1),
    C("vmad.u32.u32.u32.shr7 %d0, %a0, %a1, %a2;", "u32 u32 u32 > u32", vmad_shr7),
    C("vset.s32.u32.lt %d0, %a0.b0, %a1.b0;", "s32 u32 > u32", vset_lt),
};

int
main(void)
{
    return arith_run("integer", cases, sizeof cases / sizeof *cases) ? 1 : 0;
}
