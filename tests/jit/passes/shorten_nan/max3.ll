; A NaN of f32 becomes canonical by one instruction, V_MAX3 of the canonical NaN, x and the canonical NaN again: x where x is a number, and where it
; is NaN the canonical one, whichever operand the processor prefers. It would make a signalling NaN quiet and leave its other bits, so x must be the
; result of an instruction that gives quiet ones.

; A sum.
define float @sum(float %x, float %y) {
  %s = fadd float %x, %y
  %n = fcmp uno float %s, %s
  %c = select i1 %n, float 0x7FFFFFFFE0000000, float %s
  ret float %c
}

; The optimiser may turn the comparison around, compare with zero, and merge two paths. The comparison stays where something else uses it.
define { float, i1 } @ordered(float %x, float %y, i1 %b) {
  %s = fmul float %x, %y
  %t = fsub float %x, %y
  %either = select i1 %b, float %s, float %t
  %o = fcmp ord float %either, 0.0
  %c = select i1 %o, float %either, float 0x7FFFFFFFE0000000
  %r0 = insertvalue { float, i1 } poison, float %c, 0
  %r1 = insertvalue { float, i1 } %r0, i1 %o, 1
  ret { float, i1 } %r1
}

; gfx90a computes pairs: each half by itself.
define <2 x float> @pair(<2 x float> %x, <2 x float> %y) {
  %s = fadd <2 x float> %x, %y
  %n = fcmp uno <2 x float> %s, %s
  %c = select <2 x i1> %n, <2 x float> splat (float 0x7FFFFFFFE0000000), <2 x float> %s
  ret <2 x float> %c
}

; These stay: an argument may be a signalling NaN; another NaN is not the canonical one.
define { float, float } @stay(float %x, float %y) {
  %n = fcmp uno float %x, %x
  %c = select i1 %n, float 0x7FFFFFFFE0000000, float %x
  %s = fadd float %x, %y
  %m = fcmp uno float %s, %s
  %d = select i1 %m, float 0x7FF8000000000000, float %s
  %r0 = insertvalue { float, float } poison, float %c, 0
  %r1 = insertvalue { float, float } %r0, float %d, 1
  ret { float, float } %r1
}
;---- shorten-nan gfx90a
define float @sum(float %x, float %y) {
  %s = fadd float %x, %y
  %1 = call float asm "cwj_max3", "=v,v,s"(float %s, i32 2147483647) #0
  ret float %1
}

define { float, i1 } @ordered(float %x, float %y, i1 %b) {
  %s = fmul float %x, %y
  %t = fsub float %x, %y
  %either = select i1 %b, float %s, float %t
  %o = fcmp ord float %either, 0.000000e+00
  %1 = call float asm "cwj_max3", "=v,v,s"(float %either, i32 2147483647) #0
  %r0 = insertvalue { float, i1 } poison, float %1, 0
  %r1 = insertvalue { float, i1 } %r0, i1 %o, 1
  ret { float, i1 } %r1
}

define <2 x float> @pair(<2 x float> %x, <2 x float> %y) {
  %s = fadd <2 x float> %x, %y
  %1 = extractelement <2 x float> %s, i32 0
  %2 = call float asm "cwj_max3", "=v,v,s"(float %1, i32 2147483647) #0
  %3 = insertelement <2 x float> undef, float %2, i32 0
  %4 = extractelement <2 x float> %s, i32 1
  %5 = call float asm "cwj_max3", "=v,v,s"(float %4, i32 2147483647) #0
  %6 = insertelement <2 x float> %3, float %5, i32 1
  ret <2 x float> %6
}

define { float, float } @stay(float %x, float %y) {
  %n = fcmp uno float %x, %x
  %c = select i1 %n, float 0x7FFFFFFFE0000000, float %x
  %s = fadd float %x, %y
  %m = fcmp uno float %s, %s
  %d = select i1 %m, float 0x7FF8000000000000, float %s
  %r0 = insertvalue { float, float } poison, float %c, 0
  %r1 = insertvalue { float, float } %r0, float %d, 1
  ret { float, float } %r1
}

attributes #0 = { nounwind willreturn memory(none) }

;---- shorten-nan gfx1201
define float @sum(float %x, float %y) {
  %s = fadd float %x, %y
  %1 = call float asm "cwj_max3", "=v,v"(float %s) #0
  ret float %1
}

define { float, i1 } @ordered(float %x, float %y, i1 %b) {
  %s = fmul float %x, %y
  %t = fsub float %x, %y
  %either = select i1 %b, float %s, float %t
  %o = fcmp ord float %either, 0.000000e+00
  %1 = call float asm "cwj_max3", "=v,v"(float %either) #0
  %r0 = insertvalue { float, i1 } poison, float %1, 0
  %r1 = insertvalue { float, i1 } %r0, i1 %o, 1
  ret { float, i1 } %r1
}

define <2 x float> @pair(<2 x float> %x, <2 x float> %y) {
  %s = fadd <2 x float> %x, %y
  %1 = extractelement <2 x float> %s, i32 0
  %2 = call float asm "cwj_max3", "=v,v"(float %1) #0
  %3 = insertelement <2 x float> undef, float %2, i32 0
  %4 = extractelement <2 x float> %s, i32 1
  %5 = call float asm "cwj_max3", "=v,v"(float %4) #0
  %6 = insertelement <2 x float> %3, float %5, i32 1
  ret <2 x float> %6
}

define { float, float } @stay(float %x, float %y) {
  %n = fcmp uno float %x, %x
  %c = select i1 %n, float 0x7FFFFFFFE0000000, float %x
  %s = fadd float %x, %y
  %m = fcmp uno float %s, %s
  %d = select i1 %m, float 0x7FF8000000000000, float %s
  %r0 = insertvalue { float, float } poison, float %c, 0
  %r1 = insertvalue { float, float } %r0, float %d, 1
  ret { float, float } %r1
}

attributes #0 = { nounwind willreturn memory(none) }
