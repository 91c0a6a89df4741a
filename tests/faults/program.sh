#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# CUDAWAY_CHECK on whole programs: what it says of a program's allocations, of launches that fault, and that it says nothing of what is right. The environment
# names PROGRAM (program.c), APP (replay_app), PTX (memcheck.ptx), TRACE_DIR.
set -u
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
export XDG_CACHE_HOME=$dir/cache TMPDIR=$dir CUDAWAY_DEVICE=host LD_LIBRARY_PATH=$TRACE_DIR
failed=0
fail() { echo "FAILED: $*"; cat "$dir/out"; failed=1; }
run() { # checks command...
    CUDAWAY_CHECK=$1 timeout 300 "${@:2}" >"$dir/out" 2>&1
}
says() {
    for text; do
        grep -q -- "$text" "$dir/out" || fail "it does not say: $text"
    done
}

run all "$PROGRAM" correct || fail "correct gave $?"
says "2 launches checked, faults in 0, 0 allocations leaked"
[ "$(wc -l <"$dir/out")" = 1 ] || fail "it says more of a correct program"

# Calls are counted from cuInit on: the third allocation is the eighth.
run all "$PROGRAM" leak || fail "leak gave $?"
says "leak: 1000 bytes at 0x[0-9a-f]*, allocated by call 7, cuMemAlloc_v2, in [^ ]*program([^ ]*), are not freed when the program ends" \
     "2 launches checked, faults in 0, 1 allocations leaked"
run leaks "$PROGRAM" context || fail "context gave $?"
says "leak: 1000 bytes at .*, are not freed when their context is destroyed" "0 launches checked, faults in 0, 1 allocations leaked"
run memcheck "$PROGRAM" leak || fail "leak gave $?"
grep -q "leak: " "$dir/out" && fail "leaks were not asked for"

# A file's name is text, in a line of its own and in what it is told to who checks.
named=$dir/$(printf 'a\nlive 1 1 b\033[2J\377')
cp "$PROGRAM" "$named"
run all "$named" leak || fail "leak of a program with such a name gave $?"
says "leak: 1000 bytes at 0x[0-9a-f]*, allocated by call 7, cuMemAlloc_v2, in a live 1 1 b?\[2J?(" "2 launches checked, faults in 0, 1 allocations leaked"
[ "$(wc -l <"$dir/out")" = 2 ] || fail "more lines than there are"
run memcheck "$named" freed
says "memory that is freed, of 4096 bytes, allocated by call 8, cuMemAlloc_v2, in a live 1 1 b?\[2J?(.*, freed by call 1[0-9], cuMemFree_v2, in a live 1 1 b?\[2J?(" "3 launches checked, faults in 1"

run memcheck "$PROGRAM" freed
says "fill, launch 3:" "out of bounds: 4 bytes are written at byte 0 of memory that is freed, of 4096 bytes, allocated by call 8, cuMemAlloc_v2, in .*, freed by call 1[0-9], cuMemFree_v2, in " \
     "3 launches checked, faults in 1"

run memcheck "$PROGRAM" pool
says "fill, launch 4:" "out of bounds: 4 bytes are written at .* 0 bytes behind .* of 128 bytes, allocated by call [0-9]*, cuMemAllocAsync, in " "4 launches checked, faults in 1"

run memcheck "$APP" kernels "$PTX" write_behind
says "out of bounds: 4 bytes are written at .*, 3072 bytes behind buffer [0-9]*, parameter out, of 1024 bytes, allocated by call [0-9]*, cuMemAlloc_v2" "1 launches checked, faults in 1"

run all "$PROGRAM" timer || fail "timer gave $?"
says "2 launches checked, faults in 0, 0 allocations leaked"

run all "$PROGRAM" children || fail "children gave $?"
says "2 launches checked, faults in 0, 0 allocations leaked"

run all "$PROGRAM" closed || fail "closed gave $?"
says "4 launches checked, faults in 0, 0 allocations leaked"

# A program that is killed while its launch is checked: what checks it ends, too.
runs() { # pid
    [ -r "/proc/$1/stat" ] && ! grep -q ') Z ' "/proc/$1/stat"
}
CUDAWAY_CHECK=memcheck timeout -s KILL 300 "$PROGRAM" endless >"$dir/out" 2>&1 &
server=
checks() { # the process that checks, which is no child of the program
    for p in $(pgrep -x cudaway-replay); do
        tr '\0' '\n' 2>/dev/null <"/proc/$p/environ" | grep -qxF "TMPDIR=$dir" && echo "$p" && return
    done
    return 1
}
for _ in $(seq 100); do
    program=$(pgrep -P $!) && server=$(checks) && break
    sleep 0.1
done
sleep 3                                 # it has got to the launch that does not end
kill -KILL "$program"
for _ in $(seq 150); do
    runs "$server" || break
    sleep 0.1
done
if [ -z "$server" ] || runs "$server"; then
    fail "what checked a program that was killed is still there"
    kill -KILL "$server"
fi

# A name that is none: one line, and the program runs.
run memchk "$PROGRAM" correct || fail "a wrong name gave $?"
says "has memchk, which is none of"
exit $failed
