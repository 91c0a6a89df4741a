#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# workarounds.sh README CUDAWAY_CC: the passes that mend LLVM are the rows of the list of its faults that name one, and all of them are required.
readme=$1 cc=$2 failed=0
passes=$({ "$cc" --target gfx1100 --print-pipeline; "$cc" --target host --print-pipeline; } | grep ' mends LLVM') || { echo "no pass mends LLVM"; exit 1; }
names=$(printf '%s\n' "$passes" | sed 's/^ *\(\* \)*\([a-z0-9-]*\) .*/\2/' | sort -u)
for name in $names; do
    grep -qE "^\| (\[$name\]\(|$name \|)" "$readme" || { echo "$name: no row in $readme"; failed=1; }
done
if printf '%s\n' "$passes" | grep -v required; then
    echo "a work-around may be skipped"
    failed=1
fi
# The rows that are attached in the pipeline or the code generator.
for name in $(sed -n 's/^| \[*\([a-z0-9-]*\)[] ].*| \(row\|before\|after\) .*/\1/p' "$readme"); do
    printf '%s\n' "$names" | grep -qx "$name" || { echo "$name: no pass of that name mends LLVM"; failed=1; }
done
printf '%s work-arounds\n' "$(printf '%s\n' "$names" | wc -l)"
exit $failed
