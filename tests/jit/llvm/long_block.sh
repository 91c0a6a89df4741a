#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# long_block.sh CUDAWAY-PTXTEST ARCH KIND...: kernels of one block of thousands of instructions, as hash functions and long numbers have, compute what
# bash does, and take no more time than their length says: four times as many instructions at most 7 times the CPU time (without cut-regions 10), 14 with carries.
# Where more values live than there are registers, at most 250 times: LLVM's register allocator asks of each value that it could take a
# register from whether that value finds another, and has no option against it.
set -u
ptxtest=$1 arch=$2
shift 2
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# Rounds on sixteen words read from memory: the order of what does not depend on each other is free, so there is much to schedule.
rounds() {  # NUMBER
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
    wrap "$text" "${v[@]}"
}

# A number of sixteen words is added to itself as it was at first, but for its first word: to that the last one is added, so that one sum waits for the
# one before.
carries() { # NUMBER
    local -a v x
    local i r carry text=
    for ((i = 0; i < 16; i++)); do
        v[i]=$((i * 2654435761 & 0xffffffff)) x[i]=${v[i]}
        text+="ld.global.u32 %v$i, [%p+$((4 * i))]; mov.b32 %x$i, %v$i;"$'\n'
    done
    for ((r = 0; r < $1; r++)); do
        text+="add.cc.u32 %v0, %v0, %v15;"$'\n'
        for ((i = 1; i < 16; i++)); do text+="addc.cc.u32 %v$i, %v$i, %x$i;"$'\n'; done
        x[0]=${v[15]}
        for ((i = carry = 0; i < 16; i++)); do
            v[i]=$((v[i] + x[i] + carry)) carry=$((v[i] >> 32))
            v[i]=$((v[i] & 0xffffffff))
        done
    done
    wrap "$text" "${v[@]}"
}

# More words are read than there are registers, one after the other, and all of them are wanted until the end: half of them or more lie in memory in between.
values() {      # NUMBER
    local -a v
    local i j text=".reg .b32 %w<$1>;"$'\n'
    for ((i = 0; i < 16; i++)); do
        v[i]=$((i * 2654435761 & 0xffffffff))
        text+="ld.global.u32 %v$i, [%p+$((4 * i))];"$'\n'
    done
    for ((i = 0; i < $1; i++)); do text+="ld.volatile.global.u32 %w$i, [%p+$((i * 4 & 63))];"$'\n'; done
    for ((i = 0; i < 2 * $1; i++)); do
        j=$((i < $1 ? i : 2 * $1 - 1 - i))
        text+="xor.b32 %v$((i & 15)), %v$((i & 15)), %w$j; add.u32 %v$((i & 15)), %v$((i & 15)), %w$((j * 7 % $1));"$'\n'
        v[i & 15]=$(((v[i & 15] ^ (j & 15) * 2654435761 & 0xffffffff) + ((j * 7 % $1 & 15) * 2654435761 & 0xffffffff) & 0xffffffff))
    done
    wrap "$text" "${v[@]}"
}

wrap() {        # TEXT WORD...: a kernel of it, which should leave these words
    local i text=$1
    shift
    printf '.version 7.0\n.target sm_70\n.address_size 64\n//! test rounds\n//! buffer in u32 ='
    for ((i = 0; i < 16; i++)); do printf ' %u' $((i * 2654435761 & 0xffffffff)); done
    printf '\n//! launch rounds(in) grid 1 block 1\n//! expect in derived ='
    printf ' %u' "$@"
    printf '\n.visible .entry rounds(.param .u64 p) {\n.reg .b64 %%p; .reg .b32 %%v<16>, %%x<16>; ld.param.u64 %%p, [p];\n%s' "$text"
    for ((i = 0; i < 16; i++)); do printf 'st.global.u32 [%%p+%d], %%v%d;\n' $((4 * i)) $i; done
    printf 'ret;\n}\n'
}

# The CPU time of compiling and executing FILE, in milliseconds. Its results have to be right.
time_of() {     # FILE
    local TIMEFORMAT='%U %S' user system
    read -r user system < <({ time CUDAWAY_CACHE_SIZE=0 "$ptxtest" --on "gfxemu:$arch" "$1" >"$dir/log" 2>&1 || echo "- -" >&2; } 2>&1)
    [ "$user" != - ] || { cat "$dir/log" >&2; return 1; }
    echo $((10#${user/./} + 10#${system/./}))
}

check() {       # WHAT NUMBER RATIO
    local t short=999999 long=999999
    "$1" "$2" >"$dir/short.ptx"
    "$1" $(($2 * 4)) >"$dir/long.ptx"
    # What runs beside it makes a compilation slower, never faster: a ratio above the bound may be the other programs' doing.
    for _ in 1 2 3 4 5; do
        for _ in 1 2; do
            t=$(time_of "$dir/short.ptx") || return 1
            ((t < short)) && short=$t
        done
        t=$(time_of "$dir/long.ptx") || return 1
        ((t < long)) && long=$t
        echo "$arch: $1: $short ms, of four times as many instructions $long ms"
        ((long < $3 * short)) && return 0
    done
    return 1
}

for kind; do
    case $kind in
    rounds)  check rounds 1500 7 ;;
    carries) check carries 60 14 ;;
    values)  check values 80 250 ;;
    esac || exit 1
done
