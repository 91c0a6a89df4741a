#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Which kernels the checkers decide without records (replay/instrument_screen.c): no faulty one may be called clean, and of the correct ones all are
# but those named here with the reason. Usage: screen.sh FILE...; the environment names APP, REPLAY, TRACE_DIR.
set -u
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
export XDG_CACHE_HOME=$dir/cache TMPDIR=$dir
failed=0 clean=0 faulty=0
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
for ptx; do
    checker=$(basename "$ptx" .ptx)
    checker=${checker%%_*}
    for k in $(sed -n 's/^\.visible \.entry \([a-z_]*\)(.*/\1/p' "$ptx"); do
        rm -rf "$dir/dumps"
        CUDAWAY_DUMP_DIR=$dir/dumps LD_LIBRARY_PATH=$TRACE_DIR CUDAWAY_DEVICE=host timeout 300 "$APP" kernels "$ptx" "$k" >"$dir/app" 2>&1
        dump=("$dir"/dumps/*-"$k".cwdump)
        [ -f "${dump[0]}" ] || { fail "$k: no dump"; cat "$dir/app"; continue; }
        marks=$(awk -v k=".entry $k(" -v called="// fault of $k: " 'index($0, k) { on = 1 } /^}/ { on = 0 } (on && /\/\/ fault: /) || index($0, called) { n++ } END { print n + 0 }' "$ptx")
        checks=(--memcheck --racecheck --initcheck --synccheck)
        [ "$marks" = 0 ] || checks=("--$checker")
        CUDAWAY_LOG=debug "$REPLAY" --trust --on host "${checks[@]}" "${dump[0]}" >"$dir/out" 2>&1
        # the last word of the runs without records; none: it was not tried
        said=$(sed -n 's/.* without records on host: //p' "$dir/out" | tail -1)
        if [ "$marks" != 0 ]; then
            faulty=$((faulty + 1))
            [ "$said" != "no fault" ] || { fail "$checker: $k is taken for clean"; cat "$dir/out"; }
        elif needs_records "$k"; then
            [ "$said" != "no fault" ] || fail "$k needs no records: the list is out of date"
        else
            clean=$((clean + 1))
            [ "$said" = "no fault" ] || { fail "$k is not decided without records: ${said:-not tried}"; grep -v '^cudaway: debug' "$dir/out" | tail -n 5; }
        fi
    done
done
echo "$faulty faulty kernels, $clean clean ones"
[ $clean -ge 15 ] && [ $faulty -ge 40 ] || fail "too few kernels"
exit $failed
