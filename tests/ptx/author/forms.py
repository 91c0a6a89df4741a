# SPDX-License-Identifier: Apache-2.0
"""Writes test files of tests/ptx/isa from lists of instruction forms: kernels, inputs and launches, and, where a reference is
given, the expected values. Run by hand (author.py); what has no reference is recorded on hardware by cudaway-ptxtest --record."""
import os, struct

M = {8: 0xff, 16: 0xffff, 32: 0xffffffff, 64: 0xffffffffffffffff}
BITS = {'e4m3': 8, 'e5m2': 8, 'f16': 16, 'bf16': 16, 'f32': 32, 'tf32': 32, 'f64': 64, 'f16x2': 32, 'bf16x2': 32, 'u16x2': 32, 's16x2': 32,
        'u8x4': 32, 's8x4': 32, 'e4m3x2': 16, 'e5m2x2': 16, 'f32x2': 64}
FLOAT = {'e4m3': (4, 3), 'e5m2': (5, 2), 'f16': (5, 10), 'bf16': (8, 7), 'tf32': (8, 23), 'f32': (8, 23), 'f64': (11, 52)}


def bits(t):
    return BITS.get(t) or int(t[1:])


def lane(t):
    """Type and number of the parts of an element."""
    return (t.split('x')[0], int(t.split('x')[1])) if 'x' in t else (t, 1)


# ---- the sets of cudaway-ptxtest (docs/ptx-tests.md) ----

def mix(x):
    x = (x + 0x9e3779b97f4a7c15) & M[64]
    x = ((x ^ x >> 30) * 0xbf58476d1ce4e5b9) & M[64]
    x = ((x ^ x >> 27) * 0x94d049bb133111eb) & M[64]
    return x ^ x >> 31


def float_edges(t):
    e, m = FLOAT[t]
    n = bits(t)
    sign, finite = 1 << (n - 1), t == 'e4m3'
    inf = (1 << (n - 1)) - 1 if finite else ((1 << e) - 1) << m
    bias, top = (1 << (e - 1)) - 1, (1 << e) - 1
    one, normal, quiet = bias << m, 1 << m, 1 << (m - 1)
    r = lambda exp, f=0: ((bias + exp) << m) + f
    pi = r(1, round(0.5703125 * (1 << m)))
    big = lambda k: (bias + k if e > 5 else top - {31: 1, 63: 2}[k]) << m
    return [0, sign, 1, sign | 1, normal - 1, sign | (normal - 1), normal, sign | normal, one, sign | one, one + 1, one - 1, r(-1),
            sign | r(0, quiet), r(1), sign | r(1, quiet >> 1), pi, inf - 1, sign | (inf - 1), inf, sign | inf,
            inf - 2 if finite else inf | quiet, sign | (inf - 2) if finite else sign | inf | quiet | (quiet >> 1),
            normal + 1 if finite else inf | 1, sign | (normal + 1) if finite else sign | inf | (quiet - 1),
            normal << 1 if finite else sign - 1, r(m), sign | (r(m - 1) + 1), (normal << 1) + 3, big(31), sign | (big(31) + 1), big(63)]


def int_edges(n):
    top, half, ones = 1 << (n - 1), 1 << (n // 2), (1 << n) - 1
    return [0, 1, 2, 3, n - 1, n, n + 1, half // 2, half - 1, half, half + 1, top - 1, top, top + 1, ones - 1, ones,
            0x5555555555555555 & ones, 0xaaaaaaaaaaaaaaaa & ones, 0x0123456789abcdef >> (64 - n), 0xfedcba9876543210 >> (64 - n)]


SHIFTS = [0, 1, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 128, 255, 0x80000000]


def lane_set(t, name):
    if name == 'shift':
        return [x & ((1 << bits(t)) - 1) for x in SHIFTS]
    e = float_edges(t) if t in FLOAT else int_edges(bits(t))
    if name == 'few':
        e = [e[i] for i in ((0, 1, 8, 13, 2, 17, 20, 24) if t in FLOAT else (0, 1, 5, 11, 12, 15, 18, 17))]
    return e


def values(t, name, count=0, seed=0):
    """The bits that @name gives for an element type."""
    part, lanes = lane(t)
    n, out = bits(part), []
    s = lane_set(part, name) if name in ('edge', 'few', 'shift') else None
    for i in range(count or len(s)):
        v = 0
        for k in range(lanes):
            if s:
                x = s[(i * (2 * k + 5) + 3 * k if k else i) % len(s)]
            else:
                x = mix((seed << 32) ^ (i * lanes + k)) 
                if name == 'near1' and part in FLOAT:
                    e, m = FLOAT[part]
                    x = (x & (1 << (n - 1))) | (x & ((1 << m) - 1)) | (((1 << (e - 1)) - 1 - 3 + (x >> 53) % 7) << m)
                elif name == 'near1':
                    x &= 0xff
                x &= M[n]
            v |= x << (k * n)
        out.append(v)
    return out


def signed(v, n):
    return v - (1 << n) if v >> (n - 1) & 1 else v


# ---- kernels ----

REG = {8: '%h', 16: '%h', 32: '%r', 64: '%l'}
LETTERS = 'abcefg'


class Form:
    """One output: PTX text with {d}, {a}, {b}, {c}, ..., and how the result is known. `ref` gets the bits of the inputs and gives
    the bits of the output (None: anything); `options` go behind `derived`."""
    def __init__(self, text, ins, out, ref=None, options=''):
        self.text, self.ins, self.out, self.ref, self.options = text, ins.split(), out, ref, options


def kernel(name, ins, forms, divergent, blocks=False):
    """Every form on the same inputs, each to a buffer of its own. Divergent: odd lanes of odd warps take a copy of the code. Blocks:
    there are several."""
    n = len(ins) + len(forms)
    names = list(LETTERS[:len(ins)]) + ['d%d' % i for i in range(len(forms))]
    types = ins + [f.out for f in forms]
    regs = [REG[bits(t)] + str(i + 1) for i, t in enumerate(types)]
    o = ['.visible .entry %s(%s)' % (name, ', '.join('.param .u64 ' + x for x in names)), '{',
         '    .reg .pred %%p<8>; .reg .b16 %%h<%d>, %%u<4>; .reg .b32 %%r<%d>, %%t<8>, %%i; .reg .b64 %%l<%d>, %%q<4>, %%a;' % ((n + 2,) * 3),
         '    mov.u32 %i, %tid.x;' if not blocks else '    mov.u32 %t6, %tid.x; mov.u32 %t7, %ctaid.x; mov.u32 %i, %ntid.x; mad.lo.u32 %i, %i, %t7, %t6;']
    for x, t, r in list(zip(names, types, regs))[:len(ins)]:
        o.append('    ld.param.u64 %%a, [%s]; mad.wide.u32 %%a, %%i, %d, %%a; ld.global.b%d %s, [%%a];' % (x, bits(t) // 8, bits(t), r))
    body = []
    for f, r in zip(forms, regs[len(ins):]):
        text = f.text.replace('{d}', r)
        for i in range(len(ins)):
            text = text.replace('{%s}' % LETTERS[i], regs[i])
        body += ['    ' + x.strip() for x in text.split('\n')]
    if divergent:
        o += ['    and.b32 %t7, %i, 33; setp.eq.u32 %p7, %t7, 33;', '    @%p7 bra ODD;'] + body + ['    bra.uni JOIN;', 'ODD:'] + body + ['JOIN:']
    else:
        o += body
    for x, t, r in list(zip(names, types, regs))[len(ins):]:
        o.append('    ld.param.u64 %%a, [%s]; mad.wide.u32 %%a, %%i, %d, %%a; st.global.b%d [%%a], %s;' % (x, bits(t) // 8, bits(t), r))
    return o + ['    ret;', '}']


INLINE = 64


class Old:
    """What a file written before says, so that recorded lists stay where neither the kernel nor its inputs changed."""
    def __init__(self, path):
        self.tests, self.sections, self.kernels = {}, {}, {}
        if not os.path.exists(path):
            return
        test = name = None
        for line in open(path).read().split('\n'):
            if line.startswith('//! test '):
                test = self.tests.setdefault(line[9:], {'inputs': [], 'all': [], 'expects': {}})
                block = None
            elif line.startswith('//! expect ') and test is not None:
                block = test['expects'].setdefault(line.split()[2], [])
                block.append(line)
            elif line.startswith('//!  ') and test is not None:
                (test['all'] if block is None else block).append(line)
            elif line.startswith('//! ') and test is not None and not line.startswith('//! todo '):
                test['inputs'].append(line)
                test['all'].append(line)
                block = None
            elif line.startswith('.visible .entry '):
                name = line[16:].split('(')[0]
                self.kernels[name] = [line]
            elif name:
                self.kernels[name].append(line)
                if line == '}':
                    name = None
        values_file = path[:-4] + '.values'
        if os.path.exists(values_file):
            for line in open(values_file).read().split('\n'):
                if line.startswith('['):
                    section = self.sections.setdefault(line[1:-1], [])
                elif line and line[0] != '#':
                    section.append(line)

    def recorded(self, test, inputs, code, name, side):
        t = self.tests.get(test)
        if not t or t['inputs'] != inputs or self.kernels.get(code[0][16:].split('(')[0]) != code:
            return []
        lines = t['expects'].get(name, [])
        if not lines or ' recorded ' not in lines[0]:
            return []
        if lines[0].endswith('@file'):
            side += ['[%s.%s]' % (test, name)] + self.sections['%s.%s' % (test, name)]
        return lines


class File:
    def __init__(self, root, path, title, target='sm_52', version='7.0', sets=None, spread=48, counts=(), notes=()):
        self.root, self.path, self.title, self.target, self.version = root, path, title, target, version
        self.crossed = 3        # how many inputs are crossed; the others go along
        self.forms, self.sets, self.spread, self.counts, self.notes, self.todo = [], sets or {}, spread, counts, notes, {}

    def form(self, *a, **k):
        self.forms.append(Form(*a, **k))
        return self

    def expect(self, test, name, f, cols, side, inputs, code):
        if not f.ref:
            return self.old.recorded(test, inputs, code, name, side) or ['//! expect %s recorded' % name]
        got = [f.ref(*row) for row in zip(*cols)]
        w = bits(f.out) // 4
        if len(got) > INLINE and None not in got:
            per = 128 // (w + 1)
            side.append('[%s.%s]' % (test, name))
            side += [' '.join('%0*x' % (w, v) for v in got[i:i + per]) for i in range(0, len(got), per)]
            return ['//! expect %s derived%s = @file' % (name, f.options)]
        per = {2: 12, 4: 12, 8: 8, 16: 4}[w]
        word = lambda v: '?' if v is None else '0x%0*x' % (w, v)
        return ['//! expect %s derived%s =' % (name, f.options)] + \
               ['//!     ' + ' '.join(word(v) for v in got[i:i + per]) for i in range(0, len(got), per)]

    def write(self):
        groups, side, code = {}, [], []
        self.old = Old(os.path.join(self.root, self.path))
        for f in self.forms:
            groups.setdefault(tuple(f.ins), []).append(f)
        head = ['// SPDX-License-Identifier: Apache-2.0'] + ['// ' + x for x in self.title.split('\n')] + \
               ['.version ' + self.version, '.target ' + self.target, '.address_size 64'] + ['//! ' + x for x in self.notes]
        lines = []
        for gi, (ins, forms) in enumerate(groups.items()):
            ins = list(ins)
            for part in range(0, len(forms), 12):
                fs = forms[part:part + 12]
                kname = '_'.join(ins) + ('_%d' % (part // 12) if len(forms) > 12 else '')
                kname = 'on_' + (kname or 'none')
                sets = self.sets.get(len(ins)) or {1: ['edge'], 2: ['few', 'edge'], 3: ['few'] * 3, 4: ['few'] * 3 + ['edge']}[len(ins)]
                outs = ['//! buffer d%d %s[a]' % (i, f.out) for i, f in enumerate(fs)]
                cols = [values(t, s) for t, s in zip(ins, sets)]
                tests = []
                if len(ins) == 1:
                    tests.append((kname, ['//! buffer a %s = @%s' % (ins[0], sets[0])], cols))
                else:
                    crossed = [[]]
                    for c in cols[:self.crossed]:
                        crossed = [r + [v] for r in crossed for v in c]
                    full = [list(x) for x in zip(*crossed)]
                    decl = ['//! buffer %s %s = @%s' % (LETTERS[i], t, sets[i]) for i, t in enumerate(ins[:self.crossed])]
                    decl.append('//! cross ' + ' '.join(LETTERS[:len(ins[:self.crossed])]))
                    for i in range(self.crossed, len(ins)):
                        decl.append('//! buffer %s %s[a] = %d x @%s' % (LETTERS[i], ins[i], len(full[0]), sets[i]))
                        s = cols[i]
                        full.append(values(ins[i], sets[i], len(full[0])))
                    tests.append((kname, decl, full))
                n = self.spread
                kinds = ['shift' if i in self.counts else 'random' for i in range(len(ins))]     # counts: inputs that are shift counts
                decl = ['//! buffer %s %s[%d] = %s' % (LETTERS[i], t, n, '%d x @shift' % n if k == 'shift' else '@random(%d)' % (gi * 8 + i + 1))
                        for i, (t, k) in enumerate(zip(ins, kinds))]
                tests.append((kname + '.random', decl, [values(t, k, n, gi * 8 + i + 1) for i, (t, k) in enumerate(zip(ins, kinds))]))
                if all(lane(t)[0] in FLOAT for t in ins):
                    tests.append((kname + '.near1', ['//! buffer %s %s[%d] = @near1(%d)' % (LETTERS[i], t, n, gi * 8 + i + 1) for i, t in enumerate(ins)],
                                  [values(t, 'near1', n, gi * 8 + i + 1) for i, t in enumerate(ins)]))
                blocks = len(tests[0][2][0]) > 1024
                text = kernel(kname, ins, fs, False, blocks)
                for ti, (test, decl, cc) in enumerate(tests):
                    inputs = decl + outs + ['//! launch %s each a' % kname]
                    todo = ['//! todo ' + x for x in self.todo.get(test, ())]
                    lines += ['', '//! test ' + test] + todo + inputs
                    for i, f in enumerate(fs):
                        lines += self.expect(test, 'd%d' % i, f, cc, side, inputs, text)
                    if gi == 0 and part == 0 and ti == 0:
                        lines += ['//! test %s.divergent' % test] + todo + decl + outs + ['//! launch %s_divergent each a' % kname]
                        lines += ['//! expect d%d same %s' % (i, test) for i in range(len(fs))]
                        code += [''] + kernel(kname + '_divergent', ins, fs, True, blocks)
                code += [''] + text
        os.makedirs(os.path.dirname(os.path.join(self.root, self.path)), exist_ok=True)
        full = os.path.join(self.root, self.path)
        open(full, 'w').write('\n'.join(head + lines + code) + '\n')
        values_file = full[:-4] + '.values'
        if side:
            open(values_file, 'w').write('# SPDX-License-Identifier: Apache-2.0\n# Values that the .ptx file of the same name expects, as hexadecimal bits.\n' + '\n'.join(side) + '\n')
        elif os.path.exists(values_file):
            os.unlink(values_file)
