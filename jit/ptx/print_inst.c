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

/* ---- modifiers ---- */

/* Instructions whose modifiers stand in an order of their own. */
enum kind { USUAL = 1, CP_ASYNC = 2, MATCH = 4, PRMT = 8, VIDEO = 16, MMA = 32, WMMA = 64, MATRIX = 128, BULK = 256, MAP_COPY = 512, MAP_REDUCE = 1024,
            MAP_REPLACE = 2048 };

static enum kind
kind_of(const struct ptx_inst *in)
{
    const uint64_t mods = ptx_op_rows[in->op].mods;
    switch (in->op) {
    case PTX_OP_CP_ASYNC: return CP_ASYNC;
    case PTX_OP_MATCH: return MATCH;
    case PTX_OP_PRMT: return PRMT;
    case PTX_OP_MMA: case PTX_OP_MMA_SP: case PTX_OP_MMA_SP_ORDERED: return MMA;
    case PTX_OP_WMMA_MMA: return WMMA;
    case PTX_OP_TENSORMAP_CP_FENCEPROXY: return MAP_COPY;
    case PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR: return MAP_REDUCE;
    default: break;
    }
    if (in->op >= PTX_OP_VADD && in->op <= PTX_OP_VSET4)
        return VIDEO;
    return mods & M_MATRIX ? MATRIX : mods & M_FIELD ? MAP_REPLACE : mods & (M_BULK | M_CANCEL) ? BULK : USUAL;
}

/* One word in the order: what it sets, and the kinds that have it here. */
struct place {
    uint16_t kinds;
    uint8_t  field;             /* enum mod_field, or TYPES */
    uint8_t  shift;             /* MF_AUX; else 1: the second word of the field */
    uint32_t mask;              /* MF_AUX; MF_FLAG: the flag */
};
enum { TYPES = 255 };

static const struct place order[] = {
#define BYTE(kinds, field)   { kinds, MF_##field, 0, 0 },
#define SECOND(kinds, field) { kinds, MF_##field, 1, 0 },
#define FLAG(kinds, flag)    { kinds, MF_FLAG, 0, PTX_F_##flag },
#define AUX(kinds, name)     { kinds, MF_AUX, PTX_AUX_##name##_SHIFT, PTX_AUX_##name##_MASK },
#define BIT(kinds, bit)      { kinds, MF_AUX, bit, 1 },
#define PLAIN (USUAL | CP_ASYNC | MATCH | PRMT | VIDEO)
    BIT(PLAIN, PTX_AUX_BAR_CTA) AUX(CP_ASYNC, CACHE) BYTE(MATCH, MODE) FLAG(PLAIN, SYNC) BYTE(PLAIN & ~MATCH & ~PRMT, MODE)
    AUX(PLAIN, LOD) AUX(PLAIN, TLD4) AUX(PLAIN, SURF_FORM) AUX(PLAIN, QUERY) BIT(PLAIN, PTX_AUX_MASK_FORM)
    BYTE(PLAIN & ~VIDEO, CMP) BYTE(PLAIN, BOOLOP) FLAG(PLAIN, ALIGNED) BYTE(PLAIN, ROUND) FLAG(PLAIN, APPROX) FLAG(PLAIN, FULL)
    FLAG(PLAIN, CC) FLAG(PLAIN, SHIFTAMT) FLAG(PLAIN, TO) FLAG(PLAIN, UNI) FLAG(PLAIN, NOCOMPLETE)
    BIT(PLAIN, PTX_AUX_EXPECT_TX) BIT(PLAIN, PTX_AUX_PARITY) BIT(PLAIN, PTX_AUX_NOINC) AUX(PLAIN, PROXY)
    BYTE(PLAIN, SEM) AUX(PLAIN, RESTRICT) BYTE(PLAIN, SCOPE) BYTE(PLAIN, SPACE) BIT(PLAIN, PTX_AUX_FROM_GLOBAL)
    BYTE(PLAIN & ~VIDEO, ATOMOP) AUX(PLAIN, ACC) FLAG(PLAIN, NOFTZ) FLAG(PLAIN, FTZ) FLAG(PLAIN & ~VIDEO, SAT) BIT(PLAIN, PTX_AUX_OOB)
    FLAG(PLAIN, RELU) FLAG(PLAIN, SATFINITE) FLAG(PLAIN, ABS) FLAG(PLAIN, NAN) FLAG(PLAIN, XORSIGN_ABS) BIT(PLAIN, PTX_AUX_SCALED)
    FLAG(PLAIN & ~VIDEO, CLAMP) FLAG(PLAIN & ~VIDEO, WRAP) BYTE(PLAIN, PRIORITY) SECOND(PLAIN, PRIORITY) BYTE(PLAIN, GEOM)
    AUX(PLAIN & ~CP_ASYNC, CACHE) FLAG(PLAIN, NC) AUX(PLAIN, LEVEL) AUX(PLAIN, EVICT) AUX(PLAIN, EVICT2) BIT(PLAIN, 14) AUX(PLAIN, PREFETCH)
    BIT(PLAIN, 15) BIT(PLAIN, 18) BYTE(PLAIN, VEC) { PLAIN, TYPES, 0, 0 }, AUX(PLAIN, SURF) BYTE(PRMT, MODE)
    BIT(VIDEO, PTX_AUX_VMAD_PO) FLAG(VIDEO, SAT) FLAG(VIDEO, CLAMP) FLAG(VIDEO, WRAP) AUX(VIDEO, VMAD_SHR) BYTE(VIDEO, CMP) BYTE(VIDEO, ATOMOP)

#define ANY_MATRIX (MMA | WMMA | MATRIX)
    BYTE(ANY_MATRIX, MFRAG) BYTE(WMMA, BOOLOP) BIT(WMMA, PTX_AUX_MPOPC) FLAG(ANY_MATRIX, SYNC) FLAG(ANY_MATRIX, ALIGNED) BYTE(MMA, MSHAPE)
    BYTE(ANY_MATRIX, MLAYOUT) SECOND(ANY_MATRIX, MLAYOUT) BYTE(WMMA | MATRIX, MSHAPE) BYTE(ANY_MATRIX, MNUM) BIT(ANY_MATRIX, PTX_AUX_MTRANS)
    BYTE(ANY_MATRIX, SPACE) BYTE(ANY_MATRIX, ROUND) FLAG(MMA, SATFINITE) { ANY_MATRIX, TYPES, 0, 0 }, FLAG(WMMA, SATFINITE)
    BYTE(MMA, BOOLOP) BIT(MMA, PTX_AUX_MPOPC)

#define TWO_SPACES (BULK | MAP_COPY | MAP_REDUCE | MAP_REPLACE)
    BIT(TWO_SPACES, PTX_AUX_ASYNC) BIT(TWO_SPACES, PTX_AUX_READ) BIT(TWO_SPACES, PTX_AUX_MMIO) AUX(TWO_SPACES, DIMS) AUX(TWO_SPACES, LEVEL)
    BYTE(TWO_SPACES & ~MAP_COPY, SEM) BYTE(TWO_SPACES & ~MAP_COPY, SCOPE) AUX(MAP_REPLACE, TILING) AUX(MAP_REPLACE, FIELD)
    BYTE(TWO_SPACES, SPACES) SECOND(TWO_SPACES, SPACES) BIT(TWO_SPACES, PTX_AUX_B1024)
    AUX(MAP_COPY, PROXY) BYTE(MAP_COPY, SEM) BYTE(MAP_COPY, SCOPE) FLAG(MAP_COPY, SYNC) FLAG(MAP_COPY, ALIGNED) BYTE(MAP_REDUCE, ATOMOP)
    AUX(TWO_SPACES & ~MAP_REPLACE, TILING) AUX(TWO_SPACES, DONE) BIT(TWO_SPACES, PTX_AUX_MULTICAST) BIT(TWO_SPACES, PTX_AUX_CANCEL_ALL)
    AUX(TWO_SPACES, CTA_GROUP) BIT(TWO_SPACES, 14) BIT(TWO_SPACES, PTX_AUX_CP_MASK) BYTE(TWO_SPACES & ~MAP_REDUCE, ATOMOP)
    FLAG(TWO_SPACES, NOFTZ) AUX(TWO_SPACES, ANSWER) BYTE(TWO_SPACES, VEC) { TWO_SPACES, TYPES, 0, 0 },
};

static uint64_t
value_at(const struct ptx_inst *in, const struct place *p)
{
    switch (p->field) {
    case MF_FLAG: return in->flags & p->mask;
    case MF_AUX: return in->aux >> p->shift & p->mask;
    case MF_VEC: return in->vec > 1 ? in->vec : 0;
    default: return ptx_mod_value(in, p->field, p->shift);
    }
}

/* The word that sets the field to `value`, from the groups that the opcode accepts. */
static const char *
word_of(const struct op_row *row, const struct place *p, uint64_t value)
{
    for (unsigned i = 0; i < ptx_mod_word_count; i++) {
        const struct mod_word *w = &ptx_mod_words[i];
        if (w->field == p->field && w->value == value && (p->field != MF_AUX || w->shift == p->shift) && (row->mods & w->group))
            return w->word;
    }
    return NULL;
}

static void
modifiers(const struct ptx_inst *in, struct cw_buf *out)
{
    const struct op_row *row = &ptx_op_rows[in->op];
    const enum kind kind = kind_of(in);
    for (unsigned i = 0; i < sizeof order / sizeof *order; i++) {
        const struct place *p = &order[i];
        if (!(p->kinds & kind))
            continue;
        for (unsigned k = 0; p->field == TYPES && k < PTX_MAX_TYPES && in->type[k]; k++)
            word(out, ptx_type_name(in->type[k]));
        uint64_t value = p->field == TYPES ? 0 : value_at(in, p);
        const char *w = value ? word_of(row, p, value) : NULL;
        if (!w)
            continue;
        if (p->mask == PTX_F_XORSIGN_ABS && p->field == MF_FLAG)
            w = in->noperands > 3 ? "abs" : "xorsign.abs";          /* with three values only .abs exists */
        else if (p->field == MF_SPACE && value == PTX_SPACE_SHARED && in->op == PTX_OP_FENCE_PROXY)
            w = "shared::cta";          /* elsewhere the short form is equivalent, and older */
        else if (p->field == MF_SEM && value == PTX_SEM_MMIO)
            w = "mmio.relaxed";
        word(out, w);
    }
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
