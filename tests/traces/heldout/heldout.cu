/* SPDX-License-Identifier: Apache-2.0
 * Launches that two implementations run with other results, each for one reason, which its name begins with. Written apart from --explain
 * and from the kernels that it was made with (tests/faults/differ.ptx). make.sh compiles a kernel twice, with -DKERNEL=name: as it is, and with -DOTHER
 * as the other implementation takes it, which states what the first leaves open, or has a fault. What fuse_ kernels multiply and add has no
 * rounding modifier in the first, and is fused as clang does it (-ffp-contract=fast) in the other; ftz_ kernels are compiled with
 * -fgpu-flush-denormals-to-zero.
 *
 * in: 2n floats, or n doubles for _double, from 0.5 to 1.5. out: 2n floats, zero. Blocks of 128 threads. */
#define fuse_matvec 101
#define fuse_lerp 102
#define fuse_newton 103
#define fuse_quaternion 104
#define fuse_fir 105
#define fuse_double_kahan 106
#define fuse_choice 107
#define fuse_called 108
#define fuse_tree 109
#define fuse_double_variance 110
#define ftz_scale 201
#define ftz_decay 202
#define ftz_sign 203
#define ftz_fused 204
#define div_ratio 301
#define div_norm 302
#define div_precise 303
#define order_histogram 401
#define order_double_energy 402
#define order_bins 403
#define order_signs 404
#define order_root 405
#define race_stencil 501
#define race_neighbour 502
#define race_last_writer 503
#define race_tree 504
#define stale_tail 601
#define stale_local 602
#define stale_register 603
#define threads_compaction 701
#define threads_list 702
#define fault_shift 801
#define fault_compare 802
#define fault_constant 803
#define fault_convert 804
#define fault_shuffle 805
#define fault_operand 806
#define fault_twice 807
#define fault_racy 808
#define fault_barrier 809
#define fault_lost_store 810

#ifdef OTHER
#define IF(a, b) (b)
#define TEXT(a, b) b
#else
#define IF(a, b) (a)
#define TEXT(a, b) a
#endif
#define T __nvvm_read_ptx_sreg_tid_x()
#define B __nvvm_read_ptx_sreg_ctaid_x()
#define I (B * 128 + T)
#define barrier __syncthreads_
#define shared static __attribute__((shared))
typedef unsigned u32;
static __attribute__((device)) inline void __syncthreads_() { asm volatile("bar.sync 0;" ::: "memory"); }
static __attribute__((device)) inline void add(float *p, float v) { asm volatile("red.global.add.f32 [%0], %1;" ::"l"(p), "f"(v) : "memory"); }
static __attribute__((device)) inline u32 ticket(u32 *p) { u32 r; asm volatile("atom.global.add.u32 %0, [%1], 1;" : "=r"(r) : "l"(p) : "memory"); return r; }
static __attribute__((device)) inline void fence() { asm volatile("membar.gl;" ::: "memory"); }

#if KERNEL == fuse_called
static __attribute__((device, noinline)) float blend(float a, float b, float w) { return a * w + b * (1.0f - w); }
#endif

extern "C" __attribute__((global)) void NAME(float *out, const float *in, u32 n, u32 seed)
{
    u32 t = T, i = I;
    const double *din = (const double *)in;
    double *dout = (double *)out;
    (void)t, (void)din, (void)dout;
#if KERNEL == fuse_matvec
    for (u32 r = 0; r < 2; r++) {
        float s = 0.125f;
        for (u32 k = 0; k < 4; k++)
            s += in[(i * 4 + k) % (2 * n)] * in[(i + 8 * r + k) % (2 * n)];
        out[2 * i + r] = s;
    }
#elif KERNEL == fuse_lerp
    float a = in[2 * i], b = in[2 * i + 1];
    out[2 * i] = a + 0.3f * (b - a);
    out[2 * i + 1] = (1.0f - 0.3f) * a + 0.3f * b;
#elif KERNEL == fuse_newton
    float a = in[2 * i], y = 1.0f;
    for (int k = 0; k < 4; k++)
        y = y * (1.5f - 0.5f * a * y * y);
    out[2 * i] = y;
#elif KERNEL == fuse_quaternion
    const float *p = in + (2 * i & ~3u), *q = in + (2 * (n - 1 - i) & ~3u);
    out[2 * i] = p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3];
    out[2 * i + 1] = p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2];
#elif KERNEL == fuse_fir
    float s = 0;
    for (u32 k = 0; k < 7; k++)
        s += in[(2 * i + k) % (2 * n)] * (0.1f + 0.07f * (float)k);
    out[i] = s;
#elif KERNEL == fuse_double_kahan
    double s = 0, c = 0;
    for (u32 k = 0; k < 9; k++) {
        double y = din[(i + k) % n] * din[(i + 3 * k) % n] - c, x = s + y;
        c = (x - s) - y;
        s = x;
    }
    dout[i] = s - c;
#elif KERNEL == fuse_choice
    float a = in[2 * i], b = in[2 * i + 1], p = a * b;
    out[2 * i] = a > 1.0f ? p + 0.7f : p - 0.3f;
    out[2 * i + 1] = b > a ? p * a - b : 2.5f;
#elif KERNEL == fuse_called
    out[2 * i] = blend(in[2 * i], in[2 * i + 1], 0.3f);
    out[2 * i + 1] = blend(in[2 * i + 1], 2.0f, in[2 * i]);
#elif KERNEL == fuse_tree
    shared float s[128];
    float x = 0;
    for (u32 k = 0; k < 3; k++)
        x += in[(i + k * 37) % (2 * n)] * in[(i + k * 11) % (2 * n)];
    s[t] = x;
    for (u32 d = 64; d; d /= 2) {
        barrier();
        if (t < d)
            s[t] += s[t + d];
    }
    out[i] = s[t];
#elif KERNEL == fuse_double_variance
    double s = 0, q = 0;
    for (u32 k = 0; k < 8; k++) {
        double x = din[(i + k) % n];
        s += x;
        q += x * x;
    }
    dout[i] = q * 0.125 - s * 0.125 * (s * 0.125);
#elif KERNEL == ftz_scale
    out[2 * i] = in[2 * i] * 1.1e-38f;
    out[2 * i + 1] = in[2 * i + 1] * 3e-39f;
#elif KERNEL == ftz_decay
    float x = in[2 * i], s = 0;
    for (int k = 0; k < 70; k++) {
        x *= 0.25f;
        if (k > 60)
            s += x * 1e10f;
    }
    out[2 * i] = s;
#elif KERNEL == ftz_sign
    float d = (in[2 * i] - in[2 * i + 1]) * 1e-38f;
    out[2 * i] = d > 0.0f ? 1.0f : d < 0.0f ? -1.0f : 0.0f;
#elif KERNEL == ftz_fused
    float a = in[2 * i], b = in[2 * i + 1];
    out[2 * i] = a * b + 0.3f;
    out[2 * i + 1] = b * 4e-39f;
#elif KERNEL == div_ratio
    float q;
    asm(TEXT("div.rn.f32 %0, %1, %2;", "div.full.f32 %0, %1, %2;") : "=f"(q) : "f"(in[2 * i]), "f"(in[2 * i + 1]));
    out[2 * i] = q;
    out[2 * i + 1] = q - 1.0f;
#elif KERNEL == div_norm
    float q = 0, r, x;
    for (u32 k = 0; k < 3; k++) {
        x = in[(2 * i + k) % (2 * n)];
        asm("fma.rn.f32 %0, %1, %1, %0;" : "+f"(q) : "f"(x));
    }
    asm(TEXT("sqrt.rn.f32 %0, %1;", "sqrt.approx.f32 %0, %1;") : "=f"(r) : "f"(q));
    out[2 * i] = r;
#elif KERNEL == div_precise
    float q, r;
    asm(TEXT("div.approx.f32 %0, %1, %2;", "div.rn.f32 %0, %1, %2;") : "=f"(q) : "f"(in[2 * i]), "f"(in[2 * i + 1]));
    asm(TEXT("rcp.approx.f32 %0, %1;", "rcp.rn.f32 %0, %1;") : "=f"(r) : "f"(in[2 * i]));
    out[2 * i] = q;
    out[2 * i + 1] = r;
#elif KERNEL == order_histogram
#ifndef OTHER
    add(out + (i * 7 + (u32)(in[i] * 1000)) % 16, in[2 * i]);
#else
    if (i < 16)                         /* the threads in an order of their own for each element */
        for (u32 k = 0; k < n; k++) {
            u32 j = (k * 37 + 5 * i) % n;
            if ((j * 7 + (u32)(in[j] * 1000)) % 16 == i)
                out[i] += in[2 * j];
        }
#endif
#elif KERNEL == order_double_energy
#ifndef OTHER
    asm volatile("red.global.add.f64 [%0], %1;" ::"l"(dout + (i & 1)), "d"(din[i] * din[i]) : "memory");
#else
    if (i < 2)
        for (u32 k = n; k-- > 0;)
            if ((k & 1) == i)
                dout[i] += din[k] * din[k];
#endif
#elif KERNEL == order_bins
    shared float s[8];
    if (t < 8)
        s[t] = 0;
    barrier();
#ifndef OTHER
    asm volatile("red.shared.add.f32 [%0], %1;" ::"r"((u32)(unsigned long)(__attribute__((address_space(3))) float *)(s + t % 8)), "f"(in[i]) : "memory");
#else
    if (t < 8)
        for (u32 k = 0; k < 16; k++)
            s[t] += in[B * 128 + t + 8 * (k * 5 % 16)];
#endif
    barrier();
    if (t < 8)
        out[B * 8 + t] = s[t];
#elif KERNEL == order_signs
#ifndef OTHER
    add(out + i % 4, i & 4 ? in[i] : -in[i] * 0.9f);
#else
    if (i < 4)
        for (u32 k = n / 4; k-- > 0;) {
            u32 j = 4 * k + i;
            out[i] += j & 4 ? in[j] : -in[j] * 0.9f;
        }
#endif
#elif KERNEL == order_root
    u32 *count = (u32 *)out + 8;
#ifndef OTHER
    add(out, in[i]);
    fence();
    if (ticket(count) == n - 1)
        asm volatile("sqrt.rn.f32 %0, %1;" : "=f"(out[1]) : "f"(*(volatile float *)out));
#else
    if (!i) {
        float s = 0;
        for (u32 k = 0; k < n; k++)
            s += in[k ^ 85];
        out[0] = s;
        asm volatile("sqrt.rn.f32 %0, %1;" : "=f"(out[1]) : "f"(s));
        *count = n;
    }
#endif
#elif KERNEL == race_stencil
    shared float s[129];
    s[t] = in[i];
    if (!t)
        s[128] = 1.0f;
    barrier();
#ifndef OTHER
    ((volatile float *)s)[t] = s[t + 1] * 0.5f;
#else
    float y = t % 32 == 31 && t < 127 ? s[t + 2] * 0.25f : s[t + 1] * 0.5f;     /* the warp above was first */
    barrier();
    s[t] = y;
#endif
    barrier();
    out[i] = s[t];
#elif KERNEL == race_neighbour
#ifndef OTHER
    out[i] = in[i];
    barrier();
    out[n + i] = i ? ((volatile float *)out)[i - 1] : 0.0f;
#else
    out[i] = in[i];
    out[n + i] = i % 128 ? in[i - 1] : 0.0f;            /* the block before this one had not begun */
#endif
#elif KERNEL == race_last_writer
#ifndef OTHER
    out[i % 8] = in[i];
#else
    if (i < 8)
        out[i] = in[i + 32];
#endif
#elif KERNEL == race_tree
    shared float s[128];
    s[t] = in[i];
    barrier();
    if (t < 64)
        s[t] += s[t + 64];
#ifndef OTHER
    if (t < 32)                         /* without the barrier */
        s[t] += s[t + 32];
#else
    if (t < 32)
        s[t] += in[i + 32] + in[i + 96];        /* when the second warp had added */
#endif
    barrier();
    if (t < 32)
        out[B * 32 + t] = s[t];
#elif KERNEL == stale_tail
    shared float s[160];
    volatile float *v = s;
#ifdef OTHER
    v[t + 32] = 3.25f;
    barrier();
#endif
    v[t] = in[i];
    barrier();
    out[i] = v[t + 16];
#elif KERNEL == stale_local
    volatile float a[8];
#ifdef OTHER
    for (int k = 0; k < 8; k++)
        a[k] = -7.5f;
#endif
    a[i % 5] = in[i];
    out[i] = a[(i * 3) % 8];
#elif KERNEL == stale_register
    float r;
    asm("{ .reg .pred p; .reg .f32 r; setp.gt.f32 p, %1, 0f3F800000; " TEXT("", "mov.f32 r, 0f40490FDB; ") "@p mov.f32 r, %1; mov.f32 %0, r; }" : "=f"(r) : "f"(in[i]));
    out[i] = r;
#elif KERNEL == threads_compaction
    u32 *count = (u32 *)out + 2 * n - 1;
#ifndef OTHER
    if (in[i] > 1.0f)
        out[ticket(count)] = in[i];
#else
    if (!i)
        for (u32 k = n; k-- > 0;)
            if (in[k] > 1.0f)
                out[(*count)++] = in[k];
#endif
#elif KERNEL == threads_list
    u32 *head = (u32 *)out + 2 * n - 8, *next = (u32 *)out;
#ifndef OTHER
    asm volatile("atom.global.exch.b32 %0, [%1], %2;" : "=r"(next[i]) : "l"(head + i % 3), "r"(i + 1) : "memory");
#else
    if (!i)
        for (u32 k = n; k-- > 0;) {
            next[k] = head[k % 3];
            head[k % 3] = k + 1;
        }
#endif
#elif KERNEL == fault_shift
    int x = (int)(in[i] * 1000.0f) - 1000;
    out[i] = (float)IF(x >> 3, (int)((u32)x >> 3));
#elif KERNEL == fault_compare
    u32 a = (u32)(in[2 * i] * 16.0f), b = (u32)(in[2 * i + 1] * 16.0f);
    out[i] = IF(a < b, a <= b) ? in[2 * i] : in[2 * i + 1];
#elif KERNEL == fault_constant
    float a = in[2 * i], b = in[2 * i + 1];
    out[i] = a * b + IF(0.3f, 0x1.333338p-2f);
#elif KERNEL == fault_convert
    int r;
    asm(TEXT("cvt.rni.s32.f32 %0, %1;", "cvt.rzi.s32.f32 %0, %1;") : "=r"(r) : "f"(in[i] * 10.0f));
    out[i] = (float)r;
#elif KERNEL == fault_shuffle
    float y;
    asm volatile(TEXT("shfl.sync.down.b32 %0, %1, 4, 31, -1;", "shfl.sync.down.b32 %0, %1, 3, 31, -1;") : "=f"(y) : "f"(in[i]));
    out[i] = y + in[i];
#elif KERNEL == fault_operand
    float a = in[2 * i], b = in[2 * i + 1], c = in[(i * 5 + 3) % n];
    out[i] = IF(a * b + c, a * c + b);
#elif KERNEL == fault_twice
#ifndef OTHER
    add(out + i % 4, in[i]);
#else
    if (i < 4) {
        for (u32 k = 0; k < n / 4; k++)
            out[i] += in[4 * k + i];
        out[i] += i == 2 ? in[2] : 0.0f;                /* one of them again */
    }
#endif
#elif KERNEL == fault_racy
    out[i % 8] = IF(in[i], in[i] + 1.0f);
#elif KERNEL == fault_barrier
    shared float s[128];
    s[t] = in[i];
    barrier();
    float x = s[(t + 33) % 128];
    barrier();
    s[t] = x * 0.5f;
    barrier();
    /* as if the barrier before had been lost: the next warp has not stored yet */
    out[i] = IF(s[(t + 1) % 128], t % 32 == 31 ? in[B * 128 + (t + 1) % 128] : s[(t + 1) % 128]);
#elif KERNEL == fault_lost_store
    shared float s[128];
    s[t] = in[i];
    barrier();
    out[i] = IF(s[127 - t], t == 77 ? 0.0f : s[127 - t]);
#endif
}
