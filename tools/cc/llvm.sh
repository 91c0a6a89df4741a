#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Recompile the files of LLVM in which cudaway-cc spends its time (hot.txt), from the source of the installed LLVM, with a profile and optimised
# across files; everything else comes from the installed archives (docs/performance.md).
#   llvm.sh BUILD FOLDER
# BUILD is a build folder with CUDAWAY_LLVM_STATIC and CUDAWAY_CC_ALONE. FOLDER gets hot.o, and BUILD is configured to use it. Results of an
# earlier run in FOLDER with the same LLVM and files are reused. Takes half an hour on two cores, and 4 GB of disk.
# Environment: JOBS (default: number of CPUs); LLVM_SOURCE: an unpacked source (with llvm/lib) in place of the Debian package's. The package's gets the
# patches of third_party/llvm/patches; LLVM_SOURCE is taken as it is.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
version=22
jobs=${JOBS:-$(nproc)}
say() { printf '== %s\n' "$*"; }
die() { echo "llvm.sh: $*" >&2; exit 1; }
# --for LLVM_CONFIG prints the identity of the archives for which hot.o must have been made.
if [ "${1:-}" = --for ]; then
    cd "$("$2" --libdir)"
    echo "$("$2" --version) $(stat -c %s libLLVMCore.a libLLVMCodeGen.a libLLVMAMDGPUCodeGen.a | tr '\n' ' ')"
    exit
fi
[ $# = 2 ] || { sed -n '5,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
[ -e "$1/CMakeCache.txt" ] || die "$1 is no build folder: run cmake first (tools/bundle --hot does all of it)"
mkdir -p "$2"
build=$(cd "$1" && pwd)
out=$(cd "$2" && pwd)
config=llvm-config-$version
command -v "$config" >/dev/null || die "there is no $config: run tools/setup"
bin=$("$config" --bindir)
headers=$("$config" --includedir)
archives=$("$config" --libdir)
for p in clang++ ld.lld llvm-tblgen llvm-profdata; do
    [ -x "$bin/$p" ] || die "there is no $bin/$p: install Debian's clang-$version, lld-$version and llvm-$version"
done
command -v patch >/dev/null || die "there is no patch: install Debian's patch"
counters=$("$bin/clang++" -print-file-name=lib/linux/libclang_rt.profile-x86_64.a)
[ -e "$counters" ] || die "there is no $counters: install Debian's libclang-rt-$version-dev"
mapfile -t hot < <(grep -v '^#' "$here/hot.txt")

# Fetch the upstream source of the package that installed the archives; apt checks its signature. Any suite that has the same upstream version will
# do (the pool of security updates loses sources first): the headers are compared below.
fetch() {
    local package wanted codename v
    read -r package wanted < <(dpkg-query -W -f '${source:Package} ${source:Version}\n' "llvm-$version-dev" 2>/dev/null) ||
        die "the archives in $archives are of no Debian package: unpack the source of LLVM $("$config" --version) and say where with LLVM_SOURCE"
    codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    mkdir -p "$out/fetched/lists/partial"
    printf 'deb-src http://deb.debian.org/%s main\n' "debian $codename" "debian-security $codename-security" "debian sid" >"$out/fetched/src.list"
    local apt=(-o "Dir::Etc::sourcelist=$out/fetched/src.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$out/fetched/lists" -o APT::Sandbox::User=root)
    say "fetch $package"
    apt-get "${apt[@]}" -q update >"$out/log" 2>&1 || { tail -n 5 "$out/log" >&2; die "no list of Debian's sources"; }
    for v in "$wanted" $(apt-cache "${apt[@]}" showsrc "$package" | sed -n "s/^Version: \(${wanted%%-*}-.*\)/\1/p"); do
        (cd "$out/fetched" && apt-get "${apt[@]}" -q --download-only --tar-only source "$package=$v") >"$out/log" 2>&1 && break
    done
    compgen -G "$out/fetched/*.orig.tar.xz" >"$out/log" ||
        die "Debian has no source $package $wanted any more? Upgrade llvm-$version-dev, or unpack it and say where with LLVM_SOURCE"
    say "unpack and patch"
    rm -rf "$out/source.new" && mkdir -p "$out/source.new"
    tar -C "$out/source.new" --strip-components=1 --wildcards --no-wildcards-match-slash -xf "$out"/fetched/*.orig.tar.xz 'llvm-toolchain-*/llvm/lib' 'llvm-toolchain-*/llvm/include'
    for p in "${patches[@]}"; do
        patch -d "$out/source.new" -p1 <"$p" >"$out/log" 2>&1 || { tail -n 20 "$out/log" >&2; die "$p does not apply to LLVM $("$config" --version)"; }
    done
    mv "$out/source.new" "$source"
}
patches=("$here"/../../third_party/llvm/patches/*.patch)
source=${LLVM_SOURCE:-$out/source-$(cat "${patches[@]}" | sha256sum | cut -c 1-12)}
[ -d "$source/llvm/lib" ] || { [ -z "${LLVM_SOURCE:-}" ] || die "$source has no llvm/lib"; fetch; }
# The files are compiled with the installed headers, which must equal those of the source, or the objects would not fit the archives.
for d in ADT Analysis CodeGen IR MC Support Target Transforms; do
    differs=$(cd "$source/llvm/include/llvm/$d" && find . -name '*.h' -o -name '*.td' -o -name '*.def' | while read -r f; do cmp -s "$f" "$headers/llvm/$d/$f" || echo "$f"; done)
    [ -z "$differs" ] || die "$source is not the source of $config: llvm/$d/$(head -n 1 <<<"$differs") is not the installed one"
done

common='-fno-pic -fno-pie -ffunction-sections -fdata-sections -w'
front="-std=c++17 -DNDEBUG -D_GNU_SOURCE -D__STDC_CONSTANT_MACROS -D__STDC_FORMAT_MACROS -D__STDC_LIMIT_MACROS -fno-exceptions -fvisibility-inlines-hidden -fno-stack-protector $common"
# Discard results of a run with other inputs.
stamp=$({ "$bin/clang++" --version; find "$archives" -name 'libLLVM*.a' -printf '%s\n' | sort; printf '%s\n' "$source" "${hot[@]}" "$front"; } | sha256sum)
if [ "$(cat "$out/stamp" 2>/dev/null)" != "$stamp" ]; then
    rm -rf "$out"/{new,tables,front,counting,used,hot.o,counting.o}
    cmake -S "$here/../.." -B "$build" -UCUDAWAY_HOT_LLVM >"$out/log" 2>&1 || { cat "$out/log" >&2; die "cmake failed"; }
    echo "$stamp" >"$out/stamp"
fi
mkdir -p "$out"/{tables,front,counting,used}
export bin out headers common front source

# Generated tables that the files include.
backend=$source/llvm/lib/Target/AMDGPU
tables=$({ cat "$backend"/*.h "$backend"/Utils/*.h "$backend"/MCTargetDesc/*.h; for f in "${hot[@]}"; do cat "$source/llvm/lib/$f"; done; } |
    grep -o '"\(AMDGPU\|R600\)Gen[A-Za-z]*\.inc"' | tr -d '"' | sort -u)
{ sed -n 's/^set(LLVM_TARGET_DEFINITIONS \(.*\))/in \1/p; s/^tablegen(LLVM \([^ ]*\) \(-[a-z-]*\).*/out \1 \2/p' "$backend/CMakeLists.txt" |
    awk '$1 == "in" { definitions = $2 } $1 == "out" { print definitions, $2, $3 }' | grep -F "$tables"; } >"$out/wanted"
# A table may come in several files, which name each other.
table() {
    [ ! -e "$out/tables/$2" ] || return 0
    echo "   $2"
    mkdir -p "$out/new/$2" &&
        "$bin/llvm-tblgen" -I "$headers" -I "$source/llvm/lib/Target/AMDGPU" "$source/llvm/lib/Target/AMDGPU/$1" "$3" -o "$out/new/$2/$2" &&
        find "$out/new/$2" -type f ! -name "$2" -exec mv {} "$out/tables" \; && mv "$out/new/$2/$2" "$out/tables"
}
export -f table
say "tables: $(wc -l <"$out/wanted")"
xargs -P "$jobs" -n 3 bash -c 'table "$@"' llvm.sh <"$out/wanted" || die "llvm-tblgen failed"

# Each file is parsed once, compiled to code with profile counters, and later, with the profile, to bitcode for ThinLTO.
# shellcheck disable=SC2086
counting() {
    local name=${1//\//_}
    [ ! -e "$out/counting/$name.o" ] || return 0
    echo "   $1"
    "$bin/clang++" $front -O2 -Xclang -disable-llvm-passes -emit-llvm -I"$headers" -I"$source/llvm/lib/Target/AMDGPU" -I"$source/llvm/lib/Transforms/InstCombine" \
        -I"$out/tables" -c "$source/llvm/lib/$1" -o "$out/front/$name.bc" &&
        "$bin/clang++" -O2 $common -fprofile-generate -x ir -c "$out/front/$name.bc" -o "$out/$name.new" && mv "$out/$name.new" "$out/counting/$name.o"
}
# shellcheck disable=SC2086
used() {
    local name=${1//\//_}
    "$bin/clang++" -O2 $common -fprofile-use="$out/profile" -flto=thin -x ir -c "$out/front/$name.bc" -o "$out/used/$name.o"
}
export -f counting used
say "code that counts: ${#hot[@]} files"
printf '%s\n' "${hot[@]}" | xargs -P "$jobs" -n 1 bash -c 'counting "$@"' llvm.sh || die "clang failed"
objects() { local f; for f in "${hot[@]}"; do echo "$out/$1/${f//\//_}.o"; done; }
if [ ! -e "$out/profile" ] || [ ! -e "$out/hot.o" ]; then
    mapfile -t files < <(objects counting)
    "$bin/ld.lld" -r "${files[@]}" --whole-archive "$counters" -o "$out/counting.o"
    say "a program of it, and its profile"
    cmake -S "$here/../.." -B "$build" -DCUDAWAY_COUNTING_LLVM="$out/counting.o" >"$out/log" 2>&1 || { cat "$out/log" >&2; die "cmake failed"; }
    cmake --build "$build" -j "$jobs" --target cudaway-cc-counting >"$out/log" 2>&1 || { tail -n 40 "$out/log" >&2; die "the build failed"; }
    rm -rf "$out/counts"
    # shellcheck source=tools/cc/training.sh
    . "$here/training.sh"
    export LLVM_PROFILE_FILE=$out/counts/%4m
    n=0
    while read -r target file; do
        if "$build/bin/cudaway-cc-counting" -j 0 -O 3 --target "$target" "$file" -o "$out/compiled" >"$out/log" 2>&1; then n=$((n + 1)); else echo "   no profile from $file for $target"; fi
    done < <(training_files more)
    [ $n -ge 300 ] || { cat "$out/log" >&2; die "only $n programs were compiled"; }
    "$bin/llvm-profdata" merge "$out"/counts/* -o "$out/profile"
fi
if [ ! -e "$out/hot.o" ]; then
    say "code with the profile: ${#hot[@]} files"
    printf '%s\n' "${hot[@]}" | xargs -P "$jobs" -n 1 bash -c 'used "$@"' llvm.sh || die "clang failed"
    say "optimise them together"
    mapfile -t files < <(objects used)
    # -r: any program can link it, since nothing in it is considered unused.
    "$bin/ld.lld" -r --thinlto-jobs="$jobs" "${files[@]}" -o "$out/hot.new"
    "$here/llvm.sh" --for "$config" >"$out/made_for"
    mv "$out/hot.new" "$out/hot.o"
fi
cmake -S "$here/../.." -B "$build" -UCUDAWAY_COUNTING_LLVM -DCUDAWAY_HOT_LLVM="$out/hot.o" >"$out/log" 2>&1 || { cat "$out/log" >&2; die "cmake failed"; }
say "$out/hot.o: ${#hot[@]} files of LLVM compiled for cudaway-cc-release; $build uses it"
