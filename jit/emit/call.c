/* SPDX-License-Identifier: Apache-2.0
 * Function calls and the .param variables that carry arguments (5.1.6, 9.7.12.5).
 *
 * A device function becomes an internal LLVM function. It takes (gang, mask,) and then one argument per PTX parameter; it returns its
 * results as one value or a struct. In vector shape every argument has one value per lane. An array parameter travels as a pointer to
 * `width` copies; on SIMT targets it travels as its words, which stay in registers. An indirect call looks its token up in a table of the
 * functions whose address is taken; in vector shape it is made once for each distinct target among the active lanes. */
#include "jit/emit/emit_private.h"

#include <string.h>

bool
emit_param_is_scalar(const struct ptx_symbol *s)
{
    return !s->is_array && s->type != PTX_NONE;
}

LLVMTypeRef
emit_param_type(struct emit *e, const struct ptx_symbol *s)
{
    LLVMTypeRef t = emit_type(e, (ptx_type)s->type);
    return e->width > 1 ? LLVMVectorType(t, e->width) : t;
}

LLVMValueRef
emit_param_storage(struct emit *e, const struct ptx_symbol *s)
{
    if (s->kind == PTX_SYM_VAR)
        return e->f->local[s->index];
    for (uint32_t i = 0; i < e->fn->nparams; i++)
        if (e->fn->params[i] == s)
            return e->f->param[i];
    for (uint32_t i = 0; i < e->fn->nrets; i++)
        if (e->fn->rets[i] == s)
            return e->f->ret[i];
    return e->f->dummy;
}

/* Type of pointers to per-thread storage. */
static LLVMTypeRef
storage_pointer(struct emit *e)
{
    return LLVMPointerTypeInContext(e->llvm, e->target->storage_space);
}

enum { MAX_PASSED = 256, MAX_RETURNED = 64 };

/* Number, type and size of the words in which an array is passed or returned; 0 if it is passed in memory. Depends on the declaration
 * alone, so every caller agrees with every callee. */
static unsigned
array_words(struct emit *e, const struct ptx_symbol *s, LLVMTypeRef *type, unsigned *size)
{
    if (!e->target->array_words || emit_param_is_scalar(s))
        return 0;
    *size = s->align >= 4 && s->size % 4 == 0 ? 4 : s->align >= 2 && s->size % 2 == 0 ? 2 : 1;
    *type = *size == 4 ? e->i32 : *size == 2 ? e->i16 : e->i8;
    return s->size / *size <= 32 ? (unsigned)(s->size / *size) : 0;
}

static LLVMValueRef
word_pointer(struct emit *e, LLVMValueRef storage, unsigned i, unsigned size)
{
    LLVMValueRef at = LLVMConstInt(e->i64, (uint64_t)i * size, false);
    return LLVMBuildGEP2(e->b, e->i8, storage, &at, 1, "");
}

static LLVMValueRef
load_word(struct emit *e, LLVMValueRef storage, unsigned i, unsigned size, LLVMTypeRef type)
{
    LLVMValueRef v = LLVMBuildLoad2(e->b, type, word_pointer(e, storage, i, size), "");
    LLVMSetAlignment(v, size);
    return v;
}

static void
store_word(struct emit *e, LLVMValueRef storage, unsigned i, unsigned size, LLVMValueRef v)
{
    LLVMSetAlignment(LLVMBuildStore(e->b, v, word_pointer(e, storage, i, size)), size);
}

/* LLVM type of a parameter or result as it is passed. */
static LLVMTypeRef
passed_type(struct emit *e, const struct ptx_symbol *s)
{
    return emit_param_is_scalar(s) ? emit_param_type(e, s) : storage_pointer(e);
}

LLVMTypeRef
emit_signature(struct emit *e, const struct ptx_function *fn)
{
    LLVMTypeRef p[MAX_PASSED], word;
    unsigned n = 0, size;
    if (e->target->passes_gang) {
        p[n++] = e->ptr;
        if (e->width > 1)
            p[n++] = LLVMVectorType(e->i1, e->width);
    }
    for (uint32_t i = 0; i < fn->nparams && n < MAX_PASSED - 48; i++) {
        unsigned words = array_words(e, fn->params[i], &word, &size);
        for (unsigned k = 0; k < words; k++)
            p[n++] = word;
        if (!words)
            p[n++] = passed_type(e, fn->params[i]);
    }
    LLVMTypeRef ret = e->void_;
    LLVMTypeRef r[MAX_RETURNED];
    unsigned nr = 0;
    for (uint32_t i = 0; i < fn->nrets && nr < MAX_RETURNED - 32; i++) {
        unsigned words = array_words(e, fn->rets[i], &word, &size);
        for (unsigned k = 0; k < words; k++)
            r[nr++] = word;
        if (emit_param_is_scalar(fn->rets[i]))
            r[nr++] = passed_type(e, fn->rets[i]);
        else if (!words)
            p[n++] = storage_pointer(e); /* the caller gives the storage */
    }
    if (emit_session(e)->exits)
        p[n++] = storage_pointer(e);    /* emit_fn.exited */
    if (nr == 1)
        ret = r[0];
    else if (nr > 1)
        ret = LLVMStructTypeInContext(e->llvm, r, nr, false);
    return LLVMFunctionType(ret, p, n, false);
}

LLVMValueRef
emit_external(struct emit *e, const char *name, LLVMTypeRef ret, LLVMValueRef *args, unsigned n)
{
    LLVMTypeRef types[16];
    for (unsigned i = 0; i < n && i < 16; i++)
        types[i] = LLVMTypeOf(args[i]);
    LLVMTypeRef type = LLVMFunctionType(ret, types, n, false);
    LLVMValueRef fn = LLVMGetNamedFunction(e->module, name);
    if (!fn)
        fn = LLVMAddFunction(e->module, name, type);
    return LLVMBuildCall2(e->b, type, fn, args, n, "");
}

void
emit_null_faults(struct emit *e, LLVMValueRef fn)
{
    emit_set_attribute(fn, "null_pointer_is_valid");
}

LLVMValueRef
emit_declare(struct emit *e, uint32_t id)
{
    struct emit_session *s = emit_session(e);
    if (s->functions[id])
        return s->functions[id];
    const struct cwj_function *f = cwj_program_function(e->program, id);
    LLVMTypeRef t = emit_signature(e, f->fn);
    LLVMValueRef fn = LLVMAddFunction(e->module, f->name, t);
    emit_null_faults(e, fn);
    if (e->target->convergent_calls)
        emit_set_attribute(fn, "convergent");
    if (e->target->local_fault && !e->unchecked)
        emit_set_text_attribute(fn, "disable-tail-calls", "true");     /* recursion without end has to run out of stack, not become a loop */
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    s->functions[id] = fn;
    s->function_types[id] = t;
    return fn;
}

/* Store the parameters of a device function; called with the builder in the entry block. */
void
emit_bind_params(struct emit *e)
{
    struct emit_fn *f = e->f;
    unsigned n = e->target->passes_gang ? (e->width > 1 ? 2 : 1) : 0, size;
    LLVMTypeRef word;
    for (uint32_t i = 0; i < e->fn->nparams; i++, n++) {
        const struct ptx_symbol *s = e->fn->params[i];
        unsigned words = array_words(e, s, &word, &size);
        if (words) {
            f->param[i] = e->target->local_storage(e, emit_lane_stride(s), s->align);
            for (unsigned k = 0; k < words; k++)
                store_word(e, f->param[i], k, size, LLVMGetParam(f->fn, n + k));
            n += words - 1;
            continue;
        }
        LLVMValueRef v = LLVMGetParam(f->fn, n);
        if (!emit_param_is_scalar(s)) {
            f->param[i] = v;
        } else if (s->is_param_reg) {
            f->param[i] = NULL;
            if (e->width > 1 && e->fn->regs[s->reg].type == PTX_PRED)
                emit_mask_store(e, f->slot[s->reg], v);
            else
                LLVMBuildStore(e->b, v, f->slot[s->reg]);
        } else {
            f->param[i] = emit_alloca(e, emit_param_type(e, s), 0, s->name);
            LLVMBuildStore(f->entry_b, v, f->param[i]);
        }
    }
    for (uint32_t i = 0; i < e->fn->nrets; i++) {
        const struct ptx_symbol *s = e->fn->rets[i];
        if (array_words(e, s, &word, &size))
            f->ret[i] = e->target->local_storage(e, emit_lane_stride(s), s->align);
        else if (!emit_param_is_scalar(s))
            f->ret[i] = LLVMGetParam(f->fn, n++);
        else if (!s->is_param_reg)
            f->ret[i] = emit_alloca(e, emit_param_type(e, s), 0, s->name);
    }
}

void
emit_return(struct emit *e)
{
    LLVMValueRef r[MAX_RETURNED];
    LLVMTypeRef word;
    unsigned n = 0, size;
    for (uint32_t i = 0; i < e->fn->nrets && n < MAX_RETURNED - 32; i++) {
        const struct ptx_symbol *s = e->fn->rets[i];
        unsigned words = array_words(e, s, &word, &size);
        for (unsigned k = 0; k < words; k++)
            r[n++] = load_word(e, e->f->ret[i], k, size, word);
        if (!emit_param_is_scalar(s))
            continue;
        if (s->is_param_reg) {
            struct ptx_operand o = { .kind = PTX_OPND_REG, .index = s->reg };
            r[n++] = emit_splat(e, emit_operand(e, &o, (ptx_type)s->type));
        } else {
            r[n++] = LLVMBuildLoad2(e->b, emit_param_type(e, s), e->f->ret[i], "");
        }
    }
    if (n == 0)
        LLVMBuildRetVoid(e->b);
    else if (n == 1)
        LLVMBuildRet(e->b, r[0]);
    else
        LLVMBuildAggregateRet(e->b, r, n);
}

static void
store_result(struct emit *e, const struct ptx_operand *o, const struct ptx_symbol *formal, LLVMValueRef v)
{
    if (o->kind == PTX_OPND_REG) {
        emit_dst_operand(e, o, (ptx_type)formal->type, v);
    } else if (o->sym) {
        LLVMValueRef slot = emit_param_storage(e, o->sym);
        if (LLVMTypeOf(v) != emit_param_type(e, o->sym))
            v = emit_bitcast(e, v, emit_type(e, (ptx_type)o->sym->type));
        LLVMBuildStore(e->b, emit_merged(e, v, emit_param_type(e, o->sym), slot), slot);
    }
}

/* An actual argument as the formal's passed type. */
static LLVMValueRef
argument(struct emit *e, const struct ptx_operand *o, const struct ptx_symbol *formal)
{
    if (o->kind == PTX_OPND_SYM && o->sym && o->sym->kind != PTX_SYM_FUNC &&
        (o->sym->space == PTX_SPACE_PARAM || o->sym->kind == PTX_SYM_PARAM)) {
        LLVMValueRef slot = emit_param_storage(e, o->sym);
        if (!emit_param_is_scalar(formal))
            return slot;
        LLVMValueRef v = LLVMBuildLoad2(e->b, emit_param_type(e, o->sym), slot, "");
        return emit_bitcast(e, v, emit_type(e, (ptx_type)formal->type));
    }
    return emit_splat(e, emit_operand(e, o, (ptx_type)formal->type));
}

struct call {
    LLVMTypeRef type;
    LLVMValueRef args[MAX_PASSED];
    unsigned nargs, mask_at;        /* index of the mask argument; ~0: none */
    const struct ptx_function *formal;
    const struct ptx_inst *in;
};

static void
finish_call(struct emit *e, struct call *c, LLVMValueRef callee)
{
    if (c->mask_at != ~0u)
        c->args[c->mask_at] = emit_full_mask(e, e->mask);
    LLVMValueRef r = LLVMBuildCall2(e->b, c->type, callee, c->args, c->nargs, "");
    if (e->target->convergent_calls)
        emit_set_call_attribute(r, "convergent");
    const struct ptx_operand *rets = &c->in->operand[0];
    LLVMTypeRef word;
    unsigned k = 0, values = 0, size;
    for (uint32_t i = 0; i < c->formal->nrets; i++)
        values += emit_param_is_scalar(c->formal->rets[i]) ? 1 : array_words(e, c->formal->rets[i], &word, &size);
    for (uint32_t i = 0; i < c->formal->nrets; i++) {
        unsigned words = array_words(e, c->formal->rets[i], &word, &size);
        const struct ptx_symbol *to = rets->kind == PTX_OPND_LIST && i < rets->count ? rets->elem[i].sym : NULL;
        for (unsigned w = 0; w < words; w++, k++)
            if (to)
                store_word(e, emit_param_storage(e, to), w, size, values == 1 ? r : LLVMBuildExtractValue(e->b, r, k, ""));
        if (!emit_param_is_scalar(c->formal->rets[i]))
            continue;
        LLVMValueRef v = values == 1 ? r : LLVMBuildExtractValue(e->b, r, k, "");
        k++;
        if (rets->kind == PTX_OPND_LIST && i < rets->count)
            store_result(e, &rets->elem[i], c->formal->rets[i], v);
    }
}

static LLVMValueRef
load_entry(struct emit *e, LLVMValueRef index, unsigned field, LLVMTypeRef type)
{
    LLVMValueRef idx[] = { LLVMConstNull(e->i64), index, i32(e, field) };
    LLVMTypeRef table = LLVMArrayType(emit_function_table_entry(e), e->program->nfuncs);
    return LLVMBuildLoad2(e->b, type, LLVMBuildGEP2(e->b, table, emit_session(e)->function_table, idx, 3, ""), "");
}

/* The function of a token, which has to be one in the table with the signature of the call. */
static LLVMValueRef
look_up(struct emit *e, LLVMTypeRef type, LLVMValueRef token)
{
    LLVMValueRef index = LLVMBuildSub(e->b, LLVMBuildLShr(e->b, token, LLVMConstInt(e->i64, 4, false), ""),
                                      LLVMConstInt(e->i64, 1, false), "");
    LLVMValueRef ok = LLVMConstInt(e->i1, 0, false), p = LLVMConstNull(e->ptr);
    uint32_t number = emit_session(e)->function_table ? emit_signature_number(e, type) : (uint32_t)EMIT_NO_SIGNATURE;
    if (number != (uint32_t)EMIT_NO_SIGNATURE) {
        ok = LLVMBuildICmp(e->b, LLVMIntULT, index, LLVMConstInt(e->i64, e->program->nfuncs, false), "");
        LLVMValueRef safe = LLVMBuildSelect(e->b, ok, index, LLVMConstNull(e->i64), "");
        p = load_entry(e, safe, 0, e->ptr);
        ok = LLVMBuildAnd(e->b, ok, LLVMBuildICmp(e->b, LLVMIntEQ, load_entry(e, safe, 1, e->i32), i32(e, number), ""), "");
    }
    emit_demand(e, ok, e->target->bad_call, "bad.target", "target");
    return p;
}

/* If few functions of this signature have their address taken, emit a switch over direct calls, which LLVM can inline. Returns false if
 * nothing was emitted. */
static bool
switch_call(struct emit *e, struct call *c, LLVMValueRef token)
{
    enum { FEW = 6 };
    struct emit_session *s = emit_session(e);
    uint32_t id[FEW];
    unsigned n = 0;
    for (uint32_t i = 0; i < e->program->nfuncs; i++) {
        if (!s->functions[i] || s->function_types[i] != c->type || !cwj_program_function(e->program, i)->address_taken)
            continue;
        if (n == FEW)
            return false;
        id[n++] = i;
    }
    if (!n)
        return false;
    LLVMBasicBlockRef bad = emit_new_block(e, "bad.target"), done = emit_new_block(e, "called");
    LLVMValueRef sw = LLVMBuildSwitch(e->b, LLVMBuildTrunc(e->b, token, e->i32, ""), bad, n);
    for (unsigned i = 0; i < n; i++) {
        LLVMBasicBlockRef to = emit_new_block(e, "target");
        LLVMAddCase(sw, LLVMConstInt(e->i32, (uint32_t)CWH_FUNC_TOKEN(id[i]), false), to);
        LLVMPositionBuilderAtEnd(e->b, to);
        finish_call(e, c, s->functions[id[i]]);
        LLVMBuildBr(e->b, done);
    }
    LLVMPositionBuilderAtEnd(e->b, bad);
    e->target->bad_call(e);
    LLVMBuildUnreachable(e->b);
    LLVMPositionBuilderAtEnd(e->b, done);
    return true;
}

static void
indirect_call(struct emit *e, struct call *c, LLVMValueRef token)
{
    if (e->target->switched_calls && emit_session(e)->function_table && switch_call(e, c, token))
        return;
    if (!emit_is_vector(token)) {
        finish_call(e, c, look_up(e, c->type, token));
        return;
    }
    /* While lanes wait: take the target of the first one, and call it for all lanes with the same target. */
    LLVMValueRef whole = e->mask;
    LLVMValueRef left = emit_alloca(e, emit_mask_storage(e), 0, "left");
    emit_mask_store(e, left, emit_full_mask(e, whole));
    LLVMBasicBlockRef loop = emit_new_block(e, "targets"), done = emit_new_block(e, "targets.done");
    emit_goto(e, loop);
    LLVMValueRef mask = emit_mask_load(e, left);
    LLVMValueRef bits = emit_mask_bits(e, mask);
    LLVMValueRef lane = emit_intrinsic(e, "llvm.cttz", &bits, 1, 1);
    LLVMValueRef one = LLVMBuildExtractElement(e->b, token, lane, "");
    LLVMValueRef round = emit_mask_and(e, mask, emit_icmp(e, LLVMIntEQ, token, one));
    emit_mask_store(e, left, emit_mask_and(e, mask, LLVMBuildNot(e->b, round, "")));
    /* The guard keeps the results of lanes of other rounds. */
    LLVMValueRef guard = e->f->guard;
    e->mask = e->f->guard = round;
    finish_call(e, c, look_up(e, c->type, one));
    e->f->guard = guard;
    e->mask = whole;
    LLVMBuildCondBr(e->b, emit_any(e, emit_mask_load(e, left)), loop, done);
    LLVMPositionBuilderAtEnd(e->b, done);
}

void
emit_call(struct emit *e, const struct ptx_inst *in)
{
    struct emit_session *s = emit_session(e);
    const struct ptx_operand *callee = &in->operand[1], *args = &in->operand[2], *table = &in->operand[3];
    const struct cwj_function *target = NULL;
    const struct ptx_function *formal = NULL;
    if (callee->kind == PTX_OPND_SYM) {
        target = cwj_program_function(e->program, callee->sym->link_id);
        if (!target) {
            emit_unsupported(e, in, "the callee is not defined");
            return;
        }
        formal = target->fn;
        if (target->undefined) {
            emit_unsupported(e, in, "the callee is not defined");
            return;
        }
    } else if (table->kind == PTX_OPND_TABLE && table->table) {
        formal = table->table->proto;
        if (!formal && table->table->count)
            formal = table->table->funcs[0]->func;
    }
    if (!formal) {
        emit_unsupported(e, in, "an indirect call needs a prototype");
        return;
    }
    unsigned nargs = args->kind == PTX_OPND_LIST ? args->count : 0;
    if (nargs < formal->nparams || formal->nparams > 48 || formal->nrets > 8) {
        emit_unsupported(e, in, nargs < formal->nparams ? "too few arguments" : "more than 48 parameters or 8 results");
        return;
    }
    struct call c = { .formal = formal, .in = in, .mask_at = ~0u };
    if (target && target->runtime) {
        LLVMValueRef v[8] = { 0 }, result = NULL;
        for (unsigned i = 0; i < formal->nparams && i < 8; i++)
            v[i] = argument(e, &args->elem[i], formal->params[i]);
        if (!e->target->runtime_call(e, in, target->name, v, formal->nparams, &result)) {
            emit_unsupported(e, in, NULL);
            return;
        }
        const struct ptx_operand *rets = &in->operand[0];
        if (result && rets->kind == PTX_OPND_LIST && rets->count && formal->nrets)
            store_result(e, &rets->elem[0], formal->rets[0],
                         emit_bitcast(e, emit_splat(e, result), emit_type(e, (ptx_type)formal->rets[0]->type)));
        return;
    }
    c.type = emit_signature(e, formal);
    if (e->target->passes_gang) {
        c.args[c.nargs++] = e->f->gang;
        if (e->width > 1)
            c.mask_at = c.nargs++;
    }
    LLVMTypeRef word;
    unsigned size, passed = 0, returned = 0;
    for (uint32_t i = 0; i < formal->nparams; i++) {
        LLVMValueRef v = argument(e, &args->elem[i], formal->params[i]);
        unsigned words = array_words(e, formal->params[i], &word, &size);
        if ((passed += words ? words : 1) > MAX_PASSED - 48)
            break;
        for (unsigned k = 0; k < words; k++)
            c.args[c.nargs++] = load_word(e, v, k, size, word);
        if (!words)
            c.args[c.nargs++] = v;
    }
    for (uint32_t i = 0; i < formal->nrets; i++)
        returned += 1 + array_words(e, formal->rets[i], &word, &size);
    if (passed > MAX_PASSED - 48 || returned > MAX_RETURNED - 32) {
        emit_unsupported(e, in, "too many bytes of parameters or results");
        return;
    }
    const struct ptx_operand *rets = &in->operand[0];
    for (uint32_t i = 0; i < formal->nrets; i++)
        if (!emit_param_is_scalar(formal->rets[i]) && !array_words(e, formal->rets[i], &word, &size)) {
            const struct ptx_symbol *r = rets->kind == PTX_OPND_LIST && i < rets->count ? rets->elem[i].sym : NULL;
            c.args[c.nargs++] = r ? emit_param_storage(e, r) : e->f->dummy;
        }
    if (s->exits)
        c.args[c.nargs++] = e->f->exited;
    if (target)
        finish_call(e, &c, emit_declare(e, callee->sym->link_id));
    else
        indirect_call(e, &c, emit_src(e, in, 1, PTX_U64));
    if (s->exits)
        emit_drop_exited(e);
}
