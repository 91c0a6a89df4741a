#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/ptx/isa/logic/masked.ptx: three-operand bitwise operations under a predicate, into one of their operands, with a
constant in each place. Code generation can make one masked instruction of each. The values are worked out here, bit by bit."""
import itertools

LANES = 64
OPS = {"and": lambda x, y: x & y, "or": lambda x, y: x | y, "xor": lambda x, y: x ^ y}


def two(order, inner, outer, negate):
    """outer(inner(x, y), z), with x negated if so said: PTX and function."""
    x, y, z = order
    text = f"{inner}.b32 %t, {{{'n' if negate else ''}{x}}}, {{{y}}}; {outer}.b32 %t, %t, {{{z}}};"
    return text, lambda v: OPS[outer](OPS[inner](v["n" + x] if negate else v[x], v[y]), v[z])


def choose(x, y, z):
    """The bits of x where z has ones, else of y."""
    text = f"and.b32 %t, {{{x}}}, {{{z}}}; and.b32 %u, {{{y}}}, {{n{z}}}; or.b32 %t, %t, %u;"
    return text, lambda v: v[x] & v[z] | v[y] & v["n" + z]


def main():
    orders = list(itertools.permutations("abc"))
    cases = [choose(*o) for o in orders]
    cases += [two(o, i, u, n) for o in orders if o[2] != "b" or o[0] < o[1] for i in OPS for u in OPS for n in (False, True)]
    a = [(i * 0x9e3779b1 + 0x1234567) & 0xffffffff for i in range(LANES)]
    b = [(i * 0x85ebca6b + 0x89abcdef) & 0xffffffff for i in range(LANES)]
    words = []
    constants = [(0x7f8000ff + n * 0x01234567) & 0xffffffff for n in range(len(cases))]    # each its own, for an operand in memory
    for (_, result), c in zip(cases, constants):
        for i in range(LANES):
            v = {"a": a[i], "b": b[i], "c": c}
            v |= {"n" + k: x ^ 0xffffffff for k, x in v.items()}
            words.append(result(v) if i & 1 else b[i])

    def rows(values):
        return "".join("//!   " + " ".join(f"0x{w:08x}" for w in values[i:i + 8]) + "\n" for i in range(0, len(values), 8))

    with open("tests/ptx/isa/logic/masked.ptx", "w", encoding="ascii") as f:
        f.write("// SPDX-License-Identifier: Apache-2.0\n"
                "// Three-operand bitwise operations under a predicate, into one of their operands: of odd threads. Written by\n"
                "// tests/ptx/author/masked_select.py.\n"
                f"//! buffer a b32[{LANES}] =\n{rows(a)}//! buffer b b32[{LANES}] =\n{rows(b)}//! buffer d b32[{len(words)}]\n"
                f"//! launch masked block {LANES}\n//! expect d derived =\n{rows(words)}"
                ".version 7.0\n.target sm_52\n.address_size 64\n"
                ".visible .entry masked(.param .u64 a, .param .u64 b, .param .u64 d)\n{\n"
                "    .reg .b32 %i, %a, %b, %na, %nb, %t, %u;\n    .reg .b64 %pa, %pb, %pd;\n    .reg .pred %odd;\n"
                "    ld.param.u64 %pa, [a];\n    ld.param.u64 %pb, [b];\n    ld.param.u64 %pd, [d];\n"
                "    mov.u32 %i, %tid.x;\n    mad.wide.u32 %pa, %i, 4, %pa;\n    mad.wide.u32 %pb, %i, 4, %pb;\n"
                "    mad.wide.u32 %pd, %i, 4, %pd;\n    ld.global.b32 %a, [%pa];\n    ld.global.b32 %b, [%pb];\n"
                "    and.b32 %t, %i, 1;\n    setp.ne.u32 %odd, %t, 0;\n    not.b32 %na, %a;\n    not.b32 %nb, %b;\n")
        for n, ((text, _), c) in enumerate(zip(cases, constants)):
            names = {"a": "%a", "b": "%b", "c": f"0x{c:08x}", "na": "%na", "nb": "%nb", "nc": f"0x{c ^ 0xffffffff:08x}"}
            f.write(f"    {text.format(**names)}\n    selp.b32 %t, %t, %b, %odd;\n    st.global.b32 [%pd+{n * LANES * 4}], %t;\n")
        f.write("    ret;\n}\n")


main()
