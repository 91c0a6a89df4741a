; Recursive functions whose calls stay as they are.

; The test reads memory: a copy of it in the callers would read at another time, and its loads would be in every caller.
define internal void @reads(ptr addrspace(1) %p) {
entry:
  %n = load i32, ptr addrspace(1) %p
  %none = icmp eq i32 %n, 0
  br i1 %none, label %done, label %more

more:
  %q = getelementptr i32, ptr addrspace(1) %p, i64 1
  call void @reads(ptr addrspace(1) %q)
  br label %done

done:
  ret void
}

; Others may call it: who they are is not known.
define i32 @visible(i32 %n) {
entry:
  %none = icmp eq i32 %n, 0
  br i1 %none, label %done, label %more

more:
  %m = lshr i32 %n, 1
  %a = call i32 @visible(i32 %m)
  br label %done

done:
  %r = phi i32 [ 0, %entry ], [ %a, %more ]
  ret i32 %r
}

; Its address is taken: a call through it could not be guarded, and would go on where the function should return.
define internal void @taken(i32 %n, ptr addrspace(1) %p) {
entry:
  %none = icmp eq i32 %n, 0
  br i1 %none, label %done, label %more

more:
  %m = lshr i32 %n, 1
  store ptr @taken, ptr addrspace(1) %p
  call void @taken(i32 %m, ptr addrspace(1) %p)
  br label %done

done:
  ret void
}

; It does not call itself.
define internal i32 @once(i32 %n) {
entry:
  %none = icmp eq i32 %n, 0
  br i1 %none, label %done, label %more

more:
  br label %done

done:
  %r = phi i32 [ 0, %entry ], [ 7, %more ]
  ret i32 %r
}

define amdgpu_kernel void @kernel(ptr addrspace(1) %p) {
  call void @reads(ptr addrspace(1) %p)
  %a = call i32 @visible(i32 9)
  call void @taken(i32 9, ptr addrspace(1) %p)
  %b = call i32 @once(i32 %a)
  ret void
}
;---- guard-recursion gfx1100
define internal void @reads(ptr addrspace(1) %p) {
entry:
  %n = load i32, ptr addrspace(1) %p, align 4
  %none = icmp eq i32 %n, 0
  br i1 %none, label %done, label %more

more:
  %q = getelementptr i32, ptr addrspace(1) %p, i64 1
  call void @reads(ptr addrspace(1) %q)
  br label %done

done:
  ret void
}

define i32 @visible(i32 %n) {
entry:
  %none = icmp eq i32 %n, 0
  br i1 %none, label %done, label %more

more:
  %m = lshr i32 %n, 1
  %a = call i32 @visible(i32 %m)
  br label %done

done:
  %r = phi i32 [ 0, %entry ], [ %a, %more ]
  ret i32 %r
}

define internal void @taken(i32 %n, ptr addrspace(1) %p) {
entry:
  %none = icmp eq i32 %n, 0
  br i1 %none, label %done, label %more

more:
  %m = lshr i32 %n, 1
  store ptr @taken, ptr addrspace(1) %p, align 8
  call void @taken(i32 %m, ptr addrspace(1) %p)
  br label %done

done:
  ret void
}

define internal i32 @once(i32 %n) {
entry:
  %none = icmp eq i32 %n, 0
  br i1 %none, label %done, label %more

more:
  br label %done

done:
  %r = phi i32 [ 0, %entry ], [ 7, %more ]
  ret i32 %r
}

define amdgpu_kernel void @kernel(ptr addrspace(1) %p) {
  call void @reads(ptr addrspace(1) %p)
  %a = call i32 @visible(i32 9)
  call void @taken(i32 9, ptr addrspace(1) %p)
  %b = call i32 @once(i32 %a)
  ret void
}
