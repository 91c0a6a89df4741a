#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# config.sh SHOW: which value of a setting counts (docs/ld-preload.md), what is said of a file that is wrong or that others can write, and that a setuid
# program believes root's file alone. The parts with /etc/cudaway.conf and setuid need root and a mount namespace; without, they are left out and say so.
set -u
for v in $(compgen -e | grep '^CUDAWAY_'); do unset "$v"; done      # a caller's settings come before those of files
show=$(realpath "$1") bad=0
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir"
fail() { echo "FAIL: $*"; bad=1; }
cp "$show" "$dir/app"
cp "$show" "$dir/other app"
mkdir -p "$dir/home/.config/cudaway" "$dir/xdg/cudaway"
own=$dir/home/.config/cudaway/cudaway.conf
run() { env -u XDG_CONFIG_HOME -u CUDAWAY_CONFIG -u CUDAWAY_LOG HOME="$dir/home" "$@" 2>&1; }
expect() { local want=$1; shift; local got; got=$(run "$@"); [ "$got" = "$want" ] || fail "$*: '$got', not '$want'"; }

cat >"$own" <<C
# a comment
  CUDAWAY_DEVICE = host
CUDAWAY_CACHE_SIZE=2G	
[other app]
CUDAWAY_DEVICE = never
[app second]
CUDAWAY_DEVICE = host:O0
CUDAWAY_LOG_FILE = $dir/with = and blanks
[third]
CUDAWAY_HIP_LIBRARY = x
C
export CUDAWAY_UNSET=
unset CUDAWAY_UNSET
expect "CUDAWAY_CACHE_SIZE=2G from $own:3" "$dir/app" CUDAWAY_CACHE_SIZE
expect "CUDAWAY_DEVICE=host:O0 from $own:7" "$dir/app" CUDAWAY_DEVICE
expect "CUDAWAY_HIP_LIBRARY=(none) from nowhere" "$dir/app" CUDAWAY_HIP_LIBRARY
expect "CUDAWAY_LOG_FILE=$dir/with = and blanks from $own:8" "$dir/app" CUDAWAY_LOG_FILE
expect "CUDAWAY_DEVICE=hip from environment" CUDAWAY_DEVICE=hip "$dir/app" CUDAWAY_DEVICE
expect "CUDAWAY_DEVICE=host from $own:2" "$show" CUDAWAY_DEVICE
expect "CUDAWAY_DEVICE=(none) from nowhere" CUDAWAY_CONFIG=none "$dir/app" CUDAWAY_DEVICE
expect "CUDAWAY_DEVICE=(none) from nowhere" XDG_CONFIG_HOME="$dir/xdg" "$dir/app" CUDAWAY_DEVICE
echo 'CUDAWAY_DEVICE = cuda' >"$dir/xdg/cudaway/cudaway.conf"
expect "CUDAWAY_DEVICE=cuda from $dir/xdg/cudaway/cudaway.conf:1" XDG_CONFIG_HOME="$dir/xdg" "$dir/app" CUDAWAY_DEVICE
printf '[app]\nCUDAWAY_DEVICE=auto' >"$dir/given"
expect "CUDAWAY_DEVICE=auto from $dir/given:2" CUDAWAY_CONFIG="$dir/given" "$dir/app" CUDAWAY_DEVICE

# What is wrong is named, and the rest counts.
wrong() {       # TEXT COMPLAINT
    printf "$1" >"$dir/given"
    local got
    got=$(run CUDAWAY_CONFIG="$dir/given" "$dir/app" CUDAWAY_DEVICE)
    [[ $got == *"CUDAWAY_DEVICE=host from $dir/given:"* ]] || fail "not read: $1: $got"
    [[ $got == *"cudaway: warning: $dir/given:$2"* ]] || fail "not said: '$2': $got"
}
wrong 'CUDAWAY_DEVICE=host\nCUDAWAY_WAT=1\n' '2: unknown setting CUDAWAY_WAT'
wrong 'CUDAWAY_DEVICE=host\nnonsense\n' '2: neither NAME = VALUE'
wrong 'CUDAWAY_DEVICE=host\n[app\nCUDAWAY_DEVICE=cuda\n' '2: a section is'
wrong 'CUDAWAY_DEVICE=host\nCUDAWAY_TRACE_SOCKET=/x\n' '2: CUDAWAY_TRACE_SOCKET is for the environment alone'
wrong 'CUDAWAY_DEVICE=host\nCUDAWAY_LOG\0=x\n' '2: a zero byte'
not_believed() {        # WHY
    local got
    got=$(run CUDAWAY_CONFIG="$dir/given" "$dir/app" CUDAWAY_DEVICE)
    [[ $got == *"$dir/given$1"*"no setting is taken from it"* && $got == *"CUDAWAY_DEVICE=(none) from nowhere"* ]] || fail "not '$1': $got"
}
echo 'CUDAWAY_DEVICE = host' >"$dir/given"
chmod 666 "$dir/given"
not_believed ' can be written by others'
chmod 644 "$dir/given"
head -c 33000 /dev/zero | tr '\0' '\n' >>"$dir/given"
not_believed ' has more than 32768 bytes'
rm "$dir/given"
not_believed ': No such file'
mkfifo -m 644 "$dir/given"
not_believed ' is not a regular file'

if [ "$(id -u)" = 0 ] && unshare -m mount -t tmpfs none /mnt 2>/dev/null; then
    rm "$dir/given"
    echo 'CUDAWAY_DEVICE = host' >"$dir/given"
    chown 65534 "$dir/given"
    not_believed ' belongs to somebody else'
    cat >"$dir/system" <<C
CUDAWAY_DEVICE = gfxemu:gfx90a
CUDAWAY_CACHE_SIZE = 1M
[app]
CUDAWAY_CACHE_DIR = /var/cache/x
C
    in_etc() { unshare -m sh -c 'mkdir -p '"$dir"'/etc && cp /etc/passwd '"$dir"'/etc/ && cp '"$dir/system $dir"'/etc/cudaway.conf && mount --bind '"$dir"'/etc /etc; exec "$@"' sh "$@"; }
    in_etc_run() { local got; got=$(in_etc env -u XDG_CONFIG_HOME -u CUDAWAY_CONFIG HOME="$dir/home" "$@" 2>&1); rm -rf "${dir:?}/etc"; echo "$got"; }
    want="CUDAWAY_DEVICE=host:O0 from $own:7
CUDAWAY_CACHE_SIZE=2G from $own:3
CUDAWAY_CACHE_DIR=/var/cache/x from /etc/cudaway.conf:4"
    got=$(in_etc_run "$dir/app" CUDAWAY_DEVICE CUDAWAY_CACHE_SIZE CUDAWAY_CACHE_DIR)
    [ "$got" = "$want" ] || fail "user before system: '$got'"
    # setuid: the environment and the user's file do not count.
    chmod 4755 "$dir/app"
    want="CUDAWAY_DEVICE=gfxemu:gfx90a from /etc/cudaway.conf:1"
    got=$(in_etc_run setpriv --reuid 65534 --clear-groups env CUDAWAY_DEVICE=cuda CUDAWAY_CONFIG="$own" "$dir/app" CUDAWAY_DEVICE)
    if findmnt -no OPTIONS -T "$dir" | grep -q nosuid; then echo "setuid is off in $dir: not tested"
    else [ "$got" = "$want" ] || fail "setuid: '$got'"; fi
else
    echo "/etc/cudaway.conf and setuid programs were not tested: that needs root and a mount namespace"
fi
exit $bad
