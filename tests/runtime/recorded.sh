#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# recorded.sh CUDAWAY-TRACE PROGRAM: records PROGRAM (recorded.cu) and looks for its calls of the Runtime, and the driver's in them.
# What is expected is what recorded.cu says.
set -u
trace=$1 program=$2
dir=$(mktemp -d /tmp/recorded-XXXXXX)
trap 'rm -rf "$dir"' EXIT
bad=0
fail() { echo "FAILED: $*"; bad=1; }
# has REGEX: one line of the listing matches
has() {
    local n
    n=$(grep -cE -- "$1" "$dir/show")
    [ "$n" = 1 ] || { fail "$n lines match $1"; }
}

"$trace" record --device host -o "$dir/r" -- "$program" > "$dir/out" 2>&1 || { fail "the program's status is $?"; cat "$dir/out"; }
"$trace" show "$dir/r" > "$dir/show" || fail "show"
at=' [0-9]+/[0-9]+ '        # not indented
has "${at}cudaMalloc\(devPtr=0x[0-9a-f]+0000, size=4096\) = cudaSuccess <"
has "${at}cudaMemset\(devPtr=0x[0-9a-f]+, value=1, count=256\) = cudaSuccess <"
has "${at}(__)?cudaLaunchKernel\((func|kernel)=0x[0-9a-f]+, gridDim=\[2, 1, 1\], blockDim=\[32, 1, 1\], args=0x[0-9a-f]+, sharedMem=128, stream=0x0\) = cudaSuccess <.*# kernel _Z3addPii$"
has "${at}cudaMemcpyAsync\(dst=0x[0-9a-f]+, src=0x[0-9a-f]+, count=256, kind=cudaMemcpyDeviceToHost, stream=0x0\) = cudaSuccess <"
has "${at}cudaFree\(devPtr=0x10\) = cudaErrorInvalidValue <"
has "${at}cudaGetLastError\(\) = cudaErrorInvalidValue <"
has "${at}cudaDestroyExternalMemory\(extMem=0x0\) = cudaErrorNotSupported <"
# The driver's calls, inside.
has "${at}  cuMemAlloc_v2\(dptr=0x[0-9a-f]+0000, bytesize=4096\) = CUDA_SUCCESS <"
has "${at}  cuLaunchKernel\(.*# kernel _Z3addPii grid \(2,1,1\) block \(32,1,1\) shared 128 params .*=7$"
# One address at both levels.
[ "$(grep -oE 'cudaMalloc\(devPtr=0x[0-9a-f]+' "$dir/show" | grep -oE '0x.*')" = "$(grep -oE 'cuMemAlloc_v2\(dptr=0x[0-9a-f]+' "$dir/show" | grep -oE '0x.*')" ] ||
    fail "cudaMalloc and cuMemAlloc_v2 show two addresses"
# The Runtime's call returns after the driver's, and began before it.
"$trace" show --json --function '^(cudaMalloc|cuMemAlloc_v2)$' "$dir/r" > "$dir/json"
[ "$(grep -oE '"function":"[A-Za-z0-9_]*","depth":[0-9]*(,"within":"[A-Za-z]*")?' "$dir/json" | tr '\n' ' ')" = \
  '"function":"cuMemAlloc_v2","depth":1,"within":"cudaMalloc" "function":"cudaMalloc","depth":0 ' ] || { fail "nesting"; cat "$dir/json"; }
[ "$("$trace" show --kernel '^_Z3add' "$dir/r" | wc -l)" = 2 ] || fail "--kernel finds not both calls of the launch"
# Two calls failed at the level of the Runtime, one of them in the driver as well; asking for an error is no failure.
"$trace" show --failed "$dir/r" | grep -oE '(cuda|cu)[A-Za-z0-9_]*\(' | tr '\n' ' ' > "$dir/failed"
[ "$(cat "$dir/failed")" = 'cuMemFree_v2( cudaFree( cudaDestroyExternalMemory( ' ] || { fail "failed calls: $(cat "$dir/failed")"; }
"$trace" report "$dir/r" > "$dir/report" || fail "report"
sed -n '/^Runtime function/,/^$/p' "$dir/report" | grep -qE '^cudaMalloc +1 +0 ' || fail "report lacks cudaMalloc in the Runtime's table"
sed -n '/^Runtime function/,/^$/p' "$dir/report" | grep -q '^cu[A-Z]' && fail "the driver's functions are in the Runtime's table"
sed -n '/^function/,/^$/p' "$dir/report" | grep -qE '^cuMemAlloc_v2 +1 +0 ' || fail "report lacks cuMemAlloc_v2 in the driver's table"
grep -q 'cudaDestroyExternalMemory is not supported (called 1 times)' "$dir/report" || fail "report: missing"
[ $bad = 0 ] || cat "$dir/show"
exit $bad
