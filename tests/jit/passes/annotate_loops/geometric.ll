; A short loop whose counter is shifted or multiplied by a constant, from a constant until it reaches one, is marked llvm.loop.unroll.full: each
; round's counter is a constant then, while it cannot be stepped as an address is.

; 1, 2, 4, 8, 16, 32, then 64 is not below 64: six rounds, at most 12. Marked on the branch of the latch.
define void @doubles(ptr addrspace(1) %p) {
entry:
  br label %loop

loop:
  %i = phi i32 [ 1, %entry ], [ %next, %loop ]
  %at = getelementptr i32, ptr addrspace(1) %p, i32 %i
  store i32 %i, ptr addrspace(1) %at
  %next = shl i32 %i, 1
  %more = icmp ult i32 %next, 64
  br i1 %more, label %loop, label %end

end:
  ret void
}

; 256 halves until it is 0: nine rounds. The branch is turned around, and the emitter's empty block lies on the way back.
define void @halves(ptr addrspace(1) %p) {
entry:
  br label %loop

loop:
  %i = phi i32 [ 256, %entry ], [ %next, %back ]
  %at = getelementptr i32, ptr addrspace(1) %p, i32 %i
  store i32 %i, ptr addrspace(1) %at
  %next = lshr i32 %i, 1
  %done = icmp eq i32 %next, 0
  br i1 %done, label %end, label %back

back:
  br label %loop

end:
  ret void
}

; 2^1 to 2^13 is thirteen rounds, one too many.
define void @long(ptr addrspace(1) %p) {
entry:
  br label %loop

loop:
  %i = phi i32 [ 1, %entry ], [ %next, %loop ]
  %at = getelementptr i32, ptr addrspace(1) %p, i32 %i
  store i32 %i, ptr addrspace(1) %at
  %next = shl i32 %i, 1
  %more = icmp ule i32 %next, 4096
  br i1 %more, label %loop, label %end

end:
  ret void
}

; Counters that are added to stay as whoever made the PTX left them; so does one whose end is not a constant.
define void @others(ptr addrspace(1) %p, i32 %n) {
entry:
  br label %linear

linear:
  %i = phi i32 [ 0, %entry ], [ %j, %linear ]
  %at = getelementptr i32, ptr addrspace(1) %p, i32 %i
  store i32 %i, ptr addrspace(1) %at
  %j = add i32 %i, 1
  %more = icmp ult i32 %j, 4
  br i1 %more, label %linear, label %unknown

unknown:
  %k = phi i32 [ 1, %linear ], [ %l, %unknown ]
  %to = getelementptr i32, ptr addrspace(1) %p, i32 %k
  store i32 %k, ptr addrspace(1) %to
  %l = shl i32 %k, 1
  %again = icmp ult i32 %l, %n
  br i1 %again, label %unknown, label %end

end:
  ret void
}
;---- annotate-loops gfx1100
; changed
define void @doubles(ptr addrspace(1) %p) {
entry:
  br label %loop

loop:
  %i = phi i32 [ 1, %entry ], [ %next, %loop ]
  %at = getelementptr i32, ptr addrspace(1) %p, i32 %i
  store i32 %i, ptr addrspace(1) %at, align 4
  %next = shl i32 %i, 1
  %more = icmp ult i32 %next, 64
  br i1 %more, label %loop, label %end, !llvm.loop !0

end:
  ret void
}

define void @halves(ptr addrspace(1) %p) {
entry:
  br label %loop

loop:
  %i = phi i32 [ 256, %entry ], [ %next, %back ]
  %at = getelementptr i32, ptr addrspace(1) %p, i32 %i
  store i32 %i, ptr addrspace(1) %at, align 4
  %next = lshr i32 %i, 1
  %done = icmp eq i32 %next, 0
  br i1 %done, label %end, label %back

back:
  br label %loop, !llvm.loop !2

end:
  ret void
}

define void @long(ptr addrspace(1) %p) {
entry:
  br label %loop

loop:
  %i = phi i32 [ 1, %entry ], [ %next, %loop ]
  %at = getelementptr i32, ptr addrspace(1) %p, i32 %i
  store i32 %i, ptr addrspace(1) %at, align 4
  %next = shl i32 %i, 1
  %more = icmp ule i32 %next, 4096
  br i1 %more, label %loop, label %end

end:
  ret void
}

define void @others(ptr addrspace(1) %p, i32 %n) {
entry:
  br label %linear

linear:
  %i = phi i32 [ 0, %entry ], [ %j, %linear ]
  %at = getelementptr i32, ptr addrspace(1) %p, i32 %i
  store i32 %i, ptr addrspace(1) %at, align 4
  %j = add i32 %i, 1
  %more = icmp ult i32 %j, 4
  br i1 %more, label %linear, label %unknown

unknown:
  %k = phi i32 [ 1, %linear ], [ %l, %unknown ]
  %to = getelementptr i32, ptr addrspace(1) %p, i32 %k
  store i32 %k, ptr addrspace(1) %to, align 4
  %l = shl i32 %k, 1
  %again = icmp ult i32 %l, %n
  br i1 %again, label %unknown, label %end

end:
  ret void
}

!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.unroll.full"}
!2 = distinct !{!2, !1}
