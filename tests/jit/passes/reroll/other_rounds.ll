; Pairs of loops that look like an unrolled one and its rest, of which nothing changes.

; main computes f(f(s) + 1), two rounds of rest f(f(s)).
define i32 @other_argument(i32 %n, i32 %x) {
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
  %plus = add i32 %s1, 1
  %s2 = call i32 @f(i32 %plus)
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

; The rounds agree, but P goes past main where n < 3: for n = 2 the program makes n & 1 = 0 rounds, `rest` alone would make two.
define i32 @other_bypass(i32 %n, i32 %x) {
P:
  %left = and i32 %n, 1
  %few = icmp ult i32 %n, 3
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
define i32 @other_argument(i32 %n, i32 %x) {
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
  %plus = add i32 %s1, 1
  %s2 = call i32 @f(i32 %plus)
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

define i32 @other_bypass(i32 %n, i32 %x) {
P:
  %left = and i32 %n, 1
  %few = icmp ult i32 %n, 3
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
