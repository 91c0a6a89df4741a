#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# transformer.sh CUDAWAY_CC TRANSFORMER_C GFXEMU [ARCH...]: a small transformer on candle's kernels, which cudaway-cc embeds in the program (transformer.c), on each processor.
# CANDLE_KERNELS is as for candle.sh; skipped (77) without. HIP_LIBRARY in the environment is a HIP runtime to take instead of GFXEMU: a GPU.
set -u
cc=$1 source=$2 gfxemu=$3; shift 3
archs=${*:-gfx1030 gfx1100 gfx90a}
src=${CANDLE_KERNELS:-}
[ -d "$src" ] || { echo "skipped: CANDLE_KERNELS is not the folder of candle's kernels"; exit 77; }
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
objects=()
while read -r module kernels; do
    ptx=$src/$module.ptx
    if [ ! -f "$ptx" ]; then
        ptx=$dir/$module.ptx
        nvcc -ptx -arch=sm_80 -std=c++17 -O3 --expt-relaxed-constexpr "$src/$module.cu" -o "$ptx" || exit 1
    fi
    options=()
    for k in $kernels; do options+=(--kernel "$k"); done
    "$cc" -j 0 --target "${archs// /,}" "${options[@]}" --embed c --symbol "$module" "$ptx" -o "$dir/$module.c" && gcc -Wall -Werror -c "$dir/$module.c" -o "$dir/$module.o" || exit 1
    objects+=("$dir/$module.o")
done <<'L'
quantized quantize_q8_1 mul_mat_vec_q4_0_q8_1_cuda1
reduce rmsnorm_f32 softmax_f32 rope_f32 fast_sum_f32 fast_argmax_f32
binary badd_f32 bmul_f32
unary usilu_f32
affine affine_f32
L
gcc -O1 -Wall -Wextra "$source" "${objects[@]}" -o "$dir/transformer" -ldl -lm || exit 1
echo "a program of $(stat -c %s "$dir/transformer") bytes"
bad=0
for arch in $archs; do
    out=$(CUDAWAY_DEVICE=gfxemu:$arch "$dir/transformer" "${HIP_LIBRARY:-$gfxemu}" 2>&1) || bad=1
    echo "$arch: $out"
done
exit $bad
