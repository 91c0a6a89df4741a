/* SPDX-License-Identifier: Apache-2.0
 * Start and end of a module's emission, and dispatch to the SIMT targets. */
#include "jit/emit/emit_private.h"

#include <stdlib.h>

struct emit_session *
emit_open(struct cwj_program *p, LLVMContextRef llvm, struct cwj_diags *diags)
{
    struct emit_session *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    struct emit *e = &s->e;
    cw_arena_init(&e->arena);
    e->result = CW_OK;
    e->llvm = llvm;
    e->program = p;
    e->diags = diags;
    e->b = LLVMCreateBuilderInContext(llvm);
    e->module = LLVMModuleCreateWithNameInContext("cudaway", llvm);
    e->i1 = LLVMInt1TypeInContext(llvm);
    e->i8 = LLVMInt8TypeInContext(llvm);
    e->i16 = LLVMInt16TypeInContext(llvm);
    e->i32 = LLVMInt32TypeInContext(llvm);
    e->i64 = LLVMInt64TypeInContext(llvm);
    e->i128 = LLVMInt128TypeInContext(llvm);
    e->f16 = LLVMHalfTypeInContext(llvm);
    e->f32 = LLVMFloatTypeInContext(llvm);
    e->f64 = LLVMDoubleTypeInContext(llvm);
    e->ptr = LLVMPointerTypeInContext(llvm, 0);
    e->void_ = LLVMVoidTypeInContext(llvm);
    s->functions = cw_arena_array(&e->arena, LLVMValueRef, p->nfuncs + 1);
    s->function_types = cw_arena_array(&e->arena, LLVMTypeRef, p->nfuncs + 1);
    s->variables = cw_arena_array(&e->arena, LLVMValueRef, p->nlink_vars + 1);
    s->needed = cw_arena_array(&e->arena, bool, p->nfuncs + 1);
    if (!s->functions || !s->function_types || !s->variables || !s->needed)
        e->result = CW_ERR_NOMEM;
    return s;
}

cw_result
emit_close(struct emit_session *s, LLVMModuleRef *module)
{
    cw_result r = s->e.result;
    *module = NULL;
    if (r == CW_OK)
        *module = s->e.module;
    else
        LLVMDisposeModule(s->e.module);
    LLVMDisposeBuilder(s->e.b);
    cw_arena_finish(&s->e.arena);
    free(s);
    return r;
}

uint32_t *
emit_callees_first(const struct cwj_program *p, const uint32_t *funcs, uint32_t nfuncs, struct cw_arena *a)
{
    uint32_t *order = cw_arena_array(a, uint32_t, nfuncs + 1), *stack = cw_arena_array(a, uint32_t, nfuncs + 1), n = 0;
    uint32_t *next = cw_arena_array(a, uint32_t, p->nfuncs + 1);
    bool *seen = cw_arena_array(a, bool, p->nfuncs + 1);
    if (!order || !stack || !next || !seen)
        return NULL;
    for (uint32_t i = 0; i < p->nfuncs; i++)
        seen[i] = true;
    for (uint32_t i = 0; i < nfuncs; i++)
        seen[funcs[i]] = false;
    for (uint32_t i = 0; i < nfuncs; i++) {
        uint32_t depth = 0;
        if (seen[funcs[i]])
            continue;
        seen[funcs[i]] = true;
        stack[depth++] = funcs[i];
        while (depth) {
            uint32_t f = stack[depth - 1];
            if (next[f] < p->funcs[f].ncallees) {
                uint32_t c = p->funcs[f].callees[next[f]++];
                if (!seen[c]) {
                    seen[c] = true;
                    stack[depth++] = c;
                }
            } else {
                order[n++] = f;
                depth--;
            }
        }
    }
    return order;
}

void
emit_function_table(struct emit *e, const char *name)
{
    struct emit_session *s = emit_session(e);
    uint32_t n = e->program->nfuncs;
    s->function_table = LLVMAddGlobalInAddressSpace(e->module, LLVMArrayType2(e->ptr, n), name, e->target->constant_space);
    LLVMSetLinkage(s->function_table, LLVMInternalLinkage);
    LLVMSetGlobalConstant(s->function_table, true);
    LLVMValueRef *v = cw_arena_array(&e->arena, LLVMValueRef, n + 1);
    for (uint32_t i = 0; v && i < n; i++) {
        const struct cwj_function *f = cwj_program_function(e->program, i);
        v[i] = s->needed[i] && f->address_taken && f->fn && f->fn->has_body && !f->fn->is_entry ? emit_declare(e, i) : LLVMConstNull(e->ptr);
    }
    if (v)
        LLVMSetInitializer(s->function_table, LLVMConstArray2(e->ptr, v, n));
    else
        e->result = CW_ERR_NOMEM;
}

typedef cw_result emit_simt_fn(struct cwj_program *p, const struct emit_simt *what, LLVMContextRef llvm, LLVMModuleRef *module,
                               struct cwj_diags *diags);

cw_result
emit_simt_module(struct cwj_program *p, const struct emit_simt *what, LLVMContextRef llvm, LLVMModuleRef *module, struct cwj_diags *diags)
{
    static emit_simt_fn *const targets[] = { [CWJ_TARGET_NVPTX] = emit_nvptx_module, [CWJ_TARGET_AMDGCN] = emit_amdgcn_module };
    *module = NULL;
    if (cwj_program_is_addr32(p)) {
        cwj_diag_add(diags, PTX_ERROR, 3090, 0, 0, "modules with 32-bit addresses (.address_size 32) run on the host device only: "
                     "CUDAWAY_DEVICE=host, or compile the program for 64 bits");
        return CW_ERR_UNSUPPORTED;
    }
    if ((size_t)what->target >= sizeof targets / sizeof *targets || !targets[what->target]) {
        cwj_diag_add(diags, PTX_ERROR, 5004, 0, 0, "this target has no modules of several kernels; targets are nvptx and amdgcn");
        return CW_ERR_UNSUPPORTED;
    }
    return targets[what->target](p, what, llvm, module, diags);
}
