#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# exports.sh LIBDIR LISTS: each library in LIBDIR exports what LISTS/NAME.txt names (patterns of names), all of it and nothing else. libcuda.so.1 and
# libcudart.so.N are compared with the API model by api.exports.*, and are only looked through for C++ and symbols that are one for the process.
set -u
lib=$1 lists=$2 bad=0 seen=0
fail() { echo "FAIL: $*"; bad=1; }
while read -r so; do
    seen=$((seen + 1))
    name=$(basename "$so")
    exported=$(nm -D --defined-only "$so" | awk '$2 != "A" { sub(/@.*/, "", $NF); print $NF }' | sort -u)
    ! readelf -W --dyn-syms "$so" | grep -q UNIQUE || fail "$name has STB_GNU_UNIQUE symbols"
    ! grep -qE '^_Z|^LLVM' <<<"$exported" || fail "$name exports C++ or LLVM: $(grep -E '^_Z|^LLVM' <<<"$exported" | head -n 3 | tr '\n' ' ')"
    case $name in libcuda.so.1|libcudart.so.*) continue ;; esac
    list=$lists/$name.txt
    [ -f "$list" ] || list=$lists/${name%%.so*}.so.txt
    [ -f "$list" ] || { fail "$name has no list of what it exports: write $lists/$name.txt and call cudaway_exports()"; continue; }
    pattern=$(grep -v '^#' "$list" | sed 's/\*/[A-Za-z0-9_]*/' | paste -sd '|')
    other=$(grep -vxE "$pattern" <<<"$exported" | head -n 5 | tr '\n' ' ')
    [ -z "$other" ] || fail "$name exports what $(basename "$list") does not name: $other"
    while read -r p; do
        grep -qxE "$(sed 's/\*/[A-Za-z0-9_]*/' <<<"$p")" <<<"$exported" || fail "$name exports no $p"
    done < <(grep -v '^#' "$list")
done < <(find "$lib" -type f -name '*.so*' ! -name 'libtest_*' | sort)
[ $seen -ge 9 ] || fail "only $seen libraries in $lib"
exit $bad
