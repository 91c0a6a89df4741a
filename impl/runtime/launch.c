/* SPDX-License-Identifier: Apache-2.0
 * Launches: what <<<>>> becomes, and the functions that launch by name ("Execution Control", CUDA Runtime API). */
#include "impl/runtime/runtime.h"

#include <stdlib.h>

/* ---- the configuration of a call that <<<>>> makes ------------------------------------------------------------------------------ */

unsigned int
rt___cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem, cudaStream_t stream)
{
    struct rt_config c = { gridDim, blockDim, sharedMem, stream };
    unsigned n = rt_self.configs;

    if (n < COUNT(rt_self.config)) {
        rt_self.config[n] = c;
    } else {                            /* arguments of a launch that launch themselves, many deep */
        unsigned m = n - (unsigned)COUNT(rt_self.config);
        if (m >= rt_self.more_capacity) {
            unsigned capacity = rt_self.more_capacity ? rt_self.more_capacity * 2 : 16;
            struct rt_config *p = realloc(rt_self.more, capacity * sizeof *p);
            if (!p)
                return 1;
            rt_self.more = p;
            rt_self.more_capacity = capacity;
        }
        rt_self.more[m] = c;
    }
    rt_self.configs = n + 1;
    return 0;
}

cudaError_t
rt___cudaPopCallConfiguration(dim3 *gridDim, dim3 *blockDim, size_t *sharedMem, void *stream)
{
    if (!rt_self.configs)
        return cudaErrorMissingConfiguration;
    unsigned n = --rt_self.configs;
    const struct rt_config *c = n < COUNT(rt_self.config) ? &rt_self.config[n] : &rt_self.more[n - COUNT(rt_self.config)];
    *gridDim = c->grid;
    *blockDim = c->block;
    *sharedMem = c->shared;
    *(cudaStream_t *)stream = c->stream;
    return cudaSuccess;
}

/* ---- launches -------------------------------------------------------------------------------------------------------------- */

cudaError_t
rt_check_dimensions(dim3 grid, dim3 block)
{
    const unsigned size[6] = { block.x, block.y, block.z, grid.x, grid.y, grid.z };
    int limit = 0;

    for (int i = 0; i < 6; i++) {
        if (!size[i] || CU(cuDeviceGetAttribute)(&limit, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + i, rt_self.context_device) != CUDA_SUCCESS ||
            size[i] > (unsigned)limit)
            return cudaErrorInvalidConfiguration;
    }
    if (CU(cuDeviceGetAttribute)(&limit, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, rt_self.context_device) != CUDA_SUCCESS ||
        (uint64_t)block.x * block.y * block.z > (unsigned)limit)
        return cudaErrorInvalidConfiguration;
    return cudaSuccess;
}

/* The driver says "invalid value" of a grid or block that no device takes. The Runtime had an error of its own for that up to CUDA 12;
 * that of CUDA 13 passes the driver's on (libcudart 13.0 on an H200). */
static cudaError_t __attribute__((noinline, cold))
explain(CUresult r, dim3 grid, dim3 block)
{
    return rt_version < 13000 && r == CUDA_ERROR_INVALID_VALUE && rt_check_dimensions(grid, block) != cudaSuccess ? cudaErrorInvalidConfiguration : rt_result(r);
}

static cudaError_t
launch(const void *func, dim3 g, dim3 b, void **args, size_t shared, cudaStream_t stream, bool cooperative)
{
    CUfunction f;
    CUresult r = CUDA_ERROR_INVALID_VALUE;

    ENTER();
    cudaError_t e = rt_function(func, &f);
    if (!LIKELY(e == cudaSuccess))
        return e;
    if (shared > UINT32_MAX)
        return cudaErrorInvalidValue;
    if (cooperative)
        r = CU(cuLaunchCooperativeKernel)(f, g.x, g.y, g.z, b.x, b.y, b.z, (unsigned)shared, stream, args);
    else
        r = CU(cuLaunchKernel)(f, g.x, g.y, g.z, b.x, b.y, b.z, (unsigned)shared, stream, args, NULL);
    return LIKELY(r == CUDA_SUCCESS) ? cudaSuccess : explain(r, g, b);
}

cudaError_t
rt_cudaLaunchKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem, cudaStream_t stream)
{
    return launch(func, gridDim, blockDim, args, sharedMem, stream, false);
}

cudaError_t
rt_cudaLaunchCooperativeKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem, cudaStream_t stream)
{
    return launch(func, gridDim, blockDim, args, sharedMem, stream, true);
}

cudaError_t
rt___cudaLaunchKernel(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem, cudaStream_t stream)
{
    return launch(kernel, gridDim, blockDim, args, sharedMem, stream, false);
}

cudaError_t
rt___cudaGetKernel(cudaKernel_t *kernelPtr, const void *entryFuncAddr)
{
    return rt_cudaGetKernel(kernelPtr, entryFuncAddr);
}

cudaError_t
rt_launch_config(const cudaLaunchConfig_t *c, CUlaunchConfig *out)
{
    _Static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute), "launch attributes are the driver's");
    _Static_assert(offsetof(cudaLaunchAttribute, val) == offsetof(CUlaunchAttribute, value), "launch attributes are the driver's");
    if (!c || c->dynamicSmemBytes > UINT32_MAX || (c->numAttrs && !c->attrs))
        return cudaErrorInvalidValue;
    *out = (CUlaunchConfig){ .gridDimX = c->gridDim.x, .gridDimY = c->gridDim.y, .gridDimZ = c->gridDim.z,
                             .blockDimX = c->blockDim.x, .blockDimY = c->blockDim.y, .blockDimZ = c->blockDim.z,
                             .sharedMemBytes = (unsigned)c->dynamicSmemBytes, .hStream = c->stream,
                             .attrs = (CUlaunchAttribute *)(void *)c->attrs, .numAttrs = c->numAttrs };
    return cudaSuccess;
}

cudaError_t
rt_cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func, void **args)
{
    CUlaunchConfig c;
    CUfunction f;
    cudaError_t e = rt_launch_config(config, &c);

    if (e != cudaSuccess)
        return e;
    ENTER();
    e = rt_function(func, &f);
    if (e != cudaSuccess)
        return e;
    if (rt_ptds && !c.hStream)
        c.hStream = CU_STREAM_PER_THREAD;
    CUresult r = CU(cuLaunchKernelEx)(&c, f, args, NULL);
    return LIKELY(r == CUDA_SUCCESS) ? cudaSuccess : explain(r, config->gridDim, config->blockDim);
}

cudaError_t
rt_cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *userData)
{
    ENTER();
    return rt_result(CU(cuLaunchHostFunc)(stream, fn, userData));
}

/* One launch on each device; the streams say which. Gone with CUDA 13. */
cudaError_t
rt_cudaLaunchCooperativeKernelMultiDevice(cudaLaunchParams *list, unsigned int numDevices, unsigned int flags)
{
    if (!list || !numDevices)
        return cudaErrorInvalidValue;
    if (numDevices > 1) {
        (void)rt_unsupported(rt_function_count + 1, "cudaLaunchCooperativeKernelMultiDevice", "a grid over several devices");
        return cudaErrorNotSupported;
    }
    return launch(list->func, list->gridDim, list->blockDim, list->args, list->sharedMem, list->stream, true);
}

/* Devices have had doubles since compute capability 1.3: nothing is converted. */
cudaError_t
rt_cudaSetDoubleForDevice(double *d)
{
    return d ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t
rt_cudaSetDoubleForHost(double *d)
{
    return d ? cudaSuccess : cudaErrorInvalidValue;
}
