; The pseudo-instruction that makes an f32 NaN canonical becomes V_MAX3 of 0x7fffffff, x and 0x7fffffff, a number in the instruction on gfx11 and
; gfx12, which calls it V_MAX3_NUM.
define float @canonical(float %x) {
  %r = call float asm "cwj_max3", "=v,v"(float %x)
  ret float %r
}
;---- codegen gfx1100
canonical:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	v_max3_f32 v0, 0x7fffffff, v0, 0x7fffffff
	s_setpc_b64 s[30:31]

;---- codegen gfx1201
canonical:
	s_wait_loadcnt_dscnt 0x0
	s_wait_expcnt 0x0
	s_wait_samplecnt 0x0
	s_wait_bvhcnt 0x0
	s_wait_kmcnt 0x0
	v_max3_num_f32 v0, 0x7fffffff, v0, 0x7fffffff
	s_setpc_b64 s[30:31]
