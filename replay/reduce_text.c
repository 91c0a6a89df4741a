/* SPDX-License-Identifier: Apache-2.0
 * See reduce_private.h. */
#define _GNU_SOURCE
#include "replay/reduce_private.h"

#include "replay/analyze.h"
#include "replay/flow.h"
#include "replay/instrument_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool
blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The text with coordinates replaced by numbers. */
static void
write_instruction(const struct reduction *r, const char *s, const char *end, struct cw_buf *out)
{
    static const char *const names[] = { "%tid.", "%ntid.", "%ctaid.", "%nctaid." };
    const uint32_t *values[] = { r->now.tid, r->side[0].dump.block, r->now.ctaid, r->side[0].dump.grid };
    for (unsigned k; s < end; s++) {
        for (k = 0; k < 4; k++) {
            size_t n = strlen(names[k]);
            bool wanted = k < 2 ? r->now.one_thread : r->now.one_block;
            if (wanted && (size_t)(end - s) > n && !memcmp(s, names[k], n) && s[n] >= 'x' && s[n] <= 'z') {
                cw_buf_printf(out, "%u", values[k][s[n] - 'x']);
                s += n;
                break;
            }
        }
        if (k == 4)
            cw_buf_append(out, s, 1);
    }
}

static const char *
behind_guard(const char *s, const char *end)
{
    while (s < end && (*s == '@' || *s == '!' || blank(*s)))
        s++;
    while (s < end && !blank(*s))
        s++;
    return s;
}

/* From behind what is declared before the function to behind its body. */
static void
function_span(const struct cwj_input *t, size_t from, size_t inst, size_t *begin, size_t *end)
{
    const char *text = t->text, *open = cwi_body(text + from, t->size - from, inst - from), *stop = text + t->size;
    *begin = from;
    for (const char *s = text + from; open && (s = cwi_find(s, open, ";}")); s++)
        *begin = (size_t)(s - text) + 1;
    unsigned depth = 0;
    *end = inst;
    for (const char *s = open; s && (s = cwi_find(s, stop, "{}")); s++) {
        depth += *s == '{' ? 1 : -1u;
        if (!depth) {
            *end = (size_t)(s - text) + 1;
            break;
        }
    }
}

bool
reduce_text(const struct reduction *r, unsigned side, uint32_t i, struct cw_buf *out)
{
    const struct cwi_program *p = &r->side[side].program;
    const struct cwj_input *t = &p->texts[i];
    size_t at = 0;
    for (uint32_t id = 0; id < p->ninsts; id++) {
        const struct cwi_inst *x = &p->insts[id];
        uint32_t first = side ? r->from[id] : id;
        if (x->text != i)
            continue;
        if ((!id || x[-1].fn != x->fn) && first != UINT32_MAX && r->now.fn[first]) {
            size_t begin, end;
            function_span(t, at, x->begin, &begin, &end);
            cw_buf_append(out, t->text + at, begin - at);
            at = end;
            while (id + 1 < p->ninsts && p->insts[id + 1].fn == x->fn)
                id++;
            continue;
        }
        cw_buf_append(out, t->text + at, x->begin - at);
        at = x->end;
        if (first != UINT32_MAX && r->now.inst[first])
            continue;
        bool bare = first != UINT32_MAX && r->now.guard[first] && x->in->has_guard;
        const char *s = t->text + x->begin, *end = t->text + x->end;
        write_instruction(r, bare ? behind_guard(s, end) : s, end, out);
    }
    cw_buf_append(out, t->text + at, t->size - at);
    return !out->failed;
}

/* Without blank lines, comments of whole lines, and directives for debuggers. */
static void
tidy(struct cw_buf *b)
{
    struct cw_buf out;
    cw_buf_init(&out);
    const char *end = b->data + b->size;
    for (const char *s = b->data, *eol; s < end; s = eol + 1) {
        eol = memchr(s, '\n', (size_t)(end - s));
        eol = eol ? eol : end;
        const char *t = s;
        while (t < eol && blank(*t))
            t++;
        if (t == eol || (!strncmp(t, ".loc", 4) && blank(t[4])) || !strncmp(t, "//", 2))
            continue;
        cw_buf_append(&out, s, (size_t)(eol - s));
        cw_buf_puts(&out, "\n");
    }
    cw_buf_finish(b);
    *b = out;
}

/* Is the register declared in this text: by its name, or as one of "%r<9>"? Those of blocks inside cannot be named at the begin. */
static bool
declared(const char *text, size_t size, const char *name)
{
    char stem[128];
    size_t n = strlen(name), digits = n;
    for (const char *s = text; (s = memmem(s, size - (size_t)(s - text), name, n)); s++)
        if (s[n] == ',' || s[n] == ';' || blank(s[n]))
            return true;
    while (digits && name[digits - 1] >= '0' && name[digits - 1] <= '9')
        digits--;
    if (digits == n || digits + 2 > sizeof stem)
        return false;
    snprintf(stem, sizeof stem, "%.*s<", (int)digits, name);
    return memmem(text, size, stem, digits + 1);
}

/* Put zeros into registers of the function that a read may find unwritten. */
static size_t
write_zeros(const struct cwi_program *p, uint32_t first, size_t at, struct cw_buf *out, uint32_t *count)
{
    const struct cwi_inst *x = &p->insts[first];
    const char *text = p->texts[x->text].text;
    bool *reg = calloc(x->fn->nregs + (size_t)1, sizeof *reg);
    if (!reg || !cwi_unwritten((struct ptx_function *)(uintptr_t)x->fn, false, NULL, reg))
        out->failed = true;
    const char *open = cwi_body(text + at, p->texts[x->text].size - at, x->begin - at);
    size_t begin = open ? cwi_behind_declarations(text, (size_t)(open - text), x->begin) : x->begin;
    cw_buf_append(out, text + at, begin - at);
    for (uint32_t i = 0; reg && i < x->fn->nregs; i++) {
        unsigned bits = ptx_type_bits((ptx_type)x->fn->regs[i].type);
        if (!reg[i] || bits == 8 || bits > 64 || !open || !declared(open, begin - (size_t)(open - text), x->fn->regs[i].name))
            continue;
        if (bits == 1)
            cw_buf_printf(out, " setp.ne.u32 %s, 0, 0;", x->fn->regs[i].name);
        else
            cw_buf_printf(out, " mov.b%u %s, 0;", bits, x->fn->regs[i].name);
        ++*count;
    }
    free(reg);
    return begin;
}

bool
reduce_texts(const struct reduction *r, unsigned side, struct cw_buf *texts, uint32_t *count)
{
    uint32_t n = r->side[side].program.ntexts;
    struct cwj_input *in = calloc(n + (size_t)1, sizeof *in);
    struct cwi_program p;
    struct cwd_error e;
    bool ok = in;
    *count = 0;
    for (uint32_t i = 0; i < n && in; i++) {
        struct cw_buf b;
        cw_buf_init(&b);
        ok = reduce_text(r, side, i, &b) && ok;
        tidy(&b);
        cw_buf_append(&b, "", 1);
        in[i] = (struct cwj_input){ .name = strdup("reduced.ptx"), .text = b.data, .size = b.size ? b.size - 1 : 0 };
        ok = ok && !b.failed && b.data;
    }
    if (!in || cwi_open(&p, in, n, &e) != CW_OK)        /* which closes what it does not take */
        return false;
    *count = 0;
    for (uint32_t i = 0; i < n && ok; i++) {
        size_t at = 0;
        for (uint32_t id = 0; id < p.ninsts; id++)
            if (p.insts[id].text == i && (!id || p.insts[id - 1].fn != p.insts[id].fn))
                at = write_zeros(&p, id, at, &texts[i], count);
        cw_buf_append(&texts[i], p.texts[i].text + at, p.texts[i].size - at);
        ok = !texts[i].failed;
    }
    for (uint32_t id = 0; id < p.ninsts; id++)
        *count += p.insts[id].end > p.insts[id].begin;
    cwi_close(&p);
    const struct cwd_dump *d = &r->side[0].dump;
    for (uint32_t i = 0; i < n && ok; i++) {
        reduce_declarations(d->kernel, r->now.param, d->nparams, r->now.declared, &texts[i]);
        ok = !texts[i].failed;
    }
    return ok;
}

/* ---- the test ---------------------------------------------------------------------------------------------------------------- */

static void
print_words(struct cw_buf *b, const uint8_t *data, uint64_t size, unsigned width)
{
    uint64_t n = size / width, printed = 0;
    for (uint64_t i = 0, run; i < n; i += run) {
        uint64_t v = 0, w;
        memcpy(&v, data + i * width, width);
        for (run = 1; i + run < n; run++) {
            w = 0;
            memcpy(&w, data + (i + run) * width, width);
            if (w != v)
                break;
        }
        if (printed++ && printed % 16 == 0)
            cw_buf_puts(b, "\n//!  ");
        run = run < 4 ? 1 : run;
        if (run > 1)
            cw_buf_printf(b, " %" PRIu64 " x 0x%" PRIx64, run, v);
        else
            cw_buf_printf(b, " 0x%" PRIx64, v);
    }
    cw_buf_puts(b, "\n");
}

static const char *
type_of(const struct cwd_buffer *b, unsigned *width)
{
    static const char *const names[] = { [1] = "u8", [2] = "u16", [4] = "u32", [8] = "u64" };
    *width = cwd_element_width(b);
    bool known = b->element && cwd_type_bytes(cwd_type_of(b->element)) == *width && b->element[0] != 'b';
    return known ? b->element : names[*width];
}

static bool
is_variable(const struct cwd_buffer *b)
{
    return b->kind == CWD_VARIABLE || b->kind == CWD_CONSTANT;
}

static int32_t
buffer_at(const struct cwd_dump *d, uint64_t address)
{
    for (uint32_t i = 0; i < d->nbuffers; i++)
        if (!is_variable(&d->buffers[i]) && address - d->buffers[i].address < d->buffers[i].size)
            return (int32_t)i;
    return -1;
}

/* The parameters, each with its buffer or value; `names`: the list for the launch. */
static void
print_parameters(const struct cwd_dump *d, const char **name, struct cw_buf *out, struct cw_buf *names)
{
    char own[32];
    for (uint32_t i = 0; i < d->nparams; i++) {
        const struct cwd_param *p = &d->params[i];
        uint64_t v = 0;
        unsigned width;
        memcpy(&v, d->param_block + p->offset, p->size < 8 ? p->size : 8);
        int32_t b = p->size == 8 ? buffer_at(d, v) : -1;
        snprintf(own, sizeof own, "p%u", i);
        cw_buf_printf(names, "%s%s", i ? "," : "", own);
        if (b >= 0 && !name[b] && v == d->buffers[b].address) {
            name[b] = p->name;
            cw_buf_printf(out, "//! buffer %s %s =", own, type_of(&d->buffers[b], &width));
            print_words(out, d->buffers[b].before, d->buffers[b].size, width);
        } else if (b >= 0) {
            cw_buf_printf(out, "// %s points to byte %" PRIu64 " of another buffer\n//! value %s u64[1] = 0\n", own, v - d->buffers[b].address, own);
        } else if (p->size == 1 || p->size == 2 || p->size == 4 || p->size == 8) {
            cw_buf_printf(out, "//! value %s u%u[1] = 0x%" PRIx64 "\n", own, p->size * 8, v);
        } else {
            cw_buf_printf(out, "//! value %s b8[%u] =", own, p->size);
            print_words(out, d->param_block + p->offset, p->size, 1);
        }
    }
}

bool
reduce_write(const struct reduction *r, struct cw_buf *out)
{
    const struct cwd_dump *d = &r->result[0];       /* what was run, with its results on the reference */
    const char **name = calloc(d->nbuffers + (size_t)1, sizeof *name);
    uint32_t n = r->side[0].program.ntexts, count, width;
    struct cw_buf *texts = calloc(n + (size_t)1, sizeof *texts), names;
    cw_buf_init(&names);
    bool ok = name && texts && reduce_texts(r, 0, texts, &count);
    if (ok) {
        cw_buf_printf(out, "// SPDX-License-Identifier: Apache-2.0\n// Reduced by cudaway-replay --reduce --on %s --against %s from a launch of %s: %u instructions.\n",
                      r->o->on ? r->o->on : "auto", r->o->against ? r->o->against : "auto", d->kernel, count);
        print_parameters(d, name, out, &names);
        for (uint32_t i = 0; i < d->nbuffers; i++) {
            const struct cwd_buffer *b = &d->buffers[i];
            if (is_variable(b) && memmem(texts[0].data, texts[0].size, b->name, strlen(b->name))) {
                cw_buf_printf(out, "//! variable %s %s[%" PRIu64 "] =", b->name, type_of(b, &width), b->size / cwd_element_width(b));
                print_words(out, b->before, b->size, width);
            } else if (!is_variable(b) && !name[i]) {
                cw_buf_printf(out, "// buffer %u, %" PRIu64 " bytes, is reached through pointers, which a test cannot hold\n", i, b->size);
            }
        }
        cw_buf_printf(out, "//! launch %s(%s) grid %u,%u,%u block %u,%u,%u shared %u\n", d->kernel, names.data ? names.data : "", d->grid[0], d->grid[1], d->grid[2],
                      d->block[0], d->block[1], d->block[2], d->shared);
        for (uint32_t p = 0; p < d->nparams; p++) {
            uint64_t v = 0;
            memcpy(&v, d->param_block + d->params[p].offset, d->params[p].size < 8 ? d->params[p].size : 8);
            int32_t b = d->params[p].size == 8 ? buffer_at(d, v) : -1;
            if (b < 0 || v != d->buffers[b].address || !memcmp(d->buffers[b].before, d->buffers[b].after, d->buffers[b].size))
                continue;
            type_of(&d->buffers[b], &width);
            cw_buf_printf(out, "//! expect p%u recorded \"%s\" =", p, r->side[0].label);
            print_words(out, d->buffers[b].after, d->buffers[b].size, width);
        }
        for (uint32_t i = 0; i < n; i++)
            cw_buf_append(out, texts[i].data, texts[i].size);
    }
    for (uint32_t i = 0; texts && i < n; i++)
        cw_buf_finish(&texts[i]);
    cw_buf_finish(&names);
    free(texts);
    free(name);
    return ok && !out->failed;
}
