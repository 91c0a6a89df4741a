; LLVM since 20 writes PTX whose floats lie in .b32 registers, so values are carried as integers with bit casts around every operation. Where a phi or
; select only moves floats it becomes one of floats, and the casts go. No bit of any value changes.

; A sum in a loop: a float goes in (%sum), a float comes out (%x). The phi becomes float, both casts go. The constant 0 becomes 0.0, whose bits are 0.
define float @sum(ptr %p, i32 %n) {
entry:
  br label %loop

loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %bits = phi i32 [ 0, %entry ], [ %sumbits, %loop ]
  %x = bitcast i32 %bits to float
  %at = getelementptr float, ptr %p, i32 %i
  %y = load float, ptr %at
  %sum = fadd float %x, %y
  %sumbits = bitcast float %sum to i32
  %j = add i32 %i, 1
  %more = icmp ult i32 %j, %n
  br i1 %more, label %loop, label %end

end:
  %r = bitcast i32 %sumbits to float
  ret float %r
}

; A select of which one arm is a float: both become floats. Its integer user gets a cast of the new select; the float user none.
define { i32, float } @choice(i1 %c, float %x, i32 %b) {
  %xbits = bitcast float %x to i32
  %s = select i1 %c, i32 %xbits, i32 %b
  %f = bitcast i32 %s to float
  %i = add i32 %s, 1
  %r0 = insertvalue { i32, float } poison, i32 %i, 0
  %r1 = insertvalue { i32, float } %r0, float %f, 1
  ret { i32, float } %r1
}

; f64 and vectors of lanes alike.
define <4 x double> @lanes(i1 %c, <4 x double> %x, <4 x double> %y) {
entry:
  %xb = bitcast <4 x double> %x to <4 x i64>
  %yb = bitcast <4 x double> %y to <4 x i64>
  br i1 %c, label %a, label %b

a:
  br label %b

b:
  %p = phi <4 x i64> [ %xb, %entry ], [ %yb, %a ]
  %r = bitcast <4 x i64> %p to <4 x double>
  ret <4 x double> %r
}

; Integers that happen to be looked at as a float once: a float comes out, but none goes in. It stays.
define float @integer(i32 %a, i32 %b, i1 %c) {
entry:
  br i1 %c, label %then, label %end

then:
  br label %end

end:
  %p = phi i32 [ %a, %entry ], [ %b, %then ]
  %x = bitcast i32 %p to float
  ret float %x
}
;---- retype-floats gfx1100
define float @sum(ptr %p, i32 %n) {
entry:
  br label %loop

loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %0 = phi float [ 0.000000e+00, %entry ], [ %sum, %loop ]
  %at = getelementptr float, ptr %p, i32 %i
  %y = load float, ptr %at, align 4
  %sum = fadd float %0, %y
  %j = add i32 %i, 1
  %more = icmp ult i32 %j, %n
  br i1 %more, label %loop, label %end

end:
  ret float %sum
}

define { i32, float } @choice(i1 %c, float %x, i32 %b) {
  %1 = bitcast i32 %b to float
  %2 = select i1 %c, float %x, float %1
  %3 = bitcast float %2 to i32
  %i = add i32 %3, 1
  %r0 = insertvalue { i32, float } poison, i32 %i, 0
  %r1 = insertvalue { i32, float } %r0, float %2, 1
  ret { i32, float } %r1
}

define <4 x double> @lanes(i1 %c, <4 x double> %x, <4 x double> %y) {
entry:
  br i1 %c, label %a, label %b

a:
  br label %b

b:
  %0 = phi <4 x double> [ %x, %entry ], [ %y, %a ]
  ret <4 x double> %0
}

define float @integer(i32 %a, i32 %b, i1 %c) {
entry:
  br i1 %c, label %then, label %end

then:
  br label %end

end:
  %p = phi i32 [ %a, %entry ], [ %b, %then ]
  %x = bitcast i32 %p to float
  ret float %x
}
