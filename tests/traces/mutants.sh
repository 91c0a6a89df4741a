#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# mutants.sh first|all LIST FOLDER CUDAWAY-REPLAY REPLAY_DUMP_TEST: the launches of FOLDER with the results of a wrong translation (LIST says which). --explain has
# to call each a translation fault: what it explains, it explains away. first: one fault of every second
# kernel.
set -uo pipefail
which=$1 list=$2 folder=$3 replay=$4 tool=$5
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
export TMPDIR=$dir
found=0 wrong=0 last='' kernels=0 least=20
[ "$which" = all ] || least=10
while read -r name change; do
    [[ $name == \#* ]] && continue
    if [ "$which" = first ]; then
        [ "${name%-*}" != "$last" ] || continue
        last=${name%-*} kernels=$((kernels + 1))
        [ $((kernels % 2)) = 1 ] || continue
    fi
    tar xOf "$folder/$name.cwdump" module.ptx >"$dir/module.ptx" && sed "$change" "$dir/module.ptx" >"$dir/wrong.ptx" || exit 2
    cmp -s "$dir/module.ptx" "$dir/wrong.ptx" && { echo "FAIL: $name: $change changes nothing"; wrong=$((wrong + 1)); continue; }
    "$tool" module "$folder/$name.cwdump" "$dir/wrong.ptx" "$dir/wrong.cwdump" &&
        "$replay" --on host --output "$dir/result.cwdump" "$dir/wrong.cwdump" >/dev/null &&
        "$tool" results "$folder/$name.cwdump" "$dir/result.cwdump" "$dir/mutant.cwdump" || { echo "FAIL: $name: $change does not run"; wrong=$((wrong + 1)); continue; }
    timeout 600 "$replay" --explain --on host "$dir/mutant.cwdump" >"$dir/out" 2>&1
    if [ $? = 3 ]; then
        found=$((found + 1))
    else
        wrong=$((wrong + 1))
        echo "FAIL: $name: $change: $(grep -m 1 '^cause: ' "$dir/out" || tail -n 1 "$dir/out")"
    fi
done <"$list"
echo "$found of $((found + wrong)) planted faults are called translation faults"
[ $wrong = 0 ] && [ $found -ge $least ]
