#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where the opcode table (jit/ptx/ops.def) or the targets' table (jit/ptx/parse.c) says newer than NVIDIA's assembler: since.py PTXAS. Each form of
tools/ptxgen/forms.txt is given to it with the version just below its opcode's, and with the target just below. What it takes there, we refuse (P3046,
P3047, P3092) and must not. Prints such forms and targets."""
import concurrent.futures, os, re, subprocess, sys, tempfile

ptxas = sys.argv[1]
root = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../..')
VERSIONS = [10, 11, 12, 13, 14, 15, 20, 21, 22, 23, 30, 31, 32, 40, 41, 42, 43, 50, 60, 61, 62, 63, 64, 65, *range(70, 79), *range(80, 89), 90]
PARTS = {'tx': '.global .texref tx;', 'sf': '.global .surfref sf;', 'gl': '.global .align 128 .b8 gl[1024];', 'fn0': '.func fn0 { ret; }',
         'fn': '.func (.reg .b32 r) fn (.reg .b32 a) { mov.b32 r, a; ret; }'}
TABLES = {'proto': 'proto: .callprototype (.reg .b32 _) _ (.reg .b32 _);', 'targets': 'targets: .calltargets fn;', 'table': 'table: .branchtargets L;'}


def module(version, target, body, parts=()):
    size = '.address_size 64\n' if version >= 23 else ''
    return f'.version {version // 10}.{version % 10}\n.target sm_{target}\n{size}' + ''.join(p + '\n' for p in parts) + body


def kernel(version, target, form):
    words = set(re.findall(r'\w+', form))
    used = words | ({'fn'} if 'targets' in words else set())        # older PTX lacks what a form does not need
    parts = [text for word, text in PARTS.items() if word in used]
    tables = ' '.join(text for word, text in TABLES.items() if word in words)
    wide = '.reg .b128 %x<4>; ' if '%x' in form else ''
    params = '(.param .align 16 .b8 P[64])' if 'P' in words else '()'
    return module(version, target, f'.entry k{params} {{ .reg .pred %p<8>; .reg .b16 %h<16>; .reg .b32 %r<20>; .reg .b64 %l<16>; {wide}'
                  f'.shared .align 128 .b8 sh[1024]; {tables}\n{form};\nL: ret; }}\n', parts)


def taken(text, arch):
    with tempfile.NamedTemporaryFile('w', suffix='.ptx') as f:
        f.write(text)
        f.flush()
        return not subprocess.run([ptxas, '-arch', arch, '-o', '/dev/null', f.name], capture_output=True).returncode


def below(values, value):
    return max((v for v in values if v < value), default=None)


targets = [tuple(map(int, m)) for m in re.findall(r'\{ (\d+), (\d+), (\d+), (\d+) \}', open(f'{root}/jit/ptx/parse.c').read())]
since = {sm: plain for sm, plain, _, _ in targets if sm <= 90}
rows = {m[1]: (int(m[2]), int(m[3])) for m in re.finditer(r'^OP\(\w+, +"([^"]+)", +\d, (\d+), (\d+),', open(f'{root}/jit/ptx/ops.def').read(), re.M)}
jobs = []
for sm, *versions in targets:
    for suffix, version in zip(('', 'a', 'f'), versions):
        old = below(VERSIONS, version)
        if old:
            arch = 'sm_90' if sm <= 90 and not suffix else f'sm_{110 if sm == 101 else sm}{suffix}'
            jobs.append((f'sm_{sm}{suffix} in PTX {old / 10}', module(old, f'{sm}{suffix}', '.entry k { ret; }\n'), arch))
for line in open(f'{root}/tools/ptxgen/forms.txt'):
    line = line.strip()
    if not line or line.startswith('#'):
        continue
    halves = re.split(r'<([^<>]*\|[^<>]*)>', line)
    for form in sorted({''.join(h.split('|')[pick] if i % 2 else h for i, h in enumerate(halves)) for pick in (0, -1)}):
        opcode = max((o for o in rows if re.match(re.escape(o) + r'(?!\w)', form)), key=len)
        version, sm = rows[opcode]
        old, older = below(VERSIONS, version), below(since, sm)
        if old:
            newest = max(s for s, v in since.items() if v <= old)
            jobs.append((f'{form} in PTX {old / 10}', kernel(old, newest, form), 'sm_90'))
        if older and sm <= 90:
            jobs.append((f'{form} for sm_{older}', kernel(90, older, form), 'sm_90'))
with concurrent.futures.ThreadPoolExecutor() as pool:
    wrong = [what for what, bad in zip((j[0] for j in jobs), pool.map(lambda j: taken(j[1], j[2]), jobs)) if bad]
for what in wrong:
    print(what)
print(len(jobs), 'asked,', len(wrong), 'taken', file=sys.stderr)
