/* SPDX-License-Identifier: Apache-2.0
 * Scopes: a brace opens one; names bound in it shadow outer ones until it closes. Labels have a name space of their own. A branch is
 * resolved when its scope closes, because the label may follow it; if not found, it is passed to the outer scope. */
#include "jit/ptx/ptx_private.h"

void
ptx_bind(struct parser *p, struct ident *id, const struct binding *b)
{
    struct undo u = { id, id->bind };
    if (p->depth)
        VEC_PUSH(p, p->undo, u);
    id->bind = *b;
    id->bind.depth = p->depth;
}

bool
ptx_scope_open(struct parser *p)
{
    struct undo mark = { NULL, { 0 } };
    struct label_undo lmark = { NULL, 0, 0 };
    if (p->depth >= MAX_SCOPES)
        return ptx_error(p, 6001, "more than %d nested scopes", MAX_SCOPES);
    VEC_PUSH(p, p->undo, mark);
    VEC_PUSH(p, p->label_undo, lmark);
    p->depth++;
    return true;
}

void
ptx_scope_close(struct parser *p)
{
    uint32_t kept = 0, i = p->fixups.n;
    while (i > 0 && p->fixups.at[i - 1].depth >= p->depth)
        i--;
    for (kept = i; i < p->fixups.n; i++) {
        struct fixup *f = &p->fixups.at[i];
        if (f->ident->label_depth == p->depth) {
            *f->where = f->ident->label;
        } else if (p->depth == 1) {
            ptx_error_at(p, f->line, f->column, 3002, "label '%s' is not defined", f->ident->name);
        } else {
            f->depth = p->depth - 1;
            p->fixups.at[kept++] = *f;
        }
    }
    p->fixups.n = kept;
    while (p->undo.n) {
        struct undo *u = &p->undo.at[--p->undo.n];
        if (!u->ident)
            break;
        u->ident->bind = u->old;
    }
    while (p->label_undo.n) {
        struct label_undo *u = &p->label_undo.at[--p->label_undo.n];
        if (!u->ident)
            break;
        u->ident->label = u->label;
        u->ident->label_depth = u->depth;
    }
    p->depth--;
}
