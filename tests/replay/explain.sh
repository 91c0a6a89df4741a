#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# cudaway-replay --explain: kernels of explain.ptx, whose dumps get the results of what another device executes (the comments "other:"
# there). The cause is known by construction; of faults none may be explained. Usage: explain.sh CASE; the environment names APP, REPLAY,
# TOOL (replay_dump_test), TRACE_DIR, PTX (explain.ptx).
set -u
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
export XDG_CACHE_HOME=$dir/cache TMPDIR=$dir CUDAWAY_DEVICE=host CUDAWAY_HOST_THREADS=1      # blocks run in their order
failed=0
fail() { echo "FAILED: $*"; failed=1; }

# The line of a kernel's place, as the other device has it.
sed -E 's|^ .*// other: (.*)$|    \1|' "$PTX" >"$dir/other.ptx"
mapfile -t all < <(sed -n 's/^\.visible \.entry \([a-z_]*\)(.*/\1/p' "$PTX")

record() { # kernels...
    CUDAWAY_DUMP_DIR=$dir/here LD_LIBRARY_PATH=$TRACE_DIR "$APP" kernels "$PTX" "$@" || fail "the program gave $?"
    CUDAWAY_DUMP_DIR=$dir/there LD_LIBRARY_PATH=$TRACE_DIR "$APP" kernels "$dir/other.ptx" "$@" || fail "the program gave $?"
}
says() { # name text...
    local name=$1 text; shift
    for text; do
        grep -qF -- "$text" "$dir/out" || { fail "$name: it does not say: $text"; cat "$dir/out"; }
    done
}
explain() { # status kernel cause
    "$TOOL" results "$dir"/here/*-"$2".cwdump "$dir"/there/*-"$2".cwdump "$dir/$2.cwdump" || fail "$2: results"
    "$REPLAY" --explain --on host "$dir/$2.cwdump" >"$dir/out" 2>&1
    local got=$?
    [ $got = "$1" ] || { fail "--explain $2 gave $got, not $1"; cat "$dir/out"; return; }
    says "$2" "cause: $3"
}
line() { # the number of the line of a kernel that has the text
    awk -v k=".entry $1(" -v t="$2" 'index($0, k) { on = 1 } on && index($0, t) { print NR; exit }' "$PTX"
}

kernels=()
for k in "${all[@]}"; do
    [ "${k%%_*}" = "$1" ] && kernels+=("$k")
done
[ ${#kernels[@]} -gt 0 ] || fail "no kernels of $1"
record "${kernels[@]}"
for k in "${kernels[@]}"; do
    case $k in
    contraction_*)
        explain 1 "$k" contraction
        says "$k" "module.ptx:$(line "$k" "// other: ")"
        ;;
    flush_fused)        explain 1 "$k" "flush to zero"; says "$k" "and when these products and sums are fused" ;;
    flush_*)            explain 1 "$k" "flush to zero" ;;
    precise_*)          explain 1 "$k" "precise division" ;;
    approximate_*)      explain 1 "$k" "approximate division" ;;
    atomic_exchange | atomic_compare)
        explain 1 "$k" "order of atomics"; says "$k" "module.ptx:$(line "$k" "// the last one")" "exchanges in another order leave the recorded value there" ;;
    atomic_*)           explain 1 "$k" "order of atomics"; says "$k" "module.ptx:$(line "$k" ".global.add.f32")" ;;
    order_*)            explain 1 "$k" "order of threads" ;;
    race_*)             explain 1 "$k" "race"; says "$k" "module.ptx:$(line "$k" "st.$([ $k = race_shared ] && echo shared || echo global)")" "and nothing orders the two" ;;
    uninitialised_shared | uninitialised_local)
        explain 1 "$k" "uninitialised"; says "$k" "uninitialised read: " "module.ptx:$(line "$k" " %f3, [%r")" ;;
    uninitialised_*)    explain 1 "$k" "uninitialised" ;;
    clock_*)
        explain 1 "$k" "clock"
        says "$k" "module.ptx:$(line "$k" "%clock")"
        [ $k = clock_read ] || says "$k" "threads race as well" "and nothing orders the two"
        [ $k = clock_race ] || ! grep -q "race" "$dir/out" || fail "$k: nothing races"
        ;;
    fault_*)
        explain 3 "$k" "translation fault"
        [ "$k" != fault_heap ] || says "$k" "the kernel calls malloc"
        [ "$k" = fault_heap ] || ! grep -q malloc "$dir/out" || fail "$k: it does not call malloc"
        ;;
    esac
    [ -z "${SHOW:-}" ] || { echo "== $k"; cat "$dir/out"; }
done
if [ "$1" = contraction ]; then
    # the second only; and what an H200 gave for the kernel of locate.ptx that is contraction_add here (docs/replay-and-diff.md)
    explain 1 contraction_some contraction
    ! grep -q "module.ptx:$(line contraction_some "add.f32 %f4")" "$dir/out" || fail "the first sum of contraction_some is not fused"
    explain 1 contraction_add contraction
    says contraction_add "index 1: 1.92250001 (0x3ff6147b) on" "1.92250013 (0x3ff6147c) on host; 80 of 256 differ"
    "$REPLAY" --explain --on host "$dir"/here/*-contraction_add.cwdump >"$dir/out" || fail "the same results gave $?"
    says same "are the recorded ones"
    "$REPLAY" --explain --on host "$dir/none" >"$dir/out" 2>&1
    [ $? = 2 ] || fail "a file that is not there"
fi
[ -z "$(find "$dir" -name ".cudaway-tmp-*")" ] || fail "files are left: $(ls "$dir")"
exit $failed
