/* SPDX-License-Identifier: Apache-2.0
 * Order and concurrency of streams: asynchrony, the legacy and per-thread default streams, events, callbacks, values. */
#define _GNU_SOURCE
#include "tests/driver/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

/* A host function that blocks a stream until the gate is opened. */
static _Atomic int gate, entered;

static void
pause_ms(int ms)
{
    nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000L }, NULL);
}

static void
wait_gate(void *unused)
{
    atomic_store(&entered, 1);
    while (!atomic_load(&gate))
        pause_ms(1);
}

/* Words of pinned memory, and marks set there by streams. (Not by host functions: a driver may run those one at a time, and then the gate is
 * one that holds up others.) */
enum { FIRST, SECOND, THIRD, WORDS };
static volatile unsigned *word;
static CUdeviceptr word_device;

static void
clear_marks(void)
{
    for (int i = 0; i < WORDS; i++)
        word[i] = 0;
}

static void
mark(CUstream s, int at)
{
    OK(cuMemsetD32Async(word_device + 4 * (unsigned)at, 1, 1, s));
}

static void
close_gate(CUstream s)
{
    atomic_store(&gate, 0);
    atomic_store(&entered, 0);
    OK(cuLaunchHostFunc(s, wait_gate, NULL));
}

static CUresult seen_status;
static CUstream seen_stream;

static void
callback(CUstream s, CUresult status, void *user)
{
    seen_stream = s;
    seen_status = status;
    atomic_store((_Atomic int *)user, 1);
}

static void *
per_thread(void *unused)
{
    /* Its own per-thread stream is not held up by the gate in another thread's. */
    CUstream s = CU_STREAM_PER_THREAD;
    OK(cuCtxSetCurrent(unused));
    mark(s, SECOND);
    OK(cuStreamSynchronize(s));
    EXPECT(word[SECOND] == 1);
    return NULL;
}

/* Work in a stream of its own that waits at the gate; the stream goes before the work does. */
static void
leave(CUcontext c)
{
    CUstream s;
    OK(cuStreamCreate(&s, CU_STREAM_DEFAULT));
    close_gate(s);
    mark(s, FIRST);
    OK(cuStreamDestroy_v2(s));
}

static void *
leave_by_thread(void *c)
{
    OK(cuCtxSetCurrent(c));
    close_gate(CU_STREAM_PER_THREAD);
    mark(CU_STREAM_PER_THREAD, FIRST);
    return NULL;
}

static void
leave_with_thread(CUcontext c)
{
    pthread_t t;
    EXPECT(!pthread_create(&t, NULL, leave_by_thread, c));
    pthread_join(t, NULL);
}

/* The legacy stream waits for the work of blocking streams, whether they are still there or not. */
static void
departed(CUcontext c, void (*leaves)(CUcontext c))
{
    CUstream apart;
    clear_marks();
    leaves(c);
    mark(NULL, SECOND);
    pause_ms(20);
    EXPECT(!word[SECOND]);
    EXPECT_RESULT(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    OK(cuStreamCreate(&apart, CU_STREAM_NON_BLOCKING));
    mark(apart, THIRD);                 /* which nothing holds up */
    OK(cuStreamSynchronize(apart));
    OK(cuStreamDestroy_v2(apart));
    atomic_store(&gate, 1);
    OK(cuStreamSynchronize(NULL));
    EXPECT(word[FIRST] && word[SECOND]);
}

/* A program's destructor of thread-specific data may come after the driver's and use the per-thread stream again. */
static pthread_key_t late;

static void
nothing(void *unused)
{
}

static void
use_late(void *c)
{
    OK(cuCtxSetCurrent(c));
    OK(cuLaunchHostFunc(CU_STREAM_PER_THREAD, nothing, NULL));
}

static void *
ends_late(void *c)
{
    use_late(c);
    pthread_setspecific(late, c);
    return NULL;
}

static void
late_destructors(CUcontext c)
{
    use_late(c);                        /* the driver's keys are made first: their destructors run first */
    EXPECT(!pthread_key_create(&late, use_late));
    int before = entries("/proc/self/task");
    for (int i = 0; i < 40; i++) {
        pthread_t t;
        EXPECT(!pthread_create(&t, NULL, ends_late, c));
        pthread_join(t, NULL);
    }
    OK(cuCtxSynchronize());
    for (int i = 0; i < 100 && entries("/proc/self/task") > before + 10; i++)
        pause_ms(20);
    EXPECT(entries("/proc/self/task") <= before + 10);
}

/* "cuLaunchHostFunc", "cuStreamAddCallback": no CUDA calls in either. An H200 refuses those that look for a context or a device, in both and in
 * graphs, and takes those that name a stream or an event. Of these we refuse what would wait. */
static struct {
    CUstream s;
    CUevent e;
    CUdeviceptr p;
    CUcontext c;
    CUmodule m;
    CUfunction f;
    CUgraphExec x, empty;
    CUstream idle;
    CUevent done;
    _Atomic int submitted;
} from_host;

static void
calls_from_host(void)
{
    CUdeviceptr p;
    const char *name;
    int version;
    while (!atomic_load(&from_host.submitted))
        pause_ms(1);
    EXPECT_RESULT(cuMemAlloc_v2(&p, 4), CUDA_ERROR_NOT_PERMITTED);
    EXPECT_RESULT(cuCtxSetCurrent(from_host.c), CUDA_ERROR_NOT_PERMITTED);
    EXPECT_RESULT(cuStreamSynchronize(from_host.s), CUDA_ERROR_NOT_PERMITTED);
    EXPECT_RESULT(cuEventSynchronize(from_host.e), CUDA_ERROR_NOT_PERMITTED);
    EXPECT_RESULT(cuCtxSynchronize_v2(from_host.c), CUDA_ERROR_NOT_PERMITTED);
    EXPECT_RESULT(cuMemFree_v2(from_host.p), CUDA_ERROR_NOT_PERMITTED);
    EXPECT_RESULT(cuMemcpyHtoDAsync_v2(from_host.p, &version, 4, from_host.s), CUDA_ERROR_NOT_PERMITTED);
    OK(cuMemsetD32Async(from_host.p, 0, 1, from_host.s));
    EXPECT_RESULT(cuLaunchKernel(from_host.f, 1, 1, 1, 1, 1, 1, 0, from_host.s, NULL, NULL), CUDA_ERROR_NOT_PERMITTED);
    EXPECT_RESULT(cuMemFreeAsync(from_host.p, from_host.s), CUDA_ERROR_NOT_PERMITTED);
    EXPECT_RESULT(cuModuleUnload(from_host.m), CUDA_ERROR_NOT_PERMITTED);
    OK(cuGraphLaunch(from_host.empty, from_host.idle));
    EXPECT_RESULT(cuStreamQuery(from_host.s), CUDA_ERROR_NOT_READY);
    OK(cuEventRecord(from_host.done, from_host.idle));
    OK(cuStreamWaitEvent(from_host.s, from_host.done, 0));
    EXPECT_RESULT(cuCtxDestroy_v2(from_host.c), CUDA_ERROR_NOT_PERMITTED);
    EXPECT_RESULT(cuDevicePrimaryCtxReset_v2(0), CUDA_ERROR_NOT_PERMITTED);
    OK(cuGetErrorName(CUDA_ERROR_NOT_PERMITTED, &name));
    OK(cuDriverGetVersion(&version));
}

static void CUDA_CB
host_calls(void *unused)
{
    calls_from_host();
}

static void CUDA_CB
callback_calls(CUstream s, CUresult status, void *unused)
{
    calls_from_host();
}

static bool over_cuda;

static void
no_calls_from_host(CUcontext c)
{
    CUgraph g;
    CUgraphNode n;
    CUDA_HOST_NODE_PARAMS h = { .fn = host_calls };
    from_host.c = c;
    OK(cuStreamCreate(&from_host.s, 0));
    OK(cuEventCreate(&from_host.e, 0));
    OK(cuMemAlloc_v2(&from_host.p, 4));
    OK(cuModuleLoadData(&from_host.m, ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() { ret; }\n"));
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddHostNode(&n, g, NULL, 0, &h));
    OK(cuGraphInstantiateWithFlags(&from_host.x, g, 0));
    OK(cuGraphDestroy(g));
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphInstantiateWithFlags(&from_host.empty, g, 0));
    OK(cuModuleGetFunction(&from_host.f, from_host.m, "k"));
    OK(cuStreamCreate(&from_host.idle, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&from_host.done, 0));
    if (over_cuda)
        OK(cuGraphLaunch(from_host.empty, from_host.idle));     /* makes its event, which the driver below does not do in a host function */
    OK(cuLaunchHostFunc(from_host.s, host_calls, NULL));
    OK(cuStreamAddCallback(from_host.s, callback_calls, NULL, 0));
    OK(cuGraphLaunch(from_host.x, from_host.s));
    OK(cuEventRecord(from_host.e, from_host.s));
    atomic_store(&from_host.submitted, 1);
    OK(cuStreamSynchronize(from_host.s));
    OK(cuEventSynchronize(from_host.e));
    OK(cuStreamSynchronize(from_host.s));
    OK(cuGraphExecDestroy(from_host.x));
    OK(cuGraphExecDestroy(from_host.empty));
    OK(cuStreamDestroy_v2(from_host.idle));
    OK(cuEventDestroy_v2(from_host.done));
    OK(cuGraphDestroy(g));
    OK(cuModuleUnload(from_host.m));
    OK(cuMemFree_v2(from_host.p));
    OK(cuEventDestroy_v2(from_host.e));
    OK(cuStreamDestroy_v2(from_host.s));
}

/* Hints read back, also from the stream that they are copied to ("cuStreamCopyAttributes"); a priority is one of the context's range. */
static void
hints(CUstream from, CUstream to, int highest)
{
    CUstreamAttrValue v = { .accessPolicyWindow = { (void *)4096, 8192, 0.5f, CU_ACCESS_PROPERTY_PERSISTING, CU_ACCESS_PROPERTY_STREAMING } };
    OK(cuStreamSetAttribute(from, (CUstreamAttrID)CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &v));
    v = (CUstreamAttrValue){ .memSyncDomain = CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE };
    OK(cuStreamSetAttribute(from, (CUstreamAttrID)CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, &v));
    v = (CUstreamAttrValue){ .priority = -100 };
    OK(cuStreamSetAttribute(from, (CUstreamAttrID)CU_LAUNCH_ATTRIBUTE_PRIORITY, &v));
    int priority;
    OK(cuStreamGetPriority(from, &priority));
    EXPECT(priority == highest);
    OK(cuStreamCopyAttributes(to, from));
    OK(cuStreamGetAttribute(to, (CUstreamAttrID)CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &v));
    EXPECT(v.accessPolicyWindow.base_ptr == (void *)4096 && v.accessPolicyWindow.num_bytes == 8192 && v.accessPolicyWindow.hitRatio == 0.5f &&
           v.accessPolicyWindow.hitProp == CU_ACCESS_PROPERTY_PERSISTING && v.accessPolicyWindow.missProp == CU_ACCESS_PROPERTY_STREAMING);
    OK(cuStreamGetAttribute(to, (CUstreamAttrID)CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, &v));
    EXPECT(v.memSyncDomain == CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE);
    OK(cuStreamGetAttribute(to, (CUstreamAttrID)CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, &v));
    EXPECT(v.memSyncDomainMap.default_ == 0 && v.memSyncDomainMap.remote == 1);         /* an H200's */
    OK(cuStreamGetAttribute(to, (CUstreamAttrID)CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v));
    EXPECT(v.syncPolicy == CU_SYNC_POLICY_AUTO);
}

/* A program that submits faster than its device works does not fill the memory with what is queued: its calls wait, and other streams and threads go on. */
enum { ENDLESS = 80000 };
static _Atomic unsigned submitted;

struct endless { CUcontext c; CUstream s; CUdeviceptr p; };

static void *
submit_endlessly(void *user)
{
    const struct endless *e = user;
    OK(cuCtxSetCurrent(e->c));
    for (unsigned i = 0; i < ENDLESS; i++) {
        OK(cuMemsetD32Async(e->p, i, 1, e->s));
        atomic_fetch_add(&submitted, 1);
    }
    return NULL;
}

static void
full_queue(CUcontext c, CUstream s, CUstream other)
{
    struct endless e = { c, s, 0 };
    pthread_t t;
    unsigned v = 0, before = 0, now;
    OK(cuMemAlloc_v2(&e.p, 8));
    atomic_store(&submitted, 0);
    close_gate(s);
    OK(pthread_create(&t, NULL, submit_endlessly, &e));
    for (now = 0; now != before || now < 500; pause_ms(200)) {        /* until it does not go on */
        before = now;
        now = atomic_load(&submitted);
    }
    EXPECT(now < ENDLESS);
    OK(cuMemsetD32Async(e.p + 4, 5, 1, other));
    OK(cuStreamSynchronize(other));
    EXPECT_RESULT(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    atomic_store(&gate, 1);
    OK(pthread_join(t, NULL));
    OK(cuStreamSynchronize(s));
    OK(cuMemcpyDtoH_v2(&v, e.p, 4));
    EXPECT(atomic_load(&submitted) == ENDLESS && v == ENDLESS - 1);
    OK(cuMemFree_v2(e.p));
}

int
main(void)
{
    over_cuda = is_over_cuda();
    CUcontext ctx = make_context();
    CUstream a, b, free_running;
    CUevent e, t0, t1;
    unsigned flags;
    int low, high, prio;
    no_calls_from_host(ctx);
    OK(cuCtxGetStreamPriorityRange(&low, &high));
    EXPECT(low == 0 && high < 0);
    OK(cuStreamCreate(&a, CU_STREAM_DEFAULT));
    OK(cuStreamCreateWithPriority(&b, CU_STREAM_DEFAULT, -100));
    OK(cuStreamGetPriority(b, &prio));
    EXPECT(prio == high);
    OK(cuStreamCreate(&free_running, CU_STREAM_NON_BLOCKING));
    OK(cuStreamGetFlags(free_running, &flags));
    EXPECT(flags == CU_STREAM_NON_BLOCKING);
    EXPECT_RESULT(cuStreamCreate(&a, 8), CUDA_ERROR_INVALID_VALUE);
    CUcontext got;
    OK(cuStreamGetCtx(a, &got));
    EXPECT(got == ctx);
    hints(a, b, high);

    /* Before a gate is closed: a driver may load what it fills memory with when it does that first, and wait for all streams. */
    OK(cuMemAllocHost_v2((void **)&word, WORDS * sizeof *word));
    OK(cuMemHostGetDevicePointer_v2(&word_device, (void *)word, 0));
    CUdeviceptr seen;                   /* in device memory: copies between two places of the host wait for their stream */
    OK(cuMemAlloc_v2(&seen, 4));
    mark(a, FIRST);
    OK(cuMemsetD32Async(seen, 1, 1, a));
    OK(cuMemcpyDtoHAsync_v2((void *)&word[SECOND], seen, 4, a));
    OK(cuStreamSynchronize(a));
    OK(cuMemsetD32_v2(seen, 0, 1));
    EXPECT(word[FIRST] == 1 && word[SECOND] == 1);

    /* Calls return before the work is done; another stream goes on. */
    clear_marks();
    close_gate(a);
    mark(a, FIRST);
    EXPECT_RESULT(cuStreamQuery(a), CUDA_ERROR_NOT_READY);
    mark(b, SECOND);
    OK(cuStreamSynchronize(b));
    EXPECT(word[SECOND] == 1 && word[FIRST] == 0);
    atomic_store(&gate, 1);
    OK(cuStreamSynchronize(a));
    EXPECT(word[FIRST] == 1);
    OK(cuStreamQuery(a));

    /* The legacy stream waits for blocking streams, they wait for it; a non-blocking stream does neither. */
    clear_marks();
    close_gate(a);
    mark(NULL, FIRST);
    OK(cuMemsetD32Async(seen, 1, 1, NULL));
    OK(cuMemcpyDtoHAsync_v2((void *)&word[SECOND], seen, 4, b));
    mark(free_running, THIRD);
    OK(cuStreamSynchronize(free_running));
    pause_ms(20);
    EXPECT(word[THIRD] == 1 && word[FIRST] == 0 && word[SECOND] == 0);
    EXPECT_RESULT(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    atomic_store(&gate, 1);
    OK(cuStreamSynchronize(b));
    EXPECT(word[FIRST] == 1 && word[SECOND] == 1);

    /* The per-thread stream is a blocking stream of its own. */
    pthread_t t;
    clear_marks();
    close_gate(CU_STREAM_PER_THREAD);
    pthread_create(&t, NULL, per_thread, ctx);
    pthread_join(t, NULL);
    mark(CU_STREAM_LEGACY, FIRST);
    pause_ms(10);
    EXPECT(word[FIRST] == 0);
    atomic_store(&gate, 1);
    OK(cuStreamSynchronize(CU_STREAM_LEGACY));
    EXPECT(word[FIRST] == 1);
    /* Through a _ptsz function NULL means the per-thread stream. */
    close_gate(CU_STREAM_PER_THREAD);
    EXPECT_RESULT(cuStreamQuery_ptsz(NULL), CUDA_ERROR_NOT_READY);
    OK(cuStreamQuery(free_running));
    atomic_store(&gate, 1);
    OK(cuStreamSynchronize_ptsz(NULL));

    /* Events. */
    EXPECT_RESULT(cuEventCreate(&e, 0x100), CUDA_ERROR_INVALID_VALUE);
    OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&t0, 0));
    OK(cuEventCreate(&t1, CU_EVENT_BLOCKING_SYNC));
    OK(cuEventQuery(e));
    OK(cuEventSynchronize(e));
    close_gate(a);
    OK(cuEventRecord(e, a));
    EXPECT_RESULT(cuEventQuery(e), CUDA_ERROR_NOT_READY);
    clear_marks();
    OK(cuStreamWaitEvent(free_running, e, 0));
    mark(free_running, FIRST);
    pause_ms(10);
    EXPECT(word[FIRST] == 0);
    atomic_store(&gate, 1);
    OK(cuStreamSynchronize(free_running));
    EXPECT(word[FIRST] == 1);
    OK(cuEventSynchronize(e));
    /* Who waits for an event waits for the record that was its last then, though a later one, in another stream, is complete before. */
    close_gate(a);
    OK(cuEventRecord(e, a));
    clear_marks();
    OK(cuStreamWaitEvent(free_running, e, 0));
    mark(free_running, FIRST);
    OK(cuEventRecord(e, b));
    OK(cuEventSynchronize(e));
    OK(cuEventQuery(e));
    pause_ms(10);
    EXPECT(word[FIRST] == 0);
    atomic_store(&gate, 1);
    OK(cuStreamSynchronize(free_running));
    EXPECT(word[FIRST] == 1);
    float ms = -1;
    EXPECT_RESULT(cuEventElapsedTime(&ms, t0, t1), CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventRecord(t0, a));
    OK(cuStreamSynchronize(a));
    pause_ms(30);
    OK(cuEventRecord(t1, a));
    OK(cuEventSynchronize(t1));
    OK(cuEventElapsedTime(&ms, t0, t1));
    EXPECT(ms >= 25 && ms < 5000);
    EXPECT_RESULT(cuEventElapsedTime(&ms, e, t1), CUDA_ERROR_INVALID_HANDLE);

    /* Callbacks; a destroyed stream finishes what it has. */
    _Atomic int called = 0;
    OK(cuStreamAddCallback(a, callback, &called, 0));
    OK(cuStreamSynchronize(a));
    EXPECT(called && seen_stream == a && seen_status == CUDA_SUCCESS);
    EXPECT_RESULT(cuStreamAddCallback(a, NULL, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    clear_marks();
    close_gate(b);
    mark(b, FIRST);
    OK(cuStreamDestroy_v2(b));
    atomic_store(&gate, 1);
    OK(cuCtxSynchronize());
    EXPECT(word[FIRST] == 1);

    /* Asynchronous copies with pinned memory really are; with pageable memory the call waits. */
    CUdeviceptr p;
    int *pinned, pageable = 5;
    OK(cuMemAlloc_v2(&p, 4));
    OK(cuMemAllocHost_v2((void **)&pinned, 4));
    *pinned = 1;
    close_gate(free_running);
    OK(cuMemcpyHtoDAsync_v2(p, pinned, 4, free_running));
    *pinned = 2;                        /* before the copy runs */
    atomic_store(&gate, 1);
    OK(cuStreamSynchronize(free_running));
    OK(cuMemcpyDtoHAsync_v2(&pageable, p, 4, free_running));
    EXPECT(pageable == 2);

    /* Waiting for a value in memory. */
    CUresult r = cuStreamWaitValue32_v2(a, p, 77, CU_STREAM_WAIT_VALUE_EQ);
    if (r == CUDA_SUCCESS) {
        pause_ms(5);
        EXPECT_RESULT(cuStreamQuery(a), CUDA_ERROR_NOT_READY);
        OK(cuStreamWriteValue32_v2(free_running, p, 77, 0));
        OK(cuStreamSynchronize(a));
        EXPECT_RESULT(cuStreamWaitValue32_v2(a, p + 1, 77, 0), CUDA_ERROR_INVALID_VALUE);
    } else {
        EXPECT(r == CUDA_ERROR_NOT_SUPPORTED);
    }
    const char *device = getenv("CUDAWAY_DEVICE");
    if (over_cuda || (device && !strcmp(device, "host"))) {     /* the others have no bound, or that of the emulator */
        CUstream s;
        OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
        full_queue(ctx, s, free_running);
        OK(cuStreamDestroy_v2(s));
    }
    departed(ctx, leave);
    departed(ctx, leave_with_thread);
    late_destructors(ctx);
    OK(cuMemFree_v2(seen));
    OK(cuMemFreeHost((void *)word));
    OK(cuMemFreeHost(pinned));
    OK(cuCtxDestroy_v2(ctx));
    return failures != 0;
}
