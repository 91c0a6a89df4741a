/* SPDX-License-Identifier: Apache-2.0
 * Finding and loading NVIDIA's libcuda.so.1. Ours has the same name and is loaded already, so the real one is always opened by
 * its path: CUDAWAY_CUDA_LIBRARY, else the usual folders; CUDAway's own libraries are skipped. The library stays loaded for the life of the process
 * (struct cw_cuda_table cwc is the documented root here). */
#define _GNU_SOURCE
#include "impl/cuda/cuda.h"

#include "impl/base/env.h"
#include "impl/base/file.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cw_cuda_table cwc;
bool cwc_unoptimised;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;        /* not held while the loader is called */
static _Atomic bool loaded;             /* cwc is complete */

static const char *const folders[] = {
    "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/nvidia/lib64",
    "/usr/local/nvidia/lib", "/usr/lib/wsl/lib", "/usr/lib/nvidia/current", "/run/opengl-driver/lib",
};

/* A libcuda.so.1 with our compiler beside it, or one folder up, is CUDAway's. */
static bool
is_ours(const char *path)
{
    char real[PATH_MAX], beside[PATH_MAX + 32];
    if (!realpath(path, real))
        return false;
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(real, '/');
        if (!slash)
            return false;
        *slash = 0;
        snprintf(beside, sizeof beside, "%s/libcudaway-jit.so", real);
        if (!access(beside, F_OK))
            return true;
    }
    return false;
}

static void *
find(void)
{
    const char *given = cw_env_get(CW_ENV_CUDA_LIBRARY);
    char why[PATH_MAX];
    bool no_memory;
    if (given && *given) {
        void *lib = NULL;
        if (!strchr(given, '/'))
            cw_error("%s=%s: give the full path of NVIDIA's library", cw_env_name(CW_ENV_CUDA_LIBRARY), given);
        else if (is_ours(given))
            cw_error("%s=%s is CUDAway's own library; the cuda device needs NVIDIA's", cw_env_name(CW_ENV_CUDA_LIBRARY), given);
        else if (!(lib = cw_open_library(NULL, given, 0, why, sizeof why, &no_memory)))
            cw_error("the cuda device: NVIDIA's driver cannot be loaded: %s", why);
        return lib;
    }
    for (unsigned i = 0; i < sizeof folders / sizeof *folders; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/libcuda.so.1", folders[i]);
        if (access(path, R_OK) || is_ours(path))
            continue;
        void *lib = cw_open_library(NULL, path, 0, why, sizeof why, &no_memory);
        if (lib)
            return lib;
        cw_warn("the cuda device: %s", why);
    }
    cw_error("the cuda device: no NVIDIA driver (libcuda.so.1) is found on this machine; %s names one that is elsewhere",
             cw_env_name(CW_ENV_CUDA_LIBRARY));
    return NULL;
}

/* The functions that every operation needs; code that uses an optional one tests for it. */
static bool
complete(const struct cw_cuda_table *t)
{
    const struct { const char *name; const void *fn; } need[] = {
#define NEED(f) { #f, (const void *)(uintptr_t)t->f }
        NEED(cuInit), NEED(cuDeviceGetCount), NEED(cuDeviceGet), NEED(cuDeviceGetName), NEED(cuDeviceGetAttribute),
        NEED(cuDeviceTotalMem_v2), NEED(cuDevicePrimaryCtxRetain), NEED(cuCtxCreate_v2), NEED(cuCtxDestroy_v2), NEED(cuCtxSetCurrent),
        NEED(cuCtxGetCurrent), NEED(cuCtxPopCurrent_v2), NEED(cuCtxSynchronize), NEED(cuCtxSetLimit), NEED(cuMemGetInfo_v2),
        NEED(cuMemAlloc_v2), NEED(cuMemFree_v2), NEED(cuMemHostAlloc), NEED(cuMemFreeHost), NEED(cuMemAllocManaged),
        NEED(cuMemHostRegister_v2), NEED(cuMemHostUnregister), NEED(cuMemHostGetDevicePointer_v2), NEED(cuMemAddressReserve),
        NEED(cuMemAddressFree), NEED(cuMemCreate), NEED(cuMemRelease), NEED(cuMemMap), NEED(cuMemUnmap), NEED(cuMemSetAccess),
        NEED(cuStreamCreateWithPriority), NEED(cuStreamDestroy_v2), NEED(cuStreamQuery), NEED(cuStreamSynchronize),
        NEED(cuStreamWaitEvent), NEED(cuStreamAddCallback), NEED(cuEventCreate), NEED(cuEventDestroy_v2), NEED(cuEventRecord),
        NEED(cuEventQuery), NEED(cuEventSynchronize), NEED(cuEventElapsedTime), NEED(cuMemcpyHtoDAsync_v2), NEED(cuMemcpyDtoHAsync_v2),
        NEED(cuMemcpyAsync), NEED(cuMemcpy3DAsync_v2), NEED(cuMemsetD8Async), NEED(cuMemsetD16Async), NEED(cuMemsetD32Async),
        NEED(cuMemsetD2D8Async), NEED(cuMemsetD2D16Async), NEED(cuMemsetD2D32Async), NEED(cuArray3DCreate_v2), NEED(cuArrayDestroy),
        NEED(cuMipmappedArrayCreate), NEED(cuMipmappedArrayGetLevel), NEED(cuMipmappedArrayDestroy), NEED(cuTexObjectCreate),
        NEED(cuTexObjectDestroy), NEED(cuSurfObjectCreate), NEED(cuSurfObjectDestroy), NEED(cuModuleLoadDataEx), NEED(cuModuleUnload),
        NEED(cuModuleGetFunction), NEED(cuModuleGetGlobal_v2), NEED(cuFuncGetAttribute), NEED(cuFuncSetAttribute), NEED(cuLaunchKernel),
        NEED(cuLaunchCooperativeKernel), NEED(cuGetErrorName),
#undef NEED
    };
    for (unsigned i = 0; i < sizeof need / sizeof *need; i++) {
        if (!need[i].fn) {
            cw_error("the cuda device: the NVIDIA driver lacks %s; it is too old, or no CUDA driver", need[i].name);
            return false;
        }
    }
    return true;
}

bool
cwc_load(void)
{
    struct cw_cuda_table t;
    if (loaded)
        return true;
    void *lib = find();
    if (!lib)
        return false;
#define X(index, symbol, type, parameters, arguments) cw_cuda_table_set(&t, index, dlsym(lib, #symbol));
    CW_CUDA_FUNCTIONS(X)
#undef X
    if (!complete(&t))
        return false;
    (void)t.cuInit(0);                  /* it loads more libraries; cuda_open asks for the result */
    pthread_mutex_lock(&lock);
    if (!loaded)
        cwc = t;
    loaded = true;
    pthread_mutex_unlock(&lock);
    return true;
}
