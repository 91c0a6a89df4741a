; V_CVT_I32_F32, V_CVT_U32_F32 and their f64 forms saturate and give 0 for NaN, which is what llvm.fpto[su]i.sat says. Code generation would write
; clamps around them. So the saturating conversion becomes the plain one, whose result out of range is poison, and a freeze of it: code generation
; then selects the one instruction, and no later pass may reason from the poison.

; f32 and f64 to 32 bits, whatever the sign: plain and frozen.
define { i32, i32, i32 } @plain(float %x, double %y) {
  %a = call i32 @llvm.fptosi.sat.i32.f32(float %x)
  %b = call i32 @llvm.fptoui.sat.i32.f32(float %x)
  %c = call i32 @llvm.fptosi.sat.i32.f64(double %y)
  %r0 = insertvalue { i32, i32, i32 } poison, i32 %a, 0
  %r1 = insertvalue { i32, i32, i32 } %r0, i32 %b, 1
  %r2 = insertvalue { i32, i32, i32 } %r1, i32 %c, 2
  ret { i32, i32, i32 } %r2
}

; gfx90a computes pairs of f32: vectors are converted alike.
define <2 x i32> @pair(<2 x float> %x) {
  %a = call <2 x i32> @llvm.fptosi.sat.v2i32.v2f32(<2 x float> %x)
  ret <2 x i32> %a
}

; No instruction saturates to 16 or 64 bits, or takes a half to 32: these stay.
define { i16, i64, i32 } @other_widths(float %x, half %h) {
  %a = call i16 @llvm.fptosi.sat.i16.f32(float %x)
  %b = call i64 @llvm.fptoui.sat.i64.f32(float %x)
  %c = call i32 @llvm.fptosi.sat.i32.f16(half %h)
  %r0 = insertvalue { i16, i64, i32 } poison, i16 %a, 0
  %r1 = insertvalue { i16, i64, i32 } %r0, i64 %b, 1
  %r2 = insertvalue { i16, i64, i32 } %r1, i32 %c, 2
  ret { i16, i64, i32 } %r2
}

; Code generation folds a plain conversion back of what was an integer: (int)(float)0xffffffffu would be 0xffffffff, not 0x7fffffff. It stays, also
; behind a sign change.
define { i32, i32 } @was_an_integer(i32 %i) {
  %x = uitofp i32 %i to float
  %a = call i32 @llvm.fptosi.sat.i32.f32(float %x)
  %n = fneg float %x
  %b = call i32 @llvm.fptosi.sat.i32.f32(float %n)
  %r0 = insertvalue { i32, i32 } poison, i32 %a, 0
  %r1 = insertvalue { i32, i32 } %r0, i32 %b, 1
  ret { i32, i32 } %r1
}

; A choice between constants: code generation may convert each. 3.0e9 is out of a signed range (below 2^31 = 2147483648), so that stays; within an
; unsigned one (below 2^32 = 4294967296), so that becomes plain.
define { i32, i32 } @constants(i1 %c) {
  %x = select i1 %c, float 3.0e9, float 1.0
  %a = call i32 @llvm.fptosi.sat.i32.f32(float %x)
  %b = call i32 @llvm.fptoui.sat.i32.f32(float %x)
  %r0 = insertvalue { i32, i32 } poison, i32 %a, 0
  %r1 = insertvalue { i32, i32 } %r0, i32 %b, 1
  ret { i32, i32 } %r1
}

; The bits of this float are computed from a condition that a branch may make known: it stays.
define i32 @computed_bits(i1 %c) {
  %s = sext i1 %c to i32
  %x = bitcast i32 %s to float
  %a = call i32 @llvm.fptosi.sat.i32.f32(float %x)
  ret i32 %a
}

declare i32 @llvm.fptosi.sat.i32.f32(float)
declare i32 @llvm.fptoui.sat.i32.f32(float)
declare i32 @llvm.fptosi.sat.i32.f64(double)
declare i16 @llvm.fptosi.sat.i16.f32(float)
declare i64 @llvm.fptoui.sat.i64.f32(float)
declare i32 @llvm.fptosi.sat.i32.f16(half)
declare <2 x i32> @llvm.fptosi.sat.v2i32.v2f32(<2 x float>)
;---- convert gfx90a
define { i32, i32, i32 } @plain(float %x, double %y) {
  %1 = fptosi float %x to i32
  %2 = freeze i32 %1
  %3 = fptoui float %x to i32
  %4 = freeze i32 %3
  %5 = fptosi double %y to i32
  %6 = freeze i32 %5
  %r0 = insertvalue { i32, i32, i32 } poison, i32 %2, 0
  %r1 = insertvalue { i32, i32, i32 } %r0, i32 %4, 1
  %r2 = insertvalue { i32, i32, i32 } %r1, i32 %6, 2
  ret { i32, i32, i32 } %r2
}

define <2 x i32> @pair(<2 x float> %x) {
  %1 = fptosi <2 x float> %x to <2 x i32>
  %2 = freeze <2 x i32> %1
  ret <2 x i32> %2
}

define { i16, i64, i32 } @other_widths(float %x, half %h) {
  %a = call i16 @llvm.fptosi.sat.i16.f32(float %x)
  %b = call i64 @llvm.fptoui.sat.i64.f32(float %x)
  %c = call i32 @llvm.fptosi.sat.i32.f16(half %h)
  %r0 = insertvalue { i16, i64, i32 } poison, i16 %a, 0
  %r1 = insertvalue { i16, i64, i32 } %r0, i64 %b, 1
  %r2 = insertvalue { i16, i64, i32 } %r1, i32 %c, 2
  ret { i16, i64, i32 } %r2
}

define { i32, i32 } @was_an_integer(i32 %i) {
  %x = uitofp i32 %i to float
  %a = call i32 @llvm.fptosi.sat.i32.f32(float %x)
  %n = fneg float %x
  %b = call i32 @llvm.fptosi.sat.i32.f32(float %n)
  %r0 = insertvalue { i32, i32 } poison, i32 %a, 0
  %r1 = insertvalue { i32, i32 } %r0, i32 %b, 1
  ret { i32, i32 } %r1
}

define { i32, i32 } @constants(i1 %c) {
  %x = select i1 %c, float 3.000000e+09, float 1.000000e+00
  %a = call i32 @llvm.fptosi.sat.i32.f32(float %x)
  %1 = fptoui float %x to i32
  %2 = freeze i32 %1
  %r0 = insertvalue { i32, i32 } poison, i32 %a, 0
  %r1 = insertvalue { i32, i32 } %r0, i32 %2, 1
  ret { i32, i32 } %r1
}

define i32 @computed_bits(i1 %c) {
  %s = sext i1 %c to i32
  %x = bitcast i32 %s to float
  %a = call i32 @llvm.fptosi.sat.i32.f32(float %x)
  ret i32 %a
}
