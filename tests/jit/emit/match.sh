#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# match.sh CUDAWAY-CC PTX TARGET...: a match is a loop in which lanes find those with their value: no lane reads another's.
set -u
cc=$1 ptx=$2
shift 2
bad=0
for target; do
    ir=$("$cc" --target "$target" --kernel keys_64 --emit llvm "$ptx" -o -) || bad=1
    grep -q 'llvm.amdgcn.readfirstlane' <<<"$ir" || { echo "$target: no match"; bad=1; }
    grep -q 'llvm.amdgcn.ds.bpermute' <<<"$ir" && { echo "$target: lanes read other lanes' values"; bad=1; }
done
exit $bad
