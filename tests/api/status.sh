#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# status.sh LIBRARY MODEL_DIR [PREFIX]: status.json calls a function implemented or partial exactly when LIBRARY (not stripped)
# defines PREFIX (drv_) and its name. Exit 77: it is stripped.
set -eu
library=$1 model=$2 prefix=${3:-drv_}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
nm "$library" 2> /dev/null | awk -v p="$prefix" 'index($3, p) == 1 { name = substr($3, length(p) + 1); if (name ~ /^(cu[A-Z]|cuda[A-Z]|__cuda[A-Z])[A-Za-z0-9_]*$/) print name }' | sort > "$dir/defined"
if [ ! -s "$dir/defined" ]; then
    echo "skipped: $library has no symbol table"
    exit 77
fi
# The lists "implemented" and "partial"; in the latter the names are keys.
sed -n '/"implemented"/,/\]/p; /"partial"/,/}/p' "$model/status.json" |
    grep -o '"\(__\)\{0,1\}cu[A-Za-z][A-Za-z0-9_]*" *[],:]\{0,1\}' | grep -o '[_a-z][A-Za-z0-9_]*' | sort > "$dir/listed"
rc=0
comm -23 "$dir/defined" "$dir/listed" > "$dir/unlisted"
comm -13 "$dir/defined" "$dir/listed" > "$dir/undefined"
[ ! -s "$dir/unlisted" ] || { echo "defined, but status.json does not say so:"; cat "$dir/unlisted"; rc=1; }
[ ! -s "$dir/undefined" ] || { echo "status.json says implemented, but the library does not define:"; cat "$dir/undefined"; rc=1; }
echo "$(wc -l < "$dir/defined") functions defined, $(wc -l < "$dir/listed") listed"
exit $rc
