#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Recorded launches whose kernels are rewritten as --locate does: their results have to be those that the hardware gave the plain ones.
# Usage: instrumented.sh REWRITER REPLAY DEVICE DUMP...
set -u
rewriter=$1 replay=$2 on=$3
shift 3
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
failed=0
for f; do
    for mode in trace watch; do
        "$rewriter" --dump $mode "$f" "$dir/dump" || { echo "FAILED: $f, $mode: not rewritten"; failed=1; continue; }
        "$replay" --check --on "$on" "$dir/dump" >"$dir/out" 2>&1
        # The records themselves differ: there are some now.
        if [ $? != 1 ] || ! grep -q "^buffer .*variable cudaway_locate_log" "$dir/out" || grep "^buffer\|^array" "$dir/out" | grep -qv cudaway_locate_log; then
            echo "FAILED: $f, $mode"
            cat "$dir/out"
            failed=1
        fi
    done
done
exit $failed
