/* SPDX-License-Identifier: Apache-2.0
 * See driver.h. */
#define _GNU_SOURCE
#include "replay/driver.h"

#include "impl/base/env.h"
#include "impl/base/file.h"
#include "replay/tar.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *
cwd_driver_error(const struct cw_cuda_table *cu, CUresult r)
{
    const char *name = NULL;
    return cu->cuGetErrorName && cu->cuGetErrorName(r, &name) == CUDA_SUCCESS && name ? name : "an unknown error";
}

static bool
is_ours(void *symbol)
{
    char *dir = cw_dir_of_object(symbol), path[PATH_MAX];
    bool ours = false;
    for (int up = 0; dir && up < 2; up++) {
        snprintf(path, sizeof path, "%s%s/libcudaway-jit.so", dir, up ? "/.." : "");
        ours = ours || !access(path, F_OK);
    }
    free(dir);
    return ours;
}

static cw_result
load_library(struct cwd_driver *d, const char *on, struct cwd_error *e)
{
    bool native = on && (!strcmp(on, "cuda-native") || !strcmp(on, "cuda-native:O0"));
    char path[PATH_MAX];
    const char *name = path;
    if (native) {
        const char *given = cw_env_get(CW_ENV_CUDA_LIBRARY);
        name = given && *given ? given : "libcuda.so.1";
    } else {
        /* Beside this code, where that is a library (libcudaway-replay.so), or where a program's libraries are. */
        char *dir = cw_dir_of_object((const void *)(uintptr_t)&load_library);
        snprintf(path, sizeof path, "%s/libcuda.so.1", dir ? dir : ".");
        if (access(path, R_OK))
            snprintf(path, sizeof path, "%s/../lib/cudaway/libcuda.so.1", dir ? dir : ".");
        free(dir);
        /* A cooperative grid is as large as the device allowed that it was recorded on; the host device runs any. */
        if ((on && setenv("CUDAWAY_DEVICE", on, 1)) || setenv("CUDAWAY_HOST_MULTIPROCESSORS", "65535", 0))
            return cwd_fail(e, CW_ERR_NOMEM, "out of memory");
    }
    char why[PATH_MAX];
    bool no_memory;
    void *lib = cw_open_library(NULL, name, 0, why, sizeof why, &no_memory);
    if (!lib)
        return cwd_fail(e, CW_ERR_NOT_FOUND, native ? "there is no CUDA driver for cuda-native (%s); set CUDAWAY_CUDA_LIBRARY to it"
                                                    : "the implementation cannot be loaded: %s", why);
#define X(index, symbol, type, parameters, arguments) cw_cuda_table_set(&d->cu, index, dlsym(lib, #symbol));
    CW_CUDA_FUNCTIONS(X)
#undef X
    if (!d->cu.cuInit || !d->cu.cuLaunchKernel || !d->cu.cuModuleLoadData || !d->cu.cuMemAlloc_v2 || !d->cu.cuMemAddressReserve)
        return cwd_fail(e, CW_ERR_INVALID, "%s is not a CUDA driver that can replay", name);
    d->unoptimised = native && strcmp(on, "cuda-native");
    d->ours = is_ours(cw_cuda_table_get(&d->cu, CW_FN_cuInit));
    if (native && d->ours)
        return cwd_fail(e, CW_ERR_NOT_FOUND, "cuda-native: the libcuda.so.1 that is found is CUDAway's; set CUDAWAY_CUDA_LIBRARY to the "
                        "real driver");
    return CW_OK;
}

/* The device that the driver was told to use; its own choice when it was told nothing. */
static const char *
device_name(const char *on)
{
    const char *name = on ? on : cw_env_get(CW_ENV_DEVICE);
    return name && *name ? name : "auto";
}

cw_result
cwd_driver_open(struct cwd_driver *d, const char *on, struct cwd_error *e)
{
    int version = 0, major = 0, minor = 0;
    *d = (struct cwd_driver){ 0 };
    cw_result r = load_library(d, on, e);
    if (r != CW_OK)
        return r;
    CUresult c = d->cu.cuInit(0);
    if (c == CUDA_SUCCESS)
        c = d->cu.cuDeviceGet(&d->device, 0);
    if (c == CUDA_SUCCESS)
        c = d->cu.cuDevicePrimaryCtxRetain(&d->context, d->device);
    if (c == CUDA_SUCCESS)
        c = d->cu.cuCtxSetCurrent(d->context);
    if (c != CUDA_SUCCESS)
        return cwd_fail(e, CW_ERR_UNSUPPORTED, "the device %s cannot be used: %s", device_name(on), cwd_driver_error(&d->cu, c));
    d->cu.cuDeviceGetName(d->name, sizeof d->name - 1, d->device);
    d->cu.cuDriverGetVersion(&version);
    d->cu.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, d->device);
    d->cu.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, d->device);
    d->version = (uint32_t)version;
    d->compute_capability = (uint32_t)(major * 10 + minor);
    return CW_OK;
}
