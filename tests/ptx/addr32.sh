#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# addr32.sh PTXTEST CORPUS DEVICE GROUP|GROUP/TEST...: tests of the corpus as modules with 32-bit addresses. They keep their 64-bit registers and
# parameters, whose upper half does not count then. Left out: files with indirect calls, which take a register of the address size.
ptxtest=$1 corpus=$2 device=$3
shift 3
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
for what; do
    group=${what%%/*}
    mkdir -p "$dir/$group" || exit 2
    [ "$what" = "$group" ] && what="$group/*"
    for f in "$corpus"/$what.ptx; do
        grep -q 'callprototype\|calltargets' "$f" && continue
        sed 's/^\.address_size 64$/.address_size 32/' "$f" >"$dir/$group/${f##*/}" || exit 2
    done
    cp "$corpus/$group"/*.values "$dir/$group" 2>/dev/null
done
wide=$(grep -rL '^\.address_size 32$' "$dir" --include='*.ptx')
[ -z "$wide" ] || { echo "not 32-bit modules: $wide"; exit 1; }
"$ptxtest" --on "$device" "$dir"
