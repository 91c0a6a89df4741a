/* SPDX-License-Identifier: Apache-2.0
 * The commands of --step, named as gdb's are. A wrong one gets one line and changes nothing. The launch is run and recorded when a command first needs it. */
#define _GNU_SOURCE
#include "replay/step_private.h"
#include "replay/step_reader.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { WARP = 32, MAX_POINTS = 1000, MAX_DISPLAYS = 100 };

static void __attribute__((format(printf, 2, 3)))
complain(struct cws_ui *u, const char *fmt, ...)
{
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    u->wrong = true;
    cws_say(u, "%s", text);
}

static const char *
skip(const char *p)
{
    while (isspace((unsigned char)*p))
        p++;
    return p;
}

/* The word at p ends there. */
static size_t
length(const char *p)
{
    return strcspn(p, " \t");
}

static bool
is(const char *p, const char *word)
{
    return length(p) == strlen(word) && !strncmp(p, word, strlen(word));
}

/* A number from p on, to the end of the text. An empty text: `otherwise`. */
static bool
number(struct cws_ui *u, const char *p, uint64_t otherwise, uint64_t *out)
{
    char *end;
    *out = otherwise;
    if (!*p)
        return true;
    unsigned long long n = strtoull(p, &end, 10);
    if (!isdigit((unsigned char)*p) || *skip(end) || n > UINT32_MAX) {
        complain(u, "%.40s is not a number", p);
        return false;
    }
    *out = n;
    return true;
}

/* "17" or "1,2,0", with or without parentheses, in a box of this shape; *end: behind it. */
static bool
coordinate(const char *p, const uint32_t shape[3], uint64_t *out, const char **end)
{
    uint64_t at[3] = { 0 };
    bool open = *p == '(';
    unsigned n = 0;
    p += open;
    for (; n < 3 && isdigit((unsigned char)*p); n++) {
        char *behind;
        at[n] = strtoull(p, &behind, 10);
        p = behind;
        if (*p != ',')
            break;
        p++;
    }
    bool one = n == 0 && !open;
    if (open && *p++ != ')')
        return false;
    *end = p;
    *out = one ? at[0] : at[0] + shape[0] * (at[1] + (uint64_t)shape[1] * at[2]);
    uint64_t total = (uint64_t)shape[0] * shape[1] * shape[2];
    return one ? at[0] < total && isdigit((unsigned char)p[-1]) : at[0] < shape[0] && at[1] < shape[1] && at[2] < shape[2];
}

/* ---- the record -------------------------------------------------------------------------------------------------------------------- */

static void
go_to(struct cws_ui *u, uint32_t thread, uint32_t step)
{
    const struct cws_thread *t = cws_thread(&u->s, thread);
    u->at = (struct cws_cursor){ thread, step, t && step < t->nsteps ? t->steps[step].frame : 0 };
}

static void
say_limits(struct cws_ui *u, bool chosen)
{
    struct cws *s = &u->s;
    if (s->count < cws_block_threads(s) && !chosen)
        cws_say(u, "the record of the whole block is larger than --record-size: only %s %u is recorded; `thread N` chooses another",
                s->count == 1 ? "thread" : "the warp of thread", u->at.thread);
    if (s->start + s->kept < s->made)
        cws_say(u, "the record holds %llu of %llu; `record from %llu` has those that follow, --record-size MIB makes it larger", (unsigned long long)s->kept,
                (unsigned long long)s->made, (unsigned long long)(s->start + s->kept));
    if (s->start)
        cws_say(u, "the record begins at %llu of %llu: what was before is not known", (unsigned long long)s->start, (unsigned long long)s->made);
}

static bool
recorded(struct cws_ui *u, cw_result r, bool chosen, const struct cwd_error *e)
{
    go_to(u, u->at.thread, 0);
    for (uint32_t i = 0; i < u->npoints; i++)       /* frames are those of the old record */
        if (u->points[i].kind == CWS_WATCH_REGISTER)
            u->points[i].disabled = true;
    if (r != CW_OK) {
        complain(u, "%s", e->text);
        return false;
    }
    say_limits(u, chosen);
    return true;
}

/* There is a record of the chosen thread; else it is made. */
static bool
need(struct cws_ui *u)
{
    struct cwd_error e = { "" };
    if (cws_thread(&u->s, u->at.thread) && u->s.block == u->block)
        return true;
    if (u->colour)
        fputs("recording ...\r", stderr);
    return recorded(u, cws_record_around(&u->s, u->block, u->at.thread, &e), false, &e);
}

static void
do_record(struct cws_ui *u, const char *arg)
{
    struct cwd_error e = { "" };
    uint64_t start = 0;
    uint32_t n = cws_block_threads(&u->s), warp = u->at.thread / WARP * WARP;
    if (is(arg, "from")) {
        if (!number(u, skip(arg + length(arg)), 0, &start))
            return;
        if (!u->s.threads || u->s.block != u->block) {
            complain(u, "nothing is recorded yet");
            return;
        }
        recorded(u, cws_record(&u->s, u->block, u->s.first, u->s.count, start, &e), true, &e);
    } else if (is(arg, "thread")) {
        recorded(u, cws_record(&u->s, u->block, u->at.thread, 1, 0, &e), true, &e);
    } else if (is(arg, "warp")) {
        recorded(u, cws_record(&u->s, u->block, warp, n - warp < WARP ? n - warp : WARP, 0, &e), true, &e);
    } else if (is(arg, "block")) {
        recorded(u, cws_record(&u->s, u->block, 0, n, 0, &e), true, &e);
    } else if (*arg) {
        complain(u, "record takes block, warp, thread or from N");
    } else {
        cws_show_launch(u);
    }
}

/* ---- moving ------------------------------------------------------------------------------------------------------------------------ */

static void
moved(struct cws_ui *u, const char *arg, enum cws_goal goal, bool over, bool back)
{
    uint64_t n;
    if (number(u, arg, 1, &n) && need(u))
        cws_move(u, goal, over, back, n, NULL);
}

static void do_continue(struct cws_ui *u, const char *arg) { moved(u, arg, CWS_RUN, false, false); }
static void do_step(struct cws_ui *u, const char *arg) { moved(u, arg, CWS_LINE, false, false); }
static void do_stepi(struct cws_ui *u, const char *arg) { moved(u, arg, CWS_INSTRUCTION, false, false); }
static void do_next(struct cws_ui *u, const char *arg) { moved(u, arg, CWS_LINE, true, false); }
static void do_nexti(struct cws_ui *u, const char *arg) { moved(u, arg, CWS_INSTRUCTION, true, false); }
static void do_finish(struct cws_ui *u, const char *arg) { moved(u, arg, CWS_LEAVE, false, false); }
static void do_reverse_continue(struct cws_ui *u, const char *arg) { moved(u, arg, CWS_RUN, false, true); }
static void do_reverse_step(struct cws_ui *u, const char *arg) { moved(u, arg, CWS_LINE, false, true); }
static void do_reverse_stepi(struct cws_ui *u, const char *arg) { moved(u, arg, CWS_INSTRUCTION, false, true); }
static void do_reverse_next(struct cws_ui *u, const char *arg) { moved(u, arg, CWS_LINE, true, true); }
static void do_reverse_nexti(struct cws_ui *u, const char *arg) { moved(u, arg, CWS_INSTRUCTION, true, true); }
static void do_reverse_finish(struct cws_ui *u, const char *arg) { moved(u, arg, CWS_LEAVE, false, true); }

static void
do_run(struct cws_ui *u, const char *arg)
{
    if (!need(u))
        return;
    go_to(u, u->at.thread, 0);
    do_continue(u, arg);
}

static void
do_start(struct cws_ui *u, const char *arg)
{
    if (!need(u))
        return;
    go_to(u, u->at.thread, 0);
    cws_show_stop(u, "start", NULL);
}

static void
until(struct cws_ui *u, const char *arg, bool back)
{
    bool *place;
    if (!*arg)
        complain(u, "a line is missing: until 42, until FILE:42");
    else if (need(u) && (place = cws_place(u, arg, strlen(arg)))) {
        cws_move(u, CWS_PLACE, false, back, 1, place);
        free(place);
    }
}

static void do_until(struct cws_ui *u, const char *arg) { until(u, arg, false); }
static void do_reverse_until(struct cws_ui *u, const char *arg) { until(u, arg, true); }

/* ---- breakpoints and watchpoints --------------------------------------------------------------------------------------------------- */

static void
point_finish(struct cws_point *p)
{
    free(p->text);
    free(p->condition);
    free(p->at);
}

static bool
add_point(struct cws_ui *u, struct cws_point *p, const char *text, size_t size, const char *cond)
{
    struct cws_point *more = u->npoints < MAX_POINTS ? realloc(u->points, (u->npoints + (size_t)1) * sizeof *more) : NULL;
    u->points = more ? more : u->points;
    p->text = strndup(text, size);
    p->condition = *cond ? strdup(cond) : NULL;
    if (!more || !p->text || (*cond && !p->condition)) {
        point_finish(p);
        complain(u, u->npoints >= MAX_POINTS ? "there are too many breakpoints" : "out of memory");
        return false;
    }
    p->number = ++u->numbers;
    u->points[u->npoints++] = *p;
    return true;
}

/* "if CONDITION" at p, or nothing. It is tried once, so that a wrong name is said now. */
static bool
read_condition(struct cws_ui *u, const char *p, const char **cond)
{
    char why[200];
    struct cws_result r;
    *cond = p = skip(p);
    if (!*p)
        return true;
    if (!is(p, "if") || !*skip(p + 2)) {
        complain(u, "%.40s: if CONDITION is meant", p);
        return false;
    }
    *cond = p = skip(p + 2);
    if (!need(u))
        return false;
    bool ok = cws_evaluate(&u->s, &u->at, &p, &r, why, sizeof why);
    if (ok && *skip(p)) {
        complain(u, "%.40s does not belong behind the condition", p);
        return false;
    }
    /* What is not written here may be where it stops, and functions have registers of their own. */
    if (!ok && !cws_unknown(why) && !strstr(why, "has no register")) {
        complain(u, "%s", why);
        return false;
    }
    return true;
}

static void
do_break(struct cws_ui *u, const char *arg)
{
    struct cws_point p = { .kind = CWS_BREAK, .thread = CWS_NONE };
    size_t n = is(arg, "if") || is(arg, "any") || is(arg, "thread") ? 0 : length(arg);
    const char *rest = skip(arg + n), *cond, *end;
    uint64_t thread;
    if (is(rest, "any")) {
        p.any = true;
        rest = skip(rest + 3);
    } else if (is(rest, "thread")) {
        if (!coordinate(skip(rest + 6), u->s.side.dump.block, &thread, &end)) {
            complain(u, "the block has no thread %.20s", skip(rest + 6));
            return;
        }
        p.thread = (uint32_t)thread;
        rest = skip(end);
    }
    if (!read_condition(u, rest, &cond))
        return;
    char here[40];
    if (!n) {
        if (!need(u))
            return;
        if (!cws_here(u)) {
            complain(u, "the thread has ended; a place is missing: break 42, break FILE:42, break FUNCTION");
            return;
        }
        snprintf(here, sizeof here, "%u", cws_here(u)->in->line);
        arg = here;
        n = strlen(here);
        p.at = calloc(u->s.side.program.ninsts + (size_t)1, sizeof *p.at);
        if (p.at)
            p.at[cws_thread(&u->s, u->at.thread)->steps[u->at.step].id] = true;
    } else {
        p.at = cws_place(u, arg, n);
    }
    if (!p.at || !add_point(u, &p, arg, n, cond))
        return;
    uint32_t places = 0, first = 0;
    for (uint32_t i = u->s.side.program.ninsts; i--;)
        if (p.at[i]) {
            places++;
            first = i;
        }
    char text[700], more[40] = "";
    cwi_place_text(&u->s.side.program, first, "", text, sizeof text);
    if (places > 1)
        snprintf(more, sizeof more, " and %u places more", places - 1);
    cws_say(u, "Breakpoint %u at %s%s", p.number, text, more);
}

static void
do_watch(struct cws_ui *u, const char *arg)
{
    struct cws_point p = { .kind = CWS_WATCH_REGISTER, .thread = u->at.thread };
    const char *cond, *rest = strstr(arg, " if "), *bracket = strchr(arg, '[');
    size_t n = rest ? (size_t)(rest - arg) : strlen(arg);
    char why[200], *inside;
    struct cws_result r;
    if (!need(u) || !read_condition(u, rest ? rest : "", &cond))
        return;
    const struct cws_thread *t = cws_thread(&u->s, u->at.thread);
    p.frame = u->at.frame;
    p.reg = p.frame < t->nframes ? cws_find_register(t->frames[p.frame].fn, arg, n) : CWS_NONE;
    if (p.reg == CWS_NONE) {
        if (!n || !bracket || arg[n - 1] != ']' || bracket > arg + n) {
            complain(u, "a register, TYPE[ADDRESS] or SPACE.TYPE[ADDRESS] is meant: watch %%r3, watch shared.f32[%%r5+4]");
            return;
        }
        const char *dot = memchr(arg, '.', (size_t)(bracket - arg)), *type = dot ? dot + 1 : arg;
        p.kind = CWS_WATCH_MEMORY;
        p.space = dot ? cws_space_named(arg, (size_t)(dot - arg)) : CWI_NOWHERE;
        p.type = cws_type_named(type, (size_t)(bracket - type));
        if (p.type == PTX_NONE || (dot && p.space == CWI_NOWHERE)) {
            complain(u, "%.*s is no type, or none in global, shared or local memory", (int)(bracket - arg < 40 ? bracket - arg : 40), arg);
            return;
        }
        inside = strndup(bracket + 1, (size_t)(arg + n - 1 - bracket - 1));
        const char *at = inside ? inside : "";
        bool ok = cws_evaluate(&u->s, &u->at, &at, &r, why, sizeof why) && !*skip(at) && !r.is_float;
        free(inside);
        if (!ok) {
            complain(u, "%s", *why ? why : "the address is not an integer");
            return;
        }
        if (p.space == CWI_NOWHERE)
            p.space = r.space != CWI_NOWHERE ? r.space : CWI_GLOBAL;
        p.address = cws_place_of(&u->s, p.space, (uint64_t)r.i);
        p.size = ptx_type_bits((ptx_type)p.type) / 8;
    }
    if (add_point(u, &p, arg, n, cond))
        cws_say(u, "Watchpoint %u: %s", p.number, p.text);
}

static struct cws_point *
find_point(struct cws_ui *u, const char *arg)
{
    uint64_t n;
    if (!*arg)
        complain(u, "the number of a breakpoint is missing; `info breakpoints` lists them");
    if (!*arg || !number(u, arg, 0, &n))
        return NULL;
    for (uint32_t i = 0; i < u->npoints; i++)
        if (u->points[i].number == n)
            return &u->points[i];
    complain(u, "there is no breakpoint %llu", (unsigned long long)n);
    return NULL;
}

static void
do_delete(struct cws_ui *u, const char *arg)
{
    struct cws_point *p = *arg ? find_point(u, arg) : NULL;
    for (uint32_t i = 0; i < u->npoints && !*arg; i++)
        point_finish(&u->points[i]);
    if (!*arg)
        u->npoints = 0;
    if (!p)
        return;
    point_finish(p);
    memmove(p, p + 1, (size_t)(u->points + u->npoints - (p + 1)) * sizeof *p);
    u->npoints--;
}

static void
switch_points(struct cws_ui *u, const char *arg, bool disabled)
{
    struct cws_point *p = *arg ? find_point(u, arg) : NULL;
    for (uint32_t i = 0; i < u->npoints; i++)
        if (!*arg || &u->points[i] == p)
            u->points[i].disabled = disabled;
}

static void do_disable(struct cws_ui *u, const char *arg) { switch_points(u, arg, true); }
static void do_enable(struct cws_ui *u, const char *arg) { switch_points(u, arg, false); }

/* ---- looking ------------------------------------------------------------------------------------------------------------------------ */

static void
do_print(struct cws_ui *u, const char *arg)
{
    if (!*arg)
        complain(u, "a register, a variable or an expression is missing: print %%r3");
    else if (need(u))
        cws_print(u, arg, false);
}

static void
do_x(struct cws_ui *u, const char *arg)
{
    if (need(u))
        cws_examine(u, arg);
}

static void
do_display(struct cws_ui *u, const char *arg)
{
    for (uint32_t i = 0; i < u->ndisplays && !*arg; i++)
        if (u->displays[i] && need(u))
            cws_print(u, u->displays[i], true);
    if (!*arg || !need(u))
        return;
    if (!cws_print(u, arg, false) && !(u->out.data && cws_unknown(u->out.data)))     /* it may be known at the next stop */
        return;
    char **more = u->ndisplays < MAX_DISPLAYS ? realloc(u->displays, (u->ndisplays + (size_t)1) * sizeof *more) : NULL;
    u->displays = more ? more : u->displays;
    if (!more || !(more[u->ndisplays] = strdup(arg)))
        complain(u, "it cannot be displayed: %s", u->ndisplays >= MAX_DISPLAYS ? "there are too many" : "out of memory");
    else
        u->ndisplays++;
}

static void
do_undisplay(struct cws_ui *u, const char *arg)
{
    uint64_t n;
    if (!number(u, arg, 0, &n))
        return;
    if (n > u->ndisplays || (n && !u->displays[n - 1])) {
        complain(u, "there is no display %llu", (unsigned long long)n);
        return;
    }
    for (uint32_t i = 0; i < u->ndisplays; i++)
        if (!n || i + 1 == n) {
            free(u->displays[i]);
            u->displays[i] = NULL;
        }
}

static void
do_info(struct cws_ui *u, const char *arg)
{
    static const char *const topics[] = { "registers", "all-registers", "threads", "breakpoints", "watchpoints", "locals", "launch", "display" };
    const char *topic = NULL;
    size_t n = length(arg);
    for (unsigned i = 0; i < sizeof topics / sizeof *topics && n && !topic; i++)
        if (!strncmp(topics[i], arg, n))
            topic = topics[i];
    arg = skip(arg + n);
    bool listed = topic && (*topic == 'b' || *topic == 'w');
    if (!topic)
        complain(u, "info takes registers, all-registers, threads [all], breakpoints, locals, launch or display");
    else if (!strcmp(topic, "launch"))
        cws_show_launch(u);
    else if (!strcmp(topic, "display"))
        for (uint32_t i = 0; i < u->ndisplays; i++)
            cws_say(u, u->displays[i] ? "%u\t%s" : "%u\t(none)", i + 1, u->displays[i]);
    else if (listed && !u->npoints)
        cws_say(u, "there are no breakpoints and no watchpoints");
    else if (listed)
        for (uint32_t i = 0; i < u->npoints; i++)
            cws_show_point(u, &u->points[i]);
    else if (!need(u))
        return;
    else if (!strcmp(topic, "threads"))
        cws_show_threads(u, is(arg, "all"));
    else if (!strcmp(topic, "locals"))
        cws_show_locals(u);
    else
        cws_show_registers(u, *topic == 'a');
}

static void
do_backtrace(struct cws_ui *u, const char *arg)
{
    (void)arg;
    if (need(u))
        cws_show_backtrace(u);
}

/* The frame `n` calls above the innermost. */
static void
choose_frame(struct cws_ui *u, int64_t n)
{
    const struct cws_thread *t = cws_thread(&u->s, u->at.thread);
    if (!cws_here(u)) {
        complain(u, "the thread has ended: no function is being executed");
        return;
    }
    uint32_t f = t->steps[u->at.step].frame;
    for (; n > 0 && f != CWS_NONE; n--)
        f = t->frames[f].parent;
    if (n || f == CWS_NONE) {
        complain(u, "there is no such frame");
        return;
    }
    u->at.frame = f;
    cws_show_backtrace(u);
}

static int64_t
frame_number(const struct cws_ui *u)
{
    const struct cws_thread *t = cws_thread(&u->s, u->at.thread);
    int64_t n = 0;
    if (!cws_here(u))
        return 0;
    for (uint32_t f = t->steps[u->at.step].frame; f != CWS_NONE && f != u->at.frame; f = t->frames[f].parent)
        n++;
    return n;
}

static void
do_frame(struct cws_ui *u, const char *arg)
{
    uint64_t n;
    if (need(u) && number(u, arg, (uint64_t)frame_number(u), &n))
        choose_frame(u, (int64_t)n);
}

static void
do_up(struct cws_ui *u, const char *arg)
{
    uint64_t n;
    if (need(u) && number(u, arg, 1, &n))
        choose_frame(u, frame_number(u) + (int64_t)n);
}

static void
do_down(struct cws_ui *u, const char *arg)
{
    uint64_t n;
    if (need(u) && number(u, arg, 1, &n))
        choose_frame(u, frame_number(u) - (int64_t)n);
}

static void
do_thread(struct cws_ui *u, const char *arg)
{
    uint64_t n;
    const char *end;
    if (!*arg) {
        if (need(u))
            cws_show_stop(u, "thread", NULL);
        return;
    }
    if (!coordinate(arg, u->s.side.dump.block, &n, &end) || *skip(end)) {
        complain(u, "the block has no thread %.40s: it is (%u,%u,%u)", arg, u->s.side.dump.block[0], u->s.side.dump.block[1], u->s.side.dump.block[2]);
        return;
    }
    bool there = u->s.block == u->block && cws_thread(&u->s, u->at.thread);
    uint32_t time = there ? cws_time(&u->s, u->at.thread, u->at.step) : 0;
    u->at = (struct cws_cursor){ .thread = (uint32_t)n };
    if (!there)                         /* nothing is shown before there is a record */
        return;
    if (cws_thread(&u->s, u->at.thread))
        go_to(u, u->at.thread, cws_step_at(&u->s, u->at.thread, time));
    else if (!need(u))
        return;
    cws_show_stop(u, "thread", NULL);
}

static void
do_block(struct cws_ui *u, const char *arg)
{
    uint64_t n;
    const char *end;
    char who[128];
    const uint32_t *g = u->s.side.dump.grid;
    if (*arg && (!coordinate(arg, g, &n, &end) || *skip(end))) {
        complain(u, "the grid has no block %.40s: it is (%u,%u,%u)", arg, g[0], g[1], g[2]);
        return;
    }
    if (*arg && n != u->block) {
        u->block = n;
        u->at = (struct cws_cursor){ .thread = u->at.thread };
    }
    cws_who(u, u->at.thread, who, sizeof who);
    cws_say(u, "%s", who);
}

static void
do_list(struct cws_ui *u, const char *arg)
{
    const struct cwi_inst *here = cws_here(u);
    uint32_t text = here ? here->text : u->listed_text, line = here ? here->in->line : 1;
    const char *colon = strrchr(arg, ':');
    uint64_t n;
    if (!*arg && u->listed) {
        cws_show_list(u, u->listed_text, u->listed);
        return;
    }
    if (colon) {
        char file[400];
        snprintf(file, sizeof file, "%.*s", (int)(colon - arg < 399 ? colon - arg : 399), arg);
        if (number(u, colon + 1, 1, &n) && !cws_show_source_list(u, file, (uint32_t)n))
            complain(u, "%s cannot be read, or is shorter; --source FOLDER says where the source files are", file);
        return;
    }
    if (!*arg && !here) {
        if (!need(u))
            return;
        here = cws_here(u);
        text = here ? here->text : 0;
        line = here ? here->in->line : 1;
    } else if (*arg && isdigit((unsigned char)*arg)) {
        if (!number(u, arg, 1, &n))
            return;
        line = (uint32_t)n;
    } else if (*arg) {
        bool *at = cws_place(u, arg, strlen(arg));
        for (uint32_t i = 0; at && i < u->s.side.program.ninsts; i++)
            if (at[i]) {
                text = u->s.side.program.insts[i].text;
                line = u->s.side.program.insts[i].in->line;
            }
        if (!at)
            return;
        free(at);
    }
    cws_show_list(u, text, line > 5 ? line - 5 : 1);
}

static void
do_quit(struct cws_ui *u, const char *arg)
{
    (void)arg;
    u->quit = true;
}

/* ---- the table ---------------------------------------------------------------------------------------------------------------------- */

static void do_help(struct cws_ui *u, const char *arg);

static const struct command {
    const char *name, *other;           /* a short name that no prefix gives */
    void (*run)(struct cws_ui *u, const char *arg);
    const char *operands, *help;
} commands[] = {
    { "break", "b", do_break, "[PLACE] [any | thread N] [if CONDITION]", "stop the chosen thread (any: every thread) at a PTX line, FILE:LINE or function" },
    { "watch", NULL, do_watch, "REGISTER | [SPACE.]TYPE[ADDRESS] [if CONDITION]", "stop where a register of this frame, or memory, changes" },
    { "delete", "d", do_delete, "[N]", "forget a breakpoint or watchpoint, or all" },
    { "disable", NULL, do_disable, "[N]", "do not stop there for now" },
    { "enable", NULL, do_enable, "[N]", "stop there again" },
    { "run", "r", do_run, "", "from the beginning to the first breakpoint" },
    { "start", NULL, do_start, "", "go to the thread's first instruction" },
    { "continue", "c", do_continue, "", "go on to the next breakpoint or the thread's end" },
    { "step", "s", do_step, "[N]", "to another source line, into functions; one instruction where the PTX has no .loc" },
    { "next", "n", do_next, "[N]", "the same over calls" },
    { "stepi", "si", do_stepi, "[N]", "one PTX instruction" },
    { "nexti", "ni", do_nexti, "[N]", "one PTX instruction, over calls" },
    { "finish", "fin", do_finish, "", "to the caller" },
    { "until", "u", do_until, "PLACE", "to a place, or a breakpoint before it" },
    { "advance", NULL, do_until, "PLACE", "the same" },
    { "reverse-continue", "rc", do_reverse_continue, "", "back to the breakpoint before" },
    { "reverse-step", "rs", do_reverse_step, "[N]", "back to the line before" },
    { "reverse-next", "rn", do_reverse_next, "[N]", "the same over calls" },
    { "reverse-stepi", "rsi", do_reverse_stepi, "[N]", "back one instruction" },
    { "reverse-nexti", "rni", do_reverse_nexti, "[N]", "the same over calls" },
    { "reverse-finish", NULL, do_reverse_finish, "", "back to the call" },
    { "reverse-until", NULL, do_reverse_until, "PLACE", "back to a place" },
    { "print", "p", do_print, "[/FORMAT] EXPRESSION", "a register, special register, parameter, variable; TYPE[ADDRESS] is memory" },
    { "x", NULL, do_x, "[/FORMAT] [SPACE] ADDRESS", "memory: x/4f32 %rd1, x/8xw shared %r5, x/4f32 buf" },
    { "display", NULL, do_display, "[/FORMAT] EXPRESSION", "print it at each stop" },
    { "undisplay", NULL, do_undisplay, "[N]", "no more" },
    { "info", "i", do_info, "registers | threads [all] | locals | breakpoints | launch", "what there is; threads: where each lane of the warp is" },
    { "backtrace", "bt", do_backtrace, "", "the calls of device functions" },
    { "where", NULL, do_backtrace, "", "the same" },
    { "frame", "f", do_frame, "[N]", "choose a caller, whose registers are printed then" },
    { "up", NULL, do_up, "[N]", "to the caller" },
    { "down", NULL, do_down, "[N]", "back from it" },
    { "list", "l", do_list, "[LINE | FUNCTION | FILE:LINE]", "the PTX, or a source file" },
    { "thread", "t", do_thread, "[N | X,Y,Z]", "choose a thread, at the same time" },
    { "block", NULL, do_block, "[N | X,Y,Z]", "choose a block, from its beginning" },
    { "record", NULL, do_record, "[block | warp | thread | from N]", "run again and record this much" },
    { "help", "h", do_help, "", "this" },
    { "quit", "q", do_quit, "", "" },
};
enum { NCOMMANDS = sizeof commands / sizeof *commands };

static void
do_help(struct cws_ui *u, const char *arg)
{
    (void)arg;
    for (unsigned i = 0; i < NCOMMANDS; i++) {
        const struct command *c = &commands[i];
        cws_say(u, "%s%s%s %s%s%s", c->name, c->other ? ", " : "", c->other ? c->other : "", c->operands, *c->help ? "\n        " : "", c->help);
    }
    cws_say(u, "FORMAT: a count, a letter (x d u o t f c), a size (b h w g) or a type (f32); SPACE: global shared local.");
}

const char *
cws_command_name(unsigned n)
{
    return n < NCOMMANDS ? commands[n].name : NULL;
}

static const struct command *
find(const char *name, size_t size)
{
    for (unsigned i = 0; i < NCOMMANDS; i++)
        if ((commands[i].other && strlen(commands[i].other) == size && !memcmp(commands[i].other, name, size)) ||
            (strlen(commands[i].name) == size && !memcmp(commands[i].name, name, size)))
            return &commands[i];
    for (unsigned i = 0; i < NCOMMANDS && size; i++)
        if (!strncmp(commands[i].name, name, size))
            return &commands[i];
    return NULL;
}

void
cws_command(struct cws_ui *u, const char *line)
{
    char copy[CWS_LONGEST + 1];
    const char *p = skip(line);
    size_t n = strlen(p);
    while (n && isspace((unsigned char)p[n - 1]))
        n--;
    if (!n || *p == '#')
        return;
    if (n > CWS_LONGEST) {
        complain(u, "the line is longer than %d characters", CWS_LONGEST);
        return;
    }
    for (size_t i = 0; i < n; i++)
        copy[i] = p[i] == '\t' ? ' ' : p[i];
    copy[n] = 0;
    size_t word = strcspn(copy, " /");
    const struct command *c = find(copy, word);
    if (!c)
        complain(u, "%.*s is no command; `help` lists them", (int)(word < 40 ? word : 40), copy);
    else
        c->run(u, skip(copy + word));
}

void
cws_ui_finish(struct cws_ui *u)
{
    do_delete(u, "");
    free(u->points);
    for (uint32_t i = 0; i < u->ndisplays; i++)
        free(u->displays[i]);
    free(u->displays);
    cw_buf_finish(&u->out);
    cws_close(&u->s);
}
