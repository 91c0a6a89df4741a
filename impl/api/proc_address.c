/* SPDX-License-Identifier: Apache-2.0
 * See proc_address.h. The rules beyond the documentation (negative version, both stream flags at once, what is left
 * unwritten) are those of driver 580.159, observed. */
#include "impl/api/proc_address.h"

#include "impl/api/meta.h"

#include <limits.h>

CUresult
cw_proc_address(const struct cw_cuda_table *t, const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                CUdriverProcAddressQueryResult *status)
{
    const cuuint64_t known = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

    if (!symbol || !pfn || cudaVersion > CUDA_VERSION || (flags & ~known))
        return CUDA_ERROR_INVALID_VALUE;

    unsigned version = cudaVersion < 0 ? UINT_MAX : (unsigned)cudaVersion;
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    void *function = NULL;
    const struct cw_meta_base *base = cw_meta_find_base(symbol);
    if (base) {
        unsigned per_thread = base->per_thread && (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
        found = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
        for (unsigned i = 0; i < base->count; i++) {
            const struct cw_meta_version *v = &cw_meta_versions[base->first + i];
            if (v->per_thread != per_thread || v->since > version)
                continue;
            function = cw_cuda_table_get(t, v->function);
            found = function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
        }
    }
    *pfn = function;
    if (status)
        *status = found;
    return CUDA_SUCCESS;
}

CUresult
cw_proc_address_v1(const struct cw_cuda_table *t, const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
    void *function = NULL;

    if (!pfn)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = cw_proc_address(t, symbol, &function, cudaVersion, flags, NULL);
    if (result != CUDA_SUCCESS)
        return result;
    if (!function)
        return CUDA_ERROR_NOT_FOUND;
    *pfn = function;
    return CUDA_SUCCESS;
}
