/* SPDX-License-Identifier: Apache-2.0
 * The entry points that belong to no object: look-up of driver functions, the profiler switches. */
#include "impl/driver/driver.h"
#include "impl/api/proc_address.h"

CUresult
drv_cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags, CUdriverProcAddressQueryResult *symbolStatus)
{
    if (driver_redirects())
        return CUDA_ERROR_UNKNOWN;
    return cw_proc_address(&cw_impl_table, symbol, pfn, cudaVersion, flags, symbolStatus);
}

CUresult
drv_cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
    if (driver_redirects())
        return CUDA_ERROR_UNKNOWN;
    return cw_proc_address_v1(&cw_impl_table, symbol, pfn, cudaVersion, flags);
}

CUresult
drv_cuProfilerStart(void)
{
    CURRENT(c);
    return CUDA_SUCCESS;                /* nothing profiles; starting and stopping is a mark for tools above */
}

CUresult
drv_cuProfilerStop(void)
{
    CURRENT(c);
    return CUDA_SUCCESS;
}
