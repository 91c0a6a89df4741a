/* SPDX-License-Identifier: Apache-2.0
 * The program of docs/quick-start.md: scale.ptx multiplies 0, 1, ..., 999 by 3. */
#include "cuda.h"

#include <stdio.h>
#include <stdlib.h>

#define MUST(call)                                                      \
    do {                                                                \
        CUresult result_ = (call);                                      \
        if (result_ != CUDA_SUCCESS) {                                  \
            fprintf(stderr, "%s gave %d\n", #call, (int)result_);       \
            exit(2);                                                    \
        }                                                               \
    } while (0)

int
main(void)
{
    enum { NUMBERS = 1000 };
    float numbers[NUMBERS], factor = 3;
    int count = NUMBERS, wrong = 0;
    char name[100];
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    CUdeviceptr memory;

    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = (float)i;
    MUST(cuInit(0));
    MUST(cuDeviceGet(&device, 0));
    MUST(cuDeviceGetName(name, sizeof name, device));
    MUST(cuCtxCreate_v2(&context, 0, device));
    MUST(cuModuleLoad(&module, "scale.ptx"));
    MUST(cuModuleGetFunction(&kernel, module, "scale"));
    MUST(cuMemAlloc_v2(&memory, sizeof numbers));
    MUST(cuMemcpyHtoD_v2(memory, numbers, sizeof numbers));
    void *parameters[] = { &memory, &factor, &count };
    MUST(cuLaunchKernel(kernel, (NUMBERS + 127) / 128, 1, 1, 128, 1, 1, 0, NULL, parameters, NULL));
    MUST(cuMemcpyDtoH_v2(numbers, memory, sizeof numbers));
    MUST(cuMemFree_v2(memory));
    MUST(cuCtxDestroy_v2(context));
    for (int i = 0; i < NUMBERS; i++)
        wrong += numbers[i] != 3 * (float)i;
    printf("%d of %d values are wrong, on %s\n", wrong, NUMBERS, name);
    return wrong != 0;
}
