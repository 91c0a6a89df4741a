/* SPDX-License-Identifier: Apache-2.0
 * CWI_BOUND: how far each result may be from what exact arithmetic gives along the same path (bounds.h says what that covers). Each register has an
 * f64 beside it, how far its value may be off, 0 for exact ones; each four bytes of memory have one in CWI_VARIABLE. All of this is computed
 * rounding up. Infinity is "no bound".
 *
 * $bad, 0 or infinity, is added to all that the thread stores and hands to others: a decision of it (a comparison, a conversion to an integer that is
 * an address, ...) could have been another. */
#include "replay/instrument_private.h"

#include <stdio.h>
#include <string.h>

#define INFINITE "0d7FF0000000000000"
#define SOURCES 4
#define UPPER "0dBFF0000000000000"         /* the second word of an f64 whose bound the first one has */

/* ---- what cannot be done ------------------------------------------------------------------------------------------------------ */

const char *
cwi_bound_refusal(const struct ptx_function *fn, const struct ptx_inst *in)
{
    const char *why = cwi_bound_refuses_matrix(in);
    if (why)
        return why;
    if (cwi_hidden(in) && in->op != PTX_OP_STMATRIX && in->op != PTX_OP_WMMA_STORE)
        return "an instruction that writes memory unseen";
    switch (in->op) {
    case PTX_OP_CP_ASYNC:       return in->noperands == 3 && in->operand[2].kind == PTX_OPND_IMM ? NULL : "asynchronous copies of part of their size";
    case PTX_OP_ELECT: case PTX_OP_ACTIVEMASK: return "elect and activemask";
    case PTX_OP_BAR: case PTX_OP_BARRIER: return in->mode == PTX_MODE_RED ? "barriers that reduce" : NULL;
    case PTX_OP_SHFL: case PTX_OP_VOTE: return in->flags & PTX_F_SYNC ? NULL : "shuffles and votes without .sync";
    default: break;
    }
    bool upper;
    uint32_t reg;
    for (unsigned part = 0; (reg = cwi_result_register(fn, in, part, &upper)) != UINT32_MAX; part++)
        if (ptx_type_bits((ptx_type)fn->regs[reg].type) > 64)
            return "registers of 128 bits";
    return NULL;
}

/* ---- the function and the head ------------------------------------------------------------------------------------------------ */

/* s = where the bounds of global address a are; 0: it is in no buffer of the launch. Entries of 32 bytes from CWI_HEADER on: begin, size, where. */
void
cwi_bound_function(struct rewrite *w)
{
    cwi_put(w, " .func (.reg .b64 $s) cudaway_slot(.reg .b64 $a) { .reg .pred $p; .reg .b64 $log, $n, $at, $t, $u;"
               " mov.u64 $log, " CWI_VARIABLE "; ld.global.u64 $n, [$log+%d]; mov.u64 $at, 0; mov.u64 $s, 0;"
               " CUDAWAY_NEXT: setp.ge.u64 $p, $at, $n; @$p bra CUDAWAY_DONE; shl.b64 $t, $at, 5; add.u64 $t, $t, $log; ld.global.u64 $u, [$t+%d]; sub.u64 $u, $a, $u;"
               " ld.global.u64 $t, [$t+%d]; setp.lt.u64 $p, $u, $t; shl.b64 $t, $at, 5; add.u64 $t, $t, $log; ld.global.u64 $t, [$t+%d]; and.b64 $u, $u, -4;"
               " shl.b64 $u, $u, 1; add.u64 $u, $u, $t; add.u64 $u, $u, $log; selp.b64 $s, $u, $s, $p; add.u64 $at, $at, 1; bra CUDAWAY_NEXT; CUDAWAY_DONE: ret; }",
            CWI_START * 8, CWI_HEADER, CWI_HEADER + 8, CWI_HEADER + 16);
    cwi_bound_matrix_functions(w);
}

void
cwi_bound_prologue(struct rewrite *w)
{
    cwi_put(w, " .reg .f64 $e<%u>; .reg .f64 $va, $vb, $vc, $vd, $ea, $eb, $ec, $ed, $r, $er, $u0, $u1, $u2, $bad; .reg .b64 $sl, $lsize, $mine; .reg .pred $keep;"
               " .reg .f32 $old; .reg .f64 $many, $ma, $mb, $na, $nb, $d<8>; .reg .b16 $h2; .reg .pred $counting, $settled; ld.global.u64 $v, [$log+%d]; cvt.rp.f64.u64 $many, $v; setp.eq.u64 $counting, $v, 0; not.pred $settled, $counting;"
               " mov.f64 $bad, 0d0000000000000000;", w->fn->nregs + 1, CWI_COUNT * 8);
    for (uint32_t i = 0; i < w->fn->nregs; i++)
        cwi_put(w, " mov.f64 $e%u, 0d0000000000000000;", i);
    /* This block's bounds of shared memory. */
    cwi_put(w, " ld.global.u64 $v, [$log+%d]; mul.lo.u64 $v, $v, $block; ld.global.u64 $mine, [$log+%d]; add.u64 $mine, $mine, $v; add.u64 $mine, $mine, $log;", CWI_SIZE * 8,
            CWI_ROOM * 8);
    /* It begins at 0, in each function. */
    cwi_put(w, " ld.global.u64 $lsize, [$log+%d]; shr.u64 $lsize, $lsize, 1;", CWI_SIZE * 8);
    cwi_bound_frame(w);
}

/* ---- operands ------------------------------------------------------------------------------------------------------------------ */

static const char letters[] = "abcd";

static bool
is_register(const struct rewrite *w, const struct ptx_operand *o)
{
    return o->kind == PTX_OPND_REG && w->fn->regs[o->index].type != PTX_PRED;
}

/* $eX = how far the operand is off. */
void
cwi_bound_take(struct rewrite *w, const struct ptx_operand *o, char x)
{
    if (is_register(w, o))
        cwi_put(w, " mov.f64 $e%c, $e%u;", x, o->index);
    else
        cwi_put(w, " mov.f64 $e%c, 0d0000000000000000;", x);
}

/* $vX = its value. */
void
cwi_bound_value(struct rewrite *w, const struct ptx_operand *o, unsigned type, char x)
{
    uint64_t bits = (uint64_t)o->imm;
    if (o->kind == PTX_OPND_IMM && type == PTX_F32 && !o->imm_f32) {
        double d;
        float f;
        uint32_t b;
        memcpy(&d, &o->imm, sizeof d);
        f = o->is_float ? (float)d : (float)o->imm;
        memcpy(&b, &f, sizeof b);
        bits = b;
    }
    if (o->kind == PTX_OPND_REG && type == PTX_F64)
        cwi_put(w, " mov.b64 $v%c, %s;", x, w->fn->regs[o->index].name);
    else if (o->kind == PTX_OPND_REG)
        cwi_put(w, " cvt.f64.%s $v%c, %s;", ptx_type_name((ptx_type)type), x, w->fn->regs[o->index].name);
    else if (o->kind == PTX_OPND_IMM && type == PTX_F32)
        cwi_put(w, " cvt.f64.f32 $v%c, 0f%08X;", x, (unsigned)bits);
    else if (o->kind == PTX_OPND_IMM && type == PTX_F64)
        cwi_put(w, " mov.f64 $v%c, 0d%016llX;", x, (unsigned long long)bits);
    else
        cwi_put(w, " mov.f64 $v%c, " INFINITE ";", x);
    if (o->negate)
        cwi_put(w, " neg.f64 $v%c, $v%c;", x, x);
}

/* er = infinity if a source register, an address among them, is not exact; from `first` on. */
void
cwi_bound_inexact(struct rewrite *w, const struct ptx_inst *in, unsigned first)
{
    cwi_put(w, " mov.f64 $er, 0d0000000000000000;");
    for (unsigned i = first; i < in->noperands; i++) {
        const struct ptx_operand *o = &in->operand[i];
        if (is_register(w, o) || (o->kind == PTX_OPND_ADDR && o->has_reg))
            cwi_put(w, " add.rp.f64 $er, $er, $e%u;", o->index);
        for (unsigned k = 0; o->kind == PTX_OPND_VEC && k < o->count; k++)
            if (is_register(w, &o->elem[k]))
                cwi_put(w, " add.rp.f64 $er, $er, $e%u;", o->elem[k].index);
    }
    cwi_put(w, " setp.neu.f64 $q, $er, 0d0000000000000000; selp.f64 $er, " INFINITE ", 0d0000000000000000, $q;");
}

/* Under the instruction's guard, which is in $keep where it has one. */
#define RESULT "%cudaway_er"
#define NONE   "0d0000000000000000"

static const char *
under(const struct ptx_inst *in)
{
    return in->has_guard ? "@%cudaway_keep " : "";
}

void
cwi_bound_set(struct rewrite *w, const struct ptx_inst *in, uint32_t reg, const char *from)
{
    cwi_put(w, " %smov.f64 $e%u, %s;", under(in), reg, from);
}

void
cwi_bound_results(struct rewrite *w, const struct ptx_inst *in, const char *from)
{
    bool upper;
    uint32_t reg;
    for (unsigned part = 0; (reg = cwi_result_register(w->fn, in, part, &upper)) != UINT32_MAX; part++) {
        if (w->fn->regs[reg].type == PTX_PRED)          /* a decision */
            cwi_put(w, " %sadd.f64 $bad, $bad, %s;", under(in), from);
        else
            cwi_bound_set(w, in, reg, from);
    }
}

/* ---- rounding -------------------------------------------------------------------------------------------------------------------- */

struct format {
    const char *unit, *least, *tiny;    /* half a unit in the last place of 1; half the least subnormal; the least normal number */
};

static const struct format f32 = { "0d3E70000000000000", "0d3690000000000000", "0d3810000000000000" }, f64 = { "0d3CA0000000000000", "0d0000000000000001", "0d0010000000000000" };

/* er += `half` half units of the result r, and `least` twice the least number's half. */
static void
add_rounding(struct rewrite *w, unsigned type, bool ftz, bool directed, const char *factor)
{
    const struct format *f = type == PTX_F64 ? &f64 : &f32;
    cwi_put(w, " abs.f64 $u0, $r; mul.rp.f64 $u0, $u0, %s; add.rp.f64 $u0, $u0, %s;", factor ? factor : f->unit, ftz ? f->tiny : f->least);
    if (directed)
        cwi_put(w, " add.rp.f64 $u0, $u0, $u0;");
    cwi_put(w, " add.rp.f64 $er, $er, $u0;");
}

/* ---- float instructions ------------------------------------------------------------------------------------------------------------ */

/* u1 = ea / (va - ea), for functions whose slope is at most c / va; infinity where va may be 0. */
static void
relative_error(struct rewrite *w)
{
    cwi_put(w, " abs.f64 $u1, $va; sub.rm.f64 $u1, $u1, $ea; setp.gt.f64 $q, $u1, 0d0000000000000000; div.rp.f64 $u1, $ea, $u1; selp.f64 $u1, $u1, " INFINITE ", $q;"
               " setp.eq.f64 $q, $ea, 0d0000000000000000; selp.f64 $u1, 0d0000000000000000, $u1, $q;");
}

/* er = va * eb + vb * ea + ea * eb */
static void
product_error(struct rewrite *w)
{
    cwi_put(w, " abs.f64 $u0, $va; abs.f64 $u1, $vb; mul.rp.f64 $er, $u0, $eb; fma.rp.f64 $er, $u1, $ea, $er; fma.rp.f64 $er, $ea, $eb, $er;");
}

/* Whether er and the rounding are known for it; before the instruction va, ... and ea, ... are taken, behind it r is the result. */
static bool
known_float(const struct ptx_inst *in)
{
    unsigned type = in->type[0];
    if ((type != PTX_F32 && type != PTX_F64) || in->flags & (PTX_F_RELU | PTX_F_XORSIGN_ABS))
        return false;
    bool approximate = in->flags & (PTX_F_APPROX | PTX_F_FULL);
    switch (in->op) {
    case PTX_OP_ADD: case PTX_OP_SUB: case PTX_OP_MUL: case PTX_OP_MAD: case PTX_OP_FMA: case PTX_OP_ABS: case PTX_OP_NEG: case PTX_OP_MIN: case PTX_OP_MAX:
        return true;
    case PTX_OP_DIV: case PTX_OP_RCP: case PTX_OP_SQRT:
        return type == PTX_F32 || !approximate;
    case PTX_OP_RSQRT: case PTX_OP_SIN: case PTX_OP_COS: case PTX_OP_LG2: case PTX_OP_EX2: case PTX_OP_TANH:
        return type == PTX_F32;
    default:
        return false;
    }
}

static void
behind_function(struct rewrite *w, const struct ptx_inst *in)
{
    switch (in->op) {
    case PTX_OP_RCP: case PTX_OP_SQRT: case PTX_OP_RSQRT: case PTX_OP_DIV:
        if (in->op == PTX_OP_DIV)               /* (ea + r eb) / (vb - eb) */
            cwi_put(w, " abs.f64 $u2, $r; fma.rp.f64 $u2, $u2, $eb, $ea; mov.f64 $va, $vb; mov.f64 $u0, $ea; mov.f64 $ea, $eb; abs.f64 $u1, $va; sub.rm.f64 $u1, $u1, $ea;"
                       " setp.gt.f64 $q, $u1, 0d0000000000000000; div.rp.f64 $er, $u2, $u1; selp.f64 $er, $er, " INFINITE ", $q; setp.eq.f64 $q, $u2, 0d0000000000000000;"
                       " selp.f64 $er, 0d0000000000000000, $er, $q;");
        else {                                  /* slopes: r / x, r / 2x, r / 2x; for rsqrt over the interval at most r (x / (x - e))^1/2 times more */
            relative_error(w);
            cwi_put(w, " abs.f64 $u0, $r; mul.rp.f64 $er, $u0, $u1; setp.eq.f64 $q, $u1, 0d0000000000000000; selp.f64 $er, 0d0000000000000000, $er, $q;");
            if (in->op == PTX_OP_RSQRT)
                cwi_put(w, " add.rp.f64 $u1, $u1, 0d3FF0000000000000; mul.rp.f64 $er, $er, $u1;");
        }
        break;
    case PTX_OP_LG2:                            /* 1 / (x ln 2) */
        relative_error(w);
        cwi_put(w, " mul.rp.f64 $er, $u1, 0d3FF8000000000000;");
        break;
    case PTX_OP_EX2:                            /* r (2^e - 1) <= 1.5 r e for e up to 1 */
        cwi_put(w, " abs.f64 $u0, $r; mul.rp.f64 $er, $u0, $ea; mul.rp.f64 $er, $er, 0d3FF8000000000000; setp.le.f64 $q, $ea, 0d3FF0000000000000; selp.f64 $er, $er, " INFINITE ", $q;");
        break;
    default:                                    /* sin, cos, tanh: slope at most 1 */
        cwi_put(w, " mov.f64 $er, $ea;");
    }
}

/* The error of approximate functions, PTX ISA 9.7.3, and what docs/approximations.md measured where that is more. */
static void
add_approximation(struct rewrite *w, const struct ptx_inst *in)
{
    bool ftz = in->flags & PTX_F_FTZ;
    switch (in->op) {
    case PTX_OP_DIV:                            /* 2 ulp; .approx: of divisors up to 2^126 */
        add_rounding(w, PTX_F32, ftz, true, "0d3E80000000000000");
        if (in->flags & PTX_F_APPROX)
            cwi_put(w, " abs.f64 $u0, $va; setp.le.f64 $q, $u0, 0d47D0000000000000; selp.f64 $er, $er, " INFINITE ", $q;");
        break;
    case PTX_OP_RCP: case PTX_OP_SQRT: case PTX_OP_RSQRT: case PTX_OP_EX2:      /* 1 ulp, 1 ulp, 2^-22.9, 2^-22 */
        add_rounding(w, PTX_F32, ftz, true, "0d3E80000000000000");
        break;
    case PTX_OP_LG2:                            /* 2^-21 of the result, absolute below 1 */
        cwi_put(w, " abs.f64 $u0, $r; max.f64 $u0, $u0, 0d3FF0000000000000; fma.rp.f64 $er, $u0, 0d3EA0000000000000, $er;");
        break;
    case PTX_OP_TANH:                           /* 2^-11 */
        cwi_put(w, " abs.f64 $u0, $r; fma.rp.f64 $er, $u0, 0d3F40000000000000, $er;");
        break;
    default:                                    /* sin, cos: 2^-20 up to 2 pi */
        cwi_put(w, " add.rp.f64 $er, $er, 0d3EB0000000000000; abs.f64 $u0, $va; setp.le.f64 $q, $u0, 0d401921FB60000000; selp.f64 $er, $er, " INFINITE ", $q;");
    }
}

static void
before_float(struct rewrite *w, const struct ptx_inst *in)
{
    for (unsigned i = 1; i < in->noperands && i <= SOURCES; i++) {
        cwi_bound_value(w, &in->operand[i], in->type[0], letters[i - 1]);
        cwi_bound_take(w, &in->operand[i], letters[i - 1]);
        if (in->flags & PTX_F_FTZ && in->op != PTX_OP_ABS && in->op != PTX_OP_NEG && in->op != PTX_OP_MIN && in->op != PTX_OP_MAX)     /* a subnormal source is 0: an error only then */
            cwi_put(w, " abs.f64 $u0, $v%c; setp.lt.f64 $q, $u0, %s; selp.f64 $u1, $u0, 0d0000000000000000, $q; add.rp.f64 $e%c, $e%c, $u1;", letters[i - 1], f32.tiny, letters[i - 1],
                    letters[i - 1]);
    }
}

static void
behind_float(struct rewrite *w, const struct ptx_inst *in)
{
    bool ftz = in->flags & PTX_F_FTZ, rounds = true, approximate = in->flags & (PTX_F_APPROX | PTX_F_FULL);
    struct ptx_operand result = in->operand[0];
    if (result.kind != PTX_OPND_REG)
        return;
    result.negate = false;
    cwi_bound_value(w, &result, in->type[0], 'd');
    cwi_put(w, " mov.f64 $r, $vd;");
    switch (in->op) {
    case PTX_OP_ADD: case PTX_OP_SUB:
        cwi_put(w, " add.rp.f64 $er, $ea, $eb;");
        break;
    case PTX_OP_MUL:
        product_error(w);
        break;
    case PTX_OP_MAD: case PTX_OP_FMA:
        product_error(w);
        cwi_put(w, " add.rp.f64 $er, $er, $ec;");
        break;
    case PTX_OP_ABS: case PTX_OP_NEG: case PTX_OP_MIN: case PTX_OP_MAX:
        cwi_put(w, " mov.f64 $er, $ea;");
        for (unsigned i = 2; i < in->noperands && i <= SOURCES; i++)
            cwi_put(w, " max.f64 $er, $er, $e%c;", letters[i - 1]);
        rounds = false;
        break;
    default:
        behind_function(w, in);
    }
    if (approximate)
        add_approximation(w, in);
    else if (rounds)
        add_rounding(w, in->type[0], ftz, in->round != PTX_RND_NONE && in->round != PTX_RN, NULL);
    cwi_bound_set(w, in, result.index, RESULT);
}

/* ---- comparisons, conversions, moves ------------------------------------------------------------------------------------------------ */

/* er = infinity if the two values may be equal, or in the other order. */
static void
ambiguous(struct rewrite *w, const struct ptx_inst *in, unsigned type)
{
    for (unsigned i = 0; i < 2; i++) {
        cwi_bound_value(w, &in->operand[1 + i], type, letters[i]);
        cwi_bound_take(w, &in->operand[1 + i], letters[i]);
    }
    cwi_put(w, " sub.rz.f64 $u0, $va, $vb; abs.f64 $u0, $u0; add.rp.f64 $u1, $ea, $eb; setp.leu.f64 $q, $u0, $u1; setp.neu.and.f64 $q, $u1, 0d0000000000000000, $q;"
               " selp.f64 $er, " INFINITE ", 0d0000000000000000, $q;");
}

static bool
is_number_type(unsigned t)
{
    return t == PTX_F32 || t == PTX_F64;
}

/* Before the conversion: er, but for rounding. True: the result is a float, which is rounded. */
static void
before_conversion(struct rewrite *w, const struct ptx_inst *in)
{
    unsigned to = in->type[0], from = in->type[1];
    bool whole = in->round >= PTX_RNI && in->round <= PTX_RPI;
    if (!is_number_type(from)) {
        cwi_bound_inexact(w, in, 1);
        return;
    }
    cwi_bound_value(w, &in->operand[1], from, 'a');
    cwi_bound_take(w, &in->operand[1], 'a');
    if (is_number_type(to) && whole) {          /* two numbers as far apart become whole ones at most 1 further apart */
        cwi_put(w, " add.rp.f64 $u0, $ea, 0d3FF0000000000000; setp.neu.f64 $q, $ea, 0d0000000000000000; selp.f64 $er, $u0, 0d0000000000000000, $q;");
    } else if (ptx_type_class((ptx_type)to) == PTX_CLASS_FLOAT) {
        cwi_put(w, " mov.f64 $er, $ea;");
    } else {                                    /* exact if both ends become the same integer */
        static const char *const modes[] = { "rzi", "rni", "rzi", "rmi", "rpi" };
        const char *mode = modes[whole ? in->round - PTX_RNI + 1 : 0];
        bool is_signed = ptx_type_class((ptx_type)to) == PTX_CLASS_SINT;
        cwi_put(w, " sub.rm.f64 $u0, $va, $ea; add.rp.f64 $u1, $va, $ea; cvt.%s.%s.f64 $i, $u0; cvt.%s.%s.f64 $k, $u1; setp.ne.u64 $q, $i, $k; setp.neu.f64 $s, $ea, $ea;"
                   " or.pred $q, $q, $s; selp.f64 $er, " INFINITE ", 0d0000000000000000, $q;", mode, is_signed ? "s64" : "u64", mode, is_signed ? "s64" : "u64");
    }
}

static void
behind_conversion(struct rewrite *w, const struct ptx_inst *in)
{
    unsigned to = in->type[0], from = in->type[1];
    struct ptx_operand result = in->operand[0];
    bool whole = in->round >= PTX_RNI && in->round <= PTX_RPI;
    if (result.kind != PTX_OPND_REG)
        return;
    result.negate = false;
    if (is_number_type(to) && is_number_type(from) && !whole && ptx_type_bits((ptx_type)to) < ptx_type_bits((ptx_type)from)) {
        cwi_bound_value(w, &result, to, 'd');
        cwi_put(w, " mov.f64 $r, $vd;");
        add_rounding(w, to, in->flags & PTX_F_FTZ, in->round != PTX_RND_NONE && in->round != PTX_RN, NULL);
    } else if (is_number_type(to) && ptx_type_class((ptx_type)from) != PTX_CLASS_FLOAT && ptx_type_bits((ptx_type)from) > 16) {        /* exact up to 2^24 and 2^53 */
        cwi_bound_value(w, &result, to, 'd');
        cwi_put(w, " mov.f64 $r, $vd; mov.f64 $u2, $er;");
        add_rounding(w, to, false, in->round != PTX_RND_NONE && in->round != PTX_RN, NULL);
        cwi_put(w, " abs.f64 $u0, $r; setp.le.f64 $q, $u0, %s; selp.f64 $er, $u2, $er, $q;", to == PTX_F32 ? "0d4170000000000000" : "0d4340000000000000");
    } else if (to == PTX_TF32 && from == PTX_F32) {     /* 10 bits behind the point: half of the last one, or all of it */
        cwi_bound_value(w, &result, PTX_F32, 'd');
        cwi_put(w, " abs.f64 $u0, $vd; mul.rp.f64 $u0, $u0, 0d3F50000000000000; add.rp.f64 $er, $er, $u0; add.rp.f64 $er, $er, 0d3780000000000000;");
    } else if (!is_number_type(to) && ptx_type_class((ptx_type)to) == PTX_CLASS_FLOAT) {
        cwi_put(w, " mov.f64 $er, " INFINITE ";");      /* to 16 bits and fewer */
    } else if (is_number_type(to) && !is_number_type(from) && ptx_type_class((ptx_type)from) == PTX_CLASS_FLOAT) {
        ;                                               /* from 16 bits: exact */
    }
    cwi_bound_set(w, in, result.index, RESULT);
}

/* mov: one register, or its parts put together or taken apart. */
static void
before_move(struct rewrite *w, const struct ptx_inst *in)
{
    const struct ptx_operand *to = &in->operand[0], *from = &in->operand[1];
    if (from->kind == PTX_OPND_VEC && to->kind == PTX_OPND_VEC) {
        cwi_bound_inexact(w, in, 1);
    } else if (from->kind == PTX_OPND_VEC) {            /* halves of one f64, or two floats with the same bound */
        bool pair = from->count == 2 && to->kind == PTX_OPND_REG && ptx_type_bits((ptx_type)w->fn->regs[to->index].type) == 64;
        if (pair) {
            cwi_bound_take(w, &from->elem[0], 'a');
            cwi_bound_take(w, &from->elem[1], 'b');
            cwi_put(w, " setp.eq.f64 $q, $ea, $eb; selp.f64 $er, $ea, " INFINITE ", $q;");
        } else {
            cwi_bound_inexact(w, in, 1);
        }
    } else {
        bool halves = to->kind == PTX_OPND_VEC && (to->count != 2 || !is_register(w, from) || ptx_type_bits((ptx_type)w->fn->regs[from->index].type) != 64);
        cwi_bound_take(w, from, 'a');
        cwi_put(w, " mov.f64 $er, $ea;");
        if (halves)
            cwi_bound_inexact(w, in, 1);
    }
}

/* ---- memory -------------------------------------------------------------------------------------------------------------------------- */

static const struct ptx_operand *
address_of(const struct ptx_inst *in)
{
    unsigned at = in->op == PTX_OP_ST || in->op == PTX_OP_RED ? 0 : in->op == PTX_OP_LD || in->op == PTX_OP_LDU || in->op == PTX_OP_ATOM ? 1 : UINT32_MAX;
    return at < in->noperands && in->operand[at].kind == PTX_OPND_ADDR ? &in->operand[at] : NULL;
}

/* sl = where the bounds of the access are, 0: nowhere; u2 = the bound of what is read then. An address that is not exact is a decision. */
void
cwi_bound_slot(struct rewrite *w, const struct ptx_inst *in, const struct ptx_operand *a, uint8_t space)
{
    cwi_put(w, " mov.u64 $sl, 0; mov.f64 $u2, 0d0000000000000000;");
    if (a->has_reg) {
        cwi_put(w, " setp.neu.f64 $q, $e%u, 0d0000000000000000;", a->index);
        if (in->has_guard)
            cwi_put(w, " and.pred $q, $q, $keep;");
        cwi_put(w, " @$q mov.f64 $bad, " INFINITE ";");
    }
    if (space == PTX_SPACE_CONST || space == PTX_SPACE_PARAM || space == PTX_SPACE_LOCAL)
        return;
    cwi_take_address(w, a, "a");
    if (space == PTX_SPACE_GENERIC)
        cwi_put(w, " isspacep.shared $s, $a; isspacep.local $t, $a;");
    if (space != PTX_SPACE_SHARED)
        cwi_put(w, " call ($sl), cudaway_slot, ($a); setp.eq.u64 $q, $sl, 0; selp.f64 $u2, " INFINITE ", 0d0000000000000000, $q;");
    if (space == PTX_SPACE_GENERIC)
        cwi_put(w, " selp.b64 $sl, 0, $sl, $t; selp.f64 $u2, 0d0000000000000000, $u2, $t; cvta.to.shared.u64 $v, $a; selp.b64 $a, $v, $a, $s;");
    if (space == PTX_SPACE_SHARED || space == PTX_SPACE_GENERIC) {
        cwi_put(w, " and.b64 $v, $a, -4; setp.lt.u64 $q, $a, $lsize; shl.b64 $v, $v, 1; add.u64 $v, $v, $mine; selp.b64 $v, $v, 0, $q;"
                   " selp.f64 $u0, 0d0000000000000000, " INFINITE ", $q;");
        if (space == PTX_SPACE_GENERIC)
            cwi_put(w, " selp.b64 $sl, $v, $sl, $s; selp.f64 $u2, $u0, $u2, $s;");
        else
            cwi_put(w, " mov.b64 $sl, $v; mov.f64 $u2, $u0;");
    }
    cwi_put(w, " setp.ne.u64 $p, $sl, 0;");
    if (in->has_guard)
        cwi_put(w, " and.pred $p, $p, $keep;");
}

static const struct ptx_operand *
element(const struct ptx_operand *o, unsigned i)
{
    return o->kind == PTX_OPND_VEC ? &o->elem[i] : o;
}

static void
behind_load(struct rewrite *w, const struct ptx_inst *in)
{
    const struct ptx_operand *o = &in->operand[0];
    unsigned bytes = ptx_type_bits((ptx_type)in->type[0]) / 8, n = o->kind == PTX_OPND_VEC ? o->count : 1;
    uint8_t space = cwi_space(in, address_of(in));
    bool nowhere = space == PTX_SPACE_CONST || space == PTX_SPACE_PARAM || space == PTX_SPACE_LOCAL;
    for (unsigned i = 0; i < n; i++) {
        const struct ptx_operand *to = element(o, i);
        if (!is_register(w, to))
            continue;
        unsigned at = i * bytes / 4 * 8;        /* elements smaller than a word share its bound */
        cwi_put(w, " mov.f64 $er, $u2;");
        if (!nowhere)
            cwi_put(w, " @$p ld.global.f64 $er, [$sl+%u];", at);
        if (!nowhere && bytes == 4)
            cwi_put(w, " setp.lt.f64 $q, $er, 0d0000000000000000; selp.f64 $er, " INFINITE ", $er, $q;");
        if (!nowhere && bytes == 8)
            cwi_put(w, " mov.f64 $u1, $er; @$p ld.global.f64 $u1, [$sl+%u]; setp.eq.f64 $q, $u1, $er; setp.eq.or.f64 $q, $u1, " UPPER ", $q; selp.f64 $er, $er, " INFINITE ", $q;", at + 8);
        if (bytes < 4)
            cwi_put(w, " setp.eq.f64 $q, $er, 0d0000000000000000; selp.f64 $er, 0d0000000000000000, " INFINITE ", $q;");
        cwi_bound_set(w, in, to->index, RESULT);
    }
}

static void
behind_store(struct rewrite *w, const struct ptx_inst *in)
{
    const struct ptx_operand *o = &in->operand[1];
    unsigned bytes = ptx_type_bits((ptx_type)in->type[0]) / 8, n = o->kind == PTX_OPND_VEC ? o->count : 1;
    uint8_t space = cwi_space(in, address_of(in));
    bool nowhere = space == PTX_SPACE_CONST || space == PTX_SPACE_PARAM || space == PTX_SPACE_LOCAL;
    if (!nowhere)
        cwi_put(w, " and.pred $p, $p, $settled;");      /* counts stay */
    for (unsigned i = 0; i < n; i++) {
        unsigned at = i * bytes / 4 * 8;
        cwi_bound_take(w, element(o, i), 'a');
        cwi_put(w, " add.rp.f64 $er, $ea, $bad;");
        if (bytes < 4 && !nowhere)              /* the word's other parts may have no bound */
            cwi_put(w, " setp.neu.f64 $q, $er, 0d0000000000000000; and.pred $q, $q, $p; @$q st.global.f64 [$sl+%u], " INFINITE ";", at);
        else if (!nowhere)
            cwi_put(w, " @$p st.global.f64 [$sl+%u], $er;", at);
        if (bytes == 8 && !nowhere)
            cwi_put(w, " @$p st.global.f64 [$sl+%u], $er;", at + 8);
        /* What is not followed: no bound for anything more. */
        cwi_put(w, " setp.eq.u64 $q, $sl, 0; setp.neu.and.f64 $q, $er, 0d0000000000000000, $q;");
        if (in->has_guard)
            cwi_put(w, " and.pred $q, $q, $keep;");
        cwi_put(w, " @$q mov.f64 $bad, " INFINITE ";");
    }
}

/* A sum of f32 or f64 that threads add atomically, in whatever order. Of n additions of x_i to s, in any order, the rounded result is at most g(|s| + sum |x_i|) from
 * the exact one, g = nu / (1 - nu). Each addition adds 1.07 u |v| + 2.25 N u |x| to the element's bound, where v is what it finds there and N, the most additions to an
 * element, is known from a run that only counts: v is at least |s|(1 - g) - (1 + g) sum |x_i| from 0, so together, for N u up to 2^-9, that is no less.
 * Of an f64 the first word's bound is the sum's, and the second's is UPPER. */
static bool
adds_floats(const struct rewrite *w, const struct ptx_inst *in)
{
    uint8_t space = address_of(in) ? cwi_space(in, address_of(in)) : PTX_SPACE_LOCAL;
    unsigned value = in->op == PTX_OP_RED ? 1 : 2;
    return (in->op == PTX_OP_RED || in->op == PTX_OP_ATOM) && in->atomop == PTX_ATOM_ADD && is_number_type(in->type[0]) && in->noperands > value &&
           in->operand[value].kind != PTX_OPND_VEC && (space == PTX_SPACE_GLOBAL || space == PTX_SPACE_SHARED || space == PTX_SPACE_GENERIC) &&
           w->p->modules[w->p->insts[0].text]->sm >= 60;
}

bool
cwi_bound_counts(const struct cwi_program *p)
{
    struct rewrite w = { .p = p };
    for (uint32_t i = 0; i < p->ninsts; i++)
        if (adds_floats(&w, p->insts[i].in))
            return true;
    return false;
}

/* Before the addition: er = what the element's bound grows by. */
static void
before_addition(struct rewrite *w, const struct ptx_inst *in)
{
    const struct ptx_operand *a = address_of(in), *x = &in->operand[in->op == PTX_OP_RED ? 1 : 2];
    uint8_t space = cwi_space(in, a);
    bool wide = in->type[0] == PTX_F64;
    const char *where = space == PTX_SPACE_GLOBAL ? ".global" : space == PTX_SPACE_SHARED ? ".shared" : "";
    cwi_take_address(w, a, "i");
    if (wide)
        cwi_put(w, " mov.f64 $va, 0d0000000000000000; @$p ld.volatile%s.f64 $va, [$i]; abs.f64 $va, $va;", where);
    else
        cwi_put(w, " mov.f32 $old, 0f00000000; @$p ld.volatile%s.f32 $old, [$i]; cvt.f64.f32 $va, $old; abs.f64 $va, $va;", where);
    cwi_bound_value(w, x, in->type[0], 'b');
    cwi_bound_take(w, x, 'b');
    cwi_put(w, " abs.f64 $vb, $vb; mul.rp.f64 $u0, $vb, $many; mul.rp.f64 $u0, $u0, %s; add.rp.f64 $er, $eb, $bad; add.rp.f64 $er, $er, $u0;"
               " fma.rp.f64 $er, $va, %s, $er; add.rp.f64 $er, $er, %s;"     /* of f32 global memory may flush subnormals */
               " mul.rp.f64 $er, $er, 0d3FF0000100000000; setp.gt.f64 $q, $many, 0d40E0000000000000; selp.f64 $er, " INFINITE ", $er, $q;"
               " selp.f64 $er, 0d3FF0000000000000, $er, $counting; mov.f64 $vd, $er;",
            wide ? "0d3CB2000000000000" : "0d3E82000000000000", wide ? "0d3CA1200000000000" : "0d3E71200000000000", wide ? "0d0000000000000001" : "0d3820000000000000");
}

/* What is not exact has no bound, but for sums. */
static void
behind_atomic(struct rewrite *w, const struct ptx_inst *in)
{
    unsigned bytes = ptx_type_bits((ptx_type)in->type[0]) / 8;
    bool floats = ptx_type_class((ptx_type)in->type[0]) == PTX_CLASS_FLOAT;
    if (adds_floats(w, in)) {
        cwi_put(w, " @$p atom.global.add.f64 $u0, [$sl], $vd;");
        if (bytes == 8)
            cwi_put(w, " and.pred $q, $p, $settled; @$q st.global.f64 [$sl+8], " UPPER ";");
        if (in->op == PTX_OP_ATOM)              /* which it was is up to the order */
            cwi_bound_results(w, in, INFINITE);
        return;
    }
    cwi_put(w, " and.pred $p, $p, $settled;");
    cwi_bound_inexact(w, in, in->op == PTX_OP_RED ? 1 : 2);
    cwi_put(w, " mov.f64 $u0, $u2; @$p ld.global.f64 $u0, [$sl]; add.rp.f64 $er, $er, $u0; add.rp.f64 $er, $er, $bad; setp.neu.f64 $q, $er, 0d0000000000000000;"
               " selp.f64 $er, " INFINITE ", 0d0000000000000000, $q;");
    if (floats)
        cwi_put(w, " mov.f64 $er, " INFINITE ";");
    cwi_put(w, " setp.neu.f64 $q, $er, 0d0000000000000000; and.pred $q, $q, $p; @$q st.global.f64 [$sl], " INFINITE ";");
    if (bytes == 8)
        cwi_put(w, " @$q st.global.f64 [$sl+8], " INFINITE ";");
    if (in->op == PTX_OP_ATOM)
        cwi_bound_results(w, in, RESULT);
}

/* The bounds of the words go the same way, when the copy is issued. */
static void
before_copy(struct rewrite *w, const struct ptx_inst *in)
{
    cwi_bound_slot(w, in, &in->operand[1], PTX_SPACE_GLOBAL);
    cwi_put(w, " mov.b64 $i, $sl; mov.f64 $ec, $u2; mov.pred $t, $p;");
    cwi_bound_slot(w, in, &in->operand[0], PTX_SPACE_SHARED);
    cwi_put(w, " and.pred $p, $p, $settled;");
    for (unsigned at = 0; at < (uint64_t)in->operand[2].imm / 4; at++) {
        cwi_put(w, " mov.f64 $er, $ec; @$t ld.global.f64 $er, [$i+%u]; add.rp.f64 $er, $er, $bad; @$p st.global.f64 [$sl+%u], $er;"
                   " setp.eq.u64 $q, $sl, 0; setp.neu.and.f64 $q, $er, 0d0000000000000000, $q;", at * 8, at * 8);
        if (in->has_guard)
            cwi_put(w, " and.pred $q, $q, $keep;");
        cwi_put(w, " @$q mov.f64 $bad, " INFINITE ";");
    }
}

/* ---- between lanes ---------------------------------------------------------------------------------------------------------------------- */

/* The value's bound goes the same way, in two halves. */
static void
before_shuffle(struct rewrite *w, const struct ptx_inst *in, const char *text, size_t size)
{
    const char *end = text + size, *name = cwi_find(text, end, "s"), *first, *second;
    const struct ptx_operand *to = in->operand[0].kind == PTX_OPND_REG ? &in->operand[0] : &in->operand[0].elem[0];
    while (name && strncmp(name, "shfl", 4))
        name = cwi_find(name + 1, end, "s");
    first = name ? cwi_find(name, end, ",") : NULL;
    second = first ? cwi_find(first + 1, end, ",") : NULL;
    size_t mnemonic = name ? strcspn(name, " \t\r\n") : 0;
    if (!second) {
        w->out->failed = true;
        return;
    }
    cwi_bound_inexact(w, in, 2);
    cwi_put(w, " %sadd.f64 $bad, $bad, $er;", under(in));
    cwi_bound_take(w, &in->operand[1], 'a');
    cwi_put(w, " add.rp.f64 $ea, $ea, $bad; mov.b64 {$x, $y}, $ea;");
    for (unsigned i = 0; i < 2; i++) {
        cwi_put(w, " %s%.*s %s", under(in), (int)mnemonic, name, i ? "%cudaway_y, %cudaway_y" : "%cudaway_x, %cudaway_x");
        cw_buf_append(w->out, second, (size_t)(end - second));
    }
    cwi_put(w, " mov.b64 $er, {$x, $y};");
    if (is_register(w, to))
        cwi_bound_set(w, in, to->index, RESULT);
}

/* er = infinity if s of any lane that takes part. */
static void
any_lane(struct rewrite *w, const struct ptx_inst *in)
{
    const struct ptx_operand *mask = &in->operand[in->noperands - 1];
    if (mask->kind == PTX_OPND_REG)
        cwi_put(w, " %svote.sync.any.pred $s, $s, %s;", under(in), w->fn->regs[mask->index].name);
    else
        cwi_put(w, " %svote.sync.any.pred $s, $s, %lld;", under(in), (long long)mask->imm);
    cwi_put(w, " selp.f64 $er, " INFINITE ", 0d0000000000000000, $s;");
}

/* A lane whose decisions could have been others decides for all. */
static void
before_vote(struct rewrite *w, const struct ptx_inst *in)
{
    cwi_put(w, " setp.neu.f64 $s, $bad, 0d0000000000000000;");
    any_lane(w, in);
    cwi_put(w, " %sadd.f64 $bad, $bad, $er;", under(in));
}

/* match, redux: what is made of integers of all lanes is exact if they are, and could not have been others. */
static void
before_meeting(struct rewrite *w, const struct ptx_inst *in)
{
    cwi_bound_inexact(w, in, 1);
    cwi_put(w, " add.f64 $u0, $er, $bad; setp.neu.f64 $s, $u0, 0d0000000000000000;");
    any_lane(w, in);
}

/* Does it round, or read what is not followed? */
bool
cwi_bound_unknown(const struct ptx_inst *in)
{
    switch (in->op) {
    case PTX_OP_COPYSIGN: case PTX_OP_SLCT: case PTX_OP_TESTP: return false;
    case PTX_OP_TEX: case PTX_OP_TLD4: case PTX_OP_SULD:       return true;
    default: return ptx_type_class((ptx_type)in->type[0]) == PTX_CLASS_FLOAT;
    }
}

/* ---- the instruction ---------------------------------------------------------------------------------------------------------------------- */

static bool
is_memory(const struct ptx_inst *in)
{
    return address_of(in) && (in->op == PTX_OP_LD || in->op == PTX_OP_LDU || in->op == PTX_OP_ST || in->op == PTX_OP_ATOM || in->op == PTX_OP_RED);
}

enum how { HOW_FLOAT, HOW_COMPARE, HOW_CONVERT, HOW_MOVE, HOW_SELECT, HOW_MEMORY, HOW_SHUFFLE, HOW_VOTE, HOW_MEETING, HOW_COPY, HOW_MATRIX, HOW_ROWS, HOW_LINES, HOW_PARAM, HOW_CALL, HOW_RET, HOW_NONE, HOW_OTHER };

static enum how
how_of(const struct ptx_inst *in)
{
    if (known_float(in))
        return HOW_FLOAT;
    if (cwi_bound_is_param(in))
        return HOW_PARAM;
    if (is_memory(in))
        return HOW_MEMORY;
    switch (in->op) {
    case PTX_OP_SETP: case PTX_OP_SET: return is_number_type(in->type[in->op == PTX_OP_SET]) ? HOW_COMPARE : HOW_OTHER;
    case PTX_OP_CVT:  return in->noperands == 2 && !(in->flags & PTX_F_RELU) ? HOW_CONVERT : HOW_OTHER;
    case PTX_OP_MOV:  return in->type[0] == PTX_PRED ? HOW_NONE : HOW_MOVE;
    case PTX_OP_SELP: return in->type[0] == PTX_PRED ? HOW_NONE : HOW_SELECT;
    case PTX_OP_SHFL: return HOW_SHUFFLE;
    case PTX_OP_VOTE: return HOW_VOTE;
    case PTX_OP_MATCH: case PTX_OP_REDUX: return HOW_MEETING;
    case PTX_OP_CP_ASYNC: return HOW_COPY;
    case PTX_OP_MMA: case PTX_OP_MMA_SP: case PTX_OP_MMA_SP_ORDERED: case PTX_OP_WMMA_MMA: case PTX_OP_MOVMATRIX: return HOW_MATRIX;
    case PTX_OP_LDMATRIX: case PTX_OP_STMATRIX: return HOW_ROWS;
    case PTX_OP_WMMA_LOAD: case PTX_OP_WMMA_STORE: return HOW_LINES;
    case PTX_OP_CALL: return HOW_CALL;
    case PTX_OP_RET:  return HOW_RET;
    case PTX_OP_BRA: case PTX_OP_EXIT: return HOW_NONE;
    default:          return HOW_OTHER;
    }
}

static void
before_other(struct rewrite *w, const struct ptx_inst *in)
{
    bool upper, results = cwi_result_register(w->fn, in, 0, &upper) != UINT32_MAX;
    cwi_bound_inexact(w, in, results ? 1 : 0);
    if (results)
        return;
    cwi_put(w, " %sadd.f64 $bad, $bad, $er;", under(in));
}

/* Behind a call, and behind the loads of its results that follow it. */
static void
behind_results(struct rewrite *w, uint32_t id)
{
    uint32_t call = id;
    if (id + 1 < w->p->ninsts && cwi_takes_result(w->p, id + 1))
        return;
    while (call && cwi_takes_result(w->p, call))
        call--;
    if (w->p->insts[call].in->op == PTX_OP_CALL)
        cwi_bound_behind_call(w, w->p->insts[call].in);
    for (uint32_t i = call + 1; i <= id; i++)
        cwi_bound_load_param(w, w->p->insts[i].in);
}

void
cwi_bound_instruction(struct rewrite *w, uint32_t id)
{
    const struct cwi_inst *i = &w->p->insts[id];
    const struct ptx_inst *in = i->in;
    const char *text = w->p->texts[i->text].text + i->begin;
    enum how how = how_of(in);
    bool load = how == HOW_PARAM && in->op == PTX_OP_LD;
    if (in->has_guard && how != HOW_NONE) {
        cwi_keep_guard(w, in, false);
        cwi_put(w, " mov.pred $keep, $g;");
    }
    switch (how) {
    case HOW_FLOAT:   before_float(w, in); break;
    case HOW_COMPARE: ambiguous(w, in, in->type[in->op == PTX_OP_SET]); break;
    case HOW_CONVERT: before_conversion(w, in); break;
    case HOW_MOVE:    before_move(w, in); break;
    case HOW_SELECT:
        cwi_bound_take(w, &in->operand[1], 'a');
        cwi_bound_take(w, &in->operand[2], 'b');
        if (in->operand[3].kind == PTX_OPND_REG)
            cwi_put(w, in->operand[3].negate_pred ? " selp.f64 $er, $eb, $ea, %s;" : " selp.f64 $er, $ea, $eb, %s;", w->fn->regs[in->operand[3].index].name);
        else
            cwi_put(w, " max.f64 $er, $ea, $eb;");
        break;
    case HOW_MEMORY:
        cwi_bound_slot(w, in, address_of(in), cwi_space(in, address_of(in)));
        if (adds_floats(w, in))
            before_addition(w, in);
        break;
    case HOW_SHUFFLE: before_shuffle(w, in, text, i->end - i->begin); break;
    case HOW_VOTE:    before_vote(w, in); break;
    case HOW_MEETING: before_meeting(w, in); break;
    case HOW_COPY:    before_copy(w, in); break;
    case HOW_MATRIX:  cwi_bound_before_matrix(w, in); break;
    case HOW_ROWS:    cwi_bound_before_rows(w, in); break;
    case HOW_LINES:   cwi_bound_before_lines(w, in); break;
    case HOW_CALL:    cwi_bound_before_call(w, in); break;
    case HOW_RET:     cwi_bound_ret(w); break;
    case HOW_PARAM:
        if (!load)
            cwi_bound_store_param(w, in);
        break;
    case HOW_OTHER:   before_other(w, in); break;
    default:          break;
    }
    cw_buf_append(w->out, text, i->end - i->begin);
    switch (how) {
    case HOW_FLOAT:   behind_float(w, in); break;
    case HOW_CONVERT: behind_conversion(w, in); break;
    case HOW_COMPARE:                           /* of set the result is a number */
        cwi_put(w, " %sadd.f64 $bad, $bad, $er;", under(in));
        if (in->op == PTX_OP_SET)
            cwi_bound_results(w, in, NONE);
        break;
    case HOW_MATRIX:  cwi_bound_behind_matrix(w, in); break;
    case HOW_MOVE: case HOW_SELECT: case HOW_ROWS: case HOW_LINES: cwi_bound_results(w, in, RESULT); break;
    case HOW_VOTE:    cwi_bound_results(w, in, NONE); break;
    case HOW_CALL:    behind_results(w, id); break;
    case HOW_PARAM:
        if (load && cwi_takes_result(w->p, id))
            behind_results(w, id);
        else if (load)
            cwi_bound_load_param(w, in);
        break;
    case HOW_MEMORY:
        if (in->op == PTX_OP_ATOM || in->op == PTX_OP_RED)
            behind_atomic(w, in);
        else
            (in->op == PTX_OP_ST ? behind_store : behind_load)(w, in);
        break;
    case HOW_MEETING: case HOW_OTHER:           /* floats are rounded in a way that is not known here; a predicate of integers is a decision */
        cwi_bound_results(w, in, cwi_bound_unknown(in) ? INFINITE : RESULT);
        break;
    default: break;
    }
}
