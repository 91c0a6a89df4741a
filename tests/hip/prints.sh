#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# prints.sh CUDAWAY-CC PRINTS FILE.ptx GFXEMU ARCH: code that prints, ahead of time.
set -u
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
"$1" --target "$5" "$3" -o "$dir/p.o" || exit 1
CUDAWAY_GFXEMU_ARCH=$5 timeout 60 "$2" "$dir/p.o" "$4"
