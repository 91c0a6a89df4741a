; Internal functions with one call become alwaysinline, for the inliner behind this pass.

; One call, from the kernel: marked (#0).
define internal i32 @once(i32 %x) {
  %r = mul i32 %x, %x
  ret i32 %r
}

; Two calls: to inline both would double the code.
define internal i32 @twice(i32 %x) {
  %r = mul i32 %x, 3
  ret i32 %r
}

; One call, but it asks not to be inlined, by itself or at the call.
define internal i32 @alone(i32 %x) noinline {
  %r = mul i32 %x, 5
  ret i32 %r
}
define internal i32 @alone_here(i32 %x) {
  %r = mul i32 %x, 7
  ret i32 %r
}

; The one call is its own: nobody else would have the code.
define internal i32 @itself(i32 %x) {
  %r = call i32 @itself(i32 %x)
  ret i32 %r
}

; Precompiled code is no IR to inline.
define internal i32 @precompiled(i32 %x) "cudaway-overwrites"="VGPR0" {
  ret i32 %x
}

; Not internal: others may call it.
define i32 @visible(i32 %x) {
  ret i32 %x
}

define amdgpu_kernel void @kernel(ptr addrspace(1) %p, i32 %x) {
  %a = call i32 @once(i32 %x)
  %b = call i32 @twice(i32 %a)
  %c = call i32 @twice(i32 %b)
  %d = call i32 @alone(i32 %c)
  %e = call i32 @alone_here(i32 %d) noinline
  %f = call i32 @precompiled(i32 %e)
  %g = call i32 @visible(i32 %f)
  store i32 %g, ptr addrspace(1) %p
  ret void
}
;---- annotate-single-calls gfx1100
; changed
define internal i32 @once(i32 %x) #0 {
  %r = mul i32 %x, %x
  ret i32 %r
}

define internal i32 @twice(i32 %x) {
  %r = mul i32 %x, 3
  ret i32 %r
}

define internal i32 @alone(i32 %x) #1 {
  %r = mul i32 %x, 5
  ret i32 %r
}

define internal i32 @alone_here(i32 %x) {
  %r = mul i32 %x, 7
  ret i32 %r
}

define internal i32 @itself(i32 %x) {
  %r = call i32 @itself(i32 %x)
  ret i32 %r
}

define internal i32 @precompiled(i32 %x) #2 {
  ret i32 %x
}

define i32 @visible(i32 %x) {
  ret i32 %x
}

define amdgpu_kernel void @kernel(ptr addrspace(1) %p, i32 %x) {
  %a = call i32 @once(i32 %x)
  %b = call i32 @twice(i32 %a)
  %c = call i32 @twice(i32 %b)
  %d = call i32 @alone(i32 %c)
  %e = call i32 @alone_here(i32 %d) #1
  %f = call i32 @precompiled(i32 %e)
  %g = call i32 @visible(i32 %f)
  store i32 %g, ptr addrspace(1) %p, align 4
  ret void
}

attributes #0 = { alwaysinline }
attributes #1 = { noinline }
attributes #2 = { "cudaway-overwrites"="VGPR0" }
