/* SPDX-License-Identifier: Apache-2.0
 * A device opened as a client of the driver API: the implementation beside the calling program on any of its devices, or the
 * real driver. Used by what runs launches of its own: cudaway-replay, cudaway-diff, cudaway-ptxtest. */
#ifndef CWD_DRIVER_H
#define CWD_DRIVER_H

#include "cudaway/cuda_table.h"
#include "replay/dump.h"

struct cwd_driver {
    struct cw_cuda_table cu;
    CUdevice device;
    CUcontext context;                  /* primary, current on the calling thread */
    char name[256];                     /* of the device */
    uint32_t version;                   /* of CUDA: 13000 */
    uint32_t compute_capability;        /* 90 */
    bool ours;                          /* the library is CUDAway's, not another driver */
    bool unoptimised;                   /* modules are to be loaded with CU_JIT_OPTIMIZATION_LEVEL 0 */
};

/* `on`: a device for CUDAWAY_DEVICE, "cuda-native" for the real driver (CUDAWAY_CUDA_LIBRARY, else libcuda.so.1), "cuda-native:O0"
 * for the same without ptxas's optimiser, which fuses multiplications and additions that have no rounding modifier, NULL for the
 * default. Once a process: the library stays loaded, and ours reads CUDAWAY_DEVICE, which is set here, only once. */
cw_result cwd_driver_open(struct cwd_driver *d, const char *on, struct cwd_error *e) CW_MUST_CHECK;

/* "CUDA_ERROR_INVALID_VALUE" */
const char *cwd_driver_error(const struct cw_cuda_table *cu, CUresult r);

#endif
