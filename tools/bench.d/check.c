/* SPDX-License-Identifier: Apache-2.0
 * check PTX: launches each kernel of check.cu once, for a dump of it, and compares what it computes with C. */
#include "tools/bench.d/bench.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { N = 1 << 20, SIDE = 512, BLOCK = 256 };

static CUmodule module;
static CUdeviceptr in[2], out;
static uint32_t *x, *y, *z;             /* what is in them */

static void
launch(const char *name, unsigned gx, unsigned gy, unsigned bx, unsigned by, void **params)
{
    CUfunction f;
    MUST(cuModuleGetFunction(&f, module, name));
    MUST(cuMemsetD8_v2(out, 0, N * 4));
    MUST(cuLaunchKernel(f, gx, gy, 1, bx, by, 1, 0, NULL, params, NULL));
    MUST(cuCtxSynchronize());
    MUST(cuMemcpyDtoH_v2(z, out, N * 4));
}

static void
expect(const char *name, unsigned at, double is, double should)
{
    if (fabs(is - should) <= 1e-4 * fabs(should) + 1e-4)
        return;
    fprintf(stderr, "%s: [%u] is %g, not %g\n", name, at, is, should);
    exit(1);
}

static float
real(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static void
fill(bool floats)
{
    for (unsigned i = 0; i < N; i++) {
        float f[2] = { (float)(i * 37 % 101) / 101, (float)(i * 53 % 103) / 103 };
        x[i] = i * 2654435761u >> 12;
        y[i] = x[i] % N;
        if (floats)
            memcpy(&x[i], &f[0], 4), memcpy(&y[i], &f[1], 4);
    }
    MUST(cuMemcpyHtoD_v2(in[0], x, N * 4));
    MUST(cuMemcpyHtoD_v2(in[1], y, N * 4));
}

static void
floats(void)
{
    unsigned n = SIDE, many = N, side = 1024;
    void *product[] = { &in[0], &in[1], &out, &n }, *reduction[] = { &in[0], &out, &many }, *stencil[] = { &in[0], &out, &side },
         *add[] = { &in[0], &in[1], &out, &many };
    double sum = 0, all = 0;
    fill(true);
    launch("product", SIDE / 16, SIDE / 16, 16, 16, product);
    for (unsigned k = 0; k < SIDE; k++)
        sum += (double)real(x[3 * SIDE + k]) * real(y[k * SIDE + 5]);
    expect("product", 3 * SIDE + 5, real(z[3 * SIDE + 5]), sum);
    launch("reduction", 256, 1, BLOCK, 1, reduction);
    sum = 0;
    for (unsigned i = 0; i < N; i++)
        sum += real(x[i]);
    for (unsigned i = 0; i < 256; i++)
        all += real(z[i]);
    expect("reduction", 0, all, sum);
    launch("stencil", side / 32, side / 8, 32, 8, stencil);
    expect("stencil", 5 * side + 9, real(z[5 * side + 9]),
           0.1 * (real(x[5 * side + 8]) + real(x[5 * side + 10]) + real(x[4 * side + 9]) + real(x[6 * side + 9])) + 0.6 * real(x[5 * side + 9]));
    launch("add", N / BLOCK, 1, BLOCK, 1, add);
    for (unsigned i = 0; i < N; i++)
        expect("add", i, real(z[i]), (double)real(x[i]) + real(y[i]));
}

static void
numbers(void)
{
    unsigned n = N;
    void *histogram[] = { &in[0], &out, &n }, *pair[] = { &in[0], &out }, *gather[] = { &in[0], &in[1], &out, &n };
    uint64_t sum = 0;
    uint32_t total = 0;
    float want = 0;
    fill(false);
    launch("histogram", 256, 1, BLOCK, 1, histogram);
    for (unsigned i = 0; i < 256; i++)
        sum += z[i];
    expect("histogram", 0, (double)sum, N);
    launch("scan", N / BLOCK, 1, BLOCK, 1, pair);
    for (unsigned i = 0; i < BLOCK; i++) {
        total += x[i];
        expect("scan", i, z[i], total);
    }
    launch("sort", N / 512, 1, BLOCK, 1, pair);
    for (unsigned i = 1; i < N; i++)
        if (i % 512 && z[i] < z[i - 1])
            expect("sort", i, z[i], z[i - 1]);
    for (unsigned i = 0; i < N; i++) {
        float f = (float)(i % 1000);
        memcpy(&x[i], &f, 4);
    }
    MUST(cuMemcpyHtoD_v2(in[0], x, N * 4));
    launch("gather", N / BLOCK, 1, BLOCK, 1, gather);
    for (unsigned k = 0; k < 8; k++)
        want += real(x[y[(7 + k * 1024) % N]]);
    expect("gather", 7, real(z[7]), want);
}

int
main(int argc, char **argv)
{
    CUdevice device;
    CUcontext context;
    if (argc != 2) {
        fputs("usage: check PTX\n", stderr);
        return 2;
    }
    x = malloc(N * 4), y = malloc(N * 4), z = malloc(N * 4);
    if (!x || !y || !z)
        return 1;
    MUST(cuInit(0));
    MUST(cuDeviceGet(&device, 0));
    MUST(cuCtxCreate_v2(&context, 0, device));
    char *text = read_text(argv[1]);
    MUST(cuModuleLoadData(&module, text));
    for (unsigned i = 0; i < 3; i++)
        MUST(cuMemAlloc_v2(i < 2 ? &in[i] : &out, N * 4));
    floats();
    numbers();
    MUST(cuCtxDestroy_v2(context));
    return 0;
}
