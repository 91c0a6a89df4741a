; mufu.NAME.large is the part of an approximation without the branch for small operands. It may be called where the operand is at least the least
; normal number, 2^-126, or NaN.

; x*x + y*y + softening, as N-body programs have it: squares are at least 0 whatever the rounding, the sum at least the constant 2^-10. The call goes
; to .large; the general function then has no caller left and is deleted.
define i32 @softened(float %x, float %y) {
  %xx = fmul float %x, %x
  %yy = call float @llvm.fma.f32(float %y, float %y, float %xx)
  %d = fadd float %yy, 0x3F50000000000000
  %bits = bitcast float %d to i32
  %r = call i32 @mufu.rsqrt(i32 %bits)
  ret i32 %r
}

; Of mufu.sqrt no call changes, so its .large is deleted: x*y may be negative; x*x may be zero, since nothing is added; and a constant below 2^-126 is
; not enough.
define i32 @small(float %x, float %y) {
  %xy = fmul float %x, %y
  %a = fadd float %xy, 1.0
  %abits = bitcast float %a to i32
  %ra = call i32 @mufu.sqrt(i32 %abits)
  %xx = fmul float %x, %x
  %bbits = bitcast float %xx to i32
  %rb = call i32 @mufu.sqrt(i32 %bbits)
  %c = fadd float %xx, 0x3800000000000000
  %cbits = bitcast float %c to i32
  %rc = call i32 @mufu.sqrt(i32 %cbits)
  %s = add i32 %ra, %rb
  %t = add i32 %s, %rc
  ret i32 %t
}

; Through the emitter's canonical NaN, which is allowed, and the constant on the left. 2^-126 itself is enough. Both functions of mufu.rcp are called
; in the end and stay: the second call's operand is nothing that is known.
define i32 @canonical(float %x, float %z) {
  %xx = fmul float %x, %x
  %nan = fcmp uno float %xx, %xx
  %q = select i1 %nan, float 0x7FFFFFFFE0000000, float %xx
  %d = fadd float 0x3810000000000000, %q
  %bits = bitcast float %d to i32
  %r = call i32 @mufu.rcp(i32 %bits)
  %zbits = bitcast float %z to i32
  %s = call i32 @mufu.rcp(i32 %zbits)
  %t = add i32 %r, %s
  ret i32 %t
}

define internal i32 @mufu.rsqrt(i32 %x) {
  ret i32 1
}
define internal i32 @mufu.rsqrt.large(i32 %x) {
  ret i32 2
}
define internal i32 @mufu.sqrt(i32 %x) {
  ret i32 3
}
define internal i32 @mufu.sqrt.large(i32 %x) {
  ret i32 4
}
define internal i32 @mufu.rcp(i32 %x) {
  ret i32 5
}
define internal i32 @mufu.rcp.large(i32 %x) {
  ret i32 6
}
declare float @llvm.fma.f32(float, float, float)
;---- large-roots gfx1100
define i32 @softened(float %x, float %y) {
  %xx = fmul float %x, %x
  %yy = call float @llvm.fma.f32(float %y, float %y, float %xx)
  %d = fadd float %yy, 0x3F50000000000000
  %bits = bitcast float %d to i32
  %r = call i32 @mufu.rsqrt.large(i32 %bits)
  ret i32 %r
}

define i32 @small(float %x, float %y) {
  %xy = fmul float %x, %y
  %a = fadd float %xy, 1.000000e+00
  %abits = bitcast float %a to i32
  %ra = call i32 @mufu.sqrt(i32 %abits)
  %xx = fmul float %x, %x
  %bbits = bitcast float %xx to i32
  %rb = call i32 @mufu.sqrt(i32 %bbits)
  %c = fadd float %xx, 0x3800000000000000
  %cbits = bitcast float %c to i32
  %rc = call i32 @mufu.sqrt(i32 %cbits)
  %s = add i32 %ra, %rb
  %t = add i32 %s, %rc
  ret i32 %t
}

define i32 @canonical(float %x, float %z) {
  %xx = fmul float %x, %x
  %nan = fcmp uno float %xx, %xx
  %q = select i1 %nan, float 0x7FFFFFFFE0000000, float %xx
  %d = fadd float 0x3810000000000000, %q
  %bits = bitcast float %d to i32
  %r = call i32 @mufu.rcp.large(i32 %bits)
  %zbits = bitcast float %z to i32
  %s = call i32 @mufu.rcp(i32 %zbits)
  %t = add i32 %r, %s
  ret i32 %t
}

define internal i32 @mufu.rsqrt.large(i32 %x) {
  ret i32 2
}

define internal i32 @mufu.sqrt(i32 %x) {
  ret i32 3
}

define internal i32 @mufu.rcp(i32 %x) {
  ret i32 5
}

define internal i32 @mufu.rcp.large(i32 %x) {
  ret i32 6
}
