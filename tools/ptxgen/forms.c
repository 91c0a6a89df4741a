/* SPDX-License-Identifier: Apache-2.0
 * The list of instruction forms: forms.txt, whose lines NVIDIA's assembler accepts, and the special registers. A form that our
 * parser refuses stays in the list with the parser's message. */
#include "tools/ptxgen/coverage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char prologue[] =
    ".version 9.1\n.target sm_100a\n.address_size 64\n"
    ".global .texref tx;\n.global .surfref sf;\n.global .align 128 .b8 gl[1024];\n"
    ".func fn0 { ret; }\n"
    ".func (.reg .b32 r) fn (.reg .b32 a) { mov.b32 r, a; ret; }\n";
static const char registers[] =
    " { .reg .pred %p<8>; .reg .b16 %h<16>; .reg .b32 %r<20>; .reg .b64 %l<16>; .reg .b128 %x<4>; .shared .align 128 .b8 sh[1024]; "
    "proto: .callprototype (.reg .b32 _) _ (.reg .b32 _); targets: .calltargets fn; ";

static void
put_kernel(const char *text, unsigned number, struct cw_buf *out)
{
    cw_buf_printf(out, ".visible .entry k%u(.param .align 16 .b8 P[64])%stable: .branchtargets L;\n%s;\nL: ret; }\n", number, registers, text);
}

void
cov_module_text(const struct cov_list *l, uint32_t from, uint32_t to, struct cw_buf *out, uint32_t *first)
{
    cw_buf_puts(out, prologue);
    *first = 2;
    for (const char *p = prologue; *p; p++)
        *first += *p == '\n';
    for (uint32_t i = from; i < to; i++)
        put_kernel(l->at[i].inst ? l->at[i].text : "", i, out);
}

/* ---- parsing ---------------------------------------------------------------------------------------------------------------- */

struct ptx_module *
cov_parse(const char *text, size_t size, const char **why, struct cw_arena *arena)
{
    struct cwj_diags d;
    struct ptx_module *m = NULL;
    cwj_diags_init(&d);
    if (ptx_parse("form", text, size, &m, &d) != CW_OK) {
        m = NULL;
        const struct cwj_diag *e = d.first;
        while (e && e->severity != PTX_ERROR)
            e = e->next;
        if (why)
            *why = e ? cw_arena_printf(arena, "P%04u: %s", e->code, e->text) : "out of memory";
    }
    cwj_diags_finish(&d);
    return m;
}

static bool
keep_module(struct cov_list *l, struct ptx_module *m)
{
    if (l->nmodules == l->cap_modules) {
        uint32_t cap = l->cap_modules ? l->cap_modules * 2 : 1024;
        struct ptx_module **p = realloc(l->modules, cap * sizeof *p);
        if (!p) {
            l->failed = true;
            return false;
        }
        l->modules = p;
        l->cap_modules = cap;
    }
    l->modules[l->nmodules++] = m;
    return true;
}

const struct ptx_inst *
cov_parse_inst(struct cov_list *l, const char *text, const struct ptx_function **fn, const char **why)
{
    struct cw_buf b;
    cw_buf_init(&b);
    cw_buf_puts(&b, prologue);
    put_kernel(text, 0, &b);
    struct ptx_module *m = b.failed ? NULL : cov_parse(b.data, b.size, why, &l->arena);
    l->failed = l->failed || b.failed;
    cw_buf_finish(&b);
    if (!m)
        return NULL;
    const struct ptx_function *f = m->funcs[m->nfuncs - 1];
    if (!f->ninsts || !keep_module(l, m)) {
        ptx_module_destroy(m);
        return NULL;
    }
    if (fn)
        *fn = f;
    return &f->insts[0];
}

void
cov_drop_last(struct cov_list *l, const struct ptx_inst *in)
{
    if (in)
        ptx_module_destroy(l->modules[--l->nmodules]);
}

const char *
cov_token(struct cw_arena *arena, const struct ptx_function *fn, const struct ptx_inst *in)
{
    struct cw_buf b;
    struct ptx_inst plain = *in;
    plain.has_guard = false;
    cw_buf_init(&b);
    ptx_inst_print(fn, &plain, &b);
    const char *s = b.data ? b.data : "";
    while (*s == ' ' || *s == '\t')
        s++;
    const char *token = b.failed ? NULL : cw_arena_strndup(arena, s, strcspn(s, " ;\n"));
    cw_buf_finish(&b);
    return token;
}

/* Its modifiers. Fields of several bits are as wide as the largest value that is written to them. */
static bool
has_word(const struct ptx_inst *in, const struct mod_word *w)
{
    switch (w->field) {
    case MF_ROUND:  return in->round == w->value;
    case MF_CMP:    return in->cmp == w->value;
    case MF_BOOLOP: return in->boolop == w->value;
    case MF_MODE:   return in->mode == w->value;
    case MF_SPACE:  return in->space == w->value;
    case MF_SEM:    return in->sem == w->value;
    case MF_SCOPE:  return in->scope == w->value;
    case MF_ATOMOP: return in->atomop == w->value;
    case MF_VEC:    return in->vec == w->value;
    case MF_GEOM:   return in->geom == w->value;
    case MF_FLAG:   return (in->flags & w->value) != 0;
    }
    uint64_t mask = 0;
    for (unsigned i = 0; i < ptx_mod_word_count; i++)
        if (ptx_mod_words[i].field == MF_AUX && ptx_mod_words[i].shift == w->shift)
            mask |= ptx_mod_words[i].value;
    return (in->aux >> w->shift & mask) == w->value;
}

void
cov_words(const struct ptx_inst *in, struct cov_words *out)
{
    *out = (struct cov_words){ { 0 } };
    for (unsigned i = 0; i < ptx_mod_word_count && i < 64 * COV_WORDS; i++)
        if (ptx_op_rows[in->op].mods & ptx_mod_words[i].group && has_word(in, &ptx_mod_words[i]))
            out->bits[i / 64] |= 1ull << (i % 64);
}

/* The kinds of its operands: r register or constant, a address, s symbol, {n} vector, | pair, () list, t table. */
void
cov_shape(const struct ptx_inst *in, char *out, size_t size)
{
    size_t n = 0;
    *out = 0;
    for (unsigned i = 0; i < in->noperands && n + 8 < size; i++) {
        const struct ptx_operand *o = &in->operand[i];
        switch (o->kind) {
        case PTX_OPND_ADDR:      n += (size_t)snprintf(out + n, size - n, "%s[a]", n ? ", " : ""); break;
        case PTX_OPND_SYM:       n += (size_t)snprintf(out + n, size - n, "%ssymbol", n ? ", " : ""); break;
        case PTX_OPND_VEC:       n += (size_t)snprintf(out + n, size - n, "%s{%u}", n ? ", " : "", o->count); break;
        case PTX_OPND_PRED_PAIR: n += (size_t)snprintf(out + n, size - n, "%sr\\|p", n ? ", " : ""); break;
        case PTX_OPND_LIST:      n += (size_t)snprintf(out + n, size - n, "%s(%u)", n ? ", " : "", o->count); break;
        case PTX_OPND_TABLE:     n += (size_t)snprintf(out + n, size - n, "%stable", n ? ", " : ""); break;
        case PTX_OPND_LABEL:     n += (size_t)snprintf(out + n, size - n, "%slabel", n ? ", " : ""); break;
        case PTX_OPND_TEXT: case PTX_OPND_NONE: break;
        default:                 n += (size_t)snprintf(out + n, size - n, "%sr", n ? ", " : ""); break;
        }
    }
}

/* The token without its types, and the types. */
static void
split_token(struct cov_list *l, struct cov_form *x)
{
    char types[96] = "";
    for (unsigned i = 0; i < PTX_MAX_TYPES && x->inst; i++)
        if (x->inst->type[i] != PTX_NONE) {
            strcat(types, ".");
            strcat(types, ptx_type_name(x->inst->type[i]));
        }
    const char *at = *types ? strstr(x->token, types) : NULL;
    size_t n = strlen(types);
    x->label = x->token;
    x->types = "";
    if (!at || (at[n] && at[n] != '.'))
        return;
    x->label = cw_arena_printf(&l->arena, "%.*s%s", (int)(at - x->token), x->token, at + n);
    x->types = cw_arena_printf(&l->arena, "%s", types + 1);
    l->failed = l->failed || !x->label || !x->types;
}

/* ---- the list --------------------------------------------------------------------------------------------------------------- */

static struct cov_form *
add(struct cov_list *l, const struct cov_form *x)
{
    if (l->count == l->capacity) {
        uint32_t cap = l->capacity ? l->capacity * 2 : 1024;
        struct cov_form *p = realloc(l->at, cap * sizeof *p);
        if (!p) {
            l->failed = true;
            return NULL;
        }
        l->at = p;
        l->capacity = cap;
    }
    l->at[l->count] = *x;
    return &l->at[l->count++];
}

/* The opcode of a text that does not parse: the longest mnemonic that is a prefix. */
static uint16_t
opcode_of(const char *text)
{
    uint16_t best = PTX_OP_INVALID;
    size_t longest = 0;
    for (unsigned op = 1; op < PTX_OP_COUNT; op++) {
        const char *m = ptx_op_rows[op].info.mnemonic;
        size_t n = strlen(m);
        if (n > longest && !strncmp(text, m, n) && strchr(".: ", text[n])) {    /* strchr: also the end */
            best = (uint16_t)op;
            longest = n;
        }
    }
    return best;
}

static void
add_text(struct cov_list *l, uint32_t line, const char *text)
{
    const struct ptx_function *fn = NULL;
    struct cov_form x = { .text = text };
    const char *why = "";
    x.inst = cov_parse_inst(l, text, &fn, &why);
    x.op = x.inst ? x.inst->op : opcode_of(text);
    if (!x.op) {
        fprintf(stderr, "cudaway-ptxgen: forms.txt:%u: no opcode of ops.def: %s\n", line, text);
        l->wrong = true;
        return;
    }
    x.raw = !x.inst || (x.inst->noperands == 1 && x.inst->operand[0].kind == PTX_OPND_TEXT);
    x.token = x.inst ? cov_token(&l->arena, fn, x.inst) : cw_arena_strndup(&l->arena, text, strcspn(text, " "));
    if (!x.token) {
        l->failed = true;
        return;
    }
    split_token(l, &x);
    if (x.inst) {
        cov_words(x.inst, &x.words);
        cov_shape(x.inst, x.shape, sizeof x.shape);
    } else {
        for (int t = 0; t < TARGETS; t++)
            x.refused[t] = why;
    }
    add(l, &x);
}

/* <a|b> stands for either. */
static void
expand(struct cov_list *l, uint32_t line, const char *text)
{
    const char *open = strchr(text, '<'), *close = open ? strchr(open, '>') : NULL;
    if (!close) {
        add_text(l, line, text);
        return;
    }
    for (const char *p = open + 1; p <= close && !l->failed;) {
        size_t n = strcspn(p, "|>");
        const char *one = cw_arena_printf(&l->arena, "%.*s%.*s%s", (int)(open - text), text, (int)n, p, close + 1);
        if (one)
            expand(l, line, one);
        else
            l->failed = true;
        p += n + 1;
    }
}

static const char *const symbols[] = {
    "",
#define OP(sym, ...) #sym,
#include "jit/ptx/ops.def"
#undef OP
};

const char *
cov_op_symbol(unsigned op)
{
    return op < PTX_OP_COUNT ? symbols[op] : "";
}

static void
add_sregs(struct cov_list *l)
{
    for (unsigned i = 1; i < PTX_SREG_COUNT; i++) {
        const struct ptx_sreg_info *s = ptx_sreg_info((ptx_sreg)i);
        const char *text = cw_arena_printf(&l->arena, "mov.%s %s1, %s", ptx_type_name(s->type), cov_register(ptx_type_bits(s->type)), s->name);
        const char *why = "";
        struct cov_form x = { .op = PTX_OP_MOV, .sreg = (uint16_t)i, .text = text, .token = s->name, .label = s->name, .types = ptx_type_name(s->type) };
        if (!text) {
            l->failed = true;
            return;
        }
        x.inst = cov_parse_inst(l, text, NULL, &why);
        for (int t = 0; t < TARGETS && !x.inst; t++)
            x.refused[t] = why;
        add(l, &x);
    }
}

static int
by_opcode(const void *a, const void *b)
{
    const struct cov_form *x = a, *y = b;
    return x->op != y->op ? (x->op < y->op ? -1 : 1) : x->order < y->order ? -1 : x->order > y->order;
}

bool
cov_forms(struct cov_list *l, const char *forms)
{
    bool seen[PTX_OP_COUNT] = { false };
    uint32_t line = 0;
    for (const char *p = forms, *end; *p && !l->failed; p = *end ? end + 1 : end) {
        end = p + strcspn(p, "\n");
        line++;
        if (*p == '#' || p == end)
            continue;
        const char *text = cw_arena_strndup(&l->arena, p, (size_t)(end - p));
        if (text)
            expand(l, line, text);
        else
            l->failed = true;
    }
    for (uint32_t i = 0; i < l->count; i++) {
        seen[l->at[i].op] = true;
        l->at[i].order = i;
    }
    if (l->count)
        qsort(l->at, l->count, sizeof *l->at, by_opcode);
    for (unsigned op = 1; op < PTX_OP_COUNT; op++)
        if (!seen[op]) {
            fprintf(stderr, "cudaway-ptxgen: '%s' has no form in tools/ptxgen/forms.txt: add one\n", ptx_op_rows[op].info.mnemonic);
            l->wrong = true;
        }
    add_sregs(l);
    return !l->wrong && !l->failed;
}

void
cov_finish(struct cov_list *l)
{
    for (uint32_t i = 0; i < l->nmodules; i++)
        ptx_module_destroy(l->modules[i]);
    for (uint32_t i = 0; i < l->count; i++)
        free(l->at[i].files);
    free(l->modules);
    free(l->at);
    free(l->file);
    cw_arena_finish(&l->arena);
    *l = (struct cov_list){ 0 };
}
