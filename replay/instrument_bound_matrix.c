/* SPDX-License-Identifier: Apache-2.0
 * CWI_BOUND of matrix instructions. Which lane has what of a fragment is not used: a warp's factors have the largest bound of any, as have the elements
 * that wmma loads and stores. */
#include "replay/instrument_private.h"

#include "jit/ptx/matrix.h"

#include <stdio.h>

#define INFINITE "0d7FF0000000000000"
#define UPPER "0dBFF0000000000000"         /* the second word of an f64 whose bound the first one has */

static bool
is_matrix(const struct ptx_inst *in)
{
    switch (in->op) {
    case PTX_OP_MMA: case PTX_OP_MMA_SP: case PTX_OP_MMA_SP_ORDERED: case PTX_OP_WMMA_LOAD: case PTX_OP_WMMA_STORE: case PTX_OP_WMMA_MMA: case PTX_OP_LDMATRIX:
    case PTX_OP_STMATRIX: case PTX_OP_MOVMATRIX:
        return true;
    default:
        return false;
    }
}

const char *
cwi_bound_refuses_matrix(const struct ptx_inst *in)
{
    bool text = in->noperands && in->operand[0].kind == PTX_OPND_TEXT;
    return is_matrix(in) && text ? "matrix instructions of this kind" : NULL;
}

/* $most = the largest of a warp. $e = the largest bound of the words of a matrix in memory, infinity where one has none or no place: $lines of $words, $pitch
 * bytes apart, the first at $a, which is in shared memory unless $mine is 0. $how 1: of f64; 2: give all of them the bound $put. */
void
cwi_bound_matrix_functions(struct rewrite *w)
{
    bool any = false;
    for (uint32_t i = 0; i < w->p->ninsts; i++)
        any = any || is_matrix(w->p->insts[i].in);
    if (!any)
        return;
    cwi_put(w, " .func (.reg .f64 $most) cudaway_most(.reg .f64 $e) { .reg .f64 $o; .reg .b32 $x, $y; mov.f64 $most, $e;");
    for (unsigned d = 1; d < 32; d *= 2)        /* max takes the number of a number and NaN, so NaN comes as infinity */
        cwi_put(w, " mov.b64 {$x, $y}, $most; shfl.sync.bfly.b32 $x, $x, %u, 31, -1; shfl.sync.bfly.b32 $y, $y, %u, 31, -1; mov.b64 $o, {$x, $y}; max.f64 $most, $most, $o;", d, d);
    cwi_put(w, " ret; }");
    cwi_put(w, " .func (.reg .f64 $e) cudaway_lines(.reg .b64 $a, .reg .b64 $mine, .reg .b64 $lsize, .reg .b32 $lines, .reg .b64 $pitch, .reg .b32 $words, .reg .f64 $put, .reg .b32 $how) {"
               " .reg .pred $p, $q, $wide, $store, $shared; .reg .b64 $s, $t; .reg .b32 $x, $y; .reg .f64 $u, $v; mov.f64 $e, 0d0000000000000000;"
               " and.b32 $x, $how, 1; setp.ne.u32 $wide, $x, 0; and.b32 $x, $how, 2; setp.ne.u32 $store, $x, 0; setp.ne.u64 $shared, $mine, 0; mov.u32 $y, 0;"
               " CUDAWAY_LINE: setp.ge.u32 $p, $y, $lines; @$p bra CUDAWAY_DONE; add.u32 $y, $y, 1; and.b64 $s, $a, -4; shl.b64 $s, $s, 1; add.u64 $s, $s, $mine;"
               " setp.lt.u64 $p, $a, $lsize; selp.b64 $s, $s, 0, $p; @$shared bra CUDAWAY_PLACE; call ($s), cudaway_slot, ($a);"
               " CUDAWAY_PLACE: add.u64 $a, $a, $pitch; mov.u32 $x, 0; setp.eq.u64 $p, $s, 0; @$p mov.f64 $e, " INFINITE "; @$p bra CUDAWAY_LINE;"
               " CUDAWAY_WORD: setp.ge.u32 $p, $x, $words; @$p bra CUDAWAY_LINE; @$store st.global.f64 [$s], $put; @$store bra CUDAWAY_NEXT_WORD;"
               " ld.global.f64 $u, [$s]; mov.f64 $v, $u; @$wide ld.global.f64 $v, [$s+8]; setp.eq.f64 $q, $v, " UPPER "; selp.f64 $v, $u, $v, $q; setp.neu.f64 $q, $u, $v;"
               " setp.lt.or.f64 $q, $u, 0d0000000000000000, $q; selp.f64 $u, " INFINITE ", $u, $q; max.f64 $e, $e, $u;"
               " CUDAWAY_NEXT_WORD: add.u32 $x, $x, 1; add.u64 $s, $s, 8; @!$wide bra CUDAWAY_WORD; @$store st.global.f64 [$s], $put; add.u32 $x, $x, 1; add.u64 $s, $s, 8; bra CUDAWAY_WORD;"
               " CUDAWAY_DONE: ret; }");
}

static const struct ptx_operand *
element(const struct ptx_operand *o, unsigned i)
{
    return o->kind == PTX_OPND_VEC ? &o->elem[i] : o;
}

enum { MATRIX_RESULTS = 8 };

/* Are the factors' bounds, and the sums', of a kind that is followed? Fills x then. */
static bool
known_matrix(const struct ptx_inst *in, struct ptx_matrix *x)
{
    if (in->op == PTX_OP_MOVMATRIX || ptx_matrix_mma(in, x) || in->operand[0].kind != PTX_OPND_VEC || in->operand[3].kind != PTX_OPND_VEC)
        return false;
    bool half = x->a == PTX_F16 || x->a == PTX_BF16 || x->a == PTX_TF32;
    return x->a == x->b && x->d == x->c && in->operand[0].count <= MATRIX_RESULTS && in->operand[3].count == in->operand[0].count &&
           ((x->d == PTX_F32 && half) || (x->d == PTX_F64 && x->a == PTX_F64));
}

/* $to = the largest of $to and a value's size; infinity where it is no number. */
static void
take_largest(struct rewrite *w, const char *to)
{
    cwi_put(w, " abs.f64 $u0, $va; setp.gtu.f64 $q, $u0, 0d7FEFFFFFFFFFFFFF; selp.f64 $u0, " INFINITE ", $u0, $q; max.f64 $%s, $%s, $u0;", to, to);
}

/* $v<x> = the largest factor of all lanes, $e<x> = the largest bound. Halves have none, unless it is 0. */
static void
take_factors(struct rewrite *w, const struct ptx_operand *o, unsigned type, char x)
{
    char size[3] = { 'm', x, 0 }, error[3] = { 'n', x, 0 };
    cwi_put(w, " mov.f64 $%s, 0d0000000000000000; mov.f64 $%s, $bad;", size, error);
    for (unsigned i = 0; i < (o->kind == PTX_OPND_VEC ? o->count : 1u); i++) {
        const struct ptx_operand *r = element(o, i);
        if (r->kind != PTX_OPND_REG) {
            cwi_put(w, " mov.f64 $%s, " INFINITE ";", error);
            continue;
        }
        const char *name = w->fn->regs[r->index].name;
        cwi_bound_take(w, r, 'a');
        if (type == PTX_F64) {
            cwi_put(w, " mov.b64 $va, %s;", name);
            take_largest(w, size);
        } else if (type == PTX_TF32) {          /* bits that it ignores are off */
            cwi_put(w, " mov.b32 $z, %s; and.b32 $z, $z, 0xffffe000; mov.b32 $old, $z; cvt.f64.f32 $vb, $old; mov.b32 $z, %s; mov.b32 $old, $z; cvt.f64.f32 $va, $old;"
                       " sub.f64 $u0, $va, $vb; abs.f64 $u0, $u0; add.rp.f64 $ea, $ea, $u0;", name, name);
            take_largest(w, size);
        } else {
            cwi_put(w, " setp.neu.f64 $q, $ea, 0d0000000000000000; selp.f64 $ea, " INFINITE ", 0d0000000000000000, $q;");
            for (unsigned half = 0; half < 2; half++) {
                if (type == PTX_BF16)
                    cwi_put(w, half ? " mov.b32 $z, %s; and.b32 $z, $z, 0xffff0000; mov.b32 $old, $z; cvt.f64.f32 $va, $old;" : " mov.b32 $z, %s; shl.b32 $z, $z, 16; mov.b32 $old, $z; cvt.f64.f32 $va, $old;", name);
                else
                    cwi_put(w, half ? " mov.b32 {$h2, $h}, %s; cvt.f32.f16 $old, $h; cvt.f64.f32 $va, $old;" : " mov.b32 {$h, $h2}, %s; cvt.f32.f16 $old, $h; cvt.f64.f32 $va, $old;", name);
                take_largest(w, size);
            }
        }
        cwi_put(w, " max.f64 $%s, $%s, $ea;", error, error);
    }
    cwi_put(w, " call ($v%c), cudaway_most, ($%s); call ($e%c), cudaway_most, ($%s);", x, size, x, error);
}

/* d = c + the sum of k products of factors at most A and B, off by at most E and F: k(A F + B E + E F) + ec, and 2(k + 1) units of k A B + |c| for what the sum
 * loses. Tensor cores truncate each term of a block of at least 4 products 23 bits below the largest, and the block's sum, of which each unit is 2^-23, or
 * 2^-52 of f64, a chain of fma (docs/matrix.md). */
void
cwi_bound_before_matrix(struct rewrite *w, const struct ptx_inst *in)
{
    struct ptx_matrix x;
    if (!known_matrix(in, &x)) {                    /* integers are exact if those of all lanes are */
        cwi_bound_inexact(w, in, 1);
        cwi_put(w, " add.f64 $u0, $er, $bad; call ($er), cudaway_most, ($u0); setp.neu.f64 $q, $er, 0d0000000000000000; selp.f64 $er, " INFINITE ", 0d0000000000000000, $q;");
        return;
    }
    unsigned k = x.k;
    bool wide = x.d == PTX_F64;
    if (x.chunk) {                              /* the metadata say which factors meet */
        cwi_bound_inexact(w, in, 4);
        cwi_put(w, " add.f64 $bad, $bad, $er;");
    }
    take_factors(w, &in->operand[1], x.a, 'a');
    cwi_put(w, " mov.f64 $vc, $va; mov.f64 $ec, $ea;");
    take_factors(w, &in->operand[2], x.b, 'b');
    cwi_put(w, " cvt.rn.f64.u32 $r, %u; mul.rp.f64 $vd, $vc, $vb; mul.rp.f64 $vd, $vd, $r; mul.rp.f64 $ed, $vc, $eb; fma.rp.f64 $ed, $vb, $ec, $ed; fma.rp.f64 $ed, $ec, $eb, $ed;"
               " mul.rp.f64 $ed, $ed, $r; add.rp.f64 $ed, $ed, 0d3700000000000000;", k);
    for (unsigned i = 0; i < in->operand[3].count; i++) {
        cwi_bound_value(w, &in->operand[3].elem[i], x.c, 'a');
        cwi_bound_take(w, &in->operand[3].elem[i], 'a');
        cwi_put(w, " abs.f64 $va, $va; add.rp.f64 $u0, $va, $vd; add.rp.f64 $u0, $u0, $ed; add.rp.f64 $u0, $u0, $ea; cvt.rn.f64.u32 $u1, %u; mul.rp.f64 $u1, $u1, %s; mul.rp.f64 $u0, $u0, $u1;"
                   " add.rp.f64 $u0, $u0, $ed; add.rp.f64 $u0, $u0, $ea; setp.nan.f64 $q, $u0, $u0; selp.f64 $d%u, " INFINITE ", $u0, $q;",
                2 * (k + 1), wide ? "0d3CB0000000000000" : "0d3E80000000000000", i);
    }
}

void
cwi_bound_behind_matrix(struct rewrite *w, const struct ptx_inst *in)
{
    struct ptx_matrix x;
    if (!known_matrix(in, &x)) {
        cwi_bound_results(w, in, cwi_bound_unknown(in) ? INFINITE : "%cudaway_er");
        return;
    }
    for (unsigned i = 0; i < in->operand[0].count; i++) {
        char from[32];
        snprintf(from, sizeof from, "%%cudaway_d%u", i);
        if (in->operand[0].elem[i].kind == PTX_OPND_REG)
            cwi_bound_set(w, in, in->operand[0].elem[i].index, from);
    }
}

/* ldmatrix, stmatrix: 8 lanes for each matrix name a row of 16 bytes. What is moved is exact if all rows, or all registers, are. */
void
cwi_bound_before_rows(struct rewrite *w, const struct ptx_inst *in)
{
    unsigned lanes = 8u << (PTX_AUX(in, MNUM) - 1);
    bool store = in->op == PTX_OP_STMATRIX;
    if (store) {
        cwi_bound_inexact(w, in, 1);
        cwi_put(w, " mov.f64 $ec, $er;");
    }
    const struct ptx_operand *address = &in->operand[store ? 0 : 1];
    cwi_bound_slot(w, in, address, cwi_space(in, address));
    cwi_put(w, " mov.u32 $x, %%laneid; setp.lt.u32 $q, $x, %u; and.pred $p, $p, $q; selp.f64 $u2, $u2, 0d0000000000000000, $q; mov.f64 $er, $u2;", lanes);
    for (unsigned i = 0; i < 4 && !store; i++)
        cwi_put(w, " mov.f64 $u0, 0d0000000000000000; @$p ld.global.f64 $u0, [$sl+%u]; abs.f64 $u0, $u0; add.f64 $er, $er, $u0;", i * 8);
    if (store)
        cwi_put(w, " mov.f64 $er, $ec;");
    cwi_put(w, " add.f64 $u0, $er, $bad; call ($er), cudaway_most, ($u0); setp.neu.f64 $q, $er, 0d0000000000000000; selp.f64 $er, " INFINITE ", 0d0000000000000000, $q;");
    if (!store)
        return;
    cwi_put(w, " and.pred $p, $p, $settled;");
    for (unsigned i = 0; i < 4; i++)
        cwi_put(w, " @$p st.global.f64 [$sl+%u], $er;", i * 8);
    cwi_put(w, " setp.eq.f64 $q, $er, 0d0000000000000000; selp.f64 $u2, 0d0000000000000000, $u2, $q; add.f64 $bad, $bad, $u2;");    /* where it has no place */
}

/* wmma.load, wmma.store: the largest bound of the matrix, or of the warp's fragments. Of less than 32 bits an element has none, unless it is 0. */
void
cwi_bound_before_lines(struct rewrite *w, const struct ptx_inst *in)
{
    bool store = in->op == PTX_OP_WMMA_STORE;
    const struct ptx_operand *address = &in->operand[store ? 0 : 1], *fragment = &in->operand[store ? 1 : 0], *stride = in->noperands > 2 ? &in->operand[2] : NULL;
    struct ptx_matrix x;
    unsigned which = 0;
    if (ptx_matrix_fragment(in, &x, &which)) {
        w->out->failed = true;
        return;
    }
    unsigned rows = which == 1 ? x.k : x.m, columns = which == 0 ? x.k : x.n, bits = ptx_type_bits((ptx_type)x.d);
    unsigned lines = x.a_col ? columns : rows, length = x.a_col ? rows : columns;
    uint8_t space = cwi_space(in, address);
    cwi_put(w, " mov.f64 $ec, 0d0000000000000000;");
    for (unsigned i = 0; store && i < (fragment->kind == PTX_OPND_VEC ? fragment->count : 1u); i++) {
        cwi_bound_take(w, element(fragment, i), 'a');
        cwi_put(w, " max.f64 $ec, $ec, $ea;");
    }
    if (store) {
        cwi_put(w, " add.rp.f64 $u0, $ec, $bad; call ($ec), cudaway_most, ($u0);");
        if (bits < 32)
            cwi_put(w, " setp.neu.f64 $q, $ec, 0d0000000000000000; selp.f64 $ec, " INFINITE ", 0d0000000000000000, $q;");
    }
    cwi_bound_slot(w, in, address, space);
    if (stride && stride->kind == PTX_OPND_REG) {
        cwi_bound_take(w, stride, 'a');
        cwi_put(w, " setp.neu.f64 $q, $ea, 0d0000000000000000; selp.f64 $u0, " INFINITE ", 0d0000000000000000, $q; add.f64 $bad, $bad, $u0;");
        cwi_put(w, " mov.b32 $x, %s; cvt.u64.u32 $i, $x;", w->fn->regs[stride->index].name);
    } else {
        cwi_put(w, " mov.u64 $i, %lld;", stride ? (long long)stride->imm : (long long)length);
    }
    cwi_put(w, " mul.lo.u64 $i, $i, %u; shr.u64 $i, $i, 3; mov.b64 $v, $mine; mov.u32 $x, %u;", bits, lines);
    if (space == PTX_SPACE_GENERIC)
        cwi_put(w, " selp.b64 $v, $v, 0, $s;");
    else if (space != PTX_SPACE_SHARED)
        cwi_put(w, " mov.u64 $v, 0;");
    if (in->has_guard)
        cwi_put(w, " selp.b32 $x, $x, 0, $keep;");
    if (store)
        cwi_put(w, " selp.b32 $x, $x, 0, $settled;");
    cwi_put(w, " mov.u32 $y, %u; mov.u32 $z, %u; call ($er), cudaway_lines, ($a, $v, $lsize, $x, $i, $y, $ec, $z);", (length * bits + 31) / 32,
            (store ? 2u : 0u) | (bits == 64 ? 1u : 0u));
    if (store)                                  /* where it has no place: no bound for anything more */
        cwi_put(w, " setp.eq.f64 $q, $ec, 0d0000000000000000; selp.f64 $er, 0d0000000000000000, $er, $q; add.f64 $bad, $bad, $er;");
    else if (bits < 32)
        cwi_put(w, " setp.neu.f64 $q, $er, 0d0000000000000000; selp.f64 $er, " INFINITE ", 0d0000000000000000, $q;");
}
