#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# readme.sh BUILD SOURCE CLANG PACK [--all]: each command of the README's "Using it" as it is written, in a folder where `build` is BUILD and your-cuda-program is readme.cu; those that
# have something to say say it. Without --all not tools/bundle, which builds for long. Skipped (77) without clang.
set -u
build=$1 src=$2 clang=$3 pack=$4 all=${5:-} bad=0
[ -n "$clang" ] || { echo "skipped: no clang"; exit 77; }
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 2
fail() { echo "FAIL: $*"; bad=1; }
for v in $(compgen -e | grep '^CUDAWAY_'); do unset "$v"; done
export XDG_CACHE_HOME=$dir/cache XDG_CONFIG_HOME=$dir/config CUDAWAY_CONFIG=none

flags=(-x cuda --cuda-gpu-arch=sm_70 --cuda-path=/nonexistent -nocudainc -nocudalib -Xclang -target-sdk-version=12.8 -O2 "-I$src")
"$clang" "${flags[@]}" --cuda-device-only --cuda-feature=+ptx60 -S "$src/tests/tools/readme.cu" -o module.ptx && "$pack" module.fatbin module=70=module.ptx &&
    "$clang" "${flags[@]}" --cuda-host-only -Xclang -fcuda-include-gpubinary -Xclang module.fatbin -fPIC -c "$src/tests/tools/readme.cu" -o program.o &&
    c++ program.o -o your-cuda-program "-L$build/lib/cudaway" -l:libcudart.so.13 || exit 1
ln -s "$build" build

# COMMAND PATTERN: what it must print.
expect='
cudaway run	^all values are right$
LD_LIBRARY_PATH=	^all values are right$
cudaway info	^.*[Dd]evice
trace record -o	^all values are right$
trace show	cuLaunchKernel
trace report	^kernels: 1 launches of 1$
--dump-kernels	^all values are right$
replay --check	the results are the recorded ones
cudaway-diff	1 launches compared, 0 differ
precompile	: 1 kernels of 1 modules:
tools/bundle	cudaway-[0-9.]*-x86_64.tar.zst: [0-9]* kB
'
ran=0
while IFS= read -r line; do
    command=${line%%  #*}
    folder=.
    case $command in tools/bundle*) folder=$src; [ -n "$all" ] || continue ;; esac
    (cd "$folder" && exec bash -c "$command") >out 2>&1 </dev/null || { fail "status $?: $command"; tail -n 5 out; continue; }
    ran=$((ran + 1))
    while IFS=$'\t' read -r part pattern; do
        [ -n "$part" ] && [[ $command == *"$part"* ]] || continue
        grep -q -- "$pattern" out || { fail "$command does not say $pattern:"; tail -n 5 out; }
    done <<<"$expect"
done < <(sed -n '/^## Using it/,/^`/s/^    //p' "$src/README.md")
[ $ran -ge 12 ] || fail "only $ran commands of the README were run"
for f in module.co module.cwfat; do [ -s $f ] || fail "no $f"; done
echo "$ran commands"
exit $bad
