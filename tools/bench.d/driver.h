/* SPDX-License-Identifier: Apache-2.0
 * The CUDA driver that a program measures: a library named on the command line, ours or NVIDIA's, never one linked to it. */
#ifndef BENCH_DRIVER_H
#define BENCH_DRIVER_H

#include "impl/api/cuda.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>

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

static struct {
#define X(name, parameters) CUresult (*name) parameters;
    FUNCTIONS(X)
#undef X
} cu;
#define cuMust(call) MUST(cu.call)

/* Fills `cu` from the library; false, and a line on standard error, if it is none or lacks a function. */
static bool
load_driver(const char *path)
{
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        fprintf(stderr, "%s\n", dlerror());
        return false;
    }
#define X(name, parameters)                                             \
    if (!(cu.name = (CUresult (*) parameters)dlsym(lib, #name))) {      \
        fprintf(stderr, "%s has no %s\n", path, #name);                 \
        return false;                                                   \
    }
    FUNCTIONS(X)
#undef X
    return true;
}

#endif
