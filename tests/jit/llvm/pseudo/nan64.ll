; A pseudo-instruction for the NaN of f64 operations (jit/emit/target/amdgcn/pseudo.h) becomes a test and a branch to code behind the end of the
; function, which finds out which NaN it is: until here it was one instruction, with no block of its own.

; %s may be NaN (?0). Then it becomes 0xfff8000000000000; where a (4) is NaN, that one with its quiet bit, 0x80000 of the upper half; and then b (3),
; which goes before a. The lanes where each is NaN are in a mask of its own, s0. Where no lane has a NaN, nothing but the comparison and the branch
; runs.
define double @sum(double %a, double %b) {
  %s = fadd double %a, %b
  %p = call { double, i32, i32 } asm "cwj_nan64 ?0 =0,3,4", "=&v,=&v,=&s,0,v,v"(double %s, double %b, double %a)
  %f = freeze { double, i32, i32 } %p
  %r = extractvalue { double, i32, i32 } %f, 0
  ret double %r
}
;---- codegen gfx1100
sum:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	v_add_f64 v[4:5], v[0:1], v[2:3]
	s_delay_alu instid0(VALU_DEP_1)
	v_cmp_u_f64_e32 vcc_lo, v[4:5], v[4:5]
	s_cbranch_vccnz .LBB0_2
.LBB0_1:
	s_delay_alu instid0(VALU_DEP_1)
	v_dual_mov_b32 v0, v4 :: v_dual_mov_b32 v1, v5
	s_setpc_b64 s[30:31]
.LBB0_2:
	v_cmp_u_f64_e64 s0, v[4:5], v[4:5]
	v_mov_b32_e32 v6, 0xfff80000
	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_2)
	v_cndmask_b32_e64 v4, v4, 0, s0
	v_cndmask_b32_e64 v5, v5, v6, s0
	v_cmp_u_f64_e64 s0, v[0:1], v[0:1]
	s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_1) | instid1(VALU_DEP_1)
	v_cndmask_b32_e64 v4, v4, v0, s0
	v_or_b32_e32 v6, 0x80000, v1
	v_cndmask_b32_e64 v5, v5, v6, s0
	v_cmp_u_f64_e64 s0, v[2:3], v[2:3]
	s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_1) | instid1(VALU_DEP_1)
	v_cndmask_b32_e64 v4, v4, v2, s0
	v_or_b32_e32 v6, 0x80000, v3
	v_cndmask_b32_e64 v5, v5, v6, s0
	s_branch .LBB0_1
