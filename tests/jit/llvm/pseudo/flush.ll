; Pseudo-instructions for .ftz (jit/emit/target/amdgcn/pseudo.h) become instructions at the end of code generation.

; The least of 2 * bits - 1 of two numbers, as unsigned integers: below 2^24 for subnormals, the largest number for zero. 2 * bits - 1 is one
; V_LSHL_ADD, with -1 as what is added. The first goes to the result, the second beside it, then the minimum of both.
define float @small(float %x, float %y) {
  %p = call { float, float, float } asm "cwj_small", "=&v,=&v,=&v,v,v"(float %x, float %y)
  %f = freeze { float, float, float } %p
  %r = extractvalue { float, float, float } %f, 0
  ret float %r
}

; A sum again: zero with its sign where the exponent field is 0. Subnormal sums are exact, so what is looked at is the sum itself.
define float @sum(float %a, float %b) {
  %p = call { float, float, float, float, float, i32 } asm "cwj_flush +6,7", "=&v,=&v,=&v,=&v,=&v,=&s,v,v"(float %a, float %b)
  %f = freeze { float, float, float, float, float, i32 } %p
  %r = extractvalue { float, float, float, float, float, i32 } %f, 0
  ret float %r
}

; A product is computed with an operand 2^64 times as large, too (V_LDEXP by 64), and is small where that one's exponent field is at most 64, which is
; below 2^-62.
define float @product(float %a, float %b) {
  %p = call { float, float, float, float, float, i32 } asm "cwj_flush *6,7", "=&v,=&v,=&v,=&v,=&v,=&s,v,v"(float %a, float %b)
  %f = freeze { float, float, float, float, float, i32 } %p
  %r = extractvalue { float, float, float, float, float, i32 } %f, 0
  ret float %r
}
;---- codegen gfx1100
small:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	v_lshl_add_u32 v2, v0, 1, -1
	v_lshl_add_u32 v3, v1, 1, -1
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_min_u32_e64 v2, v2, v3
	v_mov_b32_e32 v0, v2
	s_setpc_b64 s[30:31]

sum:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	v_add_f32_e64 v2, v0, v1
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_bfe_u32 v6, v2, 23, 8
	v_cmp_ge_u32_e64 s0, 0, v6
	v_and_b32_e32 v6, 0x80000000, v2
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_cndmask_b32_e64 v2, v2, v6, s0
	v_mov_b32_e32 v0, v2
	s_setpc_b64 s[30:31]

product:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	v_ldexp_f32 v6, v0, 64
	s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_1) | instid1(VALU_DEP_2)
	v_mul_f32_e64 v6, v6, v1
	v_mul_f32_e64 v2, v0, v1
	v_bfe_u32 v6, v6, 23, 8
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_3)
	v_cmp_ge_u32_e64 s0, 64, v6
	v_and_b32_e32 v6, 0x80000000, v2
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_cndmask_b32_e64 v2, v2, v6, s0
	v_mov_b32_e32 v0, v2
	s_setpc_b64 s[30:31]
