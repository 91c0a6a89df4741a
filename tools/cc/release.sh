#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Lay out the machine code of cudaway-cc as a run of it wants it: cmake's target cudaway-cc-release (docs/performance.md).
#   release.sh LLVM_BIN TRAINING CC OUTPUT
# LLVM_BIN is the folder of llvm-bolt and merge-fdata (Debian package bolt-19), CC the program linked with --emit-relocs, TRAINING the same
# one leaving through exit(), which is where BOLT's counters are written. The PTX that it is trained with is the ISA tests', for
# several processors: none of what tools/bench compiles; mma_sub is compiled in several parts, which alone are taken apart. About a minute of CPU time.
set -euo pipefail
bin=$1 training=$2 cc=$3 output=$4
[ -x "$bin/llvm-bolt" ] || { echo "release.sh: there is no $bin/llvm-bolt: install BOLT of the LLVM that is built against (Debian package bolt-19)" >&2; exit 1; }
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
# ld says of glibc's relocations, which are of no symbol, that their symbols are in the table of the linker's, and llvm-strip, which tools/bundle
# runs, then refuses the file: they have none.
if [[ $(readelf -SW "$work/cc") != *.dynsym* ]]; then
    headers=$(readelf -hW "$work/cc" | sed -n 's/.*Start of section headers: *\([0-9]*\).*/\1/p')
    section=$(readelf -SW "$work/cc" | sed -n 's/^ *\[ *\([0-9]*\)\] \.rela\.plt .*/\1/p')
    [ -z "$section" ] || printf '\0\0\0\0' | dd of="$work/cc" bs=1 seek=$((headers + 64 * section + 40)) conv=notrunc status=none
fi
# A copy: the file that BOLT writes lies in the system's page cache in pieces so large that a run maps 20 MB more of it.
cp "$work/cc" "$output.new"
mv "$output.new" "$output"
