/* SPDX-License-Identifier: Apache-2.0
 * Nanoseconds per driver call, for a call that does next to nothing and for the launch of an empty kernel. Whether a
 * tracing layer is between is a matter of the environment. Calls come in bursts small enough for the trace buffers,
 * with pauses in which the consumer empties them. */
#include "tools/bench.d/bench.h"

#define BURSTS 60

static const char empty[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                            ".visible .entry empty(.param .u64 p, .param .u32 n)\n{\n ret;\n}\n";

int
main(void)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction f;
    unsigned long long p = 0;
    unsigned n = 0;
    void *params[] = { &p, &n };
    double t[BURSTS];

    MUST(cuInit(0));
    MUST(cuDeviceGet(&device, 0));
    MUST(cuCtxCreate_v2(&context, 0, device));
    MUST(cuModuleLoadData(&module, empty));
    MUST(cuModuleGetFunction(&f, module, "empty"));

    const unsigned calls = 500, launches = 100;
    for (unsigned b = 0; b < BURSTS; b++) {
        double from = now();
        for (unsigned i = 0; i < calls; i++)
            MUST(cuDeviceGet(&device, 0));
        t[b] = (now() - from) / calls * 1e9;
        nap(2000000);
    }
    printf("cuDeviceGet %.1f ns\n", median(t, BURSTS));

    for (unsigned b = 0; b < BURSTS; b++) {
        double from = now();
        for (unsigned i = 0; i < launches; i++)
            MUST(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
        MUST(cuCtxSynchronize());
        t[b] = (now() - from) / launches * 1e9;
        nap(2000000);
    }
    printf("cuLaunchKernel %.1f ns\n", median(t, BURSTS));

    for (unsigned b = 0; b < BURSTS; b++) {
        double from = now();
        for (unsigned i = 0; i < launches; i++) {
            MUST(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
            MUST(cuCtxSynchronize());
        }
        t[b] = (now() - from) / launches * 1e9;
        nap(2000000);
    }
    printf("launch+synchronize %.1f ns\n", median(t, BURSTS));
    MUST(cuCtxDestroy_v2(context));
    return 0;
}
