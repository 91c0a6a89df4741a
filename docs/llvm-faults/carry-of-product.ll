; SPDX-License-Identifier: Apache-2.0
; AMDGPU: the carry out of a 64-bit product plus a number is wrong: the upper word of the product is a sum, which takes part in it.
;
; RUN:   llc-22 -mtriple=amdgcn-amd-amdhsa -mcpu=gfx1100 %s -o -
; FAULT: v_add_co_ci_u32_e32 v1, vcc_lo, v1, v6, vcc_lo
;
; The upper word of x * y is v1 + v6, modulo 2^32. The instruction above adds the carry of the lower words to v1 + v6 and gives the
; carry of both additions; the second result must be that of the last one alone. See carry-of-sum.ll.
declare { i64, i1 } @llvm.uadd.with.overflow.i64(i64, i64)

define { i64, i1 } @product(i64 %x, i64 %y) {
  %m = mul i64 %x, %y
  %w = call { i64, i1 } @llvm.uadd.with.overflow.i64(i64 %m, i64 32767)
  ret { i64, i1 } %w
}
