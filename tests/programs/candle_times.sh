#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# candle_times.sh CUDAWAY_CC [MODULE...]: seconds of CPU (user and system) and bytes of candle's kernel modules by nvcc (to PTX), ptxas (for sm_80), cudaway-cc (for three AMD processors), and by
# clang's own HIP compile for the same three, with the declarations of tests/programs/hip instead of ROCm's headers. CANDLE_KERNELS is the folder candle-kernels/src; DEVICE_LIBS is that of
# ROCm's device libraries (Debian: rocm-device-libs). By hand.
set -u
cc=$1; shift
here=$(realpath "$(dirname "$0")")
src=${CANDLE_KERNELS:?the folder candle-kernels/src}
libs=${DEVICE_LIBS:-/usr/lib/x86_64-linux-gnu/amdgcn/bitcode}
[ -f "$libs/ocml.bc" ] || { echo "candle_times.sh: no $libs/ocml.bc: apt-get install rocm-device-libs, or set DEVICE_LIBS" >&2; exit 2; }
archs='gfx1030 gfx1100 gfx90a'
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
TIMEFORMAT='%U %S'
fail() { echo "candle_times.sh: $1" >&2; cat "$dir/log" >&2; exit 1; }
seconds() { { time "$@" >"$dir/log" 2>&1; } 2>&1 | awk '{ printf "%.2f\n", $1 + $2 }'; }
size() { stat -c %s "$1"; }
by_clang() {
    local arch isa wave lib options
    for arch in $archs; do
        isa=${arch#gfx} wave=off options=()
        [ "$arch" != gfx90a ] || wave=on
        [ -f "$libs/oclc_isa_version_$isa.bc" ] || isa=1036             # Debian's libraries know no gfx11: the newest that they know
        for lib in ocml "oclc_isa_version_$isa" "oclc_wavefrontsize64_$wave" oclc_daz_opt_off oclc_finite_only_off oclc_unsafe_math_off oclc_correctly_rounded_sqrt_on oclc_abi_version_500; do
            options+=(-Xclang -mlink-builtin-bitcode -Xclang "$libs/$lib.bc")
        done
        clang-22 -x hip --offload-device-only -nogpuinc -nogpulib "${options[@]}" --offload-arch="$arch" --no-gpu-bundle-output -fms-extensions -std=c++17 -O3 -w -I "$here/hip" \
            -include "$here/hip/hip.h" -I "$src" "$src/$1.cu" -o "$dir/$1.$arch" || return 1
    done
    cat "$dir/$1".gfx* >"$dir/$1.hip"
}
echo '| module | kernels | nvcc -ptx | ptxas | bytes | cudaway-cc | bytes | clang -x hip | bytes |'
echo '|---|---|---|---|---|---|---|---|---|'
[ $# -gt 0 ] || set -- affine binary cast conv fill indexing quantized reduce sort ternary unary
for m; do
    nvcc=$(seconds nvcc -ptx -arch=sm_80 -std=c++17 -O3 --expt-relaxed-constexpr "$src/$m.cu" -o "$dir/$m.ptx")
    [ -s "$dir/$m.ptx" ] || fail "$m: nvcc makes no PTX"
    ptxas=$(seconds ptxas -arch=sm_80 -O3 "$dir/$m.ptx" -o "$dir/$m.cubin")
    [ -s "$dir/$m.cubin" ] || fail "$m: ptxas makes no code"
    ours=$(seconds "$cc" --target "${archs// /,}" "$dir/$m.ptx" -o "$dir/$m.cwfat")
    [ -s "$dir/$m.cwfat" ] || fail "$m: cudaway-cc makes no container"
    hip=$(seconds by_clang "$m")
    [ -s "$dir/$m.hip" ] || fail "$m: clang makes no code"
    kernels=$(grep -c '\.entry ' "$dir/$m.ptx")
    for arch in $archs; do
        n=$(readelf -sW "$dir/$m.$arch" | awk '$8 ~ /\.kd$/ { print $8 }' | sort -u | wc -l)
        [ "$n" = "$kernels" ] || fail "$m: $n kernels by clang for $arch, $kernels by nvcc"
    done
    echo "| $m | $kernels | $nvcc | $ptxas | $(size "$dir/$m.cubin") | $ours | $(size "$dir/$m.cwfat") | $hip | $(size "$dir/$m.hip") |"
done
