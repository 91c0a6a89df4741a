#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests of tests/ptx/isa/texture and surface: images.py ROOT. Cube maps, gathering, halves, linear and pitched memory, texture
and surface references, queries. Derived from 9.7.10 of the PTX ISA and the CUDA guide's table of cube faces where texels are hit
in their middle; the rest is recorded. Recorded lists stay where kernel and inputs are the same."""
import os, struct, sys
from forms import mix, Old

ROOT, N = sys.argv[1], 32
F = lambda x: struct.unpack('<I', struct.pack('<f', x))[0]
H = lambda x: struct.unpack('<H', struct.pack('<e', x))[0]
V4 = '{%v0, %v1, %v2, %v3}'
DIM = {'1d': 1, '2d': 2, '3d': 3, 'a1d': 1, 'a2d': 2, 'cube': 3, 'acube': 3}


class Page:
    def __init__(self, path, title, version='7.0', target='sm_52', top=(), notes=()):
        self.path, self.old = path, Old(os.path.join(ROOT, path + '.ptx'))
        self.head = ['// SPDX-License-Identifier: Apache-2.0'] + ['// ' + x for x in title.split('\n')]
        self.head += ['.version ' + version, '.target ' + target, '.address_size 64'] + ['//! ' + n for n in notes] + list(top)
        self.lines, self.code = [], []

    def test(self, name, images, ins, outs, body, args=()):
        """images: lines that declare them; ins: (name, type, bits of each thread), read to %NAME; outs: (name, type, expected bits or
        None, register); args: handles among the parameters. Odd lanes execute a copy of the body."""
        inputs = list(images)
        for n, t, v in ins:
            inputs += ['//! buffer %s %s =' % (n, t)] + ['//!     ' + ' '.join('0x%x' % x for x in v[i:i + 10]) for i in range(0, len(v), 10)]
        inputs += ['//! buffer %s %s[%d]' % (n, t, N) for n, t, _, _ in outs]
        params = [n for n, *_ in ins] + [n for n, *_ in outs] + list(args)
        inputs.append('//! launch %s(%s) block %d' % (name, ','.join(params), N))
        c = ['.visible .entry %s(%s)' % (name, ', '.join('.param .u64 p_' + p for p in params)), '{',
             '    .reg .pred %odd, %p<4>; .reg .b16 %h<4>; .reg .b32 %i, %n, %v<8>, %o<40>; .reg .b64 %a, %q<4>;',
             '    mov.u32 %i, %tid.x; and.b32 %n, %i, 1; setp.ne.u32 %odd, %n, 0;']
        c += ['    .reg .b64 %%%s; ld.param.u64 %%%s, [p_%s];' % (a, a, a) for a in args]
        c += ['    .reg .b32 %%%s; ld.param.u64 %%a, [p_%s]; mad.wide.u32 %%a, %%i, 4, %%a; ld.global.b32 %%%s, [%%a];' % (n, n, n) for n, _, _ in ins]
        body = ['    ' + x.strip() for x in body.strip().split('\n')]
        c += ['    @%odd bra ODD;'] + body + ['    bra JOIN;', 'ODD:'] + body + ['JOIN:']
        c += ['    ld.param.u64 %%a, [p_%s]; mad.wide.u32 %%a, %%i, 4, %%a; st.global.b32 [%%a], %s;' % (n, r) for n, _, _, r in outs]
        c += ['    ret;', '}']
        self.lines += ['', '//! test ' + name] + inputs
        for n, t, v, _ in outs:
            if v is None:
                was = [x for x in inputs if not x.startswith('//!  ')]
                old = self.old.tests.get(name)
                same = old and self.old.kernels.get(name) == c and old['all'] == inputs
                self.lines += (self.old.recorded(name, was, c, n, []) if same else []) or ['//! expect %s recorded' % n]
            else:
                self.lines += ['//! expect %s derived =' % n] + ['//!     ' + ' '.join('0x%x' % x for x in v[i:i + 10]) for i in range(0, len(v), 10)]
        self.code += [''] + c

    def write(self):
        open(os.path.join(ROOT, self.path + '.ptx'), 'w').write('\n'.join(self.head + self.lines + self.code) + '\n')


def texels(name, t, v):
    return ['//! buffer %s %s = %s' % (name, t, ' '.join(map(str, v)))]


def outs(v, comps=4, t='b32'):
    """Four outputs; v(i): the first components of thread i, as bits; those behind them are recorded."""
    return [('d%d' % k, t, None if v is None or k >= len(v(0)) else [v(i)[k] for i in range(N)], '%%v%d' % k) for k in range(comps)]


# ---- cube maps ----

def direction(face, s, t):
    """The vector to (s, t) of a face, each from -1 to 1 (CUDA C++ Programming Guide, table of cube map fetches)."""
    return {0: (1, -t, -s), 1: (-1, -t, s), 2: (s, 1, t), 3: (s, -1, -t), 4: (s, -t, 1), 5: (-s, -t, -1)}[face]


p = Page('texture/cube_forms', 'tex and tld4 of cube maps and of arrays of them: every type. The middles of texels.', target='sm_60')
W = 4
for layers in (0, 2):
    per = 6 * W * W
    total = per * (layers or 1)
    place = [(mix(i) % (layers or 1), i % 6, mix(i + 99) % W, mix(i + 777) % W) for i in range(N)]      # layer, face, column, row
    dirs = [direction(f, (2 * c + 1) / W - 1, (2 * r + 1) / W - 1) for _, f, c, r in place]
    dirs = [tuple(x * (0.5 + i % 5) for x in d) for i, d in enumerate(dirs)]        # the length does not matter
    ins = [(n, 'f32', [F(d[k]) for d in dirs]) for k, n in enumerate('xyz')]
    geom = 'acube' if layers else 'cube'
    vec = '{%layer, %x, %y, %z}' if layers else '{%x, %y, %z, %z}'
    if layers:
        ins = [('layer', 'u32', [l for l, *_ in place])] + ins
    flags = 'cubemap layered' if layers else 'cubemap'
    at = [l * per + f * W * W + r * W + c for l, f, c, r in place]
    for t in ('f32', 's32', 'u32'):
        bits = (lambda x: F(float(x))) if t == 'f32' else lambda x: x & 0xffffffff
        val = lambda x: x if t == 'u32' else 7 - x
        img = texels('texels', t, [val(x) for x in range(total)]) + ['//! texture t of texels %d,%d,%d x1 %s clamp' % (W, W, total // W // W, flags)]
        p.test('%s_%s' % (geom, t), img, ins, outs(lambda i: (bits(val(at[i])),)), 'tex.%s.v4.%s.f32 %s, [%%t, %s];' % (geom, t, V4, vec), ['t'])
        # Two levels: the second one has half the size, and numbers of its own. With layers, each level has all of them.
        small = [(l, f, c // 2, r // 2) for l, f, c, r in place]
        at2 = [total + l * per // 4 + f * W + r * 2 + c for l, f, c, r in small]
        level = [i // 2 % 2 for i in range(N)]
        img = texels('texels', t, [val(x) for x in range(total + total // 4)]) + ['//! texture t of texels %d,%d,%d x1 %s clamp levels 2' % (W, W, total // W // W, flags)]
        p.test('%s_%s_level' % (geom, t), img, ins + [('level', 'f32', [F(float(x)) for x in level])],
               outs(lambda i: (bits(val(at2[i] if level[i] else at[i])),)), 'tex.level.%s.v4.%s.f32 %s, [%%t, %s], %%level;' % (geom, t, V4, vec), ['t'])
    img = texels('texels', 'f32', range(total)) + ['//! texture t of texels %d,%d,%d x1 %s clamp' % (W, W, total // W // W, flags)]
    inner = [(l, f, c % 3 + 1, r % 3 + 1) for l, f, c, r in place]      # where four texels of the face meet
    dirs = [direction(f, 2 * c / W - 1, 2 * r / W - 1) for _, f, c, r in inner]
    ins = ins[:-3] + [(n, 'f32', [F(d[k] * (0.5 + i % 5)) for i, d in enumerate(dirs)]) for k, n in enumerate('xyz')]
    four = lambda i: [F(float(inner[i][0] * per + inner[i][1] * W * W + r * W + c)) for c, r in
                      ((inner[i][2] - 1, inner[i][3]), (inner[i][2], inner[i][3]), (inner[i][2], inner[i][3] - 1), (inner[i][2] - 1, inner[i][3] - 1))]
    p.test('gather_' + geom, img, ins, outs(four), 'tld4.r.%s.v4.f32.f32 %s, [%%t, %s];' % (geom, V4, vec), ['t'])
p.write()

# ---- gathering ----
p = Page('texture/gather_forms', 'tld4: every component and type; where four texels meet, from the lower left one round to the upper left.', target='sm_60')
W, HH = 6, 5
corner = [(1 + mix(i) % (W - 1), 1 + mix(i + 50) % (HH - 1)) for i in range(N)]
ins = [('x', 'f32', [F(float(x)) for x, _ in corner]), ('y', 'f32', [F(float(y)) for _, y in corner])]
around = lambda i: ((corner[i][0] - 1, corner[i][1]), corner[i], (corner[i][0], corner[i][1] - 1), (corner[i][0] - 1, corner[i][1] - 1))
for t in ('f32', 's32', 'u32'):
    val = lambda x, y, c: (y * W + x) * 4 + c - (0 if t == 'u32' else 50)
    bits = (lambda x: F(float(x))) if t == 'f32' else lambda x: x & 0xffffffff
    img = texels('texels', t, [val(x, y, c) for y in range(HH) for x in range(W) for c in range(4)]) + ['//! texture t of texels %d,%d x4 gather clamp' % (W, HH)]
    for c in range(4):
        p.test('gather_%s_%s' % ('rgba'[c], t), img, ins, outs(lambda i: [bits(val(x, y, c)) for x, y in around(i)]),
               'tld4.%s.2d.v4.%s.f32 %s, [%%t, {%%x, %%y}];' % ('rgba'[c], t, V4), ['t'])
layer = [mix(i + 5) % 3 for i in range(N)]
img = texels('texels', 'f32', range(W * HH * 3)) + ['//! texture t of texels %d,%d,3 x1 layered clamp' % (W, HH)]
p.test('gather_layers', img, [('layer', 'u32', layer)] + ins, outs(lambda i: [F(float(layer[i] * W * HH + y * W + x)) for x, y in around(i)]),
       'tld4.r.a2d.v4.f32.f32 %s, [%%t, {%%layer, %%x, %%y, %%y}];' % V4, ['t'])
# halves
half = [(i - 40) / 8 for i in range(W * HH * 4)]
img = ['//! buffer texels f16 = ' + ' '.join('%g' % x for x in half), '//! texture t of texels %d,%d x4 clamp' % (W, HH)]
spot = [(mix(i) % W, mix(i + 50) % HH) for i in range(N)]
two = lambda i: [H(half[(spot[i][1] * W + spot[i][0]) * 4 + 2 * k]) | H(half[(spot[i][1] * W + spot[i][0]) * 4 + 2 * k + 1]) << 16 for k in range(2)]
p.test('halves_s32', img, [('x', 's32', [x for x, _ in spot]), ('y', 's32', [y for _, y in spot])], outs(two, 2),
       'tex.2d.v2.f16x2.s32 {%v0, %v1}, [%t, {%x, %y}];', ['t'])
p.test('halves_f32', img, [('x', 'f32', [F(x + .5) for x, _ in spot]), ('y', 'f32', [F(y + .5) for _, y in spot])], outs(two, 2),
       'tex.2d.v2.f16x2.f32 {%v0, %v1}, [%t, {%x, %y}];', ['t'])
p.write()

# ---- every geometry: level, gradients and base at the first level, halves, gathering from four channels ----
p = Page('texture/more_forms', 'tex.level, tex.grad, tex.base, halves, and tld4 of every geometry and type: the middles of texels, or where four meet.',
         version='7.1', target='sm_60')
G = {'1d': ((13,), '{%x}', ''), 'a1d': ((5, 3), '{%l, %x}', 'layered'), '3d': ((5, 4, 3), '{%x, %y, %z, %z}', ''), 'a2d': ((5, 4, 3), '{%l, %x, %y, %y}', 'layered'),
     'cube': ((4, 4, 6), '{%x, %y, %z, %z}', 'cubemap'), 'acube': ((4, 4, 12), '{%l, %x, %y, %z}', 'cubemap layered')}
for geom, (size, vec, flags) in G.items():
    dims, count = DIM[geom], 1
    for n in size:
        count *= n
    cube = geom.endswith('cube')
    zero = {1: '{%v7}', 2: '{%v7, %v7}', 3: '{%v7, %v7, %v7, %v7}'}[dims]

    def inputs(between):
        """Inputs, and the index of the texel, or of the one to the lower right of a point between four."""
        rnd = lambda i, k, n: 1 + mix(i * 8 + k + 5) % (n - 1) if between and n > 1 else mix(i * 8 + k + 5) % n
        at = []
        for i in range(N):
            if cube:
                f, c, r = mix(i) % size[2], rnd(i, 1, 4), rnd(i, 2, 4)
                at.append((f // 6, f % 6, c, r))
            else:
                at.append([rnd(i, k, n) if k < 2 and k < dims else mix(i * 8 + k) % n for k, n in enumerate(size)])
        move = 0 if between else 1
        if cube:
            d = [direction(f, (2 * c + move) / 4 - 1, (2 * r + move) / 4 - 1) for _, f, c, r in at]
            ins = [(n, 'f32', [F(v[k] * (1 + i % 3)) for i, v in enumerate(d)]) for k, n in enumerate('xyz')]
            ins += [('l', 'u32', [x[0] for x in at])] if geom == 'acube' else []
            index = [(l * 6 + f) * 16 + r * 4 + c for l, f, c, r in at]
        else:
            ins = [(n, 'f32', [F(x[k] + move / 2) for x in at]) for k, n in enumerate('xyz'[:dims])]
            ins += [('l', 'u32', [x[-1] for x in at])] if geom[0] == 'a' else []
            index = []
            for x in at:
                n = 0
                for v, m in reversed(list(zip(x, size))):
                    n = n * m + v
                index.append(n)
        return ins, index
    ins, index = inputs(False)
    shape = ','.join(map(str, size))
    for t in ('f32', 's32', 'u32'):
        bits = (lambda x: F(float(x))) if t == 'f32' else lambda x: x & 0xffffffff
        val = lambda x: x + 3 if t == 'u32' else 7 - x
        img = texels('texels', t, [val(x) for x in range(count)]) + ['//! texture t of texels %s x1 %s clamp' % (shape, flags)]
        want = [bits(val(x)) for x in index]
        p.test('at_%s_%s' % (geom, t), img, ins, [('d%d' % k, 'b32', want, '%%o%d' % k) for k in range(3)],
               'mov.b32 %%v7, 0;\ntex.base.%s.v4.%s.f32 {%%o0, %%o10, %%o11, %%o12}, [%%t, %s];\n' % (geom, t, vec) +
               'tex.level.%s.v4.%s.f32 {%%o1, %%o10, %%o11, %%o12}, [%%t, %s], %%v7;\n' % (geom, t, vec) +
               'tex.grad.%s.v4.%s.f32 {%%o2, %%o10, %%o11, %%o12}, [%%t, %s], %s, %s;' % (geom, t, vec, zero, zero), ['t'])
    half = [(x % 100 - 40) / 8 for x in range(count * 4)]
    img = ['//! buffer texels f16 = ' + ' '.join('%g' % x for x in half), '//! texture t of texels %s x4 %s clamp' % (shape, flags)]
    p.test('halves_%s' % geom, img, ins, outs(lambda i: [H(half[index[i] * 4 + 2 * k]) | H(half[index[i] * 4 + 2 * k + 1]) << 16 for k in range(2)], 2),
           'tex.%s.v2.f16x2.f32 {%%v0, %%v1}, [%%t, %s];' % (geom, vec), ['t'])
    if geom not in ('a2d', 'cube', 'acube'):
        continue
    ins, index = inputs(True)
    w = size[0]
    for t in ('f32', 's32', 'u32'):
        bits = (lambda x: F(float(x))) if t == 'f32' else lambda x: x & 0xffffffff
        val = lambda x, c: (x * 4 + c) * (1 if t == 'u32' else -1)
        img = texels('texels', t, [val(x, c) for x in range(count) for c in range(4)]) + ['//! texture t of texels %s x4 %s clamp' % (shape, flags)]
        o, body = [], ''
        for c in range(4):
            got = []
            for x in index:
                acc = 0
                for y in (x - 1, x, x - w, x - w - 1):      # counter-clockwise from the lower left
                    acc = (acc * 31 + bits(val(y, c))) & 0xffffffff
                got.append(acc)
            o.append(('d%d' % c, 'b32', got, '%%o%d' % c))
            body += 'tld4.%s.%s.v4.%s.f32 %s, [%%t, %s]; mov.b32 %%o%d, 0;\n' % ('rgba'[c], geom, t, V4, vec, c)
            body += ' '.join('mad.lo.u32 %%o%d, %%o%d, 31, %%v%d;' % (c, c, k) for k in range(4)) + '\n'
        p.test('gather_%s_%s' % (geom, t), img, ins, o, body, ['t'])
W, HH = 6, 5
shift = [(mix(i) % 2, mix(i + 3) % 2) for i in range(N)]
ins = [('x', 'f32', [F(float(x)) for x, _ in corner]), ('y', 'f32', [F(float(y)) for _, y in corner])]
ins += [('dx', 's32', [x for x, _ in shift]), ('dy', 's32', [y for _, y in shift])]
img = texels('texels', 'f32', range(W * HH)) + ['//! texture t of texels %d,%d x1 gather clamp' % (W, HH)]
near = lambda x, y: F(float(min(y, HH - 1) * W + min(x, W - 1)))
p.test('gather_offset', img, ins, outs(lambda i: [near(x + shift[i][0], y + shift[i][1]) for x, y in around(i)]),
       'tld4.r.2d.v4.f32.f32 %s, [%%t, {%%x, %%y}], {%%dx, %%dy};' % V4, ['t'])
p.write()

# ---- residency ----
p = Page('texture/resident', 'tex and tld4 that say whether all texels are there: they are, as nothing here is sparse.', version='7.1', target='sm_60')
img = texels('texels', 'f32', range(W * HH)) + ['//! texture t of texels %d,%d x1 gather clamp' % (W, HH)]
one = lambda i: [F(float(spot[i][1] * W + spot[i][0]))]
p.test('resident', img, [('x', 'f32', [F(x + .5) for x, _ in spot]), ('y', 'f32', [F(y + .5) for _, y in spot])],
       [('d0', 'b32', [one(i)[0] for i in range(N)], '%v0'), ('d1', 'u32', [3] * N, '%o0')],
       """tex.2d.v4.f32.f32 {%v4, %v5, %v6, %v7}|%p0, [%t, {%x, %y}]; mov.b32 %v0, %v4; selp.u32 %o0, 1, 0, %p0;
tld4.r.2d.v4.f32.f32 {%v4, %v5, %v6, %v7}|%p1, [%t, {%x, %y}]; selp.u32 %o1, 2, 0, %p1; or.b32 %o0, %o0, %o1;""", ['t'])
p.write()

# ---- memory ----
EDGE = [0, 12, 13, 12 - 2**32, -1, -13, 2**31 - 1, -2**31, 1 << 27, 11]
index = [(EDGE[i] + 2**31) % 2**32 - 2**31 if i < len(EDGE) else mix(i) % 20 - 3 for i in range(N)]
u32 = lambda v: [x & 0xffffffff for x in v]
EDGES_F = [0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x00000001, 0x4f000000, 0xcf000000, 0x7f7fffff]


def fetches(p, name, how, arg):
    """Linear memory by integers: outside of it there is zero. Pitched memory by points and filtered."""
    op = '[%s, {%s}]'
    for t in ('f32', 's32', 'u32'):
        bits = (lambda x: F(float(x))) if t == 'f32' else lambda x: x & 0xffffffff
        val = lambda x, c: (x * 4 + c + 1) * (1 if t == 'u32' else -1)
        for ch in (1, 2, 4):
            img = texels('texels', t, [val(x, c) for x in range(13) for c in range(ch)]) + ['//! texture %s of texels 13 x%d linear-memory%s' % (arg[0], ch, how)]
            there = lambda i: 0 <= index[i] < 13
            p.test('%s_linear_%s_x%d' % (name, t, ch), img, [('x', 's32', u32(index))],
                   outs(lambda i: [bits(val(index[i], c)) if there(i) else 0 for c in range(ch)]),
                   'tex.1d.v4.%s.s32 %s, %s;' % (t, V4, op % (arg[1], '%x')), arg[2])
    W, HH = 9, 6
    img = texels('texels', 'f32', range(W * HH))
    spot = [(mix(i) % W, mix(i + 50) % HH) for i in range(N)]
    at = [('x', 'f32', [F(x + .5) for x, _ in spot]), ('y', 'f32', [F(y + .5) for _, y in spot])]
    p.test('%s_pitched' % name, img + ['//! texture %s of texels %d,%d pitched clamp%s' % (arg[0], W, HH, how)], at,
           outs(lambda i: (F(float(spot[i][1] * W + spot[i][0])),)), 'tex.2d.v4.f32.f32 %s, %s;' % (V4, op % (arg[1], '%x, %y')), arg[2])
    far = [('x', 'f32', [EDGES_F[i % 9] if i < 18 else F(mix(i) % 1500 / 100 - 3) for i in range(N)]), ('y', 'f32', [EDGES_F[i * 5 % 9] if i < 9 else F(mix(i + 9) % 1000 / 100 - 2) for i in range(N)])]
    for mode in ('clamp', 'border', 'clamp linear', 'border linear'):
        p.test('%s_pitched_%s' % (name, mode.replace(' ', '_')), img + ['//! texture %s of texels %d,%d pitched %s%s' % (arg[0], W, HH, mode, how)], far, outs(None, 1),
               'tex.2d.v4.f32.f32 %s, %s;' % (V4, op % (arg[1], '%x, %y')), arg[2])
    scaled = [('x', 'f32', [F(mix(i) % 300 / 100 - 1) for i in range(N)]), ('y', 'f32', [F(mix(i + 9) % 300 / 100 - 1) for i in range(N)])]
    for mode in ('wrap normalized', 'mirror normalized linear'):
        p.test('%s_pitched_%s' % (name, mode.replace(' ', '_')), img + ['//! texture %s of texels %d,%d pitched %s%s' % (arg[0], W, HH, mode, how)], scaled, outs(None, 1),
               'tex.2d.v4.f32.f32 %s, %s;' % (V4, op % (arg[1], '%x, %y')), arg[2])
    img = texels('texels', 'u8', [x * 3 % 256 for x in range(W * HH * 4)])
    p.test('%s_pitched_bytes' % name, img + ['//! texture %s of texels %d,%d x4 pitched clamp%s' % (arg[0], W, HH, how)], at,
           outs(None), 'tex.2d.v4.f32.f32 %s, %s;' % (V4, op % (arg[1], '%x, %y')), arg[2])


p = Page('texture/memory', 'Textures on linear and on pitched memory: inside, at the edges, far outside.')
fetches(p, 'object', '', ('t', '%t', ['t']))
p.write()

# ---- references ----
p = Page('texture/references', 'Texture references of the module: every kind of texture bound to one, with every way to sample.', top=['.global .texref tx;', '.global .texref ty;'])
fetches(p, 'reference', ' reference', ('tx', 'tx', []))
W, HH = 6, 5
img = texels('texels', 'f32', range(W * HH))
spot = [(mix(i) % W, mix(i + 50) % HH) for i in range(N)]
at = [('x', 'f32', [F(x + .5) for x, _ in spot]), ('y', 'f32', [F(y + .5) for _, y in spot])]
p.test('reference_2d', img + ['//! texture tx of texels %d,%d clamp reference' % (W, HH)], at, outs(lambda i: (F(float(spot[i][1] * W + spot[i][0])),)),
       'tex.2d.v4.f32.f32 %s, [tx, {%%x, %%y}];' % V4)
some = [('x', 'f32', [F(mix(i) % 1000 / 100 - 2) for i in range(N)]), ('y', 'f32', [F(mix(i + 9) % 1000 / 100 - 2) for i in range(N)])]
for mode in ('clamp linear', 'border linear', 'wrap normalized', 'mirror normalized linear'):
    p.test('reference_2d_' + mode.replace(' ', '_'), img + ['//! texture tx of texels %d,%d %s reference' % (W, HH, mode)], some, outs(None, 1),
           'tex.2d.v4.f32.f32 %s, [tx, {%%x, %%y}];' % V4)
bytes_ = texels('texels', 'u8', [x * 3 % 256 for x in range(W * HH * 4)])
p.test('reference_integers', bytes_ + ['//! texture tx of texels %d,%d x4 clamp integer reference' % (W, HH)], at,
       outs(lambda i: [((spot[i][1] * W + spot[i][0]) * 4 + c) * 3 % 256 for c in range(4)]), 'tex.2d.v4.u32.f32 %s, [tx, {%%x, %%y}];' % V4)
p.test('reference_3d', texels('texels', 'f32', range(4 * 3 * 5)) + ['//! texture tx of texels 4,3,5 clamp reference'],
       [(n, 'f32', [F(mix(i * 3 + k) % s + .5) for i in range(N)]) for k, (n, s) in enumerate((('x', 4), ('y', 3), ('z', 5)))],
       outs(lambda i: (F(float(mix(i * 3) % 4 + 4 * (mix(i * 3 + 1) % 3) + 12 * (mix(i * 3 + 2) % 5))),)), 'tex.3d.v4.f32.f32 %s, [tx, {%%x, %%y, %%z, %%z}];' % V4)
p.test('reference_layers', texels('texels', 'f32', range(4 * 3 * 5)) + ['//! texture tx of texels 4,3,5 layered clamp reference'],
       [('l', 'u32', [mix(i * 3 + 2) % 5 for i in range(N)])] + [(n, 'f32', [F(mix(i * 3 + k) % s + .5) for i in range(N)]) for k, (n, s) in enumerate((('x', 4), ('y', 3)))],
       outs(lambda i: (F(float(mix(i * 3) % 4 + 4 * (mix(i * 3 + 1) % 3) + 12 * (mix(i * 3 + 2) % 5))),)), 'tex.a2d.v4.f32.f32 %s, [tx, {%%l, %%x, %%y, %%y}];' % V4)
p.test('reference_levels', texels('texels', 'f32', range(4 * 4 + 4)) + ['//! texture tx of texels 4,4 clamp normalized levels 2 reference'],
       [('x', 'f32', [F((i % 4 + .5) / 4) for i in range(N)]), ('y', 'f32', [F((i // 4 % 4 + .5) / 4) for i in range(N)]), ('level', 'f32', [F(float(i // 16)) for i in range(N)])],
       outs(lambda i: (F(float(16 + i % 4 // 2 + i // 4 % 4 // 2 * 2 if i >= 16 else i)),)), 'tex.level.2d.v4.f32.f32 %s, [tx, {%%x, %%y}], %%level;' % V4)
p.test('reference_two', img + ['//! texture tx of texels %d,%d clamp reference' % (W, HH)] + texels('more', 'f32', range(100, 100 + W * HH)) + ['//! texture ty of more %d,%d clamp reference' % (W, HH)],
       at, [('d0', 'b32', [F(float(spot[i][1] * W + spot[i][0])) for i in range(N)], '%v0'), ('d1', 'b32', [F(float(100 + spot[i][1] * W + spot[i][0])) for i in range(N)], '%o0')],
       'tex.2d.v4.f32.f32 %s, [tx, {%%x, %%y}];\ntex.2d.v4.f32.f32 {%%o0, %%o1, %%o2, %%o3}, [ty, {%%x, %%y}];' % V4)
p.test('reference_by_register', img + ['//! texture tx of texels %d,%d clamp reference' % (W, HH)], at, outs(lambda i: (F(float(spot[i][1] * W + spot[i][0])),)),
       'mov.u64 %%q0, tx;\ntex.2d.v4.f32.f32 %s, [%%q0, {%%x, %%y}];' % V4)
p.write()

p = Page('surface/references', 'Surface references of the module.', top=['.global .surfref sf;'])
W, HH = 7, 5
tex = [mix(i + 4321) & 0xffffffff for i in range(W * HH)]
img = texels('texels', 'u32', tex) + ['//! surface sf of texels %d,%d reference' % (W, HH)]
spot = [(mix(i) % W, mix(i + 50) % HH) for i in range(N)]
at = [('x', 's32', [4 * x for x, _ in spot]), ('y', 's32', [y for _, y in spot])]
p.test('reference_load', img, at, [('d0', 'b32', [tex[y * W + x] for x, y in spot], '%v0')], 'suld.b.2d.b32.trap %v0, [sf, {%x, %y}];')
p.lines.append('//! expect texels derived = ' + ' '.join(map(str, tex)))
now = list(tex)
for x, y in spot:
    now[y * W + x] = (y * 1000 + x) & 0xffffffff
p.test('reference_store', img, at, [('d0', 'b32', [y * 1000 + x for x, y in spot], '%v0')], 'shr.u32 %v1, %x, 2;\nmad.lo.u32 %v0, %y, 1000, %v1;\nsust.b.2d.b32.trap [sf, {%x, %y}], %v0;')
p.lines += ['//! expect texels derived = ' + ' '.join(map(str, now))]
p.test('reference_by_register', img, at, [('d0', 'b32', [tex[y * W + x] for x, y in spot], '%v0')], 'mov.u64 %q0, sf;\nsuld.b.2d.b32.trap %v0, [%q0, {%x, %y}];')
p.write()

# ---- queries ----
TXQ, SUQ = ['width', 'height', 'depth'], ['width', 'height', 'depth']
# NVIDIA's driver leaves kernels out that ask for these, and so do we on it.
TXQ_REFUSED, SUQ_REFUSED = ['normalized_coords', 'array_size', 'num_mipmap_levels'], ['array_size']
SHAPES = [('1d', 'f32', '13', 13), ('2d', 'f32', '5,3', 15), ('3d', 'f32', '5,3,2', 30), ('a1d', 'f32', '5,3', 15), ('a2d', 'f32', '5,3,2', 30), ('cube', 'f32', '4,4,6', 96), ('acube', 'f32', '4,4,12', 192)]
FLAG = {'a1d': ' layered', 'a2d': ' layered', 'cube': ' cubemap', 'acube': ' cubemap layered'}
MODES = ['clamp', 'wrap normalized linear', 'mirror normalized', 'border linear', 'clamp', 'mirror normalized linear', 'wrap normalized']


def defined(q, geom, size, mode, levels=1):
    """What the PTX ISA says of a query; None: nothing that could be derived."""
    n = [int(x) for x in size.split(',')]
    layered = geom[0] == 'a' or geom == 'cube'
    if q == 'width':
        return n[0]
    if q == 'height' and DIM[geom] > 1:
        return n[1]
    if q == 'depth' and geom == '3d':
        return n[2]
    if q == 'array_size' and geom[0] == 'a':
        return n[-1] // (6 if geom == 'acube' else 1)
    return {'normalized_coords': int('normalized' in mode), 'num_mipmap_levels': levels}.get(q)


def queries(p, geom, size, count, mode, handle, how, names, op, kind, levels=1):
    img = texels('texels', 'f32', range(count)) + ['//! %s %s of texels %s x1%s%s%s%s' % (kind, handle.strip('%'), size, FLAG.get(geom, ''), ' ' + mode if kind == 'texture' else '',
                                                                                        ' levels %d' % levels if levels > 1 else '', how)]
    o, body = [], ''
    for k, q in enumerate(names):
        d = defined(q, geom, size, mode, levels)
        o.append((q, 'u32', None if d is None else [d] * N, '%%o%d' % k))
        body += '%s.%s.b32 %%o%d, [%s];\n' % (op, q, k, handle)
    p.test('%s_%s%s%s' % (op, geom, '_reference' if how else '', '_levels' if levels > 1 else ''), img, [], o, body, [] if how else [handle.strip('%')])


p = Page('texture/queries', 'txq of objects and of references: what the PTX ISA defines is derived, the rest recorded.', version='7.1', top=['.global .texref tx;'])
for (geom, t, size, count), mode in zip(SHAPES, MODES):
    queries(p, geom, size, count, mode, '%t', '', TXQ, 'txq', 'texture')
for (geom, t, size, count), mode in zip(SHAPES[:5], MODES[1:]):
    queries(p, geom, size, count, mode, 'tx', ' reference', TXQ, 'txq', 'texture')
level = [i % 4 if i < 30 else 0xffffffff >> (i - 30) for i in range(N)]
img = texels('texels', 'f32', range(8 * 4 + 4 * 2 + 2)) + ['//! texture t of texels 8,4 x1 clamp levels 3']
p.test('txq_level', img, [('level', 'u32', level)], [('width', 'u32', None, '%o0'), ('height', 'u32', None, '%o1'), ('depth', 'u32', None, '%o2')],
       'txq.level.width.b32 %o0, [%t], %level;\ntxq.level.height.b32 %o1, [%t], %level;\ntxq.level.depth.b32 %o2, [%t], %level;', ['t'])
p.write()
p = Page('surface/queries', 'suq of objects and of references: what the PTX ISA defines is derived, the rest recorded.', version='7.1', top=['.global .surfref sf;'])
for geom, t, size, count in SHAPES[:6]:
    queries(p, geom, size, count, '', '%s', '', SUQ, 'suq', 'surface')
for geom, t, size, count in SHAPES[:5]:
    queries(p, geom, size, count, '', 'sf', ' reference', SUQ, 'suq', 'surface')
p.write()

NOTE = ["todo cuda-native,cuda NVIDIA's driver leaves kernels with these queries out"]
p = Page('texture/queries_refused', 'txq with what the PTX ISA defines, and NVIDIA\'s driver does not take.', version='7.1', top=['.global .texref tx;'], notes=NOTE)
for (geom, t, size, count), mode in zip(SHAPES, MODES):
    names = [q for q in TXQ_REFUSED if q != 'array_size' or geom[0] == 'a']
    queries(p, geom, size, count, mode, '%t', '', names, 'txq', 'texture')
    if geom in ('2d', 'a2d'):
        queries(p, geom, size, count, mode, 'tx', ' reference', names, 'txq', 'texture')
queries(p, '2d', '4,4', 20, 'clamp normalized', '%t', '', ['num_mipmap_levels'], 'txq', 'texture', levels=2)
p.write()
p = Page('surface/queries_refused', 'suq.array_size, which NVIDIA\'s driver does not take.', version='7.1', top=['.global .surfref sf;'], notes=NOTE)
for geom, t, size, count in SHAPES[3:5]:
    queries(p, geom, size, count, '', '%s', '', SUQ_REFUSED, 'suq', 'surface')
    queries(p, geom, size, count, '', 'sf', ' reference', SUQ_REFUSED, 'suq', 'surface')
p.write()

p = Page('texture/istypep', 'istypep of handles: objects, references, anything else.', top=['.global .texref tx;', '.global .surfref sf;'])
image = texels('texels', 'f32', range(15)) + ['//! texture t of texels 5,3 clamp', '//! surface s of texels 5,3', '//! texture tx of texels 5,3 clamp reference', '//! surface sf of texels 5,3 reference']
for what, load in (('texture_object', 'mov.b64 %q0, %t;'), ('surface_object', 'mov.b64 %q0, %s;'), ('texture_reference', 'mov.u64 %q0, tx;'), ('surface_reference', 'mov.u64 %q0, sf;'), ('zero', 'mov.u64 %q0, 0;')):
    p.test('istypep_' + what, image, [], [('d%d' % k, 'u32', None, '%%o%d' % k) for k in range(3)],
           load + '\n' + '\n'.join('istypep.%s %%p%d, %%q0; selp.u32 %%o%d, 1, 0, %%p%d;' % (t, k, k, k) for k, t in enumerate(('texref', 'samplerref', 'surfref'))), ['t', 's'])
p.write()
