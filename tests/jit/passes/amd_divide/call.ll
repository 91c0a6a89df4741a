; Calls that stay. The function gets its body: gfx1036's is IR, for no code of it is made when CUDAway is built.

; Numbers of each thread's own (from memory): a call as it was. By -1 a signed division may overflow, and by 0 PTX gives all ones, so neither is
; "safe" as other constants are.
define i64 @varying(ptr addrspace(1) %p) {
  %a = load i64, ptr addrspace(1) %p
  %both = call { i64, i64 } @div.s64(i64 %a, i64 -1)
  %q = extractvalue { i64, i64 } %both, 0
  ret i64 %q
}

; Kernel arguments are one number for the wave, but LLVM takes what a function returns for a number a lane: each half is read from the first lane, and
; put together again.
define amdgpu_kernel void @uniform(i64 %a, i64 %b, ptr addrspace(1) %out) {
  %both = call { i64, i64 } @div.s64(i64 %a, i64 %b)
  %r = extractvalue { i64, i64 } %both, 1
  store i64 %r, ptr addrspace(1) %out
  ret void
}

; The body: both operands without their signs (xor and subtraction of the sign, 0 or -1), a 32-bit division where both fit, else one of 64 bits, the
; remainder from the quotient; then the signs, the quotient's that of both, the remainder's the dividend's. Zero divides as 1, and gives all ones
; instead.
declare { i64, i64 } @div.s64(i64, i64) willreturn
;---- divide gfx1036
define i64 @varying(ptr addrspace(1) %p) {
  %a = load i64, ptr addrspace(1) %p, align 4
  %both = call { i64, i64 } @div.s64(i64 %a, i64 -1)
  %1 = extractvalue { i64, i64 } %both, 0
  ret i64 %1
}

define amdgpu_kernel void @uniform(i64 %a, i64 %b, ptr addrspace(1) %out) {
  %both = call { i64, i64 } @div.s64(i64 %a, i64 %b)
  %1 = extractvalue { i64, i64 } %both, 1
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
  store i64 %11, ptr addrspace(1) %out, align 4
  ret void
}

define internal { i64, i64 } @div.s64(i64 %0, i64 %1) #0 {
  %3 = icmp eq i64 %1, 0
  %4 = ashr i64 %0, 63
  %5 = ashr i64 %1, 63
  %6 = select i1 %3, i64 1, i64 %1
  %7 = xor i64 %6, %5
  %8 = sub i64 %7, %5
  %9 = xor i64 %0, %4
  %10 = sub i64 %9, %4
  %11 = or i64 %10, %8
  %12 = lshr i64 %11, 32
  %13 = icmp eq i64 %12, 0
  br i1 %13, label %narrow, label %wide

narrow:
  %14 = trunc i64 %10 to i32
  %15 = trunc i64 %8 to i32
  %16 = udiv i32 %14, %15
  %17 = zext i32 %16 to i64
  %18 = mul i32 %16, %15
  %19 = sub i32 %14, %18
  %20 = zext i32 %19 to i64
  br label %done

wide:
  %21 = udiv i64 %10, %8
  %22 = mul i64 %21, %8
  %23 = sub i64 %10, %22
  br label %done

done:
  %24 = phi i64 [ %17, %narrow ], [ %21, %wide ]
  %25 = phi i64 [ %20, %narrow ], [ %23, %wide ]
  %26 = xor i64 %4, %5
  %27 = xor i64 %24, %26
  %28 = sub i64 %27, %26
  %29 = select i1 %3, i64 -1, i64 %28
  %30 = xor i64 %25, %4
  %31 = sub i64 %30, %4
  %32 = select i1 %3, i64 -1, i64 %31
  %mrv = insertvalue { i64, i64 } poison, i64 %29, 0
  %mrv1 = insertvalue { i64, i64 } %mrv, i64 %32, 1
  ret { i64, i64 } %mrv1
}

attributes #0 = { willreturn }
