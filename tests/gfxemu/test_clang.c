/* SPDX-License-Identifier: Apache-2.0
 * test_clang ARCH CODE-OBJECT: every kernel of kernels.cl on the interpreter against the same computation here. */
#include "tools/gfxemu/gfx.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint32_t u32;
typedef uint64_t u64;
enum { N = 1000, GROUPS = (N + 255) / 256 };

static struct gfx_object *object;
static unsigned failures;

static const struct gfx_kernel *
kernel(const char *name)
{
    for (u32 i = 0; i < object->nkernels; i++)
        if (!strcmp(object->kernels[i].name, name))
            return &object->kernels[i];
    return NULL;
}

static void
run(const char *name, void *d, size_t dsize, const void *a, size_t asize)
{
    struct { u64 d, a; u32 n; } params = { (uintptr_t)d, (uintptr_t)a, N };
    struct gfx_launch l = { .object = object, .kernel = kernel(name), .grid = { GROUPS, 1, 1 }, .block = { 256, 1, 1 }, .params = &params,
                            .param_size = 20 };
    if (!l.kernel) {
        printf("%s: no such kernel\n", name);
        failures++;
        return;
    }
    gfx_range_add((uintptr_t)d, dsize);
    gfx_range_add((uintptr_t)a, asize);
    if (!gfx_dispatch_run(&l)) {
        printf("%s: %s\n", name, l.message);
        failures++;
    }
    gfx_range_remove((uintptr_t)d);
    gfx_range_remove((uintptr_t)a);
    if (l.counts.unwritten_registers || l.counts.misaligned) {
        printf("%s: %llu reads of unwritten registers [%s], %llu misaligned accesses [%s]\n", name,
               (unsigned long long)l.counts.unwritten_registers, l.noted[NOTE_UNWRITTEN], (unsigned long long)l.counts.misaligned,
               l.noted[NOTE_MISALIGNED]);
        failures++;
    }
    u64 total = 0;
    for (int k = 0; k < GFX_C_COUNT; k++)
        total += l.counts.insns[k];
    if (!total || !l.counts.waves) {
        printf("%s: nothing was executed\n", name);
        failures++;
    }
}

static void
check(const char *name, const void *got, const void *want, size_t size, size_t element)
{
    for (size_t i = 0; i < size; i += element)
        if (memcmp((const char *)got + i, (const char *)want + i, element)) {
            u64 g = 0, w = 0;
            memcpy(&g, (const char *)got + i, element);
            memcpy(&w, (const char *)want + i, element);
            printf("%s: element %zu: got 0x%llx, expected 0x%llx\n", name, i / element, (unsigned long long)g, (unsigned long long)w);
            failures++;
            return;
        }
}

static u32
rnd(void)
{
    static u64 s = 88172645463325252ull;
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return (u32)(s >> 16);
}

static u32
reverse(u32 v)
{
    u32 r = 0;
    for (int k = 0; k < 32; k++)
        r |= (v >> k & 1) << (31 - k);
    return r;
}

static u32
fib(u32 n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static u32 a[N + 1], d[N + 32], e[N + 32];
static u64 la[N], ld[N], le[N];
static float fa[N], fd[N], fe[N];
static double da[N], dd[N], de[N];
static _Float16 ha[N], hd[N], he[N];
static uint8_t ba[N + 2], bd[N], be[N];

int
main(int argc, char **argv)
{
    char error[256];
    if (argc != 3)
        return 2;
    FILE *f = fopen(argv[2], "rb");
    static char data[1 << 20];
    size_t size = f ? fread(data, 1, sizeof data, f) : 0;
    const struct gfx_target *t = gfx_target_find(argv[1]);
    if (!t || !gfx_object_load(t, data, size, &object, error)) {
        printf("%s: %s\n", argv[2], t ? error : "unknown processor");
        return 1;
    }
    for (u32 i = 0; i < N; i++) {
        a[i] = i % 5 ? rnd() : rnd() & 255;
        la[i] = i % 3 ? (u64)rnd() << 32 | rnd() : rnd();
        fa[i] = ((float)(int)rnd()) * (i % 2 ? 0x1p-25f : 0x1p-30f);
        da[i] = (double)(int)rnd() * (i % 2 ? 0x1p-25 : 0x1p-30);
        ha[i] = (_Float16)(((int)(rnd() % 4000) - 2000) * 0.01f);
        ba[i] = (uint8_t)rnd();
    }
    a[3] = 0;
    a[7] = 0xffffffffu;
    la[5] = 0;

    run("saxpy", fd, sizeof fd, fa, sizeof fa);
    for (u32 i = 0; i < N; i++)
        fe[i] = 2.5f * fa[i] + fa[N - 1 - i];
    check("saxpy", fd, fe, sizeof fe, 4);

    run("integers", d, sizeof d, a, sizeof a);
    for (u32 i = 0; i < N; i++) {
        u32 x = a[i], y = a[(i + 1) % N] | 1;
        int sx = (int)x, sy = (int)y, dv = sy | 2;
        u32 r = x / y + (x % y) * 3;
        int q = dv == -1 ? (int)(0u - x) : sx / dv, m = dv == -1 ? 0 : sx % dv;
        r ^= (u32)q + (u32)m;
        r += (u32)(((u64)x * y) >> 32) ^ (u32)(((int64_t)sx * sy) >> 32);
        r = (r << (x & 31)) | (r >> (y & 31));
        r += (u32)__builtin_popcount(x) * 5 + (u32)(x ? __builtin_clz(x) : 32) * 7 + (u32)(x ? __builtin_ctz(x) : 32) * 11;
        r ^= reverse(x) + (u32)(sx >> 3) + (x & 0xffff) * (y >> 16);
        r += sx < sy ? (u32)sx : (u32)sy;
        r ^= x > y ? x : y;
        e[i] = r;
    }
    check("integers", d, e, 4 * N, 4);

    run("longs", ld, sizeof ld, la, sizeof la);
    for (u32 i = 0; i < N; i++) {
        u64 x = la[i], y = la[(i + 3) % N] | 1;
        int64_t sx = (int64_t)x, sy = (int64_t)y;
        u64 r = x * y + (x / y) - (x % y);
        r ^= (u64)(sx / (sy | 2)) + (u64)(sx >> (y & 63)) + (x << (y & 63)) + (x >> (y & 63));
        r += sx < sy ? 17 : 23;
        r ^= x > y ? x - y : y - x;
        r += (u64)__builtin_popcountl(x) + (u64)(x ? __builtin_clzl(x) : 64) + (u64)(x ? __builtin_ctzl(x) : 64);
        le[i] = r;
    }
    check("longs", ld, le, sizeof le, 8);

    run("floats", fd, sizeof fd, fa, sizeof fa);
    for (u32 i = 0; i < N; i++) {
        float x = fa[i], y = fa[(i + 1) % N];
        /* -ffp-contract=off on both sides here */
        float r = x / y + sqrtf(fabsf(x)) - floorf(y) + ceilf(x) * 0.5f;
        r += truncf(x * 3) + rintf(y * 3) + fmaf(x, y, r);
        r += fminf(x, y) * fmaxf(x, 1.0f) + (float)(int)(x * 100) + (float)(u32)(fabsf(y) * 100);
        r += copysignf(x, y) + ldexpf(y, (int)(i % 7) - 3);
        fe[i] = x < y ? r : -r;
    }
    check("floats", fd, fe, sizeof fe, 4);

    run("doubles", dd, sizeof dd, da, sizeof da);
    for (u32 i = 0; i < N; i++) {
        double x = da[i], y = da[(i + 1) % N];
        double r = x / y + sqrt(fabs(x)) - floor(y) + ceil(x) * 0.5;
        r += trunc(x * 3) + rint(y * 3) + fma(x, y, r);
        r += fmin(x, y) + fmax(x, 1.0) + (double)(int)(x * 100) + (double)(int64_t)(y * 1e6) + (double)(float)x;
        de[i] = x < y ? r : -r;
    }
    check("doubles", dd, de, sizeof de, 8);

    run("halves", hd, sizeof hd, ha, sizeof ha);
    for (u32 i = 0; i < N; i++) {
#define H(v) ((_Float16)(v))
        float x = (float)ha[i], y = (float)ha[(i + 1) % N];
        float p = (float)H(x * y), q = (float)H(y * x), rx = (float)H(p + x), ry = (float)H(q + y);
        float v = (float)H((float)H(x * y) + (float)H(x - y));
        v = (float)H(v + rx);
        v = (float)H(v - ry);
        he[i] = H(v + (x > y ? x : y));
    }
    check("halves", hd, he, sizeof he, 2);

    run("reduce", d, sizeof d, a, sizeof a);
    memset(e, 0, sizeof e);
    for (u32 i = 0; i < N; i++)
        e[i / 256] += a[i];
    check("reduce", d, e, 4 * GROUPS, 4);

    run("diverge", d, sizeof d, a, sizeof a);
    for (u32 i = 0; i < N; i++) {
        u32 x = a[i] & 0xffff, steps = 0;
        while (x > 1) {
            if (x & 1) {
                x = 3 * x + 1;
                if (steps % 7 == 3)
                    x ^= 2;
            } else {
                x >>= 1;
            }
            if (++steps == 200)
                break;
            if ((x & 7) == 3)
                steps += 2;
            else if ((x & 7) == 5)
                steps ^= 1;
        }
        e[i] = steps * 1000 + (x & 0xff);
    }
    check("diverge", d, e, 4 * N, 4);

    memset(d, 0, sizeof d);
    memset(e, 0, sizeof e);
    run("atomics", d, sizeof d, a, sizeof a);
    u64 sum = 0;
    for (u32 i = 0; i < N; i++) {
        e[a[i] & 15]++;
        e[16] = e[16] > a[i] ? e[16] : a[i];
        e[17] ^= a[i];
        sum += (u64)a[i] << 8;
    }
    memcpy(&e[18], &sum, 8);
    check("atomics", d, e, 80, 4);

    run("scratch", d, sizeof d, a, sizeof a);
    for (u32 i = 0; i < N; i++) {
        u32 s[32], x = i;
        for (u32 k = 0; k < 32; k++)
            s[k] = a[(i + k) % N] + k;
        for (u32 k = 0; k < 50; k++) {
            x = s[x & 31] * 5 + k;
            s[(x >> 5) & 31] ^= x;
        }
        e[i] = x + s[i & 31];
    }
    check("scratch", d, e, 4 * N, 4);

    run("calls", d, sizeof d, a, sizeof a);
    for (u32 i = 0; i < N; i++) {
        u32 acc = i + a[i];
        u32 r = fib(a[i] % 9) + a[i] * 3 + (u32)((u64)a[i] * 77 >> 7) + (a[i] & 1023);
        e[i] = r ^ acc;
    }
    check("calls", d, e, 4 * N, 4);

    run("bytes", bd, sizeof bd, ba, sizeof ba);
    for (u32 i = 0; i < N; i++) {
        int16_t s;
        uint16_t us;
        memcpy(&s, ba + i / 2 * 2, 2);
        memcpy(&us, ba + i / 2 * 2, 2);
        int v = ba[i] + (int8_t)ba[(i + 1) % N] * 3 + s + us;
        be[i] = (uint8_t)(v ^ (v >> 8));
    }
    check("bytes", bd, be, sizeof be, 1);

    gfx_object_unload(object);
    printf("%s: %s\n", argv[1], failures ? "failed" : "all kernels agree");
    return failures != 0;
}
