; The emitter calls div.u64 and div.s64 for quotient and remainder of 64-bit numbers; this pass makes code of the calls when the optimiser is done. No
; call is left here, so neither function.

; By a constant: LLVM's own division, which code generation makes a multiplication of.
define i64 @constant(i64 %a) {
  %both = call { i64, i64 } @div.u64(i64 %a, i64 1000)
  %q = extractvalue { i64, i64 } %both, 0
  ret i64 %q
}

; Both operands are known to have 32 bits, so 32-bit division does. By zero PTX gives all ones, of 64 bits; the division itself must not be by zero,
; so that it takes 1.
define { i64, i64 } @narrow(i32 %x, i32 %y) {
  %a = zext i32 %x to i64
  %b = zext i32 %y to i64
  %both = call { i64, i64 } @div.u64(i64 %a, i64 %b)
  %q = extractvalue { i64, i64 } %both, 0
  %r = extractvalue { i64, i64 } %both, 1
  %both0 = insertvalue { i64, i64 } poison, i64 %q, 0
  %both1 = insertvalue { i64, i64 } %both0, i64 %r, 1
  ret { i64, i64 } %both1
}

; Signed numbers need 31 bits and the sign, since -2^31 / -1 is no 32-bit number: from i16 they have few enough.
define i64 @narrow_signed(i16 %x, i16 %y) {
  %a = sext i16 %x to i64
  %b = sext i16 %y to i64
  %both = call { i64, i64 } @div.s64(i64 %a, i64 %b)
  %r = extractvalue { i64, i64 } %both, 1
  ret i64 %r
}

declare { i64, i64 } @div.u64(i64, i64)
declare { i64, i64 } @div.s64(i64, i64)
;---- divide gfx1036
define i64 @constant(i64 %a) {
  %1 = udiv i64 %a, 1000
  ret i64 %1
}

define { i64, i64 } @narrow(i32 %x, i32 %y) {
  %a = zext i32 %x to i64
  %b = zext i32 %y to i64
  %1 = trunc i64 %a to i32
  %2 = trunc i64 %b to i32
  %3 = icmp eq i32 %2, 0
  %4 = select i1 %3, i32 1, i32 %2
  %5 = udiv i32 %1, %4
  %6 = zext i32 %5 to i64
  %7 = select i1 %3, i64 -1, i64 %6
  %8 = trunc i64 %a to i32
  %9 = trunc i64 %b to i32
  %10 = icmp eq i32 %9, 0
  %11 = select i1 %10, i32 1, i32 %9
  %12 = urem i32 %8, %11
  %13 = zext i32 %12 to i64
  %14 = select i1 %10, i64 -1, i64 %13
  %both0 = insertvalue { i64, i64 } poison, i64 %7, 0
  %both1 = insertvalue { i64, i64 } %both0, i64 %14, 1
  ret { i64, i64 } %both1
}

define i64 @narrow_signed(i16 %x, i16 %y) {
  %a = sext i16 %x to i64
  %b = sext i16 %y to i64
  %1 = trunc i64 %a to i32
  %2 = trunc i64 %b to i32
  %3 = icmp eq i32 %2, 0
  %4 = select i1 %3, i32 1, i32 %2
  %5 = srem i32 %1, %4
  %6 = sext i32 %5 to i64
  %7 = select i1 %3, i64 -1, i64 %6
  ret i64 %7
}
