/* SPDX-License-Identifier: Apache-2.0
 * Streams, events and modules that one thread destroys and makes anew while others submit with them: each call succeeds or says that the
 * handle is none. What goes wrong is for the sanitizers to see; without them, that nothing crashes or stays. */
#include "tests/driver/test.h"

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
    OK(cuCtxDestroy_v2(ctx));
    return failures != 0;
}
