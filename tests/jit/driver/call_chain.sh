#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# call_chain.sh CUDAWAY_CC FOLDER: a chain of 2,000 functions compiles within five seconds of CPU time for AMD, whichever end of it stands first in the
# text, since each body is copied once (jit/emit/target/amdgcn/module.c).
set -eu
cc=$1
mkdir -p "$2"
cd "$2"
ulimit -t 5
for first in callee caller; do
    awk -v n=2000 -v first=$first 'BEGIN {
        print ".version 7.8\n.target sm_80\n.address_size 64"
        for (i = 0; i < n; i++) print ".func (.param .b32 r) f" i "(.param .b32 a);"
        for (k = 0; k < n; k++) {
            i = first == "callee" ? k : n - 1 - k
            printf ".func (.param .b32 r) f%d(.param .b32 a)\n{ .reg .b32 %%a; ld.param.b32 %%a, [a]; xor.b32 %%a, %%a, %d; add.u32 %%a, %%a, 1;\n", i, i
            if (i) printf "{ .param .b32 q; .param .b32 s; st.param.b32 [q], %%a; call.uni (s), f%d, (q); ld.param.b32 %%a, [s]; }\n", i - 1
            print "st.param.b32 [r], %a; ret; }"
        }
        print ".visible .entry k(.param .u64 d)\n{ .reg .b32 %x; .reg .b64 %d; ld.param.u64 %d, [d]; ld.global.u32 %x, [%d];"
        printf "{ .param .b32 q; .param .b32 s; st.param.b32 [q], %%x; call.uni (s), f%d, (q); ld.param.b32 %%x, [s]; }\n", n - 1
        print "st.global.u32 [%d], %x; ret; }"
    }' > "$first.ptx"
    "$cc" --target gfx1100 "$first.ptx" -o "$first.o" || { echo "call_chain.sh: the chain with the $first first does not compile within 5 s of CPU time"; exit 1; }
done
