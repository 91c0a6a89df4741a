/* SPDX-License-Identifier: Apache-2.0
 * The table of address ranges that the driver knows: allocations, registered host memory, module variables, mapped virtual
 * memory. A sorted array of non-overlapping ranges under a read-write lock that is a leaf. Each thread keeps copies of the ranges that
 * it found last, which hold as long as the table's generation is theirs: a copy between two buffers takes no lock. */
#include "impl/driver/driver.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct range *ranges;            /* lock, and so on */
static size_t count, capacity;
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

/* Index of the first range with base > address. */
static size_t
upper_bound(uint64_t address)
{
    size_t lo = 0, hi = count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (ranges[mid].base <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The range that holds address, or NULL. */
static struct range *
holder(uint64_t address)
{
    size_t i = upper_bound(address);
    if (!i)
        return NULL;
    struct range *r = &ranges[i - 1];
    return address - r->base < r->size ? r : NULL;
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

/* *full: how large the table must become first; else 0. */
static CUresult
add(const struct range *r, size_t *full)
{
    CUresult e = CUDA_SUCCESS;
    *full = 0;
    if (r->ctx && !ctx_admit(r->ctx))
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    pthread_rwlock_wrlock(&lock);
    size_t i = upper_bound(r->base);
    if ((i && ranges[i - 1].base + ranges[i - 1].size > r->base) || (i < count && ranges[i].base - r->base < r->size)) {
        e = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    } else if (count == capacity) {
        *full = capacity ? capacity * 2 : 64;
        e = CUDA_ERROR_OUT_OF_MEMORY;
    } else {
        memmove(ranges + i + 1, ranges + i, (count - i) * sizeof *ranges);
        ranges[i] = *r;
        ranges[i].id = next_id++;
        ranges[i].handle = r->ctx ? r->ctx->handle : NULL;
        count++;
        changed();
    }
    pthread_rwlock_unlock(&lock);
    if (r->ctx) {
        if (e == CUDA_SUCCESS)
            ctx_ref(r->ctx);
        ctx_admitted(r->ctx);
    }
    return e;
}

/* With no lock held: the program's malloc may ask about an address. */
static bool
grow(size_t to)
{
    struct range *larger = malloc(to * sizeof *larger), *old = larger;
    if (!larger)
        return false;
    pthread_rwlock_wrlock(&lock);
    if (to > capacity) {
        old = ranges;
        if (count)
            memcpy(larger, old, count * sizeof *larger);
        ranges = larger;
        capacity = to;
    }
    pthread_rwlock_unlock(&lock);
    free(old);
    return true;
}

CUresult
range_add(const struct range *r)
{
    CUresult e;
    size_t full;
    do
        e = add(r, &full);
    while (full && grow(full));
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

static void
take(size_t i, struct range *out)
{
    *out = ranges[i];
    memmove(ranges + i, ranges + i + 1, (count - i - 1) * sizeof *ranges);
    count--;
    changed();
}

bool
range_remove(uint64_t address, unsigned kinds, struct range *out)
{
    bool found = false;
    pthread_rwlock_wrlock(&lock);
    size_t i = upper_bound(address);
    if (i && ranges[i - 1].base == address && kinds & 1u << ranges[i - 1].kind) {
        take(i - 1, out);
        found = true;
    }
    pthread_rwlock_unlock(&lock);
    return found;
}

bool
range_remove_registered(uint64_t address, uint64_t size, struct range *out)
{
    bool found = false;
    pthread_rwlock_wrlock(&lock);
    size_t i = upper_bound(address);
    if (i && ranges[i - 1].base + ranges[i - 1].size > address)
        i--;
    if (i < count && ranges[i].base < address + size && ranges[i].kind == RANGE_REGISTERED) {
        take(i, out);
        found = true;
    }
    pthread_rwlock_unlock(&lock);
    return found;
}

bool
range_remove_of(const struct ctx *c, struct range *out)
{
    bool found = false;
    pthread_rwlock_wrlock(&lock);
    for (size_t i = count; i-- > 0 && !found;) {
        if (ranges[i].ctx == c) {
            take(i, out);
            found = true;
        }
    }
    pthread_rwlock_unlock(&lock);
    return found;
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
    size_t i = upper_bound(address);
    ok = i > 0;
    for (i--; ok && size;) {
        if (i >= count || address < ranges[i].base || address - ranges[i].base >= ranges[i].size) {
            ok = false;
            break;
        }
        seen |= 1u << ranges[i].kind;
        out->access &= access_of(&ranges[i]);
        uint64_t here = ranges[i].size - (address - ranges[i].base);
        if (here >= size)
            break;
        crossed = true;
        address += here;
        size -= here;
        i++;
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
    size_t i = upper_bound(address);
    bool ok = i > 0;
    for (i--; ok && size; i++) {
        if (i >= count || address < ranges[i].base || address - ranges[i].base >= ranges[i].size) {
            ok = false;
            break;
        }
        if (ranges[i].ctx && ranges[i].ctx != c && atomic_load(&ranges[i].ctx->dead)) {
            ok = false;
            break;
        }
        if (ranges[i].ctx && ranges[i].ctx != c)
            atomic_store_explicit(&ranges[i].ctx->lent, true, memory_order_relaxed);
        uint64_t here = ranges[i].size - (address - ranges[i].base);
        address += here;
        size -= here < size ? here : size;
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
    size_t i = upper_bound(address);
    bool yes = (i && ranges[i - 1].base + ranges[i - 1].size > address) || (i < count && ranges[i].base - address < size);
    pthread_rwlock_unlock(&lock);
    return yes;
}
