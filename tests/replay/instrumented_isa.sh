#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests of the PTX corpus whose kernels are rewritten as --locate (trace, watch) and --step do, and record as they run: what they expect stays as it is.
# Usage: instrumented_isa.sh MODES REWRITER PTXTEST DEVICE GROUP...; groups are folders of the corpus, or files.
set -u
modes=$1 rewriter=$2 ptxtest=$3 on=$4
shift 4
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
export CUDAWAY_CACHE_DIR=$dir/cache CUDAWAY_LOG=off
failed=0
for mode in $modes; do
    for group; do
        to=$dir/$mode/${group##*/}
        mkdir -p "$to"
        cp "$group"/*.values "${group%.ptx}.values" "$to" 2>/dev/null
        files=("$group")
        [ -d "$group" ] && files=("$group"/*.ptx)
        for f in "${files[@]}"; do
            "$rewriter" --all $mode "$f" "$to/${f##*/}" || failed=1
        done
        "$ptxtest" --on "$on" "$to" >"$dir/out" 2>&1 || failed=1
        tail -n 5 "$dir/out"
    done
done
exit $failed
