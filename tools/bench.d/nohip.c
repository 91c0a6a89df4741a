/* SPDX-License-Identifier: Apache-2.0
 * A HIP library whose functions return at once, to measure what is above it: one device that does nothing. Compiled twice: with
 * DEFAULTS every function as one that succeeds (weak), without it those that have to give something. */
#include "impl/hip/hip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef DEFAULTS
#define X(need, since, name, parameters) __attribute__((weak)) hipError_t name parameters; \
    hipError_t name parameters { return hipSuccess; }
HIP_FUNCTIONS(X)
#undef X
#else

static char object[64];         /* what every handle points to */

hipError_t
hipRuntimeGetVersion(int *version)
{
    *version = 60000000;
    return hipSuccess;
}

hipError_t
hipGetDeviceCount(int *count)
{
    *count = 1;
    return hipSuccess;
}

hipError_t
hipDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)attribute;
    (void)device;
    *value = 0;
    return hipSuccess;
}

hipError_t
hipGetDevicePropertiesR0600(struct hip_props_r0600 *p, int device)
{
    (void)device;
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "nothing");
    snprintf(p->gcnArchName, sizeof p->gcnArchName, "gfx1100");
    p->totalGlobalMem = (size_t)1 << 30;
    p->multiProcessorCount = 1;
    p->sharedMemPerBlock = 65536;
    p->warpSize = 32;
    return hipSuccess;
}

hipError_t
hipMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    *free_bytes = *total_bytes = (size_t)1 << 30;
    return hipSuccess;
}

static hipError_t
allocate(void **p, size_t size)
{
    *p = calloc(1, size ? size : 1);
    return *p ? hipSuccess : hipErrorOutOfMemory;
}

hipError_t
hipMalloc(void **p, size_t size)
{
    return allocate(p, size);
}

hipError_t
hipHostMalloc(void **p, size_t size, unsigned flags)
{
    (void)flags;
    return allocate(p, size);
}

hipError_t
hipHostGetDevicePointer(void **device, void *host, unsigned flags)
{
    (void)flags;
    *device = host;
    return hipSuccess;
}

hipError_t
hipStreamCreateWithPriority(hipStream_t *s, unsigned flags, int priority)
{
    (void)flags;
    (void)priority;
    *s = (hipStream_t)object;
    return hipSuccess;
}

hipError_t
hipEventCreateWithFlags(hipEvent_t *e, unsigned flags)
{
    (void)flags;
    *e = (hipEvent_t)object;
    return hipSuccess;
}

hipError_t
hipModuleLoadData(hipModule_t *m, const void *image)
{
    (void)image;
    *m = (hipModule_t)object;
    return hipSuccess;
}

hipError_t
hipModuleGetFunction(hipFunction_t *f, hipModule_t m, const char *name)
{
    (void)m;
    (void)name;
    *f = (hipFunction_t)object;
    return hipSuccess;
}

hipError_t
hipModuleGetGlobal(hipDeviceptr_t *p, size_t *size, hipModule_t m, const char *name)
{
    (void)m;
    (void)name;
    *p = object;
    *size = 8;
    return hipSuccess;
}

hipError_t
hipFuncGetAttribute(int *value, int attribute, hipFunction_t f)
{
    (void)attribute;
    (void)f;
    *value = 0;
    return hipSuccess;
}
#endif
