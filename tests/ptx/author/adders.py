# SPDX-License-Identifier: Apache-2.0
"""One element of a matrix product as Hopper's adders make it, by exact fractions: written from the text of docs/matrix.md, to check recorded
values. Numbers are bits of a format; results are f32, f16 or f64 bits."""
from fractions import Fraction
import exact
from exact import FORMATS, F16, F32, F64

TF32 = exact.Format('tf32', 8, 10)
FRACTION = 25                                   # bits kept below the largest exponent
NAN = {'f32': 0x7fffffff, 'f16': 0x7fff}
LEAST = {'f32': -126, 'f16': -14}


def number(t, bits):
    """(format, bits) in which an element counts: tf32 ignores its lower 13 bits."""
    return (TF32, bits >> 13) if t == 'tf32' else (FORMATS[t], bits)


def exponent(f, bits):
    """A denormal counts with the smallest normal exponent."""
    return max((bits >> f.m & (1 << f.e) - 1), 1) - f.bias


def floor_to(v, unit):
    q = abs(v) / unit
    n = q.numerator // q.denominator
    return n * unit if v >= 0 else -n * unit


def pack(t, v):
    """f32: cut towards zero, too large is infinite; f16: to nearest even. Zero is +0."""
    f = FORMATS[t]
    if t == 'f16':
        return f.encode(v)
    if abs(v) >= Fraction(2) ** 128:
        return f.inf | (f.sign if v < 0 else 0)
    return f.encode(v, 'rz') if abs(v) >= Fraction(2) ** -149 else 0


def block(pairs, run, t, out):
    """The running sum (bits of t) and the products of one block; bits of out."""
    f = FORMATS[t]
    signs, nan = set(), f.is_nan(run)
    if f.is_inf(run):
        signs.add(f.negative(run))
    for (fa, a), (fb, b) in pairs:
        za, zb = not a & ~fa.sign, not b & ~fb.sign
        nan |= fa.is_nan(a) or fb.is_nan(b) or (fa.is_inf(a) and zb) or (fb.is_inf(b) and za)
        if fa.is_inf(a) or fb.is_inf(b):
            signs.add(fa.negative(a) != fb.negative(b))
    if nan or len(signs) == 2:
        return NAN[out]
    o = FORMATS[out]
    if signs:
        return o.inf | (o.sign if signs.pop() else 0)
    v = f.value(run)
    terms = [(v, exponent(f, run) if v else LEAST[t] - 7)]
    terms += [(fa.value(a) * fb.value(b), exponent(fa, a) + exponent(fb, b)) for (fa, a), (fb, b) in pairs]
    top = max(e for i, (x, e) in enumerate(terms) if x or i == 0)
    return pack(out, sum(floor_to(x, Fraction(2) ** (top - FRACTION)) for x, _ in terms))


def widen(c):
    """f16 to f32"""
    if F16.is_nan(c):
        return NAN['f32']
    sign = (c & F16.sign) << 16
    return sign | F32.inf if F16.is_inf(c) else sign | F32.encode(abs(F16.value(c)))


def shorten(c):
    """f32 to f16, to nearest even"""
    if F32.is_nan(c):
        return NAN['f16']
    sign = (c & F32.sign) >> 16
    return sign | F16.inf if F32.is_inf(c) else sign | F16.encode(abs(F32.value(c)))


def eights(d, ta, tb, xs, ys, c):
    """e4m3 and e5m2: as f16, in two products from zero, the elements 0 and 1 of each four first; C is added at the end."""
    run = 0
    for first in (0, 2):
        part = [i for i in range(len(xs)) if i % 4 in (first, first + 1)]
        for k in range(0, len(part), 16):
            pairs = [(half(ta, xs[i]), half(tb, ys[i])) for i in part[k:k + 16]]
            run = block(pairs, run, d if first or k else 'f32', d)
    return exact.add(FORMATS[d], run, c)


def half(t, bits):
    f = FORMATS[t]
    if f.is_nan(bits):
        return F16, F16.nan
    if f.is_inf(bits):
        return F16, F16.inf | (F16.sign if f.negative(bits) else 0)
    return F16, F16.encode(abs(f.value(bits))) | (F16.sign if f.negative(bits) else 0)


def quad(d, tc, xs, ys, c):
    """m8n8k4 of f16: scalar code in f32."""
    a, b = [widen(x) for x in xs], [widen(y) for y in ys]
    c = widen(c) if tc == 'f16' else c
    one = lambda *v: exact.fma(F32, *v)
    if d == 'f32':
        t = 0
        for k in range(4):
            t = one(a[k], b[k], t)
        return exact.add(F32, c, t)
    pair = lambda i: one(a[i + 1], b[i + 1], exact.mul(F32, a[i], b[i]))
    return shorten(exact.add(F32, exact.add(F32, c, pair(0)), pair(2)))


def chain(xs, ys, c, rnd):
    """f64: fma over ascending k from C. NaN: B's before C's before A's."""
    for a, b in zip(xs, ys):
        c = exact.fma(F64, a, b, c, rnd or 'rn', order=(b, c, a))
    return c


def element(types, xs, ys, c, is_quad=False, rnd=None, wmma=False):
    d, ta, tb, tc = types
    if ta == 'f64':
        return chain(xs, ys, c, rnd)
    if is_quad:
        return quad(d, tc, xs, ys, c)
    if ta in ('e4m3', 'e5m2'):
        return eights(d, ta, tb, xs, ys, c)
    inner, run = ('f32', c) if wmma and d != tc else (d, c)
    t = tc
    if wmma and tc == 'f16' and d == 'f32':
        run, t = widen(c), 'f32'
    size = (4 if wmma else 8) if ta == 'tf32' else 16
    for k in range(0, len(xs), size):
        out = inner if k + size >= len(xs) else 'f32'
        run = block([(number(ta, x), number(tb, y)) for x, y in zip(xs[k:k + size], ys[k:k + size])], run, t, out)
        t = out
    return shorten(run) if inner != d else run
