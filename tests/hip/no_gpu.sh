#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# no_gpu.sh PROGRAM LIBDIR: with a HIP library and no AMD GPU, hip says so in one line, and auto runs on the host. PROGRAM prints what
# cuInit returns.
[ -e /dev/kfd ] && { echo "skipped: this machine may have an AMD GPU"; exit 77; }
lib=$(ldconfig -p | sed -n 's/.*libamdhip64\.so[.0-9]* .*=> //p' | head -n 1)
[ -n "$lib" ] || { echo "skipped: no HIP library (package libamdhip64-5)"; exit 77; }
run() { LD_LIBRARY_PATH=$2 CUDAWAY_LOG=info CUDAWAY_DEVICE=$3 CUDAWAY_HIP_LIBRARY=$lib "$1" 2>&1; }
out=$(run "$1" "$2" hip)
echo "$out"
echo "$out" | grep -q "finds no AMD GPU" || { echo "hip does not say that there is no GPU"; exit 1; }
echo "$out" | grep -q "cuInit 100" || { echo "cuInit is not CUDA_ERROR_NO_DEVICE"; exit 1; }
out=$(run "$1" "$2" auto)
echo "$out"
echo "$out" | grep -q "cuInit 0" && echo "$out" | grep -q "device: .*host" || { echo "auto did not fall back to the host"; exit 1; }
