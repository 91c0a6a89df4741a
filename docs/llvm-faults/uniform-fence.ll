; SPDX-License-Identifier: Apache-2.0
; AMDGPU: llvm.arithmetic.fence of a uniform value that is computed in vector registers does not compile.
;
; RUN:   llc-22 -mtriple=amdgcn-amd-amdhsa -mcpu=gfx1100 %s -o -
; FAULT: illegal VGPR to SGPR copy
;
; Got:      error: in function fence: illegal VGPR to SGPR copy
; Expected: code; the fence is a copy.
;
; The result of v_sqrt_f32 is uniform, so instruction selection gives ARITH_FENCE a scalar result and a vector operand.
declare float @llvm.sqrt.f32(float)
declare float @llvm.arithmetic.fence.f32(float)

define amdgpu_kernel void @fence(ptr addrspace(1) %out, float %x) {
  %root = call float @llvm.sqrt.f32(float %x)
  %fenced = call float @llvm.arithmetic.fence.f32(float %root)
  %nan = fcmp uno float %root, 0.0
  %r = select i1 %nan, float 0x7FFFFFFFE0000000, float %fenced
  store float %r, ptr addrspace(1) %out
  ret void
}
