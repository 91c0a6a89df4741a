; AMD's code generator casts between a generic address (0) and any other space, but not between two that are neither. cvta.to.shared of an address
; that turns out to be global becomes such a cast. The PTX ISA gives it no meaning; without this pass the code generator would refuse it.
;
; The result is the low half of the address: pointers of spaces 3 (shared) and 5 (local) have 32 bits, and ptrtoint to i32 truncates.

; From global (1) and constant (4) memory to shared and local memory: these are cut.
define i32 @foreign(ptr addrspace(1) %global, ptr addrspace(4) %constant) {
  %shared = addrspacecast ptr addrspace(1) %global to ptr addrspace(3)
  %local = addrspacecast ptr addrspace(4) %constant to ptr addrspace(5)
  %a = load i32, ptr addrspace(3) %shared
  %b = load i32, ptr addrspace(5) %local
  %sum = add i32 %a, %b
  ret i32 %sum
}

; A generic address is what the code generator does cast; and into the generic space, too.
define ptr @generic(ptr %any, ptr addrspace(3) %shared) {
  %there = addrspacecast ptr %any to ptr addrspace(3)
  store i32 0, ptr addrspace(3) %there
  %back = addrspacecast ptr addrspace(3) %shared to ptr
  ret ptr %back
}

; From constant to global memory nothing changes but the space's number: both are 64 bits of the same addresses, and the code generator has it.
define ptr addrspace(1) @same_width(ptr addrspace(4) %constant) {
  %global = addrspacecast ptr addrspace(4) %constant to ptr addrspace(1)
  ret ptr addrspace(1) %global
}
;---- cut-casts gfx1100
define i32 @foreign(ptr addrspace(1) %global, ptr addrspace(4) %constant) {
  %1 = ptrtoint ptr addrspace(1) %global to i32
  %2 = inttoptr i32 %1 to ptr addrspace(3)
  %3 = ptrtoint ptr addrspace(4) %constant to i32
  %4 = inttoptr i32 %3 to ptr addrspace(5)
  %a = load i32, ptr addrspace(3) %2, align 4
  %b = load i32, ptr addrspace(5) %4, align 4
  %sum = add i32 %a, %b
  ret i32 %sum
}

define ptr @generic(ptr %any, ptr addrspace(3) %shared) {
  %there = addrspacecast ptr %any to ptr addrspace(3)
  store i32 0, ptr addrspace(3) %there, align 4
  %back = addrspacecast ptr addrspace(3) %shared to ptr
  ret ptr %back
}

define ptr addrspace(1) @same_width(ptr addrspace(4) %constant) {
  %global = addrspacecast ptr addrspace(4) %constant to ptr addrspace(1)
  ret ptr addrspace(1) %global
}
