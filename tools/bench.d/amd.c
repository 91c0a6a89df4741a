/* SPDX-License-Identifier: Apache-2.0
 * amd LIBRARY MODULE RESULTS [REFERENCE]: launches each kernel of nvptx.cu once, with little work, through the driver LIBRARY and
 * writes what they computed to the file RESULTS. With REFERENCE, such a file of another run, the numbers are compared: floats may
 * differ by 2e-3 of the larger (approximations have other bits, and sums cancel), integers not at all. Exit status 1 when one does. */
#define _GNU_SOURCE
#include "impl/api/cuda.h"

#define FUNCTIONS(X)                                                                                                    \
    X(cuInit, (unsigned)) X(cuDeviceGet, (CUdevice *, int)) X(cuCtxCreate_v2, (CUcontext *, unsigned, CUdevice))        \
    X(cuModuleLoadData, (CUmodule *, const void *)) X(cuModuleGetFunction, (CUfunction *, CUmodule, const char *))      \
    X(cuMemAlloc_v2, (CUdeviceptr *, size_t)) X(cuMemFree_v2, (CUdeviceptr))                                            \
    X(cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t)) X(cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t))           \
    X(cuMemsetD8_v2, (CUdeviceptr, unsigned char, size_t)) X(cuCtxSynchronize, (void))                                  \
    X(cuLaunchKernel, (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **))

#include "tools/bench.d/cases.h"

static bool
same(const struct bench *b, const uint32_t *got, const uint32_t *want, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float g, w;
        memcpy(&g, &got[i], 4);
        memcpy(&w, &want[i], 4);
        if (got[i] == want[i] || (!b->ints && fabsf(g - w) <= 2e-3f * fmaxf(fabsf(g), fabsf(w))))
            continue;
        printf("%s: number %zu is 0x%08x (%g), in the reference 0x%08x (%g)\n", b->name, i, got[i], g, want[i], w);
        return false;
    }
    return true;
}

static bool
once(const struct bench *b, CUmodule module, FILE *results, FILE *reference)
{
    CUfunction f;
    CUdeviceptr p[MAX_BUFFERS] = { 0 };
    float a = 2.5f;
    uint32_t n = b->n;
    void *params[MAX_BUFFERS + 2];
    unsigned np = 0;
    cuMust(cuModuleGetFunction(&f, module, b->name));
    for (unsigned i = 0; i < MAX_BUFFERS && b->size[i]; i++) {
        cuMust(cuMemAlloc_v2(&p[i], b->size[i]));
        if (i == b->result && !b->keeps)
            cuMust(cuMemsetD8_v2(p[i], 0, b->size[i]));
        else
            fill(p[i], b->size[i], b->ints);
        params[np++] = &p[i];
    }
    if (!strcmp(b->name, "fft"))
        roots(p[2]);
    if (b->order == 2)
        params[np++] = &a;
    if (b->order)
        params[np++] = &n;
    cuMust(cuLaunchKernel(f, b->grid[0], b->grid[1], 1, b->block[0], b->block[1], 1, 0, NULL, params, NULL));
    cuMust(cuCtxSynchronize());
    size_t size = b->size[b->result];
    uint32_t *got = malloc(size), *want = malloc(size);
    if (!got || !want)
        exit(2);
    cuMust(cuMemcpyDtoH_v2(got, p[b->result], size));
    bool ok = true, zero = true;
    for (size_t i = 0; i < size / 4 && zero; i++)
        zero = !got[i];
    if (zero) {
        printf("%s: all results are zero\n", b->name);
        ok = false;
    }
    if (fwrite(got, 1, size, results) != size) {
        perror("results");
        exit(2);
    }
    if (reference && fread(want, 1, size, reference) != size) {
        printf("%s: the reference ends early\n", b->name);
        ok = false;
    } else if (reference) {
        ok = same(b, got, want, size / 4) && ok;
    }
    free(got);
    free(want);
    for (unsigned i = 0; i < MAX_BUFFERS; i++)
        if (p[i])
            cuMust(cuMemFree_v2(p[i]));
    return ok;
}

int
main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: amd LIBRARY MODULE RESULTS [REFERENCE]\n");
        return 2;
    }
    if (!load_driver(argv[1]))
        return 2;
    FILE *results = fopen(argv[3], "wb"), *reference = argc > 4 ? fopen(argv[4], "rb") : NULL;
    if (!results || (argc > 4 && !reference)) {
        perror(results ? argv[4] : argv[3]);
        return 2;
    }
    CUdevice device;
    CUcontext context;
    CUmodule module;
    char *text = read_text(argv[2]);
    cuMust(cuInit(0));
    cuMust(cuDeviceGet(&device, 0));
    cuMust(cuCtxCreate_v2(&context, 0, device));
    cuMust(cuModuleLoadData(&module, text));
    struct bench all[CASES];
    bool ok = true;
    cases(all, 1024);
    for (unsigned i = 0; i < CASES; i++)
        ok = once(&all[i], module, results, reference) && ok;
    fclose(results);
    if (reference)
        fclose(reference);
    free(text);
    return !ok;
}
