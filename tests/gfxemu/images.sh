#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# images.sh CLANG TEST ARCH SOURCE DIR: compile SOURCE and run it on the interpreter.
[ -x "$1" ] || { echo "no clang: skipped"; exit 77; }
extended=-DEXTENDED
[ "$3" = gfx90a ] && extended=
case $3 in gfx1*) extended="$extended -DA16" ;; esac
# shellcheck disable=SC2086
"$1" -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu="$3" -nogpulib -O2 $extended "$4" -o "$5/images-$3.o" || exit 1
"$2" "$3" "$5/images-$3.o"
