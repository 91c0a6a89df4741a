/* SPDX-License-Identifier: Apache-2.0
 * overhead DRIVER HIP: nanoseconds of cuLaunchKernel, cuMemcpyHtoDAsync, cuMemcpyDtoHAsync, cuMemcpyDtoDAsync and cuEventRecord of the
 * driver library DRIVER, whose device is the HIP library HIP (nohip.c), and of the HIP functions under them, called directly. */
#define _GNU_SOURCE
#include "impl/api/cuda.h"
#include "impl/hip/hip.h"

#include <dlfcn.h>
#include <string.h>

#define FUNCTIONS(X)                                                                                                    \
    X(cuInit, (unsigned)) X(cuDeviceGet, (CUdevice *, int)) X(cuCtxCreate_v2, (CUcontext *, unsigned, CUdevice))        \
    X(cuModuleLoadData, (CUmodule *, const void *)) X(cuModuleGetFunction, (CUfunction *, CUmodule, const char *))      \
    X(cuMemAlloc_v2, (CUdeviceptr *, size_t)) X(cuMemAllocHost_v2, (void **, size_t)) X(cuStreamCreate, (CUstream *, unsigned)) \
    X(cuEventCreate, (CUevent *, unsigned)) X(cuEventRecord, (CUevent, CUstream)) X(cuCtxSynchronize, (void))           \
    X(cuMemcpyHtoDAsync_v2, (CUdeviceptr, const void *, size_t, CUstream)) X(cuMemcpyDtoHAsync_v2, (void *, CUdeviceptr, size_t, CUstream)) \
    X(cuMemcpyDtoDAsync_v2, (CUdeviceptr, CUdeviceptr, size_t, CUstream))                                               \
    X(cuLaunchKernel, (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **))

static struct {
#define X(name, parameters) CUresult (*name) parameters;
    FUNCTIONS(X)
#undef X
} cu;
static struct {
    hipError_t (*launch)(hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, hipStream_t, void **, void **);
    hipError_t (*copy)(void *, const void *, size_t, int, hipStream_t);
    hipError_t (*record)(hipEvent_t, hipStream_t);
} hip;
#define cuMust(call) MUST(cu.call)
#include "tools/bench.d/bench.h"

enum { TURNS = 101, CALLS = 1000 };

static const char text[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                           ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)\n{\n ret;\n}\n";

/* Both, turn about: medians. `above` and `below` are expressions. */
#define COMPARE(name, limit, above, below)                                                                              \
    do {                                                                                                                \
        double a_[TURNS], b_[TURNS];                                                                                    \
        for (unsigned t = 0; t < TURNS; t++) {                                                                          \
            double from = now();                                                                                        \
            for (unsigned i = 0; i < CALLS; i++)                                                                        \
                MUST(above);                                                                                            \
            a_[t] = (now() - from) / CALLS * 1e9;                                                                       \
            from = now();                                                                                               \
            for (unsigned i = 0; i < CALLS; i++)                                                                        \
                if (below)                                                                                              \
                    return 1;                                                                                           \
            b_[t] = (now() - from) / CALLS * 1e9;                                                                       \
            cuMust(cuCtxSynchronize());                                                                                 \
        }                                                                                                               \
        double x = median(a_, TURNS), y = median(b_, TURNS);                                                            \
        printf("overhead %-22s %7.1f ns, HIP %5.1f ns: +%.1f ns (goal %d), %.1f times\n", name, x, y, x - y, limit, x / y); \
    } while (0)

static void *
symbol(void *lib, const char *name)
{
    void *p = lib ? dlsym(lib, name) : NULL;
    if (!p) {
        fprintf(stderr, "overhead: %s\n", dlerror());
        exit(2);
    }
    return p;
}

int
main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: overhead DRIVER HIP\n");
        return 2;
    }
    void *driver = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL), *library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
#define X(name, parameters) *(void **)&cu.name = symbol(driver, #name);
    FUNCTIONS(X)
#undef X
    *(void **)&hip.launch = symbol(library, "hipModuleLaunchKernel");
    *(void **)&hip.copy = symbol(library, "hipMemcpyAsync");
    *(void **)&hip.record = symbol(library, "hipEventRecord");
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction f;
    CUstream stream;
    CUevent event;
    CUdeviceptr p, q;
    void *host;
    unsigned n = 4;
    cuMust(cuInit(0));
    cuMust(cuDeviceGet(&device, 0));
    cuMust(cuCtxCreate_v2(&context, 0, device));
    cuMust(cuModuleLoadData(&module, text));
    cuMust(cuModuleGetFunction(&f, module, "k"));
    cuMust(cuStreamCreate(&stream, 1));
    cuMust(cuEventCreate(&event, 0));
    cuMust(cuMemAlloc_v2(&p, 4096));
    cuMust(cuMemAlloc_v2(&q, 4096));
    cuMust(cuMemAllocHost_v2(&host, 4096));
    void *params[] = { &p, &q, &p, &n };
    for (int s = 0; s < 2; s++) {
        CUstream on = s ? stream : NULL;
        hipStream_t under = (hipStream_t)host;
        printf("overhead on %s:\n", s ? "a stream" : "the null stream");
        COMPARE("cuLaunchKernel", 100, cu.cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, on, params, NULL),
                hip.launch((hipFunction_t)host, 1, 1, 1, 32, 1, 1, 0, under, params, NULL));
        COMPARE("cuMemcpyHtoDAsync", 50, cu.cuMemcpyHtoDAsync_v2(p, host, 64, on), hip.copy((void *)p, host, 64, 4, under));
        COMPARE("cuMemcpyDtoHAsync", 50, cu.cuMemcpyDtoHAsync_v2(host, p, 64, on), hip.copy(host, (void *)p, 64, 4, under));
        COMPARE("cuMemcpyDtoDAsync", 50, cu.cuMemcpyDtoDAsync_v2(q, p, 64, on), hip.copy((void *)q, (void *)p, 64, 4, under));
        COMPARE("cuEventRecord", 50, cu.cuEventRecord(event, on), hip.record((hipEvent_t)host, under));
    }
    return 0;
}
