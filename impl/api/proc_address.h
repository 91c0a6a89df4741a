/* SPDX-License-Identifier: Apache-2.0
 * cuGetProcAddress over any layer's table, so that a layer hands out its own functions. */
#ifndef CW_API_PROC_ADDRESS_H
#define CW_API_PROC_ADDRESS_H

#include "cudaway/cuda_table.h"

/* cuGetProcAddress_v2 (CUDA driver API, "Driver Entry Point Access"): the version of `symbol` (a base name: cuMemAlloc, not
 * cuMemAlloc_v2) that a program built against `cudaVersion` expects, from table `t`.
 *
 *  - CUDA_ERROR_INVALID_VALUE: NULL symbol or pfn, cudaVersion above the model's, a flag that is not defined. Nothing is
 *    written. A negative cudaVersion means the newest, as in driver 580.
 *  - otherwise CUDA_SUCCESS; *pfn is the function, or NULL with *status (which may be NULL) saying why:
 *    SYMBOL_NOT_FOUND, or VERSION_NOT_SUFFICIENT when every version is newer than cudaVersion.
 *  - CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM: for a symbol with per-thread variants only these are looked at (they
 *    came with CUDA 7.0: an older cudaVersion is not sufficient); other symbols are found as without the flag.
 *  - a function that the table lacks (NULL member) is a symbol that was not found.
 *
 * Thread safe; does not need an initialised driver. */
CUresult cw_proc_address(const struct cw_cuda_table *t, const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                         CUdriverProcAddressQueryResult *status);

/* cuGetProcAddress as CUDA 11.3 to 11.8 had it: without a status, and CUDA_ERROR_NOT_FOUND (nothing written) where the
 * newer one gives a NULL function. */
CUresult cw_proc_address_v1(const struct cw_cuda_table *t, const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags);

#endif
