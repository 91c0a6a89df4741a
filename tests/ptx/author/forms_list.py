#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tools/ptxgen/forms.txt: forms_list.py PTXGEN TEMPLATES PTXAS > forms.txt. Candidates come from the opcode table (cudaway-ptxgen
candidates) and from templates.txt; NVIDIA's assembler says which of them are PTX, for sm_90a, else sm_100a, else sm_60."""
import re, subprocess, sys, tempfile, os

ptxgen, templates, ptxas = sys.argv[1:4]
TYPES = 'pred b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 u16x2 s16x2 f16 f16x2 bf16 bf16x2 tf32 f32 f64 f32x2 e4m3 e5m2 e4m3x2 e5m2x2'.split()
HEAD = '.version %s\n.target %s\n.address_size 64\n.global .texref tx;\n.global .surfref sf;\n.global .align 128 .b8 gl[1024];\n' \
       '.func fn0 { ret; }\n.func (.reg .b32 r) fn (.reg .b32 a) { mov.b32 r, a; ret; }\n'
REGS = '{ .reg .pred %p<8>; .reg .b16 %h<16>; .reg .b32 %r<20>; .reg .b64 %l<16>; .reg .b128 %x<4>; .shared .align 128 .b8 sh[1024]; ' \
       'proto: .callprototype (.reg .b32 _) _ (.reg .b32 _); targets: .calltargets fn; '


def expand(text):
    m = re.search('<([^>]*)>', text)
    if not m:
        return [text]
    return [y for x in m.group(1).split('|') for y in expand(text[:m.start()] + x + text[m.end():])]


def judge(forms, version, target, arch):
    """Which are accepted."""
    regs = REGS if arch != 'sm_75' else REGS.replace('.reg .b128 %x<4>; ', '')
    good, work = [], [forms[k:k + 1000] for k in range(0, len(forms), 1000)]
    while work:
        part = work.pop()
        text = HEAD % (version, target)
        for i, (_, f) in enumerate(part):
            text += '.visible .entry k%d(.param .align 16 .b8 P[64])%stable: .branchtargets L;\n%s;\nL: ret; }\n' % (i, regs, f)
        with tempfile.NamedTemporaryFile('w', suffix='.ptx', delete=False) as t:
            t.write(text)
        r = subprocess.run([ptxas, '-arch', arch, '-O0', '-c', '-o', '/dev/null', t.name], capture_output=True, text=True)
        os.unlink(t.name)
        bad = {(int(n) - 10) // 3 for n in re.findall(r'line (\d+); error', r.stderr)} if r.returncode else set()
        if not r.returncode:
            good += part
        elif bad:
            work.append([f for i, f in enumerate(part) if i not in bad])
        elif len(part) > 1:         # it gave up without saying where
            work += [part[:len(part) // 2], part[len(part) // 2:]]
    return good


cands = []
for line in subprocess.run([ptxgen, 'candidates'], capture_output=True, text=True, check=True).stdout.split('\n'):
    if line:
        cands.append(tuple(line.split(': ', 1)))
for line in open(templates):
    if line[0] != '#' and ': ' in line:
        op, text = line.rstrip('\n').split(': ', 1)
        cands += [(op, x) for x in expand(text)]
# The assembler takes fma of bf16 with .rz, .rm and .rp, which are none of the PTX ISA, and an H200 computes nonsense.
cands = [c for c in dict.fromkeys(cands) if not re.match(r'fma\.r[zmp]\.bf16', c[1])]
good = judge(cands, '9.0', 'sm_90a', 'sm_90a')
seen = set(good)
rest = [c for c in cands if c not in seen]
more = judge(rest, '9.0', 'sm_100a', 'sm_100a')
seen |= set(more)
rest = [c for c in cands if c not in seen]
seen |= set(judge(rest, '6.0', 'sm_60', 'sm_75'))

# One line for what differs in its types only.
groups = {}
for op, text in cands:
    if (op, text) not in seen:
        continue
    token, _, operands = text.partition(' ')
    parts = token.split('.')
    n = len(parts)
    while n > 1 and parts[n - 1] in TYPES:
        n -= 1
    groups.setdefault((op, '.'.join(parts[:n]), operands), []).append('.'.join(parts[n:]))
print('# SPDX-License-Identifier: Apache-2.0')
print('# The instruction forms of the coverage page, one instruction a line. <a|b> stands for either. Written by')
print('# tests/ptx/author/forms_list.py, with NVIDIA\'s assembler as the judge of what is PTX. Registers: %p predicates, %h 16,')
print('# %r 32, %l 64, %x 128 bits; sh, gl, tx, sf, fn, fn0: variables and functions.')
for (op, head, operands), types in groups.items():
    t = ''
    if types != ['']:
        t = '.' + (types[0] if len(types) == 1 else '<%s>' % '|'.join(types))
    print('%s%s%s' % (head, t, ' ' + operands if operands else ''))
# Newer than the assembler at hand.
for op, text in cands:
    if op in ('MULTIMEM_CP_ASYNC_BULK', 'MULTIMEM_CP_REDUCE_ASYNC_BULK'):
        print(text)
print(len(cands), 'candidates,', len(seen), 'accepted,', len(groups), 'lines', file=sys.stderr)
missing = sorted({c[0] for c in cands} - {c[0] for c in seen})
print('opcodes with none:', missing, file=sys.stderr)
