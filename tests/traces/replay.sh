#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Replay every dump under a folder on a device and compare with what it holds: replay.sh FOLDER CUDAWAY-REPLAY DEVICE
# FOLDER/tolerance lists kernels whose results are not exact by definition: "NAME-PATTERN ULP reason".
set -uo pipefail
folder=$1 replay=$2 device=$3
same=0 failed=0
out=$(mktemp)
trap 'rm -f "$out"' EXIT
while read -r f; do
    ulp=0
    while read -r pattern n _; do
        # shellcheck disable=SC2053
        if [[ $pattern != \#* && $(basename "$f") == $pattern ]]; then ulp=$n; fi
    done < <(cat "$folder/tolerance" 2>/dev/null)
    if "$replay" --on "$device" --check --ulp "$ulp" "$f" >"$out" 2>&1; then
        same=$((same + 1))
    else
        failed=$((failed + 1))
        echo "FAIL: ${f#"$folder"/} on $device"
        head -n 6 "$out"
    fi
done < <(find "$folder/h200" -name '*.cwdump' | sort)
echo "$same launches as recorded, $failed not, on $device"
[ $((same + failed)) -gt 0 ] || { echo "skipped: no dumps under $folder"; exit 77; }
[ $failed = 0 ]
