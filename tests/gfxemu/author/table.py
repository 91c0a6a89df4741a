# SPDX-License-Identifier: Apache-2.0
# For the tables of insn.py: numbers and their formats, edge values, and how an instruction with its cases is written down.
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


def relation(f, a, b):
    if f.is_nan(a) or f.is_nan(b):
        return '?'
    key = lambda x: (-1 if x & f.sign else 1) * Fraction(10) ** 400 if f.is_inf(x) else f.value(x)
    return '<' if key(a) < key(b) else '>' if key(a) > key(b) else '='


def mem(at, n):
    """n bytes of memory at an offset, as it is before."""
    return sum(((0x7d + at + k) & 255) << 8 * k for k in range(n))
