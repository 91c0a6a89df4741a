; Work-around: on gfx1100 LLVM expands llvm.trap into a loop in a new block at the end, and FinalizeISel goes on from there. Both functions must
; hold no pseudo-instruction (SIMULATED_TRAP; S_ADD_U64_PSEUDO is still FinalizeISel's to expand) of a trap: each trap has S_TRAP 2, its message
; and a loop of S_SETHALT.

; The block `good` is behind the trap.
define amdgpu_kernel void @between(i32 %n, ptr addrspace(1) %out, i64 %i) {
entry:
  %c = icmp eq i32 %n, 0
  br i1 %c, label %good, label %bad
bad:
  call void @llvm.trap()
  unreachable
good:
  %p = getelementptr [256 x i8], ptr addrspace(1) %out, i64 %i
  store i32 0, ptr addrspace(1) %p
  ret void
}

; Two traps: neither stays.
define amdgpu_kernel void @two(i32 %n) {
entry:
  switch i32 %n, label %end [ i32 1, label %one
                              i32 2, label %other ]
one:
  call void @llvm.trap()
  unreachable
other:
  call void @llvm.trap()
  unreachable
end:
  ret void
}
declare void @llvm.trap()
;---- trap-skips-blocks gfx1100
name:            between
body:             |
  bb.0.entry:
    successors: %bb.2(0x7ffff800), %bb.1(0x00000800)
    liveins: $sgpr4_sgpr5
    %4:sgpr_64(p4) = COPY $sgpr4_sgpr5
    %0:sreg_64 = COPY %4(p4)
    %14:sreg_32_xm0_xexec = S_LOAD_DWORD_IMM %4(p4), 0, 0 :: (dereferenceable invariant load (s32) from %ir.n.kernarg.offset1, align 16, addrspace 4)
    %15:sreg_32 = S_MOV_B32 0
    S_CMP_EQ_U32 killed %14, killed %15, implicit-def $scc
    S_CBRANCH_SCC1 %bb.2, implicit $scc
    S_BRANCH %bb.1
  bb.1.bad:
    successors: %bb.3(0x80000000)
    S_TRAP 2
    %27:sreg_32 = S_SENDMSG_RTN_B32 128
    $ttmp2 = S_MOV_B32 $m0
    %28:sreg_32 = S_AND_B32 %27, 1023, implicit-def $scc
    %29:sreg_32 = S_OR_B32 %28, 1024, implicit-def $scc
    $m0 = S_MOV_B32 %29
    S_SENDMSG 1, implicit $exec, implicit $m0
    $m0 = S_MOV_B32 $ttmp2
    S_BRANCH %bb.3
  bb.2.good:
    %16:sgpr_128 = S_LOAD_DWORDX4_IMM %0, 8, 0 :: (dereferenceable invariant load (s128) from %ir.out.kernarg.offset, align 8, addrspace 4)
    %17:sreg_32 = COPY %16.sub1
    %18:sreg_32 = COPY %16.sub0
    %19:sreg_64 = REG_SEQUENCE killed %18, %subreg.sub0, killed %17, %subreg.sub1
    %20:sreg_32 = COPY %16.sub3
    %21:sreg_32 = COPY %16.sub2
    %22:sreg_64 = REG_SEQUENCE killed %21, %subreg.sub0, killed %20, %subreg.sub1
    %23:sreg_32 = S_MOV_B32 8
    %24:sreg_64 = S_LSHL_B64 killed %22, killed %23, implicit-def dead $scc
    %25:sreg_64_xexec_xnull = S_ADD_U64_PSEUDO killed %19, killed %24, implicit-def dead $scc
    %26:vgpr_32 = V_MOV_B32_e32 0, implicit $exec
    GLOBAL_STORE_DWORD_SADDR %26, %26, killed %25, 0, 0, implicit $exec :: (store (s32) into %ir.p, addrspace 1)
    S_ENDPGM 0
  bb.3:
    successors: %bb.3(0x80000000)
    S_SETHALT 5
    S_BRANCH %bb.3

name:            two
body:             |
  bb.0.entry:
    successors: %bb.1(0x80000000)
    liveins: $sgpr4_sgpr5
    %4:sgpr_64(p4) = COPY $sgpr4_sgpr5
  bb.1.NodeBlock:
    successors: %bb.3(0x40000000), %bb.2(0x40000000)
    %14:sreg_32_xm0_xexec = S_LOAD_DWORD_IMM %4(p4), 0, 0 :: (dereferenceable invariant load (s32) from %ir.n.kernarg.offset1, align 16, addrspace 4)
    %0:sreg_32 = COPY %14
    %15:sreg_32 = S_MOV_B32 2
    S_CMP_LT_I32 %14, killed %15, implicit-def $scc
    S_CBRANCH_SCC1 %bb.3, implicit $scc
    S_BRANCH %bb.2
  bb.2.LeafBlock2:
    successors: %bb.5(0x00000800), %bb.6(0x7ffff800)
    %16:sreg_32 = S_MOV_B32 2
    S_CMP_EQ_U32 %0, killed %16, implicit-def $scc
    S_CBRANCH_SCC1 %bb.5, implicit $scc
    S_BRANCH %bb.6
  bb.3.LeafBlock:
    successors: %bb.4(0x00000800), %bb.6(0x7ffff800)
    %17:sreg_32 = S_MOV_B32 1
    S_CMP_LG_U32 %0, killed %17, implicit-def $scc
    S_CBRANCH_SCC1 %bb.6, implicit $scc
    S_BRANCH %bb.4
  bb.4.one:
    successors: %bb.7(0x80000000)
    S_TRAP 2
    %18:sreg_32 = S_SENDMSG_RTN_B32 128
    $ttmp2 = S_MOV_B32 $m0
    %19:sreg_32 = S_AND_B32 %18, 1023, implicit-def $scc
    %20:sreg_32 = S_OR_B32 %19, 1024, implicit-def $scc
    $m0 = S_MOV_B32 %20
    S_SENDMSG 1, implicit $exec, implicit $m0
    $m0 = S_MOV_B32 $ttmp2
    S_BRANCH %bb.7
  bb.5.other:
    successors: %bb.8(0x80000000)
    S_TRAP 2
    %21:sreg_32 = S_SENDMSG_RTN_B32 128
    $ttmp2 = S_MOV_B32 $m0
    %22:sreg_32 = S_AND_B32 %21, 1023, implicit-def $scc
    %23:sreg_32 = S_OR_B32 %22, 1024, implicit-def $scc
    $m0 = S_MOV_B32 %23
    S_SENDMSG 1, implicit $exec, implicit $m0
    $m0 = S_MOV_B32 $ttmp2
    S_BRANCH %bb.8
  bb.6.end:
    S_ENDPGM 0
  bb.7:
    successors: %bb.7(0x80000000)
    S_SETHALT 5
    S_BRANCH %bb.7
  bb.8:
    successors: %bb.8(0x80000000)
    S_SETHALT 5
    S_BRANCH %bb.8
