#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lockstep.sh PTXTEST FOLDER DEVICE [apart]: kernels that rely on the lanes of a warp running in step. found.ptx is right without a
# setting, and the log says why; so is volatile.ptx; forced.ptx is with CUDAWAY_LOCKSTEP=1. `apart`: with 0 found.ptx is wrong on this device.
ptxtest=$1 folder=$2 device=$3 apart=$4 bad=0
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
export CUDAWAY_CACHE_DIR="$dir/cache"
run() { env "$@" >"$dir/out" 2>&1; }
fail() { echo "FAILED: $*"; head -5 "$dir/out"; bad=1; }

run CUDAWAY_LOG=info "$ptxtest" --on "$device" "$folder/found.ptx" || fail "found.ptx"
for k in unrolled loop; do
    grep -q "kernel $k: lanes of a warp exchange values" "$dir/out" || fail "the log says nothing about kernel $k"
done
grep -q 'kernel synced: lanes' "$dir/out" && fail "the log names a kernel that has its barriers"
run CUDAWAY_LOCKSTEP=0 "$ptxtest" --on "$device" "$folder/volatile.ptx" || fail "volatile.ptx"
run CUDAWAY_LOCKSTEP=1 "$ptxtest" --on "$device" "$folder" || fail "with CUDAWAY_LOCKSTEP=1"
if [ "$apart" ]; then
    run CUDAWAY_LOCKSTEP=0 "$ptxtest" --on "$device" "$folder/found.ptx" && fail "found.ptx with CUDAWAY_LOCKSTEP=0: nothing depends on it"
fi
run CUDAWAY_LOCKSTEP=yes "$ptxtest" --on "$device" "$folder/found.ptx" || fail "with CUDAWAY_LOCKSTEP=yes"
grep -q 'CUDAWAY_LOCKSTEP=yes is not 0 or 1' "$dir/out" || fail "a bad value is not named"
exit $bad
