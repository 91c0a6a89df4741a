; Work-around: LLVM selects V_DOT4 for a*b + c*d + z of bytes, and takes the other operand of a sum for a sum if it has a product of bytes as an
; operand, whatever it does with it. Such an operand passes through an empty piece of assembly, behind which nothing is known of it.

; a*b + ((c*d) ^ z): the exclusive or is no sum, so it goes through assembly.
define i32 @exclusive_or(i32 %a, i32 %b, i32 %c, i32 %d, i32 %z) {
  %a8 = and i32 %a, 255
  %b8 = and i32 %b, 255
  %c8 = and i32 %c, 255
  %d8 = and i32 %d, 255
  %p = mul i32 %a8, %b8
  %q = mul i32 %c8, %d8
  %t = xor i32 %q, %z
  %s = add i32 %p, %t
  ret i32 %s
}

; a*b + (c*d + z): a sum, which V_DOT4 computes.
define i32 @sum(i32 %a, i32 %b, i32 %c, i32 %d, i32 %z) {
  %a8 = and i32 %a, 255
  %b8 = and i32 %b, 255
  %c8 = and i32 %c, 255
  %d8 = and i32 %d, 255
  %p = mul i32 %a8, %b8
  %q = mul i32 %c8, %d8
  %t = add i32 %q, %z
  %s = add i32 %p, %t
  ret i32 %s
}

; Products of more than bytes are none of V_DOT4's.
define i32 @words(i32 %a, i32 %b, i32 %c, i32 %d, i32 %z) {
  %p = mul i32 %a, %b
  %q = mul i32 %c, %d
  %t = xor i32 %q, %z
  %s = add i32 %p, %t
  ret i32 %s
}
;---- dot4-operand gfx1100
define i32 @exclusive_or(i32 %a, i32 %b, i32 %c, i32 %d, i32 %z) {
  %a8 = and i32 %a, 255
  %b8 = and i32 %b, 255
  %c8 = and i32 %c, 255
  %d8 = and i32 %d, 255
  %p = call i32 @llvm.amdgcn.mul.u24.i32(i32 %a8, i32 %b8)
  %q = call i32 @llvm.amdgcn.mul.u24.i32(i32 %c8, i32 %d8)
  %t = xor i32 %q, %z
  %1 = call i32 asm "", "=v,0"(i32 %t)
  %s = add i32 %p, %1
  ret i32 %s
}

define i32 @sum(i32 %a, i32 %b, i32 %c, i32 %d, i32 %z) {
  %a8 = and i32 %a, 255
  %b8 = and i32 %b, 255
  %c8 = and i32 %c, 255
  %d8 = and i32 %d, 255
  %p = call i32 @llvm.amdgcn.mul.u24.i32(i32 %a8, i32 %b8)
  %q = call i32 @llvm.amdgcn.mul.u24.i32(i32 %c8, i32 %d8)
  %t = add i32 %q, %z
  %s = add i32 %p, %t
  ret i32 %s
}

define i32 @words(i32 %a, i32 %b, i32 %c, i32 %d, i32 %z) {
  %p = mul i32 %a, %b
  %q = mul i32 %c, %d
  %t = xor i32 %q, %z
  %s = add i32 %p, %t
  ret i32 %s
}
