/* SPDX-License-Identifier: Apache-2.0
 * Bump allocator. One arena per compilation, trace reader or dump reader; everything in it dies with arena_finish.
 * Not thread safe. Allocations are zeroed and 16-byte aligned. Out of memory: NULL. */
#ifndef CW_ARENA_H
#define CW_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct cw_arena_chunk;
struct cw_arena {
    struct cw_arena_chunk *head;
    size_t used;      /* bytes used in head */
    size_t total;     /* bytes obtained from malloc, for statistics and limits */
};

void  cw_arena_init(struct cw_arena *a);
void  cw_arena_finish(struct cw_arena *a);
void *cw_arena_alloc(struct cw_arena *a, size_t size) __attribute__((malloc));
char *cw_arena_strndup(struct cw_arena *a, const char *s, size_t n);
char *cw_arena_printf(struct cw_arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define cw_arena_new(a, type)        ((type *)cw_arena_alloc((a), sizeof(type)))
#define cw_arena_array(a, type, n)   ((type *)cw_arena_alloc((a), sizeof(type) * (size_t)(n)))

#endif
