/* SPDX-License-Identifier: Apache-2.0
 * A program's tree as PTX. Member masks are made here, for the parts of the tree that need one: before lanes diverge they vote,
 * so that those that continue have each other's mask. Registers that the text names are initialised, and those that it writes
 * are dumped. */
#include "tools/ptx-fuzz/fuzz.h"

#include <stdio.h>
#include <string.h>

struct printer {
    struct cw_buf *b;
    struct cw_buf decls;            /* before the function */
    const struct program *p;
    const struct func *f;
    uint32_t number, masks, max_id;
    bool trace, full;
    char mask[16];                  /* "" where nobody needs it */
    const struct node *loop;        /* of break and continue */
    char loop_mask[16];
    bool used[NCLASSES][MAX_POOL], written[NCLASSES][MAX_POOL];
};

unsigned
dump_offset(enum reg_class c, unsigned index)
{
    static const uint8_t base[NCLASSES] = { [C_R] = 0, [C_F] = 32, [C_S] = 52, [C_D] = 64, [C_G] = 104, [C_H] = 128, [C_P] = 140 };
    return base[c] + index * class_info[c].bytes;
}

/* ---- who needs a member mask ---- */

static bool needs_mask(const struct program *p, const struct seq *s, unsigned depth);

static bool
same_signature(const struct func *a, const struct func *b)
{
    return a->nparams == b->nparams && !memcmp(a->param, b->param, a->nparams) && a->ret == b->ret && a->reg_params == b->reg_params;
}

/* The other function that an indirect call may reach. */
static const struct func *
other_target(const struct program *p, const struct func *caller, const struct func *f)
{
    uint32_t limit = caller ? caller->number : p->nfuncs;
    for (uint32_t i = 0; i < limit; i++)
        if (&p->func[i] != f && same_signature(&p->func[i], f))
            return &p->func[i];
    return f;
}

static bool
func_needs(const struct program *p, const struct func *f, unsigned depth)
{
    return depth < 8 && needs_mask(p, &f->body, depth + 1);
}

static bool
node_needs(const struct program *p, const struct node *n, unsigned depth)
{
    if (n->off)
        return false;
    if (n->kind == N_LEAF)
        return n->warp;
    if (n->kind == N_CALL && !n->recursive) {
        if (func_needs(p, n->func, depth))
            return true;
        for (uint32_t i = 0; n->indirect && i < p->nfuncs; i++)
            if (same_signature(&p->func[i], n->func) && func_needs(p, &p->func[i], depth))
                return true;
        return false;
    }
    if (n->unwrapped)
        return n->keep < n->nseqs && needs_mask(p, &n->seq[n->keep], depth);
    for (unsigned i = 0; i < n->nseqs; i++)
        if (needs_mask(p, &n->seq[i], depth))
            return true;
    return false;
}

static bool
needs_mask(const struct program *p, const struct seq *s, unsigned depth)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (node_needs(p, s->list[i], depth))
            return true;
    return false;
}

/* ---- operands and templates ---- */

static void
operand(struct printer *w, const struct operand *o, struct cw_buf *b)
{
    if (o->kind == O_TEXT) {
        cw_buf_puts(b, o->text);
    } else if (o->kind == O_REG) {
        cw_buf_printf(b, "%s%u", class_info[o->cls].prefix, o->index);
        w->used[o->cls][o->index] = true;
        if (o->dst)
            w->written[o->cls][o->index] = true;
    } else {
        unsigned bits = ptx_type_bits((ptx_type)o->type);
        enum ptx_type_class c = ptx_type_class((ptx_type)o->type);
        if (o->type == PTX_F32)
            cw_buf_printf(b, "0f%08X", (uint32_t)o->imm);
        else if (o->type == PTX_F64)
            cw_buf_printf(b, "0d%016llX", (unsigned long long)o->imm);
        else if (c == PTX_CLASS_SINT)
            cw_buf_printf(b, "%lld", (long long)((int64_t)(o->imm << (64 - bits)) >> (64 - bits)));
        else
            cw_buf_printf(b, "%llu", (unsigned long long)o->imm);
    }
}

static void
expand_text(struct printer *w, const struct node *n, const char *s, const char *c, const char *count)
{
    bool line = true;
    for (; *s; s++) {
        if (line && *s == '?') {
            if (n->guard >= 0) {
                cw_buf_printf(w->b, "@%s%%p%d ", n->guard_negated ? "!" : "", n->guard);
                w->used[C_P][n->guard] = true;
            }
            line = false;
            continue;
        }
        line = *s == '\n';
        if (*s != '$') {
            cw_buf_append(w->b, s, 1);
            continue;
        }
        s++;
        if (*s >= '0' && *s <= '9')
            operand(w, &n->op[*s - '0'], w->b);
        else if (*s == 'c')
            cw_buf_puts(w->b, c);
        else if (*s == 'n')
            cw_buf_puts(w->b, count);
        else if (*s == 'm')
            cw_buf_puts(w->b, w->mask);
        else if (*s == 'u')
            cw_buf_printf(w->b, "%u", n->id);
        else if (*s == '#')
            cw_buf_printf(w->b, "%u", w->number);
    }
    cw_buf_puts(w->b, "\n");
}

static void
trace_results(struct printer *w, const struct node *n)
{
    static const char *const convert[NCLASSES] = {
        [C_H] = "cvt.u64.u16 %%tt, %s%u;\n", [C_R] = "cvt.u64.u32 %%tt, %s%u;\n", [C_S] = "mov.b32 %%t3, %s%u;\ncvt.u64.u32 %%tt, %%t3;\n",
        [C_F] = "mov.b32 %%t3, %s%u;\ncvt.u64.u32 %%tt, %%t3;\n", [C_D] = "mov.b64 %%tt, %s%u;\n", [C_G] = "mov.b64 %%tt, %s%u;\n",
        [C_P] = "selp.b64 %%tt, 1, 0, %s%u;\n",
    };
    if (!w->trace || w->f)
        return;
    for (unsigned i = 0; i < n->nops; i++) {
        const struct operand *o = &n->op[i];
        if (o->kind != O_REG || !o->dst)
            continue;
        cw_buf_printf(w->b, convert[o->cls], class_info[o->cls].prefix, o->index);
        cw_buf_printf(w->b, "mov.b64 %%tn, %u;\nsetp.lt.u64 %%tq, %%tp, %%te;\n@%%tq st.global.v2.b64 [%%tp], {%%tn, %%tt};\n@%%tq add.s64 %%tp, %%tp, 16;\n",
                      (n->id + 1) << 8 | i);
    }
}

/* ---- nodes ---- */

static void print_seq(struct printer *w, const struct seq *s);

static void
new_mask(struct printer *w, char *out)
{
    snprintf(out, 16, "%%m%u", ++w->masks);
}

/* A part of the tree that lanes reach under `mask` only. */
static void
masked(struct printer *w, const struct seq *s, const char *mask)
{
    char saved[16];
    bool full = w->full;
    memcpy(saved, w->mask, sizeof saved);
    snprintf(w->mask, sizeof w->mask, "%.15s", mask);
    w->full = false;
    print_seq(w, s);
    memcpy(w->mask, saved, sizeof saved);
    w->full = full;
}

static void
print_if(struct printer *w, const struct node *n, bool masks)
{
    char c[16], yes[16] = "", no[16] = "";
    snprintf(c, sizeof c, "%%c%u", n->id);
    expand_text(w, n, n->text, c, "");
    if (masks && !n->uniform) {
        new_mask(w, yes);
        new_mask(w, no);
        cw_buf_printf(w->b, "vote.sync.ballot.b32 %s, %s, %s;\nxor.b32 %s, %s, %s;\n", yes, c, w->mask, no, w->mask, yes);
    }
    bool has_else = n->nseqs > 1;
    cw_buf_printf(w->b, "@!%s bra %s%u;\n", c, has_else ? "E" : "X", n->id);
    if (n->uniform)
        print_seq(w, &n->seq[0]);
    else
        masked(w, &n->seq[0], yes);
    if (has_else) {
        cw_buf_printf(w->b, "bra X%u;\nE%u:\n", n->id, n->id);
        if (n->uniform)
            print_seq(w, &n->seq[1]);
        else
            masked(w, &n->seq[1], no);
    }
    cw_buf_printf(w->b, "X%u:\n", n->id);
}

static void
print_loop(struct printer *w, const struct node *n, bool masks)
{
    char c[24], count[24], m[16] = "", saved_mask[16];
    const struct node *saved = w->loop;
    memcpy(saved_mask, w->loop_mask, sizeof saved_mask);
    snprintf(c, sizeof c, "%%c%u", n->id);
    snprintf(count, sizeof count, "%%n%u", n->id);
    expand_text(w, n, n->text, c, count);
    cw_buf_printf(w->b, "mov.u32 %%i%u, 0;\n", n->id);
    masks = masks && !n->uniform;
    if (masks) {
        new_mask(w, m);
        cw_buf_printf(w->b, "mov.b32 %s, %s;\n", m, w->mask);
    }
    w->loop = n;
    snprintf(w->loop_mask, sizeof w->loop_mask, "%s", m);
    cw_buf_printf(w->b, "H%u:\n", n->id);
    if (!n->late) {
        cw_buf_printf(w->b, "setp.ge.u32 %s, %%i%u, %s;\n", c, n->id, count);
        if (masks)
            cw_buf_printf(w->b, "vote.sync.ballot.b32 %s, !%s, %s;\n", m, c, m);
        cw_buf_printf(w->b, "@%s bra X%u;\n", c, n->id);
    }
    if (n->uniform)
        print_seq(w, &n->seq[0]);
    else
        masked(w, &n->seq[0], m);
    cw_buf_printf(w->b, "C%u:\nadd.u32 %%i%u, %%i%u, 1;\n", n->id, n->id, n->id);
    if (n->late) {
        cw_buf_printf(w->b, "setp.lt.u32 %s, %%i%u, %s;\n", c, n->id, count);
        if (masks)
            cw_buf_printf(w->b, "vote.sync.ballot.b32 %s, %s, %s;\n", m, c, m);
        cw_buf_printf(w->b, "@%s bra H%u;\n", c, n->id);
    } else {
        cw_buf_printf(w->b, "bra H%u;\n", n->id);
    }
    cw_buf_printf(w->b, "X%u:\n", n->id);
    w->loop = saved;
    memcpy(w->loop_mask, saved_mask, sizeof saved_mask);
}

static void
print_switch(struct printer *w, const struct node *n, bool masks)
{
    char count[16], m[8][16] = { "" };
    snprintf(count, sizeof count, "%%n%u", n->id);
    expand_text(w, n, n->text, "", count);
    for (unsigned i = 0; i < n->nseqs && masks; i++) {
        new_mask(w, m[i]);
        cw_buf_printf(w->b, "setp.eq.u32 %%c%u, %s, %u;\nvote.sync.ballot.b32 %s, %%c%u, %s;\n", n->id, count, i, m[i], n->id, w->mask);
    }
    cw_buf_printf(w->b, "T%u: .branchtargets ", n->id);
    for (unsigned i = 0; i < n->nseqs; i++)
        cw_buf_printf(w->b, "%sS%u_%u", i ? ", " : "", n->id, i);
    cw_buf_printf(w->b, ";\nbrx.idx %s, T%u;\n", count, n->id);
    const struct node *loop = w->loop;
    w->loop = NULL;
    for (unsigned i = 0; i < n->nseqs; i++) {
        cw_buf_printf(w->b, "S%u_%u:\n", n->id, i);
        masked(w, &n->seq[i], m[i]);
        cw_buf_printf(w->b, "bra X%u;\n", n->id);
    }
    cw_buf_printf(w->b, "X%u:\n", n->id);
    w->loop = loop;
}

static void
print_wild(struct printer *w, const struct node *n)
{
    char c[16], limit[16];
    const struct node *loop = w->loop;
    unsigned id = n->id;
    snprintf(c, sizeof c, "%%c%u", id);
    snprintf(limit, sizeof limit, "%llu", (unsigned long long)n->op[4].imm);
    expand_text(w, n, n->text, c, "");
    w->loop = NULL;
    cw_buf_printf(w->b, "mov.u32 %%i%u, 0;\n@%s bra B%u;\nA%u:\n", id, c, id, id);
    masked(w, &n->seq[0], "");
    cw_buf_printf(w->b, "add.u32 %%i%u, %%i%u, 1;\nsetp.ge.u32 %s, %%i%u, %s;\n@%s bra X%u;\n@", id, id, c, id, limit, c, id);
    operand(w, &n->op[2], w->b);
    cw_buf_printf(w->b, " bra A%u;\nB%u:\n", id, id);
    masked(w, &n->seq[1], "");
    cw_buf_printf(w->b, "add.u32 %%i%u, %%i%u, 1;\nsetp.ge.u32 %s, %%i%u, %s;\n@%s bra X%u;\n@", id, id, c, id, limit, c, id);
    operand(w, &n->op[3], w->b);
    cw_buf_printf(w->b, " bra A%u;\nbra B%u;\nX%u:\n", id, id, id);
    w->loop = loop;
}

static void
print_call(struct printer *w, const struct node *n, bool masks)
{
    const struct func *f = n->func, *g = n->indirect ? other_target(w->p, w->f, f) : f;
    char mask[16], c[16];
    unsigned id = n->id, last = f->nparams + 1u;
    snprintf(mask, sizeof mask, "%s", masks && *w->mask ? w->mask : "0");
    snprintf(c, sizeof c, "%%c%u", id);
    if (n->recursive) {
        cw_buf_printf(w->b, "setp.ne.u32 %s, %%dep, 0;\n", c);
        if (masks) {
            char m[16];
            new_mask(w, m);
            cw_buf_printf(w->b, "vote.sync.ballot.b32 %s, %s, %s;\n", m, c, w->mask);
            snprintf(mask, sizeof mask, "%s", m);
        }
        cw_buf_printf(w->b, "@!%s bra X%u;\nsub.u32 %%t1, %%dep, 1;\n", c, id);
    } else {
        cw_buf_puts(w->b, "and.b32 %t1, ");
        operand(w, &n->op[last], w->b);
        cw_buf_puts(w->b, ", 3;\n");
    }
    const char *ret = ptx_type_name((ptx_type)f->ret);
    if (f->reg_params) {
        cw_buf_printf(w->b, "mov.b32 %%ta, %s;\ncall (", mask);
        operand(w, &n->op[0], w->b);
        cw_buf_printf(w->b, "), k%u_f%u, (%%ta, %%t1", w->number, f->number);
        for (unsigned i = 0; i < f->nparams; i++) {
            cw_buf_puts(w->b, ", ");
            operand(w, &n->op[1 + i], w->b);
        }
        /* A register argument has to be one. */
        cw_buf_puts(w->b, ");\n");
    } else {
        if (n->indirect && masks && *w->mask) {
            /* Lanes on other paths do not take part. */
            char m[16];
            new_mask(w, m);
            cw_buf_puts(w->b, "and.b32 %t0, ");
            operand(w, &n->op[last], w->b);
            cw_buf_printf(w->b, ", 4;\nsetp.eq.u32 %s, %%t0, 0;\nvote.sync.ballot.b32 %s, %s, %s;\nnot.b32 %%t2, %s;\nselp.b32 %s, %s, %%t2, %s;\nand.b32 %s, %s, %s;\n",
                          c, m, c, w->mask, m, m, m, c, m, m, w->mask);
            snprintf(mask, sizeof mask, "%s", m);
        }
        cw_buf_printf(w->b, "{\n.param .%s crv;\n.param .b32 ca0;\n.param .b32 ca1;\n", ret);
        for (unsigned i = 0; i < f->nparams; i++)
            cw_buf_printf(w->b, ".param .%s ca%u;\n", ptx_type_name((ptx_type)f->param[i]), i + 2);
        cw_buf_printf(w->b, "st.param.b32 [ca0], %s;\nst.param.b32 [ca1], %%t1;\n", mask);
        for (unsigned i = 0; i < f->nparams; i++) {
            cw_buf_printf(w->b, "st.param.%s [ca%u], ", ptx_type_name((ptx_type)f->param[i]), i + 2);
            operand(w, &n->op[1 + i], w->b);
            cw_buf_puts(w->b, ";\n");
        }
        if (n->indirect) {
            cw_buf_printf(w->b, "P%u: .callprototype (.param .%s _) _ (.param .b32 _, .param .b32 _", id, ret);
            for (unsigned i = 0; i < f->nparams; i++)
                cw_buf_printf(w->b, ", .param .%s _", ptx_type_name((ptx_type)f->param[i]));
            cw_buf_puts(w->b, ");\nshr.u32 %t0, ");
            operand(w, &n->op[last], w->b);
            cw_buf_puts(w->b, ", 2;\nand.b32 %t0, %t0, 1;\n");
            if (id % 2) {
                cw_buf_printf(&w->decls, ".global .u64 k%u_t%u[2] = {k%u_f%u, k%u_f%u};\n", w->number, id, w->number, f->number, w->number, g->number);
                cw_buf_printf(w->b, "mul.wide.u32 %%u0, %%t0, 8;\nmov.u64 %%u1, k%u_t%u;\nadd.s64 %%u0, %%u0, %%u1;\nld.global.u64 %%u0, [%%u0];\n", w->number, id);
            } else {
                cw_buf_printf(w->b, "mov.u64 %%u0, k%u_f%u;\nmov.u64 %%u1, k%u_f%u;\nsetp.eq.u32 %%tp0, %%t0, 0;\nselp.b64 %%u0, %%u0, %%u1, %%tp0;\n", w->number,
                              f->number, w->number, g->number);
            }
            cw_buf_puts(w->b, "call (crv), %u0, (ca0, ca1");
        } else {
            cw_buf_printf(w->b, "call (crv), k%u_f%u, (ca0, ca1", w->number, f->number);
        }
        for (unsigned i = 0; i < f->nparams; i++)
            cw_buf_printf(w->b, ", ca%u", i + 2);
        if (n->indirect)
            cw_buf_printf(w->b, "), P%u;\n", id);
        else
            cw_buf_puts(w->b, ");\n");
        cw_buf_printf(w->b, "ld.param.%s ", ret);
        operand(w, &n->op[0], w->b);
        cw_buf_puts(w->b, ", [crv];\n}\n");
    }
    if (n->recursive)
        cw_buf_printf(w->b, "X%u:\n", id);
    trace_results(w, n);
}

static void
print_jump(struct printer *w, const struct node *n)
{
    char c[16];
    snprintf(c, sizeof c, "%%c%u", n->id);
    if (n->kind == N_EXIT) {
        expand_text(w, n, n->text, c, "");
        if (*w->mask) {
            char m[16];
            new_mask(w, m);
            cw_buf_printf(w->b, "vote.sync.ballot.b32 %s, !%s, %s;\n", m, c, w->mask);
            snprintf(w->mask, sizeof w->mask, "%s", m);
            w->full = false;
        }
        cw_buf_printf(w->b, "@%s exit;\n", c);
        return;
    }
    if (!w->loop)
        return;
    expand_text(w, n, n->text, c, "");
    if (*w->loop_mask) {
        if (n->kind == N_BREAK) {
            cw_buf_printf(w->b, "vote.sync.ballot.b32 %s, !%s, %s;\n", w->loop_mask, c, w->loop_mask);
        } else {
            char m[16];
            new_mask(w, m);
            cw_buf_printf(w->b, "vote.sync.ballot.b32 %s, !%s, %s;\n", m, c, w->mask);
            snprintf(w->mask, sizeof w->mask, "%s", m);
        }
    }
    cw_buf_printf(w->b, "@%s bra %c%u;\n", c, n->kind == N_BREAK ? 'X' : 'C', w->loop->id);
}

static void
print_node(struct printer *w, const struct node *n)
{
    if (n->off)
        return;
    if (n->id >= w->max_id)
        w->max_id = n->id + 1;
    if (n->unwrapped) {
        const struct node *loop = w->loop;
        if (n->kind != N_IF)
            w->loop = NULL;
        if (n->kind == N_LOOP || n->kind == N_WILD)
            cw_buf_printf(w->b, "mov.u32 %%i%u, 0;\n", n->id);
        if (n->keep < n->nseqs)
            print_seq(w, &n->seq[n->keep]);
        w->loop = loop;
        return;
    }
    bool masks = node_needs(w->p, n, 0);
    switch (n->kind) {
    case N_LEAF:
        expand_text(w, n, n->text2 && !w->full ? n->text2 : n->text, "", "");
        trace_results(w, n);
        break;
    case N_IF:      print_if(w, n, masks); break;
    case N_LOOP:    print_loop(w, n, masks); break;
    case N_SWITCH:  print_switch(w, n, masks); break;
    case N_WILD:    print_wild(w, n); break;
    case N_CALL:    print_call(w, n, n->recursive ? func_needs(w->p, n->func, 0) : masks); break;
    default:        print_jump(w, n); break;
    }
}

static void
print_seq(struct printer *w, const struct seq *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        print_node(w, s->list[i]);
}

/* ---- functions ---- */

static bool
mentions(const struct cw_buf *b, const char *s)
{
    return b->data && strstr(b->data, s);
}

static void
declare(struct printer *w, struct cw_buf *out)
{
    for (unsigned c = 0; c < NCLASSES; c++)
        cw_buf_printf(out, ".reg .%s %s<%u>;\n", class_info[c].type, class_info[c].prefix, class_info[c].count);
    cw_buf_puts(out, ".reg .b16 %tz16;\n.reg .b32 %t<4>, %tz32, %tx32, %ta;\n.reg .b64 %u<2>, %tz64, %tx64, %tt, %tn;\n.reg .pred %tp0, %tq;\n.reg .f32 %tf<2>;\n.reg .b64 %tx<2>;\n");
    cw_buf_printf(out, ".reg .b32 %%lane, %%m<%u>, %%i<%u>, %%n<%u>, %%un<4>;\n.reg .pred %%c<%u>;\n", w->masks + 1, w->max_id + 1, w->max_id + 1, w->max_id + 1);
}

static void
initial(struct printer *w, struct cw_buf *out, unsigned c, unsigned i, uint64_t v)
{
    if (c == C_P)
        cw_buf_printf(out, "mov.pred %%p%u, %u;\n", i, (unsigned)(v & 1));
    else if (c == C_H)
        cw_buf_printf(out, "mov.b16 %%h%u, 0x%04x;\n", i, (unsigned)(v & 0xffff));
    else if (class_info[c].bytes == 4)
        cw_buf_printf(out, "mov.b32 %s%u, 0x%08x;\n", class_info[c].prefix, i, (uint32_t)v);
    else
        cw_buf_printf(out, "mov.b64 %s%u, 0x%016llx;\n", class_info[c].prefix, i, (unsigned long long)v);
}

static void
init_local(const struct program *p, struct cw_buf *out)
{
    for (unsigned i = 0; i < OWN_BYTES; i += 8)
        cw_buf_printf(out, "mov.b64 %%u0, 0x%016llx;\nst.local.b64 [loc+%u], %%u0;\n", (unsigned long long)rng_hash(p->constants, i), i);
}

static void
print_function(const struct program *p, const struct func *f, uint32_t number, struct cw_buf *out)
{
    struct cw_buf body, head;
    struct printer w = { .b = &body, .p = p, .f = f, .number = number };
    static const uint8_t class_of[] = { [PTX_B32] = C_R, [PTX_F32] = C_F, [PTX_B64] = C_D, [PTX_F64] = C_G };
    unsigned next[NCLASSES] = { 0 };
    const char *space = f->reg_params ? "reg" : "param", *sigil = f->reg_params ? "%" : "";
    cw_buf_init(&body);
    cw_buf_init(&head);
    cw_buf_init(&w.decls);
    if (func_needs(p, f, 0))
        snprintf(w.mask, sizeof w.mask, "%%m0");
    print_seq(&w, &f->body);
    cw_buf_printf(&head, ".func (.%s .%s %srv) k%u_f%u (.%s .b32 %sa0, .%s .b32 %sa1", space, ptx_type_name((ptx_type)f->ret), sigil, number, f->number, space,
                  sigil, space, sigil);
    for (unsigned i = 0; i < f->nparams; i++)
        cw_buf_printf(&head, ", .%s .%s %sa%u", space, ptx_type_name((ptx_type)f->param[i]), sigil, i + 2);
    cw_buf_puts(&head, ")\n{\n.reg .b32 %dep;\n");
    declare(&w, &head);
    if (mentions(&body, "loc"))
        cw_buf_printf(&head, ".local .align 16 .b8 loc[%u];\n", OWN_BYTES);
    unsigned rc = class_of[f->ret];
    w.used[rc][0] = true;
    for (unsigned c = 0; c < NCLASSES; c++)
        for (unsigned i = 0; i < class_info[c].count; i++)
            if (w.used[c][i])
                initial(&w, &head, c, i, rng_hash(p->constants, c * 16 + i));
    if (f->reg_params)
        cw_buf_puts(&head, "mov.b32 %m0, %a0;\nmov.b32 %dep, %a1;\n");
    else
        cw_buf_puts(&head, "ld.param.b32 %m0, [a0];\nld.param.b32 %dep, [a1];\n");
    cw_buf_puts(&head, "mov.b32 %ta, %m0;\n");
    for (unsigned i = 0; i < f->nparams; i++) {
        unsigned c = class_of[f->param[i]], k = next[c]++;
        if (!w.used[c][k])
            continue;
        if (f->reg_params)
            cw_buf_printf(&head, "mov.%s %s%u, %%a%u;\n", ptx_type_name((ptx_type)f->param[i]), class_info[c].prefix, k, i + 2);
        else
            cw_buf_printf(&head, "ld.param.%s %s%u, [a%u];\n", ptx_type_name((ptx_type)f->param[i]), class_info[c].prefix, k, i + 2);
    }
    if (mentions(&body, "%lane,"))
        cw_buf_puts(&head, "mov.u32 %lane, %laneid;\n");
    if (mentions(&body, "loc"))
        init_local(p, &head);
    cw_buf_append(out, w.decls.data, w.decls.size);
    cw_buf_append(out, head.data, head.size);
    cw_buf_append(out, body.data, body.size);
    if (f->reg_params)
        cw_buf_printf(out, "mov.%s %%rv, %s0;\nret;\n}\n", ptx_type_name((ptx_type)f->ret), class_info[rc].prefix);
    else
        cw_buf_printf(out, "st.param.%s [rv], %s0;\nret;\n}\n", ptx_type_name((ptx_type)f->ret), class_info[rc].prefix);
    cw_buf_finish(&body);
    cw_buf_finish(&head);
    cw_buf_finish(&w.decls);
}

static bool
starts_uniform(const struct program *p, unsigned c, unsigned i)
{
    return p->uniform && rng_hash(p->seed, 0x756e69 + c * 16 + i) % 100 < p->uniform;
}

static void
kernel_prologue(struct printer *w, const struct cw_buf *body, struct cw_buf *out)
{
    const struct program *p = w->p;
    uint32_t threads = p->block[0] * p->block[1] * p->block[2], n = w->number;
    bool shared = mentions(body, "%osh"), exchange = mentions(body, "%xch"), inputs = false;
    char dyn[16];
    snprintf(dyn, sizeof dyn, "dynsh%u", n);
    const char *own = p->dynamic_shared ? dyn : "ksh";
    declare(w, out);
    cw_buf_puts(out, ".reg .b32 %ltid, %gid, %nthr;\n.reg .b64 %outp, %own, %osh, %xch, %xch0, %inb, %inp, %inu, %atom, %tp, %te;\n");
    if (mentions(body, "loc"))
        cw_buf_printf(out, ".local .align 16 .b8 loc[%u];\n", OWN_BYTES);
    if (!p->dynamic_shared && shared)
        cw_buf_printf(out, ".shared .align 16 .b8 ksh[%u];\n", threads * OWN_BYTES);
    if (!p->dynamic_shared && exchange)
        cw_buf_printf(out, ".shared .align 16 .b8 kxc[%u];\n", threads * 8);
    for (unsigned c = 0; c < NCLASSES; c++)
        for (unsigned i = 0; i < class_info[c].count; i++)
            inputs |= w->used[c][i];
    bool multi = threads > 1, grid = p->grid[0] * p->grid[1] * p->grid[2] > 1;
    if (multi && p->block[1] * p->block[2] == 1)
        cw_buf_puts(out, "mov.u32 %ltid, %tid.x;\n");
    else if (multi)
        cw_buf_puts(out, "mov.u32 %t0, %tid.z;\nmov.u32 %t1, %ntid.y;\nmov.u32 %t2, %tid.y;\nmad.lo.u32 %t0, %t0, %t1, %t2;\nmov.u32 %t1, %ntid.x;\n"
                         "mov.u32 %t2, %tid.x;\nmad.lo.u32 %ltid, %t0, %t1, %t2;\n");
    else
        cw_buf_puts(out, "mov.u32 %ltid, 0;\n");
    cw_buf_printf(out, "mov.u32 %%nthr, %u;\n", threads);
    if (grid)
        cw_buf_puts(out, "mov.u32 %t0, %ctaid.y;\nmov.u32 %t1, %nctaid.x;\nmov.u32 %t2, %ctaid.x;\nmad.lo.u32 %t0, %t0, %t1, %t2;\n"
                         "mad.lo.u32 %gid, %t0, %nthr, %ltid;\n");
    else
        cw_buf_puts(out, "mov.u32 %gid, %ltid;\n");
    if (mentions(body, "%lane,"))
        cw_buf_puts(out, "mov.u32 %lane, %laneid;\n");
    /* Blocks whose last warp is not full. */
    if (mentions(body, "%m0") || mentions(body, "%ta"))
        cw_buf_puts(out, threads % 32 ? "activemask.b32 %m0;\nmov.b32 %ta, %m0;\n" : "mov.b32 %m0, -1;\nmov.b32 %ta, %m0;\n");
    cw_buf_printf(out, "ld.param.u64 %%outp, [k%u_out];\ncvta.to.global.u64 %%outp, %%outp;\nmul.wide.u32 %%u0, %%gid, %u;\nadd.s64 %%outp, %%outp, %%u0;\n", n, OUT_STRIDE);
    if (mentions(body, "%own"))
        cw_buf_printf(out, "add.s64 %%own, %%outp, %u;\n", OUT_OWN);
    if (mentions(body, "%atom"))
        cw_buf_printf(out, "ld.param.u64 %%atom, [k%u_atom];\ncvta.to.global.u64 %%atom, %%atom;\n", n);
    if (shared)
        cw_buf_printf(out, "mov.u64 %%osh, %s;\nmul.wide.u32 %%u0, %%ltid, %u;\nadd.s64 %%osh, %%osh, %%u0;\nmov.b64 %%u0, 0;\n", own, OWN_BYTES);
    for (unsigned i = 0; i < OWN_BYTES && shared; i += 8)
        cw_buf_printf(out, "st.shared.b64 [%%osh+%u], %%u0;\n", i);
    if (exchange)
        cw_buf_printf(out, "mov.u64 %%xch0, %s;\nadd.s64 %%xch0, %%xch0, %u;\nmul.wide.u32 %%xch, %%ltid, 8;\nadd.s64 %%xch, %%xch, %%xch0;\n"
                      "mov.b64 %%u0, 0;\nst.shared.b64 [%%xch], %%u0;\n", p->dynamic_shared ? dyn : "kxc", p->dynamic_shared ? threads * OWN_BYTES : 0);
    for (unsigned i = 0; i < 2; i++)
        if (mentions(body, i ? "%tx1," : "%tx0,"))
            cw_buf_printf(out, "ld.param.u64 %%tx%u, [k%u_tex%u];\n", i, n, i);
    if (mentions(body, "%un"))
        cw_buf_printf(out, "mov.u32 %%un0, %%ctaid.x;\nld.param.u32 %%un1, [k%u_x];\nxor.b32 %%un2, %%un0, %%un1;\nmov.u32 %%un3, %%ntid.x;\n", n);
    if (mentions(body, "loc"))
        init_local(p, out);
    inputs = inputs && !p->literal;
    if (inputs || mentions(body, "%inb"))
        cw_buf_printf(out, "ld.param.u64 %%inb, [k%u_in];\ncvta.to.global.u64 %%inb, %%inb;\n", n);
    if (inputs)
        cw_buf_printf(out, "ld.param.u32 %%t0, [k%u_base];\nadd.u32 %%t0, %%t0, %%gid;\nmul.wide.u32 %%inp, %%t0, %u;\nadd.s64 %%inp, %%inp, %%inb;\nadd.s64 %%inp, %%inp, %u;\n",
                      n, IN_STRIDE, IN_COMMON);
    if (inputs && p->uniform)       /* thread 0's */
        cw_buf_printf(out, "add.s64 %%inu, %%inb, %u;\n", IN_COMMON);
    uint8_t *literal = NULL;
    static uint8_t input[IN_BYTES];
    if (p->literal) {
        make_input(p->seed, input);
        literal = input + IN_COMMON + p->base * IN_STRIDE;
    }
    for (unsigned c = 0; c < NCLASSES; c++)
        for (unsigned i = 0; i < class_info[c].count; i++) {
            unsigned at = dump_offset((enum reg_class)c, i);
            if (!w->used[c][i])
                continue;
            const char *from = starts_uniform(p, c, i) ? "inu" : "inp";
            if (literal) {
                uint64_t v = 0;
                memcpy(&v, starts_uniform(p, c, i) ? input + IN_COMMON + at : literal + at, class_info[c].bytes);
                initial(w, out, c, i, v);
            } else if (c == C_P) {
                cw_buf_printf(out, "ld.global.u8 %%t0, [%%%s+%u];\nand.b32 %%t0, %%t0, 1;\nsetp.ne.u32 %%p%u, %%t0, 0;\n", from, at, i);
            } else {
                cw_buf_printf(out, "ld.global.b%u %s%u, [%%%s+%u];\n", class_info[c].bytes * 8, class_info[c].prefix, i, from, at);
            }
        }
    if (w->trace)
        cw_buf_printf(out, "ld.param.u64 %%tp, [k%u_trace];\ncvta.to.global.u64 %%tp, %%tp;\nld.param.u32 %%t0, [k%u_tid];\nsetp.eq.u32 %%tq, %%t0, %%gid;\n"
                      "selp.b64 %%te, %u, 0, %%tq;\nadd.s64 %%te, %%te, %%tp;\n", n, n, TRACE_EVENTS * 16);
}

const struct param_info param_info[NPARAMS] = {
    { "in", ".u64 k%u_in" }, { "out", ".u64 k%u_out" }, { "atom", ".u64 k%u_atom" }, { "trace", ".u64 k%u_trace" }, { "base", ".u32 k%u_base" },
    { "tid", ".u32 k%u_tid" }, { "x", ".u32 k%u_x" }, { "y", ".u64 k%u_y" }, { "z", ".f32 k%u_z" }, { "w", ".f64 k%u_w" }, { "h", ".u16 k%u_h" },
    { "arr", ".align 8 .b8 k%u_arr[24]" }, { "tex0", ".u64 k%u_tex0" }, { "tex1", ".u64 k%u_tex1" },
};

bool
param_used(const char *text, unsigned i)
{
    char name[32];
    size_t n = (size_t)snprintf(name, sizeof name, "k0_%s", param_info[i].name);
    for (const char *s = text; (s = strstr(s, name)); s++)
        if (s[n] == ']' || s[n] == '+' || s[n] == ',' || s[n] == ')' || s[n] == '[')
            return true;
    return false;
}

void
print_header(const struct options *o, struct cw_buf *out)
{
    cw_buf_printf(out, ".version %u.%u\n.target sm_%u\n.address_size 64\n", o->ptx / 10, o->ptx % 10, o->sm);
}

static bool
appears(const char *text, const char *end, const char *name, size_t n, bool numbered)
{
    for (const char *s = text; (s = memchr(s, '%', (size_t)(end - s))); s++)
        if ((size_t)(end - s) > n && !memcmp(s, name, n) &&
            (numbered ? s[n] >= '0' && s[n] <= '9' : !((s[n] >= 'a' && s[n] <= 'z') || (s[n] >= '0' && s[n] <= '9'))))
            return true;
    return false;
}

/* The brace that closes the scope which text at the begin of a line is in: on a line of its own, as all of this file's. */
static const char *
scope_end(const char *text)
{
    for (unsigned depth = 1; *text; text += strcspn(text, "\n"), text += *text == '\n') {
        bool alone = text[0] && (text[1] == '\n' || !text[1]);
        depth += alone && *text == '{';
        if (alone && *text == '}' && !--depth)
            break;
    }
    return text;
}

void
prune_declarations(const char *text, struct cw_buf *out)
{
    while (*text) {
        size_t n = strcspn(text, "\n"), name = 0;
        const char *next = text + n + (text[n] == '\n'), *end, *s = text;
        if (strncmp(text, ".reg ", 5)) {
            cw_buf_append(out, text, (size_t)(next - text));
            text = next;
            continue;
        }
        end = scope_end(next);
        const char *comma = "";
        for (; (s = memchr(s, '%', (size_t)(text + n - s))); s += name) {
            name = strcspn(s, "<,;\n");
            if (!appears(next, end, s, name, s[name] == '<'))
                continue;
            if (!*comma)
                cw_buf_append(out, text, strcspn(text, "%"));
            cw_buf_printf(out, "%s%.*s", comma, (int)strcspn(s, ",;\n"), s);
            comma = ", ";
        }
        cw_buf_puts(out, *comma ? ";\n" : "");
        text = next;
    }
}

void
print_program(const struct program *p, uint32_t number, bool trace, struct cw_buf *out)
{
    struct cw_buf body, funcs;
    struct printer w = { .b = &body, .p = p, .number = number, .trace = trace };
    uint32_t threads = p->block[0] * p->block[1] * p->block[2];
    cw_buf_init(&body);
    cw_buf_init(&funcs);
    cw_buf_init(&w.decls);
    if (needs_mask(p, &p->body, 0))
        snprintf(w.mask, sizeof w.mask, "%%m0");
    w.full = threads % 32 == 0;
    print_seq(&w, &p->body);
    for (uint32_t i = 0; i < p->nfuncs; i++) {
        char name[32];
        snprintf(name, sizeof name, "k%u_f%u", number, i);
        bool wanted = mentions(&body, name) || mentions(&w.decls, name);
        for (uint32_t k = i + 1; k < p->nfuncs && !wanted; k++) {
            struct cw_buf t;
            cw_buf_init(&t);
            print_function(p, &p->func[k], number, &t);
            wanted = mentions(&t, name);
            cw_buf_finish(&t);
        }
        if (wanted)
            print_function(p, &p->func[i], number, &funcs);
    }
    char table[24];
    for (unsigned k = 0; k < 2; k++) {
        snprintf(table, sizeof table, "%ctab%u", k ? 'c' : 'g', number);
        if (!mentions(&body, table) && !mentions(&funcs, table))
            continue;
        cw_buf_printf(out, ".%s .align 16 .b8 %s[%u] = {", k ? "const" : "global", table, TABLE_BYTES);
        for (unsigned i = 0; i < TABLE_BYTES; i++)
            cw_buf_printf(out, "%s%u", i ? "," : "", (unsigned)(rng_hash(p->constants, 256 + i + k * 1024) & 0xff));
        cw_buf_puts(out, "};\n");
    }
    if (p->dynamic_shared && (mentions(&body, "%osh") || mentions(&body, "%xch")))
        cw_buf_printf(out, ".extern .shared .align 16 .b8 dynsh%u[];\n", number);
    if (funcs.size)
        cw_buf_append(out, funcs.data, funcs.size);
    if (w.decls.size)
        cw_buf_append(out, w.decls.data, w.decls.size);
    struct cw_buf prologue;
    cw_buf_init(&prologue);
    kernel_prologue(&w, &body, &prologue);
    cw_buf_printf(out, ".visible .entry k%u(", number);
    const char *comma = "";
    for (unsigned i = 0; i < NPARAMS; i++) {
        if (p->minimal && (number || (!param_used(prologue.data ? prologue.data : "", i) && !param_used(body.data ? body.data : "", i))))
            continue;
        cw_buf_printf(out, "%s.param ", comma);
        cw_buf_printf(out, param_info[i].decl, number);
        comma = ", ";
    }
    cw_buf_puts(out, ")\n{\n");
    cw_buf_append(out, prologue.data, prologue.size);
    cw_buf_finish(&prologue);
    cw_buf_append(out, body.data, body.size);
    for (unsigned c = 0; c < NCLASSES; c++)
        for (unsigned i = 0; i < class_info[c].count; i++) {
            unsigned at = dump_offset((enum reg_class)c, i);
            if (!w.written[c][i])
                continue;
            if (c == C_P)
                cw_buf_printf(out, "selp.u32 %%t0, 1, 0, %%p%u;\nst.global.u8 [%%outp+%u], %%t0;\n", i, at);
            else
                cw_buf_printf(out, "st.global.b%u [%%outp+%u], %s%u;\n", class_info[c].bytes * 8, at, class_info[c].prefix, i);
        }
    cw_buf_puts(out, "ret;\n}\n");
    cw_buf_finish(&body);
    cw_buf_finish(&funcs);
    cw_buf_finish(&w.decls);
}

void
print_module(const struct options *o, const struct program *p, uint32_t n, bool trace, struct cw_buf *out)
{
    struct cw_buf text;
    cw_buf_init(&text);
    print_header(o, out);
    for (uint32_t i = 0; i < n; i++)
        print_program(&p[i], i, trace, &text);
    if (text.failed)
        out->failed = true;
    else if (n == 1 && p->minimal)
        prune_declarations(text.data, out);
    else
        cw_buf_append(out, text.data, text.size);
    cw_buf_finish(&text);
}
