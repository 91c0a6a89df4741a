; Work-around: FixIrreducible loses a PHI value where one block of a cycle branches to two of its entries. The second edge of such a branch gets a
; block of its own.

; %a and %b are the entries of the cycle; %t branches to both. Its edge to %b (the second) goes through a new block, which the PHI of %b names in
; place of %t.
define i32 @f(i1 %p, i1 %q, i1 %r, i32 %x, i32 %y, i32 %v, i32 %w) {
start:
  br i1 %p, label %a, label %b

a:
  %ia = phi i32 [ %x, %start ], [ %v, %t ]
  br i1 %r, label %t, label %b

b:
  %ib = phi i32 [ %y, %start ], [ %ia, %a ], [ %w, %t ]
  br i1 %q, label %t, label %end

t:
  %it = phi i32 [ %ia, %a ], [ %ib, %b ]
  %c = icmp ult i32 %it, 7
  br i1 %c, label %a, label %b

end:
  ret i32 %ib
}
;---- loop-entries gfx1100
define i32 @f(i1 %p, i1 %q, i1 %r, i32 %x, i32 %y, i32 %v, i32 %w) {
start:
  br i1 %p, label %a, label %b

a:
  %ia = phi i32 [ %x, %start ], [ %v, %t ]
  br i1 %r, label %t, label %b

b:
  %ib = phi i32 [ %y, %start ], [ %ia, %a ], [ %w, %t.b_crit_edge ]
  br i1 %q, label %t, label %end

t:
  %it = phi i32 [ %ia, %a ], [ %ib, %b ]
  %c = icmp ult i32 %it, 7
  br i1 %c, label %a, label %t.b_crit_edge

t.b_crit_edge:
  br label %b

end:
  ret i32 %ib
}
