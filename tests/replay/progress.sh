#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What takes longer than two seconds says on a terminal how far it is and what is left, and nothing on a pipe. Each command runs until its line is
# seen. Usage: progress.sh BIN HELDOUT ISA: the folders of the programs, of traces/heldout, and of PTX tests; the environment names APP, TOOL, TRACE_DIR, PTX (slow.ptx).
set -u
bin=$1 dumps=$2 isa=$3
command -v script >/dev/null || exit 77
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache TMPDIR=$work CUDAWAY_DEVICE=host
cd "$work" || exit 2
failed=0
# Runs $1 in the background and waits for pattern $2 in what it writes to a terminal.
shows() {
    : >typed
    setsid script -qfec "$1" typed >/dev/null 2>&1 </dev/null &
    local pid=$!
    for ((i = 0; i < 600; i++)); do
        grep -aqE "$2" typed && break
        kill -0 $pid 2>/dev/null || break
        sleep 0.2
    done
    grep -aqE "$2" typed || { echo "FAILED: $1: no line like $2"; tr '\r' '\n' <typed | tail -n 5; failed=1; }
    kill -- -$pid 2>/dev/null
    wait $pid 2>/dev/null
}
shows "$bin/cudaway-replay --on gfxemu:gfx1100 --explain $dumps/fault_twice.cwdump" '[0-9]+ of at most [0-9]+ runs, at most [0-9]+:[0-9][0-9] left'
tar xOf "$dumps/fuse_matvec.cwdump" module.ptx | sed '0,/mul\.f32/s//add.f32/' >other.ptx
shows "$bin/cudaway-replay --reduce --against host --against-module other.ptx -o reduced.ptx $dumps/fuse_matvec.cwdump" '[0-9]+ runs, at most [0-9]+:[0-9][0-9] left'
shows "$bin/cudaway-ptxtest --on host:O0 $isa" '[0-9]+ of [0-9]+ files, [0-9]+:[0-9][0-9] left'
# Few runs, of which each takes long.
sed 's/0f3F800000;    /0f40000000;    /' "$PTX" >slower.ptx
for at in here there; do
    [ $at = here ] && ptx=$PTX || ptx=slower.ptx
    CUDAWAY_DUMP_DIR=$at LD_LIBRARY_PATH=$TRACE_DIR "$APP" kernels "$ptx" slow >out 2>&1 || { echo "FAILED: the program gave $?"; cat out; failed=1; }
done
"$TOOL" results here/*.cwdump there/*.cwdump differs.cwdump || failed=1
shows "$bin/cudaway-replay --locate --on host --against-module slower.ptx here/*.cwdump" '[0-9]+ of [0-9]+ runs, [0-9]+:[0-9][0-9] left'
shows "$bin/cudaway-replay --racecheck --on host here/*.cwdump" '[0-9]+ of at most [0-9]+ runs, at most [0-9]+:[0-9][0-9] left'
shows "$bin/cudaway-replay --check --bounds --on host differs.cwdump" '[0-9]+ of at most 3 runs, at most [0-9]+:[0-9][0-9] left'
shows "$bin/cudaway-precompile --target host -j 1 $isa/int/*.ptx $isa/float/*.ptx $isa/half/*.ptx $isa/cvt/*.ptx" '[0-9]+ of [0-9]+ kernels for host, [0-9]+:[0-9][0-9] left'
shows "$bin/cudaway-cc -O 3 --target gfx900,gfx906,gfx908,gfx90a,gfx942,gfx1010,gfx1030,gfx1100,gfx1200 $isa/matrix/sparse_int.ptx -o all.cwfat" '[0-9] of 9 targets, [0-9]+:[0-9][0-9] left'
# On a pipe the whole of it is the report.
"$bin/cudaway-replay" --explain "$dumps/fault_constant.cwdump" >out 2>err
[ ! -s err ] && ! grep -aq 'left' out || { echo "FAILED: something on a pipe"; cat err; failed=1; }
exit $failed
