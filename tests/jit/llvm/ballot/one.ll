; Work-around: LLVM selects V_CMP_NEQ for a ballot of `fcmp one`, ordered and not equal, which is true for NaN. The ballot becomes that of all lanes
; here without that of the opposite, `fcmp ueq`, for which it selects right.

; The lanes that run, and not those where x and y are equal or one is NaN: ordered and not equal.
define i32 @one(float %x, float %y) {
  %c = fcmp one float %x, %y
  %b = call i32 @llvm.amdgcn.ballot.i32(i1 %c)
  ret i32 %b
}

; Other comparisons stay, and the comparison that a branch uses.
define i32 @others(float %x, float %y, i32 %i) {
  %c = fcmp oeq float %x, %y
  %b = call i32 @llvm.amdgcn.ballot.i32(i1 %c)
  %d = icmp ne i32 %i, 0
  %e = call i32 @llvm.amdgcn.ballot.i32(i1 %d)
  %f = fcmp one float %x, 0.0
  %g = select i1 %f, i32 %b, i32 %e
  ret i32 %g
}
declare i32 @llvm.amdgcn.ballot.i32(i1)
;---- ballot gfx1100
define i32 @one(float %x, float %y) {
  %c = fcmp one float %x, %y
  %1 = fcmp ueq float %x, %y
  %2 = call i32 @llvm.amdgcn.ballot.i32(i1 true)
  %3 = call i32 @llvm.amdgcn.ballot.i32(i1 %1)
  %4 = xor i32 %3, -1
  %5 = and i32 %2, %4
  ret i32 %5
}

define i32 @others(float %x, float %y, i32 %i) {
  %c = fcmp oeq float %x, %y
  %b = call i32 @llvm.amdgcn.ballot.i32(i1 %c)
  %d = icmp ne i32 %i, 0
  %e = call i32 @llvm.amdgcn.ballot.i32(i1 %d)
  %f = fcmp one float %x, 0.000000e+00
  %g = select i1 %f, i32 %b, i32 %e
  ret i32 %g
}
