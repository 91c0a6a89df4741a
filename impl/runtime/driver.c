/* SPDX-License-Identifier: Apache-2.0
 * The driver under the Runtime: libcuda.so.1 as the program's library path gives it (so that layers which stand in its place
 * are used), or else the one beside this library. It is looked for when the first call needs it and stays loaded. */
#include "impl/runtime/runtime.h"

#include "impl/base/env.h"
#include "impl/base/file.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct cw_cuda_table rt_cu;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *library;                   /* lock */
static _Atomic bool ready;

static CUresult
lacking(void)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* A thread that was cancelled while it opens the driver would keep this lock, and the linker's. */
static int
enter(void)
{
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    pthread_mutex_lock(&lock);
    return cancel;
}

static void
leave(int cancel)
{
    pthread_mutex_unlock(&lock);
    pthread_setcancelstate(cancel, NULL);
}

static void *
open_driver(bool *no_memory)
{
    char why[500];
    void *l = cw_open_library(NULL, "libcuda.so.1", 0, why, sizeof why, no_memory);
    if (!l && !*no_memory)
        l = cw_open_library((const void *)(uintptr_t)&open_driver, "libcuda.so.1", 0, why, sizeof why, no_memory);
    if (!l)
        cw_error("the CUDA driver cannot be loaded: %s", why);
    return l;
}

static void
fill_table(void *l)
{
#define X(index, name, result, params, args) cw_cuda_table_set(&rt_cu, index, dlsym(l, #name));
    CW_CUDA_FUNCTIONS(X)
#undef X
    for (unsigned i = 0; i < CW_CUDA_FUNCTION_COUNT; i++)
        if (!cw_cuda_table_get(&rt_cu, i))
            cw_cuda_table_set(&rt_cu, i, (void *)(uintptr_t)&lacking);
}

/* Under the lock. */
static cudaError_t
load(void)
{
    bool no_memory = false;
    if (!library) {
        library = open_driver(&no_memory);
        if (library)
            fill_table(library);
    }
    return library ? cudaSuccess : no_memory ? cudaErrorMemoryAllocation : cudaErrorInsufficientDriver;
}

bool
rt_load(void)
{
    if (LIKELY(atomic_load_explicit(&ready, memory_order_acquire)))
        return true;
    const int cancel = enter();
    bool loaded = load() == cudaSuccess;
    leave(cancel);
    return loaded;
}

static cudaError_t
init_slow(void)
{
    const int cancel = enter();
    cudaError_t e = load();
    if (e == cudaSuccess)
        e = rt_result(CU(cuInit)(0));
    if (e == cudaSuccess)
        atomic_store_explicit(&ready, true, memory_order_release);
    leave(cancel);
    return e;
}

cudaError_t
rt_init(void)
{
    return LIKELY(atomic_load_explicit(&ready, memory_order_acquire)) ? cudaSuccess : init_slow();
}
