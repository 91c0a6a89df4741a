; SPDX-License-Identifier: Apache-2.0
; AMDGPU: V_DOT4 made of byte products adds zext(i1) where the source adds sext(i1).
;
; RUN:   llc-22 -mtriple=amdgcn-amd-amdhsa -mcpu=gfx1100 %s -o -
; FAULT: v_and_b32_e32 v2, 1, v2
;
; Got:      v_and_b32 v2, 1, v2 in front of v_dot4_i32_iu8: the addend is 0 or 1
; Expected: an addend of 0 or -1
define i32 @mask(i32 %a, i32 %b, i1 %p, i1 %q) {
  %any = or i1 %p, %q
  %c = sext i1 %any to i32
  %at0 = trunc i32 %a to i8
  %a0 = sext i8 %at0 to i32
  %as1 = lshr i32 %a, 8
  %at1 = trunc i32 %as1 to i8
  %a1 = sext i8 %at1 to i32
  %as2 = lshr i32 %a, 16
  %at2 = trunc i32 %as2 to i8
  %a2 = sext i8 %at2 to i32
  %as3 = lshr i32 %a, 24
  %at3 = trunc i32 %as3 to i8
  %a3 = sext i8 %at3 to i32
  %bt0 = trunc i32 %b to i8
  %b0 = sext i8 %bt0 to i32
  %bs1 = lshr i32 %b, 8
  %bt1 = trunc i32 %bs1 to i8
  %b1 = sext i8 %bt1 to i32
  %bs2 = lshr i32 %b, 16
  %bt2 = trunc i32 %bs2 to i8
  %b2 = sext i8 %bt2 to i32
  %bs3 = lshr i32 %b, 24
  %bt3 = trunc i32 %bs3 to i8
  %b3 = sext i8 %bt3 to i32
  %p0 = mul i32 %a0, %b0
  %s0 = add i32 %c, %p0
  %p1 = mul i32 %a1, %b1
  %s1 = add i32 %s0, %p1
  %p2 = mul i32 %a2, %b2
  %s2 = add i32 %s1, %p2
  %p3 = mul i32 %a3, %b3
  %s3 = add i32 %s2, %p3
  ret i32 %s3
}
