#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Try a bundle where nothing else is: in a root folder that holds glibc, the bundle and one CUDA test program. As root and as
# an ordinary user: runs the program, records it, shows, reports and exports the recording, replays its kernel dumps, compares
# two devices, compiles a kernel ahead of time. Then where and with what variables the container definitions have it. Needs root (chroot); skipped (77) without.
#   bundle.sh ARCHIVE PROGRAM PTX_FOLDER CONTAINERS       PROGRAM is tests/cuda's cuda-kernels, CONTAINERS the folder docs/container
set -euo pipefail
[ $# = 4 ] || { echo "usage: bundle.sh ARCHIVE PROGRAM PTX_FOLDER CONTAINERS" >&2; exit 2; }
[ -f "$1" ] || { echo "skipped: no bundle at $1 (tools/bundle makes it)"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "skipped: chroot needs root"; exit 77; }
root=$(mktemp -d)
clean() { umount "$root/proc" "$root/dev" "$root/dev/shm" 2>/dev/null || true; umount -l "$root/dev" "$root/proc" 2>/dev/null || true; rm -rf --one-file-system "$root"; }
trap clean EXIT
mkdir -p "$root"/{lib64,lib/x86_64-linux-gnu,proc,dev,tmp,run,ptx,etc,usr,var/run}
mount -t proc proc "$root/proc" 2>/dev/null || true
mount -t tmpfs tmpfs "$root/dev" 2>/dev/null || { echo "skipped: may not mount in this container"; exit 77; }
mkdir -m 1777 "$root/dev/shm"
chmod 1777 "$root/tmp"
chmod 755 "$root"
mknod -m 666 "$root/dev/null" c 1 3 && mknod -m 666 "$root/dev/zero" c 1 5 && mknod -m 666 "$root/dev/urandom" c 1 9
cp -L /lib64/ld-linux-x86-64.so.2 "$root/lib64/"
ln -s ../../lib64/ld-linux-x86-64.so.2 "$root/lib/x86_64-linux-gnu/"      # as Debian has it: LD_AUDIT's libraries look for it there
for l in libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1 libresolv.so.2 libnss_files.so.2; do
    [ ! -e "/lib/x86_64-linux-gnu/$l" ] || cp -L "/lib/x86_64-linux-gnu/$l" "$root/lib/x86_64-linux-gnu/"
done
printf 'root:x:0:0:root:/:/none\nuser:x:1000:1000:user:/tmp:/none\n' >"$root/etc/passwd"
printf 'root:x:0:\nuser:x:1000:\n' >"$root/etc/group"
cp "$2" "$root/program"
cp "$3"/vector.sm_80.ptx "$3"/reduce.sm_80.ptx "$root/ptx/"
# To a folder of another name than it was packed from, with a blank in it.
mkdir "$root/some place"
tar -C "$root/some place" --no-same-owner -xf "$1"
bundle="/some place/$(ls "$root/some place")"
mv "$root$bundle" "$root/some place/bundle"
bundle="/some place/bundle"
chroot=$(command -v chroot || echo /usr/sbin/chroot)
fail() { echo "FAIL: $user: $*"; exit 1; }
inside() { env -i HOME="$dir" PATH=/nowhere CUDAWAY_DEVICE=host ${lib:+LD_LIBRARY_PATH="$lib"} "$chroot" --userspec="$user" "$root" "$@"; }
tool() { local t=$1; shift; inside "$bundle/bin/$t" "$@"; }

for user in 0:0 1000:1000; do
    dir=/tmp/u${user%%:*}                # as seen from inside
    mkdir "$root$dir" && chown "$user" "$root$dir"
    lib="$bundle/lib/cudaway" inside /program -d /ptx -s 80 vec_add reduce | tee "$root/out"
    ran=$(sed -n 's/^\([1-9][0-9]*\) run, 0 checks failed$/\1/p' "$root/out")
    [ -n "$ran" ] || fail "the program alone"

    tool cudaway-trace record --dump-kernels --dump-limit 2 -o "$dir/recording" -- /program -d /ptx -s 80 vec_add reduce >"$root/out" 2>"$root/err" || { cat "$root/err"; fail "record"; }
    ! grep 'ld\.so' "$root/err" || fail "the dynamic linker lacks something"
    grep -qx "$ran run, 0 checks failed" "$root/out" || { cat "$root/out"; fail "the program under record"; }
    tool cudaway-trace report "$dir/recording" >"$root/report"
    grep -E '^recorded +[1-9][0-9]* calls, 0 failed' "$root/report" || { cat "$root/report"; fail "the report"; }
    if grep -q 'LOST' "$root/report"; then fail "events were lost"; fi
    tool cudaway-trace show "$dir/recording" >"$root/show"
    grep -q 'cuLaunchKernel' "$root/show" || fail "show lists no launch"
    tool cudaway-trace export -o "$dir/trace.json" "$dir/recording"
    grep -q 'cuLaunchKernel' "$root$dir/trace.json" || fail "export has no launch"

    dumps=0
    while read -r dump; do
        tool cudaway-replay --check "${dump#"$root"}" >"$root/out" 2>&1 || { cat "$root/out"; fail "replay of $(basename "$dump")"; }
        grep -q 'the results are the recorded ones' "$root/out" || { cat "$root/out"; fail "replay compared nothing"; }
        dumps=$((dumps + 1))
    done < <(find "$root$dir/recording" -name '*.cwdump')
    [ "$dumps" = 2 ] || fail "$dumps kernel dumps, not 2"

    tool cudaway-diff --reference host --subject host:O0 -o "$dir/differ" -- /program -d /ptx -s 80 vec_add >"$root/out" 2>&1 || { cat "$root/out"; fail "diff"; }
    grep -q 'host against host:O0: [1-9][0-9]* launches compared, 0 differ' "$root/out" || { cat "$root/out"; fail "diff compared nothing"; }

    for target in gfx1100 host; do
        tool cudaway-cc --target $target --emit obj /ptx/vector.sm_80.ptx -o "$dir/vector.o"
        [ "$(head -c 4 "$root$dir/vector.o" | tr -d '\177')" = ELF ] || fail "cudaway-cc for $target"
    done
    [ -z "$(find "$root/tmp" -maxdepth 1 -name '*cudaway-*')" ] || fail "left in /tmp: $(ls "$root/tmp")"
    echo "ok   the bundle works alone as $user"
done

# A container has what its definition copies and sets.
check_container() {     # FILE COPIES VARIABLES: lines "FROM TO" and "NAME=VALUE"
    [ "$2" = "cudaway /opt/cudaway" ] || fail "$1 copies '$2'"
    local variables
    mapfile -t variables < <(sed 's|\$PATH|/nowhere|' <<<"$3")
    [ "${#variables[@]}" = 2 ] || fail "$1 sets '$3'"
    env -i HOME="/tmp/u0" "${variables[@]}" "$chroot" "$root" /program -d /ptx -s 80 vec_add >"$root/out" 2>&1 || { cat "$root/out"; fail "the program in the container of $1"; }
    env -i HOME="/tmp/u0" "${variables[@]}" "$chroot" "$root" cudaway info >"$root/out" || fail "cudaway info in the container of $1"
    grep -q '^  libraries  */opt/cudaway/lib/cudaway$' "$root/out" || { cat "$root/out"; fail "$1: other libraries"; }
    echo "ok   $1"
}
user=0:0
mkdir "$root/opt"
mv "$root$bundle" "$root/opt/cudaway"
check_container Dockerfile "$(sed -n 's/^COPY //p' "$4/Dockerfile")" "$(sed -n 's/^ENV //p' "$4/Dockerfile")"
check_container cudaway.def "$(sed -n '/^%files/,/^$/s/^    //p' "$4/cudaway.def")" "$(sed -n 's/^    export //p' "$4/cudaway.def")"
