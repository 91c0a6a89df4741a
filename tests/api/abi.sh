#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# abi.sh APIGEN SOURCE_DIR CC: compares our declarations with an installed CUDA toolkit's. Exit 77: there is none.
set -eu
apigen=$1 source=$2 cc=$3
for home in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda /opt/cuda; do
    [ -n "$home" ] && [ -f "$home/include/cuda.h" ] && [ -f "$home/include/cudaProfiler.h" ] && break
    home=
done
if [ -z "$home" ]; then
    echo "skipped: no CUDA toolkit here (set CUDA_HOME to a folder with include/cuda.h)"
    exit 77
fi
version=$(sed -n 's/^#define CUDA_VERSION \([0-9]*\).*/\1/p' "$home/include/cuda.h")
if [ "$version" != 13000 ]; then
    echo "skipped: $home has CUDA_VERSION $version, the model describes 13000"
    exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$apigen" --model "$source/impl/api" --abi "$dir/abi.c"
"$cc" -std=gnu17 -O0 -Wno-deprecated-declarations -I"$source" -o "$dir/ours" "$dir/abi.c"
"$cc" -std=gnu17 -O0 -Wno-deprecated-declarations -DCW_ABI_INSTALLED -isystem "$home/include" -o "$dir/theirs" "$dir/abi.c"
"$dir/ours" > "$dir/ours.txt"
"$dir/theirs" > "$dir/theirs.txt"
diff -u "$dir/theirs.txt" "$dir/ours.txt"
# Nothing of theirs is missing here: enumerators, and the functions of the library.
sed -n 's/^ *,\{0,1\} *\(CUD\{0,1\}A\{0,1\}_[A-Z0-9_a-z]*\) *=.*/\1/p' "$home/include/cuda.h" | sort -u > "$dir/enumerators"
missing=0
while read -r name; do
    grep -qw "$name" "$source/impl/api/cuda.h" || { echo "missing: $name"; missing=1; }
done < "$dir/enumerators"
for library in "$home"/lib64/stubs/libcuda.so "$home"/targets/*/lib/stubs/libcuda.so; do
    [ -f "$library" ] || continue
    nm -D --defined-only "$library" | awk '$2 == "T" && $3 ~ /^cu[A-Z]/ { print $3 }' | sort -u > "$dir/symbols"
    sed '/^\/\* graphics \*\/$/,$d' "$source/impl/api/cuda.h" | sed -n 's/^CUresult CUDAAPI \(cu[A-Za-z0-9_]*\)(.*/\1/p' | sort -u > "$dir/described"
    diff "$dir/symbols" "$dir/described" || missing=1
done
# The same of the Runtime, as C++.
if [ -f "$home/include/cuda_runtime_api.h" ] && [ -f "$home/include/cuda_profiler_api.h" ]; then
    "$apigen" --model "$source/impl/api/runtime" --abi "$dir/runtime.cc"
    flags="-x c++ -std=gnu++17 -O0 -Wno-deprecated-declarations -Wno-invalid-offsetof"
    "$cc" $flags -I"$source" -o "$dir/ours_runtime" "$dir/runtime.cc" -lstdc++
    "$cc" $flags -DCW_ABI_INSTALLED -isystem "$home/include" -o "$dir/theirs_runtime" "$dir/runtime.cc" -lstdc++
    "$dir/ours_runtime" >> "$dir/ours.txt"
    "$dir/ours_runtime" > "$dir/ours_runtime.txt"
    "$dir/theirs_runtime" > "$dir/theirs_runtime.txt"
    diff -u "$dir/theirs_runtime.txt" "$dir/ours_runtime.txt"
fi
echo "$(wc -l < "$dir/ours.txt") facts, $(wc -l < "$dir/enumerators") enumerators compared"
exit $missing
