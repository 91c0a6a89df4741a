/* SPDX-License-Identifier: Apache-2.0
 * What the kernels of a context share, made when one first needs it: the words for 128-bit atomics, and the heap of malloc. A code object
 * finds them through variables that are set when it is loaded (jit.h, module_image). */
#include "impl/hip/device.h"

#include "jit/devlib/heap.h"
#include "jit/jit.h"

static void *
locks(struct cwb_context *c)
{
    static const uint32_t zero[CWJ_AMD_LOCKS];
    if (!c->locks && hip.hipMalloc(&c->locks, sizeof zero) == hipSuccess &&
        hip.hipMemcpy(c->locks, zero, sizeof zero, hipMemcpyDefault) != hipSuccess) {
        (void)hip.hipFree(c->locks);
        c->locks = NULL;
    }
    return c->locks;
}

static void *
heap(struct cwb_context *c)
{
    struct cwd_heap head = { .size = c->heap_limit, .top = sizeof head };
    if (!c->heap && hip.hipMalloc(&c->heap, head.size > sizeof head ? head.size : sizeof head) == hipSuccess &&
        hip.hipMemcpy(c->heap, &head, sizeof head, hipMemcpyDefault) != hipSuccess) {
        (void)hip.hipFree(c->heap);
        c->heap = NULL;
    }
    return c->heap;
}

static hipError_t
give(struct cwb_context *c, hipModule_t code, const char *name, void *(*make)(struct cwb_context *))
{
    hipDeviceptr_t p = NULL;
    size_t size = 0;
    if (hip.hipModuleGetGlobal(&p, &size, code, name) != hipSuccess || size != sizeof(uint64_t)) {
        (void)hip.hipGetLastError();    /* the kernel has no use for it */
        return hipSuccess;
    }
    pthread_mutex_lock(&c->shared_lock);
    uint64_t address = (uintptr_t)make(c);
    pthread_mutex_unlock(&c->shared_lock);
    return address ? hip.hipMemcpy(p, &address, sizeof address, hipMemcpyDefault) : hipErrorOutOfMemory;
}

hipError_t
hip_shared_give(struct cwb_context *c, hipModule_t code)
{
    hipError_t e = give(c, code, "cudaway_locks", locks);
    return e == hipSuccess ? give(c, code, "cudaway_heap", heap) : e;
}

cwb_result
hip_heap_limit(struct cwb_context *c, size_t bytes)
{
    pthread_mutex_lock(&c->shared_lock);
    cwb_result r = c->heap && bytes != c->heap_limit ? CWB_INVALID : CWB_OK;
    if (r == CWB_OK)
        c->heap_limit = bytes;
    pthread_mutex_unlock(&c->shared_lock);
    return r;
}

void
hip_shared_init(struct cwb_context *c)
{
    pthread_mutex_init(&c->shared_lock, NULL);
    c->heap_limit = 8 << 20;            /* CUDA's */
}

void
hip_shared_finish(struct cwb_context *c)
{
    if (c->locks)
        (void)hip.hipFree(c->locks);
    if (c->heap)
        (void)hip.hipFree(c->heap);
    pthread_mutex_destroy(&c->shared_lock);
}
