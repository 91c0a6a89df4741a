; Loads of kernel parameters move to the end of the entry block, where neighbours become one scalar load. The segment of parameters is constant and
; always there, so a load of it may run earlier. Addresses into it move in front of what followed the intrinsic that gives it: here, that is the
; branch as well.

; p0 (offset 0, the base itself) and p8 (a constant offset below 64): both move, the address of p8 before them.
define amdgpu_kernel void @moves(i1 %c) {
entry:
  %base = call ptr addrspace(4) @llvm.amdgcn.kernarg.segment.ptr()
  br i1 %c, label %some, label %end

some:
  %p0 = load i64, ptr addrspace(4) %base
  %at8 = getelementptr i8, ptr addrspace(4) %base, i64 8
  %p8 = load i64, ptr addrspace(4) %at8
  %sum = add i64 %p0, %p8
  %out = inttoptr i64 %p0 to ptr addrspace(1)
  store i64 %sum, ptr addrspace(1) %out
  br label %end

end:
  ret void
}

; These stay: offset 64 and beyond (too many scalar registers), an offset that is not constant, a volatile load.
define amdgpu_kernel void @stays(i1 %c, i64 %i) {
entry:
  %base = call ptr addrspace(4) @llvm.amdgcn.kernarg.segment.ptr()
  br i1 %c, label %some, label %end

some:
  %at64 = getelementptr i8, ptr addrspace(4) %base, i64 64
  %far = load i64, ptr addrspace(4) %at64
  %ati = getelementptr i8, ptr addrspace(4) %base, i64 %i
  %indexed = load i64, ptr addrspace(4) %ati
  %volatile = load volatile i64, ptr addrspace(4) %base
  %a = add i64 %far, %indexed
  %b = add i64 %a, %volatile
  %out = inttoptr i64 %b to ptr addrspace(1)
  store i64 %b, ptr addrspace(1) %out
  br label %end

end:
  ret void
}

; A function that is no kernel has no segment of its own to prefetch: nothing moves.
define i64 @no_kernel(i1 %c) {
entry:
  %base = call ptr addrspace(4) @llvm.amdgcn.kernarg.segment.ptr()
  br i1 %c, label %some, label %end

some:
  %p0 = load i64, ptr addrspace(4) %base
  ret i64 %p0

end:
  ret i64 0
}

declare ptr addrspace(4) @llvm.amdgcn.kernarg.segment.ptr()
;---- hoist-parameters gfx1100
define amdgpu_kernel void @moves(i1 %c) {
entry:
  %base = call ptr addrspace(4) @llvm.amdgcn.kernarg.segment.ptr()
  %0 = load i64, ptr addrspace(4) %base, align 4
  %1 = getelementptr i8, ptr addrspace(4) %base, i64 8
  %2 = load i64, ptr addrspace(4) %1, align 4
  br i1 %c, label %some, label %end

some:
  %sum = add i64 %0, %2
  %out = inttoptr i64 %0 to ptr addrspace(1)
  store i64 %sum, ptr addrspace(1) %out, align 4
  br label %end

end:
  ret void
}

define amdgpu_kernel void @stays(i1 %c, i64 %i) {
entry:
  %base = call ptr addrspace(4) @llvm.amdgcn.kernarg.segment.ptr()
  br i1 %c, label %some, label %end

some:
  %at64 = getelementptr i8, ptr addrspace(4) %base, i64 64
  %far = load i64, ptr addrspace(4) %at64, align 4
  %ati = getelementptr i8, ptr addrspace(4) %base, i64 %i
  %indexed = load i64, ptr addrspace(4) %ati, align 4
  %volatile = load volatile i64, ptr addrspace(4) %base, align 4
  %a = add i64 %far, %indexed
  %b = add i64 %a, %volatile
  %out = inttoptr i64 %b to ptr addrspace(1)
  store i64 %b, ptr addrspace(1) %out, align 4
  br label %end

end:
  ret void
}

define i64 @no_kernel(i1 %c) {
entry:
  %base = call ptr addrspace(4) @llvm.amdgcn.kernarg.segment.ptr()
  br i1 %c, label %some, label %end

some:
  %p0 = load i64, ptr addrspace(4) %base, align 4
  ret i64 %p0

end:
  ret i64 0
}
