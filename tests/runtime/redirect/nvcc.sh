#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Optional: a program that nvcc builds with its defaults, NVIDIA's static runtime inside, runs on the host device with our runtime, in each
# way and however it was built. Arguments: the build folder, this folder, a folder for programs. 77: there is no nvcc, or no runtime yet.
set -u
build=$1
here=$2
lib=$build/lib/cudaway
nvcc=${CUDAWAY_TEST_NVCC:-$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)}
[ -n "$nvcc" ] || { echo "no nvcc"; exit 77; }
major=$("$nvcc" --version | sed -n 's/.*release \([0-9]*\)\..*/\1/p')
runtime=$lib/libcudart.so.$major
[ "$major" = 11 ] && runtime=$lib/libcudart.so.11.0
[ -e "$runtime" ] || { echo "no $runtime"; exit 77; }
work=$(mktemp -d -p "$3") || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export CUDAWAY_DEVICE=host CUDAWAY_SIGNATURES=$work/signatures CUDAWAY_LOG=warn
unset LD_AUDIT LD_PRELOAD LD_LIBRARY_PATH CUDAWAY_RUNTIME_LIBRARY CUDAWAY_STATIC_RUNTIME
bad=0

archive=$(find -L "$(dirname "$(readlink -f "$nvcc")")/.." -name libcudart_static.a 2>/dev/null | head -n 1)
[ -n "$archive" ] || { echo "no libcudart_static.a"; exit 77; }
"$build/bin/cudaway" signatures "$archive" || bad=1
"$nvcc" -o default "$here/vadd.cu" && "$nvcc" -O3 -Xcompiler -O3 -Xcompiler -fno-omit-frame-pointer -o frame "$here/vadd.cu" &&
    "$nvcc" -rdc=true -DOTHER_FILE -o relocatable "$here/vadd.cu" "$here/times.cu" && "$nvcc" -Xcompiler -fno-pie -Xlinker -no-pie -o fixed "$here/vadd.cu" &&
    "$nvcc" -cudart shared -o shared "$here/vadd.cu" && cp default stripped && strip stripped || exit 1

for p in default frame relocatable fixed shared stripped; do
    for way in "LD_LIBRARY_PATH=$lib" "LD_PRELOAD=$lib/libcuda.so.1" "LD_AUDIT=$lib/libcudaway-audit.so LD_LIBRARY_PATH=$lib" "cudaway run"; do
        if [ "$way" = "cudaway run" ]; then start=("$build/bin/cudaway" run --); else read -ra start <<<"env $way"; fi
        # A preloaded driver brings no Runtime for a program that wants the shared one.
        [ "$p" = shared ] && [[ $way = LD_PRELOAD* ]] && continue
        got=$("${start[@]}" "./$p" 2>&1)
        [ "$got" = right ] || { echo "FAIL: $p, $way: $got"; bad=1; }
    done
done
exit $bad
