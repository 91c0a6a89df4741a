/* SPDX-License-Identifier: Apache-2.0
 * Bitonic sort: all stages of one block in shared memory, and single global stages. */
#include "device.h"

extern __shared__ u32 keys[];

/* Sorts `size` keys (a power of two, at most 2048) with any number of threads. */
KERNEL(bitonic_block)(u32 *data, u32 size)
{
    u32 *d = data + (u64)bidx * size;
    for (u32 i = tidx; i < size; i += bdimx)
        keys[i] = d[i];
    for (u32 k = 2; k <= size; k *= 2)
        for (u32 j = k / 2; j; j /= 2) {
            barrier();
            for (u32 i = tidx; i < size; i += bdimx) {
                u32 p = i ^ j;
                if (p <= i)
                    continue;
                u32 a = keys[i], b = keys[p];
                if ((a > b) == ((i & k) == 0)) {
                    keys[i] = b;
                    keys[p] = a;
                }
            }
        }
    barrier();
    for (u32 i = tidx; i < size; i += bdimx)
        d[i] = keys[i];
}

KERNEL(bitonic_step)(u32 *data, u32 size, u32 k, u32 j)
{
    u32 i = global_x, p = i ^ j;
    if (i >= size || p <= i)
        return;
    u32 a = data[i], b = data[p];
    if ((a > b) == ((i & k) == 0)) {
        data[i] = b;
        data[p] = a;
    }
}
