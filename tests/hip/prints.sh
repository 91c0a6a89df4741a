#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# prints.sh CUDAWAY-CC PRINTS FILE.ptx GFXEMU ARCH: code that prints and allocates, ahead of time; also from two parts, which share what the loader
# gives: a second kernel has enough instructions for a part of its own (jit/driver/units.c).
set -u
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
awk '{ print } /^.visible .entry prints/ { on = 1 } on { sub("prints", "again"); more = more $0 "\n" }
     on && /mov.u32 %t/ { for (i = 0; i < 4000; i++) more = more "    add.u32 %r, %r, %t;\n" } on && /^}/ { on = 0 } END { printf "%s", more }' "$3" > "$dir/p.ptx"
"$1" --target "$5" -j2 "$dir/p.ptx" -o "$dir/p.o" || exit 1
CUDAWAY_GFXEMU_ARCH=$5 timeout 300 "$2" "$dir/p.o" "$4"
