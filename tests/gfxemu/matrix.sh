#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# matrix.sh CLANG TEST ARCH SOURCE DIR: compile SOURCE (for RDNA with both sizes of waves) and run it on the interpreter.
[ -x "$1" ] || { echo "no clang: skipped"; exit 77; }
build() {
    out="$5/matrix-$3$6.o"
    name=$6
    compiler=$1 arch=$3 source=$4
    shift 6
    "$compiler" -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu="$arch" -nogpulib -O2 "$@" "$source" -o "$out" || exit 1
    objects="$objects $out"
}
case $3 in
gfx908) build "$@" "" -DCDNA=1 ;;
gfx90a) build "$@" "" -DCDNA=2 ;;
gfx942) build "$@" "" -DCDNA=3 ;;
gfx950) build "$@" "" -DCDNA=4 ;;
gfx11*) build "$@" -w32 -DRDNA=3 -DWAVE=32 -mno-wavefrontsize64; build "$@" -w64 -DRDNA=3 -DWAVE=64 -mwavefrontsize64 ;;
gfx12*) build "$@" -w32 -DRDNA=4 -DWAVE=32 -mno-wavefrontsize64; build "$@" -w64 -DRDNA=4 -DWAVE=64 -mwavefrontsize64 ;;
esac
# shellcheck disable=SC2086
"$2" "$3" $objects
