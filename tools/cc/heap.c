/* SPDX-License-Identifier: Apache-2.0
 * See cc.h: the heap of a short run. Process-wide state: the options of malloc. */
#define _DEFAULT_SOURCE
#include "tools/cc/cc.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SMALL_TEXT = 64 << 10, HEAP = 32 << 20, HUGE_PAGE = 2 << 20 };

/* LLVM touches 9 MB for the smallest kernel. As malloc has it, the heap of a thread grows by a system call for every few pages, and each page is a fault:
 * a quarter of the CPU time of a small text. Threads wait for each other in a common heap, but a small text has hardly more than one codegen unit. */
void
cc_heap_for(size_t text)
{
    if (text > SMALL_TEXT)
        return;
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, HEAP);
    mallopt(M_TRIM_THRESHOLD, 2 * HEAP);
    mallopt(M_TOP_PAD, HEAP);
    /* Extend the heap, by a block that is never used, to an address from which on no page has been touched. */
    uintptr_t old = (uintptr_t)sbrk(0), begin = (old / HUGE_PAGE + 2) * HUGE_PAGE;
    static void *volatile below;        /* or the address sanitizer calls it a leak */
    below = malloc(begin - old);
    (void)below;
    uintptr_t end = (uintptr_t)sbrk(0);
    if (begin < end)
        (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);       /* where the kernel has none, small pages do */
}
