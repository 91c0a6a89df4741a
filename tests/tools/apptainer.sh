#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# apptainer.sh ARCHIVE PROGRAM PTX_FOLDER SOURCE: docs/container/cudaway.def, built and run by Apptainer as root: what docs/ld-preload.md says. PROGRAM is tests/cuda's cuda-kernels. By hand, on a
# system that has Apptainer (Debian sid). Where no registry can be reached, debootstrap's minbase of Debian 12 stands in for debian:12-slim. RUN has options for `apptainer exec`
# ("--no-privs" where root lacks a capability). Skipped (77) without Apptainer or the bundle.
set -u
archive=$(realpath "$1") program=$(realpath "$2") ptx=$(realpath "$3") src=$(realpath "$4") bad=0
[ -f "$archive" ] || { echo "skipped: there is no $archive (tools/bundle makes it)"; exit 77; }
command -v apptainer >/dev/null && [ "$(id -u)" = 0 ] || { echo "skipped: needs apptainer and root"; exit 77; }
dir=$(mktemp -d) || exit 2
trap 'rm -rf --one-file-system "$dir"' EXIT
fail() { echo "FAIL: $*"; bad=1; }
mkdir -p "$dir/context/cudaway" "$dir/programs" && tar -C "$dir/context/cudaway" --strip-components=1 -xf "$archive" && cp "$program" "$ptx"/*.ptx "$dir/programs/" &&
    cp "$src/docs/container/cudaway.def" "$dir/context/" && cd "$dir/context" || exit 2
if ! apptainer build --sandbox "$dir/image" cudaway.def >"$dir/log" 2>&1; then
    echo "no registry ($(grep -a FATAL "$dir/log" | tail -n 1 | grep -o '[^:]*$')): a base made by debootstrap"
    debootstrap --variant=minbase bookworm "$dir/base" "${MIRROR:-http://deb.debian.org/debian}" >"$dir/log" 2>&1 || { tail -n 2 "$dir/log"; echo "skipped: debootstrap does not work here"; exit 77; }
    sed -i "s|^Bootstrap: docker$|Bootstrap: localimage|; s|^From: .*|From: $dir/base|" cudaway.def
    rm -rf "$dir/image"
    apptainer build --sandbox "$dir/image" cudaway.def >"$dir/log" 2>&1 || { tail -n 5 "$dir/log"; echo "FAIL: apptainer build"; exit 1; }
fi
# shellcheck disable=SC2086
inside() { apptainer exec --contain -B "$dir/programs:/programs" ${RUN:-} "$@" >"$dir/out" 2>&1 || { fail "$*"; tail -n 3 "$dir/out"; }; }
inside "$dir/image" cudaway info
grep -q 'libraries *\/opt\/cudaway\/lib\/cudaway' "$dir/out" || fail "other libraries: $(grep libraries "$dir/out")"
for device in host gfxemu:gfx1100; do
    inside --env CUDAWAY_DEVICE=$device "$dir/image" "/programs/$(basename "$program")" -d /programs vector
    grep -q ', 0 checks failed' "$dir/out" || fail "$device: $(tail -n 2 "$dir/out")"
done
# LTTng's daemon of root wants to write /var/run.
inside --writable-tmpfs "$dir/image" sh -c "cudaway trace record -q -o /tmp/rec -- /programs/$(basename "$program") -d /programs vector && cudaway trace report /tmp/rec"
grep -qE '^recorded +[0-9]+ calls, 0 failed' "$dir/out" || fail "a recording: $(tail -n 3 "$dir/out")"
exit $bad
