#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# candle_times.sh CUDAWAY_CC [MODULE...]: user seconds and bytes of candle's kernel modules by nvcc (to PTX), ptxas (for sm_80), cudaway-cc (for three AMD processors), and by clang's own HIP
# compile for the same three, where clang takes the module with the declarations of tests/programs/hip instead of ROCm's headers. CANDLE_KERNELS is the folder
# candle-kernels/src; it may hold MODULE.ptx, and nvcc's column is empty then. By hand.
set -u
cc=$1; shift
here=$(realpath "$(dirname "$0")")
src=${CANDLE_KERNELS:?the folder candle-kernels/src}
archs='gfx1030 gfx1100 gfx90a'
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
TIMEFORMAT=%U
seconds() { { time "$@" >"$dir/log" 2>&1; } 2>&1; }
size() { [ -s "$1" ] && stat -c %s "$1" || echo -; }
by_clang() {
    for arch in $archs; do
        clang-22 -x hip --offload-device-only -nogpuinc -nogpulib --offload-arch="$arch" --no-gpu-bundle-output -fms-extensions -std=c++17 -O3 -w -I "$here/hip" -include "$here/hip/hip.h" -I "$src" \
            "$src/$1.cu" -o "$dir/$1.$arch" || return 1
    done
    cat "$dir/$1".gfx* >"$dir/$1.hip"
}
echo '| module | nvcc -ptx | ptxas | bytes | cudaway-cc | bytes | clang -x hip | bytes |'
echo '|---|---|---|---|---|---|---|---|'
[ $# -gt 0 ] || set -- affine binary cast conv fill indexing quantized reduce sort ternary unary
for m; do
    rm -f "$dir"/"$m".*
    nvcc=- hip=- ptx=$src/$m.ptx
    if [ ! -f "$ptx" ]; then
        ptx=$dir/$m.ptx
        nvcc=$(seconds nvcc -ptx -arch=sm_80 -std=c++17 -O3 --expt-relaxed-constexpr "$src/$m.cu" -o "$ptx")
    fi
    ptxas=$(seconds ptxas -arch=sm_80 -O3 "$ptx" -o "$dir/$m.cubin")
    ours=$(seconds "$cc" --target "${archs// /,}" "$ptx" -o "$dir/$m.cwfat")
    [ ! -f "$src/$m.cu" ] || hip=$(seconds by_clang "$m")
    [ -s "$dir/$m.hip" ] || hip="no: $(grep -m 1 -o 'error: .*' "$dir/log" | cut -c 1-50)"
    echo "| $m | $nvcc | $ptxas | $(size "$dir/$m.cubin") | $ours | $(size "$dir/$m.cwfat") | $hip | $(size "$dir/$m.hip") |"
done
