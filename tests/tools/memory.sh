#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# memory.sh CUDAWAY_CC MOST FOLDER: what compiling a module of many kernels needs of memory at a time is bounded by a part's machine code, not by the
# module's. Only memory that is not pages of files counts: the rest is LLVM's library as it happens to be built and cached.
set -euo pipefail
cc=$1 most=$2 folder=$3
# kernels N: kernels of 50 loads, products, sums, branches and stores each.
kernels() {
    awk -v kernels="$1" 'BEGIN {
        n = 51
        print ".version 7.0\n.target sm_80\n.address_size 64"
        for (k = 0; k < kernels; k++) {
            printf ".visible .entry kernel_%d(.param .u64 kernel_%d_in, .param .u64 kernel_%d_out, .param .u32 kernel_%d_n) {\n", k, k, k, k
            printf "\t.reg .pred %%p<%d>;\n\t.reg .b32 %%r<%d>;\n\t.reg .f32 %%f<%d>;\n\t.reg .b64 %%rd<6>;\n", n, 3 * n, 4 * n
            printf "\tld.param.u64 \t%%rd1, [kernel_%d_in];\n\tld.param.u64 \t%%rd2, [kernel_%d_out];\n\tld.param.u32 \t%%r2, [kernel_%d_n];\n", k, k, k
            print "\tmov.u32 \t%r1, %tid.x;\n\tmul.wide.u32 \t%rd3, %r1, 4;\n\tadd.s64 \t%rd4, %rd1, %rd3;\n\tadd.s64 \t%rd5, %rd2, %rd3;"
            print "\tmov.u32 \t%r0, %r1;\n\tld.global.f32 \t%f0, [%rd4];\n\tmov.f32 \t%f3, %f0;"
            for (i = 1; i < n; i++) {
                printf "\tld.global.f32 \t%%f%d, [%%rd4+%d];\n", 4 * i, 4 * (i + k)
                printf "\tfma.rn.f32 \t%%f%d, %%f%d, %%f%d, 0f3F8%05X;\n", 4 * i + 1, 4 * i - 1, 4 * i, i + 64 * k
                printf "\tmad.lo.s32 \t%%r%d, %%r%d, %%r1, %d;\n", 3 * i, 3 * i - 3, i + k
                printf "\tsetp.gt.s32 \t%%p%d, %%r%d, %%r2;\n\t@%%p%d bra \t$L_%d_%d;\n", i, 3 * i, i, k, i
                printf "\tst.global.f32 \t[%%rd5+%d], %%f%d;\n\tst.global.u32 \t[%%rd5+%d], %%r%d;\n", 4 * i, 4 * i + 1, 4096 + 4 * i, 3 * i
                printf "$L_%d_%d:\n\tadd.f32 \t%%f%d, %%f%d, %%f%d;\n", k, i, 4 * i + 3, 4 * i + 1, 4 * i
            }
            print "\tret;\n}"
        }
    }'
}
own() {  # KERNELS: KB of memory that compiling so many takes; the text's size is in $text
    kernels "$1" >"$folder/memory.ptx"
    text=$(stat -c %s "$folder/memory.ptx")
    result=$("$most" 1024 "$cc" -j 1 -O 3 --target gfx1100 "$folder/memory.ptx" -o "$folder/memory.co") || { echo "FAIL: $1 kernels do not compile"; exit 1; }
    own=${result#* }
}
own 4
few=$own few_text=$text
own 80
rm -f "$folder"/memory.{ptx,co}
# The text is there to the end, the parsed program until LLVM has it, and the machine code of what is done: six times the text. Parts of 4000 instructions,
# where cudaway-cc has 1000, would make it 12, and no parts 82.
grown=$(((own - few) * 1024)) bound=$((10 * (text - few_text)))
echo "4 kernels, $few_text bytes: $few KB; 80, $text bytes: $own KB: $(awk -v g=$grown -v t=$((text - few_text)) 'BEGIN { printf "%.1f", g / t }') for a byte of the $((text - few_text)) more"
[ "$grown" -le "$bound" ] || { echo "FAIL: more than 10"; exit 1; }
[ $((own * 1024)) -le $((30 * text)) ] || { echo "FAIL: more than 30 times the text"; exit 1; }
