; SPDX-License-Identifier: Apache-2.0
; FixIrreducible loses a PHI value where one block of the cycle branches to two of its entries.
;
; RUN:   opt-22 -S -passes=fix-irreducible %s
; FAULT: ; preds = %irr.guard1, %t
;
; %t branches to the entries %a (with %ia = %v) and %b. After the pass the edge %t -> %a is still there, but the PHI of %a lies in
; %irr.guard, which that edge does not pass: the use of %ia in %a reads the value of an earlier iteration instead of %v.
;
; Got:      a:  ; preds = %irr.guard1, %t
;             ...  %it.moved = phi i32 [ %ia.moved, %a ], ...
; Expected: both edges of %t go through the guard, with %v on the one to %a.
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
