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
};

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

/* "byte 16 of buffer 4, parameter out", or how far it is from the nearest allocation. */
static void
memory_text(const struct check *c, const struct record *r, char *out, size_t size)
{
    const struct cwl_side *s = c->side;
    char where[160];
    uint32_t best = 0;
    if (r->where == CWI_SHARED_MEMORY) {
        snprintf(out, size, "byte %" PRIu64 " of the block's shared memory", r->address);
        return;
    }
    if (r->where == CWI_LOCAL) {
        snprintf(out, size, "byte 0x%" PRIx64 " of the thread's local memory", r->address);
        return;
    }
    for (uint32_t i = 1; i < s->dump.nbuffers; i++)
        if (s->address[i] && distance(s, i, r->address) < distance(s, best, r->address))
            best = i;
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
say_access(struct check *c, const struct record *r, const char *text)
{
    char who[128], place[700], memory[400];
    check_who(c, r->who, who, sizeof who);
    check_place(c, r->id, place, sizeof place);
    memory_text(c, r, memory, sizeof memory);
    check_say(c, "%s: %u bytes are %s at %s\n  by %s at %s", text, r->bytes, verb(r->what), memory, who, place);
}

static void
say_race(struct check *c, const struct last *a, const struct record *r)
{
    char who[2][128], place[2][700], memory[400];
    check_who(c, (struct who){ a->block, a->thread }, who[0], sizeof who[0]);
    check_place(c, a->id, place[0], sizeof place[0]);
    check_who(c, r->who, who[1], sizeof who[1]);
    check_place(c, r->id, place[1], sizeof place[1]);
    memory_text(c, r, memory, sizeof memory);
    check_say(c, "race: %s is\n  %s by %s at %s\n  and %s by %s at %s\n  and nothing orders the two", memory, verb(a->what), who[0], place[0],
              verb(r->what), who[1], place[1]);
}

/* ---- accesses ---------------------------------------------------------------------------------------------------------------- */

static bool
is_read(unsigned what)
{
    return what == CWI_READ;
}

static void
race_with(struct check *c, const struct last *a, const struct record *r, const struct thread_state *t)
{
    bool atomic = a->what == CWI_MODIFY || r->what == CWI_MODIFY;
    if (!a->order || (is_read(a->what) && is_read(r->what)) || in_order(c, a, r, t))
        return;
    if (atomic && (r->where != CWI_SHARED_MEMORY || a->what == r->what))
        return;                         /* in global memory peeking at what others change atomically is common */
    if (a->what == CWI_WRITE && r->what == CWI_WRITE && a->value == r->value)
        return;
    if (check_found(c, CWC_RACES, RACE, a->id < r->id ? a->id : r->id, a->id < r->id ? r->id : a->id))
        say_race(c, a, r);
}

static void
remember(struct cell *x, const struct record *r, const struct thread_state *t)
{
    struct last l = { r->who.block, r->order, r->value, r->who.thread, r->id, t->passed, (uint8_t)r->what };
    if (!is_read(r->what)) {
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
    bool plain = r->what == CWI_READ || r->what == CWI_WRITE || r->what == CWI_MODIFY, written = false;
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
        if (plain && r->where != CWI_LOCAL && c->what & CWC_RACES) {
            race_with(c, &x->write, r, t);
            if (!is_read(r->what))
                for (unsigned k = 0; k < 2; k++)
                    race_with(c, &x->read[k], r, t);
        }
        if (plain)
            remember(x, r, t);
        x->written = x->written || r->what == CWI_SYNC_WRITE;
    }
    bool reads = r->what == CWI_READ || r->what == CWI_SYNC_READ || r->what == CWI_MODIFY;
    if (!written && reads && (r->where == CWI_LOCAL || (r->where == CWI_SHARED_MEMORY && !m->hidden)) && c->what & CWC_UNINITIALISED &&
        check_found(c, CWC_UNINITIALISED, UNINITIALISED, r->id, 0))
        say_access(c, r, "uninitialised read");
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
        if (c->what & CWC_MEMORY && check_found(c, CWC_MEMORY, r->outside ? OUTSIDE : MISALIGNED, r->id, 0))
            say_access(c, r, r->outside ? "out of bounds" : "misaligned");
        return;
    }
    if (!(c->what & (CWC_RACES | CWC_UNINITIALISED)))
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
        release(c, r, r->who.block, r->what == CWI_ARRIVE ? UINT64_MAX - (uint32_t)r->value : UINT64_MAX / 2 + (r->value ? 1024 : r->who.thread / 32));
        return;
    case CWI_PASS:
        if (!(r->value >> 32) || r->value >> 32 == c->threads) {
            struct thread_state *t = state(c, r->who);
            if (t)
                t->passed++;
            return;
        }
        acquire(c, r, r->who.block, UINT64_MAX - (uint32_t)r->value);
        return;
    case CWI_WARP_PASS:
        acquire(c, r, r->who.block, UINT64_MAX / 2 + (r->value ? 1024 : r->who.thread / 32));
        return;
    case CWI_UNWRITTEN:
        if (c->what & CWC_UNINITIALISED && check_found(c, CWC_UNINITIALISED, REGISTER, r->id, 0)) {
            char who[128], place[700];
            check_who(c, r->who, who, sizeof who);
            check_place(c, r->id, place, sizeof place);
            check_say(c, "uninitialised register: nothing was written to one that is read\n  by %s at %s", who, place);
        }
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
    for (uint32_t i = 0; i < c->side->program.ninsts; i++) {
        const struct ptx_inst *in = c->side->program.insts[i].in;
        m->hidden = m->hidden || cwi_hidden(in) || in->op == PTX_OP_CP_ASYNC;
    }
    if (m->hidden && c->what & CWC_UNINITIALISED)
        cw_buf_puts(&c->report->notes, "instructions write shared memory without a record: reads of uninitialised shared memory were not looked for\n");
    return m->block;
}

void
memory_close(struct check *c)
{
    struct memory *m = c->memory;
    if (!m)
        return;
    for (uint64_t i = 0; m->block && i < m->blocks; i++)
        free(m->block[i].threads);
    free(m->block);
    free(m->cells);
    free(m->objects);
    free(m);
}
