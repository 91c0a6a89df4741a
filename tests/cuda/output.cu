/* SPDX-License-Identifier: Apache-2.0
 * Kernels that speak: printf with every class of argument, and assert. */
#include "device.h"

KERNEL(print_line)(i32 base)
{
    printf("block %u thread %d: %5.2f %s %c 0x%08x " FORMAT_I64 " %ld %%\n", bidx, (i32)tidx + base, tidx * 1.5, tidx & 1 ? "odd" : "even",
           'a' + tidx % 26, tidx * 0x01010101u, -(i64)5000000000 - tidx, -7l - (long)tidx);
}

/* Half of the threads print, and the result of printf is its number of arguments. */
KERNEL(print_some)(i32 *results)
{
    results[tidx] = -1;
    if (tidx % 2)
        results[tidx] = printf("%d %d\n", tidx, tidx * tidx);
}

KERNEL(check_positive)(const i32 *in, i32 *out, u32 n)
{
    u32 i = global_x;
    if (i >= n)
        return;
    assert(in[i] > 0);
    out[i] = in[i];
}
