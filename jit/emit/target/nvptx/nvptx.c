/* SPDX-License-Identifier: Apache-2.0
 * nvptx as a target of the emitter: PTX back to PTX through LLVM (its "User Guide for NVPTX Back-end").
 *
 * The emitter gives LLVM the frame as IR: control flow, moves, plain loads and stores, calls. It emits every other instruction as itself
 * (inst_asm.c), even if IR could express it: ptxas then usually generates the same machine code, bit by bit. A kernel keeps its parameters,
 * so a launch passes the same bytes. Variables keep their names (see cwj_nvptx_variable_name) and are visible; texture and surface
 * references become constants that hold a handle. A function's address is its token, as on every device. */
#include "jit/emit/target/nvptx/nvptx_private.h"
#include "jit/analysis/lockstep.h"

#include <stdio.h>
#include <string.h>

enum { AS_GENERIC = 0, AS_GLOBAL = 1, AS_SHARED = 3, AS_CONST = 4, AS_LOCAL = 5, AS_PARAM = 101, CC_KERNEL = 71 };

static LLVMTypeRef
pointer_type(struct emit *e, unsigned as)
{
    return LLVMPointerTypeInContext(e->llvm, as);
}

static LLVMValueRef
number_of(struct emit *e, LLVMValueRef p)
{
    return LLVMBuildPtrToInt(e->b, p, e->i64, "");
}

/* ---- special registers: the readers that jit/ptx/sregs.def names ---------------------------------------------------------------- */

/* Special registers for which LLVM has an intrinsic. */
LLVMValueRef
emit_nvptx_read(struct emit *e, ptx_sreg r)
{
    char name[64] = "llvm.nvvm.read.ptx.sreg.";
    strncat(name, ptx_sreg_info(r)->name + 1, 16);
    return emit_intrinsic_of(e, name, NULL, 0, NULL, 0);
}

static LLVMValueRef
move_from(struct emit *e, ptx_sreg r, bool changes)
{
    const struct ptx_sreg_info *info = ptx_sreg_info(r);
    ptx_type t = (ptx_type)info->type;
    char text[96];
    snprintf(text, sizeof text, "mov.%s $0, %s;", t == PTX_PRED ? "pred" : ptx_type_bits(t) == 64 ? "u64" : "u32", info->name);
    return emit_ptx_text(e, text, t == PTX_PRED ? "=b" : ptx_type_bits(t) == 64 ? "=l" : "=r", emit_type(e, t), NULL, 0, changes);
}

LLVMValueRef
emit_nvptx_lanemask(struct emit *e, ptx_sreg r)
{
    return move_from(e, r, false);
}

LLVMValueRef
emit_nvptx_explicit_cluster(struct emit *e, ptx_sreg r)
{
    return emit_in_explicit_cluster(e) ? LLVMConstInt(e->i1, 1, false) : move_from(e, r, true);
}

LLVMValueRef
emit_nvptx_sreg(struct emit *e, ptx_sreg r)
{
    return move_from(e, r, true);
}

/* ---- variables and addresses -------------------------------------------------------------------------------------------------- */

static const uint8_t spaces[PTX_SPACE_COUNT] = {       /* others are generic */
    [PTX_SPACE_GLOBAL] = AS_GLOBAL, [PTX_SPACE_SHARED] = AS_SHARED, [PTX_SPACE_SHARED_CLUSTER] = AS_SHARED, [PTX_SPACE_CONST] = AS_CONST,
    [PTX_SPACE_TEX] = AS_CONST, [PTX_SPACE_PARAM] = AS_PARAM, [PTX_SPACE_LOCAL] = AS_LOCAL,
};

static LLVMValueRef variable(struct emit *e, uint32_t id, const struct cwj_link_var *v);

/* A word of an initialiser: the address of variable `id`, in its own space or generic. */
static LLVMValueRef
address_word(struct emit *e, uint32_t id, const struct ptx_reloc *r)
{
    LLVMValueRef g = variable(e, id, cwj_program_link_var(e->program, id));
    LLVMValueRef addend = LLVMConstInt(e->i64, (uint64_t)r->addend, true);
    if (r->addend)
        g = LLVMConstGEP2(e->i8, g, &addend, 1);
    if (r->generic)
        g = LLVMConstAddrSpaceCast(g, e->ptr);
    return LLVMConstPtrToInt(g, e->i64);
}

static void
annotate(struct emit *e, LLVMValueRef value, const char *key, uint32_t number)
{
    LLVMMetadataRef md[3] = { LLVMValueAsMetadata(value), LLVMMDStringInContext2(e->llvm, key, strlen(key)),
                              LLVMValueAsMetadata(LLVMConstInt(e->i32, number, false)) };
    LLVMAddNamedMetadataOperand(e->module, "nvvm.annotations",
                                LLVMMetadataAsValue(e->llvm, LLVMMDNodeInContext2(e->llvm, md, 3)));
}

static LLVMValueRef
variable(struct emit *e, uint32_t id, const struct cwj_link_var *v)
{
    struct emit_session *s = emit_session(e);
    if (s->variables[id])
        return s->variables[id];
    bool shared = v->space == PTX_SPACE_SHARED, reference = is_reference(v->def);
    unsigned as = shared ? AS_SHARED : reference || v->space == PTX_SPACE_CONST ? AS_CONST : AS_GLOBAL;
    LLVMTypeRef t = reference ? e->i64 : emit_variable_type(e, v);
    struct cw_buf name;
    cw_buf_init(&name);
    if (shared)
        cw_buf_puts(&name, v->name);
    else
        cwj_nvptx_variable_name(e->program, id, &name);
    cw_buf_append(&name, "", 1);
    LLVMValueRef g = LLVMAddGlobalInAddressSpace(e->module, t, name.failed ? "" : name.data, as);
    if (name.failed)
        e->result = CW_ERR_NOMEM;
    cw_buf_finish(&name);
    unsigned align = v->align > v->def->align ? v->align : v->def->align;
    LLVMSetAlignment(g, reference ? 8 : align ? align : 1);
    s->variables[id] = g;
    if (v->dynamic)
        return g;                   /* external [0 x i8] */
    if (shared) {
        LLVMSetLinkage(g, LLVMInternalLinkage);
        LLVMSetInitializer(g, LLVMGetUndef(t));
        return g;
    }
    LLVMSetExternallyInitialized(g, true);
    if (v->def->managed)
        annotate(e, g, "managed", 1);
    if (reference)
        LLVMSetInitializer(g, LLVMConstNull(t));
    else
        emit_initialise(e, v, g);
    return g;
}

/* LLVM's name for a kernel parameter in the PTX that it prints, as inline assembly text ($ doubled). */
const char *
emit_ptx_param(struct emit *e, const struct ptx_symbol *param)
{
    const char *from = e->fn->sym->name;
    char *doubled = cw_arena_alloc(&e->arena, 2 * strlen(from) + 1), *to = doubled;
    for (; *from; *to++ = *from++)
        if (*from == '$')
            *to++ = '$';
    return cw_arena_printf(&e->arena, "%s_param_%u", doubled, param->index);
}

static LLVMValueRef
nv_symbol(struct emit *e, const struct ptx_symbol *sym)
{
    if (sym->kind == PTX_SYM_PARAM) {   /* an address in .param space; loads by name do not come here */
        const char *text = cw_arena_printf(&e->arena, "mov.b64 $0, %s;", emit_ptx_param(e, sym));
        return emit_ptx_text(e, text, "=l", e->i64, NULL, 0, false);
    }
    const struct cwj_link_var *v = emit_link_var(e, sym);
    return v ? number_of(e, variable(e, sym->link_id, v)) : LLVMConstNull(e->i64);
}

static LLVMValueRef
nv_pointer(struct emit *e, LLVMValueRef address, ptx_space space)
{
    return LLVMBuildIntToPtr(e->b, address, pointer_type(e, spaces[space]), "");
}

static LLVMValueRef
nv_local_storage(struct emit *e, uint64_t size, uint32_t align)
{
    LLVMValueRef a = LLVMBuildAlloca(e->f->entry_b, LLVMArrayType2(e->i8, size), "local");
    LLVMSetAlignment(a, align ? align : 1);
    return LLVMBuildAddrSpaceCast(e->f->entry_b, a, pointer_type(e, AS_LOCAL), "");
}

/* ---- instructions --------------------------------------------------------------------------------------------------------------- */

/* A weak scalar load or store without hints, at a 64-bit or named address. */
static bool
is_plain_access(struct emit *e, const struct ptx_inst *in)
{
    bool load = in->op == PTX_OP_LD;
    const struct ptx_operand *value = &in->operand[load ? 0 : 1], *a = &in->operand[load ? 1 : 0];
    if (in->noperands != 2 || value->kind == PTX_OPND_VEC || (in->sem != PTX_SEM_NONE && in->sem != PTX_SEM_WEAK) ||
        (in->flags & PTX_F_NC) || (in->aux & ~(1ull << PTX_AUX_SHARED_CTA)) || ptx_type_bits((ptx_type)in->type[0]) > 64 ||
        in->space == PTX_SPACE_SHARED_CLUSTER)
        return false;
    if (a->has_reg)
        return ptx_type_bits(e->fn->regs[a->index].type) == 64;
    return a->sym && !is_reference(a->sym);
}

/* A .param variable by name, as memory that LLVM can promote to registers: its address is not taken. */
static bool
access_param(struct emit *e, const struct ptx_inst *in)
{
    bool load = in->op == PTX_OP_LD;
    const struct ptx_operand *value = &in->operand[load ? 0 : 1], *a = &in->operand[load ? 1 : 0];
    if (a->has_reg || !a->sym || (!a->imm && emit_param_is_scalar(a->sym)))
        return false;               /* left to the shared code */
    ptx_type t = (ptx_type)in->type[0];
    LLVMTypeRef lt = emit_type(e, t);
    LLVMValueRef storage = emit_param_storage(e, a->sym);
    unsigned n = value->kind == PTX_OPND_VEC ? value->count : 1, size = ptx_type_bits(t) / 8;
    for (unsigned i = 0; i < n; i++) {
        const struct ptx_operand *x = value->kind == PTX_OPND_VEC ? &value->elem[i] : value;
        LLVMValueRef at = LLVMConstInt(e->i64, (uint64_t)a->imm + (uint64_t)i * size, true);
        LLVMValueRef p = LLVMBuildGEP2(e->b, e->i8, storage, &at, 1, "");
        LLVMValueRef m = load ? LLVMBuildLoad2(e->b, lt, p, "") : LLVMBuildStore(e->b, emit_operand(e, x, t), p);
        LLVMSetAlignment(m, size);
        if (load)
            emit_dst_operand(e, x, t, m);
    }
    return true;
}

/* ld, st */
void
emit_nvptx_access(struct emit *e, const struct ptx_inst *in)
{
    bool load = in->op == PTX_OP_LD;
    const struct ptx_operand *a = &in->operand[load ? 1 : 0];
    ptx_space space = (ptx_space)in->space;
    bool of_kernel = e->f->is_kernel && (a->has_reg || (a->sym && a->sym->kind == PTX_SYM_PARAM));
    if (space == PTX_SPACE_PARAM && !of_kernel) {   /* .param variables of calls */
        if (!access_param(e, in))
            load ? emit_ld(e, in) : emit_st(e, in);
        return;
    }
    /* PTX defines the meaning of a name without a space. */
    if (space == PTX_SPACE_PARAM || !is_plain_access(e, in) || (space == PTX_SPACE_GENERIC && !a->has_reg)) {
        emit_as_ptx(e, in);
        return;
    }
    ptx_type t = (ptx_type)in->type[0];
    LLVMTypeRef lt = emit_type(e, t);
    LLVMValueRef value = load ? NULL : emit_src(e, in, 1, t), p = nv_pointer(e, emit_address(e, a, space), space);
    LLVMValueRef x = load ? LLVMBuildLoad2(e->b, lt, p, "") : LLVMBuildStore(e->b, value, p);
    LLVMSetAlignment(x, ptx_type_bits(t) / 8);
    if (load)
        emit_dst(e, in, 0, t, x);
}

/* Uses the carry outside of a chain (emit_carry_chain): it is a bit in IR. */
static bool
carries(const struct ptx_inst *in)
{
    return in->flags & PTX_F_CC || in->op == PTX_OP_ADDC || in->op == PTX_OP_SUBC || in->op == PTX_OP_MADC;
}

/* add, addc, sub, subc */
void
emit_nvptx_sum(struct emit *e, const struct ptx_inst *in)
{
    carries(in) ? emit_sum(e, in) : emit_as_ptx(e, in);
}

/* mad, madc */
void
emit_nvptx_mad(struct emit *e, const struct ptx_inst *in)
{
    carries(in) ? emit_product(e, in) : emit_as_ptx(e, in);
}

/* Keep mov where it packs or unpacks; and of an address, which LLVM would otherwise recompute at each use. */
void
emit_nvptx_mov(struct emit *e, const struct ptx_inst *in)
{
    const struct ptx_operand *d = &in->operand[0], *s = &in->operand[1];
    bool address = s->kind == PTX_OPND_SYM && s->sym->kind == PTX_SYM_VAR && d->kind == PTX_OPND_REG &&
                   ptx_type_bits(e->fn->regs[d->index].type) == 64;
    (d->kind == PTX_OPND_VEC) != (s->kind == PTX_OPND_VEC) || address ? emit_as_ptx(e, in) : emit_mov(e, in);
}

/* tex, tld4, txq, suld, sust, sured, suq */
void
emit_nvptx_texture(struct emit *e, const struct ptx_inst *in)
{
    unsigned query = in->op == PTX_OP_TXQ || in->op == PTX_OP_SUQ ? PTX_AUX(in, QUERY) : PTX_QUERY_WIDTH;
    if (query != PTX_QUERY_WIDTH && query != PTX_QUERY_HEIGHT && query != PTX_QUERY_DEPTH)
        emit_unsupported(e, in, "NVIDIA's driver leaves kernels with this query out of the module");
    else if (in->geom == PTX_GEOM_2DMS || in->geom == PTX_GEOM_A2DMS)
        emit_unsupported(e, in, "multi-sample textures, which CUDA cannot make");
    else if (e->fn->module->texmode_independent && (in->op == PTX_OP_TEX || in->op == PTX_OP_TLD4))
        emit_unsupported(e, in, "independent texture mode");
    else
        emit_as_ptx(e, in);
}

static bool
nv_claims(struct emit *e, const struct ptx_inst *in)
{
    if (in->nounroll)
        emit_ptx_text(e, ".pragma \"nounroll\";", "", e->void_, NULL, 0, true);
    return emit_carry_chain(e, in);
}

static void
nv_exit_thread(struct emit *e)
{
    emit_ptx_text(e, "exit;", "", e->void_, NULL, 0, true);
}

static void
nv_bad_call(struct emit *e)
{
    emit_intrinsic_of(e, "llvm.trap", NULL, 0, NULL, 0);
}

/* The real driver has vprintf, malloc, free and __assertfail: external functions with their declared signature. */
static bool
nv_runtime_call(struct emit *e, const struct ptx_inst *in, const char *name, LLVMValueRef *args, unsigned n, LLVMValueRef *result)
{
    const struct cwj_function *f = cwj_program_function(e->program, in->operand[1].sym->link_id);
    LLVMTypeRef t = emit_signature(e, f->fn);
    LLVMValueRef fn = LLVMGetNamedFunction(e->module, name);
    if (!fn)
        fn = LLVMAddFunction(e->module, name, t);
    LLVMValueRef r = LLVMBuildCall2(e->b, t, fn, args, n, "");
    if (f->fn->nrets)
        *result = r;
    return true;
}

static const struct emit_target target_nvptx = {
    .name = "nvptx", .ops = emit_ops_nvptx, .sregs = emit_sregs_nvptx,
    .takes_text = true, .array_words = true, .storage_space = AS_LOCAL, .constant_space = AS_GLOBAL,
    .claims = nv_claims, .exit_thread = nv_exit_thread,
    .bad_call = nv_bad_call, .runtime_call = nv_runtime_call, .symbol = nv_symbol, .address_word = address_word, .pointer = nv_pointer,
    .local_storage = nv_local_storage,
};

/* ---- the module ------------------------------------------------------------------------------------------------------------------ */

/* A launch bound, as an attribute of one number or of three; 0: none. */
static void
bound(LLVMValueRef fn, const char *name, const uint32_t *n, unsigned count)
{
    char value[48];
    if (!n[0])
        return;
    if (count == 1)
        snprintf(value, sizeof value, "%u", n[0]);
    else
        snprintf(value, sizeof value, "%u,%u,%u", n[0], n[1] ? n[1] : 1, n[2] ? n[2] : 1);
    emit_set_text_attribute(fn, name, value);
}

/* e->ptr: bytes by value. */
static LLVMTypeRef
passed_as(struct emit *e, const struct ptx_symbol *s)
{
    if (s->type == PTX_TEXREF || s->type == PTX_SURFREF || s->type == PTX_SAMPLERREF)
        return e->i64;
    unsigned size = ptx_type_bits((ptx_type)s->type) / 8;
    if (s->is_array || s->size != size || size > 8 || (s->align && s->align != size))
        return e->ptr;
    return emit_type(e, (ptx_type)s->type);
}

static void
add_kernel(struct emit *e, uint32_t index)
{
    const struct cwj_kernel *k = &e->program->kernels[index];
    uint32_t id = e->program->kernel_func[index];
    /* Scalars as scalars, all else as aligned bytes, so that the parameter block keeps its layout. */
    LLVMTypeRef *type = cw_arena_array(&e->arena, LLVMTypeRef, k->nparams + 1);
    for (uint32_t i = 0; i < k->nparams; i++)
        type[i] = passed_as(e, k->fn->params[i]);
    LLVMValueRef fn = LLVMAddFunction(e->module, k->name, LLVMFunctionType(e->void_, type, k->nparams, false));
    LLVMSetFunctionCallConv(fn, CC_KERNEL);
    for (uint32_t i = 0; i < k->nparams; i++) {
        if (type[i] != e->ptr)
            continue;
        LLVMAddAttributeAtIndex(fn, i + 1, LLVMCreateTypeAttribute(e->llvm, LLVMGetEnumAttributeKindForName("byval", 5),
                                                                   LLVMArrayType2(e->i8, k->params[i].size)));
        LLVMAddAttributeAtIndex(fn, i + 1, emit_attribute(fn, "align", k->params[i].align ? k->params[i].align : 1));
    }
    bound(fn, "nvvm.maxntid", k->maxntid, 3);
    bound(fn, "nvvm.reqntid", k->reqntid, 3);
    bound(fn, "nvvm.minctasm", &k->minnctapersm, 1);
    bound(fn, "nvvm.maxnreg", &k->fn->maxnreg, 1);
    emit_session(e)->functions[id] = fn;
}

/* Calls are convergent, and address 0 is valid. */
static void
annotate_functions(struct emit *e)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(e->module); f; f = LLVMGetNextFunction(f)) {
        if (LLVMGetIntrinsicID(f))
            continue;
        emit_set_attribute(f, "convergent");
        emit_set_attribute(f, "nounwind");
        emit_set_attribute(f, "null_pointer_is_valid");
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
                if (LLVMIsACallInst(i) && !LLVMIsAInlineAsm(LLVMGetCalledValue(i)) && !LLVMIsAIntrinsicInst(i))
                    emit_set_call_attribute(i, "convergent");
    }
}

void
emit_nvptx_module(struct emit *e, void *user)
{
    const struct emit_simt *what = user;
    struct emit_session *s = emit_session(e);
    struct cwj_program *p = e->program;
    bool indirect = false;
    e->target = &target_nvptx;
    e->features = EMIT_FEATURE_F16;
    e->cpu = what->cpu;
    e->width = 1;
    e->fast_code = true;
    LLVMSetTarget(e->module, "nvptx64-nvidia-cuda");
    LLVMSetDataLayout(e->module, "e-i64:64-i128:128-v16:16-v32:32-n16:32:64");

    for (uint32_t k = 0; k < p->nkernels; k++) {
        if (what->kernels && !what->kernels[k])
            continue;
        indirect |= p->closure[k].indirect;
        s->in_step |= cwj_needs_lockstep(p, k);
        for (uint32_t i = 0; i < p->closure[k].nfuncs; i++)
            s->needed[p->closure[k].funcs[i]] = true;
        add_kernel(e, k);
    }
    for (uint32_t i = 0; i < p->nlink_vars; i++)    /* shared ones too, in this order in memory */
        if (!p->link_vars[i].undefined)
            variable(e, i, &p->link_vars[i]);
    if (indirect) {
        emit_function_table(e, "cudaway_functions");
        LLVMSetAlignment(s->function_table, 8);
    }
    for (uint32_t i = 0; i < p->nfuncs; i++) {
        const struct cwj_function *f = cwj_program_function(p, i);
        if (s->needed[i] && f->fn && f->fn->has_body && !f->fn->is_entry && !f->runtime)
            emit_function(e, f->fn, emit_declare(e, i), false);
    }
    for (uint32_t k = 0; k < p->nkernels; k++)
        if (!what->kernels || what->kernels[k])
            emit_function(e, cwj_program_function(p, p->kernel_func[k])->fn, s->functions[p->kernel_func[k]], true);
    if (e->result == CW_OK)
        annotate_functions(e);
}
