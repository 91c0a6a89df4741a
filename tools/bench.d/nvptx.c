/* SPDX-License-Identifier: Apache-2.0
 * nvptx LIBRARY ORIGINAL.ptx TRANSLATED.ptx [SHRINK]: times of the kernels of nvptx.cu, as they were and as they came back from
 * CUDAway, on the GPU of the CUDA driver LIBRARY. Both are launched turn about in one process, timed with events; medians are
 * printed as "NAME ORIGINAL-us TRANSLATED-us RATIO", and whether both left the same bits. SHRINK divides the work (for trying
 * the program on a device that is no GPU). Exit status 1 when results differ. */
#define _GNU_SOURCE
#include "impl/api/cuda.h"

#define FUNCTIONS(X)                                                                                                    \
    X(cuInit, (unsigned)) X(cuDeviceGet, (CUdevice *, int)) X(cuDeviceGetName, (char *, int, CUdevice))                 \
    X(cuCtxCreate_v2, (CUcontext *, unsigned, CUdevice)) X(cuModuleLoadData, (CUmodule *, const void *))                \
    X(cuModuleGetFunction, (CUfunction *, CUmodule, const char *)) X(cuFuncGetAttribute, (int *, CUfunction_attribute, CUfunction)) \
    X(cuMemAlloc_v2, (CUdeviceptr *, size_t)) X(cuMemFree_v2, (CUdeviceptr))                                            \
    X(cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t)) X(cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t))           \
    X(cuMemsetD8_v2, (CUdeviceptr, unsigned char, size_t)) X(cuEventCreate, (CUevent *, unsigned))                      \
    X(cuEventRecord, (CUevent, CUstream)) X(cuEventSynchronize, (CUevent))                                              \
    X(cuEventElapsedTime, (float *, CUevent, CUevent)) X(cuCtxSynchronize, (void))                                      \
    X(cuLaunchKernel, (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **))

#include "tools/bench.d/cases.h"

enum { TURNS = 31 };

static bool
measure(const struct bench *b, CUmodule module[2])
{
    CUfunction f[2];
    CUdeviceptr p[MAX_BUFFERS] = { 0 };
    CUevent from, to;
    uint32_t n = b->n;
    float a = 2.5f;
    void *params[MAX_BUFFERS + 2];
    unsigned np = 0;
    int regs[2] = { 0 }, local[2] = { 0 };
    for (int side = 0; side < 2; side++) {
        cuMust(cuModuleGetFunction(&f[side], module[side], b->name));
        cuMust(cuFuncGetAttribute(&regs[side], CU_FUNC_ATTRIBUTE_NUM_REGS, f[side]));
        cuMust(cuFuncGetAttribute(&local[side], CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, f[side]));
    }
    for (unsigned i = 0; i < MAX_BUFFERS && b->size[i]; i++) {
        cuMust(cuMemAlloc_v2(&p[i], b->size[i]));
        fill(p[i], b->size[i], b->ints);
        params[np++] = &p[i];
    }
    if (!strcmp(b->name, "fft"))
        roots(p[2]);
    if (b->order == 2)
        params[np++] = &a;
    if (b->order)
        params[np++] = &n;
    cuMust(cuEventCreate(&from, 0));
    cuMust(cuEventCreate(&to, 0));
#define LAUNCH(side) cuMust(cuLaunchKernel(f[side], b->grid[0], b->grid[1], 1, b->block[0], b->block[1], 1, 0, NULL, params, NULL))

    /* The same bits? */
    size_t size = b->size[b->result];
    char *out[2] = { malloc(size), malloc(size) };
    if (!out[0] || !out[1])
        exit(1);
    for (int side = 0; side < 2; side++) {
        if (b->keeps)
            fill(p[b->result], size, b->ints);
        else
            cuMust(cuMemsetD8_v2(p[b->result], 0, size));
        LAUNCH(side);
        cuMust(cuCtxSynchronize());
        cuMust(cuMemcpyDtoH_v2(out[side], p[b->result], size));
    }
    bool same = !memcmp(out[0], out[1], size), zero = true;
    for (size_t i = 0; i < size && zero; i++)
        zero = !out[0][i];
    free(out[0]);
    free(out[1]);

    /* As many launches in a row as take about a millisecond. */
    float ms = 0;
    unsigned row = 1;
    for (;; row *= 2) {
        cuMust(cuEventRecord(from, NULL));
        for (unsigned i = 0; i < row; i++)
            LAUNCH(0);
        cuMust(cuEventRecord(to, NULL));
        cuMust(cuEventSynchronize(to));
        cuMust(cuEventElapsedTime(&ms, from, to));
        if (ms > 1 || row >= 1024)
            break;
    }
    double v[2][TURNS];
    for (unsigned turn = 0; turn < TURNS; turn++) {
        for (int k = 0; k < 2; k++) {
            int side = (int)(turn & 1) ^ k;
            cuMust(cuEventRecord(from, NULL));
            for (unsigned i = 0; i < row; i++)
                LAUNCH(side);
            cuMust(cuEventRecord(to, NULL));
            cuMust(cuEventSynchronize(to));
            cuMust(cuEventElapsedTime(&ms, from, to));
            v[side][turn] = ms * 1e3 / row;
        }
    }
    double m0 = median(v[0], TURNS), m1 = median(v[1], TURNS);
    printf("%-16s %10.2f %10.2f   %6.4f   %s%s  registers %d %d, local %d %d\n", b->name, m0, m1, m1 / m0,
           same ? "same bits" : "DIFFERENT", zero ? " (all zero!)" : "", regs[0], regs[1], local[0], local[1]);
    fflush(stdout);
    for (unsigned i = 0; i < np; i++)
        if (i < MAX_BUFFERS && p[i])
            cuMust(cuMemFree_v2(p[i]));
    return same && !zero;
}

int
main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: nvptx LIBRARY ORIGINAL.ptx TRANSLATED.ptx [SHRINK]\n");
        return 2;
    }
    if (!load_driver(argv[1]))
        return 2;
    unsigned s = argc > 4 ? (unsigned)atoi(argv[4]) : 1;
    s = s ? s : 1;
    struct bench benches[CASES];
    cases(benches, s);
    CUdevice device;
    CUcontext context;
    CUmodule module[2];
    char name[128] = "";
    cuMust(cuInit(0));
    cuMust(cuDeviceGet(&device, 0));
    cuMust(cuDeviceGetName(name, sizeof name - 1, device));
    cuMust(cuCtxCreate_v2(&context, 0, device));
    for (int i = 0; i < 2; i++) {
        char *text = read_text(argv[2 + i]);
        cuMust(cuModuleLoadData(&module[i], text));
        free(text);
    }
    printf("%s: microseconds, medians of %d\n%-16s %10s %10s   %6s\n", name, TURNS, "kernel", "original", "translated", "ratio");
    bool ok = true;
    for (unsigned i = 0; i < sizeof benches / sizeof *benches; i++)
        ok = measure(&benches[i], module) && ok;
    return !ok;
}
