/* SPDX-License-Identifier: Apache-2.0
 * The layer's start: find and load the library below, fill the tables, ask the observers, publish the table that the
 * exports use. This happens once, at the first call of any exported function, and is never undone or changed. */
#define _GNU_SOURCE
#include "tracer/layer.h"

#include "impl/base/env.h"
#include "impl/base/file.h"
#include "impl/base/log.h"
#include "tracer/layer_private.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct cw_cuda_table *_Atomic cw_layer_top;
struct cw_cuda_table cw_layer_next;

static struct cw_cuda_table below;       /* as loaded, missing functions filled in: what observers call */
static atomic_bool loaded;               /* the library below is there */
static atomic_bool no_memory;            /* it could not be loaded for lack of memory: the next call tries again, while others still say so */
static const struct cw_observer *active[CW_MAX_OBSERVERS];
static unsigned active_count;

/* The functions of the library below by address, for cuGetProcAddress. */
static struct address {
    const void *address;
    unsigned    index;
} addresses[CW_CUDA_FUNCTION_COUNT];
static unsigned address_count;

/* ---- what is missing below ---- */

CUresult
cw_layer_lacks(unsigned index)
{
    static atomic_bool said[CW_CUDA_FUNCTION_COUNT];
    if (!loaded)
        return no_memory ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_NO_DEVICE;     /* the message if it could not be loaded */
    if (index < CW_CUDA_FUNCTION_COUNT && !atomic_exchange_explicit(&said[index], true, memory_order_relaxed))
        cw_warn("the CUDA library below the tracer has no %s", cw_layer_name(index));
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* ---- cuGetProcAddress ---- */

static int
compare_address(const void *a, const void *b)
{
    const struct address *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address ? 1 : 0;
}

static const void *
ours_for(const void *theirs, const char *symbol, int version, cuuint64_t flags)
{
    struct address key = { .address = theirs };
    const struct address *found = bsearch(&key, addresses, address_count, sizeof key, compare_address);
    if (found) {
        /* Two names may have one address: prefer the requested one. */
        const struct address *first = found, *end = addresses + address_count;
        size_t n = strlen(symbol);
        while (first > addresses && first[-1].address == theirs)
            first--;
        for (const struct address *a = first; a < end && a->address == theirs; a++)
            if (!strncmp(cw_layer_name(a->index), symbol, n))
                return cw_cuda_table_get(&cw_layer_exports, a->index);
        return cw_cuda_table_get(&cw_layer_exports, found->index);
    }
    const void *ours = cw_layer_by_name(symbol, version, flags);
    /* Programs ask for hundreds of functions that they never call (graphics interoperation): no warning. */
    if (!ours)
        cw_info("cuGetProcAddress(%s) gave a function that the tracer does not know; its calls are not seen", symbol);
    return ours ? ours : theirs;
}

static CUresult CUDAAPI
get_proc_address(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
    CUresult r = below.cuGetProcAddress(symbol, pfn, version, flags);
    if (r == CUDA_SUCCESS && symbol && pfn && *pfn)
        *pfn = (void *)ours_for(*pfn, symbol, version, flags);
    return r;
}

static CUresult CUDAAPI
get_proc_address_v2(const char *symbol, void **pfn, int version, cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
    CUresult r = below.cuGetProcAddress_v2(symbol, pfn, version, flags, status);
    if (r == CUDA_SUCCESS && symbol && pfn && *pfn)
        *pfn = (void *)ours_for(*pfn, symbol, version, flags);
    return r;
}

/* ---- loading ---- */

static void
load_below(void)
{
    const char *path = cw_env_get(CW_ENV_CUDA_LIBRARY);
    char why[PATH_MAX];
    bool given = path && *path, short_of_memory = false;
    if (!given)
        path = "../libcuda.so.1";
    void *handle = cw_open_library(given ? NULL : (const void *)&cw_layer_exports, path, 0, why, sizeof why, &short_of_memory);
    no_memory = short_of_memory;
    if (!handle) {
        cw_error("the tracer cannot load the CUDA library below it: %s", why);
        return;
    }
    void *init = dlsym(handle, "cuInit");
    if (init == cw_cuda_table_get(&cw_layer_exports, CW_FN_cuInit)) {
        cw_error("CUDAWAY_CUDA_LIBRARY=%s is the tracer itself; give the full path of the CUDA library", path);
        return;
    }
    if (!init) {
        cw_error("%s is not a CUDA driver library: it has no cuInit", path);
        return;
    }
    for (unsigned i = 0; i < CW_CUDA_FUNCTION_COUNT; i++) {
        void *fn = dlsym(handle, cw_layer_name(i));
        if (!fn)
            continue;
        cw_cuda_table_set(&below, i, fn);
        addresses[address_count++] = (struct address){ fn, i };
    }
    qsort(addresses, address_count, sizeof *addresses, compare_address);
    loaded = true;
}

static void
start_observer(const struct cw_observer *o)
{
    if (o && active_count < CW_MAX_OBSERVERS && (!o->start || o->start(&below)))
        active[active_count++] = o;
}

static const struct cw_cuda_table *
start(void)
{
    memcpy(&below, &cw_layer_missing, sizeof below);
    load_below();
    cw_layer_next = below;
    cw_layer_next.cuGetProcAddress = get_proc_address;
    cw_layer_next.cuGetProcAddress_v2 = get_proc_address_v2;
    if (no_memory)
        return &cw_layer_missing;
    if (loaded) {
        start_observer(&cw_recorder_observer);
        start_observer(&cw_dump_observer);
        start_observer(&cw_refused_observer);
        start_observer(&cw_diff_observer);
        start_observer(&cw_check_observer);
    }
    cw_layer_track_start(&below);
    for (unsigned i = 0; i < active_count; i++)
        if (active[i]->unseen) {
            cw_layer_graphs_start(&below, &cw_layer_next);
            break;
        }
    return active_count ? &cw_layer_observed : &cw_layer_next;
}

const struct cw_cuda_table *
cw_layer_init(void)
{
    /* Recursive: a constructor of the library below may call an exported function, which must not wait for itself. */
    static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    static bool starting;
    int saved = errno, cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);    /* libraries are opened: a thread that ended there would keep this lock, and the linker's */
    pthread_mutex_lock(&lock);
    const struct cw_cuda_table *t = atomic_load(&cw_layer_top);
    if (!t && starting) {
        t = &cw_layer_missing;
    } else if (!t) {
        starting = true;
        t = start();
        if (no_memory)
            starting = false;
        else
            atomic_store_explicit(&cw_layer_top, t, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    pthread_setcancelstate(cancel, NULL);
    errno = saved;
    return t;
}

/* ---- calls ---- */

void
cw_layer_unseen(const char *what, const char *why)
{
    for (unsigned i = 0; i < active_count; i++)
        if (active[i]->unseen)
            active[i]->unseen(what, why);
}

void
cw_layer_before(struct cw_call *call)
{
    int saved = errno, cancel;
    struct cw_launch launch;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);    /* observers write files and hold locks */
    call->next = &below;
    for (unsigned i = 0; i < active_count; i++) {
        call->scratch[i] = NULL;
        if (active[i]->before)
            active[i]->before(call, &call->scratch[i]);
    }
    if (cw_layer_is_launch(call->index) && cw_layer_decode_launch(call, &launch))
        for (unsigned i = 0; i < active_count; i++)
            if (active[i]->before_launch)
                active[i]->before_launch(&launch, &call->scratch[i]);
    pthread_setcancelstate(cancel, NULL);
    errno = saved;
}

void
cw_layer_after(struct cw_call *call)
{
    int saved = errno, cancel;
    struct cw_launch launch;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    cw_layer_track(call);
    if (cw_layer_is_launch(call->index) && cw_layer_decode_launch(call, &launch))
        for (unsigned i = active_count; i-- > 0;)
            if (active[i]->after_launch)
                active[i]->after_launch(&launch, &call->scratch[i]);
    for (unsigned i = active_count; i-- > 0;)
        if (active[i]->after)
            active[i]->after(call, &call->scratch[i]);
    pthread_setcancelstate(cancel, NULL);
    errno = saved;
}
