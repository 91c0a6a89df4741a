#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# differ.sh first|all FOLDER CUDAWAY-REPLAY: launches whose results an H200 gave and the host device does not (tests/faults/differ.ptx). --explain must
# name the cause that the kernel's name begins with. first: of one launch of each kernel.
set -uo pipefail
which=$1 folder=$2 replay=$3
right=0 wrong=0 last='' least=60
[ "$which" = all ] || least=20
for f in "$folder"/*.cwdump; do
    name=$(basename "$f" .cwdump)
    [ "$which" = first ] && [ "${name%-*}" = "$last" ] && continue
    last=${name%-*}
    case $name in
        fuse_*) want='contraction' ;;
        order_*) want='order of atomics' ;;
        race_*) want='(race|order of threads)' ;;
        stale_*) want='uninitialised' ;;
        *) echo "$name: no cause goes by that name"; exit 1 ;;
    esac
    got=$(timeout 600 "$replay" --explain --on host "$f" 2>&1 | sed -n 's/^cause: //p' | head -n 1)
    if [[ $got =~ ^$want ]]; then
        right=$((right + 1))
    else
        wrong=$((wrong + 1))
        echo "FAIL: $name: not '$want' but '$got'"
    fi
done
echo "$right explained, $wrong not"
[ $((right + wrong)) -ge $least ] && [ $wrong = 0 ]
