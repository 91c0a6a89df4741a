#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# clang.sh CLANG PARSER SOURCE DIR: compile SOURCE for several architectures and levels, parse what comes out.
[ -x "$1" ] || { echo "no clang: skipped"; exit 77; }
files=
# The PTX version is named: clang would take it from an installed CUDA toolkit, or the oldest that has the sm.
for pair in sm_60:60 sm_70:60 sm_80:70 sm_90:78; do
    arch=${pair%:*}
    for level in 0 1 3; do
        out="$4/clang-$arch-O$level.ptx"
        debug=
        [ $level = 1 ] && debug=-gline-tables-only
        "$1" -x cuda --cuda-device-only --cuda-gpu-arch=$arch --cuda-path=/nonexistent \
            --cuda-feature=+ptx${pair#*:} -nocudainc -nocudalib -Wno-unknown-cuda-version -O$level $debug -S \
            "$3" -o "$out" || exit 1
        files="$files $out"
    done
done
exec "$2" $files
