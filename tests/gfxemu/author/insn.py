#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# insn.py DIR: writes the tables for test_insn.c. What an instruction does is written down here from AMD's ISA documents ("Vega", "CDNA2",
# "CDNA3", "RDNA1" to "RDNA4"), on integers and exact fractions; run by hand, never by the build.
import os
import sys
from fractions import Fraction

M32, M64, M16 = 0xffffffff, 0xffffffffffffffff, 0xffff


def signed(x, bits):
    x &= (1 << bits) - 1
    return x - (1 << bits) if x >> (bits - 1) else x


class Format:
    """A binary floating-point format: numbers are bits, or fractions with a sign for zero."""

    def __init__(self, e, m):
        self.e, self.m, self.bits = e, m, e + m + 1
        self.bias = (1 << (e - 1)) - 1
        self.inf = ((1 << e) - 1) << m
        self.sign = 1 << (e + m)
        self.quiet = 1 << (m - 1)
        self.nan = self.inf | self.quiet

    def is_nan(self, x):
        return (x & ~self.sign) > self.inf

    def is_snan(self, x):
        return self.is_nan(x) and not x & self.quiet

    def is_inf(self, x):
        return (x & ~self.sign) == self.inf

    def is_denormal(self, x):
        return 0 < (x & ~self.sign) < 1 << self.m

    def value(self, x):
        """A finite number as a fraction."""
        e, m = (x & ~self.sign) >> self.m, x & ((1 << self.m) - 1)
        v = Fraction(m | (1 << self.m) if e else m) * Fraction(2) ** ((e or 1) - self.bias - self.m)
        return -v if x & self.sign else v

    def round(self, v, zero=0, mode='rn'):
        """The bits of the nearest number, ties to even (rz: cut); `zero`: the sign bit of a zero."""
        s = self.sign if v < 0 else 0
        if v == 0:
            return zero
        a = abs(v)
        e = 0
        while Fraction(2) ** (e + 1) <= a:
            e += 1
        while Fraction(2) ** e > a:
            e -= 1
        e = max(e, 1 - self.bias)
        q = a / Fraction(2) ** (e - self.m)
        n = q.numerator // q.denominator
        rest = q - n
        if mode == 'rn' and (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and n & 1)):
            n += 1
        if n >= 1 << (self.m + 1):
            n >>= 1
            e += 1
        if e > self.bias:
            return s | (self.inf if mode == 'rn' else self.inf - 1)
        if n < 1 << self.m:
            return s | n
        return s | (e + self.bias) << self.m | (n & ((1 << self.m) - 1))

    def quieted(self, x):
        return x | self.quiet

    def add(self, a, b):
        for x in (a, b):
            if self.is_nan(x):
                return self.quieted(x)
        if self.is_inf(a) or self.is_inf(b):
            if self.is_inf(a) and self.is_inf(b) and (a ^ b) & self.sign:
                return self.nan
            return a if self.is_inf(a) else b
        return self.round(self.value(a) + self.value(b), self.sign if a & b & self.sign else 0)

    def mul(self, a, b):
        for x in (a, b):
            if self.is_nan(x):
                return self.quieted(x)
        s = (a ^ b) & self.sign
        if self.is_inf(a) or self.is_inf(b):
            return self.nan if not a & ~self.sign or not b & ~self.sign else s | self.inf
        return self.round(self.value(a) * self.value(b), s)

    def fma(self, a, b, c):
        for x in (a, b, c):
            if self.is_nan(x):
                return self.quieted(x)
        s = (a ^ b) & self.sign
        if self.is_inf(a) or self.is_inf(b):
            if not a & ~self.sign or not b & ~self.sign or (self.is_inf(c) and (c & self.sign) != s):
                return self.nan
            return s | self.inf
        if self.is_inf(c):
            return c
        exact = self.value(a) * self.value(b) + self.value(c)
        both_zero = self.sign if s and c & self.sign else 0
        return self.round(exact, both_zero)

    def less(self, a, b):
        """Neither NaN; -0 is less than +0."""
        key = lambda x: -(x & ~self.sign) - (1 if x & self.sign else 0) if x & self.sign else x
        return key(a) < key(b)

    def minmax(self, a, b, want_max, ieee):
        """MIN, MAX with DX10 or IEEE rules: with the IEEE mode a signalling NaN comes out quiet; else a NaN loses."""
        if ieee:
            for x in (a, b):
                if self.is_snan(x):
                    return self.quieted(x)
        if self.is_nan(a):
            return b
        if self.is_nan(b):
            return a
        return (b if self.less(a, b) else a) if want_max else (a if self.less(a, b) else b)

    def to_int(self, x, lo, hi, how='rz'):
        if self.is_nan(x):
            return 0
        if self.is_inf(x):
            return lo if x & self.sign else hi
        v = self.value(x)
        if how == 'floor':
            n = v.numerator // v.denominator
        elif how == 'nearest':          # floor(x + 0.5)
            n = (v + Fraction(1, 2)).numerator // (v + Fraction(1, 2)).denominator
        else:
            n = abs(v).numerator // abs(v).denominator * (-1 if v < 0 else 1)
        return min(max(n, lo), hi)

    def integral(self, x, how):
        if self.is_nan(x):
            return self.quieted(x)
        if self.is_inf(x):
            return x
        v = self.value(x)
        n = v.numerator // v.denominator            # floor
        if how == 'ceil':
            n = -((-v).numerator // (-v).denominator)
        elif how == 'trunc':
            n = n if v >= 0 else -((-v).numerator // (-v).denominator)
        elif how == 'rndne':
            half = v - n
            n += half > Fraction(1, 2) or (half == Fraction(1, 2) and n & 1)
        return self.round(Fraction(n), x & self.sign)


F32, F16, F64 = Format(8, 23), Format(5, 10), Format(11, 52)

I32 = [0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x12345678, 0xdeadbeef]
I16 = [0, 1, 0x7fff, 0x8000, 0xffff, 0x1234]
I64 = [0, 1, 0x7fffffffffffffff, 0x8000000000000000, M64, 0x123456789abcdef0, 0x00000000ffffffff]
SHIFT = [0, 1, 31, 32, 33, 63, 0xffffffff]
FS = [0, 0x80000000, 0x3f800000, 0xbf800000, 0x40490fdb, 0x00000001, 0x807fffff, 0x00800000, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc12345]
FN = [x for x in FS if not F32.is_nan(x)]
HS = [0, 0x8000, 0x3c00, 0xbc00, 0x4248, 0x0001, 0x83ff, 0x0400, 0x7bff, 0x7c00, 0xfc00, 0x7e12]
HN = [x for x in HS if not F16.is_nan(x)]
DS = [0, 1 << 63, 0x3ff0000000000000, 0xbff0000000000000, 0x400921fb54442d18, 1, 0x8010000000000000, 0x7fefffffffffffff, 0x7ff0000000000000,
      0xfff0000000000000, 0x7ff8000000012345]
DN = [x for x in DS if not F64.is_nan(x)]

lines = []


def h(x):
    return x if isinstance(x, str) else '%x' % x


def op(targets, text, ins, outs, rows):
    """rows: (inputs..., outputs...) of numbers or words."""
    lines.append('op %s %s' % (targets, text))
    lines.append('io %s -> %s' % (ins, outs))
    n = len(ins.split())
    seen = set()
    for r in rows:
        s = ' %s -> %s' % (' '.join(h(x) for x in r[:n]), ' '.join(h(x) for x in r[n:]))
        if s not in seen:
            seen.add(s)
            lines.append(s)


def pairs(a, b, most=24):
    """Crossed, thinned out: every value of either is there."""
    all_ = [(x, y) for x in a for y in b]
    if len(all_) <= most:
        return all_
    step = len(all_) / most
    some = [all_[int(i * step)] for i in range(most)]
    return some + [(x, b[i % len(b)]) for i, x in enumerate(a)] + [(a[i % len(a)], y) for i, y in enumerate(b)]


def triples(a, b, c):
    out = []
    for i in range(16):
        out.append((a[i % len(a)], b[(i * 3 + 1) % len(b)], c[(i * 5 + 2) % len(c)]))
    return out


def bin32(targets, names, f, a=I32, b=I32):
    for t, n in zip(targets, names):
        op(t, n + ' v0, v1, v2', 'v1 v2', 'v0', [(x, y, f(x, y) & M32) for x, y in pairs(a, b)])


def un32(targets, names, f, a=I32):
    for t, n in zip(targets, names):
        op(t, n + ' v0, v1', 'v1', 'v0', [(x, f(x) & M32) for x in a])


def tri32(target, name, f, a=I32, b=I32, c=I32):
    op(target, name + ' v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(x, y, z, f(x, y, z) & M32) for x, y, z in triples(a, b, c)])


# ---- vector integers ----------------------------------------------------------------------------------------------------------

ALL = ['all']
S = lambda x: signed(x, 32)


def leading(x):
    return 32 - x.bit_length() if x else M32


def leading_signs(x):
    """The first bit from the top that differs from the sign, counted from the top."""
    for i in range(1, 32):
        if (x >> (31 - i) & 1) != x >> 31:
            return i
    return M32


def reverse(x, n=32):
    return int(format(x, '0%db' % n)[::-1], 2)


def integers():
    un32(ALL, ['v_mov_b32'], lambda a: a)
    un32(ALL, ['v_not_b32'], lambda a: ~a)
    un32(ALL, ['v_bfrev_b32'], reverse)
    un32(['9,90a,942,10', '11,12'], ['v_ffbh_u32', 'v_clz_i32_u32'], leading)
    un32(['9,90a,942,10', '11,12'], ['v_ffbl_b32', 'v_ctz_i32_b32'], lambda a: (a & -a).bit_length() - 1 if a else M32)
    un32(['9,90a,942,10', '11,12'], ['v_ffbh_i32', 'v_cls_i32'], leading_signs, I32 + [0x40000000, 0xc0000000, 0xfffffffe])
    bin32(ALL, ['v_and_b32'], lambda a, b: a & b)
    bin32(ALL, ['v_or_b32'], lambda a, b: a | b)
    bin32(ALL, ['v_xor_b32'], lambda a, b: a ^ b)
    bin32(ALL, ['v_xnor_b32'], lambda a, b: ~(a ^ b))
    bin32(ALL, ['v_lshlrev_b32'], lambda a, b: b << (a & 31), SHIFT)
    bin32(ALL, ['v_lshrrev_b32'], lambda a, b: b >> (a & 31), SHIFT)
    bin32(ALL, ['v_ashrrev_i32'], lambda a, b: S(b) >> (a & 31), SHIFT)
    bin32(ALL, ['v_min_u32'], min)
    bin32(ALL, ['v_max_u32'], max)
    bin32(ALL, ['v_min_i32'], lambda a, b: min(S(a), S(b)))
    bin32(ALL, ['v_max_i32'], lambda a, b: max(S(a), S(b)))
    bin32(['9,90a,942', '10+'], ['v_add_u32', 'v_add_nc_u32'], lambda a, b: a + b)
    bin32(['9,90a,942', '10+'], ['v_sub_u32', 'v_sub_nc_u32'], lambda a, b: a - b)
    bin32(['9,90a,942', '10+'], ['v_subrev_u32', 'v_subrev_nc_u32'], lambda a, b: b - a)
    clamp_u = lambda v: min(max(v, 0), M32)
    clamp_i = lambda v: min(max(v, -1 << 31), (1 << 31) - 1)
    for t, add, sub in (('9,90a,942', 'v_add_u32_e64', 'v_sub_u32_e64'), ('10+', 'v_add_nc_u32_e64', 'v_sub_nc_u32_e64')):
        op(t, add + ' v0, v1, v2 clamp', 'v1 v2', 'v0', [(a, b, clamp_u(a + b)) for a, b in pairs(I32, I32)])
        op(t, sub + ' v0, v1, v2 clamp', 'v1 v2', 'v0', [(a, b, clamp_u(a - b)) for a, b in pairs(I32, I32)])
    for t, add, sub in (('9,90a,942', 'v_add_i32', 'v_sub_i32'), ('10+', 'v_add_nc_i32', 'v_sub_nc_i32')):
        op(t, add + ' v0, v1, v2', 'v1 v2', 'v0', [(a, b, (a + b) & M32) for a, b in pairs(I32, I32)])
        op(t, add + ' v0, v1, v2 clamp', 'v1 v2', 'v0', [(a, b, clamp_i(S(a) + S(b)) & M32) for a, b in pairs(I32, I32)])
        op(t, sub + ' v0, v1, v2 clamp', 'v1 v2', 'v0', [(a, b, clamp_i(S(a) - S(b)) & M32) for a, b in pairs(I32, I32)])
    bin32(ALL, ['v_mul_lo_u32'], lambda a, b: a * b)
    bin32(ALL, ['v_mul_hi_u32'], lambda a, b: a * b >> 32)
    bin32(ALL, ['v_mul_hi_i32'], lambda a, b: S(a) * S(b) >> 32)
    u24 = lambda x: x & 0xffffff
    i24 = lambda x: signed(x, 24)
    bin32(ALL, ['v_mul_u32_u24'], lambda a, b: u24(a) * u24(b))
    bin32(ALL, ['v_mul_i32_i24'], lambda a, b: i24(a) * i24(b))
    bin32(ALL, ['v_mul_hi_u32_u24'], lambda a, b: u24(a) * u24(b) >> 32)
    bin32(ALL, ['v_mul_hi_i32_i24'], lambda a, b: i24(a) * i24(b) >> 32)
    bin32(ALL, ['v_bfm_b32'], lambda a, b: ((1 << (a & 31)) - 1) << (b & 31), SHIFT, SHIFT)
    bin32(ALL, ['v_bcnt_u32_b32'], lambda a, b: bin(a).count('1') + b)
    tri32('all', 'v_mad_u32_u24', lambda a, b, c: u24(a) * u24(b) + c)
    tri32('all', 'v_mad_i32_i24', lambda a, b, c: i24(a) * i24(b) + c)
    tri32('all', 'v_add3_u32', lambda a, b, c: a + b + c)
    tri32('all', 'v_lshl_add_u32', lambda a, b, c: (a << (b & 31)) + c, I32, SHIFT)
    tri32('all', 'v_add_lshl_u32', lambda a, b, c: (a + b & M32) << (c & 31), I32, I32, SHIFT)
    tri32('all', 'v_lshl_or_b32', lambda a, b, c: (a << (b & 31)) | c, I32, SHIFT)
    tri32('all', 'v_and_or_b32', lambda a, b, c: (a & b) | c)
    tri32('all', 'v_or3_b32', lambda a, b, c: a | b | c)
    tri32('10+', 'v_xor3_b32', lambda a, b, c: a ^ b ^ c)
    tri32('all', 'v_xad_u32', lambda a, b, c: (a ^ b) + c)
    tri32('all', 'v_bfi_b32', lambda a, b, c: (a & b) | (~a & c))
    tri32('all', 'v_bfe_u32', lambda a, b, c: a >> (b & 31) & ((1 << (c & 31)) - 1), I32, SHIFT, SHIFT)

    def bfe_i(a, b, c):
        n = c & 31
        return signed(a >> (b & 31) & ((1 << n) - 1), n) if n else 0
    # A field that reaches beyond bit 31: the value shifted is the sign-extended one.
    tri32('all', 'v_bfe_i32', bfe_i, I32, [0, 1, 4, 7, 8, 16], [0, 1, 4, 8, 15, 16])
    tri32('all', 'v_alignbit_b32', lambda a, b, c: (a << 32 | b) >> (c & 31), I32, I32, SHIFT)
    tri32('all', 'v_alignbyte_b32', lambda a, b, c: (a << 32 | b) >> 8 * (c & 3), I32, I32, SHIFT)
    mid = lambda a, b, c: sorted((a, b, c))[1]
    tri32('all', 'v_min3_u32', min)
    tri32('all', 'v_max3_u32', max)
    tri32('all', 'v_med3_u32', mid)
    tri32('all', 'v_min3_i32', lambda a, b, c: min(S(a), S(b), S(c)))
    tri32('all', 'v_max3_i32', lambda a, b, c: max(S(a), S(b), S(c)))
    tri32('all', 'v_med3_i32', lambda a, b, c: mid(S(a), S(b), S(c)))
    tri32('11,12', 'v_maxmin_u32', lambda a, b, c: min(max(a, b), c))
    tri32('11,12', 'v_minmax_u32', lambda a, b, c: max(min(a, b), c))
    tri32('11,12', 'v_maxmin_i32', lambda a, b, c: min(max(S(a), S(b)), S(c)))
    tri32('11,12', 'v_minmax_i32', lambda a, b, c: max(min(S(a), S(b)), S(c)))
    tri32('all', 'v_sad_u32', lambda a, b, c: abs(a - b) + c)
    byte = lambda x, i: x >> 8 * i & 255
    tri32('all', 'v_sad_u8', lambda a, b, c: sum(abs(byte(a, i) - byte(b, i)) for i in range(4)) + c)
    tri32('all', 'v_sad_u16', lambda a, b, c: abs((a & M16) - (b & M16)) + abs((a >> 16) - (b >> 16)) + c)

    def perm(a, b, c):
        data, r = a << 32 | b, 0
        for i in range(4):
            s = byte(c, i)
            if s >= 13:
                v = 255
            elif s == 12:
                v = 0
            elif s >= 8:            # the sign of bytes 1, 3, 5, 7
                v = 255 if data >> (16 * (s - 8) + 15) & 1 else 0
            else:
                v = data >> 8 * s & 255
            r |= v << 8 * i
        return r
    tri32('all', 'v_perm_b32', perm, [0x01828384, 0x85060788], [0x890a0b8c, 0x0d8e0f90], [0x03020100, 0x07060504, 0x0b0a0908, 0x0f0e0d0c, 0xff120405])
    op('all', 'v_mbcnt_lo_u32_b32 v0, v1, v2', 'v1 v2', 'v0@0 v0@1 v0@31',
       [(m, c, c, (c + (m & 1)) & M32, (c + bin(m & 0x7fffffff).count('1')) & M32) for m in I32 for c in (0, 5)])
    for c in range(2):
        op('9,90a,942', 'v_mbcnt_hi_u32_b32 v0, v1, v2', 'v1 v2', 'v0@5 v0@32 v0@34 v0@63',
           [(m, c, c, c, c + (m & 1) + (m >> 1 & 1), c + bin(m & 0x7fffffff).count('1')) for m in I32])
    op('9,90a,942', 'v_readlane_b32 s4, v1, 37', 'v1', 's4', [('lane', 37), (0xdeadbeef, 0xdeadbeef)])
    op('all', 'v_readlane_b32 s4, v1, s5', 'v1 s5', 's4', [('lane', 3, 3), ('lane', 31, 31)])
    op('all', 'v_readfirstlane_b32 s4, v1', 'v1 exec', 's4', [('lane', 'all', 0), ('lane', 8, 3), ('lane', 0xf0000000, 28), ('lane', 0, 0)])
    op('all', 'v_writelane_b32 v0, s4, 5', 's4', 'v0@4 v0@5 v0@6', [(7, 0xa5a5a5a5, 7, 0xa5a5a5a5)])
    op('all', 'v_mov_b32 v0, v1', 'v1 exec', 'v0@0 v0@1', [(7, 2, 0xa5a5a5a5, 7), (7, 0, 0xa5a5a5a5, 0xa5a5a5a5)])
    # 64 bits
    sh64 = [(s, x) for s in (0, 1, 31, 32, 63, 64, 0xffffffff) for x in I64[2:6]]
    op('9,90a,942,10,11', 'v_lshlrev_b64 v[0:1], v2, v[4:5]', 'v2 v4:2', 'v0:2', [(s, x, x << (s & 63) & M64) for s, x in sh64])
    op('all', 'v_lshrrev_b64 v[0:1], v2, v[4:5]', 'v2 v4:2', 'v0:2', [(s, x, x >> (s & 63)) for s, x in sh64])
    op('all', 'v_ashrrev_i64 v[0:1], v2, v[4:5]', 'v2 v4:2', 'v0:2', [(s, x, signed(x, 64) >> (s & 63) & M64) for s, x in sh64])
    op('942', 'v_lshl_add_u64 v[0:1], v[2:3], v4, v[6:7]', 'v2:2 v4 v6:2', 'v0:2',
       [(x, s, y, ((x << s) + y) & M64) for x in I64 for s, y in ((0, 1), (1, I64[5]), (4, M64))])
    op('90a,942', 'v_pk_mov_b32 v[0:1], v[2:3], v[4:5] op_sel:[0,1]', 'v2:2 v4:2', 'v0:2',
       [(x, y, (x & M32) | (y >> 32 << 32)) for x, y in pairs(I64, I64, 8)])
    rows = [(a, b, c, (a * b + c) & M64, 'all' if a * b + c > M64 else 0) for a, b, c in triples(I32, I32, I64)]
    op('9,90a,942,10,11', 'v_mad_u64_u32 v[0:1], $m8, v2, v3, v[4:5]', 'v2 v3 v4:2', 'v0:2 m8', rows)
    op('12', 'v_mad_co_u64_u32 v[0:1], $m8, v2, v3, v[4:5]', 'v2 v3 v4:2', 'v0:2 m8', rows)
    op('9,90a,942,10,11', 'v_mad_i64_i32 v[0:1], $m8, v2, v3, v[4:5]', 'v2 v3 v4:2', 'v0:2',
       [(a, b, c, (S(a) * S(b) + c) & M64) for a, b, c in triples(I32, I32, I64)])


def carries():
    cases = pairs(I32, I32)
    mask = lambda c: 'all' if c else 0
    for t, n in (('9,90a,942', '_e32'), ('10+', '')):
        out = 'vcc' if n else 'm8'
        dst = '$vcc' if n else '$m8'
        op(t, 'v_add_co_u32%s v0, %s, v1, v2' % (n, dst), 'v1 v2', 'v0 ' + out, [(a, b, (a + b) & M32, mask(a + b > M32)) for a, b in cases])
        op(t, 'v_sub_co_u32%s v0, %s, v1, v2' % (n, dst), 'v1 v2', 'v0 ' + out, [(a, b, (a - b) & M32, mask(b > a)) for a, b in cases])
        op(t, 'v_subrev_co_u32%s v0, %s, v1, v2' % (n, dst), 'v1 v2', 'v0 ' + out, [(a, b, (b - a) & M32, mask(a > b)) for a, b in cases])
    for t, add, sub, rev in (('9,90a,942', 'v_addc_co_u32_e32', 'v_subb_co_u32_e32', 'v_subbrev_co_u32_e32'),
                             ('10+', 'v_add_co_ci_u32_e32', 'v_sub_co_ci_u32_e32', 'v_subrev_co_ci_u32_e32')):
        for n, f in ((add, lambda a, b, c: a + b + c), (sub, lambda a, b, c: a - b - c), (rev, lambda a, b, c: b - a - c)):
            op(t, n + ' v0, $vcc, v1, v2, $vcc', 'v1 v2 vcc', 'v0 vcc',
               [(a, b, mask(c), f(a, b, c) & M32, mask(not 0 <= f(a, b, c) <= M32)) for c in (0, 1) for a, b in cases])
    # only lanes that are active write, and set bits of the mask
    op('9,90a,942', 'v_add_co_u32_e32 v0, $vcc, v1, v2', 'v1 v2 exec', 'v0@0 v0@1 vcc', [(M32, 1, 1, 0, 0xa5a5a5a5, 1)])
    op('all', 'v_cndmask_b32_e64 v0, v1, v2, $m8', 'v1 v2 m8', 'v0@0 v0@1', [(1, 2, 2, 1, 2), (1, 2, 1, 2, 1)])
    op('all', 'v_cndmask_b32_e64 v0, -v1, |v2|, $m8', 'v1 v2 m8', 'v0@0 v0@1', [(0x3f800000, 0xbf800000, 2, 0xbf800000, 0x3f800000)])


def halves():
    """16-bit integers. What becomes of the upper half: cleared on GCN and CDNA, kept since RDNA1."""
    for t, keep in (('9,90a,942', False), ('10+', True)):
        up = 0xa5a50000 if keep else 0
        nc = 'nc_' if keep else ''

        def two(name, f, a=I16, b=I16, t=t, up=up):
            op(t, name + ' v0, v1, v2', 'v1 v2', 'v0', [(x | 0xabcd0000, y, up | (f(x, y) & M16)) for x, y in pairs(a, b, 16)])
        H = lambda x: signed(x, 16)
        two('v_add_%su16' % nc, lambda a, b: a + b)
        two('v_sub_%su16' % nc, lambda a, b: a - b)
        two('v_mul_lo_u16', lambda a, b: a * b)
        two('v_min_u16', min)
        two('v_max_u16', max)
        two('v_min_i16', lambda a, b: min(H(a), H(b)))
        two('v_max_i16', lambda a, b: max(H(a), H(b)))
        sh = [0, 1, 15, 16, 17, 0xffff]
        two('v_lshlrev_b16', lambda a, b: b << (a & 15), sh)
        two('v_lshrrev_b16', lambda a, b: b >> (a & 15), sh)
        two('v_ashrrev_i16', lambda a, b: H(b) >> (a & 15), sh)
        add, sub = ('v_add_nc_i16', 'v_sub_nc_i16') if keep else ('v_add_i16', 'v_sub_i16')
        sat = lambda v: min(max(v, -32768), 32767) & M16
        op(t, add + ' v0, v1, v2 clamp', 'v1 v2', 'v0.l', [(a, b, sat(H(a) + H(b))) for a, b in pairs(I16, I16, 16)])
        op(t, sub + ' v0, v1, v2 clamp', 'v1 v2', 'v0.l', [(a, b, sat(H(a) - H(b))) for a, b in pairs(I16, I16, 16)])
    H = lambda x: signed(x, 16)
    for name, f in (('v_min3_u16', min), ('v_max3_u16', max), ('v_med3_u16', lambda a, b, c: sorted((a, b, c))[1])):
        op('all', name + ' v0, v1, v2, v3', 'v1 v2 v3', 'v0.l', [(a, b, c, f(a, b, c)) for a, b, c in triples(I16, I16, I16)])
    for name, f in (('v_min3_i16', min), ('v_max3_i16', max), ('v_med3_i16', lambda a, b, c: sorted((a, b, c))[1])):
        op('all', name + ' v0, v1, v2, v3', 'v1 v2 v3', 'v0.l', [(a, b, c, f(H(a), H(b), H(c)) & M16) for a, b, c in triples(I16, I16, I16)])
    op('all', 'v_mad_u16 v0, v1, v2, v3', 'v1 v2 v3', 'v0.l', [(a, b, c, (a * b + c) & M16) for a, b, c in triples(I16, I16, I16)])
    op('all', 'v_mad_u32_u16 v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(a, b, c, (a * b + c) & M32) for a, b, c in triples(I16, I16, I32)])
    op('all', 'v_mad_i32_i16 v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(a, b, c, (H(a) * H(b) + c) & M32) for a, b, c in triples(I16, I16, I32)])
    op('all', 'v_pack_b32_f16 v0, v1, v2 op_sel:[1,0,0]', 'v1 v2', 'v0', [(0x3c004000, 0x12344400, 0x44003c00)])
    for name in ('v_and_b16', 'v_or_b16', 'v_xor_b16'):
        f = {'v_and_b16': lambda a, b: a & b, 'v_or_b16': lambda a, b: a | b, 'v_xor_b16': lambda a, b: a ^ b}[name]
        op('11,12', name + ' v0, v1, v2', 'v1 v2', 'v0.l', [(a, b, f(a, b)) for a, b in pairs(I16, I16, 8)])


# ---- floats --------------------------------------------------------------------------------------------------------------------

def floats():
    for f, p, vals, ins, out in ((F32, 'f32', FS, 'v1 v2', 'v0'), (F16, 'f16', HS, 'v1 v2', 'v0.l'), (F64, 'f64', DS, 'v2:2 v4:2', 'v0:2')):
        regs = 'v[0:1], v[2:3], v[4:5]' if f is F64 else 'v0, v1, v2'
        c = pairs(vals, vals, 40)
        # with two NaNs ISA documents do not say whose comes out
        c = [(a, b) for a, b in c if not (f.is_nan(a) and f.is_nan(b))]
        op('all', 'v_add_%s %s' % (p, regs), ins, out, [(a, b, f.add(a, b)) for a, b in c])
        op('all', 'v_mul_%s %s' % (p, regs), ins, out, [(a, b, f.mul(a, b)) for a, b in c])
        if f is not F64:
            op('all', 'v_sub_%s %s' % (p, regs), ins, out, [(a, b, f.add(a, b if f.is_nan(b) else b ^ f.sign)) for a, b in c if not f.is_nan(b)])
            op('all', 'v_subrev_%s %s' % (p, regs), ins, out, [(a, b, f.add(b, a ^ f.sign)) for a, b in c if not f.is_nan(a)])
        snan = f.inf | 1
        cs = c + [(snan, vals[2]), (vals[2], snan), (f.nan, vals[2]), (vals[2], f.nan | f.sign)]
        # up to RDNA3 with the IEEE mode, in which kernels start; RDNA4 has minimumNumber, for which a signalling NaN is one as any
        for name in ('min', 'max'):
            op('9,90a,942,10,11', 'v_%s_%s %s' % (name, p, regs), ins, out, [(a, b, f.minmax(a, b, name == 'max', True)) for a, b in cs])
            op('12', 'v_%s_num_%s %s' % (name, p, regs), ins, out, [(a, b, f.minmax(a, b, name == 'max', False)) for a, b in cs])
        t3 = triples(vals[:-1], vals[:-1], vals[:-1]) + [(vals[2], vals[4], vals[-1]), (vals[-1], vals[2], vals[2])]
        r3 = 'v[0:1], v[2:3], v[4:5], v[6:7]' if f is F64 else 'v0, v1, v2, v3'
        i3 = 'v2:2 v4:2 v6:2' if f is F64 else 'v1 v2 v3'
        exact = [(vals[2] + 1, vals[2] + 1, f.sign | (vals[2] + 2)), (vals[2] + 1, vals[2] - 1, f.sign | vals[2])]     # the last bits of a product
        op('all', 'v_fma_%s %s' % (p, r3), i3, out, [(a, b, d, f.fma(a, b, d)) for a, b, d in t3 + exact])
        one = (ins.split()[0], regs.rsplit(', ', 1)[0])
        odd = [f.round(Fraction(x, 4)) for x in (-14, -10, -6, -5, -3, -2, -1, 1, 2, 3, 5, 6, 10, 14, 400001)]
        for how in ('floor', 'ceil', 'trunc', 'rndne'):
            op('all', 'v_%s_%s %s' % (how, p, one[1]), one[0], out, [(x, f.integral(x, how)) for x in vals + odd])
        if f is not F64:
            op('all', 'v_fract_%s %s' % (p, one[1]), one[0], out,
               [(x, min(f.round(f.value(x) - (f.value(x).numerator // f.value(x).denominator)), f.round(1) - 1)) for x in odd + [0, vals[2], vals[4]] if not f.is_inf(x)])
        # exact reciprocals and roots
        powers = [f.round(Fraction(2) ** k) for k in (-3, -1, 0, 1, 5)]
        def transcendental(name, cases, f=f, p=p, one=one, out=out):
            op('all', 'v_%s_%s %s' % (name, p, one[1]), one[0], out, cases)
            if f is not F64:    # the same from a scalar register to one
                op('12', 'v_s_%s_%s s0, s4' % (name, p), 's4', 's0', cases)
        transcendental('rcp', [(x, f.round(1 / f.value(x))) for x in powers] + [(0, f.inf), (f.sign, f.inf | f.sign), (f.inf, 0), (f.inf | f.sign, f.sign)])
        transcendental('sqrt', [(f.round(Fraction(k * k)), f.round(Fraction(k))) for k in (1, 2, 3, 10)] + [(0, 0), (f.sign, f.sign), (f.inf, f.inf)])
        transcendental('rsq', [(f.round(Fraction(4) ** k), f.round(Fraction(2) ** -k)) for k in (-2, 0, 3)]
                       + [(0, f.inf), (f.sign, f.inf | f.sign), (f.inf, 0)])
        if f is not F64:
            transcendental('exp', [(f.round(Fraction(k)), f.round(Fraction(2) ** k)) for k in (-4, -1, 0, 1, 10)] + [(f.inf, f.inf), (f.inf | f.sign, 0)])
            transcendental('log', [(f.round(Fraction(2) ** k), f.round(Fraction(k))) for k in (-4, -1, 0, 1, 10)] + [(0, f.inf | f.sign), (f.inf, f.inf)])
            # in turns; multiples of a quarter are exact
            turns = [(0, 0, 1), (Fraction(1, 4), 1, 0), (Fraction(1, 2), 0, -1), (Fraction(3, 4), -1, 0)]
            op('all', 'v_sin_%s %s' % (p, one[1]), one[0], out, [(f.round(Fraction(x)), f.round(Fraction(s))) for x, s, _ in turns if s])
            op('all', 'v_cos_%s %s' % (p, one[1]), one[0], out, [(f.round(Fraction(x)), f.round(Fraction(q))) for x, _, q in turns if q])
        # significand in [1/2, 1) and exponent
        def frexp(x, f=f):
            v, e = abs(f.value(x)), 0
            while v >= 1:
                v, e = v / 2, e + 1
            while v < Fraction(1, 2):
                v, e = v * 2, e - 1
            return (-v if x & f.sign else v), e
        fin = [x for x in vals if not f.is_nan(x) and not f.is_inf(x) and x & ~f.sign]
        op('all', 'v_frexp_mant_%s %s' % (p, one[1]), one[0], out, [(x, f.round(frexp(x)[0])) for x in fin] + [(0, 0), (f.sign, f.sign), (f.inf, f.inf)])
        dst = {'f32': 'v_frexp_exp_i32_f32 v0, v1', 'f16': 'v_frexp_exp_i16_f16 v0, v1', 'f64': 'v_frexp_exp_i32_f64 v0, v[2:3]'}[p]
        bits = 16 if f is F16 else 32
        op('all', dst, one[0], 'v0.l' if f is F16 else 'v0', [(x, frexp(x)[1] & ((1 << bits) - 1)) for x in fin] + [(0, 0), (f.inf, 0), (f.nan, 0)])
        shifts = [0, 1, M32, 5, 0xfffffff0] if f is not F16 else [0, 1, M16, 5, 0xfff0]
        if f is not F64:
            op('all', 'v_ldexp_%s v0, v1, v2' % p, 'v1 v2', out,
               [(x, k, f.round(f.value(x) * Fraction(2) ** signed(k, bits), x & f.sign)) for x in fin[:5] + [0, f.sign] for k in shifts])
        else:
            op('all', 'v_ldexp_f64 v[0:1], v[2:3], v4', 'v2:2 v4', 'v0:2',
               [(x, k, f.round(f.value(x) * Fraction(2) ** signed(k, 32), x & f.sign)) for x in fin[:5] for k in shifts])


def modifiers():
    one, two, half = 0x3f800000, 0x40000000, 0x3f000000
    op('all', 'v_add_f32_e64 v0, -v1, |v2|', 'v1 v2', 'v0', [(one, 0xc0000000, one), (0xbf800000, 0xbf800000, two), (0x80000000, 0x80000000, 0)])
    op('all', 'v_mul_f32_e64 v0, v1, v2 clamp', 'v1 v2', 'v0',
       [(two, two, one), (half, half, 0x3e800000), (0xc0000000, two, 0), (0x7fc00000, one, 0), (0x80000000, one, 0), (0x7f800000, one, one)])
    # clamping of NaN needs DX10_CLAMP (mode bit 8); RDNA4 has no such bit and always does
    op('9,90a,942,10,11', 'v_mul_f32_e64 v0, v1, v2 clamp', 'v1 v2 mode', 'v0', [(0x7fc00000, one, 0x2f0, 0x7fc00000), (two, two, 0x2f0, one)])
    # omod: ignored with the IEEE mode (bit 9) and where denormal results are enabled (bit 5); else it applies, before clamping
    op('9,90a,942,10,11', 'v_add_f32_e64 v0, v1, v2 mul:2', 'v1 v2 mode', 'v0',
       [(one, one, 0x3f0, two), (one, one, 0x1c0, 0x40800000), (half, one, 0x1c0, 0x40400000),
        (0x80000000, 0x80000000, 0x1c0, 0), (0x80000000, 0x80000000, 0x3f0, 0x80000000)])
    op('9,90a,942,10,11', 'v_add_f32_e64 v0, v1, v2 mul:4', 'v1 v2 mode', 'v0', [(one, one, 0x1c0, 0x41000000)])
    op('9,90a,942,10,11', 'v_add_f32_e64 v0, v1, v2 clamp div:2', 'v1 v2 mode', 'v0', [(half, one, 0x1c0, 0x3f400000), (two, two, 0x1c0, one)])
    # denormals: bits 4 (sources) and 5 (results) of the mode for f32, 6 and 7 for f16 and f64
    op('all', 'v_add_f32 v0, v1, v2', 'v1 v2 mode', 'v0',
       [(1, 0, 0x3f0, 1), (1, 0, 0x3c0, 0), (0x80000001, 0x80000000, 0x3c0, 0x80000000), (0x00800000, 0x80000001, 0x3c0, 0x00800000),
        (0x00800001, 0x80800000, 0x3d0, 0)])
    op('all', 'v_mul_f32 v0, v1, v2', 'v1 v2 mode', 'v0', [(0x00800000, half, 0x3f0, 0x00400000), (0x00800000, half, 0x3d0, 0)])
    # rounding: 1 + 2^-24 under the modes nearest, up, down, to zero
    op('all', 'v_add_f32 v0, v1, v2', 'v1 v2 mode', 'v0',
       [(one, 0x33800000, 0x3f0, one), (one, 0x33800000, 0x3f1, one + 1), (one, 0x33800000, 0x3f2, one), (one, 0x33800000, 0x3f3, one),
        (0xbf800000, 0xb3800000, 0x3f1, 0xbf800000), (0xbf800000, 0xb3800000, 0x3f2, 0xbf800001), (0xbf800000, 0xb3800000, 0x3f3, 0xbf800000)])
    op('all', 'v_add_f64 v[0:1], v[2:3], v[4:5]', 'v2:2 v4:2 mode', 'v0:2',
       [(0x3ff0000000000000, 0x3ca0000000000000, 0x3f0, 0x3ff0000000000000), (0x3ff0000000000000, 0x3ca0000000000000, 0x3f4, 0x3ff0000000000001)])
    # inline constants: f32 instructions take 1.0 as f32, integer ones their value, 64-bit floats as f64
    op('all', 'v_add_f32 v0, 1.0, v1', 'v1', 'v0', [(one, two)])
    op('all', 'v_add_f16 v0, 1.0, v1', 'v1', 'v0.l', [(0x3c00, 0x4000)])
    op('all', 'v_and_b32 v0, -4, v1', 'v1', 'v0', [(M32, 0xfffffffc)])
    op('all', 'v_and_b32 v0, 0x12345678, v1', 'v1', 'v0', [(M32, 0x12345678)])
    op('all', 'v_add_f64 v[0:1], 1.0, v[2:3]', 'v2:2', 'v0:2', [(0x3ff0000000000000, 0x4000000000000000)])
    op('all', 'v_and_b32 v0, s4, v1', 's4 v1', 'v0', [(0xff00ff00, 0x12345678, 0x12005600)])
    # the median of three
    def med(a, b, c):
        order = sorted((a, b, c), key=lambda x: F32.value(x))
        return order[1]
    fin = [0x3f800000, 0xbf800000, 0x40490fdb, 0x41200000, 0xc1200000]
    for t, n in (('9,90a,942,10,11', 'v_med3_f32'), ('12', 'v_med3_num_f32')):
        op(t, n + ' v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(a, b, c, med(a, b, c)) for a, b, c in triples(fin, fin, fin)])
    for t, lo, hi in (('9,90a,942,10,11', 'v_min3_f32', 'v_max3_f32'), ('12', 'v_min3_num_f32', 'v_max3_num_f32')):
        for name, want in ((lo, False), (hi, True)):
            op(t, name + ' v0, v1, v2, v3', 'v1 v2 v3', 'v0',
               [(a, b, c, F32.minmax(F32.minmax(a, b, want, False), c, want, False)) for a, b, c in triples(FN, FN, FN) + [(0x7fc00000, one, two)]])
    op('12', 'v_minimum_f32 v0, v1, v2', 'v1 v2', 'v0', [(0x7fc00000, one, 0x7fc00000), (one, 0x7fc00000, 0x7fc00000), (0, 0x80000000, 0x80000000), (one, two, one)])
    op('12', 'v_maximum_f32 v0, v1, v2', 'v1 v2', 'v0', [(0x7fc00000, one, 0x7fc00000), (one, 0x7fc00000, 0x7fc00000), (0x80000000, 0, 0), (one, two, two)])
    fmac = [(a, b, c, F32.fma(a, b, c)) for a, b, c in triples(FN, FN, FN)]
    op('90a,942,10,11,12', 'v_fmac_f32 v0, v1, v2', 'v1 v2 v0', 'v0', fmac)
    op('10+', 'v_fmaak_f32 v0, v1, v2, 0x40000000', 'v1 v2', 'v0', [(a, b, F32.fma(a, b, two)) for a, b in pairs(FN, FN, 8)])
    op('10+', 'v_fmamk_f32 v0, v1, 0x40000000, v2', 'v1 v2', 'v0', [(a, b, F32.fma(a, two, b)) for a, b in pairs(FN, FN, 8)])
    op('9,90a,942,10', 'v_mul_legacy_f32 v0, v1, v2', 'v1 v2', 'v0', [(0, 0x7f800000, 0), (0x7fc00000, 0, 0), (two, two, 0x40800000)])
    op('11,12', 'v_mul_dx9_zero_f32 v0, v1, v2', 'v1 v2', 'v0', [(0, 0x7f800000, 0), (0x7fc00000, 0, 0), (two, two, 0x40800000)])


def conversions():
    ints = [0, 1, M32, 0x7fffffff, 0x80000000, 0x01000001, 0x01000003, 0xffffff7f, 0x12345678]
    un32(ALL, ['v_cvt_f32_i32'], lambda a: F32.round(Fraction(S(a))), ints)
    un32(ALL, ['v_cvt_f32_u32'], lambda a: F32.round(Fraction(a)), ints)
    op('all', 'v_cvt_f64_i32 v[0:1], v1', 'v1', 'v0:2', [(a, F64.round(Fraction(S(a)))) for a in ints])
    op('all', 'v_cvt_f64_u32 v[0:1], v1', 'v1', 'v0:2', [(a, F64.round(Fraction(a))) for a in ints])
    big = [0x4effffff, 0x4f000000, 0xcf000000, 0xcf000001, 0x4f7fffff, 0x4f800000, 0x3f7fffff, 0xbf7fffff, 0x3fc00000, 0xbfc00000, 0x3f000000, 0xbf000000]
    lo, hi = -1 << 31, (1 << 31) - 1
    un32(ALL, ['v_cvt_i32_f32'], lambda a: F32.to_int(a, lo, hi), FS + big)
    un32(ALL, ['v_cvt_u32_f32'], lambda a: F32.to_int(a, 0, M32), FS + big)
    un32(['9,90a,942,10', '11,12'], ['v_cvt_flr_i32_f32', 'v_cvt_floor_i32_f32'], lambda a: F32.to_int(a, lo, hi, 'floor'), FS + big)
    un32(['9,90a,942,10', '11,12'], ['v_cvt_rpi_i32_f32', 'v_cvt_nearest_i32_f32'], lambda a: F32.to_int(a, lo, hi, 'nearest'), FS + big)
    dbl = DS + [0x41dfffffffc00000, 0x41e0000000000000, 0xc1e0000000200000, 0x41efffffffe00000, 0xbfefffffffffffff, 0x3ff8000000000000]
    op('all', 'v_cvt_i32_f64 v0, v[2:3]', 'v2:2', 'v0', [(a, F64.to_int(a, lo, hi) & M32) for a in dbl])
    op('all', 'v_cvt_u32_f64 v0, v[2:3]', 'v2:2', 'v0', [(a, F64.to_int(a, 0, M32)) for a in dbl])

    def convert(x, f, t, mode='rn'):
        if f.is_nan(x):
            sign, man = bool(x & f.sign), x & ((1 << f.m) - 1)
            man = man >> (f.m - t.m) if f.m > t.m else man << (t.m - f.m)
            return (t.sign if sign else 0) | t.inf | man | t.quiet
        if f.is_inf(x):
            return (t.sign if x & f.sign else 0) | t.inf
        return t.round(f.value(x), t.sign if x & f.sign else 0, mode)
    op('all', 'v_cvt_f64_f32 v[0:1], v1', 'v1', 'v0:2', [(x, convert(x, F32, F64)) for x in FS])
    edge = [0x3ff0000010000000, 0x3ff0000030000000, 0x3ff000001fffffff, 0x47efffffe0000000, 0x47effffff0000000, 0x3690000000000000, 0x36a0000000000000,
            0x3680000000000000]
    op('all', 'v_cvt_f32_f64 v0, v[2:3]', 'v2:2', 'v0', [(x, convert(x, F64, F32)) for x in DN + edge])
    op('all', 'v_cvt_f32_f16 v0, v1', 'v1', 'v0', [(x, convert(x, F16, F32)) for x in HS])
    small = [0x3f801000, 0x3f803000, 0x3f800fff, 0x477fe000, 0x477ff000, 0x33800000, 0x33000000, 0x33000001, 0x387fc000, 0x387fe000]
    op('all', 'v_cvt_f16_f32 v0, v1', 'v1', 'v0.l', [(x, convert(x, F32, F16)) for x in FN + small])
    for t, n in (('9,90a,942,10', 'v_cvt_pkrtz_f16_f32'), ('11,12', 'v_cvt_pk_rtz_f16_f32')):
        op(t, n + ' v0, v1, v2', 'v1 v2', 'v0', [(x, y, convert(x, F32, F16, 'rz') | convert(y, F32, F16, 'rz') << 16)
                                                for x, y in pairs(small + [0x3f800000, 0xbf800000, 0x7f7fffff], [0xbf803000, 0x477ff000, 0])])
    op('all', 'v_cvt_f16_u16 v0, v1', 'v1', 'v0.l', [(x, F16.round(Fraction(x))) for x in I16 + [2049, 2051, 65519]])
    op('all', 'v_cvt_f16_i16 v0, v1', 'v1', 'v0.l', [(x, F16.round(Fraction(signed(x, 16)))) for x in I16 + [2049, 2051]])
    op('all', 'v_cvt_u16_f16 v0, v1', 'v1', 'v0.l', [(x, F16.to_int(x, 0, M16)) for x in HS])
    op('all', 'v_cvt_i16_f16 v0, v1', 'v1', 'v0.l', [(x, F16.to_int(x, -32768, 32767) & M16) for x in HS])
    for k in range(4):
        un32(ALL, ['v_cvt_f32_ubyte%d' % k], lambda a, k=k: F32.round(Fraction(a >> 8 * k & 255)), [0, 0x01020304, 0xfffefdfc])
    op('all', 'v_cvt_pk_u16_u32 v0, v1, v2', 'v1 v2', 'v0', [(a, b, min(a, M16) | min(b, M16) << 16) for a, b in pairs([0, 5, M16, 0x10000, M32], [1, M32, 7], 15)])
    sat = lambda v: min(max(v, -32768), 32767) & M16
    op('all', 'v_cvt_pk_i16_i32 v0, v1, v2', 'v1 v2', 'v0', [(a, b, sat(S(a)) | sat(S(b)) << 16) for a, b in pairs([0, 5, 0x7fff, 0x8000, M32, 0x80000000], [1, 0xffff8000, 0xffff7fff])])
    op('all', 'v_cvt_pk_u8_f32 v0, v1, v2, v3', 'v1 v2 v3', 'v0',
       [(0x42c80000, 0, 0x11223344, 0x11223364), (0x42c80000, 1, 0x11223344, 0x11226444), (0x43960000, 2, 0x11223344, 0x11ff3344),
        (0xbf800000, 3, 0x11223344, 0x00223344), (0x7fc00000, 3, 0x11223344, 0x00223344)])
    op('11,12', 'v_cvt_i32_i16 v0, v1', 'v1', 'v0', [(x, signed(x, 16) & M32) for x in I16])
    op('11,12', 'v_cvt_u32_u16 v0, v1', 'v1', 'v0', [(x | 0xabcd0000, x) for x in I16])


# ---- comparisons -------------------------------------------------------------------------------------------------------------------

def comparisons():
    ints = {'lt': lambda a, b: a < b, 'eq': lambda a, b: a == b, 'le': lambda a, b: a <= b, 'gt': lambda a, b: a > b, 'ne': lambda a, b: a != b,
            'ge': lambda a, b: a >= b}
    mask = lambda c: 'all' if c else 0
    for p, vals, ins, regs in (('i32', I32, 'v1 v2', 'v1, v2'), ('u32', I32, 'v1 v2', 'v1, v2'), ('i64', I64, 'v2:2 v4:2', 'v[2:3], v[4:5]'),
                               ('u64', I64, 'v2:2 v4:2', 'v[2:3], v[4:5]'), ('i16', I16, 'v1 v2', 'v1, v2'), ('u16', I16, 'v1 v2', 'v1, v2')):
        bits = int(p[1:])
        for name, f in ints.items():
            val = (lambda x: signed(x, bits)) if p[0] == 'i' else (lambda x: x)
            rows = [(a, b, mask(f(val(a), val(b)))) for a, b in pairs(vals, vals, 12)] + [(vals[2], vals[2], mask(f(0, 0)))]
            op('all', 'v_cmp_%s_%s_e64 $m8, %s' % (name, p, regs), ins, 'm8', rows)
    fl = {'lt': lambda r: r == '<', 'eq': lambda r: r == '=', 'le': lambda r: r in '<=', 'gt': lambda r: r == '>', 'lg': lambda r: r in '<>',
          'ge': lambda r: r in '>=', 'o': lambda r: r != '?', 'u': lambda r: r == '?', 'nge': lambda r: r not in '>=', 'nlg': lambda r: r not in '<>',
          'ngt': lambda r: r != '>', 'nle': lambda r: r not in '<=', 'neq': lambda r: r != '=', 'nlt': lambda r: r != '<'}
    for f, p, vals, ins, regs in ((F32, 'f32', FS, 'v1 v2', 'v1, v2'), (F16, 'f16', HS, 'v1 v2', 'v1, v2'), (F64, 'f64', DS, 'v2:2 v4:2', 'v[2:3], v[4:5]')):
        def rel(a, b):
            if f.is_nan(a) or f.is_nan(b):
                return '?'
            key = lambda x: (-1 if x & f.sign else 1) * Fraction(10) ** 400 if f.is_inf(x) else f.value(x)
            return '<' if key(a) < key(b) else '>' if key(a) > key(b) else '='
        for name, g in fl.items():
            op('all', 'v_cmp_%s_%s_e64 $m8, %s' % (name, p, regs), ins, 'm8',
               [(a, b, mask(g(rel(a, b)))) for a, b in pairs(vals, vals, 14) + [(0, f.sign), (vals[-1], vals[-1])]])

        def cls(x):
            if f.is_snan(x):
                return 0
            if f.is_nan(x):
                return 1
            neg, mag = bool(x & f.sign), x & ~f.sign
            if mag == f.inf:
                return 2 if neg else 9
            if mag >> f.m:
                return 3 if neg else 8
            return (4 if neg else 7) if mag else (5 if neg else 6)
        sel = 'v6' if f is F64 else 'v2'
        a = ins.split()[0]
        op('all', 'v_cmp_class_%s_e64 $m8, %s, %s' % (p, regs.split(', ')[0], sel), '%s %s' % (a, sel), 'm8',
           [(x, 1 << k, mask(cls(x) == k)) for x in vals + [f.inf | 1] for k in (cls(x), (cls(x) + 3) % 10)])
    # the mask is that of the active lanes; v_cmpx writes it to EXEC
    op('all', 'v_cmp_lt_u32_e64 $m8, v1, v2', 'v1 v2 exec', 'm8', [('lane', 4, 0xc, 0xc), ('lane', 4, 0xf0, 0)])
    op('9,90a,942', 'v_cmpx_lt_u32_e32 vcc, v1, v2', 'v1 v2 exec', 'vcc exec', [('lane', 4, 'all', 0xf, 0xf), ('lane', 4, 0xc, 0xc, 0xc)])
    op('10+', 'v_cmpx_lt_u32_e32 v1, v2', 'v1 v2 exec', 'exec', [('lane', 4, 'all', 0xf), ('lane', 4, 0xc, 0xc)])
    op('10+', 'v_cmpx_eq_f32_e32 v1, v2', 'v1 v2', 'exec', [(0, 0x80000000, 'all'), (0x7fc00000, 0x7fc00000, 0)])


# ---- lane crossing, sub-dwords, pairs ------------------------------------------------------------------------------------------------------

def crossing():
    def dpp(targets, text, f, lanes=32, bound=True):
        """f: the lane that lane l reads; None: there is none (bound_ctrl gives zero, else the destination stays)."""
        probe = [l for l in (0, 1, 2, 3, 5, 7, 8, 14, 15, 16, 17, 23, 30, 31) if l < lanes]
        got = [f(l) for l in probe]
        op(targets, 'v_mov_b32_dpp v0, v1 ' + text, 'v1', ' '.join('v0@%d' % l for l in probe),
           [['lane'] + [g if g is not None else (0 if bound else 0xa5a5a5a5) for g in got]])
    row = lambda l: l & ~15
    inside = lambda l, n: n if row(l) <= n < row(l) + 16 else None
    full = ' row_mask:0xf bank_mask:0xf'
    bc = full + ' bound_ctrl:1'
    dpp('all', 'quad_perm:[3,2,1,0]' + full, lambda l: (l & ~3) | (3 - (l & 3)))
    dpp('all', 'quad_perm:[1,1,0,2]' + full, lambda l: (l & ~3) | (1, 1, 0, 2)[l & 3])
    for n in (1, 3, 15):
        dpp('all', 'row_shl:%d' % n + bc, lambda l: inside(l, l + n))
        dpp('all', 'row_shr:%d' % n + bc, lambda l: inside(l, l - n))
        dpp('all', 'row_ror:%d' % n + full, lambda l: row(l) | ((l - n) & 15))
    dpp('all', 'row_shr:1' + full, lambda l: inside(l, l - 1), bound=False)
    dpp('all', 'row_mirror' + full, lambda l: row(l) | (15 - (l & 15)))
    dpp('all', 'row_half_mirror' + full, lambda l: (l & ~7) | (7 - (l & 7)))
    dpp('9,90a,942', 'wave_shl:1' + bc, lambda l: l + 1)
    dpp('9,90a,942', 'wave_shr:1' + bc, lambda l: l - 1 if l else None)
    dpp('9,90a,942', 'wave_rol:1' + full, lambda l: l + 1)
    dpp('9,90a,942', 'wave_ror:1' + full, lambda l: (l - 1) & 63)
    dpp('9,90a,942', 'row_bcast:15 row_mask:0xa bank_mask:0xf', lambda l: 15 if l >= 16 else None, bound=False)
    dpp('90a,942', 'row_newbcast:5' + full, lambda l: row(l) | 5)
    dpp('10+', 'row_share:5' + full, lambda l: row(l) | 5)
    dpp('10+', 'row_xmask:6' + full, lambda l: l ^ 6)
    dpp('10+', 'dpp8:[7,6,5,4,3,2,1,0]', lambda l: (l & ~7) | (7 - (l & 7)))
    dpp('10+', 'dpp8:[0,0,1,1,2,2,7,7]', lambda l: (l & ~7) | (0, 0, 1, 1, 2, 2, 7, 7)[l & 7])
    # row_mask and bank_mask: lanes that keep what they have
    dpp('all', 'quad_perm:[0,0,0,0] row_mask:0x2 bank_mask:0xf', lambda l: (l & ~3) if l >= 16 else None, bound=False)
    dpp('all', 'quad_perm:[0,0,0,0] row_mask:0xf bank_mask:0x1', lambda l: (l & ~3) if l & 12 == 0 else None, bound=False)
    op('all', 'v_add_f32_dpp v0, -v1, |v2| quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf', 'v1@0 v1@1 v2', 'v0@0 v0@1',
       [(0x40000000, 0x3f800000, 0xc0400000, 0x40000000, 0x3f800000)])
    # any lane of the row, of the other row; in pairs of selectors' registers
    op('10+', 'v_permlane16_b32 v0, v1, s4, s5', 'v1 s4 s5', 'v0@0 v0@1 v0@15 v0@16 v0@31', [('lane', 0x76543210, 0xfedcba98, 0, 1, 15, 16, 31),
       ('lane', 0x0123456f, 0x3edcba98, 15, 6, 3, 31, 19)])
    op('10+', 'v_permlanex16_b32 v0, v1, s4, s5', 'v1 s4 s5', 'v0@0 v0@1 v0@15 v0@16 v0@31', [('lane', 0x76543210, 0xfedcba98, 16, 17, 31, 0, 15)])
    # sub-dword operands and results
    w = '9,10'
    op(w, 'v_and_b32_sdwa v0, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:DWORD', 'v1 v2', 'v0', [(0x11223344, M32, 0x33)])
    op(w, 'v_or_b32_sdwa v0, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:BYTE_3', 'v1 v2', 'v0', [(0x11220000, 0x44000000, 0x1166)])
    op(w, 'v_or_b32_sdwa v0, v1, v2 dst_sel:BYTE_2 dst_unused:UNUSED_PRESERVE src0_sel:DWORD src1_sel:DWORD', 'v1 v2', 'v0', [(0x12, 0x4, 0xa516a5a5)])
    op(w, 'v_or_b32_sdwa v0, v1, v2 dst_sel:BYTE_1 dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD', 'v1 v2', 'v0', [(0x12, 0x84, 0x9600)])
    op(w, 'v_or_b32_sdwa v0, v1, v2 dst_sel:WORD_0 dst_unused:UNUSED_SEXT src0_sel:DWORD src1_sel:DWORD', 'v1 v2', 'v0', [(0x8000, 1, 0xffff8001), (0x4000, 1, 0x4001)])
    op(w, 'v_or_b32_sdwa v0, sext(v1), v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:DWORD', 'v1 v2', 'v0', [(0x80, 0, 0xffffff80), (0x7f, 0, 0x7f)])
    op('9', 'v_min_u16_sdwa v0, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:WORD_1', 'v1 v2', 'v0', [(0x12348000, 0x90000001, 0x8000)])
    op('9', 'v_add_u16_sdwa v0, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:DWORD', 'v1 v2', 'v0', [(0xffff1234, 0x56780001, 0)])
    op(w, 'v_add_f32_sdwa v0, v1, -v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD', 'v1 v2', 'v0', [(0x40400000, 0x3f800000, 0x40000000)])
    # VOPD: both halves read before either writes
    op('11,12', 'v_dual_mul_f32 v0, v1, v2 :: v_dual_add_f32 v3, v4, v5', 'v1 v2 v4 v5', 'v0 v3', [(0x40000000, 0x40400000, 0x3f800000, 0x3f800000, 0x40c00000, 0x40000000)])
    op('11,12', 'v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0', 'v0 v1', 'v0 v1', [(1, 2, 2, 1)])
    op('11,12', 'v_dual_fmac_f32 v0, v1, v2 :: v_dual_sub_f32 v3, v4, v5', 'v0 v1 v2 v4 v5', 'v0 v3', [(0x3f800000, 0x40000000, 0x40400000, 0x40400000, 0x3f800000, 0x40e00000, 0x40000000)])
    op('11,12', 'v_dual_subrev_f32 v0, v1, v2 :: v_dual_mul_f32 v3, v4, v5', 'v1 v2 v4 v5', 'v0 v3',
       [(0x3f800000, 0x40400000, 0x40000000, 0x40000000, 0x40000000, 0x40800000)])
    op('11,12', 'v_dual_add_f32 v0, v1, v2 :: v_dual_add_nc_u32 v3, v4, v5', 'v1 v2 v4 v5', 'v0 v3', [(0x3f800000, 0x3f800000, M32, 2, 0x40000000, 1)])
    op('11,12', 'v_dual_add_f32 v0, v1, v2 :: v_dual_lshlrev_b32 v3, v4, v5', 'v1 v2 v4 v5', 'v0 v3', [(0x3f800000, 0x3f800000, 33, 3, 0x40000000, 6)])
    op('11,12', 'v_dual_cndmask_b32 v0, v1, v2 :: v_dual_and_b32 v3, v4, v5', 'v1 v2 v4 v5 vcc', 'v0@0 v0@1 v3', [(1, 2, 0xff, 0x0f, 2, 1, 2, 0xf)])


def packed():
    lo, hi = (lambda x: x & M16), (lambda x: x >> 16)
    H = lambda x: signed(x, 16)
    vals = [0x00010002, 0x7fff8000, 0xffff0001, 0x12345678, 0x80007fff]
    def two(name, f, targets='all', vals=vals):
        op(targets, name + ' v0, v1, v2', 'v1 v2', 'v0', [(a, b, (f(lo(a), lo(b)) & M16) | (f(hi(a), hi(b)) & M16) << 16) for a, b in pairs(vals, vals, 12)])
    two('v_pk_add_u16', lambda a, b: a + b)
    two('v_pk_sub_u16', lambda a, b: a - b)
    two('v_pk_add_i16', lambda a, b: a + b)
    two('v_pk_sub_i16', lambda a, b: a - b)
    two('v_pk_mul_lo_u16', lambda a, b: a * b)
    two('v_pk_min_u16', min)
    two('v_pk_max_u16', max)
    two('v_pk_min_i16', lambda a, b: min(H(a), H(b)))
    two('v_pk_max_i16', lambda a, b: max(H(a), H(b)))
    two('v_pk_lshlrev_b16', lambda a, b: b << (a & 15))
    two('v_pk_lshrrev_b16', lambda a, b: b >> (a & 15))
    two('v_pk_ashrrev_i16', lambda a, b: H(b) >> (a & 15))
    sat = lambda v: min(max(v, -32768), 32767) & M16
    op('all', 'v_pk_add_i16 v0, v1, v2 clamp', 'v1 v2', 'v0', [(a, b, sat(H(lo(a)) + H(lo(b))) | sat(H(hi(a)) + H(hi(b))) << 16) for a, b in pairs(vals, vals, 12)])
    op('all', 'v_pk_sub_u16 v0, v1, v2 clamp', 'v1 v2', 'v0', [(a, b, max(lo(a) - lo(b), 0) | max(hi(a) - hi(b), 0) << 16) for a, b in pairs(vals, vals, 12)])
    op('all', 'v_pk_mad_u16 v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(a, b, c, ((lo(a) * lo(b) + lo(c)) & M16) | ((hi(a) * hi(b) + hi(c)) & M16) << 16) for a, b, c in triples(vals, vals, vals)])
    op('all', 'v_pk_mad_i16 v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(a, b, c, ((lo(a) * lo(b) + lo(c)) & M16) | ((hi(a) * hi(b) + hi(c)) & M16) << 16) for a, b, c in triples(vals, vals, vals)])
    op('all', 'v_pk_add_u16 v0, v1, v2 op_sel:[1,0] op_sel_hi:[0,1]', 'v1 v2', 'v0', [(a, b, ((hi(a) + lo(b)) & M16) | ((lo(a) + hi(b)) & M16) << 16) for a, b in pairs(vals, vals, 12)])
    hv = [0x3c004000, 0xbc003800, 0x7c000001, 0xfc000400, 0x7bff7bff]
    two('v_pk_add_f16', F16.add, vals=hv)
    two('v_pk_mul_f16', F16.mul, vals=hv)
    for n, w in (('min', False), ('max', True)):
        two('v_pk_%s_f16' % n, lambda a, b, w=w: F16.minmax(a, b, w, True), '9,90a,942,10,11', hv)
        two('v_pk_%s_num_f16' % n, lambda a, b, w=w: F16.minmax(a, b, w, False), '12', hv)
    op('all', 'v_pk_fma_f16 v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(a, b, c, F16.fma(lo(a), lo(b), lo(c)) | F16.fma(hi(a), hi(b), hi(c)) << 16) for a, b, c in triples(hv, hv, hv)])
    op('all', 'v_pk_add_f16 v0, v1, v2 neg_lo:[1,0] neg_hi:[0,1]', 'v1 v2', 'v0', [(0x3c003c00, 0x40004000, 0xbc003c00)])
    fv = [0x3f800000c0000000, 0x7f80000000000001, 0x404000003f000000]
    q = lambda f, a, b: f(a & M32, b & M32) | f(a >> 32, b >> 32) << 32
    op('90a,942', 'v_pk_add_f32 v[0:1], v[2:3], v[4:5]', 'v2:2 v4:2', 'v0:2', [(a, b, q(F32.add, a, b)) for a in fv for b in fv])
    op('90a,942', 'v_pk_mul_f32 v[0:1], v[2:3], v[4:5]', 'v2:2 v4:2', 'v0:2', [(a, b, q(F32.mul, a, b)) for a in fv for b in fv])
    op('90a,942', 'v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7]', 'v2:2 v4:2 v6:2', 'v0:2',
       [(a, b, c, F32.fma(a & M32, b & M32, c & M32) | F32.fma(a >> 32, b >> 32, c >> 32) << 32) for a in fv for b in fv for c in fv[:1]])
    # mixed precision: op_sel_hi makes a source a half, op_sel picks which
    op('all', 'v_fma_mix_f32 v0, v1, v2, v3 op_sel:[1,0,0] op_sel_hi:[1,1,0]', 'v1 v2 v3', 'v0', [(0x40003c00, 0x00004200, 0x3f800000, 0x40e00000)])
    op('all', 'v_fma_mixlo_f16 v0, v1, v2, v3 op_sel_hi:[0,0,0]', 'v1 v2 v3', 'v0', [(0x40000000, 0x40400000, 0x3f800000, 0xa5a54700)])
    op('all', 'v_fma_mixhi_f16 v0, v1, v2, v3 op_sel_hi:[0,0,0]', 'v1 v2 v3', 'v0', [(0x40000000, 0x40400000, 0x3f800000, 0x4700a5a5)])
    part = lambda x, bits, i, s: signed(x >> bits * i, bits) if s else x >> bits * i & ((1 << bits) - 1)
    dot = lambda a, b, c, bits, s: sum(part(a, bits, i, s) * part(b, bits, i, s) for i in range(32 // bits)) + c
    dv, cv = [0x80ff7f01, 0x01020304, 0xfedcba98, M32], [0, 5, 0x7ffffff0, 0x80000000]
    U = '9,90a,942,10'
    op(U + ',11,12', 'v_dot4_u32_u8 v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(a, b, c, dot(a, b, c, 8, False) & M32) for a, b, c in triples(dv, dv, cv)])
    op(U + ',11,12', 'v_dot8_u32_u4 v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(a, b, c, dot(a, b, c, 4, False) & M32) for a, b, c in triples(dv, dv, cv)])
    op(U, 'v_dot4_i32_i8 v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(a, b, c, dot(a, b, c, 8, True) & M32) for a, b, c in triples(dv, dv, cv)])
    op(U, 'v_dot8_i32_i4 v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(a, b, c, dot(a, b, c, 4, True) & M32) for a, b, c in triples(dv, dv, cv)])
    op('9,90a,942,10', 'v_dot2_i32_i16 v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(a, b, c, dot(a, b, c, 16, True) & M32) for a, b, c in triples(dv, dv, cv)])
    op('9,90a,942,10', 'v_dot2_u32_u16 v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(a, b, c, dot(a, b, c, 16, False) & M32) for a, b, c in triples(dv, dv, cv)])
    mixed = lambda a, b, c, bits, sa, sb: sum(part(a, bits, i, sa) * part(b, bits, i, sb) for i in range(32 // bits)) + S(c)
    for bits, n in ((8, 'v_dot4_i32_iu8'), (4, 'v_dot8_i32_iu4')):
        for sa in (0, 1):
            for sb in (0, 1):
                op('11,12', '%s v0, v1, v2, v3 neg_lo:[%d,%d,0]' % (n, sa, sb), 'v1 v2 v3', 'v0', [(a, b, c, mixed(a, b, c, bits, sa, sb) & M32) for a, b, c in triples(dv, dv, cv)])
    clampi = lambda v: min(max(v, -1 << 31), (1 << 31) - 1) & M32
    op(U, 'v_dot4_i32_i8 v0, v1, v2, v3 clamp', 'v1 v2 v3', 'v0', [(a, b, c, clampi(mixed(a, b, c, 8, 1, 1))) for a, b, c in triples(dv, dv, cv)])
    op('11,12', 'v_dot4_i32_iu8 v0, v1, v2, v3 neg_lo:[1,1,0] clamp', 'v1 v2 v3', 'v0', [(a, b, c, clampi(mixed(a, b, c, 8, 1, 1))) for a, b, c in triples(dv, dv, cv)])


# ---- scalars ---------------------------------------------------------------------------------------------------------------------------

def scalars():
    old, new = '9,90a,942,10,11', '12'
    def two(targets, name, f, scc, a=I32, b=I32, bits=32):
        regs, ins, out = ('s0, s4, s6', 's4 s6', 's0') if bits == 32 else ('s[0:1], s[4:5], s[6:7]', 's4:2 s6:2', 's0:2')
        m = (1 << bits) - 1
        op(targets, '%s %s' % (name, regs), ins + ' scc', out + (' scc' if scc else ''),
           [(x, y, c, f(x, y, c) & m) + ((int(scc(x, y, c)),) if scc else ()) for c in (0, 1) for x, y in pairs(a, b, 14)])
    ov = lambda v: not -1 << 31 <= v < 1 << 31
    for t, add, sub, addi, subi, addc, subc in ((old, 's_add_u32', 's_sub_u32', 's_add_i32', 's_sub_i32', 's_addc_u32', 's_subb_u32'),
                                               (new, 's_add_co_u32', 's_sub_co_u32', 's_add_co_i32', 's_sub_co_i32', 's_add_co_ci_u32', 's_sub_co_ci_u32')):
        two(t, add, lambda a, b, c: a + b, lambda a, b, c: a + b > M32)
        two(t, sub, lambda a, b, c: a - b, lambda a, b, c: b > a)
        two(t, addi, lambda a, b, c: a + b, lambda a, b, c: ov(S(a) + S(b)))
        two(t, subi, lambda a, b, c: a - b, lambda a, b, c: ov(S(a) - S(b)))
        two(t, addc, lambda a, b, c: a + b + c, lambda a, b, c: a + b + c > M32)
        two(t, subc, lambda a, b, c: a - b - c, lambda a, b, c: b + c > a)
    two('all', 's_min_u32', lambda a, b, c: min(a, b), lambda a, b, c: a < b if a != b else False, [1, 5, M32], [2, 4, 0x80000000])
    two('all', 's_max_u32', lambda a, b, c: max(a, b), lambda a, b, c: a > b, [1, 5, M32], [2, 4, 0x80000000])
    two('all', 's_min_i32', lambda a, b, c: min(S(a), S(b)), lambda a, b, c: S(a) < S(b), [1, 5, M32], [2, 4, 0x80000000])
    two('all', 's_max_i32', lambda a, b, c: max(S(a), S(b)), lambda a, b, c: S(a) > S(b), [1, 5, M32], [2, 4, 0x80000000])
    nz = lambda f, m: (lambda a, b, c: f(a, b, c) & m != 0)
    logic = {'and': lambda a, b, c: a & b, 'or': lambda a, b, c: a | b, 'xor': lambda a, b, c: a ^ b, 'nand': lambda a, b, c: ~(a & b),
             'nor': lambda a, b, c: ~(a | b), 'xnor': lambda a, b, c: ~(a ^ b)}
    for n, f in logic.items():
        two('all', 's_%s_b32' % n, f, nz(f, M32))
        two('all', 's_%s_b64' % n, f, nz(f, M64), I64, I64, 64)
    for t, n, f in (('9,90a,942,10', 'andn2', lambda a, b, c: a & ~b), ('11,12', 'and_not1', lambda a, b, c: a & ~b),
                    ('9,90a,942,10', 'orn2', lambda a, b, c: a | ~b), ('11,12', 'or_not1', lambda a, b, c: a | ~b)):
        two(t, 's_%s_b32' % n, f, nz(f, M32))
        two(t, 's_%s_b64' % n, f, nz(f, M64), I64, I64, 64)
    for n, f in (('s_lshl_b32', lambda a, b, c: a << (b & 31)), ('s_lshr_b32', lambda a, b, c: a >> (b & 31)), ('s_ashr_i32', lambda a, b, c: S(a) >> (b & 31))):
        two('all', n, f, nz(f, M32), I32, SHIFT)
    for n, f in (('s_lshl_b64', lambda a, b: a << (b & 63)), ('s_lshr_b64', lambda a, b: a >> (b & 63)), ('s_ashr_i64', lambda a, b: signed(a, 64) >> (b & 63))):
        op('all', n + ' s[0:1], s[4:5], s6', 's4:2 s6', 's0:2 scc', [(a, b, f(a, b) & M64, int(f(a, b) & M64 != 0)) for a, b in pairs(I64, SHIFT, 20)])
    two('all', 's_mul_i32', lambda a, b, c: a * b, None)
    two('all', 's_mul_hi_u32', lambda a, b, c: a * b >> 32, None)
    two('all', 's_mul_hi_i32', lambda a, b, c: S(a) * S(b) >> 32, None)
    two('all', 's_bfm_b32', lambda a, b, c: ((1 << (a & 31)) - 1) << (b & 31), None, SHIFT, SHIFT)
    for k in (1, 2, 3, 4):
        two('all', 's_lshl%d_add_u32' % k, lambda a, b, c: (a << k) + b, lambda a, b, c: (a << k) + b > M32)
    two('all', 's_absdiff_i32', lambda a, b, c: abs(S(a - b)),      # the difference wraps around
        lambda a, b, c: (a - b) & M32 != 0)
    two('all', 's_pack_ll_b32_b16', lambda a, b, c: (a & M16) | (b & M16) << 16, None)
    two('all', 's_pack_lh_b32_b16', lambda a, b, c: (a & M16) | (b >> 16) << 16, None)
    two('all', 's_pack_hh_b32_b16', lambda a, b, c: (a >> 16) | (b >> 16) << 16, None)
    two('all', 's_cselect_b32', lambda a, b, c: a if c else b, None)
    fields = [0, 0x80000, 0x80004, 0x100010, 0x1f0001, 0x40007]
    bf = lambda f: (f & 31, f >> 16 & 127)
    ub = lambda a, b, c: a >> bf(b)[0] & ((1 << bf(b)[1]) - 1)
    sb = lambda a, b, c: signed(ub(a, b, c), bf(b)[1]) if bf(b)[1] else 0
    two('all', 's_bfe_u32', ub, nz(ub, M32), I32, fields)
    two('all', 's_bfe_i32', sb, nz(sb, M32), I32, fields)
    def one(targets, name, f, scc, a=I32, bits=32, obits=None):
        obits = obits or bits
        src, ins = ('s4', 's4') if bits == 32 else ('s[4:5]', 's4:2')
        dst, out = ('s0', 's0') if obits == 32 else ('s[0:1]', 's0:2')
        m = (1 << obits) - 1
        op(targets, '%s %s, %s' % (name, dst, src), ins, out + (' scc' if scc else ''), [(x, f(x) & m) + ((int(f(x) & m != 0),) if scc else ()) for x in a])
    one('all', 's_mov_b32', lambda a: a, False)
    one('all', 's_mov_b64', lambda a: a, False, I64, 64)
    one('all', 's_not_b32', lambda a: ~a, True)
    one('all', 's_not_b64', lambda a: ~a, True, I64, 64)
    one('all', 's_brev_b32', reverse, False)
    one('all', 's_brev_b64', lambda a: reverse(a, 64), False, I64, 64)
    one('all', 's_bcnt1_i32_b32', lambda a: bin(a).count('1'), True)
    one('all', 's_bcnt0_i32_b32', lambda a: 32 - bin(a).count('1'), True)
    one('all', 's_bcnt1_i32_b64', lambda a: bin(a).count('1'), True, I64, 64, 32)
    one('all', 's_bcnt0_i32_b64', lambda a: 64 - bin(a).count('1'), True, I64, 64, 32)
    first = lambda a: (a & -a).bit_length() - 1 if a else M32
    lead64 = lambda a: 64 - a.bit_length() if a else M32
    for t, ff, fl, fi in (('9,90a,942,10', 's_ff1_i32', 's_flbit_i32', 's_flbit_i32'), ('11,12', 's_ctz_i32', 's_clz_i32', 's_cls_i32')):
        u = 'u' if fl == 's_clz_i32' else 'b'
        one(t, ff + '_b32', first, False)
        one(t, ff + '_b64', first, False, I64, 64, 32)
        one(t, '%s_%s32' % (fl, u), leading, False)
        one(t, '%s_%s64' % (fl, u), lead64, False, I64, 64, 32)
        one(t, fi, leading_signs, False)
    one('all', 's_sext_i32_i8', lambda a: signed(a, 8), False)
    one('all', 's_sext_i32_i16', lambda a: signed(a, 16), False)
    one('all', 's_abs_i32', lambda a: abs(S(a)), True)
    for n, f in (('eq', lambda a, b: a == b), ('lg', lambda a, b: a != b), ('gt', lambda a, b: a > b), ('ge', lambda a, b: a >= b), ('lt', lambda a, b: a < b),
                 ('le', lambda a, b: a <= b)):
        op('all', 's_cmp_%s_i32 s4, s6' % n, 's4 s6', 'scc', [(a, b, int(f(S(a), S(b)))) for a, b in pairs(I32, I32, 14) + [(5, 5)]])
        op('all', 's_cmp_%s_u32 s4, s6' % n, 's4 s6', 'scc', [(a, b, int(f(a, b))) for a, b in pairs(I32, I32, 14) + [(5, 5)]])
        if n in ('eq', 'lg'):
            op('all', 's_cmp_%s_u64 s[4:5], s[6:7]' % n, 's4:2 s6:2', 'scc', [(a, b, int(f(a, b))) for a, b in pairs(I64, I64, 10) + [(M64, M64)]])
    op('all', 's_bitcmp1_b32 s4, s6', 's4 s6', 'scc', [(a, b, a >> (b & 31) & 1) for a, b in pairs(I32, SHIFT, 14)])
    op('all', 's_bitcmp0_b32 s4, s6', 's4 s6', 'scc', [(a, b, 1 - (a >> (b & 31) & 1)) for a, b in pairs(I32, SHIFT, 14)])
    op('all', 's_bitset1_b32 s0, s4', 's0 s4', 's0', [(a, b, a | 1 << (b & 31)) for a, b in pairs(I32, SHIFT, 10)])
    op('all', 's_bitset0_b32 s0, s4', 's0 s4', 's0', [(a, b, a & ~(1 << (b & 31))) for a, b in pairs(I32, SHIFT, 10)])
    op('all', 's_movk_i32 s0, 0x8000', 's0', 's0', [(0, 0xffff8000)])
    op('9,90a,942,10,11', 's_addk_i32 s0, 0x8000', 's0', 's0 scc', [(0, 0xffff8000, 0), (0x80000000, 0x7fff8000, 1), (0x8000, 0, 0)])
    op('all', 's_mulk_i32 s0, 0xffff', 's0', 's0', [(5, 0xfffffffb)])
    op('all', 's_cmov_b32 s0, s4', 's0 s4 scc', 's0', [(1, 2, 0, 1), (1, 2, 1, 2)])
    op('9,90a,942', 's_and_saveexec_b64 s[0:1], s[4:5]', 's4:2 exec', 's0:2 exec scc', [(0xf0, 0x3c, 0x3c, 0x30, 1), (0xf, 0xf0, 0xf0, 0, 0)])
    op('9,90a,942', 's_or_saveexec_b64 s[0:1], s[4:5]', 's4:2 exec', 's0:2 exec scc', [(0xf0, 0x0c, 0x0c, 0xfc, 1), (0, 0, 0, 0, 0)])
    op('9,90a,942', 's_xor_saveexec_b64 s[0:1], s[4:5]', 's4:2 exec', 's0:2 exec scc', [(0xf0, 0x3c, 0x3c, 0xcc, 1), (0xf, 0xf, 0xf, 0, 0)])
    op('10+', 's_and_saveexec_b32 s0, s4', 's4 exec', 's0 exec scc', [(0xf0, 0x3c, 0x3c, 0x30, 1), (0xf, 0xf0, 0xf0, 0, 0)])
    op('10+', 's_or_saveexec_b32 s0, s4', 's4 exec', 's0 exec scc', [(0xf0, 0x0c, 0x0c, 0xfc, 1), (0, 0, 0, 0, 0)])
    op('10+', 's_xor_saveexec_b32 s0, s4', 's4 exec', 's0 exec scc', [(0xf0, 0x3c, 0x3c, 0xcc, 1), (0xf, 0xf, 0xf, 0, 0)])
    # scalar floats
    for n, f in (('s_add_f32', F32.add), ('s_mul_f32', F32.mul)):
        op('12', n + ' s0, s4, s6', 's4 s6', 's0', [(a, b, f(a, b)) for a, b in pairs(FN, FN, 20)])


# ---- memory -------------------------------------------------------------------------------------------------------------------------------

def mem(at, n):
    """n bytes of memory at an offset, as it is before."""
    return sum(((0x7d + at + k) & 255) << 8 * k for k in range(n))


OLD, NEW = '9,90a,942,10', '11,12'


def buffer_forms(targets, text):
    """RDNA4 writes an offset of zero as null."""
    if not text.startswith('buffer') or targets == OLD:
        return [(targets, text)]
    return [('11', text), ('12', text.replace('], 0', '], null'))]


def loads_and_stores():
    def reads(prefix, operands, offset, keep=0xa5a5a5a5):
        """operands: what stands between the destination and the offset."""
        b, w = mem(offset, 1), mem(offset, 2)
        for old, new, value in (('ubyte', 'u8', b), ('sbyte', 'i8', signed(b, 8) & M32), ('ushort', 'u16', w), ('sshort', 'i16', signed(w, 16) & M32),
                                ('dword', 'b32', mem(offset, 4)), ('short_d16', 'd16_b16', keep & 0xffff0000 | w),
                                ('short_d16_hi', 'd16_hi_b16', keep & M16 | w << 16), ('ubyte_d16', 'd16_u8', keep & 0xffff0000 | b),
                                ('ubyte_d16_hi', 'd16_hi_u8', keep & M16 | b << 16), ('sbyte_d16', 'd16_i8', keep & 0xffff0000 | signed(b, 8) & M16),
                                ('sbyte_d16_hi', 'd16_hi_i8', keep & M16 | (signed(b, 8) & M16) << 16)):
            for t, n in ((OLD, old), (NEW, new)):
                yield t, '%s_load_%s v0, %s' % (prefix, n, operands), 'v0', value
        for k, old, new in ((2, 'dwordx2', 'b64'), (3, 'dwordx3', 'b96'), (4, 'dwordx4', 'b128')):
            for t, n in ((OLD, old), (NEW, new)):
                yield t, '%s_load_%s v[0:%d], %s' % (prefix, n, k - 1, operands), ' '.join('v%d' % j for j in range(k)), \
                    [mem(offset + 4 * j, 4) for j in range(k)]

    def writes(prefix, fmt):
        """fmt: the operands around the data's registers. The data is 0x44332211 and on, stored at 8."""
        for old, new, size, hi in (('byte', 'b8', 1, 0), ('short', 'b16', 2, 0), ('dword', 'b32', 4, 0), ('byte_d16_hi', 'd16_hi_b8', 1, 1),
                                   ('short_d16_hi', 'd16_hi_b16', 2, 1)):
            m = (1 << 8 * size) - 1
            for t, n in ((OLD, old), (NEW, new)):
                yield t, '%s_store_%s %s' % (prefix, n, fmt % 'v2'), 'v2', [0x44332211], [mem(8, 4) & ~m | (0x44332211 >> 16 * hi) & m, mem(12, 4), mem(16, 4), mem(20, 4)]
        data = [0x44332211, 0x88776655, 0xccbbaa99, 0x10ffeedd]
        for k, old, new in ((2, 'dwordx2', 'b64'), (3, 'dwordx3', 'b96'), (4, 'dwordx4', 'b128')):
            for t, n in ((OLD, old), (NEW, new)):
                yield t, '%s_store_%s %s' % (prefix, n, fmt % ('v[2:%d]' % (k + 1))), ' '.join('v%d' % (2 + j) for j in range(k)), data[:k], \
                    [data[j] if j < k else mem(8 + 4 * j, 4) for j in range(4)]

    as_list = lambda v: v if isinstance(v, list) else [v]
    for t, text, outs, value in reads('global', 'v[30:31], off offset:6', 6):
        op(t, text, 'exec', outs, [['all'] + as_list(value)])
    for t, text, outs, value in reads('flat', 'v[30:31]', 0):
        op(t, text, 'exec', outs, [['all'] + as_list(value)])
    for t, text, outs, value in reads('scratch', 'v1, off offset:4', 12):
        op(t, text, 'v1', outs, [[8] + as_list(value)])
    for t, text, outs, value in reads('buffer', 'off, s[24:27], 0 offset:4', 4):
        for tt, tx in buffer_forms(t, text):
            op(tt, tx, 'exec', outs, [['all'] + as_list(value)])
    for prefix, fmt, col, ins, vals in (('global', 'v[30:31], %s, off offset:8', 'g', '', []), ('scratch', 'v1, %s, off offset:4', 'p', 'v1 ', [4]),
                                        ('flat', 'v[0:1], %s', 'g', None, None), ('buffer', '%s, off, s[24:27], 0 offset:8', 'g', '', [])):
        if prefix == 'flat':
            fmt, ins, vals = 'v[30:31], %s', '', []
        for t, text, cols, data, want in writes(prefix, fmt):
            outs = ' '.join('%s%d' % (col, j) for j in ((0, 1, 2, 3) if prefix == 'flat' else (2, 3, 4, 5)))
            if prefix == 'flat':        # at 0: what stands there is other
                n = 4 * len(data)
                size = 1 if 'byte' in text or '_b8' in text else 2 if 'short' in text or '_b16' in text else n
                m = (1 << 8 * size) - 1
                src = data[0] >> 16 if '_hi' in text else data[0]
                want = [mem(0, 4) & ~m | src & m] + [mem(4 * j, 4) for j in (1, 2, 3)] if size < 4 else data + [mem(4 * j, 4) for j in range(len(data), 4)]
            for tt, tx in buffer_forms(t, text):
                op(tt, tx, ins + cols, outs, [vals + data + want])
    # addresses: each lane its own; a scalar base; descriptors bound what they reach
    op('all', 'global_load_dword v0, v1, s[20:21] offset:4' , 'v1', 'v0@0 v0@1 v0@31', [('lane', mem(4, 4), mem(5, 4), mem(35, 4))])
    op('9,90a,942,10', 'buffer_load_dword v0, v1, s[24:27], 0 offen', 'v1', 'v0', [(8, mem(8, 4)), (256, 0), (0xfffffff0, 0)])
    op('9,90a,942,10', 'buffer_load_dword v0, v1, s[24:27], s4 offen offset:4', 'v1 s4', 'v0', [(8, 4, mem(16, 4))])
    for t, a, b, c in ((OLD, 'dword', 'dwordx2', 'dwordx4'), (NEW, 'b32', 'b64', 'b128')):
        op(t, 's_load_%s s0, s[20:21], 0x8' % a, 'scc', 's0', [(0, mem(8, 4))])
        op(t, 's_load_%s s[0:1], s[20:21], 0x8' % b, 'scc', 's0:2', [(0, mem(8, 8))])
        op(t, 's_load_%s s[0:3], s[20:21], 0x10' % c, 'scc', 's0 s1 s2 s3', [(0, mem(16, 4), mem(20, 4), mem(24, 4), mem(28, 4))])
    for n, v in (('u8', mem(5, 1)), ('i8', signed(mem(5, 1), 8) & M32), ('u16', mem(5 - 1, 2)), ('i16', signed(mem(4, 2), 16) & M32)):
        op('12', 's_load_%s s0, s[20:21], 0x%x' % (n, 5 if '8' in n else 4), 'scc', 's0', [(0, v)])
    # LDS
    for old, new, value in (('u8', 'u8', mem(5, 1)), ('i8', 'i8', signed(mem(5, 1), 8) & M32), ('u16', 'u16', mem(6, 2)), ('i16', 'i16', signed(mem(6, 2), 16) & M32),
                            ('b32', 'b32', mem(8, 4)), ('u16_d16', 'u16_d16', 0xa5a50000 | mem(6, 2)), ('u16_d16_hi', 'u16_d16_hi', 0xa5a5 | mem(6, 2) << 16),
                            ('u8_d16', 'u8_d16', 0xa5a50000 | mem(5, 1)), ('u8_d16_hi', 'u8_d16_hi', 0xa5a5 | mem(5, 1) << 16),
                            ('i8_d16', 'i8_d16', 0xa5a50000 | signed(mem(5, 1), 8) & M16), ('i8_d16_hi', 'i8_d16_hi', 0xa5a5 | (signed(mem(5, 1), 8) & M16) << 16)):
        at = 8 if old == 'b32' else 6 if '16' in old.split('_')[0] else 5
        for t, n in ((OLD, 'ds_read_' + old), (NEW, 'ds_load_' + new)):
            op(t, n + ' v0, v1 offset:3', 'v1', 'v0', [(at - 3, value)])
    for k in (2, 3, 4):
        for t, n in ((OLD, 'ds_read_b%d' % (32 * k)), (NEW, 'ds_load_b%d' % (32 * k))):
            op(t, n + ' v[2:%d], v1 offset:16' % (k + 1), 'v1', ' '.join('v%d' % (2 + j) for j in range(k)), [[0] + [mem(16 + 4 * j, 4) for j in range(k)]])
        data = [0x44332211, 0x88776655, 0xccbbaa99, 0x10ffeedd][:k]
        for t, n in ((OLD, 'ds_write_b%d' % (32 * k)), (NEW, 'ds_store_b%d' % (32 * k))):
            op(t, n + ' v1, v[2:%d] offset:16' % (k + 1), 'v1 ' + ' '.join('v%d' % (2 + j) for j in range(k)), 'l3 ' + ' '.join('l%d' % (4 + j) for j in range(k)), [[0] + data + [mem(12, 4)] + data])
    for old, new, size, hi in (('b8', 'b8', 1, 0), ('b16', 'b16', 2, 0), ('b32', 'b32', 4, 0), ('b16_d16_hi', 'b16_d16_hi', 2, 1), ('b8_d16_hi', 'b8_d16_hi', 1, 1)):
        m = (1 << 8 * size) - 1
        for t, n in ((OLD, 'ds_write_' + old), (NEW, 'ds_store_' + new)):
            op(t, n + ' v1, v2 offset:8', 'v1 v2', 'l2 l3', [(0, 0x44332211, mem(8, 4) & ~m | (0x44332211 >> 16 * hi) & m, mem(12, 4))])
    for st, unit in (('', 1), ('st64', 64)):
        for t, n in ((OLD, 'ds_read2%s_b32' % st), (NEW, 'ds_load_2addr%s_b32' % ('_stride64' if st else ''))):
            op(t, n + ' v[2:3], v1 offset0:1 offset1:3', 'v1', 'v2 v3', [(4, mem(4 + 4 * unit, 4), mem(4 + 12 * unit, 4))])
        for t, n in ((OLD, 'ds_read2%s_b64' % st), (NEW, 'ds_load_2addr%s_b64' % ('_stride64' if st else ''))):
            op(t, n + ' v[2:5], v1 offset0:1 offset1:3', 'v1', 'v2:2 v4:2', [(8, mem(8 + 8 * unit, 8), mem(8 + 24 * unit, 8))])
        for t, n in ((OLD, 'ds_write2%s_b32' % st), (NEW, 'ds_store_2addr%s_b32' % ('_stride64' if st else ''))):
            op(t, n + ' v1, v2, v3 offset0:1 offset1:3', 'v1 v2 v3', 'l%d l%d l%d' % (1 + unit, 1 + 3 * unit, 1 + 2 * unit), [(4, 0x1234, 0x5678, 0x1234, 0x5678, mem(4 + 8 * unit, 4))])
        for t, n in ((OLD, 'ds_write2%s_b64' % st), (NEW, 'ds_store_2addr%s_b64' % ('_stride64' if st else ''))):
            op(t, n + ' v1, v[2:3], v[4:5] offset0:1 offset1:3', 'v1 v2:2 v4:2', 'l%d:2 l%d:2' % (2 + 2 * unit, 2 + 6 * unit), [(8, I64[5], I64[2], I64[5], I64[2])])
    # lanes: bpermute reads the lane at address / 4, permute writes to it; an idle lane's value reads as zero
    op('all', 'ds_bpermute_b32 v0, v1, v2', 'v1@0 v1@1 v1@2 v2', 'v0@0 v0@1 v0@2', [(20, 0, 124, 'lane', 5, 0, 31)])
    op('all', 'ds_bpermute_b32 v0, v1, v2 offset:8', 'v1 v2 exec', 'v0@0 v0@1', [(20, 'lane', 'all', 7, 7), (0, 'lane', 5, 2, 0xa5a5a5a5), (20, 'lane', 1, 0, 0xa5a5a5a5)])
    op('all', 'ds_permute_b32 v0, v1, v2', 'v1@0 v1@1 v2 exec', 'v0@0 v0@1', [(4, 0, 'lane', 3, 1, 0)])
    op('all', 'ds_swizzle_b32 v0, v1 offset:swizzle(QUAD_PERM, 3, 2, 1, 0)', 'v1', 'v0@0 v0@1 v0@6', [('lane', 3, 2, 5)])
    op('all', 'ds_swizzle_b32 v0, v1 offset:swizzle(SWAP,8)', 'v1', 'v0@0 v0@9 v0@31', [('lane', 8, 1, 23)])
    op('all', 'ds_swizzle_b32 v0, v1 offset:swizzle(BROADCAST,4,2)', 'v1', 'v0@0 v0@5 v0@31', [('lane', 2, 6, 30)])


def atomics():
    def ops_for(bits):
        m = (1 << bits) - 1
        si = lambda x: signed(x, bits)
        return {'add': lambda o, d: (o + d) & m, 'sub': lambda o, d: (o - d) & m, 'smin': lambda o, d: min(si(o), si(d)) & m, 'umin': min,
                'smax': lambda o, d: max(si(o), si(d)) & m, 'umax': max, 'and': lambda o, d: o & d, 'or': lambda o, d: o | d,
                'xor': lambda o, d: o ^ d, 'inc': lambda o, d: 0 if o >= d else o + 1, 'dec': lambda o, d: d if o == 0 or o > d else o - 1,
                'swap': lambda o, d: d}
    new_name = {'add': 'add_u', 'sub': 'sub_u', 'smin': 'min_i', 'umin': 'min_u', 'smax': 'max_i', 'umax': 'max_u', 'and': 'and_b', 'or': 'or_b',
                'xor': 'xor_b', 'inc': 'inc_u', 'dec': 'dec_u', 'swap': 'swap_b', 'cmpswap': 'cmpswap_b'}
    returns = (('9,90a,10', 'glc'), ('942', 'sc0'), ('11', 'glc'), ('12', 'th:TH_ATOMIC_RETURN'))
    for bits, vals, sfx in ((32, I32, ''), (64, I64, '_x2')):
        reg, d, g, old = ('v2', 'v2', 'g2', 'v0@0') if bits == 32 else ('v[2:3]', 'v2:2', 'g2:2', 'v0:2@0')
        dst = 'v0' if bits == 32 else 'v[0:1]'
        for n, f in ops_for(bits).items():
            rows = [(1, o, x, f(o, x), o) for o, x in pairs(vals, vals, 10)] + [(1, 5, 5, f(5, 5), 5), (1, 5, 7, f(5, 7), 5)]
            for t, r in returns:
                name = new_name[n] + str(bits) if t in ('11', '12') else n + sfx
                op(t, 'global_atomic_%s %s, v[30:31], %s, off offset:8 %s' % (name, dst, reg, r), 'exec %s %s' % (g, d), '%s %s' % (g, old), rows)
            t, name = OLD, n + sfx
            op(t, 'flat_atomic_%s v[30:31], %s' % (name, reg), 'exec %s %s' % (g.replace('g2', 'g0'), d), g.replace('g2', 'g0'), [r[:4] for r in rows[:4]])
            op(NEW, 'flat_atomic_%s%d v[30:31], %s' % (new_name[n], bits, reg), 'exec %s %s' % (g.replace('g2', 'g0'), d), g.replace('g2', 'g0'), [r[:4] for r in rows[:4]])
            op(t, 'buffer_atomic_%s %s, off, s[24:27], 0 offset:8' % (name, reg), 'exec %s %s' % (g, d), g, [r[:4] for r in rows[:4]])
            op('11', 'buffer_atomic_%s%d %s, off, s[24:27], 0 offset:8' % (new_name[n], bits, reg), 'exec %s %s' % (g, d), g, [r[:4] for r in rows[:4]])
            op('12', 'buffer_atomic_%s%d %s, off, s[24:27], null offset:8' % (new_name[n], bits, reg), 'exec %s %s' % (g, d), g, [r[:4] for r in rows[:4]])
        # compare and swap: the new value first, then what is compared
        pair = 'v[2:3]' if bits == 32 else 'v[2:5]'
        cols = 'v2 v3' if bits == 32 else 'v2:2 v4:2'
        for t, r in returns:
            name = 'cmpswap_b%d' % bits if t in ('11', '12') else 'cmpswap' + sfx
            op(t, 'global_atomic_%s %s, v[30:31], %s, off offset:8 %s' % (name, dst, pair, r), 'exec %s %s' % (g, cols), '%s %s' % (g, old),
               [(1, 5, 9, 5, 9, 5), (1, 5, 9, 6, 5, 5), (1, vals[3], vals[2], vals[3], vals[2], vals[3])])
    # all lanes of a wave add, one after the other
    op('9,90a,942', 'global_atomic_add v[30:31], v2, off', 'g0 v2', 'g0', [(0, 1, 64), (10, 2, 138)])
    op('10', 'global_atomic_add v[30:31], v2, off', 'g0 v2', 'g0', [(0, 1, 32)])
    op('11,12', 'global_atomic_add_u32 v[30:31], v2, off', 'g0 v2', 'g0', [(0, 1, 32)])
    fl = [(o, x) for o, x in pairs(FN, FN, 12)]
    op('90a,942', 'global_atomic_add_f32 v[30:31], v2, off offset:8', 'exec g2 v2', 'g2', [(1, o, x, F32.add(o, x)) for o, x in pairs([0x3f800000, 0xbf800000, 0x40490fdb], [0x3f800000, 0x7f800000, 0], 9)])
    op('11,12', 'global_atomic_add_f32 v[30:31], v2, off offset:8', 'exec g2 v2', 'g2', [(1, o, x, F32.add(o, x)) for o, x in pairs([0x3f800000, 0xbf800000, 0x40490fdb], [0x3f800000, 0x7f800000, 0], 9)])
    op('90a,942', 'global_atomic_add_f64 v[30:31], v[2:3], off offset:8', 'exec g2:2 v2:2', 'g2:2', [(1, o, x, F64.add(o, x)) for o, x in pairs(DN[2:5], DN[2:5], 9)])
    # LDS
    for bits, vals in ((32, I32), (64, I64)):
        reg, d, l, old = ('v2', 'v2', 'l2', 'v0@0') if bits == 32 else ('v[2:3]', 'v2:2', 'l2:2', 'v0:2@0')
        dst = 'v0' if bits == 32 else 'v[0:1]'
        fs = ops_for(bits)
        m = (1 << bits) - 1
        names = {'add_u': fs['add'], 'sub_u': fs['sub'], 'rsub_u': lambda o, x: (x - o) & m, 'inc_u': fs['inc'], 'dec_u': fs['dec'], 'min_i': fs['smin'],
                 'max_i': fs['smax'], 'min_u': fs['umin'], 'max_u': fs['umax'], 'and_b': fs['and'], 'or_b': fs['or'], 'xor_b': fs['xor']}
        for n, f in names.items():
            base, k = n.split('_')
            rows = [(8, 1, o, x, f(o, x), o) for o, x in pairs(vals, vals, 10)] + [(8, 1, 5, 5, f(5, 5), 5)]
            op('all', 'ds_%s_%s%d v1, %s' % (base, k, bits, reg), 'v1 exec %s %s' % (l, d), l, [r[:5] for r in rows])
            op('all', 'ds_%s_rtn_%s%d %s, v1, %s' % (base, k, bits, dst, reg), 'v1 exec %s %s' % (l, d), '%s %s' % (l, old), rows)
        two, cols = ('v2, v3', 'v2 v3') if bits == 32 else ('v[2:3], v[4:5]', 'v2:2 v4:2')
        a, b = vals[5], vals[2]
        # ds_cmpst: what is compared, then the new value; ds_cmpstore (RDNA3): the other way round
        op(OLD, 'ds_cmpst_b%d v1, %s' % (bits, two), 'v1 exec %s %s' % (l, cols), l, [(8, 1, a, a, b, b), (8, 1, a, b, a, a)])
        op(OLD, 'ds_cmpst_rtn_b%d %s, v1, %s' % (bits, dst, two), 'v1 exec %s %s' % (l, cols), '%s %s' % (l, old), [(8, 1, a, a, b, b, a), (8, 1, a, b, 7, a, a)])
        op(NEW, 'ds_cmpstore_b%d v1, %s' % (bits, two), 'v1 exec %s %s' % (l, cols), l, [(8, 1, a, b, a, b), (8, 1, a, a, b, a)])
        op(NEW, 'ds_cmpstore_rtn_b%d %s, v1, %s' % (bits, dst, two), 'v1 exec %s %s' % (l, cols), '%s %s' % (l, old), [(8, 1, a, b, a, b, a), (8, 1, a, 7, b, a, a)])
        op('all', 'ds_mskor_b%d v1, %s' % (bits, two), 'v1 exec %s %s' % (l, cols), l, [(8, 1, a, 0xff00, 0x1200, a & ~0xff00 | 0x1200)])
        op(OLD, 'ds_wrxchg_rtn_b%d %s, v1, %s' % (bits, dst, reg), 'v1 exec %s %s' % (l, d), '%s %s' % (l, old), [(8, 1, a, b, b, a)])
        op(NEW, 'ds_storexchg_rtn_b%d %s, v1, %s' % (bits, dst, reg), 'v1 exec %s %s' % (l, d), '%s %s' % (l, old), [(8, 1, a, b, b, a)])
    op('all', 'ds_add_f32 v1, v2', 'v1 exec l2 v2', 'l2', [(8, 1, o, x, F32.add(o, x)) for o, x in pairs([0x3f800000, 0xbf800000, 0x40490fdb], [0x3f800000, 0x7f800000, 0], 9)])


# ---- the rest ---------------------------------------------------------------------------------------------------------------------------------

def exec_and_control():
    gcn = '9,90a,942'
    funcs = {'and': lambda s, e: s & e, 'or': lambda s, e: s | e, 'xor': lambda s, e: s ^ e, 'nand': lambda s, e: ~(s & e), 'nor': lambda s, e: ~(s | e),
             'xnor': lambda s, e: ~(s ^ e), 'andn2': lambda s, e: s & ~e, 'orn2': lambda s, e: s | ~e, 'andn1': lambda s, e: ~s & e, 'orn1': lambda s, e: ~s | e}
    renamed = {'andn2': 'and_not1', 'orn2': 'or_not1', 'andn1': 'and_not0', 'orn1': 'or_not0'}
    for n, f in funcs.items():
        for t, name, bits in ((gcn, n, 64), ('10', n, 32), ('11,12', renamed.get(n, n), 32)) :
            m = (1 << bits) - 1
            d, s, i, o = ('s[0:1]', 's[4:5]', 's4:2', 's0:2') if bits == 64 else ('s0', 's4', 's4', 's0')
            rows = [(a, e, e, f(a, e) & m, int(f(a, e) & m != 0)) for a, e in ((0xf0, 0x3c), (0xf, 0xf0), (0xff, 0xff), (0, 0), (m, 0x55))]
            op(t, 's_%s_saveexec_b%d %s, %s' % (name, bits, d, s), i + ' exec', o + ' exec scc', rows)
            if n in ('andn1', 'andn2'):         # both get the result
                op(t, 's_%s_wrexec_b%d %s, %s' % (name, bits, d, s), i + ' exec', o + ' exec scc', [(a, e, f(a, e) & m, f(a, e) & m, int(f(a, e) & m != 0)) for a, e, *_ in rows])
    for n in ('andn1', 'andn2', 'orn1', 'orn2'):    # of waves of 64, here with 32 lanes
        f, m = funcs[n], (1 << 64) - 1
        rows = [(a, e, e, f(a, e) & M32, int(f(a, e) & m != 0)) for a, e in ((0xf0, 0x3c), (0xf, 0xf0), (0xff, 0xff), (0, 0), (M32, 0x55))]
        op('11,12', 's_%s_saveexec_b64 s[0:1], s[4:5]' % renamed[n], 's4:2 exec', 's0:2 exec scc', rows)
        if n in ('andn1', 'andn2'):
            op('11,12', 's_%s_wrexec_b64 s[0:1], s[4:5]' % renamed[n], 's4:2 exec', 's0:2 exec scc', [(a, e, r, r, b) for a, e, _, r, b in rows])
    far = 12                    # s_branch 3: four bytes each, from the next instruction
    op('all', 's_branch 3', 'scc', 'pc', [(0, far)])
    op('all', 's_branch 0xfffe', 'scc', 'pc', [(0, M64 - 7)])
    op('all', 's_cbranch_scc0 3', 'scc', 'pc', [(0, far), (1, 0)])
    op('all', 's_cbranch_scc1 3', 'scc', 'pc', [(0, 0), (1, far)])
    op('all', 's_cbranch_vccz 3', 'vcc', 'pc', [(0, far), (1, 0), ('all', 0)])
    op('all', 's_cbranch_vccnz 3', 'vcc', 'pc', [(0, 0), (1, far), (0x80000000, far)])
    op('all', 's_cbranch_execz 3', 'exec', 'pc', [(0, far), (1, 0)])
    op('all', 's_cbranch_execnz 3', 'exec', 'pc', [(0, 0), (1, far)])
    for t, hints in (('all', ['s_nop 3', 's_sleep 1', 's_setprio 1', 's_icache_inv', 's_ttracedata']), ('9,90a,942,10', ['s_waitcnt 0', 's_dcache_inv', 's_incperflevel 0', 's_decperflevel 0']),
                     ('10', ['s_waitcnt_vscnt null, 0', 's_waitcnt_vmcnt null, 0', 's_waitcnt_lgkmcnt null, 0', 's_waitcnt_expcnt null, 0', 's_waitcnt_depctr 0', 's_inst_prefetch 1', 's_clause 1', 's_gl1_inv']),
                     ('11', ['s_waitcnt 0', 's_delay_alu 1', 's_clause 1', 's_set_inst_prefetch_distance 1', 's_waitcnt_depctr 0', 's_waitcnt_vscnt null, 0', 's_wait_idle']),
                     ('12', ['s_wait_loadcnt 0', 's_wait_storecnt 0', 's_wait_dscnt 0', 's_wait_kmcnt 0', 's_wait_expcnt 0', 's_wait_samplecnt 0', 's_wait_bvhcnt 0',
                             's_wait_loadcnt_dscnt 0', 's_wait_storecnt_dscnt 0', 's_delay_alu 1', 's_clause 1', 's_wait_alu 0', 's_wait_idle', 's_barrier_signal -1']),
                     (gcn, ['s_dcache_wb', 's_wakeup', 's_setkill 0', 's_sethalt 0', 'v_nop']), ('10+', ['v_nop']),
                     ('9', ['buffer_wbinvl1', 'buffer_wbinvl1_vol']), ('90a', ['buffer_wbl2', 'buffer_invl2', 'buffer_wbinvl1']), ('942', ['buffer_inv', 'buffer_wbl2']),
                     ('10,11', ['buffer_gl0_inv', 'buffer_gl1_inv']), ('12', ['global_inv', 'global_wb', 'global_wbinv']), ('all', ['ds_nop'])):
        for hint in hints:      # nothing that a program sees
            op(t, hint, 's0 v0 scc', 's0 v0 scc exec pc', [(0x1234, 0x5678, 1, 0x1234, 0x5678, 1, 'all', 0)])
    # the mode register: rounding of f32 in bits 0-1, of f64 and f16 in 2-3; denormals in 4-5 and 6-7
    op('all', 's_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0x5', 'mode', 'mode', [(0x3f0, 0x3f5), (0x3ff, 0x3f5)])
    op('all', 's_setreg_b32 hwreg(HW_REG_MODE, 4, 2), s4', 's4 mode', 'mode', [(0, 0x3f0, 0x3c0), (M32, 0x3c3, 0x3f3)])
    op('all', 's_getreg_b32 s0, hwreg(HW_REG_MODE, 4, 4)', 'mode', 's0', [(0x3f0, 0xf), (0x3c3, 0xc)])
    op('10+', 's_round_mode 0x5', 'mode', 'mode', [(0x3f0, 0x3f5), (0x3fa, 0x3f5)])
    op('10+', 's_denorm_mode 0x3', 'mode', 'mode', [(0x3c5, 0x335), (0x3f0, 0x330)])


def more_scalars():
    # the register's number plus m0
    op('all', 's_movrels_b32 s0, s4', 's4 s6 m0', 's0', [(1, 2, 0, 1), (1, 2, 2, 2)])
    op('all', 's_movreld_b32 s0, s4', 's4 m0', 's2', [(7, 2, 7)])
    k = [0, 1, 0x7fff, 0xffff8000, M32, 5]
    for n, f in (('eq', lambda a, b: a == b), ('lg', lambda a, b: a != b), ('gt', lambda a, b: a > b), ('ge', lambda a, b: a >= b), ('lt', lambda a, b: a < b),
                 ('le', lambda a, b: a <= b)):
        op('9,90a,942,10,11', 's_cmpk_%s_i32 s4, 0x8000' % n, 's4', 'scc', [(a, int(f(S(a), -32768))) for a in k])
        op('9,90a,942,10,11', 's_cmpk_%s_u32 s4, 0x8000' % n, 's4', 'scc', [(a, int(f(a, 0x8000))) for a in k])
    op('all', 's_cmovk_i32 s0, 0xffff', 's0 scc', 's0', [(5, 0, 5), (5, 1, M32)])
    op('12', 's_addk_co_i32 s0, 0x8000', 's0', 's0 scc', [(0, 0xffff8000, 0), (0x80000000, 0x7fff8000, 1)])
    op('all', 's_cmov_b64 s[0:1], s[4:5]', 's0:2 s4:2 scc', 's0:2', [(1, I64[5], 0, 1), (1, I64[5], 1, I64[5])])
    op('all', 's_cselect_b64 s[0:1], s[4:5], s[6:7]', 's4:2 s6:2 scc', 's0:2', [(1, I64[5], 0, I64[5]), (1, I64[5], 1, 1)])
    op('9,90a,942,10', 's_ff0_i32_b32 s0, s4', 's4', 's0', [(0, 0), (1, 1), (0xff, 8), (M32, M32)])
    op('9,90a,942,10', 's_ff0_i32_b64 s0, s[4:5]', 's4:2', 's0', [(0, 0), (1, 1), (M32, 32), (M64, M32)])

    def signs64(x):
        for i in range(1, 64):
            if (x >> (63 - i) & 1) != x >> 63:
                return i
        return M32
    for t, n in (('9,90a,942,10', 's_flbit_i32_i64'), ('11,12', 's_cls_i32_i64')):
        op(t, n + ' s0, s[4:5]', 's4:2', 's0', [(x, signs64(x)) for x in I64 + [1 << 62]])
    op('all', 's_bitset1_b64 s[0:1], s4', 's0:2 s4', 's0:2', [(0, s, 1 << (s & 63)) for s in (0, 31, 32, 63, 64)])
    op('all', 's_bitset0_b64 s[0:1], s4', 's0:2 s4', 's0:2', [(M64, s, M64 & ~(1 << (s & 63))) for s in (0, 31, 32, 63, 64)])
    op('all', 's_bitcmp1_b64 s[4:5], s6', 's4:2 s6', 'scc', [(1 << 40, s, int(s == 40)) for s in (0, 8, 40)])
    op('all', 's_bitcmp0_b64 s[4:5], s6', 's4:2 s6', 'scc', [(1 << 40, s, int(s != 40)) for s in (0, 8, 40)])
    wqm = lambda x, n: sum(15 << i for i in range(0, n, 4) if x >> i & 15)
    op('all', 's_wqm_b32 s0, s4', 's4', 's0 scc', [(x, wqm(x, 32), int(x != 0)) for x in (0, 1, 0x80, 0x10020, 0xf0000000)])
    op('all', 's_wqm_b64 s[0:1], s[4:5]', 's4:2', 's0:2 scc', [(x, wqm(x, 64), int(x != 0)) for x in (0, 1, 0x80, 1 << 63, 1 << 33)])
    op('all', 's_bfm_b64 s[0:1], s4, s6', 's4 s6', 's0:2', [(a, b, (((1 << (a & 63)) - 1) << (b & 63)) & M64) for a, b in ((0, 0), (1, 63), (40, 3), (63, 0), (64, 5), (33, 40))])
    f64 = [0, 0x80000, 0x200010, 0x3f0001, 0x400000, 0x140028]
    field = lambda x, b: x >> (b & 63) & ((1 << (b >> 16 & 127)) - 1)
    op('all', 's_bfe_u64 s[0:1], s[4:5], s6', 's4:2 s6', 's0:2 scc', [(x, b, field(x, b), int(field(x, b) != 0)) for x in I64[3:6] for b in f64])

    def sfield(x, b):
        n = b >> 16 & 127
        v = field(x, b)
        return signed(v, min(n, 64)) & M64 if n else 0
    op('all', 's_bfe_i64 s[0:1], s[4:5], s6', 's4:2 s6', 's0:2 scc', [(x, b, sfield(x, b), int(sfield(x, b) != 0)) for x in I64[3:6] for b in f64])
    op('11,12', 's_pack_hl_b32_b16 s0, s4, s6', 's4 s6', 's0', [(0x12345678, 0x9abcdef0, 0xdef01234)])
    for n, f in (('s_add_nc_u64', lambda a, b: a + b), ('s_sub_nc_u64', lambda a, b: a - b), ('s_mul_u64', lambda a, b: a * b)):
        op('12', n + ' s[0:1], s[4:5], s[6:7]', 's4:2 s6:2', 's0:2', [(a, b, f(a, b) & M64) for a, b in pairs(I64, I64, 12)])
    for t, n, size in (('9,90a,942,10', 'dwordx8', 8), ('11,12', 'b256', 8), ('9,90a,942,10', 'dwordx16', 16), ('11,12', 'b512', 16)):
        op(t, 's_load_%s s[0:%d], s[20:21], 0x20' % (n, size - 1), 'scc', ' '.join('s%d' % j for j in range(size)), [[0] + [mem(32 + 4 * j, 4) for j in range(size)]])
        op(t, 's_buffer_load_%s s[0:%d], s[24:27], 0x20' % (n, size - 1), 'scc', ' '.join('s%d' % j for j in range(size)), [[0] + [mem(32 + 4 * j, 4) for j in range(size)]])
    for t, n, size in (('9,90a,942,10', 'dword', 1), ('11,12', 'b32', 1), ('9,90a,942,10', 'dwordx2', 2), ('11,12', 'b64', 2), ('9,90a,942,10', 'dwordx4', 4), ('11,12', 'b128', 4), ('12', 'b96', 3)):
        dst = 's0' if size == 1 else 's[0:%d]' % (size - 1)
        op(t, 's_buffer_load_%s %s, s[24:27], 0x10' % (n, dst), 'scc', ' '.join('s%d' % j for j in range(size)), [[0] + [mem(16 + 4 * j, 4) for j in range(size)]])
    op('12', 's_load_b96 s[0:2], s[20:21], 0x10', 'scc', 's0 s1 s2', [(0, mem(16, 4), mem(20, 4), mem(24, 4))])
    # scalar floats of RDNA4
    t = '12'
    op(t, 's_sub_f32 s0, s4, s6', 's4 s6', 's0', [(a, b, F32.add(a, b ^ F32.sign)) for a, b in pairs(FN, FN, 20)])
    for n, w in (('min', False), ('max', True)):
        op(t, 's_%s_num_f32 s0, s4, s6' % n, 's4 s6', 's0', [(a, b, F32.minmax(a, b, w, False)) for a, b in pairs(FN, FN, 20) + [(0x7fc00000, 0x3f800000), (0x3f800000, 0x7fc00000)]])
    odd = [F32.round(Fraction(x, 4)) for x in (-14, -10, -6, -2, -1, 1, 2, 3, 6, 10)]
    for how in ('ceil', 'floor', 'trunc', 'rndne'):
        op(t, 's_%s_f32 s0, s4' % how, 's4', 's0', [(x, F32.integral(x, how)) for x in FS + odd])
    op(t, 's_fmac_f32 s0, s4, s6', 's4 s6 s0', 's0', [(a, b, c, F32.fma(a, b, c)) for a, b, c in triples(FN, FN, FN)])
    op(t, 's_fmaak_f32 s0, s4, s6, 0x40000000', 's4 s6', 's0', [(a, b, F32.fma(a, b, 0x40000000)) for a, b in pairs(FN, FN, 8)])
    op(t, 's_fmamk_f32 s0, s4, 0x40000000, s6', 's4 s6', 's0', [(a, b, F32.fma(a, 0x40000000, b)) for a, b in pairs(FN, FN, 8)])
    ints = [0, 1, M32, 0x7fffffff, 0x80000000, 0x01000001, 0x01000003]
    op(t, 's_cvt_f32_i32 s0, s4', 's4', 's0', [(a, F32.round(Fraction(S(a)))) for a in ints])
    op(t, 's_cvt_f32_u32 s0, s4', 's4', 's0', [(a, F32.round(Fraction(a))) for a in ints])
    op(t, 's_cvt_i32_f32 s0, s4', 's4', 's0', [(a, F32.to_int(a, -1 << 31, (1 << 31) - 1) & M32) for a in FS])
    op(t, 's_cvt_u32_f32 s0, s4', 's4', 's0', [(a, F32.to_int(a, 0, M32)) for a in FS])
    fl = {'lt': '<', 'eq': '=', 'le': '<=', 'gt': '>', 'lg': '<>', 'ge': '>=', 'o': '<=>', 'u': '?', 'nge': '<?', 'nlg': '=?', 'ngt': '<=?', 'nle': '>?', 'neq': '<>?', 'nlt': '>=?'}
    low = lambda x: 0xabcd0000 | x      # the upper halves of operands do not count; that of the result is zero
    for n, w in (('min', False), ('max', True)):
        op(t, 's_%s_num_f16 s0, s4, s6' % n, 's4 s6', 's0', [(low(a), low(b), F16.minmax(a, b, w, False)) for a, b in pairs(HN, HN, 20) + [(0x7e00, 0x3c00), (0x3c00, 0x7e00)]])
        op(t, 's_%simum_f16 s0, s4, s6' % n, 's4 s6', 's0', [(low(a), low(b), F16.minmax(a, b, w, False)) for a, b in pairs(HN, HN, 20)] + [(0x7e00, 0x3c00, 0x7e00), (0x3c00, 0x7e00, 0x7e00)])
        op(t, 's_%simum_f32 s0, s4, s6' % n, 's4 s6', 's0', [(a, b, F32.minmax(a, b, w, False)) for a, b in pairs(FN, FN, 20)] + [(0x7fc00000, 0x3f800000, 0x7fc00000), (0x3f800000, 0x7fc00000, 0x7fc00000)])
    for n, want in fl.items():
        op(t, 's_cmp_%s_f16 s4, s6' % n, 's4 s6', 'scc', [(low(a), low(b), int(relation(F16, a, b) in want)) for a, b in pairs(HS, HS, 14) + [(0, F16.sign), (HS[-1], HS[-1])]])
        op(t, 's_cmp_%s_f32 s4, s6' % n, 's4 s6', 'scc', [(a, b, int(relation(F32, a, b) in want)) for a, b in pairs(FS, FS, 14) + [(0, F32.sign), (FS[-1], FS[-1])]])


def named():
    """What only one processor of a family has, or has not: tables of its own."""
    one, two = 0x3f800000, 0x40000000
    op('gfx900', 'v_mad_mix_f32 v0, v1, v2, v3 op_sel:[1,0,0] op_sel_hi:[1,1,0]', 'v1 v2 v3', 'v0', [(0x40003c00, 0x00004200, one, 0x40e00000), (0xc0003c00, 0x4200, one, 0xc0a00000)])
    op('gfx900', 'v_mad_mixlo_f16 v0, v1, v2, v3 op_sel_hi:[0,0,0]', 'v1 v2 v3', 'v0', [(two, 0x40400000, one, 0xa5a54700)])
    op('gfx900', 'v_mad_mixhi_f16 v0, v1, v2, v3 op_sel_hi:[0,0,0]', 'v1 v2 v3', 'v0', [(two, 0x40400000, one, 0x4700a5a5)])
    t, twice = 'gfx900', lambda f, a, b, c: f.add(f.mul(a, b), c)       # rounded twice
    some = [one, 0xbf800000, two, 0x40490fdb, 0x3eaaaaab, 0xc2f60000]
    third = [0x3c00, 0xbc00, 0x4248, 0x3555, 0xd7b0]
    op(t, 'v_mac_f32 v0, v1, v2', 'v1 v2 v0', 'v0', [(a, b, c, twice(F32, a, b, c)) for a, b, c in triples(some, some, some)])
    op(t, 'v_madak_f32 v0, v1, v2, 0x40490fdb', 'v1 v2', 'v0', [(a, b, twice(F32, a, b, 0x40490fdb)) for a, b in pairs(some, some, 12)])
    op(t, 'v_madmk_f32 v0, v1, 0x40490fdb, v2', 'v1 v2', 'v0', [(a, b, twice(F32, a, 0x40490fdb, b)) for a, b in pairs(some, some, 12)])
    op(t, 'v_mac_f16 v0, v1, v2', 'v1 v2 v0', 'v0.l', [(a, b, c, twice(F16, a, b, c)) for a, b, c in triples(third, third, third)])
    op(t, 'v_mad_legacy_u16 v0, v1, v2, v3', 'v1 v2 v3', 'v0.l', [(0xffff1234, 0x89ab5678, 0x12349abc, (0x1234 * 0x5678 + 0x9abc) & M16), (0xffff, 0xffff, 2, 3)])
    for n, w in (('min', False), ('max', True)):
        op('gfx1151', 's_%s_f32 s0, s4, s6' % n, 's4 s6', 's0', [(a, b, F32.minmax(a, b, w, False)) for a, b in pairs(FN, FN, 20)])
        op('gfx1151', 's_%s_f16 s0, s4, s6' % n, 's4 s6', 's0', [(0xabcd0000 | a, 0xabcd0000 | b, F16.minmax(a, b, w, False)) for a, b in pairs(HN, HN, 20)])


def relation(f, a, b):
    if f.is_nan(a) or f.is_nan(b):
        return '?'
    key = lambda x: (-1 if x & f.sign else 1) * Fraction(10) ** 400 if f.is_inf(x) else f.value(x)
    return '<' if key(a) < key(b) else '>' if key(a) > key(b) else '='


def more_vectors():
    mask = lambda c: 'all' if c else 0
    signs = {'lt': '<', 'eq': '=', 'le': '<=', 'gt': '>', 'ne': '<>', 'ge': '>='}
    floats_ = {'lt': '<', 'eq': '=', 'le': '<=', 'gt': '>', 'lg': '<>', 'ge': '>=', 'o': '<=>', 'u': '?', 'nge': '<?', 'nlg': '=?', 'ngt': '<=?', 'nle': '>?',
               'neq': '<>?', 'nlt': '>=?'}
    for p, vals, ins, regs in (('i32', I32, 'v1 v2', 'v1, v2'), ('u32', I32, 'v1 v2', 'v1, v2'), ('i64', I64, 'v2:2 v4:2', 'v[2:3], v[4:5]'),
                               ('u64', I64, 'v2:2 v4:2', 'v[2:3], v[4:5]'), ('i16', I16, 'v1 v2', 'v1, v2'), ('u16', I16, 'v1 v2', 'v1, v2')):
        bits = int(p[1:])
        val = (lambda x: signed(x, bits)) if p[0] == 'i' else (lambda x: x)
        for n, want in signs.items():
            rows = [(a, b, mask(('<' if val(a) < val(b) else '>' if val(a) > val(b) else '=') in want)) for a, b in pairs(vals, vals, 8) + [(vals[2], vals[2])]]
            op('9,90a,942', 'v_cmpx_%s_%s_e64 $m8, %s' % (n, p, regs), ins, 'm8 exec', [r + (r[-1],) for r in rows])
            op('10+', 'v_cmpx_%s_%s_e64 %s' % (n, p, regs), ins, 'exec', rows)
    for f, p, vals, ins, regs in ((F32, 'f32', FS, 'v1 v2', 'v1, v2'), (F16, 'f16', HS, 'v1 v2', 'v1, v2'), (F64, 'f64', DS, 'v2:2 v4:2', 'v[2:3], v[4:5]')):
        for n, want in floats_.items():
            rows = [(a, b, mask(relation(f, a, b) in want)) for a, b in pairs(vals, vals, 8) + [(0, f.sign), (vals[-1], vals[-1])]]
            op('9,90a,942', 'v_cmpx_%s_%s_e64 $m8, %s' % (n, p, regs), ins, 'm8 exec', [r + (r[-1],) for r in rows])
            op('10+', 'v_cmpx_%s_%s_e64 %s' % (n, p, regs), ins, 'exec', rows)
        sel = 'v6' if f is F64 else 'v2'
        a = ins.split()[0]
        rows = [(0, 1 << 6, 'all'), (f.sign, 1 << 6, 0), (f.inf, 1 << 9, 'all'), (f.nan, 1 << 1, 'all'), (f.inf | 1, 1, 'all'), (1, 1 << 7, 'all')]
        op('9,90a,942', 'v_cmpx_class_%s_e64 $m8, %s, %s' % (p, regs.split(', ')[0], sel), '%s %s' % (a, sel), 'm8 exec', [r + (r[-1],) for r in rows])
        op('10+', 'v_cmpx_class_%s_e64 %s, %s' % (p, regs.split(', ')[0], sel), '%s %s' % (a, sel), 'exec', rows)
    for p, regs in (('i32', 'v1, v2'), ('u32', 'v1, v2'), ('i64', 'v[2:3], v[4:5]'), ('u64', 'v[2:3], v[4:5]')):
        for n, v in (('f', 0), ('t', 'all')):
            op('9,90a,942,10,11', 'v_cmp_%s_%s_e64 $m8, %s' % (n, p, regs), 'v1 v2', 'm8', [(1, 2, v), (2, 2, v)])
    for p, regs in (('f32', 'v1, v2'), ('f16', 'v1, v2'), ('f64', 'v[2:3], v[4:5]')):
        op('9,90a,942,10,11', 'v_cmp_f_%s_e64 $m8, %s' % (p, regs), 'v1 v2', 'm8', [(1, 2, 0)])
        op('9,90a,942,10', 'v_cmp_tru_%s_e64 $m8, %s' % (p, regs), 'v1 v2', 'm8', [(1, 2, 'all')])
        op('11', 'v_cmp_t_%s_e64 $m8, %s' % (p, regs), 'v1 v2', 'm8', [(1, 2, 'all')])
    # always and never, written to EXEC too
    for p, regs, targets in (('i16', 'v1, v2', '9,90a,942'), ('u16', 'v1, v2', '9,90a,942')):
        for n, v in (('f', 0), ('t', 'all')):
            op(targets, 'v_cmp_%s_%s_e64 $m8, %s' % (n, p, regs), 'v1 v2', 'm8', [(1, 2, v), (2, 2, v)])
            op(targets, 'v_cmpx_%s_%s_e64 $m8, %s' % (n, p, regs), 'v1 v2', 'm8 exec', [(1, 2, v, v)])
    for p, regs in (('i32', 'v1, v2'), ('u32', 'v1, v2'), ('i64', 'v[2:3], v[4:5]'), ('u64', 'v[2:3], v[4:5]'), ('f32', 'v1, v2'), ('f16', 'v1, v2'),
                    ('f64', 'v[2:3], v[4:5]')):
        for n, v in (('f', 0), ('tru' if p[0] == 'f' else 't', 'all')):
            op('9,90a,942', 'v_cmpx_%s_%s_e64 $m8, %s' % (n, p, regs), 'v1 v2', 'm8 exec', [(1, 2, v, v), (2, 2, v, v)])
            op('10', 'v_cmpx_%s_%s_e64 %s' % (n, p, regs), 'v1 v2', 'exec', [(1, 2, v), (2, 2, v)])
            op('11', 'v_cmpx_%s_%s_e64 %s' % (n[0], p, regs), 'v1 v2', 'exec', [(1, 2, v), (2, 2, v)])
    op('11,12', 'v_permlane64_b32 v0, v1', 'v1', 'v0', [('lane', 0xa5a5a5a5)])      # no operation in a wave of 32
    op('942', 'v_mov_b64 v[0:1], v[2:3]', 'v2:2', 'v0:2', [(x, x) for x in I64])
    op('10+', 'v_swap_b32 v0, v1', 'v0 v1', 'v0 v1', [(1, 2, 2, 1)])
    op('90a,942', 'v_accvgpr_write_b32 a5, v1', 'v1', 'v1', [(7, 7)])
    op('90a,942', 'v_accvgpr_read_b32 v0, a5', 'v1', 'v0', [(7, 0xa5a5a5a5)])
    op('90a,942', 'v_accvgpr_mov_b32 a3, a5', 'v1', 'v1', [(7, 7)])
    op('11,12', 'v_not_b16 v0, v1', 'v1', 'v0.l', [(x, ~x & M16) for x in I16])
    op('11,12', 'v_cndmask_b16 v0, v1, v2, $m8', 'v1 v2 m8', 'v0.l', [(1, 2, 0, 1), (1, 2, 'all', 2)])
    op('9,90a,942', 'v_subrev_u16 v0, v1, v2', 'v1 v2', 'v0', [(a, b, (b - a) & M16) for a, b in pairs(I16, I16, 10)])
    H = lambda x: signed(x, 16)
    op('all', 'v_mad_i16 v0, v1, v2, v3', 'v1 v2 v3', 'v0.l', [(a, b, c, (H(a) * H(b) + H(c)) & M16) for a, b, c in triples(I16, I16, I16)])
    op('12', 'v_mad_co_i64_i32 v[0:1], $m8, v2, v3, v[4:5]', 'v2 v3 v4:2', 'v0:2', [(a, b, c, (S(a) * S(b) + c) & M64) for a, b, c in triples(I32, I32, I64)])
    op('9,90a', 'v_mad_f32 v0, v1, v2, v3', 'v1 v2 v3 mode', 'v0', [(0x40000000, 0x40400000, 0x3f800000, 0x3c0, 0x40e00000)])
    fin = [x for x in FN if not F32.is_denormal(x)]
    for t, n1, n2 in (('11', 'v_maxmin_f32', 'v_minmax_f32'), ('12', 'v_maxmin_num_f32', 'v_minmax_num_f32')):
        op(t, n1 + ' v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(a, b, c, F32.minmax(F32.minmax(a, b, True, False), c, False, False)) for a, b, c in triples(fin, fin, fin)])
        op(t, n2 + ' v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(a, b, c, F32.minmax(F32.minmax(a, b, False, False), c, True, False)) for a, b, c in triples(fin, fin, fin)])
    for name, w in (('minimum3', False), ('maximum3', True)):
        op('12', 'v_%s_f32 v0, v1, v2, v3' % name, 'v1 v2 v3', 'v0', [(a, b, c, F32.minmax(F32.minmax(a, b, w, False), c, w, False)) for a, b, c in triples(fin, fin, fin)]
           + [(0x7fc00000, 0, 0, 0x7fc00000), (0, 0, 0x7fc00000, 0x7fc00000)])
    for name, w in (('minimum', False), ('maximum', True)):
        op('12', 'v_pk_%s_f16 v0, v1, v2' % name, 'v1 v2', 'v0', [(0x3c004000, 0x40003c00, 0x40004000 if w else 0x3c003c00), (0x7e003c00, 0x3c007e00, 0x7e007e00), (0x80000000, 0x8000, 0 if w else 0x80008000)])
    hfin = [x for x in HN]
    for t, pre in (('9,90a,942,10,11', ''), ('12', 'num_')):
        for name, w in (('min3', False), ('max3', True)):
            op(t, 'v_%s_%sf16 v0, v1, v2, v3' % (name, pre), 'v1 v2 v3', 'v0.l', [(a, b, c, F16.minmax(F16.minmax(a, b, w, False), c, w, False)) for a, b, c in triples(hfin, hfin, hfin)])
        op(t, 'v_med3_%sf16 v0, v1, v2, v3' % pre, 'v1 v2 v3', 'v0.l', [(a, b, c, sorted((a, b, c), key=F16.value)[1]) for a, b, c in triples([0x3c00, 0xbc00, 0x4248, 0x4900], [0xc900, 0x3800, 0x4400], [0x4000, 0xc000])])
    op('10+', 'v_rcp_iflag_f32 v0, v1', 'v1', 'v0', [(0x40000000, 0x3f000000), (0x3f800000, 0x3f800000)])
    op('9,90a,942', 'v_rcp_iflag_f32 v0, v1', 'v1', 'v0', [(0x40000000, 0x3f000000), (0x3f800000, 0x3f800000)])
    op('all', 'v_fract_f64 v[0:1], v[2:3]', 'v2:2', 'v0:2', [(F64.round(Fraction(x, 4)), F64.round(Fraction(x % 4, 4))) for x in (-14, -5, -1, 1, 5, 14)])
    op('90a,942', 'v_fmac_f64 v[0:1], v[2:3], v[4:5]', 'v2:2 v4:2 v0:2', 'v0:2', [(a, b, c, F64.fma(a, b, c)) for a, b, c in triples(DN, DN, DN)])
    op('10+', 'v_fmac_f16 v0, v1, v2', 'v1 v2 v0', 'v0.l', [(a, b, c, F16.fma(a, b, c)) for a, b, c in triples(HN, HN, HN)])
    op('10+', 'v_fmaak_f16 v0, v1, v2, 0x4000', 'v1 v2', 'v0.l', [(a, b, F16.fma(a, b, 0x4000)) for a, b in pairs(HN, HN, 8)])
    op('10+', 'v_fmamk_f16 v0, v1, 0x4000, v2', 'v1 v2', 'v0.l', [(a, b, F16.fma(a, 0x4000, b)) for a, b in pairs(HN, HN, 8)])
    # the last step of a division: what the quotient (first) is for special operands (denominator, numerator)
    one, two, inf, nan = 0x3f800000, 0x40000000, 0x7f800000, 0x7fc00000
    neg = 0x80000000
    fix = [(0x3f000000, two, one, 0x3f000000), (0x3f000000, neg | two, one, 0xbf000000), (nan, one, nan, nan), (nan, 0, 0, nan), (nan, inf, inf, nan),
           (nan, 0, one, inf), (nan, neg, one, inf | neg), (nan, inf, one, 0), (nan, inf | neg, one, neg), (nan, one, inf, inf), (nan, one, 0, 0), (nan, neg | one, 0, neg)]
    for q, d, n, want in fix:
        if F32.is_nan(want) and not F32.is_nan(d) and not F32.is_nan(n):
            continue            # whose sign the NaN of 0/0 has is not said
        op('all', 'v_div_fixup_f32 v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(q, d, n, want)])
    w = lambda x: {0x3f000000: 0x3fe << 52, one: 0x3ff << 52, two: 1 << 62, inf: 0x7ff << 52, nan: 0x7ff8 << 48, 0: 0}[x & ~neg] | (1 << 63 if x & neg else 0)
    hh = lambda x: {0x3f000000: 0x3800, one: 0x3c00, two: 0x4000, inf: 0x7c00, nan: 0x7e00, 0: 0}[x & ~neg] | (0x8000 if x & neg else 0)
    rows = [r for r in fix if not F32.is_nan(r[3])]
    op('all', 'v_div_fixup_f64 v[0:1], v[2:3], v[4:5], v[6:7]', 'v2:2 v4:2 v6:2', 'v0:2', [tuple(w(x) for x in r) for r in rows])
    op('all', 'v_div_fixup_f16 v0, v1, v2, v3', 'v1 v2 v3', 'v0.l', [tuple(hh(x) for x in r) for r in rows])
    # fma; what the documents say of a set VCC gives no right quotients with what they say of v_div_scale: tests of quotients have that
    op('all', 'v_div_fmas_f32 v0, v1, v2, v3', 'v1 v2 v3 vcc', 'v0', [(two, two, one, 0, 0x40a00000)])
    op('all', 'v_div_fmas_f64 v[0:1], v[2:3], v[4:5], v[6:7]', 'v2:2 v4:2 v6:2 vcc', 'v0:2', [(1 << 62, 1 << 62, 0x3ff << 52, 0, 0x4014 << 48)])
    # operands that need no scaling stay
    op('9,90a,942,10,11', 'v_div_scale_f32 v0, $vcc, v1, v2, v3', 'v1 v2 v3', 'v0 vcc', [(two, two, one, two, 0), (one, two, one, one, 0)])
    op('12', 'v_div_scale_f32 v0, $vcc, v1, v2, v3', 'v1 v2 v3', 'v0 vcc', [(two, two, one, two, 0), (one, two, one, one, 0)])
    op('all', 'v_div_scale_f64 v[0:1], $vcc, v[2:3], v[4:5], v[6:7]', 'v2:2 v4:2 v6:2', 'v0:2 vcc', [(1 << 62, 1 << 62, 0x3ff << 52, 1 << 62, 0)])
    # dot products: exact products of halves
    op('9,90a,942,10,11,12', 'v_dot2_f32_f16 v0, v1, v2, v3', 'v1 v2 v3', 'v0', [(0x40003c00, 0x42004400, one, 0x41300000), (0, 0, one, one)])
    dv, cv = [0x80ff7f01, 0x01020304, 0xfedcba98, M32], [0, 5, 0x7ffffff0, 0x80000000]
    part = lambda x, bits, i: signed(x >> bits * i, bits)
    dot = lambda a, b, c, bits: (sum(part(a, bits, i) * part(b, bits, i) for i in range(32 // bits)) + c) & M32
    for t, n, bits in (('90a,942,10', 'v_dot4c_i32_i8', 8), ('90a,942', 'v_dot8c_i32_i4', 4), ('90a,942', 'v_dot2c_i32_i16', 16)):
        op(t, n + ' v0, v1, v2', 'v1 v2 v0', 'v0', [(a, b, c, dot(a, b, c, bits)) for a, b, c in triples(dv, dv, cv)])
    op('90a,942,10', 'v_dot2c_f32_f16 v0, v1, v2', 'v1 v2 v0', 'v0', [(0x40003c00, 0x42004400, one, 0x41300000)])
    op('11', 'v_dot2acc_f32_f16 v0, v1, v2', 'v1 v2 v0', 'v0', [(0x40003c00, 0x42004400, one, 0x41300000), (0x3c00, 0xc000, 0x40000000, 0)])


def more_atomics():
    one, two = 0x3f800000, 0x40000000
    # smaller and larger of floats; LDS takes f64 too
    op('all', 'ds_add_rtn_f32 v0, v1, v2', 'v1 exec l2 v2', 'l2 v0@0', [(8, 1, one, two, 0x40400000, one)])
    for t, a, b in (('9,90a,942,10,11', 'min', 'max'), ('12', 'min_num', 'max_num')):
        for n, w in ((a, False), (b, True)):
            rows = [(8, 1, o, x, F32.minmax(o, x, w, False), o) for o, x in ((one, two), (two, one), (0xbf800000, one), (0x7f800000, 0xff800000))]
            op(t, 'ds_%s_f32 v1, v2' % n, 'v1 exec l2 v2', 'l2', [r[:5] for r in rows])
            op(t, 'ds_%s_rtn_f32 v0, v1, v2' % n, 'v1 exec l2 v2', 'l2 v0@0', rows)
            rows = [(8, 1, o, x, F64.minmax(o, x, w, False), o) for o, x in ((0x3ff << 52, 1 << 62), (1 << 62, 0x3ff << 52), (0xbff << 52, 0x3ff << 52))]
            op(t, 'ds_%s_f64 v1, v[2:3]' % n, 'v1 exec l2:2 v2:2', 'l2:2', [r[:5] for r in rows])
            op(t, 'ds_%s_rtn_f64 v[4:5], v1, v[2:3]' % n, 'v1 exec l2:2 v2:2', 'l2:2 v4:2@0', rows)
    op('90a,942', 'ds_add_f64 v1, v[2:3]', 'v1 exec l2:2 v2:2', 'l2:2', [(8, 1, 0x3ff << 52, 1 << 62, 0x4008 << 48)])
    op('90a,942', 'ds_add_rtn_f64 v[4:5], v1, v[2:3]', 'v1 exec l2:2 v2:2', 'l2:2 v4:2@0', [(8, 1, 0x3ff << 52, 1 << 62, 0x4008 << 48, 0x3ff << 52)])
    for bits, two_, cols in ((32, 'v2, v3', 'v2 v3'), (64, 'v[2:3], v[4:5]', 'v2:2 v4:2')):
        l, dst, old = ('l2', 'v0', 'v0@0') if bits == 32 else ('l2:2', 'v[6:7]', 'v6:2@0')
        op('all', 'ds_mskor_rtn_b%d %s, v1, %s' % (bits, dst, two_), 'v1 exec %s %s' % (l, cols), '%s %s' % (l, old), [(8, 1, 0x12345678, 0xff00, 0x1200, 0x12341278, 0x12345678)])
        # memory: the new value first, then what is compared
        pair = 'v[2:3]' if bits == 32 else 'v[2:5]'
        g = 'g2' if bits == 32 else 'g2:2'
        sfx = '' if bits == 32 else '_x2'
        rows = [(1, 5, 9, 5, 9), (1, 5, 9, 6, 5)]
        op('9,90a,942,10', 'buffer_atomic_cmpswap%s %s, off, s[24:27], 0 offset:8' % (sfx, pair), 'exec %s %s' % (g, cols), g, rows)
        op('11', 'buffer_atomic_cmpswap_b%d %s, off, s[24:27], 0 offset:8' % (bits, pair), 'exec %s %s' % (g, cols), g, rows)
        op('12', 'buffer_atomic_cmpswap_b%d %s, off, s[24:27], null offset:8' % (bits, pair), 'exec %s %s' % (g, cols), g, rows)
        g0 = g.replace('g2', 'g0')
        op('9,90a,942,10', 'flat_atomic_cmpswap%s v[30:31], %s' % (sfx, pair), 'exec %s %s' % (g0, cols), g0, rows)
        op('11,12', 'flat_atomic_cmpswap_b%d v[30:31], %s' % (bits, pair), 'exec %s %s' % (g0, cols), g0, rows)
    frows = lambda f, w, vals: [(1, o, x, f.minmax(o, x, w, False)) for o, x in vals]
    v32, v64 = ((one, two), (two, one), (0xbf800000, one)), ((0x3ff << 52, 1 << 62), (1 << 62, 0x3ff << 52), (0xbff << 52, 0x3ff << 52))
    for w, g10, g11, g12, g90 in ((False, 'fmin', 'min_f32', 'min_num_f32', 'min_f64'), (True, 'fmax', 'max_f32', 'max_num_f32', 'max_f64')):
        op('10', 'global_atomic_%s v[30:31], v2, off offset:8' % g10, 'exec g2 v2', 'g2', frows(F32, w, v32))
        op('11', 'global_atomic_%s v[30:31], v2, off offset:8' % g11, 'exec g2 v2', 'g2', frows(F32, w, v32))
        op('12', 'global_atomic_%s v[30:31], v2, off offset:8' % g12, 'exec g2 v2', 'g2', frows(F32, w, v32))
        op('11', 'flat_atomic_%s v[30:31], v2' % g11, 'exec g0 v2', 'g0', frows(F32, w, v32))
        op('12', 'flat_atomic_%s v[30:31], v2' % g12, 'exec g0 v2', 'g0', frows(F32, w, v32))
        op('10', 'flat_atomic_%s v[30:31], v2' % g10, 'exec g0 v2', 'g0', frows(F32, w, v32))
        op('10', 'buffer_atomic_%s v2, off, s[24:27], 0 offset:8' % g10, 'exec g2 v2', 'g2', frows(F32, w, v32))
        op('11', 'buffer_atomic_%s v2, off, s[24:27], 0 offset:8' % g11, 'exec g2 v2', 'g2', frows(F32, w, v32))
        op('12', 'buffer_atomic_%s v2, off, s[24:27], null offset:8' % g12, 'exec g2 v2', 'g2', frows(F32, w, v32))
        op('10', 'global_atomic_%s_x2 v[30:31], v[2:3], off offset:8' % g10, 'exec g2:2 v2:2', 'g2:2', frows(F64, w, v64))
        op('10', 'flat_atomic_%s_x2 v[30:31], v[2:3]' % g10, 'exec g0:2 v2:2', 'g0:2', frows(F64, w, v64))
        op('10', 'buffer_atomic_%s_x2 v[2:3], off, s[24:27], 0 offset:8' % g10, 'exec g2:2 v2:2', 'g2:2', frows(F64, w, v64))
        op('90a,942', 'global_atomic_%s v[30:31], v[2:3], off offset:8' % g90, 'exec g2:2 v2:2', 'g2:2', frows(F64, w, v64))
        op('90a,942', 'flat_atomic_%s v[30:31], v[2:3]' % g90, 'exec g0:2 v2:2', 'g0:2', frows(F64, w, v64))
        op('90a,942', 'buffer_atomic_%s v[2:3], off, s[24:27], 0 offset:8' % g90, 'exec g2:2 v2:2', 'g2:2', frows(F64, w, v64))
    add32 = [(1, one, two, 0x40400000), (1, 0, one, one)]
    op('942,11,12', 'flat_atomic_add_f32 v[30:31], v2', 'exec g0 v2', 'g0', add32)
    op('90a,942,11', 'buffer_atomic_add_f32 v2, off, s[24:27], 0 offset:8', 'exec g2 v2', 'g2', add32)
    op('12', 'buffer_atomic_add_f32 v2, off, s[24:27], null offset:8', 'exec g2 v2', 'g2', add32)
    add64 = [(1, 0x3ff << 52, 1 << 62, 0x4008 << 48)]
    op('90a,942', 'flat_atomic_add_f64 v[30:31], v[2:3]', 'exec g0:2 v2:2', 'g0:2', add64)
    op('90a,942', 'buffer_atomic_add_f64 v[2:3], off, s[24:27], 0 offset:8', 'exec g2:2 v2:2', 'g2:2', add64)
    op('90a,942', 'global_atomic_pk_add_f16 v[30:31], v2, off offset:8', 'exec g2 v2', 'g2', [(1, 0x3c004000, 0x40003c00, 0x42004200)])
    op('942', 'flat_atomic_pk_add_f16 v[30:31], v2', 'exec g0 v2', 'g0', [(1, 0x3c004000, 0x40003c00, 0x42004200)])
    op('942', 'global_atomic_pk_add_bf16 v[30:31], v2, off offset:8', 'exec g2 v2', 'g2', [(1, 0x3f804000, 0x40003f80, 0x40404040)])
    op('942', 'flat_atomic_pk_add_bf16 v[30:31], v2', 'exec g0 v2', 'g0', [(1, 0x3f804000, 0x40003f80, 0x40404040)])
    op('942', 'ds_pk_add_f16 v1, v2', 'v1 exec l2 v2', 'l2', [(8, 1, 0x3c004000, 0x40003c00, 0x42004200)])
    op('942', 'ds_pk_add_bf16 v1, v2', 'v1 exec l2 v2', 'l2', [(8, 1, 0x3f804000, 0x40003f80, 0x40404040)])
    op('942', 'ds_pk_add_rtn_f16 v0, v1, v2', 'v1 exec l2 v2', 'l2 v0@0', [(8, 1, 0x3c004000, 0x40003c00, 0x42004200, 0x3c004000)])
    op('942', 'ds_pk_add_rtn_bf16 v0, v1, v2', 'v1 exec l2 v2', 'l2 v0@0', [(8, 1, 0x3f804000, 0x40003f80, 0x40404040, 0x3f804000)])
    op('942', 'buffer_atomic_pk_add_f16 v2, off, s[24:27], 0 offset:8', 'exec g2 v2', 'g2', [(1, 0x3c004000, 0x40003c00, 0x42004200)])
    op('12', 'buffer_atomic_pk_add_bf16 v2, off, s[24:27], null offset:8', 'exec g2 v2', 'g2', [(1, 0x3f804000, 0x40003f80, 0x40404040)])
    op('12', 'buffer_atomic_cond_sub_u32 v2, off, s[24:27], null offset:8', 'exec g2 v2', 'g2', [(1, 9, 5, 4), (1, 4, 5, 4)])
    op('12', 'flat_atomic_cond_sub_u32 v[30:31], v2', 'exec g0 v2', 'g0', [(1, 9, 5, 4), (1, 4, 5, 4)])
    op('12', 'global_atomic_cond_sub_u32 v[30:31], v2, off offset:8', 'exec g2 v2', 'g2', [(1, 9, 5, 4), (1, 5, 5, 0), (1, 4, 5, 4)])


def images():
    """The image has texels 0 to 15, 4 bytes each (test_insn.c); outside, loads give zeros, and samples the nearest."""
    texel = lambda i: [mem(4 * i + k, 1) for k in range(4)]
    f = lambda v: F32.round(Fraction(v))
    for t, dim, two in (('9', '', 'v[1:2]'), ('90a', '', 'v[2:3]'), ('10', ' dim:SQ_RSRC_IMG_2D', 'v[1:2]'), ('11', ' dim:SQ_RSRC_IMG_2D', 'v[1:2]'),
                        ('12', ' dim:SQ_RSRC_IMG_2D', '[v1, v2]')):
        apart = lambda *n: '[%s]' % ', '.join('v%d' % k for k in n) if t == '12' else 'v[%d:%d]' % (n[0], n[-1])
        zeros = [0, 0, 0, 0]
        image, sampled, four = 's[32:39]', 's[32:39], s[40:43]', 'v4 v5 v6 v7'
        load = lambda name, regs, address, rest, ins, outs, rows: op(t, '%s %s, %s, %s' % (name, regs, address, rest.replace('!', dim, 1) if '!' in rest else
                                                                                          rest + dim), ins, outs, rows)
        xy = 'v2 v3' if t == '90a' else 'v1 v2'        # which has pairs of registers from even ones on
        load('image_load', 'v[4:7]', two, image + ' dmask:0xf', xy, four, [[3, 0] + texel(3), [15, 0] + texel(15), [16, 0] + zeros, [3, 1] + zeros,
                                                                              [M32, 0] + zeros])
        load('image_load', 'v[4:5]', two, image + ' dmask:0xa', xy, 'v4 v5', [[3, 0, texel(3)[1], texel(3)[3]]])
        load('image_load', 'v[4:5]', two, image + ' dmask:0xf! d16', xy, 'v4 v5', [[3, 0, texel(3)[0] | texel(3)[1] << 16, texel(3)[2] | texel(3)[3] << 16]])
        if t != '90a':
            load('image_load_mip', 'v[4:7]', apart(1, 2, 3), image + ' dmask:0xf', 'v1 v2 v3', four, [[3, 0, 0] + texel(3), [3, 0, 1] + zeros])
        for name, address, ins, before in (('image_store', two, xy, [3, 0]), ('image_store_mip', apart(1, 2, 3), 'v1 v2 v3', [3, 0, 0])):
            if t != '90a' or name == 'image_store':
                load(name, 'v[4:7]', address, image + ' dmask:0xf', ins + ' ' + four, 'g3 g4',
                     [before + [1, 255, 256, M32, 0xffffff01, mem(16, 4)], before[:1] + [1] + before[2:] + [1, 2, 3, 4, mem(12, 4), mem(16, 4)]])
        places = [(Fraction(13, 4), 3), (Fraction(1023, 256), 3), (-5, 0), (40, 15)]
        samples = [('image_sample', two, xy, lambda x: [x, 0])]
        if t != '90a':
            samples += [('image_sample_lz', two, 'v1 v2', lambda x: [x, 0]), ('image_sample_l', apart(1, 2, 3), 'v1 v2 v3', lambda x: [x, 0, f(2)]),
                        ('image_sample_b', apart(1, 2, 3), 'v1 v2 v3', lambda x: [f(1), x, 0])]
        if t in ('9', '10'):
            samples += [('image_sample_d', 'v[20:25]', 'v24 v25', lambda x: [x, 0])]
        for name, address, ins, before in samples:
            load(name, 'v[4:7]', address, sampled + ' dmask:0xf', ins, four, [before(f(x)) + texel(i) for x, i in places])
        if t in ('10', '11'):
            load('image_sample_lz', 'v[4:7]', '[v9, v2]', sampled + ' dmask:0xf', 'v9 v2', four, [[f(x), 0] + texel(i) for x, i in places])
        if t == '90a':
            continue
        offset = lambda x, y: x & 63 | (y & 63) << 8
        for name, more in (('image_sample_o', []), ('image_sample_lz_o', []), ('image_sample_l_o', [0])):
            regs = [1, 2, 3] + [8 + k for k in range(len(more))] if t == '12' else [1, 2, 3, 4][:3 + len(more)]
            load(name, 'v[12:15]', apart(*regs), sampled + ' dmask:0xf', ' '.join('v%d' % k for k in regs), 'v12 v13 v14 v15',
                 [[offset(dx, dy), f(x), 0] + more + texel(i) for x, dx, dy, i in ((Fraction(13, 4), 2, 0, 5), (Fraction(13, 4), -2, 1, 1), (3, -8, 0, 0))])
        moved = ((Fraction(13, 4), 2, 0, 5), (Fraction(13, 4), -2, 1, 1), (3, -8, 0, 0))
        regs = [1, 2, 3, 8] if t == '12' else [1, 2, 3, 4]
        load('image_sample_b_o', 'v[12:15]', apart(*regs), sampled + ' dmask:0xf', ' '.join('v%d' % k for k in regs), 'v12 v13 v14 v15',
             [[offset(dx, dy), f(1), f(x), 0] + texel(i) for x, dx, dy, i in moved])
        if t in ('9', '10'):
            load('image_sample_d_o', 'v[12:15]', 'v[20:26]', sampled + ' dmask:0xf', 'v20 v25 v26', 'v12 v13 v14 v15',
                 [[offset(dx, dy), f(x), 0] + texel(i) for x, dx, dy, i in moved])
        # texels 2 and 3 lie around 3.25
        for name, regs, before in (('image_gather4', [1, 2], lambda x: [x, 0]), ('image_gather4_lz', [1, 2], lambda x: [x, 0]),
                                   ('image_gather4_l', [1, 2, 3], lambda x: [x, 0, 0]), ('image_gather4_o', [1, 2, 3], lambda x: [offset(1, 0), x, 0]),
                                   ('image_gather4_lz_o', [1, 2, 3], lambda x: [offset(1, 0), x, 0]),
                                   ('image_gather4_l_o', [1, 2, 3, 4], lambda x: [offset(1, 0), x, 0, 0])):
            by = 1 if name.endswith('_o') else 0
            g = lambda c, i: [texel(i + 0)[c], texel(i + 1)[c], texel(i + 1)[c], texel(i + 0)[c]]
            for c in (0, 2) if name != 'image_gather4_l_o' or t in ('9', '10') else ():
                load(name, 'v[12:15]', apart(*regs), sampled + ' dmask:0x%x' % (1 << c), ' '.join('v%d' % k for k in regs), 'v12 v13 v14 v15',
                     [before(f(Fraction(13, 4))) + g(c, 2 + by)])
        load('image_get_resinfo', 'v[4:7]', 'v1', image + ' dmask:0xf', 'v1', four, [[0, 16, 1, 1, 1], [1, 0, 0, 0, 1]])
    for t, zero in (('9,90a,942,10,11', '0'), ('12', 'null')):
        for n, name in ((1, 'x'), (2, 'xy'), (3, 'xyz'), (4, 'xyzw')):
            regs = 'v4' if n == 1 else 'v[4:%d]' % (3 + n)
            cols = ' '.join('v%d' % (4 + k) for k in range(n))
            op(t, 'buffer_load_format_%s %s, v1, s[44:47], %s idxen' % (name, regs, zero), 'v1', cols, [[3] + texel(3)[:n], [15] + texel(15)[:n], [16] + [0] * n])
            data = [1, 255, 256, M32][:n]
            word = sum(min(v, 255) << 8 * k for k, v in enumerate(data))
            op(t, 'buffer_store_format_%s %s, v1, s[44:47], %s idxen' % (name, regs, zero), 'v1 ' + cols, 'g3 g4', [[3] + data + [word, mem(16, 4)]])


def main():
    for name, part in (('integers', integers), ('carries', carries), ('halves', halves), ('floats', floats), ('modifiers', modifiers),
                       ('conversions', conversions), ('comparisons', comparisons), ('crossing', crossing), ('packed', packed), ('scalars', scalars),
                       ('memory', loads_and_stores), ('atomics', atomics), ('control', exec_and_control),
                       ('scalars2', more_scalars), ('vectors2', more_vectors), ('atomics2', more_atomics), ('images', images), ('named', named)):
        lines.clear()
        lines.append('# SPDX-License-Identifier: Apache-2.0')
        lines.append('# Written by tests/gfxemu/author/insn.py; test_insn.c says what it means.')
        part()
        with open(os.path.join(sys.argv[1], name + '.insn'), 'w') as f:
            f.write('\n'.join(lines) + '\n')


main()
