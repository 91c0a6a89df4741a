#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# ffmpeg's CUDA filters on another device: small frames, near enough to ffmpeg's own filter (ffmpeg_filter.sh), and the same bits as
# on the host device.
#
#   ffmpeg_amd.sh DEVICE FILTER BUILD_DIR OUT_DIR
set -euo pipefail
[ $# = 4 ] || { echo "usage: ffmpeg_amd.sh DEVICE FILTER BUILD_DIR OUT_DIR" >&2; exit 2; }
device=$1 filter=$2 build=$3 out=$4 here=$(dirname "$0")
export SIZE=${SIZE:-320x192} FRAMES=${FRAMES:-4}
CUDAWAY_DEVICE=host "$here/ffmpeg_filter.sh" "$filter" "$build" "$out/host" >/dev/null
CUDAWAY_DEVICE=$device "$here/ffmpeg_filter.sh" "$filter" "$build" "$out/${device//:/-}"
if ! cmp <(grep -v '^#' "$out/host/$filter.framemd5") <(grep -v '^#' "$out/${device//:/-}/$filter.framemd5"); then
    echo "FAIL $filter: frames on $device are not those of the host device"
    exit 1
fi
echo "     $filter: all $FRAMES frames are those of the host device"
