#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs that a confined replay starts have the rights that their device needs, and no others: on NVIDIA's a process names its threads (names_threads.c).
# Usage: runner.sh REPLAY DUMP PRELOAD
set -u
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
export TMPDIR=$dir CUDAWAY_LOG=error
failed=0
expect() { # text options...
    local want=$1; shift
    LD_PRELOAD=$preload timeout 100 "$replay" "$@" "$dump" >"$dir/out" 2>&1 </dev/null
    grep -q "$want" "$dir/out" || { echo "FAILED: $*: no \"$want\""; cat "$dir/out"; failed=1; }
}
replay=$1 dump=$2 preload=$3
for on in cuda cuda-native cuda-native:O0; do
    expect "the thread has its name" --memcheck --on $on
    expect "$on did not run it: the thread has its name" --locate --on host --against $on         # which runs first
done
expect "the thread Permission denied" --memcheck --on host
expect "host did not run it: the thread Permission denied" --locate --on cuda --against host
expect "the thread has its name" --trust --memcheck --on host
# The usual device.
CUDAWAY_DEVICE=cuda expect "the thread has its name" --memcheck
CUDAWAY_DEVICE=host expect "the thread Permission denied" --memcheck
exit $failed
