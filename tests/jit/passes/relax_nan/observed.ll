; The emitter makes every NaN of an f32 operation canonical, select(fcmp uno x, x), 0x7fffffff, x). Between operations nobody can tell which NaN it
; is, since each makes its own canonical again; so the selections go whose value only reaches arithmetic and comparisons. Their comparisons stay, for
; the optimiser to drop.

; The sum only goes into the product: its selection goes. The product's is stored: it stays.
define void @chain(float %x, float %y, float %z, ptr %p) {
  %s = fadd float %x, %y
  %sn = fcmp uno float %s, %s
  %sc = select i1 %sn, float 0x7FFFFFFFE0000000, float %s
  %m = fmul float %sc, %z
  %mn = fcmp uno float %m, %m
  %mc = select i1 %mn, float 0x7FFFFFFFE0000000, float %m
  store float %mc, ptr %p
  ret void
}

; A comparison and a minimum do not see which NaN it is; the minimum's own selection stays, since its bits are stored as an integer.
define i1 @compared(float %x, float %y, ptr %p) {
  %s = fadd float %x, %y
  %sn = fcmp uno float %s, %s
  %sc = select i1 %sn, float 0x7FFFFFFFE0000000, float %s
  %c = fcmp olt float %sc, 1.0
  %m = call float @llvm.minnum.f32(float %sc, float %y)
  %mn = fcmp uno float %m, %m
  %mc = select i1 %mn, float 0x7FFFFFFFE0000000, float %m
  %bits = bitcast float %mc to i32
  store i32 %bits, ptr %p
  ret i1 %c
}

; The sign changes, the NaN's other bits pass on to the store: the selection stays.
define void @negated(float %x, float %y, ptr %p) {
  %s = fsub float %x, %y
  %sn = fcmp uno float %s, %s
  %sc = select i1 %sn, float 0x7FFFFFFFE0000000, float %s
  %n = fneg float %sc
  store float %n, ptr %p
  ret void
}

; A loop's sum is looked at once, behind the loop: there it becomes canonical, and in the loop no more.
define void @accumulator(ptr %p, float %x, i32 %n) {
entry:
  br label %loop

loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %acc = phi float [ 0.0, %entry ], [ %sc, %loop ]
  %s = fadd float %acc, %x
  %sn = fcmp uno float %s, %s
  %sc = select i1 %sn, float 0x7FFFFFFFE0000000, float %s
  %j = add i32 %i, 1
  %more = icmp ult i32 %j, %n
  br i1 %more, label %loop, label %end

end:
  store float %sc, ptr %p
  ret void
}

; Lanes of the host, two by two: a splat of the constant.
define <2 x float> @lanes(<2 x float> %x, <2 x float> %y) {
  %s = fmul <2 x float> %x, %y
  %sn = fcmp uno <2 x float> %s, %s
  %sc = select <2 x i1> %sn, <2 x float> splat (float 0x7FFFFFFFE0000000), <2 x float> %s
  %t = fadd <2 x float> %sc, %y
  %tn = fcmp uno <2 x float> %t, %t
  %tc = select <2 x i1> %tn, <2 x float> splat (float 0x7FFFFFFFE0000000), <2 x float> %t
  ret <2 x float> %tc
}
declare float @llvm.minnum.f32(float, float)
;---- relax-nan host
define void @chain(float %x, float %y, float %z, ptr %p) {
  %s = fadd float %x, %y
  %m = fmul float %s, %z
  %mn = fcmp uno float %m, %m
  %mc = select i1 %mn, float 0x7FFFFFFFE0000000, float %m
  store float %mc, ptr %p, align 4
  ret void
}

define i1 @compared(float %x, float %y, ptr %p) {
  %s = fadd float %x, %y
  %c = fcmp olt float %s, 1.000000e+00
  %m = call float @llvm.minnum.f32(float %s, float %y)
  %mn = fcmp uno float %m, %m
  %mc = select i1 %mn, float 0x7FFFFFFFE0000000, float %m
  %bits = bitcast float %mc to i32
  store i32 %bits, ptr %p, align 4
  ret i1 %c
}

define void @negated(float %x, float %y, ptr %p) {
  %s = fsub float %x, %y
  %sn = fcmp uno float %s, %s
  %sc = select i1 %sn, float 0x7FFFFFFFE0000000, float %s
  %n = fneg float %sc
  store float %n, ptr %p, align 4
  ret void
}

define void @accumulator(ptr %p, float %x, i32 %n) {
entry:
  br label %loop

loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %acc = phi float [ 0.000000e+00, %entry ], [ %s, %loop ]
  %s = fadd float %acc, %x
  %j = add i32 %i, 1
  %more = icmp ult i32 %j, %n
  br i1 %more, label %loop, label %end

end:
  %0 = fcmp uno float %s, %s
  %1 = select i1 %0, float 0x7FFFFFFFE0000000, float %s
  store float %1, ptr %p, align 4
  ret void
}

define <2 x float> @lanes(<2 x float> %x, <2 x float> %y) {
  %s = fmul <2 x float> %x, %y
  %t = fadd <2 x float> %s, %y
  %tn = fcmp uno <2 x float> %t, %t
  %tc = select <2 x i1> %tn, <2 x float> splat (float 0x7FFFFFFFE0000000), <2 x float> %t
  ret <2 x float> %tc
}
