#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bisect_pass.sh SOURCES BUILD: tools/bisect-pass finds a pass that a command fails by, and says so where no pass is at fault. The commands look
# at CUDAWAY_SKIP_PASSES alone, so that the answer is known.
set -u
sources=$1
export BUILD_DIR=$2
failures=0
expect() {      # STATUS PATTERN COMMAND...
    local status=$1 pattern=$2 out
    shift 2
    out=$("$sources/tools/bisect-pass" --target gfx1100 -- "$@" 2>&1)
    [ $? = "$status" ] && grep -q -- "$pattern" <<<"$out" && return
    echo "FAILED: $*: expected $status and '$pattern', got: $out"
    failures=$((failures + 1))
}
runs='case ",$CUDAWAY_SKIP_PASSES," in *,'
expect 0 'goes wrong: annotate-single-calls$' bash -c "$runs"'annotate-single-calls,*) exit 0 ;; *) exit 1 ;; esac'
expect 0 'goes wrong: cut-regions$' bash -c "$runs"'cut-regions,*) exit 0 ;; *) exit 1 ;; esac'
expect 1 'nothing goes wrong' true
expect 1 'without any optional pass' false
# A real test of PTX passes with no optional pass at all: every one of them may be skipped.
out=$("$sources/tools/bisect-pass" --device gfxemu:gfx1100 "$sources/tests/ptx/isa/flow/irreducible.ptx")
[ $? = 1 ] && [[ $out = "nothing goes wrong"* ]] || { echo "FAILED: $out"; failures=$((failures + 1)); }
skip=$("$BUILD_DIR/bin/cudaway-cc" --target gfx1100 --print-pipeline | awk '$1 == "*" && $3 == "optional" { print $2 } $1 != "*" && $2 == "optional" { print $1 }' | paste -sd,)
CUDAWAY_SKIP_PASSES=$skip CUDAWAY_CACHE_SIZE=0 "$BUILD_DIR/bin/cudaway-ptxtest" --on gfxemu:gfx1100 "$sources/tests/ptx/isa/flow" >/dev/null ||
    { echo "FAILED: code without the optional passes is wrong"; failures=$((failures + 1)); }
# A name that no target has is warned about by name, whatever compiles; one of another target is not.
for device in host gfxemu:gfx1100; do
    said=$(CUDAWAY_SKIP_PASSES=nonsense,pack-f32 CUDAWAY_CACHE_SIZE=0 "$BUILD_DIR/bin/cudaway-ptxtest" --on "$device" "$sources/tests/ptx/isa/flow/short.ptx" 2>&1 >/dev/null)
    [ "$(grep -c "CUDAWAY_SKIP_PASSES: there is no pass 'nonsense'" <<<"$said")" = 1 ] && ! grep -q "no pass 'pack-f32'" <<<"$said" ||
        { echo "FAILED: of passes to skip, $device says '$said'"; failures=$((failures + 1)); }
done
# One that code needs is not skipped.
if CUDAWAY_SKIP_PASSES='' "$BUILD_DIR/bin/cudaway-cc" --target gfx1100 --skip cut-casts "$sources/tests/ptx/isa/flow/irreducible.ptx" -o /dev/null 2>"$BUILD_DIR/bisect.err" ||
    ! grep -q P5908 "$BUILD_DIR/bisect.err"; then
    echo "FAILED: a required pass was skipped"
    failures=$((failures + 1))
fi
[ $failures = 0 ]
