/* SPDX-License-Identifier: Apache-2.0
 * CWI_BOUND across calls. Each thread has a frame in CWI_VARIABLE: a word for $bad, and for every function that the kernel reaches an f64 for each
 * register, and for each four bytes of each .param, that it is called with or returns. Without recursion a function runs at most once at a time in a
 * thread, so that all of this has a fixed place, and no signature changes.
 *
 * What is put between st.param and its call, or ret, and behind the ld.param of a result has no predicates: NVIDIA's compiler would lose values
 * (instrument.c). */
#include "replay/instrument_private.h"

#include <stdlib.h>
#include <string.h>

#define INFINITE "0d7FF0000000000000"
#define ZERO     "0d0000000000000000"

enum { BAD = 8 };       /* bytes before the functions' parts */

/* ---- which functions there are ------------------------------------------------------------------------------------------------------ */

/* Functions without PTX that have no effect on what is followed: what they are given has to be exact, and what they return is. */
static bool
is_harmless(const char *name)
{
    static const char *const names[] = { "vprintf", "malloc", "free", "__assertfail", "__assert_fail" };
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

/* The function that a direct call calls, with its body where the program has it; NULL: the call is indirect. */
static const struct ptx_function *
callee(const struct cwi_program *p, const struct ptx_inst *in)
{
    const struct ptx_symbol *s = in->operand[1].kind == PTX_OPND_SYM ? in->operand[1].sym : NULL;
    while (s && s->kind == PTX_SYM_ALIAS)
        s = s->alias;
    if (!s || s->kind != PTX_SYM_FUNC || s->func->has_body)
        return s ? s->func : NULL;
    for (uint32_t t = 0; t < p->ntexts; t++)
        for (uint32_t f = 0; f < p->modules[t]->nfuncs; f++) {
            const struct ptx_function *fn = p->modules[t]->funcs[f];
            if (fn->has_body && fn->sym->linkage != PTX_LINK_LOCAL && !strcmp(fn->sym->name, s->name))
                return fn;
        }
    return s->func;
}

static uint64_t
slots(const struct ptx_symbol *formal)
{
    return formal->is_param_reg ? 1 : (formal->size + 3) / 4;
}

static struct cwi_frame *
frame_of(const struct cwi_program *p, const struct ptx_function *fn)
{
    for (uint32_t i = 0; i < p->nframes; i++)
        if (p->frames[i].fn == fn)
            return &p->frames[i];
    return NULL;
}

static const char *
add_frame(struct cwi_program *p, const struct ptx_function *fn)
{
    struct cwi_frame *more = realloc(p->frames, (p->nframes + 1) * sizeof *more);
    if (!more)
        return "more functions than there is memory for";
    p->frames = more;
    more[p->nframes++] = (struct cwi_frame){ .fn = fn, .at = p->frame_bytes, .open = true };
    for (uint32_t i = 0; i < fn->nparams && !fn->is_entry; i++)
        p->frame_bytes += slots(fn->params[i]) * 8;
    for (uint32_t i = 0; i < fn->nrets; i++)
        p->frame_bytes += slots(fn->rets[i]) * 8;
    return NULL;
}

/* The call that a .param variable is for, and the callee's parameter or result that it stands for. */
static const struct ptx_inst *
call_with(const struct cwi_program *p, const struct ptx_function *fn, const struct ptx_symbol *variable, unsigned *count, const struct ptx_symbol **formal)
{
    const struct ptx_inst *found = NULL;
    *count = 0;
    *formal = NULL;
    for (uint32_t i = 0; i < fn->ninsts; i++) {
        const struct ptx_inst *in = &fn->insts[i];
        for (unsigned k = 0; in->op == PTX_OP_CALL && k < 3 && k < in->noperands; k += 2)
            for (unsigned n = 0; in->operand[k].kind == PTX_OPND_LIST && n < in->operand[k].count; n++) {
                if (in->operand[k].elem[n].kind == PTX_OPND_REG || in->operand[k].elem[n].sym != variable)
                    continue;
                const struct ptx_function *to = callee(p, in);
                found = in;
                ++*count;
                if (to && n < (k ? to->nparams : to->nrets))
                    *formal = (k ? to->params : to->rets)[n];
            }
    }
    return found;
}

static const char *
visit(struct cwi_program *p, const struct ptx_function *fn, uint32_t *id)
{
    struct cwi_frame *f = frame_of(p, fn);
    if (f)
        return f->open ? "recursive calls" : NULL;
    const char *why = add_frame(p, fn);
    uint32_t at = p->nframes - 1;
    for (uint32_t i = 0; i < p->ninsts && !why; i++) {
        const struct ptx_inst *in = p->insts[i].in;
        if (p->insts[i].fn != fn)
            continue;
        *id = i;
        if ((why = cwi_bound_refusal(fn, in)) || in->op != PTX_OP_CALL)
            continue;
        const struct ptx_function *to = callee(p, in);
        if (!to)
            why = "calls through pointers";
        else if (!to->has_body)
            why = is_harmless(to->sym->name) ? NULL : "calls of functions that the program does not have";
        else
            why = visit(p, to, id);
    }
    for (uint32_t i = 0; i < fn->nlocals && !why; i++) {
        unsigned count;
        const struct ptx_symbol *formal;
        if (fn->locals[i]->space == PTX_SPACE_PARAM && call_with(p, fn, fn->locals[i], &count, &formal) && count > 1)
            why = ".param variables of several calls";
    }
    p->frames[at].open = false;
    return why;
}

const char *
cwi_bound_refuses(struct cwi_program *p, const char *kernel, uint32_t *id)
{
    const char *why = NULL;
    uint32_t kernels = 0;
    p->nframes = 0;
    p->frame_bytes = BAD;
    for (uint32_t t = 0; t < p->ntexts; t++)
        for (uint32_t f = 0; f < p->modules[t]->nfuncs && !why; f++) {
            const struct ptx_function *fn = p->modules[t]->funcs[f];
            if (!fn->is_entry || !fn->ninsts || (kernel && strcmp(fn->sym->name, kernel)))
                continue;
            kernels++;
            why = visit(p, fn, id);
        }
    if (p->nframes == kernels)
        p->frame_bytes = 0;
    return why;
}

bool
cwi_bound_follows(const struct cwi_program *p, const struct ptx_function *fn)
{
    return frame_of(p, fn);
}

/* ---- places in the frame -------------------------------------------------------------------------------------------------------------- */

#define NOWHERE UINT64_MAX

/* Where a parameter or result of fn has its bounds. */
static uint64_t
place_in(const struct cwi_program *p, const struct ptx_function *fn, const struct ptx_symbol *formal)
{
    const struct cwi_frame *f = fn->is_entry ? NULL : frame_of(p, fn);
    uint64_t at = f ? f->at : 0;
    for (uint32_t i = 0; f && i < fn->nparams + fn->nrets; i++) {
        const struct ptx_symbol *s = i < fn->nparams ? fn->params[i] : fn->rets[i - fn->nparams];
        if (s == formal)
            return at;
        at += slots(s) * 8;
    }
    return NOWHERE;
}

/* Does the function do anything else with its parameter than load or store it by name? */
static bool
is_addressed(const struct ptx_function *fn, const struct ptx_symbol *formal)
{
    for (uint32_t i = 0; i < fn->ninsts; i++) {
        const struct ptx_inst *in = &fn->insts[i];
        for (unsigned k = 0; k < in->noperands; k++) {
            const struct ptx_operand *o = &in->operand[k];
            bool direct = (in->op == PTX_OP_LD || in->op == PTX_OP_ST) && o->kind == PTX_OPND_ADDR && !o->has_reg;
            if ((o->kind == PTX_OPND_ADDR || o->kind == PTX_OPND_SYM) && o->sym == formal && !direct)
                return true;
            for (unsigned n = 0; (o->kind == PTX_OPND_VEC || o->kind == PTX_OPND_LIST) && n < o->count; n++)
                if (o->elem[n].kind == PTX_OPND_SYM && o->elem[n].sym == formal)
                    return true;
        }
    }
    return false;
}

/* The address [symbol+imm] of .param: where its first word's bound is, or NOWHERE. *followed: all reads of it are loads by name. */
static uint64_t
place_of(const struct rewrite *w, const struct ptx_operand *a, bool *followed)
{
    const struct ptx_symbol *formal = a->sym;
    const struct ptx_function *fn = w->fn;
    *followed = false;
    if (formal->kind == PTX_SYM_VAR) {
        unsigned count;
        const struct ptx_inst *call = call_with(w->p, fn, a->sym, &count, &formal);
        fn = call && formal ? callee(w->p, call) : NULL;
    }
    uint64_t at = fn ? place_in(w->p, fn, formal) : NOWHERE;
    if (at == NOWHERE || a->imm < 0 || (uint64_t)a->imm / 4 >= slots(formal))
        return NOWHERE;
    *followed = !is_addressed(fn, formal);
    return at + (uint64_t)a->imm / 4 * 8;
}

/* ---- what is put in ---------------------------------------------------------------------------------------------------------------------- */

#define PLACE(at) (unsigned long long)(at)

void
cwi_bound_frame(struct rewrite *w)
{
    if (!w->p->frame_bytes)
        return;
    cwi_put(w, " .reg .b64 $frame; mov.u32 $x, %%ntid.x; mov.u32 $y, %%ntid.y; mul.lo.u32 $x, $x, $y; mov.u32 $y, %%ntid.z; mul.lo.u32 $x, $x, $y; cvt.u64.u32 $v, $x;"
               " cvt.u64.u32 $i, $w; mad.lo.u64 $frame, $block, $v, $i; mul.lo.u64 $frame, $frame, %llu; ld.global.u64 $v, [$log+%d]; add.u64 $frame, $frame, $v;"
               " add.u64 $frame, $frame, $log;", (unsigned long long)w->p->frame_bytes, CWI_ADDRESS * 8);
    if (w->fn->is_entry)
        return;
    cwi_put(w, " ld.global.f64 $bad, [$frame];");
    for (uint32_t i = 0; i < w->fn->nparams; i++)
        if (w->fn->params[i]->is_param_reg)
            cwi_put(w, " ld.global.f64 $e%u, [$frame+%llu];", w->fn->params[i]->reg, PLACE(place_in(w->p, w->fn, w->fn->params[i])));
}

void
cwi_bound_ret(struct rewrite *w)
{
    if (w->fn->is_entry)
        return;
    cwi_put(w, " st.global.f64 [$frame], $bad;");
    for (uint32_t i = 0; i < w->fn->nrets; i++)
        if (w->fn->rets[i]->is_param_reg)
            cwi_put(w, " st.global.f64 [$frame+%llu], $e%u;", PLACE(place_in(w->p, w->fn, w->fn->rets[i])), w->fn->rets[i]->reg);
}

bool
cwi_bound_is_param(const struct ptx_inst *in)
{
    unsigned at = in->op == PTX_OP_LD;
    return (in->op == PTX_OP_LD || in->op == PTX_OP_ST) && in->space == PTX_SPACE_PARAM && in->noperands == 2 && in->operand[at].kind == PTX_OPND_ADDR &&
           !in->operand[at].has_reg && in->operand[at].sym;
}

/* What is not exact and goes where it is not followed: no bound for anything more. */
static void
lose(struct rewrite *w)
{
    cwi_put(w, " setp.neu.f64 $q, $ea, " ZERO "; selp.f64 $u0, " INFINITE ", " ZERO ", $q; add.f64 $bad, $bad, $u0;");
}

void
cwi_bound_store_param(struct rewrite *w, const struct ptx_inst *in)
{
    const struct ptx_operand *o = &in->operand[1];
    unsigned bytes = ptx_type_bits((ptx_type)in->type[0]) / 8, n = o->kind == PTX_OPND_VEC ? o->count : 1;
    bool followed;
    for (unsigned i = 0; i < n; i++) {
        struct ptx_operand a = in->operand[0];
        a.imm += i * bytes;
        uint64_t at = place_of(w, &a, &followed);
        cwi_bound_take(w, o->kind == PTX_OPND_VEC ? &o->elem[i] : o, 'a');
        if (at == NOWHERE || !followed || bytes < 4 || in->has_guard) {
            lose(w);
            continue;
        }
        for (unsigned word = 0; word < bytes / 4; word++)
            cwi_put(w, " st.global.f64 [$frame+%llu], $ea;", PLACE(at + word * 8));
    }
}

void
cwi_bound_load_param(struct rewrite *w, const struct ptx_inst *in)
{
    const struct ptx_operand *o = &in->operand[0];
    unsigned bytes = ptx_type_bits((ptx_type)in->type[0]) / 8, n = o->kind == PTX_OPND_VEC ? o->count : 1;
    bool followed;
    for (unsigned i = 0; i < n; i++) {
        const struct ptx_operand *to = o->kind == PTX_OPND_VEC ? &o->elem[i] : o;
        struct ptx_operand a = in->operand[1];
        a.imm += i * bytes;
        uint64_t at = place_of(w, &a, &followed);
        if (to->kind != PTX_OPND_REG || w->fn->regs[to->index].type == PTX_PRED)
            continue;
        if (at == NOWHERE || !followed)         /* a kernel's, or what was lost where it was stored */
            cwi_put(w, " mov.f64 $er, " ZERO ";");
        else
            cwi_put(w, " ld.global.f64 $er, [$frame+%llu];", PLACE(at));
        if (at != NOWHERE && followed && bytes == 8)
            cwi_put(w, " ld.global.f64 $u1, [$frame+%llu]; setp.eq.f64 $q, $u1, $er; selp.f64 $er, $er, " INFINITE ", $q;", PLACE(at + 8));
        if (bytes < 4)
            cwi_put(w, " setp.eq.f64 $q, $er, " ZERO "; selp.f64 $er, " ZERO ", " INFINITE ", $q;");
        cwi_bound_set(w, in, to->index, "%cudaway_er");
    }
}

static const struct ptx_operand *
list_of(const struct ptx_inst *in, unsigned k)
{
    return k < in->noperands && in->operand[k].kind == PTX_OPND_LIST ? &in->operand[k] : NULL;
}

void
cwi_bound_before_call(struct rewrite *w, const struct ptx_inst *in)
{
    const struct ptx_function *to = callee(w->p, in);
    const struct ptx_operand *arguments = list_of(in, 2);
    for (unsigned i = 0; arguments && i < arguments->count; i++) {
        const struct ptx_operand *o = &arguments->elem[i];
        if (o->kind != PTX_OPND_REG && o->kind != PTX_OPND_IMM)         /* a .param variable, which st.param wrote */
            continue;
        uint64_t at = i < to->nparams && to->has_body ? place_in(w->p, to, to->params[i]) : NOWHERE;
        cwi_bound_take(w, o, 'a');
        if (at == NOWHERE || (!to->params[i]->is_param_reg && is_addressed(to, to->params[i])))
            lose(w);
        for (uint64_t k = 0; at != NOWHERE && k < slots(to->params[i]); k++)
            cwi_put(w, " st.global.f64 [$frame+%llu], $ea;", PLACE(at + k * 8));
    }
    if (to->has_body)
        cwi_put(w, " st.global.f64 [$frame], $bad;");
}

void
cwi_bound_behind_call(struct rewrite *w, const struct ptx_inst *in)
{
    const struct ptx_function *to = callee(w->p, in);
    const struct ptx_operand *results = list_of(in, 0);
    if (to->has_body)
        cwi_put(w, " ld.global.f64 $bad, [$frame];");
    for (unsigned i = 0; results && i < results->count; i++) {
        const struct ptx_operand *o = &results->elem[i];
        if (o->kind != PTX_OPND_REG || w->fn->regs[o->index].type == PTX_PRED)
            continue;
        if (to->has_body && i < to->nrets)
            cwi_put(w, " ld.global.f64 $er, [$frame+%llu];", PLACE(place_in(w->p, to, to->rets[i])));
        else
            cwi_put(w, " mov.f64 $er, " ZERO ";");
        cwi_bound_set(w, in, o->index, "%cudaway_er");
    }
}
