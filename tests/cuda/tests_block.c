/* SPDX-License-Identifier: Apache-2.0
 * Expectations for matmul.cu, reduce.cu, atomics.cu and sort.cu: threads of a block that work together. Integer results
 * are exact. Matrix products round in the order of the kernel (a chain of fmaf), so they are exact too. */
#include "tests/cuda/harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void
test_matmul(CUmodule m)
{
    static const unsigned sizes[] = { 1, 16, 37, 64, 0 }, sides[] = { 4, 5, 8, 11, 16, 0 };
    CUfunction tiled = get_function(m, "matmul_tiled"), dynamic = get_function(m, "matmul_dynamic");
    for (const unsigned *s = sizes; *s; s++) {
        unsigned n = *s;
        float *a = allocate(4 * n * n), *b = allocate(4 * n * n), *got = allocate(4 * n * n);
        double *want = allocate(8 * n * n);
        for (unsigned i = 0; i < n * n; i++) {
            a[i] = random_float(-2, 2);
            b[i] = random_float(-2, 2);
        }
        for (unsigned r = 0; r < n; r++)
            for (unsigned c = 0; c < n; c++) {
                float sum = 0;
                for (unsigned k = 0; k < n; k++)
                    sum = fmaf(a[r * n + k], b[k * n + c], sum);
                want[r * n + c] = sum;
            }
        CUdeviceptr da = buffer_new(a, 4 * n * n), db = buffer_new(b, 4 * n * n), dc = buffer_new(NULL, 4 * n * n);
        LAUNCH(tiled, D2((n + 15) / 16, (n + 15) / 16), D2(16, 16), 0, &da, &db, &dc, &n);
        buffer_read(got, dc, 4 * n * n);
        check_f32("matmul_tiled", n, got, want, n * n, 0, 0);
        buffer_free(dc);
        for (const unsigned *side = sides; *side; side++) {
            unsigned t = *side, g = (n + t - 1) / t;
            dc = buffer_new(NULL, 4 * n * n);
            LAUNCH(dynamic, D2(g, g), D2(t, t), 2 * t * t * 4, &da, &db, &dc, &n);
            buffer_read(got, dc, 4 * n * n);
            check_f32("matmul_dynamic", n * 100 + t, got, want, n * n, 0, 0);
            buffer_free(dc);
        }
        buffer_free(da);
        buffer_free(db);
        free(a);
        free(b);
        free(got);
        free(want);
    }
}

static void
test_matmul_double(CUmodule m)
{
    enum { N = 29 };
    static const struct dims shapes[] = { { 8, 8, 1 }, { 32, 2, 1 }, { 7, 3, 1 }, { 1, 1, 1 } };
    CUfunction f = get_function(m, "matmul_double");
    double a[N * N], b[N * N], got[N * N], want[N * N];
    unsigned n = N;
    for (unsigned i = 0; i < N * N; i++) {
        a[i] = (double)random_u32() / 4e9 - 0.5;
        b[i] = (double)random_u32() / 1e9;
    }
    for (unsigned r = 0; r < N; r++)
        for (unsigned c = 0; c < N; c++) {
            double sum = 0;
            for (unsigned k = 0; k < N; k++)
                sum = fma(a[r * N + k], b[k * N + c], sum);
            want[r * N + c] = sum;
        }
    CUdeviceptr da = buffer_new(a, sizeof a), db = buffer_new(b, sizeof b);
    for (unsigned v = 0; v < sizeof shapes / sizeof *shapes; v++) {
        CUdeviceptr dc = buffer_new(NULL, sizeof got);
        LAUNCH(f, D2((N + shapes[v].x - 1) / shapes[v].x, (N + shapes[v].y - 1) / shapes[v].y), shapes[v], 0, &da, &db, &dc, &n);
        buffer_read(got, dc, sizeof got);
        check_f64("matmul_double", v, got, want, N * N, 0, 0);
        buffer_free(dc);
    }
    buffer_free(da);
    buffer_free(db);
}

/* Small integers: every sum is exact, whatever the order and width of the adders. */
static void
test_wmma(CUmodule m)
{
    enum { N = 96 };
    unsigned n = N;
    static int8_t a[N * N], b[N * N], columns[N * N];
    static uint16_t ha[N * N], hb[N * N];
    static double da[N * N], db[N * N], want[N * N], transposed[N * N], gd[N * N];
    static uint32_t sums[N * N], gi[N * N];
    static float gf[N * N];
    for (unsigned i = 0; i < N * N; i++) {
        /* a quarter of each as f16 and f64; the f16 by hand */
        a[i] = (int8_t)(random_u32() % 63 - 31);
        b[i] = (int8_t)(random_u32() % 63 - 31);
        int8_t v[2] = { a[i], b[i] };
        for (unsigned k = 0; k < 2; k++) {
            unsigned size = (unsigned)abs(v[k]), lead = size ? 31u - (unsigned)__builtin_clz(size) : 0;
            uint16_t h = size ? (uint16_t)((15 + lead - 2) << 10 | ((size << (10 - lead)) & 0x3ff)) : 0;
            (k ? hb : ha)[i] = v[k] < 0 ? h | 0x8000 : h;
        }
        da[i] = a[i] / 4.0;
        db[i] = b[i] / 4.0;
        sums[i] = random_u32();
    }
    for (unsigned r = 0; r < N; r++)
        for (unsigned c = 0; c < N; c++) {
            int sum = 0;
            for (unsigned k = 0; k < N; k++)
                sum += a[r * N + k] * b[k * N + c];
            want[r * N + c] = transposed[c * N + r] = sum / 16.0;
            columns[c * N + r] = b[r * N + c];
        }
    CUdeviceptr p = buffer_new(ha, sizeof ha), q = buffer_new(hb, sizeof hb), d = buffer_new(NULL, sizeof gf);
    LAUNCH(get_function(m, "gemm_half"), D2(N / 32, N / 32), D1(128), 0, &p, &q, &d, &n);
    buffer_read(gf, d, sizeof gf);
    check_f32("gemm_half", N, gf, want, N * N, 0, 0);
    buffer_free(p);
    buffer_free(q);
    buffer_free(d);
    p = buffer_new(a, sizeof a);
    q = buffer_new(columns, sizeof columns);
    d = buffer_new(sums, sizeof sums);
    LAUNCH(get_function(m, "gemm_bytes"), D2(N / 32, N / 32), D1(128), 0, &p, &q, &d, &n);
    buffer_read(gi, d, sizeof gi);
    for (unsigned i = 0; i < N * N; i++)
        sums[i] += (uint32_t)(int32_t)(want[i] * 16);
    check_u32("gemm_bytes", N, gi, sums, N * N);
    buffer_free(p);
    buffer_free(q);
    buffer_free(d);
    p = buffer_new(da, sizeof da);
    q = buffer_new(db, sizeof db);
    d = buffer_new(NULL, sizeof gd);
    LAUNCH(get_function(m, "gemm_double"), D2(N / 8, N / 8), D1(32), 0, &p, &q, &d, &n);
    buffer_read(gd, d, sizeof gd);
    check_f64("gemm_double", N, gd, transposed, N * N, 0, 0);
    buffer_free(p);
    buffer_free(q);
    buffer_free(d);
}

static void
test_reduce(CUmodule m)
{
    enum { N = 2311 };
    CUfunction tree = get_function(m, "reduce_tree"), shuffle = get_function(m, "reduce_shuffle"), dbl = get_function(m, "reduce_double");
    int32_t in[N];
    double din[N];
    unsigned n = N;
    for (unsigned i = 0; i < N; i++) {
        in[i] = (int32_t)random_u32() >> 8;
        din[i] = random_float(-1, 1);
    }
    CUdeviceptr d = buffer_new(in, sizeof in), dd = buffer_new(din, sizeof din);
    for (const unsigned *bs = block_sizes; *bs; bs++) {
        unsigned g = (N + *bs - 1) / *bs;
        uint32_t *got = allocate(4 * g), *want = allocate(4 * g);
        double *dgot = allocate(8 * g), *dwant = allocate(8 * g);
        for (unsigned i = 0; i < N; i++) {
            want[i / *bs] += (uint32_t)in[i];
            dwant[i / *bs] += din[i];
        }
        CUdeviceptr out = buffer_new(NULL, 8 * g);
        LAUNCH(tree, D1(g), D1(*bs), *bs * 4, &d, &out, &n);
        buffer_read(got, out, 4 * g);
        check_u32("reduce_tree", *bs, got, want, g);
        LAUNCH(shuffle, D1(g), D1(*bs), 0, &d, &out, &n);
        buffer_read(got, out, 4 * g);
        check_u32("reduce_shuffle", *bs, got, want, g);
        LAUNCH(dbl, D1(g), D1(*bs), *bs * 8, &dd, &out, &n);
        buffer_read(dgot, out, 8 * g);
        check_f64("reduce_double", *bs, dgot, dwant, g, 0, 0);
        buffer_free(out);
        free(got);
        free(want);
        free(dgot);
        free(dwant);
    }
    buffer_free(d);
    buffer_free(dd);
}

static void
test_warp_ops(CUmodule m)
{
    enum { N = 192 };
    CUfunction max = get_function(m, "warp_max"), ops = get_function(m, "warp_ops");
    uint32_t in[N], got[10 * N], want[10 * N];
    for (unsigned i = 0; i < N; i++)
        in[i] = i / 32 % 2 ? random_u32() % 1000 : 11 + random_u32() % 700;
    CUdeviceptr d = buffer_new(in, sizeof in), out = buffer_new(NULL, sizeof got);
    for (unsigned size = 32; size <= 96; size += 32) {
        LAUNCH(max, D1(N / size), D1(size), 0, &d, &out);
        buffer_read(got, out, 4 * N);
        for (unsigned i = 0; i < N; i++) {
            uint32_t best = 0;
            for (unsigned k = i & ~31u; k < (i & ~31u) + 32; k++)
                best = in[k] > best ? in[k] : best;
            want[i] = best;
        }
        check_u32("warp_max", size, got, want, N);

        LAUNCH(ops, D1(N / size), D1(size), 0, &d, &out);
        buffer_read(got, out, sizeof got);
        for (unsigned warp = 0; warp < N; warp += 32) {
            const uint32_t *v = in + warp;
            uint32_t odd = 0, two = 0, any = 0, all = 1, after[32];
            for (unsigned l = 0; l < 32; l++) {
                odd |= (v[l] & 1) << l;
                two |= l & 1 ? (v[l] >> 1 & 1) << l : 0;
                any |= v[l] > 900;
                all &= v[l] > 10;
                after[l] = l & 1 ? v[l] + v[l ^ 2] : v[l];
            }
            for (unsigned l = 0; l < 32; l++) {
                uint32_t *w = want + 10 * (warp + l);
                w[0] = l >= 3 ? v[l - 3] : v[l];
                w[1] = l + 5 < 32 ? v[l + 5] : v[l];
                w[2] = v[l ^ 9];
                w[3] = v[(l * 7 + 3) % 32];
                w[4] = v[l / 8 * 8 + (l + 3) % 8];
                w[5] = odd;
                w[6] = any | all << 1;
                w[7] = l & 1 ? two : UINT32_MAX;
                w[8] = after[31 - l];
                w[9] = after[l] + (l < 31 ? after[l + 1] : after[l]);
            }
        }
        check_u32("warp_ops", size, got, want, 10 * N);
    }
    buffer_free(d);
    buffer_free(out);
}

static void
test_scan(CUmodule m)
{
    enum { N = 1500 };
    CUfunction block = get_function(m, "scan_block"), shuffle = get_function(m, "scan_shuffle");
    uint32_t in[N], got[N], want[N];
    unsigned n = N;
    for (unsigned i = 0; i < N; i++)
        in[i] = random_u32() % 10000;
    CUdeviceptr d = buffer_new(in, sizeof in);
    for (const unsigned *bs = block_sizes; *bs; bs++) {
        for (unsigned i = 0; i < N; i++)
            want[i] = in[i] + (i % *bs ? want[i - 1] : 0);
        CUdeviceptr out = buffer_new(NULL, sizeof got);
        LAUNCH(block, D1((N + *bs - 1) / *bs), D1(*bs), 2 * *bs * 4, &d, &out, &n);
        buffer_read(got, out, sizeof got);
        check_u32("scan_block", *bs, got, want, N);
        buffer_free(out);
        out = buffer_new(NULL, sizeof got);
        LAUNCH(shuffle, D1((N + *bs - 1) / *bs), D1(*bs), 0, &d, &out, &n);
        buffer_read(got, out, sizeof got);
        check_u32("scan_shuffle", *bs, got, want, N);
        buffer_free(out);
    }
    buffer_free(d);
}

static void
test_barrier_reduce(CUmodule m)
{
    CUfunction f = get_function(m, "barrier_reduce");
    for (const unsigned *bs = block_sizes; *bs; bs++) {
        enum { G = 4 };
        uint32_t in[G * 256], got[3 * G * 256], want[3 * G * 256];
        unsigned n = G * *bs;
        for (unsigned i = 0; i < n; i++)
            in[i] = random_u32() % 70;
        in[0] = 77;                                 /* block 0 has one, */
        in[n - 1] = (uint32_t)-3;                   /* the last block has a negative number */
        for (unsigned g = 0; g < G; g++) {
            uint32_t count = 0, all = 1, any = 0;
            for (unsigned i = g * *bs; i < (g + 1) * *bs; i++) {
                count += (int32_t)in[i] % 3 == 0;
                all &= (int32_t)in[i] >= 0;
                any |= in[i] == 77;
            }
            for (unsigned i = g * *bs; i < (g + 1) * *bs; i++) {
                want[3 * i] = count;
                want[3 * i + 1] = all;
                want[3 * i + 2] = any;
            }
        }
        CUdeviceptr d = buffer_new(in, 4 * n), out = buffer_new(NULL, 12 * n);
        LAUNCH(f, D1(G), D1(*bs), 0, &d, &out);
        buffer_read(got, out, 12 * n);
        check_u32("barrier_reduce", *bs, got, want, 3 * n);
        buffer_free(d);
        buffer_free(out);
    }
}

static void
test_histogram(CUmodule m)
{
    enum { N = 5003, BINS = 64 };
    static const char *const kernels[] = { "histogram_global", "histogram_shared" };
    uint8_t in[N];
    uint32_t want[BINS] = { 0 }, got[BINS];
    unsigned n = N;
    for (unsigned i = 0; i < N; i++) {
        in[i] = (uint8_t)(random_u32() & (i & 1 ? 255 : 3));    /* uneven: lanes of a warp collide */
        want[in[i] % BINS]++;
    }
    CUdeviceptr d = buffer_new(in, sizeof in);
    for (unsigned k = 0; k < 2; k++) {
        CUfunction f = get_function(m, kernels[k]);
        for (const unsigned *bs = block_sizes; *bs; bs++) {
            CUdeviceptr out = buffer_new(NULL, sizeof got);
            LAUNCH(f, D1(7), D1(*bs), 0, &d, &out, &n);
            buffer_read(got, out, sizeof got);
            check_u32(kernels[k], *bs, got, want, BINS);
            buffer_free(out);
        }
    }
    buffer_free(d);
}

static int
compare_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void
test_atomic_ops(CUmodule m)
{
    enum { N = 777 };
    CUfunction f = get_function(m, "atomic_ops");
    int32_t in[N];
    unsigned n = N;
    for (unsigned i = 0; i < N; i++)
        in[i] = (int32_t)random_u32();
    CUdeviceptr d = buffer_new(in, sizeof in);
    for (const unsigned *bs = block_sizes; *bs; bs++) {
        uint32_t cells[16 + N] = { 0 }, want[16 + N] = { 0 };
        uint64_t wide[2] = { 0 }, want_wide[2] = { 0 };
        float sum = 0;
        double dsum = 0, want_sum = 0, want_dsum = 0;
        cells[1] = INT32_MAX;
        cells[2] = (uint32_t)INT32_MIN;
        cells[3] = UINT32_MAX;
        cells[5] = UINT32_MAX;
        cells[9] = 3;
        memcpy(want, cells, sizeof cells);
        for (unsigned i = 0; i < N; i++) {
            int32_t v = in[i];
            uint32_t u = (uint32_t)v;
            want[0] += u;
            if (v < (int32_t)want[1]) want[1] = u;
            if (v > (int32_t)want[2]) want[2] = u;
            if (u < want[3]) want[3] = u;
            if (u > want[4]) want[4] = u;
            want[5] &= u | 0xff;
            want[6] |= u & 0xff00;
            want[7] ^= u;
            want[8] = want[8] >= 9 ? 0 : want[8] + 1;
            want[9] = want[9] == 0 || want[9] > 6 ? 6 : want[9] - 1;
            want[10]++;
            want[11] += u & 7;
            want[12] = 5;
            want[16 + i] = i;
            want_wide[0] += (uint64_t)((int64_t)v * (1 << 20));
            if ((uint64_t)u * 3 > want_wide[1]) want_wide[1] = (uint64_t)u * 3;
            want_sum += v & 15;
            want_dsum += v & 255;
        }
        CUdeviceptr dc = buffer_new(cells, sizeof cells), dw = buffer_new(wide, sizeof wide), ds = buffer_new(&sum, sizeof sum),
                    dd = buffer_new(&dsum, sizeof dsum);
        LAUNCH(f, D1((N + *bs - 1) / *bs), D1(*bs), 0, &d, &dc, &dw, &ds, &dd, &n);
        buffer_read(cells, dc, sizeof cells);
        buffer_read(wide, dw, sizeof wide);
        buffer_read(&sum, ds, sizeof sum);
        buffer_read(&dsum, dd, sizeof dsum);
        qsort(cells + 16, N, sizeof *cells, compare_u32);       /* a permutation: each ticket was given once */
        check_u32("cells", *bs, cells, want, 16 + N);
        check_u64("wide", *bs, wide, want_wide, 2);
        check_f32("float sum", *bs, &sum, &want_sum, 1, 0, 0);  /* small integers: exact in any order */
        check_f64("double sum", *bs, &dsum, &want_dsum, 1, 0, 0);
        buffer_free(dc);
        buffer_free(dw);
        buffer_free(ds);
        buffer_free(dd);
    }
    buffer_free(d);
}

static void
test_sort(CUmodule m)
{
    CUfunction block = get_function(m, "bitonic_block"), step = get_function(m, "bitonic_step");
    enum { N = 2048 };
    uint32_t in[N], want[N], got[N];
    for (unsigned i = 0; i < N; i++)
        in[i] = i % 5 ? random_u32() : 42;
    for (const unsigned *bs = block_sizes; *bs; bs++)
        for (unsigned size = 64; size <= N; size *= 8) {
            CUdeviceptr d = buffer_new(in, sizeof in);
            LAUNCH(block, D1(N / size), D1(*bs), size * 4, &d, &size);
            buffer_read(got, d, sizeof got);
            memcpy(want, in, sizeof in);
            for (unsigned i = 0; i < N; i += size)
                qsort(want + i, size, sizeof *want, compare_u32);
            check_u32("bitonic_block", *bs, got, want, N);
            buffer_free(d);
        }
    CUdeviceptr d = buffer_new(in, sizeof in);
    unsigned n = N;
    for (unsigned k = 2; k <= N; k *= 2)
        for (unsigned j = k / 2; j; j /= 2)
            LAUNCH(step, D1((N + 99) / 100), D1(100), 0, &d, &n, &k, &j);
    buffer_read(got, d, sizeof got);
    memcpy(want, in, sizeof in);
    qsort(want, N, sizeof *want, compare_u32);
    check_u32("bitonic_step", 100, got, want, N);
    buffer_free(d);
}

const struct test block_tests[] = {
    { "matmul", "matmul", test_matmul, false },
    { "matmul_double", "matmul", test_matmul_double, false },
    { "wmma", "wmma", test_wmma, false },
    { "reduce", "reduce", test_reduce, false },
    { "warp_ops", "reduce", test_warp_ops, false },
    { "scan", "reduce", test_scan, false },
    { "barrier_reduce", "reduce", test_barrier_reduce, false },
    { "histogram", "atomics", test_histogram, false },
    { "atomic_ops", "atomics", test_atomic_ops, false },
    { "sort", "sort", test_sort, false },
    { NULL, NULL, NULL, false },
};
