#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The checkers of cudaway-replay on planted faults: all four look at each kernel of FILE; each line with a comment "fault: TEXT", or in a function "fault of KERNEL: TEXT", has to be
# named with TEXT, nothing else may be said by FILE's checker, and nothing at all of the kernels named correct. And what they decide without records
# (replay/instrument_screen.c): no faulty kernel may be called clean, and of the correct ones all are but those named here with the reason. Usage:
# faults.sh FILE; the environment names APP, REPLAY, TRACE_DIR.
set -u
ptx=$1 checker=$(basename "$1" .ptx)
checker=${checker%%_*}                  # memcheck_constant: of memcheck
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
export XDG_CACHE_HOME=$dir/cache TMPDIR=$dir
failed=0 faults=0 correct=0 clean=0
fail() { echo "FAILED: $*"; failed=1; }

needs_records() {
    case $1 in
    correct_spaces | correct_local)                                 ;;      # local memory has no cells
    correct_same_value)                                             ;;      # values are not compared
    correct_warp | correct_producer | correct_last_block | correct_lock) ;; # ordered by a barrier of a part of the block, or by atomics
    correct_exit | correct_return | correct_gone)                   ;;      # threads end before a barrier of the others
    *)  return 1 ;;
    esac
}
mapfile -t kernels < <(sed -n 's/^\.visible \.entry \([a-z_]*\)(.*/\1/p' "$ptx")
[ ${#kernels[@]} -gt 0 ] || fail "no kernels in $ptx"
marked() { # kernel: "line TEXT" of each mark in it
    awk -v k=".entry $1(" -v called="// fault of $1: " 'index($0, k) { on = 1 } /^}/ { on = 0 } on && match($0, /\/\/ fault: /) { print NR, substr($0, RSTART + 10) }
        at = index($0, called) { print NR, substr($0, at + length(called)) }' "$ptx"
}
for k in "${kernels[@]}"; do
    # A process each: what a fault does to a launch, and to the context, is not this test's. The dump holds the memory before it.
    CUDAWAY_DUMP_DIR=$dir/dumps LD_LIBRARY_PATH=$TRACE_DIR CUDAWAY_DEVICE=host timeout 300 "$APP" kernels "$ptx" "$k" >"$dir/app" 2>&1
    dump=("$dir"/dumps/*-"$k".cwdump)
    [ -f "${dump[0]}" ] || { fail "$k: no dump"; cat "$dir/app"; continue; }
    checks=(--memcheck --racecheck --initcheck --synccheck)
    marked "$k" >"$dir/marks"
    [ -s "$dir/marks" ] && checks=("--$checker")
    CUDAWAY_LOG=debug "$REPLAY" --on host "${checks[@]}" "${dump[0]}" >"$dir/all" 2>&1
    got=$?
    grep -v '^cudaway: \(debug\|info\)' "$dir/all" >"$dir/out"
    # the last word of the runs without records; none: it was not tried
    said=$(sed -n 's/.* without records on host: //p' "$dir/all" | tail -1)
    if [ ! -s "$dir/marks" ]; then
        [ $got = 0 ] || { fail "$k: a false alarm"; cat "$dir/out"; }
        if needs_records "$k"; then
            [ "$said" != "no fault" ] || fail "$k needs no records: the list is out of date"
        else
            clean=$((clean + 1))
            [ "$said" = "no fault" ] || fail "$k is not decided without records: ${said:-not tried}"
        fi
        correct=$((correct + 1))
        continue
    fi
    faults=$((faults + 1))
    [ $got = 1 ] || { fail "$k gave $got"; cat "$dir/out"; }
    [ "$said" != "no fault" ] || fail "$k is taken for clean without records"
    while read -r number text; do
        grep -q "^$text" "$dir/out" && grep -q "module.ptx:$number:" "$dir/out" || { fail "$k: not found: $text in line $number"; cat "$dir/out"; }
    done <"$dir/marks"
    # No other line is named.
    for number in $(grep -o 'module\.ptx:[0-9]*' "$dir/out" | cut -d: -f2 | sort -u); do
        grep -q "^$number " "$dir/marks" || { fail "$k: line $number is right"; cat "$dir/out"; }
    done
done
echo "$checker: $faults faulty kernels, $correct correct ones, of which $clean are clean without records"
exit $failed
