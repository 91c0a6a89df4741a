#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# cudaway-replay --step: transcripts of the kernels of step.ptx; the values in them are worked out by hand, from in[i] = 1 + i / 4. Where the order of threads differs
# from device to device (warps, and halves of them on the host), what is expected does not depend on it. Usage: step.sh CASE; the environment names APP, REPLAY,
# TRACE_DIR, PTX (step.ptx), and optionally ON.
set -u
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
export XDG_CACHE_HOME=$dir/cache TMPDIR=$dir NO_COLOR=1
failed=0
fail() { echo "FAILED: $*"; failed=1; }
on=${ON:-host}

record() { # kernels...
    CUDAWAY_DUMP_DIR=$dir/dumps LD_LIBRARY_PATH=$TRACE_DIR CUDAWAY_DEVICE=host "$APP" kernels "$PTX" "$@" || fail "the program gave $?"
}
# What stands for lines of the PTX: @NAME@, for the line that ends with the comment NAME.
sed -n 's|^.*// \([a-z]*\)$|\1|p' "$PTX" | while read -r name; do
    echo "s/@$name@/$(grep -n "// $name\$" "$PTX" | cut -d: -f1)/g"
done >"$dir/lines"
run() { # STATUS KERNEL [option...], with commands on standard input: the output is in $dir/out
    local want=$1 kernel=$2 got; shift 2
    "$REPLAY" --step --on "$on" "$@" "$dir"/dumps/*-"$kernel".cwdump >"$dir/all" 2>&1
    got=$?
    [ $got = "$want" ] || { fail "--step $kernel gave $got, not $want"; cat "$dir/all"; }
    sed -E 's/0x[0-9a-f]{9,} </ADDRESS </g; s/0x[0-9a-f]{15,}/ADDRESS/g; s/^(local|shared) 0x[0-9a-f]+:/\1 ADDRESS:/' "$dir/all" >"$dir/out"
}
# The transcript on standard input has the commands behind "(step) ", and below each what it prints.
step() { # STATUS KERNEL [option...]
    sed -f "$dir/lines" >"$dir/expected"
    sed -n 's/^(step) //p' "$dir/expected" >"$dir/commands"
    run "$@" <"$dir/commands"
    head -1 "$dir/out" | grep -q "^$2, grid (4,1,1), block (64,1,1), 0 bytes of dynamic shared memory, on $on\$" || fail "the first line: $(head -1 "$dir/out")"
    tail -n +2 "$dir/out" | diff "$dir/expected" - >"$dir/diff" || { fail "$2: < expected, > printed"; cat "$dir/diff"; }
}
source=$(dirname "$PTX")

case $1 in
forwards)
    # x of thread 0: 1, 2, 5, 26; of thread 4: 2, 5, 26, 677; each takes the other's.
    record walk
    step 0 walk --source "$source" <<'END'
(step) start
thread (0,0,0) of block (0,0,0) in walk at /src/step.cu:11
11	    int i = threadIdx.x;
=> module.ptx:@begin@: ld.param.u64 %rd1, [in]
(step) step 2
thread (0,0,0) of block (0,0,0) in walk at /src/step.cu:13
13	    for (int k = 0; k < 3; k++)
=> module.ptx:@zero@: mov.u32 %r4, 0
(step) p %f1
%f1 = 1 (0x3f800000)
(step) x/f32 %rd4
<in>:	1 (0x3f800000)
(step) p f32[in + 4 * 12]
f32[in + 4 * 12] = 4 (0x40800000)
(step) next
thread (0,0,0) of block (0,0,0) in walk at /src/step.cu:14
14	        x = grow(x);
=> module.ptx:@call@: call (%f1), grow, (%f1)
(step) next
thread (0,0,0) of block (0,0,0) in walk at /src/step.cu:13
13	    for (int k = 0; k < 3; k++)
=> module.ptx:@count@: add.u32 %r4, %r4, 1
(step) p %f1
%f1 = 2 (0x40000000)
(step) next
thread (0,0,0) of block (0,0,0) in walk at /src/step.cu:14
14	        x = grow(x);
=> module.ptx:@call@: call (%f1), grow, (%f1)
(step) step
thread (0,0,0) of block (0,0,0) in grow at /src/step.cu:5
5	    return x * x + 1;
=> module.ptx:@square@: mul.rn.f32 %y, %x, %x
(step) backtrace
*#0  grow (%x=2 (0x40000000)) at /src/step.cu:5 (module.ptx:@square@: mul.rn.f32 %y, %x, %x)
 #1  walk () at /src/step.cu:14 (module.ptx:@call@: call (%f1), grow, (%f1))
(step) stepi
thread (0,0,0) of block (0,0,0) in grow at /src/step.cu:5
5	    return x * x + 1;
=> module.ptx:@plus@: add.rn.f32 %result, %y, 0f3F800000
(step) p %y
%y = 4 (0x40800000)
(step) p %y * %x + 0.5
%y * %x + 0.5 = 8.5
(step) up
 #0  grow (%x=2 (0x40000000)) at /src/step.cu:5 (module.ptx:@plus@: add.rn.f32 %result, %y, 0f3F800000)
*#1  walk () at /src/step.cu:14 (module.ptx:@call@: call (%f1), grow, (%f1))
(step) p %f1
%f1 = 2 (0x40000000)
(step) p %r4
%r4 = 1 (0x00000001)
(step) finish
thread (0,0,0) of block (0,0,0) in walk at /src/step.cu:13
13	    for (int k = 0; k < 3; k++)
=> module.ptx:@count@: add.u32 %r4, %r4, 1
(step) p %f1
%f1 = 5 (0x40a00000)
(step) until step.cu:15
thread (0,0,0) of block (0,0,0) in walk at /src/step.cu:15
15	    part[i] = x;
=> module.ptx:@keep@: mov.u32 %r5, part
(step) p f32[part]
what is at 0x0 is not known
(step) p %f1
%f1 = 26 (0x41d00000)
(step) break @take@
Breakpoint 1 at /src/step.cu:17 (module.ptx:@take@: ld.shared.f32 %f2, [%r7])
(step) continue
Breakpoint 1, thread (0,0,0) of block (0,0,0) in walk at /src/step.cu:17
17	    out[blockIdx.x * 64 + i] = part[i ^ 4];
=> module.ptx:@take@: ld.shared.f32 %f2, [%r7]
(step) x/f32 part
shared ADDRESS:	26 (0x41d00000)
(step) x/f32 shared %r7
shared ADDRESS:	677 (0x44294000)
(step) x/f32 out
<out>:	0 (0x00000000)
(step) continue
thread (0,0,0) of block (0,0,0) has ended
(step) x/f32 out
<out>:	677 (0x44294000)
END
    ;;
backwards)
    record walk
    step 0 walk <<'END'
(step) break grow if %x == 5
Breakpoint 1 at /src/step.cu:5 (module.ptx:@square@: mul.rn.f32 %y, %x, %x)
(step) run
Breakpoint 1, thread (0,0,0) of block (0,0,0) in grow at /src/step.cu:5
=> module.ptx:@square@: mul.rn.f32 %y, %x, %x
(step) reverse-finish
thread (0,0,0) of block (0,0,0) in walk at /src/step.cu:14
=> module.ptx:@call@: call (%f1), grow, (%f1)
(step) p %f1
%f1 = 5 (0x40a00000)
(step) p %r4
%r4 = 2 (0x00000002)
(step) reverse-stepi
thread (0,0,0) of block (0,0,0) in walk at /src/step.cu:13
=> module.ptx:@loop@: @%p bra again
(step) reverse-step
thread (0,0,0) of block (0,0,0) in walk at /src/step.cu:13
=> module.ptx:@count@: add.u32 %r4, %r4, 1
(step) p %r4
%r4 = 1 (0x00000001)
(step) reverse-next
thread (0,0,0) of block (0,0,0) in walk at /src/step.cu:14
=> module.ptx:@call@: call (%f1), grow, (%f1)
(step) p %f1
%f1 = 2 (0x40000000)
(step) watch %f1
Watchpoint 2: %f1
(step) reverse-continue
%f1: 1 (0x3f800000) -> 2 (0x40000000)
Watchpoint 2, thread (0,0,0) of block (0,0,0) in walk at /src/step.cu:13
=> module.ptx:@count@: add.u32 %r4, %r4, 1
(step) reverse-continue
%f1: not written -> 1 (0x3f800000)
Watchpoint 2, thread (0,0,0) of block (0,0,0) in walk at /src/step.cu:13
=> module.ptx:@zero@: mov.u32 %r4, 0
(step) reverse-continue
the record begins here
thread (0,0,0) of block (0,0,0) in walk at /src/step.cu:11
=> module.ptx:@begin@: ld.param.u64 %rd1, [in]
(step) p %f1
nothing has written %f1 here
(step) delete
(step) continue
thread (0,0,0) of block (0,0,0) has ended
(step) reverse-until @share@
thread (0,0,0) of block (0,0,0) in walk at /src/step.cu:15
=> module.ptx:@share@: st.shared.f32 [%r5], %f1
(step) watch shared.f32[%r5]
Watchpoint 3: shared.f32[%r5]
(step) continue
shared.f32[%r5]: ? -> 26 (0x41d00000), by thread (0,0,0) of block (0,0,0)
Watchpoint 3, thread (0,0,0) of block (0,0,0) in walk at /src/step.cu:16
=> module.ptx:@wait@: bar.sync 0
END
    ;;
threads)
    # Of the 64 threads those below 5 go another way. Thread 3: 3 - 5; thread 17: 17 * 17. The sum of 0 to 63 is 2016.
    record ways
    step 0 ways <<'END'
(step) thread 3
(step) break @pair@
Breakpoint 1 at module.ptx:@pair@: @%p st.local.v2.u32 [%rd2+8], {%r1, 7}
(step) continue
Breakpoint 1, thread (3,0,0) of block (0,0,0) in ways
=> module.ptx:@pair@: @%p st.local.v2.u32 [%rd2+8], {%r1, 7}
(step) p %r2
%r2 = -2 (0xfffffffe)
(step) p %p
%p = true
(step) x/4dw own
local ADDRESS:	?	-2	?	?
(step) nexti
thread (3,0,0) of block (0,0,0) in ways
=> module.ptx:@set@: mov.u64 %rd3, total
(step) x/4dw own
local ADDRESS:	?	-2	3	7
(step) x/xw local %rd2+4
local ADDRESS:	0xfffffffe
(step) p total
total = 0 (0x00000000)
(step) continue
thread (3,0,0) of block (0,0,0) has ended
(step) delete 1
(step) break @last@ any if %r3 == 289
Breakpoint 2 at module.ptx:@last@: st.global.u32 [%rd5], %r3
(step) thread (0,0,0)
thread (0,0,0) of block (0,0,0) has ended
(step) run
Breakpoint 2, thread (17,0,0) of block (0,0,0) in ways
=> module.ptx:@last@: st.global.u32 [%rd5], %r3
(step) p %h1
%h1 = 289 (0x0121)
(step) p/t %h1
%h1 = 0000000100100001
(step) p/x %tid.x
%tid.x = 0x00000011
(step) p %rd5
%rd5 = ADDRESS <out+68>
(step) until @last@
thread (17,0,0) of block (0,0,0) has ended
(step) delete
(step) until @pair@
thread (17,0,0) of block (0,0,0) has ended
(step) reverse-until @pair@
thread (17,0,0) of block (0,0,0) in ways
=> module.ptx:@pair@: @%p st.local.v2.u32 [%rd2+8], {%r1, 7}   (not executed: the guard is false)
(step) p %p
%p = false
(step) continue
thread (17,0,0) of block (0,0,0) has ended
(step) reverse-step 2
thread (17,0,0) of block (0,0,0) in ways
=> module.ptx:@last@: st.global.u32 [%rd5], %r3
(step) block 2
thread (17,0,0) of block (2,0,0)
(step) thread 63
(step) until @last@
thread (63,0,0) of block (2,0,0) in ways
=> module.ptx:@last@: st.global.u32 [%rd5], %r3
(step) p %ctaid.x
%ctaid.x = 2 (0x00000002)
(step) p %r3
%r3 = 3969 (0x00000f81)
END
    # What depends on the order of threads, in part: the whole sum, and where the lanes of a warp are.
    run 0 ways <<END
watch u32[total]
continue
continue
continue
continue
continue
continue
continue
continue
p total
delete
thread 0
run
reverse-until $(grep -n '// small$' "$PTX" | cut -d: -f1)
info threads
END
    grep -q '^total = 2016 (0x000007e0)$' "$dir/out" || { fail "the sum"; cat "$dir/out"; }
    grep -q '^\* 0-4 (0,0,0) to (4,0,0) .*: sub.s32 %r2, %r1, 5$' "$dir/out" || { fail "where lanes 0 to 4 are"; cat "$dir/out"; }
    ! grep -q '^[* ] .* 5-.*: sub.s32' "$dir/out" || { fail "the others do not come there"; cat "$dir/out"; }
    ;;
limits)
    # The loop leaves 5 records of 16 bytes each time, 20000 times: more than a MiB. Wrong lines do no harm.
    record long walk
    run 0 long --record-size 1 <<'END'
thread 1
start
until 1
END
    grep -q "^the record of the whole block is larger than --record-size: only thread 1 is recorded" "$dir/out" || { fail "no word of what is recorded"; cat "$dir/out"; }
    grep -q "^the record holds 65[0-9]* of [0-9]*; .record from 65[0-9]*. has those that follow, --record-size MIB makes it larger" "$dir/out" || { fail "no word of the limit"; cat "$dir/out"; }
    grep -q "^thread (1,0,0) of block (0,0,0): the record ends here" "$dir/out" || { fail "no word at the end"; cat "$dir/out"; }
    # There are 11 records before the loop: of the 7998th time round, record 40000 is that of the branch. Registers are known from what writes them next.
    step 0 long --record-size 1 <<'END'
(step) record thread
the record holds 65016 of 100014; `record from 65016` has those that follow, --record-size MIB makes it larger
(step) record from 40000
the record begins at 40000 of 100014: what was before is not known
(step) start
thread (0,0,0) of block (0,0,0) in long
=> module.ptx:@branch@: @%p bra more
(step) info registers
9 of 9 registers are not written yet
(step) stepi 4
thread (0,0,0) of block (0,0,0) in long
=> module.ptx:@up@: add.u32 %r2, %r2, 1
(step) info registers
%r2          .b32   7999 (0x00001f3f)
%p           .pred  true
7 of 9 registers are not written yet
(step) reverse-stepi
thread (0,0,0) of block (0,0,0) in long
=> module.ptx:@branch@: @%p bra more
(step) continue
thread (0,0,0) of block (0,0,0) has ended
(step) p %r2
%r2 = 20000 (0x00004e20)
END
    run 2 walk <<END
record from 5000000000
thread 99
thread 64
block 4
break
break nowhere.cu:3
break 9999
watch 7
print
print 1 +
print %nothing
print (((((
print 1 / 0
x
x/999999999w 0
x/3zz 0
delete 5
frame 9
info
step x
list 99999
until
record everything
$(head -c 5000 /dev/zero | tr '\0' a)
$(printf '(%.0s' $(seq 300) | sed 's/^/print /')
p f32[0xffffffffffffffff]
x/4096g 0xfffffffffffffff0
END
    [ "$(grep -c '' "$dir/out")" -lt 1200 ] || fail "too much is said"
    ! grep -qi "sanitizer\|signal" "$dir/out" || { fail "it broke"; cat "$dir/out"; }
    printf 'b grow\nc\np %%x\nfoo\n' | "$REPLAY" --step --json --on "$on" "$dir"/dumps/*-walk.cwdump >"$dir/out" 2>&1
    [ $? = 2 ] || fail "a wrong command in a script"
    "$REPLAY" --step --on "$on" "$dir/none" </dev/null >"$dir/out" 2>&1
    [ $? = 2 ] || fail "a file that is not there"
    "$REPLAY" --step --on "$on" "$dir/dumps" </dev/null >"$dir/out" 2>&1
    [ $? = 2 ] || fail "a folder"
    ;;
json)
    record walk
    printf 'start\nb grow if %%x == 5\nc\np %%x\n' | "$REPLAY" --step --json --on "$on" "$dir"/dumps/*-walk.cwdump >"$dir/out" || fail "it gave $?"
    cat >"$dir/expected" <<END
{"stop":"start","thread":[0,0,0],"block":[0,0,0],"function":"walk","file":"/src/step.cu","line":11,"ptx":"module.ptx","ptx_line":@begin@,"instruction":"ld.param.u64 %rd1, [in]","executed":true}
{"text":"Breakpoint 1 at /src/step.cu:5 (module.ptx:@square@: mul.rn.f32 %y, %x, %x)"}
{"stop":"breakpoint","number":1,"thread":[0,0,0],"block":[0,0,0],"function":"grow","file":"/src/step.cu","line":5,"ptx":"module.ptx","ptx_line":@square@,"instruction":"mul.rn.f32 %y, %x, %x","executed":true}
{"text":"%x = 5 (0x40a00000)"}
END
    sed -f "$dir/lines" "$dir/expected" | diff - "$dir/out" || fail "other JSON"
    ;;
esac
[ -z "$(find "$dir" -maxdepth 1 -name ".cudaway-tmp-*")" ] || fail "files are left: $(ls "$dir")"
exit $failed
