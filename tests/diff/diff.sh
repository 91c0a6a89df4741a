#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Usage: diff.sh CASE; the environment names the programs: APP, DIFF, REPLAY.
set -u
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
export XDG_CACHE_HOME=$dir/cache
cd "$dir" || exit 2
failed=0
fail() { echo "FAILED: $*"; failed=1; }
expect() { # status text command...
    local want=$1 text=$2; shift 2
    "$@" >"$dir/out" 2>"$dir/err"
    local got=$?
    [ $got = "$want" ] || { fail "$* gave $got, not $want"; cat "$dir/out" "$dir/err"; }
    grep -qF -- "$text" "$dir/out" "$dir/err" || { fail "$* does not say: $text"; cat "$dir/out" "$dir/err"; }
}
host="--reference host --subject host:O0"

case $1 in
agree)
    expect 0 "5 launches compared, 0 differ" "$DIFF" $host -- "$APP" add chase vars texture add
    [ -z "$(ls | grep cudaway-diff)" ] || fail "a folder was made"
    expect 0 "1 launches compared, 0 differ" "$DIFF" $host -- "$APP" library
    # Of each kernel the first launches only; in JSON, too.
    expect 0 "3 launches were not compared, further ones of kernels of which 2 were (--launches)" "$DIFF" $host --launches 2 --json few -- "$APP" add vars add add vars vars add
    grep -qF "4 launches compared, 0 differ" "$dir/err" || fail "two of add and two of vars: $(cat "$dir/err")"
    grep -qF '"beyond_launches":3' few || fail "$(cat few)"
    expect 2 "--launches 0 is not a number from 1" "$DIFF" $host --launches 0 -- "$APP" add
    expect 2 "--max 99999999999999999999999 is not a number from 1" "$DIFF" $host --max 99999999999999999999999 -- "$APP" add
    expect 2 "--help=x takes no value" "$DIFF" --help=x
    # A folder for temporary files whose name has spaces and lines, where there is no memory to take instead.
    mkdir "$dir/a b"$'\n'c
    if unshare -rm mount -t tmpfs -o ro none /dev/shm 2>/dev/null; then
        TMPDIR="$dir/a b"$'\n'c expect 0 "2 launches compared, 0 differ" unshare -rm bash -c 'mount -t tmpfs -o ro none /dev/shm && exec "$@"' bash "$DIFF" $host -- "$APP" add vars
    fi
    expect 0 "host:O0 against host: 1 launches compared, 0 differ" "$DIFF" --reference host:O0 --subject host --kernels '^va' "$APP" add vars
    ;;
amd)
    # AMD code against the host; a value that differs is found there too.
    amd="--reference host --subject gfxemu:gfx1100"
    expect 0 "host against gfxemu:gfx1100: 5 launches compared, 0 differ" "$DIFF" $amd -- "$APP" add chase vars texture add
    # An AMD GPU is the subject by itself.
    CUDAWAY_HIP_LIBRARY=$(dirname "$DIFF")/../lib/cudaway/libcudaway-gfxemu.so CUDAWAY_CUDA_LIBRARY=$dir/none expect 0 "host against hip: 1 launches compared, 0 differ" "$DIFF" -- "$APP" add
    expect 1 "1 launches behind the last that differs were not compared (--max 1)" "$DIFF" $amd --no-explain --max 1 -o kept1 -- "$APP" clock add
    expect 1 "clock, launch 2: the results differ" "$DIFF" $amd --no-explain -o kept -- "$APP" add clock add
    expect 0 "" "$REPLAY" --on gfxemu:gfx90a kept/0002-clock.cwdump
    CUDAWAY_GFXEMU_THREADS=-5 expect 0 "CUDAWAY_GFXEMU_THREADS=-5 is not a number" "$REPLAY" --on gfxemu:gfx90a kept/0002-clock.cwdump
    CUDAWAY_GFXEMU_DEVICES=nan expect 0 "CUDAWAY_GFXEMU_DEVICES=nan is not a number" "$REPLAY" --on gfxemu:gfx90a kept/0002-clock.cwdump
    CUDAWAY_GFXEMU_THREADS='' CUDAWAY_GFXEMU_DEVICES='' CUDAWAY_FLOATS='' CUDAWAY_FAULTS='' CUDAWAY_WARPS_PER_WAVE='' expect 0 "" "$REPLAY" --on gfxemu:gfx90a kept/0002-clock.cwdump
    [ ! -s "$dir/err" ] || fail "empty settings: $(cat "$dir/err")"
    ;;
locate)
    # AMD's own rsqrt: the first launch that differs is looked into.
    export CUDAWAY_FLOATS=native
    expect 1 "looking for the cause in kept/0002-approximate.cwdump" "$DIFF" --no-explain --locate --reference host --subject gfxemu:gfx1100 -o kept -- \
        "$APP" kernels "$PTX" line approximate line
    grep -q ": rsqrt.approx.f32 %f2, %f1" "$dir/err" || fail "$(cat "$dir/err")"
    expect 0 "0 differ" "$DIFF" --locate --reference host --subject gfxemu:gfx1100 -- "$APP" kernels "$PTX" line
    ;;
explain)
    # AMD's own rsqrt, one cause of four launches.
    export CUDAWAY_FLOATS=native
    expect 1 "approximate: 4 launches differ; native floats (kept/0002-approximate.cwdump)" "$DIFF" --reference host --subject gfxemu:gfx1100 -o kept -- \
        "$APP" kernels "$PTX" line approximate approximate approximate approximate
    grep -qx "cudaway-diff: approximate  native floats         4  .*" "$dir/err" || fail "the launch that is not kept was not looked into: $(cat "$dir/err")"
    [ "$(ls kept | wc -l)" = 3 ] || fail "kept: $(ls kept)"
    [ "$(grep -c "cause: native floats" "$dir/err")" = 1 ] || fail "not one line about one cause: $(cat "$dir/err")"
    expect 0 "0 differ" "$DIFF" --explain --reference host --subject gfxemu:gfx1100 -- "$APP" kernels "$PTX" line
    # What explained one launch is tried first on another: a run instead of a search. A variant that cannot be means the search.
    found() { "$REPLAY" --on gfxemu:gfx1100 --explain --results "$@" kept/0003-approximate.cwdump | sed -n 's/^{"variant":"\(.*\)","runs":\(.*\)}$/\1 \2/p'; }
    read -r variant runs <<<"$(found)"
    [ "$variant" = 4 ] && [ "$runs" -gt 2 ] || fail "native floats are row 4, found after other rows: $variant, $runs runs"
    [ "$(found --first 5:1=1 --first 4)" = "4 1" ] || fail "what explained another launch: $(found --first 5:1=1 --first 4)"
    [ "$(found --first 99 --first 0:x --first 0:7=3)" = "$variant $runs" ] || fail "variants that cannot be: $(found --first 99 --first 0:x --first 0:7=3)"
    # A search that ends early has no verdict; cudaway-diff says how many launches it left.
    expect 1 "cause: not known: the time was up, after" "$REPLAY" --on host --explain --seconds 1 "$DIFFER/../heldout/fault_twice.cwdump"
    expect 2 "--explain 0 is not a number of seconds" "$DIFF" --explain=0 "$APP"
    ;;
clock)
    # A clock is none of the device's faults.
    expect 1 "clock: 1 launches differ; clock (kept/0001-clock.cwdump)" "$DIFF" $host -o kept -- "$APP" clock
    ;;
hostile)
    # Names, files and comments of a module, and what its kernel prints, are text. The kernel stores a clock, so that results differ.
    for seed in 1 2; do
        python3 - "$(dirname "$0")/../replay" $seed >hostile.ptx <<'PYTHON' || fail "no module"
import random, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from hostile_text import Maker, encoded
m = Maker(random.Random(int(sys.argv[2])))
m.kernel, m.variable = "k", "v"
sys.stdout.buffer.write(encoded(m.module().replace("add.f32 ", "mov.u32 %r4, %clock;\n    cvt.rn.f32.u32 %f2, %r4;\n    add.f32 ")))
PYTHON
        rm -rf kept page.html all.json
        "$DIFF" $host --explain=3 --locate -o kept --json all.json --html page.html -- "$APP" kernels hostile.ptx k k >"$dir/out" 2>"$dir/err"
        got=$?     # its threads race, too: what explains it is not asked here
        [ $got = 1 ] || [ $got = 3 ] || fail "seed $seed gave $got: $(cat "$dir/err")"
        python3 - "$(dirname "$0")/../replay" "$dir/err" <<'PYTHON' || fail "seed $seed"
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from hostile_text import check_page, strict, unsafe
with open("all.json", "rb") as f:
    text = f.read()
d = strict(text)
with open(sys.argv[2], "rb") as f:
    lines = f.read()
assert {k["kernel"] for k in d["kernels"]} == {"k"} and d["compared"] == 2 and all(b["where"].startswith("buffer ") for l in d["launches"] for b in l["buffers"]), d
assert not unsafe(text) and not unsafe(lines) and not check_page("page.html"), (unsafe(text), unsafe(lines), check_page("page.html"))
PYTHON
    done
    ;;
scale)
    # One line for a kernel and cause, whatever the number of launches; of each kernel three are kept, or as many as are asked for.
    export CUDAWAY_FLOATS=native
    differing="$DIFF --no-explain --reference host --subject gfxemu:gfx1100"
    kernels="$APP kernels $PTX line approximate approximate approximate approximate approximate line"
    expect 1 "7 launches compared, 5 differ" $differing --keep 2 -o kept --json all.json --html page.html -- $kernels
    [ "$(grep -o '{"of":[0-9]*,"picture"' page.html | tr '\n' ' ')" = '{"of":0,"picture" {"of":1,"picture" ' ] || fail "the pictures of the launches that are kept"
    grep -q '"thread":"([0-9]*,0,0) of block (' page.html || fail "threads"
    [ "$(grep -c "^cudaway-diff: approximate" "$dir/err")" = 2 ] || fail "not a line for the first launch and one in the table: $(cat "$dir/err")"
    grep -qx "cudaway-diff: approximate  not looked into         5  [0-9]* of 1280 .*" "$dir/err" || fail "the table: $(cat "$dir/err")"
    [ "$(ls kept | tr '\n' ' ')" = "0002-approximate.cwdump 0003-approximate.cwdump " ] || fail "kept: $(ls kept)"
    python3 - all.json <<'PYTHON' || fail "JSON"
import json, sys
d = json.load(open(sys.argv[1]))
assert (d["format"], d["status"], d["compared"], d["reference"], d["subject"]) == (1, 1, 7, "host", "gfxemu:gfx1100"), d
assert d["severities"]["same"] == 2 and d["severities"]["different"] == 5
k, = d["kernels"]
assert (k["kernel"], k["cause"], k["launches"], k["elements"], k["dump"]) == ("approximate", None, 5, 1280, "kept/0002-approximate.cwdump"), k
assert [l["launch"] for l in d["launches"]] == [2, 3, 4, 5, 6] and all(l["may_be"] == "approximate functions" for l in d["launches"])
assert k["differ"] == sum(b["differ"] for l in d["launches"] for b in l["buffers"]) and k["ulp"] == max(b["largest"]["ulp"] for l in d["launches"] for b in l["buffers"])
assert [l["dump"] is None for l in d["launches"]] == [False, False, True, True, True]
PYTHON
    expect 1 '"cause":"native floats","severity":"different","launches":5' $differing --explain --keep 1 -o kept2 --json - -- $kernels
    [ "$(ls kept2)" = 0002-approximate.cwdump ] || fail "kept: $(ls kept2)"
    grep -q '"cause":null' "$dir/out" && fail "JSON on standard output: $(cat "$dir/out")"
    echo "* * ulp=2" >tol
    expect 0 "0 differ, 5 within the tolerance" $differing --tolerance tol -o kept3 -- $kernels
    grep -qx "cudaway-diff: approximate  tolerated         5  .*" "$dir/err" || fail "the table: $(cat "$dir/err")"
    [ ! -e kept3 ] || fail "launches within the tolerance were kept"
    expect 0 "0 differ, 5 within bounds of error" $differing --bounds -o kept3 -- $kernels
    grep -qx "cudaway-diff: approximate  within bounds         5  .*" "$dir/err" || fail "the table: $(cat "$dir/err")"
    echo "line * ulp=2" >tol
    expect 1 "5 differ" $differing --tolerance tol -o kept3 -- $kernels
    ;;
graph)
    # a graph's kernels are compared one by one; one that cannot be followed is said, and is no success
    expect 0 "3 launches compared, 0 differ" "$DIFF" $host -- "$APP" graph
    expect 2 "not compared: the kernels of a graph launch: it cannot be cloned" "$DIFF" $host -- "$APP" graphmem add
    grep -q "1 launches compared, 0 differ" "$dir/err" "$dir/out" || fail "$(cat "$dir/err")"
    ;;
driver)
    # --device, --library, the variables, and what the program would find: as cudaway-trace record takes them; the first line says it.
    driver=$(realpath "$(dirname "$DIFF")/../lib/cudaway/libcuda.so.1")
    first() { # the first line, then a command
        local line="cudaway-diff: comparing $APP: $1"; shift
        expect 0 "1 launches compared, 0 differ" "$@"
        [ "$(head -n 1 "$dir/err")" = "$line" ] || fail "the first line of $*: $(head -n 1 "$dir/err")"
    }
    unset CUDAWAY_DEVICE CUDAWAY_CUDA_LIBRARY
    CUDAWAY_DEVICE=host:O0 first "the reference is CUDAway's driver, device host:O0; the subject is host" "$DIFF" "$APP" add
    first "the reference is the driver $driver; the subject is host:O0" "$DIFF" --library "$driver" --subject host:O0 "$APP" add
    CUDAWAY_CUDA_LIBRARY=$driver first "the reference is the driver $driver; the subject is host" "$DIFF" "$APP" add
    CUDAWAY_CUDA_LIBRARY=$driver first "the reference is CUDAway's driver, device host:O0; the subject is host" "$DIFF" --device host:O0 "$APP" add
    # A driver in the loader's search that is not ours: nothing of ours stands beside it, so it cannot compile, either.
    mkdir "$dir/system" && cp "$driver" "$dir/system/libcuda.so.1"
    LD_LIBRARY_PATH=$dir/system expect 2 "no kernel launches were seen" "$DIFF" --subject host "$APP" add
    [ "$(head -n 1 "$dir/err")" = "cudaway-diff: comparing $APP: the reference is the driver $(realpath "$dir/system/libcuda.so.1"), which it would find without us; --device takes CUDAway's; the subject is host" ] ||
        fail "the driver that the program would find: $(head -n 1 "$dir/err")"
    expect 2 "--library $dir/none: No such file" "$DIFF" --library "$dir/none" "$APP" add
    expect 2 "cuda-native: /etc/passwd is no CUDA driver" "$DIFF" --library /etc/passwd "$APP" add
    expect 2 "both say where the program runs" "$DIFF" --reference host --device host:O0 "$APP" add
    ;;
differ)
    expect 1 "clock, launch 2: the results differ" "$DIFF" $host --no-explain -o kept -- "$APP" add clock add
    grep -q "parameter out: 1 of 2 u64 differ; first at byte 8, index 1: reference " "$dir/err" || fail "$(cat "$dir/err")"
    grep -q "3 launches compared, 1 differ" "$dir/err" || fail "$(cat "$dir/err")"
    [ "$(ls kept)" = 0002-clock.cwdump ] || fail "kept: $(ls kept)"
    expect 1 "parameter out" "$REPLAY" --check kept/0002-clock.cwdump
    # What another process of the program, and another run, kept stays.
    expect 1 "kept as kept/0002-clock-1.cwdump" "$DIFF" $host --no-explain -o kept -- "$APP" add clock add
    expect 1 "2 launches compared, 2 differ" "$DIFF" $host --no-explain -o both -- sh -c "'$APP' clock & '$APP' clock & wait"
    [ "$(ls both | tr '\n' ' ')" = "0001-clock-1.cwdump 0001-clock.cwdump " ] || fail "kept of two processes: $(ls both)"
    long=$(printf '%0250d/' {1..16})
    expect 1 "bytes, at most 3935 leave room for names of dumps" "$DIFF" $host --no-explain -o "$long" -- "$APP" clock
    ;;
program)
    # Its own failure is told, its output is its own.
    expect 2 "the program ended with status 5" "$DIFF" $host "$APP" add fail
    expect 2 "was ended by signal 9" "$DIFF" $host sh -c 'kill -9 $$'
    expect 2 "no kernel launches were seen: is this a CUDA program? \`cudaway-trace check\`" "$DIFF" $host true
    expect 0 "hello" "$DIFF" $host sh -c "echo hello; '$APP' add"
    grep -qx hello "$dir/out" || fail "standard output: $(cat "$dir/out")"
    # Processes that it starts are compared too.
    expect 0 "2 launches compared, 0 differ" "$DIFF" $host sh -c "'$APP' add & '$APP' vars & wait"
    # A signal to cudaway-diff reaches the program, and what was compared is told.
    for sig in TERM HUP; do
        rm -f ready ended
        "$DIFF" $host sh -c "'$APP' add; echo ready; exec sleep 100" >ready 2>ended &
        tool=$!
        for _ in {1..600}; do [ -s ready ] && break; sleep 0.1; done
        kill -$sig $tool
        wait $tool
        [ $? = 2 ] || fail "the status behind SIG$sig"
        grep -qF "the program was ended by signal" ended && grep -qF "1 launches compared, 0 differ" ended || fail "SIG$sig: $(cat ended)"
    done
    ;;
errors)
    expect 2 "cannot run $dir/none" "$DIFF" $host "$dir/none"
    expect 2 "no program given; see cudaway-diff --help" "$DIFF"
    expect 2 "the subject nonsense cannot be used: the device nonsense cannot be used: CUDA_ERROR_NO_DEVICE; name another with --subject" "$DIFF" --reference host --subject nonsense "$APP" add
    CUDAWAY_HIP_LIBRARY=$dir/none expect 2 "the hip device cannot be opened: no such device; \`cudaway info\` shows what this machine has, and CUDAWAY_DEVICE=host takes the CPU" "$DIFF" --reference host --subject hip "$APP" add
    CUDAWAY_CUDA_LIBRARY=$dir/none expect 2 "cuda-native" "$DIFF" --reference cuda-native "$APP" add
    expect 2 "can only be the subject" "$DIFF" --reference cuda-native:O0 "$APP" add
    CUDAWAY_CUDA_LIBRARY=$dir/none expect 2 "cuda-native" "$DIFF" --reference host --subject cuda-native:O0 "$APP" add
    expect 2 "no regular expression" "$DIFF" --kernels '(' "$APP" add
    expect 2 "--keep x is not a number" "$DIFF" --keep x "$APP" add
    echo "add c 5" >tol
    expect 2 'tol:1: not a bound: "5"' "$DIFF" --tolerance tol "$APP" add
    expect 2 "cannot read the tolerances none" "$DIFF" --tolerance none "$APP" add
    expect 2 "cannot write /nonexistent/file" "$DIFF" $host --json /nonexistent/file "$APP" add
    ;;
esac
exit $failed
