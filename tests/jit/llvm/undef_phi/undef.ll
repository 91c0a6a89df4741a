; Work-around: LLVM may keep a PHI of one uniform value and undef in a scalar register although lanes with another path run in between. Before its
; pass that looks for such PHIs, one that can only be a constant becomes the constant, and one that differs from lane to lane gets freeze(poison), or
; `false` for i1, in place of undef.

; The lanes of %id below 7 come by %some. %k can only be 3; %v varies, for %x is another in each lane: it gets a frozen value at the end of %entry.
; %flag is i1 with one value, %c.
define amdgpu_kernel void @joins(ptr addrspace(1) %p) {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %at = getelementptr i32, ptr addrspace(1) %p, i32 %id
  %few = icmp ult i32 %id, 7
  br i1 %few, label %some, label %end

some:
  %x = load i32, ptr addrspace(1) %at
  %c = icmp eq i32 %x, 5
  br label %end

end:
  %k = phi i32 [ 3, %some ], [ undef, %entry ]
  %v = phi i32 [ %x, %some ], [ undef, %entry ]
  %flag = phi i1 [ %c, %some ], [ undef, %entry ]
  %s = select i1 %flag, i32 %v, i32 %k
  store volatile i32 %s, ptr addrspace(1) %at
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
;---- undef-phi gfx1100
define amdgpu_kernel void @joins(ptr addrspace(1) %p) {
entry:
  %joins.kernarg.segment = call nonnull align 16 dereferenceable(264) ptr addrspace(4) @llvm.amdgcn.kernarg.segment.ptr()
  %p.kernarg.offset1 = bitcast ptr addrspace(4) %joins.kernarg.segment to ptr addrspace(4), !amdgpu.uniform !0
  %p.load = load ptr addrspace(1), ptr addrspace(4) %p.kernarg.offset1, align 16, !invariant.load !0
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %at = getelementptr i32, ptr addrspace(1) %p.load, i32 %id
  %few = icmp ult i32 %id, 7
  %0 = call { i1, i32 } @llvm.amdgcn.if.i32(i1 %few)
  %1 = extractvalue { i1, i32 } %0, 0
  %2 = extractvalue { i1, i32 } %0, 1
  %3 = freeze i32 poison
  br i1 %1, label %some, label %end

some:
  %x = load i32, ptr addrspace(1) %at, align 4
  %c = icmp eq i32 %x, 5
  br label %end, !amdgpu.uniform !0

end:
  %v = phi i32 [ %3, %entry ], [ %x, %some ]
  %flag = phi i1 [ false, %entry ], [ %c, %some ]
  call void @llvm.amdgcn.end.cf.i32(i32 %2)
  %s = select i1 %flag, i32 %v, i32 3
  store volatile i32 %s, ptr addrspace(1) %at, align 4
  ret void
}

!0 = !{}
