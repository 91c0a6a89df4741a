#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# many.sh CUDAWAY-CC MANY: for blocks of how many threads kernels with many values are compiled.
set -u
cc=$1 program=$2
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
bad=0
takes() {  # takes THREADS VALUES LINE OPTION...
    want=$1
    "$program" "$2" "$3" >"$dir/k.ptx"
    shift 3
    "$cc" --emit asm "$@" "$dir/k.ptx" -o "$dir/k.s" || bad=1
    got=$(awk '/\.max_flat_workgroup_size:/ { print $2 }' "$dir/k.s")
    [ "$got" = "$want" ] || { echo "many.sh: $*: blocks of $got threads, not $want" >&2; bad=1; }
}
takes 640 160 '' --target gfx1100
takes 640 160 '' --target gfx1201
takes 512 160 '' --target gfx1030
takes 512 160 '' --target gfx1102
takes 512 160 '' --target gfx90a
takes 1024 160 '' --target gfx1100 --all-blocks
takes 1024 160 '' --target gfx90a --warps-per-wave 1
takes 1024 160 '.maxntid 1024' --target gfx1100
takes 64 160 '.maxntid 64' --target gfx1100
takes 96 160 '.reqntid 96' --target gfx1100
takes 1024 160 '.maxnreg 64' --target gfx1100
takes 1024 120 '' --target gfx1100
takes 640 130 '' --target gfx1100
exit $bad
