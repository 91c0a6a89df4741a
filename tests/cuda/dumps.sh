#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Record a test program with kernel dumps, replay every dump on both host devices, and run the program under cudaway-diff:
#   dumps.sh BUILD FOLDER PROGRAM [ARGUMENT...]      environment LIMIT: dumps taken (default 80); MOST: of each kernel that many are
# replayed (default: all)
# Not compared: kernels whose results depend on the order of threads by what they do (atomic_ops stores what its atomics
# return), and launches that fail on purpose (check_positive).
set -uo pipefail
build=$1 folder=$2
shift 2
rm -rf "$folder"
mkdir -p "$folder"
failed=0 same=0
declare -A seen
"$build/bin/cudaway-trace" record -q -o "$folder/trace" --device host --dump-kernels --dump-limit "${LIMIT:-80}" -- "$@" >"$folder/log" 2>&1 ||
    { tail -n 5 "$folder/log"; echo "FAIL: recording"; exit 1; }
for f in "$folder"/trace/dumps/*.cwdump; do
    [ -e "$f" ] || { echo "FAIL: no dump"; exit 1; }
    case $f in *-atomic_ops.cwdump | *-check_positive.cwdump) continue ;; esac
    kernel=${f##*/} kernel=${kernel#*-}
    seen[$kernel]=$((${seen[$kernel]:-0} + 1))
    [ "${seen[$kernel]}" -le "${MOST:-1000}" ] || continue
    for device in host host:O0; do
        if "$build/bin/cudaway-replay" --on "$device" --check "$f" >"$folder/out" 2>&1; then
            same=$((same + 1))
        else
            failed=$((failed + 1))
            echo "FAIL: $(basename "$f") on $device"
            head -n 3 "$folder/out"
        fi
    done
done
echo "$same replays as recorded, $failed not"
if [ "${DIFF:-1}" = 1 ]; then
    CUDAWAY_HOST_THREADS=1 "$build/bin/cudaway-diff" -o "$folder/diff" -- "$@" >"$folder/log" 2>&1
    status=$?
    tail -n 1 "$folder/log"
    [ $status = 0 ] || { grep cudaway-diff "$folder/log" | head -n 6; echo "FAIL: cudaway-diff gave $status"; failed=$((failed + 1)); }
fi
rm -rf "$folder/trace/dumps"
[ $failed = 0 ]
