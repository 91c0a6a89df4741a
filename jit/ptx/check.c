/* SPDX-License-Identifier: Apache-2.0
 * Checks of one instruction. The rules in its row of ops.def are checked in the same way for every opcode: types, number, kind
 * and type of operands, 9.4's rules for register types; the few rules that a row cannot express follow by opcode. */
#include "jit/ptx/check_private.h"

#include <stdio.h>

uint8_t
ptx_check_reg_type(const struct check *c, const struct ptx_operand *o)
{
    return o->index < c->p->regs.n ? c->p->regs.at[o->index].type : PTX_NONE;
}

/* May a register of type r stand for an operand of type t (9.4.1)? `relaxed`: ld, st, cvt, whose register may be wider. */
static bool
compatible(ptx_type r, ptx_type t, bool relaxed)
{
    enum ptx_type_class rc = ptx_type_class(r), tc = ptx_type_class(t);
    if (r == PTX_PRED || t == PTX_PRED)
        return r == t;
    unsigned rb = ptx_type_bits(r), tb = ptx_type_bits(t);
    if (relaxed ? rb < tb : rb != tb)
        return false;
    if (rc == PTX_CLASS_BITS || tc == PTX_CLASS_BITS)
        return true;
    if (rc == PTX_CLASS_FLOAT || tc == PTX_CLASS_FLOAT)
        return r == t || (tc == PTX_CLASS_FLOAT && rc != PTX_CLASS_FLOAT && tb != 32 && tb != 64) ||
               (tc == PTX_CLASS_FLOAT && rc != PTX_CLASS_FLOAT && t != PTX_F32 && t != PTX_F64);
    return true;
}

/* The type for a signature's type letter in this instruction. */
static ptx_type
meant_type(const struct ptx_inst *in, char letter)
{
    switch (letter) {
    case '0': case '1': case '2': case '3': return in->type[letter - '0'];
    case 'p': return PTX_PRED;
    case 'h': return PTX_B16;
    case 'f': return PTX_F32;
    case 'u': return PTX_B32;
    case 'q': return PTX_B64;
    case 'w':
        if (in->mode != PTX_MODE_WIDE)
            return in->type[0];
        switch (in->type[0]) {
        case PTX_U16: return PTX_U32;
        case PTX_S16: return PTX_S32;
        case PTX_U32: return PTX_U64;
        default: return PTX_S64;
        }
    default: return PTX_NONE;
    }
}

static bool
is_video(unsigned op)
{
    return op >= PTX_OP_VADD && op <= PTX_OP_VSET4;
}

static bool
check_register(struct check *c, unsigned i, const struct ptx_operand *o, ptx_type t, bool relaxed)
{
    ptx_type r = ptx_check_reg_type(c, o);
    if (t == PTX_NONE || compatible(r, t, relaxed))
        return true;
    return FAIL(c, 3034, "operand %u of '%s' is .%s, but register '%s' is .%s", i + 1, c->name, ptx_type_name(t),
                c->p->regs.at[o->index].name, ptx_type_name(r));
}

/* The number of lanes of SIMD video instructions (9.7.18.9 ff.); 0 for all others. */
static unsigned
simd_lanes(unsigned op)
{
    return op >= PTX_OP_VADD2 && op <= PTX_OP_VSET2 ? 2 : op >= PTX_OP_VADD4 && op <= PTX_OP_VSET4 ? 4 : 0;
}

static bool
selects(const struct ptx_operand *o)
{
    return o->video_sel >= 0 || o->simd_sel;
}

/* A selector: one part; a part for each lane, from both operands; or a mask of lanes, written from the highest to the lowest. */
static bool
check_selector(struct check *c, unsigned i, const struct ptx_operand *o, bool dest)
{
    unsigned lanes = simd_lanes(c->in->op), n = PTX_SIMD_COUNT(o->simd_sel);
    bool ok = true;
    if (!selects(o) || !is_video(c->in->op))
        return true;
    if (!lanes)
        ok = !o->simd_sel;
    else if (o->video_sel >= 0)
        ok = dest && (o->video_sel < 4) == (lanes == 4);
    else
        ok = ((o->simd_sel & PTX_SIMD_BYTES) != 0) == (lanes == 4) && (dest || n == lanes);
    for (unsigned k = 0; ok && o->simd_sel && k < n; k++) {
        unsigned part = PTX_SIMD_PART(o->simd_sel, k);
        ok = part < (dest ? lanes : 2 * lanes) && (!dest || !k || part > PTX_SIMD_PART(o->simd_sel, k - 1));
    }
    return ok || FAIL(c, 3088, "operand %u of '%s' has no such parts", i + 1, c->name);
}

bool
ptx_check_source(struct check *c, unsigned i, const struct ptx_operand *o, ptx_type t, bool relaxed)
{
    enum ptx_type_class cls = ptx_type_class(t);
    if (o->negate_pred && t != PTX_PRED && t != PTX_NONE)
        return FAIL(c, 3035, "operand %u of '%s' is no predicate and cannot be negated with '!'", i + 1, c->name);
    if ((o->negate || selects(o)) && !is_video(c->in->op))
        return FAIL(c, 3087, "operand %u of '%s': only video instructions negate or select a part of an operand", i + 1, c->name);
    if (!check_selector(c, i, o, false))
        return false;
    switch (o->kind) {
    case PTX_OPND_REG:
        return check_register(c, i, o, t, relaxed || selects(o));
    case PTX_OPND_IMM:
        if (o->is_float && (cls == PTX_CLASS_UINT || cls == PTX_CLASS_SINT || t == PTX_PRED))
            return FAIL(c, 3037, "operand %u of '%s' is .%s, but the constant is a float", i + 1, c->name, ptx_type_name(t));
        if (!o->is_float && (t == PTX_F32 || t == PTX_F64))
            return FAIL(c, 3037, "operand %u of '%s' is .%s, but the constant is an integer", i + 1, c->name, ptx_type_name(t));
        return true;
    case PTX_OPND_SREG:
    case PTX_OPND_SINK:
        return true;
    case PTX_OPND_SYM:
        if (t != PTX_NONE && (cls == PTX_CLASS_FLOAT || t == PTX_PRED || ptx_type_bits(t) < 32))
            return FAIL(c, 3038, "operand %u of '%s' is .%s, but '%s' is an address", i + 1, c->name, ptx_type_name(t), o->sym->name);
        return true;
    default:
        return FAIL(c, 3033, "operand %u of '%s' is no register or constant", i + 1, c->name);
    }
}

static bool
check_dest(struct check *c, unsigned i, const struct ptx_operand *o, ptx_type t, bool relaxed)
{
    if (o->kind == PTX_OPND_SINK)
        return true;
    if (selects(o) && !is_video(c->in->op))
        return FAIL(c, 3087, "operand %u of '%s': only video instructions negate or select a part of an operand", i + 1,
                    c->name);
    if (!check_selector(c, i, o, true))
        return false;
    if (o->kind != PTX_OPND_REG || o->negate || o->negate_pred)
        return FAIL(c, 3039, "operand %u of '%s' is a destination and must be a register", i + 1, c->name);
    return check_register(c, i, o, t, relaxed || selects(o));
}

static bool
check_each(struct check *c, unsigned i, const struct ptx_operand *o, ptx_type t, bool dest, bool relaxed)
{
    for (unsigned k = 0; k < o->count; k++)
        if (!(dest ? check_dest(c, i, &o->elem[k], t, relaxed) : ptx_check_source(c, i, &o->elem[k], t, relaxed)))
            return false;
    return true;
}

/* A register, or a vector of .v2, .v4 or .v8 elements. */
static bool
check_vector(struct check *c, unsigned i, const struct ptx_operand *o, ptx_type t, bool dest, bool relaxed)
{
    if (c->in->vec <= 1 && o->kind != PTX_OPND_VEC)
        return dest ? check_dest(c, i, o, t, relaxed) : ptx_check_source(c, i, o, t, relaxed);
    if (o->kind == PTX_OPND_SINK)
        return true;
    if (o->kind != PTX_OPND_VEC || (o->count != c->in->vec))
        return FAIL(c, 3049, "operand %u of '%s' is a vector of %u elements", i + 1, c->name, c->in->vec);
    return check_each(c, i, o, t, dest, relaxed);
}

bool
ptx_check_address(struct check *c, unsigned i, const struct ptx_operand *o)
{
    if (o->kind != PTX_OPND_ADDR)
        return FAIL(c, 3056, "operand %u of '%s' is an address in brackets", i + 1, c->name);
    if (o->has_reg) {
        ptx_type r = ptx_check_reg_type(c, o);
        unsigned b = ptx_type_bits(r);
        if ((b != 32 && b != 64) || ptx_type_class(r) == PTX_CLASS_FLOAT)
            return FAIL(c, 3057, "register '%s' of type .%s cannot hold an address", c->p->regs.at[o->index].name, ptx_type_name(r));
        return true;
    }
    if (o->sym && (o->sym->kind == PTX_SYM_FUNC || o->sym->kind == PTX_SYM_ALIAS))
        return FAIL(c, 3058, "'%s' is a function, not memory", o->sym->name);
    uint8_t space = c->in->space == PTX_SPACE_SHARED_CLUSTER ? PTX_SPACE_SHARED : c->in->space;
    if (o->sym && space != PTX_SPACE_GENERIC && (c->row->mods & M_SPACE) && o->sym->space != space)
        return FAIL(c, 3036, "'%s' is not in the space that '%s' accesses", o->sym->name, c->name);
    return true;
}

/* ---- the row's signature ---- */

/* Operands whose presence depends on a modifier: the predicate of a combined comparison, the mask of .sync, the second value of
 * cas, the policy of .L2::cache_hint. */
static bool
check_optional(struct check *c)
{
    const struct ptx_inst *in = c->in;
    bool hint = in->aux >> 14 & 1;
    unsigned want;
    switch (in->op) {
    case PTX_OP_SET: case PTX_OP_SETP: want = in->boolop ? 4 : 3; break;
    case PTX_OP_LOP3: want = in->boolop ? 6 : 5; break;
    case PTX_OP_SHFL: want = in->flags & PTX_F_SYNC ? 5 : 4; break;
    case PTX_OP_VOTE: want = in->flags & PTX_F_SYNC ? 3 : 2; break;
    case PTX_OP_ATOM: want = (in->atomop == PTX_ATOM_CAS ? 4u : 3u) + hint; break;
    case PTX_OP_RED: case PTX_OP_LD: case PTX_OP_ST: want = 2u + hint; break;
    default: return true;
    }
    if (in->noperands != want)
        return FAIL(c, 3032, "'%s' takes %u operands in this form, not %u", c->name, want, in->noperands);
    if (in->boolop == PTX_BOOL_POPC)
        return FAIL(c, 3045, "'%s' takes no .popc", c->name);
    return true;
}

static unsigned
signature_limits(const char *sig, unsigned *min)
{
    unsigned n = 0;
    for (*min = 0; *sig; sig += *sig == ',') {
        n++;
        sig += 2;
        if (*sig == '?')
            sig++;
        else
            *min = n;
    }
    return n;
}

static bool
check_pair(struct check *c, unsigned i, const struct ptx_operand *o, ptx_type t)
{
    return check_dest(c, i, &o->elem[0], t, false) && check_dest(c, i, &o->elem[1], PTX_PRED, false);
}

/* Coordinates or offsets of a tensor copy. */
static bool
check_list(struct check *c, unsigned i, const struct ptx_operand *o, ptx_type t)
{
    if (o->kind != PTX_OPND_VEC)
        return FAIL(c, 3049, "operand %u of '%s' is a list in braces", i + 1, c->name);
    return check_each(c, i, o, t, false, false);
}

bool
ptx_check_signature(struct check *c, const char *sig)
{
    const struct ptx_inst *in = c->in;
    unsigned min, max = signature_limits(sig, &min);
    bool relaxed = in->op == PTX_OP_LD || in->op == PTX_OP_LDU || in->op == PTX_OP_ST || in->op == PTX_OP_CVT;
    if (in->noperands >= min && in->noperands <= max && !check_optional(c))
        return false;
    const unsigned want = in->noperands < min ? min : max;
    if (in->noperands < min || in->noperands > max)
        return FAIL(c, 3032, min == max ? "'%s' takes %u operand%s, not %u" : want == min ? "'%s' takes at least %u operand%s, not %u"
                    : "'%s' takes at most %u operand%s, not %u", c->name, want, want == 1 ? "" : "s", in->noperands);
    for (unsigned i = 0; i < in->noperands; i++) {
        const struct ptx_operand *o = &in->operand[i];
        char role = sig[0];
        ptx_type t = meant_type(in, sig[1]);
        if (in->op == PTX_OP_ATOM && i == 3 && in->atomop != PTX_ATOM_CAS)
            t = PTX_B64;        /* the cache policy */
        bool ok = true;
        switch (role) {
        case 'd': ok = check_dest(c, i, o, t, relaxed); break;
        case 's': ok = ptx_check_source(c, i, o, t, relaxed); break;
        case 'k': ok = o->kind == PTX_OPND_PRED_PAIR ? check_pair(c, i, o, t) : check_dest(c, i, o, t, relaxed); break;
        case 'a': ok = ptx_check_address(c, i, o); break;
        case 'c': ok = check_list(c, i, o, t); break;
        case 'v': ok = check_vector(c, i, o, t, i < c->row->info.ndst, relaxed); break;
        case 'i':
            if (o->kind != PTX_OPND_IMM || o->is_float)
                return FAIL(c, 3059, "operand %u of '%s' is an integer constant", i + 1, c->name);
            break;
        case 'l':
            break;
        case 't':
            if (o->kind != PTX_OPND_TABLE || !o->table->labels)
                return FAIL(c, 3080, "operand %u of '%s' is a .branchtargets list", i + 1, c->name);
            break;
        default:
            break;
        }
        if (!ok)
            return false;
        sig += 2 + (sig[2] == '?');
        sig += *sig == ',';
    }
    return true;
}

/* ---- forms that a signature cannot express ---- */

/* Check the width of a pack or unpack operand of mov; elements of unknown width (_, constants) share the remaining bits equally. */
static bool
check_pack(struct check *c, unsigned i, const struct ptx_operand *o, ptx_type whole, bool dest)
{
    unsigned bits = 0, total = ptx_type_bits(whole);
    for (unsigned k = 0; k < o->count; k++) {
        const struct ptx_operand *e = &o->elem[k];
        if (e->kind == PTX_OPND_REG)
            bits += ptx_type_bits(ptx_check_reg_type(c, e));
        else if (e->kind == PTX_OPND_SREG)
            bits += ptx_type_bits(ptx_sreg_info(e->index)->type);
        else if (e->kind == PTX_OPND_SINK || (e->kind == PTX_OPND_IMM && !dest))
            bits += total / o->count;
        else
            return FAIL(c, 3039, "element %u of operand %u of 'mov' is not a register", k + 1, i + 1);
    }
    if (bits != total || ptx_type_class(whole) != PTX_CLASS_BITS)
        return FAIL(c, 3081, "the elements of operand %u have %u bits together, .%s has %u", i + 1, bits, ptx_type_name(whole), total);
    return true;
}

static bool
check_mov(struct check *c)
{
    const struct ptx_inst *in = c->in;
    ptx_type t = in->type[0];
    if (in->noperands != 2)
        return FAIL(c, 3032, "'mov' takes 2 operands, not %u", in->noperands);
    const struct ptx_operand *d = &in->operand[0], *s = &in->operand[1];
    if (in->vec > 1)
        return check_vector(c, 0, d, t, true, false) && check_vector(c, 1, s, t, false, false);
    if (d->kind == PTX_OPND_VEC)
        return check_pack(c, 0, d, t, true) && ptx_check_source(c, 1, s, t, false);
    if (s->kind == PTX_OPND_VEC)
        return check_dest(c, 0, d, t, false) && check_pack(c, 1, s, t, false);
    return check_dest(c, 0, d, t, false) && ptx_check_source(c, 1, s, t, false);
}

static bool
check_handle(struct check *c, unsigned i, const struct ptx_operand *o)
{
    if (o->kind == PTX_OPND_NONE)
        return true;
    if (o->kind == PTX_OPND_REG)
        return check_register(c, i, o, PTX_B64, false);
    if (o->kind == PTX_OPND_SYM && (ptx_type_class(o->sym->type) == PTX_CLASS_OPAQUE || o->sym->space == PTX_SPACE_TEX))
        return true;
    return FAIL(c, 3082, "operand %u of '%s' is no texture, sampler or surface", i + 1, c->name);
}

/* A scalar or each element of a vector. */
static bool
check_elements(struct check *c, unsigned i, ptx_type t, unsigned most)
{
    const struct ptx_operand *o = &c->in->operand[i];
    if (o->kind != PTX_OPND_VEC)
        return ptx_check_source(c, i, o, t, false);
    if (o->count > most)
        return FAIL(c, 3049, "operand %u of '%s' has at most %u elements", i + 1, c->name, most);
    return check_each(c, i, o, t, false, false);
}

/* The operands behind the coordinates, from operand `at`: level or gradients, texel offsets, depth; or the stored value. */
static bool
check_texture_rest(struct check *c, unsigned at)
{
    const struct ptx_inst *in = c->in;
    unsigned lod = in->op == PTX_OP_TEX ? PTX_AUX(in, LOD) : 0, need = lod == 3 ? 2 : lod == 2, more = 2;
    if (in->op == PTX_OP_SULD || in->op == PTX_OP_SUST || in->op == PTX_OP_SURED)
        need = in->op != PTX_OP_SULD, more = 0;
    if (in->noperands < at + need || in->noperands > at + need + more)
        return FAIL(c, 3032, "'%s' takes %u operand%s behind the coordinates here, not %u", c->name, need, need == 1 ? "" : "s",
                    in->noperands - at);
    if (in->op == PTX_OP_SUST)
        return check_vector(c, at, &in->operand[at], in->type[0], false, true);
    if (in->op == PTX_OP_SURED)
        return ptx_check_source(c, at, &in->operand[at], in->type[0], false);
    for (; need; need--, at++)
        if (!check_elements(c, at, lod == 2 ? in->type[1] : PTX_F32, lod == 2 ? 1 : 4))
            return false;
    for (; at < in->noperands; at++) {
        const struct ptx_operand *o = &in->operand[at];
        bool depth = o->kind == PTX_OPND_REG ? ptx_type_class(ptx_check_reg_type(c, o)) == PTX_CLASS_FLOAT : o->kind == PTX_OPND_IMM && o->is_float;
        if (!check_elements(c, at, depth ? PTX_F32 : PTX_S32, 4))
            return false;
    }
    return true;
}

static bool
check_texture(struct check *c)
{
    static const struct { uint8_t min, max; } coords[] = {
        [PTX_GEOM_1D] = { 1, 1 }, [PTX_GEOM_2D] = { 2, 2 }, [PTX_GEOM_3D] = { 3, 4 }, [PTX_GEOM_A1D] = { 2, 2 },
        [PTX_GEOM_A2D] = { 3, 4 }, [PTX_GEOM_CUBE] = { 3, 4 }, [PTX_GEOM_ACUBE] = { 4, 4 }, [PTX_GEOM_2DMS] = { 2, 4 },
        [PTX_GEOM_A2DMS] = { 3, 4 },
    };
    const struct ptx_inst *in = c->in;
    bool tex = in->op == PTX_OP_TEX || in->op == PTX_OP_TLD4, dst = c->row->info.ndst != 0;
    unsigned at = dst, need = dst + (tex ? 3u : 2u) + !dst;
    if (!in->geom)
        return FAIL(c, 3044, "'%s' needs a geometry: .1d .2d .3d ...", c->name);
    if (in->noperands < need)
        return FAIL(c, 3032, "'%s' takes at least %u operands, not %u", c->name, need, in->noperands);
    const struct ptx_operand *d = &in->operand[0], *coord = &in->operand[at + (tex ? 2 : 1)];
    if (dst) {
        if (d->kind == PTX_OPND_PRED_PAIR)
            d = &d->elem[0];
        if (!check_vector(c, 0, d, in->type[0], true, true))
            return false;
    }
    if (!check_handle(c, at, &in->operand[at]) || (tex && !check_handle(c, at + 1, &in->operand[at + 1])))
        return false;
    unsigned n = coord->kind == PTX_OPND_VEC ? coord->count : 1;
    if (n < coords[in->geom].min || n > coords[in->geom].max)
        return FAIL(c, 3083, "'%s' has %u coordinates here, not %u", c->name, coords[in->geom].min, n);
    for (unsigned k = 0; k < n; k++) {
        /* The array index of .a1d and .a2d is u32 whatever the coordinates are. */
        const struct ptx_operand *e = coord->kind == PTX_OPND_VEC ? &coord->elem[k] : coord;
        bool index = !tex || (k == 0 && (in->geom == PTX_GEOM_A1D || in->geom == PTX_GEOM_A2D || in->geom == PTX_GEOM_ACUBE ||
                                         in->geom == PTX_GEOM_A2DMS));
        if (!ptx_check_source(c, (unsigned)(coord - in->operand), e, index ? PTX_B32 : in->type[1], false))
            return false;
    }
    return check_texture_rest(c, (unsigned)(coord - in->operand) + 1);
}

static bool
check_arguments(struct check *c, const struct ptx_operand *list, struct ptx_symbol *const *formal, uint32_t nformal,
                const char *what, const char *callee)
{
    unsigned n = list->kind == PTX_OPND_LIST ? list->count : 0;
    bool variadic = nformal && formal[nformal - 1]->unsized;
    if (variadic ? n + 1 < nformal : n != nformal)
        return FAIL(c, 3084, "'%s' has %u %s%s, not %u", callee, nformal, what, nformal == 1 ? "" : "s", n);
    for (unsigned k = 0; k < n && k < nformal; k++) {
        const struct ptx_operand *o = &list->elem[k];
        const struct ptx_symbol *f = formal[k];
        if (o->kind == PTX_OPND_SYM && o->sym->kind != PTX_SYM_FUNC && o->sym->kind != PTX_SYM_ALIAS && !f->unsized && !f->is_param_reg &&
            o->sym->space == PTX_SPACE_PARAM && o->sym->size != f->size)
            return FAIL(c, 3085, "%s %u of '%s' has %llu bytes, not %llu", what, k + 1, callee, (unsigned long long)f->size,
                        (unsigned long long)o->sym->size);
        if (o->kind == PTX_OPND_REG && !f->is_array && !compatible(ptx_check_reg_type(c, o), f->type, true))
            return FAIL(c, 3085, "%s %u of '%s' is .%s, but register '%s' is .%s", what, k + 1, callee, ptx_type_name(f->type),
                        c->p->regs.at[o->index].name, ptx_type_name(ptx_check_reg_type(c, o)));
        if (o->kind == PTX_OPND_VEC || o->kind == PTX_OPND_ADDR || o->kind == PTX_OPND_TABLE || o->kind == PTX_OPND_PRED_PAIR)
            return FAIL(c, 3033, "%s %u of '%s' is no register, constant or parameter", what, k + 1, callee);
    }
    return true;
}

static bool
check_call(struct check *c)
{
    const struct ptx_operand *o = c->in->operand;
    const struct ptx_function *f = NULL;
    const char *name;
    if (o[3].kind == PTX_OPND_TABLE && o[3].table->labels)
        return FAIL(c, 3007, "'%s' is neither a .calltargets nor a .callprototype", o[3].table->name);
    if (o[1].kind == PTX_OPND_SYM) {
        f = o[1].sym->func;
        name = o[1].sym->name;
        if (o[1].imm)
            return FAIL(c, 3006, "'%s' with an offset is not a function", name);
    } else {
        name = c->p->regs.at[o[1].index].name;
        if (!check_register(c, 1, &o[1], c->p->m->address_size == 64 ? PTX_B64 : PTX_B32, false))
            return false;
        if (o[3].kind != PTX_OPND_TABLE)
            return FAIL(c, 3086, "an indirect call needs a .callprototype or .calltargets");
        f = o[3].table->proto ? o[3].table->proto : o[3].table->count ? o[3].table->funcs[0]->func : NULL;
    }
    return !f || (check_arguments(c, &o[0], f->rets, f->nrets, "result", name) &&
                  check_arguments(c, &o[2], f->params, f->nparams, "argument", name));
}

static bool
check_barrier(struct check *c)
{
    const struct ptx_inst *in = c->in;
    unsigned min = 1, max = 2;
    if (in->op == PTX_OP_BARRIER_CLUSTER)
        return in->mode == PTX_MODE_ARRIVE || in->mode == PTX_MODE_WAIT || FAIL(c, 3044, "'%s' needs .arrive or .wait", c->name);
    if (in->mode == PTX_MODE_NONE || in->mode == PTX_MODE_WAIT)
        return FAIL(c, 3044, "'%s' needs .sync, .arrive or .red", c->name);
    if (in->mode == PTX_MODE_ARRIVE)
        min = 2;
    if (in->mode == PTX_MODE_RED)
        min = 3, max = 4;
    if (in->noperands < min || in->noperands > max)
        return FAIL(c, 3032, "'%s' takes %u or %u operands here, not %u", c->name, min, max, in->noperands);
    if (in->mode != PTX_MODE_RED && (in->type[0] || in->boolop))
        return FAIL(c, 3045, "only '%s.red' has an operation and a type", c->name);
    if (in->mode == PTX_MODE_RED &&
        (!in->boolop || !in->type[0] || (in->boolop == PTX_BOOL_POPC) != (in->type[0] == PTX_U32) || in->boolop == PTX_BOOL_XOR))
        return FAIL(c, 3044, "'%s.red' is .popc.u32, .and.pred or .or.pred", c->name);
    static const char *const sigs[][2] = { { "su", "su,su" }, { "d0,su,sp", "d0,su,su,sp" } };
    const bool red = in->mode == PTX_MODE_RED;
    if (!ptx_check_signature(c, red ? sigs[1][in->noperands - 3] : sigs[0][in->noperands - 1]))
        return false;
    const struct ptx_operand *barrier = &in->operand[red], *threads = in->noperands == max ? barrier + 1 : NULL;
    if (barrier->kind == PTX_OPND_IMM && (barrier->imm < 0 || barrier->imm >= 16))
        return FAIL(c, 3095, "'%s': the barriers are 0 to 15", c->name);
    if (!threads || threads->kind != PTX_OPND_IMM || (threads->imm % 32 == 0 && (threads->imm || in->mode != PTX_MODE_ARRIVE)))
        return true;
    return FAIL(c, 3095, threads->imm ? "'%s': a number of threads is a multiple of 32" : "'%s.arrive' of no threads", c->name);
}

/* Destination in shared memory, source in global memory, a size; then optionally the number of source bytes and a cache policy. */
static bool
check_cp_async(struct check *c)
{
    const struct ptx_inst *in = c->in;
    const struct ptx_operand *o = in->operand;
    unsigned cache = PTX_AUX(in, CACHE), policy = in->aux & PTX_AUX_CACHE_HINT ? 1 : 0;
    if (cache != PTX_CACHE_CA && cache != PTX_CACHE_CG)
        return FAIL(c, 3044, "'cp.async' needs .ca or .cg");
    if (in->space != PTX_SPACE_SHARED || !(in->aux >> PTX_AUX_FROM_GLOBAL & 1))
        return FAIL(c, 3044, "'cp.async' needs .shared.global");
    if (PTX_AUX(in, EVICT) || PTX_AUX(in, EVICT2))
        return FAIL(c, 3045, "'cp.async' takes no eviction priority");
    if (in->noperands < 3 + policy || in->noperands > 4 + policy)
        return FAIL(c, 3032, "'cp.async' takes %u or %u operands here, not %u", 3 + policy, 4 + policy, in->noperands);
    const bool fewer = in->noperands == 4 + policy;         /* bytes to read, or a predicate: none */
    const bool ignore = fewer && (o[3].negate_pred || (o[3].kind == PTX_OPND_REG && ptx_check_reg_type(c, &o[3]) == PTX_PRED));
    static const char *const sigs[][2] = { { "ax,ax,iu", "ax,ax,iu,sq" }, { "ax,ax,iu,su", "ax,ax,iu,su,sq" }, { "ax,ax,iu,sp", "ax,ax,iu,sp,sq" } };
    if (!ptx_check_signature(c, sigs[fewer + ignore][policy]))
        return false;
    if (o[1].sym && !o[1].has_reg && o[1].sym->space != PTX_SPACE_GLOBAL)
        return FAIL(c, 3036, "'%s' is not in the space that 'cp.async' reads", o[1].sym->name);
    if (o[2].imm != 16 && (cache == PTX_CACHE_CG || (o[2].imm != 4 && o[2].imm != 8)))
        return FAIL(c, 3059, cache == PTX_CACHE_CG ? "'cp.async.cg' copies 16 bytes" : "'cp.async.ca' copies 4, 8 or 16 bytes");
    return !fewer || o[3].kind != PTX_OPND_IMM || (o[3].imm >= 0 && o[3].imm <= o[2].imm) ||
           FAIL(c, 3059, "'cp.async' reads at most as many bytes as it writes");
}

/* Rules for the modifiers of mbarrier.*; the row's signature holds for all. */
static bool
check_mbarrier(struct check *c)
{
    const struct ptx_inst *in = c->in;
    bool arrive = in->op == PTX_OP_MBARRIER_ARRIVE || in->op == PTX_OP_MBARRIER_ARRIVE_DROP;
    bool wait = in->op == PTX_OP_MBARRIER_TEST_WAIT || in->op == PTX_OP_MBARRIER_TRY_WAIT;
    bool no_complete = in->flags & PTX_F_NOCOMPLETE, expect = in->aux >> PTX_AUX_EXPECT_TX & 1;
    bool parity = in->aux >> PTX_AUX_PARITY & 1, noinc = in->aux >> PTX_AUX_NOINC & 1;
    const char *bad = no_complete && !arrive ? "noComplete" : expect && !arrive ? "expect_tx" : parity && !wait ? "parity" :
                      noinc && in->op != PTX_OP_CP_ASYNC_MBARRIER_ARRIVE ? "noinc" : NULL;
    if (bad)
        return FAIL(c, 2012, "'%s' does not take modifier .%s", c->name, bad);
    if (no_complete && expect)
        return FAIL(c, 2013, "modifier .expect_tx contradicts .noComplete");
    if (in->space != PTX_SPACE_GENERIC && in->space != PTX_SPACE_SHARED && in->space != PTX_SPACE_SHARED_CLUSTER)
        return FAIL(c, 3036, "'%s' works in shared memory", c->name);
    if (in->sem && in->sem != PTX_SEM_RELAXED && in->sem != (wait ? PTX_SEM_ACQUIRE : PTX_SEM_RELEASE))
        return FAIL(c, 3045, "'%s' takes .%s or .relaxed", c->name, wait ? "acquire" : "release");
    if (!ptx_check_signature(c, c->row->sig))
        return false;
    if ((no_complete || expect) && in->noperands < 3)
        return FAIL(c, 3032, "'%s.%s' takes 3 operands, not %u", c->name, no_complete ? "noComplete" : "expect_tx", in->noperands);
    return !wait || ptx_check_source(c, 2, &in->operand[2], parity ? PTX_B32 : PTX_B64, false);
}

/* ---- instructions whose operands depend on their modifiers ---- */

/* createpolicy (9.7.9.16): a policy for a fraction of the accesses, for a range of addresses, or made from a value. */
static bool
check_policy(struct check *c)
{
    const struct ptx_inst *in = c->in;
    unsigned primary = PTX_AUX(in, EVICT2), secondary = PTX_AUX(in, EVICT);
    if (!in->mode || (in->mode == PTX_MODE_CVT ? !PTX_AUX(in, LEVEL) : !primary))
        return FAIL(c, 3044, "'createpolicy' is .fractional or .range with a priority, or .cvt.L2");
    if ((in->mode == PTX_MODE_CVT ? primary : PTX_AUX(in, LEVEL)) || (secondary && secondary != PTX_EVICT_FIRST && secondary != PTX_EVICT_UNCHANGED))
        return FAIL(c, 3045, "'createpolicy' does not take these priorities");
    if (in->space != PTX_SPACE_GENERIC && (in->mode != PTX_MODE_RANGE || in->space != PTX_SPACE_GLOBAL))
        return FAIL(c, 3045, "'createpolicy' takes no state space but .range.global");
    return ptx_check_signature(c, in->mode == PTX_MODE_FRACTIONAL ? "dq,sf?" : in->mode == PTX_MODE_CVT ? "dq,sq" : "dq,ax,su,su");
}

/* The proxies of a fence, and their restrictions (9.7.13.5). */
static bool
check_fence(struct check *c)
{
    const struct ptx_inst *in = c->in;
    unsigned proxy = PTX_AUX(in, PROXY), restricted = PTX_AUX(in, RESTRICT);
    bool one_way = in->sem == PTX_SEM_ACQUIRE || in->sem == PTX_SEM_RELEASE, ok;
    if (in->op == PTX_OP_FENCE)
        ok = in->scope && (one_way || !in->sem || in->sem == PTX_SEM_ACQ_REL || in->sem == PTX_SEM_SC) &&
             (!restricted || (one_way && in->scope == PTX_SCOPE_CLUSTER));
    else if (in->op == PTX_OP_FENCE_MBARRIER_INIT)
        ok = in->sem == PTX_SEM_RELEASE && in->scope == PTX_SCOPE_CLUSTER;
    else if (in->op == PTX_OP_MEMBAR_PROXY)
        ok = proxy == PTX_PROXY_ALIAS;
    else if (proxy == PTX_PROXY_ALIAS || proxy == PTX_PROXY_ASYNC)
        ok = !in->sem && !in->scope && !restricted &&
             (!in->space || (proxy == PTX_PROXY_ASYNC && (in->space == PTX_SPACE_GLOBAL || in->space == PTX_SPACE_SHARED ||
                                                          in->space == PTX_SPACE_SHARED_CLUSTER)));
    else if (proxy == PTX_PROXY_TENSORMAP)
        ok = one_way && in->scope && !in->space && !restricted;
    else
        ok = proxy && one_way && in->scope == PTX_SCOPE_CLUSTER && restricted && !in->space;
    if (!ok)
        return FAIL(c, 3044, "'%s' has no such combination of proxy, semantics, space and scope", c->name);
    const bool sized = proxy == PTX_PROXY_TENSORMAP && in->sem == PTX_SEM_ACQUIRE;
    return ptx_check_signature(c, sized ? "ax,iu" : "") && (!sized || in->operand[1].imm == 128 || FAIL(c, 3059, "operand 2 of '%s' is 128", c->name));
}

/* Types for an operation of atom and red (9.7.13.14, 9.7.13.15), as NVIDIA's tools accept them. */
static bool
check_atomic(struct check *c)
{
    const struct ptx_inst *in = c->in;
    ptx_type t = in->type[0];
    uint64_t bit = 1ull << t, types;
    bool half = S_HALF & bit, vector = in->vec > 1;
    switch (in->atomop) {
    case PTX_ATOM_AND: case PTX_ATOM_OR: case PTX_ATOM_XOR: types = S_B32 | S_B64; break;
    case PTX_ATOM_EXCH: types = S_B32 | S_B64 | S_B128; break;
    case PTX_ATOM_CAS: types = TB(B16) | S_B32 | S_B64 | S_B128; break;
    case PTX_ATOM_INC: case PTX_ATOM_DEC: types = S_U32; break;
    case PTX_ATOM_ADD: types = vector ? S_F32 | S_HALF : S_INT32 | S_U64 | S_FLT | S_HALF; break;
    default: types = vector ? S_HALF : S_INT32 | S_INT64; break;
    }
    if (in->op == PTX_OP_RED && (in->atomop == PTX_ATOM_EXCH || in->atomop == PTX_ATOM_CAS))
        return FAIL(c, 3044, "'red' has no such operation");
    if (!(types & bit) || (vector && in->atomop < PTX_ATOM_ADD))
        return FAIL(c, 3089, "'%s' has no such operation on %s.%s", c->name, vector ? "vectors of " : "", ptx_type_name(t));
    if (vector && (in->space != PTX_SPACE_GENERIC && in->space != PTX_SPACE_GLOBAL))
        return FAIL(c, 3045, "'%s' of vectors works in global memory only", c->name);
    if (in->vec == 8 && t != PTX_F16 && t != PTX_BF16)
        return FAIL(c, 3045, "'%s' of .%s takes no .v8", c->name, ptx_type_name(t));
    if (half != ((in->flags & PTX_F_NOFTZ) != 0))
        return FAIL(c, half ? 3044 : 3045, half ? "'%s' of .%s needs .noftz" : "'%s' of .%s takes no .noftz", c->name, ptx_type_name(t));
    return true;
}

bool
ptx_check_version(struct check *c, const char *what, unsigned min_ptx, unsigned min_sm)
{
    const struct ptx_module *m = c->p->m;
    if (m->version_major && m->version_major * 10 + m->version_minor < min_ptx)
        return FAIL(c, 3046, "%s'%s' came with PTX %u.%u, but the module says %u.%u", what, c->name, min_ptx / 10, min_ptx % 10, m->version_major,
                    m->version_minor);
    return m->sm >= min_sm || !m->sm || FAIL(c, 3047, "%s'%s' came with sm_%u, but the target is sm_%u", what, c->name, min_sm, m->sm);
}

bool
ptx_check_inst(struct parser *p, struct ptx_inst *in)
{
    const struct op_row *row = &ptx_op_rows[in->op];
    const unsigned version = p->m->version_major * 10u + p->m->version_minor;
    struct check c = { p, in, row, row->info.mnemonic, in->type[0], 1ull << in->type[0], version < 14 };
    if (!ptx_check_version(&c, "", row->info.min_ptx, row->info.min_sm))
        return false;
    if ((row->mods & M_RAW) || (in->noperands == 1 && in->operand[0].kind == PTX_OPND_TEXT))
        return true;
    for (unsigned i = 0; i < c.row->ntypes; i++)
        if (!in->type[i] && !(c.row->types[i] & S_OPT))
            return FAIL(&c, 3043, "'%s' needs %u type%s", c.row->info.mnemonic, c.row->ntypes, c.row->ntypes == 1 ? "" : "s");
    if (!ptx_check_form(&c))
        return false;
    if (row->mods & M_MATRIX)
        return ptx_check_matrix(&c);
    if (row->mods & (M_BULK | M_CANCEL))
        return ptx_check_bulk(&c);
    switch (in->op) {
    case PTX_OP_CREATEPOLICY: return check_policy(&c);
    case PTX_OP_FENCE: case PTX_OP_FENCE_PROXY: case PTX_OP_FENCE_MBARRIER_INIT: case PTX_OP_MEMBAR_PROXY: return check_fence(&c);
    case PTX_OP_ATOM: case PTX_OP_RED: return check_atomic(&c) && ptx_check_signature(&c, row->sig);
    case PTX_OP_MOV: return check_mov(&c);
    case PTX_OP_CALL: return check_call(&c);
    case PTX_OP_BAR: case PTX_OP_BARRIER: case PTX_OP_BARRIER_CLUSTER: return check_barrier(&c);
    case PTX_OP_CP_ASYNC: return check_cp_async(&c);
    case PTX_OP_CP_ASYNC_MBARRIER_ARRIVE: case PTX_OP_MBARRIER_INIT: case PTX_OP_MBARRIER_INVAL: case PTX_OP_MBARRIER_EXPECT_TX:
    case PTX_OP_MBARRIER_COMPLETE_TX: case PTX_OP_MBARRIER_ARRIVE: case PTX_OP_MBARRIER_ARRIVE_DROP: case PTX_OP_MBARRIER_TEST_WAIT:
    case PTX_OP_MBARRIER_TRY_WAIT: return check_mbarrier(&c);
    case PTX_OP_TEX: case PTX_OP_TLD4: case PTX_OP_SULD: case PTX_OP_SUST: case PTX_OP_SURED: return check_texture(&c);
    case PTX_OP_MULTIMEM_LD_REDUCE: case PTX_OP_MULTIMEM_ST: case PTX_OP_MULTIMEM_RED: return ptx_check_bulk(&c);
    default: return ptx_check_signature(&c, row->sig);
    }
}
