#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# traces.sh REPLAY FOLDER first|all: every dump, or the first of each kernel, on the emulated gfx1100 and gfx90a, against the recorded results.
failed=0 run=0 least=75
[ "$3" = first ] || least=230
for f in "$2"/*.cwdump; do
    case $3,$f in first,*-[1-9]*.cwdump) continue ;; esac
    for arch in gfx1100 gfx90a; do
        run=$((run + 1))
        out=$("$1" --check --on gfxemu:$arch "$f" 2>&1) || { echo "$(basename "$f") on $arch: $out"; failed=$((failed + 1)); }
    done
done
echo "$run replayed, $failed failed"
[ $run -ge $least ] && [ $failed = 0 ]
