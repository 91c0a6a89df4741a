/* SPDX-License-Identifier: Apache-2.0
 * load PTX: milliseconds, of the clock and of all threads' CPU time, from loading ffmpeg's scale module to the end of the first launch of one of its kernels, once.
 * The picture is empty, so what runs is the kernel's own check of its bounds. */
#include "tools/bench.d/bench.h"

int
main(int argc, char **argv)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction f;
    if (argc != 2) {
        fprintf(stderr, "usage: load PTX\n");
        return 2;
    }
    char *text = read_text(argv[1]);
    unsigned long long pointer[8] = { 0 };
    int size[5] = { 0 };
    float parameter = 0;
    void *params[14];
    for (unsigned i = 0; i < 14; i++)
        params[i] = i < 8 ? (void *)&pointer[i] : i < 13 ? (void *)&size[i - 8] : (void *)&parameter;

    MUST(cuInit(0));
    MUST(cuDeviceGet(&device, 0));
    MUST(cuCtxCreate_v2(&context, 0, device));
    double start = now(), cpu_start = cpu_now();
    MUST(cuModuleLoadData(&module, text));
    double loaded = now(), cpu_loaded = cpu_now();
    MUST(cuModuleGetFunction(&f, module, "Subsample_Bilinear_yuv420p_yuv420p"));
    MUST(cuLaunchKernel(f, 1, 1, 1, 32, 16, 1, 0, NULL, params, NULL));
    MUST(cuCtxSynchronize());
    double end = now(), cpu_end = cpu_now();
    printf("load %.3f ms\nlaunch %.3f ms\ntotal %.3f ms\n", (loaded - start) * 1e3, (end - loaded) * 1e3, (end - start) * 1e3);
    printf("cpu_load %.3f ms\ncpu_launch %.3f ms\n", (cpu_loaded - cpu_start) * 1e3, (cpu_end - cpu_loaded) * 1e3);
    MUST(cuCtxDestroy_v2(context));
    return 0;
}
