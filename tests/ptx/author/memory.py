#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/ptx/isa/memory: loads and stores of every space, width, vector and hint that forms.txt has: memory.py FORMS ROOT.
Eight threads each move 32 bytes of 0..255 at their own place; the expected values follow from the bytes."""
import os, re, sys
from auto_judge import sm90

WIDTH = lambda t: int(re.sub(r'[^0-9]', '', t.replace('x2', ''))) * (2 if t.endswith('x2') else 1)
REG = {8: '%h', 16: '%h', 32: '%r', 64: '%l', 128: '%x'}
LANES, STRIDE = 8, 32
WIDE = 4        # registers of a form


def expand(text):
    m = re.search('<([^>]*)>', text)
    return [text] if not m else [y for x in m.group(1).split('|') for y in expand(text[:m.start()] + x + text[m.end():])]


class Form:
    def __init__(self, text):
        self.text = text
        token, _, operands = text.partition(' ')
        self.token, parts = token, token.split('.')
        self.op, self.type = parts[0], parts[-1]
        self.words = parts[1:-1]
        self.vec = next((int(w[1]) for w in self.words if re.fullmatch('v[248]', w)), 1)
        self.space = next((w for w in self.words if w in ('global', 'shared', 'const', 'local', 'param', 'shared::cta', 'shared::cluster')), 'generic')
        self.hint = 'L2::cache_hint' in token
        self.bits = WIDTH(self.type)
        self.size = self.bits // 8 * self.vec
        self.head = token[:-len(self.type) - 1]

    def key(self):
        return (self.op, self.space.replace('::', '_'))


def element(f):
    """Type of the buffer that shows the register(s): narrow loads are seen with their extension."""
    if f.op != 'st' and f.bits == 8:
        return 's16' if f.type[0] == 's' else 'u16'
    return 'b%d' % f.bits


def expected(f, offset=None):
    out = []
    for lane in range(LANES):
        for v in range(f.vec):
            at = (lane * STRIDE if offset is None else offset) + v * f.bits // 8
            x = int.from_bytes(bytes((at + i) & 255 for i in range(f.bits // 8)), 'little')
            if f.bits == 8 and f.type[0] == 's' and x >= 128:
                x -= 256
            out.append(x)
    return out


def words(f, values):
    w = {'u16': 4, 's16': 4}.get(element(f), f.bits // 4)
    return ' '.join('0x%0*x' % (w, v & ((1 << 4 * w) - 1)) for v in values)


def regs(f, k):
    r = REG[f.bits]
    names = ['%s%d' % (r, k * WIDE + i) for i in range(f.vec)]
    return names[0] if f.vec == 1 else '{%s}' % ', '.join(names)


def kernel(name, fs, guard):
    f0 = fs[0]
    p = ['.param .u64 a'] + ['.param .u64 d%d' % i for i in range(len(fs))]
    if f0.space == 'param':
        p.append('.param .align 16 .b8 P[256]')
    o = ['.visible .entry %s(%s)' % (name, ', '.join(p)), '{',
         '    .reg .pred %p<2>; .reg .b16 %h<80>; .reg .b32 %r<80>, %i, %o; .reg .b64 %l<80>, %a, %b, %to, %policy; .reg .b128 %x<80>;',
         '    mov.u32 %i, %tid.x; shl.b32 %o, %i, 5; ld.param.u64 %a, [a]; mad.wide.u32 %a, %i, 32, %a;']
    if any(f.hint for f in fs):
        o.append('    mov.b64 %policy, 0x12f0000000000000;     // as createpolicy.fractional.L2::evict_first makes it')
    if guard:
        o.append('    and.b32 %r79, %i, 1; setp.eq.u32 %p1, %r79, 1;')
    copy = '    ld.global.v2.b64 {%%l76, %%l77}, [%%a]; ld.global.v2.b64 {%%l78, %%l79}, [%%a+16]; st.%s.v2.b64 [%%b], {%%l76, %%l77}; st.%s.v2.b64 [%%b+16], {%%l78, %%l79};'
    space = f0.space
    if space in ('shared', 'shared::cta', 'shared::cluster', 'local'):
        base = 'local' if space == 'local' else 'shared'
        o.append('    .%s .align 16 .b8 m[256];' % base)
        o.append('    cvt.u64.u32 %to, %o; mov.u64 %b, m; add.u64 %b, %b, %to;')
        if f0.op != 'st':
            o.append(copy % (base, base))
            o += ['    bar.sync 0;'] if base == 'shared' else []
    elif space == 'const':
        o.append('    cvt.u64.u32 %to, %o; mov.u64 %b, c; add.u64 %b, %b, %to;')
    else:
        o.append('    mov.u64 %b, %a;')
    g = '@%p1 ' if guard else ''
    for k, f in enumerate(fs):
        r = regs(f, k % 16)
        reg = REG[f.bits]
        hint = ', %policy' if f.hint else ''
        store = '.v%d' % f.vec if f.vec > 1 else ''
        esize = int(element(f)[1:]) // 8 * f.vec
        dst = '    ld.param.u64 %%to, [d%d]; mad.wide.u32 %%to, %%i, %d, %%to;' % (k, esize)
        if f.op != 'st':
            o += ['    mov.b%d %s%d, 0;' % (max(f.bits, 16), reg, (k % 16) * WIDE + i) for i in range(f.vec)] if guard else []
            o.append('    %s%s %s, [%s]%s;' % (g, f.token, r, 'P+16' if space == 'param' else '%b', hint))
            o.append('%s st.global%s.%s [%%to], %s;' % (dst, store, 'b%d' % int(element(f)[1:]), r))
        else:
            if f.vec == 8:      # ld has fewer forms with eight elements
                names = r.strip('{}').split(', ')
                o += ['    ld.global.v4.b%d {%s}, [%%a+%d];' % (f.bits, ', '.join(names[q:q + 4]), q * f.bits // 8) for q in (0, 4)]
            else:
                o.append('    ld.global%s.b%d %s, [%%a];' % (store, f.bits, r))
            if space in ('generic', 'global'):
                o.append('%s %s%s [%%to], %s%s;' % (dst, g, f.token, r, hint))
            else:
                base = 'local' if space == 'local' else 'shared'
                o.append('    st.%s.v2.b64 [%%b], {0, 0}; st.%s.v2.b64 [%%b+16], {0, 0};' % (base, base))
                o.append('    %s%s [%%b], %s%s;' % (g, f.token, r, hint))
                o.append('    ld.%s%s.b%d %s, [%%b];' % (base, store, f.bits, r))
                o.append('%s st.global%s.b%d [%%to], %s;' % (dst, store, f.bits, r))
    return o + ['    ret;', '}']


def write(root, key, groups, version='8.3', target='sm_90'):
    op, space = key
    head = ['// SPDX-License-Identifier: Apache-2.0', '// %s, %s: every type, vector and hint. The values follow from the bytes that are read.' % (op, space),
            '.version ' + version, '.target ' + target, '.address_size 64']
    lines, code = ['//! buffer a u8 = @range(0,255)'], []
    if space == 'const':
        lines.append('//! variable c u8[256] = @range(0,255)')
        head.append('.const .align 16 .b8 c[256];')
    first = True
    for name, fs in groups.items():
        step = 64 // WIDE
        for part in range(0, len(fs), step):
            fs16 = fs[part:part + step]
            kname = re.sub(r'[^a-z0-9A-Z]', '_', name) + ('_%d' % (part // step) if part else '')
            for guard in ((False, True) if first else (False,)):
                lines += ['//! test %s%s' % (kname, '_divergent' if guard else '')]
                lines += ['//! buffer d%d %s[%d]' % (i, element(f), LANES * f.vec) for i, f in enumerate(fs16)]
                lines += ['//! value P b8[256] = @range(0,255)'] if space == 'param' else []
                lines += ['//! launch %s%s block %d' % (kname, '_divergent' if guard else '', LANES)]
                for i, f in enumerate(fs16):
                    v = expected(f, 16 if space == 'param' else None)
                    if guard:
                        v = [x if n // f.vec % 2 else 0 for n, x in enumerate(v)]
                    lines += ['//! expect d%d derived = %s' % (i, words(f, v))]
                code += [''] + kernel(kname + ('_divergent' if guard else ''), fs16, guard)
            first = False
    path = os.path.join(root, 'memory', '%s_%s.ptx' % key)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, 'w').write('\n'.join(head + lines + code) + '\n')


texts = []
for line in open(sys.argv[1]):
    if re.match(r'(ld|ldu|st)\.', line) and not line.startswith(('st.async', 'st.bulk')):
        texts += [t for t in expand(line.rstrip('\n')) if not (t.startswith('st.') and '.param' in t)]
texts = list(dict.fromkeys(texts))
files = {}
for t in sm90(texts):
    f = Form(t)
    if f.vec == 8 or f.space == 'param' and f.vec > 1 and f.bits * f.vec > 128:
        continue
    files.setdefault(f.key(), {}).setdefault(f.head.replace('.%s' % f.space, '.' + f.space.replace('::', '_')), []).append(f)
for key, groups in files.items():
    write(sys.argv[2], key, groups)
# 256 bits at once: sm_100 and newer.
WIDE = 8
for op in ('ld', 'st'):
    fs = [f for f in map(Form, texts) if f.op == op and f.space == 'generic' and not f.hint and len(f.words) == 1 and (f.vec == 8 or f.vec == 4 and f.bits == 64)]
    groups = {}
    for f in fs:
        groups.setdefault('%s_v%d_%d' % (op, f.vec, f.bits), []).append(f)
    write(sys.argv[2], (op, 'wide'), groups, '8.8', 'sm_100')
print(len(texts), 'forms,', len(files) + 2, 'files')
