#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# status.sh SOURCE_DIR: status.json calls a function implemented or partial exactly when impl/driver defines drv_NAME.
# (Definitions start a line: that is the style.) Exit 77: no driver in this tree.
set -eu
source=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
find "$source/impl/driver" -name '*.c' -exec sed -n 's/^drv_\(cu[A-Z][A-Za-z0-9_]*\)(.*/\1/p' {} + 2>/dev/null |
    sort > "$dir/defined" || true
if [ ! -s "$dir/defined" ]; then
    echo "skipped: impl/driver defines nothing"
    exit 77
fi
# The lists "implemented" and "partial"; in the latter the names are keys.
sed -n '/"implemented"/,/\]/p; /"partial"/,/}/p' "$source/impl/api/status.json" |
    grep -o '"cu[A-Z][A-Za-z0-9_]*" *[],:]\{0,1\}' | grep -o 'cu[A-Za-z0-9_]*' | sort > "$dir/listed"
rc=0
uniq -d "$dir/defined" > "$dir/twice"
[ ! -s "$dir/twice" ] || { echo "defined twice:"; cat "$dir/twice"; rc=1; }
comm -23 "$dir/defined" "$dir/listed" > "$dir/unlisted"
comm -13 "$dir/defined" "$dir/listed" > "$dir/undefined"
[ ! -s "$dir/unlisted" ] || { echo "defined in impl/driver, but status.json does not say so:"; cat "$dir/unlisted"; rc=1; }
[ ! -s "$dir/undefined" ] || { echo "status.json says implemented, but impl/driver does not define:"; cat "$dir/undefined"; rc=1; }
echo "$(wc -l < "$dir/defined") functions defined, $(wc -l < "$dir/listed") listed"
exit $rc
