#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# textures.sh PTXTEST CC ISA DIR: what CUDAWAY_TEXTURES and --textures say and choose.
test=$1 cc=$2 isa=$3 dir=$4/textures
mkdir -p "$dir" || exit 1
export CUDAWAY_CACHE_SIZE=0
status=0
fail() {
    echo "$*"
    status=1
}
# VALUE ARCH FILE LINE: FILE passes, and LINE is in the log, once.
says() {
    CUDAWAY_TEXTURES=$1 "$test" --on "gfxemu:$2" --filter-steps 2 "$isa/texture/$3.ptx" > "$dir/log" 2>&1 || fail "$1 $2 $3: fails"
    [ "$(grep -c "$4" "$dir/log")" = 1 ] || fail "$1 $2 $3: not once in the log: $4"
}
says fast gfx1100 resident 'CUDAWAY_TEXTURES=fast is neither exact nor native; exact is taken'
says native gfx942 resident 'gfx942 has no image instructions; exact is taken'
says native gfx1100 cube 'a texture is read by exact code, since it has levels or faces'
for case in "exact gfx1100 0" "native gfx1100 image_sample_lz" "native gfx90a image_sample " "native gfx1201 buffer_load_format_x"; do
    # shellcheck disable=SC2086
    set -- $case
    "$cc" --target "$2" --textures "$1" --emit asm "$isa/texture/handles.ptx" -o "$dir/asm" || fail "$case: does not compile"
    if [ "$3" = 0 ]; then
        grep -q -E 'image_|buffer_load_format' "$dir/asm" && fail "$case: there are image instructions"
    else
        grep -q "$3" "$dir/asm" || fail "$case: it is not there"
    fi
done
for how in exact native; do
    CUDAWAY_TEXTURES=$how "$test" --on gfxemu:gfx1100 "${0%/*}/handles.ptx" > "$dir/log" 2>&1 || fail "$how: handles that are none"
done
"$cc" --target gfx942 --textures native --emit asm "$isa/texture/handles.ptx" -o "$dir/asm" 2> "$dir/log" && fail "gfx942 is not refused"
grep -q 'gfx942 has no image instructions' "$dir/log" || fail "gfx942 is refused without a reason"
exit $status
