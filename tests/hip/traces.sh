#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# traces.sh REPLAY FOLDER: every sixth dump on the emulated gfx1100, every sixth other one on gfx90a, against the recorded results.
n=0 failed=0 run=0
for f in "$2"/*.cwdump; do
    n=$((n + 1))
    case $((n % 6)) in
        1) arch=gfx1100 ;;
        4) arch=gfx90a ;;
        *) continue ;;
    esac
    run=$((run + 1))
    out=$("$1" --check --on gfxemu:$arch "$f" 2>&1) || { echo "$(basename "$f") on $arch: $out"; failed=$((failed + 1)); }
done
echo "$run replayed, $failed failed"
[ $run -gt 10 ] && [ $failed = 0 ]
