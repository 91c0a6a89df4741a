/* SPDX-License-Identifier: Apache-2.0
 * Wrong accesses, races, and reads of what nobody wrote.
 *
 * Races. Two accesses of different threads to the same bytes, one of them a write, race unless something orders them. In a block: a
 * barrier of all threads between them (each thread counts those that it passed); or a release by the first thread after its access and
 * an acquire by the second of something released later than that. Between blocks the same, each block counting as one. Atomics, accesses with .volatile or
 * ordering, and barriers of a part of the block release and acquire. This errs on the side of order: it may miss a race, it does not invent
 * one. Stores of the same value do not race: whichever comes last, the value is the same. */
#include "replay/check_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An access as a cell remembers it. */
struct last {
    uint64_t block, order, value;       /* order 0: none */
    uint32_t thread, id, passed;
    uint8_t what;
};

/* A piece of memory of `grain` bytes. */
struct cell {
    uint64_t owner, at;                 /* block, or block and thread, or SHARED_BY_ALL; address / grain */
    bool used, written;
    struct last write, read[2];
    struct last *open;                  /* MEETINGS: the stores that none is ordered behind */
    uint32_t nopen;
    uint8_t bytes;                      /* of these; 0: of different sizes, or too many */
};
enum { MAX_OPEN = 4096 };

#define SHARED_BY_ALL UINT64_MAX

struct thread_state {
    uint32_t passed;                    /* barriers of the whole block */
    uint64_t released, acquired;        /* when it released last; the latest release that it acquired */
};

struct block_state {
    struct thread_state *threads;
    uint64_t released, acquired;
};

struct object {                         /* something that is released and acquired */
    uint64_t owner, at, released;
    bool used;
};

struct memory {
    uint64_t blocks;
    struct block_state *block;
    struct cell *cells;
    uint64_t ncells, room;
    struct object *objects;
    uint64_t nobjects, object_room;
    unsigned grain;
    bool hidden;                        /* instructions write shared memory without records */
};

enum { OUTSIDE, MISALIGNED, RACE, UNINITIALISED, REGISTER };

static uint64_t
hash(uint64_t a, uint64_t b)
{
    uint64_t h = (a * 0x9e3779b97f4a7c15ull) ^ (b * 0xc2b2ae3d27d4eb4full);
    return h ^ h >> 29;
}

static struct cell *
cell_at(struct memory *m, uint64_t owner, uint64_t at)
{
    if (m->ncells * 2 >= m->room) {
        uint64_t room = m->room ? m->room * 2 : 1 << 12;
        struct cell *bigger = calloc(room, sizeof *bigger);
        if (!bigger)
            return NULL;
        for (uint64_t i = 0; i < m->room; i++)
            if (m->cells[i].used) {
                uint64_t k = hash(m->cells[i].owner, m->cells[i].at) & (room - 1);
                while (bigger[k].used)
                    k = (k + 1) & (room - 1);
                bigger[k] = m->cells[i];
            }
        free(m->cells);
        m->cells = bigger;
        m->room = room;
    }
    uint64_t k = hash(owner, at) & (m->room - 1);
    while (m->cells[k].used && (m->cells[k].owner != owner || m->cells[k].at != at))
        k = (k + 1) & (m->room - 1);
    if (!m->cells[k].used) {
        m->cells[k] = (struct cell){ .owner = owner, .at = at, .used = true };
        m->ncells++;
    }
    return &m->cells[k];
}

static struct object *
object_at(struct memory *m, uint64_t owner, uint64_t at)
{
    if (m->nobjects * 2 >= m->object_room) {
        uint64_t room = m->object_room ? m->object_room * 2 : 1 << 8;
        struct object *bigger = calloc(room, sizeof *bigger);
        if (!bigger)
            return NULL;
        for (uint64_t i = 0; i < m->object_room; i++)
            if (m->objects[i].used) {
                uint64_t k = hash(m->objects[i].owner, m->objects[i].at) & (room - 1);
                while (bigger[k].used)
                    k = (k + 1) & (room - 1);
                bigger[k] = m->objects[i];
            }
        free(m->objects);
        m->objects = bigger;
        m->object_room = room;
    }
    uint64_t k = hash(owner, at) & (m->object_room - 1);
    while (m->objects[k].used && (m->objects[k].owner != owner || m->objects[k].at != at))
        k = (k + 1) & (m->object_room - 1);
    if (!m->objects[k].used) {
        m->objects[k] = (struct object){ .owner = owner, .at = at, .used = true };
        m->nobjects++;
    }
    return &m->objects[k];
}

static struct thread_state *
state(struct check *c, struct who w)
{
    struct block_state *b = &c->memory->block[w.block];
    if (!b->threads)
        b->threads = calloc(c->threads, sizeof *b->threads);
    return b->threads ? &b->threads[w.thread] : NULL;
}

/* ---- order ------------------------------------------------------------------------------------------------------------------- */

static void
release(struct check *c, const struct record *r, uint64_t owner, uint64_t at)
{
    struct object *o = object_at(c->memory, owner, at);
    struct thread_state *t = state(c, r->who);
    if (!o || !t) {
        c->failed = true;
        return;
    }
    o->released = t->released = c->memory->block[r->who.block].released = r->order;
}

static void
acquire(struct check *c, const struct record *r, uint64_t owner, uint64_t at)
{
    struct object *o = object_at(c->memory, owner, at);
    struct thread_state *t = state(c, r->who);
    if (!o || !t) {
        c->failed = true;
        return;
    }
    struct block_state *b = &c->memory->block[r->who.block];
    t->acquired = o->released > t->acquired ? o->released : t->acquired;
    b->acquired = o->released > b->acquired ? o->released : b->acquired;
}

static bool
in_order(struct check *c, const struct last *a, const struct record *r, const struct thread_state *t)
{
    if (a->block != r->who.block) {
        const struct block_state *x = &c->memory->block[a->block], *y = &c->memory->block[r->who.block];
        return x->released > a->order && y->acquired > a->order;
    }
    struct thread_state *other = state(c, (struct who){ a->block, a->thread });
    return a->thread == r->who.thread || a->passed < t->passed || (other && other->released > a->order && t->acquired > a->order);
}

/* ---- meetings ---------------------------------------------------------------------------------------------------------------- */

static bool
is_sync(unsigned what)
{
    return what == CWI_SYNC_READ || what == CWI_SYNC_WRITE || what == CWI_MODIFY;
}

static bool
reads_only(unsigned what)
{
    return what == CWI_READ || what == CWI_SYNC_READ;
}

/* Accesses with .volatile or ordering and atomics come in any order themselves, whatever they order: only a barrier parts them. */
static void
meet(struct check *c, const struct last *a, const struct record *r, const struct thread_state *t)
{
    if (!a->order || (a->block == r->who.block && a->thread == r->who.thread) || (reads_only(a->what) && reads_only(r->what)) ||
        (a->what == CWI_MODIFY && r->what == CWI_MODIFY))
        return;
    bool passed = a->block == r->who.block && a->passed < t->passed;
    if (is_sync(a->what) && is_sync(r->what) ? passed : in_order(c, a, r, t))
        return;
    uint8_t *meets = c->report->meets;
    meets[a->id] |= reads_only(a->what) ? CWC_MEETS_READING : CWC_MEETS_WRITING;
    meets[r->id] |= reads_only(r->what) ? CWC_MEETS_READING : CWC_MEETS_WRITING;
}

static void
keep_open(struct check *c, struct cell *x, const struct record *r, const struct last *l, const struct thread_state *t)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->nopen; i++)
        if (!in_order(c, &x->open[i], r, t))
            x->open[n++] = x->open[i];
    x->bytes = r->what != CWI_MODIFY && (n == 0 || x->bytes == r->bytes) ? (uint8_t)r->bytes : 0;      /* no record has an atomic's result */
    if (n == MAX_OPEN) {
        x->bytes = 0;
        return;
    }
    if ((n & (n - 1)) == 0) {           /* grows by doubling */
        struct last *more = realloc(x->open, (n ? 2 * (size_t)n : 1) * sizeof *more);
        if (!more) {
            c->failed = true;
            return;
        }
        x->open = more;
    }
    x->open[n] = *l;
    x->nopen = n + 1;
}

/* After the last record. */
static void
report_last(struct check *c)
{
    const struct memory *m = c->memory;
    uint64_t n = 0;
    for (uint64_t i = 0; i < m->room; i++)
        n += m->cells[i].nopen > 1 && m->cells[i].bytes == m->grain ? m->cells[i].nopen : 0;
    struct cwc_last *all = calloc(n + 1, sizeof *all);
    c->report->last = all;
    c->failed = c->failed || !all;
    for (uint64_t i = 0; i < m->room && all; i++) {
        const struct cell *x = &m->cells[i];
        for (uint32_t k = 0; x->nopen > 1 && x->bytes == m->grain && k < x->nopen; k++)
            all[c->report->nlast++] = (struct cwc_last){ x->at * m->grain, x->open[k].value, x->bytes, x->open[k].id };
    }
}

/* ---- text -------------------------------------------------------------------------------------------------------------------- */

static const char *
verb(unsigned what)
{
    return what == CWI_READ || what == CWI_SYNC_READ ? "read" : what == CWI_MODIFY ? "changed atomically" : "written";
}

static uint64_t
distance(const struct cwl_side *s, uint32_t i, uint64_t at)
{
    uint64_t begin = s->address[i], end = begin + s->dump.buffers[i].size;
    return at < begin ? begin - at : at >= end ? at - end + 1 : 0;
}

/* The buffer that an address is in or next to. */
static uint32_t
nearest(const struct check *c, uint64_t address)
{
    const struct cwl_side *s = c->side;
    uint32_t best = 0;
    for (uint32_t i = 1; i < s->dump.nbuffers; i++)
        if (s->address[i] && distance(s, i, address) < distance(s, best, address))
            best = i;
    return best;
}

/* The latest allocation at an address; `freed`: one that was freed. */
static const struct cwl_allocation *
history(const struct cwl_side *s, uint64_t address, bool freed)
{
    for (uint32_t i = s->nhistory; i-- > 0;)
        if (s->history[i].freed == freed && address - s->history[i].address < s->history[i].size)
            return &s->history[i];
    return NULL;
}

/* The same of a variable in constant memory or a parameter. */
static void
constant_text(const struct check *c, const struct record *r, char *out, size_t size)
{
    int64_t at;
    const struct ptx_symbol *s = cwi_constant_nearest(&c->side->program, r->id, r->value, &at);
    const char *kind = r->where == CWI_CONST ? "the constant variable" : "parameter";
    if (!s)
        snprintf(out, size, "0x%" PRIx64 " of %s", r->address, r->where == CWI_CONST ? "constant memory; the module has no variable there" : "the parameters");
    else if (at < 0 || (uint64_t)at >= s->size)
        snprintf(out, size, "%" PRIu64 " bytes %s %s %s, of %" PRIu64 " bytes", at < 0 ? (uint64_t)-at : (uint64_t)at - s->size, at < 0 ? "before" : "behind", kind, s->name, s->size);
    else if (s->size - (uint64_t)at < r->bytes)
        snprintf(out, size, "byte %" PRId64 " of %s %s, which ends there after %" PRIu64 " bytes", at, kind, s->name, s->size);
    else
        snprintf(out, size, "byte %" PRId64 " of %s %s", at, kind, s->name);
}

/* "byte 16 of buffer 4, parameter out", or how far it is from the nearest allocation. */
static void
place_text(const struct check *c, const struct record *r, char *out, size_t size)
{
    const struct cwl_side *s = c->side;
    char where[160];
    uint32_t best = nearest(c, r->address);
    if (r->where == CWI_SHARED_MEMORY) {
        snprintf(out, size, "byte %" PRIu64 " of the block's shared memory", r->address);
        return;
    }
    if (r->where == CWI_LOCAL) {
        snprintf(out, size, "byte 0x%" PRIx64 " of the thread's local memory", r->address);
        return;
    }
    if (r->where == CWI_CONST || r->where == CWI_PARAMETERS) {
        constant_text(c, r, out, size);
        return;
    }
    if (!s->dump.nbuffers) {
        snprintf(out, size, "0x%" PRIx64 "; the launch has no memory", r->address);
        return;
    }
    uint64_t begin = s->address[best], bytes = s->dump.buffers[best].size;
    cwd_where(&s->dump, best, where, sizeof where);
    if (r->address - begin < bytes && r->address - begin + r->bytes <= bytes)
        snprintf(out, size, "byte %" PRIu64 " of buffer %u, %s", r->address - begin, best, where);
    else if (r->address - begin < bytes)
        snprintf(out, size, "byte %" PRIu64 " of buffer %u, %s, which ends there after %" PRIu64 " bytes", r->address - begin, best, where, bytes);
    else
        snprintf(out, size, "0x%" PRIx64 ", %" PRIu64 " bytes %s buffer %u, %s, of %" PRIu64 " bytes", r->address,
                 r->address < begin ? begin - r->address : r->address - begin - bytes, r->address < begin ? "before" : "behind", best, where, bytes);
}

static void
memory_text(const struct check *c, const struct record *r, char *out, size_t size)
{
    const struct cwl_allocation *a = r->where == CWI_GLOBAL && r->outside ? history(c->side, r->address, true) : NULL;
    if (a) {
        snprintf(out, size, "byte %" PRIu64 " of memory that is freed, of %" PRIu64 " bytes, %s", r->address - a->address, a->size, a->text);
        return;
    }
    place_text(c, r, out, size);
    size_t n = strlen(out);
    uint32_t best = nearest(c, r->address);
    a = r->where == CWI_GLOBAL && best < c->side->dump.nbuffers ? history(c->side, c->side->dump.buffers[best].address, false) : NULL;
    if (a)
        snprintf(out + n, size - n, ", %s", a->text);
}

static void
found(struct check *c, enum cwc_what kind, unsigned what, const struct record *r)
{
    check_found(c, &(struct finding){ .kind = kind, .what = what, .act = { { r->who, r->id, r->what } }, .record = *r });
}

void
memory_say(struct check *c, const struct finding *f)
{
    static const char *const texts[] = { [OUTSIDE] = "out of bounds", [MISALIGNED] = "misaligned", [UNINITIALISED] = "uninitialised read" };
    char who[2][128], place[2][700], memory[800];
    unsigned acts = f->what == RACE ? 2 : 1;
    for (unsigned i = 0; i < acts; i++) {
        check_who(c, f->act[i].who, who[i], sizeof who[i]);
        check_place(c, f->act[i].id, place[i], sizeof place[i]);
    }
    if (f->what == REGISTER) {
        check_say(c, "uninitialised register: nothing was written to one that is read\n  by %s at %s", who[0], place[0]);
        return;
    }
    memory_text(c, &f->record, memory, sizeof memory);
    if (f->what == RACE)
        check_say(c, "race: %s is\n  %s by %s at %s\n  and %s by %s at %s\n  and nothing orders the two", memory, verb(f->act[0].what), who[0], place[0],
                  verb(f->act[1].what), who[1], place[1]);
    else
        check_say(c, "%s: %u bytes are %s at %s\n  by %s at %s", texts[f->what], f->record.bytes, verb(f->act[0].what), memory, who[0], place[0]);
}

/* ---- accesses ---------------------------------------------------------------------------------------------------------------- */

static void
race_with(struct check *c, const struct last *a, const struct record *r, const struct thread_state *t)
{
    bool atomic = a->what == CWI_MODIFY || r->what == CWI_MODIFY;
    if (!a->order || (reads_only(a->what) && reads_only(r->what)) || in_order(c, a, r, t))
        return;
    if (atomic && (r->where != CWI_SHARED_MEMORY || a->what == r->what))
        return;                         /* in global memory peeking at what others change atomically is common */
    if (a->what == CWI_WRITE && r->what == CWI_WRITE && a->value == r->value)
        return;
    struct finding f = { .kind = CWC_RACES, .what = RACE, .act = { { { a->block, a->thread }, a->id, a->what }, { r->who, r->id, r->what } }, .record = *r };
    if (a->block > r->who.block) {      /* which block comes first is chance */
        struct act first = f.act[0];
        f.act[0] = f.act[1];
        f.act[1] = first;
    }
    check_found(c, &f);
}

static void
remember(struct cell *x, const struct record *r, const struct thread_state *t)
{
    struct last l = { r->who.block, r->order, r->value, r->who.thread, r->id, t->passed, (uint8_t)r->what };
    if (!reads_only(r->what)) {
        x->write = l;
        x->read[0].order = x->read[1].order = 0;
        x->written = true;
    } else if (!x->read[0].order || (x->read[0].thread == l.thread && x->read[0].block == l.block)) {
        x->read[0] = l;
    } else {
        x->read[1] = l;
    }
}

static uint64_t
owner_of(const struct check *c, const struct record *r)
{
    return r->where == CWI_GLOBAL ? SHARED_BY_ALL : r->where == CWI_LOCAL ? (uint64_t)1 << 62 | (r->who.block * c->threads + r->who.thread) : r->who.block;
}

static void
access_memory(struct check *c, const struct record *r)
{
    struct memory *m = c->memory;
    struct thread_state *t = state(c, r->who);
    bool meetings = c->what & CWC_MEETINGS && r->where != CWI_LOCAL, written = false;
    bool plain = r->what == CWI_READ || r->what == CWI_WRITE || r->what == CWI_MODIFY || meetings;
    if (!t) {
        c->failed = true;
        return;
    }
    for (uint64_t at = r->address / m->grain; at <= (r->address + r->bytes - 1) / m->grain; at++) {
        struct cell *x = cell_at(m, owner_of(c, r), at);
        if (!x) {
            c->failed = true;
            return;
        }
        written = written || x->written;
        if (meetings) {
            meet(c, &x->write, r, t);
            for (unsigned k = 0; k < 2; k++)
                meet(c, &x->read[k], r, t);
        }
        if (plain && r->where != CWI_LOCAL && c->what & CWC_RACES) {
            race_with(c, &x->write, r, t);
            if (!reads_only(r->what))
                for (unsigned k = 0; k < 2; k++)
                    race_with(c, &x->read[k], r, t);
        }
        if (plain)
            remember(x, r, t);
        if (meetings && r->where == CWI_GLOBAL && !reads_only(r->what))
            keep_open(c, x, r, &x->write, t);
        x->written = x->written || r->what == CWI_SYNC_WRITE;
    }
    bool reads = r->what == CWI_READ || r->what == CWI_SYNC_READ || r->what == CWI_MODIFY;
    if (!written && reads && (r->where == CWI_LOCAL || (r->where == CWI_SHARED_MEMORY && !m->hidden)) && c->what & CWC_UNINITIALISED)
        found(c, CWC_UNINITIALISED, UNINITIALISED, r);
}

void
memory_record(struct check *c, const struct record *r)
{
    bool access = r->what <= CWI_SYNC_WRITE;
    if (r->who.block >= c->memory->blocks) {
        c->failed = true;
        return;
    }
    if (access && (r->outside || r->misaligned)) {
        if (c->what & CWC_MEMORY)
            found(c, CWC_MEMORY, r->outside ? OUTSIDE : MISALIGNED, r);
        return;
    }
    if (!(c->what & (CWC_RACES | CWC_UNINITIALISED | CWC_MEETINGS)))
        return;
    uint64_t owner = owner_of(c, r);
    switch (r->what) {
    case CWI_READ: case CWI_WRITE:
        access_memory(c, r);
        return;
    case CWI_SYNC_READ:
        access_memory(c, r);
        return;
    case CWI_MODIFY: case CWI_SYNC_WRITE:
        access_memory(c, r);
        release(c, r, owner, r->address);
        return;
    case CWI_ACQUIRE:
        acquire(c, r, owner, r->address);
        return;
    case CWI_ARRIVE: case CWI_WARP_ARRIVE:
        owner = r->what == CWI_ARRIVE && r->value == CWI_GRID ? SHARED_BY_ALL : r->who.block;
        release(c, r, owner, r->what == CWI_ARRIVE ? UINT64_MAX - (uint32_t)r->value : UINT64_MAX / 2 + (r->value ? 1024 : r->who.thread / 32));
        return;
    case CWI_PASS:
        if (!(r->value >> 32) || r->value >> 32 == c->threads) {
            struct thread_state *t = state(c, r->who);
            if (t)
                t->passed++;
            if (r->value == CWI_GRID)
                acquire(c, r, SHARED_BY_ALL, UINT64_MAX - CWI_GRID);
            return;
        }
        acquire(c, r, r->who.block, UINT64_MAX - (uint32_t)r->value);
        return;
    case CWI_WARP_PASS:
        acquire(c, r, r->who.block, UINT64_MAX / 2 + (r->value ? 1024 : r->who.thread / 32));
        return;
    case CWI_UNWRITTEN:
        if (c->what & CWC_UNINITIALISED)
            found(c, CWC_UNINITIALISED, REGISTER, r);
        return;
    case CWI_MEMBER: case CWI_GONE:
        return;
    }
}

/* Is all memory accessed in units of so many bytes? */
static unsigned
grain_of(const struct cwi_program *p)
{
    unsigned grain = 16;
    for (uint32_t i = 0; i < p->ninsts; i++) {
        const struct ptx_inst *in = p->insts[i].in;
        unsigned bytes = ptx_type_bits((ptx_type)in->type[0]) / 8;
        bool access = in->op == PTX_OP_LD || in->op == PTX_OP_LDU || in->op == PTX_OP_ST || in->op == PTX_OP_ATOM || in->op == PTX_OP_RED;
        if (access && in->space != PTX_SPACE_PARAM && bytes && bytes < grain)
            grain = bytes;
    }
    return grain;
}

bool
memory_open(struct check *c)
{
    const uint32_t *g = c->side->dump.grid;
    struct memory *m = c->memory = calloc(1, sizeof *m);
    if (!m)
        return false;
    m->blocks = (uint64_t)g[0] * g[1] * g[2];
    m->block = calloc(m->blocks, sizeof *m->block);
    m->grain = grain_of(&c->side->program);
    if (c->what & CWC_MEETINGS) {
        c->report->meets = calloc(c->side->program.ninsts + (size_t)1, 1);
        c->failed = c->failed || !c->report->meets;
    }
    for (uint32_t i = 0; i < c->side->program.ninsts; i++) {
        const struct ptx_inst *in = c->side->program.insts[i].in;
        m->hidden = m->hidden || cwi_hidden(in) || in->op == PTX_OP_CP_ASYNC;
    }
    if (m->hidden && c->what & CWC_UNINITIALISED)
        cw_buf_puts(&c->report->notes, "instructions write shared memory without a record: reads of uninitialised shared memory were not looked for\n");
    return m->block;
}

void
memory_finish(struct check *c)
{
    if (c->what & CWC_MEETINGS && !c->truncated)
        report_last(c);
}

void
memory_close(struct check *c)
{
    struct memory *m = c->memory;
    if (!m)
        return;
    for (uint64_t i = 0; i < m->room; i++)
        free(m->cells[i].open);
    for (uint64_t i = 0; m->block && i < m->blocks; i++)
        free(m->block[i].threads);
    free(m->block);
    free(m->cells);
    free(m->objects);
    free(m);
}
