/* SPDX-License-Identifier: Apache-2.0
 * Smooths 1, 2, ..., 4096 on the device, in blocks of 256 numbers, and counts the wrong results: the mean of a number and its neighbours is
 * the number. */
#include "cuda.h"

#include <stdio.h>
#include <stdlib.h>

enum { NUMBERS = 4096, BLOCK = 256 };

static void
must(CUresult result, const char *call)
{
    if (result != CUDA_SUCCESS) {
        fprintf(stderr, "%s gave %d\n", call, (int)result);
        exit(2);
    }
}

#define MUST(call) must(call, #call)

int
main(void)
{
    static float numbers[NUMBERS], means[NUMBERS];
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    CUdeviceptr in, out;
    int wrong = 0;

    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = (float)(i + 1);
    MUST(cuInit(0));
    MUST(cuDeviceGet(&device, 0));
    MUST(cuCtxCreate_v2(&context, 0, device));
    MUST(cuModuleLoad(&module, "smooth.ptx"));
    MUST(cuModuleGetFunction(&kernel, module, "smooth"));
    MUST(cuMemAlloc_v2(&in, sizeof numbers));
    MUST(cuMemAlloc_v2(&out, sizeof means));
    MUST(cuMemcpyHtoD_v2(in, numbers, sizeof numbers));
    void *parameters[] = { &in, &out };
    MUST(cuLaunchKernel(kernel, NUMBERS / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL, parameters, NULL));
    MUST(cuMemcpyDtoH_v2(means, out, sizeof means));
    MUST(cuCtxDestroy_v2(context));
    for (int i = 0; i < NUMBERS; i++)
        wrong += means[i] != numbers[i];
    printf("%d of %d means are wrong\n", wrong, NUMBERS);
    return wrong != 0;
}
