#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# package.sh PACKAGES SOURCE [SUITE]: the Debian packages of tools/package in a fresh chroot: they install beside a driver of the system's without touching it, debian/tests/installed passes
# as root and as a user, and debian/tests/demo; installing again and upgrading to a next version work, and purging leaves nothing. Skipped (77) without packages, root, debootstrap or a mirror.
# SUITE noble is Ubuntu 24.04, with glibc 2.39, from Ubuntu's archive; debootstrap then wants Ubuntu's keys (ubuntu-archive-keyring). Environment: MIRROR.
set -u
packages=$1 src=$2 suite=${3:-bookworm} bad=0
ls "$packages"/cudaway_*.deb >/dev/null 2>&1 || { echo "skipped: no packages in $packages (tools/package makes them)"; exit 77; }
[ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null || { echo "skipped: needs root and debootstrap"; exit 77; }
(cd "$packages" && sha256sum --quiet -c SHA256SUMS) || exit 1
root=$(mktemp -d)
clean() { umount -l "$root/dev" "$root/proc" "$root" 2>/dev/null; rm -rf --one-file-system "$root"; }
trap clean EXIT
chmod 755 "$root"
mount --bind "$root" "$root"      # a root folder of which recordings can have their own view
fail() { echo "FAIL: $*"; bad=1; }
from=("${MIRROR:-http://deb.debian.org/debian}") components=main
[ "$suite" != noble ] || from=("${MIRROR:-http://archive.ubuntu.com/ubuntu}" gutsy) components=main,universe      # gutsy: debootstrap's script for all of Ubuntu
debootstrap --variant=minbase --components=$components "$suite" "$root" "${from[@]}" >"$packages/chroot.log" 2>&1 || { tail -n 2 "$packages/chroot.log"; echo "skipped: debootstrap does not work here"; exit 77; }
cp /etc/resolv.conf "$root/etc/"
cp -r /etc/apt/apt.conf.d "$root/etc/apt/" 2>/dev/null
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --make-rslave "$root/dev"
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"; }
quietly() { inside "$@" >>"$packages/chroot.log" 2>&1 || { tail -n 6 "$packages/chroot.log"; fail "$*"; return 1; }; }

mkdir "$root/packages"
cp "$packages"/*.deb "$root/packages/"
mkdir -p "$root/source/tests"
cp -r "$src/debian" "$root/source/" && cp -r "$src/tests/programs" "$root/source/tests/" || exit 1
quietly apt-get update -q
# NVIDIA's driver, as far as files go.
echo "not ours" >"$root/usr/lib/x86_64-linux-gnu/libcuda.so.1"
names() { inside find / -xdev \( -path /proc -o -path /dev -o -path /packages -o -path /next -o -path /source -o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/cache -o -path /var/log -o -path /tmp \) -prune -o -iname '*cudaway*' -print; }
quietly apt-get install -qy --no-install-recommends gcc libc6-dev man-db ffmpeg
before=$(names)
quietly sh -c 'apt-get install -qy --no-install-recommends /packages/*.deb' || exit 1
inside useradd -m user
for who in root user; do
    inside su -s /bin/sh -c '/source/debian/tests/installed' $who >"$packages/test.log" 2>&1 || { tail -n 12 "$packages/test.log"; fail "the test as $who"; }
done
inside su -s /bin/sh -c 'cd /source && debian/tests/demo' user >"$packages/demo.log" 2>&1 || { tail -n 12 "$packages/demo.log"; fail "the demo"; }
[ "$(inside dpkg -S /usr/lib/cudaway/libcuda.so.1)" = 'cudaway: /usr/lib/cudaway/libcuda.so.1' ] || fail "whose is the driver?"
quietly sh -c 'apt-get install -qy --reinstall /packages/*.deb'
inside /source/debian/tests/installed >"$packages/test.log" 2>&1 || { tail -n 12 "$packages/test.log"; fail "the test after installing again"; }
# The next version: the same packages with another number.
mkdir "$root/next"
for d in "$packages"/*.deb; do
    dpkg-deb -R "$d" "$root/next/tree" && version=$(sed -n 's/^Version: //p' "$root/next/tree/DEBIAN/control") &&
        sed -i "s/^Version: .*/Version: $version+next/; s/(= $version)/(= $version+next)/g" "$root/next/tree/DEBIAN/control" &&
        dpkg-deb -Zgzip -z1 -b "$root/next/tree" "$root/next/$(basename "$d")" >>"$packages/chroot.log" 2>&1 || fail "the next version of $d"
    rm -rf "$root/next/tree"
done
quietly sh -c 'apt-get install -qy --no-install-recommends /next/*.deb'
[ "$(inside dpkg-query -W -f '${Version}' cudaway)" = "$version+next" ] || fail "an upgrade"
inside /source/debian/tests/installed >"$packages/test.log" 2>&1 || { tail -n 12 "$packages/test.log"; fail "the test after an upgrade"; }
quietly apt-get purge -qy cudaway cudaway-tools cudaway-dev cudaway-doc
[ "$(cat "$root/usr/lib/x86_64-linux-gnu/libcuda.so.1")" = "not ours" ] || fail "the system's driver was touched"
after=$(names)
[ "$before" = "$after" ] || fail "purging leaves $(diff <(echo "$before") <(echo "$after") | tr '\n' ' ')"
exit $bad
