/* SPDX-License-Identifier: Apache-2.0
 * The table of address ranges that the driver knows: allocations, registered host memory, module variables, mapped virtual
 * memory. A tree of non-overlapping ranges under a read-write lock that is a leaf. Each thread keeps copies of the ranges that
 * it found last, which hold as long as the table's generation is theirs: a copy between two buffers takes no lock. */
#include "impl/driver/driver.h"

#include "impl/base/tree.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct cw_tree_node node;           /* first; its key is the range's base */
    struct range range;
};

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct cw_tree table;            /* of entries; lock, and so on */
static uint64_t next_id = 1;
static _Atomic uint64_t generation = 1; /* changed under the lock, after what it tells of */

enum { RECENT = 4 };
static _Thread_local struct {
    uint64_t generation;
    unsigned next;
    struct range range[RECENT];         /* size 0: none */
} recent;

static void
changed(void)
{
    atomic_fetch_add_explicit(&generation, 1, memory_order_release);
}

static struct range *
range_in(struct cw_tree_node *n)
{
    return n ? &((struct entry *)(void *)n)->range : NULL;
}

/* The range with the greatest base up to this address, and with the least beyond it; NULL: there is none. */
static struct range *
up_to(uint64_t address)
{
    return range_in(cw_tree_up_to(&table, address));
}

static struct range *
beyond(uint64_t address)
{
    return range_in(cw_tree_beyond(&table, address));
}

/* The range that holds address, or NULL. */
static struct range *
holder(uint64_t address)
{
    struct range *r = up_to(address);
    return r && address - r->base < r->size ? r : NULL;
}

static bool
overlaps(uint64_t address, uint64_t size)
{
    const struct range *before = up_to(address), *behind = beyond(address);
    return (before && (before->base == address || address - before->base < before->size)) || (behind && behind->base - address < size);
}

/* The thread's copy of the range that holds address; NULL when it has none that is valid. */
static const struct range *
recall(uint64_t address)
{
    if (recent.generation != atomic_load_explicit(&generation, memory_order_acquire))
        return NULL;
    for (unsigned i = 0; i < RECENT; i++)
        if (address - recent.range[i].base < recent.range[i].size)
            return &recent.range[i];
    return NULL;
}

/* Under the lock. */
static void
remember(const struct range *r)
{
    uint64_t now = atomic_load_explicit(&generation, memory_order_relaxed);
    if (recent.generation != now)
        memset(&recent, 0, sizeof recent);
    recent.generation = now;
    recent.range[recent.next++ % RECENT] = *r;
}

void
range_forget(const struct range *r)
{
    if (r->ctx)
        ctx_unref(r->ctx);
}

CUresult
range_add(const struct range *r)
{
    CUresult e = CUDA_SUCCESS;
    struct entry *n = malloc(sizeof *n);        /* with no lock held: the program's malloc may ask about an address */
    if (!n)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (r->ctx && !ctx_admit(r->ctx)) {
        free(n);
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    *n = (struct entry){ .node.key = r->base, .range = *r };
    n->range.handle = r->ctx ? r->ctx->handle : NULL;
    pthread_rwlock_wrlock(&lock);
    if (overlaps(r->base, r->size)) {
        e = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    } else {
        n->range.id = next_id++;
        cw_tree_insert(&table, &n->node);
        changed();
    }
    pthread_rwlock_unlock(&lock);
    if (r->ctx) {
        if (e == CUDA_SUCCESS)
            ctx_ref(r->ctx);
        ctx_admitted(r->ctx);
    }
    if (e != CUDA_SUCCESS)
        free(n);
    return e;
}

bool
range_find(uint64_t address, struct range *out)
{
    const struct range *known = recall(address);
    if (known) {
        *out = *known;
        return true;
    }
    pthread_rwlock_rdlock(&lock);
    struct range *r = holder(address);
    if (r) {
        *out = *r;
        remember(r);
    }
    pthread_rwlock_unlock(&lock);
    return r != NULL;
}

/* Lock held; the entry is freed without it. */
static struct entry *
take(struct range *r)
{
    struct entry *n = (struct entry *)(void *)((char *)r - offsetof(struct entry, range));
    cw_tree_remove(&table, &n->node);
    changed();
    return n;
}

/* False: there was none. */
static bool
give(struct entry *n, struct range *out)
{
    if (!n)
        return false;
    *out = n->range;
    free(n);
    return true;
}

bool
range_remove(uint64_t address, unsigned kinds, struct range *out)
{
    pthread_rwlock_wrlock(&lock);
    struct range *r = up_to(address);
    struct entry *n = r && r->base == address && kinds & 1u << r->kind ? take(r) : NULL;
    pthread_rwlock_unlock(&lock);
    return give(n, out);
}

bool
range_remove_registered(uint64_t address, uint64_t size, struct range *out)
{
    pthread_rwlock_wrlock(&lock);
    struct range *r = holder(address);
    if (!r)
        r = beyond(address);
    struct entry *n = r && r->base < address + size && r->kind == RANGE_REGISTERED ? take(r) : NULL;
    pthread_rwlock_unlock(&lock);
    return give(n, out);
}

bool
range_remove_of(const struct ctx *c, uint64_t *base, struct range *out)
{
    pthread_rwlock_wrlock(&lock);
    struct range *r = up_to(*base);
    while (r && r->ctx != c)
        r = r->base ? up_to(r->base - 1) : NULL;
    struct entry *n = r ? take(r) : NULL;
    pthread_rwlock_unlock(&lock);
    if (n)
        *base = n->range.base;
    return give(n, out);
}

bool
range_covers(uint64_t address, uint64_t size, unsigned *kinds)
{
    struct range_facts f;
    bool ok = range_facts(address, size, &f);
    if (kinds)
        *kinds = f.kinds;
    return ok;
}

static unsigned
access_of(const struct range *r)
{
    return r->kind == RANGE_MAPPED ? r->access_flags : CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

static void
facts_of(const struct range *r, struct range_facts *f)
{
    f->access = access_of(r);
    f->sync_memops = r->sync_memops;
    f->to_device = r->device_address - r->base;
}

bool
range_facts(uint64_t address, uint64_t size, struct range_facts *out)
{
    bool ok = true, crossed = false;
    unsigned seen = 0;
    *out = (struct range_facts){ 0 };
    if (address + size < address)
        return false;
    const struct range *known = recall(address);
    if (known && size && known->size - (address - known->base) >= size) {
        out->kinds = 1u << known->kind;
        facts_of(known, out);
        return true;
    }
    pthread_rwlock_rdlock(&lock);
    struct range *first = holder(address);
    if (first) {
        remember(first);
        facts_of(first, out);
    }
    const struct range *r = first ? first : up_to(address);
    ok = r != NULL;
    while (ok && size) {
        if (!r || address < r->base || address - r->base >= r->size) {
            ok = false;
            break;
        }
        seen |= 1u << r->kind;
        out->access &= access_of(r);
        uint64_t here = r->size - (address - r->base);
        if (here >= size)
            break;
        crossed = true;
        address += here;
        size -= here;
        r = beyond(r->base);
    }
    if (crossed && seen >> RANGE_DEVICE & 1)    /* one of cuMemAlloc's is accessed alone, whatever it touches (an H200, driver 580) */
        ok = false;
    pthread_rwlock_unlock(&lock);
    out->kinds = seen;
    return ok;
}

void
ranges_fence(void)
{
    pthread_rwlock_wrlock(&lock);
    pthread_rwlock_unlock(&lock);
}

bool
range_use(const struct ctx *c, uint64_t address, uint64_t size)
{
    const struct range *known = recall(address);
    if (known && (!known->ctx || known->ctx == c) && known->size - (address - known->base) >= size)
        return true;
    pthread_rwlock_rdlock(&lock);
    const struct range *r = up_to(address);
    bool ok = r != NULL;
    while (ok && size) {
        if (!r || address < r->base || address - r->base >= r->size || (r->ctx && r->ctx != c && atomic_load(&r->ctx->dead))) {
            ok = false;
            break;
        }
        if (r->ctx && r->ctx != c)
            atomic_store_explicit(&r->ctx->lent, true, memory_order_relaxed);
        uint64_t here = r->size - (address - r->base);
        address += here;
        size -= here < size ? here : size;
        r = beyond(r->base);
    }
    pthread_rwlock_unlock(&lock);
    return ok;
}

bool
range_update(uint64_t address, void (*change)(struct range *r, void *user), void *user)
{
    pthread_rwlock_wrlock(&lock);
    struct range *r = holder(address);
    if (r) {
        change(r, user);
        changed();
    }
    pthread_rwlock_unlock(&lock);
    return r != NULL;
}

bool
range_overlaps(uint64_t address, uint64_t size)
{
    pthread_rwlock_rdlock(&lock);
    bool yes = overlaps(address, size);
    pthread_rwlock_unlock(&lock);
    return yes;
}
