/* SPDX-License-Identifier: Apache-2.0
 * See analyze.h. The flow of addresses is followed through registers of the kernel itself, without regard to branches: a
 * register that may hold addresses of two origins counts as of unknown origin. */
#define _GNU_SOURCE
#include "replay/analyze.h"

#include "impl/base/file.h"
#include "impl/ptx_choice.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the jit ---------------------------------------------------------------------------------------------------------------- */

static const struct cwj_api *api;

static void
load_jit(void)
{
    static const char *const places[] = { "", "/..", "/../lib/cudaway" };
    char *dir = cw_dir_of_object((const void *)(uintptr_t)&load_jit);
    for (unsigned i = 0; dir && !api && i < sizeof places / sizeof *places; i++) {
        char *path;
        if (asprintf(&path, "%s%s/libcudaway-jit.so", dir, places[i]) < 0)
            break;
        char *real = realpath(path, NULL);      /* the same object as the implementation's, not a second one */
        void *lib = real ? dlopen(real, RTLD_NOW | RTLD_LOCAL) : NULL;
        const struct cwj_api *(*get)(uint32_t) = lib ? (const struct cwj_api *(*)(uint32_t))dlsym(lib, "cudaway_jit_api") : NULL;
        api = get ? get(CWJ_API_VERSION) : NULL;
        free(real);
        free(path);
    }
    free(dir);
}

static const struct cwj_api *
jit(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_jit);
    return api;
}

struct scan {
    struct cwj_input *in;
    size_t count, capacity, first;      /* first: of the image being scanned */
    unsigned cc, best;
    uint32_t group;
    bool any, best_fits, failed;
};

/* The implementation's choice: the newest text that the device can run, else the oldest. */
static int
found(void *user, const struct cwj_image_entry *e)
{
    struct scan *s = user;
    if (e->kind != CWJ_ENTRY_PTX)
        return 0;
    bool fits = cw_ptx_fits(s->cc, e->sm, e->suffix);
    bool same = s->any && e->group == s->group;
    if (same && !cw_ptx_better(fits, e->sm, s->best_fits, s->best))
        return 0;
    if (same) {
        s->count--;
        free((char *)s->in[s->count].text);
    }
    if (s->count == s->capacity) {
        size_t n = s->capacity ? s->capacity * 2 : 8;
        struct cwj_input *in = realloc(s->in, n * sizeof *in);
        if (!in) {
            s->failed = true;
            return 1;
        }
        s->in = in;
        s->capacity = n;
    }
    size_t n = e->size;
    while (n && !e->data[n - 1])
        n--;
    char *t = malloc(n + 1);
    if (!t) {
        s->failed = true;
        return 1;
    }
    memcpy(t, e->data, n);
    t[n] = 0;
    s->in[s->count++] = (struct cwj_input){ "module", t, n };
    s->any = true;
    s->group = e->group;
    s->best = e->sm;
    s->best_fits = fits;
    return 0;
}

static char *
first_line(const struct cwj_api *a, const struct cwj_diags *diags, const struct cwj_input *in, cw_result r)
{
    struct cw_buf b;
    cw_buf_init(&b);
    a->diags_render(diags, "module", in ? in->text : NULL, in ? in->size : 0, &b);
    char *eol = b.data ? strchr(b.data, '\n') : NULL;
    if (eol)
        *eol = 0;
    char *line = strdup(b.data && *b.data ? b.data : cw_result_text(r));
    cw_buf_finish(&b);
    return line;
}

static void
free_texts(struct cwj_input *in, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free((char *)in[i].text);
    free(in);
}

struct cwj_input *
cwd_program_texts(const struct cwd_input *inputs, uint32_t count, unsigned cc, size_t *ntexts, char **why)
{
    const struct cwj_api *a = jit();
    *why = NULL;
    *ntexts = 0;
    if (!a) {
        *why = strdup("libcudaway-jit.so cannot be loaded");
        return NULL;
    }
    struct scan s = { .cc = cc };
    struct cwj_diags diags;
    a->diags_init(&diags);
    cw_result r = CW_OK;
    for (uint32_t i = 0; i < count && (r == CW_OK || r == CW_ERR_NO_PTX); i++) {
        s.any = false;
        r = a->image_scan(inputs[i].data, inputs[i].size, found, &s, &diags);
    }
    if (s.failed)
        r = CW_ERR_NOMEM;
    else if (r == CW_ERR_NO_PTX && s.count)
        r = CW_OK;
    else if (r == CW_OK && !s.count)
        r = CW_ERR_NO_PTX;
    if (r != CW_OK) {
        *why = first_line(a, &diags, NULL, r);
        free_texts(s.in, s.count);
        s.in = NULL;
    } else {
        *ntexts = s.count;
    }
    a->diags_finish(&diags);
    return s.in;
}

void
cwd_program_open(struct cwd_program *p, const struct cwd_input *inputs, uint32_t count, bool linked, unsigned cc)
{
    *p = (struct cwd_program){ 0 };
    size_t n;
    struct cwj_input *in = cwd_program_texts(inputs, count, cc, &n, &p->why);
    if (!in)
        return;
    const struct cwj_api *a = jit();
    struct cwj_diags diags;
    a->diags_init(&diags);
    cw_result r = a->program_create(in, n, linked, &p->program, &diags);
    if (r != CW_OK) {
        p->why = first_line(a, &diags, in, r);
        p->program = NULL;
    }
    a->diags_finish(&diags);
    free_texts(in, n);
}

void
cwd_program_close(struct cwd_program *p)
{
    if (p->program)
        jit()->program_destroy(p->program);
    free(p->why);
    *p = (struct cwd_program){ 0 };
}

const struct cwj_kernel *
cwd_program_kernel(const struct cwd_program *p, const char *name)
{
    for (uint32_t i = 0, n = p->program ? jit()->kernel_count(p->program) : 0; i < n; i++)
        if (!strcmp(jit()->kernel(p->program, i)->name, name))
            return jit()->kernel(p->program, i);
    return NULL;
}

uint32_t
cwd_program_variable_count(const struct cwd_program *p)
{
    return p->program ? jit()->variable_count(p->program) : 0;
}

const struct cwj_variable *
cwd_program_variable(const struct cwd_program *p, uint32_t i)
{
    return jit()->variable(p->program, i);
}

void
cwd_program_function_words(const struct cwd_program *p, const char *name, void (*visit)(void *, uint64_t), void *user)
{
    const struct cwj_image *image = p->program ? jit()->image(p->program) : NULL;
    for (uint32_t i = 0, n = cwd_program_variable_count(p); i < n && image; i++) {
        const struct cwj_variable *v = cwd_program_variable(p, i);
        if (strcmp(v->name, name))
            continue;
        for (uint32_t k = 0; k < image->nrelocs; k++) {
            const struct cwj_reloc *r = &image->relocs[k];
            if (r->kind == CWJ_RELOC_FUNC && r->width == 8 && !r->shift && r->offset >= v->offset && r->offset - v->offset + 8 <= v->size)
                visit(user, r->offset - v->offset);
        }
    }
}

/* ---- types ------------------------------------------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    unsigned bits;
    enum ptx_type_class class;
} types[] = {
#define X(e, s, b, c) [e] = { s, b, c },
    PTX_TYPE_MAP(X)
#undef X
};

const char *
cwd_type_name(unsigned t)
{
    return t && t < PTX_TYPE_COUNT ? types[t].name : NULL;
}

unsigned
cwd_type_of(const char *name)
{
    for (unsigned t = 1; name && t < PTX_TYPE_COUNT; t++)
        if (!strcmp(types[t].name, name))
            return t;
    return PTX_NONE;
}

unsigned
cwd_type_bytes(unsigned t)
{
    return t < PTX_TYPE_COUNT ? types[t].bits / 8 : 0;
}

/* ---- origins ---------------------------------------------------------------------------------------------------------------- */

enum { NONE = -1, MANY = -2 };      /* of a register: no address, or one of several origins */

struct flow {
    const struct cwj_kernel *k;
    struct cwd_facts *f;
    int32_t *origin;                /* register -> index into roots, NONE, MANY */
    int32_t *block;                 /* register -> the byte of the parameter block whose address it holds, or NONE */
    uint8_t *value;                 /* register -> ptx_type of what was computed into it */
    bool     changed, failed;
};

static int32_t
root(struct flow *w, int32_t param, const struct ptx_symbol *var)
{
    struct cwd_facts *f = w->f;
    for (uint32_t i = 0; i < f->nroots; i++)
        if (f->roots[i].param == param && f->roots[i].var == var)
            return (int32_t)i;
    if (!(f->nroots & (f->nroots + 1))) {   /* full at 0, 1, 3, 7, ... */
        struct cwd_root *r = realloc(f->roots, (2 * (size_t)f->nroots + 2) * sizeof *r);
        if (!r) {
            w->failed = true;
            return NONE;
        }
        f->roots = r;
    }
    f->roots[f->nroots] = (struct cwd_root){ param, var, PTX_NONE };
    return (int32_t)f->nroots++;
}

static void
set_origin(struct flow *w, uint32_t reg, int32_t o)
{
    int32_t old = w->origin[reg];
    if (o == NONE || old == o || old == MANY)
        return;
    w->origin[reg] = old == NONE ? o : MANY;
    w->changed = true;
}

static bool
is_variable(const struct ptx_symbol *s)
{
    return s && s->kind == PTX_SYM_VAR && (s->space == PTX_SPACE_GLOBAL || s->space == PTX_SPACE_CONST);
}

static int32_t
origin_of(struct flow *w, const struct ptx_operand *o)
{
    if (o->kind == PTX_OPND_REG)
        return w->origin[o->index];
    if (o->kind == PTX_OPND_ADDR && o->has_reg)
        return w->origin[o->index];
    if ((o->kind == PTX_OPND_SYM || o->kind == PTX_OPND_ADDR) && is_variable(o->sym))
        return root(w, -1, o->sym);
    return NONE;
}

/* The byte of the parameter block that an address of .param means, or NONE. */
static int32_t
param_byte(const struct flow *w, const struct ptx_operand *o)
{
    if ((o->kind == PTX_OPND_ADDR || o->kind == PTX_OPND_REG) && (o->kind == PTX_OPND_REG || o->has_reg))
        return w->block[o->index] == NONE ? NONE : w->block[o->index] + (int32_t)o->imm;
    if ((o->kind == PTX_OPND_ADDR || o->kind == PTX_OPND_SYM) && o->sym && o->sym->kind == PTX_SYM_PARAM && !o->sym->is_param_reg)
        return (int32_t)(o->sym->offset + (uint64_t)o->imm);
    return NONE;
}

static void
step(struct flow *w, const struct ptx_inst *in)
{
    const struct ptx_operand *o = in->operand;
    if (!in->noperands || o[0].kind == PTX_OPND_TEXT)
        return;
    if (in->op == PTX_OP_LD && in->noperands > 1 && in->space == PTX_SPACE_PARAM) {
        int32_t at = param_byte(w, &o[1]);
        unsigned bytes = types[in->type[0]].bits / 8;
        const struct ptx_operand *e = o[0].kind == PTX_OPND_VEC ? o[0].elem : &o[0];
        unsigned n = o[0].kind == PTX_OPND_VEC ? o[0].count : 1;
        for (unsigned i = 0; i < n && at >= 0; i++)
            if (e[i].kind == PTX_OPND_REG && bytes == 8)
                set_origin(w, e[i].index, root(w, at + (int32_t)(i * bytes), NULL));
        return;
    }
    if (o[0].kind != PTX_OPND_REG)
        return;
    uint32_t d = o[0].index;
    switch (in->op) {
    case PTX_OP_MOV:
    case PTX_OP_CVTA:
        if (in->noperands < 2)
            break;
        set_origin(w, d, origin_of(w, &o[1]));
        if (param_byte(w, &o[1]) != NONE && w->block[d] == NONE) {
            w->block[d] = param_byte(w, &o[1]);
            w->changed = true;
        }
        break;
    case PTX_OP_ADD:
    case PTX_OP_SUB:
    case PTX_OP_SELP:
    case PTX_OP_MIN:
    case PTX_OP_MAX:
    case PTX_OP_AND:
    case PTX_OP_OR:
        for (unsigned i = 1; i < 3 && i < in->noperands; i++)
            set_origin(w, d, origin_of(w, &o[i]));
        break;
    case PTX_OP_MAD:
        if (in->noperands > 3)
            set_origin(w, d, origin_of(w, &o[3]));
        break;
    default:
        break;
    }
    if (types[in->type[0]].class == PTX_CLASS_FLOAT)
        w->value[d] = in->type[0];
}

/* ---- uses ------------------------------------------------------------------------------------------------------------------ */

static void
stored(struct flow *w, const struct ptx_inst *in, const struct ptx_operand *address, const struct ptx_operand *value)
{
    int32_t r = origin_of(w, address);
    unsigned t = in->type[0];
    if (r < 0 || !t)
        return;
    if (value && value->kind == PTX_OPND_VEC)
        value = value->count ? &value->elem[0] : NULL;
    if (types[t].class == PTX_CLASS_BITS && value && value->kind == PTX_OPND_REG) {
        unsigned v = types[w->k->fn->regs[value->index].type].class == PTX_CLASS_FLOAT ? w->k->fn->regs[value->index].type
                                                                                        : w->value[value->index];
        if (v && types[v].bits == types[t].bits)
            t = v;
    }
    struct cwd_root *x = &w->f->roots[r];
    if (x->element == PTX_NONE)
        x->element = (uint8_t)t;
    else if (x->element == PTX_TYPE_COUNT || x->element == t)
        return;
    else if (types[x->element].bits != types[t].bits)
        x->element = PTX_TYPE_COUNT;        /* several: none is right */
    else if (types[t].class == PTX_CLASS_FLOAT)
        x->element = (uint8_t)t;
}

static void
add_handle(struct flow *w, uint32_t offset)
{
    struct cwd_facts *f = w->f;
    for (uint32_t i = 0; i < f->nhandles; i++)
        if (f->handles[i] == offset)
            return;
    if (!(f->nhandles & (f->nhandles + 1))) {
        uint32_t *h = realloc(f->handles, (2 * (size_t)f->nhandles + 2) * sizeof *h);
        if (!h) {
            w->failed = true;
            return;
        }
        f->handles = h;
    }
    f->handles[f->nhandles++] = offset;
}

static const struct ptx_operand *
texture_operand(const struct ptx_inst *in)
{
    switch (in->op) {
    case PTX_OP_TEX: case PTX_OP_TLD4: case PTX_OP_TXQ: case PTX_OP_SULD: case PTX_OP_SUQ:
        return in->noperands > 1 ? &in->operand[1] : NULL;
    case PTX_OP_SUST: case PTX_OP_SURED:
        return in->noperands > 0 ? &in->operand[0] : NULL;
    default:
        return NULL;
    }
}

/* A texture, surface or sampler reference, in an instruction of textures or one that takes its address. */
static bool
is_reference(const struct ptx_operand *o)
{
    return (o->kind == PTX_OPND_SYM || (o->kind == PTX_OPND_ADDR && !o->has_reg)) && o->sym && types[o->sym->type].class == PTX_CLASS_OPAQUE;
}

static void
textured(struct flow *w, const struct ptx_operand *t)
{
    int32_t r = (t->kind == PTX_OPND_REG || (t->kind == PTX_OPND_ADDR && t->has_reg)) ? w->origin[t->index] : NONE;
    if (is_reference(t))
        w->f->uses_references = true;
    else if (r >= 0 && w->f->roots[r].param >= 0)
        add_handle(w, (uint32_t)w->f->roots[r].param);
    else
        w->f->handles_elsewhere = true;
}

bool
cwd_facts_of(const struct cwj_kernel *k, struct cwd_facts *f)
{
    *f = (struct cwd_facts){ 0 };
    const struct ptx_function *fn = k->fn;
    struct flow w = { .k = k, .f = f };
    size_t n = fn->nregs + (size_t)1;
    w.origin = malloc(n * sizeof *w.origin);
    w.block = malloc(n * sizeof *w.block);
    w.value = calloc(n, 1);
    w.failed = !w.origin || !w.block || !w.value;
    for (size_t i = 0; i < n && !w.failed; i++)
        w.origin[i] = w.block[i] = NONE;
    w.changed = true;
    for (unsigned pass = 0; pass < 16 && w.changed && !w.failed; pass++) {
        w.changed = false;
        for (uint32_t i = 0; i < fn->ninsts; i++)
            step(&w, &fn->insts[i]);
    }
    bool product = false, sum = false;
    for (uint32_t i = 0; i < fn->ninsts && !w.failed; i++) {
        const struct ptx_inst *in = &fn->insts[i];
        const struct ptx_operand *o = in->operand, *t = texture_operand(in);
        for (unsigned j = 0; j < in->noperands; j++)
            f->uses_references = f->uses_references || is_reference(&o[j]);
        if (t)
            textured(&w, t);
        else if ((in->op == PTX_OP_ST || in->op == PTX_OP_RED) && in->noperands > 1)
            stored(&w, in, &o[0], &o[1]);
        else if (in->op == PTX_OP_ATOM && in->noperands > 2)
            stored(&w, in, &o[1], &o[2]);
        if (in->round == PTX_RND_NONE && types[in->type[0]].class == PTX_CLASS_FLOAT) {
            product = product || in->op == PTX_OP_MUL;
            sum = sum || in->op == PTX_OP_ADD || in->op == PTX_OP_SUB;
        }
        f->approximate = f->approximate || in->flags & (PTX_F_APPROX | PTX_F_FULL);
        if (in->op == PTX_OP_ATOM || in->op == PTX_OP_RED)
            f->order_matters = f->order_matters || types[in->type[0]].class == PTX_CLASS_FLOAT || in->atomop == PTX_ATOM_EXCH ||
                               (in->op == PTX_OP_ATOM && in->noperands && o[0].kind == PTX_OPND_REG);
    }
    f->fusible = product && sum;
    /* Functions that the kernel might call. */
    for (uint32_t i = 0; i < fn->module->nfuncs && !w.failed; i++) {
        const struct ptx_function *g = fn->module->funcs[i];
        for (uint32_t j = 0; !g->is_entry && j < g->ninsts; j++)
            if (texture_operand(&g->insts[j]))
                f->handles_elsewhere = true;
    }
    free(w.origin);
    free(w.block);
    free(w.value);
    return !w.failed;
}

void
cwd_facts_finish(struct cwd_facts *f)
{
    free(f->roots);
    free(f->handles);
    *f = (struct cwd_facts){ 0 };
}

unsigned
cwd_facts_element(const struct cwd_facts *f, int32_t param, const char *var)
{
    for (uint32_t i = 0; i < f->nroots; i++) {
        const struct cwd_root *r = &f->roots[i];
        if (var ? r->var && !strcmp(r->var->name, var) : !r->var && r->param == param)
            return r->element < PTX_TYPE_COUNT ? r->element : PTX_NONE;
    }
    return PTX_NONE;
}
