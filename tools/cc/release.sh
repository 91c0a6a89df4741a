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
tests=$(cd "$(dirname "$0")/../../tests/ptx" && pwd)
work=$(mktemp -d "$output.XXXXXX")
trap 'rm -rf "$work"' EXIT

quietly() {
    "$@" >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; echo "release.sh: $1 failed" >&2; exit 1; }
}

quietly "$bin/llvm-bolt" "$training" -instrument -instrumentation-file="$work/profile" -instrumentation-file-append-pid -o "$work/instrumented"

train() {  # TARGET FILE...
    local target=$1 f
    shift
    for f; do quietly "$work/instrumented" -j 0 -O 3 --target "$target" "$tests/$f.ptx" -o "$work/out"; done
}
train gfx1100 isa/approx/half isa/atom/{scopes,vector} isa/carry/mixed isa/cvt/{f32_to_int,pack} isa/float/{div_f32,fma_f64,rcp} \
    isa/flow/{branches,calls,claim,irreducible,recursion,stack} isa/fuzz/{edges,live_range} isa/half/fma_f16 isa/int/{add_sub,div_rem,mad_wide} isa/linking/{functions,variables} \
    isa/logic/{lop3,shift} isa/matrix/{mma_f64,mma_sub} isa/memory/{ld_global,ld_local,st_shared,store,vector} isa/surface/sust_p isa/sync/{barriers,warps} isa/texture/{cube,queries} isa/warp/{shfl,vote}
train gfx90a isa/float/fma_f32 isa/flow/calls isa/memory/vector isa/warp/shfl
train host isa/flow/branches isa/memory/vector

"$bin/merge-fdata" "$work"/profile.* -o "$work/merged" 2>"$work/log" || { cat "$work/log" >&2; echo "release.sh: merge-fdata failed" >&2; exit 1; }
quietly "$bin/llvm-bolt" "$cc" -data "$work/merged" -o "$work/cc" -reorder-blocks=ext-tsp -reorder-functions=cdsort -split-functions -split-all-cold \
    -split-eh -icf=1
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
