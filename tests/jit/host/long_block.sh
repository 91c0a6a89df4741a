#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# long_block.sh CUDAWAY-CC CUDAWAY-PTXTEST ARCH: kernels of one block of thousands of instructions, as hash functions are, compute what bash does, and take
# no more time than their length says: eight times as many instructions at most 14 times the CPU time (25 where the scheduler has them at once).
set -u
cc=$1 ptxtest=$2 arch=$3
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# Rounds on sixteen words read from memory: the order of what does not depend on each other is free, so there is much to schedule.
kernel() {  # ROUNDS
    local -a v
    local i r a b c text=
    for ((i = 0; i < 16; i++)); do
        v[i]=$((i * 2654435761 & 0xffffffff))
        text+="ld.global.u32 %v$i, [%p+$((4 * i))];"$'\n'
    done
    for ((r = 0; r < $1; r++)); do
        a=$((r * 7 & 15)) b=$((r * 7 + 4 & 15)) c=$((r * 7 + 9 & 15))
        text+="add.u32 %v$a, %v$a, %v$b; xor.b32 %v$c, %v$c, %v$a; shf.l.wrap.b32 %v$c, %v$c, %v$c, $((r % 31 + 1));"$'\n'
        v[a]=$((v[a] + v[b] & 0xffffffff))
        v[c]=$((v[c] ^ v[a]))
        v[c]=$(((v[c] << r % 31 + 1 | v[c] >> 31 - r % 31) & 0xffffffff))
    done
    printf '.version 7.0\n.target sm_70\n.address_size 64\n//! test rounds\n//! buffer in u32 ='
    for ((i = 0; i < 16; i++)); do printf ' %u' $((i * 2654435761 & 0xffffffff)); done
    printf '\n//! launch rounds(in) grid 1 block 1\n//! expect in derived ='
    printf ' %u' "${v[@]}"
    printf '\n.visible .entry rounds(.param .u64 p) {\n.reg .b64 %%p; .reg .b32 %%v<16>; ld.param.u64 %%p, [p];\n%s' "$text"
    for ((i = 0; i < 16; i++)); do printf 'st.global.u32 [%%p+%d], %%v%d;\n' $((4 * i)) $i; done
    printf 'ret;\n}\n'
}

time_of() {     # FILE: the least CPU time of three, in milliseconds
    local TIMEFORMAT='%U %S' least=999999 user system
    for _ in 1 2 3; do
        read -r user system < <({ time "$cc" --target "$arch" -O 3 "$1" -o "$dir/out" >"$dir/err" 2>&1 || echo "- -" >&2; } 2>&1)
        [ "$user" != - ] || { cat "$dir/err" >&2; return 1; }
        user=$((10#${user/./} + 10#${system/./}))
        ((user < least)) && least=$user
    done
    echo $least
}

kernel 1500 >"$dir/short.ptx"
kernel 12000 >"$dir/long.ptx"
for f in short long; do
    CUDAWAY_CACHE_SIZE=0 "$ptxtest" --on "gfxemu:$arch" "$dir/$f.ptx" >"$dir/log" || { cat "$dir/log"; exit 1; }
done
short=$(time_of "$dir/short.ptx") long=$(time_of "$dir/long.ptx") || exit 1
echo "$arch: $short ms, of eight times as many instructions $long ms"
((long < 14 * short))
