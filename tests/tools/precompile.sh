#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# precompile.sh BUILD CLANG PACK SOURCES [NVCC]: the kernel cache is filled from a program and its libraries, for two devices; the program then compiles nothing on
# either. Relocatable code of several objects is one module (with nvcc). What is wrong is said. Skipped (77) without clang.
set -u
build=$1 clang=$2 pack=$3 src=$4 nvcc=${5:-} bad=0
[ -n "$clang" ] || { echo "skipped: no clang"; exit 77; }
cc=$build/bin/cudaway-cc lib=$build/lib/cudaway
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 2
fail() { echo "FAIL: $*"; bad=1; }
unset CUDAWAY_DEVICE CUDAWAY_TIERS CUDAWAY_CACHE_SIZE
export CUDAWAY_CONFIG=none
entries() { find "$1" -name '*.cwk' | sort; }

flags=(-x cuda --cuda-gpu-arch=sm_70 --cuda-path=/nonexistent -nocudainc -nocudalib -Xclang -target-sdk-version=12.8 -O2 "-I$src")
for part in program library; do
    define=; [ $part = program ] || define=-DLIBRARY
    "$clang" "${flags[@]}" $define --cuda-device-only --cuda-feature=+ptx60 -S "$src/tests/tools/precompile.cu" -o $part.ptx &&
        "$pack" $part.fatbin $part=70=$part.ptx &&
        "$clang" "${flags[@]}" $define --cuda-host-only -Xclang -fcuda-include-gpubinary -Xclang $part.fatbin -fPIC -c "$src/tests/tools/precompile.cu" -o $part.o || exit 1
done
# The library in a folder that only the program's own search path names.
mkdir inside
c++ -shared library.o -o inside/libsums.so "-L$lib" -l:libcudart.so.13 && c++ program.o -o program -Linside -lsums "-L$lib" -l:libcudart.so.13 -Wl,-rpath,'$ORIGIN/inside' "-Wl,-rpath-link,$lib" || exit 1

# run DEVICE CACHE LOG PROGRAM
run() { LD_LIBRARY_PATH=$lib CUDAWAY_DEVICE=$1 CUDAWAY_CACHE_DIR=$2 CUDAWAY_LOG=debug "./$4" >"$3" 2>&1 || fail "$4 on $1: $(grep -v DEBUG "$3" | tail -n 3)"; }

# Without: a run compiles three kernels and keeps them. So the lines below mean something.
for device in host gfxemu:gfx1100; do
    run $device "$dir/empty-${device#*:}" log program
    [ "$(entries "empty-${device#*:}" | wc -l)" = 3 ] || fail "an unprepared run on $device keeps $(entries "empty-${device#*:}" | wc -l) kernels"
done

export CUDAWAY_CACHE_DIR=$dir/cache
"$cc" --precompile program --target host,gfx1100 -j 2 >out 2>err || fail "--precompile: $(cat err)"
sed 's/[0-9.]* s$/T s/' out >got
printf '%s: 3 kernels of 2 modules: 3 compiled, 0 were in the cache, 0 failed; T s\n' host gfx1100 | cmp -s - got || fail "it says: $(cat out err)"
entries cache >before
[ "$(wc -l <before)" = 6 ] || fail "the cache has $(wc -l <before) entries"
for device in host gfxemu:gfx1100; do
    run $device "$CUDAWAY_CACHE_DIR" log program
    [ "$(grep -cE 'from the cache' log)" = 3 ] || fail "$device: $(grep -c 'from the cache' log) hits"
    ! grep -E 'kernel .* compiled in' log || fail "$device compiles"
done
entries cache | cmp -s - before || fail "a run adds to the cache"

# Again: all is there. The library alone; a folder; this machine's device by its settings.
"$build/bin/cudaway" precompile --target host program | grep -q '3 kernels of 2 modules: 0 compiled, 3 were in the cache, 0 failed' || fail "a second time"
CUDAWAY_DEVICE=gfxemu:gfx1100 "$build/bin/cudaway-precompile" inside/libsums.so | grep -q ': 1 kernels of 1 modules: 0 compiled, 1 were in the cache, 0 failed' || fail "the library alone"
"$build/bin/cudaway-precompile" --target gfx1100 . 2>err | grep -q ': 6 kernels of 4 modules: 0 compiled, 6 were in the cache, 0 failed' || fail "a folder: $(cat err)"
entries cache | cmp -s - before || fail "that added to the cache"

# PTX as a file, for a processor that is not here.
"$cc" --precompile library.ptx --target gfx90a | grep -q '^gfx90a: 1 kernels of 1 modules: 1 compiled' || fail "PTX text"

if [ -n "$nvcc" ]; then
    printf '__device__ int twice(int x) { return x + x; }\n' >a.cu
    printf '#include <cstdio>\nextern __device__ int twice(int);\n__global__ void k(int *p) { *p = twice(21); }\nint main() { int *d, h = 0; cudaMalloc(&d, 4); k<<<1, 32>>>(d);\ncudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost); return h != 42; }\n' >b.cu
    if "$nvcc" -rdc=true -cudart shared -gencode arch=compute_80,code=compute_80 a.cu b.cu -o relocatable 2>log; then
        rm -rf cache
        "$cc" --precompile relocatable --target host | grep -q '^host: 1 kernels of 1 modules: 1 compiled' || fail "relocatable code"
        entries cache >before
        run host "$CUDAWAY_CACHE_DIR" log relocatable
        entries cache | cmp -s - before && grep -q 'from the cache' log || fail "relocatable code is compiled again"
    else
        echo "not shown: nvcc does not link relocatable code here: $(tail -n 1 log)"
    fi
fi

# What is wrong.
refused() {     # STATUS PATTERN ARGUMENTS
    local status=$1 pattern=$2; shift 2
    "$cc" --precompile "$@" >out 2>err </dev/null
    local got=$?
    [ $got = "$status" ] && grep -q -- "$pattern" err || fail "$*: status $got, not $status with '$pattern': $(head -n 2 err)"
}
refused 2 '--precompile takes --target and -j' program -o x
refused 2 'no program given'
refused 2 "unknown target 'nvptx:sm_90'" program --target nvptx:sm_90
refused 2 'No such file' none
refused 1 'no kernels in' /bin/true
refused 2 'gfx999: the driver has no such device' program --target gfx999
printf '.version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() { frobnicate.u32 %%r1; ret; }\n' >bad.ptx
refused 1 'a module of .*bad.ptx does not load' bad.ptx --target host
head -c 3000 program >cut.elf
refused 2 'damaged' cut.elf --target host
CUDAWAY_CACHE_SIZE=0 refused 2 'the cache does not keep' program --target host
exit $bad
