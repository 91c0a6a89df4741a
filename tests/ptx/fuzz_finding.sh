#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_finding.sh FUZZ PTXTEST: what the fuzzer writes down of a difference shows it. An AMD processor with NaN of its own differs from the host; with the
# host's values as expectations the files pass there and fail on the processor, with the processor's the other way round. And a profile's words are checked.
fuzz=$1 ptxtest=$2 bad=0
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
export CUDAWAY_FLOATS=native

said=$("$fuzz" --print --profile int,integers 2>&1)
[ $? = 2 ] && [ "${said#*there is no \"integers\"; known are int bit}" != "$said" ] || { echo "--profile int,integers: $said"; bad=1; }

"$fuzz" --seed 5 --count 8 --size 20 --threads 4 --batch 1 --max-findings 3 --profile f32,memory,atomics,flow,calls --on host:O0 --against gfxemu:gfx1100 \
    --output "$dir" >"$dir/log"
[ $? = 1 ] && [ "$(ls "$dir"/fuzz_*.ptx | wc -l)" = 3 ] || { cat "$dir/log"; exit 1; }
# device, whose values, exit status
check() {
    sed "s/^\/\/  \(out\|atom\) on $2 is/\/\/! expect \1 recorded \"$2\" =/; /^\/\/! expect/,/^\(\/\/  [a-z]\|[^\/]\)/s/^\/\/   /\/\/!  /" "$file" >"$dir/test.ptx"
    "$ptxtest" --on "$1" "$dir/test.ptx" >"$dir/log" 2>&1
    [ $? = "$3" ] || { echo "on $1, with the values of $2:"; cat "$dir/log" "$file"; bad=1; }
}
for file in "$dir"/fuzz_*.ptx; do
    check host:O0 host:O0 0
    check gfxemu:gfx1100 host:O0 1
    check gfxemu:gfx1100 gfxemu:gfx1100 0
done
exit $bad
