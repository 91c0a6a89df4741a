/* SPDX-License-Identifier: Apache-2.0
 * The handle table and the lives of objects (docs/handles.md): one mechanism for every kind. A handle packs kind, generation and slot
 * number into a value that is never dereferenced. A slot's state word holds the generation, an alive bit and the reference count, so that
 * look-up is one compare-and-swap and a handle that was freed or invented is recognised. Slots are never given back to the system, and
 * freed ones wait in line, so that a generation comes round after billions of objects.
 * Submissions, which are many and short, count no references on what they look up under a lock (handle_peek); handle_kill takes that lock
 * once between the end of the handle and the end of the object. */
#include "impl/driver/driver.h"

#include <stdlib.h>

#define CHUNK 1024u
#define MAX_CHUNKS 4096u
#define WAITING 1024u                   /* freed slots that wait before one is used again, while there are others */
#define MOST_RETIRED 1000u              /* so many wait for a moment at which the context has no work */
#define ALIVE 0x80000000ull
#define REFS(s) ((uint32_t)(s) & 0x7fffffffu)
#define GENERATION(s) ((uint32_t)((s) >> 32) & 0xffffffu)

struct slot {
    _Atomic uint64_t state;
    _Atomic(struct obj *) o;
    _Atomic uint32_t kind;
    _Atomic(const struct ctx *) ctx;    /* for comparison */
    uint32_t next_free;                 /* free_lock */
};

static _Atomic(struct slot *) chunks[MAX_CHUNKS];
static pthread_mutex_t free_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t first_free, last_free, nfree, used; /* free_lock; slot 0 is never used, so 0 ends the list */

/* value: 0100 kkkk kkkk gggggggggggggggggggggggg iiiiiiiiiiiiiiiiiiiiiiii 0000 */
static uint64_t
pack(enum kind k, uint32_t generation, uint32_t index)
{
    return 4ull << 60 | (uint64_t)k << 52 | (uint64_t)generation << 28 | (uint64_t)index << 4;
}

static struct slot *
slot_at(uint32_t index)
{
    if (!index || index / CHUNK >= MAX_CHUNKS)
        return NULL;
    struct slot *c = atomic_load_explicit(&chunks[index / CHUNK], memory_order_acquire);
    return c ? &c[index % CHUNK] : NULL;
}

static struct slot *
slot_of(uint64_t h, uint32_t *generation, enum kind *k)
{
    if (h >> 60 != 4 || h & 15)
        return NULL;
    *k = (enum kind)(h >> 52 & 0xff);
    *generation = (uint32_t)(h >> 28) & 0xffffff;
    return slot_at((uint32_t)(h >> 4) & 0xffffff);
}

static struct slot *
slot_take(uint32_t *index)
{
    struct slot *s = NULL;
    pthread_mutex_lock(&free_lock);
    if (nfree < WAITING || !first_free) {
        uint32_t i = used ? used : 1;
        struct slot *c = i / CHUNK < MAX_CHUNKS ? atomic_load(&chunks[i / CHUNK]) : NULL;
        if (!c && i / CHUNK < MAX_CHUNKS) {
            c = calloc(CHUNK, sizeof *c);
            atomic_store_explicit(&chunks[i / CHUNK], c, memory_order_release);
        }
        if (c) {
            *index = i;
            used = i + 1;
            s = &c[i % CHUNK];
        }
    }
    if (!s && first_free) {
        *index = first_free;
        s = slot_at(first_free);
        first_free = s->next_free;
        nfree--;
    }
    pthread_mutex_unlock(&free_lock);
    return s;
}

/* The slot's object is gone: the next one has the next generation. */
static void
slot_give(struct slot *s, uint32_t index)
{
    uint32_t generation = GENERATION(atomic_load_explicit(&s->state, memory_order_relaxed));
    atomic_store(&s->o, NULL);
    atomic_store(&s->state, (uint64_t)((generation + 1) & 0xffffff) << 32);
    pthread_mutex_lock(&free_lock);
    s->next_free = 0;
    if (first_free)
        slot_at(last_free)->next_free = index;
    else
        first_free = index;
    last_free = index;
    nfree++;
    pthread_mutex_unlock(&free_lock);
}

/* Off the context's list, if it is on it; ctx.lock is held. */
static void
unlink_object(struct obj *o)
{
    if (!o->link)
        return;
    *o->link = o->next;
    if (o->next)
        o->next->link = o->link;
    o->link = NULL;
}

/* Everything about the object is in its place before the state says alive, and the context learns of it in the same step in which it
 * could refuse it: whoever ends the context finds either a whole object or none. */
CUresult
handle_new(struct obj *o, const struct obj_class *k, struct ctx *c)
{
    uint32_t index = 0;
    struct slot *s = slot_take(&index);
    if (!s)
        return CUDA_ERROR_OUT_OF_MEMORY;
    uint32_t generation = GENERATION(atomic_load(&s->state));
    const uint64_t alive = (uint64_t)generation << 32 | ALIVE | 2;      /* the table's reference and the caller's */
    o->handle = pack(k->kind, generation, index);
    o->class = k;
    o->ctx = c;
    o->next = NULL;
    o->link = NULL;
    atomic_store(&s->o, o);
    atomic_store(&s->kind, k->kind);
    atomic_store(&s->ctx, c);
    if (!c) {
        atomic_store_explicit(&s->state, alive, memory_order_release);
        return CUDA_SUCCESS;
    }
    pthread_mutex_lock(&c->lock);
    bool open = !atomic_load_explicit(&c->dead, memory_order_relaxed);
    if (open) {
        ctx_ref(c);
        o->next = c->objects;
        o->link = &c->objects;
        if (o->next)
            o->next->link = &o->next;
        c->objects = o;
        atomic_store_explicit(&s->state, alive, memory_order_release);
    }
    pthread_mutex_unlock(&c->lock);
    if (open)
        return CUDA_SUCCESS;
    slot_give(s, index);
    return CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

void *
handle_get(const void *handle, enum kind k)
{
    uint32_t generation;
    enum kind hk;
    struct slot *s = slot_of((uintptr_t)handle, &generation, &hk);
    if (!s || hk != k)
        return NULL;
    uint64_t state = atomic_load_explicit(&s->state, memory_order_acquire);
    do {
        if (!(state & ALIVE) || GENERATION(state) != generation || atomic_load_explicit(&s->kind, memory_order_relaxed) != (uint32_t)k)
            return NULL;
    } while (!atomic_compare_exchange_weak_explicit(&s->state, &state, state + 1, memory_order_acquire, memory_order_acquire));
    return atomic_load_explicit(&s->o, memory_order_relaxed);
}

void *
handle_peek(const void *handle, enum kind k, const struct ctx *c)
{
    uint32_t generation;
    enum kind hk;
    struct slot *s = slot_of((uintptr_t)handle, &generation, &hk);
    if (!s || hk != k)
        return NULL;
    /* Read between two looks at the state, the slot's fields are those of this generation. */
    uint64_t before = atomic_load_explicit(&s->state, memory_order_acquire);
    bool here = atomic_load_explicit(&s->ctx, memory_order_acquire) == c && atomic_load_explicit(&s->kind, memory_order_acquire) == (uint32_t)k;
    void *o = atomic_load_explicit(&s->o, memory_order_acquire);
    uint64_t after = atomic_load_explicit(&s->state, memory_order_relaxed);
    return here && before & after & ALIVE && GENERATION(before) == generation && GENERATION(after) == generation ? o : NULL;
}

enum kind
handle_kind(const void *handle)
{
    uint32_t generation;
    enum kind k;
    struct slot *s = slot_of((uintptr_t)handle, &generation, &k);
    if (!s)
        return KIND_NONE;
    uint64_t state = atomic_load(&s->state);
    return state & ALIVE && GENERATION(state) == generation && atomic_load(&s->kind) == (uint32_t)k ? k : KIND_NONE;
}

bool
handle_ended(const void *handle, enum kind k)
{
    uint32_t generation;
    enum kind hk;
    struct slot *s = slot_of((uintptr_t)handle, &generation, &hk);
    if (!s || hk != k)
        return false;
    uint64_t state = atomic_load(&s->state);
    return GENERATION(state) > generation || (GENERATION(state) == generation && !(state & ALIVE) && state & (ALIVE - 1));
}

void
handle_ref(struct obj *o)
{
    uint32_t generation;
    enum kind k;
    struct slot *s = slot_of(o->handle, &generation, &k);
    atomic_fetch_add_explicit(&s->state, 1, memory_order_relaxed);
}

/* Those from first to last, onto the list of retired objects; nobody else has them, so their links are free. */
static void
retire(struct ctx *c, struct obj *first, struct obj *last)
{
    struct obj *o = atomic_load_explicit(&c->retired, memory_order_relaxed);
    do
        last->next = o;
    while (!atomic_compare_exchange_weak_explicit(&c->retired, &o, first, memory_order_seq_cst, memory_order_relaxed));
}

void
object_retire(struct obj *o)
{
    retire(o->ctx, o, o);
}

void
handle_put(struct obj *o)
{
    uint32_t generation = 0;    /* which is set: an object's own handle is one */
    enum kind k;
    struct slot *s = slot_of(o->handle, &generation, &k);
    uint32_t index = (uint32_t)(o->handle >> 4) & 0xffffff;
    uint64_t before = atomic_fetch_sub_explicit(&s->state, 1, memory_order_acq_rel);
    if (REFS(before) != 1)
        return;
    struct ctx *c = o->ctx;
    slot_give(s, index);
    if (o->class->quiesce)
        object_retire(o);
    else
        o->class->finish(o);
    if (c)
        ctx_unref(c);
}

bool
handle_kill(struct obj *o)
{
    uint32_t generation;
    enum kind k;
    struct slot *s = slot_of(o->handle, &generation, &k);
    uint64_t before = atomic_fetch_and_explicit(&s->state, ~ALIVE, memory_order_acq_rel);
    if (!(before & ALIVE))
        return false;
    if (o->ctx) {
        pthread_mutex_lock(&o->ctx->lock);
        unlink_object(o);
        pthread_mutex_unlock(&o->ctx->lock);
    }
    pthread_mutex_t *borrow = o->class->borrow ? o->class->borrow(o) : NULL;
    if (borrow) {                       /* whoever still found it has done what it was for */
        pthread_mutex_lock(borrow);
        pthread_mutex_unlock(borrow);
    }
    handle_put(o);
    return true;
}

bool
handle_end(struct obj *o)
{
    return o->class->end ? o->class->end(o) : handle_kill(o);
}

bool
ctx_admit(struct ctx *c)
{
    pthread_mutex_lock(&c->lock);
    if (!atomic_load_explicit(&c->dead, memory_order_relaxed))
        return true;
    pthread_mutex_unlock(&c->lock);
    return false;
}

void
ctx_admitted(struct ctx *c)
{
    pthread_mutex_unlock(&c->lock);
}

bool
objects_close(struct ctx *c)
{
    pthread_mutex_lock(&c->lock);
    pthread_mutex_lock(&c->order);
    bool first = !atomic_exchange(&c->dead, true);
    pthread_mutex_unlock(&c->order);
    pthread_mutex_unlock(&c->lock);
    return first;
}

void
objects_end(struct ctx *c)
{
    for (;;) {
        pthread_mutex_lock(&c->lock);
        struct obj *o = c->objects;
        if (o) {                        /* on the list it has the table's reference: handle_kill drops that after taking it off */
            unlink_object(o);
            handle_ref(o);
        }
        pthread_mutex_unlock(&c->lock);
        if (!o)
            return;
        (void)handle_end(o);            /* another thread may have ended it first */
        handle_put(o);
    }
}

static struct obj *
take_retired(struct ctx *c)
{
    if (!atomic_load(&c->retired))
        return NULL;
    return atomic_exchange_explicit(&c->retired, NULL, memory_order_acquire);
}

static void
finish_all(struct obj *o)
{
    for (struct obj *next; o; o = next) {
        next = o->next;
        o->class->finish(o);
    }
}

void
objects_collect(struct ctx *c)
{
    for (struct obj *o; (o = take_retired(c));) {       /* one may have had the last reference to another */
        (void)memory_settle(c);
        finish_all(o);
    }
}

void
objects_try(struct ctx *c)
{
    struct obj *first = take_retired(c), *last = first;
    if (!first)
        return;
    if (memory_settled(c)) {            /* also the work submitted before they were retired */
        finish_all(first);
        return;
    }
    unsigned n = 1;
    for (; last->next; n++)
        last = last->next;
    retire(c, first, last);
    if (n > MOST_RETIRED || atomic_load(&c->dead))      /* whose end may have looked at the list while they were off it */
        objects_collect(c);
}

CUresult
object_destroy(struct obj *o, bool may, CUresult *sticky)
{
    struct ctx *c = o->ctx;
    ctx_ref(c);
    CUresult e = may && handle_end(o) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    handle_put(o);
    if (e == CUDA_SUCCESS)
        objects_collect(c);
    if (sticky)
        *sticky = ctx_error(c);
    ctx_unref(c);
    return e;
}
