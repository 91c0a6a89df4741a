#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# cudaway-replay --locate: kernels of locate.ptx against the same with one instruction changed; the instruction, the thread, the
# number of its execution and the operands that have to be found are worked out by hand. Usage: locate.sh CASE; the environment names
# APP, REPLAY, TOOL (replay_dump_test), TRACE_DIR, PTX (locate.ptx), and optionally ON and AGAINST.
set -u
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
export XDG_CACHE_HOME=$dir/cache TMPDIR=$dir
failed=0
fail() { echo "FAILED: $*"; failed=1; }
on=${ON:-host} against=${AGAINST:-host}

record() { # kernel...
    CUDAWAY_DUMP_DIR=$dir/dumps LD_LIBRARY_PATH=$TRACE_DIR CUDAWAY_DEVICE=host "$APP" kernels "$PTX" "$@" || fail "the program gave $?"
    for f in "$dir"/dumps/*.cwdump; do
        "$REPLAY" --on host --check "$f" >"$dir/out" 2>&1 || [ "${f##*-}" = clocked.cwdump ] || { fail "not replayed:"; cat "$dir/out"; }
    done
}
locate() { # status kernel options...: the report in $dir/out
    local want=$1 kernel=$2; shift 2
    "$REPLAY" --locate --on "$on" "$@" "$dir"/dumps/*-"$kernel".cwdump >"$dir/out" 2>&1
    local got=$?
    [ $got = "$want" ] || { fail "--locate $kernel gave $got, not $want"; cat "$dir/out"; }
}
says() {
    local text
    for text; do
        grep -qF -- "$text" "$dir/out" || { fail "it does not say: $text"; cat "$dir/out"; }
    done
}
changed() { # kernel, sed's command: the instruction that has the comment with the kernel's name
    sed "/\/\/ $1\$/$2" "$PTX" >"$dir/$1.ptx"
    ! cmp -s "$dir/$1.ptx" "$PTX" || fail "$1 is not changed"
    number=$(grep -n "// $1\$" "$PTX" | cut -d: -f1)
    locate 1 "$1" --against "$against" --against-module "$dir/$1.ptx"
    [ "$(grep -c '^first result' "$dir/out")" = "$hops" ] || { fail "$1: not $hops steps"; cat "$dir/out"; }
    tail -6 "$dir/out" | grep -q "^first result.*$1.ptx:$number" || { fail "$1: line $number is not where it ends"; cat "$dir/out"; }
}

case $1 in
changed)
    record line loop branch call pass sum vote places deep copy matrix
    hops=1
    changed line s/0f3F800000/0f40000000/       # 1 * 1 + 2, not + 1
    says "buffer 2, parameter out, f32 index 0: 3 (0x40400000) on $against with" "written by thread (0,0,0) of block (0,0,0) at first.cu:13 (" \
        ": add.rn.f32 %f3, %f2, 0f40000000" "operands on $on: %f2 = 1 (0x3f800000)"
    changed loop s/0f42C80000/0f42960000/       # 8.25 * 1.25^10 is the first that exceeds 75
    says "index 29: 75 (0x42960000) on" "written by thread (29,0,0) of block (0,0,0)" ", the 10th time: min.f32"
    changed branch s/0f40A00000/0f40A80000/     # 5.25 is greater than 5, not than 5.25
    says "index 17: 2 (0x00000002) on" "written by thread (17,0,0) of block (0,0,0)" "%p = false on $against with" ", true on $on"
    changed call s/0f3F000000/0f3E800000/
    says "index 0: 1.25 (0x3fa00000) on" ", the 2nd time: mul.rn.f32 %f2, %f1, 0f3E800000"
    changed sum "s/, 0;/, 7;/"
    says "index 0: 249 (0x000000f9) on" "written by thread (9,0,0) of block (2,0,0)" "%r4 = 4294967290 (0xfffffffa) on"
    changed places s/add/sub/
    says "operands on $on: %f3 = 1 (0x3f800000)"
    changed deep s/0f42C80000/0f42960000/       # as loop
    says "written by thread (29,0,0) of block (0,0,0)" ", the 10th time: min.f32 %x, %x, 0f42960000" "operands on $on: %x = 76.8341141 (0x4299ab11)"
    hops=2
    changed copy s/0f3F800000/0f40000000/       # of thread 9 thread 54 copies, and of its copy thread 22 reads
    says "index 150: 37.25 (0x42150000) on" "written by thread (22,0,0) of block (2,0,0)" \
        "read from byte 216 of the block's shared memory, which was written by thread (54,0,0) of block (2,0,0) at" ": cp.async.ca.shared.global [%r8], [%rd6], 4" \
        "read from buffer 0, variable table, byte 548, which was written by thread (9,0,0) of block (2,0,0)"
    changed matrix s/0f3F800000/0f40000000/     # word 9 of the first matrix is lane 9's, which is thread 41 in the second warp
    says "index 169: 1108672512 (0x42150000) on" "written by thread (41,0,0) of block (2,0,0)" ": ldmatrix.sync.aligned" \
        "read from byte 36 of the block's shared memory, which was written by thread (9,0,0) of block (2,0,0) at"
    changed vote s/0f41A00000/0f41A20000/       # in[77] = 20.25: lane 13 of the first warp of block 1
    says "index 64: 4294950912 (0xffffc000) on" "first result of thread (0,0,0) of block (1,0,0) that differs: " "first result of thread (13,0,0) of block (1,0,0) that differs: "
    hops=3
    changed pass s/0f3F800000/0f40000000/       # of thread 9 thread 54 reads, and of lane 22 lane 17
    says "index 177: 72.5 (0x42910000) on" "written by thread (49,0,0) of block (2,0,0)" "thread (54,0,0) of block (2,0,0) that differs: " ": ld.shared.f32 %f3, [%r6]" \
        "read from byte 36 of the block's shared memory, which was written by thread (9,0,0) of block (2,0,0)" "operands on $on: %f1 = 35.25 (0x420d0000)"
    ;;
long)
    # More results than the first log holds; and a branch that turns, though its predicate does not.
    record long branch
    hops=1
    changed long s/0f46C35000/0f46C34E00/
    says "index 0: 24999 (0x46c34e00) on" ", the 25000th time: min.f32" "operands on $on: %f1 = 25000 (0x46c35000)"
    sed '/\/\/ turn$/s/!//' "$PTX" >"$dir/turn.ptx"
    locate 1 branch --against "$against" --against-module "$dir/turn.ptx"
    says "thread (0,0,0) of block (0,0,0) takes another branch: " ": @%p bra small: not taken on $against with" "with the same operands: %p = false"
    ;;
same)
    record line clocked
    locate 0 line --against host:O0
    says "line: the results are the same on host:O0 and on $on"
    locate 1 clocked --against host:O0
    says "clocked gives another result each time on host:O0"
    locate 0 line
    "$TOOL" plant "$dir"/dumps/*-line.cwdump "$dir/dumps/0009-planted.cwdump" "parameter out" 70 || fail "plant"
    locate 1 planted                    # another value is recorded: only who wrote it can be found
    says "parameter out, f32 index 70: " "written by thread (6,0,0) of block (1,0,0) at first.cu:13 (" "takes a second device"
    locate 2 line --against-module "$dir/none"
    says "cannot read $dir/none"
    printf '.version 7.0\n.target sm_70\n.address_size 64\n' >"$dir/empty.ptx"
    locate 2 line --against-module "$dir/empty.ptx"
    says "did not run it: finding the kernel in the module"
    [ -z "$(find "$dir" -name ".cudaway-tmp-*")" ] || fail "files are left: $(ls "$dir")"
    ;;
native)
    # AMD's own rsqrt differs from NVIDIA's in the last bit of some; also in a function of another module.
    cat >"$dir/first.ptx" <<'END'
.version 7.0
.target sm_80
.address_size 64
.extern .func (.reg .f32 %result) other(.reg .f32 %value);
.visible .entry linked(.param .u64 in, .param .u64 out)
{
    .reg .f32 %f<4>; .reg .b32 %r<4>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r3, %r1, 64, %r2;
    mul.wide.u32 %rd3, %r3, 4; add.s64 %rd1, %rd1, %rd3; add.s64 %rd2, %rd2, %rd3; ld.global.f32 %f1, [%rd1];
    call (%f2), other, (%f1);
    st.global.f32 [%rd2], %f2; ret;
}
END
    printf '.version 7.0\n.target sm_80\n.address_size 64\n.visible .func (.reg .f32 %%result) other(.reg .f32 %%value)\n{\nrsqrt.approx.f32 %%result, %%value;\nret;\n}\n' \
        >"$dir/second.ptx"
    CUDAWAY_DUMP_DIR=$dir/dumps LD_LIBRARY_PATH=$TRACE_DIR CUDAWAY_DEVICE=host "$APP" linked "$dir/first.ptx" "$dir/second.ptx" linked || fail "the program gave $?"
    CUDAWAY_FLOATS=native locate 1 linked --against host
    says "at module/0.ptx:11: st.global.f32 [%rd2], %f2" "that differs: module/1.ptx:6: rsqrt.approx.f32 %result, %value" "with the same operands: %value = "
    rm -r "$dir/dumps"
    record approximate
    locate 0 approximate --against host
    CUDAWAY_FLOATS=native locate 1 approximate --against host
    says "first result of" ": rsqrt.approx.f32 %f2, %f1" "with the same operands: %f1 = " "PTX leaves the last bits of this instruction open"
    CUDAWAY_FLOATS=native locate 0 approximate --against host --ulp 4
    ;;
esac
exit $failed
