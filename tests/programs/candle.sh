#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# candle.sh CUDAWAY_CC CANDLE_C LIBCUDA OTHER [ARCH...]: candle's kernel modules, each compiled by one command into a container for three processors and all embedded in one program (candle.c),
# give on each processor of OTHER, tools/gfxemu's library, what the host device gives. OTHER may be a HIP runtime, or a CUDA driver, which takes embedded PTX. CANDLE_KERNELS names the folder
# candle-kernels/src of candle's source (https://github.com/huggingface/candle) or a folder with PTX of its modules; skipped (77) without.
set -u
cc=$1 source=$2 cuda=$3 other=$4; shift 4
archs=${*:-gfx1030 gfx1100 gfx90a}
modules='affine binary cast conv fill indexing quantized reduce sort ternary unary'
src=${CANDLE_KERNELS:-}
[ -d "$src" ] || { echo "skipped: CANDLE_KERNELS is not the folder of candle's kernels"; exit 77; }
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
objects=() list=
for m in $modules; do
    ptx=$src/$m.ptx
    if [ ! -f "$ptx" ]; then
        ptx=$dir/$m.ptx
        nvcc -ptx -arch=sm_80 -std=c++17 -O3 --expt-relaxed-constexpr "$src/$m.cu" -o "$ptx" || exit 1
    fi
    start=$SECONDS
    "$cc" -j 0 --target "${archs// /,}" --embed c --symbol "${m}_native" "$ptx" -o "$dir/${m}_native.c" || { echo "FAIL: $m does not compile"; exit 1; }
    echo "$m: compiled in $((SECONDS - start)) s"
    "$cc" --emit ptx --embed c --symbol "${m}_ptx" "$ptx" -o "$dir/${m}_ptx.c" || exit 1
    for c in "${m}_native" "${m}_ptx"; do
        gcc -Wall -Werror -c "$dir/$c.c" -o "$dir/$c.o" || exit 1
        objects+=("$dir/$c.o")
    done
    list+=" X($m)"
done
gcc -O1 -Wall -Wextra -D"MODULES(X)=$list" -I "$(dirname "$source")/../.." "$source" "${objects[@]}" -o "$dir/candle" -ldl || exit 1
echo "a program of $(stat -c %s "$dir/candle") bytes"
bad=0
for arch in $archs; do
    out=$(CUDAWAY_DEVICE=host CUDAWAY_GFXEMU_ARCH=$arch "$dir/candle" "$cuda" "$other" 2>&1) || { bad=1; echo "FAIL: $arch:"; }
    sed "s/^/$arch: /" <<<"$out"
done
out=$(CUDAWAY_DEVICE=host CUDAWAY_GFXEMU_ARCH=${archs%% *} "$dir/candle" "$cuda" "$other" fill 2>&1)
grep -qx '1 of 11 modules loaded' <<<"$out" || { bad=1; echo "FAIL: for kernels of fill alone other modules are loaded, too: $out"; }
exit $bad
