#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# candle.sh CUDAWAY_CC RUNNER LIBCUDA GFXEMU [ARCH...]: candle's kernel modules, compiled by one command each into a container for three processors, give on each
# of them what the host device gives. CANDLE_KERNELS names the folder candle-kernels/src of candle's source (https://github.com/huggingface/candle) or a folder with
# PTX of its modules; skipped (77) without.
set -u
cc=$1 runner=$2 cuda=$3 gfxemu=$4; shift 4
archs=${*:-gfx1030 gfx1100 gfx90a}
src=${CANDLE_KERNELS:-}
[ -d "$src" ] || { echo "skipped: CANDLE_KERNELS is not the folder of candle's kernels"; exit 77; }
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
bad=0
for m in ${CANDLE_MODULES:-affine binary cast conv fill indexing quantized reduce sort ternary unary}; do
    ptx=$src/$m.ptx
    if [ ! -f "$ptx" ]; then
        ptx=$dir/$m.ptx
        nvcc -ptx -arch=sm_80 -std=c++17 -O3 --expt-relaxed-constexpr "$src/$m.cu" -o "$ptx" || { bad=1; continue; }
    fi
    start=$SECONDS
    "$cc" -j 0 --target "${archs// /,}" "$ptx" -o "$dir/$m.cwfat" || { echo "FAIL: $m does not compile"; bad=1; continue; }
    compiled=$((SECONDS - start))
    for arch in $archs; do
        out=$(CUDAWAY_DEVICE=host CUDAWAY_GFXEMU_ARCH=$arch "$runner" "$cuda" "$gfxemu" "$ptx" "$dir/$m.cwfat" 2>&1) || { bad=1; echo "FAIL: $m on $arch:"; }
        echo "$m ($(stat -c %s "$dir/$m.cwfat") bytes, compiled in $compiled s) on $arch: $(tail -n 12 <<<"$out")"
    done
done
exit $bad
