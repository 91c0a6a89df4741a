#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A program that nobody here wrote, its launches taken out and compared:
#   dumps.sh BUILD FOLDER NAME [ARGUMENT...]        environment: LIMIT, DEVICES
# NAME is one of ffmpeg's filters (scale overlay yadif chromakey thumbnail), run on a few small frames, or a program with its
# arguments. It is recorded with dumps of its first LIMIT launches (default 12); each dump replayed on DEVICES (default: both
# host devices) must give the recorded bits; and it is run under cudaway-diff, which compares every launch on the two host
# devices, unless DEVICES says that they cannot agree.
set -euo pipefail
build=$(cd "$1" && pwd) folder=$2 name=$3
shift 3
rm -rf "$folder"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
devices=${DEVICES:-host host:O0}

up="format=yuv420p,hwupload_cuda" size=320x180 extra=()
case $name in
scale) graph="[0:v]$up,scale_cuda=160:96:interp_algo=bicubic,hwdownload,format=yuv420p" ;;
overlay)
    extra=(-f lavfi -i "testsrc=size=160x90:rate=25")
    graph="[0:v]${up}[m];[1:v]format=yuva420p,geq=lum='lum(X,Y)':cb='cb(X,Y)':cr='cr(X,Y)':a='X',hwupload_cuda[o];
           [m][o]overlay_cuda=x=50:y=30,hwdownload,format=yuv420p" ;;
yadif) graph="[0:v]format=yuv420p,tinterlace=interleave_top,hwupload_cuda,yadif_cuda=mode=send_field,hwdownload,format=yuv420p" ;;
chromakey) graph="[0:v]$up,chromakey_cuda=color=0x00ff00:similarity=0.1:blend=0.5,hwdownload,format=yuva420p" ;;
thumbnail) graph="[0:v]$up,thumbnail_cuda=n=2,hwdownload,format=yuv420p" ;;
*) graph= ;;
esac
if [ -n "$graph" ]; then
    command -v ffmpeg >/dev/null || { echo "skipped: no ffmpeg (Debian package ffmpeg)"; exit 77; }
    known=$(ffmpeg -hide_banner -v error -filters 2>&1) || { echo "FAIL: ffmpeg does not start: $known"; exit 1; }
    [[ $known == *" ${name}_cuda "* ]] || { echo "skipped: this ffmpeg has no ${name}_cuda"; exit 77; }
    # A sanitizer's runtime, where the layers need one, goes before the program alone.
    read -ra command <<<"${PROGRAM_WRAPPER-}"
    command+=(ffmpeg -hide_banner -nostdin -y -v warning -init_hw_device cuda=gpu -filter_hw_device gpu
             -f lavfi -i "testsrc2=size=$size:rate=25" "${extra[@]}" -filter_complex "$graph" -frames:v 3 -f null -)
else
    command=("$name" "$@")
fi
status=0
"$build/bin/cudaway-trace" record -q -o "$folder/trace" --device host --dump-kernels --dump-limit "${LIMIT:-12}" -- \
    "${command[@]}" >"$folder/record.log" 2>&1 || status=$?
# The thread sanitizer ends a process, with 66, in which a library that it does not know cancels its thread in a call that it watches:
# LTTng-UST does that at exit, now and then in time. The program is through by then. A race is a WARNING.
if [ $status = 66 ] && grep -q 'ThreadSanitizer: thread .*-ust finished with ignores enabled' "$folder/record.log" &&
    ! grep -q 'WARNING: ThreadSanitizer' "$folder/record.log"; then
    status=0
fi
if [ $status != 0 ]; then
    tail -n 8 "$folder/record.log"
    [ $status != 77 ] || exit 77        # the program's own way to say that it cannot run here
    echo "FAIL: recording gave $status"
    exit 1
fi
same=0 failed=0
for f in "$folder"/trace/dumps/*.cwdump; do
    [ -e "$f" ] || { cat "$folder/record.log"; echo "FAIL: no dump"; exit 1; }
    for device in $devices; do
        if "$build/bin/cudaway-replay" --on "$device" --check "$f" >"$folder/out" 2>&1; then
            same=$((same + 1))
        else
            failed=$((failed + 1))
            echo "FAIL: $(basename "$f") on $device"
            head -n 4 "$folder/out"
        fi
    done
done
echo "$same replays as recorded, $failed not"
[ $same -gt 0 ] || { echo "FAIL: nothing was replayed"; failed=1; }
if [ "$devices" = "host host:O0" ]; then
    "$build/bin/cudaway-diff" -o "$folder/diff" -- "${command[@]}" >"$folder/diff.log" 2>&1 || status=$?
    tail -n 1 "$folder/diff.log"
    if [ $status != 0 ]; then
        grep cudaway-diff "$folder/diff.log" | head -n 8
        echo "FAIL: cudaway-diff gave $status"
        failed=$((failed + 1))
    fi
fi
rm -rf "$folder/trace/dumps"
[ $failed = 0 ]
