; SPDX-License-Identifier: Apache-2.0
; AMDGPU, gfx11: a constant of a 16-bit PHI is lost with real-true16, which is the default.
;
; RUN:   llc-22 -mtriple=amdgcn-amd-amdhsa -mcpu=gfx1100 %s -o -
; FAULT: implicit-def: $vgpr1
;
; %low is 0 where control comes from %other. Got: in that block v1 is undefined (implicit-def), and %join stores v1.l.
; Expected: 0; so with -mattr=-real-true16.
declare i32 @llvm.amdgcn.workitem.id.x()

define amdgpu_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out, ptr addrspace(4) %flags) {
entry:
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %flag = load i16, ptr addrspace(4) %flags, align 4
  %bit = and i16 %flag, 1
  %c = icmp eq i16 %bit, 0
  br i1 %c, label %taken, label %other

taken:
  %wide = zext nneg i32 %lane to i64
  %p = getelementptr [160 x i8], ptr addrspace(1) %in, i64 %wide
  %b = load i8, ptr addrspace(1) %p, align 2
  %b1 = and i8 %b, 1
  %z = icmp eq i8 %b1, 0
  %s = select i1 %z, i16 1, i16 0
  br label %join

other:
  br label %join

join:
  %n = phi i64 [ 1, %other ], [ 0, %taken ]
  %high = phi i16 [ %s, %taken ], [ 0, %other ]
  %low = phi i16 [ -32768, %taken ], [ 0, %other ]
  %q = getelementptr [256 x i8], ptr addrspace(1) %out, i64 %n
  %q0 = getelementptr i8, ptr addrspace(1) %q, i64 128
  store i16 %low, ptr addrspace(1) %q0, align 2
  %q1 = getelementptr i8, ptr addrspace(1) %q, i64 130
  store i16 %high, ptr addrspace(1) %q1, align 2
  ret void
}
