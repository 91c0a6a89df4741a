; Work-around: LLVM cannot select llvm.arithmetic.fence of a uniform value. The fence is for the optimiser, which is done: its operand takes its
; place.
define amdgpu_kernel void @root(float %x, ptr addrspace(1) %p) {
  %y = fadd float %x, 1.0
  %f = call float @llvm.arithmetic.fence.f32(float %y)
  %z = fmul float %f, 2.0
  store float %z, ptr addrspace(1) %p
  ret void
}
declare float @llvm.arithmetic.fence.f32(float)
;---- uniform-fence gfx1100
define amdgpu_kernel void @root(float %x, ptr addrspace(1) %p) {
  %root.kernarg.segment = call nonnull align 16 dereferenceable(272) ptr addrspace(4) @llvm.amdgcn.kernarg.segment.ptr()
  %x.kernarg.offset1 = bitcast ptr addrspace(4) %root.kernarg.segment to ptr addrspace(4)
  %x.load = load float, ptr addrspace(4) %x.kernarg.offset1, align 16, !invariant.load !0
  %p.kernarg.offset = getelementptr inbounds i8, ptr addrspace(4) %root.kernarg.segment, i64 8
  %p.load = load ptr addrspace(1), ptr addrspace(4) %p.kernarg.offset, align 8, !invariant.load !0
  %y = fadd float %x.load, 1.000000e+00
  %z = fmul float %y, 2.000000e+00
  store float %z, ptr addrspace(1) %p.load, align 4
  ret void
}

!0 = !{}
