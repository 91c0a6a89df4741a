#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Usage: bounds.sh plain|some|wmma|more. --bounds on kernels whose bounds are derived by hand (scale.ptx). Two results may be two bounds apart, each being one from the exact value. The environment
# names APP, REPLAY, TOOL, TRACE_DIR, PTX (scale.ptx); ON: the device, host by default.
set -u
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
export XDG_CACHE_HOME=$dir/cache TMPDIR=$dir CUDAWAY_DEVICE=${ON:-host}
cd "$dir" || exit 2
failed=0
fail() { echo "FAILED: $*"; cat out; failed=1; }
case $1 in
    plain)  kernels="square fused sum branch wide atomic atomic_far called called_branch recursive" ;;
    some)   kernels="copied matrix_half" ;;
    wmma)   kernels="wmma wmma_rounded matrix_moved matrix_moved_rounded" ;;
    more)   kernels="atomic_wide atomic_wide_far reduced reduced_bits matrix matrix_rows" ;;
esac
if [ "$1" != plain ]; then
    sed -E 's|^ .*// sm_90: (.*)$|    \1|; s/^\.target sm_80/.target sm_90/' "$PTX" >sm_90.ptx
    PTX=sm_90.ptx
fi
sed -E 's|^ .*// other: (.*)$|    \1|' "$PTX" >other.ptx
sed 's/0f3F800005/0f3F800007/; s/%f4, 0f3F800001;/%f4, 0f3F800003;/; s/%f6, 0f3F800002;/%f6, 0f3F800006;/; s/0f3F800002;/0f3F800004;/; s/0f3F800010;/0f3F800800;/; s/0f3A000000;/0f3B000000;/; s/0d3FF0000000000002/0d3FF0000000000004/' other.ptx >far.ptx
CUDAWAY_DUMP_DIR=here LD_LIBRARY_PATH=$TRACE_DIR "$APP" kernels "$PTX" $kernels >out 2>&1 || fail "the program gave $?"
CUDAWAY_DUMP_DIR=other LD_LIBRARY_PATH=$TRACE_DIR "$APP" kernels other.ptx $kernels >out 2>&1 || fail "the program gave $?"
CUDAWAY_DUMP_DIR=far LD_LIBRARY_PATH=$TRACE_DIR "$APP" kernels far.ptx $kernels >out 2>&1 || fail "the program gave $?"
bounds() { # kernel results status differ [bounded [unbounded]]
    [[ " $kernels " == *" $1 "* ]] || return
    "$TOOL" results here/*-"$1".cwdump "$2"/*-"$1".cwdump "$1-$2.cwdump" || fail results
    "$REPLAY" --check --bounds --json "$1-$2.cwdump" >out 2>&1
    [ $? = "$3" ] && python3 -c '
import json, sys
k, = json.load(open("out"))["kernels"]
want = [int(x) for x in sys.argv[1:]]
assert [k["differ"], k["bounded"], k["unbounded"]][:len(want)] == want, k
assert k["bounded"] or want[1] == 0, k
assert k["severity"] == ("different" if want[0] else "within bounds"), k' "${@:4}" || fail "$1 with $2"
}
if [ "$1" != plain ]; then
bounds atomic_wide other 0 0 1 0
bounds atomic_wide_far other 1 1 0 0
# Times 1 + 2^-23: at most 3u of 4u; with 3 of them, at least 5u.
bounds reduced other 0 0 256
bounds reduced far 1 256 0
bounds reduced_bits other 1 256 0 256
# Times 1 + 2 * 2^-23: at most 5u of 6u; with 4, at least 7u.
bounds copied other 0 0 256
bounds copied far 1 256 0
# 16 units of d, and 2048, which is more than twice 18 (34) units times 39 (6).
bounds matrix other 0 0 256
bounds matrix far 1 256 0
bounds matrix_half other 0 0 256
bounds matrix_half far 1 256 0
bounds matrix_rows other 1 256 0 256
bounds wmma other 0 0 256
bounds wmma far 1 256 0
bounds wmma_rounded other 1 256 0 256
bounds matrix_moved other 0 0 256
bounds matrix_moved far 1 256 0
bounds matrix_moved_rounded other 1 256 0 256
exit $failed
fi
# 2^-18 more: beyond 2u(4t^2 + 0.1) up to t^2 = 7.975, in[i] = 2.72, so in elements 0 to 6.
bounds square other 1 7
bounds fused other 0 0
# Times 1 + 5 * 2^-23, rounded: at most 11u more; with 7, at least 13u. Twice the bound is 12u.
bounds sum other 0 0 256
bounds sum far 1 256 0
# Times 1 + 2^-23: at most 3u of 4u; but which way element 6 goes depends on the rounding.
bounds branch other 1 1 255 1
# Times 1 + 2 * 2^-52: at most 5v of 6v; with 4, at least 7v.
bounds wide other 0 0 128
bounds wide far 1 128 0
# 256 times 1 + 2^-23: 512u more, and the bound is at least 2.25 * 256 * 256 u.
bounds atomic other 0 0 1 0
bounds atomic_far other 1 1 0 0
bounds called other 0 0 256
bounds called far 1 256 0
bounds called_branch other 1 1 255 1
"$TOOL" results here/*-recursive.cwdump other/*-recursive.cwdump recursive.cwdump || fail results
"$REPLAY" --check --bounds recursive.cwdump >out 2>&1
[ $? = 1 ] && grep -q "note: no bounds: recursive calls are not followed: module.ptx:[0-9]*: @%p call (%result), again, (%value)" out || fail "a recursive call"
"$REPLAY" --bounds recursive.cwdump >out 2>&1
[ $? = 2 ] || fail "--bounds without --check"
exit $failed
