#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# textures.sh PTXTEST ISA DIR: what CUDAWAY_TEXTURES says and chooses.
test=$1 isa=$2 dir=$3/textures
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
for how in exact native; do
    CUDAWAY_TEXTURES=$how "$test" --on gfxemu:gfx1100 "${0%/*}/handles.ptx" > "$dir/log" 2>&1 || fail "$how: handles that are none"
done
exit $status
