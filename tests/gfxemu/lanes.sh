#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lanes.sh CUDAWAY_CC PTX: where LLVM 19 would move a vector register that has scalar ones in its lanes, with all lanes of the wave on (into
# registers in which lanes that wait have values), code is made without such lanes.
asm=$("$1" --target gfx90a --emit asm "$2" -o -) || exit 1
moves=$(printf '%s\n' "$asm" | grep -A1 's_or_saveexec_b64 .*, -1$' | grep -c 'v_accvgpr\|scratch_\|buffer_')
calls=$(printf '%s\n' "$asm" | grep -c s_swappc)
printf '%s moves with all lanes on; %s calls\n' "$moves" "$calls"
[ "$moves" = 0 ] && [ "$calls" -gt 0 ]
