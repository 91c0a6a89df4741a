/* SPDX-License-Identifier: Apache-2.0
 * Start and end of a module's emission, and dispatch to the SIMT targets. */
#include "jit/emit/emit_private.h"

#include <stdlib.h>

static void
begin(struct emit *e, struct cwj_program *p, LLVMContextRef llvm, struct cwj_diags *diags)
{
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
}

struct work {
    struct emit_session *s;
    emit_body *body;
    void *user;
};

static void
run_body(void *user)
{
    struct work *w = user;
    struct emit *e = &w->s->e;
    const struct cwj_program *p = e->program;
    w->s->functions = cw_arena_array(&e->arena, LLVMValueRef, p->nfuncs + 1);
    w->s->function_types = cw_arena_array(&e->arena, LLVMTypeRef, p->nfuncs + 1);
    w->s->variables = cw_arena_array(&e->arena, LLVMValueRef, p->nlink_vars + 1);
    w->s->needed = cw_arena_array(&e->arena, bool, p->nfuncs + 1);
    w->body(e, w->user);
}

cw_result
emit_module(struct cwj_program *p, LLVMContextRef llvm, emit_body *body, void *user, LLVMModuleRef *module, struct cwj_diags *diags)
{
    struct work w = { calloc(1, sizeof *w.s), body, user };
    *module = NULL;
    if (!w.s)
        return CW_ERR_NOMEM;
    struct emit *e = &w.s->e;
    begin(e, p, llvm, diags);
    if (!cw_arena_guard(&e->arena, run_body, &w)) {
        e->result = CW_ERR_NOMEM;
        cwj_diag_add(diags, PTX_ERROR, 6099, 0, 0, "out of memory while compiling %s", e->fn ? e->fn->sym->name : "the module");
    }
    cw_result r = e->result;
    if (r == CW_OK)
        *module = e->module;
    else
        LLVMDisposeModule(e->module);
    if (e->f && e->f->entry_b)          /* memory ran out in the middle of a function */
        LLVMDisposeBuilder(e->f->entry_b);
    LLVMDisposeBuilder(e->b);
    cw_buf_finish(&w.s->text);
    cw_buf_finish(&w.s->constraints);
    cw_arena_finish(&e->arena);
    free(w.s);
    return r;
}

uint32_t *
emit_needed(struct emit *e, uint32_t *n)
{
    uint32_t *ids = cw_arena_array(&e->arena, uint32_t, e->program->nfuncs + 1);
    *n = 0;
    for (uint32_t i = 0; i < e->program->nfuncs; i++)
        if (emit_session(e)->needed[i])
            ids[(*n)++] = i;
    return ids;
}

uint32_t *
emit_callees_first(const struct cwj_program *p, const uint32_t *funcs, uint32_t nfuncs, struct cw_arena *a)
{
    uint32_t *order = cw_arena_array(a, uint32_t, nfuncs + 1), *stack = cw_arena_array(a, uint32_t, nfuncs + 1), n = 0;
    uint32_t *next = cw_arena_array(a, uint32_t, p->nfuncs + 1);
    bool *seen = cw_arena_array(a, bool, p->nfuncs + 1);
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

static struct emit_signature_number *
signature_place(struct emit_session *s, LLVMTypeRef type)
{
    uint32_t i = (uint32_t)((uint64_t)(uintptr_t)type * 0x9e3779b97f4a7c15u >> 32);
    while (s->signatures[i & s->signature_mask].type && s->signatures[i & s->signature_mask].type != type)
        i++;
    return &s->signatures[i & s->signature_mask];
}

uint32_t
emit_signature_number(struct emit *e, LLVMTypeRef type)
{
    const struct emit_signature_number *n = signature_place(emit_session(e), type);
    return n->type ? n->number : (uint32_t)EMIT_NO_SIGNATURE;
}

static uint32_t
add_signature(struct emit_session *s, LLVMTypeRef type)
{
    struct emit_signature_number *n = signature_place(s, type);
    if (!n->type)
        *n = (struct emit_signature_number){ type, s->nsignatures++ };
    return n->number;
}

LLVMTypeRef
emit_function_table_entry(struct emit *e)
{
    LLVMTypeRef field[] = { e->ptr, e->i32 };
    return LLVMStructTypeInContext(e->llvm, field, 2, false);
}

void
emit_function_table(struct emit *e, const char *name)
{
    struct emit_session *s = emit_session(e);
    uint32_t n = e->program->nfuncs;
    LLVMTypeRef entry = emit_function_table_entry(e);
    s->function_table = LLVMAddGlobalInAddressSpace(e->module, LLVMArrayType2(entry, n), name, e->target->constant_space);
    LLVMSetLinkage(s->function_table, LLVMInternalLinkage);
    LLVMSetGlobalConstant(s->function_table, true);
    for (s->signature_mask = 15; s->signature_mask < 2 * n; s->signature_mask = 2 * s->signature_mask + 1)
        ;
    s->signatures = cw_arena_array(&e->arena, struct emit_signature_number, s->signature_mask + 1);
    LLVMValueRef *v = cw_arena_array(&e->arena, LLVMValueRef, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        const struct cwj_function *f = cwj_program_function(e->program, i);
        bool in = s->needed[i] && f->address_taken && f->fn && f->fn->has_body && !f->fn->is_entry;
        LLVMValueRef fn = in ? emit_declare(e, i) : LLVMConstNull(e->ptr);
        LLVMValueRef field[] = { fn, i32(e, in ? add_signature(s, s->function_types[i]) : (uint32_t)EMIT_NO_SIGNATURE) };
        v[i] = LLVMConstStructInContext(e->llvm, field, 2, false);
    }
    LLVMSetInitializer(s->function_table, LLVMConstArray2(entry, v, n));
}

cw_result
emit_simt_module(struct cwj_program *p, const struct emit_simt *what, LLVMContextRef llvm, LLVMModuleRef *module, struct cwj_diags *diags)
{
    static emit_body *const targets[] = { [CWJ_TARGET_NVPTX] = emit_nvptx_module, [CWJ_TARGET_AMDGCN] = emit_amdgcn_module };
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
    return emit_module(p, llvm, targets[what->target], (void *)what, module, diags);
}
