#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# diagnostics.sh SOURCE: the compiler's diagnostics and docs/diagnostics.md agree. Each code that the sources report has one row, and each row's code is
# in the sources; of a range (P2021 - P2025) one code suffices.
cd "$1" || exit 2
sources() {
    grep -rhE "$1" jit --include='*.[ch]' --include='*.cpp'
}
# A code stands in the call that reports it, or in front of the text.
reported=$({ sources '(ptx_error|ptx_warn|cwj_diag_add|violation|abandon|FAIL)[a-z_]*\(|code = ' | grep -oE '\b[1-6][0-9]{3}\b'
    sources '\b[1-6][0-9]{3}, "' | grep -oE '\b[1-6][0-9]{3}, "' | grep -oE '[0-9]+'; } | sort -u | tr '\n' ' ')
numbers=$(sources '[1-6][0-9]{3}' | grep -oE '\b[1-6][0-9]{3}\b' | sort -u | tr '\n' ' ')
sed -n 's/^| \(P[0-9][^|]*\) |.*/\1/p' docs/diagnostics.md | awk -v reported="$reported" -v numbers="$numbers" '
    BEGIN { n = split(numbers, list, " "); for (i = 1; i <= n; i++) in_sources[list[i]] = 1 }
    {
        parts = split($0, part, ", ")
        for (i = 1; i <= parts; i++) {
            bounds = split(part[i], bound, " - ")
            used = 0
            for (c = substr(bound[1], 2) + 0; c <= substr(bound[bounds], 2) + 0; c++) {
                if (c in row) { print "P" c " has two rows"; bad = 1 }
                row[c] = 1
                used = used || c in in_sources
            }
            if (!used) { print part[i] ": no source reports it"; bad = 1 }
        }
    }
    END {
        n = split(reported, list, " ")
        for (i = 1; i <= n; i++)
            if (!(list[i] in row)) { print "P" list[i] " has no row"; bad = 1 }
        print NR " rows, " n " codes"
        exit bad || !NR || !n
    }'
