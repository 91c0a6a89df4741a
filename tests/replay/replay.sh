#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Dumps of the test program, made through the trace layer, replayed. Usage: replay.sh CASE; the environment names the programs:
# APP, REPLAY, TOOL (replay_dump_test), TRACE_DIR (folder of the trace layer).
set -u
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
export XDG_CACHE_HOME=$dir/cache
failed=0
fail() { echo "FAILED: $*"; failed=1; }

record() { # cases...
    CUDAWAY_DUMP_DIR=$dir/dumps LD_LIBRARY_PATH=$TRACE_DIR CUDAWAY_DEVICE=${ON:-host} "$APP" "$@" || fail "the program gave $?"
}
expect() { # status text command...
    local want=$1 text=$2; shift 2
    "$@" >"$dir/out" 2>"$dir/err"
    local got=$?
    [ $got = "$want" ] || { fail "$* gave $got, not $want"; cat "$dir/out" "$dir/err"; }
    grep -qF -- "$text" "$dir/out" "$dir/err" || { fail "$* does not say: $text"; cat "$dir/out" "$dir/err"; }
}

case $1 in
check)
    record add chase vars texture
    [ "$(ls "$dir/dumps" | tr '\n' ' ')" = "0001-add.cwdump 0002-chase.cwdump 0003-vars.cwdump 0004-sample.cwdump " ] || fail "dumps: $(ls "$dir/dumps")"
    for on in host host:O0; do
        for f in "$dir"/dumps/*; do
            expect 0 "the results are the recorded ones" "$REPLAY" --on $on --check "$f"
        done
    done
    expect 0 "grid 8 x 1 x 1, block 128 x 1 x 1" "$REPLAY" --info "$dir/dumps/0001-add.cwdump"
    expect 0 "the results are the recorded ones" env -u XDG_CACHE_HOME HOME="$dir/none" "$REPLAY" --trust --on host --check "$dir/dumps/0001-add.cwdump"
    [ ! -e "$dir/none" ] || fail "made a home folder"
    expect 0 "median" "$REPLAY" --repeat 3 "$dir/dumps/0001-add.cwdump"
    # Into a pipe that nobody reads any more, as of "| head": it ends by the signal, and neither it nor its confined process says so.
    for f in "$dir/dumps/0001-add.cwdump" -; do
        rm -f "$dir/closed"
        { until [ -e "$dir/closed" ]; do sleep 0.02; done
          TMPDIR=$dir env --default-signal=PIPE "$REPLAY" --check "$f" <"$dir/dumps/0001-add.cwdump" 2>"$dir/err"; echo $? >"$dir/status"; } |
            { exec <&-; : >"$dir/closed"; }
        [ "$(cat "$dir/status")" = 141 ] && [ ! -s "$dir/err" ] || fail "a closed pipe ($f): status $(cat "$dir/status"): $(cat "$dir/err")"
        [ -z "$(ls -d "$dir"/.cudaway-tmp-* 2>/dev/null)" ] || fail "left behind: $(ls "$dir")"
    done
    (mkdir "$dir/x" && cd "$dir/x" && tar xf "$dir/dumps/0002-chase.cwdump" && sha256sum --quiet -c SHA256SUMS) || fail "tar and sha256sum"
    ;;
clusters)
    # What the launch asked for is in the dump, and is asked for again; also where the launch is a graph's.
    export CUDAWAY_COMPUTE_CAPABILITY=9.0
    record clusters
    for n in 1 2 4; do
        f=$(printf '%s/dumps/%04d-place.cwdump' "$dir" $((n / 2 + 1)))
        expect 0 "clusters of $n x 1 x 1" "$REPLAY" --info "$f"
        expect 0 "the results are the recorded ones" "$REPLAY" --on host --check "$f"
    done
    ;;
cooperative)
    # A grid that a larger device runs at once is refused here, but not in a replay.
    CUDAWAY_HOST_THREADS=4 CUDAWAY_HOST_MULTIPROCESSORS=24 record cooperative
    CUDAWAY_HOST_THREADS=4 expect 3 "gave 720" env CUDAWAY_DEVICE=host LD_LIBRARY_PATH="$TRACE_DIR" "$APP" cooperative
    CUDAWAY_HOST_THREADS=4 expect 0 "the results are the recorded ones" "$REPLAY" --on host --check "$dir/dumps/0001-add.cwdump"
    ;;
regex)
    export CUDAWAY_DUMP_KERNELS='^(vars|samp)' CUDAWAY_DUMP_LIMIT=2
    record add vars chase vars vars 2>"$dir/said"
    grep -q "2 kernel launches were dumped; no more (CUDAWAY_DUMP_LIMIT)" "$dir/said" || { fail "the limit is not said"; cat "$dir/said"; }
    [ "$(ls "$dir/dumps" | tr '\n' ' ')" = "0001-vars.cwdump 0002-vars.cwdump " ] || fail "dumps: $(ls "$dir/dumps")"
    ;;
planted)
    record add
    "$TOOL" plant "$dir/dumps/0001-add.cwdump" "$dir/planted.cwdump" "parameter c" 123 || fail "plant"
    # 1.5 * 123 = 184.5 = 0x43388000; the planted bit makes it 0x43788000 = 248.5
    expect 1 "parameter c: 1 of 1000 f32 differ; first at byte 492, index 123: recorded 248.5 (0x43788000), replayed 184.5 (0x43388000); at most 64 apart, 0.258 relative, 4194304 ULP" \
        "$REPLAY" --check "$dir/planted.cwdump"
    expect 0 "ran" "$REPLAY" "$dir/planted.cwdump" -o "$dir/again.cwdump"
    expect 0 "are the recorded ones" "$REPLAY" --check "$dir/again.cwdump"
    ;;
places)
    # Addresses as other devices give them, and one that no process can have.
    record add chase
    for a in 7f3500000100 302000100 7ffff7000010; do
        "$TOOL" rebase "$dir/dumps/0001-add.cwdump" "$dir/moved" "parameter c" $a || fail "rebase"
        expect 0 "are the recorded ones" "$REPLAY" --check "$dir/moved"
    done
    "$TOOL" rebase "$dir/dumps/0001-add.cwdump" "$dir/moved" "parameter b" ffff800000000000 || fail "rebase"
    # At least the one: whether the others' places are free is the process's luck.
    expect 0 " buffers are not at their recorded addresses" "$REPLAY" --check "$dir/moved"
    "$TOOL" rebase "$dir/dumps/0002-chase.cwdump" "$dir/moved" "parameter head (which points to byte 16)" ffff800000000000 || fail "rebase"
    expect 0 " pointers to variables or buffers that are elsewhere in this process were changed" "$REPLAY" --check "$dir/moved"
    # Numbers that look like the address that the replay gives the variable, which it has nowhere else, are the numbers that were stored.
    cat >"$dir/numbers.ptx" <<'EOF'
.version 8.0
.target sm_80
.address_size 64
.visible .global .b8 variable[4096];
.visible .entry numbers(.param .u64 d)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [d];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 8;
    add.u64 %rd3, %rd1, %rd2;
    mul.wide.u32 %rd4, %r1, 32;
    add.u64 %rd4, %rd4, 0x704000000000;
    st.global.u64 [%rd3], %rd4;
    ret;
}
EOF
    rm -r "$dir/dumps"
    record kernels "$dir/numbers.ptx" numbers
    expect 0 "are the recorded ones" "$REPLAY" --check "$dir/dumps/0001-numbers.cwdump"
    ;;
errors)
    record add
    f=$dir/dumps/0001-add.cwdump
    expect 2 "cannot read $dir/none" "$REPLAY" "$dir/none"
    head -c 5000 "$f" >"$dir/cut"
    expect 2 "cut short" "$REPLAY" --check "$dir/cut"
    [ "$(wc -l <"$dir/err")" = 1 ] || fail "more than one line"
    cp "$f" "$dir/flip"; printf 'X' | dd of="$dir/flip" bs=1 seek=3000 conv=notrunc status=none
    expect 2 "damaged" "$REPLAY" --check "$dir/flip"
    [ "$(wc -l <"$dir/err")" = 1 ] || fail "more than one line"
    expect 2 "not a kernel dump (no ustar header); \`cudaway-trace record --dump-kernels\`" "$REPLAY" "$APP"
    expect 2 "no dump given; see cudaway-replay --help" "$REPLAY"
    expect 2 "cannot" "$REPLAY" --on nonsense "$f"
    CUDAWAY_CUDA_LIBRARY=$dir/none expect 2 "cuda-native" "$REPLAY" --on cuda-native "$f"
    # A folder that cannot be written and a full disk: the program goes on.
    CUDAWAY_DUMP_DIR=/proc/none LD_LIBRARY_PATH=$TRACE_DIR "$APP" add 2>"$dir/err" || fail "the program stopped"
    grep -q "cannot be written" "$dir/err" || fail "nothing is said: $(cat "$dir/err")"
    # A pipe that nobody reads, for what is written besides.
    mkfifo "$dir/pipe"
    CUDAWAY_LOG_FILE=$dir/pipe LD_LIBRARY_PATH=$TRACE_DIR CUDAWAY_DEVICE=host timeout 60 "$APP" add 2>"$dir/err" || fail "CUDAWAY_LOG_FILE: the program stopped"
    grep -q "CUDAWAY_LOG_FILE=$dir/pipe: " "$dir/err" || [ ! -s "$dir/err" ] || fail "CUDAWAY_LOG_FILE: $(cat "$dir/err")"
    if [ -e "$TRACE_DIR/../libcudaway-gfxemu.so" ]; then
        CUDAWAY_GFXEMU_STATS=$dir/pipe LD_LIBRARY_PATH=$TRACE_DIR CUDAWAY_DEVICE=gfxemu:gfx1100 timeout 60 "$APP" add 2>"$dir/err" || fail "CUDAWAY_GFXEMU_STATS: the program stopped"
        grep -q "cannot write $dir/pipe" "$dir/err" || fail "CUDAWAY_GFXEMU_STATS: $(cat "$dir/err")"
    fi
    # A folder whose name leaves no room for a dump's.
    for n in 3936 4000 4094 4095; do
        long=$dir
        while [ $((n - ${#long})) -gt 202 ]; do long=$long/$(printf 'x%.0s' {1..200}); done
        long=$long/$(printf "%$((n - ${#long} - 1))s" | tr ' ' x)
        CUDAWAY_DUMP_DIR=$long LD_LIBRARY_PATH=$TRACE_DIR timeout 60 "$APP" add 2>"$dir/err" || fail "$n bytes: the program stopped"
        [ "$(grep -c "the folder has $n bytes" "$dir/err")" = 1 ] && [ "$(wc -l <"$dir/err")" = 1 ] || fail "$n bytes: not one line: $(cat "$dir/err")"
    done
    # Processes that dump at the same time: no dump is lost.
    for _ in {1..6}; do
        CUDAWAY_DUMP_DIR=$dir/shared LD_LIBRARY_PATH=$TRACE_DIR CUDAWAY_DEVICE=host "$APP" add add add add &
    done
    wait
    [ "$(cd "$dir/shared" && ls | grep -c '^00[0-2][0-9]-add.cwdump$')" = 24 ] && [ "$(ls -A "$dir/shared" | wc -l)" = 24 ] || fail "not 24 dumps: $(ls -A "$dir/shared")"
    (ulimit -f 8; trap '' XFSZ; CUDAWAY_DUMP_DIR=$dir/full LD_LIBRARY_PATH=$TRACE_DIR "$APP" add add 2>"$dir/err") || fail "the program stopped"
    [ "$(grep -c "cannot write" "$dir/err")" = 1 ] || fail "not one line: $(cat "$dir/err")"
    [ -z "$(ls "$dir/full")" ] || fail "left behind: $(ls "$dir/full")"
    # A texture reference, whose address is in a register.
    mkdir -p "$dir/t/bin" "$dir/t/lib/cudaway"
    cp "$(dirname "$REPLAY")/cudaway-ptxtest" "$dir/t/bin/"
    ln -s "$TRACE_DIR/libcuda.so.1" "$dir/t/lib/cudaway/"
    CUDAWAY_DUMP_DIR=$dir/references "$dir/t/bin/cudaway-ptxtest" --on host "$(dirname "$0")/../ptx/isa/texture/reference_uniform.ptx" >"$dir/out" 2>&1 || fail "the PTX test"
    grep -q "uniform.*texture or surface references, which dumps do not hold" "$dir/out" || { fail "references"; cat "$dir/out"; }
    [ -z "$(ls "$dir/references" 2>/dev/null)" ] || fail "dumped: $(ls "$dir/references")"
    ;;
esac
exit $failed
