#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests of communication between lanes, of control flow, barriers and special registers: warp.py ROOT. References are
written from the PTX ISA's text."""
import os, sys
from forms import values, M

ROOT = sys.argv[1]
N = 64


class Test:
    def __init__(self, path, title, target='sm_70', version='7.0', top=''):
        self.path, self.head, self.lines, self.code, self.top = path, title, [], [], top
        self.target, self.version = target, version

    def kernel(self, name, ins, outs, body, launch='block 64', index='%tid.x', notes=(), regs='', wide=()):
        """ins: name -> (type, text of values); outs: name -> (type, count, expected or None or 'recorded' or 'any'). A
        buffer x is read to %x and written from it; wide ones hold 64 bits."""
        L = self.lines
        L += ['', '//! test ' + name] + ['//! ' + n for n in notes]
        L += ['//! buffer %s %s = %s' % (n, t, v) for n, (t, v) in ins.items()]
        L += ['//! buffer %s %s[%d]' % (n, t, c) for n, (t, c, _) in outs.items()]
        L += ['//! launch %s %s' % (name, launch)]
        for n, (t, c, e) in outs.items():
            if e == 'any':
                L.append('//! expect %s any' % n)
            elif e is None or e == 'recorded':
                L.append('//! expect %s recorded' % n)
            else:
                w = 16 if t[1:] == '64' else 8
                words = ['?' if v is None else '0x%0*x' % (w, v & ((1 << 4 * w) - 1)) for v in e]
                if len(set(words)) == 1:
                    L.append('//! expect %s derived = %d x %s' % (n, len(words), words[0]))
                    continue
                L.append('//! expect %s derived =' % n)
                L += ['//!     ' + ' '.join(words[i:i + 8]) for i in range(0, len(words), 8)]
        names = list(ins) + list(outs)
        o = ['', '.visible .entry %s(%s)' % (name, ', '.join('.param .u64 p_' + n for n in names)), '{',
             '    .reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %i, %lane, %t<12>; .reg .b64 %q<8>, %at; ' + regs]
        o += ['    .reg .b%s %%%s;' % ('64' if t[1:] == '64' else '32', n) for n, (t, *_) in list(ins.items()) + list(outs.items())]
        o += ['    mov.u32 %%i, %s;' % index] if '%' in index and ';' not in index else ['    ' + index]
        o += ['    mov.u32 %lane, %laneid;']
        for n, (t, _) in ins.items():
            o.append('    ld.param.u64 %%at, [p_%s]; mad.wide.u32 %%at, %%i, %d, %%at; ld.global.b%s %%%s, [%%at];' % (n, 8 if t[1:] == '64' else 4, '64' if t[1:] == '64' else '32', n))
        o += ['    mov.b%s %%%s, 0;' % ('64' if t[1:] == '64' else '32', n) for n, (t, *_) in outs.items()]
        o += ['    ' + x.strip() if not x.strip().endswith(':') else x.strip() for x in body.strip().split('\n')]
        for n, (t, *_) in outs.items():
            o.append('    ld.param.u64 %%at, [p_%s]; mad.wide.u32 %%at, %%i, %d, %%at; st.global.b%s [%%at], %%%s;' % (n, 8 if t[1:] == '64' else 4, '64' if t[1:] == '64' else '32', n))
        self.code += o + ['    ret;', '}']
        return self

    def raw(self, lines, code):
        self.lines += [''] + lines
        self.code += [''] + code
        return self

    def write(self):
        path = os.path.join(ROOT, self.path + '.ptx')
        os.makedirs(os.path.dirname(path), exist_ok=True)
        keep = {}
        if os.path.exists(path):        # recorded lists stay
            test = None
            for line in open(path).read().split('\n'):
                if line.startswith('//! test '):
                    test = line[9:]
                    block = None
                elif line.startswith('//! expect ') and ' recorded "' in line:
                    block = keep.setdefault((test, line.split()[2]), [])
                    block.append(line)
                elif line.startswith('//!  ') and test and block is not None:
                    block.append(line)
                else:
                    block = None
        out, test = [], None
        for line in self.lines:
            if line.startswith('//! test '):
                test = line[9:]
            if line.startswith('//! expect ') and line.endswith(' recorded'):
                out += keep.get((test, line.split()[2]), [line])
            else:
                out.append(line)
        head = ['// SPDX-License-Identifier: Apache-2.0', '// ' + self.head, '.version ' + self.version, '.target ' + self.target, '.address_size 64']
        open(path, 'w').write('\n'.join(head + ([self.top] if self.top else []) + out + self.code) + '\n')


A = values('u32', 'random', N, 11)
IN_A = ('u32', '%d x @random(11)' % N)
lanes = range(N)

# ---- shfl ----
def shfl(mode, a, b, c):
    """By lane: value and predicate (PTX ISA 9.7.9.6)."""
    d, p = [], []
    for i in range(N):
        lane, base = i % 32, i - i % 32
        bval, seg, cval = b[i] & 31, c[i] >> 8 & 31, c[i] & 31
        most, least = (lane & seg) | (cval & ~seg), lane & seg
        j, ok = {'up': (lane - bval, lane - bval >= most), 'down': (lane + bval, lane + bval <= most), 'bfly': (lane ^ bval, lane ^ bval <= most),
                 'idx': (least | (bval & ~seg), (least | (bval & ~seg)) <= most)}[mode]
        ok = (lane ^ bval) <= most if mode == 'bfly' else ok
        j = j if ok else lane
        d.append(a[base + j])
        p.append(int(ok))
    return d, p

for old in (False, True):
    t = Test('warp/shfl' + ('_without_sync' if old else ''), 'shfl%s: all modes, whole warps and segments, with and without the predicate.' % ('' if old else '.sync'),
             'sm_60' if old else 'sm_70', '6.0' if old else '7.0')
    for mode in ('up', 'down', 'bfly', 'idx'):
        outs, body = {}, ''
        for k, (b, c) in enumerate(((1, 0 if mode == 'up' else 31), (7, 0 if mode == 'up' else 31), (3, 0x1800 if mode == 'up' else 0x181f), (33, 0x1c00 if mode == 'up' else 0x1c1f))):
            d, p = shfl(mode, A, [b] * N, [c] * N)
            outs['d%d' % k], outs['p%d' % k] = ('u32', N, d), ('u32', N, p)
            mask = '' if old else ', -1'
            body += 'shfl%s.%s.b32 %%d%d|%%p1, %%a, %d, %d%s; selp.u32 %%o%d, 1, 0, %%p1;\n' % ('' if old else '.sync', mode, k, b, c, mask, k)
        outs = {('o' + n[1:] if n[0] == 'p' else n): v for n, v in outs.items()}
        t.kernel(mode, {'a': IN_A}, outs, body)
    bs = [(i * 5 + 3) % 32 for i in lanes]
    d, p = shfl('idx', A, bs, [31] * N)
    t.kernel('lane_varying', {'a': IN_A, 'b': ('u32', ' '.join(map(str, bs)))}, {'d': ('u32', N, d)}, 'shfl%s.idx.b32 %%d, %%a, %%b, 31%s;' % (('', '') if old else ('.sync', ', -1')))
    if not old:
        t.kernel('modes_plain', {'a': IN_A}, {'u': ('u32', N, shfl('up', A, [2] * N, [0] * N)[0]), 'v': ('u32', N, shfl('down', A, [2] * N, [31] * N)[0]),
                 'w': ('u32', N, shfl('bfly', A, [2] * N, [31] * N)[0])},
                 'shfl.sync.up.b32 %u, %a, 2, 0, -1;\nshfl.sync.down.b32 %v, %a, 2, 31, -1;\nshfl.sync.bfly.b32 %w, %a, 2, 31, -1;')
        d = [A[i ^ 2] if i % 2 else A[i ^ 4] for i in lanes]
        t.kernel('divergent', {'a': IN_A}, {'d': ('u32', N, d)}, '''and.b32 %t0, %lane, 1; setp.eq.u32 %p1, %t0, 1; @%p1 bra ODD;
            shfl.sync.bfly.b32 %d, %a, 4, 31, 0x55555555; bra DONE;
            ODD:
            shfl.sync.bfly.b32 %d, %a, 2, 31, 0xaaaaaaaa;
            DONE:'''.replace('ODD:\n', '\nODD:\n'))
    else:
        t.kernel('modes_plain', {'a': IN_A}, {'u': ('u32', N, shfl('up', A, [2] * N, [0] * N)[0]), 'v': ('u32', N, shfl('down', A, [2] * N, [31] * N)[0]),
                 'w': ('u32', N, shfl('bfly', A, [2] * N, [31] * N)[0])},
                 'shfl.up.b32 %u, %a, 2, 0;\nshfl.down.b32 %v, %a, 2, 31;\nshfl.bfly.b32 %w, %a, 2, 31;')
    t.write()

# ---- vote, match, redux, activemask ----
preds = {'none': [0] * N, 'all': [1] * N, 'some': [(i * 7 % 5 == 0) + 0 for i in lanes], 'one': [int(i % 32 == 13) for i in lanes]}

def groups(mask_of):
    """Lanes of a warp with the same mask take part together."""
    return lambda i: [j for j in range(i - i % 32, i - i % 32 + 32) if mask_of(i) >> (j % 32) & 1]

def vote(mode, p, member):
    out = []
    for i in lanes:
        v = [p[j] for j in member(i)]
        out.append({'all': int(all(v)), 'any': int(any(v)), 'uni': int(len(set(v)) <= 1),
                    'ballot': sum(p[j] << (j % 32) for j in member(i))}[mode])
    return out

for old in (False, True):
    t = Test('warp/vote' + ('_without_sync' if old else ''), 'vote%s: predicates of a warp.' % ('' if old else '.sync'), 'sm_60' if old else 'sm_70', '6.0' if old else '7.0')
    s, m = ('', '') if old else ('.sync', ', -1')
    every = groups(lambda i: M[32])
    for name, p in preds.items():
        outs = {'d%d' % k: ('u32', N, vote(mode, p, every)) for k, mode in enumerate(('all', 'any', 'uni', 'ballot'))}
        outs['d4'] = ('u32', N, vote('ballot', [1 - x for x in p], every))
        body = 'setp.ne.u32 %p1, %a, 0;\n' + ''.join('vote%s.%s.pred %%p2, %%p1%s; selp.u32 %%d%d, 1, 0, %%p2;\n' % (s, mode, m, k) for k, mode in enumerate(('all', 'any', 'uni')))
        body += 'vote%s.ballot.b32 %%d3, %%p1%s;\nvote%s.ballot.b32 %%d4, !%%p1%s;' % (s, m, s, m)
        t.kernel(name, {'a': ('u32', ' '.join(map(str, p)))}, outs, body)
    if not old:
        p, split = preds['some'], groups(lambda i: 0x0f0f0f0f if i & 4 == 0 else 0xf0f0f0f0)
        outs = {'d%d' % k: ('u32', N, vote(mode, p, split)) for k, mode in enumerate(('all', 'any', 'ballot'))}
        def half(label, mask):
            return ''.join('vote.sync.%s.pred %%p2, %%p1, %s; selp.u32 %%d%d, 1, 0, %%p2;\n' % (mode, mask, k) for k, mode in enumerate(('all', 'any'))) + 'vote.sync.ballot.b32 %%d2, %%p1, %s;\n' % mask
        t.kernel('divergent', {'a': ('u32', ' '.join(map(str, p)))}, outs, 'setp.ne.u32 %p1, %a, 0; and.b32 %t0, %lane, 4; setp.ne.u32 %p3, %t0, 0; @%p3 bra HIGH;\n' +
                 half('', '0x0f0f0f0f') + 'bra DONE;\nHIGH:\n' + half('', '0xf0f0f0f0') + 'DONE:')
    t.write()

KEYS = [(i * i) % 7 for i in lanes]
SAME = [5] * 32 + [i % 2 for i in range(32)]

def match_any(k, member):
    return [sum(1 << (j % 32) for j in member(i) if k[j] == k[i]) for i in lanes]

def match_all(k, member):
    same = [len({k[j] for j in member(i)}) == 1 for i in lanes]
    return [sum(1 << (j % 32) for j in member(i)) if same[i] else 0 for i in lanes], [int(x) for x in same]

t = Test('warp/match', 'match: which lanes have the same value.')
every = groups(lambda i: M[32])
for name, k in (('keys', KEYS), ('same', SAME)):
    d2, p2 = match_all(k, every)
    for n in (32, 64):
        v = '%a' if n == 32 else '%q1'
        t.kernel('%s_%d' % (name, n), {'a': ('u32', ' '.join(map(str, k)))}, {'d0': ('u32', N, match_any(k, every)), 'd1': ('u32', N, d2), 'o1': ('u32', N, p2), 'd2': ('u32', N, d2)},
                 ('cvt.u64.u32 %q1, %a; shl.b64 %q1, %q1, 40;\n' if n == 64 else '') +
                 'match.any.sync.b%d %%d0, %s, -1;\nmatch.all.sync.b%d %%d1|%%p1, %s, -1; selp.u32 %%o1, 1, 0, %%p1;\nmatch.all.sync.b%d %%d2, %s, -1;' % (n, v, n, v, n, v))
odd = groups(lambda i: 0xaaaaaaaa if i & 1 else 0x55555555)
t.kernel('divergent', {'a': ('u32', ' '.join(map(str, KEYS)))}, {'d0': ('u32', N, match_any(KEYS, odd))},
         'and.b32 %t0, %lane, 1; setp.eq.u32 %p1, %t0, 1; @%p1 bra ODD;\nmatch.any.sync.b32 %d0, %a, 0x55555555;\nbra DONE;\nODD:\nmatch.any.sync.b32 %d0, %a, 0xaaaaaaaa;\nDONE:')
t.write()

def sg(x):
    return x - (1 << 32) if x >> 31 else x

def redux(op, a, member):
    out = []
    for i in lanes:
        v = [a[j] for j in member(i)]
        r = v[0]
        for x in v[1:]:
            r = {'add': r + x, 'and': r & x, 'or': r | x, 'xor': r ^ x, 'min.u32': min(r, x), 'max.u32': max(r, x),
                 'min.s32': min(r, x, key=sg), 'max.s32': max(r, x, key=sg)}[op if op in ('and', 'or', 'xor') else op.split('.')[0] if op[:3] == 'add' else op]
        out.append(r & M[32])
    return out

t = Test('warp/redux', 'redux: one value from a warp, or from the lanes of a mask.', 'sm_80', '7.0')
ops = [('add', 'add.u32'), ('add', 'add.s32'), ('min.u32', 'min.u32'), ('min.s32', 'min.s32'), ('max.u32', 'max.u32'), ('max.s32', 'max.s32'), ('and', 'and.b32'), ('or', 'or.b32'), ('xor', 'xor.b32')]
for name, seed in (('random', 11), ('more', 12)):
    a = values('u32', 'random', N, seed)
    t.kernel(name, {'a': ('u32', '%d x @random(%d)' % (N, seed))}, {'d%d' % k: ('u32', N, redux(o, a, every)) for k, (o, _) in enumerate(ops)},
             ''.join('redux.sync.%s %%d%d, %%a, -1;\n' % (x, k) for k, (_, x) in enumerate(ops)))
third = groups(lambda i: 0x49249249 if i % 32 % 3 == 0 else 0xb6db6db6)
t.kernel('divergent', {'a': IN_A}, {'d%d' % k: ('u32', N, redux(o, A, third)) for k, (o, _) in enumerate(ops[:4])},
         'rem.u32 %t0, %lane, 3; setp.ne.u32 %p1, %t0, 0; @%p1 bra OTHER;\n' + ''.join('redux.sync.%s %%d%d, %%a, 0x49249249;\n' % (x, k) for k, (_, x) in enumerate(ops[:4])) +
         'bra DONE;\nOTHER:\n' + ''.join('redux.sync.%s %%d%d, %%a, 0xb6db6db6;\n' % (x, k) for k, (_, x) in enumerate(ops[:4])) + 'DONE:')
t.write()

t = Test('warp/activemask', 'activemask under divergence, and bar.warp.sync.')
t.kernel('whole', {'a': IN_A}, {'d': ('u32', N, [M[32]] * N)}, 'activemask.b32 %d;')
t.kernel('nested', {'a': IN_A}, {'d': ('u32', N, [{0: 0x55555555, 1: 0x22222222, 3: 0x88888888}[i % 4 if i % 2 else 0] for i in lanes]), 'e': ('u32', N, [M[32]] * N)},
         '''and.b32 %t0, %lane, 1; setp.eq.u32 %p1, %t0, 1; @%p1 bra ODD;
activemask.b32 %d; bra DONE;
ODD:
and.b32 %t0, %lane, 2; setp.ne.u32 %p2, %t0, 0; @%p2 bra THREE;
activemask.b32 %d; bra DONE;
THREE:
activemask.b32 %d;
DONE:
bar.warp.sync -1;
activemask.b32 %e;''')
t.write()

# ---- control flow ----
t = Test('flow/branches', 'Branches that lanes take differently; loops with different numbers of rounds; exit in the middle.')
collatz = []
for i in lanes:
    n, k = i + 1, 0
    while n != 1:
        n, k = (n // 2 if n % 2 == 0 else 3 * n + 1), k + 1
    collatz.append(k)
t.kernel('loop', {'a': IN_A}, {'d': ('u32', N, collatz)}, '''add.u32 %t0, %i, 1;
AGAIN:
setp.eq.u32 %p1, %t0, 1; @%p1 bra DONE;
and.b32 %t1, %t0, 1; setp.eq.u32 %p2, %t1, 0;
@%p2 shr.u32 %t0, %t0, 1;
@!%p2 mad.lo.u32 %t0, %t0, 3, 1;
add.u32 %d, %d, 1;
bra.uni AGAIN;
DONE:''')
nested = [sum(x * y for x in range(i % 5) for y in range(i % 7) if (x + y) % 3 != 1) for i in lanes]
t.kernel('nested', {'a': IN_A}, {'d': ('u32', N, nested)}, '''rem.u32 %t0, %i, 5; rem.u32 %t1, %i, 7; mov.u32 %t2, 0;
OUTER:
setp.ge.u32 %p1, %t2, %t0; @%p1 bra DONE;
mov.u32 %t3, 0;
INNER:
setp.ge.u32 %p2, %t3, %t1; @%p2 bra NEXT;
add.u32 %t4, %t2, %t3; rem.u32 %t4, %t4, 3; setp.eq.u32 %p3, %t4, 1; @%p3 bra SKIP;
mad.lo.u32 %d, %t2, %t3, %d;
SKIP:
add.u32 %t3, %t3, 1; bra INNER;
NEXT:
add.u32 %t2, %t2, 1; bra OUTER;
DONE:''')
sw = [[10, 21, 32, 43, 99][min(i % 9, 4)] + i for i in lanes]
t.kernel('brx', {'a': IN_A}, {'d': ('u32', N, sw)}, '''rem.u32 %t0, %i, 9; min.u32 %t0, %t0, 4;
ts: .branchtargets L0, L1, L2, L3, L4;
brx.idx %t0, ts;
L0:
mov.u32 %d, 10; bra DONE;
L1:
mov.u32 %d, 21; bra DONE;
L2:
mov.u32 %d, 32; bra DONE;
L3:
mov.u32 %d, 43; bra DONE;
L4:
mov.u32 %d, 99;
DONE:
add.u32 %d, %d, %i;''')
t.kernel('brx_uni', {'a': IN_A}, {'d': ('u32', N, [7 if i < 32 else 8 for i in lanes])}, '''shr.u32 %t0, %i, 5;
ts: .branchtargets L0, L1;
brx.idx.uni %t0, ts;
L0:
mov.u32 %d, 7; bra.uni DONE;
L1:
mov.u32 %d, 8;
DONE:''')
t.raw(['//! test exits', '//! buffer d u32[64]', '//! launch exits block 64',
       '//! expect d derived =', *['//!     ' + ' '.join('0x%08x' % (0 if i % 3 == 0 else 2 if i % 3 == 1 else 5) for i in range(k, k + 8)) for k in range(0, 64, 8)]],
      '''.visible .entry exits(.param .u64 d)
{
    .reg .pred %p<3>; .reg .b32 %i, %t; .reg .b64 %a;
    mov.u32 %i, %tid.x; ld.param.u64 %a, [d]; mad.wide.u32 %a, %i, 4, %a;
    rem.u32 %t, %i, 3;
    setp.eq.u32 %p0, %t, 0;
    @%p0 exit;
    st.global.u32 [%a], 2;
    setp.eq.u32 %p1, %t, 1;
    @%p1 ret.uni;
    st.global.u32 [%a], 5;
    exit;
}'''.split('\n'))
t.write()

FUNCS = '''.func nothing { ret; }
.func (.param .b32 r) square (.param .b32 x) { .reg .b32 %x; ld.param.b32 %x, [x]; mul.lo.u32 %x, %x, %x; st.param.b32 [r], %x; ret; }
.func (.param .b32 r) plus7 (.param .b32 x) { .reg .b32 %x; ld.param.b32 %x, [x]; add.u32 %x, %x, 7; st.param.b32 [r], %x; ret; }
.func (.param .b32 r) fact (.param .b32 x)
{
    .reg .pred %p; .reg .b32 %x, %y;
    .param .b32 a1, r1;
    ld.param.b32 %x, [x];
    setp.lt.u32 %p, %x, 2; @%p bra ONE;
    sub.u32 %y, %x, 1;
    st.param.b32 [a1], %y;
    call (r1), fact, (a1);
    ld.param.b32 %y, [r1];
    mul.lo.u32 %y, %y, %x;
    st.param.b32 [r], %y;
    ret;
ONE:
    st.param.b32 [r], 1;
    ret;
}
.func (.reg .b32 %r) twice (.reg .b32 %x) { add.u32 %r, %x, %x; ret; }'''
t = Test('flow/calls', 'Calls: direct, recursive, through prototypes and lists of targets, with lanes that call different functions.', top=FUNCS)
fact = [1]
for i in range(1, 13):
    fact.append(fact[-1] * i & M[32])
t.kernel('direct', {'a': IN_A}, {'d': ('u32', N, [A[i] * A[i] for i in lanes]), 'e': ('u32', N, [fact[i % 13] for i in lanes]), 'f': ('u32', N, [2 * A[i] for i in lanes])},
         '''call nothing;
call.uni nothing;
{ .param .b32 x, r; st.param.b32 [x], %a; call.uni (r), square, (x); ld.param.b32 %d, [r]; }
{ .param .b32 x, r; rem.u32 %t0, %i, 13; st.param.b32 [x], %t0; call (r), fact, (x); ld.param.b32 %e, [r]; }
call (%f), twice, (%a);
call.uni (%f), twice, (%a);''')
t.kernel('indirect', {'a': IN_A}, {'d': ('u32', N, [A[i] * A[i] if i % 2 else A[i] + 7 for i in lanes])},
         '''and.b32 %t0, %i, 1; setp.eq.u32 %p1, %t0, 1;
mov.u64 %q1, square; mov.u64 %q2, plus7; selp.b64 %q1, %q1, %q2, %p1;
proto: .callprototype (.param .b32 _) _ (.param .b32 _);
{ .param .b32 x, r; st.param.b32 [x], %a; call (r), %q1, (x), proto; ld.param.b32 %d, [r]; }''')
t.kernel('targets', {'a': IN_A}, {'d': ('u32', N, [A[i] * A[i] if i >= 32 else A[i] + 7 for i in lanes])},
         '''setp.ge.u32 %p1, %i, 32;
mov.u64 %q1, square; mov.u64 %q2, plus7; selp.b64 %q1, %q1, %q2, %p1;
list: .calltargets square, plus7;
{ .param .b32 x, r; st.param.b32 [x], %a; call (r), %q1, (x), list; ld.param.b32 %d, [r]; }''')
t.kernel('divergent', {'a': IN_A}, {'d': ('u32', N, [A[i] * A[i] if i % 3 == 0 else 0 for i in lanes])},
         '''rem.u32 %t0, %i, 3; setp.ne.u32 %p1, %t0, 0; @%p1 bra DONE;
{ .param .b32 x, r; st.param.b32 [x], %a; call (r), square, (x); ld.param.b32 %d, [r]; }
DONE:''')
t.write()

# ---- barriers ----
t = Test('sync/barriers', 'Barriers: all threads, some, arrival without waiting, and reductions. Values cross shared memory.', 'sm_70', '7.8', top='.shared .align 4 .b32 box[128];')
STORE = 'mov.u64 %q1, box; mad.wide.u32 %q2, %i, 4, %q1; st.shared.u32 [%q2], %a; sub.u32 %t1, 63, %i; mad.wide.u32 %q3, %t1, 4, %q1;\n'
rev = [A[63 - i] for i in lanes]
for k, b in enumerate(('bar.sync 0;', 'bar.sync 1, 64;', 'mov.u32 %t2, 3; bar.sync %t2;', 'mov.u32 %t2, 64; bar.sync 1, %t2;', 'bar.cta.sync 1;', 'barrier.sync 0;', 'barrier.sync.aligned 1;',
                       'barrier.sync 1, 64;', 'mov.u32 %t2, 5; barrier.sync %t2;', 'barrier.cta.sync 1;')):
    t.kernel('sync%d' % k, {'a': IN_A}, {'d': ('u32', N, rev)}, STORE + b + '\nld.shared.u32 %d, [%q3];')
for k, b in enumerate(('bar', 'barrier')):
    t.kernel('arrive%d' % k, {'a': IN_A}, {'d': ('u32', N, [A[63 - i] if i >= 32 else 0 for i in lanes])},
             STORE + 'setp.ge.u32 %%p1, %%i, 32; @%%p1 bra WAIT;\n%s.arrive 2, 64; bra DONE;\nWAIT:\n%s.sync 2, 64;\nld.shared.u32 %%d, [%%q3];\nDONE:' % (b, b))
    odd = [A[i] & 1 for i in lanes]
    t.kernel('reduce%d' % k, {'a': IN_A}, {'d0': ('u32', N, [sum(odd)] * N), 'd1': ('u32', N, [int(all(odd))] * N), 'd2': ('u32', N, [int(any(odd))] * N), 'd3': ('u32', N, [64 - sum(odd)] * N)},
             ('and.b32 %%t0, %%a, 1; setp.eq.u32 %%p1, %%t0, 1;\n%s.red.popc.u32 %%d0, 1, %%p1;\n%s.red.and.pred %%p2, 1, %%p1; selp.u32 %%d1, 1, 0, %%p2;\n'
              '%s.red.or.pred %%p2, 1, %%p1; selp.u32 %%d2, 1, 0, %%p2;\n%s.red.popc.u32 %%d3, 1, 64, !%%p1;') % ((b,) * 4))
t.write()

# ---- warps that wait for each other at different places ----
PEEK = '''.visible .func (.param .b32 r) peek(.param .b64 p)
{
    .reg .b32 %x; .reg .b64 %a; ld.param.u64 %a, [p]; ld.volatile.u32 %x, [%a]; st.param.b32 [r], %x; ret;
}'''
t = Test('sync/warps', 'Warps of a block that wait for each other at different places of the program: no order of theirs alone can go on.', 'sm_90', '7.8',
         top='.shared .align 4 .b32 box[32], turn, lock;\n.shared .align 8 .b64 full, empty;\n' + PEEK)
SETUP = 'and.b32 %t9, %i, 31; mov.u64 %q1, box; mad.wide.u32 %q2, %t9, 4, %q1; mov.u64 %q3, turn; setp.eq.u32 %p7, %lane, 0; setp.lt.u32 %p6, %i, 32;\n'
ping = [0] * 32         # warp 0: 3 x + a; warp 1: x ^ a; eight times in turn
for r in range(8):
    ping = [(3 * x + A[l]) & M[32] ^ A[l + 32] for l, x in enumerate(ping)]
for name, look in (('ping', 'ld.volatile.shared.u32 %t2, [%q3]; setp.ne.u32 %p1, %t2, %t1; @%p1 bra W#;'),
                   ('ping_acquire', 'ld.acquire.cta.shared.u32 %t2, [%q3]; setp.eq.u32 %p1, %t2, %t1; @%p1 bra G#; bra W#;\nG#:'),
                   ('ping_fence', 'membar.cta; ld.shared.u32 %t2, [%q3]; setp.ne.u32 %p1, %t2, %t1; @%p1 bra W#;'),
                   ('ping_cas', 'atom.shared.cas.b32 %t2, [%q3], %t1, %t1; setp.ne.u32 %p1, %t2, %t1; @%p1 bra W#;'),
                   ('ping_add', 'atom.shared.add.u32 %t2, [%q3], 0; setp.ne.u32 %p1, %t2, %t1; @%p1 bra W#;'),
                   ('ping_branch', 'mov.u32 %t3, 0;\nL#:\nld.volatile.shared.u32 %t2, [%q3]; setp.ne.u32 %p1, %t2, %t1; @%p1 bra N#;\nmov.u32 %t3, 1;\nN#:\nsetp.eq.u32 %p2, %t3, 0; @%p2 bra L#;'),
                   ('ping_call', '{ .param .b64 p; .param .b32 r; cvta.shared.u64 %q4, %q3; st.param.b64 [p], %q4; call (r), peek, (p); ld.param.b32 %t2, [r]; }\nsetp.ne.u32 %p1, %t2, %t1; @%p1 bra W#;')):
    def side(k, work):
        return ('mov.u32 %%t1, %d;\nW%d:\n%s\nmembar.cta; ld.volatile.shared.u32 %%t4, [%%q2]; %s st.volatile.shared.u32 [%%q2], %%t4; membar.cta; bar.warp.sync -1;\n'
                'add.u32 %%t5, %%t1, 1; @%%p7 st.volatile.shared.u32 [%%q3], %%t5; add.u32 %%t1, %%t1, 2; setp.lt.u32 %%p3, %%t1, 16; @%%p3 bra W%d;\n'
                % (k, k, look.replace('#', str(k)), work, k))
    t.kernel(name, {'a': IN_A}, {'d': ('u32', N, ping * 2)},
             SETUP + '@%p6 st.shared.u32 [%q2], 0; mov.u32 %t0, 0; st.shared.u32 [%q3], %t0; bar.sync 0; @!%p6 bra SECOND;\n' + side(0, 'mad.lo.u32 %t4, %t4, 3, %a;') +
             'bra DONE;\nSECOND:\n' + side(1, 'xor.b32 %t4, %t4, %a;') + 'DONE:\nbar.sync 0; ld.shared.u32 %d, [%q2];',
             notes=('skip host a loop that waits for what a function reads is not recognised there (docs/host-engine.md)',) if name == 'ping_call' else ())
A4 = values('u32', 'random', 128, 11)
t.kernel('locked', {'a': ('u32', '128 x @random(11)')}, {'d': ('u32', 128, [sum(A4[w * 32 + i % 32] for w in range(4)) for i in range(128)])},
         SETUP + '''@%p6 st.shared.u32 [%q2], 0; mov.u64 %q4, lock; mov.u32 %t0, 0; st.shared.u32 [%q4], %t0; bar.sync 0; @!%p7 bra HAVE;
TRY:
atom.shared.cas.b32 %t1, [%q4], 0, 1; setp.ne.u32 %p1, %t1, 0; @%p1 bra TRY;
HAVE:
bar.warp.sync -1; membar.cta; ld.volatile.shared.u32 %t2, [%q2]; add.u32 %t2, %t2, %a; st.volatile.shared.u32 [%q2], %t2; membar.cta; bar.warp.sync -1;
@%p7 atom.shared.exch.b32 %t3, [%q4], 0;
bar.sync 0; ld.shared.u32 %d, [%q2];''', launch='block 128')
acc = [0] * 32          # warp 0 writes a + r, warp 1 reads the other way round
for r in range(4):
    acc = [(5 * x + A[31 - l] + r) & M[32] for l, x in enumerate(acc)]
for name, one, two in (('numbered', 'bar.sync 1, 64;', 'bar.sync 2, 64;'), ('register', 'mov.u32 %t7, 5; barrier.sync %t7;', 'mov.u32 %t7, 6; barrier.sync %t7, 64;'),
                       ('apart', 'bar.sync 0;', 'barrier.sync 0;'), ('reduced', 'bar.red.popc.u32 %t7, 0, %p6;', 'bar.red.or.pred %p4, 0, %p6;')):
    t.kernel(name, {'a': IN_A}, {'d': ('u32', N, [0] * 32 + acc)},
             SETUP + 'xor.b32 %%t8, %%t9, 31; mad.wide.u32 %%q4, %%t8, 4, %%q1; mov.u32 %%t1, 0; @!%%p6 bra READ;\nWRITE:\nadd.u32 %%t2, %%a, %%t1; st.shared.u32 [%%q2], %%t2; %s\n%s\n'
             'add.u32 %%t1, %%t1, 1; setp.lt.u32 %%p1, %%t1, 4; @%%p1 bra WRITE;\nbra DONE;\nREAD:\n%s\nld.shared.u32 %%t2, [%%q4]; mad.lo.u32 %%d, %%d, 5, %%t2; %s\n'
             'add.u32 %%t1, %%t1, 1; setp.lt.u32 %%p1, %%t1, 4; @%%p1 bra READ;\nDONE:' % (one, two, one, two))
t.kernel('mbarriers', {'a': IN_A}, {'d': ('u32', N, [0] * 32 + acc)},
         SETUP + '''xor.b32 %t8, %t9, 31; mad.wide.u32 %q4, %t8, 4, %q1; mov.u32 %t1, 0; mov.u64 %q5, full; mov.u64 %q6, empty;
setp.eq.u32 %p1, %i, 0; @%p1 mbarrier.init.shared.b64 [%q5], 32; @%p1 mbarrier.init.shared.b64 [%q6], 32; bar.sync 0; @!%p6 bra READ;
WRITE:
add.u32 %t2, %a, %t1; st.shared.u32 [%q2], %t2; mbarrier.arrive.shared.b64 %q7, [%q5]; and.b32 %t3, %t1, 1;
FREE:
mbarrier.test_wait.parity.shared.b64 %p2, [%q6], %t3; @!%p2 bra FREE;
add.u32 %t1, %t1, 1; setp.lt.u32 %p1, %t1, 4; @%p1 bra WRITE;
bra DONE;
READ:
and.b32 %t3, %t1, 1;
FULL:
mbarrier.try_wait.parity.shared.b64 %p2, [%q5], %t3; @!%p2 bra FULL;
ld.shared.u32 %t2, [%q4]; mad.lo.u32 %d, %d, 5, %t2; mbarrier.arrive.shared.b64 %q7, [%q6];
add.u32 %t1, %t1, 1; setp.lt.u32 %p1, %t1, 4; @%p1 bra READ;
DONE:''')
# The numbers of threads where the block's shape is no multiple of a warp, and what lies beside them.
SX, SY, SZ = 5, 7, 2
T = SX * SY * SZ
t.kernel('shape', {'a': ('u32', '%d x @random(11)' % T)},
         {'d': ('u32', T, [i % SX | i // SX % SY << 4 | i // (SX * SY) << 8 | i % 32 << 12 for i in range(T)]),
          'e': ('u32', T, [SX | SY << 8 | SZ << 16] * T), 'f': ('u32', T, [M[32]] * 64 + [(1 << T - 64) - 1] * (T - 64)), 'g': ('u32', T, [(1 << i % 32) - 1 for i in range(T)]),
          'h': ('u32', T, [sum(values('u32', 'random', T, 11)[i // 32 * 32:i // 32 * 32 + 32]) for i in range(T)])},
         '''bar.sync 1;
mov.u32 %t0, %tid.x; mov.u32 %t1, %tid.y; mov.u32 %t2, %tid.z; shl.b32 %t1, %t1, 4; shl.b32 %t2, %t2, 8; shl.b32 %t4, %lane, 12;
or.b32 %d, %t0, %t1; or.b32 %d, %d, %t2; or.b32 %d, %d, %t4;
mov.u32 %t0, %ntid.x; mov.u32 %t1, %ntid.y; mov.u32 %t2, %ntid.z; shl.b32 %t1, %t1, 8; shl.b32 %t2, %t2, 16; or.b32 %e, %t0, %t1; or.b32 %e, %e, %t2;
activemask.b32 %f; mov.u32 %g, %lanemask_lt; redux.sync.add.u32 %h, %a, %f;''', launch='block %d,%d,%d' % (SX, SY, SZ),
         index='.reg .b32 %x<6>; mov.u32 %x0, %tid.x; mov.u32 %x1, %tid.y; mov.u32 %x2, %tid.z; mov.u32 %x3, %ntid.x; mov.u32 %x4, %ntid.y; mad.lo.u32 %x2, %x2, %x4, %x1; mad.lo.u32 %i, %x2, %x3, %x0;')
# Barriers in a loop whose end each thread reads for itself: the same for all here, which only the data says. In blocks of every size.
wide = values('u32', 'random', 1024, 11)
t.kernel('agreed', {'a': ('u32', '1024 x @random(11)'), 'n': ('u32', '1024 x 3')}, {'d': ('u32', 1024, [(a + 31) & M[32] for a in wide])},
         'mov.u32 %t0, 0; mov.u64 %q1, box; and.b32 %t9, %i, 31; mad.wide.u32 %q2, %t9, 4, %q1; setp.ge.u32 %p1, %i, 992;\nAGAIN:\nbar.sync 0; @%p1 st.shared.u32 [%q2], %t9; bar.sync 0; ld.shared.u32 %t1, [%q1+124];\n'
         'add.u32 %t0, %t0, 1; setp.lt.u32 %p2, %t0, %n; @%p2 bra AGAIN;\nadd.u32 %d, %a, %t1;', launch='block 1024')
t.write()

t = Test('sync/fences', 'Fences and hints: they change no value.', 'sm_90', '8.6', top='.shared .align 128 .b8 sh[128];')
body = '\n'.join('membar.%s;' % s for s in ('cta', 'gl', 'sys')) + '\n'
body += '\n'.join('fence%s.%s;' % (m, s) for m in ('', '.sc', '.acq_rel', '.acquire', '.release') for s in ('cta', 'gpu', 'sys', 'cluster') if not (m == ''))
body += '\nfence.cta;\nfence.gpu;\nfence.sys;\nfence.cluster;\nfence.proxy.alias;\nnanosleep.u32 20;\nnanosleep.u32 %t0;\npmevent 3;\npmevent.mask 5;\nmov.b32 %d, %a;'
t.kernel('fences', {'a': IN_A}, {'d': ('u32', N, A)}, 'mov.u32 %t0, 1;\n' + body)
body = 'ld.param.u64 %q1, [p_a]; mov.u64 %q2, sh;\n' + '\n'.join('prefetch%s.%s [%%q1];' % (s, l) for s in ('', '.global') for l in ('L1', 'L2')) + \
       '\nprefetch.L2::evict_last [%q1];\nprefetch.L2::evict_normal [%q1];\nprefetch.global.L2::evict_last [%q1];\nprefetch.global.L2::evict_normal [%q1];\nprefetchu.L1 [%q1];\n' + \
       'applypriority.L2::evict_normal [%q1], 128;\napplypriority.global.L2::evict_normal [%q1], 128;\nmov.b32 %d, %a;'
t.kernel('prefetches', {'a': IN_A}, {'d': ('u32', N, A)}, body)
t.kernel('local_prefetch', {'a': IN_A}, {'d': ('u32', N, A)}, '.local .align 8 .b8 mine[64]; mov.u64 %q1, mine; prefetch.local.L1 [%q1]; prefetch.local.L2 [%q1]; st.local.u32 [%q1], %a; ld.local.u32 %d, [%q1];')
t.write()

# ---- addresses ----
t = Test('memory/addresses', 'cvta there and back, isspacep, addresses of variables and parameters.', 'sm_90', '8.0', top='.global .align 4 .b32 gl[64];\n.const .align 4 .b32 co[2] = { 77, 78 };\n.shared .align 4 .b32 sh[64];')
t.kernel('isspacep', {'a': IN_A}, {'g': ('u32', N, [0b000001] * N), 's': ('u32', N, [0b100010] * N), 'c': ('u32', N, [0b000100] * N), 'l': ('u32', N, [0b001000] * N), 'r': ('u32', N, [0b000000] * N)},
         '.local .align 4 .b32 lo[4];\nmov.u64 %q1, gl; cvta.global.u64 %q1, %q1; mov.u64 %q2, sh; cvta.shared.u64 %q2, %q2; mov.u64 %q3, co; cvta.const.u64 %q3, %q3; mov.u64 %q4, lo; cvta.local.u64 %q4, %q4; mov.u64 %q5, 0x40;\n' +
         ''.join('isspacep.%s %%p1, %%q%d; selp.u32 %%t0, %d, 0, %%p1; or.b32 %%%s, %%%s, %%t0;\n' % (sp, q, 1 << b, o, o) for q, o in zip((1, 2, 3, 4), 'gscl')
                 for b, sp in enumerate(('global', 'shared', 'const', 'local', 'param', 'shared::cluster'))) + 'mov.u32 %r, 0;')
t.kernel('cvta', {'a': IN_A}, {'g': ('u32', N, A), 's': ('u32', N, A), 'l': ('u32', N, A), 'c': ('u32', N, [77 + i % 2 for i in lanes]), 'k': ('u32', N, A)},
         '''.local .align 4 .b32 lo[4];
mul.wide.u32 %q7, %i, 4;
mov.u64 %q1, gl; cvta.global.u64 %q1, %q1; add.u64 %q1, %q1, %q7; st.u32 [%q1], %a; cvta.to.global.u64 %q2, %q1; ld.global.u32 %g, [%q2];
mov.u64 %q1, sh; cvta.shared.u64 %q1, %q1; add.u64 %q1, %q1, %q7; st.u32 [%q1], %a; cvta.to.shared.u64 %q2, %q1; ld.shared.u32 %s, [%q2];
mov.u64 %q1, sh; cvta.shared::cluster.u64 %q1, %q1; add.u64 %q1, %q1, %q7; ld.u32 %k, [%q1];
mov.u64 %q1, lo; cvta.local.u64 %q1, %q1; st.u32 [%q1+4], %a; cvta.to.local.u64 %q2, %q1; ld.local.u32 %l, [%q2+4];
mov.u64 %q1, co; cvta.const.u64 %q1, %q1; and.b32 %t0, %i, 1; mad.wide.u32 %q1, %t0, 4, %q1; ld.u32 %c, [%q1];''')
t.raw(['//! test cvta_param', '//! value P u32[4] = 5 6 7 8', '//! buffer d u32[4]', '//! launch cvta_param block 4', '//! expect d derived = 5 6 7 8'],
      '''.visible .entry cvta_param(.param .align 4 .b8 P[16], .param .u64 d)
{
    .reg .pred %p; .reg .b32 %i, %t; .reg .b64 %a, %q;
    mov.u32 %i, %tid.x; mov.b64 %q, P; cvta.param.u64 %q, %q; mad.wide.u32 %q, %i, 4, %q;
    ld.u32 %t, [%q];
    ld.param.u64 %a, [d]; mad.wide.u32 %a, %i, 4, %a; st.global.u32 [%a], %t;
    ret;
}'''.split('\n'))
t.write()

t = Test('logic/mov', 'mov of every type, packing and unpacking, 128 bits.', 'sm_90', '8.3', top='.global .align 4 .b32 gl[64];')
lo, hi = [a & 0xffff for a in A], [a >> 16 for a in A]
B = values('u32', 'random', N, 12)
t.kernel('pack', {'a': IN_A, 'b': ('u32', '%d x @random(12)' % N)}, {
    'd': ('u32', N, [l << 16 | h for l, h in zip(lo, hi)]), 'e': ('u64', N, [a | b << 32 for a, b in zip(A, B)]), 'f': ('u64', N, [b | a << 32 for a, b in zip(A, B)]),
    'g': ('u64', N, [h | l << 16 | (b & 0xffff) << 32 | (b >> 16) << 48 for l, h, b in zip(lo, hi, B)]), 'k': ('u64', N, [b | a << 32 for a, b in zip(A, B)])},
    '''.reg .b128 %x<3>;
mov.b32 {%h1, %h2}, %a; mov.b32 %d, {%h2, %h1};
mov.b64 %e, {%a, %b};
mov.b64 {%t1, %t2}, %e; mov.b64 %f, {%t2, %t1};
mov.b32 {%h3, %h4}, %b; mov.b64 %g, {%h2, %h1, %h3, %h4};
mov.b64 {%h5, %h6, %h7, %h1}, %e; mov.b64 %q3, {%h7, %h1, %h5, %h6};
mov.b128 %x0, {%e, %q3}; mov.b128 %x1, %x0; mov.b128 {%q4, %k}, %x1;''')
t.kernel('types', {'a': IN_A}, {'d': ('u32', N, [(a & 0xffff) for a in A]), 'e': ('u32', N, A), 'f': ('u64', N, [a | a << 32 for a in A])},
    'mov.b32 {%h1, %h2}, %a;\n' + ''.join('mov.%s %%h3, %%h1; mov.%s %%h1, %%h3;\n' % (x, x) for x in ('b16', 'u16', 's16')) + 'cvt.u32.u16 %d, %h1; mov.b32 %t1, %a;\n' +
    ''.join('mov.%s %%t2, %%t1; mov.%s %%t1, %%t2;\n' % (x, x) for x in ('b32', 'u32', 's32', 'f32')) + 'mov.b32 %e, %t1; mov.b64 %q1, {%a, %a};\n' +
    ''.join('mov.%s %%q2, %%q1; mov.%s %%q1, %%q2;\n' % (x, x) for x in ('b64', 'u64', 's64', 'f64')) + 'mov.b64 %f, %q1;\nsetp.ne.u32 %p1, %a, 0; mov.pred %p2, %p1;\nmov.u64 %q3, gl;')
t.write()

# ---- special registers ----
BX, BY, BZ, GX, GY, GZ = 5, 3, 2, 3, 2, 2
total = BX * BY * BZ * GX * GY * GZ
def threads():
    for c in range(GX * GY * GZ):
        for l in range(BX * BY * BZ):
            yield (l % BX, l // BX % BY, l // BX // BY, c % GX, c // GX % GY, c // GX // GY, l, c)
T = list(threads())
INDEX = 'mov.u32 %t8, %ctaid.z; mov.u32 %t9, %nctaid.y; mov.u32 %t10, %ctaid.y; mad.lo.u32 %t8, %t8, %t9, %t10; mov.u32 %t9, %nctaid.x; mov.u32 %t10, %ctaid.x; mad.lo.u32 %t8, %t8, %t9, %t10; ' \
        'mov.u32 %t11, %tid.z; mov.u32 %t9, %ntid.y; mov.u32 %t10, %tid.y; mad.lo.u32 %t11, %t11, %t9, %t10; mov.u32 %t9, %ntid.x; mov.u32 %t10, %tid.x; mad.lo.u32 %t11, %t11, %t9, %t10; mad.lo.u32 %i, %t8, 30, %t11;'
t = Test('sreg/grid', 'Special registers of grid, block, thread, lane and cluster, in a grid and blocks of three dimensions.', 'sm_90', '8.0')
def packed(name, fields):
    """Several small registers in one word, 4 bits each."""
    body = ''.join('mov.u32 %%t0, %%%s; and.b32 %%t0, %%t0, 15; shl.b32 %%t0, %%t0, %d; or.b32 %%d, %%d, %%t0;\n' % (r, 4 * k) for k, (r, _) in enumerate(fields))
    t.kernel(name, {}, {'d': ('u32', total, [sum((f(*x) & 15) << 4 * k for k, (_, f) in enumerate(fields)) for x in T])}, body, 'grid %d,%d,%d block %d,%d,%d' % (GX, GY, GZ, BX, BY, BZ), INDEX)
packed('block', [('tid.x', lambda x, y, z, a, b, c, l, k: x), ('tid.y', lambda x, y, z, a, b, c, l, k: y), ('tid.z', lambda x, y, z, a, b, c, l, k: z), ('tid.w', lambda *_: 0),
                 ('ntid.x', lambda *_: BX), ('ntid.y', lambda *_: BY), ('ntid.z', lambda *_: BZ), ('ntid.w', lambda *_: 0)])
packed('grid', [('ctaid.x', lambda x, y, z, a, b, c, l, k: a), ('ctaid.y', lambda x, y, z, a, b, c, l, k: b), ('ctaid.z', lambda x, y, z, a, b, c, l, k: c), ('ctaid.w', lambda *_: 0),
                ('nctaid.x', lambda *_: GX), ('nctaid.y', lambda *_: GY), ('nctaid.z', lambda *_: GZ), ('nctaid.w', lambda *_: 0)])
packed('cluster', [('clusterid.x', lambda x, y, z, a, b, c, l, k: a), ('clusterid.y', lambda x, y, z, a, b, c, l, k: b), ('clusterid.z', lambda x, y, z, a, b, c, l, k: c),
                   ('nclusterid.x', lambda *_: GX), ('nclusterid.y', lambda *_: GY), ('nclusterid.z', lambda *_: GZ), ('cluster_ctarank', lambda *_: 0), ('cluster_nctarank', lambda *_: 1)])
packed('in_cluster', [('cluster_ctaid.x', lambda *_: 0), ('cluster_ctaid.y', lambda *_: 0), ('cluster_ctaid.z', lambda *_: 0),
                      ('cluster_nctaid.x', lambda *_: 1), ('cluster_nctaid.y', lambda *_: 1), ('cluster_nctaid.z', lambda *_: 1)])
t.write()
t = Test('sreg/lane', 'Special registers of the lane; the lane masks of the PTX ISA 10.', 'sm_90', '8.1')
t.kernel('lane', {'a': IN_A}, {'d': ('u32', N, [i % 32 for i in lanes]), 'e': ('u32', N, [1 << i % 32 for i in lanes]), 'f': ('u32', N, [(2 << i % 32) - 1 for i in lanes]),
         'g': ('u32', N, [(1 << i % 32) - 1 for i in lanes]), 'k': ('u32', N, [M[32] & ~((1 << i % 32) - 1) for i in lanes]), 'l': ('u32', N, [M[32] & ~((2 << i % 32) - 1) for i in lanes])},
         'mov.u32 %d, %laneid;\nmov.u32 %e, %lanemask_eq;\nmov.u32 %f, %lanemask_le;\nmov.u32 %g, %lanemask_lt;\nmov.u32 %k, %lanemask_ge;\nmov.u32 %l, %lanemask_gt;')
# the number of a warp is the hardware's: only that its lanes share it is sure
t.kernel('warps', {'a': IN_A}, {'d': ('u32', N, [1] * N), 'e': ('u32', N, [1] * N), 'f': ('u32', N, [1] * N), 'g': ('u32', N, [0] * N)},
         'mov.u32 %t0, %warpid; shfl.sync.idx.b32 %t1, %t0, 0, 31, -1; setp.eq.u32 %p1, %t0, %t1; selp.u32 %d, 1, 0, %p1;\nmov.u32 %t0, %nwarpid; setp.ge.u32 %p1, %t0, 2; selp.u32 %e, 1, 0, %p1;\nmov.u32 %t0, %smid; mov.u32 %t1, %nsmid; setp.lt.u32 %p1, %t0, %t1; selp.u32 %f, 1, 0, %p1;\n'
         'mov.pred %p2, %is_explicit_cluster; selp.u32 %g, 1, 0, %p2;')
t.kernel('clocks', {'a': IN_A}, {'d': ('u32', N, [0x3f] * N)},
         '''mov.u32 %t0, %clock; mov.u32 %t1, %clock_hi; mov.u64 %q0, %clock64; mov.u64 %q1, %globaltimer; mov.u32 %t2, %globaltimer_lo; mov.u32 %t3, %globaltimer_hi;
nanosleep.u32 100;
mov.u64 %q2, %clock64; setp.ge.u64 %p1, %q2, %q0; selp.u32 %d, 1, 0, %p1;
mov.u64 %q3, %globaltimer; setp.ge.u64 %p1, %q3, %q1; selp.u32 %t4, 2, 0, %p1; or.b32 %d, %d, %t4;
setp.ne.u64 %p1, %q1, 0; selp.u32 %t4, 4, 0, %p1; or.b32 %d, %d, %t4;
shr.u64 %q4, %q1, 32; cvt.u32.u64 %t5, %q4; sub.u32 %t6, %t3, %t5; setp.le.u32 %p1, %t6, 1; selp.u32 %t4, 8, 0, %p1; or.b32 %d, %d, %t4;
shr.u64 %q4, %q0, 32; cvt.u32.u64 %t5, %q4; sub.u32 %t6, %t5, %t1; setp.le.u32 %p1, %t6, 1; selp.u32 %t4, 16, 0, %p1; or.b32 %d, %d, %t4;
cvt.u32.u64 %t5, %q0; sub.u32 %t6, %t5, %t0; setp.lt.u32 %p1, %t6, 0x80000000; selp.u32 %t4, 32, 0, %p1; or.b32 %d, %d, %t4;''')
t.raw(['//! test long_wait', '//! buffer d u32[64]', '//! launch long_wait block 64', '//! expect d derived = 64 x 0x00000003'],
      '''// Two million cycles are more than a counter of 20 bits has, and at less than 20 GHz more than 100 us.
.visible .entry long_wait(.param .u64 p_d)
{
    .reg .pred %p, %slow, %quick; .reg .b32 %i, %d, %t; .reg .b64 %c<2>, %ns<2>, %past, %at;
    mov.u64 %ns0, %globaltimer;
    mov.u64 %c0, %clock64;
WAIT:
    mov.u64 %c1, %clock64;
    sub.s64 %past, %c1, %c0;
    setp.lt.s64 %p, %past, 2097152;
    @%p bra WAIT;
    mov.u64 %ns1, %globaltimer;
    sub.s64 %past, %ns1, %ns0;
    setp.ge.s64 %slow, %past, 100000; selp.u32 %d, 1, 0, %slow;
    setp.lt.s64 %quick, %past, 60000000000; selp.u32 %t, 2, 0, %quick; or.b32 %d, %d, %t;
    mov.u32 %i, %tid.x;
    ld.param.u64 %at, [p_d]; mad.wide.u32 %at, %i, 4, %at; st.global.b32 [%at], %d;
    ret;
}'''.split('\n'))
t.kernel('others', {'a': IN_A}, {'d': ('u32', N, None), 'e': ('u32', N, None), 'f': ('u32', N, None), 'g': ('u32', N, 'any')},
         'mov.u32 %d, %total_smem_size;\nmov.u32 %e, %dynamic_smem_size;\nmov.u32 %f, %aggr_smem_size;\nmov.u64 %q0, %gridid; mov.u64 %q1, %current_graph_exec; cvt.u32.u64 %g, %q0;', 'block 64 shared 1024')
t.kernel('environment', {'a': IN_A}, {'d': ('u32', N, 'any')}, ''.join('mov.b32 %%t0, %%envreg%d; xor.b32 %%d, %%d, %%t0;\n' % k for k in range(32)))
t.kernel('reserved', {'a': IN_A}, {'d': ('u32', N, 'any')}, ''.join('mov.b32 %%t0, %%reserved_smem_offset_%s; xor.b32 %%d, %%d, %%t0;\n' % k for k in ('begin', 'end', 'cap', '0', '1')))
t.write()

# ---- atomics: orders and scopes of one operation; the operations themselves are in atom/ ----
t = Test('atom/scopes', 'atom and red with every order and scope, also in the shared memory of the own block as a cluster.', 'sm_90', '8.1', top='.shared .align 8 .b64 sh[64];')
for n in (32, 64):
    u, ty = ('%a', 'u32') if n == 32 else ('%q5', 'u64')
    WHAT = ['relaxed.gpu', 'acquire.gpu', 'release.gpu', 'acq_rel.gpu', 'relaxed.cta', 'relaxed.cluster', 'relaxed.sys', 'cta', 'cluster', 'gpu', 'sys']
    after = []
    for i in lanes:
        wide = A[i] if n == 32 else A[i] | A[i] << 32
        after.append(wide)
    ones = M[n]
    body = '' if n == 32 else 'mov.b64 %q5, {%a, %a};\n'
    cell = '%q6'
    init = 'ld.param.u64 %%q6, [p_m]; mad.wide.u32 %%q6, %%i, %d, %%q6;\n' % (n // 8)
    res = '%t1' if n == 32 else '%q7'
    fold = 'xor.b%d %%d, %%d, %s;\n' % (n, res)
    body += init
    for w in WHAT:
        body += 'st.b%d [%%q6], -1; atom.%s.and.b%d %s, [%%q6], %s; xor.b%d %%d, %%d, %s;\n' % (n, w, n, res, u, n, res)
    for w in [x for x in WHAT if 'acq' not in x]:
        body += 'st.b%d [%%q6], -1; red.%s.and.b%d [%%q6], %s; ld.b%d %s, [%%q6]; xor.b%d %%e, %%e, %s;\n' % (n, w, n, u, n, res, n, res)
    body += 'mov.b64 %%q4, 0x12f0000000000000; st.b%d [%%q6], -1; atom.and.L2::cache_hint.b%d %s, [%%q6], %s, %%q4; xor.b%d %%d, %%d, %s;\n' % (n, n, res, u, n, res)
    body += 'st.b%d [%%q6], -1; red.and.L2::cache_hint.b%d [%%q6], %s, %%q4; ld.b%d %s, [%%q6]; xor.b%d %%e, %%e, %s;\n' % (n, n, u, n, res, n, res)
    body += 'mov.u64 %%q3, sh; mad.wide.u32 %%q3, %%i, 8, %%q3; st.shared.b%d [%%q3], -1; atom.shared::cluster.and.b%d %s, [%%q3], %s; red.shared::cluster.and.b%d [%%q3], %s; ld.shared.b%d %%f, [%%q3];\n' % (n, n, res, u, n, u, n)
    d = [(ones if (len(WHAT) + 1) % 2 else 0)] * N
    reds = len([x for x in WHAT if 'acq' not in x]) + 1
    e = [(w if reds % 2 else 0) for w in after]
    t.kernel('and_b%d' % n, {'a': IN_A}, {'m': (ty, N, after), 'd': (ty, N, d), 'e': (ty, N, e), 'f': (ty, N, after)}, body + ('mov.b%d %%m, %s;' % (n, u)))
t.write()

# ---- the stack, parameters of functions ----
TYPES = [('b8', 'h'), ('u8', 'h'), ('s8', 'h'), ('b16', 'h'), ('u16', 'h'), ('s16', 'h'), ('b32', 'r'), ('u32', 'r'), ('s32', 'r'), ('f32', 'r'), ('b64', 'l'), ('u64', 'l'), ('s64', 'l'), ('f64', 'l')]
top = []
for ty, r in TYPES:
    reg = {'h': '.b16', 'r': '.b32', 'l': '.b64'}[r]
    par = lambda n: '.param .align 4 .b8 %s[4]' % n if r == 'h' else '.param .%s %s' % (ty, n)      # the ABI has no narrow scalars
    top.append('.func (%s) id_%s (%s) { .reg %s %%x; ld.param.%s %%x, [x]; st.param.%s [r], %%x; ret; }' % (par('r'), ty, par('x'), reg, ty, ty))
t = Test('flow/parameters', 'Parameters and results of every type pass through functions.', top='\n'.join(top))
body, outs = 'mov.b32 {%h1, %h2}, %a; mov.b64 %q1, {%a, %i};\n', {}
for k, (ty, r) in enumerate(TYPES):
    src = {'h': '%h1', 'r': '%a', 'l': '%q1'}[r]
    n = int(ty[1:])
    dst = {'h': '%h3', 'r': '%%d%d' % k, 'l': '%%d%d' % k}[r]
    par = '.param .align 4 .b8 x[4], r[4];' if r == 'h' else '.param .%s x, r;' % ty
    body += '{ %s st.param.%s [x], %s; call (r), id_%s, (x); ld.param.%s %s, [r]; }\n' % (par, ty, src, ty, ty, dst)
    if r == 'h':
        # The driver's compiler leaves the bits above 16 of a narrow parameter in place, and drops an `and` with 0xffff that would
        # not matter: of a signed byte the byte is compared.
        mask = 0xff if ty == 's8' else 0xffff
        body += 'cvt.u32.u16 %%d%d, %%h3; and.b32 %%d%d, %%d%d, %#x;\n' % (k, k, k, mask)
        want = [a & (0xffff if n == 16 else 0xff) for a in A]
        outs['d%d' % k] = ('u32', N, want)
    else:
        outs['d%d' % k] = ('u%d' % n, N, A if n == 32 else [a | i << 32 for i, a in enumerate(A)])
t.kernel('identity', {'a': IN_A}, outs, body)
t.write()
t = Test('flow/stack', 'alloca, stacksave and stackrestore; sizes differ between lanes.', 'sm_52', '7.3')
t.kernel('alloca', {'a': IN_A}, {'d': ('u32', N, A), 'e': ('u32', N, [0] * N), 'f': ('u32', N, [1] * N)}, body="""and.b32 %t0, %i, 3; add.u32 %t0, %t0, 1; shl.b32 %t0, %t0, 4; cvt.u64.u32 %q1, %t0;
stacksave.u64 %q2;
alloca.u64 %q3, %q1;
alloca.u64 %q4, %q1, 16;
st.local.u32 [%q3], %a; st.local.u32 [%q4], %i; ld.local.u32 %d, [%q3];
and.b64 %q5, %q4, 15; cvt.u32.u64 %e, %q5;
stackrestore.u64 %q2;
stacksave.u64 %q6; setp.eq.u64 %p1, %q6, %q2; selp.u32 %f, 1, 0, %p1;""")
# The 32-bit forms: local addresses fit.
body = """and.b32 %t0, %i, 3; add.u32 %t0, %t0, 1; shl.b32 %t0, %t0, 4; and.b32 %t4, %lane, 1; setp.ne.u32 %p2, %t4, 0; @%p2 bra ODD;
BLOCKbra JOIN;
ODD:
BLOCKJOIN:"""
take = """stacksave.u32 %t1;
alloca.u32 %t2, %t0;
alloca.u32 %t3, %t0, 16;
st.local.u32 [%t2], %a; st.local.u32 [%t3], %i; ld.local.u32 %d, [%t2]; ld.local.u32 %g, [%t3]; and.b32 %e, %t3, 15;
stackrestore.u32 %t1;
"""
t.kernel('alloca_32', {'a': IN_A}, {'d': ('u32', N, A), 'e': ('u32', N, [0] * N), 'g': ('u32', N, list(lanes))}, body=body.replace('BLOCK', take))
back = take.replace('%d', '%t6').replace('%g', '%t6').replace('%e', '%t6') + 'stacksave.u32 %t5; setp.eq.u32 %p1, %t5, %t1; selp.u32 %f, 1, 0, %p1;\n'
t.kernel('restore_32', {'a': IN_A}, {'f': ('u32', N, [1] * N)}, body='mov.u32 %t0, 48;\n' + back)
t.kernel('restore_apart', {'a': IN_A}, {'f': ('u32', N, [1] * N)}, body=body.replace('BLOCK', back),
         notes=['todo host:simd where lanes are apart the stack is given back when the function returns'])
t.write()
# Registers that nothing writes are the operands of instructions whose results differ between lanes; what they give does not matter.
t = Test('flow/undefined', 'Lanes read registers that nothing has written, and go on.')
t.kernel('undefined', {'a': IN_A}, {'d': ('u32', N, A)}, """shfl.sync.idx.b32 %t0, %t8, 0, 31, -1;
add.cc.u32 %t1, %t9, %t9; addc.u32 %t2, %t9, %t8; addc.u32 %t3, %t2, %t0;
xor.b32 %t3, %t3, %t3; xor.b32 %d, %a, %t3;""")
t.write()
# Addresses of local memory and constants in 32 bits, as clang -fcuda-short-ptr has them; a generic one is made of 32 bits, too.
t = Test('flow/short', 'Addresses of local memory and of constants in 32 bits, in a module with 64-bit addresses.', top='.const .align 4 .b32 table[4] = {7, 70, 700, 7000};')
t.kernel('short', {'a': IN_A}, {'d': ('u32', N, [None if i % 4 == 2 else A[i] for i in lanes]), 'e': ('u32', N, [0 if i % 4 == 2 else A[i] + i & M[32] for i in lanes]),
                                'f': ('u32', N, [0 if i % 4 == 2 else 7 * 10 ** (i % 4) for i in lanes])},
         """.local .align 4 .b32 room[8];
and.b32 %t0, %i, 3; setp.eq.u32 %p1, %t0, 2; @%p1 bra DONE;
mov.u32 %t1, room; mad.lo.u32 %t1, %t0, 4, %t1;
st.local.u32 [%t1+4], %a; ld.local.u32 %d, [%t1+4];
cvt.u64.u32 %q0, %t1; cvta.local.u64 %q0, %q0; ld.u32 %e, [%q0+4]; add.u32 %e, %e, %i; st.u32 [%q0+8], %e; ld.local.u32 %e, [%t1+8];
mov.u32 %t2, table; mad.lo.u32 %t2, %t0, 4, %t2; ld.const.u32 %f, [%t2];
DONE:""", notes=['todo amd constants lie in global memory, whose addresses have 64 bits'])
t.write()
t = Test('sreg/unused', 'Special registers that hold nothing here: the fourth components, performance counters.', 'sm_90', '8.0')
body = ''.join('mov.u32 %%t0, %%%s; or.b32 %%d, %%d, %%t0;\n' % r for r in ('clusterid.w', 'nclusterid.w', 'cluster_ctaid.w', 'cluster_nctaid.w'))
t.kernel('fourth', {'a': IN_A}, {'d': ('u32', N, 'recorded')}, body)
body = ''.join('mov.u32 %%t0, %%pm%d; xor.b32 %%d, %%d, %%t0;\n' % k for k in range(8)) + ''.join('mov.u64 %%q0, %%pm%d_64; cvt.u32.u64 %%t0, %%q0; xor.b32 %%d, %%d, %%t0;\n' % k for k in range(8))
t.kernel('counters', {'a': IN_A}, {'d': ('u32', N, 'any')}, body)
t.write()

# ---- vectors of eight halves: each thread changes its own (values that every format holds exactly, zeros of both signs, infinities) ----
import exact
n = 16
lines, code = [], []
NUMBERS = {'f16': [0, 0x8000, 0x3c00, 0xbc00, 0x4000, 0xc500, 0x7c00, 0xfc00, 0x0001, 0x8400], 'bf16': [0, 0x8000, 0x3f80, 0xbf80, 0x4000, 0xc0a0, 0x7f80, 0xff80, 0x0001, 0x8080]}
for t in ('f16', 'bf16'):
    f = exact.FORMATS[t]
    old = [NUMBERS[t][(3 * i + i // 10) % 10] for i in range(8 * n)]
    new = [NUMBERS[t][(7 * i + i // 8) % 10] for i in range(8 * n)]
    words = lambda l: ['//!     ' + ' '.join('0x%04x' % x for x in l[i:i + 16]) for i in range(0, len(l), 16)]
    for op in ('add', 'min', 'max'):
        after = [exact.add(f, a, b) if op == 'add' else exact.minmax(f, [a, b], op == 'max') for a, b in zip(old, new)]
        for kind in ('atom', 'red'):
            name = '%s_%s_%s_v8' % (kind, op, t)
            lines += ['', '//! test ' + name, '//! buffer m b16 ='] + words(old) + ['//! buffer v b16 ='] + words(new)
            lines += ['//! buffer d b16[%d]' % (8 * n)] * (kind == 'atom') + ['//! launch %s block %d' % (name, n), '//! expect m derived ='] + words(after)
            lines += (['//! expect d derived ='] + words(old)) * (kind == 'atom')
            regs = lambda r: '{%s}' % ', '.join('%%%s%d' % (r, k) for k in range(8))
            one = '    %s.global.%s.noftz.v8.%s %s[%%m], %s;' % (kind, op, t, regs('o') + ', ' if kind == 'atom' else '', regs('h'))
            code += ['', '.visible .entry %s(.param .u64 p_m, .param .u64 p_v%s)' % (name, ', .param .u64 p_d' if kind == 'atom' else ''), '{',
                     '    .reg .pred %p; .reg .b16 %h<8>, %o<8>; .reg .b32 %i, %t; .reg .b64 %m, %v, %d;',
                     '    mov.u32 %i, %tid.x; ld.param.u64 %m, [p_m]; ld.param.u64 %v, [p_v]; mad.wide.u32 %m, %i, 16, %m; mad.wide.u32 %v, %i, 16, %v;']
            code += ['    ld.global.v4.b16 {%s}, [%%v+%d];' % (', '.join('%%h%d' % (4 * k + q) for q in range(4)), 8 * k) for k in range(2)]
            code += ['    and.b32 %t, %i, 1; setp.ne.u32 %p, %t, 0; @%p bra ODD;', one, '    bra JOIN;', 'ODD:', one, 'JOIN:']
            if kind == 'atom':
                code.append('    ld.param.u64 %d, [p_d]; mad.wide.u32 %d, %i, 16, %d;')
                code += ['    st.global.v4.b16 [%%d+%d], {%s};' % (8 * k, ', '.join('%%o%d' % (4 * k + q) for q in range(4))) for k in range(2)]
            code += ['    ret;', '}']
Test('atom/half_v8', 'atom and red of eight halves at once, each thread on its own; by exact fractions.', 'sm_90', '8.1').raw(lines[1:], code[1:]).write()

# ---- transactions of mbarrier objects: each thread has one of its own. Phases end when nothing is pending (9.7.13.15) ----
t = Test('async/mbarrier_tx', 'mbarrier objects that count bytes, a thread each: expect_tx, complete_tx, arrivals with both, try_wait. Lanes have taken two paths.', 'sm_90', '8.0',
         '.shared .align 8 .b64 objects[%d];' % N)
FORMS = {   # address, suffix of the space
    'generic': ('%q0', ''), 'shared': ('%q1', '.shared'), 'cluster': ('%q1', '.shared::cluster'), 'cta': ('%t1', '.shared::cta')}


def transactions(at, space, wait):
    """wait: text between the mnemonic and the operands of try_wait. Bits of the result: what each wait said."""
    init = '.shared' if space else ''
    where = at if space != '.shared::cluster' else '%q1'
    relaxed = '.relaxed.cta' if space == '.shared::cta' else ''
    own = '' if not space else '.shared::cta' if space == '.shared::cta' else '.shared'
    s = """mbarrier.init%s.b64 [%s], 3;
mbarrier.expect_tx%s%s.b64 [%s], %%t2;
mbarrier.arrive%s.b64 %%q3, [%s];
WAIT %%q3
""" % (init, where, relaxed, space, where, init, where)
    s += 'mbarrier.arrive.expect_tx%s.b64 %%q4, [%s], 16;\n' % (own, where)
    s += 'mbarrier.arrive_drop.expect_tx.b64 %q5, [%q0], 8;\n' if not space else 'mbarrier.arrive_drop%s.b64 %%q5, [%s]; mbarrier.expect_tx%s%s.b64 [%s], 8;\n' % (own, where, relaxed, space, where)
    s += """WAIT %%q5
mbarrier.complete_tx%s%s.b64 [%s], %%t2;
WAIT %%q5
mbarrier.complete_tx%s%s.b64 [%s], 24;
WAIT %%q5
""" % ((relaxed, space, where) * 2)
    # After the drop two arrivals make a phase.
    s += 'mbarrier.arrive.release.cta%s.b64 %%q4, [%s];\nWAIT %%q4\n' % ('.shared' if space else '', where)
    s += 'mbarrier.arrive%s.b64 %%q4, [%s];\nWAIT %%q4\n' % (init, where)
    s += 'mbarrier.try_wait.parity%s.b64 %%p1, [%s], 1;\nSAY\nmbarrier.try_wait.parity%s.b64 %%p1, [%s], 0;\nSAY\n' % (own, where, own, where)
    s += 'mbarrier.pending_count.b64 %%t3, %%q5; shl.b32 %%t3, %%t3, 16; or.b32 %%d, %%d, %%t3;\nmbarrier.inval%s.b64 [%s];\n' % (init, where)
    out, k = '', 0
    for line in s.split('\n'):
        if line.startswith('WAIT'):
            line = 'mbarrier.try_wait%s.b64 %%p1, [%s], %s%s;\nSAY' % (own, where, line.split()[1], wait)
        while 'SAY' in line:
            line = line.replace('SAY', 'selp.u32 %%t3, %d, 0, %%p1; or.b32 %%d, %%d, %%t3;' % (1 << k), 1)
            k += 1
        out += line + '\n'
    return out


# waits: 0 incomplete, 1 bytes are missing, 2 still some, 3 complete, 4 one of two, 5 complete; two phases have ended, so that of
# parity 1 has and that of parity 0 (the third) has not. The drop finds one arrival pending.
said = 1 << 3 | 1 << 5 | 1 << 6 | 1 << 16
for name, (at, space) in FORMS.items():
    for wait in ('', ', %t4'):
        block = transactions(at, space, wait)
        body = """mov.u32 %t1, objects; mad.lo.u32 %t1, %i, 8, %t1; cvt.u64.u32 %q1, %t1; cvta.shared.u64 %q0, %q1; rem.u32 %t2, %i, 3; mad.lo.u32 %t2, %t2, 16, 32; mov.u32 %t4, 200;
mov.u32 %d, 0; and.b32 %t3, %lane, 1; setp.ne.u32 %p2, %t3, 0; @%p2 bra ODD;
""" + block + 'bra JOIN;\nODD:\n' + block + 'JOIN:'
        t.kernel(name + ('_limit' if wait else ''), {}, {'d': ('u32', N, [said] * N)}, body)
t.write()

# ---- errors ----
Test('error/trap', 'trap in one thread ends the launch.').raw(['//! test trap', '//! buffer a u32[32]', '//! launch trap block 32', '//! expect error CUDA_ERROR_LAUNCH_FAILED'],
    ['.visible .entry trap(.param .u64 a)', '{', '    .reg .pred %p; .reg .b32 %i;', '    mov.u32 %i, %tid.x; setp.eq.u32 %p, %i, 7;', '    @%p trap;', '    ret;', '}']).write()
Test('error/brkpt', 'brkpt without a debugger.').raw(['//! test brkpt', '//! buffer a u32[32]', '//! launch brkpt block 32', '//! expect error CUDA_ERROR_LAUNCH_FAILED'],
    ['.visible .entry brkpt(.param .u64 a)', '{', '    .reg .pred %p; .reg .b32 %i;', '    mov.u32 %i, %tid.x; setp.eq.u32 %p, %i, 7;', '    @%p brkpt;', '    ret;', '}']).write()
