/* SPDX-License-Identifier: Apache-2.0
 * Private to impl/runtime: the Runtime over the driver's API. The Runtime owns no device object: streams, events, arrays,
 * graphs and memory are the driver's, and their handles are passed through. It owns
 *   - which device a thread chose and which primary contexts it retained (context.c),
 *   - the thread's last error and its launch configurations (error.c, launch.c),
 *   - what programs registered: fat binaries with their kernels and variables (registry.c).
 *
 * Locks, in this order: context.c's (devices), registry.c's (registrations). Neither is held while the driver waits for work. */
#ifndef CW_RUNTIME_H
#define CW_RUNTIME_H

#include "impl/api/cuda_runtime.h"
#include "impl/base/log.h"
#include "impl/runtime/exports.h"

#include "cudaway/cuda_table.h"
#include "cudaway/runtime_prototypes.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define LIKELY(x) __builtin_expect(!!(x), 1)

/* ---- the driver (driver.c) ------------------------------------------------------------------------------------------------ */

/* Filled by rt_init. A function that the driver lacks is one that returns CUDA_ERROR_NOT_SUPPORTED, never NULL. */
extern struct cw_cuda_table rt_cu;
#define CU(name) (rt_cu.name)
/* The variant for the thread's own default stream inside a call through a per-thread variant. */
#define CU_PTDS(name) (rt_ptds ? rt_cu.name##_ptds : rt_cu.name)

/* The driver is loaded, which is enough for what needs no device. */
bool rt_load(void);
/* The driver is loaded and cuInit succeeded; else the error. */
cudaError_t rt_init(void);

/* A driver's result as the Runtime's: since CUDA 10.1 the numbers are the same ("cudaError", CUDA Runtime API). */
static inline cudaError_t
rt_result(CUresult r)
{
    return (cudaError_t)r;
}

/* ---- threads and contexts (context.c) ---------------------------------------------------------------------------------- */

struct rt_config {
    dim3         grid, block;
    size_t       shared;
    cudaStream_t stream;
};

struct rt_thread {
    cudaError_t last;                   /* last error */
    int         device;                 /* chosen by cudaSetDevice; the one for which a context is made when there is none */
    CUcontext   context;                /* the current one when last looked at, known to be usable; NULL: look anew */
    unsigned    epoch;                  /* rt_epoch then */
    int         context_device;         /* its device */
    bool        changes;                /* it retains or resets a primary context */
    unsigned    configs;                /* number of pushed launch configurations */
    struct rt_config config[4];         /* the first few; more are in `more` */
    struct rt_config *more;
    unsigned    more_capacity;
};
extern _Thread_local struct rt_thread rt_self __attribute__((tls_model("initial-exec")));
/* Grows with every reset of a device: what threads and caches know of contexts is then old. */
extern _Atomic unsigned rt_epoch;

/* After this a context is current to the thread: what was, or else the primary context of the thread's device, made when
 * there is none. */
cudaError_t rt_enter_slow(void);
static inline cudaError_t
rt_enter(void)
{
    CUcontext c = NULL;
    if (LIKELY(rt_self.context && CU(cuCtxGetCurrent)(&c) == CUDA_SUCCESS && c == rt_self.context &&
               rt_self.epoch == atomic_load_explicit(&rt_epoch, memory_order_acquire)))
        return cudaSuccess;
    return rt_enter_slow();
}
#define ENTER() do { cudaError_t e_ = rt_enter(); if (!LIKELY(e_ == cudaSuccess)) return e_; } while (0)
#define INIT() do { cudaError_t e_ = rt_init(); if (!LIKELY(e_ == cudaSuccess)) return e_; } while (0)

/* The device's ordinal is good. */
cudaError_t rt_check_device(int device);
/* Make the device's primary context the thread's for the time of a call; rt_leave_device puts back what was. */
cudaError_t rt_enter_device(int device, CUcontext *was);
void        rt_leave_device(CUcontext was);

/* ---- registered code (registry.c) ----------------------------------------------------------------------------------------- */

/* The CUfunction, in the current context, of what a program launches: the address of a registered host stub, or a cudaKernel_t. */
cudaError_t rt_function(const void *entry, CUfunction *out);
/* The kernel independent of contexts. */
cudaError_t rt_kernel(const void *entry, CUkernel *out);
/* The name as the compiler wrote it; NULL: not registered. */
const char *rt_function_name(const void *entry);
/* What a program registered for a function or kernel of the driver; NULL when it is none of a program's registered kernels. */
const void *rt_entry_of(CUfunction f);
/* Where a registered variable is in the current context, and its size. cudaErrorInvalidSymbol. */
cudaError_t rt_variable(const void *symbol, CUdeviceptr *address, size_t *size);
/* A texture or surface reference of the current context (CUDA 11). */
cudaError_t rt_texture_reference(const void *reference, CUtexref *out);
cudaError_t rt_surface_reference(const void *reference, CUsurfref *out);
/* A context came into being (device lock held by the caller): load what is to be loaded eagerly, fill in managed variables. */
void        rt_registry_context(void);
/* An error that says that a cached function is one of a context that has gone. */
static inline bool
rt_stale(CUresult r)
{
    return r == CUDA_ERROR_INVALID_HANDLE || r == CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

/* ---- shared conversions ------------------------------------------------------------------------------------------------------ */

static inline CUdeviceptr rt_dptr(const void *p) { return (CUdeviceptr)(uintptr_t)p; }
static inline void *rt_pointer(CUdeviceptr p) { return (void *)(uintptr_t)p; }
/* Arrays of the two APIs are the same objects ("Interactions with the CUDA Driver API"). */
static inline CUarray rt_array(cudaArray_const_t a) { return (CUarray)(uintptr_t)a; }
static inline CUmipmappedArray rt_mipmap(cudaMipmappedArray_const_t a) { return (CUmipmappedArray)(uintptr_t)a; }

/* A channel description as format and channels; false: no such format (array.c). */
bool rt_format(const cudaChannelFormatDesc *d, CUarray_format *format, unsigned *channels);
bool rt_channel_desc(CUarray_format format, unsigned channels, cudaChannelFormatDesc *d);
unsigned rt_format_bytes(CUarray_format format);
/* A copy in the driver's terms (copy_array.c). */
cudaError_t rt_copy_3d(const cudaMemcpy3DParms *p, CUDA_MEMCPY3D *out);
void        rt_copy_3d_back(const CUDA_MEMCPY3D *c, cudaMemcpy3DParms *out);
/* The direction is one of enum cudaMemcpyKind. */
static inline bool rt_kind_valid(cudaMemcpyKind k) { return (unsigned)k <= cudaMemcpyDefault; }
/* A launch configuration in the driver's terms; attributes are passed through. */
cudaError_t rt_launch_config(const cudaLaunchConfig_t *c, CUlaunchConfig *out);
/* Grid and block fit the current device; else cudaErrorInvalidConfiguration. */
cudaError_t rt_check_dimensions(dim3 grid, dim3 block);

#endif
