/* SPDX-License-Identifier: Apache-2.0
 * Versions, the way to the driver's functions, the driver's log, and the profiler's switches. */
#include "impl/runtime/runtime.h"

cudaError_t
rt_cudaDriverGetVersion(int *driverVersion)
{
    if (!driverVersion)
        return cudaErrorInvalidValue;
    *driverVersion = 0;                 /* "If no driver is installed, then 0 is returned" */
    if (!rt_load())
        return cudaSuccess;
    return rt_result(CU(cuDriverGetVersion)(driverVersion));
}

cudaError_t
rt_cudaRuntimeGetVersion(int *runtimeVersion)
{
    if (!runtimeVersion)
        return cudaErrorInvalidValue;
    *runtimeVersion = rt_version;
    return cudaSuccess;
}

static cudaError_t
entry_point(const char *symbol, void **funcPtr, unsigned version, unsigned long long flags, cudaDriverEntryPointQueryResult *status)
{
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;

    if (!symbol || !*symbol || !funcPtr || flags & ~3ull)
        return cudaErrorInvalidValue;
    if (rt_ptds && !flags)
        flags = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    INIT();
    cudaError_t e = rt_result(CU(cuGetProcAddress_v2)(symbol, funcPtr, (int)version, flags, &found));
    /* What was not found is told by the status where there is one ("cudaGetDriverEntryPoint"). */
    if (e == cudaErrorSymbolNotFound && status)
        e = cudaSuccess;
    if (e != cudaSuccess)
        return e;
    if (found != CU_GET_PROC_ADDRESS_SUCCESS)
        *funcPtr = NULL;
    if (status)
        *status = (cudaDriverEntryPointQueryResult)found;
    return found == CU_GET_PROC_ADDRESS_SUCCESS || status ? cudaSuccess : cudaErrorSymbolNotFound;
}

cudaError_t
rt_cudaGetDriverEntryPoint(const char *symbol, void **funcPtr, unsigned long long flags, cudaDriverEntryPointQueryResult *driverStatus)
{
    return entry_point(symbol, funcPtr, (unsigned)rt_version, flags, driverStatus);
}

cudaError_t
rt_cudaGetDriverEntryPoint_v11(const char *symbol, void **funcPtr, unsigned long long flags)
{
    return entry_point(symbol, funcPtr, (unsigned)rt_version, flags, NULL);
}

cudaError_t
rt_cudaGetDriverEntryPointByVersion(const char *symbol, void **funcPtr, unsigned int cudaVersion, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult *driverStatus)
{
    return entry_point(symbol, funcPtr, cudaVersion, flags, driverStatus);
}

cudaError_t
rt___cudaGetProcAddress(const char *symbol, void **funcPtr, unsigned int cudaVersion, unsigned long long flags,
                        cudaDriverEntryPointQueryResult *driverStatus)
{
    return entry_point(symbol, funcPtr, cudaVersion, flags, driverStatus);
}

/* The driver's tables; NVIDIA's Runtime has more of its own, which nothing public describes. */
cudaError_t
rt_cudaGetExportTable(const void **ppExportTable, const cudaUUID_t *pExportTableId)
{
    INIT();
    return rt_result(CU(cuGetExportTable)(ppExportTable, pExportTableId));
}

/* ---- the driver's log --------------------------------------------------------------------------------------------------------- */

cudaError_t
rt_cudaLogsRegisterCallback(cudaLogsCallback_t callbackFunc, void *userData, cudaLogsCallbackHandle *callback_out)
{
    INIT();
    return rt_result(CU(cuLogsRegisterCallback)((CUlogsCallback)(void *)callbackFunc, userData, (CUlogsCallbackHandle *)(void *)callback_out));
}

cudaError_t
rt_cudaLogsUnregisterCallback(cudaLogsCallbackHandle callback)
{
    INIT();
    return rt_result(CU(cuLogsUnregisterCallback)((CUlogsCallbackHandle)callback));
}

cudaError_t
rt_cudaLogsCurrent(cudaLogIterator *iterator_out, unsigned int flags)
{
    INIT();
    return rt_result(CU(cuLogsCurrent)(iterator_out, flags));
}

cudaError_t
rt_cudaLogsDumpToFile(cudaLogIterator *iterator, const char *pathToFile, unsigned int flags)
{
    INIT();
    return rt_result(CU(cuLogsDumpToFile)(iterator, pathToFile, flags));
}

cudaError_t
rt_cudaLogsDumpToMemory(cudaLogIterator *iterator, char *buffer, size_t *size, unsigned int flags)
{
    INIT();
    return rt_result(CU(cuLogsDumpToMemory)(iterator, buffer, size, flags));
}

/* ---- the profiler -------------------------------------------------------------------------------------------------------------- */

cudaError_t
rt_cudaProfilerStart(void)
{
    ENTER();
    return rt_result(CU(cuProfilerStart)());
}

cudaError_t
rt_cudaProfilerStop(void)
{
    ENTER();
    return rt_result(CU(cuProfilerStop)());
}

cudaError_t
rt_cudaProfilerInitialize(const char *configFile, const char *outputFile, cudaOutputMode_t outputMode)
{
    ENTER();
    return rt_result(CU(cuProfilerInitialize)(configFile, outputFile, (CUoutput_mode)outputMode));
}
