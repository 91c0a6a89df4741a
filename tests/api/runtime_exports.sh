#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# runtime_exports.sh LIBRARY MODEL_DIR MAJOR NODE COUNT: the dynamic symbols of a Runtime library are the model's functions for
# it, COUNT of them, all with the version NODE, and nothing else. The names are taken from the JSON text, not from what the
# generator made of it.
set -eu
library=$1 model=$2 major=$3 node=$4 count=$5
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
has() { awk -v list="$1" -v m="$major" 'BEGIN { n = split(list, a, ", *"); for (i = 1; i <= n; i++) if (a[i] == m) exit 0; exit 1 }'; }
cat "$model"/functions/*.json | grep '^ *{ "name": "[_a-zA-Z0-9]*", .*"since"' | while IFS= read -r line; do
    name=$(printf %s "$line" | sed 's/^ *{ "name": "\([^"]*\)".*/\1/')
    plain=$(printf %s "$line" | sed 's/"per_thread": {[^}]*}//' | sed -n 's/.*"in": \[\([0-9, ]*\)\].*/\1/p')
    [ -z "$plain" ] || has "$plain" || continue
    echo "$name"
    variant=$(printf %s "$line" | sed -n 's/.*"per_thread": {\([^}]*\)}.*/\1/p')
    [ -n "$variant" ] || continue
    only=$(printf %s "$variant" | sed -n 's/.*"in": \[\([0-9, ]*\)\].*/\1/p')
    [ -z "$only" ] || has "$only" || continue
    echo "${name}_$(printf %s "$variant" | sed 's/.*"suffix": "\([a-z]*\)".*/\1/')"
done | sed "s/\$/@@$node/" | sort > "$dir/names"
[ "$(wc -l < "$dir/names")" = "$count" ] || { echo "the model has $(wc -l < "$dir/names") names for $library, not $count"; exit 1; }
nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' | sort > "$dir/exported"
diff "$dir/names" "$dir/exported" || { echo "$library: < is missing, > should not be exported"; exit 1; }
echo "$library exports the $count functions and nothing else"
