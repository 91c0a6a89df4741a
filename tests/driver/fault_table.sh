#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fault_table.sh FAULT_TABLE TABLE.txt COLUMN LIBCUDA: what the device gives for each fault is what its column of the table says.
table=$2 column=$3
got=$("$1" --library "$4") || { echo "fault_table failed"; exit 1; }
awk -v column="$column" '/^#/ { for (i = 2; i <= NF; i++) if ($i == column) at = i - 1; next } NF { print $1, $at }' "$table" > "${TMPDIR:-/tmp}/fault-table.$$"
printf '%s\n' "$got" | diff "${TMPDIR:-/tmp}/fault-table.$$" - && status=0 || status=1
rm -f "${TMPDIR:-/tmp}/fault-table.$$"
exit $status
