/* SPDX-License-Identifier: Apache-2.0
 * See arena.h. */
#define _GNU_SOURCE
#include "impl/base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LARGE_PAGE = 2 * 1024 * 1024 };

/* Chunk sizes are whole pages, header included. */
#define CHUNK     (64 * 1024 - sizeof(struct cw_arena_chunk))
#define MAX_CHUNK (LARGE_PAGE - sizeof(struct cw_arena_chunk))

struct cw_arena_chunk {
    struct cw_arena_chunk *next;
    size_t size;
    _Alignas(16) unsigned char bytes[];
};

struct cw_arena_recovery {
    jmp_buf here;
};

void
cw_arena_init(struct cw_arena *a)
{
    memset(a, 0, sizeof *a);
}

void
cw_arena_finish(struct cw_arena *a)
{
    for (struct cw_arena_chunk *c = a->head, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    memset(a, 0, sizeof *a);
}

/* Memory for *size bytes or somewhat more. Large chunks use huge pages: faulting small pages would cost more than filling them. */
static struct cw_arena_chunk *
chunk_alloc(size_t *size)
{
    size_t whole = sizeof(struct cw_arena_chunk) + *size;
#ifdef MADV_HUGEPAGE
    if (whole >= LARGE_PAGE / 2) {
        whole = (whole + LARGE_PAGE - 1) & ~(size_t)(LARGE_PAGE - 1);
        struct cw_arena_chunk *c = aligned_alloc(LARGE_PAGE, whole);
        if (c)
            (void)madvise(c, whole, MADV_HUGEPAGE);
        *size = whole - sizeof *c;
        return c;
    }
#endif
    return malloc(whole);
}

bool
cw_arena_guard(struct cw_arena *a, void (*work)(void *user), void *user)
{
    struct cw_arena_recovery recovery, *outer = a->recovery;
    a->recovery = &recovery;
    if (setjmp(recovery.here)) {
        a->recovery = outer;
        return false;
    }
    work(user);
    a->recovery = outer;
    return true;
}

void
cw_arena_guard_too(struct cw_arena *a, const struct cw_arena *guarded)
{
    a->recovery = guarded->recovery;
}

void
cw_arena_exhausted(struct cw_arena *a)
{
    longjmp(a->recovery->here, 1);
}

static void *
no_memory(struct cw_arena *a)
{
    if (a->recovery)
        cw_arena_exhausted(a);
    return NULL;
}

void *
cw_arena_alloc(struct cw_arena *a, size_t size)
{
    if (size > SIZE_MAX / 2)
        return no_memory(a);
    size = (size + 15) & ~(size_t)15;
    if (!a->head || a->used + size > a->head->size) {
        size_t want = a->total / 4 < CHUNK ? CHUNK : a->total / 4 > MAX_CHUNK ? MAX_CHUNK : a->total / 4;
        if (want < size)
            want = size;
        struct cw_arena_chunk *c = chunk_alloc(&want);
        if (!c)
            return no_memory(a);
        c->next = a->head;
        c->size = want;
        a->head = c;
        a->used = 0;
        a->total += want;
    }
    void *p = a->head->bytes + a->used;
    a->used += size;
    memset(p, 0, size);
    return p;
}

void *
cw_arena_grow(struct cw_arena *a, void *old, uint32_t n, uint32_t more, uint32_t *cap, size_t size)
{
    uint64_t need = (uint64_t)n + more, larger = need * 2 + 32;
    if (need <= *cap)
        return old;
    void *fresh = larger > UINT32_MAX ? no_memory(a) : cw_arena_alloc(a, larger * size);
    if (!fresh)
        return NULL;
    if (n)
        memcpy(fresh, old, n * size);
    *cap = (uint32_t)larger;
    return fresh;
}

char *
cw_arena_strndup(struct cw_arena *a, const char *s, size_t n)
{
    char *p = cw_arena_alloc(a, n + 1);
    if (p)
        memcpy(p, s, n);
    return p;
}

char *
cw_arena_printf(struct cw_arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *p = n < 0 ? NULL : cw_arena_alloc(a, (size_t)n + 1);
    if (p) {
        va_start(ap, fmt);
        vsnprintf(p, (size_t)n + 1, fmt, ap);
        va_end(ap);
    }
    return p;
}
