/* SPDX-License-Identifier: Apache-2.0
 * Handles: kind, generation and slot number packed into a value that is never dereferenced. A slot's state word holds the
 * generation, an alive bit and the reference count, so that look-up is one compare-and-swap and a handle that was freed
 * or invented is recognised. Slots are never given back to the system.
 * Submissions, which are many and short, count no references on streams and events: they look them up under ctx.order (handle_peek),
 * and handle_kill takes that lock once between the end of the handle and the end of the object. */
#include "impl/driver/driver.h"

#include <stdlib.h>

#define CHUNK 1024u
#define MAX_CHUNKS 4096u
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
static uint32_t first_free, used;       /* free_lock; slot 0 is never used, so 0 ends the list */

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
    if (first_free) {
        *index = first_free;
        s = slot_at(first_free);
        first_free = s->next_free;
    } else {
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
    pthread_mutex_unlock(&free_lock);
    return s;
}

CUresult
handle_new(struct obj *o, enum kind k, struct ctx *c, void (*finish)(struct obj *))
{
    uint32_t index;
    struct slot *s = slot_take(&index);
    if (!s)
        return CUDA_ERROR_OUT_OF_MEMORY;
    uint32_t generation = GENERATION(atomic_load(&s->state));
    o->handle = pack(k, generation, index);
    o->kind = k;
    o->finish = finish;
    o->ctx = c;
    o->next = NULL;
    o->link = NULL;
    if (c) {
        ctx_ref(c);
        pthread_mutex_lock(&c->lock);
        o->next = c->objects;
        o->link = &c->objects;
        if (o->next)
            o->next->link = &o->next;
        c->objects = o;
        pthread_mutex_unlock(&c->lock);
    }
    atomic_store(&s->o, o);
    atomic_store(&s->kind, k);
    atomic_store(&s->ctx, c);
    atomic_store_explicit(&s->state, (uint64_t)generation << 32 | ALIVE | 1, memory_order_release);
    return CUDA_SUCCESS;
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

void
handle_ref(struct obj *o)
{
    uint32_t generation;
    enum kind k;
    struct slot *s = slot_of(o->handle, &generation, &k);
    atomic_fetch_add_explicit(&s->state, 1, memory_order_relaxed);
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
    o->finish(o);
    atomic_store(&s->o, NULL);
    atomic_store(&s->state, (uint64_t)((generation + 1) & 0xffffff) << 32);
    pthread_mutex_lock(&free_lock);
    s->next_free = first_free;
    first_free = index;
    pthread_mutex_unlock(&free_lock);
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
        if (o->link) {
            *o->link = o->next;
            if (o->next)
                o->next->link = o->link;
            o->link = NULL;
        }
        pthread_mutex_unlock(&o->ctx->lock);
        if (o->kind == KIND_STREAM || o->kind == KIND_EVENT) {     /* whoever still found it has submitted what it was for */
            pthread_mutex_lock(&o->ctx->order);
            pthread_mutex_unlock(&o->ctx->order);
        }
    }
    handle_put(o);
    return true;
}
