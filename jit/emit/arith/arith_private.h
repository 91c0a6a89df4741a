/* SPDX-License-Identifier: Apache-2.0
 * Shared by the files that emit arithmetic: short builders over both shapes, and functions that one file offers the others. Section numbers
 * are those of the PTX ISA manual. */
#ifndef CWJ_EMIT_ARITH_ARITH_PRIVATE_H
#define CWJ_EMIT_ARITH_ARITH_PRIVATE_H

#include "jit/emit/emit.h"
#include "jit/emit/target.h"

typedef LLVMValueRef V;

static inline V v_add(struct emit *e, V a, V b)  { return emit_bin(e, LLVMAdd, a, b); }
static inline V v_sub(struct emit *e, V a, V b)  { return emit_bin(e, LLVMSub, a, b); }
static inline V v_mul(struct emit *e, V a, V b)  { return emit_bin(e, LLVMMul, a, b); }
static inline V v_and(struct emit *e, V a, V b)  { return emit_bin(e, LLVMAnd, a, b); }
static inline V v_or(struct emit *e, V a, V b)   { return emit_bin(e, LLVMOr, a, b); }
static inline V v_xor(struct emit *e, V a, V b)  { return emit_bin(e, LLVMXor, a, b); }
static inline V v_shl(struct emit *e, V a, V b)  { return emit_bin(e, LLVMShl, a, b); }
static inline V v_lshr(struct emit *e, V a, V b) { return emit_bin(e, LLVMLShr, a, b); }
static inline V v_ashr(struct emit *e, V a, V b) { return emit_bin(e, LLVMAShr, a, b); }
static inline V v_fadd(struct emit *e, V a, V b) { return emit_bin(e, LLVMFAdd, a, b); }
static inline V v_fsub(struct emit *e, V a, V b) { return emit_bin(e, LLVMFSub, a, b); }
static inline V v_fmul(struct emit *e, V a, V b) { return emit_bin(e, LLVMFMul, a, b); }
static inline V v_fdiv(struct emit *e, V a, V b) { return emit_bin(e, LLVMFDiv, a, b); }
static inline V v_not(struct emit *e, V a)       { return LLVMBuildNot(e->b, a, ""); }
static inline V v_eq(struct emit *e, V a, V b)   { return emit_icmp(e, LLVMIntEQ, a, b); }
static inline V v_ne(struct emit *e, V a, V b)   { return emit_icmp(e, LLVMIntNE, a, b); }
static inline V v_sel(struct emit *e, V c, V a, V b) { return emit_select(e, c, a, b); }
static inline V k_int(struct emit *e, V like, uint64_t value) { return emit_int_like(e, like, value); }

static inline V
v_bool(struct emit *e, unsigned op, V a, V b)      /* enum ptx_boolop */
{
    return op == PTX_BOOL_OR ? v_or(e, a, b) : op == PTX_BOOL_XOR ? v_xor(e, a, b) : v_and(e, a, b);
}

static inline unsigned
int_bits(V v)
{
    return LLVMGetIntTypeWidth(emit_scalar_type(v));
}

static inline V
v_call1(struct emit *e, const char *name, V a)
{
    return emit_intrinsic(e, name, &a, 1, -1);
}

static inline V
v_call2(struct emit *e, const char *name, V a, V b)
{
    V v[2] = { a, b };
    return emit_intrinsic(e, name, v, 2, -1);
}

static inline V
v_call3(struct emit *e, const char *name, V a, V b, V c)
{
    V v[3] = { a, b, c };
    return emit_intrinsic(e, name, v, 3, -1);
}

/* If v (scalar or splat) is an integer constant, *value gets it. */
static inline bool
const_int(V v, uint64_t *value)
{
    if (!LLVMIsConstant(v))
        return false;
    if (emit_is_vector(v)) {
        V first = LLVMGetAggregateElement(v, 0);
        for (unsigned i = 1; first && i < LLVMGetVectorSize(LLVMTypeOf(v)); i++) {
            if (LLVMGetAggregateElement(v, i) != first)
                return false;
        }
        v = first;
    }
    if (!v || !LLVMIsAConstantInt(v) || LLVMGetIntTypeWidth(LLVMTypeOf(v)) > 64)
        return false;
    *value = LLVMConstIntGetZExtValue(v);
    return true;
}

static inline bool
type_is_signed(ptx_type t)
{
    return t == PTX_S8 || t == PTX_S16 || t == PTX_S32 || t == PTX_S64 || t == PTX_S16X2 || t == PTX_S4 || t == PTX_S2;
}

static inline bool
type_is_float(ptx_type t)
{
    switch (t) {
    case PTX_F16: case PTX_F16X2: case PTX_BF16: case PTX_BF16X2: case PTX_TF32: case PTX_F32: case PTX_F64: case PTX_F32X2:
        return true;
    default:
        return false;
    }
}

/* The two halves of a packed pair (i32 -> two i16, i64 -> two i32), and back. */
static inline void
v_unpack(struct emit *e, V v, V half[2])
{
    unsigned bits = int_bits(v) / 2;
    LLVMTypeRef t = LLVMIntTypeInContext(e->llvm, bits);

    half[0] = emit_resize(e, v, t, false);
    half[1] = emit_resize(e, v_lshr(e, v, k_int(e, v, bits)), t, false);
}

static inline V
v_pack(struct emit *e, V lo, V hi)
{
    unsigned bits = int_bits(lo);
    LLVMTypeRef t = LLVMIntTypeInContext(e->llvm, bits * 2);

    lo = emit_resize(e, lo, t, false);
    hi = emit_resize(e, hi, t, false);
    return v_or(e, lo, v_shl(e, hi, k_int(e, hi, bits)));
}

/* For every video instruction: see EMIT_VIDEO. */
static inline void
note_video(struct emit *e)
{
    LLVMGetOrInsertNamedMetadata(e->module, EMIT_VIDEO, sizeof EMIT_VIDEO - 1);
}

/* compare.c: a comparison of integers; 0: it is none. */
LLVMIntPredicate arith_predicate(unsigned cmp, bool is_signed);

#endif
