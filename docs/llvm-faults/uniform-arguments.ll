; SPDX-License-Identifier: Apache-2.0
; AMDGPU: caller and callee disagree on the register of an inreg argument where s[0:3] hold the scratch descriptor.
;
; RUN:   llc-22 -mtriple=amdgcn-amd-amdhsa -mcpu=gfx1030 %s -o -
; FAULT: v_add_co_u32 v0, vcc_lo, s16, v0
;
; So on gfx900 to gfx90a and gfx10.
;
; Got:      the kernel copies the table's address to s[0:1], over the scratch descriptor; the callee reads it from s[16:17]
; Expected: both use the same registers. On gfx942, gfx11 and gfx12, which have architected flat scratch, both use s[0:1].
define internal i32 @callee(ptr addrspace(4) inreg %table, i32 %i) noinline {
  %p = getelementptr i32, ptr addrspace(4) %table, i32 %i
  %v = load i32, ptr addrspace(4) %p
  ret i32 %v
}

define amdgpu_kernel void @kernel(ptr addrspace(4) %table, i32 %i, ptr addrspace(1) %out) {
  %v = call i32 @callee(ptr addrspace(4) inreg %table, i32 %i)
  store i32 %v, ptr addrspace(1) %out
  ret void
}
