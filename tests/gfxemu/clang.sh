#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# clang.sh CLANG TEST ARCH SOURCE DIR: compile SOURCE at two levels and run it on the interpreter.
[ -x "$1" ] || { echo "no clang: skipped"; exit 77; }
for level in 1 3; do
    out="$5/kernels-$3-O$level.o"
    "$1" -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu="$3" -nogpulib -O$level -ffp-contract=off -cl-fp32-correctly-rounded-divide-sqrt \
        "$4" -o "$out" || exit 1
    "$2" "$3" "$out" || exit 1
done
