/* SPDX-License-Identifier: Apache-2.0
 * Bump allocator. One arena per compilation, trace reader or dump reader; everything in it dies with arena_finish.
 * Not thread safe. Allocations are zeroed and 16-byte aligned. Out of memory: NULL, or, in guarded work, its end. */
#ifndef CW_ARENA_H
#define CW_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cw_arena_chunk;
struct cw_arena_recovery;
struct cw_arena {
    struct cw_arena_chunk *head;
    size_t used;      /* bytes used in head */
    size_t total;     /* bytes obtained from malloc, for statistics and limits */
    struct cw_arena_recovery *recovery;     /* of guarded work, else NULL */
};

void  cw_arena_init(struct cw_arena *a);
void  cw_arena_finish(struct cw_arena *a);
void *cw_arena_alloc(struct cw_arena *a, size_t size) __attribute__((malloc));
/* Room for n + more elements: `old`, where there are n and space for *cap, or a copy with more space. What is new in it is zero. */
void *cw_arena_grow(struct cw_arena *a, void *old, uint32_t n, uint32_t more, uint32_t *cap, size_t size);
char *cw_arena_strndup(struct cw_arena *a, const char *s, size_t n);
char *cw_arena_printf(struct cw_arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Run work(user). An allocation from `a` that fails meanwhile ends the work: false, and what was allocated before stays. So the work checks no
 * allocation. It holds nothing but arena memory whenever it allocates: no lock, and no memory that only it could free. */
bool cw_arena_guard(struct cw_arena *a, void (*work)(void *user), void *user) __attribute__((warn_unused_result));
/* The same for allocations from a second arena; within the work. */
void cw_arena_guard_too(struct cw_arena *a, const struct cw_arena *guarded);
/* End that work, as a failed allocation does. */
__attribute__((noreturn)) void cw_arena_exhausted(struct cw_arena *a);

#define cw_arena_new(a, type)        ((type *)cw_arena_alloc((a), sizeof(type)))
#define cw_arena_array(a, type, n)   ((type *)cw_arena_alloc((a), sizeof(type) * (size_t)(n)))

#endif
