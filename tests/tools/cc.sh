#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# cudaway-cc: what it makes is what LLVM's own tools read; what is wrong is said, with the right exit code.
# usage: cc.sh CUDAWAY_CC LLVM_BIN_DIR
cc=$(realpath "$1") llvm=$2 tests=$(realpath "$(dirname "$0")/../ptx") failures=0
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
[ -x "$cc" ] || { echo "no $cc"; exit 2; }
cd "$dir" || exit 2

fail() { echo "failed: $*"; failures=$((failures + 1)); }
# expect CODE PATTERN ARGS...: exit code, and a line on standard error (none when PATTERN is empty)
expect() {
    local code=$1 pattern=$2; shift 2
    "$cc" "$@" >out 2>err </dev/null; local got=$?
    [ $got = "$code" ] || fail "exit code $got, should be $code: $*: $(head -3 err)"
    if [ -n "$pattern" ]; then grep -q -- "$pattern" err || fail "no '$pattern' in: $(head -3 err)"
    elif [ -s err ]; then fail "unexpected: $(head -3 err)"; fi
}

cat >good.ptx <<'P'
.version 7.0
.target sm_70
.address_size 64
.visible .global .u32 counter = 3;
.visible .entry add(.param .u64 out, .param .u32 n)
{ .reg .pred p; .reg .b32 i, t, b, n; .reg .b64 a, o;
  ld.param.u64 o, [out]; ld.param.u32 n, [n]; mov.u32 b, %ctaid.x; mov.u32 t, %ntid.x; mul.lo.u32 i, b, t;
  mov.u32 t, %tid.x; add.u32 i, i, t; setp.ge.u32 p, i, n; @p bra done;
  mul.wide.u32 a, i, 4; add.u64 o, o, a; st.global.u32 [o], i;
done: ret; }
.visible .entry other() { bar.sync 0; ret; }
P
printf '.version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() { frobnicate.u32 %%r1; ret; }\n' >bad.ptx
printf '.version 7.0\n.target sm_70\n.address_size 64\n.extern .func gone();\n.visible .entry k() { call gone; ret; }\n' >undefined.ptx
printf '.version 7.0\n.target sm_70\n.address_size 32\n.visible .entry k() { ret; }\n' >narrow.ptx
echo hello >text.txt

expect 0 "" --help
grep -q -- --target out || fail "no help"
expect 2 "no input file"
expect 2 "one input file" good.ptx bad.ptx -o x
expect 2 "-o FILE is needed" good.ptx
expect 2 "unknown target" --target pdp11 good.ptx -o x
expect 2 "cannot emit" --emit pascal good.ptx -o x
expect 2 "-O takes" -O 9 good.ptx -o x
for floats in fast native: 'native:nan,' 'native:,nan' 'native:nan,ftx' nan; do
    expect 2 "--floats takes" --floats $floats good.ptx -o x
done
expect 2 "there is no option --wat" --wat good.ptx
expect 2 "needs a value" good.ptx -o
expect 2 "No such file" missing.ptx -o x
expect 2 "Is a directory" . -o x
expect 2 "cannot write" good.ptx -o no/such/folder/x
expect 1 "neither PTX" text.txt -o x
expect 1 "bad.ptx:4:.*error P" bad.ptx -o x
expect 1 "P4001.*gone" undefined.ptx -o x
expect 1 "P3090.*host" --target gfx1100 narrow.ptx -o x
expect 1 "P3090.*host" --target nvptx:sm_70 narrow.ptx -o x
expect 0 "" --target host narrow.ptx -o narrow.o
expect 2 "gfx942 has no image instructions" --target gfx942 --textures native "$tests/isa/texture/handles.ptx" -o x
expect 1 "no kernel 'nope'" --kernel nope good.ptx -o x
grep -q -- '--emit ir' err || fail "no next step: $(cat err)"
expect 1 "no AMD processor" --target gfx77 good.ptx -o x
expect 1 "holds no PTX for the architecture" --arch 90 good.ptx -o x
[ -e x ] && fail "a failed run left its output"
expect 1 "holds no GPU code" "$cc" -o x
grep -q -- '--precompile PROGRAM' err || fail "no next step: $(cat err)"
expect 0 "holds no GPU code" --list "$cc"

expect 0 "" --list good.ptx
grep -q '^0 *PTX *sm_70 *none' out || fail "--list: $(cat out)"
# What each of them holds: emit.ptx, tests/jit/objfile.
for kind in ir llvm asm; do
    expect 0 "" --emit $kind good.ptx
    [ -s out ] || fail "--emit $kind writes nothing to standard output"
    [ $kind != llvm ] || "$llvm/llvm-as" -o ir.bc out || fail "LLVM refuses the LLVM IR"
done

for level in 0 1 2 3; do expect 0 "" -O $level good.ptx -o host.o; done
# more than fits into one part: one object all the same, and the same for every number of threads
{ printf '.version 7.0\n.target sm_70\n.address_size 64\n'
  for k in 0 1 2; do
      printf '.visible .entry k%d(.param .u64 o) { .reg .b32 x; .reg .b64 a; ld.param.u64 a, [o]; mov.u32 x, %%tid.x;\n' $k
      awk 'BEGIN { for (i = 0; i < 1500; i++) print " add.u32 x, x, 7;" }'
      echo 'st.global.u32 [a], x; ret; }'
  done; } >long.ptx
for j in 1 2 0; do expect 0 "" -j $j -O 1 long.ptx -o long$j.o; done
cmp long1.o long2.o && cmp long1.o long0.o || fail "-j changes the object"
[ "$("$llvm/llvm-nm" long1.o | grep -c ' T k[012]$')" = 3 ] || fail "not all kernels of a program in parts"
expect 2 "-j takes" -j x long.ptx -o x

for gfx in gfx1030 gfx1100 gfx90a gfx942; do expect 0 "" --target $gfx good.ptx -o $gfx.co; done

[ $failures = 0 ] && echo ok
exit $((failures != 0))
