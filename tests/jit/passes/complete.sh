#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# complete.sh PASSES CASES EXCEPT...: each source file NAME.c or NAME.cpp below PASSES has golden cases, CASES/NAME/*.ll, or patterns, CASES/NAME.ptx, but for the files
# EXCEPT, which are no passes or have a test of another kind; and each folder of cases has its file there or in the folder above.
set -u
passes=$1 cases=$2 bad=0
shift 2
fail() { echo "$*"; bad=1; }
source_names() { find "$@" -name '*.c' -o -name '*.cpp' | sed 's|.*/||; s|\.[^.]*$||' | sort; }
names=$(source_names "$passes") beside=$(source_names "$(dirname "$passes")" -maxdepth 1)
except=$(printf '%s\n' "$@")
is_in() { grep -qxF "$1" <<<"$2"; }

[ -n "$names" ] || fail "no passes below $passes"
while read -r name; do
    is_in "$name" "$except" || grep -qs '^;---- ' "$cases/$name"/*.ll || grep -qs '^// check ' "$cases/$name.ptx" ||
        fail "$passes: $name has neither $cases/$name/*.ll nor $cases/$name.ptx"
done <<<"$names"
while read -r folder; do
    is_in "${folder##*/}" "$names"$'\n'"$beside" || fail "$folder: there is no file of that name below $passes"
done < <(find "$cases" -name '*.ll' -exec dirname {} + | sort -u)
for name; do
    is_in "$name" "$names" || fail "$name: no such file below $passes"
done
exit $bad
