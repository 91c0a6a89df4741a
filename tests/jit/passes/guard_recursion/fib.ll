; A recursive function mostly returns at once, but saves its registers first. Its callers, itself included, make the test that it begins with: they
; call @guard, which holds a copy of the test and of the way to the return, and calls the function only where it would go on.

; fib(n) = n where n < 2. There the guard returns its own n, since that is the phi's value from the entry; else it returns what fib does. In fib the
; test has been made: its branch becomes `false`, the way that goes on. All three calls go to the guard; the only call of fib is the guard's.
define internal i32 @fib(i32 %n) {
entry:
  %small = icmp ult i32 %n, 2
  br i1 %small, label %done, label %more

more:
  %n1 = add i32 %n, -1
  %a = call i32 @fib(i32 %n1)
  %n2 = add i32 %n, -2
  %b = call i32 @fib(i32 %n2)
  %s = add i32 %a, %b
  br label %done

done:
  %r = phi i32 [ %n, %entry ], [ %s, %more ]
  ret i32 %r
}

define amdgpu_kernel void @kernel(ptr addrspace(1) %out) {
  %f = call i32 @fib(i32 20)
  store i32 %f, ptr addrspace(1) %out
  ret void
}
;---- guard-recursion gfx1100
; changed
define internal i32 @fib(i32 %n) {
entry:
  %small = icmp ult i32 %n, 2
  br i1 false, label %done, label %more

more:
  %n1 = add i32 %n, -1
  %a = call i32 @guard(i32 %n1)
  %n2 = add i32 %n, -2
  %b = call i32 @guard(i32 %n2)
  %s = add i32 %a, %b
  br label %done

done:
  %r = phi i32 [ %n, %entry ], [ %s, %more ]
  ret i32 %r
}

define amdgpu_kernel void @kernel(ptr addrspace(1) %out) {
  %f = call i32 @guard(i32 20)
  store i32 %f, ptr addrspace(1) %out, align 4
  ret void
}

define internal i32 @guard(i32 %0) #0 {
test:
  %1 = icmp ult i32 %0, 2
  br i1 %1, label %at.once, label %call

at.once:
  ret i32 %0

call:
  %2 = call i32 @fib(i32 %0)
  ret i32 %2
}

attributes #0 = { alwaysinline convergent }
