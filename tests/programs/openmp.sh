#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Compile openmp.c with GCC's nvptx offload compiler (once), and run parts of it on the device: openmp.sh SOURCE FOLDER PART...
# No ptxas may be found while compiling: GCC's assembler would call it to check, and needs none. MANDATORY makes libgomp
# fail instead of falling back to the host.
set -euo pipefail
source=$1 folder=$2
shift 2
for p in gcc-12 /usr/lib/gcc/x86_64-linux-gnu/12/accel/nvptx-none/mkoffload; do
    command -v "$p" >/dev/null || { echo "skipped: no $p (Debian packages gcc-12 and gcc-12-offload-nvptx)"; exit 77; }
done
ldconfig=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p)
[[ $ldconfig == *libgomp-plugin-nvptx* ]] || { echo "skipped: no libgomp-plugin-nvptx.so (Debian package libgomp-plugin-nvptx1)"; exit 77; }
program=$folder/openmp
if [ ! -x "$program" ] || [ "$source" -nt "$program" ]; then
    without_ptxas=
    IFS=: read -ra parts <<<"$PATH"
    for d in "${parts[@]}"; do
        [ -e "$d/ptxas" ] || without_ptxas=$without_ptxas${without_ptxas:+:}$d
    done
    env -u LD_LIBRARY_PATH -u LD_PRELOAD PATH="$without_ptxas" gcc-12 -O2 -fopenmp -foffload=nvptx-none -foffload-options=nvptx-none=-latomic \
        -Wall -Wextra "$source" -o "$program.new" -lm 2>"$program.log" || { cat "$program.log" >&2; echo "FAIL: gcc-12 failed" >&2; exit 1; }
    mv "$program.new" "$program"
fi
OMP_TARGET_OFFLOAD=MANDATORY ${PROGRAM_WRAPPER-} "$program" "$@"
