#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Try a bundle where nothing else is: in a root folder that holds glibc, the bundle and one CUDA test program. Records the
# program, shows and reports the recording, compiles a kernel ahead of time. Needs root (chroot); skipped (77) without.
#   bundle.sh ARCHIVE PROGRAM PTX_FOLDER       PROGRAM is tests/cuda's cuda-kernels
set -euo pipefail
[ $# = 3 ] || { echo "usage: bundle.sh ARCHIVE PROGRAM PTX_FOLDER" >&2; exit 2; }
[ -f "$1" ] || { echo "skipped: no bundle at $1 (tools/bundle makes it)"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "skipped: chroot needs root"; exit 77; }
root=$(mktemp -d)
clean() { umount "$root/proc" "$root/dev" "$root/dev/shm" 2>/dev/null || true; umount -l "$root/dev" "$root/proc" 2>/dev/null || true; rm -rf --one-file-system "$root"; }
trap clean EXIT
mkdir -p "$root"/{lib64,lib/x86_64-linux-gnu,proc,dev,tmp,run,ptx,opt,etc,bin,usr,var/run}
mount -t proc proc "$root/proc" 2>/dev/null || true
mount -t tmpfs tmpfs "$root/dev" 2>/dev/null || { echo "skipped: may not mount in this container"; exit 77; }
mkdir "$root/dev/shm"
mknod -m 666 "$root/dev/null" c 1 3 && mknod -m 666 "$root/dev/zero" c 1 5 && mknod -m 666 "$root/dev/urandom" c 1 9
cp -L /lib64/ld-linux-x86-64.so.2 "$root/lib64/"
for l in libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1 libresolv.so.2 libnss_files.so.2; do
    [ ! -e "/lib/x86_64-linux-gnu/$l" ] || cp -L "/lib/x86_64-linux-gnu/$l" "$root/lib/x86_64-linux-gnu/"
done
echo 'root:x:0:0:root:/:/bin/sh' >"$root/etc/passwd"
echo 'root:x:0:' >"$root/etc/group"
cp "$2" "$root/program"
cp "$3"/vector.sm_80.ptx "$3"/reduce.sm_80.ptx "$root/ptx/"
tar -C "$root/opt" -xf "$1"
chroot=$(command -v chroot || echo /usr/sbin/chroot)
bundle=/opt/$(ls "$root/opt")
inside() { env -i HOME=/tmp PATH=/nowhere TMPDIR=/tmp CUDAWAY_DEVICE=host "$chroot" "$root" "$@"; }

inside "$bundle/bin/cudaway-trace" record -o /tmp/recording -- /program -d /ptx -s 80 vec_add reduce | tee "$root/out"
grep -q '^2 run, 0 checks failed\|^[1-9][0-9]* run, 0 checks failed' "$root/out" || { echo "FAIL: the program under record"; exit 1; }
inside "$bundle/bin/cudaway-trace" report /tmp/recording >"$root/report"
grep -E '^recorded +[1-9][0-9]* calls, 0 failed' "$root/report" || { cat "$root/report"; echo "FAIL: the report"; exit 1; }
grep -q 'LOST' "$root/report" && { echo "FAIL: events were lost"; exit 1; }
inside "$bundle/bin/cudaway-trace" show /tmp/recording >"$root/show"
grep -q 'cuLaunchKernel' "$root/show" || { echo "FAIL: show lists no launch"; exit 1; }
for target in gfx1100 host; do
    inside "$bundle/bin/cudaway-cc" --target $target --emit obj /ptx/vector.sm_80.ptx -o /tmp/vector.o
    [ "$(head -c 4 "$root/tmp/vector.o" | tr -d '\177')" = ELF ] || { echo "FAIL: cudaway-cc for $target"; exit 1; }
done
echo "ok   the bundle works alone"
