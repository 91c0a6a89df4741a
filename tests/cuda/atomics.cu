/* SPDX-License-Identifier: Apache-2.0
 * Histograms and the atomic operations, on global and on shared memory. */
#include "device.h"

#define BINS 64

KERNEL(histogram_global)(const u8 *in, u32 *bins, u32 n)
{
    for (u32 i = global_x; i < n; i += gdimx * bdimx)
        __nvvm_atom_add_gen_i((i32 *)&bins[in[i] % BINS], 1);
}

KERNEL(histogram_shared)(const u8 *in, u32 *bins, u32 n)
{
    __shared__ i32 local[BINS];
    for (u32 b = tidx; b < BINS; b += bdimx)
        local[b] = 0;
    barrier();
    for (u32 i = global_x; i < n; i += gdimx * bdimx)
        __nvvm_atom_add_gen_i(&local[in[i] % BINS], 1);
    barrier();
    for (u32 b = tidx; b < BINS; b += bdimx)
        if (local[b])
            __nvvm_atom_add_gen_i((i32 *)&bins[b], local[b]);
}

/* Each operation on a cell of its own; the result does not depend on the order. */
KERNEL(atomic_ops)(const i32 *in, i32 *cells, u64 *wide, float *sum, double *dsum, u32 n)
{
    u32 i = global_x;
    if (i >= n)
        return;
    i32 v = in[i];
    __nvvm_atom_add_gen_i(&cells[0], v);
    __nvvm_atom_min_gen_i(&cells[1], v);
    __nvvm_atom_max_gen_i(&cells[2], v);
    __nvvm_atom_min_gen_ui((u32 *)&cells[3], (u32)v);
    __nvvm_atom_max_gen_ui((u32 *)&cells[4], (u32)v);
    __nvvm_atom_and_gen_i(&cells[5], v | 0xff);
    __nvvm_atom_or_gen_i(&cells[6], v & 0xff00);
    __nvvm_atom_xor_gen_i(&cells[7], v);
    __nvvm_atom_inc_gen_ui((u32 *)&cells[8], 9);
    __nvvm_atom_dec_gen_ui((u32 *)&cells[9], 6);
    atomic_add_i64((i64 *)&wide[0], (i64)v << 20);
    atomic_max_u64(&wide[1], (u64)(u32)v * 3);
    __nvvm_atom_add_gen_f(sum, (float)(v & 15));
    __nvvm_atom_add_gen_d(dsum, (double)(v & 255));
    /* Every thread gets its own number. */
    u32 ticket = (u32)__nvvm_atom_add_gen_i(&cells[10], 1);
    cells[16 + ticket] = (i32)i;
    /* A sum by compare-and-swap. */
    i32 old = cells[11], seen;
    while ((seen = __nvvm_atom_cas_gen_i(&cells[11], old, old + (v & 7))) != old)
        old = seen;
    __nvvm_atom_xchg_gen_i(&cells[12], 5);
}
