#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sums.sh CUDAWAY-CC: two halves of a tile of dense integer products, each of 8 x 8, with a branch between them. Its sums and what they need at a time fit into
# 256 registers; what is gathered from other lanes for one half as well would not.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
awk 'BEGIN {
    print ".version 7.5\n.target sm_80\n.address_size 64\n.visible .entry tile(.param .u64 p, .param .u32 n) {"
    print ".reg .b32 %a<9>; .reg .b32 %b<9>; .reg .b32 %c<129>; .reg .b32 %t; .reg .b64 %p; .reg .b64 %q; .reg .pred %more;"
    print "ld.param.u64 %p, [p]; ld.param.u32 %t, [n]; setp.ne.u32 %more, %t, 0; mov.u32 %t, %tid.x; mul.wide.u32 %q, %t, 4; add.s64 %p, %p, %q;"
    for (i = 0; i < 128; i++)
        printf "ld.global.u32 %%c%d, [%%p+%d];\n", i, 4096 * i
    print "again:"
    for (half = 0; half < 2; half++) {
        for (i = 0; i < 8; i++)
            printf "ld.global.u32 %%a%d, [%%p+%d]; ld.global.u32 %%b%d, [%%p+%d];\n", i, 4096 * (128 + 16 * half + i), i, 4096 * (136 + 16 * half + i)
        for (j = 0; j < 8; j++)
            for (i = 0; i < 8; i++) {
                c = 2 * (8 * j + i)
                printf "mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.s8.s32 {%%c%d,%%c%d}, {%%a%d}, {%%b%d}, {%%c%d,%%c%d};\n", c, c + 1, i, j, c, c + 1
            }
        if (!half)
            print "@!%more bra end; st.global.u32 [%p], %a0; bar.sync 0;"
    }
    print "ld.volatile.global.u32 %t, [%p]; setp.ne.u32 %more, %t, 0; @%more bra again;\nend:"
    for (i = 0; i < 128; i++)
        printf "st.global.u32 [%%p+%d], %%c%d;\n", 4096 * i, i
    print "ret;\n}"
}' >"$dir/tile.ptx"
"$1" --target gfx1100 --emit asm "$dir/tile.ptx" -o "$dir/tile.s"
n=$(grep -c '^[[:space:]]scratch_' "$dir/tile.s" || true)
[ "$n" -eq 0 ] || { echo "sums.sh: $n accesses to values in memory" >&2; exit 1; }
[ "$(grep -c v_dot4_i32_iu8 "$dir/tile.s")" -eq 1024 ] || { echo "sums.sh: not 1024 dot products" >&2; exit 1; }
