#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# presets.sh SOURCE [PRESET...]: CMake takes CMakePresets.json for configuring, building and testing, each preset configures (or those that are named), and what it sets is set.
set -u
src=$1; shift
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
bad=0
fail() { echo "FAIL: $*"; bad=1; }
cd "$src" || exit 2
presets() { "$@" --list-presets 2>"$dir/err" | sed -n 's/^ *"\([^"]*\)".*/\1/p'; }
mapfile -t all < <(presets cmake)
[ ${#all[@]} -gt 0 ] || { echo "FAIL: cmake --list-presets: $(cat "$dir/err")"; exit 1; }
[ "$(presets cmake --build)" = "$(presets cmake)" ] || fail "presets that configure: ${all[*]}; that build: $(presets cmake --build | paste -sd ' ')"
[ -n "$(presets ctest)" ] || fail "ctest --list-presets: $(cat "$dir/err")"
for p in "${@:-${all[@]}}"; do
    cmake --preset "$p" -B "$dir/$p" >"$dir/log" 2>&1 || { tail -n 5 "$dir/log"; fail "cmake --preset $p"; continue; }
    [ -f "$dir/$p/build.ninja" ] || fail "$p: not for Ninja"
    # "Preset CMake variables:" and its lines, NAME="VALUE" or NAME:TYPE="VALUE".
    sed -n 's/^  \([A-Z_]*\)\(:[A-Z]*\)\{0,1\}="\(.*\)"$/\1 \3/p' "$dir/log" >"$dir/set"
    [ -s "$dir/set" ] || fail "$p sets nothing"
    while read -r name value; do
        grep -q "^$name:[A-Z]*=\(.*/\)\{0,1\}$value\$" "$dir/$p/CMakeCache.txt" || fail "$p: $name is $(grep "^$name:" "$dir/$p/CMakeCache.txt"), not $value"
    done <"$dir/set"
done
exit $bad
