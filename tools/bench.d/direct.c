/* SPDX-License-Identifier: Apache-2.0
 * A libcuda.so.1 for code objects: the few driver functions that tests/cuda and amd.c call, handed on one by one to the HIP library
 * CUDAWAY_HIP_LIBRARY. cuModuleLoadData takes an AMD code object (not PTX), so that programs written for the driver run kernels
 * which a compiler made straight for the processor. One device, one context, and parameters as they are in the kernel. */
#include "impl/hip/hip.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default"))) int

static struct {
#define X(need, since, name, parameters) hipError_t (*name) parameters;
    HIP_FUNCTIONS(X)
#undef X
} hip;

EXPORT
cuInit(unsigned flags)
{
    const char *path = getenv("CUDAWAY_HIP_LIBRARY");
    void *lib = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!lib) {
        fprintf(stderr, "direct: %s\n", path ? dlerror() : "CUDAWAY_HIP_LIBRARY is not set");
        return hipErrorNotInitialized;
    }
#define X(need, since, name, parameters) *(void **)&hip.name = dlsym(lib, #name);
    HIP_FUNCTIONS(X)
#undef X
    return hip.hipInit(flags);
}

EXPORT
cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return hipSuccess;
}

EXPORT
cuDeviceGetName(char *name, int size, int device)
{
    static struct hip_props_r0600 props;
    hipError_t e = hip.hipGetDevicePropertiesR0600(&props, device);
    snprintf(name, (size_t)size, "%s", props.gcnArchName);
    return e;
}

EXPORT
cuDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    if (attribute != 75 && attribute != 76)     /* compute capability: for programs that choose code by it */
        return hipErrorInvalidValue;
    *value = attribute == 75 ? 8 : 0;
    return hipSuccess;
}

EXPORT
cuCtxCreate_v2(void **context, unsigned flags, int device)
{
    (void)flags;
    *context = &hip;
    return hip.hipSetDevice(device);
}

EXPORT
cuCtxDestroy_v2(void *context)
{
    (void)context;
    return hipSuccess;
}

EXPORT
cuCtxSynchronize(void)
{
    return hip.hipDeviceSynchronize();
}

EXPORT
cuCtxSetLimit(int limit, size_t value)
{
    return hip.hipDeviceSetLimit(limit, value);
}

EXPORT
cuModuleLoadData(hipModule_t *module, const void *image)
{
    return hip.hipModuleLoadData(module, image);
}

EXPORT
cuModuleLoadDataEx(hipModule_t *module, const void *image, unsigned count, int *options, void **values)
{
    (void)count;
    (void)options;
    (void)values;
    return hip.hipModuleLoadData(module, image);
}

EXPORT
cuModuleUnload(hipModule_t module)
{
    return hip.hipModuleUnload(module);
}

EXPORT
cuModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name)
{
    return hip.hipModuleGetFunction(function, module, name);
}

EXPORT
cuModuleGetGlobal_v2(void **address, size_t *size, hipModule_t module, const char *name)
{
    size_t bytes;
    return hip.hipModuleGetGlobal(address, size ? size : &bytes, module, name);
}

EXPORT
cuFuncSetAttribute(hipFunction_t function, int attribute, int value)
{
    (void)function;
    (void)attribute;
    (void)value;
    return hipSuccess;
}

EXPORT
cuFuncGetAttribute(int *value, int attribute, hipFunction_t function)
{
    return hip.hipFuncGetAttribute(value, attribute, function);
}

EXPORT
cuMemAlloc_v2(void **address, size_t size)
{
    return hip.hipMalloc(address, size);
}

EXPORT
cuMemFree_v2(void *address)
{
    return hip.hipFree(address);
}

EXPORT
cuMemcpyHtoD_v2(void *to, const void *from, size_t size)
{
    return hip.hipMemcpy(to, from, size, hipMemcpyDefault);
}

EXPORT
cuMemcpyDtoH_v2(void *to, const void *from, size_t size)
{
    return hip.hipMemcpy(to, from, size, hipMemcpyDefault);
}

EXPORT
cuMemsetD8_v2(void *to, unsigned char value, size_t size)
{
    hipError_t e = hip.hipMemsetD8Async(to, value, size, NULL);
    return e == hipSuccess ? hip.hipStreamSynchronize(NULL) : e;
}

EXPORT
cuLaunchKernel(hipFunction_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
               hipStream_t stream, void **params, void **extra)
{
    return hip.hipModuleLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
}

EXPORT
cuGetErrorName(int result, const char **name)
{
    static _Thread_local char text[32];
    snprintf(text, sizeof text, "HIP error %d", result);
    *name = text;
    return hipSuccess;
}
