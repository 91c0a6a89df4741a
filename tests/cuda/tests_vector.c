/* SPDX-License-Identifier: Apache-2.0
 * Expectations for vector.cu: each thread by itself. Expected values are computed here in C, exactly (single operations
 * round the same on both sides), or in double with the bound that a division or square root of single precision has. */
#include "tests/cuda/harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1000 };      /* no multiple of any block size used */

static unsigned
blocks(unsigned n, unsigned size)
{
    return (n + size - 1) / size;
}

static void
test_vec_add(CUmodule m)
{
    CUfunction add = get_function(m, "vec_add"), sparse = get_function(m, "vec_add_sparse"),
               strided = get_function(m, "saxpy_strided");
    float a[N], b[N], got[N + 8];
    double want[N + 8];
    for (unsigned i = 0; i < N; i++) {
        a[i] = random_float(-100, 100);
        b[i] = random_float(-1, 1);
    }
    a[3] = INFINITY;
    b[3] = -INFINITY;
    a[5] = -0.0f;
    b[5] = -0.0f;
    a[6] = 1e-42f;              /* denormal results stay */
    b[6] = 2e-42f;
    CUdeviceptr da = buffer_new(a, sizeof a), db = buffer_new(b, sizeof b);
    unsigned n = N;
    for (const unsigned *bs = block_sizes; *bs; bs++) {
        CUdeviceptr out = buffer_new(NULL, sizeof got);
        LAUNCH(add, D1(blocks(N, *bs)), D1(*bs), 0, &da, &db, &out, &n);
        buffer_read(got, out, sizeof got);
        for (unsigned i = 0; i < N + 8; i++)
            want[i] = i < N ? a[i] + b[i] : 0;      /* nothing is written past the end */
        check_f32("vec_add", *bs, got, want, N + 8, 0, 0);
        buffer_free(out);

        out = buffer_new(NULL, sizeof got);
        LAUNCH(sparse, D1(blocks(N, *bs)), D1(*bs), 0, &da, &db, &out, &n);
        buffer_read(got, out, sizeof got);
        for (unsigned i = 0; i < N + 8; i++)
            want[i] = i < N && i % 3 == 1 ? fmaf(a[i], b[i], 1) : 0;
        check_f32("vec_add_sparse", *bs, got, want, N + 8, 0, 0);
        buffer_free(out);

        float alpha = 2.5f;
        out = buffer_new(b, sizeof b);
        LAUNCH(strided, D1(3), D1(*bs), 0, &alpha, &da, &out, &n);
        buffer_read(got, out, sizeof b);
        for (unsigned i = 0; i < N; i++)
            want[i] = fmaf(alpha, a[i], b[i]);
        check_f32("saxpy_strided", *bs, got, want, N, 0, 0);
        buffer_free(out);
    }
    buffer_free(da);
    buffer_free(db);
}

static void
test_double(CUmodule m)
{
    CUfunction f = get_function(m, "daxpy");
    double x[N], y[N], got[N], want[N], alpha = -1.25;
    unsigned n = N;
    for (unsigned i = 0; i < N; i++) {
        x[i] = (double)random_u32() / 1e7 - 200;
        y[i] = (double)random_u32() / 1e8 - 20;
        double p = alpha * x[i], q = 1.0 + y[i] * y[i];
        want[i] = p / q - sqrt(x[i] * x[i] + 2.0);
    }
    CUdeviceptr dx = buffer_new(x, sizeof x);
    for (const unsigned *bs = block_sizes; *bs; bs++) {
        CUdeviceptr dy = buffer_new(y, sizeof y);
        LAUNCH(f, D1(blocks(N, *bs)), D1(*bs), 0, &alpha, &dx, &dy, &n);
        buffer_read(got, dy, sizeof got);
        check_f64("daxpy", *bs, got, want, N, 0, 0);
        buffer_free(dy);
    }
    buffer_free(dx);
}

static void
test_int64(CUmodule m)
{
    static const uint64_t edges[] = { 0, 1, 2, 3, 63, 64, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff,
                                      0xffffffff, 0x100000000, 0x5555555555555555 };
    enum { E = sizeof edges / sizeof *edges };
    CUfunction f = get_function(m, "int64");
    int64_t a[N], b[N];
    uint64_t *got = allocate(8 * 8 * N), *want = allocate(8 * 8 * N);
    unsigned n = N;
    for (unsigned i = 0; i < N; i++) {
        a[i] = (int64_t)(i < E * E ? edges[i % E] : (uint64_t)random_u32() << 32 | random_u32());
        b[i] = (int64_t)(i < E * E ? edges[i / E] : ((uint64_t)random_u32() << 32 | random_u32()) >> (random_u32() % 60));
        int64_t x = a[i], y = b[i];
        uint64_t ux = (uint64_t)x, uy = (uint64_t)y, *w = want + 8 * i;
        w[0] = ux * uy;
        w[1] = uy ? ux / uy : UINT64_MAX;
        w[2] = uy == 0 || (y == -1 && x == INT64_MIN) ? UINT64_MAX : (uint64_t)(x % y);
        /* The high half by schoolbook multiplication on 32-bit digits. */
        uint64_t xl = ux & 0xffffffff, xh = ux >> 32, yl = uy & 0xffffffff, yh = uy >> 32;
        uint64_t mid = xh * yl + (xl * yl >> 32), low = xl * yh + (mid & 0xffffffff);
        w[3] = xh * yh + (mid >> 32) + (low >> 32);
        w[4] = (uint64_t)(x >> (uy & 63));
        w[5] = ux << (uy & 63);
        unsigned ones = 0, zeros = 0;
        for (int bit = 0; bit < 64; bit++)
            ones += ux >> bit & 1;
        while (zeros < 64 && !(ux << zeros >> 63))
            zeros++;
        w[6] = (uint64_t)ones * 65 + zeros;
        w[7] = x < y ? ux - uy : uy - ux;
    }
    CUdeviceptr da = buffer_new(a, sizeof a), db = buffer_new(b, sizeof b);
    for (const unsigned *bs = block_sizes; *bs; bs++) {
        CUdeviceptr out = buffer_new(NULL, 64 * N);
        LAUNCH(f, D1(blocks(N, *bs)), D1(*bs), 0, &da, &db, &out, &n);
        buffer_read(got, out, 64 * N);
        check_u64("int64", *bs, got, want, 8 * N);
        buffer_free(out);
    }
    buffer_free(da);
    buffer_free(db);
    free(got);
    free(want);
}

static void
test_int32(CUmodule m)
{
    static const uint32_t edges[] = { 0, 1, 2, 31, 32, 0x7fffffff, 0x80000000, 0xffffffff, 0x8000, 0xff80, 0x55555555 };
    enum { E = sizeof edges / sizeof *edges };
    CUfunction f = get_function(m, "int32");
    uint32_t a[N], b[N], *got = allocate(4 * 8 * N), *want = allocate(4 * 8 * N);
    unsigned n = N;
    for (unsigned i = 0; i < N; i++) {
        uint32_t ux = a[i] = i < E * E ? edges[i % E] : random_u32();
        uint32_t uy = b[i] = i < E * E ? edges[i / E] : random_u32() >> (random_u32() % 32);
        int32_t x = (int32_t)ux, y = (int32_t)uy;
        uint32_t *w = want + 8 * i;
        w[0] = ux * uy + 7;
        w[1] = y == 0 || (y == -1 && x == INT32_MIN) ? UINT32_MAX : (uint32_t)(x / y);
        w[2] = uy ? ux % uy : ux;
        w[3] = (uint32_t)((uint64_t)ux * uy >> 32);
        for (int bit = 0; bit < 32; bit++)
            w[4] |= (ux >> bit & 1) << (31 - bit);
        w[5] = uy % 32 ? ux << uy % 32 | ux >> (32 - uy % 32) : ux;
        int32_t low8 = (int32_t)(ux & 0xff), low16 = (int32_t)(uy & 0xffff);
        w[6] = (uint32_t)((low8 > 127 ? low8 - 256 : low8) + (low16 > 32767 ? low16 - 65536 : low16) + (int32_t)(uy & 0xff));
        w[7] = (x > y ? ux : uy) ^ (ux < uy ? ux : uy);
    }
    CUdeviceptr da = buffer_new(a, sizeof a), db = buffer_new(b, sizeof b);
    for (const unsigned *bs = block_sizes; *bs; bs++) {
        CUdeviceptr out = buffer_new(NULL, 32 * N);
        LAUNCH(f, D1(blocks(N, *bs)), D1(*bs), 0, &da, &db, &out, &n);
        buffer_read(got, out, 32 * N);
        check_u32("int32", *bs, got, want, 8 * N);
        buffer_free(out);
    }
    buffer_free(da);
    buffer_free(db);
    free(got);
    free(want);
}

/* The same layout as in vector.cu: C's on x86-64. */
struct shape {
    uint8_t kind;
    int16_t bias;
    float scale[3];
    double offset;
    struct {
        uint32_t first, count;
    } range;
    CUdeviceptr table;
};

static void
test_struct_param(CUmodule m)
{
    CUfunction f = get_function(m, "struct_param");
    float table[N], got[N];
    double want[N];
    for (unsigned i = 0; i < N; i++)
        table[i] = random_float(-8, 8);
    struct shape s = { .kind = 200, .bias = -300, .scale = { 0.5f, 2, -4 }, .offset = 0.125, .range = { 17, 801 } };
    s.table = buffer_new(table, sizeof table);
    uint8_t before = 3;
    uint16_t after = 65000;
    for (const unsigned *bs = block_sizes; *bs; bs++) {
        CUdeviceptr out = buffer_new(NULL, sizeof got);
        LAUNCH(f, D1(blocks(N, *bs)), D1(*bs), 0, &before, &s, &out, &after);
        buffer_read(got, out, sizeof got);
        for (unsigned i = 0; i < N; i++)
            want[i] = i < 17 || i >= 17 + 801 ? 0 : (float)((float)(table[i] * s.scale[i % 3]) + 0.125f) + (float)(200 - 300 + 3 + 65000);
        for (unsigned i = 0; i < N; i++)
            want[i] = (float)want[i];
        check_f32("struct_param", *bs, got, want, N, 0, 0);
        buffer_free(out);
    }
    buffer_free(s.table);
}

static void
test_index_3d(CUmodule m)
{
    static const struct dims blocks3[] = { { 8, 4, 2 }, { 5, 3, 7 }, { 1, 33, 1 }, { 2, 1, 30 }, { 32, 2, 2 }, { 3, 1, 1 }, { 16, 16, 1 } };
    static const struct dims grids[] = { { 2, 3, 2 }, { 1, 1, 5 }, { 4, 1, 1 } };
    CUfunction f = get_function(m, "index_3d");
    for (unsigned v = 0; v < sizeof blocks3 / sizeof *blocks3; v++)
        for (unsigned w = 0; w < sizeof grids / sizeof *grids; w++) {
            struct dims b = blocks3[v], g = grids[w];
            size_t count = (size_t)b.x * b.y * b.z * g.x * g.y * g.z, at = 0;
            uint32_t *got = allocate(12 * count), *want = allocate(12 * count);
            for (unsigned bz = 0; bz < g.z; bz++)
                for (unsigned by = 0; by < g.y; by++)
                    for (unsigned bx = 0; bx < g.x; bx++) {
                        unsigned thread = 0;
                        for (unsigned z = 0; z < b.z; z++)
                            for (unsigned y = 0; y < b.y; y++)
                                for (unsigned x = 0; x < b.x; x++) {
                                    want[at++] = x | y << 8 | z << 16;
                                    want[at++] = bx | by << 8 | bz << 16;
                                    want[at++] = thread++ % 32 | g.x << 8 | g.y << 16 | g.z << 24;
                                }
                    }
            CUdeviceptr out = buffer_new(NULL, 12 * count);
            LAUNCH(f, g, b, 0, &out);
            buffer_read(got, out, 12 * count);
            check_u32("index_3d", v * 10 + w, got, want, 3 * count);
            buffer_free(out);
            free(got);
            free(want);
        }
}

static void
test_convert(CUmodule m)
{
    CUfunction f = get_function(m, "convert");
    float in[N];
    uint32_t got[8 * N], want[8 * N];
    unsigned n = N;
    for (unsigned i = 0; i < N; i++) {
        in[i] = i < 64 ? (float)((int)i - 32) / 4 : random_float(-500000, 500000);
        uint32_t *w = want + 8 * i;
        w[0] = (uint32_t)(int32_t)truncf(in[i]);
        w[1] = (uint32_t)(int32_t)rintf(in[i]);
        w[2] = (uint32_t)(int32_t)floorf(in[i]);
        w[3] = (uint32_t)(int32_t)ceilf(in[i]);
        w[4] = (uint32_t)(int8_t)(uint8_t)w[0];
        w[5] = (uint32_t)(int32_t)(3.0 * in[i]);
        float back = (float)(int32_t)w[5], r = 1.0f / (in[i] + 1000.0f);
        memcpy(&w[6], &back, 4);
        memcpy(&w[7], &r, 4);
    }
    CUdeviceptr din = buffer_new(in, sizeof in);
    for (const unsigned *bs = block_sizes; *bs; bs++) {
        CUdeviceptr out = buffer_new(NULL, sizeof got);
        LAUNCH(f, D1(blocks(N, *bs)), D1(*bs), 0, &din, &out, &n);
        buffer_read(got, out, sizeof got);
        check_u32("convert", *bs, got, want, 8 * N);
        buffer_free(out);
    }
    buffer_free(din);
}

static void
test_wide(CUmodule m)
{
    CUfunction f = get_function(m, "wide");
    float in[4 * N], got[4 * N];
    double want[4 * N];
    uint8_t pixels[4 * N], shuffled[4 * N];
    uint16_t narrow[N], negated[N];
    unsigned n = N;
    for (unsigned i = 0; i < N; i++) {
        narrow[i] = (uint16_t)random_u32();
        for (unsigned c = 0; c < 4; c++) {
            in[4 * i + c] = random_float(-1, 1);
            pixels[4 * i + c] = (uint8_t)random_u32();
        }
        for (unsigned c = 0; c < 4; c++)
            want[4 * i + c] = in[4 * i + 3 - c] * 2.0f + in[4 * i + c];
        for (unsigned c = 0; c < 4; c++)
            want[4 * i + c] = (float)want[4 * i + c];
    }
    CUdeviceptr din = buffer_new(in, sizeof in), dp = buffer_new(pixels, sizeof pixels), dn = buffer_new(narrow, sizeof narrow);
    for (const unsigned *bs = block_sizes; *bs; bs++) {
        CUdeviceptr out = buffer_new(NULL, sizeof got), ds = buffer_new(NULL, sizeof shuffled), dneg = buffer_new(NULL, sizeof negated);
        LAUNCH(f, D1(blocks(N, *bs)), D1(*bs), 0, &din, &out, &dp, &ds, &dn, &dneg, &n);
        buffer_read(got, out, sizeof got);
        buffer_read(shuffled, ds, sizeof shuffled);
        buffer_read(negated, dneg, sizeof negated);
        check_f32("wide", *bs, got, want, 4 * N, 0, 0);
        static const int from[4] = { 1, 0, 3, 2 };
        for (unsigned i = 0; i < N; i++) {
            for (int c = 0; c < 4; c++)
                check_true("shuffled bytes", i, shuffled[4 * i + (unsigned)c] == (uint8_t)(pixels[4 * i + (unsigned)from[c]] + 1));
            check_true("16-bit negation", i, negated[i] == (uint16_t)(0x10000 - narrow[i]));
        }
        buffer_free(out);
        buffer_free(ds);
        buffer_free(dneg);
    }
    buffer_free(din);
    buffer_free(dp);
    buffer_free(dn);
}

const struct test vector_tests[] = {
    { "vec_add", "vector", test_vec_add, false },
    { "double", "vector", test_double, false },
    { "int64", "vector", test_int64, false },
    { "int32", "vector", test_int32, false },
    { "struct_param", "vector", test_struct_param, false },
    { "index_3d", "vector", test_index_3d, false },
    { "convert", "vector", test_convert, false },
    { "wide", "vector", test_wide, false },
    { NULL, NULL, NULL, false },
};
