#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# reproduce.sh SOURCE TARGET...: two Release builds of these targets from copies of the sources in folders of different names and lengths have the
# same bytes. A target may be a file of the build folder.
set -u
src=$1; shift
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
bad=0
for place in one another/place; do
    mkdir -p "$dir/$place"
    git -C "$src" ls-files -co --exclude-standard -z | tar -C "$src" --null --ignore-failed-read -T - -c 2>/dev/null | tar -C "$dir/$place" -x
    cmake -S "$dir/$place" -B "$dir/$place/build" -G Ninja -DCMAKE_BUILD_TYPE=Release >"$dir/log" 2>&1 &&
        cmake --build "$dir/$place/build" --target "$@" >"$dir/log" 2>&1 || { tail -n 20 "$dir/log"; exit 1; }
done
files=$(cd "$dir/one/build" && { find bin lib -type f \( -perm -100 -o -name '*.so*' \); ls -d "$@" 2>/dev/null; } | sort -u)
[ "$(wc -w <<<"$files")" -ge "$#" ] || { echo "FAIL: $# targets made only: $files"; bad=1; }
for f in $files; do
    cmp -s "$dir/one/build/$f" "$dir/another/place/build/$f" || { echo "FAIL: $f differs between two builds"; bad=1; }
done
exit $bad
