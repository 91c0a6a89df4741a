/* SPDX-License-Identifier: Apache-2.0
 * Moving the position of --step in the record. Every move is one search through the steps of all threads in their order: forwards for the first place
 * that stops it, backwards for the last one before the position. */
#define _GNU_SOURCE
#include "replay/step_private.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- places ---------------------------------------------------------------------------------------------------------------------- */

static bool
same_file(const char *file, const char *name, size_t size)
{
    size_t n = strlen(file);
    return n >= size && !memcmp(file + n - size, name, size) && (n == size || file[n - size - 1] == '/');
}

static const char *
source_of(const struct cwi_program *p, const struct cwi_inst *i)
{
    const struct ptx_module *m = p->modules[i->text];
    return i->in->loc_line && i->in->loc_file < m->nfiles ? m->files[i->in->loc_file] : NULL;
}

/* The first instruction of the first line from `line` on that has one. */
static bool
mark_line(const struct cwi_program *p, uint32_t text, uint32_t line, bool *at)
{
    uint32_t best = CWS_NONE;
    for (uint32_t i = 0; i < p->ninsts; i++)
        if (p->insts[i].text == text && p->insts[i].in->line >= line && (best == CWS_NONE || p->insts[i].in->line < p->insts[best].in->line))
            best = i;
    if (best != CWS_NONE)
        at[best] = true;
    return best != CWS_NONE;
}

/* The same in a source file: wherever the text comes to such a line. */
static bool
mark_source(const struct cwi_program *p, const char *file, size_t size, uint32_t line, bool *at, bool *known)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < p->ninsts; i++) {
        const char *name = source_of(p, &p->insts[i]);
        if (!name || !same_file(name, file, size))
            continue;
        *known = true;
        if (p->insts[i].in->loc_line >= line && p->insts[i].in->loc_line < best)
            best = p->insts[i].in->loc_line;
    }
    for (uint32_t i = 0; i < p->ninsts && best != UINT32_MAX; i++) {
        const struct cwi_inst *x = &p->insts[i], *before = i && x[-1].fn == x->fn ? x - 1 : NULL;
        const char *name = source_of(p, x);
        at[i] = name && x->in->loc_line == best && same_file(name, file, size) &&
                (!before || before->in->loc_line != best || before->in->loc_file != x->in->loc_file);
    }
    return best != UINT32_MAX;
}

static bool
complain(struct cws_ui *u, const char *why, const char *what, size_t size)
{
    u->wrong = true;
    cws_say(u, "%.*s: %s", (int)(size < 200 ? size : 200), what, why);
    return false;
}

static bool
mark(struct cws_ui *u, const char *text, size_t size, bool *at)
{
    const struct cwi_program *p = &u->s.side.program;
    const char *colon = memrchr(text, ':', size), *digits = colon ? colon + 1 : text;
    uint32_t line = 0, own = 0;
    bool number = digits < text + size, known = false;
    for (const char *c = digits; c < text + size; c++) {
        number = number && isdigit((unsigned char)*c) && line < 100000000;
        line = number ? line * 10 + (uint32_t)(*c - '0') : 0;
    }
    for (uint32_t i = 0; i < p->ninsts; i++)        /* the text of the kernel, where the thread is nowhere */
        if (!strcmp(p->insts[i].fn->sym->name, u->s.side.dump.kernel))
            own = p->insts[i].text;
    const struct cwi_inst *here = cws_here(u);
    if (number && !colon)
        return mark_line(p, here ? here->text : own, line, at) || complain(u, "the PTX has no instruction from that line on", text, size);
    size_t n = number ? (size_t)(colon - text) : size;
    for (uint32_t t = 0; t < p->ntexts && number; t++)
        if (strlen(p->texts[t].name) == n && !memcmp(p->texts[t].name, text, n))
            return mark_line(p, t, line, at) || complain(u, "the PTX has no instruction from that line on", text, size);
    if (number)
        return mark_source(p, text, n, line, at, &known) ||
               complain(u, known ? "the file has no instruction from that line on" : "the PTX has no such file in its .file directives", text, size);
    for (uint32_t i = 0; i < p->ninsts; i++)
        if (strlen(p->insts[i].fn->sym->name) == n && !memcmp(p->insts[i].fn->sym->name, text, n))
            return at[i] = true;
    return complain(u, "no line of the PTX, no FILE:LINE and no function of it", text, size);
}

bool *
cws_place(struct cws_ui *u, const char *text, size_t size)
{
    bool *at = calloc(u->s.side.program.ninsts + (size_t)1, sizeof *at);
    if (!at)
        complain(u, "out of memory", text, size);
    else if (!mark(u, text, size, at)) {
        free(at);
        at = NULL;
    }
    return at;
}

/* ---- searching -------------------------------------------------------------------------------------------------------------------- */

struct hit {
    bool found;
    struct cws_ref to;
    struct cws_point *point;            /* NULL: the goal */
    uint8_t old[16], now[16];           /* of watched memory */
    bool old_known[16], now_known[16];
    uint32_t by;                        /* the thread that changed it */
    uint32_t time;                      /* of that step */
    bool others;                        /* other lanes changed it with the same instruction */
    bool seen;                          /* it only read it: something else changed it */
};

struct search {
    struct cws_ui *u;
    enum cws_goal goal;
    bool over, back;
    const bool *place;
    struct cws_ref from;
    uint32_t origin;                    /* its index of all steps */
    uint32_t depth;                     /* there */
    const struct ptx_inst *start;       /* NULL: at the end */
    const struct ptx_inst *last;        /* LINE, back: the step of the thread before */
    uint32_t last_depth;
    struct hit hit;
};

static const struct cws_step *
step_of(const struct cws *s, struct cws_ref r)
{
    const struct cws_thread *t = cws_thread(s, r.thread);
    return t && r.step < t->nsteps ? &t->steps[r.step] : NULL;
}

/* Where in `all` a step is; of one behind the last, behind that. */
static uint32_t
index_of(const struct cws *s, struct cws_ref r)
{
    const struct cws_thread *t = cws_thread(s, r.thread);
    if (!t || !t->nsteps)
        return 0;
    bool ended = r.step >= t->nsteps;
    uint32_t step = ended ? t->nsteps - 1 : r.step, i = t->steps[step].time;
    while (i < s->nall && (s->all[i].thread != r.thread || s->all[i].step != step))
        i++;
    return i + ended;
}

static bool
same_line(const struct ptx_inst *a, const struct ptx_inst *b)
{
    return a && b && a->loc_line == b->loc_line && a->loc_file == b->loc_file;
}

/* Does the chosen thread come to where it is to go? */
static bool
arrives(struct search *f, const struct cws_step *x)
{
    const struct cws_ui *u = f->u;
    const struct cwi_inst *i = &u->s.side.program.insts[x->id];
    uint32_t depth = cws_thread(&u->s, f->from.thread)->frames[x->frame].depth;
    bool inside = f->over && depth > f->depth, line;
    switch (f->goal) {
    case CWS_INSTRUCTION:
        return !inside;
    case CWS_LINE:
        if (!(f->start ? f->start : i->in)->loc_line)       /* at the end of the thread nothing starts */
            return !inside;
        if (f->back) {
            line = !same_line(i->in, f->last) || (!f->over && depth != f->last_depth);
            if (!inside) {
                f->last = i->in;
                f->last_depth = depth;
            }
        } else {
            line = !same_line(i->in, f->start) || depth != f->depth;
        }
        return line && !inside && i->in->loc_line;
    case CWS_LEAVE:
        return depth < f->depth;
    case CWS_PLACE:
        return f->place[x->id];
    default:
        return false;
    }
}

static void
take(struct search *f, struct cws_ref to, struct cws_point *p)
{
    if (!f->back && f->hit.found)
        return;
    f->hit = (struct hit){ .found = true, .to = to, .point = p };
}

static bool
condition(struct search *f, const struct cws_point *p, struct cws_ref r)
{
    const struct cws_step *x = step_of(&f->u->s, r);
    const struct cws_cursor at = { r.thread, r.step, x ? x->frame : 0 };
    return !p->condition || (x && cws_holds(&f->u->s, &at, p->condition));
}

/* Did the step before this one change a watched register? */
static bool
changed(struct search *f, const struct cws_point *p, struct cws_ref r)
{
    struct cws *s = &f->u->s;
    struct cws_bits old, now;
    const struct cws_thread *t = cws_thread(s, r.thread);
    if (r.thread != p->thread || !r.step || p->frame >= t->nframes || !cws_writes(s, r.thread, p->frame, r.step - 1, p->reg))
        return false;
    bool was = cws_register(s, r.thread, p->frame, r.step - 1, p->reg, &old), is = cws_register(s, r.thread, p->frame, r.step, p->reg, &now);
    return was != is || old.low != now.low || old.high != now.high;
}

static void
visit(struct search *f, struct cws_ref r, const struct cws_step *x)
{
    struct cws_ui *u = f->u;
    bool own = r.thread == f->from.thread;
    for (uint32_t k = 0; k < u->npoints; k++) {
        struct cws_point *p = &u->points[k];
        if (p->disabled)
            continue;
        if (p->kind == CWS_BREAK && (p->any || (p->thread == CWS_NONE ? own : r.thread == p->thread)) && p->at[x->id] && condition(f, p, r))
            take(f, r, p);
        else if (p->kind == CWS_WATCH_REGISTER && changed(f, p, r) && condition(f, p, r))
            take(f, r, p);
    }
    if (own && arrives(f, x))
        take(f, r, NULL);
}

/* What the step does to watched memory. The place is behind it, which backwards has to be before the position. */
static void
effect(struct search *f, struct cws_ref r, const struct cws_step *x)
{
    struct cws_ui *u = f->u;
    struct cws_ref behind = { r.thread, r.step + 1 };
    bool writes;
    if (!x->executed || x->space == CWI_NOWHERE)
        return;
    for (uint32_t k = 0; k < u->npoints; k++) {
        struct cws_point *p = &u->points[k];
        if (p->kind != CWS_WATCH_MEMORY || p->disabled || x->space != p->space)
            continue;
        memcpy(p->old, p->now, sizeof p->old);
        memcpy(p->old_known, p->now_known, sizeof p->old_known);
        if (!cws_access(&u->s, r, p->space, p->thread, p->address, p->size, p->now, p->now_known, &writes))
            continue;
        if (f->hit.found && f->hit.point == p && f->hit.time == x->time) {
            memcpy(f->hit.now, p->now, sizeof p->now);
            memcpy(f->hit.now_known, p->now_known, sizeof p->now_known);
            f->hit.others = true;
            continue;
        }
        if ((!memcmp(p->old, p->now, p->size) && !memcmp(p->old_known, p->now_known, p->size * sizeof *p->old_known)) || (f->back && index_of(&u->s, behind) >= f->origin) ||
            (!f->back && f->hit.found) || !condition(f, p, behind))
            continue;
        take(f, behind, p);
        memcpy(f->hit.old, p->old, sizeof p->old);
        memcpy(f->hit.now, p->now, sizeof p->now);
        memcpy(f->hit.old_known, p->old_known, sizeof p->old_known);
        memcpy(f->hit.now_known, p->now_known, sizeof p->now_known);
        f->hit.by = r.thread;
        f->hit.time = x->time;
        f->hit.seen = !writes;
    }
}

/* More than the chosen thread's steps have to be looked at. */
static bool
others_matter(const struct cws_ui *u)
{
    for (uint32_t k = 0; k < u->npoints; k++)
        if (!u->points[k].disabled && (u->points[k].any || u->points[k].kind != CWS_BREAK || u->points[k].thread != CWS_NONE))
            return true;
    return false;
}

static void
search(struct search *f)
{
    struct cws_ui *u = f->u;
    struct cws *s = &u->s;
    uint32_t begin = f->back ? 0 : cws_time(s, f->from.thread, f->from.step), end = f->back ? f->origin : s->nall;
    bool others = others_matter(u);
    for (uint32_t k = 0; k < u->npoints; k++)
        if (u->points[k].kind == CWS_WATCH_MEMORY)
            cws_memory(s, u->points[k].space, u->points[k].thread, u->points[k].address, u->points[k].size, begin, u->points[k].now, u->points[k].now_known);
    for (uint32_t i = begin; i < end; i++) {
        struct cws_ref r = s->all[i];
        const struct cws_step *x = step_of(s, r);
        bool found = f->hit.found && !f->back;
        if (found && (!f->hit.point || f->hit.point->kind != CWS_WATCH_MEMORY || x->time != f->hit.time))
            break;                      /* other lanes belong to the same change */
        if (!others && r.thread != f->from.thread)
            continue;
        if (!found && (f->back ? i < f->origin : i > f->origin))
            visit(f, r, x);
        if (others)
            effect(f, r, x);
    }
}

/* ---- moving ----------------------------------------------------------------------------------------------------------------------- */

static void
say_change(struct cws_ui *u, const struct hit *h)
{
    const struct cws_point *p = h->point;
    struct cw_buf b;
    char who[128];
    cw_buf_init(&b);
    cw_buf_printf(&b, "%s: ", p->text);
    if (p->kind == CWS_WATCH_MEMORY) {
        cws_show_bytes(u, h->old, h->old_known, p->type, 0, &b);
        cw_buf_puts(&b, " -> ");
        cws_show_bytes(u, h->now, h->now_known, p->type, 0, &b);
        cws_who(u, h->by, who, sizeof who);
        bool unknown = memchr(h->old_known, 0, p->size);
        cw_buf_printf(&b, !h->seen ? ", by %s%s" : unknown ? ", read by %s%s; nothing in the record wrote it before" : ", read by %s%s; what changed it left no record", who,
                      h->others ? " and other lanes" : "");
    } else {
        struct cws_cursor at = { p->thread, h->to.step - 1, p->frame };
        struct cws_bits bits;
        unsigned type;
        for (unsigned i = 0; i < 2; i++, at.step++) {
            cw_buf_puts(&b, i ? " -> " : "");
            if (cws_named_register(&u->s, &at, p->reg, &bits, &type))
                cws_print_bits(&u->s, bits.low, bits.high, type, 0, &b);
            else
                cw_buf_puts(&b, "not written");
        }
    }
    cws_say(u, "%s", b.data ? b.data : "");
    cw_buf_finish(&b);
}

void
cws_move(struct cws_ui *u, enum cws_goal goal, bool over, bool back, uint64_t times, const bool *place)
{
    const struct cws_thread *t = cws_thread(&u->s, u->at.thread);
    struct hit hit = { .found = true };
    if (!t) {
        cws_show_stop(u, "end", NULL);
        return;
    }
    for (; times && hit.found && !hit.point; times--) {
        const struct cwi_inst *here = cws_here(u);
        struct search f = { .u = u, .goal = goal, .over = over, .back = back, .place = place, .from = { u->at.thread, u->at.step }, .start = here ? here->in : NULL };
        f.origin = index_of(&u->s, f.from);
        f.depth = cws_depth(u, u->at.thread, u->at.step);
        f.last_depth = UINT32_MAX;
        search(&f);
        hit = f.hit;
        if (hit.found)
            u->at = (struct cws_cursor){ .thread = hit.to.thread, .step = hit.to.step };
        else
            u->at.step = back ? 0 : cws_thread(&u->s, u->at.thread)->nsteps;
        const struct cws_step *x = step_of(&u->s, (struct cws_ref){ u->at.thread, u->at.step });
        u->at.frame = x ? x->frame : 0;
    }
    if (hit.point) {
        hit.point->hits++;
        if (hit.point->kind != CWS_BREAK)
            say_change(u, &hit);
    } else if (!hit.found && back) {
        cws_say(u, "the record begins here");
    }
    cws_show_stop(u, hit.point ? hit.point->kind == CWS_BREAK ? "breakpoint" : "watchpoint" : hit.found ? "step" : "end", hit.point);
}
