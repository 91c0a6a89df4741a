/* SPDX-License-Identifier: Apache-2.0
 * The entry points that belong to no object: look-up of driver functions, export tables, the profiler switches. */
#include "impl/driver/driver.h"
#include "impl/api/proc_address.h"

CUresult
drv_cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags, CUdriverProcAddressQueryResult *symbolStatus)
{
    return cw_proc_address(&cw_impl_table, symbol, pfn, cudaVersion, flags, symbolStatus);
}

CUresult
drv_cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
    return cw_proc_address_v1(&cw_impl_table, symbol, pfn, cudaVersion, flags);
}

CUresult
drv_cuGetExportTable(const void **ppExportTable, const CUuuid *pExportTableId)
{
    if (!ppExportTable || !pExportTableId)
        return CUDA_ERROR_INVALID_VALUE;
    const unsigned char *b = (const unsigned char *)pExportTableId->bytes;
    cw_warn("cuGetExportTable: the undocumented table %02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x is not supported",
            b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
    *ppExportTable = NULL;
    return CUDA_ERROR_NOT_SUPPORTED;
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
