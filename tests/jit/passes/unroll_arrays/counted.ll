; Where all indices of a thread's own array are loop counters, the loops are unrolled and the array comes to lie in registers.

; a[i] = p[i] for four i, then out = a[0] - a[1] - a[2] - a[3], counted too: no loop and no array is left,
; just four loads and three differences, which reassociation writes as sums of what is negated.
define amdgpu_kernel void @counted(ptr addrspace(1) %p, ptr addrspace(1) %out) {
entry:
  %a = alloca [4 x i32], addrspace(5)
  %first = load i32, ptr addrspace(1) %p
  store i32 %first, ptr addrspace(5) %a
  br label %fill

fill:
  %i = phi i32 [ 1, %entry ], [ %i1, %fill ]
  %from = getelementptr i32, ptr addrspace(1) %p, i32 %i
  %v = load i32, ptr addrspace(1) %from
  %to = getelementptr i32, ptr addrspace(5) %a, i32 %i
  store i32 %v, ptr addrspace(5) %to
  %i1 = add i32 %i, 1
  %more = icmp ne i32 %i1, 4
  br i1 %more, label %fill, label %rest

rest:
  %start = load i32, ptr addrspace(5) %a
  br label %use

use:
  %j = phi i32 [ 1, %rest ], [ %j1, %use ]
  %s = phi i32 [ %start, %rest ], [ %s1, %use ]
  %at = getelementptr i32, ptr addrspace(5) %a, i32 %j
  %w = load i32, ptr addrspace(5) %at
  %s1 = sub i32 %s, %w
  %j1 = add i32 %j, 1
  %again = icmp ne i32 %j1, 4
  br i1 %again, label %use, label %end

end:
  store i32 %s1, ptr addrspace(1) %out
  ret void
}

; An index that is data: unrolled, the array would still be in memory. The function stays as it is, the attributes that kept the passes off it gone.
define amdgpu_kernel void @data(ptr addrspace(1) %p, ptr addrspace(1) %out, i32 %k) {
entry:
  %a = alloca [4 x i32], addrspace(5)
  br label %fill

fill:
  %i = phi i32 [ 0, %entry ], [ %i1, %fill ]
  %from = getelementptr i32, ptr addrspace(1) %p, i32 %i
  %v = load i32, ptr addrspace(1) %from
  %to = getelementptr i32, ptr addrspace(5) %a, i32 %i
  store i32 %v, ptr addrspace(5) %to
  %i1 = add i32 %i, 1
  %more = icmp ne i32 %i1, 4
  br i1 %more, label %fill, label %end

end:
  %at = getelementptr i32, ptr addrspace(5) %a, i32 %k
  %w = load i32, ptr addrspace(5) %at
  store i32 %w, ptr addrspace(1) %out
  ret void
}
;---- unroll-arrays gfx1100
define amdgpu_kernel void @counted(ptr addrspace(1) %p, ptr addrspace(1) %out) {
entry:
  %first = load i32, ptr addrspace(1) %p, align 4
  %from.2 = getelementptr i8, ptr addrspace(1) %p, i64 12
  %v.2 = load i32, ptr addrspace(1) %from.2, align 4
  %from.1 = getelementptr i8, ptr addrspace(1) %p, i64 8
  %v.1 = load i32, ptr addrspace(1) %from.1, align 4
  %from = getelementptr i8, ptr addrspace(1) %p, i64 4
  %v = load i32, ptr addrspace(1) %from, align 4
  %v.2.neg = sub i32 0, %v.2
  %v.1.neg = sub i32 0, %v.1
  %v.neg = sub i32 0, %v
  %.neg = add i32 %v.2.neg, %first
  %.neg1 = add i32 %.neg, %v.1.neg
  %s1.2 = add i32 %.neg1, %v.neg
  store i32 %s1.2, ptr addrspace(1) %out, align 4
  ret void
}

define amdgpu_kernel void @data(ptr addrspace(1) %p, ptr addrspace(1) %out, i32 %k) {
entry:
  %a = alloca [4 x i32], align 4, addrspace(5)
  br label %fill

fill:
  %i = phi i32 [ 0, %entry ], [ %i1, %fill ]
  %from = getelementptr i32, ptr addrspace(1) %p, i32 %i
  %v = load i32, ptr addrspace(1) %from, align 4
  %to = getelementptr i32, ptr addrspace(5) %a, i32 %i
  store i32 %v, ptr addrspace(5) %to, align 4
  %i1 = add i32 %i, 1
  %more = icmp ne i32 %i1, 4
  br i1 %more, label %fill, label %end

end:
  %at = getelementptr i32, ptr addrspace(5) %a, i32 %k
  %w = load i32, ptr addrspace(5) %at, align 4
  store i32 %w, ptr addrspace(1) %out, align 4
  ret void
}
