; SPDX-License-Identifier: Apache-2.0
; AMDGPU: Rewrite Undef for PHI leaves a PHI of one value and undef, which lanes of different paths join.
;
; RUN:   opt-22 -mtriple=amdgcn-amd-amdhsa -mcpu=gfx1100 -S -passes=amdgpu-rewrite-undef-for-phi %s
; FAULT: %b = phi i32 [ 7, %after ], [ undef, %other ]
;
; The pass replaces %a by 7 and looks at no other PHI again. When it begins, %b is divergent, because lanes leave the loop with %a at different times.
; With 7 in place of %a it is one value and undef: uniform for the next analysis, so that instruction selection puts it into a scalar register,
; while lanes that come by %after wait for those that run %other.
;
; Got:      %b = phi i32 [ 7, %after ], [ undef, %other ]
; Expected: ret i32 7, which a second run of the same pass gives (-passes=amdgpu-rewrite-undef-for-phi,amdgpu-rewrite-undef-for-phi)
declare i32 @llvm.amdgcn.workitem.id.x()

define i32 @f(i32 %n, i1 %done) {
entry:
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %latch ]
  %c = icmp ult i32 %i, %n
  br i1 %c, label %skip, label %latch
skip:
  br label %latch
latch:
  %a = phi i32 [ 7, %loop ], [ undef, %skip ]
  %next = add i32 %i, 1
  %last = icmp eq i32 %next, %lane
  br i1 %last, label %after, label %loop
after:
  br i1 %done, label %join, label %other
other:
  br label %join
join:
  %b = phi i32 [ %a, %after ], [ undef, %other ]
  ret i32 %b
}
