/* SPDX-License-Identifier: Apache-2.0
 * What a loader of code for AMD puts at the start of the heap of kernels' malloc: a struct cwd_heap, zero but for top (its size) and
 * size. The heap is device memory aligned to 16 bytes, of at most 64 GiB. */
#ifndef CWJ_DEVLIB_HEAP_H
#define CWJ_DEVLIB_HEAP_H

#include <stdint.h>

struct cwd_heap {
    uint64_t size;              /* bytes, with this */
    uint64_t top;               /* offset of what was never used */
    uint64_t free[48];          /* of blocks of 2^k bytes: the first one's offset / 16, and above 32 bits the number of changes */
};

#endif
