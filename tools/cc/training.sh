# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The training set of the release program, sourced by release.sh and llvm.sh: PTX of the ISA tests, and for code ordering also kernels like
# those of real programs. tools/bench compiles none of it.
# training_files prints lines with a processor and a file; with "more", which is cheap without BOLT, those twice and all small files once,
# some of which AMD does not support.
training_files() {
    local more=${1:-} tests f i
    tests=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../tests/ptx" && pwd)
    for ((i = 0; i < (${#more} ? 2 : 1); i++)); do
        # mma_sub is split into codegen units.
        for f in isa/approx/half isa/atom/{scopes,vector} isa/carry/mixed isa/cvt/{f32_to_int,pack} isa/float/{div_f32,fma_f64,rcp} \
            isa/flow/{branches,calls,claim,irreducible,recursion,stack} isa/fuzz/{edges,lanes_first,live_range} isa/half/fma_f16 isa/int/{add_sub,div_rem,mad_wide} \
            isa/linking/{functions,variables} isa/logic/{lop3,shift} isa/matrix/{mma_f64,mma_sub,wmma_float} isa/memory/{ld_global,ld_local,st_shared,store,vector} \
            isa/surface/sust_p isa/sync/{barriers,warps} isa/texture/{cube,queries} isa/warp/{shfl,vote}; do echo "gfx1100 $tests/$f.ptx"; done
        for f in isa/float/fma_f32 isa/flow/calls isa/memory/vector isa/warp/shfl; do echo "gfx90a $tests/$f.ptx"; done
        for f in isa/flow/branches isa/memory/vector; do echo "host $tests/$f.ptx"; done
    done
    [ -z "$more" ] || find "$tests/isa" -name '*.ptx' -size -40k | sort | sed 's/^/gfx1100 /'
}

# training_kernels CLANG FOLDER: compiles training.cu to PTX in FOLDER at several optimisation levels, and prints lines as above.
training_kernels() {
    local here how n=0
    here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
    for how in "-O0" "-O1 -fno-inline" "-O2 -fno-unroll-loops -ffast-math" "-O3"; do
        n=$((n + 1))
        # shellcheck disable=SC2086
        "$1" -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 --cuda-path=/nonexistent -nocudainc -nocudalib --cuda-feature=+ptx70 \
            $how -I"$here/../.." -S "$here/training.cu" -o "$2/training$n.ptx" || return 1
        echo "gfx1100 $2/training$n.ptx"
    done
}
