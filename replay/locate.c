/* SPDX-License-Identifier: Apache-2.0
 * See locate.h. Every run is a process of its own and starts from the dump's memory, so runs can be repeated with other records:
 * which threads wrote a place (CWI_WATCH), then what such a thread computed (CWI_TRACE); and when what it computed first came
 * from memory or from another thread, the same again for that. */
#define _GNU_SOURCE
#include "replay/locate_private.h"

#include "impl/base/temp.h"
#include "impl/base/text.h"
#include "replay/tar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAME = 0, DIFFERENT = 1, TROUBLE = 2 };
enum { MAX_HOPS = 16, MAX_WINDOWS = 32, WARP = 32, SMALL_LOG = 2 << 20, LARGE_LOG = 64 << 20 };

static int
trouble(const struct locate *l)
{
    fflush(stdout);
    cw_text_line(stderr, "cudaway-replay: %s: %s", l->o->file, l->e.text);
    return TROUBLE;
}

/* So many runs are to come, at least. */
static void
foresee(struct locate *l, uint64_t runs)
{
    if (l->progress.done + runs > l->progress.all)
        l->progress.all = l->progress.done + runs;
}

static bool
both(struct locate *l, cw_result (*run)(struct cwl_side *, struct cwd_error *))
{
    return run(&l->side[0], &l->e) == CW_OK && run(&l->side[1], &l->e) == CW_OK;
}

/* ---- the element ------------------------------------------------------------------------------------------------------------- */

static void
keep_first(void *user, const struct cwd_difference *x)
{
    struct cwd_difference *first = user;
    if (!first->count)
        *first = *x;
}

/* The same launch a second time on a device: is the result the same? */
static bool
repeats(struct locate *l, unsigned k, bool *stable)
{
    struct cwl_side *s = &l->side[k];
    struct cwd_dump first = s->result;
    struct cwd_difference x = { 0 };
    s->has_result = false;
    bool ok = cwl_run(s, &l->e) == CW_OK;
    if (ok)
        ok = cwl_compare(&first, &s->result, 0, keep_first, &x);
    if (ok && x.count) {
        cw_text_print(stdout, "%s gives another result each time on %s: %s, %s index %llu: %s, then %s; its threads race, or it reads a clock\n", s->dump.kernel,
                      s->label, x.where, x.type, (unsigned long long)x.index, x.expected, x.actual);
        *stable = false;
    }
    cwd_finish(&first);
    return ok;
}

/* ---- traces ------------------------------------------------------------------------------------------------------------------ */

struct traces {
    struct thread first;
    uint32_t count;
    struct cwt *of[WARP];
    bool done[WARP];
    uint32_t stop_id, stop_nth;
    struct cwt_place *places;
    uint32_t nplaces;
};

static void
traces_finish(struct traces *t)
{
    for (uint32_t i = 0; i < t->count; i++)
        cwt_destroy(t->of[i]);
    free(t->places);
    t->places = NULL;
}

static bool
nomem(struct locate *l)
{
    cwd_fail(&l->e, CW_ERR_NOMEM, "out of memory");
    return false;
}

/* After a run: the objects whose addresses differ between the two runs. */
static bool
find_places(struct locate *l, struct traces *t)
{
    const struct cwl_side *a = &l->side[0], *b = &l->side[1];
    const struct cwd_dump *d = &a->dump;
    free(t->places);
    t->places = calloc(d->nbuffers + d->ntextures + (size_t)1, sizeof *t->places);
    t->nplaces = 0;
    if (!t->places)
        return nomem(l);
    for (uint32_t i = 0; i < d->nbuffers; i++)
        if (a->address[i] != b->address[i])
            t->places[t->nplaces++] = (struct cwt_place){ { a->address[i], b->address[i] }, d->buffers[i].size };
    for (uint32_t i = 0; i < d->ntextures; i++)
        t->places[t->nplaces++] = (struct cwt_place){ { a->handle[i], b->handle[i] }, 0 };
    return true;
}

static bool
start_traces(struct locate *l, struct traces *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        cwt_destroy(t->of[i]);
        t->of[i] = cwt_create(&l->side[0].program, &l->side[1].program, l->same, t->places, t->nplaces, l->o->ulp);
        t->done[i] = false;
        if (!t->of[i])
            return nomem(l);
        if (t->stop_id != CWT_NO_ID)
            cwt_stop_at(t->of[i], t->stop_id, t->stop_nth);
    }
    return true;
}

/* Give the records of a window to each thread's comparison. *longest: the most records of a thread. */
static bool
feed(struct locate *l, struct traces *t, uint64_t start, uint64_t room, uint64_t *longest, bool *all)
{
    *longest = 0;
    *all = true;
    for (uint32_t i = 0; i < t->count; i++) {
        const uint64_t *records[2];
        uint64_t n[2];
        bool last = true;
        for (unsigned k = 0; k < 2; k++) {
            uint64_t made;
            memcpy(&made, l->side[k].log + 128 + 8 * i, sizeof made);
            records[k] = (const uint64_t *)(const void *)(l->side[k].log + CWI_HEADER + i * (room + 1) * 16);
            n[k] = made <= start ? 0 : made - start < room ? made - start : room;
            last = last && made <= start + room;
            *longest = made > *longest ? made : *longest;
        }
        if (!t->done[i])
            t->done[i] = cwt_feed(t->of[i], records[0], n[0], records[1], n[1], last);
        if (cwt_failed(t->of[i]))
            return nomem(l);
        *all = *all && t->done[i];
    }
    return true;
}

/* Compare `count` threads of a block from `first` on. */
static bool
trace(struct locate *l, struct traces *t)
{
    uint64_t bytes = SMALL_LOG, start = 0, longest;
    for (unsigned window = 0; window < MAX_WINDOWS; window++) {
        uint64_t room = (bytes - CWI_HEADER) / 16 / t->count - 1;
        const uint64_t control[16] = { [CWI_BLOCK] = t->first.block, [CWI_FIRST] = t->first.thread, [CWI_COUNT] = t->count, [CWI_START] = start,
                                       [CWI_ROOM] = room };
        foresee(l, 2);
        for (unsigned k = 0; k < 2; k++)
            if (cwl_run_rewritten(&l->side[k], CWI_TRACE, control, bytes, &l->e) != CW_OK)
                return false;
        bool all;
        if (start == 0 && (!find_places(l, t) || !start_traces(l, t)))
            return false;
        if (!feed(l, t, start, room, &longest, &all))
            return false;
        if (all)
            return true;
        if (start == 0 && bytes < LARGE_LOG) {
            bytes = LARGE_LOG;          /* run again with few windows rather than many */
            continue;
        }
        start += room;
    }
    cwd_fail(&l->e, CW_ERR_LIMIT, "the thread runs too long: %llu results were compared and are the same, and it makes more",
             (unsigned long long)start);
    return false;
}

/* ---- writers ----------------------------------------------------------------------------------------------------------------- */

struct events {
    struct event *at;
    uint64_t count, made;
};

static bool
read_events(struct locate *l, const struct cwl_side *s, uint64_t bytes, struct events *out)
{
    uint64_t room = (bytes - CWI_HEADER) / 32;
    memcpy(&out->made, s->log + 8 * CWI_CURSOR, sizeof out->made);
    out->count = out->made < room ? out->made : room;
    out->at = calloc(out->count + 1, sizeof *out->at);
    if (!out->at)
        return nomem(l);
    for (uint64_t i = 0; i < out->count; i++) {
        uint64_t w[4];
        memcpy(w, s->log + CWI_HEADER + i * 32, sizeof w);
        out->at[i] = (struct event){ CWI_KIND(w[0]), CWI_ID(w[0]), CWI_PART(w[0]), { w[1], CWI_THREAD(w[0]) }, ~w[2], ~w[3], i };
        if (out->at[i].id >= s->program.ninsts) {
            cwd_fail(&l->e, CW_ERR_INTERNAL, "%s: a record that makes no sense", s->label);
            return false;
        }
    }
    return true;
}

/* The accesses to the range in both runs; `reader`: the thread whose loads are recorded as well. */
static bool
watch(struct locate *l, const struct range *r, struct thread reader, struct events out[2])
{
    for (uint64_t bytes = SMALL_LOG;; bytes = LARGE_LOG) {
        bool fits = true;
        foresee(l, l->o->recorded ? 2 : 4);     /* and those of a trace */
        for (unsigned k = 0; k < 2; k++) {
            bool recorded = r->buffer >= 0 && !r->shared;
            const uint64_t control[16] = { [CWI_BLOCK] = r->shared ? r->block : reader.block, [CWI_FIRST] = reader.thread, [CWI_COUNT] = 1,
                                           [CWI_ADDRESS] = recorded ? r->at[k] : 0, [CWI_RAW] = recorded ? UINT64_MAX : ~r->at[k],
                                           [CWI_SIZE] = r->size, [CWI_SHARED] = r->shared };
            free(out[k].at);
            out[k].at = NULL;
            if (cwl_run_rewritten(&l->side[k], CWI_WATCH, control, bytes, &l->e) != CW_OK || !read_events(l, &l->side[k], bytes, &out[k]))
                return false;
            fits = fits && out[k].count == out[k].made;
        }
        if (fits)
            return true;
        if (bytes == LARGE_LOG) {
            cwd_fail(&l->e, CW_ERR_LIMIT, "%llu stores touch the place, too many to look at", (unsigned long long)out[0].made);
            return false;
        }
    }
}

static uint32_t
other_id(const struct locate *l, uint32_t id)
{
    return l->same ? l->same[id] : id;
}

static bool
same_writer(const struct locate *l, const struct event *a, const struct event *b)
{
    return other_id(l, a->id) == b->id && a->who.block == b->who.block && a->who.thread == b->who.thread;
}

/* The last store before event `end`; NULL: none. */
static const struct event *
last_store(const struct events *v, uint64_t end)
{
    while (end-- > 0)
        if (v->at[end].kind != CWI_LOAD)
            return &v->at[end];
    return NULL;
}

static int
by_thread(const void *a, const void *b)
{
    const struct event *x = *(const struct event *const *)a, *y = *(const struct event *const *)b;
    if (x->who.block != y->who.block)
        return x->who.block < y->who.block ? -1 : 1;
    if (x->who.thread != y->who.thread)
        return x->who.thread < y->who.thread ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* Of many atomic operations on one place: one by a thread that did something else in the other run. NULL: all did the same. */
static const struct event *
odd_one(const struct events v[2], uint32_t *nth)
{
    uint64_t n = v[0].count < v[1].count ? v[0].count : v[1].count;
    const struct event **list[2] = { malloc((v[0].count + 1) * sizeof **list), malloc((v[1].count + 1) * sizeof **list) }, *odd = NULL;
    for (unsigned k = 0; k < 2 && list[0] && list[1]; k++) {
        for (uint64_t i = 0; i < v[k].count; i++)
            list[k][i] = &v[k].at[i];
        qsort(list[k], v[k].count, sizeof *list[k], by_thread);
    }
    for (uint64_t i = 0; i < n && list[0] && list[1] && !odd; i++) {
        const struct event *a = list[0][i], *b = list[1][i];
        if (a->who.block != b->who.block || a->who.thread != b->who.thread || a->value != b->value || a->kind != b->kind)
            odd = by_thread(&a, &b) > 0 ? b : a;
    }
    if (!odd && v[0].count != v[1].count && list[0] && list[1])
        odd = v[0].count > n ? list[0][n] : list[1][n];
    *nth = 0;
    free(list[0]);
    free(list[1]);
    return odd;
}

static void
say_writer(const struct locate *l, unsigned k, const struct event *x, const char *what)
{
    char who[128], place[700];
    if (!x) {
        cw_text_print(stdout, "%s%s no thread of this launch\n", what, *what ? " by" : "");
        return;
    }
    thread_text(l, x->who, who, sizeof who);
    place_text(l, k, x->id, 0, place, sizeof place);
    cw_text_print(stdout, "%s by %s at %s\n", what, who, place);
}

/* How many events come before the load in question: the instruction's first that gave another value (`by_value`), or its
 * last. */
static void
before_load(const struct events v[2], const uint32_t id[2], bool by_value, uint64_t end[2])
{
    uint64_t i = 0, k = 0;
    for (unsigned s = 0; s < 2 && !by_value; s++) {
        end[s] = v[s].count;
        while (end[s] && (v[s].at[end[s] - 1].kind != CWI_LOAD || v[s].at[end[s] - 1].id != id[s]))
            end[s]--;
        end[s] = end[s] ? end[s] - 1 : v[s].count;
    }
    for (; by_value; i++, k++) {
        while (i < v[0].count && (v[0].at[i].kind != CWI_LOAD || v[0].at[i].id != id[0]))
            i++;
        while (k < v[1].count && (v[1].at[k].kind != CWI_LOAD || v[1].at[k].id != id[1]))
            k++;
        end[0] = i;
        end[1] = k;
        if (i == v[0].count || k == v[1].count || v[0].at[i].value != v[1].at[k].value)
            return;
    }
}

/* What is to be followed next. */
enum step { STEP_END, STEP_THREAD, STEP_RANGE };

/* Which thread wrote the value in the range? `end`: consider only events before this one. */
static enum step
choose_writer(struct locate *l, const struct events v[2], const uint64_t end[2], const char *what, struct range *r, struct thread *next,
              uint32_t copy[2])
{
    const struct event *a = last_store(&v[0], end[0]), *b = last_store(&v[1], end[1]);
    uint32_t nth;
    if (!a && !b) {
        cw_text_print(stdout, "%s by no thread of this launch: what lies there from before differs, or an instruction that leaves no record wrote it\n", what);
        say_hidden(l);
        return STEP_END;
    }
    if (a && a->kind == CWI_ATOMIC) {
        const struct event *odd = odd_one(v, &nth);
        if (!odd) {
            cw_text_print(stdout, "%s by atomic operations of the same values on both devices, in another order; the last one:\n", what);
            say_writer(l, 0, a, "");
            return STEP_END;
        }
        say_writer(l, odd >= v[0].at && odd < v[0].at + v[0].count ? 0 : 1, odd, what);
        *next = odd->who;
        return STEP_THREAD;
    }
    if (!a || !b || !same_writer(l, a, b)) {
        char text[300];
        for (unsigned k = 0; k < 2; k++) {
            snprintf(text, sizeof text, "%s on %s", what, l->side[k].label);
            say_writer(l, k, k ? b : a, text);
        }
        *next = a ? a->who : b->who;
        return STEP_THREAD;
    }
    say_writer(l, 0, a, what);
    *next = a->who;
    if (a->kind != CWI_COPY)
        return STEP_THREAD;
    /* The addresses of global memory that was copied, from those of the copy. */
    copy[0] = a->id;
    copy[1] = b->id;
    for (unsigned k = 0; k < 2; k++)
        r->at[k] = (k ? b : a)->value + (r->at[k] - (k ? b : a)->address);
    r->shared = false;
    r->buffer = -1;
    return STEP_RANGE;
}

/* Raw addresses of a run become recorded ones where they are in a buffer. */
static void
settle_range(const struct locate *l, struct range *r)
{
    const struct cwd_dump *d = &l->side[0].dump;
    for (uint32_t i = 0; i < d->nbuffers && !r->shared; i++) {
        uint64_t offset = r->at[0] - l->side[0].address[i];
        if (!l->side[0].address[i] || offset >= d->buffers[i].size || r->at[1] - l->side[1].address[i] != offset)
            continue;
        r->buffer = (int32_t)i;
        r->at[0] = r->at[1] = d->buffers[i].address + offset;
        return;
    }
}

/* ---- following --------------------------------------------------------------------------------------------------------------- */

static const struct ptx_inst *
inst_of(const struct locate *l, const struct cwt_difference *d)
{
    return l->side[0].program.insts[d->id[0]].in;
}

static bool
operand_value(const struct cwt_difference *d, const struct ptx_operand *o, uint64_t *v)
{
    if (o->kind == PTX_OPND_IMM)
        *v = (uint64_t)o->imm;
    for (uint32_t i = 0; o->kind == PTX_OPND_REG && i < d->noperands; i++)
        if (d->operand[i].reg[0] == o->index && d->operand[i].known[0]) {
            *v = d->operand[i].value[0];
            return true;
        }
    return o->kind == PTX_OPND_IMM;
}

/* The lane that shfl reads (PTX ISA 9.7.9.6); false: the thread itself, or not known. */
static bool
shuffled_from(const struct locate *l, const struct cwt_difference *d, uint32_t lane, uint32_t *from)
{
    const struct ptx_inst *in = inst_of(l, d);
    uint64_t b, c;
    if (in->noperands < 4 || !operand_value(d, &in->operand[2], &b) || !operand_value(d, &in->operand[3], &c))
        return false;
    uint32_t by = b & 31, clamp = c & 31, segment = c >> 8 & 31;
    uint32_t most = (lane & segment) | (clamp & ~segment & 31), least = lane & segment;
    switch (in->mode) {
    case PTX_MODE_UP:
        if (lane < by || lane - by < most)
            return false;
        *from = lane - by;
        return by;
    case PTX_MODE_DOWN: *from = lane + by; break;
    case PTX_MODE_BFLY: *from = lane ^ by; break;
    default:            *from = least | (by & ~segment & 31);
    }
    return *from <= most && *from != lane;
}

static uint32_t
threads_of_block(const struct locate *l)
{
    const uint32_t *b = l->side[0].dump.block;
    return b[0] * b[1] * b[2];
}

/* A load or atomic found another value in the range: which thread's stores does it hold? */
static bool
ask_memory(struct locate *l, const struct cwt_difference *d, struct range r, struct thread *next, enum step *step)
{
    struct events v[2] = { { 0 }, { 0 } };
    uint32_t id[2] = { d->id[0], d->id[1] };
    char text[300], what[400];
    bool ok = true;
    settle_range(l, &r);
    *step = STEP_RANGE;
    for (unsigned hop = 0; hop < 4 && *step == STEP_RANGE; hop++) {
        ok = watch(l, &r, *next, v);
        if (!ok)
            break;
        uint64_t end[2] = { v[0].count, v[1].count };
        if (inst_of(l, d)->op != PTX_OP_ATOM)
            before_load(v, id, !hop, end);
        range_text(l, &r, text, sizeof text);
        snprintf(what, sizeof what, "  read from %s, which was written", text);
        *step = choose_writer(l, v, end, what, &r, next, id);
        if (*step == STEP_RANGE)
            settle_range(l, &r);
    }
    free(v[0].at);
    free(v[1].at);
    return ok;
}

static struct range
range_at(const uint64_t place[2], struct thread who, uint64_t offset, uint64_t size)
{
    struct range r = { .buffer = -1, .block = who.block, .size = size };
    r.shared = place[0] & CWI_PLACE_SHARED && place[1] & CWI_PLACE_SHARED;
    for (unsigned k = 0; k < 2; k++)
        r.at[k] = (place[k] & ~(r.shared ? CWI_PLACE_SHARED : 0)) + offset;
    return r;
}

/* ldmatrix (PTX ISA 9.7.14): thread t has of matrix r the elements 2 (t % 4) and the next of row t / 4, or, transposed, those of column
 * t / 4; the row's address is that of lane 8 r + row. */
static bool
matrix_range(const struct cwt_difference *d, const struct ptx_inst *in, const struct traces *t, uint32_t lane, struct range *r)
{
    bool transposed = in->aux >> PTX_AUX_MTRANS & 1, upper = (d->value[0] & 0xffff) == (d->value[1] & 0xffff);
    uint32_t row = transposed ? lane % 4 * 2 + upper : lane / 4, from = 8 * d->part + row;
    uint64_t place[2];
    if (in->op != PTX_OP_LDMATRIX || from >= t->count || !cwt_place(t->of[from], d->id[0], place))
        return false;
    *r = range_at(place, t->first, transposed ? lane / 4 * 2 : lane % 4 * 4, transposed ? 2 : 4);
    return true;
}

/* A warp computed the result together: which of its threads contributed another operand? */
static bool
ask_warp(struct locate *l, const struct cwt_difference *d, struct thread *next, enum step *step)
{
    uint32_t first = next->thread / WARP * WARP, n = threads_of_block(l) - first, lane = next->thread - first;
    struct traces t = { .first = { next->block, first }, .count = n < WARP ? n : WARP, .stop_id = d->id[0], .stop_nth = d->nth };
    struct range r;
    bool ok = trace(l, &t);
    *step = STEP_END;
    for (uint32_t i = 0; ok && i < t.count && *step == STEP_END; i++) {
        if (cwt_result(t.of[i])->found == CWT_NOTHING || i == lane)
            continue;
        next->thread = first + i;
        *step = STEP_THREAD;
    }
    if (ok && *step == STEP_END && matrix_range(d, inst_of(l, d), &t, lane, &r))
        ok = ask_memory(l, d, r, next, step);
    else if (ok && *step == STEP_END)
        cw_text_print(stdout, "  no thread of the warp differs before that%s\n",
                      ptx_op_info((ptx_op)inst_of(l, d)->op)->traits & PTX_T_READS_MEM ? "; what it read from memory is not followed" : "");
    traces_finish(&t);
    return ok;
}

static bool
step_from(struct locate *l, const struct cwt_difference *d, struct thread *next, enum step *step)
{
    const struct ptx_inst *in = d->found == CWT_VALUE ? inst_of(l, d) : NULL;
    uint32_t lane;
    *step = STEP_END;
    if (!in)
        return true;
    if (in->op == PTX_OP_SHFL && shuffled_from(l, d, next->thread % WARP, &lane)) {
        next->thread = next->thread / WARP * WARP + lane;
        *step = STEP_THREAD;
        return true;
    }
    if (in->op != PTX_OP_SHFL && ptx_op_info((ptx_op)in->op)->traits & PTX_T_WARP)
        return ask_warp(l, d, next, step);
    if ((in->op == PTX_OP_LD || in->op == PTX_OP_LDU || in->op == PTX_OP_ATOM) && d->has_place) {
        uint64_t size = ptx_type_bits((ptx_type)in->type[0]) / 8;
        return ask_memory(l, d, range_at(d->place, *next, d->part * size, size), next, step);
    }
    return true;
}

/* Does the rewritten kernel still differ there? */
static bool
still_differs(const struct locate *l)
{
    const struct cwd_difference *x = &l->element;
    const struct cwd_buffer *a = &l->side[0].result.buffers[x->buffer], *b = &l->side[1].result.buffers[x->buffer];
    return a->after && b->after && memcmp(a->after + x->offset, b->after + x->offset, x->width);
}

/* Follow the chain of differences from this thread to its first cause. */
static int
follow(struct locate *l, struct thread who)
{
    struct thread been[MAX_HOPS];
    char whose[128];
    for (unsigned hop = 0; hop < MAX_HOPS; hop++) {
        struct traces t = { .first = who, .count = 1, .stop_id = CWT_NO_ID };
        struct thread next = who;
        enum step step = STEP_END;
        if (!trace(l, &t)) {
            traces_finish(&t);
            return trouble(l);
        }
        const struct cwt_difference *d = cwt_result(t.of[0]);
        thread_text(l, who, whose, sizeof whose);
        bool ok = true;
        if (d->found == CWT_NOTHING) {
            cw_text_print(stdout, "%s: all results that leave a record are the same on both devices\n", whose);
            if (!still_differs(l))
                say_vanished(l);
            if (d->address_id != CWT_NO_ID) {
                char place[700];
                place_text(l, 0, d->address_id, 0, place, sizeof place);
                cw_text_print(stdout, "  but addresses, or clocks, and what is computed from them; first at %s\n", place);
            }
            say_hidden(l);
        } else {
            say_difference(l, d, whose);
            ok = step_from(l, d, &next, &step);
            if (ok && step == STEP_END)
                say_reason(l, d);
        }
        traces_finish(&t);
        if (!ok)
            return trouble(l);
        if (step == STEP_END)
            return DIFFERENT;
        been[hop] = who;
        for (unsigned i = 0; i <= hop; i++)
            if (been[i].block == next.block && been[i].thread == next.thread) {
                puts("  which leads back to a thread that is above");
                return DIFFERENT;
            }
        who = next;
    }
    cw_text_print(stdout, "not followed further than %d threads\n", MAX_HOPS);
    return DIFFERENT;
}

static int
search(struct locate *l)
{
    const struct cwd_difference *x = &l->element;
    if (x->buffer < 0) {
        puts("what writes to arrays is not followed: surface stores leave no record");
        return DIFFERENT;
    }
    uint64_t at = l->side[0].dump.buffers[x->buffer].address + x->offset;
    struct range r = { .buffer = x->buffer, .at = { at, at }, .size = x->width };
    struct events v[2] = { { 0 }, { 0 } };
    struct thread who = { 0 };
    if (!watch(l, &r, who, v))
        return trouble(l);
    if (!l->o->recorded && !still_differs(l))
        say_vanished(l);
    uint32_t copy[2];
    enum step step = choose_writer(l, v, (const uint64_t[]){ v[0].count, v[1].count }, "written", &r, &who, copy);
    free(v[0].at);
    free(v[1].at);
    if (l->o->recorded) {
        puts("what that thread computes differently takes a second device to find: --against DEVICE");
        return DIFFERENT;
    }
    return step == STEP_THREAD ? follow(l, who) : DIFFERENT;
}

/* ---- main -------------------------------------------------------------------------------------------------------------------- */

static bool
parse(struct locate *l)
{
    unsigned cc = l->side[0].compute_capability < l->side[1].compute_capability ? l->side[0].compute_capability : l->side[1].compute_capability;
    for (unsigned k = 0; k < 2; k++)
        if (cwl_parse(&l->side[k], cc, &l->e) != CW_OK)
            return false;
    if (!l->o->against_module)
        return true;
    l->same = cwt_align(&l->side[0].program, &l->side[1].program);
    return l->same || nomem(l);
}

static int
locate(struct locate *l)
{
    const struct cwd_locate *o = l->o;
    bool stable = true;
    if (!cwl_folder(l->folder, sizeof l->folder, &l->e))
        return trouble(l);
    l->progress.what = "runs";
    foresee(l, o->recorded ? 5 : 8);    /* each device twice, who wrote it, and on both what that thread does */
    for (unsigned k = 0; k < 2; k++) {
        struct cwl_side *s = &l->side[k];
        *s = (struct cwl_side){ .progress = &l->progress, .on = k ? o->on : o->against, .module = k ? NULL : o->against_module, .folder = l->folder, .number = k };
        snprintf(s->label, sizeof s->label, "%s%s%s", s->on ? s->on : "the default device", s->module ? " with " : "", s->module ? s->module : "");
        if (cwl_open(s, o->file, &l->e) != CW_OK) {
            cw_text_line(stderr, "cudaway-replay: %s", l->e.text);
            return TROUBLE;
        }
    }
    if (o->recorded && !cwd_has_results(&l->side[0].dump)) {
        cwd_fail(&l->e, CW_ERR_INVALID, "the dump holds no results to compare with; give --against DEVICE");
        return trouble(l);
    }
    if (!both(l, cwl_run) || !cwl_compare(o->recorded ? &l->side[0].dump : &l->side[0].result, &l->side[1].result, o->ulp, keep_first, &l->element))
        return trouble(l);
    if (o->recorded)
        snprintf(l->side[0].label, sizeof l->side[0].label, "%s", l->side[0].dump.device);
    if (!l->element.count) {
        cw_text_print(stdout, "%s: the results are the same on %s and on %s\n", l->side[0].dump.kernel, l->side[0].label, l->side[1].label);
        return SAME;
    }
    say_element(l);
    if ((!o->recorded && !repeats(l, 0, &stable)) || !repeats(l, 1, &stable))
        return trouble(l);
    if (!stable)
        return DIFFERENT;
    return parse(l) ? search(l) : trouble(l);
}

int
cwd_locate(const struct cwd_locate *o)
{
    struct locate l = { .o = o };
    int status = locate(&l);
    for (unsigned k = 0; k < 2; k++)
        if (l.side[k].folder)
            cwl_close(&l.side[k]);
    cw_temp_remove(l.folder);
    free(l.same);
    return status;
}
