#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What tests of cudaway-trace share: sourced. They run in a folder of their own, $dir, and end with "exit $bad".
set -u
dir=$(mktemp -d /tmp/trace-test-XXXXXX)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
bad=0

fail() { echo "FAILED: $*"; bad=1; }
# want STATUS COMMAND...: output goes to out and err
want() {
    local status=$1
    shift
    "$@" >out 2>err
    local got=$?
    [ $got = "$status" ] || { fail "status $got, not $status: $*"; head -5 err; }
}
# has FILE TEXT [COUNT]: a fixed string is in so many lines (without COUNT: in some)
has() {
    local n
    n=$(grep -cF -- "$2" "$1")
    if [ $# = 3 ]; then
        [ "$n" = "$3" ] || fail "$1 has $n lines with '$2', not $3"
    else
        [ "$n" -gt 0 ] || { fail "$1 lacks '$2'"; head -5 "$1"; }
    fi
}
lines() { local n; n=$(wc -l <"$1"); [ "$n" = "$2" ] || fail "$1 has $n lines, not $2"; }
one_line() { local n; n=$(wc -l <"$1"); [ "$n" = 1 ] || { fail "$1: not one line"; head -5 "$1"; }; }
record() { "$TRACE" record --library "$BELOW" "$@"; }
