/* SPDX-License-Identifier: Apache-2.0
 * What may be otherwise at any time: the order in which threads run, and what memory holds that nobody wrote. Each element that differs
 * needs a proof of its own that its recorded value is one that the launch may give:
 *
 *   added      the values that were added to it atomically, or exchanged with it, give it in another order
 *   scheduled  it came out of a run with another order of threads, or in which some waited before unordered accesses
 *   last       a thread stored it there, and nothing orders another store behind that one
 *   stale      it came out of a run in which that memory held something else, or is such memory's content, unchanged
 *
 * That an element changes from run to run is no proof: so does the result of a translation fault in a kernel that races. */
#define _GNU_SOURCE
#include "replay/explain_private.h"

#include "impl/base/text.h"
#include "replay/check.h"
#include "replay/compare.h"
#include "replay/analyze.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AS_IT_IS, BEFORE_READS, BEFORE_WRITES, PLACES };     /* where threads wait */

struct chance {
    struct explain *x;
    const struct cwv_variant *with;
    const struct set *differs;
    struct cwl_side *near;              /* the launch with that */
    struct cwd_dump result;             /* what it gave */
    struct set added, scheduled, last, stale;
    struct set moves, fills;            /* elements that change with the order of threads; with what nobody wrote */
    double *low, *high;                 /* of these, over all orders */
    uint64_t zero_element;              /* has the bits `zero` where that memory is filled with zeros */
    uint64_t zero;
    uint8_t *delay[PLACES];             /* by instruction */
    bool meets, permuted;    /* accesses meet that nothing orders; what each thread stores is as recorded, at another thread's place */
    uint32_t clock;                     /* the instruction that reads one, where all that is open changes from run to run and nothing races; CWV_NONE */
    struct cwc_report faults;
    char added_how[1000], how[1000];    /* of the first proof */
};

/* ---- numbers ----------------------------------------------------------------------------------------------------------------- */

static uint64_t
bits(const struct explain *x, const struct cwd_dump *d, uint32_t c, uint64_t i)
{
    unsigned width = explain_width(x, c);
    uint64_t v = 0;
    memcpy(&v, explain_values(d, c) + i * width, width < 8 ? width : 8);
    return v;
}

static unsigned
type_of(const struct explain *x, uint32_t c)
{
    return c < x->base.dump.nbuffers ? cwd_type_of(x->base.dump.buffers[c].element) : PTX_NONE;
}

static double
number_of(unsigned type, uint64_t v)
{
    float f;
    double g;
    memcpy(&f, &v, sizeof f);
    memcpy(&g, &v, sizeof g);
    return type == PTX_F32 ? (double)f : type == PTX_F64 ? g : (double)v;
}

static double
number(const struct explain *x, const struct cwd_dump *d, uint32_t c, uint64_t i)
{
    return number_of(type_of(x, c), bits(x, d, c, i));
}

static bool
within(const struct explain *x, const struct set *a, const struct set *b)
{
    for (uint64_t i = 0; i < x->elements; i++)
        if (a->in[i] && !b->in[i])
            return false;
    return true;
}

static bool
touch(const struct explain *x, const struct set *a, const struct set *b)
{
    for (uint64_t i = 0; i < x->elements; i++)
        if (a->in[i] && b->in[i])
            return true;
    return false;
}

static bool
proven(const struct chance *c, uint64_t i)
{
    return c->added.in[i] || c->scheduled.in[i] || c->last.in[i] || c->stale.in[i];
}

/* The first element that differs and has no proof; UINT64_MAX: all have. */
static uint64_t
open_element(const struct chance *c)
{
    for (uint64_t i = 0; i < c->x->elements; i++)
        if (c->differs->in[i] && !proven(c, i))
            return i;
    return UINT64_MAX;
}

static bool
any_open(const struct chance *c, const struct set *s)
{
    for (uint64_t i = 0; i < c->x->elements; i++)
        if (c->differs->in[i] && s->in[i] && !proven(c, i))
            return true;
    return false;
}

static void
put(struct set *s, uint64_t i)
{
    s->count += !s->in[i];
    s->in[i] = 1;
}

/* ---- runs -------------------------------------------------------------------------------------------------------------------- */

static struct cwv_variant
variant(const struct chance *c, unsigned place, unsigned order)
{
    struct cwv_variant v = *c->with;
    v.order = order;
    v.delay = c->delay[place];
    if (place && !v.env && (!c->x->base.on || !strncmp(c->x->base.on, "host", 4)))
        v.env = "CUDAWAY_HOST_THREADS=64";          /* blocks that wait for each other run at once */
    return v;
}

static const char *
place_text(unsigned place)
{
    return place == BEFORE_READS ? ", and all wait before reads that nothing orders" : place == BEFORE_WRITES ? ", and all wait before writes that nothing orders" : "";
}

static void
say_how(struct chance *c, uint64_t element, const char *text, const char *more)
{
    char where[160];
    uint64_t index;
    uint32_t k = explain_content(c->x, element, &index);
    if (*c->how || k >= c->x->base.dump.nbuffers)
        return;
    cwd_where(&c->x->base.dump, k, where, sizeof where);
    snprintf(c->how, sizeof c->how, "buffer %u, %s, index %" PRIu64 ": the recorded value %s%s", k, where, index, text, more);
}

static void
widen(struct chance *c, const struct cwd_dump *result)
{
    uint64_t index;
    for (uint64_t i = 0; i < c->x->elements; i++) {
        if (!c->moves.in[i])
            continue;
        uint32_t k = explain_content(c->x, i, &index);
        double v = number(c->x, result, k, index);
        c->low[i] = v < c->low[i] ? v : c->low[i];
        c->high[i] = v > c->high[i] ? v : c->high[i];
    }
}

/* Elements that come out as recorded in a run of `v` are put into `proof`. */
static bool
prove_by(struct chance *c, const struct cwv_variant *v, struct set *proof, const char *text, const char *more)
{
    struct cwl_side s;
    struct set now;
    if (!set_init(c->x, &now))
        return false;
    enum tried t = explain_try(c->x, v, &now, &s);
    if (t == TRIED) {
        if (proof == &c->scheduled) {
            explain_compare(c->x, &c->result, &s.result, &c->moves);
            widen(c, &c->result);
            widen(c, &s.result);
        }
        for (uint64_t i = 0; i < c->x->elements; i++)
            if (c->differs->in[i] && !now.in[i] && !proven(c, i)) {
                put(proof, i);
                say_how(c, i, text, more);
            }
        cwl_close(&s);
    }
    free(now.in);
    return t != FAILED;
}

static bool
try_order(struct chance *c, unsigned place, unsigned order)
{
    struct cwv_variant v = variant(c, place, order);
    return prove_by(c, &v, &c->scheduled, "comes out when threads run in another order", place_text(place));
}

/* ---- who stores last --------------------------------------------------------------------------------------------------------- */

static void
take_last(struct chance *c, const struct cwl_side *s, const struct cwc_last *l)
{
    const struct explain *x = c->x;
    for (uint32_t b = 0; b < x->base.dump.nbuffers; b++) {
        const struct cwd_buffer *buffer = &x->base.dump.buffers[b];
        unsigned width = explain_width(x, b);
        uint64_t offset = l->address - s->address[b];
        if (offset >= buffer->size || l->bytes != width || offset % width || !buffer->after)
            continue;
        uint64_t i = x->start[b] + offset / width, value = width < 8 ? l->value & ((1ull << 8 * width) - 1) : l->value;
        if (c->differs->in[i] && !proven(c, i) && value == bits(x, &x->base.dump, b, offset / width)) {
            char place[700];
            put(&c->last, i);
            explain_place(x, s, l->id, place, sizeof place);
            say_how(c, i, "is what a thread stores there, and nothing orders the other threads' stores behind it, at ", place);
        }
    }
}

/* Which accesses meet in this run, of the launch as it is for the `first`, and what the last stores may be. */
static bool
look_at_meetings(struct chance *c, struct cwl_side *s, bool first)
{
    struct cwc_report r;
    uint32_t n = c->x->base.program.ninsts;
    if (!explain_runs(c->x))
        return true;
    cw_result got = cwc_run(s, CWC_MEETINGS, &r, &c->x->e);
    for (uint32_t i = 0; got == CW_OK && first && i < n; i++) {
        c->delay[BEFORE_READS][i] = (r.meets[i] & CWC_MEETS_READING) != 0;
        c->delay[BEFORE_WRITES][i] = (r.meets[i] & CWC_MEETS_WRITING) != 0;
        c->meets = c->meets || r.meets[i];
    }
    for (uint64_t i = 0; got == CW_OK && i < r.nlast; i++)
        take_last(c, s, &r.last[i]);
    cwc_report_finish(&r);
    return got != CW_ERR_NOMEM;         /* where records cannot be put in there is no such evidence */
}

static bool
look_behind_delay(struct chance *c, unsigned place)
{
    struct cwl_side s = { 0 };
    struct cwv_variant v = variant(c, place, 0);
    cw_result r = cwv_open(&s, &c->x->base, &v, &c->x->e);
    bool ok = r == CW_OK ? look_at_meetings(c, &s, false) : r != CW_ERR_NOMEM;
    cwl_close(&s);
    return ok;
}

/* ---- what nobody wrote ------------------------------------------------------------------------------------------------------- */

static bool
same_bytes(uint64_t v, unsigned width, uint8_t byte)
{
    for (unsigned i = 0; i < width; i++)
        if ((uint8_t)(v >> 8 * i) != byte)
            return false;
    return true;
}

/* Elements that hold each pattern with which that memory was filled are its content: any value may be there. */
static bool
prove_copies(struct chance *c, unsigned place, unsigned order)
{
    static const uint8_t patterns[] = { 0xff, 0x00, 0x5a };
    struct set copies;
    bool ok = set_init(c->x, &copies), ran = ok;
    if (ok)
        memcpy(copies.in, c->differs->in, c->x->elements);
    for (unsigned k = 0; k < sizeof patterns && ok && ran && (k < 2 || any_open(c, &c->fills)); k++) {
        struct cwv_variant v = variant(c, place, order);
        struct cwl_side s;
        struct set now;
        uint64_t index;
        v.fill = true;
        v.pattern = patterns[k] * 0x01010101u;
        ok = set_init(c->x, &now);
        enum tried t = ok ? explain_try(c->x, &v, &now, &s) : FAILED;
        ran = t == TRIED;
        if (ran)
            explain_compare(c->x, &c->result, &s.result, &c->fills);
        if (ran && patterns[k] == 0 && !place && !order) {
            c->zero_element = open_element(c);
            uint32_t at = c->zero_element != UINT64_MAX ? explain_content(c->x, c->zero_element, &index) : 0;
            c->zero = c->zero_element != UINT64_MAX ? bits(c->x, &s.result, at, index) : 0;
        }
        for (uint64_t i = 0; i < c->x->elements && ran; i++) {
            uint32_t at = copies.in[i] || c->differs->in[i] ? explain_content(c->x, i, &index) : 0;
            if (copies.in[i])
                copies.in[i] = same_bytes(bits(c->x, &s.result, at, index), explain_width(c->x, at), patterns[k]);
            if (c->differs->in[i] && !now.in[i] && !proven(c, i)) {
                put(&c->stale, i);
                say_how(c, i, "comes out when memory and registers that nobody wrote hold something else", place_text(place));
            }
        }
        if (ran)
            cwl_close(&s);
        free(now.in);
        ok = ok && t != FAILED;
    }
    for (uint64_t i = 0; i < c->x->elements && ok && ran; i++)
        if (copies.in[i] && c->fills.in[i] && !proven(c, i)) {
            put(&c->stale, i);
            say_how(c, i, "is a copy of memory or a register that nobody wrote", place_text(place));
        }
    free(copies.in);
    return ok;
}

/* What may have been there, going by one element that has no proof yet: its value, as it is or converted, or how far it is off. */
enum { GUESSES = 8 };

static unsigned
guesses(const struct chance *c, uint64_t element, uint32_t out[GUESSES])
{
    uint64_t index;
    uint32_t k = explain_content(c->x, element, &index);
    uint64_t recorded = bits(c->x, &c->x->base.dump, k, index), here = element == c->zero_element ? c->zero : bits(c->x, &c->result, k, index);
    double v = number(c->x, &c->x->base.dump, k, index);
    unsigned n = 0;
    out[n++] = (uint32_t)recorded;
    out[n++] = (uint32_t)(recorded - here);
    if (v >= 0 && v < 4294967296.0 && (uint32_t)v != out[0])
        out[n++] = (uint32_t)v;
    if (v < 0 && v >= -2147483648.0)
        out[n++] = (uint32_t)(int32_t)v;
    /* A float was added: the difference, which may be rounded, as it is and with fewer digits. */
    float off = (float)(v - number_of(type_of(c->x, k), here));
    if (type_of(c->x, k) == PTX_F32 && isfinite(off)) {
        memcpy(&out[n++], &off, sizeof off);
        for (unsigned zeros = 8; zeros <= 16; zeros += 4) {
            out[n] = (out[n - 1] + (1u << (zeros - 1))) & ~((1u << zeros) - 1);
            n++;
        }
    }
    return n;
}

static bool
prove_stale(struct chance *c)
{
    bool ok = true;
    unsigned places = c->meets ? PLACES : 1;
    uint64_t element;
    for (unsigned place = 0; place < places && ok && open_element(c) != UINT64_MAX; place++)
        for (unsigned order = 0; order < (c->meets ? 2 : 1) && ok && open_element(c) != UINT64_MAX; order++)
            ok = prove_copies(c, place, order);
    for (unsigned place = 0; place < places && ok && (element = open_element(c)) != UINT64_MAX && c->fills.in[element]; place++) {
        uint32_t guess[GUESSES];
        unsigned n = guesses(c, element, guess);
        for (unsigned k = 0; k < n && ok; k++) {
            struct cwv_variant v = variant(c, place, 0);
            v.fill = true;
            v.pattern = guess[k];
            char text[120];
            snprintf(text, sizeof text, " (0x%08x)%s", guess[k], place_text(place));
            ok = prove_by(c, &v, &c->stale, "comes out when memory and registers that nobody wrote hold a certain value", text);
        }
    }
    return ok;
}

/* ---- all of it --------------------------------------------------------------------------------------------------------------- */

/* Are the results those of the launch with threads at each other's places? What does not change with the order stays where it is. */
static bool
permuted(struct chance *c)
{
    struct set places;
    bool same = set_init(c->x, &places);
    for (uint64_t i = 0; same && i < c->x->elements; i++)
        places.in[i] = c->differs->in[i] || c->moves.in[i];
    same = same && explain_rows(c->x, c->near, &places);
    free(places.in);
    return same;
}

/* Does the kernel, or a function of its modules? */
static bool
adds_floats(const struct cwi_program *p, const char *kernel)
{
    for (uint32_t i = 0; i < p->ninsts; i++) {
        const struct ptx_inst *in = p->insts[i].in;
        const struct ptx_function *fn = p->insts[i].fn;
        if (fn->is_entry && strcmp(fn->sym->name, kernel))
            continue;
        if ((in->op == PTX_OP_ATOM || in->op == PTX_OP_RED) && ptx_type_class((ptx_type)in->type[0]) == PTX_CLASS_FLOAT)
            return true;
    }
    return false;
}

/* The first instruction of the kernel, or of a function of its modules, that reads a clock; CWV_NONE. */
static uint32_t
reads_clock(const struct cwi_program *p, const char *kernel)
{
    for (uint32_t i = 0; i < p->ninsts; i++) {
        const struct ptx_inst *in = p->insts[i].in;
        const struct ptx_function *fn = p->insts[i].fn;
        for (unsigned k = 0; k < in->noperands && (!fn->is_entry || !strcmp(fn->sym->name, kernel)); k++)
            switch (in->operand[k].kind == PTX_OPND_SREG ? (ptx_sreg)in->operand[k].index : PTX_SREG_TID_X) {
            case PTX_SREG_CLOCK:
            case PTX_SREG_CLOCK_HI:
            case PTX_SREG_CLOCK64:
            case PTX_SREG_GLOBALTIMER:
            case PTX_SREG_GLOBALTIMER_LO:
            case PTX_SREG_GLOBALTIMER_HI:
                return i;
            default:
                break;
            }
    }
    return CWV_NONE;
}

/* Float sums: the numbers may come from sums that the kernel computes with, so no order that is tried need give them to the bit. */
static bool
between_orders(const struct chance *c)
{
    uint64_t index;
    for (uint64_t i = 0; i < c->x->elements; i++) {
        if (!c->differs->in[i] || proven(c, i))
            continue;
        uint32_t k = explain_content(c->x, i, &index);
        double v = number(c->x, &c->x->base.dump, k, index);
        unsigned type = type_of(c->x, k);
        if (!c->moves.in[i] || (type != PTX_F32 && type != PTX_F64) || !(v >= c->low[i] && v <= c->high[i]))
            return false;
    }
    return true;
}

static bool
all_move(const struct chance *c)
{
    for (uint64_t i = 0; i < c->x->elements; i++)
        if (c->differs->in[i] && !proven(c, i) && !c->moves.in[i])
            return false;
    return true;
}

static bool
look(struct chance *c)
{
    struct explain *x = c->x;
    bool adds = adds_floats(&x->base.program, x->base.dump.kernel);
    bool ok = explain_atomics(x, c->near, c->differs, &c->added, c->added_how, sizeof c->added_how);
    if (ok && open_element(c) == UINT64_MAX)
        return true;
    ok = ok && look_at_meetings(c, &x->base, true);
    if (!explain_runs(x) || cwc_run(c->near, CWC_RACES | CWC_UNINITIALISED, &c->faults, &x->e) != CW_OK)
        c->faults.kinds = 0;            /* where records cannot be put in there is no such evidence */
    for (unsigned place = AS_IT_IS; place < PLACES && ok && (!place || c->meets) && (!place || open_element(c) != UINT64_MAX); place++) {
        for (unsigned order = 0; order <= CWV_ORDERS && ok && (!place || open_element(c) != UINT64_MAX); order++)
            ok = try_order(c, place, order);
        if (ok && place && open_element(c) != UINT64_MAX)
            ok = look_behind_delay(c, place);
    }
    const bool moves = open_element(c) != UINT64_MAX && !adds && all_move(c);
    /* In a kernel without races the order of threads is no reason why a result should change from run to run. */
    if (moves && !c->meets && !c->faults.kinds)
        c->clock = reads_clock(&x->base.program, x->base.dump.kernel);
    if (c->clock != CWV_NONE)
        return ok;
    c->permuted = open_element(c) != UINT64_MAX && all_move(c) && permuted(c);
    for (unsigned order = CWV_ORDERS + 1; order <= CWV_ALL_ORDERS && ok && adds && any_open(c, &c->moves); order++)
        ok = try_order(c, AS_IT_IS, order);
    ok = ok && (open_element(c) == UINT64_MAX || c->permuted || prove_stale(c));
    if (ok && moves && !c->permuted && open_element(c) != UINT64_MAX)       /* threads race as well: it may be either, and is no fault */
        c->clock = reads_clock(&x->base.program, x->base.dump.kernel);
    return ok;
}

static void
say_meetings(const struct chance *c)
{
    if (c->faults.kinds & CWC_RACES) {
        cw_text_print(stdout, "%s", c->faults.lines.data);
        return;
    }
    for (unsigned place = BEFORE_READS; place < PLACES; place++)
        for (uint32_t i = 0; i < c->x->base.program.ninsts; i++)
            if (c->delay[place][i]) {
                char text[700];
                explain_place(c->x, &c->x->base, i, text, sizeof text);
                cw_text_print(stdout, "  nothing orders threads that %s at %s\n", place == BEFORE_READS ? "read" : "write", text);
            }
}

static int
judge(const struct chance *c)
{
    const struct explain *x = c->x;
    const char *also = c->with->fuse ? " besides those that fused products and sums explain" : "";
    bool adds = adds_floats(&x->base.program, x->base.dump.kernel), all = open_element(c) == UINT64_MAX;
    bool races = c->meets || c->faults.kinds & CWC_RACES, stale = touch(x, c->differs, &c->stale);
    if (within(x, c->differs, &c->added)) {
        cw_text_print(stdout, "cause: order of atomics: all %" PRIu64 " elements that differ%s are what threads add or exchange atomically, in an order that CUDA leaves open\n"
                      "  %s\n", c->differs->count, also, c->added_how);
        return EXPLAINED;
    }
    if (all && races && (!stale || touch(x, c->differs, &c->moves))) {
        cw_text_print(stdout, "cause: race: all %" PRIu64 " elements that differ%s may come out as recorded, and threads race%s\n  %s\n", c->differs->count, also,
                      stale ? " for memory, some of which nobody wrote" : "", c->how);
        say_meetings(c);
        return EXPLAINED;
    }
    if (all && stale) {
        cw_text_print(stdout, "cause: uninitialised: all %" PRIu64 " elements that differ%s may come out as recorded, by what shared memory, local memory or registers hold when the kernel begins\n  %s\n",
                      c->differs->count, also, c->how);
        if (c->faults.kinds & CWC_UNINITIALISED)
            cw_text_print(stdout, "%s", c->faults.lines.data);
        return EXPLAINED;
    }
    if (c->clock != CWV_NONE) {
        char place[700];
        explain_place(x, &x->base, c->clock, place, sizeof place);
        cw_text_print(stdout, "cause: clock: all %" PRIu64 " elements that differ%s change from run to run, and the kernel reads a clock\n  %s\n", c->differs->count, also, place);
        if (races) {
            puts("  threads race as well, which may be the cause, too");
            say_meetings(c);
        }
        return EXPLAINED;
    }
    bool between = adds && !all && between_orders(c);
    if (!all && !c->permuted && !between)
        return CWD_FAULT;
    if (adds)
        cw_text_print(stdout, "cause: order of atomics: all %" PRIu64 " elements that differ%s %s, and threads add floats atomically\n", c->differs->count, also,
                      between ? "lie between those that other orders of threads give" : "are those that another order of threads gives, to the bit");
    else
        cw_text_print(stdout, "cause: order of threads: all %" PRIu64 " elements that differ%s %s\n", c->differs->count, also,
                      all ? "are those that another order of threads gives, to the bit" : "change with the order of threads, and what each thread stores is as recorded, at another thread's place");
    if (*c->how)
        cw_text_print(stdout, "  %s\n", c->how);
    else
        explain_say_element(x, c->differs);
    return EXPLAINED;
}

/* What was seen, of what is called a translation fault: it may be a race all the same. */
static void
say_suspicion(const struct chance *c)
{
    if (c->meets || c->faults.kinds & CWC_RACES) {
        puts("no order of threads that was tried gives the recorded results, but threads race:");
        say_meetings(c);
    } else if (c->faults.kinds & CWC_UNINITIALISED) {
        cw_text_print(stdout, "%s", c->faults.lines.data);
    }
}

int
explain_chance(struct explain *x, const struct cwv_variant *with, struct set *differs)
{
    struct chance c = { .x = x, .with = with, .differs = differs, .clock = CWV_NONE };
    struct cwl_side near = { 0 };
    struct set again;
    int status = TROUBLE;
    bool ok = set_init(x, &c.added) && set_init(x, &c.scheduled) && set_init(x, &c.last) && set_init(x, &c.stale) && set_init(x, &c.fills) && set_init(x, &c.moves) && set_init(x, &again);
    c.low = malloc((x->elements + 1) * sizeof *c.low);
    c.high = malloc((x->elements + 1) * sizeof *c.high);
    for (unsigned i = BEFORE_READS; i < PLACES; i++) {
        c.delay[i] = calloc(x->base.program.ninsts + (size_t)1, 1);
        ok = ok && c.delay[i];
    }
    ok = ok && c.low && c.high;
    for (uint64_t i = 0; ok && i < x->elements; i++) {
        c.low[i] = INFINITY;
        c.high[i] = -INFINITY;
    }
    if (ok && explain_try(x, with, &again, &near) == TRIED) {
        c.near = &near;
        c.result = near.result;
        near.has_result = false;        /* kept here; the side may run again */
        bool looked = look(&c);
        cw_progress_clear(&x->progress);
        if (looked)
            status = judge(&c);
        if (status == EXPLAINED && x->o->results)
            cw_text_print(stdout, "{\"variant\":\"chance\",\"runs\":%" PRIu32 "}\n", x->runs);
        if (status == CWD_FAULT && !x->trying && !x->over)
            say_suspicion(&c);
        cwd_finish(&c.result);
        cwl_close(&near);
    }
    struct set *sets[] = { &c.added, &c.scheduled, &c.last, &c.stale, &c.moves, &c.fills, &again };
    for (unsigned i = 0; i < sizeof sets / sizeof *sets; i++)
        free(sets[i]->in);
    for (unsigned i = BEFORE_READS; i < PLACES; i++)
        free(c.delay[i]);
    cwc_report_finish(&c.faults);
    free(c.low);
    free(c.high);
    return status;
}
