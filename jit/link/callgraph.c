/* SPDX-License-Identifier: Apache-2.0
 * The call graph: the callees and variables of each function, the call closure of each kernel. A call through a register may reach any
 * function of the prototype's signature whose address is taken anywhere in the program, since addresses travel through memory. Walks are
 * iterative: call chains in the input may be arbitrarily deep. */
#include "jit/link/program.h"

#include <stdlib.h>
#include <string.h>

struct set {
    uint32_t *at;
    uint32_t n, cap;
};

static void
set_add(struct cwj_program *p, struct set *s, uint32_t id)
{
    if (id == CWJ_NO_ID || (s->n && s->at[s->n - 1] == id))
        return;
    s->at = cw_arena_grow(&p->scratch, s->at, s->n, 1, &s->cap, sizeof *s->at);
    s->at[s->n++] = id;
}

static int
compare_ids(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Sort, remove duplicates, move to the program; empties s. */
static const uint32_t *
set_take(struct cwj_program *p, struct set *s, uint32_t *count)
{
    uint32_t n = 0;
    if (s->n)
        qsort(s->at, s->n, sizeof *s->at, compare_ids);
    for (uint32_t i = 0; i < s->n; i++)
        if (!n || s->at[n - 1] != s->at[i])
            s->at[n++] = s->at[i];
    uint32_t *out = cw_arena_array(&p->arena, uint32_t, n);
    if (n)
        memcpy(out, s->at, n * sizeof *out);
    *count = n;
    s->n = 0;
    return out;
}

struct scan {
    struct cwj_program *p;
    struct set callees, vars, signatures;
    bool callee_place;          /* the current operand names a call's target */
    bool indirect, targets;
    const struct ptx_function *prototype;
    struct signature *signature;    /* by number */
    uint32_t nsignatures, cap_signatures;
    uint32_t *slot, nslots;         /* a hash table of 1 + number; a power of two, at most half full */
};

/* What a call and its callee must agree on: the numbers of parameters and results, and for each its size and whether it is an array. Types of
 * equal size are equal, as in PTX calls. */
struct signature {
    uint64_t *word;
    uint32_t n;
};

static struct signature
signature_of(struct scan *s, const struct ptx_function *fn)
{
    struct signature g = { cw_arena_array(&s->p->scratch, uint64_t, fn->nparams + fn->nrets + 1), 0 };
    g.word[g.n++] = fn->nparams;
    for (uint32_t i = 0; i < fn->nparams; i++)
        g.word[g.n++] = fn->params[i]->size << 1 | fn->params[i]->is_array;
    for (uint32_t i = 0; i < fn->nrets; i++)
        g.word[g.n++] = fn->rets[i]->size << 1 | fn->rets[i]->is_array;
    return g;
}

/* The slot that has the signature, or the free one where it belongs. */
static uint32_t *
signature_slot(struct scan *s, const struct signature *g)
{
    uint64_t h = 14695981039346656037ull;
    for (uint32_t i = 0; i < g->n; i++)
        h = (h ^ g->word[i]) * 1099511628211ull;
    for (uint32_t at = (uint32_t)(h ^ h >> 32);; at++) {
        uint32_t *slot = &s->slot[at & (s->nslots - 1)];
        const struct signature *have = *slot ? &s->signature[*slot - 1] : NULL;
        if (!have || (have->n == g->n && !memcmp(have->word, g->word, g->n * sizeof *g->word)))
            return slot;
    }
}

static uint32_t
signature_number(struct scan *s, const struct ptx_function *fn)
{
    const struct signature g = signature_of(s, fn);
    if (2 * s->nsignatures >= s->nslots) {
        s->nslots = s->nslots ? 2 * s->nslots : 64;
        s->slot = cw_arena_array(&s->p->scratch, uint32_t, s->nslots);
        for (uint32_t i = 0; i < s->nsignatures; i++)
            *signature_slot(s, &s->signature[i]) = i + 1;
    }
    uint32_t *slot = signature_slot(s, &g);
    if (!*slot) {
        s->signature = cw_arena_grow(&s->p->scratch, s->signature, s->nsignatures, 1, &s->cap_signatures, sizeof g);
        s->signature[s->nsignatures] = g;
        *slot = ++s->nsignatures;
    }
    return *slot - 1;
}

static void
scan_operand(void *user, const struct ptx_operand *o)
{
    struct scan *s = user;
    bool callee = s->callee_place;
    s->callee_place = false;
    if (o->kind == PTX_OPND_TABLE) {
        for (uint32_t i = 0; o->table && o->table->funcs && i < o->table->count; i++) {
            set_add(s->p, &s->callees, o->table->funcs[i]->link_id);
            s->targets = true;
        }
        if (o->table && o->table->proto)
            s->prototype = o->table->proto;
        return;
    }
    if (callee && (o->kind == PTX_OPND_REG || (o->kind == PTX_OPND_ADDR && o->has_reg))) {
        s->indirect = true;
        return;
    }
    if (!o->sym || (o->kind != PTX_OPND_SYM && (o->kind != PTX_OPND_ADDR || o->has_reg)))
        return;
    uint32_t id = o->sym->link_id;
    if (o->sym->kind == PTX_SYM_FUNC || o->sym->kind == PTX_SYM_ALIAS) {
        if (callee)
            set_add(s->p, &s->callees, id);
        else if (id < s->p->nfuncs)
            s->p->funcs[id].address_taken = true;
    } else if (o->sym->kind == PTX_SYM_VAR && o->sym->space != PTX_SPACE_LOCAL && o->sym->space != PTX_SPACE_PARAM) {
        set_add(s->p, &s->vars, id);
    }
}

static void
scan_initialiser(struct cwj_program *p, const struct ptx_symbol *def)
{
    for (uint32_t i = 0; i < def->nrelocs; i++) {
        const struct ptx_symbol *t = def->relocs[i].target;
        if ((t->kind == PTX_SYM_FUNC || t->kind == PTX_SYM_ALIAS) && t->link_id < p->nfuncs)
            p->funcs[t->link_id].address_taken = true;
        else if (t->kind == PTX_SYM_VAR && t->space == PTX_SPACE_SHARED && t->link_id < p->nlink_vars)
            p->link_vars[t->link_id].pinned = true;
    }
}

void
cwj_link_scan(struct cwj_program *p)
{
    struct scan s = { .p = p };
    for (uint32_t id = 0; id < p->nfuncs; id++) {
        struct cwj_function *f = &p->funcs[id];
        if (!f->fn || !f->fn->has_body)
            continue;
        for (uint32_t i = 0; i < f->fn->ninsts; i++) {
            const struct ptx_inst *in = &f->fn->insts[i];
            s.indirect = s.targets = false;
            s.prototype = NULL;
            for (unsigned k = 0; k < in->noperands; k++) {
                s.callee_place = in->op == PTX_OP_CALL && in->operand[k].kind != PTX_OPND_LIST;
                cwj_walk_operand(&in->operand[k], scan_operand, &s);
            }
            if (s.indirect) {           /* with a list of targets, too: the tokens are looked up in the same table */
                f->calls_indirect = true;
                if (s.prototype && !s.targets)
                    set_add(p, &s.signatures, signature_number(&s, s.prototype));
            }
        }
        f->signature = signature_number(&s, f->fn);
        f->targets = set_take(p, &s.signatures, &f->ntargets);
        f->callees = set_take(p, &s.callees, &f->ncallees);
        f->vars = set_take(p, &s.vars, &f->nvars);
    }
    for (uint32_t id = 0; id < p->nlink_vars; id++)
        if (!p->link_vars[id].dynamic && !p->link_vars[id].undefined)
            scan_initialiser(p, p->link_vars[id].def);
    p->nsignatures = s.nsignatures;
}

/* Depth first from the kernel. Node nfuncs + s stands for "any function of signature s whose address is taken", so that n
 * indirect callers and m targets cost n + m edges. */
void
cwj_link_closure(struct cwj_program *p, uint32_t kernel)
{
    enum { NEW, OPEN, DONE };
    struct cwj_closure *r = &p->closure[kernel];
    uint32_t root = p->kernel_func[kernel], nodes = p->nfuncs + p->nsignatures;
    struct frame { uint32_t node, next; } *stack = NULL;
    uint8_t *state = cw_arena_array(&p->scratch, uint8_t, nodes + 1);
    struct set found = { 0 };
    uint32_t depth = 0, cap = 0;
    stack = cw_arena_grow(&p->scratch, stack, depth, 1, &cap, sizeof *stack);
    stack[depth++] = (struct frame){ root, 0 };
    state[root] = OPEN;
    while (depth) {
        struct frame *f = &stack[depth - 1];
        uint32_t target = CWJ_NO_ID;
        if (f->node >= p->nfuncs) {
            while (f->next < p->nfuncs &&
                   (!p->funcs[f->next].address_taken || p->funcs[f->next].signature != f->node - p->nfuncs))
                f->next++;
            if (f->next < p->nfuncs)
                target = f->next++;
        } else {
            const struct cwj_function *fn = &p->funcs[f->node];
            if (f->next < fn->ncallees)
                target = fn->callees[f->next++];
            else if (f->next - fn->ncallees < fn->ntargets)
                target = p->nfuncs + fn->targets[f->next++ - fn->ncallees];
            r->indirect |= fn->calls_indirect;
        }
        if (target == CWJ_NO_ID) {
            state[f->node] = DONE;
            if (f->node < p->nfuncs && f->node != root)
                set_add(p, &found, f->node);
            depth--;
            continue;
        }
        if (state[target] == OPEN)
            r->recursive = true;
        if (state[target] != NEW)
            continue;
        state[target] = OPEN;
        stack = cw_arena_grow(&p->scratch, stack, depth, 1, &cap, sizeof *stack);
        stack[depth++] = (struct frame){ target, 0 };
    }
    uint32_t n;
    const uint32_t *sorted = set_take(p, &found, &n);
    uint32_t *all = cw_arena_array(&p->arena, uint32_t, (size_t)n + 1);
    all[0] = root;
    memcpy(all + 1, sorted, n * sizeof *all);
    r->funcs = all;
    r->nfuncs = n + 1;
}

const struct ptx_function *
cwj_program_largest(const struct cwj_program *p, const bool *kernels)
{
    const struct ptx_function *most = NULL;
    for (uint32_t k = 0; k < p->nkernels; k++) {
        if (kernels && !kernels[k])
            continue;
        for (uint32_t i = 0; i < p->closure[k].nfuncs; i++) {
            const struct cwj_function *f = cwj_program_function(p, p->closure[k].funcs[i]);
            if (f && f->fn && f->fn->has_body && (!most || f->fn->ninsts > most->ninsts))
                most = f->fn;
        }
    }
    return most;
}
