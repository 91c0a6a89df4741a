#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cudaway-ptxtest itself: what it says about mistakes in directives, and that it sees what a test must not do.
# Usage: runner.sh PTXTEST FOLDER
tool=$1 dir=$2
mkdir -p "$dir" && cd "$dir" || exit 2
rm -f ./*.ptx ./*.values
failures=0

head='.version 7.0
.target sm_52
.address_size 64'
kernel='.visible .entry k(.param .u64 a, .param .u64 d)
{
    .reg .b32 %i, %x; .reg .b64 %a, %d;
    mov.u32 %i, %tid.x; ld.param.u64 %a, [a]; ld.param.u64 %d, [d];
    mad.wide.u32 %a, %i, 4, %a; mad.wide.u32 %d, %i, 4, %d;
    ld.global.u32 %x, [%a]; add.u32 %x, %x, 1; st.global.u32 [%d], %x;
    ret;
}'

# says WHAT STATUS PATTERN OPTIONS: runs t.ptx, whose text is on standard input
says() {
    cat > t.ptx
    out=$("$tool" $4 t.ptx 2>&1)
    status=$?
    if [ $status != "$2" ] || ! printf '%s\n' "$out" | grep -q -e "$3"; then
        echo "FAILED: $1 (status $status): $out"
        failures=$((failures + 1))
    fi
}

# ---- mistakes: file, line, column ----
bad() {     # bad WHAT PATTERN, the directives on standard input
    { echo "$head"; cat; echo "$kernel"; } > body
    says "$1" 1 "$2" --parse < body
}
bad 'unknown directive' "t.ptx:4:5: error: 'bufer' is no directive" <<'T'
//! bufer a u32 = 1
T
bad 'unknown type' "t.ptx:4:14: error: 'u31' is no element type" <<'T'
//! buffer a u31 = 1
T
bad 'value out of range' "t.ptx:4:23: error: '256' is no u8" <<'T'
//! buffer a u8 = 255 256
T
bad 'negative value of an unsigned type' "'-1' is no u32" <<'T'
//! buffer a u32 = -1
T
bad 'bits too long' "'0x10000' is no f16" <<'T'
//! buffer a f16 = 0x10000
T
bad 'not a NaN' "'nan:0x3f800000' is no f32" <<'T'
//! buffer a f32 = nan:0x3f800000
T
bad 'no infinity' "'inf' is no e4m3: this type has no infinity" <<'T'
//! buffer a e4m3 = inf
T
bad 'beyond the range' "'70000' is no f16: beyond the range" <<'T'
//! buffer a f16 = 70000
T
bad 'parts of a packed element' "wrong number of parts" <<'T'
//! buffer a f16x2 = (1,2,3)
T
bad 'number of values' "2 values for 3 elements" <<'T'
//! buffer a u32[3] = 1 2
T
bad 'too many values' "more than 1 values" <<'T'
//! buffer a u32[1] = 1 2
T
bad 'too many elements' "'1048577' is neither a number up to 1048576 nor a buffer" <<'T'
//! buffer a u32[1048577]
T
bad 'too many bytes' "bytes of values in the file" <<'T'
//! buffer a b128[1048576]
//! buffer b b128[1048576]
//! buffer c b128[1048576]
//! buffer d b128[1048576]
//! buffer e b128[1048576]
T
bad 'unknown set' "'@edges' is no set of values" <<'T'
//! buffer a u32 = @edges
T
bad 'seed missing' "@random takes one argument" <<'T'
//! buffer a u32[4] = @random
T
bad 'range that does not arrive' "does not lead from" <<'T'
//! buffer a u32 = @range(1,5,-1)
T
bad 'cross of one' "cross needs two buffers" <<'T'
//! buffer a u32 = 1
//! cross a
T
bad 'cross too large' "more than 1048576 combinations" <<'T'
//! buffer a u32[2000]
//! buffer b u32[2000]
//! cross a b
T
bad 'undeclared argument' "t.ptx:5:12: error: 'b' is not declared above" <<'T'
//! buffer a u32 = 1
//! launch k(a,b)
T
bad 'block too large' "sizes from 1 to 1024" <<'T'
//! buffer a u32 = 1
//! launch k block 1025
T
bad 'expect before launch' "no launch stands above" <<'T'
//! buffer a u32 = 1
//! expect a derived = 1
T
bad 'expected twice' "'a' is expected twice" <<'T'
//! buffer a u32 = 1
//! launch k(a,a)
//! expect a derived = 1
//! expect a derived = 1
T
bad 'length of an expectation' "1 values are expected of 2 elements" <<'T'
//! buffer a u32 = 1 2
//! launch k(a,a)
//! expect a derived = 1
T
bad 'string not closed' "t.ptx:6:22: error: the string is not closed" <<'T'
//! buffer a u32 = 1
//! launch k(a,a)
//! expect a derived "x = 1
T
bad 'no launch' "the file has no launch" <<'T'
T
bad 'continues nothing' "this line continues no directive" <<'T'
//!   1 2 3
T
bad 'no side file' "there is no side file" <<'T'
//! buffer a u32 = 1
//! launch k(a,a)
//! expect a recorded "x" = @file
T
bad 'todo without a reason' "a reason is expected" <<'T'
//! todo host
T

# ---- what a test must not do ----
run() {     # run WHAT STATUS PATTERN, the directives on standard input
    { echo "$head"; cat; echo "$kernel"; } > body
    says "$1" "$2" "$3" "--on host:O0" < body
}
run 'right' 0 '^1 passed, 0 failed' <<'T'
//! buffer a u32 = 1 2 0xffffffff
//! buffer d u32[a]
//! launch k each a
//! expect d derived = 2 3 0
T
run 'wrong value' 1 't.ptx:7: k: d\[1\]: expected 4 = 0x00000004, got 3 = 0x00000003; from a 2 = 0x00000002' <<'T'
//! buffer a u32 = 1 2
//! buffer d u32[a]
//! launch k each a
//! expect d derived = 2 4
T
run 'input overwritten' 1 'a changed, and nothing is expected of it' <<'T'
//! buffer a u32 = 1 2
//! launch k(a,a) block 2
//! test two
//! buffer d u32[a]
//! launch k each a
//! expect d derived = 3 3
//! expect a derived = 1 2
//! test three
//! buffer d u32[2]
//! launch k(a,a) block 2
//! expect d derived = 0 0
T
run 'behind the end' 1 'a write outside of the buffers, 0 bytes behind the end' <<'T'
//! buffer a u32 = 1 2 3
//! buffer d u32[2]
//! launch k block 3
//! expect d derived = 2 3
T
run 'todo passes' 1 'passes on host:O0, where it is marked todo (reasons)' <<'T'
//! todo host reasons
//! buffer a u32 = 1
//! buffer d u32[1]
//! launch k block 1
//! expect d derived = 2
T
run 'todo fails' 0 '^0 passed, 0 failed, 1 todo' <<'T'
//! todo host:O0 reasons
//! buffer a u32 = 1
//! buffer d u32[1]
//! launch k block 1
//! expect d derived = 3
T
run 'todo for others' 1 '^0 passed, 1 failed' <<'T'
//! todo amd,cuda,host:simd reasons
//! buffer a u32 = 1
//! buffer d u32[1]
//! launch k block 1
//! expect d derived = 3
T
run 'no such device feature' 0 '1 skipped (needs sm_999: 1)' <<'T'
//! require sm_999
//! buffer a u32 = 1
//! buffer d u32[1]
//! launch k block 1
//! expect d derived = 3
T
run 'not recorded' 0 '1 skipped (not recorded: 1)' <<'T'
//! buffer a u32 = 1
//! buffer d u32[1]
//! launch k block 1
T
run 'nothing happens' 1 'nothing changed, and nothing is expected' <<'T'
//! buffer a u32 = 0xffffffff
//! buffer d u32[1]
//! launch k block 1
T
run 'parameters missing' 1 'k takes more than 1 parameters' <<'T'
//! buffer a u32 = 1
//! launch k block 1
T
run 'size of a parameter' 1 'parameter 2 of k has 8 bytes, not 4' <<'T'
//! buffer a u32 = 1
//! value u32 3
//! launch k block 1
T
run 'unknown kernel' 1 'finding the kernel: CUDA_ERROR_NOT_FOUND' <<'T'
//! buffer a u32 = 1
//! launch kk block 1
T
run 'a fault, and the test behind it' 1 '^1 passed, 1 failed' <<'T'
//! buffer a u32 = 1
//! buffer d u32[1]
//! value none u64 = 8
//! launch k(a,none) block 1
//! test two
//! launch k(a,d) block 1
//! expect d derived = 2
T
run 'an expected fault' 0 '^1 passed, 0 failed' <<'T'
//! buffer a u32 = 1
//! value none u64 = 8
//! launch k(a,none) block 1
//! expect error CUDA_ERROR_ILLEGAL_ADDRESS
T
{ echo "$head"; echo '//! launch k'; echo '//! expect error CUDA_ERROR_INVALID_PTX "P2003"'; echo '.visible .entry k() { frob; }'; } > body
says 'a refused module' 0 '^1 passed' '--on host:O0' < body

# ---- textures ----
bad 'linear memory of two dimensions' 'linear-memory and pitched are for textures of one dimension and of two' <<'T'
//! buffer a u32 = 1 2 3 4
//! texture t of a 2,2 linear-memory
T
bad 'a reference as a parameter' "'t' is a reference, which is no parameter" <<'T'
//! buffer a u32 = 1 2 3 4
//! texture t of a 2,2 reference
//! launch k(a,t)
T
{ echo "$head"; echo '//! buffer a u32 = 1'; echo '//! texture t of a 1 reference'; echo '//! launch k(a,a)'; echo '//! expect a derived = 2'; echo "$kernel"; } > body
says 'a reference that the module lacks' 1 'making textures and surfaces: CUDA_ERROR_NOT_FOUND' '--on host:O0' < body
# A module for a newer GPU is for our devices as good as any; what a test requires itself is not.
{ printf '.version 8.6\n.target sm_100\n.address_size 64\n'; echo '//! buffer a u32 = 1'; echo '//! buffer d u32[1]'; echo '//! launch k'; echo '//! expect d derived = 2'; echo "$kernel"; } > body
says 'a newer target' 0 '^1 passed' '--on host:O0' < body

# ---- recording ----
{ echo "$head"; echo '//! buffer a u32[80] = @range(0,79)'; echo '//! buffer d u32[a]'; echo '//! launch k each a'; echo '//! test two'; echo '//! buffer a u32 = 4 5'
  echo '//! buffer d u32[2]'; echo '//! launch k each a'; echo "$kernel"; } > body
says 'recording wants the hardware' 2 'is no NVIDIA device' '--on host:O0 --record' < body
says 'recording' 0 '2 lists recorded' '--on host:O0 --record --label rehearsal' < body
"$tool" --on host:O0 t.ptx | grep -q '^2 passed' || { echo 'FAILED: what was recorded is not read back'; failures=$((failures + 1)); }
grep -q '^//! expect d recorded "rehearsal" = 0x00000005 0x00000006$' t.ptx || { echo 'FAILED: the recorded line'; failures=$((failures + 1)); }
grep -q '^\[k.d\]$' t.values || { echo 'FAILED: the side file'; failures=$((failures + 1)); }
[ $failures = 0 ] && echo 'all as expected'
exit $((failures != 0))
