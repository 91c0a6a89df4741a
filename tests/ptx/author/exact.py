# SPDX-License-Identifier: Apache-2.0
"""Floating point by exact fractions: a reference that shares nothing with the emulator or with C. Numbers are bits of a format.
NaN results follow docs/ptx-hardware.md, as the PTX ISA leaves their bits open."""
from fractions import Fraction
from math import isqrt


class Format:
    def __init__(self, name, e, m, finite=False):
        self.name, self.e, self.m, self.finite = name, e, m, finite
        self.bits, self.bias, self.sign = 1 + e + m, (1 << e - 1) - 1, 1 << (e + m)
        self.inf = (1 << e + m) - 1 if finite else ((1 << e) - 1) << m      # finite: the bits of NaN
        self.nan = {'f32': 0x7fffffff, 'f16': 0x7fff, 'bf16': 0x7fff, 'f64': 0xfff8000000000000}.get(name, self.inf)
        self.largest = self.inf - 1

    def is_nan(self, b):
        return (b & ~self.sign) >= self.inf if self.finite else (b & ~self.sign) > self.inf

    def is_inf(self, b):
        return not self.finite and (b & ~self.sign) == self.inf

    def negative(self, b):
        return bool(b & self.sign)

    def subnormal(self, b):
        return 0 < (b & ~self.sign) < 1 << self.m

    def value(self, b):
        """Of finite bits."""
        e, f = b >> self.m & (1 << self.e) - 1, b & (1 << self.m) - 1
        v = Fraction(f | (1 << self.m) if e else f) * Fraction(2) ** ((e or 1) - self.bias - self.m)
        return -v if b & self.sign else v

    def flush(self, b):
        return b & self.sign if self.subnormal(b) else b

    def quiet(self, b):
        return b | 1 << self.m - 1

    def encode(self, v, rnd='rn', negative_zero=False, ftz=False, satfinite=False):
        """Bits of a number; a zero's sign is given, unless a number rounds to it."""
        if v == 0:
            return self.sign if negative_zero else 0
        neg, a = v < 0, abs(v)
        e = a.numerator.bit_length() - a.denominator.bit_length()
        while a >= Fraction(2) ** (e + 1):
            e += 1
        while a < Fraction(2) ** e:
            e -= 1

        def cut(unit):
            q = a / unit
            n = q.numerator // q.denominator
            rest = q - n
            up = {'rz': False, 'rm': neg and rest > 0, 'rp': not neg and rest > 0, 'rna': rest * 2 >= 1,
                  'rn': rest * 2 > 1 or (rest * 2 == 1 and n & 1)}[rnd]
            return n + up
        low = 1 - self.bias
        if ftz and cut(Fraction(2) ** (e - self.m)) * Fraction(2) ** (e - self.m) < Fraction(2) ** low:
            return self.sign if neg else 0
        n = cut(Fraction(2) ** (max(e, low) - self.m))
        bits = n + ((max(e, low) - low) << self.m)           # a carry runs into the exponent; subnormals have n < 2^m and exponent 0
        over = bits > self.largest if self.finite else bits >= self.inf
        if over:
            down = rnd == 'rz' or (rnd == 'rm' and not neg) or (rnd == 'rp' and neg)
            bits = self.largest if satfinite or down else self.inf
        return bits | (self.sign if neg else 0)


F16, BF16, F32, F64 = Format('f16', 5, 10), Format('bf16', 8, 7), Format('f32', 8, 23), Format('f64', 11, 52)
E4M3, E5M2, E2M3, E3M2 = Format('e4m3', 4, 3, True), Format('e5m2', 5, 2), Format('e2m3', 2, 3), Format('e3m2', 3, 2)
FORMATS = {f.name: f for f in (F16, BF16, F32, F64, E4M3, E5M2)}


def pick_nan(f, order):
    """The NaN of a result: canonical, or in f64 the first operand that is one."""
    if f is F64:
        for b in order:
            if f.is_nan(b):
                return f.quiet(b)
    return f.nan


def saturate(f, b, nan=0):
    """To [0, 1]; NaN and -0 become +0."""
    if f.is_nan(b):
        return nan
    one = f.bias << f.m
    return 0 if f.negative(b) else min(b, one)


def finish(f, b, sat, relu=False):
    if sat:
        return saturate(f, b)
    if relu and f.negative(b) and not f.is_nan(b):
        return 0
    return b


def fma(f, a, b, c, rnd='rn', ftz=False, sat=False, relu=False, order=None):
    """a * b + c, rounded once."""
    if ftz:
        a, b, c = f.flush(a), f.flush(b), f.flush(c)
    if any(f.is_nan(x) for x in (a, b, c)):
        return finish(f, pick_nan(f, order or (b, c, a)), sat)
    ps = (a ^ b) & f.sign
    pinf = f.is_inf(a) or f.is_inf(b)
    if pinf:
        zero = not (a & ~f.sign) or not (b & ~f.sign)
        if zero or (f.is_inf(c) and (c & f.sign) != ps):
            return finish(f, f.nan, sat)
        return finish(f, f.inf | ps, sat, relu)
    if f.is_inf(c):
        return finish(f, c, sat, relu)
    p, v = f.value(a) * f.value(b), f.value(c)
    if p == 0 and v == 0:
        cs = c & f.sign
        neg = bool(ps) if ps == cs else rnd == 'rm'
    else:
        neg = rnd == 'rm'               # x - x
    return finish(f, f.encode(p + v, rnd, neg, ftz), sat, relu)


def add(f, a, b, rnd='rn', ftz=False, sat=False, order=None):
    one = f.bias << f.m
    return fma(f, a, one, b, rnd, ftz, sat, order=order or (b, a))


def mul(f, a, b, rnd='rn', ftz=False, sat=False):
    if ftz:
        a, b = f.flush(a), f.flush(b)
    if f.is_nan(a) or f.is_nan(b):
        return finish(f, pick_nan(f, (b, a)), sat)
    s = (a ^ b) & f.sign
    if f.is_inf(a) or f.is_inf(b):
        zero = not (a & ~f.sign) or not (b & ~f.sign)
        return finish(f, f.nan if zero else f.inf | s, sat)
    return finish(f, f.encode(f.value(a) * f.value(b), rnd, bool(s), ftz), sat)


def div(f, a, b, rnd='rn', ftz=False):
    if ftz:
        a, b = f.flush(a), f.flush(b)
    if f.is_nan(a) or f.is_nan(b):
        return pick_nan(f, (a, b))
    s = (a ^ b) & f.sign
    za, zb = not (a & ~f.sign), not (b & ~f.sign)
    if (za and zb) or (f.is_inf(a) and f.is_inf(b)):
        return f.nan
    if f.is_inf(a) or zb:
        return f.inf | s
    if f.is_inf(b) or za:
        return s
    return f.encode(f.value(a) / f.value(b), rnd, bool(s), ftz)


def sqrt(f, a, rnd='rn', ftz=False):
    if ftz:
        a = f.flush(a)
    if f.is_nan(a):
        return pick_nan(f, (a,))
    if not (a & ~f.sign):
        return a
    if f.negative(a):
        return f.nan
    if f.is_inf(a):
        return a
    v = f.value(a)
    # Enough digits, and a last one that says whether there is a rest: no root of a number of the format lies between.
    shift = 2 * f.bits
    n = v * 4 ** shift * 4 ** f.bias
    q = n.numerator // n.denominator
    r = isqrt(q)
    exact = r * r == q and n.denominator == 1
    root = Fraction(2 * r + (not exact), 2) / 2 ** shift / 2 ** f.bias
    return f.encode(root, rnd, False, ftz)


def order_key(f, b):
    """-0 below +0."""
    return -(b & ~f.sign) - 1 if b & f.sign else b


def minmax(f, values, largest, ftz=False, nan=False, xorsign=False, absolute=False):
    if ftz:
        values = [f.flush(x) for x in values]
    sign = 0
    if xorsign:
        for x in values:
            sign ^= x & f.sign
    if xorsign or absolute:
        values = [x & ~f.sign for x in values]
    nans = [x for x in values if f.is_nan(x)]
    if nans and (nan or len(nans) == len(values)):
        return None if f is F64 else f.nan
    rest = [x for x in values if not f.is_nan(x)]
    return (max if largest else min)(rest, key=lambda x: order_key(f, x)) | sign


def compare(f, op, a, b, ftz=False):
    if ftz:
        a, b = f.flush(a), f.flush(b)
    un = f.is_nan(a) or f.is_nan(b)
    if op in ('num', 'nan'):
        return un == (op == 'nan')
    if un:
        return op[-1] == 'u' and len(op) == 3
    inf = Fraction(2) ** 5000
    x, y = ((inf if not f.negative(v) else -inf) if f.is_inf(v) else f.value(v) for v in (a, b))
    return {'eq': x == y, 'ne': x != y, 'lt': x < y, 'le': x <= y, 'gt': x > y, 'ge': x >= y}[op[:2]]


def to_int(f, b, rnd, signed, bits, ftz=False):
    """cvt.rni and the like: clamped; NaN gives zero (8, 16 and 32 bits) or the integer with the top bit (64)."""
    if ftz:
        b = f.flush(b)
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    if f.is_nan(b):
        return None
    if f.is_inf(b):
        return low if f.negative(b) else high
    return max(low, min(high, round_integer(f.value(b), rnd)))


def round_integer(v, rnd):
    n = v.numerator // v.denominator
    rest = v - n
    if rnd == 'rmi' or rest == 0:
        return n
    if rnd == 'rpi':
        return n + 1
    if rnd == 'rzi':
        return n + (v < 0)
    return n + (rest * 2 > 1 or (rest * 2 == 1 and n & 1))
