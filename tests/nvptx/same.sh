#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# same.sh PTXTEST INNER FOLDER: the corpus on the cuda device over a second copy of the host device (inner.c) must give what it gives
# on the host device: the same tests pass.
passed() { sed -n 's/^\([0-9]*\) passed.*/\1/p' | tail -1; }
host=$("$1" --on host "$3" 2>&1 | passed)
cuda=$(CUDAWAY_CUDA_LIBRARY=$2 "$1" --on cuda "$3" 2>&1 | tee /dev/stderr | passed)
echo "passed: host $host, cuda over host $cuda"
[ -n "$host" ] && [ "$host" -gt 0 ] && [ "$host" = "$cuda" ]
