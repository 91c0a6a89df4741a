/* SPDX-License-Identifier: Apache-2.0
 * Prints one instruction. Words come from the parser's table; this file decides only their order, a convention of PTX. */
#include "impl/base/buf.h"
#include "jit/ptx/print_private.h"

#include <inttypes.h>

static void
word(struct cw_buf *out, const char *w)
{
    cw_buf_puts(out, ".");
    cw_buf_puts(out, w);
}

/* Print the modifier that sets `field` to `value`, from the groups that the opcode accepts. */
static void
field(struct cw_buf *out, const struct op_row *row, enum mod_field f, uint64_t value)
{
    if (!value)
        return;
    for (unsigned i = 0; i < ptx_mod_word_count; i++) {
        const struct mod_word *w = &ptx_mod_words[i];
        if (w->field == f && w->value == value && (row->mods & w->group)) {
            word(out, w->word);
            return;
        }
    }
}

static void
flag(struct cw_buf *out, const struct op_row *row, const struct ptx_inst *in, uint32_t f)
{
    if (!(in->flags & f))
        return;
    if (f == PTX_F_XORSIGN_ABS)
        word(out, in->noperands > 3 ? "abs" : "xorsign.abs");       /* with three values only .abs exists */
    else
        field(out, row, MF_FLAG, f);
}

static void
aux(struct cw_buf *out, const struct op_row *row, const struct ptx_inst *in, unsigned shift, unsigned mask)
{
    uint64_t v = in->aux >> shift & mask;
    for (unsigned i = 0; v && i < ptx_mod_word_count; i++) {
        const struct mod_word *w = &ptx_mod_words[i];
        if (w->field == MF_AUX && w->shift == shift && w->value == v && (row->mods & w->group)) {
            word(out, w->word);
            return;
        }
    }
}

#define AUX_FIELD(name) aux(out, row, in, PTX_AUX_##name##_SHIFT, PTX_AUX_##name##_MASK)

static void
modifiers(const struct ptx_inst *in, struct cw_buf *out)
{
    const struct op_row *row = &ptx_op_rows[in->op];
    bool video = in->op >= PTX_OP_VADD && in->op <= PTX_OP_VSET4;
    aux(out, row, in, PTX_AUX_BAR_CTA, 1);
    if (in->op == PTX_OP_CP_ASYNC)
        AUX_FIELD(CACHE);
    if (in->op == PTX_OP_MATCH)
        field(out, row, MF_MODE, in->mode);
    flag(out, row, in, PTX_F_SYNC);
    if (in->op != PTX_OP_MATCH && in->op != PTX_OP_PRMT)
        field(out, row, MF_MODE, in->mode);
    AUX_FIELD(LOD);
    AUX_FIELD(TLD4);
    AUX_FIELD(SURF_FORM);
    AUX_FIELD(QUERY);
    aux(out, row, in, PTX_AUX_MASK_FORM, 1);
    if (!video)
        field(out, row, MF_CMP, in->cmp);
    field(out, row, MF_BOOLOP, in->boolop);
    flag(out, row, in, PTX_F_ALIGNED);
    field(out, row, MF_ROUND, in->round);
    flag(out, row, in, PTX_F_APPROX);
    flag(out, row, in, PTX_F_FULL);
    flag(out, row, in, PTX_F_CC);
    flag(out, row, in, PTX_F_SHIFTAMT);
    flag(out, row, in, PTX_F_TO);
    flag(out, row, in, PTX_F_UNI);
    flag(out, row, in, PTX_F_NOCOMPLETE);
    aux(out, row, in, PTX_AUX_EXPECT_TX, 1);
    aux(out, row, in, PTX_AUX_PARITY, 1);
    aux(out, row, in, PTX_AUX_NOINC, 1);
    AUX_FIELD(PROXY);
    field(out, row, MF_SEM, in->sem);
    if (in->sem == PTX_SEM_MMIO)
        field(out, row, MF_SEM, PTX_SEM_RELAXED);
    AUX_FIELD(RESTRICT);
    field(out, row, MF_SCOPE, in->scope);
    if (in->space == PTX_SPACE_SHARED && in->op == PTX_OP_FENCE_PROXY)
        word(out, "shared::cta");       /* elsewhere the short form is equivalent, and older */
    else
        field(out, row, MF_SPACE, in->space);
    aux(out, row, in, PTX_AUX_FROM_GLOBAL, 1);
    if (!video)
        field(out, row, MF_ATOMOP, in->atomop);
    AUX_FIELD(ACC);
    flag(out, row, in, PTX_F_NOFTZ);
    flag(out, row, in, PTX_F_FTZ);
    if (!video)
        flag(out, row, in, PTX_F_SAT);
    aux(out, row, in, PTX_AUX_OOB, 1);
    flag(out, row, in, PTX_F_RELU);
    flag(out, row, in, PTX_F_SATFINITE);
    flag(out, row, in, PTX_F_ABS);
    flag(out, row, in, PTX_F_NAN);
    flag(out, row, in, PTX_F_XORSIGN_ABS);
    aux(out, row, in, PTX_AUX_SCALED, 1);
    if (!video) {
        flag(out, row, in, PTX_F_CLAMP);
        flag(out, row, in, PTX_F_WRAP);
    }
    if (row->mods & M_POLICY) {
        field(out, row, MF_PRIORITY, PTX_AUX(in, EVICT2));
        field(out, row, MF_PRIORITY, PTX_AUX(in, EVICT));
    }
    field(out, row, MF_GEOM, in->geom);
    if (in->op != PTX_OP_CP_ASYNC)
        AUX_FIELD(CACHE);
    flag(out, row, in, PTX_F_NC);
    AUX_FIELD(LEVEL);
    AUX_FIELD(EVICT);
    AUX_FIELD(EVICT2);
    aux(out, row, in, 14, 1);
    AUX_FIELD(PREFETCH);
    aux(out, row, in, 15, 1);
    aux(out, row, in, 18, 1);
    if (in->vec > 1)
        field(out, row, MF_VEC, in->vec);
    for (unsigned i = 0; i < PTX_MAX_TYPES && in->type[i]; i++)
        word(out, ptx_type_name(in->type[i]));
    AUX_FIELD(SURF);
    if (in->op == PTX_OP_PRMT)
        field(out, row, MF_MODE, in->mode);
    if (video) {
        aux(out, row, in, PTX_AUX_VMAD_PO, 1);
        flag(out, row, in, PTX_F_SAT);
        flag(out, row, in, PTX_F_CLAMP);
        flag(out, row, in, PTX_F_WRAP);
        AUX_FIELD(VMAD_SHR);
        field(out, row, MF_CMP, in->cmp);
        field(out, row, MF_ATOMOP, in->atomop);
    }
}

static void
matrix_modifiers(const struct ptx_inst *in, struct cw_buf *out)
{
    const struct op_row *row = &ptx_op_rows[in->op];
    bool mma = in->op == PTX_OP_MMA || in->op == PTX_OP_MMA_SP || in->op == PTX_OP_MMA_SP_ORDERED, wmma = in->op == PTX_OP_WMMA_MMA;
    field(out, row, MF_MFRAG, PTX_AUX(in, MFRAG));
    if (wmma) {
        field(out, row, MF_BOOLOP, in->boolop);
        aux(out, row, in, PTX_AUX_MPOPC, 1);
    }
    flag(out, row, in, PTX_F_SYNC);
    flag(out, row, in, PTX_F_ALIGNED);
    if (mma)
        field(out, row, MF_MSHAPE, PTX_AUX(in, MSHAPE));
    field(out, row, MF_MLAYOUT, PTX_AUX(in, ALAYOUT));
    field(out, row, MF_MLAYOUT, PTX_AUX(in, BLAYOUT));
    if (!mma)
        field(out, row, MF_MSHAPE, PTX_AUX(in, MSHAPE));
    field(out, row, MF_MNUM, PTX_AUX(in, MNUM));
    aux(out, row, in, PTX_AUX_MTRANS, 1);
    field(out, row, MF_SPACE, in->space);
    field(out, row, MF_ROUND, in->round);
    if (mma)
        flag(out, row, in, PTX_F_SATFINITE);
    for (unsigned i = 0; i < PTX_MAX_TYPES && in->type[i]; i++)
        word(out, ptx_type_name(in->type[i]));
    if (wmma)
        flag(out, row, in, PTX_F_SATFINITE);
    if (mma) {
        field(out, row, MF_BOOLOP, in->boolop);
        aux(out, row, in, PTX_AUX_MPOPC, 1);
    }
}

/* Instructions with two state spaces, their relatives, and clusterlaunchcontrol. */
static void
bulk_modifiers(const struct ptx_inst *in, struct cw_buf *out)
{
    const struct op_row *row = &ptx_op_rows[in->op];
    bool map_copy = in->op == PTX_OP_TENSORMAP_CP_FENCEPROXY, map_reduce = in->op == PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR;
    aux(out, row, in, PTX_AUX_ASYNC, 1);
    aux(out, row, in, PTX_AUX_READ, 1);
    aux(out, row, in, PTX_AUX_MMIO, 1);
    AUX_FIELD(DIMS);
    AUX_FIELD(LEVEL);
    if (!map_copy) {
        field(out, row, MF_SEM, in->sem);
        field(out, row, MF_SCOPE, in->scope);
    }
    if (row->mods & M_FIELD) {
        AUX_FIELD(TILING);
        AUX_FIELD(FIELD);
    }
    field(out, row, MF_SPACES, in->space);
    field(out, row, MF_SPACES, PTX_AUX(in, SOURCE));
    aux(out, row, in, PTX_AUX_B1024, 1);
    if (map_copy) {
        AUX_FIELD(PROXY);
        field(out, row, MF_SEM, in->sem);
        field(out, row, MF_SCOPE, in->scope);
        flag(out, row, in, PTX_F_SYNC);
        flag(out, row, in, PTX_F_ALIGNED);
    }
    if (map_reduce)
        field(out, row, MF_ATOMOP, in->atomop);
    if (!(row->mods & M_FIELD))
        AUX_FIELD(TILING);
    AUX_FIELD(DONE);
    aux(out, row, in, PTX_AUX_MULTICAST, 1);
    aux(out, row, in, PTX_AUX_CANCEL_ALL, 1);
    AUX_FIELD(CTA_GROUP);
    aux(out, row, in, 14, 1);
    aux(out, row, in, PTX_AUX_CP_MASK, 1);
    if (!map_reduce)
        field(out, row, MF_ATOMOP, in->atomop);
    flag(out, row, in, PTX_F_NOFTZ);
    AUX_FIELD(ANSWER);
    if (in->vec > 1)
        field(out, row, MF_VEC, in->vec);
    for (unsigned i = 0; i < PTX_MAX_TYPES && in->type[i]; i++)
        word(out, ptx_type_name(in->type[i]));
}

static const char *
reg_name(const struct print *pr, uint32_t r)
{
    return pr->reg_names ? pr->reg_names[r] : r < pr->fn->nregs ? pr->fn->regs[r].name : "<bad register>";
}

const char *
ptx_print_sym_name(const struct print *pr, const struct ptx_symbol *s)
{
    if (pr->local_names && s->kind == PTX_SYM_VAR && s->index < pr->fn->nlocals && pr->fn->locals[s->index] == s)
        return pr->local_names[s->index];
    return s->name;
}

static void
elements(const struct print *pr, const struct ptx_operand *o, const char *open, const char *between, const char *close)
{
    cw_buf_puts(pr->out, open);
    for (unsigned i = 0; i < o->count; i++) {
        if (i)
            cw_buf_puts(pr->out, between);
        ptx_print_operand(pr, &o->elem[i]);
    }
    cw_buf_puts(pr->out, close);
}

static void
address(const struct print *pr, const struct ptx_operand *o)
{
    struct cw_buf *out = pr->out;
    if (o->has_reg)
        cw_buf_puts(out, reg_name(pr, o->index));
    else if (o->sym)
        cw_buf_puts(out, ptx_print_sym_name(pr, o->sym));
    if (!o->has_reg && !o->sym)
        cw_buf_printf(out, "%" PRId64, o->imm);
    else if (o->imm)
        cw_buf_printf(out, "+%" PRId64, o->imm);
}

void
ptx_print_operand(const struct print *pr, const struct ptx_operand *o)
{
    struct cw_buf *out = pr->out;
    if (o->negate_pred)
        cw_buf_puts(out, "!");
    if (o->negate)
        cw_buf_puts(out, "-");
    switch ((enum ptx_operand_kind)o->kind) {
    case PTX_OPND_NONE:
        break;
    case PTX_OPND_SINK:
        cw_buf_puts(out, "_");
        break;
    case PTX_OPND_REG:
        cw_buf_puts(out, reg_name(pr, o->index));
        break;
    case PTX_OPND_IMM:
        if (o->is_float && o->imm_f32)
            cw_buf_printf(out, "0f%08" PRIX32, (uint32_t)o->imm);
        else if (o->is_float)
            cw_buf_printf(out, "0d%016" PRIX64, (uint64_t)o->imm);
        else if (o->imm == INT64_MIN)
            cw_buf_puts(out, "0x8000000000000000");
        else
            cw_buf_printf(out, "%" PRId64, o->imm);
        break;
    case PTX_OPND_SREG:
        cw_buf_puts(out, ptx_sreg_info(o->index)->name);
        break;
    case PTX_OPND_SYM:
        cw_buf_puts(out, ptx_print_sym_name(pr, o->sym));
        if (o->imm)
            cw_buf_printf(out, "+%" PRId64, o->imm);
        break;
    case PTX_OPND_ADDR:
        cw_buf_puts(out, "[");
        address(pr, o);
        cw_buf_puts(out, "]");
        break;
    case PTX_OPND_VEC:
        elements(pr, o, "{", ", ", "}");
        break;
    case PTX_OPND_LIST:
        elements(pr, o, "(", ", ", ")");
        break;
    case PTX_OPND_PRED_PAIR:
        elements(pr, o, "", "|", "");
        break;
    case PTX_OPND_LABEL:
        cw_buf_printf(out, "$T_%u", o->index);
        break;
    case PTX_OPND_TABLE:
        cw_buf_puts(out, ptx_print_table_name(pr, o->table));
        break;
    case PTX_OPND_TEXT:
        cw_buf_puts(out, o->text);
        break;
    }
    if (o->video_sel >= 0 && (o->kind == PTX_OPND_REG || o->kind == PTX_OPND_SREG))
        cw_buf_printf(out, ".%c%d", o->video_sel < 4 ? 'b' : 'h', o->video_sel & 3);
    if (o->simd_sel) {
        cw_buf_puts(out, o->simd_sel & PTX_SIMD_BYTES ? ".b" : ".h");
        for (unsigned i = PTX_SIMD_COUNT(o->simd_sel); i-- > 0;)
            cw_buf_printf(out, "%u", PTX_SIMD_PART(o->simd_sel, i));
    }
}

const char *
ptx_print_table_name(const struct print *pr, const struct ptx_table *t)
{
    for (uint32_t i = 0; i < pr->ntables; i++)
        if (pr->tables[i].table == t)
            return pr->tables[i].name;
    return t->name ? t->name : "<table>";
}

void
ptx_print_inst(const struct print *pr, const struct ptx_inst *in)
{
    struct cw_buf *out = pr->out;
    if (in->op >= PTX_OP_COUNT) {
        cw_buf_puts(out, "<bad opcode>");
        return;
    }
    const struct op_row *row = &ptx_op_rows[in->op];
    if (in->has_guard)
        cw_buf_printf(out, "@%s%s ", in->guard_negated ? "!" : "", reg_name(pr, in->guard));
    cw_buf_puts(out, row->info.mnemonic);
    if ((row->mods & M_RAW) || (in->noperands == 1 && in->operand[0].kind == PTX_OPND_TEXT)) {
        if (in->noperands && in->operand[0].kind == PTX_OPND_TEXT && in->operand[0].text[0]) {
            if (in->operand[0].text[0] != '.')
                cw_buf_puts(out, " ");
            cw_buf_puts(out, in->operand[0].text);
        }
        cw_buf_puts(out, ";");
        return;
    }
    if (row->mods & M_MATRIX)
        matrix_modifiers(in, out);
    else if (row->mods & (M_BULK | M_CANCEL))
        bulk_modifiers(in, out);
    else
        modifiers(in, out);
    unsigned tex = in->geom ? (row->info.ndst ? 1 : 0) : PTX_MAX_OPERANDS + 1u;
    unsigned map = row->mods & M_TENSOR ? PTX_MAP_OPERAND(in) : PTX_MAX_OPERANDS;
    bool sampler = in->op == PTX_OP_TEX || in->op == PTX_OP_TLD4;
    bool first = true;
    for (unsigned i = 0; i < in->noperands; i++) {
        const struct ptx_operand *o = &in->operand[i];
        if (o->kind == PTX_OPND_NONE)
            continue;
        cw_buf_puts(out, first ? " " : ", ");
        first = false;
        if (i == tex && i + 1u + sampler < in->noperands) {
            cw_buf_puts(out, "[");
            ptx_print_operand(pr, o);
            for (unsigned k = 1; k <= 1u + sampler; k++) {
                if (o[k].kind == PTX_OPND_NONE)
                    continue;
                cw_buf_puts(out, ", ");
                ptx_print_operand(pr, &o[k]);
            }
            cw_buf_puts(out, "]");
            i += 1u + sampler;
            continue;
        }
        if (i == map && i + 1u < in->noperands && o[1].kind == PTX_OPND_VEC) {
            cw_buf_puts(out, "[");
            address(pr, o);
            cw_buf_puts(out, ", ");
            ptx_print_operand(pr, &o[1]);
            cw_buf_puts(out, "]");
            i++;
            continue;
        }
        ptx_print_operand(pr, o);
    }
    cw_buf_puts(out, ";");
}

void
ptx_inst_print_named(const struct ptx_inst *in, const char **names, struct cw_buf *out)
{
    struct print pr = { .out = out, .reg_names = names };
    ptx_print_inst(&pr, in);
}

void
ptx_inst_print(const struct ptx_function *fn, const struct ptx_inst *in, struct cw_buf *out)
{
    struct print pr = { .out = out, .fn = fn };
    ptx_print_inst(&pr, in);
}
