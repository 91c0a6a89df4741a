; SPDX-License-Identifier: Apache-2.0
; AMDGPU: llvm.amdgcn.ballot of "fcmp one" counts lanes whose operand is NaN.
;
; RUN:   llc-22 -mtriple=amdgcn-amd-amdhsa -mcpu=gfx1100 %s -o -
; FAULT: v_cmp_neq_f32
;
; Got:      v_cmp_neq_f32 (not equal, true for NaN)
; Expected: v_cmp_lg_f32  (less or greater, false for NaN), which a branch on the same condition gets.
;
; The ballot is lowered to a SETCC node with the integer meaning of the condition code, where SETONE becomes "ne".
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.ballot.i32(i1)

define amdgpu_kernel void @ballot(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %p = getelementptr float, ptr addrspace(1) %in, i32 %lane
  %x = load float, ptr addrspace(1) %p
  %c = fcmp one float %x, 1.0
  %mask = call i32 @llvm.amdgcn.ballot.i32(i1 %c)
  store i32 %mask, ptr addrspace(1) %out
  ret void
}
