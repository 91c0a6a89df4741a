#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# rust.sh BUILD SOURCE VERSION [CLANG]: the build-script crate of tools/rust by Cargo without a network: its own tests; its example, which runs on the host and on the GPU-less AMD
# device; a changed header compiles again and an untouched tree does not; errors reach the user. Debian's Cargo comes before others: Debian 12's Rust is the oldest that the crate is for.
# Skipped (77) without Cargo or clang.
set -u
build=$1 src=$2 version=$3 clang=${4:-} bad=0
[ ! -x /usr/bin/cargo ] || PATH=/usr/bin:$PATH
command -v cargo >/dev/null || { echo "skipped: no cargo"; exit 77; }
[ -n "$clang" ] || { echo "skipped: no clang"; exit 77; }
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
cp -r "$src/tools/rust" "$dir/rust"
cd "$dir/rust/example" || exit 2
export CARGO_HOME=$dir/home CARGO_TARGET_DIR=$dir/target CARGO_NET_OFFLINE=true CARGO_TERM_COLOR=never RUSTFLAGS="-D warnings" CUDAWAY_CC=$build/bin/cudaway-cc CUDAWAY_CACHE_DIR=$dir/cache
export CUDA_HOME=/nonexistent PATH=$dir/bin:$PATH
mkdir "$dir/bin"
ln -s "$(command -v "$clang")" "$dir/bin/clang-22"
rustup=${RUSTUP_HOME:-$HOME/.rustup}
[ ! -d "$rustup" ] || export RUSTUP_HOME=$rustup
fail() { echo "FAIL: $*"; bad=1; }

grep -qx "version = \"$version\"" ../cudaway-build/Cargo.toml || fail "cudaway-build is not of version $version"
cargo test -q --lib --manifest-path ../cudaway-build/Cargo.toml >log 2>&1 || fail "its own tests: $(tail -n 20 log)"

cargo build -v >log 2>&1 || { tail -n 20 log; exit 1; }
program=$dir/target/debug/cudaway-example
lib=$build/lib/cudaway
for device in host gfxemu:gfx1100; do
    [ "$(CUDAWAY_DEVICE=$device "$program" "$lib/libcuda.so.1")" = "1000 values are right" ] || fail "the driver on $device"
done
for arch in gfx1030 gfx90a; do
    [ "$(CUDAWAY_DEVICE=gfxemu:$arch "$program" --hip "$lib/libcudaway-gfxemu.so")" = "1000 values are right" ] || fail "HIP on $arch"
done

cargo build -v 2>&1 | grep -q 'Fresh cudaway-example' || fail "an untouched tree is built again"
sleep 1
sed -i 's/3.0f/4.0f/' kernels/factor.h
cargo build -v >log 2>&1 || fail "a changed header: $(tail -n 5 log)"
CUDAWAY_DEVICE=host "$program" "$lib/libcuda.so.1" 2>err && fail "a changed header compiles nothing"
grep -qx 'x\[1\] is 4, not 3' err || fail "after a change: $(cat err)"

echo 'KERNEL broken(' >>kernels/scale.cu
cargo build >log 2>&1 && fail "a broken source is built"
grep -q 'cudaway-cc does not compile kernels/scale.cu' log && grep -qE 'scale.cu[:(][0-9]+.* error' log || fail "a broken source: $(cat log)"
CUDAWAY_CC=/nonexistent/cudaway-cc cargo build >log 2>&1 && fail "built without a compiler"
grep -q '/nonexistent/cudaway-cc: .*install CUDAway, or set CUDAWAY_CC' log || fail "no compiler: $(cat log)"
exit $bad
