#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# cudaway-replay --reduce: a kernel of 5,000 instructions, one of which is another in the PTX that the second run gets. What is left has to
# be below 20 instructions, that one among them, and be a test that the reference passes and the other fails. Usage: reduce.sh CASE; the environment
# names APP, REPLAY, PTXTEST, TRACE_DIR, PTX (locate.ptx), and optionally ON.
set -u
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
export XDG_CACHE_HOME=$dir/cache TMPDIR=$dir
failed=0
fail() { echo "FAILED: $*"; failed=1; }
record() { # file kernel
    CUDAWAY_DUMP_DIR=$dir/dumps LD_LIBRARY_PATH=$TRACE_DIR CUDAWAY_DEVICE=host "$APP" kernels "$1" "$2" || fail "the program gave $?"
}
reduce() { # status kernel options...: the report in $dir/out, the test in $dir/small.ptx
    local want=$1 kernel=$2; shift 2
    "$REPLAY" --reduce "$@" -o "$dir/small.ptx" "$dir"/dumps/*-"$kernel".cwdump >"$dir/out" 2>&1
    local got=$?
    [ $got = "$want" ] || { fail "--reduce $kernel gave $got, not $want"; cat "$dir/out"; }
}
left() { # most instructions that may be left
    local n
    n=$(sed -n 's/^[^:]*: \([0-9]*\) of [0-9]* instructions are left.*/\1/p' "$dir/out")
    [ "${n:-1000}" -lt "$1" ] || { fail "$n instructions are left"; cat "$dir/out" "$dir/small.ptx"; }
}

case $1 in
planted)
    # Registers are mixed at random, with branches and loops in between; the sum of all is stored.
    awk -v n=5000 'function any() { seed = (seed * 1103515245 + 12345) % 2147483648; return int(seed / 65536) }
        BEGIN {
            seed = 7; print ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry long(.param .u64 in, .param .u64 out)\n{"
            print ".reg .b32 %r<40>, %c, %t; .reg .b64 %rd<4>; .reg .pred %p;\nld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];"
            print "mov.u32 %c, %ctaid.x; mov.u32 %t, %tid.x; mad.lo.u32 %t, %c, 64, %t; mul.wide.u32 %rd3, %t, 4; add.s64 %rd1, %rd1, %rd3; add.s64 %rd2, %rd2, %rd3;"
            print "ld.global.u32 %r0, [%rd1];"
            for (i = 1; i < 40; i++) printf "mad.lo.u32 %%r%d, %%r%d, 17, %%t;\n", i, i - 1
            for (i = 0; i < n; i++) {
                a = any() % 40; b = any() % 40; c = any() % 40; k = any() % 6
                if (i == n / 2) printf "add.u32 %%r%d, %%r%d, 123456;    // planted\n", a, a
                else if (i % 500 == 250) printf "setp.lt.u32 %%p, %%r%d, %%r%d;\n@%%p bra L%d;\nadd.u32 %%r%d, %%r%d, 3;\nL%d:\n", a, b, i, c, c, i
                else if (k == 0) printf "xor.b32 %%r%d, %%r%d, %%r%d;\n", a, b, c
                else if (k == 1) printf "sub.u32 %%r%d, %%r%d, %%r%d;\n", a, b, c
                else if (k == 2) printf "mad.lo.u32 %%r%d, %%r%d, %d, %%r%d;\n", a, b, any() * 2 + 1, c
                else if (k == 3) printf "shf.l.wrap.b32 %%r%d, %%r%d, %%r%d, %d;\n", a, b, b, any() % 31 + 1
                else if (k == 4) printf "add.u32 %%r%d, %%r%d, %%r%d;\n", a, b, c
                else printf "not.b32 %%r%d, %%r%d;\n", a, b
            }
            for (i = 1; i < 40; i++) printf "xor.b32 %%r0, %%r0, %%r%d;\n", i
            print "st.global.u32 [%rd2], %r0;\nret;\n}"
        }' >"$dir/long.ptx"
    sed 's/123456/123457/' "$dir/long.ptx" >"$dir/other.ptx"
    record "$dir/long.ptx" long
    reduce 1 long --on host --against-module "$dir/other.ptx"
    left 20
    grep -q "123457" "$dir/small.ptx" || { fail "the planted instruction is gone"; cat "$dir/small.ptx"; }
    grep -q "grid 1,1,1 block 1,1,1" "$dir/small.ptx" || { fail "not one thread"; cat "$dir/small.ptx"; }
    "$PTXTEST" --on host "$dir/small.ptx" >"$dir/out" 2>&1 || { fail "the reference does not pass it"; cat "$dir/out" "$dir/small.ptx"; }
    sed 's/123457/123456/' "$dir/small.ptx" >"$dir/wrong.ptx"
    ! "$PTXTEST" --on host "$dir/wrong.ptx" >"$dir/out" 2>&1 || { fail "the other passes it, too"; cat "$dir/small.ptx"; }
    reduce 0 long --on host --against host
    ;;
native)
    # AMD's own rsqrt, on the emulated device, against the host.
    record "$PTX" approximate
    export CUDAWAY_FLOATS=native
    reduce 1 approximate --on gfxemu:gfx1100 --against host
    left 12
    grep -q "rsqrt.approx" "$dir/small.ptx" || fail "no rsqrt is left"
    "$PTXTEST" --on host "$dir/small.ptx" >"$dir/out" 2>&1 || { fail "the host does not pass it"; cat "$dir/out" "$dir/small.ptx"; }
    ! "$PTXTEST" --on gfxemu:gfx1100 "$dir/small.ptx" >"$dir/out" 2>&1 || fail "AMD's own rsqrt passes it"
    ;;
lengths)
    # x = in[i] = 1 + i / 4, at most 10, and then 11: the first thread with another result is 37, with x = 10.25, which needs 38 elements of both, and no `table`. What is
    # left of the content are pieces of eight bytes.
    cat >"$dir/prefix.ptx" <<'PTX'
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .b32 table[64];
.visible .entry prefix(.param .u64 in, .param .u64 out)
{
    .reg .f32 %f<40>, %more; .reg .b32 %r<4>, %unused; .reg .b64 %rd<9>; .reg .pred %p<3>;
    .shared .align 4 .b8 tile[256];
    ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r3, %r1, 64, %r2;
    mul.wide.u32 %rd3, %r3, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
    ld.global.f32 %f1, [%rd4];
    min.f32 %f39, %f1, 0f41200000;      // planted
    st.global.f32 [%rd5], %f39;
    ret;
}
// Nothing of `in` matters.
.visible .entry constant(.param .u64 in, .param .u64 out)
{
    .reg .b32 %r<4>; .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];
    ld.global.b32 %r1, [%rd1];
    and.b32 %r2, %r1, 0;
    add.u32 %r3, %r2, 7;                // planted
    st.global.b32 [%rd2], %r3;
    ret;
}
PTX
    sed 's/0f41200000/0f41300000/; s/%r2, 7/%r2, 8/' "$dir/prefix.ptx" >"$dir/other.ptx"
    record "$dir/prefix.ptx" prefix
    reduce 1 prefix --on host --against-module "$dir/other.ptx"
    has() { grep -qE -- "$1" "$dir/small.ptx" || { fail "no line like $1"; cat "$dir/out" "$dir/small.ptx"; }; }
    has '^//! buffer p0 u32 = 36 x 0x0 0x41200000 0x41240000$'
    has '^//! buffer p1 f32 = 38 x 0x0$'
    has '^//! expect p1 recorded "host, other PTX" = 37 x 0x0 0x41240000$'
    grep -qE 'table|tile|%more|%unused|\.pred|%p<|%f<|%f2' "$dir/small.ptx" && { fail "unused declarations are left"; cat "$dir/small.ptx"; }
    "$PTXTEST" --on host "$dir/small.ptx" >"$dir/out" 2>&1 || { fail "the reference does not pass it"; cat "$dir/out" "$dir/small.ptx"; }
    record "$dir/prefix.ptx" constant
    reduce 1 constant --on host --against-module "$dir/other.ptx"
    has '^//! launch constant\(p0\) grid 1,1,1 '
    has '^\.visible \.entry constant\( ?\.param \.u64 out\)'
    has '^//! expect p0 recorded "host, other PTX" = 0x8$'
    [ "$(grep -c '^//! buffer' "$dir/small.ptx")" = 1 ] || { fail "more than one buffer"; cat "$dir/small.ptx"; }
    "$PTXTEST" --on host "$dir/small.ptx" >"$dir/out" 2>&1 || { fail "the reference does not pass it"; cat "$dir/out" "$dir/small.ptx"; }
    ;;
errors)
    record "$PTX" line
    "$REPLAY" --reduce --on host "$dir"/dumps/*-line.cwdump >"$dir/out" 2>&1
    [ $? = 2 ] && grep -q "needs --output FILE or --reproducer FILE.c, and --against" "$dir/out" || { fail "without --against"; cat "$dir/out"; }
    reduce 2 line --on host --against-module "$dir/none"
    [ ! -e "$dir/small.ptx" ] || fail "something was written"
    ;;
esac
[ -z "$(find "$dir" -name ".cudaway-tmp-*")" ] || fail "files are left: $(ls "$dir")"
exit $failed
