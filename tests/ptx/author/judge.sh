#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Does NVIDIA's assembler take the corpus? Usage: judge.sh FILE|FOLDER...  Needs an installed ptxas; PTXAS_ARCH defaults to sm_90.
bad=0
for f in $(find "$@" -name '*.ptx' | sort); do
    grep -q '^//! expect error' "$f" && continue
    arch=${PTXAS_ARCH:-sm_90}
    grep -q '^\.target sm_90a' "$f" && arch=sm_90a
    if ! ptxas -arch "$arch" -O0 -o /dev/null "$f" >/tmp/judge.$$ 2>&1; then
        echo "== $f"; head -5 /tmp/judge.$$; bad=$((bad + 1))
    fi
done
rm -f /tmp/judge.$$
echo "$bad refused"
