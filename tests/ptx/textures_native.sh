#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# textures_native.sh PTXTEST ISA ARCH DIR: the tests of textures and surfaces with textures read by image instructions
# (CUDAWAY_TEXTURES=native). Points are what NVIDIA's are; what a linear filter gives may be 2/256 of the largest texel away. That such
# instructions were used shows in how many a launch takes: the exact library needs hundreds.
test=$1 source=$2 arch=$3
export CUDAWAY_TEXTURES=native CUDAWAY_GFXEMU_STATS="$4/textures-$3.stats"
rm -f "$CUDAWAY_GFXEMU_STATS"
files="$source/texture $source/surface"
want=100
if [ "$arch" != gfx1100 ]; then         # one of them has all, the others what image instructions do
    files=
    want=40
    for f in address filter gather handles memory references; do
        files="$files $source/texture/$f.ptx"
    done
fi
# shellcheck disable=SC2086
"$test" --on "gfxemu:$arch" --filter-steps 2 --limit 2 $files || exit 1
few=$(sed 's/.*"waves":\([0-9]*\),"instructions":\([0-9]*\),.*/\1 \2/' "$CUDAWAY_GFXEMU_STATS" | awk '$2 < 140 * $1' | wc -l)
all=$(grep -c . "$CUDAWAY_GFXEMU_STATS")
echo "$arch: $few of $all launches with less than 140 instructions a wave"
[ "$few" -ge $want ]
