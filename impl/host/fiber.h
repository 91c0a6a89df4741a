/* SPDX-License-Identifier: Apache-2.0
 * User-space contexts with stacks of their own, private to the engine. A context belongs to the OS thread that entered it
 * first. Stacks are reserved address space, committed when touched, with an inaccessible page below. Address and thread
 * sanitizer are told of every switch. */
#ifndef CWH_FIBER_H
#define CWH_FIBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__SANITIZE_ADDRESS__)
#define CWH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CWH_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define CWH_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CWH_TSAN 1
#endif
#endif

struct cwh_context {
    void *sp;                   /* while suspended */
    uint8_t *lo;                /* usable stack: [lo, lo + size) */
    size_t size;
    void *asan_fake, *tsan;
};

enum { CWH_GUARD = 4096 };

/* Make `c` describe the calling thread's own stack. */
void cwh_context_adopt(struct cwh_context *c);
/* Make `c` start with entry(arg) when it is switched to first; `entry` never returns. `colour` spreads stack tops over
 * cache sets. Also restarts a context and discards its frames. */
void cwh_context_start(struct cwh_context *c, void (*entry)(void *), void *arg, unsigned colour);
/* First call in `entry`. */
void cwh_context_entered(void);
void cwh_context_switch(struct cwh_context *from, struct cwh_context *to);
/* Around a thread's work on other contexts: the leak checker looks at its own stack, too, which is not the current one meanwhile. */
void *cwh_context_rest(const struct cwh_context *own);
void  cwh_context_resume(const struct cwh_context *own, void *rested);
void cwh_context_finish(struct cwh_context *c);

/* Around a thread's work on kernels: they round to nearest and keep denormals, whatever the program has set for its threads. A switch does not save that: no
 * code that runs on a context changes it and then switches. */
uint64_t cwh_float_enter(void);
void     cwh_float_leave(uint64_t old);

/* One mapping with `count` stacks of `size` bytes (a multiple of the page size), guard pages between. NULL: no memory. */
uint8_t *cwh_stacks_map(size_t size, unsigned count);
void     cwh_stacks_unmap(uint8_t *base, size_t size, unsigned count);
/* Bottom of stack i of a mapping. */
static inline uint8_t *
cwh_stack_at(uint8_t *base, size_t size, unsigned i)
{
    return base + (size_t)i * (size + CWH_GUARD) + CWH_GUARD;
}

#endif
