/* SPDX-License-Identifier: Apache-2.0
 * Pure value helpers of the emitter: types, splats, resizes, calls of intrinsics, constants of the module. They accept both shapes (scalar,
 * <width x T>) and unify mixtures, and know nothing about registers or control flow. */
#include "jit/emit/emit.h"
#include "jit/emit/target.h"

#include <llvm-c/DebugInfo.h>
#include <string.h>

enum { MAX_ARGS = 8 };

LLVMTypeRef
emit_type(struct emit *e, ptx_type t)
{
    static const uint8_t bits[PTX_TYPE_COUNT] = {
#define X(name, spelling, nbits, class) [name] = nbits,
        PTX_TYPE_MAP(X)
#undef X
    };

    switch (t) {
    case PTX_F16:  return e->f16;
    case PTX_F32:
    case PTX_TF32: return e->f32;
    case PTX_F64:  return e->f64;
    default: break;
    }
    switch (t < PTX_TYPE_COUNT ? bits[t] : 0) {
    case 1:   return e->i1;
    case 8:   return e->i8;
    case 16:  return e->i16;
    case 32:  return e->i32;
    case 64:  return e->i64;
    case 128: return e->i128;
    case 0:   return e->void_;
    default:  return LLVMIntTypeInContext(e->llvm, bits[t]);
    }
}

bool
emit_is_vector(LLVMValueRef v)
{
    return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind;
}

LLVMTypeRef
emit_scalar_type(LLVMValueRef v)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    return LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMGetElementType(t) : t;
}

LLVMTypeRef
emit_like(struct emit *e, LLVMValueRef shape, LLVMTypeRef scalar)
{
    return emit_is_vector(shape) ? LLVMVectorType(scalar, LLVMGetVectorSize(LLVMTypeOf(shape))) : scalar;
}

static LLVMValueRef
splat_to(struct emit *e, LLVMValueRef v, unsigned n)
{
    if (LLVMIsConstant(v) && !LLVMIsAConstantExpr(v)) {
        LLVMValueRef elem[EMIT_MAX_WIDTH * 2];

        if (n <= EMIT_MAX_WIDTH * 2) {
            for (unsigned i = 0; i < n; i++)
                elem[i] = v;
            return LLVMConstVector(elem, n);
        }
    }
    LLVMTypeRef vt = LLVMVectorType(LLVMTypeOf(v), n);
    LLVMValueRef poison = LLVMGetPoison(vt);
    LLVMValueRef one = LLVMBuildInsertElement(e->b, poison, v, LLVMConstInt(e->i64, 0, 0), "");

    return LLVMBuildShuffleVector(e->b, one, poison, LLVMConstNull(LLVMVectorType(e->i32, n)), "splat");
}

LLVMValueRef
emit_splat(struct emit *e, LLVMValueRef v)
{
    if (e->width == 1 || emit_is_vector(v))
        return v;
    return splat_to(e, v, e->width);
}

void
emit_unify(struct emit *e, LLVMValueRef *v, unsigned n)
{
    unsigned width = 0;

    for (unsigned i = 0; i < n; i++) {
        if (emit_is_vector(v[i]))
            width = LLVMGetVectorSize(LLVMTypeOf(v[i]));
    }
    if (!width)
        return;
    for (unsigned i = 0; i < n; i++) {
        if (!emit_is_vector(v[i]))
            v[i] = splat_to(e, v[i], width);
    }
}

LLVMValueRef
emit_int(struct emit *e, LLVMTypeRef scalar, uint64_t value)
{
    unsigned bits = LLVMGetIntTypeWidth(scalar);

    if (bits < 64)
        value &= (UINT64_C(1) << bits) - 1;
    return LLVMConstInt(scalar, value, 0);
}

LLVMValueRef
emit_int_like(struct emit *e, LLVMValueRef like, uint64_t value)
{
    LLVMValueRef c = emit_int(e, emit_scalar_type(like), value);
    return emit_is_vector(like) ? splat_to(e, c, LLVMGetVectorSize(LLVMTypeOf(like))) : c;
}

LLVMValueRef
emit_fp_like(struct emit *e, LLVMValueRef like, double value)
{
    LLVMValueRef c = LLVMConstReal(emit_scalar_type(like), value);
    return emit_is_vector(like) ? splat_to(e, c, LLVMGetVectorSize(LLVMTypeOf(like))) : c;
}

LLVMValueRef
emit_bitcast(struct emit *e, LLVMValueRef v, LLVMTypeRef scalar)
{
    LLVMTypeRef want = emit_like(e, v, scalar), have = LLVMTypeOf(v);
    LLVMTypeKind from = LLVMGetTypeKind(emit_scalar_type(v)), to = LLVMGetTypeKind(scalar);

    if (have == want)
        return v;
    if (from == LLVMPointerTypeKind && to == LLVMIntegerTypeKind)
        return LLVMBuildPtrToInt(e->b, v, want, "");
    if (from == LLVMIntegerTypeKind && to == LLVMPointerTypeKind)
        return LLVMBuildIntToPtr(e->b, v, want, "");
    return LLVMBuildBitCast(e->b, v, want, "");
}

LLVMValueRef
emit_resize(struct emit *e, LLVMValueRef v, LLVMTypeRef scalar, bool is_signed)
{
    unsigned from = LLVMGetIntTypeWidth(emit_scalar_type(v)), to = LLVMGetIntTypeWidth(scalar);
    LLVMTypeRef want = emit_like(e, v, scalar);

    if (from == to)
        return v;
    if (from > to)
        return LLVMBuildTrunc(e->b, v, want, "");
    return is_signed ? LLVMBuildSExt(e->b, v, want, "") : LLVMBuildZExt(e->b, v, want, "");
}

LLVMValueRef
emit_bin(struct emit *e, LLVMOpcode op, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef v[2] = { a, b };

    emit_unify(e, v, 2);
    return LLVMBuildBinOp(e->b, op, v[0], v[1], "");
}

LLVMValueRef
emit_icmp(struct emit *e, LLVMIntPredicate p, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef v[2] = { a, b };

    emit_unify(e, v, 2);
    return LLVMBuildICmp(e->b, p, v[0], v[1], "");
}

LLVMValueRef
emit_fcmp(struct emit *e, LLVMRealPredicate p, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef v[2] = { a, b };

    emit_unify(e, v, 2);
    return LLVMBuildFCmp(e->b, p, v[0], v[1], "");
}

LLVMValueRef
emit_select(struct emit *e, LLVMValueRef c, LLVMValueRef a, LLVMValueRef b)
{
    /* Keep a scalar condition scalar, even between vectors: a uniform choice is cheap. */
    LLVMValueRef v[3] = { a, b, c };

    emit_unify(e, v, emit_is_vector(c) ? 3 : 2);
    return LLVMBuildSelect(e->b, v[2], v[0], v[1], "");
}

LLVMValueRef
emit_low_half(struct emit *e, LLVMValueRef v)
{
    return LLVMBuildTrunc(e->b, v, e->i32, "");
}

LLVMValueRef
emit_high_half(struct emit *e, LLVMValueRef v)
{
    return emit_low_half(e, LLVMBuildLShr(e->b, v, LLVMConstInt(e->i64, 32, false), ""));
}

LLVMValueRef
emit_intrinsic_of(struct emit *e, const char *name, LLVMTypeRef *types, unsigned ntypes, LLVMValueRef *args, unsigned n)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef fn = LLVMGetIntrinsicDeclaration(e->module, id, types, ntypes);
    return LLVMBuildCall2(e->b, LLVMIntrinsicGetType(e->llvm, id, types, ntypes), fn, args, n, "");
}

LLVMValueRef
emit_intrinsic(struct emit *e, const char *name, LLVMValueRef *args, unsigned n, int flag)
{
    LLVMValueRef v[MAX_ARGS];
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name)), count = n;

    if (!id || n == 0 || n >= MAX_ARGS) {
        if (e->result == CW_OK)
            e->result = CW_ERR_INTERNAL;
        if (e->diags)
            cwj_diag_add(e->diags, PTX_ERROR, 5002, 0, 0, "the compiler has no intrinsic %s", name);
        return n ? args[0] : NULL;
    }
    memcpy(v, args, n * sizeof *v);
    emit_unify(e, v, n);
    LLVMTypeRef over = LLVMTypeOf(v[0]);
    if (flag >= 0)
        v[count++] = LLVMConstInt(e->i1, (unsigned)flag, 0);
    return emit_intrinsic_of(e, name, &over, LLVMIntrinsicIsOverloaded(id) ? 1 : 0, v, count);
}

LLVMValueRef
emit_phi(struct emit *e, LLVMValueRef a, LLVMBasicBlockRef from_a, LLVMValueRef b, LLVMBasicBlockRef from_b)
{
    LLVMValueRef phi = LLVMBuildPhi(e->b, LLVMTypeOf(a), "");
    LLVMAddIncoming(phi, (LLVMValueRef[]){ a, b }, (LLVMBasicBlockRef[]){ from_a, from_b }, 2);
    return phi;
}

LLVMValueRef
emit_constant(struct emit *e, const char *name, const void *bytes, unsigned size, unsigned align, LLVMLinkage linkage)
{
    LLVMValueRef v = LLVMConstStringInContext(e->llvm, bytes, size, true);       /* a string: cheap for LLVM */
    LLVMValueRef g = LLVMAddGlobalInAddressSpace(e->module, LLVMTypeOf(v), name, e->target->constant_space);
    LLVMSetInitializer(g, v);
    LLVMSetGlobalConstant(g, true);
    LLVMSetLinkage(g, linkage);
    LLVMSetAlignment(g, align);
    return g;
}

LLVMValueRef
emit_gather(struct emit *e, LLVMValueRef at, LLVMTypeRef scalar, unsigned align)
{
    unsigned n = LLVMGetVectorSize(LLVMTypeOf(at));
    LLVMTypeRef types[2] = { LLVMVectorType(scalar, n), LLVMTypeOf(at) };
    LLVMValueRef all = LLVMConstAllOnes(LLVMVectorType(e->i1, n));
    LLVMValueRef call = emit_intrinsic_of(e, "llvm.masked.gather", types, 2, VALUES(at, all, LLVMGetPoison(types[0])));
    LLVMSetInstrParamAlignment(call, 1, align);
    return call;
}

void
emit_scatter(struct emit *e, LLVMValueRef value, LLVMValueRef at, unsigned align)
{
    LLVMTypeRef types[2] = { LLVMTypeOf(value), LLVMTypeOf(at) };
    LLVMValueRef all = LLVMConstAllOnes(LLVMVectorType(e->i1, LLVMGetVectorSize(types[1])));
    LLVMSetInstrParamAlignment(emit_intrinsic_of(e, "llvm.masked.scatter", types, 2, VALUES(value, at, all)), 2, align);
}

void
emit_note_loop(LLVMContextRef c, LLVMValueRef branch, const char *name)
{
    LLVMMetadataRef full = LLVMMDStringInContext2(c, name, strlen(name)), self = LLVMTemporaryMDNode(c, NULL, 0);
    LLVMMetadataRef parts[2] = { self, LLVMMDNodeInContext2(c, &full, 1) };
    LLVMMetadataRef loop = LLVMMDNodeInContext2(c, parts, 2);

    LLVMMetadataReplaceAllUsesWith(self, loop);
    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(c, "llvm.loop", 9), LLVMMetadataAsValue(c, loop));
}
