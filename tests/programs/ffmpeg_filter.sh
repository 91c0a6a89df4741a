#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Run one of ffmpeg's CUDA filters and ffmpeg's own CPU filter over the same frames, in one filter graph, and compare.
#
#   ffmpeg_filter.sh FILTER BUILD_DIR OUT_DIR [COMMAND...]
#
# FRAMES and SIZE set how many (50) and how large (1280x720).
# FILTER is scale, overlay, yadif, chromakey, thumbnail or motion (yadif again). COMMAND, if given, is put before ffmpeg
# (cudaway-trace record ... --). OUT_DIR gets FILTER.framemd5 (checksums of the CUDA filter's frames), FILTER.png (left
# the CUDA filter, middle the CPU filter, right 16 times their difference), FILTER.log and FILTER.result with "frames N psnr DB max LEVELS floor DB limit LEVELS hardware yes|no|different". Exit status 1 when it is
# worse than the floor that the algorithms share, 77 when there is no ffmpeg with CUDA filters.
#
# What the algorithms share, and so how near the pictures must be, is said at each filter. A difference of one level in
# every sample is a PSNR of 20 log10(255) = 48.13 dB: that is the floor where both round the same real number.
set -euo pipefail

[ $# -ge 3 ] || { echo "usage: ffmpeg_filter.sh FILTER BUILD_DIR OUT_DIR [COMMAND...]" >&2; exit 2; }
filter=$1 name=${1/motion/yadif} build=$(cd "$2" && pwd) out=$3
shift 3
frames=${FRAMES:-50}
command -v ffmpeg >/dev/null || { echo "skipped: no ffmpeg (Debian package ffmpeg)"; exit 77; }
known=$(ffmpeg -hide_banner -v error -filters 2>&1) || { echo "FAIL: ffmpeg does not start: $known" >&2; exit 1; }
[[ $known == *" ${name}_cuda "* ]] || { echo "skipped: this ffmpeg has no ${name}_cuda"; exit 77; }
mkdir -p "$out"
out=$(cd "$out" && pwd)
# The build tree's driver, unless the command in front brings a layer over it.
if [ $# = 0 ]; then export LD_LIBRARY_PATH=$build/lib/cudaway${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}; fi

# Each filter gives: inputs; graph from [in0],[in1] to [cuda] and [cpu] in the same pixel format.
up=hwupload_cuda planes=YUV range=
# The sources end soon after the last frame that is wanted: ffmpeg 7 reads on as long as they last, and keeps it all in memory.
last=(-t "$((frames / 25 + 2))")
size=${SIZE:-1280x720} w=${size%x*} h=${size#*x}      # w a multiple of 64, h of 48
inputs=("${last[@]}" -f lavfi -i "testsrc2=size=$size:rate=25")
case $filter in
scale)
    # scale_cuda's bilinear takes four bilinear samples at a quarter of the output pixel around its centre; at 2:1 these
    # fall on the centres of the 2x2 source pixels, so the result is their mean, rounded. swscale's "area" is that mean
    # too (its "bilinear" is a wider triangle, another filter). Both round: one level.
    graph="[0:v]format=yuv420p,split[a][b];
           [a]${up},scale_cuda=$((w / 2)):$((h / 2)):interp_algo=bilinear,hwdownload,format=yuv420p[cuda];
           [b]scale=$((w / 2)):$((h / 2)):flags=area+accurate_rnd+bitexact[cpu]"
    floor=48.13 limit=1 ;;
overlay)
    # Both compute main * (1 - a) + overlay * a; the CUDA kernel truncates, the CPU filter rounds: one level. For chroma
    # the CUDA kernel takes the alpha of the upper left of four luma pixels and the CPU filter their mean, so the alpha
    # here (0 to 255 over the width) is constant over 2x2 pixels.
    inputs+=("${last[@]}" -f lavfi -i "testsrc=size=$((w / 2))x$((h / 2)):rate=25")
    graph="[0:v]format=yuv420p,split[a][b];
           [1:v]format=yuva420p,geq=lum='lum(X,Y)':cb='cb(X,Y)':cr='cr(X,Y)':a='255*floor(X/2)/$((w / 4 - 1))',split[c][d];
           [a]${up}[ma];[c]${up}[oa];[ma][oa]overlay_cuda=x=$((w * 5 / 32)):y=$((h / 6)),hwdownload,format=yuv420p[cuda];
           [b][d]overlay=x=$((w * 5 / 32)):y=$((h / 6)):format=yuv420[cpu]"
    floor=48.13 limit=1 ;;
yadif)
    # In two things the CUDA kernel is another algorithm than the CPU filter: it does not halve the difference of the two
    # neighbouring fields before it limits the prediction by it, and an edge direction wins against the vertical one
    # without a handicap of one. The first is at most one level where these fields differ by at most two levels; the
    # second never matters where all levels are even. So: a still picture of even levels that gets brighter by two levels
    # every second output frame, without the borders, where the CPU filter skips part of the check.
    inputs=("${last[@]}" -f lavfi -i "testsrc2=size=$size:rate=50")
    inputs+=("${last[@]}" -f lavfi -i "color=black:size=16x16:rate=12.5")
    graph="[0:v]trim=end_frame=1,format=yuv420p,lutyuv=y='2*floor(val/4)':u='2*floor(val/2)':v='2*floor(val/2)',
           loop=loop=27:size=1,setpts=4*N/50/TB[still];
           [1:v]format=yuv420p,geq=lum='16+2*N':cb=128:cr=128,scale=$size:flags=neighbor,trim=end_frame=28[ramp];
           [still][ramp]blend=c0_mode=addition:c1_mode=normal:c2_mode=normal,fps=50,
           tinterlace=interleave_top,split[a][b];
           [a]${up},yadif_cuda=mode=send_frame:parity=tff,hwdownload,format=yuv420p,crop=iw-16:ih-16[cuda];
           [b]yadif=mode=send_frame:parity=tff,crop=iw-16:ih-16[cpu]"
    floor=48.13 limit=1 ;;
motion)
    # yadif in full motion, with the differences said above: only the PSNR has a floor. 53.13 dB on an NVIDIA H200.
    inputs=("${last[@]}" -f lavfi -i "testsrc2=size=$size:rate=50")
    graph="[0:v]format=yuv420p,tinterlace=interleave_top,split[a][b];
           [a]${up},yadif_cuda=mode=send_frame:parity=tff,hwdownload,format=yuv420p[cuda];
           [b]yadif=mode=send_frame:parity=tff[cpu]"
    floor=50 limit=255 ;;
chromakey)
    # Both make alpha from the mean distance of nine neighbouring chroma samples to the key, (distance - similarity) /
    # blend, but the CUDA kernel takes the neighbours on the luma grid and the CPU filter on the chroma grid, and the
    # CPU filter treats the border as grey. Where chroma changes by at most half a level from sample to sample these
    # means differ by less than a level, so alpha, whose slope here is 255 / (0.5 * 255 * sqrt 2) = 1.4 per level, by at
    # most 2 with its rounding. Border cut off.
    inputs=("${last[@]}" -f lavfi -i "color=black:size=$((w / 8))x$((h / 8)):rate=25")
    graph="[0:v]format=yuv420p,geq=lum=128:cb='128+100*sin(X/31+N/10)':cr='128+100*cos(Y/28+N/15)',
           scale=$size:flags=bilinear,split[a][b];
           [a]${up},chromakey_cuda=color=0x00ff00:similarity=0.1:blend=0.5,hwdownload,format=yuva420p,alphaextract,format=gray,crop=iw-8:ih-8[cuda];
           [b]format=yuva420p,chromakey=color=0x00ff00:similarity=0.1:blend=0.5,alphaextract,format=gray,crop=iw-8:ih-8[cpu]"
    # signalstats has no grey: without this ffmpeg 7 would make full range limited, and so add 16.
    planes=Y range=scale=in_range=full:out_range=full,format=yuv420p, floor=42.1 limit=2 ;;
thumbnail)
    # Both pick, of each group of frames, the one whose histogram is nearest to the group's mean histogram. The CUDA
    # filter takes the histograms of Y, U and V, and reads its texture with linear filtering at the corners of pixels,
    # so of a picture in which each pixel is the mean of four; the CPU filter takes those of R, G and B. The frames here
    # are grey and of limited range, where these histograms hold the same counts, and the CPU filter is given the means
    # of four; so both must pick the same frames. The CPU filter's frames have been to RGB and back: one level.
    inputs=("${last[@]}" -f lavfi -i "testsrc2=size=$size:rate=100")
    grey="format=yuv420p,lutyuv=y='clip(val,16,235)':u=128:v=128,fillborders=left=4:right=4:top=4:bottom=4:mode=smear"
    mean="convolution=0m='1 1 0 1 1 0 0 0 0':0rdiv=0.25:1m='0 0 0 0 1 0 0 0 0':2m='0 0 0 0 1 0 0 0 0'"
    graph="[0:v]$grey,split[a][b];
           [a]${up},thumbnail_cuda=n=4,hwdownload,format=yuv420p,${mean}[cuda];
           [b]$mean,format=rgb24,thumbnail=n=4,scale=flags=accurate_rnd+full_chroma_int+full_chroma_inp,format=yuv420p[cpu]"
    floor=48.13 limit=1 ;;
*) echo "ffmpeg_filter.sh: no such filter: $filter" >&2; exit 2 ;;
esac

graph="$graph;
       [cuda]split=4[x1][x2][x3][m];[cpu]split=4[y1][y2][y3][o];
       [x1][y1]psnr=stats_file=$out/$filter.psnr[p];
       [x2][y2]blend=all_mode=difference,${range}signalstats,metadata=mode=print:file=$out/$filter.diff,split[q][q2];
       [q2]format=yuv420p,lutyuv=y='clip(val*16,0,255)':u='clip(val*16+128,0,255)':v='clip(val*16+128,0,255)'[d];
       [x3][y3]hstack[h];[h][d]hstack,select='eq(n,$((frames / 2)))',scale=1920:-2[sheet]"
rm -f "$out/$filter".{psnr,diff,png,result,framemd5,cpu.framemd5}
command=(ffmpeg -hide_banner -nostdin -y -v warning
         -init_hw_device cuda=gpu -filter_hw_device gpu
         "${inputs[@]}" -filter_complex "$graph"
         -map '[p]' -frames:v "$frames" -f null -
         -map '[q]' -frames:v "$frames" -f null -
         -map '[m]' -frames:v "$frames" -c:v rawvideo -f framemd5 "$out/$filter.framemd5"
         -map '[o]' -frames:v "$frames" -c:v rawvideo -f framemd5 "$out/$filter.cpu.framemd5"
         -map '[sheet]' -frames:v 1 -update 1 "$out/$filter.png")
if ! "$@" ${PROGRAM_WRAPPER-} "${command[@]}" >"$out/$filter.log" 2>&1; then
    tail -n 30 "$out/$filter.log" >&2
    echo "FAIL $filter: ffmpeg failed (the log is $out/$filter.log)" >&2
    exit 1
fi

# Mean squared errors of all planes, from each frame's line; the largest difference, from signalstats.
# ffmpeg may have filtered a frame more than it was asked to write.
read -r n psnr < <(awk -v want="$frames" '
    n < want { for (i = 1; i <= NF; i++) if (split($i, f, ":") == 2 && f[1] == "mse_avg") { n++; sum += f[2] } }
    END { if (n && sum) printf "%d %.2f\n", n, 10 * log(255 * 255 * n / sum) / log(10); else print n + 0, n ? "inf" : 0 }' "$out/$filter.psnr")
max=$(awk -F= -v planes=$planes -v want="$frames" '
    /^frame:/ { n++ }
    n <= want && $0 ~ "signalstats.[" planes "]MAX=" && $2 + 0 > m { m = $2 + 0 }
    END { print m + 0 }' "$out/$filter.diff")
ok=$(awk -v n="$n" -v want="$frames" -v p="$psnr" -v f="$floor" -v m="$max" -v l="$limit" \
    'BEGIN { print n == want && (p == "inf" || p + 0 >= f) && m <= l ? "ok" : "FAIL" }')
printf '%-4s %-10s %3d frames, PSNR %6s dB (at least %s), largest difference %d of 255 (at most %d)\n' \
    "$ok" "$filter" "$n" "$psnr" "$floor" "$max" "$limit"

# The same frames as an NVIDIA H200 made them with Debian's ffmpeg 5.1 and the real driver: the bits must agree. Where
# the CPU filter's frames differ from those recorded beside them, this ffmpeg makes other source frames: nothing to compare.
reference=$(dirname "$0")/h200/$filter
same=no
if [ -f "$reference.framemd5" ] && [ "$frames" = 50 ] && [ "$size" = 1280x720 ]; then
    if ! cmp -s <(grep -v '^#' "$reference.cpu.framemd5") <(grep -v '^#' "$out/$filter.cpu.framemd5"); then
        echo "     $filter: this ffmpeg's source frames are not those of the recording from an NVIDIA GPU; not compared with it"
    elif cmp -s <(grep -v '^#' "$reference.framemd5") <(grep -v '^#' "$out/$filter.framemd5"); then
        echo "     $filter: all $frames frames are the bits that an NVIDIA H200 gave"
        same=yes
    else
        echo "FAIL $filter: frames differ from what an NVIDIA H200 gave:" \
            "$(diff <(grep -v '^#' "$reference.framemd5") <(grep -v '^#' "$out/$filter.framemd5") | grep -c '^>') of $frames"
        ok=FAIL same=different
    fi
fi
echo "frames $n psnr $psnr max $max floor $floor limit $limit hardware $same" >"$out/$filter.result"
[ "$ok" = ok ]
