#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# checks.sh CLANG TEST ARCH SOURCE DIR: compile SOURCE and run it on the interpreter.
[ -x "$1" ] || { echo "no clang: skipped"; exit 77; }
out="$5/checks-$3.o"
"$1" -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu="$3" -nogpulib -O2 "$4" -o "$out" || exit 1
"$2" "$3" "$out"
