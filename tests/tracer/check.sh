#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check.sh CASE: what cudaway-trace check says of programs and recordings. Exit status 77: skipped.
# shellcheck source=tests/tracer/case.sh
. "$(dirname "$0")/case.sh"

case ${1-} in
program)
    # linked.c: two functions of the driver, both there, and the library.
    want 0 "$TRACE" check "$LINKED"
    has out 'trace_linked: runs' 1
    has out 'imports 2 CUDA functions, of which 0 are not here' 1
    has out 'loads libcuda.so.1: CUDAway has it' 1
    # PTX that compiles, and PTX that the ISA does not have: the kernels beside each other, the places, and what is outside of kernels.
    printf '.version 7.0\n.target sm_60\n.address_size 64\n.visible .entry good() { ret; }\n' >good.ptx
    printf '%s\n' '.version 7.0' '.target sm_60' '.address_size 64' '.visible .entry good() { ret; }' '.visible .entry bad() {' '  nonsense.u32 1;' '  ret;' '}' \
        '.func helper() { nothing; ret; }' '.visible .entry last() { .reg .u32 %a; add.f33 %a, 1, 2; ret; } .visible .entry end() { ret; }' >bad.ptx
    want 0 "$TRACE" check good.ptx
    has out '1 kernel with PTX that compiles' 1
    has out '    good, from PTX for sm_60' 1
    want 1 "$TRACE" check bad.ptx
    has out 'bad.ptx: lacks something' 1
    has out '  module 0, PTX for sm_60, is refused' 1
    has out '    good: no fault found in it' 1
    has out '    bad: refused' 1
    has out '      6:3: P2003 ' 1
    has out '        nonsense.u32 1;' 1
    has out '    outside of kernels: 9:18: P2003 ' 1
    has out '    last: refused' 1
    has out '    end: no fault found in it' 1
    # What a file says goes to no terminal as it is: a library's name, a line of PTX.
    LC_ALL=C sed 's/libcuda\.so\.1/lib\x1b[2J\xffso.1/' "$LINKED" >evil
    printf '.version 7.0\n.target sm_60\n.address_size 64\n.visible .entry k() { nonsense.u32 \033[2J; }\n' >evil.ptx
    for options in "" --json; do
        # shellcheck disable=SC2086
        want 1 "$TRACE" check $options evil evil.ptx
        has out 'lib?[2J?so.1'
        has out 'nonsense.u32 ?[2J'
        LC_ALL=C grep -q "$(printf '[\033\377]')" out && fail "what a file says reaches the terminal"
    done
    # needs.c: functions of five libraries.
    want 1 "$TRACE" check "$NEEDS"
    has out 'imports 6 CUDA functions, of which 3 are not here' 1
    has out '  driver: 3 functions, 2 not here' 1
    has out '  Runtime: 1 function, 1 in part' 1
    has out '  cuBLAS: 1 function, 1 not here' 1
    has out '  NVML: 1 function, 1 not here' 1
    grep '^  not here:' out | tr ' ' '\n' | grep -E '^(cu|nvml)' | sort >names
    printf 'cuNoSuchFunction\ncublasCreate_v2\nnvmlInit_v2\n' | sort | cmp - names || fail "not here: $(cat names)"
    has out cuInit 0
    want 1 "$TRACE" check --functions "$NEEDS"
    has out '    cuInit' 1
    has out '    cuNoSuchWeakFunction: not here, and not needed' 1
    has out '    cudaGetExportTable: in part: as the driver: the tables of docs/export-tables.md' 1
    # A folder: the ELF files, fatbins and PTX files that use CUDA.
    mkdir d && cp "$LINKED" d/one && cp "$NEEDS" d/two && cp /bin/true d/three && echo text >d/four && cp good.ptx d
    want 1 "$TRACE" check --json d
    [ "$(grep -c '"verdict":	"[rl]' out)" = 3 ] || fail "verdicts of a folder"
    want 1 "$(dirname "$TRACE")/cudaway" check d
    has out 'd/one: runs' 1
    has out 'd/two: lacks something' 1
    has out 'd/good.ptx: runs' 1
    has out three 0
    want 0 "$TRACE" check "$TRACE"
    has out 'cudaway-trace: no CUDA' 1
    has out ' libraries without CUDA' 1
    want 2 "$TRACE" check no-such-file
    one_line err
    want 2 "$TRACE" check
    one_line err
    mkdir empty && want 0 "$TRACE" check empty
    has out 'nothing here uses CUDA' 1
    ;;
libraries)
    # Libraries as the dynamic linker finds them. The linker itself (--list) must find the same files, and miss the same.
    linker=$(readelf -p .interp "$TRACE" | sed -n 's/.*\] *\(\/.*\)/\1/p')
    [ -x "$linker" ] && command -v "$CC" >/dev/null && command -v python3 >/dev/null || { echo "skipped: no dynamic linker, compiler or python3"; exit 77; }
    same_as_linker() { # program: what check --json says of it, in paths, against the linker
        LD_TRACE_LOADED_OBJECTS=1 "$linker" "$1" >listed 2>/dev/null
        "$TRACE" check --json "$1" >json 2>err
        python3 - "$1" "$linker" <<'END' || fail "$1: other libraries than the linker's"
import json, os, re, sys
program, linker = sys.argv[1:]
lines = open("listed").read().splitlines()
theirs = {os.path.realpath(m[1]) for m in (re.search(r"=> (.*) \(0x", l) or re.match(r"\s*(/.*) \(0x", l) for l in lines) if m}
theirs.add(os.path.realpath(linker))
lost = {l.split()[0] for l in lines if l.endswith("=> not found")}
me = [f for f in json.load(open("json")) if f["file"] == program][0]
ours = {os.path.realpath(p) for p in me["loads_without_cuda"] + [l["file"] for l in me["loads"]]}
ours.add(os.path.realpath(linker))
mine = {n["name"] for n in me["not_found"]}
if ours != theirs or lost != mine:
    print("only ours", ours - theirs, "only theirs", theirs - ours, "not found", mine, lost)
    sys.exit(1)
END
    }
    build() { "$CC" -w -o "$@" || fail "$CC $*"; }
    mkdir a b c && unset LD_LIBRARY_PATH
    echo 'int leaf(void) { return 1; }' >leaf.c
    echo 'int leaf(void), cuInit(unsigned), cuNoSuchFunction(void), cuOwnThing(void); int user(void) { return leaf() + cuInit(0) + cuNoSuchFunction() + cuOwnThing(); }' >user.c
    echo 'int user(void); int cuOwnThing(void) { return 5; } int main(void) { return user(); }' >app.c
    build a/libleaf.so -shared -fPIC -Wl,-soname,libleaf.so leaf.c
    # RUNPATH with $ORIGIN; the program's RPATH, likewise. cuOwnThing is the program's own.
    build b/libuser.so -shared -fPIC -Wl,-soname,libuser.so -Wl,--enable-new-dtags,-rpath,'$ORIGIN/../a' user.c -La -lleaf
    build app -rdynamic -Wl,--disable-new-dtags,-rpath,'${ORIGIN}/b' app.c -Lb -luser -Wl,-rpath-link,a -Wl,--unresolved-symbols=ignore-all
    want 1 "$TRACE" check "$dir/app"
    [ "$(head -n 1 out)" = "$dir/app: lacks something" ] || fail "$(head -n 1 out)"
    has out "  loads $dir/b/libuser.so, needed by $dir/app: lacks something" 1
    has out "$dir/b/libuser.so: lacks something (loaded by $dir/app)" 1
    has out '  driver: 2 functions, 1 not here' 1
    has out '  not here: cuNoSuchFunction' 1
    has out 'not found' 0
    has out '  loads 3 libraries without CUDA' 1           # libleaf, the C library, the linker
    same_as_linker "$dir/app"
    # Each library once, whoever loads it.
    cp app again
    want 1 "$TRACE" check app again
    has out 'libuser.so: lacks something (loaded by app again)' 1
    # Gone; elsewhere in LD_LIBRARY_PATH; a file there for another machine is passed over.
    mv a/libleaf.so c
    want 1 "$TRACE" check "$dir/app"
    has out "  not found: libleaf.so, needed by $dir/b/libuser.so" 1
    same_as_linker "$dir/app"
    LD_LIBRARY_PATH=$dir/nowhere:$dir/c same_as_linker "$dir/app"
    LD_LIBRARY_PATH="$dir/nowhere;c" same_as_linker "$dir/app"
    mkdir other && printf '\x7fELF\x02\x01\x01%9s\x03\x00\xb7\x00\x01' '' | tr ' ' '\0' >other/libleaf.so && head -c 200 /dev/zero >>other/libleaf.so
    LD_LIBRARY_PATH=$dir/other:$dir/c same_as_linker "$dir/app"
    LD_LIBRARY_PATH=$dir/other:$dir/c "$TRACE" check "$dir/app" >out
    has out 'not found' 0
    # An RPATH is that of the whole chain, but not where the library has a RUNPATH of its own.
    cp c/libleaf.so b
    same_as_linker "$dir/app"
    has json '"not_found":	[{' 1
    build b/libuser.so -shared -fPIC -Wl,-soname,libuser.so user.c -La -Lc -lleaf
    same_as_linker "$dir/app"
    has json '"not_found":	[]' 1
    # $LIB, subdirectories for better processors, default folders left out, a path as a name.
    rm b/libleaf.so
    lib=$("$linker" --list-diagnostics | sed -n 's/^dl_dst_lib="\(.*\)"/\1/p')
    mkdir -p "b/$lib" && cp c/libleaf.so "b/$lib"
    build b/libuser.so -shared -fPIC -Wl,-soname,libuser.so -Wl,--enable-new-dtags,-rpath,'$ORIGIN/nothing:$ORIGIN/$LIB' user.c -Lc -lleaf
    same_as_linker "$dir/app"
    has json '"not_found":	[]' 1
    for level in 2 3 4; do mkdir -p "b/$lib/glibc-hwcaps/x86-64-v$level" && cp c/libleaf.so "b/$lib/glibc-hwcaps/x86-64-v$level"; done
    same_as_linker "$dir/app"
    build app -rdynamic -Wl,-rpath,b -Wl,-z,nodefaultlib app.c -Lb -luser -Wl,-rpath-link,c -Wl,--unresolved-symbols=ignore-all
    same_as_linker "$dir/app"
    has json libc.so.6
    cp c/libleaf.so c/plain.so
    build d.so -shared -fPIC user.c "$dir/c/libleaf.so" && mv c/libleaf.so c/gone
    build e.so -shared -fPIC leaf.c && build app2 app.c -Wl,--unresolved-symbols=ignore-all "$dir/e.so"
    same_as_linker "$dir/app2"
    # One of CUDA's libraries that is here, but not ours: its functions are not ours either, and it is told of as one of CUDA's.
    echo 'int cudnnCreate(void) { return 0; }' >cudnn.c && build libcudnn.so.9 -shared -fPIC -Wl,-soname,libcudnn.so.9 cudnn.c
    echo 'int cudnnCreate(void); int main(void) { return cudnnCreate(); }' >dnn.c && build dnn -Wl,-rpath,'$ORIGIN' dnn.c libcudnn.so.9
    want 1 "$TRACE" check "$dir/dnn"
    has out '  cuDNN: 1 function, 1 not here' 1
    has out "  loads libcudnn.so.9: CUDAway does not have it; this one is here: $dir/libcudnn.so.9" 1
    has out "$dir/libcudnn.so.9: runs (loaded by $dir/dnn)" 1
    # Programs of the system.
    for p in "$(command -v python3)" "$TRACE" "$(command -v "$CC")" "$(command -v ffmpeg)"; do
        [ -z "$p" ] || same_as_linker "$p"
    done
    ;;
modules)
    # Images that checkimages.c describes.
    "$CHECKIMAGES" || fail "checkimages"
    want 1 "$TRACE" check sass.fatbin
    has out 'sass.fatbin: lacks something' 1
    has out '  module 0 has machine code of NVIDIA'"'"'s alone' 1
    has out '    alpha, machine code for sm_75 sm_86 sm_90' 1
    has out '    delta, machine code for sm_90' 1
    has out beta 0
    has out gamma 0
    # The PTX that the device would take.
    want 0 "$TRACE" check two.fatbin
    has out '    older, from PTX for sm_60' 1
    has out newer 0
    has out alpha 0
    CUDAWAY_COMPUTE_CAPABILITY=9.0 want 0 "$TRACE" check two.fatbin
    has out '    newer, from PTX for sm_90' 1
    has out older 0
    CUDAWAY_COMPUTE_CAPABILITY=5.0 want 0 "$TRACE" check two.fatbin
    has out '    older, from PTX for sm_60, newer than the device; it is tried' 1
    want 1 "$TRACE" check unnamed.fatbin
    has out '    kernels that cannot be named, machine code for sm_80' 1
    want 1 "$TRACE" check cut.fatbin
    has out 'cut.fatbin: lacks something' 1
    has out '  damaged: ' 1
    # In a program: what nvcc puts into every one lacks nothing, nor does what it links of relocatable code.
    if command -v objcopy >/dev/null; then
        objcopy --add-section .nv_fatbin=empty.bin /bin/true empty
        want 0 "$TRACE" check empty
        has out 'empty: runs' 1
        has out '    older, from PTX for sm_60' 1
        objcopy --add-section .nv_fatbin=linked.bin /bin/true alone
        want 1 "$TRACE" check alone
        has out '    older, machine code for sm_80' 1
        objcopy --add-section .nv_fatbin=linked.bin --add-section __nv_relfatbin=relocatable.bin /bin/true linked
        want 0 "$TRACE" check linked
        has out 'linked: runs' 1
        has out '    older, from PTX for sm_60' 1
    fi
    # All of it as JSON.
    want 1 "$TRACE" check --json sass.fatbin two.fatbin
    python3 - <<'END' || fail "check --json"
import json
sass, two = json.load(open("out"))
assert sass["verdict"] == "lacks something" and two["verdict"] == "runs"
module, = sass["modules"]
assert module["verdict"] == "no PTX" and module["machine_code"] == ["sm_75", "sm_86", "sm_90"]
assert {k["name"]: k["machine_code"] for k in module["kernels"]} == {"alpha": ["sm_75", "sm_86", "sm_90"], "delta": ["sm_90"]}
module, = two["modules"]
assert module["ptx"] == "sm_60" and module["machine_code"] == ["sm_80"] and [k["name"] for k in module["kernels"]] == ["older"]
END
    ;;
used)
    # A recording: what app.c says that it calls.
    want 0 record -o r -- "$APP" fixture
    want 1 "$TRACE" check r
    has out 'r: lacks something' 1
    has out '    cuInit, called 3 times' 1
    has out '    cuMemAlloc_v2, called 3 times, 1 failed' 1
    has out '    cuModuleGetFunction, called 2 times, 1 failed' 1
    has out '  refused: cuGraphCreate gave CUDA_ERROR_NOT_SUPPORTED, 1 time' 1
    has out '  refused: cuProfilerStart gave CUDA_ERROR_NOT_SUPPORTED, 1 time' 1
    has out '  asked for and not found: cuNoSuchThing, 1 time' 1
    has out '  image: ptx, ' 1
    has out ', loaded 1 time' 1
    has out '    saxpy, from PTX for sm_60' 1
    has out '  4 launches of 1 kernel' 1
    has out '    saxpy: 4 launches, 1 failed; its PTX: compiles' 1
    # Ours: a module that it refuses, a function that it does not have.
    if [ -e "$(dirname "$LAYER")/../libcuda.so.1" ]; then
        want 0 "$TRACE" record --device null -o ours -- "$APP" refused
        want 1 "$TRACE" check ours
        has out '    cuCheckpointProcessGetState, called 1 time, 1 failed: not here: a process'"'"'s device state cannot be saved' 1
        has out '  not here: cuCheckpointProcessGetState' 1
        has out '  refused: cuModuleLoadData gave CUDA_ERROR_INVALID_PTX, 1 time' 1
        has out ', loaded 0 times, refused 1 time' 1
        has out '    fine: no fault found in it' 1
        has out '    wrong: refused' 1
        has out '      7:5: P2003 ' 1
        has out '    fail719, from PTX for sm_60' 1
        has out '    fine: 5 launches; its PTX: compiles' 1
        want 1 "$TRACE" check --json ours
        python3 - <<'END' || fail "check --json of a recording"
import json
r, = json.load(open("out"))
assert r["verdict"] == "lacks something" and r["complete"] is True
calls = {f["name"]: (f["calls"], f["failed"], f["status"]) for f in r["functions"]}
assert calls["cuModuleLoadData"] == (2, 1, "implemented") and calls["cuLaunchKernel"] == (5, 0, "implemented")
assert calls["cuCheckpointProcessGetState"] == (1, 1, "missing") and r["missing"] == ["cuCheckpointProcessGetState"]
assert sorted(m["verdict"] for i in r["images"] for m in i["modules"]) == ["compiles", "refused"] and all(i["kept"] for i in r["images"])
assert [(k["name"], k["launches"]) for k in r["kernels"]] == [("fine", 5)]
END
        want 0 "$TRACE" record --device null -o long -- "$APP" long_block
        want 0 "$TRACE" record --device null -o good -- "$APP" exit 0
        want 0 "$TRACE" check good
        has out 'good: runs' 1
        # A recording and a binary in one command line.
        want 1 "$TRACE" check "$LINKED" ours
        has out 'trace_linked: runs' 1
        has out 'ours: lacks something' 1
    fi
    # A trace without a manifest, as lttng-relayd leaves it; a folder of binaries in which recordings lie.
    cp -r r/trace relayed
    want 1 "$TRACE" check relayed
    has out 'relayed: lacks something' 1
    mkdir work && cp -r r work && cp "$LINKED" work
    want 0 "$TRACE" check work
    has out 'work/trace_linked: runs' 1
    has out 'called' 0
    # No calls: no list.
    want 0 record -o nothing -- "$APP" nothing
    want 2 "$TRACE" check nothing
    one_line err
    ;;
*)
    echo "no such case"
    exit 2
    ;;
esac
exit $bad
