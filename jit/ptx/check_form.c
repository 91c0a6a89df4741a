/* SPDX-License-Identifier: Apache-2.0
 * Combinations of types and modifiers that the columns of ops.def allow individually but the PTX ISA forbids. Sections are those of the PTX
 * ISA 9.0. NVIDIA's assembler refuses the same combinations (tests/ptx/author/looser.py compares). */
#include "jit/ptx/check_private.h"

static bool
refuse(struct check *c, const char *modifier)
{
    return FAIL(c, 3045, "'%s' of .%s takes no %s", c->name, ptx_type_name(c->type), modifier);
}

static bool
require(struct check *c, const char *what)
{
    return FAIL(c, 3044, "'%s' of .%s needs %s", c->name, ptx_type_name(c->type), what);
}

static bool
rounds(struct check *c)
{
    return c->in->round >= PTX_RN && c->in->round <= PTX_RP;
}

static bool
is_float(ptx_type t)
{
    return ptx_type_class(t) == PTX_CLASS_FLOAT;
}

/* ---- modifiers of any instruction ---- */

static bool
needs(struct check *c)
{
    const struct ptx_inst *in = c->in;
    const uint64_t mods = c->row->mods;
    const char *what = mods & M_CMP && !in->cmp ? "a comparison" : mods & (M_SHFL | M_LR | M_VOTE | M_TESTP) && !in->mode ? "a mode"
                     : mods & M_LEVEL && !in->scope ? "a level" : NULL;
    switch (in->op) {
    case PTX_OP_FMA: what = in->round ? NULL : "a rounding mode"; break;
    case PTX_OP_ATOM: case PTX_OP_RED: case PTX_OP_REDUX: what = in->atomop ? NULL : "an operation"; break;
    case PTX_OP_ISSPACEP: case PTX_OP_CVTA: what = in->space ? NULL : "a state space"; break;
    default: break;
    }
    return !what || FAIL(c, 3044, "'%s' needs %s", c->name, what);
}

static bool
half_of_product(struct check *c)
{
    const uint8_t mode = c->in->mode;
    if (c->in->op == PTX_OP_MUL || c->in->op == PTX_OP_MAD) {
        if (!is_float(c->type) && !mode)
            return FAIL(c, 3044, "'%s' of integers needs .lo, .hi or .wide", c->name);
        if (is_float(c->type) && mode)
            return FAIL(c, 3045, "'%s' of floats takes no .lo, .hi or .wide", c->name);
        return mode != PTX_MODE_WIDE || ptx_type_bits(c->type) != 64 || FAIL(c, 3045, "'%s.wide' takes 16 or 32-bit types", c->name);
    }
    return mode == PTX_MODE_HI || mode == PTX_MODE_LO || FAIL(c, 3044, "'%s' needs .lo or .hi", c->name);
}

static bool
modifiers(struct check *c)
{
    const struct ptx_inst *in = c->in;
    const bool ftz = in->flags & PTX_F_FTZ, sat = in->flags & PTX_F_SAT, bf16 = c->bit & (TB(BF16) | TB(BF16X2)), ex2 = in->op == PTX_OP_EX2;
    const bool product = c->row->mods & M_HILO && in->op != PTX_OP_DP2A;
    if (!needs(c) || (product && !half_of_product(c)))
        return false;
    if (product && in->op != PTX_OP_MUL && in->op != PTX_OP_MAD && sat && (c->type != PTX_S32 || in->mode != PTX_MODE_HI))
        return FAIL(c, 3045, "only '%s.hi.s32' takes .sat", c->name);
    if (in->op == PTX_OP_MATCH && in->mode != PTX_MODE_ALL && in->mode != PTX_MODE_ANY)
        return FAIL(c, 3044, "'match' needs .any or .all");
    if (ex2 && bf16 && !ftz)
        return require(c, ".ftz");
    if (!in->flags && !in->round && !in->cmp)
        return true;
    const bool flt = is_float(c->type), one = c->row->ntypes == 1;
    if (ex2 && c->bit & (TB(F16) | TB(F16X2)) && ftz)
        return refuse(c, ".ftz");
    if (in->flags & PTX_F_NC && in->space != PTX_SPACE_GLOBAL)
        return FAIL(c, 3045, "'ld.nc' reads global memory only");
    if (in->cmp >= PTX_EQU && c->type && !is_float(in->op == PTX_OP_SET ? in->type[1] : c->type))
        return FAIL(c, 3045, "this comparison is for floats only");
    if (in->round && c->type && !flt)
        return FAIL(c, 3045, "'%s' of integers takes no rounding", c->name);
    if (ftz && one && (!flt || (c->type == PTX_F64 && !(in->flags & PTX_F_APPROX))))
        return FAIL(c, 3045, "'%s' takes .ftz with f32 and f16 types only", c->name);
    if (sat && (in->op == PTX_OP_ADD || in->op == PTX_OP_SUB || in->op == PTX_OP_MUL || in->op == PTX_OP_MAD) &&
        !(flt ? c->type != PTX_F64 : c->type == PTX_S32 && in->op != PTX_OP_MUL))
        return FAIL(c, 3045, "'%s' of this type takes no .sat", c->name);
    if (!ex2 && one && bf16 && (ftz || sat))
        return FAIL(c, 3045, "'%s' of .%s takes neither .ftz nor .sat", c->name, ptx_type_name(c->type));
    if (in->flags & PTX_F_CC && (flt || ptx_type_bits(c->type) < 32))
        return FAIL(c, 3045, "'%s.cc' takes 32 and 64-bit integers", c->name);
    return true;
}

/* ---- arithmetic (9.7.1 to 9.7.5) ---- */

static bool
arithmetic(struct check *c)
{
    const struct ptx_inst *in = c->in;
    if ((S_HALF & c->bit) && in->round > PTX_RN)
        return refuse(c, "rounding but .rn");
    if ((in->flags & PTX_F_SAT) && (c->bit & (S_F32X2 | TB(F64))))
        return refuse(c, ".sat");
    if ((in->flags & PTX_F_CC) && (c->bit & S_I16X2))
        return refuse(c, ".cc");
    if (in->op == PTX_OP_FMA) {
        if ((in->flags & PTX_F_RELU) && !(c->bit & S_HALF))
            return refuse(c, ".relu");
        if ((in->aux >> PTX_AUX_OOB & 1) && (!(c->bit & S_HALF) || in->flags & (PTX_F_FTZ | PTX_F_SAT)))
            return FAIL(c, 3045, "'fma.oob' is for f16 and bf16 types, without .ftz and .sat");
    }
    if (in->op == PTX_OP_MAD && !(c->bit & S_FLT) && (in->flags & PTX_F_SAT) && in->mode != PTX_MODE_HI)
        return FAIL(c, 3045, "only 'mad.hi.s32' takes .sat");
    if (in->op == PTX_OP_MAD && (c->bit & S_FLT) && !in->round && !c->old && c->p->m->sm >= 20)
        return require(c, "a rounding mode");
    return true;
}

static bool
min_max(struct check *c)
{
    const struct ptx_inst *in = c->in;
    bool halves = c->bit & S_HALF, f32 = c->type == PTX_F32;
    if ((in->flags & (PTX_F_NAN | PTX_F_XORSIGN_ABS)) && !halves && !f32)
        return refuse(c, in->flags & PTX_F_NAN ? ".NaN" : ".xorsign.abs");
    if ((in->flags & PTX_F_RELU) && c->type != PTX_S32 && c->type != PTX_S16X2)
        return refuse(c, ".relu");
    if (in->noperands > 3 && !f32)
        return FAIL(c, 3032, "'%s' of .%s takes 3 operands, not %u", c->name, ptx_type_name(c->type), in->noperands);
    return true;
}

/* div, rcp, sqrt, rsqrt, sin, cos, lg2, ex2, tanh: an approximation or a rounding mode, by type. */
static bool
functions(struct check *c)
{
    const struct ptx_inst *in = c->in;
    bool approx = in->flags & PTX_F_APPROX, full = in->flags & PTX_F_FULL, ftz = in->flags & PTX_F_FTZ;
    bool only_approx = in->op != PTX_OP_DIV && in->op != PTX_OP_RCP && in->op != PTX_OP_SQRT;
    if (in->op == PTX_OP_DIV && !(c->bit & S_FLT))
        return !(approx || full) || refuse(c, ".approx or .full");
    if (approx && full)
        return FAIL(c, 2013, "modifier .full contradicts .approx");
    if ((approx || full) && in->round)
        return FAIL(c, 2013, "a rounding mode contradicts .%s", approx ? "approx" : "full");
    if (c->type == PTX_F64) {
        bool has = in->op == PTX_OP_RSQRT || (in->op == PTX_OP_RCP && ftz);
        if ((approx && !has) || full)
            return refuse(c, approx ? ".approx" : ".full");
    }
    if (!approx && !full && !rounds(c) && !c->old)
        return require(c, only_approx ? ".approx" : in->op == PTX_OP_DIV ? ".approx, .full or a rounding mode" : ".approx or a rounding mode");
    return true;
}

/* ---- comparison (9.7.6) ---- */

static bool
comparison(struct check *c)
{
    const struct ptx_inst *in = c->in;
    bool set = in->op == PTX_OP_SET;
    ptx_type s = set ? in->type[1] : in->type[0], d = in->type[0];
    uint64_t bit = 1ull << s;
    bool half = bit & S_HALF, bits = bit & S_BITS, order = in->cmp == PTX_LT || in->cmp == PTX_LE || in->cmp == PTX_GT || in->cmp == PTX_GE;
    if (bits && order)
        return FAIL(c, 3045, "'%s' compares .%s with .eq and .ne only", c->name, ptx_type_name(s));
    if (in->cmp >= PTX_LO && in->cmp <= PTX_HS && s != PTX_U16 && s != PTX_U32 && s != PTX_U64)
        return FAIL(c, 3045, "'%s': .lo, .ls, .hi and .hs compare unsigned integers", c->name);
    if ((in->flags & PTX_F_FTZ) && s != PTX_F32 && s != PTX_F16 && s != PTX_F16X2)
        return FAIL(c, 3045, "'%s' of .%s takes no .ftz", c->name, ptx_type_name(s));
    if (set && d == PTX_BF16 && (in->flags & PTX_F_FTZ))
        return FAIL(c, 3045, "'set' to .bf16 takes no .ftz");
    if (!set)
        return !(in->noperands && in->operand[0].kind == PTX_OPND_PRED_PAIR && (s == PTX_F16 || s == PTX_BF16)) ||
               FAIL(c, 3039, "'setp' of .%s has one result", ptx_type_name(s));
    /* 9.7.6.1 demands 32-bit results; NVIDIA's tools also accept f16 and bf16, and packed operands give packed results. */
    uint64_t results = S_INT32 | S_F32 | TB(F16) | TB(BF16);
    if (half)
        results = S_INT32 | 1ull << s | (bit & (TB(F16X2) | TB(BF16X2)) ? 0 : S_INT16);
    if (s == PTX_BF16)
        results |= TB(BF16);
    if (s == PTX_F16)
        results |= TB(BF16);
    if (!(results >> d & 1))
        return FAIL(c, 3089, "'set' from .%s has no result of type .%s", ptx_type_name(s), ptx_type_name(d));
    return true;
}

/* ---- conversion (9.7.9.22) ---- */

/* Is every value of integer type s a value of type d? */
static bool
contains(ptx_type d, ptx_type s)
{
    unsigned db = ptx_type_bits(d), sb = ptx_type_bits(s);
    bool ds = ptx_type_class(d) == PTX_CLASS_SINT, ss = ptx_type_class(s) == PTX_CLASS_SINT;
    return ds == ss ? db >= sb : ds && db > sb;
}

/* Conversions other than those among integers, f16, bf16, f32 and f64. */
static const struct pair {
    uint64_t d, s;
    uint16_t rounds;            /* bits of ptx_round */
    uint32_t flags;
    uint8_t sources;
} pairs[] = {
    { TB(F16X2) | TB(BF16X2), S_F32, 1 << PTX_RN | 1 << PTX_RZ | 1 << PTX_RS, PTX_F_RELU | PTX_F_SATFINITE, 2 },
    { TB(F16X2), TB(E4M3X2) | TB(E5M2X2) | TB(E2M1X2) | TB(E2M3X2) | TB(E3M2X2), 1 << PTX_RN, PTX_F_RELU, 1 },
    { TB(BF16X2), TB(UE8M0X2), 1 << PTX_RN, 0, 1 },
    { TB(TF32), S_F32, 1 << PTX_RN | 1 << PTX_RZ | 1 << PTX_RNA, PTX_F_RELU | PTX_F_SATFINITE, 1 },
    { TB(E4M3X2) | TB(E5M2X2) | TB(E2M1X2) | TB(E2M3X2) | TB(E3M2X2), S_F32, 1 << PTX_RN, PTX_F_RELU | PTX_F_SATFINITE, 2 },
    { TB(E4M3X2) | TB(E5M2X2), TB(F16X2), 1 << PTX_RN, PTX_F_RELU | PTX_F_SATFINITE, 1 },
    { TB(UE8M0X2), S_F32, 1 << PTX_RZ | 1 << PTX_RP, PTX_F_SATFINITE, 2 },
    { TB(UE8M0X2), TB(BF16X2), 1 << PTX_RZ | 1 << PTX_RP, PTX_F_SATFINITE, 1 },
};

static bool
small_floats(struct check *c, ptx_type d, ptx_type s)
{
    const struct ptx_inst *in = c->in;
    const uint32_t checked = PTX_F_RELU | PTX_F_SATFINITE | PTX_F_FTZ | PTX_F_SAT;
    for (unsigned i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const struct pair *k = &pairs[i];
        if (!(k->d >> d & 1) || !(k->s >> s & 1))
            continue;
        unsigned want = 1u + k->sources + (in->round == PTX_RS);
        bool satfinite = in->flags & PTX_F_SATFINITE, micro = ptx_type_bits(d) <= 16 && s == PTX_F32 && k->sources == 2 && d != PTX_UE8M0X2;
        if (!(k->rounds >> in->round & 1) || (in->flags & checked & ~k->flags))
            return FAIL(c, 3045, "'cvt' from .%s to .%s does not take these modifiers", ptx_type_name(s), ptx_type_name(d));
        if (!satfinite && (micro || (k->s == TB(F16X2))))
            return FAIL(c, 3044, "'cvt' from .%s to .%s needs .satfinite", ptx_type_name(s), ptx_type_name(d));
        if (in->noperands != want)
            return FAIL(c, 3032, "'cvt' from .%s to .%s takes %u operands, not %u", ptx_type_name(s), ptx_type_name(d), want, in->noperands);
        return true;
    }
    return FAIL(c, 3089, "'cvt' has no conversion from .%s to .%s", ptx_type_name(s), ptx_type_name(d));
}

/* Modifiers among f16, bf16, f32 and f64, and between these and integers, as NVIDIA's tools accept them. */
static bool
takes_modifiers(const struct ptx_inst *in, ptx_type d, ptx_type s, bool ieee)
{
    const uint64_t floats = TB(F16) | TB(BF16) | S_FLT, both = 1ull << d | 1ull << s;
    const bool narrow = in->flags & (PTX_F_RELU | PTX_F_SATFINITE), to_half = ptx_type_bits(d) == 16;
    if ((in->flags & PTX_F_FTZ && !(both & S_F32)) || (in->flags & PTX_F_SAT && both & TB(BF16)))
        return false;
    if (both & ~floats)
        return !narrow;
    if (narrow && (s != PTX_F32 || !to_half || (in->round != PTX_RN && in->round != PTX_RZ) || in->flags & (PTX_F_FTZ | PTX_F_SAT)))
        return false;
    if (in->round == PTX_RNA || in->round == PTX_RS)
        return false;
    if (d == s)
        return !ieee;
    if ((to_half && ptx_type_bits(s) == 16) || s == PTX_BF16)
        return !in->round || ieee;
    return ptx_type_bits(d) < ptx_type_bits(s) ? ieee : !in->round;
}

static bool
conversion(struct check *c)
{
    const struct ptx_inst *in = c->in;
    ptx_type d = in->type[0], s = in->type[1];
    const uint64_t ints = S_INT | S_I8, floats = TB(F16) | TB(BF16) | S_FLT, plain = ints | floats, both = 1ull << d | 1ull << s;
    const bool whole = in->round >= PTX_RNI && in->round <= PTX_RPI, scaled = in->aux >> PTX_AUX_SCALED & 1;
    const bool rounded = is_float(d) && (!is_float(s) || (ptx_type_bits(d) < ptx_type_bits(s) && ptx_type_bits(d) >= 16));
    const char *dn = ptx_type_name(d), *sn = ptx_type_name(s);
    if (rounded && (!in->round || whole))
        return FAIL(c, 3044, "'cvt' from .%s to .%s needs .rn, .rz, .rm or .rp", sn, dn);
    if (!is_float(d) && is_float(s) && !whole)
        return FAIL(c, 3044, "'cvt' from .%s to .%s needs .rni, .rzi, .rmi or .rpi", sn, dn);
    if (!is_float(d) && !is_float(s) && in->round)
        return FAIL(c, 3045, "'cvt' between integers takes no rounding");
    if (both & floats && !(both & ~plain) && !takes_modifiers(in, d, s, rounds(c)))
        return FAIL(c, 3045, "'cvt' from .%s to .%s does not take these modifiers", sn, dn);
    if (in->type[2] || (scaled && both & ~plain))
        return true;            /* forms with scale factors: the emitter refuses them by name */
    if (scaled)
        return FAIL(c, 3045, "'cvt' from .%s to .%s takes no scale factor", sn, dn);
    if (both & ~plain)
        return small_floats(c, d, s);
    if (in->round == PTX_RNA || in->round == PTX_RS)
        return FAIL(c, 3045, "'cvt' from .%s to .%s takes neither .rna nor .rs", sn, dn);
    if (in->noperands != 2)
        return FAIL(c, 3032, "'cvt' from .%s to .%s takes 2 operands, not %u", sn, dn, in->noperands);
    if (both & ~ints)
        return true;
    if (in->flags & (PTX_F_FTZ | PTX_F_RELU | PTX_F_SATFINITE))
        return FAIL(c, 3045, "'cvt' between integers takes no modifier but .sat");
    if (in->flags & PTX_F_SAT && contains(d, s))
        return FAIL(c, 3045, "'cvt.sat' to .%s has nothing to saturate: it holds every .%s", dn, sn);
    return true;
}

/* ---- memory (9.7.9, 9.7.13) ---- */

enum { WEAK = 1 << PTX_SEM_WEAK, VOLATILE = 1 << PTX_SEM_VOLATILE, RELAXED = 1 << PTX_SEM_RELAXED, ACQUIRE = 1 << PTX_SEM_ACQUIRE,
       RELEASE = 1 << PTX_SEM_RELEASE, ACQ_REL = 1 << PTX_SEM_ACQ_REL, SC = 1 << PTX_SEM_SC, MMIO = 1 << PTX_SEM_MMIO };
enum { CA = 1 << PTX_CACHE_CA, CG = 1 << PTX_CACHE_CG, CS = 1 << PTX_CACHE_CS, LU = 1 << PTX_CACHE_LU, CV = 1 << PTX_CACHE_CV,
       WB = 1 << PTX_CACHE_WB, WT = 1 << PTX_CACHE_WT };
enum { GENERIC = 1 << PTX_SPACE_GENERIC, GLOBAL = 1 << PTX_SPACE_GLOBAL, SHARED = 1 << PTX_SPACE_SHARED, CONST = 1 << PTX_SPACE_CONST,
       LOCAL = 1 << PTX_SPACE_LOCAL, PARAM = 1 << PTX_SPACE_PARAM, CLUSTER = 1 << PTX_SPACE_SHARED_CLUSTER };
enum { L1 = 1, L2_WIDE = 2, L2_BYTES = 4, LEVEL = 8, TENSORMAP = 16 };

/* The values of each kind that an instruction accepts, as bits; `hints`: L1 eviction priorities, L2 ones (256-bit accesses only), .L2::64B
 * and its kind. */
static const struct access {
    ptx_op op;
    uint16_t spaces, sems, caches;
    uint8_t hints;
} accesses[] = {
    { PTX_OP_LD, GENERIC | GLOBAL | SHARED | CONST | LOCAL | PARAM | CLUSTER, WEAK | VOLATILE | RELAXED | ACQUIRE | MMIO, CA | CG | CS | LU | CV, L1 | L2_WIDE | L2_BYTES },
    { PTX_OP_ST, GENERIC | GLOBAL | SHARED | LOCAL | PARAM | CLUSTER, WEAK | VOLATILE | RELAXED | RELEASE | MMIO, WB | CG | CS | WT, L1 | L2_WIDE },
    { PTX_OP_LDU, GENERIC | GLOBAL, 0, 0, 0 },
    { PTX_OP_ATOM, GENERIC | GLOBAL | SHARED | CLUSTER, RELAXED | ACQUIRE | RELEASE | ACQ_REL, 0, 0 },
    { PTX_OP_RED, GENERIC | GLOBAL | SHARED | CLUSTER, RELAXED | RELEASE, 0, 0 },
    { PTX_OP_PREFETCH, GENERIC | GLOBAL | LOCAL | CONST | PARAM, 0, 0, LEVEL | TENSORMAP },
    { PTX_OP_PREFETCHU, GENERIC, 0, 0, LEVEL },
    { PTX_OP_APPLYPRIORITY, GENERIC | GLOBAL, 0, 0, 0 },
    { PTX_OP_DISCARD, GENERIC | GLOBAL, 0, 0, LEVEL },
};

static bool
hints(struct check *c, const struct access *a)
{
    const struct ptx_inst *in = c->in;
    unsigned cache = PTX_AUX(in, CACHE), l1 = PTX_AUX(in, EVICT), l2 = PTX_AUX(in, EVICT2);
    if (cache && !(a->caches >> cache & 1))
        return FAIL(c, 3045, "'%s' takes no such cache operator", c->name);
    bool wide = in->vec * ptx_type_bits(c->type) == 256;
    bool l2_ok = !l2 || (a->hints & L2_WIDE && wide) || in->op == PTX_OP_PREFETCH || (in->op == PTX_OP_APPLYPRIORITY && l2 == PTX_EVICT_NORMAL);
    if ((l1 && !(a->hints & L1)) || !l2_ok)
        return FAIL(c, 3045, "'%s' takes no such eviction priority", c->name);
    if (PTX_AUX(in, PREFETCH) && !(a->hints & L2_BYTES))
        return FAIL(c, 3045, "'%s' takes no prefetch size", c->name);
    if (PTX_AUX(in, LEVEL) && !(a->hints & LEVEL))
        return FAIL(c, 3045, "'%s' takes no cache level", c->name);
    if ((in->aux & PTX_AUX_TENSORMAP) && !(a->hints & TENSORMAP))
        return FAIL(c, 3045, "'%s' takes no .tensormap", c->name);
    return true;
}

/* prefetch{.global,.local}.L1/.L2, prefetch{.global}.L2::evict_..., prefetch{.const,.param}.tensormap; prefetchu.L1; discard.L2 and
 * applypriority.L2::evict_normal of 128 bytes. */
static bool
cache_control(struct check *c)
{
    const struct ptx_inst *in = c->in;
    unsigned level = PTX_AUX(in, LEVEL), l2 = PTX_AUX(in, EVICT2);
    bool tensormap = in->aux & PTX_AUX_TENSORMAP, ok, plain = in->space == PTX_SPACE_GENERIC || in->space == PTX_SPACE_GLOBAL;
    if (in->aux & PTX_AUX_CACHE_HINT)
        return FAIL(c, 3045, "'%s' takes no .L2::cache_hint", c->name);
    switch (in->op) {
    case PTX_OP_PREFETCH:
        if (tensormap)
            ok = !level && !l2 && (in->space == PTX_SPACE_GENERIC || in->space == PTX_SPACE_CONST || in->space == PTX_SPACE_PARAM);
        else if (l2)
            ok = !level && plain && (l2 == PTX_EVICT_LAST || l2 == PTX_EVICT_NORMAL);
        else
            ok = level && (plain || in->space == PTX_SPACE_LOCAL);
        break;
    case PTX_OP_PREFETCHU: ok = level == 1; break;
    case PTX_OP_DISCARD:   ok = level == 2; break;
    default:               ok = l2 == PTX_EVICT_NORMAL; break;
    }
    if (!ok)
        return FAIL(c, 3044, "'%s' has no such combination of space, cache level and priority", c->name);
    const struct ptx_operand *size = in->noperands > 1 ? &in->operand[1] : NULL;
    if (size && (size->kind != PTX_OPND_IMM || size->imm != 128))
        return FAIL(c, 3059, "operand 2 of '%s' is 128", c->name);
    return true;
}

static bool
vectors(struct check *c)
{
    const struct ptx_inst *in = c->in;
    unsigned bits = ptx_type_bits(c->type) * (in->vec ? in->vec : 1);

    if (in->space == PTX_SPACE_PARAM && in->op == PTX_OP_ST && c->type == PTX_B128)
        return FAIL(c, 3089, "'st.param' has no type .b128");
    bool wide = bits == 256 && ptx_type_bits(c->type) >= 32 && ptx_type_bits(c->type) <= 64 && in->op != PTX_OP_LDU;
    if (c->bit & S_HALF)
        return FAIL(c, 3089, "'%s' has no type .%s: .b16 and .b32 move its bits", c->name, ptx_type_name(c->type));
    if (in->vec > 1 && bits > 128 && !wide)
        return FAIL(c, 3045, "'%s' of .%s takes no .v%u", c->name, ptx_type_name(c->type), in->vec);
    if (in->vec == 8 && !wide && in->op == PTX_OP_LDU)      /* ld and st of small types accept any size up to 128 bits */
        return FAIL(c, 3045, "'%s' of .%s takes no .v8", c->name, ptx_type_name(c->type));
    return true;
}

static bool
memory(struct check *c, const struct access *a)
{
    const struct ptx_inst *in = c->in;
    bool strong = in->sem == PTX_SEM_RELAXED || in->sem == PTX_SEM_ACQUIRE || in->sem == PTX_SEM_RELEASE || in->sem == PTX_SEM_MMIO;
    bool atomic = in->op == PTX_OP_ATOM || in->op == PTX_OP_RED;
    if (!(a->spaces >> in->space & 1))
        return FAIL(c, 3045, "'%s' does not work in this state space", c->name);
    if (in->sem && !(a->sems >> in->sem & 1))
        return FAIL(c, 3045, "'%s' takes no such memory semantics", c->name);
    if (!hints(c, a))
        return false;
    if (!c->type)
        return cache_control(c);
    if (atomic) {
        bool b128 = c->type == PTX_B128, b16 = in->atomop == PTX_ATOM_CAS && c->type == PTX_B16;
        return !((b128 || b16) && in->aux & PTX_AUX_CACHE_HINT) || refuse(c, ".L2::cache_hint");
    }
    if (strong && !in->scope)
        return FAIL(c, 3044, "'%s' with .relaxed, .acquire, .release or .mmio needs a scope", c->name);
    if (in->scope && !strong)
        return FAIL(c, 3045, "'%s' takes a scope with .relaxed, .acquire or .release only", c->name);
    if (in->sem == PTX_SEM_MMIO && in->scope != PTX_SCOPE_SYS)
        return FAIL(c, 3044, "'%s.mmio' is .mmio.relaxed.sys", c->name);
    return vectors(c);
}

/* ---- warp functions and others ---- */

/* Warp functions (9.7.14). */
static bool
warp(struct check *c)
{
    const struct ptx_inst *in = c->in;
    const struct ptx_operand *d = in->noperands ? &in->operand[0] : NULL;
    switch (in->op) {
    case PTX_OP_VOTE:
        if ((in->mode == PTX_MODE_BALLOT) != (c->type == PTX_B32))
            return FAIL(c, 3045, "'vote.ballot' gives .b32, the other modes .pred");
        return true;
    case PTX_OP_MATCH:
        return (in->flags & PTX_F_SYNC) || FAIL(c, 3044, "'match' needs .sync");
    case PTX_OP_ELECT:
        if (!(in->flags & PTX_F_SYNC) || !d || d->kind != PTX_OPND_PRED_PAIR)
            return FAIL(c, 3044, "'elect' is elect.sync with a result d|p");
        return true;
    default: {
        bool minmax = in->atomop == PTX_ATOM_MIN || in->atomop == PTX_ATOM_MAX, bits = in->atomop >= PTX_ATOM_AND && in->atomop <= PTX_ATOM_XOR;
        uint64_t types = bits ? S_B32 : minmax ? S_INT32 | S_F32 : in->atomop == PTX_ATOM_ADD ? S_INT32 : 0;
        if (!(in->flags & PTX_F_SYNC))
            return FAIL(c, 3044, "'redux' needs .sync");
        if (!(types & c->bit))
            return FAIL(c, 3089, "'redux' has no such operation on .%s", ptx_type_name(c->type));
        return !(in->flags & (PTX_F_ABS | PTX_F_NAN)) || c->type == PTX_F32 || refuse(c, ".abs or .NaN");
    }
    }
}

static bool
video(struct check *c)
{
    const struct ptx_inst *in = c->in;
    bool minmax = in->atomop == PTX_ATOM_MIN || in->atomop == PTX_ATOM_MAX, simd = c->name[strlen(c->name) - 1] <= '9';
    if (in->atomop && in->atomop != PTX_ATOM_ADD && (simd || !minmax))
        return FAIL(c, 3045, simd ? "'%s' takes no second operation but .add" : "'%s' takes no second operation but .add, .min and .max", c->name);
    if (in->atomop && in->noperands < 4)
        return FAIL(c, 3032, "'%s' takes 4 operands in this form, not %u", c->name, in->noperands);
    if (in->cmp >= PTX_LO)
        return FAIL(c, 3045, "'%s' compares with .eq .ne .lt .le .gt .ge", c->name);
    if ((in->op == PTX_OP_VSHL || in->op == PTX_OP_VSHR)) {
        if (!(in->flags & (PTX_F_CLAMP | PTX_F_WRAP)))
            return FAIL(c, 3044, "'%s' needs .clamp or .wrap", c->name);
        if (in->type[2] != PTX_U32)
            return FAIL(c, 3089, "the shift of '%s' is .u32", c->name);
    }
    return true;
}

static bool
mbarrier_order(struct check *c)
{
    const struct ptx_inst *in = c->in;
    bool tx = in->op == PTX_OP_MBARRIER_EXPECT_TX || in->op == PTX_OP_MBARRIER_COMPLETE_TX;
    if ((in->sem != PTX_SEM_NONE) != (in->scope != PTX_SCOPE_NONE))
        return FAIL(c, 3044, "'%s' takes semantics and scope together", c->name);
    if (in->scope > PTX_SCOPE_CLUSTER)
        return FAIL(c, 3045, "'%s' takes no scope beyond .cluster", c->name);
    return !tx || !in->sem || in->sem == PTX_SEM_RELAXED || FAIL(c, 3045, "'%s' takes .relaxed only", c->name);
}

static bool
others(struct check *c)
{
    const struct ptx_inst *in = c->in;
    switch (in->op) {
    case PTX_OP_SELP:
        return c->type != PTX_PRED || FAIL(c, 3089, "'selp' has no type .pred");
    case PTX_OP_SLCT:
        return !(in->flags & PTX_F_FTZ) || in->type[1] == PTX_F32 || FAIL(c, 3045, "'slct.ftz' needs a last operand of type .f32");
    case PTX_OP_SHF: case PTX_OP_BMSK: case PTX_OP_SZEXT:
        return (in->flags & (PTX_F_CLAMP | PTX_F_WRAP)) || FAIL(c, 3044, "'%s' needs .clamp or .wrap", c->name);
    case PTX_OP_DP2A:
        return in->mode == PTX_MODE_LO || in->mode == PTX_MODE_HI || FAIL(c, 3044, "'dp2a' needs .lo or .hi");
    case PTX_OP_LOP3:
        if (in->boolop == PTX_BOOL_XOR)
            return FAIL(c, 3045, "'lop3' takes .and and .or");
        return !in->noperands || (in->operand[0].kind == PTX_OPND_PRED_PAIR) == (in->boolop != PTX_BOOL_NONE) ||
               FAIL(c, 3044, "'lop3' has a result d|p with .and and .or only");
    case PTX_OP_ABS: case PTX_OP_NEG:
        return c->type != PTX_S16X2 || FAIL(c, 3089, "'%s' has no type .s16x2", c->name);
    case PTX_OP_CVT_PACK: {
        unsigned want = ptx_type_bits(c->type) == 16 ? 3 : 4;
        if (!(in->flags & PTX_F_SAT))
            return FAIL(c, 3044, "'cvt.pack' needs .sat");
        return (in->noperands == want && (want == 4) == (in->type[2] != PTX_NONE)) ||
               FAIL(c, 3032, "'cvt.pack' to .%s takes %u operands%s", ptx_type_name(c->type), want, want == 4 ? ", the last of type .b32" : "");
    }
    case PTX_OP_TXQ: case PTX_OP_SUQ: {
        unsigned q = PTX_AUX(in, QUERY);
        bool sampler = q >= PTX_QUERY_NUM_MIPMAP_LEVELS && q <= PTX_QUERY_ADDR_MODE_2;
        if (in->op == PTX_OP_TXQ && (in->noperands == 3) != (PTX_AUX(in, LOD) != 0))
            return FAIL(c, 3032, "'txq' takes a level with .level, and only then");
        return (q && !(in->op == PTX_OP_SUQ && (sampler || q == PTX_QUERY_NORMALIZED_COORDS || PTX_AUX(in, LOD)))) ||
               FAIL(c, 3044, "'%s' needs a query that it knows", c->name);
    }
    case PTX_OP_MBARRIER_INIT: case PTX_OP_MBARRIER_INVAL: case PTX_OP_CP_ASYNC_MBARRIER_ARRIVE:
        return in->space != PTX_SPACE_SHARED_CLUSTER || FAIL(c, 3045, "'%s' takes no .shared::cluster", c->name);
    case PTX_OP_MBARRIER_TEST_WAIT: case PTX_OP_MBARRIER_TRY_WAIT:
        if (in->space == PTX_SPACE_SHARED_CLUSTER)
            return FAIL(c, 3045, "'%s' takes no .shared::cluster", c->name);
        return mbarrier_order(c);
    case PTX_OP_MBARRIER_ARRIVE: case PTX_OP_MBARRIER_ARRIVE_DROP:      /* another block's object returns no state */
        if (in->space == PTX_SPACE_SHARED_CLUSTER && in->noperands && in->operand[0].kind == PTX_OPND_REG)
            return FAIL(c, 3039, "'%s.shared::cluster' has no result but '_'", c->name);
        return mbarrier_order(c);
    case PTX_OP_MBARRIER_EXPECT_TX: case PTX_OP_MBARRIER_COMPLETE_TX:
        return mbarrier_order(c);
    case PTX_OP_MAPA: case PTX_OP_GETCTARANK:
        return in->space == PTX_SPACE_GENERIC || in->space == PTX_SPACE_SHARED_CLUSTER ||
               FAIL(c, 3045, "'%s' takes no state space but .shared::cluster", c->name);
    default:
        return true;
    }
}

bool
ptx_check_form(struct check *c)
{
    const struct ptx_inst *in = c->in;
    if (in->op == PTX_OP_CVT)
        return conversion(c);
    if (!modifiers(c))
        return false;
    if (in->round == PTX_RNA || in->round == PTX_RS)
        return FAIL(c, 3045, "only 'cvt' rounds with .rna and .rs");
    for (unsigned i = 0; i < sizeof accesses / sizeof *accesses; i++)
        if (accesses[i].op == in->op)
            return memory(c, &accesses[i]);
    if (in->op >= PTX_OP_VADD && in->op <= PTX_OP_VSET4 && in->op != PTX_OP_VMAD)
        return video(c);
    switch (in->op) {
    case PTX_OP_ADD: case PTX_OP_SUB: case PTX_OP_MUL: case PTX_OP_MAD: case PTX_OP_FMA:
        return arithmetic(c);
    case PTX_OP_MIN: case PTX_OP_MAX:
        return min_max(c);
    case PTX_OP_DIV: case PTX_OP_RCP: case PTX_OP_SQRT: case PTX_OP_RSQRT: case PTX_OP_SIN: case PTX_OP_COS: case PTX_OP_LG2:
    case PTX_OP_EX2: case PTX_OP_TANH:
        return functions(c);
    case PTX_OP_SET: case PTX_OP_SETP:
        return comparison(c);
    case PTX_OP_VOTE: case PTX_OP_MATCH: case PTX_OP_ELECT: case PTX_OP_REDUX:
        return warp(c);
    default:
        return others(c);
    }
}
