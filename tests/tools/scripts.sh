#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The shell scripts parse, refuse unknown options with status 2, and tools/setup knows what is missing.
# Argument: the source folder.
set -u
cd "$1" || exit 1
bad=0
fail() { echo "FAIL: $*"; bad=1; }

while IFS= read -r f; do
    case $(head -n 1 "$f") in
        '#!/bin/sh') sh -n "$f" || fail "$f does not parse" ;;
        '#!/bin/bash') bash -n "$f" || fail "$f does not parse" ;;
        *) continue ;;
    esac
    [ -x "$f" ] || fail "$f is not executable"
    if command -v shellcheck >/dev/null; then shellcheck -S warning "$f" || fail "shellcheck $f"; fi
    # grep -q ends with the first match, what writes to it then ends of SIGPIPE, and that is the pipe's status: "found" becomes "not found" now and then.
    ! grep -qE '^set .*pipefail' "$f" || ! grep -nE '\| *grep +-[A-Za-z]*q' "$f" || fail "$f: grep -q at the end of a pipe, with pipefail"
done < <(find .ci tools tests/tools tests/programs debian/tests -type f \( -name '*.sh' -o ! -name '*.*' \) | sort)

# What all of tools/ have, run from another folder: --version and --help on standard output, and one line that names the script on a wrong option, on an option
# without its value, and on an argument that is none.
here=$PWD
habits=$(mktemp -d) || exit 1
run() { (cd "$habits" && timeout 120 "$here/tools/$1" "${@:2}" >out 2>err </dev/null); }
one_line() { # NAME ARGUMENT...: is wrong
    run "$@"
    [ $? = 2 ] || fail "tools/$*: not status 2"
    [ "$(wc -l <"$habits/err")" = 1 ] && [ ! -s "$habits/out" ] && grep -q "^tools/$1: " "$habits/err" || fail "tools/$*: $(head -n 3 "$habits/err")"
}
scripts=0
for f in tools/*; do
    [ -f "$f" ] && [ -x "$f" ] || continue
    t=${f#tools/}
    scripts=$((scripts + 1))
    one_line "$t" --no-such-option
    one_line "$t" -Z
    run "$t" --version && grep -qE "^tools/$t [0-9]+\.[0-9]+" "$habits/out" && [ "$(wc -l <"$habits/out")" = 1 ] && [ ! -s "$habits/err" ] || fail "tools/$t --version"
    run "$t" --help && grep -q "tools/$t" "$habits/out" && [ ! -s "$habits/err" ] || fail "tools/$t --help"
done
[ $scripts -ge 14 ] || fail "only $scripts scripts in tools"
while read -r words; do
    # shellcheck disable=SC2086
    one_line $words
done <<'END'
check no-such-component
demo no-such-filter
bundle -o
bundle nothing
package -o
sums --sign
sums
sbom one two
fuzz --hours
fuzz --hours many
bench no-such-part
clients --device
clients no-such-client
record-corpus -t
record-corpus -t folder
bisect-pass --device
bisect-pass
setup nothing
programs
END
rm -rf "$habits"

# The files of LLVM that are compiled anew are named once; what they are trained with is there; and another LLVM's source is refused.
awk '!/^#/ && (!/^[A-Za-z0-9\/]+\.cpp$/ || seen[$0]++) { print "bad line: " $0; bad = 1 } END { exit bad || NR < 10 }' tools/cc/hot.txt || fail "tools/cc/hot.txt"
# A patch changes nothing unless the files that it touches are compiled anew.
for p in third_party/llvm/patches/*.patch; do
    grep -q '^Subject: \[PATCH\] ' "$p" || fail "$p has no subject"
    patched=$(sed -n 's|^+++ b/llvm/lib/||p' "$p")
    [ -n "$patched" ] || fail "$p patches nothing in llvm/lib"
    for f in $patched; do grep -qx "$f" tools/cc/hot.txt || fail "$p patches $f, which tools/cc/hot.txt does not name"; done
done
files=$(. tools/cc/training.sh; training_files more | awk '{ print $2 }' | sort -u)
for f in $files; do [ -e "$f" ] || fail "training.sh names $f, which is not there"; done
[ "$(wc -l <<<"$files")" -ge 200 ] || fail "training.sh names few files"
clang=$(command -v clang-22 || command -v clang)
if [ -n "$clang" ]; then
    kernels=$(mktemp -d) || exit 1
    (. tools/cc/training.sh; training_kernels "$clang" "$kernels") >"$kernels/list" || fail "clang refuses tools/cc/training.cu"
    [ "$(wc -l <"$kernels/list")" = 4 ] || fail "training_kernels names other than four files"
    while read -r _ f; do [ "$(grep -c '\.visible \.entry' "$f")" -ge 40 ] || fail "few kernels in $f"; done <"$kernels/list"
    rm -rf "$kernels"
fi
tools/cc/llvm.sh >/dev/null 2>&1
[ $? = 2 ] || fail "tools/cc/llvm.sh does without arguments"
source=$(mktemp -d) || exit 1
mkdir -p "$source"/llvm/{lib,include/llvm/ADT} && echo 'class APInt;' >"$source/llvm/include/llvm/ADT/APInt.h" && touch "$source/CMakeCache.txt"
out=$(LLVM_SOURCE=$source tools/cc/llvm.sh "$source" "$source/hot" 2>&1) && fail "tools/cc/llvm.sh takes the source of another LLVM"
case $out in *APInt.h*|*"there is no"*) ;; *) fail "tools/cc/llvm.sh with another source: $out" ;; esac
rm -rf "$source"

# Each package is listed once, with its set and a purpose.
tools/setup --list | awk '
    NF < 3 || ($2 != "build" && $2 != "test") { print "bad line: " $0; bad = 1 }
    seen[$1]++ { print "twice: " $1; bad = 1 }
    END { exit bad || NR < 10 }' || fail "tools/setup --list"

# With a dpkg-query that knows no package, --check names all of them and fails; with one that knows all, it succeeds.
fake=$(mktemp -d) || exit 1
trap 'rm -rf "$fake"' EXIT
printf '#!/bin/sh\nexit 1\n' >"$fake/dpkg-query"
chmod +x "$fake/dpkg-query"
out=$(PATH=$fake:$PATH tools/setup --check) && fail "tools/setup --check succeeds with nothing installed"
for p in $(tools/setup --list | awk '{ print $1 }'); do
    case $out in *"$p"*) ;; *) fail "tools/setup --check does not name $p" ;; esac
done
cat >"$fake/dpkg-query" <<'END'
#!/bin/sh
shift 2
for p; do echo "$p:amd64 installed"; done
END
out=$(PATH=$fake:$PATH tools/setup --check) || fail "tools/setup --check fails with everything installed: $out"
exit $bad
