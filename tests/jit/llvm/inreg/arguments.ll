; Work-around: before gfx11 (but for gfx942) LLVM's callers pass `inreg` arguments from s0 on, which describe a thread's own memory there, and
; functions expect them from s4 on. They go in vector registers instead; the function reads each half from the first lane, as all lanes have the same.
;
; gfx90a: no inreg is left, at the call either. gfx1100: both agree, nothing changes.
define internal i32 @read(ptr addrspace(4) inreg %table, i32 %i) {
  %at = getelementptr i32, ptr addrspace(4) %table, i32 %i
  %v = load i32, ptr addrspace(4) %at
  ret i32 %v
}

define amdgpu_kernel void @kernel(ptr addrspace(4) %table, i32 %i, ptr addrspace(1) %out) {
  %v = call i32 @read(ptr addrspace(4) inreg %table, i32 %i)
  store i32 %v, ptr addrspace(1) %out
  ret void
}
;---- uniform-arguments gfx90a
define internal i32 @read(ptr addrspace(4) %table, i32 %i) {
  %1 = ptrtoint ptr addrspace(4) %table to i64
  %2 = lshr i64 %1, 0
  %3 = trunc i64 %2 to i32
  %4 = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %3)
  %5 = zext i32 %4 to i64
  %6 = lshr i64 %1, 32
  %7 = trunc i64 %6 to i32
  %8 = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %7)
  %9 = zext i32 %8 to i64
  %10 = shl i64 %9, 32
  %11 = or i64 %5, %10
  %12 = inttoptr i64 %11 to ptr addrspace(4)
  %at = getelementptr i32, ptr addrspace(4) %12, i32 %i
  %v = load i32, ptr addrspace(4) %at, align 4
  ret i32 %v
}

define amdgpu_kernel void @kernel(ptr addrspace(4) %table, i32 %i, ptr addrspace(1) %out) {
  %v = call i32 @read(ptr addrspace(4) %table, i32 %i)
  store i32 %v, ptr addrspace(1) %out, align 4
  ret void
}

;---- uniform-arguments gfx1100
define internal i32 @read(ptr addrspace(4) inreg %table, i32 %i) {
  %at = getelementptr i32, ptr addrspace(4) %table, i32 %i
  %v = load i32, ptr addrspace(4) %at, align 4
  ret i32 %v
}

define amdgpu_kernel void @kernel(ptr addrspace(4) %table, i32 %i, ptr addrspace(1) %out) {
  %v = call i32 @read(ptr addrspace(4) inreg %table, i32 %i)
  store i32 %v, ptr addrspace(1) %out, align 4
  ret void
}
