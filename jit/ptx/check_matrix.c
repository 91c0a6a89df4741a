/* SPDX-License-Identifier: Apache-2.0
 * Checks of matrix instructions (9.7.14): does the form exist, and are the fragments' registers right? */
#include "jit/ptx/matrix.h"
#include "jit/ptx/ptx_private.h"

#define FAIL(code, ...) ptx_error_at(p, in->line, in->column, code, __VA_ARGS__)

/* One register or constant of a fragment whose elements are of type t. Small elements are packed into 32 bits. */
static bool
fragment_element(struct parser *p, const struct ptx_inst *in, unsigned i, const struct ptx_operand *o, ptx_type t, bool dest)
{
    const char *m = ptx_op_info(in->op)->mnemonic;
    bool own = t == PTX_F32 || t == PTX_F64;
    if (o->negate || o->negate_pred || o->video_sel >= 0)
        return FAIL(3104, "operand %u of '%s' is a plain register", i + 1, m);
    if (o->kind == PTX_OPND_SINK && dest)
        return true;
    if (o->kind == PTX_OPND_IMM && !dest) {
        if (own != o->is_float)
            return FAIL(3037, "operand %u of '%s' has elements of type .%s, but the constant is %s", i + 1, m, ptx_type_name(t),
                        o->is_float ? "a float" : "an integer");
        return true;
    }
    if (o->kind != PTX_OPND_REG || o->index >= p->regs.n)
        return FAIL(3104, "operand %u of '%s' consists of registers", i + 1, m);
    ptx_type r = p->regs.at[o->index].type;
    enum ptx_type_class cls = ptx_type_class(r);
    bool ok = r != PTX_PRED && ptx_type_bits(r) == (t == PTX_F64 ? 64u : 32u);
    if (own)
        ok = ok && (r == t || cls == PTX_CLASS_BITS);
    else
        ok = ok && r != PTX_F32;
    return ok || FAIL(3034, "operand %u of '%s' has elements of type .%s in .%s registers, but '%s' is .%s", i + 1, m, ptx_type_name(t),
                      t == PTX_F64 ? "f64" : own ? "f32" : "b32", p->regs.at[o->index].name, ptx_type_name(r));
}

static bool
fragment(struct parser *p, const struct ptx_inst *in, unsigned i, ptx_type t, unsigned count, bool dest)
{
    const struct ptx_operand *o = &in->operand[i];
    if (o->kind != PTX_OPND_VEC || o->count != count)
        return FAIL(3049, "operand %u of '%s' is a vector of %u element%s in this form", i + 1, ptx_op_info(in->op)->mnemonic, count,
                    count == 1 ? "" : "s");
    for (unsigned k = 0; k < count; k++)
        if (!fragment_element(p, in, i, &o->elem[k], t, dest))
            return false;
    return true;
}

static bool
address(struct parser *p, const struct ptx_inst *in, unsigned i, bool shared_only)
{
    const struct ptx_operand *o = &in->operand[i];
    const char *m = ptx_op_info(in->op)->mnemonic;
    if (in->space != PTX_SPACE_GENERIC && in->space != PTX_SPACE_SHARED && (shared_only || in->space != PTX_SPACE_GLOBAL))
        return FAIL(3103, "'%s' accesses %s memory only", m, shared_only ? ".shared" : ".global, .shared or generic");
    if (o->kind != PTX_OPND_ADDR)
        return FAIL(3056, "operand %u of '%s' is an address in brackets", i + 1, m);
    if (o->has_reg) {
        ptx_type r = o->index < p->regs.n ? p->regs.at[o->index].type : PTX_NONE;
        unsigned b = ptx_type_bits(r);
        if ((b != 32 && b != 64) || ptx_type_class(r) == PTX_CLASS_FLOAT)
            return FAIL(3057, "register '%s' of type .%s cannot hold an address", p->regs.at[o->index].name, ptx_type_name(r));
        return true;
    }
    if (o->sym && (o->sym->kind == PTX_SYM_FUNC || o->sym->kind == PTX_SYM_ALIAS))
        return FAIL(3058, "'%s' is a function, not memory", o->sym->name);
    if (o->sym && in->space != PTX_SPACE_GENERIC && o->sym->space != in->space)
        return FAIL(3036, "'%s' is not in the space that '%s' accesses", o->sym->name, m);
    return true;
}

static bool
stride(struct parser *p, const struct ptx_inst *in, unsigned i)
{
    const struct ptx_operand *o = &in->operand[i];
    const char *m = ptx_op_info(in->op)->mnemonic;
    if (o->kind == PTX_OPND_IMM && !o->is_float)
        return true;
    if (o->kind == PTX_OPND_SREG)
        return true;
    if (o->kind != PTX_OPND_REG || o->negate || o->negate_pred || o->video_sel >= 0 || o->index >= p->regs.n)
        return FAIL(3033, "operand %u of '%s' is no register or constant", i + 1, m);
    ptx_type r = p->regs.at[o->index].type;
    if (ptx_type_bits(r) != 32 || ptx_type_class(r) == PTX_CLASS_FLOAT)
        return FAIL(3034, "operand %u of '%s' is .u32, but register '%s' is .%s", i + 1, m, p->regs.at[o->index].name, ptx_type_name(r));
    return true;
}

static bool
operands(struct parser *p, const struct ptx_inst *in, unsigned min, unsigned max)
{
    if (in->noperands >= min && in->noperands <= max)
        return true;
    unsigned want = in->noperands < min ? min : max;
    return FAIL(3032, "'%s' takes %u operand%s, not %u", ptx_op_info(in->op)->mnemonic, want, want == 1 ? "" : "s", in->noperands);
}

static void
version(struct parser *p, const struct ptx_inst *in, const struct ptx_matrix *x)
{
    if (p->m->sm >= x->min_sm || !p->m->sm || p->warned_version[in->op])
        return;
    p->warned_version[in->op] = true;
    ptx_warn_at(p, in->line, in->column, 3047, "this form of '%s' came with sm_%u, but the target is sm_%u", ptx_op_info(in->op)->mnemonic,
                x->min_sm, p->m->sm);
}

static bool
metadata(struct parser *p, const struct ptx_inst *in, const struct ptx_matrix *x)
{
    const struct ptx_operand *o = &in->operand[5];
    unsigned most = ptx_matrix_selector(x);
    if (!fragment_element(p, in, 4, &in->operand[4], PTX_B32, false))
        return false;
    if (o->kind != PTX_OPND_IMM || o->is_float || (uint64_t)o->imm > most)
        return FAIL(3105, "the sparsity selector of '%s' is a constant from 0 to %u in this form", ptx_op_info(in->op)->mnemonic, most);
    return true;
}

bool
ptx_check_matrix(struct parser *p, const struct ptx_inst *in)
{
    const char *m = ptx_op_info(in->op)->mnemonic, *why;
    struct ptx_matrix x;
    unsigned frag, n;
    if (!(in->flags & PTX_F_SYNC))
        return FAIL(3100, "'%s' needs .sync", m);
    switch (in->op) {
    case PTX_OP_MMA: case PTX_OP_MMA_SP: case PTX_OP_MMA_SP_ORDERED: case PTX_OP_WMMA_MMA: {
        bool sparse = in->op == PTX_OP_MMA_SP || in->op == PTX_OP_MMA_SP_ORDERED;
        if ((PTX_AUX(in, MNUM)) || (in->aux >> PTX_AUX_MTRANS & 1))
            return FAIL(3101, "'%s' takes no .x1 .x2 .x4 .trans", m);
        if ((why = ptx_matrix_mma(in, &x)))
            return FAIL(3102, "'%s' has no such form: %s", m, why);
        version(p, in, &x);
        n = sparse ? 6 : 4;
        return operands(p, in, n, n) && fragment(p, in, 0, x.d, x.nd, true) && fragment(p, in, 1, x.a, x.na, false) &&
               fragment(p, in, 2, x.b, x.nb, false) && fragment(p, in, 3, x.c, x.nc, false) && (!sparse || metadata(p, in, &x));
    }
    case PTX_OP_WMMA_LOAD: case PTX_OP_WMMA_STORE: {
        bool load = in->op == PTX_OP_WMMA_LOAD;
        if ((PTX_AUX(in, MNUM)) || (in->aux >> PTX_AUX_MTRANS & 1))
            return FAIL(3101, "'%s' takes no .x1 .x2 .x4 .trans", m);
        if ((why = ptx_matrix_fragment(in, &x, &frag)))
            return FAIL(3102, "'%s' has no such form: %s", m, why);
        version(p, in, &x);
        return operands(p, in, 2, 3) && fragment(p, in, load ? 0 : 1, x.d, x.nd, load) && address(p, in, load ? 1 : 0, false) &&
               (in->noperands < 3 || stride(p, in, 2));
    }
    case PTX_OP_LDMATRIX: case PTX_OP_STMATRIX: {
        bool load = in->op == PTX_OP_LDMATRIX;
        n = ptx_matrix_count(in);
        if (PTX_AUX(in, MSHAPE) != PTX_M8N8 || !n || PTX_AUX(in, ALAYOUT))
            return FAIL(3102, "'%s' has no such form: it needs .m8n8 and .x1, .x2 or .x4", m);
        return operands(p, in, 2, 2) && fragment(p, in, load ? 0 : 1, PTX_B32, n, load) && address(p, in, load ? 1 : 0, true);
    }
    default:
        if (PTX_AUX(in, MSHAPE) != PTX_M8N8 || !(in->aux >> PTX_AUX_MTRANS & 1) || PTX_AUX(in, MNUM) || PTX_AUX(in, ALAYOUT))
            return FAIL(3102, "'%s' has no such form: it needs .m8n8.trans", m);
        return operands(p, in, 2, 2) && fragment_element(p, in, 0, &in->operand[0], PTX_B32, true) &&
               fragment_element(p, in, 1, &in->operand[1], PTX_B32, false);
    }
}
