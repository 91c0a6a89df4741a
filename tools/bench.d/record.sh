#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What recording costs: record.c bare and recorded, turn about. Needs no compiler and no tree: the compiled program, this file and a
# bundle do. Both take the driver that they find.
#   record.sh PROGRAM CUDAWAY-TRACE
# NVIDIA's driver, with a bundle in $B:   record.sh ./record $B/bin/cudaway-trace
# the host device:                        CUDAWAY_DEVICE=host LD_LIBRARY_PATH=$B/lib/cudaway record.sh ./record $B/bin/cudaway-trace
# Environment: LAUNCHES (default 100000) of MICROSECONDS (50), BATCHES ("100 1"): waited for after so many, ROUNDS (3),
# WAYS ("record events flight"): recorded; with the device's times by events (record --device-time); as a flight recorder.
# A line gives the least of the rounds: what a busy machine adds is never less than nothing. `elapsed` is by the clock, all launches;
# `fastest` the fastest tenth of the batches; `cpu` the CPU time of the program, all its threads.
set -euo pipefail
[ $# = 2 ] || { sed -n '3,12s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$1
trace=$2
launches=${LAUNCHES:-100000}
length=${MICROSECONDS:-50}
read -ra batches <<<"${BATCHES:-100 1}"
read -ra ways <<<"${WAYS:-record events flight}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

n=$("$program" 0 "$length" 100)
printf 'record   %s launches of %s us (%s iterations), %s x %s, load %s\n' "$launches" "$length" "$n" "$(nproc)" \
    "$(awk -F': *' '/^model name/ { print $2; exit }' /proc/cpuinfo)" "$(cut -d' ' -f1 /proc/loadavg)"
for ((r = 0; r < ${ROUNDS:-3}; r++)); do
    for batch in "${batches[@]}"; do
        run=("$program" "$launches" "$length" "$batch" "$n")
        for way in bare "${ways[@]}"; do
            rm -rf "$work/trace"
            case $way in
                bare) "${run[@]}" ;;
                record) "$trace" record -q -o "$work/trace" -- "${run[@]}" ;;
                events) CUDAWAY_TRACE_DEVICE_TIME=events "$trace" record -q -o "$work/trace" -- "${run[@]}" ;;
                flight) "$trace" record -q -o "$work/trace" --flight-recorder 16M -- "${run[@]}" ;;
                *) echo "record.sh: there is no way '$way' to record" >&2; exit 2 ;;
            esac | sed "s/^/$way.$batch./"
        done
    done
done >"$work/numbers"
sort -k1,1 -k2,2g "$work/numbers" | awk -v ways="${ways[*]}" -v batches="${batches[*]}" '
    !($1 in v) { v[$1] = $2 }
    END {
        nw = split(ways, way, " "); nb = split(batches, batch, " "); split("elapsed fastest cpu", what, " ")
        for (w = 1; w <= nw; w++) for (b = 1; b <= nb; b++) for (k = 1; k <= 3; k++) {
            x = v["bare." batch[b] "." what[k]]; y = v[way[w] "." batch[b] "." what[k]]
            printf "record   %-8s wait every %3d launches, %-7s bare %7.2f us a launch, %7.2f us: %+.1f %%\n", way[w], batch[b], what[k], x, y, 100 * (y / x - 1)
        }
    }'
