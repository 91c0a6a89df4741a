#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# warps.sh CUDAWAY-CC WARPS FILE.ptx GFXEMU: cudaway-cc --warps-per-wave, its warnings, and what it makes.
set -u
cc=$1 program=$2 ptx=$3 library=$4
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
bad=0
fail() { echo "warps.sh: $*" >&2; bad=1; }
make() {   # make OUTPUT OPTION...: 0, and what it said in $dir/said
    out=$1
    shift
    "$cc" "$@" "$ptx" -o "$dir/$out" 2>"$dir/said" || fail "cudaway-cc $* ended with $?: $(cat "$dir/said")"
}
says() { [ "$(grep -c "$1" "$dir/said")" = "$2" ] || fail "$2 lines with '$1' expected: $(cat "$dir/said")"; }

make two.o --target gfx90a
says 'warning: sure: its warps wait for each other.*--warps-per-wave' 1
says 'warning: perhaps: its warps may wait for each other' 1
says 'warning: plain:' 0
says warning: 4         # and sure_256, sure_1024
make same.o --target gfx90a --warps-per-wave 2
says warning: 4
cmp -s "$dir/two.o" "$dir/same.o" || fail "--warps-per-wave 2 is not the default"
make one.o --target gfx90a --warps-per-wave 1
says warning: 0
make a.o --target gfx1100
says warning: 0
make b.o --target gfx1100 --warps-per-wave 1
cmp -s "$dir/a.o" "$dir/b.o" || fail "--warps-per-wave changes the code for waves of 32 lanes"
for v in 0 3 one ''; do
    "$cc" --target gfx90a --warps-per-wave "$v" "$ptx" -o "$dir/no.o" 2>"$dir/said" && fail "--warps-per-wave '$v' is taken"
    says "warps-per-wave takes 1 or 2, not '$v'" 1
    [ ! -e "$dir/no.o" ] || fail "--warps-per-wave '$v' wrote a file"
done
CUDAWAY_GFXEMU_ARCH=gfx90a timeout 300 "$program" "$dir/one.o" "$library" || fail "the kernels of one warp a wave: status $?"
exit $bad
