/* SPDX-License-Identifier: Apache-2.0
 * See trace.h. The records of both sides are walked together; registers are known from the records of what wrote them. */
#include "replay/trace.h"

#include "replay/compare.h"

#include <stdlib.h>
#include <string.h>

enum { KNOWN = 1, ADDRESS = 2 };        /* of a register */
#define MAX_DEPTH 4096u
#define PAIRS 4096u                     /* of addresses seen, a power of two */

struct frame {
    const struct ptx_function *fn;
    uint64_t *value;
    uint8_t  *flags;
};

struct pending {                        /* results of the instruction under way, which may still read their old values */
    uint32_t reg;
    uint64_t value;
    uint8_t  flags;
    bool     upper;
};

struct side {
    const struct cwi_program *p;
    struct frame *frames;
    uint32_t nframes, capframes;
    uint64_t *records;                  /* not yet walked */
    uint64_t nrecords, at;
    struct pending pending[64];
    uint32_t npending;
    uint32_t pending_id;
    unsigned pending_part;
};

struct cwt {
    struct side side[2];
    const uint32_t *same;
    uint8_t *matched;                   /* second program's instructions that have one in the first */
    const struct cwt_place *places;
    uint32_t nplaces, ulp;
    uint32_t *count;                    /* executions of each instruction of the first program */
    uint32_t stop_id, stop_nth;
    uint64_t pair[PAIRS][2];
    bool has_place, failed;
    uint32_t place_id;
    uint64_t place[2];
    struct cwt_difference out;
};

unsigned
cwt_type(const struct cwi_inst *i, uint32_t reg, bool result)
{
    const struct ptx_inst *in = i->in;
    unsigned own = i->fn->regs[reg].type, bits = ptx_type_bits((ptx_type)own);
    unsigned t = in->type[!result && (in->op == PTX_OP_CVT || in->op == PTX_OP_SET) && in->type[1] ? 1 : 0];
    if (!result && (in->op == PTX_OP_LD || in->op == PTX_OP_LDU || ptx_op_info((ptx_op)in->op)->traits & PTX_T_WARP))
        return own;                     /* addresses, lanes, parts of matrices */
    if (in->op == PTX_OP_MOV || (in->op == PTX_OP_SETP && result) || own == PTX_PRED)
        return own;
    return ptx_type_bits((ptx_type)t) == bits && ptx_type_class((ptx_type)t) != PTX_CLASS_BITS ? t : own;
}

struct cwt *
cwt_create(const struct cwi_program *a, const struct cwi_program *b, const uint32_t *same, const struct cwt_place *places, uint32_t nplaces,
           uint32_t ulp)
{
    struct cwt *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->side[0].p = a;
    c->side[1].p = b;
    c->same = same;
    c->places = places;
    c->nplaces = nplaces;
    c->ulp = ulp;
    c->stop_id = c->place_id = c->out.branch = c->out.address_id = CWT_NO_ID;
    c->count = calloc(a->ninsts + (size_t)1, sizeof *c->count);
    c->matched = calloc(b->ninsts + (size_t)1, 1);
    if (!c->count || !c->matched) {
        cwt_destroy(c);
        return NULL;
    }
    for (uint32_t i = 0; same && i < a->ninsts; i++)
        if (same[i] != CWT_NO_ID)
            c->matched[same[i]] = 1;
    if (!same)
        memset(c->matched, 1, b->ninsts);
    return c;
}

void
cwt_destroy(struct cwt *c)
{
    for (unsigned k = 0; c && k < 2; k++) {
        struct side *s = &c->side[k];
        for (uint32_t i = 0; i < s->nframes; i++) {
            free(s->frames[i].value);
            free(s->frames[i].flags);
        }
        free(s->frames);
        free(s->records);
    }
    if (c) {
        free(c->count);
        free(c->matched);
    }
    free(c);
}

void
cwt_stop_at(struct cwt *c, uint32_t id, uint32_t nth)
{
    c->stop_id = id;
    c->stop_nth = nth;
}

bool
cwt_failed(const struct cwt *c)
{
    return c->failed;
}

const struct cwt_difference *
cwt_result(const struct cwt *c)
{
    return &c->out;
}

bool
cwt_place(const struct cwt *c, uint32_t id, uint64_t place[2])
{
    memcpy(place, c->place, sizeof c->place);
    return c->place_id == id;
}

/* ---- registers --------------------------------------------------------------------------------------------------------------- */

static bool
enter(struct side *s, const struct ptx_function *fn)
{
    if (s->nframes >= MAX_DEPTH)
        return false;
    if (s->nframes == s->capframes) {
        uint32_t n = s->capframes ? s->capframes * 2 : 8;
        struct frame *f = realloc(s->frames, n * sizeof *f);
        if (!f)
            return false;
        s->frames = f;
        s->capframes = n;
    }
    struct frame *f = &s->frames[s->nframes++];
    f->fn = fn;
    f->value = calloc(fn->nregs + (size_t)1, sizeof *f->value);
    f->flags = calloc(fn->nregs + (size_t)1, 1);
    return f->value && f->flags;
}

static void
leave(struct side *s)
{
    if (!s->nframes)
        return;
    struct frame *f = &s->frames[--s->nframes];
    free(f->value);
    free(f->flags);
}

static struct frame *
top(struct side *s)
{
    return s->nframes ? &s->frames[s->nframes - 1] : NULL;
}

static void
settle(struct side *s)
{
    struct frame *f = top(s);
    for (uint32_t i = 0; i < s->npending && f; i++) {
        const struct pending *p = &s->pending[i];
        if (p->reg >= f->fn->nregs)
            continue;
        if (!p->upper)
            f->value[p->reg] = p->value;        /* of 128 bits the lower half is kept */
        f->flags[p->reg] = p->flags;
    }
    s->npending = 0;
}

static void
set_result(struct side *s, uint64_t key, uint64_t value, uint8_t flags)
{
    const struct cwi_inst *i = &s->p->insts[CWI_ID(key)];
    bool upper;
    uint32_t reg = cwi_result_register(i->fn, i->in, CWI_PART(key), &upper);
    if (reg == UINT32_MAX || s->npending == sizeof s->pending / sizeof *s->pending)
        return;
    s->pending[s->npending++] = (struct pending){ reg, value, (uint8_t)(KNOWN | flags), upper };
    s->pending_id = CWI_ID(key);
    s->pending_part = CWI_PART(key);
}

/* A record that does not continue the instruction under way settles it. */
static void
advance(struct side *s, uint64_t key)
{
    if (s->npending && (CWI_KIND(key) != CWI_RESULT || CWI_ID(key) != s->pending_id || CWI_PART(key) <= s->pending_part))
        settle(s);
}

/* ---- operands ---------------------------------------------------------------------------------------------------------------- */

static void
add_sources(const struct ptx_operand *o, uint32_t *reg, uint32_t *n, uint32_t max)
{
    if ((o->kind == PTX_OPND_REG || (o->kind == PTX_OPND_ADDR && o->has_reg)) && *n < max)
        reg[(*n)++] = o->index;
    if (o->kind == PTX_OPND_VEC || o->kind == PTX_OPND_PRED_PAIR || o->kind == PTX_OPND_LIST)
        for (unsigned i = 0; i < o->count; i++)
            add_sources(&o->elem[i], reg, n, max);
}

static uint32_t
sources(const struct ptx_inst *in, uint32_t *reg, uint32_t max)
{
    const struct ptx_operand *result = cwi_result(in);
    uint32_t n = 0;
    if (in->op == PTX_OP_BRA && in->has_guard)
        reg[n++] = in->guard;
    for (unsigned i = 0; i < in->noperands; i++)
        if (&in->operand[i] != result)
            add_sources(&in->operand[i], reg, &n, max);
    return n;
}

static void
gather(struct cwt *c, uint32_t a, uint32_t b)
{
    enum { MAX = sizeof c->out.operand / sizeof *c->out.operand };
    uint32_t reg[2][MAX];
    uint32_t n = sources(c->side[0].p->insts[a].in, reg[0], MAX), m = sources(c->side[1].p->insts[b].in, reg[1], MAX);
    struct frame *f = top(&c->side[0]), *g = top(&c->side[1]);
    c->out.noperands = 0;
    for (uint32_t i = 0; (i < n || i < m) && f && g; i++) {
        struct cwt_operand *o = &c->out.operand[c->out.noperands++];
        *o = (struct cwt_operand){ .reg = { i < n ? reg[0][i] : CWT_NO_ID, i < m ? reg[1][i] : CWT_NO_ID } };
        for (unsigned k = 0; k < 2; k++) {
            const struct frame *h = k ? g : f;
            if (o->reg[k] >= h->fn->nregs)
                continue;
            o->value[k] = h->value[o->reg[k]];
            o->known[k] = h->flags[o->reg[k]] & KNOWN;
            o->address = h->flags[o->reg[k]] & ADDRESS;
        }
        o->differs = o->known[0] && o->known[1] && o->value[0] != o->value[1];
    }
}

/* ---- addresses --------------------------------------------------------------------------------------------------------------- */

static uint64_t *
pair_slot(struct cwt *c, uint64_t a, uint64_t b)
{
    uint64_t h = (a * 0x9e3779b97f4a7c15u ^ b) * 0xbf58476d1ce4e5b9u;
    return c->pair[h >> 52 & (PAIRS - 1)];
}

static bool
same_place(const struct cwt *c, uint64_t a, uint64_t b)
{
    for (uint32_t i = 0; i < c->nplaces; i++) {
        const struct cwt_place *p = &c->places[i];
        if (a - p->at[0] <= p->size && a - p->at[0] == b - p->at[1])
            return true;
    }
    return false;
}

static bool
is_machines(unsigned sreg)
{
    switch (sreg) {
    case PTX_SREG_CLOCK: case PTX_SREG_CLOCK64: case PTX_SREG_CLOCK_HI: case PTX_SREG_GLOBALTIMER: case PTX_SREG_GLOBALTIMER_LO:
    case PTX_SREG_GLOBALTIMER_HI: case PTX_SREG_SMID: case PTX_SREG_NSMID: case PTX_SREG_WARPID: case PTX_SREG_NWARPID: case PTX_SREG_GRIDID:
        return true;
    default:
        return false;
    }
}

/* The instruction gives an address, or what else differs by the nature of devices. */
static bool
makes_address(const struct ptx_inst *in)
{
    switch (in->op) {
    case PTX_OP_MOV:
        return in->noperands > 1 && (in->operand[1].kind == PTX_OPND_SYM || (in->operand[1].kind == PTX_OPND_SREG && is_machines(in->operand[1].index)));
    case PTX_OP_CVTA: case PTX_OP_MAPA: case PTX_OP_ALLOCA: case PTX_OP_STACKSAVE:
        return true;
    default:
        return false;
    }
}

static bool
reads_memory(const struct ptx_inst *in)
{
    return ptx_op_info((ptx_op)in->op)->traits & PTX_T_READS_MEM;
}

/* Sums with one address move by what the address is moved by. */
static bool
keeps_distance(const struct cwt *c, const struct ptx_inst *in, uint64_t a, uint64_t b)
{
    unsigned bits = ptx_type_bits((ptx_type)in->type[0]);
    uint64_t mask = bits >= 64 ? UINT64_MAX : (1ull << bits) - 1, moved = 0;
    if ((in->op != PTX_OP_ADD && in->op != PTX_OP_SUB) || (bits != 32 && bits != 64))
        return true;
    for (uint32_t i = 0; i < c->out.noperands; i++) {
        const struct cwt_operand *o = &c->out.operand[i];
        uint64_t d = o->value[0] - o->value[1];
        moved += in->op == PTX_OP_SUB && i ? -d : d;
    }
    return ((a - b) & mask) == (moved & mask);
}

/* After gather(): do the results differ only as addresses do? */
static bool
is_address(struct cwt *c, const struct ptx_inst *in, uint64_t a, uint64_t b)
{
    uint32_t differing = 0, addresses = 0;
    for (uint32_t i = 0; i < c->out.noperands; i++) {
        differing += c->out.operand[i].differs;
        addresses += c->out.operand[i].differs && c->out.operand[i].address;
    }
    uint64_t *seen = pair_slot(c, a, b);
    bool yes = same_place(c, a, b) || makes_address(in) || (seen[0] == a && seen[1] == b);
    if (!yes && !reads_memory(in))
        yes = differing && differing == addresses && keeps_distance(c, in, a, b);
    if (yes) {
        seen[0] = a;
        seen[1] = b;
    }
    return yes;
}

/* ---- walking ----------------------------------------------------------------------------------------------------------------- */

static bool
found(struct cwt *c, enum cwt_found what, uint32_t a, uint32_t b)
{
    c->out.found = what;
    c->out.id[0] = a;
    c->out.id[1] = b;
    return true;
}

/* One record of one side alone: one that the other program does not have, or the effect of one that both have. */
static void
apply(struct cwt *c, struct side *s, uint64_t key, uint64_t value, uint8_t flags)
{
    const struct cwi_inst *i = &s->p->insts[CWI_ID(key)];
    struct frame *f;
    switch (CWI_KIND(key)) {
    case CWI_ENTRY:
        if (!enter(s, i->fn))
            c->failed = true;
        break;
    case CWI_LEAVE:
        leave(s);
        break;
    case CWI_ARGUMENT:
        f = top(s);
        if (f && CWI_PART(key) < i->fn->nparams && i->fn->params[CWI_PART(key)]->reg < f->fn->nregs) {
            f->value[i->fn->params[CWI_PART(key)]->reg] = value;
            f->flags[i->fn->params[CWI_PART(key)]->reg] = (uint8_t)(KNOWN | flags);
        }
        break;
    case CWI_RESULT:
        set_result(s, key, value, flags);
        break;
    default:
        break;
    }
}

/* Is the result a float, and near enough? */
static bool
is_near(const struct cwt *c, uint64_t key, uint64_t a, uint64_t b)
{
    const struct cwi_inst *i = &c->side[0].p->insts[CWI_ID(key)];
    bool upper;
    uint32_t reg = c->ulp && CWI_KIND(key) == CWI_RESULT ? cwi_result_register(i->fn, i->in, CWI_PART(key), &upper) : UINT32_MAX;
    return reg != UINT32_MAX && cwd_value_same(a, b, cwt_type(i, reg, true), c->ulp);
}

/* A pair of records of the same instruction. True: decided. */
static bool
pair(struct cwt *c, uint64_t ka, uint64_t va, uint64_t kb, uint64_t vb)
{
    uint32_t a = CWI_ID(ka), b = CWI_ID(kb);
    const struct ptx_inst *in = c->side[0].p->insts[a].in;
    uint8_t flags = 0;
    if (CWI_KIND(ka) == CWI_RESULT && !CWI_PART(ka)) {
        c->count[a]++;
        if (a == c->stop_id && c->count[a] == c->stop_nth)
            return true;
    }
    if (CWI_KIND(ka) == CWI_PLACE) {
        c->place_id = a;
        c->place[0] = va;
        c->place[1] = vb;
        return false;
    }
    if (CWI_KIND(ka) == CWI_BRANCH)
        c->out.branch = a;
    if (va != vb && CWI_KIND(ka) != CWI_ENTRY && !is_near(c, ka, va, vb)) {
        gather(c, a, b);
        if (CWI_KIND(ka) == CWI_ARGUMENT || is_address(c, in, va, vb)) {
            flags = ADDRESS;
            if (c->out.address_id == CWT_NO_ID)
                c->out.address_id = a;
        } else {
            c->out.nth = c->count[a];
            c->out.part = CWI_PART(ka);
            c->out.value[0] = va;
            c->out.value[1] = vb;
            c->out.has_place = c->place_id == a;
            memcpy(c->out.place, c->place, sizeof c->place);
            return found(c, CWI_KIND(ka) == CWI_BRANCH ? CWT_BRANCH : CWT_VALUE, a, b);
        }
    }
    apply(c, &c->side[0], ka, va, flags);
    apply(c, &c->side[1], kb, vb, flags);
    return false;
}

static bool
in_both(const struct cwt *c, unsigned side, uint64_t key)
{
    return side ? c->matched[CWI_ID(key)] : !c->same || c->same[CWI_ID(key)] != CWT_NO_ID;
}

/* The next record that the other program has too; CWI_RESULT and such of others take effect. False: there is none for now. */
static bool
next(struct cwt *c, unsigned k, uint64_t *key, uint64_t *value)
{
    struct side *s = &c->side[k];
    for (; s->at < s->nrecords; s->at++) {
        *key = s->records[2 * s->at];
        *value = ~s->records[2 * s->at + 1];
        if (CWI_ID(*key) >= s->p->ninsts) {
            c->failed = true;
            return false;
        }
        advance(s, *key);
        if (in_both(c, k, *key))
            return true;
        apply(c, s, *key, *value, 0);
    }
    return false;
}

static bool
take_in(struct side *s, const uint64_t *records, uint64_t n)
{
    uint64_t left = s->nrecords - s->at;
    uint64_t *p = malloc((size_t)(left + n + 1) * 16);
    if (!p)
        return false;
    if (left)
        memcpy(p, s->records + 2 * s->at, (size_t)left * 16);
    if (n)
        memcpy(p + 2 * left, records, (size_t)n * 16);
    free(s->records);
    s->records = p;
    s->nrecords = left + n;
    s->at = 0;
    return true;
}

bool
cwt_feed(struct cwt *c, const uint64_t *a, uint64_t na, const uint64_t *b, uint64_t nb, bool last)
{
    uint64_t ka = 0, va = 0, kb = 0, vb = 0;
    if (!take_in(&c->side[0], a, na) || !take_in(&c->side[1], b, nb)) {
        c->failed = true;
        return false;
    }
    while (!c->failed) {
        bool x = next(c, 0, &ka, &va), y = next(c, 1, &kb, &vb);
        if (c->failed || (!last && !(x && y)))
            return false;
        if (!x && !y)
            return true;
        uint32_t there = x ? c->same ? c->same[CWI_ID(ka)] : CWI_ID(ka) : CWT_NO_ID;
        if (!x || !y || there != CWI_ID(kb) || CWI_KIND(ka) != CWI_KIND(kb) || CWI_PART(ka) != CWI_PART(kb))
            return found(c, CWT_FLOW, x ? CWI_ID(ka) : CWT_NO_ID, y ? CWI_ID(kb) : CWT_NO_ID);
        if (pair(c, ka, va, kb, vb))
            return true;
        c->side[0].at++;
        c->side[1].at++;
    }
    return false;
}

/* ---- two texts --------------------------------------------------------------------------------------------------------------- */

static size_t
opcode_length(const struct cwi_program *p, const struct cwi_inst *i, const char **s)
{
    const char *end = p->texts[i->text].text + i->end;
    *s = p->texts[i->text].text + i->begin;
    if (i->in->has_guard)
        while (*s < end && **s != ' ' && **s != '\t')
            (*s)++;
    while (*s < end && (**s == ' ' || **s == '\t'))
        (*s)++;
    size_t n = 0;
    while (*s + n < end && (*s)[n] != ' ' && (*s)[n] != '\t' && (*s)[n] != ';' && (*s)[n] != '\n')
        n++;
    return n;
}

static bool
alike(const struct cwi_program *a, uint32_t i, const struct cwi_program *b, uint32_t k)
{
    const char *s, *t;
    size_t n = opcode_length(a, &a->insts[i], &s), m = opcode_length(b, &b->insts[k], &t);
    return n == m && !memcmp(s, t, n) && a->insts[i].in->has_guard == b->insts[k].in->has_guard;
}

/* The longest common subsequence; what was replaced one by one, in between, belongs together too. */
static bool
align(const struct cwi_program *a, uint32_t i, uint32_t n, const struct cwi_program *b, uint32_t k, uint32_t m, uint32_t *same)
{
    while (n && m && alike(a, i, b, k)) {
        same[i++] = k++;
        n--;
        m--;
    }
    while (n && m && alike(a, i + n - 1, b, k + m - 1))
        same[i + --n] = k + --m;
    if (!n || !m)
        return true;
    if (n == m && n <= 4) {
        while (n--)
            same[i + n] = k + n;
        return true;
    }
    if ((uint64_t)n * m > 64u << 20)
        return true;            /* too different to say more */
    uint16_t *length = calloc((size_t)(n + 1) * (m + 1), sizeof *length);
    if (!length)
        return false;
    for (uint32_t x = n; x-- > 0;)
        for (uint32_t y = m; y-- > 0;) {
            uint16_t down = length[(size_t)(x + 1) * (m + 1) + y], right = length[(size_t)x * (m + 1) + y + 1];
            uint16_t both = length[(size_t)(x + 1) * (m + 1) + y + 1];      /* at most 2^13, as n * m is bounded */
            length[(size_t)x * (m + 1) + y] = alike(a, i + x, b, k + y) ? (uint16_t)(both + 1) : down > right ? down : right;
        }
    bool ok = true;
    for (uint32_t x = 0, y = 0, gx = 0, gy = 0;;) {
        bool end = x == n || y == m, hit = !end && alike(a, i + x, b, k + y);
        if (hit || end) {
            uint32_t p = (end ? n : x) - gx, q = (end ? m : y) - gy;
            for (uint32_t z = 0; p == q && z < p; z++)
                same[i + gx + z] = k + gy + z;
            if (end)
                break;
            same[i + x] = k + y;
            gx = ++x;
            gy = ++y;
        } else if (length[(size_t)(x + 1) * (m + 1) + y] >= length[(size_t)x * (m + 1) + y + 1]) {
            x++;
        } else {
            y++;
        }
    }
    free(length);
    return ok;
}

static uint32_t
function_end(const struct cwi_program *p, uint32_t i)
{
    const struct ptx_function *fn = p->insts[i].fn;
    while (i < p->ninsts && p->insts[i].fn == fn)
        i++;
    return i;
}

uint32_t *
cwt_align(const struct cwi_program *a, const struct cwi_program *b)
{
    uint32_t *same = malloc((a->ninsts + (size_t)1) * sizeof *same);
    for (uint32_t i = 0; same && i < a->ninsts; i++)
        same[i] = CWT_NO_ID;
    for (uint32_t i = 0, n; same && i < a->ninsts; i = n) {
        n = function_end(a, i);
        for (uint32_t k = 0, m; k < b->ninsts; k = m) {
            m = function_end(b, k);
            if (!strcmp(a->insts[i].fn->sym->name, b->insts[k].fn->sym->name) && !align(a, i, n - i, b, k, m - k, same)) {
                free(same);
                return NULL;
            }
        }
    }
    return same;
}
