/* SPDX-License-Identifier: Apache-2.0
 * The instructions of LLVM's that are not executed, and why. A test (gfxemu.names) compares this list and the tables of the executed ones
 * with what LLVM knows for each processor. A name may end in *, which stands for any rest. */
#include "tools/gfxemu/gfx.h"

#include <string.h>

#define GRAPHICS "part of graphics pipelines, which no kernel is in"
#define GDS "global data share and its semaphores, which no compute kernel of the HSA ABI may use"
#define TRAPS "for trap handlers, which there are none of"
#define SCALAR_STORES "writes through the scalar cache: no compiler selects them, and RDNA2 and gfx90a dropped them"
#define TWO_PLACES "adds one LDS place to another: no compiler selects it, and RDNA2 and gfx90a dropped it"
#define DEPTH "compares with a depth, which CUDA's textures have not"
#define LEVELS "chooses or limits a mipmap level, and textures here have one"
#define IMAGE_ATOMICS "atomics on images, which CUDA's surfaces do not have"
#define HALF_FORMATS "image formats converted to halves: the compiler of CUDAway reads floats"
#define TYPED "names a format of its own: the compiler of CUDAway reads formats from resources"
#define TO_LDS "from memory to LDS past the registers: LLVM selects it for an intrinsic that CUDAway does not use"
#define NARROW_FLOATS "floats of 8, 6 and 4 bits, and stochastic rounding: CUDAway converts them by integers"
#define SPARSE "sparse matrices: the compiler of CUDAway uses none"
#define BARRIERS "named barriers of gfx12, and the number of waves that they wait for: CUDAway uses the work-group's"
const struct gfx_left_out gfx_left_out[] = {
    { "v_illegal", "LLVM's word for an encoding that is none" },
    { "s_code_end", "stands behind the code for prefetching; executing it is an error" },
    { "s_atc_probe*", "asks for the translation of an address, with no result" },
    { "s_rfe*", TRAPS }, { "s_cbranch_g_fork", "the stack of forked execution masks: no compiler selects it, and RDNA dropped it" },
    { "s_cbranch_i_fork", "as s_cbranch_g_fork" }, { "s_cbranch_join", "as s_cbranch_g_fork" },
    { "s_setvskip", "skips vector instructions in a mode: no compiler selects it, and RDNA dropped it" },
    { "s_subvector_loop*", "runs a wave of 64 lanes in halves: no compiler selects it" },
    { "s_get_waveid_in_workgroup", "the wave's number: CUDAway computes it" },
    { "s_sendmsg_rtn_b32", "questions to the driver and to debuggers" },
    { "s_endpgm_ordered_ps_done", GRAPHICS }, { "s_alloc_vgpr", "registers taken and given back while a kernel runs: CUDAway asks for none" },
    { "s_barrier_init", BARRIERS }, { "s_barrier_join", BARRIERS }, { "s_barrier_leave", BARRIERS }, { "s_barrier_signal_isfirst", BARRIERS },
    { "s_get_barrier_state", BARRIERS },
    { "s_atomic_*", SCALAR_STORES }, { "s_buffer_atomic_*", SCALAR_STORES }, { "s_store_*", SCALAR_STORES }, { "s_buffer_store_*", SCALAR_STORES },
    { "s_scratch_*", SCALAR_STORES },
    { "exp", GRAPHICS }, { "export", GRAPHICS }, { "lds_direct_load", GRAPHICS }, { "lds_param_load", GRAPHICS }, { "ds_direct_load", GRAPHICS },
    { "ds_param_load", GRAPHICS }, { "v_interp_*", GRAPHICS }, { "v_screen_partition_4se_b32", GRAPHICS }, { "ds_ordered_count", GDS },
    { "ds_gws_*", GDS }, { "ds_add_gs_reg_rtn", GRAPHICS }, { "ds_sub_gs_reg_rtn", GRAPHICS }, { "global_atomic_ordered_add_b64", GRAPHICS },
    { "ds_append", "the documents do not say which half of M0 has the address" }, { "ds_consume", "as ds_append" },
    { "ds_bvh_stack*", "ray tracing" }, { "image_bvh*", "ray tracing" }, { "ds_add_src2_*", TWO_PLACES }, { "ds_sub_src2_*", TWO_PLACES }, { "ds_rsub_src2_*", TWO_PLACES },
    { "ds_inc_src2_*", TWO_PLACES }, { "ds_dec_src2_*", TWO_PLACES }, { "ds_min_src2_*", TWO_PLACES }, { "ds_max_src2_*", TWO_PLACES },
    { "ds_and_src2_*", TWO_PLACES }, { "ds_or_src2_*", TWO_PLACES }, { "ds_xor_src2_*", TWO_PLACES }, { "ds_write_src2_*", TWO_PLACES },
    { "ds_read_b64_tr_*", "transposes matrices on the way: the compiler of CUDAway uses none" }, { "ds_read_b96_tr_b6", "as ds_read_b64_tr" },
    { "global_load_tr_*", "as ds_read_b64_tr" },
    { "buffer_store_lds_dword", TO_LDS }, { "global_load_lds_*", TO_LDS }, { "scratch_load_lds_*", TO_LDS },
    { "global_load_block", "registers by a mask, for saving them around calls: LLVM selects it with a feature that is off" },
    { "global_store_block", "as global_load_block" }, { "scratch_load_block", "as global_load_block" }, { "scratch_store_block", "as global_load_block" },
    { "buffer_load_d16_format_*", HALF_FORMATS }, { "buffer_load_d16_hi_format_x", HALF_FORMATS }, { "buffer_load_format_d16_*", HALF_FORMATS }, { "buffer_store_d16_format_*", HALF_FORMATS },
    { "buffer_store_d16_hi_format_*", HALF_FORMATS }, { "buffer_store_format_d16_*", HALF_FORMATS },
    { "tbuffer_*", TYPED }, { "image_atomic_*", IMAGE_ATOMICS }, { "image_sample_c*", DEPTH }, { "image_gather4_c*", DEPTH },
    { "image_sample_b_cl*", LEVELS }, { "image_sample_d_cl*", LEVELS }, { "image_gather4_b*", LEVELS }, { "image_get_lod", LEVELS },
    { "image_sample_d_g16", "derivatives in halves, which the compiler of CUDAway does not use" }, { "image_sample_d_o_g16", "as image_sample_d_g16" },
    { "image_gather4h", "gathers from one row: the compiler of CUDAway does not use it" },
    { "image_load_pck*", "raw bits of compressed formats" }, { "image_load_mip_pck*", "as image_load_pck" }, { "image_store_pck", "as image_load_pck" },
    { "image_store_mip_pck", "as image_load_pck" }, { "image_msaa_load", GRAPHICS },
    { "v_cvt_f32_bf8", NARROW_FLOATS }, { "v_cvt_f32_fp8", NARROW_FLOATS }, { "v_cvt_pk_bf8_f32", NARROW_FLOATS },
    { "v_cvt_pk_f32_bf8", NARROW_FLOATS }, { "v_cvt_pk_f32_fp8", NARROW_FLOATS }, { "v_cvt_pk_fp8_f32", NARROW_FLOATS },
    { "v_cvt_sr_*", NARROW_FLOATS }, { "v_cvt_scalef32_*", NARROW_FLOATS }, { "v_mfma_ld_scale_b32", NARROW_FLOATS },
    { "v_mfma_f32_16x16x128_f8f6f4", NARROW_FLOATS }, { "v_mfma_f32_32x32x64_f8f6f4", NARROW_FLOATS },
    { "v_dot4_f32_*", NARROW_FLOATS }, { "v_smfmac_*", SPARSE }, { "v_swmmac_*", SPARSE },
    { "v_cvt_pkaccum_u8_f32", "replaces a byte of its destination: v_cvt_pk_u8_f32 does that with three sources, and no compiler selects it" },
    { NULL, NULL },
};

const struct gfx_left_out *
gfx_left_out_find(const char *name)
{
    for (const struct gfx_left_out *l = gfx_left_out; l->name; l++) {
        size_t n = strlen(l->name);
        if (l->name[n - 1] == '*' ? !strncmp(l->name, name, n - 1) : !strcmp(l->name, name))
            return l;
    }
    return NULL;
}
