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

/* Not held while the dynamic loader is called or the driver started: constructors of libraries come here under the loader's own lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool loaded;             /* lock, to set it: rt_cu is complete */
static _Atomic bool ready;

static CUresult
lacking(void)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* A thread that was cancelled while it opens the driver would keep the linker's lock. */
static int
enter(void)
{
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    return cancel;
}

static void
leave(int cancel)
{
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
fill_table(void *l, struct cw_cuda_table *t)
{
#define X(index, name, result, params, args) cw_cuda_table_set(t, index, dlsym(l, #name));
    CW_CUDA_FUNCTIONS(X)
#undef X
    for (unsigned i = 0; i < CW_CUDA_FUNCTION_COUNT; i++)
        if (!cw_cuda_table_get(t, i))
            cw_cuda_table_set(t, i, (void *)(uintptr_t)&lacking);
}

/* Several threads may load it at once: they get the same library, and the first one's table counts. */
static cudaError_t
load(void)
{
    bool no_memory = false;
    if (atomic_load_explicit(&loaded, memory_order_acquire))
        return cudaSuccess;
    void *l = open_driver(&no_memory);
    if (!l)
        return no_memory ? cudaErrorMemoryAllocation : cudaErrorInsufficientDriver;
    struct cw_cuda_table *t = malloc(sizeof *t);        /* the caller's stack may be small */
    if (!t)
        return cudaErrorMemoryAllocation;
    fill_table(l, t);
    pthread_mutex_lock(&lock);
    if (!loaded)
        rt_cu = *t;
    atomic_store_explicit(&loaded, true, memory_order_release);
    pthread_mutex_unlock(&lock);
    free(t);
    return cudaSuccess;
}

bool
rt_load(void)
{
    if (LIKELY(atomic_load_explicit(&ready, memory_order_acquire)))
        return true;
    const int cancel = enter();
    bool has = load() == cudaSuccess;
    leave(cancel);
    return has;
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
