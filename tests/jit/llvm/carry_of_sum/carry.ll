; Work-around: for u = t + carry, where t is a sum x + y, LLVM selects one instruction for x + y + carry and takes its carry for u's, which is that of
; both additions. The carry of u alone is computed from u: with a carry in, u wrapped just when it is 0. For differences, when it is all ones.

; The overflow is %c and (u == 0).
define { i32, i1 } @sum(i32 %x, i32 %y, i1 %c) {
  %t = add i32 %x, %y
  %z = zext i1 %c to i32
  %w = call { i32, i1 } @llvm.uadd.with.overflow.i32(i32 %t, i32 %z)
  %u = extractvalue { i32, i1 } %w, 0
  %o = extractvalue { i32, i1 } %w, 1
  %r0 = insertvalue { i32, i1 } poison, i32 %u, 0
  %r1 = insertvalue { i32, i1 } %r0, i1 %o, 1
  ret { i32, i1 } %r1
}

; The overflow is %c and (u == -1).
define { i32, i1 } @difference(i32 %x, i32 %y, i1 %c) {
  %t = sub i32 %x, %y
  %z = zext i1 %c to i32
  %w = call { i32, i1 } @llvm.usub.with.overflow.i32(i32 %t, i32 %z)
  %u = extractvalue { i32, i1 } %w, 0
  %o = extractvalue { i32, i1 } %w, 1
  %r0 = insertvalue { i32, i1 } poison, i32 %u, 0
  %r1 = insertvalue { i32, i1 } %r0, i1 %o, 1
  ret { i32, i1 } %r1
}

; t is an argument, no sum: one addition, whose carry is right.
define { i32, i1 } @plain(i32 %t, i1 %c) {
  %z = zext i1 %c to i32
  %w = call { i32, i1 } @llvm.uadd.with.overflow.i32(i32 %t, i32 %z)
  ret { i32, i1 } %w
}
declare { i32, i1 } @llvm.uadd.with.overflow.i32(i32, i32)
declare { i32, i1 } @llvm.usub.with.overflow.i32(i32, i32)
;---- carry-of-sum gfx1100
define { i32, i1 } @sum(i32 %x, i32 %y, i1 %c) {
  %t = add i32 %x, %y
  %z = zext i1 %c to i32
  %1 = add i32 %t, %z
  %2 = icmp eq i32 %1, 0
  %3 = and i1 %c, %2
  %r0 = insertvalue { i32, i1 } poison, i32 %1, 0
  %r1 = insertvalue { i32, i1 } %r0, i1 %3, 1
  ret { i32, i1 } %r1
}

define { i32, i1 } @difference(i32 %x, i32 %y, i1 %c) {
  %t = sub i32 %x, %y
  %z = zext i1 %c to i32
  %1 = sub i32 %t, %z
  %2 = icmp eq i32 %1, -1
  %3 = and i1 %c, %2
  %r0 = insertvalue { i32, i1 } poison, i32 %1, 0
  %r1 = insertvalue { i32, i1 } %r0, i1 %3, 1
  ret { i32, i1 } %r1
}

define { i32, i1 } @plain(i32 %t, i1 %c) {
  %z = zext i1 %c to i32
  %w = call { i32, i1 } @llvm.uadd.with.overflow.i32(i32 %t, i32 %z)
  ret { i32, i1 } %w
}
