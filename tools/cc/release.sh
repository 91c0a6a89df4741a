#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Order the machine code of cudaway-cc by a profile: CMake's target cudaway-cc-release (docs/performance.md).
#   release.sh LLVM_BIN TRAINING CC OUTPUT
# LLVM_BIN is the folder of llvm-bolt and merge-fdata, CC the program linked with --emit-relocs, TRAINING the same one ending through exit(),
# which writes BOLT's counters. training.sh names the training files. Takes about a minute of CPU time.
set -euo pipefail
bin=$1 training=$2 cc=$3 output=$4
[ -x "$bin/llvm-bolt" ] || { echo "release.sh: there is no $bin/llvm-bolt: install BOLT of the LLVM that is built against (Debian package bolt-22)" >&2; exit 1; }
work=$(mktemp -d "$output.XXXXXX")
trap 'rm -rf "$work"' EXIT

quietly() {
    "$@" >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; echo "release.sh: $1 failed" >&2; exit 1; }
}

quietly "$bin/llvm-bolt" "$training" -instrument -instrumentation-file="$work/profile" -instrumentation-file-append-pid -o "$work/instrumented"

# shellcheck source=tools/cc/training.sh
. "$(dirname "$0")/training.sh"
{ training_files; training_kernels "$bin/clang" "$work"; } >"$work/files" || { echo "release.sh: $bin/clang failed" >&2; exit 1; }
while read -r target file; do quietly "$work/instrumented" -j 0 -O 3 --target "$target" "$file" -o "$work/out"; done <"$work/files"

"$bin/merge-fdata" "$work"/profile.* -o "$work/merged" 2>"$work/log" || { cat "$work/log" >&2; echo "release.sh: merge-fdata failed" >&2; exit 1; }
quietly "$bin/llvm-bolt" "$cc" -data "$work/merged" -o "$work/cc" -reorder-blocks=ext-tsp -reorder-functions=cdsort -split-functions -split-all-cold \
    -split-eh -icf=1 -hot-text
# glibc's relocations have no symbols, but ld links their section to a symbol table, and llvm-strip (tools/bundle) then refuses the file: clear
# the link.
if [[ $(readelf -SW "$work/cc") != *.dynsym* ]]; then
    headers=$(readelf -hW "$work/cc" | sed -n 's/.*Start of section headers: *\([0-9]*\).*/\1/p')
    section=$(readelf -SW "$work/cc" | sed -n 's/^ *\[ *\([0-9]*\)\] \.rela\.plt .*/\1/p')
    [ -z "$section" ] || printf '\0\0\0\0' | dd of="$work/cc" bs=1 seek=$((headers + 64 * section + 40)) conv=notrunc status=none
fi
# Copy the file: BOLT's own is in the page cache in such large folios that a run maps 20 MB more of it.
cp "$work/cc" "$output.new"
mv "$output.new" "$output"
