#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# units.sh CUDAWAY_CC TEST ARCH DIR: a program that is compiled in several parts gives the same bytes for every number of threads, and the
# interpreter finds all its kernels, and its one variable, in them; also those that are the code of another one (twin3 of step3).
file=$4/parts-$3
{
    printf '.version 7.0\n.target sm_70\n.address_size 64\n.global .u32 total = 5;\n'
    # twist(x) = x + 3, which every kernel calls
    printf '.func (.reg .u32 r) twist(.reg .u32 x) { add.u32 r, x, 3; ret; }\n'
    for k in 0 1 2 3 4 5 6 7; do
        # 1200 steps x = x * 1664525 + k + 1 from the thread's number: a quarter of a part or more. Thread 0 adds k + 1 to the total.
        printf '.visible .entry step%d(.param .u64 out) { .reg .u32 x, t; .reg .u64 o, a; .reg .pred p;\n' $k
        printf ' ld.param.u64 o, [out]; mov.u32 x, %%tid.x; mul.wide.u32 a, x, 4; add.u64 o, o, a; setp.eq.u32 p, x, 0;\n'
        awk -v k=$k 'BEGIN { for (i = 0; i < 1200; i++) printf " mad.lo.u32 x, x, 1664525, %d;\n", k + 1 }'
        printf ' call (x), twist, (x); st.global.u32 [o], x; mov.u64 a, total; @p red.global.add.u32 [a], %d; ret; }\n' $((k + 1))
    done
    # step3 with other names
    printf '.visible .entry twin3(.param .u64 where) { .reg .u32 y, s; .reg .u64 b, c; .reg .pred q;\n'
    printf ' ld.param.u64 b, [where]; mov.u32 y, %%tid.x; mul.wide.u32 c, y, 4; add.u64 b, b, c; setp.eq.u32 q, y, 0;\n'
    awk 'BEGIN { for (i = 0; i < 1200; i++) printf " mad.lo.u32 y, y, 1664525, 4;\n" }'
    printf ' call (y), twist, (y); st.global.u32 [b], y; mov.u64 c, total; @q red.global.add.u32 [c], 4; ret; }\n'
    printf '.visible .entry last(.param .u64 out) { .reg .u32 x; .reg .u64 o; ld.param.u64 o, [out]; ld.global.u32 x, [total]; '
    printf 'st.global.u32 [o], x; ret; }\n'
} >"$file.ptx"
for j in 1 3; do
    "$1" -j $j --target "$3" "$file.ptx" -o "$file.$j.co" || exit 1
done
cmp "$file.1.co" "$file.3.co" || exit 1
"$2" "$3" "$file.1.co"
