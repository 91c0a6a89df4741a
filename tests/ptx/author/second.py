#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A second reference for tests whose values were recorded: second.py [--write] FILES|FOLDERS. Reads a test file as text, runs its
kernels that compute in registers by plain integers and exact fractions (exact.py), and compares with what the file
expects. --write labels the lists that agree as derived, with what they were recorded on. A difference is printed, and stays as it is.
Where the PTX ISA leaves an element open (division by zero, NaN in conversions), only the others are compared."""
import os, re, sys
import exact
from exact import FORMATS
from forms import M, bits as type_bits, values, lane, Old

INT = re.compile(r'[bus](8|16|32|64)$')
TYPES = re.compile(r'^([bus](8|16|32|64|128)|[us][24]|f16|bf16|f32|f64|f16x2|bf16x2|f32x2|[us]16x2|pred|e4m3x2|e5m2x2|tf32|b1)$')
RND = ('rn', 'rz', 'rm', 'rp', 'rna', 'rni', 'rzi', 'rmi', 'rpi')


class Unknown(Exception):
    """An instruction, or a way to write a test, that this does not know."""


def sx(v, n):
    v &= M[n]
    return v - (1 << n) if v >> (n - 1) else v


def val(t, v):
    n = type_bits(t)
    return sx(v, n) if t[0] == 's' else v & M[n]


def clamp(v, t):
    n = type_bits(t)
    return max(-(1 << n - 1), min((1 << n - 1) - 1, v)) if t[0] == 's' else max(0, min(M[n], v))


def rounding(mods):
    return next((m for m in mods if m in RND), 'rn')


def lanes_of(f, *args, each=16, count=2):
    r = 0
    for k in range(count):
        x = f(*[a >> k * each & M[each] for a in args])
        if x is None:
            return None
        r |= x << k * each
    return r


# ---- operations: each gives a function of the operands' bits ----

def floats(op, t, mods):
    name, n = lane(t)
    f = FORMATS[name]
    rnd, ftz, sat = rounding(mods), 'ftz' in mods, 'sat' in mods
    if 'oob' in mods:           # a NaN may be the one that stands for a place beyond a tensor: what it is, the PTX ISA leaves open
        g = floats(op, t, [m for m in mods if m != 'oob'])
        return lambda *a: None if any(f.is_nan(x >> k & M[f.bits]) for x in a for k in range(0, f.bits * n, f.bits)) else g(*a)
    if op == 'add':
        g = lambda a, b: exact.add(f, a, b, rnd, ftz, sat)
    elif op == 'sub':
        g = lambda a, b: exact.add(f, a, b if f.is_nan(b) else b ^ f.sign, rnd, ftz, sat)
    elif op == 'mul':
        g = lambda a, b: exact.mul(f, a, b, rnd, ftz, sat)
    elif op in ('fma', 'mad'):
        g = lambda a, b, c: exact.fma(f, a, b, c, rnd, ftz, sat, 'relu' in mods)
    elif op == 'div':
        g = lambda a, b: exact.div(f, a, b, rnd, ftz)
    elif op == 'rcp':
        g = lambda a: exact.div(f, f.bias << f.m, a, rnd, ftz)
    elif op == 'sqrt':
        g = lambda a: exact.sqrt(f, a, rnd, ftz)
    elif op in ('abs', 'neg'):
        def g(a):
            if f.is_nan(a):
                return None if name == 'f64' else f.nan
            a = f.flush(a) if ftz else a
            return a & ~f.sign if op == 'abs' else a ^ f.sign
    elif op in ('min', 'max'):
        g = lambda *v: exact.minmax(f, list(v), op == 'max', ftz, 'NaN' in mods, 'xorsign' in mods, 'abs' in mods)
    else:
        raise Unknown(op)
    return g if n == 1 else lambda *a: lanes_of(g, *a, each=f.bits, count=n)


def integers(op, t, mods):
    n = type_bits(t)
    v = lambda x: val(t, x)
    if 'x2' in t:
        g = integers(op, t[0] + '16', [m for m in mods if m != 'relu'])
        if 'relu' in mods:
            g = (lambda h: lambda a, b: max(0, sx(h(a, b), 16)))(g)
        return lambda *a: lanes_of(g, *a)
    two = {'add': lambda a, b: v(a) + v(b), 'sub': lambda a, b: v(a) - v(b), 'min': lambda a, b: min(v(a), v(b)), 'max': lambda a, b: max(v(a), v(b))}
    if op in two:
        g = two[op]
        if 'sat' in mods:
            g = (lambda h: lambda a, b: clamp(h(a, b), t))(g)
        if 'relu' in mods:
            g = (lambda h: lambda a, b: max(0, h(a, b)))(g)
    elif op in ('mul', 'mad'):
        shift = n if 'hi' in mods else 0
        w = 2 * n if 'wide' in mods else n

        def g(a, b, c=0):
            r = (v(a) * v(b) >> shift) + (sx(c, w) if t[0] == 's' else c & M[w])
            return (clamp(r, t) if 'sat' in mods else r) & M[w]
        return g
    elif op in ('mul24', 'mad24'):
        part = (lambda x: sx(x << 8, 32) >> 8) if t[0] == 's' else lambda x: x & 0xffffff

        def g(a, b, c=0):
            p = part(a) * part(b)
            p = p >> 16 if 'hi' in mods else p
            p = (sx(p, 32) if t[0] == 's' else p & M[32]) + v(c)
            return clamp(p, t) if 'sat' in mods else p
    elif op == 'sad':
        g = lambda a, b, c: v(c) + abs(v(a) - v(b))
    elif op in ('div', 'rem'):
        def g(a, b):
            x, y = v(a), v(b)
            if y == 0:
                return None
            q = abs(x) // abs(y) * (-1 if (x < 0) != (y < 0) else 1)
            if q > (M[n] >> 1) and t[0] == 's':
                return None
            return q if op == 'div' else x - q * y
    elif op == 'abs':
        g = lambda a: abs(v(a))
    elif op == 'neg':
        g = lambda a: -v(a)
    else:
        raise Unknown(op)

    def masked(*a):
        r = g(*a)
        return None if r is None else r & M[n]
    return masked


def bitwise(op, t, mods):
    n = type_bits(t)
    m = M[n]
    if op in ('and', 'or', 'xor'):
        return {'and': lambda a, b: a & b & m, 'or': lambda a, b: (a | b) & m, 'xor': lambda a, b: (a ^ b) & m}[op]
    if op == 'not':
        return lambda a: ~a & m
    if op == 'cnot':
        return lambda a: int(a & m == 0)
    if op == 'popc':
        return lambda a: bin(a & m).count('1')
    if op == 'clz':
        return lambda a: n - (a & m).bit_length()
    if op == 'brev':
        return lambda a: int(format(a & m, '0%db' % n)[::-1], 2)
    if op == 'bfind':
        def g(a):
            a &= m
            if t[0] == 's' and a >> (n - 1):
                a ^= m
            k = a.bit_length() - 1
            return M[32] if k < 0 else n - 1 - k if 'shiftamt' in mods else k
        return g
    if op == 'shl':
        return lambda a, b: (a << b) & m if b < n else 0
    if op == 'shr':
        return lambda a, b: val(t, a) >> min(b & M[32], n - 1 if t[0] == 's' else n) & m
    if op == 'bfe':
        def g(a, b, c):
            pos, length = (b & 0xff, c & 0xff) if n == 32 else (b & M[32], c & M[32])
            sign = 0 if t[0] == 'u' or length == 0 else a >> min(pos + length - 1, n - 1) & 1
            r = 0
            for i in range(n):
                r |= (a >> pos + i & 1 if i < length and pos + i < n else sign) << i
            return r
        return g
    if op == 'bfi':
        def g(a, b, c, d):
            pos, length = (c & 0xff, d & 0xff) if n == 32 else (c & M[32], d & M[32])
            for i in range(min(length, n)):
                if pos + i < n:
                    b = b & ~(1 << pos + i) | (a >> i & 1) << pos + i
            return b & m
        return g
    if op == 'szext':
        def g(a, b):
            k = b & 31 if 'wrap' in mods else min(b, 32)
            if k == 0:
                return 0
            return (sx(a, 32) if k == 32 else (a & (1 << k) - 1) - ((1 << k) if a >> (k - 1) & 1 else 0)) & m if t[0] == 's' else a & (1 << k) - 1
        return g
    if op == 'bmsk':
        def g(a, b):
            pos, k = (a & 31, b & 31) if 'wrap' in mods else (min(a, 32), min(b, 32))
            return ((1 << k) - 1) << pos & m
        return g
    if op == 'prmt':
        mode = next((x for x in mods if x in ('f4e', 'b4e', 'rc8', 'ecl', 'ecr', 'rc16')), None)

        def g(a, b, c):
            pool = [(a | b << 32) >> 8 * i & 0xff for i in range(8)]
            k = c & 3
            if mode is None:
                sel = [c >> 4 * i & 15 for i in range(4)]
            else:
                sel = {'f4e': [k, k + 1, k + 2, k + 3], 'b4e': [k, (k - 1) % 8, (k - 2) % 8, (k - 3) % 8], 'rc8': [k] * 4,
                       'ecl': [max(i, k) for i in range(4)], 'ecr': [min(i, k) for i in range(4)], 'rc16': [2 * (c & 1), 2 * (c & 1) + 1] * 2}[mode]
            r = 0
            for i, s in enumerate(sel):
                x = pool[s & 7]
                if mode is None and s & 8:
                    x = 0xff if x & 0x80 else 0
                r |= x << 8 * i
            return r
        return g
    if op == 'shf':
        def g(a, b, c):
            k = c & 31 if 'wrap' in mods else min(c & M[32], 32)
            x = b << 32 | a
            return (x << k >> 32 if 'l' in mods else x >> k) & M[32]
        return g
    if op == 'fns':
        def g(mask, base, offset):
            offset = sx(offset, 32)
            if base > 31:
                return None
            if offset == 0:
                return base if mask >> base & 1 else M[32]
            at, count = base, abs(offset)
            step = 1 if offset > 0 else -1
            while 0 <= at < 32:
                if mask >> at & 1:
                    count -= 1
                    if count == 0:
                        return at
                at += step
            return M[32]
        return g
    raise Unknown(op)


def dots(op, types, mods):
    ta, tb = types
    k = 8

    def g(a, b, c):
        x = lambda t, v, n: sx(v, n) if t[0] == 's' else v & M[n]
        if op == 'dp4a':
            s = sum(x(ta, a >> 8 * i, 8) * x(tb, b >> 8 * i, 8) for i in range(4))
        else:
            off = 16 if 'hi' in mods else 0
            s = sum(x(ta, a >> 16 * i, 16) * x(tb, b >> off + 8 * i, 8) for i in range(2))
        return (s + c) & M[32]
    return g


def relation(op, t, ftz):
    n = type_bits(t)
    if t in FORMATS:
        f = FORMATS[t]
        return lambda a, b: exact.compare(f, op, a, b, ftz)
    op = {'lo': 'lt', 'ls': 'le', 'hi': 'gt', 'hs': 'ge'}.get(op, op)
    x = lambda v: val(t, v)
    return {'eq': lambda a, b: x(a) == x(b), 'ne': lambda a, b: x(a) != x(b), 'lt': lambda a, b: x(a) < x(b), 'le': lambda a, b: x(a) <= x(b),
            'gt': lambda a, b: x(a) > x(b), 'ge': lambda a, b: x(a) >= x(b)}[op]


RELATIONS = ('eq', 'ne', 'lt', 'le', 'gt', 'ge', 'lo', 'ls', 'hi', 'hs', 'equ', 'neu', 'ltu', 'leu', 'gtu', 'geu', 'num', 'nan')
BOOL = {'and': lambda p, q: p and q, 'or': lambda p, q: p or q, 'xor': lambda p, q: p != q}


def convert(d, s, mods):
    rnd, ftz, sat, relu = rounding(mods), 'ftz' in mods, 'sat' in mods, 'relu' in mods
    if 'satfinite' in mods or 'scaled' in ''.join(mods):
        raise Unknown('satfinite')
    fd, fs = FORMATS.get(d), FORMATS.get(s)
    if INT.match(d) and INT.match(s):
        def g(a):
            v = val(s, a)
            return val(d, clamp(v, d) if sat else v) & M[64]        # a register that is wider gets the sign
        return g
    if fd and INT.match(s):
        def g(a):
            b = fd.encode(exact.Fraction(val(s, a)), rnd)
            return exact.saturate(fd, b) if sat else b
        return g
    if fs and INT.match(d):
        n = type_bits(d)

        def g(a):
            v = exact.to_int(fs, a, rnd, d[0] == 's', n, ftz)
            return None if v is None else v & M[64]
        return g
    if fd and fs and fd.bits >= 16 and fs.bits >= 16:
        def g(a):
            if ftz and fs.name == 'f32' and fd.name not in ('f16', 'bf16'):
                a = fs.flush(a)
            if fs.is_nan(a):
                return 0 if sat else None
            if fs.is_inf(a):
                b = fd.inf | (fd.sign if fs.negative(a) else 0)
            else:
                v = fs.value(a)
                if rnd[-1] == 'i' and len(rnd) == 3:
                    r = exact.Fraction(exact.round_integer(v, rnd))
                    b = fd.encode(r, 'rn', fs.negative(a))
                else:
                    b = fd.encode(v, rnd, fs.negative(a), ftz and fd.name == 'f32')
            return exact.finish(fd, b, sat, relu)
        return g
    raise Unknown('cvt')


def video(op, types, mods):
    """Video instructions on whole registers: the parts of a and b are widened, the result is cut or saturated to d's parts; .add
    and the like bring in c (9.7.19)."""
    base, parts = (op[:-1], int(op[-1])) if op[-1] in '24' else (op, 1)
    d, ta, tb = (types[0], types[1], types[2]) if len(types) > 2 else (types[0], types[1], types[1])
    if base == 'vset':
        d, ta, tb = 'u32', types[0], types[1]
    n = 32 // parts
    signed, sat = d[0] == 's', 'sat' in mods
    second = next((x for x in mods if x in ('add', 'min', 'max')), None)
    rel = next((x for x in mods if x in RELATIONS), None)
    get = lambda t, x, i: sx(x >> n * i, n) if t[0] == 's' else x >> n * i & M[n]
    ops = {'vadd': lambda a, b: a + b, 'vsub': lambda a, b: a - b, 'vabsdiff': lambda a, b: abs(a - b), 'vmin': min, 'vmax': max,
           'vavrg': lambda a, b: (a + b + (a + b >= 0)) >> 1,
           'vset': lambda a, b: int({'eq': a == b, 'ne': a != b, 'lt': a < b, 'le': a <= b, 'gt': a > b, 'ge': a >= b}[rel])}
    if base in ('vshl', 'vshr'):
        count = (lambda b: b & 31) if 'wrap' in mods else lambda b: min(b, 32)
        ops[base] = (lambda a, b: a << count(b)) if base == 'vshl' else lambda a, b: a >> count(b)
    if base == 'vmad':
        shift = next((int(x[3:]) for x in mods if x.startswith('shr')), 0)
        # As recorded (docs/ptx-tests.md): a factor that is a whole register is signed whatever its type, and so is C; by the manual they
        # are as their types say. The bounds of .sat are signed where a factor's type is.
        wide = ta[0] == 's' or tb[0] == 's'

        def mad(a, b, c):
            v = sx(a, 32) * sx(b, 32) + sx(c, 32) + ('po' in mods) >> shift
            if sat:
                v = max(-(1 << 31), min((1 << 31) - 1, v)) if wide else max(0, min(M[32], v))
            return v & M[32]
        return mad
    if base not in ops:
        raise Unknown(op)
    f = ops[base]

    def g(a, b, c=0):
        r = []
        for i in range(parts):
            v = f(get(ta, a, i), get(tb, b, i))
            if sat:
                v = max(-(1 << n - 1), min((1 << n - 1) - 1, v)) if signed else max(0, min(M[n], v))
            r.append(v)
        if parts > 1:
            if second:
                return (sum(r) + c) & M[32]
            return sum((v & M[n]) << n * i for i, v in enumerate(r))
        v = sx(r[0], 32) if signed else r[0] & M[32]
        if second:
            x = sx(c, 32) if signed else c
            v = {'add': v + x, 'min': min(v, x), 'max': max(v, x)}[second]
        return v & M[32]
    return g


TF32 = exact.Format('f32', 8, 10)


def narrow(d, s, mods):
    """Conversions to and from pairs, tf32 and e4m3, e5m2: a is the upper half. NaN is left open."""
    rnd, relu, satfinite = rounding(mods), 'relu' in mods, 'satfinite' in mods
    small = FORMATS.get(lane(d)[0]) if d != 'tf32' else TF32
    source = FORMATS.get(lane(s)[0])
    if not small or not source:
        raise Unknown('cvt')

    def one(a):
        if source.is_nan(a):
            return None
        if source.is_inf(a):
            b = (small.largest if satfinite or small.finite else small.inf) | (small.sign if source.negative(a) else 0)
        else:
            b = small.encode(source.value(a), rnd, source.negative(a), satfinite=satfinite)
        return 0 if relu and small.negative(b) else b
    if d == 'tf32':
        def g(a):
            r = one(a)
            return None if r is None else r << 13
        return g
    if lane(s)[1] == 2:
        return lambda a: lanes_of_two(one, a, source.bits, small.bits)

    def pair(a, b):
        hi, lo = one(a), one(b)
        return None if hi is None or lo is None else hi << small.bits | lo
    return pair


def lanes_of_two(f, a, wide, narrow_bits):
    lo, hi = f(a & M[wide]), f(a >> wide & M[wide])
    return None if lo is None or hi is None else hi << narrow_bits | lo


def pack(types):
    """cvt.pack: a and b saturated, b in the lowest part; c's bits move up behind them."""
    d, s = types[0], types[1]
    n = type_bits(d)

    def g(a, b, c=0):
        low, high = (-(1 << n - 1), (1 << n - 1) - 1) if d[0] == 's' else (0, (1 << n) - 1)
        part = lambda x: max(low, min(high, val(s, x))) & (1 << n) - 1
        r = part(a) << n | part(b)
        return (r | c << 2 * n if n < 16 else r) & M[32]
    return g


CC = ('add', 'addc', 'sub', 'subc', 'mad', 'madc')


def carry(op, t, mods, env, args):
    n = type_bits(t)
    m = M[n]
    a, b = args[0] & m, args[1] & m
    c = args[2] & m if len(args) > 2 else 0
    inn = env['cc'] if op[-1] == 'c' and op in ('addc', 'subc', 'madc') else None
    if op[:3] == 'add':
        r = a + b + (inn or 0)
    elif op[:3] == 'sub':       # the adder's carry: set where nothing is borrowed
        r = a + (~b & m) + (1 if inn is None else inn)
    else:
        p = val(t, a) * val(t, b)
        r = (p >> n if 'hi' in mods else p) % (1 << n) + c + (inn or 0)
    if 'cc' in mods:
        env['cc'] = r >> n & 1
    return r & m


def plain(op, mods, types):
    """A function of register operands."""
    if not types:
        raise Unknown(op)
    t = types[0] if types else None
    if op in ('and', 'or', 'xor', 'not') and t == 'pred':
        return {'and': lambda a, b: a & b, 'or': lambda a, b: a | b, 'xor': lambda a, b: a ^ b, 'not': lambda a: 1 - a}[op]
    if op in ('mov',) and len(types) == 1:
        return lambda a: a
    if op in ('add', 'sub', 'mul', 'mad', 'div', 'rem', 'abs', 'neg', 'min', 'max', 'sad', 'mul24', 'mad24', 'fma', 'rcp', 'sqrt'):
        if 'approx' in mods or 'full' in mods:
            raise Unknown('approx')
        if lane(t)[0] in FORMATS:
            return floats(op, t, mods)
        return integers(op, t, mods)
    if op in ('dp4a', 'dp2a'):
        return dots(op, types, mods)
    if op == 'lop3' and 'and' not in mods and 'or' not in mods:
        return lambda a, b, c, k: sum((k >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1) << i for i in range(32))
    if op == 'selp':
        return lambda a, b, p: a if p else b
    if op == 'slct':
        f = FORMATS.get(types[1])
        if f:
            ftz = 'ftz' in mods
            return lambda a, b, c: b if f.is_nan(c) else a if not f.negative(c) or not ((f.flush(c) if ftz else c) & ~f.sign) else b
        return lambda a, b, c: a if sx(c, 32) >= 0 else b
    if op == 'testp':
        f = FORMATS[t]
        e = lambda a: a & ~f.sign
        return {'finite': lambda a: int(e(a) < f.inf), 'infinite': lambda a: int(f.is_inf(a)), 'number': lambda a: int(not f.is_nan(a)), 'notanumber': lambda a: int(f.is_nan(a)),
                'normal': lambda a: int(e(a) < f.inf and not f.subnormal(a)), 'subnormal': lambda a: int(f.subnormal(a))}[mods[0]]
    if op == 'copysign':
        f = FORMATS[t]
        return lambda a, b: (a & f.sign) | (b & ~f.sign)
    if op[0] == 'v':
        return video(op, types, mods)
    if op == 'cvt' and 'pack' in mods:
        return pack(types)
    if op == 'cvt' and len(types) == 2 and (types[0] == 'tf32' or any(lane(t)[1] == 2 for t in types)):
        return narrow(types[0], types[1], mods)
    if op == 'cvt' and len(types) == 2:
        return convert(types[0], types[1], mods)
    return bitwise(op, t, mods)


def literal(s, t):
    if re.match(r'0[fF][0-9a-fA-F]{8}$', s) or re.match(r'0[dD][0-9a-fA-F]{16}$', s):
        return int(s[2:], 16)
    if re.match(r'-?(0x[0-9a-fA-F]+|\d+)U?$', s):
        return int(s.rstrip('U'), 0)
    raise Unknown('operand ' + s)


def atomic(op, t, mods, old, args, shared):
    """What an atomic operation (9.7.13.15) leaves in memory."""
    n = type_bits(t)
    a = args[0] & M[n]
    name, parts = lane(t)
    if op == 'exch':
        return a
    if op == 'cas':
        return args[1] & M[n] if old == a else old
    if op == 'inc':
        return 0 if old >= a else old + 1
    if op == 'dec':
        return a if old == 0 or old > a else old - 1
    if name in FORMATS:
        # f32 in global memory flushes subnormals, in shared memory it does not; halves never do
        r = floats(op, t, ['ftz'] if t == 'f32' and not shared else [])(old, a)
        return None if t == 'f64' and FORMATS[t].is_nan(r) else r       # which NaN is open
    r = {'and': lambda: old & a, 'or': lambda: old | a, 'xor': lambda: old ^ a, 'add': lambda: old + a,
         'min': lambda: min(val(t, old), val(t, a)), 'max': lambda: max(val(t, old), val(t, a))}[op]()
    return r & M[n]


def own_memory(s):
    """A load, store or atomic operation on the thread's own bytes, %cell or %place."""
    m = re.match(r'(ld|st|atom|red)\.(\S+) (?:(\{[^}]*\}|%\w+), )?\[(%cell|%place)(?:\+(\d+))?\](?:, (.*))?$', s)
    if not m:
        raise Unknown('no straight code')
    kind, mods, dst, base, offset, rest = m.groups()
    mods, offset, shared = mods.split('.'), int(offset or 0), base == '%place'
    t = next(x for x in mods if TYPES.match(x))
    n = type_bits(t)
    regs = lambda o: [x.strip() for x in o.strip('{}').split(',')]
    # vectors are lists in braces; cas has two operands without
    groups = re.findall(r'\{[^}]*\}|[^,\s]+', rest or '')
    at = lambda k: slice(offset + k * n // 8, offset + (k + 1) * n // 8)

    def run(env):
        memory = env.setdefault(base, [None] * 32)     # bytes; None: open

        def read(k):
            b = memory[at(k)]
            return None if None in b else int.from_bytes(bytes(b), 'little')

        def write(k, v):
            memory[at(k)] = [None] * (n // 8) if v is None else list((v & M[n]).to_bytes(n // 8, 'little'))
        if kind == 'st':
            for k, r in enumerate(regs(groups[0])):
                write(k, env[r])
            return
        if kind == 'ld':
            for k, r in enumerate(regs(dst)):
                env[r] = read(k)
            return
        op = next(x for x in mods if x in ('and', 'or', 'xor', 'add', 'min', 'max', 'inc', 'dec', 'exch', 'cas'))
        for k in range(len(regs(groups[0]))):
            old, args = read(k), [env[regs(g)[k]] for g in groups]
            write(k, None if old is None or None in args else atomic(op, t, mods, old, args, shared))
            if dst:
                env[regs(dst)[k]] = old
    return run


class Kernel:
    def __init__(self, lines):
        text = re.sub(r'//[^\n]*', '', '\n'.join(lines))
        head, body = text.split('{', 1)
        self.params = [p.split()[-1] for p in head[head.index('(') + 1:head.rindex(')')].split(',')]
        self.code, self.stores, self.labels, self.index = [], {}, {}, None
        address = index = None
        for s in body.rsplit('}', 1)[0].split(';'):
            s = s.strip().lstrip('{} \n')       # scopes of carry chains
            while (m := re.match(r'(\w+):(?!:)\s*', s)):
                self.labels[m.group(1)] = len(self.code)
                s = s[m.end():].lstrip('{} \n')
            if not s or s.startswith('.reg') or s.startswith('.shared'):
                continue
            if s == 'mov.u32 %place, smem' or s == 'mad.lo.u32 %%place, %s, 32, %%place' % index:
                continue            # a thread's own 32 bytes, as %cell is in global memory
            if s == 'ret':
                self.code.append(('end',))
                continue
            m = re.match(r'(?:@(!?)(%\w+)\s+)?bra(?:\.uni)? (\w+)$', s)
            if m:
                self.code.append(('bra', m.group(2), bool(m.group(1)), m.group(3)))
                continue
            m = re.match(r'ld\.param\.[bu]64 (%\w+), \[(\w+)\]$', s)
            if m:
                address = (m.group(1), m.group(2), None)
                continue
            m = re.match(r'mov\.u32 (%\w+), %(tid|ntid|ctaid)\.x$', s)
            if m:
                index = self.index = m.group(1)     # of the thread in the grid, perhaps after a mad
                continue
            if index and re.match(r'mad\.lo\.u32 %s, %s, ' % (index, index), s):
                continue
            m = re.match(r'mad\.wide\.u32 (%\w+), (%\w+), (\d+), (%\w+)$', s)
            if m and address and m.group(1) == m.group(4) == address[0] and m.group(2) == index:
                address = (address[0], address[1], int(m.group(3)))
                continue
            m = re.match(r'ld\.global\.[busf](\d+) (%\w+), \[(%\w+)\]$', s)
            if m and address and address[2] and m.group(3) == address[0]:
                self.code.append(('load', m.group(2), address[1]))
                continue
            m = re.match(r'st\.global\.[busf]+(\d+) \[(%\w+)\], (%\w+)$', s)
            if m and address and address[2] and m.group(2) == address[0]:
                self.stores[address[1]] = m.group(3)
                self.code.append(('store', m.group(3), address[1]))
                continue
            if '[' in s:
                self.code.append(('do', own_memory(s)))
                continue
            self.code.append(('do', self.statement(s)))

    def statement(self, s):
        m = re.match(r'(?:@(!?)(%\w+)\s+)?([a-z0-9]+)([^\s]*)\s+(.*)$', s, re.S)
        if not m:
            raise Unknown(s)
        negate, guard, op, mods, operands = m.groups()
        mods = [x for x in mods.split('.') if x]
        ops, depth, now = [], 0, ''
        for ch in operands:
            depth += (ch == '{') - (ch == '}')
            if ch == ',' and not depth:
                ops.append(now.strip())
                now = ''
            else:
                now += ch
        ops.append(now.strip())
        types = [x for x in mods if TYPES.match(x)]
        mods = [x for x in mods if not TYPES.match(x)]
        dst = ops[0].split('|')
        if any('{' in o or '.' in o for o in ops):
            raise Unknown(s)
        src = ops[1:]
        rel = None
        if op in ('setp', 'set'):
            packed = 'x2' in types[-1]
            rel = relation(next(x for x in mods if x in RELATIONS), lane(types[-1])[0], 'ftz' in mods)
            joined = next((BOOL[x] for x in mods if x in BOOL), None)
        fn = None if rel or op == 'lop3' and ('and' in mods or 'or' in mods) else None if (op in CC and ('cc' in mods or op in ('addc', 'subc', 'madc'))) else plain(op, mods, types)
        t0 = types[0] if types else 'b32'

        def get(env, o):
            neg = o.startswith('!')
            o = o.lstrip('!')
            v = env[o] if o[0] == '%' else literal(o, t0)
            return v if not neg else None if v is None else 1 - v

        def run(env):
            if guard and (env[guard] if not negate else 1 - env[guard]) == 0:
                return
            a = [get(env, o) for o in src]
            if any(x is None for x in a):
                r, second = None, None
            elif rel and packed:
                p = [bool(rel(a[0] >> k & M[16], a[1] >> k & M[16])) for k in (0, 16)]
                p = [joined(x, bool(a[2])) for x in p] if joined else p
                f = FORMATS.get(lane(t0)[0])
                each = f.bias << f.m if f else M[16]
                r = int(p[0]) if op == 'setp' else each * p[0] | each * p[1] << 16
                second = int(p[1])
            elif rel and op == 'setp':
                p = bool(rel(a[0], a[1]))
                r, second = (joined(p, bool(a[2])), joined(not p, bool(a[2]))) if joined else (p, not p)
                r, second = int(r), int(second)
            elif rel:
                p = bool(rel(a[0], a[1]))
                p = joined(p, bool(a[2])) if joined else p
                f = FORMATS.get(t0)
                r = 0 if not p else f.bias << f.m if f else M[type_bits(t0)]
            elif op == 'lop3' and fn is None:
                r = sum((a[3] >> ((a[0] >> i & 1) << 2 | (a[1] >> i & 1) << 1 | (a[2] >> i & 1)) & 1) << i for i in range(32))
                second = int((r != 0) and a[4] if 'and' in mods else (r != 0) or a[4])
            elif fn is None:
                r = carry(op, t0, mods, env, a)
            else:
                if op not in ('selp', 'slct', 'mov') and types and not (op in ('cvt', 'set')):
                    pass
                r = fn(*a)
            env[dst[0]] = r
            if len(dst) > 1:
                env[dst[1]] = second
        return run

    def thread(self, number, inputs):
        env, out, at = {'cc': 0, self.index: number}, {}, 0
        while at < len(self.code):
            step = self.code[at]
            at += 1
            if step[0] == 'bra':
                if step[1] is None or (env[step[1]] != 0) != step[2]:
                    at = self.labels[step[3]]
            elif step[0] == 'end':
                break
            elif step[0] == 'load':
                env[step[1]] = inputs[step[2]]
            elif step[0] == 'store':
                out[step[2]] = env[step[1]]
            else:
                step[1](env)
        return out


def list_values(text, t, count, sections, section):
    """The bits of a list as a test file writes it; None where anything goes."""
    n = type_bits(t)
    words, out, i = text.split(), [], 0
    while i < len(words):
        repeat = 1
        if i + 2 < len(words) + 0 and i + 1 < len(words) and words[i + 1] == 'x' and words[i].isdigit():
            repeat = int(words[i])
            i += 2
        w = words[i]
        i += 1
        if w == '@file':
            if section not in sections:
                raise Unknown('section')
            out += [int(x, 16) for line in sections[section] for x in line.split()]
        elif w[0] == '@':
            m = re.match(r'@(\w+)(?:\((.*)\))?$', w)
            name, args = m.group(1), [int(x) for x in m.group(2).split(',')] if m.group(2) else []
            if name == 'range':
                out += [x & M[n] for x in range(args[0], args[1] + (1 if args[-1] > 0 or len(args) < 3 else -1), args[2] if len(args) > 2 else 1)]
            else:
                out += values(t, name, repeat if repeat > 1 else (count - len(out) if name in ('random', 'near1') else 0), args[0] if args else 0)
        elif w == '?':
            out += [None] * repeat
        elif w.startswith('0x') and '.' not in w and 'p' not in w:
            out += [int(w, 16)] * repeat
        elif w.lstrip('-').isdigit() and lane(t)[0] not in FORMATS:
            out += [int(w) & M[n]] * repeat
        else:
            raise Unknown('value ' + w)
    return out


def blocks(path):
    """Tests of a file: (name, [(line number, directive, whole text)])."""
    out = [[None, []]]
    for number, line in enumerate(open(path).read().split('\n')):
        if line.startswith('//! test '):
            out.append([line[9:], []])
        elif line.startswith('//!  '):
            if out[-1][1]:
                out[-1][1][-1][1] += ' ' + line[4:].split('#')[0].strip()
        elif line.startswith('//! '):
            out[-1][1].append([number, line[4:].split('#')[0].strip()])
    return out


def check(path, write, totals):
    old = Old(path)
    kernels, bad = {}, set()
    lines = open(path).read().split('\n')
    changed = False
    for test, directives in blocks(path):
        buffers, order, launch, expects = {}, [], None, []
        try:
            for number, d in directives:
                w = d.split(None, 2)
                if w[0] == 'buffer':
                    m = re.match(r'buffer (\w+) (\w+)(?:\[(\w+)\])?(?: = (.*))?$', d)
                    name, t, count, rest = m.groups()
                    count = 0 if not count else int(count) if count.isdigit() else len(buffers[count][1])
                    v = list_values(rest, t, count, {}, None) if rest else [0] * count
                    buffers[name] = (t, v)
                elif w[0] == 'cross':
                    names = d.split()[1:]
                    rows = [[]]
                    for x in names:
                        rows = [r + [v] for r in rows for v in buffers[x][1]]
                    for k, x in enumerate(names):
                        buffers[x] = (buffers[x][0], [r[k] for r in rows])
                elif w[0] == 'launch':
                    launch = d.split()
                elif w[0] == 'expect':
                    expects.append((number, d))
                elif w[0] not in ('todo', 'skip', 'require'):
                    raise Unknown(w[0])
            if not launch:
                continue
            name = launch[1].split('(')[0]
            if name not in old.kernels:
                raise Unknown('kernel')
            if name not in kernels:
                kernels[name] = Kernel(old.kernels[name])
            k = kernels[name]
            args = launch[1][len(name) + 1:-1].split(',') if '(' in launch[1] else list(buffers)
            place = dict(zip(k.params, args))
            count = max(len(v) for t, v in buffers.values())
            got = {o: [] for o in k.stores}
            for i in range(count):
                r = k.thread(i, {p: buffers[a][1][i] if i < len(buffers[a][1]) else 0 for p, a in place.items()})
                for o in got:
                    got[o].append(r[o])
        except (Unknown, KeyError, ValueError, IndexError, StopIteration, AttributeError, TypeError) as e:
            totals.setdefault('unknown', {}).setdefault(str(e)[:60], []).append('%s %s' % (path, test))
            totals['lists left'] = totals.get('lists left', 0) + sum(' same ' not in d for _, d in expects)
            continue
        back = {a: p for p, a in place.items()}
        for number, d in expects:
            m = re.match(r'expect (\w+) (derived|recorded)(?: "([^"]*)")?(.*?)(?: = (.*))?$', d)
            if not m or not m.group(5) or m.group(1) not in back or back[m.group(1)] not in got:
                continue
            buf, origin, label, options, text = m.groups()
            t = buffers[buf][0]
            try:
                want = list_values(text, t, 0, old.sections, '%s.%s' % (test, buf))
            except Unknown as e:
                totals.setdefault('unknown', {}).setdefault(str(e)[:60], []).append('%s %s' % (path, test))
                continue
            mine, n = got[back[buf]], M[type_bits(t)]
            compared = [(i, a & n, b) for i, (a, b) in enumerate(zip(mine, want)) if a is not None and b is not None]
            wrong = [x for x in compared if x[1] != x[2]]
            totals['values'] = totals.get('values', 0) + len(compared)
            totals['open'] = totals.get('open', 0) + len(want) - len(compared)
            if wrong:
                i, a, b = wrong[0]
                totals['differ'] = totals.get('differ', 0) + 1
                print('%s: %s: %s (%s): %d of %d differ; [%d] here %#x, the file %#x, from %s' % (path, test, buf, origin, len(wrong), len(compared), i, a, b,
                      ', '.join('%#x' % buffers[x][1][i] for x in args if x != buf and x in buffers and back[x] not in got)))
                continue
            if not compared:
                continue
            totals[origin + ' agree'] = totals.get(origin + ' agree', 0) + 1
            if write and origin == 'recorded' and label:
                part = 'second.py' if len(compared) == len(want) else 'second.py where the PTX ISA says'
                lines[number] = lines[number].replace('recorded "%s"' % label, 'derived "%s; recorded on %s"' % (part, label), 1)
                changed = True
    if changed:
        open(path, 'w').write('\n'.join(lines))


def main():
    totals, write = {}, '--write' in sys.argv
    for root in [a for a in sys.argv[1:] if a != '--write']:
        found = [root] if root.endswith('.ptx') else sorted(os.path.join(d, f) for d, _, fs in os.walk(root) for f in fs if f.endswith('.ptx'))
        for p in found:
            check(p, write, totals)
    for why, where in sorted(totals.pop('unknown', {}).items(), key=lambda x: -len(x[1])):
        print('not done: %s: %d tests, such as %s' % (why, len(where), where[0]))
    print(', '.join('%s %d' % x for x in totals.items()))


if __name__ == '__main__':
    main()
