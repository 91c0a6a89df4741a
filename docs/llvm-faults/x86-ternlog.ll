; SPDX-License-Identifier: Apache-2.0
; X86, AVX-512: a masked VPTERNLOG has the truth table of another operand order (llvm-project issue 157929, fixed in LLVM 23).
;
; RUN:   llc-22 -mtriple=x86_64 -mcpu=x86-64-v4 %s -o -
; FAULT: zmm1 ^ (zmm0 & (zmm1 ^ m32bcst))
;
; @plain and @masked select the bits of %a where the constant has ones, else those of %b.
; Got, masked:   vpternlogd $184: zmm1 ^ (zmm0 & (zmm1 ^ m32bcst)), that is, bits of the constant where %a has ones
; Expected:      a selection by m32bcst, as in @plain
define <16 x i32> @masked(<16 x i32> %a, <16 x i32> %b, <16 x i32> %i) {
  %other = icmp eq <16 x i32> %i, zeroinitializer
  %x = and <16 x i32> %a, splat (i32 u0x7f8000ff)
  %y = and <16 x i32> %b, splat (i32 u0x807fff00)
  %r = or disjoint <16 x i32> %y, %x
  %s = select <16 x i1> %other, <16 x i32> %b, <16 x i32> %r
  ret <16 x i32> %s
}

define <16 x i32> @plain(<16 x i32> %a, <16 x i32> %b) {
  %x = and <16 x i32> %a, splat (i32 u0x7f8000ff)
  %y = and <16 x i32> %b, splat (i32 u0x807fff00)
  %r = or disjoint <16 x i32> %y, %x
  ret <16 x i32> %r
}
