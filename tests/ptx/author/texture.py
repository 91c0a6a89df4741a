#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/ptx/isa/texture/forms.ptx: texture.py ROOT. Every geometry with point sampling inside the texture, read with every
type and kind of coordinate: the value is the texel's, so it is derived. Channels that the texture lacks are 0, the last one 1."""
import os, struct, sys

N = 32
F = lambda x: struct.unpack('<I', struct.pack('<f', x))[0]
lines = ['// SPDX-License-Identifier: Apache-2.0',
         '// tex and tld4: every geometry and type of result and of coordinates. Points inside the texture: the texel itself,',
         '// but for integer coordinates of a one-dimensional array, which give zeros: they read linear memory.',
         '.version 7.8', '.target sm_86', '.address_size 64']
code = []


def case(name, size, props, texels, of, forms):
    """of(i): the texel that thread i reads, by coordinates; forms: tex text with {c} for the coordinates in %f0.. or %s0.."""
    dims = size
    outs = ['d%d' % k for k in range(len(forms))]
    lines.extend(['', '//! test ' + name, '//! buffer texels f32 = ' + ' '.join(str(t) for t in texels)])
    lines.extend('//! buffer %s b32[%d]' % (o, N) for o in outs)
    lines.append('//! texture t of texels %s x1 %s' % (','.join(map(str, dims)), props))
    lines.append('//! launch %s(%s,t) block %d' % (name, ','.join(outs), N))
    for o, (text, fill) in zip(outs, forms):        # fill: zeros
        if fill:
            lines.append('//! expect %s recorded "NVIDIA H200, 580.159.04, 2026-11-21" = %d x 0' % (o, N))
            continue
        v = [F(of(i)) for i in range(N)]
        lines.append('//! expect %s derived =' % o)
        lines.extend('//!     ' + ' '.join('0x%08x' % x for x in v[k:k + 8]) for k in range(0, N, 8))
    c = ['', '.visible .entry %s(%s, .param .u64 t)' % (name, ', '.join('.param .u64 p_' + o for o in outs)), '{',
         '    .reg .b32 %i, %v<4>, %s<4>, %f<4>, %z, %n; .reg .b64 %a, %t;', '    mov.u32 %i, %tid.x; ld.param.u64 %t, [t]; mov.b32 %z, 0;']
    w = dims[0]
    h = dims[1] if len(dims) > 1 else 1
    c.append('    rem.u32 %%s0, %%i, %d; div.u32 %%n, %%i, %d; rem.u32 %%s1, %%n, %d; div.u32 %%s2, %%n, %d;' % (w, w, h, h))
    if len(dims) > 2:
        c.append('    rem.u32 %%s2, %%s2, %d;' % dims[2])
    c.append('    ' + ' '.join('cvt.rn.f32.u32 %%f%d, %%s%d; add.f32 %%f%d, %%f%d, 0f3F000000;' % (k, k, k, k) for k in range(3)))
    for k, (text, _) in enumerate(forms):
        c.append('    %s; ld.param.u64 %%a, [p_d%d]; mad.wide.u32 %%a, %%i, 4, %%a; st.global.b32 [%%a], %%v0;' % (text, k))
    code.extend(c + ['    ret;', '}'])


V = '{%v0, %v1, %v2, %v3}'
types = ('f32', 's32', 'u32')
kinds = (('s32', '%s'), ('f32', '%f'))
forms = [('tex.1d.v4.%s.%s %s, [%%t, {%s0}]' % (t, k, V, r), k == 's32') for t in types for k, r in kinds]
forms += [('tex.level.1d.v4.%s.f32 %s, [%%t, {%%f0}], %%z' % (t, V), 0) for t in types] + [('tex.grad.1d.v4.%s.f32 %s, [%%t, {%%f0}], {%%z}, {%%z}' % (t, V), 0) for t in types]
case('one', (13,), 'clamp', range(1, 14), lambda i: i % 13 + 1, forms)
forms = [('tex.2d.v4.%s.%s %s, [%%t, {%s0, %s1}]' % (t, k, V, r, r), 0) for t in types for k, r in kinds]
forms += [('tex.base.2d.v4.%s.%s %s, [%%t, {%s0, %s1}]' % (t, k, V, r, r), 0) for t in types for k, r in kinds]
case('two', (4, 5), 'clamp', range(1, 21), lambda i: i % 4 + 4 * (i // 4 % 5) + 1, forms)
forms = [('tex.level.2d.v4.%s.f32 %s, [%%t, {%%f0, %%f1}], %%z' % (t, V), 0) for t in types]
forms += [('tex.grad.2d.v4.%s.f32 %s, [%%t, {%%f0, %%f1}], {%%z, %%z}, {%%z, %%z}' % (t, V), 0) for t in types]
forms += [('tex.2d.v4.f32.%s %s, [%%t, {%s0, %s1}], {%%z, %%z}' % (k, V, r, r), 0) for k, r in kinds]
case('two_more', (4, 5), 'clamp', range(1, 21), lambda i: i % 4 + 4 * (i // 4 % 5) + 1, forms)
three = lambda r: '{%s0, %s1, %s2, %%z}' % (r, r, r)
forms = [('tex.3d.v4.%s.%s %s, [%%t, %s]' % (t, k, V, three(r)), 0) for t in types for k, r in kinds]
forms += [('tex.level.3d.v4.%s.f32 %s, [%%t, %s], %%z' % (t, V, three('%f')), 0) for t in types]
forms += [('tex.grad.3d.v4.%s.f32 %s, [%%t, %s], {%%z, %%z, %%z, %%z}, {%%z, %%z, %%z, %%z}' % (t, V, three('%f')), 0) for t in types]
case('three', (3, 2, 4), 'clamp', range(1, 25), lambda i: i % 3 + 3 * (i // 3 % 2) + 6 * (i // 6 % 4) + 1, forms)
forms = [('tex.a1d.v4.%s.%s %s, [%%t, {%%s1, %s0}]' % (t, k, V, r), 0) for t in types for k, r in kinds]
case('layers', (4, 5), 'layered clamp', range(1, 21), lambda i: i % 4 + 4 * (i // 4 % 5) + 1, forms)
forms = [('tex.a2d.v4.%s.%s %s, [%%t, {%%s2, %s0, %s1, %%z}]' % (t, k, V, r, r), 0) for t in types for k, r in kinds]
forms += [('tex.level.a2d.v4.%s.f32 %s, [%%t, {%%s2, %%f0, %%f1, %%z}], %%z' % (t, V), 0) for t in types]
case('layers_2d', (3, 2, 4), 'layered clamp', range(1, 25), lambda i: i % 3 + 3 * (i // 3 % 2) + 6 * (i // 6 % 4) + 1, forms)
path = os.path.join(sys.argv[1], 'texture', 'forms.ptx')
open(path, 'w').write('\n'.join(lines + code) + '\n')
