#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# install.sh SOURCE BUILD PTX: what `cmake --install` makes works where it lies and after it was moved; other programs find the compiler and the replay
# library through CMake and pkg-config; nothing installed names the folder of the build.
set -u
src=$1 build=$2 ptx=$3 bad=0
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAIL: $*"; bad=1; }
unset CUDAWAY_CACHE_DIR
export XDG_CACHE_HOME=$dir/cache

DESTDIR=$dir/stage cmake --install "$build" --prefix /opt/away >"$dir/log" 2>&1 || { tail -n 5 "$dir/log"; exit 1; }
[ "$(ls "$dir/stage")" = opt ] || fail "DESTDIR: installed beside the prefix: $(ls "$dir/stage")"
mv "$dir/stage/opt/away" "$dir/moved away"
at="$dir/moved away"

# Each program says the same version.
version=$("$at/bin/cudaway" --version) || fail "cudaway --version"
[[ $version =~ ^cudaway\ [0-9]+\.[0-9]+\.[0-9]+ ]] || fail "version: $version"
for p in "$at"/bin/*; do
    name=$(basename "$p")
    [ "$("$p" --version 2>&1)" = "$name ${version#cudaway }" ] || fail "$name --version: $("$p" --version 2>&1 | head -n 1)"
    [ -s "$at/share/man/man1/$name.1" ] && [ -s "$at/share/bash-completion/completions/$name" ] || fail "no manual page or completion of $name"
done
"$at/bin/cudaway" info --json >"$dir/info" || fail "cudaway info"
grep -q "\"libraries\": *\"$at/lib/cudaway\"" "$dir/info" || fail "cudaway info names other libraries: $(grep libraries "$dir/info")"
! grep '"parts"' "$dir/info" | grep -q false || fail "something is missing: $(grep false "$dir/info")"
"$at/bin/cudaway-cc" --target gfx1100 "$ptx" -o "$dir/x.co" || fail "cudaway-cc"
[ "$(head -c 4 "$dir/x.co" | tr -d '\177')" = ELF ] || fail "cudaway-cc wrote no code object"

# Nothing that is built for users is left out.
while read -r f; do
    [ -e "$at/lib/cudaway/$f" ] || fail "lib/cudaway/$f is built, not installed: name its target in cmake/install.cmake"
done < <(cd "$build/lib/cudaway" && find . -name '*.so*' ! -name 'libtest_*' -type f)

# A program with the driver API alone, and the trace layer over it.
cat >"$dir/app.c" <<'C'
#include "impl/api/cuda.h"
#include <stdio.h>
int main(void)
{
    int n = 0, v = 0;
    CUdevice d;
    if (cuInit(0) || cuDeviceGetCount(&n) || cuDeviceGet(&d, 0) || cuDriverGetVersion(&v))
        return 1;
    printf("%d %d\n", n, v);
    return 0;
}
C
api="$at/share/cudaway/api"
inc="$at/include/cudaway"
cc -I"$inc" "$dir/app.c" -o "$dir/app" -L"$at/lib/cudaway" -l:libcuda.so.1 || fail "a driver program does not compile"
out=$("$at/bin/cudaway" run --device host -- "$dir/app") || fail "cudaway run"
[ "$out" = "1 13000" ] || fail "cudaway run: $out"
[ -f "$api/model.json" ] && [ -f "$api/functions/memory.json" ] && [ -f "$api/runtime/model.json" ] || fail "the API model is not in $api"

# Other programs.
cat >"$dir/use.c" <<'C'
#include "jit/jit.h"
#include "replay/compare.h"
#include <stdio.h>
int main(int argc, char **argv)
{
    const struct cwj_api *jit = cudaway_jit_api(CWJ_API_VERSION);
    struct cwd_dump d;
    struct cwd_error e = { "" };
    static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() { ret; }\n";
    const struct cwj_input in = { "k.ptx", text, sizeof text - 1 };
    struct cwj_program *p;
    struct cwj_diags diags;
    jit->diags_init(&diags);
    if (jit->program_create(&in, 1, false, &p, &diags) || jit->kernel_count(p) != 1)
        return 1;
    jit->program_destroy(p);
    jit->diags_finish(&diags);
    if (cwd_read(argv[1], 0, 0, &d, &e) == CW_OK)
        return 2;
    puts(e.text);
    return 0;
}
C
mkdir "$dir/use"
cat >"$dir/use/CMakeLists.txt" <<'C'
cmake_minimum_required(VERSION 3.25)
project(use C)
find_package(cudaway 0.1 REQUIRED)
add_executable(use ../use.c)
target_link_libraries(use PRIVATE cudaway::jit cudaway::replay)
if(NOT EXISTS ${cudaway_API_DIR}/model.json OR NOT EXISTS ${cudaway_CC})
  message(FATAL_ERROR "cudaway_API_DIR or cudaway_CC")
endif()
C
if cmake -S "$dir/use" -B "$dir/use/build" -DCMAKE_PREFIX_PATH="$at" >"$dir/log" 2>&1 && cmake --build "$dir/use/build" >"$dir/log" 2>&1; then
    "$dir/use/build/use" "$dir/app.c" | grep -q 'app.c' || fail "the program made with find_package"
else
    tail -n 8 "$dir/log"
    fail "find_package"
fi
if command -v pkg-config >/dev/null; then
    # pkg-config quotes a blank for a shell.
    PKG_CONFIG_PATH=$(dirname "$(find "$at" -name cudaway-jit.pc)")
    export PKG_CONFIG_PATH
    flags=$(pkg-config --cflags --libs cudaway-jit cudaway-replay) || fail "pkg-config"
    eval "cc \"$dir/use.c\" -o \"$dir/use2\" $flags" || fail "pkg-config: does not compile: $flags"
    "$dir/use2" "$dir/app.c" | grep -q 'app.c' || fail "the program made with pkg-config"
    eval "[ $(pkg-config --variable=api cudaway-api) -ef \"$api\" ]" || fail "pkg-config: the API model is in $(pkg-config --variable=api cudaway-api 2>&1), not in $api"
fi

# What text files and run paths say of where they were made.
named=$(grep -rlIF -e "$build" -e "$dir" "$at" | head -n 3)
[ -z "$named" ] || fail "these name the folder of the build: $named"
for f in "$at"/bin/* "$at"/lib/cudaway/*.so* "$at"/lib/cudaway/trace/*; do
    ! readelf -dW "$f" | grep -E 'R(UN)?PATH' | grep -q "\[/" || fail "$f looks into a folder of its own: $(readelf -dW "$f" | grep -E 'R(UN)?PATH')"
done

# The version without a tag, with one, behind one, with changes, and without git.
said() { cmake -DSOURCE="$dir/git" -DNUMBER=1.2.3 -DOUT="$dir/version.c" -P "$src/cmake/version.cmake" && sed -n 's/.*return "\(.*\)";/\1/p' "$dir/version.c"; }
mkdir "$dir/git"
[ "$(said)" = 1.2.3 ] || fail "version without git: $(said)"
for v in v1.2.3=1.2.3 v1.2.3-4-gabcdef0-dirty=1.2.3-4-gabcdef0-dirty abcdef0=1.2.3-gabcdef0; do
    echo "${v%=*}" >"$dir/git/.version"
    [ "$(said)" = "${v#*=}" ] || fail "version of packed sources, ${v%=*}: $(said)"
done
rm "$dir/git/.version"
for f in cmake/version.cmake tools/package; do
    grep -qF -- 'describe --tags --always --dirty --abbrev=7 "--match=v[0-9]*"' "$src/$f" || fail "$f describes in its own way"
done
commit() { git -C "$dir/git" -c user.name=x -c user.email=x@example.org commit -qm "$1"; }
git -C "$dir/git" init -q && touch "$dir/git/a" && git -C "$dir/git" add a && commit a
[[ $(said) =~ ^1\.2\.3-g[0-9a-f]{7,}$ ]] || fail "version without a tag: $(said)"
git -C "$dir/git" tag v1.2.3
[ "$(said)" = 1.2.3 ] || fail "version of a tag: $(said)"
touch "$dir/git/b" && git -C "$dir/git" add b
[ "$(said)" = 1.2.3-dirty ] || fail "version with changes: $(said)"
commit b
[[ $(said) =~ ^1\.2\.3-1-g[0-9a-f]{7,}$ ]] || fail "version behind a tag: $(said)"
exit $bad
