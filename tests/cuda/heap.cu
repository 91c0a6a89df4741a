/* SPDX-License-Identifier: Apache-2.0
 * malloc and free in kernels: of all lanes at once, across launches, of a full heap, of large blocks in each other's way. */
#include "device.h"

extern "C" __device__ void *malloc(u64 size);
extern "C" __device__ void free(void *pointer);

/* The compiler may leave out a malloc whose memory nobody needs: not behind this. */
static __device__ void *
take(u64 size)
{
    void *p = malloc(size);
    asm volatile("" : "+l"(p));
    return p;
}

static __device__ u32
mixed(u32 x)
{
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

/* errors[thread]: +1 no memory, +100 not aligned, +10000 bytes that are not what was written. */
KERNEL(heap_rounds)(u32 *errors, u32 rounds, u32 most)
{
    u32 wrong = 0;
    for (u32 r = 0; r < rounds; r++) {
        u32 size = 1 + mixed(global_x * 977 + r) % most;
        u8 *p = (u8 *)take(size);
        if (!p) {
            wrong += 1;
            continue;
        }
        if ((u64)p & 15)
            wrong += 100;
        for (u32 i = 0; i < size; i++)
            p[i] = (u8)(global_x * 7 + r + i);
        if (r % 3 == 0)
            barrier();
        for (u32 i = 0; i < size; i++)
            if (p[i] != (u8)(global_x * 7 + r + i))
                wrong += 10000;
        free(p);
    }
    errors[global_x] = wrong;
}

KERNEL(heap_keep)(u32 **blocks)
{
    u32 n = 12 + global_x % 50, *p = (u32 *)take(4 * n);
    for (u32 i = 0; p && i < n; i++)
        p[i] = global_x << 8 | i;
    blocks[global_x] = p;
}

/* Another thread than the one that allocated: sums[block's thread], and the block is free. */
KERNEL(heap_collect)(u32 **blocks, u32 *sums, u32 count)
{
    u32 who = count - 1 - global_x, n = 12 + who % 50, sum = 0;
    u32 *p = blocks[who];
    for (u32 i = 0; p && i < n; i++)
        sum += p[i];
    sums[who] = sum;
    free(p);
}

/* All threads take blocks of 1000 bytes until there are none, and then look whether they are still theirs. */
KERNEL(heap_fill)(u32 *counts, u32 *errors)
{
    u64 *mine = 0;
    u32 n = 0, wrong = 0;
    for (u64 *p; (p = (u64 *)take(1000)); n++) {
        p[0] = (u64)mine;
        p[1] = p[124] = (u64)global_x << 32 | n;
        mine = p;
    }
    counts[global_x] = n;
    while (mine) {
        u64 *next = (u64 *)mine[0];
        n--;
        if (mine[1] != ((u64)global_x << 32 | n) || mine[124] != mine[1])
            wrong++;
        free(mine);
        mine = next;
    }
    errors[global_x] = wrong + n;
}

/* Blocks up to `most` bytes, more than there is for all: NULL is right, another's bytes are not. */
KERNEL(heap_crowd)(u32 *got, u32 *errors, u32 rounds, u32 most)
{
    u32 have = 0, wrong = 0;
    for (u32 r = 0; r < rounds; r++) {
        u32 n = 4 + mixed(global_x * 131 + r) % most / 4;
        u32 *p = (u32 *)take(4 * n), tag = global_x << 8 | r;
        if (!p)
            continue;
        have++;
        for (u32 i = 0; i < n; i += 61)
            p[i] = tag + i;
        p[n - 1] = tag;
        for (u32 i = 0; i < n - 1; i += 61)
            if (p[i] != tag + i)
                wrong++;
        if (p[n - 1] != tag)
            wrong++;
        free(p);
    }
    got[global_x] = have;
    errors[global_x] = wrong;
}

/* One thread: results[i] is 1 when there were sizes[i] bytes, whose ends can be written. */
KERNEL(heap_sizes)(const u64 *sizes, u32 *results, u32 count)
{
    free(0);
    for (u32 i = 0; i < count; i++) {
        u8 *p = (u8 *)take(sizes[i]);
        results[i] = p != 0;
        if (p)
            p[0] = p[sizes[i] - 1] = 1;
        free(p);
    }
}

KERNEL(heap_free_twice)(u32 *out)
{
    void *p = take(100);
    out[0] = p != 0;
    free(p);
    free(p);
}
