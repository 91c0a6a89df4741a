#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the generated files of tests/ptx/isa: python3 author.py FOLDER. Recorded values are put back by --record."""
import sys
from forms import File
from second import plain

root = sys.argv[1]
files = []


def f(path, title, **k):
    x = File(root, path + '.ptx', title, **k)
    files.append(x)
    return x


ONE, TWO = {1: ['edge']}, {2: ['few', 'edge']}

# ---- integers ----
x = f('int/add_sub', 'add and sub of integers: they wrap around; .sat clamps.')
for t in ('u16', 's16', 'u32', 's32', 'u64', 's64'):
    x.form('add.%s {d}, {a}, {b};' % t, t + ' ' + t, t)
    x.form('sub.%s {d}, {a}, {b};' % t, t + ' ' + t, t)
x.form('add.sat.s32 {d}, {a}, {b};', 's32 s32', 's32').form('sub.sat.s32 {d}, {a}, {b};', 's32 s32', 's32')

x = f('int/mul', 'mul: the low half, the high half, the whole product.')
for n in (16, 32, 64):
    for s in 'us':
        t = s + str(n)
        x.form('mul.lo.%s {d}, {a}, {b};' % t, t + ' ' + t, t)
        x.form('mul.hi.%s {d}, {a}, {b};' % t, t + ' ' + t, t)
        if n < 64:
            x.form('mul.wide.%s {d}, {a}, {b};' % t, t + ' ' + t, s + str(2 * n))

x = f('int/mad', 'mad of integers.')
for n in (16, 32, 64):
    for s in 'us':
        t = s + str(n)
        x.form('mad.lo.%s {d}, {a}, {b}, {c};' % t, ' '.join([t] * 3), t)
        x.form('mad.hi.%s {d}, {a}, {b}, {c};' % t, ' '.join([t] * 3), t)
x.form('mad.hi.sat.s32 {d}, {a}, {b}, {c};', 's32 s32 s32', 's32')
x = f('int/mad_wide', 'mad.wide: the sum has twice the bits of the factors.')
for t, w in (('u16', 'u32'), ('s16', 's32'), ('u32', 'u64'), ('s32', 's64')):
    x.form('mad.wide.%s {d}, {a}, {b}, {c};' % t, '%s %s %s' % (t, t, w), w)

x = f('int/mul24', 'mul24 and mad24 read the low 24 bits.')
for t in ('u32', 's32'):
    x.form('mul24.lo.%s {d}, {a}, {b};' % t, t + ' ' + t, t).form('mul24.hi.%s {d}, {a}, {b};' % t, t + ' ' + t, t)
x = f('int/mad24', 'mad24.')
for t in ('u32', 's32'):
    x.form('mad24.lo.%s {d}, {a}, {b}, {c};' % t, ' '.join([t] * 3), t).form('mad24.hi.%s {d}, {a}, {b}, {c};' % t, ' '.join([t] * 3), t)
x.form('mad24.hi.sat.s32 {d}, {a}, {b}, {c};', 's32 s32 s32', 's32')

x = f('int/sad', 'sad: the absolute difference and a sum.')
for t in ('u16', 's16', 'u32', 's32', 'u64', 's64'):
    x.form('sad.%s {d}, {a}, {b}, {c};' % t, ' '.join([t] * 3), t)

x = f('int/div_rem', 'div and rem; division by zero and the overflow of -2^n / -1 included, where the PTX ISA leaves the result open.')
for t in ('u16', 's16', 'u32', 's32', 'u64', 's64'):
    x.form('div.%s {d}, {a}, {b};' % t, t + ' ' + t, t).form('rem.%s {d}, {a}, {b};' % t, t + ' ' + t, t)
x = f('int/div_const', 'div and rem by constants, which compilers turn into multiplications.', sets=ONE)
for t, cs in (('u32', (1, 3, 7, 10, 641, 0x80000000)), ('s32', (1, -1, 3, -7, 10, -0x80000000)), ('u64', (7, 10**9 + 7)), ('s64', (-5, 1000003))):
    for c in cs:
        x.form('div.%s {d}, {a}, %d;' % (t, c), t, t).form('rem.%s {d}, {a}, %d;' % (t, c), t, t)

x = f('int/abs_neg', 'abs and neg of integers.')
for t in ('s16', 's32', 's64'):
    x.form('abs.%s {d}, {a};' % t, t, t).form('neg.%s {d}, {a};' % t, t, t)
x = f('int/min_max', 'min and max of integers.')
for t in ('u16', 's16', 'u32', 's32', 'u64', 's64'):
    x.form('min.%s {d}, {a}, {b};' % t, t + ' ' + t, t).form('max.%s {d}, {a}, {b};' % t, t + ' ' + t, t)

x = f('int/bits', 'popc, clz, brev, bfind.')
for n in (32, 64):
    b, u, s = 'b%d' % n, 'u%d' % n, 's%d' % n
    x.form('popc.%s {d}, {a};' % b, b, 'u32').form('clz.%s {d}, {a};' % b, b, 'u32').form('brev.%s {d}, {a};' % b, b, b)
    for t in (u, s):
        x.form('bfind.%s {d}, {a};' % t, b, 'u32').form('bfind.shiftamt.%s {d}, {a};' % t, b, 'u32')
x = f('int/fns', 'fns: the n-th set bit from a position.', sets={3: ['edge', 'shift', 'few']})
x.form('and.b32 %t0, {b}, 31; and.b32 %t1, {c}, 63; sub.s32 %t1, %t1, 32; fns.b32 {d}, {a}, %t0, %t1;', 'b32 u32 s32', 'b32')
x = f('int/bfe', 'bfe: position and length use 8 bits, but all of them in the 64-bit forms.', sets={3: ['few', 'shift', 'shift']}, counts=(1,))
for t in ('u32', 's32', 'u64', 's64'):
    x.form('bfe.%s {d}, {a}, {b}, {c};' % t, t + ' u32 u32', t)
x = f('int/bfi', 'bfi: position and length use 8 bits, but all of them in the 64-bit form.', sets={4: ['few', 'shift', 'shift', 'few']}, counts=(1, 2))
for t in ('b32', 'b64'):
    x.form('bfi.%s {d}, {a}, {e}, {b}, {c};' % t, t + ' u32 u32 ' + t, t)
x = f('int/szext_bmsk', 'szext and bmsk, clamping and wrapping.', target='sm_70', version='7.6', sets={2: ['edge', 'shift']})
for t in ('u32', 's32'):
    x.form('szext.clamp.%s {d}, {a}, {b};' % t, 'u32 u32', t).form('szext.wrap.%s {d}, {a}, {b};' % t, 'u32 u32', t)
x.form('bmsk.clamp.b32 {d}, {a}, {b};', 'u32 u32', 'b32').form('bmsk.wrap.b32 {d}, {a}, {b};', 'u32 u32', 'b32')
x = f('int/dp4a_dp2a', 'dp4a and dp2a: dot products of bytes.', target='sm_61')
for ta in ('u32', 's32'):
    for tb in ('u32', 's32'):
        out = 's32' if 's32' in (ta, tb) else 'u32'
        x.form('dp4a.%s.%s {d}, {a}, {b}, {c};' % (ta, tb), 'b32 b32 b32', out)
        x.form('dp2a.lo.%s.%s {d}, {a}, {b}, {c};' % (ta, tb), 'b32 b32 b32', out)
        x.form('dp2a.hi.%s.%s {d}, {a}, {b}, {c};' % (ta, tb), 'b32 b32 b32', out)

# ---- extended precision ----
x = f('carry/add_sub', 'Carry chains: add.cc, addc, sub.cc, subc. The carry of the last step is read by a further addc or subc.')
for t in ('u32', 's32', 'u64', 's64'):
    x.form('add.cc.%s {d}, {a}, {b};' % t, t + ' ' + t, t)
    x.form('add.cc.%s {d}, {a}, {b}; addc.%s {d}, {b}, {a};' % (t, t), t + ' ' + t, t)
    x.form('add.cc.%s {d}, {a}, {b}; addc.cc.%s {d}, {a}, -1; addc.%s {d}, 0, 0;' % (t, t, t), t + ' ' + t, t)
    x.form('sub.cc.%s {d}, {a}, {b};' % t, t + ' ' + t, t)
    x.form('sub.cc.%s {d}, {a}, {b}; subc.%s {d}, {b}, {a};' % (t, t), t + ' ' + t, t)
    x.form('sub.cc.%s {d}, {a}, {b}; subc.cc.%s {d}, {a}, -1; subc.%s {d}, 0, 0;' % (t, t, t), t + ' ' + t, t)
x = f('carry/mad', 'Carry chains with multiplications: mad.cc, madc.')
for t in ('u32', 's32', 'u64', 's64'):
    i = ' '.join([t] * 3)
    for h in ('lo', 'hi'):
        x.form('mad.%s.cc.%s {d}, {a}, {b}, {c};' % (h, t), i, t)
        x.form('mad.%s.cc.%s {d}, {a}, {b}, {c}; addc.%s {d}, 0, 0;' % (h, t, t), i, t)
        x.form('mad.lo.cc.%s {d}, {a}, {b}, {c}; madc.%s.%s {d}, {b}, {c}, {a};' % (t, h, t), i, t)
        x.form('mad.lo.cc.%s {d}, {a}, {b}, {c}; madc.%s.cc.%s {d}, {b}, {c}, {a}; addc.%s {d}, 0, 0;' % (t, h, t, t), i, t)

# ---- logic and shift ----
x = f('logic/logic', 'and, or, xor, not, cnot.')
for t in ('b16', 'b32', 'b64'):
    for op in ('and', 'or', 'xor'):
        x.form('%s.%s {d}, {a}, {b};' % (op, t), t + ' ' + t, t)
    x.form('not.%s {d}, {a};' % t, t, t).form('cnot.%s {d}, {a};' % t, t, t)
x = f('logic/pred', 'Logic on predicates, built from lane values.', sets={2: ['edge', 'edge']})
for op in ('and', 'or', 'xor'):
    x.form('setp.ne.u32 %%p0, {a}, 0; setp.lt.s32 %%p1, {b}, 0; %s.pred %%p2, %%p0, %%p1; selp.u32 {d}, 1, 0, %%p2;' % op, 'u32 s32', 'u32')
x.form('setp.lt.u32 %p0, {a}, {b}; not.pred %p1, %p0; selp.u32 {d}, 3, 5, %p1;', 'u32 s32', 'u32')
x.form('setp.lt.u32 %p0, {a}, {b}; mov.pred %p1, %p0; selp.u32 {d}, 3, 5, %p1;', 'u32 s32', 'u32')
x = f('logic/lop3', 'lop3: any function of three bits, and its form with a predicate.', sets={3: ['few', 'few', 'few']})
for k in (0x00, 0x80, 0xfe, 0x96, 0xe8, 0xca, 0x1b, 0xff):
    x.form('lop3.b32 {d}, {a}, {b}, {c}, 0x%02x;' % k, 'b32 b32 b32', 'b32')
x = f('logic/lop3_bool', 'lop3 with .or and .and: the predicate says whether the result has a bit set.', target='sm_70', version='8.2')
x.form('setp.eq.u32 %p1, {a}, {c}; lop3.or.b32 {d}|%p0, {a}, {b}, {c}, 0x80, %p1; selp.u32 {d}, 1, 0, %p0;', 'b32 b32 b32', 'b32')
x.form('setp.eq.u32 %p1, {a}, {c}; lop3.and.b32 {d}|%p0, {a}, {b}, {c}, 0x80, %p1; selp.u32 {d}, 1, 0, %p0;', 'b32 b32 b32', 'b32')
x.form('setp.eq.u32 %p1, {a}, {c}; lop3.or.b32 {d}|%p0, {a}, {b}, {c}, 0x96, %p1;', 'b32 b32 b32', 'b32')
x.form('setp.eq.u32 %p1, {a}, {c}; lop3.and.b32 _|%p0, {a}, {b}, {c}, 0xfe, !%p1; selp.u32 {d}, 1, 0, %p0;', 'b32 b32 b32', 'b32')
x = f('logic/shift', 'shl and shr: counts beyond the size give zero, or the sign.', sets={2: ['edge', 'shift']})
for t in ('b16', 'b32', 'b64'):
    x.form('shl.%s {d}, {a}, {b};' % t, t + ' u32', t)
    for s in 'bus':
        x.form('shr.%s%s {d}, {a}, {b};' % (s, t[1:]), t + ' u32', t)
x = f('logic/shf', 'shf: the funnel shift, clamping and wrapping.', sets={3: ['few', 'few', 'shift']})
for d in 'lr':
    for m in ('clamp', 'wrap'):
        x.form('shf.%s.%s.b32 {d}, {a}, {b}, {c};' % (d, m), 'b32 b32 u32', 'b32')
x = f('logic/prmt', 'prmt: bytes of a pair of registers, in every mode.', sets={3: ['few', 'few', 'edge']})
for m in ('', '.f4e', '.b4e', '.rc8', '.ecl', '.ecr', '.rc16'):
    x.form('prmt.b32%s {d}, {a}, {b}, {c};' % m, 'b32 b32 b32', 'b32')
x.form('prmt.b32 {d}, {a}, {b}, 0x3715;', 'b32 b32 b32', 'b32').form('prmt.b32 {d}, {a}, {b}, 0xfa90;', 'b32 b32 b32', 'b32')

# ---- comparison ----
for kind, types in (('int', ('u16', 's16', 'u32', 's32', 'u64', 's64')), ('float', ('f32', 'f64'))):
    for t in types:
        ops = ['eq', 'ne', 'lt', 'le', 'gt', 'ge']
        ops += ['lo', 'ls', 'hi', 'hs'] if t[0] == 'u' else ['equ', 'neu', 'ltu', 'leu', 'gtu', 'geu', 'num', 'nan'] if t[0] == 'f' else []
        x = f('compare/setp_' + t, 'setp on %s: every comparison.' % t, sets={2: ['edge', 'edge']}, spread=32)
        for op in ops:
            x.form('setp.%s.%s %%p0, {a}, {b}; selp.u32 {d}, 1, 0, %%p0;' % (op, t), t + ' ' + t, 'u32')
            if t == 'f32' and op in ('eq', 'lt', 'geu'):
                x.form('setp.%s.ftz.%s %%p0, {a}, {b}; selp.u32 {d}, 1, 0, %%p0;' % (op, t), t + ' ' + t, 'u32')
x = f('compare/setp_bits', 'setp on bits, on two predicates, and combined with a third.', sets={2: ['few', 'edge']})
for t in ('b16', 'b32', 'b64'):
    for op in ('eq', 'ne'):
        x.form('setp.%s.%s %%p0, {a}, {b}; selp.u32 {d}, 1, 0, %%p0;' % (op, t), t + ' ' + t, 'u32')
for b in ('and', 'or', 'xor'):
    x.form('setp.gt.u32 %%p1, {b}, 7; setp.lt.%s.s32 %%p0|%%p2, {a}, {b}, %%p1; selp.u32 {d}, 1, 0, %%p0; selp.u32 %%t0, 2, 0, %%p2; or.b32 {d}, {d}, %%t0;' % b, 's32 s32', 'u32')
    x.form('setp.gt.u32 %%p1, {b}, 7; setp.ge.%s.u32 %%p0|%%p2, {a}, {b}, !%%p1; selp.u32 {d}, 1, 0, %%p0; selp.u32 %%t0, 2, 0, %%p2; or.b32 {d}, {d}, %%t0;' % b, 's32 s32', 'u32')
    x.form('setp.gt.f32 %%p1, {b}, 0f40000000; setp.lt.%s.f32 %%p0|%%p2, {a}, {b}, %%p1; selp.u32 {d}, 1, 0, %%p0; selp.u32 %%t0, 2, 0, %%p2; or.b32 {d}, {d}, %%t0;' % b, 'f32 f32', 'u32')
x = f('compare/set', 'set: all ones, or 1.0, where the comparison holds.')
for t in ('u16', 's16', 'u32', 's32', 'u64', 's64', 'b16', 'b32', 'b64', 'f32', 'f64'):
    op = 'eq' if t[0] == 'b' else 'lt'
    x.form('set.%s.u32.%s {d}, {a}, {b};' % (op, t), t + ' ' + t, 'u32')
    x.form('set.%s.s32.%s {d}, {a}, {b};' % ('ne' if t[0] != 'f' else 'geu', t), t + ' ' + t, 's32')
    x.form('set.%s.f32.%s {d}, {a}, {b};' % (op, t), t + ' ' + t, 'f32')
x.form('setp.ne.s32 %p1, {a}, 1; set.lt.and.u32.s32 {d}, {a}, {b}, %p1;', 's32 s32', 'u32')
x.form('setp.ne.s32 %p1, {a}, 1; set.lt.xor.f32.s32 {d}, {a}, {b}, !%p1;', 's32 s32', 'f32')
x.form('set.lt.ftz.u32.f32 {d}, {a}, {b};', 'f32 f32', 'u32').form('set.nan.ftz.f32.f32 {d}, {a}, {b};', 'f32 f32', 'f32')
x = f('compare/selp_slct', 'selp and slct.')
for t in ('b16', 'u16', 's16', 'b32', 'u32', 's32', 'f32', 'b64', 'u64', 's64', 'f64'):
    x.form('setp.ge.u%s %%p0, {a}, {b}; selp.%s {d}, {a}, {b}, %%p0;' % (t[1:], t), t + ' ' + t, t)
    x.form('slct.%s.s32 {d}, {a}, {b}, {c};' % t, '%s %s s32' % (t, t), t)
    x.form('slct.%s.f32 {d}, {a}, {b}, {c};' % t, '%s %s f32' % (t, t), t)
x.form('slct.ftz.b32.f32 {d}, {a}, {b}, {c};', 'b32 b32 f32', 'b32')
x = f('compare/testp_copysign', 'testp and copysign.')
for t in ('f32', 'f64'):
    for m in ('finite', 'infinite', 'number', 'notanumber', 'normal', 'subnormal'):
        x.form('testp.%s.%s %%p0, {a}; selp.u32 {d}, 1, 0, %%p0;' % (m, t), t, 'u32')
    x.form('copysign.%s {d}, {a}, {b};' % t, t + ' ' + t, t)

# ---- floating point ----
RND = ('rn', 'rz', 'rm', 'rp')
for op in ('add', 'sub', 'mul'):
    x = f('float/%s_f32' % op, '%s.f32: roundings, .ftz, .sat.' % op)
    for m in ('', '.rn', '.rz', '.rm', '.rp', '.ftz', '.rz.ftz', '.sat', '.rp.ftz.sat'):
        x.form('%s%s.f32 {d}, {a}, {b};' % (op, m), 'f32 f32', 'f32')
    x = f('float/%s_f64' % op, '%s.f64: roundings.' % op)
    for m in ('', '.rn', '.rz', '.rm', '.rp'):
        x.form('%s%s.f64 {d}, {a}, {b};' % (op, m), 'f64 f64', 'f64')
x = f('float/fma_f32', 'fma.f32: roundings, .ftz, .sat; mad.f32 is the same.')
for m in ('.rn', '.rz', '.rm', '.rp', '.rn.ftz', '.rm.ftz', '.rn.sat', '.rn.ftz.sat'):
    x.form('fma%s.f32 {d}, {a}, {b}, {c};' % m, 'f32 f32 f32', 'f32')
x.form('mad.rn.f32 {d}, {a}, {b}, {c};', 'f32 f32 f32', 'f32')
x = f('float/fma_f64', 'fma.f64 and mad.f64: roundings.')
for m in RND:
    x.form('fma.%s.f64 {d}, {a}, {b}, {c};' % m, 'f64 f64 f64', 'f64')
x.form('mad.rz.f64 {d}, {a}, {b}, {c};', 'f64 f64 f64', 'f64')
x = f('float/div_f32', 'div.f32, rounded exactly.')
for m in RND:
    x.form('div.%s.f32 {d}, {a}, {b};' % m, 'f32 f32', 'f32')
x.form('div.rn.ftz.f32 {d}, {a}, {b};', 'f32 f32', 'f32')
x = f('float/div_f64', 'div.f64.')
for m in RND:
    x.form('div.%s.f64 {d}, {a}, {b};' % m, 'f64 f64', 'f64')
for op in ('rcp', 'sqrt'):
    x = f('float/' + op, op + ', rounded exactly.', spread=128)
    for t in ('f32', 'f64'):
        for m in RND:
            x.form('%s.%s.%s {d}, {a};' % (op, m, t), t, t)
    x.form('%s.rn.ftz.f32 {d}, {a};' % op, 'f32', 'f32').form('%s.rp.ftz.f32 {d}, {a};' % op, 'f32', 'f32')
x = f('float/abs_neg', 'abs and neg of floats.')
for t in ('.f32', '.ftz.f32', '.f64'):
    x.form('abs%s {d}, {a};' % t, t[-3:], t[-3:]).form('neg%s {d}, {a};' % t, t[-3:], t[-3:])
x = f('float/min_max', 'min and max of floats: NaN loses; -0 is below +0.')
for t in ('.f32', '.ftz.f32', '.f64'):
    for op in ('min', 'max'):
        x.form('%s%s {d}, {a}, {b};' % (op, t), '%s %s' % (t[-3:], t[-3:]), t[-3:])
x = f('float/min_max_nan', 'min and max with .NaN and .xorsign.abs.', target='sm_86', version='7.2')
for op in ('min', 'max'):
    for m in ('.NaN', '.ftz.NaN', '.xorsign.abs', '.NaN.xorsign.abs', '.ftz.NaN.xorsign.abs'):
        x.form('%s%s.f32 {d}, {a}, {b};' % (op, m), 'f32 f32', 'f32')

# ---- approximations: the bits are the hardware's own ----
x = f('approx/f32', 'Approximate functions of one f32.', spread=128)
for op in ('rcp', 'sqrt', 'rsqrt', 'sin', 'cos', 'lg2', 'ex2'):
    x.form('%s.approx.f32 {d}, {a};' % op, 'f32', 'f32').form('%s.approx.ftz.f32 {d}, {a};' % op, 'f32', 'f32')
x = f('approx/tanh', 'tanh.approx.f32.', target='sm_75', spread=128)
x.form('tanh.approx.f32 {d}, {a};', 'f32', 'f32')
x = f('approx/div', 'div.approx and div.full.')
for m in ('approx', 'approx.ftz', 'full', 'full.ftz'):
    x.form('div.%s.f32 {d}, {a}, {b};' % m, 'f32 f32', 'f32')
x = f('approx/f64', 'rcp.approx.ftz.f64 and rsqrt.approx of f64.', spread=128)
x.form('rcp.approx.ftz.f64 {d}, {a};', 'f64', 'f64').form('rsqrt.approx.f64 {d}, {a};', 'f64', 'f64').form('rsqrt.approx.ftz.f64 {d}, {a};', 'f64', 'f64')

# ---- conversions: basic forms ----
INTS = ('u8', 's8', 'u16', 's16', 'u32', 's32', 'u64', 's64')
for s in INTS:
    x = f('cvt/from_' + s, 'cvt from %s to integers, with and without .sat, and to floats.' % s)
    for d in INTS:
        if d != s:
            x.form('cvt.%s.%s {d}, {a};' % (d, s), s, d)
            n, m = int(s[1:]), int(d[1:])
            if not (m > n and d[0] in ('s', s[0])):      # .sat only where the value may not fit
                x.form('cvt.sat.%s.%s {d}, {a};' % (d, s), s, d)
    for d in ('f16', 'f32', 'f64'):
        for m in RND:
            x.form('cvt.%s.%s.%s {d}, {a};' % (m, d, s), s, d)
for s in ('f16', 'f32', 'f64'):
    x = f('cvt/%s_to_int' % s, 'cvt from %s to integers: NaN, infinities and what is out of range included.' % s)
    for d in INTS:
        for m in ('rni', 'rzi', 'rmi', 'rpi'):
            x.form('cvt.%s.%s.%s {d}, {a};' % (m, d, s), s, d)
        if s == 'f32':
            x.form('cvt.rzi.ftz.%s.%s {d}, {a};' % (d, s), s, d)
x = f('cvt/float', 'cvt between f16, f32 and f64, and rounding to an integer in the same type.', spread=96)
for s, d in (('f32', 'f16'), ('f64', 'f16'), ('f64', 'f32')):
    for m in RND:
        x.form('cvt.%s.%s.%s {d}, {a};' % (m, d, s), s, d)
    x.form('cvt.rn.sat.%s.%s {d}, {a};' % (d, s), s, d)
for s, d in (('f16', 'f32'), ('f16', 'f64'), ('f32', 'f64')):
    x.form('cvt.%s.%s {d}, {a};' % (d, s), s, d).form('cvt.sat.%s.%s {d}, {a};' % (d, s), s, d)
for t in ('f16', 'f32', 'f64'):
    for m in ('rni', 'rzi', 'rmi', 'rpi'):
        x.form('cvt.%s.%s.%s {d}, {a};' % (m, t, t), t, t)
    x.form('cvt.sat.%s.%s {d}, {a};' % (t, t), t, t)
x.form('cvt.ftz.f64.f32 {d}, {a};', 'f32', 'f64').form('cvt.rn.ftz.f16.f32 {d}, {a};', 'f32', 'f16').form('cvt.rn.ftz.f32.f64 {d}, {a};', 'f64', 'f32')
x.form('cvt.ftz.sat.f32.f32 {d}, {a};', 'f32', 'f32').form('cvt.rni.ftz.f32.f32 {d}, {a};', 'f32', 'f32')

# ---- what no list above has, with values by exact fractions ----
x = f('float/sqrt_ftz', 'sqrt with .ftz in the other roundings.', spread=64)
for m in ('rz', 'rm'):
    g = plain('sqrt', [m, 'ftz'], ['f32'])
    x.form('sqrt.%s.ftz.f32 {d}, {a};' % m, 'f32', 'f32', ref=lambda a, g=g: g(a))

# ---- sm_100: no such hardware has been recorded, so all is derived, by exact fractions ----
def derived(x, op, mods, t, n):
    f = plain(op, [m for m in mods.split('.') if m], [t])
    text = ', '.join('{%s}' % 'abc'[i] for i in range(n))
    x.form('%s%s.%s {d}, %s;' % (op, mods, t, text), ' '.join([t] * n), t, ref=lambda *v: f(*v))


x = f('float/f32x2', 'Pairs of f32: add, sub, mul and fma in every rounding.', target='sm_100', version='8.6', sets={2: ['few', 'edge'], 3: ['few', 'few', 'edge']})
x.crossed = 2
for op in ('add', 'sub', 'mul'):
    for m in ('', '.rn', '.rz', '.rm', '.rp', '.ftz', '.rz.ftz', '.rp.ftz'):
        derived(x, op, m, 'f32x2', 2)
for m in ('.rn', '.rz', '.rm', '.rp', '.rn.ftz', '.rm.ftz'):
    derived(x, 'fma', m, 'f32x2', 3)
x = f('float/min_max_three', 'min and max of three f32.', target='sm_100', version='8.8')
for op in ('min', 'max'):
    for m in ('', '.ftz', '.NaN', '.ftz.NaN', '.abs', '.NaN.abs'):
        derived(x, op, m, 'f32', 3)

for x in files:
    x.write()
print(len(files), 'files')
