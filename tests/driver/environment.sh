#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# environment.sh PROGRAM DEVICE: variables that name files, in a program that compiles a kernel (PROGRAM --here rounding). Those of LLVM and LLD write nothing. A folder
# for temporary files that is not there stops nothing. A program with rights that its user lacks believes none of them (docs/ld-preload.md): it
# writes nothing where its user says, and runs no code that lies there. That part needs root.
set -u
program=$1
export CUDAWAY_DEVICE=$2 CUDAWAY_LOG=warn
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
bad=0
fail() { echo "FAILED: $*"; bad=1; }

mkdir "$work/files"
CUDAWAY_CACHE_SIZE=0 LLD_REPRODUCE=$work/files/tar JITDUMPDIR=$work/files "$program" --here rounding || fail "with variables of LLD and LLVM"
[ -z "$(ls -A "$work/files")" ] || fail "written: $(ls -A "$work/files")"
CUDAWAY_CACHE_SIZE=0 TMPDIR=$work/missing "$program" --here rounding || fail "TMPDIR names no folder"

if [ "$(id -u)" != 0 ] || ! setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$program" 2>/dev/null || findmnt -no OPTIONS -T "$work" | grep -q nosuid; then
    echo "privileged programs were not tested: that needs root, and a program that others can run"
    exit $bad
fi
chmod 755 "$work"
privileged() { # how
    rm -rf "$work/user"
    mkdir "$work/user" && chown 65534 "$work/user"
    setpriv --reuid 65534 --regid 65534 --clear-groups env -u CUDAWAY_CONFIG HOME="$work/user" XDG_CACHE_HOME="$work/user" XDG_CONFIG_HOME="$work/user" TMPDIR="$work/user" \
        CUDAWAY_CACHE_DIR="$work/user" CUDAWAY_LOG=debug CUDAWAY_LOG_FILE="$work/user/log" CUDAWAY_JIT_DUMP="$work/user/dump" CUDAWAY_DUMP_DIR="$work/user/dumps" \
        CUDAWAY_HIP_LIBRARY="$work/user/hip.so" LLD_REPRODUCE="$work/user/tar" "$work/program" --here rounding 2>"$work/err" || { fail "$1: status $?"; cat "$work/err"; }
    [ -z "$(ls -A "$work/user")" ] || fail "$1: written: $(find "$work/user" -mindepth 1)"
    [ ! -s "$work/err" ] || { fail "$1: said"; cat "$work/err"; }
}
cp "$program" "$work/program" && chmod 4755 "$work/program" && privileged setuid
if command -v setcap >/dev/null && chmod 755 "$work/program" && setcap cap_net_raw+ep "$work/program" 2>/dev/null; then
    privileged "file capabilities"
fi
exit $bad
