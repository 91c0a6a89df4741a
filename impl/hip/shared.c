/* SPDX-License-Identifier: Apache-2.0
 * What the kernels of a context share, made when one first needs it: the words for 128-bit atomics, the heap of malloc, and the
 * FIFO of printf (output.c). A code object finds them through variables that are set when it is loaded (jit.h,
 * module_image). */
#include "impl/hip/device.h"

#include "jit/builtins/heap.h"
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
    size_t size = head.size > sizeof head ? head.size : sizeof head;
    if (!c->heap && hip.hipMalloc(&c->heap, size) == hipSuccess &&
        (hip.hipMemsetD32Async(c->heap, 0, size / 4, NULL) != hipSuccess || hip.hipStreamSynchronize(NULL) != hipSuccess ||
         hip.hipMemcpy(c->heap, &head, sizeof head, hipMemcpyDefault) != hipSuccess)) {
        (void)hip.hipFree(c->heap);
        c->heap = NULL;
    }
    return c->heap;
}

static uint64_t
locks_address(struct cwb_context *c)
{
    return (uintptr_t)locks(c);
}

static uint64_t
heap_address(struct cwb_context *c)
{
    return (uintptr_t)heap(c);
}

/* Nanoseconds of a tick of the steady counter, in 2^-32: 100 MHz on most processors, 25 or 27 on some. */
static uint64_t
tick(struct cwb_context *c)
{
    int khz = 0;
    if (hip.hipDeviceGetAttribute(&khz, hipDeviceAttributeWallClockRate, c->device) != hipSuccess || khz <= 0) {
        (void)hip.hipGetLastError();
        return CWJ_AMD_TICK;
    }
    return (1000000ull << 32) / (unsigned)khz;
}

struct number {
    const char *name;
    uint64_t (*make)(struct cwb_context *);     /* 0: out of memory */
    bool needed;                                /* else kernels do without */
};

/* Store a number into the code object's variable, if it has one of that name. */
static hipError_t
give(struct cwb_context *c, hipModule_t code, const struct number *n)
{
    hipDeviceptr_t p = NULL;
    size_t size = 0;
    if (hip.hipModuleGetGlobal(&p, &size, code, n->name) != hipSuccess || size != sizeof(uint64_t)) {
        (void)hip.hipGetLastError();    /* the kernel does not use it */
        return hipSuccess;
    }
    pthread_mutex_lock(&c->shared_lock);
    uint64_t number = n->make(c);
    pthread_mutex_unlock(&c->shared_lock);
    return number ? hip.hipMemcpy(p, &number, sizeof number, hipMemcpyDefault) : n->needed ? hipErrorOutOfMemory : hipSuccess;
}

hipError_t
hip_shared_give(struct cwb_context *c, hipModule_t code)
{
    static const struct number all[] = {
        { "cudaway_locks", locks_address, true }, { "cudaway_heap", heap_address, true }, { "cudaway_tick", tick, true },
        { "cudaway_fifo", hip_fifo_address, false }, { "cudaway_fault", hip_fault_address, false },
    };
    hipError_t e = hipSuccess;
    for (size_t i = 0; i < sizeof all / sizeof *all && e == hipSuccess; i++)
        e = give(c, code, &all[i]);
    return e;
}

cwb_result
hip_heap_limit(struct cwb_context *c, size_t bytes)
{
    pthread_mutex_lock(&c->shared_lock);
    cwb_result r = bytes >> 36 || (c->heap && bytes != c->heap_limit) ? CWB_INVALID : CWB_OK;
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
