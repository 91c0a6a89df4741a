/* SPDX-License-Identifier: Apache-2.0
 * runtime DRIVER CUDART: nanoseconds of calls of the Runtime library CUDART over those of the driver library DRIVER that they
 * become, turn about in one process; and what registering a thousand kernels and the first use of one takes beside loading the
 * same image by the driver's calls. */
#define _GNU_SOURCE
#include "impl/api/cuda_runtime.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#define DRIVER(X)                                                                                                       \
    X(cuInit, (unsigned)) X(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice)) X(cuCtxSetCurrent, (CUcontext))          \
    X(cuLibraryLoadData, (CUlibrary *, const void *, void *, void *, unsigned, void *, void *, unsigned))                \
    X(cuLibraryGetModule, (CUmodule *, CUlibrary)) X(cuModuleGetFunction, (CUfunction *, CUmodule, const char *))        \
    X(cuMemAlloc_v2, (CUdeviceptr *, size_t)) X(cuMemFree_v2, (CUdeviceptr)) X(cuMemAllocHost_v2, (void **, size_t))     \
    X(cuStreamCreate, (CUstream *, unsigned)) X(cuCtxSynchronize, (void)) X(cuEventCreate, (CUevent *, unsigned))        \
    X(cuEventRecord, (CUevent, CUstream)) X(cuStreamQuery, (CUstream)) X(cuCtxGetDevice, (CUdevice *))                   \
    X(cuMemcpyHtoDAsync_v2, (CUdeviceptr, const void *, size_t, CUstream))                                               \
    X(cuLaunchKernel, (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **))

#define RUNTIME(X)                                                                                                      \
    X(cudaMalloc, cudaError_t, (void **, size_t)) X(cudaFree, cudaError_t, (void *))                                     \
    X(cudaMemcpyAsync, cudaError_t, (void *, const void *, size_t, cudaMemcpyKind, cudaStream_t))                        \
    X(cudaGetLastError, cudaError_t, (void)) X(cudaEventRecord, cudaError_t, (cudaEvent_t, cudaStream_t))                \
    X(cudaStreamQuery, cudaError_t, (cudaStream_t)) X(cudaGetDevice, cudaError_t, (int *))                               \
    X(cudaLaunchKernel, cudaError_t, (const void *, dim3, dim3, void **, size_t, cudaStream_t))                          \
    X(__cudaRegisterFatBinary, void **, (void *)) X(__cudaRegisterFatBinaryEnd, void, (void **))                         \
    X(__cudaRegisterFunction, void, (void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *))

static struct {
#define X(name, parameters) CUresult (*name) parameters;
    DRIVER(X)
#undef X
} cu;
static struct {
#define X(name, result, parameters) result (*name) parameters;
    RUNTIME(X)
#undef X
} rt;
#define cuMust(call) MUST(cu.call)
#include "tools/bench.d/bench.h"

enum { TURNS = 101, CALLS = 1000, KERNELS = 1000 };

#define COMPARE_N(name, limit, calls, above, below)                                                                             \
    do {                                                                                                                \
        double a_[TURNS], b_[TURNS];                                                                                    \
        for (unsigned t = 0; t < TURNS; t++) {                                                                          \
            double from = now();                                                                                        \
            for (unsigned i = 0; i < (calls); i++)                                                                        \
                MUST((CUresult)(above));                                                                                \
            a_[t] = (now() - from) / (calls) * 1e9;                                                                       \
            cuMust(cuCtxSynchronize());                                                                                 \
            from = now();                                                                                               \
            for (unsigned i = 0; i < (calls); i++)                                                                        \
                MUST(below);                                                                                            \
            b_[t] = (now() - from) / (calls) * 1e9;                                                                       \
            cuMust(cuCtxSynchronize());                                                                                 \
        }                                                                                                               \
        double x = median(a_, TURNS), y = median(b_, TURNS);                                                            \
        printf("runtime  %-28s %7.1f ns, driver %7.1f ns: +%.1f ns (goal %d)\n", name, x, y, x - y, limit);            \
    } while (0)

#define COMPARE(name, limit, above, below) COMPARE_N(name, limit, CALLS, above, below)

static void *
symbol(void *lib, const char *name)
{
    void *p = lib ? dlsym(lib, name) : NULL;
    if (!p) {
        fprintf(stderr, "runtime: %s\n", dlerror());
        exit(2);
    }
    return p;
}

/* A container with one PTX text of `kernels` empty kernels. */
static void *
container(unsigned kernels)
{
    size_t room = 256 + (size_t)kernels * 160, used;
    char *b = calloc(1, room), *text = b + 80;
    if (!b)
        exit(2);
    used = (size_t)sprintf(text, ".version 6.0\n.target sm_50\n.address_size 64\n");
    for (unsigned i = 0; i < kernels; i++)
        used += (size_t)sprintf(text + used, ".visible .entry k%u(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)\n{\n ret;\n}\n", i);
    uint64_t size = (used + 1 + 7) / 8 * 8;
    memcpy(b, &(struct { uint32_t magic; uint16_t version, header; uint64_t size; }){ 0xBA55ED50u, 1, 16, size + 64 }, 16);
    memcpy(b + 16, &(struct { uint16_t kind, version; uint32_t header; uint64_t size; }){ 1, 0x101, 64, size }, 16);
    memcpy(b + 16 + 24, &(struct { uint16_t minor, major; uint32_t sm; }){ 0, 6, 50 }, 8);
    return b;
}

static void
start_up(void)
{
    static struct { int magic, version; void *data, *name; } wrapper = { 0x466243b1, 1, NULL, NULL };
    static char stubs[KERNELS];
    static char names[KERNELS][8];
    double registering, first, bare;
    void *args[4] = { &wrapper, &wrapper, &wrapper, &wrapper };
    CUlibrary l;
    CUmodule m;
    CUfunction f;

    wrapper.data = container(KERNELS);
    for (unsigned i = 0; i < KERNELS; i++)
        sprintf(names[i], "k%u", i);
    double from = now();
    cuMust(cuLibraryLoadData(&l, &wrapper, NULL, NULL, 0, NULL, NULL, 0));
    cuMust(cuLibraryGetModule(&m, l));
    cuMust(cuModuleGetFunction(&f, m, "k999"));
    cuMust(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
    bare = now() - from;
    from = now();
    void **handle = rt.__cudaRegisterFatBinary(&wrapper);
    for (unsigned i = 0; i < KERNELS; i++)
        rt.__cudaRegisterFunction(handle, &stubs[i], names[i], names[i], -1, NULL, NULL, NULL, NULL, NULL);
    rt.__cudaRegisterFatBinaryEnd(handle);
    registering = now() - from;
    from = now();
    MUST((CUresult)rt.cudaLaunchKernel(&stubs[998], (dim3){ 1, 1, 1 }, (dim3){ 32, 1, 1 }, args, 0, NULL));
    first = now() - from;
    printf("runtime  %d kernels: registered in %.3f ms, first launch %.3f ms; by the driver's calls %.3f ms: +%.3f ms (goal 5)\n", KERNELS,
           registering * 1e3, first * 1e3, bare * 1e3, (registering + first - bare) * 1e3);
}

int
main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: runtime DRIVER CUDART\n");
        return 2;
    }
    void *driver = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL), *library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
#define X(name, parameters) *(void **)&cu.name = symbol(driver, #name);
    DRIVER(X)
#undef X
#define X(name, result, parameters) *(void **)&rt.name = symbol(library, #name);
    RUNTIME(X)
#undef X
    static struct { int magic, version; void *data, *name; } wrapper = { 0x466243b1, 1, NULL, NULL };
    static char stub;
    CUcontext context;
    CUlibrary l;
    CUmodule m;
    CUfunction f;
    CUstream s;
    CUevent e;
    CUdeviceptr p;
    CUdevice d;
    void *host, *block;
    int device;
    unsigned n = 4;

    cuMust(cuInit(0));
    cuMust(cuDevicePrimaryCtxRetain(&context, 0));
    cuMust(cuCtxSetCurrent(context));
    wrapper.data = container(1);
    cuMust(cuLibraryLoadData(&l, &wrapper, NULL, NULL, 0, NULL, NULL, 0));
    cuMust(cuLibraryGetModule(&m, l));
    cuMust(cuModuleGetFunction(&f, m, "k0"));
    cuMust(cuStreamCreate(&s, 1));
    cuMust(cuEventCreate(&e, 2));
    cuMust(cuMemAlloc_v2(&p, 4096));
    cuMust(cuMemAllocHost_v2(&host, 4096));
    void **handle = rt.__cudaRegisterFatBinary(&wrapper);
    rt.__cudaRegisterFunction(handle, &stub, "k0", "k0", -1, NULL, NULL, NULL, NULL, NULL);
    rt.__cudaRegisterFatBinaryEnd(handle);
    void *params[] = { &p, &p, &p, &n };
    dim3 one = { 1, 1, 1 }, warp = { 32, 1, 1 };
    COMPARE("cudaLaunchKernel", 25, rt.cudaLaunchKernel(&stub, one, warp, params, 0, s),
            cu.cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, s, params, NULL));
    COMPARE("cudaMemcpyAsync", 25, rt.cudaMemcpyAsync((void *)p, host, 64, cudaMemcpyHostToDevice, s), cu.cuMemcpyHtoDAsync_v2(p, host, 64, s));
    COMPARE_N("cudaMalloc, cudaFree", 50, CALLS / 20, rt.cudaMalloc(&block, 4096) | rt.cudaFree(block), cu.cuMemAlloc_v2(&p, 4096) | cu.cuMemFree_v2(p));
    COMPARE("cudaEventRecord", 25, rt.cudaEventRecord(e, s), cu.cuEventRecord(e, s));
    COMPARE("cudaStreamQuery", 25, rt.cudaStreamQuery(s) & 0, cu.cuStreamQuery(s) & 0);
    COMPARE("cudaGetDevice", 25, rt.cudaGetDevice(&device), cu.cuCtxGetDevice(&d));
    COMPARE("cudaGetLastError", 25, rt.cudaGetLastError(), CUDA_SUCCESS);
    start_up();
    return 0;
}
