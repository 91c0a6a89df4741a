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
    bool failed;
};

static void
set_add(struct set *s, uint32_t id)
{
    if (id == CWJ_NO_ID || (s->n && s->at[s->n - 1] == id))
        return;
    if (s->n == s->cap) {
        uint32_t cap = s->cap ? s->cap * 2 : 32;
        uint32_t *p = realloc(s->at, cap * sizeof *p);
        if (!p) {
            s->failed = true;
            return;
        }
        s->at = p;
        s->cap = cap;
    }
    s->at[s->n++] = id;
}

static int
compare_ids(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Sort, remove duplicates, move to the arena; empties s. */
static const uint32_t *
set_take(struct cw_arena *a, struct set *s, uint32_t *count)
{
    uint32_t n = 0;
    if (s->n)
        qsort(s->at, s->n, sizeof *s->at, compare_ids);
    for (uint32_t i = 0; i < s->n; i++)
        if (!n || s->at[n - 1] != s->at[i])
            s->at[n++] = s->at[i];
    uint32_t *out = cw_arena_array(a, uint32_t, n ? n : 1);
    if (!out)
        s->failed = true;
    else if (n)
        memcpy(out, s->at, n * sizeof *out);
    *count = out ? n : 0;
    s->n = 0;
    return out;
}

struct scan {
    struct cwj_program *p;
    struct set callees, vars, signatures;
    bool callee_place;          /* the current operand names a call's target */
    bool indirect, targets;
    const struct ptx_function *prototype;
    char **keys;                /* signature number -> its key */
    uint32_t nkeys, cap_keys;
    bool failed;
};

/* A key of what a call and its callee must agree on: the size of each parameter and result, and which are arrays. Types of equal size are
 * equal, as in PTX calls. */
static void
signature_key(const struct ptx_function *fn, struct cw_buf *key)
{
    struct ptx_symbol **lists[2] = { fn->params, fn->rets };
    uint32_t counts[2] = { fn->nparams, fn->nrets };
    for (unsigned l = 0; l < 2; l++) {
        for (uint32_t i = 0; i < counts[l]; i++)
            cw_buf_printf(key, "%s%llu ", lists[l][i]->is_array ? "a" : "", (unsigned long long)lists[l][i]->size);
        cw_buf_puts(key, "; ");
    }
}

static uint32_t
signature_number(struct scan *s, const struct ptx_function *fn)
{
    struct cw_buf key;
    cw_buf_init(&key);
    signature_key(fn, &key);
    uint32_t i = 0;
    if (key.failed || !key.data) {
        s->failed = true;
        goto done;
    }
    while (i < s->nkeys && strcmp(s->keys[i], key.data))
        i++;
    if (i < s->nkeys)
        goto done;
    if (s->nkeys == s->cap_keys) {
        uint32_t cap = s->cap_keys ? s->cap_keys * 2 : 16;
        char **k = realloc(s->keys, cap * sizeof *k);
        if (!k) {
            s->failed = true;
            goto done;
        }
        s->keys = k;
        s->cap_keys = cap;
    }
    s->keys[s->nkeys] = cw_arena_strndup(&s->p->arena, key.data, key.size);
    if (s->keys[s->nkeys])
        s->nkeys++;
    else
        s->failed = true;
done:
    cw_buf_finish(&key);
    return i;
}

static void
scan_operand(void *user, const struct ptx_operand *o)
{
    struct scan *s = user;
    bool callee = s->callee_place;
    s->callee_place = false;
    if (o->kind == PTX_OPND_TABLE) {
        for (uint32_t i = 0; o->table && o->table->funcs && i < o->table->count; i++) {
            set_add(&s->callees, o->table->funcs[i]->link_id);
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
            set_add(&s->callees, id);
        else if (id < s->p->nfuncs)
            s->p->funcs[id].address_taken = true;
    } else if (o->sym->kind == PTX_SYM_VAR && o->sym->space != PTX_SPACE_LOCAL && o->sym->space != PTX_SPACE_PARAM) {
        set_add(&s->vars, id);
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

cw_result
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
                    set_add(&s.signatures, signature_number(&s, s.prototype));
            }
        }
        f->signature = signature_number(&s, f->fn);
        f->targets = set_take(&p->arena, &s.signatures, &f->ntargets);
        f->callees = set_take(&p->arena, &s.callees, &f->ncallees);
        f->vars = set_take(&p->arena, &s.vars, &f->nvars);
    }
    for (uint32_t id = 0; id < p->nlink_vars; id++)
        if (!p->link_vars[id].dynamic && !p->link_vars[id].undefined)
            scan_initialiser(p, p->link_vars[id].def);
    p->nsignatures = s.nkeys;
    free(s.callees.at);
    free(s.vars.at);
    free(s.signatures.at);
    free(s.keys);
    return s.failed || s.callees.failed || s.vars.failed || s.signatures.failed ? CW_ERR_NOMEM : CW_OK;
}

/* Depth first from the kernel. Node nfuncs + s stands for "any function of signature s whose address is taken", so that n
 * indirect callers and m targets cost n + m edges. */
cw_result
cwj_link_closure(struct cwj_program *p, uint32_t kernel)
{
    enum { NEW, OPEN, DONE };
    struct cwj_closure *r = &p->closure[kernel];
    uint32_t root = p->kernel_func[kernel], nodes = p->nfuncs + p->nsignatures;
    struct frame { uint32_t node, next; } *stack = NULL;
    uint8_t *state = calloc((size_t)nodes + 1, 1);
    struct set found = { 0 };
    cw_result result = CW_ERR_NOMEM;
    uint32_t depth = 0, cap = 64;
    stack = malloc(cap * sizeof *stack);
    if (!state || !stack)
        goto done;
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
                set_add(&found, f->node);
            depth--;
            continue;
        }
        if (state[target] == OPEN)
            r->recursive = true;
        if (state[target] != NEW)
            continue;
        state[target] = OPEN;
        if (depth == cap) {
            struct frame *n = realloc(stack, 2 * (size_t)cap * sizeof *n);
            if (!n)
                goto done;
            stack = n;
            cap *= 2;
        }
        stack[depth++] = (struct frame){ target, 0 };
    }
    uint32_t n;
    const uint32_t *sorted = set_take(&p->arena, &found, &n);
    uint32_t *all = cw_arena_array(&p->arena, uint32_t, (size_t)n + 1);
    if (!sorted || !all || found.failed)
        goto done;
    all[0] = root;
    memcpy(all + 1, sorted, n * sizeof *all);
    r->funcs = all;
    r->nfuncs = n + 1;
    result = CW_OK;
done:
    free(state);
    free(stack);
    free(found.at);
    return result;
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
