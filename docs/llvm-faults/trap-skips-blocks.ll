; SPDX-License-Identifier: Apache-2.0
; AMDGPU, gfx11: pseudo-instructions stay in blocks behind llvm.trap, and the compiler ends with a fatal error.
;
; RUN:   llc-22 -mtriple=amdgcn-amd-amdhsa -mcpu=gfx1100 -filetype=obj %s -o /dev/null
; FAULT: Unsupported instruction
;
; Got:      LLVM ERROR: Unsupported instruction, for S_ADD_U64_PSEUDO; with assembly as output, an empty line in its place
; Expected: s_add_u32 and s_addc_u32
;
; Where s_trap may be a no-operation (gfx1100 to gfx1103) the trap is lowered to a loop in a new block at the end of the function.
; FinalizeISel goes on from that block, so the blocks between are not visited.
declare void @llvm.trap()

define amdgpu_kernel void @trap(i32 %n, ptr addrspace(1) %out, i64 %i) {
entry:
  %c = icmp eq i32 %n, 0
  br i1 %c, label %good, label %bad
bad:
  call void @llvm.trap()
  unreachable
good:
  %p = getelementptr [256 x i8], ptr addrspace(1) %out, i64 %i
  store i32 0, ptr addrspace(1) %p
  ret void
}
