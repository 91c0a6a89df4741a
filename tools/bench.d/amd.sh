#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# amd.sh BUILD CLANG FOLDER ARCH [WHAT...]: the CUDA C kernels of tests/cuda and nvptx.cu, compiled by clang straight for the AMD
# processor ARCH and by CUDAway from clang's PTX, run on the interpreter of AMD code with the same inputs. WHAT: exact (NVIDIA's bits
# of NaN and approximations) and native (CUDAWAY_FLOATS=native); default both. Results are checked, those of tests/cuda by
# the tests themselves. Files go to FOLDER; standard output has a line a kernel and WHAT:
#   ARCH WHAT KERNEL INSTRUCTIONS DIRECT VMEM DIRECT SCRATCH DIRECT FLAT DIRECT VGPRS DIRECT SGPRS DIRECT WAVES DIRECT SCRATCH-BYTES DIRECT
# with the numbers of CUDAway's code, then of clang's. WAVES: occupancy, the waves of a SIMD that the registers allow.
# Left out: wmma.cu (the builtins are NVIDIA's), output.cu (printf) and barrier_in_call (clang's AMD target: dynamic LDS in a function).
set -euo pipefail
build=$1 clang=$2 folder=$3 arch=$4
shift 4
what=("$@")
[ $# -gt 0 ] || what=(exact native)
kernels=(vector matmul reduce atomics sort compute calls memory)
tests=(vector matmul reduce atomics sort compute recursive indirect aggregates memory)
lib=$(cd "$build/lib/cudaway" && pwd)
runner=$(cd "$build/tests/cuda" && pwd)/cuda-kernels
mkdir -p "$folder/ptx" "$folder/$arch" "$folder/shim"
direct_lib=$folder/shim/libcuda.so.1
[ -n "${CC-}" ] || CC=gcc

newer() { [ -e "$2" ] && [ "$2" -nt "$1" ] && [ "$2" -nt tests/cuda/device.h ] && [ "$2" -nt tests/cuda/device_amd.h ]; }

compile() {     # NAME SOURCE [option...]
    local name=$1 source=$2 ptx=$folder/ptx/$1.sm_80.ptx code=$folder/$arch/$1.sm_80.ptx
    shift 2
    newer "$source" "$ptx" || "$clang" -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 --cuda-path=/nonexistent -nocudainc -nocudalib \
        --cuda-feature=+ptx70 "$@" -I. -S "$source" -o "$ptx"
    newer "$source" "$code" || "$clang" -x hip --cuda-device-only "--offload-arch=$arch" -nogpuinc -nogpulib --no-gpu-bundle-output \
        -mcode-object-version=5 "$@" -I. "$source" -o "$code"
}
for k in "${kernels[@]}"; do compile "$k" "tests/cuda/$k.cu" -O2 -ffp-contract=off; done
compile nvptx tools/bench.d/nvptx.cu -O3
"$CC" -std=gnu17 -O2 -Wall -I. tools/bench.d/amd.c -o "$folder/amd" -ldl -lm
"$CC" -std=gnu17 -O2 -Wall -I. -shared -fPIC -fvisibility=hidden -Wl,-soname,libcuda.so.1 tools/bench.d/direct.c -o "$direct_lib" -ldl

export CUDAWAY_DEVICE=gfxemu:$arch CUDAWAY_CACHE_DIR=$folder/cache
run() {         # NAME DRIVER MODULES
    local name=$1 driver=$2 modules=$3 reference=()
    rm -f "$folder/$arch/$name."*.stats
    [ "$name" = direct ] || reference=("$folder/$arch/direct.results")
    CUDAWAY_GFXEMU_STATS=$folder/$arch/$name.tests.stats LD_LIBRARY_PATH=$driver "$runner" -d "$modules" -s 80 "${tests[@]}" \
        >"$folder/$arch/$name.out" 2>&1 || { grep -v '^ok' "$folder/$arch/$name.out" >&2; exit 1; }
    CUDAWAY_GFXEMU_STATS=$folder/$arch/$name.bench.stats "$folder/amd" "$driver/libcuda.so.1" "$modules/nvptx.sm_80.ptx" \
        "$folder/$arch/$name.results" "${reference[@]}" >&2
}
CUDAWAY_HIP_LIBRARY=$lib/libcudaway-gfxemu.so run direct "$folder/shim" "$folder/$arch"
for w in "${what[@]}"; do
    CUDAWAY_FLOATS=$w run "$w" "$lib" "$folder/ptx"
    awk -v arch="$arch" -v what="$w" '
        function waves(v, s,    w, byscalar) {
            if (arch ~ /^gfx9/) {
                w = int(512 / (int((v + 7) / 8) * 8)); byscalar = int(800 / (int((s + 15) / 16) * 16))
                if (byscalar < w) w = byscalar
                return w > 8 ? 8 : w
            }
            w = int(1536 / (int((v + 23) / 24) * 24))
            return w > 16 ? 16 : w
        }
        FNR == 1 { side = FILENAME ~ /\/direct\.[a-z]*\.stats$/ ? 2 : 1; suite = FILENAME ~ /bench\.stats$/ ? "bench." : "" }
        {
            gsub(/[{}"]/, "")
            n = split($0, part, ",")
            for (i = 1; i <= n; i++) { split(part[i], kv, ":"); f[kv[1]] = kv[2] }
            k = suite f["kernel"]
            if (!(k in seen)) { seen[k] = 1; order[++count] = k }
            has[side, k] = 1
            sum[side, k, "i"] += f["instructions"]; sum[side, k, "m"] += f["vmem"]; sum[side, k, "s"] += f["scratch"]; sum[side, k, "f"] += f["flat"]
            if (f["vgprs"] > sum[side, k, "v"]) sum[side, k, "v"] = f["vgprs"]
            if (f["sgprs"] > sum[side, k, "r"]) sum[side, k, "r"] = f["sgprs"]
            if (f["scratch_bytes"] > sum[side, k, "b"]) sum[side, k, "b"] = f["scratch_bytes"]
        }
        END {
            for (i = 1; i <= count; i++) {
                k = order[i]
                if (!has[1, k] || !has[2, k]) { print "amd.sh: " k " ran on one side only" > "/dev/stderr"; exit 1 }
                printf "%s %s %s", arch, what, k
                for (j = 1; j <= 6; j++) { c = substr("imsfvr", j, 1); printf " %d %d", sum[1, k, c], sum[2, k, c] }
                printf " %d %d %d %d\n", waves(sum[1, k, "v"], sum[1, k, "r"]), waves(sum[2, k, "v"], sum[2, k, "r"]), sum[1, k, "b"], sum[2, k, "b"]
            }
        }' "$folder/$arch/$w.tests.stats" "$folder/$arch/$w.bench.stats" "$folder/$arch/direct.tests.stats" "$folder/$arch/direct.bench.stats"
done
