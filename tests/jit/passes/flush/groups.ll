; .ftz: a subnormal result is zero, with its sign. Annotations say where. Few operations are flushed at once; several that follow each other are
; looked at together, and computed again, with zeros, in a block that is rarely run.

; A sum: a subnormal one is exact, so it is looked at as it is: below 2^-126 only its sign is left.
define float @sum(float %a, float %b) {
  %s = fadd float %a, %b
  %m = call float @cwj.flush.add(float %s, float %a, float %b)
  ret float %m
}

; A product may round up to 2^-126, but an H200 decides before that: the product is looked at 2^64 times as large, below 2^-62.
define float @product(float %a, float %b) {
  %s = fmul float %a, %b
  %m = call float @cwj.flush.mul(float %s, float %a, float %b)
  ret float %m
}

; No subnormals: what is annotated as flushed already, an integer, and what is 1 or larger or zero. The annotations go.
define { float, float, float } @needless(float %a, i32 %i, i1 %c) {
  %f = call float @cwj.flushed(float %a)
  %x = sitofp i32 %i to float
  %g = call float @cwj.flush(float %x)
  %y = select i1 %c, float 1.0, float -0.0
  %h = call float @cwj.flush(float %y)
  %r0 = insertvalue { float, float, float } poison, float %f, 0
  %r1 = insertvalue { float, float, float } %r0, float %g, 1
  %r2 = insertvalue { float, float, float } %r1, float %h, 2
  ret { float, float, float } %r2
}

; Four products: a test of all, and a branch that is taken once in 100,000 times. Each product comes back through a phi.
define void @group(ptr addrspace(1) %p, float %a, float %b, float %c, float %d) {
  %w = fmul float %a, %b
  %wm = call float @cwj.flush.mul(float %w, float %a, float %b)
  %x = fmul float %a, %c
  %xm = call float @cwj.flush.mul(float %x, float %a, float %c)
  %y = fmul float %a, %d
  %ym = call float @cwj.flush.mul(float %y, float %a, float %d)
  %z = fmul float %b, %c
  %zm = call float @cwj.flush.mul(float %z, float %b, float %c)
  %v0 = insertelement <4 x float> poison, float %wm, i32 0
  %v1 = insertelement <4 x float> %v0, float %xm, i32 1
  %v2 = insertelement <4 x float> %v1, float %ym, i32 2
  %v3 = insertelement <4 x float> %v2, float %zm, i32 3
  store <4 x float> %v3, ptr addrspace(1) %p
  ret void
}
declare float @cwj.flush(float)
declare float @cwj.flushed(float)
declare float @cwj.flush.add(float, float, float)
declare float @cwj.flush.mul(float, float, float)
;---- flush gfx1100
define float @sum(float %a, float %b) {
  %s = fadd float %a, %b
  %1 = fadd float %a, %b
  %2 = call float @llvm.fabs.f32(float %1)
  %3 = fcmp olt float %2, 0x3810000000000000
  %4 = bitcast float %1 to i32
  %5 = and i32 %4, -2147483648
  %6 = bitcast i32 %5 to float
  %7 = select i1 %3, float %6, float %1
  ret float %7
}

define float @product(float %a, float %b) {
  %s = fmul float %a, %b
  %1 = fmul float %a, %b
  %2 = fmul float %a, 0x43F0000000000000
  %3 = fmul float %2, %b
  %4 = call float @llvm.fabs.f32(float %3)
  %5 = fcmp olt float %4, 0x3C10000000000000
  %6 = bitcast float %1 to i32
  %7 = and i32 %6, -2147483648
  %8 = bitcast i32 %7 to float
  %9 = select i1 %5, float %8, float %1
  ret float %9
}

define { float, float, float } @needless(float %a, i32 %i, i1 %c) {
  %x = sitofp i32 %i to float
  %y = select i1 %c, float 1.000000e+00, float -0.000000e+00
  %r0 = insertvalue { float, float, float } poison, float %a, 0
  %r1 = insertvalue { float, float, float } %r0, float %x, 1
  %r2 = insertvalue { float, float, float } %r1, float %y, 2
  ret { float, float, float } %r2
}

define void @group(ptr addrspace(1) %p, float %a, float %b, float %c, float %d) {
  %w = fmul float %a, %b
  %x = fmul float %a, %c
  %y = fmul float %a, %d
  %z = fmul float %b, %c
  %1 = call { float, float, float } asm "cwj_small", "=&v,=&v,=&v,v,v,v,v"(float %w, float %x, float %y, float %z) #2
  %2 = freeze { float, float, float } %1
  %3 = extractvalue { float, float, float } %2, 0
  %4 = bitcast float %3 to i32
  %5 = icmp ult i32 %4, 16777216
  %6 = call i32 @llvm.amdgcn.ballot.i32(i1 %5)
  %7 = icmp ne i32 %6, 0
  br i1 %7, label %subnormal, label %8, !prof !0

8:
  %9 = phi float [ %w, %0 ], [ %15, %subnormal ]
  %10 = phi float [ %x, %0 ], [ %16, %subnormal ]
  %11 = phi float [ %y, %0 ], [ %17, %subnormal ]
  %12 = phi float [ %z, %0 ], [ %18, %subnormal ]
  %v0 = insertelement <4 x float> poison, float %9, i32 0
  %v1 = insertelement <4 x float> %v0, float %10, i32 1
  %v2 = insertelement <4 x float> %v1, float %11, i32 2
  %v3 = insertelement <4 x float> %v2, float %12, i32 3
  store <4 x float> %v3, ptr addrspace(1) %p, align 16
  ret void

subnormal:
  %13 = call { float, float, float, float, float, float, float, float, i32 } asm "cwj_flush *9,10 *9,11 *9,12 *10,11", "=&v,=&v,=&v,=&v,=&v,=&v,=&v,=&v,=&s,v,v,v,v"(float %a, float %b, float %c, float %d) #2
  %14 = freeze { float, float, float, float, float, float, float, float, i32 } %13
  %15 = extractvalue { float, float, float, float, float, float, float, float, i32 } %14, 0
  %16 = extractvalue { float, float, float, float, float, float, float, float, i32 } %14, 1
  %17 = extractvalue { float, float, float, float, float, float, float, float, i32 } %14, 2
  %18 = extractvalue { float, float, float, float, float, float, float, float, i32 } %14, 3
  br label %8
}

attributes #2 = { nounwind willreturn memory(none) }

!0 = !{!"branch_weights", i32 1, i32 100000}
