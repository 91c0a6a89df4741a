; A kernel's parameters, 64-bit numbers loaded from constant memory (space 4), are global pointers where they are accessed as such: each becomes one
; inttoptr right behind its load, and what is added to it pointer arithmetic. gfx908 leaves them alone.

; p[i], of global memory. i << 2 is i elements of 32 bits.
define amdgpu_kernel void @global(ptr addrspace(4) %params, i32 %i) {
  %p = load i64, ptr addrspace(4) %params
  %wide = sext i32 %i to i64
  %offset = shl i64 %wide, 2
  %address = add i64 %p, %offset
  %at = inttoptr i64 %address to ptr addrspace(1)
  store i32 %i, ptr addrspace(1) %at
  ret void
}

; The same through generic addresses: a kernel's pointers are global, so it is a global pointer, cast to a generic one, from which
; infer-address-spaces goes on.
define amdgpu_kernel void @generic(ptr addrspace(4) %params, i32 %i) {
  %p = load i64, ptr addrspace(4) %params
  %wide = sext i32 %i to i64
  %offset = shl i64 %wide, 2
  %address = add i64 %p, %offset
  %at = inttoptr i64 %address to ptr
  store i32 %i, ptr %at
  ret void
}

; Generic, parameter plus a number of 64 bits from memory: which of the two is the address is not known. It stays.
define amdgpu_kernel void @either(ptr addrspace(4) %params, ptr addrspace(1) %q) {
  %p = load i64, ptr addrspace(4) %params
  %u = load i64, ptr addrspace(1) %q
  %address = add i64 %p, %u
  %at = inttoptr i64 %address to ptr
  store i32 0, ptr %at
  ret void
}
;---- follow-pointers gfx1100
; changed
define amdgpu_kernel void @global(ptr addrspace(4) %params, i32 %i) {
  %p = load i64, ptr addrspace(4) %params, align 4
  %1 = inttoptr i64 %p to ptr addrspace(1)
  %wide = sext i32 %i to i64
  %2 = getelementptr i32, ptr addrspace(1) %1, i64 %wide
  store i32 %i, ptr addrspace(1) %2, align 4
  ret void
}

define amdgpu_kernel void @generic(ptr addrspace(4) %params, i32 %i) {
  %p = load i64, ptr addrspace(4) %params, align 4
  %1 = inttoptr i64 %p to ptr addrspace(1)
  %2 = addrspacecast ptr addrspace(1) %1 to ptr
  %wide = sext i32 %i to i64
  %3 = getelementptr i32, ptr %2, i64 %wide
  store i32 %i, ptr %3, align 4
  ret void
}

define amdgpu_kernel void @either(ptr addrspace(4) %params, ptr addrspace(1) %q) {
  %p = load i64, ptr addrspace(4) %params, align 4
  %u = load i64, ptr addrspace(1) %q, align 4
  %address = add i64 %p, %u
  %at = inttoptr i64 %address to ptr
  store i32 0, ptr %at, align 4
  ret void
}

;---- follow-pointers gfx908
define amdgpu_kernel void @global(ptr addrspace(4) %params, i32 %i) {
  %p = load i64, ptr addrspace(4) %params, align 4
  %wide = sext i32 %i to i64
  %offset = shl i64 %wide, 2
  %address = add i64 %p, %offset
  %at = inttoptr i64 %address to ptr addrspace(1)
  store i32 %i, ptr addrspace(1) %at, align 4
  ret void
}

define amdgpu_kernel void @generic(ptr addrspace(4) %params, i32 %i) {
  %p = load i64, ptr addrspace(4) %params, align 4
  %wide = sext i32 %i to i64
  %offset = shl i64 %wide, 2
  %address = add i64 %p, %offset
  %at = inttoptr i64 %address to ptr
  store i32 %i, ptr %at, align 4
  ret void
}

define amdgpu_kernel void @either(ptr addrspace(4) %params, ptr addrspace(1) %q) {
  %p = load i64, ptr addrspace(4) %params, align 4
  %u = load i64, ptr addrspace(1) %q, align 4
  %address = add i64 %p, %u
  %at = inttoptr i64 %address to ptr
  store i32 0, ptr %at, align 4
  ret void
}
