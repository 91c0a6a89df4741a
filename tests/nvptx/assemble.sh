#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# assemble.sh CUDAWAY-CC SM FILE...: every file must go to PTX for sm_SM and back through our own parser; where NVIDIA's ptxas is
# installed it must assemble too, without more local memory than the original needs.
cc=$1 sm=$2
shift 2
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
ptxas=$(command -v ptxas || ls /usr/local/cuda/bin/ptxas 2>/dev/null)
status=0
stack() { sed -n 's/^ *\([0-9]*\) bytes stack frame.*/\1/p' "$1" | sort -n | tail -1; }
for f in "$@"; do
    grep -q '^//! todo [^ ]*cuda\|^//! skip cuda .*libcudadevrt' "$f" && continue
    [ "$(sed -n 's/^\.target *sm_\([0-9]*\).*/\1/p' "$f" | head -1)" -le "$sm" ] || continue
    # Warp operations without .sync: PTX before 6.4, kept at an architecture of that age, as the cuda device does.
    to=$sm
    [ "$(sed -n 's/^\.version *\([0-9]*\)\.\([0-9]\).*/\1\2/p' "$f" | head -1)" -ge 64 ] || to=60
    if ! "$cc" --target nvptx:sm_"$to" --emit asm "$f" -o "$tmp/new.ptx" || ! "$cc" --emit ir "$tmp/new.ptx" -o "$tmp/ir"; then
        echo "FAIL $f"; status=1; continue
    fi
    [ -n "$ptxas" ] || continue
    if ! "$ptxas" -arch sm_"$sm" -v "$tmp/new.ptx" -o "$tmp/cubin" 2>"$tmp/new.log"; then
        echo "FAIL $f: ptxas:"; grep -v '^ptxas info' "$tmp/new.log" | head -5; status=1; continue
    fi
    if "$ptxas" -arch sm_"$sm" -v "$f" -o "$tmp/cubin" 2>"$tmp/old.log" && [ "$(stack "$tmp/old.log")" = 0 ] &&
       [ "$(stack "$tmp/new.log")" != 0 ]; then
        echo "FAIL $f: local memory where the original has none"; status=1
    fi
done
[ -n "$ptxas" ] || echo "no ptxas: its part is skipped"
exit $status
