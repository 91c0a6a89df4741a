/* SPDX-License-Identifier: Apache-2.0
 * 64-bit quotients on amdgcn, for each of which LLVM emits 150 to 200 instructions inline. The emitter calls a function that is only
 * declared, one for unsigned and one for signed integers. After the optimiser jit/passes/amd_divide.cpp expands calls, and this file gives
 * the functions of the remaining ones a body: precompiled machine code (precompiled.h), or else IR. */
#include "jit/emit/target/amdgcn/matrix.h"
#include "jit/emit/arith/arith_private.h"
#include "jit/emit/target/amdgcn/divide.h"

#include <string.h>

static void
set_attributes(V fn)
{
    static const char *const enums[] = { "memory", "nounwind", "willreturn", "nosync", "nofree", "norecurse", "mustprogress", "noinline" };
    /* It needs no hidden arguments, and so does not make its callers need any. */
    static const char *const strings[] = {
        "amdgpu-no-dispatch-ptr", "amdgpu-no-queue-ptr", "amdgpu-no-dispatch-id", "amdgpu-no-implicitarg-ptr", "amdgpu-no-hostcall-ptr",
        "amdgpu-no-heap-ptr", "amdgpu-no-default-queue", "amdgpu-no-completion-action", "amdgpu-no-multigrid-sync-arg", "amdgpu-no-lds-kernel-id",
        "amdgpu-no-workgroup-id-x", "amdgpu-no-workgroup-id-y", "amdgpu-no-workgroup-id-z", "amdgpu-no-workitem-id-x", "amdgpu-no-workitem-id-y",
        "amdgpu-no-workitem-id-z", "amdgpu-no-flat-scratch-init", "amdgpu-no-agpr",
    };
    for (unsigned i = 0; i < sizeof enums / sizeof *enums; i++)
        emit_set_attribute(fn, enums[i]);
    for (unsigned i = 0; i < sizeof strings / sizeof *strings; i++)
        emit_set_text_attribute(fn, strings[i], "");
}

V
gcn_divide(struct emit *e, V a, V b, bool is_signed, bool rem)
{
    const char *name = is_signed ? EMIT_DIVIDE_SIGNED : EMIT_DIVIDE_UNSIGNED;
    LLVMTypeRef two[2] = { e->i64, e->i64 }, type = LLVMFunctionType(LLVMStructTypeInContext(e->llvm, two, 2, false), two, 2, false);
    V fn = LLVMGetNamedFunction(e->module, name);
    if (!fn) {
        fn = LLVMAddFunction(e->module, name, type);
        set_attributes(fn);
    }
    return LLVMBuildExtractValue(e->b, LLVMBuildCall2(e->b, type, fn, (V[]){ a, b }, 2, ""), rem, "");
}

/* ---- the body ------------------------------------------------------------------------------------------------------------------ */

/* The path for operands below 2^32, taken if the whole wave has such, is a seventh as long as the other. */
static void
divide_unsigned(struct emit *e, V a, V b, V out[2])
{
    V fn = LLVMGetBasicBlockParent(LLVMGetInsertBlock(e->b)), r[2][2];
    LLVMBasicBlockRef path[2] = { LLVMAppendBasicBlockInContext(e->llvm, fn, "narrow"), LLVMAppendBasicBlockInContext(e->llvm, fn, "wide") };
    LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(e->llvm, fn, "done");
    V wide = v_lshr(e, v_or(e, a, b), k_int(e, a, 32));
    LLVMBuildCondBr(e->b, v_eq(e, wide, k_int(e, wide, 0)), path[0], path[1]);
    for (unsigned i = 0; i < 2; i++) {
        LLVMTypeRef t = i ? e->i64 : e->i32;
        LLVMPositionBuilderAtEnd(e->b, path[i]);
        V x = emit_resize(e, a, t, false), y = emit_resize(e, b, t, false), q = LLVMBuildUDiv(e->b, x, y, "");
        r[0][i] = emit_resize(e, q, e->i64, false);
        r[1][i] = emit_resize(e, v_sub(e, x, v_mul(e, q, y)), e->i64, false);
        LLVMBuildBr(e->b, done);
    }
    LLVMPositionBuilderAtEnd(e->b, done);
    for (unsigned i = 0; i < 2; i++)
        out[i] = emit_phi(e, r[i][0], path[0], r[i][1], path[1]);
}

static V
with_sign(struct emit *e, V v, V sign)          /* 0 or all ones */
{
    return v_sub(e, v_xor(e, v, sign), sign);
}

static void
body(struct emit *e, V fn, bool is_signed)
{
    V a = LLVMGetParam(fn, 0), b = LLVMGetParam(fn, 1), out[2];
    LLVMPositionBuilderAtEnd(e->b, LLVMAppendBasicBlockInContext(e->llvm, fn, ""));
    V zero = v_eq(e, b, k_int(e, b, 0)), sa = v_ashr(e, a, k_int(e, a, 63)), sb = v_ashr(e, b, k_int(e, b, 63));
    b = v_sel(e, zero, k_int(e, b, 1), b);
    if (is_signed)              /* -2^63 / -1 is 2^63, which is -2^63 */
        divide_unsigned(e, with_sign(e, a, sa), with_sign(e, b, sb), out);
    else
        divide_unsigned(e, a, b, out);
    for (unsigned i = 0; i < 2; i++) {
        V r = is_signed ? with_sign(e, out[i], i ? sa : v_xor(e, sa, sb)) : out[i];
        out[i] = v_sel(e, zero, k_int(e, r, ~UINT64_C(0)), r);
    }
    LLVMBuildAggregateRet(e->b, out, 2);
}

void
emit_gcn_divide_body(LLVMValueRef fn, const char *cpu)
{
    LLVMModuleRef m = LLVMGetGlobalParent(fn);
    LLVMContextRef c = LLVMGetModuleContext(m);
    struct emit e = { .llvm = c, .module = m, .b = LLVMCreateBuilderInContext(c), .target = &emit_target_amdgcn, .cpu = cpu, .width = 1,
                      .i1 = LLVMInt1TypeInContext(c), .i32 = LLVMInt32TypeInContext(c), .i64 = LLVMInt64TypeInContext(c) };
    size_t length;
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    if (!gcn_precompiled_body(&e, fn))
        body(&e, fn, !strcmp(LLVMGetValueName2(fn, &length), EMIT_DIVIDE_SIGNED));
    LLVMDisposeBuilder(e.b);
}
