#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Recorded launches whose kernels are rewritten as --locate (trace, watch), --bounds and --step do: their results have to be those that the hardware gave the plain ones.
# Usage: instrumented.sh MODES REWRITER REPLAY DEVICE DUMP...
set -u
modes=$1 rewriter=$2 replay=$3 on=$4
shift 4
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
failed=0
for f; do
    for mode in $modes; do
        "$rewriter" --dump $mode "$f" "$dir/dump" >"$dir/out"
        [ $? = 77 ] && [ $mode = bound ] && continue       # it calls functions through pointers, or the like
        [ -s "$dir/dump" ] || { echo "FAILED: $f, $mode: not rewritten"; failed=1; continue; }
        "$replay" --check --on "$on" "$dir/dump" >"$dir/out" 2>&1
        status=$?
        # The records themselves differ: there are some now.
        [ $mode = bound ] && [ $status = 0 ] && continue
        if [ $status != 1 ] || ! grep -q "^buffer .*variable cudaway_locate_log" "$dir/out" || grep "^buffer\|^array" "$dir/out" | grep -qv cudaway_locate_log; then
            echo "FAILED: $f, $mode"
            cat "$dir/out"
            failed=1
        fi
        rm -f "$dir/dump"
    done
done
exit $failed
