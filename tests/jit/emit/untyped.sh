#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# untyped.sh CUDAWAY-CC PTX TARGET...: kernels K and K_untyped of the file, which differ in the types of their registers alone, become the same
# instructions, but for which registers they use.
set -u
cc=$1 ptx=$2
shift 2
code() { "$cc" --target "$1" --kernel "$2" --emit asm "$ptx" -o - | awk '/s_endpgm/ { print $1; exit } /^\t[a-z]+_/ { print $1 }' | sort; }
bad=0
for target; do
    for kernel in $(sed -n 's/.*\.entry \([a-z]*\)_untyped(.*/\1/p' "$ptx"); do
        a=$(code "$target" "$kernel") b=$(code "$target" "${kernel}_untyped")
        [ "$(grep -c . <<<"$a")" -gt 10 ] || { echo "$target $kernel: no code"; bad=1; }
        [ "$a" = "$b" ] && continue
        echo "$target $kernel: the code differs"
        diff <(uniq -c <<<"$a") <(uniq -c <<<"$b")
        bad=1
    done
done
exit $bad
