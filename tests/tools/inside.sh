#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# inside.sh BUNDLE PROGRAM: what applications load has LLVM inside, hidden, and works next to every other LLVM of this system (inside.c).
# BUNDLE: the archive of tools/bundle, or the folder lib/cudaway of a build with CUDAWAY_LLVM_STATIC. Skipped (77) where there is none.
set -uo pipefail
[ -e "$1" ] || { echo "skipped: no bundle at $1 (tools/bundle makes it)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
lib=$1
if [ -f "$1" ]; then
    tar -C "$work" -xf "$1" --wildcards '*/lib/cudaway/*' || exit 1
    lib=$(echo "$work"/*/lib/cudaway)
fi
failed=0
fail() { echo "FAIL: $*"; failed=1; }

jit=$lib/libcudaway-jit.so
exported=$(nm -D --defined-only "$jit" | awk '{ print $NF }' | tr '\n' ' ')
[ "$exported" = "cudaway_jit_api cudaway_use_stderr " ] || fail "exported: ${exported:0:200}"
for so in "$lib"/libcuda.so.1 "$jit"; do
    # Neither defines nor takes what another LLVM or Zstd in the process has.
    taken=$(nm -D "$so" | awk '{ print $NF }' | grep -E '^_Z|^LLVM|^ZSTD' | head -n 5 | tr '\n' ' ')
    [ -z "$taken" ] || fail "$so has symbols of C++, LLVM or Zstd for all to see: $taken"
    unique=$(readelf -W --dyn-syms "$so" | grep -c UNIQUE)
    [ "$unique" = 0 ] || fail "$so has $unique STB_GNU_UNIQUE symbols"
    other=$(readelf -dW "$so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc|libm|ld-linux-x86-64|libgcc_s)\.so' | tr '\n' ' ')
    [ -z "$other" ] || fail "$so needs $other"
done

export CUDAWAY_CACHE_SIZE=0 CUDAWAY_LOG=error
others=(none)
for l in libLLVM.so.22.1 libLLVM.so.19.1 libLLVM-15.so.1 libLLVM-14.so.1; do
    path=$(ldconfig -p 2>/dev/null || /sbin/ldconfig -p)
    if grep -q "$l " <<<"$path"; then others+=("$l"); fi
done
[ ${#others[@]} -gt 1 ] || echo "no other LLVM is installed"
others+=(mesa)
for device in host gfxemu:gfx1100; do
    for other in "${others[@]}"; do
        for order in before after both; do
            [ "$other" != none ] || [ $order = after ] || continue
            out=$(CUDAWAY_DEVICE=$device timeout 300 "$2" "$lib/libcuda.so.1" $order "$other" 2>&1)
            status=$?
            echo "$device: $(tail -n 1 <<<"$out")"
            [ $status = 0 ] || [ $status = 77 ] || { sort -u <<<"$out" | head -n 20; fail "$device, $order, $other: status $status"; }
        done
    done
    for _ in 1 2 3 4; do
        CUDAWAY_DEVICE=$device timeout 300 "$2" "$lib/libcuda.so.1" exit
        status=$?
        [ $status = 7 ] || fail "$device: status $status of a process that ends while it compiles, not 7"
    done
done
exit $failed
