; SPDX-License-Identifier: Apache-2.0
; AMDGPU: the carry out of (x + y) + carry is that of both additions together.
;
; RUN:   llc-22 -mtriple=amdgcn-amd-amdhsa -mcpu=gfx1100 %s -o -
; FAULT: v_add_co_ci_u32_e32 v0, vcc_lo, v0, v1, vcc_lo
;
; Got:      v_add_co_ci_u32 v0, vcc_lo, v0, v1, vcc_lo; the result reads vcc_lo
; Expected: x + y as an addition of its own, then the carry of adding the carry to it.
;
; With x = y = 0x80000000 and no carry in, x + y wraps to 0 and 0 + 0 does not carry: the second result must be 0. The combined
; instruction gives 1. usub.with.overflow behaves in the same way.
declare { i32, i1 } @llvm.uadd.with.overflow.i32(i32, i32)

define { i32, i32 } @carry(i32 %x, i32 %y, i32 %z) {
  %first = call { i32, i1 } @llvm.uadd.with.overflow.i32(i32 %z, i32 1)
  %in = extractvalue { i32, i1 } %first, 1
  %t = add i32 %x, %y
  %wide = zext i1 %in to i32
  %second = call { i32, i1 } @llvm.uadd.with.overflow.i32(i32 %t, i32 %wide)
  %u = extractvalue { i32, i1 } %second, 0
  %out = extractvalue { i32, i1 } %second, 1
  %o = zext i1 %out to i32
  %r = insertvalue { i32, i32 } poison, i32 %u, 0
  %s = insertvalue { i32, i32 } %r, i32 %o, 1
  ret { i32, i32 } %s
}
