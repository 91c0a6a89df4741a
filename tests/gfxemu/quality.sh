#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# quality.sh SOURCE BUILD CLANG FOLDER LIMITS ARCH: the code for ARCH executes no more instructions, in proportion to clang's own, than
# LIMITS allows. Lines there: "ARCH WHAT KERNEL RATIO" (WHAT: exact or native; KERNEL "mean": geometric mean of all), a little above what was
# measured; WHAT scratch: bytes of scratch memory that KERNEL may have although clang's code has none. Nowhere else may it use scratch memory or flat
# accesses where clang's code has none, or registers for which the occupancy is more
# than one step below that of clang's code.
[ -x "$3" ] || { echo "skipped: no clang to compile the kernels (package clang-22)"; exit 77; }
cd "$1" || exit 1
mkdir -p "$4"
tools/bench.d/amd.sh "$2" "$3" "$4" "$6" >"$4/$6.table" || exit 1
awk -v arch="$6" '
    # The next lower occupancy. Registers are given out in 64 blocks: of 8, or of 24 of 1536.
    function step_below(waves,    blocks) {
        for (blocks = 1; int(64 / blocks) >= waves; blocks++) ;
        return int(64 / blocks)
    }
    FNR == NR { if ($1 == arch) limit[$2, $3] = $4; next }
    { n[$2]++; sum[$2] += log($4 / $5); ratio[$2, $3] = $4 / $5 }
    ("scratch", $3) in limit ? $18 > limit["scratch", $3] : ($18 > 0 && $19 == 0) || ($8 > 0 && $9 == 0) { printf "%s: %d bytes of scratch where clang needs none\n", $3, $18; bad = 1 }
    $16 < step_below($17) { printf "%s %s: registers for %d waves, clang %d\n", $2, $3, $16, $17; bad = 1 }
    $10 > $11 { printf "%s: %d flat accesses, clang %d\n", $3, $10, $11; bad = 1 }
    END {
        for (w in n) { ratio[w, "mean"] = exp(sum[w] / n[w]); printf "%s %s: %.3f times the instructions of clang, %d kernels\n", arch, w, ratio[w, "mean"], n[w] }
        for (k in limit) {
            split(k, p, SUBSEP)
            if (p[1] == "scratch") continue
            if (!(k in ratio)) { printf "%s %s: not measured\n", p[1], p[2]; bad = 1 }
            else if (ratio[k] > limit[k]) { printf "%s %s: %.3f times the instructions of clang, at most %.3f are allowed\n", p[1], p[2], ratio[k], limit[k]; bad = 1 }
        }
        exit bad
    }' "$5" "$4/$6.table"
