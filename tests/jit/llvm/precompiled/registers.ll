; A function of precompiled code is a piece of assembly whose registers an attribute names. Callers keep values where it does not write, and a kernel
; has at least the registers that it uses; it saves none itself.

; @code writes v0, v1, v2 and v40: v40 would be saved by an ordinary function. It has no prologue, just the wait that every function begins with.
define internal i32 @code(i32 %x) noinline "cudaway-overwrites"="VGPR0 VGPR1 VGPR2 VGPR40" {
  %r = call i32 asm sideeffect "v_add_nc_u32 v40, v0, v0\0A v_mov_b32 v0, v40", "={v0},{v0}"(i32 %x)
  ret i32 %r
}

; %id is wanted behind the call: it lies in a register that the code leaves alone, v3 or another but v0 to v2 and v40, and never in memory.
define amdgpu_kernel void @kernel(ptr addrspace(1) %out) {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %r = call i32 @code(i32 %id)
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %id
  store i32 %r, ptr addrspace(1) %at
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
;---- codegen gfx1100
code:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	v_add_nc_u32 v40, v0, v0
 v_mov_b32 v0, v40
	s_setpc_b64 s[30:31]

kernel:
	s_load_b64 s[16:17], s[4:5], 0x0
	v_and_b32_e32 v3, 0x3ff, v0
	v_mov_b32_e32 v31, v0
	s_add_u32 s8, s4, 8
	s_addc_u32 s9, s5, 0
	s_mov_b32 s12, s13
	v_mov_b32_e32 v0, v3
	s_mov_b64 s[10:11], s[6:7]
	s_getpc_b64 s[18:19]
	s_add_u32 s18, s18, code@rel32@lo+4
	s_addc_u32 s19, s19, code@rel32@hi+12
	s_mov_b64 s[4:5], s[0:1]
	s_mov_b64 s[6:7], s[2:3]
	s_mov_b32 s13, s14
	s_mov_b32 s14, s15
	s_mov_b32 s32, 0
	s_swappc_b64 s[30:31], s[18:19]
	v_lshlrev_b32_e32 v1, 2, v3
	global_store_b32 v1, v0, s[16:17]
	s_endpgm
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_next_free_vgpr 41
