; Work-around: with AVX-512 two or more bitwise operations become one VPTERNLOG, and a select between that and one of its operands a write mask, with
; the truth table of another order. Where an arm of a select is such a tree and the other arm one of its leaves, the tree passes through
; llvm.arithmetic.fence, of which LLVM's optimiser and code generator look at neither side.

; (a & k) | (b & ~k), or b itself: b is a leaf of the tree, three operations. The fence is of floats, so casts go around it.
define <16 x i32> @masked(<16 x i32> %a, <16 x i32> %b, <16 x i1> %m) {
  %x = and <16 x i32> %a, splat (i32 255)
  %y = and <16 x i32> %b, splat (i32 -256)
  %r = or <16 x i32> %x, %y
  %s = select <16 x i1> %m, <16 x i32> %b, <16 x i32> %r
  ret <16 x i32> %s
}

; Signs of floats are bitwise operations, too, and -|x| is more than one.
define <16 x float> @signs(<16 x float> %x, <16 x i1> %m) {
  %abs = call <16 x float> @llvm.fabs.v16f32(<16 x float> %x)
  %n = fneg <16 x float> %abs
  %s = select <16 x i1> %m, <16 x float> %n, <16 x float> %x
  ret <16 x float> %s
}

; These stay: one operation is no VPTERNLOG; the other arm is no leaf of the tree; a scalar condition is no write mask.
define { <16 x i32>, <16 x i32>, <16 x i32> } @stay(<16 x i32> %a, <16 x i32> %b, <16 x i32> %c, <16 x i1> %m, i1 %one) {
  %x = and <16 x i32> %a, %b
  %s = select <16 x i1> %m, <16 x i32> %b, <16 x i32> %x
  %y = or <16 x i32> %x, splat (i32 1)
  %t = select <16 x i1> %m, <16 x i32> %c, <16 x i32> %y
  %u = select i1 %one, <16 x i32> %a, <16 x i32> %y
  %r0 = insertvalue { <16 x i32>, <16 x i32>, <16 x i32> } poison, <16 x i32> %s, 0
  %r1 = insertvalue { <16 x i32>, <16 x i32>, <16 x i32> } %r0, <16 x i32> %t, 1
  %r2 = insertvalue { <16 x i32>, <16 x i32>, <16 x i32> } %r1, <16 x i32> %u, 2
  ret { <16 x i32>, <16 x i32>, <16 x i32> } %r2
}
declare <16 x float> @llvm.fabs.v16f32(<16 x float>)
;---- x86-ternlog x86:x86-64-v4
define <16 x i32> @masked(<16 x i32> %a, <16 x i32> %b, <16 x i1> %m) {
  %x = and <16 x i32> %a, splat (i32 255)
  %y = and <16 x i32> %b, splat (i32 -256)
  %r = or <16 x i32> %x, %y
  %1 = bitcast <16 x i32> %r to <16 x float>
  %2 = call <16 x float> @llvm.arithmetic.fence.v16f32(<16 x float> %1)
  %3 = bitcast <16 x float> %2 to <16 x i32>
  %s = select <16 x i1> %m, <16 x i32> %b, <16 x i32> %3
  ret <16 x i32> %s
}

define <16 x float> @signs(<16 x float> %x, <16 x i1> %m) {
  %abs = call <16 x float> @llvm.fabs.v16f32(<16 x float> %x)
  %n = fneg <16 x float> %abs
  %1 = call <16 x float> @llvm.arithmetic.fence.v16f32(<16 x float> %n)
  %s = select <16 x i1> %m, <16 x float> %1, <16 x float> %x
  ret <16 x float> %s
}

define { <16 x i32>, <16 x i32>, <16 x i32> } @stay(<16 x i32> %a, <16 x i32> %b, <16 x i32> %c, <16 x i1> %m, i1 %one) {
  %x = and <16 x i32> %a, %b
  %s = select <16 x i1> %m, <16 x i32> %b, <16 x i32> %x
  %y = or <16 x i32> %x, splat (i32 1)
  %t = select <16 x i1> %m, <16 x i32> %c, <16 x i32> %y
  %u = select i1 %one, <16 x i32> %a, <16 x i32> %y
  %r0 = insertvalue { <16 x i32>, <16 x i32>, <16 x i32> } poison, <16 x i32> %s, 0
  %r1 = insertvalue { <16 x i32>, <16 x i32>, <16 x i32> } %r0, <16 x i32> %t, 1
  %r2 = insertvalue { <16 x i32>, <16 x i32>, <16 x i32> } %r1, <16 x i32> %u, 2
  ret { <16 x i32>, <16 x i32>, <16 x i32> } %r2
}
