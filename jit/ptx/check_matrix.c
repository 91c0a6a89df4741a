/* SPDX-License-Identifier: Apache-2.0
 * Checks of matrix instructions (9.7.14): does the form exist, and are the fragments' registers right? */
#include "jit/ptx/check_private.h"
#include "jit/ptx/matrix.h"

/* One register or constant of a fragment whose elements are of type t. Small elements are packed into 32 bits. */
static bool
fragment_element(struct check *c, unsigned i, const struct ptx_operand *o, ptx_type t, bool dest)
{
    bool own = t == PTX_F32 || t == PTX_F64;
    if (o->negate || o->negate_pred || o->video_sel >= 0)
        return FAIL(c, 3104, "operand %u of '%s' is a plain register", i + 1, c->name);
    if (o->kind == PTX_OPND_SINK && dest)
        return true;
    if (o->kind == PTX_OPND_IMM && !dest)
        return own == o->is_float || FAIL(c, 3037, "operand %u of '%s' has elements of type .%s, but the constant is %s", i + 1, c->name,
                                          ptx_type_name(t), o->is_float ? "a float" : "an integer");
    if (o->kind != PTX_OPND_REG)
        return FAIL(c, 3104, "operand %u of '%s' consists of registers", i + 1, c->name);
    ptx_type r = ptx_check_reg_type(c, o);
    bool ok = r != PTX_PRED && ptx_type_bits(r) == (t == PTX_F64 ? 64u : 32u);
    if (own)
        ok = ok && (r == t || ptx_type_class(r) == PTX_CLASS_BITS);
    else
        ok = ok && r != PTX_F32;
    return ok || FAIL(c, 3034, "operand %u of '%s' has elements of type .%s in .%s registers, but '%s' is .%s", i + 1, c->name, ptx_type_name(t),
                      t == PTX_F64 ? "f64" : own ? "f32" : "b32", c->p->regs.at[o->index].name, ptx_type_name(r));
}

static bool
fragment(struct check *c, unsigned i, ptx_type t, unsigned count, bool dest)
{
    const struct ptx_operand *o = &c->in->operand[i];
    if (o->kind != PTX_OPND_VEC || o->count != count)
        return FAIL(c, 3049, "operand %u of '%s' is a vector of %u element%s in this form", i + 1, c->name, count, count == 1 ? "" : "s");
    for (unsigned k = 0; k < count; k++)
        if (!fragment_element(c, i, &o->elem[k], t, dest))
            return false;
    return true;
}

static bool
address(struct check *c, unsigned i, bool shared_only)
{
    uint8_t space = c->in->space;
    if (space != PTX_SPACE_GENERIC && space != PTX_SPACE_SHARED && (shared_only || space != PTX_SPACE_GLOBAL))
        return FAIL(c, 3103, "'%s' accesses %s memory only", c->name, shared_only ? ".shared" : ".global, .shared or generic");
    return ptx_check_address(c, i, &c->in->operand[i]);
}

static bool
stride(struct check *c, unsigned i)
{
    const struct ptx_operand *o = &c->in->operand[i];
    if ((o->kind != PTX_OPND_IMM && o->kind != PTX_OPND_SREG && o->kind != PTX_OPND_REG) || o->is_float || o->negate || o->negate_pred || o->video_sel >= 0)
        return FAIL(c, 3033, "operand %u of '%s' is no register or constant", i + 1, c->name);
    return ptx_check_source(c, i, o, PTX_U32, false);
}

static bool
operands(struct check *c, unsigned min, unsigned max)
{
    const struct ptx_inst *in = c->in;
    unsigned want = in->noperands < min ? min : max;
    return (in->noperands >= min && in->noperands <= max) ||
           FAIL(c, 3032, "'%s' takes %u operand%s, not %u", c->name, want, want == 1 ? "" : "s", in->noperands);
}

static bool
metadata(struct check *c, const struct ptx_matrix *x)
{
    const struct ptx_operand *o = &c->in->operand[5];
    unsigned most = ptx_matrix_selector(x);
    if (!fragment_element(c, 4, &c->in->operand[4], PTX_B32, false))
        return false;
    return (o->kind == PTX_OPND_IMM && !o->is_float && (uint64_t)o->imm <= most) ||
           FAIL(c, 3105, "the sparsity selector of '%s' is a constant from 0 to %u in this form", c->name, most);
}

bool
ptx_check_matrix(struct check *c)
{
    const struct ptx_inst *in = c->in;
    const bool sparse = in->op == PTX_OP_MMA_SP || in->op == PTX_OP_MMA_SP_ORDERED, mma = sparse || in->op == PTX_OP_MMA || in->op == PTX_OP_WMMA_MMA;
    const bool wmma = in->op == PTX_OP_WMMA_LOAD || in->op == PTX_OP_WMMA_STORE, trans = in->aux >> PTX_AUX_MTRANS & 1, load = c->row->info.ndst;
    struct ptx_matrix x;
    unsigned frag, n = ptx_matrix_count(in);
    if (!(in->flags & PTX_F_SYNC))
        return FAIL(c, 3100, "'%s' needs .sync", c->name);
    if (mma || wmma) {
        if (n || trans)
            return FAIL(c, 3101, "'%s' takes no .x1 .x2 .x4 .trans", c->name);
        const char *why = mma ? ptx_matrix_mma(in, &x) : ptx_matrix_fragment(in, &x, &frag);
        if (why)
            return FAIL(c, 3102, "'%s' has no such form: %s", c->name, why);
        if (!ptx_check_version(c, "this form of ", 0, x.min_sm))
            return false;
    }
    if (mma) {
        n = sparse ? 6 : 4;
        return operands(c, n, n) && fragment(c, 0, x.d, x.nd, true) && fragment(c, 1, x.a, x.na, false) && fragment(c, 2, x.b, x.nb, false) &&
               fragment(c, 3, x.c, x.nc, false) && (!sparse || metadata(c, &x));
    }
    if (wmma)
        return operands(c, 2, 3) && fragment(c, !load, x.d, x.nd, load) && address(c, load, false) && (in->noperands < 3 || stride(c, 2));
    if (in->op != PTX_OP_MOVMATRIX) {
        if (PTX_AUX(in, MSHAPE) != PTX_M8N8 || !n || PTX_AUX(in, ALAYOUT))
            return FAIL(c, 3102, "'%s' has no such form: it needs .m8n8 and .x1, .x2 or .x4", c->name);
        return operands(c, 2, 2) && fragment(c, !load, PTX_B32, n, load) && address(c, load, true);
    }
    if (PTX_AUX(in, MSHAPE) != PTX_M8N8 || !trans || n || PTX_AUX(in, ALAYOUT))
        return FAIL(c, 3102, "'%s' has no such form: it needs .m8n8.trans", c->name);
    return operands(c, 2, 2) && fragment_element(c, 0, &in->operand[0], PTX_B32, true) && fragment_element(c, 1, &in->operand[1], PTX_B32, false);
}
