# SPDX-License-Identifier: Apache-2.0
"""Asks NVIDIA's assembler (PTXAS, default ptxas) which instructions it takes for sm_90."""
import os, re, subprocess, tempfile

PTXAS = os.environ.get('PTXAS', 'ptxas')


def sm90(texts):
    head = '.version 8.6\n.target sm_90\n.address_size 64\n'
    regs = '{ .reg .pred %p<8>; .reg .b16 %h<16>; .reg .b32 %r<20>; .reg .b64 %l<16>; .reg .b128 %x<4>; '
    good, work = [], [texts]
    while work:
        part = work.pop()
        with tempfile.NamedTemporaryFile('w', suffix='.ptx', delete=False) as t:
            t.write(head + ''.join('.visible .entry k%d(.param .align 16 .b8 P[64])%s\n%s; ret; }\n' % (i, regs, x) for i, x in enumerate(part)))
        r = subprocess.run([PTXAS, '-arch', 'sm_90', '-O0', '-o', '/dev/null', t.name], capture_output=True, text=True)
        os.unlink(t.name)
        bad = {(int(n) - 5) // 2 for n in re.findall(r'line (\d+); error', r.stderr)} if r.returncode else set()
        if not r.returncode:
            good += part
        elif bad:
            work.append([f for i, f in enumerate(part) if i not in bad])
        elif len(part) > 1:
            work += [part[:len(part) // 2], part[len(part) // 2:]]
    return good
