#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# keeps.sh CUDAWAY-CC FORMS.ptx: the nvptx target must keep these things; each line below is an extended regular expression that the
# output has to hold, derived from the input by hand. LLVM calls registers of floats %f, since 20 %r.
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
"$1" --target nvptx:sm_90 --emit asm "$2" -o "$tmp/out.ptx" || exit 1
tr '\n\t' '  ' < "$tmp/out.ptx" | tr -s ' ' > "$tmp/flat"
status=0
while IFS= read -r pattern; do
    [ -n "$pattern" ] || continue
    grep -Eq -- "$pattern" "$tmp/flat" || { echo "missing: $pattern"; status=1; }
done <<'PATTERNS'
\.version 7\.8 \.target sm_90
\.visible \.const \.align 8 \.b8 table\[16\] = \{1, 2, 3\}
\.visible \.global \.align 4 \.b8 counter\[4\] = \{7\}
\.attribute\(\.managed\) \.align 8 \.b8 shared_with_cpu\[8\]
\.global \.align 8 \.u64 pointers\[2\] = \{counter, generic\(counter\)\}
\.visible \.const \.align 8 \.u64 image
\.extern \.shared \.align 16 \.b8 dynamic\[\]
\.param \.u64 keeps_param_0, \.param \.align 16 \.b8 keeps_param_1\[32\], \.param \.u8 keeps_param_2, \.param \.f32 keeps_param_3 \)
\.maxntid 128, 2, 1 \.minnctapersm 3
ld\.param\.v4\.u32 \{%r[0-9]+, %r[0-9]+, %r[0-9]+, %r[0-9]+\}, \[keeps_param_1\+16\];
mov\.b64 %rd[0-9]+, keeps_param_1;
ld\.param\.u32 %r[0-9]+, \[%rd[0-9]+\+4\];
add\.cc\.u32 %r[0-9]+, %r[0-9]+, %r[0-9]+; addc\.cc\.u32 %r[0-9]+, %r[0-9]+, %r[0-9]+; addc\.u32 %r[0-9]+, 0, 0;
add\.rz\.ftz\.sat\.f32 %[fr][0-9]+, %[fr][0-9]+, 0f3F800000;
add\.f32 %[fr][0-9]+, %[fr][0-9]+, %[fr][0-9]+;
mul\.f32 
ex2\.approx\.ftz\.f32 
shfl\.sync\.bfly\.b32 %r[0-9]+\|%p[0-9]+, %r[0-9]+, 3, 31, -1;
ld\.global\.cg\.v2\.f32 \{%[fr][0-9]+, %[fr][0-9]+\}, \[%rd[0-9]+\+8\];
ld\.acquire\.gpu\.global\.u32 
ld\.volatile\.global\.u8 
atom\.global\.cas\.b32 %r[0-9]+, \[%rd[0-9]+\], 1, 
red\.release\.gpu\.global\.add\.u32 \[%rd[0-9]+\+4\]
mov\.u32 %r[0-9]+, %clock;
st\.shared\.f32 \[%r[0-9]+\+4\]
bar\.sync 1, 64;
tex\.2d\.v4\.f32\.f32 \{%[fr][0-9]+, %[fr][0-9]+, %[fr][0-9]+, %[fr][0-9]+\}, \[%rd[0-9]+, \{%[fr][0-9]+, %[fr][0-9]+\}\];
lop3\.b32 .*, 232;
mov\.b64 %rd[0-9]+, \{%r[0-9]+, %r[0-9]+\};
exit;
\.pragma "nounroll";
st\.global\.wt\.u64 \[%rd[0-9]+\+32\]
PATTERNS
grep -q '__local_depot' "$tmp/flat" && { echo "local memory where the original has none"; status=1; }
exit $status
