/* SPDX-License-Identifier: Apache-2.0
 * The start of the heap for kernels' malloc, which the loader of AMD code initialises: a struct cwd_heap, zero except top (its size) and
 * size, followed by zeros. The heap is device memory aligned to 16 bytes, of less than 64 GiB. */
#ifndef CWJ_BUILTINS_HEAP_H
#define CWJ_BUILTINS_HEAP_H

#include <stdint.h>

enum { CWD_HEAP_CLASSES = 128 };

struct cwd_heap {
    uint64_t size;              /* bytes, including this header */
    uint64_t top;               /* offset of the unused memory */
    uint32_t lock;              /* for splitting and joining; guards the fields up to `free` */
    uint32_t freed;             /* total units freed (16 bytes each), modulo 2^32; counted without the lock */
    uint32_t freed_seen;        /* at the last joining */
    uint32_t left;              /* blocks left by the last joining */
    uint64_t free[CWD_HEAP_CLASSES];    /* lists by size class: offset of the first block / 16, and above 32 bits the number of changes */
};

#endif
