#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# podman.sh ARCHIVE PROGRAM PTX_FOLDER SOURCE: docs/container/Dockerfile, built and run by podman as root: what docs/ld-preload.md says. PROGRAM is tests/cuda's cuda-kernels. By hand. Where no registry
# can be reached, debootstrap's minbase of Debian 12 stands in for debian:12-slim. PODMAN ("podman --runtime runc") is the program, PODMAN_RUN has options for its `run`. Skipped (77) without podman or the bundle.
set -u
archive=$(realpath "$1") program=$(realpath "$2") ptx=$(realpath "$3") src=$(realpath "$4") bad=0
[ -f "$archive" ] || { echo "skipped: there is no $archive (tools/bundle makes it)"; exit 77; }
command -v podman >/dev/null && [ "$(id -u)" = 0 ] || { echo "skipped: needs podman and root"; exit 77; }
dir=$(mktemp -d) || exit 2
# shellcheck disable=SC2086
pod() { ${PODMAN:-podman} --storage-driver=vfs --root "$dir/images" --runroot "$dir/run" "$@"; }
trap 'pod rmi -af >/dev/null 2>&1; rm -rf --one-file-system "$dir"' EXIT
fail() { echo "FAIL: $*"; bad=1; }
if ! pod pull -q docker.io/library/debian:12-slim >"$dir/log" 2>&1; then
    echo "no registry ($(tail -n 1 "$dir/log" | grep -o '[^:]*$')): a base made by debootstrap"
    debootstrap --variant=minbase bookworm "$dir/base" "${MIRROR:-http://deb.debian.org/debian}" >"$dir/log" 2>&1 || { tail -n 2 "$dir/log"; echo "skipped: debootstrap does not work here"; exit 77; }
    tar -C "$dir/base" -c . | pod import -q - docker.io/library/debian:12-slim >/dev/null || exit 1
fi
mkdir -p "$dir/context/cudaway" "$dir/programs" && tar -C "$dir/context/cudaway" --strip-components=1 -xf "$archive" && cp "$program" "$ptx"/*.ptx "$dir/programs/" && chmod 755 "$dir/programs" || exit 2
(cd "$dir/context" && pod build -q -t cudaway -f "$src/docs/container/Dockerfile" .) >"$dir/log" 2>&1 || { tail -n 5 "$dir/log"; echo "FAIL: podman build"; exit 1; }
# shellcheck disable=SC2086
inside() { pod run --rm --network=none -v "$dir/programs:/programs:ro" ${PODMAN_RUN:-} cudaway "$@" >"$dir/out" 2>&1 || { fail "$*"; tail -n 3 "$dir/out"; }; }
inside cudaway info
grep -q 'libraries *\/opt\/cudaway\/lib\/cudaway' "$dir/out" || fail "other libraries: $(grep libraries "$dir/out")"
for device in host gfxemu:gfx1100; do
    inside env CUDAWAY_DEVICE=$device "/programs/$(basename "$program")" -d /programs vector
    grep -q ', 0 checks failed' "$dir/out" || fail "$device: $(tail -n 2 "$dir/out")"
done
inside sh -c "cudaway trace record -q -o /tmp/rec -- /programs/$(basename "$program") -d /programs vector && cudaway trace report /tmp/rec"
grep -qE '^recorded +[0-9]+ calls, 0 failed' "$dir/out" || fail "a recording: $(tail -n 3 "$dir/out")"
exit $bad
