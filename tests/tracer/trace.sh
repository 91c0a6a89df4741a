#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# trace.sh CASE: records the test program with cudaway-trace and checks what comes out. Exit status 77: skipped.
# Expected values are what app.c and below.c say; nothing here is taken from the tool's own output.
# shellcheck source=tests/tracer/case.sh
. "$(dirname "$0")/case.sh"

case ${1-} in
progress)
    # A trace of 1.3 million events: the one of a program, thirty times, as links.
    command -v script >/dev/null || exit 77
    want 0 record -o r -- "$APP" cost 20000
    one=$(find r/trace -name metadata)
    [ -n "$one" ] || exit 1         # nothing to link, and not the folder itself into itself
    one=$(dirname "$one")
    for i in {1..30}; do
        cp -al "$one" "$one-$i"
    done
    for what in report show "export -o x.json"; do
        : >typed
        setsid script -qfec "$TRACE $what r >/dev/null" typed >/dev/null 2>&1 </dev/null &
        pid=$!
        for ((i = 0; i < 600; i++)); do
            grep -aqE '[0-9]+ of [0-9]+ packets of events, [0-9]+:[0-9][0-9] left' typed && break
            kill -0 $pid 2>/dev/null || break
            sleep 0.2
        done
        grep -aqE '[0-9]+ of [0-9]+ packets of events, [0-9]+:[0-9][0-9] left' typed || { fail "$what does not say how far it is"; tr '\r' '\n' <typed | tail -n 3; }
        kill -- -$pid 2>/dev/null
        wait $pid 2>/dev/null
    done
    ;;
fixture)
    want 0 record -o r -- "$APP" fixture
    want 0 "$TRACE" show r
    # 2 cuInit, then what basic() and over_fixture() call; the callback's call is one of its own.
    lines out 27
    has out 'cuDriverGetVersion(driverVersion=12080) = CUDA_SUCCESS' 2
    has out 'cuDeviceGetName(name="Below", len=64, dev=0) = CUDA_SUCCESS' 1
    has out 'cuDevicePrimaryCtxRetain(pctx=0x3330, dev=0) = CUDA_SUCCESS' 1
    has out 'cuMemAlloc_v2(dptr=0x7000000000, bytesize=4096) = CUDA_SUCCESS' 1
    has out 'cuMemAlloc_v2(dptr=0x7000010000, bytesize=1024) = CUDA_SUCCESS' 1
    has out 'bytesize=0) = CUDA_ERROR_INVALID_VALUE' 1
    has out 'cuModuleLoadData(module=0x1110, image=0x' 1
    has out 'cuModuleGetFunction(hfunc=0x2220, hmod=0x1110, name="saxpy") = CUDA_SUCCESS' 1
    has out 'name="no_such_kernel") = CUDA_ERROR_NOT_FOUND' 1
    has out 'cuLaunchKernel(f=0x2220, gridDimX=7, gridDimY=1, gridDimZ=1, blockDimX=64, blockDimY=2, blockDimZ=1, sharedMemBytes=128, hStream=0x0, ' 3
    # 2.0f and the two pointers, by the types that the PTX gives them
    has out '# kernel saxpy grid (7,1,1) block (64,2,1) shared 128 params a=2, x=0x7000000000, y=0x7000010000' 3
    # Without the module: the bytes, little-endian, with padding.
    cp -r r bare && rm bare/modules/* && "$TRACE" show bare >bare.out
    has bare.out ' shared 128 params 000000400000000000000000700000000000010070000000' 3
    want 0 "$TRACE" show --kernel '^sax' r
    lines out 4
    want 0 "$TRACE" show --kernel other r
    lines out 0
    want 0 "$TRACE" show --relative r
    has out '[0.000000000] ' 1
    want 0 "$TRACE" show --since 1000s r
    lines out 0
    want 0 "$TRACE" show --until 1000s r
    lines out 27
    want 2 "$TRACE" show --since soon r
    one_line err
    script -qc "'$TRACE' show --kernel sax r" /dev/null >tty.out
    has tty.out "$(printf '\033')[1;31mCUDA_ERROR_INVALID_VALUE" 1
    NO_COLOR=1 script -qc "'$TRACE' show --kernel sax r" /dev/null >tty.out
    has tty.out "$(printf '\033')" 0
    want 0 "$TRACE" show r
    has out 'cuProfilerStart() = CUDA_ERROR_NOT_SUPPORTED' 1
    has out 'cuGetProcAddress_v2(symbol="cuNoSuchThing", pfn=0x0, cudaVersion=12000, flags=0x0, symbolStatus=CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND) = CUDA_SUCCESS' 1
    want 0 "$TRACE" show --failed r
    lines out 6
    want 0 "$TRACE" show --function '^cuMem(Alloc|Free)' r
    lines out 5
    want 0 "$TRACE" show --pid 1 r
    lines out 0
    want 0 "$TRACE" show --json --function cuLaunchKernel r
    lines out 4
    has out '"kernel":{"name":"saxpy","grid":[7,1,1],"block":[64,2,1],"shared":128,' 3
    has out '"params":"000000400000000000000000700000000000010070000000","values":"a=2, x=0x7000000000, y=0x7000010000"}' 4
    want 0 "$TRACE" report r
    has out 'exit status 0'
    has out 'recorded    27 calls, 6 failed, 1 processes, 1 threads'
    has out 'kernels: 4 launches of 1'
    has out '    grid (7,1,1) block (64,2,1): 3'
    has out 'device: 2 allocations, 5.0 KiB in all, at most 5.0 KiB at a time, 1.0 KiB never freed'
    has out 'copied host to device: 1 copies, 256 B'
    has out '  ptx, 124 bytes, sha256 '
    [ "$(ls r/modules)" = "$(sha256sum <r/modules/*.ptx | cut -c1-64).ptx" ] || fail "the module is not in r/modules under its hash"
    has out '  cuGraphCreate is not supported (called 1 times)'
    has out '  cuNoSuchThing was not found by cuGetProcAddress (asked 1 times)'
    want 0 "$TRACE" report --json r
    has out '"calls":	27,'
    want 0 "$TRACE" export -o e.json r
    "$TRACE" export -o /dev/stdout r | cmp - e.json || fail "export -o /dev/stdout"
    ln -s linked.json link.json && : >linked.json && "$TRACE" export -o link.json r && [ -L link.json ] && cmp linked.json e.json || fail "export -o a link"
    want 0 "$CHECKJSON" e.json
    has out '27 calls, 4 kernels, 0 others, 0 arrows, counters'
    grep -q '"state": "complete"' r/manifest.json && grep -q '"exit": { "code": 0 }' r/manifest.json || fail manifest
    # The same without DIR: the newest recording here.
    want 0 record -q -- "$APP" exit 0
    want 0 "$TRACE" show
    lines out 1
    ;;
times)
    # below.c has the times: 1 + 2 + 3 us of saxpy, a copy of 0.6 us; pauses of 4, 3 and 7 us in 20.6 us.
    BELOW_TIMES=1 want 0 record -o r -- "$APP" fixture
    want 0 "$TRACE" report r
    tr -s ' ' <out >table
    has table 'saxpy 3 0.006 90.9 % 2.000 1.000 3.000 occupancy 50 %' 1
    has table '[copy host to device] 1 0.001 9.1 % 0.600 0.600 0.600 256 B, 0.43 GB/s' 1
    has out 'busy 0.007 ms of 0.021 ms (32.0 %)' 1
    grep -qx 'saxpy 4 1 [0-9.]* 0.123 1 of 1' table || fail "no column of compilation and of the cache: $(grep saxpy table)"
    has out '  idle for 0.007 ms from' 1
    want 0 "$TRACE" report --json r
    tr -d '\t\n ' <out >flat
    has flat '"device":{"count":3,"total_ns":6000,"shortest_ns":1000,"longest_ns":3000,"occupancy_permille":500},"compiled":1,"cached":1,"compile_ns":123456'
    has flat '"host_to_device":{"count":1,"total_ns":600,"shortest_ns":600,"longest_ns":600,"bytes":256}'
    has flat '"operations":4,"busy_ns":6600,"span_ns":20600}'
    has flat '"ns":7000,'
    has flat '"ns":4000,'
    has flat '"ns":3000,'
    has flat '"device_time":{"total_ns":6600,"unknown":0,'
    # A driver without that table.
    want 0 record -o none -- "$APP" fixture
    want 0 "$TRACE" report none
    has out 'on the device' 0
    tr -s ' ' <out >table
    grep -qx 'saxpy 4 1 [0-9.]* - -' table || fail "compilation where the driver tells of none: $(grep saxpy table)"
    ;;
timeline)
    # timeline.c says what is there: with 3 rounds, 6 launches of spin, 3 of scale and 6 of scale in graphs, 6 copies, 3 memsets.
    for device in host gfxemu:gfx1100; do
        rm -rf r
        rounds=3
        [ $device = host ] || rounds=1
        CUDAWAY_DEVICE=$device want 0 "$TRACE" record -o r -- "$TIMELINE" $rounds
        want 0 "$TRACE" export -o e.json r
        want 0 "$CHECKJSON" e.json
        # The two launches that are captured and not executed stand on the thread's track.
        has out ", $((5 * rounds + 2)) kernels, $((3 * rounds)) others, $((8 * rounds)) arrows, counters"
        want 0 "$TRACE" report --json r
        tr -d '\t\n ' <out >flat
        has flat "\"name\":\"spin\",\"launches\":$((2 * rounds)),"
        has flat "\"operations\":$((8 * rounds)),"
        grep -o '"occupancy_permille":[1-9][0-9]*' flat | sort -u >occupancy.$device
        [ -s occupancy.$device ] || fail "no occupancy"
        has flat '"host_to_device":{"count":'$rounds','
        has flat '"unknown":0,'
        # The program slept 200 ms between two calls, long enough for a busy machine: what a call takes of the gap is less than half.
        tr '{' '\n' <flat | awk -F'[:,}]' '/^"device":0,"start_ns"/ && $6 >= 190000000 && /"call":null/ { n++ } END { exit n < '$((rounds > 1))' }' ||
            fail "no pause of 200 ms outside of calls"
        # Perfetto's format, read by protobuf's own tool: packets, slices that begin and end, tracks.
        want 0 "$TRACE" export -o e.pftrace r
        if command -v protoc >/dev/null; then
            protoc --decode_raw <e.pftrace >raw || fail "protoc cannot read e.pftrace"
            begins=$(grep -c '^    9: 1$' raw) ends=$(grep -c '^    9: 2$' raw)
            calls=$("$TRACE" show r | wc -l)
            compiled=2
            [ $begins = $ends ] && [ $begins = $((calls + 8 * rounds + 2 + compiled)) ] || fail "$begins slices begin, $ends end, of $calls calls"
            [ "$(grep -c '^    23: "spin"' raw)" = $((2 * rounds)) ] || fail "launches of spin in e.pftrace"
            [ "$(grep -c '^    2: "device 0, queue' raw)" = 2 ] || fail "queues in e.pftrace"
            has raw '    2: "device memory in use"' 1
        fi
    done
    # The same by events, as with a driver that tells nothing. A graph launch is one operation then.
    for device in host gfxemu:gfx1100; do
        rm -rf r
        CUDAWAY_TRACE_DEVICE_TIME=events CUDAWAY_DEVICE=$device want 0 "$TRACE" record -o r -- "$TIMELINE" 2
        want 0 "$TRACE" report --json r
        tr -d '\t\n ' <out >flat
        has flat '"operations":14,'
        has flat '"unknown":0,'
        has flat '"graph":{"count":2,'
        has flat '"name":"[graph]"' 0
        # As the driver says itself: blocks of 64 and of 256 threads fill a multiprocessor.
        [ "$(grep -o '"occupancy_permille":[0-9]*' flat | sort -u)" = "$(cat occupancy.$device)" ] || fail "occupancy: $(grep -o '"occupancy_permille":[0-9]*' flat), not $(cat occupancy.$device)"
        has flat '"launches":8,'
        has flat '"host_to_device":{"count":2,'
        want 0 "$TRACE" export -o e.json r
        want 0 "$CHECKJSON" e.json
        has out ' 10 kernels, 6 others, 14 arrows, counters'        # with the two that are captured
    done
    want 2 "$TRACE" export --format svg r
    one_line err
    # Another folder is an error.
    mkdir other && want 2 "$TRACE" report other
    one_line err
    ;;
copies)
    # copies.c has the sums. The driver's own account and that by events agree in bytes; by events a call is one operation.
    for how in 0 events; do
        CUDAWAY_TRACE_DEVICE_TIME=$how CUDAWAY_DEVICE=host want 0 "$TRACE" record -o r$how -- "$COPIES"
        has out 'no batches' 0
        want 0 "$TRACE" report --json r$how
        tr -d '\t\n ' <out | grep -o '"device_time":.*"synchronous_copies"' >flat
        for sum in host_to_device:8191 device_to_host:127 device_to_device:2047 host_to_host:4 memset:4095; do
            grep -q "\"${sum%:*}\":{[^}]*\"bytes\":${sum#*:}}" flat || fail "$how: $sum bytes: $(cat flat)"
        done
    done
    for count in host_to_device:13 device_to_host:7 device_to_device:11 host_to_host:1 memset:12; do
        has flat "\"${count%:*}\":{\"count\":${count#*:},"
    done
    has flat '"unknown":0,'
    ;;
driver)
    # Without options: the driver that the program would find. With --device: ours.
    mkdir lib && cp "$BELOW" lib/libcuda.so.1
    unset CUDAWAY_DEVICE
    LD_LIBRARY_PATH=$dir/lib want 0 "$TRACE" record -o r -- "$APP" fixture
    head -n 1 err >first
    has first "with the driver $(readlink -f lib/libcuda.so.1), which it would find" 1
    want 0 "$TRACE" show r
    has out 'cuDeviceGetName(name="Below"' 1
    # Who asks for it is the tracer also where another library stands before dlopen.
    LD_LIBRARY_PATH=$dir/lib LD_PRELOAD=$OPENER want 0 "$TRACE" record -o wrapped -- "$APP" fixture
    LD_LIBRARY_PATH=$dir/lib want 99 "$TRACE" record --device null -o ours -- "$APP" fixture
    head -n 1 err >first
    has first "with CUDAway's driver, device null" 1
    "$TRACE" show ours | grep -q 'cuDeviceGetName(name="Below"' && fail "--device took the other driver"
    # So it does where a variable names another; a library in the current folder needs no slash.
    CUDAWAY_CUDA_LIBRARY=$BELOW want 99 "$TRACE" record --device null -o override -- "$APP" fixture
    head -n 1 err >first
    has first "with CUDAway's driver, device null" 1
    (cd lib && want 0 "$TRACE" record --library libcuda.so.1 -o ../relative -- "$APP" fixture) || fail "--library without a folder"
    "$TRACE" show relative | grep -q 'cuDeviceGetName(name="Below"' || fail "--library libcuda.so.1"
    # Images of which nothing but their first page can be read.
    want 0 "$TRACE" record --device null -o endless -- "$APP" endless
    want 0 "$TRACE" show endless
    has out 'cuModuleLoadData(' 2
    # Ours in LD_LIBRARY_PATH is no other driver.
    LD_LIBRARY_PATH=$(dirname "$LAYER")/..:$(dirname "$LAYER") want 99 "$TRACE" record -o mine -- "$APP" fixture
    head -n 1 err >first
    has first "with CUDAway's driver, device auto" 1
    ;;
cost)
    # What recording costs a program that does nothing: at most 250 ms, the best of some tries.
    best=999999
    for i in $(seq 12); do
        start=$(date +%s%N)
        record -q -o "r$i" -- "$APP" exit 0
        took=$((($(date +%s%N) - start) / 1000000))
        [ $took -lt $best ] && best=$took
        [ $best -le 250 ] && break
    done
    read -r load _ </proc/loadavg
    [ $best -gt 250 ] && [ "${load%.*}" -gt "$(nproc)" ] && { echo "skipped: the machine is busy, its load is $load"; exit 77; }
    [ $best -le 250 ] || fail "recording takes $best ms, not 250"
    want 0 "$TRACE" show "r$i"
    lines out 1
    ;;
linked)
    want 0 record -o r -- "$LINKED"
    want 0 "$TRACE" show r
    lines out 2
    has out 'bytesize=321) = CUDA_SUCCESS' 1
    ;;
threads)
    want 0 record -o r -- "$APP" threads
    want 0 "$TRACE" show r
    lines out 8001
    for size in 1 2 3 4; do has out "bytesize=$size) = CUDA_SUCCESS" 1000; done
    [ "$(sed 's/.*\] \([0-9/]*\) .*/\1/' out | sort | uniq -c | awk '{print $1}' | sort -n | xargs)" = "1 2000 2000 2000 2000" ] ||
        fail "calls per thread"
    ;;
fork)
    want 0 record -o r -- "$APP" fork
    want 0 "$TRACE" show r
    lines out 3
    has out 'bytesize=7777) = CUDA_SUCCESS' 2
    [ "$(sed 's/.*\] \([0-9]*\).*/\1/' out | sort -u | wc -l)" = 3 ] || fail "three processes"
    ;;
kill9)
    want 137 record -o r -- "$APP" kill9 30000
    has err 'was ended by signal 9'
    want 0 "$TRACE" show r
    lines out 30001
    has out 'bytesize=30000) = CUDA_SUCCESS' 1
    has r/manifest.json '"exit": { "signal": 9 }'
    ;;
killed)
    # At any time: the daemon goes, no file that reserves room stays.
    group_is_gone() { [ -z "$(grep -l "^LTTNG_HOME=$dir/" /proc/[0-9]*/environ 2>/dev/null)" ] && [ -z "$(grep -lF "$dir/.cudaway-tmp-t-" /proc/[0-9]*/cmdline 2>/dev/null)" ]; }
    export TMPDIR=$dir
    [ ${#dir} -le 30 ] || { echo "skipped: the folder's name is too long"; exit 77; }
    for ms in 005 010 015 020 025 030 040 050 070 100 150 250; do
        "$TRACE" record --library "$BELOW" -q -o r$ms -- "$APP" exit 0 2>/dev/null &
        sleep 0.$ms
        kill -9 $! 2>/dev/null
        wait $! 2>/dev/null
        [ ! -e r$ms/.reserve ] || fail "after 0.$ms s: r$ms/.reserve is left"
    done
    want 0 record -q -o big -- "$APP" cost 20000
    for ms in 05 10 20 40; do
        "$TRACE" export -o x.json big &
        sleep 0.$ms
        kill -9 $! 2>/dev/null
        wait $! 2>/dev/null
        [ -z "$(ls -A | grep '^x\.json.')" ] || fail "export leaves $(ls -A | grep '^x\.json.')"
    done
    for _ in {1..100}; do group_is_gone && break; sleep 0.1; done
    group_is_gone || fail "a daemon is left: $(grep -lF "$dir/.cudaway-tmp-t-" /proc/[0-9]*/cmdline)"
    ;;
modes)
    # Nobody else gets in, into a folder that was there as well, whatever the umask is.
    for mask in 0 0777; do
        mkdir -m 755 r$mask
        (umask $mask; record -q -o r$mask -- "$APP" fixture) || fail "umask $mask: status $?"
        [ "$(stat -c %a r$mask/trace r$mask/modules r$mask/manifest.json r$mask/modules/*.ptx | tr '\n' ' ')" = "700 700 600 600 " ] || fail "umask $mask: $(find r$mask -printf '%m %p ')"
    done
    # The program has the umask that it would have.
    want 0 record -q -o mask -- sh -c umask
    [ "$(cat out)" = "$(sh -c umask)" ] || fail "the program's umask is $(cat out)"
    ;;
pipes)
    # In place of files of a recording: nothing waits.
    want 0 record -q -o r -- "$APP" fixture
    for file in manifest.json modules/x.ptx $(cd r && find trace -type f); do
        rm -rf p
        cp -r r p
        rm -f p/$file
        mkfifo p/$file
        for what in show report check; do
            timeout 60 "$TRACE" $what p >out 2>err
            [ $? -le 2 ] || fail "$what waits for $file"
        done
    done
    ;;
exit)
    for code in 0 1 7 125 255; do want $code record -q -o r$code -- "$APP" exit $code; done
    want 0 record -q -o args -- sh -c 'test "$1" = "a b"' sh 'a b'
    printf 'in' | record -q -o stdin -- sh -c 'cat; echo err >&2' >out 2>err
    has out in
    has err err
    ;;
signals)
    want 143 record -o r -- "$APP" signal 15
    want 134 record -o r6 -- "$APP" signal 6
    # A signal to the recorder reaches the program.
    mkfifo pipe
    "$TRACE" record --library "$BELOW" -o fwd -- "$APP" sleep >pipe 2>err &
    recorder=$!
    read -r _ <pipe
    kill -TERM $recorder
    wait $recorder
    [ $? = 143 ] || fail "forwarded signal"
    want 0 "$TRACE" show fwd
    has out 'bytesize=55) = CUDA_SUCCESS' 1
    # The reader of the messages is gone; the program has SIGPIPE as ever.
    { record -o gone -- sh -c 'grep SigIgn: /proc/$$/status >ignored; exec "$@"' sh "$APP" fixture; echo $? >status; } 2>&1 | true
    has status 0 1
    has gone/manifest.json '"state": "complete"' 1
    grep -q '0[02468aceACE]..$' ignored || fail "SIGPIPE is ignored: $(cat ignored)"
    # No standard streams.
    record -o closed -- sh -c 'ls -l /proc/$$/fd/[0-2] >/dev/null 2>&1; echo $? >found; exec "$@"' sh "$APP" fixture <&- >&- 2>&-
    [ $? = 0 ] || fail "status without standard streams"
    has found 2 1
    has closed/manifest.json '"state": "complete"' 1
    want 0 "$TRACE" show closed
    "$TRACE" show closed 2>err >&-
    [ $? = 2 ] || fail "output that cannot be written"
    has err 'cannot write the output' 1
    # An interrupt from the terminal before the program is there: it is not started.
    python3 - "$TRACE" >out 2>err <<'END' || fail "an early interrupt: $(cat out err)"
import os, pty, sys, time
pid, fd = pty.fork()
if not pid:
    os.execv(sys.argv[1], [sys.argv[1], "record", "-o", "early", "--", "touch", "started"])
while not os.path.isdir("early/trace"):
    time.sleep(0.001)
os.write(fd, b"\x03")
text = b""
try:
    while data := os.read(fd, 4096):
        text += data
except OSError:
    pass
os.waitpid(pid, 0)
assert b"interrupted before the program was started" in text or os.path.exists("started"), text
assert os.path.exists("started") or not os.path.exists("early"), os.listdir("early")
END
    ;;
errors)
    want 127 record -o a -- ./no-such-program
    has err 'no-such-program: No such file'
    one_line err
    [ -e a ] && fail "a folder is left"
    mkdir mine
    want 127 record -o mine -- $'./no\nsuch\e[31m'
    one_line err
    has err './no?such?[31m: No such file' 1
    [ -d mine ] || fail "a folder that was there is gone"
    echo text >file
    want 126 record -o a -- ./file
    one_line err
    want 125 record -o file/sub -- "$APP" exit 0
    has err 'cannot make the folder file/sub: Not a directory'
    one_line err
    mkdir full && touch full/x
    want 125 record -o full -- "$APP" exit 0
    has err 'is not empty'
    want 125 record --dump-limit x -- "$APP" exit 0
    want 125 record '--dump-kernels=(' -- "$APP" exit 0
    want 125 "$TRACE" record --library /no/such/lib -- "$APP" exit 0
    want 125 record --no-such-option -- "$APP"
    want 125 record
    want 125 env PATH=/nonexistent "$TRACE" record --library "$BELOW" -o a -- "$APP" exit 0
    has err 'install the Debian package lttng-tools'
    one_line err
    want 2 "$TRACE" show no-such-folder
    one_line err
    want 2 "$TRACE" show file
    one_line err
    want 2 "$TRACE" show --pid x file
    want 2 "$TRACE" show --function '(' file
    want 2 "$TRACE" frobnicate
    mkdir empty && cd empty
    want 2 "$TRACE" report
    one_line err
    ;;
nothing)
    want 0 record -o r -- "$APP" nothing
    has err 'made no CUDA call'
    has err 'cudaway-trace check'
    want 0 "$TRACE" show r
    lines out 0
    has err 'made no CUDA call'
    want 0 "$TRACE" report r
    want 0 "$TRACE" export -o e.json r
    want 0 "$CHECKJSON" e.json
    ;;
damage)
    want 0 record -q -o r -- "$APP" threads
    stream=$(ls -S r/trace/ust/pid/*/calls_? | head -1)
    # Cut inside a packet: what is before it is shown.
    size=$(stat -c %s "$stream")
    cp -r r cut
    truncate -s $((size - 1000)) cut/${stream#r/}
    want 1 "$TRACE" show cut
    has err 'is cut'
    [ "$(wc -l <out)" -gt 0 ] || fail "nothing shown"
    # Cut in the first packet, and to nothing.
    truncate -s 100 cut/${stream#r/}
    want 1 "$TRACE" show cut
    truncate -s 0 cut/${stream#r/}
    "$TRACE" show cut >out 2>err
    [ $? -le 1 ] || fail "empty stream"
    # Bytes overwritten in the middle: no crash, a message.
    cp -r r noise
    head -c 3000 /dev/urandom | dd of=noise/${stream#r/} bs=1 seek=$((size / 2)) conv=notrunc status=none
    "$TRACE" show noise >out 2>err
    [ $? -le 1 ] || fail "noise in a stream"
    # Bytes too many: sequences of 2^30 elements and more, which are not made, and errors behind which babeltrace aborts when it is called on, with lines of its own and of GLib.
    want 0 record -q -o few -- "$APP" fixture
    few=$(ls -S few/trace/ust/pid/*/calls_? | head -1)
    cp -r "$(dirname "$few")" "$(dirname "$few")-2"      # one that is whole beside it: it is read on behind an error
    for at in $(seq 321 40 2400); do
        rm -rf more
        cp -r few more
        { head -c "$at" "$few"; head -c 136 "$few"; tail -c +$((at + 1)) "$few"; } >more/${few#few/}
        timeout 30 "$TRACE" show more >out 2>err
        [ $? -le 1 ] || fail "136 bytes at $at: $(cat err)"
        [ -z "${ASAN_OPTIONS-}" ] && grep -v '^cudaway-trace: ' err && fail "babeltrace's own words, with 136 bytes at $at"
    done
    # Metadata cut and garbled.
    cp -r r meta
    m=$(echo meta/trace/ust/pid/*/metadata)
    truncate -s 50000 "$m"
    "$TRACE" show meta >out 2>err
    [ $? = 1 ] || fail "cut metadata"
    [ -s err ] || fail "no message about the metadata"
    head -c 60000 /dev/urandom >"$m"
    want 1 "$TRACE" report meta
    # Names in metadata that write to a terminal: an event's, a result's, a host's.
    cp -r r names
    m=$(echo names/trace/ust/pid/*/metadata)
    LC_ALL=C sed -i 's/"cudaway:cuInit_entry"/"cudaway:cu\x1b[2J_entry"/; s/"CUDA_ERROR_INVALID_VALUE"/"CUDA_\x1b[RROR_INVALID_VALUE"/; s/hostname = "./hostname = "\x1b/' "$m"
    cp -r r/trace/ust/pid/* "$(dirname "$m")-2"
    for what in show 'show --json' report 'report --json' export; do
        # shellcheck disable=SC2086
        "$TRACE" $what names >out 2>err
        [ $? -le 1 ] || fail "names: $what"
        [ -s out ] || fail "names: $what printed nothing"
        grep -q "$(printf '\033')" out err && fail "names that write to a terminal, in $what"
    done
    # A parameter's name in a module, which is shown with its values.
    want 0 record -q -o k -- "$APP" fixture
    want 0 "$TRACE" show k
    has out 'params a='
    LC_ALL=C sed -i 's/\.param \.f32 a,/.param .f32 \x1b,/' k/modules/*.ptx
    want 0 "$TRACE" show k
    has out 'params ?='
    # Files of the trace that are not there.
    for what in metadata 'calls_*' '*'; do
        rm -rf gone && cp -r r gone
        # shellcheck disable=SC2086
        rm -rf gone/trace/ust/pid/*/$what
        want 1 "$TRACE" report gone
        has err 'gone is damaged: ' 1
        has err 'made no CUDA call' 0
    done
    rm -rf gone/trace
    want 1 "$TRACE" show gone
    one_line err
    has err 'gone is damaged: 0 of the ' 1
    want 1 "$TRACE" export -o x.json gone
    one_line err
    grep -v '"streams": {$\|^    "trace/.*": [0-9]*},$' gone/manifest.json >without && mv without gone/manifest.json
    has gone/manifest.json streams 0
    want 0 "$TRACE" show gone
    has err 'made no CUDA call' 1
    echo '{' >r/manifest.json
    want 0 "$TRACE" report r
    has err 'is damaged'
    ;;
damage_random)
    # tools/fuzz and the soak have other seeds, and more time.
    want 0 record -q -o r -- "$APP" fixture
    python3 "$(dirname "$0")/damage.py" "$TRACE" r "${DAMAGE_SECONDS:-5}" "${DAMAGE_SEED:-1}" "${DAMAGE_FINDINGS:-findings}" || fail "the damage above"
    ;;
few_files)
    # Files are refused from the second on, from the third, and so on: it ends by itself, and says so in lines of its own where something is left out.
    want 0 record -q -o r -- "$APP" fixture
    for what in "show r" "report r" "export -o x.json r" "check $APP"; do
        # shellcheck disable=SC2086
        "$TRACE" $what >whole 2>/dev/null
        for ((n = 1, all = 0; all < 3 && n < 100; n++)); do     # without any, the shell that asks the dynamic linker for its folders says so, too
            # shellcheck disable=SC2086
            LD_PRELOAD=$REFUSES REFUSE_FROM=$n "$TRACE" $what >out 2>err
            status=$?
            [ $status -le 2 ] || fail "$what with $n files ends with status $status"
            grep -v '^cudaway-trace: ' err && fail "$what with $n files does not say that itself"
            if [ -s err ]; then all=0; continue; fi
            [ $status = 0 ] && cmp -s out whole || fail "$what with $n files: status $status, another result, and no word"
            all=$((all + 1))
        done
        [ $all = 3 ] || fail "100 files are not enough for $what"
    done
    ;;
parallel)
    for i in 1 2 3; do record -q -o r$i -- "$APP" exit $i 2>err$i & done
    wait
    for i in 1 2 3; do
        [ -s err$i ] && fail "recorder $i: $(cat err$i)"
        want 0 "$TRACE" show r$i
        lines out 1
        has r$i/manifest.json "\"code\": $i"
    done
    ;;
off)
    # Not recorded: the layer costs a test and a branch. The bound is loose, and the best of four runs counts, for a busy machine.
    bare=$(LD_PRELOAD=$BELOW LD_LIBRARY_PATH=$(dirname "$BELOW") CUDAWAY_CUDA_LIBRARY= "$APP" cost 5000000 2>err) ||
        bare=0
    off=$(for _ in 1 2 3 4; do
              CUDAWAY_CUDA_LIBRARY=$BELOW LD_LIBRARY_PATH=$(dirname "$LAYER") "$APP" cost 5000000
          done | sort -n | head -n 1)
    echo "nanoseconds a call: $off under the layer, not recorded${bare:+ (library alone: $bare)}"
    awk "BEGIN { exit !($off > 0 && $off < 100) }" || fail "$off ns a call"
    ;;
full_path)
    # The program opens libcuda.so.1 by an absolute path, as some wheels do: by name it would be found in LD_LIBRARY_PATH.
    cp "$BELOW" libcuda.so.1
    want 0 env APP_LIBRARY="$dir/libcuda.so.1" "$TRACE" record --library "$BELOW" -o r -- "$APP" fixture
    want 0 "$TRACE" show r
    lines out 27
    has out 'cuModuleGetFunction(hfunc=0x2220, hmod=0x1110, name="saxpy") = CUDA_SUCCESS' 1
    ;;
implementation)
    # The same program over CUDAway's own driver, where it is built and can run it.
    below=$(dirname "$LAYER")/../libcuda.so.1
    [ -e "$below" ] || { echo "skipped: $below is not built"; exit 77; }
    CUDAWAY_DEVICE=host LD_LIBRARY_PATH=$(dirname "$below") "$APP" basic >out 2>err ||
        { echo "skipped: the driver does not run the program alone:"; head -3 err; exit 77; }
    want 0 "$TRACE" record --device host -o r -- "$APP" basic
    want 0 "$TRACE" show r
    lines out 18
    has out '# kernel saxpy grid (7,1,1) block (64,2,1) shared 128' 3
    has out 'bytesize=4096) = CUDA_SUCCESS' 1
    has r/manifest.json '"device": "host"'
    ;;
chroot)
    # A folder that the same files are in, as the root: the daemon's mount namespace has another root than the program.
    mkdir root
    inside='mount --make-rprivate / && mount --rbind / root && exec chroot root "$@"'
    unshare -m sh -c "$inside" - true 2>err || { echo "skipped: no mount namespaces and chroot here ($(head -1 err))"; exit 77; }
    want 0 unshare -m sh -c "$inside" - "$TRACE" record --library "$BELOW" -o "$dir/r" -- "$APP" fixture
    want 0 "$TRACE" show r
    lines out 27
    ;;
user)
    # As an ordinary user: the daemon is the user's own.
    [ "$(id -u)" = 0 ] && id nobody >/dev/null 2>&1 && command -v setpriv >/dev/null ||
        { echo "skipped: needs root, to become another user"; exit 77; }
    chmod 777 "$dir"
    as() { setpriv --reuid=nobody --regid=nogroup --clear-groups env HOME=/nonexistent "$@"; }
    as test -x "$TRACE" || { echo "skipped: the build folder is not readable for others"; exit 77; }
    want 5 as "$TRACE" record --library "$BELOW" -o r -- "$APP" exit 5
    want 0 "$TRACE" show r
    lines out 1
    mkdir closed && chmod 700 closed
    want 125 as "$TRACE" record --library "$BELOW" -o closed -- "$APP" exit 5
    one_line err
    ;;
disk)
    # A disk that fills up: the program goes on, the trace is readable up to there, the exit status is the program's.
    [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || { echo "skipped: needs root, to mount a small file system"; exit 77; }
    mkdir small
    export TRACE APP BELOW
    unshare -m bash -c '
        mount -t tmpfs -o size=64m none small && cd small &&
        timeout 100 "$TRACE" record --library "$BELOW" -o r -- "$APP" kill9 2000000 >../out 2>../err
        echo $? >../status
        "$TRACE" show r 2>../err2 | wc -l >../count
        mount -t tmpfs -o size=1m none /mnt && cd /mnt &&
        "$TRACE" record --library "$BELOW" -o r -- "$APP" exit 0 2>/dev/null
        echo $? >'"$dir"'/status2
    '
    [ "$(cat status)" = 137 ] || fail "status $(cat status)"
    has err 'disk is nearly full'
    [ "$(cat count)" -gt 1000 ] || fail "only $(cat count) calls shown"
    [ "$(cat status2)" = 125 ] || fail "full disk: status $(cat status2)"
    ;;
flight)
    # Buffers for a small part of 100,000 calls: the last ones are there, without a gap, when a signal ends the program.
    want 137 record --flight-recorder 2M -o r -- "$APP" kill9 100000
    has err 'snapshot 1: signal 9'
    want 0 "$TRACE" show r
    sed 's/.*bytesize=\([0-9]*\).*/\1/' out >sizes
    [ "$(tail -1 sizes)" = 100000 ] && [ "$(wc -l <sizes)" -lt 50000 ] && [ "$(wc -l <sizes)" -gt 100 ] || fail "$(wc -l <sizes) calls, the last is $(tail -1 sizes)"
    awk 'NR > 1 && $1 != last + 1 { exit 1 } { last = $1 }' <(tail -100 sizes) || fail "calls are missing among the last 100"
    # Each function that fails is told of once. Overlapping snapshots show each call once: those of the case fixture.
    want 0 record --flight-recorder 2M -o f -- "$APP" fixture
    has err ' gave CUDA_ERROR_INVALID_VALUE in process'
    want 0 "$TRACE" report f
    has out 'snapshot    20' 6
    has out 'cuMemAlloc_v2 gave CUDA_ERROR_INVALID_VALUE' 1
    has out 'recorded    27 calls, 6 failed'
    want 0 "$TRACE" show f
    lines out 27
    # A program that does nothing wrong leaves no call, only its modules; one that fails, a snapshot.
    want 0 record --flight-recorder 2M -o none -- "$APP" threads
    want 0 "$TRACE" show none
    lines out 0
    has err 'no call failed'
    [ "$(find none -name 'calls_*' | wc -l)" = 0 ] || fail "a trace is in none"
    want 3 record --flight-recorder 2M -o three -- "$APP" exit 3
    has three/manifest.json 'ended with status 3' 1
    # Children in the same buffers.
    want 7 record --flight-recorder 2M -o children -- sh -c '"$0" fork; exit 7' "$APP"
    want 0 "$TRACE" show children
    has out 'bytesize=7777) = CUDA_SUCCESS' 2
    # When asked for.
    mkfifo in answer
    record --flight-recorder 2M -q -o asked -- "$APP" steps <in >answer 2>err &
    exec 7>in 8<answer
    read -r -u 8 _
    pid=$("$TRACE" list | awk -v d="$dir/asked:" '$5 == d { print $1 }')
    want 0 "$TRACE" snapshot "$pid"
    has out "$dir/asked: "
    want 2 "$TRACE" show --follow asked
    has err 'writes on demand only'
    exec 7>&-
    wait
    want 0 "$TRACE" show asked
    has out 'bytesize=1) = CUDA_SUCCESS' 1
    want 125 record --flight-recorder 4K -o small -- "$APP" exit 0
    one_line err
    want 125 record --flight-recorder much -o small -- "$APP" exit 0
    one_line err
    want 2 "$TRACE" snapshot asked
    one_line err
    ;;
flight_dump)
    # CUDAway's driver refuses a block of 2048 threads: the launch is dumped with the memory that its parameters point to.
    below=$(dirname "$LAYER")/../libcuda.so.1
    [ -e "$below" ] && [ -x "$(dirname "$TRACE")/cudaway-replay" ] || { echo "skipped: the driver or cudaway-replay is not built"; exit 77; }
    want 0 "$TRACE" record --device host --flight-recorder 2M -o r -- "$APP" basic
    ls r/dumps >names
    lines names 1
    has names 'saxpy.cwdump'
    want 0 "$(dirname "$TRACE")/cudaway-replay" --info r/dumps/*
    has out '2048'
    ;;
flight_fault)
    # Launches that fail on the device, which a later call tells of. The dump has the launch's parameters and memory as the fault left it: the 2 that the kernel
    # stored before it failed, the 0xabcd that was there, the module's variable. Replayed it fails again.
    below=$(dirname "$LAYER")/../libcuda.so.1 replay=$(dirname "$TRACE")/cudaway-replay
    [ -e "$below" ] && [ -x "$replay" ] || { echo "skipped: the driver or cudaway-replay is not built"; exit 77; }
    for device in host gfxemu:gfx1100; do
        for code in 700 716 719; do
            r=$code-${device#*:}
            want 3 "$TRACE" record --device "$device" --flight-recorder 2M -o "$r" -- "$APP" fault "$code"
            ls "$r/dumps" >names
            has names "fail$code.cwdump" 1
            # The host device tells which launch failed; on others it may have been the one behind it.
            [ "$(wc -l <names)" = 1 ] || { [ $device != host ] && [ "$(wc -l <names)" = 2 ]; } || fail "$device, $code: $(cat names)"
            want 0 "$replay" --info "$r"/dumps/*-fail"$code".cwdump
            has out 'kernel fail' 1
            has out '= 0x2' 1
            grep -q "failed with CUDA_ERROR_[A-Z_]*\(, this launch or another one\)\?; memory is as it was then" out || fail "$device, $code: $(cat out)"
            [ $device = host ] && has out ', this launch or another one' 0
            tar xOf "$r"/dumps/*-fail"$code".cwdump manifest.json >manifest
            python3 - "$r"/dumps/*-fail"$code".cwdump <<'END' || fail "$device, $code: memory"
import json, subprocess, sys
member = lambda name: subprocess.run(["tar", "xOf", sys.argv[1], name], capture_output=True, check=True).stdout
plain = lambda name: subprocess.run(["zstd", "-dcq"], input=member(name), capture_output=True, check=True).stdout
b = {x["kind"]: plain(x["before"]["member"]) for x in json.loads(member("manifest.json"))["buffers"]}
assert b["global"][:8] == bytes([2, 0, 0, 0, 0xcd, 0xab, 0, 0]), b["global"][:8]
assert b["variable"] == bytes([77, 0, 0, 0]), b
END
            want 2 "$replay" --on "$device" "$r"/dumps/*-fail"$code".cwdump
            grep -qi "$(case $code in 700) echo 'illegal' ;; 716) echo 'misaligned' ;; 719) echo 'launch.*fail' ;; esac)" err || fail "$device, $code: $(cat err)"
        done
    done
    ;;
select)
    # fixture: 4 launches, the last of which fails; calls of two functions of memory before and behind them.
    want 0 record --function '^cuMem(Alloc|Free)' -o functions -- "$APP" fixture
    want 0 "$TRACE" show functions
    lines out 5
    has functions/manifest.json '"only": { "functions": "^cuMem(Alloc|Free)" }' 1
    want 0 record --kernel '^sax' -o kernels -- "$APP" fixture
    want 0 "$TRACE" show kernels
    lines out 4
    has out '# kernel saxpy grid (7,1,1) block (64,2,1) shared 128 params a=2, x=0x7000000000, y=0x7000010000' 3
    want 0 record --kernel other -o other -- "$APP" fixture
    want 0 "$TRACE" show other
    lines out 0
    want 0 record --launch 2..3 -o launches -- "$APP" fixture
    has err 'has done launch 3; its later calls are not recorded' 1
    want 0 "$TRACE" show launches
    lines out 2
    has out 'cuLaunchKernel(' 2
    want 0 "$TRACE" report launches
    has out 'only        launches 2..3'
    has out 'was recorded up to launch 3'
    has out '  ptx, 124 bytes, sha256 '
    # From the fourth launch on: that, and 9 calls behind it and one in a callback.
    want 0 record --after 3 -o after -- "$APP" fixture
    want 0 "$TRACE" show after
    lines out 11
    has out 'cuLaunchKernel(' 1
    for wrong in '--launch 0..2' '--launch 3..2' '--launch x' '--after x' '--function (' '--kernel (' '--function ^nothing$' '--max-size x' '--url here'; do
        # shellcheck disable=SC2086
        want 125 record $wrong -o wrong -- "$APP" exit 0
        one_line err
        [ -e wrong ] && fail "$wrong leaves a folder"
    done
    ;;
size)
    # The program waits for a line before each batch of 300 calls (some 20 KiB), so that how soon the recorder looks decides little.
    mkfifo in
    record --max-size 400K -o r -- "$APP" batches 300 <in >answer 2>recorded &
    recorder=$!
    exec 7>in
    for _ in $(seq 400); do
        echo >&7
        grep -q 'its limit is 0.4; recording stops here, the program goes on' recorded && break
        sleep 0.05
    done
    # What comes after the limit is not recorded: ten times as much as the folder may have.
    for _ in $(seq 200); do echo >&7; done
    exec 7>&-
    wait $recorder || fail "the program's status"
    has recorded 'its limit is 0.4; recording stops here, the program goes on' 1
    has r/manifest.json '"state": "truncated"' 1
    want 0 "$TRACE" report r
    has out 'note        the recording has '
    n=$(du -k --apparent-size r | tail -1 | cut -f1)
    cpus=$(nproc --all)
    [ "$n" -lt $((800 + cpus * 4 * 32 * 2)) ] || fail "$n KiB"
    want 0 "$TRACE" show r
    [ "$(wc -l <out)" -gt 1000 ] || fail "only $(wc -l <out) calls"
    ;;
attach)
    # Followed from another process, call by call, then stopped: the program goes on.
    mkfifo in answer
    record -q -o r -- "$APP" steps 4 <in >answer 2>recorded &
    recorder=$!
    exec 7>in 8<answer
    read -r -u 8 _
    "$TRACE" show --follow r >lines 2>followed 7>&- 8<&- &
    follower=$!
    # seen N: within 20 s the follower has shown the allocation of N bytes.
    seen() { for _ in $(seq 3000); do grep -qF "bytesize=$1) = CUDA_SUCCESS" lines && return; sleep 0.1; done; fail "the follower has not seen call $1"; }
    seen 1
    echo >&7 && read -r -u 8 _ && seen 2
    want 0 "$TRACE" list
    has out "$dir/r: $APP steps 4" 1
    pid=$(awk -v d="$dir/r:" '$5 == d { print $1 }' out)
    echo >&7 && read -r -u 8 _
    want 0 "$TRACE" stop "$pid"
    wait $follower || fail "the follower's status"
    lines lines 4
    [ -s followed ] && fail "the follower: $(cat followed)"
    echo >&7 && read -r -u 8 _      # not recorded
    exec 7>&-
    wait $recorder
    [ $? = 4 ] || fail "the program's status"
    has recorded 'stopped by `cudaway-trace stop`; recording stops here, the program goes on' 1
    want 0 "$TRACE" show r
    cmp out lines || fail "what was followed is not what show says"
    want 2 "$TRACE" stop r
    one_line err
    want 2 "$TRACE" stop 1
    one_line err
    want 2 "$TRACE" show --follow r
    one_line err
    # A name that is a pattern of the shell; a program's that moves the terminal.
    mkdir 'a[b]*' && ln -s "$APP" $'a\033[31m'
    exec 7<>in
    TMPDIR=$dir/'a[b]*' record -q -o s -- ./$'a\033[31m' steps 1 <in >answer2 2>/dev/null 7>&- &
    for _ in $(seq 100); do [ -s answer2 ] && break; sleep 0.1; done
    TMPDIR=$dir/'a[b]*' want 0 "$TRACE" list
    has out "$dir/s: ./a?[31m steps 1" 1
    echo >&7
    exec 7>&-
    wait
    # Another user's folder is not asked; a process of ours that takes nothing is not waited for.
    mute() { exec python3 -c '
import os, socket, sys, time
os.mkdir(sys.argv[1])
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind(sys.argv[1] + "/control")
os.chmod(sys.argv[1] + "/control", 0o777)
s.listen(0)
print("ready", flush=True)
time.sleep(120)' "$1"; }
    mute /tmp/.cudaway-tmp-t-mute$$ >said &
    other=$!
    for _ in $(seq 100); do [ -s said ] && break; sleep 0.1; done
    want 0 timeout 60 "$TRACE" list
    kill $other
    rm -rf /tmp/.cudaway-tmp-t-mute$$
    if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --regid 65534 --clear-groups true 2>/dev/null; then
        : >said
        export -f mute
        setpriv --reuid 65534 --regid 65534 --clear-groups bash -c "mute /tmp/.cudaway-tmp-t-evil$$" >said &
        other=$!
        for _ in $(seq 100); do [ -s said ] && break; sleep 0.1; done
        want 0 timeout 4 "$TRACE" list
        kill $other
        rm -rf /tmp/.cudaway-tmp-t-evil$$
    fi
    ;;
ranks)
    # Each launcher has a variable of its own; what is no number is no rank.
    want 0 record -o r -- sh -c 'OMPI_COMM_WORLD_RANK=12 "$1" exit 0 & PMI_RANK=0 "$1" exit 0 & SLURM_PROCID=3 "$1" fixture & PMI_RANK=x "$1" exit 0 & wait' sh "$APP"
    want 0 "$TRACE" show r
    lines out 30
    for rank in 0 12; do [ "$(grep -c "\] rank $rank [0-9]*/[0-9]* cuInit(" out)" = 1 ] || fail "rank $rank in show"; done
    [ "$(grep -c '\] rank 3 ' out)" = 27 ] || fail "rank 3 in show"
    [ "$(grep -c '\] [0-9]*/' out)" = 1 ] || fail "one process has no rank"
    want 0 "$TRACE" show --json r
    has out '"rank":12,' 1
    has out '"rank":' 29
    want 0 "$TRACE" report r
    [ "$(sed -n 's/^  process [0-9]*\( (rank.*\)/\1/p' out)" = " (rank 0): 1 calls, 0 launches, 0 failed
 (rank 3): 27 calls, 4 launches, 6 failed
 (rank 12): 1 calls, 0 launches, 0 failed" ] || { fail "ranks in report"; grep process out; }
    want 0 "$TRACE" report --json r
    tr -d '\t\n ' <out >flat
    has flat "\"rank\":3,\"host\":\"$(uname -n)\",\"calls\":27,\"launches\":4,\"failed\":6}"
    want 0 "$TRACE" export -o e.json r
    for rank in 0 3 12; do has e.json "(rank $rank)" 1; done
    # Two hosts' folders, as lttng-relayd makes them, with processes of the same numbers and clocks of their own.
    name=$(uname -n)
    for letter in a b; do
        mkdir -p hosts/$letter && cp -r r/trace hosts/$letter/session
        find hosts/$letter -name metadata | while read -r f; do
            clock=$(tr -d '\n\000' <"$f" | grep -ao 'clock {.*name = "\?monotonic.*' | grep -ao 'uuid = "[0-9a-f-]*"' | head -n 1)
            LC_ALL=C sed -i -e "s/hostname = \"$name\"/hostname = \"${name//?/$letter}\"/" ${clock:+-e "s/$clock/${clock//[0-9]/$((${#letter} + 3))}/"} "$f"
        done
    done
    want 0 "$TRACE" show hosts
    lines out 60
    for letter in a b; do [ "$(grep -c "\] ${name//?/$letter} rank 3 " out)" = 27 ] || fail "rank 3 of host $letter"; done
    want 0 "$TRACE" report hosts
    has out '60 calls, 12 failed, 8 processes, 8 threads'
    has out "(rank 12 on ${name//?/b}): 1 calls, 0 launches, 0 failed" 1
    want 0 "$TRACE" export -o e.json hosts
    want 0 "$CHECKJSON" e.json
    has out '60 calls, 8 kernels, 0 others, 0 arrows, counters'
    # A flight recorder keeps the rank, whatever it forgets.
    PMI_RANK=5 want 0 record --flight-recorder 2M -o f -- "$APP" fixture
    want 0 "$TRACE" show f
    grep -q '\] rank 5 ' out || fail "the rank in a flight recorder"
    ;;
relay)
    command -v lttng-relayd >/dev/null || { echo "skipped: there is no lttng-relayd"; exit 77; }
    port=$((20000 + $$ % 20000))
    LTTNG_HOME=$dir lttng-relayd -o "$dir/relay" -C tcp://127.0.0.1:$port -D tcp://127.0.0.1:$((port + 1)) -L tcp://127.0.0.1:$((port + 2)) >relay.log 2>&1 &
    relay=$!
    trap 'kill $relay 2>/dev/null; rm -rf "$dir"' EXIT
    for _ in $(seq 3000); do (: </dev/tcp/127.0.0.1/$((port + 2))) 2>/dev/null && break; sleep 0.1; done
    want 0 record --url net://127.0.0.1:$port:$((port + 1)) -o r -- "$APP" fixture
    has err "the trace is at net://127.0.0.1:$port"
    want 0 "$TRACE" show r
    has err 'it is at net://'
    want 0 "$TRACE" show relay
    lines out 27
    [ "$(ls r/modules)" = "$(sha256sum <r/modules/*.ptx | cut -c1-64).ptx" ] || fail "the module is not in r/modules under its hash"
    kill $relay
    wait $relay
    want 125 record --url net://127.0.0.1:$port:$((port + 1)) -o gone -- "$APP" fixture
    one_line err
    ;;
*)
    echo "no such case"
    exit 2
    ;;
esac
exit $bad
