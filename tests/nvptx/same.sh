#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# same.sh PTXTEST INNER DEVICE FOLDER: the corpus on the cuda device over a second copy of a host device (inner.c). Every test that passes on
# that device must pass there, but for those that say that they do not ("todo cuda"), that ptxas computes otherwise ("skip cuda ptxas ..."), of libcudadevrt, or
# that need a newer GPU. What a GPU does not take may pass here: the host device launches one block as a cluster without being asked.
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
"$1" -v --on "$3" "$4" 2>/dev/null | sed -n 's/: passed$//p' | sort >"$work/host"
CUDAWAY_CUDA_LIBRARY=$2 INNER_DEVICE=$3 "$1" -v --on cuda --over "$3" "$4" >"$work/log" 2>&1
sed -n 's/: passed$//p; s/: todo: .*//p; s/: passes on cuda, where it is marked todo.*//p; s/: skipped: needs sm_.*//p; s/: skipped: ptxas .*//p; s/: skipped: .*libcudadevrt$//p' "$work/log" | sort >"$work/cuda"
comm -23 "$work/host" "$work/cuda" >"$work/missing"
echo "$(wc -l <"$work/host") tests pass on $3, $(wc -l <"$work/missing") of them not on cuda over it"
[ -s "$work/host" ] && [ ! -s "$work/missing" ] && exit 0
cat "$work/missing"
grep -v ': passed$' "$work/log" | head -50
exit 1
