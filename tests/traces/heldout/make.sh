#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# make.sh FOLDER BUILD: compiles heldout.cu and writes its launches with the other implementation's results into FOLDER. Run by hand; traces/heldout
# is what it wrote.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
folder=$1 build=$(realpath "$2")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export TMPDIR=$dir CUDAWAY_CACHE_DIR=$dir/cache CUDAWAY_DEVICE=host
tool=$build/tests/replay/replay_dump_test replay=$build/bin/cudaway-replay
mkdir -p "$folder"
for k in $(sed -n 's/^#define \([a-z_]*\) [0-9]*$/\1/p' "$here/heldout.cu"); do
    [ $# -lt 3 ] || [[ $k =~ $3 ]] || continue
    other=()
    case $k in
        fuse_*) other=(-ffp-contract=fast) ;;
        ftz_fused) other=(-fgpu-flush-denormals-to-zero -ffp-contract=fast) ;;
        ftz_*) other=(-fgpu-flush-denormals-to-zero) ;;
    esac
    cc=(clang-22 -x cuda --cuda-device-only --cuda-gpu-arch=sm_70 -nocudainc -nocudalib -O2 -S -ffp-contract=off "-DKERNEL=$k" "-DNAME=kernel_$k" -Wno-unknown-cuda-version)
    [[ $k == *order_* ]] && cc+=(-fno-unroll-loops)
    "${cc[@]}" "$here/heldout.cu" -o "$dir/one.ptx"
    "${cc[@]}" -DOTHER "${other[@]}" "$here/heldout.cu" -o "$dir/other.ptx"
    case $k in                          # what may be fused
        fuse_* | ftz_fused | fault_constant | fault_operand) sed -i 's/\(mul\|add\|sub\)\.rn\.\(f32\|f64\)/\1.\2/' "$dir/one.ptx" ;;
    esac
    rm -rf "$dir/dumps"
    CUDAWAY_DUMP_KERNELS='^kernel_' CUDAWAY_DUMP_LIMIT=9 CUDAWAY_DUMP_DIR=$dir/dumps LD_LIBRARY_PATH=$build/lib/cudaway/trace "$build/tests/traces/differ" "$dir/one.ptx" >/dev/null
    dump=$(ls "$dir"/dumps/0002-*.cwdump)
    "$tool" module "$dump" "$dir/other.ptx" "$dir/b.cwdump"
    "$replay" --on host --output "$dir/result.cwdump" "$dir/b.cwdump" >/dev/null
    "$tool" results "$dump" "$dir/result.cwdump" "$folder/$k.cwdump"
    status=0
    "$replay" --check --on host "$folder/$k.cwdump" >"$dir/out" 2>&1 || status=$?
    [ $status = 1 ] || { echo "$k: --check gave $status"; cat "$dir/out"; rm -f "$folder/$k.cwdump"; }
done
ls "$folder" | wc -l
