; Functions of precompiled code, which this attribute tells, become internal when the optimiser is done, so that those without a call can go. Others
; keep their linkage.
define protected i32 @product(i32 %x) "cudaway-overwrites"="VGPR0 VGPR1" {
  ret i32 %x
}

define protected i32 @function(i32 %x) {
  ret i32 %x
}
;---- close-precompiled gfx1100
define internal i32 @product(i32 %x) #0 {
  ret i32 %x
}

define protected i32 @function(i32 %x) {
  ret i32 %x
}

attributes #0 = { "cudaway-overwrites"="VGPR0 VGPR1" }
