#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# container.sh CUDAWAY_CC GFXEMU CLANG SOURCE_DIR CMAKE_DIR: several processors in one container, CUDA C as input, rules for make, embedding in C, C++ and Rust,
# and the CMake function: a program with an embedded container runs it on each of its processors, and changes of a header compile it again.
set -u
cc=$(realpath "$1") gfxemu=$(realpath "$2") clang=$3 src=$4 cmake=$5 bad=0
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 2
export TMPDIR=$dir/tmp
mkdir tmp
fail() { echo "FAIL: $*"; bad=1; }
archs='gfx1030 gfx1100 gfx90a'
list=${archs// /,}

mkdir 'a folder'
echo '#define FACTOR 2.0f' >'a folder/factor.h'
cat >kernels.cu <<'C'
#include "factor.h"
#ifdef __clang__
#define KERNEL extern "C" __attribute__((global)) void
#define INDEX (__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x())
#else
#define KERNEL extern "C" __global__ void
#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)
#endif
KERNEL twice(float *x, unsigned n) { unsigned i = INDEX; if (i < n) x[i] *= FACTOR; }
KERNEL other(float *x) { x[INDEX] = PLUS; }
C

# By clang without a toolkit, and by nvcc where it is.
compilers=()
[ -z "$clang" ] || compilers+=("$clang")
! command -v nvcc >/dev/null || compilers+=(nvcc)
[ ${#compilers[@]} -gt 0 ] || { echo "skipped: neither clang nor nvcc"; exit 77; }
for compiler in "${compilers[@]}"; do
    rm -f kernels.c kernels.c.d
    CUDA_HOME=/nonexistent "$cc" kernels.cu --compiler "$compiler" -I 'a folder' -D PLUS=1.5f --target $list -MD --embed c -o kernels.c || fail "$compiler: cudaway-cc"
    [ -z "$(ls tmp)" ] || fail "left in TMPDIR: $(ls tmp)"
    # make, which reads the rule: a new header, and only that, asks for the file again.
    touch -d '-1 hour' kernels.cu
    touch -d '-30 seconds' 'a folder/factor.h'
    printf 'kernels.c:\n\t@echo again\n-include kernels.c.d\n' >rules
    [ -z "$(make -f rules kernels.c | grep again)" ] || fail "$compiler: make wants a new file at once"
    touch -d '-1 minute' kernels.c
    make -f rules kernels.c | grep -q again || fail "$compiler: make does not know of a folder/factor.h: $(cat kernels.c.d)"
    gcc -Wall -Werror -c kernels.c -o kernels.o && gcc "$src/container.c" -w -rdynamic kernels.o -o program -ldl || fail "$compiler: kernels.c does not compile"
    for arch in $archs; do
        out=$(CUDAWAY_DEVICE=gfxemu:$arch ./program "$gfxemu") || fail "$compiler: $arch: $out"
        [[ $out == "2 kernels, "* ]] || fail "$compiler: $arch: $out"
    done
    CUDAWAY_DEVICE=gfxemu:gfx1201 ./program "$gfxemu" >out 2>&1 && fail "runs on a processor that it has no code for"
done

# The container as clang's own tool reads it.
"$cc" kernels.cu --compiler "${compilers[0]}" -I 'a folder' -D PLUS=1.5f --target $list -o kernels.cwfat || fail "a container"
bundler=$(compgen -c clang-offload-bundler | head -n 1)
if [ -n "$bundler" ]; then
    for arch in $archs; do
        "$bundler" --type=o --unbundle --targets="hipv4-amdgcn-amd-amdhsa--$arch" --inputs=kernels.cwfat --outputs="$arch.co" || fail "$bundler: $arch"
        "$cc" kernels.cu --compiler "${compilers[0]}" -I 'a folder' -D PLUS=1.5f --target "$arch" -o alone.co
        cmp -s "$arch.co" alone.co || fail "the container's code for $arch is not what it is alone"
    done
fi
# The same in other languages.
"$cc" kernels.cu --compiler "${compilers[0]}" -I 'a folder' -D PLUS=1.5f --target $list --embed cpp --symbol kernels -o k.cpp && g++ -Wall -Werror -c k.cpp -o k.o &&
    gcc "$src/container.c" -w k.o -o cpp -ldl && CUDAWAY_DEVICE=gfxemu:gfx1100 ./cpp "$gfxemu" >out || fail "C++"
"$cc" kernels.cu --compiler "${compilers[0]}" -I 'a folder' -D PLUS=1.5f --target $list --embed rust -o kernels.rs || fail "Rust"
grep -q '^pub static KERNELS: Code' kernels.rs && grep -q '("twice", 2, 12),' kernels.rs || fail "Rust: $(head -n 3 kernels.rs)"
if command -v rustc >/dev/null; then
    printf 'mod kernels { include!("kernels.rs"); }\nfn main() { print!("{} {}", kernels::KERNELS.0.len(), kernels::KERNELS_KERNELS.len()); }\n' >main.rs
    rustc main.rs -o rust 2>log && [ "$(./rust)" = "$(stat -c %s kernels.cwfat) 2" ] || fail "rustc: $(head -n 5 log)"
fi

# The CMake function.
mkdir project
sed 's/PLUS/1.5f/' kernels.cu >project/kernels.cu
cp 'a folder/factor.h' "$src/container.c" project/
cat >project/CMakeLists.txt <<C
cmake_minimum_required(VERSION 3.25)
project(p C)
include($cmake/cudawayKernels.cmake)
set(cudaway_CC "$cc")
cudaway_add_kernels(kernels_lib SOURCES kernels.cu TARGETS $archs OPTIONS --compiler ${compilers[0]})
add_executable(program container.c)
target_compile_options(program PRIVATE -w)
target_link_libraries(program PRIVATE kernels_lib dl)
C
for generator in Ninja 'Unix Makefiles'; do
    rm -rf project/build
    export CUDA_HOME=/nonexistent
    cmake -S project -B project/build -G "$generator" >log 2>&1 && cmake --build project/build >log 2>&1 || { tail -n 8 log; fail "$generator: does not build"; continue; }
    CUDAWAY_DEVICE=gfxemu:gfx90a project/build/program "$gfxemu" >out || fail "$generator: the program"
    sed -i 's/2.0f/4.0f/' project/factor.h
    touch -d '+2 seconds' project/factor.h
    cmake --build project/build >log 2>&1
    CUDAWAY_DEVICE=gfxemu:gfx90a project/build/program "$gfxemu" >out 2>&1 && fail "$generator: a changed header compiles nothing"
    sed -i 's/4.0f/2.0f/' project/factor.h
done

# What is wrong.
refused() {     # STATUS PATTERN ARGUMENTS
    local status=$1 pattern=$2; shift 2
    "$cc" "$@" >out 2>err </dev/null
    local got=$?
    [ $got = "$status" ] && grep -q -- "$pattern" err || fail "$*: status $got, not $status with '$pattern': $(head -n 2 err)"
}
refused 2 'several targets make a container' kernels.cu --target gfx1100,host -o x
refused 2 'several targets make a container' kernels.cu --target gfx1100,gfx90a --emit asm -o x
refused 2 "unknown target 'gfx1100,,gfx90a'" kernels.cu --target gfx1100,,gfx90a -o x
refused 2 '-MD writes OUTPUT.d' kernels.cu --target host --emit llvm -MD
refused 2 '--embed takes c, cpp or rust' --embed fortran kernels.cu -o x
refused 2 'No such file' none.cu -o x
refused 1 ' failed' kernels.cu --compiler "${compilers[0]}" -o x
refused 1 'No such file' kernels.cu --compiler /nonexistent/clang -o x
[ -z "$(ls tmp)" ] || fail "left in TMPDIR: $(ls tmp)"
exit $bad
