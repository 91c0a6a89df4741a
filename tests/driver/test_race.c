/* SPDX-License-Identifier: Apache-2.0
 * Streams, events and modules that one thread destroys and makes anew while others submit with them: each call succeeds or says that the
 * handle is none. What goes wrong is for the sanitizers to see; without them, that nothing crashes or stays. And pairs of calls of two threads,
 * each of which has to come wholly before or behind the other. */
#include "tests/driver/test.h"

#include <malloc.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

enum { WORKERS = 3, ROUNDS = 300, CALLS = 7, BYTES = 128 };

static const char text[] = ".version 7.1\n.target sm_60\n.address_size 64\n.visible .entry k()\n{\n    ret;\n}\n";

static CUcontext ctx;
static CUfunction function;
static struct set {
    CUstream s;
    CUevent e;
    CUdeviceptr p;                      /* memory that no other stream uses */
} sets[ROUNDS];
static _Atomic(struct set *) current;
static _Atomic bool over;
static _Atomic unsigned succeeded, refused;

static void
count(CUresult e)
{
    EXPECT(e == CUDA_SUCCESS || e == CUDA_ERROR_INVALID_HANDLE);
    atomic_fetch_add(e == CUDA_SUCCESS ? &succeeded : &refused, 1);
}

static void *
worker(void *unused)
{
    char host[BYTES / 2];
    OK(cuCtxSetCurrent(ctx));
    for (unsigned i = 0; !atomic_load(&over); i++) {
        const struct set *now = atomic_load(&current);
        CUstream s = now->s;
        CUevent e = now->e;
        count(cuEventRecord(e, s));
        count(cuEventRecord(e, i & 1 ? NULL : CU_STREAM_PER_THREAD));
        count(cuMemcpyDtoDAsync_v2(now->p, now->p + BYTES / 2, BYTES / 2, s));
        count(cuMemsetD32Async(now->p, i, 8, s));
        count(cuStreamWaitEvent(s, e, 0));
        count(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL));
        if (i % 4 == 0)
            count(cuMemcpyDtoHAsync_v2(host, now->p, BYTES / 2, s));   /* waits, with a reference of its own */
    }
    return unused;
}

/* ---- pairs of calls ---- */

static pthread_barrier_t barrier;
static _Atomic bool ends;
static void (*second)(void);

static void
some_time(unsigned most)
{
    static _Thread_local unsigned seed = 1;
    seed = seed * 1664525 + 1013904223;
    for (volatile unsigned i = (seed >> 8) % most; i; i--)
        ;
}

static void *
calls_second(void *unused)
{
    OK(cuCtxSetCurrent(ctx));
    for (;;) {
        pthread_barrier_wait(&barrier);
        if (atomic_load(&ends))
            return unused;
        second();
        pthread_barrier_wait(&barrier);
    }
}

/* `before` makes something, `first` and `second` are called at once, `after` looks at what came of it. */
static void
both(unsigned rounds, void (*before)(void), void (*first)(void), void (*other)(void), void (*after)(void))
{
    pthread_t t;
    pthread_barrier_init(&barrier, NULL, 2);
    atomic_store(&ends, false);
    second = other;
    EXPECT(!pthread_create(&t, NULL, calls_second, NULL));
    for (unsigned i = 0; i < rounds && !failures; i++) {
        before();
        pthread_barrier_wait(&barrier);
        first();
        pthread_barrier_wait(&barrier);
        after();
    }
    atomic_store(&ends, true);
    pthread_barrier_wait(&barrier);
    pthread_join(t, NULL);
    pthread_barrier_destroy(&barrier);
}

/* An unloaded library leaves no module behind, also where another thread was making one. */
static CUlibrary library;
static CUmodule instance;

static void library_load(void) { instance = NULL; OK(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0)); }
static void library_unload(void) { some_time(3000); OK(cuLibraryUnload(library)); }

static void
library_instance(void)
{
    CUresult e = cuLibraryGetModule(&instance, library);
    EXPECT(e == CUDA_SUCCESS || e == CUDA_ERROR_INVALID_HANDLE);
}

static void
library_check(void)
{
    unsigned n;
    if (instance)
        EXPECT_RESULT(cuModuleGetFunctionCount(&n, instance), CUDA_ERROR_INVALID_HANDLE);
}

/* A handle that cuMemRetainAllocationHandle gives is one, whether the mapped memory's own has been released before or is behind. */
static CUdeviceptr place;
static CUmemGenericAllocationHandle made, retained;
enum { GRANULE = 2 << 20 };

static void
memory_make(void)
{
    const CUmemAllocationProp p = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    OK(cuMemCreate(&made, GRANULE, &p, 0));
    OK(cuMemMap(place, GRANULE, 0, made, 0));
}

static void memory_retain(void) { some_time(300); OK(cuMemRetainAllocationHandle(&retained, (void *)(uintptr_t)place)); }
static void memory_release(void) { some_time(300); OK(cuMemRelease(made)); }

static void
memory_check(void)
{
    CUmemAllocationProp p;
    OK(cuMemGetAllocationPropertiesFromHandle(&p, retained));
    OK(cuMemRelease(retained));
    OK(cuMemUnmap(place, GRANULE));
}

/* Where a managed variable is, in a primary context that another thread resets. */
static const char variable[] = ".version 7.1\n.target sm_60\n.address_size 64\n.visible .global .attribute(.managed) .align 4 .u32 v = 5;\n";

static void *
asks_for_variable(void *unused)
{
    while (!atomic_load(&over)) {
        CUdeviceptr p;
        size_t n;
        CUresult e = cuLibraryGetManaged(&p, &n, library, "v");
        EXPECT(e == CUDA_SUCCESS || e == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    }
    return unused;
}

static void
managed_while_reset(void)
{
    pthread_t t[WORKERS];
    atomic_store(&over, false);
    OK(cuLibraryLoadData(&library, variable, NULL, NULL, 0, NULL, NULL, 0));
    for (int i = 0; i < WORKERS; i++)
        EXPECT(!pthread_create(&t[i], NULL, asks_for_variable, NULL));
    for (int i = 0; i < 2000; i++)
        OK(cuDevicePrimaryCtxReset_v2(0));
    atomic_store(&over, true);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(t[i], NULL);
    OK(cuLibraryUnload(library));
}

/* A library remembers no context that has ended. */
static void
library_of_many(void)
{
    CUmodule m;
    size_t before = 0;
    library_load();
    for (int i = 0; i < 1000; i++) {
        CUcontext c;
        OK(cuCtxCreate_v2(&c, 0, 0));
        OK(cuLibraryGetModule(&m, library));
        OK(cuCtxDestroy_v2(c));
        if (i == 200)
            before = mallinfo2().uordblks;
    }
    EXPECT(mallinfo2().uordblks < before + 800 * 16);
    OK(cuLibraryUnload(library));
}

int
main(void)
{
    CUmodule m;
    ctx = make_context();
    CUdeviceptr buffer;
    OK(cuMemAlloc_v2(&buffer, ROUNDS * BYTES));
    OK(cuModuleLoadData(&m, text));
    OK(cuModuleGetFunction(&function, m, "k"));
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    pthread_t t[WORKERS];
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct set *now = &sets[i];
        now->p = buffer + i * BYTES;
        OK(cuStreamCreate(&now->s, i & 1));
        OK(cuEventCreate(&now->e, CU_EVENT_DISABLE_TIMING));
        atomic_store(&current, now);
        if (i) {
            OK(cuStreamDestroy_v2(now[-1].s));
            OK(cuEventDestroy_v2(now[-1].e));
        } else {
            for (int k = 0; k < WORKERS; k++)
                pthread_create(&t[k], NULL, worker, NULL);
        }
        if (i % 8 == 0)
            OK(cuStreamSynchronize(now->s));
        while (atomic_load(&succeeded) + atomic_load(&refused) < CALLS * i)     /* the workers keep up, whatever the machine's load */
            nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
    }
    atomic_store(&over, true);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(t[i], NULL);
    EXPECT(atomic_load(&succeeded) >= ROUNDS);
    EXPECT_RESULT(cuEventRecord(atomic_load(&current)->e, (CUstream)0x4000000000000010u), CUDA_ERROR_INVALID_HANDLE);

    /* A context that goes takes its objects along, also from those that submit. */
    OK(cuCtxSynchronize());
    CUcontext other;
    CUstream s;
    CUevent e;
    OK(cuCtxCreate_v2(&other, 0, 0));
    OK(cuStreamCreate(&s, 0));
    OK(cuEventCreate(&e, 0));
    OK(cuCtxSetCurrent(ctx));
    EXPECT_RESULT(cuEventRecord(e, NULL), CUDA_ERROR_INVALID_HANDLE);  /* stream and event of different contexts */
    EXPECT_RESULT(cuEventRecord(atomic_load(&current)->e, s), CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventRecord(e, s));            /* both of another context than the current one */
    OK(cuMemsetD32Async(buffer, 1, 8, s));
    OK(cuCtxDestroy_v2(other));
    EXPECT_RESULT(cuEventRecord(e, s), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_RESULT(cuMemsetD32Async(buffer, 1, 8, s), CUDA_ERROR_INVALID_HANDLE);
    both(1000, library_load, library_unload, library_instance, library_check);
    int virtual = 0;
    OK(cuDeviceGetAttribute(&virtual, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
    if (virtual) {
        OK(cuMemAddressReserve(&place, GRANULE, 0, 0, 0));
        both(3000, memory_make, memory_release, memory_retain, memory_check);
        OK(cuMemAddressFree(place, GRANULE));
    }
    OK(cuCtxDestroy_v2(ctx));
    managed_while_reset();
    const char *device = getenv("CUDAWAY_DEVICE");
    if (device && strncmp(device, "gfxemu", 6) && strncmp(device, "cuda", 4))   /* where contexts are made in no time, and all memory is ours */
        library_of_many();
    return failures != 0;
}
