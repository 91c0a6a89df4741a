#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The bundle's cudaway-cc, whose machine code BOLT laid out, and some of whose LLVM may have been compiled anew (tools/cc/llvm.sh), writes the same
# bytes as the program without that. Skipped (77) without.
#   release.sh BUILD_FOLDER_OF_THE_BUNDLE TESTS_PTX_FOLDER
set -euo pipefail
before=$1/bin/cudaway-cc after=$1/bin/cudaway-cc-release tests=$2
for p in "$before" "$after"; do [ -x "$p" ] || { echo "skipped: no $p (tools/bundle makes it)"; exit 77; }; done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=0
for f in corpus/arith isa/atom/global_int isa/cvt/f64_to_int isa/float/sqrt isa/flow/call_together isa/memory/spaces isa/texture/cube isa/video/forms_vadd \
         isa/warp/match isa/matrix/mma_int8; do
    [ -e "$tests/$f.ptx" ] || { echo "FAIL: there is no $tests/$f.ptx"; exit 1; }
    for target in gfx1100 gfx90a host; do
        for p in before after; do
            status=0
            "${!p}" -j 2 -O 3 --target $target "$tests/$f.ptx" -o "$work/$p" >"$work/$p.log" 2>&1 || status=$?
            echo "$status" >>"$work/$p.log"
        done
        cmp "$work/before.log" "$work/after.log" || { echo "FAIL: $f, $target: messages"; cat "$work/after.log"; exit 1; }
        [ "$status" = 0 ] || continue
        cmp "$work/before" "$work/after" || { echo "FAIL: $f, $target"; exit 1; }
        n=$((n + 1))
    done
done
# A megabyte of text, of which one kernel is compiled.
awk 'BEGIN { print ".version 7.0\n.target sm_80\n.address_size 64"
    for (k = 0; k < 4000; k++) {
        printf ".visible .entry kernel_%d(.param .u64 at) {\n.reg .b64 %%rd<3>;\n.reg .b32 %%r<9>;\nld.param.u64 %%rd1, [at];\nld.global.u32 %%r0, [%%rd1];\n", k
        for (i = 0; i < 8; i++) printf "mad.lo.u32 %%r%d, %%r%d, %d, %%r%d;\n", i + 1, i, k + 3, i
        print "st.global.u32 [%rd1], %r8;\nret;\n}" } }' >"$work/large.ptx"
for p in before after; do "${!p}" -j 2 -O 3 --target gfx1100 --kernel kernel_3999 "$work/large.ptx" -o "$work/$p"; done
cmp "$work/before" "$work/after" || { echo "FAIL: a large text"; exit 1; }
[ $n -ge 20 ] || { echo "FAIL: only $n objects compared"; exit 1; }
"$after" --help >/dev/null
if "$after" --target gfx1100 /nonexistent -o "$work/x" 2>"$work/err"; then echo "FAIL: a file that is not there compiles"; exit 1; fi
grep -q '/nonexistent' "$work/err" || { cat "$work/err"; echo "FAIL: the message"; exit 1; }
llvm="LLVM's archives alone"
if grep -q '^CUDAWAY_HOT_LLVM:[A-Z]*=.' "$1/CMakeCache.txt"; then llvm="with LLVM's hot files compiled anew"; fi
echo "ok   $n objects are the same ($llvm)"
