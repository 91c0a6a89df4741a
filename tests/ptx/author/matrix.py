#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/ptx/isa/matrix: matrix instructions, 9.7.14 of the PTX ISA.

    matrix.py OUTPUT-FOLDER [RESULTS-FOLDER]

A kernel makes its fragments from a hash of lane and register, under masks that are parameters, so that a test is one line.
Expected values are derived here, from the fragment layouts as the PTX ISA's figures give them for each shape and from plain
exact matrix products: integers of any bits, and floats whose sums are exact in every format. Where the bits depend on the
hardware's adders (wide masks), values are recorded; RESULTS-FOLDER holds what a GPU gave (FILE.TEST, hexadecimal words).
None of this uses the code under test."""
import os
import re
import sys
from fractions import Fraction
from adders import element

OUT = sys.argv[1]
RESULTS = sys.argv[2] if len(sys.argv) > 2 else None
LABEL = "NVIDIA H200, 580.159.04, 2026-11-21"
M32 = 0xffffffff


def mix(lane, reg, seed):
    h = (lane * 0x9E3779B1 + reg * 0x85EBCA6B + seed) & M32
    h ^= h >> 15
    h = h * 0x2C1B3C6D & M32
    h ^= h >> 12
    h = h * 0x297A2D39 & M32
    return h ^ h >> 15


MIX = """    mad.lo.u32 {d}, %lane, 0x9E3779B1, %seed; add.u32 {d}, {d}, {k};
    shr.u32 %t, {d}, 15; xor.b32 {d}, {d}, %t; mul.lo.u32 {d}, {d}, 0x2C1B3C6D;
    shr.u32 %t, {d}, 12; xor.b32 {d}, {d}, %t; mul.lo.u32 {d}, {d}, 0x297A2D39; shr.u32 %t, {d}, 15; xor.b32 {d}, {d}, %t;
"""


def ptx_mix(d, reg):
    return MIX.format(d=d, k=reg * 0x85EBCA6B & M32)


BITS = dict(f16=16, bf16=16, tf32=32, e4m3=8, e5m2=8, f64=64, s8=8, u8=8, s4=4, u4=4, b1=1, f32=32, s32=32)
FMT = dict(f16=(5, 10), bf16=(8, 7), tf32=(8, 23), e4m3=(4, 3), e5m2=(5, 2), f64=(11, 52), f32=(8, 23))


def number(t, bits):
    """The number that finite bits stand for."""
    if t in FMT:
        e, m = FMT[t]
        sign, exp, man = bits >> (e + m) & 1, bits >> m & (1 << e) - 1, bits & (1 << m) - 1
        bias = (1 << e - 1) - 1
        v = Fraction(man | (1 << m) if exp else man) * Fraction(2) ** ((exp or 1) - bias - m)
        return -v if sign else v
    n = BITS[t]
    bits &= (1 << n) - 1
    return bits - (1 << n) if t[0] == 's' and bits >> n - 1 else bits


def encode(t, v):
    """The bits of a number that the type holds exactly; zero is positive."""
    if t == 's32':
        return v & M32
    if v == 0:
        return 0
    e, m = FMT[t]
    bias, sign, v = (1 << e - 1) - 1, v < 0, abs(v)
    exp = 0
    while v >= 2:
        v, exp = v / 2, exp + 1
    while v < 1:
        v, exp = v * 2, exp - 1
    man = v * (1 << m)
    assert man.denominator == 1 and 0 < exp + bias < (1 << e) - 1
    return sign << (e + m) | (exp + bias) << m | int(man) & (1 << m) - 1


# ---- fragments of mma, as the figures of 9.7.14.5 give them: element i of a lane -> (row, column) ----

def frag_a(shape, t, lane, i):
    g, q = lane >> 2, lane % 4
    if t == 'f64':
        return {'m8n8k4': (g, q), 'm16n8k4': (g + 8 * i, q), 'm16n8k8': (g + 8 * (i % 2), q + 4 * (i // 2)),
                'm16n8k16': (g + 8 * (i % 2), q + 4 * (i // 2))}[shape]
    if t == 'tf32':
        return (g if i == 0 else g + 8, q) if shape == 'm16n8k4' else (g if i in (0, 2) else g + 8, q if i < 2 else q + 4)
    if t in ('f16', 'bf16'):
        if shape == 'm16n8k8':
            return (g if i < 2 else g + 8, q * 2 + (i & 1))
        return (g if i < 2 or 4 <= i < 6 else g + 8, q * 2 + (i & 1) + (0 if i < 4 else 8))
    if BITS[t] == 8:
        if shape == 'm8n8k16':
            return (g, q * 4 + i)
        if shape == 'm16n8k16':
            return (g if i < 4 else g + 8, q * 4 + (i & 3))
        return (g if i < 4 or 8 <= i < 12 else g + 8, q * 4 + (i & 3) + (0 if i < 8 else 16))
    if BITS[t] == 4:
        if shape == 'm8n8k32':
            return (g, q * 8 + i)
        if shape == 'm16n8k32':
            return (g if i < 8 else g + 8, q * 8 + (i & 7))
        return (g if i < 8 or 16 <= i < 24 else g + 8, q * 8 + (i & 7) + (0 if i < 16 else 32))
    if shape == 'm8n8k128':
        return (g, q * 32 + i)
    if shape == 'm16n8k128':
        return (g if i < 32 else g + 8, q * 32 + (i & 31))
    return (g if i < 32 or 64 <= i < 96 else g + 8, q * 32 + (i & 31) + (0 if i < 64 else 128))


def frag_b(shape, t, lane, i):
    g, q = lane >> 2, lane % 4
    if t == 'f64':
        return (q + 4 * i, g)
    if t == 'tf32':
        return (q + 4 * i, g)
    if t in ('f16', 'bf16'):
        return (q * 2 + (i & 1) + (0 if i < 2 else 8), g)
    if BITS[t] == 8:
        return (q * 4 + (i & 3) + (0 if i < 4 else 16), g)
    if BITS[t] == 4:
        return (q * 8 + (i & 7) + (0 if i < 8 else 32), g)
    return (q * 32 + (i & 31) + (0 if i < 32 else 128), g)


def frag_c(lane, i):
    g, q = lane >> 2, lane % 4
    return (g if i < 2 else g + 8, q * 2 + (i & 1))


# m8n8k4 of f16: four products, one for each group of lanes with the same lane / 4 % 4 (figures of 9.7.14.5.1)
def quad_a(lane, i, col):
    hi = 0 if lane < 16 else 4
    return (i + hi, lane % 4) if col else (lane % 4 + hi, i)


def quad_b(lane, i, col):
    hi = 0 if lane < 16 else 4
    return (i, lane % 4 + hi) if col else (lane % 4, i + hi)


def quad_c(t, lane, i):
    hi = 0 if lane < 16 else 4
    if t == 'f16':
        return (lane % 4 + hi, i)
    return ((lane & 1) + (i & 2) + hi, (i & 4) + (lane & 2) + (i & 1))


def elements(words, t):
    """Elements of a lane's registers; f64 takes two words each."""
    n = BITS[t]
    if n == 64:
        return [words[2 * i] | words[2 * i + 1] << 32 for i in range(len(words) // 2)]
    return [w >> s & (1 << n) - 1 for w in words for s in range(0, 32, n)]


class Form:
    parameter = load = operands = ''

    def __init__(self, name, op, shape, d, a, b, c, min_sm, quad=None, sat=False, bit=None, rnd=None):
        self.name, self.op, self.shape, self.t, self.sm, self.quad, self.sat, self.bit, self.rnd = name, op, shape, (d, a, b, c), min_sm, quad, sat, bit, rnd
        self.m, rest = shape[1:].split('n')
        self.n, self.k = rest.split('k')
        self.m, self.n, self.k = int(self.m), int(self.n), int(self.k)
        sets = 4 if quad else 1
        mul = lambda x, y, t: x * y * sets * BITS[t] // 1024
        self.w = (mul(self.m, self.n, d), mul(self.m, self.k, a), mul(self.k, self.n, b), mul(self.m, self.n, c))

    def ptx(self):
        rt = lambda t: 'f64' if t == 'f64' else 'f32' if t == 'f32' else 'b32'
        cnt = [w // 2 if t == 'f64' else w for w, t in zip(self.w, self.t)]
        s = f""".visible .entry {self.name}(.param .u64 d, .param .u32 seed, .param .u32 ma, .param .u32 oa, .param .u32 mb, .param .u32 ob,
    .param .u32 mc, .param .u32 oc, .param .u32 low{self.parameter})
{{
    .reg .pred %other; .reg .b32 %lane, %seed, %t, %x, %y, %low, %m<3>, %o<3>, %thread, %warp; .reg .b64 %d, %off;
"""
        for i, n in enumerate(cnt):
            s += f"    .reg .{rt(self.t[i])} %{'zabc'[i]}<{n}>;\n"
        s += """    ld.param.u64 %d, [d]; ld.param.u32 %seed, [seed]; ld.param.u32 %low, [low];
    ld.param.u32 %m0, [ma]; ld.param.u32 %o0, [oa]; ld.param.u32 %m1, [mb]; ld.param.u32 %o1, [ob]; ld.param.u32 %m2, [mc]; ld.param.u32 %o2, [oc];
    mov.u32 %thread, %tid.x; and.b32 %lane, %thread, 31; shr.u32 %warp, %thread, 5; and.b32 %warp, %warp, 1;
    setp.ne.u32 %other, %warp, 0;
    @%other bra DONE;
""" + self.load
        for i, (name, base) in enumerate((('a', 0), ('b', 16), ('c', 32))):
            t = self.t[1 + i]
            for r in range(cnt[1 + i]):
                if t == 'f64':
                    s += ptx_mix('%x', base + 2 * r) + "    and.b32 %x, %x, %low;\n" + ptx_mix('%y', base + 2 * r + 1)
                    s += f"    and.b32 %y, %y, %m{i}; or.b32 %y, %y, %o{i}; mov.b64 %{name}{r}, {{%x, %y}};\n"
                else:
                    s += ptx_mix('%x', base + r) + f"    and.b32 %x, %x, %m{i}; or.b32 %x, %x, %o{i}; mov.b32 %{name}{r}, %x;\n"
        ops = ", ".join("{" + ", ".join(f"%{x}{r}" for r in range(n)) + "}" for x, n in zip('zabc', cnt))
        s += f"    {self.op} {ops}{self.operands};\n    shr.u32 %t, %thread, 6; mad.lo.u32 %t, %t, 32, %lane;\n"
        s += f"    mul.wide.u32 %off, %t, {self.w[0] * 4}; add.u64 %d, %d, %off;\n"
        for r in range(cnt[0]):
            s += f"    st.global.{rt(self.t[0])} [%d+{r * (8 if self.t[0] == 'f64' else 4)}], %z{r};\n"
        return s + "DONE:\n    ret;\n}\n"

    def inputs(self, p):
        """Words of A, B and C of each lane, as the kernel makes them."""
        out = []
        for i, base in enumerate((0, 16, 32)):
            t, m, o = self.t[1 + i], p['m'][i], p['o'][i]
            lanes = []
            for lane in range(32):
                words = []
                for r in range(self.w[1 + i]):
                    h = mix(lane, base + r, p['seed'])
                    words.append(h & p['low'] if t == 'f64' and r % 2 == 0 else h & m | o)
                lanes.append(words)
            out.append(lanes)
        return out

    def derive(self, p, adders=False):
        d, ta, tb, tc = self.t
        value = (lambda t, x: x) if adders else number
        wa, wb, wc = self.inputs(p)
        a, b, c = {}, {}, {}
        for lane in range(32):
            s = lane >> 2 & 3 if self.quad else 0
            for i, x in enumerate(elements(wa[lane], ta)):
                a[(s,) + (quad_a(lane, i, self.quad[0]) if self.quad else frag_a(self.shape, ta, lane, i))] = value(ta, x)
            for i, x in enumerate(elements(wb[lane], tb)):
                b[(s,) + (quad_b(lane, i, self.quad[1]) if self.quad else frag_b(self.shape, tb, lane, i))] = value(tb, x)
            for i, x in enumerate(elements(wc[lane], tc)):
                c[(s,) + (quad_c(tc, lane, i) if self.quad else frag_c(lane, i))] = value(tc, x)
        sets = 4 if self.quad else 1
        assert len(a) == sets * self.m * self.k and len(b) == sets * self.k * self.n and len(c) == sets * self.m * self.n, self.name
        out = []
        for lane in range(32):
            s = lane >> 2 & 3 if self.quad else 0
            n, words = self.w[0] * 32 // BITS[d], [0] * self.w[0]
            for i in range(n):
                row, col = quad_c(d, lane, i) if self.quad else frag_c(lane, i)
                v, at = c[s, row, col], i * BITS[d]
                if adders:
                    bits = element(self.t, [a[s, row, k] for k in range(self.k)], [b[s, k, col] for k in range(self.k)], v, bool(self.quad), self.rnd)
                else:
                    for k in range(self.k):
                        x, y = a[s, row, k], b[s, k, col]
                        v += (x ^ y) if self.bit == 'xor' else (x & y) if self.bit == 'and' else x * y
                    if self.sat:
                        v = max(-2 ** 31, min(2 ** 31 - 1, v))
                    bits = encode(d, v)
                    if v == 0 and self.rnd == 'rm':
                        bits = 1 << 63          # IEEE 754: x - x rounded down
                for w in range(0, BITS[d], 32):
                    words[(at + w) // 32] |= (bits >> w & M32) << (0 if BITS[d] >= 32 else at % 32)
            out += words
        return out


class Sparse(Form):
    """mma.sp (9.7.14.6): half of a row of A is stored, as the fragment of a dense matrix of half the columns. Two bits each say which of four
    neighbours an element is; of tf32 four bits which of two; of 4-bit integers which two pairs of eight. Of 16-bit floats and tf32 a
    lane's word of metadata has 16 bits for row lane / 4, in its low half, and 16 for the row 8 below: of the lane that the selector says,
    or of two lanes. Of smaller elements the first of two lanes is for row lane / 4, the other for the row 8 below: of the two that the
    selector says, or of all four."""
    def __init__(self, op, shape, d, a, b, c, sm, selector, sat=False, ordered=True):
        name = f"sp_{shape}_{d}_{a}" + (f"_{b}" if b != a else '') + (f"_{c}" if c != d else '') + ('_sat' if sat else '') + f"_{selector}" + ('' if ordered else '_any')
        full = f"{op}.sync.aligned.{shape}.row.col" + ('.satfinite' if sat else '') + f".{d}.{a}.{b}.{c}"
        super().__init__(name, full, shape, d, a, b, c, sm, sat=sat)
        self.selector, self.ordered = selector, ordered
        self.w = (self.w[0], self.w[1] // 2, self.w[2], self.w[3])
        self.dense = f"m16n8k{self.k // 2}"
        self.chunk = 2 if a == 'tf32' else 8 if BITS[a] == 4 else 4           # columns that four bits are for
        self.parameter = ", .param .u64 meta"
        self.load = "    .reg .b32 %e; ld.param.u64 %off, [meta]; mad.wide.u32 %off, %lane, 4, %off; ld.global.b32 %e, [%off];\n"
        self.operands = f", %e, {selector}"

    def twin(self):
        """The same by the other mnemonic, with one test."""
        op = 'mma.sp' if 'ordered' in self.op else 'mma.sp::ordered_metadata'
        t = Sparse(op, self.shape, *self.t, self.sm, self.selector, self.sat)
        t.name, t.few = self.name + '_twin', True
        return t

    def metadata(self):
        if self.chunk == 2:
            choice = (0b0100, 0b1110)
        elif self.ordered:
            choice = (0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110)
        else:
            choice = tuple(x | y << 2 for x in range(4) for y in range(4) if x != y)
        return [sum(choice[mix(lane, 64 + k, self.k) % len(choice)] << 4 * k for k in range(8)) for lane in range(32)]

    def column(self, meta, row, k):
        """Of stored element k of a row the column in A."""
        n = self.k // self.chunk                # fours of bits of a row
        stored = self.chunk // 2                # elements that they are for
        c, i = divmod(k, stored)
        if BITS[self.t[1]] > 8:
            lane, at = self.selector if n == 4 else 2 * self.selector + c // 4, 4 * (row // 8) + c % 4
        else:
            lane, at = 2 * self.selector + row // 8 + 2 * (c // 8), c % 8
        bits = meta[row % 8 * 4 + lane] >> 4 * at & 15
        if self.chunk == 2:
            return 2 * c + (bits == 0b1110)
        if self.chunk == 8:
            return 8 * c + 2 * (bits >> 2 * (i // 2) & 3) + i % 2
        return 4 * c + (bits >> 2 * i & 3)

    def frag_b(self, t, lane, i):
        per = 32 // BITS[t]
        return lane % 4 * per + i % per + 4 * per * (i // per), lane >> 2

    def derive(self, p, adders=False):
        d, ta, tb, tc = self.t
        value = (lambda t, x: x) if adders else number
        wa, wb, wc = self.inputs(p)
        a, b, c, meta = {}, {}, {}, self.metadata()
        for lane in range(32):
            for i, x in enumerate(elements(wa[lane], ta)):
                a[frag_a(self.dense, ta, lane, i)] = value(ta, x)
            for i, x in enumerate(elements(wb[lane], tb)):
                b[self.frag_b(tb, lane, i)] = value(tb, x)
            for i, x in enumerate(elements(wc[lane], tc)):
                c[frag_c(lane, i)] = value(tc, x)
        assert len(a) == 8 * self.k and len(b) == 8 * self.k and len(c) == 128, self.name
        out = []
        for lane in range(32):
            words = [0] * self.w[0]
            for i in range(4):
                row, col = frag_c(lane, i)
                xs, ys = [a[row, k] for k in range(self.k // 2)], [b[self.column(meta, row, k), col] for k in range(self.k // 2)]
                if adders:
                    bits = element(self.t, xs, ys, c[row, col])
                else:
                    v = c[row, col] + sum(x * y for x, y in zip(xs, ys))
                    bits = encode(d, max(-2 ** 31, min(2 ** 31 - 1, v)) if self.sat else v)
                words[i * BITS[d] // 32] |= bits << i * BITS[d] % 32
            out += words
        return out


ONES = {  # masks and constants that leave +-0.5, 0.75, 1 and 1.5 (2 bits of e4m3 and e5m2 likewise)
    'f16': (0x86008600, 0x38003800), 'bf16': (0x80c080c0, 0x3f003f00), 'tf32': (0x80c00000, 0x3f000000), 'f32': (0x80c00000, 0x3f000000),
    'e4m3': (0x8c8c8c8c, 0x30303030), 'e5m2': (0x86868686, 0x38383838), 'f64': (0x80180000, 0x3fe00000),
}
MID = {  # random mantissas, exponents over a range of about 2^4 .. 2^8
    'f16': (0x9fff9fff, 0x20002000), 'bf16': (0x83ff83ff, 0x3c003c00), 'tf32': (0x83ffffff, 0x3c000000), 'f32': (0x87ffffff, 0x38000000),
    'e4m3': (0x9f9f9f9f, 0x20202020), 'e5m2': (0x8f8f8f8f, 0x30303030), 'f64': (0x80ffffff, 0x3f000000),
}
ANY = (M32, 0)


def cases(f):
    """(name, parameters, derived?)"""
    d, a, b, c = f.t
    def p(seed, x, y, z, low=0):
        return dict(seed=seed, m=(x[0], y[0], z[0]), o=(x[1], y[1], z[1]), low=low)
    if a in FMT:
        yield 'exact', p(1, ONES[a], ONES[b], ONES[c]), True
        if getattr(f, 'gap', None) is not None or getattr(f, 'few', False):
            return
        yield 'close', p(2, MID[a], MID[b], MID[c], M32), False
        yield 'any', p(3, ANY, ANY, ANY, M32), False
    else:
        yield 'any', p(1, ANY, ANY, ANY), True
        if getattr(f, 'few', False):
            return
        if f.sat:
            yield 'high', p(2, ANY, ANY, (0x8000ffff, 0x7fff0000)), True
        else:
            yield 'wrap', p(2, ANY, ANY, (0x8000000f, 0x7ffffff0)), True


def recorded(name):
    """Recorded lists of the file as it is: (label line, words) by section."""
    out, section = {}, None
    path = os.path.join(OUT, name)
    if os.path.exists(path + ".values"):
        for line in open(path + ".values").read().split("\n"):
            if line.startswith("["):
                section = out.setdefault(line[1:-1], [None, []])
            elif line and line[0] != "#":
                section[1] += [int(x, 16) for x in line.split()]
    test = inline = None
    for line in open(path + ".ptx").read().split("\n") if os.path.exists(path + ".ptx") else ():
        if line.startswith("//! test "):
            test = line[9:]
        elif ("recorded " in line and line.startswith("//! expect d ")) and f"{test}.d" in out:
            out[f"{test}.d"][0] = line
        elif line.startswith("//! expect d recorded ") and " =" in line:       # short lists stand in the text
            out[f"{test}.d"] = [line[:line.index(" =")] + " = @file", [int(x, 0) for x in line[line.index(" =") + 2:].split()]]
            inline = out[f"{test}.d"][1]
            continue
        elif line.startswith("//!  ") and inline is not None:
            inline += [int(x, 0) for x in line[4:].split()]
            continue
        inline = None
    return {k: v for k, v in out.items() if v[0]}


def write(name, head, forms):
    """One file: tests, kernels, and the values at its side. Recorded values stay where the kernel has not changed: delete the file
    to record all anew."""
    text, values, jobs, old = head, [], [], recorded(name)
    for f in forms:
        for case, p, derived in cases(f):
            test = f"{f.name}_{case}"
            blocks = 2 if case == 'exact' and f.name == forms[0].name and isinstance(f, Form) else 1     # also with warps that jump over it
            text += f"//! test {test}\n//! buffer d u32[{32 * f.w[0] * blocks}]\n"
            args = [p['seed']] + [x for i in range(3) for x in (p['m'][i], p['o'][i])] + [p['low']]
            for v in args:
                text += f"//! value u32 {v:#x}\n"
            if isinstance(f, Sparse):
                text += "//! buffer meta u32 = " + " ".join(f"{x:#x}" for x in f.metadata()) + "\n"
            text += f"//! launch {f.name} block {128 if blocks == 2 else 32}\n"
            if derived:
                text += "//! expect d derived = @file\n"
                values.append((f"{test}.d", f.derive(p) * blocks))
            else:
                jobs.append(f"{name} {test} {f.name} {32 * f.w[0]} " + " ".join(f"{v:#x}" for v in args))
                got = os.path.join(RESULTS, f"{name}.{test}") if RESULTS else None
                if got and os.path.exists(got):
                    text += f'//! expect d recorded "{LABEL}" = @file\n'
                    values.append((f"{test}.d", [int(x, 16) for x in open(got).read().split()]))
                elif f"{test}.d" in old:
                    line, words = old[f"{test}.d"]
                    mine = f.derive(p, adders=True)
                    if mine == words:
                        line = re.sub('recorded "([^"]*)"', r'derived "adders.py; recorded on \1"', line)
                    else:
                        print(f"{name}: {test}: {sum(x != y for x, y in zip(mine, words))} of {len(words)} words differ from adders.py")
                    text += line + "\n"
                    values.append((f"{test}.d", words))
                else:
                    text += "//! expect d recorded\n"
    for f in forms:
        text += "\n" + f.ptx()
    with open(os.path.join(OUT, name + ".ptx"), "w") as o:
        o.write(text)
    write_values(name, values)
    return jobs


class Wmma:
    """wmma.load of A, B and C from shared memory with padded rows, wmma.mma, wmma.store to global memory without."""
    def __init__(self, shape, d, a, c, al, bl, cl='row', dl='row', sat=False, bit=None, gap=None):
        self.shape, self.t, self.sat, self.bit = shape, (d, a, a, c), sat, bit
        self.m, rest = shape[1:].split('n')
        self.n, self.k = (int(x) for x in rest.split('k'))
        self.m = int(self.m)
        self.layout = (dl, al, bl, cl)
        self.name = f"w_{shape}_{d}_{a}" + (f"_{c}" if c != d else '') + f"_{al}_{bl}_{cl}_{dl}" + ('_sat' if sat else '') + (f"_{bit}" if bit else '')
        self.gap = gap          # elements between the result's rows; None: the instruction has no stride, and no state space
        self.name += '' if gap is None else '_stride'
        self.dims = ((self.m, self.n), (self.m, self.k), (self.k, self.n), (self.m, self.n))
        self.w = (-(-self.words(0) // 32),)

    def stride(self, i):
        rows, cols = self.dims[i]
        n = cols if self.layout[i] == 'row' else rows
        return n + (self.gap or 0) if i == 0 else n + {16: 8, 8: 16, 4: 32, 1: 128, 32: 4, 64: 2}[BITS[self.t[i]]]

    def words(self, i):
        rows, cols = self.dims[i]
        return self.stride(i) * (rows if self.layout[i] == 'row' else cols) * BITS[self.t[i]] // 32

    def ptx(self):
        d, a, b, c = self.t
        rt = lambda t: 'f64' if t == 'f64' else 'f32' if t == 'f32' else 'b32'
        def regs(i, t):
            rows, cols = self.dims[i]
            return 8 if i in (1, 2) and t == 'f16' else rows * cols * BITS[t] // (2048 if t == 'f64' else 1024)
        cnt = [regs(i, t) for i, t in enumerate(self.t)]
        s = f""".visible .entry {self.name}(.param .u64 d, .param .u32 seed, .param .u32 ma, .param .u32 oa, .param .u32 mb, .param .u32 ob,
    .param .u32 mc, .param .u32 oc, .param .u32 low)
{{
    .reg .pred %p; .reg .b32 %lane, %seed, %t, %x, %low, %m<3>, %o<3>, %i, %at, %ld; .reg .b64 %d;
"""
        for i in (1, 2, 3):
            s += f"    .shared .align 32 .b32 mat_{'dabc'[i]}[{self.words(i)}];\n"
        for i, n in enumerate(cnt):
            s += f"    .reg .{rt(self.t[i])} %{'zabc'[i]}<{n}>;\n"
        s += """    ld.param.u64 %d, [d]; ld.param.u32 %seed, [seed]; ld.param.u32 %low, [low];
    ld.param.u32 %m0, [ma]; ld.param.u32 %o0, [oa]; ld.param.u32 %m1, [mb]; ld.param.u32 %o1, [ob]; ld.param.u32 %m2, [mc]; ld.param.u32 %o2, [oc];
"""
        for i in (1, 2, 3):
            x = 'dabc'[i]
            s += f"    mov.u32 %lane, %tid.x;\nFILL_{x}:\n" + ptx_mix('%x', 16 * i) + f"    and.b32 %i, %x, %m{i - 1}; or.b32 %i, %i, %o{i - 1};\n"
            if self.t[i] == 'f64':
                s += "    and.b32 %t, %lane, 1; setp.eq.u32 %p, %t, 0; @%p and.b32 %i, %x, %low;\n"
            s += f"    mov.u32 %at, mat_{x}; mad.lo.u32 %at, %lane, 4, %at; st.shared.u32 [%at], %i;\n"
            s += f"    add.u32 %lane, %lane, 32; setp.lt.u32 %p, %lane, {self.words(i)}; @%p bra FILL_{x};\n"
        s += "    bar.sync 0;\n"
        vec = lambda x, n: "{" + ", ".join(f"%{x}{r}" for r in range(n)) + "}"
        for i in (1, 2, 3):
            x = 'dabc'[i]
            s += f"    mov.u32 %at, mat_{x}; mov.u32 %ld, {self.stride(i)};\n"
            s += f"    wmma.load.{x}.sync.aligned.{self.layout[i]}.{self.shape}.shared.{self.t[i]} {vec(x, cnt[i])}, [%at], %ld;\n"
        types = f".{d}.{c}" if a == 'f16' else f".{d}.{a}.{b}.{c}"
        s += f"    wmma.mma{'.' + self.bit + '.popc' if self.bit else ''}.sync.aligned.{self.layout[1]}.{self.layout[2]}.{self.shape}{types}" + \
            f"{'.satfinite' if self.sat else ''} {vec('z', cnt[0])}, {vec('a', cnt[1])}, {vec('b', cnt[2])}, {vec('c', cnt[3])};\n"
        if self.gap is not None:
            s += f"    mov.u32 %ld, {self.stride(0)};\n"
        s += f"    wmma.store.d.sync.aligned.{self.layout[0]}.{self.shape}{'.global' if self.gap is None else ''}.{d} [%d], {vec('z', cnt[0])}" + \
            (";\n" if self.gap is None else f", %ld;\n")
        return s + "    ret;\n}\n"

    def derive(self, p, adders=False):
        mats = []
        value = (lambda t, x: x) if adders else number
        for i in (1, 2, 3):
            t, (rows, cols) = self.t[i], self.dims[i]
            words = []
            for w in range(self.words(i)):
                h = mix(w, 16 * i, p['seed'])
                words.append(h & p['low'] if t == 'f64' and w % 2 == 0 else h & p['m'][i - 1] | p['o'][i - 1])
            e, ld = elements(words, t), self.stride(i)
            mats.append({(r, c): value(t, e[r * ld + c if self.layout[i] == 'row' else c * ld + r]) for r in range(rows) for c in range(cols)})
        a, b, c = mats
        d = self.t[0]
        out = [0] * (self.w[0] * 32)
        for r in range(self.m):
            for j in range(self.n):
                v = c[r, j]
                if adders:
                    bits = element(self.t, [a[r, k] for k in range(self.k)], [b[k, j] for k in range(self.k)], v, wmma=True)
                else:
                    for k in range(self.k):
                        v += a[r, k] ^ b[k, j] if self.bit == 'xor' else a[r, k] & b[k, j] if self.bit == 'and' else a[r, k] * b[k, j]
                    bits = encode(d, max(-2 ** 31, min(2 ** 31 - 1, v)) if self.sat else v)
                at = (r * self.stride(0) + j if self.layout[0] == 'row' else j * self.stride(0) + r) * BITS[d]
                for w in range(0, BITS[d], 32):
                    out[(at + w) // 32] |= (bits >> w & M32) << (0 if BITS[d] >= 32 else at % 32)
        return out


def write_rows():
    """ldmatrix, stmatrix and movmatrix (figures of 9.7.14.5.15 to .17): derived. Shared memory holds 32 rows of 16 bytes, 48 apart."""
    text = head("ldmatrix, stmatrix, movmatrix: numbers, .trans, rows anywhere", '7.8', 90)
    values, kernels = [], ""
    half = lambda row, col: row * 256 + col * 16 + 5        # element of row 0..31, column 0..7
    # lane l gives the address of row order(l), so that rows are permuted
    order = lambda l: (l * 5 + 3) % 32
    for n in (1, 2, 4):
        for trans in (False, True):
            t, r = '.trans' if trans else '', ', '.join(f'%r{i}' for i in range(n))
            name = f"ldmatrix_x{n}{'_trans' if trans else ''}"
            out = []
            for lane in range(32):
                for j in range(n):
                    g, q = lane >> 2, lane % 4
                    # (row, column) of the two elements in matrix j
                    at = [(2 * q + e, g) if trans else (g, 2 * q + e) for e in range(2)]
                    lo, hi = (half(order(8 * j + row), col) for row, col in at)
                    out.append(lo | hi << 16)
            text += f"//! test {name}\n//! buffer d u32[{32 * n}]\n//! launch {name} block 32\n//! expect d derived = @file\n"
            values.append((f"{name}.d", out))
            kernels += f""".visible .entry {name}(.param .u64 d)
{{
    .reg .b32 %l, %t, %u, %i, %at, %base, %r<{n}>; .reg .b64 %d, %off; .reg .pred %p; .shared .align 16 .b8 s_{name}[1536];
    mov.u32 %l, %tid.x; mov.u32 %i, 0; mov.u32 %base, s_{name};
FILL:   // row %l
    mad.lo.u32 %t, %l, 48, %base; mad.lo.u32 %t, %i, 2, %t;
    mad.lo.u32 %u, %l, 256, 5; mad.lo.u32 %u, %i, 16, %u; st.shared.u16 [%t], %u;
    add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 8; @%p bra FILL;
    bar.sync 0;
    mad.lo.u32 %t, %l, 5, 3; and.b32 %t, %t, 31; mad.lo.u32 %at, %t, 48, %base;
    ldmatrix.sync.aligned.m8n8.x{n}{t}.shared.b16 {{{r}}}, [%at];
    ld.param.u64 %d, [d]; mul.wide.u32 %off, %l, {4 * n}; add.u64 %d, %d, %off;
""" + "".join(f"    st.global.u32 [%d+{4 * i}], %r{i};\n" for i in range(n)) + "    ret;\n}\n"
            # stmatrix: lane l has element pairs numbered by lane and register; what memory holds afterwards
            name = f"stmatrix_x{n}{'_trans' if trans else ''}"
            memory = [0] * (32 * 24)
            for lane in range(32):
                for j in range(n):
                    g, q = lane >> 2, lane % 4
                    for e in range(2):
                        row, col = (2 * q + e, g) if trans else (g, 2 * q + e)
                        memory[order(8 * j + row) * 24 + col] = lane * 64 + j * 2 + e + 7
            words = [memory[2 * i] | memory[2 * i + 1] << 16 for i in range(32 * 12)]
            text += f"//! test {name}\n//! buffer d u32[384]\n//! launch {name} block 32\n//! expect d derived = @file\n"
            values.append((f"{name}.d", words))
            kernels += f""".visible .entry {name}(.param .u64 d)
{{
    .reg .b32 %l, %t, %i, %at, %base, %r<{n}>; .reg .b64 %d, %off; .reg .pred %p; .shared .align 16 .b8 s_{name}[1536];
    mov.u32 %l, %tid.x; mov.u32 %i, %l; mov.u32 %base, s_{name};
CLEAR:
    mad.lo.u32 %t, %i, 4, %base; st.shared.u32 [%t], 0; add.u32 %i, %i, 32; setp.lt.u32 %p, %i, 384; @%p bra CLEAR;
    bar.sync 0;
    mad.lo.u32 %t, %l, 5, 3; and.b32 %t, %t, 31; mad.lo.u32 %at, %t, 48, %base;
    mad.lo.u32 %t, %l, 0x00400040, 0x00080007;
""" + "".join(f"    add.u32 %r{i}, %t, {i * 0x20002:#x};\n" for i in range(n)) + f"""    stmatrix.sync.aligned.m8n8.x{n}{t}.shared.b16 [%at], {{{r}}};
    bar.sync 0;
    ld.param.u64 %d, [d]; mov.u32 %i, %l;
OUT:
    mad.lo.u32 %t, %i, 4, %base; ld.shared.u32 %at, [%t]; mul.wide.u32 %off, %i, 4; add.u64 %off, %off, %d; st.global.u32 [%off], %at;
    add.u32 %i, %i, 32; setp.lt.u32 %p, %i, 384; @%p bra OUT;
    ret;
}}
"""
    out = []
    for lane in range(32):
        g, q = lane >> 2, lane % 4
        lo, hi = ((2 * q + e) * 8 + g for e in range(2))
        out.append(lo | hi << 16)
    text += "//! test movmatrix\n//! buffer d u32[32]\n//! launch movmatrix block 32\n//! expect d derived = @file\n"
    values.append(("movmatrix.d", out))
    kernels += """.visible .entry movmatrix(.param .u64 d)
{
    .reg .b32 %l, %a, %b; .reg .b64 %d, %off;
    mov.u32 %l, %tid.x; mul.lo.u32 %a, %l, 0x00020002; add.u32 %a, %a, 0x00010000;     // element (row, column) is 8 * row + column
    movmatrix.sync.aligned.m8n8.trans.b16 %b, %a;
    ld.param.u64 %d, [d]; mul.wide.u32 %off, %l, 4; add.u64 %d, %d, %off; st.global.u32 [%d], %b;
    ret;
}
"""
    with open(os.path.join(OUT, "rows.ptx"), "w") as o:
        o.write(text + "\n" + kernels)
    write_values("rows", values)


def write_values(name, values):
    with open(os.path.join(OUT, name + ".values"), "w") as o:
        for section, words in values:
            o.write(f"[{section}]\n")
            for i in range(0, len(words), 14):
                o.write(" ".join(f"{w:08x}" for w in words[i:i + 14]) + "\n")


def head(comment, version, sm):
    return f"// SPDX-License-Identifier: Apache-2.0\n// {comment}\n// Written by tests/ptx/author/matrix.py.\n.version {version}\n.target sm_{sm}\n.address_size 64\n\n"


def mma(shape, d, a, b, c, sm, layouts=None, sat=False, bit=None, rnd=None):
    row = {None: ('row', 'col')}.get(layouts) or tuple('col' if x else 'row' for x in layouts)
    name = f"{shape}_{d}_{a}" + (f"_{b}" if b != a else '') + (f"_{c}" if c != d else '') + (f"_{row[0]}_{row[1]}" if layouts else '') + \
        ('_sat' if sat else '') + (f"_{bit}" if bit else '') + (f"_{rnd}" if rnd else '')
    op = f"mma.sync.aligned.{shape}.{row[0]}.{row[1]}" + ('.satfinite' if sat else '') + (f".{rnd}" if rnd else '') + f".{d}.{a}.{b}.{c}" + \
        (f".{bit}.popc" if bit else '')
    return Form(name, op, shape, d, a, b, c, sm, layouts, sat, bit, rnd)


def main():
    os.makedirs(OUT, exist_ok=True)
    jobs = []
    half = []
    for shape in ('m16n8k8', 'm16n8k16'):
        half += [mma(shape, 'f32', 'f16', 'f16', 'f32', 80), mma(shape, 'f16', 'f16', 'f16', 'f16', 80), mma(shape, 'f32', 'bf16', 'bf16', 'f32', 80)]
    half += [mma(s, 'f32', 'tf32', 'tf32', 'f32', 80) for s in ('m16n8k4', 'm16n8k8')]
    jobs += write('mma_float', head('mma.sync of f16, bf16 and tf32', '7.0', 80), half)
    quads = [mma('m8n8k4', d, 'f16', 'f16', c, 70, (x & 1, x >> 1)) for x in range(4) for d, c in (('f32', 'f32'), ('f16', 'f16'), ('f32', 'f16'))]
    jobs += write('mma_m8n8k4', head('mma.sync.m8n8k4 of f16: four products a warp, all layouts', '6.4', 70), quads)
    fp8 = [mma(s, d, a, b, d, 89) for s, d in (('m16n8k32', 'f32'), ('m16n8k32', 'f16'), ('m16n8k16', 'f32'), ('m16n8k16', 'f16'))
           for a, b in (('e4m3', 'e4m3'), ('e5m2', 'e4m3'), ('e4m3', 'e5m2'), ('e5m2', 'e5m2'))]
    jobs += write('mma_fp8', head('mma.sync of e4m3 and e5m2', '8.7', 89), fp8)
    f64 = [mma(s, 'f64', 'f64', 'f64', 'f64', 90) for s in ('m8n8k4', 'm16n8k4', 'm16n8k8', 'm16n8k16')]
    f64 += [mma('m16n8k4', 'f64', 'f64', 'f64', 'f64', 90, rnd=r) for r in ('rz', 'rm', 'rp')]
    jobs += write('mma_f64', head('mma.sync of f64', '7.8', 90), f64)
    ints = [mma(s, 's32', a, b, 's32', 80, sat=sat) for s in ('m8n8k16', 'm16n8k16', 'm16n8k32') for a in ('s8', 'u8') for b in ('s8', 'u8') for sat in (False, True)]
    jobs += write('mma_int8', head('mma.sync of s8 and u8', '7.0', 80), ints)
    subs = [mma(s, 's32', a, b, 's32', 80, sat=sat) for s in ('m8n8k32', 'm16n8k32', 'm16n8k64') for a in ('s4', 'u4') for b in ('s4', 'u4') for sat in (False, True)]
    subs += [mma(s, 's32', 'b1', 'b1', 's32', 80, bit=x) for s in ('m8n8k128', 'm16n8k128', 'm16n8k256') for x in ('xor', 'and')]
    jobs += write('mma_sub', head('mma.sync of s4, u4 and b1', '7.1', 80), subs)
    write_rows()
    sp, ordered = 'mma.sp', 'mma.sp::ordered_metadata'
    forms = [Sparse(op, 'm16n8k16', d, 'f16', 'f16', d, 80, x) for op, d, x in ((sp, 'f32', 0), (ordered, 'f32', 3), (sp, 'f16', 1), (ordered, 'f16', 2))]
    forms += [Sparse(op, 'm16n8k32', d, 'f16', 'f16', d, 80, x) for op, d, x in ((sp, 'f32', 0), (ordered, 'f32', 1), (sp, 'f16', 1), (ordered, 'f16', 0))]
    forms += [Sparse(sp, s, 'f32', 'f16', 'f16', 'f32', 80, 1, ordered=False) for s in ('m16n8k16', 'm16n8k32')]
    forms += [Sparse(op, s, 'f32', 'bf16', 'bf16', 'f32', 80, x) for op, s, x in ((sp, 'm16n8k16', 2), (ordered, 'm16n8k32', 0))]
    forms += [Sparse(op, s, 'f32', 'tf32', 'tf32', 'f32', 80, x) for op, s, x in
              ((sp, 'm16n8k8', 0), (ordered, 'm16n8k8', 3), (ordered, 'm16n8k16', 0), (sp, 'm16n8k16', 1))]
    def all_forms(forms):
        """And what of types, .satfinite and mnemonics is missing."""
        have = {(f.op, f.shape, f.t, f.sat) for f in forms}
        for f in list(forms):
            twins = [f.twin()]
            if f.t[0] == 's32':
                other = Sparse('mma.sp', f.shape, *f.t, f.sm, f.selector, not f.sat)
                other.few = True
                twins += [other, other.twin()]
            for t in twins:
                if (t.op, t.shape, t.t, t.sat) not in have:
                    have.add((t.op, t.shape, t.t, t.sat))
                    forms.append(t)
        return forms
    forms = all_forms(forms)
    jobs += write('sparse', head('mma.sp of f16, bf16 and tf32', '8.5', 80), forms)
    fp8 = [Sparse(sp if a == b else ordered, 'm16n8k64', 'f32', a, b, 'f32', 89, 0) for a in ('e4m3', 'e5m2') for b in ('e4m3', 'e5m2')]
    jobs += write('sparse_fp8', head('mma.sp of e4m3 and e5m2', '8.5', 89), all_forms(fp8))
    forms = [Sparse(sp if sat else ordered, s, 's32', a, b, 's32', 80, x, sat) for t in ('8', '4') for s, x in
             ((('m16n8k32', 0), ('m16n8k32', 1), ('m16n8k64', 0)) if t == '8' else (('m16n8k64', 0), ('m16n8k64', 1), ('m16n8k128', 0)))
             for a, b, sat in (('s' + t, 's' + t, False), ('u' + t, 'u' + t, True), ('s' + t, 'u' + t, True), ('u' + t, 's' + t, False))]
    forms += [Sparse(sp, 'm16n8k32', 's32', 's8', 's8', 's32', 80, 0, ordered=False), Sparse(sp, 'm16n8k128', 's32', 's4', 's4', 's32', 80, 0, ordered=False)]
    jobs += write('sparse_int', head('mma.sp of s8, u8, s4 and u4', '8.5', 80), all_forms(forms))
    w = []
    for shape in ('m16n16k16', 'm8n32k16', 'm32n8k16'):
        w += [Wmma(shape, 'f32', 'f16', 'f32', 'row', 'col'), Wmma(shape, 'f16', 'f16', 'f16', 'col', 'row', 'col', 'row'),
              Wmma(shape, 'f32', 'f16', 'f16', 'row', 'row', 'row', 'col'), Wmma(shape, 'f16', 'f16', 'f32', 'col', 'col')]
        w += [Wmma(shape, 'f32', 'bf16', 'f32', 'row', 'col', 'row', 'col'), Wmma(shape, 'f32', 'bf16', 'f32', 'col', 'row', 'col')]
    w += [Wmma('m16n16k8', 'f32', 'tf32', 'f32', 'row', 'col'), Wmma('m16n16k8', 'f32', 'tf32', 'f32', 'col', 'row', 'col', 'col')]
    w += [Wmma('m8n8k4', 'f64', 'f64', 'f64', 'row', 'col'), Wmma('m8n8k4', 'f64', 'f64', 'f64', 'col', 'row', 'col', 'col')]
    jobs += write('wmma_float', head('wmma of f16, bf16, tf32 and f64: shapes, layouts, strides', '7.0', 80), w)
    w = []
    for shape in ('m16n16k16', 'm8n32k16', 'm32n8k16'):
        w += [Wmma(shape, 's32', 's8', 's32', 'row', 'col'), Wmma(shape, 's32', 'u8', 's32', 'col', 'row', 'col', 'col'),
              Wmma(shape, 's32', 's8', 's32', 'row', 'row', sat=True)]
    w += [Wmma('m16n16k16', 's32', 'u8', 's32', 'row', 'col', sat=True)]
    w += [Wmma('m8n8k32', 's32', 's4', 's32', 'row', 'col'), Wmma('m8n8k32', 's32', 'u4', 's32', 'row', 'col', 'col', 'col', sat=True)]
    w += [Wmma('m8n8k128', 's32', 'b1', 's32', 'row', 'col', bit=x) for x in ('xor', 'and')]
    jobs += write('wmma_int', head('wmma of s8, u8, s4, u4 and b1: shapes, layouts, strides', '7.1', 80), w)
    w = [Wmma(s, d, a, d, 'row', 'col', dl=dl, gap=8) for s in ('m16n16k16', 'm8n32k16', 'm32n8k16') for d, a in (('f16', 'f16'), ('f32', 'f16'), ('s32', 's8'))
         for dl in ('row', 'col')]
    jobs += write('wmma_stride', head('wmma.store to generic addresses, with rows apart', '7.1', 80), w)
    if RESULTS:
        with open(os.path.join(OUT, 'jobs.txt'), 'w') as o:
            o.write("\n".join(jobs) + "\n")


main()
