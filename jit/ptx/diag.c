/* SPDX-License-Identifier: Apache-2.0
 * Diagnostics: collected in order, bounded by `limit`, rendered with the source line and a caret. */
#include "impl/base/buf.h"
#include "jit/ptx/ptx_private.h"

#include <stdarg.h>
#include <stdio.h>

void
cwj_diags_init(struct cwj_diags *d)
{
    memset(d, 0, sizeof *d);
    cw_arena_init(&d->arena);
    d->tail = &d->first;
    d->limit = 20;
}

void
cwj_diags_finish(struct cwj_diags *d)
{
    cw_arena_finish(&d->arena);
    memset(d, 0, sizeof *d);
}

static void
vadd(struct cwj_diags *d, enum ptx_severity s, unsigned code, uint32_t line, uint32_t column, const char *fmt, va_list ap)
{
    if (s == PTX_ERROR)
        d->errors++;
    else if (s == PTX_WARNING)
        d->warnings++;
    if ((s == PTX_ERROR ? d->errors : d->errors + d->warnings) > (d->limit ? d->limit : 20) + (s == PTX_ERROR ? 0 : 80))
        return;
    char text[512];
    int n = vsnprintf(text, sizeof text, fmt, ap);
    struct cwj_diag *g = cw_arena_new(&d->arena, struct cwj_diag);
    char *t = g && n >= 0 ? cw_arena_strndup(&d->arena, text, strlen(text)) : NULL;
    if (!t)
        return;     /* counted even if not stored, so that the failure is not lost */
    g->severity = (uint8_t)s;
    g->code = (uint16_t)code;
    g->line = line;
    g->column = column;
    g->text = t;
    *d->tail = g;
    d->tail = &g->next;
}

void
cwj_diag_add(struct cwj_diags *d, enum ptx_severity s, unsigned code, uint32_t line, uint32_t column, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vadd(d, s, code, line, column, fmt, ap);
    va_end(ap);
}

bool
ptx_error(struct parser *p, unsigned code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (p->tok.kind != T_BAD)       /* otherwise the lexer has reported it */
        vadd(p->diags, PTX_ERROR, code, p->tok.line, p->tok.column, fmt, ap);
    va_end(ap);
    return false;
}

bool
ptx_error_at(struct parser *p, uint32_t line, uint32_t col, unsigned code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vadd(p->diags, PTX_ERROR, code, line, col, fmt, ap);
    va_end(ap);
    return false;
}

void
ptx_warn_at(struct parser *p, uint32_t line, uint32_t col, unsigned code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vadd(p->diags, PTX_WARNING, code, line, col, fmt, ap);
    va_end(ap);
}

static void
source_line(const char *text, size_t size, uint32_t line, uint32_t column, struct cw_buf *out)
{
    const char *s = text, *end = text + size;
    for (uint32_t i = 1; i < line; i++) {
        s = memchr(s, '\n', (size_t)(end - s));
        if (!s)
            return;
        s++;
    }
    const char *e = memchr(s, '\n', (size_t)(end - s));
    size_t n = (size_t)((e ? e : end) - s), from = 0;
    if (column && column > 120)     /* very long lines: show a window around the column */
        from = column - 60 < n ? column - 60 : 0;
    size_t shown = n - from > 160 ? 160 : n - from;
    cw_buf_puts(out, "    ");
    for (size_t i = 0; i < shown; i++) {
        unsigned char c = (unsigned char)s[from + i];
        char print = c == '\t' ? ' ' : c < 32 || c == 127 ? '?' : (char)c;
        cw_buf_append(out, &print, 1);
    }
    cw_buf_puts(out, "\n");
    if (column) {
        cw_buf_puts(out, "    ");
        for (size_t i = from + 1; i < column && i <= from + shown; i++)
            cw_buf_puts(out, " ");
        cw_buf_puts(out, "^\n");
    }
}

void
cwj_diags_render(const struct cwj_diags *d, const char *name, const char *text, size_t size, struct cw_buf *out)
{
    static const char *const severity[] = { "note", "warning", "error" };
    for (const struct cwj_diag *g = d->first; g; g = g->next) {
        cw_buf_puts(out, name ? name : "module");
        if (g->line)
            cw_buf_printf(out, ":%u:%u", g->line, g->column);
        cw_buf_printf(out, ": %s P%04u: %s\n", severity[g->severity <= PTX_ERROR ? g->severity : PTX_ERROR], g->code, g->text);
        if (text && g->line)
            source_line(text, size, g->line, g->column, out);
    }
    if (d->errors > (d->limit ? d->limit : 20))
        cw_buf_printf(out, "%s: %u more errors\n", name ? name : "module", d->errors - (d->limit ? d->limit : 20));
}
