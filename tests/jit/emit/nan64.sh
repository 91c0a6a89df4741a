#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nan64.sh CUDAWAY-CC PTX KERNEL OPERATIONS TARGET...: that kernel, which has no branches and OPERATIONS of f64, is one block of LLVM IR with few comparisons; what finds
# out which NaN it is stands behind the end of the kernel.
set -u
cc=$1 ptx=$2 kernel=$3 operations=$4
shift 4
bad=0
fail() { echo "$target $kernel: $*"; bad=1; }
for target; do
    ir=$("$cc" --target "$target" --kernel "$kernel" --emit llvm "$ptx" -o -) || fail "does not compile"
    ir=$(awk '/^define .*amdgpu_kernel/ { inside = 1 } inside { print } /^}/ { exit }' <<<"$ir")
    grep -q 'ret void' <<<"$ir" || fail "no kernel"
    [ "$(grep -cE '^ +(br|switch) ' <<<"$ir")" = 0 ] || fail "branches in LLVM IR"
    [ "$(grep -cE '= (fcmp|select) ' <<<"$ir")" -lt "$operations" ] || fail "comparisons for each operation in LLVM IR"
    code=$("$cc" --target "$target" --kernel "$kernel" --emit asm "$ptx" -o - | grep -E '^'$'\t''[a-z]+_')
    frequent=$(sed '/s_endpgm/q' <<<"$code") rare=$(sed '1,/s_endpgm/d' <<<"$code")
    grep -q 's_cbranch_vccnz' <<<"$frequent" || fail "nobody looks for NaN"
    grep -q 'v_cndmask' <<<"$frequent" && fail "selections where there is no NaN"
    [ "$(grep -c 'v_cndmask' <<<"$rare")" -ge 8 ] || fail "no code for NaN behind the end"
    [ "$(grep -c . <<<"$rare")" -lt $((40 * operations)) ] || fail "much code for NaN"
done
exit $bad
