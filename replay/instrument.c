/* SPDX-License-Identifier: Apache-2.0
 * See instrument.h. Inserted code contains no line breaks, so line numbers stay those of the text. */
#define _GNU_SOURCE
#include "replay/instrument_private.h"

#include "impl/base/text.h"
#include "replay/tar.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CWI_NONE UINT32_MAX
#define MAX_PARTS 64                /* of one result */

/* ---- places in the text ------------------------------------------------------------------------------------------------------ */

static const char *
skip_comment(const char *s, const char *end)
{
    if (s + 1 >= end || *s != '/')
        return s;
    if (s[1] == '/') {
        const char *eol = memchr(s, '\n', (size_t)(end - s));
        return eol ? eol : end;
    }
    if (s[1] != '*')
        return s;
    for (s += 2; s + 1 < end && !(s[0] == '*' && s[1] == '/'); s++)
        ;
    return s + 2 < end ? s + 2 : end;
}

const char *
cwi_find(const char *s, const char *end, const char *set)
{
    while (s < end) {
        const char *t = skip_comment(s, end);
        if (t != s) {
            s = t;
            continue;
        }
        if (strchr(set, *s) && *s)
            return s;
        if (*s == '"')
            for (s++; s < end && *s != '"' && *s != '\n'; s++)
                s += *s == '\\';
        s++;
    }
    return NULL;
}

/* Where the guard of the instruction at `s` begins: the last @ behind the instruction before it. */
static const char *
guard_start(const char *before, const char *s)
{
    const char *at = NULL;
    for (const char *t = before; (t = cwi_find(t, s, "@")); t++)
        at = t;
    return at;
}

static size_t *
line_starts(const char *text, size_t size, size_t *count)
{
    size_t n = 1;
    for (size_t i = 0; i < size; i++)
        n += text[i] == '\n';
    size_t *at = malloc(n * sizeof *at);
    *count = n;
    if (!at)
        return NULL;
    at[0] = 0;
    for (size_t i = 0, k = 1; i < size; i++)
        if (text[i] == '\n')
            at[k++] = i + 1;
    return at;
}

static cw_result
find_instructions(struct cwi_program *p, uint32_t t, struct cwd_error *e)
{
    const struct cwj_input *in = &p->texts[t];
    size_t nlines, *line = line_starts(in->text, in->size, &nlines);
    cw_result r = line ? CW_OK : cwd_fail(e, CW_ERR_NOMEM, "out of memory");
    const char *end = in->text + in->size;
    for (uint32_t f = 0; f < p->modules[t]->nfuncs && r == CW_OK; f++) {
        const struct ptx_function *fn = p->modules[t]->funcs[f];
        const char *last = in->text;
        for (uint32_t i = 0; i < fn->ninsts && r == CW_OK; i++) {
            const struct ptx_inst *x = &fn->insts[i];
            size_t at = x->line && x->line <= nlines ? line[x->line - 1] + x->column - 1 : in->size;
            const char *s = at < in->size ? in->text + at : NULL, *semicolon = s ? cwi_find(s, end, ";") : NULL;
            if (s && *s == '}' && x->op == PTX_OP_RET) {        /* not written: the body just ends */
                p->insts[p->ninsts++] = (struct cwi_inst){ t, fn, x, at, at };
                continue;
            }
            if (s && x->has_guard)
                s = guard_start(last, s);
            if (!s || !semicolon) {
                r = cwd_fail(e, CW_ERR_INTERNAL, "the instruction in line %u of the PTX cannot be found again in the text", x->line);
                break;
            }
            last = semicolon + 1;
            p->insts[p->ninsts++] = (struct cwi_inst){ t, fn, x, (size_t)(s - in->text), (size_t)(semicolon + 1 - in->text) };
        }
    }
    free(line);
    return r;
}

static int
by_place(const void *a, const void *b)
{
    const struct cwi_inst *x = a, *y = b;
    return x->text != y->text ? (x->text > y->text) - (x->text < y->text) : (x->begin > y->begin) - (x->begin < y->begin);
}

/* Did the parser make more of the text than is written there: instructions for operands that are sums, registers for the elements of a
 * vector? */
static bool
is_expanded(const struct ptx_module *m, const struct cwj_input *t)
{
    for (uint32_t f = 0; f < m->nfuncs; f++) {
        const struct ptx_function *fn = m->funcs[f];
        for (uint32_t i = 0; i + 1 < fn->ninsts; i++)
            for (uint32_t k = i + 1; k < fn->ninsts && k < i + 8; k++)
                if (fn->insts[i].line && fn->insts[i].line == fn->insts[k].line && fn->insts[i].column == fn->insts[k].column)
                    return true;
        for (uint32_t r = 0; r < fn->nregs; r++)
            if (strchr(fn->regs[r].name, '$') && !memmem(t->text, t->size, fn->regs[r].name, strlen(fn->regs[r].name)))
                return true;
    }
    return false;
}

/* Such a text is replaced by the module as the printer writes it, in which all of that is written; lines are those of this one then. */
static cw_result
write_expanded(struct cwi_program *p, uint32_t i, struct cwj_diags *diags)
{
    struct cw_buf b;
    cw_buf_init(&b);
    ptx_module_print(p->modules[i], &b);
    cw_buf_append(&b, "", 1);
    if (b.failed) {
        cw_buf_finish(&b);
        return CW_ERR_NOMEM;
    }
    ptx_module_destroy(p->modules[i]);
    p->modules[i] = NULL;
    free((char *)p->texts[i].text);
    p->texts[i].text = b.data;
    p->texts[i].size = b.size - 1;
    return ptx_parse(p->texts[i].name, b.data, b.size - 1, &p->modules[i], diags);
}

cw_result
cwi_open(struct cwi_program *p, struct cwj_input *texts, size_t count, struct cwd_error *e)
{
    struct cwj_diags diags;
    *p = (struct cwi_program){ .texts = texts, .ntexts = (uint32_t)count };
    p->modules = calloc(count + 1, sizeof *p->modules);
    cw_result r = p->modules ? CW_OK : cwd_fail(e, CW_ERR_NOMEM, "out of memory");
    size_t n = 0;
    cwj_diags_init(&diags);
    for (size_t i = 0; i < count && r == CW_OK; i++) {
        r = ptx_parse(texts[i].name, texts[i].text, texts[i].size, &p->modules[i], &diags);
        if (r == CW_OK && is_expanded(p->modules[i], &texts[i]))
            r = write_expanded(p, (uint32_t)i, &diags);
        if (r != CW_OK)
            r = cwd_fail(e, r, "the PTX cannot be read: line %u: %s", diags.first ? diags.first->line : 0, diags.first ? diags.first->text : cw_result_text(r));
        for (uint32_t f = 0; r == CW_OK && f < p->modules[i]->nfuncs; f++)
            n += p->modules[i]->funcs[f]->ninsts;
    }
    cwj_diags_finish(&diags);
    if (r == CW_OK) {
        p->insts = calloc(n + 1, sizeof *p->insts);
        r = p->insts ? CW_OK : cwd_fail(e, CW_ERR_NOMEM, "out of memory");
    }
    for (uint32_t i = 0; i < count && r == CW_OK; i++)
        r = find_instructions(p, i, e);
    if (r == CW_OK)
        qsort(p->insts, p->ninsts, sizeof *p->insts, by_place);     /* a function may be declared long before its body */
    else
        cwi_close(p);
    return r;
}

void
cwi_close(struct cwi_program *p)
{
    for (uint32_t i = 0; i < p->ntexts; i++) {
        if (p->modules && p->modules[i])
            ptx_module_destroy(p->modules[i]);
        free((char *)p->texts[i].name);
        free((char *)p->texts[i].text);
    }
    free(p->texts);
    free(p->modules);
    free(p->insts);
    free(p->frames);
    *p = (struct cwi_program){ 0 };
}

/* ---- results ----------------------------------------------------------------------------------------------------------------- */

bool
cwi_allocates(const struct ptx_inst *in)
{
    return in->op == PTX_OP_CALL && in->noperands > 1 && in->operand[1].kind == PTX_OPND_SYM && !strcmp(in->operand[1].sym->name, "malloc");
}

const struct ptx_operand *
cwi_result(const struct ptx_inst *in)
{
    const struct ptx_operand *o = in->operand;
    if (!in->noperands || o[0].kind == PTX_OPND_TEXT || o[0].kind == PTX_OPND_NONE)
        return NULL;
    if (in->op == PTX_OP_CALL || ((in->op == PTX_OP_BAR || in->op == PTX_OP_BARRIER) && in->mode == PTX_MODE_RED))
        return o;
    return ptx_op_info((ptx_op)in->op)->ndst ? o : NULL;
}

static bool
walk_result(const struct ptx_function *fn, const struct ptx_operand *o, unsigned *left, uint32_t *reg, bool *upper)
{
    if (o->kind == PTX_OPND_REG) {
        unsigned n = ptx_type_bits((ptx_type)fn->regs[o->index].type) > 64 ? 2 : 1;
        if (*left < n) {
            *reg = o->index;
            *upper = *left;
            return true;
        }
        *left -= n;
    }
    if (o->kind == PTX_OPND_VEC || o->kind == PTX_OPND_PRED_PAIR || o->kind == PTX_OPND_LIST)
        for (unsigned i = 0; i < o->count; i++)
            if (walk_result(fn, &o->elem[i], left, reg, upper))
                return true;
    return false;
}

uint32_t
cwi_result_register(const struct ptx_function *fn, const struct ptx_inst *in, unsigned part, bool *upper)
{
    const struct ptx_operand *o = cwi_result(in);
    uint32_t reg = UINT32_MAX;
    *upper = false;
    if (o && walk_result(fn, o, &part, &reg, upper))
        return reg;
    return UINT32_MAX;
}

bool
cwi_hidden(const struct ptx_inst *in)
{
    switch (in->op) {
    case PTX_OP_STMATRIX: case PTX_OP_WMMA_STORE: case PTX_OP_ST_ASYNC: case PTX_OP_ST_BULK: case PTX_OP_RED_ASYNC: case PTX_OP_CP_ASYNC_BULK:
    case PTX_OP_CP_ASYNC_BULK_TENSOR: case PTX_OP_CP_REDUCE_ASYNC_BULK: case PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR: case PTX_OP_TENSORMAP_REPLACE:
    case PTX_OP_TENSORMAP_CP_FENCEPROXY: case PTX_OP_MULTIMEM_ST: case PTX_OP_MULTIMEM_RED: case PTX_OP_CLUSTERLAUNCHCONTROL_TRY_CANCEL:
        return true;
    default:
        return in->noperands && in->operand[0].kind == PTX_OPND_TEXT;
    }
}

/* ---- for people -------------------------------------------------------------------------------------------------------------- */

void
cwi_written(const struct cwi_program *p, uint32_t id, char *out, size_t size)
{
    const struct cwi_inst *i = &p->insts[id];
    const char *s = p->texts[i->text].text + i->begin, *end = s + (i->end > i->begin ? i->end - i->begin - 1 : 0);
    size_t n = 0;
    for (; s < end && n + 5 < size; s++) {
        bool blank = *s == ' ' || *s == '\t' || *s == '\n' || *s == '\r';
        if (!blank || (n && out[n - 1] != ' '))
            out[n++] = blank ? ' ' : *s;
    }
    while (n && out[n - 1] == ' ')
        n--;
    snprintf(out + n, size - n, "%s", s < end ? "..." : "");
}

void
cwi_place_text(const struct cwi_program *p, uint32_t id, const char *times, char *out, size_t size)
{
    const struct cwi_inst *i = &p->insts[id];
    const struct ptx_module *m = p->modules[i->text];
    char text[256], where[400];
    cwi_written(p, id, text, sizeof text);
    snprintf(where, sizeof where, "%s:%u%s: %s", p->texts[i->text].name, i->in->line, times, text);
    const char *file = i->in->loc_line && i->in->loc_file < m->nfiles ? m->files[i->in->loc_file] : NULL;
    if (file)
        snprintf(out, size, "%s:%u (%s)", file, i->in->loc_line, where);
    else
        snprintf(out, size, "%s", where);
    cw_text_make_safe(out, "\t");
}

/* ---- what is put in ---------------------------------------------------------------------------------------------------------- */

void
cwi_put(struct rewrite *w, const char *fmt, ...)
{
    char all[4096];
    size_t n = 0;
    va_list ap;
    for (const char *s = fmt; *s && n + sizeof "%%cudaway_" < sizeof all; s++) {
        if (*s == '$')
            n += (size_t)snprintf(all + n, sizeof all - n, "%%%%cudaway_");
        else
            all[n++] = *s;
    }
    all[n] = 0;
    va_start(ap, fmt);
    cw_buf_vprintf(w->out, all, ap);
    va_end(ap);
}

static void
declare(struct rewrite *w)
{
    cwi_put(w, " .reg .pred $p, $g, $q, $s, $t;"
           " .reg .b64 $log, $slot, $data, $n, $start, $room, $a, $v, $k, $i, $block, $lo, $size, $hi;"
           " .reg .b32 $w, $x, $y, $z; .reg .b16 $h;");
}

/* Is this one of the chosen threads? p: yes. And where its records go. */
static void
prologue(struct rewrite *w)
{
    declare(w);
    cwi_put(w, " mov.u64 $log, " CWI_VARIABLE ";"
           " mov.u32 $w, %%tid.z; mov.u32 $x, %%ntid.y; mov.u32 $y, %%tid.y;"
           " mad.lo.u32 $w, $w, $x, $y; mov.u32 $x, %%ntid.x; mov.u32 $y, %%tid.x;"
           " mad.lo.u32 $w, $w, $x, $y;"
           " mov.u32 $x, %%ctaid.z; mov.u32 $y, %%nctaid.y; mul.wide.u32 $block, $x, $y;"
           " mov.u32 $x, %%ctaid.y; cvt.u64.u32 $v, $x; add.u64 $block, $block, $v;"
           " mov.u32 $x, %%nctaid.x; cvt.u64.u32 $v, $x; mul.lo.u64 $block, $block, $v;"
           " mov.u32 $x, %%ctaid.x; cvt.u64.u32 $v, $x; add.u64 $block, $block, $v;"
           " ld.global.u64 $v, [$log+%d]; setp.eq.u64 $t, $block, $v;"
           " ld.global.u32 $x, [$log+%d]; sub.u32 $x, $w, $x;"
           " ld.global.u32 $y, [$log+%d]; setp.lt.and.u32 $p, $x, $y, $t;",
                  CWI_BLOCK * 8, CWI_FIRST * 8, CWI_COUNT * 8);
    void (*own)(struct rewrite *) = w->mode == CWI_CHECK ? cwi_check_prologue : w->mode == CWI_BOUND ? cwi_bound_prologue
                                  : w->mode == CWI_SCREEN ? cwi_screen_prologue : w->mode == CWI_STEP ? cwi_step_prologue : NULL;
    if (own) {
        own(w);
        return;
    }
    if (w->mode == CWI_TRACE) {
        cwi_put(w, " selp.b32 $x, $x, 0, $p; cvt.u64.u32 $i, $x;"
           " ld.global.u64 $start, [$log+%d]; ld.global.u64 $room, [$log+%d];"
           " shl.b64 $v, $i, 3; add.u64 $slot, $log, $v; add.u64 $slot, $slot, 128;"
           " ld.global.u64 $n, [$slot]; add.u64 $v, $room, 1;"
           " mul.lo.u64 $v, $v, $i; shl.b64 $v, $v, 4;"
           " add.u64 $data, $log, $v; add.u64 $data, $data, %d;",
                      CWI_START * 8, CWI_ROOM * 8, CWI_HEADER);
        return;
    }
    cwi_put(w, " cvt.u64.u32 $v, $w; shl.b64 $slot, $v, 48; add.u64 $data, $log, %d;"
           " ld.global.u64 $lo, [$log+%d]; ld.global.u64 $v, [$log+%d]; not.b64 $v, $v; add.u64 $lo, $lo, $v; ld.global.u64 $size, [$log+%d];"
           " ld.global.u64 $v, [$log+%d]; setp.eq.u64 $s, $v, 1; and.pred $t, $t, $s;",
                  CWI_HEADER, CWI_ADDRESS * 8, CWI_RAW * 8, CWI_SIZE * 8, CWI_SHARED * 8);
    /* Now s: shared memory is watched; t: and this block's. */
}

/* The record of TRACE; its value is in v. */
static void
record(struct rewrite *w, uint64_t key, const char *who)
{
    cwi_put(w, " sub.u64 $a, $n, $start; min.u64 $a, $a, $room;"
           " shl.b64 $a, $a, 4; add.u64 $a, $a, $data; not.b64 $v, $v;"
           " mov.u64 $k, %llu; @$%s st.global.v2.u64 [$a], {$k, $v};"
           " @$%s add.u64 $n, $n, 1; @$%s st.global.u64 [$slot], $n;",
                  (unsigned long long)key, who, who, who);
}

void
cwi_take(struct rewrite *w, uint32_t reg, bool upper)
{
    const struct ptx_reg *r = &w->fn->regs[reg];
    unsigned bits = ptx_type_bits((ptx_type)r->type);
    if (r->type == PTX_PRED)
        cwi_put(w, " selp.u64 $v, 1, 0, %s;", r->name);
    else if (bits <= 8)
        cwi_put(w, " cvt.u64.u8 $v, %s;", r->name);
    else if (bits == 16)
        cwi_put(w, " mov.b16 $h, %s; cvt.u64.u16 $v, $h;", r->name);
    else if (bits == 32)
        cwi_put(w, " mov.b32 $z, %s; cvt.u64.u32 $v, $z;", r->name);
    else if (bits == 64)
        cwi_put(w, " mov.b64 $v, %s;", r->name);
    else
        cwi_put(w, upper ? " mov.b128 {$k, $v}, %s;" : " mov.b128 {$v, $k}, %s;", r->name);
}

void
cwi_keep_guard(struct rewrite *w, const struct ptx_inst *in, bool chosen)
{
    const char *name = w->fn->regs[in->guard].name;
    if (in->guard_negated)
        cwi_put(w, " not.pred $g, %s;", name);
    else
        cwi_put(w, " mov.pred $g, %s;", name);
    if (chosen)
        cwi_put(w, " and.pred $g, $g, $p;");
}

uint8_t
cwi_space(const struct ptx_inst *in, const struct ptx_operand *address)
{
    if (in->space == PTX_SPACE_GENERIC && address->kind == PTX_OPND_ADDR && !address->has_reg && address->sym)
        return address->sym->space;
    return in->space;
}

void
cwi_take_address(struct rewrite *w, const struct ptx_operand *a, const char *to)
{
    if (a->has_reg && ptx_type_bits((ptx_type)w->fn->regs[a->index].type) == 32)
        cwi_put(w, " cvt.u64.u32 $%s, %s;", to, w->fn->regs[a->index].name);
    else if (a->has_reg)
        cwi_put(w, " mov.b64 $%s, %s;", to, w->fn->regs[a->index].name);
    else if (a->sym)
        cwi_put(w, " mov.u64 $%s, %s;", to, a->sym->name);
    else
        cwi_put(w, " mov.u64 $%s, %lld;", to, (long long)a->imm);
    if (a->imm && (a->has_reg || a->sym))
        cwi_put(w, " add.s64 $%s, $%s, %lld;", to, to, (long long)a->imm);
}

/* The address that a load or an atomic reads from memory that threads share, or their own; NULL: none. */
static const struct ptx_operand *
read_address(const struct ptx_inst *in)
{
    unsigned at = in->op == PTX_OP_LD || in->op == PTX_OP_LDU || in->op == PTX_OP_ATOM || in->op == PTX_OP_LDMATRIX ? 1 : UINT32_MAX;
    if (at >= in->noperands || in->operand[at].kind != PTX_OPND_ADDR)
        return NULL;
    uint8_t space = cwi_space(in, &in->operand[at]);
    return space == PTX_SPACE_PARAM || space == PTX_SPACE_CONST || space == PTX_SPACE_SHARED_CLUSTER ? NULL : &in->operand[at];
}

static const struct ptx_operand *
written_address(const struct ptx_inst *in)
{
    unsigned at = in->op == PTX_OP_ST || in->op == PTX_OP_RED || in->op == PTX_OP_CP_ASYNC ? 0 : in->op == PTX_OP_ATOM ? 1 : UINT32_MAX;
    return at < in->noperands && in->operand[at].kind == PTX_OPND_ADDR ? &in->operand[at] : NULL;
}

/* What WATCH looks at: the address that is written, or else read, in memory that threads share; NULL: none. */
static const struct ptx_operand *
watched_address(const struct ptx_inst *in, uint8_t *space, bool *load)
{
    const struct ptx_operand *a = written_address(in);
    *load = !a;
    if (!a)
        a = read_address(in);
    if (!a || in->op == PTX_OP_LDMATRIX)
        return NULL;
    *space = in->op == PTX_OP_CP_ASYNC ? PTX_SPACE_SHARED : cwi_space(in, a);
    return *space == PTX_SPACE_GENERIC || *space == PTX_SPACE_GLOBAL || *space == PTX_SPACE_SHARED ? a : NULL;
}

/* ---- TRACE ------------------------------------------------------------------------------------------------------------------- */

static void
trace_before(struct rewrite *w, uint32_t id, const struct ptx_inst *in)
{
    const struct ptx_operand *read = read_address(in);
    bool leaves = in->op == PTX_OP_RET || in->op == PTX_OP_EXIT;
    if (in->has_guard && (cwi_result(in) || leaves))
        cwi_keep_guard(w, in, true);
    const char *who = in->has_guard ? "g" : "p";
    if (read) {
        uint8_t space = cwi_space(in, read);
        cwi_take_address(w, read, "v");
        if (space == PTX_SPACE_SHARED)
            cwi_put(w, " or.b64 $v, $v, 0x8000000000000000;");
        else if (space == PTX_SPACE_GENERIC)
            cwi_put(w, " isspacep.shared $q, $v; cvta.to.shared.u64 $i, $v;"
           " or.b64 $i, $i, 0x8000000000000000; selp.b64 $v, $i, $v, $q;");
        record(w, CWI_KEY(CWI_PLACE, 0, id), who);
    } else if (leaves) {
        cwi_put(w, " mov.u64 $v, 1;");
        record(w, CWI_KEY(CWI_LEAVE, 0, id), who);
    } else if (in->op == PTX_OP_BRA && in->has_guard) {
        cwi_put(w, " selp.u64 $v, %s, %s;", in->guard_negated ? "0, 1" : "1, 0", w->fn->regs[in->guard].name);
        record(w, CWI_KEY(CWI_BRANCH, 0, id), "p");
    } else if (in->op == PTX_OP_BRX_IDX && in->operand[0].kind == PTX_OPND_REG && !in->has_guard) {
        cwi_take(w, in->operand[0].index, false);
        record(w, CWI_KEY(CWI_BRANCH, 0, id), "p");
    }
}

static void
trace_behind(struct rewrite *w, uint32_t id, const struct ptx_inst *in)
{
    const char *who = in->has_guard ? "g" : "p";
    if (in->op == PTX_OP_CALL)
        cwi_put(w, " ld.global.u64 $n, [$slot];");
    bool upper;
    uint32_t reg;
    for (unsigned part = 0; part < MAX_PARTS && (reg = cwi_result_register(w->fn, in, part, &upper)) != UINT32_MAX; part++) {
        cwi_take(w, reg, upper);
        record(w, CWI_KEY(CWI_RESULT, part, id), who);
    }
}

static void
trace_entry(struct rewrite *w, uint32_t id)
{
    cwi_put(w, " mov.u64 $v, 0;");
    record(w, CWI_KEY(CWI_ENTRY, 0, id), "p");
    for (uint32_t i = 0; i < w->fn->nparams && i < 256; i++) {
        const struct ptx_symbol *s = w->fn->params[i];
        if (!s->is_param_reg)
            continue;
        cwi_take(w, s->reg, false);
        record(w, CWI_KEY(CWI_ARGUMENT, i, id), "p");
    }
}

/* ---- WATCH ------------------------------------------------------------------------------------------------------------------- */

static void
watch_before(struct rewrite *w, const struct ptx_inst *in)
{
    uint8_t space;
    bool load;
    const struct ptx_operand *a = watched_address(in, &space, &load);
    if (!a)
        return;
    if (in->has_guard)
        cwi_keep_guard(w, in, false);
    cwi_take_address(w, a, "a");
}

/* q = the address in a may be of the watched memory; a = its offset when it is shared. */
static void
watch_space(struct rewrite *w, uint8_t space, bool guarded)
{
    switch (space) {
    case PTX_SPACE_GLOBAL:
        cwi_put(w, " not.pred $q, $s;");
        break;
    case PTX_SPACE_SHARED:
        cwi_put(w, " mov.pred $q, $t;");
        break;
    default:        /* generic: (in shared memory and t) or (not there and not s) */
        cwi_put(w, " isspacep.shared $q, $a; cvta.to.shared.u64 $v, $a;"
           " selp.b64 $a, $v, $a, $q; selp.u32 $x, 1, 0, $t;"
           " selp.u32 $y, 0, 1, $s; selp.b32 $x, $x, $y, $q;"
           " setp.ne.u32 $q, $x, 0;");
    }
    if (guarded)
        cwi_put(w, " and.pred $q, $q, $g;");
}

/* The address of the part is in `a`, its value in `v`. */
static void
watch_part(struct rewrite *w, uint64_t key, unsigned bytes, bool chosen)
{
    cwi_put(w, " sub.u64 $k, $a, $lo; add.u64 $k, $k, %u; add.u64 $hi, $size, %u;",
                  bytes - 1, bytes - 1);
    cwi_put(w, " setp.lt.and.u64 $g, $k, $hi, $q;");
    if (chosen)
        cwi_put(w, " and.pred $g, $g, $p;");
    cwi_put(w, " mov.u64 $i, 0; @$g atom.global.add.u64 $i, [$log+%d], 1;"
           " setp.lt.and.u64 $g, $i, %llu, $g; shl.b64 $i, $i, 5; add.u64 $i, $i, $data;"
           " add.u64 $k, $slot, %llu; not.b64 $v, $v; @$g st.global.v2.u64 [$i], {$k, $block};"
           " not.b64 $k, $a; @$g st.global.v2.u64 [$i+16], {$k, $v};",
                  CWI_CURSOR * 8, (unsigned long long)w->room, (unsigned long long)key);
}

static void
watch_value(struct rewrite *w, const struct ptx_operand *o)
{
    if (o && o->kind == PTX_OPND_REG)
        cwi_take(w, o->index, false);
    else
        cwi_put(w, " mov.u64 $v, %lld;", o && o->kind == PTX_OPND_IMM ? (long long)o->imm : 0);
}

/* Threads that load a matrix together read through each other's addresses. So each execution by the chosen thread counts as a
 * load, and its value is the content of the watched place at that time. */
static void
watch_matrix(struct rewrite *w, uint32_t id)
{
    cwi_put(w, " and.pred $g, $p, $t; and.b64 $a, $lo, -4; mov.u32 $z, 0; @$g ld.shared.u32 $z, [$a];"
           " not.pred $g, $s; and.pred $g, $g, $p; @$g ld.global.u32 $z, [$a];"
           " mov.b64 $a, $lo; cvt.u64.u32 $v, $z; mov.pred $q, $p;");
    watch_part(w, CWI_KEY(CWI_LOAD, 0, id), 1, true);
}

static void
watch_behind(struct rewrite *w, uint32_t id, const struct ptx_inst *in)
{
    if (in->op == PTX_OP_LDMATRIX && !in->has_guard) {
        watch_matrix(w, id);
        return;
    }
    const struct ptx_operand *value;
    uint8_t space;
    bool load;
    if (!watched_address(in, &space, &load))
        return;
    watch_space(w, space, in->has_guard);
    unsigned bytes = ptx_type_bits((ptx_type)in->type[0]) / 8;
    enum cwi_kind kind = load ? CWI_LOAD : in->op == PTX_OP_ST ? CWI_STORE : in->op == PTX_OP_CP_ASYNC ? CWI_COPY : CWI_ATOMIC;
    if (kind == CWI_COPY) {
        bytes = in->noperands > 2 && in->operand[2].kind == PTX_OPND_IMM ? (unsigned)in->operand[2].imm : 16;
        if (in->noperands > 1 && in->operand[1].kind == PTX_OPND_ADDR)
            cwi_take_address(w, &in->operand[1], "v");
        watch_part(w, CWI_KEY(kind, 0, id), bytes, false);
        if (in->noperands > 1 && in->operand[1].kind == PTX_OPND_ADDR) {    /* it is a load as well; its value is not seen */
            if (in->has_guard)
                cwi_keep_guard(w, in, false);
            watch_space(w, PTX_SPACE_GLOBAL, in->has_guard);
            cwi_take_address(w, &in->operand[1], "a");
            cwi_put(w, " mov.u64 $v, 0;");
            watch_part(w, CWI_KEY(CWI_LOAD, 0, id), bytes, true);
        }
        return;
    }
    value = load ? &in->operand[0] : &in->operand[in->op == PTX_OP_ATOM ? 2 : 1];
    if (in->op == PTX_OP_ATOM && in->atomop == PTX_ATOM_CAS && in->noperands > 3) {
        if (value->kind != PTX_OPND_REG || in->operand[0].kind != PTX_OPND_REG || in->operand[0].index != value->index) {
            watch_value(w, value);
            watch_part(w, CWI_KEY(CWI_COMPARE, 0, id), bytes, false);
        }
        value = &in->operand[3];
    }
    unsigned n = value->kind == PTX_OPND_VEC ? value->count : 1;
    for (unsigned i = 0; i < n; i++) {
        if (i)
            cwi_put(w, " add.u64 $a, $a, %u;", bytes);
        watch_value(w, value->kind == PTX_OPND_VEC ? &value->elem[i] : value);
        watch_part(w, CWI_KEY(kind, i, id), bytes, load);
    }
}

/* ---- the text ---------------------------------------------------------------------------------------------------------------- */

const char *
cwi_body(const char *text, size_t size, size_t at)
{
    const char *open = NULL, *end = text + size;
    unsigned depth = 0;
    for (const char *s = text; (s = cwi_find(s, end, "{}")) && s < text + at; s++) {
        if (*s == '{' && !depth++)
            open = s;
        else if (*s == '}' && depth)
            depth--;
    }
    return open;
}

size_t
cwi_behind_declarations(const char *text, size_t body, size_t first)
{
    size_t at = body + 1;
    const char *end = text + first;
    for (const char *s = text + body; (s = cwi_find(s, end, ";{")); s++)
        at = (size_t)(s - text) + 1;
    return at;
}

/* There is an instruction before this one, and control reaches it only from there. */
static bool
follows(const struct cwi_program *p, uint32_t id)
{
    const struct cwi_inst *i = &p->insts[id];
    const char *text = p->texts[i->text].text;
    return id && i->fn == i[-1].fn && !cwi_find(text + i[-1].end, text + i->begin, ":");
}

/* ld.param of a call's result has to stay right behind the call (PTX ISA, 7.1), so code that belongs behind the call goes
 * behind the ld.param. */
bool
cwi_takes_result(const struct cwi_program *p, uint32_t id)
{
    const struct cwi_inst *i = &p->insts[id];
    const struct ptx_inst *in = i->in;
    const char *text = p->texts[i->text].text;
    if (in->op != PTX_OP_LD || in->space != PTX_SPACE_PARAM || in->has_guard || in->noperands < 2 || !follows(p, id))
        return false;
    const struct ptx_operand *a = &in->operand[1];
    return a->kind == PTX_OPND_ADDR && !a->has_reg && a->sym && a->sym->kind == PTX_SYM_VAR && !cwi_find(text + i[-1].end, text + i->begin, "{}");
}

/* st.param is to be the last thing before its call, or before the ret (the same section): with conditional instructions in between
 * NVIDIA's compiler loses what was stored (driver 580.159.04, a struct as result). The call or ret, if nothing branches on the way there; else CWI_NONE. */
static uint32_t
stores_for(const struct cwi_program *p, uint32_t id)
{
    const struct ptx_inst *in = p->insts[id].in;
    const struct ptx_operand *a = in->operand;
    if (in->op != PTX_OP_ST || in->space != PTX_SPACE_PARAM || !in->noperands || a->kind != PTX_OPND_ADDR || a->has_reg || !a->sym)
        return CWI_NONE;
    for (uint32_t k = id + 1; k < p->ninsts && follows(p, k); k++) {
        const struct ptx_inst *end = p->insts[k].in;
        if (end->op == PTX_OP_CALL || (ptx_op_info((ptx_op)end->op)->traits & PTX_T_TERMINATOR))
            return end->op == (a->sym->kind == PTX_SYM_PARAM ? PTX_OP_RET : PTX_OP_CALL) && !end->has_guard ? k : CWI_NONE;
    }
    return CWI_NONE;
}

static bool
wanted(const struct ptx_function *fn, const char *kernel)
{
    return fn->ninsts && (!fn->is_entry || !kernel || !strcmp(fn->sym->name, kernel));
}

/* Does one of the instructions up to `last` write the result's register again? */
static bool
overwritten(const struct cwi_program *p, uint32_t id, uint32_t last)
{
    bool upper;
    uint32_t reg, again;
    for (unsigned part = 0; (reg = cwi_result_register(p->insts[id].fn, p->insts[id].in, part, &upper)) != UINT32_MAX; part++)
        for (uint32_t k = id + 1; k <= last; k++)
            for (unsigned q = 0; (again = cwi_result_register(p->insts[k].fn, p->insts[k].in, q, &upper)) != UINT32_MAX; q++)
                if (again == reg)
                    return true;
    return false;
}

/* Records of `from` up to `last`, all behind the last one; none of values that are no longer available there. */
static void
behind(struct rewrite *w, uint32_t from, uint32_t last)
{
    for (uint32_t id = from; id <= last; id++) {
        const struct ptx_inst *in = w->p->insts[id].in;
        bool there = id == last || (!in->has_guard && !overwritten(w->p, id, last));
        if (w->mode == CWI_WATCH)
            watch_behind(w, id, in);
        else if (w->mode == CWI_TRACE && there)
            trace_behind(w, id, in);
        if (w->mode != CWI_STEP)
            continue;
        if (id > from && cwi_takes_result(w->p, id))
            cwi_step_at(w, id, false);
        if (there)
            cwi_step_results(w, id);
    }
}

static void
before(struct rewrite *w, uint32_t id, bool held)
{
    const struct ptx_inst *in = w->p->insts[id].in;
    if (w->mode == CWI_WATCH)
        watch_before(w, in);
    else if (w->mode == CWI_STEP && !held)
        cwi_step_at(w, id, true);
    else if (!held)
        trace_before(w, id, in);
}

static bool
has_call(const struct cwi_program *p, uint32_t from, uint32_t last)
{
    for (; from <= last; from++)
        if (p->insts[from].in->op == PTX_OP_CALL)
            return true;
    return false;
}

/* From `at`, copy and add; returns where it stopped. */
static size_t
rewrite_function(struct rewrite *w, uint32_t first, size_t at, const uint32_t block[3])
{
    const struct cwi_program *p = w->p;
    const char *text = p->texts[p->insts[first].text].text;
    w->fn = p->insts[first].fn;
    const char *open = cwi_body(text + at, p->texts[p->insts[first].text].size - at, p->insts[first].begin - at);
    size_t body = open ? (size_t)(open - text) : p->insts[first].begin;
    cw_buf_append(w->out, text + at, body - at);
    if (block && w->fn->is_entry && !w->fn->maxntid[0] && !w->fn->reqntid[0])
        cw_buf_printf(w->out, " .maxntid %u, %u, %u ", block[0], block[1], block[2]);   /* the inserted code needs more registers than the launch allows for */
    cw_buf_puts(w->out, "{");
    prologue(w);
    if (w->mode == CWI_TRACE)
        trace_entry(w, first);
    at = body + 1;
    if (w->mode == CWI_CHECK || w->mode == CWI_STEP || w->mode == CWI_SCREEN) {
        size_t begin = cwi_behind_declarations(text, body, p->insts[first].begin);
        cw_buf_append(w->out, text + at, begin - at);
        if (w->mode == CWI_CHECK)
            cwi_check_spaces(w);
        else if (w->mode == CWI_SCREEN)
            cwi_screen_spaces(w);
        else
            cwi_step_entry(w, first);
        at = begin;
    }
    uint32_t until = CWI_NONE;          /* the call or ret that st.param was for */
    for (uint32_t id = first, from = first; id < p->ninsts && p->insts[id].fn == w->fn; id++) {
        const struct cwi_inst *i = &p->insts[id];
        bool step = w->mode == CWI_STEP, trace = w->mode == CWI_TRACE || step;
        cw_buf_append(w->out, text + at, i->begin - at);
        at = i->end;
        if (w->mode == CWI_CHECK || w->mode == CWI_BOUND || w->mode == CWI_SCREEN) {
            (w->mode == CWI_CHECK ? cwi_check_instruction : w->mode == CWI_BOUND ? cwi_bound_instruction : cwi_screen_instruction)(w, id);
            continue;
        }
        bool taken = step && from < id && cwi_takes_result(p, id);      /* nothing may come before it */
        if (trace && until == CWI_NONE && (until = stores_for(p, id)) != CWI_NONE) {
            for (uint32_t k = id; step && k <= until; k++)
                cwi_step_at(w, k, k == id);
            if (!step && p->insts[until].in->op == PTX_OP_RET)
                trace_before(w, until, p->insts[until].in);
        }
        before(w, id, until != CWI_NONE || taken);
        cw_buf_append(w->out, text + i->begin, i->end - i->begin);
        if (until != CWI_NONE && id < until)
            continue;
        bool ret = until == id && i->in->op == PTX_OP_RET, call = trace && has_call(p, from, id);
        until = CWI_NONE;
        if (call && id + 1 < p->ninsts && cwi_takes_result(p, id + 1))
            continue;
        if (!ret)
            behind(w, from, id);
        from = id + 1;
    }
    return at;
}

const char *
cwi_behind_directives(const char *s, const char *end)
{
    static const char word[] = ".address_size";
    for (; (s = cwi_find(s, end, ".")); s++) {
        if ((size_t)(end - s) < sizeof word || memcmp(s, word, sizeof word - 1))
            continue;
        for (s += sizeof word - 1; s < end && (*s == ' ' || *s == '\t'); s++)
            ;
        for (; s < end && *s >= '0' && *s <= '9'; s++)
            ;
        return s;
    }
    return NULL;
}

cw_result
cwi_rewrite(const struct cwi_program *p, uint32_t i, enum cwi_mode mode, const char *kernel, const uint32_t block[3], uint64_t bytes,
            struct cw_buf *out, struct cwd_error *e)
{
    const struct cwj_input *t = &p->texts[i];
    struct rewrite w = { .p = p, .mode = mode, .out = out, .room = (bytes - CWI_HEADER) / 32, .threads = block ? (uint64_t)block[0] * block[1] * block[2] : 0 };
    if (p->modules[i]->address_size != 64)
        return cwd_fail(e, CW_ERR_UNSUPPORTED, "modules with 32-bit addresses cannot be traced");
    if (memmem(t->text, t->size, "cudaway_", 8))
        return cwd_fail(e, CW_ERR_UNSUPPORTED, "the PTX uses names with cudaway_, which are for what is put into it");
    const char *start = cwi_behind_directives(t->text, t->text + t->size);
    if (!start)
        return cwd_fail(e, CW_ERR_UNSUPPORTED, "the PTX has no .address_size");
    uint32_t definer = p->ntexts;       /* the first text with a function that is rewritten holds the variable */
    for (uint32_t id = 0; id < p->ninsts && definer == p->ntexts; id++)
        if (wanted(p->insts[id].fn, kernel))
            definer = p->insts[id].text;
    size_t at = (size_t)(start - t->text);
    cw_buf_append(out, t->text, at);
    cw_buf_printf(out, " %s .global .align 16 .u8 " CWI_VARIABLE "[%llu];", i == definer ? ".visible" : ".extern", (unsigned long long)bytes);
    if (mode == CWI_CHECK)
        cwi_check_function(&w);
    else if (mode == CWI_BOUND)
        cwi_bound_function(&w);
    else if (mode == CWI_SCREEN)
        cwi_screen_functions(&w);
    for (uint32_t id = 0; id < p->ninsts;) {
        const struct cwi_inst *x = &p->insts[id];
        bool followed = mode == CWI_BOUND ? cwi_bound_follows(p, x->fn) : mode != CWI_SCREEN || x->fn->is_entry;
        if (x->text == i && wanted(x->fn, kernel) && followed)
            at = rewrite_function(&w, id, at, block);
        while (id < p->ninsts && p->insts[id].fn == x->fn)
            id++;
    }
    cw_buf_append(out, t->text + at, t->size - at);
    free(w.unwritten);
    return out->failed ? cwd_fail(e, CW_ERR_NOMEM, "out of memory") : CW_OK;
}
