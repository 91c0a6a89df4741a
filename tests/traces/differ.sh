#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# differ.sh FOLDER CUDAWAY-REPLAY TODO...: launches whose results an H200 gave and the host device does not (tests/faults/differ.ptx). --explain must
# name the cause that the kernel's name begins with. TODO: kernels (without the size) of which it does not always, yet.
set -uo pipefail
folder=$1 replay=$2
shift 2
right=0 wrong=0 todo=0
for f in "$folder"/*.cwdump; do
    name=$(basename "$f" .cwdump) kernel=${name%-*}
    case $name in
        fuse_*) want='contraction' ;;
        order_*) want='order of atomics' ;;
        race_*) want='(race|order of threads)' ;;
        stale_*) want='uninitialised' ;;
        *) echo "$name: no cause goes by that name"; exit 1 ;;
    esac
    got=$(timeout 120 "$replay" --explain --on host "$f" 2>&1 | sed -n 's/^cause: //p' | head -n 1)
    if [[ $got =~ ^$want ]]; then
        right=$((right + 1))
    elif [[ " $* " == *" $kernel "* ]]; then
        todo=$((todo + 1))
    else
        wrong=$((wrong + 1))
        echo "FAIL: $name: not '$want' but '$got'"
    fi
done
echo "$right explained, $todo todo, $wrong wrong"
[ $((right + todo + wrong)) -ge 60 ] && [ $wrong = 0 ]
