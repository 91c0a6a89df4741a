/* SPDX-License-Identifier: Apache-2.0
 * Kernels bound by arithmetic: all-pairs gravity, and the Mandelbrot set with its divergent loop. */
#include "device.h"

extern __shared__ float4v bodies[];

/* x, y, z and mass in; acceleration out. */
KERNEL(nbody)(const float4v *in, float4v *out, u32 n, float softening)
{
    u32 i = global_x;
    float4v me = i < n ? in[i] : (float4v)(0);
    float ax = 0, ay = 0, az = 0;
    for (u32 base = 0; base < n; base += bdimx) {
        bodies[tidx] = base + tidx < n ? in[base + tidx] : (float4v)(0);
        barrier();
        for (u32 k = 0; k < bdimx; k++) {
            float4v o = bodies[k];
            float dx = o.x - me.x, dy = o.y - me.y, dz = o.z - me.z;
            float d2 = __builtin_fmaf(dx, dx, __builtin_fmaf(dy, dy, __builtin_fmaf(dz, dz, softening)));
            float r = __nvvm_rsqrt_approx_f(d2);
            float s = o.w * r * r * r;
            ax = __builtin_fmaf(dx, s, ax);
            ay = __builtin_fmaf(dy, s, ay);
            az = __builtin_fmaf(dz, s, az);
        }
        barrier();
    }
    if (i < n)
        out[i] = (float4v){ax, ay, az, 0};
}

KERNEL(mandelbrot)(u32 *out, u32 width, u32 height, float x0, float y0, float step, u32 limit)
{
    u32 px = bidx * bdimx + tidx, py = bidy * bdimy + tidy;
    if (px >= width || py >= height)
        return;
    float cx = x0 + (float)px * step, cy = y0 + (float)py * step, x = 0, y = 0;
    u32 n = 0;
    while (n < limit && x * x + y * y <= 4.0f) {
        float t = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = t;
        n++;
    }
    out[py * width + px] = n;
}

/* A loop with two exits, a continue and a nested divergent loop: the shape of control flow, not arithmetic. */
KERNEL(collatz)(const u32 *in, u32 *out, u32 n, u32 limit)
{
    u32 i = global_x;
    if (i >= n)
        return;
    u64 v = in[i];
    u32 steps = 0, odd = 0;
    for (;;) {
        if (v == 1)
            break;
        if (++steps > limit) {
            odd |= 0x80000000u;
            break;
        }
        if (v % 2) {
            odd++;
            v = 3 * v + 1;
            continue;
        }
        while (v % 2 == 0 && steps < limit && v > 1) {
            v /= 2;
            steps++;
        }
    }
    switch (steps % 5) {
    case 0: odd += 1000; break;
    case 1: odd ^= 0x40; /* fall through */
    case 2: odd += 2000; break;
    case 3: if (odd > 20) return; odd = 3000; break;
    default: break;
    }
    out[i] = steps << 16 ^ odd;
}
