#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/ptx/isa/surface/forms.ptx and reduce.ptx: surface.py ROOT. suld.b, sust.b and sured of every geometry and every way
to treat what is outside, by lanes that have taken different paths. The model is 9.7.11 of the PTX ISA: x counts bytes (texels
for sured.p), .clamp takes the nearest texel, .zero reads zero and writes nothing; .trap is asked for texels inside only."""
import os, sys
from forms import mix

N, M32 = 64, 0xffffffff
SIZE = {'1d': (11,), '2d': (7, 5), 'a1d': (7, 3), '3d': (5, 4, 3), 'a2d': (5, 4, 3)}
EXTREME = [-1, 0x7ffffffc, -0x80000000, 0x40000000, -4]


def words(v, per=10):
    return ['//!     ' + ' '.join('0x%x' % (x & M32) for x in v[i:i + per]) for i in range(0, len(v), per)]


def buffer(name, t, v):
    return ['//! buffer %s %s =' % (name, t)] + words(v)


def places(geom, seed):
    """x, y, z of each thread in texels; the first ones far outside. The layer of an array is always there."""
    size, out = SIZE[geom], []
    for i in range(N):
        p = []
        for d, n in enumerate(size):
            h = mix(seed * 1000 + i * 8 + d)
            layer = geom[0] == 'a' and d == len(size) - 1
            p.append(h % n if layer or i % 3 == 0 else h % (n + 4) - 2)
        if i % 7 == 1:
            p[i // 7 % (len(size) - (geom[0] == 'a'))] = (EXTREME[i % 5] >> 2 if i // 7 % (len(size) - (geom[0] == 'a')) == 0 else EXTREME[i % 5])
        out.append(p)
    return out


def inside(geom, p):
    return all(0 <= x < n for x, n in zip(p, SIZE[geom]))


def nearest(geom, p):
    return [min(max(x, 0), n - 1) for x, n in zip(p, SIZE[geom])]


def number(geom, p):
    at = 0
    for x, n in reversed(list(zip(p, SIZE[geom]))):
        at = at * n + x
    return at


def texels(geom, seed):
    n = 1
    for x in SIZE[geom]:
        n *= x
    return [mix(seed << 20 | i) & M32 for i in range(n)]


VECTOR = {'1d': '{%x}', '2d': '{%x, %y}', 'a1d': '{%y, %x}', '3d': '{%x, %y, %z, %z}', 'a2d': '{%z, %x, %y, %y}'}
HEAD = '''
.visible .entry {name}({params})
{{
    .reg .pred %in, %odd; .reg .b32 %i, %t, %x, %y, %z, %v, %r<8>; .reg .b64 %a, %w, %s<8>;
    mov.u32 %i, %tid.x; and.b32 %t, %i, 1; setp.ne.u32 %odd, %t, 0; mov.b32 %y, 0; mov.b32 %z, 0;
'''


def read(p, reg, bits=32):
    return '    ld.param.u64 %%a, [p_%s]; mad.wide.u32 %%a, %%i, %d, %%a; ld.global.b%d %s, [%%a];' % (p, bits // 8, bits, reg)


def kernel(name, params, head, body, tail):
    """The body twice: for even lanes, and for odd ones."""
    o = [HEAD.format(name=name, params=', '.join('.param .u64 p_' + p for p in params)).rstrip('\n')] + head
    o += ['    @%odd bra ODD;'] + body + ['    bra JOIN;', 'ODD:'] + body + ['JOIN:']
    return o + tail + ['    ret;', '}']


def coordinates(geom, at, unit):
    lines = buffer('x', 's32', [p[0] * unit for p in at])
    head = [read('x', '%x')]
    for d, n in ((1, 'y'), (2, 'z')):
        if len(SIZE[geom]) > d:
            lines += buffer(n, 's32', [p[d] for p in at])
            head.append(read(n, '%' + n))
    lines += buffer('inside', 'u32', [int(inside(geom, p)) for p in at])
    head.append(read('inside', '%t') + ' setp.ne.u32 %in, %t, 0;')
    return lines, head, [n for n, d in (('x', 0), ('y', 1), ('z', 2)) if len(SIZE[geom]) > d] + ['inside']


def surface(name, of, geom):
    size = SIZE[geom]
    return '//! surface %s of %s %s x1%s' % (name, of, ','.join(map(str, size)), ' layered' if geom[0] == 'a' else '')


def loads(geom, seed):
    at, tex = places(geom, seed), texels(geom, seed)
    lines, head, ins = coordinates(geom, at, 4)
    outs = ['d0', 'd1', 'd2']
    lines = ['', '//! test suld_' + geom] + buffer('texels', 'u32', tex) + lines
    lines += ['//! buffer %s u32[%d]' % (o, N) for o in outs] + [surface('s', 'texels', geom)]
    lines.append('//! launch suld_%s(%s,s) block %d' % (geom, ','.join(ins + outs), N))
    value = lambda p: tex[number(geom, p)]
    for o, v in zip(outs, ([value(p) if inside(geom, p) else 0 for p in at], [value(nearest(geom, p)) for p in at],
                           [value(p) if inside(geom, p) else 0 for p in at])):
        lines += ['//! expect %s derived =' % o] + words(v)
    v = VECTOR[geom]
    body = ['    @%%in suld.b.%s.b32.trap %%r0, [%%s0, %s];' % (geom, v)]
    body += ['    suld.b.%s.b32.%s %%r%d, [%%s0, %s];' % (geom, m, k, v) for k, m in ((1, 'clamp'), (2, 'zero'))]
    tail = ['    ld.param.u64 %%a, [p_%s]; mad.wide.u32 %%a, %%i, 4, %%a; st.global.b32 [%%a], %%r%d;' % (o, k) for k, o in enumerate(outs)]
    return lines, kernel('suld_' + geom, ins + outs + ['s'], head + ['    ld.param.u64 %s0, [p_s]; mov.b32 %r0, 0;'], body, tail)


def changes(name, geom, seed, text, combine, value, unit=4, kind='u32', bits=32, modes=('trap', 'clamp', 'zero')):
    """A kernel that changes a surface for each mode. combine(old, new) -> the texel; value(place, hash) -> what a thread brings."""
    at, tex = places(geom, seed), texels(geom, seed)
    if bits == 64:
        tex = [x | mix(x) >> 32 << 32 for x in tex]
    lines, head, ins = coordinates(geom, at, unit)
    v = [value(number(geom, nearest(geom, p)), mix(seed << 24 | i)) for i, p in enumerate(at)]
    t = {32: 'u32', 64: 'u64'}[bits]
    lines = ['', '//! test ' + name] + lines
    as_words = (lambda l: [(x >> s) & M32 for x in l for s in (0, 32)]) if bits == 64 else lambda l: l
    lines += ['//! buffer v %s =' % t] + ['//!     ' + ' '.join('0x%x' % x for x in v[i:i + 8]) for i in range(0, N, 8)]
    args = []
    for k, m in enumerate(modes):
        lines += buffer('t%d' % k, kind, as_words(tex))
        s = surface('s%d' % k, 't%d' % k, geom)
        lines.append(s.replace(' x1', ' x2') if bits == 64 else s)
        args.append('s%d' % k)
    lines.append('//! launch %s(%s) block %d' % (name, ','.join(ins + ['v'] + args), N))
    for k, m in enumerate(modes):
        now = list(tex)
        for p, x in zip(at, v):
            if inside(geom, p) or m == 'clamp':
                n = number(geom, nearest(geom, p))
                now[n] = combine(now[n], x)
        lines += ['//! expect t%d derived =' % k] + words(as_words(now))
    reg = '%w' if bits == 64 else '%v'
    head += [read('v', reg, bits)] + ['    ld.param.u64 %%s%d, [p_s%d];' % (k, k) for k in range(len(modes))]
    body = ['    %s%s.%s [%%s%d, %s], %s;' % ('@%in ' if m == 'trap' else '', text, m, k, VECTOR[geom], reg) for k, m in enumerate(modes)]
    return lines, kernel(name, ins + ['v'] + args, head, body, [])


def sg(x, bits):
    return x - (1 << bits) if x >> (bits - 1) else x


def combine(op, t):
    bits = int(t[1:])
    key = (lambda x: sg(x, bits)) if t[0] == 's' else lambda x: x
    return {'add': lambda a, b: (a + b) & ((1 << bits) - 1), 'min': lambda a, b: min(a, b, key=key), 'max': lambda a, b: max(a, b, key=key),
            'and': lambda a, b: a & b, 'or': lambda a, b: a | b}[op]


def write(name, title, parts, version='7.0', notes=()):
    head = ['// SPDX-License-Identifier: Apache-2.0', '// ' + title, '.version ' + version, '.target sm_52', '.address_size 64'] + list(notes)
    open(os.path.join(sys.argv[1], 'surface', name + '.ptx'), 'w').write('\n'.join(head + [x for p in parts for x in p[0]] + [x for p in parts for x in p[1]]) + '\n')


parts = [loads(g, i + 1) for i, g in enumerate(SIZE)]
# What threads write to one texel is the same, as nobody knows who is last.
parts += [changes('sust_' + g, g, i + 11, 'sust.b.%s.b32' % g, lambda a, b: b, lambda place, h, i=i: mix(777 + i << 16 | place) & M32) for i, g in enumerate(SIZE)]
write('forms', 'suld.b and sust.b of every geometry, inside and outside, in diverged lanes.', parts)

parts, seed = [], 30
bring = lambda bits: lambda place, h: h & ((1 << bits) - 1)
for op in ('add', 'min', 'max'):
    for t in ('u32', 's32'):
        parts.append(changes('sured_1d_%s_%s' % (op, t), '1d', seed, 'sured.b.%s.1d.%s' % (op, t), combine(op, t), bring(32)))
        parts.append(changes('sured_2d_%s_%s' % (op, t), '2d', seed + 1, 'sured.b.%s.2d.%s' % (op, t), combine(op, t), bring(32), modes=('trap',)))
        seed += 2
for op in ('and', 'or'):
    parts.append(changes('sured_2d_%s_b32' % op, '2d', seed, 'sured.b.%s.2d.b32' % op, combine(op, 'u32'), bring(32), modes=('trap',)))
    seed += 1
for op, t in (('add', 'u64'), ('min', 'u64'), ('min', 's64'), ('max', 'u64'), ('max', 's64')):
    parts.append(changes('sured_1d_%s_%s' % (op, t), '1d', seed, 'sured.b.%s.1d.%s' % (op, t), combine(op, t), bring(64), unit=8, bits=64, modes=('trap',)))
    seed += 1
# sured.p: the format of the surface says whether the numbers have signs.
for op in ('add', 'min', 'max', 'and', 'or'):
    for kind in ('u32', 's32'):
        parts.append(changes('sured_p_%s_%s' % (op, kind), '1d', seed, 'sured.p.%s.1d.b32' % op, combine(op, kind), bring(32), unit=1, kind=kind, modes=('trap',)))
        seed += 1
write('reduce', 'sured.b of every operation, type and way to treat what is outside; sured.p.', parts, '8.1')


# ---- every width and vector: bytes of a surface of 16-byte texels ----
WIDTHS = [(1, 1), (1, 2), (1, 4), (2, 1), (2, 2), (2, 4), (4, 1), (4, 2), (4, 4), (8, 1), (8, 2)]      # bytes of a component, components
REG = {1: '%h', 2: '%h', 4: '%v', 8: '%w'}


def spots(geom, w, vec, i, p):
    """Byte offset in the row, row: as the access has it."""
    x = p[0] * 16 + (i * w * vec & 15)
    return [(x + (1 << 31)) % (1 << 32) - (1 << 31)] + p[1:]        # 32 bits, as in the kernel


def effective(geom, w, vec, q):
    size = SIZE[geom]
    return [min(max(q[0], 0), size[0] * 16 - w * vec)] + [min(max(x, 0), n - 1) for x, n in zip(q[1:], size[1:])]


def row_of(geom, q):
    r = 0
    for x, n in reversed(list(zip(q[1:], SIZE[geom][1:]))):
        r = r * n + x
    return r


def wide(op, geom, mode, seed):
    at, size = places(geom, seed), SIZE[geom]
    rows = 1
    for n in size[1:]:
        rows *= n
    pitch = size[0] * 16
    initial = bytes((mix(seed << 16 | k) & 255) for k in range(pitch * rows))
    name = '%s_wide_%s_%s' % (op, geom, mode)
    dims = ['x', 'y', 'z'][:len(size)]
    lines = ['', '//! test ' + name] + [l for d, n in enumerate(dims) for l in buffer(n, 's32', [p[d] for p in at])]
    as_words = lambda b: [int.from_bytes(b[k:k + 4], 'little') for k in range(0, len(b), 4)]
    load = op == 'suld'
    head, body, args, outs, expects = [read(n, '%' + n) for n in dims], [], [], [], []
    head.append('    .reg .b32 %bx, %ex, %row, %acc, %q, %lo, %hi; .reg .b16 %h<4>; .reg .b64 %big, %t1; .reg .pred %ok, %o1;')
    # the row of the access when it is brought inside, and whether it is inside
    clampy = []
    for n, limit in zip(dims[1:], size[1:]):
        clampy.append('    max.s32 %%e%s, %%%s, 0; min.s32 %%e%s, %%e%s, %d;' % (n, n, n, n, limit - 1))
    head.append('    .reg .b32 %ey, %ez; mov.b32 %ey, 0; mov.b32 %ez, 0;')
    head += clampy
    head.append('    mad.lo.u32 %%row, %%ez, %d, %%ey;' % (size[1] if len(size) > 2 else 0))
    for k, (w, vec) in enumerate(WIDTHS):
        s = w * vec
        regs = ['%s%d' % (REG[w], c) for c in range(vec)]
        text = regs[0] if vec == 1 else '{%s}' % ', '.join(regs)
        suffix = '%s.b.%s%s.b%d.%s' % (op, geom, '.v%d' % vec if vec > 1 else '', 8 * w, mode)
        places_k = [spots(geom, w, vec, i, p) for i, p in enumerate(at)]
        ins = [0 <= q[0] <= pitch - s and all(0 <= x < n for x, n in zip(q[1:], size[1:])) for q in places_k]
        body.append('    mul.lo.u32 %%bx, %%i, %d; and.b32 %%bx, %%bx, 15; shl.b32 %%ex, %%x, 4; add.u32 %%bx, %%bx, %%ex;' % s)
        guard = ''
        if mode == 'trap':
            body.append('    max.s32 %%ex, %%bx, 0; min.s32 %%ex, %%ex, %d; setp.eq.s32 %%ok, %%ex, %%bx;' % (pitch - s))
            body += ['    setp.eq.s32 %%o1, %%e%s, %%%s; and.pred %%ok, %%ok, %%o1;' % (n, n) for n in dims[1:]]
            guard = '@%ok '
        vector = VECTOR[geom].replace('%x', '%bx')
        if load:
            body += ['    mov.b%d %s, 0;' % (max(16, 8 * w), r) for r in regs] if guard else []
            body.append('    %s%s %s, [%%s0, %s];' % (guard, suffix, text, vector))
            body.append('    mov.b32 %acc, 0;')
            for r in regs:
                if w == 8:
                    body.append('    mov.b64 {%%lo, %%hi}, %s; mad.lo.u32 %%acc, %%acc, 31, %%lo; mad.lo.u32 %%acc, %%acc, 31, %%hi;' % r)
                elif w == 4:
                    body.append('    mad.lo.u32 %%acc, %%acc, 31, %s;' % r)
                else:
                    body.append('    cvt.u32.u16 %%lo, %s; %smad.lo.u32 %%acc, %%acc, 31, %%lo;' % (r, 'and.b32 %lo, %lo, 255; ' if w == 1 else ''))
            body.append('    ld.param.u64 %%a, [p_d%d]; mad.wide.u32 %%a, %%i, 4, %%a; st.global.b32 [%%a], %%acc;' % k)
            got = []
            for q, there in zip(places_k, ins):
                e = effective(geom, w, vec, q)
                start = row_of(geom, e) * pitch + e[0]
                data = initial[start:start + s] if there or mode == 'clamp' else bytes(s)
                acc = 0
                for c in range(0, s, min(w, 4)):
                    acc = (acc * 31 + int.from_bytes(data[c:c + min(w, 4)], 'little')) & M32
                got.append(acc)
            outs.append('d%d' % k)
            expects += ['//! expect d%d derived =' % k] + words(got)
        else:
            # what a place gets depends on the place alone: 64 * row + offset, and counting up
            body.append('    max.s32 %%ex, %%bx, 0; min.s32 %%ex, %%ex, %d; mad.lo.u32 %%q, %%row, 64, %%ex;' % (pitch - s))
            for c, r in enumerate(regs):
                body.append('    add.u32 %%lo, %%q, %d; and.b32 %%lo, %%lo, 255;' % (c * w))
                if w <= 2:
                    body.append('    mad.lo.u32 %%lo, %%lo, %d, %d; cvt.u16.u32 %s, %%lo;' % ((1, 0, r) if w == 1 else (0x101, 0x100, r)))
                elif w == 4:
                    body.append('    mad.lo.u32 %s, %%lo, 0x01010101, 0x03020100;' % r)
                else:
                    body.append('    mul.lo.u32 %%lo, %%lo, 0x01010101; add.u32 %%hi, %%lo, 0x07060504; add.u32 %%lo, %%lo, 0x03020100; mov.b64 %s, {%%lo, %%hi};' % r)
            body.append('    %s%s [%%s%d, %s], %s;' % (guard, suffix, k, vector, text))
            now = bytearray(initial)
            for q, there in zip(places_k, ins):
                if there or mode == 'clamp':
                    e = effective(geom, w, vec, q)
                    r = row_of(geom, e)
                    for b in range(s):
                        now[r * pitch + e[0] + b] = (r * 64 + e[0] + b) & 255
            args.append('s%d' % k)
            lines += buffer('t%d' % k, 'u32', as_words(initial)) + [surface('s%d' % k, 't%d' % k, geom).replace(' x1', ' x4')]
            expects += ['//! expect t%d derived =' % k] + words(as_words(now))
    if load:
        lines += buffer('texels', 'u32', as_words(initial)) + ['//! buffer %s u32[%d]' % (o, N) for o in outs] + [surface('s0', 'texels', geom).replace(' x1', ' x4')]
        args = ['s0']
    lines.append('//! launch %s(%s) block %d' % (name, ','.join(dims + outs + args), N))
    head += ['    .reg .b32 %%v<4>; .reg .b64 %%w<4>; .reg .b64 %%s<%d>;' % len(args)] + ['    ld.param.u64 %%%s, [p_%s];' % (a, a) for a in args]
    o = kernel(name, dims + outs + args, head, body, [])
    o = [x.replace(', %v, %r<8>; .reg .b64 %a, %w, %s<8>;', ', %r<8>; .reg .b64 %a;') for x in o]
    return lines + expects, o


ALL = [(g, 'zero') for g in SIZE] + [('2d', 'clamp'), ('2d', 'trap')]
for op in ('suld', 'sust'):
    write(op + '_wide', op + '.b of every width and vector.', [wide(op, g, m, 100 + k) for k, (g, m) in enumerate(ALL)])
