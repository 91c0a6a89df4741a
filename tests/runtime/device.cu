/* SPDX-License-Identifier: Apache-2.0
 * Devices, primary contexts and the driver API beside the Runtime in one process ("Device Management", "Interactions with the
 * CUDA Driver API"). */
#include "test.h"

#ifdef __NVCC__
#include <cuda.h>
#else
#include "impl/api/cuda.h"
/* The names that NVIDIA's header gives the newest versions. */
#define cuMemAlloc cuMemAlloc_v2
#define cuMemcpyDtoH cuMemcpyDtoH_v2
#define cuStreamDestroy cuStreamDestroy_v2
#define cuCtxCreate cuCtxCreate_v4
#define cuCtxDestroy cuCtxDestroy_v2
#define cuDevicePrimaryCtxRelease cuDevicePrimaryCtxRelease_v2
#endif

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

/* A call of the driver API that succeeds. */
#define DRIVER(call) EXPECT_EQ(call, CUDA_SUCCESS)

__global__ void
set(int *p, int v)
{
    *p = v;
}

static void
properties(void)
{
    cudaDeviceProp p;
    int count = 0, v = 0, device = -1, version = 0, runtime = 0;
    char bus[32];

    OK(cudaGetDeviceCount(&count));
    EXPECT(count >= 1);
    OK(cudaGetDeviceProperties(&p, 0));
    OK(cudaDeviceGetAttribute(&v, cudaDevAttrMaxThreadsPerBlock, 0));
    EXPECT_EQ(p.maxThreadsPerBlock, v);
    EXPECT(v >= 1024);
    OK(cudaDeviceGetAttribute(&v, cudaDevAttrMultiProcessorCount, 0));
    EXPECT_EQ(p.multiProcessorCount, v);
    EXPECT(v > 0);
    OK(cudaDeviceGetAttribute(&v, cudaDevAttrComputeCapabilityMajor, 0));
    EXPECT_EQ(p.major, v);
    EXPECT(v >= 5);
    EXPECT_EQ(p.warpSize, 32);
    EXPECT_EQ(p.maxThreadsDim[2], 64);
    EXPECT_EQ(p.maxGridSize[1], 65535);
    EXPECT_EQ(p.totalConstMem, 65536);
    EXPECT_EQ(p.unifiedAddressing, 1);
    EXPECT(p.name[0] && p.totalGlobalMem > 0);
    REFUSED(cudaGetDeviceProperties(&p, count), cudaErrorInvalidDevice);
    REFUSED(cudaGetDeviceProperties(NULL, 0), cudaErrorInvalidValue);
    REFUSED(cudaDeviceGetAttribute(&v, cudaDevAttrWarpSize, -1), cudaErrorInvalidDevice);
    REFUSED(cudaDeviceGetAttribute(&v, (cudaDeviceAttr)9999, 0), cudaErrorInvalidValue);
    OK(cudaChooseDevice(&device, &p));
    EXPECT_EQ(device, 0);
    OK(cudaDriverGetVersion(&version));
    OK(cudaRuntimeGetVersion(&runtime));
    EXPECT(version >= 13000);
    EXPECT_EQ(runtime, 13000);
    OK(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
    OK(cudaDeviceGetByPCIBusId(&device, bus));
    EXPECT_EQ(device, 0);
}

static void
choosing(void)
{
    int device = -1;
    unsigned flags = 0;
    size_t limit = 0;

    OK(cudaGetDevice(&device));
    EXPECT_EQ(device, 0);
    OK(cudaSetDevice(0));
    REFUSED(cudaSetDevice(-1), cudaErrorInvalidDevice);
    REFUSED(cudaSetDevice(1000), cudaErrorInvalidDevice);
    OK(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync | cudaDeviceMapHost));
    OK(cudaGetDeviceFlags(&flags));
    EXPECT_EQ(flags, cudaDeviceScheduleBlockingSync | cudaDeviceMapHost);
    REFUSED(cudaSetDeviceFlags(0x10000), cudaErrorInvalidValue);
    OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20));
    OK(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
    EXPECT_EQ(limit, 16 << 20);
    REFUSED(cudaDeviceGetLimit(NULL, cudaLimitMallocHeapSize), cudaErrorInvalidValue);
    OK(cudaInitDevice(0, 0, 0));
    OK(cudaDeviceSynchronize());
}

/* One primary context for both APIs; a context that the program makes is used by the Runtime while it is current. */
static void
with_the_driver(void)
{
    CUcontext primary = NULL, current = NULL, own = NULL;
    CUdeviceptr d = 0;
    int *p = NULL, v = 0, device = -1;
    unsigned flags = 0;
    int active = -1;

    OK(cudaFree(0));
    DRIVER(cuCtxGetCurrent(&current));
    EXPECT(current);
    DRIVER(cuDevicePrimaryCtxRetain(&primary, 0));
    EXPECT_EQ(primary, current);
    DRIVER(cuDevicePrimaryCtxRelease(0));
    DRIVER(cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT_EQ(active, 1);
    /* Memory of the driver's, a kernel of the Runtime's. */
    DRIVER(cuMemAlloc(&d, 4));
    LAUNCH(set<<<1, 1>>>((int *)d, 77));
    DRIVER(cuMemcpyDtoH(&v, d, 4));
    EXPECT_EQ(v, 77);
    OK(cudaFree((void *)d));
    cudaStream_t s = NULL;
    OK(cudaStreamCreate(&s));
    DRIVER(cuStreamQuery((CUstream)s));
    DRIVER(cuStreamDestroy((CUstream)s));

    DRIVER(cuCtxCreate(&own, NULL, 0, 0));
    DRIVER(cuCtxGetCurrent(&current));
    EXPECT_EQ(current, own);
    OK(cudaGetDevice(&device));
    EXPECT_EQ(device, 0);
    OK(cudaMalloc((void **)&p, 4));
    LAUNCH(set<<<1, 1>>>(p, 5));
    OK(cudaMemcpy(&v, p, 4, cudaMemcpyDeviceToHost));
    EXPECT_EQ(v, 5);
    DRIVER(cuCtxGetCurrent(&current));
    EXPECT_EQ(current, own);
    OK(cudaDeviceReset());              /* of the primary context: this one stays */
    OK(cudaFree(p));
    DRIVER(cuCtxDestroy(own));
    DRIVER(cuCtxSetCurrent(primary));
    OK(cudaMalloc((void **)&p, 4));
    LAUNCH(set<<<1, 1>>>(p, 6));
    OK(cudaMemcpy(&v, p, 4, cudaMemcpyDeviceToHost));
    EXPECT_EQ(v, 6);
    OK(cudaFree(p));
}

static void *
thread(void *)
{
    int *p = NULL, v = 0;
    CUcontext c = (CUcontext)1;
    DRIVER(cuCtxGetCurrent(&c));
    EXPECT_EQ(c, 0);
    OK(cudaMalloc((void **)&p, 4));
    LAUNCH(set<<<1, 1>>>(p, 8));
    OK(cudaMemcpy(&v, p, 4, cudaMemcpyDeviceToHost));
    EXPECT_EQ(v, 8);
    OK(cudaFree(p));
    return NULL;
}

static void
reset(void)
{
    int *p = NULL, v = 0, active = 1;
    unsigned flags;
    cudaStream_t s = NULL;

    OK(cudaMalloc((void **)&p, 4));
    OK(cudaStreamCreate(&s));
    OK(cudaDeviceReset());
    DRIVER(cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT_EQ(active, 0);
    if (!on_nvidia())
        REFUSED(cudaStreamQuery(s), cudaErrorInvalidResourceHandle);
    REFUSED(cudaFree(p), cudaErrorInvalidValue);
    OK(cudaMalloc((void **)&p, 4));
    LAUNCH(set<<<1, 1>>>(p, 9));
    OK(cudaMemcpy(&v, p, 4, cudaMemcpyDeviceToHost));
    EXPECT_EQ(v, 9);
    OK(cudaDeviceReset());
    OK(cudaDeviceReset());
}

static void
peers(void)
{
    int can = 1;
    OK(cudaDeviceCanAccessPeer(&can, 0, 0));
    EXPECT_EQ(can, 0);                              /* not to itself */
    REFUSED(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessUnsupported);      /* H100, CUDA 13.0 */
    REFUSED(cudaDeviceEnablePeerAccess(55, 0), cudaErrorInvalidDevice);
}

int
main(void)
{
    pthread_t t;

    properties();
    choosing();
    with_the_driver();
    EXPECT(!pthread_create(&t, NULL, thread, NULL));
    pthread_join(t, NULL);
    peers();
    reset();
    OK(cudaFree(0));
    fflush(NULL);                       /* a child of a process that has used CUDA cannot */
    pid_t child = fork();
    if (!child) {
        void *p;
        _exit(cudaMalloc(&p, 4));
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), cudaErrorInitializationError);
    return test_result();
}
