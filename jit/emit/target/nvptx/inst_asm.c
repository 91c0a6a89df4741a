/* SPDX-License-Identifier: Apache-2.0
 * nvptx: an instruction emitted as itself. LLVM IR cannot express most of PTX (rounding and .ftz, approximations, cache operators, scopes,
 * matrices, textures), so the instruction goes through LLVM as inline assembly: the printer's text, with register operands passed through
 * constraints. Nothing is lost or added.
 *
 * Every register keeps its declared type, with which the original was valid. Names are replaced by registers: a variable by its address, a
 * texture or surface reference by the handle in its variable, a function by its token. In rows that the parser keeps as text (M_RAW), the
 * registers in the text are replaced. */
#include "jit/emit/target/nvptx/nvptx_private.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MAX_ASM = 160 };

struct pass {
    const struct ptx_inst *in;
    const struct ptx_operand *out[MAX_ASM];     /* destinations: operand i of the assembly */
    LLVMTypeRef type[MAX_ASM];
    LLVMValueRef arg[MAX_ASM];                  /* sources: operand nout + i */
    struct ptx_operand made[MAX_ASM];           /* destinations found in text */
    unsigned nout, nin;
    struct cw_buf *text, *constraints;          /* the session's: nothing has to free them */
    const char *names[MAX_ASM];                 /* "$0", "$1", ... */
    bool failed;
    /* Several instructions: one may read registers that another writes. By register: 1 + its operand of the assembly, an input until an instruction has
     * written it. NULL: only one. */
    unsigned *now;
};

/* The LLVM type that carries a register of PTX type t: 8 bits travel in a 16-bit register, f16 as its bits. */
static LLVMTypeRef
carrier(struct emit *e, ptx_type t, const char **constraint)
{
    LLVMTypeRef lt = emit_type(e, t);
    if (lt == e->f32) {
        *constraint = "f";
        return lt;
    }
    if (lt == e->f64) {
        *constraint = "d";
        return lt;
    }
    switch (ptx_type_bits(t)) {
    case 1:
        *constraint = "b";
        return e->i1;
    case 4: case 8: case 16:
        *constraint = "h";
        return e->i16;
    case 32:
        *constraint = "r";
        return e->i32;
    case 64:
        *constraint = "l";
        return e->i64;
    default:
        *constraint = "q";
        return e->i128;
    }
}

static void
fail(struct emit *e, struct pass *p, const char *why)
{
    if (!p->failed)
        emit_unsupported(e, p->in, why);
    p->failed = true;
}

static void
constraint(struct pass *p, const char *before, const char *c)
{
    cw_buf_printf(p->constraints, "%s%s%s", p->constraints->size ? "," : "", before, c);
}

static unsigned
find_out(const struct pass *p, uint32_t reg)
{
    unsigned i = 0;
    while (i < p->nout && p->out[i]->index != reg)
        i++;
    return i;
}

static unsigned
add_out(struct emit *e, struct pass *p, const struct ptx_operand *o)
{
    if (p->now && find_out(p, o->index) < p->nout)
        return find_out(p, o->index);
    if (p->nout == MAX_ASM) {
        fail(e, p, "too many results");
        return 0;
    }
    const char *c;
    p->out[p->nout] = o;
    p->type[p->nout] = carrier(e, (ptx_type)e->fn->regs[o->index].type, &c);
    constraint(p, p->now ? "=&" : "=", c);
    return p->nout++;
}

static unsigned
add_in(struct emit *e, struct pass *p, LLVMValueRef v, ptx_type t)
{
    if (p->nout + p->nin == MAX_ASM) {
        fail(e, p, "too many operands");
        return 0;
    }
    const char *c;
    LLVMTypeRef ct = carrier(e, t, &c), vt = LLVMTypeOf(v);
    if (vt != ct) {
        if (vt == e->f16)
            v = LLVMBuildBitCast(e->b, v, e->i16, "");
        else
            v = emit_resize(e, v, ct, false);
    }
    constraint(p, "", c);
    p->arg[p->nin] = v;
    return p->nout + p->nin++;
}

/* The value of a name, as 64 bits. */
static LLVMValueRef
name_value(struct emit *e, const struct ptx_symbol *s)
{
    struct ptx_operand o = { .kind = PTX_OPND_SYM, .sym = s, .video_sel = -1 };
    LLVMValueRef v = emit_operand(e, &o, PTX_B64);
    if (!is_reference(s))
        return v;
    ptx_space space = s->kind == PTX_SYM_PARAM ? PTX_SPACE_PARAM : PTX_SPACE_CONST;     /* a kernel's .param .texref */
    LLVMValueRef handle = LLVMBuildLoad2(e->b, e->i64, e->target->pointer(e, v, space), "");
    LLVMSetAlignment(handle, 8);
    return handle;
}

static unsigned
add_register(struct emit *e, struct pass *p, uint32_t reg, bool negate_pred)
{
    ptx_type t = (ptx_type)e->fn->regs[reg].type;
    struct ptx_operand o = { .kind = PTX_OPND_REG, .index = reg, .negate_pred = negate_pred, .video_sel = -1 };
    if (p->now && p->now[reg])
        return p->now[reg] - 1;
    unsigned number = add_in(e, p, emit_operand(e, &o, t), t);
    if (p->now)
        p->now[reg] = number + 1;
    return number;
}

/* Copy an operand, with its registers renumbered to operands of the assembly. */
static void
renumber(struct emit *e, struct pass *p, struct ptx_operand *to, const struct ptx_operand *o, bool dst)
{
    *to = *o;
    switch (o->kind) {
    case PTX_OPND_REG:
        to->index = dst ? add_out(e, p, o) : add_register(e, p, o->index, !p->now && o->negate_pred);
        to->negate_pred &= p->now != NULL;
        if (dst && p->now)
            p->now[o->index] = to->index + 1;
        break;
    case PTX_OPND_SYM:
        to->kind = PTX_OPND_REG;
        to->index = add_in(e, p, LLVMBuildAdd(e->b, name_value(e, o->sym), LLVMConstInt(e->i64, (uint64_t)o->imm, true), ""), PTX_B64);
        break;
    case PTX_OPND_ADDR:
        if (!o->has_reg && o->sym && o->sym->kind == PTX_SYM_PARAM && e->f->is_kernel && !is_reference(o->sym)) {
            struct ptx_symbol *block = cw_arena_new(&e->arena, struct ptx_symbol);
            block->kind = PTX_SYM_PARAM;
            block->name = emit_ptx_param(e, o->sym);
            to->sym = block;
        } else if (o->has_reg) {
            to->index = add_register(e, p, o->index, false);
        } else if (o->sym) {
            to->has_reg = true;
            to->sym = NULL;
            to->index = add_in(e, p, name_value(e, o->sym), PTX_B64);
        }
        break;
    case PTX_OPND_VEC: case PTX_OPND_PRED_PAIR: case PTX_OPND_LIST:
        to->elem = cw_arena_array(&e->arena, struct ptx_operand, o->count + 1u);
        for (unsigned i = 0; i < o->count; i++)
            renumber(e, p, &to->elem[i], &o->elem[i], dst);
        break;
    case PTX_OPND_LABEL: case PTX_OPND_TABLE:
        fail(e, p, NULL);
        break;
    default:
        break;
    }
}

/* ---- rows kept as text ----------------------------------------------------------------------------------------------------- */

static bool
name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

static bool
same(const char *name, const char *s, size_t n)
{
    return !strncmp(name, s, n) && !name[n];
}

static const struct ptx_symbol *
find_symbol(struct emit *e, const char *s, size_t n)
{
    for (uint32_t i = 0; i < e->fn->nlocals; i++)
        if (same(e->fn->locals[i]->name, s, n))
            return e->fn->locals[i];
    for (uint32_t i = 0; i < e->fn->nparams; i++)
        if (same(e->fn->params[i]->name, s, n))
            return e->fn->params[i];
    for (uint32_t i = 0; i < e->fn->module->nvars; i++)
        if (same(e->fn->module->vars[i]->name, s, n))
            return e->fn->module->vars[i];
    return NULL;
}

/* The first operand of these is a destination unless it is an address; ops.def does not list optional ones. */
static bool
text_has_result(const struct ptx_inst *in, const char *operands)
{
    if (ptx_op_info((ptx_op)in->op)->ndst)
        return true;
    switch (in->op) {
    case PTX_OP_MBARRIER_ARRIVE: case PTX_OP_MBARRIER_ARRIVE_DROP: case PTX_OP_MBARRIER_TEST_WAIT: case PTX_OP_MBARRIER_TRY_WAIT:
    case PTX_OP_MBARRIER_PENDING_COUNT: case PTX_OP_CLUSTERLAUNCHCONTROL_QUERY_CANCEL: case PTX_OP_MULTIMEM_LD_REDUCE:
        return *operands != '[';
    default:
        return false;
    }
}

/* Modifiers end at the first blank, brace or bracket; then come the operands. */
static void
text_operands(struct emit *e, struct pass *p, const char *text)
{
    struct cw_buf *out = p->text;
    const char *s = text;
    while (*s && !isspace((unsigned char)*s) && *s != '{' && *s != '[' && *s != '%')
        s++;
    if (text[0] != '.')
        s = text;
    cw_buf_append(out, text, (size_t)(s - text));
    while (isspace((unsigned char)*s))
        s++;
    cw_buf_puts(out, " ");
    const char *end = s;
    if (text_has_result(p->in, s)) {
        int depth = 0;
        for (; *end && (*end != ',' || depth); end++)
            depth += (*end == '{') - (*end == '}');
    }
    /* Results first: they have the low numbers, and their count must be known before the first source. */
    for (const char *at = s; *at;) {
        bool dst = at < end;
        if (!name_char(*at) || isdigit((unsigned char)*at)) {
            if (isdigit((unsigned char)*at))
                while (name_char(*at) || *at == '.')
                    cw_buf_append(out, at++, 1);
            else
                cw_buf_append(out, at++, 1);
            continue;
        }
        const char *from = at;
        while (name_char(*at))
            at++;
        size_t n = (size_t)(at - from);
        uint32_t r = 0;
        while (r < e->fn->nregs && !same(e->fn->regs[r].name, from, n))
            r++;
        const struct ptx_symbol *sym = r == e->fn->nregs ? find_symbol(e, from, n) : NULL;
        if (r < e->fn->nregs && dst) {
            unsigned k = p->nout < MAX_ASM ? p->nout : 0;
            p->made[k] = (struct ptx_operand){ .kind = PTX_OPND_REG, .index = r, .video_sel = -1 };
            cw_buf_printf(out, "$%u", add_out(e, p, &p->made[k]));
        } else if (r < e->fn->nregs) {
            cw_buf_printf(out, "$%u", add_register(e, p, r, false));
        } else if (sym) {
            cw_buf_printf(out, "$%u", add_in(e, p, name_value(e, sym), PTX_B64));
        } else if (n == 1 && *from == '_') {
            cw_buf_puts(out, "_");
        } else {
            fail(e, p, "a name in it is not known");
            return;
        }
    }
}

/* ---- the assembly ------------------------------------------------------------------------------------------------------------ */

LLVMValueRef
emit_ptx_text(struct emit *e, const char *text, const char *constraints, LLVMTypeRef ret, LLVMValueRef *args, unsigned n,
              bool effects)
{
    LLVMTypeRef *types = cw_arena_array(&e->arena, LLVMTypeRef, n + 1);
    for (unsigned i = 0; i < n; i++)
        types[i] = LLVMTypeOf(args[i]);
    LLVMTypeRef ft = LLVMFunctionType(ret, types, n, false);
    LLVMValueRef a = LLVMGetInlineAsm(ft, text, strlen(text), constraints, strlen(constraints), effects, false,
                                      LLVMInlineAsmDialectATT, false);
    LLVMValueRef call = LLVMBuildCall2(e->b, ft, a, args, n, "");
    emit_set_call_attribute(call, "nounwind");
    if (effects) {
        emit_set_call_attribute(call, "convergent");
    } else {
        emit_set_call_attribute(call, "memory");      /* value 0: no access */
        emit_set_call_attribute(call, "willreturn");
    }
    return call;
}

/* Does it do more than compute a function of its register operands? */
static bool
has_effects(const struct ptx_inst *in)
{
    const struct ptx_op_info *info = ptx_op_info((ptx_op)in->op);
    switch (in->op) {
    case PTX_OP_LD:
        return in->space != PTX_SPACE_PARAM;
    case PTX_OP_CREATEPOLICY: case PTX_OP_MBARRIER_PENDING_COUNT: case PTX_OP_MAPA: case PTX_OP_GETCTARANK:
        return false;
    default:
        return !info->ndst || (info->traits & (PTX_T_READS_MEM | PTX_T_WRITES_MEM | PTX_T_CONVERGENT | PTX_T_BARRIER | PTX_T_WARP)) ||
               in->op == PTX_OP_STACKSAVE || in->op == PTX_OP_ALLOCA;
    }
}

static struct pass
begin(struct emit *e, const struct ptx_inst *in)
{
    struct emit_session *s = emit_session(e);
    s->text.size = s->constraints.size = 0;
    return (struct pass){ .in = in, .text = &s->text, .constraints = &s->constraints };
}

static void
finish(struct emit *e, struct pass *p, bool effects)
{
    if (p->failed)
        return;

    LLVMTypeRef ret = p->nout == 0 ? e->void_ : p->nout == 1 ? p->type[0] : LLVMStructTypeInContext(e->llvm, p->type, p->nout, false);
    if (effects)
        constraint(p, "", "~{memory}");
    if (p->text->failed || p->constraints->failed)
        cw_arena_exhausted(&e->arena);
    LLVMValueRef r = emit_ptx_text(e, p->text->data, p->constraints->size ? p->constraints->data : "", ret, p->arg, p->nin, effects);
    for (unsigned i = 0; i < p->nout; i++) {
        ptx_type t = (ptx_type)e->fn->regs[p->out[i]->index].type;
        LLVMValueRef v = p->nout == 1 ? r : LLVMBuildExtractValue(e->b, r, i, "");
        LLVMTypeRef lt = emit_type(e, t);
        if (LLVMTypeOf(v) != lt)
            v = lt == e->f16 ? LLVMBuildBitCast(e->b, v, lt, "") : emit_resize(e, v, lt, false);
        emit_dst_operand(e, p->out[i], t, v);
    }
}

static void
name_operands(struct pass *p, char number[MAX_ASM][6])
{
    for (unsigned i = 0; i < MAX_ASM; i++) {
        snprintf(number[i], 6, "$%u", i);
        p->names[i] = number[i];
    }
}

/* ---- chains of instructions through the carry flag ----
 *
 * CC.CF does not survive from one inline assembly to the next. So an instruction that writes it, all that read it, and those in between
 * become one assembly. If guards, memory accesses or another block stand between, the shared code keeps the carry as a bit in IR. */

static bool
reads_carry(const struct ptx_inst *in)
{
    return in->op == PTX_OP_ADDC || in->op == PTX_OP_SUBC || in->op == PTX_OP_MADC;
}

static bool
fits_chain(const struct ptx_inst *in)
{
    if (in->has_guard || has_effects(in) || (ptx_op_info((ptx_op)in->op)->traits & (PTX_T_TERMINATOR | PTX_T_CALL)))
        return false;
    for (unsigned i = 0; i < in->noperands; i++)
        if (in->operand[i].kind != PTX_OPND_REG && in->operand[i].kind != PTX_OPND_IMM && in->operand[i].kind != PTX_OPND_VEC)
            return false;
    return true;
}

/* Is every reader of the carry behind a writer in its own block? */
static bool
carry_stays_in_blocks(const struct ptx_function *fn)
{
    for (uint32_t b = 0; b < fn->nblocks; b++)
        for (uint32_t i = 0; i < fn->blocks[b].count; i++) {
            const struct ptx_inst *in = &fn->insts[fn->blocks[b].first + i];
            if (reads_carry(in))
                return false;
            if (in->flags & PTX_F_CC)
                break;
        }
    return true;
}

static void
emit_chain(struct emit *e, const struct ptx_inst *first, const struct ptx_inst *last)
{
    struct pass p = begin(e, first);
    char number[MAX_ASM][6];
    p.now = cw_arena_array(&e->arena, unsigned, e->fn->nregs + 1u);
    name_operands(&p, number);
    for (const struct ptx_inst *in = first; in <= last; in++) {         /* results have the first numbers */
        const struct ptx_operand *d = &in->operand[0];
        for (unsigned i = 0; i < (d->kind == PTX_OPND_VEC ? d->count : 1u); i++) {
            const struct ptx_operand *x = d->kind == PTX_OPND_VEC ? &d->elem[i] : d;
            if (x->kind == PTX_OPND_REG)
                (void)add_out(e, &p, x);
        }
    }
    for (const struct ptx_inst *in = first; in <= last && !p.failed; in++) {
        struct ptx_operand operand[PTX_MAX_OPERANDS];
        struct ptx_inst copy = *in;
        copy.operand = operand;
        for (unsigned k = in->noperands; k-- > 0;)      /* sources before the destination */
            renumber(e, &p, &operand[k], &in->operand[k], k == 0);
        if (!p.failed)
            ptx_inst_print_named(&copy, p.names, p.text);
        if (in < last)
            cw_buf_puts(p.text, "\n\t");
    }
    finish(e, &p, false);
}

bool
emit_carry_chain(struct emit *e, const struct ptx_inst *first)
{
    const struct ptx_block *b = &e->fn->blocks[e->f->block];
    const struct ptx_inst *end = &e->fn->insts[b->first + b->count], *last = first;
    if (first >= e->f->chain && first < e->f->chain_end)
        return true;
    if (reads_carry(first) || !(first->flags & PTX_F_CC) || !fits_chain(first) || !carry_stays_in_blocks(e->fn))
        return false;
    bool fits = true;
    for (const struct ptx_inst *in = first + 1; in < end && (reads_carry(in) || !(in->flags & PTX_F_CC)); in++) {
        fits = fits && fits_chain(in);
        if (!reads_carry(in))
            continue;
        if (!fits || in - first > MAX_ASM / 4)
            return false;
        last = in;
    }
    emit_chain(e, first, last);
    e->f->chain = first;
    e->f->chain_end = last + 1;
    return true;
}

/* References are constants that hold handles of objects, so compare with those of the module. */
void
emit_nvptx_istypep(struct emit *e, const struct ptx_inst *in)
{
    const struct ptx_module *m = e->fn->module;
    LLVMValueRef h = emit_src(e, in, 1, PTX_U64), r = LLVMConstNull(e->i1);
    for (uint32_t i = 0; i < m->nvars; i++)
        if (m->vars[i]->type == in->type[0])
            r = LLVMBuildOr(e->b, r, LLVMBuildICmp(e->b, LLVMIntEQ, h, name_value(e, m->vars[i]), ""), "");
    emit_dst(e, in, 0, PTX_PRED, LLVMBuildAnd(e->b, r, LLVMBuildICmp(e->b, LLVMIntNE, h, LLVMConstNull(e->i64), ""), ""));
}

void
emit_as_ptx(struct emit *e, const struct ptx_inst *in)
{
    struct pass p = begin(e, in);
    char number[MAX_ASM][6];
    name_operands(&p, number);
    struct ptx_operand operand[PTX_MAX_OPERANDS];
    struct ptx_inst copy = *in;
    copy.has_guard = false;
    copy.operand = operand;
    if (in->noperands == 1 && in->operand[0].kind == PTX_OPND_TEXT) {
        cw_buf_puts(p.text, ptx_op_info((ptx_op)in->op)->mnemonic);
        if (in->operand[0].text[0] && in->operand[0].text[0] != '.')
            cw_buf_puts(p.text, " ");
        text_operands(e, &p, in->operand[0].text);
        cw_buf_puts(p.text, ";");
    } else {
        unsigned ndst = flow_destinations(in);
        for (unsigned i = 0; i < in->noperands; i++)
            renumber(e, &p, &operand[i], &in->operand[i], i < ndst);
        if (!p.failed)
            ptx_inst_print_named(&copy, p.names, p.text);
    }
    finish(e, &p, has_effects(in));
}
