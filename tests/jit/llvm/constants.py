# SPDX-License-Identifier: Apache-2.0
"""A test for cudaway-ptxtest: a kernel with 2 N constants, which are all different, and what it leaves.

    constants.py N >FILE.ptx"""
import sys

n, threads, mask = int(sys.argv[1]), 64, 0xFFFFFFFF
xors = [(i * 2654435761 + 12345) & mask for i in range(n)]
sums = [(i * 40503 + 0x80000001) & mask for i in range(n)]
words = list(range(threads))
for x, s in zip(xors, sums):
    words = [((w ^ x) + s) & mask for w in words]
print(f".version 7.0\n.target sm_70\n.address_size 64\n//! test constants\n//! buffer out u32[{threads}]")
print("//! launch constants(out) grid 1 block", threads)
print("//! expect out derived =", *words)
print(".visible .entry constants(.param .u64 p) {\n.reg .b64 %p, %a; .reg .b32 %t, %x;\nld.param.u64 %p, [p]; mov.u32 %t, %tid.x; mov.u32 %x, %t;")
for x, s in zip(xors, sums):
    print(f"xor.b32 %x, %x, {x}; add.u32 %x, %x, {s};")
print("mul.wide.u32 %a, %t, 4; add.s64 %p, %p, %a; st.global.u32 [%p], %x;\nret;\n}")
