#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# native.sh PTXTEST TESTS ARCH...: products by AMD's matrix instructions (CUDAWAY_MATRIX_MODEL=native). The corpus' tests whose sums are exact
# in any order must pass, with both warps of a wave at the instruction (the corpus has one of them elsewhere), and by such instructions.
test=$1 source=$2
shift 2
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
for file in mma_float wmma_float; do
    sed -e 's/block 32$/block 64/' -e '/@%other bra DONE;/d' "$source/$file.ptx" > "$dir/$file.ptx" || exit 1
    cp "$source/$file.values" "$dir/" || exit 1
done
export CUDAWAY_MATRIX_MODEL=native CUDAWAY_GFXEMU_STATS="$dir/stats"
status=0
for arch; do
    rm -f "$dir/stats"
    "$test" --on "gfxemu:$arch" -v --limit 2 "$dir" > "$dir/out" 2>&1
    passed=$(grep -c '_exact: pass' "$dir/out")
    failed=$(grep '_exact' "$dir/out" | grep -v -c ': pass')
    launches=$(grep -c . "$dir/stats")
    with=$(grep -v -c '"matrix":0[,}]' "$dir/stats")
    echo "$arch: $passed exact tests passed, $failed failed; $with of $launches launches with matrix instructions"
    if [ "$passed" -lt 30 ] || [ "$failed" -ne 0 ] || [ "$with" -lt 30 ]; then
        grep '_exact' "$dir/out" | grep -v ': pass' | head -20
        status=1
    fi
done
exit $status
