#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Programs with a static runtime of our own (static_runtime.c) are redirected to another (our_runtime.c): by symbols, by signatures,
# through the audit module, and at the first call into the driver. Arguments: the build folder, the folder of the programs.
set -u
build=$1
here=$2
lib=$build/lib/cudaway
cudaway=$build/bin/cudaway
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export CUDAWAY_RUNTIME_LIBRARY=$here/libour_runtime.so CUDAWAY_DEVICE=host CUDAWAY_SIGNATURES=$work/none CUDAWAY_LOG=warn
unset LD_AUDIT LD_PRELOAD LD_LIBRARY_PATH CUDAWAY_STATIC_RUNTIME
bad=0
fail() { echo "FAIL: $*"; bad=1; }

# expect NAME EXPECTED COMMAND...: the command succeeds and prints just that, standard error included.
expect() {
    local name=$1 want=$2 got
    shift 2
    got=$("$@" 2>&1) || fail "$name: status $?"
    [ "$got" = "$want" ] || { fail "$name"; diff <(echo "$want") <(echo "$got"); }
}
by_path() { LD_LIBRARY_PATH=$lib "$@"; }
by_preload() { LD_PRELOAD=$lib/libcuda.so.1 "$@"; }
by_audit() { LD_AUDIT=$lib/libcudaway-audit.so LD_LIBRARY_PATH=$lib "$@"; }
by_run() { "$cudaway" run -- "$@"; }
ways="by_path by_preload by_audit by_run"
# Only where the thread sanitizer's runtime is there before the program begins does it know the program's threads.
tsan=$(ldd "$lib/libcuda.so.1" | grep -c libtsan)
threads() { case $tsan,$1 in 0,*|*,by_audit|*,by_run) ;; *) false ;; esac }
cd "$here" || exit 1

# What a registration prints, for the kernels named.
registration() {
    local k
    for k in "$@"; do printf 'ours __cudaRegisterFatBinary 466243b1\nours __cudaRegisterFunction kernel_%s -1 0\nours __cudaRegisterFatBinaryEnd\n' "$k"; done
}
linked_registration='ours __cudaRegisterFatBinary 466243b1
ours __cudaRegisterFunction kernel_one -1 0
ours __cudaRegisterFunction kernel_two -1 0
ours __cudaRegisterFatBinaryEnd'

# Arguments of every kind of call: in registers, on the stack, a struct by value, packed dim3s, negative ints.
declare -A call=(
    [malloc]='ours cudaMalloc 100' [free]='ours cudaFree (nil)' [device]='ours cudaSetDevice -3'
    [async]='ours cudaMemcpyAsync 0x123456789abcdef0 0xfedcba9876543210 1234605616436508552 3 0x77'
    [array]='ours cudaMemcpy2DToArray 0x10 1 2 0x40 5 6 7 2' [3d]='ours cudaMalloc3D 11 22 33'
    [launch]='ours cudaLaunchKernel 0x50 1,2,3 4,5,6 42 99 0x88' [init]='ours cudaInitDevice 1 2 3')

# ordered FIRST-OR-LAST PROGRAM-KIND...: an audited program registers before it begins, another one at its first call.
want() { # WAY REGISTRATION CALLS
    if [ "$1" = by_path ] || [ "$1" = by_preload ]; then printf 'begin\n%s\n%s' "$2" "$3"; else printf '%s\nbegin\n%s' "$2" "$3"; fi | sed '/^$/d'
}

for way in $ways; do
    for c in "${!call[@]}"; do      # each as the program's first call
        expect "$way $c" "$(want $way "$(registration one two)" "${call[$c]}
result 0
ours cudaFree (nil)
result 0")" $way ./plain "$c" free
        expect "$way $c, no optimisation, fixed address" "$(want $way "$(registration one)" "${call[$c]}
result 0")" $way ./fixed "$c"
        ! threads $way || expect "$way $c, in a thread" "$(want $way "$(registration one two)" "${call[$c]}
result 0")" $way ./plain "@$c"
    done
    # Threads that wait while one of them opens the driver. Their order is their own.
    for _ in 1 2 3; do
        threads $way || break
        got=$($way ./plain threads 2>&1 | grep -v Register | sort)
        [ "$got" = "$({ echo begin; for _ in 1 2 3; do for c in "${!call[@]}"; do echo "${call[$c]}"; echo "result 0"; done; done; } | sort)" ] ||
            { fail "$way threads"; echo "$got"; }
    done
    expect "$way clang" "$(want $way "$(registration clang)" "ours cudaMalloc 100
result 0")" $way ./clang malloc
    expect "$way relocatable device code" "$(want $way "$linked_registration" "ours cudaMalloc 100
result 0")" $way ./linked malloc
    expect "$way no device code" "$(want $way "" "ours cudaMalloc 100
result 0")" $way ./bare malloc
    expect "$way the driver first" "$(want $way "$(registration one)" "result 0
ours cudaMalloc 100
result 0")" $way ./fixed driver malloc
    case $way in
        by_path|by_preload) before= ;;
        *) before="$(registration one)
" ;;
    esac
    expect "$way a child" "${before}begin
$(want $way "$(registration one)" "ours cudaMalloc 100
result 0")" $way ./fixed child malloc
    # Started by the dynamic linker, to which /proc/self/exe leads then.
    interpreter=$(readelf -lW ./plain | sed -n 's/.*interpreter: \(.*\)]/\1/p')
    expect "$way ld.so" "$(want $way "$(registration one two)" "${call[free]}
result 0")" $way "$interpreter" ./plain free
    # A shared library of the Runtime that is not ours. (The audit module would answer with the one of this build.)
    case $way in by_path|by_preload)
        for p in rpath rpath_now; do
            expect "$way $p" "$(want $way "$(registration one two)" "${call[async]}
result 0")" $way ./$p async
        done
        expect "$way rpath_linked" "$(want $way "$linked_registration" "${call[launch]}
result 0")" $way ./rpath_linked launch
    esac
    # A constructor that calls the Runtime before the registration: that comes once, in its own time.
    expect "$way a call before registration" "ours cudaMalloc 100
early 0
$(registration one)
begin
ours cudaFree (nil)
result 0" $way ./early free
    # Loaded, unloaded and loaded again. The second time the driver is there already, and is asked by nobody but the new copy.
    expect "$way dlopen" "$(for _ in 1 2; do want $way "$(registration one)" "ours cudaMalloc 100
result 0
ours cudaFree (nil)
result 0"; echo; done)" $way ./loader ./libentry.so 2 malloc free
    expect "$way off" "begin
static cudaFree
result 0" env CUDAWAY_STATIC_RUNTIME=off "$(command -v bash)" -c "$(declare -f by_path by_preload by_audit by_run); lib=$lib cudaway=$cudaway; $way ./plain free"
done

# Other tools' environment stays.
expect "run keeps what is there" "$lib:/some/folder
$lib/libcudaway-audit.so" env LD_LIBRARY_PATH=/some/folder "$cudaway" run --device host -- /bin/sh -c 'echo "$LD_LIBRARY_PATH"; echo "$LD_AUDIT"'
expect "run --no-redirect" "begin
static cudaFree
result 0" "$cudaway" run --no-redirect -- ./plain free
"$cudaway" run -- /bin/sh -c 'exit 42'
[ $? = 42 ] || fail "run does not give the program's status"
"$cudaway" run -- ./no-such-program 2>"$work/err"
[ $? = 127 ] || fail "run of what is not there"
"$cudaway" run -- ./libstatic_runtime.a 2>"$work/err"
[ $? = 126 ] || fail "run of what is no program"
"$cudaway" run 2>"$work/err"
[ $? = 125 ] || fail "run of nothing"
"$cudaway" no-such-command 2>"$work/err"
[ $? = 2 ] || fail "an unknown command"

# Under the tracer, and between two devices, where these are built: nothing of the static runtime runs. (Behind the C library libtsan finds that
# library's oldest realpath, with which the tracer does not find the driver.)
if [ "$tsan" = 0 ] && [ -x "$build/bin/cudaway-trace" ] && [ -e "$lib/trace/libcuda.so.1" ]; then
    expect "trace" "$(want by_run "$(registration one two)" "ours cudaFree (nil)
result 0
result 0")" "$cudaway" trace record -q -o "$work/trace" -- ./plain free driver
    "$cudaway" trace show "$work/trace" | grep -q cuInit || fail "the driver's calls of a redirected program are not recorded"
fi
if [ -x "$build/bin/cudaway-diff" ] && [ -e "$lib/trace/libcuda.so.1" ]; then
    "$cudaway" diff --reference host --subject host:O0 -- ./plain free driver 2>&1 | grep -qx "ours cudaFree (nil)" || fail "a program is not redirected under diff"
fi

# setuid and setgid programs are refused where that changes who they run as.
cp ./plain "$work/setuid"
if chown 12345:12345 "$work/setuid" 2>/dev/null && chmod 4755 "$work/setuid"; then
    "$cudaway" run -- "$work/setuid" free >"$work/out" 2>"$work/err"
    [ $? = 126 ] && grep -q 'is setuid' "$work/err" && [ ! -s "$work/out" ] || fail "a setuid program is not refused"
    chmod 2755 "$work/setuid"
    "$cudaway" run -- "$work/setuid" free >"$work/out" 2>"$work/err"
    [ $? = 126 ] && grep -q 'is setgid' "$work/err" || fail "a setgid program is not refused"
else
    cp ./plain "$work/setuid" && chmod 4755 "$work/setuid"
    [ "$("$cudaway" run -- "$work/setuid" free | tail -n 1)" = "result 0" ] || fail "one's own setuid program is refused"
fi

# What is not redirected is said, and left alone.
said() { # NAME PATTERN COMMAND...
    local name=$1 pattern=$2
    shift 2
    "$@" >"$work/out" 2>"$work/err"
    grep -q -- "$pattern" "$work/err" || { fail "$name is not said"; cat "$work/err"; }
    [ "$(grep -c 'cudaway:' "$work/err")" = 1 ] || { fail "$name: more than one line"; cat "$work/err"; }
}
at=$(nm ./plain | awk '$3 == "cudaFree" { print $1 }')
said "other bytes" 'is not redirected to ours: cudaFree is not in memory what it is in the file.*-cudart shared' \
    env LD_PRELOAD="$here/spoil.so" SPOIL="$at" LD_LIBRARY_PATH="$lib" ./plain malloc
grep -qx 'static cudaMalloc' "$work/out" || fail "a copy with other bytes was touched"
said "no descriptors" 'cannot be read for want of memory or descriptors' env LD_LIBRARY_PATH="$lib" ./plain full free
grep -qx 'ours cudaFree (nil)' "$work/out" || fail "a copy that could not be read stays as it is"
said "our runtime is missing" "$work/none.so, the CUDA Runtime to redirect to, cannot be read" env CUDAWAY_LOG=error CUDAWAY_RUNTIME_LIBRARY="$work/none.so" \
    LD_LIBRARY_PATH="$lib" bash -c './plain free 2>&1 >/dev/null | head -n 1 >&2'
said "a function that ours has not" 'its first call, cudaOnlyStatic, fails' env LD_LIBRARY_PATH="$lib" ./plain only
grep -qx 'result 35' "$work/out" || fail "a function that ours has not does not fail"
said "info" 'plain: the CUDA Runtime 13 inside is redirected to ours: 14 of its 15 functions, by its symbol table' env CUDAWAY_LOG=info "$cudaway" run -- ./plain

# Stripped programs: named when there is no signature, redirected when there is one.
said "a stripped program" 'stripped seems to hold a stripped CUDA Runtime.*cudaway signatures.*-cudart shared' env LD_LIBRARY_PATH="$lib" ./stripped free
grep -qx 'static cudaFree' "$work/out" || fail "a stripped program was touched"
export CUDAWAY_SIGNATURES=$work/signatures
"$cudaway" signatures ./libstatic_runtime.a 2>"$work/err" || { fail "signatures"; cat "$work/err"; }
grep -q '15 functions in 1 sections' "$work/err" || { fail "signatures counts otherwise"; cat "$work/err"; }
"$cudaway" signatures -o - ./libstatic_runtime.a | cmp - "$work"/signatures/*.sig || fail "signatures -o - writes something else"
"$cudaway" signatures ./libour_runtime.so >/dev/null 2>"$work/err" && fail "signatures takes a shared library"
for way in $ways; do
    expect "$way stripped" "$(want $way "$(registration one two)" "${call[async]}
result 0")" $way ./stripped async
done
expect "linked and stripped, audited" "$(want by_run "$linked_registration" "ours cudaMalloc 100
result 0")" by_run ./linked_stripped malloc
said "linked and stripped" 'linked_stripped: its kernels cannot be registered again.*cudaway run' env LD_LIBRARY_PATH="$lib" ./linked_stripped malloc
# A signature that fits elsewhere by one byte fits nowhere.
sed -E -i 's/^(function cudaLaunchKernel .* )[0-9a-f]{2}/\100/' "$work"/signatures/*.sig
said "a signature of another archive" 'stripped seems to hold a stripped CUDA Runtime' env LD_LIBRARY_PATH="$lib" ./stripped free
echo nonsense >>"$work"/signatures/*.sig
"$cudaway" run -- ./stripped free >"$work/out" 2>"$work/err"
grep -q 'is no line of a signature file' "$work/err" || fail "a damaged signature file is not said"

# Under Valgrind /proc/self/exe is Valgrind, and no process steps: by_path cannot know the arguments, and says so within seconds.
if command -v valgrind >/dev/null && [ "$tsan" = 0 ]; then
    timeout 60 env LD_LIBRARY_PATH="$lib" valgrind -q --log-file="$work/log" ./plain malloc >"$work/out" 2>"$work/err"
    grep -q 'plain: its first call, cudaMalloc, fails: its arguments cannot be told' "$work/err" || { fail "Valgrind, by_path"; cat "$work/out" "$work/err"; }
    timeout 60 "$cudaway" run -- valgrind -q --log-file="$work/log" ./plain malloc >"$work/out" 2>&1
    grep -q 'ours cudaMalloc 100' "$work/out" || { fail "Valgrind, by_run"; cat "$work/out"; }
fi

# info knows the devices and is JSON.
"$cudaway" info --json >"$work/info" || fail "info --json"
python3 - "$work/info" <<'P' || fail "info --json lacks something"
import json, sys
i = json.load(open(sys.argv[1]))
host = next(d for d in i["devices"] if d["kind"] == "host")
assert host["error"] is None and host["list"][0]["memory"] > 0, host
gfxemu = next(d for d in i["devices"] if d["kind"] == "gfxemu")
assert not i["parts"]["libcudaway-gfxemu.so"] or gfxemu["list"][0]["name"].startswith("AMD gfx1100"), gfxemu
assert i["parts"]["libcudaway-audit.so"] and i["signatures"]["files"], i
P
"$cudaway" info | grep -q 'host .*compute capability' || fail "info names no host device"
exit $bad
