#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# heldout.sh FOLDER CUDAWAY-REPLAY [NAME...]: launches that --explain was not made with (heldout/heldout.cu), or those of these names. It must name the cause that the
# launch's name begins with, and none of a planted fault.
set -uo pipefail
folder=$1 replay=$2
shift 2
right=0 wrong=0
[ $# -gt 0 ] || for f in "$folder"/*.cwdump; do set -- "$@" "$(basename "$f" .cwdump)"; done
for name; do
    case $name in
        fuse_*) want='contraction' ;;
        ftz_*) want='flush to zero' ;;
        div_precise) want='precise division' ;;
        div_*) want='approximate division' ;;
        order_*) want='order of atomics' ;;
        race_*) want='race' ;;
        stale_*) want='uninitialised' ;;
        threads_*) want='order of threads' ;;
        fault_*) want='translation fault' ;;
        *) echo "$name: no cause goes by that name"; exit 1 ;;
    esac
    got=$(timeout 600 "$replay" --explain --on host "$folder/$name.cwdump" 2>&1 | sed -n 's/^cause: //p' | head -n 1)
    if [[ $got == "$want:"* ]]; then
        right=$((right + 1))
    else
        wrong=$((wrong + 1))
        echo "FAIL: $name: not '$want' but '$got'"
    fi
done
echo "$right named right, $wrong not"
[ $wrong = 0 ] && [ $right -gt 0 ]
