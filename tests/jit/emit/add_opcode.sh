#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/add-a-ptx-opcode.md, followed step by step: its blocks go into a copy of the files that they name, what depends on them is
# compiled again, and the new instruction runs on the host.
# Usage: add_opcode.sh SOURCE BUILD WORK CC INCLUDES OBJECTS (two files: options, and what the jit is linked from, one a line)
src=$1 build=$2 work=$3 cc=$4 includes=$5 objects=$6
doc=$src/docs/add-a-ptx-opcode.md

fail() { echo "FAILED: $*"; exit 1; }

rm -rf "$work" && mkdir -p "$work/blocks" "$work/src/tools" "$work/src/jit/emit/arith" "$work/obj" "$work/bin" "$work/lib/cudaway" || exit 2
cp -r "$src/jit/ptx" "$work/src/jit/" && cp -r "$src/tools/ptxgen" "$work/src/tools/" && cp "$src/jit/emit/ops.c" "$src/jit/emit/ops.h" "$work/src/jit/emit/" &&
    cp "$src/jit/emit/arith/int.c" "$work/src/jit/emit/arith/" || exit 2

# A block belongs to the file whose name stands alone on a line before it.
awk -v dir="$work/blocks" '
    /^`[^` ]*`:$/          { file = substr($0, 2, length($0) - 3); next }
    /^```/ && inside       { close(out); inside = 0; file = ""; next }
    /^```/ && file != ""   { out = file; gsub("/", "+", out); out = dir "/" out; inside = 1; next }
    inside                 { print > out }' "$doc"
for file in jit+ptx+ops.def jit+emit+arith+int.c tests+ptx+isa+int+triple.ptx tools+ptxgen+forms.txt; do
    [ -s "$work/blocks/$file" ] || fail "the page has no block for $(echo "$file" | tr + /)"
done

# "The example goes behind the last row", in front of what the file undefines.
awk -v row="$work/blocks/jit+ptx+ops.def" '/^#undef ALL$/ { while ((getline line < row) > 0) print line } { print }' \
    "$src/jit/ptx/ops.def" > "$work/src/jit/ptx/ops.def"
cat "$work/blocks/jit+emit+arith+int.c" >> "$work/src/jit/emit/arith/int.c"
cat "$work/blocks/tools+ptxgen+forms.txt" >> "$work/src/tools/ptxgen/forms.txt"
mkdir -p "$work/isa/int" && cp "$work/blocks/tests+ptx+isa+int+triple.ptx" "$work/isa/int/triple.ptx"

# Behind the last row no opcode's number changes: only what knows their count is compiled.
compile() {     # compile FILES: objects of $work/src
    for file; do
        # shellcheck disable=SC2046
        "$cc" -std=gnu17 -O0 -fPIC -fvisibility=hidden -fno-strict-aliasing "-I$work/src" $(cat "$includes") -c "$work/src/$file" \
            -o "$work/obj/$(echo "$file" | tr / +).o" || fail "$file does not compile"
    done
}
cd "$work/src" || exit 2
compile jit/ptx/*.c jit/emit/ops.c tools/ptxgen/*.c
link() {        # link OUTPUT OPTIONS
    out=$1
    shift
    "$cc" -o "$out" "$@"
}

# The row alone must not link: its function is missing.
compile_jit() {
    # shellcheck disable=SC2046
    link "$work/lib/cudaway/libcudaway-jit.so" -shared "-Wl,--version-script=$build/gen/exports/cudaway-jit.map" -Wl,--exclude-libs,ALL -Wl,-Bsymbolic \
        -Wl,--no-undefined "$work"/obj/jit+*.o $(cat "$objects") -lstdc++
}
compile_jit 2> "$work/missing" && fail 'the row links without its function'
grep -q emit_triple "$work/missing" || { cat "$work/missing"; fail 'the linker does not name the missing function'; }
compile jit/emit/arith/int.c
compile_jit || fail 'the jit does not link'

for file in bin/cudaway-ptxtest lib/cudaway/libcuda.so.1; do
    ln -f "$build/$file" "$work/$file" 2> /dev/null || cp -L "$build/$file" "$work/$file" || exit 2
done
"$work/bin/cudaway-ptxtest" "$work/isa/int/triple.ptx" || fail 'the new instruction does not compute what the page says'

# shellcheck disable=SC2046
link "$work/bin/cudaway-ptxgen" "$work"/obj/tools+*.o "$work"/obj/jit+ptx+*.o "$work/lib/cudaway/libcudaway-jit.so" \
    "$build/impl/base/libcw_program.a" "$build/impl/base/libcw_version.a" "$build/impl/base/libcw_base.a" "-Wl,-rpath,$work/lib/cudaway" -lpthread -ldl || fail 'ptxgen does not link'
"$work/bin/cudaway-ptxgen" list "$work/src/tools/ptxgen/forms.txt" "$work/isa" > "$work/list" || fail 'ptxgen'
for type in u32 s32; do
    grep -q "^hna [01] cw.triple.$type " "$work/list" || { grep triple "$work/list"; fail "not every target emits cw.triple.$type"; }
done
