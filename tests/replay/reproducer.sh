#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# cudaway-replay --reproducer: the program that it writes is compiled and run; it ends with 0 for a launch whose dump has the device's results, and with 1
# and the element's name where the dump has another constant's. The environment names APP, REPLAY, TOOL, TRACE_DIR, PTX (explain.ptx), LIB (of libcuda.so.1), CC,
# INCLUDE (folders of cuda.h), TRACES (traces/h200).
set -u
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
export XDG_CACHE_HOME=$dir/cache TMPDIR=$dir CUDAWAY_DEVICE=host
failed=0
fail() { echo "FAILED: $*"; cat "$dir/out"; failed=1; }
sed -E 's|^ .*// other: (.*)$|    \1|' "$PTX" >"$dir/other.ptx"
CUDAWAY_DUMP_DIR=$dir/here LD_LIBRARY_PATH=$TRACE_DIR "$APP" kernels "$PTX" fault_constant >"$dir/out" 2>&1 || fail "the program gave $?"
CUDAWAY_DUMP_DIR=$dir/there LD_LIBRARY_PATH=$TRACE_DIR "$APP" kernels "$dir/other.ptx" fault_constant >"$dir/out" 2>&1 || fail "the program gave $?"
"$TOOL" results "$dir"/here/*.cwdump "$dir"/there/*.cwdump "$dir/wrong.cwdump" || fail "results"
program() { # dump status
    "$REPLAY" --reproducer "$dir/r.c" "$1" >"$dir/out" 2>&1 || { fail "$1: --reproducer gave $?"; return; }
    # shellcheck disable=SC2086
    "$CC" -std=c11 -Wall -Wextra -Werror $INCLUDE "$dir/r.c" -o "$dir/r" -L"$LIB" -l:libcuda.so.1 >"$dir/out" 2>&1 || { fail "$1: it does not compile"; return; }
    LD_LIBRARY_PATH=$LIB "$dir/r" >"$dir/out" 2>&1
    local got=$?
    [ $got = "$2" ] || fail "$1: the program gave $got, not $2"
}
program "$dir"/here/*.cwdump 0
program "$dir/wrong.cwdump" 1
cp "$dir/out" "$dir/said"
"$REPLAY" --check --on host "$dir/wrong.cwdump" >"$dir/out"     # by other code: how many, and the first
read -r count index < <(sed -n 's/.*parameter out: \([0-9]*\) of 256 f32 differ; first at byte [0-9]*, index \([0-9]*\):.*/\1 \2/p' "$dir/out")
grep -q "parameter out: ${count:-none} elements of 4 bytes differ; first at index $index: recorded 0x" "$dir/said" || { cat "$dir/said"; fail "it does not name the element"; }
# On an H200: pointers in memory, variables, shared memory.
for t in reduce-scan_shuffle memory-local_array atomics-histogram_shared; do
    program "$TRACES/$t-0.cwdump" 0
done
"$REPLAY" --reproducer "$dir/r.c" "$TRACES/calls-indirect-0.cwdump" >"$dir/out" 2>&1
[ $? = 2 ] && grep -q "calls functions by address" "$dir/out" || fail "functions by address"
"$REPLAY" --reproducer "$dir/none/r.c" "$dir"/here/*.cwdump >"$dir/out" 2>&1
[ $? = 2 ] || fail "a folder that is not there"
"$REPLAY" --reduce --against host:O0 --reproducer "$dir/both.c" "$TRACES/reduce-scan_shuffle-0.cwdump" >"$dir/out" 2>&1
[ $? = 2 ] && grep -q "leave --reduce away" "$dir/out" || fail "--reproducer of what --reduce leaves"
exit $failed
