; A loop of a power of two rounds at a time (main) before one of single rounds (rest), as clang unrolls for NVPTX, becomes `rest` alone: calls are
; dear on amdgcn, and twice the loops keep twice as many registers across them.

; s = f(s), n times: main makes two rounds of it, rest the n & 1 that are left. f(f(s)) is two rounds of rest, so these are the same. After: P always
; goes to J (`true`: its first successor), J tests n itself, and rest counts n rounds down from x. `main` can no longer be reached; simplifycfg takes
; it away.
define i32 @by_two(i32 %n, i32 %x) {
P:
  %left = and i32 %n, 1
  %few = icmp ult i32 %n, 2
  br i1 %few, label %J, label %enter

enter:
  %twos = and i32 %n, -2
  br label %main

main:
  %s = phi i32 [ %x, %enter ], [ %s2, %main ]
  %m = phi i32 [ %twos, %enter ], [ %mnext, %main ]
  %s1 = call i32 @f(i32 %s)
  %s2 = call i32 @f(i32 %s1)
  %mnext = add i32 %m, -2
  %again = icmp ne i32 %mnext, 0
  br i1 %again, label %main, label %J

J:
  %sj = phi i32 [ %x, %P ], [ %s2, %main ]
  %none = icmp eq i32 %left, 0
  br i1 %none, label %X, label %enter_rest

enter_rest:
  br label %rest

rest:
  %t = phi i32 [ %sj, %enter_rest ], [ %t1, %rest ]
  %l = phi i32 [ %left, %enter_rest ], [ %lnext, %rest ]
  %t1 = call i32 @f(i32 %t)
  %lnext = add i32 %l, -1
  %more = icmp ne i32 %lnext, 0
  br i1 %more, label %rest, label %X

X:
  %r = phi i32 [ %sj, %J ], [ %t1, %rest ]
  ret i32 %r
}

declare i32 @f(i32)
;---- reroll gfx1100
; changed
define i32 @by_two(i32 %n, i32 %x) {
P:
  %left = and i32 %n, 1
  %few = icmp ult i32 %n, 2
  br i1 true, label %J, label %enter

enter:
  %twos = and i32 %n, -2
  br label %main

main:
  %s = phi i32 [ %x, %enter ], [ %s2, %main ]
  %m = phi i32 [ %twos, %enter ], [ %mnext, %main ]
  %s1 = call i32 @f(i32 %s)
  %s2 = call i32 @f(i32 %s1)
  %mnext = add i32 %m, -2
  %again = icmp ne i32 %mnext, 0
  br i1 %again, label %main, label %J

J:
  %sj = phi i32 [ %x, %P ], [ %s2, %main ]
  %none = icmp eq i32 %n, 0
  br i1 %none, label %X, label %enter_rest

enter_rest:
  br label %rest

rest:
  %t = phi i32 [ %x, %enter_rest ], [ %t1, %rest ]
  %l = phi i32 [ %n, %enter_rest ], [ %lnext, %rest ]
  %t1 = call i32 @f(i32 %t)
  %lnext = add i32 %l, -1
  %more = icmp ne i32 %lnext, 0
  br i1 %more, label %rest, label %X

X:
  %r = phi i32 [ %x, %J ], [ %t1, %rest ]
  ret i32 %r
}

declare i32 @f(i32)
