#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# exports.sh LIBRARY MODEL_DIR: the dynamic symbols of a layer are the model's functions, all of them and nothing else.
# The names are taken from the JSON text, not from what the generator made of it.
set -eu
library=$1 model=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat "$model"/functions/*.json | sed -n 's/^ *{ "name": "\(cu[A-Z][A-Za-z0-9_]*\)", .*"since".*/\1/p' > "$dir/names"
cat "$model"/functions/*.json |
    sed -n 's/^ *{ "name": "\(cu[A-Z][A-Za-z0-9_]*\)", .*"suffix": "\(pt[sd][zs]\)".*/\1_\2/p' >> "$dir/names"
sort -o "$dir/names" "$dir/names"
# 637 that the toolkit's stub library has, 34 of the graphics interoperability that only the driver's own has.
[ "$(wc -l < "$dir/names")" = 671 ] || { echo "the model has $(wc -l < "$dir/names") names, not 671"; exit 1; }
nm -D --defined-only "$library" | awk '{ print $3 }' | sort > "$dir/exported"
diff "$dir/names" "$dir/exported" || { echo "$library: < is missing, > should not be exported"; exit 1; }
echo "$library exports the 671 functions and nothing else"
