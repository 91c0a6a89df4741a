/* SPDX-License-Identifier: Apache-2.0
 * Joins the entry and the exit of each call. Calls nest (the Runtime calls the driver, a callback calls back), so each thread has a stack; an exit pops down
 * to its own entry; the entries above never returned (or their exits were dropped). */
#include "tracer/cli/reader.h"
#include "tracer/cli/cli.h"
#include "tracer/cli/index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 1024u
enum { MAX_DEPTH = 1000 };      /* of calls in each other: beyond, these did not return, and their exits were lost */

struct pending {
    struct cw_arena  arena;
    struct pending  *below;
    char            *function;
    const char      *procname;
    int64_t          start;
    struct tr_field *args;
    bool            *written;
    unsigned         count;
    struct tr_kernel kernel;
    char            *launched;      /* malloc'd */
    unsigned         operations, depth;
};

struct thread {
    uint32_t        pid, tid;
    struct pending *top;
};

/* An operation that was submitted and whose times are still to come. */
struct waiting {
    struct waiting *next;
    uint64_t        number;
    struct tr_op    op;
    char            name[];
};

struct tr_join {
    struct tr_calls *calls;
    struct tr_index  thread_index;
    struct thread   *threads;       /* by thread_index */
    uint32_t         room;          /* for so many */
    struct pending  *spare;
    struct waiting  *ops[BUCKETS];
    bool             nomem;
};

static struct thread *
thread_of(struct tr_join *j, uint32_t pid, uint32_t tid)
{
    const uint32_t key[2] = { pid, tid };
    uint32_t known = j->thread_index.count, i = tr_index_of(&j->thread_index, key, sizeof key);
    if (i < known)
        return i < j->room ? &j->threads[i] : NULL;
    if (i < TR_NO_INDEX && i >= j->room) {
        uint32_t room = j->room ? 2 * j->room : 64;
        struct thread *more = realloc(j->threads, room * sizeof *more);
        if (more) {
            j->threads = more;
            j->room = room;
        }
    }
    if (i >= j->room)
        return NULL;
    j->threads[i] = (struct thread){ .pid = pid, .tid = tid };
    return &j->threads[i];
}

/* Those that there was memory for. */
static uint32_t
thread_count(const struct tr_join *j)
{
    return j->thread_index.count < j->room ? j->thread_index.count : j->room;
}

static struct tr_field
copy_field(struct cw_arena *arena, const struct tr_field *f)
{
    struct tr_field c = *f;
    c.name = cw_arena_strndup(arena, f->name, strlen(f->name));
    if (f->text)
        c.text = cw_arena_strndup(arena, f->text, strlen(f->text));
    if (f->kind == TR_ARRAY) {
        c.items = cw_arena_array(arena, uint64_t, f->count ? f->count : 1);
        if (c.items)
            memcpy(c.items, f->items, sizeof *c.items * f->count);
        else
            c.count = 0;
    }
    return c;
}

static void
set_launched(struct tr_join *j, struct pending *p, const char *kernel)
{
    char *name = strdup(kernel);
    if (!name) {
        j->nomem = true;
        return;
    }
    free(p->launched);
    p->launched = name;
}

/* What a call launched, the one that it was made in has launched, too. */
static void
tell_outer(struct tr_join *j, const struct pending *p)
{
    const char *kernel = p->kernel.present ? p->kernel.name : p->launched;
    if (kernel && p->below)
        set_launched(j, p->below, kernel);
}

static void
finish_pending(struct pending *p)
{
    cw_arena_finish(&p->arena);
    free(p->launched);
    p->launched = NULL;
}

static void
pop(struct tr_join *j, struct thread *t)
{
    struct pending *p = t->top;
    t->top = p->below;
    tell_outer(j, p);
    finish_pending(p);
    p->below = j->spare;
    j->spare = p;
}

static void deliver(struct tr_join *j, const struct thread *t, struct pending *p, int64_t end, const struct tr_field *result);

/* The calls above `last` never returned. */
static void
abandon(struct tr_join *j, struct thread *t, const struct pending *last, int64_t now)
{
    while (t->top != last) {
        deliver(j, t, t->top, now, NULL);
        pop(j, t);
    }
}

static struct pending *
push(struct tr_join *j, struct thread *t, const struct tr_event *e, size_t name_length)
{
    if (t->top && t->top->depth + 1 >= MAX_DEPTH)
        abandon(j, t, NULL, e->time);
    struct pending *p = j->spare;
    if (p)
        j->spare = p->below;
    else if (!(p = malloc(sizeof *p)))
        return NULL;
    memset(p, 0, sizeof *p);
    cw_arena_init(&p->arena);
    p->function = cw_arena_strndup(&p->arena, e->name, name_length);
    p->procname = cw_arena_strndup(&p->arena, e->procname, strlen(e->procname));
    p->start = e->time;
    p->args = cw_arena_array(&p->arena, struct tr_field, e->count + 1);
    p->written = cw_arena_array(&p->arena, bool, e->count + 1);
    if (!p->function || !p->procname || !p->args || !p->written) {
        cw_arena_finish(&p->arena);
        free(p);
        return NULL;
    }
    for (unsigned i = 0; i < e->count; i++)
        p->args[i] = copy_field(&p->arena, &e->fields[i]);
    p->count = e->count;
    p->below = t->top;
    p->depth = t->top ? t->top->depth + 1 : 0;
    t->top = p;
    return p;
}

/* A result that is no failure of the call: a query's "not yet", and the earlier error that a call asked for. */
static bool
is_answer(const char *function, const char *result)
{
    return !strcmp(result, "CUDA_ERROR_NOT_READY") || !strcmp(result, "cudaErrorNotReady") || !strcmp(function, "cudaGetLastError") ||
           !strcmp(function, "cudaPeekAtLastError");
}

static void
deliver(struct tr_join *j, const struct thread *t, struct pending *p, int64_t end, const struct tr_field *result)
{
    struct tr_call c = {
        .function = p->function, .start = p->start, .end = end, .pid = t->pid, .tid = t->tid, .procname = p->procname,
        .args = p->args, .written = p->written, .count = p->count, .result = result, .kernel = p->kernel,
        .operations = p->operations, .depth = p->depth, .within = p->below ? p->below->function : NULL, .launched = p->launched,
    };
    c.failed = result && result->u != 0 && !is_answer(c.function, result->text ? result->text : "");
    j->calls->call(j->calls->ctx, &c);
}

static void
finish_call(struct tr_join *j, struct thread *t, const struct tr_event *e, size_t name_length)
{
    struct pending *match = t->top;
    while (match && (strncmp(match->function, e->name, name_length) || match->function[name_length]))
        match = match->below;
    if (!match) {
        struct tr_event entry = *e;
        entry.count = 0;
        match = push(j, t, &entry, name_length);
        if (!match) {
            j->nomem = true;
            return;
        }
    }
    abandon(j, t, match, e->time);
    const struct tr_field *result = tr_find(e->fields, e->count, "result");
    if (result && result->u == 0) {
        for (unsigned i = 0; i < e->count; i++) {
            if (&e->fields[i] == result)
                continue;
            for (unsigned k = 0; k < match->count; k++) {
                if (strcmp(match->args[k].name, e->fields[i].name))
                    continue;
                /* A null out pointer: nothing was written. */
                if (match->args[k].kind == TR_UINT && !match->args[k].u)
                    break;
                match->args[k] = copy_field(&match->arena, &e->fields[i]);
                match->written[k] = true;
                break;
            }
        }
    }
    deliver(j, t, match, e->time, result);
    pop(j, t);
}

static void
number_of(const struct tr_event *e, const char *name, uint64_t *out)
{
    const struct tr_field *f = tr_find(e->fields, e->count, name);
    if (f && (f->kind == TR_UINT || f->kind == TR_INT))
        *out = f->u;
}

/* The kernel event stands between the entry and the exit of its launch. */
static void
take_kernel(struct pending *p, const struct tr_event *e)
{
    struct tr_kernel *k = &p->kernel;
    const struct tr_field *name = tr_find(e->fields, e->count, "name");
    k->present = true;
    k->name = cw_arena_strndup(&p->arena, name && name->text ? name->text : "?",
                               strlen(name && name->text ? name->text : "?"));
    static const char *const axes[3] = { "x", "y", "z" };
    for (unsigned i = 0; i < 3; i++) {
        char field[16] = "grid_";
        strcat(field, axes[i]);
        number_of(e, field, &k->grid[i]);
        memcpy(field, "block", 5);
        field[5] = '_';
        field[6] = axes[i][0];
        field[7] = 0;
        number_of(e, field, &k->block[i]);
    }
    number_of(e, "shared", &k->shared);
    number_of(e, "stream", &k->stream);
    const struct tr_field *params = tr_find(e->fields, e->count, "params");
    struct tr_field *copy = params && params->kind == TR_ARRAY ? cw_arena_new(&p->arena, struct tr_field) : NULL;
    if (copy)
        *copy = copy_field(&p->arena, params);
    k->params = copy;
}

/* ---- operations of the device ---- */

static uint64_t
argument(const struct pending *p, const char *name)
{
    const struct tr_field *f = p ? tr_find(p->args, p->count, name) : NULL;
    return f && (f->kind == TR_UINT || f->kind == TR_INT) ? f->u : 0;
}

static void
copy3(const struct tr_event *e, const char *name, uint64_t out[3])
{
    const struct tr_field *f = tr_find(e->fields, e->count, name);
    for (unsigned i = 0; f && f->kind == TR_ARRAY && i < f->count && i < 3; i++)
        out[i] = f->items[i];
}

/* What the device's clock told, as times since the epoch. A damaged trace has others: then they are not known. */
static void
set_times(struct tr_op *o, const struct tr_event *e, uint64_t start, uint64_t end)
{
    int64_t from = (int64_t)(start + (uint64_t)e->clock), to = (int64_t)(end + (uint64_t)e->clock);
    if (from < 0 || to < from)
        return;
    o->start = from;
    o->end = to;
}

static void
submitted(struct tr_join *j, struct thread *t, const struct tr_event *e)
{
    const struct tr_field *name = tr_find(e->fields, e->count, "name");
    const char *text = name && name->text ? name->text : "";
    uint64_t kind = 0, way = 0, device = 0, cached = 0, start = 0, end = 0, occupancy = 0;
    struct waiting *w = calloc(1, sizeof *w + strlen(text) + 1);
    if (!w) {
        j->nomem = true;
        return;
    }
    strcpy(w->name, text);
    number_of(e, "number", &w->number);
    number_of(e, "op", &kind);
    number_of(e, "way", &way);
    number_of(e, "device", &device);
    number_of(e, "cached", &cached);
    number_of(e, "occupancy", &occupancy);
    number_of(e, "start", &start);
    number_of(e, "end", &end);
    struct tr_op *o = &w->op;
    *o = (struct tr_op){ .kind = kind <= TR_COMPILE ? (enum tr_op_kind)kind : TR_COMPILE, .way = way <= TR_HTOH ? (enum tr_way)way : TR_HTOH,
                         .name = w->name, .pid = e->pid, .tid = e->tid, .device = (uint32_t)device, .cached = cached,
                         .occupancy = (unsigned)occupancy, .submitted = e->time };
    number_of(e, "queue", &o->queue);
    number_of(e, "bytes", &o->bytes);
    copy3(e, "grid", o->grid);
    copy3(e, "block", o->block);
    if (t->top) {
        o->call_start = t->top->start;
        strncpy(o->call, t->top->function, sizeof o->call - 1);
        o->in_graph = !strncmp(o->call, "cuGraphLaunch", 13);
        o->stream = o->in_graph ? 0 : t->top->kernel.present ? t->top->kernel.stream : argument(t->top, "hStream");
    }
    if (o->kind == TR_COMPILE) {
        set_times(o, e, start, end);
        if (j->calls->op)
            j->calls->op(j->calls->ctx, o);
        free(w);
        return;
    }
    if (t->top)
        t->top->operations++;
    struct waiting **head = &j->ops[(w->number * 31u + e->pid) % BUCKETS];
    w->next = *head;
    *head = w;
}

static void
executed(struct tr_join *j, const struct tr_event *e)
{
    uint64_t number = 0, start = 0, end = 0;
    number_of(e, "number", &number);
    number_of(e, "start", &start);
    number_of(e, "end", &end);
    for (struct waiting **l = &j->ops[(number * 31u + e->pid) % BUCKETS]; *l; l = &(*l)->next) {
        struct waiting *w = *l;
        if (w->number != number || w->op.pid != e->pid)
            continue;
        if (start && end)
            set_times(&w->op, e, start, end);
        if (j->calls->op)
            j->calls->op(j->calls->ctx, &w->op);
        *l = w->next;
        free(w);
        return;
    }
}

const char *
tr_way_name(enum tr_way way)
{
    static const char *const names[] = {
        [TR_HTOD] = "copy to the device", [TR_DTOH] = "copy to the host", [TR_DTOD] = "copy on the device", [TR_HTOH] = "copy on the host",
    };
    return names[way];
}

const char *
tr_op_name(const struct tr_op *o, char *out, size_t size)
{
    const char *name = *o->name ? o->name : o->kind == TR_COPY ? tr_way_name(o->way) : o->kind == TR_FILL ? "memset" : "?";
    snprintf(out, size, "%s%s", o->kind == TR_COMPILE ? "compile " : "", name);
    return out;
}

/* Operations whose end was not recorded. */
static void
deliver_waiting(struct tr_join *j)
{
    for (unsigned i = 0; i < BUCKETS; i++) {
        while (j->ops[i]) {
            struct waiting *w = j->ops[i];
            if (j->calls->op)
                j->calls->op(j->calls->ctx, &w->op);
            j->ops[i] = w->next;
            free(w);
        }
    }
}

bool
tr_of_runtime(const char *function)
{
    return !strncmp(function, "cuda", 4) || !strncmp(function, "__cuda", 6);
}

static bool
ends_with(const char *s, const char *suffix, size_t *stem)
{
    size_t n = strlen(s), m = strlen(suffix);
    *stem = n - m;
    return n > m && !strcmp(s + n - m, suffix);
}

static bool
on_event(void *ctx, const struct tr_event *e)
{
    struct tr_join *j = ctx;
    size_t stem;
    j->calls->events++;
    struct thread *t = thread_of(j, e->pid, e->tid);
    if (!t)
        j->nomem = true;
    else if (ends_with(e->name, "_entry", &stem)) {
        if (!j->calls->first)
            j->calls->first = e->time;
        j->nomem = !push(j, t, e, stem);
    }
    else if (ends_with(e->name, "_exit", &stem))
        finish_call(j, t, e, stem);
    else if (t->top && !strcmp(e->name, "kernel"))
        take_kernel(t->top, e);
    else if (!strcmp(e->name, "submit"))
        submitted(j, t, e);
    else if (!strcmp(e->name, "executed"))
        executed(j, e);
    if (!j->nomem && j->calls->other && !ends_with(e->name, "_entry", &stem) && !ends_with(e->name, "_exit", &stem))
        j->calls->other(j->calls->ctx, e);
    return !j->nomem;
}

static void
on_lost(void *ctx, uint64_t events)
{
    struct tr_join *j = ctx;
    j->calls->lost += events;
}

struct open_call {
    const struct thread *thread;
    struct pending *p;
};

static int
by_start(const void *a, const void *b)
{
    const struct open_call *x = a, *y = b;
    if (x->p->start != y->p->start)
        return x->p->start < y->p->start ? -1 : 1;
    return x->p->depth < y->p->depth ? -1 : x->p->depth > y->p->depth;
}

/* Calls that are still open never returned: oldest first. */
static void
deliver_open(struct tr_join *j)
{
    size_t count = 0, n = 0;
    for (uint32_t i = 0; i < thread_count(j); i++)
        count += j->threads[i].top ? j->threads[i].top->depth + 1 : 0;
    struct open_call *open = count ? malloc(count * sizeof *open) : NULL;
    j->nomem |= count && !open;
    for (uint32_t i = 0; i < thread_count(j); i++) {
        for (struct pending *p = j->threads[i].top; p; p = p->below) {
            tell_outer(j, p);
            if (open)
                open[n++] = (struct open_call){ &j->threads[i], p };
        }
    }
    if (n)
        qsort(open, n, sizeof *open, by_start);
    for (size_t i = 0; i < n; i++)
        deliver(j, open[i].thread, open[i].p, open[i].p->start, NULL);
    free(open);
    for (uint32_t i = 0; i < thread_count(j); i++) {
        for (struct pending *p = j->threads[i].top, *below; p; p = below) {
            below = p->below;
            finish_pending(p);
            free(p);
        }
    }
}

struct tr_join *
tr_join_create(struct tr_calls *calls)
{
    struct tr_join *j = calloc(1, sizeof *j);
    if (j)
        j->calls = calls;
    else
        say("out of memory");
    return j;
}

enum tr_status
tr_join_read(struct tr_join *j, const char *dir)
{
    struct tr_sink sink = { .event = on_event, .lost = on_lost, .ctx = j, .quiet = j->calls->quiet };
    enum tr_status status = tr_read(dir, &sink);
    if (j->nomem) {
        say("out of memory");
        status = TR_FAILED;
    }
    return status;
}

void
tr_join_finish(struct tr_join *j)
{
    if (!j)
        return;
    deliver_waiting(j);
    bool nomem = j->nomem;
    deliver_open(j);
    if (j->nomem && !nomem)
        say("out of memory");
    free(j->threads);
    tr_index_finish(&j->thread_index);
    while (j->spare) {
        struct pending *p = j->spare;
        j->spare = p->below;
        free(p);
    }
    free(j);
}

enum tr_status
tr_read_calls(const char *dir, struct tr_calls *calls)
{
    struct tr_join *j = tr_join_create(calls);
    enum tr_status status = j ? tr_join_read(j, dir) : TR_FAILED;
    tr_join_finish(j);
    return status;
}
