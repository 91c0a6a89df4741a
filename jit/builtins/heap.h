/* SPDX-License-Identifier: Apache-2.0
 * The start of the heap of kernels' malloc, which the loader of AMD code initialises: a struct cwd_heap, zero except top (its
 * size) and size, followed by zeros. The heap is device memory aligned to 16 bytes, of less than 64 GiB. */
#ifndef CWJ_BUILTINS_HEAP_H
#define CWJ_BUILTINS_HEAP_H

#include <stdint.h>

enum { CWD_HEAP_CLASSES = 128 };

struct cwd_heap {
    uint64_t size;              /* bytes, with this */
    uint64_t top;               /* offset of what was never used */
    uint32_t lock;              /* splitting and joining: the rest up to `free` */
    uint32_t freed;             /* the total freed, in units of 16 bytes, modulo 2^32; counted without the lock */
    uint32_t freed_seen;        /* before the last joining */
    uint32_t left;              /* blocks that it left */
    uint64_t free[CWD_HEAP_CLASSES];    /* of blocks by size: the first one's offset / 16, and above 32 bits the number of changes */
};

#endif
