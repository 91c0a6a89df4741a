; On AMD processors lanes read each other's registers as words (ds.bpermute). A sum that goes from lane to lane like that and into another sum is not
; looked at on the way.
define float @reduced(float %x, float %y, i32 %lane) {
  %s = fadd float %x, %y
  %sn = fcmp uno float %s, %s
  %sc = select i1 %sn, float 0x7FFFFFFFE0000000, float %s
  %word = bitcast float %sc to i32
  %other = call i32 @llvm.amdgcn.ds.bpermute(i32 %lane, i32 %word)
  %z = bitcast i32 %other to float
  %t = fadd float %z, %s
  %tn = fcmp uno float %t, %t
  %tc = select i1 %tn, float 0x7FFFFFFFE0000000, float %t
  ret float %tc
}

; Here the word is the lane to read from: it is looked at.
define i32 @address(float %x, float %y, i32 %v) {
  %s = fadd float %x, %y
  %sn = fcmp uno float %s, %s
  %sc = select i1 %sn, float 0x7FFFFFFFE0000000, float %s
  %word = bitcast float %sc to i32
  %other = call i32 @llvm.amdgcn.ds.bpermute(i32 %word, i32 %v)
  ret i32 %other
}
declare i32 @llvm.amdgcn.ds.bpermute(i32, i32)
;---- relax-nan gfx1100
define float @reduced(float %x, float %y, i32 %lane) {
  %s = fadd float %x, %y
  %word = bitcast float %s to i32
  %other = call i32 @llvm.amdgcn.ds.bpermute(i32 %lane, i32 %word)
  %z = bitcast i32 %other to float
  %t = fadd float %z, %s
  %tn = fcmp uno float %t, %t
  %tc = select i1 %tn, float 0x7FFFFFFFE0000000, float %t
  ret float %tc
}

define i32 @address(float %x, float %y, i32 %v) {
  %s = fadd float %x, %y
  %sn = fcmp uno float %s, %s
  %sc = select i1 %sn, float 0x7FFFFFFFE0000000, float %s
  %word = bitcast float %sc to i32
  %other = call i32 @llvm.amdgcn.ds.bpermute(i32 %word, i32 %v)
  ret i32 %other
}
