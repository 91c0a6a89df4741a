/* SPDX-License-Identifier: Apache-2.0
 * Attributes of kernels, occupancy, and libraries that a program loads itself ("Execution Control", "Occupancy", "Library
 * Management", CUDA Runtime API). */
#include "impl/runtime/runtime.h"

/* ---- attributes ------------------------------------------------------------------------------------------------------------- */

static cudaError_t
attributes(cudaFuncAttributes *out, const void *func)
{
    CUfunction f;
    cudaFuncAttributes a;
    int v[16] = { 0 };
    cudaError_t e;

    ENTER();
    e = rt_function(func, &f);
    for (int i = CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK; i <= CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE && e == cudaSuccess; i++)
        e = rt_result(CU(cuFuncGetAttribute)(&v[i], (CUfunction_attribute)i, f));
    if (e != cudaSuccess)
        return e;
    memset(&a, 0, sizeof a);
    a.maxThreadsPerBlock = v[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK];
    a.sharedSizeBytes = (size_t)v[CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES];
    a.constSizeBytes = (size_t)v[CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES];
    a.localSizeBytes = (size_t)v[CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES];
    a.numRegs = v[CU_FUNC_ATTRIBUTE_NUM_REGS];
    a.ptxVersion = v[CU_FUNC_ATTRIBUTE_PTX_VERSION];
    a.binaryVersion = v[CU_FUNC_ATTRIBUTE_BINARY_VERSION];
    a.cacheModeCA = v[CU_FUNC_ATTRIBUTE_CACHE_MODE_CA];
    a.maxDynamicSharedSizeBytes = v[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES];
    a.preferredShmemCarveout = v[CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT];
    a.clusterDimMustBeSet = v[CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET];
    a.requiredClusterWidth = v[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH];
    a.requiredClusterHeight = v[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT];
    a.requiredClusterDepth = v[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH];
    a.clusterSchedulingPolicyPreference = v[CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE];
    a.nonPortableClusterSizeAllowed = v[CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED];
    *out = a;
    return cudaSuccess;
}

cudaError_t
rt_cudaFuncGetAttributes(cudaFuncAttributes *attr, const void *func)
{
    return attr ? attributes(attr, func) : cudaErrorInvalidValue;
}

/* Before CUDA 12 the structure ended before what says of clusters. */
cudaError_t
rt_cudaFuncGetAttributes_v11(cudaFuncAttributes_v11 *attr, const void *func)
{
    cudaFuncAttributes a;

    _Static_assert(sizeof(cudaFuncAttributes_v11) <= offsetof(cudaFuncAttributes, clusterDimMustBeSet) + 4, "a prefix of the later one");
    if (!attr)
        return cudaErrorInvalidValue;
    cudaError_t e = attributes(&a, func);
    if (e == cudaSuccess)
        memcpy(attr, &a, offsetof(cudaFuncAttributes, clusterDimMustBeSet));
    return e;
}

cudaError_t
rt_cudaFuncSetAttribute(const void *func, cudaFuncAttribute attr, int value)
{
    CUfunction f;

    ENTER();
    cudaError_t e = rt_function(func, &f);
    return e == cudaSuccess ? rt_result(CU(cuFuncSetAttribute)(f, (CUfunction_attribute)attr, value)) : e;
}

cudaError_t
rt_cudaFuncSetCacheConfig(const void *func, cudaFuncCache cacheConfig)
{
    CUfunction f;

    ENTER();
    cudaError_t e = rt_function(func, &f);
    return e == cudaSuccess ? rt_result(CU(cuFuncSetCacheConfig)(f, (CUfunc_cache)cacheConfig)) : e;
}

cudaError_t
rt_cudaFuncSetSharedMemConfig(const void *func, cudaSharedMemConfig config)
{
    CUfunction f;

    ENTER();
    cudaError_t e = rt_function(func, &f);
    return e == cudaSuccess ? rt_result(CU(cuFuncSetSharedMemConfig)(f, (CUsharedconfig)config)) : e;
}

cudaError_t
rt_cudaFuncGetName(const char **name, const void *func)
{
    CUfunction f;

    if (!name)
        return cudaErrorInvalidValue;
    ENTER();
    cudaError_t e = rt_function(func, &f);
    return e == cudaSuccess ? rt_result(CU(cuFuncGetName)(name, f)) : e;
}

cudaError_t
rt_cudaFuncGetParamInfo(const void *func, size_t paramIndex, size_t *paramOffset, size_t *paramSize)
{
    CUfunction f;

    ENTER();
    cudaError_t e = rt_function(func, &f);
    return e == cudaSuccess ? rt_result(CU(cuFuncGetParamInfo)(f, paramIndex, paramOffset, paramSize)) : e;
}

/* ---- occupancy ---------------------------------------------------------------------------------------------------------------- */

cudaError_t
rt_cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, const void *func, int blockSize, size_t dynamicSMemSize)
{
    return rt_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize, dynamicSMemSize, cudaOccupancyDefault);
}

cudaError_t
rt_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, const void *func, int blockSize, size_t dynamicSMemSize,
                                                          unsigned int flags)
{
    CUfunction f;

    ENTER();
    cudaError_t e = rt_function(func, &f);
    if (e != cudaSuccess)
        return e;
    return rt_result(CU(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)(numBlocks, f, blockSize, dynamicSMemSize, flags));
}

cudaError_t
rt_cudaOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, const void *func, int numBlocks, int blockSize)
{
    CUfunction f;

    ENTER();
    cudaError_t e = rt_function(func, &f);
    return e == cudaSuccess ? rt_result(CU(cuOccupancyAvailableDynamicSMemPerBlock)(dynamicSmemSize, f, numBlocks, blockSize)) : e;
}

cudaError_t
rt_cudaOccupancyMaxPotentialClusterSize(int *clusterSize, const void *func, const cudaLaunchConfig_t *launchConfig)
{
    CUlaunchConfig c;
    CUfunction f;
    cudaError_t e = rt_launch_config(launchConfig, &c);

    if (e != cudaSuccess)
        return e;
    ENTER();
    e = rt_function(func, &f);
    return e == cudaSuccess ? rt_result(CU(cuOccupancyMaxPotentialClusterSize)(clusterSize, f, &c)) : e;
}

cudaError_t
rt_cudaOccupancyMaxActiveClusters(int *numClusters, const void *func, const cudaLaunchConfig_t *launchConfig)
{
    CUlaunchConfig c;
    CUfunction f;
    cudaError_t e = rt_launch_config(launchConfig, &c);

    if (e != cudaSuccess)
        return e;
    ENTER();
    e = rt_function(func, &f);
    return e == cudaSuccess ? rt_result(CU(cuOccupancyMaxActiveClusters)(numClusters, f, &c)) : e;
}

/* ---- libraries ----------------------------------------------------------------------------------------------------------------- */

cudaError_t
rt_cudaLibraryLoadData(cudaLibrary_t *library, const void *code, cudaJitOption *jitOptions, void **jitOptionsValues,
                       unsigned int numJitOptions, cudaLibraryOption *libraryOptions, void **libraryOptionValues,
                       unsigned int numLibraryOptions)
{
    ENTER();
    return rt_result(CU(cuLibraryLoadData)(library, code, (CUjit_option *)(void *)jitOptions, jitOptionsValues, numJitOptions,
                                           (CUlibraryOption *)(void *)libraryOptions, libraryOptionValues, numLibraryOptions));
}

cudaError_t
rt_cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *fileName, cudaJitOption *jitOptions, void **jitOptionsValues,
                           unsigned int numJitOptions, cudaLibraryOption *libraryOptions, void **libraryOptionValues,
                           unsigned int numLibraryOptions)
{
    ENTER();
    return rt_result(CU(cuLibraryLoadFromFile)(library, fileName, (CUjit_option *)(void *)jitOptions, jitOptionsValues, numJitOptions,
                                               (CUlibraryOption *)(void *)libraryOptions, libraryOptionValues, numLibraryOptions));
}

cudaError_t
rt_cudaLibraryUnload(cudaLibrary_t library)
{
    ENTER();
    return rt_result(CU(cuLibraryUnload)(library));
}

cudaError_t
rt_cudaLibraryGetKernel(cudaKernel_t *pKernel, cudaLibrary_t library, const char *name)
{
    ENTER();
    return rt_result(CU(cuLibraryGetKernel)(pKernel, library, name));
}

cudaError_t
rt_cudaLibraryGetGlobal(void **dptr, size_t *bytes, cudaLibrary_t library, const char *name)
{
    CUdeviceptr p = 0;

    ENTER();
    cudaError_t e = rt_result(CU(cuLibraryGetGlobal)(dptr ? &p : NULL, bytes, library, name));
    if (e == cudaSuccess && dptr)
        *dptr = rt_pointer(p);
    return e;
}

cudaError_t
rt_cudaLibraryGetManaged(void **dptr, size_t *bytes, cudaLibrary_t library, const char *name)
{
    CUdeviceptr p = 0;

    ENTER();
    cudaError_t e = rt_result(CU(cuLibraryGetManaged)(dptr ? &p : NULL, bytes, library, name));
    if (e == cudaSuccess && dptr)
        *dptr = rt_pointer(p);
    return e;
}

cudaError_t
rt_cudaLibraryGetUnifiedFunction(void **fptr, cudaLibrary_t library, const char *symbol)
{
    ENTER();
    return rt_result(CU(cuLibraryGetUnifiedFunction)(fptr, library, symbol));
}

cudaError_t
rt_cudaLibraryGetKernelCount(unsigned int *count, cudaLibrary_t lib)
{
    ENTER();
    return rt_result(CU(cuLibraryGetKernelCount)(count, lib));
}

cudaError_t
rt_cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned int numKernels, cudaLibrary_t lib)
{
    ENTER();
    return rt_result(CU(cuLibraryEnumerateKernels)(kernels, numKernels, lib));
}

cudaError_t
rt_cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attr, int value, int device)
{
    CUcontext was = NULL;
    cudaError_t e = rt_enter_device(device, &was);

    if (e != cudaSuccess)
        return e;
    e = rt_result(CU(cuKernelSetAttribute)((CUfunction_attribute)attr, value, kernel, device));
    rt_leave_device(was);
    return e;
}

cudaError_t
rt_cudaGetKernel(cudaKernel_t *kernelPtr, const void *entryFuncAddr)
{
    if (!kernelPtr)
        return cudaErrorInvalidValue;
    ENTER();
    return rt_kernel(entryFuncAddr, kernelPtr);
}
