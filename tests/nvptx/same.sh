#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# same.sh PTXTEST INNER FOLDER: the corpus on the cuda device over a second copy of the host device (inner.c) must give what it gives
# on the host device: the same tests pass, but for those that say that they do not ("todo cuda").
passed() { sed -n 's/^\([0-9]*\) passed, [0-9]* failed, \([0-9]*\) todo.*/\1 \2/p' | tail -1 | { read -r p t && echo $((p + t)); }; }
host=$("$1" --on host "$3" 2>&1 | passed)
cuda=$(CUDAWAY_CUDA_LIBRARY=$2 "$1" --on cuda "$3" 2>&1 | tee /dev/stderr | passed)
echo "passed: host $host, cuda over host $cuda"
[ -n "$host" ] && [ "$host" -gt 0 ] && [ "$host" = "$cuda" ]
