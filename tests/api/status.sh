#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# status.sh LIBRARY MODEL_DIR: status.json calls a function implemented or partial exactly when the driver in LIBRARY (not
# stripped) defines drv_NAME. Exit 77: it is stripped.
set -eu
library=$1 model=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
nm "$library" 2> /dev/null | awk '$3 ~ /^drv_cu[A-Z][A-Za-z0-9_]*$/ { print substr($3, 5) }' | sort > "$dir/defined"
if [ ! -s "$dir/defined" ]; then
    echo "skipped: $library has no symbol table"
    exit 77
fi
# The lists "implemented" and "partial"; in the latter the names are keys.
sed -n '/"implemented"/,/\]/p; /"partial"/,/}/p' "$model/status.json" |
    grep -o '"cu[A-Z][A-Za-z0-9_]*" *[],:]\{0,1\}' | grep -o 'cu[A-Za-z0-9_]*' | sort > "$dir/listed"
rc=0
comm -23 "$dir/defined" "$dir/listed" > "$dir/unlisted"
comm -13 "$dir/defined" "$dir/listed" > "$dir/undefined"
[ ! -s "$dir/unlisted" ] || { echo "defined by the driver, but status.json does not say so:"; cat "$dir/unlisted"; rc=1; }
[ ! -s "$dir/undefined" ] || { echo "status.json says implemented, but the driver does not define:"; cat "$dir/undefined"; rc=1; }
echo "$(wc -l < "$dir/defined") functions defined, $(wc -l < "$dir/listed") listed"
exit $rc
