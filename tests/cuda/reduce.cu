/* SPDX-License-Identifier: Apache-2.0
 * Reductions, scans and votes: through shared memory with barriers, and through the registers of a warp. Blocks are
 * one-dimensional and of any size up to 1024. */
#include "device.h"

extern __shared__ __attribute__((aligned(16))) i32 scratch[];

/* Sum of a block by a tree in shared memory; works for any block size. */
KERNEL(reduce_tree)(const i32 *in, i32 *out, u32 n)
{
    u32 i = global_x;
    scratch[tidx] = i < n ? in[i] : 0;
    barrier();
    for (u32 width = bdimx; width > 1;) {
        u32 half = (width + 1) / 2;
        if (tidx < width - half)
            scratch[tidx] += scratch[tidx + half];
        barrier();
        width = half;
    }
    if (tidx == 0)
        out[bidx] = scratch[0];
}

static __device__ i32
warp_sum(i32 v)
{
    u32 members = warp_members(), count = (u32)__builtin_popcount(members), lane = tidx & 31;
    for (u32 d = 16; d; d /= 2) {
        i32 other = shfl_down(members, v, d);
        if (lane + d < count)
            v += other;
    }
    return v;
}

KERNEL(reduce_shuffle)(const i32 *in, i32 *out, u32 n)
{
    __shared__ i32 partial[32];
    u32 i = global_x;
    i32 v = warp_sum(i < n ? in[i] : 0);
    if ((tidx & 31) == 0)
        partial[tidx / 32] = v;
    barrier();
    if (tidx == 0) {
        i32 sum = 0;
        for (u32 w = 0; w < (bdimx + 31) / 32; w++)
            sum += partial[w];
        out[bidx] = sum;
    }
}

/* One butterfly over whole warps: all lanes end with the maximum. */
KERNEL(warp_max)(const i32 *in, i32 *out)
{
    i32 v = in[global_x];
    for (u32 d = 16; d; d /= 2) {
        i32 other = shfl_xor(0xffffffffu, v, d);
        v = other > v ? other : v;
    }
    out[global_x] = v;
}

/* What each lane reads by each kind of shuffle, votes, and a vote among the odd lanes only. */
KERNEL(warp_ops)(const i32 *in, i32 *out)
{
    i32 v = in[global_x];
    u32 lane = lane_id(), all = 0xffffffffu;
    i32 *o = out + 10ul * global_x;
    o[0] = shfl_up(all, v, 3);
    o[1] = shfl_down(all, v, 5);
    o[2] = shfl_xor(all, v, 9);
    o[3] = shfl_idx(all, v, (lane * 7 + 3) & 31);
    o[4] = shfl_idx_seg8(all, v, lane + 3);
    o[5] = (i32)ballot(all, v & 1);
    o[6] = vote_any(all, v > 900) | vote_all(all, v > 10) << 1;
    o[7] = -1;
    if (lane & 1) {
        o[7] = (i32)ballot(0xaaaaaaaau, v & 2);
        v += shfl_xor(0xaaaaaaaau, v, 2);
    }
    o[8] = shfl_idx(all, v, 31 - lane);
    float f = (float)v;
    f += shfl_down_f(all, f, 1);
    o[9] = (i32)f;
}

/* Inclusive prefix sum of a block in shared memory with two buffers (Hillis and Steele). */
KERNEL(scan_block)(const i32 *in, i32 *out, u32 n)
{
    u32 i = global_x;
    i32 *from = scratch, *to = scratch + bdimx;
    from[tidx] = i < n ? in[i] : 0;
    barrier();
    for (u32 d = 1; d < bdimx; d *= 2) {
        to[tidx] = tidx >= d ? from[tidx] + from[tidx - d] : from[tidx];
        barrier();
        i32 *t = from;
        from = to;
        to = t;
    }
    if (i < n)
        out[i] = from[tidx];
}

/* The same with shuffles in a warp and one addition across warps. */
KERNEL(scan_shuffle)(const i32 *in, i32 *out, u32 n)
{
    __shared__ i32 totals[32];
    u32 i = global_x, lane = tidx & 31, members = warp_members();
    i32 v = i < n ? in[i] : 0;
    for (u32 d = 1; d < 32; d *= 2) {
        i32 below = shfl_up(members, v, d);
        if (lane >= d)
            v += below;
    }
    if (lane == (u32)__builtin_popcount(members) - 1)
        totals[tidx / 32] = v;
    barrier();
    for (u32 w = 0; w < tidx / 32; w++)
        v += totals[w];
    if (i < n)
        out[i] = v;
}

/* Barriers that also reduce a predicate over the block. */
KERNEL(barrier_reduce)(const i32 *in, i32 *out)
{
    i32 v = in[global_x];
    i32 *o = out + 3ul * global_x;
    o[0] = barrier_count(v % 3 == 0);
    o[1] = barrier_and(v >= 0) != 0;
    o[2] = barrier_or(v == 77) != 0;
}

KERNEL(reduce_double)(const double *in, double *out, u32 n)
{
    double *s = (double *)scratch;
    u32 i = global_x;
    s[tidx] = i < n ? in[i] : 0;
    barrier();
    if (tidx == 0) {
        double sum = 0;
        for (u32 k = 0; k < bdimx; k++)
            sum += s[k];
        out[bidx] = sum;
    }
}
