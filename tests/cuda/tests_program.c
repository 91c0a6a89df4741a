/* SPDX-License-Identifier: Apache-2.0
 * Expectations for compute.cu, calls.cu, memory.cu and output.cu. */
#include "tests/cuda/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned
blocks(unsigned n, unsigned size)
{
    return (n + size - 1) / size;
}

static void
test_nbody(CUmodule m)
{
    enum { N = 301 };
    CUfunction f = get_function(m, "nbody");
    float in[4 * N], got[4 * N], softening = 0.01f;
    double want[4 * N], magnitude = 0;
    unsigned n = N;
    for (unsigned i = 0; i < 4 * N; i++)
        in[i] = i % 4 == 3 ? random_float(0.5f, 2) : random_float(-1, 1);
    for (unsigned i = 0; i < N; i++) {
        double a[3] = { 0 };
        for (unsigned k = 0; k < N; k++) {
            double d2 = softening, diff[3];
            for (int c = 0; c < 3; c++) {
                diff[c] = (double)in[4 * k + (unsigned)c] - in[4 * i + (unsigned)c];
                d2 += diff[c] * diff[c];
            }
            for (int c = 0; c < 3; c++)
                a[c] += diff[c] * in[4 * k + 3] / (d2 * sqrt(d2));
        }
        for (int c = 0; c < 3; c++) {
            want[4 * i + (unsigned)c] = a[c];
            magnitude = fmax(magnitude, fabs(a[c]));
        }
        want[4 * i + 3] = 0;
    }
    CUdeviceptr d = buffer_new(in, sizeof in);
    for (const unsigned *bs = block_sizes; *bs; bs++) {
        CUdeviceptr out = buffer_new(NULL, sizeof got);
        LAUNCH(f, D1(blocks(N, *bs)), D1(*bs), *bs * 16, &d, &out, &n, &softening);
        buffer_read(got, out, sizeof got);
        /* Single precision against double: 301 terms, each within a few units of 2^-23 (rsqrt.approx: 2 of them, cubed),
         * of magnitude at most the largest sum's order; cancellation makes the bound absolute. */
        check_f32("nbody", *bs, got, want, 4 * N, 0, magnitude * 4e-6);
        buffer_free(out);
    }
    buffer_free(d);
}

static void
test_mandelbrot(CUmodule m)
{
    enum { W = 93, H = 61, LIMIT = 200 };
    static const struct dims shapes[] = { { 16, 16, 1 }, { 32, 4, 1 }, { 7, 5, 1 }, { 1, 1, 1 }, { 100, 1, 1 } };
    CUfunction f = get_function(m, "mandelbrot");
    uint32_t *got = allocate(4 * W * H), *want = allocate(4 * W * H);
    unsigned w = W, h = H, limit = LIMIT, distinct = 0;
    float x0 = -2.2f, y0 = -1.25f, step = 0.04f;
    for (unsigned py = 0; py < H; py++)
        for (unsigned px = 0; px < W; px++) {
            float sx = (float)px * step, sy = (float)py * step;
            float cx = x0 + sx, cy = y0 + sy, x = 0, y = 0;
            unsigned k = 0;
            for (; k < LIMIT; k++) {
                float xx = x * x, yy = y * y, xy = 2 * x * y;
                if (xx + yy > 4)
                    break;
                x = xx - yy + cx;
                y = xy + cy;
            }
            want[py * W + px] = k;
            distinct += k != want[py * W];
        }
    check_true("the picture is not flat", 0, distinct > W * H / 2);
    for (unsigned v = 0; v < sizeof shapes / sizeof *shapes; v++) {
        CUdeviceptr out = buffer_new(NULL, 4 * W * H);
        LAUNCH(f, D2(blocks(W, shapes[v].x), blocks(H, shapes[v].y)), shapes[v], 0, &out, &w, &h, &x0, &y0, &step, &limit);
        buffer_read(got, out, 4 * W * H);
        check_u32("mandelbrot", v, got, want, W * H);
        buffer_free(out);
    }
    free(got);
    free(want);
}

/* collatz.cu's walk, followed one step at a time. */
static uint32_t
collatz(uint32_t start, uint32_t limit, uint32_t untouched)
{
    uint64_t v = start;
    uint32_t steps = 0, odd = 0;
    while (v != 1) {
        steps++;
        if (steps > limit) {
            odd += 0x80000000u;
            break;
        }
        if (v & 1) {
            odd++;
            v += 2 * v + 1;
        } else {
            for (; !(v & 1) && steps < limit && v > 1; steps++)
                v >>= 1;
        }
    }
    uint32_t kind = steps % 5;
    if (kind == 0)
        odd += 1000;
    if (kind == 1)
        odd = (odd ^ 0x40) + 2000;
    if (kind == 2)
        odd += 2000;
    if (kind == 3) {
        if (odd > 20)
            return untouched;
        odd = 3000;
    }
    return steps << 16 ^ odd;
}

static void
test_collatz(CUmodule m)
{
    enum { N = 1000 };
    CUfunction f = get_function(m, "collatz");
    uint32_t in[N], got[N], want[N];
    unsigned n = N, limit = 150;
    for (unsigned i = 0; i < N; i++) {
        in[i] = 1 + random_u32() % 100000;
        want[i] = collatz(in[i], limit, 0);
    }
    CUdeviceptr d = buffer_new(in, sizeof in);
    for (const unsigned *bs = block_sizes; *bs; bs++) {
        CUdeviceptr out = buffer_new(NULL, sizeof got);
        LAUNCH(f, D1(blocks(N, *bs)), D1(*bs), 0, &d, &out, &n, &limit);
        buffer_read(got, out, sizeof got);
        check_u32("collatz", *bs, got, want, N);
        buffer_free(out);
    }
    buffer_free(d);
}

static void
test_recursive(CUmodule m)
{
    enum { N = 150 };
    static const uint32_t fib[] = { 0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144 };
    CUfunction f = get_function(m, "recursive"), mutual = get_function(m, "mutual");
    uint32_t in[N], got[N], want[N];
    unsigned n = N;
    for (unsigned i = 0; i < N; i++)
        in[i] = random_u32() % 13;
    CUdeviceptr d = buffer_new(in, sizeof in), out = buffer_new(NULL, sizeof got);
    for (const unsigned *bs = block_sizes; *bs; bs++) {
        for (unsigned i = 0; i < N; i++)
            want[i] = fib[in[i]];
        LAUNCH(f, D1(blocks(N, *bs)), D1(*bs), 0, &d, &out, &n);
        buffer_read(got, out, sizeof got);
        check_u32("recursive", *bs, got, want, N);
        for (unsigned i = 0; i < N; i++)
            want[i] = (in[i] & 1) ^ 1;
        LAUNCH(mutual, D1(blocks(N, *bs)), D1(*bs), 0, &d, &out, &n);
        buffer_read(got, out, sizeof got);
        check_u32("mutual", *bs, got, want, N);
    }
    buffer_free(d);
    buffer_free(out);
}

static uint32_t
operation(unsigned which, int32_t a, int32_t b)
{
    switch (which & 3) {
    case 0: return (uint32_t)a + (uint32_t)b;
    case 1: return (uint32_t)a - (uint32_t)b;
    case 2: return (uint32_t)a * (uint32_t)b;
    }
    while (b) {
        int32_t t = a % b;
        a = b;
        b = t;
    }
    return (uint32_t)a;
}

static void
test_indirect(CUmodule m)
{
    enum { N = 500 };
    CUfunction f = get_function(m, "indirect"), uniform = get_function(m, "indirect_uniform");
    int32_t a[N], b[N];
    uint32_t got[N], want[N];
    unsigned n = N;
    for (unsigned i = 0; i < N; i++) {
        a[i] = (int32_t)(random_u32() >> 12);
        b[i] = (int32_t)(random_u32() >> 16);
    }
    CUdeviceptr da = buffer_new(a, sizeof a), db = buffer_new(b, sizeof b), out = buffer_new(NULL, sizeof got);
    for (const unsigned *bs = block_sizes; *bs; bs++) {
        for (unsigned i = 0; i < N; i++)
            want[i] = operation((unsigned)(a[i] ^ b[i]), a[i], b[i]);
        LAUNCH(f, D1(blocks(N, *bs)), D1(*bs), 0, &da, &db, &out, &n);
        buffer_read(got, out, sizeof got);
        check_u32("indirect", *bs, got, want, N);
        unsigned which = *bs;
        for (unsigned i = 0; i < N; i++)
            want[i] = operation(which, a[i], b[i]);
        LAUNCH(uniform, D1(blocks(N, *bs)), D1(*bs), 0, &da, &db, &out, &n, &which);
        buffer_read(got, out, sizeof got);
        check_u32("indirect_uniform", *bs, got, want, N);
    }
    buffer_free(da);
    buffer_free(db);
    buffer_free(out);
}

static void
test_aggregates(CUmodule m)
{
    enum { N = 200 };
    CUfunction f = get_function(m, "aggregates");
    int32_t in[N];
    uint64_t got[2 * N], want[2 * N];
    unsigned n = N;
    for (unsigned i = 0; i < N; i++) {
        in[i] = (int32_t)(random_u32() >> 4);
        int64_t k = in[i] & 3;      /* mediant(a, b), then k times mediant(b, that) */
        int64_t num = in[i] + 5 + k * 5, den = 3 + ((int64_t)in[i] + 1) * (1 + k);
        want[2 * i] = (uint64_t)(num * 256 + (k ? 'x' : 'a'));
        want[2 * i + 1] = (uint64_t)(den * 256 + 'y');
    }
    CUdeviceptr d = buffer_new(in, sizeof in), out = buffer_new(NULL, sizeof got);
    for (const unsigned *bs = block_sizes; *bs; bs++) {
        LAUNCH(f, D1(blocks(N, *bs)), D1(*bs), 0, &d, &out, &n);
        buffer_read(got, out, sizeof got);
        check_u64("aggregates", *bs, got, want, 2 * N);
    }
    buffer_free(d);
    buffer_free(out);
}

static void
test_barrier_in_call(CUmodule m)
{
    CUfunction f = get_function(m, "barrier_in_call");
    for (const unsigned *bs = block_sizes; *bs; bs++) {
        unsigned n = 3 * *bs;
        uint32_t in[3 * 256], got[3 * 256], want[3 * 256];
        for (unsigned i = 0; i < n; i++)
            in[i] = random_u32() >> 4;
        for (unsigned i = 0; i < n; i++) {      /* three reversals are one; x -> 2x + k at each */
            unsigned from = i / *bs * *bs + (*bs - 1 - i % *bs);
            want[i] = ((in[from] * 2 + 0) * 2 + 1) * 2 + 2;
        }
        CUdeviceptr d = buffer_new(in, 4 * n), out = buffer_new(NULL, 4 * n);
        LAUNCH(f, D1(3), D1(*bs), *bs * 4, &d, &out);
        buffer_read(got, out, 4 * n);
        check_u32("barrier_in_call", *bs, got, want, n);
        buffer_free(d);
        buffer_free(out);
    }
}

static int
compare_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void
test_local_array(CUmodule m)
{
    enum { N = 333 };
    CUfunction f = get_function(m, "local_array");
    uint32_t in[N], got[2 * N], want[2 * N];
    unsigned n = N;
    for (unsigned i = 0; i < N; i++) {
        uint32_t v[24], seed = in[i] = random_u32();
        for (unsigned k = 0; k < 24; k++)
            v[k] = (seed = seed * 1664525u + 1013904223u) >> 8;
        qsort(v, 24, sizeof *v, compare_u32);
        want[2 * i] = v[seed % 24];
        want[2 * i + 1] = v[0] ^ v[23];
    }
    CUdeviceptr d = buffer_new(in, sizeof in), out = buffer_new(NULL, sizeof got);
    for (const unsigned *bs = block_sizes; *bs; bs++) {
        LAUNCH(f, D1(blocks(N, *bs)), D1(*bs), 0, &d, &out, &n);
        buffer_read(got, out, sizeof got);
        check_u32("local_array", *bs, got, want, 2 * N);
    }
    buffer_free(d);
    buffer_free(out);
}

static void
test_constant(CUmodule m)
{
    enum { N = 260 };
    CUfunction f = get_function(m, "constant_memory");
    float in[N], got[N], c[8] = { 1, -2, 3, -4, 5, -6, 7, -8 };
    double want[N];
    unsigned n = N, selector = 3;
    CUdeviceptr at, which;
    size_t size;
    MUST(cu.cuModuleGetGlobal_v2(&which, &size, m, "selector"));
    check_true("size of selector", 0, size == 4);
    MUST(cu.cuModuleGetGlobal_v2(&at, &size, m, "coefficients"));
    check_true("size of coefficients", 0, size == 32);
    float back[8];
    buffer_read(back, at, sizeof back);
    check_true("the initialiser is there", 0, !memcmp(back, c, sizeof c));
    for (unsigned i = 0; i < N; i++)
        in[i] = random_float(-1, 1);
    CUdeviceptr d = buffer_new(in, sizeof in), out = buffer_new(NULL, sizeof got);
    for (const unsigned *bs = block_sizes; *bs; bs++) {
        for (unsigned i = 0; i < N; i++) {
            float y = 0;
            for (unsigned k = 0; k < 8; k++)
                y = fmaf(y, in[i], c[k]);
            want[i] = y + c[(i + selector) & 7];
            want[i] = (float)want[i];
        }
        LAUNCH(f, D1(blocks(N, *bs)), D1(*bs), 0, &d, &out, &n);
        buffer_read(got, out, sizeof got);
        check_f32("constant_memory", *bs, got, want, N, 0, 0);
        for (unsigned k = 0; k < 8; k++)
            c[k] = random_float(-3, 3);
        selector = random_u32();
        MUST(cu.cuMemcpyHtoD_v2(at, c, sizeof c));
        MUST(cu.cuMemcpyHtoD_v2(which, &selector, sizeof selector));
    }
    buffer_free(d);
    buffer_free(out);
}

static void
test_module_variables(CUmodule m)
{
    CUfunction f = get_function(m, "module_variables");
    double got[5 + 256], want[5 + 256];
    uint8_t bytes[6] = { 1, 2, 4, 8, 16, 32 };
    uint32_t counter = 40, back;
    unsigned text_at = 9;
    CUdeviceptr out = buffer_new(NULL, sizeof got), address;
    size_t size;
    for (const unsigned *bs = block_sizes; *bs; bs++) {
        want[0] = counter;
        want[1] = bytes[2] + bytes[5];
        want[2] = -2 + 1.5;         /* weights[1][1], and three elements before it weights[0][1] */
        want[3] = -7;
        want[4] = "constant text"[text_at];
        counter = (counter + 2) * 3;
        bytes[3] = 99;
        for (unsigned t = 0; t < *bs; t++)
            want[5 + t] = bytes[t % 6];
        LAUNCH(f, D1(1), D1(*bs), 0, &out, &text_at);
        buffer_read(got, out, sizeof got);
        check_f64("module_variables", *bs, got, want, 5 + *bs, 0, 0);
    }
    MUST(cu.cuModuleGetGlobal_v2(&address, &size, m, "counter"));
    buffer_read(&back, address, sizeof back);
    check_true("counter as the host sees it", 0, back == counter && size == 4);
    CUresult r = cu.cuModuleGetGlobal_v2(&address, &size, m, "no such variable");
    check_true("CUDA_ERROR_NOT_FOUND", 0, r == 500);
    buffer_free(out);
}

static void
test_shared_struct(CUmodule m)
{
    CUfunction f = get_function(m, "shared_struct");
    static const unsigned sizes[] = { 1, 5, 31, 32, 33, 64, 100, 128, 130, 0 };
    for (const unsigned *bs = sizes; *bs; bs++) {
        unsigned n = 3 * *bs;
        int32_t in[3 * 130];
        double got[3 * 130], want[3 * 130];
        for (unsigned i = 0; i < n; i++)
            in[i] = (int32_t)random_u32() >> 3;
        for (unsigned i = 0; i < n; i++) {
            int32_t v = in[i];
            unsigned to = i / *bs * *bs + i % *bs * 7 % *bs;
            want[to] = (int16_t)(uint16_t)(uint32_t)v + (uint8_t)(uint32_t)(v >> 3) * 2.0 + v * 0.25 + *bs;
        }
        CUdeviceptr d = buffer_new(in, 4 * n), out = buffer_new(NULL, 8 * n);
        LAUNCH(f, D1(3), D1(*bs), 0, &d, &out);
        buffer_read(got, out, 8 * n);
        check_f64("shared_struct", *bs, got, want, n, 0, 0);
        buffer_free(d);
        buffer_free(out);
    }
}

static int
compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lines come in any order across warps: compare them sorted. */
static void
check_lines(const char *what, unsigned variant, char *text, char **want, unsigned count)
{
    char **lines = allocate((count + 1) * sizeof *lines), *save = NULL;
    unsigned n = 0;
    for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
        if (n < count)
            lines[n] = l;
        n++;
    }
    check_true("number of lines printed", variant, n == count);
    if (n == count) {
        qsort(lines, count, sizeof *lines, compare_lines);
        qsort(want, count, sizeof *want, compare_lines);
        for (unsigned i = 0; i < count; i++) {
            if (strcmp(lines[i], want[i]))
                printf("got  '%s'\nwant '%s'\n", lines[i], want[i]);
            check_true(what, variant, !strcmp(lines[i], want[i]));
        }
    }
    free(lines);
}

static void
test_printf(CUmodule m)
{
    CUfunction line = get_function(m, "print_line"), some = get_function(m, "print_some");
    static const unsigned sizes[] = { 1, 20, 32, 45, 0 };
    for (const unsigned *bs = sizes; *bs; bs++) {
        int32_t base = -3;
        char *want[128];
        unsigned n = 0;
        for (unsigned b = 0; b < 2; b++)
            for (unsigned t = 0; t < *bs; t++) {
                want[n] = allocate(160);
                snprintf(want[n++], 160, "block %u thread %d: %5.2f %s %c 0x%08x %ld %ld %%", b, (int)t + base, t * 1.5,
                         t & 1 ? "odd" : "even", (char)('a' + t % 26), t * 0x01010101u, -5000000000l - (long)t, -7l - (long)t);
            }
        capture_start();
        LAUNCH(line, D1(2), D1(*bs), 0, &base);
        char *text = capture_end();
        check_lines("print_line", *bs, text, want, n);
        free(text);
        for (unsigned i = 0; i < n; i++)
            free(want[i]);

        CUdeviceptr out = buffer_new(NULL, 4 * *bs);
        capture_start();
        LAUNCH(some, D1(1), D1(*bs), 0, &out);
        text = capture_end();
        uint32_t got[64], results[64];
        n = 0;
        for (unsigned t = 0; t < *bs; t++) {
            results[t] = t % 2 ? 2 : UINT32_MAX;
            if (t % 2) {
                want[n] = allocate(32);
                snprintf(want[n++], 32, "%u %u", t, t * t);
            }
        }
        buffer_read(got, out, 4 * *bs);
        check_u32("results of printf", *bs, got, results, *bs);
        check_lines("print_some", *bs, text, want, n);
        free(text);
        for (unsigned i = 0; i < n; i++)
            free(want[i]);
        buffer_free(out);
    }
}

static void
test_assert(CUmodule m)
{
    enum { N = 70 };
    CUfunction f = get_function(m, "check_positive");
    uint32_t in[N], got[N];
    unsigned n = N;
    for (unsigned i = 0; i < N; i++)
        in[i] = i + 1;
    CUdeviceptr d = buffer_new(in, sizeof in), out = buffer_new(NULL, sizeof in);
    LAUNCH(f, D1(2), D1(48), 0, &d, &out, &n);
    buffer_read(got, out, sizeof got);
    check_u32("assertions that hold", 0, got, in, N);
    uint32_t bad = (uint32_t)-5;
    MUST(cu.cuMemcpyHtoD_v2(d + 4 * 57, &bad, 4));
    void *params[] = { &d, &out, &n };
    CUresult r = cu.cuLaunchKernel(f, 2, 1, 1, 48, 1, 1, 0, NULL, params, NULL);
    if (r == 0)
        r = cu.cuCtxSynchronize();
    check_true("CUDA_ERROR_ASSERT", (unsigned)r, r == 710);
    /* The error sticks to the context. */
    check_true("the next call fails too", 0, cu.cuMemcpyDtoH_v2(got, out, sizeof got) == 710);
}

const struct test program_tests[] = {
    { "nbody", "compute", test_nbody, false },
    { "mandelbrot", "compute", test_mandelbrot, false },
    { "collatz", "compute", test_collatz, false },
    { "recursive", "calls", test_recursive, false },
    { "indirect", "calls", test_indirect, false },
    { "aggregates", "calls", test_aggregates, false },
    { "barrier_in_call", "calls", test_barrier_in_call, false },
    { "local_array", "memory", test_local_array, false },
    { "constant", "memory", test_constant, false },
    { "module_variables", "memory", test_module_variables, false },
    { "shared_struct", "memory", test_shared_struct, false },
    { "printf", "output", test_printf, false },
    { "assert", "output", test_assert, true },
    { NULL, NULL, NULL, false },
};
