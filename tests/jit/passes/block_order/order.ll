; Blocks come in topological order, each loop contiguous, whatever order the PTX had. LLVM lowers divergent branches in the order of blocks, and one
; whose join has passed already costs two scalar instructions more.

; The join stands before its two arms. After: entry, both arms, join. The search goes to a branch's last successor first and gives what it is done
; with from the end of the order, join, no, yes, entry: so the true arm stands first.
define i32 @diamond(i1 %c) {
entry:
  br i1 %c, label %yes, label %no

join:
  %r = phi i32 [ 1, %yes ], [ 2, %no ]
  ret i32 %r

no:
  br label %join

yes:
  br label %join
}

; The latch stands before its header, and the exit between them. After: header, latch, exit.
define i32 @loop(i32 %n) {
entry:
  br label %header

latch:
  %next = add i32 %i, 1
  br label %header

exit:
  ret i32 %i

header:
  %i = phi i32 [ 0, %entry ], [ %next, %latch ]
  %more = icmp ult i32 %i, %n
  br i1 %more, label %latch, label %exit
}

; A loop in a loop, the inner latch first. After: the outer header, the whole inner loop, the outer latch, and the exit behind all of the loop.
define void @nest(i1 %a, i1 %b) {
entry:
  br label %outer

inner_latch:
  br label %inner

exit:
  ret void

outer_latch:
  br i1 %b, label %outer, label %exit

inner:
  br i1 %a, label %inner_latch, label %outer_latch

outer:
  br label %inner
}

; The search does not find `dead`, which nobody reaches. A function of which it does not find all blocks stays as it is: the join before `no`.
define i32 @unreachable(i1 %c) {
entry:
  br i1 %c, label %join, label %no

join:
  ret i32 1

dead:
  br label %no

no:
  br label %join
}
;---- order-blocks gfx1100
define i32 @diamond(i1 %c) {
entry:
  br i1 %c, label %yes, label %no

yes:
  br label %join

no:
  br label %join

join:
  %r = phi i32 [ 1, %yes ], [ 2, %no ]
  ret i32 %r
}

define i32 @loop(i32 %n) {
entry:
  br label %header

header:
  %i = phi i32 [ 0, %entry ], [ %next, %latch ]
  %more = icmp ult i32 %i, %n
  br i1 %more, label %latch, label %exit

latch:
  %next = add i32 %i, 1
  br label %header

exit:
  ret i32 %i
}

define void @nest(i1 %a, i1 %b) {
entry:
  br label %outer

outer:
  br label %inner

inner:
  br i1 %a, label %inner_latch, label %outer_latch

inner_latch:
  br label %inner

outer_latch:
  br i1 %b, label %outer, label %exit

exit:
  ret void
}

define i32 @unreachable(i1 %c) {
entry:
  br i1 %c, label %join, label %no

join:
  ret i32 1

dead:
  br label %no

no:
  br label %join
}
