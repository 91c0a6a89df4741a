#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where our front end and NVIDIA's assembler disagree: looser.py PTXGEN PTXAS. Every combination of types and single modifiers that
the opcode table's columns allow (cudaway-ptxgen candidates) is given to both. Prints `+` forms that only we take, `-` forms that only
ptxas takes; what stands below is why one may stay."""
import os, re, subprocess, sys

ptxgen, ptxas = sys.argv[1:3]
here = os.path.dirname(os.path.abspath(__file__))
source = open(os.path.join(here, 'forms_list.py')).read()
exec(source[source.index('TYPES ='):source.index('def expand')], globals())
exec('import tempfile\n' + source[source.index('def judge'):source.index('cands = []')], globals())

KNOWN = (
    r'fma\.r[zmp]\.bf16',           # ptxas takes it, the ISA does not have it, an H200 computes nonsense
    r'cvt\..*scaled::', r'ld\.unified', r'barrier\.cluster',    # refused later, by name
    r'cvta.*\.u32 ',                # in modules with 64-bit addresses
    r'cvt\.rn(\.relu)?\.f16x2\.e2m1x2 ',     # of a .b8 register, which the candidate has none of
)
cands = subprocess.run([ptxgen, 'candidates'], capture_output=True, text=True, check=True).stdout.split('\n')
cands = list(dict.fromkeys(tuple(c.split(': ', 1)) for c in cands if ': ' in c))
good = set()
for version, target, arch in (('9.0', 'sm_90a', 'sm_90a'), ('9.0', 'sm_100a', 'sm_100a'), ('6.0', 'sm_60', 'sm_75')):
    good |= set(judge([c for c in cands if c not in good], version, target, arch))
ours = set(subprocess.run([ptxgen, 'accepted'], input='\n'.join(c[1] for c in cands) + '\n', capture_output=True, text=True, check=True).stdout.split('\n'))
theirs = {c[1] for c in good}
count = {'+': 0, '-': 0}
for _, text in cands:
    if (text in ours) == (text in theirs) or any(re.match(k, text) for k in KNOWN):
        continue
    sign = '+' if text in ours else '-'
    count[sign] += 1
    print(sign, text)
print(len(cands), 'candidates:', count['+'], 'only here,', count['-'], 'only in ptxas', file=sys.stderr)
