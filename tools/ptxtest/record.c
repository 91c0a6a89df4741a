/* SPDX-License-Identifier: Apache-2.0
 * Writes a device's results into the text of a test: a list behind the launch or, for long lists, a section of the side file
 * NAME.values. Lines that are not replaced stay as they are. */
#include "tools/ptxtest/ptxtest.h"

#include "impl/base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG_LIST = 64 };       /* elements: more go to the side file */

struct edit {
    uint32_t first, last;       /* lines that are replaced; first > last: inserted behind line `last` */
    struct cw_buf text;
};

struct section {
    char *name;
    struct cw_buf text;
};

struct pt_recorder {
    const struct pt_file *f;
    const char *label;
    bool overwrite, failed;
    struct edit *edits;
    struct section *sections;
    uint32_t nedits, nsections;
};

struct pt_recorder *
pt_recorder_create(const struct pt_file *f, const char *label, bool overwrite)
{
    struct pt_recorder *c = calloc(1, sizeof *c);
    if (c)
        *c = (struct pt_recorder){ .f = f, .label = label, .overwrite = overwrite };
    return c;
}

static bool
differs(const struct pt_expect *x, const uint8_t *bytes)
{
    const struct pt_type *t = x->list.type;
    for (uint32_t i = 0; i < x->list.count; i++) {
        struct pt_bits a = pt_load(t, x->list.bytes, i), b = pt_load(t, bytes, i);
        if ((!x->list.how || x->list.how[i] == PT_EXACT) && (a.lo != b.lo || a.hi != b.hi))
            return true;
    }
    return false;
}

static void
print_head(struct pt_recorder *c, const struct pt_decl *d, const struct pt_expect *x, struct cw_buf *out)
{
    cw_buf_printf(out, "//! expect %s recorded \"%s\"", d->name, c->label);
    if (x && x->ulp)
        cw_buf_printf(out, " ulp %u", x->ulp);
    if (x && x->abs > 0)
        cw_buf_printf(out, " abs %g", x->abs);
    if (x && x->nan_any)
        cw_buf_puts(out, " nan any");
    cw_buf_puts(out, " =");
}

static void
print_values(const struct pt_type *t, const uint8_t *bytes, uint32_t count, struct cw_buf *out)
{
    unsigned size = pt_type_size(t), per_line = size > 8 ? 2 : size > 4 ? 4 : size > 2 ? 8 : 12;
    for (uint32_t i = 0; i < count; i++) {
        cw_buf_puts(out, i % per_line ? " " : count > per_line ? "\n//!     " : " ");
        pt_print_bits(t, pt_load(t, bytes, i), out);
    }
    cw_buf_puts(out, "\n");
}

static bool
add_section(struct pt_recorder *c, const char *test, const char *buffer, const struct pt_type *t, const uint8_t *bytes, uint32_t count)
{
    struct section *p = realloc(c->sections, (c->nsections + 1) * sizeof *p);
    if (!p)
        return false;
    c->sections = p;
    p += c->nsections;
    cw_buf_init(&p->text);
    size_t size = strlen(test) + strlen(buffer) + 2;
    if (!(p->name = malloc(size)))
        return false;
    snprintf(p->name, size, "%s.%s", test, buffer);
    c->nsections++;
    cw_buf_printf(&p->text, "[%s]\n", p->name);
    unsigned per_line = 128 / (pt_type_size(t) * 2 + 1);
    for (uint32_t i = 0; i < count; i++) {
        struct cw_buf word;
        cw_buf_init(&word);
        pt_print_bits(t, pt_load(t, bytes, i), &word);
        cw_buf_printf(&p->text, "%s%s", word.data ? word.data + 2 : "", i + 1 == count || (i + 1) % per_line == 0 ? "\n" : " ");
        cw_buf_finish(&word);
    }
    return !p->text.failed;
}

void
pt_record(struct pt_recorder *c, const struct pt_launch *l, const struct pt_result *x)
{
    for (uint32_t i = 0; i < l->nscope; i++) {
        const struct pt_decl *d = &c->f->decls[l->scope[i]];
        const struct pt_expect *old = NULL;
        if (!x->after[i].bytes)
            continue;
        for (uint32_t k = 0; k < l->nexpects; k++)
            if (l->expects[k].decl == l->scope[i])
                old = &l->expects[k];
        if (old ? old->origin == PT_DERIVED || old->origin == PT_IGNORED || old->origin == PT_SAME ||
                  (old->origin == PT_RECORDED && !(c->overwrite && differs(old, x->after[i].bytes))) : !x->after[i].changed)
            continue;
        struct edit *p = realloc(c->edits, (c->nedits + 1) * sizeof *p);
        if (!p) {
            c->failed = true;
            return;
        }
        c->edits = p;
        p += c->nedits++;
        *p = (struct edit){ old ? old->line : l->last_line + 1, old ? old->last_line : l->last_line, { 0 } };
        cw_buf_init(&p->text);
        print_head(c, d, old, &p->text);
        if (d->init.count > LONG_LIST) {
            cw_buf_puts(&p->text, " @file\n");
            c->failed = !add_section(c, l->test, d->name, d->init.type, x->after[i].bytes, d->init.count) || c->failed;
        } else {
            print_values(d->init.type, x->after[i].bytes, d->init.count, &p->text);
        }
        c->failed = c->failed || p->text.failed;
    }
}

static void
apply(const struct pt_recorder *c, struct cw_buf *out)
{
    const char *p = c->f->text, *end = p + c->f->size;
    uint32_t line = 1;
    while (p < end) {
        const char *nl = memchr(p, '\n', (size_t)(end - p)), *stop = nl ? nl + 1 : end;
        bool replaced = false;
        for (uint32_t i = 0; i < c->nedits; i++) {
            const struct edit *e = &c->edits[i];
            replaced = replaced || (line >= e->first && line <= e->last);
            if (line == e->first && e->first <= e->last)
                cw_buf_append(out, e->text.data, e->text.size);
        }
        if (!replaced)
            cw_buf_append(out, p, (size_t)(stop - p));
        if (!nl)
            cw_buf_puts(out, "\n");
        for (uint32_t i = 0; i < c->nedits; i++)
            if (c->edits[i].first > c->edits[i].last && c->edits[i].last == line)
                cw_buf_append(out, c->edits[i].text.data, c->edits[i].text.size);
        p = stop;
        line++;
    }
}

/* The old side file without the sections that are new, and those. */
static void
apply_sections(const struct pt_recorder *c, struct cw_buf *out)
{
    const char *p = c->f->values ? c->f->values : "", *end = p + c->f->values_size;
    bool drop = false;
    if (!c->f->values)
        cw_buf_puts(out, "# SPDX-License-Identifier: Apache-2.0\n# Values that the .ptx file of the same name expects, as hexadecimal bits.\n");
    while (p < end) {
        const char *nl = memchr(p, '\n', (size_t)(end - p)), *stop = nl ? nl + 1 : end;
        if (*p == '[') {
            drop = false;
            for (uint32_t i = 0; i < c->nsections; i++) {
                size_t n = strlen(c->sections[i].name);
                drop = drop || ((size_t)(stop - p) >= n + 2 && !memcmp(p + 1, c->sections[i].name, n) && p[n + 1] == ']');
            }
        }
        if (!drop)
            cw_buf_append(out, p, (size_t)(stop - p));
        p = stop;
    }
    for (uint32_t i = 0; i < c->nsections; i++)
        cw_buf_append(out, c->sections[i].text.data, c->sections[i].text.size);
}

static bool
write_file(const char *path, struct cw_buf *b)
{
    cw_result r = b->failed ? CW_ERR_NOMEM : cw_file_write_atomic(path, b->data, b->size, 0644);
    if (r != CW_OK)
        printf("%s: cannot be written\n", path);
    return r == CW_OK;
}

bool
pt_recorder_finish(struct pt_recorder *c, uint32_t *added)
{
    bool ok = !c->failed;
    struct cw_buf text, values;
    cw_buf_init(&text);
    cw_buf_init(&values);
    *added = ok ? c->nedits : 0;
    if (ok && c->nsections) {
        size_t size = strlen(c->f->path) + 8;
        char *path = malloc(size);
        if (path) {
            snprintf(path, size, "%s", c->f->path);
            strcpy(strrchr(path, '.') ? strrchr(path, '.') : path + strlen(path), ".values");
        }
        apply_sections(c, &values);
        ok = path && write_file(path, &values);
        free(path);
    }
    if (ok && c->nedits) {
        apply(c, &text);
        ok = write_file(c->f->path, &text);
    }
    cw_buf_finish(&text);
    cw_buf_finish(&values);
    for (uint32_t i = 0; i < c->nedits; i++)
        cw_buf_finish(&c->edits[i].text);
    for (uint32_t i = 0; i < c->nsections; i++) {
        cw_buf_finish(&c->sections[i].text);
        free(c->sections[i].name);
    }
    free(c->edits);
    free(c->sections);
    free(c);
    return ok;
}
