#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# accepts.sh CUDAWAY_CC FOLDER [TARGET...]: which PTX of FOLDER does NVIDIA's assembler take, and which do we? Needs an installed
# ptxas. TARGETs are those of `cudaway-cc --target` (default: host gfx1100 nvptx); EMIT is what is compiled to (default: llvm, which
# leaves code generation out). SM=sm_120 gives every module this .target first. Prints `-` what only ptxas takes, `+` what only we
# take, each with the first line of the message; the exit status is 1 where there is a `-`.
[ $# -ge 2 ] || { sed -n 3,7p "$0"; exit 2; }
cc=$1 folder=$2
shift 2
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
both=0 neither=0 looser=0 stricter=0
find "$folder" -name '*.ptx' | sort >"$dir/list"
while read -r f; do
    cp "$f" "$dir/m.ptx"
    [ -z "$SM" ] || sed -i "s/^\.target *sm_[0-9a-z]*/.target $SM/" "$dir/m.ptx"
    sm=$(sed -n 's/^\.target *sm_\([0-9]*[af]\{0,1\}\).*/\1/p' "$dir/m.ptx" | head -1)
    case $sm in [1-6][0-9] | 70 | 72) sm=75 ;; esac     # a toolkit of today assembles no older code, but takes its PTX
    theirs=yes
    ptxas -arch "sm_$sm" -O0 -c -o "$dir/o" "$dir/m.ptx" >"$dir/ptxas" 2>&1 || theirs=
    for t in ${@:-host gfx1100 "nvptx:sm_$sm"}; do
        [ "$t" = nvptx ] && t=nvptx:sm_$sm
        ours=yes
        "$cc" --target "$t" --emit "${EMIT:-llvm}" -o "$dir/o" "$dir/m.ptx" >"$dir/cc" 2>&1 || ours=
        case $theirs,$ours in
        yes,yes) both=$((both + 1)) ;;
        ,) neither=$((neither + 1)) ;;
        yes,) stricter=$((stricter + 1)); echo "- $f $t: $(grep -m1 error "$dir/cc" || head -1 "$dir/cc")" ;;
        *) looser=$((looser + 1)); echo "+ $f $t: $(head -1 "$dir/ptxas")" ;;
        esac
    done
done <"$dir/list"
echo "$both taken by both, $neither by neither, $stricter by ptxas alone, $looser by us alone"
[ "$stricter" = 0 ]
