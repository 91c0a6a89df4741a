/* SPDX-License-Identifier: Apache-2.0
 * Memory instructions that access nothing: fences, cache policies, prefetches; and elect. A proxy fence becomes a fence of the whole
 * system, which orders more than required. */
#include "jit/emit/emit_private.h"
#include "jit/emit/arith/fp_private.h"

/* The 64-bit values are opaque; these are an H200's, as far as operands in the documented ranges show. */
enum { POLICY_RANGE = 8, POLICY_BASE = 0x10, POLICY_SIXTEENTHS_AT = 52, POLICY_GRANULE_AT = 52, POLICY_START_AT = 44, POLICY_COUNT_AT = 37,
       POLICY_PART_MASK = 0x7f };

static unsigned
policy_bits(const struct ptx_inst *in)
{
    static const uint8_t primary[] = { [PTX_EVICT_UNCHANGED] = 0, [PTX_EVICT_FIRST] = 1, [PTX_EVICT_LAST] = 2, [PTX_EVICT_NORMAL] = 3 };

    return POLICY_BASE | primary[PTX_AUX(in, EVICT2)] << 1 | (PTX_AUX(in, EVICT) == PTX_EVICT_FIRST);
}

/* A range is kept in granules of 4096 bytes, or larger ones so that 128 cover its whole size: the number of the first granule (its low
 * bits) and the number of granules that begin in the primary part. */
static V
range_policy(struct emit *e, const struct ptx_inst *in)
{
    V start = emit_address(e, &in->operand[1], PTX_SPACE_GLOBAL);
    V primary = emit_resize(e, emit_src(e, in, 2, PTX_U32), e->i64, false), total = emit_src(e, in, 3, PTX_U32);
    V below = v_sub(e, total, k_int(e, total, 1));
    V log = v_sub(e, k_int(e, below, 32), emit_intrinsic(e, "llvm.ctlz", &below, 1, 0));
    V scale = emit_resize(e, v_sub(e, v_call2(e, "llvm.umax", log, k_int(e, log, 19)), k_int(e, log, 19)), e->i64, false);
    V shift = v_add(e, scale, k_int(e, scale, 12)), last = v_add(e, start, primary);
    V round = v_sub(e, v_shl(e, k_int(e, shift, 1), shift), k_int(e, shift, 1));
    V first = v_lshr(e, start, shift), count = v_sub(e, v_lshr(e, v_add(e, last, round), shift), first);

    first = v_and(e, first, k_int(e, first, POLICY_PART_MASK));
    count = v_and(e, count, k_int(e, count, POLICY_PART_MASK));
    V r = v_or(e, v_shl(e, first, k_int(e, first, POLICY_START_AT)), v_shl(e, count, k_int(e, count, POLICY_COUNT_AT)));
    r = v_or(e, r, v_shl(e, scale, k_int(e, scale, POLICY_GRANULE_AT)));
    return v_or(e, r, k_int(e, r, (uint64_t)(policy_bits(in) | POLICY_RANGE) << 56));
}

/* createpolicy (9.7.9.16). The fraction is stored in sixteenths, minus one. */
void
emit_createpolicy(struct emit *e, const struct ptx_inst *in)
{
    V r;

    if (in->mode == PTX_MODE_CVT) {
        emit_dst(e, in, 0, PTX_B64, emit_src(e, in, 1, PTX_B64));
        return;
    }
    if (in->mode == PTX_MODE_RANGE) {
        r = range_policy(e, in);
    } else if (in->noperands < 2) {
        r = emit_int(e, e->i64, (uint64_t)policy_bits(in) << 56 | UINT64_C(15) << POLICY_SIXTEENTHS_AT);
    } else {
        V f = emit_src(e, in, 1, PTX_F32);
        /* slightly more than n sixteenths still counts as n */
        V n = v_call1(e, "llvm.ceil", v_fsub(e, v_fmul(e, f, emit_fp_like(e, f, 16.0)), emit_fp_like(e, f, 0x1p-7)));
        /* outside (0, 1], where the result is undefined: the nearest fraction; for NaN the smallest */
        n = v_sel(e, emit_fcmp(e, LLVMRealOGT, n, emit_fp_like(e, n, 1.0)), n, emit_fp_like(e, n, 1.0));
        n = v_sel(e, emit_fcmp(e, LLVMRealOLT, n, emit_fp_like(e, n, 16.0)), n, emit_fp_like(e, n, 16.0));
        V sixteenths = v_sub(e, LLVMBuildFPToUI(e->b, n, emit_like(e, n, e->i64), ""), emit_int(e, e->i64, 1));
        r = v_or(e, v_shl(e, sixteenths, k_int(e, sixteenths, POLICY_SIXTEENTHS_AT)), k_int(e, sixteenths, (uint64_t)policy_bits(in) << 56));
    }
    emit_dst(e, in, 0, PTX_B64, r);
}

/* elect.sync (9.7.13.14): the lowest lane of the member mask, as on an H200. */
void
emit_elect(struct emit *e, const struct ptx_inst *in)
{
    V mask = emit_src(e, in, 1, PTX_B32), lane = emit_sreg(e, PTX_SREG_LANEID);
    V leader = emit_intrinsic(e, "llvm.cttz", &mask, 1, 0);

    emit_dst_pair(e, &in->operand[0], PTX_U32, leader, v_eq(e, lane, leader));
}

static LLVMAtomicOrdering
fence_order(const struct ptx_inst *in)
{
    if (in->op == PTX_OP_MEMBAR)
        return LLVMAtomicOrderingSequentiallyConsistent;
    switch (in->sem) {
    case PTX_SEM_SC:      return LLVMAtomicOrderingSequentiallyConsistent;
    case PTX_SEM_ACQUIRE: return LLVMAtomicOrderingAcquire;
    case PTX_SEM_RELEASE: return LLVMAtomicOrderingRelease;
    default:              return LLVMAtomicOrderingAcquireRelease;     /* also if the instruction names none */
    }
}

/* membar and the forms of fence */
void
emit_fence(struct emit *e, const struct ptx_inst *in)
{
    emit_scoped(e, LLVMBuildFence(e->b, fence_order(in), false, ""),
                in->op == PTX_OP_MEMBAR || in->op == PTX_OP_FENCE ? (ptx_scope)in->scope : PTX_SCOPE_SYS);
}
