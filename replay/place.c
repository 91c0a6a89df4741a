/* SPDX-License-Identifier: Apache-2.0
 * Memory at given addresses. Device memory is mapped there by the driver's virtual memory management; where the driver does
 * not give that address (another device's address space, memory of the host), host memory is mapped there and registered. */
#define _GNU_SOURCE
#include "replay/session.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

struct cwd_span {
    uint64_t address, size;
    bool host;                  /* the processor may write there */
};

/* How many spans begin at the address or below; they are sorted, and do not overlap. */
static uint32_t
spans_up_to(const struct cwd_session *s, uint64_t address)
{
    uint32_t low = 0, high = s->nspans;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (s->spans[mid].address <= address)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool
add_span(struct cwd_session *s, uint64_t address, uint64_t size, bool host)
{
    if ((s->nspans & (s->nspans - 1)) == 0) {           /* grows by doubling */
        struct cwd_span *more = realloc(s->spans, (s->nspans ? 2 * (size_t)s->nspans : 1) * sizeof *more);
        if (!more)
            return false;
        s->spans = more;
    }
    struct cwd_span *at = &s->spans[spans_up_to(s, address)];
    memmove(at + 1, at, (size_t)(&s->spans[s->nspans++] - at) * sizeof *at);
    *at = (struct cwd_span){ address, size, host };
    return true;
}

static const struct cwd_span *
span_of(const struct cwd_session *s, uint64_t address)
{
    uint32_t n = spans_up_to(s, address);
    return n && address - s->spans[n - 1].address < s->spans[n - 1].size ? &s->spans[n - 1] : NULL;
}

/* Start of the first span above address, or end. */
static uint64_t
next_span(const struct cwd_session *s, uint64_t address, uint64_t end)
{
    uint32_t n = spans_up_to(s, address);
    return n < s->nspans && s->spans[n].address < end ? s->spans[n].address : end;
}

/* Back [address, address + size), which is reserved. */
static CUresult
map(struct cwd_session *s, uint64_t address, uint64_t size)
{
    CUdevice device;
    CUmemGenericAllocationHandle handle;
    CUresult r = s->cu.cuCtxGetDevice(&device);
    CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
    CUmemAccessDesc access = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE }, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    prop.location.id = access.location.id = device;
    if (r == CUDA_SUCCESS)
        r = s->cu.cuMemCreate(&handle, size, &prop, 0);
    if (r != CUDA_SUCCESS)
        return r;
    r = s->cu.cuMemMap(address, size, 0, handle, 0);
    if (r == CUDA_SUCCESS) {
        r = s->cu.cuMemSetAccess(address, size, &access, 1);
        if (r != CUDA_SUCCESS)
            s->cu.cuMemUnmap(address, size);
    }
    s->cu.cuMemRelease(handle);
    return r;
}

static bool
place_device(struct cwd_session *s, uint64_t from, uint64_t to)
{
    uint64_t g = s->granule;
    if (!g)
        return false;
    from -= from % g;
    to += (g - to % g) % g;
    if (from >= s->zone && to <= s->zone + s->zone_size)
        return map(s, from, to - from) == CUDA_SUCCESS && add_span(s, from, to - from, false);
    CUdeviceptr got;
    if (s->cu.cuMemAddressReserve(&got, to - from, 0, from, 0) != CUDA_SUCCESS)
        return false;
    if (got == from && map(s, from, to - from) == CUDA_SUCCESS && add_span(s, from, to - from, false))
        return true;
    s->cu.cuMemAddressFree(got, to - from);
    return false;
}

static bool
place_host(struct cwd_session *s, uint64_t from, uint64_t to)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    CUdeviceptr device;
    from -= from % page;
    to += (page - to % page) % page;
    if (to >> 47)
        return false;
    void *want = (void *)(uintptr_t)from;
    void *p = mmap(want, to - from, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return false;
    if (p == want && s->cu.cuMemHostRegister_v2(p, to - from, CU_MEMHOSTREGISTER_DEVICEMAP) == CUDA_SUCCESS) {
        if (s->cu.cuMemHostGetDevicePointer_v2(&device, p, 0) == CUDA_SUCCESS && device == from && add_span(s, from, to - from, true))
            return true;
        s->cu.cuMemHostUnregister(p);
    }
    munmap(p, to - from);
    return false;
}

bool
cwd_place(struct cwd_session *s, uint64_t address, uint64_t size, bool host)
{
    uint64_t end = address + size;
    for (uint64_t at = address; at < end;) {
        const struct cwd_span *x = span_of(s, at);
        if (x) {
            at = x->address + x->size;
            continue;
        }
        uint64_t to = next_span(s, at, end);
        bool zone = at >= s->zone && at < s->zone + s->zone_size;
        bool ok = host && !zone ? place_host(s, at, to) || place_device(s, at, to) : place_device(s, at, to) || place_host(s, at, to);
        if (!ok)
            return false;
    }
    return true;
}

CUresult
cwd_place_anywhere(struct cwd_session *s, uint64_t size, uint64_t *address)
{
    CUdeviceptr p;
    CUresult r = s->cu.cuMemAlloc_v2(&p, size);
    if (r == CUDA_SUCCESS)
        *address = p;
    return r;
}

CUresult
cwd_copy(struct cwd_session *s, uint64_t address, void *data, uint64_t size, bool write)
{
    uint8_t *p = data;
    CUresult r = CUDA_SUCCESS;
    while (size && r == CUDA_SUCCESS) {
        const struct cwd_span *x = span_of(s, address);
        uint64_t n = x ? x->address + x->size - address : size;
        if (n > size)
            n = size;
        if (x && x->host && write)
            memcpy((void *)(uintptr_t)address, p, n);
        else if (x && x->host)
            memcpy(p, (const void *)(uintptr_t)address, n);
        else
            r = write ? s->cu.cuMemcpyHtoD_v2(address, p, n) : s->cu.cuMemcpyDtoH_v2(p, address, n);
        address += n;
        p += n;
        size -= n;
    }
    return r;
}

/* ---- pointers ---------------------------------------------------------------------------------------------------------------- */

bool
cwd_moves_add(struct cwd_moves *m, uint64_t from, uint64_t to, uint64_t size)
{
    m->order = CWD_MOVES_UNSORTED;
    if (from == to) {
        if (m->nstays == m->capstays) {
            uint32_t n = m->capstays ? m->capstays * 2 : 16;
            uint64_t *p = realloc(m->stays, n * sizeof *p);
            if (!p)
                return false;
            m->stays = p;
            m->capstays = n;
        }
        m->stays[m->nstays++] = from;
        return true;
    }
    if (m->count == m->capacity) {
        uint32_t n = m->capacity ? m->capacity * 2 : 16;
        struct cwd_move *p = realloc(m->list, n * sizeof *p);
        if (!p)
            return false;
        m->list = p;
        m->capacity = n;
    }
    m->list[m->count++] = (struct cwd_move){ from, to, size };
    return true;
}

static int
order_of(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int
by_from(const void *a, const void *b)
{
    return order_of(((const struct cwd_move *)a)->from, ((const struct cwd_move *)b)->from);
}

static int
by_to(const void *a, const void *b)
{
    return order_of(((const struct cwd_move *)a)->to, ((const struct cwd_move *)b)->to);
}

static int
by_value(const void *a, const void *b)
{
    return order_of(*(const uint64_t *)a, *(const uint64_t *)b);
}

/* The moves in the order of the addresses that are to be translated. */
static void
sort_moves(struct cwd_moves *m, bool back)
{
    enum cwd_moves_order order = back ? CWD_MOVES_BY_TO : CWD_MOVES_BY_FROM;
    if (m->order == order)
        return;
    qsort(m->list, m->count, sizeof *m->list, back ? by_to : by_from);
    if (m->nstays)
        qsort(m->stays, m->nstays, sizeof *m->stays, by_value);
    m->order = order;
}

/* The new address of a pointer into moved memory, or just behind it; 0 for other values. "Inside" wins over "behind", also for
 * memory that begins there and did not move. m is sorted. */
static uint64_t
translate(const struct cwd_moves *m, uint64_t word, bool back)
{
    uint32_t low = 0, high = m->count;          /* of the moves that begin at the word or below, the last */
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if ((back ? m->list[mid].to : m->list[mid].from) <= word)
            low = mid + 1;
        else
            high = mid;
    }
    if (!low)
        return 0;
    const struct cwd_move *x = &m->list[low - 1];
    uint64_t from = back ? x->to : x->from, to = back ? x->from : x->to;
    if (word - from > x->size || (word - from == x->size && m->nstays && bsearch(&word, m->stays, m->nstays, sizeof word, by_value)))
        return 0;
    return word - from + to;
}

/* m is sorted. */
static void
bounds(const struct cwd_moves *m, bool back, uint64_t *low, uint64_t *high)
{
    const struct cwd_move *last = &m->list[m->count - 1];
    *low = back ? m->list[0].to : m->list[0].from;
    *high = (back ? last->to : last->from) + last->size;
}

void
cwd_moves_apply(struct cwd_moves *m, uint8_t *data, uint64_t size, uint64_t address, bool back, const uint8_t *recorded)
{
    uint64_t low, high, word;
    if (!m->count)
        return;
    sort_moves(m, back);
    bounds(m, back, &low, &high);
    for (uint64_t at = -address & 7; at + sizeof word <= size; at += sizeof word) {
        memcpy(&word, data + at, sizeof word);
        if (word < low || word > high || (recorded && !memcmp(recorded + at, &word, sizeof word)))
            continue;
        uint64_t other = translate(m, word, back);
        if (!other)
            continue;
        memcpy(data + at, &other, sizeof other);
        if (!back)
            m->patched++;
    }
}

bool
cwd_moves_unsafe(struct cwd_moves *m, const uint8_t *data, uint64_t size, uint64_t address, uint64_t *offset)
{
    uint64_t low, high, word;
    if (!m->count)
        return false;
    sort_moves(m, false);
    bounds(m, false, &low, &high);
    for (uint64_t at = 0; at + sizeof word <= size; at++) {
        if (!((address + at) & 7))
            continue;
        memcpy(&word, data + at, sizeof word);
        if (word < low || word > high || !translate(m, word, false))
            continue;
        *offset = at;
        return true;
    }
    return false;
}
