/* SPDX-License-Identifier: Apache-2.0
 * The few functions that status_mixed.json calls implemented: each returns what it saw as its result. */
#include "cudaway/drv_prototypes.h"

#include "impl/driver/logs.h"

_Thread_local bool logs_said;
_Atomic bool logs_said_elsewhere;
static const char *failed = "";

void
logs_at_end(CUresult result, const char *function)
{
    if (drv_calls == 1)
        failed = function;
}

CUresult
drv_cuInit(unsigned int Flags)
{
    return (CUresult)(1000 + Flags);
}

CUresult
drv_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)
{
    return (CUresult)(2000 + drv_ptds);
}

CUresult
drv_cuStreamSynchronize(CUstream hStream)
{
    return (CUresult)(3000 + (int)(uintptr_t)hStream);
}

CUresult
drv_cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount, CUstream hStream)
{
    return (CUresult)(4000 + (int)ByteCount * 10 + (int)(uintptr_t)hStream);
}

CUresult
drv_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **kernelParams, void **extra)
{
    if (extra)
        *extra = (void *)(uintptr_t)failed;     /* the call that failed last */
    return (CUresult)(config ? 5000 + (int)(uintptr_t)config->hStream + 10 * (int)config->gridDimX : 5999);
}
