/* SPDX-License-Identifier: Apache-2.0
 * Devices, and the contexts that calls run in ("Primary contexts", "Interactions with the CUDA Driver API"): a call uses the
 * context that is current to the thread, whoever made it so; where there is none, the primary context of the thread's device,
 * which the Runtime then retains once for the process. A device that was reset is retained again by the next call. */
#include "impl/runtime/runtime.h"

#include <pthread.h>

#define MAX_DEVICES 64

_Thread_local struct rt_thread rt_self __attribute__((tls_model("initial-exec")));
_Atomic unsigned rt_epoch = 1;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct {
    bool      retained;                 /* lock */
    bool      changing;                 /* lock: it is retained or reset, without the lock; others wait */
    CUcontext primary;                  /* lock: the handle, which outlives resets */
} devices[MAX_DEVICES];
static int valid[MAX_DEVICES], valid_count;     /* lock: cudaSetValidDevices */

cudaError_t
rt_check_device(int device)
{
    int count = 0;
    INIT();
    cudaError_t e = rt_result(CU(cuDeviceGetCount)(&count));
    return e != cudaSuccess ? e : device < 0 || device >= count || device >= MAX_DEVICES ? cudaErrorInvalidDevice : cudaSuccess;
}

/* Until no other thread changes the device's context. The program's malloc, which may be called in the middle of a change, must not wait for that. The lock is
 * held on success. */
static cudaError_t
lock_unchanging(int device)
{
    if (rt_self.changes)
        return cudaErrorInitializationError;
    pthread_mutex_lock(&lock);
    while (devices[device].changing)
        pthread_cond_wait(&changed, &lock);
    return cudaSuccess;
}

/* Lock held, and held again on return. */
static cudaError_t
retain(int device)
{
    CUcontext c = NULL;

    devices[device].changing = rt_self.changes = true;
    pthread_mutex_unlock(&lock);
    cudaError_t e = rt_result(CU(cuDevicePrimaryCtxRetain)(&c, device));
    pthread_mutex_lock(&lock);
    devices[device].changing = rt_self.changes = false;
    if (e == cudaSuccess) {
        devices[device].primary = c;
        devices[device].retained = true;
    }
    pthread_cond_broadcast(&changed);
    return e;
}

/* The device's primary context, retained; `made`: it was not before. */
static cudaError_t
activate(int device, CUcontext *out, bool *made)
{
    cudaError_t e = lock_unchanging(device);

    if (e != cudaSuccess)
        return e;
    *made = !devices[device].retained;
    if (*made)
        e = retain(device);
    *out = devices[device].primary;
    pthread_mutex_unlock(&lock);
    return e;
}

static void
remember(CUcontext c, int device)
{
    rt_self.context = c;
    rt_self.context_device = device;
    rt_self.epoch = atomic_load_explicit(&rt_epoch, memory_order_acquire);
}

static cudaError_t
use_primary(int device)
{
    CUcontext c = NULL;
    bool made = false;
    unsigned epoch = atomic_load_explicit(&rt_epoch, memory_order_acquire);
    cudaError_t e = activate(device, &c, &made);

    if (e == cudaSuccess)
        e = rt_result(CU(cuCtxSetCurrent)(c));
    if (e != cudaSuccess)
        return e;
    remember(c, device);
    rt_self.epoch = epoch;              /* a reset meanwhile is seen by the next call */
    rt_self.device = device;
    if (made)
        rt_registry_context();
    return cudaSuccess;
}

/* Is c the primary context of a device, and has the Runtime not retained it? */
static bool
is_unretained(CUcontext c, int *device)
{
    bool is = false;

    pthread_mutex_lock(&lock);
    for (int i = 0; i < MAX_DEVICES && !is; i++) {
        is = devices[i].primary == c && !devices[i].retained;
        *device = i;
    }
    pthread_mutex_unlock(&lock);
    return is;
}

/* Note the handle of the device's primary context, if that is active. It is asked for once in the process: asking retains it, and between that and the
 * release the program may end the context and make it anew. */
static void
learn_primary(int device)
{
    unsigned flags = 0;
    int active = 0;
    bool release = false;

    if (CU(cuDevicePrimaryCtxGetState)(device, &flags, &active) != CUDA_SUCCESS || !active)
        return;
    pthread_mutex_lock(&lock);
    if (!devices[device].primary)
        release = CU(cuDevicePrimaryCtxRetain)(&devices[device].primary, device) == CUDA_SUCCESS;
    pthread_mutex_unlock(&lock);
    if (release)
        (void)CU(cuDevicePrimaryCtxRelease_v2)(device);
}

/* The context that the driver has for the thread is a primary one that only driver calls retained so far, or one that a reset
 * ended: the Runtime's own reference is added. */
static cudaError_t
adopt(CUcontext c)
{
    CUdevice d = 0;
    int known;

    if (is_unretained(c, &known))
        return use_primary(known);
    cudaError_t e = rt_result(CU(cuCtxGetDevice)(&d));
    if (e != cudaSuccess)
        return e;
    if (d >= 0 && d < MAX_DEVICES)
        learn_primary(d);
    if (is_unretained(c, &known))
        return use_primary(known);
    remember(c, d);
    return cudaSuccess;
}

cudaError_t
rt_enter_slow(void)
{
    CUcontext c = NULL;

    INIT();
    cudaError_t e = rt_result(CU(cuCtxGetCurrent)(&c));
    if (e != cudaSuccess)
        return e;
    if (c)
        return adopt(c);
    if (rt_self.device) {
        e = rt_check_device(rt_self.device);
        return e == cudaSuccess ? use_primary(rt_self.device) : e;
    }
    /* The first device that can be used, of those that the program named. */
    pthread_mutex_lock(&lock);
    int list[MAX_DEVICES], n = valid_count;
    memcpy(list, valid, sizeof list);
    pthread_mutex_unlock(&lock);
    if (!n)
        return use_primary(0);
    for (int i = 0; i < n; i++)
        if ((e = use_primary(list[i])) == cudaSuccess)
            break;
    return e;
}

cudaError_t
rt_enter_device(int device, CUcontext *was)
{
    CUcontext c = NULL;
    bool made = false;
    cudaError_t e = rt_check_device(device);

    if (e == cudaSuccess)
        e = rt_result(CU(cuCtxGetCurrent)(was));
    if (e == cudaSuccess)
        e = activate(device, &c, &made);
    if (e == cudaSuccess)
        e = rt_result(CU(cuCtxSetCurrent)(c));
    if (e == cudaSuccess && made)
        rt_registry_context();
    return e;
}

void
rt_leave_device(CUcontext was)
{
    (void)CU(cuCtxSetCurrent)(was);
}

/* ---- choosing ------------------------------------------------------------------------------------------------------------ */

cudaError_t
rt_cudaGetDeviceCount(int *count)
{
    if (!count)
        return cudaErrorInvalidValue;
    *count = 0;
    INIT();
    return rt_result(CU(cuDeviceGetCount)(count));
}

cudaError_t
rt_cudaSetDevice(int device)
{
    CUcontext c = NULL;
    cudaError_t e = rt_check_device(device);

    if (e != cudaSuccess)
        return e;
    /* Since CUDA 12 the call makes the context; before, the first call that needs it did. */
    pthread_mutex_lock(&lock);
    bool retained = devices[device].retained;
    pthread_mutex_unlock(&lock);
    if (rt_version >= 12000 || retained)
        return use_primary(device);
    e = rt_result(CU(cuCtxGetCurrent)(&c));
    if (e == cudaSuccess && c)
        e = rt_result(CU(cuCtxSetCurrent)(NULL));
    if (e == cudaSuccess) {
        rt_self.device = device;
        rt_self.context = NULL;
    }
    return e;
}

cudaError_t
rt_cudaGetDevice(int *device)
{
    CUcontext c = NULL;
    CUdevice d = 0;

    if (!device)
        return cudaErrorInvalidValue;
    INIT();
    if (CU(cuCtxGetCurrent)(&c) != CUDA_SUCCESS || !c) {
        *device = rt_self.device;
        return cudaSuccess;
    }
    if (c == rt_self.context) {
        *device = rt_self.context_device;
        return cudaSuccess;
    }
    cudaError_t e = rt_result(CU(cuCtxGetDevice)(&d));
    if (e == cudaSuccess)
        *device = d;
    return e;
}

/* cudaDeviceMapHost is always so, and no flag of a primary context. */
static cudaError_t
set_flags(int device, unsigned flags)
{
    if (flags & ~(unsigned)cudaDeviceMask)
        return cudaErrorInvalidValue;
    return rt_result(CU(cuDevicePrimaryCtxSetFlags_v2)(device, flags & ~(unsigned)cudaDeviceMapHost));
}

cudaError_t
rt_cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags)
{
    CUcontext c;
    bool made;
    cudaError_t e = rt_check_device(device);

    if (e == cudaSuccess && flags & ~(unsigned)cudaInitDeviceFlagsAreValid)
        e = cudaErrorInvalidValue;
    if (e == cudaSuccess && flags & cudaInitDeviceFlagsAreValid)
        e = set_flags(device, deviceFlags);
    return e == cudaSuccess ? activate(device, &c, &made) : e;
}

cudaError_t
rt_cudaSetValidDevices(int *device_arr, int len)
{
    if (len < 0 || len > MAX_DEVICES || (len && !device_arr))
        return cudaErrorInvalidValue;
    int list[MAX_DEVICES];
    for (int i = 0; i < len; i++) {
        list[i] = device_arr[i];
        cudaError_t e = rt_check_device(list[i]);
        if (e != cudaSuccess)
            return e;
    }
    pthread_mutex_lock(&lock);
    memcpy(valid, list, (size_t)len * sizeof *valid);
    valid_count = len;
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

cudaError_t
rt_cudaSetDeviceFlags(unsigned int flags)
{
    int device = 0;
    cudaError_t e = rt_cudaGetDevice(&device);

    return e == cudaSuccess ? set_flags(device, flags) : e;
}

cudaError_t
rt_cudaGetDeviceFlags(unsigned int *flags)
{
    int device = 0, active;
    CUcontext c = NULL;
    cudaError_t e;

    if (!flags)
        return cudaErrorInvalidValue;
    INIT();
    if (CU(cuCtxGetCurrent)(&c) == CUDA_SUCCESS && c) {
        e = rt_result(CU(cuCtxGetFlags)(flags));
    } else {
        e = rt_cudaGetDevice(&device);
        if (e == cudaSuccess)
            e = rt_result(CU(cuDevicePrimaryCtxGetState)(device, flags, &active));
    }
    if (e == cudaSuccess)
        *flags |= cudaDeviceMapHost;
    return e;
}

/* ---- the whole device ------------------------------------------------------------------------------------------------------- */

cudaError_t
rt_cudaDeviceReset(void)
{
    CUcontext c = NULL, p = NULL;
    CUdevice d = rt_self.device;

    INIT();
    if (CU(cuCtxGetCurrent)(&c) == CUDA_SUCCESS && c) {
        cudaError_t e = adopt(c);
        if (e != cudaSuccess)
            return e;
        d = rt_self.context_device;
    }
    cudaError_t e = lock_unchanging(d);
    if (e != cudaSuccess)
        return e;
    bool retained = devices[d].retained;
    p = devices[d].primary;
    bool own = c && (!retained || p != c);      /* a context that the program made is not the Runtime's to end */
    devices[d].retained = false;
    devices[d].changing = rt_self.changes = retained;
    pthread_mutex_unlock(&lock);
    e = retained ? rt_result(CU(cuDevicePrimaryCtxReset_v2)(d)) : cudaSuccess;
    if (retained && e == cudaSuccess)
        (void)CU(cuDevicePrimaryCtxRelease_v2)(d);      /* the Runtime's own reference, which a reset leaves */
    pthread_mutex_lock(&lock);
    if (retained) {
        devices[d].changing = rt_self.changes = false;
        devices[d].retained = e != cudaSuccess;
    }
    atomic_fetch_add_explicit(&rt_epoch, 1, memory_order_acq_rel);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (own || e != cudaSuccess)
        return e;
    (void)CU(cuCtxSetCurrent)(NULL);
    rt_self.context = NULL;
    rt_self.device = d;
    return e;
}

cudaError_t
rt_cudaDeviceSynchronize(void)
{
    ENTER();
    return rt_result(CU(cuCtxSynchronize)());
}
