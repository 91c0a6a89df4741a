; Addresses that PTX computes as integers from a variable's address become pointer arithmetic on that variable, so that LLVM's SROA can keep an array
; in registers. A shift or product by the element's size becomes the element type of a getelementptr; what only computed integers goes.

; a[i]: i << 2 is i elements of 32 bits.
define float @element(i32 %i) {
  %a = alloca [4 x float], align 4, addrspace(5)
  %base = ptrtoint ptr addrspace(5) %a to i32
  %offset = shl i32 %i, 2
  %address = add i32 %base, %offset
  %p = inttoptr i32 %address to ptr addrspace(5)
  %v = load float, ptr addrspace(5) %p
  ret float %v
}

; Local addresses have 32 bits, but PTX computes with 64: the low half alone matters, so conversions are looked through. 12 bytes a record: an element
; of [12 x i8], as 12 is no power of two. A difference is the sum with the negated number.
define float @record(i64 %i) {
  %a = alloca [48 x i8], align 4, addrspace(5)
  %base32 = ptrtoint ptr addrspace(5) %a to i32
  %base = zext i32 %base32 to i64
  %offset = mul i64 %i, 12
  %sum = add i64 %base, %offset
  %back = sub i64 %sum, 4
  %low = trunc i64 %back to i32
  %p = inttoptr i32 %low to ptr addrspace(5)
  %v = load float, ptr addrspace(5) %p
  ret float %v
}

; A pointer that walks: the phi of integers becomes one of pointers. The integers stay, for phi and sum use each other; nothing else uses them.
define float @walk(i32 %n) {
entry:
  %a = alloca [16 x float], align 4, addrspace(5)
  %base = ptrtoint ptr addrspace(5) %a to i32
  br label %loop

loop:
  %at = phi i32 [ %base, %entry ], [ %next, %loop ]
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %p = inttoptr i32 %at to ptr addrspace(5)
  %v = load float, ptr addrspace(5) %p
  %next = add i32 %at, 4
  %j = add i32 %i, 1
  %more = icmp ult i32 %j, %n
  br i1 %more, label %loop, label %end

end:
  ret float %v
}

; Between an address and a number that no variable is behind, nothing can be followed.
define float @unknown(i1 %c, i32 %u) {
  %a = alloca float, addrspace(5)
  %base = ptrtoint ptr addrspace(5) %a to i32
  %either = select i1 %c, i32 %base, i32 %u
  %p = inttoptr i32 %either to ptr addrspace(5)
  %v = load float, ptr addrspace(5) %p
  ret float %v
}
;---- follow-pointers gfx1100
; changed
define float @element(i32 %i) {
  %a = alloca [4 x float], align 4, addrspace(5)
  %1 = getelementptr i32, ptr addrspace(5) %a, i32 %i
  %v = load float, ptr addrspace(5) %1, align 4
  ret float %v
}

define float @record(i64 %i) {
  %a = alloca [48 x i8], align 4, addrspace(5)
  %1 = getelementptr [12 x i8], ptr addrspace(5) %a, i64 %i
  %2 = getelementptr i8, ptr addrspace(5) %1, i64 -4
  %v = load float, ptr addrspace(5) %2, align 4
  ret float %v
}

define float @walk(i32 %n) {
entry:
  %a = alloca [16 x float], align 4, addrspace(5)
  %base = ptrtoint ptr addrspace(5) %a to i32
  br label %loop

loop:
  %0 = phi ptr addrspace(5) [ %a, %entry ], [ %1, %loop ]
  %at = phi i32 [ %base, %entry ], [ %next, %loop ]
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %v = load float, ptr addrspace(5) %0, align 4
  %1 = getelementptr i8, ptr addrspace(5) %0, i32 4
  %next = add i32 %at, 4
  %j = add i32 %i, 1
  %more = icmp ult i32 %j, %n
  br i1 %more, label %loop, label %end

end:
  ret float %v
}

define float @unknown(i1 %c, i32 %u) {
  %a = alloca float, align 4, addrspace(5)
  %base = ptrtoint ptr addrspace(5) %a to i32
  %either = select i1 %c, i32 %base, i32 %u
  %p = inttoptr i32 %either to ptr addrspace(5)
  %v = load float, ptr addrspace(5) %p, align 4
  ret float %v
}
