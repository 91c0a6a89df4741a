#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes isa/float/ftz_chain.ptx: operations with .ftz that follow each other, in a row, across branches and around a loop, on values near the least
normal number. All say .rn: NVIDIA may fuse others. Expected values are those of exact.py.   ftz_chain.py >../isa/float/ftz_chain.ptx"""
import random
import exact

F = exact.F32
LANES = 96
rng = random.Random(20261122)


def small():
    return rng.choice([0, 1 << 31, 1, 0x7fffff, 0x800000, 0x80800000, 0x00800001, 0x00ffffff, 0x007ffffe,
                       rng.getrandbits(23) | rng.choice([0, 0, 1, 1, 2]) << 23 | rng.getrandbits(1) << 31,
                       rng.getrandbits(23) | rng.randrange(1, 4) << 23 | rng.getrandbits(1) << 31])


def factor():
    return rng.getrandbits(23) | rng.choice([125, 126, 126, 127, 127]) << 23 | rng.getrandbits(1) << 31


class Chain:
    """regs[name] is a list of bits, one a lane."""

    def __init__(self, regs):
        self.regs, self.text, self.n = dict(regs), [], 0

    def line(self, text):
        self.text.append('\t' + text)

    def op(self, pool, factors, dst=None, kind=None):
        kind = kind or rng.choice(['mul', 'mul', 'fma', 'fma', 'add', 'sub', 'neg'])
        if dst is None:
            dst, self.n = f'%v{self.n}', self.n + 1
        a, b, w = rng.choice(pool), rng.choice(pool), rng.choice(factors)
        args = {'mul': (a, w), 'fma': (w, a, b), 'add': (a, b), 'sub': (a, b), 'neg': (a,)}[kind]
        self.line(f"{kind}{'.rn.ftz' if kind != 'neg' else ''}.f32 {dst}, {', '.join(args)};")
        values = [self.apply(kind, *(self.regs[x][i] for x in args)) for i in range(LANES)]
        self.regs[dst] = values
        return dst

    @staticmethod
    def apply(kind, *x):
        if kind == 'neg':
            return x[0] ^ 1 << 31
        if kind == 'mul':
            return exact.mul(F, *x, ftz=True)
        if kind == 'fma':
            return exact.fma(F, *x, ftz=True)
        return exact.add(F, x[0], x[1] ^ (1 << 31 if kind == 'sub' else 0), ftz=True)


def values(name, x):
    rows = [' '.join(f'{v:#x}' for v in x[i:i + 12]) for i in range(0, len(x), 12)]
    return f'//! {name} = ' + '\n//!   '.join(rows)


def main():
    s = [[small() for _ in range(LANES)] for _ in range(4)]
    w = [[factor() for _ in range(LANES)] for _ in range(3)]
    c = Chain({**{f'%s{i}': v for i, v in enumerate(s)}, **{f'%w{i}': v for i, v in enumerate(w)}})
    pool, factors, out = [f'%s{i}' for i in range(4)], [f'%w{i}' for i in range(3)], []

    for i in range(48):                     # in a row; every sixth is stored at once
        pool.append(c.op(pool[-9:], factors))
        if i % 6 == 5:
            c.line(f'st.global.f32 [%p+{4 * LANES * len(out)}], {pool[-1]};')
            out.append(c.regs[pool[-1]])
    pool.append(c.op(pool[:4], factors[:1], kind='mul'))        # negated, and needed much later
    negated = c.op(pool[-1:], factors, kind='neg')
    for _ in range(24):
        pool.append(c.op(pool[-6:], factors))
    for kind in 'fma', 'add':
        pool.append(c.op([negated], factors, kind=kind))
        c.line(f'st.global.f32 [%p+{4 * LANES * len(out)}], {pool[-1]};')
        out.append(c.regs[pool[-1]])
    before = dict(c.regs)                   # one side of a branch: lanes whose last value is negative
    c.line(f'mov.b32 %bits, {pool[-1]}; setp.lt.s32 %take, %bits, 0; mov.f32 %x, {pool[-2]};')
    c.regs['%x'] = c.regs[pool[-2]]
    taken = [v >> 31 == 1 for v in c.regs[pool[-1]]]
    c.line('@!%take bra $behind;')
    for _ in range(9):
        c.op(['%x'] + pool[-4:], factors, '%x')
    c.regs['%x'] = [x if t else y for x, y, t in zip(c.regs['%x'], before[pool[-2]], taken)]
    c.text.append('$behind:')
    pool.append(c.op(['%x'], factors))
    c.line(f'st.global.f32 [%p+{4 * LANES * len(out)}], {pool[-1]};')
    out.append(c.regs[pool[-1]])
    c.line(f'mov.f32 %y, {pool[-1]}; mov.f32 %z, {pool[-4]}; mov.u32 %i, 0;')
    c.regs['%y'], c.regs['%z'] = c.regs[pool[-1]], c.regs[pool[-4]]
    c.text.append('$again:')
    body = [('fma.rn', '%y', ('%w0', '%y', '%z')), ('sub.rn', '%z', ('%z', '%y')), ('mul.rn', '%z', ('%z', '%w1')), ('fma.rn', '%y', ('%y', '%w2', '%s1'))]
    for op, dst, args in body:
        c.line(f"{op}.ftz.f32 {dst}, {', '.join(args)};")
    for _ in range(7):
        for op, dst, args in body:
            c.regs[dst] = [c.apply(op[:3], *(c.regs[x][i] for x in args)) for i in range(LANES)]
    c.line('add.u32 %i, %i, 1; setp.lt.u32 %more, %i, 7; @%more bra $again;')
    for r in '%y', '%z':
        c.line(f'st.global.f32 [%p+{4 * LANES * len(out)}], {r};')
        out.append(c.regs[r])

    print('''// SPDX-License-Identifier: Apache-2.0
// Operations with .ftz that follow each other, near the least normal number (tests/ptx/author/ftz_chain.py).
.version 7.0
.target sm_70
.address_size 64

//! test chain''')
    for i, v in enumerate(s):
        print(values(f'buffer s{i} b32', v))
    for i, v in enumerate(w):
        print(values(f'buffer w{i} b32', v))
    print(f'''//! buffer d b32[{LANES * len(out)}]
//! launch chain(s0,s1,s2,s3,w0,w1,w2,d) grid 1 block {LANES}
{values('expect d derived "exact arithmetic in Python"', [v for r in out for v in r])}
.visible .entry chain(.param .u64 s0, .param .u64 s1, .param .u64 s2, .param .u64 s3, .param .u64 w0, .param .u64 w1, .param .u64 w2, .param .u64 d)
{{
	.reg .b64 %p, %at;
	.reg .b32 %t, %i, %bits;
	.reg .f32 %s<4>, %w<3>, %v<{c.n}>, %x, %y, %z;
	.reg .pred %take, %more;
	mov.u32 %t, %tid.x;
	mul.wide.u32 %at, %t, 4;''')
    for r in [f's{i}' for i in range(4)] + [f'w{i}' for i in range(3)]:
        print(f'\tld.param.u64 %p, [{r}]; add.u64 %p, %p, %at; ld.global.f32 %{r}, [%p];')
    print('\tld.param.u64 %p, [d]; add.u64 %p, %p, %at;')
    print('\n'.join(c.text))
    print('\tret;\n}')


main()
