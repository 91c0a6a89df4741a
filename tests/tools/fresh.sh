#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fresh.sh SOURCE [demo|check|using]...: the README on a machine that has nothing but git: a fresh chroot of Debian 12 gets a clone of SOURCE, runs the README's two commands and then each
# command of "Using it" (readme.sh --all), or those of the three that are named. By hand, as root: it downloads some gigabytes and builds for half an hour and more. The log is fresh.log here.
# Environment: JOBS, MIRROR, SUITE (default bookworm).
set -u
[ $# -ge 1 ] && src=$(git -C "$1" rev-parse --show-toplevel) || { sed -n '3,5s/^# \{0,1\}//p' "$0" >&2; exit 2; }
shift
steps=" ${*:-demo check using} "
for s in $steps; do case $s in demo | check | using) ;; *) echo "fresh.sh: there is no step '$s'" >&2; exit 2 ;; esac; done
[ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null || { echo "fresh.sh: needs root and debootstrap" >&2; exit 2; }
log=$PWD/fresh.log bad=0 suite=${SUITE:-bookworm} mirror=${MIRROR:-http://deb.debian.org/debian}
root=$(mktemp -d)
clean() { umount -l "$root/dev" "$root/proc" "$root" 2>/dev/null; rm -rf --one-file-system "$root"; }
trap clean EXIT
chmod 755 "$root"
mount --bind "$root" "$root"      # a root folder of which recordings can have their own view
say() { printf '== %s %s\n' "$(date +%T)" "$*"; }
step() {        # WHAT COMMAND: in the chroot
    say "$1"
    chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive ${JOBS:+JOBS="$JOBS"} bash -c "$2" >>"$log" 2>&1 ||
        { tail -n 20 "$log"; echo "FAIL: $1 (the log is $log)"; bad=1; }
}
: >"$log"
say "a chroot of $suite"
debootstrap --variant=minbase --include=git,ca-certificates "$suite" "$root" "$mirror" >>"$log" 2>&1 || { tail -n 5 "$log"; exit 1; }
printf 'deb %s %s main\n' "$mirror" "$suite" "$mirror" "$suite-updates" "${mirror%/debian}/debian-security" "$suite-security" >"$root/etc/apt/sources.list"
cp -r /etc/apt/apt.conf.d "$root/etc/apt/" 2>/dev/null
cp /etc/resolv.conf "$root/etc/"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --make-rslave "$root/dev"
git clone -q --no-hardlinks "$src" "$root/root/cudaway" || exit 1
wanted() { [[ $steps == *" $1 "* ]]; }
if wanted demo; then step "tools/demo" "cd ~/cudaway && tools/demo"; fi
if wanted check; then step "tools/check" "cd ~/cudaway && tools/check"; fi
if wanted using; then
    # What packs the kernels of the program for this is part of the tests, which a demo alone does not build.
    step "Using it" "cd ~/cudaway && ninja -C build tests/runtime/runtime-pack && tests/tools/readme.sh ~/cudaway/build ~/cudaway clang-22 ~/cudaway/build/tests/runtime/runtime-pack --all"
fi
[ $bad = 0 ] || exit 1
say "done on a fresh machine:$steps($(tail -n 1 "$log"))"
