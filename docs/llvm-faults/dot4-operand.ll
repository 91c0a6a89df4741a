; SPDX-License-Identifier: Apache-2.0
; AMDGPU: byte products become V_DOT4 although an exclusive or, not an addition, joins them.
;
; RUN:   llc-22 -mtriple=amdgcn-amd-amdhsa -mcpu=gfx1100 %s -o -
; FAULT: v_dot4_u32_u8 v0, v0, v1, v4
;
; Got:      v_dot4_u32_u8 v0, v0, v1, v4, which computes a*b + c*d + z
; Expected: a*b + ((c*d) ^ z)
;
; performAddCombine walks from product to product and takes the other operand of each step for the next sum whenever one of its
; operands is a product, without a look at its opcode. Differences, "or" and minima go the same way.
define i32 @exclusive_or(i32 %a, i32 %b, i32 %c, i32 %d, i32 %z) {
  %a8 = and i32 %a, 255
  %b8 = and i32 %b, 255
  %c8 = and i32 %c, 255
  %d8 = and i32 %d, 255
  %p = mul i32 %a8, %b8
  %q = mul i32 %c8, %d8
  %t = xor i32 %q, %z
  %s = add i32 %p, %t
  ret i32 %s
}
