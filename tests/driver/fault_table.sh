#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fault_table.sh FAULT_TABLE TABLE.txt COLUMN LIBCUDA [NAME]: but for the fault NAME, what the device gives for each fault is what its column of the table says; * there: it varies.
rows=$(awk -v column="$3" -v but="$5" '/^#/ { for (i = 2; i <= NF; i++) if ($i == column) at = i - 1; next } $at != "*" && $1 != but { print $1, $at }' "$2")
[ -n "$rows" ] || { echo "$2: no column $3"; exit 1; }
got=$("$1" --library "$4" $(printf '%s\n' "$rows" | cut -d' ' -f1)) || { echo "fault_table failed"; exit 1; }
[ "$got" = "$rows" ] && exit 0
echo "The table says, and what came:"
printf '%s\n' "$rows" | while read -r name code; do
    now=$(printf '%s\n' "$got" | sed -n "s/^$name //p")
    [ "$now" = "$code" ] || echo "$name $code $now"
done
exit 1
