#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests for the forms that no test has yet and that are plain functions of registers: auto.py LIST ROOT, where LIST is
what cudaway-ptxgen list printed. Their values are to be recorded. What the assembler refuses for sm_90 is left out."""
import sys
from auto_judge import sm90
from forms import File, bits, BITS

OPS = {'set': 'compare', 'setp': 'compare', 'slct': 'compare', 'cvt': 'cvt', 'abs': 'float', 'neg': 'float', 'mad': 'float', 'fma': 'float',
       'add': 'float', 'sub': 'float', 'mul': 'float', 'min': 'float', 'max': 'float', 'ex2': 'approx', 'tanh': 'approx', 'div': 'float',
       'testp': 'float', 'copysign': 'float', 'selp': 'compare', 'prmt': 'logic', 'lop3': 'logic', 'shf': 'logic', 'dp2a': 'int', 'dp4a': 'int'}
REGS = {'%h': 16, '%r': 32, '%l': 64}
TYPES = set(BITS) | {a + str(n) for a in 'bus' for n in (8, 16, 32, 64)}


def video(op):
    return op[0] == 'v' and op not in ('vote',)


forms = {}
for line in open(sys.argv[1]):
    flags, tested, text = line.rstrip('\n').split(' ', 2)
    op = text.split(' ')[0].split('.')[0]
    if tested == '0' and flags[0] == 'h' and (op in OPS or video(op)) and text not in forms:
        forms[text] = flags
texts = [t for t in sm90(list(forms))]
texts.sort(key=list(forms).index)

files = {}
for text in texts:
    token, _, operands = text.partition(' ')
    parts = token.split('.')
    op = parts[0]
    types = [p for p in parts[1:] if p in TYPES]
    ops = [o.strip() for o in operands.split(',')]
    dst, src = ops[0], ops[1:]
    # Types of the sources, by position where the instruction has several.
    ins, args, pre = [], [], []
    for i, o in enumerate(src):
        if o.startswith('%p'):
            ins.append('u32')
            x = '{%s}' % 'abcefg'[len(ins) - 1]
            p = '%%p%d' % (len(pre) + 1)
            pre.append('setp.gt.u32 %s, %s, 9; ' % (p, x))
            args.append(p)
            continue
        if o[:2] not in REGS:
            args.append(o)
            continue
        n = REGS[o[:2]]
        if op in ('set', 'cvt') and len(types) > 1:
            t = types[1]
        elif op == 'slct':
            t = types[0] if i < 2 else types[1]
        elif video(op):
            t = types[min(i + 1, len(types) - 1)] if i < 2 else 'u32'
        else:
            t = types[0]
        if bits(t) > n or (bits(t) != n and bits(t) > 8):
            t = 'u%d' % n
        ins.append(t)
        args.append('{%s}' % 'abcefg'[len(ins) - 1])
    out = types[0] if types else 'b32'
    if dst.startswith('%p'):
        out = 'u32'
        call = '%s %%p0%s, %s; selp.u32 {d}, 1, 0, %%p0;' % (token, '|%p5' if '|' in dst else '', ', '.join(args))
        if '|' in dst:
            call += ' selp.u32 %t0, 2, 0, %p5; or.b32 {d}, {d}, %t0;'
    elif '|' in dst:
        call = '%s {d}|%%p5, %s; selp.u32 %%t0, 1, 0, %%p5; xor.b32 {d}, {d}, %%t0;' % (token, ', '.join(args))
    else:
        n = REGS[dst[:2]]
        if bits(out) != n and not (bits(out) == 8 and n == 16):
            out = 'b%d' % n
        call = '%s {d}, %s;' % (token, ', '.join(args))
    if bits(out) == 8:
        out = out[0] + '8' if out[0] in 'us' else 'b8'
    group = OPS.get(op, 'video')
    amd = 'a' in forms[text]
    if op == 'cvt':
        name = 'cvt/forms_from_' + types[1] if len(types) > 1 else 'cvt/forms'
    elif op == 'set':
        name = 'compare/forms_set_' + types[1]
    elif op == 'setp':
        name = 'compare/forms_setp_' + types[0]
    else:
        name = '%s/forms_%s' % (group, op)
    if not amd:
        name += '_not_amd'
    f = files.get(name)
    if not f:
        notes = ['todo amd the emitter refuses these forms'] if not amd else []
        f = files[name] = File(sys.argv[2], name + '.ptx', 'Forms of %s, each once.' % op, target='sm_90', version='8.6', spread=16, notes=notes,
                               sets={1: ['edge'], 2: ['few', 'few'], 3: ['few', 'few', 'edge'], 4: ['few', 'few', 'edge', 'edge']})
        f.crossed = 2
    f.form(''.join(pre) + call, ' '.join(ins), out)
for f in files.values():
    f.write()
print(len(texts), 'forms in', len(files), 'files')
