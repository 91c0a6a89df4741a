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
compile() { # what
    # shellcheck disable=SC2086
    "$CC" -std=c11 -Wall -Wextra -Werror $INCLUDE "$dir/r.c" -o "$dir/r" -L"$LIB" -l:libcuda.so.1 >"$dir/out" 2>&1 || { fail "$1: it does not compile"; return; }
    LD_LIBRARY_PATH=$LIB "$dir/r" >"$dir/out" 2>&1
}
program() { # dump status
    "$REPLAY" --reproducer "$dir/r.c" "$1" >"$dir/out" 2>&1 || { fail "$1: --reproducer gave $?"; return; }
    compile "$1"
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
# Names are text of the program, not parts of it.
"$TOOL" rename "$dir"/here/*.cwdump '*/ int x = system("touch '"$dir"'/ran"); /* \" ), system("touch '"$dir"'/ran"), puts("??/' "$dir/named.cwdump" || fail "rename"
program "$dir/named.cwdump" 2
grep -q "cuModuleGetFunction" "$dir/out" && [ ! -e "$dir/ran" ] || fail "a name that is C"
"$REPLAY" --reproducer "$dir/none/r.c" "$dir"/here/*.cwdump >"$dir/out" 2>&1
[ $? = 2 ] || fail "a folder that is not there"
# Of what --reduce leaves: the program has the launch of --on with the results of the other, so it ends with 1, and with the other's constant in the text with 0.
"$REPLAY" --reduce --on host --against-module "$dir/other.ptx" --reproducer "$dir/r.c" "$dir"/here/*.cwdump >"$dir/out" 2>&1
[ $? = 1 ] && grep -q "instructions are left" "$dir/out" || fail "--reduce with --reproducer"
compile "the reduced launch"
[ $? = 1 ] && grep -q "elements of 4 bytes differ; first at index 0: recorded 0x3f800001, here 0x3f800000" "$dir/out" || fail "the reduced launch"
grep -q "1, 1, 1, 1, 1, 1, 0, NULL, list" "$dir/r.c" || fail "more than one thread is left"
grep -q "mad.lo\|add.rn.f32.*3DCCCCCD" "$dir/r.c" && fail "it is not reduced"
sed -i 's/0f3F800000/0f3F800001/' "$dir/r.c"
compile "the reduced launch, mended" || fail "the reduced launch, mended"
exit $failed
