/* SPDX-License-Identifier: Apache-2.0
 * Fields of events: look-up, and their values as text. */
#include "tracer/cli/reader.h"

#include <string.h>

const struct tr_field *
tr_find(const struct tr_field *fields, unsigned count, const char *name)
{
    for (unsigned i = 0; i < count; i++)
        if (!strcmp(fields[i].name, name))
            return &fields[i];
    return NULL;
}

static void
number_text(struct cw_buf *b, enum tr_kind kind, bool hex, uint64_t u)
{
    cw_buf_printf(b, hex ? "0x%llx" : kind == TR_INT ? "%lld" : "%llu", (unsigned long long)u);
}

void
tr_text(struct cw_buf *b, const struct tr_field *f)
{
    switch (f->kind) {
    case TR_UINT:
    case TR_INT:
        if (f->text)
            cw_buf_puts(b, f->text);
        else
            number_text(b, f->kind, f->hex, f->u);
        break;
    case TR_REAL:
        cw_buf_printf(b, "%.17g", f->d);
        break;
    case TR_STRING:
        cw_buf_json_string(b, f->text);
        break;
    case TR_ARRAY:
        cw_buf_puts(b, "[");
        for (uint64_t i = 0; i < f->count; i++) {
            if (i)
                cw_buf_puts(b, ", ");
            number_text(b, TR_UINT, f->hex, f->items[i]);
        }
        cw_buf_puts(b, "]");
        break;
    }
}

void
tr_json(struct cw_buf *b, const struct tr_field *f)
{
    switch (f->kind) {
    case TR_UINT:
    case TR_INT:
        if (f->text) {
            cw_buf_json_string(b, f->text);
        } else if (f->hex) {
            cw_buf_printf(b, "\"0x%llx\"", (unsigned long long)f->u);
        } else {
            number_text(b, f->kind, false, f->u);
        }
        break;
    case TR_REAL:
        /* JSON cannot express infinities and NaN. */
        cw_buf_printf(b, f->d - f->d == 0 ? "%.17g" : "\"%g\"", f->d);
        break;
    case TR_STRING:
        cw_buf_json_string(b, f->text);
        break;
    case TR_ARRAY:
        cw_buf_puts(b, "[");
        for (uint64_t i = 0; i < f->count; i++)
            cw_buf_printf(b, f->hex ? "%s\"0x%llx\"" : "%s%llu", i ? ", " : "", (unsigned long long)f->items[i]);
        cw_buf_puts(b, "]");
        break;
    }
}
